"""What every benchmark does: contenders in turn, best runs, one report."""

import json
import os
import platform
import subprocess
import sys
import time
import tracemalloc
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.linalg.lapack import dpotrf

from prml4.numerics import descent

RESULTS = Path(__file__).parent / "results"
GOAL = 1e-8  # of max |grad E| / N
PATIENCE = 30  # seconds for a run that does not reach it
TOLERANCES = [float(f"{x}e-{k}") for k in range(2, 13) for x in (3, 1)]


def loosest(fit, stationarity):
    """(tol, gradient) of the first tolerance that reaches the goal, or None.

    fit(tol) gives the weights, stationarity(w) their max |grad E| / N.
    """
    for tol in TOLERANCES:
        start = time.perf_counter()
        try:
            w = fit(tol)
        except (ArithmeticError, np.linalg.LinAlgError, ValueError):
            return None
        reached = stationarity(w)
        if reached <= GOAL:
            return tol, reached
        if time.perf_counter() - start > PATIENCE:
            return None
    return None


def take_turns(contenders, floors, seconds):
    """Milliseconds of every run of each contender, and of each bound.

    At least 3 runs, at most 40; between these until the time is up.
    """
    runs = {name: [] for name in contenders}
    bounds, began = [], time.perf_counter()
    while not enough(runs["prml4"], began, seconds):
        for name, times in runs.items():
            if len(times) < 3 or sum(times) < 1e3 * seconds:
                times.append(milliseconds(contenders[name]))
        bounds.append(floors())
    return runs, bounds


def enough(times, began, seconds):
    """Whether ours has been timed often enough."""
    spent = time.perf_counter() - began
    return len(times) >= 3 and (len(times) >= 40 or spent > seconds)


def milliseconds(f):
    """How long f takes, once."""
    start = time.perf_counter()
    f()
    return 1e3 * (time.perf_counter() - start)


def verdict(runs, bounds, names):
    """Ours against the best run of each of the named peers and the bound."""
    best = {name: round(min(times), 4) for name, times in runs.items()}
    peers = {name: best.get(name) for name in names}
    least, fastest = min((v, n) for n, v in peers.items() if v is not None)
    return {
        "prml4": best["prml4"],
        "peers": peers,
        "fastest": fastest,
        "ratio": round(least / best["prml4"], 3),
        "bound": round(min(bounds), 4),
        "bounds": round(best["prml4"] / min(bounds), 3),
        "repeats": len(bounds),
    }


def factorisation(C):
    """Milliseconds of one Cholesky factorisation of a matrix like C + I."""
    B = C + np.eye(len(C))
    return milliseconds(lambda: dpotrf(B.T, lower=1, clean=0, overwrite_a=1))


def memory(f):
    """What f allocates at the peak, in MB; and what it returns."""
    tracemalloc.start()
    answer = f()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6, answer


def passes(N, fit):
    """Passes of a fit over N rows: for gradients, and for Hessians as well."""
    made, row_pass = [0.0, 0.0], descent.row_pass

    def counted(block, *args, order=2, **named):
        made[order - 1] += len(block) / N
        return row_pass(block, *args, order=order, **named)

    descent.row_pass = counted
    try:
        fit()
    finally:
        descent.row_pass = row_pass
    return [round(m, 2) for m in made]


def import_time(*modules):
    """What importing ours adds to numpy and scipy, in ms; best of ten."""
    program = (
        "import time, numpy, scipy.linalg, scipy.special\n"
        "start = time.perf_counter()\n"
        f"import {', '.join(f'prml4.{m}' for m in modules)}\n"
        "print(1e3 * (time.perf_counter() - start))"
    )
    command = [sys.executable, "-c", program]
    runs = [subprocess.check_output(command, text=True) for _ in range(10)]
    return round(min(map(float, runs)), 2)


def say(text):
    """Progress, at once."""
    print(text, end="", flush=True)


def write(name, setting, packages, found, **more):
    """The report, from which a page of the book is made."""
    versions = {package: version(package) for package in packages}
    report = {
        "setting": f"{os.cpu_count()} cores, float64, {setting}",
        "versions": {"Python": platform.python_version()} | versions,
        "cells": found,
        **more,
        "notes": [],
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(report, indent=1) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
    say(f"wrote {name}.json\n")
