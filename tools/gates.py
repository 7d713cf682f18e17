"""What every notebook must satisfy. Each gate is a pure function that returns
a list of complaints; an empty list opens the gate."""

import ast
import configparser
import re
from collections import Counter

from prml4.referee.tex import TexError, parse
from tools.chapters import (
    CLAIM_CHECKS,
    ROOMS,
    SILENT,
    SLIP_ID,
    directives,
    modules,
    outline,
    public_functions,
    referee_calls,
    support,
    test_of,
    without_code,
)

MAX_LINES, MAX_DRAWING_LINES, MAX_COLUMNS, MIN_ALT = 15, 40, 80, 40
MIN_EXERCISES = {"logistic": 6, "irls": 6}
# tags and patterns that weaken the comparison of outputs: every use is listed
TAGS = {
    *("hide-input", "hide-output", "remove-input"),
    *("exercise", "solution", "numbers"),
}
WEAKENING_TAGS = {"nbval-ignore-output", "raises-exception"}
ALLOWED_WEAKENING = set()  # (stem, tag)
MAX_PATTERNS = 2
# slips of which nothing can be computed; the ledger says so, and why
PROSE_SLIPS = {
    *("A01", "A11", "A24", "A25", "A29"),
    *("B10", "B11", "B17", "B41", "B42"),
    *("C04", "C06", "C09", "C10", "C11", "C13", "D12", "E09"),
}
NOTHING = "*Nothing to compute"
MAX_MISTAKES = 3
SKIP = "*A first reading can skip this section.*"
# how a chapter ends
ENDING = (
    "When it breaks",
    "On real data",
    "Second opinion",
    "The answer",
    "Five things to remember",
    "Five questions",
    "Exercises",
    "Further reading",
)
ABILITIES = "What you will be able to do"
RESULTS = "Results, equations and functions"
BYLINE = re.compile(r"(?m)^\*About [^\n]+ hours?, exercises aside · [^\n]+\*$")
# what a chapter does not say
SOURCES = re.compile(rf"\bsources? [A-E]\b|\b{SLIP_ID}\b", re.IGNORECASE)
TALK = re.compile(
    r"\breferee\b|\bchecked\b|\bassert(?:s|ed)?\b"
    r"|\b(?:the|this|that|a|each|every|next|our) checks?\b",
    re.IGNORECASE,
)
PASTED = re.compile(r"\{doc\}`[^`<]+`|\[\]\([^)]*\)")
# modules that hold no formulas: their docstrings say what, not which equation
PLAIN_MODULES = {
    *("data", "diagnose", "result", "validate"),
    *("calculus", "evaluate", "page", "tex", "values"),
}
MAX_BODY = 25
# functions that are longer still; the list may only shrink
LONG = set()
FORMULA = re.compile(
    r"PRML|\(\d+\.\d+\)|\b(1[89]|20)\d\d\b|[=~<>≤≥≈∝∇Σ∫√^]"
    r"|\b[A-Za-z]+'*\([^()]*\)|\b(argmin|int|lim|d/d[a-z])\b"
)
MACHINE_PATHS = re.compile(
    r"/(?:home|root|tmp|work|Users|usr|opt|mnt|private|var)/\w"
    r"|\b[A-Z]:\\\w|site-packages|ipykernel_\d+|0x[0-9a-fA-F]{6,}"
)
FILE_NAME = re.compile(r"^\S+\.(?:png|svg|jpe?g)$|[/\\]\w+\.(?:png|svg|jpe?g)")
KERNEL = {
    "display_name": "Python 3 (ipykernel)",
    "language": "python",
    "name": "python3",
}


def at(chapter, cell, text):
    """A complaint with its place."""
    return f"{chapter.name} cell {cell}: {text}"


# ------------------------------------------------------------ claims and checks
def claims_are_checked(chapter):
    """Every claim is named by a check in a code cell below it."""
    return [
        at(chapter, claim.cell, f"claim {claim.label} has no check below it")
        for claim in chapter.claims
        if not any(
            c.counts and c.label == claim.label and c.cell > claim.cell
            for c in chapter.checks
        )
    ]


def claims_are_read(chapter):
    """Where one claim is checked as printed all are, or say why they cannot."""
    printed = {c.label for c in chapter.checks if c.kind == "printed"}
    complaints = []
    for claim in chapter.claims if printed else ():
        by_hand = claim.label in chapter.transcribed
        if by_hand == (claim.label in printed):
            how = "both ways" if by_hand else "neither as printed nor by hand"
            text = f"claim {claim.label} is checked {how}"
            complaints.append(at(chapter, claim.cell, text))
        elif by_hand and not chapter.transcribed[claim.label]:
            text = f"no reason why {claim.label} is checked by hand"
            complaints.append(at(chapter, claim.cell, text))
    return complaints


def house_style(chapter):
    """What is checked as printed can be read in one way only."""
    printed = {c.label for c in chapter.checks if c.kind == "printed"}
    complaints = []
    for claim in chapter.claims:
        if claim.label in printed:
            try:
                parse(claim.tex)
            except TexError as why:
                text = f"claim {claim.label}: {why}"
                complaints.append(at(chapter, claim.cell, text))
    return complaints


def checks_name_claims(chapter):
    """Every check names, as a literal, a claim of its notebook."""
    claims = {e.label for e in chapter.claims}
    return [
        at(chapter, c.cell, f"check.{c.kind} names no claim here: {c.label}")
        for c in chapter.checks
        if c.label not in claims
    ]


def referee_is_known(chapter):
    """Only the referee's functions are called check.<function>."""
    tools = referee_tools(chapter)
    known = CLAIM_CHECKS | SILENT | {"slip", "attempt"} | tools
    return [
        at(chapter, cell.index, f"unknown referee check.{call.func.attr}")
        for cell in chapter.code
        for call, _ in referee_calls(cell.tree)
        if call.func.attr not in known
    ]


def referee_tools(chapter):
    """What prml4/check.py exports: chapter 01 calls its methods."""
    path = chapter.root / "prml4" / "check.py"
    if not path.exists():
        return set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and "__all__" in names_of(node):
            return set(ast.literal_eval(node.value))
    return set()


def names_of(assignment):
    """The plain names that an assignment sets."""
    targets = assignment.targets
    return {t.id for t in targets if isinstance(t, ast.Name)}


def checks_show_their_line(chapter):
    """Each check leaves a line with residual ≤ bound in its cell's output."""
    complaints = []
    for c in chapter.checks:
        if not c.counts:
            continue
        if c.residual is None or c.bound is None:
            text = f"check of {c.label} shows no line with residual and bound"
            complaints.append(at(chapter, c.cell, text))
        elif not c.residual <= c.bound:
            text = f"check of {c.label}: {c.residual} is not ≤ {c.bound}"
            complaints.append(at(chapter, c.cell, text))
    return complaints


def labels_are_unique(book):
    """Labels of equations, figures and exercises occur once in the book."""
    labels = Counter(
        label
        for chapter in book
        for label in [
            *(e.label for e in chapter.equations),
            *(f.name for f in chapter.figures if f.name),
            *(
                d.options["label"]
                for d in chapter.exercises + chapter.solutions
                if "label" in d.options
            ),
        ]
    )
    return [f"label {k} occurs {n} times" for k, n in labels.items() if n > 1]


def labels_are_prefixed(chapter):
    """Claims start with the chapter's stem, definitions with def-."""
    stem = chapter.stem.replace("_", "-")
    return [
        at(chapter, e.cell, f"label {e.label} lacks the prefix {stem}-")
        for e in chapter.claims
        if not re.fullmatch(rf"{stem}-[a-z0-9-]+", e.label)
    ] + [
        at(chapter, e.cell, f"ill-formed label {e.label}")
        for e in chapter.definitions
        if not re.fullmatch(r"def-[a-z0-9-]+", e.label)
    ]


def no_hidden_labels(chapter):
    """Labels stand behind $$ … $$, where {eq} can see them."""
    return [
        at(chapter, c.index, f"use $$ … $$ (label) instead of {word}")
        for c in chapter.markdown
        for word in (r"\label{", r"\tag{", r"\begin{align", "{math}")
        if hidden(c.source, word)
    ]


def hidden(text, word):
    """Whether the word stands in the text; aligned is not align."""
    return re.search(re.escape(word) + r"(?!ed)", text) is not None


# ----------------------------------------------------------------------- slips
def slips_are_refuted(chapter):
    """A slip is followed at once by the cell that refutes it."""
    calls = {(i, cell.index) for i, _, cell in chapter.slip_calls}
    complaints = []
    for slip in chapter.slips:
        if slip.id in PROSE_SLIPS:
            continue
        elif (slip.id, slip.cell + 1) not in calls:
            text = f"slip {slip.id} is not refuted in the next cell"
            complaints.append(at(chapter, slip.cell, text))
        elif not slip.line:
            text = f"slip {slip.id} shows no residuals"
            complaints.append(at(chapter, slip.cell, text))
    return complaints


def slip_calls_are_told(chapter):
    """check.slip names an id that has an entry, both as literals."""
    told = {s.id for s in chapter.slips}
    return [
        at(chapter, cell.index, f"check.slip of a slip that is not told: {id_}")
        for id_, _, cell in chapter.slip_calls
        if id_ not in told
    ]


def slips_name_claims(book):
    """Every slip concerns a claim of the book."""
    claims = {e.label for chapter in book for e in chapter.claims}
    return [
        at(chapter, cell.index, f"slip {id_} names no claim: {label}")
        for chapter in book
        for id_, label, cell in chapter.slip_calls
        if label not in claims
    ]


def slips_are_unique(chapter):
    """A ledger id occurs once in a notebook."""
    ids = Counter(s.id for s in chapter.slips)
    return [
        f"{chapter.name}: slip {k} occurs {n} times"
        for k, n in ids.items()
        if n > 1
    ]


def ledger_is_complete(book, plan):
    """The ledger has the plan's slips, each below its chapter, in order."""
    due = [(heading, i) for heading, ids in by_chapter(plan) for i in ids]
    found = [
        ([t for t, cell in ledger.headings if cell < slip.cell][-1:], slip.id)
        for ledger in ledgers(book)
        for slip in ledger.slips
    ]
    found = [("".join(heading), id_) for heading, id_ in found]
    return [
        *(
            f"slip {i} is missing below “{h}”"
            for h, i in due
            if (h, i) not in found
        ),
        *(
            f"slip {i} is not planned below “{h}”"
            for h, i in found
            if (h, i) not in due
        ),
    ]


def by_chapter(plan):
    """(heading, ids) of the sections that the ledger has."""
    return [(f"{r.number} · {r.title}", r.slips) for r in plan if r.slips]


def ledgers(book):
    """The ledger: at most one notebook of the book."""
    return [chapter for chapter in book if chapter.name == "slips"]


def silence_is_explained(book, plan):
    """The ledger says where nothing of a slip is computed, and only there."""
    return [
        f"slip {slip.id}: “Nothing to compute” is missing or does not belong"
        for ledger in ledgers(book)
        for slip in ledger.slips
        if (NOTHING in slip.body) != (slip.id in PROSE_SLIPS)
        or (NOTHING in slip.body)
        == (slip.id in {id_ for id_, *_ in ledger.slip_calls})
    ]


def sources_are_counted(book, plan):
    """The table that introduces the sources counts their slips."""
    complaints = []
    for ledger in ledgers(book):
        slips = [(s.id[0], s.printed_in_prml) for s in ledger.slips]
        for source in sorted({letter for letter, _ in slips}):
            marked = slips.count((source, True))
            total = marked + slips.count((source, False))
            row = rf"(?m)^\| {source} \|.*\| {total} \| {marked} \|$"
            if not re.search(row, ledger.header):
                text = f"source {source} has {total} slips, {marked} in PRML"
                complaints.append(at(ledger, 0, text))
    return complaints


# ------------------------------------------------------ execution and outputs
def counts_are_in_order(chapter):
    """Code cells ran once each, from the first to the last."""
    code = [c for c in chapter.code if c.source.strip()]
    return [
        at(chapter, c.index, f"execution count {c.count}, expected {n}")
        for n, c in enumerate(code, 1)
        if c.count != n
    ]


def outputs_are_there(chapter):
    """A cell that prints, shows, draws or checks has an output."""
    return [
        at(chapter, c.index, "the cell's output is missing")
        for c in chapter.code
        if not c.outputs and must_show(c.tree)
    ]


def must_show(tree):
    """Whether a cell calls, on its top level, something that shows."""
    calls = {
        ast.unparse(n.func)
        for s in tree.body
        if not isinstance(s, ast.FunctionDef | ast.ClassDef)
        for n in ast.walk(s)
        if isinstance(n, ast.Call)
    }
    shows = {"print", "display", "book.source", "book.show", "book.slider"}
    calls -= {f"check.{name}" for name in SILENT}
    return bool(calls & shows) or any(c.startswith("check.") for c in calls)


def no_error_outputs(chapter):
    """No committed output is an error or a stray warning."""
    return [
        at(chapter, c.index, "an error or stderr in the output")
        for c in chapter.code
        for o in c.outputs
        if o.get("output_type") == "error" or o.get("name") == "stderr"
    ]


def no_machine_paths(chapter):
    """Outputs say nothing of the machine that made them."""
    texts = [
        (c.index, "".join(text))
        for c in chapter.code
        for o in c.outputs
        for kind, text in [*o.get("data", {}).items(), ("text", o.get("text"))]
        if kind.startswith("text") and isinstance(text, str | list)
    ]
    found = [(i, MACHINE_PATHS.search(text)) for i, text in texts]
    return [
        at(chapter, i, f"output holds {m.group(0)!r}") for i, m in found if m
    ]


def tags_are_known(chapter):
    """Tags that weaken the comparison are listed in ALLOWED_WEAKENING."""
    return [
        at(chapter, c.index, f"tag {tag} is not on the list")
        for c in chapter.cells
        for tag in sorted(c.tags - TAGS)
        if tag not in WEAKENING_TAGS
        or (chapter.stem, tag) not in ALLOWED_WEAKENING
    ]


def numbers_are_asserted(chapter):
    """A cell tagged numbers shows nothing: whoever reads will not see it."""
    return [
        at(chapter, c.index, "a cell tagged numbers shows or checks something")
        for c in chapter.code
        if "numbers" in c.tags and (c.outputs or referee_calls(c.tree))
    ]


def kernel_is_clean(chapter):
    """The metadata name the kernel and the language, nothing else."""
    expected = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    if chapter.raw.get("metadata") == expected:
        return []
    return [f"{chapter.name}: notebook metadata differ from the standard"]


def sanitising_is_narrow(config, lines):
    """Where text is printed, nbval may ignore a check's residual only."""
    parser = configparser.ConfigParser()
    parser.read_string(config)
    complaints = []
    if len(parser.sections()) > MAX_PATTERNS:
        complaints.append(f"more than {MAX_PATTERNS} sanitising patterns")
    for name in parser.sections():
        pattern, new = parser[name]["regex"], parser[name]["replace"]
        for line in lines:
            if outside(line) != outside(re.sub(pattern, new, line)):
                complaints.append(f"[{name}] changes the line {line!r}")
                break
    return complaints


def outside(line):
    """A line without its residual fields, written out or sanitised."""
    return re.sub(r"residual(?: \S+ ≤ \S+| …)", "", line)


# ------------------------------------------------- mathematics stays in prml4
def mathematics_is_imported(chapter):
    """No def, lambda or class but transcriptions and drawing callbacks."""
    return [
        at(chapter, c.index, f"defines {name} (line {line})")
        for c in chapter.code
        if not c.is_reader
        for name, line in stray_definitions(c.tree)
    ]


def stray_definitions(tree):
    """(name, line) of definitions that stand outside the allowed places."""
    checked = {c.func.attr for c, _ in referee_calls(tree)} - {"attempt"}
    inside = {
        id(n)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and (checked or called_module(call) == "book")
        for n in ast.walk(call)
        if isinstance(n, ast.Lambda)
    }
    handed = {
        n.id
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and takes_function(call)
        for n in ast.walk(call)
        if isinstance(n, ast.Name)
    }
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    return [
        (getattr(n, "name", "a lambda"), n.lineno)
        for n in ast.walk(tree)
        if isinstance(n, kinds)
        and id(n) not in inside
        and not is_allowed_function(n, handed)
    ]


def called_module(call):
    """The name before the dot of a call, "" if there is none."""
    func = call.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        return func.value.id
    return ""


def takes_function(call):
    """Whether the call is the referee's, or draws a slider picture."""
    module = called_module(call)
    return module == "check" or ast.unparse(call.func) == "book.slider"


def is_allowed_function(node, handed):
    """draw…, alt…, or handed to the referee or a slider in the same cell."""
    if not isinstance(node, ast.FunctionDef):
        return False
    return node.name in handed or node.name.startswith(("draw", "alt"))


def cells_are_short(chapter):
    """1 to 15 lines (hidden drawing cells 40) of at most 80 columns."""
    complaints = []
    for c in chapter.code:
        lines = c.source.splitlines()
        hidden_input = c.tags & {"hide-input", "remove-input"}
        limit = MAX_DRAWING_LINES if hidden_input else MAX_LINES
        if not 0 < len(lines) <= limit:
            complaints.append(at(chapter, c.index, f"{len(lines)} lines"))
        wide = max(map(len, lines), default=0)
        if wide > MAX_COLUMNS:
            complaints.append(at(chapter, c.index, f"{wide} columns"))
    return complaints


# --------------------------------------------------------------------- figures
def figures_are_described(chapter):
    """A picture has a name, a caption, and an alt text that describes it."""
    return [
        at(chapter, f.cell, text)
        for f in chapter.figures
        for text in figure_faults(f)
    ]


def sliders_have_captions(chapter):
    """A slider picture is a figure: it has a name and a caption as well."""
    return [
        at(chapter, c.index, "a slider without a name or a caption")
        for c in chapter.code
        if "book.slider" in calls_of(c.tree)
        and not {"name", "caption"}
        <= c.metadata.get("mystnb", {}).get("figure", {}).keys()
    ]


def figure_faults(figure):
    """What is wrong with the metadata of a figure."""
    alt, faults = figure.alt.strip(), []
    if not figure.name:
        faults.append("figure without a name")
    if not figure.caption.strip():
        faults.append("figure without a caption")
    if len(alt) < MIN_ALT:
        faults.append(f"alt text shorter than {MIN_ALT} characters")
    if alt and alt == figure.caption.strip():
        faults.append("the alt text repeats the caption")
    if FILE_NAME.search(alt):
        faults.append("the alt text is a file name")
    return faults


def figures_state_what_they_show(chapter):
    """book.show says what was drawn, so that a stale picture goes red."""
    return [
        at(chapter, c.index, "a picture without book.show or slider")
        for c in chapter.code
        for output in c.outputs
        if any(kind.startswith("image/") for kind in output.get("data", {}))
    ]


def calls_of(tree):
    """Dotted names of everything that a cell calls."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return {ast.unparse(n.func) for n in calls}


# -------------------------------------------------------------- a whole chapter
def header_is_complete(chapter):
    """Title and question; what the chapter needs, and what it gives."""
    wanted = {
        "a title": re.search(r"(?m)^# \S", chapter.header),
        "the question": chapter.question,
        **opening(chapter),
    }
    return [
        at(chapter, 0, f"the header lacks {what}, or it does not exist")
        for what, found in wanted.items()
        if not found
    ]


def opening(chapter):
    """Before the first section: one line, and a folded list."""
    text = "\n\n".join(c.source for c in chapter.markdown)
    text = text.split("\n## ")[0]
    line = BYLINE.search(text)
    return {
        "“*About … hours, exercises aside · needs … · PRML …*”": line
        and "PRML" in line[0],
        f"the folded “{ABILITIES}”": ABILITIES
        in [d.argument for d in directives(text, 0)],
    }


def parts_are_there(chapter):
    """The sections that every chapter has, and a picture early on."""
    titles = [title for title, _ in chapter.headings]
    found = [s for t in titles for s in ENDING if t.startswith(s)]
    complaints = [
        f"{chapter.name}: no section “{s}”" for s in ENDING if s not in found
    ]
    if not complaints and found != list(ENDING):
        complaints.append(f"{chapter.name}: the end has not the order {ENDING}")
    third = chapter.headings[2][1] if len(chapter.headings) > 2 else 0
    if not chapter.pictures or chapter.pictures[0] > third:
        complaints.append(f"{chapter.name}: no picture before the third ##")
    if not re.search(r"\{cite[\w:]*\}`", chapter.section("Further reading")):
        complaints.append(f"{chapter.name}: further reading cites nothing")
    return complaints


def results_are_a_table(chapter):
    """The table of results ties them to equations and functions."""
    section = chapter.section("Five things to remember")
    folded = [d for d in directives(section, 0) if d.argument == RESULTS]
    text = "\n".join(d.body for d in folded)
    rows = [s for s in text.splitlines() if s.strip().startswith("|")]
    wide = [s for s in rows if s.count("|") > 3]
    if not wide or not any("{eq}`" in s for s in wide):
        return [f"{chapter.name}: the results have no table of 3 columns"]
    labels = set(re.findall(r"\{eq\}`(?:[^`<]*<)?([^`>]+)", text))
    known = {e.label for e in chapter.equations}
    return [
        f"{chapter.name}: the table of results refers to unknown {label}"
        for label in sorted(labels - known)
    ]


def five_things_are_five(chapter):
    """Five ideas in a numbered list; five questions, each with its answer."""
    ideas = chapter.section("Five things to remember")
    questions = chapter.section("Five questions")
    listed = re.findall(r"(?m)^(\d)\. ", ideas)
    asked = re.findall(
        r"(?m)^\*\*(\d)\.\*\*|^:{3,}\{dropdown\} (Answer)$", questions
    )
    complaints = []
    if listed != list("12345"):
        complaints.append(f"{chapter.name}: not five things to remember")
    if ["".join(pair) for pair in asked] != [
        word for k in "12345" for word in (k, "Answer")
    ]:
        text = "not five questions, each with a folded answer"
        complaints.append(f"{chapter.name}: {text}")
    return complaints


def mistakes_are_few(chapter):
    """At most three boxes tell a common mistake."""
    n = len(chapter.boxes("mistake"))
    text = f"{n} common mistakes, at most {MAX_MISTAKES}"
    return [f"{chapter.name}: {text}"] if n > MAX_MISTAKES else []


def stars_are_explained(chapter):
    """Below a starred heading stands that it can be skipped."""
    return [
        at(chapter, c.index, f"“{lines[i]}” does not go on with {SKIP}")
        for c in chapter.markdown
        for lines in [[*filter(str.strip, without_code(c.source).splitlines())]]
        for i in range(len(lines))
        if re.match(r"#+ .*★\s*$", lines[i])
        and [s.strip() for s in lines[i + 1 : i + 2]] != [SKIP]
    ]


def prose_keeps_to_its_subject(chapter):
    """No word of sources, slips or checks; no title pasted for a reference."""
    stop = max(i for title, i in chapter.headings if title == "The answer")
    stop = next((i for t, i in chapter.headings if t == "Exercises"), stop)
    complaints = []
    for cell in chapter.markdown:
        text = re.sub(r"\$[^$]+\$|\]\([^)]+\)", " ", without_code(cell.source))
        found = [*SOURCES.finditer(text), *PASTED.finditer(cell.source)]
        if cell.index < stop and chapter.stem != "check":
            found += TALK.finditer(text)
        for match in found:
            complaints.append(at(chapter, cell.index, f"says “{match[0]}”"))
    return complaints


def names_in_prose_exist(chapter):
    """`module.name` in the text is a name of that module."""
    paths = {path.stem: path for path in modules(chapter.root)}
    complaints = []
    for cell in chapter.markdown:
        spans = re.findall(r"(?<!`)`(?:prml4\.)?(\w+)\.(\w+)[`(]", cell.source)
        for stem, name in spans:
            path = paths.get(stem)
            if path and name not in {"py", *top_level(path)}:
                text = f"there is no prml4.{stem}.{name}"
                complaints.append(at(chapter, cell.index, text))
    return complaints


def top_level(path):
    """Names that a module defines or imports."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= names_of(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {a.asname or a.name for a in node.names}
    return found


def exercises_are_solved(chapter):
    """Enough exercises, each with one collapsed solution."""
    least = MIN_EXERCISES.get(chapter.stem, 5)
    complaints = []
    if len(chapter.exercises) < least:
        text = f"{len(chapter.exercises)} exercises, at least {least}"
        complaints.append(f"{chapter.name}: {text}")
    solved = Counter(d.argument.strip() for d in chapter.solutions)
    for d in chapter.exercises:
        label = d.options.get("label", "")
        if not label or solved[label] != 1:
            text = f"exercise {label or '(no label)'} has no single solution"
            complaints.append(at(chapter, d.cell, text))
    return complaints + [
        at(chapter, d.cell, f"solution of {d.argument} is not collapsed")
        for d in chapter.solutions
        if "dropdown" not in d.options.get("class", "").split()
    ]


def exercises_check_themselves(chapter):
    """An exercise in code is answered by check.attempt, its solution too."""
    starts = [d.cell for d in chapter.exercises]
    complaints = []
    stops = [*starts[1:], len(chapter.cells)]
    for start, stop in zip(starts, stops, strict=True):
        block = [c for c in chapter.code if start < c.index < stop]
        mine = [c for c in block if "exercise" in c.tags]
        if mine and not any("check.attempt" in calls_of(c.tree) for c in mine):
            text = "an exercise in code without check.attempt"
            complaints.append(at(chapter, start, text))
        told = "\n".join(c.printed for c in block if "solution" in c.tags)
        if "· not yet:" in told and "· right:" not in told:
            text = "the solution is wrong by its own check.attempt"
            complaints.append(at(chapter, start, text))
    return complaints


def stubs_keep_the_answer(book):
    """check.attempt(label, mine, **exercises.f()): the stub shows no more."""
    complaints, used = [], Counter()
    for chapter in book:
        known = top_level(chapter.root / "book" / "support" / "exercises.py")
        stubs = [c for c in chapter.code if "exercise" in c.tags]
        for cell in stubs:
            for call, _ in referee_calls(cell.tree):
                name = answer_of(call)
                used[name] += 1
                if name not in known:
                    text = "the stub shows its answer: hand it exercises.f()"
                    complaints.append(at(chapter, cell.index, text))
    return complaints + [
        f"exercises.{name} judges {n} exercises"
        for name, n in used.items()
        if name and n > 1
    ]


def answer_of(call):
    """f of check.attempt(label, mine, **exercises.f()), "" of another call."""
    names = [k.arg for k in call.keywords]
    if len(call.args) != 2 or names != [None]:
        return ""
    answer = re.fullmatch(
        r"exercises\.(\w+)\(\)", ast.unparse(call.keywords[0].value)
    )
    return answer[1] if answer else ""


# --------------------------------------------------------------------- library
def functions_are_documented(path):
    """First docstring lines state a formula or a reference."""
    complaints = []
    for node in public_functions(path):
        first = (ast.get_docstring(node) or "").split("\n")[0].strip()
        place = f"{path.name}: {node.name}"
        if not first:
            complaints.append(f"{place} has no docstring")
        elif path.stem not in PLAIN_MODULES and not FORMULA.search(first):
            complaints.append(f"{place} states no formula or reference")
    return complaints


def modules_have_tests(root):
    """A module has its test file."""
    return [
        f"{path.relative_to(root)} has no "
        f"{test_of(path, root).relative_to(root)}"
        for path in [*modules(root), *support(root)]
        if not test_of(path, root).is_file()
    ]


def plain_modules_exist(root, plain):
    """No exemption outlives its module."""
    stems = {path.stem for path in modules(root)}
    return [f"there is no module {name}" for name in sorted(plain - stems)]


def functions_are_short(root, long):
    """At most 25 lines without the docstring, but for those listed."""
    lines = {
        f"{path.stem}.{node.name}": body_lines(node)
        for path in modules(root)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    found = {name for name, n in lines.items() if n > MAX_BODY}
    return [
        *(f"{name}: {lines[name]} lines" for name in sorted(found - long)),
        *(f"{name} is short now: unlist it" for name in sorted(long - found)),
    ]


def body_lines(function):
    """Lines of a function from def to its end, without the docstring."""
    first = function.body[0]
    told = ast.get_docstring(function) is not None
    said = first.end_lineno - first.lineno + 1 if told else 0
    return function.end_lineno - function.lineno + 1 - said


def refusals_are_worded(root):
    """NAME must …; got …: what arrived stands after a semicolon."""
    return [
        f"{path.stem}, line {node.lineno}: not “… must …; got …”"
        for path in modules(root)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Raise)
        and re.search(r"(?<!;) got |^expected", words_of(node))
    ]


def words_of(tree):
    """The texts in a piece of code, one after the other."""
    strings = [n for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    return "".join(str(n.value) for n in strings)


def tree_is_the_contents(root):
    """At the top of prml4 stand the chapters and the rooms, nothing else."""
    due = {f"{row.stem}.py" for row in outline(root)} | {*ROOMS, "__init__.py"}
    found = {path.name for path in (root / "prml4").glob("[!.]*")}
    extra = found - due - {"__pycache__", "py.typed"}
    missing = due - set(ROOMS) - found
    return [
        *(f"prml4/{name} is no chapter and no room" for name in sorted(extra)),
        *(f"there is no prml4/{name}" for name in sorted(missing)),
    ]


def maps_are_complete(root):
    """help() of the library and of a room lists what is there, in order."""
    library = root / "prml4"
    due = [f"{row.number} {row.stem}" for row in outline(root)]
    due += sorted(r for r in ROOMS if (library / r).is_dir())
    told = [" ".join(line[:2]) for line in listed(library)]
    told = [line for line in told if line[0].isdigit()] + sorted(
        line.split()[0] for line in told if not line[0].isdigit()
    )
    complaints = [] if told == due else [f"prml4 lists {told}, not {due}"]
    for room in (library / r for r in ROOMS if (library / r).is_dir()):
        due = sorted(path.stem for path in room.glob("[!_]*.py"))
        told = sorted(line[0] for line in listed(room))
        if told != due:
            complaints.append(f"{room.name} lists {told}, not {due}")
    return complaints


def listed(package):
    """Words of the indented lines of a package's docstring."""
    path = package / "__init__.py"
    tree = ast.parse(path.read_text("utf-8") if path.is_file() else "")
    lines = (ast.get_docstring(tree, clean=False) or "").splitlines()
    return [line.split() for line in lines if line.startswith("    ")]


def notebooks_are_planned(book, plan):
    """The numbered notebooks are the plan's chapters, under its names."""
    names = {row.name for row in plan}
    found = {c.name for c in book if c.name[:1].isdigit()}
    return [
        *(f"{name} is not in outline.toml" for name in sorted(found - names)),
        *(f"there is no book/{name}.ipynb" for name in sorted(names - found)),
    ]


# what a notebook of the back matter must satisfy as well
PER_NOTEBOOK = (
    claims_are_checked,
    claims_are_read,
    house_style,
    checks_name_claims,
    referee_is_known,
    checks_show_their_line,
    labels_are_prefixed,
    no_hidden_labels,
    slips_are_refuted,
    slip_calls_are_told,
    slips_are_unique,
    counts_are_in_order,
    outputs_are_there,
    no_error_outputs,
    no_machine_paths,
    tags_are_known,
    numbers_are_asserted,
    kernel_is_clean,
    mathematics_is_imported,
    cells_are_short,
    figures_are_described,
    sliders_have_captions,
    figures_state_what_they_show,
    names_in_prose_exist,
    stars_are_explained,
)
PER_CHAPTER = (
    *PER_NOTEBOOK,
    header_is_complete,
    parts_are_there,
    results_are_a_table,
    five_things_are_five,
    mistakes_are_few,
    prose_keeps_to_its_subject,
    exercises_are_solved,
    exercises_check_themselves,
)
PER_BOOK = (labels_are_unique, slips_name_claims, stubs_keep_the_answer)
PER_PLAN = (
    ledger_is_complete,
    silence_is_explained,
    sources_are_counted,
    notebooks_are_planned,
)
PER_TREE = (
    modules_have_tests,
    tree_is_the_contents,
    maps_are_complete,
    refusals_are_worded,
)
# with what they exempt
PER_LIST = {plain_modules_exist: PLAIN_MODULES, functions_are_short: LONG}
