"""Naive Bayes: features independent within each class, PRML 4.2.3.

    X         (N, D)  inputs, 0 or 1 (Bernoulli) or real numbers (Gaussian)
    observed  (N, D)  True where a feature is known; the others are summed out
    t         (N,)    class numbers 0, ..., K - 1
    pi        (K,)    prior probabilities p(C_k)
    theta     (K, D)  p(x_i = 1|C_k); rest is 1 - theta, without cancellation
    mu, var   (K, D)  mean and variance of x_i in class k
    a         (N, K)  ln p(x, C_k), but for a term that all classes share

For both families ln p(x_i|C_k) is a polynomial in x_i of degree 1 or 2, so
that all discriminants come from one or two products with a matrix.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from prml4 import validate
from prml4.gaussian import CONSTANT, FAR
from prml4.special import log_softmax

BLOCK = 2**19  # bytes of X worked on at once, so that they stay in cache


class ZeroCountWarning(UserWarning):
    """theta is 0 or 1: one unusual feature can exclude a class for good."""


class ImpossibleRow(ValueError):
    """p(x|C_k) = 0 in every class, so that the posterior would be 0/0."""


@dataclass(frozen=True, eq=False)
class BernoulliModel:
    """p(C_k) = pi_k and p(x|C_k) = prod_i Bern(x_i|theta_ki)."""

    pi: np.ndarray  # (K,) prior probabilities
    theta: np.ndarray  # (K, D) p(x_i = 1|C_k)
    rest: np.ndarray  # (K, D) p(x_i = 0|C_k)

    def log_factors(self, x, k):
        """x_i ln theta_ki + (1 - x_i) ln(1 - theta_ki), PRML 4.2.3."""
        with np.errstate(divide="ignore"):
            return np.where(x == 1, np.log(self.theta[k]), np.log(self.rest[k]))

    def coefficients(self):
        """0, [C, B]: ln p(x_i|C_k) = C_ki + B_ki x_i; None if infinite."""
        if not (self.theta.all() and self.rest.all()):
            return None
        C = np.log(self.rest)
        return np.zeros(self.theta.shape[1]), [C, np.log(self.theta) - C]

    def draw(self, rng, t):
        """x_ni = 1 with probability theta_ki, k = t_n."""
        return (rng.random((len(t), self.theta.shape[1])) < self.theta[t]) * 1.0


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """p(C_k) = pi_k and p(x|C_k) = prod_i N(x_i|mu_ki, var_ki)."""

    pi: np.ndarray  # (K,) prior probabilities
    mu: np.ndarray  # (K, D) means
    var: np.ndarray  # (K, D) variances

    def log_factors(self, x, k):
        """-ln(2 pi var_ki) / 2 - (x_i - mu_ki)^2 / (2 var_ki), PRML (2.42)."""
        z = (x - self.mu[k]) / np.sqrt(self.var[k])
        return -0.5 * np.log(2 * np.pi * self.var[k]) - z**2 / 2

    def coefficients(self):
        """c, [C, B, A]: ln p(x_i|C_k) = C_ki + B_ki z + A_ki z^2, z = x - c.

        None if a mean is so many deviations from c that digits would be lost.
        """
        c, sd = self.pi @ self.mu, np.sqrt(self.var)
        c = np.where((np.abs(c) > FAR * sd).any(axis=0), c, 0.0)
        m = self.mu - c
        if (np.abs(m) > FAR * sd).any():
            return None
        C = -0.5 * np.log(2 * np.pi * self.var) - (m / sd) ** 2 / 2
        return c, [C, m / self.var, -0.5 / self.var]

    def draw(self, rng, t):
        """x_ni ~ N(mu_ki, var_ki), k = t_n."""
        z = rng.standard_normal((len(t), self.mu.shape[1]))
        return self.mu[t] + np.sqrt(self.var[t]) * z


def bernoulli(pi, theta):
    """p(C_k) = pi_k, p(x_i = 1|C_k) = theta_ki from known parameters."""
    theta = validate.design(theta, "theta")
    if theta.min() < 0 or theta.max() > 1:
        raise ValueError(
            "theta must hold probabilities; got values from "
            f"{theta.min():g} to {theta.max():g}"
        )
    pi = validate.probabilities("pi", pi, len(theta))
    return BernoulliModel(pi, theta, 1.0 - theta)


def gaussian(pi, mu, var):
    """p(C_k) = pi_k, p(x_i|C_k) = N(mu_ki, var_ki) from known parameters."""
    mu, var = validate.design(mu, "mu"), validate.design(var, "var")
    if mu.shape != var.shape or var.min() <= 0:
        raise ValueError(
            f"var must be positive and of the shape of mu, {mu.shape}; got "
            f"shape {var.shape} and smallest value {var.min():g}"
        )
    return GaussianModel(validate.probabilities("pi", pi, len(mu)), mu, var)


# Maximum likelihood, and the Beta prior.


def posterior_mean(ones, n, a, b):
    """E[theta|data] = (ones + a) / (n + a + b), prior Beta(a, b), PRML (2.20).

    a = b = 0 is maximum likelihood, a = b = 1 Laplace's correction.
    """
    return (ones + a) / (n + a + b)


def fit_bernoulli(X, t, *, K=None, pseudo_count=1.0):
    """pi_k = n_k / N, theta_ki = (n_ki + a) / (n_k + a + b), PRML (2.20).

    n_ki counts the ones of feature i in class k. The pseudo-count is a = b,
    or a pair (a, b): of ones and of zeros that no one has seen.
    """
    X = validate.matrix(X, "X")
    t, K = validate.classes(t, len(X), K)
    a, b = _pseudo_counts(pseudo_count)
    ones = np.zeros((K, X.shape[1]))
    for k, x in _by_class(X, t, K):
        if not _binary(x):
            raise ValueError(_not_binary(X))
        ones[k] += np.ones(len(x)) @ x
    n = np.bincount(t)[:, None]
    theta = posterior_mean(ones, n, a, b)
    rest = posterior_mean(n - ones, n, b, a)
    if not (theta.all() and rest.all()):
        _warn_of_zeros(theta * rest)
    return BernoulliModel(n[:, 0] / len(X), theta, rest)


def fit_gaussian(X, t, *, K=None, smoothing=0.0):
    """pi_k = n_k / N; mu_ki, var_ki = mean and mean square deviation.

    To var_ki is added `smoothing` times the variance of feature i in all rows.
    Sums of x - c and (x - c)^2 with c the mean of some rows: nothing cancels.
    """
    X = validate.matrix(X, "X")
    t, K = validate.classes(t, len(X), K)
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing must be >= 0; got {smoothing}")
    c, first, second = (np.zeros((K, X.shape[1])) for _ in range(3))
    n, begun = np.bincount(t)[:, None], np.zeros(K, bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for k, x in _by_class(X, t, K):
            ones = np.ones(len(x))
            if not begun[k]:
                c[k], begun[k] = ones @ x / len(x), True
            x -= c[k]
            first[k] += ones @ x
            second[k] += ones @ np.square(x, out=x)
        mu, var = c + first / n, (second - first**2 / n) / n
    if not np.isfinite(var).all():
        validate.finite("X", X)
    pi = n[:, 0] / len(X)
    if smoothing:
        var = var + smoothing * (pi @ (var + (mu - pi @ mu) ** 2))
    _refuse_constants(mu, var, n)
    return GaussianModel(pi, mu, var)


def _pseudo_counts(pseudo_count):
    """a and b from one number or two."""
    pair = validate.real("pseudo_count", pseudo_count)
    if pair.shape not in ((), (2,)) or not (pair >= 0).all():
        raise ValueError(
            "pseudo_count must be one number >= 0 or a pair of them; "
            f"got {pseudo_count}"
        )
    validate.finite("pseudo_count", np.atleast_1d(pair))
    return np.broadcast_to(pair, (2,))


def _by_class(X, t, K):
    """Each class number with a copy of some of its rows, while in cache."""
    size = _rows(X.shape[1])
    buffer = np.empty((size, X.shape[1]))
    for k in range(K):
        rows = np.flatnonzero(t == k)
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            if not X.flags.c_contiguous:  # take would copy all of X
                yield k, X[some]
                continue
            out = buffer[: len(some)]
            yield k, X.take(some, axis=0, out=out, mode="clip")


def _rows(D):
    """How many rows of D numbers make a block."""
    return max(BLOCK // (8 * D), 1)


def _binary(x):
    """Is every entry 0 or 1?"""
    return np.array_equal(x != 0, x == 1)


def _not_binary(X, observed=None):
    """What X holds, and what it should hold."""
    wrong = (X != 0) & (X != 1)
    wrong &= True if observed is None else observed
    n, i = np.unravel_index(np.argmax(wrong), X.shape)
    hint = "; a missing feature is False in `observed`"
    return (
        f"X must hold 0 and 1 only; got {X[n, i]:g} at [{n}, {i}]"
        f"{hint if np.isnan(X[n, i]) else ''}"
    )


def _warn_of_zeros(product):
    """Name a class and a feature whose count is zero."""
    k, i = np.argwhere(product == 0)[0]
    warnings.warn(
        f"feature {i} has one value only in class {k}: without a pseudo-count, "
        "the other value excludes the class whatever the other features say; "
        "pseudo_count=1 is Laplace's correction",
        ZeroCountWarning,
        stacklevel=3,
    )


def _refuse_constants(mu, var, n):
    """Raise a ValueError where a density would be infinitely narrow."""
    constant = ~(np.sqrt(var.clip(0)) > CONSTANT * np.abs(mu))
    if constant.any():
        k, i = np.argwhere(constant)[0]
        raise ValueError(
            f"feature {i} is constant in the {n[k, 0]} rows of class {k}, so "
            "that its variance is zero; leave the feature out or give "
            "smoothing > 0 (which cannot help if it is constant in all rows)"
        )


# The posterior.


def log_joint(model, X, observed=None):
    """ln p(x_n, C_k) = ln pi_k + sum_i ln p(x_ni|C_k), i observed; (N, K)."""
    return _by_blocks(model, X, observed, lambda a: a, _sums(model))


def log_likelihood(model, X, t):
    """sum_n ln p(x_n, C_{t_n}), the logarithm of PRML (4.71) for K classes."""
    joint = log_joint(model, X)
    return float(joint[np.arange(len(joint)), np.asarray(t, int)].sum())


def predict_log_proba(model, X, observed=None):
    """ln p(C_k|x_n) = a_nk - ln sum_j exp(a_nj), log of PRML (4.62); (N, K)."""
    return _by_blocks(model, X, observed, lambda a: log_softmax(a, axis=0))


def predict_proba(model, X, observed=None):
    """p(C_k|x_n) = exp(a_nk) / sum_j exp(a_nj), PRML (4.62); (N, K)."""
    return _by_blocks(model, X, observed, _softmax)


def predict(model, X, observed=None):
    """argmax_k p(C_k|x_n), which minimises the error rate; PRML 1.5.1."""
    return _by_blocks(model, X, observed, lambda a: a).argmax(axis=1)


def sample(rng, model, t):
    """x_n ~ p(x|C_{t_n}), the model run backwards: a row for each class."""
    numbers = validate.real("t", t)
    if numbers.ndim != 1 or not np.isin(numbers, range(len(model.pi))).all():
        raise ValueError(
            f"t must be a vector of classes 0, ..., {len(model.pi) - 1}; got "
            f"{t}"
        )
    return model.draw(rng, numbers.astype(np.intp))


def _softmax(a):
    """exp(a_k) / sum_j exp(a_j), in place."""
    a -= a.max(axis=0)
    np.exp(a, out=a)
    a /= a.sum(axis=0)
    return a


def _by_blocks(model, X, observed, finish, fill=None):
    """finish(a) for a block of rows at a time, a (K, rows); (N, K)."""
    X, observed = _inputs(model, X, observed)
    joint, fill = fill is not None, fill or _products(model) or _sums(model)
    binary, size = isinstance(model, BernoulliModel), _rows(X.shape[1])
    out = np.empty((len(X), len(model.pi)))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for start in range(0, len(X), size):
            x = X[start : start + size]
            m = None if observed is None else observed[start : start + size]
            x = x if m is None else np.where(m, x, 0.0)
            if binary and not _binary(x):
                raise ValueError(_not_binary(X, observed))
            a = fill(x, m)
            if not np.isfinite(a.sum()):
                if not binary:
                    known = X if observed is None else np.where(observed, X, 0)
                    validate.finite("X", known)
                if not joint:
                    _refuse_impossible(a, start)
            out[start : start + size] = finish(a).T
    return out


def _inputs(model, X, observed):
    """X and observed, of the shape that the model expects."""
    X = validate.matrix(X, "X")
    D = np.shape(model.theta if hasattr(model, "theta") else model.mu)[1]
    if X.shape[1] != D:
        raise ValueError(
            f"X must have shape (N, {D}), {D} features as the model; "
            f"got {X.shape}"
        )
    if observed is None:
        return X, None
    observed = np.asarray(observed)
    if observed.dtype != bool or observed.shape != X.shape:
        raise ValueError(
            f"observed must be boolean and of the shape of X, {X.shape}; got "
            f"{observed.dtype} of shape {observed.shape}"
        )
    return X, observed


def _refuse_impossible(a, start):
    """Raise where every a_k = -inf, or one is beyond the largest number."""
    lost = ~np.isfinite(a.max(axis=0))
    if lost.any():
        raise ImpossibleRow(
            f"row {start + np.argmax(lost)} has probability 0 in every class: "
            "its posterior would be 0/0; fit with pseudo_count > 0, or leave "
            "out values that are too far away to measure how far"
        )


def _sums(model):
    """Rows -> a_k = ln pi_k + sum_i ln p(x_i|C_k), one class after another."""

    def fill(x, m):
        each = (model.log_factors(x, k) for k in range(len(model.pi)))
        kept = (f if m is None else np.where(m, f, 0.0) for f in each)
        a = np.stack([f.sum(axis=1) for f in kept])
        return a + np.log(model.pi)[:, None]

    return fill


def _products(model):
    """Rows -> a_k - a_0 = sum_i C_ki + B_ki z_i (+ A_ki z_i^2), less k = 0.

    One product with a matrix per power of z; None if that would lose digits.
    """
    found = model.coefficients()
    if found is None:
        return None
    c, terms = found
    C, *powers = (term[1:] - term[0] for term in terms)
    prior = np.log(model.pi[1:] / model.pi[0])[:, None]
    whole = prior + C.sum(axis=1, keepdims=True)

    def fill(x, m):
        z = x - c if c.any() else x
        z = z if m is None else np.where(m, z, 0.0)
        a = np.zeros((len(model.pi), len(x)))
        np.matmul(powers[0], z.T, out=a[1:])
        if len(powers) == 2:
            a[1:] += powers[1] @ np.square(z).T
        a[1:] += whole if m is None else prior + C @ m.T
        return a

    return fill


# The discriminants as formulas.


def softmax_weights(model):
    """W_ki = ln theta_ki / (1 - theta_ki) and w0_k = ln pi_k +
    sum_i ln(1 - theta_ki), PRML (4.82): a_k(x) = w0_k + W_k^T x."""
    found = model.coefficients()
    if not isinstance(model, BernoulliModel) or found is None:
        raise ValueError(
            "the discriminants are linear, with finite weights, only for "
            f"Bernoulli features with 0 < theta < 1; got {model}"
        )
    C, W = found[1]
    return W, np.log(model.pi) + C.sum(axis=1)


def sigmoid_weights(model):
    """w with p(C_1|x) = sigma(w_0 + w^T x), w_0 = ln pi_1 / pi_0 +
    sum_i ln (1 - theta_1i) / (1 - theta_0i); the bias goes first; (D + 1,)."""
    W, w0 = softmax_weights(model)
    if len(w0) != 2:
        raise ValueError(f"a sigmoid is for two classes; got {len(w0)}")
    return np.r_[w0[1] - w0[0], W[1] - W[0]]


def parameter_count(D, K, family="bernoulli"):
    """(K - 1) + K D, 2 K D or K (2^D - 1) for bernoulli, gaussian, table."""
    each = {"bernoulli": D, "gaussian": 2 * D, "table": 2**D - 1}
    if family not in each:
        raise ValueError(f"family must be in {list(each)}; got {family!r}")
    return K - 1 + K * each[family]
