"""Random problems for Bayesian logistic regression and its evidence.

A failure: NaN; what converged where a Newton step still gains or moves
something; another evidence by chapter 14. A search that a grid beats without
a word is counted.
"""

import numpy as np

from prml4 import bayes_logistic, evidence
from prml4.models.likelihoods import LOGISTIC, PROBIT
from prml4.numerics import newton, separation
from prml4.studies import precision
from tests.campaigns.problems import attempt, oddities

NAMED = newton.NotConverged, precision.NoBestPrecision, precision.NoBestVariance
FACTORS = np.geomspace(1e-4, 1e4, 33)  # of the alpha found: what else there is


def problem(rng, tame):
    """Phi, t, alpha, m0; tame: drawn from the model."""
    N, M = np.exp(rng.uniform(0, np.log(200), 2)).astype(int)
    N, M = rng.integers([100, 1], [200, 5]) if tame else (N, min(M, 40))
    Phi, w, m0 = rng.normal(size=(N, M)), rng.normal(size=M), 0.0
    # tame: none so small that the evidence would do without it
    w = w + np.sign(w) if tame else w * 10 ** rng.uniform(-1, 1)
    t = (rng.random(N) < 1 / (1 + np.exp(-Phi @ w))).astype(float)
    if tame:
        return Phi, t, 1.0, np.zeros(M)
    dice = (rng.random(6) < [0.2, 0.2, 0.1, 0.2, 0.1, 0.2]).tolist()
    if dice[0]:
        Phi, t = np.vstack([Phi, Phi]), np.r_[t, 1 - t]
    if dice[1]:
        Phi[:, -1] = Phi[:, 0]
    if dice[2]:
        t[:] = t[0]
    if dice[3]:
        Phi = Phi * 10 ** rng.uniform(-150, 74, rng.choice([1, M]))
    elif dice[4]:
        Phi *= 1e8
    if dice[5]:
        m0 = 10 ** rng.uniform(-4, 4)
    return Phi, t, 10 ** rng.uniform(-8, 8), np.full(M, m0)


def arrived(q, Phi, t, alpha, m0, likelihood):
    """A mode that says it is one: a Newton step gains and moves nothing."""
    a = Phi @ q.mode
    g = likelihood.log_p(a, t, 1)[1] @ Phi - alpha * (q.mode - m0)
    step = np.linalg.solve(q.cholesky.T, np.linalg.solve(q.cholesky, g))
    assert g @ step <= 1e-12 * (1 + abs(q.log_f)), "not stationary"
    far = np.abs(Phi @ step).max()
    assert far <= 1e-5 * (1 + np.abs(a).max()), "moves"


def fitted(Phi, t, alpha, m0, likelihood):
    """A fit, what it must be, and what chapter 14 says."""
    q = bayes_logistic.fit(Phi, t, alpha=alpha, m0=m0, likelihood=likelihood)
    y = bayes_logistic.predict_proba(q, Phi)
    numbers = [q.mode, q.precision.ravel(), q.log_evidence, q.trace, y.ravel()]
    assert np.isfinite(np.hstack(numbers)).all(), "not finite"
    assert np.abs(y - 0.5).max() <= 0.5, "no probabilities"
    if q.converged:
        arrived(q, Phi, t, alpha, m0, likelihood)
    if q.converged and likelihood is LOGISTIC:
        other = evidence.logistic_evidence(Phi, t, alpha=alpha, m0=m0)
        gap = abs(other.log_evidence - q.log_evidence)
        assert gap <= 1e-6 * (1 + abs(q.log_evidence)), "two evidences"
    return q


def searched(Phi, t, alpha, m0, likelihood):
    """The alpha of largest evidence, and whether a grid finds better."""
    more = {"m0": m0, "likelihood": likelihood}
    found = precision.maximise_evidence(Phi, t, alpha=alpha, **more)
    numbers = np.hstack([found.alpha, found.gradient])
    assert np.isfinite(numbers).all(), "a search that is not finite"
    grid = np.clip(found.alpha[0] * FACTORS, 1e-140, 1e140)
    best = max(
        bayes_logistic.fit(Phi, t, alpha=a, **more).log_evidence for a in grid
    )
    return found.converged and best > found.posterior.log_evidence + 1e-3


def trial(rng, well):
    """A fit of one problem and, where rows are few, a search for alpha."""
    Phi, t, *rest = problem(rng, well)
    data = Phi, t, *rest, (LOGISTIC, PROBIT)[rng.integers(2)]
    q, said = attempt(lambda: fitted(*data))
    labels = [said, *oddities(Phi, t)]
    if q and np.abs(Phi).max() < 1e9:
        split = separation.separation(Phi, t).kind != "none"
        labels += ["separable"] * split
    if len(t) < 60 or well:
        worse, said = attempt(lambda: searched(*data), named=NAMED)
        labels += [f"search {said}"] + ["beaten"] * bool(worse)
        labels += ["searched"] * (said == "answered")
        assert not well or said == "answered", f"search {said}"
    return labels
