"""Fixed bases: features phi(x) of the inputs, PRML 3.1 and 4.3.1.

    X      (N, D)  inputs, one row per observation; (N,) if D = 1
    basis          X -> its features (N, m), without the constant one
    Phi    (N, M)  design matrix, M = 1 + m, the constant first

A basis is a function; `design` puts several side by side.
"""

from itertools import combinations_with_replacement

import numpy as np

from prml4.models.data import with_bias
from prml4.numerics import validate
from prml4.numerics.special import sigmoid


def polynomial(degree):
    """phi_j(x) = x^j, j = 1, ..., degree, PRML 3.1; all monomials for D > 1.

    By degree: x1, x2, x1 x1, x1 x2, x2 x2, ...
    """
    degree = validate.whole("degree", degree)

    def basis(X):
        X = validate.points(X)
        which = [
            c
            for d in range(1, degree + 1)
            for c in combinations_with_replacement(range(X.shape[1]), d)
        ]
        with np.errstate(over="ignore", under="ignore"):
            Z = np.column_stack([X[:, c].prod(axis=1) for c in which])
        return validate.finite(f"X to the power {degree}", Z)

    return basis


def gaussian(centres, scale):
    """phi_j(x) = exp(-|x - mu_j|^2 / (2 s^2)), PRML (3.4)."""
    centres = validate.points(centres, "centres").copy()
    scale = validate.positive("scale", scale)

    def basis(X):
        X = validate.points(X)
        if X.shape[1] != centres.shape[1]:
            raise ValueError(
                f"X must have D = {centres.shape[1]} columns, as the centres; "
                f"got shape {X.shape}"
            )
        gap = X[:, None, :] - centres
        with np.errstate(over="ignore"):  # exp(-inf) = 0
            return np.exp(-0.5 * np.sum((gap / scale) ** 2, axis=-1))

    return basis


def sigmoidal(centres, scale):
    """phi_j(x) = sigma((x - mu_j) / s), PRML (3.5); for each column of X."""
    centres = np.atleast_1d(validate.real("centres", centres)).copy()
    centres = validate.vector("centres", centres, centres.size, "feature")
    scale = validate.positive("scale", scale)

    def basis(X):
        with np.errstate(over="ignore"):  # to the ends of sigma
            z = (validate.points(X)[:, :, None] - centres) / scale
        return sigmoid(z).reshape(len(z), -1)

    return basis


def design(X, *bases):
    """Phi = (1, phi_1(X), phi_2(X), ...) with phi_0(x) = 1, PRML (3.3)."""
    return with_bias(np.column_stack([phi(X) for phi in bases]))
