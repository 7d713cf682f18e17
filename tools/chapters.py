"""The single reader of the notebooks: everything that gates, index, ledger
and cover know about a chapter is collected here, from the chapter itself."""

import ast
import json
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLAIM_CHECKS = {
    "gradient",
    "jacobian",
    "hessian",
    "integral",
    "moments",
    "identity",
    "limit",
    "psd",
    "printed",
}
SILENT = {"given", "depends", "each", "law", "transcribed"}  # print nothing
ROOMS = ("referee", "numerics", "models", "studies", "estimators")
SLIP_ID = r"[A-E]\d{2}"
SLIP_HEADING = re.compile(rf"### (?={SLIP_ID} )(.+)\n([\s\S]+)")
PICTURE = 'class="prml-picture prml-panels"'  # what book.show writes
PRML_MARK = re.compile(r"\((PRML prints this too|PRML's own)\)")
DISPLAY = re.compile(r"\$\$(.+?)\$\$(?:[ \t]*\(([^()\s]+)\))?", re.DOTALL)
RESIDUAL = re.compile(r"residual (\S+) ≤ ([^\s<]+)")
FENCE = re.compile(r"^(:{3,}|`{3,})\{([\w-]+)\}[ \t]*(.*)$")
OPTION = re.compile(r"^:([\w-]+):[ \t]*(.*)$")


# ------------------------------------------------------------------ the plan
@dataclass(frozen=True)
class Planned:
    """One row of book/outline.toml."""

    number: int
    stem: str
    title: str
    prml: str  # PRML sections, or "no section"
    slips: tuple[str, ...]  # ledger ids that belong to the chapter
    part: str  # title of the part

    @property
    def name(self):
        """File name without suffix: the number and the stem."""
        return f"{self.number:02d}_{self.stem}"


def outline(root=ROOT):
    """Every chapter of the plan, in order."""
    parts = tomllib.loads((root / "book" / "outline.toml").read_text("utf-8"))
    return [
        Planned(
            number=row["number"],
            stem=row["stem"],
            title=row["title"],
            prml=row["prml"],
            slips=tuple(row["slips"]),
            part=part["title"],
        )
        for part in parts["part"]
        for row in part["chapter"]
    ]


# ------------------------------------------------------- what a chapter holds
@dataclass(frozen=True)
class Equation:
    """A labelled display: a claim, or a definition if so labelled."""

    label: str
    tex: str
    cell: int

    @property
    def is_definition(self):
        """Definitions are labelled def-…"""
        return self.label.startswith("def-")


@dataclass(frozen=True)
class Check:
    """One call of the referee, with the line that it printed."""

    kind: str  # name of the function of prml4.check
    label: str | None  # None if it is not a string literal
    cell: int
    counts: bool  # False inside try, exercise or solution cells
    library: tuple[str, ...]  # prml4 functions behind library=…
    line: str  # the printed line, "" if there is none
    residual: float | None
    bound: float | None


@dataclass(frozen=True)
class Slip:
    """A slip of the sources: box or entry of the ledger, what was printed."""

    id: str
    name: str
    body: str  # Markdown of the box or the entry
    cell: int  # of the box or the entry
    line: str
    printed_in_prml: bool


@dataclass(frozen=True)
class Directive:
    """A MyST directive of a Markdown cell."""

    kind: str
    argument: str
    options: dict
    body: str
    cell: int


@dataclass(frozen=True)
class Figure:
    """A code cell whose output holds a picture."""

    name: str
    caption: str
    alt: str
    cell: int


@dataclass(frozen=True)
class Cell:
    """One cell of a notebook, with the fields that we use."""

    index: int
    kind: str  # "markdown" or "code"
    source: str
    tags: frozenset
    metadata: dict
    outputs: tuple
    count: int | None

    @cached_property
    def tree(self):
        """The syntax tree of a code cell; magics are left out."""
        lines = self.source.splitlines()
        kept = [
            "" if s.lstrip()[:1] in "%!" and s.strip() else s for s in lines
        ]
        return ast.parse("\n".join(kept))

    @cached_property
    def printed(self):
        """All text of the outputs."""
        return "\n".join(filter(None, map(output_text, self.outputs)))

    @property
    def is_reader(self):
        """Whether the cell belongs to an exercise or a solution."""
        return bool(self.tags & {"exercise", "solution"})


def output_text(output):
    """The text of one output: a stream, or its plain representation."""
    data = output.get("data", {})
    return "".join(output.get("text", data.get("text/plain", "")))


def pictures_of(outputs):
    """The static pictures among the outputs of a cell, as HTML."""
    shown = (o.get("data", {}).get("text/html", "") for o in outputs)
    return [page for page in map("".join, shown) if PICTURE in page]


def draws(tree):
    """Whether a cell calls one of the two functions that show a picture."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    shown = {ast.unparse(n.func) for n in calls}
    return bool(shown & {"book.show", "book.slider"})


# -------------------------------------------------------------------- Markdown
def without_code(text):
    """The text without literal code: fences that are no directives, spans."""
    text = re.sub(r"(?ms)^(`{3,}|~{3,})(?!\{).*?^\1[ \t]*$", "", text)
    return re.sub(r"(`+)(?!`|\{).+?(?<!`)\1(?!`)", "", text)


def displays(cell):
    """(tex, label or None) of every display of a Markdown cell."""
    found = DISPLAY.finditer(without_code(cell.source))
    return [(m.group(1).strip(), m.group(2)) for m in found]


def directives(text, cell):
    """Every directive of the text, the nested ones after their parent."""
    lines, found, i = text.splitlines(), [], 0
    while i < len(lines):
        opening = FENCE.match(lines[i])
        if opening:
            fence, kind, argument = opening.groups()
            end = closing_line(lines, i + 1, fence)
            options, body = split_options(lines[i + 1 : end])
            found.append(Directive(kind, argument, options, body, cell))
            found += directives(body, cell)
            i = end
        i += 1
    return found


def closing_line(lines, start, fence):
    """Index of the line that closes a fence, or the end of the text."""
    for i in range(start, len(lines)):
        stripped = lines[i].strip()
        if len(stripped) >= len(fence) and set(stripped) == {fence[0]}:
            return i
    return len(lines)


def split_options(lines):
    """The :option: lines at the head of a directive, and its body."""
    options, k = {}, 0
    while k < len(lines) and (found := OPTION.match(lines[k])):
        options[found.group(1)] = found.group(2).strip()
        k += 1
    return options, "\n".join(lines[k:]).strip()


# ------------------------------------------------------------------------ code
def library_names(cells):
    """Names that the notebook imports from prml4, as dotted paths."""
    names = {}
    for node in (n for c in cells for n in ast.walk(c.tree)):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module.split(".")[0] == "prml4":
                for alias in node.names:
                    path = below_rooms(f"{module}.{alias.name}")
                    names[alias.asname or alias.name] = path
    return names


def below_rooms(path):
    """prml4.room.module.name as module.name: no two modules share a name."""
    parts = path.split(".")[1:]
    return ".".join(parts[1:] if parts[0] in ROOMS else parts)


def assignments(cells):
    """Name -> (index of the cell, expression) of every assignment to it.

    What is assigned inside a function belongs to the function.
    """
    values = {}
    for cell in cells:
        for node in outside_functions(cell.tree):
            for target, value in assigned(node):
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        values.setdefault(name.id, []).append(
                            (cell.index, value)
                        )
    return values


def outside_functions(tree):
    """The nodes below a tree, but for those inside functions."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef):
            yield node
            yield from outside_functions(node)


def assigned(node):
    """(target, value) of an assignment; a, b = x, y are two."""
    if not isinstance(node, ast.Assign):
        return []
    several = [*node.targets, node.value]
    if all(isinstance(x, ast.Tuple) for x in several):
        rows = [x.elts for x in several]
        if len({len(row) for row in rows}) == 1:
            return [
                (t, row[-1])
                for row in zip(*rows, strict=True)
                for t in row[:-1]
            ]
    return [(target, node.value) for target in node.targets]


@dataclass(frozen=True)
class Origins:
    """Traces an expression back to the functions of the library."""

    names: dict  # imported name -> path below prml4
    values: dict  # variable -> (index of the cell, expression)
    cell: int  # where the expression stands

    def of(self, node, follow=True, seen=frozenset()):
        """Paths of the prml4 functions that compute an expression.

        Arguments of a library call are read, but variables among them are
        not traced further: data are no formula.
        """
        path = self.path(node)
        if path:
            return {path}
        if isinstance(node, ast.Name):
            return self.variable(node.id, seen) if follow else set()
        follow = follow and not (
            isinstance(node, ast.Call) and self.path(node.func)
        )
        if isinstance(node, ast.Lambda):
            seen = seen | {a.arg for a in node.args.args}
        inner = ast.iter_child_nodes(node)
        return set().union(*(self.of(n, follow, seen) for n in inner))

    def variable(self, name, seen):
        """The same for the value that a variable has in this cell."""
        before = [e for e in self.values.get(name, []) if e[0] <= self.cell]
        if name in seen or not before:
            return set()
        latest = [v for c, v in before if c == before[-1][0]]
        deeper = seen | {name}
        return set().union(*(self.of(v, True, deeper) for v in latest))

    def path(self, node):
        """module.function if the node names one of prml4, else None."""
        path = None
        if isinstance(node, ast.Name):
            path = self.names.get(node.id, "")
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id in self.names:
                path = f"{self.names[node.value.id]}.{node.attr}"
        is_function = path and "." in path
        return path if is_function and not path.startswith("data.") else None


def referee_calls(tree):
    """(call, inside try?) for every call check.<function>(…), in order."""
    guarded = {
        id(n)
        for t in ast.walk(tree)
        if isinstance(t, ast.Try)
        for n in ast.walk(t)
    }
    calls = [
        (n, id(n) in guarded)
        for n in ast.walk(tree)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and isinstance(n.func.value, ast.Name)
        and n.func.value.id == "check"
    ]
    return sorted(calls, key=lambda pair: (pair[0].lineno, pair[0].col_offset))


def literal(call, position):
    """A positional argument that is a string literal, else None."""
    if len(call.args) > position:
        node = call.args[position]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
    return None


def keyword(call, name):
    """The expression of a keyword argument, or None."""
    return next((k.value for k in call.keywords if k.arg == name), None)


# --------------------------------------------------------------------- chapter
class Chapter:
    """A notebook, read once."""

    def __init__(self, path):
        """Read book/NN_stem.ipynb, or book/back/stem.ipynb."""
        self.path = Path(path)
        self.name = self.path.stem
        above = self.path.parents
        self.root = next(p.parent for p in above if p.name == "book")
        self.stem = self.name.partition("_")[2] or self.name
        self.raw = json.loads(self.path.read_text("utf-8"))
        self.cells = [make_cell(i, c) for i, c in enumerate(self.raw["cells"])]
        self.markdown = [c for c in self.cells if c.kind == "markdown"]
        self.code = [c for c in self.cells if c.kind == "code"]

    @cached_property
    def header(self):
        """The first cell."""
        return self.cells[0].source if self.cells else ""

    @cached_property
    def title(self):
        """The text of the first heading."""
        found = re.search(r"^# +(.+)$", self.header, re.MULTILINE)
        return found.group(1).strip() if found else self.name

    @cached_property
    def question(self):
        """The sentence after "The question." in the header."""
        found = re.search(
            r"\*\*The question\.?\*\*\.?\s*(.+?)(?:\n\s*\n|\Z)",
            self.header,
            re.DOTALL,
        )
        return " ".join(found.group(1).split()) if found else ""

    @cached_property
    def headings(self):
        """(title, index of the cell) of the second-level headings."""
        return [
            (title.strip(), c.index)
            for c in self.markdown
            for title in re.findall(r"(?m)^## +(.+)$", without_code(c.source))
        ]

    def section(self, prefix):
        """The Markdown below the heading that starts so, "" without one."""
        for k, (title, start) in enumerate(self.headings):
            if title.lower().startswith(prefix.lower()):
                rest = [i for _, i in self.headings[k + 1 :] if i > start]
                stop = rest[0] if rest else len(self.cells)
                inside = [c for c in self.markdown if start <= c.index < stop]
                return "\n\n".join(c.source for c in inside)
        return ""

    @cached_property
    def equations(self):
        """Labelled displays, in order."""
        return [
            Equation(label, tex, c.index)
            for c in self.markdown
            for tex, label in displays(c)
            if label
        ]

    @property
    def claims(self):
        """Labelled displays that are not definitions."""
        return [e for e in self.equations if not e.is_definition]

    @property
    def definitions(self):
        """Displays labelled def-…"""
        return [e for e in self.equations if e.is_definition]

    @cached_property
    def steps(self):
        """Number of displays without a label: steps of derivations."""
        pairs = [pair for c in self.markdown for pair in displays(c)]
        return sum(label is None for _, label in pairs)

    @cached_property
    def checks(self):
        """Every call of the referee but slip and attempt, in order."""
        names, values = library_names(self.code), assignments(self.code)
        return [
            make_check(cell, call, guarded, names, values)
            for cell in self.code
            for call, guarded in referee_calls(cell.tree)
            if call.func.attr in CLAIM_CHECKS
        ]

    @cached_property
    def transcribed(self):
        """Label -> why its display is checked by hand and not as printed."""
        return {
            literal(call, 0): literal(call, 2)
            for cell in self.code
            for call, _ in referee_calls(cell.tree)
            if call.func.attr == "transcribed"
        }

    @cached_property
    def slip_calls(self):
        """(id, label, cell) of every check.slip that is no demonstration."""
        return [
            (literal(call, 0), literal(call, 1), cell)
            for cell in self.code
            for call, guarded in referee_calls(cell.tree)
            if call.func.attr == "slip" and not guarded
        ]

    @cached_property
    def directives(self):
        """All directives of the Markdown cells."""
        return [d for c in self.markdown for d in directives(c.source, c.index)]

    @cached_property
    def slips(self):
        """The entries of the ledger."""
        cells = {id_: cell for id_, _, cell in self.slip_calls}
        return [
            make_slip(*found.groups(), c.index, cells)
            for c in self.markdown
            if (found := SLIP_HEADING.match(c.source))
        ]

    def boxes(self, kind):
        """The admonitions of a class."""
        return [
            d
            for d in self.directives
            if d.kind == "admonition"
            and kind in d.options.get("class", "").split()
        ]

    @cached_property
    def figures(self):
        """Pictures, with what the metadata says of them."""
        return [make_figure(c) for c in self.code if pictures_of(c.outputs)]

    @cached_property
    def pictures(self):
        """Indices of the cells that show a figure or a slider picture."""
        return [c.index for c in self.code if draws(c.tree)]

    @cached_property
    def exercises(self):
        """The exercise directives."""
        kinds = {"exercise", "exercise-start"}
        return [d for d in self.directives if d.kind in kinds]

    @cached_property
    def solutions(self):
        """The solution directives."""
        kinds = {"solution", "solution-start"}
        return [d for d in self.directives if d.kind in kinds]


def make_cell(index, raw):
    """A cell as read from JSON."""
    metadata = raw.get("metadata", {})
    return Cell(
        index=index,
        kind=raw["cell_type"],
        source="".join(raw["source"]),
        tags=frozenset(metadata.get("tags", [])),
        metadata=metadata,
        outputs=tuple(raw.get("outputs", [])),
        count=raw.get("execution_count"),
    )


def make_check(cell, call, guarded, names, values):
    """One call of the referee with its printed line."""
    label = literal(call, 0)
    same = [
        c
        for c, _ in referee_calls(cell.tree)
        if label and literal(c, 0) == label and c.func.attr not in SILENT
    ]
    lines = [s for s in cell.printed.splitlines() if mentions(s, label)]
    line = lines[same.index(call)] if len(lines) > same.index(call) else ""
    numbers = RESIDUAL.search(line)
    library = keyword(call, "library") or ast.Constant(None)
    if call.func.attr == "psd":
        library = call.args[1]
    origins = Origins(names, values, cell.index).of(library)
    return Check(
        kind=call.func.attr,
        label=label,
        cell=cell.index,
        counts=not (guarded or cell.is_reader),
        library=tuple(sorted(origins)),
        line=line,
        residual=as_number(numbers and numbers.group(1)),
        bound=as_number(numbers and numbers.group(2)),
    )


def mentions(line, label):
    """Whether a printed line is a check's, of this label."""
    whole = rf"(?<![\w-]){re.escape(label or '')}(?![\w-])"
    return bool(label and RESIDUAL.search(line) and re.search(whole, line))


def as_number(text):
    """A float, or None for what is not written as one."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def make_slip(title, body, cell, cells):
    """A slip as it is told; cells maps ids to the cells that refute them."""
    found = re.match(rf"({SLIP_ID})\s*[·:–-]?\s*(.*)$", title)
    id_, name = found.groups() if found else ("", title)
    lines = cells[id_].printed.splitlines() if id_ in cells else []
    return Slip(
        id=id_,
        name=PRML_MARK.sub("", name).strip(),
        body=PRML_MARK.sub("", body).strip(),
        cell=cell,
        line=next((s for s in lines if id_ in s and "residual" in s), ""),
        printed_in_prml=PRML_MARK.search(title + body) is not None,
    )


def make_figure(cell):
    """What the metadata of a drawing cell says."""
    shown = cell.metadata.get("mystnb", {})
    return Figure(
        name=shown.get("figure", {}).get("name", ""),
        caption=shown.get("figure", {}).get("caption", ""),
        alt=shown.get("image", {}).get("alt", ""),
        cell=cell.index,
    )


def chapters(root=ROOT):
    """Every chapter that exists, in order."""
    return [Chapter(p) for p in sorted((root / "book").glob("[0-9]*.ipynb"))]


def back_pages(root=ROOT):
    """The pages of the back matter that are notebooks."""
    found = sorted((root / "book" / "back").glob("*.ipynb"))
    return [Chapter(p) for p in found]


def notebooks(root=ROOT):
    """Whatever makes claims: the chapters, then the back matter."""
    return [*chapters(root), *back_pages(root)]


def asked_for(stems, root=ROOT):
    """The notebooks of these stems or file names; all of them for none.

    A name that no notebook has ends the run, which would find nothing wrong.
    """
    book = notebooks(root)
    known = {name: c for c in book for name in (c.stem, c.name)}
    if unknown := [stem for stem in stems if stem not in known]:
        raise SystemExit(f"no notebook is called {', '.join(unknown)}")
    return list(dict.fromkeys(map(known.get, stems))) or book


def public_functions(path):
    """The public functions of a module, from its source alone."""
    tree = ast.parse(Path(path).read_text("utf-8"))
    return [
        n
        for n in tree.body
        if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")
    ]


def modules(root=ROOT):
    """The modules of the library: chapters first, then room by room."""
    library = root / "prml4"
    rooms = [p for r in ROOMS for p in sorted((library / r).glob("[!_]*.py"))]
    return [*sorted(library.glob("[!_]*.py")), *rooms]


def support(root=ROOT):
    """What only notebooks import."""
    return sorted((root / "book" / "support").glob("[!_]*.py"))


def test_of(path, root=ROOT):
    """The test file of a module, in the folder that mirrors its own."""
    room = path.parent.name if path.parent.name != "prml4" else ""
    return root / "tests" / room / f"test_{path.stem}.py"
