"""Gaussian process classification by Laplace's method, PRML 6.4.6.

    C      (N, N)  kernel matrix of the inputs; it is never inverted
    t      (N,)    targets in {0, 1}
    f      (N,)    latent values, PRML's a_N; after a fit their mode
    a      (N,)    C^{-1} f; at the mode the gradient g of ln p(t | f)
    g, W   (N,)    g_n = d ln p(t_n | f_n) / df_n, W_n = -dg_n / df_n >= 0
    B      (N, N)  I + W^{1/2} C W^{1/2} = L L^T, eigenvalues >= 1
    R      (N, N)  W^{1/2} B^{-1} W^{1/2} = (C + W^{-1})^{-1}
    psi            ln p(t | f) - 1/2 f^T C^{-1} f, to be maximised

Kernels stay outside: a fit sees C alone. Factors are in single precision where
these do. What a fit predicts is that of any `gaussian_process.Posterior`.
"""

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import blas, lapack

from prml4.gaussian_process import Posterior, same_kernel
from prml4.gaussian_process import posterior_covariance as posterior_covariance
from prml4.gaussian_process import predict as predict
from prml4.gaussian_process import predict_latent as predict_latent
from prml4.gaussian_process import predict_proba as predict_proba
from prml4.models.likelihoods import LOGISTIC, Likelihood
from prml4.numerics import linalg, newton, validate

POLISH = 1e-2  # of the decrement that counts as none: where to stop, if we may
EXACT = 1e-4  # what a solve may leave over without being repeated
STALE = 0.1  # a factor serves until a step has moved some f_n by more
CONVEX = 1e-8  # -W_n C_nn that changes nothing, where a label is given up
SINGLE_RANGE = 1e12  # entries beyond which single precision shows nothing


@dataclass(frozen=True, eq=False)
class GPLaplace(Posterior):
    """N(f | mode, (C^{-1} + W)^{-1}), and whether to trust it: `Posterior` with

    W             (N,)    curvature of -ln p(t | f) at the mode
    L             (N, N)  Cholesky factor of B at the mode, lower
    t             (N,)    targets
    likelihood            LOGISTIC, PROBIT, ...
    log_evidence          ln q(t)
    residual              max |f - C g|, zero at the mode
    converged             whether the decrement fell below tol
    trace         (S,)    psi at every accepted iterate
    factors               Cholesky factorisations, the last one included
    """

    W: np.ndarray
    L: np.ndarray
    t: np.ndarray
    likelihood: Likelihood
    log_evidence: float
    residual: float
    converged: bool
    trace: tuple[float, ...]
    factors: int

    def halves(self, c):
        """v = L^{-1} W^{1/2} c, twice: nothing but B is ever solved for."""
        v = lapack.dtrtrs(self.L, np.sqrt(self.W)[:, None] * c, lower=1)[0]
        return v, v


# The mode.


def fit(C, t, *, likelihood=LOGISTIC, tol=newton.ROUNDING, max_iter=200):
    """f = argmax ln p(t | f) - 1/2 f^T C^{-1} f, PRML (6.80) and (6.83).

    Newton's method in f = C a, with steps halved until psi rises; it ends when
    a step promises psi no more than tol^2 / 2, relative to 1 + |psi|.
    """
    C = validate.kernel_matrix(C)
    t = validate.binary_targets(t, len(C))
    validate.fitted(likelihood, Likelihood, name="likelihood")
    most = validate.whole("max_iter", max_iter)
    found = _fit(C, t, likelihood, validate.positive("tol", tol), most)
    if not found.converged:
        warnings.warn(
            f"Newton's method stopped after {len(found.trace) - 1} steps with "
            f"max |f - C g| = {found.residual:.1e}",
            newton.NotConverged,
            stacklevel=2,
        )
    return found


def _fit(C, t, likelihood, tol=newton.ROUNDING, max_iter=200):
    """`fit` of input that is known to be good, without a warning."""
    (f, a), terms, converged, trace, factors = climb(
        C, t, likelihood, tol, max_iter
    )
    _, g, slope = terms
    n = np.argmin(-slope * C.diagonal())
    if slope[n] * C[n, n] > CONVEX:
        raise validate.Indefinite(
            "likelihood must be log-concave at the mode for Laplace's method; "
            f"got W = {-slope[n]:.2g} for value {n}: use gp_ep, which takes "
            "sites of negative precision"
        )
    W = np.maximum(-slope, 0.0)
    L = linalg.cholesky(linalg.scaled(C, np.sqrt(W)))
    value = trace[-1] - float(np.log(np.diag(L)).sum())  # line 10
    return GPLaplace(
        mean=f, dual=a, W=W, L=L, t=+t, likelihood=likelihood,
        log_evidence=value, converged=converged, trace=tuple(trace),
        residual=float(np.abs(f - linalg.times(C, g)).max()),
        factors=factors + 1,
    )  # fmt: skip


def climb(C, t, likelihood, tol, max_iter):
    """f, a <- f + df, a + da until psi is highest, GPML algorithm 3.1.

    Returns (f, a), ln p with derivatives, converged, trace, factors made.
    """
    objective = partial(_negative, likelihood, t)
    w, factors = np.zeros((2, len(t))), _Factors(C)  # line 2
    E, terms = objective(w)
    trace, left, before = [-E], np.inf, np.inf
    while left > POLISH * tol and len(trace) <= max_iter:  # line 3
        for L, share in factors.at(np.maximum(-terms[2], 0)):  # lines 4, 5
            step, decrement = newton_step(C, L, w, terms)  # lines 6 to 8
            found = None
            if decrement < share * before:
                rise = np.sqrt(max(step[0] @ (terms[1] - w[1]), 0))
                found = newton.search(objective, w, E, -step, rise)
            if found is not None or left <= tol:
                break
        if found is None:
            break
        factors.moved = np.abs(found[0][0] - w[0]).max()
        w, E, terms = found
        trace.append(-E)
        before, left = decrement, decrement / np.sqrt(1 + abs(E))  # line 9
    return w, terms, bool(left <= tol), trace, factors.made


def _negative(likelihood, t, w):
    """-psi at w = (f, a), ln p and two derivatives."""
    terms = likelihood.log_p(w[0], t, 2)
    return float(w[0] @ w[1] / 2 - terms[0].sum()), terms


class _Factors:
    """L of B by what serves: an old one, one in single precision, a good one.

    Each with the share of the last decrement that its step must fall below to
    be believed; where one fails, the next has no such limit.
    """

    def __init__(self, C):
        self.C, self.made, self.moved = C, 0, np.inf
        single = np.abs(C).max() < SINGLE_RANGE
        self.A = C.astype(np.float32) if single else C

    def at(self, W):
        """Pairs (L, share) for the curvatures W, the cheapest first."""
        share = 0.5
        if self.moved <= STALE:
            yield self.L, 0.1
            share = np.inf
        while True:
            self.L, self.made = factor(self.A, W), self.made + 1
            if self.A is self.C:
                yield self.L, np.inf
                return
            yield self.L, share
            self.A, share = self.C, np.inf


def factor(C, W):
    """L of B = I + W^{1/2} C W^{1/2} in C's precision, None if it fails."""
    try:
        return linalg.cholesky(linalg.scaled(C, np.sqrt(W)))
    except validate.Indefinite:
        return None


def newton_step(C, L, w, terms):
    """(df, da) and the decrement sqrt(r^T df), r = g - a; inf if L is no good.

    (I + W C) da = r is solved by da = r - R C r, df = C da. What W and L
    leave over is solved for once more, and must have shrunk. With e left over
    the decrement is at most sqrt((r - e)^T df) + sqrt(e^T C e), and in single
    precision the latter must be the less, or nothing. Where ln p is convex W
    counts as 0: psi rises along df all the same.
    """
    step = np.zeros_like(w)
    if L is None:
        return step, np.inf
    W, r = np.maximum(-terms[2], 0), terms[1] - w[1]
    root, rest, size = np.sqrt(W), r, np.abs(r).max()
    left = np.inf
    for _ in range(2):
        if left > EXACT * size:
            da = rest - root * linalg.solve(L, root * linalg.times(C, rest))
            step += linalg.times(C, da), da
            rest = r - step[1] - W * step[0]
            left = np.abs(rest).max()
    if not left <= size / 2:
        return step, np.inf
    known, over = (r - rest) @ step[0], rest @ linalg.times(C, rest)
    if L.dtype != C.dtype and over > known + newton.ROUNDING**2:
        return step, np.inf
    return step, float(np.sqrt(max(known, 0)) + np.sqrt(max(over, 0)))


def predict_mode(fit, c_star):
    """p(C_k | f = m) (n, 2): the plug-in prediction at the mode, GPML 3.4.2."""
    validate.fitted(fit, GPLaplace)
    c_star = validate.cross(c_star, len(fit.dual))
    return fit.likelihood.probabilities(c_star.T @ fit.dual)


# The evidence as a function of the kernel.


def evidence_gradient(fit, C):
    """G with d ln q(t) = sum_nm G_nm dC_nm, symmetric; PRML (6.91), (6.94).

    G = 1/2 (a a^T - R) + 1/2 (u a^T + a u^T): the mode moves with C as well,
    u = (I + W C)^{-1} v, v_n = 1/2 Sigma_nn d^3 ln p / df_n^3. Sigma_nn is
    (1 - (B^{-1})_nn) / W_n.
    """
    C = same_kernel(fit, C)
    third = fit.likelihood.log_p(fit.mean, fit.t, 3)[3]
    G, _ = lapack.dpotri(fit.L, lower=1)  # a triangle of B^{-1}
    W, root = fit.W, np.sqrt(fit.W)
    v = np.zeros_like(W)
    np.divide((1 - np.diag(G)) * third, 2 * W, out=v, where=W > 0)
    u = v - root * linalg.solve(fit.L, root * linalg.times(C, v))
    G *= -0.5 * root
    G *= root[:, None]
    G = blas.dsyr2(0.5, fit.dual / 2 + u, fit.dual, a=G, lower=1, overwrite_a=1)
    return linalg.mirrored(G)


def inference(t, likelihood=LOGISTIC):
    """C -> (ln q(t), G), for `gaussian_process.optimise`; PRML 6.4.6."""

    def at(C):
        targets = validate.one_each("t", t, len(C), "row of C")
        found = _fit(C, targets, likelihood)
        if not found.converged:
            raise np.linalg.LinAlgError(
                f"no mode: max |f - C g| = {found.residual:.1e}"
            )
        return found.log_evidence, evidence_gradient(found, C)

    t = validate.binary_targets(t, np.size(t)).copy()
    return at
