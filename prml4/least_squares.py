"""Regression on labels, and Fisher's discriminant, PRML 4.1.3-4.1.6.

    Phi    (N, M)  design matrix, usually with a column of ones
    t      (N,)    class numbers 0, ..., K - 1
    T      (N, K)  one-of-K targets; or (N,), one number per row
    W      (M, K)  weights of the outputs y(x) = W^T phi(x); (M,) for one output
    alpha  (M,)    penalties on the rows of W (one number serves all; 0 = none)
    X      (N, D)  inputs, without the column of ones
    S_W    (D, D)  scatter within the classes, S_B between them

Outputs are fitted by QR, without forming Phi^T Phi. Fisher's projections come
from the Cholesky factor of `gaussian.fit_lda`, which has S_W = N Sigma.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, qr, solve_triangular

from prml4 import gaussian
from prml4.numerics import validate
from prml4.numerics.newton import smallest_share
from prml4.numerics.result import Result

EPS = np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class LeastSquaresFit(Result):
    """The minimiser of the sum of squares, and the factor that found it.

    W      (M, K)  weights, or (M,) for one output
    R      (M, M)  upper triangular, R^T R = Phi^T Phi + diag(alpha)
    error          half the sum of squares at W, without the penalty
    """

    W: np.ndarray
    R: np.ndarray
    error: float


@dataclass(frozen=True, eq=False)
class FisherProjection(Result):
    """Directions along which the classes are far apart for their width.

    W       (D, D')  directions, W^T S_W W = N I; D' <= K - 1
    ratios  (D',)    scatter between over scatter within, decreasing
    mean    (D,)     of all rows
    """

    W: np.ndarray
    ratios: np.ndarray
    mean: np.ndarray


# Targets.


def one_hot(t, K=None):
    """T_nk = 1 if t_n = k, else 0: the one-of-K coding of PRML 4.1.3."""
    t, K = validate.classes(t, max(np.size(t), 1), K)
    return np.equal.outer(t, np.arange(K)).astype(np.float64)


def fisher_targets(t):
    """N / N_1 for class 1 and -N / N_0 for class 0, sum 0, PRML 4.1.5."""
    T = one_hot(t, 2)
    return (T / T.mean(axis=0)) @ [-1.0, 1.0]


# The fit.


def error(W, Phi, T):
    """E(W) = 1/2 sum_n |W^T phi_n - t_n|^2, PRML (4.15)."""
    return float(np.sum(_misses(W, Phi, T) ** 2) / 2)


def gradient(W, Phi, T):
    """grad E(W) = Phi^T (Phi W - T), of the shape of W."""
    return np.asarray(Phi, float).T @ _misses(W, Phi, T)


def _misses(W, Phi, T):
    """Phi W - T, of the shape of T: nothing is broadcast."""
    y = validate.real("Phi", Phi) @ validate.real("W", W)
    T = validate.real("T", T)
    if y.shape != T.shape:
        raise ValueError(
            f"T must have the shape {y.shape} of the outputs Phi W; "
            f"got {T.shape}"
        )
    return y - T


def fit(Phi, t, *, K=None, alpha=0.0):
    """W = argmin E(W) for one-of-K targets, PRML (4.16)."""
    Phi = validate.design(Phi)
    t, K = validate.classes(t, len(Phi), K)
    return regress(Phi, one_hot(t, K), alpha=alpha)


def regress(Phi, T, *, alpha=0.0):
    """W = argmin E(W) + 1/2 sum_j alpha_j |w_j|^2 for any targets T, by QR.

    w_j is row j of W. A penalty is one more row, sqrt(alpha_j) e_j, with
    target zero; without one the columns of Phi must be independent.
    """
    Phi, T = validate.design(Phi), validate.real("T", T)
    N, M = Phi.shape
    if T.ndim not in (1, 2) or len(T) != N or 0 in T.shape:
        raise ValueError(
            f"T must have shape ({N},) or ({N}, K), one target per row of "
            f"Phi; got shape {T.shape}"
        )
    T = validate.finite("T", T)
    alpha = validate.precisions(alpha, M)
    held = alpha > 0
    _determined(Phi[:, ~held], np.flatnonzero(~held))
    rows = np.sqrt(alpha[held, None]) * np.eye(M)[held]
    zeros = np.zeros((len(rows), *T.shape[1:]))
    Q, R = qr(np.vstack([Phi, rows]), mode="economic")
    left = np.abs(np.diag(R)) / np.abs(R).max(axis=0)  # by earlier columns
    if left.min() ** 2 < 10 * max(N, M) * EPS:  # rounding of Phi
        try:
            _determined(Phi, np.arange(M))
        except ValueError as why:
            raise ValueError(f"alpha is too small to count: {why}") from None
    W = solve_triangular(R, Q.T @ np.concatenate([T, zeros]))
    return LeastSquaresFit(W, R, error(W, Phi, T))


def _determined(Phi, names):
    """Raise a ValueError unless the data determine a weight per column."""
    N, M = Phi.shape
    if N < M:
        raise ValueError(
            f"Phi must have as many rows as columns; got {N} rows for {M} "
            "weights per output: many fits are equally good; take fewer "
            "columns or penalise the weights (alpha > 0)"
        )
    if M:
        validate.independent_columns(Phi, names)


def outputs(fit, Phi):
    """y(x_n) = W^T phi_n, PRML (4.14), of a fit or of W; no probabilities."""
    if hasattr(fit, "W"):
        validate.fitted(fit, LeastSquaresFit)
    W = validate.finite("W", validate.real("W", getattr(fit, "W", fit)))
    if W.ndim not in (1, 2):
        raise ValueError(f"W must be (M,) or (M, K); got shape {W.shape}")
    return validate.columns(Phi, len(W)) @ W


def predict(fit, Phi):
    """argmax_k y_k(x_n), the rule of PRML 4.1.3, of a fit or of W."""
    y = outputs(fit, Phi)
    if y.ndim == 1 or y.shape[1] < 2:
        raise ValueError(f"W must have shape (M, K), K >= 2; got y {y.shape}")
    return y.argmax(axis=1)


def limit_weights(model):
    """w_k = pi_k V^{-1} (mu_k - m), bias pi_k - m^T w_k: the fit to infinitely
    many draws of a Gaussian model, or to the sample that `model` was fitted to
    without shrinkage.

    m and V are mean and covariance of x whatever its class. (D + 1, K).
    V = L (I + R R^T) L^T, R = U diag(s) Q^T, has no large terms to cancel.
    """
    validate.fitted(model, gaussian.GaussianModel, name="model")
    K, D = model.mu.shape
    m, root = model.pi @ model.mu, np.sqrt(model.pi)
    Sigma = np.broadcast_to(model.Sigma, (K, D, D))
    L = np.linalg.cholesky(np.tensordot(model.pi, Sigma, 1))
    R = solve_triangular(L, (model.mu - m).T, lower=True) * root
    U, s, Qt = np.linalg.svd(R, full_matrices=False)
    some = slice(K - 1)  # the last s is 0, for R root = 0
    h = np.hypot(1, s)
    half = (U * (s / h / h))[:, some] @ Qt[some] * root
    W = solve_triangular(L, half, lower=True, trans="T")
    return np.vstack([model.pi - m @ W, W])


# One row more, one row less.


def leverage(fit, Phi):
    """h_n = phi_n^T (R^T R)^{-1} phi_n, by one triangular solve."""
    R = validate.fitted(fit, LeastSquaresFit).R
    Z = solve_triangular(R, validate.columns(Phi, len(R)).T, trans="T")
    return np.sum(Z**2, axis=0)


def add_row(fit, phi, target):
    """W + S phi (t - W^T phi)^T / (1 + phi^T S phi), S = (R^T R)^{-1}.

    The weights after one more row, by Sherman and Morrison (1950).
    """
    R = validate.fitted(fit, LeastSquaresFit).R
    phi = validate.vector("phi", phi, len(R), "column")
    target = validate.finite("target", validate.real("target", target))
    if target.shape != (K := fit.W.shape[1:]):
        raise ValueError(f"target must have shape {K}; got {target.shape}")
    direction = cho_solve((R, False), phi)
    miss = target - phi @ fit.W
    return fit.W + np.multiply.outer(direction, miss) / (1 + phi @ direction)


def far_limit(fit, e):
    """W - S e (e^T W) / (e^T S e): one more row phi + c e as c -> infinity.

    The outputs no longer change along e, wherever phi and its target are: it
    is the minimiser of E(W) among the W with e^T W = 0.
    """
    R = validate.fitted(fit, LeastSquaresFit).R
    e = validate.vector("e", e, len(R), "column")
    if not e.any():
        raise ValueError("e must be a direction; got zeros only")
    direction = cho_solve((R, False), e)
    return fit.W - np.multiply.outer(direction, e @ fit.W) / (e @ direction)


def leave_one_out(Phi, T, *, alpha=0.0):
    """y_n without row n = t_n - (t_n - y_n) / (1 - h_n), Allen (1974).

    The output for row n of the fit to all other rows, with no refitting but
    for rows of leverage close to one, where 1 - h_n is rounding.
    """
    best = regress(Phi, T, alpha=alpha)
    Phi, T = np.asarray(Phi, float), np.asarray(T, float)
    rest = 1 - leverage(best, Phi)
    heavy = np.flatnonzero(rest < 1e-6)  # no more than M of them
    rest[heavy] = 1
    y = T - ((T - outputs(best, Phi)).T / rest).T
    for n in heavy:
        y[n] = Phi[n] @ _without(n, Phi, T, alpha)
    return y


def _without(n, Phi, T, alpha):
    """Weights of the fit to all rows but n, or a ValueError that names n."""
    try:
        return regress(np.delete(Phi, n, 0), np.delete(T, n, 0), alpha=alpha).W
    except ValueError as why:
        raise ValueError(
            f"row {n} alone determines a weight; without it: {why}"
        ) from None


# Fisher's discriminant.


def scatter(X, t):
    """S_W = sum_k S_k and S_B = sum_k N_k (m_k - m)(m_k - m)^T, PRML (4.40)-
    (4.46), with S_k = sum_{t_n=k} (x_n - m_k)(x_n - m_k)^T."""
    X = validate.design(X, "X")
    t, K = validate.classes(t, len(X))
    counts, mu, S_W = gaussian.statistics(X, t, K, shared=True)
    B = mu - counts @ mu / counts.sum()
    return S_W, (counts * B.T) @ B


def criterion(W, S_B, S_W):
    """J(W) = Tr{(W^T S_W W)^{-1} W^T S_B W}, PRML (4.51); or (4.26)."""
    W = validate.real("W", W)
    W = W[:, None] if W.ndim == 1 else W
    shapes = [2 * W.shape[:1]]
    S_B = validate.covariance("S_B", S_B, shapes)
    within = W.T @ validate.covariance("S_W", S_W, shapes) @ W
    if smallest_share(within) < 1e-12:
        raise ValueError(
            "W must hold directions of which none has width 0, or is a "
            f"combination of others; got W^T S_W W = {within.tolist()}"
        )
    return float(np.trace(np.linalg.solve(within, W.T @ S_B @ W)))


def criterion_gradient(w, S_B, S_W):
    """grad J(w) = 2 {S_B w - J(w) S_W w} / (w^T S_W w), of PRML (4.26)."""
    w = validate.one_each("w", w, len(S_W), "column of S_W")
    J, S_B, S_W = criterion(w, S_B, S_W), np.asarray(S_B), np.asarray(S_W)
    return 2 * (S_B @ w - J * (S_W @ w)) / (w @ S_W @ w)


def fisher_direction(X, t, *, shrinkage=0.0):
    """w = S_W^{-1} (m_1 - m_0) for two classes, PRML (4.30); (D,)."""
    model = gaussian.fit_lda(X, t, K=2, shrinkage=shrinkage)
    return cho_solve((model.L, True), model.mu[1] - model.mu[0]) / len(X)


def fit_fisher(X, t, *, K=None, shrinkage=0.0):
    """S_B w_i = r_i S_W w_i, r_1 >= r_2 >= ...: maximises J(W), PRML 4.1.6.

    With S_W / N = L L^T and B L^{-T} = U diag(s) V^T, where the rows of B are
    sqrt(pi_k) (m_k - m)^T, w_i = L^{-T} v_i and r_i = s_i^2. Directions along
    which the means do not differ are left out.
    """
    model = gaussian.fit_lda(X, t, K=K, shrinkage=shrinkage)
    mean = model.pi @ model.mu
    B = np.sqrt(model.pi)[:, None] * (model.mu - mean)
    A = solve_triangular(model.L, B.T, lower=True).T
    _, s, Vt = np.linalg.svd(A, full_matrices=False)
    sd = np.sqrt(np.diag(model.Sigma))
    noise = 100 * EPS * (1 + np.max(np.abs(model.mu) / sd))
    kept = s > noise
    if not kept.any():
        raise ValueError("X must have class means that differ; got one mean")
    W = solve_triangular(model.L, Vt[kept].T, lower=True, trans="T")
    largest = np.abs(W * sd[:, None]).argmax(axis=0)
    W *= np.sign(W[largest, np.arange(W.shape[1])])
    return FisherProjection(W, s[kept] ** 2, mean)


def project(fisher, X):
    """z_n = W^T (x_n - m), PRML (4.39) with the origin at the mean; (N, D')."""
    mean = validate.fitted(fisher, FisherProjection, name="fisher").mean
    X = validate.columns(X, len(mean), "X")
    return (X - mean) @ fisher.W
