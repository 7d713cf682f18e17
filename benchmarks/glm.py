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
import warnings
from functools import partial

import numpy as np
import race
import statsmodels.api as statsmodels
from glum import GeneralizedLinearRegressor
from threadpoolctl import threadpool_limits

from prml4 import glm
from prml4.models.dispersion import GAMMA, LOG, POISSON

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


def bound(Phi, t):
    """What one exact Newton step cannot do without."""
    w = np.ones(Phi.shape[1])
    return race.milliseconds(lambda: (Phi @ w, t @ Phi, Phi.T @ Phi))


def cells(name, N, D, threads, seconds):
    """One data set, at each number of threads every contender in turn."""
    race.say(f"{name} N = {N:.0e} D = {D}:")
    Phi, t = data(name, N, D)
    with threadpool_limits(1):
        set_up = {
            who: race.loosest(
                partial(fit, name, Phi, t),
                lambda w: stationarity(name, w, Phi, t),
            )
            for who, fit in CONTENDERS.items()
        }
    for k in threads:
        with threadpool_limits(k):
            found = cell(name, k, Phi, t, set_up, seconds)
        ratio = found["ratio"]
        race.say(f" {k} threads {found['prml4']:.3g} ms, ratio {ratio};")
        yield found
    race.say("\n")


def cell(name, threads, Phi, t, set_up, seconds):
    """What is kept of a race."""
    contenders = {
        who: partial(CONTENDERS[who], name, Phi, t, found[0])
        for who, found in set_up.items()
        if found
    }
    runs = race.take_turns(contenders, lambda: bound(Phi, t), seconds)
    extra, _ = race.memory(contenders["prml4"])
    return {
        "data": name,
        "N": len(Phi),
        "D": Phi.shape[1],
        "threads": threads,
        **race.verdict(*runs, [who for who in CONTENDERS if who != "prml4"]),
        "passes": race.passes(len(Phi), contenders["prml4"]),
        "gradient": {who: f[1] if f else None for who, f in set_up.items()},
        "data_mb": round(Phi.nbytes / 1e6, 3),
        "extra_mb": round(extra, 3),
    }


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
        race.write(
            "glm",
            "standard normal columns and a constant, log link, log means of "
            "standard deviation 0.7, Gamma shape 2, no penalty; every "
            "contender reaches max |grad E| <= 1e-8 N, and the best of its "
            "runs counts.",
            ["numpy", "scipy", "statsmodels", "glum"],
            found,
        )


if __name__ == "__main__":
    main()
