"""Two-class logistic regression, PRML 4.3.2.

Phi      (N, M)  design matrix, one row phi(x_n)^T per observation
t        (N,)    targets in {0, 1}; s = 2t - 1 where -1 and 1 are handier
w        (M,)    weights of the log odds a = Phi w
weights  (N,)    how often each observation counts, None for once
alpha    (M,)    prior precisions (one number serves all; 0 = no prior)
m0       (M,)    prior mean, None for zero
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import tanh

import numpy as np
from scipy.linalg import (
    cho_factor,
    cho_solve,
    cholesky,
    qr,
    solve_triangular,
)

from prml4 import newton, validate
from prml4.separation import Separation, separation
from prml4.special import sigmoid

__all__ = ["Separation", "separation"]


class SeparableDataWarning(UserWarning):
    """A hyperplane separates the classes: no maximum likelihood estimate."""


def log_odds(Phi, w):
    """a = Phi w = ln p(C1|phi) / p(C2|phi), PRML (4.87)."""
    return np.asarray(Phi) @ w


def predict_proba(Phi, w):
    """p(C1|phi_n) = sigma(w^T phi_n), PRML (4.87)."""
    return sigmoid(log_odds(Phi, w))


def cross_entropy(t):
    """E_n = ln(1 + e^{-m}), m = s_n a_n, and its derivatives by a, PRML (4.90).

    With z = e^{-|m|} nothing overflows and neither tail cancels.
    """
    t = np.asarray(t)

    def pointwise(a, rows):
        s = 2.0 * t[rows] - 1.0
        m = s * a
        z = np.exp(-np.abs(m))
        miss = np.where(m > 0, z, 1.0) / (1.0 + z)  # sigma(-m) = |y - t|
        E = np.log1p(z) - np.minimum(m, 0.0)
        return E, -s * miss, z / (1.0 + z) ** 2

    return pointwise


def error(w, Phi, t, weights=None):
    """E(w) = -sum_n {t_n ln y_n + (1 - t_n) ln(1 - y_n)}, PRML (4.90)."""
    E, _, _ = newton.row_pass(
        np.asarray(Phi), w, cross_entropy(t), weights=weights, order=1
    )
    return E


def gradient(w, Phi, t, weights=None):
    """grad E(w) = sum_n (y_n - t_n) phi_n = Phi^T (y - t), PRML (4.91)."""
    _, g, _ = newton.row_pass(
        np.asarray(Phi), w, cross_entropy(t), weights=weights, order=1
    )
    return g


def hessian(w, Phi, weights=None):
    """H = sum_n y_n (1 - y_n) phi_n phi_n^T = Phi^T R Phi, PRML (4.97)."""
    any_t = np.zeros(len(Phi))
    _, _, H = newton.row_pass(
        np.asarray(Phi), w, cross_entropy(any_t), weights=weights
    )
    return H


def map_error(w, Phi, t, alpha, m0=None, weights=None):
    """E(w) + 1/2 (w - m0)^T A (w - m0), A = diag(alpha), PRML (4.142)."""
    d = np.asarray(w) if m0 is None else w - np.asarray(m0)
    return error(w, Phi, t, weights) + 0.5 * float(np.sum(alpha * d * d))


def map_gradient(w, Phi, t, alpha, m0=None, weights=None):
    """grad E(w) + A (w - m0), A = diag(alpha)."""
    d = np.asarray(w) if m0 is None else w - np.asarray(m0)
    return gradient(w, Phi, t, weights) + alpha * d


def map_hessian(w, Phi, alpha, weights=None):
    """H(w) + A, A = diag(alpha), PRML (4.143)."""
    return hessian(w, Phi, weights) + alpha * np.eye(len(w))


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """The minimiser of the error, and whether to trust it."""

    w: np.ndarray  # (M,) weights
    error: float  # E(w), with the prior's term if there is a prior
    gradient: np.ndarray  # (M,) its gradient at w
    converged: bool
    separated: str | None  # "complete", "quasi-complete": why there is no end
    trace: tuple[float, ...]  # E at the accepted iterates of the last stage
    hessian: Callable  # () -> (M, M), looks at Phi again

    @cached_property
    def H(self):
        """H(w) + A (M, M), computed when first asked for."""
        return self.hessian()


def fit(Phi, t, *, alpha=0.0, m0=None, weights=None, tol=newton.ROUNDING):
    """w = argmin E(w) + 1/2 (w - m0)^T A (w - m0), PRML (4.90), (4.142)."""
    Phi, t, weights = validate.two_classes(Phi, t, weights)
    M = Phi.shape[1]
    alpha = validate.precisions(alpha, M)
    m0 = validate.vector_or_zeros("m0", m0, M, "column")
    if not alpha.all():
        validate.both_classes(t, weights)
    objective = newton.Objective(Phi, cross_entropy(t), weights, alpha, m0)
    best, separated = newton.descend(objective, tol=tol), None
    if not settled(best, objective):
        best, separated = second_look(best, objective, t)
    complain(best, separated)
    return LogisticFit(
        w=best.w,
        error=best.error,
        gradient=best.gradient,
        converged=best.converged,
        separated=separated,
        trace=best.trace,
        hessian=partial(map_hessian, best.w, Phi, alpha, weights),
    )


def settled(best, objective):
    """Is it the minimum: ||grad E|| = 0 because no a_n wants to move?"""
    if best.H is None or objective.alpha.all():
        return best.converged
    if newton.smallest_share(best.H) < newton.DEPENDENT:
        return False
    step, _ = newton.newton_step(best.gradient, best.H)
    moves = newton.farthest_move(objective, step)
    return best.converged and moves < newton.MOVES


def second_look(best, objective, t):
    """Why not: dependent columns, separation, or w = S^{-1} v with Phi = Q S?

    Only columns without a prior can be to blame.
    """
    free = objective.alpha == 0
    if not free.any():
        return best, None
    Phi = objective.Phi[:, free]
    validate.independent_columns(Phi, np.flatnonzero(free))
    kind = separation(Phi, t).kind
    if kind != "none":
        return replace(best, converged=False), kind
    return orthonormal(objective, objective.m0) if free.all() else best, None


def orthonormal(objective, w0):
    """w = S^{-1} v, Phi = Q S: nearly dependent columns make way for Q's."""
    Q, S = qr(objective.Phi, mode="economic")
    v = newton.iterate(replace(objective, Phi=Q), S @ w0)
    w = solve_triangular(S, v.w)
    return replace(v, w=w, H=None, gradient=objective(w, order=1)[1])


def complain(
    best,
    separated,
    *,
    what="classes",
    along="separation(Phi, t).direction",
    stuck="",
):
    """No minimum, or none found -> a warning that says so by name."""
    if separated:
        warnings.warn(
            f"the {what} are separable ({separated}): E falls for ever along "
            f"{along} and no maximum likelihood estimate exists; a prior "
            "(alpha > 0) gives one",
            SeparableDataWarning,
            stacklevel=3,
        )
    elif not best.converged:
        warnings.warn(
            f"stopped after {len(best.trace) - 1} steps with a gradient "
            f"component of {np.abs(best.gradient).max():.1e}{stuck}",
            newton.NotConverged,
            stacklevel=3,
        )


def standard_errors(fit):
    """Square roots of the diagonal of H^{-1}, the curvature as a variance."""
    H_inverse = cho_solve(cho_factor(fit.H), np.eye(len(fit.w)))
    return np.sqrt(np.diag(H_inverse))


def log_odds_variance(fit, Phi):
    """phi_n^T H^{-1} phi_n, the variance of the fitted a_n, PRML (4.150)."""
    L = cholesky(fit.H, lower=True)
    return np.sum(solve_triangular(L, np.asarray(Phi).T, lower=True) ** 2, 0)


def perceptron_error(w, Phi, t):
    """sum_n max(0, -s_n w^T phi_n), PRML (4.54): the slope of E at infinity."""
    return np.maximum(0, (1 - 2.0 * np.asarray(t)) * log_odds(Phi, w)).sum()


# Learning from one observation at a time.


@dataclass(frozen=True, eq=False)
class SequentialFit:
    """Where a sequential run ended, and the way it took."""

    w: np.ndarray  # (M,) last weights
    average: np.ndarray  # (M,) mean over the second half of the path
    path: np.ndarray  # (P + 1, M) every thin-th iterate, the start first
    trace: tuple[float, ...]  # E(w) at the start and after every N updates
    converged: bool  # max |grad E(w)| <= tol sum of weights, at the end


def constant_rate(eta):
    """eta_k = eta."""
    return lambda k: eta


def power_rate(c, k0=0.0, power=1.0):
    """eta_k = c / (k0 + k)^power: sum = inf, sum of squares < inf if
    1/2 < power <= 1, Robbins and Monro (1951)."""
    return lambda k: c / (k0 + k) ** power


def fit_sequential(
    Phi, t, *, rate, epochs, rng, w0=None, weights=None, thin=1, tol=1e-3
):
    """w <- w - eta_k (y_n - t_n) phi_n, PRML (3.22), (4.91), n at random.

    `rate(k)` is eta_k for k = 1, 2, ..., epochs N; rows are drawn with
    replacement, so that every step is unbiased for grad E / N.
    """
    Phi, t, weights = validate.two_classes(Phi, t, weights)
    N, M = Phi.shape
    c = np.ones(N) if weights is None else weights
    w = validate.vector_or_zeros("w0", w0, M, "column")
    path, trace = [w], [error(w, Phi, t, weights)]
    for k, n in enumerate(rng.integers(N, size=epochs * N), start=1):
        phi = Phi[n]
        y = 0.5 + 0.5 * tanh(0.5 * (phi @ w))  # sigma, quick for one number
        w = w - rate(k) * c[n] * (y - t[n]) * phi
        if k % thin == 0:
            path.append(w)
        if k % N == 0:
            trace.append(error(w, Phi, t, weights))
    path = np.array(path)
    average = path[len(path) // 2 :].mean(axis=0)
    slope = np.abs(gradient(w, Phi, t, weights)).max() / c.sum()
    if slope > tol:
        said = f"after {epochs * N} updates max |grad E| / N is {slope:.1e}"
        warnings.warn(said, newton.NotConverged, stacklevel=2)
    return SequentialFit(w, average, path, tuple(trace), bool(slope <= tol))


def sequential_runs(Phi, t, *, rate, steps, runs, rng, w0=None):
    """w <- w - eta_k (y_n - t_n) phi_n for many walkers at once; (runs, M)."""
    Phi, t = np.asarray(Phi), np.asarray(t)
    w = np.zeros((runs, Phi.shape[1]))
    w += 0 if w0 is None else w0
    for k in range(1, steps + 1):
        n = rng.integers(len(Phi), size=runs)
        phi = Phi[n]
        a = np.einsum("rm,rm->r", phi, w)
        w -= (rate(k) * (sigmoid(a) - t[n]))[:, None] * phi
    return w


def gradient_noise(w, Phi, t):
    """V = mean of g_n g_n^T - g g^T, g_n = (y_n - t_n) phi_n, g their mean."""
    g = (predict_proba(Phi, w) - t)[:, None] * Phi
    return g.T @ g / len(g) - np.outer(g.mean(axis=0), g.mean(axis=0))


def noise_floor(H, V, rate):
    """C = (I - eta H) C (I - eta H) + eta^2 V: the spread of w that stays.

    In the eigenvectors of H: C_ij = eta V_ij / (h_i + h_j - eta h_i h_j).
    """
    h, U = np.linalg.eigh(H)
    if rate * h[-1] >= 2:
        raise ValueError(
            f"rate must be below 2 / {h[-1]:.3g}, or w diverges; got {rate}"
        )
    C = rate * (U.T @ V @ U) / (h + h[:, None] - rate * np.outer(h, h))
    return U @ C @ U.T
