"""What Laplace and EP approximate: p(f | t) by quadrature and by sampling.

    C    (N, N)  kernel matrix          f  (N,)    latent values
    t    (N,)    targets in {0, 1}      F  (S, N)  points of the space of f
    w    (S,)    weights of the points, sum 1
    L    (N, N)  C = L L^T, with a jitter of 1e-10 of the largest variance

Two referees: the trapezoidal rule in f = L z for N <= 3, and importance
sampling, with EP's Gaussian as a guide, for more.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from prml4.models.covariance import known, log_gaussian
from prml4.models.likelihoods import Likelihood, log_likelihood
from prml4.numerics import cubature, sampling, validate
from prml4.numerics.result import Result
from prml4.numerics.special import logsumexp

JITTER = 1e-10  # share of the largest variance that C gets on its diagonal
FREEDOM = 10.0  # degrees of freedom of the proposal: heavier tails than p
WIDER = 1.3  # its scale matrix is so much larger than the covariance of q


@dataclass(frozen=True, eq=False)
class Truth(Result):
    """Weighted points that stand for p(f | t).

    F               (S, N)  points
    w               (S,)    their weights, sum 1
    log_evidence            ln p(t)
    standard_error          of ln p(t); 0 for quadrature
    """

    F: np.ndarray
    w: np.ndarray
    log_evidence: float
    standard_error: float

    @property
    def mean(self):
        """E[f | t] (N,)."""
        return self.w @ self.F

    @property
    def covariance(self):
        """cov[f | t] (N, N)."""
        gap = self.F - self.mean
        return (gap * self.w[:, None]).T @ gap


def factor(C, jitter=JITTER):
    """L with L L^T = C + jitter max(C) I, PRML (6.62) with noise."""
    C = validate.design(C, "C")
    C = validate.symmetric("C", C, [(len(C), len(C))])
    jitter = validate.not_negative("jitter", jitter)
    try:
        return np.linalg.cholesky(C + jitter * np.abs(C).max() * np.eye(len(C)))
    except np.linalg.LinAlgError:
        raise validate.Indefinite(
            "C + jitter max(C) I must be positive definite; got variances "
            f"from {np.diag(C).min():.3g} to {np.diag(C).max():.3g}"
        ) from None


def quadrature(C, t, likelihood, *, reach=9.0, step=0.1):
    """p(t) = int p(t | L z) N(z | 0, I) dz by the trapezoidal rule, N <= 3.

    Nodes must be so close that the likelihood does not fall between two: with
    a step of 1 in f ln p(t) is off by 1e-7, for CLOGLOG by 1e-4.
    """
    validate.fitted(likelihood, Likelihood, name="likelihood")
    C = validate.kernel_matrix(C)
    _, L = known(C, len(C))
    t = validate.binary_targets(t, len(C))
    z = cubature.lattice(len(C), reach, step)
    if step * np.sqrt(C.max()) > 1:
        raise ValueError(
            f"C must have variances of at most {1 / step**2:g}, 1 / step^2; "
            f"got {C.max():g}"
        )
    F = z @ L.T
    log_w = log_likelihood(likelihood, t)(F) - 0.5 * np.sum(z**2, axis=1)
    total = float(logsumexp(log_w))
    log_Z = total + len(C) * np.log(step / np.sqrt(2 * np.pi))
    w = np.exp(log_w - total)
    cubature.reached(z, w, reach, step)
    return Truth(F, w, log_Z, 0.0)


def importance(C, t, likelihood, mu, Sigma, rng, draws):
    """w ~ p(t | f) N(f | 0, C) / T(f), T a Student's t about q = N(mu, Sigma).

    ln p(t) = ln mean of the weights; its error by the delta method.
    """
    validate.fitted(likelihood, Likelihood, name="likelihood")
    C = validate.kernel_matrix(C)
    t = validate.binary_targets(t, len(C))
    Sigma = validate.symmetric("Sigma", Sigma, [C.shape])
    L, log_l = factor(C), log_likelihood(likelihood, t)

    def log_joint(F):
        z = solve_triangular(L, F.T, lower=True).T
        return log_l(F) + log_gaussian(z, np.log(L.diagonal()).sum())

    widest = JITTER * np.abs(C).max() * np.eye(len(C))
    root = factor(WIDER * (Sigma + widest), 0.0)
    F, log_w = sampling.importance(rng, draws, log_joint, mu, root, nu=FREEDOM)
    w = np.exp(log_w - logsumexp(log_w))
    return Truth(F, w, *sampling.log_mean(log_w))


def predictions(F, C, c_star, c_ss, likelihood):
    """p(t_* = 1 | f) (S, n) = int p(1 | f_*) p(f_* | f) df_*, PRML (6.76).

    p(f_* | f) is noise-free regression: to be averaged over p(f | t).
    """
    validate.fitted(likelihood, Likelihood, name="likelihood")
    c_star = validate.cross(c_star, len(validate.kernel_matrix(C)))
    c_ss = validate.variances("c_ss", c_ss, c_star.shape[1])
    F = validate.columns(F, len(C), "F")
    L = factor(C)
    W = solve_triangular(L, c_star, lower=True)
    v = np.maximum(c_ss - np.sum(W**2, axis=0), 0)
    m = solve_triangular(L, F.T, lower=True).T @ W
    return np.exp(likelihood.average(m, v, 1)[0])
