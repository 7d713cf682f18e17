"""What every notebook must satisfy. Each gate is a pure function that returns
a list of complaints; an empty list opens the gate."""

import ast
import configparser
import re
from collections import Counter

from tools.chapters import (
    CLAIM_CHECKS,
    SLIP_ID,
    has_image,
    public_functions,
    referee_calls,
)

MAX_LINES, MAX_DRAWING_LINES, MAX_COLUMNS, MIN_ALT = 15, 40, 80, 40
MIN_EXERCISES = {"logistic": 6, "irls": 6}
# tags and patterns that weaken the comparison of outputs: every use is listed
TAGS = {"hide-input", "hide-output", "remove-input", "exercise", "solution"}
WEAKENING_TAGS = {"nbval-ignore-output", "raises-exception"}
ALLOWED_WEAKENING = set()  # (stem, tag)
MAX_PATTERNS = 1
# slips with nothing to compute: a box without a check.slip cell
PROSE_SLIPS = {"A01", "B17", "B42", "C04", "C10"}
SECTIONS = (
    "When it breaks",
    "On real data",
    "Second opinion",
    "Summary",
    "Exercises",
    "Further reading",
)
# modules that hold no formulas: their docstrings say what, not which equation
PLAIN_MODULES = {
    *("book", "cases", "data", "diagnose", "hypotheses", "mistakes"),
    *("slides", "svg", "validate"),
}
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
    known = CLAIM_CHECKS | {"slip", "attempt"} | tools
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
    """A slip's box is followed at once by the cell that refutes it."""
    calls = {(i, cell.index) for i, _, cell in chapter.slip_calls}
    complaints = []
    for slip in chapter.slips:
        if not re.fullmatch(SLIP_ID, slip.id):
            text = f"slip without a ledger id: {slip.name}"
            complaints.append(at(chapter, slip.cell, text))
        elif slip.id in PROSE_SLIPS:
            continue
        elif (slip.id, slip.cell + 1) not in calls:
            text = f"slip {slip.id} is not refuted in the next cell"
            complaints.append(at(chapter, slip.cell, text))
        elif not slip.line:
            text = f"slip {slip.id} shows no residuals"
            complaints.append(at(chapter, slip.cell, text))
    return complaints


def slip_calls_are_boxed(chapter):
    """check.slip names an id that has a box, both as literals."""
    boxed = {s.id for s in chapter.slips}
    return [
        at(chapter, cell.index, f"check.slip without a box: {id_}")
        for id_, _, cell in chapter.slip_calls
        if id_ not in boxed
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


def slips_are_unique(book):
    """A ledger id is refuted once."""
    ids = Counter(s.id for chapter in book for s in chapter.slips)
    return [f"slip {k} occurs {n} times" for k, n in ids.items() if n > 1]


def slips_are_complete(book, plan):
    """The chapters hold the slips that the plan gives them."""
    due = {i for row in plan for i in row.slips}
    found = {s.id for chapter in book for s in chapter.slips}
    return [f"slip {i} is missing" for i in sorted(due - found)]


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


def kernel_is_clean(chapter):
    """The metadata name the kernel and the language, nothing else."""
    expected = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    if chapter.raw.get("metadata") == expected:
        return []
    return [f"{chapter.name}: notebook metadata differ from the standard"]


def sanitising_is_narrow(config, lines):
    """The patterns of nbval touch the residual field of a check only."""
    parser = configparser.ConfigParser()
    parser.read_string(config)
    complaints = []
    if len(parser.sections()) > MAX_PATTERNS:
        complaints.append(f"more than {MAX_PATTERNS} sanitising pattern")
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
    """At most 15 lines (hidden drawing cells 40) of at most 80 columns."""
    complaints = []
    for c in chapter.code:
        lines = c.source.splitlines()
        hidden_input = c.tags & {"hide-input", "remove-input"}
        limit = MAX_DRAWING_LINES if hidden_input else MAX_LINES
        if len(lines) > limit:
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
    """A drawing cell prints what was drawn, so that a stale one goes red."""
    return [
        at(chapter, c.index, "a picture without book.show, drawn or slider")
        for c in chapter.code
        if has_image(c)
        and not {"book.show", "book.drawn", "book.slider"} & calls_of(c.tree)
    ]


def calls_of(tree):
    """Dotted names of everything that a cell calls."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return {ast.unparse(n.func) for n in calls}


# -------------------------------------------------------------- a whole chapter
def header_is_complete(chapter):
    """Title, PRML section, question, and the module and test that exist."""
    root, stem = chapter.root, chapter.stem
    wanted = {
        "a title": re.search(r"(?m)^# \S", chapter.header),
        "the PRML section": "PRML" in chapter.header,
        "the question": chapter.question,
        f"prml4/{stem}.py": named_file(chapter, root, f"prml4/{stem}.py"),
        f"tests/test_{stem}.py": named_file(
            chapter, root, f"tests/test_{stem}.py"
        ),
    }
    return [
        at(chapter, 0, f"the header lacks {what}, or it does not exist")
        for what, found in wanted.items()
        if not found
    ]


def named_file(chapter, root, name):
    """Whether the header names a file of the repository that exists."""
    return f"`{name}`" in chapter.header and (root / name).is_file()


def parts_are_there(chapter):
    """The sections that every chapter has, and a picture early on."""
    missing = [s for s in SECTIONS if not chapter.section(s)]
    complaints = [f"{chapter.name}: no section “{s}”" for s in missing]
    third = chapter.headings[2][1] if len(chapter.headings) > 2 else 0
    if not chapter.pictures or chapter.pictures[0] > third:
        complaints.append(f"{chapter.name}: no picture before the third ##")
    if not re.search(r"\{cite[\w:]*\}`", chapter.section("Further reading")):
        complaints.append(f"{chapter.name}: further reading cites nothing")
    return complaints


def summary_is_a_table(chapter):
    """The summary ties results to equations, functions and checks."""
    text = chapter.section("Summary")
    rows = [s for s in text.splitlines() if s.strip().startswith("|")]
    wide = [s for s in rows if s.count("|") >= 5]
    if not wide or not any("{eq}`" in s for s in wide):
        return [f"{chapter.name}: the summary has no table of four columns"]
    labels = set(re.findall(r"\{eq\}`(?:[^`<]*<)?([^`>]+)", text))
    known = {e.label for e in chapter.equations}
    return [
        f"{chapter.name}: the summary refers to unknown {label}"
        for label in sorted(labels - known)
    ]


def names_in_prose_exist(chapter):
    """`module.name` in the text is a name of that module."""
    folder = chapter.root / "prml4"
    complaints = []
    for cell in chapter.markdown:
        spans = re.findall(r"(?<!`)`(?:prml4\.)?(\w+)\.(\w+)[`(]", cell.source)
        for stem, name in spans:
            path = folder / f"{stem}.py"
            if path.is_file() and name not in {"py", *top_level(path)}:
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


def modules_have_tests(root, plan):
    """A module has its test file."""
    return [
        f"prml4/{path.name} has no tests/test_{path.name}"
        for path in sorted((root / "prml4").glob("[!_]*.py"))
        if not (root / "tests" / f"test_{path.name}").is_file()
    ]


def notebooks_are_planned(book, plan):
    """The notebooks are the chapters of the plan, under the plan's names."""
    names, found = {row.name for row in plan}, {c.name for c in book}
    return [
        *(f"{name} is not in outline.toml" for name in sorted(found - names)),
        *(f"there is no book/{name}.ipynb" for name in sorted(names - found)),
    ]


def imports_run_one_way(root, plan):
    """A chapter's module imports no later chapter, nor what rests on one."""
    rank = {row.stem: row.number for row in plan}
    rank["check"] = 0
    modules = {
        path.stem: imported_modules(path)
        for path in sorted((root / "prml4").glob("[!_]*.py"))
    }
    return [
        f"prml4/{stem}.py imports {other}"
        for stem, imported in modules.items()
        if stem in rank
        for other in imported
        if latest(other, modules, rank) > rank[stem]
    ]


def latest(stem, modules, rank):
    """The number of a chapter; of support, the latest that it rests on."""
    if stem in rank:
        return rank[stem]
    below = modules.get(stem, [])
    return max((latest(s, modules, rank) for s in below), default=0)


def imported_modules(path):
    """Stems of the prml4 modules that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").removeprefix("prml4").strip(".")
            if node.level or (node.module or "").startswith("prml4"):
                found |= {module} if module else {a.name for a in node.names}
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
            found |= {n[6:] for n in names if n.startswith("prml4.")}
    return sorted(found)


# what a notebook of the back matter must satisfy as well
PER_NOTEBOOK = (
    claims_are_checked,
    checks_name_claims,
    referee_is_known,
    checks_show_their_line,
    labels_are_prefixed,
    no_hidden_labels,
    slips_are_refuted,
    slip_calls_are_boxed,
    counts_are_in_order,
    outputs_are_there,
    no_error_outputs,
    no_machine_paths,
    tags_are_known,
    kernel_is_clean,
    mathematics_is_imported,
    cells_are_short,
    figures_are_described,
    figures_state_what_they_show,
    names_in_prose_exist,
)
PER_CHAPTER = (
    *PER_NOTEBOOK,
    header_is_complete,
    parts_are_there,
    summary_is_a_table,
    exercises_are_solved,
    exercises_check_themselves,
)
PER_BOOK = (labels_are_unique, slips_name_claims, slips_are_unique)
PER_PLAN = (
    slips_are_complete,
    notebooks_are_planned,
)
PER_TREE = (modules_have_tests, imports_run_one_way)
