"""Laplace's GP classifier against quadrature, differences, and weight space."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from prml4 import bayes_logistic, gp_ep, gp_laplace
from prml4.models import kernels
from prml4.models.likelihoods import LOGISTIC, PROBIT, Likelihood, flipped
from prml4.numerics import linalg, newton, validate

KERNEL = kernels.constant() * kernels.squared_exponential()
BOTH = pytest.mark.parametrize(
    "likelihood", [LOGISTIC, PROBIT], ids=lambda value: value.name
)


def problem(rng, N=12, D=2, theta=(1.0, 0.0)):
    """Inputs, targets that no line separates, and a kernel matrix."""
    X = rng.normal(size=(N, D))
    t = (np.sin(2 * X[:, 0]) + 0.4 * rng.normal(size=N) > 0).astype(float)
    return X, t, KERNEL(np.array(theta), X)


def columns(X, new, theta=(1.0, 0.0)):
    """c_star and c_ss of new points."""
    theta = np.array(theta)
    return KERNEL(theta, X, new), KERNEL.diagonal(theta, new)


def dense(fit, C):
    """C^{-1}, R and Sigma by plain inverses."""
    inverse = np.linalg.inv(C)
    Sigma = np.linalg.inv(inverse + np.diag(fit.W))
    R = np.linalg.inv(C + np.diag(1 / fit.W))
    return inverse, R, Sigma


# The mode.


@BOTH
def test_the_mode_is_where_a_general_optimiser_ends(rng, likelihood):
    """BFGS on psi with C inverted knows nothing of B."""
    _, t, C = problem(rng)
    fit = gp_laplace.fit(C, t, likelihood=likelihood)
    inverse = np.linalg.inv(C)

    def loss(f):
        log_p, g, *_ = likelihood.log_p(f, t)
        return f @ inverse @ f / 2 - log_p.sum(), inverse @ f - g

    best = minimize(loss, np.zeros(12), jac=True, options={"gtol": 1e-9})
    np.testing.assert_allclose(fit.mean, best.x, atol=1e-7)
    assert fit.trace[-1] == pytest.approx(-best.fun, rel=1e-12)
    assert fit.converged
    assert fit.residual < 1e-7


@BOTH
def test_psi_rises_at_every_step(rng, likelihood):
    """The trace starts at f = 0 and never falls by more than rounding."""
    _, t, C = problem(rng, 40, theta=(6.0, 0.0))
    fit = gp_laplace.fit(C, t, likelihood=likelihood)
    assert fit.trace[0] == pytest.approx(-40 * np.log(2))
    assert np.all(np.diff(fit.trace) > -1e-11)


@BOTH
def test_what_the_fit_states_about_its_mode(rng, likelihood):
    """a = C^{-1} f = g, W and L belong to the mode, not to a step before."""
    _, t, C = problem(rng)
    fit = gp_laplace.fit(C, t, likelihood=likelihood)
    _, g, slope, _ = likelihood.log_p(fit.mean, t)
    np.testing.assert_allclose(fit.dual, g, atol=1e-8)
    np.testing.assert_allclose(C @ fit.dual, fit.mean, atol=1e-10)
    np.testing.assert_array_equal(fit.W, -slope)
    B = np.eye(12) + np.sqrt(np.outer(fit.W, fit.W)) * C
    np.testing.assert_allclose(fit.L @ fit.L.T, B, atol=1e-12)
    assert np.all(np.triu(fit.L, 1) == 0)
    assert fit.residual < 1e-8


@BOTH
def test_the_rule_by_which_it_stops(rng, likelihood):
    """A decrement of at most tol sqrt(1 + |psi|), psi that after the step."""
    _, t, C = problem(rng)
    given = {"likelihood": likelihood, "max_iter": 1}
    with pytest.warns(newton.NotConverged):
        psi = gp_laplace.fit(C, t, **given).trace[1]
    _, g, slope = likelihood.log_p(np.zeros(12), t, 2)
    gain = g @ np.linalg.solve(np.linalg.inv(C) - np.diag(slope), g)
    tol = np.sqrt(gain / (1 + abs(psi)))
    assert gp_laplace.fit(C, t, tol=1.01 * tol, **given).converged
    with pytest.warns(newton.NotConverged):
        gp_laplace.fit(C, t, tol=0.99 * tol, **given)


def test_a_step_by_the_factor_of_other_curvatures(rng):
    """Two solves leave e = A^2 r, where one leaves A r; |r| <= |r - e| + |e|.

    The decrement is that bound, with |e|^2 <= e^T C e. A value of variance 0,
    where nothing is left over, ends no refinement.
    """
    _, t, C = problem(rng)
    C[0] = C[:, 0] = 0
    w, other = np.zeros((2, 12)), np.linspace(0.15, 0.4, 12)
    terms = LOGISTIC.log_p(w[0], t, 2)
    B = np.eye(12) + np.sqrt(np.outer(other, other)) * C
    L = np.linalg.cholesky(B)
    step, decrement = gp_laplace.newton_step(C, L, w, terms)
    r, W = terms[1], -terms[2]
    M = np.eye(12) + W[:, None] * C
    solve = np.eye(12) - np.sqrt(np.outer(W, W)) * np.linalg.inv(B) @ C
    A = np.eye(12) - M @ solve
    e = A @ A @ r
    np.testing.assert_allclose(step[1], np.linalg.solve(M, r - e), atol=1e-12)
    np.testing.assert_allclose(step[0], C @ step[1], atol=1e-12)

    def norm(v):
        return np.sqrt(v @ C @ np.linalg.solve(M, v))

    assert decrement >= norm(r)
    assert decrement == pytest.approx(norm(r - e) + np.sqrt(e @ C @ e))


def test_too_few_steps_are_flagged_with_what_is_left(rng, monkeypatch):
    """The residual is |f - C g| where the climb stopped; factors count."""
    _, t, C = problem(rng)
    made, plain = [], linalg.cholesky
    monkeypatch.setattr(
        linalg, "cholesky", lambda *at: made.append(at) or plain(*at)
    )
    with pytest.warns(newton.NotConverged, match="stopped after 1 steps"):
        fit = gp_laplace.fit(C, t, max_iter=1)
    g = LOGISTIC.log_p(fit.mean, t)[1]
    assert not fit.converged
    assert fit.residual > 1e-4
    assert fit.residual == pytest.approx(np.abs(fit.mean - C @ g).max())
    assert fit.factors == len(made)


def test_single_precision_leaves_no_trace(rng):
    """A large problem, where its factors serve: the mode is exact."""
    _, t, C = problem(rng, 300, theta=(3.0, 0.0))
    fit = gp_laplace.fit(C, t)
    assert fit.converged
    assert fit.residual < 1e-7
    assert fit.factors <= 8


def test_factors_that_no_longer_serve_are_replaced():
    """A wide prior: old or single factors alone would take 22 steps."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    t = (np.sin(2 * X[:, 0]) + 0.4 * rng.normal(size=200) > 0).astype(float)
    C = KERNEL(np.log([1e3, 1.0]), X)
    fit = gp_laplace.fit(C, t, likelihood=PROBIT)
    assert fit.converged
    assert len(fit.trace) <= 18


@BOTH
def test_a_value_that_is_known_asks_for_nothing(rng, likelihood):
    """Of variance 0 it never moves: a factor ln 1/2, no step, no factor."""
    _, t, C = problem(rng, theta=(6.0, 0.0))
    fit = gp_laplace.fit(C, t, likelihood=likelihood)
    more = gp_laplace.fit(np.pad(C, (0, 1)), [*t, 1], likelihood=likelihood)
    padded = np.array(fit.trace) - np.log(2)
    np.testing.assert_allclose(more.trace, padded, rtol=1e-4)
    assert more.factors == fit.factors
    assert more.mean[-1] == 0


def test_entries_beyond_single_precision_are_factored_in_double():
    """1e31 squares to infinity there; no warning of an overflow is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", newton.NotConverged)
        fit = gp_laplace.fit(np.diag([1e100, 1.0]), [1, 0])
    assert np.isfinite(fit.log_evidence)


def test_memory_stays_below_ten_matrices(rng):
    """Of the size of C; five suffice for the fit and the gradient."""
    _, t, C = problem(rng, 400)
    tracemalloc.start()
    gp_laplace.evidence_gradient(gp_laplace.fit(C, t), C)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * C.nbytes


def test_a_singular_kernel_matrix_is_no_obstacle():
    """cond C of 1e19, GPML 3.4.3: only B is factored, and cond B is small."""
    x = np.linspace(0, 1, 60)
    t = (x > 0.5).astype(float)
    C = KERNEL(np.log([4.0, 1.0]), x)
    assert np.linalg.cond(C) > 1e17
    fit = gp_laplace.fit(C, t)
    assert fit.converged
    assert fit.residual < 1e-9
    assert np.linalg.cond(fit.L) ** 2 < 1e3


@BOTH
def test_the_order_of_the_rows_does_not_matter(rng, likelihood):
    """And exchanged classes turn f around."""
    _, t, C = problem(rng)
    fit = gp_laplace.fit(C, t, likelihood=likelihood)
    order = rng.permutation(12)
    other = gp_laplace.fit(
        C[np.ix_(order, order)], t[order], likelihood=likelihood
    )
    np.testing.assert_allclose(other.mean, fit.mean[order], atol=1e-8)
    mirror = gp_laplace.fit(C, 1 - t, likelihood=likelihood)
    np.testing.assert_allclose(mirror.mean, -fit.mean, atol=1e-8)
    assert mirror.log_evidence == pytest.approx(fit.log_evidence, rel=1e-9)


@BOTH
@given(
    st.integers(1, 9),
    st.integers(0, 10**6),
    st.floats(-12, 12),
    st.floats(-2, 2),
)
def test_kernels_of_any_size_converge_or_say_so(likelihood, N, seed, v, length):
    """Amplitudes from 1e-12 to 1e12, duplicated inputs, one point."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2))
    X[N // 2 :] = X[: N - N // 2]
    t = rng.integers(0, 2, N).astype(float)
    theta = np.log(10) * np.array([v, length])
    C = KERNEL(theta, X)
    before = C.copy()
    fit = gp_laplace.fit(C, t, likelihood=likelihood)
    assert fit.converged
    assert np.isfinite(fit.log_evidence)
    assert fit.log_evidence < 0
    r = (
        likelihood.log_p(fit.mean, t)[1] - fit.dual
    )  # what is left of the gradient
    left = r @ gp_laplace.posterior_covariance(fit, C) @ r
    assert abs(left) < 1e-12
    np.testing.assert_array_equal(C, before)


@pytest.mark.parametrize("seed", [13, 32, 35, 37, 53])
def test_what_single_precision_leaves_over_is_no_arrival(seed):
    """C = v x x^T has one weight, whose slope over its curvature is 0.

    Where v is 1e6 single precision made the decrement the root of a negative
    number, taken for 0: a mode that was half a standard deviation away.
    """
    rng = np.random.default_rng(seed)
    x, v = rng.normal(size=60), 1e6
    fit = gp_laplace.fit(v * np.outer(x, x), rng.random(60) < 0.5)
    w = fit.mean @ x / (x @ x)
    _, g, slope = LOGISTIC.log_p(x * w, fit.t, 2)
    assert fit.converged
    assert abs(x @ g - w / v) < 1e-7 * np.sqrt(1 / v - x**2 @ slope)


@BOTH
def test_labels_that_may_be_wrong_have_a_mode_or_a_name(likelihood):
    """W < 0 at one doubtful label of many; no NaN, and gradients elsewhere."""
    x = np.linspace(-1, 1, 21)
    C = np.exp(-((x[:, None] - x) ** 2) / 8)
    t, doubt = (np.arange(21) != 10) * 1.0, flipped(likelihood, 0.1)
    with pytest.raises(validate.Indefinite, match="value 10: use gp_ep"):
        gp_laplace.fit(C, t, likelihood=doubt)
    assert gp_ep.fit(C, t, likelihood=doubt).tau[10] < 0
    t, h = (x > 0) * 1.0, 1e-4
    fit = gp_laplace.fit(C, t, likelihood=doubt)
    up, down = (
        gp_laplace.fit((1 + k) * C, t, likelihood=doubt).log_evidence
        for k in (h, -h)
    )
    slope = np.sum(gp_laplace.evidence_gradient(fit, C) * C)
    assert slope == pytest.approx((up - down) / (2 * h), rel=1e-6)


def test_convexity_counts_beside_the_variance_of_the_prior():
    """-W C_nn decides, not W alone; at a mode that is known, f = 0."""

    def bowl(W):
        def log_p(f, t, order):
            return -W * f**2 / 2, -W * f, -W + 0 * f

        return Likelihood("bowl", log_p, average=None)

    C = np.diag([1e-3, 10.0])
    with pytest.raises(validate.Indefinite, match="W = -0.05 for value 1"):
        gp_laplace.fit(C, [0, 1], likelihood=bowl(np.array([-0.5, -0.05])))
    fit = gp_laplace.fit(C, [0, 1], likelihood=bowl(np.array([-1e-6, 2.0])))
    assert fit.converged
    assert fit.log_evidence == pytest.approx(-np.log(1 + 2.0 * 10) / 2)


def test_beyond_all_precision_the_result_is_flagged():
    """An amplitude of 1e20 asks for digits that float64 has not."""
    with pytest.warns(newton.NotConverged, match="stopped after 0 steps"):
        fit = gp_laplace.fit([[1e20]], [1])
    assert not fit.converged
    with pytest.raises(np.linalg.LinAlgError, match="no mode"):
        gp_laplace.inference([1])(np.array([[1e20]]))
    X = np.random.default_rng(7).normal(size=(200, 2))
    C = 1e20 * KERNEL(np.zeros(2), X)
    with pytest.raises(validate.Indefinite, match="rounding in C"):
        gp_laplace.fit(C, (X[:, 0] > 0).astype(float))


# Predictions.


@BOTH
def test_three_forms_of_the_predictive_variance_agree(rng, likelihood):
    """The stable one, the one with C + W^{-1}, and the two-term one."""
    X, t, C = problem(rng, theta=(1.0, -1.0))
    new = rng.normal(size=(5, 2))
    c, cc = columns(X, new, (1.0, -1.0))
    fit = gp_laplace.fit(C, t, likelihood=likelihood)
    m, V = gp_laplace.predict_latent(fit, c, cc)
    inverse, R, Sigma = dense(fit, C)
    np.testing.assert_allclose(V, cc - np.diag(c.T @ R @ c), rtol=1e-12)
    P = inverse @ c
    two = cc - np.diag(c.T @ P) + np.diag(P.T @ Sigma @ P)
    np.testing.assert_allclose(V, two, rtol=1e-12)
    np.testing.assert_allclose(m, c.T @ inverse @ fit.mean, atol=1e-12)
    g = likelihood.log_p(fit.mean, t)[1]
    np.testing.assert_allclose(m, c.T @ g, atol=1e-8)
    np.testing.assert_allclose(
        gp_laplace.posterior_covariance(fit, C), Sigma, atol=1e-12
    )


def test_predicting_at_the_data_gives_back_the_mode(rng):
    """c* = C: mean f, variance the diagonal of Sigma."""
    _, t, C = problem(rng)
    fit = gp_laplace.fit(C, t)
    m, V = gp_laplace.predict_latent(fit, C, np.diag(C))
    np.testing.assert_allclose(m, fit.mean, atol=1e-10)
    Sigma = gp_laplace.posterior_covariance(fit, C)
    np.testing.assert_allclose(V, np.diag(Sigma), rtol=1e-12)


@BOTH
def test_averaged_and_plug_in_predictions(rng, likelihood):
    """Quadrature on a grid; the average is the closer to one half."""
    X, t, C = problem(rng)
    c, cc = columns(X, rng.normal(size=(6, 2)) * 2)
    fit = gp_laplace.fit(C, t, likelihood=likelihood)
    m, V = gp_laplace.predict_latent(fit, c, cc)
    z = np.linspace(-9, 9, 2001)
    f = m[:, None] + np.sqrt(V)[:, None] * z
    weight = np.exp(-z * z / 2) * (z[1] - z[0]) / np.sqrt(2 * np.pi)
    right = np.exp(likelihood.log_p(f, 1)[0]) @ weight
    both = gp_laplace.predict_proba(fit, c, cc), gp_laplace.predict_mode(fit, c)
    for p in both:
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-11)
    averaged, plugged = (p[:, 1] for p in both)
    np.testing.assert_allclose(averaged, right, rtol=1e-10)
    np.testing.assert_allclose(plugged, np.exp(likelihood.log_p(m, 1)[0]))
    assert np.all((averaged - 0.5) * (plugged - 0.5) > 0)
    assert np.all(abs(averaged - 0.5) < abs(plugged - 0.5))


def test_a_variance_below_zero_by_rounding_is_zero(rng):
    """V is a difference: it may come out as -1e-16 and must not go on so."""
    _, t, C = problem(rng)
    fit = gp_laplace.fit(C, t)
    explained = np.diag(C) - np.diag(gp_laplace.posterior_covariance(fit, C))
    _, V = gp_laplace.predict_latent(fit, C, explained * (1 - 1e-12))
    np.testing.assert_array_equal(V, 0)
    assert np.isfinite(gp_laplace.predict_proba(fit, C, explained)).all()


def test_new_points_are_checked(rng):
    """Shapes, signs, and a kernel that is not that of the fit."""
    X, t, C = problem(rng)
    fit = gp_laplace.fit(C, t)
    c, cc = columns(X, rng.normal(size=(4, 2)))
    for bad, said in (
        ((c[:5], cc), "c_star must have N = 12 rows"),
        ((c, cc[:3]), r"c_ss must be one number or have shape \(4,\)"),
        ((c, -cc), "c_ss must be >= 0"),
        ((c, np.nan * cc), "c_ss must be finite"),
        ((np.nan * c, cc), "c_star must be finite"),
        ((9 * c, cc), "must be covariances of the kernel"),
    ):
        with pytest.raises(ValueError, match=said):
            gp_laplace.predict_latent(fit, *bad)
    with pytest.raises(ValueError, match="c_star must have N = 12 rows"):
        gp_laplace.predict_mode(fit, c[:5])
    with pytest.raises(ValueError, match="fit must be a Posterior"):
        gp_laplace.predict_proba(c, fit, cc)


# The evidence.


@BOTH
def test_the_evidence_is_the_integral_of_the_quadratic_expansion(
    rng, likelihood
):
    """ln q = psi(f) - 1/2 ln|C| - 1/2 ln|C^{-1} + W|, and with |B|."""
    _, t, C = problem(rng, theta=(1.0, -1.0))
    fit = gp_laplace.fit(C, t, likelihood=likelihood)
    inverse, _, Sigma = dense(fit, C)
    psi = (
        likelihood.log_p(fit.mean, t)[0].sum()
        - fit.mean @ inverse @ fit.mean / 2
    )
    dets = [np.linalg.slogdet(A)[1] for A in (C, Sigma)]
    right = psi - dets[0] / 2 + dets[1] / 2
    assert fit.log_evidence == pytest.approx(right, rel=1e-11)


@BOTH
@pytest.mark.parametrize("theta", [(1.0, 0.0), (4.0, 0.5)])
def test_the_gradient_of_the_evidence(rng, likelihood, theta):
    """Central differences to 1e-6, mode moving along."""
    X, t, C = problem(rng, 30, theta=theta)
    G = gp_laplace.evidence_gradient(
        gp_laplace.fit(C, t, likelihood=likelihood), C
    )
    np.testing.assert_array_equal(G, G.T)
    at = gp_laplace.inference(t, likelihood)
    for j, slope in enumerate(KERNEL.gradients(np.array(theta), X)):
        e = 1e-4 * np.eye(2)[j]
        up, down = (at(KERNEL(theta + d, X))[0] for d in (e, -e))
        assert np.sum(G * slope) == pytest.approx((up - down) / 2e-4, rel=1e-6)


@BOTH
def test_every_entry_of_the_gradient(rng, likelihood):
    """Each pair of entries of C moved by itself."""
    _, t, C = problem(rng, 5)
    log_q, G = gp_laplace.inference(t, likelihood)(C)
    fit = gp_laplace.fit(C, t, likelihood=likelihood)
    assert log_q == fit.log_evidence
    for i in range(5):
        for j in range(i + 1):
            E = np.zeros((5, 5))
            E[i, j] = E[j, i] = 1e-5
            up, down = (
                gp_laplace.fit(C + d, t, likelihood=likelihood).log_evidence
                for d in (E, -E)
            )
            right = (up - down) / 2e-5
            assert np.sum(G * E) / 1e-5 == pytest.approx(right, abs=1e-7)


def test_a_likelihood_that_is_flat_at_a_point_has_a_gradient():
    """W underflows to 0 there, and 0 / 0 is not NaN."""
    C = np.diag([1.0, 1e6])
    for likelihood in (LOGISTIC, PROBIT):
        fit = gp_laplace.fit(C, [1, 1], likelihood=likelihood)
        flat = gp_laplace.GPLaplace(
            **{
                **vars(fit),
                "mean": np.array([fit.mean[0], 800.0]),
                "dual": np.array([fit.dual[0], 8e-4]),
                "W": np.array([fit.W[0], 0.0]),
                "L": np.diag([fit.L[0, 0], 1.0]),
            }
        )
        assert np.all(np.isfinite(gp_laplace.evidence_gradient(flat, C)))


def test_a_matrix_that_is_not_that_of_the_fit_is_refused(rng):
    """f = C a tells them apart; NaN and other sizes are refused as well."""
    _, t, C = problem(rng)
    fit = gp_laplace.fit(C, t)
    for use in (gp_laplace.posterior_covariance, gp_laplace.evidence_gradient):
        for bad, said in (
            (1.01 * C, "C must be that of the fit"),
            (np.nan * C, "C must be finite"),
        ):
            with pytest.raises(ValueError, match=said):
                use(fit, bad)
        with pytest.raises(ValueError, match="C must have N = 12 rows"):
            use(fit, C[:5, :5])
        np.testing.assert_array_equal(use(fit, C.tolist()), use(fit, C))


@BOTH
def test_an_amplitude_of_1e12_at_200_points_with_duplicates(likelihood):
    """Rounding moves C by 1e-4, hence ln q by 1e-2: found, or flagged."""
    X = np.random.default_rng(3).normal(size=(200, 2))
    X[100:] = X[:100]
    t = (np.arange(200) % 3 == 0).astype(float)
    C = KERNEL(np.log([1e12, 1.0]), X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = gp_laplace.fit(C, t, likelihood=likelihood)
    assert fit.converged or caught[0].category is newton.NotConverged
    assert np.isfinite(fit.log_evidence)
    assert np.isfinite(gp_laplace.evidence_gradient(fit, C)).all()


def test_inference_rejects_labels_that_are_not_two_valued():
    """Before any kernel matrix is seen."""
    with pytest.raises(ValueError, match="t must"):
        gp_laplace.inference([0, 1, 2])


# Weight space.


def test_a_linear_kernel_is_bayesian_logistic_regression(rng):
    """C = Phi Phi^T / alpha: mean, variance and evidence of weight space."""
    Phi = np.column_stack([np.ones(40), rng.normal(size=(40, 3))])
    t = (Phi[:, 1] + rng.normal(size=40) > 0).astype(float)
    new = np.column_stack([np.ones(6), rng.normal(size=(6, 3))])
    alpha = 0.7
    for likelihood in (LOGISTIC, PROBIT):
        fit = gp_laplace.fit(Phi @ Phi.T / alpha, t, likelihood=likelihood)
        m, V = gp_laplace.predict_latent(
            fit, Phi @ new.T / alpha, np.sum(new**2, axis=1) / alpha
        )
        q = bayes_logistic.fit(Phi, t, alpha=alpha, likelihood=likelihood)
        mu, s2 = bayes_logistic.activation(q, new)
        np.testing.assert_allclose(m, mu, atol=1e-8)
        np.testing.assert_allclose(V, s2, rtol=1e-8)
        assert fit.log_evidence == pytest.approx(q.log_evidence, rel=1e-8)
        assert isinstance(fit.log_evidence, float)


def test_a_fit_keeps_targets_of_its_own():
    """Whoever changes t afterwards does not change what was fitted."""
    t = np.array([0.0, 1, 1])
    fit = gp_laplace.fit(np.eye(3), t)
    t[:] = 1 - t
    np.testing.assert_array_equal(fit.t, [0, 1, 1])
