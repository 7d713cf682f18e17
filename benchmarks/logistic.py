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
import warnings
from functools import partial

import numpy as np
import race
import sklearn
import statsmodels.api as statsmodels
from glum import GeneralizedLinearRegressor
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from prml4 import logistic


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
    t = (rng.random(N) < logistic.predict_proba(w, Phi)[:, 1]).astype(float)
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


def bound(Phi, t):
    """What one exact Newton step cannot do without."""
    w = np.ones(Phi.shape[1])
    return race.milliseconds(lambda: (Phi @ w, t @ Phi, Phi.T @ Phi))


def cells(kind, N, D, threads, seconds):
    """One data set, at each number of threads every contender in turn."""
    race.say(f"{kind} N = {N:.0e} D = {D}:")
    Phi, t = data(kind, N, D)
    with threadpool_limits(1):
        set_up = {
            name: race.loosest(
                partial(fit, Phi, t), lambda w: stationarity(w, Phi, t)
            )
            for name, fit in CONTENDERS.items()
        }
    for k in threads:
        with threadpool_limits(k):
            found = cell(kind, k, Phi, t, set_up, seconds)
        ratio = found["ratio"]
        race.say(f" {k} threads {found['prml4']:.3g} ms, ratio {ratio};")
        yield found
    race.say("\n")


def cell(kind, threads, Phi, t, set_up, seconds):
    """What is kept of a race."""
    contenders = {
        name: partial(CONTENDERS[name], Phi, t, found[0])
        for name, found in set_up.items()
        if found
    }
    runs = race.take_turns(contenders, lambda: bound(Phi, t), seconds)
    extra, _ = race.memory(lambda: logistic.fit(Phi, t))
    return {
        "data": kind,
        "N": len(Phi),
        "D": Phi.shape[1],
        "threads": threads,
        **race.verdict(*runs, [n for n in CONTENDERS if n != "prml4"]),
        "passes": race.passes(len(Phi), contenders["prml4"]),
        "gradient": {n: f[1] if f else None for n, f in set_up.items()},
        "data_mb": round(Phi.nbytes / 1e6, 3),
        "extra_mb": round(extra, 3),
    }


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
    if not quick:
        race.write(
            "logistic",
            "standard normal columns and a constant, log odds of standard "
            "deviation 2, no prior; every contender reaches max |grad E| <= "
            "1e-8 N, and the best of its runs counts.",
            ["numpy", "scipy", "scikit-learn", "statsmodels", "glum"],
            found,
            other_cells=more,
            growth=growth(found),
            import_ms=race.import_time("logistic", "irls"),
        )


if __name__ == "__main__":
    main()
