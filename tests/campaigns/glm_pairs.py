"""Random problems for glm.fit: is any answer wrong without a word?

Converged ones must be finite, stationary, and not beaten from another start,
but for the pairs with several minima, of which one in a hundred may be.
"""

import numpy as np

from prml4 import glm
from prml4.models.dispersion import FAMILIES, side
from prml4.numerics import newton
from tests.campaigns.problems import attempt, oddities

PAIRS = [(f, link) for f in FAMILIES for link in f.links]


def targets(rng, family, link, a):
    """t of means near f(a), inside the domain."""
    sign = side(family, link)
    if np.any(sign * a < 0):
        a = sign * np.exp(np.clip(a, -20, 20))
    y = link.mean(np.clip(a, -30, 30))
    return {
        "Gaussian": lambda: y + 0.1 * np.abs(y).max() * rng.normal(size=len(y)),
        "Bernoulli": lambda: 1.0 * (rng.random(len(y)) < y),
        "Poisson": lambda: 1.0 * rng.poisson(np.minimum(y, 1e9)),
        "Gamma": lambda: y * rng.gamma(4, 0.25, len(y)) + 1e-300,
        "inverse Gaussian": lambda: rng.wald(y, 5 * y) + 1e-300,
    }[family.name]()


def problem(rng):
    """Some data: a few rows or many, noise, copies, one target, any scale."""
    family, link = PAIRS[rng.integers(len(PAIRS))]
    N, M = int(200 ** rng.random()), rng.integers(1, 5)
    X = (
        rng.normal(size=(N, M - 1))
        if rng.random() < 0.6
        else rng.integers(0, 2, (N, M - 1)).astype(float)
    )
    Phi = np.c_[np.ones(N), X]
    t = targets(rng, family, link, Phi @ rng.normal(size=M))
    kind = rng.choice("model noise symmetric copies one rank scale".split())
    if kind == "noise":
        wild = np.exp(2 * rng.normal(size=N))
        t = wild if family.s is None else rng.permutation(t)
    elif kind == "symmetric" and family.s is None:
        few, many = np.exp(2 * rng.normal(size=2))
        Phi = np.c_[np.ones(10), [-1.0] + 8 * [0] + [1]]
        t = np.array([few] + 8 * [many] + [few])
    elif kind == "copies":
        Phi, t = np.r_[Phi, Phi], np.r_[t, rng.permutation(t)]
    elif kind == "one":
        t[:] = t[0]
    elif kind == "rank":
        Phi = np.c_[Phi, Phi @ rng.normal(size=M)]
    elif kind == "scale":
        size = 10.0 ** rng.uniform(-149, 145)
        units = family.s is None and rng.random() < 0.5
        Phi, t = (Phi, t * size) if units else (Phi * size, t)
    more = {"alpha": 10.0 ** rng.uniform(-8, 8)} if rng.random() < 0.4 else {}
    if rng.random() < 0.2:
        more["weights"] = rng.integers(0, 4, len(t)) + np.eye(len(t))[0]
    return family, link, Phi, t, more


@np.errstate(all="ignore")
def judged(rng, fit, Phi, t, family, link, offset, weights, alpha, m0):
    """Finite, stationary, not beaten from another start; or labels."""
    numbers = np.append(fit.w, [fit.error, fit.deviance])
    assert np.isfinite(numbers).all(), "not finite"
    given = glm._Problem(Phi, t, family, link, offset, weights, alpha, m0)
    scale = glm._spread(given)
    objective = glm._objective(given, scale, fisher=False)
    S = glm.information(fit.w, Phi, family, link, weights=weights)
    S = S / scale + np.diag(alpha / scale)
    size = np.sqrt(np.diag(S))
    E, g, _ = objective(fit.w, order=1)
    C = S / size / size[:, None]
    if not np.isfinite(C).all() or np.linalg.cond(C) > 1e10:
        return ["ill-conditioned"]
    left = np.sqrt(g / size @ np.linalg.solve(C, g / size))
    assert left <= 1e-5 * (1 + abs(E)), f"not stationary, {left:.0e}"
    for spread in (1, 3, 10, 30):
        w = fit.w + spread * rng.normal(size=len(size)) / size
        other = newton.newtons_method(objective, w).error
        if other < E - 1e-6 * (1 + abs(E)):
            assert given.bent, "beaten though convex"
            return ["searched", "beaten"]
    return ["searched"] * given.bent


def trial(rng, well):
    """One problem, converged ones judged."""
    family, link, Phi, t, more = easy(rng) if well else problem(rng)
    fit, said = attempt(lambda: glm.fit(Phi, t, family, link, **more))
    labels = [said, *oddities(Phi, t)]
    if said == "answered":
        again = glm.again(fit, Phi, t)
        labels += judged(rng, fit, *vars(again).values())
    return labels + ["separable"] * bool(fit and fit.separated)


def easy(rng):
    """Drawn from the model: 200 rows."""
    family, link = PAIRS[rng.integers(len(PAIRS))]
    Phi = np.c_[np.ones(200), rng.uniform(-1, 1, (200, 2))]
    a = Phi @ np.r_[2 * side(family, link), rng.uniform(-0.9, 0.9, 2)]
    return family, link, Phi, targets(rng, family, link, a), {}
