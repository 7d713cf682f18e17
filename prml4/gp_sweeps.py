"""Sweeps of EP over the sites of a Gaussian process, GPML 3.6.

    C      (N, N)  kernel matrix, covariance of the prior N(f | 0, C)
    t      (N,)    targets in {0, 1}
    tau    (N,)    site precisions: t_n(f_n) = c_n exp(nu f_n - tau f_n^2 / 2)
    nu     (N,)    site precisions times site means
    mu, v  (N,)    marginals of q(f) = N(f | mu, Sigma), v = diag Sigma
    m, s2  (N,)    cavities: marginals of q without the site of their own
    b      (N,)    C^{-1} mu = nu - tau mu, the weights of a prediction
    R      (N, N)  (C + diag(1 / tau))^{-1} = A^T diag(d) A, finite for tau = 0

A sweep maps all sites to all sites. C is never inverted, and nothing is
divided by a site precision, which may be zero, or negative.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import get_lapack_funcs

from prml4.ep import cavity, site

MEMORY = 8  # earlier sweeps that an accelerated one combines
WEAK = 1e-4  # tau C_nn below which 1 - (B^{-1})_nn has lost four digits
ROUGHLY_WEAK = 1e-2  # the same in single precision, two digits
LARGE = 256  # values from which the first sweeps are in single precision,
ROUGH = 1e-2  # until no cavity moves by more than this,
FIRST = 8  # but no more of them than these
REACH = 2.0  # how far ln s2 may be extrapolated


@dataclass(frozen=True, eq=False)
class Gaussian:
    """q(f) = N(f | mu, Sigma), Sigma = C - C R C, from the sites' tau, nu."""

    A: np.ndarray  # (N, N) with R = A^T diag(d) A
    d: np.ndarray  # (N,) ones, unless a site precision is negative
    log_det: float  # ln|I + C diag(tau)|
    b: np.ndarray  # (N,)
    mu: np.ndarray  # (N,)
    m: np.ndarray  # (N,) cavity means
    s2: np.ndarray  # (N,) cavity variances, not positive if improper


# All sites at once.


def posterior(C, tau, nu):
    """Sigma = (C^{-1} + diag(tau))^{-1} = C - C R C, mu = Sigma nu, GPML 3.6.

    For tau >= 0: B = I + T C T = L L^T, T = sqrt(tau), A = L^{-1} T. One
    factorisation and one triangular inverse give all variances at once:
    (B^{-1})_nn = 1 / (1 + tau_n s2_n) is a sum of squares down a column.
    """
    root = np.sqrt(np.abs(tau)).astype(C.dtype)
    B = C * root
    B *= root[:, None]
    negative = tau < 0
    B.flat[:: len(B) + 1] += np.where(negative, -1.0, 1.0)
    if negative.any():
        A, d, log_det, known = _indefinite(B, int(negative.sum()))
    else:
        A, d, log_det, known = _definite(B)
    A *= root
    b = nu - A.T @ (d * (A @ (C @ nu.astype(C.dtype))))
    mu = C @ b.astype(C.dtype)
    s2 = _cavity_variances(C, tau, A, d, known)
    return Gaussian(A, d, log_det, b, mu, mu - s2 * b, s2)


def _definite(B):
    """L^{-1}, ones, ln|B| and the diagonal of B^{-1}, in the memory of B."""
    potrf, trtri = get_lapack_funcs(("potrf", "trtri"), (B,))
    L, stuck = potrf(B.T, lower=1, clean=1, overwrite_a=1)
    if stuck:
        raise np.linalg.LinAlgError(
            "I + T C T is not positive definite: rounding has made C "
            "indefinite; add a small multiple of the identity to it"
        )
    log_det = 2 * float(np.log(L.diagonal()).sum())
    A, _ = trtri(L, lower=1, overwrite_c=1)
    return A, np.ones(len(A), A.dtype), log_det, np.einsum("ij,ij->j", A, A)


def _indefinite(B, negative):
    """U^T, 1 / lambda, ln|B| for sites of both signs, B = J + T C T.

    q has a covariance if and only if B has as many negative eigenvalues as
    there are negative precisions (Sylvester's law of inertia).
    """
    values, U = np.linalg.eigh(B)
    if np.sum(values < 0) != negative:
        raise np.linalg.LinAlgError("the sites leave no proper Gaussian")
    log_det = float(np.log(np.abs(values)).sum())
    return U.T.copy(), 1 / values, log_det, None


def _cavity_variances(C, tau, A, d, known):
    """s2 = (1 - k) / (k tau), k = (B^{-1})_nn; or from v, site by site.

    Where tau is small or k is not known, v_n = C_nn - c_n^T R c_n.
    """
    s2, prior = np.empty(len(C)), C.diagonal()
    faint = WEAK if C.dtype == float else ROUGHLY_WEAK
    weak = np.ones(len(C), bool) if known is None else tau * prior < faint
    k, own = (None if known is None else known[~weak]), tau[~weak]
    if own.size:
        s2[~weak] = (1 - k) / (k * own)
    if weak.any():
        v = prior[weak] - d @ (A @ C[:, weak]) ** 2
        s2[weak] = v / (1 - tau[weak] * v)
    return s2


# Iterations, each a generator of (tau, nu, q, change).


def parallel(C, t, average, start, damping=1.0):
    """tau, nu <- those of all tilted distributions at once, then Sigma, mu.

    damping is the share of the step that is taken, of both parameters.
    """
    tau, nu, q = start
    while True:
        new = site(q.m, q.s2, *average(q.m, q.s2, t)[1:])
        tau = tau + damping * (new[0] - tau)
        nu = nu + damping * (new[1] - nu)
        before, q = q, posterior(C, tau, nu)
        yield tau, nu, q, _change(before.m, before.s2, q) / damping


def sequential(C, t, average, start, damping=1.0, order=None):
    """Site by site, Sigma <- Sigma - s s^T dtau / (1 + dtau Sigma_nn).

    s is the n-th column of Sigma, GPML (3.70). Rounding accumulates in the
    rank-one updates, so Sigma is computed afresh after each sweep.
    """
    tau, nu, q = start
    tau, nu = tau.copy(), nu.copy()
    while True:
        AC = q.A @ C
        Sigma, mu = C - AC.T @ (q.d[:, None] * AC), q.mu.copy()
        for n in range(len(C)) if order is None else order:
            m, s2 = cavity(mu[n], Sigma[n, n], tau[n], nu[n])
            if not s2 > 0:
                continue
            new = site(m, s2, *average(m, s2, t[n])[1:])
            step = damping * (new[0] - tau[n]), damping * (new[1] - nu[n])
            rank_one(Sigma, mu, n, *step)
            tau[n] += step[0]
            nu[n] += step[1]
        before, q = q, posterior(C, tau, nu)
        change = _change(before.m, before.s2, q) / damping
        yield tau.copy(), nu.copy(), q, change


def rank_one(Sigma, mu, n, dtau, dnu):
    """Sigma and mu after tau_n += dtau and nu_n += dnu, in place."""
    s = Sigma[:, n].copy()
    shrink = 1 + dtau * s[n]
    mu += s * ((dnu - dtau * mu[n]) / shrink)
    Sigma -= np.multiply.outer(s * (dtau / shrink), s)


def accelerated(C, t, average, start):
    """x <- sum_k alpha_k g(x_k), alpha = argmin |sum alpha_k f_k|, `anderson`.

    x = (ln s2, m) holds the cavities, g(x) those after a parallel sweep, and
    f = g - x. Mixed variances are positive: their logarithms are mixed.
    """
    m, s2 = start[2].m, start[2].s2
    past, best, sweep = [], np.inf, _improving(C)
    reach = np.repeat([REACH, np.inf], len(t))
    prior = np.r_[np.log(C.diagonal()), np.full(len(t), np.inf)]
    while True:
        tau, nu = site(m, s2, *average(m, s2, t)[1:])
        q = sweep(tau, nu, best)
        change = _change(m, s2, q)
        yield tau, nu, q, change
        proper = q.s2 > 0
        s2_new = np.where(proper, q.s2, s2)
        g = np.concatenate([np.log(s2_new), np.where(proper, q.m, m)])
        f = g - np.concatenate([np.log(s2), m])
        past = past[-MEMORY:]
        past.append((f, g))
        best = min(best, change)
        x = anderson(past, np.r_[np.ones(len(t)), 1 / np.sqrt(s2_new)])
        top = np.maximum(g, np.minimum(g + reach, prior))
        x = np.split(np.clip(x, g - reach, top), 2)
        s2, m = np.exp(x[0]), x[1]


def _improving(C):
    """`posterior` in single precision while that is good enough, then not.

    A rough sweep takes half the time and only shows the way: it is never an
    answer, `_settle` sees to that.
    """
    left = FIRST if len(C) >= LARGE else 0
    low = C.astype(np.float32) if left else None

    def sweep(tau, nu, change):
        nonlocal left, low
        left = left - 1 if change > ROUGH else 0
        if left > 0:
            try:
                q = posterior(low, tau, nu)
                if np.all(np.isfinite(q.s2)) and np.all(np.isfinite(q.m)):
                    return q
            except np.linalg.LinAlgError:
                pass
        left, low = 0, None
        return posterior(C, tau, nu)

    return sweep


def anderson(past, unit):
    """x = g - dG gamma, gamma = argmin |unit (f - dF gamma)|, Anderson (1965).

    past: pairs (f, g), the newest last; unit (len(x),) weighs the residuals.
    """
    f, g = past[-1]
    if len(past) == 1:
        return g
    F, G = (np.diff(each, axis=0) for each in zip(*past, strict=True))
    gamma = np.linalg.lstsq((F * unit).T, f * unit, rcond=1e-10)[0]
    return g - gamma @ G


def _change(m, s2, q):
    """Largest |d m| / s or |d ln s2| of a cavity; inf if one is improper."""
    if not np.all(q.s2 > 0):
        return np.inf
    mean = np.abs(q.m - m) / np.sqrt(q.s2)
    spread = np.abs(np.log(q.s2 / s2)) if np.all(s2 > 0) else np.inf
    return float(max(mean.max(), np.max(spread)))


METHODS = {
    "accelerated": accelerated,
    "parallel": parallel,
    "sequential": sequential,
}
