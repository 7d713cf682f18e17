"""models.dispersion: densities, links and what a row adds to the error."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from prml4 import glm
from prml4.models import dispersion
from prml4.models.dispersion import (
    BERNOULLI,
    CLOGLOG_LINK,
    FAMILIES,
    GAMMA,
    GAUSSIAN,
    IDENTITY,
    INVERSE,
    INVERSE_GAUSSIAN,
    INVERSE_SQUARE,
    LOG,
    LOGIT,
    POISSON,
    PROBIT_LINK,
)

PAIRS = [(f, k) for f in FAMILIES for k in f.links]
NAMES = [f"{f.name}-{k.name}" for f, k in PAIRS]
SHARES = [LOGIT, PROBIT_LINK, CLOGLOG_LINK]
LINKS = [IDENTITY, LOG, *SHARES, INVERSE, INVERSE_SQUARE]
MEANS = {"Bernoulli": [0.05, 0.4, 0.93]}


def means(family):
    """Three means inside the family's range."""
    return np.array(MEANS.get(family.name, [0.3, 1.0, 2.7]))


def targets(family):
    """Three targets it allows."""
    return np.array([0.0, 1, 1] if family is BERNOULLI else [1.0, 2, 5])


def slope(f, x, h=1e-5):
    """Central difference, good to about 1e-10."""
    return (f(x + h) - f(x - h)) / (2 * h)


REFERENCE = {
    GAUSSIAN: lambda t, y, s: stats.norm(y, np.sqrt(s)).logpdf(t),
    BERNOULLI: lambda t, y, s: stats.binom(round(1 / s), y).logpmf(t / s),
    POISSON: lambda t, y, s: stats.poisson(y / s).logpmf(t / s),
    GAMMA: lambda t, y, s: stats.gamma(1 / s, scale=s * y).logpdf(t),
    INVERSE_GAUSSIAN: lambda t, y, s: stats.invgauss(y * s, scale=1 / s).logpdf(
        t
    ),
}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
@pytest.mark.parametrize("s", [1.0, 0.25])
def test_densities_equal_those_of_scipy(family, s):
    """Mean y and dispersion s in each one's usual parameters."""
    t, y = targets(family), means(family)
    assert_allclose(
        dispersion.log_density(family, t, y, s),
        REFERENCE[family](t, y, s),
        rtol=1e-12,
        atol=1e-13,
    )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_mean_and_variance_are_derivatives_of_b(family):
    """b' = y and b'' = V at eta(y); V' as well, by central differences."""
    y = means(family)
    eta = family.natural(y)
    assert_allclose(slope(family.b, eta), y, rtol=1e-8)
    assert_allclose(1 / slope(family.natural, y), family.variance(y), 1e-7)
    assert_allclose(
        family.variance_slope(y),
        slope(family.variance, y),
        rtol=1e-8,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    "family, t, s, said",
    [
        (GAMMA, 2.0, 0, "s must be > 0; got 0"),
        (GAMMA, 2.0, -1.0, "s must be > 0; got -1"),
        (GAMMA, 2.0, np.nan, "s must be > 0; got nan"),
        (GAMMA, 2.0, "s", "s must hold real numbers"),
        (GAMMA, np.ma.masked_equal([1.0, 2], 2), 1.0, "t must hide no"),
        (GAMMA, 2j, 1.0, "t must hold real numbers"),
        (LOG, 2.0, 1.0, "family must be a Family; got Link"),
    ],
)
def test_a_density_of_what_has_none(family, t, s, said):
    """ZeroDivisionError, NaN, AttributeError, or what a mask hides."""
    with pytest.raises(ValueError, match=said):
        dispersion.log_density(family, t, 1.0, s)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_unit_deviance_is_twice_the_loss_of_log_density(family):
    """2 s {ln p(t|t) - ln p(t|y)}; for t on the boundary its limit."""
    t, y = means(family)[::-1], means(family)
    want = 2 * (
        dispersion.log_density(family, t, t)
        - dispersion.log_density(family, t, y)
    )
    found = dispersion.unit_deviance(t, y, family)
    assert_allclose(found, want, rtol=1e-9, atol=1e-12)
    assert np.all(found[t != y] > 0) and abs(found[1]) < 1e-15


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_whole_numbers_are_computed_with_as_floats(family, dtype):
    """The cube of an int32 2000 is below 0, the logarithm of an int8 has four
    digits: the density of an inverse Gaussian was off by e^{4.8} or NaN."""
    big = 3_000_000 if dtype is np.int64 else 2000
    big = 120 if np.dtype(dtype).itemsize == 1 else big
    big = 1 if family is BERNOULLI else big
    t, y = np.array([1, 1, big], dtype), np.array([1, big, 1], dtype)
    real = t.astype(float), y.astype(float)
    for f in (
        lambda t, y: dispersion.log_density(family, t, y),
        lambda t, y: dispersion.unit_deviance(t, y, family),
        lambda t, y: np.atleast_1d(glm.pearson(t, y, family)),
    ):
        found, want = f(t, y), f(*real)
        assert_allclose(found, want, rtol=1e-14)
        assert_allclose(f(t, real[1]), want, rtol=1e-14)


def test_unit_deviance_of_targets_on_the_edge():
    """-2 ln(1 - y), -2 ln y for a coin; 2 y for no event at all."""
    y = np.array([0.3, 0.3])
    found = dispersion.unit_deviance(np.array([0.0, 1.0]), y, BERNOULLI)
    assert_allclose(found, -2 * np.log([0.7, 0.3]))
    found = dispersion.unit_deviance(np.zeros(2), y, POISSON)
    assert_allclose(found, 0.6)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_targets_outside_the_domain_are_seen(family):
    """Just outside, just inside."""
    inside = {
        "Gaussian": ([-1.5, 0.0], []),
        "Bernoulli": ([0.0, 0.3, 1.0], [-0.1, 1.1]),
        "Poisson": ([0.0, 3.0], [-1.0, 0.5]),
        "Gamma": ([1e-9], [0.0, -1.0]),
        "inverse Gaussian": ([1e-9], [0.0, -1.0]),
    }
    good, bad = inside[family.name]
    assert np.all(family.allows(np.array(good)))
    assert not np.any(family.allows(np.array(bad)))


def test_dispersion_is_known_where_the_mean_decides():
    """Counts and coins have none of their own."""
    assert [f.s for f in FAMILIES] == [None, 1.0, 1.0, None, None]


@pytest.mark.parametrize("link", LINKS, ids=lambda k: k.name)
def test_links_invert_and_differentiate(link):
    """f(link(y)) = y; slope and, where it is needed, bend by differences."""
    y = np.array([0.05, 0.4, 0.93])
    a = link.link(y)
    assert_allclose(link.mean(a), y, rtol=1e-14)
    assert_allclose(link.slope(a), slope(link.mean, a), rtol=1e-6)
    if link.bend:
        assert_allclose(
            link.bend(a), slope(link.slope, a), rtol=1e-5, atol=1e-9
        )
    assert bool(link.bend) != bool(link.likelihood)
    assert np.all(a < link.high)


def test_links_have_the_sign_and_factor_of_the_natural_parameter():
    """The first link of every family is its natural parameter."""
    for family in FAMILIES:
        y = means(family)
        assert_allclose(family.links[0].link(y), family.natural(y))
    assert INVERSE.link(4.0) == -0.25 and INVERSE_SQUARE.link(2.0) == -0.125


@pytest.mark.parametrize("link", SHARES, ids=lambda k: k.name)
@pytest.mark.parametrize("a", [-16.0, -4.8, -1.3, 0.0, 0.7, 4.9])
def test_tails_are_exact(link, a):
    """ln y, ln(1 - y), two derivatives each, against many digits."""
    with mpmath.workdps(220):
        f = {
            "logit": lambda x: 1 / (1 + mpmath.exp(-x)),
            "probit": lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
            "complementary log-log": lambda x: -mpmath.expm1(-mpmath.exp(x)),
        }[link.name]
        g = {
            "logit": lambda x: 1 / (1 + mpmath.exp(x)),
            "probit": lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2,
            "complementary log-log": lambda x: mpmath.exp(-mpmath.exp(x)),
        }[link.name]
        up, down = link.tails(np.array([a]))
        for found, h in ((up, f), (down, g)):
            want = mpmath.taylor(lambda x, h=h: mpmath.log(h(x)), a, 2)
            want = [float(want[0]), float(want[1]), 2 * float(want[2])]
            for x, y in zip(found, want, strict=True):
                assert x[0] == pytest.approx(y, rel=1e-11, abs=1e-300)


def test_cloglog_saturates_silently_enough():
    """At a = 10 the survivor e^{-e^10} underflows: y = 1, ln(1-y) = -e^10."""
    with np.errstate(all="ignore"):
        (p, p1, p2), (q, q1, q2) = CLOGLOG_LINK.tails(np.array([8.0, 10.0]))
    assert np.all(p == 0) and np.all(p1 == 0) and np.all(p2 == 0)
    assert_allclose(q, -np.exp([8.0, 10.0]))
    assert np.all(q == q1) and np.all(q == q2)


@pytest.mark.parametrize("a, lost", [(-1e8, (0, 1e8)), (-745.5, (0, 745.5))])
def test_cloglog_where_its_exponential_underflows(a, lost):
    """ln y = a, and ln(1 - y) = 0: no NaN, no infinity, no word."""
    with np.errstate(all="raise", under="ignore"):
        E = [
            dispersion.row_terms(BERNOULLI, CLOGLOG_LINK, np.array([a]), t)
            for t in (np.zeros(1), np.ones(1))
        ]
    assert_allclose([row[0][0] for row in E], lost, atol=1e-300)
    assert_allclose([row[1][0] for row in E], [0, -1], atol=1e-300)
    assert_allclose([row[2:] for row in E], 0, atol=1e-300)


@pytest.mark.parametrize("family, link", PAIRS, ids=NAMES)
def test_factor_is_the_derivative_of_eta_by_a(family, link):
    """eta(f(a)), differentiated once and twice; 1 and 0 if canonical."""
    a = link.link(means(family))
    first, second = dispersion.factor(family, link, a)
    assert_allclose(
        first, slope(lambda a: family.natural(link.mean(a)), a), rtol=1e-7
    )
    numeric = slope(lambda a: dispersion.factor(family, link, a)[0], a)
    assert_allclose(second, numeric, rtol=1e-6, atol=1e-8)
    if link is family.links[0]:
        assert np.all(first == 1) and np.all(second == 0)


@pytest.mark.parametrize("family, link", PAIRS, ids=NAMES)
def test_row_terms_are_derivatives_of_half_the_deviance(family, link):
    """E, E' and E'' by differences; the third term is V eta'^2."""
    a, t = link.link(means(family)), targets(family)
    y = link.mean(a)

    def terms(a, t=t):
        return dispersion.row_terms(family, link, a, t)

    E, first, expected, rest = terms(a)
    assert_allclose(2 * E, dispersion.unit_deviance(t, y, family), rtol=1e-9)
    assert_allclose(first, slope(lambda a: terms(a)[0], a), rtol=1e-7)
    numeric = slope(lambda a: terms(a)[1], a)
    assert_allclose(expected + rest, numeric, rtol=1e-6, atol=1e-8)
    eta1, eta2 = dispersion.factor(family, link, a)
    assert_allclose(expected, family.variance(y) * eta1**2, rtol=1e-11)
    assert_allclose(rest, (y - t) * eta2, rtol=1e-9, atol=1e-12)


def test_row_terms_of_fractions():
    """t between 0 and 1: a share of successes, least error 0 at y = t."""
    t = np.array([0.0, 0.25, 1.0])
    for link in BERNOULLI.links:
        E = dispersion.row_terms(BERNOULLI, link, link.link(t[1:2]), t[1:2])[0]
        assert_allclose(E, 0, atol=1e-15)
        a = np.full(3, 0.3)
        E = dispersion.row_terms(BERNOULLI, link, a, t)[0]
        y = link.mean(a)
        assert_allclose(2 * E, dispersion.unit_deviance(t, y, BERNOULLI))


def test_outside_the_domain_the_error_is_infinite():
    """Zero is outside; a negative mean is; the other rows do not mind."""
    with np.errstate(all="ignore"):
        for family, link, a in [
            (GAMMA, INVERSE, [-1.0, 0.5, 0.0]),
            (INVERSE_GAUSSIAN, INVERSE_SQUARE, [-0.5, 0.5, 0.0]),
            (POISSON, IDENTITY, [1.0, -0.5, 0.0]),
            (GAUSSIAN, INVERSE, [-1.0, 0.5, 0.5]),
        ]:
            E = dispersion.row_terms(family, link, np.array(a), np.ones(3))[0]
            assert E[0] == 0 and np.all(E[1:] == np.inf)
        nothing = dispersion.row_terms(POISSON, IDENTITY, np.zeros(1), 0.0)
        assert nothing[0] == np.inf  # a count of zero, a mean of zero
    a = np.array([-1.0, 0.0, 1.0])
    assert np.all(
        np.isfinite(dispersion.row_terms(GAUSSIAN, IDENTITY, a, a)[0])
    )


def test_side_of_zero_on_which_a_must_be():
    """Inverse links: below; identity: above, but for the Gaussian."""
    want = {INVERSE: -1, INVERSE_SQUARE: -1, IDENTITY: 1}
    for family, link in PAIRS:
        free = family is GAUSSIAN and link is IDENTITY
        assert dispersion.side(family, link) == (
            0 if free else want.get(link, 0)
        )


def test_log_density_where_a_mean_has_reached_its_end():
    """ln 1 for what is certain, ln 0 for what is impossible, no NaN."""
    t, y = np.array([0.0, 1, 0, 1, 0.5]), np.array([0.0, 1, 1, 0, 1])
    found = dispersion.log_density(dispersion.BERNOULLI, t, y)
    np.testing.assert_array_equal(found[:4], [0, 0, -np.inf, -np.inf])
    assert found[4] == -np.inf
    found = dispersion.log_density(dispersion.POISSON, np.arange(2.0), 0.0)
    np.testing.assert_array_equal(found, [0, -np.inf])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_the_largest_density_is_that_of_y_at_t(family):
    """{eta t - b} / s + ln h there, where nothing large cancels."""
    t = np.array([0.25, 0.5, 0.75]) * (1 if family is BERNOULLI else 8)
    s = 0.25
    eta = family.natural(t)
    want = (eta * t - family.b(eta)) / s + family.log_h(t, s)
    assert_allclose(family.largest(t, s), want, rtol=1e-12, atol=1e-14)


def test_densities_of_large_targets_keep_their_digits():
    """A Gaussian in closed form, counts by mpmath; terms were of 1e16."""
    found = dispersion.log_density(GAUSSIAN, 1e8 + 1.0, 1e8)
    assert found == pytest.approx(stats.norm.logpdf(1.0), rel=1e-14)
    t, y = 1e12 + 5e5, 1e12
    with mpmath.workdps(50):
        n = mpmath.mpf(t)
        want = n * mpmath.log(y) - y - mpmath.loggamma(n + 1)
    found = dispersion.log_density(POISSON, t, y)
    assert found == pytest.approx(float(want), abs=3e-4)


def test_log_peak_is_mpmaths():
    """Zero, both sides of the series' beginning, and far out."""
    for x in (0.0, 0.3, 1.0, 99.0, 100.0, 101.0, 1e6, 1e15):
        with mpmath.workdps(60):
            n = mpmath.mpf(x)
            want = n * mpmath.log(n) if x else mpmath.mpf(0)
            want = float(want - n - mpmath.loggamma(n + 1))
        found = float(dispersion.log_peak(np.float64(x)))
        assert found == pytest.approx(want, rel=1e-14, abs=2e-14)


@pytest.mark.parametrize(("family", "link"), PAIRS, ids=NAMES)
def test_pearson_residuals_are_those_of_the_mean(family, link):
    """(t - y) / sqrt(V), while y has the digits."""
    y, t = means(family), targets(family)
    found = dispersion.pearson_residual(family, link, link.link(y), t)
    want = (t - y) / np.sqrt(family.variance(y))
    assert_allclose(found, want, rtol=1e-12)


def test_pearson_residuals_of_coins_beyond_the_digits_of_y():
    """-e^{a/2} for t = 0 by the logit link; 0 where nothing is amiss."""
    a = np.array([20.0, 45.0, 600.0, 45.0, 1e4, 1e4])
    t = np.array([0.0, 0, 0, 1, 1, 0])
    found = dispersion.pearson_residual(BERNOULLI, LOGIT, a, t)
    want = [*(-np.exp(a[:3] / 2)), np.exp(-22.5), 0, -np.inf]
    assert_allclose(found, want, rtol=1e-12)


@pytest.mark.parametrize("a", [-400.0, -800.0])
def test_pearson_residuals_where_the_square_of_the_mean_underflows(a):
    found = dispersion.pearson_residual(
        GAUSSIAN, LOG, np.array([a]), np.array([1.0])
    )
    assert found == pytest.approx(1, rel=1e-12)
