"""Gaussian process classification by expectation propagation, GPML 3.6.

    C      (N, N)  kernel matrix, covariance of the prior N(f | 0, C)
    t      (N,)    targets in {0, 1}
    c_star (N, M)  covariances of f with the values at M new points
    c_ss   (M,)    prior variances there

Sites, cavities and q stand in `gp_sweeps`, with their shapes.
Only C, t and a likelihood with `average(m, s2, t)` come in: EP knows no
kernels. C is never inverted, and nothing is divided by a site precision,
which may be zero, or negative if the likelihood is not log-concave.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.lapack import dlauum

from prml4 import validate
from prml4.ep import log_integral
from prml4.gp_sweeps import METHODS, Gaussian, accelerated, sequential
from prml4.likelihoods import PROBIT, Likelihood
from prml4.newton import NotConverged

TOL = 1e-7  # change of a cavity in a sweep, in its own standard deviations
OPTIONS = {"parallel": ("damping",), "sequential": ("damping", "order")}
NEGATIVE = 1e-8  # share of the prior variance below zero that is rounding
FEW = 8  # cautious sweeps before acceleration is tried once more
PATIENCE = 40  # sweeps without progress before updates become cautious


@dataclass(frozen=True, eq=False)
class GPEP:
    """Where the sites settled, and whether to trust them."""

    tau: np.ndarray  # (N,) site precisions
    nu: np.ndarray  # (N,) site precisions times means
    q: Gaussian = field(repr=False)  # the approximate posterior and cavities
    log_evidence: float  # ln Z_EP
    converged: bool
    trace: tuple[float, ...]  # largest change of a cavity, sweep by sweep
    log_z: np.ndarray  # (N,) ln of the tilted normalisers
    t: np.ndarray  # (N,)
    likelihood: object = field(repr=False)

    @property
    def mean(self):
        """mu (N,), the approximate posterior mean E[f | t]."""
        return self.q.mu

    @property
    def variance(self):
        """v = s2 / (1 + tau s2) (N,), the diagonal of Sigma."""
        return self.q.s2 / (1 + self.tau * self.q.s2)


def log_evidence(q, tau, nu, log_z):
    """ln Z_EP = sum_n (ln Z_n - ln I_n) + (nu^T mu - ln|I + C diag(tau)|) / 2.

    I_n is the integral of cavity times site. GPML (3.65) without its
    divisions by site precisions.
    """
    own = log_integral(q.m[:, None], q.s2, tau, nu[:, None])
    return float(np.sum(log_z - own) + 0.5 * (nu @ q.mu) - 0.5 * q.log_det)


def fit(
    C, t, likelihood=PROBIT, *, method="auto", tol=TOL, max_sweeps=200, **how
):
    """q(f) = N(mu, Sigma) matching all tilted moments, GPML algorithm 3.5.

    method: "auto" sweeps accelerated; where that fails, a few times carefully
    in sequence, accelerated again, and else in sequence to the end; or
    "accelerated", "parallel" (damping=1), "sequential" (damping=1,
    order=None). Ends when no cavity moves by more than tol.
    """
    C = validate.kernel_matrix(C)
    t = validate.binary_targets(t, len(C))
    tol, plan = validate.positive("tol", tol), _plan(method, how, len(C))
    if not max_sweeps >= 1:
        raise ValueError(f"max_sweeps must be at least 1; got {max_sweeps}")
    found = _fit(C, t, likelihood, plan, tol, max_sweeps, _prior(C))
    if not found.converged:
        warnings.warn(
            f"EP stopped after {len(found.trace)} sweeps; a cavity still "
            f"moved by {min(found.trace):.1e} of its standard deviation",
            NotConverged,
            stacklevel=2,
        )
    return found


def _fit(C, t, likelihood, plan, tol, max_sweeps, start):
    """`fit` of what has been validated, without its warning."""
    best, trace = (*start, np.inf), []
    last = best
    for update, most, options in plan:
        if not best[3] <= tol:
            sweeps = update(C, t, likelihood.average, last[:3], **options)
            last = _settle(sweeps, last[:3], tol, min(most, max_sweeps), trace)
            best = min(best, last, key=lambda state: state[3])
    tau, nu, q, change = best
    log_z = likelihood.average(q.m, q.s2, t)[0]
    value = log_evidence(q, tau, nu, log_z)
    settled, trace = bool(change <= tol), tuple(trace)
    return GPEP(tau, nu, q, value, settled, trace, log_z, t, likelihood)


def _plan(method, options, N=0):
    """What to try, one after the other, with how many sweeps at most."""
    if method != "auto" and method not in METHODS:
        names = ", ".join(METHODS)
        raise ValueError(
            f"method must be auto or one of {names}; got {method!r}"
        )
    known = OPTIONS.get(method, ())
    if unknown := sorted(set(options) - set(known)):
        raise ValueError(f"method {method!r} has no option {unknown[0]!r}")
    damping, order = options.get("damping", 1.0), options.get("order")
    if not 0 < damping <= 1:
        raise ValueError(f"damping must lie in (0, 1]; got {damping}")
    if order is not None and not np.array_equal(np.sort(order), np.arange(N)):
        raise ValueError(f"order must name each of {N} sites once")
    if method == "auto":
        cautious = {"damping": 0.5}
        return [
            (accelerated, np.inf, {}),
            (sequential, FEW, cautious),
            (accelerated, np.inf, {}),
            (sequential, np.inf, cautious),
        ]
    return [(METHODS[method], np.inf, options)]


def _prior(C, like=None):
    """tau = nu = 0 and q = N(0, C), its cavities the marginals or like's."""
    zero, s2 = np.zeros(len(C)), C.diagonal().copy()
    m, s2 = (zero, s2) if like is None else (like.m, np.minimum(like.s2, s2))
    q = Gaussian(np.zeros((1, len(C))), np.zeros(1), 0.0, zero, zero, m, s2)
    return zero, zero, q


def _settle(sweeps, start, tol, max_sweeps, trace):
    """The state of least change; ends at tol, in time, or out of patience."""
    best, stale = (*start, np.inf), 0
    try:
        for state, _ in zip(sweeps, range(max_sweeps), strict=False):
            trace.append(state[3])
            if state[2].A.dtype == np.float32:
                continue
            stale = 0 if state[3] < best[3] else stale + 1
            best = best if stale else state
            if best[3] <= tol or stale > PATIENCE:
                break
    except np.linalg.LinAlgError:
        if not trace:
            raise
    return best


# What a fit is good for.


def predict_latent(fit, c_star, c_ss):
    """m_* = c_*^T b, v_* = c_** - c_*^T R c_*, GPML (3.60) and (3.61).

    c_star (N, n) covariances with the inputs, c_ss (n,) prior variances.
    """
    c_star = validate.design(c_star, "c_star")
    N, n = len(fit.t), c_star.shape[1]
    if len(c_star) != N:
        raise ValueError(
            f"c_star must have {N} rows, one per target; got {len(c_star)}"
        )
    c_ss = validate.vector("c_ss", c_ss, n, "column of c_star")
    if np.any(c_ss < 0):
        raise ValueError(f"c_ss must hold variances; got {c_ss.min():.3g}")
    v = c_ss - fit.q.d @ (fit.q.A @ c_star) ** 2
    if np.any(v < -NEGATIVE * c_ss):
        raise ValueError(
            "c_star, c_ss and C must belong to one kernel; they give a "
            f"variance of {v.min():.3g}"
        )
    return c_star.T @ fit.q.b, np.maximum(v, 0.0)


def predict_proba(fit, c_star, c_ss):
    """p(C_1) = int p(t = 1 | f) N(f | m_*, v_*) df, GPML (3.63)."""
    m, v = predict_latent(fit, c_star, c_ss)
    return np.exp(fit.likelihood.average(m, v, 1)[0])


def evidence_gradient(fit):
    """G = (1/2) (b b^T - R): d ln Z_EP = tr(G dC), GPML (5.27).

    Sites and cavities may be held fixed: ln Z_EP is stationary in both.
    """
    A, d = fit.q.A, fit.q.d
    if np.all(d == 1):  # A is lower triangular
        R, _ = dlauum(A, lower=1)
        R += np.tril(R, -1).T
    else:
        R = A.T @ (d[:, None] * A)
    G = np.multiply.outer(fit.q.b, fit.q.b / 2)
    G -= R / 2
    return G


def inference(t, likelihood=PROBIT, *, tol=1e-5, max_sweeps=200):
    """C -> (ln Z_EP, G) with d ln Z_EP = tr(G dC), GPML (5.27).

    For `gaussian_process.optimise`, which steps back after a LinAlgError. Each
    call starts from the cavities of the last, a hyperparameter's step away;
    what it finds depends on them by no more than tol.
    """
    t, plan, last = validate.binary_targets(t, len(t)), _plan("auto", {}), []

    def at(C):
        start = _prior(C, *last[-1:])
        found = _fit(C, t, likelihood, plan, tol, max_sweeps, start)
        if not found.converged:
            raise np.linalg.LinAlgError("EP did not converge")
        last[:] = [found.q]
        return found.log_evidence, evidence_gradient(found)

    return at


# Likelihoods that forgive.


def flipped(likelihood, epsilon):
    """p(t|f) <- eps + (1 - 2 eps) p(t|f): labels wrong with chance eps.

    PRML (4.117). Not log-concave: sites may get negative precisions.
    """
    epsilon = validate.flip_probability(epsilon)

    def log_p(f, t, order=2):
        return _forgiven(*likelihood.log_p(f, t, 2), epsilon)[: order + 1]

    def average(m, s2, t):
        return _forgiven(*likelihood.average(m, s2, t), epsilon)

    name = f"{likelihood.name}, flipped"
    return Likelihood(name, log_p, average)


def _forgiven(value, d1, d2, epsilon):
    """ln(eps + (1 - 2 eps) e^value) and derivatives, h the honest share."""
    honest = np.log1p(-2 * epsilon) + value
    total = np.logaddexp(np.log(epsilon) if epsilon else -np.inf, honest)
    h = np.exp(honest - total)
    return total, h * d1, h * (d2 + (1 - h) * d1**2)
