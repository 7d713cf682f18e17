"""studies.precision: the evidence as a function of the prior."""

import numpy as np
import pytest

from prml4 import bayes_logistic, check, evidence
from prml4.models import data
from prml4.models.likelihoods import CLOGLOG, LOGISTIC, PROBIT
from prml4.numerics import descent, newton
from prml4.studies import precision
from tests.campaigns import bayes_logistic as problems

both = pytest.mark.parametrize("likelihood", [LOGISTIC, PROBIT])


@pytest.fixture
def sample(rng):
    """Sixty rows, four columns, classes that overlap."""
    Phi = data.with_bias(rng.standard_normal((60, 3)))
    return Phi, data.draw_targets(rng, Phi, [0.3, 1.0, -0.7, 0.5])


@both
def test_gradient_by_differences(sample, likelihood):
    """The mode moves with alpha: its share is in the gradient."""
    Phi, t = sample
    c = np.arange(60) % 3 + 1.0
    m0 = np.array([0.3, 0.1, -0.5, 0.2])
    alpha = np.array([0.5, 2.0, 1.0, 3.0])

    def log_Z(a):
        return bayes_logistic.fit(
            Phi, t, alpha=a, m0=m0, weights=c, likelihood=likelihood
        ).log_evidence

    q = bayes_logistic.fit(
        Phi, t, alpha=alpha, m0=m0, weights=c, likelihood=likelihood
    )
    found = precision.evidence_gradient(q, Phi, t, alpha, m0, c)
    true = check.partials(log_Z, alpha)[0].value
    np.testing.assert_allclose(found, true, rtol=1e-6)


def test_weights_of_other_rows_are_refused(sample):
    """The first N of more weights were taken, whatever rows they were of."""
    Phi, t = sample
    q = bayes_logistic.fit(Phi, t)
    for c in (np.arange(61) + 1.0, np.ones((60, 1)), 2.0):
        with pytest.raises(ValueError, match=r"weights must have shape \(60,"):
            precision.evidence_gradient(q, Phi, t, 1.0, weights=c)


def test_gradient_with_other_precisions_is_refused(sample):
    """One for all, or one for each column."""
    q = bayes_logistic.fit(*sample, alpha=0.5)
    each = precision.evidence_gradient(q, *sample, np.full(4, 0.5))
    np.testing.assert_array_equal(
        precision.evidence_gradient(q, *sample, 0.5), each
    )
    with pytest.raises(ValueError, match=r"shape \(4,\)"):
        precision.evidence_gradient(q, *sample, np.ones(3))


def test_gradient_names_what_has_none(sample):
    """A flat prior's was infinite, that of rows with NaN was NaN."""
    (Phi, t), q = sample, bayes_logistic.fit(*sample)
    with pytest.raises(ValueError, match="alpha must be > 0"):
        precision.evidence_gradient(q, Phi, t, 0.0)
    for bad in (np.nan * Phi, Phi[:, :-1]):
        with pytest.raises(ValueError, match="Phi must"):
            precision.evidence_gradient(q, bad, t, 1.0)


@both
def test_one_precision_for_all_is_the_best_of_many(sample, likelihood):
    """A fine search along alpha finds nothing better."""
    found = precision.maximise_evidence(*sample, likelihood=likelihood)
    assert found.converged and np.abs(found.gradient).max() < 1e-5
    assert np.ptp(found.alpha) == 0
    best = found.posterior.log_evidence
    for factor in (0.5, 0.95, 1.05, 2.0):
        other = bayes_logistic.fit(
            *sample, alpha=factor * found.alpha, likelihood=likelihood
        )
        assert other.log_evidence < best
    again = bayes_logistic.fit(
        *sample, alpha=found.alpha, likelihood=likelihood
    )
    assert abs(again.log_evidence - best) < 1e-9
    np.testing.assert_allclose(again.mode, found.posterior.mode, rtol=1e-6)
    assert abs(found.trace[-1] - best) < 1e-8


@pytest.mark.parametrize("start", [1e-100, 1e-6, 1e-2, 1e3, 1e6, 1e9, 1e140])
def test_the_start_does_not_matter(sample, start):
    """From far below and far above to the same place."""
    want = precision.maximise_evidence(*sample)
    found = precision.maximise_evidence(*sample, alpha=start)
    np.testing.assert_allclose(found.alpha, want.alpha, rtol=1e-4)


def test_groups_share_and_the_others_keep_theirs(sample):
    """-1 stays put; two groups have two precisions, both stationary."""
    found = precision.maximise_evidence(
        *sample, groups=[-1, 0, 0, 1], alpha=[0.01, 1.0, 1.0, 1.0]
    )
    a = found.alpha
    assert a[0] == 0.01 and a[1] == a[2] != a[3]
    slope = precision.evidence_gradient(found.posterior, *sample, a)
    assert abs(slope[1] + slope[2]) < 1e-5 and abs(slope[3]) < 1e-5


def test_large_samples_take_few_passes(rng):
    """At most 30 over the rows, as the chapter promises; here all of them."""
    N, M = 20_000, 20
    Phi = rng.standard_normal((N, M))
    t = data.draw_targets(rng, Phi, 0.3 * rng.standard_normal(M))
    seen = [0]
    row_pass = descent.row_pass

    def counted(block, *args, **named):
        seen[0] += len(block)
        return row_pass(block, *args, **named)

    descent.row_pass = counted
    try:
        found = precision.maximise_evidence(Phi, t)
    finally:
        descent.row_pass = row_pass
    assert found.converged and seen[0] <= 30 * N
    other = precision.maximise_evidence(Phi, t, weights=np.ones(N))
    np.testing.assert_allclose(other.alpha, found.alpha, rtol=1e-4)


def test_a_search_that_ends_early_says_so(sample):
    """NotConverged, and the gradient where it stopped, by ln alpha."""
    with pytest.warns(newton.NotConverged, match="stopped after 0 steps"):
        found = precision.maximise_evidence(*sample, alpha=0.1, max_iter=1)
    slope = precision.evidence_gradient(found.posterior, *sample, found.alpha)
    assert not found.converged
    np.testing.assert_allclose(
        found.gradient, found.alpha[0] * slope.sum(), rtol=1e-4
    )


def test_a_useless_column_is_named(rng):
    """Its evidence rises for ever with its precision."""
    x = np.tile([1.0, -1.0], 100)
    t = np.repeat([0.0, 1.0], 100)
    Phi = np.column_stack([x, t - 0.4 + rng.standard_normal(200)])
    with pytest.warns(precision.NoBestPrecision, match="of group 0"):
        found = precision.maximise_evidence(Phi, t, groups=[0, 1])
    assert not found.converged and found.alpha[0] > 1e3


def test_all_useless_columns_are_named(rng):
    """Two of three groups, and the factors of their precisions."""
    noise = np.column_stack([np.tile([1.0, -1.0], 100), np.ones(200)])
    t = np.repeat([0.0, 1.0], 100)
    Phi = np.column_stack([noise, t - 0.4 + rng.standard_normal(200)])
    with pytest.warns(precision.NoBestPrecision, match="group 0, 1: the data"):
        precision.maximise_evidence(Phi, t, groups=[0, 1, 2])


@pytest.mark.parametrize("alpha", [0.01, 100.0])
def test_a_search_goes_on_where_the_evidence_bends_up(alpha):
    """It gave up at alpha = 90, after 0 steps: there ln Z is not concave."""
    x = np.array([1.0, 0, -2, -2, 0, -1, -1, 0, 2, 3])
    Phi, t = data.with_bias(x), np.array([1.0, 0, 0, 0, 0, 0, 1, 1, 0, 1])
    found = precision.maximise_evidence(Phi, t, alpha=alpha)
    scan = [
        bayes_logistic.fit(Phi, t, alpha=a).log_evidence
        for a in np.geomspace(1e-3, 1e3, 61)
    ]
    assert found.converged
    assert found.posterior.log_evidence > max(scan) - 1e-9


@pytest.mark.parametrize("likelihood", [LOGISTIC, PROBIT, CLOGLOG])
@pytest.mark.parametrize("m0", [[-40.0, 0.0], [60.0, 0.0], [0.0, 30.0]])
def test_a_prior_mean_far_away_is_no_place_to_begin(likelihood, m0):
    """No row has curvature there; from 60 the search ended at a singular A."""
    x = np.arange(-10.0, 10) / 4
    Phi, t = data.with_bias(x), (np.arange(20) % 3 == 0) * 1.0
    t[15:] = 1
    how = {"m0": m0, "likelihood": likelihood}
    found = precision.maximise_evidence(Phi, t, **how)
    scan = [
        bayes_logistic.fit(Phi, t, alpha=a, **how).log_evidence
        for a in np.geomspace(1e-5, 1e5, 41)
    ]
    assert found.converged
    assert found.posterior.log_evidence > max(scan) - 1e-9


def test_where_the_exact_evidence_may_have_no_maximum():
    """Four separable points: it rises to 1/4 as alpha tends to 0."""
    Phi = data.with_bias(np.array([-2.0, -1, 1, 2]))
    t, rng = np.array([0.0, 0, 1, 1]), np.random.default_rng(0)
    with pytest.warns(precision.NoBestVariance, match="no maximum where"):
        found = precision.maximise_evidence(Phi, t)
    assert found.converged and 0.05 < found.alpha[0] < 0.06
    w = rng.standard_normal((200_000, 2)) * 1e3
    exact = np.exp(evidence.log_likelihood(w, Phi, t)).mean()
    assert abs(exact - 0.25) < 0.01
    assert exact > np.exp(found.posterior.log_evidence) + 0.04
    with pytest.warns(precision.NoBestVariance):
        precision.maximise_evidence(Phi, np.ones(4))


@pytest.mark.parametrize("unit", [1e-90, 1e70])
def test_units_out_of_reach_are_no_number_out_of_range(sample, unit):
    """The best alpha would be 1e-180 or 1e140: a warning, or the answer."""
    Phi, t = sample
    if unit > 1:
        found = precision.maximise_evidence(unit * Phi, t)
        want = precision.maximise_evidence(Phi, t)
        np.testing.assert_allclose(found.alpha / unit**2, want.alpha, 1e-4)
        return
    with pytest.warns(newton.NotConverged, match="the search for alpha"):
        found = precision.maximise_evidence(unit * Phi, t)
    assert not found.converged and np.isfinite(found.posterior.log_evidence)


def test_the_fit_at_the_end_is_the_fit():
    """Also where E hardly shows the mode: nearly flat, and separable."""
    Phi = data.with_bias(np.array([-2.0, -1, 1, 2]))
    t, alpha = np.array([0.0, 0, 1, 1]), [1e-30, 1.0]
    with pytest.warns(precision.NoBestVariance):
        found = precision.maximise_evidence(Phi, t, groups=[-1, 0], alpha=alpha)
    again = bayes_logistic.fit(Phi, t, alpha=found.alpha)
    assert found.converged and found.alpha[1] < 1e-20
    assert abs(found.posterior.log_evidence - again.log_evidence) < 1e-6


@pytest.mark.parametrize(
    "groups,said",
    [
        ([0, 2, 2, 0], "without gaps"),
        ([-1, -1, -1, -1], "without gaps"),
        ([0, 0], r"groups must have shape \(4,\)"),
    ],
)
def test_bad_groups_are_named(sample, groups, said):
    """What arrived and what was expected."""
    with pytest.raises(ValueError, match=said):
        precision.maximise_evidence(*sample, groups=groups)


def test_the_search_goes_on_from_a_higher_place_far_away():
    """Of 180 small problems this one ended 0.09 nats below another maximum."""
    rng = np.random.default_rng([0, False, 96])
    Phi, t, alpha, m0 = problems.problem(rng, False)
    how = {"m0": m0, "likelihood": (LOGISTIC, PROBIT)[rng.integers(2)]}
    with pytest.warns(precision.NoBestVariance):  # the weights separate t
        found = precision.maximise_evidence(Phi, t, alpha=alpha, **how)
    other = [
        bayes_logistic.fit(Phi, t, alpha=a * found.alpha[0], **how)
        for a in np.geomspace(1e-4, 1e4, 17)
    ]
    highest = max(q.log_evidence for q in other)
    assert found.converged and highest <= found.posterior.log_evidence + 1e-9
