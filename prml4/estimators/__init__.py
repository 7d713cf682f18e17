"""The book's models behind scikit-learn's interface, for pipelines.

Chapter 3 gives LinearDiscriminant and QuadraticDiscriminant, 4
GaussianNaiveBayes, BernoulliNaiveBayes and MultinomialNaiveBayes, 6
LeastSquares, 7 Logistic, 9 Softmax, 10 Probit, 15 BayesianLogistic, 17
GaussianProcessLaplace and 19 GaussianProcessEP.

Each is a face over the functions of its chapter: it numbers the labels, adds
the constant feature, and keeps what the chapter's `fit` returned as `model_`.
Needs scikit-learn: pip install prml4[sklearn].
"""

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _check_sample_weight,
        check_is_fitted,
        check_non_negative,
        validate_data,
    )
except ImportError as why:
    raise ImportError(
        "prml4.estimators needs scikit-learn: pip install prml4[sklearn]"
    ) from why

from prml4 import (
    bayes_logistic,
    gaussian,
    gaussian_process,
    gp_ep,
    gp_laplace,
    least_squares,
    logistic,
    naive_bayes,
    probit,
    softmax,
)
from prml4.models import data, kernels
from prml4.models.likelihoods import LOGISTIC, PROBIT, flipped
from prml4.numerics import validate
from prml4.studies import precision

__all__ = [
    "BayesianLogistic", "BernoulliNaiveBayes", "GaussianNaiveBayes",
    "GaussianProcessEP", "GaussianProcessLaplace", "LeastSquares",
    "LinearDiscriminant", "Logistic", "MultinomialNaiveBayes", "Probit",
    "QuadraticDiscriminant", "Softmax",
]  # fmt: skip


def _one(name, estimator):
    """An option that is one number, no NaN, as a float."""
    value = getattr(estimator, name)
    return validate.number(name, value, lambda x: x == x, "be one number")


def _penalties(estimator, M):
    """alpha (M,) for M - 1 features, and 0 for the constant before them."""
    return np.append(0.0, np.full(M - 1, _one("alpha", estimator)))


def _nothing_hidden(**arrays):
    """Or a ValueError: scikit-learn would take what a mask hides for seen."""
    for name, array in arrays.items():
        if np.ma.is_masked(array):
            raise ValueError(f"{name} must hide no entries; got a masked array")


class _Classifier(ClassifierMixin, BaseEstimator):
    """Labels become numbers and back; `_learn` fits, `_proba` predicts."""

    _two_classes = False

    def fit(self, X, y):
        """Learn from X (N, D) and labels y (N,)."""
        _nothing_hidden(X=X, y=y)
        X, y = validate_data(self, X, y, dtype=float)
        classes, t = self._numbered(y)
        self.model_ = self._learn(X, t)
        self.classes_ = classes  # a refusal leaves the model its own
        return self

    def predict(self, X):
        """The most probable label of each row."""
        k = self.predict_proba(X).argmax(axis=1)
        return self.classes_[k]

    def predict_proba(self, X):
        """p(C_k | x), one column for each of `classes_`."""
        return self._proba(self._seen(X))

    def _numbered(self, y):
        """The labels that there are, for `classes_`; and class numbers."""
        check_classification_targets(y)
        classes, t = np.unique(y, return_inverse=True)
        K = len(classes)
        if K < 2:
            raise ValueError(f"y must hold two classes or more; got {K} class")
        if self._two_classes and K > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the "
                f"target is multiclass; got {K} classes"
            )
        return classes, t

    def _seen(self, X):
        """X as an array, with the columns that were fitted."""
        check_is_fitted(self)
        _nothing_hidden(X=X)
        return validate_data(self, X, dtype=float, reset=False)

    def __sklearn_tags__(self):
        """Whether more than two classes will do."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not self._two_classes
        return tags


class _Linear(_Classifier):
    """Weights of features and a constant, by descent; rows have weights."""

    def __init__(self, alpha=1.0, max_iter=100):
        self.alpha = alpha
        self.max_iter = max_iter

    def fit(self, X, y, sample_weight=None):
        """Learn from X (N, D), labels y (N,) and weights of the rows (N,)."""
        _nothing_hidden(X=X, y=y, sample_weight=sample_weight)
        X, y = validate_data(self, X, y, dtype=float)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, ensure_non_negative=True
            )
            rows = sample_weight > 0
            X, y, sample_weight = X[rows], y[rows], sample_weight[rows]
        classes, t = self._numbered(y)
        self.model_ = self._learn(data.with_bias(X), t, sample_weight)
        self.classes_ = classes
        self.n_iter_ = max(len(self.model_.trace) - 1, 1)
        return self

    def _learn(self, Phi, t, weights):
        return self._chapter.fit(Phi, t, **self._options(Phi, weights))

    def _proba(self, X):
        return self._chapter.predict_proba(self.model_, data.with_bias(X))

    def _options(self, Phi, weights):
        """Of a fit: alpha for the features, 0 for the constant."""
        alpha = _penalties(self, Phi.shape[1])
        return {"alpha": alpha, "weights": weights, "max_iter": self.max_iter}


# Generative models.


class LinearDiscriminant(_Classifier):
    """Gaussian classes of one covariance, `gaussian.fit_lda`.

    shrinkage  in [0, 1], moves the covariance towards the target
    target     "diagonal", "isotropic" or, with several classes, as `covariance`
    """

    _fit = staticmethod(gaussian.fit_lda)

    def __init__(self, shrinkage=0.0, target="diagonal"):
        self.shrinkage = shrinkage
        self.target = target

    def _learn(self, X, t):
        return self._fit(X, t, shrinkage=self.shrinkage, target=self.target)

    def _proba(self, X):
        return gaussian.predict_proba(self.model_, X)


class QuadraticDiscriminant(LinearDiscriminant):
    """Gaussian classes, each of its own covariance, `gaussian.fit_qda`."""

    _fit = staticmethod(gaussian.fit_qda)


class GaussianNaiveBayes(_Classifier):
    """Independent Gaussian features, `naive_bayes.fit_gaussian`.

    smoothing  share of each feature's variance that is added to all classes'
    """

    def __init__(self, smoothing=1e-9):
        self.smoothing = smoothing

    def _learn(self, X, t):
        return naive_bayes.fit_gaussian(X, t, smoothing=self.smoothing)

    def _proba(self, X):
        return naive_bayes.predict_proba(self.model_, X)


class BernoulliNaiveBayes(_Classifier):
    """Independent features, on or off, `naive_bayes.fit_bernoulli`.

    threshold     a feature is on where it is larger
    pseudo_count  ones and zeros that no one has seen, in each class
    """

    def __init__(self, threshold=0.0, pseudo_count=1.0):
        self.threshold = threshold
        self.pseudo_count = pseudo_count

    def _learn(self, X, t):
        on, count = X > _one("threshold", self), self.pseudo_count
        return naive_bayes.fit_bernoulli(on, t, pseudo_count=count)

    def _proba(self, X):
        return naive_bayes.predict_proba(self.model_, X > self.threshold)


class MultinomialNaiveBayes(_Classifier):
    """Counts of words drawn one by one, `naive_bayes.fit_multinomial`.

    pseudo_count  occurrences of each word that no one has seen, in each class
    """

    def __init__(self, pseudo_count=1.0):
        self.pseudo_count = pseudo_count

    def _learn(self, X, t):
        check_non_negative(X, type(self).__name__)
        return naive_bayes.fit_multinomial(X, t, pseudo_count=self.pseudo_count)

    def _proba(self, X):
        return naive_bayes.predict_proba(self.model_, X)

    def __sklearn_tags__(self):
        """Counts are not negative; and the checks' clouds are no counts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = tags.classifier_tags.poor_score = True
        return tags


# Discriminative models.


class LeastSquares(_Classifier):
    """Regression on one-of-K targets, `least_squares.fit`: no probabilities.

    alpha  penalty on the weights of the features, but for the constant's
    """

    predict_proba = property(doc="Not offered: outputs are no probabilities.")

    def __init__(self, alpha=0.0):
        self.alpha = alpha

    def decision_function(self, X):
        """y_k(x) of each class; of two classes, by how much y_1 is larger."""
        Phi = data.with_bias(self._seen(X))
        outputs = least_squares.outputs(self.model_, Phi)
        two = len(self.classes_) == 2
        return outputs[:, 1] - outputs[:, 0] if two else outputs

    def predict(self, X):
        """The label of the largest output."""
        Phi = data.with_bias(self._seen(X))
        return self.classes_[least_squares.predict(self.model_, Phi)]

    def _learn(self, X, t):
        Phi = data.with_bias(X)
        return least_squares.fit(Phi, t, alpha=_penalties(self, Phi.shape[1]))


class Logistic(_Linear):
    """The log odds are linear, `logistic.fit`; two classes.

    alpha     prior precision of the weights, but for the constant's
    max_iter  steps at most
    """

    _two_classes = True
    _chapter = logistic


class Softmax(_Linear):
    """Linear activations for each of several classes, `softmax.fit`.

    alpha     prior precision of the weights, but for the constants'
    max_iter  steps at most
    """

    _chapter = softmax


class Probit(_Linear):
    """A noisy threshold, and labels that may be wrong, `probit.fit`.

    epsilon   share of labels that were flipped: in [0, 1/2), or "fit"
    alpha     prior precision of the weights, but for the constant's
    max_iter  steps at most
    """

    _two_classes = True
    _chapter = probit

    def __init__(self, epsilon=0.0, alpha=1.0, max_iter=100):
        super().__init__(alpha, max_iter)
        self.epsilon = epsilon

    def _learn(self, Phi, t, weights):
        options = self._options(Phi, weights)
        if isinstance(self.epsilon, str) and self.epsilon == "fit":
            return probit.fit_noise(Phi, t, **options)
        epsilon = validate.flip_probability(self.epsilon)
        noisy = flipped(PROBIT, epsilon) if epsilon else PROBIT
        return probit.fit(Phi, t, likelihood=noisy, **options)


class BayesianLogistic(_Linear):
    """The log odds have a Gaussian posterior, chapter 15; two classes.

    alpha     prior precision of the weights, or "evidence": its best value
    broad     prior precision of the constant's weight
    max_iter  steps at most
    """

    _two_classes = True
    _chapter = bayes_logistic

    def __init__(self, alpha="evidence", broad=1e-2, max_iter=100):
        super().__init__(alpha, max_iter)
        self.broad = broad

    def _learn(self, Phi, t, weights):
        M, broad = Phi.shape[1], _one("broad", self)
        options = {"weights": weights, "max_iter": self.max_iter}
        if not (isinstance(self.alpha, str) and self.alpha == "evidence"):
            one = _one("alpha", self)
            alpha = np.append(broad, np.full(M - 1, one))
            fit = bayes_logistic.fit(Phi, t, alpha=alpha, **options)
            self.alpha_ = one  # a refusal leaves the model its own
            return fit
        groups = np.append(-1, np.zeros(M - 1, int))
        start = np.append(broad, np.ones(M - 1))
        found = precision.maximise_evidence(
            Phi, t, groups=groups, alpha=start, **options
        )
        self.alpha_ = float(found.alpha[-1])
        return found.posterior


# Gaussian processes.


def amplified():
    """v exp(-|x - z|^2 / 2 l^2), the kernel unless another is asked for."""
    return kernels.constant() * kernels.squared_exponential()


class GaussianProcessLaplace(_Classifier):
    """A Gaussian process for the log odds, by Laplace's method; chapter 17.

    kernel      a function that makes a kernel of `prml4.models.kernels`, or
                the kernel itself, which cannot be pickled
    theta       logarithms of its hyperparameters, where the search starts;
                zeros if None
    optimise    whether the evidence moves them; else theta is kept
    likelihood  "logistic" or "probit"
    max_iter    steps of the search at most
    """

    _two_classes = True
    _chapter = gp_laplace

    def __init__(
        self,
        kernel=amplified,
        theta=None,
        optimise=True,
        likelihood="logistic",
        max_iter=25,
    ):
        self.kernel = kernel
        self.theta = theta
        self.optimise = optimise
        self.likelihood = likelihood
        self.max_iter = max_iter

    def _learn(self, X, t):
        validate.choice("likelihood", self.likelihood, LIKELIHOODS)
        kernel, likelihood = self._kernel(), LIKELIHOODS[self.likelihood]
        P = len(kernel.names)
        theta = np.zeros(P) if self.theta is None else self.theta
        self.n_iter_ = 1
        if self.optimise:
            inference = self._chapter.inference(t, likelihood)
            best = gaussian_process.optimise(
                kernel, X, inference, theta, max_iter=self.max_iter
            )
            theta, self.n_iter_ = best.theta, max(len(best.trace) - 1, 1)
        fit = self._chapter.fit(kernel(theta, X), t, likelihood=likelihood)
        self.X_, self.theta_ = X.copy(), np.array(theta, float)
        self.log_evidence_ = fit.log_evidence
        return fit

    def _kernel(self):
        make = self.kernel
        if not (callable(make) or isinstance(make, kernels.Kernel)):
            raise ValueError(
                "kernel must be a kernel, or a function that makes one; got "
                f"{make!r}"
            )
        return make if isinstance(make, kernels.Kernel) else make()

    def _proba(self, X):
        kernel = self._kernel()
        c_star = kernel(self.theta_, self.X_, X)
        c_ss = kernel.diagonal(self.theta_, X)
        return gaussian_process.predict_proba(self.model_, c_star, c_ss)


class GaussianProcessEP(GaussianProcessLaplace):
    """The same by expectation propagation; chapter 19."""

    _chapter = gp_ep


LIKELIHOODS = {"logistic": LOGISTIC, "probit": PROBIT}
