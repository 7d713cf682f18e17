"""Rows of a matrix X (N, D) a block at a time, while they stay in cache."""

import numpy as np

SIZE = 2**19  # bytes of X in a block


def length(D):
    """n = max(SIZE / 8 D, 1): how many rows of D numbers make a block."""
    return max(SIZE // (8 * D), 1)


def rows(X, observed=None):
    """X -> slices of rows, these rows, and those of the mask if any.

    What the mask does not call observed is 0.
    """
    n = length(X.shape[1])
    for start in range(0, len(X), n):
        some = slice(start, start + n)
        if observed is None:
            yield some, X[some], None
        else:
            yield some, np.where(observed[some], X[some], 0.0), observed[some]


def by_class(X, t, K):
    """k, the numbers of some rows with t_n = k, a copy of them; k < K."""
    for k in range(K):
        for some, x in copies(X, np.flatnonzero(t == k)):
            yield k, some, x


def copies(X, numbers):
    """numbers -> some of them, X[some]: which the next block overwrites."""
    size = min(length(X.shape[1]), len(numbers))
    buffer = np.empty((size, X.shape[1]))
    for start in range(0, len(numbers), max(size, 1)):
        some = numbers[start : start + size]
        if X.flags.c_contiguous:
            out = buffer[: len(some)]
            yield some, X.take(some, axis=0, out=out, mode="clip")
        else:  # from which take would copy all of X
            yield some, X[some]


def softmax(a, out=None):
    """y_k = exp(a_k) / sum_j exp(a_j), PRML (4.62); a (K, n) is used up.

    For K = 2 one exponential is enough: 1 / (1 + e) and 1 / (1 + 1 / e).
    """
    out = a if out is None else out
    if len(a) == 2:
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            e = np.exp(a[0] - a[1])
            np.reciprocal(1.0 + e, out=out[1])
            np.reciprocal(1.0 + np.reciprocal(e, out=e), out=out[0])
        return out
    a -= a.max(axis=0)
    np.exp(a, out=a)
    return np.divide(a, a.sum(axis=0), out=out)
