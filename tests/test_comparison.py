"""prml4.comparison: losses, calibration, priors, held-out rows, EM."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize, stats
from sklearn import metrics, model_selection

from prml4 import check, comparison, gaussian, logistic
from prml4.models import data
from prml4.numerics.newton import NotConverged
from prml4.studies import worlds


@pytest.fixture
def forecast(rng):
    """Three classes, probabilities and what happened."""
    P = rng.dirichlet([1, 2, 0.5], size=50)
    return P, np.array([rng.choice(3, p=p) for p in P])


# Losses.


def test_losses_equal_scikit_learn(forecast):
    """Log loss, half the Brier score, error rate."""
    P, t = forecast
    log = comparison.log_losses(P, t)
    assert log.mean() == pytest.approx(metrics.log_loss(t, P))
    brier = np.mean(np.sum((P - np.eye(3)[t]) ** 2, 1)) / 2
    assert comparison.brier_scores(P, t).mean() == pytest.approx(brier)
    rate = metrics.accuracy_score(t, P.argmax(1))
    assert comparison.mistakes(P, t).mean() == pytest.approx(1 - rate)


def test_two_classes_may_be_given_by_one_column():
    """P (N,) is p(C_1); Brier's score is then (y - t)^2."""
    y, t = np.array([0.2, 0.9, 0.5]), np.array([0, 1, 1.0])
    two = np.c_[1 - y, y]
    for loss in (
        comparison.log_losses,
        comparison.brier_scores,
        comparison.mistakes,
    ):
        np.testing.assert_allclose(loss(y, t), loss(two, t))
    np.testing.assert_allclose(comparison.brier_scores(y, t), (y - t) ** 2)
    theirs = metrics.brier_score_loss(t, y)
    assert comparison.brier_scores(y, t).mean() == pytest.approx(theirs)


def test_what_was_called_impossible_and_happened_costs_everything():
    """The loss is infinite, and a warning names row and class."""
    with pytest.warns(comparison.ImpossibleEvent) as warned:
        losses = comparison.log_losses([0.5, 1.0, 1.0], [1, 0, 0])
    assert len(warned) == 1 and "row 1 is of class 0" in str(warned[0].message)
    np.testing.assert_allclose(losses, [np.log(2), np.inf, np.inf])
    assert comparison.score(losses).value == np.inf
    assert comparison.score(losses).standard_error == np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert comparison.log_losses([0.0, 1.0], [0, 1]).max() == 0


def test_infinite_losses_of_both_signs_have_no_mean():
    """A difference of losses was scored NaN, without a word."""
    with pytest.raises(ValueError, match="infinite with one sign only"):
        comparison.score([np.inf, -np.inf, 1.0])
    assert comparison.score([-np.inf, 1.0]).value == -np.inf


def test_a_prior_too_small_to_divide_by_is_refused():
    """1e-310 of p(C_0): new / old overflowed, and all rows were NaN."""
    P, old = [[0.5, 0.5], [1, 0]], [1e-310, 1.0]
    for call in (
        lambda: comparison.shift_prior(P, old, [0.5, 0.5]),
        lambda: comparison.estimate_prior(P, old),
    ):
        with pytest.raises(ValueError, match="prior must hold positive"):
            call()
    P = comparison.shift_prior(P, [3e-308, 1.0], [0.5, 0.5])
    np.testing.assert_allclose(P, [[1, 0], [1, 0]], atol=1e-300)


def test_score_is_mean_and_standard_error():
    """scipy's standard error of the mean."""
    losses = np.array([0.3, 0.1, 0.9, 0.4])
    found = comparison.score(losses)
    assert found.value == pytest.approx(losses.mean())
    assert found.standard_error == pytest.approx(stats.sem(losses))
    assert found.N == 4
    assert str(found) == "0.4250 ± 0.1702"
    two = comparison.score([1.0, 2.0])  # no fewer have an error
    assert two.value == 1.5 and two.standard_error == pytest.approx(0.5)


def test_standard_error_squared_is_unbiased():
    """All 3^4 samples of four losses from three values."""
    values, p = np.array([0.1, 0.5, 2.0]), np.array([0.5, 0.3, 0.2])
    mean = variance = risk = 0.0
    for j in itertools.product(range(3), repeat=4):
        weight = np.prod(p[list(j)])
        found = comparison.score(values[list(j)])
        mean += weight * found.value
        variance += weight * found.standard_error**2
        risk += weight * (found.value - p @ values) ** 2
    assert mean == pytest.approx(p @ values)
    assert variance == pytest.approx(risk)


@pytest.mark.parametrize(
    ("P", "t", "says"),
    [
        ([0.5, 1.2], [0, 1], "probabilities >= 0"),
        ([-0.1, 0.2], [0, 1], "probabilities >= 0"),
        ([[0.5, 0.4]], [0], "sum 1"),
        ([[1.0]], [0], "two classes"),
        ([0.5, np.nan], [0, 1], "finite"),
        ([0.5, 0.5], [0, 2], "class numbers"),
        ([0.5, 0.5], [0, 0.5], "class numbers"),
        ([0.5, 0.5], [0, 1, 1], "shape"),
        ([], [], "at least one row"),
        (["a"], [0], "real numbers"),
    ],
)
def test_what_is_no_forecast_is_refused(P, t, says):
    """A ValueError says what arrived and what was expected."""
    for f in (
        comparison.log_losses,
        comparison.brier_scores,
        comparison.mistakes,
        comparison.calibration,
    ):
        with pytest.raises(ValueError, match=says):
            f(P, t)


@pytest.mark.parametrize("losses", [[1.0], [], [[1.0, 2.0]], [1.0, np.nan]])
def test_what_has_no_standard_error_is_refused(losses):
    """One loss, none, a matrix, NaN."""
    with pytest.raises(ValueError, match="losses must be"):
        comparison.score(losses)


# Calibration.


@given(
    y=arrays(float, 30, elements=st.floats(0, 1)),
    t=arrays(int, 30, elements=st.integers(0, 1)),
    bins=st.integers(1, 12),
)
def test_brier_score_is_the_sum_of_its_parts(y, t, bins):
    """Whatever the bins; refinement = uncertainty - resolution."""
    c = comparison.calibration(y, t, bins=bins)
    total = comparison.brier_scores(y, t).mean()
    parts = c.calibration + c.refinement + c.within
    assert parts == pytest.approx(total, abs=1e-12)
    rest = c.uncertainty - c.resolution
    assert c.refinement == pytest.approx(rest, abs=1e-12)
    assert c.uncertainty == pytest.approx(t.mean() * (1 - t.mean()))
    assert c.n.sum() == 30 and len(c.n) <= bins


def test_bins_hold_what_falls_into_them():
    """By hand: an edge belongs to the bin above, empty bins are left out."""
    y = np.array([0.1, 0.25, 0.2, 0.9, 1.0, 0.5])
    t = np.array([0, 1, 0, 1, 1, 0])
    c = comparison.calibration(y, t, bins=4)
    np.testing.assert_array_equal(c.n, [2, 1, 1, 2])
    np.testing.assert_allclose(c.y, [0.15, 0.25, 0.5, 0.95])
    np.testing.assert_allclose(c.o, [0, 1, 0, 1])
    c = comparison.calibration(y, t, bins=[0.6, 0.15])
    np.testing.assert_array_equal(c.n, [1, 3, 2])
    assert comparison.calibration(y, t, bins=1).n == [6]
    with pytest.raises(ValueError, match="two classes; got 3"):
        comparison.calibration(np.full((2, 3), 1 / 3), [0, 1])


def test_predictions_all_equal_within_bins_leave_no_rest(rng):
    """Then calibration and refinement are all there is."""
    y = rng.choice([0.1, 0.3, 0.8], size=200)
    t = (rng.random(200) < y).astype(int)
    c = comparison.calibration(y, t, bins=20)
    assert c.within == pytest.approx(0, abs=1e-15)
    assert c.calibration < 0.005


@pytest.mark.parametrize("bins", [0, -3, 2.5, np.nan, np.inf, [0.5, np.nan]])
def test_bins_that_are_none_are_refused(bins):
    """One bin is a bin."""
    with pytest.raises(ValueError, match="^bins must be 1, 2"):
        comparison.calibration([0.1, 0.9], [0, 1], bins=bins)
    c = comparison.calibration([0.1, 0.9], [0, 1], bins=1)
    assert (c.n, c.y, c.o) == (2, 0.5, 0.5)


def test_wilson_interval_solves_its_equation():
    """(k/n - p)^2 = z^2 p (1 - p) / n at both ends; k = 0 and k = n too."""
    k, n = np.array([0, 3, 10, 10]), np.array([10, 10, 10, 17])
    low, high = comparison.wilson(k, n, 1.5)
    for p in (low, high):
        np.testing.assert_allclose(
            (k / n - p) ** 2, 1.5**2 * p * (1 - p) / n, atol=1e-15
        )
    assert (low < high).all() and low[0] == 0 and high[2] == 1
    n = np.arange(1, 5000)  # rounding puts no end on the wrong side
    for k in (0 * n, n // 3, n):
        low, high = comparison.wilson(k, n)
        assert (low >= 0).all() and (low <= k / n).all()
        assert (high >= k / n).all() and (high <= 1).all()
    ours = stats.binomtest(3, 10).proportion_ci(method="wilson")
    z = stats.norm.ppf(0.975)
    assert comparison.wilson(3, 10, z) == pytest.approx([ours.low, ours.high])
    c = comparison.calibration([0.1, 0.1, 0.9], [0, 0, 1], bins=2, z=1.5)
    np.testing.assert_allclose(c.low, comparison.wilson([0, 1], [2, 1], 1.5)[0])
    np.testing.assert_allclose(
        c.high, comparison.wilson([0, 1], [2, 1], 1.5)[1]
    )


# Priors.


def test_shifted_posterior_is_that_of_the_shifted_model(rng):
    """Bayes' rule with the new prior, three classes."""
    mu, X = rng.normal(size=(3, 2)), rng.normal(size=(20, 2))
    old, new = np.array([0.2, 0.5, 0.3]), np.array([0.7, 0.1, 0.2])
    P = gaussian.predict_proba(gaussian.model(old, mu, np.eye(2)), X)
    np.testing.assert_allclose(
        comparison.shift_prior(P, old, new),
        gaussian.predict_proba(gaussian.model(new, mu, np.eye(2)), X),
    )
    np.testing.assert_allclose(comparison.shift_prior(P, old, old), P)


def test_estimated_prior_maximises_the_likelihood(rng):
    """A scalar search on sum ln(q_0 r_0 + q_1 r_1); the truth is near."""
    wd = worlds.world([0.9, 0.1], [0, 1], [[-1.0], [1.0]], np.eye(1))
    X, _ = worlds.draw(rng, wd, 3000)
    old = np.array([0.5, 0.5])
    P = gaussian.predict_proba(gaussian.model(old, wd.mu, wd.Sigma), X)
    found = comparison.estimate_prior(P, old)
    best = optimize.minimize_scalar(
        lambda q: -np.log(P @ [(1 - q) / 0.5, q / 0.5]).sum(),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert found.sum() == pytest.approx(1)
    assert found[1] == pytest.approx(best.x, abs=1e-6)
    assert found[1] == pytest.approx(0.1, abs=0.03)


def test_a_prior_settles_when_all_classes_do():
    """The third, of the last row alone, stands from the first step on."""
    p = np.array([0.6, 0.5, 0.9, 0.2, 0.0])
    P = np.c_[p, [*(1 - p[:4]), 0], p == 0]
    old = np.array([0.4, 0.4, 0.2])
    q = comparison.estimate_prior(P, old)
    assert q[2] == pytest.approx(0.2) and q.sum() == pytest.approx(1)
    gradient = (P / old / (P @ (q / old))[:, None]).mean(axis=0)
    np.testing.assert_allclose(gradient, 1, atol=1e-6)


def test_prior_of_an_absent_class_does_not_settle(rng):
    """It falls for ever, and a warning says so; wrong priors are refused."""
    P = np.full((5, 2), 0.5)
    P[:, 0], P[:, 1] = 0.6, 0.4
    with pytest.warns(NotConverged, match="after 20 steps"):
        found = comparison.estimate_prior(P, [0.5, 0.5], max_iter=20)
    assert found[1] < 0.01 and found.sum() == pytest.approx(1)
    for bad in ([0.5, 0.6], [1.0, 0.0], [1.0], [0.2, 0.3, 0.5]):
        with pytest.raises(ValueError, match="prior must"):
            comparison.shift_prior(P, [0.5, 0.5], bad)


@pytest.mark.parametrize("little", [0.0, 1e-200])
def test_a_class_that_no_row_believes_in_gets_the_prior_zero(little):
    """Its share is rounded to 0 by the second step, which is no bad prior."""
    P = np.array([[0.6, 0.4, little], [0.2, 0.8, little], [0.9, 0.1, little]])
    old = np.array([0.3, 0.3, 0.4])
    found = comparison.estimate_prior(P, old)
    two = comparison.estimate_prior(P[:, :2], [0.5, 0.5])
    np.testing.assert_allclose(found, np.r_[two, 0], atol=1e-8)


# Held-out rows.


@given(
    counts=st.lists(st.integers(5, 40), min_size=2, max_size=4),
    F=st.integers(2, 5),
    seed=st.integers(0, 99),
)
def test_folds_share_out_every_class(counts, F, seed):
    """Each class and the whole differ by one row at most between folds."""
    t = np.repeat(range(len(counts)), counts)
    rng = np.random.default_rng(seed)
    t = rng.permutation(t)
    fold = comparison.folds(rng, t, F)
    for rows in (slice(None), *(t == k for k in range(len(counts)))):
        sizes = np.bincount(fold[rows], minlength=F)
        assert len(sizes) == F and np.ptp(sizes) <= 1


def test_folds_are_drawn_at_random(rng):
    """Every pair of rows of a class shares a fold about equally often."""
    t = np.array([0] * 4 + [1] * 4)
    fold = np.array([comparison.folds(rng, t, 2) for _ in range(3000)])
    together = (fold[:, :1] == fold[:, 1:4]).mean(axis=0)
    np.testing.assert_allclose(together, 1 / 3, atol=0.05)
    with pytest.raises(ValueError, match="F must be at most 4"):
        comparison.folds(rng, t, 5)
    for F in (1, 2.5):
        with pytest.raises(ValueError, match="F must be"):
            comparison.folds(rng, t, F)
    with pytest.raises(ValueError, match="t must have shape"):
        comparison.folds(rng, [], 2)


METHODS = [
    comparison.lda,
    comparison.qda,
    comparison.naive,
    comparison.regression,
]


@pytest.mark.parametrize("learn", METHODS, ids=lambda f: f.__name__)
def test_cross_prediction_equals_fitting_each_part_by_hand(learn, rng):
    """And a row's own class has no say in its prediction."""
    X = data.iris().X[:, :2] + 0.3 * rng.normal(size=(150, 2))
    t = data.iris().t
    fold = comparison.folds(rng, t, 5)
    P = comparison.cross_predict(learn, X, t, fold)
    assert P.shape == (150, 3)
    held = fold == 2
    np.testing.assert_allclose(P[held], learn(X[~held], t[~held])(X[held]))
    other = np.where(held, (t + 1) % 3, t)
    again = comparison.cross_predict(learn, X, other, fold)
    np.testing.assert_allclose(again[held], P[held])
    assert not np.allclose(again[~held], P[~held])


def test_a_fold_must_leave_every_class_some_rows():
    """Folds that are the classes cannot work."""
    X, t = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="without fold 0 a class"):
        comparison.cross_predict(comparison.lda, X, t, t)
    P = comparison.cross_predict(comparison.lda, X, t, range(6))
    assert P.shape == (6, 2)  # a fold may be a single row


def test_methods_equal_scikit_learn(rng):
    """Out-of-fold log loss of logistic regression, LDA and naive Bayes."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, GaussianNB

    bc = data.breast_cancer_mean(standardised=True)
    X, t = bc.X[:200, :3], bc.t[:200]
    fold = comparison.folds(rng, t, 4)
    split = model_selection.PredefinedSplit(fold)
    for learn, theirs, x in [
        (comparison.regression, LogisticRegression(C=np.inf, tol=1e-10), X),
        (comparison.naive, GaussianNB(var_smoothing=0), X),
        (comparison.naive_bits, BernoulliNB(), (X > 0).astype(float)),
    ]:
        P = comparison.cross_predict(learn, x, t, fold)
        Q = model_selection.cross_val_predict(
            theirs, x, t, cv=split, method="predict_proba"
        )
        np.testing.assert_allclose(P, Q, atol=1e-4)
    shrunk = comparison.lda(X, t, shrinkage=0.5)(X)
    assert not np.allclose(shrunk, comparison.lda(X, t)(X))
    held = comparison.regression(X, t, alpha=1.0)(X)
    w = logistic.fit(data.with_bias(X), t, alpha=0.5).w
    np.testing.assert_allclose(
        held[:, 1],
        logistic.predict_proba(w, data.with_bias(X))[:, 1],
        atol=1e-8,
    )
    for learn in (comparison.qda, comparison.naive):
        assert learn(X, t)(X).shape == (200, 2)
    spread = comparison.naive(X, t, smoothing=1.0)(X)
    assert not np.allclose(spread, comparison.naive(X, t)(X))


def test_inputs_are_left_alone():
    """Read-only arrays, strides."""
    P = np.array([[0.2, 0.8], [0.6, 0.4]], order="F")
    P.setflags(write=False)
    comparison.log_losses(P, [0, 1])
    comparison.shift_prior(P, [0.5, 0.5], [0.1, 0.9])
    comparison.calibration(P[:, 1], [0, 1])


def test_log_loss_is_proper():
    """Minimal where the forecast is the truth; check finds the minimiser."""
    q = np.array([0.2, 0.5, 0.3])

    def expected(a):
        P = np.tile(np.exp(a) / np.exp(a).sum(), (3, 1))
        return q @ comparison.log_losses(P, [0, 1, 2])

    best = optimize.minimize(expected, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(np.exp(best) / np.exp(best).sum(), q, atol=1e-5)
    assert check.identity("x", display=q.sum(), other=1.0)


def test_predictions_in_single_precision_are_judged_as_such():
    """Their rows sum to 1 but for 1e-7: no reason to refuse them."""
    P = np.random.default_rng(3).dirichlet(np.ones(3), size=200)
    t = np.arange(200) % 3
    single = comparison.log_losses(P.astype(np.float32), t)
    np.testing.assert_allclose(single, comparison.log_losses(P, t), rtol=1e-4)
    with pytest.raises(ValueError, match="sums off by 1.0e-05"):
        comparison.log_losses(P * (1 + 1e-5), t)


@pytest.mark.parametrize(
    ("k", "n", "z"),
    [(5, 3, 2), (-1, 3, 2), (0, 0, 2), (None, 3, 2), (1, 3, -1), (1, 3, "x")],
)
def test_wilsons_interval_is_for_shares(k, n, z):
    """0 <= k <= n, n > 0; all else was NaN."""
    with pytest.raises(ValueError, match="k, n must|z must"):
        comparison.wilson(k, n, z)


@pytest.mark.parametrize(
    "fold", [np.zeros(5), np.zeros((6, 1)), None, [0, 1, 2, 0, 1, np.nan]]
)
def test_folds_have_one_entry_per_row(fold):
    """NaN is no fold."""
    X, t = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="fold must"):
        comparison.cross_predict(comparison.lda, X, t, fold)


def test_a_method_must_predict_each_class_for_each_row():
    """A column that numpy would have repeated is refused."""
    X, t = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"shape \(2, 2\); got \(2, 1\)"):
        comparison.cross_predict(
            lambda X, t: lambda X: np.full((len(X), 1), 0.5),
            X,
            t,
            [0, 1, 2] * 2,
        )


def test_two_gaussians_are_two_rows_of_means(rng):
    for N, means, said in ((2.5, [[0], [1]], "N"), (3, [[0.0, 1]], "means")):
        with pytest.raises(ValueError, match=f"{said} must be"):
            data.two_gaussians(rng, N, means=means)


def test_what_draws_asks_for_a_generator(rng):
    """A seed had no attribute 'permutation', said an AttributeError."""
    world = worlds.pair(1.0)
    for call in (
        lambda rng: comparison.folds(rng, [0, 1, 0, 1], 2),
        lambda rng: worlds.draw(rng, world, 4),
        lambda rng: data.draw_targets(rng, [[1.0]], [1.0]),
        lambda rng: data.two_gaussians(rng, 4),
    ):
        call(rng)
        for seed in (0, None, np.random.RandomState(0)):
            with pytest.raises(ValueError, match="rng must be a Generator"):
                call(seed)


def test_probabilities_to_shift_and_counts_for_wilson_have_a_shape():
    for judge in (comparison.shift_prior, comparison.estimate_prior):
        more = [[0.5, 0.5]] * (1 + (judge is comparison.shift_prior))
        with pytest.raises(ValueError, match="P must be a matrix"):
            judge(0.5, *more)
    with pytest.raises(ValueError, match="n must have the shape"):
        comparison.wilson([1, 2], [3, 4, 5])


def test_hidden_entries_are_not_counted(rng):
    """They were, by learners and as folds: numpy's asarray drops the mask."""
    X, t = rng.normal(size=(20, 2)), np.arange(20) % 2
    hide = np.zeros((20, 2), bool)
    hide[0, 0] = True
    hidden = np.ma.masked_array(X, hide)
    for learn in (comparison.lda, comparison.qda, comparison.naive):
        with pytest.raises(ValueError, match="X must hide no entries"):
            learn(hidden, t)
        with pytest.raises(ValueError, match="X must hide no entries"):
            learn(X, t)(hidden)
    fold = np.ma.masked_array(np.repeat([0, 1], 10), hide[:, 0])
    with pytest.raises(ValueError, match="one number or name for each"):
        comparison.cross_predict(comparison.lda, X, t, fold)
