"""Two-class logistic regression against scikit-learn, statsmodels and glum.

    python benchmarks/logistic.py            every cell, a quarter of an hour
    python benchmarks/logistic.py --quick    small ones, about twenty seconds

Each contender must reach the same stationarity, max |grad E| <= 1e-8 N; its
loosest tolerance that does so is found first.  Then all of a cell take turns,
at least twice and more while there is time, and the best of each one's runs
counts.  Ours validates its input, theirs need not (assume_finite,
check_input).  Times in milliseconds.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import tracemalloc
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import sklearn
import statsmodels.api as statsmodels
from glum import GeneralizedLinearRegressor
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from prml4 import logistic, newton

RESULTS = Path(__file__).parent / "results"
GOAL = 1e-8  # of max |grad E| / N
PATIENCE = 20  # seconds for a run that does not reach it
TOLERANCES = [float(f"{x}e-{k}") for k in range(3, 13) for x in (3, 1)]


def data(kind, N, D):
    """Standard normal columns after a constant; log odds of spread 2."""
    rng = np.random.default_rng(7)
    Phi = rng.standard_normal((N, D))
    if kind == "correlated":  # neighbours by 0.8
        lag = np.abs(np.subtract.outer(np.arange(D), np.arange(D)))
        Phi = Phi @ np.linalg.cholesky(0.8**lag).T
    Phi[:, 0] = 1
    w = rng.standard_normal(D)
    w *= 2 / np.std(Phi[:1000] @ w)
    t = (rng.random(N) < logistic.predict_proba(Phi, w)).astype(float)
    if kind == "ill-scaled":  # columns from 0.01 to 1
        Phi = Phi * np.logspace(0, -2, D)
    return Phi, t


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
            return model.fit(Phi, t).coef_[0]

    return fit


def statsmodels_newton(Phi, t, tol):
    """Its Logit by Newton's method, its fastest here."""
    model = statsmodels.Logit(t, Phi, check_rank=False, missing="none")
    return model.fit(method="newton", disp=0, tol=tol, maxiter=100).params


def glum_irls(Phi, t, tol):
    """Its least-squares solver, which suits alpha = 0 best."""
    model = GeneralizedLinearRegressor(
        family="binomial",
        alpha=0,
        fit_intercept=False,
        solver="irls-ls",
        gradient_tol=tol,
        max_iter=200,
        check_input=False,
    )
    return model.fit(Phi, t).coef_


def ours(Phi, t, tol):
    """As a user calls it."""
    return logistic.fit(Phi, t, tol=tol).w


CONTENDERS = {
    "prml4": ours,
    "scikit-learn lbfgs": scikit_learn("lbfgs"),
    "scikit-learn newton-cg": scikit_learn("newton-cg"),
    "scikit-learn newton-cholesky": scikit_learn("newton-cholesky"),
    "statsmodels": statsmodels_newton,
    "glum": glum_irls,
}


def stationarity(w, Phi, t):
    """max |grad E(w)| / N."""
    return float(np.abs(logistic.gradient(w, Phi, t)).max() / len(t))


def loosest(name, Phi, t):
    """(tol, gradient) of the first tolerance that reaches the goal, or None."""
    for tol in TOLERANCES:
        start = time.perf_counter()
        try:
            w = CONTENDERS[name](Phi, t, tol)
        except (ArithmeticError, np.linalg.LinAlgError, ValueError):
            return None
        reached = stationarity(w, Phi, t)
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


def bound(Phi, t):
    """What one exact Newton step cannot do without."""
    w = np.ones(Phi.shape[1])
    return milliseconds(lambda: (Phi @ w, t @ Phi, Phi.T @ Phi))


def cells(kind, N, D, threads, seconds):
    """One data set, at each number of threads every contender in turn."""
    say(f"{kind} N = {N:.0e} D = {D}:")
    Phi, t = data(kind, N, D)
    with threadpool_limits(1):
        set_up = {name: loosest(name, Phi, t) for name in CONTENDERS}
    for k in threads:
        with threadpool_limits(k):
            runs, floor = take_turns(Phi, t, set_up, seconds)
            found = summary(kind, k, Phi, t, set_up, runs, floor)
        say(f" {k} threads {found['prml4']:.3g} ms, ratio {found['ratio']};")
        yield found
    say("\n")


def take_turns(Phi, t, set_up, seconds):
    """Milliseconds of every run of each contender, and of the bound."""
    runs = {name: [] for name, found in set_up.items() if found}
    floor, began = [], time.perf_counter()
    while not enough(runs["prml4"], began, seconds):
        for name, times in runs.items():
            if len(times) < 2 or sum(times) < 1e3 * seconds:
                tol, _ = set_up[name]
                times.append(milliseconds(CONTENDERS[name], Phi, t, tol))
        floor.append(bound(Phi, t))
    return runs, floor


def enough(times, began, seconds):
    """At least 3 repeats, at most 40; then until the time is up."""
    spent = time.perf_counter() - began
    return len(times) >= 3 and (len(times) >= 40 or spent > seconds)


def summary(kind, threads, Phi, t, set_up, runs, floor):
    """What is kept of a cell."""
    N, D = Phi.shape
    best = {name: round(min(times), 4) for name, times in runs.items()}
    peers = {n: best.get(n) for n in CONTENDERS if n != "prml4"}
    fastest = min((v, n) for n, v in peers.items() if v is not None)
    gradients = {n: f[1] if f else None for n, f in set_up.items()}
    return {
        "data": kind,
        "N": N,
        "D": D,
        "threads": threads,
        "prml4": best["prml4"],
        "peers": peers,
        "fastest": fastest[1],
        "ratio": round(fastest[0] / best["prml4"], 3),
        "bound": round(min(floor), 4),
        "bounds": round(best["prml4"] / min(floor), 3),
        "passes": passes(Phi, t, set_up["prml4"][0]),
        "gradient": gradients,
        "repeats": len(floor),
        "data_mb": round(Phi.nbytes / 1e6, 3),
        "extra_mb": round(extra_memory(Phi, t), 3),
    }


def passes(Phi, t, tol):
    """Passes over all rows: for gradients, and for Hessians as well."""
    made, row_pass = [0.0, 0.0], newton.row_pass

    def counted(block, *args, order=2, **named):
        made[order - 1] += len(block) / len(Phi)
        return row_pass(block, *args, order=order, **named)

    newton.row_pass = counted
    try:
        logistic.fit(Phi, t, tol=tol)
    finally:
        newton.row_pass = row_pass
    return [round(m, 2) for m in made]


def extra_memory(Phi, t):
    """Peak of what a fit allocates, in MB."""
    tracemalloc.start()
    logistic.fit(Phi, t)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def import_time():
    """What importing prml4 adds to numpy and scipy, in ms; best of ten."""
    program = (
        "import time, numpy, scipy.linalg, scipy.special\n"
        "start = time.perf_counter()\n"
        "import prml4, prml4.logistic, prml4.irls\n"
        "print(1e3 * (time.perf_counter() - start))"
    )
    command = [sys.executable, "-c", program]
    runs = [subprocess.check_output(command, text=True) for _ in range(10)]
    return round(min(map(float, runs)), 2)


def growth(found):
    """The exponent k of time ~ N^k, by least squares on logarithms."""
    out = []
    for D, threads in sorted({(c["D"], c["threads"]) for c in found}):
        line = [c for c in found if (c["D"], c["threads"]) == (D, threads)]
        if len(line) > 1:
            x = np.log([c["N"] for c in line])
            slope = np.polyfit(x, np.log([c["prml4"] for c in line]), 1)[0]
            row = {"D": D, "threads": threads, "exponent": round(slope, 3)}
            out.append(row)
    return out


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
        sizes, others = [(10**4, 10), (10**4, 50), (10**4, 200)], []
    else:
        how = {"threads": [1, 2], "seconds": 3}
        sizes = [(10**k, D) for k in (4, 5, 6) for D in (10, 50, 200)]
        others = [(10**4, 200), (10**5, 50)]
    found = [c for size in sizes for c in cells("independent", *size, **how)]
    more = [
        c
        for kind in ("correlated", "ill-scaled")
        for size in others
        for c in cells(kind, *size, **how)
    ]
    say(f"importing prml4 adds {import_time()} ms\n")
    if not quick:
        write(found, more)


def write(found, more):
    """The report, from which a page of the book is made."""
    names = ["numpy", "scipy", "scikit-learn", "statsmodels", "glum"]
    report = {
        "setting": (
            f"{os.cpu_count()} cores, float64, standard normal columns and a "
            "constant, log odds of standard deviation 2, no prior; every "
            "contender reaches max |grad E| <= 1e-8 N, and the best of its "
            "runs counts."
        ),
        "versions": {"Python": platform.python_version()}
        | {n: version(n) for n in names},
        "cells": found,
        "other_cells": more,
        "growth": growth(found),
        "import_ms": import_time(),
        "notes": [],
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(report, indent=1) + "\n"
    (RESULTS / "logistic.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
