"""The Sphinx extension behind search and previews.

It gathers, while pages are written, every section with its number and text,
every display with its TeX, and every term with its definition, and leaves two
scripts beside the pages: they work from a file, where nothing can be fetched.
"""

import json
from pathlib import Path

from docutils import nodes

from theme.seals import seal

FOUND = {}  # page -> its sections and previews
SILENT = (nodes.literal_block, nodes.raw, nodes.title, seal)


def gather(app, doctree, docname):
    """Remember what the finished page says."""
    found = FOUND[docname] = {"sections": [], "previews": {}}
    numbers = app.env.toc_secnumbers.get(docname, {})
    for section in doctree.findall(is_titled):
        top = isinstance(section.parent, nodes.document)
        anchor = "" if top else f"#{section['ids'][0]}"
        number = ".".join(map(str, numbers.get(anchor, ())))
        text = [word for part in section for word in spoken(part, plain)]
        entry = docname, anchor, number, section[0].astext(), " ".join(text)
        found["sections"].append(entry)
    counted = app.env.toc_fignumbers.get(docname, {}).get("displaymath", {})
    for block in doctree.findall(nodes.math_block):
        if label := block.get("label"):
            anchor = f"equation-{label}"
            number = ".".join(map(str, counted.get(anchor, ())))
            tex = rf"\[{block.astext()}\]"
            found["previews"][anchor] = [docname, number, tex]
    for term in doctree.findall(nodes.term):
        text = spoken(term.parent.next_node(nodes.definition), typeset)
        for anchor in term["ids"]:
            entry = docname, term.astext(), " ".join(text)
            found["previews"].setdefault(anchor, entry)


def is_titled(node):
    """Whether a node is a section of the page; exercises hold others."""
    is_section = isinstance(node, nodes.section)
    return is_section and isinstance(node[0], nodes.title)


def spoken(node, formula):
    """The pieces of text of a node, each formula as `formula` has it."""
    if isinstance(node, nodes.Text):
        yield " ".join(node.split())
    elif isinstance(node, nodes.math | nodes.math_block):
        yield formula(node.astext().strip())
    elif not (isinstance(node, SILENT) or is_titled(node)):
        for child in node.children:
            yield from spoken(child, formula)


def typeset(tex):
    """A formula for MathJax."""
    return rf"\({tex}\)"


def plain(tex):
    """A formula that needs no typesetting, or a sign that there is one."""
    return "…" if "\\" in tex else tex


def write(app, exception):
    """Two scripts, each loaded when it is first asked for."""
    if exception or app.builder.format != "html":
        return
    found = FOUND.values()
    sections = [s for page in found for s in page["sections"]]
    previews = {k: v for page in found for k, v in page["previews"].items()}
    for name, value in (("sections", sections), ("previews", previews)):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        path = Path(app.outdir, "_static", f"{name}.js")
        path.write_text(f"window.BOOK_{name.upper()}={text}\n", "utf-8")


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", gather)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
