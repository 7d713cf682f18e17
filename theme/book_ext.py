"""The Sphinx extension of this book.

Numbers that follow the file names; MathJax and the typefaces from installed
packages, so that no page needs the network; repairs of HTML that screen
readers stumble over.
"""

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree

from docutils import nodes
from sphinx.environment.collectors.toctree import TocTreeCollector

STEM = re.compile(r"book/(\d\d)_\w+$")
# a sentence in a notebook, and on its page the widget of theme/NAME.html
WIDGET = re.compile(r'<div data-widget="(\w+)">')
CAPTION = re.compile(r"<figcaption>([^<.:]*)(.*)</figcaption>", re.DOTALL)
# pages without a number whose equations are cited: (G.1), G for Gauss
LETTERS = {"book/back/identities": "G"}
# what the pages load of MathJax, as one script, since one after the other would
# wait for each other; and where it looks for its typefaces
MATHJAX = "sphinx-mathjax-offline", "static/mathjax"
PARTS = (
    "startup",
    "core",
    "input/tex-base",
    "input/tex/extensions/ams",
    "input/tex/extensions/boldsymbol",
    "output/chtml",
    "output/chtml/fonts/tex",
    "a11y/assistive-mml",
)
TYPEFACES = "output/chtml/fonts/woff-v2"

REPAIRS = (
    # a list without items, whose entries have a role that is deprecated
    (r' role="list" class="citation-list"', ""),
    (r'(<div class="citation" id="[^"]*") role="doc-biblioentry"', r"\1"),
    # a name that hides the words on the button
    (r' aria-label="Toggle hidden content"', ""),
    # one id for all exercises of a page
    (r'(<section) id="(?:exercise|solution|proof)-content"', r"\1"),
    # the space before a link is no part of it
    (r"(Solution to)(<a [^>]*>) ", r"\1 \2"),
    # the empty corner of a table heads nothing
    (r'<th class="head"><p></p></th>', "<td></td>"),
    # a heading that is only a formula counts as empty until it is typeset
    (
        r'(<th class="head"><p>)(?=<span class="math [^>]*>[^<]*</span></p>)',
        r'\1<span class="visually-hidden">formula </span>',
    ),
    # a residual and its bound stand on one line
    (
        r"(residual \S+ ≤ [-+.\de]+)(?=[^\"<>]*<)",
        r'<span class="nowrap">\1</span>',
    ),
    # no line begins with the comma that belongs to a formula
    (
        r'(<span class="math [^>]*>[^<]*</span>[,.;:!?)\]’”]+)',
        r'<span class="nowrap">\1</span>',
    ),
)


class ChapterNumbers(TocTreeCollector):
    """Chapter 7 is the file 07_logistic, whatever stands before it.

    Sphinx counts the files of each part; here the first component of every
    section number is replaced by the number in the file name, and figures,
    equations and exercises, which are numbered from it, follow.
    """

    def process_doc(self, app, doctree):
        """Leave this to the collector that is extended."""

    def assign_section_numbers(self, env):
        """Number as Sphinx does, then put the chapter's own number first."""
        changed = super().assign_section_numbers(env)
        for docname, numbers in env.toc_secnumbers.items():
            if not (stem := STEM.search(docname)):
                continue
            first = int(stem[1])
            for anchor, number in numbers.items():
                numbers[anchor] = (first, *number[1:]) if number else ()
            links = env.tocs[docname].findall(nodes.reference)
            for node in (*links, env.titles[docname]):
                if number := node.get("secnumber"):
                    node["secnumber"] = [first, *number[1:]]
        return changed

    def assign_figure_numbers(self, env):
        """Number as Sphinx does; a letter stands for a page's number."""
        changed = super().assign_figure_numbers(env)
        for docname, letter in LETTERS.items():
            for numbers in env.toc_fignumbers.get(docname, {}).values():
                for k, anchor in enumerate(numbers, 1):
                    numbers[anchor] = (letter, k)
        return changed


def set_version(app, config):
    """One place states the version: pyproject.toml."""
    text = Path(app.confdir, "pyproject.toml").read_text(encoding="utf-8")
    config.release = tomllib.loads(text)["project"]["version"]
    config.myst_substitutions["version"] = config.release


def mark_opening(app, doctree):
    """The question stands out; the line on what a chapter needs stands back."""
    for paragraph in doctree.findall(nodes.paragraph):
        if paragraph.astext().startswith("The question."):
            paragraph["classes"].append("question")
    if STEM.search(app.env.docname) or app.env.docname == "book/intro":
        for paragraph in doctree.findall(nodes.paragraph):
            if "question" not in paragraph["classes"]:
                paragraph["classes"].append("byline")
                return


def put_widgets(app, doctree):
    """Where a notebook says what can be touched on the page, put it there.

    It is a figure, with a number like all others, and can be referred to.
    """
    labels = app.env.get_domain("std").anonlabels
    for node in list(doctree.findall(nodes.raw)):
        if found := WIDGET.match(node.astext()):
            path = Path(app.confdir, "theme", f"{found[1]}.html")
            app.env.note_dependency(str(path))
            text = path.read_text(encoding="utf-8")
            title, rest = CAPTION.search(text).groups()
            name = f"{found[1]}-widget"
            figure = nodes.figure(ids=[name], names=[name], classes=["widget"])
            figure += html(CAPTION.sub("", text))
            # without words that are no HTML there is no number
            figure += nodes.caption("", "", nodes.Text(title), html(rest))
            node.parent.replace(node, figure)
            labels[name] = app.env.docname, name


def html(text):
    """What is written into the page as it is."""
    return nodes.raw("", text, format="html")


def repair_body(app, pagename, templatename, context, doctree):
    """Mend what the extensions write; REPAIRS says what and why."""
    if body := context.get("body"):
        for pattern, replacement in REPAIRS:
            body = re.sub(pattern, replacement, body)
        context["body"] = body


def write_mathjax(app, exception):
    """Write what the pages load of MathJax, and no more, into the output."""
    if exception or app.builder.format != "html":
        return
    package, folder = MATHJAX
    home = find_spec(package).submodule_search_locations[0]
    source, target = Path(home, folder), Path(app.outdir, "_static/mathjax")
    copytree(source / TYPEFACES, target / TYPEFACES, dirs_exist_ok=True)
    scripts = [(source / f"{part}.js").read_text("utf-8") for part in PARTS]
    (target / "startup.js").write_text(";\n".join(scripts), "utf-8")


def setup(app):
    """Register everything with Sphinx."""
    app.add_env_collector(ChapterNumbers)
    app.connect("config-inited", set_version, priority=10)
    app.connect("html-page-context", repair_body, priority=900)
    app.connect("doctree-read", mark_opening)
    app.connect("doctree-read", put_widgets)
    app.connect("build-finished", write_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
