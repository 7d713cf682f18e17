"""Generalised linear models, PRML 4.3.6; Nelder and Wedderburn (1972).

    Phi      (N, M)  design matrix     family  p(t|eta, s) of dispersion.py
    t        (N,)    targets           link    f^{-1}, one of family.links
    w        (M,)    weights           a       w^T phi_n + offset_n
    offset   (N,)    known part of a   y       f(a_n), mean of t_n
    weights  (N,)    how often each    eta     natural parameter, eta(y)
                     row counts        s       dispersion, var[t] = s V(y)
    alpha    (M,)    prior precisions, in units of 1 / s

The error is half the deviance: E = -s ln p(t|w) + what no w can change.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.linalg import LinAlgError

from prml4 import logistic
from prml4.models.dispersion import (
    BERNOULLI,
    GAMMA,
    GAUSSIAN,
    IDENTITY,
    INVERSE,
    INVERSE_GAUSSIAN,
    LOG,
    TINY,
    Family,
    Link,
    pearson_residual,
    row_terms,
    side,
)
from prml4.numerics import descent, newton, validate
from prml4.numerics.newton import ROUNDING
from prml4.numerics.separation import complain, separation, verdict

INSIDE = 1e-9  # share of the size of a: nearer to 0 is not inside
MOVES = 1e-3  # a Newton step of this size in a has not arrived
EDGE = 1e-8  # of the largest |a_n|: as good as 0
MANY = 1000  # rows beyond which no few of them decide where the minimum is
SADDLES = 20  # that a way down may pass; more are a valley without an end
BENT = (  # pairs whose rows have errors that are not convex
    (GAUSSIAN, LOG),
    (GAUSSIAN, INVERSE),
    (GAMMA, IDENTITY),
    (INVERSE_GAUSSIAN, LOG),
    (INVERSE_GAUSSIAN, IDENTITY),
)


def mean(fit, Phi, offset=None):
    """y_n = f(w^T phi_n + offset_n), PRML (4.120); None: the fit's offset."""
    w, Phi = validate.prediction(validate.fitted(fit, GLMFit), Phi)
    offset = _offset(fit.offset if offset is None else offset, len(Phi))
    a, sign = Phi @ w + offset, side(fit.family, fit.link)
    rounding = EDGE * (np.abs(Phi) @ np.abs(w) + np.abs(offset))
    if np.any(outside := (sign * a < -rounding) | (a >= fit.link.high)):
        n = np.argmax(outside)
        raise ValueError(
            f"the {fit.link.name} link needs w^T phi_n + offset_n "
            f"{'>' if sign > 0 else '<'} 0, or {fit.family.name} targets have "
            f"no such mean; got {a[n]:.3g} in row {n}"
        )
    with np.errstate(over="ignore"):
        y = fit.link.mean(np.maximum(a, 0.0) if sign > 0 else a)
    return validate.finite("the mean", y)


def error(w, Phi, t, family, link=None, *, offset=0.0, weights=None):
    """E(w) = sum_n c_n d_n / 2 = -s ln p(t|w) + constant, PRML (4.121)."""
    half_deviance, _, _, _ = _rows(w, Phi, t, family, link, offset)
    return float(np.sum(_counted(half_deviance, weights)))


def gradient(w, Phi, t, family, link=None, *, offset=0.0, weights=None):
    """grad E = sum_n c_n (y_n - t_n) eta'_n phi_n, -s times PRML (4.122)."""
    _, slope, _, _ = _rows(w, Phi, t, family, link, offset)
    return Phi.T @ _counted(slope, weights)


def hessian(w, Phi, t, family, link=None, *, offset=0.0, weights=None):
    """H = sum_n c_n {V_n eta'_n^2 + (y_n - t_n) eta''_n} phi_n phi_n^T."""
    _, _, expected, rest = _rows(w, Phi, t, family, link, offset)
    return Phi.T @ (_counted(expected + rest, weights)[:, None] * Phi)


def information(w, Phi, family, link=None, *, offset=0.0, weights=None):
    """sum_n c_n V_n eta'_n^2 phi_n phi_n^T, the mean of H: cov[grad E] / s."""
    link, a = _link(family, link), _activations(w, Phi, offset)
    _, _, expected, _ = row_terms(family, link, a, link.mean(a))
    return Phi.T @ (_counted(expected, weights)[:, None] * Phi)


def _rows(w, Phi, t, family, link, offset):
    """E_n, (y - t) eta', V eta'^2, (y - t) eta'' of allowed targets."""
    link = _link(family, link)
    t, a = _targets(t, len(Phi), family), _activations(w, Phi, offset)
    with np.errstate(all="ignore"):  # outside the domain E_n is infinite
        return row_terms(family, link, a, t)


def _link(family, link):
    """The link, the canonical one for None, or a ValueError if not offered."""
    offered = validate.fitted(family, Family, name="family").links
    link = offered[0] if link is None else link
    if not any(link is each for each in offered):
        names = ", ".join(each.name for each in offered)
        raise ValueError(
            f"link must be one of the {family.name} family, {names}; "
            f"got {getattr(link, 'name', link)!r}"
        )
    return link


def _activations(w, Phi, offset):
    """a_n = w^T phi_n + offset_n."""
    return validate.activations(w, Phi) + _offset(offset, len(Phi))


def _count(weights, N):
    """c_n, one for all without weights."""
    if weights is None:
        return 1.0
    return validate.vector("weights", weights, N, "row")


def _counted(terms, weights):
    """c_n times the rows' terms; none of a row with c_n = 0, even if inf."""
    c = np.broadcast_to(_count(weights, len(terms)), terms.shape)
    return np.multiply(c, terms, where=c != 0, out=np.zeros_like(terms))


def pointwise(family, link, t, offset=0.0, *, fisher=False):
    """E_n, dE_n/da and d2E_n/da2, or its expectation V eta'^2 (fisher).

    Where the second derivative is not positive, its expectation stands in.
    """
    offset = np.broadcast_to(offset, np.shape(t))

    def terms(a, rows, _order=2):
        with np.errstate(all="ignore"):
            E, slope, expected, rest = row_terms(
                family, link, a + offset[rows], t[rows]
            )
            curve = expected if fisher else expected + rest
            curve = np.where(curve > 0, curve, expected)
            outside = ~(np.isfinite(E) & np.isfinite(curve))
        if outside.any():
            E[outside], slope[outside], curve[outside] = np.inf, 0.0, 0.0
        return E, slope, curve

    return terms


def working_response(w, Phi, t, family, link=None, offset=0.0):
    """z = w^T phi + (t - y) / y' and r = y'^2 / V = V eta'^2, of which a Fisher
    step is the weighted least-squares fit, Nelder and Wedderburn (1972)."""
    _, slope, r, _ = _rows(w, Phi, t, family, link, offset)
    return validate.activations(w, Phi) - slope / r, r  # (y - t) eta' / r


def fisher_step(w, Phi, t, family, link=None, offset=0.0):
    """w - S^{-1} grad E = argmin_w sum_n r_n (z_n - w^T phi_n)^2."""
    z, r = working_response(w, Phi, t, family, link, offset)
    root = np.sqrt(r)
    return np.linalg.lstsq(root[:, None] * Phi, root * z)[0]


def pearson(t, y, family, weights=None):
    """X^2 = sum_n c_n (t_n - y_n)^2 / V(y_n), Pearson (1900)."""
    t, y = validate.real("t", t), validate.real("y", y)
    if t.shape != y.shape:
        raise ValueError(f"t must have the shape {y.shape} of y; got {t.shape}")
    off, V = t - y, validate.fitted(family, Family, name="family").variance(y)
    with np.errstate(divide="ignore"):  # inf for what cannot be
        share = np.divide(off**2, V, out=np.zeros_like(y), where=off != 0)
    return float(np.sum(_counted(share, weights)))


@dataclass(frozen=True, eq=False)
class GLMFit(logistic.Fit):
    """The minimiser: a `logistic.Fit`, alpha in units of 1 / s, with

    deviance          2 s ln of p(t) at y = t over p(t) at w
    pearson           sum_n c_n (t_n - y_n)^2 / V(y_n)
    freedom           degrees of freedom: sum_n c_n - M; where Bernoulli targets
                      are shares of groups, number of groups - M
    dispersion        s: given by the family, or pearson / freedom; 0 where
                      targets without noise leave rounding only
    family            p(t|eta, s)
    link              f^{-1}
    offset            known part of a, a number or (N,)
    """

    deviance: float
    pearson: float
    freedom: float
    dispersion: float
    family: Family
    link: Link
    offset: float | np.ndarray


@dataclass(frozen=True, eq=False)
class _Problem:
    """What a fit is given, checked."""

    Phi: np.ndarray  # (N, M)
    t: np.ndarray  # (N,) in the domain of the family
    family: Family
    link: Link  # one of the family's
    offset: np.ndarray  # (N,)
    weights: np.ndarray | None  # (N,), None for ones
    alpha: np.ndarray  # (M,)
    m0: np.ndarray  # (M,)

    @property
    def bent(self):
        """May E have saddles, and more than one minimum?"""
        return (self.family, self.link) in BENT

    def apply(self, function, w):
        """gradient or hessian of this problem, without its prior."""
        more = {"offset": self.offset, "weights": self.weights}
        return function(w, self.Phi, self.t, self.family, self.link, **more)


def fit(
    Phi, t, family, link=None, *, offset=0.0, alpha=0.0, m0=None,
    weights=None, method="newton", tol=ROUNDING, max_iter=100,
):  # fmt: skip
    """w = argmin E(w) + 1/2 (w - m0)^T A (w - m0), PRML (4.121).

    By Newton's method, or by Fisher scoring: method = "fisher". Where E may
    have several minima (BENT), the lowest that some starts lead to.
    """
    given = _checked(Phi, t, family, link, offset, weights, alpha, m0)
    validate.choice("method", method, ("newton", "fisher"))
    scale = _spread(given)
    objective = _objective(given, scale, fisher=method == "fisher")
    how = validate.stopping(tol, max_iter)
    with np.errstate(all="ignore"):  # what overflows is no minimum
        best, separated = _minimum(objective, given, how)
        if not np.isfinite(scale * best.error):
            best = replace(best, converged=False)
        y = given.link.mean(given.Phi @ best.w + given.offset)
    along = "a direction that moves some means to the end of their range,"
    stuck = (
        f" and means from {y.min():.1e} to {y.max():.1e}: the minimum may "
        "lie on the edge of what the link allows, or nowhere"
    )
    complain(best, separated, what="targets", along=along, stuck=stuck)
    return _report(best, separated, scale, given, offset, weights)


def _checked(Phi, t, family, link, offset, weights, alpha, m0):
    """Phi, t, … -> the problem, t in the family's domain; or ValueError."""
    Phi = validate.design(Phi)
    N, M = Phi.shape
    link = _link(family, link)
    t, offset = _targets(t, N, family), _offset(offset, N)
    weights = validate.observation_weights(weights, N)
    alpha = validate.precisions(alpha, M)
    m0 = validate.vector_or_zeros("m0", m0, M, "column")
    rows = validate.rows_that_count(weights, Phi, t, offset, weights)
    Phi, t, offset, weights = rows
    return _Problem(Phi, t, family, link, offset, weights, alpha, m0)


def _targets(t, N, family):
    """Targets (N,) in the domain of the family."""
    t = validate.vector("t", t, N, "row")
    wrong = ~family.allows(t)
    if wrong.any():
        raise ValueError(
            f"t must be {family.domain} for the {family.name} family; "
            f"got {t[wrong][0]:g} ({wrong.sum()} of {N} are not)"
        )
    return t


def _offset(offset, N):
    """Offset (N,) from one number or one per row."""
    offset = np.full(N, offset) if np.ndim(offset) == 0 else offset
    return validate.vector("offset", offset, N, "row")


def _spread(given):
    """sum_n c_n (t_n - m)^2 / V(m) / sum_n c_n about the mean m.

    Divided by it the error counts in units that suit ROUNDING; from
    0.01 to 100, for coins, and for counts that are more alike than Poisson's,
    it does so anyway: 1. That of shares is what
    terms as large as their groups leave: a hundredth of sum_n c_n.
    """
    m = np.average(given.t, weights=given.weights)
    if grouped(given.family, given.t) and given.weights is not None:
        return max(float(given.weights.sum()) / 100, 1.0)
    if given.family is BERNOULLI or m == 0:
        return 1.0
    with np.errstate(all="ignore"):
        V = given.family.variance(m)
        s = np.average((given.t - m) ** 2, weights=given.weights) / V
        s = max(float(s), given.family.s or 1e-8 * float(m**2 / V))
    if not (TINY < V < np.inf and s < np.inf):
        raise ValueError(
            f"t must be of moderate size, for V({m:.1e}) = {V:.1e} in the "
            f"{given.family.name} family; got a mean of {m:.1e}: change units"
        )
    return 1.0 if 0.01 <= s <= 100 else s


def _objective(given, scale, *, fisher):
    """(E(w) + 1/2 w^T A w) / scale."""
    what = given.family, given.link, given.t, given.offset
    terms, c = pointwise(*what, fisher=fisher), given.weights
    if scale != 1:
        c = np.full(len(given.t), _count(c, len(given.t)) / scale)
    alpha = given.alpha / scale
    return descent.Objective(given.Phi, terms, c, alpha, given.m0)


def _minimum(objective, given, how):
    """Where the way down ends; the lowest of several such ends if E is bent.

    From a saddle the way goes on. What another start finds must be lower by
    more than rounding.
    """
    size = np.abs(given.Phi).max(axis=0)
    size[size == 0] = 1
    unit = replace(given, Phi=given.Phi / size)  # units must not matter
    starts = [_start(unit)]
    if given.bent:
        starts += list(_elemental(unit, starts[0]))
    ends = [_descend(objective, given, how, w / size) for w in starts]
    if not given.bent:
        return ends[0]
    E = np.array([end.error for end, _ in ends])
    best, why = ends[np.argmax(E <= E.min() + 1e-9 * (1 + abs(E.min())))]
    for _ in range(SADDLES):
        if not best.converged:
            return best, why
        W, E = _nearby(best, objective, given)
        if E.min() < best.error - 1e-10 * (1 + abs(best.error)):  # a saddle
            best, why = _descend(objective, given, how, W[E.argmin()])
        elif E[:2].min() <= best.error + 1e-12 * (1 + abs(best.error)):  # flat
            break
        else:
            return best, why
    return replace(best, converged=False), why


def _nearby(best, objective, given):
    """Some w along the direction of least curvature, and their E.

    The first two change some a_n by 1/2, or by half of itself.
    """
    more = {"offset": given.offset, "weights": given.weights}
    S = information(best.w, given.Phi, given.family, given.link, **more)
    size = np.sqrt(np.diag(S) + given.alpha)
    H = given.apply(hessian, best.w) + np.diag(given.alpha)
    C = H / size / size[:, None]
    if not np.isfinite(C).all():  # then nothing can be said of it
        return best.w[None], np.array([best.error])
    u = np.linalg.eigh(C)[1][:, 0] / size
    a = given.Phi @ best.w + given.offset
    units = 1 if _on_log_scale(given.link) else np.abs(a)
    terms = np.abs(given.Phi) @ np.abs(u)
    reach = np.maximum(np.abs(given.Phi @ u), 1e-8 * terms) / units
    u /= reach.max() or 1.0  # only a prior may care
    steps = np.outer(0.25 ** np.arange(6), [0.5, -0.5]).ravel()
    W = best.w + np.outer(steps, u)
    return W, np.array([objective(w, order=1)[0] for w in W])


def _elemental(given, inside):
    """Five of a hundred w that fit M rows, chosen by chance: low E, unlike.

    Minima differ by the rows that they give up. A w outside the domain is
    moved towards one that is inside.
    """
    (N, M), rng = given.Phi.shape, np.random.default_rng(0)
    with np.errstate(all="ignore"):
        z = given.link.link(given.t) - given.offset
        usable = np.flatnonzero((given.t > 0) & np.isfinite(z))
        if not usable.size or N > MANY:
            return []
        rows = usable[rng.random((100, usable.size)).argsort(axis=1)[:, :M]]
        W = (np.linalg.pinv(given.Phi[rows]) @ z[rows, None])[..., 0]
        if sign := side(given.family, given.link):
            a = sign * (given.Phi @ inside + given.offset)
            step = sign * (W - inside) @ given.Phi.T
            share = np.min(np.where(step < 0, -0.9 * a / step, 1.0), axis=1)
            W = inside + np.minimum(share, 1)[:, None] * (W - inside)
        A = W @ given.Phi.T + given.offset
        E = row_terms(given.family, given.link, A, given.t)[0]
        E = np.sum(_count(given.weights, len(E.T)) * E, axis=1)
    best = np.argsort(E)[[0, 1, 3, 7, 15]]
    return W[best[np.isfinite(E[best])]]


def _descend(objective, given, how, w0):
    """Where the way down ends, and why there, if not at a minimum.

    A sample may leave the domain of a, but for links on a log scale; only with
    those has the size of a step in a a meaning.
    """
    scaled = _on_log_scale(given.link)
    way = descent.descend if scaled else newton.newtons_method
    best, solve = way(objective, w0, **how), partial(way, **how)
    kind, moves = partial(_recession, given), MOVES if scaled else np.inf
    best, why = verdict(best, objective, w0, kind, solve=solve, moves=moves)
    return _polish(best, objective, given), why


def _start(given):
    """w with w^T phi_n near f^{-1}(mean of t), and every a_n in the domain."""
    family, link, N = given.family, given.link, len(given.t)
    y, sign = np.average(given.t, weights=given.weights), side(family, link)
    if not family.low < y < family.high or (y <= 0 and link is not IDENTITY):
        y = np.abs(given.t).max() / 2 or 0.5
    size = abs(link.link(y))
    some = 1 if sign else max(N // (descent.FEW * given.Phi.shape[1]), 1)
    for known in (np.full(N, given.offset.mean()), given.offset):
        target = link.link(y) - known[::some]
        w = np.linalg.lstsq(given.Phi[::some], target)[0]
        a = given.Phi @ w + given.offset
        if sign == 0 or np.all(sign * a > INSIDE * size):
            return w
    return _feasible(given, sign, size)


def _feasible(given, sign, size):
    """argmax_w min_n sign (w^T phi_n + offset_n), up to `size`."""
    from scipy.optimize import linprog

    N, M = given.Phi.shape
    answer = linprog(
        -np.eye(M + 1)[M],
        A_ub=np.c_[-sign * given.Phi, np.ones(N)],
        b_ub=sign * given.offset,
        bounds=[(None, None)] * M + [(None, size)],
    )
    if answer.x is None or answer.x[M] <= INSIDE * size:
        raise ValueError(
            f"the {given.link.name} link needs w^T phi_n + offset_n "
            f"{'>' if sign > 0 else '<'} 0 in every row; no w gives that"
        )
    return answer.x[:M]


def _on_log_scale(link):
    """Is f(a + c) = g(c) f(a), or t a share: has a step in a no units?"""
    return link is LOG or link.likelihood is not None


def _on_edge(w, given):
    """Is some a_n = 0 but for rounding, which the domain of a leaves out?

    The Hessian may grow without bound there, and steps shrink to nothing.
    """
    if not side(given.family, given.link):
        return False
    a = np.abs(given.Phi @ w + given.offset)
    return bool(a.min() <= EDGE * a.max())


def _recession(given, free):
    """Is there a u != 0 along which no E_n grows: "none", or what kind?

    It must not lower a_n where t_n > low, nor raise it where t_n < high: a
    separating direction of these rows, Albert and Anderson (1984).
    """
    if not _on_log_scale(given.link):
        return "none"
    Phi, t = given.Phi[:, free], given.t
    above, below = t > given.family.low, t < given.family.high
    rows = np.vstack([Phi[above], Phi[below]])
    return separation(rows, np.repeat([1, 0], [above.sum(), below.sum()])).kind


def _polish(best, objective, given):
    """w <- w - H^{-1} grad E with the exact H, while that makes steps halve.

    Rows whose second derivative was replaced have slowed down the end.
    """
    if _on_edge(best.w, given):
        return replace(best, converged=False)
    canonical = given.link is given.family.links[0]
    if not best.converged or best.H is None or canonical:
        return best
    w, last, A = best.w, np.inf, given.alpha
    while True:
        g = given.apply(gradient, w) + A * (w - given.m0)
        H = given.apply(hessian, w) + np.diag(A)
        try:
            step, decrement = newton.newton_step(g, H)
        except LinAlgError:  # not positive definite
            if side(given.family, given.link) and not given.bent:
                return replace(best, converged=False)  # the edge's rounding
            break
        if not decrement < last / 2:
            break
        w, last = w - step, decrement
    E, g, _ = objective(w, order=1)
    if not E <= best.error + 1e-9 * (1 + abs(best.error)):  # out of the domain
        return replace(best, converged=False)
    return replace(best, w=w, error=E, gradient=g)


def _report(best, separated, scale, given, offset, weights):
    """The fit, in units of E."""
    d, a = best.w - given.m0, given.Phi @ best.w + given.offset
    with np.errstate(all="ignore"):  # where it stopped on the edge
        r = pearson_residual(given.family, given.link, a, given.t)
        chi2 = float(np.sum(_count(given.weights, len(r)) * r**2))
        prior = float(d @ (given.alpha * d))
    rows = given.weights is None or grouped(given.family, given.t)
    freedom = (len(a) if rows else given.weights.sum()) - len(d)
    estimate = chi2 / freedom if freedom > 0 else np.nan
    if chi2 <= _rounding(best.w, a, given):
        estimate *= 0
    best = replace(
        best, error=scale * best.error, gradient=scale * best.gradient,
        trace=tuple(scale * each for each in best.trace),
    )  # fmt: skip
    return GLMFit.of(
        best, separated, given.alpha, weights,
        deviance=2 * best.error - prior,
        pearson=chi2, freedom=float(freedom),
        dispersion=given.family.s or estimate,
        family=given.family, link=given.link,
        offset=logistic.own(offset),
    )  # fmt: skip


@np.errstate(all="ignore")
def _rounding(w, a, given):
    """X^2 of rows that are off by four roundings of t_n and a_n's terms:
    no fit to targets without noise was seen to leave more than one."""
    size = np.abs(given.Phi) @ np.abs(w) + np.abs(given.offset)
    _, _, expected, _ = row_terms(given.family, given.link, a, given.t)
    each = expected * size**2 + given.t**2 / given.family.variance(given.t)
    c = _count(given.weights, len(a))
    return 16 * np.finfo(float).eps ** 2 * float(np.sum(c * each))


def grouped(family, t):
    """Whether 0 < t_n < 1: shares of groups, and the weights their sizes."""
    return family is BERNOULLI and bool(np.any((t > 0) & (t < 1)))


def curvature(fit, Phi, t=None):
    """E[H(w)] + A of a fit, from its Phi; with its t the observed H(w) + A."""
    given = again(fit, Phi, np.ones(np.shape(Phi)[:1]) if t is None else t)
    _own_rows(fit, Phi)
    if t is None:  # E[H] does not depend on the targets: ones do
        more = {"offset": given.offset, "weights": given.weights}
        H = information(fit.w, given.Phi, fit.family, fit.link, **more)
    else:
        H = given.apply(hessian, fit.w)
    return H + np.diag(fit.alpha)


def _own_rows(fit, Phi):
    """Or a ValueError: without weights, freedom says how many rows it had."""
    N = fit.freedom + len(fit.w)
    if fit.weights is None and len(Phi) != N:
        raise ValueError(
            f"Phi must have the {N:g} rows of the fit, about whose weights "
            f"they speak; got {len(Phi)}"
        )


def again(fit, Phi, t):
    """E(w) + 1/2 w^T A w as it was fitted, from its data."""
    _, Phi = validate.prediction(validate.fitted(fit, GLMFit), Phi)
    model = fit.family, fit.link, fit.offset, fit.weights, fit.alpha, None
    return _checked(Phi, t, *model)


def standard_errors(fit, Phi, t=None):
    """Square roots of the diagonal of s H^{-1}, H as in `curvature`."""
    root = inverse_root(fit, Phi, t)
    if np.isnan(fit.dispersion):
        raise ValueError(
            "fit must have more rows than weights, or nothing is left to "
            f"estimate s from; got {fit.freedom:g} degrees of freedom"
        )
    return np.sqrt(fit.dispersion * np.sum(root**2, axis=0))


def inverse_root(fit, Phi, t=None):
    """L^{-1} with L L^T = H, H as in `curvature`: there must be a minimum."""
    H = curvature(validate.at_minimum(fit), Phi, t)
    return descent.variance_root(H)
