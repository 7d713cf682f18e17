"""Covariance matrices: factors, what makes them singular, shrinkage.

    Sigma   (K, D, D)  one covariance for each class, or (D, D): shared by all
    L       as Sigma   lower Cholesky factors, Sigma = L L^T
    mu      (K, D)     means: what "constant up to rounding" refers to
    counts  (K,)       rows n_k of each class

Whether a covariance is singular is asked of the correlations, which know
nothing of units.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf

from prml4.numerics import validate

SINGULAR = 1e-10  # share of a feature's variance that the others must leave it
CONSTANT = 2.0**-48  # a standard deviation, relative to the mean: rounding only
LEAST = np.sqrt(np.finfo(float).tiny)  # one whose square has all its digits
TARGETS = ("pooled", "diagonal", "isotropic")  # the first for a stack only


def log_gaussian(z, log_root=0.0):
    """ln N(x|mu, L L^T) of z = L^{-1} (x - mu) (..., D), PRML (2.43).

    log_root is ln |L|, half of ln |Sigma|.
    """
    with np.errstate(over="ignore"):  # beyond 1e154 deviations it is -inf
        half = 0.5 * np.sum(np.square(z), axis=-1)
    return -half - 0.5 * np.shape(z)[-1] * np.log(2 * np.pi) - log_root


# Cholesky factors.


def known(Sigma, D, K=None):
    """Sigma and L with Sigma = L L^T from given parameters; PRML (2.43).

    (D, D), or also (K, D, D) if K is given; positive definite, and symmetric
    in units of the standard deviations, too.
    """
    shapes = [(D, D)] if K is None else [(D, D), (K, D, D)]
    Sigma = validate.covariance("Sigma", Sigma, shapes).copy()
    return Sigma, _factors(Sigma, np.zeros_like(Sigma[..., 0]), _indefinite)


def estimated(Sigma, mu):
    """L with Sigma = L L^T, of covariances estimated about mu; PRML (2.43).

    A ValueError names class, feature and remedy where one is singular.
    """
    size = np.abs(mu)
    return _factors(
        Sigma, size.max(axis=0) if Sigma.ndim == 2 else size, _singular
    )


def _factors(Sigma, size, complain):
    """L with Sigma = L L^T for one covariance or for each of a stack."""
    if Sigma.ndim == 2:
        return _factor(Sigma, size, None, complain)
    each = enumerate(zip(Sigma, size, strict=True))
    return np.stack([_factor(S, m, k, complain) for k, (S, m) in each])


def _factor(Sigma, size, k, complain):
    """L with Sigma = L L^T, by way of the correlations: units do not matter.

    The square of the j-th pivot is the share of the variance of feature j that
    the features before it leave unexplained.
    """
    scale = np.sqrt(np.diag(Sigma).clip(0))
    constant = np.flatnonzero(~(scale > np.maximum(CONSTANT * size, LEAST)))
    if constant.size:
        raise ValueError(complain(k, constant[0], constant=True))
    L, stuck = dpotrf(Sigma / scale / scale[:, None], lower=1, clean=1)
    shares = np.diag(L) ** 2
    if stuck:  # at a pivot that has no root; what follows it is unfinished
        shares[stuck - 1] = 0.0
    close = np.flatnonzero(shares < SINGULAR)
    if close.size:
        raise ValueError(complain(k, close[0], constant=False))
    return scale[:, None] * L


def _indefinite(k, j, *, constant):
    """Which given matrix is no covariance, and why not."""
    return (
        f"Sigma{'' if k is None else f' of class {k}'} must be positive "
        f"definite; feature {j} has no variance"
        f"{'' if constant else ' left, given the features before it'}"
    )


def _singular(k, j, *, constant):
    """Which covariance is singular, why, and what to do about it."""
    whose, remedy, cure = f"covariance of class {k}", "pool (fit_lda)", "pooled"
    if k is None:
        whose, remedy, cure = "shared covariance", "leave it out", "isotropic"
    why = "is constant" if constant else "is a combination of earlier ones"
    return (
        f"the {whose} is (nearly) singular: feature {j} {why} within "
        f"{'each' if k is None else 'the'} class; {remedy} or shrink the "
        "covariance (shrinkage > 0; "
        f'target="{cure}" if a feature is constant)'
    )


def enough_rows(counts, D, *, shared):
    """n_k > D, or N >= D + K if shared: else a ValueError, S has no inverse."""
    N, K, k = int(counts.sum()), len(counts), np.argmin(counts)
    if shared and N < D + K:
        raise ValueError(
            f"{N} rows in {K} classes make the shared covariance of {D} "
            f"features singular: D + K = {D + K} rows or more are needed; "
            "shrink it (shrinkage > 0) or leave features out"
        )
    if not shared and counts[k] <= D:
        raise ValueError(
            f"class {k} has {counts[k]:g} rows and needs more than D = {D}, or "
            "its covariance is singular; pool the covariances (fit_lda) or "
            'shrink them (shrinkage > 0, perhaps with target="pooled")'
        )


# Shrinkage.


def shrink(Sigma, amount, target="diagonal", pi=None):
    """(1 - amount) Sigma + amount T, a compromise; Friedman (1989).

    T is the diagonal of Sigma, the mean of that diagonal times I (isotropic),
    or the covariance sum_k pi_k Sigma_k of all classes (pooled).
    """
    Sigma = validate.real("Sigma", Sigma)
    if not np.isfinite(Sigma).all():
        validate.finite("Sigma", Sigma)
    amount = shrinkage(amount, target, shared=Sigma.ndim == 2)
    if target == "pooled":
        pi = validate.probabilities("pi", pi, len(Sigma))
        T = np.tensordot(pi, Sigma, 1)
    else:
        T = np.diagonal(Sigma, axis1=-2, axis2=-1)[..., None]
        if target == "isotropic":
            T = T.mean(axis=-2, keepdims=True)
        T = T * np.eye(np.shape(Sigma)[-1])
    return (1 - amount) * Sigma + amount * T


def shrinkage(amount, target, *, shared):
    """0 <= amount <= 1 as a float; else, or without such a target, an error."""
    validate.choice("target", target, TARGETS[shared:])
    wanted = "be one number in [0, 1]"
    return validate.number("shrinkage", amount, lambda x: 0 <= x <= 1, wanted)
