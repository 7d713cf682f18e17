"""Iterative reweighted least squares for logistic regression, PRML 4.3.3.

Phi  (N, M)  design matrix          z  (N,)  working response
t    (N,)    targets in {0, 1}      r  (N,)  diagonal of R, y_n (1 - y_n)
w    (M,)    weights
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular
from scipy.special import expit

from prml4 import logistic, validate
from prml4.newton import NotConverged


@dataclass(frozen=True, eq=False)
class IRLSFit:
    """Where IRLS stopped, and every iterate on the way."""

    w: np.ndarray  # (M,) last iterate
    error: float  # E(w)
    converged: bool
    trace: tuple[float, ...]  # E at every iterate, the start first
    path: np.ndarray  # (K + 1, M) every iterate, the start first
    steps: tuple[float, ...]  # (K,) step lengths eta, 1 for a full step


def working_response(w, Phi, t):
    """z = Phi w - R^{-1} (y - t) and the diagonal r of R, PRML (4.98), (4.100).

    Written with s = 2t - 1: z_n = a_n + s_n / sigma(s_n a_n), exact in the
    tails, where y_n - t_n and y_n (1 - y_n) cancel.
    """
    a = np.asarray(Phi) @ w
    s = 2.0 * np.asarray(t) - 1.0
    with np.errstate(over="ignore", divide="ignore"):
        z = a + s / expit(s * a)
    return z, expit(a) * expit(-a)


def weighted_least_squares(Phi, r, z, method="qr"):
    """argmin_w sum_n r_n (z_n - w^T phi_n)^2, PRML (4.99).

    "normal" solves Phi^T R Phi w = Phi^T R z, whose condition number is the
    square of that of R^{1/2} Phi; "qr" factorises R^{1/2} Phi itself.
    """
    if method not in ("qr", "normal"):
        raise ValueError(f'method must be "qr" or "normal"; got {method!r}')
    root = np.sqrt(r)
    A, b = root[:, None] * Phi, root * z
    if method == "normal":
        return cho_solve(cho_factor(A.T @ A), A.T @ b)
    Q, R = qr(A, mode="economic")
    return solve_triangular(R, Q.T @ b)


def fit_irls(
    Phi,
    t,
    *,
    damped=True,
    method="qr",
    w0=None,
    weights=None,
    tol=1e-8,
    max_iter=50,
):
    """w <- (Phi^T R Phi)^{-1} Phi^T R z until it stands still, PRML (4.99)."""
    Phi = validate.design(Phi)
    N, M = Phi.shape
    t = validate.binary_targets(t, N)
    weights = validate.observation_weights(weights, N)
    c = np.ones(N) if weights is None else weights
    w = np.zeros(M) if w0 is None else validate.vector("w0", w0, M, "column")
    E = logistic.error(w, Phi, t, weights)
    path, trace, steps, converged = [w], [E], [], False
    while not converged and len(steps) < max_iter:
        z, r = working_response(w, Phi, t)
        if not (np.isfinite(z).all() and r.any()):
            break
        try:
            step = weighted_least_squares(Phi, c * r, z, method) - w
        except np.linalg.LinAlgError:
            break
        slope = logistic.gradient(w, Phi, t, weights) @ step
        eta = 1.0
        while (
            damped
            and eta > 1e-18
            and not logistic.error(w + eta * step, Phi, t, weights)
            <= E + 1e-4 * eta * slope + 1e-13 * (1 + E)
        ):
            eta /= 2
        converged = np.sqrt(abs(slope)) <= tol * np.sqrt(1 + E)
        w = w + eta * step
        E = logistic.error(w, Phi, t, weights)
        path.append(w)
        trace.append(E)
        steps.append(eta)
    if not converged:
        warnings.warn(
            f"IRLS stopped after {len(steps)} steps without converging",
            NotConverged,
            stacklevel=2,
        )
    return IRLSFit(
        w, E, bool(converged), tuple(trace), np.array(path), tuple(steps)
    )
