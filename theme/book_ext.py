"""The Sphinx extension of this book.

Numbers that follow the file names, MathJax from an installed package instead
of the network, and repairs of HTML that screen readers stumble over.
"""

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile, copytree

from docutils import nodes
from sphinx.environment.collectors.toctree import TocTreeCollector

STEM = re.compile(r"book/(\d\d)_\w+$")
# all that our pages load of MathJax: 1.7 of 22 MB
MATHJAX = ("tex-chtml-full.js", "ui/lazy.js")
MATHJAX_FONTS = "output/chtml/fonts/woff-v2"


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


def set_version(app, config):
    """One place states the version: pyproject.toml."""
    text = Path(app.confdir, "pyproject.toml").read_text(encoding="utf-8")
    config.release = tomllib.loads(text)["project"]["version"]
    config.myst_substitutions["version"] = config.release


def repair_body(app, pagename, templatename, context, doctree):
    """Citation lists claim to be lists of items that are none."""
    if body := context.get("body"):
        body = body.replace(' role="list" class="citation-list"', "")
        context["body"] = re.sub(
            r'(<div class="citation"[^>]*?) role="doc-biblioentry"',
            r"\1",
            body,
        )


def copy_mathjax(app, exception):
    """Copy what our pages load of MathJax into the output."""
    if exception or app.builder.format != "html":
        return
    package = find_spec("sphinx-mathjax-offline").submodule_search_locations
    source = Path(package[0], "static", "mathjax")
    target = Path(app.outdir, "_static", "mathjax")
    for name in MATHJAX:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        copyfile(source / name, target / name)
    copytree(
        source / MATHJAX_FONTS, target / MATHJAX_FONTS, dirs_exist_ok=True
    )


def setup(app):
    """Register everything with Sphinx."""
    app.add_env_collector(ChapterNumbers)
    app.connect("config-inited", set_version, priority=10)
    app.connect("html-page-context", repair_body, priority=900)
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
