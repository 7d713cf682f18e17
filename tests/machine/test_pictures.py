"""Static pictures on the pages: their words, and small ones for the map."""

import xml.etree.ElementTree as ET
from types import SimpleNamespace

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import sample
from docutils import nodes
from support import book

from theme import pictures
from tools import chapters as reader


def drawing():
    """A figure as a cell stores it."""
    fig, ax = plt.subplots()
    ax.plot([0, 1], color=book.BLUE)
    return {"data": {"text/html": book.show(fig).rich["text/html"]}}


def test_a_picture_says_what_the_cell_says(tmp_path):
    """The alternative text takes the place of the list of what was drawn."""
    root = sample.write(tmp_path)
    path = root / "book" / "07_logistic.ipynb"
    raw = nodes.raw("", drawing()["data"]["text/html"], format="html")
    doctree = nodes.container("", nodes.figure("", raw, names=["fig-square"]))
    env = SimpleNamespace(docname="x", doc2path=lambda name: str(path))
    pictures.describe(SimpleNamespace(env=env), doctree)
    page = ET.fromstring(next(doctree.findall(nodes.raw)).astext())
    assert page.get("aria-label") == sample.ALT
    assert page.find("svg") is not None


def test_the_map_has_the_first_picture_in_both_themes(tmp_path, monkeypatch):
    """Each stands alone, in the colours of its theme, without words."""
    cells = [SimpleNamespace(outputs=()), SimpleNamespace(outputs=[drawing()])]
    chapter = SimpleNamespace(name="07_logistic", code=cells)
    monkeypatch.setattr(reader, "chapters", lambda: [chapter])
    pictures.draw_thumbnails(SimpleNamespace(outdir=tmp_path), None)
    for theme, blue in (("light", "#0072b2"), ("dark", "#56b4e9")):
        name = f"_static/thumbs/07-{theme}.svg"
        picture = ET.fromstring((tmp_path / name).read_text("utf-8"))
        assert f"--tone0:{blue}" in picture.get("style")
        assert name in pictures.thumbnail(7)
