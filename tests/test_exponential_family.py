"""prml4.exponential_family: fits, priors, and linear separators."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import log_expit

from prml4 import exponential_family as ef
from prml4.models import dispersion, families


def sample(rng, N=60):
    """family, observations of it."""
    mixing = np.array([[1.0, 0.0], [0.5, 1.5]])
    return {
        "bernoulli": (families.bernoulli(), np.arange(N) % 3 == 0),
        "categorical": (families.categorical(3), np.arange(N) % 5 % 3),
        "poisson": (families.poisson(), rng.poisson(2.5, N)),
        "location": (families.gaussian_location(2.0), rng.normal(1, 2, N)),
        "gaussian": (families.gaussian(), rng.normal(1, 2, N)),
        "multivariate": (
            families.multivariate_gaussian(2),
            rng.standard_normal((N, 2)) @ mixing,
        ),
        "gamma": (families.gamma(), rng.gamma(2.5, 0.4, N)),
        "beta": (families.beta(), rng.beta(2, 3, N)),
        "dirichlet": (families.dirichlet(3), rng.dirichlet([1, 2, 3], N)),
    }


NAMES = tuple(sample(np.random.default_rng(0)))


@pytest.fixture(params=NAMES)
def case(request, rng):
    """One family and sixty observations."""
    return sample(rng)[request.param]


# The fit.


def test_fit_is_a_stationary_point_and_a_maximum(case):
    """Every small step away from eta lowers the log likelihood."""
    f, x = case
    eta = ef.fit(f, x)
    best = ef.log_density(f, x, eta).sum()
    m = f.u(np.asarray(x, float)).mean(axis=0)
    np.testing.assert_allclose(f.mean(eta), m, rtol=1e-10)
    size = np.sqrt(np.diag(np.linalg.inv(f.covariance(eta))))
    for j in range(f.shape[2]):
        for sign in (-1, 1):
            step = sign * 1e-2 * size[j] * np.eye(f.shape[2])[j]
            assert ef.log_density(f, x, eta + step).sum() < best


def test_fit_knows_the_usual_estimates(rng):
    """Means, variances divided by N, and scipy's searches."""
    data = {k: (f, np.asarray(x, float)) for k, (f, x) in sample(rng).items()}
    f, x = data["gaussian"]
    np.testing.assert_allclose(
        ef.fit(f, x), f.natural(x.mean(), x.var()), rtol=1e-10
    )
    f, x = data["multivariate"]
    S = np.cov(x.T, bias=True)
    np.testing.assert_allclose(
        ef.fit(f, x), f.natural(x.mean(axis=0), S), rtol=1e-9
    )
    f, x = data["poisson"]
    assert ef.fit(f, x)[0] == pytest.approx(np.log(x.mean()))
    f, x = data["gamma"]
    a, _, scale = stats.gamma.fit(x, floc=0)
    np.testing.assert_allclose(ef.fit(f, x), [a, -1 / scale], rtol=1e-6)
    f, x = data["beta"]
    a, b, *_ = stats.beta.fit(x, floc=0, fscale=1)
    np.testing.assert_allclose(ef.fit(f, x), [a, b], rtol=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.floats(-2.5, 2.5), st.floats(-2.5, 2.5), st.floats(-2.5, 2.5))
def test_from_mean_inverts_the_mean(a, b, c):
    """Parameters over five decades, of the families without closed form."""
    for f, logs in (
        (families.gamma(), [a, b]),
        (families.beta(), [a, b]),
        (families.dirichlet(3), [a, b, c]),
    ):
        eta = f.natural(*10.0 ** np.array(logs))
        np.testing.assert_allclose(ef.from_mean(f, f.mean(eta)), eta, rtol=1e-8)


def test_fit_does_not_depend_on_the_order_or_the_layout(case, rng):
    """Permuted, strided, read-only and float32 rows; nothing is changed."""
    f, x = case
    x = np.asarray(x, dtype=float)
    expected, kept = ef.fit(f, x), x.copy()
    order = rng.permutation(len(x))
    np.testing.assert_allclose(ef.fit(f, x[order]), expected, rtol=1e-9)
    np.testing.assert_array_equal(ef.fit(f, np.repeat(x, 2, 0)[::2]), expected)
    x.flags.writeable = False
    np.testing.assert_array_equal(ef.fit(f, x), expected)
    np.testing.assert_array_equal(x, kept)
    if f.name != "Dirichlet":  # rows must sum to 1 in float64
        single = x.astype(np.float32)
        np.testing.assert_allclose(ef.fit(f, single), expected, rtol=1e-3)


def test_no_variation_has_no_estimate():
    """A named error that says so; a prior helps."""
    for f, x in (
        (families.bernoulli(), [0, 0, 0]),
        (families.categorical(3), [0, 1, 1]),
        (families.categorical(3), [2, 1, 1]),
        (families.categorical(4), [0, 0, 0, 0, 1, 2]),  # 4/6 + 1/6 + 1/6 < 1
        (families.poisson(), [0, 0]),
        (families.gaussian(), [2.5, 2.5]),
        (families.multivariate_gaussian(2), [[0.0, 0.0], [1.0, 1.0]]),
        (families.gamma(), [2.0, 2.0]),
        (families.dirichlet(2), [[0.5, 0.5]]),
    ):
        with pytest.raises(ef.BoundaryError, match="no finite natural"):
            ef.fit(f, x)
    prior = ef.Prior(chi=np.array([0.5]), nu=2.0)
    eta = ef.fit(families.bernoulli(), [0, 0, 0], prior)
    assert families.bernoulli().mean(eta)[0] == pytest.approx(1 / 5)


def test_lost_digits_are_reported(rng):
    """x^2 holds the variance in its last digits: warned of, and centred."""
    x = rng.standard_normal(100)
    with pytest.warns(ef.LostDigits, match="centre"):
        ef.fit(families.gaussian(), x + 1e5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ef.fit(families.gaussian(), x + 1e3)


@pytest.mark.parametrize("mu", [1e2, 1e4, 1e8])
def test_digits_lost_in_sums_are_reported(mu):
    """At 1e8 log g and eta^T u are 5e15: a divergence of 1/2 came out as 0."""
    f, x = families.gaussian(), mu + np.array([0.0, 0.5, 3.0])
    etas = [f.natural(m, 1.0) for m in (mu, mu + 1)]
    W = ef.class_weights(f, etas, [0.5, 0.5])
    asked = (
        (lambda: ef.log_density(f, x, etas[0]), stats.norm.logpdf(x - mu)),
        (lambda: ef.divergence(f, *etas), 0.5),
        (lambda: ef.log_posterior(f, x, W)[:, 1], log_expit(x - mu - 0.5)),
    )
    for ask, right in asked:
        if mu > 1e5:
            with pytest.warns(ef.LostDigits, match="centre or rescale"):
                ask()
        else:
            np.testing.assert_allclose(ask(), right, atol=1e-6)


# Priors.


def test_update_adds_sums_and_counts(case):
    """In two portions as in one; chi_N is the weighted mean."""
    f, x = case
    prior = ef.Prior(chi=f.u(np.asarray(x, float))[:7].mean(axis=0), nu=2.5)
    once = ef.update(f, x, prior)
    twice = ef.update(f, x[20:], ef.update(f, x[:20], prior))
    assert once.nu == twice.nu == 62.5
    np.testing.assert_allclose(once.chi, twice.chi, rtol=1e-12)
    total = 2.5 * prior.chi + f.u(np.asarray(x, float)).sum(axis=0)
    np.testing.assert_allclose(once.chi, total / 62.5, rtol=1e-12)


def test_fit_with_a_prior_maximises_the_posterior(rng):
    """Poisson with a Gamma prior of the rate: the mode in eta = log rate."""
    x = rng.poisson(2.5, 20)
    prior = ef.Prior(chi=np.array([1.5]), nu=4.0)
    eta = ef.fit(families.poisson(), x, prior)
    grid = np.linspace(-1, 2, 30001)
    log_p = (4.0 * 1.5 + x.sum()) * grid - (4.0 + 20) * np.exp(grid)
    assert eta[0] == pytest.approx(grid[log_p.argmax()], abs=1e-4)


@pytest.mark.parametrize(
    ("chi", "nu", "says"),
    [
        ([0.5, 0.5], 1.0, "chi must have shape"),
        ([0.5], 0.0, "nu must be one positive, finite number; got 0.0"),
        ([0.5], -1.0, "nu must be one positive"),
        ([0.5], np.inf, "nu must be one positive"),
        ([0.5], "2", "nu must hold real numbers"),
        ([1.0], 1.0, "chi must lie inside .* cannot be normalised; got"),
        ([1.5], 1.0, "chi must lie inside"),
        ([np.nan], 1.0, "chi must be finite"),
    ],
)
def test_bad_priors(chi, nu, says):
    """What arrived and what was expected."""
    with pytest.raises(ValueError, match=says):
        ef.update(families.bernoulli(), [0, 1], ef.Prior(chi, nu))


# Divergence and scale.


def test_divergence_is_the_integral():
    """KL of two Gammas by quadrature; zero for equal ones, never negative."""
    f = families.gamma()
    p, q = f.natural(2.0, 1.0), f.natural(3.5, 0.7)

    def integrand(x):
        log_p, log_q = (ef.log_density(f, x, eta) for eta in (p, q))
        return np.exp(log_p) * (log_p - log_q)

    expected = integrate.quad(integrand, 1e-12, np.inf)[0]
    assert ef.divergence(f, p, q) == pytest.approx(expected, rel=1e-7)
    assert ef.divergence(f, p, p) == 0
    assert ef.divergence(f, q, p) > 0


def test_scaled_densities_integrate_to_one():
    """s^{-D} for D continuous columns, nothing for discrete ones."""
    f = ef.scaled(families.gamma(), 2.5)
    x = 1.7
    expected = stats.gamma(2.0, scale=2.5 / 3.0).logpdf(x)
    assert ef.log_density(f, x, np.array([2.0, -3.0])) == pytest.approx(
        expected
    )
    pair = families.product(families.gaussian_location(), families.gamma())
    f = ef.scaled(pair, 0.5)
    mass = integrate.dblquad(
        lambda y, x: np.exp(ef.log_density(f, [x, y], [0.3, 2.0, -1.0])),
        *(-4, 4, 1e-9, 12),
        epsabs=1e-6,
    )[0]
    assert mass == pytest.approx(1, abs=1e-4)
    f = ef.scaled(families.poisson(), 0.25)
    x = np.arange(80) * 0.25
    assert np.exp(ef.log_density(f, x, [1.0])).sum() == pytest.approx(1)
    assert f.name == "Poisson, scale 0.25" and f.domain.startswith("0.25 times")


def test_scaled_counts_survive_rounding():
    """0.3 / 0.1 is not 3 in floating point, but means it; 0.35 is outside."""
    f = ef.scaled(families.poisson(), 0.1)
    x = np.arange(40) * 0.1
    expected = stats.poisson(np.e).logpmf(np.arange(40))
    np.testing.assert_allclose(ef.log_density(f, x, [1.0]), expected)
    with pytest.raises(ValueError, match="must be 0.1 times: 0, 1, 2"):
        ef.log_density(f, 0.35, [1.0])


@pytest.mark.parametrize("s", [0.0, -1.0, np.inf, np.nan])
def test_scales_are_positive(s):
    """Named and shown."""
    with pytest.raises(ValueError, match="^scale must be one positive"):
        ef.scaled(families.gamma(), s)


# Separators.


def test_log_posterior_is_bayes_rule(case):
    """From three densities and three priors, with a fourth never used."""
    f, x = case
    eta = ef.fit(f, x)
    etas = [eta, 1.1 * eta, 0.8 * eta]
    pi = np.array([0.5, 0.3, 0.2])
    W = ef.class_weights(f, etas, pi)
    assert W.shape == (3, 1 + f.shape[2])
    joint = [
        np.log(p) + ef.log_density(f, x, e)
        for p, e in zip(pi, etas, strict=True)
    ]
    expected = joint - np.logaddexp.reduce(joint, axis=0)
    np.testing.assert_allclose(
        ef.log_posterior(f, x, W), np.transpose(expected), rtol=1e-9, atol=1e-11
    )


def test_shared_covariance_leaves_no_quadratic_weight(rng):
    """LDA, PRML (4.65) to (4.67), out of the general theorem."""
    f, S = families.multivariate_gaussian(2), np.array([[1.0, 0.3], [0.3, 2.0]])
    means = np.array([[0.0, 1.0], [2.0, -1.0]])
    W = ef.class_weights(f, [f.natural(m, S) for m in means], [0.3, 0.7])
    w = W[1] - W[0]
    slope = np.linalg.solve(S, means[1] - means[0])
    bias = -slope @ means.sum(axis=0) / 2 + np.log(0.7 / 0.3)
    np.testing.assert_allclose(w[:3], [bias, *slope], rtol=1e-12)
    np.testing.assert_allclose(w[3:], 0, atol=1e-15)


def test_fit_classes_fits_each_class(rng):
    """Weights from the parts; labels as floats; classes of unequal size."""
    f = families.product(families.gamma(), families.poisson())
    t = np.repeat([0.0, 1.0, 2.0], [10, 20, 30])
    x = np.column_stack([rng.gamma(2 + t), rng.poisson(1 + t)])
    W = ef.fit_classes(f, x, t)
    etas = [ef.fit(f, x[t == k]) for k in range(3)]
    expected = ef.class_weights(f, etas, np.array([1, 2, 3]) / 6)
    np.testing.assert_array_equal(W, expected)
    prior = ef.Prior(chi=f.u(x).mean(axis=0), nu=1.0)
    etas = [ef.fit(f, x[t == k], prior) for k in range(3)]
    expected = ef.class_weights(f, etas, np.array([1, 2, 3]) / 6)
    np.testing.assert_array_equal(ef.fit_classes(f, x, t, prior), expected)


def test_log_posterior_survives_a_thousand_features():
    """The product of densities underflows; the logs do not."""
    f = families.product(*[families.bernoulli()] * 1000)
    W = ef.class_weights(
        f, [np.full(1000, 2.0), np.full(1000, -2.0)], [0.5, 0.5]
    )
    found = ef.log_posterior(f, np.ones(1000), W)
    np.testing.assert_allclose(found, [0, -2000], atol=1e-9)


# Bad input.


@pytest.mark.parametrize(
    ("f", "x", "says"),
    [
        (families.bernoulli(), [0, 0.5], "x must be 0 or 1; got 0.5"),
        (families.poisson(), [1, -1], "x must be 0, 1, 2, ...; got -1.0"),
        (families.gamma(), [1.0, 0.0], "x must be positive; got 0.0"),
        (families.gamma(), [1.0, np.nan], "x must be finite"),
        (families.gamma(), [1.0, np.inf], "x must be finite"),
        (families.gamma(), [], "N >= 1 observations"),
        (families.gamma(), 1.0, "one number each; got shape"),
        (families.gamma(), [[1.0], [2.0]], "one number each; got shape"),
        (families.gamma(), ["a"], "x must hold real numbers"),
        (families.dirichlet(2), [[0.5, 0.6]], "2 positive shares of 1; got"),
        (families.dirichlet(2), [0.5, 0.5], "one row each; got shape"),
        (families.multivariate_gaussian(2), [[1.0]], "must have 2 columns"),
        (families.multivariate_gaussian(1), 1.0, "must have 1 columns"),
        (families.multivariate_gaussian(1), np.ones((0, 1)), "N >= 1"),
    ],
)
def test_bad_observations(f, x, says):
    """What arrived and what was expected."""
    with pytest.raises(ValueError, match=says):
        ef.fit(f, x)


@pytest.mark.parametrize(
    ("eta", "says"),
    [
        ([1.0], "eta must have shape"),
        ([1.0, 1.0], "is no natural parameter"),
        ([np.inf, -1.0], "eta must be finite"),
    ],
)
def test_bad_natural_parameters(eta, says):
    """Divergent integrals are named, in every function that takes eta."""
    f = families.gamma()
    good = np.array([1.0, -1.0])
    for call in (
        lambda: ef.log_density(f, 1.0, eta),
        lambda: ef.divergence(f, eta, good),
        lambda: ef.divergence(f, good, eta),
        lambda: ef.class_weights(f, [good, eta], [0.5, 0.5]),
    ):
        with pytest.raises(ValueError, match=says):
            call()


@pytest.mark.parametrize(
    "pi", [[0.5, 0.6], [1.0, 0.0], [1.5, -0.5], [1.0], [0.5, np.nan]]
)
def test_bad_class_priors(pi):
    """Positive, one per class, summing to one."""
    with pytest.raises(ValueError, match="pi must"):
        ef.class_weights(families.bernoulli(), [[0.1], [0.2]], pi)


@pytest.mark.parametrize(
    "t",
    [[0, 0, 0], [0, 2, 2], [0, 1], [0, 1, np.nan], [0, 0.5, 1], [0, -1, 1]],
)
def test_bad_labels(t):
    """One class, a class without rows, too few, not a number."""
    with pytest.raises(ValueError, match="t must|class 1"):
        ef.fit_classes(families.poisson(), [1, 2, 3], t)


def test_a_class_without_estimate_is_named():
    """Which class, and what may help."""
    with pytest.raises(ef.BoundaryError, match="^class 1: Gaussian.*a prior"):
        ef.fit_classes(families.gaussian(), [1, 2, 3, 3], [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("W", "says"),
    [
        (np.ones((2, 3)), "W must have 2 columns, the bias and one per stat"),
        ([[1.0, np.nan], [0.0, 0.0]], "W must be finite"),
        ([1.0, 2.0], "W must be a matrix"),
    ],
)
def test_bad_weights(W, says):
    """Wrong shapes and missing numbers; a list of lists will do."""
    with pytest.raises(ValueError, match=says):
        ef.log_posterior(families.poisson(), [1, 2], W)
    found = ef.log_posterior(families.poisson(), [1, 2], [[0, 1], [0, 1]])
    np.testing.assert_allclose(found, np.log(0.5))


def test_one_class_is_none():
    """Nor is nothing."""
    for etas, pi in (([[1.0]], [1.0]), ([], [])):
        with pytest.raises(ValueError, match="at least two classes"):
            ef.class_weights(families.poisson(), etas, pi)


def test_an_overflow_is_no_divergence():
    """exp(800) is finite, but no float."""
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="diverges, or overflows"),
    ):
        ef.log_density(families.poisson(), 3, [800.0])


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e-100, 1e100, 1e149])
def test_gamma_fits_in_any_unit(unit, rng):
    """The shape has no unit; the rate is measured in 1 / unit."""
    f, x = families.gamma(), rng.gamma(2.5, 1.0, 30)
    expected, found = ef.fit(f, x), ef.fit(f, x * unit)
    np.testing.assert_allclose(found * [1, unit], expected, rtol=1e-9)


@pytest.mark.filterwarnings("error::prml4.numerics.newton.NotConverged")
@pytest.mark.parametrize("spread", [1e-3, 1e-4, 1e-5])
def test_nearly_equal_shares_have_an_estimate(spread):
    """a + b is m (1 - m) over the variance, less one, up to O(spread^2)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ef.LostDigits)
        a, b = ef.fit(families.beta(), [0.4, 0.4 + spread])
    assert a + b == pytest.approx(4 * 0.24 / spread**2, rel=0.01)
    assert a / (a + b) == pytest.approx(0.4 + spread / 2, abs=spread / 10)


@pytest.mark.filterwarnings("ignore::prml4.numerics.newton.NotConverged")
def test_means_without_a_newton_step_are_refused():
    """So near the boundary that the covariance is singular in floats."""
    f = replace(families.beta(), covariance=lambda eta: np.zeros((2, 2)))
    with pytest.raises(ef.BoundaryError, match="no finite natural parameter"):
        ef.fit(f, [0.3, 0.6])


@pytest.mark.parametrize("s", [0.1, 0.3, 1 / 3, 0.7, 12.1])
def test_scaled_columns_may_be_counts_or_lengths(s):
    """Counts survive rounding beside a continuous column."""
    f = ef.scaled(families.product(families.poisson(), families.gamma()), s)
    x = np.column_stack([np.arange(1, 60) * s, np.linspace(0.1, 9, 59)])
    expected = stats.poisson(np.e).logpmf(np.arange(1, 60))
    expected += stats.gamma(2.0, scale=s).logpdf(x[:, 1])
    found = ef.log_density(f, x, [1.0, 2.0, -1.0])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_spread_lost_far_from_zero_is_not_called_constant():
    """1e18 has no digit left for a variance of 1; a prior is no help."""
    for x in (1e9 + np.array([-1.0, 1.0]), np.full(5, 3.0)):
        with pytest.raises(ef.BoundaryError, match="do not vary.*centre them"):
            ef.fit(families.gaussian(), x)


@pytest.mark.filterwarnings("ignore::prml4.exponential_family.LostDigits")
def test_an_overflowing_parameter_is_refused(rng):
    """1 / variance beyond the largest number: no inf, no NaN, no warning."""
    for family, x in [
        (families.gaussian(), 1e-160 * rng.normal(size=100)),
        (families.multivariate_gaussian(2), 1e-160 * rng.normal(size=(100, 2))),
        (families.gamma(), 1e-310 * rng.gamma(2, size=100)),
    ]:
        with pytest.raises(ValueError, match="must be of moderate size"):
            ef.fit(family, x)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("m", [1e-9, 1e-100])
def test_rare_events_have_all_their_digits(m):
    """A mean near 0 is as exact as any: no warning of lost digits."""
    assert ef.from_mean(families.poisson(), [m])[0] == np.log(m)
    assert ef.from_mean(families.bernoulli(), [m])[0] == pytest.approx(
        np.log(m) - np.log1p(-m), rel=1e-14
    )
    found = ef.from_mean(families.categorical(3), [m, 0.5])
    np.testing.assert_allclose(found, [np.log(2 * m), 0], atol=1e-8)


def test_another_kind_of_family_or_prior_is_refused():
    """That of chapter 11, a name, a number: an AttributeError."""
    x, poisson = np.arange(4.0), families.poisson()
    for family in (dispersion.POISSON, "poisson", families.poisson):
        for call in (
            lambda: ef.fit(family, x),  # noqa: B023
            lambda: ef.fit_classes(family, x, [0, 1, 0, 1]),  # noqa: B023
            lambda: ef.from_mean(family, [1.0]),  # noqa: B023
            lambda: ef.log_density(family, x, [1.0]),  # noqa: B023
            lambda: ef.log_posterior(family, x, np.ones((2, 2))),  # noqa: B023
            lambda: ef.divergence(family, [1.0], [2.0]),  # noqa: B023
            lambda: ef.class_weights(family, [[1.0], [2]], [0.5, 0.5]),  # noqa: B023
            lambda: ef.scaled(family, 2.0),  # noqa: B023
        ):
            with pytest.raises(
                ValueError, match="family must be a Family; got"
            ):
                call()
    with pytest.raises(ValueError, match="that of prml4.models.dispersion$"):
        ef.fit(dispersion.POISSON, x)
    with pytest.raises(ValueError, match="prior must be a Prior; got float"):
        ef.fit(poisson, x, 3.0)
