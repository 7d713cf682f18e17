"""Integrals over one to three variables by brute force: a dense grid.

    ln f   (S, M) -> (S,)  logarithm of a density without its normaliser
    q      Laplace         a Gaussian near it: mode w0, A = L L^T
    z      (M,)            coordinates of q, w = w0 + L^{-T} z
    w      (S, M)          nodes,  p (S,) their shares of the mass

A rectangle rule in each direction: where f has fallen to nothing at both
ends it converges faster than any power of the step. `integrate` finds its own
ends and step; `lattice` is the grid for those who know them, e.g. z ~ N(0, I).
"""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import norm
from scipy.ndimage import binary_erosion

from prml4.numerics import validate
from prml4.numerics.newton import forward
from prml4.numerics.result import Result

FALL = 12.0  # e^-12 tol of the peak is nothing
LIMITS = {1: 4096, 2: 1024, 3: 160}  # nodes in each direction, at most
MOST = 5e7  # nodes of a lattice, about a gigabyte
BLOCK = 2**12  # nodes worked on at once
APART = 10.0  # deviations of q between places where modes are looked for
LOST = 1e-7  # share of the mass on the outermost nodes of a lattice
RIM = 0.02  # share of the box, or a node, that must hold next to nothing


class TooCoarse(ArithmeticError):
    """The grid was refined to its limit, and results still moved."""


@dataclass(frozen=True, eq=False)
class Dense(Result):
    """The truth, up to `error`.

    log_evidence          ln int f(w) dw
    mean          (M,)    E[w]
    covariance    (M, M)  cov[w]
    error                 largest change at the last halving of the step, or
                          what the cells at a wall hold
    w             (S, M)  nodes
    p             (S,)    their masses, which sum to one
    """

    log_evidence: float
    mean: np.ndarray
    covariance: np.ndarray
    error: float
    w: np.ndarray
    p: np.ndarray


def nodes(axes):
    """axes -> z (S, M), all combinations of z_j from the j-th vector."""
    grid = np.meshgrid(*axes, indexing="ij")
    return np.stack(grid, -1).reshape(-1, len(axes))


def lattice(M, reach, step):
    """Nodes z (S, M) of the trapezium rule, |z_j| <= reach: ln int f(z) dz is
    logsumexp(ln f(z)) + M ln step. For N(0, I) it errs by e^{-2 pi^2 / step^2}.
    """
    if validate.whole("M", M) > 3:
        raise ValueError(f"M must be at most 3 for a grid; got {M}")
    reach, step = validate.real("reach, step", [reach, step])
    if not 0 < step <= 1 <= reach < np.inf:
        raise ValueError(
            f"step, reach must obey 0 < step <= 1 <= reach; got {step}, {reach}"
        )
    with np.errstate(over="ignore"):
        n = np.floor(reach / step + 1e-9)
    if (2 * n + 1) ** M > MOST:
        raise ValueError(
            f"step must leave at most {MOST:.0e} nodes; got {step} of {reach} "
            f"in {M} directions"
        )
    return nodes([step * np.arange(-n, n + 1)] * M)


def reached(z, p, reach, step):
    """sum_s p_s = 0 over nodes with |z_sj| > reach - step, or a ValueError."""
    held = float(p[np.abs(z).max(axis=1) > reach - step].sum())
    if held > LOST:
        raise ValueError(
            f"reach must leave nothing beyond it; got {reach}, where the "
            f"outermost nodes hold {held:.0e} of the mass"
        )


def integrate(log_f, q, *, tol=1e-11):
    """Z = int f(w) dw, E[w] and cov[w], PRML (4.125), by a grid around q.

    Steps are halved until evidence, mean and covariance (in units of q) move
    by less than tol. Modes are found within a hundred deviations of q, unless
    they are narrower than q.
    """
    M = len(q.mode)
    if M not in LIMITS:
        raise ValueError(f"M must be 1, 2 or 3 for a grid; got {M}")
    fall = FALL - np.log(validate.positive("tol", tol))
    T = forward(q.cholesky)

    def log_g(z):
        return log_f(q.mode + z @ T)

    ends, n, moved = _box(log_g, M, fall), 16, np.inf
    new = _sums(log_g, ends, n, fall)
    while moved > tol:
        old, n = new, 2 * n
        if n > LIMITS[M]:
            raise TooCoarse(
                f"with {n // 2} nodes in each direction results move by "
                f"{moved:.1e}, more than {tol:.1e}"
            )
        new = _sums(log_g, ends, n, fall)
        moved = max(new[3], *(float(norm(new[k] - old[k])) for k in range(3)))
    log_Z, mean, C, _, z, p = _within(ends, n, new, tol)
    log_Z = float(log_Z) - float(np.log(np.diag(q.cholesky)).sum())
    w = q.mode + z @ T
    return Dense(log_Z, q.mode + mean @ T, T.T @ C @ T, moved, w, p)


def _alive(log_g, M, fall):
    """Places amid all modes as wide as q, 0 among them; and the largest ln f.

    A cell h wide is halved where f may be alive in it: at its middle such a
    mode is up to M h^2 / 8 lower than where it is highest.
    """
    z, top = nodes([APART * np.arange(-10, 11)] * M), -np.inf
    corners = nodes([[-0.25, 0.25]] * M)
    for h in (APART, APART / 2):
        with np.errstate(all="ignore"):
            value = log_g(z)
        top = np.fmax(top, np.fmax.reduce(value))
        alive = z[value > top - fall - M * h**2 / 8]
        z = (alive[:, None] + h * corners).reshape(-1, M)
        if not len(z):
            break
    return np.vstack([np.zeros(M), alive]), top


def _box(log_g, M, fall):
    """Ends (M, 2) in z, pushed out while f is alive anywhere on a face.

    First beyond all places where f is alive.
    """
    seen, top = _alive(log_g, M, fall)
    ends = seen.min(axis=0) - APART / 4, seen.max(axis=0) + APART / 4
    ends = np.stack(ends, axis=1)
    for _ in range(60):
        alive = np.zeros((M, 2), bool)
        for j, k in np.ndindex(M, 2):
            axes = [np.linspace(*end, 25) for end in ends]
            axes[j] = ends[j, [k]]
            face = np.max(log_g(nodes(axes)))
            top = max(top, face)
            alive[j, k] = face > top - fall - _pull(ends[j, k], M)
        if not alive.any():
            return ends
        ends = np.where(alive, 1.25 * ends, ends)
    raise TooCoarse("f does not fall: it cannot be normalised on a grid")


def _pull(z, M):
    """By how much E|z|^2 makes a place count for more, far from q."""
    return np.maximum((M + 2) * np.log(np.maximum(np.abs(z), 1)) - FALL, 0)


def _within(ends, n, sums, tol):
    """The sums, or TooCoarse unless E|z|^2 comes from within the box, to tol.

    A ridge may have gone through a face between the places looked at.
    """
    *_, z, p = sums
    middle, half = ends.mean(axis=1), np.ptp(ends, axis=1) / 2
    inside = np.abs(z - middle) <= (1 - max(RIM, 1.5 / n)) * half
    rim = ~inside.all(axis=1)
    held = float(p[rim] @ np.sum(z[rim] ** 2, axis=1))
    if held > tol:
        raise TooCoarse(
            f"the rim of the grid holds {held:.1e} of E|z|^2, more than "
            f"{tol:.1e}: f goes on beyond it"
        )
    return sums


def _sums(log_g, ends, n, fall):
    """ln Z, mean, covariance in z, and what hangs on cells where f ends, as at
    a wall; nodes with a share of the mass, shares.
    """
    z = nodes([a + (b - a) * (np.arange(n) + 0.5) / n for a, b in ends])
    value = [log_g(z[k : k + BLOCK]) for k in range(0, len(z), BLOCK)]
    value = np.concatenate(value)
    top = value.max()
    if not np.isfinite(top):
        raise ValueError(f"the largest ln f must be finite; got {top:g}")
    p = np.exp(value - top)
    total = p.sum()
    cell = np.prod((ends[:, 1] - ends[:, 0]) / n)
    kept = value > top - fall - _pull(np.abs(z).max(axis=1), z.shape[1])
    inside = binary_erosion(kept.reshape((n,) * len(ends)), border_value=1)
    wall = ~inside.ravel()[kept]
    z, p = z[kept], p[kept] / total
    mean = p @ z
    C = (z - mean).T @ ((z - mean) * p[:, None])
    lost = float(p[wall] @ (1 + np.sum(z[wall] ** 2, axis=1)))
    return top + np.log(total * cell), mean, C, lost, z, p
