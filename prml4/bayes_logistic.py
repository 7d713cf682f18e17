"""Bayesian logistic regression, PRML 4.5.

    Phi     (N, M)  design matrix       t       (N,)    targets in {0, 1}
    m0      (M,)    prior mean          S0      (M, M)  prior covariance
    alpha   (M,)    prior precisions, S0 = diag(1 / alpha); one serves all
    q       Laplace posterior N(w_MAP, S_N), S_N^{-1} = q.precision
    mu, s2  (N,)    mean and variance of the activation a = w^T phi under q

A scheme is a function (mu, s2) -> p(C_1): `averages` has the choice. With
the likelihood PROBIT the scheme `averages.exact_probit` is exact.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError, cholesky, inv

from prml4 import averages, laplace, logistic, newton, softmax, validate
from prml4.likelihoods import LOGISTIC

PATIENCE = 2000  # Newton steps where a vague prior leaves w far away
ROWS = 2**13  # worked on at once


@dataclass(frozen=True, eq=False)
class Prior:
    """w ~ N(m0, S0), by its precision."""

    m0: np.ndarray  # (M,)
    precision: np.ndarray  # (M,) if diagonal, else (M, M): the inverse of S0
    log_det: float  # ln |S0^{-1}|

    def log_density(self, w):
        """ln N(w | m0, S0) of each row of w (..., M), PRML (2.43)."""
        d = np.asarray(w, float) - self.m0
        full = self.precision.ndim == 2
        pull = d @ self.precision if full else d * self.precision
        return 0.5 * (
            self.log_det
            - len(self.m0) * np.log(2 * np.pi)
            - np.sum(d * pull, axis=-1)
        )


def prior(M, *, S0=None, alpha=None, m0=None):
    """p(w) = N(w | m0, S0), PRML (4.140); S0, or alpha for diag(1 / alpha)."""
    if (S0 is None) == (alpha is None):
        raise ValueError("give the prior covariance S0 or precisions alpha")
    m0 = validate.vector_or_zeros("m0", m0, M, "column")
    if S0 is not None:
        return Prior(m0, *_inverse(S0, M))
    alpha = validate.precisions(alpha, M)
    if not alpha.all():
        raise ValueError("alpha must be > 0: a prior that is none is improper")
    return Prior(m0, alpha, float(np.log(alpha).sum()))


def _inverse(S0, M):
    """S0^{-1} and its log determinant; S0 symmetric, positive definite."""
    S0 = validate.symmetric("S0", S0, [(M, M)])
    scale = np.sqrt(np.diag(S0).clip(0))
    try:
        root = inv(cholesky(S0 / np.outer(scale, scale) if scale.all() else S0))
    except LinAlgError:
        low = np.linalg.eigvalsh(S0)[0]
        raise ValueError(
            f"S0 must be positive definite; its "
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


def log_likelihood(w, Phi, t, likelihood=LOGISTIC, weights=None):
    """ln p(t|w) = sum_n ln p(t_n|w^T phi_n) of each row of w (..., M)."""
    a = np.asarray(w) @ np.asarray(Phi).T
    terms = likelihood.log_p(a, np.asarray(t), 1)[0]
    return (terms if weights is None else terms * weights).sum(axis=-1)


def log_joint(w, Phi, t, prior, likelihood=LOGISTIC, weights=None):
    """ln p(t|w) + ln p(w) of each row of w (..., M), PRML (4.142)."""
    fit = log_likelihood(w, Phi, t, likelihood, weights)
    return fit + prior.log_density(w)


def cost(likelihood, t):
    """(a, rows) -> -ln p(t_n|a) and two derivatives, for newton.row_pass."""
    if likelihood is LOGISTIC:
        return logistic.cross_entropy(t)
    return lambda a, rows: [-x for x in likelihood.log_p(a, t[rows], 2)]


def fit(
    Phi,
    t,
    *,
    S0=None,
    alpha=None,
    m0=None,
    weights=None,
    likelihood=LOGISTIC,
):
    """q(w) = N(w | w_MAP, S_N), S_N^{-1} = S0^{-1} + H(w_MAP), PRML (4.143).

    Also without rows: then the prior comes back, and the evidence is 1.
    """
    Phi, t, weights = _rows(Phi, t, weights)
    p = prior(Phi.shape[1], S0=S0, alpha=alpha, m0=m0)
    objective = newton.Objective(
        Phi, cost(likelihood, t), weights, p.precision, p.m0
    )
    best = _start(objective) if not len(t) else _search(objective)
    return gaussian(objective, best, p.log_det)


def _rows(Phi, t, weights):
    """Two classes as in `validate`, but N = 0 is allowed."""
    if np.ndim(Phi) == 2 and len(Phi) == 0 < np.shape(Phi)[1]:
        if np.shape(t) != (0,):
            raise ValueError(
                f"t must have shape (0,), one per row; got {np.shape(t)}"
            )
        return validate.real("Phi", Phi), np.zeros(0), None
    return validate.two_classes(Phi, t, weights)


def _search(objective):
    """The minimum, also where a vague prior leaves E too flat to show it:
    Newton's method goes on until a step moves no a_n any more.
    """
    best = newton.descend(objective)
    if best.H is None:
        return best
    w, (E, g, H) = best.w, objective(best.w)
    for _ in range(PATIENCE):
        step, _ = newton.newton_step(g, H)
        if newton.farthest_move(objective, step) < newton.MOVES / 1e6:
            return newton.Minimum(w, H, E, g, True, (*best.trace, E))
        w = w - step
        E, g, H = objective(w)
    return replace(best, converged=False)


def _start(objective):
    """Where there are no data the prior's mean is the mode."""
    E, g, H = objective(objective.m0)
    return newton.Minimum(objective.m0, H, E, g, True, (E,))


def gaussian(objective, best, log_det):
    """q = N(w*, A^{-1}), A = H(w*) + S0^{-1}, PRML (4.144); else a warning."""
    if not best.converged:
        warnings.warn(
            f"stopped after {len(best.trace) - 1} steps with a gradient "
            f"component of {np.abs(best.gradient).max():.1e}",
            newton.NotConverged,
            stacklevel=3,
        )
    A = objective(best.w)[2] if best.H is None else best.H
    M = len(best.w)
    shift = 0.5 * (log_det - M * np.log(2 * np.pi))
    return laplace.at_mode(
        best.w,
        shift - best.error,
        A,
        gradient=-best.gradient,
        converged=best.converged,
        trace=[shift - E for E in best.trace],
    )


# The predictive distribution.


def activation(Phi, q):
    """mu = Phi w_MAP, s2_n = phi_n^T S_N phi_n, PRML (4.149), (4.150)."""
    Phi = validate.design(Phi)
    if Phi.shape[1] != len(q.mode):
        raise ValueError(
            f"Phi must have {len(q.mode)} columns, one per weight; got shape "
            f"{Phi.shape}"
        )
    U = inv(q.cholesky).T
    s2 = np.empty(len(Phi))
    for k in range(0, len(Phi), ROWS):
        half = Phi[k : k + ROWS] @ U
        s2[k : k + ROWS] = np.einsum("nm,nm->n", half, half)
    return Phi @ q.mode, s2


def predict_proba(Phi, q, scheme=averages.quadrature):
    """p(C_1|phi) ~= int sigma(a) N(a | mu, s2) da, PRML (4.151)."""
    return scheme(*activation(Phi, q))


# More than two classes.


def fit_softmax(Phi, t, *, alpha):
    """q(v) for v_k = w_k - w_K, k < K, every w_k ~ N(0, diag(1 / alpha)).

    v (K - 1, M) is all that the data see. Its prior precision is
    (I - 1/K) (x) diag(alpha), PRML (4.104).
    """
    found = softmax.fit(Phi, t, alpha=alpha)
    K, M = found.W.shape
    p = prior(M, alpha=alpha)
    log_det = (K - 1) * p.log_det - M * np.log(K)
    shift = 0.5 * (log_det - (K - 1) * M * np.log(2 * np.pi))
    return laplace.at_mode(
        (found.W[:-1] - found.W[-1]).ravel(),
        shift - found.error,
        found.H,
        gradient=-found.gradient.ravel(),
        converged=found.converged,
        trace=[shift - E for E in found.trace],
    )


def softmax_activation(Phi, q):
    """mu_nk = v_k^T phi_n, C_njk = phi_n^T S_jk phi_n: (N, K-1) and (.., K-1).

    Activations relative to the last class, whose own is 0.
    """
    Phi = validate.design(Phi)
    N, M = Phi.shape
    if len(q.mode) % M:
        raise ValueError(
            f"Phi must have as many columns as each of the weight vectors; "
            f"{M} do not divide {len(q.mode)}"
        )
    V = q.mode.reshape(-1, M)
    roots = inv(q.cholesky).T.reshape(len(V), M, -1)
    half = np.einsum("nm,kmj->nkj", Phi, roots, optimize=True)
    return Phi @ V.T, half @ half.transpose(0, 2, 1)


def predict_softmax(Phi, q, scheme=averages.softmax_grid):
    """p(C_k|phi) ~= int softmax(a)_k N(a | mu, C) da, (N, K)."""
    return scheme(*softmax_activation(Phi, q))
