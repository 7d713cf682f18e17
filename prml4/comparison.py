"""Judging probabilities, and two ways to come by them, PRML 1.5.4, 4.3.

P       (N, K)  predicted probabilities p(C_k|x_n); or (N,): p(C_1|x_n), K = 2
y       (N,)    p(C_1|x_n) where there are two classes
t       (N,)    class numbers 0, ..., K - 1
losses  (N,)    what each row costs, smaller is better
fold    (N,)    which part of the data a row belongs to, 0, ..., F - 1
X       (N, D)  inputs
w       (D + 1,)  weights of a linear rule, the bias first

A method is a function learn(X, t) -> predict, and predict(X) -> P.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from prml4 import gaussian, naive_bayes, softmax
from prml4.models.data import with_bias
from prml4.numerics import validate
from prml4.numerics.newton import NotConverged
from prml4.numerics.result import Result


class ImpossibleEvent(UserWarning):
    """What happened had been given probability zero: the log loss is inf."""


# Losses of single rows, and their mean.


def predictions(P, t):
    """P (N, K) with rows that sum to 1, P >= 0, and t (N,) in 0, ..., K - 1."""
    P = _rows(P)
    return P, validate.labels(t, *P.shape)


def _rows(P):
    """P (N, K), also for P (N,), which is p(C_1|x_n)."""
    P = validate.real("P", P)
    return validate.posteriors(np.c_[1 - P, P] if P.ndim == 1 else P)


def log_losses(P, t):
    """-ln p(C_{t_n}|x_n), the terms of PRML (4.108); Good (1952)."""
    P, t = predictions(P, t)
    own = P[np.arange(len(t)), t]
    for n in np.flatnonzero(own == 0)[:1]:
        warnings.warn(
            f"row {n} is of class {t[n]}, to which probability 0 had been "
            "given: its log loss is infinite",
            ImpossibleEvent,
            stacklevel=2,
        )
    with np.errstate(divide="ignore"):
        return -np.log(own)


def brier_scores(P, t):
    """1/2 sum_k (p_nk - t_nk)^2, for K = 2 the square of y_n - t_n.

    Half of what Brier (1950) proposed.
    """
    P, t = predictions(P, t)
    return 0.5 * np.sum((P - np.eye(P.shape[1])[t]) ** 2, axis=1)


def mistakes(P, t):
    """1 where argmax_k p_nk != t_n, else 0, PRML 1.5.1."""
    P, t = predictions(P, t)
    return (P.argmax(axis=1) != t).astype(float)


@dataclass(frozen=True, eq=False)
class Score(Result):
    """A mean over rows, and how far it can be trusted.

    value           mean loss
    standard_error  of that mean
    N               rows
    """

    value: float
    standard_error: float
    N: int

    def __str__(self):
        return f"{self.value:.4f} ± {self.standard_error:.4f}"

    def signed(self, digits):
        """A difference, with its sign."""
        return f"{self.value:+.{digits}f} ± {self.standard_error:.{digits}f}"


def score(losses):
    """m = sum_n l_n / N and its standard error s / sqrt(N),
    s^2 = sum_n (l_n - m)^2 / (N - 1)."""
    losses = validate.real("losses", losses)
    N = losses.size
    if losses.ndim != 1 or N < 2 or np.isnan(losses).any():
        raise ValueError(f"losses must be two or more, no NaN; got {losses}")
    if np.inf in losses and -np.inf in losses:
        raise ValueError(
            f"losses must be infinite with one sign only; got {losses}"
        )
    infinite = np.isinf(losses).any()
    error = np.inf if infinite else float(losses.std(ddof=1) / N**0.5)
    return Score(float(losses.mean()), error, N)


# Calibration.


@dataclass(frozen=True, eq=False)
class Calibration(Result):
    """What was said and what happened, bin by bin; empty bins are left out.

    n       (B,)  rows
    y       (B,)  mean prediction
    o       (B,)  relative frequency of class 1
    low     (B,)  lower end of Wilson's interval for it
    high    (B,)  upper end
    within        sum_n {(y_n - y_b)^2 - 2 (y_n - y_b)(t_n - o_b)} / N
    """

    n: np.ndarray
    y: np.ndarray
    o: np.ndarray
    low: np.ndarray
    high: np.ndarray
    within: float

    @property
    def calibration(self):
        """sum_b n_b (y_b - o_b)^2 / N, Murphy (1973)."""
        return float(self.n @ (self.y - self.o) ** 2 / self.n.sum())

    @property
    def refinement(self):
        """sum_b n_b o_b (1 - o_b) / N = uncertainty - resolution."""
        return float(self.n @ (self.o * (1 - self.o)) / self.n.sum())

    @property
    def uncertainty(self):
        """o (1 - o), o the frequency of class 1 in all rows."""
        o = float(self.n @ self.o / self.n.sum())
        return o * (1 - o)

    @property
    def resolution(self):
        """sum_b n_b (o_b - o)^2 / N, o the frequency in all rows."""
        return self.uncertainty - self.refinement


def wilson(k, n, z=1.96):
    """The p with (k/n - p)^2 = z^2 p (1 - p) / n, both; Wilson (1927)."""
    k, n = validate.real("k", k), validate.real("n", n)
    if np.ndim(k) and np.ndim(n) and k.shape != n.shape:
        raise ValueError(f"n must have the shape {k.shape} of k; got {n.shape}")
    if not np.all((0 <= k) & (k <= n) & (0 < n) & (n < np.inf)):
        raise ValueError(f"k, n must obey 0 <= k <= n, n > 0; got {k}, {n}")
    z = validate.not_negative("z", z)
    half = z * np.sqrt(k * (n - k) / n + z**2 / 4)
    ends = np.array([k + z**2 / 2 - half, k + z**2 / 2 + half]) / (n + z**2)
    o = k / n  # lies between, whatever rounding says
    return np.clip(ends, [0 * o, o], [o, 1 + 0 * o])


def calibration(y, t, *, bins=10, z=1.96):
    """y_b, o_b = means of y_n and t_n over bin b; Murphy (1973).

    `bins` is a number of equal ones in [0, 1], or the edges between them.
    """
    P, t = predictions(y, t)
    if P.shape[1] != 2:
        raise ValueError(f"calibration is for two classes; got {P.shape[1]}")
    bins = validate.real("bins", bins)
    number = bins.ndim > 0 or 1 <= bins == np.floor(bins) < np.inf
    if not number or np.isnan(bins).any():
        raise ValueError(f"bins must be 1, 2, ..., or edges; got {bins}")
    edges = np.arange(1, bins) / bins if bins.ndim == 0 else np.sort(bins)
    return binned(P[:, 1], t, np.searchsorted(edges, P[:, 1], side="right"), z)


def binned(y, t, b, z=1.96):
    """y_b, o_b = means of y_n and t_n over the rows with bin number b_n = b."""
    _, b, n = np.unique(b, return_inverse=True, return_counts=True)
    mean, ones = np.bincount(b, y) / n, np.bincount(b, t)
    d = y - mean[b]
    within = np.mean(d**2 - 2 * d * (t - (ones / n)[b]))
    return Calibration(n, mean, ones / n, *wilson(ones, n, z), float(within))


# Other priors.


def shift_prior(P, old, new):
    """p'(C_k|x) = p(C_k|x) r_k / sum_j p(C_j|x) r_j, r = new / old, PRML 1.5.4.

    For classes that are as they were, but come in new proportions.
    """
    P = _rows(P)
    K = P.shape[1]
    old, new = (validate.probabilities("prior", p, K) for p in (old, new))
    return _shifted(P, new / old)


def _shifted(P, r):
    """p(C_k|x) r_k / sum_j p(C_j|x) r_j, r_k >= 0."""
    joint = P * r
    return joint / joint.sum(axis=1, keepdims=True)


def estimate_prior(P, old, *, tol=1e-10, max_iter=10_000):
    """q = argmax sum_n ln sum_k q_k p_nk / old_k, by EM; Saerens et al. (2002).

    No labels are needed. A class that is absent makes it slow; one to which no
    row gives anything has q_k = 0.
    """
    P = _rows(P)
    old = validate.probabilities("prior", old, P.shape[1])
    tol, max_iter = validate.stopping(tol, max_iter).values()
    q = old
    for _ in range(max_iter):
        before, q = q, _shifted(P, q / old).mean(axis=0)
        if np.abs(q - before).max() <= tol:
            return q
    warnings.warn(
        f"the prior still moves after {max_iter} steps, by "
        f"{np.abs(q - before).max():.1e}",
        NotConverged,
        stacklevel=2,
    )
    return q


# Held-out rows.


def folds(rng, t, F):
    """t -> fold (N,): each class dealt out in turn, n_k / F rows or so."""
    validate.fitted(rng, np.random.Generator, name="rng")
    t = validate.real("t", t)
    t, _ = validate.classes(t, max(t.size, 1))
    if validate.whole("F", F, 2) > (most := np.bincount(t).min()):
        raise ValueError(
            f"F must be at most {most}, the rows of the smallest class; got {F}"
        )
    order = rng.permutation(t.size)
    fold = np.empty(t.size, dtype=int)
    fold[order[np.argsort(t[order], kind="stable")]] = np.arange(t.size) % F
    return fold


def cross_predict(learn, X, t, fold):
    """P_n = learn(rows of other folds)(x_n): no row judges what it taught."""
    X, fold = validate.design(X, "X"), np.asanyarray(fold)
    known = not np.ma.is_masked(fold) and fold.shape == (len(X),)
    if not known or (fold != fold).any():
        raise ValueError(
            f"fold must hold one number or name for each of {len(X)} rows; "
            f"got {fold}"
        )
    t, K = validate.classes(t, len(X))
    P = np.empty((len(X), K))
    for f in np.unique(fold):
        held = fold == f
        if np.unique(t[~held]).size < K:
            raise ValueError(f"without fold {f} a class has no rows left")
        y = learn(X[~held], t[~held])(X[held])
        if np.shape(y) != (wanted := (int(held.sum()), K)):
            raise ValueError(
                f"learn must predict p of shape {wanted}; got {np.shape(y)}"
            )
        P[held] = y
    return P


def method(fit, predict_proba, features=np.asanyarray):
    """learn(X, t) -> predict, predict(X) = p(C_k|phi(x)) of fit(phi(X), t).

    What else learn is given are options of fit.
    """

    def learn(X, t, **options):
        """X -> p(C_k|x), from rows X of classes t."""
        model = fit(features(X), t, **options)
        return lambda X: predict_proba(model, features(X))

    return learn


lda = method(gaussian.fit_lda, gaussian.predict_proba)
qda = method(gaussian.fit_qda, gaussian.predict_proba)
naive = method(naive_bayes.fit_gaussian, naive_bayes.predict_proba)
naive_bits = method(naive_bayes.fit_bernoulli, naive_bayes.predict_proba)
regression = method(softmax.fit, softmax.predict_proba, with_bias)
