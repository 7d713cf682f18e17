"""How a static figure is written down.

    page(fig, said)    the figure as one piece of HTML
    cuts(fig)          where its columns of panels end

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
HEAVY = {PathCollection: 1500, QuadMesh: 1500, ContourSet: 20_000}


def page(fig, said):
    """The figure as HTML; `said` is what a screen reader says of it."""
    text = (
        '<div class="prml-picture prml-panels" role="img" '
        f'aria-label="{escape(said)}" '
        f'style="max-width:{fig.get_figwidth() / svg.REM:g}rem">\n'
        f"<style>\n{svg.CSS}</style>\n{svg.named(_pictures(fig))}</div>"
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
    ends, refs = cuts(fig), {}
    panels = svg.panels(svg.drawing(fig), refs, len(ends) - 1)
    panels[0].insert(0, svg.definitions(refs))
    return svg.row(ends, 72 * fig.get_figheight(), map("".join, panels))


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


def cuts(fig):
    """Where columns of panels end, in points; names the panel of each axes."""
    fig.set_dpi(72)
    fig.canvas.draw()
    columns = []
    for ax in sorted(fig.axes, key=lambda ax: ax.get_window_extent().x0):
        box = ax.get_window_extent()
        if not columns or box.x0 > columns[-1][0]:
            columns.append([box.x1, []])
        columns[-1][0] = max(columns[-1][0], box.x1)
        columns[-1][1].append(ax)
    ends = [_ends(axes) for _, axes in columns]
    found = [0.0, fig.get_figwidth() * 72]
    found[1:1] = [
        (a[1] + b[0]) / 2 for a, b in zip(ends[:-1], ends[1:], strict=True)
    ]
    whole = min(np.diff(found)) < NARROW
    for k, (_, axes) in enumerate(columns):
        for ax in axes:
            ax.set_gid(f"panel {0 if whole else k}")
    return [found[0], found[-1]] if whole else found


def _ends(axes):
    """The left and right end of all that belongs to some axes."""
    boxes = [ax.get_tightbbox() for ax in axes]
    return min(b.x0 for b in boxes), max(b.x1 for b in boxes)
