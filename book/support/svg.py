"""Matplotlib's SVG made small, steady and at home on light and dark pages.

    drawing(fig)         matplotlib's SVG, which knows how its words are aligned
    panels(svg, refs, n) one drawing as lists of compact SVG elements
    layers(frames)       several drawings in one, shared elements written once
    definitions(refs)    the markers, clip paths and hatches they refer to
    row(cuts, ...)       a picture for each column, side by side or stacked
    named(picture)       the picture with identifiers of its own
    variables(dark)      CSS for the colours of the page
    CSS                  the look of every picture: class prml-picture

Coordinates are rounded so that the last digits of floating-point arithmetic
leave no trace; house colours become CSS variables, black and greys shades of
the page's own ink, white its paper; text is text in the page's font. An "@"
stands for the prefix of identifiers, chosen by the caller.
"""

import hashlib
import io
import re
import xml.etree.ElementTree as ET
from html import escape
from unicodedata import combining

import matplotlib.pyplot as plt
from matplotlib.cbook import is_math_text
from matplotlib.text import Text

TONES = {  # colour in a drawing: its tone on a dark page
    "#0072b2": "#56b4e9",
    "#d55e00": "#ff9550",
    "#009e73": "#35c79b",
    "#cc79a7": "#e3a0c8",
    "#00639c": "#7cc4f0",
    "#a84a00": "#ffaa75",
    "#00745a": "#5ad6b0",
    "#8c3f6b": "#f0bbd9",
}
_VARIABLE = {colour: f"--tone{i}" for i, colour in enumerate(TONES)}
_KEPT = ("d", "x", "y", "width", "height", "transform", "clip-path", "href")
_KEPT += ("patternUnits",)
_IDLE = {
    "stroke-dashoffset": "0",
    "font-weight": "400",
    "font-size": "1em",
    "text-anchor": "start",
}
BODY = 12  # px, the size of most words: 1em, which grows on a phone
REM = 16 / 100  # inches of a drawing
DOTS = 200  # per inch, of what is a picture of dots inside


def variables(dark=False):
    """CSS declarations of the colour variables."""
    tones = TONES.values() if dark else TONES
    pairs = zip(_VARIABLE.values(), tones, strict=True)
    return ";".join(f"{name}:{tone}" for name, tone in pairs)


CSS = f"""\
.prml-picture{{{variables()};--paper:var(--pst-color-background,\
var(--jp-layout-color0,#fff));margin:0 auto;color:inherit}}
html[data-theme="dark"] .prml-picture,\
body[data-jp-theme-light="false"] .prml-picture{{{variables(dark=True)}}}
.prml-picture svg{{display:block;width:100%;height:auto;overflow:visible;\
fill:currentColor;stroke-linejoin:round;font-size:{BODY}px}}
@media(max-width:600px){{.prml-picture svg:only-of-type\
{{font-size:{BODY + 2}px;--least:{BODY + 2}px}}}}
.prml-panels{{display:flex;flex-wrap:wrap;justify-content:center}}
.prml-panels svg{{min-width:0}}
"""


def drawing(fig):
    """Matplotlib's SVG of a figure in points, with text as text.

    A group named "words" says how its lines are aligned, and how wide each is:
    the page's typeface has widths of its own.
    """
    with plt.rc_context({"svg.fonttype": "none"}):
        fig.set_dpi(72)
        fig.canvas.draw()
        fig.set_layout_engine("none")
        for text in fig.findobj(Text):
            lines = text.get_text().split("\n")
            if "$" in lines[0] or len(lines) > 1 or text.get_rotation() % 360:
                widths = (f"{_width(text, line):.2f}" for line in lines)
                text.set_gid(" ".join(["words", text.get_ha(), *widths]))
        out = io.BytesIO()
        fig.savefig(out, format="svg", transparent=True, dpi=DOTS)
    return out.getvalue()


def _width(text, line):
    renderer = text.get_figure(root=True).canvas.get_renderer()
    return renderer.get_text_width_height_descent(
        line, text.get_fontproperties(), is_math_text(line)
    )[0]


def panels(svg, refs, count):
    """Elements by the panel, the axes named "panel k", to which they belong.

    `refs` collects what they refer to.
    """
    root, ids = ET.fromstring(svg), {}
    for holder in root.iter():
        for node in holder if _name(holder) == "defs" else ():
            if "id" in node.attrib:
                made = _write(node, {}, digits=2)
                ids[node.attrib["id"]] = refs.setdefault(made, len(refs))
    held = [[] for _ in range(count)]
    for group in root.find("*[@id='figure_1']"):
        place = group.get("id", "").removeprefix("panel ")
        held[int(place) if place.isdigit() else 0] += _flat([group], ids)
    return held


def definitions(refs):
    """What the elements refer to, numbered in order of appearance."""
    named = (
        re.sub(r"^<(\w+)", rf'<\1 id="@{i}"', made, count=1)
        for made, i in refs.items()
    )
    return f"<defs>{''.join(named)}</defs>\n"


def row(cuts, height, columns):
    """A picture for each column between two cuts, all in points.

    Each is as wide as its share of the room, and goes below the one before
    where there is little.
    """
    text = ""
    for a, b, column in zip(cuts[:-1], cuts[1:], columns, strict=True):
        wide = (b - a) / 72 / REM
        room = f"flex:{wide:.1f} 1 {0.7 * wide:.1f}rem;"
        room += f"max-width:{1.1 * wide:.1f}rem"
        view = rounded(f"{a:.6f} 0 {b - a:.6f} {height}")
        text += f'<svg viewBox="{view}" style="{room}">\n{column}</svg>\n'
    return text


def named(picture):
    """The picture with a prefix of its own for every identifier.

    Marks of one look that follow each other share their style.
    """
    prefix = "s" + hashlib.sha256(picture.encode()).hexdigest()[:8] + "-"
    picture = re.sub(r'(#|id=")@', rf"\1{prefix}", picture)
    return _RUN.sub(_alike, picture)


_MARK = r"<(?:use|path) (?:(?!transform)[^<>])*?{}/>"
_RUN = re.compile(
    _MARK.format(r'( clip-path="[^"]*"(?: style="[^"]*")?| style="[^"]*")')
    + rf"(?:{_MARK.format(chr(92) + '1')}){{2,}}"
)


def _alike(run):
    """A run of marks, their style written once."""
    return f"<g{run[1]}>{run[0].replace(run[1], '')}</g>"


def layers(frames, start):
    """All frames in drawing order: common elements once, others by frame."""
    common = set(frames[0]).intersection(*frames)
    spine = [m for m in frames[0] if m in common]
    if any([m for m in f if m in common] != spine for f in frames):
        common, spine = set(), []
    gaps = [_gaps(frame, common) for frame in frames]
    out = []
    for place in range(len(spine) + 1):
        for i, gap in enumerate(gaps):
            if gap[place]:
                hidden = "" if i == start else ' style="display:none"'
                body = "".join(gap[place])
                out.append(f'<g data-f="{i}"{hidden}>{body}</g>\n')
        out += spine[place : place + 1]
    return "".join(out)


def _gaps(frame, common):
    """The runs of a frame's own elements between the common ones."""
    gaps = [[]]
    for mark in frame:
        if mark in common:
            gaps.append([])
        else:
            gaps[-1].append(mark)
    return gaps


def _name(node):
    return node.tag.rpartition("}")[2]


def _flat(group, ids):
    """Drawable pieces of a group: plain groups are opened, the rest kept."""
    for node in group:
        gid = node.get("id", "")
        if _name(node) in ("defs", "metadata"):
            continue
        if gid.startswith("words"):
            yield from _words(node, ids, *gid.split()[1:])
        elif gid.startswith("QuadMesh"):  # no seams between the cells
            cells = "".join(_flat([*node], ids))
            yield f'<g style="shape-rendering:crispEdges">{cells}</g>'
        elif _name(node) == "g" and set(node.attrib) <= {"id"}:
            yield from _flat(node, ids)
        elif node.get("style") != "fill: none":
            yield _write(node, ids)


def _write(node, ids, digits=1):
    """One element and its children, compactly."""
    given = {k.rpartition("}")[2]: v for k, v in node.attrib.items()}
    held = []
    for key in _KEPT:
        value = _linked(given.get(key, ""), ids)
        if key == "d":
            value = _path(rounded(value, digits))
        elif key != "href":
            value = rounded(value, digits)
        if value and not value.startswith("rotate(-0 "):
            held.append(f' {key}="{value}"')
    style = given.get("style", "")
    if "fill" in given:  # the ground of a hatch
        style = f"fill: {given['fill']}; {style}"
    if style := _style(_linked(style, ids)):
        held.append(f' style="{style}"')
    inner = escape((node.text or "").strip())
    inner += "".join(_write(child, ids, digits) for child in node)
    name = _name(node)
    end = f">{inner}</{name}>" if inner else "/>"
    return f"<{name}{''.join(held)}{end}"


def _linked(text, ids):
    """References by their numbers."""
    return re.sub(r"(?:^|(?<=url\())#(\w+)", lambda m: f"#@{ids[m[1]]}", text)


def _path(text):
    """A path without points that rounding has made idle."""
    out = []
    for letter, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", text):
        point = (letter, *numbers.split())
        if letter == "L" and out[-1][0] in "ML" and point[1:] == out[-1][1:]:
            continue
        if len(out) > 1 and _between(out[-2], out[-1], point):
            out.pop()
        out.append(point)
    text = ""
    for before, (letter, *numbers) in zip([" ", *out], out, strict=False):
        implied = letter == "L" and before[0] in "ML"
        text += (" " if implied else letter) + " ".join(numbers)
    return text


def _between(a, b, c):
    """Whether b lies on the level or upright line from a to c."""
    if a[0] not in "ML" or b[0] != "L" or c[0] != "L":
        return False
    (ax, ay), (bx, by), (cx, cy) = (map(float, p[1:]) for p in (a, b, c))
    level = ay == by == cy and (bx - ax) * (cx - bx) > 0
    upright = ax == bx == cx and (by - ay) * (cy - by) > 0
    return level or upright


def rounded(text, digits=1):
    """Every decimal number in `text` rounded; ties always fall upwards."""

    def short(match):
        value = f"{float(match[0]) + 2.7e-5:.{digits}f}".rstrip("0").rstrip(".")
        return "0" if value == "-0" else value

    return re.sub(r"-?\d+\.\d+(?:e-?\d+)?", short, text)


def _style(text):
    """CSS declarations without what the page decides or nobody needs."""
    pairs = dict(p.split(": ", 1) for p in text.split("; ") if ": " in p)
    if "font-size" in pairs:
        pairs["font-size"] = _em(pairs["font-size"])
    for key in ("fill", "stroke"):
        colour, ink = _colour(pairs.get(key, ""))
        if key in pairs:
            pairs[key] = colour
        if ink < 1:
            opacity = float(pairs.get(f"{key}-opacity", 1)) * ink
            pairs[f"{key}-opacity"] = f"{opacity:.6f}"
    return ";".join(
        f"{k}:{rounded(v, 2)}"
        for k, v in pairs.items()
        if k != "font-family" and _IDLE.get(k) != v
    )


def _em(size):
    share = float(size.removesuffix("px")) / BODY
    em = f"{share:.3g}em"
    return f"max({em},var(--least,0px))" if share < 1 else em


def _colour(colour):
    """The page's colour for a drawing's, and how much ink a grey takes."""
    colour = colour.lower()
    if colour in _VARIABLE:
        return f"var({_VARIABLE[colour]})", 1
    if colour == "#ffffff":
        return "var(--paper)", 1
    if re.fullmatch(r"#(..)\1\1", colour):
        return "currentColor", 1 - int(colour[1:3], 16) / 255
    return colour, 1


_SHARE = {"left": 0, "center": 0.5, "right": 1}
_ANCHOR = {"left": "start", "center": "middle", "right": "end"}


def _words(node, ids, align, *widths):
    """The box below some words, then their lines, each aligned by itself."""
    boxes = [n for n in node if n.get("id", "").startswith("patch")]
    yield from _flat(boxes, ids)
    lines = (n for n in node if n not in boxes)
    for line, width in zip(lines, widths, strict=False):
        clip = _linked(line.get("clip-path", ""), ids)
        words = _line(line[0] if clip else line, align, float(width))
        yield f'<g clip-path="{clip}">{words}</g>' if clip else words


def _line(line, align, width):
    """One line of words, aligned to its own place."""
    place = _SHARE[align] * width
    if _name(line) == "g":
        return _formula(line, align, place)
    if "text-anchor" not in line.get("style"):
        line.set("x", f"{place:.6f}")
        line.attrib["style"] += f"; text-anchor: {_ANCHOR[align]}"
    return _write(line, {})


def _formula(place, align, x):
    """Mathematics as running text, since the page's font has its own widths."""
    if any(_name(n) != "text" for n in place):
        return _write(place, {})  # bars of fractions and roots stay in place
    glyphs = sorted(_glyphs(place), key=lambda glyph: glyph[0])
    size = max(glyph[2] for glyph in glyphs)
    runs = _runs(_star(glyph, size) for glyph in glyphs)
    base = level = next(y for y, s, _, _ in runs if s == size)
    words = ""
    for y, s, style, text in runs:
        move = "" if y == level else f' dy="{_fixed(y - level)}"'
        small = f"font-size:{s / size:.3g}em" if s < size else ""
        style = ";".join(filter(None, [style, small]))
        words += f'<tspan{move} style="{style}">{escape(text)}</tspan>'
        level = y
    style = f"font-size: {size:g}px; text-anchor: {_ANCHOR[align]}; "
    return (
        f'<text x="{_fixed(x)}" y="{_fixed(base)}" '
        f'transform="{rounded(place.get("transform"))}" '
        f'style="{_style(style + place.get("style", ""))}">{words}</text>'
    )


def _fixed(value):
    return rounded(f"{value:.6f}")


def _glyphs(place):
    """(x, y, font size, style, character) of every glyph of a formula."""
    for run in place.iter():
        if not run.get("x"):
            continue
        css = dict(p.split(": ") for p in run.get("style").split("; "))
        size = float(css["font-size"].removesuffix("px"))
        slant = css.get("font-style", "normal").replace("oblique", "italic")
        style = f"font-style:{slant}"
        if "font-weight" in css:
            style += f";font-weight:{css['font-weight']}"
        for x, text in zip(run.get("x").split(), run.text, strict=True):
            # an accent stands right of the letter that it follows
            x = float(x) - (0.4 * size if combining(text) else 0)
            y = float(run.get("y"))
            if text == "0" and "cmsy" in css["font-family"]:
                text, y = "′", y + 0.3 * size  # it is raised by itself
            yield x, y, size, style, text


def _star(glyph, size):
    """A star that is an index: in the page's typeface it is small and high."""
    x, y, small, style, text = glyph
    if text == "*" and small < size:
        return x, y + 0.3 * size, size, style, text
    return glyph


def _runs(glyphs):
    """Glyphs joined while height, size and style last; relations spaced."""
    runs = []
    for _, y, size, style, text in glyphs:
        last = runs[-1] if runs else (None, None, None, "")
        after = last[1] == size and (
            last[3][-1].isalnum() or last[3][-1] in ")|"
        )
        if text in "=<>≤≥≈→" or (text in "−+" and after):
            text = f" {text} "
        elif (
            last[3].endswith(",") and not (text.isdigit() or text.isspace())
        ) or (
            re.search("[a-z]{2}$", last[3])
            and after
            and (style not in last or text.isdigit())
        ):  # (x, y), and a function's name before what it is taken of
            text = f"\N{THIN SPACE}{text}"
        if last[3][-1:].isspace() and not (text := text.lstrip()):
            continue  # one space is there
        if combining(text[0]) or last[:3] == (y, size, style):
            runs[-1] = (*last[:3], last[3] + text)
        else:
            runs.append((y, size, style, text))
    return runs
