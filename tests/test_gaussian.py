"""prml4.gaussian: maximum likelihood, posteriors, singular covariances."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from prml4 import gaussian, naive_bayes
from prml4.models import covariance, data
from prml4.numerics import blocks
from prml4.numerics.special import log_softmax, logit, sigmoid, softmax
from prml4.studies import worlds


def sample(rng, N=120, D=3, K=3):
    """Overlapping classes of unequal size, shape and position."""
    t = np.r_[np.arange(K), rng.choice(K, N - K, p=np.arange(1, K + 1) / 6)]
    A = rng.standard_normal((K, D, D)) + 2 * np.eye(D)
    X = np.einsum("nij,nj->ni", A[t], rng.standard_normal((N, D)))
    return X + 2 * rng.standard_normal((K, D))[t], t


@pytest.fixture
def points(rng):
    """120 rows, three features, three classes."""
    return sample(rng)


def random_model(rng, D=3, K=3, shared=False):
    """Parameters of no particular shape."""
    A = rng.standard_normal((D, D) if shared else (K, D, D))
    Sigma = A @ np.swapaxes(A, -1, -2) + 0.3 * np.eye(D)
    pi = rng.dirichlet(np.full(K, 5.0))
    return gaussian.model(pi, rng.standard_normal((K, D)), Sigma)


FITS = [gaussian.fit_lda, gaussian.fit_qda]


# Maximum likelihood.


def test_estimates_are_means_and_mean_products(points):
    """(4.73)-(4.80) with loops; divided by n_k and N, not by less."""
    X, t = points
    qda, lda = gaussian.fit_qda(X, t), gaussian.fit_lda(X, t)
    pooled = np.zeros((3, 3))
    for k in range(3):
        rows = [x for x, c in zip(X, t, strict=True) if c == k]
        mean = sum(rows) / len(rows)
        S = sum(np.outer(x - mean, x - mean) for x in rows)
        pooled += S / len(X)
        for fit in (qda, lda):
            assert fit.pi[k] == pytest.approx(len(rows) / len(X))
            np.testing.assert_allclose(fit.mu[k], mean)
        np.testing.assert_allclose(qda.Sigma[k], S / len(rows))
    np.testing.assert_allclose(lda.Sigma, pooled)
    assert lda.shared and not qda.shared


@pytest.mark.parametrize("fit", FITS)
def test_the_fit_is_a_stationary_point(points, fit):
    """Central differences of the log likelihood per row vanish, but for
    h^2 / 6 times a third derivative, up to 1e3 in the narrowest direction."""
    X, t = points
    best = fit(X, t)

    def L(d):
        parts = np.split(d, [3, 12])
        Sigma = best.Sigma + sym(parts[2]).reshape(best.Sigma.shape)
        pi = softmax(np.log(best.pi) + parts[0])
        moved = gaussian.model(pi, best.mu + parts[1].reshape(3, 3), Sigma)
        return gaussian.log_likelihood(moved, X, t) / len(t)

    def sym(flat):
        S = flat.reshape(-1, 3, 3)
        return (S + np.swapaxes(S, 1, 2)) / 2

    steps = 1e-5 * np.eye(12 + best.Sigma.size)
    slopes = [(L(d) - L(-d)) / 2e-5 for d in steps]
    np.testing.assert_allclose(slopes, 0, atol=1e-7)
    away = [(L(d + 0.1) - L(0.1 - d)) / 2e-5 for d in steps]
    assert np.abs(away).max() > 1e-2


@pytest.mark.parametrize("fit", FITS)
def test_no_neighbour_is_likelier(points, fit, rng):
    """Two hundred random moves of all parameters lower the likelihood."""
    X, t = points
    best = fit(X, t)
    top = gaussian.log_likelihood(best, X, t)
    for _ in range(200):
        A = np.eye(3) + 0.1 * rng.standard_normal((3, 3))
        pi = softmax(np.log(best.pi) + 0.1 * rng.standard_normal(3))
        mu = best.mu + 0.1 * rng.standard_normal((3, 3))
        moved = gaussian.model(pi, mu, A @ best.Sigma @ A.T)
        assert gaussian.log_likelihood(moved, X, t) < top


def test_the_likelihood_is_a_product_of_densities(points, rng):
    """PRML (4.71) with scipy's density; joint and density likewise."""
    X, t = points
    model = random_model(rng)
    each = [
        multivariate_normal(m, S).logpdf(X)
        for m, S in zip(model.mu, model.Sigma, strict=True)
    ]
    joint = np.log(model.pi) + np.array(each).T
    np.testing.assert_allclose(gaussian.log_joint(model, X), joint)
    total = sum(joint[n, k] for n, k in enumerate(t))
    assert gaussian.log_likelihood(model, X, t) == pytest.approx(total)
    np.testing.assert_allclose(
        gaussian.log_density(X, model.mu[1], model.Sigma[1]), each[1]
    )


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("N", [3, 40, 2000])
def test_one_pass_statistics_keep_their_digits_far_from_the_origin(
    rng, monkeypatch, shared, N
):
    """Against long double; offsets of 1e6 and 1e8 deviations, many blocks."""
    monkeypatch.setattr(blocks, "SIZE", 8 * 3 * 50)
    t = np.r_[0, 1, 2, rng.integers(0, 3, N - 3)]
    X = np.sort(rng.standard_normal((N, 3)), axis=0) + [0, 1e6, 1e8]
    X += 1e3 * t[:, None]
    counts, mu, S = gaussian.statistics(X, t, 3, shared=shared)
    exact = np.zeros((3, 3, 3), np.longdouble)
    for k in range(3):
        rows = X[t == k].astype(np.longdouble)
        np.testing.assert_allclose(mu[k], rows.mean(0).astype(float), 1e-14)
        rows -= rows.mean(0)
        exact[k] = rows.T @ rows
    np.testing.assert_array_equal(counts, np.bincount(t))
    wanted = (exact.sum(0) if shared else exact).astype(float)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(S, wanted, rtol=1e-10, atol=1e-12 * scale)


@pytest.mark.parametrize("fit", [gaussian.fit_lda, gaussian.fit_qda])
def test_a_given_prior_moves_nothing_else(points, fit):
    """Means and covariances are those of the rows; pi is as given."""
    X, t = points
    own, given = fit(X, t), fit(X, t, pi=[0.2, 0.3, 0.5])
    np.testing.assert_array_equal(given.pi, [0.2, 0.3, 0.5])
    np.testing.assert_array_equal(given.mu, own.mu)
    np.testing.assert_array_equal(given.Sigma, own.Sigma)
    with pytest.raises(ValueError, match="pi must hold positive prob"):
        fit(X, t, pi=[0.2, 0.3, 0.6])


# The posterior.


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(2, 5))
def test_the_posterior_is_bayes_rule(seed, shared, K):
    """Densities of scipy, multiplied and divided."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, K=K, shared=shared)
    X = 2 * rng.standard_normal((7, 3))
    Sigma = np.broadcast_to(model.Sigma, (K, 3, 3))
    joint = [
        p * multivariate_normal(m, S).pdf(X)
        for p, m, S in zip(model.pi, model.mu, Sigma, strict=True)
    ]
    P = np.array(joint).T / np.sum(joint, axis=0)[:, None]
    found = gaussian.predict_proba(model, X)
    np.testing.assert_allclose(found, P, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        gaussian.log_posterior(model, X), np.log(P), rtol=1e-8, atol=1e-9
    )
    np.testing.assert_array_equal(gaussian.predict(model, X), P.argmax(axis=1))
    A, b, c = gaussian.quadratic_weights(model)
    a = np.einsum("ni,kij,nj->nk", X, A, X) + X @ b.T + c
    np.testing.assert_allclose(softmax(a), P, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("K", [2, 3, 4])
def test_linear_weights_give_the_posterior(rng, K):
    """(4.65)-(4.70): softmax of beta^T x + gamma, sigmoid for two classes."""
    model = random_model(rng, K=K, shared=True)
    X = rng.standard_normal((9, 3))
    beta, gamma = gaussian.softmax_weights(model)
    P = gaussian.predict_proba(model, X)
    np.testing.assert_allclose(softmax(X @ beta.T + gamma), P)
    inverse = np.linalg.inv(model.Sigma)
    np.testing.assert_allclose(beta, model.mu @ inverse)
    if K > 2:
        with pytest.raises(ValueError, match="two classes; got"):
            gaussian.sigmoid_weights(model)
        return
    w = gaussian.sigmoid_weights(model)
    np.testing.assert_allclose(sigmoid(w[0] + X @ w[1:]), P[:, 1])
    np.testing.assert_allclose(
        logit(P[:, 1]), (X - model.mu.mean(0)) @ w[1:] + logit(model.pi[1])
    )


def test_tied_quadratic_is_linear(points):
    """QDA with one covariance for all is LDA; shrinkage = 1 ties them."""
    X, t = points
    lda = gaussian.fit_lda(X, t)
    tied = gaussian.fit_qda(X, t, shrinkage=1.0, target="pooled")
    for k in range(3):
        np.testing.assert_allclose(tied.Sigma[k], lda.Sigma)
    for f in (gaussian.predict_proba, gaussian.log_posterior):
        np.testing.assert_allclose(f(tied, X), f(lda, X), atol=1e-11)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e7])
def test_posteriors_do_not_know_units_or_origins(points, fit, scale, rng):
    """An invertible affine map of X leaves them as they are."""
    X, t = points
    P = gaussian.predict_proba(fit(X, t), X)
    Y = scale * X @ (rng.standard_normal((3, 3)) + 3 * np.eye(3)) * [1, 1e3, 1]
    Y += 50 * scale
    np.testing.assert_allclose(
        gaussian.predict_proba(fit(Y, t), Y), P, rtol=1e-7, atol=1e-12
    )


@pytest.mark.parametrize("fit", FITS)
def test_powers_of_two_change_no_bit(points, fit):
    """Correlations are what is factorised: units are exact scalings."""
    X, t = points
    s = np.array([2.0**-40, 1.0, 2.0**60])
    a, b = fit(X, t), fit(X * s, t)
    np.testing.assert_array_equal(b.L, a.L * s[:, None])


@pytest.mark.parametrize("fit", FITS)
def test_a_distant_origin_costs_no_digits(points, fit):
    """2^24 deviations away. The means are then stored to 2e-9, and no worse is
    asked for: terms of 1e14 in gamma_k would leave one digit."""
    X, t = points
    X = np.round(X * 2**20) / 2**20  # so that the shift is exact
    P = gaussian.predict_proba(fit(X, t), X)
    Y = X + 2.0**24
    np.testing.assert_allclose(
        gaussian.predict_proba(fit(Y, t), Y), P, atol=1e-7
    )


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("K", [2, 3])
def test_no_underflow_far_away(rng, shared, K):
    """1e4 deviations out every density is zero and the posterior is not lost;
    both tails of two classes keep their relative accuracy."""
    model = random_model(rng, K=K, shared=shared)
    X = 1e4 * rng.standard_normal((50, 3))
    logs = gaussian.log_posterior(model, X)
    joint = gaussian.log_joint(model, X)
    np.testing.assert_allclose(logs, log_softmax(joint), rtol=1e-9, atol=1e-5)
    np.testing.assert_allclose(gaussian.predict_proba(model, X).sum(1), 1)
    near = X / 3000
    P, small = gaussian.predict_proba(model, near), np.finfo(float).tiny
    kept = P > small
    logs = gaussian.log_posterior(model, near)
    np.testing.assert_allclose(P[kept], np.exp(logs[kept]), rtol=1e-10)


def test_two_classes_reach_both_ends(rng):
    """Log odds beyond 709 give 0 and 1, without a warning."""
    model = gaussian.model([0.5, 0.5], [[-1.0], [1.0]], [[1.0]])
    P = gaussian.predict_proba(model, [[-900.0], [0.0], [900.0]])
    np.testing.assert_allclose(P, [[1, 0], [0.5, 0.5], [0, 1]], atol=1e-300)


def test_blocks_do_not_show(points, monkeypatch):
    """Blocks of seven rows give what one block gives."""
    X, t = points
    fits = [fit(X, t) for fit in FITS]
    whole = [gaussian.log_posterior(fit, X) for fit in fits]
    for size in (8 * 3 * 7, 8):  # the latter has no room for a row
        monkeypatch.setattr(blocks, "SIZE", size)
        for fit, again, expected in zip(FITS, fits, whole, strict=True):
            np.testing.assert_allclose(fit(X, t).Sigma, again.Sigma, rtol=1e-9)
            found = gaussian.log_posterior(again, X)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_bayes_error_counts_the_errors(rng):
    """A million draws, five standard errors; and Phi(-s/2) for equal priors."""
    model = random_model(rng, K=2, shared=True)
    N = 10**6
    t = (rng.random(N) < model.pi[1]).astype(int)
    X = model.mu[t] + rng.standard_normal((N, 3)) @ model.L.T
    found, p = np.mean(gaussian.predict(model, X) != t), None
    p = gaussian.bayes_error(model)
    assert abs(found - p) < 5 * np.sqrt(p * (1 - p) / N)
    one = gaussian.model([0.3, 0.7], [[1.0], [1.0]], [[1.0]])
    assert gaussian.bayes_error(one) == 0.3
    even = gaussian.model([0.5, 0.5], [[0.0], [2.0]], [[1.0]])
    assert gaussian.bayes_error(even) == pytest.approx(0.158655253931457)


def test_classes_too_far_apart_for_doubles_are_refused():
    """|mu_1 - mu_0|^2 / var = 1e318 overflowed: an error rate of NaN."""
    far = gaussian.model([0.5, 0.5], [[0.0], [1e149]], [[1e-20]])
    for function in (gaussian.bayes_error, gaussian.sigmoid_weights):
        with pytest.raises(ValueError, match="weights that are finite; got"):
            function(far)
    near = gaussian.model([0.5, 0.5], [[0.0], [1e140]], [[1.0]])
    assert gaussian.bayes_error(near) == 0


def test_parameters_are_counted():
    """One by one; PRML's M(M + 5)/2 + 1 for two classes and a shared Sigma."""
    for D in (1, 2, 10):
        assert (
            gaussian.parameter_count(D, 2, shared=True) == D * (D + 5) / 2 + 1
        )
        for K in (2, 3):
            model = random_model(np.random.default_rng(1), D, K)
            free = K - 1 + model.mu.size + K * np.tril(np.ones((D, D))).sum()
            assert gaussian.parameter_count(D, K, shared=False) == free


@pytest.mark.parametrize("order", ["C", "F"])
def test_no_more_memory_than_a_fraction_of_the_data(rng, order):
    """Blocks, not copies: below a tenth of X beyond the answer."""
    X = np.asarray(rng.standard_normal((200_000, 30)), order=order)
    t = np.arange(len(X)) % 4
    for fit in FITS:
        tracemalloc.start()
        best = fit(X, t)
        fitted = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        P = gaussian.predict_proba(best, X)
        predicted = tracemalloc.get_traced_memory()[1] - P.nbytes
        tracemalloc.stop()
        assert fitted < 0.1 * X.nbytes and predicted < 0.1 * X.nbytes


# Shrinkage.


@pytest.mark.parametrize("target", covariance.TARGETS)
def test_shrinkage_is_a_straight_line(points, target):
    """From the estimate at 0 to the target at 1."""
    X, t = points
    start = gaussian.fit_qda(X, t).Sigma
    ends = gaussian.fit_qda(X, t, shrinkage=1.0, target=target).Sigma
    half = gaussian.fit_qda(X, t, shrinkage=0.5, target=target).Sigma
    np.testing.assert_allclose(half, (start + ends) / 2)
    pooled = gaussian.fit_lda(X, t).Sigma
    for k in range(3):
        T = {
            "diagonal": np.diag(np.diag(start[k])),
            "isotropic": np.trace(start[k]) / 3 * np.eye(3),
            "pooled": pooled,
        }[target]
        np.testing.assert_allclose(ends[k], T, atol=1e-14)


@pytest.mark.parametrize("target", covariance.TARGETS)
def test_units_do_not_matter_to_shrinkage(points, target):
    """Columns of 1e120 have variances of 1e240, which need no squares."""
    X, t = points
    how = {"shrinkage": 0.3, "target": target}
    want = gaussian.log_posterior(gaussian.fit_qda(X, t, **how), X)
    far = gaussian.fit_qda(2.0**400 * X, t, **how)
    np.testing.assert_allclose(
        gaussian.log_posterior(far, 2.0**400 * X), want, rtol=1e-12
    )


def test_each_target_cures_what_it_can(rng):
    """Few rows: all three. A feature constant in a class: pooled, isotropic."""
    X = rng.standard_normal((30, 4))
    t = np.r_[np.zeros(27, int), np.ones(3, int)]
    for target in covariance.TARGETS:
        few = gaussian.fit_qda(X, t, shrinkage=0.2, target=target)
        assert np.isfinite(gaussian.log_posterior(few, X)).all()
    X[t == 1, 2] = 0.1
    gaussian.fit_qda(X, t, shrinkage=0.2, target="pooled")
    gaussian.fit_qda(X, t, shrinkage=0.2, target="isotropic")
    with pytest.raises(ValueError, match="class 1 .* feature 2 is constant"):
        gaussian.fit_qda(X, t, shrinkage=0.2)


# What cannot be estimated.


def singular(rng, case):
    """A data set whose covariances are not all regular."""
    X, t = rng.standard_normal((40, 4)), np.arange(40) % 2
    if case == "few":
        t = np.r_[np.zeros(36, int), np.ones(4, int)]
    elif case == "constant in class 1":
        X[t == 1, 2] = 0.1
    elif case == "constant":
        X[:, 2] = 1e9 / 3
    elif case == "constant in each":
        X[:, 2] = 0.1 + 0.7 * t
    elif case == "sum":
        X[:, 3] = 3e7 + X[:, 0] - 2 * X[:, 1]
    elif case == "copy":
        X[:, 3] = X[:, 0] * (1 + 1e-9)
    return X, t


@pytest.mark.parametrize(
    "fit, case, said",
    [
        ("qda", "few", "class 1 has 4 rows and needs more than D = 4.*pool"),
        ("qda", "constant in class 1", "class 1 .*feature 2 is const.*pooled"),
        ("qda", "constant", "class 0 .*feature 2 is constant"),
        ("qda", "sum", "class 0 .*feature 3 is a combination.*pool"),
        ("qda", "copy", "class 0 .*feature 3 is a combination"),
        ("lda", "constant", "shared .*feature 2 is constant.*isotropic"),
        ("lda", "constant in each", "shared .*feature 2 is constant"),
        ("lda", "sum", "shared .*feature 3 is a combination.*leave it out"),
    ],
)
def test_singular_covariances_are_named(rng, fit, case, said):
    """Class, feature, reason and remedy; the other model says the same."""
    X, t = singular(rng, case)
    with pytest.raises(ValueError, match=said):
        getattr(gaussian, f"fit_{fit}")(X, t)


def test_the_remedies_are_remedies(rng):
    """Pooling where one class is to blame; shrinkage for combinations."""
    for case in ("few", "constant in class 1"):
        gaussian.fit_lda(*singular(rng, case))
    for case in ("sum", "copy"):
        X, t = singular(rng, case)
        gaussian.fit_lda(X, t, shrinkage=0.1)
        gaussian.fit_qda(X, t, shrinkage=0.1)


def test_nearly_dependent_is_not_dependent(rng):
    """A share of 1e-8 of the variance is enough to be used; 1e-12 is not."""
    X, t = singular(rng, "none")
    X[:, 3] = X[:, 0] + 1e-4 * X[:, 3]
    for fit in FITS:
        fit(X, t)
    X[:, 3] = X[:, 0] + 1e-3 * (X[:, 3] - X[:, 0])
    for fit in FITS:
        with pytest.raises(ValueError, match="feature 3 is a combination"):
            fit(X, t)


def test_rows_suffice_from_the_next_one_on(rng):
    """n_k = D + 1 and N = D + K are enough, one row less is not."""
    X, t = rng.standard_normal((8, 3)), np.arange(8) % 2
    gaussian.fit_qda(X, t)
    with pytest.raises(ValueError, match="class 1 has 3 rows"):
        gaussian.fit_qda(X[:7], t[:7])
    gaussian.fit_lda(X[:5], t[:5])
    with pytest.raises(ValueError, match=r"4 rows in 2 classes.* D \+ K = 5"):
        gaussian.fit_lda(X[:4], t[:4])


GOOD = np.array([[0.0, 1], [1, 3], [4, 0], [2, 2], [0, 5], [7, 1]])


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    "X, t, more, said",
    [
        (GOOD, [0, 1] * 3, {"K": 3}, "no row of class 2"),
        (GOOD, [0, 1] * 3, {"K": 2.5}, "K must be .* >= 2; got 2.5"),
        (GOOD, [0, 1] * 3, {"shrinkage": None}, "one number in .*got None"),
        (GOOD, [0, 1] * 3, {"shrinkage": "a"}, "shrinkage must hold real"),
        (GOOD, [0, 1] * 3, {"shrinkage": -0.1}, r"in \[0, 1\]; got -0.1"),
        (GOOD, [0, 1] * 3, {"shrinkage": 1.1}, r"in \[0, 1\]; got 1.1"),
        (GOOD, [0, 1] * 3, {"target": "unit"}, "target must be one .*'unit'"),
    ],
)
def test_bad_input_is_named(fit, X, t, more, said):
    """A ValueError says what arrived and what was expected."""
    with pytest.raises(ValueError, match=said):
        fit(X, t, **more)


def test_pooled_is_no_target_of_the_pooled():
    """LDA has nothing to be pooled with."""
    with pytest.raises(ValueError, match="target must be one of"):
        gaussian.fit_lda(GOOD, [0, 1] * 3, target="pooled")


@pytest.mark.parametrize(
    "X, t, said",
    [
        (np.ones((4, 2)), [0] * 4, r"D = 3 columns.*shape \(4, 2\)"),
        (np.ones((2, 3)) * np.nan, [0, 0], "X must be finite"),
        (np.ones((2, 3)), [0, 3], r"0, ..., 2 .*got \{0, 3\}"),
        (np.ones((2, 3)), [0, -1], r"got \{-1, 0\}"),
        (np.ones((2, 3)), [0, 0.5], r"got \{0, 0.5\}"),
        (np.ones((2, 3)), [0], r"t must have shape \(2,\)"),
    ],
)
def test_a_likelihood_needs_rows_and_classes_of_the_model(rng, X, t, said):
    """An index never wraps around; a class may be missing."""
    model = random_model(rng)
    with pytest.raises(ValueError, match=said):
        gaussian.log_likelihood(model, X, t)
    rows = rng.standard_normal((2, 3))
    total = gaussian.log_joint(model, rows)[:, 1].sum()
    assert gaussian.log_likelihood(model, rows, [1, 1]) == total


@pytest.mark.parametrize(
    "mu, Sigma, said",
    [
        ([0.0], np.eye(3), r"mu must have shape \(3,\)"),
        (np.zeros((1, 3)), np.eye(3), r"mu must have shape \(3,\)"),
        (np.zeros(3), np.eye(2), r"Sigma must have shape \(3, 3\)"),
        (np.zeros(3), np.ones((3, 3)), "1 has no variance left"),
        (np.zeros(3), np.tri(3), "symmetric"),
    ],
)
def test_a_density_needs_parameters_of_its_size(mu, Sigma, said):
    """Nothing is broadcast by accident."""
    with pytest.raises(ValueError, match=said):
        gaussian.log_density(np.ones((2, 3)), mu, Sigma)


def test_distances_beyond_double_precision_are_refused():
    """A finite X whose squared distances are not."""
    S = np.array([[[1e-20]], [[2e-20]]])
    model = gaussian.model([0.5, 0.5], [[0.0], [1.0]], S)
    with pytest.raises(ValueError, match="too far away"):
        gaussian.predict_proba(model, [[1e148]])


@pytest.mark.parametrize(
    "pi, mu, Sigma, said",
    [
        ([0.5, 0.6], np.eye(2), np.eye(2), "pi .*sum 1"),
        ([1.0, 0.0], np.eye(2), np.eye(2), "pi .*positive"),
        ([1.0], np.ones((1, 2)), np.eye(2), "two classes"),
        ([0.5, 0.5], np.eye(2), np.eye(3), r"\(2, 2\) or \(2, 2, 2\); got"),
        ([0.5, 0.5], np.eye(2), np.array([[1, 0.5], [0, 1]]), "symmetric"),
        ([0.5, 0.5], np.eye(2), np.ones((2, 2)), "1 has no variance left"),
        ([0.5, 0.5], np.eye(2), np.diag([1, -1]), "1 has no variance"),
        ([0.5, 0.5], np.eye(2), [[1, 2], [2, 1]], "positive definite"),
        ([0.5, 0.5], [0.0, 1.0], np.eye(2), "mu must be a matrix"),
    ],
)
def test_parameters_of_a_model_are_checked(pi, mu, Sigma, said):
    """Probabilities, shapes, symmetry, positive definiteness."""
    with pytest.raises(ValueError, match=said):
        gaussian.model(pi, mu, Sigma)


def test_weights_of_unequal_covariances_are_refused(rng):
    """There is no linear form to give."""
    with pytest.raises(ValueError, match="share a covariance"):
        gaussian.softmax_weights(random_model(rng))


# A second library.


@pytest.mark.parametrize("load", [data.iris, data.wine])
def test_scikit_learn_agrees(load):
    """Both divide by n: 1e-10 in probabilities, 1e-7 in their logarithms."""
    peers = pytest.importorskip("sklearn.discriminant_analysis")
    found = load()
    X, t = found.X, found.t
    pairs = [
        (gaussian.fit_lda(X, t), peers.LinearDiscriminantAnalysis()),
        (gaussian.fit_qda(X, t), peers.QuadraticDiscriminantAnalysis(tol=0)),
        (
            gaussian.fit_lda(X, t, shrinkage=0.3, target="isotropic"),
            peers.LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3),
        ),
        (
            gaussian.fit_qda(X, t, shrinkage=0.3, target="isotropic"),
            peers.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.3),
        ),
    ]
    for ours, peer in pairs:
        peer.fit(X, t)
        P, Q = gaussian.predict_proba(ours, X), peer.predict_proba(X)
        np.testing.assert_allclose(P, Q, rtol=0, atol=1e-10)
        Q = peer.predict_log_proba(X)
        logs = np.where(Q > -650, gaussian.log_posterior(ours, X), Q)
        np.testing.assert_allclose(logs, Q, rtol=1e-7, atol=1e-7)


def test_thirty_features_that_scikit_learn_refuses():
    """Its tolerance is absolute, 1e-4; correlations say 2e-3 and are fine."""
    peers = pytest.importorskip("sklearn.discriminant_analysis")
    tumours = data.breast_cancer()
    X, t = tumours.X, tumours.t
    with pytest.raises(np.linalg.LinAlgError):
        peers.QuadraticDiscriminantAnalysis().fit(X, t)
    ours = gaussian.fit_qda(X, t)
    peer = peers.QuadraticDiscriminantAnalysis(tol=0).fit(X, t)
    np.testing.assert_allclose(
        gaussian.predict_proba(ours, X), peer.predict_proba(X), atol=1e-8
    )


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-8, 5e-10])
def test_a_mean_far_along_a_thin_direction_costs_no_digits(share):
    """99 standard deviations by feature, up to 4e6 by Mahalanobis.

    Against the quadratic form about each mean, which never cancels.
    """
    r = np.sqrt(1 - share)
    mu = [[99.0, 0], [99.0, 1e-3 * np.sqrt(share)]]
    model = gaussian.model([0.5, 0.5], mu, [[1.0, r], [r, 1.0]])
    x = np.array([[99.0, 0.0], [99.5, 0.5 * r]])
    joint = gaussian.log_joint(model, x)
    found = gaussian.log_posterior(model, x)
    odds = found[:, 1] - found[:, 0]
    truth = joint[:, 1] - joint[:, 0]
    np.testing.assert_allclose(odds, truth, rtol=1e-6, atol=1e-9)


MADE = {
    gaussian.model: ([0.2, 0.8], [[0, 0.1], [1, 1]], [[1, 0.5], [0.5, 2]]),
    naive_bayes.gaussian: ([0.2, 0.8], [[0, 0.1], [1, 1]], [[1, 0.5], [3, 2]]),
    naive_bayes.bernoulli: ([0.2, 0.8], [[0.3, 0.1], [0.5, 0.9]]),
    naive_bayes.multinomial: ([0.2, 0.8], [[0.9, 0.1], [0.5, 0.5]]),
    worlds.world: ([0.2, 0.8], [0, 1], [[0, 0.1], [1, 1]], np.eye(2)),
}


@pytest.mark.parametrize("make", MADE, ids=lambda f: f.__module__ + f.__name__)
def test_a_model_keeps_parameters_of_its_own(make):
    """mu would move on with the caller's, and L or `rest` would stay."""
    parts = [np.array(value, float) for value in MADE[make]]
    model = make(*parts)
    for name in vars(model):
        mine = getattr(model, name)
        assert not any(np.shares_memory(mine, theirs) for theirs in parts)


@pytest.mark.parametrize("far", [90.0, 1e5, 1e8])
@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("centre", [0, 1])
@pytest.mark.parametrize("rho", [0, 0.5])
def test_a_class_far_from_the_others_costs_them_no_digits(far, k, centre, rho):
    """Their log odds were a difference of theirs against the one far away:
    5e15 each, of which 0.12 of the probability was rounding. The mean of all
    may be zero, and the class may be far in one direction only."""
    pi, mu = [0.25, 0.25, 0.5], [[far, 0.0], [0, 0], [1, 1]]
    mu = np.roll(mu, k, axis=0)
    near = np.flatnonzero(mu[:, 0] < far)
    X = np.array([[0.3, 0.2], [0.9, 0.2], [0.5, 0.7]]) - centre * (pi @ mu)
    mu -= centre * (pi @ mu)
    model = gaussian.model(pi, mu, [[1, rho], [rho, 2]])
    pi = model.pi[near] / model.pi[near].sum()
    two = gaussian.model(pi, mu[near], model.Sigma)
    np.testing.assert_allclose(
        gaussian.predict_proba(model, X)[:, near],
        gaussian.predict_proba(two, X),
        rtol=1e-11,
    )


@pytest.mark.parametrize("far", [0.0, 1e6, 1e10])
def test_two_classes_far_from_zero_keep_their_digits(far):
    """w_1.. and the least error depend on the difference of the means."""
    Sigma, d = np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([1.0, 0.5])
    model = gaussian.model([0.3, 0.7], far + np.array([0 * d, d]), Sigma)
    near = gaussian.model([0.3, 0.7], np.array([0 * d, d]), Sigma)
    w, want = gaussian.sigmoid_weights(model), gaussian.sigmoid_weights(near)
    np.testing.assert_allclose(w[1:], want[1:], rtol=1e-13)
    error = gaussian.bayes_error(model)
    assert error == pytest.approx(gaussian.bayes_error(near), rel=1e-13)


def test_quadratic_weights_are_of_a_model():
    with pytest.raises(ValueError, match="model must be a GaussianModel; got"):
        gaussian.quadratic_weights(np.eye(2))


@pytest.mark.parametrize("Sigma", [1.0, 1e-10])
def test_no_error_is_left_of_classes_as_far_apart_as_can_be(Sigma):
    """d = s^2 overflows, and inf / inf was NaN."""
    model = gaussian.model([0.3, 0.7], [[-1e149], [1e149]], [[Sigma]])
    assert gaussian.bayes_error(model) == 0
