"""Gaussian process classification by Laplace's method, PRML 6.4.6.

    C      (N, N)  kernel matrix of the inputs; it is never inverted
    t      (N,)    targets in {0, 1}
    f      (N,)    latent values, PRML's a_N; after a fit their mode
    a      (N,)    C^{-1} f; at the mode the gradient g of ln p(t | f)
    g, W   (N,)    g_n = d ln p(t_n | f_n) / df_n, W_n = -dg_n / df_n >= 0
    B      (N, N)  I + W^{1/2} C W^{1/2} = L L^T, eigenvalues >= 1
    R      (N, N)  W^{1/2} B^{-1} W^{1/2} = (C + W^{-1})^{-1}
    psi            ln p(t | f) - 1/2 f^T C^{-1} f, to be maximised

Kernels stay outside: a fit sees C, a prediction its new columns c_star (N, M)
and prior variances c_ss (M,). All linear algebra here is SciPy's LAPACK,
which has triangular solves, and factors in single precision where these do.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from prml4 import newton, validate
from prml4.likelihoods import LOGISTIC, Likelihood

STEPS = 200  # of Newton's method, at most
POLISH = 1e-2  # of the decrement that counts as none: where to stop, if we may
EXACT = 1e-4  # what a solve may leave over without being repeated
STALE = 0.1  # a factor serves until a step has moved some f_n by more
SINGLE_RANGE = 1e30  # entries that single precision can square and sum
FOREIGN = 1e-7  # what C a may miss f by, relative to its terms
NEGATIVE = 1e-8  # share of the prior variance below zero that is rounding


@dataclass(frozen=True, eq=False)
class GPLaplace:
    """The Gaussian N(f | mode, (C^{-1} + W)^{-1}), and whether to trust it."""

    f: np.ndarray  # (N,) mode of p(f | t)
    a: np.ndarray  # (N,) C^{-1} f, at the mode the gradient of ln p(t | f)
    W: np.ndarray  # (N,) curvature of -ln p(t | f) at f
    L: np.ndarray  # (N, N) Cholesky factor of B at f, lower
    t: np.ndarray  # (N,) targets
    likelihood: Likelihood
    log_evidence: float  # ln q(t)
    residual: float  # max |f - C g|, zero at the mode
    converged: bool
    trace: tuple[float, ...]  # psi at every accepted iterate
    factors: int  # Cholesky factorisations, the last one included


# The mode.


def fit(C, t, likelihood=LOGISTIC):
    """f = argmax ln p(t | f) - 1/2 f^T C^{-1} f, PRML (6.80) and (6.83).

    Newton's method in f = C a, with steps halved until psi rises.
    """
    t = np.atleast_1d(validate.real("t", t))
    C = validate.kernel_matrix(C, t.size)
    found = _fit(C, validate.binary_targets(t, len(C)), likelihood)
    if not found.converged:
        warnings.warn(
            f"Newton's method stopped after {len(found.trace) - 1} steps with "
            f"max |f - C g| = {found.residual:.1e}",
            newton.NotConverged,
            stacklevel=2,
        )
    return found


def _fit(C, t, likelihood):
    """`fit` of input that is known to be good, without a warning."""
    w, terms, converged, trace, factors = _climb(C, t, likelihood)
    log_p, g, slope = terms
    L = factor(C, -slope)
    if L is None:
        raise validate.Indefinite(
            "B = I + W^1/2 C W^1/2 has no Cholesky factor: rounding in C, of "
            f"norm {np.linalg.norm(C):.1e}, exceeds 1; scale it down"
        )
    return GPLaplace(
        f=w[0],
        a=w[1],
        W=-slope,
        L=L,
        t=t,
        likelihood=likelihood,
        log_evidence=trace[-1] - float(np.log(np.diag(L)).sum()),
        residual=float(np.abs(w[0] - _times(C, g)).max()),
        converged=converged,
        trace=tuple(trace),
        factors=factors + 1,
    )


def _climb(C, t, likelihood):
    """(f, a), ln p with derivatives, converged, trace of psi, factors made.

    Gradients are always exact. A factor in single precision serves while the
    Newton decrement halves, one of some steps ago while it falls tenfold.
    """

    def objective(w):
        terms = likelihood.log_p(w[0], t, 2)
        return float(w[0] @ w[1] / 2 - terms[0].sum()), terms

    w = np.zeros((2, len(t)))
    E, terms = objective(w)
    A = C.astype(np.float32) if np.abs(C).max() < SINGLE_RANGE else C
    trace, factors, small, left = [-E], 0, newton.ROUNDING, np.inf
    moved = before = np.inf
    while left > POLISH * small and len(trace) <= STEPS:
        fresh = moved > STALE
        if fresh:
            L, factors = factor(A, -terms[2]), factors + 1
        step, decrement = newton_step(C, L, w, terms)
        limit = before / (2 if fresh or left <= small else 10)
        found = None
        if decrement < (np.inf if fresh and A is C else limit):
            found = newton.search(objective, w, E, -step, decrement)
        if found is None and (left <= small or (fresh and A is C)):
            break
        if found is None:  # a new factor, or else a precise one
            A, moved, before = C if fresh else A, np.inf, np.inf
            continue
        moved, before = np.abs(found[0][0] - w[0]).max(), decrement
        w, E, terms = found
        trace.append(-E)
        left = decrement / np.sqrt(1 + abs(E))
    return w, terms, bool(left <= small), trace, factors


def factor(C, W):
    """L of B = I + W^{1/2} C W^{1/2} in C's precision, None if it fails."""
    root = np.sqrt(W).astype(C.dtype)
    B = C * root
    B *= root[:, None]
    B.flat[:: len(B) + 1] += 1
    potrf = lapack.spotrf if B.dtype == np.float32 else lapack.dpotrf
    L, info = potrf(B.T, lower=1, clean=1, overwrite_a=1)
    return L if info == 0 else None


def newton_step(C, L, w, terms):
    """(df, da) and the decrement sqrt(r^T df), r = g - a; inf if L is no good.

    (I + W C) da = r is solved by da = r - R C r, df = C da. What W and L
    leave over is solved for once more, and must have shrunk.
    """
    step = np.zeros((2, len(w[0])))
    if L is None:
        return step, np.inf
    W, r = -terms[2], terms[1] - w[1]
    root, rest, size = np.sqrt(W), r, np.abs(r).max()
    left = np.inf
    for _ in range(2):
        if left > EXACT * size:
            da = rest - root * _solve(L, root * _times(C, rest))
            step += _times(C, da), da
            rest = r - step[1] - W * step[0]
            left = np.abs(rest).max()
    if not left <= size / 2:
        return step, np.inf
    return step, float(np.sqrt(max(r @ step[0], 0)))


def _times(C, v):
    """C v, from one triangle of C."""
    return blas.dsymv(1.0, C.T, v)


def _solve(L, v):
    """(L L^T)^{-1} v in the precision of L."""
    trsv = blas.strsv if L.dtype == np.float32 else blas.dtrsv
    half = trsv(L, v.astype(L.dtype), lower=1)
    return trsv(L, half, lower=1, trans=1).astype(float)


# The posterior and what it predicts.


def posterior_covariance(fit, C):
    """Sigma = (C^{-1} + W)^{-1} = C - C R C, PRML (6.86): of f at the data."""
    C = _same_kernel(fit, C)
    V = _reduced(fit, C)
    return C - V.T @ V


def predict_latent(fit, c_star, c_ss):
    """m = c*^T a, V = c** - c*^T R c* = c** - v^T v, PRML (6.87) and (6.88).

    v = L^{-1} W^{1/2} c*, so that nothing but B is ever solved for.
    """
    c_star, c_ss = _new_points(fit, c_star, c_ss)
    v = _reduced(fit, c_star)
    V = c_ss - np.einsum("nm,nm->m", v, v)
    if np.any(V < -NEGATIVE * c_ss):
        raise ValueError(
            "c_star, c_ss and C must belong to one kernel; they give a "
            f"variance of {V.min():.3g}"
        )
    return c_star.T @ fit.a, np.maximum(V, 0.0)


def predict_proba(fit, c_star, c_ss):
    """p(C_1) = int p(t = 1 | f) N(f | m, V) df, PRML (6.76): averaged."""
    m, V = predict_latent(fit, c_star, c_ss)
    return np.exp(fit.likelihood.average(m, V, 1)[0])


def predict_mode(fit, c_star):
    """p(t = 1 | f = m): the plug-in prediction at the mode, GPML 3.4.2."""
    c_star, _ = _new_points(fit, c_star, np.inf)
    return np.exp(fit.likelihood.log_p(c_star.T @ fit.a, 1, 0)[0])


def _same_kernel(fit, C):
    """C as an array, if f = C a: otherwise it is not the matrix of the fit."""
    C = np.asarray(C, float)
    if C.shape != fit.L.shape:
        raise ValueError(f"C must be of shape {fit.L.shape}; got {C.shape}")
    gap = np.abs(_times(C, fit.a) - fit.f).max()
    if not gap <= FOREIGN * np.abs(C).max() * np.abs(fit.a).sum():
        raise ValueError(f"C must be that of the fit; C a misses f by {gap}")
    return C


def _reduced(fit, c):
    """v = L^{-1} W^{1/2} c, (N, M)."""
    scaled = np.sqrt(fit.W)[:, None] * c
    return lapack.dtrtrs(fit.L, scaled, lower=1)[0]


def _new_points(fit, c_star, c_ss):
    """c_star (N, M) and c_ss (M,), validated."""
    c_star = validate.design(c_star, "c_star")
    if len(c_star) != len(fit.f):
        raise ValueError(
            f"c_star must have {len(fit.f)} rows, one for each point of the "
            f"fit, and a column for each new one; got shape {c_star.shape}"
        )
    c_ss = np.asarray(c_ss, float)
    if c_ss.shape not in ((), c_star.shape[1:]) or not np.all(c_ss >= 0):
        raise ValueError(
            f"c_ss must hold {c_star.shape[1]} prior variances >= 0, one for "
            f"each column of c_star; got {c_ss}"
        )
    return c_star, c_ss


# The evidence as a function of the kernel.


def evidence_gradient(fit, C):
    """G with d ln q(t) = sum_nm G_nm dC_nm, symmetric; PRML (6.91), (6.94).

    G = 1/2 (a a^T - R) + 1/2 (u a^T + a u^T): the mode moves with C as well,
    u = (I + W C)^{-1} v, v_n = 1/2 Sigma_nn d^3 ln p / df_n^3. Sigma_nn is
    (1 - (B^{-1})_nn) / W_n.
    """
    C = _same_kernel(fit, C)
    third = fit.likelihood.log_p(fit.f, fit.t, 3)[3]
    G, _ = lapack.dpotri(fit.L, lower=1)  # a triangle of B^{-1}
    W, root = fit.W, np.sqrt(fit.W)
    v = np.zeros_like(W)
    np.divide((1 - np.diag(G)) * third, 2 * W, out=v, where=W > 0)
    u = v - root * _solve(fit.L, root * _times(C, v))
    G *= -0.5 * root
    G *= root[:, None]
    G = blas.dsyr2(0.5, fit.a / 2 + u, fit.a, a=G, lower=1, overwrite_a=1)
    return _mirrored(G)


def inference(t, likelihood=LOGISTIC):
    """C -> (ln q(t), G), for `gaussian_process.optimise`; PRML 6.4.6."""

    def at(C):
        found = _fit(C, t, likelihood)
        if not found.converged:
            raise np.linalg.LinAlgError(
                f"no mode: max |f - C g| = {found.residual:.1e}"
            )
        return found.log_evidence, evidence_gradient(found, C)

    t = validate.binary_targets(t, np.size(t))
    return at


def _mirrored(A, size=128):
    """A with its lower triangle copied onto the upper one, in place."""
    N = len(A)
    for i in range(0, N, size):
        rows = slice(i, i + size)
        A[:i, rows] = A[rows, :i].T
        block = A[rows, rows]
        block[:] = np.tril(block) + np.tril(block, -1).T
    return A
