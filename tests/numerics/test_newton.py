"""numerics.newton: damped Newton steps and their stopping rule."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from prml4.models.likelihoods import LOGISTIC
from prml4.numerics import descent, newton


def problem(rng, N, M, weights=None, alpha=0.0, scale=1.0):
    """A logistic objective whose classes overlap."""
    Phi = rng.standard_normal((N, M)) * scale
    Phi[:, 0] = 1
    w = rng.standard_normal(M) / np.sqrt(M) / scale
    t = (rng.random(N) < expit(Phi @ w)).astype(float)
    alpha = np.broadcast_to(float(alpha), (M,))
    return descent.Objective(Phi, LOGISTIC.loss(t), weights, alpha, np.zeros(M))


def parabola(a, rows, _order=2):
    """E_n = 1/2 (a_n - n)^2 for the n-th row: least squares."""
    n = np.arange(10**6)[rows]
    return 0.5 * (a - n) ** 2, a - n, np.ones_like(a)


def test_newtons_method_finds_what_a_simplex_search_finds(rng):
    """Nelder and Mead know no derivatives."""
    f = problem(rng, 60, 2, alpha=0.1)
    found = minimize(
        lambda w: f(w, order=1)[0], np.zeros(2), method="Nelder-Mead", tol=1e-10
    )
    best = newton.newtons_method(f, np.zeros(2))
    np.testing.assert_allclose(best.w, found.x, atol=1e-5)
    assert best.converged and best.error <= found.fun + 1e-12


def test_one_step_minimises_a_parabola(rng):
    """Newton's model of a quadratic error is the error itself."""
    Phi = rng.standard_normal((30, 4))
    f = descent.Objective(Phi, parabola, None, np.zeros(4), np.zeros(4))
    best = newton.newtons_method(f, np.ones(4))
    oracle = np.linalg.lstsq(Phi, np.arange(30.0))[0]
    np.testing.assert_allclose(best.w, oracle, rtol=1e-9)
    assert best.trace[1] == pytest.approx(best.trace[-1], rel=1e-12)


def test_a_step_does_not_depend_on_units(rng):
    """Each unknown in its own unit: as exact as all in one."""
    H = np.eye(12) + 1e-17 * rng.standard_normal((12, 12))
    H, g = H + H.T, rng.standard_normal(12)
    size = 10.0 ** np.tile([-38, -16, 16], 4)
    step, decrement = newton.newton_step(g * size, H * np.outer(size, size))
    np.testing.assert_allclose(step * size, g / 2)
    assert decrement == pytest.approx(np.sqrt(g @ g / 2))
    L = np.diag(size) @ np.tril(H)
    inverse = newton.forward(L) * size
    np.testing.assert_allclose(inverse, np.eye(12) / 2, atol=1e-16)


def cosh(w):
    """E = 2 ln(1 + e^w) - w on the rows 1, 1 with targets 1, 0."""
    y = expit(w[0])
    E = 2 * np.logaddexp(0, w[0]) - w[0]
    return E, np.array([2 * y - 1]), np.array([[2 * y * (1 - y)]])


def test_full_steps_follow_w_minus_sinh_w_and_may_diverge():
    """The fixed points of order two of w - sinh w are at |w| = 2.17732."""
    near = newton.newtons_method(cosh, [2.1773], damped=False)
    assert near.converged and abs(near.w[0]) < 1e-12
    far = newton.newtons_method(cosh, [2.1774], damped=False)
    assert not far.converged and far.error > cosh([2.1774])[0]


def test_damping_makes_every_start_converge_and_never_climbs():
    """Beyond 2.17732 the full step overshoots; half of it may not."""
    for start in (2.1774, 5.0, -30.0):
        best = newton.newtons_method(cosh, [start])
        assert best.converged and abs(best.w[0]) < 1e-12
        assert np.all(np.diff(best.trace) <= 1e-12)


def test_an_error_without_a_minimum_is_reported():
    """E = e^{-w} falls for ever; a concave E has no Newton step at all."""
    slow = newton.newtons_method(
        lambda w: (
            np.exp(-w[0]) * 1e9,
            -np.exp(-w) * 1e9,
            np.exp(-w)[None] * 1e9,
        ),
        [0.0],
        max_iter=5,
    )
    assert len(slow.trace) == 6 and not slow.converged
    concave = newton.newtons_method(
        lambda w: (-(w[0] ** 2), -2 * w, np.array([[-2.0]])), [1.0]
    )
    assert not concave.converged


def test_newton_step_solves_and_measures(rng):
    """Against the explicit inverse."""
    A = rng.standard_normal((4, 4))
    H, g = A @ A.T + np.eye(4), rng.standard_normal(4)
    step, decrement = newton.newton_step(g, H)
    np.testing.assert_allclose(step, np.linalg.inv(H) @ g)
    assert decrement**2 == pytest.approx(g @ np.linalg.inv(H) @ g)


def test_smallest_share_is_one_minus_the_largest_multiple_r_squared(rng):
    """Column 2 = column 0 + column 1 + a thousandth of itself."""
    A = rng.standard_normal((500, 3))
    A[:, 2] = A[:, 0] + A[:, 1] + 1e-3 * A[:, 2]
    rest = A[:, 2] - A[:, :2] @ np.linalg.lstsq(A[:, :2], A[:, 2])[0]
    share = newton.smallest_share(A.T @ A)
    assert share == pytest.approx(rest @ rest / (A[:, 2] @ A[:, 2]), rel=1e-6)
    assert newton.smallest_share(np.ones((2, 2))) < 1e-15
    assert newton.smallest_share(-np.eye(2)) == 0


def test_an_endless_ray_is_not_taken_for_a_minimum(rng):
    """Separable classes: E and the decrement vanish, the steps do not."""
    f = problem(rng, 50, 2)
    for t in (f.Phi[:, 1] > 0, np.ones(50)):
        ray = replace(f, pointwise=LOGISTIC.loss(1.0 * t))
        best = newton.newtons_method(ray, np.zeros(2))
        assert np.abs(best.gradient).max() < 1e-6 and not best.converged
    assert newton.newtons_method(f, np.zeros(2)).converged


def test_arrival_is_judged_by_the_size_of_activations():
    """At a_n = 1e12 a step of 1e4 is rounding; at a_n = 1 it is a step."""
    Phi = np.full((3, 1), 1.0)
    f = descent.Objective(Phi, parabola, None, np.zeros(1), np.zeros(1))
    for w, far in ((1e12, True), (1.0, False)):
        step = f(np.ones(1) + 1e4)  # g and H of a step of 1e4
        assert newton.arrived(f, np.array([w]), *step[1:]) == far
    assert not newton.arrived(f, np.ones(1), np.ones(1), np.zeros((1, 1)))


def test_a_step_is_small_if_it_moves_no_activation_by_more_than_moves():
    """Near zero in units of one: a hair less is, a hair more is not."""
    Phi = np.full((3, 1), 1.0)
    f = descent.Objective(Phi, parabola, None, np.zeros(1), np.zeros(1))
    for share, small in ((0.99, True), (1.01, False)):
        g = np.array([share * newton.MOVES])
        assert newton.arrived(f, np.zeros(1), g, np.eye(1)) == small


def test_the_search_forgives_rounding_alone():
    """At 1 the error cannot fall by 1e-20, and may seem to have risen."""
    w, step = np.zeros(1), np.ones(1)
    for rise, found in ((1e-14, True), (1e-10, False)):
        end = newton.search(lambda w, rise=rise: (1 + rise,), w, 1, step, 1e-8)
        assert (end is not None) == found


def test_an_undamped_step_is_whole_or_none():
    """Half of it is not tried where the whole one leaves the domain."""

    def error(w):
        return np.inf if abs(w[0]) > 0.7 else 5.0, np.ones(1), np.eye(1)

    w, step = np.zeros(1), np.ones(1)
    assert newton.search(error, w, 1.0, step, 1.0, damped=False) is None
    end, *_ = newton.search(error, w, 1.0, step / 2, 1.0, damped=False)
    assert end[0] == -0.5
