"""Several classes against dense algebra, quadrature, and simpler models."""

import numpy as np
import pytest
from scipy import linalg, stats
from scipy.optimize import minimize

from prml4 import bayes_logistic, gp_laplace
from prml4.models import averages, kernels
from prml4.numerics import newton, validate
from prml4.numerics.special import log_softmax, softmax
from prml4.studies import gp_softmax

VARIANCES = np.array([0.3, 0.1, 0.2])
KERNEL = kernels.constant() * kernels.squared_exponential()


def problem(rng, N=8, K=3):
    """Every class has its own kernel."""
    X = rng.normal(size=(N, 2))
    t = np.r_[np.arange(K), rng.integers(0, K, N - K)]
    thetas = [np.array([1.0 - 0.3 * k, -0.5 + 0.2 * k]) for k in range(K)]
    return X, t, thetas, np.array([KERNEL(theta, X) for theta in thetas])


def dense(f, C):
    """C^{-1} and W of all K N values f, written out."""
    K, N = f.shape
    inverse = np.zeros((K * N, K * N))
    for k in range(K):
        rows = slice(k * N, (k + 1) * N)
        inverse[rows, rows] = np.linalg.inv(C[k])
    y = softmax(f, axis=0)
    Pi = np.vstack([np.diag(row) for row in y])
    return inverse, np.diag(y.ravel()) - Pi @ Pi.T


def test_the_mode_is_where_a_general_optimiser_ends(rng):
    """BFGS on psi with C inverted."""
    _, t, _, C = problem(rng)
    fit = gp_softmax.fit(C, t)
    inverse, _ = dense(fit.mean, C)
    T = np.equal.outer(np.arange(3), t)

    def loss(f):
        log_y = log_softmax(f.reshape(3, 8), axis=0)
        g = inverse @ f - (T - np.exp(log_y)).ravel()
        return f @ inverse @ f / 2 - log_y[T].sum(), g

    best = minimize(loss, np.zeros(24), jac=True, options={"gtol": 1e-9})
    np.testing.assert_allclose(fit.mean.ravel(), best.x, atol=1e-7)
    assert fit.trace[-1] == pytest.approx(-best.fun, rel=1e-12)
    assert fit.trace[0] == pytest.approx(-8 * np.log(3))
    assert np.all(np.diff(fit.trace) > -1e-12)
    assert fit.converged
    np.testing.assert_allclose(
        fit.dual, T - softmax(fit.mean, axis=0), atol=1e-9
    )


def test_the_rule_by_which_it_stops(rng):
    """A decrement of at most tol sqrt(1 + |psi|), psi that after the step."""
    _, t, _, C = problem(rng)
    with pytest.warns(newton.NotConverged):
        psi = gp_softmax.fit(C, t, max_iter=1).trace[1]
    inverse, W = dense(np.zeros((3, 8)), C)
    r = (np.equal.outer(np.arange(3), t) - 1 / 3).ravel()
    gain = r @ np.linalg.solve(inverse + W, r)
    tol = np.sqrt(gain / (1 + abs(psi)))
    assert gp_softmax.fit(C, t, tol=1.01 * tol, max_iter=1).converged
    with pytest.warns(newton.NotConverged):
        gp_softmax.fit(C, t, tol=0.99 * tol, max_iter=1)


def test_a_step_by_the_factors_of_other_curvatures(rng):
    """Two solves leave e = A^2 r, where one leaves A r; |r| <= |r - e| + |e|.

    The decrement is that bound, with |e|^2 <= e^T C e.
    """
    _, _, _, C = problem(rng)
    f, other, r = 0.3 * rng.normal(size=(3, 3, 8))
    E, factor, _ = gp_softmax._factors(C, softmax(other, axis=0))
    step, decrement = gp_softmax._newton_step(
        C, E, factor, r, softmax(f, axis=0)
    )
    (inverse, W), (_, V) = dense(f, C), dense(other, C)
    r = r.ravel()
    A = np.eye(24) - (inverse + W) @ np.linalg.inv(inverse + V)
    e = A @ A @ r
    df = np.linalg.solve(inverse + W, r - e)
    np.testing.assert_allclose(step[0].ravel(), df, atol=1e-11)
    np.testing.assert_allclose(step[1].ravel(), inverse @ df, atol=1e-11)

    def norm(v):
        return np.sqrt(v @ np.linalg.solve(inverse + W, v))

    bound = norm(r - e) + np.sqrt(e @ np.linalg.solve(inverse, e))
    assert decrement == pytest.approx(bound)
    assert decrement >= norm(r)


def test_evidence_and_predictions_by_dense_algebra(rng):
    """One (KN, KN) inverse: GPML (3.44), (3.45) and the definition of q."""
    X, t, thetas, C = problem(rng)
    fit = gp_softmax.fit(C, t)
    inverse, W = dense(fit.mean, C)
    f = fit.mean.ravel()
    psi = log_softmax(fit.mean, axis=0)[t, range(8)].sum() - f @ inverse @ f / 2
    half = np.linalg.slogdet(np.linalg.solve(inverse, W) + np.eye(24))[1] / 2
    assert fit.log_evidence == pytest.approx(psi - half, rel=1e-12)
    new = rng.normal(size=(4, 2))
    c = np.array([KERNEL(theta, X, new) for theta in thetas])
    cc = np.array([KERNEL.diagonal(theta, new) for theta in thetas])
    mean, S = gp_softmax.predict_latent(fit, c, cc)
    Sigma = np.linalg.inv(inverse + W)
    for m in range(4):
        Q = np.zeros((24, 3))
        for k in range(3):
            Q[8 * k : 8 * k + 8, k] = c[k, :, m]
        P = inverse @ Q
        right = np.diag(cc[:, m]) - Q.T @ P + P.T @ Sigma @ P
        np.testing.assert_allclose(S[m], right, atol=1e-11)
        np.testing.assert_allclose(mean[m], P.T @ f, atol=1e-9)


def test_two_classes_are_one_difference_of_functions(rng):
    """f_1 - f_0 is a GP with C_0 + C_1, and sigma of it the softmax."""
    X, t, thetas, C = problem(rng, K=2)
    many = gp_softmax.fit(C, t)
    one = gp_laplace.fit(C[0] + C[1], t)
    np.testing.assert_allclose(many.mean[1] - many.mean[0], one.mean, atol=1e-8)
    assert many.log_evidence == pytest.approx(one.log_evidence, rel=1e-10)
    new = rng.normal(size=(4, 2))
    c = np.array([KERNEL(theta, X, new) for theta in thetas])
    cc = np.array([KERNEL.diagonal(theta, new) for theta in thetas])
    p = gp_softmax.predict_proba(many, c, cc)
    right = gp_laplace.predict_proba(one, c.sum(axis=0), cc.sum(axis=0))
    np.testing.assert_allclose(p, right, atol=1e-9)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_a_linear_kernel_is_bayesian_softmax_regression(rng):
    """Weight space with a spherical prior: the same q(v), hence the rest."""
    Phi = np.column_stack([np.ones(20), rng.normal(size=(20, 2))])
    t = np.r_[0, 1, 2, rng.integers(0, 3, 17)]
    new = np.column_stack([np.ones(5), rng.normal(size=(5, 2))])
    fit = gp_softmax.fit(Phi @ Phi.T / 0.8, t)
    q = bayes_logistic.fit_softmax(Phi, t, alpha=0.8)
    assert fit.log_evidence == pytest.approx(q.log_evidence, rel=1e-8)
    p = gp_softmax.predict_proba(
        fit, Phi @ new.T / 0.8, np.sum(new**2, axis=1) / 0.8
    )
    right = bayes_logistic.predict_softmax(q, new)
    np.testing.assert_allclose(p, right, atol=1e-8)


def test_tiny_problems_by_brute_force(rng):
    """N = 1: one latent vector of three, on a grid; Laplace is near."""
    with pytest.raises(ValueError, match="no row of class 0"):
        gp_softmax.fit(np.ones((3, 1, 1)), [1])
    N = 3
    C = np.array([v * np.eye(N) for v in VARIANCES])
    fit = gp_softmax.fit(C, [0, 1, 2])
    axis = np.linspace(-4, 4, 121)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"))
    scale = VARIANCES[:, None, None, None]
    density = np.exp(-np.sum(grid**2 / scale, axis=0) / 2)
    y = softmax(grid, axis=0)
    exact = np.log([(density * y_k).sum() / density.sum() for y_k in y]).sum()
    assert fit.log_evidence == pytest.approx(exact, abs=0.01)
    draws = rng.normal(size=(20000, 2))
    c, cc = np.zeros((3, N, 1)), VARIANCES[:, None]
    p = gp_softmax.predict_proba(fit, c, cc)
    assert p[0] == pytest.approx(
        [(density * y_k).sum() / density.sum() for y_k in y], abs=1e-8
    )
    rough = gp_softmax.predict_proba(
        fit, c, cc, lambda m, S: averages.softmax_monte_carlo(m, S, draws)
    )
    np.testing.assert_allclose(rough, p, atol=0.01)


@pytest.mark.parametrize(
    ("C", "t", "complaint"),
    [
        (np.eye(3), [0, 1, 3], "no row of class 2"),
        (np.eye(2), [0, 1, 2], r"^t must have shape \(2,\)"),
        (np.stack([np.eye(2)] * 3), [0, 1, 2], r"^t must have shape \(2,\)"),
        (np.stack([np.eye(3)] * 2), [0, 1, 2], "must hold 3 kernel matrices"),
        (-np.eye(3), [0, 1, 2], "semi-definite"),
        (1.0, [0, 1], "must hold 2 kernel matrices"),
        (np.ones((3, 3, 3, 3)), [0, 1, 2], "must hold 3 kernel matrices"),
        (1j * np.eye(3), [0, 1, 2], "real numbers"),
        (np.stack([np.eye(3), np.eye(3), -np.eye(3)]), [0, 1, 2], "definite"),
    ],
)
def test_bad_input_is_named(C, t, complaint):
    """Classes without rows, wrong shapes, matrices that are no kernels."""
    with pytest.raises(ValueError, match=complaint):
        gp_softmax.fit(C, t)


@pytest.mark.parametrize(("K", "v"), [(3, 1e4), (3, 1e8), (5, 4.0), (9, 1e6)])
def test_many_classes_and_wide_priors_have_probabilities(rng, K, v):
    """Where a grid refuses: independent values, by a sum over their maximum.

    In a far corner f is N(0, v I): by symmetry 1/K, and with means of +-v^.5
    int prod_j Phi dPhi where v hides the rounded corners of the softmax.
    """
    X = rng.normal(size=(3 * K, 2))
    fit = gp_softmax.fit(v * KERNEL(np.zeros(2), X), np.arange(3 * K) % K)
    far = np.zeros((3 * K, 1)), np.array([v])
    p = gp_softmax.predict_proba(fit, *far)
    np.testing.assert_allclose(p, 1 / K, atol=4e-3)
    m = np.sqrt(v) * np.linspace(-1, 1, K)
    gaps = v * (np.eye(K - 1) + 1)
    p = averages.softmax((m[:-1] - m[-1])[None], gaps[None])[0]
    z = np.linspace(-8, 8, 4001)
    u = m[:, None] + np.sqrt(v) * z
    tops = stats.norm.cdf((u[:, None] - m[:, None]) / np.sqrt(v))
    tops[range(K), range(K)] = 1.0
    want = tops.prod(axis=1) @ stats.norm.pdf(z) * (z[1] - z[0])
    np.testing.assert_allclose(p, want, atol=0.1 if v < 1e3 else 4e-3)
    assert p.sum() == pytest.approx(1)


def test_where_a_grid_would_do_the_other_way_agrees(rng, monkeypatch):
    """Four classes, to 1e-3."""
    mu = rng.normal(size=(5, 3))
    C = np.array([A @ A.T for A in rng.normal(size=(5, 3, 3))])
    p = averages.softmax(mu, C)
    monkeypatch.setattr(averages, "NODES", 1)
    np.testing.assert_allclose(averages.softmax(mu, C), p, atol=1e-3)
    with pytest.raises(ValueError, match="mu and C must be finite"):
        averages.softmax(np.nan * mu, C)


def test_a_class_without_rows_has_its_prior(rng):
    """Two classes of three, or one: the third is what a tiny psi says."""
    X, t, _, _ = problem(rng, N=6, K=2)
    C = KERNEL(np.zeros(2), X)
    fit = gp_softmax.fit(C, t, K=3)
    assert fit.converged and fit.mean.shape == (3, 6)
    np.testing.assert_allclose(fit.mean[2], -C @ softmax(fit.mean, axis=0)[2])
    one = gp_softmax.fit(C, np.zeros(6), K=2)
    p = gp_softmax.predict_proba(one, C, np.ones(6))
    assert np.all(p[:, 0] > 0.5)
    right = gp_laplace.fit(2 * C, np.zeros(6)).log_evidence
    assert one.log_evidence == pytest.approx(right, rel=1e-9)
    with pytest.raises(ValueError, match="t must hold the class numbers"):
        gp_softmax.fit(C, t + 1, K=2)
    with pytest.raises(ValueError, match="K must be .* >= 2"):
        gp_softmax.fit(C, np.zeros(6), K=1)


def test_new_points_are_checked(rng):
    """Shapes of c_star and c_ss."""
    _, t, _, C = problem(rng)
    fit = gp_softmax.fit(C, t)
    for c, cc, said in (
        (np.ones((7, 2)), np.ones(2), "c_star must have N = 8 rows"),
        (np.ones((8, 2)), np.ones(3), r"c_ss must .* shape \(2,\)"),
        (np.ones((3, 8, 2)), np.ones(2), r"got \(3, 8, 2\) and \(2,\)"),
        (np.ones((3, 8, 2)), np.ones(3), "c_star must have shape"),
        (np.ones((2, 8, 2)), np.ones((2, 2)), "c_star must have shape"),
    ):
        with pytest.raises(ValueError, match=said):
            gp_softmax.predict_latent(fit, c, cc)


def test_new_points_of_another_kernel_are_refused(rng):
    """Negative, complex or unknown numbers, and no covariance at all."""
    _, t, _, C = problem(rng)
    fit = gp_softmax.fit(C, t)
    c, cc = C[:, :, :2], np.array([np.diag(C_k)[:2] for C_k in C])
    with pytest.raises(ValueError, match="must be covariances of the kernel"):
        gp_softmax.predict_latent(fit, 9 * c, cc)
    with pytest.raises(ValueError, match="c_ss must be >= 0"):
        gp_softmax.predict_latent(fit, c, -cc)
    with pytest.raises(ValueError, match="c_star must be finite"):
        gp_softmax.predict_latent(fit, np.nan * c, cc)
    with pytest.raises(ValueError, match="real numbers"):
        gp_softmax.predict_latent(fit, 1j * c, cc)


def test_a_covariance_below_zero_by_rounding_is_the_nearest_one(rng):
    """(S + |S|) / 2, |S| by a polar decomposition, at the first of two points.

    It may be 1e-6 of the largest of the prior variances below zero.
    """
    _, t, _, C = problem(rng)
    fit = gp_softmax.fit(C, t)
    c, cc = C[:, :, :2] / 2, np.array([np.diag(C_k)[:2] for C_k in C])
    _, S = gp_softmax.predict_latent(fit, c, cc)
    cut = np.array([np.linalg.eigvalsh(S[0])[0] + 1e-7 * cc[:, 0].max(), 0])
    _, near = gp_softmax.predict_latent(fit, c, cc - cut)
    S = S - cut[:, None, None] * np.eye(3)
    assert np.linalg.eigvalsh(S[0])[0] < 0
    for raw, found in zip(S, near, strict=True):
        best = (raw + linalg.polar(raw)[1]) / 2
        np.testing.assert_allclose(found, best, atol=1e-12)


def test_a_covariance_is_one_in_spite_of_rounding(rng):
    """At a duplicated input and an amplitude of 1e6, as dense as it gets."""
    X, t, _, _ = problem(rng)
    C = 1e6 * KERNEL(np.zeros(2), X)
    fit = gp_softmax.fit(C, t)
    _, S = gp_softmax.predict_latent(fit, C, np.diag(C))
    assert np.linalg.eigvalsh(S).min() > -1e-6


def test_extreme_amplitudes_and_duplicates(rng):
    """1e-12 tells nothing; 1e12 is flagged or found; no NaN in silence."""
    X, t, _, _ = problem(rng)
    X[4:] = X[:4]
    C = KERNEL(np.zeros(2), X)
    fit = gp_softmax.fit(1e-12 * C, t)
    assert fit.log_evidence == pytest.approx(-8 * np.log(3))
    assert fit.converged
    fit = gp_softmax.fit(1e6 * C, t)
    assert fit.converged
    assert np.isfinite(fit.log_evidence)
    with pytest.raises(validate.Indefinite, match="scale it down"):
        gp_softmax.fit(1e20 * C, t)


def test_a_step_that_rounding_has_spoilt_does_not_count_as_an_arrival():
    """At 1e9 and duplicated inputs: flagged, where it used to say converged."""
    X = np.random.default_rng(3).normal(size=(30, 2))
    C = KERNEL(np.log([1e9, 1.0]), np.vstack([X, X]))
    with pytest.warns(newton.NotConverged, match="gradient component"):
        fit = gp_softmax.fit(C, np.arange(60) % 3)
    assert not fit.converged


def test_too_few_steps_are_flagged(rng):
    """A warning that says how steep psi is where it ended."""
    _, t, _, C = problem(rng)
    with pytest.warns(newton.NotConverged, match="after 1 steps") as caught:
        fit = gp_softmax.fit(C, t, max_iter=1)
    assert not fit.converged
    T = np.equal.outer(np.arange(3), t)
    pull = np.linalg.solve(C, fit.mean[..., None])[..., 0]
    slope = np.abs(T - softmax(fit.mean, axis=0) - pull).max()
    assert f"gradient component of {slope:.1e}" in str(caught[0].message)


@pytest.mark.filterwarnings("error:overflow:RuntimeWarning")
def test_what_overflows_has_a_name_and_one_number_is_no_column():
    """A step 1e100 long; `len() of unsized object`, said a TypeError."""
    C = 1e100 * (np.eye(3) + 0.5)
    with pytest.warns(newton.NotConverged):
        gp_softmax.fit(C, [0, 1, 2])
    found = gp_softmax.fit(np.eye(3) + 0.5, [0, 1, 2])
    with pytest.raises(ValueError, match="c_star must have shape"):
        gp_softmax.predict_latent(found, 0.5, 1.0)
