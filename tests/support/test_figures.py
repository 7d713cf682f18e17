"""support.figures: static pictures that belong to the page."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from support import book, figures, svg

ROOT = Path(__file__).resolve().parents[2]
X = np.linspace(-1, 1, 41)


@pytest.fixture(autouse=True)
def house_style():
    """Every test draws in the house style and leaves no figure behind."""
    book.style()
    yield
    plt.close("all")
    plt.rcdefaults()


def two(noise=0.0, **options):
    """Two panels with one label: points, a region, a hatch, words."""
    options = {"figsize": (6.4, 3), "sharey": True} | options
    fig, axes = plt.subplots(1, 2, **options)
    axes[0].set_ylabel("height & width")
    for ax in axes:
        points = np.c_[X, X**2 + noise]
        book.scatter_classes(ax, points, np.arange(41) % 2)
        ax.fill_between(X, X**2 + noise, hatch="//", color=book.GREY)
        ax.text(0, 0.6, "two\nlines", ha="center", rotation=30)
    axes[1].set_title(r"$\sqrt{x_1} \leq \frac{1}{2}$ and $e^{-x}$")
    return fig


def page_of(fig):
    return ET.fromstring(figures.page(fig, "drawn: <this>"))


def plain(fig):
    """The words of a figure, without markup."""
    text = figures.page(fig, "").split("</style>")[1]
    return re.sub(r"<[^>]*>", " ", text)


def test_same_drawing_same_bytes():
    """Twice, and with the last digits of every number moved."""
    first = figures.page(two(), "")
    assert figures.page(two(), "") == first
    assert figures.page(two(noise=3e-14), "") == first
    assert figures.page(two(noise=0.1), "") != first


def test_it_has_a_name_and_identifiers_of_its_own():
    """Two pictures of one page share none, and every reference is resolved."""
    seen = []
    for noise in (0, 0.1):
        text = figures.page(two(noise=noise), "drawn: <this>")
        page = ET.fromstring(text)
        assert page.get("role") == "img"
        assert page.get("aria-label") == "drawn: <this>"
        ids = [e.get("id") for e in page.iter() if e.get("id")]
        wanted = set(re.findall(r"#(s[0-9a-f]{8}-\d+)", text))
        assert wanted == set(ids) and "#@" not in text
        seen += ids
    assert len(seen) == len(set(seen)) > 4


def test_colours_belong_to_the_page():
    """No black, white or house colour is left to glare on a dark page."""
    text = figures.page(two(), "").split("</style>")[1].lower()
    assert not re.search(r"#0000?0?0?\b|#fff", text)
    assert not any(colour in text for colour in svg.TONES)
    assert "var(--tone0)" in text and "var(--paper)" in text
    assert "currentcolor" in text


def test_columns_of_panels_are_pictures_of_their_own():
    """They share the room by their widths; each has the shared label."""
    page = page_of(two())
    views = [p.get("viewBox").split() for p in page.findall("svg")]
    assert len(views) == 2
    assert float(views[0][2]) == float(views[1][0])
    assert float(views[1][0]) + float(views[1][2]) == pytest.approx(460.8)
    for panel in page.findall("svg"):
        words = [t.text for t in panel.iter("text")]
        assert "height & width" in words and "0.4" in words


@pytest.mark.parametrize(
    ("mosaic", "pictures"), [("AB;AC", 2), ("A;B", 1), ("ABCD", 1), ("A", 1)]
)
def test_what_stands_above_each_other_or_narrow_stays_together(
    mosaic, pictures
):
    fig, _ = plt.subplot_mosaic(mosaic, figsize=(6.4, 3))
    assert len(page_of(fig).findall("svg")) == pictures


def test_a_colour_bar_stays_with_its_panel():
    fig, ax = plt.subplots()
    fig.colorbar(ax.pcolormesh(np.eye(3)), ax=ax)
    (picture,) = page_of(fig).findall("svg")
    words = [t.text for t in picture.iter("text")]
    assert words.count("0.4") == 1
    cells = picture.findall("g[@style='shape-rendering:crispEdges']")
    assert len(cells) == 2


def test_words_are_aligned_by_what_they_are():
    """Lines and turned words keep their middle in any typeface."""
    page = page_of(two())
    for line in ("two", "lines"):
        (first, _) = [t for t in page.iter("text") if t.text == line]
        assert "text-anchor:middle" in first.get("style")
        assert "rotate(-30)" in first.get("transform")
    assert "DejaVu" not in figures.page(two(), "")


def test_formulas_are_words():
    """A power flows; the bars of roots and fractions stay in place."""
    words = " ".join(plain(two()).split())
    assert "√" in words and "≤" in words and "<rect" in figures.page(two(), "")
    fig, ax = plt.subplots()
    ax.loglog([1, 10], [1, 1e4])
    ax.set_title("$e^{-x_1}$ is\n$10^{-3}$ of $w$")
    words = " ".join(plain(fig).split())
    ax.set_xlabel(r"$-\ln f(x, y)$ and $g'$")
    marked = figures.page(fig, "")
    assert "−ln<" in marked and "\u2009f<" in marked and "\u2009y<" in marked
    assert "′" in marked
    assert "e − x 1 is 10 −3 of w" in words and "10 4" in words


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: ax.imshow(np.eye(3)),
        lambda ax: ax.scatter(*np.random.default_rng(1).random((2, 1600))),
        lambda ax: ax.pcolormesh(np.random.default_rng(1).random((40, 40))),
    ],
)
def test_what_is_fine_becomes_an_image_inside(draw):
    """Images, clouds and fine maps are dots; words and axes are not."""
    fig, ax = plt.subplots()
    draw(ax)
    ax.set_title("words")
    page = page_of(fig)
    (image,) = page.iter("image")
    assert image.get("href").startswith("data:image/png;base64,")
    assert "words" in [t.text for t in page.iter("text")]


def test_a_heavy_picture_is_refused():
    """The message names the size."""
    fig, ax = plt.subplots()
    ax.plot(*np.random.default_rng(7).random((2, 20_000)))
    with pytest.raises(ValueError, match=r"at most 150 KB; got \d+ KB"):
        figures.page(fig, "")


def test_only_the_text_is_compared():
    """Where digits differ, coordinates may; what was drawn may not."""
    lines = (ROOT / "tools" / "nbval.cfg").read_text("utf-8").splitlines()
    at = lines.index("[static picture]")
    pattern = lines[at + 1].removeprefix("regex: ")
    output = book.show(two())._repr_mimebundle_()
    assert re.sub(pattern, "picture", output["text/html"]) == "picture"
    assert re.sub(pattern, "", output["text/plain"]) == output["text/plain"]
    slider = book.slider(
        lambda ax, k: ax.plot(X), [1, 2], label="k", alt=str
    ).rich["text/html"]
    assert re.sub(pattern, "", slider) == slider
