"""Bayesian logistic regression: its search for alpha, and its predictions.

    python benchmarks/bayes_logistic.py            every cell, some minutes
    python benchmarks/bayes_logistic.py --quick    small ones, a few seconds

Fits and single passes over the data are stated as multiples of a bound, one
symmetric rank-k product and two matrix-vector products of that shape. The
bound of the probabilities by quadrature is the probit approximation of the
same ones; both include phi^T S_N phi. All of a cell take turns, and the best
of each one's runs counts. Times in milliseconds.
"""

import argparse
import warnings
from functools import partial

import numpy as np
import race
from threadpoolctl import threadpool_limits

from prml4 import bayes_logistic
from prml4.models import averages
from prml4.models.likelihoods import LOGISTIC
from prml4.numerics import descent
from prml4.studies import precision

PASSES = 30  # over the data, at most, for a search with D = 50
SLOWER = 10  # than the probit approximation, at most, the quadrature


def data(N, D):
    """Standard normal columns after a constant; log odds of spread 2."""
    rng = np.random.default_rng(7)
    Phi = rng.standard_normal((N, D))
    Phi[:, 0] = 1
    w = rng.standard_normal(D)
    a = Phi @ (w * 2 / np.std(Phi[:1000] @ w))
    return Phi, (rng.random(N) < 1 / (1 + np.exp(-a))).astype(float)


def bound(Phi, t):
    """What one exact Newton step cannot do without."""
    w = np.ones(Phi.shape[1])
    return race.milliseconds(lambda: (Phi @ w, t @ Phi, Phi.T @ Phi))


def tasks(Phi, t):
    """Name of a task -> what it runs, and against which bound."""
    M = Phi.shape[1]
    floor = partial(bound, Phi, t)
    q = bayes_logistic.fit(Phi, t, alpha=1.0)
    objective = descent.Objective(
        Phi, LOGISTIC.loss(t), None, np.ones(M), np.zeros(M)
    )
    few = bayes_logistic.fit(Phi[: 3 * M], t[: 3 * M], alpha=0.1)
    found = {
        "search for alpha": partial(precision.maximise_evidence, Phi, t),
        "fit at a given alpha": partial(bayes_logistic.fit, Phi, t, alpha=1.0),
        "pass: E, g, H": partial(objective, q.mode),
        "pass: E, g": partial(objective, q.mode, order=1),
        "pass: slope of the evidence": partial(
            precision.evidence_gradient, q, Phi, t, np.ones(M)
        ),
    }
    yield from ((name, run, floor) for name, run in found.items())
    for name, fit in (("narrow", q), ("wide", few)):
        predict = partial(bayes_logistic.predict_proba, fit, Phi)
        rough = partial(predict, averages.mackay)
        yield (
            f"probabilities, {name} posterior",
            predict,
            partial(race.milliseconds, rough),
        )


def cells(N, D, threads, seconds):
    """One data set, every task, at each number of threads."""
    race.say(f"N = {N:.0e} D = {D}:\n")
    Phi, t = data(N, D)
    for k in threads:
        with threadpool_limits(k):
            for name, run, floor in tasks(Phi, t):
                runs, floors = race.take_turns({"prml4": run}, floor, seconds)
                best, least = min(runs["prml4"]), min(floors)
                extra, _ = race.memory(run)
                cell = {
                    "task": name, "N": N, "D": D, "threads": k,
                    "prml4": round(best, 4), "bound": round(least, 4),
                    "bounds": round(best / least, 3),
                    "passes": race.passes(N, run),
                    "data_mb": round(Phi.nbytes / 1e6, 3),
                    "extra_mb": round(extra, 3), "repeats": len(floors),
                }  # fmt: skip
                race.say(
                    f"  {k} threads, {name}: {best:.3g} ms, {best / least:.3g} "
                    f"bounds, passes {cell['passes']}\n"
                )
                yield cell


def broken(found):
    """The promises that these cells do not keep; passes are for D = 50."""
    for cell in found:
        search = "search" in cell["task"] and cell["D"] >= 50
        if search and sum(cell["passes"]) > PASSES:
            yield f"{cell['passes']} passes in a search"
        if "probabilities" in cell["task"] and cell["bounds"] > SLOWER:
            yield f"{cell['task']}: {cell['bounds']} times slower"


def main():
    """Run the cells and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    sizes = [(10**4, 20)] if quick else [(10**5, 10), (10**5, 50)]
    how = {"threads": [1], "seconds": 0.3}
    how = how if quick else {"threads": [1, 2], "seconds": 2}
    found = [cell for size in sizes for cell in cells(*size, **how)]
    for promise in broken(found):
        race.say(f"NOT KEPT: {promise}\n")
    if not quick:
        race.write(
            "bayes_logistic",
            "standard normal columns and a constant, log odds of standard "
            "deviation 2. The bound of fits and passes is one symmetric "
            "rank-k product and two matrix-vector products; that of "
            "probabilities by quadrature is the probit approximation, both "
            "with the variances of the activations. Passes are those for "
            "gradients and those for Hessians as well.",
            ["numpy", "scipy"],
            found,
        )


if __name__ == "__main__":
    main()
