"""The likelihoods against differences, long arithmetic and their own sums."""

import pickle

import mpmath as mp
import numpy as np
import pytest

from prml4.models import averages
from prml4.models.likelihoods import (
    CLOGLOG,
    LOGISTIC,
    PROBIT,
    flipped,
    honest_share,
    log_likelihood,
)
from prml4.referee import estimate

SYMMETRIC = [LOGISTIC, PROBIT]
CONCAVE = [*SYMMETRIC, CLOGLOG]
FLIPPED = [flipped(each, 0.1) for each in CONCAVE]


def of(likelihoods):
    """One test for each."""
    return pytest.mark.parametrize(
        "likelihood", likelihoods, ids=lambda value: value.name
    )


TINY = np.finfo(float).tiny
TAILS = np.concatenate([np.linspace(-15, 15, 25), [-1e-9, 0.5]])


def exact(name, f, t):
    """ln p at f by its definition, in long arithmetic."""
    if name == "complementary log-log":
        return mp.log(-mp.expm1(-mp.exp(f))) if t else -mp.exp(f)
    m = (2 * t - 1) * f
    if name == "logistic":
        return -mp.log1p(mp.exp(-m))
    if m < 0:
        return mp.log(mp.erfc(-m / mp.sqrt(2)) / 2)
    return mp.log1p(-mp.erfc(m / mp.sqrt(2)) / 2)


@of([*CONCAVE, FLIPPED[1]])
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


@of(CONCAVE)
@pytest.mark.parametrize("t", [0, 1])
def test_all_four_agree_with_long_arithmetic_to_40(likelihood, t):
    """Differences of step 1e-30 in 150 digits know none of our formulas."""
    for f in [-40.0, -25.5, -8.0, -1.0, -0.0625, 0.0, 0.5, 3.0, 17.0, 40.0]:
        terms = likelihood.log_p(f, t)
        with mp.workdps(150):
            oracle = [
                mp.diff(
                    lambda x: exact(likelihood.name, x, t),
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


@of(CONCAVE + FLIPPED)
def test_the_two_classes_share_probability_one(likelihood):
    """p(0 | f) + p(1 | f) = 1: E04 to E06 of the ledger fail here."""
    f = np.linspace(-30, 30, 41)
    up, down = (np.exp(likelihood.log_p(f, t)[0]) for t in (1, 0))
    assert up + down == pytest.approx(1, abs=1e-15)


@of(CONCAVE + FLIPPED)
def test_no_average_is_above_one(likelihood, rng):
    """Where one class is certain but for the rounding of a grid."""
    mu = rng.standard_normal(2000) * 10 ** rng.uniform(-3, 4, 2000)
    P = likelihood.predictive(mu, 10 ** rng.uniform(-12, 6, 2000))
    assert P.min() >= 0 and P.max() <= 1


@of(CONCAVE + FLIPPED)
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


@of(SYMMETRIC)
def test_the_curvature_never_turns_up_and_stays_finite(likelihood):
    """ln p is concave; 1e8 on the wrong side is large, not NaN."""
    f = np.array([-1e8, -1e3, -40.0, 0.0, 40.0, 1e3, 1e8])
    for t in (0, 1):
        terms = np.array(likelihood.log_p(f, t))
        assert np.isfinite(terms).all()
        assert (terms[2] <= 0).all()


@of(CONCAVE + FLIPPED)
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


@of(CONCAVE + FLIPPED)
def test_the_log_likelihood_adds_up_rows(likelihood):
    """For one vector of latent values, and for a stack of them."""
    t, f = np.array([0, 1, 1]), np.array([[0.3, -2.0, 1.0], [0.0, 0.0, 0.0]])
    total = log_likelihood(likelihood, t)
    right = [
        sum(likelihood.log_p(v, one)[0] for v, one in zip(row, t, strict=True))
        for row in f
    ]
    np.testing.assert_allclose(total(f), right)
    assert total(f[0]) == pytest.approx(right[0])


@of(CONCAVE + FLIPPED)
def test_expected_curvature_is_the_mean_of_both_targets(likelihood):
    """sum_t p(t|a) E''(t), with E = -ln p: Fisher's information about a."""
    a = np.linspace(-4, 1.5, 9)
    mean = 0.0
    for t in (0, 1):
        terms = likelihood.log_p(a, t, 2)
        mean = mean - np.exp(terms[0]) * terms[2]
    found = likelihood.expected_curvature(a)
    np.testing.assert_allclose(found, mean, rtol=1e-8)


@of(CONCAVE)
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.4])
def test_flipped_is_a_mixture_of_both_labels(likelihood, epsilon):
    """(1 - eps) p(t) + eps p(1 - t), for the factor and for its average."""
    a, t = np.linspace(-30, 3, 12), np.arange(12) % 2
    wrong = flipped(likelihood, epsilon)
    for right, found in (
        ([likelihood.log_p(a, k, 0)[0] for k in (t, 1 - t)],
         wrong.log_p(a, t, 0)[0]),
        ([likelihood.average(a, 2.0, k)[0] for k in (t, 1 - t)],
         wrong.average(a, 2.0, t)[0]),
    ):  # fmt: skip
        p = (1 - epsilon) * np.exp(right[0]) + epsilon * np.exp(right[1])
        np.testing.assert_allclose(np.exp(found), p, rtol=1e-13)


def test_flips_compose_and_are_refused_from_one_half_on():
    """One wrong label of two: e1 (1 - e2) + e2 (1 - e1); 0 changes nothing."""
    twice = flipped(flipped(PROBIT, 0.1), 0.2)
    once = flipped(PROBIT, 0.1 * 0.8 + 0.9 * 0.2)
    assert twice.epsilon == pytest.approx(once.epsilon)
    np.testing.assert_allclose(twice.log_p(0.7, 1), once.log_p(0.7, 1))
    assert flipped(PROBIT, 0) is PROBIT
    for bad in (0.5, 0.7, -0.1, np.nan):
        with pytest.raises(ValueError, match="^epsilon must be one number"):
            flipped(PROBIT, bad)


@of(CONCAVE + FLIPPED)
def test_likelihoods_pickle(likelihood):
    """Results remember them; what comes back is the same."""
    back = pickle.loads(pickle.dumps(likelihood))
    np.testing.assert_array_equal(back.log_p(0.3, 1), likelihood.log_p(0.3, 1))
    assert back.average(0.3, 2.0, 0) == likelihood.average(0.3, 2.0, 0)
    assert likelihood.epsilon or back == likelihood


@pytest.mark.parametrize("mu", [-20.0, -3.0, 0.4, 3.0, 8.0])
@pytest.mark.parametrize("s2", [1e-8, 0.3, 4.0, 100.0])
@pytest.mark.parametrize("t", [0, 1])
def test_the_average_of_cloglog_against_twenty_digits(mu, s2, t):
    """ln Z, s d1, s2 d2 to 1e-11, absolute, where Z may be e^-2981."""
    log_Z, d1, d2 = CLOGLOG.average(mu, s2, t)
    found = np.array([log_Z, np.sqrt(s2) * d1, s2 * d2])
    with mp.workdps(20):
        s = mp.sqrt(mp.mpf(s2))
        cuts = [mu + k * s for k in range(-30, 31, 2)]
        if t == 0:  # beyond, nothing but an exponential of an exponential
            cuts = [x for x in cuts if x < 9] + [mp.mpf(9)]

        def moment(k):
            return mp.quad(
                lambda a: (
                    mp.exp(exact(CLOGLOG.name, a, t) - log_Z)
                    * mp.npdf(a, mu, s)
                    * ((a - mu) / s) ** k
                ),
                cuts,
            )

        Z, one, two = (moment(k) for k in range(3))
        mean = one / Z
        right = [log_Z + mp.log(Z), mean, two / Z - mean**2 - 1]
    right = np.array(right, float)
    np.testing.assert_allclose(found, right, rtol=1e-13, atol=1e-11)


@pytest.mark.parametrize("s", [1e2, 1e3, 1e4])
def test_a_wide_average_keeps_the_digits_that_it_promises(s):
    """s2 d2 is off by 5e-10 for s = 1e3: d2 falls, its rounding does not."""
    given = np.array([-30.0, 0.3, 40.0]), np.full(3, s * s), np.array([1, 0, 1])
    found = np.array(averages.log_concave(PROBIT.log_p, *given))
    gap = np.abs(found - averages.probit(*given)).max(axis=1)
    least = max(1e-11, 1e-15 * s * s)
    assert np.all(gap * [1, s, s * s] <= [1e-11, 1e-11, least])


def test_the_average_of_cloglog_does_not_feel_its_company(rng):
    """One by one and together, the same to the last bit."""
    mu, s2 = rng.normal(size=30) * 5, 10 ** rng.uniform(-4, 4, size=30)
    t = np.arange(30) % 2
    whole = np.array(CLOGLOG.average(mu, s2, t))
    single = [CLOGLOG.average(*row) for row in zip(mu, s2, t, strict=True)]
    np.testing.assert_array_equal(whole, np.array(single).T)


@pytest.mark.parametrize("a", [-1e300, -1e8, 700.0, 1e8, 1e300])
@pytest.mark.parametrize("base", [LOGISTIC, CLOGLOG])
def test_no_derivative_of_flipped_labels_overflows(base, a):
    """Where p(t|a) is 0 the label came from the coin: all slopes are 0."""
    for t in (0, 1):
        terms = flipped(base, 0.1).log_p(np.array([a]), np.array([t]))
        assert np.isfinite(terms).all()
        assert np.abs(terms[1:]).max() < 1e-100


def test_labels_of_a_likelihood_are_flipped():
    with pytest.raises(
        ValueError, match="likelihood must be a Likelihood; got"
    ):
        flipped("probit", 0.1)


def test_shares_are_honest_of_a_chance_that_is_one():
    for epsilon in (-0.1, 0.5, np.nan):
        with pytest.raises(ValueError, match="epsilon must be one number in"):
            honest_share(np.array([-1.0]), epsilon)
    rho, rest = honest_share(np.array([-1.0, -800.0]), 0.0)
    assert rho.tolist() == [1, 1] and rest.tolist() == [0, 0]


@pytest.mark.parametrize("a", [np.ma.array([0.5, 2], mask=[0, 1]), "0.3", 1j])
def test_what_is_no_number_has_no_probability(a):
    """A hidden entry was taken for seen, and text for a number."""
    for call in (LOGISTIC.probabilities, lambda x: LOGISTIC.predictive(x, 1)):
        with pytest.raises(ValueError, match=r"(a|mu) must (hold|hide)"):
            call(a)
    with pytest.raises(ValueError, match="L must h"):
        honest_share(a, 0.1)
