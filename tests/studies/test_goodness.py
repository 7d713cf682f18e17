"""studies.goodness: likelihoods, tests, residuals and leverage of a GLM."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from prml4 import glm
from prml4.models.dispersion import (
    BERNOULLI,
    FAMILIES,
    GAMMA,
    GAUSSIAN,
    IDENTITY,
    INVERSE,
    LOG,
    POISSON,
)
from prml4.studies import goodness

each = pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)


def drawn(family, N=80):
    """Phi, t and frequency weights; the family's canonical link fits."""
    rng = np.random.default_rng(11)
    Phi = np.c_[np.ones(N), np.tanh(rng.standard_normal((N, 2)))]
    link = LOG if LOG in family.links else family.links[0]
    y = link.mean(Phi @ [0.3, 0.5, -0.4])
    t = {
        "Gaussian": lambda: y + 0.3 * rng.standard_normal(N),
        "Bernoulli": lambda: (rng.random(N) < y).astype(float),
        "Poisson": lambda: rng.poisson(y).astype(float),
        "Gamma": lambda: rng.gamma(4, y / 4),
        "inverse Gaussian": lambda: rng.wald(y, 5),
    }[family.name]()
    return Phi, t, link, rng.integers(1, 4, N).astype(float)


def peer(Phi, t, family, link, **weights):
    """statsmodels' GLM."""
    sm = pytest.importorskip("statsmodels.api")
    F, L = sm.families, sm.families.links
    members = [F.Gaussian, F.Binomial, F.Poisson, F.Gamma, F.InverseGaussian]
    theirs = L.Log() if link is LOG else L.Logit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of links unusual for a family
        member = members[FAMILIES.index(family)](theirs)
        model = sm.GLM(t, Phi, member, **weights)
        return model.fit(tol=1e-14, tol_criterion="params", maxiter=300)


@each
def test_likelihood_residuals_and_leverage_are_those_of_statsmodels(family):
    """At one dispersion; without weights, by which it means something else."""
    Phi, t, link, _ = drawn(family)
    fit, other = glm.fit(Phi, t, family, link), peer(Phi, t, family, link)
    L = goodness.log_likelihood(fit, Phi, t, s=other.scale)
    assert pytest.approx(other.llf_scaled(other.scale), rel=1e-10) == L
    for kind in ("response", "pearson", "deviance"):
        want = getattr(other, f"resid_{kind}")
        found = goodness.residuals(fit, Phi, t, kind)
        assert_allclose(found, want, rtol=1e-8, atol=1e-8)
    want = other.get_hat_matrix_diag(observed=False)
    assert_allclose(goodness.leverage(fit, Phi), want, rtol=1e-8)


def test_an_offset_counts_in_residuals_and_leverage():
    """Log exposures; the referee is statsmodels."""
    Phi, t, link, _ = drawn(POISSON)
    o = np.linspace(-1, 1, len(t))
    fit = glm.fit(Phi, t, POISSON, offset=o)
    other = peer(Phi, t, POISSON, link, offset=o)
    found = goodness.residuals(fit, Phi, t, "pearson")
    assert_allclose(found, other.resid_pearson, rtol=1e-8, atol=1e-8)
    want = other.get_hat_matrix_diag(observed=False)
    assert_allclose(goodness.leverage(fit, Phi), want, rtol=1e-8)


@each
def test_weights_count_in_likelihood_residuals_and_leverage(family):
    """Frequencies: rows repeated; sums of squares; h adds up to M."""
    Phi, t, link, c = drawn(family)
    c[:3] = 0
    fit, n = glm.fit(Phi, t, family, link, weights=c), c.astype(int)
    rows = Phi.repeat(n, axis=0), t.repeat(n)
    single = glm.fit(*rows, family, link)
    L = goodness.log_likelihood(fit, Phi, t)
    assert pytest.approx(goodness.log_likelihood(single, *rows)) == L
    for kind, total in (("pearson", fit.pearson), ("deviance", fit.deviance)):
        found = goodness.residuals(fit, Phi, t, kind)
        assert np.sum(found**2) == pytest.approx(total, rel=1e-9)
    h = goodness.leverage(fit, Phi)
    assert h.shape == (77,) and h.sum() == pytest.approx(3)
    alone = goodness.leverage(single, rows[0])
    assert_allclose(h, np.bincount(np.repeat(np.arange(77), n[3:]), alone))


@pytest.mark.parametrize("family", [GAUSSIAN, GAMMA], ids=lambda f: f.name)
def test_the_likelihood_is_largest_in_s_too(family):
    """The Gaussian's best s is the mean square; more or less s is worse."""
    Phi, t, link, _ = drawn(family)
    fit = glm.fit(Phi, t, family, link)
    L = goodness.log_likelihood(fit, Phi, t)
    around = [goodness.log_likelihood(fit, Phi, t, s) for s in (0.01, 0.1, 1)]
    assert max(around) < L
    if family is GAUSSIAN:
        best = goodness.log_likelihood(fit, Phi, t, fit.deviance / 80)
        assert pytest.approx(best, rel=1e-12) == L


def test_aic_and_bic_are_those_of_statsmodels():
    """Poisson; where s is estimated it is a parameter as well, as R counts."""
    Phi, t, link, _ = drawn(POISSON)
    found = goodness.criteria(glm.fit(Phi, t, POISSON), Phi, t)
    other = peer(Phi, t, POISSON, link)
    assert found.aic == pytest.approx(other.aic, rel=1e-10)
    assert found.bic == pytest.approx(other.bic_llf, rel=1e-10)
    assert goodness.criteria(glm.fit(Phi, t, GAUSSIAN), Phi, t).parameters == 4
    with pytest.raises(ValueError, match="fit must be one of maximum lik"):
        goodness.criteria(glm.fit(Phi, t, POISSON, alpha=1.0), Phi, t)


def test_criteria_are_of_the_rows_of_the_fit():
    """Of ten rows, or of a test set, the likelihood was charged as of all."""
    Phi, t, *_ = drawn(POISSON)
    fit = glm.fit(Phi, t, POISSON)
    with pytest.raises(ValueError, match="the 80 rows of the fit.*got 10"):
        goodness.criteria(fit, Phi[:10], t[:10])
    assert goodness.log_likelihood(fit, Phi[:10], t[:10]) < 0


def groups():
    """Shares of 12 groups of unequal size, and each trial as a row."""
    rng = np.random.default_rng(3)
    Phi, m = np.c_[np.ones(12), np.linspace(-1, 1, 12)], np.arange(5.0, 17)
    k = rng.binomial(m.astype(int), 1 / (1 + np.exp(-Phi @ [0.2, 1.0])))
    return Phi, k.astype(float), m


def test_groups_have_the_binomial_likelihood_and_their_own_freedom():
    """scipy's binomial; statsmodels with the shares' sizes as var_weights."""
    Phi, k, m = groups()
    fit = glm.fit(Phi, k / m, BERNOULLI, weights=m)
    found = goodness.criteria(fit, Phi, k / m)
    y = glm.mean(fit, Phi)
    L = stats.binom(m.astype(int), y).logpmf(k).sum()
    assert found.log_likelihood == pytest.approx(L, rel=1e-10)
    assert found.bic == pytest.approx(2 * np.log(12) - 2 * L, rel=1e-10)
    other = peer(Phi, k / m, BERNOULLI, None, var_weights=m)
    assert fit.freedom == other.df_resid == 10
    assert fit.deviance == pytest.approx(other.deviance, rel=1e-9)
    for kind in ("pearson", "deviance"):
        want = getattr(other, f"resid_{kind}")
        found = goodness.residuals(fit, Phi, k / m, kind)
        assert_allclose(found, want, rtol=1e-7, atol=1e-9)
    assert_allclose(
        goodness.leverage(fit, Phi), other.get_hat_matrix_diag(observed=False)
    )


@each
def test_z_and_p_are_those_of_statsmodels(family):
    """Normal where s is known, Student's t where it is estimated."""
    Phi, t, link, _ = drawn(family)
    found = goodness.wald(glm.fit(Phi, t, family, link), Phi)
    other = peer(Phi, t, family, link)
    assert_allclose(found.error, other.bse, rtol=1e-8)
    assert_allclose(found.statistic, other.tvalues, rtol=1e-8)
    z, law = np.abs(found.statistic), stats.norm
    if family.s is None:
        law = stats.t(77)
    assert_allclose(found.p, 2 * law.sf(z))
    if family.s is not None:
        assert_allclose(found.p, other.pvalues, rtol=1e-6)


def test_nested_poisson_models_are_compared_by_chi_square():
    """The likelihoods written out; the reverse is refused."""
    Phi, t, _, _ = drawn(POISSON)
    small, large = glm.fit(Phi[:, :1], t, POISSON), glm.fit(Phi, t, POISSON)
    found = goodness.likelihood_ratio(small, large)
    gain = goodness.log_likelihood(large, Phi, t)
    gain -= goodness.log_likelihood(small, Phi[:, :1], t)
    assert found.statistic == pytest.approx(2 * gain, rel=1e-9)
    assert found.p == pytest.approx(stats.chi2(2).sf(2 * gain), rel=1e-9)
    other = glm.fit(Phi[1:], t[1:], POISSON)
    for wrong in ((large, small), (small, other), (large, large)):
        with pytest.raises(ValueError, match="small must be nested in large"):
            goodness.likelihood_ratio(*wrong)


def test_nested_gaussian_models_are_compared_by_f():
    """Of two regressions the F test of textbooks, from sums of squares."""
    Phi, t, _, _ = drawn(GAUSSIAN)
    small = glm.fit(Phi[:, :1], t, GAUSSIAN)
    large = glm.fit(Phi, t, GAUSSIAN)
    rss = [np.sum(goodness.residuals(large, Phi, t, "response") ** 2)]
    rss.append(np.sum((t - t.mean()) ** 2))
    F = (rss[1] - rss[0]) / 2 / (rss[0] / 77)
    found = goodness.likelihood_ratio(small, large)
    assert found.statistic == pytest.approx(F, rel=1e-9)
    assert found.p == pytest.approx(stats.f(2, 77).sf(F), rel=1e-9)


def test_the_p_of_a_true_hypothesis_is_uniform():
    """400 Poisson data sets of 60 rows: Kolmogorov's distance below 1.6 / 20,
    which a uniform p exceeds in one case of a hundred."""
    rng = np.random.default_rng(1)
    Phi = np.c_[np.ones(60), rng.standard_normal((60, 2))]
    p = []
    for _ in range(400):
        t = rng.poisson(np.exp(1 + 0.3 * Phi[:, 1]))
        fits = glm.fit(Phi[:, :2], t, POISSON), glm.fit(Phi, t, POISSON)
        p.append(goodness.likelihood_ratio(*fits).p)
    assert stats.kstest(p, "uniform").statistic < 1.6 / 20


def test_other_residuals_and_other_fits_are_refused():
    """By name."""
    Phi, t, _, _ = drawn(POISSON)
    with pytest.raises(ValueError, match="kind must be one of"):
        goodness.residuals(glm.fit(Phi, t, POISSON), Phi, t, "raw")
    with pytest.raises(ValueError, match="fit must be a GLMFit"):
        goodness.log_likelihood(Phi, Phi, t)


def test_a_mean_that_rounds_to_one_spoils_nothing():
    """y = 1 to the last digit: no NaN among residuals, leverages, ln L."""
    x = np.r_[np.tile([-1.0, 0, 1], 40), 60.0]
    t = 1.0 * (x > 0)
    t[:5] = 0, 1, 0, 1, 0  # one of each 40 is not like the others
    Phi = np.c_[np.ones(len(x)), x]
    fit = glm.fit(Phi, t, BERNOULLI)
    assert glm.mean(fit, Phi)[-1] == 1
    assert np.isfinite(goodness.log_likelihood(fit, Phi, t))
    assert np.isfinite(goodness.leverage(fit, Phi)).all()
    for kind in ("response", "pearson", "deviance"):
        found = goodness.residuals(fit, Phi, t, kind)[-1]
        assert found == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("link", BERNOULLI.links, ids=lambda k: k.name)
def test_an_outlier_beyond_the_last_digit_of_y_counts_in_full(link):
    """t = 0 where y rounds to 1: as much as the deviance says, not infinity in
    ln L and nothing in X^2. For logit and probit 1 - t has it where y is small.
    """
    rng = np.random.default_rng(5)
    Phi = np.c_[np.ones(4000), rng.standard_normal(4000)]
    t = (rng.random(4000) < link.mean(6 * Phi[:, 1])).astype(float)
    Phi[0, 1], t[0] = 7.0, 0.0
    fit = glm.fit(Phi, t, BERNOULLI, link)
    assert fit.converged and glm.mean(fit, Phi)[0] == 1
    L = goodness.log_likelihood(fit, Phi, t)
    assert pytest.approx(-fit.deviance / 2, rel=1e-12) == L
    d = goodness.residuals(fit, Phi, t)
    assert d[0] < -8 and d @ d == pytest.approx(fit.deviance, rel=1e-12)
    r = goodness.residuals(fit, Phi, t, "pearson")
    assert r[0] < -1e8 and r @ r == pytest.approx(fit.pearson, rel=1e-12)
    if link is not BERNOULLI.links[2]:
        turned = glm.fit(Phi, 1 - t, BERNOULLI, link)
        assert turned.pearson == pytest.approx(fit.pearson, rel=1e-6)


@pytest.mark.parametrize("far", [1e6, 1e9])
def test_the_likelihood_knows_nothing_of_the_origin(far):
    """A regression of t + far has the ln L of t, though (t / sd)^2 has not the
    digits for it."""
    Phi, t, _, _ = drawn(GAUSSIAN)
    near = goodness.log_likelihood(glm.fit(Phi, t, GAUSSIAN), Phi, t)
    t = t + far
    found = goodness.log_likelihood(glm.fit(Phi, t, GAUSSIAN), Phi, t)
    assert found == pytest.approx(near, abs=1e-15 * far * 80 / 0.3)


def test_tests_are_for_fits_without_a_prior():
    """A prior shrinks weights and deviances: p would mean nothing."""
    Phi, t, link, _ = drawn(POISSON)
    small = glm.fit(Phi[:, :1], t, POISSON, link)
    large = glm.fit(Phi, t, POISSON, link, alpha=5.0)
    with pytest.raises(ValueError, match="of maximum likelihood"):
        goodness.wald(large, Phi)
    with pytest.raises(ValueError, match="of maximum likelihood"):
        goodness.likelihood_ratio(small, large)
    with pytest.raises(ValueError, match="fit must be a GLMFit; got NoneType"):
        goodness.wald(None, Phi)
    with pytest.raises(ValueError, match="Phi must be a matrix"):
        goodness.leverage(large, None)


@pytest.mark.parametrize("change", [{"offset": 0.5}, {"weights": None}])
def test_nested_models_see_the_same_rows(change):
    """Another offset, or other weights, is no smaller model."""
    Phi, t, link, c = drawn(POISSON)
    c = c / c.mean()  # as many rows in all
    small = glm.fit(Phi[:, :1], t, POISSON, link, **{"weights": c} | change)
    large = glm.fit(Phi, t, POISSON, link, weights=c)
    with pytest.raises(ValueError, match="same offset and weights"):
        goodness.likelihood_ratio(small, large)


@pytest.mark.parametrize("family", [GAUSSIAN, GAMMA], ids=lambda f: f.name)
def test_a_fit_that_leaves_nothing_has_no_likelihood_in_s(family):
    """It grows for ever as s -> 0; with no freedom there is no s either."""
    Phi, t = np.ones((5, 1)), np.full(5, 2.0)
    fit = glm.fit(Phi, t, family)
    with pytest.raises(ValueError, match="fit must leave a deviance"):
        goodness.criteria(fit, Phi, t)
    assert np.isfinite(goodness.log_likelihood(fit, Phi, t, s=0.1))
    for s in (0.0, -1.0, np.nan, "x"):
        with pytest.raises(ValueError, match="s must"):
            goodness.log_likelihood(fit, Phi, t, s=s)
    one = glm.fit(Phi[:1], t[:1], family)
    with pytest.raises(ValueError, match="fit must have more rows"):
        goodness.wald(one, Phi[:1])


def test_nested_models_may_say_the_same_in_other_words():
    """No weights are ones, and an offset of 0 is one of zeros; but rows of
    another number are others."""
    Phi, t, _, _ = drawn(POISSON)
    plain = glm.fit(Phi[:, :1], t, POISSON)
    large = glm.fit(Phi, t, POISSON)
    want = goodness.likelihood_ratio(plain, large)
    zeros, ones = {"offset": np.zeros(80)}, {"weights": np.ones(80)}
    for said in (zeros, ones, zeros | ones):
        small = glm.fit(Phi[:, :1], t, POISSON, **said)
        assert goodness.likelihood_ratio(small, large).p == want.p
    other = glm.fit(Phi[1:], t[1:], POISSON, offset=np.zeros(79))
    small = glm.fit(Phi[:, :1], t, POISSON, **zeros)
    with pytest.raises(ValueError, match="same offset and weights"):
        goodness.likelihood_ratio(small, other)


@pytest.mark.parametrize(
    ("family", "X", "t"),
    [
        (GAUSSIAN, np.c_[np.ones(4), [0.0, 0, 1, 1]], np.full(4, 2.0)),
        (GAUSSIAN, np.eye(4), np.arange(1.0, 5)),
        (GAMMA, np.eye(4), np.arange(1.0, 5)),
    ],
)
def test_tests_need_something_to_estimate_s_from(family, X, t):
    """Rows without noise, or as many weights as rows: no division by zero."""
    small, large = glm.fit(np.ones((4, 1)), t, family), glm.fit(X, t, family)
    with pytest.raises(ValueError, match="fit must have more rows than"):
        goodness.wald(large, X)
    with pytest.raises(ValueError, match="large must have more rows than"):
        goodness.likelihood_ratio(small, large)


@pytest.mark.parametrize(
    "family, link", [(GAUSSIAN, IDENTITY), (GAMMA, LOG), (GAMMA, INVERSE)]
)
def test_rounding_is_no_noise(family, link):
    """Targets on a line, a third column of nothing: X^2 is a few roundings.

    Noise of a millisecond beside a clock's 1.7e9 seconds is some, though.
    """
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.column_stack([np.ones(20), rng.normal(size=(20, 2)).round(1)])
        a = (2 + 0.3 * X[:, 1]) * (-1 if link is INVERSE else 1)
        large = glm.fit(X, link.mean(a), family, link)
        with pytest.raises(ValueError, match="leave a deviance"):
            goodness.wald(large, X)
    noise = rng.normal(size=20)
    clock = glm.fit(X, 1.7e9 + 1e-3 * noise, GAUSSIAN)
    rest = noise - X @ np.linalg.lstsq(X, noise)[0]
    assert clock.dispersion == pytest.approx(1e-6 * rest @ rest / 17, rel=1e-2)


def test_without_freedom_only_a_known_dispersion_gives_errors():
    """Errors were NaN without a word."""
    X, t = np.eye(4), np.arange(1.0, 5)
    with pytest.raises(ValueError, match="got 0 degrees of freedom"):
        glm.standard_errors(glm.fit(X, t, GAUSSIAN), X)
    counts = glm.fit(X, t, POISSON)
    assert np.isfinite(goodness.wald(counts, X).p).all()
    assert np.isfinite(glm.standard_errors(counts, X)).all()
