"""The faces keep scikit-learn's contract, and change nothing behind them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from prml4 import (
    bayes_logistic,
    estimators,
    gaussian,
    logistic,
    naive_bayes,
    probit,
)
from prml4.models import data, kernels
from prml4.models.likelihoods import PROBIT, flipped
from prml4.studies import precision

# most of the time of a Gaussian process is the search for its kernel
SHORT = {"max_iter": 3}
EVERY = [
    getattr(estimators, name)(**SHORT if "Process" in name else {})
    for name in estimators.__all__
]
MULTINOMIAL = estimators.MultinomialNaiveBayes
NAMES = [type(e).__name__ for e in EVERY]
# What the checks are made of, and short searches, give reason to warn: labels
# without any pattern, separated classes, three steps.
pytestmark = pytest.mark.filterwarnings(
    "ignore::prml4.studies.precision.NoBestPrecision",
    "ignore::prml4.studies.precision.NoBestVariance",
    "ignore::prml4.numerics.newton.NotConverged",
)


@pytest.fixture(scope="module")
def tumours():
    """Six features of 569 tumours, labelled by words, as a data frame."""
    found = data.breast_cancer_mean()
    X = pd.DataFrame(found.X[:, :6], columns=list(found.names[:6]))
    return X, np.where(found.t == 1, "malignant", "benign")


def scaled(X, estimator):
    """In standard deviations; from the smallest value where counts are due."""
    low = X.min() if isinstance(estimator, MULTINOMIAL) else X.mean()
    return (X - low) / X.std()


@parametrize_with_checks(EVERY)
def test_scikit_learns_own_checks(estimator, check):
    """No check is expected to fail."""
    check(estimator)


@pytest.mark.parametrize("estimator", EVERY, ids=NAMES)
def test_a_pipeline_learns_tumours(estimator, tumours):
    """Nine in ten rows that were not seen are right, for every model."""
    X, y = tumours[0].iloc[::3], tumours[1][::3]
    words = isinstance(estimator, MULTINOMIAL)  # one word for each fifth
    scaler = KBinsDiscretizer(
        5, encode="onehot-dense", quantile_method="averaged_inverted_cdf"
    )
    scaler = scaler if words else StandardScaler()  # fmt: skip
    model = make_pipeline(scaler, clone(estimator))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.85


@pytest.mark.parametrize("estimator", EVERY, ids=NAMES)
def test_any_labels_will_do(estimator, tumours):
    """Words, numbers far apart and booleans: the same rows are told apart."""
    X, words = tumours[0].iloc[:80], tumours[1][:80]
    X = scaled(X, estimator)
    far = np.where(words == "malignant", 70, -3)
    by_word = clone(estimator).fit(X, words).predict(X)
    by_number = clone(estimator).fit(X, far).predict(X)
    by_truth = clone(estimator).fit(X, far == 70).predict(X)
    np.testing.assert_array_equal(by_word == "malignant", by_number == 70)
    np.testing.assert_array_equal(by_number == 70, by_truth)


@pytest.mark.parametrize("estimator", EVERY, ids=NAMES)
def test_a_pickled_estimator_predicts_the_same(estimator, tumours):
    """To the bit, and it remembers the names of the columns."""
    X, y = tumours[0].iloc[:80], tumours[1][:80]
    X = scaled(X, estimator)
    model = clone(estimator).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    assert list(again.feature_names_in_) == list(X.columns)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(X[X.columns[::-1]])


@pytest.mark.parametrize("estimator", EVERY, ids=NAMES)
def test_what_is_done_to_the_rows_later_changes_no_prediction(estimator, rng):
    """A Gaussian process needs its rows again, and theta: its own copies."""
    X, y = np.abs(rng.standard_normal((40, 2))), np.arange(40) % 2
    X[:, 0] += y
    new, model = X[:5] + 0.1, clone(estimator)
    if "Process" in type(model).__name__:
        model.set_params(theta=np.zeros(2), optimise=False)
    before = model.fit(X, y)
    known = getattr(before, "decision_function", None) or before.predict_proba
    first = known(new)
    X[:], y[:] = 0.0, 0
    if "Process" in type(model).__name__:
        model.theta[:] = 3.0
    np.testing.assert_array_equal(known(new), first)


@pytest.mark.parametrize("name", ["LeastSquares", "Logistic", "Softmax"])
def test_a_penalty_does_not_ask_where_zero_is(name, rng):
    """It never acts on the constant's weight: inputs may be shifted."""
    X, y = rng.standard_normal((40, 2)), np.arange(40) % 2
    fits = [getattr(estimators, name)(alpha=10.0).fit(X + s, y) for s in (0, 9)]
    face = "decision_function" if name == "LeastSquares" else "predict_proba"
    one, two = (
        getattr(f, face)(X + s) for f, s in zip(fits, (0, 9), strict=True)
    )
    np.testing.assert_allclose(one, two, rtol=1e-6)


def test_the_faces_are_those_of_the_chapters(tumours):
    """Probabilities equal those of the chapter's functions, to rounding."""
    X, y = tumours[0].to_numpy(), tumours[1]
    X, t = data.standardise(X)[0], (y == "malignant").astype(float)
    Phi, alpha = data.with_bias(X), np.append(0.0, np.full(6, 2.0))
    noisy = flipped(PROBIT, 0.02)
    lda, plain = gaussian.fit_lda(X, t), logistic.fit(Phi, t, alpha=alpha)
    doubting = probit.fit(Phi, t, alpha=alpha, likelihood=noisy)
    pairs = (
        (estimators.LinearDiscriminant(), gaussian, lda, X),
        (estimators.Logistic(2.0), logistic, plain, Phi),
        (estimators.Probit(0.02, 2.0), probit, doubting, Phi),
    )
    for face, chapter, fit, rows in pairs:
        np.testing.assert_allclose(
            face.fit(X, y).predict_proba(X), chapter.predict_proba(fit, rows)
        )


def test_words_are_counted_as_in_chapter_4(tumours):
    """To rounding; a negative count is refused as scikit-learn refuses it."""
    face, (X, y) = MULTINOMIAL(0.5), tumours
    X = (10 * scaled(X, face)).to_numpy().round()
    fit = naive_bayes.fit_multinomial(X, y == "malignant", pseudo_count=0.5)
    np.testing.assert_allclose(
        face.fit(X, y).predict_proba(X), naive_bayes.predict_proba(fit, X)
    )
    with pytest.raises(ValueError, match="Negative values in data"):
        face.fit(-X, y)


def test_the_evidence_chooses_the_precision(tumours):
    """As chapter 15's search does; the constant's precision stays."""
    X = StandardScaler().fit_transform(tumours[0])
    Phi, t = data.with_bias(X), (tumours[1] == "malignant").astype(float)
    found = precision.maximise_evidence(
        Phi,
        t,
        groups=np.append(-1, np.zeros(6, int)),
        alpha=np.append(1e-2, np.ones(6)),
    )
    face = estimators.BayesianLogistic().fit(X, tumours[1])
    np.testing.assert_allclose(face.alpha_, found.alpha[-1])
    np.testing.assert_allclose(
        face.predict_proba(X),
        bayes_logistic.predict_proba(found.posterior, Phi),
    )


def test_grid_search_finds_a_precision(tumours):
    """A parameter of a step, chosen by held-out rows."""
    model = make_pipeline(StandardScaler(), estimators.Logistic())
    grid = {"logistic__alpha": [1e-3, 1.0, 1e3]}
    search = GridSearchCV(model, grid, cv=3, scoring="neg_log_loss")
    found = search.fit(*tumours).best_params_["logistic__alpha"]
    assert found < 1e3


@pytest.mark.parametrize("face", ["LeastSquares", "QuadraticDiscriminant"])
def test_calibration_takes_outputs_and_probabilities(face, tumours):
    """What has no probabilities gets some; they are better than a coin's."""
    model = CalibratedClassifierCV(getattr(estimators, face)(), cv=3)
    p = model.fit(*tumours).predict_proba(tumours[0])[:, 1]
    t = tumours[1] == "malignant"
    assert -np.mean(stats.bernoulli.logpmf(t, p)) < 0.3


@pytest.mark.parametrize("likelihood", ["logistic", "probit"])
@pytest.mark.parametrize("method", ["Laplace", "EP"])
def test_gaussian_processes_take_any_kernel(method, likelihood, tumours):
    """A function that makes one, or the kernel; theta stays if told to."""
    X = StandardScaler().fit_transform(tumours[0])[:60]
    Class = getattr(estimators, "GaussianProcess" + method)
    shared = {"theta": [0.5], "optimise": False, "likelihood": likelihood}
    one = Class(kernels.matern, **shared).fit(X, tumours[1][:60])
    two = Class(kernels.matern(), **shared).fit(X, tumours[1][:60])
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.theta_, [0.5])


def test_laplace_agrees_with_scikit_learn(tumours):
    """One kernel, no search: evidence to 1e-6, what its Newton stops at."""
    X = StandardScaler().fit_transform(tumours[0])[:120]
    y = tumours[1][:120]
    theirs = GaussianProcessClassifier(1.0 * RBF(2.0), optimizer=None)
    theirs.fit(X, y)
    theta = [0.0, np.log(2.0)]
    ours = estimators.GaussianProcessLaplace(theta=theta, optimise=False)
    evidence = theirs.log_marginal_likelihood_value_
    assert ours.fit(X, y).log_evidence_ == pytest.approx(evidence, rel=1e-4)


def test_weights_are_repetitions(tumours):
    """A row of weight 2 is a row twice; one of weight 0 is not there."""
    X = StandardScaler().fit_transform(tumours[0])[:90]
    y, weight = tumours[1][:90], np.arange(90) % 3
    rows = np.repeat(np.arange(90), weight)
    for face in EVERY:
        if isinstance(face, estimators._Linear):
            one = clone(face).fit(X, y, sample_weight=weight)
            two = clone(face).fit(X[rows], y[rows])
            np.testing.assert_allclose(
                one.predict_proba(X), two.predict_proba(X), rtol=1e-6
            )


@pytest.mark.parametrize(
    ("estimator", "says"),
    [
        (estimators.Logistic(alpha=None), "alpha must"),
        (estimators.Logistic(alpha=[1, 2]), "alpha must"),
        (estimators.Softmax(alpha="x"), "alpha must"),
        (estimators.BayesianLogistic(alpha=[1, 2]), "alpha must"),
        (estimators.Probit(epsilon=None), "epsilon must"),
        (estimators.Probit(epsilon={}), "epsilon must"),
        (estimators.Probit(epsilon=[0.1]), "epsilon must"),
        (
            estimators.BernoulliNaiveBayes(threshold=np.nan),
            "threshold must be one number",
        ),
        (
            estimators.BernoulliNaiveBayes(threshold=[1, 2]),
            "threshold must be one number",
        ),
        (
            estimators.GaussianProcessLaplace(kernel=None),
            "kernel must be a kernel, or a function that makes one",
        ),
    ],
    ids=str,
)
def test_options_that_are_none_are_named(estimator, says):
    """What they are, and what is expected: not passed over, no TypeError."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.raises(ValueError, match=says):
        estimator.fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("name", ["Logistic", "Softmax", "Probit"])
def test_negative_weights_are_refused_not_left_out(name):
    """They were taken for zeros."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    fit = getattr(estimators, name)().fit
    with pytest.raises(ValueError, match="[Nn]egative"):
        fit(X, [0, 1, 0, 1], sample_weight=[1, 1, 1, -1])


@pytest.mark.parametrize("estimator", EVERY, ids=NAMES)
def test_a_refusal_leaves_the_last_fit_its_labels(estimator):
    """The old weights predicted the labels of the fit that was refused."""
    X = np.array([[0.0], [3.0], [1.0], [2.0], [4.0], [5.0]])
    y = np.array([0, 1, 0, 1, 0, 1])
    estimator = clone(estimator).fit(X, y)
    two = np.array(["a", "b", "a", "b", "a", "b"])
    three = np.array(["a", "b", "c", "a", "b", "c"])
    for again, labels in ((0 * X, two), (-1 - X, two), (X, three)):
        try:
            clone(estimator).fit(again, labels)
        except ValueError:
            with pytest.raises(ValueError):
                estimator.fit(again, labels)
            assert set(estimator.predict(X)) <= {0, 1}


@pytest.mark.parametrize("estimator", EVERY, ids=NAMES)
def test_what_a_mask_hides_is_not_used(estimator):
    """scikit-learn drops the mask, and the library saw what was below."""
    X, y = np.array([[0.0], [3.0], [1.0], [2.0]]), np.array([0, 1, 0, 1])
    fitted = clone(estimator).fit(X, y)
    hidden = np.ma.array(X, mask=X > 2)
    for call in (
        lambda: clone(estimator).fit(hidden, y),
        lambda: clone(estimator).fit(X, np.ma.array(y, mask=y > 0)),
        lambda: fitted.predict(hidden),
    ):
        with pytest.raises(ValueError, match="must hide no entries"):
            call()


def test_a_refused_precision_leaves_the_one_of_the_model():
    X, y = np.array([[-1.0], [0], [1], [2]]), [0, 1, 0, 1]
    fitted = estimators.BayesianLogistic(alpha=2.0).fit(X, y)
    with pytest.raises(ValueError, match="alpha must be finite"):
        fitted.set_params(alpha=1e300).fit(X, y)
    assert fitted.alpha_ == 2.0
    with pytest.raises(ValueError, match="broad must hold real numbers"):
        fitted.set_params(alpha=1.0, broad="x").fit(X, y)
