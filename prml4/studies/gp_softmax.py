"""Gaussian process classification with several classes, GPML 3.5.

    C      (K, N, N)  kernel matrices, one per class; (N, N) serves all
    t      (N,)       classes in {0, ..., K - 1}; T (K, N) is one of K
    f      (K, N)     latent values; after a fit their mode
    a      (K, N)     C_k^{-1} f_k, at the mode T - y
    y      (K, N)     softmax of f over the classes
    W      (KN, KN)   D - Pi Pi^T, D = diag(y), Pi the diag(y_k) on each other
    B_k    (N, N)     I + D_k^{1/2} C_k D_k^{1/2} = L_k L_k^T
    E_k    (N, N)     D_k^{1/2} B_k^{-1} D_k^{1/2} = (C_k + D_k^{-1})^{-1}
    M      (N, N)     Cholesky factor of sum_k E_k

The posteriors of the K functions depend on each other, through W, but no
matrix is larger than (N, N).
"""

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import lapack

from prml4.gaussian_process import not_negative
from prml4.models import averages
from prml4.numerics import linalg, newton, validate
from prml4.numerics.result import Result
from prml4.numerics.special import log_softmax


@dataclass(frozen=True, eq=False)
class GPSoftmax(Result):
    """The Gaussian at the mode of p(f | t), and whether to trust it.

    mean          (K, N)     mode
    dual          (K, N)     C_k^{-1} mean_k, at the mode T - y
    E             (K, N, N)  (C_k + D_k^{-1})^{-1} at the mode
    M             (N, N)     lower Cholesky factor of sum_k E_k
    log_evidence             ln q(t)
    converged                whether the decrement fell below tol
    trace         (S,)       psi at every accepted iterate
    """

    mean: np.ndarray
    dual: np.ndarray
    E: np.ndarray
    M: np.ndarray
    log_evidence: float
    converged: bool
    trace: tuple[float, ...]


@np.errstate(over="ignore", invalid="ignore")  # a step too far is not taken
def fit(C, t, K=None, *, tol=newton.ROUNDING, max_iter=200):
    """f = argmax sum_n ln y_{t_n, n} - 1/2 sum_k f_k^T C_k^{-1} f_k.

    Newton's method by GPML algorithm 3.3, with steps halved until psi rises.
    Where K is given a class may have no rows: the prior speaks for it.
    """
    C, T = _problem(C, t, K)
    tol, most = validate.stopping(tol, max_iter).values()
    objective = partial(_negative, T)
    w = np.zeros((2, *T.shape))
    value, y = objective(w)
    trace, converged = [-value], False
    while not converged and len(trace) <= most:
        E, M, _ = _factors(C, y)
        r = T - y - w[1]
        step, decrement = _newton_step(C, E, M, r, y)
        rise = np.sqrt(max(np.sum(r * step[0]), 0))
        found = newton.search(objective, w, value, -step, rise)
        if found is None:
            break
        w, value, y = found
        trace.append(-value)
        converged = decrement <= tol * np.sqrt(1 + abs(value))
    return _result(C, T, w, y, trace, converged)


def _negative(T, w):
    """-psi and y at w = (f, a)."""
    log_y = log_softmax(w[0], axis=0)
    return float(np.sum(w[0] * w[1]) / 2 - np.sum(T * log_y)), np.exp(log_y)


def _problem(C, t, K):
    """C (K, N, N) and T (K, N), validated."""
    C = validate.real("C", C)
    N = C.shape[-1] if C.ndim in (2, 3) else np.size(t)
    if K is None:
        t, K = validate.classes(t, N)
    else:
        t, K = validate.labels(t, N, validate.whole("K", K, 2)), int(K)
    if C.ndim == 2:
        C = np.broadcast_to(validate.kernel_matrix(C), (K, *C.shape))
    elif C.ndim != 3 or len(C) != K:
        raise ValueError(
            f"C must hold {K} kernel matrices, or be one for all classes; got "
            f"shape {C.shape}"
        )
    else:
        C = np.stack([validate.kernel_matrix(c) for c in C])
    return C, np.equal.outer(np.arange(K), t).astype(float)


def _result(C, T, w, y, trace, converged):
    """What `fit` hands back; everything belongs to the mode."""
    E, M, log_det = _factors(C, y)
    if not converged:
        gap = np.abs(T - y - w[1]).max()
        warnings.warn(
            f"Newton's method stopped after {len(trace) - 1} steps with a "
            f"gradient component of {gap:.1e}",
            newton.NotConverged,
            stacklevel=3,
        )
    return GPSoftmax(
        mean=w[0],
        dual=w[1],
        E=E,
        M=M,
        log_evidence=trace[-1] - log_det / 2,
        converged=bool(converged),
        trace=tuple(trace),
    )


def _factors(C, y):
    """E_k, the Cholesky factor M of sum_k E_k, and ln |I + C W|.

    |I + C W| = prod_k |B_k| |sum_k E_k|, for W = D - Pi Pi^T.
    """
    E, log_det = np.empty(C.shape), 0.0
    for k, (c, root) in enumerate(zip(C, np.sqrt(y), strict=True)):
        A, _, more = linalg.inverse_root(linalg.scaled(c, root))
        A *= root
        E[k], log_det = A.T @ A, log_det + more
    M = linalg.cholesky(E.sum(axis=0))
    return E, M, log_det + 2 * np.log(np.diag(M)).sum()


def _newton_step(C, E, M, r, y):
    """(df, da) with (I + W C) da = r and df = C da, and the decrement.

    c = E C r in every class, and da = r - c + E M^{-T} M^{-1} sum_k c_k. What
    is left over is solved for once more. With e left over the decrement is at
    most sqrt((r - e)^T df) + sqrt(e^T C e).
    """
    step, rest = np.zeros((2, *r.shape)), r
    for _ in range(2):
        c = _each(E, _each(C, rest))
        shared = lapack.dpotrs(M, c.sum(axis=0), lower=1)[0]
        da = rest - c + E @ shared
        step += _each(C, da), da
        taught = y * step[0]
        rest = r - step[1] - taught + y * taught.sum(axis=0)
    parts = np.sum((r - rest) * step[0]), np.sum(rest * _each(C, rest))
    return step, float(np.sqrt(np.maximum(parts, 0)).sum())


def _each(A, v):
    """A_k v_k of every class, (K, N)."""
    return np.einsum("kij,kj->ki", A, v)


def predict_latent(fit, c_star, c_ss):
    """m = c_*^T (t_k - y_k), Sigma (K, K) at M new points, GPML section 3.5.

    c_star (K, N, M) and c_ss (K, M), or (N, M) and (M,) for all classes.
    """
    c_star, c_ss = _new_points(fit, c_star, c_ss)
    b = np.einsum("kij,kjm->kim", fit.E, c_star)
    v = lapack.dtrtrs(fit.M, np.hstack(list(b)), lower=1)[0]
    v = v.reshape(len(v), *c_ss.shape)
    S = np.einsum("ikm,ijm->mkj", v, v)
    own = c_ss - np.einsum("kim,kim->km", b, c_star)
    S[:, range(len(b)), range(len(b))] += own.T
    least, U = np.linalg.eigh(S)
    worst = least.min(axis=1)
    not_negative(worst, c_ss.max(axis=0))
    if np.any(worst < 0):  # by rounding
        S = (U * np.maximum(least, 0)[:, None]) @ U.swapaxes(1, 2)
    return np.einsum("knm,kn->mk", c_star, fit.dual), S


def predict(fit, c_star, c_ss):
    """argmax_k p(C_k), class numbers (M,)."""
    return predict_proba(fit, c_star, c_ss).argmax(axis=1)


def predict_proba(fit, c_star, c_ss, scheme=averages.softmax):
    """p(C_k) = int softmax(f)_k N(f | mean, covariance) df, (M, K)."""
    mean, S = predict_latent(fit, c_star, c_ss)
    last = S[:, :-1, -1:]
    gaps = S[:, :-1, :-1] - last - last.swapaxes(1, 2) + S[:, -1:, -1:]
    return scheme(mean[:, :-1] - mean[:, -1:], gaps)


def _new_points(fit, c_star, c_ss):
    """c_star (K, N, M) and c_ss (K, M), validated."""
    K, N = validate.fitted(fit, GPSoftmax).mean.shape
    c_star, c_ss = validate.real("c_star", c_star), validate.real("c_ss", c_ss)
    if c_star.ndim == 2 and c_ss.ndim == 1:
        c_star, c_ss = np.stack([c_star] * K), np.stack([c_ss] * K)
    if (c_star.ndim, c_ss.ndim, *c_star.shape[:1], *c_ss.shape[:1]) != (
        3, 2, K, K,
    ):  # fmt: skip
        raise ValueError(
            f"c_star must have shape ({K}, {N}, M) or ({N}, M), and c_ss one "
            f"row per class; got {c_star.shape} and {c_ss.shape}"
        )
    c_star = np.stack([validate.cross(c, N) for c in c_star])
    M = c_star.shape[2]
    return c_star, np.stack([validate.variances("c_ss", v, M) for v in c_ss])
