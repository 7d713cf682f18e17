"""The likelihoods against differences, long arithmetic and their own sums."""

import mpmath as mp
import numpy as np
import pytest

from prml4 import estimate
from prml4.likelihoods import LOGISTIC, PROBIT, log_likelihood

BOTH = pytest.mark.parametrize(
    "likelihood", [LOGISTIC, PROBIT], ids=lambda value: value.name
)
TINY = np.finfo(float).tiny
TAILS = np.concatenate([np.linspace(-15, 15, 25), [-1e-9, 0.5]])


def exact(name, m):
    """ln p at m by its definition, in long arithmetic."""
    if name == "logistic":
        return -mp.log1p(mp.exp(-m))
    if m < 0:
        return mp.log(mp.erfc(-m / mp.sqrt(2)) / 2)
    return mp.log1p(-mp.erfc(m / mp.sqrt(2)) / 2)


@BOTH
@pytest.mark.parametrize("t", [0, 1])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_each_derivative_is_the_difference_of_the_one_before(
    likelihood, t, order
):
    """For |f| <= 15, at both targets."""
    for f in TAILS:
        terms = likelihood.log_p(f, t)
        slope = estimate.derivative(
            lambda x: likelihood.log_p(x, t)[order - 1], f
        )
        miss = abs(terms[order] - slope.value)
        assert miss <= slope.error + 1e-12 * abs(slope.value) + 1e-300


@BOTH
@pytest.mark.parametrize("t", [0, 1])
def test_all_four_agree_with_long_arithmetic_to_40(likelihood, t):
    """Differences of step 1e-30 in 150 digits know none of our formulas."""
    s = 2 * t - 1
    for f in [-40.0, -25.5, -8.0, -1.0, -0.0625, 0.0, 0.5, 3.0, 17.0, 40.0]:
        terms = likelihood.log_p(f, t)
        with mp.workdps(150):
            oracle = [
                mp.diff(
                    lambda x: exact(likelihood.name, s * x),
                    mp.mpf(f),
                    k,
                    h=mp.mpf("1e-30"),
                )
                for k in range(4)
            ]
            for k in range(4):
                right = float(oracle[k])
                size = 2e-14 * (1 + abs(f)) ** 2 * abs(right)
                assert abs(terms[k] - right) <= size + TINY


@BOTH
def test_the_two_classes_share_probability_one(likelihood):
    """p(0 | f) + p(1 | f) = 1: E04 to E06 of the ledger fail here."""
    f = np.linspace(-30, 30, 41)
    up, down = (np.exp(likelihood.log_p(f, t)[0]) for t in (1, 0))
    assert up + down == pytest.approx(1, abs=1e-15)


@BOTH
def test_fewer_derivatives_are_the_same_ones(likelihood):
    """order only leaves terms out."""
    f, t = np.linspace(-6, 6, 7), np.arange(7) % 2
    whole = likelihood.log_p(f, t)
    assert len(whole) == 4
    for order in range(4):
        part = likelihood.log_p(f, t, order)
        assert len(part) == order + 1
        for a, b in zip(part, whole, strict=False):
            np.testing.assert_array_equal(a, b)


@BOTH
def test_the_curvature_never_turns_up_and_stays_finite(likelihood):
    """ln p is concave; 1e8 on the wrong side is large, not NaN."""
    f = np.array([-1e8, -1e3, -40.0, 0.0, 40.0, 1e3, 1e8])
    for t in (0, 1):
        terms = np.array(likelihood.log_p(f, t))
        assert np.isfinite(terms).all()
        assert (terms[2] <= 0).all()


@BOTH
@pytest.mark.parametrize("t", [0, 1])
def test_the_average_is_the_integral_of_the_factor(likelihood, t):
    """Z by adaptive quadrature of exp(ln p), its slopes by differences."""
    mu, s2 = -1.3, 2.4

    def factor(f):
        p = np.exp(likelihood.log_p(f, t, 0)[0])
        return p * np.exp(-((f - mu) ** 2) / (2 * s2))

    Z = estimate.quadrature(factor, [(-np.inf, np.inf)])
    log_Z, d1, d2 = likelihood.average(mu, s2, t)
    right = np.log(Z.value / np.sqrt(2 * np.pi * s2))
    assert log_Z == pytest.approx(right, abs=2 * Z.error / Z.value + 1e-12)
    for k, slope in ((0, d1), (1, d2)):
        found = estimate.derivative(
            lambda x, k=k: likelihood.average(x, s2, t)[k], mu
        )
        assert abs(slope - found.value) <= found.error + 1e-12


@BOTH
def test_the_log_likelihood_adds_up_rows(likelihood):
    """For one vector of latent values, and for a stack of them."""
    t, f = np.array([0, 1, 1]), np.array([[0.3, -2.0, 1.0], [0.0, 0.0, 0.0]])
    of = log_likelihood(likelihood, t)
    right = [
        sum(likelihood.log_p(v, one)[0] for v, one in zip(row, t, strict=True))
        for row in f
    ]
    np.testing.assert_allclose(of(f), right)
    assert of(f[0]) == pytest.approx(right[0])
