"""A Gaussian at the mode: the Laplace approximation, PRML 4.4.

    f   a positive function, known by ln f; p = f / Z with Z = int f(w) dw
    w   (M,)    its argument, an array also where M = 1
    w0  (M,)    a mode of f: a maximum, where grad ln f = 0
    A   (M, M)  precision: MINUS the Hessian of ln f at w0
    q           the approximation N(w | w0, A^{-1}) of p

`ln f` need not be concave: on the way to a mode we step along |A|, the matrix
with the absolute eigenvalues. What is found there is judged by A itself.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError, cholesky, eigh, eigvalsh, norm, solve

from prml4.models.covariance import log_gaussian
from prml4.numerics import cubature, newton, validate
from prml4.numerics.result import Result
from prml4.numerics.special import logsumexp
from prml4.referee import estimate

SINGULAR = 1e-12  # eigenvalues of A, scaled to |A_ii| = 1, that count as zero
FLOOR = 1e-8  # smallest eigenvalue on the way up, relative to the largest
SAME = 1e-3  # standard deviations between two modes that are one
STEEPEST = 1e150  # curvature from which on a step has gone too far
DOUBT = 5e-3  # in ln Z from differences: more is told
LEVEL = 1e-6  # what ln f loses in one standard deviation, if next to nothing


class NotPositiveDefinite(ValueError):
    """A is not positive definite: no maximum, or a flat one, and so no q."""


class NotGaussian(UserWarning):
    """One standard deviation from the mode ln f has not fallen by about 1/2."""


class RoughDifferences(UserWarning):
    """Differences of ln f leave A, and with it ln Z, in doubt."""


@dataclass(frozen=True, eq=False)
class Laplace(Result):
    """q(w) = N(w | w0, A^{-1}) and what it says about Z, PRML (4.134).

    mode          (M,)    w0
    precision     (M, M)  A
    cholesky      (M, M)  lower L with A = L L^T
    log_f                 ln f(w0)
    log_evidence          ln Z, approximately: PRML (4.135)
    gradient      (M,)    of ln f at w0, None where not known
    converged             whether the search for the mode arrived
    trace         (S,)    ln f at every accepted iterate
    """

    mode: np.ndarray
    precision: np.ndarray
    cholesky: np.ndarray
    log_f: float
    log_evidence: float
    gradient: np.ndarray | None
    converged: bool
    trace: tuple[float, ...]

    @property
    def mean(self):
        """E_q[w] = w0 (M,)."""
        return self.mode

    @property
    def covariance(self):
        """cov_q[w] = A^{-1} (M, M)."""
        root = newton.forward(self.cholesky)
        return root.T @ root

    @property
    def axes(self):
        """U (M, M) with U U^T = A^{-1}: its columns are one deviation long.

        The principal axes of the correlations: they know nothing of units.
        """
        S = self.covariance
        scale = np.sqrt(np.diag(S))
        size, V = eigh(S / np.outer(scale, scale))
        return scale[:, None] * V * np.sqrt(size.clip(0))

    def log_density(self, w):
        """ln N(w | w0, A^{-1}) of each row of w (..., M), PRML (2.43)."""
        w, L = validate.arguments(w, self.mode.size), self.cholesky
        return log_gaussian((w - self.mode) @ L, -np.log(np.diag(L)).sum())

    def draws(self, rng, n):
        """w0 + L^{-T} e with e ~ N(0, I): n rows (n, M)."""
        n = validate.whole("n", n, 0)
        validate.fitted(rng, np.random.Generator, name="rng")
        e = rng.standard_normal((self.mode.size, n))
        return self.mode + solve(self.cholesky.T, e).T


def at_mode(mode, log_f, precision, *, gradient=None, converged=True, trace=()):
    """ln Z ~= ln f(w0) + M/2 ln 2 pi - 1/2 ln |A|, PRML (4.135).

    For a mode that is known: log_f is the number ln f(w0), precision is A.
    """
    mode = _point("mode", mode)
    A = np.array(validate.real("precision", precision), ndmin=2)
    A = validate.symmetric("precision", A, [(mode.size, mode.size)])
    finite = np.isfinite, "be one finite number"
    log_f = validate.number("log_f", log_f, *finite)
    L = _factor(A)
    log_Z = float(log_f - log_gaussian(0 * mode, -np.log(np.diag(L)).sum()))
    return Laplace(mode, A, L, log_f, log_Z, gradient, converged, tuple(trace))


def at_minimum(best, shift=0.0):
    """The same at the minimum of E(w) = shift - ln f(w), A its Hessian."""
    return at_mode(
        best.w, shift - best.error, best.H, gradient=-best.gradient,
        converged=best.converged, trace=[shift - E for E in best.trace],
    )  # fmt: skip


def _point(name, w):
    """w (M,) with M >= 1, also from one number; a copy."""
    w = np.atleast_1d(validate.real(name, w))
    if not w.size:
        raise ValueError(f"{name} must hold one parameter at least; got none")
    return validate.vector(name, w, w.size, "parameter").copy()


def _factor(A, doubt=0.0, where="at the mode"):
    """L with A = L L^T; NotPositiveDefinite says what the point is instead."""
    size = np.abs(np.diag(A))
    scale = np.sqrt(np.where(size > 0, size, 1.0))
    values = eigvalsh(A / np.outer(scale, scale))
    doubt = SINGULAR + norm(doubt / np.outer(scale, scale))
    if values[0] > doubt:
        return cholesky(A)
    kind = "ln f is flat along some direction"
    if values[0] < -doubt:
        kind = "a minimum of ln f" if values[-1] < doubt else "a saddle point"
    shown = eigvalsh(A) + 0.0  # no negative zero
    raise NotPositiveDefinite(
        "A, minus the Hessian of ln f, must be positive definite; its "
        f"eigenvalues {where} run from {shown[0]:.3g} to {shown[-1]:.3g}: "
        f"{kind}"
    )


# From ln f to its mode.


@dataclass(frozen=True, eq=False)
class _Surface:
    """E = -ln f with derivatives, by differences where none are given."""

    log_f: Callable
    first: Callable | None
    second: Callable | None

    def value(self, w):
        """ln f(w), -inf where it is not a finite number."""
        with np.errstate(all="ignore"):
            value = float(_shaped("ln f", self.log_f(w), ()))
        return value if np.isfinite(value) else -np.inf

    def gradient(self, w):
        """grad ln f (M,)."""
        if self.first is None:
            return estimate.partials(self.value, w)[0].value
        return _shaped("gradient", self.first(w), w.shape)

    def precision(self, w):
        """A = -grad grad ln f (M, M), and the error of its differences."""
        shape = w.shape * 2
        if self.second is not None:
            H = _shaped("hessian", self.second(w), shape)
            if np.abs(H).max() < STEEPEST:
                H = validate.symmetric("hessian", H, [shape])
            return -H, np.zeros(shape)
        if self.first is not None:
            H, error = estimate.partials(self.gradient, w)[0]
        else:
            H, error = estimate.second_partials(self.value, w)
        return -0.5 * (H + H.T), error

    def __call__(self, w):
        """(E, grad E, |A|), what newton.newtons_method descends on."""
        value = self.value(w)
        if value > -np.inf:
            g, A = self.gradient(w), self.precision(w)[0]
            if np.isfinite(g).all() and np.abs(A).max() < STEEPEST:
                return -value, -g, absolute(A)
        return np.inf, None, None


def _shaped(name, value, shape):
    """What a given function returned, if it has as many entries as shape."""
    value = validate.real(name, value)
    if value.size != np.prod(shape, dtype=int):
        raise ValueError(f"{name} must have shape {shape}; got {value.shape}")
    return value.reshape(shape)


def absolute(A):
    """|A| = V |Lambda| V^T of A = V Lambda V^T: a step along it climbs.

    A itself where it is positive definite; tiny eigenvalues are raised.
    """
    try:
        cholesky(A)
        return A
    except LinAlgError:
        values, V = eigh(A)
    size = np.abs(values)
    return V * np.maximum(size, FLOOR * size.max() or 1.0) @ V.T


def _climb(surface, start):
    """Newton's method from one start, and the Gaussian where it ended."""
    start = _point("start", start)
    if surface(start)[0] == np.inf:
        raise ValueError(
            f"ln f must be finite and smooth at the start; got w = {start}"
        )
    found = newton.newtons_method(surface, start)
    A, error = surface.precision(found.w)
    ended = f"where the search ended (gradient {norm(found.gradient):.1e})"
    _factor(A, error, "at a stationary point" if found.converged else ended)
    q = at_minimum(replace(found, H=A))
    _doubted(q, error)
    # or ln f tends to a limit, which Newton's steps never reach: they go on by
    # about one standard deviation each, and only what they gain shrinks; at a
    # maximum the last one ends anywhere within rounding
    half = newton.forward(q.cholesky, q.gradient)
    if q.converged and half.any():
        u = solve(q.cholesky.T, half / norm(half))
        fall = q.log_f - surface.value(q.mode + u)
        if abs(fall) < LEVEL:
            raise NotPositiveDefinite(
                f"ln f must have a maximum; got a gain of {abs(fall):.0e} by a "
                f"whole standard deviation from w = {q.mode}: it rises for ever"
            )
    return q


def _doubted(q, error):
    """Warn where ln Z, by -1/2 ln|A|, is known to DOUBT at best."""
    doubt = 0.5 * np.sum(np.abs(q.covariance) * error)
    if doubt > DOUBT:
        warnings.warn(
            f"differences leave ln Z in doubt by {doubt:.1g}: give gradient "
            "and hessian, or choose units in which deviations are alike",
            RoughDifferences,
            stacklevel=4,
        )


def _judge(log_f, q):
    """Warn by name where q is not what it should be."""
    if not q.converged:
        said = f"the search ended with a gradient of {norm(q.gradient):.1e}"
        warnings.warn(said, newton.NotConverged, stacklevel=3)
    drop = falls(log_f, q)
    if np.any((drop < 0.25) | (drop > 1.0)):
        worst = drop.flat[np.argmax(np.abs(np.log(2 * drop.clip(1e-300))))]
        warnings.warn(
            "one standard deviation from the mode ln f should be lower by "
            f"about 1/2, as ln q is; along one axis it falls by {worst:.3g}",
            NotGaussian,
            stacklevel=3,
        )


def falls(log_f, q):
    """ln f(w0) - ln f(w0 +- u_j) ~= 1/2, u_j an axis of q; (2, M)."""
    validate.fitted(q, Laplace, name="q")
    surface = _Surface(log_f, None, None)
    steps = np.stack([q.axes.T, -q.axes.T])
    lower = [[surface.value(q.mode + u) for u in side] for side in steps]
    return q.log_f - np.array(lower)


def minus(error):
    """w -> ln f(w) = -E(w), for the error, gradient, Hessian of a model."""
    return lambda w: -error(w)


def approximate(log_f, start, *, gradient=None, hessian=None):
    """q = N(w0, A^{-1}), A = -grad grad ln f(w0), PRML (4.132), (4.134).

    The mode is looked for from `start`. `log_f`, `gradient` and `hessian` are
    functions of w (M,); what is not given comes from differences. Where these
    leave ln Z in doubt, as in units far apart, a warning says by how much.
    """
    q = _climb(_Surface(log_f, gradient, hessian), start)
    _judge(log_f, q)
    return q


def modes(log_f, starts, *, gradient=None, hessian=None):
    """All w0 = argmax ln f that `starts` lead to, the highest ln f first.

    Starts that end at a saddle are passed over unless all of them do.
    """
    surface, found, refused = _Surface(log_f, gradient, hessian), [], None
    for start in starts if np.iterable(starts) else [starts]:
        try:
            q = _climb(surface, start)
        except NotPositiveDefinite as no_mode:
            refused = no_mode
            continue
        if not any(norm((q.mode - p.mode) @ p.cholesky) < SAME for p in found):
            found.append(q)
    if not found:
        raise refused or ValueError("starts must hold one at least; got none")
    for q in found:
        _judge(log_f, q)
    return tuple(sorted(found, key=lambda q: -q.log_f))


# How good is it?


def remainder(log_f, q, *, reach=12.0, step=0.5):
    """ln Z - ln Z_q by the trapezoid rule in u, w = w0 + U u, |u_j| <= reach.

    For M <= 3. Where ln f is smooth and q not far off, as good as exact: the
    rule errs by e^{-2 pi^2 / step^2} for a Gaussian. Refused where mass is left
    at the ends.
    """
    validate.fitted(q, Laplace, name="q")
    surface = _Surface(log_f, None, None)
    u = cubature.lattice(q.mode.size, reach, step)
    values = np.array([surface.value(w) for w in q.mode + u @ q.axes.T])
    total = logsumexp(values)
    cubature.reached(u, np.exp(values - total), reach, step)
    bell = log_gaussian(0 * q.mode) + q.mode.size * np.log(step)
    return float(total - q.log_f + bell)


def correction(Phi, covariance, third, fourth):
    """ln Z - ln Z_q ~= 1/8 sum_n l_n'''' G_nn^2 + ...; Tierney, Kadane (1986).

    For ln f(w) = sum_n l_n(a_n) + a quadratic in w, a = Phi w: third, fourth
    (N,) are derivatives of l_n at the mode, G = Phi A^{-1} Phi^T.
    """
    Phi = validate.design(Phi)
    covariance = validate.symmetric(
        "covariance", covariance, [Phi.shape[1:] * 2]
    )
    third = validate.vector("third", third, len(Phi), "row of Phi")
    fourth = validate.vector("fourth", fourth, len(Phi), "row of Phi")
    G = Phi @ covariance @ Phi.T
    d = np.diag(G)
    pairs = np.outer(d, d) * G / 8 + G**3 / 12
    return float(fourth @ d**2 / 8 + third @ pairs @ third)
