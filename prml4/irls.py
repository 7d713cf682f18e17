"""Iterative reweighted least squares for logistic regression, PRML 4.3.3.

Phi      (N, M)  design matrix      z  (N,)  working response
t        (N,)    targets in {0, 1}  r  (N,)  diagonal of R, y_n (1 - y_n)
w        (M,)    weights of the log odds a = Phi w
weights  (N,)    how often each observation counts, None for once
alpha    (M,)    prior precisions (one number serves all; 0 = no prior)
m0       (M,)    prior mean, None for zero
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import (
    LinAlgError,
    cho_factor,
    cho_solve,
    qr,
    solve_triangular,
)

from prml4 import logistic, validate
from prml4.newton import ROUNDING, NotConverged
from prml4.special import sigmoid, sigmoid_prime


@dataclass(frozen=True, eq=False)
class IRLSFit:
    """Where IRLS stopped, and every iterate on the way."""

    w: np.ndarray  # (M,) last iterate
    error: float  # E(w), with the prior's term if there is a prior
    converged: bool
    trace: tuple[float, ...]  # E at every iterate, the start first
    path: np.ndarray  # (K + 1, M) every iterate, the start first
    steps: tuple[float, ...]  # (K,) step lengths eta, 1 for a full step


def working_response(w, Phi, t):
    """z = Phi w - R^{-1} (y - t) and the diagonal r of R, PRML (4.98), (4.100).

    Written with s = 2t - 1 as z_n = a_n + s_n / sigma(s_n a_n), because
    (y_n - t_n) / (y_n (1 - y_n)) is 0/0 in the tails.
    """
    a = np.asarray(Phi) @ w
    s = 2.0 * np.asarray(t) - 1.0
    with np.errstate(over="ignore", divide="ignore"):
        return a + s / sigmoid(s * a), sigmoid_prime(a)


def weighted_least_squares(Phi, r, z, method="qr"):
    """argmin_w sum_n r_n (z_n - w^T phi_n)^2, PRML (4.99).

    "normal" solves Phi^T R Phi w = Phi^T R z, whose condition number is the
    square of that of R^{1/2} Phi; "qr" factorises R^{1/2} Phi itself.
    """
    if method not in ("qr", "normal"):
        raise ValueError(f'method must be "qr" or "normal"; got {method!r}')
    root = np.sqrt(r)
    with np.errstate(invalid="ignore"):
        A, b = root[:, None] * Phi, root * z
    if not np.isfinite(b).all():
        raise LinAlgError("some r_n have underflowed to 0")
    if method == "normal":
        return cho_solve(cho_factor(A.T @ A), A.T @ b)
    Q, R = qr(A, mode="economic")
    return solve_triangular(R, Q.T @ b)


def irls_step(w, Phi, t, *, method="qr", alpha=0.0, m0=None, weights=None):
    """(Phi^T R Phi + A)^{-1} (Phi^T R z + A m0), PRML (4.99) with a prior.

    The prior enters as one more row per weight that has one: sqrt(alpha_j) w_j
    should be sqrt(alpha_j) m0_j.
    """
    z, r = working_response(w, Phi, t)
    M = len(w)
    alpha = np.broadcast_to(alpha, (M,))
    held = alpha > 0
    r = r if weights is None else r * weights
    if not held.any():
        return weighted_least_squares(Phi, r, z, method)
    m0 = np.zeros(M) if m0 is None else np.asarray(m0)
    Phi = np.vstack([Phi, np.eye(M)[held]])
    r, z = np.r_[r, alpha[held]], np.r_[z, m0[held]]
    return weighted_least_squares(Phi, r, z, method)


def fit_irls(
    Phi,
    t,
    *,
    damped=True,
    method="qr",
    w0=None,
    alpha=0.0,
    m0=None,
    weights=None,
    tol=ROUNDING,
    max_iter=50,
):
    """w <- w + eta (irls_step(w) - w) until it stands still, PRML (4.99).

    Stops like `newton.minimise`: the decrement is at most tol sqrt(1 + |E|).
    """
    Phi, t, weights = validate.two_classes(Phi, t, weights)
    M = Phi.shape[1]
    w = validate.vector_or_zeros("w0", w0, M, "column")
    given = {
        "alpha": validate.precisions(alpha, M),
        "m0": validate.vector_or_zeros("m0", m0, M, "column"),
        "weights": weights,
    }
    if not given["alpha"].all():
        validate.independent_columns(Phi[:, given["alpha"] == 0])
    fit = _iterate(w, Phi, t, given, method, damped, tol, max_iter)
    if not fit.converged:
        warnings.warn(
            f"IRLS stopped after {len(fit.steps)} steps without converging; "
            f"the error went from {fit.trace[0]:.3g} to {fit.error:.3g}",
            NotConverged,
            stacklevel=2,
        )
    return fit


def _iterate(w, Phi, t, given, method, damped, tol, max_iter):
    """The loop of `fit_irls`, PRML (4.99)."""
    E = logistic.map_error(w, Phi, t, **given)
    path, trace, steps, converged = [w], [E], [], False
    while not converged and len(steps) < max_iter:
        try:
            step = irls_step(w, Phi, t, method=method, **given) - w
        except LinAlgError:  # R has underflowed to singular
            break
        slope = logistic.map_gradient(w, Phi, t, **given) @ step
        eta = 1.0
        while damped and eta > 1e-18:
            trial = logistic.map_error(w + eta * step, Phi, t, **given)
            if trial <= E + 1e-4 * eta * slope + 1e-13 * (1 + E):
                break
            eta /= 2
        converged = bool(abs(slope) <= tol**2 * (1 + E))
        w = w + eta * step
        E = logistic.map_error(w, Phi, t, **given)
        path.append(w)
        trace.append(E)
        steps.append(eta)
    return IRLSFit(w, E, converged, tuple(trace), np.array(path), tuple(steps))
