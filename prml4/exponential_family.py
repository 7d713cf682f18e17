"""What all exponential families share, and their separators, PRML 4.2.4.

family            a member, made by prml4.families
x     (N,) or (N, D)  observations: numbers, or rows of D numbers
u     (N, P)      sufficient statistics u(x_n)
eta   (P,)        natural parameter
m     (P,)        mean parameter, E[u] = -grad log g(eta)
etas  (K, P)      one natural parameter per class; pi (K,) the priors
W     (K, 1 + P)  rows (log g(eta_k) + log pi_k, eta_k)
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from prml4 import newton, special, validate


class BoundaryError(ValueError):
    """No finite natural parameter has this mean of u."""


class LostDigits(UserWarning):
    """The mean of u lies so near the boundary that its rounding matters."""


@dataclass(frozen=True, eq=False)
class Prior:
    """p(eta) = f(chi, nu) g(eta)^nu exp(nu eta^T chi), PRML (2.229)."""

    chi: np.ndarray  # (P,) the mean of u in nu imagined observations
    nu: float  # > 0, how many


def log_density(family, x, eta):
    """log p(x|eta) = log h(x) + log g(eta) + eta^T u(x), PRML (2.194)."""
    x, eta = _observations(family, x), _natural(family, eta)
    return family.log_h(x) + family.log_g(eta) + family.u(x) @ eta


def from_mean(family, m):
    """eta with -grad log g(eta) = m: argmin -log g(eta) - eta^T m."""
    m = _interior(family, m)

    def objective(eta):
        E = -family.log_g(eta) - eta @ m
        if not np.isfinite(E):
            return np.inf, None, None
        return E, family.mean(eta) - m, family.covariance(eta)

    eta = family.guess(m)
    if family.exact:
        return eta
    eta, last = newton.minimise(objective, eta, tol=1e-3).w, np.inf
    while True:  # near enough for full steps: on until rounding decides
        _, g, H = objective(eta)
        step, decrement = newton.newton_step(g, H)
        if not decrement < last / 2:
            return eta
        eta, last = eta - step, decrement


def update(family, x, prior):
    """nu + N and (nu chi + sum_n u(x_n)) / (nu + N), PRML (2.230)."""
    u, nu = family.u(_sample(family, x)), prior.nu + len(x)
    chi = validate.vector("chi", prior.chi, family.shape[2], "statistic")
    if not prior.nu > 0:
        raise ValueError(f"nu must be > 0; got {prior.nu}")
    return Prior(chi=(prior.nu * chi + u.sum(axis=0)) / nu, nu=nu)


def fit(family, x, prior=None):
    """eta with E[u] = (1/N) sum_n u(x_n), PRML (2.228); chi_N with a prior.

    The maximum of the likelihood, or of the posterior density of eta.
    """
    if prior is not None:
        return from_mean(family, update(family, x, prior).chi)
    return from_mean(family, family.u(_sample(family, x)).mean(axis=0))


def divergence(family, eta, other):
    """KL(eta || other) = log g(eta) - log g(other) + (eta - other)^T E[u]."""
    eta, other = _natural(family, eta), _natural(family, other)
    gap = (eta - other) @ family.mean(eta)
    return family.log_g(eta) - family.log_g(other) + gap


def scaled(family, s):
    """s^{-D} h(x/s) g(eta) exp(eta^T u(x/s)), PRML (4.84) with its D."""
    if not 0 < s < np.inf:
        raise ValueError(f"the scale must be positive and finite; got {s}")

    def unscaled(x):
        z = x / s
        if family.shape[1] > 0:
            return z
        return np.where(np.isclose(z, np.rint(z), 1e-12), np.rint(z), z)

    return replace(
        family,
        name=f"{family.name}, scale {s:g}",
        domain=f"{s:g} times: {family.domain}",
        u=lambda x: family.u(unscaled(x)),
        log_h=lambda x: family.log_h(unscaled(x)) - family.shape[1] * np.log(s),
    )


def class_weights(family, etas, pi):
    """W_k = (log g(eta_k) + log pi_k, eta_k), the a_k of PRML (4.86)."""
    etas = np.array([_natural(family, eta) for eta in etas])
    pi = validate.vector("pi", pi, len(etas), "class")
    if not (pi.min() > 0 and abs(pi.sum() - 1) < 1e-9):
        raise ValueError(f"pi must be positive and sum to 1; got {pi}")
    bias = [family.log_g(eta) for eta in etas] + np.log(pi)
    return np.column_stack([bias, etas])


def log_posterior(family, x, W):
    """log p(C_k|x) = log_softmax(a), a_k = W_k^T (1, u(x)), PRML (4.62)."""
    u = family.u(_observations(family, x))
    return special.log_softmax(W[:, 0] + u @ W[:, 1:].T)


def fit_classes(family, x, t, prior=None):
    """W of the fits per class (2.228), with pi_k = N_k / N, PRML (4.73)."""
    x = _sample(family, x)
    t, K = validate.classes(t, len(x))
    etas = [fit(family, x[t == k], prior) for k in range(K)]
    return class_weights(family, etas, np.bincount(t) / len(t))


# -- what comes in -----------------------------------------------------------


def _interior(family, m):
    """m (P,), inside the set of means, and by enough digits."""
    m = validate.vector("m", m, family.shape[2], "statistic")
    gap = family.gap(m)
    if not gap > 0:
        raise BoundaryError(
            f"{family.name}: no finite natural parameter has the mean {m} of "
            "u; it lies on the boundary, as when observations do not vary or "
            "a value never occurs. A prior moves it inside"
        )
    if gap < 1e-8:
        warnings.warn(
            f"{family.name}: the mean of u is {gap:.0e} from the boundary, "
            "relative to its size, so that half its digits are lost; centre "
            "or rescale the observations",
            LostDigits,
            stacklevel=4,
        )
    return m


def _natural(family, eta):
    """eta (P,), a ValueError where the density cannot be normalised."""
    eta = validate.vector("eta", eta, family.shape[2], "statistic")
    if not family.log_g(eta) > -np.inf:
        raise ValueError(
            f"{family.name}: eta = {eta} is no natural parameter; the "
            "integral that normalises the density diverges"
        )
    return eta


def _observations(family, x):
    """x as floats of the right shape, all in the domain."""
    x, columns = validate.finite("x", validate.real("x", x)), family.shape[0]
    if columns and (x.ndim == 0 or x.shape[-1] != columns):
        raise ValueError(
            f"{family.name}: x must have {columns} columns; got {x.shape}"
        )
    outside = ~np.isfinite(family.log_h(x))
    if np.any(outside):
        raise ValueError(
            f"{family.name}: x must be {family.domain}; got {x[outside][0]}"
        )
    return x


def _sample(family, x):
    """x as N >= 1 observations in the domain."""
    x, columns = _observations(family, x), family.shape[0]
    if x.ndim != (2 if columns else 1) or len(x) == 0:
        raise ValueError(
            f"{family.name}: x must hold N >= 1 observations, one "
            f"{'row' if columns else 'number'} each; got shape {x.shape}"
        )
    return x
