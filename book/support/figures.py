"""How a static figure is written down.

    page(fig, said)    the figure as one piece of HTML

Panels side by side become one SVG for each column: they stand in a row where
there is room, and one below the other on a phone.
"""

from html import escape

import numpy as np
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.contour import ContourSet

from support import svg

LIMIT = 150_000  # characters
NARROW = 150  # points; columns that are narrower stay in one picture
REM = 16 / 100  # inches of a figure
HEAVY = {PathCollection: 1500, QuadMesh: 1500, ContourSet: 20_000}
_CSS = f"""<style>
{svg.CSS}.prml-panels{{display:flex;flex-wrap:wrap;\
justify-content:center}}
.prml-panels svg{{min-width:0}}
</style>"""


def page(fig, said):
    """The figure as HTML; `said` is what a screen reader says of it."""
    text = (
        '<div class="prml-picture prml-panels" role="img" '
        f'aria-label="{escape(said)}" '
        f'style="max-width:{fig.get_figwidth() / REM:g}rem">\n'
        f"{_CSS}\n{svg.named(_pictures(fig))}</div>"
    )
    if len(text) > LIMIT:
        raise ValueError(
            f"a figure must have at most {LIMIT // 1000} KB; "
            f"got {len(text) / 1000:.0f} KB: draw fewer points"
        )
    return text


def _pictures(fig):
    """The columns of a figure, each as wide as its share of the room."""
    for ax in fig.axes:
        _own_labels(ax)
        _dotted(ax)
    fig.set_dpi(72)
    fig.canvas.draw()
    cuts, refs, text = _cuts(fig), {}, ""
    panels = svg.panels(svg.drawing(fig), refs, len(cuts) - 1)
    panels[0].insert(0, svg.definitions(refs))
    for a, b, marks in zip(cuts[:-1], cuts[1:], panels, strict=True):
        wide = (b - a) / 72 / REM
        room = f"flex:{wide:.1f} 1 {0.7 * wide:.1f}rem;"
        room += f"max-width:{1.1 * wide:.1f}rem"
        view = svg.rounded(f"{a:.6f} 0 {b - a:.6f} {72 * fig.get_figheight()}")
        text += f'<svg viewBox="{view}" style="{room}">\n'
        text += "".join(marks) + "</svg>\n"
    return text


def _own_labels(ax):
    """What a panel shares with another, it also has when it stands alone."""
    for other in set(ax.get_shared_y_axes().get_siblings(ax)) - {ax}:
        ax.tick_params(labelleft=True)
        if other.get_ylabel() and not ax.get_ylabel():
            ax.set_ylabel(other.get_ylabel())


def _dotted(ax):
    """What has too many parts for lines and shapes becomes dots."""
    for artist in ax.collections:
        most = next((n for k, n in HEAVY.items() if isinstance(artist, k)), 0)
        artist.set_rasterized(_parts(artist) > most > 0)


def _parts(artist):
    if isinstance(artist, PathCollection):
        return len(artist.get_offsets())
    if isinstance(artist, QuadMesh):
        return np.ma.count(artist.get_array())
    return sum(len(path.vertices) for path in artist.get_paths())


def _cuts(fig):
    """Where columns of panels end, in points; names the panel of each axes."""
    columns = []
    for ax in sorted(fig.axes, key=lambda ax: ax.get_window_extent().x0):
        box = ax.get_window_extent()
        if not columns or box.x0 > columns[-1][0]:
            columns.append([box.x1, []])
        columns[-1][0] = max(columns[-1][0], box.x1)
        columns[-1][1].append(ax)
    ends = [_ends(axes) for _, axes in columns]
    cuts = [0.0, fig.get_figwidth() * 72]
    cuts[1:1] = [
        (a[1] + b[0]) / 2 for a, b in zip(ends[:-1], ends[1:], strict=True)
    ]
    whole = (
        min(b - a for a, b in zip(cuts[:-1], cuts[1:], strict=True)) < NARROW
    )
    for k, (_, axes) in enumerate(columns):
        for ax in axes:
            ax.set_gid(f"panel {0 if whole else k}")
    return [cuts[0], cuts[-1]] if whole else cuts


def _ends(axes):
    """The left and right end of all that belongs to some axes."""
    boxes = [ax.get_tightbbox() for ax in axes]
    return min(b.x0 for b in boxes), max(b.x1 for b in boxes)
