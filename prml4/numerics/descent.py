"""Ways down over many rows or many unknowns, PRML 4.3.3 and 4.3.4.

    Phi    (N, M)  design matrix      v   (d,)    the unknowns, w (M,) for one
    a      (N,)    a = Phi w          g   (d,)    gradient there
    alpha  (M,)    prior precisions   H   (d, d)  Hessian there
    m0     (M,)    prior mean         B   (d, d)  approximate inverse of H

A problem is called as E, g, H = problem(v, order), without H where order is
1. It has Phi; sample(n), itself on about n rows; predictor(v), all a_n. What
has many unknowns has curvature(v) -> product, guess, where product is u -> H u
and guess r -> B r; and floor: below it E has no minimum.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.linalg import LinAlgError, cholesky

from prml4.numerics import validate
from prml4.numerics.newton import (
    MOVES,
    ROUNDING,
    Minimum,
    farthest_move,
    forward,
    newton_step,
    newtons_method,
    search,
    smallest_share,
)

BLOCK = 2**22  # bytes of Phi worked on at once, so that they stay in cache
CHEAP = 6 * 10**5  # N d^2 up to which Hessians of all rows cost next to nothing
FEW = 20  # rows per unknown from which on a part of them stands for all
SMALL = 300  # rows per unknown below which a 20th of them is a poor start
ROUGH = 100  # rows per unknown below which B is better guessed from all rows
FULL = 200  # d up to which Newton's method forms Hessians of all rows
DENSE = 2000  # d up to which there is one of a sample
DEPENDENT = 1e-10  # share of a column's curvature that the others leave to it


def row_pass(Phi, w, pointwise, *, weights=None, order=2):
    """E = sum_n E_n, g = Phi^T e', H = Phi^T diag(e'') Phi in one pass.

    `pointwise(a, rows, order)` returns E_n, dE_n/da, d2E_n/da2 of those rows.
    Block by block, so that Phi comes from memory once; order=1 omits H.
    """
    N, M = Phi.shape
    E, g, H = 0.0, np.zeros(M), np.zeros((M, M)) if order == 2 else None
    size = min(max(BLOCK // (8 * M) // order**3, 1), 2**14)
    for start in range(0, N, size):
        rows = slice(start, min(start + size, N))
        block = Phi[rows]
        terms = pointwise(block @ w, rows, order)
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
    pointwise: Callable  # (a, rows, order) -> E_n and its derivatives
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
            pointwise=lambda a, at, order: self.pointwise(a, rows[at], order),
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


@np.errstate(over="ignore", invalid="ignore")  # a step too far is not taken
def descend(problem, v0, *, method=None, tol=ROUNDING, max_iter=100):
    """v <- argmin E by the method asked for, or by the cheapest.

    That is BFGS after a head start where rows are many, conjugate gradients
    where unknowns are, and Newton's method otherwise.
    """
    N, d = len(problem.Phi), len(v0)
    if method is None and N * d**2 > CHEAP and FEW * d <= N and d <= DENSE:
        try:
            most = min(max_iter, 40)  # then H is worth its price
            v, B = head_start(problem, v0)
            best = quasi_newton(problem, v, B, tol=tol, max_iter=most)
            if best.converged or len(best.trace) > max_iter:
                return best
            max_iter -= len(best.trace) - 1
        except LinAlgError:  # a sample too poor to start from
            pass
    if method is None and d > FULL and hasattr(problem, "curvature"):
        method = "newton-cg"
    way = newton_cg if method == "newton-cg" else newtons_method
    best = way(problem, v0, tol=tol, max_iter=max_iter)
    if best.converged or len(best.trace) > max_iter or not v0.any():
        return best
    again = way(problem, nearer(problem), tol=tol, max_iter=max_iter)
    lower = best.error < again.error - 1e-9 * (1 + abs(again.error))
    return best if lower else again


def nearer(problem):
    """argmin E(w) by BFGS from 0, where Newton's method found no way.

    Far from 0 no row may have any curvature left. At 0 all have it, and BFGS,
    which begins with it, needs none on the way.
    """
    zero = np.zeros_like(problem.m0)
    try:
        B = inverse(problem(zero)[2])
    except LinAlgError:  # dependent columns
        return zero
    return quasi_newton(problem, zero, B, max_iter=200).w


def head_start(problem, v0):
    """v and B = (n / N) H^{-1} of a sample of n rows; LinAlgError if it fails.

    A sample too small to be worth fitting tells only whether the columns are
    correlated beyond chance.  If so we take the H of all rows, if not twice
    the inverse diagonal: H is at its largest at the start.  For many unknowns
    and not so many rows the guess of conjugate gradients, from all rows.
    """
    N, d = len(problem.Phi), len(v0)
    way = "newton-cg" if hasattr(problem, "curvature") else None
    small = N < SMALL * d and way is None
    sample = problem.sample(4 * d if small else max(N // 20, 5 * d))
    n, v = len(sample.Phi), v0
    if not small:
        v = descend(sample, v0, method=way, tol=1e-3).w
    _, g, H = sample(v)
    if smallest_share(H) < DEPENDENT:
        raise LinAlgError("dependent columns")
    if not small and farthest_move(sample, newton_step(g, H)[0]) > MOVES:
        raise LinAlgError("a separable sample")
    if way and N < ROUGH * d:
        _, guess = problem.curvature(v)
        return v, np.stack([guess(e) for e in np.eye(d)])
    size = np.sqrt(np.diag(H))
    C = H / np.outer(size, size)
    if way is None and np.sum(C**2) - d <= 1.5 * d**2 / n:  # d^2 / n by chance
        return v, np.diag((1 + small) * n / N / size**2)
    if small:
        n, H = N, problem(v0)[2]
    return v, inverse(H) * (n / N)


def quasi_newton(problem, v0, B, *, tol=ROUNDING, max_iter=40):
    """v <- v - eta B g, B = approximate H^{-1} that BFGS corrects on the way.

    Only gradients are formed.  Converged means that the next step promises no
    more and moves no a_n; where it ends otherwise, Newton's method takes over.
    """
    v, slope = v0, partial(problem, order=1)
    E, g, _ = slope(v)
    trace, converged = [E], False
    while len(trace) <= max_iter:
        step = B @ g
        decrement = np.sqrt(g @ step)
        if decrement <= tol * np.sqrt(1 + abs(E)):
            converged = farthest_move(problem, step) < MOVES
        moved = None if converged else search(slope, v, E, step, decrement)
        if moved is None:
            break
        s, y = moved[0] - v, moved[2] - g
        if s @ y > 0:
            B = bfgs(B * (s @ y / (y @ B @ y)) if len(trace) == 1 else B, s, y)
        elif E - moved[1] <= 1e-9 * (1 + abs(E)):  # rounding: no way on
            break
        else:  # E bends down: farther next time
            B = 4 * B
        v, E, g, _ = moved
        trace.append(E)
    return Minimum(v, None, E, g, converged, tuple(trace), "quasi-newton")


def bfgs(B, s, y):
    """(I - s y^T / s^T y) B (I - y s^T / s^T y) + s s^T / s^T y.

    The closest symmetric matrix to B that turns the change y of the gradient
    into the step s that caused it.
    """
    By, sy = B @ y, s @ y
    u = (0.5 * (1 + y @ By / sy) * s - By) / sy
    return B + np.column_stack([s, u]) @ np.vstack([u, s])


def newton_cg(problem, v, *, tol=ROUNDING, max_iter=100):
    """v <- v - eta s, H s = g solved by conjugate gradients as far as it pays.

    Nocedal and Wright (2006), algorithm 7.1; stops like `quasi_newton`.
    """
    slope = partial(problem, order=1)
    E, g, _ = slope(v)
    trace, converged = [E], False
    while not converged and len(trace) <= max_iter and E >= problem.floor:
        try:
            product, guess = problem.curvature(v)
        except LinAlgError:  # dependent columns, or a class without curvature
            break
        scale = np.sqrt(1 + abs(E))
        far = np.sqrt(max(g @ guess(g), 0.0)) / scale
        share = min(0.1, max(far, 0.3 * tol / max(far, tol)))
        if far <= ROUNDING:  # by a poor guess it may be: ask finely
            share = 1e-3
        step = conjugate_gradients(product, guess, g, share)
        decrement = np.sqrt(max(g @ step, 0.0))  # rounding may win
        moved = search(slope, v, E, step, decrement)
        if moved is None:
            break
        converged = decrement <= tol * scale
        converged &= farthest_move(problem, step) < MOVES
        v, E, g, _ = moved
        trace.append(E)
    converged = bool(converged)
    return Minimum(v, None, E, g, converged, tuple(trace), "newton-cg")


def conjugate_gradients(product, guess, g, share, max_iter=1000):
    """s with H s = g, until sqrt(r^T B r), r = g - H s, is down to its share.

    Hestenes and Stiefel (1952), preconditioned by B = `guess`.
    """
    s, r = np.zeros_like(g), g
    p = z = guess(r)
    left = r @ z
    goal = share**2 * left
    for _ in range(max_iter):
        if left <= goal:
            break
        Hp = product(p)
        if p @ Hp <= 0:  # rounding: H has no negative curvature
            break
        eta = left / (p @ Hp)
        s, r = s + eta * p, r - eta * Hp
        z = guess(r)
        left, before = r @ z, left
        p = z + (left / before) * p
    return s


def inverse(S):
    """S^{-1} = L^{-T} L^{-1}; LinAlgError unless S is positive definite."""
    if smallest_share(S) < DEPENDENT:
        raise LinAlgError("singular, or nearly so")
    root = forward(cholesky(S))
    return root.T @ root


def variance_root(H):
    """L^{-1} with L L^T = H, so that its squares are variances; or a ValueError
    where nearly dependent columns leave H no digits for them."""
    share = smallest_share(H)
    if not share >= DEPENDENT:
        raise ValueError(
            "fit must have a minimum whose curvature leaves each weight a "
            f"share of its own, as variances need; got {share:.0e}: columns "
            "are nearly dependent, or far from 0; subtract their means, or "
            "leave one out"
        )
    return forward(cholesky(H))


def gradient_descent(gradient, w0, *, rate, steps):
    """w <- w - rate grad E(w), PRML (3.22) with all rows; (steps + 1, M)."""
    rate = validate.positive("rate", rate)
    path = np.empty((validate.whole("steps", steps, 0) + 1, len(w0)))
    path[0] = w0
    for k in range(steps):
        path[k + 1] = path[k] - rate * gradient(path[k])
    return path
