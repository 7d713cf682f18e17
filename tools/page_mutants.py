"""Plant errors in the printed formulas, one at a time, and see who notices.

    python tools/page_mutants.py              every notebook
    python tools/page_mutants.py logistic     those of one chapter, or several
    python tools/page_mutants.py --all ep     every error, not a few per kind

Two notebooks at a time, and a run that was killed goes on where it was. The
figures of each go to benchmarks/results/printed/, with a digest of what they
rest on; the page of equations shows them.

A notebook runs once. At each check.printed the TeX of the display is spoilt:
a sign, an index, a transpose, a half, a term, another symbol. The spoilt TeX
is evaluated with the names of the call; it is caught if the check then raises.
Edits that change nothing (an index renamed, members or terms exchanged) are
planted too, and must pass. Survivors are excused in page_survivors.toml, one
by one; a new one, or an excuse that excuses nothing, fails the run.
"""

import json
import os
import re
import signal
import sys
import time
import tomllib
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "book")]

from prml4 import check  # noqa: E402
from prml4.referee import page  # noqa: E402
from prml4.referee import tex as grammar  # noqa: E402
from tools import chapters as reader  # noqa: E402
from tools import journal, rerun  # noqa: E402

SURVIVORS = ROOT / "tools" / "page_survivors.toml"
RESULTS = ROOT / "benchmarks" / "results" / "printed"
JOURNAL = ROOT / ".make" / "mutants.jsonl"
PER_KIND, SECONDS, GOAL, WORKERS = 4, 20, 0.97, 2
STILL_TRUE = {"equivalent", "slack"}  # verdicts; the third is "weak"
SPARE = "rqhgz"  # letters for a renamed index
CAUGHT, REFUSED, SURVIVED = "caught", "refused", "survived"


# ----------------------------------------------------------------- the errors
@dataclass(frozen=True)
class Edit:
    """One change of a display."""

    kind: str
    tex: str  # of the whole display, changed
    change: str  # what became what, with a little context


SIGN = r"(?<![\^_{])(?<!\{\})[+-](?!\})"
FLIPPED = {
    "+": "-", "-": "+", "<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le",
    r"\succeq": r"\preceq", r"\preceq": r"\succeq",
}  # fmt: skip
BOLD = r"\\mathbf\{? ?[a-z]\}?|\\boldsymbol\{?\\[a-z]+\}?"
CAPITAL = r"\\mathbf\{? ?[A-Z]\}?|\\boldsymbol\{?\\[A-Z][a-z]+\}?"
PLAIN = r"(?<![_a-zA-Z\\{^])[a-z](?=_)"
STOPS = re.compile(
    r"\\(?:right|[bB]ig+r?)\b|\\(?:le|ge|qquad|quad|approx)\b|\\\\|[-+=<>&,;.]"
)
SYMBOLS = ((BOLD, r"\mathbf m"), (CAPITAL, r"\mathbf Q"), (PLAIN, "q"))
# kind, what is replaced, by what: a text, or a function of the match
RULES = (
    ("flip a sign", SIGN, lambda m: FLIPPED[m[0]]),
    ("drop a transpose", r"\^\{?\\mathsf\{? ?T\}?\}?", ""),
    ("drop an inverse", r"\^\{-1\}", ""),
    ("drop a half", r"\\t?frac ?1 ?2(?!\d)|\\t?frac\{1\}\{2\}", ""),
    ("drop a half", r"(?<![\^_\d{])2(?=[a-zA-Z\\(])", ""),
    ("double a sum", r"\\sum(?=[_\s])", r"2\\sum"),
    ("N - 1 for N", r"\^\{?([NMKD])\}?(?![a-zA-Z])", r"^{\1-1}"),
    ("drop a square", r"\^2(?!\d)|\^\{2\}", ""),
    (
        "turn an inequality",
        r"\\le(?![a-z])|\\ge(?![a-z])|\\succeq|\\preceq|(?<!\\)[<>]",
        lambda m: FLIPPED[m[0]],
    ),
    ("swap indices", r"_\{([a-zA-Z])(?!\1)([a-zA-Z])\}", r"_{\2\1}"),
    ("drop a function", r"\\ln(?![a-z])|\\exp(?![a-z])", ""),
    ("another number", r"_[0-9](?!\d)", lambda m: f"_{1 - int(m[0][1] > '0')}"),
)


def errors(tex):
    """Every Edit that a tired author might have made, once."""
    found = [
        e for kind, old, new in RULES for e in replaced(tex, kind, old, new)
    ]
    letters = sorted(set(re.findall(r"_\{?([a-zA-Z])", tex)))
    for old in (r"_([a-z])(?![a-z])", r"_\{([a-z])(?=[a-z]\})"):
        found += replaced(tex, "another index", old, other_letter(letters))
    for pattern, spare in SYMBOLS:
        names = sorted(set(re.findall(pattern, tex)))
        new = other_name([*names, spare])
        found += replaced(tex, "another symbol", pattern, new)
    found += dropped(tex)
    original = read(tex)
    return [e for e in dict.fromkeys(found) if read(e.tex) != original]


def other_letter(letters):
    """The next index of the display; m for the only one."""

    def new(m):
        rest = [x for x in letters if x > m[1]] + [
            x for x in letters if x < m[1]
        ]
        letter = rest[0] if rest else "n" if m[1] == "m" else "m"
        return m[0].replace(m[1], letter)

    return new


def other_name(names):
    """The next name of the same type."""

    def new(m):
        after = names[(names.index(m[0]) + 1) % len(names)]
        return after + " " * after[-1].isalpha()

    return new


def dropped(tex):
    """One Edit for each term behind a sign."""
    for m in re.finditer(SIGN, tex):
        before, i = tex[: m.start()].rstrip(), m.end()
        if before and before[-1] not in "=({[&<>,":
            level = 0
            while i < len(tex) and level >= 0:
                if not level and STOPS.match(tex, i):
                    break
                level += (tex[i] in "{([") - (tex[i] in "})]")
                i += level >= 0
            if tex[m.end() : i].strip():
                yield edited(tex, "drop a term", m.start(), i, " ")


def replaced(tex, kind, old, new):
    """One Edit for each place where the pattern stands."""
    for m in re.finditer(old, tex):
        text = new(m) if callable(new) else m.expand(new)
        yield edited(tex, kind, m.start(), m.end(), text)


def edited(tex, kind, start, end, new):
    """The Edit that puts `new` in tex[start:end]."""
    left, right = tex[max(0, start - 20) : start], tex[end : end + 20]
    change = f"{left}[{tex[start:end]} → {new}]{right}"
    return Edit(kind, tex[:start] + new + tex[end:], change)


def read(tex):
    """What the reader of formulas makes of a display, None if nothing."""
    try:
        return grammar.parse(tex)
    except (grammar.TexError, RecursionError, ValueError, IndexError):
        return None


def few(edits, most):
    """At most so many of each kind, evenly spread over the display."""
    kinds = defaultdict(list)
    for edit in edits:
        kinds[edit.kind].append(edit)
    for same in kinds.values():
        step = max(1.0, len(same) / most)
        yield from (same[int(k * step)] for k in range(min(most, len(same))))


# ------------------------------------------------------- what changes nothing
def harmless(tex):
    """Edits after which a claim is as true as before."""
    toks = grammar.tokens(tex)
    for letter in sorted(set(re.findall(r"\\sum_\{([a-z])(?==)", tex))):
        new = next(x for x in SPARE if x not in toks)
        renamed = [new if t == letter else t for t in toks]
        yield Edit("index renamed", spoken(renamed), f"{letter} → {new}")
    chains, _ = grammar.statements(tex)
    for members, relations in chains:
        if len(chains) == 1 and set(relations) == {"="}:
            sides = [spoken(m) for m in members[::-1]]
            yield Edit("members exchanged", " = ".join(sides), "reversed")
            for k, member in enumerate(members):
                sides = [spoken(m) for m in members]
                sides[k] = spoken(turned(member))
                if sides[k] != spoken(member):
                    text = " = ".join(sides)
                    yield Edit("terms exchanged", text, f"member {k + 1}")


def spoken(toks):
    """Tokens as TeX again."""
    same = {"SP": r"\,", "⊤": r"\mathsf T", "|(": r"\lvert", ")|": r"\rvert"}
    same |= {r"\|(": r"\lVert", r")\|": r"\rVert"}
    return " ".join(same.get(t, t) for t in toks)


def turned(toks):
    """b + a of a + b, where no sum and no sign comes before."""
    parts = grammar.split(toks, {"+", "-"})
    big = {r"\sum", r"\int", r"\prod", r"\lim", "|", r"\|"}
    if len(parts) != 2 or parts[1][1] != "+" or big.intersection(toks):
        return toks
    return [*parts[1][0], "SP", "+", *parts[0][0]]


# --------------------------------------------------------------------- trials
@dataclass(frozen=True)
class Result:
    """What became of one Edit of one claim."""

    label: str
    edit: Edit
    verdict: str  # CAUGHT, REFUSED or SURVIVED


def trials(chapter, most=PER_KIND):
    """(results of the errors, harmless edits that broke a seal)."""
    verdicts, broken = {}, []
    original = check.printed

    def printed(label, /, **options):
        out = original(label, **options)
        if "tex" not in options:
            options = settled(options)
            text = " ".join(page.display(label)[0].split())
            for edit in few(errors(text), most):
                if verdicts.get((label, edit), SURVIVED) == SURVIVED:
                    found = judged(original, label, edit, options)
                    verdicts[label, edit] = found
            lengths = options.get("sizes", {})
            spare = dict.fromkeys(SPARE, next(iter(lengths.values()), 0))
            same = options | {"sizes": spare | lengths} if lengths else options
            for edit in harmless(text):
                if judged(original, label, edit, same) != SURVIVED:
                    broken.append((label, edit))
        return out

    rerun.run(chapter, {"printed": printed})
    return [Result(*key, verdict) for key, verdict in verdicts.items()], broken


def settled(options):
    """The call's options with its sides computed once and for all."""
    sides = {
        name: options[name]() if callable(options.get(name)) else options[name]
        for name in ("library", "other")
        if name in options
    }
    return options | sides


def judged(original, label, edit, options):
    """Whether the check of a spoilt display raises."""
    try:
        with within(SECONDS):
            original(label, **{**options, "tex": edit.tex})
    except (check.Unreadable, TimeoutError):
        return REFUSED
    except check.ClaimFails:
        return CAUGHT
    except Exception:  # noqa: BLE001  whatever it is, it turns the cell red
        return REFUSED
    return SURVIVED


@contextmanager
def within(seconds):
    """Raises TimeoutError in what takes longer, the waiting not counted."""

    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


# --------------------------------------------------------------------- report
def excuses(path=SURVIVORS):
    """(label, change) -> the entry that excuses a survivor."""
    if not path.exists():
        return {}
    rows = tomllib.loads(path.read_text("utf-8")).get("survivor", [])
    for row in rows:
        if row["verdict"] not in STILL_TRUE | {"weak"} or not row["reason"]:
            raise ValueError(f"no verdict or no reason: {row}")
    return {(row["label"], row["change"]): row for row in rows}


def table(results):
    """Lines: kind, planted, disagrees, refused, survived."""
    kinds = defaultdict(Counter)
    for r in results:
        kinds[r.edit.kind][r.verdict] += 1
        kinds["all"][r.verdict] += 1
    for kind, n in sorted(kinds.items(), key=lambda row: row[0] == "all"):
        columns = [sum(n.values()), n[CAUGHT], n[REFUSED], n[SURVIVED]]
        yield f"{kind:22}" + "".join(f"{c:8}" for c in columns)


def complaints(results, broken, known, complete):
    """What must not be, in words."""
    survivors = [r for r in results if r.verdict == SURVIVED]
    found = {(r.label, r.edit.change) for r in survivors}
    for r in survivors:
        if (r.label, r.edit.change) not in known:
            yield f"survived: {r.label}, {r.edit.kind}: {r.edit.change}"
    for label, edit in broken:
        yield f"{label} breaks for no reason: {edit.kind} {edit.change}"
    labels = {r.label for r in results}
    for label, change in known.keys() - found if complete else ():
        if label in labels:
            yield f"excuses nothing: {label}: {change}"
    n = figures(results, known)
    wrong = n["planted"] - n["equivalent"] - n["slack"]
    share = n["noticed"] / max(wrong, 1)
    print(f"{wrong} wrong formulas planted, {share:.1%} noticed")
    if share < GOAL:
        yield f"only {share:.1%} were noticed"


def figures(results, known):
    """How many errors were planted, noticed, and what the others are."""
    survivors = [r for r in results if r.verdict == SURVIVED]
    rows = [known.get((r.label, r.edit.change), {}) for r in survivors]
    verdicts = Counter(row.get("verdict", "new") for row in rows)
    return {
        "claims": len({r.label for r in results}),
        "planted": len(results),
        "noticed": len(results) - len(survivors),
        **{v: verdicts[v] for v in ("equivalent", "slack", "weak", "new")},
    }


# ------------------------------------------------------------- many notebooks
def digest(chapter):
    """Changes with the displays and the cells that their checks rest on."""
    shown = [f"{e.label} {e.tex}" for e in chapter.equations]
    run = [cell.source for cell in rerun.needed_cells(chapter)]
    return journal.digest(*shown, *run)


def rests_on(most):
    """What may change a verdict, but for the notebooks."""
    paths = [*ROOT.glob("prml4/**/*.py"), __file__, rerun.__file__]
    return journal.digest(journal.digest_of(paths), most)


def plant(chapter, most, done):
    """Try the errors of one notebook and keep what was found."""
    began = time.monotonic()
    results, broken = trials(chapter, most)
    rows = [[r.label, *vars(r.edit).values(), r.verdict] for r in results]
    harm = [[label, *vars(edit).values()] for label, edit in broken]
    done.add(chapter.name, [digest(chapter), rows, harm])
    seconds = time.monotonic() - began
    print(f"{chapter.name}: {len(rows)} errors, {seconds:.0f} s", flush=True)


def plant_all(book, most, done):
    """The same for all that are not in the journal; two at a time."""
    open_, running = list(book), set()
    while open_ or running:
        while open_ and len(running) < WORKERS:
            chapter = open_.pop(0)
            if done.results.get(chapter.name, [""])[0] == digest(chapter):
                continue
            sys.stdout.flush()
            pid = os.fork()
            if not pid:
                code = 1
                try:
                    plant(chapter, most, done)
                    code = 0
                finally:
                    os._exit(code)
            running.add(pid)
        if running:
            pid, status = os.wait()
            running.discard(pid)
            if status:
                raise SystemExit("a notebook fails without an error in it")


def gathered(book, done):
    """chapter -> (results, harmless edits that broke a seal)."""
    rows = done.read()
    return {
        chapter: (
            [
                Result(label, Edit(*edit), verdict)
                for label, *edit, verdict in rows[chapter.name][1]
            ],
            [(label, Edit(*edit)) for label, *edit in rows[chapter.name][2]],
        )
        for chapter in book
    }


def keep(chapter, results, known):
    """Write the figures of one notebook."""
    found = {"digest": digest(chapter), **figures(results, known)}
    path = RESULTS / f"{chapter.name}.json"
    journal.write(path, json.dumps(found, indent=1) + "\n")


def is_read(chapter):
    """Whether any of its claims is checked as printed."""
    return any(c.kind == "printed" and c.counts for c in chapter.checks)


def main(arguments):
    """Plant, evaluate, report; 1 if there are complaints."""
    everything = "--all" in arguments
    stems = [a for a in arguments if a != "--all"]
    book = list(filter(is_read, reader.asked_for(stems)))
    most = 10**6 if everything else PER_KIND
    done, known = journal.Journal(JOURNAL, rests_on(most)), excuses()
    plant_all(book, most, done)
    results, broken = [], []
    for chapter, found in gathered(book, done).items():
        if not everything:
            keep(chapter, found[0], known)
        results, broken = results + found[0], broken + found[1]
    done.close()
    print(f"{'kind':22}{'planted':>8}{'caught':>8}{'refused':>8}{'survive':>8}")
    print(*table(results), sep="\n")
    found = list(complaints(results, broken, known, everything))
    print(*found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
