"""Naive Bayes: features independent within each class, PRML 4.2.3.

X         (N, D)  inputs, 0 or 1 (Bernoulli), real numbers (Gaussian) or
                  counts >= 0 (multinomial)
observed  (N, D)  True where a feature is known; the others are summed out
t         (N,)    class numbers 0, ..., K - 1
a         (K, n)  ln p(x, C_k), the discriminants of n rows x
x, m      (n, D)  a block of rows, and what is observed of it
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from prml4.models.covariance import CONSTANT
from prml4.numerics import blocks, validate
from prml4.numerics.result import Result
from prml4.numerics.special import log_softmax

FAR = 100.0  # standard deviations from the centre at which digits would be lost
UNKNOWN = "; a missing feature is False in `observed`"


class ZeroCountWarning(UserWarning):
    """theta is 0 or 1: one unusual feature can exclude a class for good."""


class ImpossibleRow(ValueError):
    """p(x|C_k) = 0 in every class, so that the posterior would be 0/0."""


@dataclass(frozen=True, eq=False)
class BernoulliModel(Result):
    """p(C_k) = pi_k and p(x|C_k) = prod_i Bern(x_i|theta_ki).

    pi     (K,)    prior probabilities
    theta  (K, D)  p(x_i = 1|C_k)
    rest   (K, D)  p(x_i = 0|C_k) = 1 - theta, without cancellation
    """

    pi: np.ndarray
    theta: np.ndarray
    rest: np.ndarray


@dataclass(frozen=True, eq=False)
class GaussianModel(Result):
    """p(C_k) = pi_k and p(x|C_k) = prod_i N(x_i|mu_ki, var_ki).

    pi   (K,)    prior probabilities
    mu   (K, D)  means
    var  (K, D)  variances
    """

    pi: np.ndarray
    mu: np.ndarray
    var: np.ndarray


@dataclass(frozen=True, eq=False)
class MultinomialModel(Result):
    """p(C_k) = pi_k and p(x|C_k) = L! prod_i theta_ki^x_i / x_i!, L = sum x_i.

    pi     (K,)    prior probabilities
    theta  (K, D)  probability of each of D words, sum_i theta_ki = 1
    """

    pi: np.ndarray
    theta: np.ndarray


KINDS = BernoulliModel, GaussianModel, MultinomialModel


def bernoulli(pi, theta):
    """p(C_k) = pi_k, p(x_i = 1|C_k) = theta_ki from known parameters."""
    theta = validate.design(theta, "theta").copy()
    if theta.min() < 0 or theta.max() > 1:
        raise ValueError(f"theta must lie in [0, 1]; got {theta}")
    pi = validate.probabilities("pi", pi, len(theta))
    return BernoulliModel(pi, theta, 1.0 - theta)


def gaussian(pi, mu, var):
    """p(C_k) = pi_k, p(x_i|C_k) = N(mu_ki, var_ki) from known parameters."""
    mu = validate.design(mu, "mu").copy()
    var = validate.design(var, "var").copy()
    if mu.shape != var.shape or var.min() <= 0:
        raise ValueError(f"var must be > 0 and of the shape of mu; got {var}")
    return GaussianModel(validate.probabilities("pi", pi, len(mu)), mu, var)


def multinomial(pi, theta):
    """p(C_k) = pi_k, p(word i|C_k) = theta_ki from known parameters."""
    theta = validate.design(theta, "theta").copy()
    if theta.min() < 0 or np.abs(theta.sum(axis=1) - 1).max() > 1e-9:
        raise ValueError(
            f"theta must hold in each row probabilities with sum 1; got {theta}"
        )
    return MultinomialModel(validate.probabilities("pi", pi, len(theta)), theta)


# Maximum likelihood, and the Beta prior.


def posterior_mean(ones, n, a, b):
    """E[theta|data] = (ones + a) / (n + a + b), prior Beta(a, b), PRML (2.20).

    a = b = 0 is maximum likelihood, a = b = 1 Laplace's correction.
    """
    return (ones + a) / (n + a + b)


def counts(X, t, K, allowed):
    """n_ki = sum_{t_n=k} x_ni of rows x that `allowed` lets pass; (K, D)."""
    total = np.zeros((K, X.shape[1]))
    for k, rows, x in blocks.by_class(X, t, K):
        total[k] += np.ones(len(x)) @ allowed(x, rows)
    return total


def fit_bernoulli(X, t, *, K=None, pseudo_count=1.0):
    """pi_k = n_k / N, theta_ki = (n_ki + a) / (n_k + a + b), PRML (2.20).

    n_ki counts the ones of feature i in class k. The pseudo-count is a = b,
    or a pair (a, b): of ones and of zeros that no one has seen.
    """
    X = validate.matrix(X, "X")
    t, K = validate.classes(t, len(X), K)
    a, b = validate.pseudo_counts(pseudo_count)
    ones, n = counts(X, t, K, validate.bits), np.bincount(t)[:, None]
    theta = posterior_mean(ones, n, a, b)
    rest = posterior_mean(n - ones, n, b, a)
    _warn_of_zeros(theta * rest, "has one value only", "the other value")
    return BernoulliModel(n[:, 0] / len(X), theta, rest)


def fit_multinomial(X, t, *, K=None, pseudo_count=1.0):
    """pi_k = N_k / N, theta_ki = (n_ki + a_i) / sum_j (n_kj + a_j).

    n_ki counts how often word i occurs in all rows of class k. The pseudo-count
    is one number a or has one a_i for each word: a Dirichlet prior.
    """
    X = validate.design(X, "X")
    t, K = validate.classes(t, len(X), K)
    a = validate.variances("pseudo_count", pseudo_count, X.shape[1], "word")
    words = counts(X, t, K, _no_negative)
    n = words.sum(axis=1, keepdims=True)
    if not (n + a.sum()).all():
        raise ValueError(
            "X must hold a count above 0 in each class where pseudo_count is "
            f"0; got none in class {np.argmin(n)}"
        )
    theta = posterior_mean(words, n, a, a.sum() - a)
    _warn_of_zeros(theta, "does not occur", "one occurrence")
    return MultinomialModel(np.bincount(t) / len(X), theta)


def fit_gaussian(X, t, *, K=None, smoothing=0.0):
    """pi_k = n_k / N; mu_ki, var_ki = mean and mean square deviation.

    To var_ki is added `smoothing` times the variance of feature i in all rows.
    """
    X = validate.matrix(X, "X")
    t, K = validate.classes(t, len(X), K)
    smoothing = validate.not_negative("smoothing", smoothing)
    with np.errstate(over="ignore", invalid="ignore"):
        n, mu, S = moments(X, t, K)
        pi, var = n / len(X), S / n[:, None]
        var = var + smoothing * (pi @ (var + (mu - pi @ mu) ** 2))
    if not np.isfinite(var).all():
        validate.finite("X", X)
    refuse_constants(mu, var, n)
    return GaussianModel(pi, mu, var)


def moments(X, t, K):
    """n_k, mu_ki and S_ki = sum_{t_n=k} (x_ni - mu_ki)^2; zeros without rows.

    S is merged from sums about means of blocks; Chan, Golub, LeVeque (1983).
    """
    n, (mu, S) = np.zeros(K), np.zeros((2, K, X.shape[1]))
    for k, _, x in blocks.by_class(X, t, K):
        ones, share = np.ones(len(x)), len(x) / (n[k] + len(x))
        first = x[0].copy()  # from which a constant does not differ
        x -= first
        mean = ones @ x / len(x)
        x -= mean
        S[k] += ones @ np.square(x, out=x)
        mean += first
        S[k] += n[k] * share * (mean - mu[k]) ** 2
        mu[k] += share * (mean - mu[k])
        n[k] += len(x)
    return n, mu, S


def _no_negative(x, rows):
    """The given rows x of X, if no count is below zero."""
    if x.min() < 0:
        n, i = np.argwhere(x < 0)[0]
        raise ValueError(
            f"X must hold counts >= 0; got {x[n, i]:g} at [{rows[n]}, {i}]"
        )
    return x


def _warn_of_zeros(product, has, other):
    """Name a class and a feature whose count is zero, if there is one."""
    for k, i in np.argwhere(product == 0)[:1]:
        warnings.warn(
            f"feature {i} {has} in class {k}: {other} "
            "excludes the class whatever the other features say; "
            "pseudo_count=1 is Laplace's correction",
            ZeroCountWarning,
            stacklevel=3,
        )


def refuse_constants(mu, var, n):
    """A ValueError where var_ki <= (2^-48 mu_ki)^2, a width of rounding."""
    least = np.maximum((CONSTANT * mu) ** 2, np.finfo(float).tiny)
    for k, i in np.argwhere(~(var > least))[:1]:
        raise ValueError(
            f"feature {i} is constant in the {n[k]:g} rows of class {k}, so "
            "that its variance is zero; leave the feature out or give "
            "smoothing > 0 (which cannot help if it is constant in all rows)"
        )


# The posterior.


def log_joint(model, X, observed=None):
    """ln p(x_n, C_k) = ln pi_k + sum_i ln p(x_ni|C_k), i observed; (N, K)."""
    joint = _by_blocks(model, X, observed)
    if isinstance(model, MultinomialModel):  # the orders of the words
        X = validate.real("X", X)
        orders = gammaln(X.sum(axis=1) + 1) - gammaln(X + 1).sum(axis=1)
        joint += orders[:, None]
    return joint


def log_likelihood(model, X, t):
    """sum_n ln p(x_n, C_{t_n}), the logarithm of PRML (4.71) for K classes."""
    joint = log_joint(model, X)
    t = validate.labels(t, len(joint), len(model.pi))
    return float(joint[np.arange(len(joint)), t].sum())


def log_posterior(model, X, observed=None):
    """ln p(C_k|x_n) = a_nk - ln sum_j exp(a_nj), log of PRML (4.62); (N, K)."""
    return _by_blocks(model, X, observed, lambda a: log_softmax(a, axis=0))


def predict_proba(model, X, observed=None):
    """p(C_k|x_n) = exp(a_nk) / sum_j exp(a_nj), PRML (4.62); (N, K)."""
    return _by_blocks(model, X, observed, blocks.softmax)


def predict(model, X, observed=None):
    """argmax_k p(C_k|x_n), which minimises the error rate; PRML 1.5.1."""
    return _by_blocks(model, X, observed, lambda a: a).argmax(axis=1)


def sample(rng, model, t, length=1):
    """x_n ~ p(x|C_{t_n}), the model run backwards: a row for each class.

    Of a multinomial model a row has `length` words.
    """
    validate.fitted(rng, np.random.Generator, name="rng")
    validate.fitted(model, *KINDS, name="model")
    t = validate.labels(t, np.size(t), len(model.pi))
    length = validate.whole("length", length, 0)
    if isinstance(model, MultinomialModel):
        return 1.0 * rng.multinomial(length, model.theta[t])
    if isinstance(model, BernoulliModel):
        return 1.0 * (rng.random(model.theta[t].shape) < model.theta[t])
    return rng.normal(model.mu[t], np.sqrt(model.var[t]))


def _by_blocks(model, X, observed, finish=None):
    """finish(a), or the joint a itself, for a block of rows; (N, K)."""
    X, observed, allow = _inputs(model, X, observed)
    discriminants = _discriminants(model, joint=finish is None)
    out = np.empty((len(X), len(model.pi)))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for rows, x, m in blocks.rows(X, observed):
            allow(x, range(rows.start, rows.stop))
            a = discriminants(x, m)
            if not np.isfinite(a.sum()):
                validate.finite("X", x, rows.start)
                if finish:
                    _refuse_impossible(a, rows.start)
            out[rows] = (finish(a) if finish else a).T
    return out


def _inputs(model, X, observed):
    """X, the mask, and a refusal of rows x that the model cannot have."""
    validate.fitted(model, *KINDS, name="model")
    bits, real, words = (isinstance(model, kind) for kind in KINDS)
    X = validate.width(X, (model.mu if real else model.theta).shape[1], "X")
    observed = validate.mask(observed, X.shape)
    if words and observed is not None:
        raise ValueError(
            "observed must be None for a multinomial model, whose counts are "
            "not independent; got a mask: leave columns out before the fit"
        )
    if bits:
        return X, observed, lambda x, rows: validate.bits(x, rows, UNKNOWN)
    return X, observed, _no_negative if words else lambda x, rows: None


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
    first = 0 if joint or len(parts) > 1 or _thin(model) else 1
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


def _thin(model):
    """Is class 0 so thin that what is near to two others is far outside it?

    Then of a_1 - a_0 and a_2 - a_0 little is left for a_1 - a_2.
    """
    if len(model.pi) == 2 or not isinstance(model, GaussianModel):
        return False
    return bool((model.var[0] < 1e-4 * model.var.max(axis=0)).any())


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
    if isinstance(model, MultinomialModel):
        never = (model.theta == 0).astype(float)
        B = np.log(model.theta + never)
        return [(0.0, 0 * B, B)], (0.0, 0 * B, never) if never.any() else None
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
    sum_i ln(1 - theta_ki), PRML (4.82): a_k(x) = w0_k + W_k^T x.

    Of a multinomial model W_ki = ln theta_ki and w0_k = ln pi_k.
    """
    if isinstance(model, MultinomialModel) and model.theta.all():
        return np.log(model.theta), np.log(model.pi)
    bits = isinstance(model, BernoulliModel)
    if not (bits and (model.theta * model.rest).all()):
        raise ValueError(
            "model must be Bernoulli or multinomial with 0 < theta < 1, or "
            f"the discriminants have no finite linear weights; got {model}"
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
    """K - 1 + K times D, 2 D, D - 1 or 2^D - 1: bernoulli, gaussian,
    multinomial, table."""
    each = {"bernoulli": D, "gaussian": 2 * D, "multinomial": D - 1}
    each["table"] = 2**D - 1
    return K - 1 + K * each[validate.choice("family", family, each)]
