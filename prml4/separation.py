"""Can a hyperplane through the origin separate two classes?

    Phi    (N, M)  design matrix
    t      (N,)    targets in {0, 1}, s = 2t - 1
    u      (M,)    direction with s_n phi_n^T u >= 0
    Z      (N, M)  rows z_n = s_n phi_n, columns scaled to |z_nj| <= 1
    d      (M,)    u in those units, |d_j| <= 1

Albert and Anderson (1984): maximum likelihood has an answer exactly when no
u != 0 has s_n phi_n^T u >= 0 for all n.  Linear programmes decide it.
"""

from dataclasses import dataclass

import numpy as np

from prml4 import validate

ZERO = 1e-9  # the accuracy that we ask of the linear programmes


@dataclass(frozen=True, eq=False)
class Separation:
    """The verdict, and the direction that proves it."""

    kind: str  # "none", "quasi-complete" or "complete"
    direction: np.ndarray | None  # (M,) u, max_j |u_j| max_n |Phi_nj| <= 1
    margin: (
        float  # min_n s_n phi_n^T u, the largest possible; 0 if not complete
    )


def separation(Phi, t):
    """max_u min_n s_n phi_n^T u > 0: complete; sum_n > 0: quasi-complete."""
    Phi = validate.design(Phi)
    t = validate.binary_targets(t, len(Phi))
    scale = np.abs(Phi).max(axis=0)
    scale[scale == 0] = 1
    Z = (2 * t - 1)[:, None] * (Phi / scale)
    U, T = _orthonormal(Z)
    v = _quasi_ray(U)
    if v is None:
        return Separation("none", None, 0.0)
    strict, ahead = best_ray(U, strict=True)
    if ahead <= ZERO:
        d = T @ v
        return Separation("quasi-complete", d / np.abs(d).max() / scale, 0.0)
    d, margin = best_ray(Z, strict=True)
    if margin <= ZERO:
        d = T @ strict
        d /= np.abs(d).max()
    return Separation("complete", d / scale, float((Z @ d).min()))


def _orthonormal(Z):
    """T that makes the columns of Z T orthonormal; and Z T with unit rows.

    In these coordinates nearly dependent columns are as good as others; the
    lengths of rows have no say in which side of a plane they are on.
    """
    Z = _unit_rows(Z)
    _, size, V = np.linalg.svd(Z, full_matrices=False)
    keep = size > max(Z.shape) * np.finfo(float).eps * size[0]
    T = V[keep].T / size[keep]
    return _unit_rows(Z @ T), T


def _unit_rows(Z):
    """Z_n / |Z_n|; rows of zeros stay."""
    length = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(length > 0, length, 1)


def _quasi_ray(U):
    """A v with U v >= 0 and not U v = 0; None if there is none.

    Rows within ZERO of the plane count as on it: they may be there but for
    rounding, and data that overlap less have weights beyond 1e9.
    """
    v, _ = best_ray(U, strict=False)
    return v if (U @ v).max() > 1e3 * ZERO else None


def best_ray(Z, *, strict):
    """argmax_d min_n z_n^T d (strict) or sum_n z_n^T d >= 0, |d_j| <= 1.

    Solved on a few rows; those that the answer violates join until none does.
    What no d achieves on a few rows, none achieves on all.
    """
    from scipy.optimize import linprog

    N, M = Z.shape
    gain = np.r_[np.zeros(M), 1.0] if strict else np.r_[Z.mean(axis=0), 0.0]
    some = 20 * (M + 1)
    rows = np.unique(np.linspace(0, N - 1, some).astype(int))
    while True:
        answer = linprog(
            -gain,
            A_ub=np.c_[-Z[rows], np.full(len(rows), float(strict))],
            b_ub=np.zeros(len(rows)),
            bounds=[(-1, 1)] * M + [(0, None)],
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10},
        )
        x = np.zeros(M + 1) if answer.x is None else answer.x
        short = Z @ x[:M] - x[M] * strict
        worst = np.argsort(short)[:some]
        more = np.setdiff1d(worst[short[worst] < -ZERO], rows)
        if gain @ x <= ZERO or not more.size:
            return x[:M], float(gain @ x)
        rows = np.union1d(rows, more)
