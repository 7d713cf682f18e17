"""Random problems for softmax.fit, by both methods."""

import numpy as np
from scipy.optimize import minimize

from prml4 import softmax
from prml4.numerics.separation import of_classes
from tests.campaigns.problems import attempt, decrement, draw, oddities


def trial(rng, well):
    """One problem by both methods; each answer is held against E itself."""
    p = draw(rng, well, K=rng.integers(2, 6))
    ends, labels = [], [*oddities(p.Phi, p.t)]
    for method in ("newton", "newton-cg"):

        def fit(method=method):
            return softmax.fit(p.Phi, p.t, method=method, **p.options)

        found, said = attempt(fit)
        labels.append(said if method == "newton" else f"{method} {said}")
        if found is not None:
            judge(found, p)
        ends.append(found)
    one, two = ends
    labels += ["separable"] * bool(one and one.separated)
    assert (one is None) == (two is None), "only one of two methods refused"
    if one and one.converged and two.converged:
        gap = one.error - two.error
        assert abs(gap) <= 1e-8 * (1 + one.error), f"methods differ by {gap}"
    return labels


def judge(fit, p):
    """Stationary and the lowest if it says so; separable with a proof."""
    assert np.isfinite(fit.W).all(), "weights that are not finite"
    objective, _ = softmax._problem(p.Phi, p.t, p.alpha, None, p.weights)
    v = (fit.W[:-1] - fit.W[-1]).ravel()
    E, g, H = objective(v)
    most = 1e-9 * (1 + E) + rounding(fit.W, objective)
    assert abs(E - fit.error) <= most, "another error than E(W)"
    if fit.converged:
        assert decrement(g, H, E) <= 1e-10, f"decrement {decrement(g, H, E)}"
        lower = search(objective, v)
        assert lower >= E - 1e-7 * (1 + E), f"beaten by {E - lower}"
    if fit.separated:
        free = p.alpha == 0
        found = of_classes(objective.Phi[:, free], objective.t)
        assert found.kind == fit.separated, f"{found.kind}, {fit.separated}"


def rounding(W, objective):
    """What E loses in the sums a = W phi, and in W, which is T v itself.

    A ln y changes by twice as much as an a does at most, and that by (K + M)
    roundings of sum_j |w_j phi_j|: where columns are alike, W is 1e13.
    """
    (K, M), c = W.shape, objective.weights
    sums = np.abs(objective.Phi) @ np.abs(W).max(axis=0)
    c = np.ones(len(sums)) if c is None else c
    return 4 * (K + M) * np.finfo(float).eps * float(c @ sums)


def search(objective, v):
    """The lowest E that BFGS finds, from v and from 0, columns scaled."""
    size = np.abs(objective.Phi).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    size = np.maximum(size, np.sqrt(objective.alpha))
    size = np.tile(size, len(objective.P))

    def f(u):
        E, g, _ = objective(u / size, order=1)
        return E, g / size

    starts = [v * size, 0 * v]
    with np.errstate(all="ignore"):
        return min(
            minimize(f, u, jac=True, method="L-BFGS-B").fun for u in starts
        )
