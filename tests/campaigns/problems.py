"""Random problems for linear classifiers, and what all families share.

A family has trial(rng, well), which fits one problem and returns labels, one
of them "answered", "warned" or "refused"; what is wrong it asserts.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from prml4.numerics.newton import NotConverged
from prml4.numerics.separation import SeparableDataWarning

NAMED = NotConverged, SeparableDataWarning
SAYS = " must ", "singular", "constant", "no row of"  # what a refusal names


@dataclass
class Problem:
    """Phi (N, M), t (N,), alpha (M,), and weights (N,) or None."""

    Phi: np.ndarray
    t: np.ndarray
    alpha: np.ndarray
    weights: np.ndarray | None

    @property
    def options(self):
        """Of a fit."""
        return {"alpha": self.alpha, "weights": self.weights}


def draw(rng, well, K=2):
    """A well-posed problem is drawn from the model, of 200 rows."""
    if well:
        M = rng.integers(2, 5)
        Phi = np.c_[np.ones(200), rng.standard_normal((200, M - 1))]
        W = 0.5 * rng.standard_normal((K, M))
        t = (Phi @ W.T + rng.gumbel(size=(200, K))).argmax(axis=1)
        return Problem(Phi, t, np.zeros(M), None)
    N = int(np.exp(rng.uniform(0, np.log(200))))
    M = rng.integers(1, 7)
    Phi = rng.standard_normal((N, M))
    if rng.random() < 0.3:
        Phi = Phi.round()
    t = rng.integers(K, size=N)
    for change in (separate, double, depend):
        if rng.random() < 0.2:
            Phi, t = change(rng, Phi, t)
    if rng.random() < 0.1:
        t = np.full(len(t), rng.integers(K))
    prior = rng.random() < 0.4
    span = rng.choice([0, 3, 70 if prior else 140], p=[0.6, 0.2, 0.2])
    size = 10.0 ** rng.uniform(-span, span, M)
    alpha = prior * 10.0 ** rng.uniform(-8, 8) * size**2
    alpha = alpha * (rng.random(M) < rng.choice([0.5, 1]))
    weights = rng.integers(4, size=len(t)) if rng.random() < 0.2 else None
    return Problem(Phi * size, t, np.minimum(alpha, 1e149), weights)


def separate(rng, Phi, t):
    """Labels that planes through the origin separate, or all but."""
    W = rng.standard_normal((t.max() + 1, Phi.shape[1]))
    sure = (Phi @ W.T).argmax(axis=1)
    return Phi, np.where(rng.random(len(t)) < rng.choice([0, 0.05]), t, sure)


def double(rng, Phi, t):
    """Some rows twice, with another label."""
    n = rng.integers(1, len(t) + 1)
    return np.r_[Phi, Phi[:n]], np.r_[t, (t[:n] + 1) % (t.max() + 1)]


def depend(rng, Phi, t):
    """One column a combination of others, exactly or nearly."""
    j, near = rng.integers(Phi.shape[1]), 10.0 ** rng.uniform(-16, -4)
    Phi = Phi.copy()
    Phi[:, j] = Phi @ rng.integers(-1, 2, Phi.shape[1])
    if rng.random() < 0.5:
        Phi[:, j] += near * rng.standard_normal(len(t))
    return Phi, t


def oddities(X, t):
    """What is peculiar about these rows and targets."""
    size = np.abs(X).max(axis=0)
    A = X / np.where(size > 0, size, 1)
    if np.linalg.matrix_rank(A) < A.shape[1]:
        yield "singular"
    if np.ptp(t) == 0:
        yield "one class"
    unique = np.unique(X, axis=0)
    if len(np.unique(np.c_[X, t], axis=0)) > len(unique):
        yield "opposite labels"


def attempt(fit, refusals=ValueError, named=NAMED):
    """The fit or None, and whether it answered, warned or refused."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = fit()
        except refusals as no:
            assert any(word in str(no) for word in SAYS), repr(no)
            return None, "refused"
    for each in said:
        assert issubclass(each.category, named), repr(each.message)
    converged = getattr(found, "converged", not said)
    assert converged == (not said), "a warning and `converged` differ"
    return found, "warned" if said else "answered"


def decrement(g, H, E):
    """g^T H^{-1} g / (1 + |E|) without the null space of H, its diagonal 1."""
    size = np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, U = np.linalg.eigh(H / size / size[:, None])
    keep = values > 1e-12 * values[-1]
    return np.sum((U.T @ (g / size))[keep] ** 2 / values[keep]) / (1 + abs(E))
