"""The Sphinx extension behind the back matter.

Its directives assemble ledger, index, reference and cover map when the book
is built, from what tools/chapters.py reads in the notebooks: nothing is typed
twice, and a new chapter brings its own rows.
"""

import ast
import json
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools import chapters as reader  # noqa: E402

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
            yield f"**{part}**"
            yield ""
            for row in plan:
                if row.part == part:
                    chapter = written[row.name]
                    link = chapter_link(chapter)
                    yield f"{row.number}. {link}. *{chapter.question}*"
            yield ""
        yield ":::"


class BookCounts(Assembled):
    """How many claims, definitions, steps and checks each chapter has."""

    def markdown(self):
        """A table with a row for each notebook and one for the book."""
        book = reader.notebooks()
        rows = [[chapter_link(c, heading(c)), *counts_of(c)] for c in book]
        columns = zip(*map(counts_of, book), strict=True)
        total = [sum(column) for column in columns]
        header = ["Chapter", *COUNTED]
        rows.append(["**The book**", *total])
        yield from table(header, rows, [7, *[2] * len(COUNTED)])


COUNTED = (
    "Claims",
    "Definitions",
    "Steps",
    "Checks",
    "Slips",
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
        len(chapter.slips),
        len(chapter.pictures),
        len(chapter.exercises),
    ]


# ----------------------------------------------------------------- the ledger
class SlipLedger(Assembled):
    """Every slip of the sources that a chapter refutes, with its residuals."""

    def markdown(self):
        """A section for each chapter, an entry for each slip."""
        book = [c for c in reader.chapters() if c.slips]
        for chapter in book:
            yield f"## {heading(chapter)}"
            yield ""
            for slip in chapter.slips:
                yield from slip_entry(slip)


def slip_entry(slip):
    """Heading, explanation, residuals and the way to the chapter."""
    mark = " (PRML prints this too)" if slip.printed_in_prml else ""
    yield f"### {slip.id} · {slip.name}{mark}"
    yield ""
    yield re.sub(r"\$\$[ \t]*\([^()\s]+\)", "$$", slip.body)
    yield ""
    place = f"{{ref}}`in its place <slip-{slip.id.lower()}>`"
    if slip.label is None:
        yield f"Nothing to compute; see it {place}."
    else:
        yield f"{residuals(slip)} See {{eq}}`{slip.label}`, {place}."
    yield ""


REFUTED = re.compile(r"as written: (.+?) · ✓ corrected: residual (\S+ ≤ \S+)")


def residuals(slip):
    """What the chapter's cell printed, as written and corrected."""
    found = REFUTED.search(slip.line)
    if not found:
        return "Not run yet."
    as_written, corrected = found.groups()
    return f"**As written: {as_written}. Corrected: {corrected}.**"


class SlipCounts(Assembled):
    """How many slips of each source are refuted."""

    def markdown(self):
        """A table with a row for each source."""
        book = [s for c in reader.chapters() for s in c.slips]
        done = Counter(s.id[0] for s in book)
        prml = Counter(s.id[0] for s in book if s.printed_in_prml)
        typos = typographic()
        rows = [
            [
                f"**{k}** · {source['description']}",
                done[k],
                prml[k],
                len(source["entry"]),
            ]
            for k, source in typos.items()
        ]
        header = ["Source", "Refuted", "In PRML too", "Typographic"]
        yield from table(header, rows, [10, 3, 3, 3])


def typographic():
    """The slips of the pen: source -> description and entries."""
    path = ROOT / "book" / "back" / "typographic.toml"
    return tomllib.loads(path.read_text("utf-8"))


class TypographicSlips(Assembled):
    """One table per source for what no computation can refute."""

    def markdown(self):
        """Place, as given, to be read as."""
        for key, source in typographic().items():
            yield f"### Source {key}: {source['description']}"
            yield ""
            rows = [
                [e["lines"], e["given"], e["read"]] for e in source["entry"]
            ]
            header = ["Lines", "As given", "To be read as"]
            yield from table(header, rows, [2, 5, 5])


# ------------------------------------------------------------------ the index
class EquationIndex(Assembled):
    """Every numbered equation: formula, function, check and residual."""

    def markdown(self):
        """A section for each notebook, an entry for each equation."""
        for chapter in reader.notebooks():
            yield f"## {heading(chapter)}"
            yield ""
            for equation in chapter.equations:
                yield from equation_entry(chapter, equation)


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
    """Kind of check, functions behind it, residual and bound."""
    functions = " and ".join(f"`{name}`" for name in check.library)
    by = f", with {functions}" if functions else ""
    numbers = reader.RESIDUAL.search(check.line)
    residual = " ≤ ".join(numbers.groups()) if numbers else "not run yet"
    return f"Checked as {KINDS[check.kind]}{by}: {residual}"


KINDS = {
    "gradient": "a gradient",
    "jacobian": "a Jacobian",
    "hessian": "a Hessian",
    "integral": "an integral",
    "moments": "an average",
    "identity": "an identity",
    "limit": "a limit",
    "psd": "a semidefinite matrix",
}


# ---------------------------------------------------------- measured results
class MutantReport(Assembled):
    """How many planted faults the checks and tests found."""

    def markdown(self):
        """One sentence, and the list of survivors."""
        path = RESULTS / "mutants.json"
        if not path.exists():
            yield "The faults have not been planted yet: run `make mutants`."
            return
        modules = json.loads(path.read_text("utf-8"))
        total = {
            key: sum(report[key] for report in modules.values())
            for key in ("functions", "planted", "killed", "by_checks")
        }
        killed, planted = total["killed"], total["planted"]
        yield (
            f"Of {planted} faults planted in {total['functions']} functions, "
            f"{killed} were found ({killed / planted:.1%}): "
            f"{total['by_checks']} by a chapter's check, "
            f"{killed - total['by_checks']} by a unit test."
        )
        yield ""
        yield from table(
            ["Module", "Faults planted", "Found", "By a chapter's check"],
            [mutant_counts(*item) for item in modules.items()],
            [4, 3, 3, 4],
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
    counts = [str(report["planted"]), found, str(report["by_checks"])]
    return [f"`{stem}`", *counts]


def mutant_row(fault):
    """The function and what was changed in it."""
    return [f"`{fault['function']}`", f"`` {fault['fault']} ``"]


class SpeedReport(Assembled):
    """What make bench measured, against the peers in the same run.

    The argument is the name of the report: logistic, generative, ...
    """

    required_arguments = 1

    def markdown(self):
        """A table for each number of threads, the growth, the setting."""
        path = RESULTS / f"{self.arguments[0]}.json"
        if not path.exists():
            yield "Nothing has been measured yet: run `make bench`."
            return
        report = json.loads(path.read_text("utf-8"))
        cells = report["cells"] + report.get("other_cells", [])
        shown = [c for c in SPEED_COLUMNS if c[0] in cells[0]]
        for threads in sorted({c["threads"] for c in cells}):
            yield f"**BLAS at {counted(threads, 'thread')}.**"
            yield ""
            rows = [
                [show(cell) for *_, show in shown]
                for cell in cells
                if cell["threads"] == threads
            ]
            _, header, widths, _ = zip(*shown, strict=True)
            yield from table(header, rows, widths)
            yield from growth(report.get("growth", []), threads)
        yield from climbs(report.get("optimisation", []))
        versions = ", ".join(f"{k} {v}" for k, v in report["versions"].items())
        yield f"{report['setting']} Versions: {versions}."
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
        [row["N"], who, milliseconds(row[who]), f"{height:.2f}"]
        for row in rows
        for who, height in row["log_evidence"].items()
    ]
    header = ["N", "Optimiser", "ms", "log evidence at the end"]
    yield from table(header, found, [2, 4, 3, 4])


# -------------------------------------------------------------- the reference
class ApiReference(SphinxDirective):
    """Every public name of the library, from its source."""

    def run(self):
        """One section for each module."""
        self.env.note_reread()
        names = {c.stem: c for c in reader.chapters()}
        return [
            module_section(self.state.document, path, names.get(path.stem))
            for path in reader.modules()
        ]


def module_section(document, path, chapter):
    """Title, summary and the public names of a module."""
    tree = ast.parse(path.read_text("utf-8"))
    section = nodes.section(ids=[f"api-{path.stem}"], names=[])
    section += nodes.title("", "", nodes.literal("", f"prml4.{path.stem}"))
    summary = nodes.paragraph("", summary_of(tree) + " ")
    if chapter:
        summary += document_link(place(chapter), chapter.title)
    section += summary
    listed = nodes.definition_list(classes=["api"])
    for node in public_names(tree):
        term = nodes.term("", "", nodes.literal("", signature(node)))
        text = nodes.paragraph("", summary_of(node))
        listed += nodes.definition_list_item(
            "", term, nodes.definition("", text)
        )
    if len(listed):
        section += listed
    return section


def document_link(target, text):
    """A reference to another page, resolved by Sphinx."""
    return pending_xref(
        "",
        nodes.inline("", f"Chapter: {text}."),
        refdomain="std",
        reftype="doc",
        reftarget=target,
        refexplicit=True,
        refwarn=True,
    )


def public_names(tree):
    """Functions and classes that a reader may call."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [
        n
        for n in tree.body
        if isinstance(n, kinds) and not n.name.startswith("_")
    ]


def summary_of(node):
    """The first paragraph of a docstring, on one line."""
    text = (ast.get_docstring(node) or "").split("\n\n")[0]
    return " ".join(text.split())


def signature(node):
    """name(arguments) of a function; the bare name of a class."""
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    return f"{node.name}({ast.unparse(node.args)})"


# ---------------------------------------------------------------- the anchors
class SlipAnchors(SphinxTransform):
    """Give the box of slip A02 the anchor slip-a02."""

    default_priority = 400

    def apply(self, **kwargs):
        """Name every admonition of class slip after its ledger id."""
        for box in self.document.findall(nodes.admonition):
            title = box.next_node(nodes.title)
            found = title and re.match(reader.SLIP_ID, title.astext())
            if found and "slip" in box["classes"]:
                name = f"slip-{found.group(0).lower()}"
                box["names"].append(name)
                box["ids"].append(name)
                self.document.note_explicit_target(box)


def setup(app):
    """Register the directives and the anchors."""
    for name, directive in {
        "chapter-map": ChapterMap,
        "book-counts": BookCounts,
        "slip-ledger": SlipLedger,
        "slip-counts": SlipCounts,
        "typographic-slips": TypographicSlips,
        "equation-index": EquationIndex,
        "mutant-report": MutantReport,
        "speed-report": SpeedReport,
        "api-reference": ApiReference,
    }.items():
        app.add_directive(name, directive)
    app.add_transform(SlipAnchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
