"""numerics.separation: does a plane separate the classes?"""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize

from prml4 import logistic
from prml4.models.likelihoods import LOGISTIC
from prml4.numerics import descent, newton
from prml4.numerics.newton import NotConverged
from prml4.numerics.separation import (
    SeparableDataWarning,
    best_ray,
    separation,
    verdict,
)


def test_the_direction_is_a_proof(rng):
    """Whoever doubts the verdict multiplies: s_n phi_n^T u > 0 for all n."""
    Phi = rng.standard_normal((300, 5)) * [1e-6, 1, 1, 1e3, 1e9]
    t = Phi @ [1e6, -1, 2, 1e-3, 1e-9] > 0
    found = separation(Phi, t)
    ahead = (2 * t - 1) * (Phi @ found.direction)
    assert found.kind == "complete"
    assert ahead.min() == pytest.approx(found.margin) and found.margin > 0
    assert np.abs(found.direction * np.abs(Phi).max(axis=0)).max() <= 1 + 1e-12


def test_the_margin_is_the_largest(rng):
    """No direction of ten thousand tried in the same box does better."""
    Phi = rng.standard_normal((12, 2))
    t = Phi @ [1, 0.5] > 0
    U = rng.uniform(-1, 1, (2, 10000)) / np.abs(Phi).max(axis=0)[:, None]
    tried = ((2 * t - 1)[:, None] * (Phi @ U)).min(axis=0).max()
    assert tried <= separation(Phi, t).margin <= 1.05 * tried


def test_rows_of_any_length_count_the_same(rng):
    """Which side of a plane a row is on does not depend on its length."""
    Phi = rng.standard_normal((60, 3))
    t = Phi @ [1, -1, 0.3] > 0
    lengths = np.logspace(-12, 12, 60)[:, None]
    assert separation(Phi * lengths, t).kind == "complete"
    t[30] = not t[30]
    kind = separation(Phi, t).kind
    assert separation(Phi * lengths, t).kind == kind == "none"


def test_dependent_columns_change_nothing(rng):
    """A copy, a zero and a near copy of a column separate no more rows."""
    Phi = rng.standard_normal((50, 3))
    more = np.c_[Phi, Phi[:, 0], 0 * Phi[:, 0]]
    near = np.c_[Phi, Phi[:, 0] + 1e-12 * Phi[:, 1]]
    for t in (Phi @ [1, 2, 3] > 0, rng.random(50) < 0.5):
        kind = separation(Phi, t).kind
        assert separation(more, t).kind == separation(near, t).kind == kind


def test_best_ray_on_some_rows_is_best_on_all(rng):
    """Rows beyond the first few join only where they are violated."""
    Z = rng.standard_normal((5000, 4))
    Z *= np.sign(Z @ [1, 1, -1, 2])[:, None]
    d, margin = best_ray(Z, strict=True)
    assert (Z @ d).min() == pytest.approx(margin, rel=1e-6) and margin > 0
    d, gain = best_ray(Z, strict=False)
    assert (Z @ d).min() > -1e-9
    assert (Z @ d).mean() == pytest.approx(gain)


def test_one_row_on_the_wrong_side_makes_all_the_difference():
    """x = 1, 2, 3, 4: separable; with x = 5 of the first class it is not."""
    Phi = np.c_[np.ones(5), [1, 2, 3, 4, 5]]
    t = np.array([0, 0, 1, 1, 0])
    assert separation(Phi[:4], t[:4]).kind == "complete"
    assert separation(Phi, t).kind == "none"
    assert logistic.fit(Phi, t).converged


@given(
    arrays(int, (7, 2), elements=st.integers(-2, 2)),
    arrays(int, 7, elements=st.integers(0, 1)),
)
def test_separation_agrees_with_trying_every_direction(X, t):
    """In the plane it is enough to try the normals of the rows and between."""
    s = 2 * t - 1
    normals = np.arctan2(X[:, 1], X[:, 0])[:, None] + np.pi / 2 * np.arange(4)
    angle = np.unique((normals % (2 * np.pi)).round(12))
    angle = np.r_[angle, angle[0] + 2 * np.pi]
    angle = np.r_[angle, (angle[1:] + angle[:-1]) / 2]
    U = np.c_[np.cos(angle), np.sin(angle)]
    ahead = (s[:, None] * X @ U.T).round(9)
    if (ahead > 0).all(axis=0).any():
        kind = "complete"
    elif ((ahead >= 0).all(axis=0) & (ahead > 0).any(axis=0)).any():
        kind = "quasi-complete"
    else:
        kind = "none"
    assert separation(X, t).kind == kind


def test_a_margin_may_exceed_one():
    """Columns scaled to one allow a margin up to their number."""
    Z = np.array([[1.0, 0.9, 0.8], [1.0, 1.0, 0.7]])
    d, margin = best_ray(Z, strict=True)
    assert np.allclose(d, 1) and margin == pytest.approx(2.7)


def test_the_box_is_as_wide_on_both_sides():
    """The best direction against one row is minus its signs."""
    d, margin = best_ray(np.array([[-1.0, -0.5]]), strict=True)
    assert np.allclose(d, -1) and margin == pytest.approx(1.5)


def test_a_short_row_among_a_thousand_sets_the_margin():
    """It is not among the first few, and on the right side all the time."""
    Z = np.ones((1000, 1))
    Z[1] = 0.1
    assert best_ray(Z, strict=True)[1] == pytest.approx(0.1)


def test_a_quasi_complete_direction_is_a_proof_in_its_box(rng):
    """Rows on the plane stay there, whatever the scale of the columns."""
    Phi = rng.standard_normal((40, 4))
    u = np.array([1.0, -2.0, 0.5, 1.0])
    Phi[:20] -= np.outer(Phi[:20] @ u, u) / (u @ u)
    t = np.where(np.arange(40) < 20, np.arange(40) % 2, Phi @ u > 0)
    scale = np.array([1e-3, 1.0, 1e3, 1.0])
    found = separation(Phi * scale, t)
    ahead = (2 * t - 1) * (Phi @ (scale * found.direction))
    assert found.kind == "quasi-complete" and found.margin == 0.0
    assert np.abs(ahead[:20]).max() < 1e-14 and ahead[20:].min() > 0
    longest = np.abs(found.direction * np.abs(Phi * scale).max(axis=0)).max()
    assert longest == pytest.approx(1)


def test_no_direction_without_separation():
    """Nothing to prove it with, and no margin."""
    found = separation([[1.0], [1.0]], [0, 1])
    assert (found.kind, found.direction, found.margin) == ("none", None, 0.0)


def test_the_direction_fills_its_box_for_rows_of_any_length(rng):
    """Also where the margin is lost in rounding."""
    Phi = rng.standard_normal((60, 3))
    t = Phi @ [1, -1, 0.3] > 0
    Phi = Phi * np.logspace(-12, 12, 60)[:, None]
    found = separation(Phi, t)
    longest = np.abs(found.direction * np.abs(Phi).max(axis=0)).max()
    assert found.kind == "complete" and longest == pytest.approx(1)


def test_nearly_equal_columns_hide_no_direction(rng):
    """A difference of 1e-7 between two columns separates as well as any."""
    x, y = rng.standard_normal((2, 40))
    Phi = np.c_[x, x + 1e-7 * y]
    assert separation(Phi, y > 0).kind == "complete"


def test_rounding_puts_no_row_beyond_the_plane(rng):
    """Rows of both classes on one line, rounded; the others on one side."""
    for _ in range(50):
        along, t = rng.standard_normal(30), rng.random(30) < 0.5
        above = np.arange(30) % 3 == 0
        Phi = np.outer(along, rng.standard_normal(2))
        Phi[above] += 5 * np.abs(rng.standard_normal((above.sum(), 1)))
        Phi[above] *= np.sign(Phi[above] @ [Phi[1, 1], -Phi[1, 0]])[:, None]
        assert separation(Phi, t | above).kind == "quasi-complete"


@pytest.mark.parametrize("depth", [1e-3, 1e-6, 1e-8])
def test_a_slight_overlap_is_an_overlap(depth):
    """Both ends of a line stick out on the wrong side by so much."""
    Phi = np.array([[1, -depth], [-1, -depth], [0, 1], [0.5, 1]])
    assert separation(Phi, np.ones(4)).kind == "none"
    Phi[:2, 1] = 0
    assert separation(Phi, np.ones(4)).kind == "quasi-complete"


def overlapping(rng, alpha=0.0):
    """A logistic objective with a minimum, and where Newton's method ends."""
    Phi, t = rng.standard_normal((40, 2)), np.arange(40) % 2
    A, zero = np.full(2, alpha), np.zeros(2)
    f = descent.Objective(Phi, LOGISTIC.loss(t), None, A, zero)
    return f, newton.newtons_method(f, zero)


def never(free):
    """A look at the data that must not happen."""
    raise AssertionError(free)


def test_verdict_leaves_what_is_settled(rng):
    """No Hessian kept, or a prior on every weight: nothing to look for."""
    f, best = overlapping(rng)
    fast = replace(best, H=None)
    for found in (best, fast):
        assert verdict(found, f, f.m0, never) == (found, None)
    f, best = overlapping(rng, alpha=1.0)
    stopped = replace(best, converged=False)
    found, kind = verdict(stopped, f, f.m0, never)
    assert found.w is best.w and not found.converged and kind is None


def test_verdict_looks_where_doubt_remains(rng):
    """A minimum stays one if the doubt was unfounded, else it is none."""
    f, best = overlapping(rng)
    found, kind = verdict(best, f, f.m0, lambda free: "none", doubt=True)
    assert found.converged and kind is None and found.w is best.w
    found, kind = verdict(best, f, f.m0, lambda free: "complete", doubt=True)
    assert not found.converged and kind == "complete"


def test_verdict_takes_other_columns_where_these_are_nearly_dependent(rng):
    """Predictions are those of the better basis; the gradient is Phi's."""
    f, best = overlapping(rng)
    Phi = f.Phi @ [[1, 1], [0, 1e-7]]
    poor = replace(f, Phi=Phi)
    stuck = newton.newtons_method(poor, f.m0, max_iter=1)
    found, kind = verdict(stuck, poor, f.m0, lambda free: "none")
    assert found.converged and kind is None
    np.testing.assert_allclose(Phi @ found.w, f.Phi @ best.w, atol=1e-7)
    np.testing.assert_array_equal(found.gradient, poor(found.w, order=1)[1])


@pytest.mark.parametrize("gap", [1e-8, 1e-9, 1e-10, 1e-11])
def test_fit_and_verdict_agree_on_the_slightest_gap(gap):
    """Two rows near the plane of the others, on the right or wrong side."""
    t = np.array([0, 0, 0, 1, 1, 1])
    for side, kind in ((gap, "complete"), (-gap, "none")):
        x = np.array([-2, -1, -side, side, 1, 2]) - 0.3
        Phi = np.c_[np.ones(6), x]
        assert separation(Phi, t).kind == kind
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparableDataWarning)
            fit = logistic.fit(Phi, t)
        assert (fit.separated or "none") == kind
        assert fit.converged == (kind == "none")


def test_a_programme_that_fails_is_no_verdict(monkeypatch):
    """As SciPy 1.15 does where 1e-10 is asked of it: less is asked again."""

    def fussy(*given, options, **more):
        tight = options["primal_feasibility_tolerance"] < 1e-9
        nothing = optimize.OptimizeResult(x=None, status=4)
        return nothing if tight else whole(*given, options=options, **more)

    whole = optimize.linprog
    monkeypatch.setattr(optimize, "linprog", fussy)
    assert separation(np.eye(2), [1, 1]).kind == "complete"


def test_a_slight_overlap_does_not_hide_a_ray():
    """Columns 0 and 1 overlap by 1e-10, column 2 separates its own rows."""
    Phi = np.zeros((6, 3))
    Phi[:4, :2] = [[1, -1e-10], [-1, -1e-10], [0, 1], [0.5, 1]]
    Phi[4:, 2] = 1
    assert separation(Phi[:4, :2], np.ones(4)).kind == "none"
    assert separation(Phi, np.ones(6)).kind == "quasi-complete"


def test_a_minimum_that_no_double_can_hold_is_not_called_found(rng):
    """Columns alike to 1e-11: weights of 1e11 lose what they stand for."""
    x, y = rng.standard_normal((2, 37))
    t = rng.random(37) < 1 / (1 + np.exp(-y))
    Phi = np.c_[x, x + 1e-13 * y]
    with pytest.warns(NotConverged):
        fit = logistic.fit(Phi, t)
    assert not fit.converged and fit.separated is None
    assert fit.error == pytest.approx(logistic.error(fit.w, Phi, t))
