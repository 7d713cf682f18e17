"""The collector reads what stands in a notebook, and nothing else."""

import ast

import pytest
import sample

from tools import chapters as reader
from tools import rerun


def chapter(root, *cells):
    """A chapter of the given cells."""
    path = sample.write(root, list(cells)) / "book" / "07_logistic.ipynb"
    return reader.Chapter(path)


def test_the_sample_is_read(tmp_path):
    """Every part of a chapter is found once."""
    found = chapter(tmp_path, *sample.cells())
    assert found.title == "Squares"
    assert found.question == "What is the slope of a square?"
    assert [e.label for e in found.claims] == ["logistic-square"]
    assert [e.tex for e in found.definitions] == ["y = x^2"]
    assert found.steps == 1
    (check,) = found.checks
    assert (check.kind, check.residual, check.bound) == (
        "gradient",
        1.0e-16,
        2.2e-12,
    )
    assert len(found.exercises) == len(found.solutions) == 6


def test_the_ledger_is_read(tmp_path):
    """Its headings are slips, with or without a cell that refutes them."""
    root = sample.write(tmp_path)
    (page,) = reader.back_pages(root)
    first, second = page.slips
    assert (first.id, first.name) == ("A02", "The slope of a square")
    assert first.printed_in_prml and first.line == sample.SLIP_LINE
    assert first.body.startswith("Some forget the two.")
    assert (second.id, second.line) == ("A01", "")
    assert not second.printed_in_prml


def test_literal_code_holds_no_equation(tmp_path):
    """Dollars in code and in spans are not mathematics."""
    text = "```\n$$ a $$ (x-a)\n```\n\nThe text `$$ b $$ (x-b)` shows it."
    found = chapter(tmp_path, sample.markdown(text))
    assert found.equations == [] and found.steps == 0


def test_equations_inside_directives_count(tmp_path):
    """A claim in a box is a claim."""
    text = ":::{note}\n$$ a $$ (x-a)\n:::"
    found = chapter(tmp_path, sample.markdown(text))
    assert [e.label for e in found.claims] == ["x-a"]


def test_nested_directives_are_found():
    """Fences of colons and backticks, longer ones outside."""
    text = (
        "::::{exercise}\n:label: a\n\n:::{note}\nInner.\n:::\n::::\n\n"
        "```{figure} b.png\n:name: c\n```"
    )
    found = reader.directives(text, 0)
    assert [d.kind for d in found] == ["exercise", "note", "figure"]
    assert found[0].options == {"label": "a"}
    assert found[1].body == "Inner."
    assert found[2].argument == "b.png"


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("logistic.gradient(w, Phi)", ("logistic.gradient",)),
        ("lambda w: logistic.gradient(w, Phi)", ("logistic.gradient",)),
        ("softmax", ("special.softmax",)),
        ("fit.w", ("logistic.fit",)),
        ("again", ("logistic.fit",)),
        ("np.sum", ()),
    ],
)
def test_the_function_behind_a_check_is_found(tmp_path, library, expected):
    """Through lambdas, imported names and results kept in variables."""
    found = chapter(
        tmp_path,
        sample.code(
            "from prml4 import check, logistic\n"
            "from prml4.numerics.special import softmax\n"
            "fit = logistic.fit(1, 2)\nagain = fit.w\nagain = again + 0"
        ),
        sample.code(f"check.identity('x-a', display=1, library={library})"),
    )
    assert found.checks[0].library == expected


def test_the_second_check_of_a_claim_has_the_second_line(tmp_path):
    """Two checks of one claim in one cell print two lines."""
    call = "check.identity('x-a', display=1, other=1)"
    found = chapter(
        tmp_path,
        sample.code(
            f"display({call})\n{call}",
            "✓ x-ab · residual 9.0e+00 ≤ 9.0e+00\n"
            "✓ x-a · residual 1.0e+00 ≤ 2.0e+00",
            "✓ x-a · residual 3.0e+00 ≤ 4.0e+00",
        ),
    )
    assert [c.residual for c in found.checks] == [1.0, 3.0]


def test_only_what_a_check_needs_is_run(tmp_path):
    """Pictures are left out; randomness is kept in step."""
    found = chapter(
        tmp_path,
        sample.code("import numpy as np\nfrom prml4 import check"),
        sample.code("rng = np.random.default_rng(7)"),
        sample.code("unused = 1"),
        sample.code("noise = rng.normal()"),
        sample.code("a = rng.normal()"),
        sample.code("b = []"),
        sample.code("b.append(a)"),
        sample.code("check.identity('x-a', display=a, other=b[0])"),
    )
    kept = [c.index for c in rerun.needed_cells(found)]
    assert kept == [0, 1, 3, 4, 5, 6, 7]


def test_names_that_a_cell_binds():
    """Assignments, imports, definitions and changes in place."""
    text = (
        "import a.b\nfrom c import d as e\nf, g[0] = 1, 2\nh.i = 3\n"
        "def j(): pass\nk.append(l)\nfor m in n: pass"
    )
    bound = rerun.names_bound(ast.parse(text))
    assert bound == {"a", "e", "f", "g", "h", "j", "k", "m"}
