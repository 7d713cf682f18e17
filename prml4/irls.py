"""Iterative reweighted least squares for logistic regression, PRML 4.3.3.

Phi      (N, M)  design matrix      z  (N,)  working response
t        (N,)    targets in {0, 1}  r  (N,)  diagonal of R, y_n (1 - y_n)
w        (M,)    weights of the log odds a = Phi w
weights  (N,)    how often each observation counts, None for once
alpha    (M,)    prior precisions (one number serves all; 0 = no prior)
m0       (M,)    prior mean, None for zero
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import (
    LinAlgError,
    cho_factor,
    cho_solve,
    qr,
    solve_triangular,
)

from prml4 import logistic
from prml4.numerics import validate
from prml4.numerics.newton import ROUNDING, Minimum, arrived, newton_step
from prml4.numerics.separation import between, complain, separated, settled
from prml4.numerics.special import sigmoid, sigmoid_prime

WIDE = 1e-6  # of the largest root of an r_n
LOST = 1e-6  # a Newton decrement where steps have ended, with one of ROUNDING


@dataclass(frozen=True, eq=False)
class IRLSFit(logistic.Fit):
    """Where IRLS stopped, and every iterate on the way: a `logistic.Fit` with

    path       (K + 1, M)  every iterate, the start first
    steps      (K,)        step lengths eta, 1 for a full step
    """

    path: np.ndarray
    steps: tuple[float, ...]


def working_response(w, Phi, t):
    """z = Phi w - R^{-1} (y - t) and the diagonal r of R, PRML (4.98), (4.100).

    Written with s = 2t - 1 as z_n = a_n + s_n / sigma(s_n a_n), because
    (y_n - t_n) / (y_n (1 - y_n)) is 0/0 in the tails.
    """
    s = 2 * validate.binary_targets(t, len(Phi)) - 1
    a = validate.activations(w, Phi)
    with np.errstate(over="ignore", divide="ignore"):
        return a + s / sigmoid(s * a), sigmoid_prime(a)


def weighted_least_squares(Phi, r, z, method="qr"):
    """argmin_w sum_n r_n (z_n - w^T phi_n)^2, PRML (4.99).

    "normal" solves Phi^T R Phi w = Phi^T R z, whose condition number is the
    square of that of R^{1/2} Phi; "qr" factorises R^{1/2} Phi itself. If some
    r_n are far below others the largest go first, or small ones are lost in
    their rounding; Cox and Higham (1998).
    """
    if method not in ("qr", "normal"):
        raise ValueError(f'method must be "qr" or "normal"; got {method!r}')
    each = ("Phi", Phi), ("r", r), ("z", z)
    Phi, r, z = (validate.real(*v) for v in each)
    root = np.sqrt(r)
    with np.errstate(invalid="ignore"):
        A, b = root[:, None] * Phi, root * z
    if not np.isfinite(b).all() or len(A) < A.shape[1]:
        raise LinAlgError("some r_n have underflowed to 0, or rows are few")
    if method == "normal":
        return cho_solve(cho_factor(A.T @ A), A.T @ b)
    if root.min() < WIDE * root.max():
        order = np.argsort(-r, kind="stable")
        A, b = A[order], b[order]
    Q, R = qr(A, mode="economic")
    return solve_triangular(R, Q.T @ b)


def irls_step(w, Phi, t, *, method="qr", alpha=0.0, m0=None, weights=None):
    """(Phi^T R Phi + A)^{-1} (Phi^T R z + A m0), PRML (4.99) with a prior.

    The prior enters as one more row per weight that has one: sqrt(alpha_j) w_j
    should be sqrt(alpha_j) m0_j. By w - m0, so that a long m0_j, in a column
    of small numbers, leaves no rounding in the other rows.
    """
    z, r = working_response(w, Phi, t)
    M = len(w)
    alpha = validate.precisions(alpha, M)
    m0 = validate.vector_or_zeros("m0", m0, M, "column")
    weights = validate.observation_weights(weights, len(r))
    held = alpha > 0
    r = r if weights is None else r * weights
    if not held.any():
        return weighted_least_squares(Phi, r, z, method)
    m0 = np.where(held, m0, 0.0)
    r, z = np.r_[r, alpha[held]], np.r_[z - Phi @ m0, 0 * m0[held]]
    Phi = np.vstack([Phi, np.eye(M)[held]])
    return m0 + weighted_least_squares(Phi, r, z, method)


def fit_irls(
    Phi, t, *, alpha=0.0, m0=None, weights=None, w0=None, damped=True,
    method="qr", tol=ROUNDING, max_iter=100,
):  # fmt: skip
    """w <- w + eta (irls_step(w) - w) until it stands still, PRML (4.99).

    Stops like `newton.newtons_method`, and looks then at what it found.
    """
    objective, t = logistic.problem(Phi, t, alpha, m0, weights)
    given = partial(
        irls_step, Phi=objective.Phi, t=t, method=method,
        alpha=objective.alpha, m0=objective.m0, weights=objective.weights,
    )  # fmt: skip
    w = validate.vector_or_zeros("w0", w0, len(objective.m0), "column")
    stop = validate.stopping(tol, max_iter)
    best, path, steps = _iterate(objective, given, w, damped, **stop)
    kind = None
    if not settled(best, objective):
        kind = separated(objective, between(objective, t))
        best = replace(best, converged=best.converged and not kind)
    complain(best, kind)
    more = {"path": path, "steps": steps}
    return IRLSFit.of(best, kind, objective.alpha, weights, **more)


@np.errstate(over="ignore", invalid="ignore")  # a step too far is not taken
def _iterate(objective, step, w, damped, tol, max_iter):
    """The loop of `fit_irls`, PRML (4.99): Minimum, path and step lengths."""
    E, g, _ = objective(w, order=1)
    path, trace, steps, small = [w], [E], [], False
    while not small and len(steps) < max_iter:
        try:
            d = step(w) - w
        except LinAlgError:  # R has underflowed to singular
            break
        slope, eta, new = g @ d, 1.0, objective(w + d, order=1)
        while damped and eta > 1e-18:
            if new[0] <= E + 1e-4 * eta * slope + 1e-13 * (1 + E):
                break
            eta /= 2
            new = objective(w + eta * d, order=1)
        small = abs(slope) <= tol * tol * (1 + E)
        w, (E, g, _) = w + eta * d, new
        path.append(w)
        trace.append(E)
        steps.append(eta)
    H = objective(w)[2]
    converged = small and arrived(objective, w, g, H) and _level(E, g, H)
    best = Minimum(w, H, E, g, bool(converged), tuple(trace))
    return best, np.array(path), tuple(steps)


def _level(E, g, H):
    """Is g zero, too? Steps also end where least squares have lost rows."""
    return newton_step(g, H)[1] <= LOST * np.sqrt(1 + E)
