"""Derivatives and integrals of what a tree computes, with their errors.

    slope(f, x)            f'(x) of a number, by Richardson's rule
    gradient(f, x)         column of a number, Jacobian of a column
    integral(f, ends, d)   by a double exponential rule

Each also returns an estimate of its error. The evaluator needs many, fast;
`prml4.referee.estimate` is the careful sister for single ones.
"""

from functools import reduce
from itertools import product

import numpy as np
from scipy import special

from prml4.referee.tex import Mismatch
from prml4.referee.values import column

EPS = float(np.finfo(float).eps)
LEAST, ROWS = 5, 10  # rows of the tableau; the step halves from row to row
TEETH = 1e-3  # of a slope, that the error of the finest row may reach
SLOW = 1 / 400  # of the change at two halvings that a third may leave
ALL = 0.3  # of an integral, that its error must not reach
BEYOND = 10.0  # what lies beyond the last nodes, at most, per what they have
NODES = {1: (321, (3.2, 3.9, 3.0)), 2: (61, (3.0, 3.0, 2.2))}
# per dimension: how many, and how far out with 0, 1, 2 ends at infinity


def slope(f, x):
    """(f'(x), error): the best entry of Richardson's tableau.

    But not one that finer steps deny: a long one may be a period of f.
    """
    h = 0.1 * max(1.0, abs(x)) if abs(x) > 0.1 or x == 0 else 0.2 * abs(x)
    row, best, size, here, jumps = [], (0.0, np.inf), 0.0, f(x), []
    for _ in range(ROWS):
        right, left = f(x + h), f(x - h)
        size = max(size, np.max(np.abs(right)))
        new = [(right - left) / (2 * h)]
        jumps.append(np.abs(right - 2 * here + left) / h)
        for k, old in enumerate(row):
            new.append(new[k] + (new[k] - old) / (4 ** (k + 1) - 1))
        if row:
            error = np.abs(new[-1] - row[-1]) + EPS * size / h
            off = np.abs(new[-1] - best[0]) > 10 * (error + best[1])
            if np.any(off) or not np.max(error) > np.max(best[1]):
                best = new[-1], error
            if len(row) >= LEAST and np.max(error) > 10 * np.max(best[1]):
                break
        row, h = new, h / 2
    noise = EPS * size / h
    lost = (error > TEETH * np.abs(new[-1])) & (error > 1e3 * noise)
    jump = kink(jumps[-3:], noise)
    return best[0], np.maximum(best[1], np.where(lost, error, jump))


def kink(jumps, noise):
    """s+ - s- where it stays as h falls: right - 2 f + left is O(h^2) else."""
    low, high = np.min(jumps, axis=0), np.max(jumps, axis=0)
    stays = (len(jumps) == 3) & (low > 0.9 * high) & (low > 1e3 * noise)
    return np.where(stays, high, 0.0)


def gradient(f, x):
    """(value, largest error); a matrix for a matrix x."""
    x = np.asarray(x, float)

    def along(i):
        def g(value):
            moved = x.copy()
            moved[i] = value
            return np.asarray(f(moved[()]), float)

        return slope(g, float(x[i]))

    found = [along(i) for i in np.ndindex(x.shape)]
    value, error = (np.array(side) for side in zip(*found, strict=True))
    error = float(np.max(error))
    if value.ndim == 1:
        return column(value.reshape(x.shape)), error
    if x.ndim == 0:
        return column(value[0]), error
    if x.ndim > 1 or value.shape[2] != 1:
        raise Mismatch("a derivative with more than two axes")
    return column(value[:, :, 0].T), error


def steepness(f, x):
    """max |f(x + h) - f(x)| / |h|, a tenth away: what a zero is small to."""
    x = np.asarray(x, float)
    here, out = np.asarray(f(x[()]), float), 0.0
    for i in np.ndindex(x.shape):
        for h in (0.1 * max(1.0, abs(x[i])), -0.1 * max(1.0, abs(x[i]))):
            moved = x.copy()
            moved[i] += h
            gap = np.abs(np.asarray(f(moved[()]), float) - here)
            out = max(out, float(np.nan_to_num(np.max(gap / abs(h)))))
    return out


def rule(low, high, nodes, reach):
    """(x, w): sum w f(x) = int f; every second node is a rule as well."""
    reach = reach[int(np.isinf(low)) + int(np.isinf(high))]
    u = np.linspace(-reach, reach, nodes)
    s, ds = np.pi / 2 * np.sinh(u), np.pi / 2 * np.cosh(u)
    if np.isinf(low) and np.isinf(high):
        x, w = np.sinh(s), ds * np.cosh(s)
    elif np.isinf(high):
        x, w = low + np.exp(s), ds * np.exp(s)
    elif np.isinf(low):
        x, w = high - np.exp(s), ds * np.exp(s)
    else:
        x = low + (high - low) * special.expit(2 * s)
        w = (high - low) / 2 * ds / np.cosh(s) ** 2
    return x, w * (u[1] - u[0])


def integral(f, ends, dims, finer=1):
    """(int f, largest error) over (low, high)^dims; f returns an array.

    Halving the step about squares the error; we count on the power 1.5. At a
    kink a quarter is left: then that counts, on a line with a finer rule.
    """
    if dims not in NODES:
        raise Mismatch(f"an integral over {dims} dimensions")
    nodes, reach = NODES[dims]
    x, w = rule(*ends, finer * (nodes - 1) + 1, reach)
    values = np.array([f(np.array(at)) for at in product(x, repeat=dims)])
    values = values.reshape((len(x),) * dims + values.shape[1:]).astype(float)
    w = reduce(np.multiply.outer, [w] * dims)
    w = w.reshape(w.shape + (1,) * (values.ndim - dims))
    terms = np.nan_to_num(w * values, nan=0.0, posinf=0.0, neginf=0.0)
    axes = tuple(range(dims))
    fine, coarse, rough = (
        k**dims * np.sum(terms[(slice(None, None, k),) * dims], axes)
        for k in (1, 2, 8)
    )
    scale = np.max(np.sum(np.abs(terms), axes))
    changes = np.abs([fine - coarse, coarse - rough]) / (scale or 1.0)
    error, slow = left(*np.minimum(changes, 1.0), finer)
    if slow and dims == finer == 1:
        return integral(f, ends, dims, 4)
    error = float(np.max(error)) * scale + unseen(w, values, dims, finer)
    if not error < ALL * scale and ends[0] < ends[1]:
        raise Mismatch("an integral diverges, or has a peak between the nodes")
    return fine, error


def unseen(w, values, dims, finer):
    """What lies beyond the last nodes, and where there is no value.

    Beyond is a geometric series, or a few times what the last nodes have; no
    value is worth that of a node next to it, or the next but one.
    """
    seen = np.nan_to_num(np.abs(values), posinf=0.0)
    near = [np.roll(seen, k, i) for k in (1, 2, -1, -2) for i in range(dims)]
    gone = np.abs(w) * np.where(np.isfinite(values), 0.0, np.max(near, axis=0))
    layer = np.indices(values.shape[:dims])
    layer = np.minimum(layer, len(values) - 1 - layer).min(axis=0)
    terms = np.nan_to_num(np.abs(w) * seen)
    rim, next_ = (np.max(np.sum(terms[layer == k], axis=0)) for k in (0, 1))
    series = next_ / (next_ - rim) if rim < next_ else np.inf
    beyond = max(BEYOND * finer, series) * rim if rim else 0.0
    return float(beyond + np.max(np.sum(gone, tuple(range(dims)))))


def left(gap, before, finer):
    """What halving the step may have left, and whether that was slow."""
    slow = (gap > SLOW * before) & (gap > 1e4 * EPS)
    kinked = np.maximum(gap, before / 16) / 3
    return np.where(slow | (finer > 1), kinked, gap**1.5) + EPS, np.any(slow)
