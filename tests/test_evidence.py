"""prml4.evidence: Laplace evidence, BIC, AIC, and the choice among models."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from prml4 import evidence, laplace, logistic
from prml4.models import data
from prml4.models.likelihoods import LOGISTIC
from prml4.numerics import descent, newton
from tests.campaigns import bayes_logistic as problems


@pytest.fixture
def sample(rng):
    """Two columns, forty rows, classes that overlap."""
    Phi = data.with_bias(rng.normal(size=40))
    return Phi, data.draw_targets(rng, Phi, [0.2, 0.8])


def by_scipy(Phi, t, alpha, m0=0.0):
    """ln p(t) by adaptive quadrature in two dimensions."""

    def joint(b, a):
        L = stats.bernoulli.logpmf(t, special.expit(Phi @ [a, b])).sum()
        prior = stats.norm.logpdf([a, b], m0, np.asarray(alpha) ** -0.5)
        return np.exp(L + prior.sum() + 20)

    return np.log(integrate.dblquad(joint, -6, 6, -6, 6, epsrel=1e-9)[0]) - 20


# The evidence and its parts.


def test_volume_is_the_integral_of_the_gaussian(rng):
    """ln int exp(-z^T A z / 2) dz, A = 2.5 by quadrature; det from numpy."""
    area, _ = integrate.quad(lambda z: np.exp(-1.25 * z**2), -9, 9)
    np.testing.assert_allclose(evidence.log_volume([[2.5]]), np.log(area))
    B = rng.normal(size=(5, 3))
    right = 1.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(B.T @ B)[1]
    np.testing.assert_allclose(evidence.log_volume(B.T @ B), right)


def test_volume_of_no_volume_is_refused():
    """A singular A has a name, not a value."""
    with pytest.raises(laplace.NotPositiveDefinite):
        evidence.log_volume([[1.0, 1.0], [1.0, 1.0]])


def test_prior_density_is_scipys(rng):
    """One precision, several, a mean, and many points at once."""
    w, m0, alpha = rng.normal(size=3), rng.normal(size=3), [0.5, 2.0, 9.0]
    right = stats.multivariate_normal(m0, np.diag(1 / np.array(alpha)))
    np.testing.assert_allclose(
        evidence.log_gaussian(w, alpha, m0), right.logpdf(w)
    )
    W = rng.normal(size=(4, 3))
    np.testing.assert_allclose(
        evidence.log_gaussian(W, 0.3),
        stats.norm.logpdf(W, 0, 0.3**-0.5).sum(axis=1),
    )


def test_terms_sum_to_the_evidence(sample):
    """(4.137) from its parts; Laplace's own sum agrees."""
    Phi, t = sample
    alpha, m0 = np.array([0.3, 2.0]), np.array([0.1, -0.2])
    e = evidence.logistic_evidence(Phi, t, alpha=alpha, m0=m0)
    w = logistic.fit(Phi, t, alpha=alpha, m0=m0).w
    A = logistic.map_hessian(w, Phi, alpha)
    L = -logistic.error(w, Phi, t)
    prior = stats.norm.logpdf(w, m0, alpha**-0.5).sum()
    volume = np.log(2 * np.pi) - 0.5 * np.log(np.linalg.det(A))
    np.testing.assert_allclose(e.log_likelihood, L)
    np.testing.assert_allclose(e.log_prior, prior)
    np.testing.assert_allclose(e.log_volume, volume)
    np.testing.assert_allclose(e.log_occam, prior + volume)
    np.testing.assert_allclose(e.log_evidence, L + prior + volume)
    np.testing.assert_allclose(e.posterior.log_evidence, e.log_evidence)
    assert e.N == 40


def test_laplace_is_near_the_truth_and_the_grid_is_the_truth(sample):
    """scipy's dblquad; Laplace within a twentieth of a nat at N = 40."""
    Phi, t = sample
    alpha, m0 = np.array([0.4, 1.5]), np.array([0.3, -0.5])
    truth = by_scipy(Phi, t, alpha, m0)
    found = evidence.brute_force(Phi, t, alpha=alpha, m0=m0)
    np.testing.assert_allclose(found.value, truth, rtol=1e-8)
    assert found.error < 1e-10
    e = evidence.logistic_evidence(Phi, t, alpha=alpha, m0=m0)
    assert abs(e.log_evidence - truth) < 0.05


def test_weights_are_repeated_rows(sample):
    """In the evidence, its N, the grid."""
    Phi, t = sample
    c = np.arange(40) % 3 + 1
    long = np.repeat(Phi, c, axis=0), np.repeat(t, c)
    a = evidence.logistic_evidence(Phi, t, alpha=0.7, weights=c)
    b = evidence.logistic_evidence(*long, alpha=0.7)
    np.testing.assert_allclose(a.log_evidence, b.log_evidence)
    assert a.N == b.N == c.sum()
    a = evidence.brute_force(Phi, t, alpha=0.7, weights=c)
    b = evidence.brute_force(*long, alpha=0.7)
    np.testing.assert_allclose(a.value, b.value)


def test_the_grid_knows_its_error(sample):
    """Too loose a tolerance says so; four columns are refused."""
    Phi, t = sample
    fine = evidence.brute_force(Phi, t, alpha=0.4)
    coarse = evidence.brute_force(Phi, t, alpha=0.4, tol=1.0)
    assert fine.error < 1e-11 < coarse.error
    assert abs(coarse.value - fine.value) <= coarse.error
    with pytest.raises(ValueError, match="for a grid; got 4"):
        evidence.brute_force(Phi[:, [0, 1, 1, 1]], t, alpha=1.0)


def test_log_joint_is_the_sum_as_written(sample):
    """scipy's Bernoulli and Gaussian, row by row of W."""
    Phi, t = sample
    W = np.linspace(-1, 1, 14).reshape(7, 2)
    whole = evidence.log_joint(W, Phi, t, alpha=2.0)
    right = [
        stats.bernoulli.logpmf(t, special.expit(Phi @ w)).sum()
        + stats.norm.logpdf(w, 0, 0.5**0.5).sum()
        for w in W
    ]
    np.testing.assert_allclose(whole, right)


def test_evidence_is_a_distribution_over_data():
    """It sums to one over all 2^5 target vectors."""
    Phi = data.with_bias(np.linspace(-1, 1, 5))
    total = sum(
        np.exp(evidence.brute_force(Phi, np.array(t), alpha=0.5).value)
        for t in product([0.0, 1.0], repeat=5)
    )
    np.testing.assert_allclose(total, 1)


def test_linear_evidence_is_the_density_of_the_targets(rng):
    """A multivariate normal of covariance I / beta + Phi A0^{-1} Phi^T."""
    Phi, t = rng.normal(size=(9, 3)), rng.normal(size=9)
    alpha, beta = np.array([0.5, 1.0, 4.0]), 2.5
    C = np.eye(9) / beta + Phi @ np.diag(1 / alpha) @ Phi.T
    e = evidence.linear_evidence(Phi, t, alpha=alpha, noise=1 / beta)
    right = stats.multivariate_normal(np.zeros(9), C).logpdf(t)
    np.testing.assert_allclose(e.log_evidence, right)
    np.testing.assert_allclose(e.posterior.log_evidence, right)
    rest = t - Phi @ e.posterior.mode
    np.testing.assert_allclose(
        e.log_likelihood, stats.norm.logpdf(rest, 0, beta**-0.5).sum()
    )
    assert e.N == 9


@pytest.mark.parametrize("r", [1e4, 1e12, 1e16, 1e40])
def test_units_of_columns_are_arbitrary(rng, r):
    """Orthogonal but for rounding, which no exchange of rows may blow up."""
    Phi = np.linalg.qr(np.c_[np.ones(64), rng.normal(size=(64, 3))])[0]
    t, size = rng.normal(size=64), np.array([1 / r, r, r**-0.5, r])
    one = evidence.linear_evidence(Phi, t, alpha=1.0, noise=0.1)
    two = evidence.linear_evidence(Phi * size, t, alpha=size**2, noise=0.1)
    p, q = one.posterior, two.posterior
    np.testing.assert_allclose(q.mode * size, p.mode, rtol=1e-12)
    C = q.covariance * np.outer(size, size)
    np.testing.assert_allclose(C, p.covariance, atol=1e-14)
    np.testing.assert_allclose(two.log_evidence, one.log_evidence)


@pytest.mark.parametrize("alpha", [1e-6, 1e-3])
def test_a_column_twice_and_hardly_a_prior(rng, alpha):
    """Rounding leaves no curvature between the two: that has a name."""
    Phi = data.with_bias(rng.normal(size=9))[:, [0, 1, 1]]
    with pytest.raises(laplace.NotPositiveDefinite, match="flat along some"):
        evidence.linear_evidence(
            Phi, rng.normal(size=9), alpha=alpha, noise=1e-12
        )


def test_a_column_twice_is_one_with_twice_the_variance(sample):
    """The evidence does not charge for what changes nothing."""
    Phi, t = sample
    single = evidence.logistic_evidence(Phi, t, alpha=[1.0, 0.5])
    double = evidence.logistic_evidence(Phi[:, [0, 1, 1]], t, alpha=1.0)
    np.testing.assert_allclose(double.log_evidence, single.log_evidence)


def test_separable_data_have_evidence():
    """The prior makes it finite, without a warning."""
    Phi = data.with_bias(np.arange(6.0) - 2.5)
    t = np.repeat([0.0, 1.0], 3)
    e = evidence.logistic_evidence(Phi, t, alpha=1.0)
    assert np.log(0.5) * 6 < e.log_evidence < 0


@pytest.mark.parametrize("alpha", [1e-14, 1e-17, 1e-20, 1e-30])
def test_separable_data_under_a_vague_prior(alpha):
    """By hand: w_0 = 0, and w_1 solves 2 e^-w + 4 e^-2w = alpha w, nearly."""
    Phi = data.with_bias(np.array([-2.0, -1, 1, 2]))
    t = np.array([0.0, 0, 1, 1])
    e = evidence.logistic_evidence(Phi, t, alpha=alpha)
    low, high = 1.0, 100.0
    for _ in range(80):
        w = (low + high) / 2
        rises = 2 * np.exp(-w) + 4 * np.exp(-2 * w) > alpha * w
        low, high = (w, high) if rises else (low, w)
    r = np.exp(-w * np.abs(Phi[:, 1]))
    A = Phi.T @ (r[:, None] * Phi) + alpha * np.eye(2)
    right = np.log(alpha) - alpha * w**2 / 2 - r.sum()
    right -= 0.5 * np.log(np.linalg.det(A))
    assert e.posterior.converged
    np.testing.assert_allclose(e.log_evidence, right, atol=1e-6)


def test_a_search_that_ends_early_says_so(sample):
    """Also the mode that comes with an evidence."""
    Phi, t = sample
    objective = descent.Objective(
        Phi, LOGISTIC.loss(t), None, np.full(2, 1e-3), np.zeros(2)
    )
    with pytest.warns(newton.NotConverged, match="stopped after 1 steps"):
        assert not evidence.find_mode(objective, max_iter=1).converged
    e = evidence.logistic_evidence(Phi, t, alpha=1e-3)
    assert e.posterior.converged and np.abs(e.posterior.gradient).max() < 1e-7


def test_rounding_does_not_keep_a_mode_from_its_end():
    """Columns of 1e-134 to 1e64: a_n jumped by 1 for two thousand steps."""
    rng = np.random.default_rng([30010, False, 4])
    Phi, t, alpha, m0 = problems.problem(rng, False)
    alpha = np.full(len(m0), alpha)
    objective = descent.Objective(Phi, LOGISTIC.loss(t), None, alpha, m0)
    rough = newton.newtons_method(objective.__call__, m0, tol=1e-5)
    with pytest.warns(newton.NotConverged, match="stopped after"):
        found = evidence.settle(objective, rough)
    assert not found.converged and len(found.trace) < 100


def test_a_step_too_far_overflows_without_a_word(sample):
    """A decrement of 1e200 squared is more than a number can hold; from there
    it is one step back, and pytest would see a warning."""
    Phi, t = sample
    E = descent.Objective(Phi, LOGISTIC.loss(t), None, np.ones(2), np.zeros(2))
    right = evidence.find_mode(E)
    far = newton.Minimum(E.m0, np.eye(2), 0.0, np.full(2, 1e200), False, ())
    np.testing.assert_allclose(evidence.settle(E, far).w, right.w)


def test_a_weight_that_no_row_sees_goes_to_its_prior_mean():
    """It moves no a_n, and yet counts: by 1e7 nats where the search began."""
    Phi, alpha, m0 = np.array([[1.0, 0.0]]), np.full(2, 1e3), np.zeros(2)
    E = descent.Objective(Phi, LOGISTIC.loss([1.0]), None, alpha, m0)
    w = np.array([evidence.find_mode(E).w[0], -100.0])
    error, g, H = E(w)
    begun = newton.Minimum(w, H, error, g, True, (error,))
    found = evidence.settle(E, begun, max_iter=1)
    assert found.converged and abs(found.w[1]) < 1e-9
    assert found.error < error - 4e6


@pytest.mark.parametrize("alpha", [0.0, [1.0, 0.0]])
def test_an_improper_prior_is_refused(sample, alpha):
    """It would leave the evidence undefined."""
    for score in (
        evidence.logistic_evidence,
        lambda *a, **k: evidence.linear_evidence(*a, noise=1.0, **k),
    ):
        with pytest.raises(ValueError, match="flat prior is improper"):
            score(*sample, alpha=alpha)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": [1.0, 1.0, 1.0]}, "alpha"),
        ({"t": np.full(40, 2.0)}, "t must be in"),
        ({"t": np.zeros(39)}, "t must have shape"),
        ({"Phi": np.full((40, 2), np.nan)}, "Phi must be finite"),
        ({"m0": np.zeros(3)}, "m0"),
        ({"weights": -np.ones(40)}, "weights"),
    ],
)
def test_bad_input_is_named(sample, fault, message):
    """What arrived and what was expected."""
    arguments = dict(zip(("Phi", "t"), sample, strict=True))
    arguments |= {"alpha": 1.0} | fault
    with pytest.raises(ValueError, match=message):
        evidence.logistic_evidence(**arguments)


def test_linear_evidence_names_bad_input():
    """Targets of another length."""
    with pytest.raises(ValueError, match="t must have shape"):
        evidence.linear_evidence(np.eye(3), np.zeros(2), alpha=1.0, noise=1.0)


def test_sampling_agrees_with_the_grid(sample, rng):
    """Within four standard errors, which are as large as they should be."""
    Phi, t = sample
    prior = {"alpha": [0.4, 1.5], "m0": [0.3, -0.5], "weights": t + 1}
    truth = evidence.brute_force(Phi, t, **prior).value
    runs = [evidence.sample(rng, 400, Phi, t, **prior) for _ in range(60)]
    value, error = np.array(runs).T
    assert np.all(np.abs(value - truth) < 4 * error)
    assert 0.7 < np.std(value) / error.mean() < 1.4


# Scores.


def test_scores_against_statsmodels(sample):
    """Its aic and bic are minus twice ours."""
    import statsmodels.api as sm

    Phi, t = sample
    peer = sm.Logit(t, Phi).fit(disp=0, tol=1e-12)
    s = evidence.compare([Phi[:, :1], Phi], t, alpha=0.5)
    np.testing.assert_allclose(-2 * s.bic[1], peer.bic)
    np.testing.assert_allclose(-2 * s.aic[1], peer.aic)
    np.testing.assert_allclose(s.log_likelihood, [peer.llnull, peer.llf])
    np.testing.assert_array_equal(s.M, [1, 2])
    for j, M in enumerate((1, 2)):
        e = evidence.logistic_evidence(Phi[:, :M], t, alpha=0.5)
        np.testing.assert_allclose(s.log_evidence[j], e.log_evidence)
        np.testing.assert_allclose(s.log_occam[j], e.log_occam)


def test_compare_names_bad_input(sample):
    """Designs of other lengths, columns that depend on others."""
    Phi, t = sample
    with pytest.raises(ValueError, match="t must have shape"):
        evidence.compare([Phi[:9]], t, alpha=1.0)
    with pytest.raises(ValueError, match="column"):
        evidence.compare([Phi[:, [0, 1, 1]]], t, alpha=1.0)


@pytest.mark.parametrize("N", [0, -3, np.nan, np.inf])
def test_bic_needs_data(N):
    """ln N of no observations is not a number."""
    with pytest.raises(ValueError, match="N must be one positive"):
        evidence.bic(-10.0, 2, N)


def test_scores_of_no_number_are_refused():
    """NaN for a likelihood, fewer than no parameters, also one of several."""
    for score in (evidence.aic, lambda L, M: evidence.bic(L, M, 10)):
        with pytest.raises(ValueError, match="log_likelihood must be finite"):
            score(np.nan, 2)
        with pytest.raises(ValueError, match="M must be >= 0"):
            score([-3.0, -2.0], [1, -1])


def test_arguments_out_of_range_are_named(sample, rng):
    """Noise, numbers of draws and models, targets of another coding."""
    Phi, t = sample
    with pytest.raises(ValueError, match="noise must be one positive"):
        evidence.linear_evidence(Phi, t, alpha=1.0, noise=-1.0)
    with pytest.raises(ValueError, match="n must be a whole number >= 2"):
        evidence.sample(rng, 1, Phi, t, alpha=1.0)
    with pytest.raises(ValueError, match="at least one; got none"):
        evidence.compare([], t, alpha=1.0)
    with pytest.raises(ValueError, match="t must be in"):
        evidence.log_joint(np.zeros(2), Phi, 2 * t - 1, alpha=1.0)
    with pytest.raises(ValueError, match="A must be a matrix"):
        evidence.log_volume(2.5)


def test_inputs_come_back_as_they_went(sample):
    """Read-only, integer and strided arrays serve, and stay what they are."""
    Phi, t = sample
    whole = np.round(10 * Phi).astype(int)
    right = evidence.logistic_evidence(whole.astype(float), t, alpha=0.5)
    wide = np.repeat(whole, 2, axis=1)[:, ::2]
    wide.flags.writeable = False
    found = evidence.logistic_evidence(wide, t.astype(bool), alpha=0.5)
    np.testing.assert_allclose(found.log_evidence, right.log_evidence)
    np.testing.assert_array_equal(wide, whole)


def test_bic_and_aic_by_hand():
    """M/2 ln N against M."""
    np.testing.assert_allclose(evidence.bic(-10.0, 3, np.e**4), -16.0)
    assert evidence.bic(-10.0, 3, 1) == -10.0
    assert evidence.bic(-10.0, 2, 0.5) > -10.0  # weights may sum to this
    assert evidence.aic(-10.0, 3) == -13.0
    assert evidence.aic(-10.0, 0) == -10.0  # a model without parameters


def test_dropped_terms_are_the_difference(sample):
    """They sum to Laplace's evidence less BIC; each has its value."""
    Phi, t = sample
    L = -logistic.fit(Phi, t).error
    e = evidence.logistic_evidence(Phi, t, alpha=0.6)
    d = evidence.dropped(e, L)
    np.testing.assert_allclose(d.total, e.log_evidence - evidence.bic(L, 2, 40))
    assert -0.1 < d.fit < 0
    np.testing.assert_allclose(d.constant, np.log(2 * np.pi))
    np.testing.assert_allclose(d.prior, e.log_prior)
    half = -0.5 * np.linalg.slogdet(e.posterior.precision / 40)[1]
    np.testing.assert_allclose(d.information, half)


@given(st.lists(st.floats(-1e5, 1e5), min_size=2, max_size=6))
def test_model_probabilities_are_a_distribution(L):
    """Also where every evidence underflows; shifts change nothing."""
    p = evidence.model_probabilities(L)
    np.testing.assert_allclose(p.sum(), 1)
    shifted = evidence.model_probabilities(np.array(L) - 5.0)
    np.testing.assert_allclose(p, shifted, atol=1e-9)
    assert np.all(np.diff(p[np.argsort(L)]) >= 0)


def test_model_probabilities_obey_bayes_rule():
    """With a prior, and without."""
    p = np.array([0.2, 0.05, 0.01])
    found = evidence.model_probabilities(np.log(p))
    np.testing.assert_allclose(found, p / p.sum())
    prior = np.array([0.1, 0.3, 0.6])
    found = evidence.model_probabilities(np.log(p) - 2000, prior)
    np.testing.assert_allclose(found, p * prior / (p @ prior))


@pytest.mark.parametrize(
    ("L", "prior"),
    [([0.0, np.nan], None), ([0.0, 1.0], [0.5, 0.6]), ([0.0, 1.0], [1.0])],
)
def test_model_probabilities_name_bad_input(L, prior):
    """NaN, a prior that does not sum to one, too short a prior."""
    with pytest.raises(ValueError, match="must"):
        evidence.model_probabilities(L, prior)


@pytest.mark.parametrize("alpha", [-1.0, 0.0, [1.0, -2.0]])
def test_the_joint_density_needs_a_proper_prior(alpha):
    """No logarithm of a negative precision."""
    Phi = np.array([[1.0, 0.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="alpha"):
        evidence.log_joint(np.zeros(2), Phi, [0, 1], alpha=alpha)
    with pytest.raises(ValueError, match="alpha must"):
        evidence.log_gaussian(np.zeros(2), alpha)


def test_the_densities_take_what_the_fit_takes():
    """Objects that are numbers; and no NaN, which came back as NaN."""
    Phi, t = np.array([[1.0, 0.3], [1.0, 2.0]]), [0, 1]
    both = [
        evidence.brute_force(A, t, alpha=1.0).value
        for A in (Phi, Phi.astype(object))
    ]
    assert both[0] == both[1]
    for bad in (np.nan * Phi, Phi.astype(str)):
        with pytest.raises(ValueError, match="Phi must"):
            evidence.log_likelihood([0.0, 0.0], bad, t)


@pytest.mark.parametrize("M", [np.inf, np.nan, [1.0, np.inf]])
def test_scores_need_a_number_of_parameters(M):
    """Infinitely many had the score -inf, without a word."""
    for score in (evidence.aic, lambda L, M: evidence.bic(L, M, 10)):
        with pytest.raises(ValueError, match="M must be"):
            score(np.zeros(np.shape(M)), M)


def test_a_prior_mean_of_any_kind_and_none_that_is_no_number():
    """Objects and masked arrays that hide nothing were errors of numpy, and
    NaN went through."""
    Phi, t = np.array([[1.0, 0.3], [1.0, -2.0], [1.0, 1.0]]), [1, 0, 0]
    true = evidence.brute_force(Phi, t, alpha=1.0, m0=[0.5, 0.1])
    for m0 in (np.array([0.5, 0.1], object), np.ma.array([0.5, 0.1])):
        assert evidence.brute_force(Phi, t, alpha=1.0, m0=m0) == true
    for m0 in (np.nan, [0.1, np.inf], 1e200, "ab"):
        with pytest.raises(ValueError, match="m0 must"):
            evidence.log_gaussian([0.5, 0.1], 1.0, m0)


def test_what_is_no_likelihood_or_no_evidence_is_named():
    """They had no attribute 'log_p' and 'posterior'."""
    with pytest.raises(ValueError, match="likelihood must be a Likelihood"):
        evidence.log_likelihood([1.0], [[1.0]], [1], "logistic")
    with pytest.raises(ValueError, match="evidence must be a Evidence; got"):
        evidence.dropped(-3.0, -2.0)


@pytest.mark.filterwarnings("error")
def test_a_density_beyond_all_numbers_is_silent():
    """ln N = -inf, as special functions do, without numpy's overflow."""
    assert evidence.log_gaussian([1e200], 1.0) == -np.inf


def test_likelihoods_of_weights_that_do_not_suit_are_refused(rng):
    """As are likelihoods that are no numbers, in the terms that BIC drops."""
    Phi, t = rng.standard_normal((5, 2)), np.array([0, 1, 1, 0, 1])
    with pytest.raises(ValueError, match=r"w must have shape \(..., 2\)"):
        evidence.log_likelihood(np.zeros(3), Phi, t)
    with pytest.raises(ValueError, match="Phi must be a matrix"):
        evidence.log_likelihood(np.zeros(2), 1.0, t)
    found = evidence.logistic_evidence(Phi, t, alpha=1.0)
    for wrong in (np.nan, "a", None):
        with pytest.raises(ValueError, match="log_likelihood must"):
            evidence.dropped(found, wrong)
