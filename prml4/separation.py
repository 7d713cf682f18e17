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
    d, margin = best_ray(Z, strict=True)
    if margin > ZERO:
        return Separation("complete", d / scale, margin)
    d, _ = best_ray(Z, strict=False)
    d = polish(d, Z)
    if (Z @ d).max() > 1e3 * ZERO and (Z @ d).min() > -1e-3 * ZERO:
        return Separation("quasi-complete", d / scale, 0.0)
    return Separation("none", None, 0.0)


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
        x = linprog(
            -gain,
            A_ub=np.c_[-Z[rows], np.full(len(rows), float(strict))],
            b_ub=np.zeros(len(rows)),
            bounds=[(-1, 1)] * M + [(0, 1)],
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10},
        ).x
        short = Z @ x[:M] - x[M] * strict
        worst = np.argsort(short)[:some]
        more = np.setdiff1d(worst[short[worst] < -ZERO], rows)
        if gain @ x <= ZERO or not more.size:
            return x[:M], float(gain @ x)
        rows = np.union1d(rows, more)


def polish(d, Z):
    """d - A^+ A d, A = the rows with z_n^T d = 0 but for the LP's rounding."""
    A = Z[np.abs(Z @ d) < 1e2 * ZERO]
    return d - np.linalg.lstsq(A, A @ d)[0] if len(A) else d
