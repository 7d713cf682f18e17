"""Prior precisions of Bayesian regressions by their evidence, PRML 3.5, 4.5.

alpha   (M,)  prior precisions, w_j ~ N(m0_j, 1 / alpha_j)
groups  (M,)  columns with one number share a precision, -1 keeps its own
theta   (G,)  ln alpha of each group: what the search moves
gamma   (G,)  how many of a group's weights the data determine
d       (M,)  w_MAP - m0
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.linalg import inv

from prml4 import laplace, newton, validate
from prml4.bayes_logistic import cost, gaussian, prior
from prml4.likelihoods import LOGISTIC

ROUGH = 1e-5  # relative decrement at which a search over alpha moves on
FAR, NEAR = 3.0, 0.1  # longest step of ln alpha; what ends the fixed points
TURNS = 30  # of these at most
VAIN = 1e-6  # share of a weight that the data determine, if next to none


class NoBestPrecision(UserWarning):
    """The evidence rises for ever as a precision tends to infinity."""


def evidence_gradient(
    q, Phi, t, alpha, m0=None, weights=None, likelihood=LOGISTIC
):
    """d ln Z/d alpha_j = (1/alpha_j - d_j^2 - S_jj + d_j (S u)_j) / 2.

    d = w_MAP - m0; u = sum_n E_n''' phi_n^T S_N phi_n phi_n is how the mode
    moves ln|A|. Summed over j for a precision that all share.
    """
    root = inv(q.cholesky)
    alpha = validate.precisions(alpha, len(q.mode))
    m0 = validate.vector_or_zeros("m0", m0, len(q.mode), "column")
    d = q.mode - m0

    def third(a, rows):
        half = Phi[rows] @ root.T
        h = np.einsum("nm,nm->n", half, half)
        return np.zeros_like(a), -likelihood.log_p(a, t[rows], 3)[3] * h

    _, u, _ = newton.row_pass(Phi, q.mode, third, weights=weights, order=1)
    own = np.sum(root**2, axis=0)
    return 0.5 * (1 / alpha - d**2 - own + d * (root.T @ (root @ u)))


@dataclass(frozen=True, eq=False)
class EvidenceFit:
    """The prior precisions of greatest evidence, and the posterior there."""

    alpha: np.ndarray  # (M,)
    posterior: laplace.Laplace
    gradient: np.ndarray  # (G,) of ln Z by ln alpha_g
    converged: bool
    trace: tuple[float, ...]  # ln Z at the accepted iterates


def maximise_evidence(
    Phi,
    t,
    *,
    groups=None,
    alpha=1.0,
    m0=None,
    weights=None,
    likelihood=LOGISTIC,
):
    """alpha = argmax ln p(t|alpha), PRML 4.4.1, 3.5; MacKay (1992).

    Columns with the same number in groups (M,) share a precision; those with
    -1 keep theirs. Without groups all share one.
    """
    Phi, t, weights = validate.two_classes(Phi, t, weights)
    M = Phi.shape[1]
    p = prior(M, alpha=alpha, m0=m0)
    groups = _groups(groups, M)
    climb = _Climb(
        newton.Objective(Phi, cost(likelihood, t), weights, p.precision, p.m0),
        t,
        groups,
        likelihood,
    )
    best = climb.ascend()
    _complain(best, climb)
    objective = climb.at(best.w)
    found = newton.iterate(objective, climb.w)
    q = gaussian(objective, found, float(np.log(objective.alpha).sum()))
    return EvidenceFit(
        objective.alpha,
        q,
        -best.gradient,
        bool(best.converged and not climb.vain.any()),
        tuple(-E for E in best.trace),
    )


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


class _Climb:
    """theta -> -ln Z at alpha_g = e^theta_g; each mode starts at the last."""

    def __init__(self, objective, t, groups, likelihood):
        """Precisions start from those of the objective."""
        self.objective, self.t = objective, t
        self.groups, self.likelihood = groups, likelihood
        self.free = groups >= 0
        self.size = np.bincount(groups[self.free])
        self.w, self.gamma = objective.m0, self.size.astype(float)

    def at(self, theta):
        """The objective with these precisions."""
        alpha = self.objective.alpha.copy()
        alpha[self.free] = np.exp(theta[self.groups[self.free]])
        o = self.objective
        return newton.Objective(o.Phi, o.pointwise, o.weights, alpha, o.m0)

    def __call__(self, theta, order=1):
        """(-ln Z, its gradient by theta, None), for newton.refine."""
        with np.errstate(over="ignore"):
            objective = self.at(theta)
        if not np.all((objective.alpha > 1e-100) & (objective.alpha < 1e100)):
            return np.inf, theta, None
        best = newton.iterate(objective, self.w, tol=ROUGH)
        q = gaussian(objective, best, float(np.log(objective.alpha).sum()))
        self.w = q.mode
        slope = evidence_gradient(
            q, objective.Phi, self.t, objective.alpha, objective.m0,
            objective.weights, self.likelihood,
        )  # fmt: skip
        up = self._sum(objective.alpha * slope)
        self.pull = self._sum(objective.alpha * (q.mode - objective.m0) ** 2)
        self.gamma = 2 * up + self.pull
        return -q.log_evidence, -up, None

    def _sum(self, values):
        """Over the columns of each group."""
        return np.bincount(self.groups[self.free], values[self.free])

    @property
    def vain(self):
        """Groups whose weights the prior holds at m0: their alpha stays."""
        return self.gamma < VAIN * self.size

    def predictor(self, step):
        """What must not move: ln alpha itself."""
        return step

    def ascend(self):
        """Fixed points alpha = gamma / |d|^2 first, then quasi-Newton."""
        theta = np.array(
            [
                np.log(self.objective.alpha[self.groups == g]).mean()
                for g in range(len(self.size))
            ]
        )
        N, M = self.objective.Phi.shape
        if N * M**2 > newton.CHEAP and N >= newton.SMALL * M:
            theta, self.w = self._from_sample(theta, N // 20)
        for _ in range(TURNS):
            self(theta)
            tiny = np.finfo(float).tiny
            pull = np.maximum(self.pull, tiny)
            step = np.log(np.maximum(self.gamma, 0.01 * pull) / pull)
            step = np.where(self.vain, 0.0, np.clip(step, -FAR, FAR))
            theta = theta + step
            if np.abs(step).max() < NEAR:
                break
        B = np.diag(np.where(self.vain, 0.0, 2 / np.maximum(self.gamma, VAIN)))
        return newton.refine(self, theta, B)

    def _from_sample(self, theta, n):
        """theta and w of about n of the rows, found from theta."""
        rows = newton.spread_rows(len(self.t), n)
        o, t = self.objective, self.t[rows]
        weights = None if o.weights is None else o.weights[rows]
        part = newton.Objective(
            o.Phi[rows], cost(self.likelihood, t), weights, o.alpha, o.m0
        )
        small = _Climb(part, t, self.groups, self.likelihood)
        return small.ascend().w, small.w


def _complain(best, climb):
    """Say by name where no precision is best."""
    if climb.vain.any():
        worst = int(np.argmin(climb.gamma / climb.size))
        warnings.warn(
            f"the evidence still rises at alpha = {np.exp(best.w[worst]):.0e} "
            f"of group {worst}: the data would rather do without its columns",
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
