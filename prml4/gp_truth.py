"""What Laplace and EP approximate: p(f | t) by quadrature and by sampling.

    C    (N, N)  kernel matrix          f  (N,)    latent values
    t    (N,)    targets in {0, 1}      F  (S, N)  points of the space of f
    w    (S,)    weights of the points, sum 1
    L    (N, N)  C = L L^T, with a jitter of 1e-10 of the largest variance

Three referees: the trapezoidal rule in f = L z for N <= 2, importance
sampling for a dozen latent values, and elliptical slice sampling along
p(t | f)^beta, beta from 0 to 1, for hundreds.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from prml4 import slice_sampling
from prml4.special import logsumexp

FREEDOM = 10.0  # degrees of freedom of the proposal: heavier tails than p
WIDER = 1.3  # its scale matrix is so much larger than the covariance of q
STONES = np.linspace(0, 1, 33) ** 3


@dataclass(frozen=True, eq=False)
class Truth:
    """Weighted points that stand for p(f | t)."""

    F: np.ndarray  # (S, N)
    w: np.ndarray  # (S,)
    log_evidence: float  # ln p(t)
    error: float  # its standard error; 0 for quadrature

    @property
    def mean(self):
        """E[f | t] (N,)."""
        return self.w @ self.F

    @property
    def covariance(self):
        """cov[f | t] (N, N)."""
        gap = self.F - self.mean
        return (gap * self.w[:, None]).T @ gap


def factor(C, jitter=1e-10):
    """L with L L^T = C + jitter max(C) I, PRML (6.62) with noise."""
    return np.linalg.cholesky(C + jitter * np.abs(C).max() * np.eye(len(C)))


def log_likelihood(F, t, likelihood):
    """sum_n ln p(t_n | f_n) along the last axis, PRML (6.74)."""
    return likelihood.log_p(F, t, 0)[0].sum(axis=-1)


def quadrature(C, t, likelihood, *, half=9.0, step=0.1):
    """p(t) = int p(t | L z) N(z | 0, I) dz by the trapezoidal rule, N <= 2."""
    if len(C) > 2:
        raise ValueError(f"a grid is for at most 2 values; got {len(C)}")
    L = factor(C, 0.0)
    z = np.arange(-half, half + step / 2, step)
    grid = np.stack(np.meshgrid(*[z] * len(C), indexing="ij"), axis=-1)
    grid = grid.reshape(-1, len(C))
    F = grid @ L.T
    log_w = log_likelihood(F, t, likelihood) - 0.5 * np.sum(grid**2, axis=1)
    log_w += len(C) * np.log(step / np.sqrt(2 * np.pi))
    total = float(logsumexp(log_w))
    return Truth(F, np.exp(log_w - total), total, 0.0)


def importance(C, t, likelihood, mu, Sigma, rng, draws):
    """w ~ p(t | f) N(f | 0, C) / T(f), T a Student's t about q = N(mu, Sigma).

    ln p(t) = ln mean of the weights; its error by the delta method.
    """
    N, L = len(C), factor(C)
    R = factor(WIDER * Sigma, 1e-12)
    e = rng.standard_normal((draws, N))
    stretch = rng.chisquare(FREEDOM, draws) / FREEDOM
    F = mu + (e @ R.T) / np.sqrt(stretch)[:, None]
    z = solve_triangular(L, F.T, lower=True)
    log_w = log_likelihood(F, t, likelihood) - 0.5 * np.sum(z**2, axis=0)
    log_w -= np.log(L.diagonal()).sum() + N / 2 * np.log(2 * np.pi)
    log_w -= _log_student(np.sum(e**2, axis=1) / stretch, N)
    log_w += np.log(R.diagonal()).sum()
    total = float(logsumexp(log_w))
    w = np.exp(log_w - total)
    error = float(np.sqrt(np.sum(w**2) - 1 / draws))
    return Truth(F, w, total - np.log(draws), error)


def _log_student(square, N):
    """Log density of Student's t at squared Mahalanobis distances."""
    half = (FREEDOM + N) / 2
    constant = gammaln(half) - gammaln(FREEDOM / 2)
    constant -= N / 2 * np.log(FREEDOM * np.pi)
    return constant - half * np.log1p(square / FREEDOM)


def sample(C, t, likelihood, rng, draws, *, power=1.0, thin=1):
    """F (draws, N) from p(f) p(t | f)^power, Murray, Adams, MacKay (2010)."""
    return slice_sampling.elliptical(
        lambda f: power * log_likelihood(f, t, likelihood),
        np.zeros(len(t)),
        factor(C),
        rng,
        draws,
        burn=draws // 5,
        thin=thin,
    )


def stepping_stones(C, t, likelihood, rng, draws, stones=STONES):
    """ln p(t) = sum_k ln E_k[p(t|f)^(b_{k+1} - b_k)], Xie et al. (2011).

    E_k: over p(f) p(t|f)^b_k, sampled. Returns the sum and its error.
    """
    value, variance = 0.0, 0.0
    for low, high in zip(stones, stones[1:], strict=False):
        F = sample(C, t, likelihood, rng, draws, power=low)
        log_w = (high - low) * log_likelihood(F, t, likelihood)
        w = np.exp(log_w - log_w.max())
        size = slice_sampling.effective_size(w[:, None])[0]
        value += np.log(w.mean()) + log_w.max()
        variance += w.var() / w.mean() ** 2 / size
    return float(value), float(np.sqrt(variance))


def predictions(F, C, c_star, c_ss, likelihood):
    """p(t_* = 1 | f) (S, n) = int p(1 | f_*) p(f_* | f) df_*, PRML (6.76).

    p(f_* | f) is noise-free regression: to be averaged over p(f | t).
    """
    L = factor(C)
    W = solve_triangular(L, c_star, lower=True)
    v = np.maximum(c_ss - np.sum(W**2, axis=0), 0)
    m = solve_triangular(L, F.T, lower=True).T @ W
    return np.exp(likelihood.average(m, v, 1)[0])
