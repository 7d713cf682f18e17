"""The clutter problem by moment matching, PRML 10.7.1, with chapter `ep`.

theta (D,)    unknown centre, prior N(theta | 0, b I)
X     (N, D)  observations: a share w of them is clutter from N(0, a I)
m, v          q = N(theta | m, v I)
tau   (N,)    site precisions, of either sign
nu    (N, D)  site precision-means

Site n is c_n exp(nu_n^T theta - tau_n |theta|^2 / 2). Cavity and tilted
distribution as in `ep`; their moments end in _c and _t.
"""

from dataclasses import dataclass

import numpy as np

from prml4 import ep
from prml4.ep import dot, log_integral
from prml4.numerics import validate

LOG_2PI = np.log(2 * np.pi)


@dataclass(frozen=True)
class World:
    """(1 - w) N(x | theta, I) + w N(x | 0, a I), PRML (10.209).

    w  share of clutter, 0 <= w < 1
    a  its variance
    b  variance of the prior of theta
    """

    w: float = 0.5
    a: float = 10.0
    b: float = 100.0

    def __post_init__(self):
        w = validate.number("w", self.w, lambda w: 0 <= w < 1, "lie in [0, 1)")
        object.__setattr__(self, "w", w)
        for name in "ab":
            value = validate.positive(name, getattr(self, name))
            object.__setattr__(self, name, value)


# The exact model.


def draw(rng, N, theta, world):
    """x_n ~ (1 - w) N(theta, I) + w N(0, a I): X (N, D), PRML (10.209)."""
    validate.fitted(rng, np.random.Generator, name="rng")
    theta = np.atleast_1d(validate.real("theta", theta))
    theta = validate.vector("theta", theta, theta.size, "dimension")
    N = validate.whole("N", N, 0)
    validate.fitted(world, World, name="world")
    noise = rng.standard_normal((N, len(theta)))
    junk = rng.random((N, 1)) < world.w
    return np.where(junk, np.sqrt(world.a) * noise, theta + noise)


def log_gauss(x, m, v):
    """ln N(x | m, v I) for x (..., D), PRML (2.43)."""
    d = np.asarray(x) - m
    return -dot(d, d) / (2 * v) - d.shape[-1] / 2 * (LOG_2PI + np.log(v))


def log_factor(theta, x, world):
    """ln{(1 - w) N(x | theta, I) + w N(x | 0, a I)}, PRML (10.209)."""
    return np.logaddexp(*_parts(x, theta, 1.0, world))


def log_joint(theta, X, world):
    """ln p(theta) + sum_n ln f_n(theta), theta (..., D), PRML (10.211)."""
    X, _ = validate.design(X, "X"), validate.fitted(world, World, name="world")
    theta = validate.arguments(theta, X.shape[1])
    prior = log_gauss(theta, 0.0, world.b)
    return prior + sum(log_factor(theta, x, world) for x in X)


def _parts(x, m, v, world):
    """ln of (1 - w) N(x | m, v I) and of w N(x | 0, a I)."""
    junk = np.log(world.w) if world.w > 0 else -np.inf
    good = np.log1p(-world.w) + log_gauss(x, m, v)
    return good, junk + log_gauss(x, 0.0, world.a)


# One factor.


def tilted(x, m, v, world):
    """ln Z, rho, m_t, v_t of N(theta | m, v I) f(theta), PRML (10.216) ff.

    rho is the probability that x is no clutter.
    """
    good, junk = _parts(x, m, v + 1, world)
    log_Z = np.logaddexp(good, junk)
    rho, rest = np.exp(good - log_Z), np.exp(junk - log_Z)
    d = x - m
    far = dot(d, d) / len(d) * (v / (v + 1)) ** 2
    v_t = v * (rest + rho / (v + 1)) + rho * rest * far
    return log_Z, rho, m + rho * v / (v + 1) * d, v_t


def adf(X, world, order=None):
    """m, v <- moments of N(m, v I) f_n, row after row, Minka (2001).

    `order` lists the rows as they arrive. ln p(X) is near sum ln Z.
    """
    X, _ = validate.design(X, "X"), validate.fitted(world, World, name="world")
    m, v, log_Z = np.zeros(X.shape[1]), world.b, []
    for n in validate.rows(order, len(X)):
        step, _, m, v = tilted(X[n], m, v, world)
        log_Z.append(step)
    return ep.Filtered(m, v, np.array(log_Z), float(np.sum(log_Z)))


# All factors.


def posterior(tau, nu, world):
    """m, v of N(theta | 0, b I) prod_n site_n: 1/v = 1/b + sum_n tau_n."""
    v = 1 / (1 / world.b + np.sum(tau))
    return v * np.sum(nu, axis=0), v


def cavity(n, tau, nu, world):
    """m_c, v_c: 1/v_c = 1/v - tau_n, m_c/v_c = m/v - nu_n, PRML (10.215)."""
    others = np.arange(len(tau)) != n
    return posterior(tau[others], nu[others], world)


def update(n, tau, nu, X, world, damping=1.0):
    """tau_n = 1/v_t - 1/v_c, nu_n = m_t/v_t - m_c/v_c, PRML (10.220).

    Copies of tau and nu, moved the share `damping` of the way there, and the
    inconsistency before. A site whose cavity is improper stays as it is.
    """
    tau, nu = tau.copy(), nu.copy()
    m_c, v_c = cavity(n, tau, nu, world)
    if not v_c > 0:
        return tau, nu, np.inf
    _, _, m_t, v_t = tilted(X[n], m_c, v_c, world)
    gap = ep.inconsistency(m_t, v_t, *posterior(tau, nu, world))
    tau[n] += damping * (1 / v_t - 1 / v_c - tau[n])
    nu[n] += damping * (m_t / v_t - m_c / v_c - nu[n])
    return tau, nu, gap


def fit(X, world, *, order=None, damping=1.0, tol=ep.TOL, max_iter=ep.SWEEPS):
    """q = N(theta | 0, b I) prod_n site_n, all moments consistent.

    PRML 10.7.1: an `update` for every row, sweep after sweep.
    """
    X, _ = validate.design(X, "X"), validate.fitted(world, World, name="world")
    order = validate.permutation(order, len(X))
    damping = validate.damping(damping)
    tau, nu = np.zeros(len(X)), np.zeros(X.shape)

    def visit(n):
        tau[:], nu[:], gap = update(n, tau, nu, X, world, damping)
        return gap

    trace = ep.sweep(visit, order, tol, max_iter)
    m, v = posterior(tau, nu, world)
    proper = [cavity(n, tau, nu, world)[1] > 0 for n in range(len(X))]
    evidence = log_evidence(tau, nu, X, world) if all(proper) else np.nan
    improper = np.flatnonzero(~np.array(proper))
    return ep.result(m, v, tau, nu, evidence, trace, tol, improper)


def log_evidence(tau, nu, X, world):
    """ln Z_EP = sum_n {ln Z_n - I_n} + I_0, PRML (10.208); (10.223) mended.

    At any sites: I_n is the `log_integral` of site n over its cavity, I_0
    that of all sites over the prior. Stationary where EP stops.
    """
    m_c, v_c, log_Z, _, _ = _tilted(tau, nu, X, world)
    prior = np.zeros(X.shape[1]), world.b
    total = log_integral(*prior, np.sum(tau), np.sum(nu, axis=0))
    return float(total + np.sum(log_Z - log_integral(m_c, v_c, tau, nu)))


def _sites(tau, nu, X, world):
    """tau (N,), nu (N, D) and X (N, D) as arrays of finite numbers."""
    X, _ = validate.design(X, "X"), validate.fitted(world, World, name="world")
    tau = validate.vector("tau", tau, len(X), "row of X")
    nu = validate.columns(nu, X.shape[1], "nu")
    validate.vector("nu", nu[:, 0], len(X), "row of X")
    return tau, nu, X


def _tilted(tau, nu, X, world):
    """m_c, v_c, ln Z, m_t, v_t of all sites, or a ValueError."""
    found, (tau, nu, X) = [], _sites(tau, nu, X, world)
    for n, x in enumerate(X):
        m_c, v_c = cavity(n, tau, nu, world)
        if not v_c > 0:
            raise ValueError(
                f"tau must leave proper cavities; got the cavity of site {n} "
                f"with the variance {v_c:.1e}"
            )
        log_Z, _, m_t, v_t = tilted(x, m_c, v_c, world)
        found.append((m_c, v_c, log_Z, m_t, v_t))
    return map(np.array, zip(*found, strict=True))


def evidence_gradient(tau, nu, X, world):
    """d/d tau_k = -1/2 sum_{n != k} {E_n - E}|theta|^2, and d/d nu_k.

    The latter is sum_{n != k} {E_n - E} theta; E_n is the tilted mean, E that
    of q. Both vanish where EP stops. Minka (2001).
    """
    _, _, _, m_t, v_t = _tilted(tau, nu, X, world)
    m, v = posterior(tau, nu, world)
    first = m_t - m
    second = len(m) * (v_t - v) + dot(m_t, m_t) - m @ m
    return (second - second.sum()) / 2, first.sum(axis=0) - first


def drift(z, X, world):
    """dz = (1/v_t - 1/v_c - tau_n, m_t/v_t - m_c/v_c - nu_n), all n, from z.

    z = (tau, nu) flat, (N (1 + D),): the move that undamped updates of all
    sites at once would make. 0 where EP stops.
    """
    N, D = X.shape
    tau, nu = z[:N], z[N:].reshape(N, D)
    m_c, v_c, _, m_t, v_t = _tilted(tau, nu, X, world)
    push = m_t / v_t[:, None] - m_c / v_c[:, None] - nu
    return np.r_[1 / v_t - 1 / v_c - tau, push.ravel()]
