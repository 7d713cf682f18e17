"""studies.densities: quadrature truth and the functions to try things on."""

from functools import partial

import numpy as np
import pytest
from scipy import special, stats

from prml4.numerics.special import log_sigmoid, sigmoid
from prml4.studies import densities


def test_moments_of_known_densities():
    """Beta and Gamma integrals; f may be as small or large as it likes."""
    log_Z, mean, variance = densities.moments(
        partial(densities.share, k=3, n=10), (0, 1)
    )
    p = stats.beta(4, 8)
    assert log_Z == pytest.approx(special.betaln(4, 8), rel=1e-10)
    assert (mean, variance) == pytest.approx((p.mean(), p.var()), rel=1e-9)
    log_Z, mean, variance = densities.moments(
        partial(densities.rate, k=500, n=2), (150, 400)
    )
    p = stats.gamma(501, scale=0.5)
    want = special.gammaln(501) - 501 * np.log(2)
    assert log_Z == pytest.approx(want, rel=1e-10)
    assert (mean, variance) == pytest.approx((p.mean(), p.var()), rel=1e-8)


def test_divergence_of_two_gaussians():
    """KL(N(0,1) || N(1,4)) in closed form, factors of f and g left out."""

    def f(z):
        return 3.0 + densities.normal(z, 0.0, 1.0)

    def g(z):
        return -9.0 + densities.normal(z, 1.0, 4.0)

    want = 0.5 * (np.log(4) + (1 + 1) / 4 - 1)
    assert densities.divergence(f, g, (-20, 20)) == pytest.approx(want)
    want = 0.5 * (-np.log(4) + 4 + 1 - 1)
    assert densities.divergence(g, f, (-20, 20)) == pytest.approx(want)
    assert densities.divergence(f, f, (-9, 9)) == pytest.approx(0, abs=1e-12)


def test_divergence_is_infinite_where_mass_is_missing():
    """A Gaussian reaches beyond (0, 1); the other direction is finite."""
    p = partial(densities.share, k=2, n=9)
    q = partial(densities.normal, mean=0.2, variance=0.02)
    assert densities.divergence(q, p, (-1.0, 1.5)) == np.inf
    exact = stats.beta(3, 8)
    z = np.linspace(0, 1, 20_002)[1:-1]
    gap = np.mean(exact.pdf(z) * (exact.logpdf(z) - q(z)))
    mass = stats.norm(0.2, 0.02**0.5)
    gap += np.log(mass.cdf(1) - mass.cdf(0))
    found = densities.divergence(p, q, (0, 1))
    assert found == pytest.approx(gap, rel=1e-3)
    found = densities.divergence(p, q, (-2.0, 3.0))
    gap -= np.log(mass.cdf(1) - mass.cdf(0))
    assert found == pytest.approx(gap, rel=1e-3)


def test_divergence_where_both_vanish_is_finite():
    """KL of two Beta densities, over more than their range: closed form."""
    f, g = (partial(densities.share, k=k, n=9) for k in (2, 3))
    digamma = special.digamma
    want = special.betaln(4, 7) - special.betaln(3, 8)
    want += digamma(8) - digamma(3)
    found = densities.divergence(f, g, (-0.5, 1.5))
    assert found == pytest.approx(want, rel=1e-7)


def test_ends_where_q_vanishes_do_not_count():
    """KL(uniform || Beta(2, 2)) = 2 - ln 6: of 0 and 1 there is no mass."""
    q = partial(densities.share, k=1, n=2)
    found = densities.divergence(lambda z: 0 * z, q, (0.0, 1.0))
    assert found == pytest.approx(2 - np.log(6), rel=1e-9)


def test_functions_to_try_are_what_they_say():
    """Against scipy's densities, up to their factors."""
    z = np.array([-1.5, 0.0, 0.3, 0.8, 2.5])
    np.testing.assert_allclose(
        densities.normal(z, 0.5, 4.0), stats.norm(0.5, 2).logpdf(z)
    )
    np.testing.assert_allclose(
        np.exp(densities.two_bumps(z)),
        2 / 3 * stats.norm(-2, 1).pdf(z) + 1 / 3 * stats.norm(2, 0.4).pdf(z),
    )
    np.testing.assert_allclose(
        densities.shoulder(z), -(z**2) / 2 + np.log(special.expit(20 * z + 4))
    )
    np.testing.assert_allclose(
        densities.share(z, 3, 10) - special.betaln(4, 8),
        stats.beta(4, 8).logpdf(z),
    )
    np.testing.assert_allclose(
        densities.rate(z, 3, 2) - special.gammaln(4) + 4 * np.log(2),
        stats.gamma(4, scale=0.5).logpdf(z),
    )


def test_densities_in_other_variables_carry_their_jacobian():
    """share in log odds, rate in logarithms; the integral stays."""
    a = np.array([-3.0, 0.2, 1.0])
    slope = log_sigmoid(a) + log_sigmoid(-a)
    np.testing.assert_allclose(
        densities.share(sigmoid(a), 3, 10) + slope,
        densities.share_log_odds(a, 3, 10),
    )
    np.testing.assert_allclose(
        densities.rate(np.exp(a), 3, 2) + a, densities.log_rate(a, 3, 2)
    )
    here = densities.moments(partial(densities.rate, k=3, n=2), (0, 40))[0]
    there = densities.moments(partial(densities.log_rate, k=3, n=2), (-12, 6))
    assert here == pytest.approx(there[0], rel=1e-9)


@pytest.mark.parametrize("middle", [0.5, 0.3335])
@pytest.mark.parametrize("sd", [1e-3, 1e-4, 1e-6, 1e-12])
def test_a_peak_too_narrow_for_its_interval_is_named(sd, middle):
    """Half of it was integrated, or nothing, without a word."""

    def log_f(z):
        return densities.normal(z, middle, sd**2)

    if sd > 5e-4:
        assert abs(densities.log_integral(log_f, (0, 1))) < 1e-12
        return
    for integral in (densities.moments, densities.log_integral):
        with pytest.raises(ValueError, match="over must be so short"):
            integral(log_f, (0, 1))
    with pytest.raises(ValueError, match="over must be so short"):
        densities.divergence(log_f, lambda z: 0 * z, (0, 1))
    near = middle - 9 * sd, middle + 9 * sd
    assert densities.log_integral(log_f, near) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("over", [(5, -5), (1, 1), (0, np.nan), 3.0])
def test_an_interval_has_its_lower_end_first(over):
    """From 5 to -5 ln Z was NaN."""

    def log_f(z):
        return -0.5 * z**2

    with pytest.raises(ValueError, match="over must be"):
        densities.moments(log_f, over)
    with pytest.raises(ValueError, match="over must be"):
        densities.divergence(log_f, log_f, over)


@pytest.mark.parametrize("variance", [-1.0, 0.0, np.nan])
def test_a_normal_has_a_variance_above_zero(variance):
    with pytest.raises(ValueError, match="variance must be one positive"):
        densities.normal(np.zeros(2), 0.0, variance)
