"""Assumed-density filtering and expectation propagation, PRML 10.7.

Phi   (N, M)  design matrix, t (N,) in {0, 1}, factors f_n(a_n), a_n = phi_n^T w
alpha (M,)    prior precisions of the weights w, all > 0
m, S          q(w) = N(w | m, S)
tau   (N,)    site precisions, of either sign
nu    (N,)    site precision-means

Site n is c_n exp(nu_n a_n - tau_n a_n^2 / 2). The *cavity* is q without site
n, the *tilted* distribution the cavity times the exact factor f_n; their
moments end in _c and _t, those of q in nothing. A factor is known by its
likelihood.average: (m_c, v_c, t_n) -> ln Z and two derivatives by m_c. The
clutter problem, with sites in D dimensions, is in `clutter`.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky

from prml4.models.likelihoods import LOGISTIC, Likelihood
from prml4.numerics import validate
from prml4.numerics.newton import NotConverged
from prml4.numerics.result import Result

TOL = 1e-9  # tilted moments against those of q, in units of q's own spread
SWEEPS = 200  # at most


class ImproperCavity(UserWarning):
    """Without one site q is no Gaussian, and so that site cannot be mended."""


@dataclass(frozen=True, eq=False)
class Filtered(Result):
    """What assumed-density filtering believes at the end of its data.

    m             (M,)    mean
    S             (M, M)  covariance, or the variance v of v I
    log_Z         (S,)    ln Z of every step, in the order of the steps
    log_evidence          their sum
    likelihood            of the classifier; None for clutter
    """

    m: np.ndarray
    S: np.ndarray | float
    log_Z: np.ndarray
    log_evidence: float
    likelihood: Likelihood | None = None


@dataclass(frozen=True, eq=False)
class EP(Result):
    """The last q and its sites, and whether to trust them.

    m             (M,)    mean of q
    S             (M, M)  covariance, or the variance v of v I
    tau           (N,)    site precisions
    nu            (N,)    site precision-means, (N, D) of clutter
    log_evidence          ln Z_EP; NaN if a cavity is improper
    converged             whether the last inconsistency was at most tol
    trace         (K,)    largest inconsistency met in every sweep
    improper              sites whose cavity is no Gaussian
    likelihood            of the classifier; None for clutter
    """

    m: np.ndarray
    S: np.ndarray | float
    tau: np.ndarray
    nu: np.ndarray
    log_evidence: float
    converged: bool
    trace: tuple[float, ...]
    improper: tuple[int, ...]
    likelihood: Likelihood | None = None


# Gaussians and their moments.


def projected(m, v, gradient, slope):
    """m + v grad_m ln Z, v - (v^2/D)(|grad_m ln Z|^2 - 2 d ln Z / dv).

    Mean and mean variance of N(m, v I) times any factor, Minka (2001).
    """
    gap = gradient @ gradient - 2 * slope
    return m + v * gradient, v - v**2 / len(m) * gap


def log_integral(m, v, tau, nu):
    """ln of int N(x | m, v I) exp(nu^T x - tau |x|^2 / 2) dx, v tau > -1.

    Completing the square, PRML (2.115); m and nu end in an axis D.
    """
    k = 1 + v * tau
    square = 2 * dot(m, nu) + v * dot(nu, nu) - tau * dot(m, m)
    return square / (2 * k) - np.shape(nu)[-1] / 2 * np.log(k)


def site(m_c, v_c, d1, d2):
    """tau = -d2 / (1 + v_c d2), nu = (d1 - m_c d2) / (1 + v_c d2), GPML 3.6.

    They equal 1/v_t - 1/v_c and m_t/v_t - m_c/v_c, and serve v_c = 0 as well.
    """
    k = 1 + v_c * d2
    return -d2 / k, (d1 - m_c * d2) / k


def cavity(m, v, tau, nu):
    """m_c = (m - v nu) / (1 - v tau), v_c = v / (1 - v tau), GPML (3.56)."""
    k = 1 - v * tau
    return (m - v * nu) / k, v / k


def inconsistency(m_t, v_t, m, v):
    """max{|m_t - m| / v^(1/2), |v_t / v - 1|}: 0 if q has tilted moments.

    Infinite if q is no Gaussian, 0 if v = 0: then nothing is left to match.
    """
    if not v > 0:
        return 0.0 if v == 0 else np.inf
    gap = np.max(np.abs(m_t - m)) / np.sqrt(v)
    return float(np.maximum(gap, abs(v_t / v - 1)))  # NaN stays NaN


def dot(x, y):
    """x^T y = sum_i x_i y_i along the last axis."""
    return np.sum(np.multiply(x, y), axis=-1)


def moments_on_grid(log_p, grid):
    """ln Z, mean and variance: sums of p, x p, x^2 p over an even 1-D grid."""
    log_p, grid = validate.grid(log_p, grid)
    h, top = (grid[-1] - grid[0]) / (len(grid) - 1), np.max(log_p)
    p = np.exp(log_p - top)
    Z = p.sum()
    mean = p @ grid / Z
    return top + np.log(Z * h), mean, p @ (grid - mean) ** 2 / Z


# Classifiers.


def adf(Phi, t, *, alpha=1.0, order=None, likelihood=LOGISTIC):
    """m + S phi d1, S + S phi phi^T S d2, row after row, Minka (2001).

    `order` lists the rows as they arrive. ln p(t) is near sum ln Z.
    """
    Phi, t, alpha = _problem(Phi, t, alpha)
    order = validate.rows(order, len(t))
    validate.fitted(likelihood, Likelihood, name="likelihood")
    m, S, log_Z = np.zeros(len(alpha)), np.diag(1 / alpha), []
    for n in order:
        g = S @ Phi[n]
        step, d1, d2 = _terms(likelihood, Phi[n] @ m, Phi[n] @ g, t[n])
        m, S = m + g * d1, S + np.outer(g, g) * d2
        log_Z.append(float(step))
    total = float(np.sum(log_Z))
    return Filtered(m, S, np.array(log_Z), total, likelihood)


def fit(
    Phi, t, *, alpha=1.0, likelihood=LOGISTIC, order=None, damping=1.0,
    tol=TOL, max_iter=SWEEPS,
):  # fmt: skip
    """q = N(w | 0, A^{-1}) prod_n site_n(phi_n^T w), all moments consistent.

    PRML 10.7 and Minka (2001): rank-one updates, and q renewed from its sites
    after every sweep.
    """
    Phi, t, alpha = _problem(Phi, t, alpha)
    order = validate.permutation(order, len(t))
    q = _Weights(Phi, t, alpha, likelihood, validate.damping(damping))
    trace = sweep(q.visit, order, tol, max_iter, q.renew)
    improper = np.flatnonzero(~(q.cavities()[1] >= 0))
    evidence = np.nan if improper.size else q.log_evidence()
    parts = q.m, q.S, q.tau, q.nu, evidence, trace, tol, improper
    return result(*parts, likelihood)


def predict_proba(fit, Phi):
    """int p(t|a) N(a | phi^T m, phi^T S phi) da for t = 0, 1, PRML (4.151)."""
    if validate.fitted(fit, EP, Filtered).likelihood is None:
        raise ValueError("fit must be of classes to predict one; got clutter")
    Phi = validate.columns(Phi, len(fit.m))
    return fit.likelihood.predictive(Phi @ fit.m, dot(Phi @ fit.S, Phi))


def predict(fit, Phi):
    """argmax_k p(C_k), class numbers (N,)."""
    return predict_proba(fit, Phi).argmax(axis=1)


class _Weights:
    """q(w) = N(m, S) while its sites change."""

    def __init__(self, Phi, t, alpha, likelihood, damping):
        validate.fitted(likelihood, Likelihood, name="likelihood")
        self.Phi, self.t, self.alpha = Phi, t, alpha
        self.likelihood, self.damping = likelihood, damping
        self.tau, self.nu = np.zeros(len(t)), np.zeros(len(t))
        self.renew()

    def renew(self):
        """S = (A + Phi^T diag(tau) Phi)^{-1}, m = S Phi^T nu."""
        P = np.diag(self.alpha) + (self.Phi.T * self.tau) @ self.Phi
        self.L = cholesky(P, lower=True)
        self.S = cho_solve((self.L, True), np.eye(len(P)))
        self.m = self.S @ (self.Phi.T @ self.nu)

    def visit(self, n):
        """Site n anew, and S by the formula of Sherman and Morrison (1950)."""
        phi, tau, nu = self.Phi[n], self.tau[n], self.nu[n]
        g = self.S @ phi
        m, v = phi @ self.m, phi @ g
        m_c, v_c = cavity(m, v, tau, nu)
        if not v_c >= 0:
            return np.inf
        _, d1, d2 = _terms(self.likelihood, m_c, v_c, self.t[n])
        new = site(m_c, v_c, d1, d2)
        up, push = self.damping * (np.array(new) - [tau, nu])
        k = 1 + up * v
        self.m = self.m + g * ((push - up * m) / k)
        self.S = self.S - np.outer(g, g) * (up / k)
        self.tau[n], self.nu[n] = tau + up, nu + push
        return inconsistency(m_c + v_c * d1, v_c * (1 + v_c * d2), m, v)

    def cavities(self):
        """m_c, v_c of all a_n."""
        v = dot(self.Phi @ self.S, self.Phi)
        return cavity(self.Phi @ self.m, v, self.tau, self.nu)

    def log_evidence(self):
        """sum ln c_n + ln int N(w | 0, A^{-1}) prod_n e^{...} dw."""
        m_c, v_c = self.cavities()
        log_Z, _, _ = self.likelihood.average(m_c, v_c, self.t)
        columns = m_c[:, None], v_c, self.tau, self.nu[:, None]
        scales = log_Z - log_integral(*columns)
        whole = np.sum(np.log(self.alpha)) / 2 - np.log(np.diag(self.L)).sum()
        return float(scales.sum() + whole + self.nu @ (self.Phi @ self.m) / 2)


# What this and the clutter problem have in common.


def sweep(visit, order, tol, max_iter, renew=lambda: None):
    """max_n visit(n) of every sweep, until <= tol: the last decides.

    A visit returns the inconsistency that it found, not how far it moved.
    """
    trace, (tol, most) = [], validate.stopping(tol, max_iter).values()
    for _ in range(most):
        trace.append(float(np.max([visit(n) for n in order])))
        renew()
        if trace[-1] <= tol:
            break
    return tuple(trace)


def result(m, S, tau, nu, value, trace, tol, improper, likelihood=None):
    """EP(...) and, unless trace[-1] <= tol, a warning that says why."""
    improper = tuple(int(n) for n in improper)
    converged = trace[-1] <= tol and not improper
    if not converged:
        text = f"EP stopped after {len(trace)} sweeps with tilted moments "
        text += f"{trace[-1]:.1e} away from those of q, not {tol:.1e}"
        if improper:
            text += f"; the cavities of sites {improper} are no Gaussians"
        kind = ImproperCavity if improper else NotConverged
        warnings.warn(f"{text}; try damping < 1", kind, stacklevel=3)
    return EP(m, S, tau, nu, value, converged, trace, improper, likelihood)


def _terms(likelihood, m, v, t):
    """ln Z and its derivatives d1, d2, or ValueError unless they are finite."""
    log_Z, d1, d2 = likelihood.average(m, v, t)
    if not np.isfinite(d1 + d2):
        raise ValueError(
            f"likelihood must give finite derivatives; got {d1} and {d2} for "
            f"N({m:g}, {v:g}) and t = {t:g}"
        )
    return log_Z, d1, d2


def _problem(Phi, t, alpha):
    """Phi, t, alpha of a classifier with a proper prior."""
    Phi, t, _ = validate.two_classes(Phi, t)
    alpha = validate.precisions(alpha, Phi.shape[1], proper=True)
    with np.errstate(over="ignore"):
        validate.finite("Phi / alpha", Phi / alpha)
    return Phi, t, alpha
