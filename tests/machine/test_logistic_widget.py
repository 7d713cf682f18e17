"""The points that a reader moves in chapter 7: certificate, fit, intervals."""

from pathlib import Path

import numpy as np
import pytest

from prml4 import irls, logistic
from prml4.models.data import with_bias
from prml4.numerics.separation import separation
from tools.browser import launch

ASSETS = Path(__file__).resolve().parents[2] / "theme/assets"
PRECISIONS = [0, 0, 0.001, 0.1, 1, 20]


@pytest.fixture(scope="module")
def compute():
    """The function behind the picture, in an empty page."""
    from playwright.sync_api import sync_playwright

    def asked(X, t, alpha=0):
        rows = zip(X.tolist(), t.tolist(), strict=True)
        points = [{"x": x, "y": y, "t": c} for (x, y), c in rows]
        state = {"points": points, "alpha": alpha}
        return page.evaluate("s => bookLogistic.compute(s)", state)

    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page()
        for name in ["linear.js", "logistic.js"]:
            page.add_script_tag(path=ASSETS / name)
        yield asked
        browser.close()


def clouds(rng):
    """Two clouds, nearer or further, in steps of 1/8 or anywhere."""
    N, apart = rng.integers(6, 31), rng.uniform(0, 4)
    t = rng.integers(0, 2, size=N)
    X = rng.normal(size=(N, 2)) + apart * (t - 0.5)[:, None]
    return (X if rng.random() < 0.3 else np.round(8 * X) / 8), t


def ties(rng):
    """A few points on a coarse grid: on lines, in one place, of one class."""
    N = rng.integers(1, 8)
    X = rng.integers(-2, 3, size=(N, 2)) * rng.choice([0.125, 0.5, 1])
    if rng.random() < 0.3:  # on one line
        X = X[:, :1] * rng.integers(-2, 3, size=2) + rng.integers(-1, 2, size=2)
    return X.astype(float), rng.integers(0, 2, size=N)


def agrees(found, X, t, alpha):
    """Every number of a state against the library; whether there is a fit."""
    Phi = with_bias(X)
    Z = (2 * t - 1)[:, None] * Phi
    assert found["kind"] == separation(Phi, t).kind
    assert found["rank"] == np.linalg.matrix_rank(Phi)
    tied = np.isin(np.arange(len(t)), found["tied"])
    if found["kind"] != "none":
        margins = Z @ found["u"]
        assert margins[tied] == pytest.approx(0, abs=1e-12)
        assert (margins[~tied] > 1e-12).all()
    assert tied.any() == (found["kind"] != "complete")
    if alpha or (found["kind"] == "none" and found["rank"] == 3):
        fit = logistic.fit(Phi, t, alpha=alpha)
        assert found["w"] == pytest.approx(fit.w, rel=1e-8, abs=1e-9)
        se = logistic.standard_errors(fit, Phi)
        assert found["se"] == pytest.approx(se, rel=1e-8)
        assert found["error"] == pytest.approx(fit.error, rel=1e-8)
        other = irls.fit_irls(Phi, t, alpha=alpha).w
        assert found["w"] == pytest.approx(other, rel=1e-8, abs=1e-8)
        return True
    assert found["w"] is None and found["se"] is None
    assert found["error"] == pytest.approx(least(Phi[tied], t[tied]), rel=1e-8)
    return False


def least(Phi, t):
    """The infimum of E: what the rows cost that no direction improves."""
    if not len(t):
        return 0
    _, size, V = np.linalg.svd(Phi, full_matrices=False)
    return logistic.fit(Phi @ V[size > 1e-9].T, t).error


@pytest.mark.browser
@pytest.mark.parametrize("draw", [clouds, ties])
def test_every_number_is_the_library_s(compute, rng, draw):
    """A hundred states of each sort, with a prior and without."""
    kinds, fits = set(), 0
    for _ in range(100):
        X, t = draw(rng)
        alpha = rng.choice(PRECISIONS)
        found = compute(X, t, alpha)
        fits += agrees(found, X, t, alpha)
        kinds.add(found["kind"])
    assert kinds >= {"none", "complete"} and 20 < fits < 100
    assert draw is clouds or "quasi-complete" in kinds


SPECIAL = {  # points, classes; kind, rank, how many are tied
    "one point": ([[1, 2]], [1], "complete", 1, 0),
    "one class": ([[1, 2], [0, 1], [3, 3]], [0, 0, 0], "complete", 3, 0),
    "both classes in one place": ([[1, 2], [1, 2]], [0, 1], "none", 1, 2),
    "a third beside them": (
        [[1, 2], [1, 2], [2, 2]], [0, 1, 1], "quasi-complete", 2, 2,
    ),
    "points of both classes on the line": (
        [[0, 0], [1, 0], [2, 0], [0, 1], [0, -1]], [0, 1, 0, 1, 0],
        "quasi-complete", 3, 3,
    ),
    "touching in a corner": (
        [[0, 0], [0, 0], [1, 1], [-1, -2]], [0, 1, 1, 0],
        "quasi-complete", 3, 2,
    ),
    "mixed on a line": ([[0, 0], [1, 1], [2, 2]], [0, 1, 0], "none", 2, 3),
    "exclusive or": (
        [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], "none", 3, 4,
    ),
}  # fmt: skip


@pytest.mark.browser
@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("alpha", [0, 0.5])
def test_certificates_of_special_states(compute, name, alpha):
    X, t, *wanted = SPECIAL[name]
    X, t = np.array(X, float), np.array(t)
    found = compute(X, t, alpha)
    got = [found["kind"], found["rank"], len(found["tied"])]
    assert got == wanted
    agrees(found, X, t, alpha)


@pytest.mark.browser
def test_no_points_leave_the_prior(compute):
    X, t = np.empty((0, 2)), np.empty(0)
    assert compute(X, t)["w"] is None
    found = compute(X, t, 4)
    assert (found["w"], found["se"]) == ([0, 0, 0], [0.5, 0.5, 0.5])
