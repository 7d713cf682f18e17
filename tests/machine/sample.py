"""A miniature book without a fault, for planting one fault at a time."""

import json

from tools.chapters import PICTURE
from tools.gates import ABILITIES, KERNEL, RESULTS, SKIP

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

**The question.** What is the slope of a square?"""
OPENING = f"""*About 2 hours, exercises aside · needs [2](x) · PRML 4.3.2*

:::{{dropdown}} {ABILITIES}
Differentiate.
:::"""


QUESTION = "**{}.** True or false: it is.\n\n:::{{dropdown}} Answer\nYes.\n:::"


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
        outputs[-1]["data"]["text/html"] = f"<div {PICTURE}></div>"
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
            f"check.attempt('x', ..., **exercises.square_{k}())",
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
        markdown(OPENING),
        markdown(f"### Powers ★\n\n{SKIP}\n\nMore."),
        markdown(
            "## Slopes\n\n$$ y = x^2 $$ (def-square)\n\n$$ y + y = 2 y $$\n\n"
            "$$ \\frac{dy}{dx} = 2 x $$ (logistic-square)"
        ),
        code(
            "check.gradient('logistic-square', lambda x: x**2, 1.5,\n"
            "    display=lambda x: 2 * x)",
            CHECK_LINE,
        ),
        *(markdown(f"## {s}\n\nText.") for s in PLAIN_SECTIONS),
        markdown("## The answer\n\nTwice the place."),
        markdown(
            "## Five things to remember\n\n"
            + "\n".join(f"{k}. An idea." for k in range(1, 6))
            + f"\n\n:::{{dropdown}} {RESULTS}\n"
            "| result | equation | function |\n"
            "|---|---|---|\n| slope | {eq}`logistic-square` | none |\n:::"
        ),
        code("assert 2 * 3 == 6", tags=["numbers"]),
        markdown(
            "## Five questions\n\n"
            + "\n\n".join(QUESTION.format(k) for k in range(1, 6))
        ),
        markdown("## Exercises"),
        *(cell for k in range(6) for cell in exercise(k)),
        markdown("## Further reading\n\nBishop {cite}`bishop2006`."),
    ]


def refutation():
    """The cell that refutes the slip."""
    return code(
        "check.slip('A02', 'logistic-square', as_written=1.0,\n"
        "    corrected=2.0, truth=2.0)",
        SLIP_LINE,
    )


def ledger():
    """The cells of the ledger: a slip that is computed, one that is not."""
    return [
        markdown(
            "# Slips\n\n| | | Slips | PRML |\n|-|-|-|-|\n| A | notes | 2 | 1 |"
        ),
        code("from prml4 import check"),
        markdown("## 7 · Squares"),
        markdown(
            "### A02 · The slope of a square (PRML prints this too)\n\n"
            "Some forget the two."
        ),
        refutation(),
        markdown(
            "### A01 · A letter\n\nIt is n. *Nothing to compute: a letter.*"
        ),
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
slips = ["A02", "A01"]
"""
ANSWERS = "".join(
    f'def square_{k}():\n    """y = x^2."""\n    return {{}}\n\n\n'
    for k in range(6)
)
MAP = '''"""Squares.

     7  logistic   squares
"""
'''
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


def write(root, chapter=None, module=MODULE, back=None, ledger_cells=None):
    """Write the miniature repository below root, with a back page if asked."""
    for folder in ("book/back", "book/support", "prml4", "tests/support"):
        (root / folder).mkdir(parents=True)
    chapter = chapter or cells()
    (root / "book" / "outline.toml").write_text(OUTLINE, "utf-8")
    (root / "prml4" / "logistic.py").write_text(module, "utf-8")
    (root / "prml4" / "__init__.py").write_text(MAP, "utf-8")
    (root / "tests" / "test_logistic.py").write_text("", "utf-8")
    answers = root / "book" / "support" / "exercises.py"
    answers.write_text(ANSWERS, "utf-8")
    (root / "tests" / "support" / "test_exercises.py").write_text("", "utf-8")
    pages = {
        "07_logistic": chapter,
        "back/slips": ledger_cells or ledger(),
        **({"back/identities": back} if back else {}),
    }
    for name, page in pages.items():
        path = root / "book" / f"{name}.ipynb"
        path.write_text(json.dumps(notebook(page)), "utf-8")
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
