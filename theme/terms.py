"""Words of the glossary become links where a chapter first uses them."""

import re

from docutils import nodes

CHAPTER = re.compile(r"book/\d\d_\w+$")
# running text only: a word in a title, a formula or a link stays as it is
APART = (nodes.title, nodes.reference, nodes.literal, nodes.Admonition)
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
    for text in running_text(doctree):
        if not entries:
            return
        pieces = linked(app, docname, text, entries)
        if len(pieces) > 1:
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
    return {"parallel_read_safe": True, "parallel_write_safe": True}
