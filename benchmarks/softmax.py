"""Softmax regression against its peers, at one final gradient for all.

    python benchmarks/softmax.py           every cell, about ten minutes
    python benchmarks/softmax.py --quick   small ones, written nowhere

A contender stops by a tolerance of its own meaning.  We give each the loosest
one with which the largest component of its final gradient is at most 1e-8 N;
a run that does so is found first.  Then all of a cell take turns, at least
three times and more while there is time, and the best of each one's runs
counts.  Ours validates its input, theirs need not (assume_finite).  Times in
milliseconds.
"""

import argparse
import json
import os
import platform
import time
import tracemalloc
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import sklearn
import statsmodels.api as statsmodels
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from prml4 import softmax

RESULTS = Path(__file__).parent / "results"
GOAL = 1e-8  # of max |grad E| / N
PATIENCE = 30  # seconds for a run that does not reach it
TOLERANCES = [float(f"{x}e-{k}") for k in range(3, 13) for x in (3, 1)]


def data(N, D, K):
    """Standard normal columns after a constant; activations of spread 2."""
    rng = np.random.default_rng(7)
    Phi = rng.standard_normal((N, D))
    Phi[:, 0] = 1
    W = rng.standard_normal((K, D))
    A = Phi[:1000] @ W.T
    W *= 2 / np.std(A - A.mean(axis=1, keepdims=True))
    A = softmax.activations(Phi, W)
    return Phi, np.argmax(A + rng.gumbel(size=A.shape), axis=1)


def scikit_learn(solver):
    """One of its solvers, without a penalty."""

    def fit(Phi, t, tol):
        with sklearn.config_context(assume_finite=True):
            model = LogisticRegression(
                C=np.inf,
                fit_intercept=False,
                solver=solver,
                tol=tol,
                max_iter=3000,
            )
            return model.fit(Phi, t).coef_

    return fit


def statsmodels_newton(Phi, t, tol):
    """Its MNLogit by Newton's method; class 0 is its reference."""
    model = statsmodels.MNLogit(t, Phi, check_rank=False, missing="none")
    fit = model.fit(method="newton", disp=0, tol=tol, maxiter=100)
    return np.vstack([np.zeros(Phi.shape[1]), fit.params.T])


def ours(Phi, t, tol):
    """As a user calls it."""
    return softmax.fit(Phi, t, tol=tol).W


def by(method):
    """One of our methods, without a sample to start from."""

    def fit(Phi, t, tol):
        return softmax.fit(Phi, t, tol=tol, method=method).W

    return fit


CONTENDERS = {
    "prml4": ours,
    "scikit-learn lbfgs": scikit_learn("lbfgs"),
    "scikit-learn newton-cg": scikit_learn("newton-cg"),
    "scikit-learn newton-cholesky": scikit_learn("newton-cholesky"),
    "statsmodels": statsmodels_newton,
    "prml4 newton": by("newton"),
    "prml4 newton-cg": by("newton-cg"),
}


def stationarity(W, Phi, t):
    """max |grad E(W)| / N."""
    return float(np.abs(softmax.gradient(W, Phi, t)).max() / len(t))


def loosest(name, Phi, t):
    """(tol, gradient) of the first tolerance that reaches the goal, or None."""
    for tol in TOLERANCES:
        start = time.perf_counter()
        try:
            W = CONTENDERS[name](Phi, t, tol)
        except (ArithmeticError, np.linalg.LinAlgError, ValueError):
            return None
        reached = stationarity(W, Phi, t)
        if reached <= GOAL:
            return tol, reached
        if time.perf_counter() - start > PATIENCE:
            return None
    return None


def milliseconds(f, *args):
    """How long f takes, once."""
    start = time.perf_counter()
    f(*args)
    return 1e3 * (time.perf_counter() - start)


def bound(Phi, K):
    """What one exact Newton step cannot do without: K (K - 1) / 2 symmetric
    products, the activations and the gradient."""
    W = np.ones((K, Phi.shape[1]))
    pair = milliseconds(lambda: Phi.T @ Phi)
    rest = milliseconds(lambda: (W @ Phi.T) @ Phi)
    return K * (K - 1) / 2 * pair + rest


def cells(N, D, K, threads, seconds):
    """One data set, at each number of threads every contender in turn."""
    say(f"N = {N:.0e} D = {D} K = {K}:")
    Phi, t = data(N, D, K)
    with threadpool_limits(1):
        set_up = {name: loosest(name, Phi, t) for name in CONTENDERS}
    for k in threads:
        with threadpool_limits(k):
            runs, floor = take_turns(Phi, t, K, set_up, seconds)
            found = summary(k, Phi, t, K, set_up, runs, floor)
        say(f" {k} threads {found['prml4']:.3g} ms, ratio {found['ratio']};")
        yield found
    say("\n")


def take_turns(Phi, t, K, set_up, seconds):
    """Milliseconds of every run of each contender, and of the bound."""
    runs = {name: [] for name, found in set_up.items() if found}
    floor, began = [], time.perf_counter()
    while not enough(runs["prml4"], began, seconds):
        for name, times in runs.items():
            if len(times) < 2 or sum(times) < 1e3 * seconds:
                tol, _ = set_up[name]
                times.append(milliseconds(CONTENDERS[name], Phi, t, tol))
        floor.append(bound(Phi, K))
    return runs, floor


def enough(times, began, seconds):
    """At least 3 repeats, at most 40; then until the time is up."""
    spent = time.perf_counter() - began
    return len(times) >= 3 and (len(times) >= 40 or spent > seconds)


def summary(threads, Phi, t, K, set_up, runs, floor):
    """What is kept of a cell."""
    N, D = Phi.shape
    best = {name: round(min(times), 4) for name, times in runs.items()}
    peers = {n: best.get(n) for n in CONTENDERS if "prml4" not in n}
    fastest = min((v, n) for n, v in peers.items() if v is not None)
    return {
        "N": N,
        "D": D,
        "K": K,
        "threads": threads,
        "prml4": best["prml4"],
        "peers": peers,
        "methods": {n: best.get(f"prml4 {n}") for n in ("newton", "newton-cg")},
        "fastest": fastest[1],
        "ratio": round(fastest[0] / best["prml4"], 3),
        "bound": round(min(floor), 4),
        "bounds": round(best["prml4"] / min(floor), 3),
        "gradient": {n: f[1] if f else None for n, f in set_up.items()},
        "method": softmax.fit(Phi, t).method,
        "repeats": len(floor),
        "data_mb": round(Phi.nbytes / 1e6, 3),
        "extra_mb": round(extra_memory(Phi, t), 3),
    }


def extra_memory(Phi, t):
    """Peak of what a fit allocates, in MB."""
    tracemalloc.start()
    softmax.fit(Phi, t)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def say(text):
    """Progress, at once."""
    print(text, end="", flush=True)


def main():
    """Run the cells and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")  # peers that stop early say so
    if quick:
        how = {"threads": [1], "seconds": 0.5}
        sizes = [(10**4, 10, 3), (10**4, 64, 3)]
    else:
        how = {"threads": [1, 2], "seconds": 5}
        sizes = [(10**4, 10, 3), (10**5, 10, 10)]
        sizes += [(10**5, 64, 3), (10**5, 64, 10)]
    found = [c for size in sizes for c in cells(*size, **how)]
    if not quick:
        write(found)


def write(found):
    """The report, from which a page of the book is made."""
    names = ["numpy", "scipy", "scikit-learn", "statsmodels"]
    report = {
        "setting": (
            f"{os.cpu_count()} cores, float64, standard normal columns and a "
            "constant, activations of standard deviation 2 about their mean, "
            "no prior; every contender reaches max |grad E| <= 1e-8 N, and "
            "the best of its runs counts."
        ),
        "versions": {"Python": platform.python_version()}
        | {n: version(n) for n in names},
        "cells": found,
        "notes": [],
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(report, indent=1) + "\n"
    (RESULTS / "softmax.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
