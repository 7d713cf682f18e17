"""Random problems for probit.fit, with flipped labels too, and fit_noise.

With flipped labels E is not convex: there an end that another start beats is
counted, and only a beaten end of a convex fit is a failure.
"""

import numpy as np

from prml4 import logistic, probit
from prml4.models.likelihoods import CLOGLOG, LOGISTIC, PROBIT, flipped
from prml4.numerics import descent, newton
from tests.campaigns.problems import attempt, decrement, draw, oddities

STOP = {"tol": newton.ROUNDING, "max_iter": 100}


def trial(rng, well):
    """One problem by the fit of a likelihood, flipped or not, or of both."""
    p = draw(rng, well)
    base = [PROBIT, LOGISTIC, CLOGLOG][rng.integers(3)]
    # well posed is plain alone: with wrong labels E need not have a minimum
    way = "plain" if well else rng.choice(["plain", "flipped", "both"])
    likelihood = flipped(base, 0.1) if way == "flipped" else base
    fit = probit.fit_noise if way == "both" else probit.fit

    def one():
        return fit(p.Phi, p.t, likelihood=likelihood, **p.options)

    found, said = attempt(one)
    labels = [said, f"{way} {said}", *oddities(p.Phi, p.t)]
    if found is None:
        return labels
    labels += ["separable"] * bool(found.separated)
    assert np.isfinite(found.w).all(), "weights that are not finite"
    objective, t = logistic.problem(
        p.Phi, p.t, p.alpha, None, p.weights, found.likelihood
    )
    E = objective(found.w, order=1)[0]
    assert abs(E - found.error) <= 1e-9 * (1 + E), "another error than E(w)"
    if found.converged:
        left = decrement(*theta(found, objective, t, base, way), E)
        assert left <= 1e-10, f"decrement {left}"
        worse = beaten(rng, found, objective, t)
        assert not (worse and way == "plain"), "a convex fit is beaten"
        labels += ["searched"] * (way != "plain")
        labels += ["beaten", f"{way} beaten"] * worse
    return labels


def theta(found, objective, t, base, way):
    """Gradient and curvature, by w or by w and epsilon where that is free.

    The mean curvature only where that of these targets is not positive
    definite: a few rows may have 1e13 times the curvature of their mean.
    """
    g, H = found.gradient, found.H
    if way == "both" and found.epsilon > 0:
        at, alpha = np.append(found.w, found.epsilon), objective.alpha
        data = objective.Phi, t, base, objective.weights
        g = probit.joint_gradient(at, *data) + np.append(alpha * found.w, 0)
        g[-1] = np.sign(g[-1]) * max(abs(g[-1]) - rounding(found, *data), 0)
        H = probit.joint_hessian(at, *data) + np.diag(np.append(alpha, 0))
    definite = newton.smallest_share(H) > descent.DEPENDENT
    return g, H if definite else found.information


def rounding(found, Phi, t, base, weights):
    """Of dE/d(epsilon): each 2 f - 1 over p has lost a rounding of 1 over p.

    At w = 0, where every label comes with its opposite, no more is left of it,
    and E does not depend on epsilon.
    """
    odds = np.exp(-found.likelihood.log_p(Phi @ found.w, t, 0)[0])
    return np.finfo(float).eps * np.sum(
        odds if weights is None else weights * odds
    )


def beaten(rng, found, objective, t):
    """Does a way down from another of five starts end at a lower minimum?"""
    size = np.abs(objective.Phi).max(axis=0)
    size[size == 0] = 1
    for scale in (0, 1, 1, 5, 5):
        w = scale * rng.standard_normal(len(size)) / size
        end = probit._descent(objective, t, found.likelihood, [w], STOP)
        if end.converged and end.error < found.error - 1e-6 * (1 + end.error):
            return True
    return False
