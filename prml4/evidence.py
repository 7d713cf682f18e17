"""Model comparison: evidence, Occam factor, BIC and AIC, PRML 4.4.1.

    Phi      (N, M)  design matrix, one column per parameter
    t        (N,)    targets in {0, 1}; real numbers in `linear_evidence`
    w        (M,)    parameters; W (S, M) many of them, one per row
    alpha    (M,)    prior precisions > 0 (one number serves all)
    m0       (M,)    prior mean, None for zero
    weights  (N,)    how often each observation counts, None for once
    A        (M, M)  precision at the mode, -grad grad ln p(t|w) p(w)

All scores are on PRML's scale, natural logarithms of which the larger is the
better; most programs report minus twice ours.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from prml4 import dense, laplace, logistic, validate
from prml4.estimate import Estimate
from prml4.laplace import Laplace
from prml4.special import log_sigmoid, logsumexp

BLOCK = 2**22  # log odds formed at once


# The evidence and its parts.


@dataclass(frozen=True, eq=False)
class Evidence:
    """Laplace's approximation to ln p(t), term by term, PRML (4.137)."""

    posterior: Laplace  # the Gaussian at the mode of p(t|w) p(w)
    log_likelihood: float  # ln p(t|w_MAP)
    log_prior: float  # ln p(w_MAP)
    N: float  # number of observations, the sum of their weights

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
    d = np.asarray(w, float) - (0.0 if m0 is None else np.asarray(m0))
    alpha = np.asarray(alpha, float)
    return 0.5 * np.sum(np.log(alpha / (2 * np.pi)) - alpha * d**2, axis=-1)


def logistic_evidence(Phi, t, *, alpha, m0=None, weights=None):
    """ln p(t) = -E(w) + ln N(w|m0, A0^{-1}) + M/2 ln 2 pi - 1/2 ln|H + A0|.

    At w = w_MAP; A0 = diag(alpha), E and H of logistic regression.
    """
    Phi, t, weights = validate.two_classes(Phi, t, weights)
    alpha = _proper(alpha, Phi.shape[1])
    fit = logistic.fit(Phi, t, alpha=alpha, m0=m0, weights=weights)
    L = -logistic.error(fit.w, Phi, t, weights)
    prior = float(log_gaussian(fit.w, alpha, m0))
    posterior = laplace.at_mode(fit.w, L + prior, fit.H)
    N = len(Phi) if weights is None else float(weights.sum())
    return Evidence(posterior, L, prior, N)


def linear_evidence(Phi, t, *, alpha, beta):
    """ln N(t|0, I / beta + Phi A0^{-1} Phi^T): Laplace is exact, PRML (3.86).

    Regression with noise of known precision beta, prior mean 0.
    """
    Phi = validate.design(Phi)
    N, M = Phi.shape
    t = validate.vector("t", t, N, "row")
    alpha = _proper(alpha, M)
    beta = validate.positive("beta", beta)
    A = np.diag(alpha) + beta * Phi.T @ Phi
    w = np.linalg.solve(A, beta * Phi.T @ t)
    L = float(log_gaussian(t - Phi @ w, beta))
    prior = float(log_gaussian(w, alpha))
    return Evidence(laplace.at_mode(w, L + prior, A), L, prior, N)


def _proper(alpha, M):
    """Prior precisions (M,) > 0: an improper prior leaves no evidence."""
    alpha = validate.precisions(alpha, M)
    if not np.all(alpha > 0):
        raise ValueError(
            "alpha must be > 0: under an improper prior the evidence is not "
            f"defined; got {alpha.min():g}"
        )
    return alpha


# Its true value, by brute force in one to three dimensions.


def log_joint(W, Phi, t, *, alpha, m0=None, weights=None):
    """ln p(t|w) p(w) = sum_n c_n ln sigma(s_n w^T phi_n) + ln p(w), (S,)."""
    W, Phi = np.atleast_2d(validate.real("W", W)), validate.design(Phi)
    alpha = _proper(alpha, Phi.shape[1])
    sign = 2.0 * validate.binary_targets(t, len(Phi)) - 1.0
    c = np.ones(len(Phi)) if weights is None else np.asarray(weights)
    L = np.empty(len(W))
    size = max(BLOCK // len(Phi), 1)
    for start in range(0, len(W), size):
        rows = slice(start, start + size)
        L[rows] = log_sigmoid(sign * (W[rows] @ Phi.T)) @ c
    return L + log_gaussian(W, alpha, m0)


def brute_force(Phi, t, *, alpha, m0=None, weights=None, **tol):
    """ln p(t) = ln int p(t|w) p(w) dw on a grid, for one to three columns.

    The error is the change when the step was last halved, see `dense`.
    """
    prior = {"alpha": alpha, "m0": m0, "weights": weights}
    q = logistic_evidence(Phi, t, **prior).posterior
    truth = dense.integrate(lambda W: log_joint(W, Phi, t, **prior), q, **tol)
    return Estimate(truth.log_evidence, truth.error)


# And by sampling, in any number of dimensions.


def importance(log_f, posterior, rng, n, *, nu=7):
    """ln f(w_s) - ln q(w_s), w_s ~ q, so that E_q[f / q] = Z: (n,).

    q is Student's t with nu degrees of freedom, its scale and place those of
    the Laplace fit: its tails are longer than a Gaussian's.
    """
    L, M = posterior.cholesky, len(posterior.mode)
    g = rng.chisquare(nu, size=n) / nu
    u = rng.standard_normal((n, M)) / np.sqrt(g)[:, None]
    log_q = np.log(np.diag(L)).sum() - 0.5 * M * np.log(nu * np.pi)
    log_q += gammaln((nu + M) / 2) - gammaln(nu / 2)
    log_q = log_q - (nu + M) / 2 * np.log1p(np.sum(u**2, axis=1) / nu)
    return log_f(posterior.mode + np.linalg.solve(L.T, u.T).T) - log_q


def sample(Phi, t, rng, n, *, alpha, m0=None, weights=None):
    """ln p(t) = ln{1/n sum_s f(w_s) / q(w_s)} with its standard error."""
    if n < 2:
        raise ValueError(f"n must be >= 2 for a standard error; got {n}")
    prior = {"alpha": alpha, "m0": m0, "weights": weights}
    q = logistic_evidence(Phi, t, **prior).posterior
    ratios = importance(lambda W: log_joint(W, Phi, t, **prior), q, rng, n)
    shift = ratios.max()
    share = np.exp(ratios - shift)
    error = share.std(ddof=1) / share.mean() / np.sqrt(n)
    return Estimate(shift + np.log(share.mean()), error)


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
    L = validate.real("log_likelihood", log_likelihood)
    M = validate.real("M", M)
    if not np.all(M >= 0):
        raise ValueError(f"M must be >= 0 parameters; got {M}")
    return validate.finite("log_likelihood", L) - price * M


@dataclass(frozen=True, eq=False)
class Dropped:
    """What BIC leaves out: four terms that sum to ln p(D) - BIC, by Laplace."""

    fit: float  # ln p(D|w_MAP) - ln p(D|w_ML) <= 0, O(1/N)
    prior: float  # ln p(w_MAP), O(1)
    constant: float  # M/2 ln 2 pi, O(1)
    information: float  # -1/2 ln|A / N|, O(1)

    @property
    def total(self):
        """fit + prior + constant + information: O(1), it does not vanish."""
        return self.fit + self.prior + self.constant + self.information


def dropped(evidence, log_likelihood):
    """ln p(D) - BIC = fit + prior + M/2 ln 2 pi - 1/2 ln|A/N|, PRML (4.139).

    `log_likelihood` is ln p(D|w_ML).
    """
    M = len(evidence.posterior.mode)
    constant = 0.5 * M * np.log(2 * np.pi)
    return Dropped(
        fit=evidence.log_likelihood - log_likelihood,
        prior=evidence.log_prior,
        constant=constant,
        information=evidence.log_volume
        - constant
        + 0.5 * M * np.log(evidence.N),
    )


@dataclass(frozen=True, eq=False)
class Scores:
    """What each of J models gets, the larger the better."""

    M: np.ndarray  # (J,) numbers of parameters
    log_likelihood: np.ndarray  # (J,) ln p(t|w_ML)
    bic: np.ndarray  # (J,)
    aic: np.ndarray  # (J,)
    log_evidence: np.ndarray  # (J,) Laplace's
    log_occam: np.ndarray  # (J,) its last three terms


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
        M=M,
        log_likelihood=L,
        bic=bic(L, M, len(t)),
        aic=aic(L, M),
        log_evidence=np.array([e.log_evidence for e in found]),
        log_occam=np.array([e.log_occam for e in found]),
    )
