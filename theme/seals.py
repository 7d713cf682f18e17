"""The Sphinx extension that folds checks into seals.

A check is a mark at the number of its equation: open, it says what was
compared and shows the cell. The cells leave the flow; which others are shown
in Audit alone, `flow` decides. All is there without JavaScript.
"""

import re
from html import escape, unescape
from pathlib import Path

from docutils import nodes
from support import book

from theme import flow
from tools.chapters import RESIDUAL, Chapter

SOURCE = "cell_code_source"  # what MyST-NB calls the code of a cell
EXPONENT = re.compile(r"(?<![\w.])(-?)(\d(?:\.\d+)?)e([+-]?\d+)\b")
LINE = re.compile(
    r'<span class="visually-hidden">(?:refuted: )?([^<:]+):</span> '
    r'<a href="#equation-([^"]+)">.*</a> <span>(.*)</span></div>'
)


class seal(nodes.General, nodes.Element):
    """A mark that opens: kind, spoken, texts; in_line, if it has no display."""


class verdict(nodes.General, nodes.Element):
    """What was compared, and how nearly it agreed: text."""


def visit_seal(writer, node):
    """The mark is a picture; `spoken` is read out instead."""
    mark = "✗" if node["kind"] == "slip" else "✓"
    text = escape(" · ".join(node["texts"]))
    shown = f" <span>{text}</span>" if node["in_line"] else ""
    tip = "" if node["in_line"] else f' data-tip="{text}"'
    writer.body.append(
        f'<details class="seal {node["kind"]}"><summary{tip}>'
        f'<span class="mark" aria-hidden="true">{mark}</span>'
        f'<span class="visually-hidden">{node["spoken"]}</span>{shown}'
        '</summary><div class="panel">\n'
    )


def depart_seal(writer, node):
    """Close what visit_seal opened."""
    writer.body.append("</div></details>\n")


def visit_verdict(writer, node):
    """One line above the code."""
    writer.body.append(f'<p class="verdict">{escape(node["text"])}</p>\n')
    raise nodes.SkipNode


# ------------------------------------------------------------ what is printed
def said(output):
    """(kind, slip, label, text) if an output is the referee's, else None."""
    for raw in output.findall(nodes.raw):
        if kind := flow.VERDICT.match(raw.astext()):
            found = LINE.search(raw.astext()).groups()
            return kind[1], *map(unescape, found)
    return None


def worded(texts):
    """The runs of one check in words: the worst of them, powers of ten.

    The spaces around × and ≤ do not break.
    """
    text = max(texts, key=tightness)
    if len(texts) > 1:
        text = text.replace("residual", "worst residual")
        text = f"{len(texts)} cases, {text}"
    text = text.replace("as printed:", "as printed,")
    text = re.sub(r"\blibrary\b", "prml4", text)
    text = text.replace(" ≤ ", "\u00a0≤\u00a0")
    return tens(text)


def tightness(text):
    """The residual of a check as a share of its bound."""
    residual, bound = RESIDUAL.search(text).groups()
    return float(residual) / float(bound)


def tens(text):
    """A text in which -1.2e-16 is −1.2 × 10⁻¹⁶, and 1e-8 is 10⁻⁸."""
    return EXPONENT.sub(power, text)


def power(found):
    """A number with its power of ten, or without one that is 1."""
    sign, digits, exponent = found[1] and "−", found[2], int(found[3])
    if exponent == 0:
        return sign + digits.replace("0.0", "0")
    factor = "" if digits == "1" else f"{digits}\u00a0×\u00a0"
    return f"{sign}{factor}10{str(exponent).translate(book.SUPERSCRIPT)}"


# ------------------------------------------------------------------ the cells
def seal_checks(app, doctree):
    """Move every check of a notebook to the equation that it is about."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    chapter = Chapter(path)
    audit = flow.audit_only(chapter.cells)
    for node in list(doctree.findall(is_code)):
        cell = chapter.cells[int(node["cell_index"])]
        node["prompt_show"] = node["prompt_hide"] = flow.folded(cell.outputs)
        if cell.index in audit:
            node["classes"].append("audit")
        elif not cell.is_reader:
            fold(node, doctree, "shown" in cell.tags)
    for mark in doctree.findall(seal):
        if why := chapter.transcribed.get(mark["label"]):
            mark["kind"], mark["spoken"] = "check by-hand", "checked by hand"
            mark["texts"].insert(0, f"transcribed by hand: {why}")
            mark.insert(0, verdict(text=mark["texts"][0]))


def is_code(node):
    """Whether a node is a code cell of a notebook."""
    return isinstance(node, nodes.container) and "cell_index" in node


def is_input(node):
    """Whether a node is the code of a cell."""
    return getattr(node, "attributes", {}).get("nb_element") == SOURCE


def fold(node, doctree, shown):
    """Seal what the referee says in a cell; what else it shows stays."""
    outputs = [o for part in node if not is_input(part) for o in part]
    spoken = [(o, line) for o in outputs if (line := said(o))]
    code, lines = [part for part in node if is_input(part)], {}
    for _, (kind, slip, label, text) in spoken:
        lines.setdefault((kind, slip, label), []).append(text)
    for (kind, slip, label), texts in lines.items():
        where = refuted if kind == "slip" else checked
        mark = where(slip if kind == "slip" else label, node, doctree)
        mark["texts"].append(worded(texts))
        mark += verdict(text=mark["texts"][-1])
        mark += [part.deepcopy() for part in code]
    if lines and not shown:
        for part in (*code, *(output for output, _ in spoken)):
            part.parent.remove(part)
        if len(spoken) == len(outputs):
            node.parent.remove(node)


def checked(label, cell, doctree):
    """The seal of a claim, at its display or where the cell stood."""
    place = f"equation-{label}"
    for block in doctree.findall(nodes.math_block):
        if place in block["ids"]:
            if "sealed" not in block.parent["classes"]:
                box = nodes.container(classes=["sealed"])
                block.replace_self(box)
                box += [block, seal_of("check", label, "checked", False)]
            return block.parent[1]
    return in_place(seal_of("check", label, "checked", True), cell)


def refuted(slip, cell, doctree):
    """The seal of a slip, in its box or where the cell stood."""
    mark, place = seal_of("slip", "", f"refuted: {slip}", True), slip.lower()
    for box in doctree.findall(nodes.admonition):
        if f"slip-{place}" in box["ids"]:
            box += mark
            return mark
    return in_place(mark, cell)


def seal_of(kind, label, spoken, in_line):
    """A seal that says nothing yet."""
    about = {"label": label, "spoken": spoken, "in_line": in_line}
    return seal(kind=kind, texts=[], **about)


def in_place(mark, cell):
    """Put a seal before a cell."""
    cell.parent.insert(cell.parent.index(cell), mark)
    return mark


def setup(app):
    """Register with Sphinx."""
    app.add_node(seal, html=(visit_seal, depart_seal))
    app.add_node(verdict, html=(visit_verdict, None))
    app.connect("doctree-read", seal_checks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
