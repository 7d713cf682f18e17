"""Random problems for logistic.fit and irls.fit_irls."""

import numpy as np
from scipy.optimize import minimize

from prml4 import irls, logistic
from prml4.numerics.separation import separation
from tests.campaigns.problems import attempt, decrement, draw, oddities


def trial(rng, well):
    """One problem by both fits; each answer is held against E itself."""
    p = draw(rng, well)
    found, said = attempt(lambda: logistic.fit(p.Phi, p.t, **p.options))
    again, other = attempt(lambda: irls.fit_irls(p.Phi, p.t, **p.options))
    assert (found is None) == (again is None), "only one of two fits refused"
    labels = [said, f"IRLS {other}", *oddities(p.Phi, p.t)]
    if found is None:
        return labels
    labels += ["separable"] * bool(found.separated)
    objective, t = logistic.problem(p.Phi, p.t, p.alpha, None, p.weights)
    for fit in (found, again):
        judge(fit, objective, t, p)
    if found.converged and again.converged:
        gap = again.error - found.error
        assert abs(gap) <= 1e-8 * (1 + found.error), f"IRLS is off by {gap}"
    return labels


def judge(fit, objective, t, p):
    """Stationary and the lowest if it says so; separable with a proof."""
    assert np.isfinite(fit.w).all(), "weights that are not finite"
    E, g, H = objective(fit.w)
    assert abs(E - fit.error) <= 1e-9 * (1 + E), "another error than E(w)"
    if fit.converged:
        assert decrement(g, H, E) <= 1e-10, f"decrement {decrement(g, H, E)}"
        lower = search(objective, fit.w)
        assert lower >= E - 1e-7 * (1 + E), f"beaten by {E - lower}"
    if fit.separated:
        free = p.alpha == 0
        found = separation(objective.Phi[:, free], t)
        ahead = (2 * t - 1) * (objective.Phi[:, free] @ found.direction)
        size = np.abs(objective.Phi[:, free] * found.direction).max()
        assert ahead.min() >= -1e-9 * size and ahead.max() > 0, "no proof"


def search(objective, w):
    """The lowest E that BFGS finds, from w and from 0, columns scaled."""
    size = np.abs(objective.Phi).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    size = np.maximum(size, np.sqrt(objective.alpha))

    def f(u):
        E, g, _ = objective(u / size, order=1)
        return E, g / size

    starts = [w * size, 0 * w]
    with np.errstate(all="ignore"):
        return min(
            minimize(f, u, jac=True, method="L-BFGS-B").fun for u in starts
        )
