"""Who computes a check's sides: what the library does is seen, and told."""

import json

import pytest

from prml4.studies import worlds
from tools import chapters as reader
from tools import sides

START = """\
import numpy as np
from scipy import stats
from prml4 import check, logistic
from prml4.models import data
rng = np.random.default_rng(5)
Phi, t = rng.normal(size=(9, 2)), np.array([0, 1, 0, 1, 1, 0, 1, 0, 1])
w = rng.normal(size=2)
fit = logistic.fit(Phi, t)
check.given(w=w, phi=Phi, t=t, N=9, y=stats.logistic.cdf(Phi @ w))"""
GRADIENT = r"\mathbf g=\sum_{n=1}^N(y_n-t_n)\boldsymbol\phi_n"
SLOPE = "stats.logistic.cdf(Phi @ w) - t"


def examined(root, call, display=GRADIENT):
    """The report on a notebook with one claim."""
    cells = [
        {"cell_type": "code", "source": START},
        {"cell_type": "markdown", "source": f"$$ {display} $$ (logistic-a)"},
        {"cell_type": "code", "source": call},
    ]
    for cell in cells:
        cell |= {"metadata": {}, "outputs": []}
    (root / "book").mkdir()
    path = root / "book" / "07_logistic.ipynb"
    path.write_text(json.dumps({"cells": cells}), "utf-8")
    return sides.examine(reader.Chapter(path))


def gradient(other, before="", library="logistic.gradient(w, Phi, t)"):
    """A check of the gradient, after other statements."""
    return (
        f"{before}\ncheck.printed('logistic-a', g=Phi.T @ ({SLOPE}),"
        f" library={library}, other={other})"
    )


@pytest.mark.parametrize(
    ("other", "before"),
    [
        (f"Phi.T @ ({SLOPE})", ""),
        (f"lambda: Phi.T @ ({SLOPE})", ""),
        (
            "late",
            f"y, z = {SLOPE}, logistic.error(w, Phi, t)\nlate = Phi.T @ y",
        ),
        (
            f"Phi.T @ ({SLOPE})",
            "w = rng.normal(size=2)\ncheck.given(phi=Phi, t=t, N=9, "
            "y=stats.logistic.cdf(Phi @ w))",
        ),
    ],
)
def test_a_side_of_its_own_is_let_alone(tmp_path, other, before):
    """However it comes about, and whatever the library does beside it."""
    found = examined(tmp_path, gradient(other, before))
    assert (found.faults, found.points) == ([], [])
    assert (found.others, found.libraries) == (1, 1)


@pytest.mark.parametrize(
    ("other", "before"),
    [
        ("logistic.gradient(w, Phi, t)", ""),
        ("lambda: logistic.gradient(w, Phi, t)", ""),
        ("g", "g = logistic.gradient(w, Phi, t)"),
        ("Phi.T @ (y - t)", "y = logistic.predict_proba(w, Phi)[:, 1]"),
        ("np.array(g)", "g = []\nfor j in (0, 1):\n    g.append("
         "logistic.gradient(w, Phi, t)[j])"),
        ("f()", "def f():\n    return h(w, Phi, t)\n\nh = logistic.gradient"),
    ],
)  # fmt: skip
def test_a_side_that_the_library_computes_is_told(tmp_path, other, before):
    """By the function that it enters."""
    (fault,) = examined(tmp_path, gradient(other, before)).faults
    assert fault.startswith("logistic-a: its other side uses ")
    assert "logistic." in fault


def test_a_point_may_come_from_the_library(tmp_path):
    """If a symbol is bound to it; it is counted."""
    found = examined(
        tmp_path,
        "check.printed('logistic-a', w=fit.w, y=stats.logistic.cdf(Phi @ fit.w"
        "), g=np.zeros(2), given_error=1e-6, error=1e-6,"
        " other=Phi.T @ (stats.logistic.cdf(Phi @ fit.w) - t) - 2 * fit.w, "
        "library=logistic.gradient(fit.w, Phi, t) - 2 * fit.w)",
        GRADIENT.replace("=", r"-2\mathbf w=-2\mathbf w+", 1),
    )
    assert found.faults == []
    assert found.points == ["Phi, fit.w, t: logistic-a"]


def test_a_symbol_is_no_other_side(tmp_path):
    """What the library computed is not shown by itself."""
    call = gradient("g", "g = logistic.gradient(w, Phi, t)").replace(
        f"g=Phi.T @ ({SLOPE})", "g=g"
    )
    (fault,) = examined(tmp_path, call).faults
    assert "uses logistic.gradient" in fault


@pytest.mark.parametrize(
    ("library", "fault"),
    [
        ("np.sign(logistic.gradient(w, Phi, t)) * np.abs(Phi.T @ (y - t))",
         "logistic.gradient times 1.001 passes"),
        ("Phi.T @ (y - t)", "names no function"),
    ],
)  # fmt: skip
def test_a_library_side_without_the_library_is_told(tmp_path, library, fault):
    """A thousandth more in the function, and the check must break."""
    call = gradient(f"Phi.T @ ({SLOPE})", f"y = {SLOPE} + t", library)
    (said,) = examined(tmp_path, call).faults
    assert fault in said


def test_zeros_and_ratios_see_a_thousandth_as_well():
    """Zero grows by it, and the second of two numbers twice."""
    a, b = sides.times(1.001)((2.0, 3.0))
    assert b / a == pytest.approx(1.5 * 1.001)
    assert sides.times(1.001)(0.0) == pytest.approx(0.001)


def test_how_many_and_which_are_no_quantities():
    """Counts and classes of a result stay: scaled, they could index nothing."""
    scaled = sides.times(1.001)(worlds.pair(2.0))
    assert scaled.label.dtype.kind == "i"
    assert scaled.label.tolist() == [0, 1]
    assert scaled.mu[1, 0] > 1.002


def test_a_value_passed_to_a_function_stays_as_it_is(tmp_path):
    """A link is known by identity: a copy of it would be refused."""
    before = (
        "from prml4 import glm\n"
        "from prml4.models.dispersion import BERNOULLI, LOGIT"
    )
    library = "glm.gradient(w, Phi, t, BERNOULLI, LOGIT)"
    call = gradient(f"Phi.T @ ({SLOPE})", before, library)
    assert examined(tmp_path, call).faults == []


def test_a_value_that_computes_by_itself_is_spoilt():
    """Where no function is named; and what draws data is none."""
    pair = {"dispersion.LOGIT", "worlds.draw"}
    assert sides.formulas(pair) == {"dispersion.LOGIT"}
    assert sides.formulas({*pair, "glm.mean"}) == {"glm.mean"}


def test_what_is_declared_exists():
    """The list names claims of the book."""
    claims = {e.label for c in reader.notebooks() for e in c.claims}
    assert claims >= sides.declared().keys()


def test_a_declared_point_has_a_reason(tmp_path):
    """Or it is refused."""
    path = tmp_path / "points.toml"
    path.write_text('[[point]]\nlabel = "a"\nnames = ["w"]\nreason = ""\n')
    with pytest.raises(ValueError, match="no reason"):
        sides.declared(path)
