"""Newton's method for models with a linear predictor a = Phi w, PRML 4.3.3.

    Phi  (N, M)  design matrix       E  ()      error sum_n E_n(a_n)
    w    (M,)    weights             g  (M,)    gradient Phi^T e',
    a    (N,)    linear predictor    H  (M, M)  Hessian Phi^T diag(e'') Phi

A model says only how the error of a row depends on its a: `pointwise(a, rows)`
returns (E_n, dE_n/da, d2E_n/da2) for the rows of a slice.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

BLOCK = 2**19  # bytes of Phi that are worked on at once: they stay in cache


class NotConverged(UserWarning):
    """The iteration ended before its stopping rule was met."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the iteration stopped, and whether to trust it."""

    w: np.ndarray  # (M,) last iterate
    H: np.ndarray  # (M, M) Hessian at w
    error: float  # E(w)
    gradient: np.ndarray  # (M,) gradient at w
    converged: bool
    trace: tuple[float, ...]  # E at every accepted iterate, the start first


def row_pass(Phi, w, pointwise, *, weights=None, order=2):
    """E = sum_n E_n, g = Phi^T e', H = Phi^T diag(e'') Phi in one pass."""
    N, M = Phi.shape
    E, g, H = 0.0, np.zeros(M), np.zeros((M, M)) if order == 2 else None
    size = max(1, BLOCK // (8 * M))
    for start in range(0, N, size):
        rows = slice(start, min(start + size, N))
        block = Phi[rows]
        terms = pointwise(block @ w, rows)
        if weights is not None:
            terms = [weights[rows] * term for term in terms]
        E += terms[0].sum()
        g += terms[1] @ block
        if order == 2:
            root = np.sqrt(terms[2])[:, None] * block
            H += root.T @ root
    return float(E), g, H


def minimise(objective, w0, *, tol=1e-8, max_iter=100, damped=True):
    """w <- w - eta H^{-1} g until the step promises no more, PRML (4.92).

    `objective(w)` returns (E, g, H).  The step length eta is 1, halved until
    E falls by a fair share (damped) or left at 1 (undamped).  We stop after a
    step whose Newton decrement sqrt(g^T H^{-1} g) was at most
    tol sqrt(1 + |E|): what such a step gains is lost in the rounding of E.
    """
    w = np.array(w0, dtype=np.float64)
    E, g, H = objective(w)
    trace, converged = [E], False
    while not converged and len(trace) <= max_iter:
        try:
            step = cho_solve(cho_factor(H), g)
        except (LinAlgError, ValueError):
            break
        decrement = np.sqrt(g @ step)
        moved = _search(objective, w, E, step, decrement, damped)
        if moved is None:
            break
        converged = decrement <= tol * np.sqrt(1 + abs(E))
        w, E, g, H = moved
        trace.append(E)
    if not converged:
        warnings.warn(_complaint(len(trace) - 1, g), NotConverged, 2)
    return Minimum(w, H, E, g, converged, tuple(trace))


def _search(objective, w, E, step, decrement, damped):
    """First eta in 1, 1/2, 1/4, ... with E(w - eta step) low enough."""
    slack = 1e-13 * (1 + abs(E))  # rounding of E
    for halvings in range(60 if damped else 1):
        eta = 0.5**halvings
        trial = w - eta * step
        value = objective(trial)
        enough = E - 1e-4 * eta * decrement**2 + slack
        if value[0] <= enough or (not damped and np.isfinite(value[0])):
            return trial, *value
    return None


def _complaint(steps, g):
    return (
        f"Newton's method stopped after {steps} steps without converging; "
        f"largest gradient component {np.abs(g).max():.1e}"
    )
