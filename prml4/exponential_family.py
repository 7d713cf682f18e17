"""What all exponential families share, and their separators, PRML 4.2.4.

family            a member, made by prml4.models.families
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

from prml4.models.families import Family
from prml4.numerics import newton, special, validate
from prml4.numerics.result import Result
from prml4.numerics.separation import complain

EPS = np.finfo(float).eps


class BoundaryError(ValueError):
    """No finite natural parameter has this mean of u."""


class LostDigits(UserWarning):
    """The mean of u lies so near the boundary that its rounding matters, or
    large terms cancel, and leave their rounding."""


@dataclass(frozen=True, eq=False)
class Prior(Result):
    """p(eta) = f(chi, nu) g(eta)^nu exp(nu eta^T chi), PRML (2.229).

    chi  (P,)  the mean of u in nu imagined observations
    nu         how many, > 0
    """

    chi: np.ndarray
    nu: float


def log_density(family, x, eta):
    """log p(x|eta) = log h(x) + log g(eta) + eta^T u(x), PRML (2.194)."""
    x, eta = _observations(family, x), _natural(family, eta)
    g, u = family.log_g(eta), family.u(x)
    terms = abs(g) + np.abs(u) @ np.abs(eta)
    return _kept(family, family.log_h(x) + g + u @ eta, terms)


def _kept(family, value, terms):
    """A value or more, with a warning where the rounding of its terms shows."""
    if np.any(EPS * terms > 1e-6 * (1 + np.abs(value))):
        warnings.warn(
            f"{family.name}: terms of {np.max(terms):.0e} cancel, and their "
            "rounding is beyond the sixth digit of what is left; centre or "
            "rescale the observations",
            LostDigits,
            stacklevel=3,
        )
    return value


def from_mean(family, m):
    """eta with -grad log g(eta) = m: argmin -log g(eta) - eta^T m."""
    m, eta = _start(family, m)

    def objective(eta):
        E = -family.log_g(eta) - eta @ m
        if not np.isfinite(E):
            return np.inf, None, None
        return E, family.mean(eta) - m, family.covariance(eta)

    if family.exact:
        return eta
    try:
        found = newton.newtons_method(objective, eta, tol=1e-3)
        complain(found, None)
        eta, last = found.w, np.inf
        while True:  # near enough for full steps: on until rounding decides
            _, g, H = objective(eta)
            step, decrement = newton.newton_step(g, H)
            if not decrement < last / 2:
                return eta
            eta, last = eta - step, decrement
    except np.linalg.LinAlgError:
        raise BoundaryError(_no_parameter(family, m)) from None


def update(family, x, prior):
    """nu + N and (nu chi + sum_n u(x_n)) / (nu + N), PRML (2.230)."""
    x = _sample(family, x)
    u = family.u(x)
    validate.fitted(prior, Prior, name="prior")
    chi = validate.vector("chi", prior.chi, family.shape[2], "statistic")
    if not family.gap(chi) > 0:
        raise BoundaryError(
            f"{family.name}: chi must lie inside the set of means of u, or the "
            f"prior cannot be normalised; got {chi}"
        )
    before = validate.positive("nu", prior.nu)
    nu = before + len(u)
    return Prior(chi=(before * chi + u.sum(axis=0)) / nu, nu=nu)


def fit(family, x, prior=None):
    """eta with E[u] = (1/N) sum_n u(x_n), PRML (2.228); chi_N with a prior.

    The maximum of the likelihood, or of the posterior density of eta.
    """
    if prior is not None:
        return from_mean(family, update(family, x, prior).chi)
    x = _sample(family, x)
    return from_mean(family, family.u(x).mean(axis=0))


def divergence(family, eta, other):
    """KL(eta || other) = log g(eta) - log g(other) + (eta - other)^T E[u]."""
    eta, other = _natural(family, eta), _natural(family, other)
    d, m = eta - other, family.mean(eta)
    g, h = family.log_g(eta), family.log_g(other)
    terms = abs(g) + abs(h) + np.abs(d) @ np.abs(m)
    return _kept(family, g - h + d @ m, terms)


def scaled(family, s):
    """s^{-D} h(x/s) g(eta) exp(eta^T u(x/s)), PRML (4.84) with its D."""
    s, family = validate.positive("scale", s), _family(family)

    def unscaled(x):
        z = x / s  # 0.3 / 0.1 is not 3 in floating point, but means it
        return np.where(np.isclose(z, np.rint(z), 1e-15, 0), np.rint(z), z)

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
    pi = validate.probabilities("pi", pi, len(etas))
    bias = [family.log_g(eta) for eta in etas] + np.log(pi)
    return np.column_stack([bias, etas])


def log_posterior(family, x, W):
    """log p(C_k|x) = log_softmax(a), a_k = W_k^T (1, u(x)), PRML (4.62)."""
    W, x = validate.design(W, "W"), _observations(family, x)
    u = family.u(x)
    if W.shape[1] != 1 + family.shape[2]:
        raise ValueError(
            f"{family.name}: W must have {1 + family.shape[2]} columns, the "
            f"bias and one per statistic; got shape {W.shape}"
        )
    terms = np.abs(W[:, 0]) + np.abs(u) @ np.abs(W[:, 1:]).T
    return _kept(family, special.log_softmax(W[:, 0] + u @ W[:, 1:].T), terms)


def fit_classes(family, x, t, prior=None):
    """W of the fits per class (2.228), with pi_k = N_k / N, PRML (4.73)."""
    x = _sample(family, x)
    t, K = validate.classes(t, len(x))
    etas = []
    for k in range(K):
        try:
            etas.append(fit(family, x[t == k], prior))
        except BoundaryError as refusal:
            raise BoundaryError(f"class {k}: {refusal}") from None
    return class_weights(family, etas, np.bincount(t) / len(t))


# -- what comes in -----------------------------------------------------------


def _start(family, m):
    """m (P,), inside the set of means, and a finite eta with E[u] = m or near.

    A warning where m is inside by too few digits.
    """
    m = validate.vector("m", m, _family(family).shape[2], "statistic")
    gap = family.gap(m)
    if not gap > 0:
        raise BoundaryError(_no_parameter(family, m))
    if gap < 1e-8:
        warnings.warn(
            f"{family.name}: the mean of u is {gap:.0e} from the boundary, "
            "relative to its size, so that half its digits are lost; centre "
            "or rescale the observations",
            LostDigits,
            stacklevel=4,
        )
    with np.errstate(over="ignore", invalid="ignore"):
        eta = family.guess(m)
    if not np.isfinite(eta).all():
        raise ValueError(
            f"{family.name}: m must be of moderate size, or its natural "
            f"parameter overflows; got {m}: rescale the observations"
        )
    return m, eta


def _no_parameter(family, m):
    """Why there is no eta for m."""
    return (
        f"{family.name}: no finite natural parameter has the mean {m} of u; "
        "it lies on the boundary but for rounding, as when observations do not "
        "vary or a value never occurs (then a prior moves it inside), or when "
        "they are so far from zero that their spread is lost (centre them)"
    )


def _family(family):
    """The family itself, if it is one of prml4.models.families."""
    return validate.fitted(family, Family, name="family")


def _natural(family, eta):
    """eta (P,), a ValueError where the density cannot be normalised."""
    eta = validate.vector("eta", eta, _family(family).shape[2], "statistic")
    if not family.log_g(eta) > -np.inf:
        raise ValueError(
            f"{family.name}: eta = {eta} is no natural parameter; the "
            "integral that normalises the density diverges, or overflows"
        )
    return eta


def _observations(family, x):
    """x as floats of the right shape, all in the domain."""
    x, columns = validate.real("x", x), _family(family).shape[0]
    x = validate.finite("x", x)
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
