"""Prior precisions of Bayesian regressions by their evidence, PRML 3.5, 4.5.

alpha   (M,)  prior precisions, w_j ~ N(m0_j, 1 / alpha_j)
groups  (M,)  columns with one number share a precision, -1 keeps its own
theta   (G,)  ln alpha of each group: what the search moves
gamma   (G,)  how many of a group's weights the data determine
d       (M,)  w_MAP - m0
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError

from prml4.bayes_logistic import Posterior, gaussian, joint, prior
from prml4.evidence import settle
from prml4.laplace import NotPositiveDefinite
from prml4.models.likelihoods import LOGISTIC, Likelihood
from prml4.numerics import descent, newton, validate
from prml4.numerics.result import Result

ROUGH = 1e-5  # relative decrement at which a search over alpha moves on
FAR, NEAR = 3.0, 0.1  # longest step of ln alpha; what ends the fixed points
TURNS = 30  # of these at most
TINY = np.finfo(float).tiny
VAIN = 1e-6  # share of a weight that the data determine, if next to none
SPAN = np.log(1e4)  # alpha's start, from what the data say about its weights
ELSEWHERE = -4.0, 4.0, 12.0  # steps of every ln alpha, for a look
WIDEST = np.log(1e150)  # largest |ln alpha| that is tried


class NoBestPrecision(UserWarning):
    """The evidence rises for ever as a precision tends to infinity."""


class NoBestVariance(UserWarning):
    """The exact evidence has a positive limit as precisions tend to zero.

    So it is where the weights separate the classes: all long ones with their
    direction explain the data without a fault. Laplace's tends to zero.
    """


def evidence_gradient(fit, Phi, t, alpha, m0=None, weights=None):
    """d ln Z/d alpha_j = (1/alpha_j - d_j^2 - S_jj + d_j (S u)_j) / 2.

    d = w_MAP - m0; u = sum_n E_n''' phi_n^T S_N phi_n phi_n is how the mode
    moves ln|A|. Summed over j for a precision that all share.
    """
    root = newton.forward(validate.fitted(fit, Posterior).cholesky)
    Phi = validate.columns(Phi, len(root))
    t = validate.binary_targets(t, len(Phi))
    weights = validate.observation_weights(weights, len(t))
    alpha = validate.precisions(alpha, len(root), proper=True)
    m0 = validate.vector_or_zeros("m0", m0, len(fit.mode), "column")
    d = fit.mode - m0

    def third(a, rows, _order):
        half = Phi[rows] @ root.T
        h = np.einsum("nm,nm->n", half, half)
        return np.zeros_like(a), -fit.likelihood.log_p(a, t[rows], 3)[3] * h

    _, u, _ = descent.row_pass(Phi, fit.mode, third, weights=weights, order=1)
    own = np.sum(root**2, axis=0)
    return 0.5 * (1 / alpha - d**2 - own + d * (root.T @ (root @ u)))


@dataclass(frozen=True, eq=False)
class EvidenceFit(Result):
    """The prior precisions of greatest evidence, and the posterior there.

    alpha      (M,)  prior precisions
    posterior        the fit with these
    gradient   (G,)  of ln Z by ln alpha_g
    converged        whether ln Z can rise no further
    trace      (S,)  ln Z at the accepted iterates
    """

    alpha: np.ndarray
    posterior: Posterior
    gradient: np.ndarray
    converged: bool
    trace: tuple[float, ...]


def maximise_evidence(
    Phi,
    t,
    *,
    groups=None,
    alpha=1.0,
    m0=None,
    weights=None,
    likelihood=LOGISTIC,
    tol=newton.ROUNDING,
    max_iter=100,
):
    """alpha = argmax ln p(t|alpha), PRML 4.4.1, 3.5; MacKay (1992).

    Columns with the same number in groups (M,) share a precision; those with
    -1 keep theirs. Without groups all share one. The search starts at alpha,
    or nearer to where the data have a say. ln p may have several maxima: three
    other places are looked at, and the search goes on from a higher one.
    """
    Phi, t, weights = validate.two_classes(Phi, t, weights)
    p = prior(Phi.shape[1], alpha=alpha, m0=m0)
    groups = _groups(groups, Phi.shape[1])
    stop = validate.stopping(tol, max_iter)
    climb, best = _ascend(Phi, t, weights, p, likelihood, groups, stop)
    alpha, q = climb.alpha(best.w), climb.posterior(best.w, newton.ROUNDING)
    vain = climb.learnt(q, alpha) < VAIN
    converged = bool(best.converged and q.converged and not vain.any())
    apart = np.all((2 * t - 1) * (Phi @ np.where(groups < 0, 0, q.mode)) > 0)
    vain = np.flatnonzero(vain & (best.gradient <= 0))
    _complain(replace(best, converged=converged), vain, apart)
    rise = -np.array(best.trace)
    return EvidenceFit(alpha, q, -best.gradient, converged, tuple(rise))


def _groups(groups, M):
    """Group numbers (M,), -1 or 0, ..., G - 1 without gaps."""
    if groups is None:
        return np.zeros(M, np.intp)
    groups = validate.vector("groups", groups, M, "column")
    found = np.unique(groups[groups != -1])
    if not found.size or not np.array_equal(found, np.arange(found.size)):
        raise ValueError(
            "groups must hold 0, ..., G - 1 without gaps, or -1 for columns "
            f"whose precision stays; got {groups}"
        )
    return groups.astype(np.intp)


def _ascend(Phi, t, weights, p, likelihood, groups, stop):
    """The highest that a climb finds and, from there, others far away; many
    rows start from where a twentieth of them ends."""
    climb = _Climb(joint(Phi, t, weights, p, likelihood), t, likelihood, groups)
    theta, (N, M) = climb.per_group(np.log(p.precision)) / climb.size, Phi.shape
    if N * M**2 > descent.CHEAP and N >= descent.SMALL * M:
        rows = descent.spread_rows(N, N // 20)
        some = Phi[rows], t[rows], None if weights is None else weights[rows]
        part, best = _ascend(*some, p, likelihood, groups, stop)
        theta = part.within_reach(best.w)
        climb = replace(climb, last=part.posterior(theta), at=theta)
        return _climbed(climb, theta, stop)
    climb, best = _climbed(climb, climb.within_reach(theta), stop)
    if not best.converged:
        return climb, best
    places = [np.clip(best.w + far, -WIDEST, WIDEST) for far in ELSEWHERE]
    E, k = min((climb(at)[0], k) for k, at in enumerate(places))
    if E < best.error - 1e-6 * (1 + abs(best.error)):
        return _climbed(climb, places[k], stop, 0)
    return climb, best


def _climbed(climb, theta, stop, turns=TURNS):
    """Fixed points alpha = gamma / |d|^2, then quasi-Newton."""
    left = most = stop["max_iter"]
    while True:
        climb = replace(climb, last=climb.posterior(theta), at=theta)
        up, pull = climb.slope(climb.last, theta)
        gamma, pull = 2 * up + pull, np.maximum(pull, TINY)
        vain = (gamma < VAIN * climb.size) & (up >= 0)
        step = np.log(np.maximum(gamma, 0.01 * pull) / pull).clip(-FAR, FAR)
        step[vain] = 0.0
        if np.abs(step).max() < NEAR or left in (0, most - turns):
            break
        theta, left = np.clip(theta + step, -WIDEST, WIDEST), left - 1
    B = np.where(vain, 0.0, 2 / np.maximum(np.maximum(gamma, pull), VAIN))
    stop = stop | {"max_iter": left}
    return climb, descent.quasi_newton(climb, theta, np.diag(B), **stop)


@dataclass(frozen=True, eq=False)
class _Climb:
    """theta -> -ln Z at alpha_g = e^theta_g; `last`, a posterior `at` some
    theta, says where to look for modes."""

    objective: descent.Objective
    t: np.ndarray
    likelihood: Likelihood
    groups: np.ndarray
    last: Posterior | None = None
    at: np.ndarray | None = None

    def per_group(self, values):
        """Sums over the columns of each group."""
        free = self.groups >= 0
        return np.bincount(self.groups[free], values[free])

    @property
    def size(self):
        """Columns of each group."""
        return self.per_group(np.ones(len(self.groups)))

    def learnt(self, q, alpha):
        """mean_j (1 - alpha_j S_jj): the data's share in a group's weights."""
        return self.per_group(1 - alpha * np.diag(q.covariance)) / self.size

    def alpha(self, theta):
        """The precisions of all columns."""
        own = self.objective.alpha
        return np.where(self.groups < 0, own, np.exp(theta)[self.groups])

    def within_reach(self, theta):
        """theta, but not far from ln of what the data add to each alpha at
        w = 0, where all rows have curvature: at m0 it may have vanished."""
        flat = replace(self.objective, alpha=np.zeros(len(self.groups)))
        data = self.per_group(np.diag(flat(0 * flat.m0)[2])) / self.size
        middle = np.where(data > 0, np.log(np.maximum(data, TINY)), theta)
        near = np.clip(theta, middle - SPAN, middle + SPAN)
        return near.clip(-WIDEST, WIDEST)

    def posterior(self, theta, tol=ROUGH):
        """q for these precisions, sought from a Newton step out of `last`."""
        objective = replace(self.objective, alpha=self.alpha(theta))
        w = objective.m0
        if self.last:
            change = objective.alpha - self.alpha(self.at)
            A = self.last.precision + np.diag(change)
            d = self.last.mode - w
            w = self.last.mode - newton.newton_step(change * d, A)[0]
        # without its predictor: settle looks whether any a_n wants to move
        rough = newton.newtons_method(objective.__call__, w, tol=tol)
        if not rough.converged:  # too far from where E is curved
            rough = descent.descend(objective, w)
        with warnings.catch_warnings(
            category=newton.NotConverged, action="ignore"
        ):
            best = settle(objective, rough)  # the end of the search counts
        log_det = float(np.log(objective.alpha).sum())
        return gaussian(best, log_det, self.likelihood)

    def slope(self, q, theta):
        """d ln Z / d theta, and sum alpha d^2, by group."""
        o, alpha = self.objective, self.alpha(theta)
        each = evidence_gradient(q, o.Phi, self.t, alpha, o.m0, o.weights)
        pull = self.per_group(alpha * (q.mode - o.m0) ** 2)
        return self.per_group(alpha * each), pull

    def __call__(self, theta, order=1):
        """(-ln Z, its gradient by theta, None), for descent.quasi_newton."""
        if not np.all(np.abs(theta) <= WIDEST):
            return np.inf, theta, None
        try:
            q = self.posterior(theta)
        except (LinAlgError, NotPositiveDefinite):
            return np.inf, theta, None
        return -q.log_evidence, -self.slope(q, theta)[0], None

    def predictor(self, step):
        """What must not move: ln alpha itself."""
        return step


def _complain(best, vain, apart):
    """Say by name what the search has not found."""
    if vain.size:
        alpha = ", ".join(f"{a:.0e}" for a in np.exp(best.w[vain]))
        warnings.warn(
            f"the evidence still rises at alpha = {alpha} of group "
            f"{', '.join(map(str, vain))}: the data would rather do without "
            "its columns",
            NoBestPrecision,
            stacklevel=3,
        )
    elif not best.converged:
        warnings.warn(
            f"the search for alpha stopped after {len(best.trace) - 1} steps "
            f"with a gradient of {np.abs(best.gradient).max():.1e}",
            newton.NotConverged,
            stacklevel=3,
        )
    if apart:
        warnings.warn(
            "the weights separate the classes: as alpha -> 0 the exact "
            "evidence tends to the share of prior directions that do, and "
            "may have no maximum where Laplace's has one",
            NoBestVariance,
            stacklevel=3,
        )
