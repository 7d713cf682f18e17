"""support.book: what was drawn is said; the same drawing, the same bytes."""

import re
import xml.etree.ElementTree as ET

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from support import book, slides, svg

from prml4.numerics.special import sigmoid

A = np.linspace(-6, 6, 121)
SLOPES = (0.5, 1, 2, 4)


@pytest.fixture(autouse=True)
def house_style():
    """Every test draws in the house style and leaves no figure behind."""
    book.style()
    yield
    plt.close("all")
    plt.rcdefaults()


def sigmoids(ax, k, noise=0.0):
    """One frame: a curve, points, a formula, words and a region."""
    ax.set(xlim=(-6, 6), ylim=(0, 1), xlabel="$a_n$", title="rising & falling")
    ax.plot(A, sigmoid(k * A) * (1 + noise), color=book.BLUE)
    ax.plot([-6, 6], [0.5, 0.5], color="0.5")
    X = np.c_[A[::20], sigmoid(k * A[::20]) * (1 - noise)]
    book.scatter_classes(ax, X, np.full(len(X), 2))
    ax.fill_between(A, sigmoid(A) + noise, color=book.PURPLE, alpha=0.2)


def said(k):
    return f"At slope {k:g} the curve rises within {4 / k:g} units."


def make(draw=sigmoids, values=SLOPES, **words):
    words = {"label": "slope k", "alt": said} | words
    return book.slider(draw, values, **words)


def page_of(output):
    """The slider's HTML, parsed as XML."""
    return ET.fromstring(output.rich["text/html"])


# --- figures -----------------------------------------------------------------


def figure(curves=3, scale=1.0):
    fig, (left, right) = plt.subplots(1, 2)
    for k in range(curves):
        left.plot(A, scale * sigmoid((k + 1) * A))
    right.plot([1, 2, 3], [1, 4, 9], "o")
    right.bar([1, 2], [0.5, 0.25])
    return fig


def test_text_counts_what_was_drawn():
    """Curves, points and shapes, each with extents to three digits."""
    text = repr(book.drawn(figure()))
    assert text == (
        "drawn: (1) curves 3, x -6 to 6, y 1.52e-08 to 1 (mean 0.5)"
        " (2) points 3, x 1 to 3, y 1 to 9 (mean 4.67);"
        " shapes 2, x 0.6 to 2.4, y 0 to 0.5"
    )


@pytest.mark.parametrize("stale", [{"curves": 2}, {"scale": 1.01}])
def test_text_changes_when_a_picture_goes_stale(stale):
    """A dropped or rescaled curve must turn the notebook red."""
    assert repr(book.drawn(figure(**stale))) != repr(book.drawn(figure()))


def test_text_does_not_see_the_last_digits():
    """A tie at three digits, and zero up to rounding, read alike everywhere."""
    texts = set()
    for noise in (-1e-13, 0.0, 1e-13):
        fig, ax = plt.subplots()
        ax.plot([noise, 1.125 + noise], [-1e-17 * noise, 2.345 * (1 + noise)])
        texts.add(repr(book.drawn(fig)))
    assert texts == {"drawn: curves 1, x 0 to 1.13, y 0 to 2.35 (mean 1.17)"}


def test_regions_contours_images_and_gaps_are_described():
    """Every kind of artist that the chapters use is named; NaN is left out."""
    fig, ax = plt.subplots()
    ax.set(xlim=(-1, 1), ylim=(-1, 1))
    book.shade_probability(ax, lambda X: sigmoid(4 * X[:, 0]))
    ax.imshow(np.eye(2), extent=(0, 1, 0, 1))
    ax.plot([0, np.nan, 1], [0, 1, np.nan])
    text = repr(book.drawn(fig))
    assert "curves 1, x 0 to 1, y 0 to 1" in text
    assert "regions 6" in text and "contours 1" in text
    assert "image (2, 2), values 0 to 1 (mean 0.5)" in text
    assert repr(book.drawn(plt.figure())).startswith("drawn:")


def test_show_gives_one_small_picture_and_its_text():
    """SVG and text in one bundle; the figure is closed, so it shows once."""
    fig = figure()
    text = repr(book.drawn(fig))
    data = book.show(fig)._repr_mimebundle_()
    assert data["text/plain"] == text
    assert f'aria-label="{text}"' in data["text/html"]
    assert not plt.fignum_exists(fig.number)


def test_boundary_lies_where_the_activation_vanishes():
    """Both ends of the line satisfy w_0 + w_1 x_1 + w_2 x_2 = 0."""
    fig, ax = plt.subplots()
    ax.set(xlim=(0, 4), ylim=(-3, 1))
    w = np.array([0.7, -1.1, 0.4])
    X = book.boundary(ax, w).get_xydata()
    np.testing.assert_allclose(w[0] + X @ w[1:], 0, atol=1e-12)
    assert ax.get_xlim() == (0, 4) and ax.get_ylim() == (-3, 1)


def test_classes_differ_in_colour_and_marker():
    """Greyscale print keeps the classes apart by their markers."""
    fig, ax = plt.subplots()
    book.scatter_classes(ax, np.eye(3)[:, :2], [0, 1, 2], ["a", "b", "c"])
    shapes = {c.get_paths()[0].vertices.tobytes() for c in ax.collections}
    fills = {tuple(c.get_facecolor()[0]) for c in ax.collections}
    assert len(shapes) == len(fills) == 3
    assert [c.get_label() for c in ax.collections] == ["a", "b", "c"]


def test_a_name_stands_at_its_line_in_a_readable_colour():
    fig, ax = plt.subplots()
    (line,) = ax.plot([0, 2], [0, 4], color=book.VERMILION, label="rise")
    name = book.label_line(line, 1)
    assert name.get_text() == "rise" and name.xy == (1, 2)
    assert name.get_color() == book.CLASS_TEXT[1]


# --- sliders -----------------------------------------------------------------


def test_powers_of_ten_are_written_with_raised_digits():
    """What is 1e-05 to a program is 10⁻⁵ to a reader."""
    values = 1e-5, 1.8e-5, 9.7e-8, 2e12, 1.0
    written = "10⁻⁵", "2 × 10⁻⁵", "10⁻⁷", "2 × 10¹²", "10⁰"
    assert [book.power(v).replace("\xa0", " ") for v in values] == [*written]
    assert book.power(1.04e-5, 2) == "1.0\xa0×\xa010⁻⁵"


def test_a_number_is_a_power_only_where_it_must_be():
    """Plain digits while they are few, never 2.15e+03 or 3.55e-09."""
    values = 4.8249, 0.02071, 2154.4, 1.0849e-4, 3.551e-9, 4e7, 0.0
    written = "4.82", "0.0207", "2150", "0.000108", "3.55 × 10⁻⁹", "4.00 × 10⁷"
    found = [book.number(v).replace("\xa0", " ") for v in values]
    assert found == [*written, "0"]


def test_same_drawing_same_bytes():
    """Twice in one process, and with the last digits of every number moved."""
    first = make()
    assert make() == first
    noisy = make(lambda ax, k: sigmoids(ax, k, noise=3e-14))
    assert noisy == first
    assert not plt.get_fignums()


def test_slider_is_well_formed_and_small():
    """It parses as XML, has unique ids, and all references are resolved."""
    output = make()
    page = page_of(output)
    ids = [e.get("id") for e in page.iter() if e.get("id")]
    wanted = set(re.findall(r'#(s\w+-\d+)[")]', output.rich["text/html"]))
    assert len(ids) == len(set(ids)) and wanted == set(ids)
    assert len(output.rich["text/html"]) < 20_000


def test_shared_parts_are_written_once():
    """Axes, region and rule stand outside the frames, the curve inside."""
    page = page_of(make())
    frames = [g for g in page.iter("g") if g.get("data-f")]
    assert {g.get("data-f") for g in frames} == {"0", "1", "2", "3"}
    inside = "".join(ET.tostring(g, "unicode") for g in frames)
    assert "rising" not in inside and "tone3" not in inside
    assert inside.count("tone0") == len(SLOPES)


@pytest.mark.parametrize("start", [0, 2])
def test_first_picture_shows_without_scripts(start):
    """Only the frame that the input starts at is visible; its words agree."""
    page = page_of(make(start=start))
    for g in page.iter("g"):
        if g.get("data-f"):
            hidden = g.get("style") == "display:none"
            assert hidden == (g.get("data-f") != str(start))
    assert page.find(".//input").get("value") == str(start)
    assert page.find("span").get("aria-label") == said(SLOPES[start])
    assert page.find("p").text == said(SLOPES[start])


def test_every_frame_has_words():
    """Sentences for screen readers, in the page and in the plain text."""
    output = make()
    page = page_of(output)
    assert [li.text for li in page.iter("li")] == [said(k) for k in SLOPES]
    assert repr(output).splitlines()[0] == "slider: slope k, 4 frames"
    assert all(said(k) in repr(output) for k in SLOPES)
    assert page.find(".//label").text.strip() == "slope k"
    with pytest.raises(ValueError, match="sentence for every frame"):
        make(alt=lambda k: " ")


def test_colours_belong_to_the_page():
    """No black, white or house colour is left to glare on a dark page."""
    text = make().rich["text/html"].split("</style>")[1].lower()
    assert not re.search(r"#000|#fff", text)
    assert not any(colour in text for colour in svg.TONES)
    house = {*book.CLASS_COLOURS, *book.CLASS_TEXT}
    house |= {book.PURPLE, book.PURPLE_TEXT}
    assert {colour.lower() for colour in house} == set(svg.TONES)


def test_words_are_text_in_the_font_of_the_page():
    """Formulas flow as italic text with lowered indices, and are escaped."""
    text = make().rich["text/html"]
    assert "rising &amp; falling" in text and "DejaVu" not in text
    runs = re.search(r"<tspan[^>]*italic[^>]*>a</tspan>(<tspan.*?>)n<", text)
    assert 'dy="' in runs[1] and "font-size:0.7em" in runs[1]


def test_formulas_keep_accents_powers_and_fractions():
    def formula(ax, value):
        ax.set(title=r"$\bar{x}$ and $|\hat{g} - g| \leq 10^{-3}$")
        ax.set(xlabel=r"$\frac{1}{2}$")

    text = make(formula, ["only"], alt=str).rich["text/html"]
    words = re.sub(r"<[^>]*>", "", text.split("</defs>")[1].split("</svg>")[0])
    assert (
        "x\u0304 and |g\u0302−g| ≤ 10−3" in words.replace("\xa0", " ")
        and "<rect" in text
    )


def test_a_formula_has_one_space_on_either_side_of_a_relation():
    """Whether the sign stands within the dollars or beyond them."""

    def formula(ax, value):
        ax.set(title="$c$ = 1", xlabel="$c = 2$")

    text = make(formula, ["only"], alt=str).rich["text/html"]
    words = re.sub(r"<[^>]*>", "", text).replace("\xa0", " ")
    assert "c = 1" in words and "c = 2" in words


def test_an_index_star_is_as_large_as_a_letter():
    """The page's typeface has a small one, set high, for running text."""

    def formula(ax, value):
        ax.set(xlabel="value $f_*$")

    text = make(formula, ["only"], alt=str).rich["text/html"]
    (star,) = re.findall(r"<tspan([^>]*)>\*<", text)
    assert "font-size" not in star and float(star.split('"')[1]) > 3


def test_a_slider_may_be_low():
    """What fills a strip has no blank above and below it."""
    text = make(height=2).rich["text/html"]
    assert set(re.findall(r'viewBox="[\d. ]* (\d+)"', text)) == {"144"}


def test_too_large_a_slider_is_refused():
    """The message says what to do."""
    rng = np.random.default_rng(7)

    def heavy(ax, value):
        ax.plot(rng.random(20_000), rng.random(20_000))

    with pytest.raises(ValueError, match="fewer"):
        make(heavy, [1, 2], alt=str)


def test_panels_are_given_as_an_array():
    def both(axes, k):
        for ax in axes:
            sigmoids(ax, k)

    output = make(both, panels=2)
    assert "4 frames" in repr(output)
    pictures = page_of(output).findall("span/svg")
    frames = [{g.get("data-f") for g in p.iter("g")} - {None} for p in pictures]
    assert frames == [{"0", "1", "2", "3"}] * 2


@pytest.mark.parametrize(
    ("written", "short"),
    [
        ("1.25", "1.3"),
        ("1.249999", "1.3"),
        ("1.250001", "1.3"),
        ("-0.000001", "0"),
        ("-1.25 7.0", "-1.2 7"),
        ("3.1e-05", "0"),
        ("rotate(-90 2.04 3)", "rotate(-90 2 3)"),
    ],
)
def test_rounding_sends_ties_one_way(written, short):
    assert svg.rounded(written) == short


def test_idle_points_are_dropped_and_corners_kept():
    """Level and upright runs shrink to their ends, also where they turn."""
    path = "M 0 0 \nL 1.0 0 \nL 2.0 0 \nL 2.0 0 \nL 2.0 5 \nL 2.0 3 \nz\n"
    assert svg._path(svg.rounded(path)) == "M0 0 2 0 2 5 2 3z"
    assert svg._path("M 0 0 Q 1 1 2 2 L 3 3 L 4 5") == "M0 0Q1 1 2 2L3 3 4 5"
    assert svg._path("M 0 0 L 5 0 L 3 0 L 4 1") == "M0 0 5 0 3 0 4 1"


def test_frames_without_common_order_are_kept_apart():
    """Elements that change places are drawn in each frame's own order."""
    out = svg.layers([["<a/>", "<b/>"], ["<b/>", "<a/>"]], 0)
    assert out.count("<a/>") == out.count("<b/>") == 2


# --- source and tables -------------------------------------------------------


def test_source_is_a_python_fence_with_its_docstring():
    output = book.source(sigmoid, slides.page)
    fences = output.rich["text/markdown"].split("```python\n")[1:]
    assert "def sigmoid(a):" in fences[0] and '"""' in fences[0]
    lines = repr(output).splitlines()
    assert re.fullmatch(
        r"prml4\.numerics\.special\.sigmoid \(\d+ lines\)", lines[0]
    )
    assert lines[1].startswith("support.slides.page")


def test_source_leaves_out_what_only_looks_at_the_arguments():
    """Not what fills in for None, nor what is the method."""
    code = [
        "def f(X, t, m0=None, *, n=3):",
        "    X, t = validate.rows(X, len(t)), validate.labels(t)",
        "    validate.finite('t', t)",
        "    n = validate.whole('n', n)",
        "    m0 = validate.vector_or_zeros('m0', m0)",
        "    ones = validate.labels(t)",
        "    X = np.sum(validate.rows(X))",
        "    return X @ m0 - n",
    ]
    assert book._unguarded("\n".join(code)).splitlines() == code[:1] + code[4:]


def test_table_names_its_columns_and_rows():
    """Scopes for screen readers, a caption, escaped cells, aligned text."""
    rows = [["Newton", 7], ["descent & luck", 4000]]
    output = book.table(rows, ["method", "steps"], "Two ways")
    page = ET.fromstring(output.rich["text/html"])
    scopes = [th.get("scope") for th in page.iter("th")]
    assert scopes == ["col", "col", "row", "row"]
    assert page.find("caption").text == "Two ways"
    assert repr(output).splitlines()[1:] == [
        "method          steps",
        "Newton              7",
        "descent & luck   4000",
    ]
    with pytest.raises(ValueError, match="2 cells"):
        book.table([["Newton"]], ["method", "steps"], "Two ways")
    for header, name in ((["", "steps"], "Newton"), (["method", "steps"], "")):
        with pytest.raises(ValueError, match="without a name"):
            book.table([[name, 7]], header, "Two ways")


def test_table_shows_a_minus_as_one():
    """A hyphen before a number is a minus, not in dates, words or code."""
    rows = [["`f(-1)`", "-45.2"], ["1986-01", "(-1, -.5)"], ["log-odds", -7]]
    output = book.table(rows, ["name", "value"], "Signs")
    body = ET.fromstring(output.rich["text/html"]).find("tbody")
    assert ["".join(cell.itertext()) for row in body for cell in row] == [
        *("f(-1)", "−45.2", "1986-01", "(−1, −.5)", "log-odds", "−7")
    ]
    assert "-45.2" in repr(output)


def test_log_axes_are_described_in_whole_decades():
    """Rounding errors differ between machines; their decades hardly do."""
    texts = []
    for wiggle in (1.0, 1.2):
        fig, ax = plt.subplots()
        ax.loglog([2e-5, 3e-2], [wiggle * 2e-16, 4e-3])
        texts.append(book.drawn(fig).text)
        plt.close(fig)
    assert texts[0] == texts[1]
    assert "x 1e-5 to 1e-1, y 1e-16 to 1e-2" in texts[0]
