"""numerics.descent: passes over rows, head starts, conjugate gradients."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from scipy.special import expit

from prml4 import softmax
from prml4.models.likelihoods import LOGISTIC
from prml4.numerics import descent, newton


def logistic_problem(rng, N, M, weights=None, alpha=0.0, scale=1.0):
    """A logistic objective whose classes overlap."""
    Phi = rng.standard_normal((N, M)) * scale
    Phi[:, 0] = 1
    w = rng.standard_normal(M) / np.sqrt(M) / scale
    t = (rng.random(N) < expit(Phi @ w)).astype(float)
    alpha = np.broadcast_to(float(alpha), (M,))
    return descent.Objective(Phi, LOGISTIC.loss(t), weights, alpha, np.zeros(M))


def parabola(a, rows, order=2):
    """E_n = 1/2 (a_n - n)^2 for the n-th row: least squares."""
    n = np.arange(10**6)[rows]
    return (0.5 * (a - n) ** 2, a - n, np.ones_like(a))[: order + 1]


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (40000, 2), (3000, 60)])
def test_row_pass_equals_the_dense_formulas(rng, shape):
    """Sizes below, at and above a block; the sums written without blocks."""
    Phi, w = rng.standard_normal(shape), rng.standard_normal(shape[1])
    c = rng.random(shape[0])
    E, g, H = descent.row_pass(Phi, w, parabola, weights=c)
    r = Phi @ w - np.arange(shape[0])
    np.testing.assert_allclose(E, 0.5 * np.sum(c * r**2))
    np.testing.assert_allclose(g, Phi.T @ (c * r), rtol=1e-10)
    np.testing.assert_allclose(
        H,
        Phi.T @ np.diag(c) @ Phi
        if len(c) < 9
        else np.einsum("n,ni,nj->ij", c, Phi, Phi),
    )
    assert descent.row_pass(Phi, w, parabola, order=1)[2] is None


def test_row_pass_does_not_mind_the_memory_layout(rng):
    """Columns first, reversed and strided views, single precision."""
    Phi, w = rng.standard_normal((700, 6)), rng.standard_normal(3)
    view = Phi[::-2, 1::2]
    want = descent.row_pass(view.copy(), w, parabola)
    for same in (view, np.asfortranarray(view)):
        got = descent.row_pass(same, w, parabola)
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
    single = descent.row_pass(view.astype(np.float32), w, parabola)
    np.testing.assert_allclose(single[1], want[1], rtol=1e-5)


def test_objective_adds_the_prior_and_its_derivatives(rng):
    """Central differences, h = 1e-5, of E and of its gradient."""
    f = logistic_problem(rng, 50, 3, weights=rng.random(50), alpha=0.7)
    w = rng.standard_normal(3)
    _, g, H = f(w)
    for j, e in enumerate(1e-5 * np.eye(3)):
        up, down = f(w + e), f(w - e)
        assert g[j] == pytest.approx((up[0] - down[0]) / 2e-5, rel=1e-6)
        np.testing.assert_allclose(H[j], (up[1] - down[1]) / 2e-5, rtol=1e-6)


def test_a_full_prior_precision_is_a_change_of_coordinates(rng):
    """With w = m0 + R v a prior I on v is R^-T R^-1 on w, whatever R."""
    f = logistic_problem(rng, 50, 3, weights=rng.random(50), alpha=1.0)
    R, m0 = rng.standard_normal((3, 3)), rng.standard_normal(3)
    shift = f.Phi @ m0
    inner = replace(
        f,
        Phi=f.Phi @ R,
        pointwise=lambda a, rows, k: f.pointwise(a + shift[rows], rows, k),
    )
    full = replace(f, alpha=np.linalg.inv(R @ R.T), m0=m0)
    v = rng.standard_normal(3)
    E, g, H = full(m0 + R @ v)
    for got, want in zip((E, R.T @ g, R.T @ H @ R), inner(v), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)
    E1, g1, H1 = full(m0 + R @ v, order=1)
    assert (E1, H1) == (E, None)
    np.testing.assert_array_equal(g1, g)


def test_bfgs_meets_the_secant_equation_and_stays_symmetric(rng):
    """B y = s, and the formula of the docstring multiplied out."""
    s, y = rng.standard_normal((2, 5))
    y *= np.sign(s @ y)
    V = np.eye(5) - np.outer(s, y) / (s @ y)
    B0 = np.diag(rng.random(5) + 1)
    B = descent.bfgs(B0, s, y)
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
        f,
        Phi=f.Phi[order],
        pointwise=lambda a, at, k: f.pointwise(a, order[at], k),
    )


@pytest.mark.parametrize("N, M", [(30000, 12), (6000, 60), (20000, 20)])
@pytest.mark.parametrize("change", [replace, correlated, in_order])
def test_coarse_to_fine_equals_newton_from_zero(rng, N, M, change):
    """Two ways to one minimum, for each way a head start is made."""
    f = change(logistic_problem(rng, N, M, weights=rng.random(N), alpha=0.5))
    fast = descent.descend(f, f.m0)
    slow = newton.newtons_method(f, np.zeros(M))
    assert fast.converged and fast.H is None and slow.converged
    np.testing.assert_allclose(fast.w, slow.w, atol=1e-6)
    assert np.abs(fast.gradient).max() <= 1e-8 * N


def test_head_start_is_near_the_minimum_and_its_curvature(rng):
    """Error of order sqrt(M / n) in w and in B, n = N / 20."""
    f = correlated(logistic_problem(rng, 30000, 12))
    w, B = descent.head_start(f, f.m0)
    best = newton.newtons_method(f, np.zeros(12))
    assert np.sqrt((w - best.w) @ best.H @ (w - best.w) / 12) < 2 * np.sqrt(20)
    np.testing.assert_allclose(B @ best.H, np.eye(12), atol=0.5)


def test_quasi_newton_does_not_take_an_endless_ray_for_a_minimum(rng):
    """Column 2 is there in class 1 only: gradients vanish, steps do not."""
    f = logistic_problem(rng, 200, 2)
    t = (-f(np.zeros(2))[1] @ f.Phi.T > 0).astype(float)
    t[:60] = rng.random(60) < 0.5
    dummy = (t == 1) & (np.arange(200) > 150)
    f = descent.Objective(
        np.c_[f.Phi, dummy], LOGISTIC.loss(t), None, np.zeros(3), np.zeros(3)
    )
    B = np.linalg.inv(f(np.zeros(3))[2])
    ray = descent.quasi_newton(f, np.zeros(3), B, tol=1e-3)
    assert not ray.converged and np.abs(ray.gradient).max() < 1e-3
    assert descent.quasi_newton(
        replace(f, alpha=np.ones(3)), np.zeros(3), B
    ).converged


def test_a_sample_that_misleads_is_not_used(rng):
    """Three observations of class 1 in 3e4: hardly any sample has one."""
    N, M = 30000, 12
    f = logistic_problem(rng, N, M)
    t = np.zeros(N)
    t[[5, 17000, 29000]] = 1
    f = replace(f, pointwise=LOGISTIC.loss(t), alpha=np.full(M, 1e-3))
    best = descent.descend(f, f.m0)
    assert best.converged and np.abs(best.gradient).max() <= 1e-8 * N


@pytest.mark.parametrize("N, M", [(30, 200), (1500, 80)])
def test_few_rows_for_many_columns_need_no_sample(rng, N, M):
    """Fewer rows than columns, or not many more: Newton on all of them."""
    f = logistic_problem(rng, N, M, alpha=1.0)
    best = descent.descend(f, f.m0)
    assert best.converged and best.H is not None
    assert np.abs(f(best.w)[1]).max() < 1e-6


def test_sample_is_spread_over_the_rows_without_repeats():
    """Runs of 64, and as many rows in each quarter as in the others."""
    N = 10**5
    f = descent.Objective(
        np.arange(N)[:, None], None, np.arange(N), np.ones(1), np.zeros(1)
    ).sample(5000)
    rows = f.Phi[:, 0]
    assert len(np.unique(rows)) == len(rows) == 4992
    assert np.ptp(np.histogram(rows, 4, (0, N))[0]) <= 2 * 64
    np.testing.assert_array_equal(f.weights, rows)
    np.testing.assert_array_equal(rows, descent.spread_rows(N, 5000))
    assert f.alpha[0] == pytest.approx(4992 / N)


def test_gradient_descent_keeps_every_iterate():
    """On w^2 / 2 each step multiplies w by 1 - rate."""
    path = descent.gradient_descent(lambda w: w, [1.0, 2.0], rate=0.5, steps=3)
    np.testing.assert_array_equal(
        path, [[1, 2], [0.5, 1], [0.25, 0.5], [0.125, 0.25]]
    )
    for more in ({"rate": np.nan}, {"rate": -0.5}, {"steps": 2.5}):
        with pytest.raises(ValueError, match=f"{next(iter(more))} must"):
            descent.gradient_descent(
                lambda w: w, [1.0], **({"rate": 0.5, "steps": 3} | more)
            )


def positive(rng, d, condition=1e3):
    """A positive definite matrix with eigenvalues from 1 to `condition`."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return Q @ np.diag(np.geomspace(1, condition, d)) @ Q.T


def problem(rng, N=3000, M=8, K=4, alpha=0.0):
    """A softmax problem whose classes overlap."""
    Phi = np.c_[np.ones(N), rng.standard_normal((N, M - 1))]
    W = rng.standard_normal((K, M)) / 2
    t = (Phi @ W.T + rng.gumbel(size=(N, K))).argmax(axis=1)
    alpha = np.broadcast_to(float(alpha), (M,))
    return softmax.Problem(Phi, t, None, alpha, np.eye(K - 1))


def test_conjugate_gradients_solve_in_d_steps(rng):
    """Six products for six unknowns; fewer with a good guess."""
    H, g = positive(rng, 6, 50), rng.standard_normal(6)
    count = []

    def product(u):
        count.append(1)
        return H @ u

    s = descent.conjugate_gradients(product, lambda r: r, g, 1e-9)
    np.testing.assert_allclose(H @ s, g, rtol=1e-7)
    assert len(count) <= 7
    count.clear()
    B = np.linalg.inv(H)
    s = descent.conjugate_gradients(product, lambda r: B @ r, g, 1e-9)
    np.testing.assert_allclose(H @ s, g, rtol=1e-7)
    assert len(count) <= 2


def test_conjugate_gradients_stop_early_when_told(rng):
    """A tenth of the residual, and every iterate is a way down."""
    H, g = positive(rng, 40), rng.standard_normal(40)
    s = descent.conjugate_gradients(lambda u: H @ u, lambda r: r, g, 0.1)
    r = g - H @ s
    assert 0 < np.linalg.norm(r) <= 0.1 * np.linalg.norm(g) and g @ s > 0
    zero = descent.conjugate_gradients(lambda u: H @ u, lambda r: r, 0 * g, 0.1)
    assert not zero.any()


def test_inverse_is_one_or_is_refused(rng):
    """Against numpy's; singular matrices and negative ones raise."""
    S = positive(rng, 5)
    np.testing.assert_allclose(descent.inverse(S), np.linalg.inv(S), rtol=1e-9)
    for bad in (np.ones((2, 2)), -np.eye(2), np.diag([1.0, 0])):
        with pytest.raises(LinAlgError):
            descent.inverse(bad)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_newton_cg_finds_what_newton_finds(rng, alpha):
    """The same v to the rounding of E; the trace falls."""
    f = problem(rng, alpha=alpha)
    full = newton.newtons_method(f, np.zeros(f.d))
    short = descent.newton_cg(f, np.zeros(f.d))
    assert full.converged and short.converged
    np.testing.assert_allclose(short.w, full.w, atol=1e-7)
    assert np.all(np.diff(short.trace) <= 1e-9) and len(short.trace) < 15
    again = descent.newton_cg(f, full.w)
    assert again.converged and len(again.trace) <= 2


def test_newton_cg_arrives_where_the_guess_is_poor(rng):
    """A row of 1e7 has all of the guess's curvature, and none in the end: E
    stayed 6e-5 too high, the weights a hundredth of their errors away."""
    Phi, t = rng.standard_normal((200, 2)), rng.integers(3, size=200)
    Phi[0, 1] = 1e7
    f = softmax.Problem(Phi, t, None, np.zeros(2), np.eye(2))
    full = newton.newtons_method(f, np.zeros(f.d))
    short = descent.newton_cg(f, np.zeros(f.d))
    assert full.converged and short.converged
    off = short.w - full.w
    assert off @ full.H @ off < 1e-9


def test_the_guess_is_close_to_the_inverse_hessian(rng):
    """Exact where all rows have the same probabilities: at v = 0."""
    for alpha in (0.0, 5.0):
        f = problem(rng, alpha=alpha)
        product, guess = f.curvature(np.zeros(f.d))
        u = rng.standard_normal(f.d)
        H = f(np.zeros(f.d))[2]
        np.testing.assert_allclose(product(u), H @ u, rtol=1e-9)
        off = np.abs(guess(H @ u) - u).max()
        assert off < (1e-10 if alpha == 0 else 0.1)


def test_head_start_comes_near_and_knows_the_curvature(rng):
    """Within the noise of 4000 rows; B H = I but for that noise."""
    f = problem(rng, 80000)
    v, B = descent.head_start(f, np.zeros(f.d))
    best = descent.newton_cg(f, v)
    assert 0.01 < np.abs(v - best.w).max() < 0.5
    assert np.abs(B @ f(v)[2] - np.eye(f.d)).max() < 0.5
    assert descent.descend(f, np.zeros(f.d)).method == "quasi-newton"


def test_head_start_refuses_a_poor_sample(rng):
    """A column that few rows have; classes that a plane separates."""
    f = problem(rng, 80000)
    f.Phi[:, 3] = 0
    f.Phi[:5, 3] = 1
    with pytest.raises(LinAlgError):
        descent.head_start(f, np.zeros(f.d))
    f = problem(rng, 80000)
    f.t[:] = (f.Phi[:, :4]).argmax(axis=1)
    with pytest.raises(LinAlgError):
        descent.head_start(f, np.zeros(f.d))


def test_newton_cg_gives_up_below_the_floor(rng):
    """Separable classes: E below ln 2 proves it, no need to go on."""
    f = problem(rng, 500)
    f.t[:] = (f.Phi[:, :4]).argmax(axis=1)
    best = descent.newton_cg(f, np.zeros(f.d))
    assert not best.converged and best.error < f.floor == np.log(2)
    assert best.trace[-2] > f.floor


def test_newton_cg_stops_at_a_singular_problem(rng):
    """Dependent columns: no guess, no step."""
    f = problem(rng)
    f.Phi[:, 2] = f.Phi[:, 1]
    best = descent.newton_cg(f, np.zeros(f.d))
    assert not best.converged and len(best.trace) == 1
