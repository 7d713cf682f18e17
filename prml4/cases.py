"""Cases: sets of arguments, each with the reader's answer and the book's."""

import copy
import warnings
from typing import NamedTuple

import numpy as np

SAME = 1e-7  # relative difference of answers that count as equal
CLOSE = 1e-4  # and of answers that only an approximation separates
FAULTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError,
    RuntimeError, TypeError, ValueError, Warning,
)  # fmt: skip


class Case(NamedTuple):
    """One set of arguments, and the two answers."""

    args: tuple
    yours: np.ndarray
    right: np.ndarray


def call(f, args):
    """f on private copies of its arguments, quietly."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return f(*copy.deepcopy(args)) if callable(f) else f


def array(value):
    """Numbers as floats; anything else as it is."""
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError):
        return value


def case_at(yours, right, args):
    """A Case, or None where one of the two has no usable answer."""
    try:
        pair = array(call(yours, args)), array(call(right, args))
    except FAULTS:
        return None
    usable = all(isinstance(v, np.ndarray) and v.size for v in pair)
    if not usable or pair[0].shape != pair[1].shape:
        return None
    return Case(args, *pair) if np.all(np.isfinite(pair)) else None


def cases_near(yours, right, points):
    """The points given, and three random ones near each of the first two."""
    rng = np.random.default_rng(0)
    near = [
        tuple(moved(x, rng) for x in args)
        for args in points[:2]
        for _ in range(3)
        if callable(yours) and callable(right)
    ]
    found = [case_at(yours, right, args) for args in points + near]
    return [c for c in found if c is not None]


def moved(x, rng):
    """A random neighbour of the same nature; labels and counts stay."""
    if not isinstance(x, float | np.ndarray) or np.asarray(x).dtype.kind != "f":
        return x
    a = np.asarray(x)
    if discrete(a) or not a.size:
        return x
    noise = 0.3 * rng.standard_normal(a.shape)
    if a.ndim == 2 and a.shape[0] == a.shape[1] and np.allclose(a, a.T):
        d = np.exp(noise[0])
        return a * np.outer(d, d)
    if np.all((a > 0) & (a < 1)):
        return (1 / (1 + np.exp(-np.log(a / (1 - a)) - noise)))[()]
    if np.all(a > 0):
        return (a * np.exp(noise))[()]
    return (a + noise * (np.std(a) or np.max(np.abs(a)) or 1.0))[()]


def discrete(a):
    """Labels: 0 and 1, or -1 and 1, or rows that sum to 1; not all zeros."""
    if np.all(np.isin(a, (0, 1))) or np.all(np.isin(a, (-1, 1))):
        return a.ndim == 0 or bool(np.any(a))
    rows = a.ndim == 2 and a.shape[1] > 1 and np.all(a >= 0)
    return bool(rows and np.allclose(a.sum(axis=1), 1))


def all_equal(cases, among=None, within=SAME):
    """max |yours - right| <= within * max |right|, for every case.

    The size counts as at least 1e-6 of what is typical `among` the cases.
    """
    least = 1e-6 * max(np.max(np.abs(c.right)) for c in among or cases)
    return all(
        np.max(np.abs(c.yours - c.right))
        <= within * max(np.max(np.abs(c.right)), least)
        for c in cases
    )


def close(cases):
    """So close that the formula is probably not to blame."""
    return all_equal(cases, within=CLOSE)
