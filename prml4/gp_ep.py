"""Gaussian process classification by expectation propagation, GPML 3.6.

    C      (N, N)  kernel matrix, covariance of the prior N(f | 0, C)
    t      (N,)    targets in {0, 1}
    tau    (N,)    site precisions: t_n(f_n) = c_n exp(nu f_n - tau f_n^2 / 2)
    nu     (N,)    site precisions times site means
    mu, v  (N,)    marginals of q(f) = N(f | mu, Sigma), v = diag Sigma
    m, s2  (N,)    cavities: marginals of q without the site of their own
    b      (N,)    C^{-1} mu = nu - tau mu, the weights of a prediction
    R      (N, N)  (C + diag(1 / tau))^{-1} = A^T diag(d) A, finite for tau = 0

Only C, t and a likelihood with `average(m, s2, t)` come in: EP knows no
kernels. Cavities and sites are those of chapter `ep`, predictions those of
any `gaussian_process.Posterior`. C is never inverted, and nothing is divided
by a site precision, which may be zero, or negative if the likelihood is not
log-concave.
"""

import warnings
from dataclasses import dataclass
from functools import partial
from itertools import count, islice

import numpy as np
from scipy.linalg.lapack import dlauum

from prml4.ep import cavity, log_integral, site
from prml4.gaussian_process import Posterior
from prml4.gaussian_process import posterior_covariance as posterior_covariance
from prml4.gaussian_process import predict as predict
from prml4.gaussian_process import predict_latent as predict_latent
from prml4.gaussian_process import predict_proba as predict_proba
from prml4.models.likelihoods import LOGISTIC, Likelihood
from prml4.numerics import linalg, validate
from prml4.numerics.newton import NotConverged

TOL = 1e-7  # change of a cavity in a sweep, in its own standard deviations
WEAK = {"float64": 1e-4, "float32": 1e-2}  # tau C_nn, lost of 1 - (B^{-1})_nn
MEMORY = 8  # earlier sweeps that an accelerated one combines
REACH = 2.0  # how far ln s2 may be extrapolated
LARGE = 256  # values from which the first sweeps are in single precision,
ROUGH = 1e-2  # until no cavity moves by more than this,
FIRST = 8  # but no more of them than these
FEW = 8  # cautious sweeps before acceleration is tried once more
PATIENCE = 40  # sweeps without progress before updates become cautious
TINY = 1e-300  # a variance of 0, where its logarithm is taken


@dataclass(frozen=True, eq=False)
class Gaussian(Posterior):
    """q(f) = N(f | mu, Sigma), Sigma = C - C R C: `Posterior` with its sites.

    tau              (N,)    site precisions
    nu               (N,)    site precisions times means
    cavity_mean      (N,)    m
    cavity_variance  (N,)    s2, not positive where a cavity is improper
    root             (N, N)  A with R = A^T diag(d) A
    scale            (N,)    d, ones unless a site precision is negative
    log_det                  ln|I + C diag(tau)|
    """

    tau: np.ndarray
    nu: np.ndarray
    cavity_mean: np.ndarray
    cavity_variance: np.ndarray
    root: np.ndarray
    scale: np.ndarray
    log_det: float

    @property
    def variance(self):
        """v = s2 / (1 + tau s2) (N,), the diagonal of Sigma."""
        return self.cavity_variance / (1 + self.tau * self.cavity_variance)

    def halves(self, c):
        """A c and diag(d) A c."""
        V = self.root @ c
        return V, V if np.all(self.scale == 1) else self.scale[:, None] * V


@dataclass(frozen=True, eq=False)
class GPEP(Gaussian):
    """Where the sites settled, and whether to trust them: `Gaussian` with

    log_z            (N,)    ln of the tilted normalisers
    log_evidence             ln Z_EP
    t                (N,)    targets
    likelihood               LOGISTIC, PROBIT, ...
    residual                 largest inconsistency of tilted moments and q
    converged                whether no cavity moved by more than tol, and the
                             residual is at most tol^(1/2)
    trace            (S,)    largest change of a cavity, sweep by sweep
    """

    log_z: np.ndarray
    log_evidence: float
    t: np.ndarray
    likelihood: Likelihood
    residual: float
    converged: bool
    trace: tuple[float, ...]


# The algorithm: each way to sweep is a generator of (q, change).


def sequential(C, t, average, q, damping=1.0, order=None):
    """tau_n, nu_n <- those of its tilted moments, GPML algorithm 3.5.

    Rounding accumulates in the rank-one updates: lines 13 to 15 compute q
    afresh. damping is the share of a step that is taken; where cavities do not
    feel other sites, what is left of the steps says how far they are.
    """
    for k in count(1):  # line 3
        U, V = q.halves(C)
        Sigma, mu, tau, nu = C - U.T @ V, q.mean.copy(), +q.tau, +q.nu
        for n in range(len(C)) if order is None else order:  # line 4
            m, s2 = cavity(mu[n], Sigma[n, n], tau[n], nu[n])  # lines 5, 6
            if not (0 <= s2 < np.inf and np.isfinite(m)):
                continue
            _, d1, d2 = average(m, s2, t[n])  # line 7
            new = site(m, s2, d1, d2)
            step = damping * (new[0] - tau[n]), damping * (new[1] - nu[n])
            tau[n], nu[n] = tau[n] + step[0], nu[n] + step[1]  # lines 8, 9
            rank_one(Sigma, mu, n, *step)  # lines 10, 11
        m, s2, q = q.cavity_mean, q.cavity_variance, posterior(C, tau, nu)
        moved = _moved(C, m, s2, q) / damping  # lines 13 to 15 made q
        yield q, max(moved, (1 - damping) ** k)


def rank_one(Sigma, mu, n, dtau, dnu):
    """Sigma <- Sigma - s s^T dtau / (1 + dtau Sigma_nn), mu, GPML (3.70).

    After tau_n += dtau and nu_n += dnu, in place; s the n-th column of Sigma.
    """
    s = Sigma[:, n].copy()
    shrink = 1 + dtau * s[n]
    mu += s * ((dnu - dtau * mu[n]) / shrink)
    Sigma -= np.multiply.outer(s * (dtau / shrink), s)


def parallel(C, t, average, q, damping=1.0):
    """tau, nu <- those of all tilted distributions at once, then Sigma, mu.

    A site whose cavity is improper stays as it is.
    """
    for k in count(1):
        m, s2, tau, nu = q.cavity_mean, q.cavity_variance, +q.tau, +q.nu
        ok = s2 >= 0
        new = site(m[ok], s2[ok], *average(m[ok], s2[ok], t[ok])[1:])
        tau[ok] += damping * (new[0] - tau[ok])
        nu[ok] += damping * (new[1] - nu[ok])
        q = posterior(C, tau, nu)
        yield q, max(_moved(C, m, s2, q) / damping, (1 - damping) ** k)


def _moved(C, m, s2, q):
    """How far the cavities of q are from N(m, s2)."""
    return _apart(C, q.cavity_mean, q.cavity_variance, m, s2)


def _apart(C, m, v, m_t, v_t):
    """Largest |m_t - m| / v^(1/2) or |ln v_t / v|; inf if one is improper.

    Where C_nn = 0 nothing can move.
    """
    m, v, m_t, v_t = np.array([m, v, m_t, v_t])[:, C.diagonal() > 0]
    if not (np.all(v > 0) and np.all(v_t > 0)):
        return np.inf
    gaps = np.abs(m_t - m) / np.sqrt(v), np.abs(np.log(v_t / v))
    return float(np.max(gaps, initial=0.0))


def posterior(C, tau, nu):
    """Sigma = (C^{-1} + diag(tau))^{-1} = C - C R C, mu = Sigma nu, GPML 3.6.

    B = J + T C T, T = sqrt|tau|, J the signs of tau. For tau >= 0: B = L L^T,
    A = L^{-1} T, and one triangular inverse gives all variances at once: k =
    (B^{-1})_nn = 1 - tau_n v_n is a sum of squares down a column. Else q is
    proper if and only if B has as many negative eigenvalues as there are
    negative precisions (Sylvester's law of inertia).
    """
    T, J = np.sqrt(np.abs(tau)).astype(C.dtype), np.where(tau < 0, -1.0, 1.0)
    A, d, log_det = linalg.inverse_root(linalg.scaled(C, T, J), np.sum(J < 0))
    k = J * np.einsum("ij,ij->j", A, A if J.min() > 0 else d[:, None] * A)
    A *= T
    b = nu - A.T @ (d * (A @ (C @ nu.astype(C.dtype))))
    mu = C @ b.astype(C.dtype)
    weak = np.abs(tau) * C.diagonal() < WEAK[C.dtype.name]
    s2 = (1 - k) / np.where(weak, 1.0, k * tau)
    if weak.any():  # there 1 - k cancels, and v_n = C_nn - c_n^T R c_n not
        v = C.diagonal()[weak] - d @ (A @ C[:, weak]) ** 2
        s2[weak] = v / (1 - tau[weak] * v)
    if not np.isfinite([mu, s2]).all():
        raise validate.Indefinite(
            "C must leave digits to the cavities; got none: scale it down"
        )
    return Gaussian(mu, b, +tau, +nu, mu - s2 * b, s2, A, d, log_det)


# The same fixed point in fewer sweeps.


def accelerated(C, t, average, q):
    """x <- sum_k alpha_k g(x_k), alpha = argmin |sum alpha_k f_k|, `anderson`.

    x = (ln s2, m) holds the cavities, g(x) those after a parallel sweep, and
    f = g - x. Mixed variances are positive: their logarithms are mixed. The
    first sweeps are in single precision: they only show the way.
    """
    N, m, past, least = len(t), q.cavity_mean, [], np.inf
    s2, prior = np.maximum([q.cavity_variance, C.diagonal()], TINY)
    low = C.astype(np.float32) if N >= LARGE else None
    for k in count():
        tau, nu = site(m, s2, *average(m, s2, t)[1:])
        q = k < FIRST and least > ROUGH and _rough(low, tau, nu)
        if not q:
            q, low = posterior(C, tau, nu), None
        change = _moved(C, m, s2, q)
        yield q, change
        proper = q.cavity_variance > 0
        s2_new = np.where(proper, q.cavity_variance, s2)
        g = np.r_[np.log(s2_new), np.where(proper, q.cavity_mean, m)]
        past, least = past[-MEMORY:], min(least, change)
        past.append((g - np.r_[np.log(s2), m], g))
        x = anderson(past, np.r_[np.ones(N), 1 / np.sqrt(s2_new)])
        top = np.minimum(g[:N] + REACH, np.log(prior))
        x = np.r_[np.clip(x[:N], g[:N] - REACH, np.maximum(g[:N], top)), x[N:]]
        s2, m = np.exp(x[:N]), x[N:]


def _rough(C, tau, nu):
    """`posterior` in single precision, None where that does not do."""
    try:
        return None if C is None else posterior(C, tau, nu)
    except np.linalg.LinAlgError:
        return None


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


# The fit.


def fit(
    C, t, *, likelihood=LOGISTIC, method="accelerated", damping=1.0,
    order=None, tol=TOL, max_iter=500,
):  # fmt: skip
    """q(f) = N(mu, Sigma) matching all tilted moments, GPML algorithm 3.5.

    method: "accelerated" sweeps; where that fails, a few times carefully in
    sequence, accelerated again, and else in sequence to the end. Or "parallel"
    (damping), "sequential" (damping, order), nothing else. max_iter counts
    sweeps; they end when no cavity moves by more than tol. Rounding moves them
    by more where C is 1e9 and singular: `ep.fit` serves such weights.
    """
    C = validate.kernel_matrix(C)
    t = validate.binary_targets(t, len(C))
    validate.fitted(likelihood, Likelihood, name="likelihood")
    plan = _plan(method, validate.damping(damping), order, len(C))
    tol = validate.positive("tol", tol)
    most = validate.whole("max_iter", max_iter)
    found = _fit(C, t, likelihood, plan, tol, most, _prior(C))
    if not found.converged:
        warnings.warn(
            f"EP stopped after {len(found.trace)} sweeps with tilted moments "
            f"{found.residual:.1e} away from those of q",
            NotConverged,
            stacklevel=2,
        )
    return found


def _plan(method="accelerated", damping=1.0, order=None, N=0):
    """Pairs (way to sweep, sweeps at most) to try one after the other."""
    validate.choice("method", method, ("accelerated", "parallel", "sequential"))
    if order is not None and method != "sequential":
        raise ValueError(f"order must be None for method {method!r}; got one")
    if damping < 1 and method == "accelerated":
        raise ValueError(f"damping must be 1 for {method!r}; got {damping}")
    if method == "parallel":
        return [(partial(parallel, damping=damping), np.inf)]
    if method == "sequential":
        order = validate.permutation(order, N)
        return [(partial(sequential, damping=damping, order=order), np.inf)]
    careful = partial(sequential, damping=0.5)
    return [(accelerated, np.inf), (careful, FEW)] * 2 + [(careful, np.inf)]


@np.errstate(all="ignore")
def _fit(C, t, likelihood, plan, tol, max_iter, q):
    """`fit` of what has been validated, without its warning.

    Where something overflows the change is infinite, or nothing is proper.
    """
    best, change, trace = q, np.inf, []
    for method, most in plan:
        most = min(most, max_iter - len(trace))
        if change > tol and most > 0:
            sweeps = islice(method(C, t, likelihood.average, q), most)
            q, least = _settle(sweeps, q, tol, trace)
            best, change = (q, least) if least < change else (best, change)
    m, s2 = best.cavity_mean, best.cavity_variance
    log_z, d1, d2 = likelihood.average(m, s2, t)
    m_t, v_t = m + s2 * d1, s2 * (1 + s2 * d2)  # moments of the tilted
    residual = _apart(C, best.mean, best.variance, m_t, v_t)
    return GPEP(
        **vars(best), log_z=log_z, log_evidence=log_evidence(best, log_z),
        t=+t, likelihood=likelihood, residual=residual,
        converged=bool(change <= tol and residual <= np.sqrt(tol)),
        trace=tuple(trace),
    )  # fmt: skip


def _prior(C, cavities=None):
    """tau = nu = 0 and q = N(0, C), its cavities the marginals or narrower."""
    zero, s2 = np.zeros(len(C)), C.diagonal().copy()
    m, near = (zero, s2) if cavities is None else cavities
    narrow = m, np.minimum(near, s2)
    A = np.zeros((1, len(C)))
    return Gaussian(zero, zero, zero, zero, *narrow, A, np.zeros(1), 0.0)


def _settle(sweeps, q, tol, trace):
    """q of least change; ends at tol, in time, or out of patience."""
    least, stale = np.inf, 0
    try:
        for new, change in sweeps:
            trace.append(change)
            if new.root.dtype == np.float32:  # never an answer
                continue
            stale = 0 if change < least else stale + 1
            q, least = (q, least) if stale else (new, change)
            if least <= tol or stale > PATIENCE:
                break
    except np.linalg.LinAlgError:
        if not trace:
            raise
    return q, least


# The evidence.


def log_evidence(q, log_z):
    """ln Z_EP = sum_n (ln Z_n - ln I_n) + (nu^T mu - ln|I + C diag(tau)|) / 2.

    I_n is the integral of cavity times site. GPML (3.65) without its
    divisions by site precisions.
    """
    m, nu = q.cavity_mean[:, None], q.nu[:, None]
    own = log_integral(m, q.cavity_variance, q.tau, nu)
    return float(np.sum(log_z - own) + 0.5 * (q.nu @ q.mean) - 0.5 * q.log_det)


def evidence_gradient(fit):
    """G = (1/2) (b b^T - R): d ln Z_EP = tr(G dC), GPML (5.27).

    Sites and cavities may be held fixed: ln Z_EP is stationary in both.
    """
    validate.fitted(fit, Gaussian)
    A, d = fit.root, fit.scale
    if np.all(d == 1):  # A is lower triangular
        R = linalg.mirrored(dlauum(A, lower=1)[0])
    else:
        R = A.T @ (d[:, None] * A)
    return (np.multiply.outer(fit.dual, fit.dual) - R) / 2


def inference(t, likelihood=LOGISTIC, *, tol=1e-5, max_iter=500):
    """C -> (ln Z_EP, G, cavities) with d ln Z_EP = tr(G dC), GPML (5.27).

    For `gaussian_process.optimise`, which steps back after a LinAlgError and
    hands the cavities on to the next C, a hyperparameter's step away: what is
    found there depends on them by no more than tol.
    """
    t = validate.binary_targets(t, np.size(t)).copy()

    def at(C, cavities=None):
        targets = validate.one_each("t", t, len(C), "row of C")
        start = _prior(C, cavities)
        found = _fit(C, targets, likelihood, _plan(), tol, max_iter, start)
        if not found.converged:
            raise np.linalg.LinAlgError("EP did not converge")
        cavities = found.cavity_mean, found.cavity_variance
        return found.log_evidence, evidence_gradient(found), cavities

    return at
