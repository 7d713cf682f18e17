"""Densities of one number, known up to a factor, and how far apart they are.

    f     a positive function, known by ln f, which takes arrays
    p     f / Z, its density, with Z = int f(z) dz
    over  (a, b): outside of it f is zero or not worth mentioning

Integrals are adaptive quadrature: the truth that approximations are held to.
"""

import numpy as np

from prml4.models.covariance import log_gaussian
from prml4.numerics import validate
from prml4.numerics.special import log_sigmoid
from prml4.referee import estimate

GRID = 1001  # places where a density is looked at before it is integrated


def moments(log_f, over):
    """ln Z with Z = int f(z) dz, and mean and variance of p, by quadrature."""
    log_Z = log_integral(log_f, over)

    def expected(g):
        values = estimate.quadrature(
            lambda z: np.exp(log_f(z) - log_Z) * g(z), [over]
        )
        return float(values.value)

    mean = expected(lambda z: z)
    return log_Z, mean, expected(lambda z: (z - mean) ** 2)


def log_integral(log_f, over):
    """ln Z with Z = int f(z) dz by quadrature, however small or large."""
    values = log_f(_inner(over))
    top = np.max(values)
    if not np.sum(values > top - 2) > 2:  # or quadrature may miss it
        raise ValueError(
            "over must be so short that f is within two nats of its peak at "
            f"three of {GRID} places at least; got {over}"
        )
    Z = estimate.quadrature(lambda z: np.exp(log_f(z) - top), [over])
    return float(top + np.log(Z.value))


def divergence(log_f, log_g, over):
    """KL(p || q) = int p(z) ln {p(z) / q(z)} dz, PRML (1.113), q = g / int g.

    Infinite where p has mass that q has not.
    """
    z = _inner(over)
    if np.any(np.isneginf(log_g(z)) & ~np.isneginf(log_f(z))):
        return np.inf
    shift = log_integral(log_f, over)
    gap = shift - log_integral(log_g, over)

    def integrand(z):
        log_p = log_f(z) - shift
        p = np.exp(log_p)
        difference = np.where(p > 0, log_f(z), 0) - np.where(p > 0, log_g(z), 0)
        return p * (difference - gap)

    return float(estimate.quadrature(integrand, [over]).value)


def _inner(over):
    """Places inside of (a, b)."""
    if np.shape(over) != (2,) or not over[0] < over[1]:
        raise ValueError(f"over must be (a, b) with a < b; got {over}")
    return np.linspace(*over, GRID)[1:-1]


def normal(z, mean, variance):
    """ln N(z | mean, variance), PRML (1.46)."""
    scale = np.sqrt(validate.positive("variance", variance))
    return log_gaussian(np.expand_dims((z - mean) / scale, -1), np.log(scale))


def shoulder(z):
    """ln f(z) = -z^2/2 + ln sigma(20 z + 4), PRML figure 4.14."""
    return -0.5 * z**2 + log_sigmoid(20 * z + 4)


def two_bumps(z):
    """ln f(z) = ln {2/3 N(z | -2, 1) + 1/3 N(z | 2, 0.4^2)}: two modes."""
    left = normal(z, -2.0, 1.0) + np.log(2 / 3)
    return np.logaddexp(left, normal(z, 2.0, 0.16) + np.log(1 / 3))


def share(z, k, n):
    """ln f(z) = k ln z + (n - k) ln(1 - z): k of n, the chance z unknown."""
    inside = (z > 0) & (z < 1)
    x = np.where(inside, z, 0.5)
    return np.where(inside, k * np.log(x) + (n - k) * np.log1p(-x), -np.inf)


def share_log_odds(a, k, n):
    """ln f(sigma(a)) sigma'(a) = (k+1) ln sigma(a) + (n-k+1) ln sigma(-a)."""
    return (k + 1) * log_sigmoid(a) + (n - k + 1) * log_sigmoid(-a)


def rate(z, k, n):
    """ln f(z) = k ln z - n z: k events in the time n, their rate z unknown."""
    x = np.where(z > 0, z, 1.0)
    return np.where(z > 0, k * np.log(x) - n * x, -np.inf)


def log_rate(u, k, n):
    """ln f(e^u) e^u = (k + 1) u - n e^u: the same in u = ln z."""
    return (k + 1) * u - n * np.exp(u)
