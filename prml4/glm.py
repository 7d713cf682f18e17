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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve

from prml4 import newton, validate
from prml4.dispersion import (
    BERNOULLI,
    IDENTITY,
    LOG,
    Family,
    Link,
    row_terms,
    side,
)
from prml4.logistic import complain, orthonormal
from prml4.separation import separation

MOVES = 1e-3  # a Newton step of this size in a has not arrived
EDGE = 1e-8  # of the largest |a_n|: as good as 0


def predict(Phi, w, link, offset=0.0):
    """y_n = f(w^T phi_n + offset_n), PRML (4.120)."""
    return link.mean(np.asarray(Phi) @ w + offset)


def pointwise(family, link, t, offset=0.0, *, fisher=False):
    """E_n, dE_n/da and d2E_n/da2, or its expectation V eta'^2 (fisher).

    Where the second derivative is not positive, its expectation stands in.
    """
    offset = np.broadcast_to(offset, np.shape(t))

    def terms(a, rows):
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


def error(w, Phi, t, family, link=None, *, offset=0.0, weights=None):
    """E(w) = sum_n c_n d_n / 2 = -s ln p(t|w) + constant, PRML (4.121)."""
    terms = pointwise(family, link or family.links[0], t, offset)
    return newton.row_pass(Phi, w, terms, weights=weights, order=1)[0]


def gradient(w, Phi, t, family, link=None, *, offset=0.0, weights=None):
    """grad E = sum_n c_n (y_n - t_n) eta'_n phi_n, -s times PRML (4.122)."""
    terms = pointwise(family, link or family.links[0], t, offset)
    return newton.row_pass(Phi, w, terms, weights=weights, order=1)[1]


def hessian(w, Phi, t, family, link=None, *, offset=0.0, weights=None):
    """H = sum_n c_n {V_n eta'_n^2 + (y_n - t_n) eta''_n} phi_n phi_n^T."""
    a = Phi @ w + offset
    _, _, r, rest = row_terms(family, link or family.links[0], a, t)
    c = 1.0 if weights is None else weights
    return Phi.T @ ((c * (r + rest))[:, None] * Phi)


def information(w, Phi, family, link=None, *, offset=0.0, weights=None):
    """sum_n c_n V_n eta'_n^2 phi_n phi_n^T, the mean of H: cov[grad E] / s."""
    link = link or family.links[0]
    y = predict(Phi, w, link, offset)
    terms = pointwise(family, link, y, offset, fisher=True)
    return newton.row_pass(Phi, w, terms, weights=weights)[2]


def working_response(w, Phi, t, family, link=None, offset=0.0):
    """z = w^T phi + (t - y) / y' and r = y'^2 / V, of which a Fisher step is
    the weighted least-squares fit, Nelder and Wedderburn (1972)."""
    link = link or family.links[0]
    a = Phi @ w + offset
    y, slope = link.mean(a), link.slope(a)
    return a - offset + (t - y) / slope, slope**2 / family.variance(y)


def fisher_step(w, Phi, t, family, link=None, offset=0.0):
    """w - S^{-1} grad E = argmin_w sum_n r_n (z_n - w^T phi_n)^2."""
    z, r = working_response(w, Phi, t, family, link, offset)
    root = np.sqrt(r)
    return np.linalg.lstsq(root[:, None] * Phi, root * z)[0]


def pearson(t, y, family, weights=None):
    """X^2 = sum_n c_n (t_n - y_n)^2 / V(y_n), Pearson (1900)."""
    V = family.variance(y)
    share = np.divide((t - y) ** 2, V, out=np.zeros_like(y), where=V > 0)
    return float(share.sum() if weights is None else weights @ share)


@dataclass(frozen=True, eq=False)
class GLMFit:
    """The minimiser of the error, and whether to trust it."""

    w: np.ndarray  # (M,) weights
    error: float  # E(w), with the prior's term if there is a prior
    gradient: np.ndarray  # (M,) its gradient at w
    converged: bool
    separated: str | None  # "complete", "quasi-complete": why there is no end
    trace: tuple[float, ...]  # E at the accepted iterates of the last stage
    deviance: float  # 2 s ln of p(t) at y = t over p(t) at w
    pearson: float  # sum_n c_n (t_n - y_n)^2 / V(y_n)
    freedom: float  # sum_n c_n - M
    dispersion: float  # s: given by the family, or pearson / freedom
    information: Callable  # () -> (M, M), looks at Phi again

    @cached_property
    def H(self):
        """The mean of the Hessian at w, A included (M, M), when asked for."""
        return self.information()


@dataclass(frozen=True, eq=False)
class Problem:
    """What a fit is given, checked."""

    Phi: np.ndarray  # (N, M)
    t: np.ndarray  # (N,) in the domain of the family
    family: Family
    link: Link  # one of the family's
    offset: np.ndarray  # (N,)
    weights: np.ndarray | None  # (N,), None for ones
    alpha: np.ndarray  # (M,)

    def apply(self, function, w, **more):
        """error, gradient or hessian of this problem, without its prior."""
        more |= {"offset": self.offset, "weights": self.weights}
        return function(w, self.Phi, self.t, self.family, self.link, **more)


def fit(
    Phi,
    t,
    family,
    link=None,
    *,
    offset=0.0,
    weights=None,
    alpha=0.0,
    method="newton",
    tol=newton.ROUNDING,
):
    """w = argmin E(w) + 1/2 w^T A w, by Newton's method or Fisher scoring."""
    given = checked(Phi, t, family, link, offset, weights, alpha)
    if method not in ("newton", "fisher"):
        raise ValueError(f"method must be newton or fisher; got {method!r}")
    scale = spread(given)
    objective = _objective(given, scale, fisher=method == "fisher")
    best = _descend(objective, start(given), given.link, tol)
    best, separated = second_look(best, objective, given)
    best = polish(best, objective, given)
    complain(
        best,
        separated,
        what="targets",
        along="a direction that moves some means to the end of their range,",
        stuck="" if best.converged else _stuck(best, given),
    )
    return _report(best, separated, scale, given)


def checked(Phi, t, family, link, offset, weights, alpha):
    """Phi, t, … -> the problem, t in the family's domain; or ValueError."""
    Phi = validate.design(Phi)
    N, M = Phi.shape
    t = validate.vector("t", t, N, "row")
    wrong = ~family.allows(t)
    if wrong.any():
        raise ValueError(
            f"targets of the {family.name} family must be {family.domain}; "
            f"got {t[wrong][0]:g} ({wrong.sum()} of {N} are not)"
        )
    link = link or family.links[0]
    if link not in family.links:
        offered = ", ".join(each.name for each in family.links)
        raise ValueError(
            f"links of the {family.name} family are {offered}; "
            f"got {getattr(link, 'name', link)!r}"
        )
    offset = np.full(N, offset) if np.ndim(offset) == 0 else offset
    offset = validate.vector("offset", offset, N, "row")
    weights = validate.observation_weights(weights, N)
    alpha = validate.precisions(alpha, M)
    Phi, t, offset, weights = validate.rows_that_count(
        weights, Phi, t, offset, weights
    )
    return Problem(Phi, t, family, link, offset, weights, alpha)


def spread(given):
    """sum_n c_n (t_n - m)^2 / V(m) / sum_n c_n about the mean m.

    Divided by it the error counts in units that suit newton.ROUNDING; from
    0.01 to 100, and for Bernoulli targets, it does so anyway: 1.
    """
    m = np.average(given.t, weights=given.weights)
    if given.family is BERNOULLI or m == 0:
        return 1.0
    V = given.family.variance(m)
    s = np.average((given.t - m) ** 2, weights=given.weights) / V
    s = max(float(s), 1e-8 * float(m**2 / V))
    return 1.0 if 0.01 <= s <= 100 else s


def _objective(given, scale, *, fisher):
    """(E(w) + 1/2 w^T A w) / scale."""
    terms = pointwise(
        given.family, given.link, given.t, given.offset, fisher=fisher
    )
    weights = given.weights
    if scale != 1:
        one = np.ones(len(given.t)) if weights is None else weights
        weights = one / scale
    zero = np.zeros(len(given.alpha))
    return newton.Objective(
        given.Phi, terms, weights, given.alpha / scale, zero
    )


def _descend(objective, w0, link, tol):
    """From a sample where a has the scale of a logarithm, else from w0."""
    if on_log_scale(link) and not objective.alpha.any():
        # without precisions the prior mean is nothing but the start
        return newton.descend(replace(objective, m0=w0), tol=tol)
    return newton.iterate(objective, w0, tol=tol)


def start(given):
    """w with w^T phi_n near f^{-1}(mean of t), and every a_n in the domain."""
    family, link, N = given.family, given.link, len(given.t)
    y, sign = np.average(given.t, weights=given.weights), side(family, link)
    if not family.low < y < family.high or (y <= 0 and link is not IDENTITY):
        y = np.abs(given.t).max() / 2 or 0.5
    some = 1 if sign else max(N // (newton.FEW * given.Phi.shape[1]), 1)
    for known in (np.full(N, given.offset.mean()), given.offset):
        target = link.link(y) - known[::some]
        w = np.linalg.lstsq(given.Phi[::some], target)[0]
        if sign == 0 or np.all(sign * (given.Phi @ w + given.offset) > 0):
            return w
    return _feasible(given, sign, abs(link.link(y)))


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
    if answer.x is None or answer.x[M] <= 1e-9 * size:
        raise ValueError(
            f"the {given.link.name} link needs w^T phi_n + offset_n "
            f"{'>' if sign > 0 else '<'} 0 in every row; no w gives that"
        )
    return answer.x[:M]


def second_look(best, objective, given):
    """Why not: dependent columns, separation, or w = S^{-1} v with Phi = Q S?

    Only columns without a prior can be to blame, and only rows that count.
    """
    free = given.alpha == 0
    if best.H is None or not free.any():
        return best, None
    share = newton.smallest_share(best.H)
    if best.converged and share >= newton.DEPENDENT:
        step, _ = newton.newton_step(best.gradient, best.H)
        moves = newton.farthest_move(objective, step) > MOVES
        if not moves or not on_log_scale(given.link):
            return best, None
        best = replace(best, converged=False)
    Phi = given.Phi[:, free]
    validate.independent_columns(Phi, np.flatnonzero(free))
    kind = recession(Phi, given.t, given.family, given.link)
    if kind != "none":
        return replace(best, converged=False), kind
    if share < newton.DEPENDENT and free.all():
        return orthonormal(objective, start(given)), None
    return best, None


def on_log_scale(link):
    """Is f(a + c) = g(c) f(a), or t a share: has a step in a no units?"""
    return link is LOG or link.tails is not None


def on_edge(w, given):
    """Is some a_n = 0 but for rounding, which the domain of a leaves out?

    The Hessian may grow without bound there, and steps shrink to nothing.
    """
    if not side(given.family, given.link):
        return False
    a = np.abs(given.Phi @ w + given.offset)
    return bool(a.min() <= EDGE * a.max())


def recession(Phi, t, family, link):
    """Is there a u != 0 along which no E_n grows: "none", or what kind?

    It must not lower a_n where t_n > low, nor raise it where t_n < high: a
    separating direction of these rows, Albert and Anderson (1984).
    """
    if not on_log_scale(link):
        return "none"
    above, below = t > family.low, t < family.high
    rows = np.vstack([Phi[above], Phi[below]])
    return separation(rows, np.repeat([1, 0], [above.sum(), below.sum()])).kind


def polish(best, objective, given):
    """w <- w - H^{-1} grad E with the exact H, while that makes steps halve.

    Rows whose second derivative was replaced have slowed down the end.
    """
    if on_edge(best.w, given):
        return replace(best, converged=False)
    canonical = given.link is given.family.links[0]
    if not best.converged or best.H is None or canonical:
        return best
    w, last, A = best.w, np.inf, given.alpha
    while True:
        g = given.apply(gradient, w) + A * w
        H = given.apply(hessian, w) + np.diag(A)
        try:
            step, decrement = newton.newton_step(g, H)
        except LinAlgError:  # not positive definite
            break
        if not decrement < last / 2:
            break
        w, last = w - step, decrement
    E, g, _ = objective(w, order=1)
    return replace(best, w=w, error=E, gradient=g)


def _stuck(best, given):
    """Where the means have gone, if there is no end."""
    with np.errstate(all="ignore"):
        y = predict(given.Phi, best.w, given.link, given.offset)
    return (
        f" and means from {y.min():.1e} to {y.max():.1e}: the minimum may "
        "lie on the edge of what the link allows, or nowhere"
    )


def _report(best, separated, scale, given):
    """The fit, in units of E."""
    w, M = best.w, len(given.alpha)
    with np.errstate(all="ignore"):  # where it stopped on the edge
        y = predict(given.Phi, w, given.link, given.offset)
        chi2 = pearson(given.t, y, given.family, given.weights)
    count = len(y) if given.weights is None else given.weights.sum()
    estimate = chi2 / (count - M) if count > M else np.nan
    E = scale * best.error
    return GLMFit(
        w=w,
        error=E,
        gradient=scale * best.gradient,
        converged=best.converged,
        separated=separated,
        trace=tuple(scale * each for each in best.trace),
        deviance=2 * E - float(w @ (given.alpha * w)),
        pearson=chi2,
        freedom=float(count - M),
        dispersion=given.family.s or estimate,
        information=partial(_information, w, given),
    )


def _information(w, given):
    """information(w) + A."""
    return np.diag(given.alpha) + information(
        w,
        given.Phi,
        given.family,
        given.link,
        offset=given.offset,
        weights=given.weights,
    )


def standard_errors(fit, H=None):
    """Square roots of the diagonal of s H^{-1}, H expected unless given."""
    H = fit.H if H is None else H
    inverse = cho_solve(cho_factor(H), np.eye(len(H)))
    return np.sqrt(fit.dispersion * np.diag(inverse))
