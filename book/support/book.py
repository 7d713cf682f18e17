"""What only the notebooks need: figures, slider pictures, source, tables.

    style()             the house style for matplotlib
    scatter_classes     points in class colours and class markers
    shade_probability   bands of p(C_1|x) between the two class colours
    boundary            the line w_0 + w_1 x_1 + w_2 x_2 = 0
    label_line          a curve's name, written beside it
    show(fig)           the picture; its text says what was drawn
    drawn(fig)          that text alone
    slider(draw, ...)   a drawing for each of several values, one range input
    power(value)        2 × 10⁻⁵ for a table or a sentence
    number(value)       0.0213 or 2150, and a power where it is that small
    source(f, ...)      library source as highlighted code
    table(rows, ...)    a small table of results

Every output has a plain text of its own, so a notebook compared with its
stored outputs turns red when a picture goes stale.
"""

import ast
import inspect
import re
from dataclasses import dataclass, field
from html import escape

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.collections import PathCollection

from support import figures, slides

# Okabe and Ito's palette, told apart by every common kind of colour vision
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
INK, GREY, PURPLE = "#000000", "#666666", "#CC79A7"
CLASS_COLOURS = (BLUE, VERMILION, GREEN)
CLASS_MARKERS = ("o", "^", "s")
CLASS_TEXT = ("#00639C", "#A84A00", "#00745A")  # dark enough for words
PURPLE_TEXT = "#8C3F6B"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

STYLE = {
    "figure.figsize": (6.4, 3.8),
    "figure.constrained_layout.use": True,
    "font.size": 12,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.grid": False,
    "axes.prop_cycle": cycler(color=[INK, PURPLE, GREY]),
    "grid.color": INK,
    "grid.alpha": 0.12,
    "grid.linewidth": 0.8,
    "lines.linewidth": 2.0,
    "lines.markersize": 6,
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
    "legend.frameon": False,
    "image.cmap": "cividis",
}


def style():
    """Use the house style for every figure that follows."""
    plt.rcdefaults()
    plt.rcParams.update(STYLE)


def scatter_classes(ax, X, t, names=None, size=34):
    """Points X (N, 2) of class t (N,): colour and marker both say which."""
    t = np.asarray(t).astype(int)
    for k in np.unique(t):
        ax.scatter(
            *np.asarray(X)[t == k].T[:2],
            s=size,
            marker=CLASS_MARKERS[k],
            color=CLASS_COLOURS[k],
            edgecolor="white",
            linewidth=0.6,
            label=names[k] if names else None,
            zorder=3,
        )


def shade_probability(ax, probability, levels=(0.5, 0.75, 0.9)):
    """Shades of `probability`, (n, 2) points -> p(C_1|x), over the view of ax.

    Blue where class 0 is likelier, vermilion where class 1 is, deeper from
    one level to the next; a line where neither is.
    """
    (a, b), (c, d) = ax.get_xlim(), ax.get_ylim()
    x, y = np.meshgrid(np.linspace(a, b, 81), np.linspace(c, d, 61))
    p = np.reshape(probability(np.c_[x.ravel(), y.ravel()]), x.shape)
    for colour, q in zip(CLASS_COLOURS[:2], (1 - p, p), strict=True):
        for level in levels:  # nested, so that no seams show
            if q.max() > level:
                ax.contourf(
                    x, y, q, [level, 2], colors=[(colour, 0.12)], zorder=0
                )
    if p.min() < 0.5 < p.max():
        ax.contour(x, y, p, [0.5], colors=INK, linewidths=1.2)


def boundary(ax, w, **line):
    """The line w_0 + w_1 x_1 + w_2 x_2 = 0, through the view of ax."""
    w0, normal = w[0], np.asarray(w[1:3], float)
    (a, b), (c, d) = ax.get_xlim(), ax.get_ylim()
    foot = np.array([a + b, c + d]) / 2
    foot = foot - (w0 + normal @ foot) / (normal @ normal) * normal
    along = np.array([-normal[1], normal[0]]) / np.hypot(*normal)
    ends = foot + np.outer([-1, 1], along) * np.hypot(b - a, d - c)
    line = {"color": INK, "scalex": False, "scaley": False} | line
    return ax.plot(*ends.T, **line)[0]


def label_line(line, x, text=None, dy=6, **words):
    """Write a curve's name above its point at abscissa x (below if dy < 0)."""
    y = np.interp(x, *line.get_xydata().T)
    dark = dict(zip(CLASS_COLOURS, CLASS_TEXT, strict=True))
    colour = (dark | {PURPLE: PURPLE_TEXT}).get(line.get_color(), INK)
    words = {"color": colour, "ha": "center"} | words
    return line.axes.annotate(
        text or line.get_label(),
        (x, y),
        (0, dy),
        textcoords="offset points",
        va="bottom" if dy >= 0 else "top",
        **words,
    )


# --- outputs -----------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Output:
    """What a cell shows: a text for comparison, a richer form for readers."""

    text: str  # text/plain, the same on every machine
    rich: dict = field(default_factory=dict)  # MIME type -> content

    def __repr__(self):
        return self.text

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text} | self.rich


def _number(value, scale):
    """Three significant digits; what is noise at this scale is zero."""
    if abs(value) <= 1e-9 * scale:
        return "0"
    return f"{value * (1 + 1e-8):.3g}"


def _range(name, values, mean=False):
    values = values[np.isfinite(values)]
    if not values.size:
        return f"{name} empty"
    ends = values.min(), values.max()
    scale = np.abs(ends).max()
    low, high = (_number(end, scale) for end in ends)
    centre = f" (mean {_number(values.mean(), scale)})" if mean else ""
    return f"{name} {low} to {high}{centre}"


def _decades(name, values):
    """On a log axis noise changes every digit, but hardly the decade."""
    values = np.log10(values[np.isfinite(values) & (values > 0)])
    if not values.size:
        return f"{name} empty"
    low, high = np.floor(values.min()), np.ceil(values.max())
    return f"{name} 1e{low:.0f} to 1e{high:.0f}"


def _vertices(artist):
    """(n, 2) data coordinates of whatever an artist draws."""
    if hasattr(artist, "get_xydata"):
        return artist.get_xydata()
    if isinstance(artist, PathCollection):
        return np.ma.filled(artist.get_offsets().astype(float), np.nan)
    if hasattr(artist, "get_patch_transform"):
        place = artist.get_patch_transform()
        return place.transform(artist.get_path().vertices)
    return np.vstack(
        [np.empty((0, 2)), *(p.vertices for p in artist.get_paths())]
    )


def _kinds(ax):
    """Artists of ax by what a reader would call them."""
    dots = [a for a in ax.lines if a.get_linestyle() == "None"]
    dots += [c for c in ax.collections if isinstance(c, PathCollection)]
    areas = [c for c in ax.collections if c not in dots]
    filled = [c for c in areas if len(c.get_facecolor())]
    yield "curves", [a for a in ax.lines if a not in dots]
    yield "points", dots
    yield "regions", filled
    yield "contours", [c for c in areas if c not in filled]
    yield "shapes", list(ax.patches)


def _extent(axis, name, values, mean=False):
    if axis.get_scale() == "log":
        return _decades(name, values)
    return _range(name, values, mean)


def _describe(ax):
    parts = []
    for kind, artists in _kinds(ax):
        if artists:
            xy = np.vstack([_vertices(a) for a in artists])
            count = len(xy) if kind == "points" else len(artists)
            mean = kind in ("curves", "points")
            x = _extent(ax.xaxis, "x", xy[:, 0])
            y = _extent(ax.yaxis, "y", xy[:, 1], mean)
            parts.append(f"{kind} {count}, {x}, {y}")
    for image in ax.images:
        values = np.ma.filled(image.get_array().astype(float), np.nan)
        parts.append(f"image {values.shape}, {_range('values', values, True)}")
    return "; ".join(parts) or "nothing"


def drawn(fig):
    """What a figure shows, in one line: marks, how many, and their extents."""
    axes = [_describe(ax) for ax in fig.axes]
    if len(axes) > 1:
        axes = [f"({i}) {line}" for i, line in enumerate(axes, 1)]
    return Output("drawn: " + " ".join(axes))


def show(fig):
    """The figure as a picture whose plain text is `drawn(fig)`.

    The last line of a cell; the figure is closed, so it appears once.
    """
    text = drawn(fig).text
    page = figures.page(fig, text)
    plt.close(fig)
    return Output(text, {"text/html": page})


def source(*functions):
    """The source of library functions as Markdown, docstring included.

    Without what only looks at the arguments: a reader wants the method.
    """
    blocks, names = [], []
    for function in functions:
        code = inspect.getsource(function).strip()
        name = f"{function.__module__}.{function.__qualname__}"
        names.append(f"{name} ({len(code.splitlines())} lines)")
        blocks.append(f"```python\n{_unguarded(code)}\n```")
    return Output("\n".join(names), {"text/markdown": "\n\n".join(blocks)})


def _unguarded(code):
    """A function without statements that put arguments through validate.

    One that fills in for None stays, or the rest would not be understood.
    """
    lines, (thing,) = code.splitlines(), ast.parse(code).body
    known = {"_", *_arguments(thing)}
    for node in thing.body[::-1]:
        parts = list(ast.walk(node))
        calls = [ast.unparse(n.func) for n in parts if isinstance(n, ast.Call)]
        names = [n for n in parts if isinstance(n, ast.Name)]
        stored = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        if (
            isinstance(node, ast.Assign | ast.Expr)
            and any(call.startswith("validate.") for call in calls)
            and all(call.startswith(("validate.", "len")) for call in calls)
            and stored <= known
        ):
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines)


def _arguments(thing):
    """Names of a function's arguments, but those that are None if not given."""
    if not isinstance(thing, ast.FunctionDef):
        return set()
    told = thing.args
    late = zip(told.args[::-1], told.defaults[::-1], strict=False)
    pairs = [*late, *zip(told.kwonlyargs, told.kw_defaults, strict=True)]
    absent = {
        n.arg for n, value in pairs if value and ast.unparse(value) == "None"
    }
    return {n.arg for n in told.args + told.kwonlyargs} - absent


def _html(text):
    """HTML of a text; one in backquotes is code, in others -2 is −2."""
    if code := re.fullmatch("`(.*)`", text):
        return f"<code>{escape(code[1])}</code>"
    return re.sub(r"(?<![\w)])-(?=[\d.])", "−", escape(text))


def table(rows, header, caption):
    """Rows of strings under a header; the first column names its rows.

    A name in backquotes is code.
    """
    lines = [[str(cell) for cell in row] for row in [header, *rows]]
    if {len(line) for line in lines} != {len(header)}:
        raise ValueError(f"expected {len(header)} cells in every row")
    if not all((*lines[0], *(line[0] for line in lines))):
        raise ValueError("a column or a row without a name cannot be heard")
    first, *wide = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    text, marked = [caption], []
    for i, (name, *cells) in enumerate(lines):
        padded = [f"  {c:>{n}}" for c, n in zip(cells, wide, strict=True)]
        text.append(f"{name:<{first}}" + "".join(padded))
        way, tag = ("row", "td") if i else ("col", 'th scope="col"')
        row = f'<th scope="{way}" style="text-align:left">{_html(name)}</th>'
        for cell in cells:
            row += f'<{tag} style="text-align:right">{_html(cell)}</{tag[:2]}>'
        marked.append(f"<tr>{row}</tr>")
    page = (
        f'<table class="dataframe prml-table"><caption>{escape(caption)}'
        f"</caption>\n<thead>{marked[0]}</thead>\n<tbody>"
        + "\n".join(marked[1:])
        + "</tbody></table>"
    )
    return Output("\n".join(text), {"text/html": page})


def power(value, digits=1):
    """A number's first digits and its power of ten: 2 × 10⁻⁵, or 10⁻⁵."""
    first, exponent = f"{value:.{digits - 1}e}".split("e")
    raised = str(int(exponent)).translate(SUPERSCRIPT)
    return f"10{raised}" if first == "1" else f"{first}\xa0×\xa010{raised}"


def number(value, digits=3):
    """A number to so many digits: 0.0213, 2150, but 3.55 × 10⁻⁹."""
    plain = f"{float(f'{value:.{digits}g}'):g}"
    return power(value, digits) if "e" in plain else plain


def slider(
    draw, values, *, label, alt, start=0, panels=1, height=slides.HEIGHT
):
    """A drawing for each of `values`, chosen with a slider.

    draw(ax, value) draws one frame (ax is an array if panels > 1) and fixes
    its limits; alt(value) says in a sentence what that frame shows.  A strip
    is less high than other drawings, in inches.
    """
    names = [v if isinstance(v, str) else f"{v:g}" for v in values]
    said = [alt(v).strip() for v in values]
    if not all(said):
        raise ValueError("expected a sentence for every frame, got none")
    frames = [slides.frame(draw, v, panels, height, STYLE) for v in values]
    picture = slides.picture(frames, height, start)
    page = slides.page(label, names, said, start, picture)
    if len(page) > 300_000:
        raise ValueError(
            f"expected at most 300 KB, got {len(page) // 1000} KB: "
            "draw fewer frames, or fewer points in each"
        )
    lines = [f"  {n}: {s}" for n, s in zip(names, said, strict=True)]
    text = "\n".join([f"slider: {label}, {len(names)} frames", *lines])
    return Output(text, {"text/html": page})
