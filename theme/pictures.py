"""Static pictures: what is said of them, and the first of each chapter, small.

A picture in a notebook says what was drawn; on a page, the alternative text of
its cell takes the place of that.
"""

import re
import sys
from html import escape
from pathlib import Path

from docutils import nodes

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import svg

from tools import chapters as reader

SAID = re.compile(r'(?<=role="img" aria-label=")drawn: [^"]*')
THUMBNAIL = (
    '<img class="only-{theme}" src="../_static/thumbs/{number:02}-{theme}.svg" '
    'loading="lazy" alt="First picture of chapter {number}">'
)
THIN = "<style>text{display:none}path{vector-effect:non-scaling-stroke}</style>"
INK = {"light": "#1b2128;--paper:#ffffff", "dark": "#d7dce2;--paper:#15191e"}


def describe(app, doctree):
    """The alternative text of the cell becomes the name of its picture."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    texts = {f.name: escape(f.alt) for f in reader.Chapter(path).figures}
    for figure in doctree.findall(nodes.figure):
        if not (text := texts.get(figure["names"][0])):
            continue  # a slider, which says what each frame shows
        for raw in figure.findall(nodes.raw):
            said = SAID.sub(lambda _, text=text: text, raw.astext())
            raw[:] = [nodes.Text(said)]


def thumbnail(number):
    """The first picture of a chapter in both themes; the page shows one."""
    return "".join(
        THUMBNAIL.format(number=number, theme=theme) for theme in INK
    )


def draw_thumbnails(app, exception):
    """The first panel of each chapter, without words, for the map."""
    folder = Path(app.outdir) / "_static" / "thumbs"
    folder.mkdir(parents=True, exist_ok=True)
    for chapter in reader.chapters():
        pages = (reader.pictures_of(cell.outputs) for cell in chapter.code)
        page = next(filter(None, pages))[0]
        panel = re.search(r"<svg (.*?)style=.*?>(.*?)</svg>", page, re.DOTALL)
        for theme, ink in INK.items():
            look = f"{svg.variables(theme == 'dark')};color:{ink}"
            (folder / f"{chapter.name[:2]}-{theme}.svg").write_text(
                f'<svg xmlns="http://www.w3.org/2000/svg" {panel[1]}'
                f'style="{look}" fill="currentColor" stroke-linejoin="round">'
                f"{THIN}{panel[2]}</svg>",
                "utf-8",
            )


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-read", describe)
    app.connect("build-finished", draw_thumbnails)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
