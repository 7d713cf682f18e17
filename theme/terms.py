"""Words of the glossary become links where a chapter first uses them.

The index leads to the section of each such place.
"""

import re
from pathlib import Path

from docutils import nodes

CHAPTER = re.compile(r"book/\d\d_\w+$")
# running text only: a word in a title, a formula or a link stays as it is
APART = (nodes.title, nodes.reference, nodes.literal, nodes.Admonition)
COUNTED = re.compile(r'(<a href="(book/[^"#]+)\.html(#[^"]+)">)\[\d+\]')
# they have an everyday sense as well, in which they are used more often
EVERYDAY = {"bound", "claim", "definition", "rank", "score", "slip", "step"}


def link_terms(app, doctree, docname):
    """In every chapter, the first mention of each term leads to its entry."""
    if not CHAPTER.fullmatch(docname):
        return
    entries = {
        name: place
        for (kind, name), place in app.env.domains["std"].objects.items()
        if kind == "term" and name not in EVERYDAY
    }
    index = app.env.get_domain("index").entries[docname]
    numbers = app.env.toc_secnumbers[docname]
    for text in running_text(doctree):
        before = list(entries)
        pieces = linked(app, docname, text, entries)
        if len(pieces) > 1:
            index += [
                ("single", name, section_of(text, numbers), "", None)
                for name in before
                if name not in entries
            ]
            text.parent.replace(text, pieces)


def running_text(doctree):
    """The pieces of text that stand directly in a paragraph."""
    return [
        text
        for text in doctree.findall(nodes.Text)
        if isinstance(text.parent, nodes.paragraph)
        and isinstance(text.parent.parent, nodes.section)
        and not any(isinstance(p, APART) for p in ancestors(text))
    ]


def ancestors(node):
    """The nodes that enclose a node, from the inside out."""
    while node := node.parent:
        yield node


def section_of(node, numbers):
    """The anchor of the section with a number in which a node stands."""
    sections = [n for n in ancestors(node) if isinstance(n, nodes.section)]
    anchors = [section["ids"][0] for section in sections]
    return next((a for a in anchors if numbers.get(f"#{a}")), anchors[-1])


def number_index(app, exception):
    """In the index, the number of a section stands for its place in a list."""
    if exception or app.builder.format != "html":
        return

    def numbered(found):
        start, page, anchor = found.groups()
        numbers = app.env.toc_secnumbers.get(page, {})
        number = numbers.get(anchor) or numbers.get("", ())
        return start + (".".join(map(str, number)) or found[0][len(start) :])

    page = Path(app.outdir, "genindex.html")
    page.write_text(COUNTED.sub(numbered, page.read_text("utf-8")), "utf-8")


def linked(app, docname, text, entries):
    """The text cut at the terms it mentions; they leave `entries`."""
    pieces, rest = [], str(text)
    while found := first_term(rest, entries):
        name, start, end = found
        pieces.append(nodes.Text(rest[:start]))
        pieces.append(reference(app, docname, rest[start:end], *entries[name]))
        del entries[name]
        rest = rest[end:]
    return [*pieces, nodes.Text(rest)]


def first_term(text, names):
    """(name, start, end) of the leftmost term in a text, the longest there."""
    found = []
    for name in names:
        initial = f"[{name[0]}{name[0].upper()}]"
        pattern = rf"(?<![\w-]){initial}{re.escape(name[1:])}s?(?![\w-])"
        if hit := re.search(pattern, text):
            found.append((hit.start(), -hit.end(), name))
    if found:
        start, end, name = min(found)
        return name, start, -end
    return None


def reference(app, docname, word, page, anchor):
    """A link to an entry, quieter than other links."""
    uri = f"{app.builder.get_relative_uri(docname, page)}#{anchor}"
    return nodes.reference(
        "", word, refuri=uri, classes=["term"], internal=True
    )


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", link_terms)
    app.connect("build-finished", number_index)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
