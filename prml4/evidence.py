"""Model comparison: evidence, Occam factor, BIC and AIC, PRML 4.4.1.

    Phi      (N, M)  design matrix, one column per parameter
    t        (N,)    targets in {0, 1}; real numbers in `linear_evidence`
    w        (M,)    parameters, or many of them, one per row (S, M)
    alpha    (M,)    prior precisions > 0 (one number serves all)
    m0       (M,)    prior mean, None for zero
    weights  (N,)    how often each observation counts, None for once
    A        (M, M)  precision at the mode, -grad grad ln p(t|w) p(w)

All scores are on PRML's scale, natural logarithms of which the larger is the
better; most programs report minus twice ours.
"""

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.linalg import LinAlgError

from prml4 import laplace, logistic
from prml4.laplace import Laplace
from prml4.models import covariance
from prml4.models.likelihoods import LOGISTIC, Likelihood
from prml4.numerics import cubature, descent, newton, sampling, validate
from prml4.numerics.result import Result
from prml4.numerics.special import logsumexp
from prml4.referee.estimate import Estimate

STILL = 1e-7  # a step by which the log odds move no more
GAIN = 1e-6  # and the decrement of one by which weights without data do not
IDLE = 20  # steps after which a decrement that has not fallen is rounding

# The evidence and its parts.


@dataclass(frozen=True, eq=False)
class Evidence(Result):
    """Laplace's approximation to ln p(t), term by term, PRML (4.137).

    posterior       the Gaussian at the mode of p(t|w) p(w)
    log_likelihood  ln p(t|w_MAP)
    log_prior       ln p(w_MAP)
    N               number of observations, the sum of their weights
    """

    posterior: Laplace
    log_likelihood: float
    log_prior: float
    N: float

    @property
    def log_evidence(self):
        """ln p(t) = ln p(t|w) + ln p(w) + M/2 ln 2 pi - 1/2 ln|A|."""
        return self.log_likelihood + self.log_occam

    @property
    def log_volume(self):
        """M/2 ln 2 pi - 1/2 ln|A|: how much room the posterior takes."""
        return log_volume(self.posterior.precision)

    @property
    def log_occam(self):
        """ln p(w_MAP) + M/2 ln 2 pi - 1/2 ln|A|, the last three terms."""
        return self.log_prior + self.log_volume


def log_volume(A):
    """M/2 ln 2 pi - 1/2 ln|A| = ln int exp(-z^T A z / 2) dz, PRML (4.135)."""
    A = validate.matrix(A, "A")
    return laplace.at_mode(np.zeros(len(A)), 0.0, A).log_evidence


def log_gaussian(w, alpha, m0=None):
    """ln N(w|m0, diag(alpha)^{-1}), PRML (4.140); w (M,) or (S, M)."""
    w, alpha = validate.real("w", w), validate.real("alpha", alpha)
    m0 = 0.0 if m0 is None else validate.finite("m0", validate.real("m0", m0))
    d, alpha = validate.held(w, alpha, m0)
    alpha = validate.precisions(alpha, d.shape[-1], proper=True)
    return covariance.log_gaussian(np.sqrt(alpha) * d, -np.log(alpha).sum() / 2)


def logistic_evidence(Phi, t, *, alpha, m0=None, weights=None):
    """ln p(t) = -E(w) + ln N(w|m0, A0^{-1}) + M/2 ln 2 pi - 1/2 ln|H + A0|.

    At w = w_MAP; A0 = diag(alpha), E and H of logistic regression.
    """
    Phi, t, c = validate.two_classes(Phi, t, weights)
    alpha = validate.precisions(alpha, Phi.shape[1], proper=True)
    m0 = validate.vector_or_zeros("m0", m0, len(alpha), "column")
    best = find_mode(descent.Objective(Phi, LOGISTIC.loss(t), c, alpha, m0))
    L = 0.5 * float(alpha @ (best.w - m0) ** 2) - best.error
    prior = float(log_gaussian(best.w, alpha, m0))
    q = laplace.at_minimum(best, L + prior + best.error)
    return Evidence(q, L, prior, len(Phi) if c is None else float(c.sum()))


def find_mode(objective, *, tol=newton.ROUNDING, max_iter=2000):
    """w_MAP = argmin E and H there, E = -ln p(t, w) + const.; or a warning."""
    best = descent.descend(objective, objective.m0, tol=tol, max_iter=max_iter)
    return settle(objective, best, max_iter)


@np.errstate(over="ignore", invalid="ignore")  # or it does not settle
def settle(objective, best, max_iter=2000):
    """w <- w - H^{-1} g from `best`, until a step moves no a_n any more.

    A vague prior may leave E too flat to show where w_MAP is, but not ln|H|.
    """
    w, E, g, H = best.w, best.error, best.gradient, best.H
    settled, trace, gains = not len(objective.Phi), best.trace, []
    if H is None:
        (E, g, H), settled = objective(w), best.converged
    while not settled:
        try:
            step, gain = newton.newton_step(g, H)
        except LinAlgError:
            break
        small = gain <= GAIN * np.sqrt(1 + abs(E))
        settled = small and descent.farthest_move(objective, step) < STILL
        gains.append(gain)
        idle = len(gains) > IDLE and gain >= gains[-IDLE - 1]
        if settled or idle or len(trace) > max_iter:
            break
        w = w - step
        E, g, H = objective(w)
        trace = (*trace, E)
    if not settled:
        said = f"stopped after {len(trace) - 1} steps with a gradient "
        said += f"component of {np.abs(g).max():.1e}"
        warnings.warn(said, newton.NotConverged, stacklevel=4)
    return newton.Minimum(w, H, E, g, bool(settled), trace)


def linear_evidence(Phi, t, *, alpha, noise):
    """ln N(t|0, noise I + Phi A0^{-1} Phi^T): Laplace is exact, PRML (3.86).

    Regression with noise of known variance 1 / beta, prior mean 0. A is formed:
    where its condition number is 1e12, ln|A| is good to about 1e-4.
    """
    Phi = validate.design(Phi)
    N, M = Phi.shape
    t = validate.vector("t", t, N, "row")
    alpha = validate.precisions(alpha, M, proper=True)
    beta = 1 / validate.positive("noise", noise)
    A = np.diag(alpha) + beta * Phi.T @ Phi
    log_volume(A)  # which refuses by name what is flat
    w, _ = newton.newton_step(beta * Phi.T @ t, A)
    L, prior = log_gaussian(t - Phi @ w, beta), log_gaussian(w, alpha)
    return Evidence(laplace.at_mode(w, L + prior, A), float(L), float(prior), N)


# Its true value, by brute force in one to three dimensions.


def log_likelihood(w, Phi, t, likelihood=LOGISTIC, weights=None):
    """ln p(t|w) = sum_n c_n ln p(t_n|w^T phi_n) of each row of w (..., M)."""
    Phi = validate.design(Phi)
    w = validate.arguments(w, Phi.shape[1])
    validate.fitted(likelihood, Likelihood, name="likelihood")
    t = validate.binary_targets(t, len(Phi))
    c = validate.observation_weights(weights, len(t))
    a = w @ Phi.T
    (terms,) = likelihood.log_p(a, t, 0)
    return (terms if c is None else terms * c).sum(axis=-1)


def log_joint(w, Phi, t, *, alpha, m0=None, weights=None):
    """ln p(t|w) + ln p(w) of each row of w (..., M), logistic, PRML (4.142)."""
    fit = log_likelihood(w, Phi, t, weights=weights)
    return fit + log_gaussian(w, alpha, m0)


def brute_force(Phi, t, *, alpha, m0=None, weights=None, tol=1e-11):
    """ln p(t) = ln int p(t|w) p(w) dw on a grid, for one to three columns.

    The error is the change when the step was last halved, see `cubature`.
    """
    prior = {"alpha": alpha, "m0": m0, "weights": weights}
    q = logistic_evidence(Phi, t, **prior).posterior
    log_f = partial(log_joint, Phi=Phi, t=t, **prior)
    truth = cubature.integrate(log_f, q, tol=tol)
    return Estimate(truth.log_evidence, truth.error)


def sample(rng, n, Phi, t, *, alpha, m0=None, weights=None):
    """ln p(t) = ln{1/n sum_s f(w_s) / q(w_s)} with its standard error.

    By importance sampling about the Laplace fit, in any number of dimensions.
    """
    validate.fitted(rng, np.random.Generator, name="rng")
    n = validate.whole("n", n, 2)
    prior = {"alpha": alpha, "m0": m0, "weights": weights}
    q = logistic_evidence(Phi, t, **prior).posterior
    log_f = partial(log_joint, Phi=Phi, t=t, **prior)
    _, ratios = sampling.importance(rng, n, log_f, q.mode, q.axes)
    return sampling.log_mean(ratios)


# Scores.


def model_probabilities(log_evidence, prior=None):
    """p(M_i|D) = p(D|M_i) p(M_i) / sum_j p(D|M_j) p(M_j), PRML (3.66)."""
    L = validate.real("log_evidence", log_evidence)
    L = validate.vector("log_evidence", L, L.size, "model")
    if prior is not None:
        L = L + np.log(validate.probabilities("prior", prior, L.size))
    return np.exp(L - logsumexp(L))


def bic(log_likelihood, M, N):
    """ln p(D|w_ML) - M/2 ln N, PRML (4.139); Schwarz (1978)."""
    N = validate.positive("N", N)
    return _charged(log_likelihood, 0.5 * np.log(N), M)


def aic(log_likelihood, M):
    """ln p(D|w_ML) - M, PRML (1.73); Akaike (1974)."""
    return _charged(log_likelihood, 1.0, M)


def _charged(log_likelihood, price, M):
    """log_likelihood - price M, numbers or one per model."""
    M = validate.finite("M", validate.real("M", M))
    if not np.all(M >= 0):
        raise ValueError(f"M must be >= 0 parameters; got {M}")
    return _known(log_likelihood) - price * M


def _known(log_likelihood):
    """ln p(D|w_ML), finite."""
    L = validate.real("log_likelihood", log_likelihood)
    return validate.finite("log_likelihood", L)


@dataclass(frozen=True, eq=False)
class Dropped(Result):
    """What BIC leaves out: four terms that sum to ln p(D) - BIC, by Laplace.

    fit          ln p(D|w_MAP) - ln p(D|w_ML) <= 0, O(1/N)
    prior        ln p(w_MAP), O(1)
    constant     M/2 ln 2 pi, O(1)
    information  -1/2 ln|A / N|, O(1)
    """

    fit: float
    prior: float
    constant: float
    information: float

    @property
    def total(self):
        """fit + prior + constant + information: O(1), it does not vanish."""
        return self.fit + self.prior + self.constant + self.information


def dropped(evidence, log_likelihood):
    """ln p(D) - BIC = fit + prior + M/2 ln 2 pi - 1/2 ln|A/N|, PRML (4.139).

    `log_likelihood` is ln p(D|w_ML).
    """
    validate.fitted(evidence, Evidence, name="evidence")
    half = 0.5 * len(evidence.posterior.mode)
    constant = half * np.log(2 * np.pi)
    return Dropped(
        fit=evidence.log_likelihood - _known(log_likelihood),
        prior=evidence.log_prior,
        constant=constant,
        information=evidence.log_volume - constant + half * np.log(evidence.N),
    )


@dataclass(frozen=True, eq=False)
class Scores(Result):
    """What each of J models gets, the larger the better.

    M               (J,)  numbers of parameters
    log_likelihood  (J,)  ln p(t|w_ML)
    bic             (J,)  ln p(t|w_ML) - M/2 ln N
    aic             (J,)  ln p(t|w_ML) - M
    log_evidence    (J,)  Laplace's
    log_occam       (J,)  its last three terms
    """

    M: np.ndarray
    log_likelihood: np.ndarray
    bic: np.ndarray
    aic: np.ndarray
    log_evidence: np.ndarray
    log_occam: np.ndarray


def compare(designs, t, *, alpha):
    """ln p(t|w_ML), BIC, AIC and ln p(t) of logistic models, PRML (4.137-9).

    All columns have prior precision alpha, also the constant one.
    """
    designs = [validate.design(Phi) for Phi in designs]
    if not designs:
        raise ValueError("designs must hold at least one; got none")
    t = validate.binary_targets(t, len(designs[0]))
    M = np.array([Phi.shape[1] for Phi in designs])
    L = np.array([-logistic.fit(Phi, t).error for Phi in designs])
    found = [logistic_evidence(Phi, t, alpha=alpha) for Phi in designs]
    return Scores(
        M=M, log_likelihood=L, bic=bic(L, M, len(t)), aic=aic(L, M),
        log_evidence=np.array([e.log_evidence for e in found]),
        log_occam=np.array([e.log_occam for e in found]),
    )  # fmt: skip
