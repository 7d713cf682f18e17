"""prml4.logistic: error, gradient, Hessian, the fit and what can go wrong."""

import pickle
import subprocess
import sys
import tracemalloc
import warnings
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brute, fmin

from prml4 import (
    bayes_logistic,
    evidence,
    glm,
    irls,
    least_squares,
    logistic,
    probit,
    softmax,
)
from prml4.models.data import challenger
from prml4.models.dispersion import BERNOULLI
from prml4.models.likelihoods import LOGISTIC
from prml4.numerics import newton
from prml4.numerics.separation import SeparableDataWarning, separation


def overlapping(rng, N=80, M=3):
    """A design with a bias and targets drawn from the model."""
    Phi = np.c_[np.ones(N), rng.standard_normal((N, M - 1))]
    w = np.linspace(-1, 1, M)
    t = (rng.random(N) < logistic.predict_proba(w, Phi)[:, 1]).astype(float)
    return Phi, t


@pytest.fixture
def data(rng):
    """Eighty rows, three columns."""
    return overlapping(rng)


@pytest.fixture(scope="module")
def cancer():
    """The ten mean features, as they come, after a constant column."""
    datasets = pytest.importorskip("sklearn.datasets")
    X, t = datasets.load_breast_cancer(return_X_y=True)
    return np.c_[np.ones(len(X)), X[:, :10]], t, np.c_[np.ones(len(X)), X]


# The formulas.


def test_error_gradient_hessian_by_central_differences(data, rng):
    """h = 1e-5 leaves an error of about 1e-10; a prior included."""
    Phi, t = data
    w = rng.standard_normal(3)
    prior = {"alpha": np.array([0, 1, 2.5]), "m0": rng.standard_normal(3)}

    def E(w):
        return logistic.map_error(w, Phi, t, **prior)

    def g(w):
        return logistic.map_gradient(w, Phi, t, **prior)

    H = logistic.map_hessian(w, Phi, prior["alpha"])
    for j, e in enumerate(1e-5 * np.eye(3)):
        assert g(w)[j] == pytest.approx((E(w + e) - E(w - e)) / 2e-5, rel=1e-6)
        np.testing.assert_allclose(H[j], (g(w + e) - g(w - e)) / 2e-5, 1e-6)


def test_error_is_minus_the_log_of_a_product_of_probabilities(data, rng):
    """The likelihood multiplied out, (4.89); gradient and Hessian as sums."""
    Phi, t = data
    w = rng.standard_normal(3)
    y = 1 / (1 + np.exp(-Phi @ w))
    likelihood = np.prod([p if k else 1 - p for p, k in zip(y, t, strict=True)])
    assert logistic.error(w, Phi, t) == pytest.approx(-np.log(likelihood))
    g = sum((p - k) * phi for p, k, phi in zip(y, t, Phi, strict=True))
    np.testing.assert_allclose(logistic.gradient(w, Phi, t), g, rtol=1e-10)
    H = sum(p * (1 - p) * np.outer(phi, phi) for p, phi in zip(y, Phi))  # noqa: B905
    np.testing.assert_allclose(logistic.hessian(w, Phi), H, rtol=1e-10)
    np.testing.assert_allclose(logistic.predict_proba(w, Phi)[:, 1], y)
    np.testing.assert_allclose(logistic.log_odds(w, Phi), np.log(y / (1 - y)))


@given(st.floats(-1e8, 1e8), st.sampled_from([0, 1]))
def test_one_row_is_exact_in_both_tails(a, t):
    """Fifty digits of mpmath, log odds up to 1e8."""
    E, g, h = LOGISTIC.loss(np.array([t]))(np.array([a]), slice(1))
    with mpmath.workdps(50):
        m = mpmath.mpf(a) * (2 * t - 1)
        p, miss = 1 / (1 + mpmath.exp(-m)), 1 / (1 + mpmath.exp(m))
        want = [mpmath.log1p(mpmath.exp(-m)), (1 - 2 * t) * miss, p * miss]
        want = [float(x) for x in want]
    close = {"rel": 1e-14 * (1 + min(abs(a), 745)), "abs": 1e-307}
    assert [E[0], g[0], h[0]] == pytest.approx(want, **close)


# The fit.


def test_fit_equals_a_search_on_a_grid(rng):
    """Two weights, a grid of 41 x 41 points and a simplex search from there."""
    Phi, t = overlapping(rng, 25, 2)
    fit = logistic.fit(Phi, t, alpha=0.3, m0=[1.0, 0.0])

    def E(w):
        return logistic.map_error(w, Phi, t, 0.3, np.array([1.0, 0]))

    found = brute(E, [(-4, 4)] * 2, Ns=41, finish=None)
    found = fmin(E, found, xtol=1e-9, ftol=1e-14, disp=False)
    np.testing.assert_allclose(fit.w, found, atol=1e-6)


@pytest.mark.parametrize("N", [80, 40000])
def test_fit_knows_its_own_error_gradient_and_hessian(rng, N):
    """Fields of the result are those functions at w, on both paths."""
    Phi, t = overlapping(rng, N, 9)
    alpha = np.r_[0, np.ones(8)]
    fit = logistic.fit(Phi, t, alpha=alpha)
    assert fit.converged and fit.separated is None
    assert fit.error == pytest.approx(
        logistic.map_error(fit.w, Phi, t, alpha), rel=1e-12
    )
    np.testing.assert_allclose(
        fit.gradient, logistic.map_gradient(fit.w, Phi, t, alpha), atol=1e-9 * N
    )
    H = logistic.curvature(fit, Phi)
    np.testing.assert_allclose(H, logistic.map_hessian(fit.w, Phi, alpha))
    assert np.abs(fit.gradient).max() <= 1e-8 * N
    assert np.all(np.diff(fit.trace) <= 1e-12 * N)


def test_fit_equals_scikit_learn_and_statsmodels(cancer):
    """Three programs, one minimum: to 1e-8 relative on unscaled features."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    statsmodels = pytest.importorskip("statsmodels.api")
    Phi, t, _ = cancer
    fit = logistic.fit(Phi, t)
    second = statsmodels.Logit(t, Phi).fit(method="newton", disp=0, tol=1e-10)
    np.testing.assert_allclose(fit.w, second.params, rtol=1e-8)
    np.testing.assert_allclose(
        logistic.standard_errors(fit, Phi), second.bse, 1e-8
    )
    third = linear_model.LogisticRegression(
        C=np.inf, fit_intercept=False, solver="newton-cholesky", tol=1e-12
    )
    third.fit(Phi, t)
    np.testing.assert_allclose(fit.w, third.coef_[0], rtol=1e-8)
    assert fit.error == pytest.approx(-second.llf, rel=1e-12)


def test_order_of_rows_does_not_matter(rng):
    """Neither to Newton nor to the fit that starts from some of the rows."""
    for N, M in ((200, 4), (40000, 9)):
        Phi, t = overlapping(rng, N, M)
        order = rng.permutation(N)
        np.testing.assert_allclose(
            logistic.fit(Phi[order], t[order]).w,
            logistic.fit(Phi, t).w,
            atol=1e-6,
        )


def test_swapping_the_classes_flips_the_sign(data):
    """p(C1) = sigma(a) is p(C2) = sigma(-a)."""
    Phi, t = data
    np.testing.assert_allclose(
        logistic.fit(Phi, 1 - t).w, -logistic.fit(Phi, t).w, rtol=1e-9
    )


def test_a_row_twice_is_a_row_of_weight_two(data, rng):
    """And of weight zero a row that is not there."""
    Phi, t = data
    c = rng.integers(0, 4, len(t))
    rows = np.repeat(np.arange(len(t)), c)
    for alpha in (0.0, 2.0):
        fit = logistic.fit(Phi, t, weights=c, alpha=alpha)
        again = logistic.fit(Phi[rows], t[rows], alpha=alpha)
        np.testing.assert_allclose(fit.w, again.w, rtol=1e-9)
        H = logistic.curvature(fit, Phi)
        other = logistic.curvature(again, Phi[rows])
        np.testing.assert_allclose(H, other, rtol=1e-9)


def test_all_rows_twice_is_half_the_prior_variance(data):
    """2 E + A/2 and E + A/4 have one minimiser."""
    Phi, t = data
    twice = logistic.fit(np.r_[Phi, Phi], np.r_[t, t], alpha=2.0, m0=np.ones(3))
    once = logistic.fit(Phi, t, alpha=1.0, m0=np.ones(3))
    np.testing.assert_allclose(twice.w, once.w, rtol=1e-9)


def test_a_change_of_basis_changes_the_weights_and_nothing_else(data, rng):
    """Phi S and S^{-1} w: without a prior the fit is affine invariant."""
    Phi, t = data
    S = rng.standard_normal((3, 3)) * [1e-6, 1, 1e6]
    fit, other = logistic.fit(Phi, t), logistic.fit(Phi @ S, t)
    np.testing.assert_allclose(S @ other.w, fit.w, rtol=1e-6)
    assert other.error == pytest.approx(fit.error, rel=1e-12)


def test_an_ever_stronger_prior_pulls_w_to_its_mean(data):
    """w - m0 ~ -grad E(m0) / alpha as alpha grows."""
    Phi, t = data
    m0 = np.array([1.0, -2.0, 0.5])
    fit = logistic.fit(Phi, t, alpha=1e8, m0=m0)
    np.testing.assert_allclose(
        1e8 * (fit.w - m0), -logistic.gradient(m0, Phi, t), rtol=1e-5
    )


def test_a_fit_that_begins_at_its_end_does_not_hand_back_m0(rng):
    """What the caller does to m0 or w0 later changes no fit."""
    Phi = np.c_[np.ones(2000), 0.2 * rng.standard_normal((2000, 29))]
    t = (rng.logistic(size=2000) < Phi @ rng.standard_normal(30)) * 1.0
    m0 = logistic.fit(Phi, t, tol=1e-12).w
    fit = logistic.fit(Phi, t, alpha=1.0, m0=m0)
    np.testing.assert_allclose(fit.w, m0, atol=1e-8)
    assert not np.shares_memory(fit.w, m0)
    with pytest.warns(newton.NotConverged):
        lost = irls.fit_irls(Phi, t, w0=(w0 := np.full(30, 1e5)))
    assert not np.shares_memory(lost.w, w0)


def test_standard_errors_are_those_of_the_inverse(data):
    """Against numpy's explicit inverse; and of the log odds phi^T w."""
    fit = logistic.fit(*data)
    S = np.linalg.inv(logistic.curvature(fit, data[0]))
    np.testing.assert_allclose(
        logistic.standard_errors(fit, data[0]), np.sqrt(np.diag(S))
    )
    np.testing.assert_allclose(
        logistic.log_odds_variance(fit, data[0], data[0]),
        [phi @ S @ phi for phi in data[0]],
    )


def test_fits_of_other_models_are_not_read_as_log_odds(data):
    """A probit's a = Phi w is no log odds, nor a GLM's without its offset."""
    Phi, t = data
    here = logistic.predict_proba(logistic.fit(Phi, t), Phi)
    same = [
        probit.fit(Phi, t, likelihood=LOGISTIC),
        glm.fit(Phi, t, glm.BERNOULLI),
        pickle.loads(pickle.dumps(irls.fit_irls(Phi, t))),
    ]
    for fit in same:
        np.testing.assert_allclose(logistic.predict_proba(fit, Phi), here, 1e-6)
    others = [
        probit.fit(Phi, t),
        glm.fit(Phi, t, glm.GAUSSIAN),
        glm.fit(Phi, t, glm.BERNOULLI, offset=1.0),
    ]
    for fit in others:
        with pytest.raises(ValueError, match="fit must be a logistic one"):
            logistic.predict_proba(fit, Phi)
        with pytest.raises(ValueError, match="fit must be a logistic one"):
            logistic.standard_errors(fit, Phi)
    with pytest.raises(ValueError, match="fit must be a Fit; got ndarray"):
        logistic.curvature(same[0].w, Phi)


# When there is no answer.


def test_complete_separation_is_named_and_certified(cancer):
    """Thirty features separate the tumours, scaled or not; ten do not."""
    ten, t, thirty = cancer
    assert separation(ten, t).kind == "none"
    scaled = thirty / thirty.std(axis=0).clip(1)
    for Phi in (thirty, scaled, thirty * np.logspace(-8, 8, 31)):
        found = separation(Phi, t)
        ahead = (2 * t - 1) * (Phi @ found.direction)
        assert found.kind == "complete" and ahead.min() > 0
        assert ahead.min() == pytest.approx(found.margin, rel=1e-6)
    with pytest.warns(SeparableDataWarning, match=r"\(complete\)"):
        fit = logistic.fit(thirty, t)
    assert not fit.converged and fit.separated == "complete"
    assert logistic.fit(thirty, t, alpha=1e-6).converged


def test_quasi_complete_separation_is_named_and_certified(data):
    """Column 3 is there only in rows of class 1: its weight has no end."""
    Phi, t = data
    dummy = np.zeros(len(t))
    dummy[np.flatnonzero(t)[:5]] = 1
    Phi = np.c_[Phi, dummy]
    found = separation(Phi, t)
    assert found.kind == "quasi-complete" and found.margin == 0
    ahead = (2 * t - 1) * (Phi @ found.direction)
    assert ahead.min() >= -1e-12 and ahead.max() > 0.1
    with pytest.warns(SeparableDataWarning, match="quasi-complete"):
        fit = logistic.fit(Phi, t)
    assert not fit.converged and fit.separated == "quasi-complete"
    assert logistic.fit(Phi, t, alpha=[0, 0, 0, 1]).converged


def test_separation_of_many_rows_is_found_too(rng):
    """Where the fit starts from a sample; five rows of 3e4 have the dummy."""
    Phi, t = overlapping(rng, 30000, 11)
    w = np.arange(11.0) - 4
    with pytest.warns(SeparableDataWarning, match=r"\(complete\)"):
        logistic.fit(Phi, Phi @ w > 0)
    Phi[:, 5] = 0
    Phi[np.flatnonzero(t)[::3000], 5] = 1
    with pytest.warns(SeparableDataWarning, match="quasi-complete"):
        logistic.fit(Phi, t)


def test_dependent_columns_are_an_error_without_a_prior(data):
    """The minimum exists, but not one w; a prior on one of them decides."""
    Phi, t = data
    Phi = np.c_[Phi, Phi[:, 1] - Phi[:, 2]]
    with pytest.raises(ValueError, match="got rank 3 for 4 columns"):
        logistic.fit(Phi, t)
    with pytest.raises(ValueError, match="got rank 3 for 5 columns"):
        logistic.fit(np.c_[Phi, 3 * Phi[:, 0]][:3], [0, 1, 0])
    fit = logistic.fit(Phi, t, alpha=[0, 0, 0, 1])
    assert fit.converged and abs(fit.w[3]) < 1e-7
    np.testing.assert_allclose(
        fit.w[:3], logistic.fit(Phi[:, :3], t).w, rtol=1e-6
    )


def test_nearly_dependent_columns_are_fitted(data, rng):
    """Column 3 is column 1 but for 1e-8: the log odds are those of 1e-2."""
    Phi, t = data
    extra = rng.standard_normal(len(t))
    near = np.c_[Phi, Phi[:, 1] + 1e-8 * extra]
    fit = logistic.fit(near, t)
    a = near @ fit.w
    g = logistic.gradient(fit.w, near, t)
    np.testing.assert_allclose(fit.gradient, g, atol=1e-6)
    assert fit.converged and np.abs(g).max() < 1e-6
    b = np.c_[Phi, extra] @ logistic.fit(np.c_[Phi, extra], t).w
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_row_of_weight_zero_decides_nothing(data):
    """With the rows that overlap left out the classes are separable."""
    Phi, t = data
    a = Phi @ [0.3, 1, -2]
    right = (t == (a > 0)).astype(float)
    with pytest.warns(SeparableDataWarning, match=r"\(complete\)"):
        logistic.fit(Phi, t, weights=right)
    alone = np.c_[Phi, right == 0]  # a column that only absent rows have
    with pytest.raises(ValueError, match="column 3 is zero"):
        logistic.fit(alone, t, weights=right)
    far = np.vstack([Phi, [1e20, 1, 1]]), np.append(t, 1.0)
    fit = logistic.fit(*far, weights=np.append(np.ones(len(t)), 0.0))
    np.testing.assert_allclose(fit.w, logistic.fit(Phi, t).w, rtol=1e-9)


def test_a_prior_on_every_weight_answers_everything(data):
    """One class, more columns than rows, copies of columns."""
    Phi, t = data
    for bad_Phi, bad_t in (
        (Phi, 0 * t),
        (Phi[:2], t[:2]),
        (np.c_[Phi, Phi], t),
    ):
        fit = logistic.fit(bad_Phi, bad_t, alpha=1e-3)
        assert fit.converged and np.abs(fit.gradient).max() < 1e-7
    with pytest.raises(ValueError, match="t must hold both classes; got only"):
        logistic.fit(Phi, 0 * t)


# Input.


@given(
    arrays(float, (6, 2), elements=st.floats(-1e8, 1e8, width=32)),
    arrays(int, 6, elements=st.integers(0, 1)),
    st.sampled_from([0.0, 1e-3, 1.0]),
)
def test_fit_answers_or_says_why_not(Phi, t, alpha):
    """Converged with a small gradient, or ValueError, or a named warning."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            fit = logistic.fit(Phi, t, alpha=alpha)
        except ValueError as no:
            assert alpha == 0 and "got" in str(no)
            return
    names = {w.category for w in said}
    assert names <= {newton.NotConverged, SeparableDataWarning}
    assert fit.converged == (not names)
    assert np.isfinite(fit.w).all() and np.isfinite(fit.error)


@given(
    arrays(int, (9, 2), elements=st.integers(-2, 2)),
    arrays(int, 9, elements=st.integers(0, 1)),
)
def test_fit_and_linear_programme_agree_on_separation(Phi, t):
    """One goes where Newton leads, the other asks whether it may end there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparableDataWarning)
        try:
            fit = logistic.fit(Phi, t)
        except ValueError:
            return
    assert (fit.separated or "none") == separation(Phi, t).kind
    assert fit.converged == (fit.separated is None)


@pytest.mark.parametrize("N, M", [(100000, 10), (10000, 50), (20000, 60)])
def test_a_fit_needs_little_memory_beside_the_data(rng, N, M):
    """At most a quarter of Phi and 1 MB, whichever way it starts."""
    Phi, t = overlapping(rng, N, M)
    tracemalloc.start()
    logistic.fit(Phi, t)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= Phi.nbytes / 4 + 1e6


def test_importing_takes_nothing_that_only_trouble_needs():
    """scipy.optimize costs more time than most fits: it waits for a need."""
    code = "import sys, prml4.irls; sys.exit('scipy.optimize' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# One observation at a time.


def test_sequential_steps_are_those_of_the_formula(data):
    """The first two updates written out."""
    Phi, t = data
    rate = logistic.power_rate(0.5, 3, 0.75)
    with pytest.warns(newton.NotConverged, match="after 80 updates"):
        run = logistic.fit_sequential(
            Phi, t, rate=rate, epochs=1, rng=np.random.default_rng(1), tol=1e-9
        )
    first, second = np.random.default_rng(1).integers(len(t), size=len(t))[:2]
    w = 0.5 / 4**0.75 * (t[first] - 0.5) * Phi[first]
    np.testing.assert_allclose(run.path[1], w)
    y = 1 / (1 + np.exp(-Phi[second] @ w))
    w = w + 0.5 / 5**0.75 * (t[second] - y) * Phi[second]
    np.testing.assert_allclose(run.path[2], w)
    assert run.path.shape == (len(t) + 1, 3) and len(run.trace) == 2
    np.testing.assert_allclose(run.average, run.path[40:].mean(axis=0))


def test_decreasing_steps_converge_and_constant_steps_do_not(data):
    """Robbins and Monro (1951), as far as 400 epochs show it."""
    Phi, t = data
    best = logistic.fit(Phi, t).w

    def run(rate):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", newton.NotConverged)
            return logistic.fit_sequential(
                Phi,
                t,
                rate=rate,
                epochs=400,
                thin=50,
                rng=np.random.default_rng(2),
                tol=2e-3,
            )

    falling = run(logistic.power_rate(10, 50))
    steady = run(logistic.constant_rate(0.5))
    assert np.linalg.norm(falling.w - best) < 0.05
    off = np.linalg.norm(steady.path[-200:] - best, axis=1)
    assert off.mean() > 0.3
    assert np.linalg.norm(steady.average - best) < 0.3 * off.mean()


def test_noise_floor_is_the_spread_that_walkers_settle_to(data, rng):
    """Small eta, 4000 walkers started at the minimum, 600 steps: 10 % apart."""
    Phi, t = data
    fit = logistic.fit(Phi, t)
    H = logistic.hessian(fit.w, Phi) / len(t)
    V = logistic.gradient_noise(fit.w, Phi, t)
    eta = 0.05
    C = logistic.noise_floor(H, V, eta)
    S = np.eye(3) - eta * H
    np.testing.assert_allclose(S @ C @ S + eta**2 * V, C, atol=1e-12)
    w = logistic.sequential_runs(
        Phi,
        t,
        rate=logistic.constant_rate(eta),
        steps=600,
        runs=4000,
        rng=rng,
        w0=fit.w,
    )
    np.testing.assert_allclose(np.var(w, axis=0), np.diag(C), rtol=0.15)


def test_walkers_are_taught_with_targets_0_and_1(data, rng):
    """With -1 and 1 they went elsewhere without a word."""
    Phi, t = data
    rate = logistic.constant_rate(0.1)
    with pytest.raises(ValueError, match=r"use \(t \+ 1\) / 2"):
        logistic.sequential_runs(
            Phi, 2 * t - 1, rate=rate, steps=2, runs=2, rng=rng
        )


def test_noise_floor_exists_up_to_two_over_the_largest_curvature():
    """Along an axis of curvature h: C = eta V / (h (2 - eta h))."""
    H = np.diag([1.0, 4.0])
    C = logistic.noise_floor(H, np.eye(2), 0.475)
    np.testing.assert_allclose(np.diag(C), [0.475 / 1.525, 0.475 / 4 / 0.1])
    for rate in (0.5, 1.9):
        with pytest.raises(ValueError, match="rate must be below 2 / 4"):
            logistic.noise_floor(H, np.eye(2), rate)


def test_gradient_noise_is_the_covariance_of_one_row(data, rng):
    """numpy's covariance of the rows of (y - t) phi."""
    Phi, t = data
    w = rng.standard_normal(3)
    rows = [logistic.gradient(w, Phi[[n]], t[[n]]) for n in range(len(t))]
    np.testing.assert_allclose(
        logistic.gradient_noise(w, Phi, t), np.cov(np.array(rows).T, ddof=0)
    )


def test_perceptron_error_is_the_slope_of_the_error_at_infinity(data, rng):
    """E(c w) / c, up to ln 2 per row over c."""
    Phi, t = data
    w = rng.standard_normal(3)
    slope = logistic.error(1e6 * w, Phi, t) / 1e6
    assert logistic.perceptron_error(w, Phi, t) == pytest.approx(slope, 1e-4)


def test_noise_has_a_floor_only_where_something_pulls_back():
    """Along a direction without curvature w wanders; rates are positive."""
    for H in (np.diag([1.0, 0.0]), np.diag([1.0, -1.0]), np.zeros((2, 2))):
        with pytest.raises(ValueError, match="^H must be positive definite"):
            logistic.noise_floor(H, np.eye(2), 0.1)
    for rate in (0.0, -0.1, np.nan):
        with pytest.raises(ValueError, match="^rate must"):
            logistic.noise_floor(np.eye(2), np.eye(2), rate)


def test_a_small_slope_on_a_ray_is_not_convergence(data):
    """Sequential learning names separable classes, as the other fits do."""
    Phi, t = data
    how = {"rate": logistic.constant_rate(1.0), "epochs": 50, "tol": 0.05}
    dummy = np.zeros(80)
    dummy[np.flatnonzero(t)[:5]] = 1
    for X, labels, kind in (
        (Phi, Phi[:, 1] > 0, "complete"),
        (np.c_[0.01 * Phi, 9 * dummy], t, "quasi-complete"),
    ):
        with pytest.warns(SeparableDataWarning, match=rf"\({kind}\)"):
            run = logistic.fit_sequential(
                X, labels, rng=np.random.default_rng(1), **how
            )
        assert not run.converged
    with pytest.raises(ValueError, match="t must hold both classes"):
        logistic.fit_sequential(Phi, 0 * t, rng=np.random.default_rng(1), **how)


def test_separated_classes_have_no_standard_errors(data):
    """A curvature of 1e-16 is the stopping rule's, not the data's."""
    Phi, _ = data
    with pytest.warns(SeparableDataWarning):
        fit = logistic.fit(Phi, Phi[:, 1] > 0)
    with pytest.raises(ValueError, match="fit must have a minimum"):
        logistic.standard_errors(fit, Phi)
    with pytest.raises(ValueError, match="fit must have a minimum"):
        logistic.log_odds_variance(fit, Phi, Phi)


@pytest.mark.parametrize("module", [logistic, softmax, probit, glm])
def test_a_feature_far_from_zero_has_errors_or_says_why_not(data, module):
    """As exact as those of the feature about its mean; at 1e7 the curvature
    has no digits for them."""
    Phi, t = data
    more = (BERNOULLI,) if module is glm else ()

    def slope(offset):
        X = Phi[:, :2] + [0, offset]
        at = (X,) if module is not probit else ()
        return module.standard_errors(module.fit(X, t, *more), *at)[..., 1]

    np.testing.assert_allclose(slope(1e3), slope(0), rtol=1e-8)
    with pytest.raises(ValueError, match="nearly dependent, or far from 0"):
        slope(1e7)


@pytest.mark.parametrize("bias", [5.25, 50.0, 500.0])
def test_a_prior_mean_from_which_nothing_is_seen_is_no_dead_end(bias):
    """At m0 all y_n are 0 or 1 and no row has curvature; the answer is where
    the bias, all but fixed, leaves the slope of the temperature."""
    rings = challenger()
    Phi = np.repeat([[1.0, -31.0]], 46, axis=0)
    Phi[:, 1:] += np.vstack([rings.X, rings.X])
    t = np.repeat([1.0, 0.0], 23)
    counts = np.r_[rings.damaged, 6 - rings.damaged]
    m0 = [bias, 0]
    best = logistic.fit(Phi, t, weights=counts, alpha=[1e6, 0], m0=m0)
    assert best.converged

    def loss(slope):
        return np.sum(counts * np.logaddexp(0, (1 - 2 * t) * (Phi @ slope)))

    lowest = min(loss([bias, s]) for s in np.linspace(-25, 0, 2501))
    assert best.error <= lowest
    assert best.w[0] == pytest.approx(bias, abs=1e-3)


def test_far_prior_means_are_no_dead_ends(rng):
    """In random problems whose prior mean leaves next to no curvature."""
    for _ in range(60):
        N, M = rng.integers(20, 100), rng.integers(2, 6)
        Phi, t = rng.standard_normal((N, M)) + 3, np.arange(N) % 2
        alpha = 10 ** rng.uniform(0, 6, M) * (np.arange(M) > 0)
        m0 = 100 * rng.standard_normal(M)
        assert logistic.fit(Phi, t, alpha=alpha, m0=m0).converged


def test_digits_lost_between_columns_that_are_alike_are_not_promised(rng):
    """To 1e-12 the third is a sum of the others: weights of 1e12 cancel in
    every log odds to four digits, and E moves by as much with any of them."""
    Phi, t = overlapping(rng, 60, 2)
    near = Phi @ [1, 2] + 1e-12 * rng.standard_normal(60)
    with pytest.warns(newton.NotConverged):
        found = logistic.fit(np.c_[Phi, near], t)
    assert not found.converged


@pytest.mark.parametrize(
    ("option", "value"),
    [("epochs", 1.5), ("epochs", 0), ("thin", 0), ("thin", 2.5), ("tol", 0)],
)
def test_a_sequential_run_names_what_is_no_number_of_updates(option, value):
    """No epochs, no share of one, nothing to keep."""
    Phi, t = np.ones((4, 1)), [0, 1, 1, 0]
    how = {"rate": logistic.constant_rate(0.1), "epochs": 1} | {option: value}
    with pytest.raises(ValueError, match=f"{option} must be"):
        logistic.fit_sequential(Phi, t, rng=np.random.default_rng(1), **how)


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (4,), ()])
def test_a_column_of_weights_is_not_broadcast(data, shape):
    """E was the sum over all pairs of rows and targets, 96.5 for 8.9."""
    Phi, t = data
    w = np.ones(shape)
    for call in (
        lambda: logistic.error(w, Phi, t),
        lambda: logistic.gradient(w, Phi, t),
        lambda: logistic.hessian(w, Phi),
        lambda: logistic.perceptron_error(w, Phi, t),
        lambda: logistic.gradient_noise(w, Phi, t),
        lambda: irls.working_response(w, Phi, t),
        lambda: irls.irls_step(np.ones((3, 1)), Phi, t),
        lambda: probit.error(w, Phi, t),
        lambda: probit.gradient(w, Phi, t),
        lambda: probit.hessian(w, Phi, t),
        lambda: probit.information(w, Phi),
        lambda: glm.error(w, Phi, t, BERNOULLI),
        lambda: glm.gradient(w, Phi, t, BERNOULLI),
        lambda: glm.information(w, Phi, BERNOULLI),
        lambda: glm.fisher_step(w, Phi, t, BERNOULLI),
    ):
        with pytest.raises(ValueError, match="w must be a vector with a wei"):
            call()


def test_a_column_of_counts_is_not_broadcast(data):
    """Weights (N, 1) times N terms were N^2."""
    Phi, t = data
    w, column = np.zeros(3), np.ones((len(t), 1))
    for call in (
        lambda: probit.error(w, Phi, t, weights=column),
        lambda: probit.gradient(w, Phi, t, weights=column),
        lambda: probit.hessian(w, Phi, t, weights=column),
        lambda: glm.error(w, Phi, t, BERNOULLI, weights=column),
        lambda: glm.gradient(w, Phi, t, BERNOULLI, weights=column),
        lambda: glm.hessian(w, Phi, t, BERNOULLI, weights=column),
        lambda: glm.information(w, Phi, BERNOULLI, weights=column),
    ):
        with pytest.raises(ValueError, match="weights must have shape"):
            call()
    with pytest.raises(ValueError, match="offset must have shape"):
        glm.error(w, Phi, t, BERNOULLI, offset=column)


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (3, 3), (4,), (1,)])
def test_a_column_of_precisions_is_not_broadcast(data, shape):
    """alpha or m0 as a column gave the prior's sum over all pairs: 45.6 for
    26.6, gradients (M, M), or a log density for each of M wrong means."""
    Phi, t = data
    w, W, wrong = np.ones(3), np.eye(3), np.full(shape, 2.0)
    T = np.arange(len(t)) % 3
    for call in (
        lambda: logistic.map_error(w, Phi, t, wrong),
        lambda: logistic.map_gradient(w, Phi, t, wrong),
        lambda: logistic.map_hessian(w, Phi, wrong),
        lambda: softmax.map_error(W, Phi, T, wrong),
        lambda: softmax.map_gradient(W, Phi, T, wrong),
        lambda: evidence.log_gaussian(w, wrong),
    ):
        with pytest.raises(ValueError, match="alpha must be one number or ha"):
            call()
    for call in (
        lambda: logistic.map_error(w, Phi, t, 1.0, wrong),
        lambda: logistic.map_gradient(w, Phi, t, 1.0, wrong),
        lambda: evidence.log_gaussian(w, 1.0, wrong),
        lambda: evidence.log_joint(w, Phi, t, alpha=1.0, m0=wrong),
    ):
        with pytest.raises(ValueError, match="m0 must be one number or have"):
            call()
    prior = bayes_logistic.prior(3)
    with pytest.raises(ValueError, match=r"w must have shape \(\.\.\., 3\)"):
        prior.log_density(np.ones((3, 1)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_weights_that_are_short_integers_are_summed_as_floats(dtype):
    """w^T phi of two int8 wrapped round at 128, w - m0 of two uint8 at 0."""
    rng = np.random.default_rng(3)
    Phi = rng.integers(0, 100, (30, 3)).astype(dtype)
    t, w, m0 = np.arange(30) % 2, np.array([1, 0, 2]), np.array([2, 1, 0])
    want = logistic.map_error(w, Phi.astype(float), t, 0.5, m0)
    w, m0 = w.astype(dtype), m0.astype(dtype)
    assert logistic.map_error(w, Phi, t, 0.5, m0) == pytest.approx(want)
    E = -evidence.log_likelihood(w, Phi, t)
    assert E == pytest.approx(logistic.error(w, Phi.astype(float), t))
    assert probit.error(w, Phi, t, LOGISTIC) == pytest.approx(E)
    r, z = np.arange(30).astype(dtype), rng.standard_normal(30)
    found = irls.weighted_least_squares(Phi, r, z)
    want = irls.weighted_least_squares(Phi, r.astype(float), z)
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_numbers_of_single_precision_are_added_up_in_double(rng):
    """A time stamp as a column: E was 1553 for 2035."""
    x = (1.7e9 + 100 * rng.standard_normal(50)).astype(np.float32)
    Phi = np.c_[np.ones(50, np.float32), x]
    w = np.array([-1.1 * 1.7e9, 1.1], np.float32)
    t = rng.integers(0, 2, 50)
    for f in (logistic.error, logistic.gradient, probit.error):
        wide = f(w.astype(float), Phi.astype(float), t)
        np.testing.assert_array_equal(f(w, Phi, t), wide)


def test_a_sequential_run_asks_for_a_generator_and_a_function():
    """A seed and a number were an AttributeError and a TypeError."""
    Phi, t = np.c_[np.ones(4), [0.0, 1, 2, 3]], np.array([0.0, 1, 0, 1])
    how = {"rate": logistic.constant_rate(0.1)}
    how["rng"] = np.random.default_rng(0)
    runs = partial(logistic.sequential_runs, runs=2, steps=1)
    for run in (partial(logistic.fit_sequential, epochs=1, tol=1e3), runs):
        run(Phi, t, **how)
        for name, value in (("rate", 0.1), ("rng", 0)):
            with pytest.raises(ValueError, match=f"{name} must be a "):
                run(Phi, t, **how | {name: value})


@pytest.mark.filterwarnings("error")
def test_formulas_read_no_masked_and_no_complex_entries():
    """What a mask hid was used, and what is imaginary dropped."""
    Phi, t, w = np.c_[np.ones(3), [0.0, 1, 2]], [0.0, 1, 1], np.ones(2)
    hidden = np.ma.array(Phi, mask=Phi > 1)
    for bad, said in ((hidden, "hide no entries"), (Phi + 1j, "real numbers")):
        for formula in (logistic.error, logistic.gradient):
            with pytest.raises(ValueError, match=f"Phi must .*{said}"):
                formula(w, bad, t)
        with pytest.raises(ValueError, match=f"Phi must .*{said}"):
            least_squares.error(w, bad, t)


def test_the_noise_floor_reads_all_of_its_matrices():
    """eigh looks at one triangle only, and did not see what the other holds."""
    for bad, said in (
        ([[1, 5.0], [0, 1]], "H must be symmetric"),
        ([[1, np.nan], [0, 1]], "H must be finite"),
        (np.eye(3), "H must have shape"),
    ):
        with pytest.raises(ValueError, match=said):
            logistic.noise_floor(np.array(bad), np.eye(2), 0.1)
    with pytest.raises(ValueError, match="V must be symmetric"):
        logistic.noise_floor(np.eye(2), np.array([[1, 2.0], [0, 1]]), 0.1)


def test_walkers_and_their_rates_say_what_they_cannot_walk_on(rng):
    t, how = [0.0, 1, 1], {"rate": logistic.constant_rate(0.1), "rng": rng}
    for more, Phi, said in (
        ({"steps": 1, "runs": 2}, [[1.0], [np.nan], [2]], "Phi must be finite"),
        ({"steps": 1.5, "runs": 2}, [[1.0], [0], [2]], "steps must be a whole"),
        ({"steps": 1, "runs": 0}, [[1.0], [0], [2]], "runs must be a whole"),
    ):
        with pytest.raises(ValueError, match=said):
            logistic.sequential_runs(Phi, t, **more, **how)
    with pytest.raises(ValueError, match="k0 must be >= 0"):
        logistic.power_rate(1.0, k0=-1)
    for c, power in ((np.nan, 1.0), (-1.0, 1.0), (1.0, np.nan), (1.0, "1")):
        with pytest.raises(ValueError, match="(c|power) must"):
            logistic.power_rate(c, power=power)
    for eta in (np.nan, -0.1, [0.1, 0.2], None):
        with pytest.raises(ValueError, match="eta must"):
            logistic.constant_rate(eta)


def test_formulas_with_a_prior_drop_no_imaginary_parts():
    w, Phi, t = np.ones(2), np.eye(2), np.array([0.0, 1])
    with pytest.raises(ValueError, match="alpha must hold real numbers"):
        logistic.map_error(w, Phi, t, 1j)
    with pytest.raises(ValueError, match="m0 must hold real numbers"):
        logistic.map_gradient(w, Phi, t, 1.0, 1j)
