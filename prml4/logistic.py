"""Two-class logistic regression, PRML 4.3.2.

Phi      (N, M)  design matrix, one row phi(x_n)^T per observation
t        (N,)    targets in {0, 1}; s = 2t - 1 where -1 and 1 are handier
w        (M,)    weights of the log odds a = Phi w
weights  (N,)    how often each observation counts, None for once
alpha    (M,)    prior precisions (one number serves all; 0 = no prior)
m0       (M,)    prior mean, None for zero
"""

import warnings
from dataclasses import dataclass
from functools import partial
from math import tanh

import numpy as np

from prml4.models.likelihoods import LOGISTIC, Likelihood
from prml4.numerics import descent, validate
from prml4.numerics.newton import ROUNDING, NotConverged
from prml4.numerics.result import Result
from prml4.numerics.separation import between, complain, separation, verdict
from prml4.numerics.special import log_sigmoid, sigmoid, sigmoid_prime


def log_odds(fit, Phi):
    """a = Phi w = ln {p(C_1|phi) / p(C_0|phi)}, PRML (4.87)."""
    w, Phi = validate.prediction(_of_logistic(fit), Phi)
    return Phi @ w


def _of_logistic(fit):
    """The fit itself, or bare weights, if its a_n are log odds and all of a.

    A ProbitFit or a GLMFit may have another likelihood, or an offset.
    """
    likelihood = getattr(getattr(fit, "link", fit), "likelihood", LOGISTIC)
    if likelihood != LOGISTIC or np.any(getattr(fit, "offset", 0)):
        raise ValueError(
            "fit must be a logistic one without an offset; got a "
            f"{type(fit).__name__}, whose chapter has functions of its own"
        )
    return fit


def predict_proba(fit, Phi):
    """1 - y_n and y_n = p(C1|phi_n) = sigma(w^T phi_n), (N, 2), PRML (4.87)."""
    a = log_odds(fit, Phi)
    return sigmoid(np.column_stack([-a, a]))


def predict(fit, Phi):
    """argmax_k p(C_k|x_n), the class of greater probability, 0 or 1: (N,)."""
    return predict_proba(fit, Phi).argmax(axis=1)


def error(w, Phi, t):
    """E(w) = -sum_n {t_n ln y_n + (1 - t_n) ln(1 - y_n)}, PRML (4.90)."""
    t = validate.binary_targets(t, len(Phi))
    a = validate.activations(w, Phi)
    return -float(np.sum(t * log_sigmoid(a) + (1 - t) * log_sigmoid(-a)))


def gradient(w, Phi, t):
    """grad E(w) = sum_n (y_n - t_n) phi_n = Phi^T (y - t), PRML (4.91)."""
    t = validate.binary_targets(t, len(Phi))
    return Phi.T @ (sigmoid(validate.activations(w, Phi)) - t)


def hessian(w, Phi):
    """H = sum_n y_n (1 - y_n) phi_n phi_n^T = Phi^T R Phi, PRML (4.97)."""
    r = sigmoid_prime(validate.activations(w, Phi))
    return Phi.T @ (r[:, None] * Phi)


def map_error(w, Phi, t, alpha, m0=0.0):
    """E(w) + 1/2 (w - m0)^T A (w - m0), A = diag(alpha), PRML (4.142)."""
    d, alpha = validate.held(w, alpha, m0)
    return error(w, Phi, t) + 0.5 * float(np.sum(alpha * d * d))


def map_gradient(w, Phi, t, alpha, m0=0.0):
    """grad E(w) + A (w - m0), A = diag(alpha)."""
    d, alpha = validate.held(w, alpha, m0)
    return gradient(w, Phi, t) + alpha * d


def map_hessian(w, Phi, alpha):
    """H(w) + A, A = diag(alpha), PRML (4.143)."""
    _, alpha = validate.held(w, alpha)
    return hessian(w, Phi) + alpha * np.eye(len(w))


@dataclass(frozen=True, eq=False)
class Fit(Result):
    """The minimiser of the error, and whether to trust it.

    w          (M,)  weights
    error            E(w), with the prior's term if there is a prior
    gradient   (M,)  its gradient at w
    converged        whether w is the minimum, as far as E can show
    separated        "complete", "quasi-complete": why there is no end; or None
    trace      (S,)  E at the accepted iterates of the last stage
    alpha      (M,)  prior precisions
    weights    (N,)  observation weights, None for ones
    """

    w: np.ndarray
    error: float
    gradient: np.ndarray
    converged: bool
    separated: str | None
    trace: tuple[float, ...]
    alpha: np.ndarray
    weights: np.ndarray | None

    @classmethod
    def of(cls, best, separated, alpha, weights, **more):
        """From where a way down has ended."""
        return cls(
            best.w, best.error, best.gradient, best.converged, separated,
            best.trace, alpha, own(weights), **more,
        )  # fmt: skip


def fit(
    Phi, t, *, alpha=0.0, m0=None, weights=None, tol=ROUNDING, max_iter=100
):
    """w = argmin E(w) + 1/2 (w - m0)^T A (w - m0), PRML (4.90), (4.142)."""
    objective, t = problem(Phi, t, alpha, m0, weights)
    stop = validate.stopping(tol, max_iter)
    solve = partial(descent.descend, **stop)
    best, kind = solve(objective, objective.m0), between(objective, t)
    best, separated = verdict(best, objective, objective.m0, kind, solve=solve)
    complain(best, separated)
    return Fit.of(best, separated, objective.alpha, weights)


def own(value):
    """value -> a copy of it; a number or None is left as it is."""
    return value if np.ndim(value) == 0 else np.array(value, float)


def problem(Phi, t, alpha, m0, weights, likelihood=LOGISTIC):
    """E(w) + 1/2 (w - m0)^T A (w - m0) as a fit descends on it, and t."""
    validate.fitted(likelihood, Likelihood, name="likelihood")
    Phi, t, weights = validate.two_classes(Phi, t, weights)
    M = Phi.shape[1]
    alpha = validate.precisions(alpha, M)
    m0 = validate.vector_or_zeros("m0", m0, M, "column")
    if not alpha.all():
        validate.both_classes(t, weights)
    return descent.Objective(Phi, likelihood.loss(t), weights, alpha, m0), t


def curvature(fit, Phi):
    """H(w) + A of a fit, its weights included, from its Phi."""
    fit = _of_logistic(validate.fitted(fit, Fit))
    w, Phi = validate.prediction(fit, Phi)
    r = sigmoid_prime(Phi @ w)
    if fit.weights is not None:
        r = r * validate.observation_weights(fit.weights, len(r))
    return Phi.T @ (r[:, None] * Phi) + np.diag(fit.alpha)


def standard_errors(fit, Phi):
    """Square roots of the diagonal of H^{-1}, the curvature as a variance."""
    w, _ = validate.prediction(fit, Phi)
    return np.sqrt(log_odds_variance(fit, Phi, np.eye(len(w))))


def log_odds_variance(fit, Phi, new):
    """phi^T H^{-1} phi of new rows phi: the variance of their a, PRML (4.150).

    H is that of the fit, from its Phi.
    """
    _, new = validate.prediction(validate.at_minimum(fit), new)
    half = descent.variance_root(curvature(fit, Phi)) @ new.T
    return np.sum(half**2, axis=0)


def perceptron_error(w, Phi, t):
    """sum_n max(0, -s_n w^T phi_n), PRML (4.54): the slope of E at infinity."""
    t = validate.binary_targets(t, len(Phi))
    a = validate.activations(w, Phi)
    return np.maximum(0, (1 - 2 * t) * a).sum()


# Learning from one observation at a time.


@dataclass(frozen=True, eq=False)
class SequentialFit(Result):
    """Where a sequential run ended, and the way it took.

    w          (M,)        last weights
    average    (M,)        mean over the second half of the path
    path       (P + 1, M)  every thin-th iterate, the start first
    trace                  E(w) at the start and after every N updates
    converged              max |grad E(w)| <= tol sum of weights, at the end,
                           and nothing separates the classes
    """

    w: np.ndarray
    average: np.ndarray
    path: np.ndarray
    trace: tuple[float, ...]
    converged: bool


def constant_rate(eta):
    """eta_k = eta."""
    eta = validate.not_negative("eta", eta)
    return lambda k: eta


def power_rate(c, k0=0.0, power=1.0):
    """eta_k = c / (k0 + k)^power: sum = inf, sum of squares < inf if
    1/2 < power <= 1, Robbins and Monro (1951)."""
    given = {"c": c, "k0": k0, "power": power}
    c, k0, power = (validate.not_negative(*v) for v in given.items())
    return lambda k: c / (k0 + k) ** power


def _drawn(rng, rate):
    """Or a ValueError: rows come from a Generator, eta_k from a function."""
    validate.fitted(rng, np.random.Generator, name="rng")
    if not callable(rate):
        raise ValueError(
            "rate must be a function of k = 1, 2, ..., as constant_rate(0.1) "
            f"is; got {rate!r}"
        )


def _updates(rng, rate, tol, epochs, thin):
    """tol > 0, and two whole numbers."""
    _drawn(rng, rate)
    epochs = validate.whole("epochs", epochs)
    return validate.positive("tol", tol), epochs, validate.whole("thin", thin)


def fit_sequential(
    Phi, t, *, rate, epochs, rng, w0=None, weights=None, thin=1, tol=1e-3
):
    """w <- w - eta_k (y_n - t_n) phi_n, PRML (3.22), (4.91), n at random.

    `rate(k)` is eta_k for k = 1, 2, ..., epochs N; rows are drawn with
    replacement, so that every step is unbiased for grad E / N.
    """
    E, t = problem(Phi, t, 0.0, None, weights)
    tol, epochs, thin = _updates(rng, rate, tol, epochs, thin)
    w, N = validate.vector_or_zeros("w0", w0, len(E.m0), "column"), len(t)
    c = np.ones(N) if weights is None else E.weights
    path, trace = [w], [E(w, order=1)[0]]
    for k, n in enumerate(rng.integers(N, size=epochs * N), start=1):
        y = 0.5 + 0.5 * tanh(0.5 * (E.Phi[n] @ w))  # sigma, quick for one
        w = w - rate(k) * c[n] * (y - t[n]) * E.Phi[n]
        if k % thin == 0:
            path.append(w)
        if k % N == 0:
            trace.append(E(w, order=1)[0])
    average = np.mean(path[len(path) // 2 :], axis=0)
    slope = np.abs(E(w, order=1)[1]).max() / c.sum()
    kind = separation(E.Phi, t).kind if slope <= tol else None
    if kind is None:
        said = f"after {epochs * N} updates max |grad E| / N is {slope:.1e}"
        warnings.warn(said, NotConverged, stacklevel=2)
    elif kind != "none":
        complain(None, kind)
    ended = kind == "none"
    return SequentialFit(w, average, np.array(path), tuple(trace), ended)


def sequential_runs(Phi, t, *, rate, steps, runs, rng, w0=None):
    """w <- w - eta_k (y_n - t_n) phi_n for many walkers at once; (runs, M)."""
    _drawn(rng, rate)
    Phi = validate.design(Phi)
    t, M = validate.binary_targets(t, len(Phi)), Phi.shape[1]
    runs, steps = validate.whole("runs", runs), validate.whole("steps", steps)
    w = validate.vector_or_zeros("w0", w0, M, "column") + np.zeros((runs, M))
    for k in range(1, steps + 1):
        n = rng.integers(len(Phi), size=runs)
        phi = Phi[n]
        y = sigmoid(np.einsum("rm,rm->r", phi, w))
        w -= (rate(k) * (y - t[n]))[:, None] * phi
    return w


def gradient_noise(w, Phi, t):
    """V = mean of g_n g_n^T - g g^T, g_n = (y_n - t_n) phi_n, g their mean."""
    t = validate.binary_targets(t, len(Phi))
    y = sigmoid(validate.activations(w, Phi))
    g = (y - t)[:, None] * Phi
    return g.T @ g / len(g) - np.outer(g.mean(axis=0), g.mean(axis=0))


def noise_floor(H, V, rate):
    """C = (I - eta H) C (I - eta H) + eta^2 V: the spread of w that stays.

    In the eigenvectors of H: C_ij = eta V_ij / (h_i + h_j - eta h_i h_j).
    """
    H = validate.symmetric("H", H, [np.shape(V)])
    V = validate.symmetric("V", V, [H.shape])
    rate, (h, U) = validate.positive("rate", rate), np.linalg.eigh(H)
    if not h[0] > 1e-14 * h[-1]:
        raise ValueError(
            "H must be positive definite, or w wanders off where nothing "
            f"pulls it back; got the eigenvalue {h[0]:.3g}"
        )
    if rate * h[-1] >= 2:
        raise ValueError(
            f"rate must be below 2 / {h[-1]:.3g}, or w diverges; got {rate}"
        )
    C = rate * (U.T @ V @ U) / (h + h[:, None] - rate * np.outer(h, h))
    return U @ C @ U.T
