"""Fixed bases: features phi(x) of the inputs, PRML 3.1 and 4.3.1.

    X      (N, D)  inputs, one row per observation; (N,) if D = 1
    basis          X -> its features (N, m), without the constant one
    Phi    (N, M)  design matrix, M = 1 + m, the constant first

A basis is a function; `design` puts several side by side, `chain` one after
another.
"""

from itertools import combinations_with_replacement

import numpy as np

from prml4 import validate
from prml4.data import with_bias
from prml4.special import sigmoid


def polynomial(degree):
    """phi_j(x) = x^j, j = 1, ..., degree, PRML 3.1; all monomials for D > 1.

    By degree: x1, x2, x1 x1, x1 x2, x2 x2, ...
    """
    if degree != int(degree) or degree < 1:
        raise ValueError(f"degree must be a whole number >= 1; got {degree}")

    def basis(X):
        X = _columns(X)
        which = [
            c
            for d in range(1, int(degree) + 1)
            for c in combinations_with_replacement(range(X.shape[1]), d)
        ]
        return np.column_stack([X[:, c].prod(axis=1) for c in which])

    return basis


def gaussian(centres, scale):
    """phi_j(x) = exp(-|x - mu_j|^2 / (2 s^2)), PRML (3.4)."""
    centres = _columns(centres)
    _positive(scale)

    def basis(X):
        X = _columns(X)
        if X.shape[1] != centres.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} columns, the centres {centres.shape[1]}"
            )
        gap = X[:, None, :] - centres
        return np.exp(-0.5 * np.sum((gap / scale) ** 2, axis=-1))

    return basis


def sigmoidal(centres, scale):
    """phi_j(x) = sigma((x - mu_j) / s), PRML (3.5); for each column of X."""
    centres = np.atleast_1d(validate.real("centres", centres))
    centres = validate.vector("centres", centres, centres.size, "feature")
    _positive(scale)

    def basis(X):
        z = (_columns(X)[:, :, None] - centres) / scale
        return sigmoid(z).reshape(len(z), -1)

    return basis


def chain(*bases):
    """X -> phi_2(phi_1(X)): each basis is fed the features of the last."""

    def basis(X):
        for phi in bases:
            X = phi(X)
        return X

    return basis


def design(X, *bases):
    """Phi = (1, phi_1(X), phi_2(X), ...) with phi_0(x) = 1, PRML (3.3)."""
    return with_bias(np.column_stack([phi(X) for phi in bases]))


def _columns(X):
    """X as a matrix (N, D)."""
    X = validate.real("X", X)
    return validate.design(X[:, None] if X.ndim == 1 else X, "X")


def _positive(scale):
    """Raise a ValueError unless 0 < scale < inf."""
    if not 0 < scale < np.inf:
        raise ValueError(f"scale must be > 0 and finite; got {scale}")
