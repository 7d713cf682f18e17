"""Naive Bayes: features independent within each class, PRML 4.2.3.

X         (N, D)  inputs, 0 or 1 (Bernoulli) or real numbers (Gaussian)
observed  (N, D)  True where a feature is known; the others are summed out
t         (N,)    class numbers 0, ..., K - 1
pi        (K,)    prior probabilities p(C_k)
theta     (K, D)  p(x_i = 1|C_k); rest is 1 - theta, without cancellation
mu, var   (K, D)  mean and variance of x_i in class k
a         (K, n)  ln p(x, C_k), the discriminants of n rows x
x, m      (n, D)  a block of rows, and what is observed of it
"""

import warnings
from dataclasses import dataclass

import numpy as np

from prml4 import blocks, validate
from prml4.covariance import CONSTANT
from prml4.special import log_softmax

FAR = 100.0  # standard deviations from the centre at which digits would be lost


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


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """p(C_k) = pi_k and p(x|C_k) = prod_i N(x_i|mu_ki, var_ki)."""

    pi: np.ndarray  # (K,) prior probabilities
    mu: np.ndarray  # (K, D) means
    var: np.ndarray  # (K, D) variances


def bernoulli(pi, theta):
    """p(C_k) = pi_k, p(x_i = 1|C_k) = theta_ki from known parameters."""
    theta = validate.design(theta, "theta")
    if theta.min() < 0 or theta.max() > 1:
        raise ValueError(f"theta must hold probabilities; got {theta}")
    pi = validate.probabilities("pi", pi, len(theta))
    return BernoulliModel(pi, theta, 1.0 - theta)


def gaussian(pi, mu, var):
    """p(C_k) = pi_k, p(x_i|C_k) = N(mu_ki, var_ki) from known parameters."""
    mu, var = validate.design(mu, "mu"), validate.design(var, "var")
    if mu.shape != var.shape or var.min() <= 0:
        raise ValueError(
            f"var must be positive and of the shape of mu; got {var} and {mu}"
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
    a, b = validate.pseudo_counts(pseudo_count)
    ones = np.zeros((K, X.shape[1]))
    for k, rows, x in blocks.by_class(X, t, K):
        ones[k] += np.ones(len(x)) @ validate.bits(x, rows)
    n = np.bincount(t)[:, None]
    theta = posterior_mean(ones, n, a, b)
    rest = posterior_mean(n - ones, n, b, a)
    _warn_of_zeros(theta * rest)
    return BernoulliModel(n[:, 0] / len(X), theta, rest)


def fit_gaussian(X, t, *, K=None, smoothing=0.0):
    """pi_k = n_k / N; mu_ki, var_ki = mean and mean square deviation.

    To var_ki is added `smoothing` times the variance of feature i in all rows.
    S is merged from sums about means of blocks; Chan, Golub, LeVeque (1983).
    """
    X = validate.matrix(X, "X")
    t, K = validate.classes(t, len(X), K)
    smoothing = validate.not_negative("smoothing", smoothing)
    n, (mu, S) = np.zeros((K, 1)), np.zeros((2, K, X.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for k, _, x in blocks.by_class(X, t, K):
            ones, share = np.ones(len(x)), len(x) / (n[k] + len(x))
            mean = ones @ x / len(x)
            x -= mean
            S[k] += ones @ np.square(x, out=x)
            S[k] += n[k] * share * (mean - mu[k]) ** 2
            mu[k] += share * (mean - mu[k])
            n[k] += len(x)
        pi, var = n[:, 0] / len(X), S / n
        var = var + smoothing * (pi @ (var + (mu - pi @ mu) ** 2))
    if not np.isfinite(var).all():
        validate.finite("X", X)
    _refuse_constants(mu, var, n)
    return GaussianModel(pi, mu, var)


def _warn_of_zeros(product):
    """Name a class and a feature whose count is zero, if there is one."""
    for k, i in np.argwhere(product == 0)[:1]:
        message = (
            f"feature {i} has one value only in class {k}: the other value "
            "excludes the class whatever the other features say; "
            "pseudo_count=1 is Laplace's correction"
        )
        warnings.warn(message, ZeroCountWarning, stacklevel=3)


def _refuse_constants(mu, var, n):
    """Raise a ValueError where a density would be infinitely narrow."""
    least = np.maximum((CONSTANT * mu) ** 2, np.finfo(float).tiny)
    constant = np.argwhere(~(var > least))
    for k, i in constant[:1]:
        raise ValueError(
            f"feature {i} is constant in the {n[k, 0]:g} rows of class {k}, so "
            "that its variance is zero; leave the feature out or give "
            "smoothing > 0 (which cannot help if it is constant in all rows)"
        )


# The posterior.


def log_joint(model, X, observed=None):
    """ln p(x_n, C_k) = ln pi_k + sum_i ln p(x_ni|C_k), i observed; (N, K)."""
    return _by_blocks(model, X, observed)


def log_likelihood(model, X, t):
    """sum_n ln p(x_n, C_{t_n}), the logarithm of PRML (4.71) for K classes."""
    joint = log_joint(model, X)
    t = validate.labels(t, len(joint), len(model.pi))
    return float(joint[np.arange(len(joint)), t].sum())


def predict_log_proba(model, X, observed=None):
    """ln p(C_k|x_n) = a_nk - ln sum_j exp(a_nj), log of PRML (4.62); (N, K)."""
    return _by_blocks(model, X, observed, lambda a: log_softmax(a, axis=0))


def predict_proba(model, X, observed=None):
    """p(C_k|x_n) = exp(a_nk) / sum_j exp(a_nj), PRML (4.62); (N, K)."""
    return _by_blocks(model, X, observed, blocks.softmax)


def predict(model, X, observed=None):
    """argmax_k p(C_k|x_n), which minimises the error rate; PRML 1.5.1."""
    return _by_blocks(model, X, observed, lambda a: a).argmax(axis=1)


def sample(rng, model, t):
    """x_n ~ p(x|C_{t_n}), the model run backwards: a row for each class."""
    t = validate.labels(t, np.size(t), len(model.pi))
    if isinstance(model, BernoulliModel):
        return 1.0 * (rng.random(model.theta[t].shape) < model.theta[t])
    return rng.normal(model.mu[t], np.sqrt(model.var[t]))


def _by_blocks(model, X, observed, finish=None):
    """finish(a), or a itself, for a block of rows at a time; (N, K)."""
    bits, X = isinstance(model, BernoulliModel), validate.matrix(X, "X")
    D = (model.theta if bits else model.mu).shape[1]
    if X.shape[1] != D:
        raise ValueError(f"X must have shape (N, {D}); got {X.shape}")
    observed = validate.mask(observed, X.shape)
    discriminants = _discriminants(model, joint=finish is None)
    out = np.empty((len(X), len(model.pi)))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for rows, x, m in blocks.rows(X, observed):
            if bits:
                validate.bits(x, range(rows.start, rows.stop))
            a = discriminants(x, m)
            if not np.isfinite(a.sum()):
                validate.finite("X", x, rows.start)
                if finish:
                    _refuse_impossible(a, rows.start)
            out[rows] = (finish(a) if finish else a).T
    return out


def _refuse_impossible(a, start):
    """Raise where every a_k = -inf, or one is beyond the largest number."""
    for n in np.flatnonzero(~np.isfinite(a.max(axis=0)))[:1]:
        raise ImpossibleRow(
            f"row {start + n} has probability 0 in every class, so that its "
            "posterior would be 0/0; give a pseudo_count > 0, or leave out "
            "values that are too far away to measure how far"
        )


def _discriminants(model, joint):
    """(x, m) -> a_k = ln pi_k + sum_i ln p(x_i|C_k), i observed; (K, n), less
    the sum of class 0 where the joint is not needed: one row of it less."""
    log_pi, (parts, zeros) = np.log(model.pi)[:, None], _polynomials(model)
    first = 0 if joint or len(parts) > 1 else 1
    if first:
        parts = [(c, *(P[1:] - P[0] for P in powers)) for c, *powers in parts]

    def evaluate(x, m):
        a = np.zeros((len(log_pi), len(x)))
        np.concatenate([_sum(part, x, m) for part in parts], out=a[first:])
        a += log_pi
        if zeros:
            a[_sum(zeros, x, m) > 0] = -np.inf
        return a

    return evaluate


def _sum(polynomial, x, m):
    """sum_i C_ki + B_ki z_i + A_ki z_i^2, z = x - c, i observed; (K, n)."""
    c, C, B, *A = polynomial
    z = (x - c) * (1 if m is None else m) if np.ndim(c) else x
    a = B @ z.T + (C.sum(axis=1, keepdims=True) if m is None else C @ m.T)
    return a + A[0] @ np.square(z).T if A else a


def _polynomials(model):
    """c, C, B (, A): ln p(x_i|C_k) = C_ki + B_ki z + A_ki z^2, z = x_i - c_i.

    About c = 0, the mean of all, or, if digits would be lost, that of each
    class. The second result counts the factors 0, which the first leaves out.
    """
    if isinstance(model, BernoulliModel):
        never = (model.theta == 0).astype(float)
        always = (model.rest == 0).astype(float)
        C, zeros = np.log(model.rest + always), (0.0, always, never - always)
        B = np.log(model.theta + never) - C
        return [(0.0, C, B)], zeros if never.any() or always.any() else None
    for c in (0.0, model.pi @ model.mu):
        if (np.abs(model.mu - c) <= FAR * np.sqrt(model.var)).all():
            return [_gaussian(model.mu, model.var, c)], None
    each = zip(model.mu[:, None], model.var[:, None], strict=True)
    return [_gaussian(mu, var, mu) for mu, var in each], None


def _gaussian(mu, var, c):
    """A = -1 / (2 var), B = -2 A m, C = A m^2 - ln(2 pi var) / 2, m = mu - c:
    PRML (2.42) multiplied out."""
    A, m = -0.5 / var, mu - c
    return c, A * m**2 - 0.5 * np.log(2 * np.pi * var), -2 * A * m, A


def softmax_weights(model):
    """W_ki = ln theta_ki / (1 - theta_ki) and w0_k = ln pi_k +
    sum_i ln(1 - theta_ki), PRML (4.82): a_k(x) = w0_k + W_k^T x."""
    bits = isinstance(model, BernoulliModel)
    if not (bits and (model.theta * model.rest).all()):
        raise ValueError(
            "the discriminants are linear, with finite weights, only for "
            f"Bernoulli features with 0 < theta < 1; got {model}"
        )
    C = np.log(model.rest)
    return np.log(model.theta) - C, np.log(model.pi) + C.sum(axis=1)


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
