"""Rows of a matrix X (N, D) a block at a time, while they stay in cache."""

import numpy as np

SIZE = 2**19  # bytes of X in a block


def rows(X, observed=None):
    """X -> slices of rows, these rows, and those of the mask if any.

    What the mask does not call observed is 0.
    """
    n = max(SIZE // (8 * X.shape[1]), 1)
    for start in range(0, len(X), n):
        some = slice(start, start + n)
        if observed is None:
            yield some, X[some], None
        else:
            yield some, np.where(observed[some], X[some], 0.0), observed[some]


def by_class(X, t, K):
    """k, the numbers of some rows with t_n = k, a copy of them; k < K."""
    n = max(SIZE // (8 * X.shape[1]), 1)
    for k in range(K):
        found = np.flatnonzero(t == k)
        for start in range(0, len(found), n):
            some = found[start : start + n]  # take would copy a strided X
            x = X.take(some, axis=0) if X.flags.c_contiguous else X[some]
            yield k, some, x


def softmax(a):
    """y_k = exp(a_k) / sum_j exp(a_j), PRML (4.62), in place; a (K, n)."""
    a -= a.max(axis=0)
    np.exp(a, out=a)
    a /= a.sum(axis=0)
    return a
