"""Elliptical slice sampling, Murray, Adams and MacKay (2010).

    w        (M,)    position, prior w ~ N(mean, L L^T)
    nu       (M,)    a fresh draw from N(0, L L^T)
    log_l    ()      log likelihood of a position
    theta    ()      angle on the ellipse w cos(theta) + nu sin(theta)

No step size, no gradient, nothing to tune: a referee for posteriors under a
Gaussian prior. Chains are dependent draws, and say how dependent they are.
"""

import numpy as np

from . import validate

TURN = 2 * np.pi


def elliptical(log_likelihood, mean, cholesky, rng, n, *, burn=200, thin=1):
    """n draws (n, M) from p(w) ~ L(w) N(w | mean, C), C = cholesky cholesky^T.

    Starts at the mean, forgets `burn` steps, keeps every thin-th.
    """
    mean, L = _prior(mean, cholesky)
    for name, value, least in (
        ("n", n, 0),
        ("burn", burn, 0),
        ("thin", thin, 1),
    ):
        if value != int(value) or value < least:
            raise ValueError(
                f"{name} must be a whole number >= {least}; got {value}"
            )
    w, level = np.zeros(len(mean)), float(log_likelihood(mean))
    if not np.isfinite(level):
        raise ValueError(f"log_likelihood must be finite at mean; got {level}")
    draws = np.empty((n, len(mean)))
    for step in range(-burn, n * thin):
        w, level = _step(log_likelihood, mean, w, level, L, rng)
        if step >= 0 and step % thin == 0:
            draws[step // thin] = mean + w
    return draws


def _step(log_likelihood, mean, w, level, L, rng):
    """One point of the ellipse with log L > log L(w) + ln u, u uniform.

    A refused angle becomes an end of the bracket, which shrinks towards 0,
    where w itself is: the loop must end.
    """
    nu = L @ rng.standard_normal(len(w))
    floor = level + np.log1p(-rng.random())
    theta = rng.uniform(0, TURN)
    low, high = theta - TURN, theta
    while True:
        new = w * np.cos(theta) + nu * np.sin(theta)
        level = float(log_likelihood(mean + new))
        if not level < np.inf:
            raise ValueError(f"log_likelihood must be < inf; got {level}")
        if level >= floor:
            return new, level
        low, high = (theta, high) if theta < 0 else (low, theta)
        theta = rng.uniform(low, high)


def _prior(mean, cholesky):
    """The prior's mean (M,) and a root (M, M) of its covariance."""
    mean = validate.finite("mean", validate.real("mean", mean))
    L = validate.finite("cholesky", validate.real("cholesky", cholesky))
    if mean.ndim != 1 or L.shape != (len(mean), len(mean)):
        raise ValueError(
            "mean must be (M,) and cholesky (M, M); got shapes "
            f"{mean.shape} and {L.shape}"
        )
    return mean, L


def effective_size(draws):
    """n / (1 + 2 sum_k rho_k) of every column, Geyer (1992).

    Autocorrelations are summed in pairs while a pair is positive. A column
    that never moved is worth one draw.
    """
    x = np.asarray(draws, float)
    if x.ndim != 2 or len(x) < 2 or not np.isfinite(x).all():
        raise ValueError(
            f"draws must be finite, (n, M) with n >= 2; got shape {x.shape}"
        )
    still = np.ptp(x, axis=0) == 0
    x, n = x - x.mean(axis=0), len(x)
    x[0, still] = 1.0  # anything that can be divided by
    f = np.fft.rfft(x, 2 * n, axis=0)
    rho = np.fft.irfft(np.abs(f) ** 2, axis=0)[:n]
    rho = rho / rho[0]
    pairs = rho[: n - n % 2 : 2] + rho[1::2]
    alive = np.logical_and.accumulate(pairs > 0, axis=0)
    size = n / (2 * np.sum(pairs * alive, axis=0) - 1)
    return np.where(still, 1.0, size)
