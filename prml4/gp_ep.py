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
kernels. C is never inverted, and nothing is divided by a site precision,
which may be zero, or negative if the likelihood is not log-concave.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.lapack import dlauum, get_lapack_funcs

from prml4 import validate
from prml4.ep import cavity, log_integral, site
from prml4.likelihoods import PROBIT, Likelihood
from prml4.newton import NotConverged

TOL = 1e-7  # change of a cavity in a sweep, in its own standard deviations
MEMORY = 8  # earlier sweeps that an accelerated one combines
PATIENCE = 40  # sweeps without progress before updates become cautious
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


def log_evidence(q, tau, nu, log_z):
    """ln Z_EP = sum_n (ln Z_n - ln I_n) + (nu^T mu - ln|I + C diag(tau)|) / 2.

    I_n is the integral of cavity times site. GPML (3.65) without its
    divisions by site precisions.
    """
    own = log_integral(q.m[:, None], q.s2, tau, nu[:, None])
    return float(np.sum(log_z - own) + 0.5 * (nu @ q.mu) - 0.5 * q.log_det)


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


def fit(
    C, t, likelihood=PROBIT, *, method="auto", tol=TOL, max_sweeps=200, **how
):
    """q(f) = N(mu, Sigma) matching all tilted moments, GPML algorithm 3.5.

    method: "auto" sweeps accelerated, and carefully in sequence where that
    fails to contract; or "accelerated", "parallel" (damping=1), "sequential"
    (damping=1, order=None). Ends when no cavity moves by more than tol.
    """
    C = validate.kernel_matrix(C)
    t = validate.binary_targets(t, len(C))
    plan = _plan(method, how)
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
    for update, options in plan:
        if not best[3] <= tol:
            sweeps = update(C, t, likelihood.average, best[:3], **options)
            last = _settle(sweeps, best[:3], tol, max_sweeps, trace)
            best = min(best, last, key=lambda state: state[3])
    tau, nu, q, change = best
    log_z = likelihood.average(q.m, q.s2, t)[0]
    value = log_evidence(q, tau, nu, log_z)
    settled, trace = bool(change <= tol), tuple(trace)
    return GPEP(tau, nu, q, value, settled, trace, log_z, t, likelihood)


def _plan(method, options):
    """What to try, one after the other."""
    if method == "auto":
        return [(accelerated, options), (sequential, {"damping": 0.5})]
    if method in METHODS:
        return [(METHODS[method], options)]
    names = ", ".join(METHODS)
    raise ValueError(f"method must be auto or one of {names}; got {method!r}")


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
    v = c_ss - fit.q.d @ (fit.q.A @ c_star) ** 2
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
    plan, last = _plan("auto", {}), []

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
