"""prml4.naive_bayes: counts, posteriors, missing features, bad input."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

from prml4 import gaussian, naive_bayes
from prml4.numerics import blocks
from prml4.numerics.special import log_softmax, sigmoid, softmax


def random_bernoulli(rng, D=5, K=3):
    """Parameters of no particular shape."""
    return naive_bayes.bernoulli(
        rng.dirichlet(np.full(K, 4.0)), rng.uniform(0.05, 0.95, (K, D))
    )


def random_gaussian(rng, D=4, K=3):
    """Parameters of no particular shape."""
    return naive_bayes.gaussian(
        rng.dirichlet(np.full(K, 4.0)),
        2 * rng.standard_normal((K, D)),
        rng.uniform(0.3, 3.0, (K, D)),
    )


def random_multinomial(rng, D=5, K=3):
    """Parameters of no particular shape."""
    return naive_bayes.multinomial(
        rng.dirichlet(np.full(K, 4.0)), rng.dirichlet(np.full(D, 3.0), K)
    )


def labels(rng, N, K):
    """Each class at least twice."""
    return np.r_[np.arange(K), np.arange(K), rng.integers(0, K, N - 2 * K)]


@pytest.fixture
def bits(rng):
    """200 rows of six bits in three classes."""
    t = labels(rng, 200, 3)
    return naive_bayes.sample(rng, random_bernoulli(rng, D=6), t), t


@pytest.fixture
def points(rng):
    """200 rows of four numbers in three classes."""
    t = labels(rng, 200, 3)
    return naive_bayes.sample(rng, random_gaussian(rng), t), t


@pytest.fixture
def counts(rng):
    """200 rows of counts of six words in three classes, nine words a row."""
    t = labels(rng, 200, 3)
    return naive_bayes.sample(rng, random_multinomial(rng, D=6), t, 9), t


def every_input(D):
    """All 2^D binary rows."""
    return np.array(list(itertools.product([0.0, 1.0], repeat=D)))


# Estimates.


@pytest.mark.parametrize("a, b", [(0, 0), (1, 1), (0.5, 2), (1e-9, 1e-9)])
def test_bernoulli_estimates_are_counts(bits, a, b):
    """(n_ki + a) / (n_k + a + b) with loops."""
    X, t = bits
    fit = naive_bayes.fit_bernoulli(X, t, pseudo_count=(a, b))
    for k in range(3):
        rows = [x for x, c in zip(X, t, strict=True) if c == k]
        assert fit.pi[k] == pytest.approx(len(rows) / len(X))
        for i in range(6):
            ones = sum(x[i] for x in rows)
            theta = (ones + a) / (len(rows) + a + b)
            assert fit.theta[k, i] == pytest.approx(theta)
            assert fit.rest[k, i] == pytest.approx(1 - theta)


@pytest.mark.parametrize("a", [0.0, 1.0, [0.5, 2, 1, 0, 3, 1e-9]])
def test_multinomial_estimates_are_shares_of_words(counts, a):
    """(n_ki + a_i) / sum_j (n_kj + a_j) with loops."""
    X, t = counts
    fit = naive_bayes.fit_multinomial(X, t, pseudo_count=a)
    a = np.broadcast_to(a, 6)
    for k in range(3):
        n = [
            sum(x[i] for x, c in zip(X, t, strict=True) if c == k)
            for i in range(6)
        ]
        total = sum(n) + sum(a)
        assert fit.pi[k] == pytest.approx(np.mean(t == k))
        for i in range(6):
            assert fit.theta[k, i] == pytest.approx((n[i] + a[i]) / total)


def test_the_dirichlet_mean_is_what_draws_have(counts):
    """Mean of 4e5 draws of the posterior, within five standard errors."""
    X, t = counts
    a = np.array([0.5, 2, 1, 0.2, 3, 1])
    fit = naive_bayes.fit_multinomial(X[:20], t[:20], pseudo_count=a)
    after = X[:20][t[:20] == 1].sum(axis=0) + a
    draws = np.random.default_rng(1).dirichlet(after, 400_000)
    error = 5 * draws.std(axis=0) / np.sqrt(400_000)
    assert (np.abs(draws.mean(axis=0) - fit.theta[1]) < error).all()


def test_one_pseudo_count_means_both(bits):
    """a = b; Laplace's correction is the default."""
    fits = [
        naive_bayes.fit_bernoulli(*bits, **how)
        for how in ({}, {"pseudo_count": 1}, {"pseudo_count": (1, 1)})
    ]
    for fit in fits:
        np.testing.assert_array_equal(fit.theta, fits[0].theta)


def test_the_pseudo_count_is_the_mean_of_a_beta_posterior():
    """By quadrature of likelihood times prior, to 1e-8 as asked of quad."""
    for ones, n, a, b in [(3, 10, 1, 1), (0, 4, 0.5, 2.5), (7, 7, 2, 1)]:

        def weight(v, ones=ones, n=n, a=a, b=b):
            return v ** (ones + a - 1) * (1 - v) ** (n - ones + b - 1)

        mass = integrate.quad(weight, 0, 1)[0]
        mean = integrate.quad(lambda v, f=weight: v * f(v), 0, 1)[0] / mass
        found = naive_bayes.posterior_mean(ones, n, a, b)
        assert found == pytest.approx(mean, rel=1e-7)


def test_the_rest_keeps_its_digits():
    """1 - theta = 1e-20 / (n + 2e-20) has no meaning as a difference."""
    X, t = [[1.0], [1.0], [0.0]], [0, 0, 1]
    fit = naive_bayes.fit_bernoulli(X, t, pseudo_count=1e-20)
    np.testing.assert_allclose(fit.rest[0], 5e-21, rtol=1e-12)


def test_gaussian_estimates_are_means_and_mean_squares(points):
    """Divided by n_k, not n_k - 1."""
    X, t = points
    fit = naive_bayes.fit_gaussian(X, t)
    for k in range(3):
        np.testing.assert_allclose(fit.mu[k], X[t == k].mean(axis=0))
        np.testing.assert_allclose(fit.var[k], X[t == k].var(axis=0))
        assert fit.pi[k] == pytest.approx(np.mean(t == k))


def test_smoothing_adds_a_share_of_the_variance_of_all_rows(points):
    """Each feature has its own, so that units do not matter."""
    X, t = points
    X = X * [1, 10, 100, 1000]
    plain = naive_bayes.fit_gaussian(X, t)
    fit = naive_bayes.fit_gaussian(X, t, smoothing=0.3)
    np.testing.assert_allclose(fit.var, plain.var + 0.3 * X.var(axis=0))


@pytest.mark.parametrize("N", [12, 900])
def test_sums_keep_their_digits_far_from_the_origin(rng, monkeypatch, N):
    """Against long double; offsets of 1e6 and 1e8 deviations, many blocks."""
    monkeypatch.setattr(blocks, "SIZE", 8 * 3 * 50)
    t = labels(rng, N, 3)
    X = rng.standard_normal((N, 3)) + [0, 1e6, 1e8] + 1e3 * t[:, None]
    fit = naive_bayes.fit_gaussian(X, t)
    for k in range(3):
        rows = X[t == k].astype(np.longdouble)
        np.testing.assert_allclose(fit.mu[k], rows.mean(0).astype(float))
        np.testing.assert_allclose(fit.var[k], rows.var(0).astype(float))


def test_no_shares_are_likelier(counts, rng):
    """A hundred random moves of all shares lower the likelihood."""
    X, t = counts
    best = naive_bayes.fit_multinomial(X, t, pseudo_count=0)
    top = naive_bayes.log_likelihood(best, X, t)
    for _ in range(100):
        near = np.log(best.theta) + 0.1 * rng.standard_normal((3, 6))
        moved = naive_bayes.multinomial(best.pi, softmax(near))
        assert naive_bayes.log_likelihood(moved, X, t) < top


@pytest.mark.parametrize("family", ["bernoulli", "gaussian"])
def test_no_neighbour_is_likelier(bits, points, family, rng):
    """A hundred random moves of all parameters lower the likelihood."""
    if family == "bernoulli":
        X, t = bits
        best = naive_bayes.fit_bernoulli(X, t, pseudo_count=0)
        log_odds = np.log(best.theta / best.rest)
    else:
        X, t = points
        best = naive_bayes.fit_gaussian(X, t)
    top = naive_bayes.log_likelihood(best, X, t)
    for _ in range(100):
        pi = softmax(np.log(best.pi) + 0.1 * rng.standard_normal(3))
        if family == "bernoulli":
            near = log_odds + 0.1 * rng.standard_normal(log_odds.shape)
            moved = naive_bayes.bernoulli(pi, sigmoid(near))
        else:
            mu = best.mu + 0.1 * rng.standard_normal(best.mu.shape)
            var = best.var * np.exp(0.1 * rng.standard_normal(mu.shape))
            moved = naive_bayes.gaussian(pi, mu, var)
        assert naive_bayes.log_likelihood(moved, X, t) < top


# The joint and the posterior.


def test_bernoulli_joint_is_a_product(rng):
    """Each factor is theta or 1 - theta; all 2^D inputs sum to one."""
    model = random_bernoulli(rng)
    X = every_input(5)
    joint = naive_bayes.log_joint(model, X)
    for n, k in itertools.product(range(32), range(3)):
        p = model.pi[k]
        for i in range(5):
            p *= model.theta[k, i] if X[n, i] else 1 - model.theta[k, i]
        assert joint[n, k] == pytest.approx(np.log(p))
    np.testing.assert_allclose(np.exp(joint).sum(axis=0), model.pi)


def test_gaussian_joint_is_a_product(rng):
    """With scipy's density."""
    model = random_gaussian(rng)
    X = rng.standard_normal((10, 4))
    joint = naive_bayes.log_joint(model, X)
    for k in range(3):
        each = stats.norm(model.mu[k], np.sqrt(model.var[k])).logpdf(X)
        np.testing.assert_allclose(
            joint[:, k], np.log(model.pi[k]) + each.sum(axis=1)
        )


def test_multinomial_joint_is_scipys(rng):
    """Times the prior; the rows of four words that there are sum to it."""
    model = random_multinomial(rng)
    X = np.array([x for x in itertools.product(range(5), repeat=5)
                  if sum(x) == 4])  # fmt: skip
    joint = naive_bayes.log_joint(model, X)
    for k in range(3):
        each = stats.multinomial(4, model.theta[k]).logpmf(X)
        np.testing.assert_allclose(joint[:, k], np.log(model.pi[k]) + each)
    np.testing.assert_allclose(np.exp(joint).sum(axis=0), model.pi)
    log_y = naive_bayes.log_posterior(model, X)
    np.testing.assert_allclose(log_y, log_softmax(joint), atol=1e-12)


def test_the_likelihood_is_a_sum_over_rows(points):
    """The joint of each row with its own class."""
    X, t = points
    model = naive_bayes.fit_gaussian(X, t)
    joint = naive_bayes.log_joint(model, X)
    total = sum(joint[n, k] for n, k in enumerate(t))
    found = naive_bayes.log_likelihood(model, X, t)
    assert found == pytest.approx(total)


@pytest.mark.parametrize("make", [random_bernoulli, random_gaussian])
@pytest.mark.parametrize("K", [2, 3])
def test_products_equal_sums(rng, monkeypatch, make, K):
    """The matrix products against the factors, in blocks of seven rows."""
    model = make(rng, D=4, K=K)
    monkeypatch.setattr(blocks, "SIZE", 8 * 4 * 7)
    X = naive_bayes.sample(rng, model, rng.integers(0, K, 100))
    a = naive_bayes.log_joint(model, X)
    log_y = naive_bayes.log_posterior(model, X)
    np.testing.assert_allclose(log_y, log_softmax(a), atol=1e-12)
    y = naive_bayes.predict_proba(model, X)
    np.testing.assert_allclose(y, softmax(a), atol=1e-13)
    found = naive_bayes.predict(model, X)
    np.testing.assert_array_equal(found, a.argmax(axis=1))


def test_gaussian_naive_bayes_is_qda_with_diagonal_covariances(points):
    """The same model written as D univariate or one multivariate Gaussian."""
    X, t = points
    model = naive_bayes.fit_gaussian(X, t)
    full = gaussian.model(
        model.pi, model.mu, np.array([np.diag(v) for v in model.var])
    )
    np.testing.assert_allclose(
        naive_bayes.log_posterior(model, X),
        gaussian.log_posterior(full, X),
        atol=1e-10,
    )


def test_qda_shrunk_to_its_diagonal_is_the_fit(points):
    """shrinkage = 1 leaves the diagonal of Sigma alone."""
    full = gaussian.fit_qda(*points, shrinkage=1.0)
    fit = naive_bayes.fit_gaussian(*points)
    for k in range(3):
        np.testing.assert_allclose(
            full.Sigma[k], np.diag(fit.var[k]), atol=1e-14
        )


@pytest.mark.parametrize("alpha", [1e-10, 0.5, 1.0, 30.0])
def test_bernoulli_equals_scikit_learn(bits, alpha):
    """To 1e-12, in the log posterior."""
    X, t = bits
    ours = naive_bayes.fit_bernoulli(X, t, pseudo_count=alpha)
    theirs = BernoulliNB(alpha=alpha, force_alpha=True).fit(X, t)
    np.testing.assert_allclose(
        naive_bayes.log_posterior(ours, X),
        theirs.predict_log_proba(X),
        atol=1e-12,
        rtol=1e-12,
    )


@pytest.mark.parametrize("alpha", [1e-10, 0.5, 1.0, 30.0])
def test_multinomial_equals_scikit_learn(counts, alpha):
    """To 1e-12, in the log posterior, for counts and for shares of them."""
    X, t = counts
    for scale in (1.0, 0.3):
        ours = naive_bayes.fit_multinomial(scale * X, t, pseudo_count=alpha)
        theirs = MultinomialNB(alpha=alpha, force_alpha=True).fit(scale * X, t)
        np.testing.assert_allclose(
            naive_bayes.log_posterior(ours, X),
            theirs.predict_log_proba(X),
            atol=1e-12,
            rtol=1e-12,
        )


def test_gaussian_equals_scikit_learn(points):
    """To 1e-12, in the log posterior."""
    X, t = points
    ours = naive_bayes.fit_gaussian(X, t)
    theirs = GaussianNB(var_smoothing=0).fit(X, t)
    np.testing.assert_allclose(
        naive_bayes.log_posterior(ours, X),
        theirs.predict_log_proba(X),
        atol=1e-12,
        rtol=1e-12,
    )


@pytest.mark.parametrize("var", [1e-4, 1e-8, 1e-14])
@pytest.mark.parametrize("k", range(3))
def test_a_thin_class_costs_the_others_no_digits(var, k):
    """Their log odds were a difference of theirs against class 0: 1e14 each,
    where a feature hardly varies in it, and 0.002 of them was rounding."""
    mu = np.roll([[0.0, 0.3], [0, 0], [1, 1]], k, axis=0)
    size = np.roll([[var, 1.0], [1, 1], [1, 2]], k, axis=0)
    model = naive_bayes.gaussian([0.2, 0.3, 0.5], mu, size)
    X = np.array([[0.3, 0.2], [0.9, 0.2], [0.5, 0.7]])
    each = stats.norm(mu, np.sqrt(size)).logpdf(X[:, None]).sum(axis=-1)
    np.testing.assert_allclose(
        naive_bayes.log_posterior(model, X),
        log_softmax(each + np.log(model.pi)),
        rtol=1e-10,
    )


def test_far_means_keep_their_digits(rng):
    """Two classes 1e8 deviations from zero and a third from them: by sums."""
    mu = np.array([[1e8, 0.0], [1e8 + 1, 0.0], [-1e8, 0.0]])
    model = naive_bayes.gaussian(np.full(3, 1 / 3), mu, np.ones((3, 2)))
    X = np.array([[1e8 + 2, 0.0], [1e8 - 3.0, 1.0]])
    y = naive_bayes.predict_proba(model, X)
    np.testing.assert_allclose(y[:, 1], sigmoid(np.array([1.5, -3.5])))
    two = naive_bayes.gaussian([0.5, 0.5], mu[:2], np.ones((2, 2)))
    y = naive_bayes.predict_proba(two, X)
    np.testing.assert_allclose(y[:, 1], sigmoid(np.array([1.5, -3.5])))
    assert len(naive_bayes._polynomials(two)[0]) == 1
    assert len(naive_bayes._polynomials(model)[0]) == 3


@pytest.mark.parametrize(
    "first", [[0.0, 1.0], [1e4, 1e4 + 1], [0.0, 1e4], [1e4, 0.0, -1e4]]
)
@pytest.mark.parametrize("hide", [False, True])
def test_far_or_near_the_joint_is_the_same_sum(rng, first, hide):
    """About zero, about the mean of all, about each mean; scipy's density."""
    K = len(first)
    mu = np.column_stack([first, rng.standard_normal((K, 2))])
    model = naive_bayes.gaussian(
        rng.dirichlet(np.full(K, 4.0)), mu, rng.uniform(0.5, 2, (K, 3))
    )
    X = naive_bayes.sample(rng, model, rng.integers(0, K, 30))
    seen = rng.random(X.shape) < (0.6 if hide else 1)
    each = [
        stats.norm(m, np.sqrt(v)).logpdf(X) * seen
        for m, v in zip(model.mu, model.var, strict=True)
    ]
    joint = np.sum(each, axis=2).T + np.log(model.pi)
    gaps = np.where(seen, X, np.nan)
    found = naive_bayes.log_joint(model, gaps, seen if hide else None)
    np.testing.assert_allclose(found, joint, rtol=1e-9, atol=1e-9)
    y = naive_bayes.predict_proba(model, gaps, seen if hide else None)
    np.testing.assert_allclose(y, softmax(joint), atol=1e-9)


def test_thousands_of_features_do_not_underflow(rng):
    """The product of the factors is 0 in doubles, its logarithm -3e4."""
    model = random_bernoulli(rng, D=50_000, K=2)
    X = naive_bayes.sample(rng, model, [0, 1])
    assert naive_bayes.log_joint(model, X).max() < -2e4
    log_y = naive_bayes.log_posterior(model, X)
    assert np.isfinite(log_y).all() and log_y[0, 1] < -1e3
    np.testing.assert_array_equal(naive_bayes.predict(model, X), [0, 1])
    np.testing.assert_allclose(naive_bayes.predict_proba(model, X), np.eye(2))


# Linear discriminants.


def test_softmax_weights_are_the_joint(rng):
    """a_k = w0_k + W_k^T x on every input."""
    model, X = random_bernoulli(rng), every_input(5)
    W, w0 = naive_bayes.softmax_weights(model)
    np.testing.assert_allclose(
        X @ W.T + w0, naive_bayes.log_joint(model, X), atol=1e-12
    )


def test_sigmoid_weights_have_the_right_offset(rng):
    """sigma(w_0 + w^T x) is the posterior of class 1."""
    model, X = random_bernoulli(rng, K=2), every_input(5)
    w = naive_bayes.sigmoid_weights(model)
    joint = np.exp(naive_bayes.log_joint(model, X))
    np.testing.assert_allclose(
        sigmoid(w[0] + X @ w[1:]), joint[:, 1] / joint.sum(axis=1)
    )


def test_multinomial_weights_are_logarithms(rng):
    """Up to what all classes share they are the joint; two make a sigmoid."""
    model = random_multinomial(rng, K=2)
    X = naive_bayes.sample(rng, model, [0, 1, 1, 0], length=7)
    w = naive_bayes.sigmoid_weights(model)
    joint = np.exp(naive_bayes.log_joint(model, X))
    np.testing.assert_allclose(
        sigmoid(w[0] + X @ w[1:]), joint[:, 1] / joint.sum(axis=1)
    )
    closed = naive_bayes.multinomial([0.5, 0.5], [[1.0, 0], [0.5, 0.5]])
    with pytest.raises(ValueError, match="0 < theta < 1"):
        naive_bayes.softmax_weights(closed)


def test_weights_exist_for_open_bernoulli_models_only(rng):
    """Not for Gaussians, theta = 0, or a sigmoid of three classes."""
    with pytest.raises(ValueError, match="linear"):
        naive_bayes.softmax_weights(random_gaussian(rng))
    for edge in ([[0.0], [0.5]], [[0.5], [1.0]]):
        with pytest.raises(ValueError, match="0 < theta < 1"):
            naive_bayes.softmax_weights(naive_bayes.bernoulli([0.5] * 2, edge))
    with pytest.raises(ValueError, match="two classes; got 3"):
        naive_bayes.sigmoid_weights(random_bernoulli(rng))


def test_parameters_are_counted():
    """2 D + 1 for two classes; pi, mu and var; a table of 2^D cells."""
    assert naive_bayes.parameter_count(7, 2) == 15
    assert naive_bayes.parameter_count(7, 3, "gaussian") == 2 + 42
    assert naive_bayes.parameter_count(7, 3, "multinomial") == 2 + 18
    assert naive_bayes.parameter_count(7, 3, "table") == 2 + 3 * 127
    with pytest.raises(ValueError, match="family must be one of"):
        naive_bayes.parameter_count(7, 2, "poisson")


# Missing features.


def test_missing_bits_are_summed_out(rng):
    """Every pattern of missing features, by enumeration."""
    model, X = random_bernoulli(rng, D=4), every_input(4)
    joint = np.exp(naive_bayes.log_joint(model, X))
    for pattern in every_input(4).astype(bool):
        x = X[rng.integers(16)]
        same = (X[:, pattern] == x[pattern]).all(axis=1)
        total = joint[same].sum(axis=0)
        hidden = np.where(pattern, x, np.nan)[None]
        found = naive_bayes.log_joint(model, hidden, pattern[None])
        np.testing.assert_allclose(np.exp(found[0]), total)
        y = naive_bayes.predict_proba(model, hidden, pattern[None])
        np.testing.assert_allclose(y[0], total / total.sum())


def test_missing_numbers_are_integrated_out(rng):
    """Two of four by quadrature; the rest of the joint as it is."""
    model = random_gaussian(rng, K=2)
    x = rng.standard_normal(4)
    seen = np.array([True, False, True, False])

    def joint(u, v, k):
        full = np.where(seen, x, [0, u, 0, v])
        return np.exp(naive_bayes.log_joint(model, full[None])[0, k])

    total = [
        integrate.dblquad(joint, -20, 20, -20, 20, args=(k,), epsabs=1e-7)[0]
        for k in range(2)
    ]
    hidden = np.where(seen, x, np.nan)[None]
    found = np.exp(naive_bayes.log_joint(model, hidden, seen[None])[0])
    np.testing.assert_allclose(found, total, rtol=1e-4)
    y = naive_bayes.predict_proba(model, hidden, seen[None])[0]
    np.testing.assert_allclose(y, found / found.sum())


@pytest.mark.parametrize("make", [random_bernoulli, random_gaussian])
def test_leaving_features_out_is_a_smaller_model(rng, make):
    """All rows miss the same features; all of them: the prior is left."""
    model = make(rng, D=4)
    X = naive_bayes.sample(rng, model, rng.integers(0, 3, 20))
    seen = np.tile([True, False, True, True], (20, 1))
    parts = (p[:, seen[0]] for p in list(vars(model).values())[1:])
    small = type(model)(model.pi, *parts)
    np.testing.assert_allclose(
        naive_bayes.log_posterior(model, X, seen),
        naive_bayes.log_posterior(small, X[:, seen[0]]),
        atol=1e-12,
    )
    nothing = naive_bayes.predict_proba(model, X * np.nan, seen & False)
    np.testing.assert_allclose(nothing, np.tile(model.pi, (20, 1)))


# Backwards.


@pytest.mark.parametrize("make", [random_bernoulli, random_gaussian])
def test_samples_have_the_moments_of_their_class(rng, make):
    """Mean and variance within five standard errors, 2e4 rows a class."""
    model, n = make(rng), 20_000
    X = naive_bayes.sample(rng, model, np.repeat([2, 0, 1], n))
    for k, x in zip([2, 0, 1], np.split(X, 3), strict=True):
        if make is random_bernoulli:
            mean, var = model.theta[k], model.theta[k] * model.rest[k]
        else:
            mean, var = model.mu[k], model.var[k]
        assert (np.abs(x.mean(axis=0) - mean) < 5 * np.sqrt(var / n)).all()
        fourth = ((x - mean) ** 2).var(axis=0)
        assert (
            np.abs(((x - mean) ** 2).mean(axis=0) - var)
            < 5 * np.sqrt(fourth / n) + 1e-9
        ).all()


@pytest.mark.parametrize("length", [2.5, -1, None])
def test_a_row_has_a_whole_number_of_words(rng, length):
    """Rows of two words for 2.5 of them."""
    with pytest.raises(ValueError, match="length must be a whole number"):
        naive_bayes.sample(rng, random_multinomial(rng), [0], length=length)


def test_samples_of_words_have_their_shares(rng):
    """Means within five standard errors, 2e4 rows of nine words a class."""
    model, n = random_multinomial(rng), 20_000
    X = naive_bayes.sample(rng, model, np.repeat([2, 0, 1], n), length=9)
    assert (X.sum(axis=1) == 9).all()
    for k, x in zip([2, 0, 1], np.split(X, 3), strict=True):
        p = model.theta[k]
        error = 5 * np.sqrt(9 * p * (1 - p) / n)
        assert (np.abs(x.mean(axis=0) - 9 * p) < error).all()
    one = naive_bayes.sample(rng, model, [0, 1])
    np.testing.assert_array_equal(one.sum(axis=1), 1)


# Zero counts.


def test_a_zero_count_is_warned_about_and_excludes_a_class():
    """Without a pseudo-count; with one nothing is impossible."""
    X, t = [[1, 0], [1, 1], [0, 1], [0, 0]], [0, 0, 1, 1]
    with pytest.warns(
        naive_bayes.ZeroCountWarning, match="feature 0 .* class 0"
    ):
        fit = naive_bayes.fit_bernoulli(X, t, pseudo_count=0)
    y = naive_bayes.predict_proba(fit, X)
    np.testing.assert_array_equal(y, [[1, 0], [1, 0], [0, 1], [0, 1]])
    log_y = naive_bayes.log_posterior(fit, X)
    assert (log_y.max(axis=1) == 0).all() and (log_y.min(axis=1) < -1e9).all()


def test_a_word_that_never_occurs_is_warned_about():
    """Without a pseudo-count it excludes its class, and two exclude both."""
    X, t = [[1, 0, 1], [2, 0, 1], [0, 3, 1]], [0, 0, 1]
    with pytest.warns(naive_bayes.ZeroCountWarning, match="feature 1 does not"):
        fit = naive_bayes.fit_multinomial(X, t, pseudo_count=0)
    y = naive_bayes.predict_proba(fit, [[1, 0, 0], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_allclose(y, [[1, 0], [0, 1], [2 / 3, 1 / 3]])
    with pytest.raises(naive_bayes.ImpossibleRow, match="row 0"):
        naive_bayes.predict_proba(fit, [[1, 1, 0]])
    with pytest.raises(ValueError, match="X must hold .* class 1"):
        naive_bayes.fit_multinomial([[1.0], [0]], [0, 1], pseudo_count=0)


def test_zero_over_zero_is_an_error():
    """Each class excludes the row by a feature of its own; the row is named."""
    model = naive_bayes.bernoulli([0.5, 0.5], [[0.0, 0.5], [0.5, 0.0]])
    fine = [[0, 0], [1, 0], [0, 1]]
    assert np.isfinite(naive_bayes.predict_proba(model, fine)).all()
    with pytest.raises(naive_bayes.ImpossibleRow, match="row 3 has probab"):
        naive_bayes.predict_proba(model, [*fine, [1, 1]])
    assert (naive_bayes.log_joint(model, [[1, 1]]) == -np.inf).all()
    seen = np.array([[True, False]])
    y = naive_bayes.predict_proba(model, [[1, 1]], seen)
    np.testing.assert_array_equal(y, [[0, 1]])


# Bad input.


@pytest.mark.parametrize("bad", [0.5, 2, -1, 1e-300, 1 + 1e-15])
def test_bernoulli_features_are_bits(rng, bad):
    """One entry among many; at fitting and at prediction; with its place."""
    X, t = rng.integers(0, 2, (40, 3)).astype(float), labels(rng, 40, 2)
    model = naive_bayes.fit_bernoulli(X, t)
    X[17, 2] = bad
    for f in (naive_bayes.fit_bernoulli, naive_bayes.predict_proba):
        with pytest.raises(ValueError, match=r"0 and 1 only; .*at \[17, 2\]"):
            f(X, t) if f is naive_bayes.fit_bernoulli else f(model, X)


@pytest.mark.parametrize("bad", [-1, -1e-300])
def test_counts_are_not_negative(counts, bad):
    """One entry among many; at fitting and at prediction; with its place."""
    X, t = counts
    model, X = naive_bayes.fit_multinomial(X, t), X.copy()
    X[17, 2] = bad
    for call in (
        lambda: naive_bayes.fit_multinomial(X, t),
        lambda: naive_bayes.predict_proba(model, X),
        lambda: naive_bayes.log_joint(model, X),
    ):
        with pytest.raises(ValueError, match=r"counts >= 0; .*at \[17, 2\]"):
            call()


def test_counts_of_words_take_no_mask(counts):
    """What is left of a multinomial has another length: another model."""
    X, t = counts
    model = naive_bayes.fit_multinomial(X, t)
    with pytest.raises(ValueError, match="observed must be None"):
        naive_bayes.predict_proba(model, X, X > 0)


def test_missing_values_must_be_announced(rng):
    """NaN is an error, with a hint, unless `observed` says so."""
    bits, points = random_bernoulli(rng), random_gaussian(rng)
    with pytest.raises(ValueError, match="False in `observed`"):
        naive_bayes.predict_proba(bits, [[1, 0, np.nan, 1, 0]])
    with pytest.raises(
        ValueError, match=r"nan at \[1, 0\]$"
    ):  # no such argument
        naive_bayes.fit_bernoulli([[1, 0], [np.nan, 1]], [0, 1])
    with pytest.raises(ValueError, match=r"nan at \[1, 2\]"):
        naive_bayes.predict_proba(points, [[1, 0, 2, 1], [1, 0, np.nan, 1]])
    for seen in ([[True] * 4], [[1] * 5], [True] * 5):
        with pytest.raises(ValueError, match="observed must be boolean"):
            naive_bayes.predict(bits, [[1, 0, 1, 1, 0]], seen)
    seen = np.array([[True] * 4, [True, False, True, True]])
    with pytest.raises(ValueError, match=r"nan at \[1, 2\]"):
        naive_bayes.predict_proba(
            points, [[1, 0, 2, 1], [1, np.nan, np.nan, 1]], seen
        )


def test_values_beyond_measure_are_refused(rng):
    """1e200 at once; 1e149 over a tiny variance as an impossible row."""
    points = random_gaussian(rng, D=1)
    for f in (naive_bayes.log_joint, naive_bayes.predict_proba):
        with pytest.raises(ValueError, match="below 1e150"):
            f(points, [[0.0], [1e200]])
        with pytest.raises(ValueError, match="inf at"):
            f(points, [[0.0], [np.inf]])
    far, centres = [[0.0], [1e149]], [[0], [1e-9]]
    tiny = naive_bayes.gaussian([0.5, 0.5], centres, [[1e-20], [3e-20]])
    with pytest.raises(naive_bayes.ImpossibleRow, match="row 1 .* far away"):
        naive_bayes.predict_proba(tiny, far)
    tiny = naive_bayes.gaussian([0.5, 0.5], centres, [[3e-20], [1e-20]])
    y = naive_bayes.predict_proba(tiny, far)
    np.testing.assert_array_equal(y[1], [1, 0])


def test_the_model_and_the_data_must_fit(rng):
    """Numbers of features, of classes."""
    model = random_bernoulli(rng)
    with pytest.raises(ValueError, match=r"D = 5 columns"):
        naive_bayes.predict(model, [[1, 0]])
    for t in ([3], [-1], [0.5], [[0]], [np.nan]):
        with pytest.raises(
            ValueError, match="(class numbers 0, ..., 2|have shape)"
        ):
            naive_bayes.sample(rng, model, t)


@pytest.mark.parametrize("bad", [-1, (1, -1), (1, 2, 3), np.nan, 1e200])
def test_bad_pseudo_counts_are_refused(bits, bad):
    """Two numbers >= 0 at most."""
    with pytest.raises(ValueError, match="pseudo_count must be"):
        naive_bayes.fit_bernoulli(*bits, pseudo_count=bad)


@pytest.mark.parametrize("bad", [-1, [1] * 5, [1, 1, 1, 1, 1, -1], np.nan])
def test_bad_pseudo_counts_of_words_are_refused(counts, bad):
    """One number >= 0, or one for each word."""
    with pytest.raises(ValueError, match="pseudo_count must"):
        naive_bayes.fit_multinomial(*counts, pseudo_count=bad)


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf, "a", None, [1, 2]])
def test_bad_smoothing_is_refused(points, bad):
    """A number >= 0."""
    with pytest.raises(ValueError, match="smoothing must"):
        naive_bayes.fit_gaussian(*points, smoothing=bad)


@pytest.mark.parametrize("level", [0.7, 1e6 + 0.1])
def test_a_constant_feature_of_many_rows_is_named(rng, level):
    """The rounding of its mean grows with the rows, and is no variance."""
    X = np.column_stack([rng.standard_normal(10**5), np.full(10**5, level)])
    with pytest.raises(ValueError, match="feature 1 is constant in the"):
        naive_bayes.fit_gaussian(X, rng.integers(0, 2, 10**5))


@pytest.mark.parametrize("level", [0.0, 0.1, 1e9])
def test_a_constant_feature_is_named(points, level):
    """Its density would be infinitely narrow; smoothing helps if one class
    only is affected."""
    X, t = points
    X = X.copy()
    X[t == 1, 2] = level
    n = np.sum(t == 1)
    with pytest.raises(
        ValueError, match=f"feature 2 is constant in the {n} rows of class 1"
    ):
        naive_bayes.fit_gaussian(X, t)
    naive_bayes.fit_gaussian(X, t, smoothing=1e-3)
    X[:, 2] = level
    with pytest.raises(ValueError, match="cannot help"):
        naive_bayes.fit_gaussian(X, t, smoothing=1e-3)


@pytest.mark.parametrize("unit", [1e-150, 1e-60, 1.0, 1e60, 1e149])
def test_units_do_not_matter(points, unit):
    """Sums of squares neither overflow nor underflow; below, an error."""
    X, t = points
    X = X / np.abs(X).max()
    y = naive_bayes.predict_proba(naive_bayes.fit_gaussian(X, t), X)
    scaled = naive_bayes.fit_gaussian(unit * X, t)
    found = naive_bayes.predict_proba(scaled, unit * X)
    np.testing.assert_allclose(found, y, atol=1e-9)
    for too_small in (1e-156, 1e-200):
        with pytest.raises(ValueError, match="feature . is constant"):
            naive_bayes.fit_gaussian(too_small * X, t)


@pytest.mark.parametrize("call", ["log_likelihood", "sample"])
@pytest.mark.parametrize("t", [[0, 5], [-1, 0], [0.5, 1], 1, [[0], [1]]])
def test_classes_outside_the_set_are_refused(rng, call, t):
    """-1 would be the last class, and 0.5 the first."""
    model = random_bernoulli(rng)
    with pytest.raises(ValueError, match="t must"):
        if call == "sample":
            naive_bayes.sample(rng, model, t)
        else:
            naive_bayes.log_likelihood(model, every_input(5)[:2], t)


def test_bad_parameters_are_refused():
    """Of models that are given rather than fitted."""
    with pytest.raises(ValueError, match="theta must lie in"):
        naive_bayes.bernoulli([0.5, 0.5], [[0.5], [1.5]])
    with pytest.raises(ValueError, match="theta must lie in"):
        naive_bayes.bernoulli([0.5, 0.5], [[0.5], [-0.5]])
    with pytest.raises(ValueError, match="pi must"):
        naive_bayes.bernoulli([0.5, 0.6], [[0.5], [0.5]])
    with pytest.raises(ValueError, match="var must be > 0 and"):
        naive_bayes.gaussian([0.5, 0.5], [[0], [1]], [[1], [0]])
    with pytest.raises(ValueError, match="of the shape of mu"):
        naive_bayes.gaussian([0.5, 0.5], [[0], [1]], [[1]])
    for theta in ([[0.5, 0.6], [0.5, 0.5]], [[1.5, -0.5], [0.5, 0.5]]):
        with pytest.raises(ValueError, match="theta must hold"):
            naive_bayes.multinomial([0.5, 0.5], theta)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_probabilities_sum_to_one(data):
    """Whatever the bits, the classes and the pseudo-count."""
    D, K = data.draw(st.integers(1, 5)), data.draw(st.integers(2, 4))
    N = data.draw(st.integers(K, 12))
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (N, D))
    t = np.r_[np.arange(K), rng.integers(0, K, N - K)]
    count = data.draw(st.floats(1e-12, 1e6))
    fit = naive_bayes.fit_bernoulli(X, t, pseudo_count=count)
    observed = rng.random((N, D)) < 0.7
    for seen in (None, observed):
        y = naive_bayes.predict_proba(fit, X, seen)
        np.testing.assert_allclose(y.sum(axis=1), 1, rtol=1e-12)
        assert (y >= 0).all()


@pytest.mark.parametrize("family", ["bernoulli", "gaussian", "multinomial"])
def test_little_memory_is_used(rng, family):
    """A few blocks of half a megabyte beside 16 MB of data and the answer."""
    t = rng.integers(0, 2, 40_000)
    X = rng.standard_normal((40_000, 50))
    X = X if family == "gaussian" else (X > 0).astype(float)
    tracemalloc.start()
    fit = getattr(naive_bayes, f"fit_{family}")(X, t)
    y = naive_bayes.predict_proba(fit, X)
    peak = tracemalloc.get_traced_memory()[1] - y.nbytes
    tracemalloc.stop()
    assert peak < 3e6


def test_a_sample_asks_for_a_generator():
    with pytest.raises(ValueError, match="rng must be a Generator; got int"):
        model = naive_bayes.bernoulli([0.5, 0.5], [[0.1], [0.2]])
        naive_bayes.sample(0, model, [0, 1])


def test_a_sample_is_of_a_model_of_this_chapter(rng):
    """A GaussianModel of chapter 3 had no attribute 'var'."""
    other = gaussian.model([0.5, 0.5], [[0.0], [1.0]], [[1.0]])
    with pytest.raises(ValueError, match="got that of prml4.gaussian$"):
        naive_bayes.sample(rng, other, [0, 1])


def test_a_mask_hides_no_part_of_observed():
    X, t = np.array([[0.0], [1.0], [2.0], [4.0]]), [0, 0, 1, 1]
    model = naive_bayes.fit_gaussian(X, t)
    observed = np.ma.array(X > 0, mask=X > 1)
    with pytest.raises(ValueError, match="observed must be .* masked bool"):
        naive_bayes.predict_proba(model, X, observed)
