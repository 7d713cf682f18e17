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
import warnings
from functools import partial

import numpy as np
import race
import sklearn
import statsmodels.api as statsmodels
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from prml4 import softmax


def data(N, D, K):
    """Standard normal columns after a constant; activations of spread 2."""
    rng = np.random.default_rng(7)
    Phi = rng.standard_normal((N, D))
    Phi[:, 0] = 1
    W = rng.standard_normal((K, D))
    A = Phi[:1000] @ W.T
    W *= 2 / np.std(A - A.mean(axis=1, keepdims=True))
    A = softmax.activations(W, Phi)
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


def bound(Phi, K):
    """What one exact Newton step cannot do without: K (K - 1) / 2 symmetric
    products, the activations and the gradient."""
    W = np.ones((K, Phi.shape[1]))
    pair = race.milliseconds(lambda: Phi.T @ Phi)
    rest = race.milliseconds(lambda: (W @ Phi.T) @ Phi)
    return K * (K - 1) / 2 * pair + rest


def cells(N, D, K, threads, seconds):
    """One data set, at each number of threads every contender in turn."""
    race.say(f"N = {N:.0e} D = {D} K = {K}:")
    Phi, t = data(N, D, K)
    with threadpool_limits(1):
        set_up = {
            name: race.loosest(
                partial(fit, Phi, t), lambda W: stationarity(W, Phi, t)
            )
            for name, fit in CONTENDERS.items()
        }
    for k in threads:
        with threadpool_limits(k):
            found = cell(k, Phi, t, K, set_up, seconds)
        ratio = found["ratio"]
        race.say(f" {k} threads {found['prml4']:.3g} ms, ratio {ratio};")
        yield found
    race.say("\n")


def cell(threads, Phi, t, K, set_up, seconds):
    """What is kept of a race."""
    contenders = {
        name: partial(CONTENDERS[name], Phi, t, found[0])
        for name, found in set_up.items()
        if found
    }
    runs = race.take_turns(contenders, lambda: bound(Phi, K), seconds)
    extra, fit = race.memory(lambda: softmax.fit(Phi, t))
    return {
        "N": len(Phi),
        "D": Phi.shape[1],
        "K": K,
        "threads": threads,
        **race.verdict(*runs, [n for n in CONTENDERS if "prml4" not in n]),
        "methods": {
            n: round(min(times), 4)
            for n, times in runs[0].items()
            if n.startswith("prml4 ")
        },
        "gradient": {n: f[1] if f else None for n, f in set_up.items()},
        "method": fit.method,
        "data_mb": round(Phi.nbytes / 1e6, 3),
        "extra_mb": round(extra, 3),
    }


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
        sizes = [(10**4, 10, 3), (10**4, 64, 3), (10**5, 10, 10)]
        sizes += [(10**5, 64, 3), (10**5, 64, 10)]
    found = [c for size in sizes for c in cells(*size, **how)]
    if not quick:
        race.write(
            "softmax",
            "standard normal columns and a constant, activations of standard "
            "deviation 2 about their mean, no prior; every contender reaches "
            "max |grad E| <= 1e-8 N, and the best of its runs counts.",
            ["numpy", "scipy", "scikit-learn", "statsmodels"],
            found,
        )


if __name__ == "__main__":
    main()
