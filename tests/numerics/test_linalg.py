"""numerics.linalg against dense algebra."""

import numpy as np
import pytest

from prml4.numerics import linalg
from prml4.numerics.validate import Indefinite

BOTH = pytest.mark.parametrize(
    ("kind", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)]
)


@pytest.fixture
def matrix(rng):
    """Symmetric and positive definite, of an odd size."""
    A = rng.normal(size=(13, 20))
    return A @ A.T


@BOTH
def test_a_root_of_the_inverse(matrix, rng, kind, rtol):
    """B = I + T C T, L L^T = B, A^T A = B^{-1}, ln|B|; C is left alone."""
    T, C = rng.uniform(0, 2, 13), matrix.astype(kind)
    B = np.eye(13) + T[:, None] * matrix * T
    np.testing.assert_allclose(linalg.scaled(C, T), B, rtol=10 * rtol)
    L = linalg.cholesky(linalg.scaled(C, T))
    assert L.dtype == kind and np.all(np.triu(L, 1) == 0)
    np.testing.assert_allclose(L @ L.T, B, atol=100 * rtol)
    A, d, log_det = linalg.inverse_root(linalg.scaled(C, T))
    assert np.all(d == 1) and np.all(np.triu(A, 1) == 0)
    np.testing.assert_allclose(A.T @ A, np.linalg.inv(B), atol=rtol)
    assert log_det == pytest.approx(np.linalg.slogdet(B)[1], rel=rtol)
    np.testing.assert_array_equal(C, matrix.astype(kind))
    v = rng.normal(size=13)
    np.testing.assert_allclose(B @ linalg.solve(L, v), v, atol=1e3 * rtol)
    signs = np.where(np.arange(13) < 3, -1.0, 1.0)
    other = linalg.scaled(C, 0 * T, signs)
    np.testing.assert_array_equal(other, np.diag(signs))


def test_a_root_with_signs(matrix):
    """Two negative eigenvalues, which must be asked for."""
    B = matrix - 5 * np.eye(13)
    many = int(np.sum(np.linalg.eigvalsh(B) < 0))
    A, d, log_det = linalg.inverse_root(B.copy(), many)
    np.testing.assert_allclose(A.T @ (d[:, None] * A), np.linalg.inv(B))
    assert log_det == pytest.approx(np.linalg.slogdet(B)[1])
    for wrong in {1, 2, 3} - {many}:
        with pytest.raises(Indefinite, match=f"{wrong} negative eigenvalues"):
            linalg.inverse_root(B.copy(), wrong)
    assert many > 0
    with pytest.raises(Indefinite, match="I . T C T must be positive"):
        linalg.cholesky(B)


@pytest.mark.parametrize("size", [1, 4, 13, 200])
def test_halves_of_symmetric_matrices(matrix, rng, size):
    """A triangle is enough, whatever the blocks."""
    lower, v = np.tril(matrix), rng.normal(size=13)
    np.testing.assert_allclose(linalg.times(lower, v), matrix @ v)
    found = linalg.mirrored(lower + np.triu(np.ones((13, 13)), 1), size)
    np.testing.assert_array_equal(found, matrix)
