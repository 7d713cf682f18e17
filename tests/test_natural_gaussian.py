"""prml4.natural_gaussian: vectors that stand for a mean and a covariance."""

import numpy as np
import pytest
from scipy import stats

from prml4 import natural_gaussian
from prml4.estimate import partials


@pytest.fixture(params=[1, 2, 3, 4])
def usual(request, rng):
    """A mean and a covariance in D dimensions."""
    D = request.param
    A = rng.standard_normal((D, D))
    return rng.standard_normal(D), A @ A.T + np.eye(D)


def products(X):
    """(x, x_i x_j), i >= j, one pair after the other."""
    D = X.shape[1]
    pairs = [X[:, i] * X[:, j] for i in range(D) for j in range(i + 1)]
    return np.column_stack([X, *pairs])


def test_log_density_is_scipys(usual, rng):
    """log g + eta^T u - D log(2 pi) / 2."""
    mu, S = usual
    eta = natural_gaussian.natural(mu, S)
    X = rng.standard_normal((5, len(mu)))
    found = natural_gaussian.log_g(eta) + products(X) @ eta
    found -= len(mu) * np.log(2 * np.pi) / 2
    expected = stats.multivariate_normal(mu, S).logpdf(X)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_mean_holds_both_moments(usual):
    """E[x] and E[x_i x_j] = S_ij + mu_i mu_j, and back."""
    mu, S = usual
    eta = natural_gaussian.natural(mu, S)
    m = natural_gaussian.mean(eta)
    D = len(mu)
    pairs = [S[i, j] + mu[i] * mu[j] for i in range(D) for j in range(i + 1)]
    np.testing.assert_allclose(m, [*mu, *pairs], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(natural_gaussian.from_mean(m), eta, rtol=1e-9)


def test_moments_are_derivatives(usual):
    """-grad and -hess of log g, by differences that know their error."""
    eta = natural_gaussian.natural(*usual)
    slope, _ = partials(lambda eta: -natural_gaussian.log_g(eta), eta)
    m = natural_gaussian.mean(eta)
    np.testing.assert_allclose(m, slope.value, rtol=1e-8, atol=1e-9)
    slope, _ = partials(natural_gaussian.mean, eta)
    C = natural_gaussian.covariance(eta)
    np.testing.assert_allclose(C, slope.value, rtol=1e-7, atol=1e-8)


def test_gap_is_a_smallest_eigenvalue(usual):
    """Of S in units of sqrt(E[x_i^2]); negative outside, zero on the edge."""
    mu, S = usual
    D = len(mu)
    m = natural_gaussian.mean(natural_gaussian.natural(mu, S))
    size = np.sqrt(np.diag(S) + mu**2)
    expected = np.linalg.eigvalsh(S / np.outer(size, size))[0]
    assert natural_gaussian.gap(m) == pytest.approx(expected, rel=1e-9)
    point = products(mu[None])[0]
    assert natural_gaussian.gap(point) == pytest.approx(0, abs=1e-14)
    assert natural_gaussian.gap(2 * point - m) < 0
    assert natural_gaussian.gap(np.zeros_like(m)) == 0
    assert D * (D + 3) // 2 == len(m)


def test_what_is_no_gaussian():
    """log g = -inf; moments of nothing are refused."""
    for eta in ([0.0, 0.0], [1.0, 1.0], [0.0, 0.0, -1.0, 3.0, -1.0]):
        eta = np.array(eta)
        assert natural_gaussian.log_g(eta) == -np.inf
        for function in (natural_gaussian.mean, natural_gaussian.covariance):
            with pytest.raises(ValueError, match="positive definite; got"):
                function(eta)
    with pytest.raises(ValueError, match="positive definite; got"):
        natural_gaussian.natural(np.zeros(2), [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"S must have shape \(2, 2\)"):
        natural_gaussian.natural(np.zeros(2), np.eye(3))


def test_many_dimensions(rng):
    """The size of the matrix is found from that of the vector."""
    mu, S = rng.standard_normal(20), np.diag(np.arange(1.0, 21.0))
    m = natural_gaussian.mean(natural_gaussian.natural(mu, S))
    np.testing.assert_allclose(m, products(mu[None])[0] + products_of(S))


def products_of(S):
    """Zeros for x, S_ij for x_i x_j."""
    pairs = [S[i, j] for i in range(len(S)) for j in range(i + 1)]
    return np.append(np.zeros(len(S)), pairs)
