"""The Gaussian in natural parameters, PRML (2.220) to (2.223) for vectors.

eta   (P,)    P = D (D + 3) / 2: S^{-1} mu, then the coefficients of x_i x_j,
              i >= j, in -x^T S^{-1} x / 2
m     (P,)    E[x], then E[x_i x_j] for i >= j
mu    (D,)    mean          S  (D, D)  covariance
"""

from math import isqrt

import numpy as np
from scipy.linalg import (
    block_diag,
    cho_factor,
    cho_solve,
    cholesky,
    solve_triangular,
)

from prml4 import validate


def natural(mu, S):
    """eta = (S^{-1} mu, -S^{-1}_ii / 2 and -S^{-1}_ij for i > j)."""
    S = validate.symmetric("S", S, [(len(mu), len(mu))])
    mu, P = _inverted(mu, S)
    return _joined(P @ mu, np.diag(np.diag(P)) / 2 - P)


def from_mean(m):
    """eta of mu = E[x] and S = E[x x^T] - mu mu^T."""
    mu, second = _parts(m)
    return natural(mu, second - np.outer(mu, mu))


def log_g(eta):
    """log |S^{-1}| / 2 - mu^T S^{-1} mu / 2, -inf for eta of no Gaussian."""
    v, P = _precision(eta)
    try:
        L = cholesky(P, lower=True)
    except np.linalg.LinAlgError:
        return -np.inf
    z = solve_triangular(L, v, lower=True)
    return np.log(np.diag(L)).sum() - z @ z / 2


def mean(eta):
    """m = (mu, S + mu mu^T)."""
    v, S = _inverted(*_precision(eta))
    mu = S @ v
    return _joined(mu, S + np.outer(mu, mu))


def covariance(eta):
    """J S J^T with J = du/dx at mu, plus S_ik S_jl + S_il S_jk (Isserlis 1918).

    The second term belongs to the products x_i x_j and x_k x_l alone.
    """
    v, S = _inverted(*_precision(eta))
    mu, E = S @ v, np.eye(len(v))
    i, j = np.tril_indices(len(v))
    J = np.vstack([E, mu[i, None] * E[j] + mu[j, None] * E[i]])
    fourth = S[np.ix_(i, i)] * S[np.ix_(j, j)]
    fourth += S[np.ix_(i, j)] * S[np.ix_(j, i)]
    return J @ S @ J.T + block_diag(np.zeros_like(S), fourth)


def gap(m):
    """min eigenvalue of S_ij / (E[x_i^2] E[x_j^2])^(1/2), > 0 for means m."""
    mu, second = _parts(m)
    size = np.sqrt(np.maximum(np.diag(second), np.finfo(float).tiny))
    S = (second - np.outer(mu, mu)) / np.outer(size, size)
    return np.linalg.eigvalsh(S)[0]


# -- vectors, and the matrices they stand for --------------------------------


def _parts(v):
    """(D,) and the symmetric (D, D) whose lower triangle is in v (P,)."""
    D = (isqrt(9 + 8 * len(v)) - 3) // 2
    i, j = np.tril_indices(D)
    A = np.zeros((D, D))
    A[i, j] = A[j, i] = v[D:]
    return v[:D], A


def _joined(v, A):
    """(P,) of (D,) and a symmetric (D, D)."""
    return np.append(v, A[np.tril_indices(len(A))])


def _precision(eta):
    """S^{-1} mu and S^{-1}, which has -2 eta_ii and -eta_ij."""
    v, A = _parts(eta)
    return v, -A - np.diag(np.diag(A))


def _inverted(v, A):
    """v and A^{-1} of a positive definite A, by Cholesky."""
    try:
        return v, cho_solve(cho_factor(A), np.eye(len(A)))
    except np.linalg.LinAlgError:
        raise ValueError(
            "a covariance, and its inverse, must be positive definite; got "
            f"{A.tolist()}"
        ) from None
