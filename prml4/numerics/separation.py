"""Can a hyperplane through the origin separate two classes?

    Phi    (N, M)  design matrix
    t      (N,)    targets in {0, 1}, s = 2t - 1
    u      (M,)    direction with s_n phi_n^T u >= 0
    Z      (N, M)  rows z_n = s_n phi_n, columns scaled to |z_nj| <= 1
    d      (M,)    u in those units, |d_j| <= 1

Albert and Anderson (1984): maximum likelihood has an answer exactly when no
u != 0 has s_n phi_n^T u >= 0 for all n.  Linear programmes decide it, where a
way down has not ended at a minimum: see `verdict`.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr, solve_triangular

from prml4.numerics import validate
from prml4.numerics.descent import DEPENDENT, MOVES, Objective
from prml4.numerics.newton import (
    NotConverged,
    arrived,
    newtons_method,
    smallest_share,
)
from prml4.numerics.result import Result

FAR = 8  # log odds that a fit leaves behind on a ray, and hardly elsewhere
ZERO = 1e-9  # the accuracy that we ask of the linear programmes
CANCELLED = 1e-7  # rounding of log odds that are sums of large terms, at most
CLEAR = 1e-12  # beyond it a row of length 1 is off the plane, not rounded off


class SeparableDataWarning(UserWarning):
    """A hyperplane separates the classes: no maximum likelihood estimate."""


@dataclass(frozen=True, eq=False)
class Separation(Result):
    """The verdict, and the direction that proves it.

    kind             "none", "quasi-complete" or "complete"
    direction  (M,)  u, max_j |u_j| max_n |Phi_nj| <= 1; None if there is none
    margin           min_n s_n phi_n^T u, the largest; 0 if not complete
    """

    kind: str
    direction: np.ndarray | None
    margin: float


def separation(Phi, t):
    """max_u min_n s_n phi_n^T u > 0: complete; sum_n > 0: quasi-complete.

    Rows, in orthonormal coordinates and of length 1, are on the plane if they
    are within 1e-12 of it; an overlap of less than 1e-12 is none.
    """
    Phi = validate.design(Phi)
    t = validate.binary_targets(t, len(Phi))
    scale = np.abs(Phi).max(axis=0)
    scale[scale == 0] = 1
    Z = (2 * t - 1)[:, None] * (Phi / scale)
    U, T = _orthonormal(Z)
    v = _quasi_ray(U)
    if v is None:
        return Separation("none", None, 0.0)
    strict, _ = best_ray(U, strict=True)
    if (U @ strict).min() <= CLEAR:
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

    The linear programme cannot tell an overlap of less than ZERO from none.
    Newton's method can: sum_n ln(1 + e^{-u_n^T v}) has a minimum if they do.
    """
    v, _ = best_ray(U, strict=False)
    ahead = U @ v
    if ahead.max() <= 1e3 * ZERO:
        return None
    if ahead.min() >= -CLEAR:
        return v

    def logistic(m, _rows, _order):  # ln(1 + e^{-m}) and two derivatives
        y = np.exp(-np.logaddexp(0, m))
        return np.logaddexp(0, -m), -y, y * (1 - y)

    zero = np.zeros(len(v))
    best = newtons_method(Objective(U, logistic, None, zero, zero), zero)
    overlap = best.converged and smallest_share(best.H) > CLEAR
    return None if overlap else v


def best_ray(Z, *, strict):
    """argmax_d min_n z_n^T d (strict) or sum_n z_n^T d >= 0, |d_j| <= 1.

    Solved on a few rows; those that the answer violates join until none does.
    What no d achieves on a few rows, none achieves on all.
    """
    N, M = Z.shape
    gain = np.r_[np.zeros(M), 1.0] if strict else np.r_[Z.mean(axis=0), 0.0]
    some = 20 * (M + 1)
    rows = np.unique(np.linspace(0, N - 1, some).astype(int))
    while True:
        x = _programme(Z[rows], gain, strict)
        short = Z @ x[:M] - x[M] * strict
        worst = np.argsort(short)[:some]
        more = np.setdiff1d(worst[short[worst] < -ZERO], rows)
        if gain @ x <= ZERO or not more.size:
            return x[:M], float(gain @ x)
        rows = np.union1d(rows, more)


def _programme(Z, gain, strict):
    """argmax_x gain^T x for these rows; 0 where no answer is to be had."""
    from scipy.optimize import linprog

    M = Z.shape[1]
    for tolerance in (1e-10, ZERO, 1e-7):  # some find the first too fine
        answer = linprog(
            -gain,
            A_ub=np.c_[-Z, np.full(len(Z), float(strict))],
            b_ub=np.zeros(len(Z)),
            bounds=[(-1, 1)] * M + [(0, None)],
            method="highs",
            options={"primal_feasibility_tolerance": tolerance},
        )
        if answer.x is not None:
            return answer.x
    return np.zeros(M + 1)


# Several classes.


def of_classes(Phi, t):
    """max_U min_nk (u_t - u_k)^T phi_n > 0, k != t = t_n: complete; sum > 0
    and none negative: quasi-complete.  Albert and Anderson (1984).

    The direction is (K, M): one row u_k per class, the last one zero.
    """
    Phi, t, K, _ = validate.several_classes(Phi, t)
    own = np.eye(K)[t]
    wins = (own[:, None] - np.eye(K))[own == 0][:, :-1]  # e_t - e_k
    Z = wins[:, :, None] * np.repeat(Phi, K - 1, axis=0)[:, None]
    found = separation(Z.reshape(len(Z), -1), np.ones(len(Z)))
    if found.direction is None:
        return found
    U = np.vstack([found.direction.reshape(K - 1, -1), 0 * Phi[0]])
    return Separation(found.kind, U, found.margin)


def kind_of_ray(A, Phi, t):
    """A (K, N) -> the kind of separation along which a fit went off.

    On a ray along which E falls for ever the margins (u_t - u_k)^T phi_n that
    stay finite are zero.  The directions that leave those alone are few, and
    for them a small linear programme decides about the others.
    """
    K, M = len(A), Phi.shape[1]
    far = np.take_along_axis(A, t[None], axis=0) - A > FAR
    Phi = Phi / np.abs(Phi).max(axis=0)
    if smallest_share(Phi.T @ Phi) < 1e-8:  # of which no null space is made
        Phi, _ = qr(Phi, mode="economic")
    S = _near(Phi, t, far)
    if not far.any() or smallest_share(S) > DEPENDENT:
        return "none"
    values, U = np.linalg.eigh(S)
    gains = []
    for u in U.T[values <= 1e-12 * max(values[-1], 1)]:
        Z = np.vstack([u.reshape(K - 1, M), 0 * Phi[0]]) @ Phi.T
        gains.append((np.take_along_axis(Z, t[None], axis=0) - Z)[far])
    if not gains:
        return "none"
    gains = np.transpose(gains)
    size = np.abs(gains).max(axis=1)
    gains = gains[size > 1e-6 * size.max()]  # the others are rounded zeros
    kind = separation(gains, np.ones(len(gains))).kind
    every = len(gains) == (K - 1) * len(t)
    return "quasi-complete" if kind == "complete" and not every else kind


def _near(Phi, t, far):
    """sum of d d^T over the margins d^T u that are not far, without class K."""
    K, M = len(far), Phi.shape[1]
    S = np.zeros((K, M, K, M))
    for j in range(K):
        for k in range(j):
            rows = (t == j) & ~far[k] | (t == k) & ~far[j]
            near = Phi[rows].T @ Phi[rows]
            S[j, :, j] += near
            S[k, :, k] += near
            S[j, :, k] = S[k, :, j] = -near
    return S[:-1, :, :-1].reshape(2 * [(K - 1) * M])


# What a fit that did not end at a minimum has to say.


def verdict(
    best, problem, v0, kind, *, solve=newtons_method, moves=MOVES, doubt=False
):
    """(best, None) where grad E(w) = 0 is found; or why not, see `separated`.

    Nearly dependent columns are replaced by orthonormal ones, from v0 again.
    """
    fine = settled(best, problem, moves)
    if fine and not doubt:
        return best, None
    found = separated(problem, kind)
    if found:
        return replace(best, converged=False), found
    poor = best.H is None or smallest_share(best.H) < DEPENDENT
    if not fine and poor and not problem.alpha.any():
        return orthonormal(problem, v0, solve), None
    return replace(best, converged=fine), None


def separated(problem, kind):
    """How the targets are separated, `kind(free)`, or None if they are not.

    Only columns without a prior can be to blame; a ValueError names those that
    depend on others.
    """
    free = problem.alpha == 0
    if not free.any():
        return None
    validate.independent_columns(problem.Phi[:, free], np.flatnonzero(free))
    found = kind(free)
    return None if found == "none" else found


def between(problem, t):
    """free -> how these columns of two classes separate them, for `verdict`."""
    return lambda free: separation(problem.Phi[:, free], t).kind


def settled(best, problem, moves=MOVES):
    """Is it the minimum: ||grad E|| = 0 because no a_n wants to move?"""
    if best.H is None or problem.alpha.all() or not best.converged:
        return best.converged
    if smallest_share(best.H) < DEPENDENT:
        return False
    # a way down has asked for MOVES itself
    return moves >= MOVES or arrived(
        problem, best.w, best.gradient, best.H, moves
    )


def orthonormal(problem, v0, solve):
    """w = S^{-1} u, Phi = Q S: nearly dependent columns make way for Q's.

    With several weights per column, v holds them in rows one after another.
    """
    Q, S = qr(problem.Phi, mode="economic")
    u0 = (v0.reshape(-1, len(S)) @ S.T).ravel()
    found = solve(replace(problem, Phi=Q), u0)
    v = solve_triangular(S, found.w.reshape(-1, len(S)).T).T.ravel()
    E, g, _ = problem(v, order=1)
    # digits, where columns are alike: of E, and of sums that cancel in it
    lost = E - found.error > 1e-9 * (1 + E)
    terms = np.abs(problem.Phi) @ np.abs(v.reshape(-1, len(S)).T)
    lost |= np.finfo(float).eps * terms.max() > CANCELLED
    converged = found.converged and not lost
    return replace(found, w=v, H=None, error=E, gradient=g, converged=converged)


def complain(
    best, kind, *, what="classes", along="separation(Phi, t).direction",
    stuck="",
):  # fmt: skip
    """No minimum, or none found -> a warning that says so by name."""
    if kind:
        warnings.warn(
            f"the {what} are separable ({kind}): E falls for ever along "
            f"{along} and no maximum likelihood estimate exists; a prior "
            "(alpha > 0) gives one",
            SeparableDataWarning,
            stacklevel=3,
        )
    elif not best.converged:
        warnings.warn(
            f"stopped after {len(best.trace) - 1} steps with a gradient "
            f"component of {np.abs(best.gradient).max():.1e}{stuck}",
            NotConverged,
            stacklevel=3,
        )
