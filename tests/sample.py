"""A miniature book without a fault, for planting one fault at a time."""

import json

from tools.gates import KERNEL

CHECK_LINE = (
    "✓ logistic-square · gradient: display = complex step"
    " · residual 1.0e-16 ≤ 2.2e-12"
)
SLIP_LINE = (
    "✗ A02 as written: off by 1.0e+00"
    " · ✓ corrected: residual 0.0e+00 ≤ 2.2e-12 · logistic-square"
)
ALT = "A parabola through the origin that rises to four at both ends."
HEADER = """# Squares

PRML 4.3.2 · `prml4/logistic.py` · `tests/test_logistic.py`

**The question.** What is the slope of a square?"""


def markdown(source):
    """A Markdown cell."""
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source, *texts, tags=(), image=None, **metadata):
    """A code cell with text outputs, and a picture if there is alt text."""
    outputs = [
        {"output_type": "execute_result", "data": {"text/plain": text}}
        for text in texts
    ]
    if image is not None:
        outputs[-1]["data"]["image/png"] = "iVBORw0KGgo="
        metadata["mystnb"] = image
    if tags:
        metadata["tags"] = list(tags)
    return {
        "cell_type": "code",
        "metadata": metadata,
        "source": source,
        "outputs": outputs,
    }


def exercise(k):
    """An exercise in code, its self-check and its collapsed solution."""
    label = f"logistic-ex-{k}"
    return [
        markdown(f":::{{exercise}}\n:label: {label}\n\nTry.\n:::"),
        code(
            "check.attempt('x', ..., np.square, (1.0,))",
            "· x · not attempted: fill in the function",
            tags=["exercise"],
        ),
        markdown(
            f":::{{solution}} {label}\n:label: {label}-solution\n"
            ":class: dropdown\n\nDone.\n:::"
        ),
    ]


def cells():
    """The cells of the chapter, each fault's place known by its text."""
    picture = {
        "figure": {"name": "fig-square", "caption": "A square."},
        "image": {"alt": ALT},
    }
    return [
        markdown(HEADER),
        code("import numpy as np\n\nfrom prml4 import book, check"),
        code("fig = book.plot()\nbook.show(fig)", "drawn: x", image=picture),
        markdown(
            "## Slopes\n\n$$ y = x^2 $$ (def-square)\n\n$$ y + y = 2 y $$\n\n"
            "$$ \\frac{dy}{dx} = 2 x $$ (logistic-square)"
        ),
        code(
            "check.gradient('logistic-square', lambda x: x**2, 1.5,\n"
            "    display=lambda x: 2 * x)",
            CHECK_LINE,
        ),
        markdown(
            ":::{admonition} A02 · The slope of a square\n:class: slip\n\n"
            "Some forget the two. (PRML prints this too)\n:::"
        ),
        code(
            "check.slip('A02', 'logistic-square', as_written=1.0,\n"
            "    corrected=2.0, truth=2.0)",
            SLIP_LINE,
        ),
        *(markdown(f"## {s}\n\nText.") for s in PLAIN_SECTIONS),
        markdown(
            "## Summary\n\n| result | equation | function | check |\n"
            "|---|---|---|---|\n"
            "| slope | {eq}`logistic-square` | none | gradient |"
        ),
        markdown("## Exercises"),
        *(cell for k in range(6) for cell in exercise(k)),
        markdown("## Further reading\n\nBishop {cite}`bishop2006`."),
    ]


PLAIN_SECTIONS = ("When it breaks", "On real data", "Second opinion")
OUTLINE = """
[[part]]
title = "One"
[[part.chapter]]
number = 7
stem = "logistic"
title = "Squares"
prml = "4.3.2"
slips = ["A02"]
"""
MODULE = '''"""Squares."""


def square(x):
    """y = x^2."""
    return x * x
'''


def back_cells():
    """The cells of a page of the back matter, without a fault."""
    return [
        markdown("# Identities\n\nSums."),
        markdown("$$ 1 + 1 = 2 $$ (identities-two)"),
        code(
            "check.identity('identities-two', display=1 + 1, other=2)",
            CHECK_LINE.replace("logistic-square", "identities-two"),
        ),
    ]


def write(root, chapter=None, module=MODULE, back=None):
    """Write the miniature repository below root, with a back page if asked."""
    for folder in ("book", "prml4", "tests"):
        (root / folder).mkdir()
    (root / "book" / "outline.toml").write_text(OUTLINE, "utf-8")
    (root / "prml4" / "logistic.py").write_text(module, "utf-8")
    (root / "tests" / "test_logistic.py").write_text("", "utf-8")
    path = root / "book" / "07_logistic.ipynb"
    path.write_text(json.dumps(notebook(chapter or cells())), "utf-8")
    if back:
        page = root / "book" / "back" / "identities.ipynb"
        page.parent.mkdir()
        page.write_text(json.dumps(notebook(back)), "utf-8")
    return root


def notebook(chapter):
    """The cells as a notebook whose code cells are numbered in order."""
    counter = 0
    for cell in chapter:
        if cell["cell_type"] == "code":
            counter += 1
            cell.setdefault("execution_count", counter)
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return {"cells": chapter, "metadata": metadata, "nbformat": 4}
