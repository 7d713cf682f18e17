"""Gaussian class-conditionals: quadratic and linear discriminants, PRML 4.2.

    X      (N, D)     inputs, one row x_n^T per observation
    t      (N,)       class numbers 0, ..., K - 1
    model             pi, mu, Sigma, L of the classes, see GaussianModel
    a      (N, K)     discriminants: p(C_k|x) = exp(a_k) / sum_j exp(a_j)
    beta   (K, D)     where Sigma is shared, a_k = beta_k^T x + gamma_k
    gamma  (K,)

With a shared covariance the discriminants are linear in x (LDA), otherwise
quadratic (QDA). Covariances divide by the number of rows, n_k or N.
"""

from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.blas import dtrmm

from prml4.models import covariance
from prml4.numerics import blocks, validate
from prml4.numerics.result import Result
from prml4.numerics.special import log_softmax, normal_cdf

FAR = 100.0  # standard deviations of the mean from zero: worth a subtraction


@dataclass(frozen=True, eq=False)
class GaussianModel(Result):
    """p(C_k) = pi_k and p(x|C_k) = N(x|mu_k, Sigma_k).

    pi     (K,)       prior probabilities p(C_k)
    mu     (K, D)     means of the classes
    Sigma  (K, D, D)  their covariances, or (D, D), one that all share
    L      as Sigma   lower Cholesky factors, Sigma = L L^T
    """

    pi: np.ndarray
    mu: np.ndarray
    Sigma: np.ndarray
    L: np.ndarray

    @property
    def shared(self):
        """Is there one covariance for all classes, so that a is linear?"""
        return self.Sigma.ndim == 2


def model(pi, mu, Sigma):
    """p(C_k) = pi_k and p(x|C_k) = N(x|mu_k, Sigma_k) from known parameters."""
    mu = validate.design(mu, "mu").copy()
    K, D = mu.shape
    pi = validate.probabilities("pi", pi, K)
    return GaussianModel(pi, mu, *covariance.known(Sigma, D, K))


# Maximum likelihood.


def statistics(X, t, K, *, shared=False):
    """n_k, mu_k, S_k = sum_{t_n=k} (x_n - mu_k)(x_n - mu_k)^T, PRML (4.80).

    S_k = sum (x_n - c)(x_n - c)^T - n_k (mu_k - c)(mu_k - c)^T needs one pass;
    with c the mean of some of the rows, next to nothing cancels. If shared, S
    is the sum of all S_k. All are zeros where a class has no row.
    """
    D = X.shape[1]
    counts, mu = np.zeros(K), np.zeros((K, D))
    S = np.zeros((D, D) if shared else (K, D, D))
    for k in np.flatnonzero(np.bincount(t)):
        rows = np.flatnonzero(t == k)
        n, total = len(rows), np.zeros(D)
        c = X[rows[:: -(-n // blocks.length(D))]].mean(axis=0)
        S_k = S if shared else S[k]
        for _, x in blocks.copies(X, rows):
            x -= c
            total += np.ones(len(x)) @ x
            S_k += x.T @ x
        counts[k], mu[k] = n, c + total / n
        S_k -= np.outer(total, total) / n
    return counts, mu, S


def fit_qda(X, t, *, K=None, pi=None, shrinkage=0.0, target="diagonal"):
    """pi_k = n_k / N, mu_k = mean, Sigma_k = S_k / n_k, PRML (4.73)-(4.80).

    pi may be given. A shrinkage in (0, 1] moves each Sigma_k: see `covariance`.
    """
    return _fit(X, t, K, pi, shrinkage, target, shared=False)


def fit_lda(X, t, *, K=None, pi=None, shrinkage=0.0, target="diagonal"):
    """pi_k = n_k / N, mu_k = mean, Sigma = sum_k S_k / N, PRML (4.73)-(4.78).

    pi may be given. A shrinkage in (0, 1] moves Sigma: see `covariance`.
    """
    return _fit(X, t, K, pi, shrinkage, target, shared=True)


def _fit(X, t, K, pi, shrinkage, target, *, shared):
    """Validate, estimate, shrink, factorise.

    X is searched for NaN only if something in the sums is not finite.
    """
    X = validate.matrix(X, "X")
    t, K = validate.classes(t, len(X), K)
    shrinkage = covariance.shrinkage(shrinkage, target, shared=shared)
    with np.errstate(over="ignore", invalid="ignore"):
        counts, mu, S = statistics(X, t, K, shared=shared)
    if not np.isfinite(S).all():
        validate.finite("X", X)
    Sigma = S / (len(X) if shared else counts[:, None, None])
    if shrinkage:
        Sigma = covariance.shrink(Sigma, shrinkage, target, counts / len(X))
    else:
        covariance.enough_rows(counts, X.shape[1], shared=shared)
    pi = counts / len(X) if pi is None else pi
    pi = validate.probabilities("pi", pi, K)
    return GaussianModel(pi, mu, Sigma, covariance.estimated(Sigma, mu))


# The posterior.


def log_density(X, mu, Sigma):
    """ln N(x_n|mu, Sigma) for each row, by Sigma = L L^T, PRML (2.43)."""
    X = validate.design(X, "X")
    mu = validate.vector("mu", mu, X.shape[1], "column of X")
    _, L = covariance.known(Sigma, len(mu))
    Z = solve_triangular(L, (X - mu).T, lower=True).T
    return covariance.log_gaussian(Z, np.log(np.diag(L)).sum())


def log_joint(model, X):
    """ln p(x_n, C_k) = ln pi_k + ln N(x_n|mu_k, Sigma_k); (N, K)."""
    a = _by_blocks(model, X, lambda a, out: a, linear=False)
    return a - model.mu.shape[1] / 2 * log(2 * np.pi)


def log_likelihood(model, X, t):
    """sum_n ln p(x_n, C_{t_n}), PRML (4.71) for any number of classes."""
    joint = log_joint(model, X)
    N, K = joint.shape
    return float(joint[np.arange(N), validate.labels(t, N, K)].sum())


def predict_proba(model, X):
    """p(C_k|x_n) = exp(a_nk) / sum_j exp(a_nj), PRML (4.62); (N, K)."""
    return _by_blocks(model, X, blocks.softmax)


def log_posterior(model, X):
    """ln p(C_k|x_n) = a_nk - ln sum_j exp(a_nj), log of PRML (4.62); (N, K)."""
    return _by_blocks(model, X, lambda a, out: log_softmax(a, axis=0))


def predict(model, X):
    """argmax_k p(C_k|x_n), which minimises the error rate; PRML 1.5.1."""
    return _by_blocks(model, X, lambda a, out: a).argmax(axis=1)


def _by_blocks(model, X, finish, linear=None):
    """finish(a, out), which may write to out, of each block of rows; (N, K)."""
    K, D = validate.fitted(model, GaussianModel, name="model").mu.shape
    X = validate.width(X, D, "X")
    linear = model.shared if linear is None else linear
    fill, size = _linear(model) if linear else _quadratic(model)
    out = np.empty((len(X), K))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for start in range(0, len(X), size):
            a = fill(X[start : start + size])
            if not np.isfinite(a[-1].sum()):  # NaN or inf in X reach every a_k
                validate.finite("X", X)
                raise ValueError("X: a row is too far away to measure how far")
            rows = out[start : start + size].T
            rows[...] = finish(a, rows)
    return out


def _linear(model):
    """Rows x -> a_k - a_0 = (beta_k - beta_0)^T (x - c) + gamma_k - gamma_0.

    For any c: zero if the mean of all is near in the metric of Sigma, else
    that mean, so that nothing cancels. Of classes far apart -> `_quadratic`.
    """
    c = model.pi @ model.mu
    c = c * (np.abs(solve_triangular(model.L, c, lower=True)).max() > FAR)
    apart = solve_triangular(model.L, (model.mu - c).T, lower=True)
    if len(model.pi) > 2 and np.abs(apart).max() > FAR:
        return _quadratic(model)  # two may be near each other, and not class 0
    beta, gamma = softmax_weights(replace(model, mu=model.mu - c))
    beta, gamma = beta[1:] - beta[0], (gamma[1:] - gamma[0])[:, None]
    away = c.any()

    def fill(x):
        a = np.zeros((len(model.pi), len(x)))
        np.matmul(beta, (x - c if away else x).T, out=a[1:])
        a[1:] += gamma
        return a

    # with one product nothing is reread: 4, 16 times the usual length
    return fill, (4 if away else 16) * blocks.length(len(c))


def _quadratic(model):
    """Rows x -> a_k = ln pi_k - ln |L_k| - |L_k^{-1} (x - mu_k)|^2 / 2.

    One triangular product for each class, with L_k^{-1} formed once.
    """
    K, D = model.mu.shape
    L = [model.L] * K if model.shared else model.L
    V = [
        np.asfortranarray(solve_triangular(l, np.eye(D), lower=True)) for l in L
    ]
    g = np.log(model.pi) - np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
    size = blocks.length(D)
    buffer = np.empty((size, D))

    def fill(x):
        a, z = np.empty((K, len(x))), buffer[: len(x)]
        for k in range(K):
            np.subtract(x, model.mu[k], out=z)
            dtrmm(1.0, V[k], z.T, lower=1, overwrite_b=1)
            np.einsum("nd,nd->n", z, z, out=a[k])
        a *= -0.5
        a += g[:, None]
        return a

    return fill, size


# The discriminants as formulas.


def _linear_model(model):
    """The model itself if its classes share a covariance."""
    if not validate.fitted(model, GaussianModel, name="model").shared:
        raise ValueError(
            "the discriminants are linear only if the classes share a "
            "covariance; got one for each class: see quadratic_weights"
        )
    return model


def softmax_weights(model):
    """beta_k = Sigma^{-1} mu_k, gamma_k = ln pi_k - mu_k^T beta_k / 2, PRML
    (4.69), (4.70); (K, D) and (K,)."""
    _linear_model(model)
    beta = cho_solve((model.L, True), model.mu.T).T
    gamma = np.log(model.pi) - np.sum(beta * model.mu, axis=1) / 2
    return beta, gamma


def sigmoid_weights(model):
    """w with p(C_1|x) = sigma(w_0 + w^T x), PRML (4.65)-(4.67); (D + 1,).

    The bias w_0 = gamma_1 - gamma_0 goes first; then beta_1 - beta_0, formed
    from the difference of the means, so that nothing cancels.
    """
    K = len(_linear_model(model).pi)
    if K != 2:
        raise ValueError(f"a sigmoid is for two classes; got {K}")
    w = cho_solve((model.L, True), model.mu[1] - model.mu[0])
    odds, middle = log(model.pi[1] / model.pi[0]), model.mu.mean(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        w = np.r_[odds - middle @ w, w]
    if not np.isfinite(w).all():
        raise ValueError(f"model must have weights that are finite; got {w}")
    return w


def quadratic_weights(model):
    """A_k = -Sigma_k^{-1} / 2, b_k = Sigma_k^{-1} mu_k and c_k, PRML 4.2.1.

    a_k(x) = x^T A_k x + b_k^T x + c_k with
    c_k = ln pi_k - ln|Sigma_k| / 2 - mu_k^T Sigma_k^{-1} mu_k / 2.
    """
    K, D = validate.fitted(model, GaussianModel, name="model").mu.shape
    L = np.broadcast_to(model.L, (K, D, D))
    A = np.stack([-0.5 * cho_solve((l, True), np.eye(D)) for l in L])
    b = -2 * np.einsum("kij,kj->ki", A, model.mu)
    logs = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
    c = np.log(model.pi) - logs - np.sum(b * model.mu, axis=1) / 2
    return A, b, c


def parameter_count(D, K, *, shared):
    """(K - 1) + K D + (1 or K) D (D + 1) / 2: pi, mu, Sigma, PRML 4.3.2."""
    return K - 1 + K * D + (1 if shared else K) * D * (D + 1) // 2


def bayes_error(model):
    """P = pi_0 Phi((r - d/2) / s) + pi_1 Phi(-(r + d/2) / s), shared Sigma.

    r = ln(pi_1 / pi_0); d = s^2 = (mu_1 - mu_0)^T Sigma^{-1} (mu_1 - mu_0).
    """
    w = sigmoid_weights(model)
    with np.errstate(over="ignore"):  # far apart: no error is left
        d = float(w[1:] @ (model.mu[1] - model.mu[0]))
    if d == 0:  # the same cloud twice: only the prior is left
        return float(model.pi.min())
    r, s = log(model.pi[1] / model.pi[0]), sqrt(d)
    low, high = normal_cdf(r / s - s / 2), normal_cdf(-r / s - s / 2)
    return float(model.pi[0] * low + model.pi[1] * high)
