"""Poisson and Gamma regression with the log link, against glum and statsmodels.

    python benchmarks/glm.py            every cell, some minutes
    python benchmarks/glm.py --quick    a small one, a few seconds

Each contender must reach the same stationarity, max |grad E| <= 1e-8 N; its
loosest tolerance that does so is found first.  Then all of a cell take turns,
at least twice and more while there is time, and the best of each one's runs
counts.  Ours validates its input, theirs need not (check_input, missing).
Times in milliseconds.
"""

import argparse
import json
import os
import platform
import sys
import time
import tracemalloc
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import statsmodels.api as statsmodels
from glum import GeneralizedLinearRegressor
from threadpoolctl import threadpool_limits

from prml4 import glm, newton
from prml4.dispersion import GAMMA, LOG, POISSON

RESULTS = Path(__file__).parent / "results"
GOAL = 1e-8  # of max |grad E| / N
PATIENCE = 30  # seconds for a run that does not reach it
TOLERANCES = [float(f"{x}e-{k}") for k in range(2, 13) for x in (3, 1)]
FAMILIES = {"Poisson": POISSON, "Gamma": GAMMA}


def data(name, N, D):
    """Standard normal columns after a constant; log means of spread 0.7."""
    rng = np.random.default_rng(7)
    Phi = rng.standard_normal((N, D))
    Phi[:, 0] = 1
    w = rng.standard_normal(D)
    w *= 0.7 / np.std(Phi[:1000] @ w)
    w[0] = 0.5
    y = np.exp(Phi @ w)
    if name == "Poisson":
        return Phi, rng.poisson(y).astype(float)
    return Phi, rng.gamma(2, y / 2)


def ours(name, Phi, t, tol):
    """As a user calls it."""
    return glm.fit(Phi, t, FAMILIES[name], LOG, tol=tol).w


def glum_solver(solver):
    """One of its solvers, without a penalty."""

    def fit(name, Phi, t, tol):
        model = GeneralizedLinearRegressor(
            family=name.lower(),
            link="log",
            alpha=0,
            fit_intercept=False,
            solver=solver,
            gradient_tol=tol,
            max_iter=1000,
            check_input=False,
        )
        return model.fit(Phi, t).coef_

    return fit


def statsmodels_irls(name, Phi, t, tol):
    """Its GLM by reweighted least squares."""
    F = statsmodels.families
    family = F.Poisson() if name == "Poisson" else F.Gamma(F.links.Log())
    model = statsmodels.GLM(t, Phi, family, missing="none")
    return model.fit(tol=tol, tol_criterion="params").params


def statsmodels_newton(name, Phi, t, tol):
    """The same model by Newton's method."""
    F = statsmodels.families
    family = F.Poisson() if name == "Poisson" else F.Gamma(F.links.Log())
    model = statsmodels.GLM(t, Phi, family, missing="none")
    start = np.r_[np.log(t.mean()), np.zeros(Phi.shape[1] - 1)]
    return model.fit(
        start_params=start, method="newton", tol=tol, disp=0, maxiter=100
    ).params


CONTENDERS = {
    "prml4": ours,
    "glum irls-ls": glum_solver("irls-ls"),
    "glum lbfgs": glum_solver("lbfgs"),
    "statsmodels IRLS": statsmodels_irls,
    "statsmodels newton": statsmodels_newton,
}


def stationarity(name, w, Phi, t):
    """max |grad E(w)| / N."""
    g = glm.gradient(w, Phi, t, FAMILIES[name], LOG)
    return float(np.abs(g).max() / len(t))


def loosest(who, name, Phi, t):
    """(tol, gradient) of the first tolerance that reaches the goal, or None."""
    for tol in TOLERANCES:
        start = time.perf_counter()
        try:
            w = CONTENDERS[who](name, Phi, t, tol)
        except (ArithmeticError, np.linalg.LinAlgError, ValueError):
            return None
        reached = stationarity(name, w, Phi, t)
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


def cells(name, N, D, threads, seconds):
    """One data set, at each number of threads every contender in turn."""
    say(f"{name} N = {N:.0e} D = {D}:")
    Phi, t = data(name, N, D)
    with threadpool_limits(1):
        set_up = {who: loosest(who, name, Phi, t) for who in CONTENDERS}
    for k in threads:
        with threadpool_limits(k):
            runs, floor = take_turns(name, Phi, t, set_up, seconds)
            found = summary(name, k, Phi, t, set_up, runs, floor)
        say(f" {k} threads {found['prml4']:.3g} ms, ratio {found['ratio']};")
        yield found
    say("\n")


def take_turns(name, Phi, t, set_up, seconds):
    """Milliseconds of every run of each contender, and of the bound."""
    runs = {who: [] for who, found in set_up.items() if found}
    floor, began = [], time.perf_counter()
    while not enough(runs["prml4"], began, seconds):
        for who, times in runs.items():
            if len(times) < 2 or sum(times) < 1e3 * seconds:
                tol, _ = set_up[who]
                times.append(milliseconds(CONTENDERS[who], name, Phi, t, tol))
        floor.append(bound(Phi, t))
    return runs, floor


def enough(times, began, seconds):
    """At least 3 repeats, at most 40; then until the time is up."""
    spent = time.perf_counter() - began
    return len(times) >= 3 and (len(times) >= 40 or spent > seconds)


def summary(name, threads, Phi, t, set_up, runs, floor):
    """What is kept of a cell."""
    N, D = Phi.shape
    best = {who: round(min(times), 4) for who, times in runs.items()}
    peers = {who: best.get(who) for who in CONTENDERS if who != "prml4"}
    fastest = min((v, who) for who, v in peers.items() if v is not None)
    return {
        "data": name,
        "N": N,
        "D": D,
        "threads": threads,
        "prml4": best["prml4"],
        "peers": peers,
        "fastest": fastest[1],
        "ratio": round(fastest[0] / best["prml4"], 3),
        "bound": round(min(floor), 4),
        "bounds": round(best["prml4"] / min(floor), 3),
        "passes": passes(name, Phi, t, set_up["prml4"][0]),
        "gradient": {who: f[1] if f else None for who, f in set_up.items()},
        "repeats": len(floor),
        "data_mb": round(Phi.nbytes / 1e6, 3),
        "extra_mb": round(extra_memory(name, Phi, t), 3),
    }


def passes(name, Phi, t, tol):
    """Passes over all rows: for gradients, and for Hessians as well."""
    made, row_pass = [0.0, 0.0], newton.row_pass

    def counted(block, *args, order=2, **named):
        made[order - 1] += len(block) / len(Phi)
        return row_pass(block, *args, order=order, **named)

    newton.row_pass = counted
    try:
        ours(name, Phi, t, tol)
    finally:
        newton.row_pass = row_pass
    return [round(m, 2) for m in made]


def extra_memory(name, Phi, t):
    """Peak of what a fit allocates, in MB."""
    tracemalloc.start()
    ours(name, Phi, t, newton.ROUNDING)
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
    sizes = [(10**4, 20)] if quick else [(10**4, 10), (10**4, 50), (10**5, 10)]
    sizes += [] if quick else [(10**5, 50)]
    how = {"threads": [1], "seconds": 0.5}
    how = how if quick else {"threads": [1, 2], "seconds": 3}
    found = [
        cell
        for name in FAMILIES
        for size in sizes
        for cell in cells(name, *size, **how)
    ]
    if not quick:
        write(found)


def write(found):
    """The report, from which a page of the book is made."""
    names = ["numpy", "scipy", "statsmodels", "glum"]
    report = {
        "setting": (
            f"{os.cpu_count()} cores, float64, standard normal columns and a "
            "constant, log link, log means of standard deviation 0.7, Gamma "
            "shape 2, no penalty; every contender reaches max |grad E| <= "
            "1e-8 N, and the best of its runs counts."
        ),
        "versions": {"Python": platform.python_version()}
        | {n: version(n) for n in names},
        "cells": found,
        "notes": [],
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(report, indent=1) + "\n"
    (RESULTS / "glm.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
