"""Posteriors of one to three weights by brute force: a dense grid.

    ln f   (S, M) -> (S,)  logarithm of a density without its normaliser
    q      Laplace         a Gaussian near it: mode w0, A = L L^T
    z      (M,)            coordinates of q, w = w0 + L^{-T} z
    w      (S, M)          nodes,  p (S,) their shares of the mass

A rectangle rule in each direction: where f has fallen to nothing at both
ends it converges faster than any power of the step.
"""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import inv, norm

from prml4 import validate

FALL = 12.0  # e^-12 tol of the peak is nothing
LIMITS = {1: 4096, 2: 1024, 3: 160}  # nodes in each direction, at most
BLOCK = 2**14  # nodes worked on at once


class TooCoarse(ArithmeticError):
    """The grid was refined to its limit, and results still moved."""


@dataclass(frozen=True, eq=False)
class Dense:
    """The truth, up to `error`."""

    log_evidence: float  # ln int f(w) dw
    mean: np.ndarray  # (M,)
    covariance: np.ndarray  # (M, M)
    error: float  # largest change at the last halving of the step
    w: np.ndarray  # (S, M) nodes
    p: np.ndarray  # (S,) masses, they sum to one

    def average(self, f):
        """E[f(w)] = sum_i p_i f(w_i); f takes nodes (S, M)."""
        return self.p @ np.asarray(f(self.w), float)


def integrate(log_f, q, *, tol=1e-11):
    """Z = int f(w) dw, E[w] and cov[w], PRML (4.125), by a grid around q.

    Steps are halved until evidence, mean and covariance (in units of q) move
    by less than tol.
    """
    M = len(q.mode)
    if M not in LIMITS:
        raise ValueError(f"a grid is for 1, 2 or 3 weights; got {M}")
    tol = validate.positive("tol", tol)
    T = inv(q.cholesky)
    fall = FALL - np.log(tol)
    ends = _box(log_f, q.mode, T, fall)
    n = 16
    new = _sums(log_f, q.mode, T, ends, n, fall)
    while True:
        old, n = new, 2 * n
        new = _sums(log_f, q.mode, T, ends, n, fall)
        moved = [
            norm(np.atleast_1d(a - b))
            for a, b in zip(new[:3], old[:3], strict=True)
        ]
        if max(moved) <= tol:
            break
        if 2 * n > LIMITS[M]:
            raise TooCoarse(
                f"with {n} nodes in each direction results move by "
                f"{max(moved):.1e}, more than {tol:.1e}"
            )
    log_Z, mean, C, z, p = new
    return Dense(
        log_evidence=log_Z - float(np.log(np.diag(q.cholesky)).sum()),
        mean=q.mode + mean @ T,
        covariance=T.T @ C @ T,
        error=float(max(moved)),
        w=q.mode + z @ T,
        p=p,
    )


def _box(log_f, mode, T, fall):
    """Ends (M, 2) in z, pushed out while f is alive anywhere on a face."""
    M = len(mode)
    ends = np.tile([-6.0, 6.0], (M, 1))
    top = log_f(mode[None])[0]
    for _ in range(60):
        alive = np.zeros((M, 2), bool)
        for j, k in np.ndindex(M, 2):
            axes = [np.linspace(*end, 25) for end in ends]
            axes[j] = ends[j, [k]]
            z = _nodes(axes)
            face = np.max(log_f(mode + z @ T))
            top = max(top, face)
            alive[j, k] = face > top - fall
        if not alive.any():
            return ends
        ends = np.where(alive, 1.25 * ends, ends)
    raise TooCoarse("f does not fall: it cannot be normalised on a grid")


def _sums(log_f, mode, T, ends, n, fall):
    """ln Z, mean, covariance in z; nodes with a share of the mass, shares."""
    axes = [a + (b - a) * (np.arange(n) + 0.5) / n for a, b in ends]
    z = _nodes(axes)
    value = np.concatenate(
        [log_f(mode + z[k : k + BLOCK] @ T) for k in range(0, len(z), BLOCK)]
    )
    top = value.max()
    if not np.isfinite(top):
        raise ValueError(f"the largest ln f must be finite; got {top:g}")
    p = np.exp(value - top)
    total = p.sum()
    cell = np.prod((ends[:, 1] - ends[:, 0]) / n)
    kept = value > top - fall
    z, p = z[kept], p[kept] / total
    mean = p @ z
    C = (z - mean).T @ ((z - mean) * p[:, None])
    return float(top + np.log(total * cell)), mean, C, z, p


def _nodes(axes):
    """All combinations (S, M) of the given coordinates."""
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(
        -1, len(axes)
    )
