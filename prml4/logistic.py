"""Two-class logistic regression, PRML 4.3.2.

Phi      (N, M)  design matrix, one row phi(x_n)^T per observation
t        (N,)    targets in {0, 1}
w        (M,)    weights of the log odds a = Phi w
weights  (N,)    how often each observation counts, None for once
alpha    (M,)    prior precisions (one number serves all; 0 = no prior)
m0       (M,)    prior mean, None for zero
"""

import warnings
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from prml4 import newton, validate


class SeparableDataWarning(UserWarning):
    """A hyperplane separates the classes: no maximum likelihood estimate."""


def log_odds(Phi, w):
    """a = Phi w, the logarithm of p(C1|phi) / p(C2|phi), PRML (4.87)."""
    return np.asarray(Phi) @ w


def predict_proba(Phi, w):
    """p(C1|phi_n) = sigma(w^T phi_n), PRML (4.87)."""
    return expit(log_odds(Phi, w))


def error(w, Phi, t, weights=None):
    """E(w) = -sum_n {t_n ln y_n + (1 - t_n) ln(1 - y_n)}, PRML (4.90)."""
    return newton.row_pass(Phi, w, cross_entropy(t), weights=weights, order=1)[
        0
    ]


def gradient(w, Phi, t, weights=None):
    """grad E(w) = sum_n (y_n - t_n) phi_n = Phi^T (y - t), PRML (4.91)."""
    return newton.row_pass(Phi, w, cross_entropy(t), weights=weights, order=1)[
        1
    ]


def hessian(w, Phi, weights=None):
    """H = sum_n y_n (1 - y_n) phi_n phi_n^T = Phi^T R Phi, PRML (4.97)."""
    t = np.zeros(len(Phi))
    return newton.row_pass(Phi, w, cross_entropy(t), weights=weights)[2]


def map_error(w, Phi, t, alpha, m0=None, weights=None):
    """E(w) + 1/2 (w - m0)^T A (w - m0), A = diag(alpha)."""
    d = w if m0 is None else w - m0
    return error(w, Phi, t, weights) + 0.5 * np.sum(alpha * d * d)


def map_gradient(w, Phi, t, alpha, m0=None, weights=None):
    """grad E(w) + A (w - m0)."""
    d = w if m0 is None else w - m0
    return gradient(w, Phi, t, weights) + alpha * d


def map_hessian(w, Phi, alpha, weights=None):
    """H(w) + A."""
    return hessian(w, Phi, weights) + alpha * np.eye(len(w))


def cross_entropy(t):
    """Per row, with s = 2t - 1 and m = s a: ln(1 + e^{-m}) and derivatives.

    e^{-|m|} never overflows, and both tails of sigma stay exact.
    """
    s = 2.0 * t - 1.0

    def pointwise(a, rows):
        m = s[rows] * a
        z = np.exp(-np.abs(m))
        wrong = np.where(m > 0, z, 1.0) / (1 + z)  # sigma(-m) = |y - t|
        E = np.log1p(z) - np.minimum(m, 0)
        return E, -s[rows] * wrong, wrong * (1 - wrong)

    return pointwise


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """The minimiser of the error, and whether to trust it."""

    w: np.ndarray  # (M,) weights
    error: float  # E(w), with the prior's term if there is a prior
    gradient: np.ndarray  # (M,) its gradient at w
    converged: bool
    trace: tuple[float, ...]  # E at every accepted iterate
    separated: str  # "none", "quasi-complete", "complete" or "not tested"
    _hessian: object  # () -> (M, M)

    @cached_property
    def H(self):
        """(M, M) Hessian of the error at w, computed when first asked for."""
        return self._hessian()


def fit(Phi, t, *, alpha=0.0, m0=None, weights=None, tol=1e-8, max_iter=100):
    """w = argmin E(w) + 1/2 (w - m0)^T A (w - m0), PRML (4.90), (4.92)."""
    Phi = validate.design(Phi)
    N, M = Phi.shape
    t = validate.binary_targets(t, N)
    weights = validate.observation_weights(weights, N)
    alpha = validate.precisions(alpha, M)
    m0 = np.zeros(M) if m0 is None else validate.vector("m0", m0, M, "column")
    pointwise = cross_entropy(t)

    def objective(w):
        E, g, H = newton.row_pass(Phi, w, pointwise, weights=weights)
        d = w - m0
        return E + 0.5 * d @ (alpha * d), g + alpha * d, H + np.diag(alpha)

    best = newton.minimise(objective, m0, tol=tol, max_iter=max_iter)
    hess = partial(map_hessian, best.w, Phi, alpha, weights)
    return LogisticFit(
        best.w,
        best.error,
        best.gradient,
        best.converged,
        best.trace,
        "not tested",
        hess,
    )


def standard_errors(fit):
    """sqrt of the diagonal of H^{-1}: the curvature at w read as a variance."""
    H = fit.H
    return np.sqrt(np.diag(cho_solve(cho_factor(H), np.eye(len(H)))))


@dataclass(frozen=True, eq=False)
class SequentialFit:
    """Where a sequential run ended and the way it took."""

    w: np.ndarray  # (M,) last weights
    path: np.ndarray  # (P, M) weights, thinned, the start first, w last
    steps: np.ndarray  # (P,) number of updates made before each of `path`
    trace: tuple[float, ...]  # E at the start and after every epoch
    converged: bool  # max |grad E(w)| <= tol N at the end


def fit_sequential(
    Phi, t, *, rate, epochs, rng, w0=None, weights=None, tol=1e-4, keep=1000
):
    """w <- w - eta_k (y_n - t_n) phi_n, k = 1, 2, ..., PRML (3.22), (4.91).

    `rate(k)` is eta_k.  Each epoch visits the rows in a new random order.
    """
    Phi = validate.design(Phi)
    N, M = Phi.shape
    t = validate.binary_targets(t, N)
    weights = validate.observation_weights(weights, N)
    c = np.ones(N) if weights is None else weights
    w = np.zeros(M) if w0 is None else validate.vector("w0", w0, M, "column")
    w = w.copy()
    thin = max(1, -(-epochs * N // keep))
    path, steps, trace, k = [w.copy()], [0], [error(w, Phi, t, weights)], 0
    for _ in range(epochs):
        for n in rng.permutation(N):
            k += 1
            w -= rate(k) * c[n] * (expit(Phi[n] @ w) - t[n]) * Phi[n]
            if k % thin == 0 or k == epochs * N:
                path.append(w.copy())
                steps.append(k)
        trace.append(error(w, Phi, t, weights))
    g = gradient(w, Phi, t, weights)
    converged = bool(np.abs(g).max() <= tol * c.sum())
    if not converged:
        warnings.warn(
            f"sequential learning stopped after {k} updates; largest gradient "
            f"component per row {np.abs(g).max() / c.sum():.1e} > {tol:.0e}",
            newton.NotConverged,
            stacklevel=2,
        )
    return SequentialFit(
        w, np.array(path), np.array(steps), tuple(trace), converged
    )


@dataclass(frozen=True, eq=False)
class Separation:
    """Whether some hyperplane through the origin separates the classes."""

    kind: str  # "none", "quasi-complete" or "complete"
    direction: np.ndarray | None  # (M,) d with s_n phi_n^T d >= 0, s = 2t - 1
    margin: float  # largest min_n s_n phi_n^T d over |d_j| scale_j <= 1


def separation(Phi, t):
    """Is there a d with s_n phi_n^T d >= 0 for all n?  By linear programme."""
    from scipy.optimize import linprog

    Phi = validate.design(Phi)
    N, M = Phi.shape
    t = validate.binary_targets(t, N)
    scale = np.abs(Phi).max(axis=0)
    scale[scale == 0] = 1
    Z = (2 * t - 1)[:, None] * (Phi / scale)
    wide = linprog(
        np.r_[np.zeros(M), -1],
        A_ub=np.c_[-Z, np.ones(N)],
        b_ub=np.zeros(N),
        bounds=[(-1, 1)] * M + [(0, None)],
        method="highs",
    )
    if wide.x[-1] > 1e-9:
        return Separation("complete", wide.x[:M] / scale, float(wide.x[-1]))
    some = linprog(
        -Z.sum(axis=0),
        A_ub=-Z,
        b_ub=np.zeros(N),
        bounds=[(-1, 1)] * M,
        method="highs",
    )
    if (Z @ some.x).max() > 1e-6:
        return Separation("quasi-complete", some.x / scale, 0.0)
    return Separation("none", None, 0.0)
