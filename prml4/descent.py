"""Ways down for problems with many weights, PRML 4.3.4 for one.

A problem is called as E, g, H = problem(v, order); it has Phi, d, sample(n) and
predictor(v) as in `newton`; curvature(v) -> product, guess; and floor: below it
E has no minimum.

v        (d,)  where we are
g        (d,)  gradient there
product        u -> H u, H the Hessian there, positive semi-definite
guess          r -> B r, B positive definite and near the inverse of H
"""

from functools import partial

import numpy as np
from numpy.linalg import LinAlgError, cholesky, inv

from prml4 import newton

FULL = 200  # d up to which Newton's method forms Hessians of all rows
DENSE = 2000  # d up to which there is one of a sample


def descend(problem, method, tol):
    """v <- argmin E, and by which method: the one asked for or the cheapest."""
    N, d = len(problem.Phi), problem.d
    if method not in (None, "newton", "newton-cg"):
        raise ValueError(
            f'method must be None, "newton" or "newton-cg"; got {method!r}'
        )
    large = N * d**2 > newton.CHEAP and N >= newton.FEW * d and d <= DENSE
    if method is None and large:
        try:
            best = newton.refine(problem, *head_start(problem), tol=tol)
            if best.converged:
                return best, "quasi-newton"
        except LinAlgError:  # a sample too poor to start from
            pass
    method = method or ("newton" if d <= FULL else "newton-cg")
    if method == "newton":
        return newton.iterate(problem, np.zeros(d), tol=tol), method
    return newton_cg(problem, np.zeros(d), tol=tol), method


def head_start(problem):
    """v and B = (n / N) H^{-1} of a sample of n rows; LinAlgError if it fails.

    It does where columns of the sample depend on others, or where the sample
    is separable.
    """
    N = len(problem.Phi)
    sample = problem.sample(max(N // 20, 5 * problem.d))
    v = newton_cg(sample, np.zeros(problem.d), tol=1e-3).w
    _, g, H = sample(v)
    B = inverse(H)
    if newton.farthest_move(sample, B @ g) > newton.MOVES:
        raise LinAlgError("a separable sample")
    return v, B * (len(sample.Phi) / N)


def newton_cg(problem, v, *, tol=newton.ROUNDING, max_iter=50):
    """v <- v - eta s, H s = g solved by conjugate gradients as far as it pays.

    Nocedal and Wright (2006), algorithm 7.1; stops like `newton.refine`.
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
        step = conjugate_gradients(product, guess, g, share)
        decrement = np.sqrt(max(g @ step, 0.0))  # rounding may win
        moved = newton.search(slope, v, E, step, decrement)
        if moved is None:
            break
        converged = decrement <= tol * scale
        converged &= newton.farthest_move(problem, step) < newton.MOVES
        v, E, g, _ = moved
        trace.append(E)
    return newton.Minimum(v, None, E, g, bool(converged), tuple(trace))


def conjugate_gradients(product, guess, g, share, max_iter=500):
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
    if newton.smallest_share(S) < newton.DEPENDENT:
        raise LinAlgError("singular, or nearly so")
    root = inv(cholesky(S))
    return root.T @ root
