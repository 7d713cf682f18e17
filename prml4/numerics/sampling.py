"""Truth by sampling, in any number of dimensions, and how far to trust it.

    w        (M,)    position; draws (n, M), one per row
    mean     (M,)    of a Gaussian N(mean, C), `root` has C = root root^T
    log_l    ()      log likelihood of a position, prior N(mean, C)
    log_w    (n,)    logarithms of importance weights
    nu       (M,)    a fresh draw from N(0, C)
    theta    ()      angle on the ellipse w cos(theta) + nu sin(theta)

Importance sampling with the long tails of Student's t about a Gaussian fit;
elliptical slices, Murray, Adams and MacKay (2010), with no step size and no
gradient. All errors here are *standard errors*, to be doubled or trebled, not
bounds as in `cubature`.
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, gammaln

from prml4.numerics import validate

TURN = 2 * np.pi
HANDFUL = 8  # below it two standard errors miss more often than in ten
WORTH = 100  # independent draws from which on a chain knows what it is worth


class TooFewDraws(UserWarning):
    """The draws are worth too little for their error bar to be believed."""


class Drawn(NamedTuple):
    """What draws say about a number, and its standard error."""

    value: float
    standard_error: float


# Importance sampling.


def importance(rng, n, log_f, mean, root, *, nu=7):
    """w_s ~ T and ln f(w_s) - ln T(w_s), for Z = E_T[f / T]; (n, M) and (n,).

    T is Student's t with nu degrees of freedom about `mean`, with the scale
    matrix root root^T: its tails are longer than those of a Gaussian.
    """
    validate.fitted(rng, np.random.Generator, name="rng")
    mean, root = validate.gaussian(mean, root)
    n, nu = validate.whole("n", n), validate.freedom(nu)
    validate.invertible("root", root)
    M = len(mean)
    g = rng.chisquare(nu, size=n) / nu
    u = rng.standard_normal((n, M)) / np.sqrt(g)[:, None]
    log_T = gammaln(M / 2) - betaln(nu / 2, M / 2) - np.log(nu * np.pi) * M / 2
    log_T = log_T - (nu + M) / 2 * np.log1p(np.sum(u**2, axis=1) / nu)
    w = mean + u @ np.transpose(root)
    values = validate.one_each("log_f(w)", log_f(w), n, "draw")
    return w, values - log_T + np.linalg.slogdet(root)[1]


def log_mean(log_w):
    """ln{1/n sum_s e^log_w_s}; its standard error by the delta method.

    (sum w)^2 / sum w^2, how many weights share the sum, must not be too few.
    """
    log_w = validate.real("log_w", log_w)
    top = np.max(log_w, initial=-np.inf)
    if log_w.ndim != 1 or len(log_w) < 2 or not np.isfinite(top):
        raise ValueError(
            "log_w must be (n,), n >= 2, with a largest one that is finite; "
            f"got shape {log_w.shape}, {top} the largest"
        )
    w = np.exp(log_w - top)
    shared = w.sum() ** 2 / (w @ w)
    least = min(WORTH, max(len(w) / 2, HANDFUL))
    _believe(shared, least, f"in a mean of {len(w)}")
    error = w.std(ddof=1) / w.mean() / np.sqrt(len(w))
    return Drawn(float(top + np.log(w.mean())), float(error))


# Elliptical slices.


def elliptical(log_l, mean, root, rng, n, *, burn=200, thin=1):
    """n draws (n, M) from p(w) ~ L(w) N(w | mean, C), C = root root^T.

    Starts at the mean, forgets `burn` steps, keeps every thin-th.
    """
    validate.fitted(rng, np.random.Generator, name="rng")
    mean, root = validate.gaussian(mean, root)
    n, burn = validate.whole("n", n, 0), validate.whole("burn", burn, 0)
    thin = validate.whole("thin", thin, 1)
    w, level = np.zeros(len(mean)), float(log_l(mean))
    if not np.isfinite(level):
        raise ValueError(f"log_l must be finite at the mean; got {level}")
    draws = np.empty((n, len(mean)))
    for step in range(-burn, n * thin):
        w, level = _step(log_l, mean, w, level, root, rng)
        if step >= 0 and step % thin == 0:
            draws[step // thin] = mean + w
    return draws


def _step(log_l, mean, w, level, root, rng):
    """One point of the ellipse with log L > log L(w) + ln u, u uniform.

    A refused angle becomes an end of the bracket, which shrinks towards 0,
    where w itself is: the loop must end.
    """
    nu = root @ rng.standard_normal(len(w))
    floor = level + np.log1p(-rng.random())
    theta = rng.uniform(0, TURN)
    low, high = theta - TURN, theta
    while True:
        new = w * np.cos(theta) + nu * np.sin(theta)
        level = float(log_l(mean + new))
        if not level < np.inf:
            raise ValueError(f"log_l must be < inf; got {level}")
        if level >= floor:
            return new, level
        low, high = (theta, high) if theta < 0 else (low, theta)
        theta = rng.uniform(low, high)


def effective_size(draws):
    """n / (1 + 2 sum_k rho_k) of every column, n at most; Geyer (1992).

    Autocorrelations are summed in pairs while a pair is positive. A column
    that never moved is worth one draw.
    """
    x = validate.real("draws", draws)
    if x.ndim != 2 or len(x) < 2 or not np.isfinite(x).all():
        raise ValueError(
            f"draws must be finite, (n, M) with n >= 2; got shape {x.shape}"
        )
    still = np.ptp(x, axis=0) == 0
    for _ in range(2):  # sums have room, then squares
        x = x / np.exp2(np.frexp(np.abs(x).max(axis=0))[1] - 1.0)
        x = x - x.mean(axis=0)
    x[0, still], n = 1.0, len(x)  # anything that can be divided by
    f = np.fft.rfft(x, 2 * n, axis=0)
    rho = np.fft.irfft(np.abs(f) ** 2, axis=0)[:n]
    rho = rho / rho[0]
    pairs = rho[: n - n % 2 : 2] + rho[1::2]
    alive = np.logical_and.accumulate(pairs > 0, axis=0)
    size = n / np.maximum(2 * np.sum(pairs * alive, axis=0) - 1, 1)
    size = np.where(still, 1.0, size)
    _believe(size.min(), WORTH, f"in column {size.argmin()}, of {n}")
    return size


def _believe(worth, least, where):
    """Or a warning that an error bar will be too short."""
    if worth < least:
        warnings.warn(
            f"the draws are worth {worth:.3g} independent ones {where}: below "
            f"{least} they do not know how well they have mixed",
            TooFewDraws,
            stacklevel=3,
        )
