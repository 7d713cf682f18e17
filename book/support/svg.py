"""Matplotlib's SVG made small, steady and at home on light and dark pages.

    marks(svg, refs)     one drawing as a list of compact SVG elements
    layers(frames)       several drawings in one, shared elements written once
    definitions(refs)    the markers and clip paths they refer to
    variables(dark)      CSS for the colours of the page

Coordinates are rounded so that the last digits of floating-point arithmetic
leave no trace; house colours become CSS variables, black and greys shades of
the page's own ink, white its paper; text is text in the page's font. An "@"
stands for the prefix of identifiers, chosen by the caller.
"""

import re
import xml.etree.ElementTree as ET
from html import escape
from unicodedata import combining

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
_IDLE = {
    "stroke-dashoffset": "0",
    "font-weight": "400",
    "font-size": "1em",
    "text-anchor": "start",
}
BODY = 12  # px, the size of most words: 1em, which grows on a phone


def variables(dark=False):
    """CSS declarations of the colour variables."""
    tones = TONES.values() if dark else TONES
    pairs = zip(_VARIABLE.values(), tones, strict=True)
    return ";".join(f"{name}:{tone}" for name, tone in pairs)


def marks(svg, refs):
    """Elements of one drawing; `refs` collects what they refer to."""
    root = ET.fromstring(svg)
    ids = {}
    for holder in root.iter():
        for node in holder if _name(holder) == "defs" else ():
            if "id" in node.attrib:
                made = _write(node, {}, digits=2)
                ids[node.attrib["id"]] = refs.setdefault(made, len(refs))
    return list(_flat(root, ids))


def definitions(refs):
    """What the elements refer to, numbered in order of appearance."""
    named = (
        re.sub(r"^<(\w+)", rf'<\1 id="@{i}"', made, count=1)
        for made, i in refs.items()
    )
    return f"<defs>{''.join(named)}</defs>\n"


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
        if gid.startswith("formula"):
            yield _formula(node, *gid.split()[1:])
        elif _name(node) == "g" and set(node.attrib) <= {"id"}:
            yield from _flat(node, ids)
        elif node.get("style") != "fill: none":
            yield _write(node, ids)


def _write(node, ids, digits=1):
    """One element and its children, compactly."""
    given = {k.rpartition("}")[2]: v for k, v in node.attrib.items()}
    held = []
    for key in _KEPT:
        value = given.get(key, "")
        if "#" in value:
            value = re.sub(r"#(\w+)", lambda m: f"#@{ids[m[1]]}", value)
        elif key == "d":
            value = _path(rounded(value, digits))
        else:
            value = rounded(value, digits)
        if value and not value.startswith("rotate(-0 "):
            held.append(f' {key}="{value}"')
    if style := _style(given.get("style", "")):
        held.append(f' style="{style}"')
    inner = escape((node.text or "").strip())
    inner += "".join(_write(child, ids, digits) for child in node)
    name = _name(node)
    end = f">{inner}</{name}>" if inner else "/>"
    return f"<{name}{''.join(held)}{end}"


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
    text = "".join(letter + " ".join(numbers) for letter, *numbers in out)
    return re.sub(r"(?<=\d)L", " ", text)


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
    return f"{float(size.removesuffix('px')) / BODY:.3g}em"


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


def _formula(node, align, width):
    """Mathematics as running text, since the page's font has its own widths."""
    place = next(n for n in node if _name(n) == "g")
    if any(_name(n) != "text" for n in place):
        return _write(node, {})  # bars of fractions and roots stay in place
    runs = _runs(sorted(_glyphs(place), key=lambda glyph: glyph[0]))
    size = max(s for _, s, _, _ in runs)
    base = level = next(y for y, s, _, _ in runs if s == size)
    words = ""
    for y, s, style, text in runs:
        move = "" if y == level else f' dy="{_fixed(y - level)}"'
        small = f"font-size:{s / size:.3g}em" if s < size else ""
        style = ";".join(filter(None, [style, small]))
        words += f'<tspan{move} style="{style}">{escape(text)}</tspan>'
        level = y
    share = {"left": 0, "center": 0.5, "right": 1}[align]
    anchor = {"left": "start", "center": "middle", "right": "end"}[align]
    style = f"font-size: {size:g}px; text-anchor: {anchor}; "
    return (
        f'<text x="{_fixed(share * float(width))}" y="{_fixed(base)}" '
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
            yield x, float(run.get("y")), size, style, text


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
        if combining(text[0]) or last[:3] == (y, size, style):
            runs[-1] = (*last[:3], last[3] + text)
        else:
            runs.append((y, size, style, text))
    return runs
