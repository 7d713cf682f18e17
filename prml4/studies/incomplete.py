"""Rows with a feature or the class missing, Gaussian classes, PRML 9.2.

X, t      (N, D), (N,)  inputs with class numbers 0, ..., K - 1
U         (m, D)  inputs whose class is not known
observed  (N, D)  True where a feature is known; the others are integrated out
r         (N + m, K)  responsibilities: 0 or 1 where the class is known
"""

import warnings
from dataclasses import dataclass

import numpy as np

from prml4 import gaussian
from prml4.models import covariance
from prml4.numerics import validate
from prml4.numerics.newton import NotConverged
from prml4.numerics.result import Result
from prml4.numerics.special import logsumexp

# Missing features.


def predict_observed(model, X, observed):
    """p(C_k|x_O) with p(x_O|C_k) = N(x_O|mu_kO, Sigma_kOO), PRML (2.98);
    (N, K). What is not observed may be NaN."""
    validate.fitted(model, gaussian.GaussianModel, name="model")
    X = validate.width(X, model.mu.shape[1], "X")
    observed = validate.mask(observed, X.shape)
    if observed is None:
        return gaussian.predict_proba(model, X)
    P = np.tile(model.pi, (len(X), 1))
    for seen in np.unique(observed, axis=0):
        rows = (observed == seen).all(axis=1)
        if seen.any():
            Sigma = model.Sigma[..., seen, :][..., seen]
            part = gaussian.model(model.pi, model.mu[:, seen], Sigma)
            P[rows] = gaussian.predict_proba(part, X[rows][:, seen])
    return P


# Missing labels.


@dataclass(frozen=True, eq=False)
class EMFit(Result):
    """The model where EM stopped, and the way it took.

    model            gaussian.GaussianModel
    converged        whether the last step gained next to nothing
    trace      (S,)  ln p(X, t, U) before every step and at the end
    """

    model: gaussian.GaussianModel
    converged: bool
    trace: tuple[float, ...]


def log_likelihood(model, X, t, U):
    """sum_n ln p(x_n, C_{t_n}) + sum_m ln sum_k p(u_m, C_k), PRML (9.14)."""
    known = gaussian.log_likelihood(model, X, t)
    return known + float(logsumexp(gaussian.log_joint(model, U), 1).sum())


def em_step(model, X, t, U):
    """r_nk = p(C_k|x_n), then n_k = sum_n r_nk and pi, mu, Sigma weighted by
    them, PRML (9.23)-(9.26); r_nk is 0 or 1 where the class is known."""
    validate.fitted(model, gaussian.GaussianModel, name="model")
    X = validate.design(X, "X")
    U = validate.columns(U, len(model.mu[0]), "U")
    K = len(model.pi)
    known = np.eye(K)[validate.labels(t, len(X), K)]
    R = np.vstack([known, gaussian.predict_proba(model, U)])
    Z, n = np.vstack([X, U]), R.sum(axis=0)
    if n.min() < np.finfo(float).tiny:
        raise ValueError(
            "each class must keep some of the rows; all of them have "
            f"p(C_{n.argmin()}|x) = 0"
        )
    mu = R.T @ Z / n[:, None]
    S = [(R[:, [k]] * (Z - m)).T @ (Z - m) for k, m in enumerate(mu)]
    Sigma = np.sum(S, axis=0) / len(Z) if model.shared else S / n[:, None, None]
    return gaussian.model(n / len(Z), mu, Sigma)


def fit_em(X, t, U, *, start=None, tol=1e-9, max_iter=1000):
    """argmax of `log_likelihood` by EM, Dempster, Laird and Rubin (1977).

    It starts from fit_lda(X, t), or from a model (shared Sigma or not), some of
    whose classes t may lack, and stops when a step gains less than tol per row.
    """
    X = validate.design(X, "X")
    U = validate.columns(U, X.shape[1], "U")
    tol, max_iter = validate.stopping(tol, max_iter).values()
    model = gaussian.fit_lda(X, t) if start is None else start
    trace = [log_likelihood(model, X, t, U)]
    for _ in range(max_iter):
        model = em_step(model, X, t, U)
        covariance.estimated(model.Sigma, model.mu)  # no width of rounding
        trace.append(log_likelihood(model, X, t, U))
        if trace[-1] - trace[-2] <= tol * (len(X) + len(U)):
            return EMFit(model, True, tuple(trace))
    warnings.warn(
        f"EM still gained {trace[-1] - trace[-2]:.1e} in step {max_iter}",
        NotConverged,
        stacklevel=2,
    )
    return EMFit(model, False, tuple(trace))
