"""The times of the page on speed as a picture: a row for each problem."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import book, figures

MARKS = {"scikit-learn": "s", "statsmodels": "D", "glum": "^", "GPy": "v"}
PEER = {"linestyle": "", "color": book.GREY, "markerfacecolor": "none"}


def picture(cells, at):
    """Marks for what prml4 and its peers took, as multiples of the bound.

    Where a problem is a model and a task, each model has a panel of its own.
    """
    groups = {}
    for cell in cells:
        name = cell.get("model", "") if "task" in cell else ""
        groups.setdefault(name, []).append(cell)
    rows = [len(some) for some in groups.values()]
    height = 0.75 + 0.23 * len(cells) + 0.35 * len(groups)
    with plt.rc_context(book.STYLE):
        fig, axes = plt.subplots(
            len(rows), 1, figsize=(6.4, height), height_ratios=rows,
            sharex=True, squeeze=False,
        )  # fmt: skip
        for ax, (name, some) in zip(axes[:, 0], groups.items(), strict=True):
            panel(ax, some)
            ax.set_title(name)
        ax.set_xlabel("time, as a multiple of the bound", loc="right")
        axes[0, 0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=5,
                          columnspacing=1, handletextpad=0.1)  # fmt: skip
        page = figures.page(fig, spoken(cells, at))
        plt.close(fig)
    return page


def panel(ax, cells):
    """A row for each problem: what the peers took, and what prml4 took."""
    for library, mark in MARKS.items():
        found = [
            (time / cell["bound"], row)
            for row, cell in enumerate(cells)
            for name, time in cell.get("peers", {}).items()
            if time and name.split()[0] == library
        ]
        if found:
            ax.plot(*zip(*found, strict=True), mark, label=library, **PEER)
    ours = [cell["prml4"] / cell["bound"] for cell in cells]
    ax.plot(ours, range(len(cells)), "o", color=book.INK, label="prml4")
    ax.axvline(1, color=book.INK, linewidth=0.8)
    ax.set(xscale="log", ylim=(len(cells) - 0.4, -0.6))
    ax.set_yticks(range(len(cells)), [problem(cell) for cell in cells])
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y")


def problem(cell):
    """What was done, with how many rows, columns and classes."""
    keys = ("data", "task") if "task" in cell else ("model", "data")
    words = [str(cell[key]) for key in keys if key in cell]
    rows = f"{cell['N']:,}".replace(",", "\u202f")
    size = f"{rows} × {cell['D']}" if "D" in cell else f"N = {rows}"
    classes = f"K = {cell['K']}" if "K" in cell else ""
    return ", ".join(filter(None, [" ".join(words), size, classes]))


def spoken(cells, at):
    """What the picture shows, in a sentence."""
    ours = sorted(cell["prml4"] / cell["bound"] for cell in cells)
    text = f"{len(cells)} rows, {at}: prml4 takes {ours[0]:.2f} to "
    text += f"{ours[-1]:.2f} times the bound"
    pairs = [cell["ratio"] for cell in cells if "ratio" in cell]
    if pairs:
        text += (
            f"; the fastest peer takes {min(pairs):.2f} to "
            f"{max(pairs):.2f} times as long as prml4"
        )
    return f"{text}."
