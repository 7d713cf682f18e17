"""models.covariance: factors, what is singular, shrinkage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from prml4.models import covariance


def draw(rng, K=2, D=4):
    """A stack of positive definite matrices in unequal units."""
    A = rng.standard_normal((K, D, D)) * np.logspace(-3, 3, D)[:, None]
    return A @ np.swapaxes(A, 1, 2)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_factors_are_triangular_and_multiply_to_sigma(seed, D):
    """Of a stack, of one; from parameters and from data."""
    S = draw(np.random.default_rng(seed), 2, D)
    scale = np.sqrt(np.einsum("kii->ki", S))
    if (
        np.abs(np.linalg.eigvalsh(S / scale[:, None] / scale[..., None])).min()
        < 1e-8
    ):
        return
    given_, L = covariance.known(S, D, 2)
    np.testing.assert_array_equal(given_, S)
    np.testing.assert_array_equal(covariance.known(S[1], D)[1], L[1])
    mu = np.ones((2, D)) * scale
    np.testing.assert_array_equal(covariance.estimated(S, mu), L)
    np.testing.assert_array_equal(covariance.estimated(S[0], mu), L[0])
    np.testing.assert_array_equal(L, np.tril(L))
    assert (np.einsum("kii->ki", L) > 0).all()
    back = L @ np.swapaxes(L, 1, 2)
    gap = np.abs(back - S) / scale[:, None] / scale[..., None]
    assert gap.max() < 1e-14


def pair(rho):
    """A correlation, in units of 1 and 1000."""
    s = np.array([1.0, 1e3])
    return np.array([[1, rho], [rho, 1]]) * np.outer(s, s)


def test_a_variance_that_has_lost_digits_is_none():
    """Below 2e-308 doubles are coarse: 1e-322 has two digits."""
    for size, good in [(1e-153, True), (1e-155, False)]:
        S = pair(0.5) * size**2
        if good:
            covariance.known(S, 2)
            continue
        with pytest.raises(ValueError, match="feature 0 has no variance$"):
            covariance.known(S, 2)
        with pytest.raises(ValueError, match="feature 0 is constant"):
            covariance.estimated(S, np.zeros((3, 2)))


def test_a_share_of_the_variance_decides():
    """The last share is 1 - rho^2, on both sides of the bound."""
    for share, good in [(1.01, True), (0.99, False)]:
        S = pair(np.sqrt(1 - share * covariance.SINGULAR))
        if good:
            covariance.known(S, 2)
            covariance.estimated(S, np.zeros((3, 2)))
            continue
        with pytest.raises(ValueError, match="^Sigma must be .*1 has no varia"):
            covariance.known(S, 2)
        with pytest.raises(ValueError, match="the shared.*1 is a combination"):
            covariance.estimated(S, np.zeros((3, 2)))


def test_rounding_of_a_mean_decides_what_is_constant():
    """A deviation of 2^-48 of the largest mean, on both sides."""
    mu = np.array([[0.0, -(2.0**20)], [0.0, 1.0]])
    for factor, good in [(1.01, True), (0.99, False)]:
        S = np.diag([1.0, (factor * 2.0**-28) ** 2])
        if good:
            covariance.estimated(S, mu)
            continue
        with pytest.raises(ValueError, match="shared .*feature 1 is constant"):
            covariance.estimated(S, mu)
        with pytest.raises(ValueError, match="class 0 .*feature 1 is constant"):
            covariance.estimated(np.stack([S, S]), mu)
        covariance.estimated(np.stack([S, S]), mu[[1, 1]])  # each its own mean
        covariance.known(S, 2)  # given, not measured


def test_the_first_culprit_is_named():
    """Class and feature; a pivot that is small, and one that is no number."""
    good, bad = np.eye(3), np.eye(3)
    bad[1, 2] = bad[2, 1] = 1.0
    with pytest.raises(ValueError, match="class 1 .*feature 2 is a comb.*pool"):
        covariance.estimated(np.stack([good, bad]), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="of class 1 must .*feature 2 has no"):
        covariance.known(np.stack([good, bad]), 3, 2)
    bad[1, 2] = bad[2, 1] = 2.0  # no covariance at all
    with pytest.raises(
        ValueError, match="definite; feature 2 has no varian.*l"
    ):
        covariance.known(bad, 3)
    bad[1, 1] = -1.0
    with pytest.raises(
        ValueError, match="definite; feature 1 has no variance$"
    ):
        covariance.known(bad, 3)


@pytest.mark.parametrize(
    "Sigma, K, said",
    [
        (np.eye(2), None, r"shape \(3, 3\); got \(2, 2\)"),
        (np.eye(3)[None], None, r"shape \(3, 3\); got \(1, 3, 3\)"),
        (np.eye(3)[None], 2, r"\(3, 3\) or \(2, 3, 3\); got \(1, 3, 3\)"),
        (np.tri(3), None, "symmetric"),
        # a Cholesky factor; next to 1e18 half a covariance was no gap
        (
            np.diag([1e18, 1, 1]) + [[0, 0, 0], [9e8, 0, 0], [0, 0, 0]],
            None,
            "as correlations, must be symmetric; got a gap of 9.0e-01",
        ),
        (
            np.diag([1e-18, 1, 1]) + [[0, 0, 0], [9e-10, 0, 0], [0, 0, 0]],
            None,
            "as correlations, must be symmetric; got a gap of 9.0e-01",
        ),
        (np.diag([0.0, 1, 1]), None, "positive definite"),
        (np.eye(3) * np.nan, None, "finite"),
        ("a", None, "real numbers"),
    ],
)
def test_given_matrices_are_checked(Sigma, K, said):
    """Shape, symmetry, numbers."""
    with pytest.raises(ValueError, match=said):
        covariance.known(Sigma, 3, K)


def test_rows_enough_for_a_rank():
    """n_k = D + 1, N = D + K; one less is named with what would do."""
    covariance.enough_rows(np.array([9.0, 5.0]), 4, shared=False)
    with pytest.raises(
        ValueError, match=r"class 1 has 4 rows .*more than D = 4"
    ):
        covariance.enough_rows(np.array([9.0, 4.0, 8.0]), 4, shared=False)
    covariance.enough_rows(np.array([1.0, 3.0, 2.0]), 3, shared=True)
    with pytest.raises(ValueError, match=r"5 rows in 3 .* of 3 .*D \+ K = 6"):
        covariance.enough_rows(np.array([1.0, 3.0, 1.0]), 3, shared=True)


def test_targets_by_hand():
    """A mixture of two matrices, entry by entry."""
    S = np.array([[[4.0, 1.0], [1.0, 2.0]], [[8.0, -2.0], [-2.0, 4.0]]])
    by_hand = {
        "diagonal": [[[4, 0.75], [0.75, 2]], [[8, -1.5], [-1.5, 4]]],
        "isotropic": [[[3.75, 0.75], [0.75, 2.25]], [[7.5, -1.5], [-1.5, 4.5]]],
        "pooled": [
            [[4.75, 0.4375], [0.4375, 2.375]],
            [[7.75, -1.8125], [-1.8125, 3.875]],
        ],
    }
    for target, wanted in by_hand.items():
        found = covariance.shrink(S, 0.25, target, [0.25, 0.75])
        np.testing.assert_allclose(found, wanted, rtol=1e-15)
        if target != "pooled":
            three = covariance.shrink(S[[0, 1, 1]], 0.25, target)  # K is not D
            np.testing.assert_allclose(three[2], wanted[1], rtol=1e-15)
            one = covariance.shrink(S[0], 0.25, target)
            np.testing.assert_allclose(one, wanted[0], rtol=1e-15)
    np.testing.assert_array_equal(covariance.shrink(S, 0.0), S)


@pytest.mark.parametrize(
    "amount, target, pi, said",
    [
        (1.5, "diagonal", None, r"one number in \[0, 1\]; got 1.5"),
        (-1e-9, "diagonal", None, r"in \[0, 1\]; got -1e-09"),
        (np.nan, "diagonal", None, "got nan"),
        ([0.1, 0.2], "diagonal", None, r"one number .*got \[0.1, 0.2\]"),
        ("half", "diagonal", None, "shrinkage must hold real numbers"),
        (0.1, "round", None, "target must be one of .*pooled.*got 'round'"),
        (0.1, "pooled", None, r"pi must have shape \(2,\)"),
        (0.1, "pooled", [0.5, 0.6], "pi must hold positive .*sum 1"),
    ],
)
def test_shrinkage_that_is_none(rng, amount, target, pi, said):
    """Amount, target, and the priors that pooling needs."""
    with pytest.raises(ValueError, match=said):
        covariance.shrink(draw(rng), amount, target, pi)


def test_one_matrix_has_nothing_to_be_pooled_with(rng):
    """The first target is for a stack."""
    with pytest.raises(ValueError, match="one of 'diagonal', 'isotropic'; got"):
        covariance.shrink(draw(rng)[0], 0.1, "pooled", [0.5, 0.5])
    assert covariance.shrinkage(1, "isotropic", shared=True) == 1.0
    assert covariance.shrinkage(0, "pooled", shared=False) == 0.0


def test_log_gaussian_is_scipys(rng):
    """With z = L^{-1} (x - mu) and ln |L|, rows at a time."""
    A, mu, x = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
    L = np.linalg.cholesky(A @ A.T)
    z = np.linalg.solve(L, x - mu)
    found = covariance.log_gaussian(z[None], np.log(np.diag(L)).sum())
    true = stats.multivariate_normal(mu, A @ A.T).logpdf(x)
    np.testing.assert_allclose(found, [true])
