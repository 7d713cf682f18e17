"""How often is the right model chosen? Simulations for chapter 14.

    N       number of observations in a draw
    J       number of nested models, each with one column more than the last
    counts  (3, J)  how often each model had the largest BIC, AIC, evidence

Data come from one of three worlds, whose true log odds lie inside of the set
of models or outside of it.
"""

import json
import warnings
from pathlib import Path

import numpy as np

from prml4 import evidence
from prml4.models import bases
from prml4.models.data import with_bias
from prml4.numerics.separation import SeparableDataWarning
from prml4.numerics.special import sigmoid

RESULTS = Path(__file__).parent / "data" / "evidence.json"


def inside(rng, N):
    """a = 0.2 + 0.6 x_1, x ~ N(0, I); models (1), (1, x_1), (1, x_1, x_2)."""
    X = rng.normal(size=(N, 2))
    return _nested(with_bias(X)), _toss(rng, 0.2 + 0.6 * X[:, 0])


def outside(rng, N):
    """a = 2 (x_1^2 - 1), x ~ N(0, I); the same models, none with x_1^2."""
    X = rng.normal(size=(N, 2))
    return _nested(with_bias(X)), _toss(rng, 2 * (X[:, 0] ** 2 - 1))


def kink(rng, N):
    """a = 6 |x| - 3, x uniform on [-1, 1]; polynomials of order 0 to 8."""
    x = rng.uniform(-1, 1, size=N)
    Phi = bases.design(x, bases.polynomial(8))
    return _nested(Phi), _toss(rng, 6 * np.abs(x) - 3)


def _nested(Phi):
    """The first column, the first two, and so on."""
    return [Phi[:, :M] for M in range(1, Phi.shape[1] + 1)]


def _toss(rng, a):
    """t_n = 1 with probability sigma(a_n)."""
    return (rng.random(len(a)) < sigmoid(a)).astype(float)


WORLDS = {"inside": inside, "outside": outside, "kink": kink}


def chosen(world, N, batch, *, repeats=100, alpha=0.25):
    """How often argmax of BIC, AIC, ln p(t) is model j: (3, J) counts.

    Separable draws count: their likelihood is that of the last iterate.
    """
    if world not in WORLDS:
        raise ValueError(f"world must be one of {list(WORLDS)}; got {world!r}")
    if min(N // 2, repeats) < 1:
        raise ValueError(
            "N must be >= 2, for two classes, and repeats >= 1; "
            f"got {N} and {repeats}"
        )
    number = list(WORLDS).index(world)
    rng = np.random.default_rng([14, number, N, batch])
    counts = None
    for _ in range(repeats):
        designs, t = _draw(rng, WORLDS[world], N)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparableDataWarning)
            s = evidence.compare(designs, t, alpha=alpha)
        if counts is None:
            counts = np.zeros((3, len(designs)), int)
        for row, score in enumerate((s.bic, s.aic, s.log_evidence)):
            counts[row, np.argmax(score)] += 1
    return counts


def _draw(rng, world, N):
    """Data with both classes in them."""
    while True:
        designs, t = world(rng, N)
        if 0 < t.sum() < N:
            return designs, t


def experiments():
    """world -> N -> counts per batch, by tools/precompute_evidence.py."""
    return json.loads(RESULTS.read_text())
