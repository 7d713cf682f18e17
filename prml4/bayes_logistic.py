"""Bayesian logistic regression, PRML 4.5.

    Phi     (N, M)  design matrix       t       (N,)    targets in {0, 1}
    m0      (M,)    prior mean          S0      (M, M)  prior covariance
    alpha   (M,)    prior precisions, S0 = diag(1 / alpha); one serves all
    q       Laplace posterior N(w_MAP, S_N), S_N^{-1} = q.precision
    mu, s2  (N,)    mean and variance of the activation a = w^T phi under q

A scheme is a function (mu, s2) -> p(C_1): `averages` has the choice. Without
one the average is that of the likelihood that q remembers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError, cholesky, inv

from prml4 import laplace, softmax
from prml4.evidence import find_mode, log_likelihood
from prml4.models import averages, covariance
from prml4.models.likelihoods import LOGISTIC, Likelihood
from prml4.numerics import descent, newton, validate
from prml4.numerics.result import Result

ROWS = 2**13  # worked on at once


@dataclass(frozen=True, eq=False)
class Prior(Result):
    """w ~ N(m0, S0), by its precision.

    m0         (M,)    mean
    precision  (M, M)  inverse of S0; its diagonal (M,) if that is all
    log_det            ln |S0^{-1}|
    """

    m0: np.ndarray
    precision: np.ndarray
    log_det: float

    def log_density(self, w):
        """ln N(w | m0, S0) of each row of w (..., M), PRML (2.43)."""
        m0, P = self.m0, self.precision
        d = validate.arguments(w, len(m0)) - m0
        z = d @ cholesky(P) if P.ndim == 2 else d * np.sqrt(P)
        return covariance.log_gaussian(z, -0.5 * self.log_det)


def prior(M, *, S0=None, alpha=1.0, m0=None):
    """p(w) = N(w | m0, S0), PRML (4.140); without S0 it is diag(1 / alpha)."""
    m0 = validate.vector_or_zeros("m0", m0, validate.whole("M", M), "column")
    if S0 is None:
        alpha = validate.precisions(alpha, M, proper=True)
        return Prior(m0, alpha, float(np.log(alpha).sum()))
    if not np.array_equal(alpha, 1.0):
        raise ValueError(
            f"S0 must come without alpha, which says the same; got alpha = "
            f"{alpha}"
        )
    return Prior(m0, *_inverse(S0, M))


def _inverse(S0, M):
    """S0^{-1} and its log determinant; S0 symmetric, positive definite."""
    S0 = validate.covariance("S0", S0, [(M, M)])
    scale = np.sqrt(np.diag(S0).clip(0))
    try:
        root = inv(cholesky(S0 / np.outer(scale, scale) if scale.all() else S0))
    except LinAlgError:
        low = np.linalg.eigvalsh(S0)[0]
        raise ValueError(
            "S0 must be positive definite; its "
            f"smallest eigenvalue is {low:.3g}"
        ) from None
    with np.errstate(over="ignore", divide="ignore"):
        root = root / scale
        P = root.T @ root
    if not P.max() < 1e150:
        raise ValueError(
            f"S0 must have an inverse below 1e150; got variances down to "
            f"{np.diag(S0).min():.3g}: the Hessian would overflow"
        )
    return P, float(2 * np.log(np.diag(root)).sum())


def log_joint(w, Phi, t, prior, likelihood=LOGISTIC, weights=None):
    """ln p(t|w) + ln p(w) of each row of w (..., M), PRML (4.142)."""
    validate.fitted(prior, Prior, name="prior")
    fit = log_likelihood(w, Phi, t, likelihood, weights)
    return fit + prior.log_density(w)


@dataclass(frozen=True, eq=False)
class Posterior(laplace.Laplace):
    """q(w) = N(w | w_MAP, S_N), PRML (4.144): `Laplace` of f = p(t, w) with

    likelihood            p(t|a)
    """

    likelihood: Likelihood


def fit(
    Phi, t, *, S0=None, alpha=1.0, m0=None, weights=None, likelihood=LOGISTIC,
    tol=newton.ROUNDING, max_iter=2000,
):  # fmt: skip
    """q(w) = N(w | w_MAP, S_N), S_N^{-1} = S0^{-1} + H(w_MAP), PRML (4.143).

    The prior is N(m0, S0), or N(m0, diag(1 / alpha)). Also without rows: then
    the prior comes back, and the evidence is 1.
    """
    Phi = validate.real("Phi", Phi)
    if Phi.ndim == 2 and len(Phi) == 0 < Phi.shape[1]:
        t, weights = validate.binary_targets(t, 0), None
    else:
        Phi, t, weights = validate.two_classes(Phi, t, weights)
    p = prior(Phi.shape[1], S0=S0, alpha=alpha, m0=m0)
    stop = validate.stopping(tol, max_iter)
    E = joint(Phi, t, weights, p, likelihood)
    best = find_mode(E, **stop)
    return gaussian(best, p.log_det, likelihood)


def joint(Phi, t, weights, prior, likelihood):
    """w -> -ln p(t, w) + const., what the search minimises."""
    validate.fitted(likelihood, Likelihood, name="likelihood")
    if likelihood.epsilon:
        raise ValueError(
            f"likelihood must be log-concave, or there may be several modes; "
            f"got {likelihood.name!r}"
        )
    terms = likelihood.loss(t)
    return descent.Objective(Phi, terms, weights, prior.precision, prior.m0)


def gaussian(best, log_det, likelihood):
    """q = N(w*, A^{-1}), A = H(w*) + S0^{-1}, PRML (4.144)."""
    shift = 0.5 * (log_det - len(best.w) * np.log(2 * np.pi))
    q = laplace.at_minimum(best, shift)
    return Posterior(**vars(q), likelihood=likelihood)


# The predictive distribution.


def activation(fit, Phi):
    """mu = Phi w_MAP, s2_n = phi_n^T S_N phi_n, PRML (4.149), (4.150)."""
    Phi = validate.columns(Phi, len(validate.fitted(fit, Posterior).mode))
    U = newton.forward(fit.cholesky).T
    s2 = np.empty(len(Phi))
    for k in range(0, len(Phi), ROWS):
        half = Phi[k : k + ROWS] @ U
        s2[k : k + ROWS] = np.einsum("nm,nm->n", half, half)
    return Phi @ fit.mode, s2


def predict_proba(fit, Phi, scheme=None):
    """p(t|phi) ~= int p(t|a) N(a | mu, s2) da, t = 0, 1: (N, 2), PRML (4.151).

    A scheme (mu, s2) -> p(C_1) may stand in; for LOGISTIC `quadrature` does.
    """
    mu, s2 = activation(fit, Phi)
    if scheme is None and fit.likelihood != LOGISTIC:
        return fit.likelihood.predictive(mu, s2)
    if scheme is None:  # the smaller one has digits of its own
        p = averages.quadrature(-np.abs(mu), s2)
        both = np.column_stack([1 - p, p])
        return np.where(mu[:, None] < 0, both, both[:, ::-1])
    y = scheme(mu, s2)
    return np.column_stack([1 - y, y])


def predict(fit, Phi, scheme=None):
    """argmax_k p(C_k|x_n), the class of greater probability, 0 or 1: (N,)."""
    return predict_proba(fit, Phi, scheme).argmax(axis=1)


# More than two classes.


@dataclass(frozen=True, eq=False)
class SoftmaxPosterior(laplace.Laplace):
    """q(v) of all v_k = w_k - w_K in one line: `Laplace` with

    M                     columns of Phi: numbers in each v_k
    """

    M: int


def fit_softmax(Phi, t, *, alpha=1.0):
    """q(v) for v_k = w_k - w_K, k < K, every w_k ~ N(0, diag(1 / alpha)).

    v (K - 1, M) is all that the data see. Its prior precision is
    (I - 1/K) (x) diag(alpha), PRML (4.104).
    """
    found = softmax.fit(Phi, t, alpha=alpha)
    K, M = found.W.shape
    log_det = (K - 1) * prior(M, alpha=alpha).log_det - M * np.log(K)
    best = newton.Minimum(
        (found.W[:-1] - found.W[-1]).ravel(), softmax.curvature(found, Phi),
        found.error, found.gradient.ravel(), found.converged, found.trace,
    )  # fmt: skip
    d = (K - 1) * M
    q = laplace.at_minimum(best, 0.5 * (log_det - d * np.log(2 * np.pi)))
    return SoftmaxPosterior(**vars(q), M=M)


def softmax_activation(fit, Phi):
    """mu_nk = v_k^T phi_n, C_njk = phi_n^T S_jk phi_n: (N, K-1) and (.., K-1).

    Activations relative to the last class, whose own is 0. A `Posterior` is
    one of two classes: its a, turned round, is relative to the second.
    """
    kinds = SoftmaxPosterior, Posterior
    M = getattr(validate.fitted(fit, *kinds), "M", len(fit.mode))
    said = getattr(fit, "likelihood", LOGISTIC)
    if said != LOGISTIC:
        raise ValueError(f"likelihood must be logistic; got {said.name!r}")
    Phi = validate.columns(Phi, M)
    sign = -1 if isinstance(fit, Posterior) else 1
    V = sign * fit.mode.reshape(-1, M)
    roots = newton.forward(fit.cholesky).T.reshape(len(V), M, -1)
    half = np.einsum("nm,kmj->nkj", Phi, roots, optimize=True)
    return Phi @ V.T, half @ half.transpose(0, 2, 1)


def predict_softmax(fit, Phi, scheme=averages.softmax):
    """p(C_k|phi) ~= int softmax(a)_k N(a | mu, C) da, (N, K)."""
    return scheme(*softmax_activation(fit, Phi))
