"""Scalar functions of classification, stable on the whole real line.

    a     (...,)  real numbers: log odds, activations, probit arguments
    sigma         logistic sigmoid, 1 / (1 + exp(-a))
    phi           standard normal density
    Phi           standard normal distribution function (upright Phi in the
                  book; the design matrix is a bold one)
    r     mills   inverse Mills ratio phi / Phi, the derivative of log Phi
A suffix counts derivatives: f_prime and f_second are the first and
second derivative of f; r = (log Phi)', so mills_prime and
mills_second are the second and third derivative of log Phi.

Every function returns float64, scalars for scalars, and leaves its input
alone. Wherever the true value is a normal double its relative error is
below 1e-14 (1 + |a f'(a) / f(a)|). Overflow to inf and underflow to 0 are
how limits are reached and are silent; NaN goes through.
"""

import functools

import numpy as np
from scipy import special as scipy_special

ROOT_TWO = np.sqrt(2.0)
ROOT_TWO_PI = np.sqrt(2.0 * np.pi)


def _real(a):
    """The argument as a float64 array, or ValueError."""
    hidden, a = np.ma.is_masked(a), np.asarray(a)
    if hidden or a.dtype.kind not in "biuf":
        got = "a masked array" if hidden else f"dtype {a.dtype}"
        raise ValueError(f"a must hold real numbers; got {got}")
    return a.astype(float, copy=False)


def _elementwise(f):
    """Let f see a float64 array of at least one dimension, limits silent."""

    @functools.wraps(f)
    def on_anything(a):
        a = _real(a)
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            return f(np.atleast_1d(a)).reshape(a.shape)[()]

    return on_anything


# The logistic family.


@_elementwise
def sigmoid(a):
    """sigma(a) = 1 / (1 + exp(-a)), PRML (4.59).

    Where exp(-a) overflows, sigma(a) is below the smallest normal double.
    """
    y = np.negative(a)
    np.exp(y, out=y)
    y += 1.0
    return np.reciprocal(y, out=y)


@_elementwise
def sigmoid_prime(a):
    """sigma' = sigma (1 - sigma) = e / (1 + e)^2, e = e^-|a|, PRML (4.88)."""
    e = np.exp(-np.abs(a))
    return e / (1.0 + e) ** 2


@_elementwise
def sigmoid_second(a):
    """sigma'' = sigma' (1 - 2 sigma) = -sigma' tanh(a/2), from PRML (4.88)."""
    return -sigmoid_prime(a) * np.tanh(a / 2.0)


@_elementwise
def softplus(a):
    """log(1 + exp(a)) = max(a, 0) + log1p(exp(-|a|)) = -log sigma(-a)."""
    return np.maximum(a, 0.0) + np.log1p(np.exp(-np.abs(a)))


@_elementwise
def log_sigmoid(a):
    """log sigma(a) = min(a, 0) - log1p(exp(-|a|)), log of PRML (4.59)."""
    return np.minimum(a, 0.0) - np.log1p(np.exp(-np.abs(a)))


@_elementwise
def logit(y):
    """log(y / (1 - y)) for y in [0, 1], inverse of sigma, PRML (4.61).

    The ends give -inf and inf; anything outside raises ValueError.
    """
    outside = (y < 0.0) | (y > 1.0)
    if np.any(outside):
        raise ValueError(
            "y must lie in [0, 1]; got "
            f"{float(y[outside][0])} ({np.sum(outside)} of {y.size} outside)"
        )
    return scipy_special.logit(y)


# The normal family.


@_elementwise
def normal_pdf(a):
    """phi(a) = exp(-a^2 / 2) / sqrt(2 pi), PRML (1.46) with mu 0, sigma 1."""
    return np.exp(-a * a / 2.0) / ROOT_TWO_PI


@_elementwise
def normal_cdf(a):
    """Phi(a) = integral of phi from -inf to a, PRML (4.114)."""
    return scipy_special.ndtr(a)


@_elementwise
def log_normal_cdf(a):
    """log Phi(a), PRML (4.114)."""
    return scipy_special.log_ndtr(a)


@_elementwise
def mills(a):
    """r(a) = phi(a) / Phi(a) = (log Phi)'(a), GPML 3.4.

    Phi(-z) = exp(-z^2 / 2) erfcx(z / sqrt 2) / 2, DLMF 7.2: no exponential
    is left where a < 0.
    """
    right = normal_pdf(a) / scipy_special.ndtr(a.clip(0.0))
    q = ROOT_TWO_PI / 2 * scipy_special.erfcx(-a.clip(None, 0.0) / ROOT_TWO)
    return np.where(a < 0.0, 1.0 / q, right)


@_elementwise
def mills_prime(a):
    """r' = -r (r + a) = (log Phi)'', GPML 3.4.

    In the tail r + a = d, and r d = 1 - d (e1 - d) by the ladder.
    """
    near = np.clip(a, 0.0, 64.0)
    r = mills(near)
    slope = -r * (r + near)
    tail = a < 0.0
    d, e1, _, _ = _ladder(-a[tail])
    slope[tail] = -1.0 + d * (e1 - d)
    return slope


@_elementwise
def mills_second(a):
    """r'' = r ((r + a) (2 r + a) - 1) = (log Phi)''', from r' = -r (r + a).

    In the tail every factor is rewritten by the ladder until none cancels.
    """
    near = np.clip(a, 0.0, 64.0)
    r = mills(near)
    bend = r * ((r + near) * (2.0 * r + near) - 1.0)
    tail = a < 0.0
    d, e1, e2, e3 = _ladder(-a[tail])
    bend[tail] = (1.0 - d * (e1 - d)) * d * e1**2 / 2 * (1 + e2 * (e2 - e3))
    return bend


# r + a = 1/z - 2/z^3 + ... for z = -a is a difference of nearly equal numbers.
# The moments Q_n = integral of t^n / n! exp(-t^2 / 2 - z t) over t > 0 have
# r = 1 / Q_0, and by parts (n + 1) Q_{n+1} + z Q_n = Q_{n-1}, Q_{-1} = 1.
# Hence the ratios e_n = (n + 1) Q_{n+1} / Q_n, starting with e_0 = r + a,
# form Laplace's continued fraction e_{n-1} = n / (z + e_n), and climbing it
# from e_3 (two integrals of positive functions) nothing cancels.


def _ladder(z):
    """e_0 = r(-z) - z, e_1, e_2, e_3 for z >= 0, DLMF 7.18 and 7.9."""
    z = np.minimum(z, 1e150)
    scale = z / 2.0 + np.sqrt(z * z / 4.0 + 3.5)
    linear, quadratic = z / scale, 0.5 / scale**2
    third, fourth = np.zeros_like(z), np.zeros_like(z)
    for u, weight in _half_line_rule():
        mass = weight * np.exp(-u * (linear + u * quadratic))
        third += mass
        fourth += u * mass
    e3 = fourth / (third * scale)
    e2 = 3.0 / (z + e3)
    e1 = 2.0 / (z + e2)
    return 1.0 / (z + e1), e1, e2, e3


@functools.cache
def _half_line_rule():
    """Nodes u and weights for integrals of u^3 f(u) over u > 0, by Laguerre.

    Of 64 nodes only those are kept whose share can reach one rounding error.
    """
    u, weight = scipy_special.roots_laguerre(64)
    weight = weight * u**3
    kept = weight > 1e-16 * weight.max()
    u, weight = u[kept], weight[kept]
    return tuple(zip(u, weight * np.exp(u), strict=True))


# Several classes: functions along an axis, by default the last.


def _below_largest(a, axis):
    """The maximum m, a - m, and s = sum of exp(a - m) without m's own 1.

    inf - inf is NaN: it stays where softmax has no limit.
    """
    a = _real(a)
    if a.ndim == 0 or a.shape[axis] == 0:
        raise ValueError(f"a must have entries there; got shape {a.shape}")
    first = np.expand_dims(a.argmax(axis=axis), axis)
    m = np.take_along_axis(a, first, axis)
    gap = a - m
    np.put_along_axis(gap, first, np.where(np.isnan(m), m, 0.0), axis)
    rest = np.exp(gap)
    np.put_along_axis(rest, first, 0.0, axis)
    return m, gap, rest.sum(axis=axis, keepdims=True)


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def logsumexp(a, axis=-1):
    """log sum_k exp(a_k) = m + log1p(s), m the largest a_k, PRML (4.62)."""
    m, _, s = _below_largest(a, axis)
    total = np.where(np.isinf(m), m, m + np.log1p(s))
    return total.squeeze(axis)[()]


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def softmax(a, axis=-1):
    """y_k = exp(a_k) / sum_j exp(a_j), PRML (4.62)."""
    _, gap, s = _below_largest(a, axis)
    return np.exp(gap) / (1.0 + s)


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def log_softmax(a, axis=-1):
    """log y_k = (a_k - m) - log1p(s), log of PRML (4.62)."""
    _, gap, s = _below_largest(a, axis)
    return gap - np.log1p(s)
