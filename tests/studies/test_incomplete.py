"""studies.incomplete: features that are missing, labels that are missing."""

import numpy as np
import pytest
from scipy import stats

from prml4 import gaussian, naive_bayes
from prml4.numerics import newton
from prml4.studies import incomplete, worlds

# Missing features.


@pytest.mark.parametrize("fit", [gaussian.fit_lda, gaussian.fit_qda])
def test_missing_features_are_integrated_out(fit, rng):
    """The joint summed over a grid of the missing feature, row by row."""
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    t = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    m = fit(X, t)
    observed = np.ones((60, 3), bool)
    observed[:5, 1] = False
    P = incomplete.predict_observed(m, np.where(observed, X, np.nan), observed)
    v = np.linspace(-40, 40, 8001)
    for n in range(5):
        row = np.tile(X[n], (len(v), 1))
        row[:, 1] = v
        joint = np.exp(gaussian.log_joint(m, row)).sum(axis=0)
        np.testing.assert_allclose(P[n], joint / joint.sum(), atol=1e-10)
    np.testing.assert_allclose(P[5:], gaussian.predict_proba(m, X[5:]))


@pytest.mark.parametrize("fit", [gaussian.fit_lda, gaussian.fit_qda])
def test_units_do_not_matter_to_what_is_missing(fit, rng):
    """Columns of 1e120 have covariances of 1e240: no one squares them."""
    X, far = rng.normal(size=(60, 3)), 2.0**400
    t, observed = rng.integers(2, size=60), rng.random((60, 3)) < 0.6
    P, Q = (
        incomplete.predict_observed(fit(u * X, t), u * X, observed)
        for u in (1.0, far)
    )
    np.testing.assert_allclose(Q, P, rtol=1e-10)
    one, other = (
        incomplete.fit_em(u * X, t, u * X[:9], start=fit(u * X, t)).model.mu
        for u in (1.0, far)
    )
    np.testing.assert_allclose(other / far, one, rtol=1e-8)


def test_nothing_observed_leaves_the_prior(rng):
    """And one feature alone is a problem with one feature."""
    m = gaussian.model([0.2, 0.8], [[0, 0], [1, 2]], [[1, 0.5], [0.5, 2]])
    observed = np.array([[False, False], [False, True]])
    P = incomplete.predict_observed(m, [[np.nan, 1], [9, 1.5]], observed)
    np.testing.assert_allclose(P[0], [0.2, 0.8])
    each = m.pi * stats.norm([0, 2], 2**0.5).pdf(1.5)
    np.testing.assert_allclose(P[1], each / each.sum())


def test_diagonal_covariances_make_it_naive_bayes(rng):
    """Where features are independent a factor drops out."""
    mu, var = rng.normal(size=(2, 4)), rng.uniform(0.5, 2, size=(2, 4))
    nb = naive_bayes.gaussian([0.3, 0.7], mu, var)
    m = gaussian.model([0.3, 0.7], mu, [np.diag(v) for v in var])
    X, observed = rng.normal(size=(30, 4)), rng.random((30, 4)) < 0.5
    np.testing.assert_allclose(
        incomplete.predict_observed(m, X, observed),
        naive_bayes.predict_proba(nb, X, observed),
    )
    with pytest.raises(ValueError, match="observed must be boolean"):
        incomplete.predict_observed(m, X, observed[:5])
    with pytest.raises(ValueError, match="finite"):
        incomplete.predict_observed(m, X * np.nan, observed)
    with pytest.raises(ValueError, match="X must have D = 4 columns"):
        incomplete.predict_observed(m, X[:, :3], observed[:, :3])
    with pytest.raises(ValueError, match="model must be a GaussianModel"):
        incomplete.predict_observed(nb, X, observed)


# Missing labels.


@pytest.fixture
def partly(rng):
    """Twenty labelled rows and sixty without labels."""
    wd = worlds.world([0.4, 0.6], [0, 1], [[-1, 0], [1, 1]], np.eye(2))
    X, t = worlds.draw(rng, wd, 20)
    return X, t, worlds.draw(rng, wd, 60)[0]


@pytest.mark.parametrize("fit", [gaussian.fit_lda, gaussian.fit_qda])
def test_em_climbs_to_a_stationary_point(partly, fit):
    """No step lowers the likelihood; its gradient by all parameters is zero."""
    X, t, U = partly
    found = incomplete.fit_em(X, t, U, start=fit(X, t), tol=1e-14)
    trace = np.array(found.trace)
    assert found.converged and (np.diff(trace) > -1e-9).all()
    assert trace[-1] == incomplete.log_likelihood(found.model, X, t, U)
    assert found.model.shared == (fit is gaussian.fit_lda)
    m, low = found.model, np.tril_indices(2)

    def of(p):
        mu = m.mu + p[:4].reshape(2, 2)
        S = np.zeros_like(m.Sigma)
        S[..., low[0], low[1]] = p[5:].reshape(*S.shape[:-2], 3)
        S = S + np.swapaxes(S, -1, -2)
        pi = m.pi + [p[4], -p[4]]
        model = gaussian.model(pi, mu, m.Sigma + S)
        return incomplete.log_likelihood(model, X, t, U)

    size = 5 + (3 if m.shared else 6)
    gradient = [(of(1e-5 * e) - of(-1e-5 * e)) / 2e-5 for e in np.eye(size)]
    np.testing.assert_allclose(gradient, 0, atol=1e-3)


def test_em_with_known_classes_is_the_supervised_fit(partly):
    """If the unlabelled rows are far inside their classes, r is 0 or 1."""
    X, t, _ = partly
    X = X + 50.0 * t[:, None]
    U, hidden = X + 0.1, t
    step = incomplete.em_step(gaussian.fit_qda(X, t), X, t, U)
    both = gaussian.fit_qda(np.vstack([X, U]), np.r_[t, hidden])
    np.testing.assert_allclose(step.pi, both.pi)
    np.testing.assert_allclose(step.mu, both.mu)
    np.testing.assert_allclose(step.Sigma, both.Sigma)
    step = incomplete.em_step(gaussian.fit_lda(X, t), X, 1.0 * t, U)
    both = gaussian.fit_lda(np.vstack([X, U]), np.r_[t, hidden])
    np.testing.assert_allclose(step.Sigma, both.Sigma)


def test_likelihood_sums_what_is_not_known(partly):
    """ln p(x, t) where t is known, ln p(u) where not: scipy's densities."""
    X, t, U = partly
    m = gaussian.fit_qda(X, t)
    each = [
        p * stats.multivariate_normal(mu, S).pdf(np.vstack([X, U]))
        for p, mu, S in zip(m.pi, m.mu, m.Sigma, strict=True)
    ]
    each = np.array(each)
    own = np.log(each[t, np.arange(20)]).sum()
    rest = np.log(each[:, 20:].sum(axis=0)).sum()
    assert incomplete.log_likelihood(m, X, t, U) == pytest.approx(own + rest)


def test_a_class_may_have_unlabelled_rows_only(partly):
    """A start says which classes there are; without one t has to."""
    X, t, U = partly
    start, own = gaussian.fit_lda(X, t), t == 1
    found = incomplete.fit_em(X[own], t[own], U, start=start)
    assert found.converged and len(found.model.pi) == 2
    step = incomplete.em_step(found.model, X[own], t[own], U)
    np.testing.assert_allclose(step.mu, found.model.mu, atol=1e-2)
    with pytest.raises(ValueError, match="got no row of class 0"):
        incomplete.fit_em(X[own], t[own], U)


def test_a_class_that_shrinks_to_one_value_is_refused():
    """0.7 thrice has the mean 0.7 - 1e-16: a variance that is rounding."""
    X, t, U = [[-1.3], [0.2], [2.9], [4.1]], [0, 0, 1, 1], [[0.7]] * 3
    wide = [[[1.0]], [[1.0]], [[0.003]]]
    start = gaussian.model([0.3, 0.3, 0.4], [[0], [3], [0.7]], wide)
    with pytest.raises(ValueError, match="class 2 is .nearly. singular"):
        incomplete.fit_em(X, t, [*U, [-0.5], [2.2], [3.4]], start=start)


def test_em_that_is_cut_short_says_so(partly):
    """converged=False and the named warning."""
    X, t, U = partly
    with pytest.warns(newton.NotConverged, match="step 1"):
        found = incomplete.fit_em(X, t, U, tol=1e-300, max_iter=1)
    assert not found.converged and len(found.trace) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"U": [[np.nan, 1.0]]},
        {"U": np.ones((3, 5))},
        {"U": np.ones((0, 2))},
        {"t": np.zeros(20)},
        {"t": np.zeros(19)},
        {"X": np.ones((20, 2)) * np.inf},
    ],
)
def test_bad_rows_are_refused(partly, change):
    """NaN, inf, other widths, no rows, one class only."""
    X, t, U = partly
    given = {"X": X, "t": t, "U": U} | change
    with pytest.raises(ValueError):
        incomplete.fit_em(**given)


def test_a_class_that_dies_out_is_named(rng):
    """It came as a mean that is NaN, after a warning of a division."""
    X = rng.normal(size=(5, 2))
    model = gaussian.model([0.5, 0.5], [[0, 0], [1e6, 1e6]], np.eye(2))
    with pytest.raises(ValueError, match=r"all of them have p\(C_1\|x\) = 0"):
        incomplete.fit_em(X, np.zeros(5, int), X + 0.1, start=model)
