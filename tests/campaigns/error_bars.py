"""Do error bars cover the truth? On problems whose answer is known.

    python -m tests.campaigns.error_bars --problems 100 --seed 0

Posteriors of 1 to 12 weights under narrow and wide priors: Gaussian noise,
where all is known in closed form, and logistic regression, by a grid, where a
plane may separate the classes. Of the error bars that come without a warning
nine in ten must cover the truth when doubled, for the means of chains and for
the evidence by importance sampling; else exit 1. Counts go to
benchmarks/results/error_bars.json.
"""

import argparse
import json
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from prml4 import bayes_logistic, evidence
from prml4.models.covariance import log_gaussian
from prml4.numerics import cubature, sampling
from tools import journal

RESULTS = Path(__file__).parents[2] / "benchmarks/results/error_bars.json"


def gaussian(rng):
    """ln f = ln p(t|w) + ln p(w), ln p(t|w), prior's width, ln Z, E[w]; q."""
    N, M = rng.integers(1, 20), rng.integers(1, 13)
    alpha, noise = 10 ** rng.uniform(-3, 1), 10 ** rng.uniform(-2, 1)
    Phi = rng.normal(size=(N, M))
    t = Phi @ rng.normal(size=M) / np.sqrt(alpha)
    t = t + rng.normal(size=N) * np.sqrt(noise)
    e = evidence.linear_evidence(Phi, t, alpha=alpha, noise=noise)

    def log_l(w):
        z = (w @ Phi.T - t) / np.sqrt(noise)
        return log_gaussian(z, 0.5 * N * np.log(noise))

    q = e.posterior
    return log_l, alpha, M, e.log_evidence, q.mode, q


def logistic(rng):
    """The same, by a grid; another problem where that is too coarse."""
    while True:
        N, M = rng.integers(3, 60), rng.integers(1, 3)
        alpha = 10 ** rng.uniform(-3, 1)
        Phi = rng.normal(size=(N, M))
        a = 2 * Phi @ rng.normal(size=M)
        t = (rng.random(N) < 1 / (1 + np.exp(-a))).astype(float)
        q = bayes_logistic.fit(Phi, t, alpha=alpha)
        log_l = partial(evidence.log_likelihood, Phi=Phi, t=t)
        log_f = partial(evidence.log_joint, Phi=Phi, t=t, alpha=alpha)
        try:
            true = cubature.integrate(log_f, q, tol=1e-4)
        except cubature.TooCoarse:
            continue
        return log_l, alpha, M, true.log_evidence, true.mean, q


def bars(rng, make, n):
    """Kind -> (gaps in standard errors, whether a warning came)."""
    log_l, alpha, M, log_Z, mean, q = make(rng)
    prior = np.zeros(M), np.eye(M) / np.sqrt(alpha)

    def chain():
        w = sampling.elliptical(log_l, *prior, rng, 10 * n)
        size = sampling.effective_size(w)
        return (w.mean(axis=0) - mean) / (w.std(axis=0) / np.sqrt(size))

    def importance():
        def log_f(w):
            return log_l(w) + evidence.log_gaussian(w, alpha)

        _, ratios = sampling.importance(rng, n, log_f, q.mode, q.axes)
        found = sampling.log_mean(ratios)
        return (found.value - log_Z) / found.standard_error

    for task in (chain, importance):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gaps = np.atleast_1d(task())
        assert {w.category for w in caught} <= {sampling.TooFewDraws}
        yield f"{make.__name__}, {task.__name__}", gaps, bool(caught)


def main():
    """Print and keep the counts; whether enough is covered."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--problems", type=int, default=100)
    asked.add_argument("--draws", type=int, default=400)
    asked.add_argument("--seed", type=int, default=0)
    asked, found = asked.parse_args(), {}
    for make in (gaussian, logistic):
        for k in range(asked.problems):
            rng = np.random.default_rng([asked.seed, k])
            for kind, gaps, warned in bars(rng, make, asked.draws):
                found.setdefault(kind, ([], []))[warned].extend(np.abs(gaps))
    kinds = {kind: counted(*gaps) for kind, gaps in found.items()}
    text = json.dumps(vars(asked) | {"kinds": kinds}, indent=1)
    print(text)
    journal.write(RESULTS, text + "\n")
    return all(k["cover"] >= 0.9 * k["bars"] for k in kinds.values())


def counted(plain, warned):
    """How many error bars cover the truth when doubled, and the farthest."""
    plain, warned = np.array(plain), np.array(warned)
    return {
        "bars": len(plain),
        "cover": int(np.sum(plain < 2)),
        "farthest": round(float(max(plain, default=0)), 1),
        "warned": len(warned),
        "warned that cover": int(np.sum(warned < 2)),
    }


if __name__ == "__main__":
    sys.exit(not main())
