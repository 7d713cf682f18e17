"""Members of the exponential family, PRML 2.4.

    x     (...) or (..., D)  observations: numbers, or rows of D numbers
    u     (..., P)    sufficient statistics u(x)
    eta   (P,)        natural parameter; g(eta) = 0 where it is none
    m     (P,)        mean parameter, a value of E[u] = -grad log g(eta)

A function makes a member: `poisson()`, `dirichlet(K)`. It is said by u, log h,
log g; the rest follows, and is written out as closed forms are sharper.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isqrt

import numpy as np
from scipy.linalg import (
    block_diag,
    cho_factor,
    cho_solve,
    cholesky,
    solve_triangular,
)
from scipy.special import digamma, gammaln, polygamma

from prml4.numerics import special, validate

LOG_TWO_PI = np.log(2 * np.pi)


@dataclass(frozen=True, eq=False)
class Family:
    """p(x|eta) = h(x) g(eta) exp(eta^T u(x)), PRML (2.194).

    name        what it is called
    domain      what x must be, in words
    shape       columns of x (0: a number), dimensions of the density, P
    u           x -> (..., P)
    log_h       x -> (...), -inf outside the domain
    log_g       eta -> number, -inf where the integral diverges
    mean        eta -> (P,), E[u] = -grad log g
    covariance  eta -> (P, P), cov[u] = -hess log g
    natural     the usual parameters -> eta
    gap         m -> relative distance from the boundary of the means
    guess       m -> eta with mean(eta) = m, or a start towards it
    exact       which of the two
    """

    name: str
    domain: str
    shape: tuple
    u: Callable
    log_h: Callable
    log_g: Callable
    mean: Callable
    covariance: Callable
    natural: Callable
    gap: Callable
    guess: Callable
    exact: bool = True


def bernoulli():
    """mu^x (1 - mu)^(1 - x) = sigma(-eta) exp(eta x), PRML (2.200)."""
    return Family(
        name="Bernoulli", domain="0 or 1", shape=(0, 0, 1),
        u=_itself,
        log_h=lambda x: _log_indicator((x == 0) | (x == 1)),
        log_g=lambda eta: -special.softplus(eta[0]),
        mean=special.sigmoid,
        covariance=lambda eta: np.diag(special.sigmoid_prime(eta)),
        natural=lambda mu: special.logit(
            validate.probabilities("mu, 1 - mu", [mu, 1 - mu], 2)[:1]
        ),
        gap=lambda m: min(_positive(m), 1 - m[0]),
        guess=special.logit,
    )  # fmt: skip


def categorical(K):
    """mu_x = exp(eta_x) / (1 + sum_j exp(eta_j)), eta_{K-1} = 0, (2.214)."""
    K = validate.whole("K", K, 2)

    def mean(eta):
        return special.softmax(np.append(eta, 0.0))[:-1]

    def natural(mu):
        mu = validate.probabilities("mu", mu, K)
        return np.log(mu[:-1] / mu[-1])

    return Family(
        name="categorical", domain=f"one of 0, ..., {K - 1}",
        shape=(0, 0, K - 1),
        u=lambda x: (x[..., None] == np.arange(K - 1)).astype(float),
        log_h=lambda x: _log_indicator(np.isin(x, np.arange(K))),
        log_g=lambda eta: -special.logsumexp(np.append(eta, 0.0)),
        mean=mean,
        covariance=lambda eta: np.diag(y := mean(eta)) - np.outer(y, y),
        natural=natural,
        gap=lambda m: min(_positive(m), 1 - m.sum() - K * 2.0**-52),
        guess=lambda m: np.log(m / (1 - m.sum())),
    )  # fmt: skip


def poisson():
    """r^x exp(-r) / x! = exp(eta x - e^eta) / x! with eta = log r."""
    return Family(
        name="Poisson", domain="0, 1, 2, ...", shape=(0, 0, 1),
        u=_itself,
        log_h=lambda x: _log_indicator((x >= 0) & (x == np.floor(x)))
        - gammaln(np.maximum(x, 0) + 1),
        log_g=lambda eta: -np.exp(eta[0]),
        mean=np.exp,
        covariance=lambda eta: np.diag(np.exp(eta)),
        natural=lambda rate: np.log([validate.positive("rate", rate)]),
        gap=_positive,
        guess=np.log,
    )  # fmt: skip


def gaussian_location(variance=1.0):
    """N(x|mu, v) = N(x|0, v) exp(eta x - v eta^2 / 2) with eta = mu / v."""
    variance = validate.positive("variance", variance)
    return Family(
        name="Gaussian of known variance", domain="real", shape=(0, 1, 1),
        u=_itself,
        log_h=lambda x: -(LOG_TWO_PI + np.log(variance) + x**2 / variance) / 2,
        log_g=lambda eta: -variance * eta[0] ** 2 / 2,
        mean=lambda eta: variance * eta,
        covariance=lambda eta: np.array([[variance]]),
        natural=lambda mu: validate.vector("mu", [mu], 1, "density") / variance,
        gap=lambda m: 1.0,
        guess=lambda m: m / variance,
    )  # fmt: skip


def gaussian():
    """N(x|mu, v), eta = (mu / v, -1 / (2 v)), PRML (2.220) to (2.223)."""
    rows = multivariate_gaussian(1)
    return replace(
        rows, name="Gaussian", shape=(0, 1, 2),
        u=lambda x: np.stack([x, x**2], axis=-1),
        log_h=lambda x: np.full(x.shape, -LOG_TWO_PI / 2),
        natural=lambda mu, variance: rows.natural([mu], [[variance]]),
    )  # fmt: skip


def multivariate_gaussian(D):
    """N(x|mu, S), u = (x, x_i x_j), eta^T u = x^T S^{-1} (mu - x / 2)."""
    D = validate.whole("D", D)
    i, j = np.tril_indices(D)  # x_i x_j and x_j x_i are one statistic
    return Family(
        name=f"Gaussian in {D} dimensions", domain="real",
        shape=(D, D, D + len(i)),
        u=lambda x: np.concatenate([x, x[..., i] * x[..., j]], axis=-1),
        log_h=lambda x: np.full(x.shape[:-1], -D * LOG_TWO_PI / 2),
        log_g=gaussian_log_g,
        mean=gaussian_mean,
        covariance=gaussian_covariance,
        natural=lambda mu, S: gaussian_natural(
            validate.vector("mu", mu, D, "dimension"), S
        ),
        gap=gaussian_gap,
        guess=gaussian_from_mean,
    )  # fmt: skip


def gamma():
    """b^a x^(a-1) e^(-bx) / Gamma(a), eta = (a, -b), u = (log x, x)."""
    return Family(
        name="Gamma", domain="positive", shape=(0, 1, 2),
        u=lambda x: np.stack([np.log(x), x], axis=-1),
        log_h=lambda x: -_log_positive(x),
        log_g=lambda eta: eta[0] * np.log(-eta[1]) - gammaln(eta[0])
        if eta[0] > 0 > eta[1] else -np.inf,
        mean=lambda eta: np.array(
            [digamma(eta[0]) - np.log(-eta[1]), -eta[0] / eta[1]]
        ),
        covariance=lambda eta: np.array(
            [[polygamma(1, eta[0]), -1 / eta[1]],
             [-1 / eta[1], eta[0] / eta[1] ** 2]]
        ),
        natural=lambda a, b: _all_positive("a and b", [a, b], 2) * [1, -1],
        gap=lambda m: _log_means(m) / (1 + abs(m[0])),
        guess=lambda m: _shape(_log_means(m)) * np.array([1, -1 / m[1]]),
    )  # fmt: skip


def dirichlet(K):
    """Gamma(sum a) prod_k x_k^(a_k - 1) / Gamma(a_k), eta = a, u = log x."""
    K = validate.whole("K", K, 2)
    return Family(
        name="Dirichlet", domain=f"{K} positive shares of 1",
        shape=(K, K - 1, K),
        u=np.log,
        log_h=lambda x: _log_indicator(np.abs(x.sum(axis=-1) - 1) < 1e-9)
        - _log_positive(x).sum(axis=-1),
        log_g=lambda eta: gammaln(eta.sum()) - gammaln(eta).sum()
        if eta.min() > 0 else -np.inf,
        mean=lambda eta: digamma(eta) - digamma(eta.sum()),
        covariance=lambda eta: np.diag(polygamma(1, eta))
        - polygamma(1, eta.sum()),
        natural=lambda *a: _all_positive("a", a, K),
        gap=lambda m: -special.logsumexp(m) / (1 + np.abs(m).max()),
        guess=_concentrated, exact=False,
    )  # fmt: skip


def beta():
    """x^(a-1) (1-x)^(b-1) Gamma(a+b) / (Gamma(a) Gamma(b)), eta = (a, b)."""
    return replace(
        dirichlet(2), name="Beta", domain="between 0 and 1", shape=(0, 1, 2),
        u=lambda x: np.stack([np.log(x), np.log1p(-x)], axis=-1),
        log_h=lambda x: -_log_positive(x) - _log_positive(1 - x),
    )  # fmt: skip


def _sizes(families):
    """Dimensions and numbers of parameters of families of one column each."""
    if not families or any(f.shape[0] for f in families):
        raise ValueError(
            "families must have one column each; got "
            f"{[f.name for f in families]}"
        )
    return zip(*(f.shape[1:] for f in families), strict=True)


def product(*families):
    """p(x|eta) = prod_d p_d(x_d|eta_d): independent columns, a family again."""
    dims, sizes = _sizes(families)
    cuts = np.cumsum(sizes)[:-1]

    def parts(name, v):
        pieces = zip(families, np.split(v, cuts), strict=True)
        return [getattr(f, name)(piece) for f, piece in pieces]

    def columns(name, x):
        return [getattr(f, name)(x[..., d]) for d, f in enumerate(families)]

    return Family(
        name=" × ".join(f.name for f in families),
        domain=", ".join(f.domain for f in families),
        shape=(len(families), sum(dims), sum(sizes)),
        u=lambda x: np.concatenate(columns("u", x), axis=-1),
        log_h=lambda x: sum(columns("log_h", x)),
        log_g=lambda eta: sum(parts("log_g", eta)),
        mean=lambda eta: np.concatenate(parts("mean", eta)),
        covariance=lambda eta: block_diag(*parts("covariance", eta)),
        natural=lambda *etas: np.concatenate(etas),
        gap=lambda m: min(parts("gap", m)),
        guess=lambda m: np.concatenate(parts("guess", m)),
        exact=all(f.exact for f in families),
    )  # fmt: skip


# -- the Gaussian in D dimensions: eta holds S^{-1} mu and the coefficients of
# x_i x_j, i >= j, in -x^T S^{-1} x / 2; m holds E[x] and E[x_i x_j]


def gaussian_natural(mu, S):
    """eta = (S^{-1} mu, -S^{-1}_ii / 2 and -S^{-1}_ij for i > j)."""
    S = validate.covariance("S", S, [(len(mu), len(mu))])
    mu, P = _inverted(mu, S)
    return _joined(P @ mu, np.diag(np.diag(P)) / 2 - P)


def gaussian_from_mean(m):
    """eta of mu = E[x] and S = E[x x^T] - mu mu^T."""
    mu, second = _parts(m)
    return gaussian_natural(mu, second - np.outer(mu, mu))


def gaussian_log_g(eta):
    """log |S^{-1}| / 2 - mu^T S^{-1} mu / 2, -inf for eta of no Gaussian."""
    v, P = _precision(eta)
    try:
        L = cholesky(P, lower=True)
    except np.linalg.LinAlgError:
        return -np.inf
    z = solve_triangular(L, v, lower=True)
    return np.log(np.diag(L)).sum() - z @ z / 2


def gaussian_mean(eta):
    """m = (mu, S + mu mu^T)."""
    v, S = _inverted(*_precision(eta))
    mu = S @ v
    return _joined(mu, S + np.outer(mu, mu))


def gaussian_covariance(eta):
    """J S J^T with J = du/dx at mu, plus S_ik S_jl + S_il S_jk (Isserlis 1918).

    The second term belongs to the products x_i x_j and x_k x_l alone.
    """
    v, S = _inverted(*_precision(eta))
    mu, E = S @ v, np.eye(len(v))
    i, j = np.tril_indices(len(v))
    J = np.vstack([E, mu[i, None] * E[j] + mu[j, None] * E[i]])
    fourth = S[np.ix_(i, i)] * S[np.ix_(j, j)]
    fourth += S[np.ix_(i, j)] * S[np.ix_(j, i)]
    return J @ S @ J.T + block_diag(np.zeros_like(S), fourth)


def gaussian_gap(m):
    """min eigenvalue of S_ij / (E[x_i^2] E[x_j^2])^(1/2), > 0 for means m."""
    mu, second = _parts(m)
    size = np.sqrt(np.maximum(np.diag(second), np.finfo(float).tiny))
    S = (second - np.outer(mu, mu)) / np.outer(size, size)
    return np.linalg.eigvalsh(S)[0]


def _parts(v):
    """(D,) and the symmetric (D, D) whose lower triangle is in v (P,)."""
    D = (isqrt(9 + 8 * len(v)) - 3) // 2
    i, j = np.tril_indices(D)
    A = np.zeros((D, D))
    A[i, j] = A[j, i] = v[D:]
    return v[:D], A


def _joined(v, A):
    """(P,) of (D,) and a symmetric (D, D)."""
    return np.append(v, A[np.tril_indices(len(A))])


def _precision(eta):
    """S^{-1} mu and S^{-1}, which has -2 eta_ii and -eta_ij."""
    v, A = _parts(eta)
    return v, -A - np.diag(np.diag(A))


def _inverted(v, A):
    """v and A^{-1} of a positive definite A, by Cholesky."""
    try:
        return v, cho_solve(cho_factor(A), np.eye(len(A)))
    except np.linalg.LinAlgError:
        raise ValueError(
            "a covariance, and its inverse, must be positive definite; got "
            f"{A.tolist()}"
        ) from None


# -- Gamma and Dirichlet -------------------------------------------------------


def _log_means(m):
    """log E[x] - E[log x] of a Gamma, -inf where m[1] is no mean."""
    return np.log(m[1]) - m[0] if m[1] > 0 else -np.inf


def _shape(s):
    """a with log a - digamma(a) = s, by Newton's method in 1 / a.

    Down from 2 s, which is too large: the left side is convex in 1 / a, with
    a slope a^2 trigamma(a) - a between 1/2 and 1. On until rounding decides.
    """
    y, last = 2 * s, np.inf
    while True:
        a = 1 / y
        slope = max(a * (a * polygamma(1, a) - 1), 0.5)
        step = (_log_less_digamma(a) - s) / slope
        if not abs(step) < last / 2:
            return a
        y, last = y - step, abs(step)


def _log_less_digamma(a):
    """log a - digamma(a) = 1 / (2 a) + 1 / (12 a^2) - 1 / (120 a^4) + ..."""
    if a < 200:  # from here on the difference loses more than the series
        return np.log(a) - digamma(a)
    return 1 / (2 * a) + 1 / (12 * a**2) - 1 / (120 * a**4)


def _concentrated(m):
    """a with -log sum_k exp(m_k) = (K - 1) / (2 sum_k a_k), as for large a."""
    a = (len(m) - 1) / (-2 * special.logsumexp(m)) * special.softmax(m)
    return np.maximum(a, 0.5 / (1 - m))  # m is below 0


def _all_positive(name, value, size):
    """(size,) positive, finite numbers."""
    value = validate.vector(name, value, size, "parameter")
    if not value.min() > 0:
        raise ValueError(f"{name} must be positive; got {value}")
    return value


def _positive(m):
    """Relative distance from 0: all of it where m > 0, however small."""
    return 1.0 if m.min() > 0 else m.min()


def _itself(x):
    """u(x) = x, as a row of one number."""
    return x[..., None]


def _log_indicator(inside):
    """0 inside, -inf outside."""
    return np.where(inside, 0.0, -np.inf)


def _log_positive(x):
    """log x, and inf for x <= 0, so that h = 1/x is 0 there."""
    return np.log(np.where(x > 0, x, np.inf))
