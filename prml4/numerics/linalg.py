"""Symmetric matrices: roots, inverses and halves, by LAPACK in place.

    C        (N, N)  symmetric       T  (N,)  a diagonal matrix
    B        (N, N)  J + T C T, J = I but for the rows of negative sign
    L        (N, N)  lower triangular, B = L L^T
    A, d             with B^{-1} = A^T diag(d) A

In the precision of what comes in, single or double. All of it is SciPy's,
which has triangular solves: the idle threads of one BLAS get in the way of
another's.
"""

import numpy as np
from scipy.linalg import blas
from scipy.linalg.lapack import get_lapack_funcs

from prml4.numerics.validate import Indefinite


def scaled(C, T, J=1.0):
    """B = diag(J) + T C T, in memory of its own."""
    T = T.astype(C.dtype)
    B = C * T
    B *= T[:, None]
    B.flat[:: len(B) + 1] += J
    return B


def cholesky(B):
    """L with B = L L^T in the memory of B, or an Indefinite."""
    (potrf,) = get_lapack_funcs(("potrf",), (B,))
    L, stuck = potrf(B.T, lower=1, clean=1, overwrite_a=1)
    if stuck:
        raise Indefinite(
            "I + T C T must be positive definite; got none, for rounding in C "
            "exceeds 1: scale it down, or add a small multiple of I to it"
        )
    return L


def inverse_root(B, negative=0):
    """A, d with B^{-1} = A^T diag(d) A, and ln|B|; in the memory of B.

    A = L^{-1} and d = 1, or A = U^T and d = 1 / lambda where B is to have so
    many negative eigenvalues. Or an Indefinite.
    """
    if negative:
        values, U = np.linalg.eigh(B)
        if np.sum(values < 0) != negative:
            raise Indefinite(f"B must have {negative} negative eigenvalues")
        return U.T.copy(), 1 / values, float(np.log(np.abs(values)).sum())
    L = cholesky(B)
    log_det = 2 * float(np.log(L.diagonal()).sum())
    (trtri,) = get_lapack_funcs(("trtri",), (L,))
    A, _ = trtri(L, lower=1, overwrite_c=1)
    return A, np.ones(len(A), A.dtype), log_det


def times(C, v):
    """u = C v, from one triangle of C."""
    return blas.dsymv(1.0, C.T, v)


def solve(L, v):
    """(L L^T)^{-1} v in the precision of L."""
    trsv = blas.strsv if L.dtype == np.float32 else blas.dtrsv
    half = trsv(L, v.astype(L.dtype), lower=1)
    return trsv(L, half, lower=1, trans=1).astype(float)


def mirrored(A, size=128):
    """A = A^T, the lower triangle copied onto the upper one, in place."""
    N = len(A)
    for i in range(0, N, size):
        rows = slice(i, i + size)
        A[:i, rows] = A[rows, :i].T
        block = A[rows, rows]
        block[:] = np.tril(block) + np.tril(block, -1).T
    return A
