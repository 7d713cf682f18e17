"""The Sphinx extension behind the back matter.

Its directives assemble index, reference and cover map when the book
is built, from what tools/chapters.py reads in the notebooks: nothing is typed
twice, and a new chapter brings its own rows.
"""

import json
import re
import sys
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from theme import reference, speeds  # noqa: E402
from theme.pictures import thumbnail  # noqa: E402
from theme.seals import tens  # noqa: E402
from tools import chapters as reader  # noqa: E402
from tools import journal  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"


class Assembled(SphinxDirective):
    """A directive whose content is Markdown, written when the book is built."""

    def run(self):
        """Parse what `markdown` returns, as if it stood in the page."""
        self.env.note_reread()
        text = "\n".join(self.markdown())
        return self.parse_text_to_nodes(text, allow_section_headings=True)

    def markdown(self):
        """The lines of the page; each directive has its own."""
        raise NotImplementedError


# -------------------------------------------------------- pieces of Markdown
def table(header, rows, widths):
    """A list-table; cells are Markdown, of one or more lines."""
    yield "```{list-table}"
    yield ":header-rows: 1"
    yield f":widths: {' '.join(map(str, widths))}"
    yield ""
    for row in [header, *rows]:
        for k, cell in enumerate(row):
            first, *rest = str(cell).split("\n") or [""]
            yield ("* - " if k == 0 else "  - ") + first
            yield from (f"    {line}" if line else "" for line in rest)
    yield "```"
    yield ""


def chapter_link(chapter, text=None):
    """A link to a chapter."""
    return f"{{doc}}`{text or chapter.title} <{place(chapter)}>`"


def place(chapter):
    """The page of a notebook, as Sphinx names it."""
    return f"/{chapter.path.relative_to(chapter.root).with_suffix('')}"


def heading(chapter):
    """The title, after the number that a chapter has."""
    numbered = chapter.name[:2].isdigit()
    start = f"{int(chapter.name[:2])} · " if numbered else ""
    return f"{start}{chapter.title}"


def counted(n, noun, plural=None):
    """ "1 claim", "2 claims"."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


# -------------------------------------------------------------------- the map
class ChapterMap(Assembled):
    """Parts and chapters, each with its question."""

    def markdown(self):
        """One list per part."""
        written = {c.name: c for c in reader.chapters()}
        plan = reader.outline()
        yield ":::{container} chapter-map"
        for part in dict.fromkeys(row.part for row in plan):
            yield f"```{{rubric}} {part}\n```"
            yield ""
            for row in plan:
                if row.part == part:
                    chapter = written[row.name]
                    link = chapter_link(chapter)
                    picture = thumbnail(row.number)
                    yield f"{row.number}. {picture}{link} *{chapter.question}*"
            yield ""
        yield ":::"


class Sealed(Assembled):
    """How many claims are evaluated as they are printed."""

    def markdown(self):
        """One paragraph, true today."""
        claims = hand = read = 0
        for chapter in reader.notebooks():
            claims += len(chapter.claims)
            hand += len(chapter.transcribed)
            whole = {c.label for c in chapter.checks if "as printed:" in c.line}
            read += len(whole - set(chapter.transcribed))
        yield (
            f"Of the {claims} numbered claims of the book, {read} are "
            f"evaluated as they are printed, and {hand}, which the reader of "
            "formulas cannot read, are written out by hand, each with its "
            "reason."
        )
        if rest := claims - read - hand:
            yield (
                f"The other {rest} are compared with a transcription beside "
                "them, and the display itself is not read yet."
            )


class BookCounts(Assembled):
    """How many claims, definitions, steps and checks each chapter has."""

    def markdown(self):
        """A table with a row for each notebook and one for the book."""
        book = numbered()
        rows = [[chapter_link(c, heading(c)), *counts_of(c)] for c in book]
        columns = zip(*map(counts_of, book), strict=True)
        total = [sum(column) for column in columns]
        header = ["Chapter", *COUNTED]
        rows.append(["**The book**", *total])
        yield from table(header, rows, [7, *[2] * len(COUNTED)])


def numbered():
    """The notebooks that have equations: not the ledger."""
    return [c for c in reader.notebooks() if c.equations]


COUNTED = (
    "Claims",
    "Definitions",
    "Steps",
    "Checks",
    "Pictures",
    "Exercises",
)


def counts_of(chapter):
    """The numbers named in COUNTED."""
    return [
        len(chapter.claims),
        len(chapter.definitions),
        chapter.steps,
        sum(c.counts for c in chapter.checks),
        len(chapter.pictures),
        len(chapter.exercises),
    ]


# ------------------------------------------------------------------ the index
class EquationIndex(Assembled):
    """Every numbered equation: formula, function, check and residual."""

    def markdown(self):
        """A fold for each notebook, an entry for each equation."""
        for chapter in numbered():
            yield f":::{{dropdown}} {heading(chapter)}"
            for equation in chapter.equations:
                yield from equation_entry(chapter, equation)
            yield ":::"
            yield ""


def equation_entry(chapter, equation):
    """Number and label; formula; what was compared, and the residuals."""
    checks = [
        c for c in chapter.checks if c.counts and c.label == equation.label
    ]
    yield f"{{eq}}`{equation.label}` · `{equation.label}`"
    yield ": $$"
    yield from (f"  {line}" for line in formula(equation).splitlines())
    yield "  $$"
    yield ""
    if equation.is_definition:
        yield "  A definition."
    for check in checks:
        end = "" if check is checks[-1] else "\\"
        yield f"  {check_entry(check)}{end}"
    yield ""


def formula(equation):
    """The display without the punctuation of the sentence around it."""
    return re.sub(r"\s*[.,;]?\s*$", "", equation.tex)


def check_entry(check):
    """Kind of check, functions behind it, the other side, residual, bound."""
    numbers = reader.RESIDUAL.search(check.line)
    sides = [
        f"Checked as {KINDS[check.kind]}",
        " and ".join(map(function_link, check.library)),
        other_side(check.line),
        "\u00a0≤\u00a0".join(map(tens, numbers.groups()))
        if numbers
        else "not run yet",
    ]
    return " · ".join(filter(None, sides))


def other_side(line):
    """What neither display nor library is, in the words of the check."""
    found = OTHER.search(line)
    return re.sub(r"([\\`*_$|<>\[\]{}])", r"\\\1", found[1]) if found else ""


def function_link(name):
    """A function of the library, linked to where it is explained."""
    target = reference.anchor(name)
    return f"{{ref}}`{name} <{target}>`" if target else f"`{name}`"


# … members · library · THIS · residual …, or: display = library = THIS · …
OTHER = re.compile(
    r"(?:printed: \d+ members(?: · library)?|: display(?: = library)?|psd)"
    r"(?: · | = |: )(.*) · residual"
)
KINDS = {
    "gradient": "a gradient",
    "jacobian": "a Jacobian",
    "hessian": "a Hessian",
    "integral": "an integral",
    "moments": "an average",
    "identity": "an identity",
    "limit": "a limit",
    "psd": "a semidefinite matrix",
    "printed": "printed",
}


# ---------------------------------------------------------- measured results
class PrintedMutants(Assembled):
    """How many errors planted in the printed formulas were noticed."""

    def markdown(self):
        """A row for each notebook that was measured, and who was not."""
        book = {c.name: c for c in reader.notebooks()}
        found = {
            name: json.loads((RESULTS / "printed" / f"{name}.json").read_text())
            for name in book
            if (RESULTS / "printed" / f"{name}.json").exists()
        }
        rows = [
            [chapter_link(book[name], heading(book[name])), *shares(n)]
            for name, n in found.items()
        ]
        header = ["Chapter", "Claims", "Planted", "Still true", "Noticed"]
        if rows:
            yield from table(header, rows, [7, 2, 2, 2, 3])
        rest = [
            chapter_link(chapter, heading(chapter))
            for name, chapter in book.items()
            if name not in found
        ]
        if rest:
            yield f"Not measured: {', '.join(rest)}."


def shares(n):
    """A row of counts for one notebook."""
    true = n["equivalent"] + n["slack"]
    share = n["noticed"] / max(n["planted"] - true, 1)
    return [n["claims"], n["planted"], true, f"{n['noticed']} ({share:.1%})"]


class MutantReport(Assembled):
    """How many planted faults the checks and tests found."""

    def markdown(self):
        """One sentence, and the list of survivors."""
        path = RESULTS / "mutants.json"
        modules = json.loads(path.read_text("utf-8")) if path.exists() else {}
        paths = {p.stem: p for p in reader.modules()}
        modules = {
            stem: report
            for stem, report in modules.items()
            if stem in paths
            and report.get("source") == journal.digest_of([paths[stem]])
        }
        if modules:
            yield from measured(modules)
        named = {p.split(".")[0] for c in reader.notebooks() for k in c.checks
                 for p in k.library}  # fmt: skip
        rest = ", ".join(f"`{stem}`" for stem in sorted(named - modules.keys()))
        if rest:
            yield f"Not measured since it last changed: {rest}."


def measured(modules):
    """The figures of these modules, survivors and excuses."""
    planted, killed = (
        sum(report[key] for report in modules.values())
        for key in ("planted", "killed")
    )
    functions = sum(len(report["functions"]) for report in modules.values())
    yield (
        f"Of {planted} faults planted in {functions} functions, "
        f"{killed} were found ({killed / planted:.1%})."
    )
    yield ""
    yield from table(
        ["Module", "Faults planted", "Found"],
        [mutant_counts(*item) for item in modules.items()],
        [4, 3, 3],
    )
    rows = [mutant_row(s) for s in gather(modules, "survivors")]
    if rows:
        yield from table(["Function", "Fault that survived"], rows, [3, 7])
    excused = gather(modules, "equivalent")
    if excused:
        count = sum(e["count"] for e in excused)
        yield f"Not counted are {count} faults that no test can notice:"
        yield ""
        header = ["Function", "Fault", "Why it is none"]
        rows = [[*mutant_row(e), e["reason"]] for e in excused]
        yield from table(header, rows, [3, 5, 5])


def gather(modules, key):
    """The rows of all modules under one key."""
    return [row for report in modules.values() for row in report[key]]


def mutant_counts(stem, report):
    """A row of counts for one module."""
    found = f"{report['killed']} ({report['killed'] / report['planted']:.0%})"
    return [f"`{stem}`", str(report["planted"]), found]


def mutant_row(fault):
    """The function and what was changed in it."""
    return [f"`{fault['function']}`", f"`` {fault['fault']} ``"]


class SpeedReport(Assembled):
    """What make bench measured, against the peers in the same run.

    The argument is the name of the report: logistic, generative, ...
    """

    required_arguments = 1

    def markdown(self):
        """Pictures, then the numbers, the growth and the setting."""
        path = RESULTS / f"{self.arguments[0]}.json"
        if not path.exists():
            yield "Nothing has been measured yet: run `make bench`."
            return
        report = json.loads(path.read_text("utf-8"))
        cells = report["cells"] + report.get("other_cells", [])
        shown = [c for c in SPEED_COLUMNS if c[0] in cells[0]]
        for threads in sorted({c["threads"] for c in cells}):
            some = [cell for cell in cells if cell["threads"] == threads]
            at = f"BLAS at {counted(threads, 'thread')}"
            yield f"**{at}.**"
            yield ""
            yield f"```{{raw}} html\n{speeds.picture(some, at)}\n```"
            yield f":::{{dropdown}} The numbers, {at}"
            rows = [[show(cell) for *_, show in shown] for cell in some]
            _, header, widths, _ = zip(*shown, strict=True)
            yield from table(header, rows, widths)
            yield ":::"
            yield from growth(report.get("growth", []), threads)
        yield from climbs(report.get("optimisation", []))
        versions = ", ".join(f"{k} {v}" for k, v in report["versions"].items())
        setting = tens(report["setting"].replace("<=", "≤"))
        yield f"{setting} Versions: {versions}."
        if "import_ms" in report:
            yield (
                f"Importing the library adds {report['import_ms']:.0f} ms to "
                "importing NumPy and SciPy."
            )


# key that a report must have for the column, header, width, what a cell shows
SPEED_COLUMNS = [
    ("data", "Columns", 4, lambda c: c["data"]),
    ("model", "Model", 4, lambda c: c["model"]),
    ("task", "Task", 4, lambda c: c["task"]),
    ("N", "N", 3, lambda c: f"{c['N']:,}".replace(",", "\u202f")),
    ("D", "D", 2, lambda c: c["D"]),
    ("K", "K", 2, lambda c: c["K"]),
    ("prml4", "prml4, ms", 3, lambda c: milliseconds(c["prml4"])),
    (
        "fastest",
        "fastest peer, ms",
        5,
        lambda c: f"{milliseconds(c['peers'][c['fastest']])} ({c['fastest']})",
    ),
    ("ratio", "peer / prml4", 2, lambda c: f"{c['ratio']:.2f}"),
    ("bounds", "prml4 / bound", 2, lambda c: f"{c['bounds']:.1f}"),
    (
        "passes",
        "passes",
        3,
        lambda c: " + ".join(f"{number:g}" for number in c["passes"]),
    ),
    (
        "extra_mb",
        "extra memory / data",
        3,
        lambda c: f"{c['extra_mb'] / c['data_mb']:.2f}",
    ),
    (
        "peers_extra_mb",
        "leanest peer's",
        3,
        lambda c: f"{min(c['peers_extra_mb'].values()) / c['data_mb']:.2f}",
    ),
    ("matrices", "N × N matrices", 3, lambda c: f"{c['matrices']:.1f}"),
]


def milliseconds(time):
    """Three digits or more, without an exponent."""
    return f"{time:.3g}" if time < 999 else f"{time:.0f}"


def growth(rows, threads):
    """How the time grows with N: for each D, or from where to where."""
    rows = [row for row in rows if row["threads"] == threads]
    powers = sorted(row["exponent"] for row in rows)
    if powers and "model" in rows[0]:
        yield (
            f"Time grows like $N^{{{powers[0]:.2f}}}$ to "
            f"$N^{{{powers[-1]:.2f}}}$."
        )
    elif powers:
        clauses = (
            f"$N^{{{row['exponent']:.2f}}}$ at $D = {row['D']}$" for row in rows
        )
        yield f"Time grows like {', '.join(clauses)}."
    yield ""


def climbs(rows):
    """Who climbs the evidence, how fast, and to what height."""
    if not rows:
        return
    yield "**Climbing the evidence.**"
    yield ""
    found = [
        [
            row["N"],
            who,
            milliseconds(row[who]),
            f"{height:.2f}".replace("-", "−"),
        ]
        for row in rows
        for who, height in row["log_evidence"].items()
    ]
    header = ["N", "Optimiser", "ms", "log evidence at the end"]
    yield from table(header, found, [2, 4, 3, 4])


# ------------------------------------------------------------------ the links
def lead_to_equations(app, pagename, templatename, context, doctree):
    """A printed line that names a claim of another page leads there."""
    equations = app.env.domains["math"].equations

    def target(found):
        page, _ = equations.get(found[1], (pagename, None))
        path = (
            ""
            if page == pagename
            else app.builder.get_relative_uri(pagename, page)
        )
        return f'href="{path}#equation-{found[1]}"'

    if body := context.get("body"):
        context["body"] = re.sub(r'href="#equation-([^"]+)"', target, body)


def setup(app):
    """Register the directives and the links."""
    for name, directive in {
        "chapter-map": ChapterMap,
        "sealed": Sealed,
        "book-counts": BookCounts,
        "equation-index": EquationIndex,
        "mutant-report": MutantReport,
        "printed-mutants": PrintedMutants,
        "speed-report": SpeedReport,
    }.items():
        app.add_directive(name, directive)
    app.connect("html-page-context", lead_to_equations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
