"""prml4.bayes_logistic: the posterior, what it predicts, and bad input."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from prml4 import bayes_logistic, check, logistic, probit, softmax
from prml4.models import averages, data
from prml4.models.likelihoods import CLOGLOG, LOGISTIC, PROBIT, flipped
from prml4.numerics import cubature, newton, sampling

S0 = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.8]])
S0_TURNED = np.diag([1.0, 1.0, 1e-20])  # a correlation of 1/2, and of -1/2
S0_TURNED[[0, 2], [2, 0]] = 5e-11, -5e-11
M0 = np.array([0.2, -0.4, 0.1])
both = pytest.mark.parametrize("likelihood", [LOGISTIC, PROBIT])


@pytest.fixture
def sample(rng):
    """Thirty rows, three columns, classes that overlap."""
    Phi = data.with_bias(rng.standard_normal((30, 2)))
    return Phi, data.draw_targets(rng, Phi, [0.3, 1.0, -0.7])


@both
def test_mode_and_covariance_are_those_of_the_log_joint(sample, likelihood):
    """Central differences of ln p(t|w) + ln N(w|m0, S0)."""
    q = bayes_logistic.fit(*sample, S0=S0, m0=M0, likelihood=likelihood)
    p = bayes_logistic.prior(3, S0=S0, m0=M0)

    def log_f(w):
        return bayes_logistic.log_joint(w, *sample, p, likelihood)

    np.testing.assert_allclose(
        check.partials(log_f, q.mode)[0].value, 0, atol=1e-7
    )
    H = check.second_partials(log_f, q.mode).value
    np.testing.assert_allclose(-H, q.precision, rtol=1e-6)
    assert q.converged and abs(q.log_f - log_f(q.mode)) < 1e-12
    assert q.trace[-1] == q.log_f and np.abs(q.gradient).max() < 1e-7


def test_log_joint_is_likelihood_times_prior(sample):
    """scipy's Bernoulli and normal distributions; weights count rows."""
    Phi, t = sample
    p = bayes_logistic.prior(3, S0=S0, m0=M0)
    w = np.array([[0.1, 0.2, 0.3], [1.0, -1.0, 0.5]])
    y = 1 / (1 + np.exp(-w @ Phi.T))
    normal = stats.multivariate_normal(M0, S0).logpdf(w)
    true = stats.bernoulli.logpmf(t, y).sum(axis=1) + normal
    found = bayes_logistic.log_joint(w, Phi, t, p)
    np.testing.assert_allclose(found, true)
    c = np.arange(30) % 3 + 1.0
    weighted = bayes_logistic.log_joint(w, Phi, t, p, weights=c)
    rows = np.repeat(np.arange(30), c.astype(int))
    again = bayes_logistic.log_joint(w, Phi[rows], t[rows], p)
    np.testing.assert_allclose(weighted, again)


def test_full_and_diagonal_priors_agree(sample):
    """S0 = diag(1 / alpha); and the mode is that of logistic.fit."""
    alpha = np.array([0.5, 2.0, 1.0])
    one = bayes_logistic.fit(*sample, alpha=alpha, m0=M0)
    two = bayes_logistic.fit(*sample, S0=np.diag(1 / alpha), m0=M0)
    np.testing.assert_allclose(one.mode, two.mode, rtol=1e-9)
    np.testing.assert_allclose(one.precision, two.precision, rtol=1e-9)
    assert abs(one.log_evidence - two.log_evidence) < 1e-11
    old = logistic.fit(*sample, alpha=alpha, m0=M0)
    np.testing.assert_allclose(one.mode, old.w, rtol=1e-7)


def test_weights_are_repetitions(sample):
    """Also in the evidence."""
    Phi, t = sample
    c = np.arange(30) % 3 + 1.0
    rows = np.repeat(np.arange(30), c.astype(int))
    one = bayes_logistic.fit(Phi, t, S0=S0, weights=c)
    two = bayes_logistic.fit(Phi[rows], t[rows], S0=S0)
    np.testing.assert_allclose(one.mode, two.mode, rtol=1e-7)
    assert abs(one.log_evidence - two.log_evidence) < 1e-9


def test_large_samples_take_the_short_way_to_the_same_place(rng):
    """Where `descend` forms no Hessian on the way, one is formed at the end."""
    Phi = rng.standard_normal((20_000, 12))
    t = data.draw_targets(rng, Phi, np.linspace(-1, 1, 12))
    q = bayes_logistic.fit(Phi, t, alpha=3.0)
    H = logistic.map_hessian(q.mode, Phi, 3.0)
    np.testing.assert_allclose(q.precision, H, rtol=1e-9)


@both
def test_truth_in_two_weights_is_near_and_known_to_nine_digits(rng, likelihood):
    """Grids of two sizes agree to 1e-9; the approximation is off by less
    than a tenth, and by less than that with more data."""
    gaps = []
    for N in (20, 320):
        Phi = data.with_bias(rng.standard_normal(N))
        t = data.draw_targets(rng, Phi, [0.2, 1.0])
        p = bayes_logistic.prior(2, alpha=0.5)
        q = bayes_logistic.fit(Phi, t, alpha=0.5, likelihood=likelihood)

        def log_f(w, Phi=Phi, t=t, p=p):
            return bayes_logistic.log_joint(w, Phi, t, p, likelihood)

        true = cubature.integrate(log_f, q)
        assert true.error < 1e-9
        gaps.append(abs(q.log_evidence - true.log_evidence))
    assert gaps[1] < gaps[0] / 4 < 0.025


def test_elliptical_slices_agree_with_the_grid(sample):
    """Two referees that share nothing but the log likelihood."""
    p = bayes_logistic.prior(3, S0=S0, m0=M0)
    q = bayes_logistic.fit(*sample, S0=S0, m0=M0)
    true = cubature.integrate(
        lambda w: bayes_logistic.log_joint(w, *sample, p), q
    )
    Phi, t = sample
    w = sampling.elliptical(
        lambda w: -logistic.error(w, Phi, t),
        M0,
        np.linalg.cholesky(S0),
        np.random.default_rng(3),
        4000,
    )
    size = sampling.effective_size(w)
    error = np.sqrt(np.diag(true.covariance) / size)
    assert np.all(np.abs(w.mean(axis=0) - true.mean) < 4 * error)
    np.testing.assert_allclose(
        w.std(axis=0) ** 2, np.diag(true.covariance), 0.2
    )


def test_activation_is_the_projection(sample):
    """phi^T w_MAP and phi^T S_N phi, row by row; in several blocks."""
    Phi, t = sample
    q = bayes_logistic.fit(Phi, t, S0=S0)
    mu, s2 = bayes_logistic.activation(q, np.tile(Phi, (600, 1)))
    np.testing.assert_allclose(mu[:30], Phi @ q.mode)
    true = [phi @ q.covariance @ phi for phi in Phi]
    np.testing.assert_allclose(s2, np.tile(true, 600), rtol=1e-10)


def test_predictions_are_averages_over_the_posterior(sample):
    """Draws of w from q; all schemes close, the probit one exact."""
    Phi, t = sample
    q = bayes_logistic.fit(Phi, t, S0=S0)
    w = q.draws(np.random.default_rng(5), 20_000)
    y = 1 / (1 + np.exp(-w @ Phi[:5].T))
    error = 5 * y.std(axis=0) / np.sqrt(len(w))
    found = bayes_logistic.predict_proba(q, Phi[:5])
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-15)
    assert np.all(np.abs(found[:, 1] - y.mean(axis=0)) < error)
    rough = bayes_logistic.predict_proba(q, Phi[:5], averages.mackay)
    assert np.abs(rough - found).max() < 0.01
    q = bayes_logistic.fit(Phi, t, S0=S0, likelihood=PROBIT)
    y = stats.norm.cdf(q.draws(np.random.default_rng(5), 20_000) @ Phi[:5].T)
    found = bayes_logistic.predict_proba(q, Phi[:5])
    assert np.all(np.abs(found[:, 1] - y.mean(axis=0)) < 0.01)
    exact = averages.exact_probit(*bayes_logistic.activation(q, Phi[:5]))
    np.testing.assert_allclose(found[:, 1], exact, rtol=1e-12)


def test_a_fit_is_averaged_with_its_own_likelihood(sample):
    """Draws of w for each; the sigmoid of a cloglog fit is far off."""
    Phi, t = sample[0][:, :2], sample[1]
    for likelihood in (LOGISTIC, PROBIT, CLOGLOG):
        q = bayes_logistic.fit(Phi, t, likelihood=likelihood)
        assert q.likelihood is likelihood
        w = q.draws(np.random.default_rng(2), 40_000)
        y = likelihood.probabilities(w @ Phi[3])[:, 1]
        error = 5 * y.std() / 200
        found = bayes_logistic.predict_proba(q, Phi[3:4])[0, 1]
        assert abs(found - y.mean()) < error
    wrong = bayes_logistic.predict_proba(q, Phi, averages.quadrature)
    right = bayes_logistic.predict_proba(q, Phi)
    assert np.abs(wrong - right).max() > 0.05
    found = bayes_logistic.predict(q, Phi)
    np.testing.assert_array_equal(found, right[:, 1] > 0.5)
    with pytest.raises(ValueError, match="likelihood must be log-concave"):
        bayes_logistic.fit(Phi, t, likelihood=flipped(PROBIT, 0.1))


def test_the_likelihood_is_a_value(sample):
    """PROBIT gives the probit regression's mode."""
    q = bayes_logistic.fit(*sample, alpha=0.7, likelihood=PROBIT)
    old = probit.fit(*sample, alpha=0.7)
    np.testing.assert_allclose(q.mode, old.w, rtol=1e-7)
    np.testing.assert_allclose(q.precision, old.H, rtol=1e-7)


def test_separable_data_get_a_finite_answer_without_a_warning():
    """The prior answers where the likelihood has no maximum."""
    Phi, t = data.with_bias(np.array([-2.0, -1, 1, 2])), [0.0, 0, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = bayes_logistic.fit(Phi, t, alpha=1.0)
        for alpha in (1e-12, 1e-30, 1e-60):
            far = bayes_logistic.fit(Phi, t, alpha=alpha)
            w = far.mode[1]
            slope = 2 * np.exp(-w) + 4 * np.exp(-2 * w)
            np.testing.assert_allclose(slope, alpha * w, rtol=1e-4)
            assert far.converged
    assert near.converged and 0.5 < near.mode[1] < 3


def test_one_class_is_enough():
    """A prior on every weight makes up for the missing class."""
    q = bayes_logistic.fit([[1.0], [1.0]], [1, 1], alpha=1.0)
    assert q.converged and q.mode[0] > 0


@pytest.mark.parametrize("prior", [{"S0": S0}, {"alpha": [1.0, 2.0, 3.0]}])
def test_without_data_the_prior_comes_back(prior):
    """N = 0: mean, covariance, evidence 1, and what it would predict."""
    q = bayes_logistic.fit(np.zeros((0, 3)), [], m0=M0, **prior)
    C = prior.get("S0", np.diag([1.0, 1 / 2, 1 / 3]))
    np.testing.assert_array_equal(q.mode, M0)
    np.testing.assert_allclose(q.covariance, C, rtol=1e-12)
    assert abs(q.log_evidence) < 1e-12 and q.converged


def test_evidence_of_one_row_is_known():
    """Z = int sigma(a) N(a|0, s2) da = 1/2: the approximation is near it."""
    q = bayes_logistic.fit([[1.0]], [1], alpha=1.0)
    assert abs(q.log_evidence - np.log(0.5)) < 0.02
    exact = averages.logistic(0.0, 1.0)[0]
    assert abs(exact - np.log(0.5)) < 1e-14


@pytest.mark.parametrize(
    "prior,said",
    [
        ({"S0": S0, "alpha": 2.0}, "S0 must come without alpha"),
        ({"S0": S0 + np.triu(S0, 1)}, "S0 must be symmetric; got a gap"),
        ({"S0": np.diag([1.0, -0.2, 1.0])}, "positive definite.* -0.2"),
        ({"S0": S0_TURNED}, "S0, as correlations, must be symmetric"),
        ({"S0": np.ones((3, 3))}, "S0 must be positive definite"),
        ({"S0": np.diag([1.0, 0.0, 1.0])}, "S0 must be positive definite"),
        ({"S0": np.eye(2)}, r"S0 must have shape \(3, 3\); got \(2, 2\)"),
        ({"S0": np.full((3, 3), np.nan)}, "S0 must be finite"),
        ({"S0": np.eye(3) * 1e-320}, "variances down to 1e-320: the Hessian"),
        ({"S0": np.eye(3) * 1e-200}, "the Hessian would overflow"),
        ({"S0": np.eye(3) / 1.5e150}, "an inverse below 1e150"),
        ({"alpha": 1e300}, "alpha must be finite and below 1e150"),
        ({"alpha": 0.0}, "alpha must be > 0"),
        ({"alpha": [1.0, 0.0, 1.0]}, "alpha must be > 0"),
        ({"alpha": -1.0}, "alpha must be >= 0; got -1"),
        ({"alpha": [1.0, 2.0]}, r"shape \(3,\)"),
        ({"alpha": 1.0, "m0": [0.0]}, r"m0 must have shape \(3,\)"),
    ],
)
def test_bad_priors_are_named(sample, prior, said):
    """What arrived and what was expected."""
    with pytest.raises(ValueError, match=said):
        bayes_logistic.fit(*sample, **prior)


def test_inputs_stay_as_they_are(sample):
    """Read-only, integers, columns first."""
    Phi, t = sample
    want = bayes_logistic.fit(Phi, t, S0=S0)
    for array in (Phi, t, S0):
        array.setflags(write=False)
    same = bayes_logistic.fit(np.asfortranarray(Phi), t.astype(int), S0=S0)
    np.testing.assert_allclose(same.mode, want.mode, rtol=1e-9)


def test_a_search_that_ends_early_says_so(sample):
    """NotConverged, and converged is False."""
    with pytest.warns(newton.NotConverged, match="stopped after 1 steps"):
        q = bayes_logistic.fit(*sample, alpha=1e-3, max_iter=1)
    assert not q.converged
    slope = -logistic.map_gradient(q.mode, *sample, 1e-3)
    np.testing.assert_allclose(q.gradient, slope, rtol=1e-9)


@given(st.floats(-3, 3), st.floats(0.1, 3), st.integers(0, 1))
def test_one_weight_against_the_average(m0, s0, t):
    """One row, one weight: grid and one-dimensional average agree."""
    p = bayes_logistic.prior(1, S0=[[s0]], m0=[m0])
    q = bayes_logistic.fit([[1.0]], [t], S0=[[s0]], m0=[m0])
    true = cubature.integrate(
        lambda w: bayes_logistic.log_joint(w, [[1.0]], [t], p), q
    )
    log_Z, d1, d2 = averages.logistic(m0, s0, t)
    assert abs(true.log_evidence - log_Z) < 1e-10
    assert abs(true.mean[0] - (m0 + s0 * d1)) < 1e-9
    assert abs(true.covariance[0, 0] - (s0 + s0**2 * d2)) < 1e-9


# More than two classes.


@pytest.fixture
def three(rng):
    """Forty rows in three classes."""
    Phi = data.with_bias(rng.standard_normal((40, 1)))
    W = np.array([[0.5, 1.0], [0.0, -1.0], [-0.2, 0.3]])
    y = softmax.predict_proba(W, Phi)
    return Phi, np.array([rng.choice(3, p=row) for row in y])


def test_two_classes_of_a_softmax_are_a_sigmoid(sample):
    """v = w_1 - w_2 has the prior precision alpha / 2."""
    Phi, t = sample
    many = bayes_logistic.fit_softmax(Phi, 1 - t, alpha=2.0)
    two = bayes_logistic.fit(Phi, t, alpha=1.0)
    np.testing.assert_allclose(many.mode, two.mode, rtol=1e-6)
    np.testing.assert_allclose(many.precision, two.precision, rtol=1e-6)
    assert abs(many.log_evidence - two.log_evidence) < 1e-9
    y = bayes_logistic.predict_softmax(many, Phi)
    one = bayes_logistic.predict_proba(two, Phi)
    np.testing.assert_allclose(y, one[:, ::-1], atol=1e-8)
    pairs = bayes_logistic.predict_softmax(many, Phi, averages.softmax_pairs)
    one = bayes_logistic.predict_proba(two, Phi, averages.mackay)
    np.testing.assert_allclose(pairs, one[:, ::-1], atol=1e-8)


def test_a_posterior_of_two_classes_keeps_their_order(sample):
    """a is the log odds of C_1, the second class; as the first one's, every
    label came out wrong. And a probit's a is no activation of a softmax."""
    Phi, t = sample
    two = bayes_logistic.fit(Phi, t)
    y = bayes_logistic.predict_softmax(two, Phi)
    one = bayes_logistic.predict_proba(two, Phi)
    np.testing.assert_allclose(y, one, atol=1e-8)
    other = bayes_logistic.fit(Phi, t, likelihood=PROBIT)
    with pytest.raises(ValueError, match="must be logistic; got 'probit'"):
        bayes_logistic.predict_softmax(other, Phi)


def test_the_smaller_probability_has_its_digits_in_either_class():
    """p(C_0) of a row far on the side of C_1 is that of C_1 of its mirror
    image, not 1 - 1 = 0, by which one wrong label makes a loss infinite."""
    rng = np.random.default_rng(0)
    Phi = data.with_bias(rng.standard_normal((4000, 1)))
    t = (rng.random(4000) < 1 / (1 + np.exp(-3 * Phi[:, 1]))).astype(float)
    q, turned = (bayes_logistic.fit(Phi, each) for each in (t, 1 - t))
    new = data.with_bias(np.array([[-30.0], [0.2], [10.0], [20.0]]))
    found = bayes_logistic.predict_proba(q, new)
    mirror = bayes_logistic.predict_proba(turned, new)[:, ::-1]
    np.testing.assert_allclose(found, mirror, rtol=1e-9)
    assert 0 < found[3, 0] < 1e-20 < found[2, 0]
    exact = np.exp(LOGISTIC.average(*bayes_logistic.activation(q, new), 0)[0])
    np.testing.assert_allclose(found[:, 0], exact, rtol=1e-9)


def test_softmax_evidence_is_the_joint_in_all_weights(three):
    """Laplace in W (K, M) with all w_k ~ N(0, I / alpha): the same ln Z."""
    Phi, t = three
    q = bayes_logistic.fit_softmax(Phi, t, alpha=0.5)
    found = softmax.fit(Phi, t, alpha=0.5)
    H = softmax.as_matrix(softmax.hessian(found.W, Phi)) + 0.5 * np.eye(6)
    log_f = -softmax.map_error(found.W, Phi, t, 0.5)
    log_f += 0.5 * 6 * np.log(0.5)
    true = log_f - 0.5 * np.linalg.slogdet(H)[1]
    assert abs(q.log_evidence - true) < 1e-9
    mu, C = bayes_logistic.softmax_activation(q, Phi)
    S = np.linalg.inv(H).reshape(3, 2, 3, 2)
    a = Phi @ found.W.T
    np.testing.assert_allclose(mu, a[:, :2] - a[:, 2:], rtol=1e-6)
    D = np.array([[1.0, 0, -1], [0, 1, -1]])
    full = np.einsum("nm,jmkl,nl->njk", Phi, S, Phi)
    np.testing.assert_allclose(C, D @ full @ D.T, rtol=1e-6)


def test_softmax_schemes_agree(three):
    """Grid against draws; pairs within a hundredth; plug-in is softmax."""
    Phi, t = three
    q = bayes_logistic.fit_softmax(Phi, t, alpha=0.5)
    y = bayes_logistic.predict_softmax(q, Phi[:6])
    np.testing.assert_allclose(y.sum(axis=1), 1, rtol=1e-12)
    z = np.random.default_rng(1).standard_normal((20_000, 2))
    drawn = bayes_logistic.predict_softmax(
        q, Phi[:6], lambda mu, C: averages.softmax_monte_carlo(mu, C, z)
    )
    assert np.abs(y - drawn).max() < 0.01
    pairs = bayes_logistic.predict_softmax(q, Phi[:6], averages.softmax_pairs)
    assert np.abs(y - pairs).max() < 0.02
    plain = bayes_logistic.predict_softmax(q, Phi[:6], averages.softmax_plug_in)
    W = softmax.fit(Phi, t, alpha=0.5).W
    np.testing.assert_allclose(
        plain, softmax.predict_proba(W, Phi[:6]), rtol=1e-6
    )


def test_bad_softmax_input_is_named(three):
    """Columns that cannot be; five classes on a grid; no prior."""
    Phi, t = three
    q = bayes_logistic.fit_softmax(Phi, t, alpha=0.5)
    two = bayes_logistic.fit(Phi, t == 1)
    with pytest.raises(ValueError, match="Phi must have M = 2 columns"):
        bayes_logistic.softmax_activation(two, np.ones((2, 1)))
    for M in (1, 3, 4):  # 1 and 4 were once taken for other numbers of classes
        with pytest.raises(ValueError, match="Phi must have M = 2 columns"):
            bayes_logistic.predict_softmax(q, np.ones((2, M)))
    with pytest.raises(ValueError, match="fit must be a SoftmaxPosterior"):
        bayes_logistic.predict_softmax(softmax.fit(Phi, t, alpha=0.5), Phi)
    with pytest.raises(ValueError, match="4 classes at most; got 5"):
        averages.softmax_grid(np.zeros((1, 4)), np.eye(4)[None])
    with pytest.raises(ValueError, match="alpha must be > 0"):
        bayes_logistic.fit_softmax(Phi, t, alpha=0.0)


def test_six_classes_are_averaged_like_those_of_gaussian_processes(rng):
    """Five activations are too many for a grid: fixed points, to 5e-3."""
    Phi, t = rng.standard_normal((90, 2)), np.arange(90) % 6
    q = bayes_logistic.fit_softmax(Phi, t)
    y = bayes_logistic.predict_softmax(q, Phi[:5])
    assert y.sum(axis=1) == pytest.approx(np.ones(5))
    gaussian = bayes_logistic.softmax_activation(q, Phi[:5])
    draws = rng.standard_normal((20000, 5))
    drawn = averages.softmax_monte_carlo(*gaussian, draws)
    np.testing.assert_allclose(y, drawn, atol=0.01)


def test_a_prior_that_is_none_and_a_ragged_design_are_named():
    """'float' object has no attribute 'log_density', said an AttributeError."""
    with pytest.raises(ValueError, match="prior must be a Prior; got float"):
        bayes_logistic.log_joint([1.0], [[1.0]], [1], 1.0)
    with pytest.raises(ValueError, match="Phi must be a regular array"):
        bayes_logistic.fit([[1.0], [1.0, 2.0]], [0, 1])
