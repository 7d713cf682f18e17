"""Members of the exponential family, PRML 2.4.

    x     (...) or (..., D)  observations: numbers, or rows of D numbers
    u     (..., P)    sufficient statistics u(x)
    eta   (P,)        natural parameter; g(eta) = 0 where it is none
    m     (P,)        mean parameter, a value of E[u] = -grad log g(eta)

A member is made by a function: `poisson()`, `dirichlet(K)`. Three functions
say what it is: u, log h, log g. The others follow from them, and are written
out because a closed form is sharper than any differentiation.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve
from scipy.special import digamma, gammaln, polygamma

from prml4 import special

LOG_TWO_PI = np.log(2 * np.pi)


@dataclass(frozen=True, eq=False)
class Family:
    """p(x|eta) = h(x) g(eta) exp(eta^T u(x)), PRML (2.194)."""

    name: str
    domain: str  # what x must be, in words
    shape: tuple  # columns of x (0: a number), dims of the density, P
    u: Callable  # x -> (..., P)
    log_h: Callable  # x -> (...), -inf outside the domain
    log_g: Callable  # eta -> number, -inf where the integral diverges
    mean: Callable  # eta -> (P,), E[u] = -grad log g
    covariance: Callable  # eta -> (P, P), cov[u] = -hess log g
    natural: Callable  # the usual parameters -> eta
    gap: Callable  # m -> relative distance from the boundary of the means
    guess: Callable  # m -> eta with mean(eta) = m, or a start towards it
    exact: bool = True  # which of the two


def bernoulli():
    """mu^x (1 - mu)^(1 - x) = sigma(-eta) exp(eta x), PRML (2.200)."""
    return Family(
        name="Bernoulli", domain="0 or 1", shape=(0, 0, 1),
        u=_itself,
        log_h=lambda x: _log_indicator((x == 0) | (x == 1)),
        log_g=lambda eta: -special.softplus(eta[0]),
        mean=special.sigmoid,
        covariance=lambda eta: np.diag(special.sigmoid_prime(eta)),
        natural=lambda mu: np.array([special.logit(mu)]),
        gap=lambda m: min(m[0], 1 - m[0]),
        guess=special.logit,
    )  # fmt: skip


def categorical(K):
    """mu_x = exp(eta_x) / (1 + sum_j exp(eta_j)), eta_{K-1} = 0, (2.214)."""

    _at_least(2, K, "values")

    def mean(eta):
        return special.softmax(np.append(eta, 0.0))[:-1]

    return Family(
        name="categorical", domain=f"one of 0, ..., {K - 1}",
        shape=(0, 0, K - 1),
        u=lambda x: (x[..., None] == np.arange(K - 1)).astype(float),
        log_h=lambda x: _log_indicator(np.isin(x, np.arange(K))),
        log_g=lambda eta: -special.logsumexp(np.append(eta, 0.0)),
        mean=mean,
        covariance=lambda eta: np.diag(y := mean(eta)) - np.outer(y, y),
        natural=lambda mu: np.log(np.divide(mu[:-1], mu[-1])),
        gap=lambda m: min(m.min(), 1 - m.sum()),
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
        natural=lambda rate: np.array([np.log(rate)]),
        gap=lambda m: m[0],
        guess=np.log,
    )  # fmt: skip


def gaussian_location(variance=1.0):
    """N(x|mu, v) = N(x|0, v) exp(eta x - v eta^2 / 2) with eta = mu / v."""
    if not 0 < variance < np.inf:
        raise ValueError(f"the variance must be positive; got {variance}")
    return Family(
        name="Gaussian of known variance", domain="real", shape=(0, 1, 1),
        u=_itself,
        log_h=lambda x: -(LOG_TWO_PI + np.log(variance) + x**2 / variance) / 2,
        log_g=lambda eta: -variance * eta[0] ** 2 / 2,
        mean=lambda eta: variance * eta,
        covariance=lambda eta: np.array([[variance]]),
        natural=lambda mu: np.array([mu / variance]),
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
    """N(x|mu, S), eta = (S^{-1} mu, -S^{-1} / 2), u = (x, x_i x_j), i >= j."""
    _at_least(1, D, "dimensions")
    i, j = np.tril_indices(D)  # S_ij and S_ji share one statistic
    c = np.append(np.ones(D), np.where(i == j, -2.0, -1.0))

    def split(v):
        A = np.zeros((D, D))
        A[i, j] = A[j, i] = v[D:]
        return v[:D], A

    def log_g(eta):
        linear, precision = split(c * eta)
        try:
            L, _ = factor = cho_factor(precision, lower=True)
        except np.linalg.LinAlgError:
            return -np.inf
        return np.log(np.diag(L)).sum() - linear @ cho_solve(factor, linear) / 2

    def mean(eta):
        linear, S = _inverted(split(c * eta))
        return np.append(mu := S @ linear, (S + np.outer(mu, mu))[i, j])

    def covariance(eta):
        linear, S = _inverted(split(c * eta))
        mu, E = S @ linear, np.eye(D)
        J = np.vstack([E, mu[i, None] * E[j] + mu[j, None] * E[i]])
        fourth = S[np.ix_(i, i)] * S[np.ix_(j, j)]
        fourth += S[np.ix_(i, j)] * S[np.ix_(j, i)]
        return J @ S @ J.T + block_diag(np.zeros((D, D)), fourth)

    def natural(mu, S):
        mu, P = _inverted((mu, np.asarray(S, dtype=float)))
        return np.append(P @ mu, P[i, j]) / c

    def gap(m):
        mu, second = split(m)
        size = np.sqrt(np.maximum(np.diag(second), np.finfo(float).tiny))
        S = (second - np.outer(mu, mu)) / np.outer(size, size)
        return np.linalg.eigvalsh(S)[0]

    return Family(
        name=f"Gaussian in {D} dimensions", domain="real",
        shape=(D, D, D + len(i)),
        u=lambda x: np.concatenate([x, x[..., i] * x[..., j]], axis=-1),
        log_h=lambda x: np.full(x.shape[:-1], -D * LOG_TWO_PI / 2),
        log_g=log_g, mean=mean, covariance=covariance,
        natural=natural, gap=gap,
        guess=lambda m: natural(m[:D], split(m)[1] - np.outer(m[:D], m[:D])),
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
        natural=lambda a, b: np.array([a, -b], dtype=float),
        gap=lambda m: (np.log(m[1]) - m[0]) / (1 + abs(m[0])),
        guess=lambda m: np.array([1.0, -1 / m[1]]), exact=False,
    )  # fmt: skip


def dirichlet(K):
    """Gamma(sum a) prod_k x_k^(a_k - 1) / Gamma(a_k), eta = a, u = log x."""
    _at_least(2, K, "shares")
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
        natural=lambda *a: np.array(a, dtype=float),
        gap=lambda m: -special.logsumexp(m) / (1 + np.abs(m).max()),
        guess=lambda m: np.ones(K), exact=False,
    )  # fmt: skip


def beta():
    """x^(a-1) (1-x)^(b-1) Gamma(a+b) / (Gamma(a) Gamma(b)), eta = (a, b)."""
    return replace(
        dirichlet(2), name="Beta", domain="between 0 and 1", shape=(0, 1, 2),
        u=lambda x: np.stack([np.log(x), np.log1p(-x)], axis=-1),
        log_h=lambda x: -_log_positive(x) - _log_positive(1 - x),
    )  # fmt: skip


def product(*families):
    """p(x|eta) = prod_d p_d(x_d|eta_d): independent columns, a family again."""
    _, dims, sizes = zip(*(f.shape for f in families), strict=True)
    cuts = np.cumsum(sizes)[:-1]

    def of_parts(name, v):
        parts = zip(families, np.split(v, cuts), strict=True)
        return [getattr(f, name)(part) for f, part in parts]

    def of_columns(name, x):
        return [getattr(f, name)(x[..., d]) for d, f in enumerate(families)]

    return Family(
        name=" × ".join(f.name for f in families),
        domain=", ".join(f.domain for f in families),
        shape=(len(families), sum(dims), sum(sizes)),
        u=lambda x: np.concatenate(of_columns("u", x), axis=-1),
        log_h=lambda x: sum(of_columns("log_h", x)),
        log_g=lambda eta: sum(of_parts("log_g", eta)),
        mean=lambda eta: np.concatenate(of_parts("mean", eta)),
        covariance=lambda eta: block_diag(*of_parts("covariance", eta)),
        natural=lambda *etas: np.concatenate(etas),
        gap=lambda m: min(of_parts("gap", m)),
        guess=lambda m: np.concatenate(of_parts("guess", m)),
        exact=all(f.exact for f in families),
    )  # fmt: skip


def _at_least(least, number, of_what):
    """A ValueError for fewer."""
    if number < least:
        raise ValueError(f"at least {least} {of_what} needed; got {number}")


def _itself(x):
    """u(x) = x, as a row of one number."""
    return x[..., None]


def _log_indicator(inside):
    """0 inside, -inf outside."""
    return np.where(inside, 0.0, -np.inf)


def _log_positive(x):
    """log x, and inf for x <= 0, so that h = 1/x is 0 there."""
    return np.log(np.where(x > 0, x, np.inf))


def _inverted(pair):
    """(v, A) -> (v, A^{-1}) for a positive definite A, by Cholesky."""
    v, A = pair
    try:
        return v, cho_solve(cho_factor(A), np.eye(len(A)))
    except np.linalg.LinAlgError:
        raise ValueError(
            f"the covariance must be positive definite; got {A.tolist()}"
        ) from None
