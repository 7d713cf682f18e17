"""Newton's method for models with a linear predictor a = Phi w, PRML 4.3.3.

    Phi    (N, M)  design matrix     E  ()      error sum_n E_n(a_n)
    w      (M,)    weights           g  (M,)    gradient Phi^T e'
    a      (N,)    linear predictor  H  (M, M)  Hessian Phi^T diag(e'') Phi
    alpha  (M,)    prior precisions  B  (M, M)  approximate inverse of H
    m0     (M,)    prior mean

All linear algebra here is numpy's: SciPy brings a BLAS of its own, and the
idle threads of one get in the way of the other's.

A model says only how the error of a row depends on its a: `pointwise(a, rows)`
returns (E_n, dE_n/da, d2E_n/da2) for those rows of the data.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.linalg import LinAlgError, cholesky, inv, solve

ROUNDING = 2e-8  # a decrement d promises d^2 / 2 = 2e-16: less than E can show
BLOCK = 2**22  # bytes of Phi worked on at once, so that they stay in cache
CHEAP = 6 * 10**5  # N M^2 up to which Hessians of all rows cost next to nothing
FEW = 20  # rows per column from which on a part of them stands for all
SMALL = 300  # rows per column below which a 20th of them is a poor start
MOVES = 0.1  # a change of log odds that is a change
DEPENDENT = 1e-10  # share of a column's curvature that the others leave to it


class NotConverged(UserWarning):
    """The iteration ended before its stopping rule was met."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the iteration stopped, and whether to trust it."""

    w: np.ndarray  # (M,) last iterate
    H: np.ndarray | None  # (M, M) Hessian at w, None where none was formed
    error: float  # E(w)
    gradient: np.ndarray  # (M,) gradient at w
    converged: bool
    trace: tuple[float, ...]  # E at every accepted iterate, the start first


def row_pass(Phi, w, pointwise, *, weights=None, order=2):
    """E = sum_n E_n, g = Phi^T e', H = Phi^T diag(e'') Phi in one pass.

    Block by block, so that Phi comes from memory once; order=1 omits H.
    """
    N, M = Phi.shape
    E, g, H = 0.0, np.zeros(M), np.zeros((M, M)) if order == 2 else None
    size = min(max(BLOCK // (8 * M) // order**3, 1), 2**14)
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


@dataclass(frozen=True, eq=False)
class Objective:
    """E(w) + 1/2 (w - m0)^T A (w - m0), with derivatives.

    A = diag(alpha), or alpha itself where that is a matrix.
    """

    Phi: np.ndarray  # (N, M)
    pointwise: Callable  # (a, rows) -> E_n and its derivatives
    weights: np.ndarray | None  # (N,) observation weights, None for ones
    alpha: np.ndarray  # (M,) or (M, M)
    m0: np.ndarray  # (M,)

    def __call__(self, w, order=2):
        """(E, g, H) at w, the prior's terms included; order=1 omits H."""
        E, g, H = row_pass(
            self.Phi, w, self.pointwise, weights=self.weights, order=order
        )
        d = w - self.m0
        if self.alpha.ndim == 2:
            pull = self.alpha @ d
            H = H + self.alpha if order == 2 else None
        else:
            pull = self.alpha * d
            if order == 2:
                H[np.diag_indices_from(H)] += self.alpha
        return E + 0.5 * float(d @ pull), g + pull, H

    def predictor(self, w):
        """a = Phi w."""
        return self.Phi @ w

    def sample(self, n):
        """The same problem on about n rows, alpha n / N keeping its share."""
        N = len(self.Phi)
        rows = spread_rows(N, n)
        return replace(
            self,
            Phi=self.Phi[rows],
            pointwise=lambda a, at: self.pointwise(a, rows[at]),
            weights=None if self.weights is None else self.weights[rows],
            alpha=self.alpha * (len(rows) / N),
        )


def spread_rows(N, n):
    """About n of N row numbers, n, N >= 64: a sample that is always the same.

    Runs of 64 rows at golden-section steps: spread evenly over the data
    and never in tune with a period of theirs.
    """
    steps = np.arange(1, max(n // 64, 1) + 1) * 0.6180339887498949
    starts = (steps % 1 * (N - 64)).astype(int)
    return (starts[:, None] + np.arange(64)).ravel()


def newton_step(g, H):
    """H^{-1} g and the Newton decrement sqrt(g^T H^{-1} g), PRML (4.92)."""
    L = cholesky(H)
    half = solve(L, g)
    return solve(L.T, half), float(np.sqrt(half @ half))


def minimise(objective, w0, *, tol=ROUNDING, max_iter=100, damped=True):
    """w <- w - eta H^{-1} g until the step promises no more, PRML (4.92).

    `objective(w)` returns (E, g, H).  The step length eta is 1, halved until
    E falls by a fair share (damped) or left at 1 (undamped).  We stop after a
    step whose decrement sqrt(g^T H^{-1} g) was at most tol sqrt(1 + |E|): what
    it gained is lost in the rounding of E.
    """
    best = iterate(objective, w0, tol=tol, max_iter=max_iter, damped=damped)
    if not best.converged:
        warnings.warn(
            f"Newton's method stopped after {len(best.trace) - 1} steps; the "
            f"largest gradient component is {np.abs(best.gradient).max():.1e}",
            NotConverged,
            stacklevel=2,
        )
    return best


def iterate(objective, w0, *, tol=ROUNDING, max_iter=100, damped=True):
    """w <- w - eta H^{-1} g, PRML (4.92): `minimise` without its warning."""
    w = np.array(w0, dtype=np.float64)
    E, g, H = objective(w)
    trace, converged = [E], False
    while not converged and len(trace) <= max_iter:
        try:
            step, decrement = newton_step(g, H)
        except (LinAlgError, ValueError):  # H singular, or no longer finite
            break
        moved = search(objective, w, E, step, decrement, damped=damped)
        if moved is None:
            break
        converged = decrement <= tol * np.sqrt(1 + abs(E))
        w, E, g, H = moved
        trace.append(E)
    return Minimum(w, H, E, g, bool(converged), tuple(trace))


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


def refine(objective, w0, B, *, tol=ROUNDING, max_iter=40):
    """w <- w - eta B g, B = approximate H^{-1} that BFGS corrects on the way.

    Only gradients are formed.  Converged means that the next step promises no
    more and moves no a_n; where it ends otherwise, `iterate` can take over.
    """
    w, slope = w0, partial(objective, order=1)
    E, g, _ = slope(w)
    trace, converged = [E], False
    while len(trace) <= max_iter:
        step = B @ g
        decrement = np.sqrt(g @ step)
        if decrement <= tol * np.sqrt(1 + abs(E)):
            converged = farthest_move(objective, step) < MOVES
        moved = None if converged else search(slope, w, E, step, decrement)
        if moved is None:
            break
        s, y = moved[0] - w, moved[2] - g
        if s @ y <= 0:  # rounding: a convex E has none
            break
        B = bfgs(B * (s @ y / (y @ B @ y)) if len(trace) == 1 else B, s, y)
        w, E, g, _ = moved
        trace.append(E)
    return Minimum(w, None, E, g, converged, tuple(trace))


def bfgs(B, s, y):
    """(I - s y^T / s^T y) B (I - y s^T / s^T y) + s s^T / s^T y.

    The closest symmetric matrix to B that turns the change y of the gradient
    into the step s that caused it.
    """
    By, sy = B @ y, s @ y
    u = (0.5 * (1 + y @ By / sy) * s - By) / sy
    return B + np.column_stack([s, u]) @ np.vstack([u, s])


def descend(objective, *, tol=ROUNDING):
    """w <- argmin of E over every 20th row, then of E over all, from there."""
    N, M = objective.Phi.shape
    if N * M**2 > CHEAP and N >= FEW * M:
        try:
            best = refine(objective, *head_start(objective), tol=tol)
            if best.converged:
                return best
        except LinAlgError:  # a sample too poor to start from
            pass
    return iterate(objective, objective.m0, tol=tol)


def head_start(objective):
    """w and B = (n / N) H^{-1} of a sample of n rows; LinAlgError if it fails.

    A sample too small to be worth fitting tells only whether the columns are
    correlated beyond chance.  If so we take the H of all rows, if not twice
    the inverse diagonal: H is at its largest at the start.
    """
    N, M = objective.Phi.shape
    small = N < SMALL * M
    sample = objective.sample(4 * M if small else N // 20)
    n, w = len(sample.Phi), objective.m0
    if not small:
        w = descend(sample, tol=1e-3).w
    _, g, H = sample(w)
    if smallest_share(H) < DEPENDENT:
        raise LinAlgError("dependent columns")
    if not small and farthest_move(sample, newton_step(g, H)[0]) > MOVES:
        raise LinAlgError("a separable sample")
    d = np.sqrt(np.diag(H))
    C = H / np.outer(d, d)
    if np.sum(C**2) - M <= 1.5 * M**2 / n:  # M^2 / n by chance
        return w, np.diag((1 + small) * n / N / d**2)
    if small:
        n, H = N, objective(w)[2]
    root = inv(cholesky(H))
    return w, root.T @ root * (n / N)


def farthest_move(objective, step):
    """max_n |phi_n^T step|, how far a step moves any a_n.

    Newton's steps: to 0 at a minimum, but always about 1 on a ray along which
    E falls for ever, however small E and its gradient have become.
    """
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


def gradient_descent(gradient, w0, *, rate, steps):
    """w <- w - rate grad E(w), PRML (3.22) with all rows; (steps + 1, M)."""
    path = np.empty((steps + 1, len(w0)))
    path[0] = w0
    for k in range(steps):
        path[k + 1] = path[k] - rate * gradient(path[k])
    return path
