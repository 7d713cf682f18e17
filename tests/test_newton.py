"""prml4.newton: one pass over the rows, damped Newton, coarse to fine."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from prml4 import newton
from prml4.logistic import cross_entropy


def problem(rng, N, M, weights=None, alpha=0.0, scale=1.0):
    """A logistic objective whose classes overlap."""
    Phi = rng.standard_normal((N, M)) * scale
    Phi[:, 0] = 1
    w = rng.standard_normal(M) / np.sqrt(M) / scale
    t = (rng.random(N) < expit(Phi @ w)).astype(float)
    alpha = np.broadcast_to(float(alpha), (M,))
    return newton.Objective(Phi, cross_entropy(t), weights, alpha, np.zeros(M))


def parabola(a, rows):
    """E_n = 1/2 (a_n - n)^2 for the n-th row: least squares."""
    n = np.arange(10**6)[rows]
    return 0.5 * (a - n) ** 2, a - n, np.ones_like(a)


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (40000, 2), (3000, 60)])
def test_row_pass_equals_the_dense_formulas(rng, shape):
    """Sizes below, at and above a block; the sums written without blocks."""
    Phi, w = rng.standard_normal(shape), rng.standard_normal(shape[1])
    c = rng.random(shape[0])
    E, g, H = newton.row_pass(Phi, w, parabola, weights=c)
    r = Phi @ w - np.arange(shape[0])
    np.testing.assert_allclose(E, 0.5 * np.sum(c * r**2))
    np.testing.assert_allclose(g, Phi.T @ (c * r), rtol=1e-10)
    np.testing.assert_allclose(
        H,
        Phi.T @ np.diag(c) @ Phi
        if len(c) < 9
        else np.einsum("n,ni,nj->ij", c, Phi, Phi),
    )
    assert newton.row_pass(Phi, w, parabola, order=1)[2] is None


def test_row_pass_does_not_mind_the_memory_layout(rng):
    """Columns first, reversed and strided views, single precision."""
    Phi, w = rng.standard_normal((700, 6)), rng.standard_normal(3)
    view = Phi[::-2, 1::2]
    want = newton.row_pass(view.copy(), w, parabola)
    for same in (view, np.asfortranarray(view)):
        got = newton.row_pass(same, w, parabola)
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
    single = newton.row_pass(view.astype(np.float32), w, parabola)
    np.testing.assert_allclose(single[1], want[1], rtol=1e-5)


def test_objective_adds_the_prior_and_its_derivatives(rng):
    """Central differences, h = 1e-5, of E and of its gradient."""
    f = problem(rng, 50, 3, weights=rng.random(50), alpha=0.7)
    w = rng.standard_normal(3)
    _, g, H = f(w)
    for j, e in enumerate(1e-5 * np.eye(3)):
        up, down = f(w + e), f(w - e)
        assert g[j] == pytest.approx((up[0] - down[0]) / 2e-5, rel=1e-6)
        np.testing.assert_allclose(H[j], (up[1] - down[1]) / 2e-5, rtol=1e-6)


def test_a_full_prior_precision_is_a_change_of_coordinates(rng):
    """With w = m0 + R v a prior I on v is R^-T R^-1 on w, whatever R."""
    f = problem(rng, 50, 3, weights=rng.random(50), alpha=1.0)
    R, m0 = rng.standard_normal((3, 3)), rng.standard_normal(3)
    shift = f.Phi @ m0
    inner = replace(
        f,
        Phi=f.Phi @ R,
        pointwise=lambda a, rows: f.pointwise(a + shift[rows], rows),
    )
    full = replace(f, alpha=np.linalg.inv(R @ R.T), m0=m0)
    v = rng.standard_normal(3)
    E, g, H = full(m0 + R @ v)
    for got, want in zip((E, R.T @ g, R.T @ H @ R), inner(v), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)
    E1, g1, H1 = full(m0 + R @ v, order=1)
    assert (E1, H1) == (E, None)
    np.testing.assert_array_equal(g1, g)


def test_minimise_finds_what_a_simplex_search_finds(rng):
    """Nelder and Mead know no derivatives."""
    f = problem(rng, 60, 2, alpha=0.1)
    found = minimize(
        lambda w: f(w, order=1)[0], np.zeros(2), method="Nelder-Mead", tol=1e-10
    )
    best = newton.minimise(f, np.zeros(2))
    np.testing.assert_allclose(best.w, found.x, atol=1e-5)
    assert best.converged and best.error <= found.fun + 1e-12


def test_one_step_minimises_a_parabola(rng):
    """Newton's model of a quadratic error is the error itself."""
    Phi = rng.standard_normal((30, 4))
    f = newton.Objective(Phi, parabola, None, np.zeros(4), np.zeros(4))
    best = newton.minimise(f, np.ones(4))
    oracle = np.linalg.lstsq(Phi, np.arange(30.0))[0]
    np.testing.assert_allclose(best.w, oracle, rtol=1e-9)
    assert best.trace[1] == pytest.approx(best.trace[-1], rel=1e-12)


def cosh(w):
    """E = 2 ln(1 + e^w) - w on the rows 1, 1 with targets 1, 0."""
    y = expit(w[0])
    E = 2 * np.logaddexp(0, w[0]) - w[0]
    return E, np.array([2 * y - 1]), np.array([[2 * y * (1 - y)]])


def test_full_steps_follow_w_minus_sinh_w_and_may_diverge():
    """The fixed points of order two of w - sinh w are at |w| = 2.17732."""
    near = newton.minimise(cosh, [2.1773], damped=False)
    assert near.converged and abs(near.w[0]) < 1e-12
    with pytest.warns(newton.NotConverged, match="stopped after"):
        far = newton.minimise(cosh, [2.1774], damped=False)
    assert not far.converged and far.error > cosh([2.1774])[0]


def test_damping_makes_every_start_converge_and_never_climbs():
    """Beyond 2.17732 the full step overshoots; half of it may not."""
    for start in (2.1774, 5.0, -30.0):
        best = newton.minimise(cosh, [start])
        assert best.converged and abs(best.w[0]) < 1e-12
        assert np.all(np.diff(best.trace) <= 1e-12)


def test_an_error_without_a_minimum_is_reported():
    """E = e^{-w} falls for ever; a concave E has no Newton step at all."""
    with pytest.warns(newton.NotConverged):
        slow = newton.minimise(
            lambda w: (
                np.exp(-w[0]) * 1e9,
                -np.exp(-w) * 1e9,
                np.exp(-w)[None] * 1e9,
            ),
            [0.0],
            max_iter=5,
        )
    assert len(slow.trace) == 6 and not slow.converged
    with pytest.warns(newton.NotConverged):
        concave = newton.minimise(
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


def test_bfgs_meets_the_secant_equation_and_stays_symmetric(rng):
    """B y = s, and the formula of the docstring multiplied out."""
    s, y = rng.standard_normal((2, 5))
    y *= np.sign(s @ y)
    V = np.eye(5) - np.outer(s, y) / (s @ y)
    B0 = np.diag(rng.random(5) + 1)
    B = newton.bfgs(B0, s, y)
    np.testing.assert_allclose(B @ y, s, atol=1e-12)
    want = V @ B0 @ V.T + np.outer(s, s) / (s @ y)
    np.testing.assert_allclose(B, want, atol=1e-12)


def correlated(f):
    """The same rows with columns that share a common part."""
    Phi = f.Phi.copy()
    Phi[:, 1:] += 2 * Phi[:, 1:2]
    return replace(f, Phi=Phi)


def in_order(f):
    """The same rows, all of one class before all of the other."""
    order = np.argsort(f(np.zeros(f.Phi.shape[1]))[1] @ f.Phi.T)
    return replace(
        f, Phi=f.Phi[order], pointwise=lambda a, at: f.pointwise(a, order[at])
    )


@pytest.mark.parametrize("N, M", [(30000, 12), (6000, 60), (20000, 20)])
@pytest.mark.parametrize("change", [replace, correlated, in_order])
def test_coarse_to_fine_equals_newton_from_zero(rng, N, M, change):
    """Two ways to one minimum, for each way a head start is made."""
    f = change(problem(rng, N, M, weights=rng.random(N), alpha=0.5))
    fast = newton.descend(f)
    slow = newton.iterate(f, np.zeros(M))
    assert fast.converged and fast.H is None and slow.converged
    np.testing.assert_allclose(fast.w, slow.w, atol=1e-6)
    assert np.abs(fast.gradient).max() <= 1e-8 * N


def test_head_start_is_near_the_minimum_and_its_curvature(rng):
    """Error of order sqrt(M / n) in w and in B, n = N / 20."""
    f = correlated(problem(rng, 30000, 12))
    w, B = newton.head_start(f)
    best = newton.iterate(f, np.zeros(12))
    assert np.sqrt((w - best.w) @ best.H @ (w - best.w) / 12) < 2 * np.sqrt(20)
    np.testing.assert_allclose(B @ best.H, np.eye(12), atol=0.5)


def test_refine_does_not_take_an_endless_ray_for_a_minimum(rng):
    """Column 2 is there in class 1 only: gradients vanish, steps do not."""
    f = problem(rng, 200, 2)
    t = (-f(np.zeros(2))[1] @ f.Phi.T > 0).astype(float)
    t[:60] = rng.random(60) < 0.5
    dummy = (t == 1) & (np.arange(200) > 150)
    f = newton.Objective(
        np.c_[f.Phi, dummy], cross_entropy(t), None, np.zeros(3), np.zeros(3)
    )
    B = np.linalg.inv(f(np.zeros(3))[2])
    ray = newton.refine(f, np.zeros(3), B, tol=1e-3)
    assert not ray.converged and np.abs(ray.gradient).max() < 1e-3
    assert newton.refine(replace(f, alpha=np.ones(3)), np.zeros(3), B).converged


def test_a_sample_that_misleads_is_not_used(rng):
    """Three observations of class 1 in 3e4: hardly any sample has one."""
    N, M = 30000, 12
    f = problem(rng, N, M)
    t = np.zeros(N)
    t[[5, 17000, 29000]] = 1
    f = replace(f, pointwise=cross_entropy(t), alpha=np.full(M, 1e-3))
    best = newton.descend(f)
    assert best.converged and np.abs(best.gradient).max() <= 1e-8 * N


@pytest.mark.parametrize("N, M", [(30, 200), (1500, 80)])
def test_few_rows_for_many_columns_need_no_sample(rng, N, M):
    """Fewer rows than columns, or not many more: Newton on all of them."""
    f = problem(rng, N, M, alpha=1.0)
    best = newton.descend(f)
    assert best.converged and best.H is not None
    assert np.abs(f(best.w)[1]).max() < 1e-6


def test_sample_is_spread_over_the_rows_without_repeats():
    """Runs of 64, and as many rows in each quarter as in the others."""
    N = 10**5
    f = newton.Objective(
        np.arange(N)[:, None], None, np.arange(N), np.ones(1), np.zeros(1)
    ).sample(5000)
    rows = f.Phi[:, 0]
    assert len(np.unique(rows)) == len(rows) == 4992
    assert np.ptp(np.histogram(rows, 4, (0, N))[0]) <= 2 * 64
    np.testing.assert_array_equal(f.weights, rows)
    np.testing.assert_array_equal(rows, newton.spread_rows(N, 5000))
    assert f.alpha[0] == pytest.approx(4992 / N)


def test_smallest_share_is_one_minus_the_largest_multiple_r_squared(rng):
    """Column 2 = column 0 + column 1 + a thousandth of itself."""
    A = rng.standard_normal((500, 3))
    A[:, 2] = A[:, 0] + A[:, 1] + 1e-3 * A[:, 2]
    rest = A[:, 2] - A[:, :2] @ np.linalg.lstsq(A[:, :2], A[:, 2])[0]
    share = newton.smallest_share(A.T @ A)
    assert share == pytest.approx(rest @ rest / (A[:, 2] @ A[:, 2]), rel=1e-6)
    assert newton.smallest_share(np.ones((2, 2))) < 1e-15
    assert newton.smallest_share(-np.eye(2)) == 0


def test_gradient_descent_keeps_every_iterate():
    """On w^2 / 2 each step multiplies w by 1 - rate."""
    path = newton.gradient_descent(lambda w: w, [1.0, 2.0], rate=0.5, steps=3)
    np.testing.assert_array_equal(
        path, [[1, 2], [0.5, 1], [0.25, 0.5], [0.125, 0.25]]
    )
