"""The referees of chapter 19 against closed forms and each other."""

import numpy as np
import pytest
from scipy import stats

from prml4 import gp_ep
from prml4.models import averages
from prml4.models.likelihoods import CLOGLOG, LOGISTIC, PROBIT
from prml4.numerics import validate
from prml4.studies import gp_truth

BOTH = pytest.mark.parametrize("likelihood", [PROBIT, LOGISTIC])


@pytest.fixture
def problem(rng):
    """Four points of a smooth function."""
    x = np.array([-1.0, -0.2, 0.7, 1.5])
    C = 3 * np.exp(-((x[:, None] - x) ** 2) / 2)
    return C, np.array([0.0, 1.0, 1.0, 0.0])


@BOTH
def test_quadrature_of_one_value_is_the_average(likelihood):
    """N = 1 is a one-dimensional Gaussian average."""
    log_z, d1, d2 = likelihood.average(0.0, 3.0, 1)
    truth = gp_truth.quadrature(np.array([[3.0]]), np.ones(1), likelihood)
    assert truth.log_evidence == pytest.approx(log_z, abs=1e-12)
    assert truth.mean[0] == pytest.approx(3 * d1, rel=1e-10)
    assert truth.covariance[0, 0] == pytest.approx(3 + 9 * d2, rel=1e-10)


@pytest.mark.parametrize("reach", [1.0, 2.0, 4.0])
def test_quadrature_looks_how_far_it_reaches(reach):
    """Within one deviation ln p(t) was short of 0.4, with an error of 0."""
    with pytest.raises(ValueError, match="reach must leave nothing"):
        gp_truth.quadrature([[3.0]], [1], LOGISTIC, reach=reach)
    near = gp_truth.quadrature([[3.0]], [1], LOGISTIC, reach=6.5)
    assert near.log_evidence == pytest.approx(np.log(0.5), abs=1e-9)


@pytest.mark.parametrize("likelihood", [PROBIT, LOGISTIC, CLOGLOG])
def test_the_widest_quadrature_misses_what_it_says(likelihood):
    """At steps of 1 in f."""
    C = 100 * np.array([[1.0, 0.4], [0.4, 0.3]])
    found, fine = [
        gp_truth.quadrature(C, [0, 1], likelihood, step=h).log_evidence
        for h in (0.1, 0.02)
    ]
    assert abs(found - fine) < (1e-4 if likelihood is CLOGLOG else 1e-7)


def test_quadrature_of_two_values_factorises():
    """Independent latent values: the evidence is a product."""
    truth = gp_truth.quadrature(np.diag([3.0, 1.0]), np.array([1, 0]), PROBIT)
    assert truth.log_evidence == pytest.approx(2 * np.log(0.5), rel=1e-12)
    assert truth.standard_error == 0.0


def test_the_jitter_is_a_share_of_the_largest_variance():
    """Of the other entries none counts, a zero least of all."""
    L = gp_truth.factor(np.diag([4.0, 1.0]), jitter=0.5)
    np.testing.assert_allclose(L @ L.T, np.diag([6.0, 3.0]), rtol=1e-15)


@BOTH
def test_importance_sampling_agrees_with_quadrature(problem, rng, likelihood):
    """Within four standard errors, and these are small."""
    C, t = problem[0][:2, :2], problem[1][:2]
    exact = gp_truth.quadrature(C, t, likelihood)
    q = gp_ep.fit(C, t, likelihood=likelihood)
    found = gp_truth.importance(
        C, t, likelihood, q.mean, gp_ep.posterior_covariance(q, C), rng, 20000
    )
    assert 0 < found.standard_error < 0.01
    assert (
        abs(found.log_evidence - exact.log_evidence) < 4 * found.standard_error
    )
    np.testing.assert_allclose(found.mean, exact.mean, atol=0.05)
    np.testing.assert_allclose(found.covariance, exact.covariance, atol=0.1)
    assert found.w.sum() == pytest.approx(1)


def test_the_error_covers_the_truth_where_the_kernel_is_nearly_singular():
    """Nine in ten within two standard errors, orthants as referee.

    ln p(t) of probit is that of an orthant under C + I. The proposal had less
    jitter than the prior: -28.1 +- 0.4 for -8.5, and 45 of 100 covered.
    """
    covered = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        N = rng.integers(2, 7)
        x, s = np.sort(rng.uniform(-1, 1, N)), rng.choice([-1, 1], N)
        v, length = 10 ** rng.uniform(-1, 3), 10 ** rng.uniform(-0.5, 2.5)
        C = v * np.exp(-((x[:, None] - x) ** 2) / (2 * length**2))
        q = gp_ep.fit(C, s > 0, likelihood=PROBIT)
        args = C, q.t, PROBIT, q.mean, gp_ep.posterior_covariance(q, C)
        found = gp_truth.importance(*args, rng, 2000)
        orthant = stats.multivariate_normal(
            np.zeros(N), C * np.outer(s, s) + np.eye(N), seed=1
        )
        gap = found.log_evidence - np.log(orthant.cdf(np.zeros(N)))
        covered.append(abs(gap) < 2 * found.standard_error)
    assert np.mean(covered) >= 0.9


@BOTH
def test_predictions_at_an_input_are_those_of_its_value(problem, likelihood):
    """No variance is left there: p(1 | f_n)."""
    C, _ = problem
    F = np.array([[0.3, -1.0, 2.0, 0.0]]) @ C
    p = gp_truth.predictions(F, C, C[:, :2], np.diag(C)[:2], likelihood)
    wanted = np.exp(likelihood.log_p(F[:, :2], 1, 0)[0])
    np.testing.assert_allclose(p, wanted, rtol=1e-6)


def test_predictions_far_away_are_the_prior(problem):
    """Nothing is known there: one half."""
    C, _ = problem
    p = gp_truth.predictions(
        np.ones((3, 4)), C, np.zeros((4, 1)), np.array([2.0]), PROBIT
    )
    np.testing.assert_allclose(p, np.exp(averages.probit(0.0, 2.0)[0]))


def test_four_values_are_too_many_for_a_grid():
    """The sampling referees are for those."""
    with pytest.raises(ValueError, match="M must be at most 3 .* got 4"):
        gp_truth.quadrature(np.eye(4), np.ones(4), PROBIT)


def test_quadrature_refuses_what_would_fall_between_its_nodes():
    """At variances of 1e4 the mean was off by 6e-4 of a deviation; and the
    largest variance counts, however small another is."""
    for v in (90.0, 100.0):
        truth = gp_truth.quadrature([[v]], [1], PROBIT)
        _, d1, _ = PROBIT.average(0.0, v, 1)
        assert truth.mean[0] == pytest.approx(v * d1, rel=1e-9)
    for C in ([[100.1]], [[1e4]], np.diag([1.0, 100.1])):
        with pytest.raises(ValueError, match="variances of at most 100"):
            gp_truth.quadrature(C, np.ones(len(C)), PROBIT)


@pytest.mark.parametrize(
    "C, said",
    [
        (np.zeros((1, 1)), "positive definite"),
        (np.ones((2, 2)), "positive definite"),
        ([[1.0, 0.5], [0.2, 1.0]], "C must be symmetric"),
        (np.full((1, 1), np.nan), "C must be finite"),
    ],
)
def test_quadrature_names_what_is_no_covariance(C, said):
    """It needs a density of f."""
    with pytest.raises(ValueError, match=said):
        gp_truth.quadrature(C, np.ones(len(C)), PROBIT)
    with pytest.raises(ValueError, match="t must be in {0, 1}"):
        gp_truth.quadrature(np.eye(1), [np.nan], PROBIT)


@pytest.mark.parametrize(
    "C, t, said",
    [
        (np.eye(2), [1.0, -1.0], "t must be in {0, 1}"),
        (np.eye(2), [1.0], r"t must have shape \(2,\)"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), [1, 0], "positive semi-definite"),
    ],
)
def test_sampling_names_what_is_no_problem(rng, C, t, said):
    """Targets of -1 were taken for a likelihood of -3 f: ln p off by 0.03."""
    with pytest.raises(ValueError, match=said):
        gp_truth.importance(C, t, LOGISTIC, np.zeros(2), np.eye(2), rng, 100)


def test_sampling_refuses_variances_for_a_covariance(rng):
    """They were added to every row, and ln p(t) was 10 too low."""
    given = np.eye(2), [0, 1], LOGISTIC, np.zeros(2)
    with pytest.raises(ValueError, match="Sigma must have shape"):
        gp_truth.importance(*given, np.ones(2), rng, 100)


def test_what_has_no_factor_is_named():
    """numpy's LinAlgError spoke of 'Matrix'; a foreign c_star of solve."""
    C, q = np.eye(2), (np.zeros(2), np.eye(2))
    with pytest.raises(validate.Indefinite, match="variances from 0 to 0"):
        gp_truth.factor(np.zeros((2, 2)))
    rng = np.random.default_rng(0)
    with pytest.raises(validate.Indefinite, match="must be positive definite"):
        gp_truth.importance(C, [0, 1], LOGISTIC, q[0], -9 * q[1], rng, 200)
    for wrong in ({"c_star": np.ones((3, 1))}, {"F": np.ones((4, 3))}):
        given = {"F": np.ones((4, 2)), "c_star": np.ones((2, 1))} | wrong
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
            gp_truth.predictions(C=C, c_ss=1.0, likelihood=LOGISTIC, **given)
    with pytest.raises(ValueError, match="likelihood must be a Likelihood"):
        gp_truth.quadrature(C, [0, 1], "logistic")
