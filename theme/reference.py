"""The page about the library, in the order of the book.

A chapter's module comes with what its arguments mean, then the names that its
notebook uses, in the order in which it meets them, with the equations whose
checks name them, then the others; the rooms follow, with first lines only.
All of it is read from the sources of library and notebooks.
"""

import ast
import re
import sys
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from theme.seals import tens  # noqa: E402
from tools import chapters as reader  # noqa: E402

# "name  (N, M)  meaning" of a docstring's table
ENTRY = re.compile(r"^ {0,4}(\S(?:\S| (?! ))*) {2,}(\S.*)$")
SHAPE = re.compile(r"^(\([^()]*\)) {2,}(.+)$")


# ------------------------------------------------------------ what is known
@cache
def defined():
    """module.name of everything public -> its syntax."""
    return {
        f"{path.stem}.{node.name}": node
        for path in reader.modules()
        for node in public_names(syntax(path))
    }


def syntax(path):
    """The tree of a module."""
    return ast.parse(path.read_text("utf-8"))


def public_names(tree):
    """Functions and classes that a reader may call."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [
        n
        for n in tree.body
        if isinstance(n, kinds) and not n.name.startswith("_")
    ]


def anchor(name):
    """The anchor of module.name on the page, None where there is none."""
    name = ".".join(name.split(".")[:2])
    if name not in defined():
        return None
    kind = "class-" * isinstance(defined()[name], ast.ClassDef)
    return f"api-{kind}{re.sub('[._]', '-', name).lower()}"


def equations(book):
    """module.name -> equations whose checks name it, each once, in order."""
    found = {}
    for chapter in book:
        known = {e.label: e for e in chapter.equations}
        for check in chapter.checks:
            if check.counts and check.label in known:
                for name in check.library:
                    name = ".".join(name.split(".")[:2])
                    found.setdefault(name, {})[check.label] = known[check.label]
    return {name: list(labels.values()) for name, labels in found.items()}


def used(chapter, stem):
    """Names of a module that a notebook uses, in the order of first use."""
    local = reader.library_names(chapter.code)
    places = []
    for cell in chapter.code:
        for node in ast.walk(cell.tree):
            name = dotted(node, local)
            if name.startswith(f"{stem}."):
                places.append((cell.index, node.lineno, node.col_offset, name))
    return list(
        dict.fromkeys(name.split(".")[1] for *_, name in sorted(places))
    )


def dotted(node, local):
    """The library's name for what an expression reads, "" for others."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{local.get(node.value.id, '')}.{node.attr}"
    return local.get(node.id, "") if isinstance(node, ast.Name) else ""


def formulas(chapter):
    """name -> its equation, in the first row of the results that names it."""
    known = {e.label: e for e in chapter.equations}
    checked = {
        (name.split(".")[1], check.label)
        for check in chapter.checks
        for name in check.library
    }
    found = {}
    summary = chapter.section("Five things") or chapter.section("Summary")
    for row in summary.splitlines():
        labels = re.findall(r"\{eq\}`(?:[^`<]*<)?([^`>]+)", row)
        functions = rf"(?<!\}})`(?:{chapter.stem}\.)?(\w+)`"
        for name in re.findall(functions, row):
            fitting = [known[k] for k in labels if (name, k) in checked]
            found.setdefault(name, next(iter(fitting), None))
    return found


# ---------------------------------------------------------- pieces of the page
class ApiReference(SphinxDirective):
    """Every public name of the library, from its source."""

    def run(self):
        """A section for each chapter, then one for each room."""
        self.env.note_reread()
        book = reader.notebooks()
        self.equations = equations(book)
        written = {c.name: c for c in book}
        chapters = [
            self.chapter(row, written[row.name]) for row in reader.outline()
        ]
        rooms = [self.room(name) for name in reversed(reader.ROOMS)]
        return [*chapters, *rooms]

    def chapter(self, row, chapter):
        """What the chapter's module teaches: the names it uses come first."""
        tree = syntax(ROOT / "prml4" / f"{row.stem}.py")
        section = titled(f"api-{row.stem}", f"{row.number} · {chapter.title}")
        line = paragraph(f"`prml4.{row.stem}` of")
        line += [nodes.Text(" "), chapter_link(chapter, "the chapter")]
        section += [line, *told(tree)]
        public = {node.name: node for node in public_names(tree)}
        first = [name for name in used(chapter, row.stem) if name in public]
        results = [name for name, node in public.items() if is_result(node)]
        first += [name for name in results if name not in first]
        rest = [name for name in public if name not in first]
        self.formulas = formulas(chapter)
        section += self.entries(row.stem, [public[n] for n in first])
        if rest:
            section += paragraph("What the chapter's page does not need:")
            section += self.entries(row.stem, [public[n] for n in rest])
        return section

    def room(self, name):
        """The modules of a room, each with first lines."""
        folder = ROOT / "prml4" / name
        section = titled(f"api-room-{name}", f"prml4.{name}")
        text = ast.get_docstring(syntax(folder / "__init__.py"))
        section += paragraph(text.split("\n\n")[0])
        for path in (p for p in reader.modules() if p.parent == folder):
            tree = syntax(path)
            module = titled(f"api-{path.stem}", f"{name}.{path.stem}")
            module += paragraph(first_line(tree))
            module += self.entries(path.stem, public_names(tree), brief=True)
            section += module
        return section

    def entries(self, stem, found, brief=False):
        """A definition for each function and class, or none."""
        listed = nodes.definition_list(classes=["api"])
        for node in found:
            name = f"{stem}.{node.name}"
            term = nodes.term("", "", nodes.literal("", call(stem, node)))
            term["ids"] = term["names"] = [anchor(name)]
            self.state.document.note_explicit_target(term)
            text = [paragraph(first_line(node))] if brief else told(node)
            proofs = self.proofs(name, brief)
            listed += nodes.definition_list_item(
                "", term, nodes.definition("", *text, *proofs)
            )
        return [listed] if found else []

    def proofs(self, name, brief):
        """The equation that states a function, and those that check it."""
        stated = None if brief else self.formulas.get(name.split(".")[1])
        if stated:
            tex = re.sub(r"\s*[.,;]?\s*$", "", stated.tex)
            yield nodes.math_block(tex, tex, nowrap=False, number=None)
        if name in self.equations:
            line = paragraph("Checked in")
            for k, equation in enumerate(self.equations[name]):
                line += nodes.Text(", " if k else " ")
                line += equation_link(equation.label)
            yield line


def is_result(node):
    """Whether a class is what a fit returns: a Result, and so it has fields."""
    fields = [n for n in node.body if isinstance(n, ast.AnnAssign)]
    return bool(fields and getattr(node, "bases", []))


def titled(name, text):
    """A section."""
    section = nodes.section(ids=[name.replace("_", "-")], names=[])
    section += nodes.title("", text)
    return section


def paragraph(text):
    """A paragraph in which `names` are set as code, and 1e-8 is 10⁻⁸."""
    parts = re.split(r"`([^`]+)`", " ".join(text.split()))
    kinds = (
        lambda part: nodes.Text(tens(part)),
        lambda part: nodes.literal("", part),
    )
    return nodes.paragraph(
        "", "", *(kinds[i % 2](part) for i, part in enumerate(parts) if part)
    )


def chapter_link(chapter, text):
    """A reference to the page of a notebook, resolved by Sphinx."""
    page = chapter.path.relative_to(chapter.root).with_suffix("")
    return cross_reference("std", "doc", f"/{page.as_posix()}", text)


def equation_link(label):
    """The number of an equation, resolved by Sphinx."""
    return cross_reference("math", "eq", label, label)


def cross_reference(domain, kind, target, text):
    """A reference that Sphinx resolves, or complains about."""
    return pending_xref(
        "", nodes.inline("", text), refdomain=domain, reftype=kind,
        reftarget=target, refexplicit=kind == "doc", refwarn=True,
    )  # fmt: skip


def call(stem, node):
    """module.name(arguments) of a function; the bare name of a class."""
    if isinstance(node, ast.ClassDef):
        return f"class {stem}.{node.name}"
    return f"{stem}.{node.name}({ast.unparse(node.args)})"


def first_line(node):
    """The first paragraph of a docstring, on one line."""
    text = (ast.get_docstring(node) or "").split("\n\n")[0]
    return " ".join(text.split())


def told(node):
    """A docstring as paragraphs, tables of what names mean, and displays."""
    for block in (ast.get_docstring(node) or "").split("\n\n"):
        if ENTRY.match(block.partition("\n")[0]):
            yield meanings(block.splitlines())
        elif block.startswith("    "):
            yield nodes.literal_block("", block, language="none")
        else:
            yield paragraph(block)
    if isinstance(node, ast.ClassDef):
        methods = [n for n in public_names(node) if ast.get_docstring(n)]
        if methods:
            yield table([(f".{n.name}", first_line(n)) for n in methods])


def meanings(lines):
    """Lines of name, shape and meaning, longer ones continued, as a table."""
    rows = []
    for line in lines:
        found = ENTRY.match(line)
        if found and not line.startswith(" " * 5):
            name, text = found.groups()
            rows.append([name, SHAPE.sub(r"`\1` \2", text)])
        elif rows:
            rows[-1][1] += f" {line.strip()}"
    return table(rows)


def table(rows):
    """Names and what they mean."""
    body = nodes.tbody()
    for name, text in rows:
        term = nodes.paragraph("", "", nodes.literal("", name))
        entries = [nodes.entry("", term), nodes.entry("", paragraph(text))]
        body += nodes.row("", *entries)
    columns = [nodes.colspec(colwidth=width) for width in (1, 5)]
    group = nodes.tgroup("", *columns, body, cols=2)
    return nodes.table("", group, classes=["names"])


def setup(app):
    """Register the directive."""
    app.add_directive("api-reference", ApiReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
