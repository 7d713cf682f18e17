"""prml4.glm: formulas, the fit against other programs, and what goes wrong."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from scipy.optimize import brentq, minimize

from prml4 import glm, irls, logistic
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
from prml4.numerics import descent, newton
from prml4.numerics.separation import SeparableDataWarning
from tests.campaigns import glm_pairs

PAIRS = [(f, k) for f in FAMILIES for k in f.links]
each_pair = pytest.mark.parametrize(
    "family, link", PAIRS, ids=[f"{f.name}-{k.name}" for f, k in PAIRS]
)
TRUE = {
    INVERSE: [-1.5, 0.3, 0.2],
    INVERSE_SQUARE: [-1.5, 0.3, 0.2],
    IDENTITY: [3.0, 0.5, -0.2],
}


def problem(family, link, N=120, seed=7):
    """Phi, t, true w, an offset and weights; a stays inside the domain."""
    rng = np.random.default_rng(seed)
    Phi = np.c_[np.ones(N), np.tanh(rng.standard_normal((N, 2)))]
    w = np.array(TRUE.get(link, [0.3, 0.5, -0.4]))
    offset = 0.1 * np.cos(np.arange(N))
    y = link.mean(Phi @ w + offset)
    draw = {
        GAUSSIAN: lambda: y + 0.1 * rng.standard_normal(N),
        BERNOULLI: lambda: (rng.random(N) < y).astype(float),
        POISSON: lambda: rng.poisson(y).astype(float),
        GAMMA: lambda: rng.gamma(4, y / 4),
        INVERSE_GAUSSIAN: lambda: rng.wald(y, 5),
    }
    return Phi, draw[family](), w, offset, rng.integers(1, 4, N).astype(float)


def statsmodels_fit(Phi, t, family, link, offset=None, weights=None):
    """Its GLM, and the factor between its weights and ours."""
    sm = pytest.importorskip("statsmodels.api")
    F, L = sm.families, sm.families.links
    members = [F.Gaussian, F.Binomial, F.Poisson, F.Gamma, F.InverseGaussian]
    member = members[FAMILIES.index(family)]
    theirs, sign = {
        IDENTITY: (L.Identity, 1),
        LOG: (L.Log, 1),
        LOGIT: (L.Logit, 1),
        PROBIT_LINK: (L.Probit, 1),
        CLOGLOG_LINK: (L.CLogLog, 1),
        INVERSE: (L.InversePower, -1),
        INVERSE_SQUARE: (L.InverseSquared, -2),
    }[link]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of links unusual for a family
        model = sm.GLM(
            t,
            Phi,
            member(theirs()),
            offset=None if offset is None else sign * offset,
            freq_weights=weights,
        )
        found = model.fit(tol=1e-14, tol_criterion="params", maxiter=300)
    return found, sign


# The formulas.


@each_pair
def test_error_gradient_and_hessian_by_central_differences(family, link):
    """Offsets and weights included; h = 1e-5."""
    Phi, t, w, offset, c = problem(family, link, 40)
    rest = (Phi, t, family, link)
    more = {"offset": offset, "weights": c}
    g = glm.gradient(w, *rest, **more)
    H = glm.hessian(w, *rest, **more)
    scale = np.abs(g).max()
    for j, e in enumerate(1e-5 * np.eye(3)):
        up, down = (glm.error(w + d, *rest, **more) for d in (e, -e))
        assert g[j] == pytest.approx((up - down) / 2e-5, abs=1e-6 * scale)
        up, down = (glm.gradient(w + d, *rest, **more) for d in (e, -e))
        assert_allclose(H[j], (up - down) / 2e-5, atol=1e-5 * np.abs(H).max())


@each_pair
def test_error_and_gradient_as_sums_over_rows(family, link):
    """Half the unit deviances; (y - t) eta' phi; one row at a time."""
    Phi, t, w, offset, c = problem(family, link, 20)
    y = link.mean(Phi @ w + offset)
    assert_allclose(y, [link.mean(p @ w + o) for p, o in zip(Phi, offset)])  # noqa: B905
    d = dispersion.unit_deviance(t, y, family)
    more = {"offset": offset, "weights": c}
    found = glm.error(w, Phi, t, family, link, **more)
    assert found == pytest.approx(np.sum(c * d) / 2, rel=1e-10)
    eta1, eta2 = dispersion.factor(family, link, Phi @ w + offset)
    g = sum(c[n] * (y[n] - t[n]) * eta1[n] * Phi[n] for n in range(20))
    assert_allclose(
        glm.gradient(w, Phi, t, family, link, **more), g, rtol=1e-9, atol=1e-12
    )
    r = c * family.variance(y) * eta1**2
    S = sum(r[n] * np.outer(Phi[n], Phi[n]) for n in range(20))
    assert_allclose(glm.information(w, Phi, family, link, **more), S, rtol=1e-9)


def test_the_link_is_canonical_unless_given():
    """Every function takes the family's first link."""
    Phi, t, w, _, _ = problem(POISSON, LOG, 30)
    for f in (glm.error, glm.gradient, glm.hessian, glm.working_response):
        assert_allclose(f(w, Phi, t, POISSON), f(w, Phi, t, POISSON, LOG))
    assert_allclose(
        glm.information(w, Phi, POISSON), glm.information(w, Phi, POISSON, LOG)
    )
    assert_allclose(glm.fit(Phi, t, POISSON).w, glm.fit(Phi, t, POISSON, LOG).w)


@each_pair
def test_information_is_the_mean_of_the_hessian(family, link):
    """The Hessian is linear in t, and E[t] = y: of y and y + 1, or 0 and 1."""
    Phi, _, w, offset, c = problem(family, link, 30)
    y = link.mean(Phi @ w + offset)
    low = np.floor(y) if family in (BERNOULLI, POISSON) else y
    H = sum(
        glm.hessian(w, Phi, t, family, link, offset=offset, weights=c * share)
        for t, share in [(low, 1 - y + low), (low + 1, y - low)]
        if np.any(share)
    )
    assert_allclose(
        H,
        glm.information(w, Phi, family, link, offset=offset, weights=c),
        rtol=1e-10,
        atol=1e-12,
    )


@each_pair
def test_a_fisher_step_is_a_weighted_least_squares_fit(family, link):
    """w - S^{-1} grad E solves min sum r (z - phi^T w)^2."""
    Phi, t, w, offset, _ = problem(family, link, 50)
    z, r = glm.working_response(w, Phi, t, family, link, offset)
    root = np.sqrt(r)
    want = np.linalg.lstsq(root[:, None] * Phi, root * z)[0]
    S = glm.information(w, Phi, family, link, offset=offset)
    g = glm.gradient(w, Phi, t, family, link, offset=offset)
    assert_allclose(w - np.linalg.solve(S, g), want, rtol=1e-9)
    found = glm.fisher_step(w, Phi, t, family, link, offset)
    assert_allclose(found, want, rtol=1e-12)


def test_pointwise_keeps_curvature_positive():
    """Gaussian, log link: E'' = y (2 y - t) < 0 is replaced by y^2."""
    t, a = np.array([1.0, 5.0]), np.zeros(2)
    terms = glm.pointwise(GAUSSIAN, LOG, t)
    _, _, curve = terms(a, slice(0, 2))
    assert_allclose(curve, [1.0, 1.0])
    t = np.array([0.5, 5.0])
    assert_allclose(
        glm.pointwise(GAUSSIAN, LOG, t)(a, slice(0, 2))[2], [1.5, 1.0]
    )
    none = glm.pointwise(POISSON, IDENTITY, np.zeros(1))
    assert_allclose(none(np.ones(1), slice(0, 1))[2], 1.0)  # not 0
    fisher = glm.pointwise(GAUSSIAN, LOG, t, fisher=True)
    assert_allclose(fisher(a, slice(0, 2))[2], [1.0, 1.0])


def test_pointwise_outside_the_domain():
    """E is infinite there, and the slopes are 0 rather than nonsense."""
    terms = glm.pointwise(GAMMA, INVERSE, np.ones(3))
    E, g, h = terms(np.array([-1.0, 0.0, 2.0]), slice(0, 3))
    assert E[0] == 0 and np.all(E[1:] == np.inf)
    far = glm.pointwise(GAMMA, LOG, np.ones(2))
    E, slope, _ = far(np.array([-400.0, -800]), slice(0, 2))
    assert np.all(E == np.inf) and np.all(slope == 0)
    E = terms(np.array([-1.0, 0.0, 2.0]), slice(0, 3))[0]
    assert np.all(g[1:] == 0) and np.all(h[1:] == 0) and h[0] == 1


# The fit.


@pytest.mark.parametrize("method", ["newton", "fisher"])
@each_pair
def test_fit_equals_statsmodels(family, link, method):
    """Weights, standard errors, deviance, Pearson, dispersion: to 1e-9.

    With offsets and frequency weights; theirs stops at relative steps of
    1e-14 of a linearly convergent iteration.
    """
    Phi, t, _, offset, c = problem(family, link)
    fit = glm.fit(Phi, t, family, link, offset=offset, weights=c, method=method)
    theirs, factor = statsmodels_fit(Phi, t, family, link, offset, c)
    assert fit.converged and fit.separated is None
    assert_allclose(factor * fit.w, theirs.params, rtol=1e-9)
    se = glm.standard_errors(fit, Phi)
    assert_allclose(abs(factor) * se, theirs.bse, rtol=1e-9)
    assert fit.deviance == pytest.approx(theirs.deviance, rel=1e-10)
    assert fit.pearson == pytest.approx(theirs.pearson_chi2, rel=1e-9)
    assert fit.dispersion == pytest.approx(theirs.scale, rel=1e-9)
    assert fit.freedom == theirs.df_resid


@each_pair
def test_fit_equals_a_search_without_derivatives(family, link):
    """Nelder and Mead's simplex from the true weights, with a prior."""
    Phi, t, w, offset, _ = problem(family, link, 30)
    fit = glm.fit(Phi, t, family, link, offset=offset, alpha=[0.0, 1.0, 2.0])

    def E(w):
        with np.errstate(all="ignore"):
            value = glm.error(w, Phi, t, family, link, offset=offset)
        return value + 0.5 * (w[1] ** 2 + 2 * w[2] ** 2)

    found = minimize(
        E, w, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15}
    )
    assert_allclose(fit.w, found.x, atol=1e-6)
    assert fit.error == pytest.approx(found.fun, rel=1e-9)
    assert np.abs(fit.gradient).max() < 1e-7
    S = glm.information(fit.w, Phi, family, link, offset=offset)
    A = np.diag([0.0, 1, 2])
    assert_allclose(glm.curvature(fit, Phi), S + A)
    H = glm.hessian(fit.w, Phi, t, family, link, offset=offset)
    assert_allclose(glm.curvature(fit, Phi, t), H + A)
    assert fit.deviance == pytest.approx(
        2 * glm.error(fit.w, Phi, t, family, link, offset=offset)
    )


def test_logistic_regression_is_a_special_case():
    """Bernoulli, logit: weights, error, Hessian and standard errors."""
    Phi, t, _, _, c = problem(BERNOULLI, LOGIT)
    fit, want = (
        glm.fit(Phi, t, BERNOULLI, weights=c, alpha=0.1),
        logistic.fit(Phi, t, weights=c, alpha=0.1),
    )
    assert_allclose(fit.w, want.w, rtol=1e-12)
    H = logistic.curvature(want, Phi)
    assert_allclose(glm.curvature(fit, Phi), H, rtol=1e-12)
    assert_allclose(glm.curvature(fit, Phi, t), H, rtol=1e-12)
    assert fit.error == pytest.approx(want.error, rel=1e-12)
    assert_allclose(
        glm.standard_errors(fit, Phi),
        logistic.standard_errors(want, Phi),
        rtol=1e-12,
    )


def test_irls_is_a_special_case():
    """Working response and weights as in chapter 08."""
    Phi, t, w, _, _ = problem(BERNOULLI, LOGIT)
    z, r = glm.working_response(w, Phi, t, BERNOULLI)
    want_z, want_r = irls.working_response(w, Phi, t)
    assert_allclose(z, want_z, rtol=1e-12)
    assert_allclose(r, want_r, rtol=1e-12)


def test_least_squares_is_a_special_case(rng):
    """Gaussian, identity: one step, s = residual sum of squares / (N - M)."""
    Phi = np.c_[np.ones(50), rng.standard_normal((50, 3))]
    t = rng.standard_normal(50)
    fit = glm.fit(Phi, t, GAUSSIAN)
    w, rss, *_ = np.linalg.lstsq(Phi, t)
    assert_allclose(fit.w, w, rtol=1e-12)
    assert_allclose([fit.deviance, fit.pearson], np.r_[rss, rss], rtol=1e-12)
    assert fit.dispersion == pytest.approx(rss[0] / 46, rel=1e-12)
    S = np.linalg.inv(Phi.T @ Phi) * rss[0] / 46
    assert_allclose(
        glm.standard_errors(fit, Phi), np.sqrt(np.diag(S)), rtol=1e-12
    )
    assert len(fit.trace) <= 3


def test_inverse_gaussian_with_inverse_link_is_least_squares():
    """E = sum (1 + t a)^2 / (2 t): weights t on the targets -1 / t."""
    Phi, t, _, _, _ = problem(INVERSE_GAUSSIAN, INVERSE)
    root = np.sqrt(t)
    want = np.linalg.lstsq(root[:, None] * Phi, -1 / root)[0]
    fit = glm.fit(Phi, t, INVERSE_GAUSSIAN, INVERSE)
    assert_allclose(fit.w, want, rtol=1e-12)
    assert len(fit.trace) <= 3


@each_pair
def test_weights_repeat_rows(family, link):
    """A row of weight 2 is that row twice; weight 0 leaves it out."""
    Phi, t, _, offset, c = problem(family, link, 60)
    c[:5] = 0
    fit = glm.fit(Phi, t, family, link, offset=offset, weights=c)
    n = np.repeat(np.arange(60), c.astype(int))
    twice = glm.fit(Phi[n], t[n], family, link, offset=offset[n])
    assert_allclose(fit.w, twice.w, rtol=1e-8, atol=1e-10)
    for name in ("error", "deviance", "pearson", "freedom", "dispersion"):
        assert getattr(fit, name) == pytest.approx(getattr(twice, name), 1e-9)
    H = glm.curvature(twice, Phi[n], t[n])
    assert_allclose(glm.curvature(fit, Phi, t), H, rtol=1e-8)


def test_shares_of_successes_weigh_like_single_trials(rng):
    """t = k / m with weight m: the same weights as k ones, m - k zeros."""
    x = np.linspace(-1, 1, 6)
    m, k = np.array([5.0, 9, 4, 7, 6, 8]), np.array([1.0, 2, 2, 4, 5, 7])
    Phi = np.c_[np.ones(6), x]
    for link in BERNOULLI.links:
        grouped = glm.fit(Phi, k / m, BERNOULLI, link, weights=m)
        each = glm.fit(
            np.r_[Phi, Phi],
            np.repeat([1.0, 0.0], 6),
            BERNOULLI,
            link,
            weights=np.r_[k, m - k],
        )
        assert_allclose(grouped.w, each.w, rtol=1e-10)
        se = glm.standard_errors(each, np.r_[Phi, Phi])
        assert_allclose(glm.standard_errors(grouped, Phi), se, rtol=1e-10)
        assert grouped.freedom == 4 and each.freedom == m.sum() - 2


@pytest.mark.parametrize(
    "family, link", [(POISSON, LOG), (GAMMA, LOG), (BERNOULLI, CLOGLOG_LINK)]
)
def test_large_problems_take_the_fast_path_to_the_same_end(family, link):
    """Started from a sample, gradients only: equal to the plain iteration."""
    rng = np.random.default_rng(3)
    Phi = np.c_[np.ones(20000), rng.standard_normal((20000, 7))]
    a = Phi @ np.r_[0.5, 0.2 * rng.standard_normal(7)]
    y = link.mean(a)
    t = {
        POISSON: lambda: rng.poisson(y).astype(float),
        GAMMA: lambda: rng.gamma(2, y / 2),
        BERNOULLI: lambda: (rng.random(20000) < y).astype(float),
    }[family]()
    fit = glm.fit(Phi, t, family, link)
    given = glm._checked(Phi, t, family, link, 0.0, None, 0.0, None)
    terms = glm.pointwise(family, link, t)
    objective = descent.Objective(Phi, terms, None, np.zeros(8), np.zeros(8))
    plain = newton.newtons_method(objective, glm._start(given))
    assert fit.converged and plain.converged
    assert_allclose(fit.w, plain.w, rtol=1e-6, atol=1e-8)
    assert np.abs(fit.gradient).max() < 1e-8 * 20000
    assert fit.error == pytest.approx(plain.error, rel=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("family", [GAUSSIAN, GAMMA, INVERSE_GAUSSIAN])
def test_units_of_the_target_do_not_matter(family, factor):
    """Log link: t in other units moves the bias by a logarithm."""
    Phi, t, _, _, _ = problem(family, LOG)
    fit = glm.fit(Phi, t, family, LOG)
    other = glm.fit(Phi, factor * t, family, LOG)
    assert fit.converged and other.converged
    moved = fit.w + [np.log(factor), 0, 0]
    assert_allclose(other.w, moved, rtol=1e-8)
    assert_allclose(
        glm.standard_errors(other, Phi),
        glm.standard_errors(fit, Phi),
        rtol=1e-8,
    )
    assert other.trace[-1] == pytest.approx(other.error, rel=1e-9)


@each_pair
def test_units_of_the_columns_do_not_matter(family, link):
    """phi_j in units u_j: w_j in units 1 / u_j, converged and as sure.

    A column without a constant needs a start inside by linear programme.
    """
    Phi, t, _, offset, weights = problem(family, link)
    Phi[:, 0] = np.linspace(0.5, 1.5, len(Phi))
    more = {"offset": offset, "weights": weights}
    fit, units = glm.fit(Phi, t, family, link, **more), [1e-20, 1.0, 1e20]
    other = glm.fit(Phi * units, t, family, link, **more)
    assert fit.converged and other.converged
    assert_allclose(other.w * units, fit.w, rtol=1e-6)
    errors = glm.standard_errors(other, Phi * units) * units
    assert_allclose(errors, glm.standard_errors(fit, Phi), rtol=1e-6)


@each_pair
def test_means_of_two_groups_in_any_units(family, link):
    """A column for each group: f(w_k u_k) is its mean, by hand.

    What a column's units are cannot be told from its smallest entry, 0.
    """
    units, t = np.array([1e-20, 1e20]), np.array([1.0, 0, 1, 1, 0])
    t = t if family is BERNOULLI else t + [3, 2, 7, 1, 1]
    c = np.array([1.0, 3, 2, 1, 1])
    Phi = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [0, 1]])
    fit = glm.fit(Phi * units, t, family, link, weights=c)
    y = [np.average(t[:2], weights=c[:2]), np.average(t[2:], weights=c[2:])]
    assert fit.converged
    assert_allclose(fit.w * units, link.link(np.array(y)), rtol=1e-7)


@each_pair
def test_a_column_of_zeros_is_left_to_its_prior(family, link):
    """No row says anything of w_2: its prior mean; the rest as without."""
    Phi, t, _, offset, _ = problem(family, link)
    more = {"offset": offset, "alpha": [0.0, 0, 2, 0]}
    wide = np.insert(Phi, 2, 0.0, axis=1)
    fit = glm.fit(wide, t, family, link, m0=[0, 0, 0.7, 0], **more)
    want = glm.fit(Phi, t, family, link, offset=offset)
    assert fit.converged
    assert_allclose(fit.w, np.insert(want.w, 2, 0.7), rtol=1e-8)


def test_huge_counts_converge():
    """Counts near 1e9, whose errors are 1e16 apart."""
    x = np.linspace(0, 1, 9)
    t = np.round(1e9 * np.exp(x + 1e-4 * np.cos(40 * x)))
    fit = glm.fit(np.c_[np.ones(9), x], t, POISSON)
    assert fit.converged
    assert_allclose(fit.w, [np.log(1e9), 1], atol=1e-3)
    y = glm.mean(fit, np.c_[np.ones(9), x])
    assert y.sum() == pytest.approx(t.sum(), rel=1e-12)


def test_a_start_inside_the_domain_is_found_where_the_mean_is_none():
    """No constant column and means far apart: a linear programme helps."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0.1, 10, 60)
    Phi = np.c_[x, -0.05 * x**2 * (x < 3)]
    t = rng.gamma(20, x / 20)
    fit = glm.fit(Phi, t, GAMMA, IDENTITY, offset=np.where(x > 9, -3.0, 0.0))
    assert fit.converged and np.abs(fit.gradient).max() < 1e-8


def test_trace_falls_and_ends_at_the_error():
    """Damping: E never rises; its last value is the fit's error."""
    for family, link in PAIRS:
        Phi, t, _, _, _ = problem(family, link)
        fit = glm.fit(Phi, t, family, link)
        assert np.all(np.diff(fit.trace) <= 1e-10)
        assert fit.trace[-1] == pytest.approx(fit.error, rel=1e-9)


def test_standard_errors_from_either_hessian():
    """The expected one, or with the targets the observed one."""
    Phi, t, _, _, _ = problem(GAMMA, LOG)
    fit = glm.fit(Phi, t, GAMMA, LOG)
    for more, H in [
        ((), glm.information(fit.w, Phi, GAMMA, LOG)),
        ((t,), glm.hessian(fit.w, Phi, t, GAMMA, LOG)),
    ]:
        want = np.sqrt(fit.dispersion * np.diag(np.linalg.inv(H)))
        assert_allclose(glm.standard_errors(fit, Phi, *more), want)


def test_a_fit_remembers_its_model():
    """Link, offset and weights need not be given again; new rows may."""
    Phi, t, _, offset, c = problem(POISSON, LOG)
    fit = glm.fit(Phi, t, POISSON, offset=offset, weights=c, m0=np.ones(3))
    assert_allclose(glm.mean(fit, Phi), np.exp(Phi @ fit.w + offset))
    assert_allclose(glm.mean(fit, Phi[:2], 0.5), np.exp(Phi[:2] @ fit.w + 0.5))
    with pytest.raises(ValueError, match="offset must have shape"):
        glm.mean(fit, Phi[:2])
    with pytest.raises(ValueError, match="fit must be a GLMFit"):
        glm.mean(Phi, fit)
    with pytest.raises(ValueError, match="M = 3 columns"):
        glm.mean(fit, Phi[:, :2])


@pytest.mark.parametrize(
    ("family", "link", "w"),
    [
        (GAMMA, INVERSE, [-1.0, -0.5]),
        (GAMMA, IDENTITY, [1.0, 0.5]),
        (POISSON, IDENTITY, [1.0, 0.5]),
        (INVERSE_GAUSSIAN, INVERSE_SQUARE, [-1.0, -0.5]),
        (GAUSSIAN, INVERSE, [-1.0, -0.5]),
    ],
)
def test_a_row_beyond_the_domain_of_the_link_has_no_mean(family, link, w):
    """Waiting times of -2, counts of -1 were predicted to the left of the
    data, and NaN where the link has a root."""
    Phi = np.c_[np.ones(30), np.linspace(0, 3, 30)]
    y = link.mean(Phi @ w)
    t = np.round(3 * y) if family is POISSON else y
    fit = glm.fit(Phi, t, family, link)
    assert fit.converged and glm.mean(fit, Phi).min() > 0
    new = np.array([[1.0, 2.0], [1.0, -3.0]])
    with pytest.raises(ValueError, match=r"link needs w\^T phi_n .* in row 1"):
        glm.mean(fit, new)
    assert glm.mean(fit, new, 3 * np.sign(w[0]) * abs(fit.w[0])).min() > 0
    free = glm.fit(Phi, y - 3, GAUSSIAN)
    assert glm.mean(free, Phi).min() < 0


@pytest.mark.parametrize("link", [INVERSE, INVERSE_SQUARE, IDENTITY])
def test_on_the_edge_only_the_identity_has_a_mean(link):
    """1/0, and -1e12 or NaN a rounding beyond, were predicted; counts of -1."""
    x = np.linspace(0, 0.9, 9)
    family = POISSON if link is IDENTITY else INVERSE_GAUSSIAN
    fit = glm.fit(np.c_[np.ones(9), x], 9 - np.round(9 * x), family, link)
    fit = replace(fit, w=np.array([-1.0, 1]), offset=0.0)
    for a in (0.0, 1e-12 * (1 - 2 * (link is IDENTITY))):
        if link is IDENTITY:
            assert glm.mean(fit, [[1, 1 + a]]) == 0
        else:
            with pytest.raises(ValueError, match="needs.* < 0.*in row 0"):
                glm.mean(fit, [[1, 1 + a]])


def test_a_mean_beyond_all_numbers_is_refused():
    """e^1000; of a coin it is 1, without a RuntimeWarning."""
    fit = glm.fit([[1.0], [1]], [2, 3], GAMMA, LOG)
    with pytest.raises(ValueError, match="mean must be finite.*inf at .0."):
        glm.mean(fit, [[1e4]])
    coin = glm.fit([[1.0], [1]], [0, 1], BERNOULLI, CLOGLOG_LINK)
    assert_allclose(glm.mean(coin, [[1e4], [-1e4]]), [0, 1])


def test_a_row_of_weight_zero_may_be_impossible():
    """0 times an infinite E_n was NaN."""
    Phi, w = np.array([[1.0, 1], [1, 2], [1, -5]]), np.ones(2)
    t, c = np.array([1.0, 2, 3]), np.array([1.0, 2, 0])
    for function in (glm.error, glm.gradient, glm.hessian):
        found = function(w, Phi, t, POISSON, IDENTITY, weights=c)
        want = function(w, Phi[:2], t[:2], POISSON, IDENTITY, weights=c[:2])
        assert_allclose(found, want, rtol=1e-14)
    assert glm.pearson([0, 1], [0, 0], POISSON, [1.0, 0]) == 0


def test_an_ever_stronger_prior_pulls_w_to_its_mean():
    """w - m0 ~ -grad E(m0) / alpha as alpha grows."""
    Phi, t, _, _, _ = problem(POISSON, LOG)
    m0 = np.array([0.5, -0.2, 0.1])
    fit = glm.fit(Phi, t, POISSON, alpha=1e8, m0=m0)
    g = glm.gradient(m0, Phi, t, POISSON)
    assert_allclose(1e8 * (fit.w - m0), -g, rtol=1e-5)
    assert fit.deviance == pytest.approx(2 * glm.error(fit.w, Phi, t, POISSON))


@each_pair
def test_at_the_minimum_data_and_prior_mean_are_in_balance(family, link):
    """-grad E = A (w - m0) to rounding, with each link and unlike alpha."""
    Phi, t, _, offset, c = problem(family, link)
    more = {"offset": offset, "weights": c}
    alpha, m0 = np.array([1.0, 5, 20]), np.array([0.2, -0.5, 0.3])
    fit = glm.fit(Phi, t, family, link, alpha=alpha, m0=m0, **more)
    assert fit.converged
    pull = alpha * (fit.w - m0)
    g = glm.gradient(fit.w, Phi, t, family, link, **more)
    assert_allclose(g, -pull, atol=1e-7 * np.abs(pull).max())


def test_nearly_dependent_columns_are_orthogonalised():
    """x and x + 1e-7 noise: the same means as with the difference itself."""
    rng = np.random.default_rng(5)
    x, noise = rng.standard_normal((2, 200))
    t = rng.poisson(np.exp(0.5 + 0.3 * x + 0.2 * noise)).astype(float)
    good = np.c_[np.ones(200), x, noise]
    bad = np.c_[np.ones(200), x, x + 1e-7 * noise]
    fit, want = glm.fit(bad, t, POISSON), glm.fit(good, t, POISSON)
    assert fit.converged and fit.gradient.shape == (3,)
    assert np.abs(fit.gradient).max() < 1e-6
    assert_allclose(glm.mean(fit, bad), glm.mean(want, good), rtol=1e-6)


# The parts of a fit.


def given_as(Phi, t, family, link=None, offset=0.0, weights=None, alpha=0.0):
    """A checked problem."""
    return glm._checked(
        np.array(Phi, float), t, family, link, offset, weights, alpha, None
    )


def test_spread_is_the_dispersion_about_the_mean():
    """Weighted variance over V(mean); 1 where that is good enough."""
    ones = np.ones((4, 1))
    t, c = np.array([0.0, 0.0, 1000.0, 3000.0]), [1, 2, 3, 2]
    m = 9000 / 8
    s = (3 * m**2 + 3 * (1000 - m) ** 2 + 2 * (3000 - m) ** 2) / 8 / m
    assert glm._spread(given_as(ones, t, POISSON, weights=c)) == pytest.approx(
        s
    )
    assert glm._spread(given_as(ones, [1, 0, 1, 1], BERNOULLI)) == 1
    assert glm._spread(given_as(ones, [-1e4, 1e4, 0, 0], GAUSSIAN)) == 1
    for wanted, found in ((0.015, 1), (100, 1), (100.5, 100.5), (0.009, 0.009)):
        t = 5 + np.sqrt(wanted) * np.array([1, -1, 1, -1])
        assert glm._spread(given_as(ones, t, GAUSSIAN)) == pytest.approx(found)
    t = np.full(4, 1e6)
    assert glm._spread(given_as(ones, t, GAUSSIAN)) == pytest.approx(1e4)
    assert glm._spread(given_as(ones, t, GAMMA, LOG)) == pytest.approx(1e-8)


@pytest.mark.parametrize("tosses, found", [(5, 1.0), (75, 1.5), (150, 3.0)])
def test_spread_of_shares_is_a_hundredth_of_the_tosses(tosses, found):
    """Two groups; terms as large as their groups leave more rounding."""
    shares, c = [0.2, 0.6], [tosses, tosses]
    given = given_as(np.ones((2, 1)), shares, BERNOULLI, weights=c)
    assert glm._spread(given) == found


def test_four_roundings_of_each_row_by_hand():
    """Counts 3 and 5: X^2 = sum_n c_n (16 eps^2) (e^a_n size_n^2 + t_n)."""
    Phi, w = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([0.5, -1.5])
    given = given_as(Phi, [3, 5], POISSON, offset=[0.5, -1.0], weights=[2, 1])
    a = np.array([0.5 - 3 + 0.5, 1.5 + 1.5 - 1])
    size = np.array([0.5 + 3 + 0.5, 1.5 + 1.5 + 1])
    c, t = np.array([2, 1]), np.array([3, 5])
    found = 16 * 2.0**-104 * np.sum(c * (np.exp(a) * size**2 + t))
    assert glm._rounding(w, a, given) == pytest.approx(found, 1e-12, abs=0)


def test_targets_without_noise_have_no_dispersion():
    """X^2 is 1e-31 or so, and none of it is noise."""
    x = np.arange(9.0)
    X = np.c_[np.ones(9), x]
    fits = [glm.fit(X, 0.1 + b * x, GAUSSIAN) for b in (0.1, 0.3, 0.7, 1.1)]
    assert 0 < max(fit.pearson for fit in fits) < 1e-28
    assert not any(fit.dispersion for fit in fits)


@pytest.mark.parametrize("scale", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 2, 3, 1, 2, 3])])
def test_objective_is_error_and_prior_by_the_scale(scale, weights):
    """In whatever units; without weights none are made up."""
    t = np.array([1.0, 0, 2, 3, 1, 4])
    given = given_as(SQUARE, t, POISSON, weights=weights, alpha=[0.5, 2.0])
    objective = glm._objective(given, scale, fisher=False)
    w = np.array([0.1, 0.2])
    E = glm.error(w, SQUARE, t, POISSON, weights=weights)
    E += 0.5 * (0.5 * 0.1**2 + 2 * 0.2**2)
    assert objective(w)[0] == pytest.approx(E / scale)
    assert (objective.weights is None) == (scale == 1 and weights is None)


def test_start_is_the_link_of_the_mean():
    """Least squares towards it; half the largest |t| where it has no link."""
    ones = np.ones((3, 1))

    def start(t, family, link=None, Phi=ones, **more):
        return glm._start(given_as(Phi, t, family, link, **more))

    assert_allclose(start([1, 2, 3], POISSON), np.log(2))
    assert_allclose(start([0, 1, 0.5], GAUSSIAN), 0.5)
    assert_allclose(start([0, 1, 0], POISSON), np.log(1 / 3))
    assert_allclose(start([2, 0, 0], POISSON, weights=[3, 1, 2]), 0)
    assert_allclose(start([1, 1, 1], BERNOULLI), 0, atol=1e-15)
    assert_allclose(start([0, 0, 0], POISSON), np.log(0.5))
    assert_allclose(start([-1, -2, 0.5], GAUSSIAN, LOG), 0, atol=1e-15)
    assert_allclose(start([-1, 1, 0], GAUSSIAN, LOG), np.log(0.5))
    assert_allclose(start([-1, -2, 0], GAUSSIAN), -1)
    offset = [0.0, 1.0, 5.0]
    assert_allclose(start([1, 2, 3], POISSON, offset=offset), np.log(2) - 2)
    x = np.array([1.0, 2, 4])
    found = start([1, 2, 6], POISSON, Phi=x[:, None])
    assert_allclose(found, np.log(3) * 7 / 21)


def test_start_looks_for_the_inside_in_three_ways():
    """With the mean offset, with each row's own, by a linear programme."""
    x = np.array([[1.0], [2], [3]])

    def start(t, offset):
        return glm._start(given_as(x, t, GAMMA, IDENTITY, offset=offset))

    assert_allclose(start([3, 3, 3], [-1, 0, 0]), 6 * (10 / 3) / 14)
    assert_allclose(start([2, 2, 2], [1.5, 0, -3.5]), (0.5 + 4 + 16.5) / 14)
    far = start([2, 2, 2], [-1, 0, 0])
    assert far[0] >= 3 - 1e-9
    ones = given_as(np.ones((3, 1)), [1] * 3, GAMMA, IDENTITY, [3, 0, 0])
    assert glm._start(ones)[0] >= 1 - 1e-9


@pytest.mark.parametrize("sign", [1, -1])
def test_feasible_reaches_the_wanted_margin(sign):
    """Weights of either sign, larger than the margin, offsets included."""
    Phi, offset = [[0.1, 0.0], [0.0, -0.1], [0.1, -0.2]], [1.0, -2.0, 0.5]
    given = given_as(Phi, [1.0, 1, 1], GAMMA, IDENTITY, offset)
    w = glm._feasible(given, sign, 2.0)
    margins = sign * (np.array(Phi) @ w + offset)
    assert margins.min() == pytest.approx(2.0, rel=1e-7)


def test_on_edge_sees_the_offset():
    """a = w + offset against 0, and only where 0 is an edge."""
    offset = np.array([1.0, 2.0, 3.0])
    given = given_as(np.ones((3, 1)), np.ones(3), GAMMA, IDENTITY, offset)
    assert glm._on_edge(np.array([-1.0]), given)
    assert glm._on_edge(np.array([-1.0 + 1e-8]), given)
    assert not glm._on_edge(np.array([-1.0 + 1e-7]), given)
    assert not glm._on_edge(np.array([0.0]), given)
    assert not glm._on_edge(np.array([1.0]), given)
    free = given_as(np.ones((3, 1)), np.ones(3), GAUSSIAN, IDENTITY, offset)
    assert not glm._on_edge(np.array([-1.0]), free)


def test_polish_takes_exact_newton_steps():
    """From nearby to the minimum, heavy prior included; else untouched."""
    Phi, t, _, _, _ = problem(GAMMA, IDENTITY)
    given = given_as(Phi, t, GAMMA, IDENTITY, alpha=[0.0, 1e3, 1e3])
    objective = glm._objective(given, 1.0, fisher=False)
    best = newton.newtons_method(objective, glm._start(given))
    near = replace(best, w=best.w + 1e-4)
    found = glm._polish(near, objective, given)
    assert_allclose(found.w, glm._polish(best, objective, given).w, rtol=1e-12)
    g = glm.gradient(found.w, Phi, t, GAMMA, IDENTITY)
    assert np.abs(g + given.alpha * found.w).max() < 1e-11
    assert_allclose(found.gradient, g + given.alpha * found.w, atol=1e-12)
    canonical = given_as(Phi, t, GAMMA)
    best = replace(best, w=np.array([-1.0, 0, 0]))
    assert glm._polish(best, objective, canonical) is best
    identity = given_as(Phi, np.ones(len(t)), POISSON, IDENTITY)
    fisher = glm._objective(identity, 1.0, fisher=True)
    start = newton.newtons_method(fisher, np.array([2.0, 0, 0]))
    start = replace(start, w=start.w + 1e-4, converged=True)
    assert glm._polish(start, fisher, identity) is not start


class OneAfterAnother:
    """Random numbers whose k-th row has its least at k, the next at k + 1."""

    def random(self, shape):
        """Numbers in [0, 1)."""
        k, n = np.indices(shape)
        return (n - k) % shape[1] / shape[1]


def moved(w, inside, given, sign):
    """The last point from inside to w where no a_n is below a tenth."""

    def over(share):
        between = inside + share * (w - inside)
        least = 0.1 * (given.Phi @ inside + given.offset)
        return np.min(sign * (given.Phi @ between + given.offset - least))

    share = 1.0 if over(1) >= 0 else brentq(over, 0, 1, xtol=1e-15)
    return inside + share * (w - inside)


@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("family, link", glm.BENT)
def test_elemental_starts_fit_two_rows_each(family, link, still, monkeypatch):
    """A hundred lines through two rows, solved one at a time.

    The lowest E is the first; the others are different, in order, and low.
    Those that leave the domain are stopped before. A row with phi = 0 stands
    still; rows whose target has no link fit no line but count in E.
    """
    rng, sign = np.random.default_rng(4), dispersion.side(family, link)
    Phi = np.c_[np.ones(120), rng.uniform(0, 3, 120)]
    t, offset = rng.gamma(2, 1, 120) + 0.2, 0.3 * np.cos(np.arange(120))
    inside = np.array([2.0 * sign, 0.3 * sign])
    if still:
        Phi[-1], offset[-1] = 0, sign * 1.5
    if family is GAUSSIAN:
        t[:3] = [0, -1, -2]
    c = rng.integers(1, 9, 120) / 2
    given = given_as(Phi, t, family, link, offset, c)
    usable = np.flatnonzero(t > 0)
    lines, E = [], []
    for k in range(100):
        n = usable[[k, k + 1]]
        w = np.linalg.solve(Phi[n], link.link(t[n]) - offset[n])
        lines.append(moved(w, inside, given, sign) if sign else w)
        E.append(
            glm.error(lines[k], Phi, t, family, link, offset=offset, weights=c)
        )
    lines = np.array(lines)[np.argsort(E)]
    monkeypatch.setattr(np.random, "default_rng", lambda _: OneAfterAnother())
    found = glm._elemental(given, inside)
    near = np.abs(found[:, None] - lines).max(axis=2) < 1e-9
    assert near.any(axis=1).all()
    ranks = near.argmax(axis=1)
    assert len(found) == 5 and ranks[0] == 0 and ranks[-1] < 20
    assert np.all(np.diff(ranks) > 0)


def test_elemental_starts_are_for_few_rows_with_a_link():
    """At most MANY rows, and some target that the link has a value for."""
    none = np.zeros(1)
    for N, many in ((glm.MANY, 5), (glm.MANY + 1, 0)):
        given = given_as(np.ones((N, 1)), np.arange(1.0, N + 1), GAUSSIAN, LOG)
        assert len(glm._elemental(given, none)) == many
    given = given_as(np.ones((3, 1)), [-1.0, 0, -2], GAUSSIAN, LOG)
    assert len(glm._elemental(given, none)) == 0


@pytest.mark.parametrize("family, link", glm.BENT)
def test_nearby_lies_where_curvature_is_least(family, link):
    """An eigenvector of H u = k D u, D the diagonal of E[H] + A, both ways.

    The first two change some a_n by 1/2, or by half of itself, and none more.
    """
    Phi, t, w, offset, c = problem(family, link, 30)
    units, alpha = np.array([1.0, 10, 0.1]), np.array([3.0, 700, 0.5])
    Phi, w, m0 = Phi * units, w / units, np.array([0.5, 0.1, -2])
    more = {"offset": offset, "weights": c}
    given = given_as(Phi, t, family, link, alpha=alpha, **more)
    given = replace(given, m0=m0)
    objective = glm._objective(given, 1.0, fisher=False)
    W, E = glm._nearby(newton.Minimum(w, *[None] * 5), objective, given)
    S = glm.information(w, Phi, family, link, **more)
    H = glm.hessian(w, Phi, t, family, link, **more) + np.diag(alpha)
    u = eigh(H, np.diag(np.diag(S) + alpha))[1][:, 0]
    along = (W - w) / u
    assert_allclose(along, along[:, :1] * np.ones(3), rtol=1e-6)
    assert_allclose(W[0] - w, w - W[1])
    change = np.abs(Phi @ (W[:2] - w).T)
    if link is not LOG:
        change = change / np.abs(Phi @ w + offset)[:, None]
    assert_allclose(change.max(axis=0), 0.5)
    for v, found in zip(W, E, strict=True):
        prior = 0.5 * np.sum(alpha * (v - m0) ** 2)
        want = glm.error(v, Phi, t, family, link, **more) + prior
        assert found == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize(
    "rise, converged, onwards",
    [
        ([1, 1, 1, 1], True, None),
        ([1, 1, 0, 0], True, None),  # a short step may be too short to rise
        ([0, 1, 1, 1], False, None),
        ([1, 0, 1, 1], False, None),
        ([1, 1, 2, -1], True, 3),  # short steps fall, long ones rise
        ([-1, 1, -2, 1], True, 2),
    ],
)
def test_what_is_nearby_is_judged(rise, converged, onwards, monkeypatch):
    """E must rise at both ends; from the lowest of a fall the way goes on."""
    W, begun = np.arange(4.0)[:, None] + 10, []

    def descend(objective, given, how, w):
        begun.append(w)
        E = 8.0 - len(begun)
        return newton.Minimum(w, None, E, np.zeros(1), True, (E,)), None

    def nearby(best, objective, given):
        up = rise if len(begun) == 1 else [1, 1, 1, 1]
        return W, best.error + np.array(up)

    monkeypatch.setattr(glm, "_elemental", lambda *given: [])
    monkeypatch.setattr(glm, "_descend", descend)
    monkeypatch.setattr(glm, "_nearby", nearby)
    given = given_as(np.ones((3, 1)), [1, 2, 3], GAUSSIAN, LOG)
    best, _ = glm._minimum(None, given, {})
    assert best.converged == converged
    assert begun[1:] == ([] if onwards is None else [W[onwards]])
    assert best.w == begun[-1] and best.error == 8 - len(begun)


SADDLES = [
    (GAMMA, IDENTITY, 0.1, 1.0, 1.9356849526),
    (INVERSE_GAUSSIAN, LOG, 0.1, 1.0, 4.8974358974),
    (INVERSE_GAUSSIAN, IDENTITY, 0.1, 1.0, 4.4702194357),
    (GAUSSIAN, INVERSE, 10.0, 0.5, 45.7741935484),
]


@pytest.mark.parametrize("starts", [0, 5])
@pytest.mark.parametrize("family, link, end, middle, least", SADDLES)
def test_a_saddle_is_left(
    family, link, end, middle, least, starts, monkeypatch
):
    """Symmetric data lead to w_1 = 0, where H has an eigenvalue below 0.

    The least E is that of a simplex from nearby; also without other starts.
    """
    if not starts:
        monkeypatch.setattr(glm, "_elemental", lambda *given: [])
    Phi = np.c_[np.ones(10), [-1.0] + 8 * [0] + [1]]
    t = np.array([end] + 8 * [middle] + [end])
    for method in ("newton", "fisher"):
        fit = glm.fit(Phi, t, family, link, method=method)
        assert fit.converged and fit.error == pytest.approx(least, rel=1e-9)
        assert (
            np.linalg.eigvalsh(glm.hessian(fit.w, Phi, t, family, link))[0] > 1
        )


SEVERAL = [0.06, 1.51, 0.2, 1.06, 1.08, 0.06, 0.71]
WIDE = [0.29, 8.8, 2.36, 38.39, 2.63, 3.56, 3.54]


@pytest.mark.parametrize(
    "family, link, t, plain, least",
    [
        (INVERSE_GAUSSIAN, LOG, SEVERAL, 15.9011, 12.4423),
        (INVERSE_GAUSSIAN, IDENTITY, WIDE, 2.0182, 0.5369),
        (GAMMA, IDENTITY, WIDE, 5.9768, 4.8275),
    ],
)
def test_of_several_minima_the_lowest_is_found(family, link, t, plain, least):
    """Where the way from the mean ends higher, at `plain`; by a simplex."""
    Phi, t = np.c_[np.ones(7), np.arange(7)], np.array(t)
    given = given_as(Phi, t, family, link)
    objective = glm._objective(given, 1.0, fisher=False)
    one, _ = glm._descend(objective, given, {}, glm._start(given))
    assert one.error == pytest.approx(plain, rel=1e-4)
    fit = glm.fit(Phi, t, family, link)
    assert fit.converged and fit.error == pytest.approx(least, rel=1e-4)
    near = fit.w * [1.05, 0.97]
    found = minimize(lambda w: objective(w)[0], near, method="Nelder-Mead")
    assert fit.error <= found.fun < fit.error + 1e-6


def test_a_valley_that_never_ends_is_named():
    """One mean of 10 is worth giving up: E = 50 is approached, not reached."""
    Phi = np.c_[np.ones(10), [-1.0] + 8 * [0] + [1]]
    t = np.array([10.0] + 8 * [0] + [10.0])
    for method in ("newton", "fisher"):
        with pytest.warns(newton.NotConverged, match="means from"):
            fit = glm.fit(Phi, t, GAUSSIAN, LOG, method=method)
        assert not fit.converged and fit.error == pytest.approx(50)
    with pytest.raises(ValueError, match="fit must have a minimum"):
        glm.standard_errors(fit, Phi)
    for offset in (0.0, 1.0):  # which is in the means
        assert re.search(r"means from \S+ to 1.0e\+01:", said(Phi, t, offset))


def said(Phi, t, offset):
    """How a fit without a minimum is warned of."""
    with pytest.warns(newton.NotConverged) as warned:
        glm.fit(Phi, t, GAUSSIAN, LOG, offset=offset)
    return str(warned[0].message)


@pytest.mark.parametrize(
    "t, y, family, said",
    [
        (np.ma.masked_equal([1.0, 3.0], 3), [1.0, 2], POISSON, "hide no"),
        ([1.0, 2j], [1.0, 2], POISSON, "t must hold real numbers"),
        ([[1.0], [3]], [1.0, 2], POISSON, r"t must have the shape \(2,\) of y"),
        (2.0, [1.0, 2], POISSON, r"t must have the shape \(2,\) of y"),
        ([1.0, 3], [1.0, 2], None, "family must be a Family"),
    ],
)
def test_pearson_of_what_is_not_one_target_per_mean(t, y, family, said):
    """What a mask hides counted; a number served for all; other errors."""
    with pytest.raises(ValueError, match=said):
        glm.pearson(t, y, family)


@pytest.mark.parametrize("link", POISSON.links)
@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e5])
@pytest.mark.parametrize("t", [[1.0], [2, 2, 2], [100.0, 100]])
def test_counts_that_are_alike_are_fitted(link, alpha, t):
    """In units of their spread, next to none, only rounding was left."""
    Phi = np.column_stack([np.ones(len(t)), np.arange(len(t)) - 0.3])
    m0 = [link.link(t[0]), 0.02]
    fit = glm.fit(Phi, t, POISSON, link, alpha=alpha, m0=m0)
    slope = glm.gradient(fit.w, Phi, t, POISSON, link) + alpha * (fit.w - m0)
    assert fit.converged
    np.testing.assert_allclose(slope, 0, atol=1e-7 * np.sqrt(1 + alpha))


def test_pearson_leaves_rows_out_that_cannot_vary():
    """y = t = 0 contributes nothing; others (t - y)^2 / V."""
    t, y = np.array([0.0, 3.0]), np.array([0.0, 2.0])
    assert glm.pearson(t, y, POISSON) == 0.5
    assert glm.pearson(t, y, POISSON, np.array([1.0, 4.0])) == 2.0
    assert glm.pearson(t[::-1], 0 * y, POISSON) == np.inf  # what cannot be


@pytest.mark.parametrize("link", BERNOULLI.links, ids=lambda k: k.name)
@pytest.mark.parametrize("size", [1e4, 1e6, 1e8])
def test_large_groups_have_a_minimum(link, size):
    """Rounding of a group's ln p, which E does not hold, hid the last steps:
    of ten such fits several stopped after 100 steps and warned."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Phi = np.c_[np.ones(6), rng.standard_normal(6)]
        y = link.mean(Phi @ [-1, 0.5])
        k = size * y + np.sqrt(size * y * (1 - y)) * rng.standard_normal(6)
        t, c = np.rint(k).clip(0, size) / size, np.full(6, size)
        fit = glm.fit(Phi, t, BERNOULLI, link, weights=c)
        assert fit.converged and len(fit.trace) < 12
        g = glm.gradient(fit.w, Phi, t, BERNOULLI, link, weights=c)
        H = glm.hessian(fit.w, Phi, t, BERNOULLI, link, weights=c)
        assert g @ np.linalg.solve(H, g) < 1e-14
        assert fit.error == pytest.approx(
            glm.error(fit.w, Phi, t, BERNOULLI, link, weights=c), rel=1e-9
        )


# What goes wrong.

SQUARE = np.c_[np.ones(6), np.arange(6.0)]


@pytest.mark.parametrize(
    "family, t, said",
    [
        (POISSON, [1, 2, -3, 0, 1, 2], r"0, 1, 2, .*Poisson.*got -3 \(1 of 6"),
        (POISSON, [1, 2, 0.5, 0, 1.5, 2], r"got 0.5 \(2 of 6"),
        (GAMMA, [1, 2, 0, 3, 1, 2], r"positive for the Gamma.*; got 0"),
        (INVERSE_GAUSSIAN, [1, 2, -1, 3, 1, 2], r"positive for.*; got -1"),
        (BERNOULLI, [1, 0, 2, 0, 1, 0], r"\[0, 1\] for the Bernoulli.*; got 2"),
        (GAUSSIAN, [1, 2, np.nan, 0, 1, 2], "finite"),
        (POISSON, [1, 2, 3], r"shape \(6,\)"),
    ],
)
def test_targets_outside_the_family_are_refused(family, t, said):
    """What arrived, what was expected, how many."""
    with pytest.raises(ValueError, match=said):
        glm.fit(SQUARE, t, family)


@pytest.mark.parametrize(
    "more, said",
    [
        (
            {"link": LOGIT},
            "link must be one of the Poisson family, log",
        ),
        ({"link": "log"}, "got 'log'"),
        ({"method": "bfgs"}, "method must be .* got 'bfgs'"),
        ({"offset": np.ones(5)}, r"offset must have shape \(6,\)"),
        ({"offset": np.inf}, "offset"),
        ({"weights": -np.ones(6)}, "weights must be >= 0"),
        ({"alpha": -1.0}, "alpha must be >= 0"),
    ],
)
def test_other_bad_input_is_refused(more, said):
    """Named by argument."""
    with pytest.raises(ValueError, match="family must be a Family; got str"):
        glm.fit(SQUARE, np.arange(6.0), "Poisson")
    with pytest.raises(ValueError, match=said):
        glm.fit(SQUARE, np.arange(6.0), POISSON, **more)


@pytest.mark.parametrize("Phi", [SQUARE[:0], np.full((6, 2), np.nan), [1, 2]])
def test_bad_designs_are_refused(Phi):
    """No rows, missing values, not a matrix."""
    with pytest.raises(ValueError, match="Phi"):
        glm.fit(Phi, np.arange(6.0), POISSON)


def test_dependent_columns_are_named():
    """A prior, or leaving one out, is the way on."""
    Phi, t = np.c_[SQUARE, 2 * SQUARE[:, 1]], [0, 1, 1, 3, 2, 4]
    with pytest.raises(ValueError, match="column 2 is a combination of 1"):
        glm.fit(Phi, t, POISSON)
    assert glm.fit(Phi, t, POISSON, alpha=[0, 1, 1]).converged


@pytest.mark.parametrize("link", BERNOULLI.links, ids=lambda k: k.name)
@pytest.mark.parametrize(
    "t, kind",
    [
        ([0, 0, 0, 1, 1, 1], "complete"),
        ([0, 0, 0.5, 1, 1, 1], "quasi-complete"),
        ([1, 1, 1, 1, 1, 1], "complete"),
    ],
)
def test_separable_binomial_data_are_named(link, t, kind):
    """With each link; a share of one half sits on the plane."""
    with pytest.warns(SeparableDataWarning, match=kind):
        fit = glm.fit(SQUARE, t, BERNOULLI, link)
    assert not fit.converged and fit.separated == kind
    prior = glm.fit(SQUARE, t, BERNOULLI, link, alpha=0.5)
    assert prior.converged and prior.separated is None


def test_counts_can_be_separable_too():
    """No event in one group: its rate wants to be 0, its logarithm -inf."""
    Phi = np.c_[np.ones(6), [0, 0, 0, 1, 1, 1]]
    with pytest.warns(SeparableDataWarning, match="quasi-complete"):
        fit = glm.fit(Phi, [2, 1, 4, 0, 0, 0], POISSON)
    assert fit.separated == "quasi-complete"
    with pytest.warns(SeparableDataWarning):
        glm.fit(Phi, np.zeros(6), POISSON)
    assert glm.fit(Phi, [2, 1, 4, 0, 1, 0], POISSON).converged


def test_rows_of_weight_zero_do_not_count_in_separation():
    """The one row that spoils separation has weight 0."""
    t, c = [0, 0, 1, 0, 1, 1], [1, 1, 0, 1, 1, 1]
    with pytest.warns(SeparableDataWarning):
        glm.fit(SQUARE, t, BERNOULLI, weights=c)
    assert glm.fit(SQUARE, t, BERNOULLI).converged


@each_pair
def test_rows_of_weight_zero_may_hold_anything(rng, family, link):
    """1e20 in the design, an offset of -1e9: the fit is that without them."""
    Phi = np.c_[np.ones(40), np.tanh(rng.standard_normal(40))]
    t = (rng.random(40) < 0.5) + (0.0 if family is BERNOULLI else 2.0)
    far, late = np.vstack([Phi, [1, 1e20]]), np.append(t, t[0])
    found = glm.fit(
        far,
        late,
        family,
        link,
        offset=np.append(np.zeros(40), -1e9),
        weights=np.append(np.ones(40), 0),
    )
    wanted = glm.fit(Phi, t, family, link)
    assert found.converged
    assert_allclose(found.w, wanted.w, rtol=1e-9)
    assert found.freedom == wanted.freedom
    H = glm.curvature(wanted, Phi)
    assert_allclose(glm.curvature(found, far), H, rtol=1e-9)


def test_recession_of_rows():
    """Gamma targets hold a from both sides; inverse links have an edge."""

    def recession(t, family, link):
        given = given_as(SQUARE, t, family, link)
        return glm._recession(given, np.array([True, True]))

    t = np.array([0.0, 0, 0, 0, 0, 3])
    assert recession(t, POISSON, LOG) == "quasi-complete"
    assert recession(t, POISSON, IDENTITY) == "none"
    assert recession(t + 1, GAMMA, LOG) == "none"
    assert recession(t + 1, POISSON, LOG) == "none"


def test_a_minimum_on_the_edge_is_named():
    """Poisson, identity, zeros at one end: the best line would touch 0."""
    for t in ([0, 0, 0, 0, 3, 9], [0, 0, 0, 0, 0, 9], [0, 0, 5, 0, 0, 0]):
        with pytest.warns(newton.NotConverged, match="edge of what the link"):
            fit = glm.fit(SQUARE, t, POISSON, IDENTITY)
        assert not fit.converged and fit.separated is None
    x = [-0.3, 0.2, 2.1, -0.8, 0.5, -1.5, 1.6, -0.3, 0.1]  # steps shrink to 0
    with pytest.warns(newton.NotConverged, match="edge of what the link"):
        glm.fit(np.c_[np.ones(9), x], np.arange(9) == 8, POISSON, IDENTITY)
    t = [0.01, 0.01, 100, 0.01, 0.01, 0.01]
    with pytest.warns(newton.NotConverged, match="edge of what the link"):
        glm.fit(SQUARE, t, INVERSE_GAUSSIAN, INVERSE)
    assert glm.fit(SQUARE, [1, 0, 0, 2, 3, 9], POISSON, IDENTITY).converged


@pytest.mark.parametrize("alpha", [1e-6, 0.1, 1.0, 3.0, 10.0, 1e3, 1e7])
def test_an_edge_that_all_means_reach_together_is_named(alpha):
    """No count: w = 0 is outside, and w < 0, where E were less, even more."""
    Phi = np.array([[1.0, 0], [1, 0], [1, 1]])
    with pytest.warns(newton.NotConverged):
        fit = glm.fit(Phi, np.zeros(3), POISSON, IDENTITY, alpha=alpha)
    assert not fit.converged and np.isfinite(fit.error)
    assert (Phi @ fit.w > 0).all()


@pytest.mark.parametrize("unit", [1e-130, 1e130])
def test_units_in_which_the_variance_overflows_are_refused(unit):
    """y^3 of an inverse Gaussian; no RuntimeWarning."""
    for link in INVERSE_GAUSSIAN.links:
        with pytest.raises(ValueError, match="moderate size.*change units"):
            t = unit * np.arange(1.0, 6)
            glm.fit(np.ones((5, 1)), t, INVERSE_GAUSSIAN, link)


def test_units_in_which_the_spread_overflows_are_refused():
    """V = 1 of Gaussian targets, but c (t - m)^2 is beyond all numbers."""
    t, ones = 1e148 * np.arange(1.0, 6), np.ones((5, 1))
    with pytest.raises(ValueError, match="moderate size.*change units"):
        glm.fit(ones, t, GAUSSIAN, weights=np.full(5, 1e20))
    assert glm.fit(ones, t, GAUSSIAN, weights=np.full(5, 2)).converged


def test_a_mean_that_goes_to_zero_for_ever_is_named():
    """Gaussian, log link, negative targets: E falls towards y = 0."""
    with pytest.warns(newton.NotConverged, match="or nowhere"):
        fit = glm.fit(np.ones((3, 1)), [-1.0, -2.0, 0.5], GAUSSIAN, LOG)
    assert not fit.converged and fit.separated is None
    assert glm.fit(np.ones((3, 1)), [-1, -2, 4.0], GAUSSIAN, LOG).converged


def test_no_point_inside_the_domain_is_an_error():
    """phi changes sign without a constant: some a_n must be positive."""
    Phi = np.array([[1.0], [-1], [2], [-2]])
    with pytest.raises(ValueError, match="inverse link needs.*< 0 in every"):
        glm.fit(Phi, np.ones(4), GAMMA)
    with pytest.raises(ValueError, match="identity link needs.*> 0 in every"):
        glm.fit(Phi, np.ones(4), GAMMA, IDENTITY)


def test_as_many_columns_as_rows_leave_no_dispersion():
    """A perfect fit: freedom 0, dispersion not a number."""
    fit = glm.fit(SQUARE[:2], [1.0, 3.0], GAMMA, LOG)
    assert fit.freedom == 0 and np.isnan(fit.dispersion)
    assert fit.deviance == pytest.approx(0, abs=1e-10)


def test_one_row_more_than_columns_gives_a_dispersion():
    """Freedom 1: s is Pearson's sum itself, here of targets about 2."""
    fit = glm.fit(np.ones((2, 1)), [1.0, 3.0], GAMMA, LOG)
    assert fit.freedom == 1 and fit.dispersion == pytest.approx(2 / 4)


def test_inputs_stay_as_they_are_whatever_their_kind():
    """Lists, integers, read-only, single precision, strided: one answer."""
    Phi, t, _, offset, c = problem(POISSON, LOG, 40)
    args = (Phi, t, offset, c)
    before = [x.copy() for x in args]
    want = glm.fit(Phi, t, POISSON, offset=offset, weights=c).w
    for x, y in zip(args, before, strict=True):
        assert np.array_equal(x, y)
    for x in args:
        x.setflags(write=False)
    wide = np.repeat(Phi, 2, axis=1)[:, ::2]
    found = glm.fit(
        np.asfortranarray(Phi), t.astype(int), POISSON,
        offset=list(offset), weights=c.astype(int),
    )  # fmt: skip
    assert_allclose(found.w, want, rtol=1e-10)
    found = glm.fit(wide, list(t), POISSON, offset=offset, weights=c)
    assert_allclose(found.w, want, rtol=1e-10)
    single = glm.fit(
        Phi.astype(np.float32), t, POISSON, offset=offset, weights=c
    )
    assert_allclose(single.w, want, rtol=1e-5)


@settings(deadline=None, max_examples=15)
@given(arrays(float, 8, elements=st.floats(0.01, 100)))
def test_any_positive_targets_are_fitted_or_refused_by_name(t):
    """Gamma and inverse Gaussian, every link: converged, or a warning."""
    Phi = np.c_[np.ones(8), np.arange(8.0)]
    for family in (GAMMA, INVERSE_GAUSSIAN):
        for link in family.links:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fit = glm.fit(Phi, t, family, link)
            named = [w for w in caught if w.category is newton.NotConverged]
            assert len(caught) == len(named)
            assert fit.converged == (not named)
            assert np.all(np.isfinite(fit.w))


def test_a_curvature_that_overflows_ends_in_a_warning():
    """Targets of 1e144, whose squares are beyond the largest number."""
    rng = np.random.default_rng([0, 0, 88])
    family, link, Phi, t, options = glm_pairs.problem(rng)
    with pytest.warns(newton.NotConverged):
        fit = glm.fit(Phi, t, family, link, **options)
    assert not fit.converged and np.isfinite(fit.w).all()


def test_an_edge_beyond_all_numbers_is_named_once():
    """A prior's term of 1e336 on the way to nowhere: one named warning."""
    rng = np.random.default_rng([0, 0, 8046])
    family, link, Phi, t, more = glm_pairs.problem(rng)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit = glm.fit(Phi, t, family, link, **more)
    assert not fit.converged
    assert [w.category for w in said] == [newton.NotConverged]


@pytest.mark.parametrize("a", [34.0, 50.0, 300.0, -300.0])
def test_the_working_response_has_its_digits_where_y_is_one(a):
    """r is y (1 - y) = e^-|a| there, and (t - y) / r is e^|a| or 1 to the
    last digit; V(y) was 0, a few per cent off at 35."""
    phi, t = np.full((2, 1), a), np.array([0.0, 1.0])
    z, r = glm.working_response([1.0], phi, t, BERNOULLI)
    far = np.exp(abs(a))
    want = [-1 - far, 1.0] if a > 0 else [-1.0, 1 + far]
    np.testing.assert_allclose(z - a, want, rtol=1e-9, atol=1e-12 * abs(a))
    np.testing.assert_allclose(r, np.exp(-abs(a)), rtol=1e-12)


def test_errors_are_those_of_the_rows_of_the_fit():
    """From other rows came other errors, without a word."""
    Phi, t, _, _, c = problem(POISSON, LOG)
    fit = glm.fit(Phi, t, POISSON)
    for few in (Phi[:-1], np.r_[Phi, Phi]):
        for errors in (glm.curvature, glm.standard_errors):
            with pytest.raises(ValueError, match=f"the {len(t)} rows of the"):
                errors(fit, few)
    weighted = glm.fit(Phi, t, POISSON, weights=c)
    assert len(glm.standard_errors(weighted, Phi)) == 3


@pytest.mark.parametrize("formula", ["error", "gradient", "hessian"])
def test_formulas_know_the_links_of_their_family(formula):
    """A logit link made coins of the counts, whatever the family said."""
    t, w = np.array([0.0, 1, 1, 0]), np.array([0.1, 0.2])
    Phi = np.column_stack([np.ones(4), [-1.0, 0.5, 2, 0]])
    with pytest.raises(ValueError, match="link must be one of the Poisson"):
        getattr(glm, formula)(w, Phi, t, POISSON, LOGIT)
    with pytest.raises(ValueError, match="link must be one of the Gamma"):
        glm.information(w, Phi, GAMMA, LOGIT)
    with pytest.raises(ValueError, match="family must be a Family"):
        getattr(glm, formula)(w, Phi, t, "Poisson")
