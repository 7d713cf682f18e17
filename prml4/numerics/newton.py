"""Newton's method with step control, PRML 4.3.3.

    w  (M,)    weights           E  ()      error, what is minimised
    g  (M,)    gradient of E     H  (M, M)  Hessian of E

An objective is a function of w: it returns (E, g, H), or (E, g, None) where
it is called with order=1. If it has predictor(w), all a_n = phi_n^T w, a way
down ends at a minimum only where no a_n wants to move: see `arrived`.

All linear algebra here is numpy's: SciPy brings a BLAS of its own, and the
idle threads of one get in the way of the other's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError, cholesky, solve

from prml4.numerics.result import Result

ROUNDING = 2e-8  # a decrement d promises d^2 / 2 = 2e-16: less than E can show
MOVES = 0.1  # a change of log odds that is a change


class NotConverged(UserWarning):
    """The iteration ended before its stopping rule was met."""


@dataclass(frozen=True, eq=False)
class Minimum(Result):
    """Where a way down stopped, and whether to trust it.

    w          (M,)    last iterate
    H          (M, M)  Hessian at w, None where none was formed
    error              E(w)
    gradient   (M,)    gradient at w
    converged          whether the stopping rule was met
    trace      (S,)    E at every accepted iterate, the start first
    method             "newton", "newton-cg" or "quasi-newton"
    """

    w: np.ndarray
    H: np.ndarray | None
    error: float
    gradient: np.ndarray
    converged: bool
    trace: tuple[float, ...]
    method: str = "newton"


def forward(L, b=None):
    """L^{-1} b, or L^{-1}, for a lower triangular L: from the first row on.

    LAPACK would exchange rows, and by their units: reversed, L gives it none
    to exchange.
    """
    b = np.eye(len(L)) if b is None else b
    return solve(L[::-1, ::-1], b[::-1])[::-1]


def newton_step(g, H):
    """H^{-1} g and the Newton decrement sqrt(g^T H^{-1} g), PRML (4.92)."""
    L = cholesky(H)
    half = forward(L, g)
    return solve(L.T, half), float(np.sqrt(half @ half))


@np.errstate(over="ignore", invalid="ignore")  # a step too far is not taken
def newtons_method(objective, w0, *, tol=ROUNDING, max_iter=100, damped=True):
    """w <- w - eta H^{-1} g until the step promises no more, PRML (4.92).

    The step length eta is 1, halved until E falls by a fair share (damped) or
    left at 1 (undamped).  We stop after a step whose decrement
    sqrt(g^T H^{-1} g) was at most tol sqrt(1 + |E|): what it gained is lost
    in the rounding of E.
    """
    w = np.array(w0, dtype=np.float64)
    E, g, H = objective(w)
    trace, small = [E], False
    while not small and len(trace) <= max_iter:
        try:
            step, decrement = newton_step(g, H)
        except (LinAlgError, ValueError):  # H singular, or no longer finite
            break
        moved = search(objective, w, E, step, decrement, damped=damped)
        if moved is None:
            break
        small = decrement <= tol * np.sqrt(1 + abs(E))
        w, E, g, H = moved
        trace.append(E)
    converged = bool(small) and arrived(objective, w, g, H)
    return Minimum(w, H, E, g, converged, tuple(trace))


def search(objective, w, E, step, decrement, *, damped=True):
    """First eta in 1, 1/2, 1/4, ...: E(w - eta step) <= E - 1e-4 eta d^2."""
    rounding = 1e-13 * (1 + abs(E))
    for halvings in range(60 if damped else 1):
        eta = 0.5**halvings
        value = objective(w - eta * step)
        fair = E - 1e-4 * eta * decrement**2 + rounding
        if value[0] <= fair or (not damped and np.isfinite(value[0])):
            return w - eta * step, *value
    return None


def arrived(objective, w, g, H, moves=MOVES):
    """Would another step, H^{-1} g, move no a_n, if there are any?

    The test that a ray fails along which E falls for ever: there each step
    moves some a_n by about 1, however small E and its gradient have become.
    Where a_n is in the millions, rounding may move it by more.
    """
    if not hasattr(objective, "predictor"):
        return True
    try:
        step, _ = newton_step(g, H)
    except (LinAlgError, ValueError):  # no curvature left
        return False
    size = 1 + 1e-6 * np.abs(objective.predictor(w))
    return bool(np.all(np.abs(objective.predictor(step)) < moves * size))


def farthest_move(objective, step):
    """max_n |phi_n^T step|, how far a step moves any a_n."""
    a = objective.predictor(step)
    return float(np.abs(a, out=a).max())


def smallest_share(H):
    """min_j L_jj^2 / H_jj, H = L L^T: what other columns leave of column j.

    Zero where H is singular.
    """
    try:
        L = cholesky(H)
    except LinAlgError:
        return 0.0
    return float(np.min(np.diag(L) ** 2 / np.diag(H)))
