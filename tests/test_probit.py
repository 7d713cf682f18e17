"""prml4.probit: thresholds, the probit error, and labels that may be wrong."""

import warnings
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate, optimize, stats

from prml4 import check, logistic, probit
from prml4.models import data
from prml4.models.likelihoods import (
    CLOGLOG,
    LOGISTIC,
    PROBIT,
    Likelihood,
    flipped,
)
from prml4.numerics import newton
from prml4.numerics.separation import SeparableDataWarning, separation
from tests.campaigns import probit as problems
from tests.campaigns.problems import draw

LIKELIHOODS = [PROBIT, LOGISTIC, CLOGLOG]
CDFS = {
    "probit": mp.ncdf,
    "logistic": lambda a: 1 / (1 + mp.exp(-a)),
    "complementary log-log": lambda a: -mp.expm1(-mp.exp(a)),
}
EPSILONS = [0.0, 1e-6, 0.1, 0.4]
every = pytest.mark.parametrize("f", LIKELIHOODS, ids=lambda f: f.name)
noisy = pytest.mark.parametrize("epsilon", EPSILONS)


def exact(f, epsilon, t, a):
    """-ln p(t | a) and two derivatives with 60 digits."""
    cdf = CDFS[f.name]

    def E(x):
        y = cdf(x) if t else 1 - cdf(x)
        return -mp.log(epsilon + (1 - 2 * mp.mpf(epsilon)) * y)

    with mp.workdps(60 if abs(a) < 5 else 700):
        return [float(mp.diff(E, mp.mpf(a), k)) for k in range(3)]


@pytest.fixture
def sample(rng):
    """Overlapping classes, three columns, weights."""
    Phi = np.c_[np.ones(60), rng.standard_normal((60, 2))]
    theta = rng.standard_normal(60)
    t = probit.threshold_targets(Phi @ [0.3, 1.0, -2.0], theta)
    return Phi, t, rng.integers(1, 4, 60).astype(float)


# Thresholds.


def test_a_threshold_is_reached_from_equality_on():
    """t = 1 if a >= theta."""
    t = probit.threshold_targets([1.0, 2.0, 3.0], 2.0)
    np.testing.assert_array_equal(t, [0.0, 1.0, 1.0])


def test_mixture_cdf_is_the_integral_of_the_density():
    """Adaptive quadrature; the density against scipy's."""
    mix = [0.3, 0.7], [-2.0, 1.5], [0.5, 1.2]
    for a in (-3.0, 0.2, 4.0):
        area, _ = integrate.quad(probit.mixture_pdf, -np.inf, a, args=mix)
        assert probit.mixture_cdf(a, *mix) == pytest.approx(area, abs=1e-9)
    theirs = 0.3 * stats.norm(-2, 0.5).pdf(0.4) + 0.7 * stats.norm(
        1.5, 1.2
    ).pdf(0.4)
    assert probit.mixture_pdf(0.4, *mix) == pytest.approx(theirs)
    assert probit.mixture_cdf(np.zeros((2, 3)), *mix).shape == (2, 3)


def test_draws_of_a_mixture_have_its_distribution(rng):
    """Kolmogorov and Smirnov do not object; mean and variance fit."""
    mix = [0.3, 0.7], [-2.0, 1.5], [0.5, 1.2]
    theta = probit.draw_mixture(rng, 20_000, *mix)
    assert theta.shape == (20_000,)
    assert stats.kstest(theta, probit.mixture_cdf, args=mix).pvalue > 1e-3


# One row.


@every
@noisy
@pytest.mark.parametrize("t", [0, 1])
def test_error_of_a_row_and_its_derivatives(f, epsilon, t):
    """Against 60 digits; cancellation may cost E'' some of its own size."""
    for a in (-4.0, -0.7, 0.0, 1.3, 3.0):
        found = np.negative(flipped(f, epsilon).log_p(a, t, 2))
        want = exact(f, epsilon, t, a)
        np.testing.assert_allclose(found[:2], want[:2], rtol=1e-11)
        np.testing.assert_allclose(found[2], want[2], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("a", [-1000.0, -200.0, -30.0, 9.0])
def test_probit_is_accurate_to_minus_a_thousand(a):
    """-ln Phi, the inverse Mills ratio, r (r + a): to 1e-12 of themselves."""
    found = np.negative(PROBIT.log_p(a, 1, 2))
    with mp.workdps(50):
        x = mp.mpf(a)
        Q = mp.erfc(-x / mp.sqrt(2)) / 2
        r = mp.npdf(x) / Q
        want = [-mp.log(Q), -r, r * (r + x)]
        np.testing.assert_allclose(found, np.array(want, float), 1e-12)


def test_cloglog_in_both_tails():
    """Nothing overflows; v = e^a keeps its digits on either side of 0.02."""
    for a in (-300.0, -20.0, np.log(0.02) - 1e-9, np.log(0.02) + 1e-9, 3.0):
        with mp.workdps(400):
            v = mp.exp(a)
            q = v / mp.expm1(v)
            f = -mp.expm1(-v)
            want = [mp.log(f), q, -q * (v / f - 1)]
            np.testing.assert_allclose(
                CLOGLOG.log_p(a, 1, 2), np.array(want, float), rtol=1e-12
            )
        np.testing.assert_allclose(CLOGLOG.log_p(a, 0, 2), [-float(v)] * 3)
    for t in (0, 1):
        for a in (-1e4, 650.0, 1e4):
            assert np.isfinite(CLOGLOG.log_p(a, t)).all()
    for a in (-800.0, -1e8):  # e^a = 0, and ln f_1 = a
        np.testing.assert_allclose(
            CLOGLOG.log_p(a, 1, 2), [a, 1, 0], atol=1e-300
        )


@every
def test_honesty_is_bayes_rule_for_a_coin(f):
    """A coin decides with chance 2 epsilon, f otherwise; 1 without noise."""
    a, epsilon = np.linspace(-3, 2, 7), 0.15
    for t in (0, 1):
        y = np.exp(f.log_p(a, t)[0])
        joint = 0.7 * y, 0.3 * 0.5
        want = joint[0] / (joint[0] + joint[1])
        found = probit.honesty(a, t, flipped(f, epsilon))
        np.testing.assert_allclose(found, want)
        np.testing.assert_array_equal(probit.honesty(a, t, f), np.ones(7))
    np.testing.assert_array_equal(probit.honesty(-1e6, 1, f), 1)


# All rows.


@every
@noisy
def test_gradient_and_hessian_are_derivatives(sample, f, epsilon):
    """Central differences of error and gradient, weights included."""
    Phi, t, c = sample
    w = np.array([0.2, -0.3, 0.4])

    def options(x):
        return x, Phi, t, flipped(f, epsilon), c

    check.gradient(
        "probit-gradient",
        lambda x: probit.error(*options(x)),
        w,
        display=lambda x: probit.gradient(*options(x)),
    )
    check.jacobian(
        "probit-hessian",
        lambda x: probit.gradient(*options(x)),
        w,
        display=lambda x: probit.hessian(*options(x)),
    )


@every
@noisy
def test_information_is_the_mean_of_the_hessian(sample, f, epsilon):
    """Over all labels, one row at a time."""
    Phi, _, c = sample
    w = np.array([0.2, -0.3, 0.4])
    f = flipped(f, epsilon)
    p = f.probabilities(Phi @ w)
    mean = sum(
        probit.hessian(w, Phi, np.full(60, t), f, c * p[:, t]) for t in (0, 1)
    )
    found = probit.information(w, Phi, f, c)
    np.testing.assert_allclose(found, mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        probit.information(w, Phi, f),
        probit.information(w, Phi, f, np.ones(60)),
    )


@every
def test_joint_derivatives(sample, f):
    """Differences for the gradient; the mean of u u^T for the information."""
    Phi, t, c = sample
    theta = np.array([0.2, -0.3, 0.4, 0.07])
    for weights in (c, None):
        check.gradient(
            "probit-joint",
            lambda x, k=weights: probit.error(
                x[:3], Phi, t, flipped(f, x[3]), k
            ),
            theta,
            display=lambda x, k=weights: probit.joint_gradient(x, Phi, t, f, k),
        )
    p = flipped(f, 0.07).probabilities(Phi @ theta[:3])
    want = 0.0
    for n in range(60):
        score = [
            probit.joint_gradient(theta, Phi[[n]], np.array([k]), f)
            for k in (0, 1)
        ]
        for k in (0, 1):
            want = want + c[n] * p[n, k] * np.outer(score[k], score[k])
    found = probit.joint_information(theta, Phi, f, c)
    np.testing.assert_allclose(found, want, rtol=1e-9)


def test_the_logistic_likelihood_is_chapter_seven(sample):
    """Error, gradient, Hessian and fit; expected and observed are one."""
    Phi, t, c = sample
    w = np.array([0.2, -0.3, 0.4])
    rows = Phi, t, LOGISTIC, c
    E, g, H = logistic.problem(Phi, t, 0.0, None, c)[0](w)
    assert probit.error(w, *rows) == pytest.approx(E, rel=1e-13)
    np.testing.assert_allclose(probit.gradient(w, *rows), g)
    np.testing.assert_allclose(probit.hessian(w, *rows), H)
    np.testing.assert_allclose(probit.information(w, Phi, LOGISTIC, c), H)
    ours = probit.fit(Phi, t, likelihood=LOGISTIC, weights=c, alpha=0.3)
    theirs = logistic.fit(Phi, t, weights=c, alpha=0.3)
    np.testing.assert_allclose(ours.w, theirs.w, rtol=1e-9)
    H = logistic.curvature(theirs, Phi)
    np.testing.assert_allclose(ours.H, H, rtol=1e-9)
    assert ours.error == pytest.approx(theirs.error, rel=1e-12)


# Fits.


@every
@pytest.mark.parametrize("scoring", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_fit_ends_where_a_search_without_derivatives_does(
    sample, f, scoring, epsilon
):
    """Nelder and Mead; fields are what the functions say."""
    Phi, t, c = sample
    alpha, m0 = np.array([0.0, 0.5, 2.0]), np.array([0.1, 0.2, -0.3])
    f = flipped(f, epsilon)

    def target(w):
        prior = 0.5 * np.sum(alpha * (w - m0) ** 2)
        return probit.error(w, Phi, t, f, c) + prior

    fit = probit.fit(
        Phi,
        t,
        likelihood=f,
        alpha=alpha,
        m0=m0,
        weights=c,
        scoring=scoring,
    )
    best = optimize.minimize(
        target, fit.w + 0.3, method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-12, "maxiter": 2000},
    )  # fmt: skip
    np.testing.assert_allclose(fit.w, best.x, atol=1e-5)
    assert fit.converged and fit.separated is None
    assert fit.error == pytest.approx(target(fit.w), rel=1e-12)
    assert np.abs(fit.gradient).max() < 1e-6
    H = probit.hessian(fit.w, Phi, t, f, c) + np.diag(alpha)
    F = probit.information(fit.w, Phi, f, c) + np.diag(alpha)
    np.testing.assert_allclose(fit.H, H)
    np.testing.assert_allclose(fit.information, F)
    for expected, matrix in ((True, F), (False, H)):
        np.testing.assert_allclose(
            probit.standard_errors(fit, expected=expected),
            np.sqrt(np.diag(np.linalg.inv(matrix))),
        )
    assert np.all(np.diff(fit.trace) <= 1e-10)


def test_newton_is_quadratic_where_scoring_is_linear(sample):
    """The same minimum, fewer steps."""
    Phi, t, _ = sample
    newtons = probit.fit(Phi, t)
    scoring = probit.fit(Phi, t, scoring=True)
    np.testing.assert_allclose(newtons.w, scoring.w, rtol=1e-6)
    assert len(newtons.trace) < len(scoring.trace)


def test_without_noise_one_start_is_enough(sample):
    """m0, and as many steps from there as are allowed."""
    Phi, t, _ = sample
    fit = probit.fit(Phi, t)
    assert fit.trace[0] == pytest.approx(60 * np.log(2), rel=1e-12)
    with pytest.warns(newton.NotConverged, match="stopped after 3 steps"):
        short = probit.fit(Phi, t, max_iter=3)
    assert short.trace == fit.trace[:4]


def test_a_start_without_curvature_is_no_dead_end(sample):
    """Where e^-|a| is 0 in every row Newton's method cannot take a step."""
    Phi, t, _ = sample
    far, near = (
        probit.fit(Phi, t, likelihood=LOGISTIC, m0=m0)
        for m0 in ([0, 3e5, 0], None)
    )
    assert far.converged
    np.testing.assert_allclose(far.w, near.w, rtol=1e-7)


def test_newton_with_noise_knows_the_prior(sample):
    """Its curvature added; without it a strong prior would take hundreds."""
    Phi, t, _ = sample
    fit = probit.fit(Phi, t, likelihood=flipped(PROBIT, 0.1), alpha=20.0)
    assert fit.converged and len(fit.trace) < 10


def test_probit_equals_statsmodels(sample):
    """Its Probit reports observed, its GLM expected standard errors."""
    api = pytest.importorskip("statsmodels.api")
    Phi, t, _ = sample
    fit = probit.fit(Phi, t)
    peer = api.Probit(t, Phi).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(fit.w, peer.params, rtol=1e-7)
    observed = probit.standard_errors(fit, expected=False)
    np.testing.assert_allclose(observed, peer.bse, rtol=1e-7)
    assert fit.error == pytest.approx(-peer.llf, rel=1e-12)


@pytest.mark.parametrize(
    "f, name, known",
    [
        (LOGISTIC, "Logit", 11.2322),
        (PROBIT, "Probit", 10.1198),
        (CLOGLOG, "CLogLog", 3.4464),
    ],
)
def test_beetles_equal_statsmodels(f, name, known):
    """Coefficients, standard errors, deviance: and the published deviances."""
    api = pytest.importorskip("statsmodels.api")
    b = data.beetles()
    Phi = data.with_bias(b.x)
    rows, t, c = probit.grouped(Phi, b.k, b.n)
    fit = probit.fit(rows, t, likelihood=f, weights=c)
    family = api.families.Binomial(getattr(api.families.links, name)())
    peer = api.GLM(np.c_[b.k, b.n - b.k], Phi, family=family).fit(tol=1e-14)
    np.testing.assert_allclose(fit.w, peer.params, rtol=1e-6)
    np.testing.assert_allclose(probit.standard_errors(fit), peer.bse, rtol=1e-5)
    y = probit.predict_proba(fit, Phi)[:, 1]
    D = probit.deviance(b.k, b.n, y)
    assert D == pytest.approx(peer.deviance, rel=1e-8)
    assert D == pytest.approx(known, abs=1e-4)
    assert probit.fit_noise(rows, t, likelihood=f, weights=c).epsilon == 0.0


def test_grouped_rows_are_rows_repeated():
    """And the deviance is twice the error above that of the frequencies."""
    Phi = data.with_bias([0.0, 1.0, 3.0])
    k, n = np.array([1.0, 0.0, 4.0]), np.array([3.0, 2.0, 4.0])
    rows, t, c = probit.grouped(Phi, k, n)
    copies = np.repeat(rows, c.astype(int), axis=0)
    assert copies.shape == (9, 2) and t @ c == 5
    assert probit.grouped([[1.0]], [1], [1])[2].tolist() == [1, 0]
    w = np.array([-1.0, 0.8])
    one = probit.error(w, rows, t, weights=c)
    long = probit.error(w, copies, np.repeat(t, c.astype(int)))
    assert one == pytest.approx(long)
    y = probit.predict_proba(w, Phi)[:, 1]
    best = -np.log(1 / 3) - 2 * np.log(2 / 3)
    assert probit.deviance(k, n, y) == pytest.approx(2 * (one - best))
    assert probit.deviance([0, 5], [3, 5], [0.0, 1.0]) == 0
    with np.errstate(divide="ignore"):
        assert probit.deviance([1], [3], [0.0]) == np.inf


@pytest.mark.parametrize("f", LIKELIHOODS[:2])
def test_label_noise_is_recovered(rng, f):
    """4000 rows, 8 % flipped: both w and epsilon within four errors."""
    Phi = data.with_bias(1.5 * rng.standard_normal((4000, 2)))
    w = np.array([0.5, 2.0, -1.0])
    p = flipped(f, 0.08).probabilities(Phi @ w)[:, 1]
    t = (rng.random(4000) < p).astype(float)
    fit = probit.fit_noise(Phi, t, likelihood=f)
    assert fit.converged
    z = (np.append(fit.w, fit.epsilon) - [*w, 0.08]) / probit.standard_errors(
        fit
    )
    assert np.abs(z).max() < 4
    g = probit.joint_gradient(np.append(fit.w, fit.epsilon), Phi, t, f)
    assert np.abs(g).max() < 1e-4
    np.testing.assert_allclose(fit.gradient, g[:3], atol=1e-9)
    noisy = fit.likelihood
    assert noisy.epsilon == fit.epsilon
    H = probit.joint_hessian(np.append(fit.w, fit.epsilon), Phi, t, f)
    np.testing.assert_allclose(fit.H, H)
    given = probit.fit(Phi, t, likelihood=noisy)
    np.testing.assert_allclose(given.w, fit.w, rtol=1e-5)
    assert given.error == pytest.approx(fit.error, rel=1e-10)
    plain = probit.fit(Phi, t, likelihood=f)
    assert plain.error > fit.error
    assert np.linalg.norm(plain.w) < 0.8 * np.linalg.norm(w)
    strong = {"alpha": 50.0, "m0": [0, 1, 0]}
    prior = probit.fit_noise(Phi, t, likelihood=f, **strong)
    again = probit.fit(Phi, t, likelihood=prior.likelihood, **strong)
    np.testing.assert_allclose(prior.w, again.w, rtol=1e-5)
    assert prior.error == pytest.approx(again.error, rel=1e-10)


def test_honest_labels_leave_epsilon_small(rng):
    """Either 0 or within three standard errors of it."""
    Phi = data.with_bias(2.0 * rng.standard_normal((1500, 1)))
    t = probit.threshold_targets(Phi @ [0.2, 1.0], rng.standard_normal(1500))
    fit = probit.fit_noise(Phi, t)
    assert fit.epsilon < 0.02
    assert fit.error <= probit.fit(Phi, t).error + 1e-9


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@every
def test_influence_is_the_derivative_of_the_fit(sample, f, epsilon):
    """A refit with the new row at weight 1e-5."""
    Phi, t, c = sample
    options = {"likelihood": flipped(f, epsilon), "alpha": 1.0}
    fit = probit.fit(Phi, t, weights=c, **options)
    phi, k = np.array([1.0, 1.5, -0.5]), 0.0
    rows, labels = np.vstack([Phi, phi]), np.r_[t, k]
    ends = [
        probit.fit(rows, labels, weights=np.r_[c, h], **options).w
        for h in (1e-5, 0.0)
    ]
    change = (ends[0] - ends[1]) / 1e-5
    np.testing.assert_allclose(
        probit.influence(fit, phi, k), change, rtol=1e-3, atol=1e-4
    )


def test_without_a_minimum_there_is_no_influence(sample):
    """Where classes are separable w moved by 1e17 for a row more."""
    Phi, *_ = sample
    with pytest.warns(SeparableDataWarning):
        fit = probit.fit(Phi, Phi[:, 1] > 0)
    with pytest.raises(ValueError, match="separable classes"):
        probit.influence(fit, Phi[0], 1)


def test_errors_and_influence_know_that_epsilon_was_fitted(rng):
    """Second differences of E by w and epsilon; and a refit. With epsilon held,
    observed errors were a fifth too small, influence nothing."""
    Phi = data.with_bias(rng.standard_normal((300, 2)))
    p = flipped(PROBIT, 0.1).probabilities(Phi @ [0.5, 2, -1])[:, 1]
    t = (rng.random(300) < p).astype(float)
    fit = probit.fit_noise(Phi, t)

    def slope(theta):
        return probit.joint_gradient(theta, Phi, t)

    theta, h = np.append(fit.w, fit.epsilon), 1e-5 * np.eye(4)
    H = np.array([slope(theta + e) - slope(theta - e) for e in h]) / 2e-5
    want = np.sqrt(np.diag(np.linalg.inv(H)))
    observed = probit.standard_errors(fit, expected=False)
    np.testing.assert_allclose(observed, want, rtol=1e-5)
    np.testing.assert_allclose(observed, probit.standard_errors(fit), rtol=0.5)
    rows, labels = np.vstack([Phi, Phi[:1]]), np.r_[t, 1 - t[0]]
    ends = [
        probit.fit_noise(rows, labels, weights=np.append(np.ones(300), c))
        for c in (1e-4, 0.0)
    ]
    new, old = (np.append(end.w, end.epsilon) for end in ends)
    found = probit.influence(fit, Phi[0], 1 - t[0])
    np.testing.assert_allclose(found, (new - old) / 1e-4, rtol=1e-2, atol=1e-3)

    def loss(theta):
        y = stats.norm.cdf(Phi[0] @ theta[:3])
        p = theta[3] + (1 - 2 * theta[3]) * y
        return -np.log(p if t[0] == 0 else 1 - p)

    g = [(loss(theta + e) - loss(theta - e)) / 2e-5 for e in h]
    np.testing.assert_allclose(found, -np.linalg.solve(H, g), rtol=1e-5)


def test_a_new_row_is_of_class_0_or_1(sample):
    """-1 counted as a label three times as far on the wrong side."""
    fit = probit.fit(*sample[:2])
    with pytest.raises(ValueError, match=r"t must be in \{0, 1\}; got \{-1\}"):
        probit.influence(fit, sample[0][0], -1)


# When there is no answer.


@every
@pytest.mark.parametrize("scoring", [False, True])
def test_separable_data_are_named(f, scoring):
    """Complete and quasi-complete; a prior gives an answer."""
    Phi = data.with_bias([-2.0, -1.0, 1.0, 2.0])
    for t, kind in (([0, 0, 1, 1], "complete"), ([0, 1, 1, 1], "complete")):
        with pytest.warns(SeparableDataWarning, match=kind):
            fit = probit.fit(Phi, t, likelihood=f, scoring=scoring)
        assert not fit.converged and fit.separated == kind
        with pytest.warns(SeparableDataWarning, match=kind):
            noise = probit.fit_noise(Phi, t, likelihood=f)
        assert noise.separated == kind
    ties = data.with_bias([-1.0, 0.0, 0.0, 1.0])
    with pytest.warns(SeparableDataWarning, match="quasi-complete"):
        probit.fit(ties, [0, 0, 1, 1], likelihood=f, scoring=scoring)
    calm = probit.fit(
        Phi, [0, 0, 1, 1], likelihood=f, scoring=scoring, alpha=0.1
    )
    assert calm.converged


def test_with_noise_overlapping_data_may_lack_a_minimum():
    """One wrong label among clear ones: a step is best, and it has no w."""
    x = np.delete(np.arange(-3.0, 3.5, 0.5), 6)
    Phi, t = data.with_bias(x), (x > 0) | (x == -3)
    assert separation(Phi, t).kind == "none"
    assert probit.fit(Phi, t).converged
    with pytest.warns(newton.NotConverged, match="no minimum at finite w"):
        fit = probit.fit(Phi, t, likelihood=flipped(PROBIT, 0.05))
    assert not fit.converged and fit.separated is None
    step = -np.log(0.05) - 11 * np.log(0.95)
    assert fit.error == pytest.approx(step)
    assert probit.fit(
        Phi, t, likelihood=flipped(PROBIT, 0.05), alpha=0.01
    ).converged


def test_a_minimum_above_a_step_does_not_say_that_no_label_is_wrong():
    """epsilon = 0 was converged, 1.8 above where E falls to for 1/12."""
    x = np.delete(np.arange(-3.0, 3.5, 0.5), 6)
    Phi, t = data.with_bias(x), (x > 0) | (x == -3)
    with pytest.warns(newton.NotConverged, match="no minimum at finite w"):
        fit = probit.fit_noise(Phi, t)
    step = -np.log(1 / 12) - 11 * np.log(11 / 12)
    assert not fit.converged and fit.error == pytest.approx(step)
    assert probit.fit_noise(Phi, t, alpha=0.01).converged


def test_a_minimum_above_a_step_is_none_where_epsilon_is_given():
    """A flat fit was converged, 4.7 above where other starts fall for ever."""
    x = np.append(np.delete(np.arange(-3.0, 3.5, 0.5), 6), 50.0)
    Phi, t, tell = data.with_bias(x), (x > 0) & (x < 50), flipped(PROBIT, 0.02)
    with pytest.warns(newton.NotConverged, match="no minimum at finite w"):
        fit = probit.fit(Phi, t, likelihood=tell)
    step = -np.log(0.02) - 12 * np.log(0.98)
    assert not fit.converged and fit.error == pytest.approx(step)
    flat = probit.fit(Phi, t, likelihood=tell, m0=np.zeros(2))
    assert flat.converged and flat.error > step + 4.6
    calm = probit.fit(Phi, t, likelihood=tell, alpha=0.01)
    assert calm.converged and calm.error < flat.error


def test_only_noise_can_take_the_minimum_away_unseen(sample, monkeypatch):
    """Too few steps are too few; with epsilon there is another suspicion."""
    Phi, t, _ = sample
    kept = probit._descent

    def stopped(*arguments):
        return replace(kept(*arguments), converged=False)

    monkeypatch.setattr(probit, "_descent", stopped)
    for epsilon, suspects in ((0.0, False), (0.1, True)):
        with pytest.warns(newton.NotConverged, match="stopped after") as said:
            probit.fit(Phi, t, likelihood=flipped(PROBIT, epsilon))
        assert ("no minimum" in str(said[0].message)) == suspects
        assert ": too few" in str(said[0].message)
        assert said[0].filename == __file__


def test_an_outlier_without_weight_counts_for_nothing(rng):
    """Its slope by epsilon, beyond all doubles, does not either."""
    Phi = data.with_bias(rng.standard_normal(100))
    t = probit.threshold_targets(Phi @ [0.0, 1.0], rng.standard_normal(100))
    out = np.vstack([Phi, [1.0, 1e4]]), np.append(t, 0.0)
    fit = probit.fit_noise(*out, weights=np.append(np.ones(100), 0.0))
    without = probit.fit_noise(Phi, t)
    assert fit.epsilon == pytest.approx(without.epsilon)
    np.testing.assert_allclose(fit.w, without.w, rtol=1e-6)
    theta, c = np.array([0.0, 1.0, 0.0]), np.append(np.ones(100), 0.0)
    g = probit.joint_gradient(theta, *out, weights=c)
    want = probit.joint_gradient(theta, Phi, t)
    np.testing.assert_allclose(g, want, rtol=1e-12)


@pytest.mark.parametrize(
    "Phi",
    [np.ones((8, 1)), np.c_[np.ones(8), np.arange(8) % 2], [[1.0], [-1]] * 4],
    ids=["one group", "two groups", "two groups that mirror each other"],
)
def test_noise_that_nothing_tells_from_the_weights_is_refused(Phi):
    """E is flat: epsilon was 0 or 0.07, by rounding, and converged=True."""
    t = np.r_[0.0, 0, 0, 1, 1, 1, 1, 1]
    with pytest.raises(ValueError, match="must tell epsilon from"):
        probit.fit_noise(Phi, t)
    assert probit.fit_noise(Phi, t, alpha=1.0).converged


def test_with_noise_there_may_be_two_valleys():
    """A shallow one near w = 0, and one that goes on to infinity."""
    x = np.array([-3.0, -2, -1, 1, 2, 3, 4])
    Phi, t = data.with_bias(x), (x > 0) | (x == -3)
    near = probit.fit(Phi, t, likelihood=flipped(PROBIT, 0.1), m0=[0, 0])
    step = -np.log(0.1) - 6 * np.log(0.9)
    assert near.converged and near.error > step + 0.2
    with pytest.warns(newton.NotConverged, match="no minimum"):
        far = probit.fit(Phi, t, likelihood=flipped(PROBIT, 0.1), m0=[0, 5])
    assert far.error == pytest.approx(step)


def test_of_two_ends_as_low_the_minimum_counts():
    """One start ends at it, another as low where some a_n still moves."""
    p = draw(np.random.default_rng([77, 180]), False)
    fit = probit.fit(p.Phi, p.t, likelihood=flipped(PROBIT, 0.1), **p.options)
    assert fit.converged
    assert np.abs(p.Phi @ np.linalg.solve(fit.H, fit.gradient)).max() < 1e-9


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [750, 2722, 3599, 4542, 5381, 8904, 9075])
def test_some_valleys_are_found_by_a_change_of_sign_only(n):
    """Each ended up to 4.4 nats above where one of five other starts leads."""
    labels = problems.trial(np.random.default_rng([0, False, n]), False)
    assert "searched" in labels and "beaten" not in labels


@pytest.mark.parametrize(("seed", "lowest"), [(13, 69.1335), (24, 67.4013)])
def test_labels_that_say_nothing_have_many_valleys(seed, lowest):
    """From guesses at epsilon alone Newton's method ends 1.9 nats higher."""
    rng = np.random.default_rng(seed)
    Phi = np.c_[np.ones(110), rng.normal(size=(110, 5))]
    t = rng.integers(2, size=110)
    fit = probit.fit_noise(Phi, t, alpha=1e-4)
    assert fit.converged
    assert fit.error < lowest + 0.001


def test_sure_rows_tell_all_about_wrong_labels():
    """At epsilon = 0 a row of probability 1 has infinite information: that
    is a large number, not a division by zero on the way."""
    F = probit.joint_information(np.array([60.0, 0.0]), np.eye(1), PROBIT)
    assert np.isfinite(F).all() and F[1, 1] == 1e200
    rng = np.random.default_rng([0, 0, 1675])
    p = draw(rng, False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = probit.fit_noise(p.Phi, p.t, likelihood=PROBIT, **p.options)
    assert found.converged


def test_a_saddle_is_no_minimum():
    """Between two valleys the gradient is 0 as well: one step, of length 0."""
    x = np.array([-6.0, -2, -1, 1, 2, 3])
    rows = x[:, None], (x > 0) | (x == -6), flipped(PROBIT, 0.1)

    def slope(w):
        return probit.gradient(np.array([w]), *rows)[0]

    top = optimize.brentq(slope, 0.2, 0.3, xtol=1e-15)
    how = {"likelihood": rows[2], "m0": [top]}
    with pytest.warns(newton.NotConverged, match="no minimum"):
        fit = probit.fit(*rows[:2], **how)
    assert fit.w[0] == pytest.approx(top, abs=1e-9) and fit.H[0, 0] < -1
    assert not fit.converged


def test_dependent_columns_and_one_class_are_errors(sample):
    """As in chapter 7."""
    Phi, t, _ = sample
    with pytest.raises(ValueError, match="independent columns"):
        probit.fit(np.c_[Phi, Phi[:, 1]], t)
    with pytest.raises(ValueError, match="both classes"):
        probit.fit(Phi, np.ones(60))
    assert probit.fit(Phi, np.ones(60), alpha=1.0).converged


@pytest.mark.parametrize(
    "k, n",
    [([3], [2]), ([-1], [2]), ([0], [0]), ([1, 1], [2]), ([np.nan], [1])],
)
def test_impossible_counts_are_refused(k, n):
    """k between 0 and n > 0, one pair per row."""
    with pytest.raises(ValueError, match="^[kn] must"):
        probit.grouped([[1.0]], k, n)


@settings(max_examples=60)
@given(
    arrays(float, (6, 2), elements=st.floats(-1e6, 1e6, width=32)),
    arrays(int, 6, elements=st.integers(0, 1)),
    st.sampled_from([0.0, 1e-3, 1.0]),
    st.sampled_from([0.0, 0.1]),
)
def test_fit_answers_or_says_why_not(Phi, t, alpha, epsilon):
    """Converged, or ValueError, or a named warning."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            fit = probit.fit(
                Phi, t, alpha=alpha, likelihood=flipped(PROBIT, epsilon)
            )
        except ValueError as no:
            assert alpha == 0 and "got" in str(no)
            return
    names = {w.category for w in said}
    assert names <= {newton.NotConverged, SeparableDataWarning}
    assert fit.converged == (not names)
    assert np.isfinite(fit.w).all() and np.isfinite(fit.error)


@settings(max_examples=60)
@given(
    arrays(int, (9, 2), elements=st.integers(-2, 2)),
    arrays(int, 9, elements=st.integers(0, 1)),
    st.sampled_from(LIKELIHOODS),
)
def test_fit_and_linear_programme_agree_on_separation(Phi, t, f):
    """For every log-concave activation, as Albert and Anderson for sigma."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparableDataWarning)
        try:
            fit = probit.fit(Phi, t, likelihood=f)
        except ValueError:
            return
    assert (fit.separated or "none") == separation(Phi, t).kind
    assert fit.converged == (fit.separated is None)


# Symmetries.


def test_symmetries_of_the_fit(sample, rng):
    """Permuted rows, swapped classes, doubled rows, another basis."""
    Phi, t, c = sample
    for epsilon in (0.0, 0.1):
        options = {"likelihood": flipped(PROBIT, epsilon)}
        options["alpha"] = 0.5 * (epsilon > 0)
        fit = probit.fit(Phi, t, weights=c, **options)
        order = rng.permutation(60)
        for P, k, v, sign in (
            (Phi[order], t[order], c[order], 1),
            (Phi, 1 - t, c, -1),
            (np.r_[Phi, Phi], np.r_[t, t], np.r_[c, c] / 2, 1),
        ):
            again = probit.fit(P, k, weights=v, **options)
            np.testing.assert_allclose(sign * again.w, fit.w, rtol=1e-6)
    S = rng.standard_normal((3, 3)) + 2 * np.eye(3)
    np.testing.assert_allclose(
        S @ probit.fit(Phi @ S, t).w, probit.fit(Phi, t).w, rtol=1e-6
    )


def test_relabelled_noise_is_the_same_model(sample):
    """(w, epsilon) and (-w, 1 - epsilon) give one p(t): hence epsilon < 1/2."""
    Phi, t, _ = sample
    w = np.array([0.3, -1.0, 0.5])
    p = flipped(PROBIT, 0.1).probabilities(Phi @ w)[:, 1]
    f = probit.predict_proba(-w, Phi)[:, 1]
    np.testing.assert_allclose(p, 0.9 + (1 - 2 * 0.9) * f)


# Predictions.


def test_a_fit_is_predicted_with_its_own_likelihood(sample):
    """Bare weights mean PROBIT; a fit of another chapter is refused."""
    Phi, t, _ = sample
    for f in (*LIKELIHOODS, flipped(CLOGLOG, 0.1)):
        fit = probit.fit(Phi, t, likelihood=f, alpha=1.0)
        want = np.exp([f.log_p(Phi @ fit.w, k)[0] for k in (0, 1)]).T
        np.testing.assert_array_equal(probit.predict_proba(fit, Phi), want)
    far = probit.predict_proba([1.0, 0, 0], [[30.0, 0, 0]])
    assert far[0, 0] == pytest.approx(stats.norm.sf(30), rel=1e-12)
    other = logistic.fit(Phi, t)
    for use in (
        lambda: probit.predict_proba(other, Phi),
        lambda: probit.standard_errors(other),
        lambda: probit.influence(other, Phi[0], 1),
    ):
        with pytest.raises(ValueError, match="fit must be a ProbitFit"):
            use()


# Several valleys.


def with_outlier(spot):
    """Forty rows of a PROBIT, and one far out with the wrong label."""
    x = np.linspace(-4, 4, 40)
    u = np.random.default_rng(1).random(40)
    t = u < PROBIT.probabilities(1.2 * x)[:, 1]
    return data.with_bias(np.append(x, spot)), np.append(t, 0.0)


def test_a_row_alone_in_its_direction_has_starts():
    """Its own leverage, which no lesser weight can lower."""
    Phi, t = np.zeros((6, 2)), np.array([1.0, 0, 0, 0, 0, 1])
    Phi[1, 1] = 6.4e-15
    fit = probit.fit(Phi, t, alpha=1e-3, likelihood=flipped(PROBIT, 0.1))
    assert fit.converged
    assert fit.error == pytest.approx(6 * np.log(2))


def test_starts_know_no_units(sample):
    """Of columns and of weights; a zero in a column is not its size."""
    Phi, t, c = sample
    Phi[3, 1], Phi[7, 2], t[7] = 0.0, 1e3, 1.0

    def starts(Phi, weights):
        return probit.starts(logistic.problem(Phi, t, 0, None, weights)[0], t)

    size, found = np.array([1.0, 1e-12, 1e12]), starts(Phi, c)
    again = starts(Phi * size, c * 1e-9)
    np.testing.assert_allclose(again * size, found, rtol=1e-9)
    assert found[0][2] < -0.5  # the sound rows' sign, not the wild one's
    seven = starts(Phi, np.full(60, 7.0))
    np.testing.assert_allclose(seven, starts(Phi, None), rtol=1e-12)


def test_a_start_that_is_given_is_the_only_one():
    """From 0 a wrong label far out holds the weights down; no other start
    helps, unless m0 is the mean of a prior."""
    Phi, t = with_outlier(50)
    how = {"likelihood": flipped(PROBIT, 0.02), "m0": [0, 0]}
    held = probit.fit(Phi, t, **how)
    assert held.converged and held.error == pytest.approx(28.2676, abs=1e-4)
    assert probit.fit(Phi, t, **how, alpha=1e-6).error < 14
    assert probit.fit(Phi, t, likelihood=how["likelihood"]).error < 14


@pytest.mark.parametrize("seed", [10, 31])
def test_the_valley_of_the_true_weights_is_found(seed):
    """Six wild rows: a search from the truth ends no lower.

    From starts with the wrong sign the fit would, by 1.9 nats at least.
    """
    rng, noisy = np.random.default_rng(seed), flipped(PROBIT, 0.1)
    x, w = rng.standard_normal((40, 2)), np.array([0.0, 2, 2])
    x[:6] *= 1000
    Phi = data.with_bias(x)
    t = 1.0 * (rng.random(40) < noisy.probabilities(Phi @ w)[:, 1])

    def target(w):
        return probit.error(w, Phi, t, noisy) + 0.005 * w @ w

    best = optimize.minimize(target, w, method="Nelder-Mead")
    fit = probit.fit(Phi, t, likelihood=noisy, alpha=0.01)
    assert fit.converged and fit.error < best.fun + 1e-6


@pytest.mark.parametrize("spot", [8, 12, 20, 50, 1e4, 1e6, 1e8])
def test_a_wrong_label_far_out_is_forgiven(spot):
    """However far: the fit is that without the row, E a constant more."""
    Phi, t = with_outlier(spot)
    noisy = flipped(PROBIT, 0.02)
    fit = probit.fit(Phi, t, likelihood=noisy)
    alone = probit.fit(Phi[:-1], t[:-1], likelihood=noisy)
    assert fit.converged
    np.testing.assert_allclose(fit.w, alone.w, rtol=1e-5, atol=1e-6)
    assert fit.error == pytest.approx(alone.error - np.log(0.02), rel=1e-9)
    both = probit.fit_noise(Phi, t)
    assert both.converged and 0 < both.epsilon < 0.15
    assert both.error <= fit.error + 1e-9


def test_no_other_start_finds_a_lower_valley(rng):
    """Small problems with wild rows against twenty random starts each."""
    beaten = 0
    for _ in range(20):
        x = rng.standard_normal((30, 2))
        x *= rng.choice([1, 20], (30, 1), p=[0.9, 0.1])
        Phi = data.with_bias(x)
        t = (rng.random(30) < PROBIT.probabilities(x @ [1, 1])[:, 1]) * 1.0
        t = np.where(rng.random(30) < 0.1, 1 - t, t)
        how = {"likelihood": flipped(PROBIT, 0.1), "alpha": 0.1}
        fit = probit.fit(Phi, t, **how)
        lower = [
            probit._descent(
                *logistic.problem(Phi, t, 0.1, None, None, how["likelihood"]),
                how["likelihood"], [3 * rng.standard_normal(3)],
                {"tol": newton.ROUNDING, "max_iter": 100},
            ).error
            for _ in range(20)
        ]  # fmt: skip
        beaten += min(lower) < fit.error - 1e-6
    assert beaten <= 1


def test_the_joint_hessian_is_the_slope_of_the_joint_gradient(sample):
    """Central differences, both parameters, with weights."""
    Phi, t, c = sample
    theta = np.array([0.3, -0.8, 0.5, 0.1])
    for f in LIKELIHOODS:
        H = probit.joint_hessian(theta, Phi, t, f, c)
        for j, e in enumerate(1e-6 * np.eye(4)):
            up = probit.joint_gradient(theta + e, Phi, t, f, c)
            down = probit.joint_gradient(theta - e, Phi, t, f, c)
            np.testing.assert_allclose(H[j], (up - down) / 2e-6, rtol=1e-5)


def test_thresholds_of_bounded_support_reach_their_minimum():
    """Uniform on (-1, 1): beyond it f is 1, and E = 0 at a finite w."""

    def log_p(a, t, order=3):
        s = 2 * np.asarray(t) - 1.0
        m = np.maximum(s * a + 1, 0)
        inside = np.abs(a) < 1
        m = np.where(inside, m, 2.0 * (m > 0))
        with np.errstate(divide="ignore"):
            terms = [np.log(m / 2), np.where(inside, s / m, 0.0)]
        return (*terms, np.where(inside, -(terms[1] ** 2), 0.0))[: order + 1]

    uniform = Likelihood("uniform", log_p, None)
    Phi = data.with_bias([-2.0, -1.0, 1.0, 2.0])
    fit = probit.fit(Phi, [0, 0, 1, 1], likelihood=uniform)
    assert fit.converged and fit.separated is None and fit.error == 0


def test_a_start_where_nothing_is_left_of_the_error_is_no_minimum():
    """E is 0 by rounding there; it ends only where both tails are bounded.

    One threshold is normal, the other 1 less an exponential: 1 at the most.
    """

    def log_p(a, t, order=3):
        a, t = np.broadcast_arrays(np.asarray(a, float), t)
        below = np.where(a < 1, np.exp(np.minimum(a, 1) - 1), 0.0)
        with np.errstate(divide="ignore"):
            no = np.where(a < 1, np.log1p(-below), -np.inf)
        d = np.where(t == 1, 1.0 * (a < 1), -below / (1 - below))
        bend = np.where(t == 1, 0.0, -below / (1 - below) ** 2)
        first = np.where(t == 1, np.minimum(a - 1, 0), no)
        return (first, d, bend)[: order + 1]

    Phi, t = data.with_bias([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    for f in (PROBIT, Likelihood("half bounded", log_p, None)):
        how = {"likelihood": f, "m0": [0, 1e3], "scoring": True}
        with pytest.warns(SeparableDataWarning, match="complete"):
            fit = probit.fit(Phi, t, **how)
        assert fit.error == 0 and not fit.converged
        assert fit.separated == "complete"


def test_separated_classes_have_no_standard_errors():
    """A curvature of 1e-16 is the stopping rule's, not the data's."""
    Phi = data.with_bias([-2.0, -1.0, 1.0, 2.0])
    with pytest.warns(SeparableDataWarning):
        fit = probit.fit(Phi, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="fit must have a minimum"):
        probit.standard_errors(fit)


def test_epsilon_is_learned_once(rng):
    """Of a likelihood that flips labels already, errors were 25 % too large."""
    Phi = np.c_[np.ones(30), rng.standard_normal(30)]
    t = rng.integers(0, 2, 30)
    with pytest.raises(ValueError, match="flip no labels.* got probit, flip"):
        probit.fit_noise(Phi, t, likelihood=flipped(PROBIT, 0.1))


def test_a_mixture_is_drawn_by_a_generator():
    with pytest.raises(ValueError, match="rng must be a Generator; got int"):
        probit.draw_mixture(0, 2, [1.0], [0.0], [1.0])


def test_the_influence_of_no_row_is_refused(sample):
    """NaN came back as NaN, a short row as an error of matmul."""
    Phi, t, *_ = sample
    fit = probit.fit(Phi, t)
    for phi in (np.nan * Phi[0], Phi[0, :-1], Phi[:2]):
        with pytest.raises(ValueError, match="phi must"):
            probit.influence(fit, phi, 1)


def test_a_deviance_of_more_successes_than_trials_is_refused():
    """It was NaN; so is a share below 0. One trial is enough."""
    wrong = ([3], [2], [0.5]), ([1], [2], [1.5]), ([0], [0], [0.5])
    for k, n, y in (*wrong, ([1], [2], [-0.5])):
        with pytest.raises(ValueError, match="k must lie .* y in"):
            probit.deviance(k, n, y)
    assert probit.deviance([1], [1], [0.5]) == pytest.approx(2 * np.log(2))


@pytest.mark.parametrize("name, at", [("n", 1), ("y", 2)])
def test_the_deviance_is_of_groups_of_one_number(name, at):
    given = [[1.0, 2], [3.0, 4], [0.2, 0.4]]
    for other in ([0.5], [3.0, 4, 5], 3.0):
        wrong = [*given[:at], other, *given[at + 1 :]]
        with pytest.raises(ValueError, match=f"{name} must have shape"):
            probit.deviance(*wrong)


@pytest.mark.parametrize("far", [50.0, 400.0])
def test_a_start_far_out_is_said_to_lead_nowhere_by_name(far):
    """Beside a column of 1e150, where cloglog is e^50, squares overflow;
    numpy said so too."""
    rng = np.random.default_rng(0)
    Phi = np.c_[np.ones(20), rng.standard_normal(20) * 1e150]
    t = (rng.random(20) < 0.5) * 1.0
    start = {"m0": [far, 0.0], "scoring": True, "likelihood": CLOGLOG}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit = probit.fit(Phi, t, **start)
    assert not fit.converged
    assert [w.category for w in said] == [newton.NotConverged]
