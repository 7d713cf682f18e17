"""Kernels: covariances of function values, PRML 6.2 and 6.4.2.

    X       (N, D)  inputs, one row per point; (N,) if D = 1
    Z       (M, D)  other inputs, None for X itself
    theta   (P,)    natural logarithms of the hyperparameters
    C       (N, M)  kernel matrix, C_nm = k(x_n, z_m)

A kernel is a pure function k(theta, X, Z) with names for its theta; it keeps
no data. Kernels are added and multiplied with + and *, and the theta of the
result is that of the first followed by that of the second. All but `constant`
and `linear` have k(x, x) = 1: an amplitude is a factor, constant() * k.
Derivatives are with respect to theta, one (N, N) matrix at a time.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy.spatial.distance import cdist

from prml4.numerics import validate

DIRECT = 12  # columns up to which differences are formed pair by pair
NEAR = 1e-3  # a squared distance this small, relative to |x|^2, has cancelled
WIDE = 1e4  # length-scales from the mean at which it is no origin
FAR = 1e100  # inputs further apart, in length-scales, are refused
LIMIT = 230.0  # largest |theta|: exp(230) is 1e100


@dataclass(frozen=True, eq=False)
class Kernel:
    """k(x, z) with hyperparameters exp(theta), PRML (6.10); k + k, k * k.

    names          of the hyperparameters, in the order of theta
    evaluate       (theta, X, Z or None) -> (N, M)
    variances      (theta, X) -> (N,)
    differentiate  (theta, X) -> C and the iterator of dC/dtheta_j

    The three functions may return (1, 1) or (1,) for a constant matrix.
    """

    names: tuple[str, ...]
    evaluate: Callable
    variances: Callable
    differentiate: Callable

    def __call__(self, theta, X, Z=None):
        """C_nm = k(x_n, z_m), PRML (6.54); Z = None stands for X."""
        theta, X = self._valid(theta, X)
        Z = None if Z is None else validate.points(Z, "Z")
        if Z is not None and Z.shape[1] != X.shape[1]:
            raise ValueError(
                f"Z must have as many columns as X; got {Z.shape[1]} "
                f"and {X.shape[1]}"
            )
        shape = len(X), len(X if Z is None else Z)
        return _full(self.evaluate(theta, X, Z), shape)

    def diagonal(self, theta, X):
        """(k(x_1, x_1), ..., k(x_N, x_N)), the prior variances, PRML (6.54)."""
        theta, X = self._valid(theta, X)
        return _full(self.variances(theta, X), (len(X),))

    def gradients(self, theta, X):
        """Iterator over dC/dtheta_1, ..., dC/dtheta_P, (N, N); PRML (6.70)."""
        return self.with_gradients(theta, X)[1]

    def with_gradients(self, theta, X):
        """C and the iterator over dC/dtheta_j, which share work; PRML (6.70).

        C must not be modified before the iterator is exhausted.
        """
        theta, X = self._valid(theta, X)
        C, slopes = self.differentiate(theta, X)
        shape = len(X), len(X)
        return _full(C, shape), (_full(slope, shape) for slope in slopes)

    def __add__(self, other):
        """k_1 + k_2, with slopes dC_1 and dC_2; PRML (6.17)."""
        return self._with(
            other, operator.add, lambda C_1, first, C_2, second: (first, second)
        )

    def __mul__(self, other):
        """k_1 k_2, with slopes dC_1 C_2 and C_1 dC_2; PRML (6.18)."""
        return self._with(
            other,
            operator.mul,
            lambda C_1, first, C_2, second: (
                (slope * C_2 for slope in first),
                (C_1 * slope for slope in second),
            ),
        )

    def _with(self, other, join, slopes):
        """Both kernels joined; `slopes` turns theirs into those of the pair."""
        if not isinstance(other, Kernel):
            return NotImplemented
        P = len(self.names)

        def differentiate(theta, X):
            C_1, first = self.differentiate(theta[:P], X)
            C_2, second = other.differentiate(theta[P:], X)
            both = slopes(C_1, first, C_2, second)
            return join(C_1, C_2), chain.from_iterable(both)

        def split(function):
            one, two = getattr(self, function), getattr(other, function)
            return lambda theta, *at: join(
                one(theta[:P], *at), two(theta[P:], *at)
            )

        return Kernel(
            self.names + other.names,
            split("evaluate"),
            split("variances"),
            differentiate,
        )

    def _valid(self, theta, X):
        """theta and X as the kernel computes with them."""
        theta = np.atleast_1d(validate.real("theta", theta))
        wanted = len(self.names)
        if theta.shape != (wanted,) or not np.all(np.abs(theta) <= LIMIT):
            raise ValueError(
                f"theta must hold {wanted} logarithms between -{LIMIT:g} and "
                f"{LIMIT:g}, one for each of {', '.join(self.names)}; "
                f"got {theta}"
            )
        return theta, validate.points(X)


def constant():
    """k(x, z) = v: the amplitude of a product, the offset of a sum."""
    return _multiple("variance", lambda X, Z: np.ones((1, 1)))


def noise():
    """k(x_n, x_m) = v I_nm within one set of points, 0 between two sets.

    A diagonal that stands for noise (1 / beta of PRML (6.62)) or for jitter.
    """
    return _multiple(
        "noise variance",
        lambda X, Z: np.eye(len(X)) if Z is None else np.zeros((1, 1)),
    )


def _multiple(name, matrix):
    """v times a matrix that has no hyperparameters and ones as diagonal."""

    def evaluate(theta, X, Z=None):
        return np.exp(theta) * matrix(X, Z)

    def differentiate(theta, X):
        return evaluate(theta, X), (evaluate(theta, A) for A in [X])

    return Kernel(
        (name,), evaluate, lambda theta, X: np.exp(theta), differentiate
    )


def linear(scales=1):
    """k(x, z) = sum_d v_d x_d z_d, PRML (6.1) with phi(x) = x; v_d = v if one.

    A linear function without an offset; constant() + linear() has one.
    """

    def evaluate(theta, X, Z):
        X, Z = (_scaled(A, -theta / 2) for A in (X, X if Z is None else Z))
        return X @ Z.T

    def differentiate(theta, X):
        S = _scaled(X, -theta / 2)
        C = S @ S.T
        return C, (np.outer(s, s) for s in S.T) if scales > 1 else iter([C])

    def variances(theta, X):
        return np.sum(_scaled(X, -theta / 2) ** 2, axis=1)

    names = _names("slope variance", scales)
    return Kernel(names, evaluate, variances, differentiate)


def squared_exponential(scales=1):
    """k(x, z) = exp(-r^2/2), r^2 = sum_d (x_d - z_d)^2 / l_d^2, PRML (6.23)."""

    def profile(r2):
        k = np.multiply(r2, -0.5)
        np.exp(k, out=k)
        return k, lambda: k

    return _radial(scales, profile)


def matern(nu=1.5, scales=1):
    """k(r) = p_nu(s) exp(-s), s = sqrt(2 nu) r; nu = 1/2, 3/2 or 5/2, GPML 4.2.

    p = 1, 1 + s, 1 + s + s^2/3: draws are differentiable nu - 1/2 times.
    """
    validate.choice("nu", nu, (0.5, 1.5, 2.5))

    def profile(r2):
        s = np.sqrt(2 * nu * r2)
        decay = np.exp(-s)
        if nu == 0.5:
            apart = s > 0
            return decay, lambda: np.divide(decay, s, where=apart, out=s)
        if nu == 1.5:
            return (1 + s) * decay, lambda: 3 * decay
        return (1 + s + s * s / 3) * decay, lambda: (5 / 3) * (1 + s) * decay

    return _radial(scales, profile)


def periodic(period=None):
    """k = exp(-2 sum_d sin^2(pi (x_d - z_d) / p) / l^2), MacKay (1998).

    A period p that is known is given, and no hyperparameter then. Points are
    put on the circle one by one: any p, however short, gives covariances.
    """
    known = None if period is None else validate.positive("period", period)

    def squares(theta, X, Z):
        p = np.exp(theta[1]) if known is None else known
        return _half_turns(X, Z, p) / np.exp(2 * theta[0])

    def differentiate(theta, X):
        s2 = squares(theta, X, X)
        k = np.exp(-2 * s2)
        return k, slopes(theta, X, s2, k)

    def slopes(theta, X, s2, k):
        yield 4 * k * s2
        if known is None:
            yield 2 * np.exp(-2 * theta[0]) * k * _turns(X, np.exp(theta[1]))

    return Kernel(
        ("length", "period") if known is None else ("length",),
        lambda theta, X, Z: np.exp(
            -2 * squares(theta, X, X if Z is None else Z)
        ),
        _unit,
        differentiate,
    )


def _half_turns(X, Z, p):
    """sum_d sin^2(pi (x_d - z_d) / p); points are put on the circle alone."""
    ends = (np.fmod(A, p).T for A in (X, Z))  # fmod is exact
    gaps = (np.subtract.outer(x, z) for x, z in zip(*ends, strict=True))
    sines = (np.sin(np.pi / p * gap) for gap in gaps)
    return sum(sine * sine for sine in sines)


def _turns(X, p):
    """sum_d u_d sin(2 u_d) with u_d = pi (x_d - z_d) / p; as `_half_turns`."""
    apart = (np.subtract.outer(x, x) for x in X.T)
    ends = (np.subtract.outer(x, x) for x in np.fmod(X, p).T)
    pairs = zip(apart, ends, strict=True)
    return sum(np.pi / p * u * np.sin(2 * np.pi / p * e) for u, e in pairs)


def _radial(scales, profile):
    """The kernel g(r), given r^2 -> g and a function for -g'(r) / r.

    dg / d log l_d = (-g'(r) / r) (x_d - z_d)^2 / l_d^2, which is 0 at r = 0.
    """

    def differentiate(theta, X):
        S = _scaled(X - _amid(theta, X), theta)
        r2 = squared_distances(S)
        k, factor = profile(r2)
        if scales == 1:
            return k, (f() * r2 for f in [factor])
        return k, _by_columns(factor(), S)

    def evaluate(theta, X, Z):
        origin = _amid(theta, X)  # small coordinates round least
        S = _scaled(X - origin, theta)
        T = None if Z is None else _scaled(Z - origin, theta)
        return profile(squared_distances(S, T))[0]

    return Kernel(_names("length", scales), evaluate, _unit, differentiate)


def _amid(theta, X):
    """The mean; if some are far from it, a median: a few far points leave the
    others their digits.
    """
    mean = X.mean(axis=0)
    if np.abs(_scaled(X - mean, theta)).max() <= WIDE:
        return mean
    return np.sort(X, axis=0)[len(X) // 2]


def _by_columns(h, S):
    """h (s_nd - s_md)^2, one column d after another."""
    for s in S.T:
        slope = np.subtract.outer(s, s)
        slope *= slope
        slope *= h
        yield slope


def squared_distances(X, Z=None):
    """|x_n - z_m|^2 (N, M), to a relative error of about 1e-12 at most.

    Many columns: |x|^2 + |z|^2 - 2 x^T z, and pairs so close that this cancels
    are formed anew from their differences. The origin should be amid X.
    """
    other = X if Z is None else Z
    if X.shape[1] <= DIRECT or min(len(X), len(other)) == 1:
        return cdist(X, other, "sqeuclidean")
    lengths = np.einsum("nd,nd->n", X, X)
    sizes = lengths if Z is None else np.einsum("nd,nd->n", other, other)
    r2 = X @ other.T
    r2 *= -2
    r2 += lengths[:, None] + sizes
    close = r2 < NEAR * (lengths.max() + sizes.max())
    if 8 * np.count_nonzero(close) > r2.size:  # an outlier, or a cluster
        return cdist(X, other, "sqeuclidean")
    n, m = np.nonzero(close)
    for start in range(0, len(n), 65536):
        rows = slice(start, start + 65536)
        gap = X[n[rows]] - other[m[rows]]
        r2[n[rows], m[rows]] = np.einsum("nd,nd->n", gap, gap)
    return r2


def _scaled(X, log_lengths):
    """X / l by columns; a ValueError if that is beyond all measure."""
    if len(log_lengths) not in (1, X.shape[1]):
        raise ValueError(
            f"X must have {len(log_lengths)} columns, one for each scale of "
            f"the kernel; got {X.shape[1]}"
        )
    S = X * np.exp(-log_lengths)
    if np.abs(S).max() > FAR:
        raise ValueError(f"X must not be {FAR:g} scales of the kernel wide")
    return S


def _names(what, scales):
    """Names of `scales` hyperparameters of the same kind."""
    if validate.whole("scales", scales) == 1:
        return (what,)
    return tuple(f"{what} {d + 1}" for d in range(scales))


def _unit(theta, X):
    """k(x, x) = 1."""
    return np.ones(1)


def _full(value, shape):
    """`value` as an array of the shape, of its own memory."""
    if value.shape == shape:
        return value
    return np.broadcast_to(value, shape).copy()
