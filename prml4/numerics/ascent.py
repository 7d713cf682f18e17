"""Climbing a function of a few variables that may not exist everywhere.

    objective  x -> (value, g), or a LinAlgError where there is neither
    x, g       (P,)  a point, and the gradient there
    B          (P, P)  approximate inverse of minus the Hessian

Made for log evidences by logarithms of hyperparameters: a step is a factor.
"""

from typing import NamedTuple

import numpy as np

from prml4.numerics.descent import bfgs

STEP = 2.0  # the longest step for any x_j: a factor exp(2)
WIDEST = np.log(1e12)  # largest |x_j| that is tried
TRIALS = 25  # of a step, at most


class Summit(NamedTuple):
    """Where an ascent stopped: x, value, g, and how it came there."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    converged: bool
    trace: tuple[float, ...]
    path: np.ndarray
    evaluations: int


def ascend(objective, x, tol, max_iter):
    """x <- x + eta B g, BFGS, until max |g_j| <= tol max(1, |value|)."""
    value, g = objective(x)
    if not (np.isfinite(value) and np.isfinite(g).all()):
        raise ValueError(
            f"the start must have a value and a gradient; got {value} and {g} "
            f"at {x}"
        )
    B = np.eye(len(x)) / max(np.abs(g).max(), 1.0)
    path, trace, calls, moved = [x], [value], 1, True
    while True:
        done = np.abs(g).max() <= tol * max(1.0, abs(value))
        if done or not moved or len(trace) > max_iter:
            break
        step = B @ g
        step /= max(1.0, np.abs(step).max() / STEP)
        length, new, new_g, tried = search(objective, x, step, value, g)
        calls, moved = calls + tried, length > 0
        if moved:
            s, y = length * step, g - new_g
            B = updated(B, s, y, first=len(trace) == 1)
            x, value, g = x + s, new, new_g
            path.append(x)
            trace.append(value)
    path = np.array(path)
    return Summit(x, value, g, bool(done), tuple(trace), path, calls)


def updated(B, s, y, *, first):
    """BFGS, at first from (s^T y / y^T y) I; B itself where s^T y <= 0."""
    sy = s @ y
    if sy <= 0:
        return B
    return bfgs(np.eye(len(s)) * (sy / (y @ y)) if first else B, s, y)


def search(objective, x, step, value, g):
    """A step length by the weak Wolfe conditions; Lewis and Overton (2013).

    What cannot be evaluated counts as -inf. Returns the length, 0 if nothing
    is better, with value, gradient and number of evaluations.
    """
    slope, low, high = g @ step, 0.0, np.inf
    best, length, tried = (0.0, value, g), 1.0, 0
    while tried < TRIALS and high - low > 1e-8 * length:
        new, new_g = _try(objective, x + length * step)
        tried += 1
        if not new >= value + 1e-4 * length * slope:
            high = length
        else:
            best, low = (length, new, new_g), length
            if new_g @ step <= 0.9 * slope:
                break
        length = (low + high) / 2 if high < np.inf else 2 * low
    return *best, tried


def _try(objective, x):
    """Value and gradient, or -inf where there is none."""
    if np.abs(x).max() > WIDEST:
        return -np.inf, x
    try:
        value, g = objective(x)
    except np.linalg.LinAlgError:
        return -np.inf, x
    return (value, g) if np.isfinite(g).all() else (-np.inf, x)
