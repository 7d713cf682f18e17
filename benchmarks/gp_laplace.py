"""Gaussian process classification by Laplace's method against scikit-learn.

    python benchmarks/gp_laplace.py            every cell, some minutes
    python benchmarks/gp_laplace.py --quick    n = 200 only, some seconds

Logistic likelihood, squared exponential kernel, three tasks: a fit with fixed
hyperparameters, the log evidence with its gradient, and both hyperparameters
optimised from the same start. Each contender starts from the inputs and makes
its own kernel matrix. Both stop where they stop by default: ours nearer to
the mode, as the report's log evidences show. All of a cell take turns and the
best of each one's runs counts; the bound is one Cholesky factorisation.
Times in milliseconds.
"""

import argparse
import warnings

import numpy as np
import race
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

from prml4 import gaussian_process, gp_laplace
from prml4.models import kernels

KERNEL = kernels.constant() * kernels.squared_exponential()
THETA = np.log([4.0, 1.0])  # variance, length-scale
START = np.log([1.0, 0.5])


def data(n):
    """Noisy signs of a smooth function of two inputs."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, 2))
    noise = 0.5 * rng.standard_normal(n)
    t = np.sin(2 * X[:, 0]) + X[:, 1] + noise > 0
    return X, t.astype(float)


def peer(theta, **options):
    """scikit-learn's classifier with the same kernel."""
    variance, length = np.exp(theta)
    kernel = ConstantKernel(variance) * RBF(length)
    return GaussianProcessClassifier(kernel, **options)


def ours_fixed(X, t):
    """Mode and log evidence."""
    return gp_laplace.fit(KERNEL(THETA, X), t).log_evidence


def theirs_fixed(X, t):
    """The same; its fit finds the mode twice."""
    model = peer(THETA, optimizer=None).fit(X, t)
    return float(model.log_marginal_likelihood_value_)


def ours_gradient(X, t):
    """Log evidence and its two derivatives."""
    C, slopes = KERNEL.with_gradients(THETA, X)
    value, G = gp_laplace.inference(t)(C)
    return value, [float(np.vdot(G, slope)) for slope in slopes]


def theirs_gradient(X, t, fitted):
    """The same, of a model that was fitted before."""
    value, slope = fitted.log_marginal_likelihood(THETA, eval_gradient=True)
    return float(value), slope.tolist()


def ours_optimised(X, t):
    """Both hyperparameters, and the fit at the end."""
    best = gaussian_process.optimise(KERNEL, X, gp_laplace.inference(t), START)
    return gp_laplace.fit(KERNEL(best.theta, X), t).log_evidence


def theirs_optimised(X, t):
    """L-BFGS from the same start, no restarts, as by default."""
    return float(peer(START).fit(X, t).log_marginal_likelihood_value_)


def tasks(X, t):
    """Name of the task: contenders."""
    inner = peer(THETA, optimizer=None).fit(X, t).base_estimator_
    return {
        "fixed": {
            "prml4": lambda: ours_fixed(X, t),
            "scikit-learn": lambda: theirs_fixed(X, t),
        },
        "gradient": {
            "prml4": lambda: ours_gradient(X, t),
            "scikit-learn": lambda: theirs_gradient(X, t, inner),
        },
        "optimised": {
            "prml4": lambda: ours_optimised(X, t),
            "scikit-learn": lambda: theirs_optimised(X, t),
        },
    }


def cells(n, threads, seconds):
    """One size, at each number of threads every task in turn."""
    X, t = data(n)
    C = KERNEL(THETA, X)
    for k in threads:
        race.say(f"n = {n}, {k} threads:")
        with threadpool_limits(k):
            for task, contenders in tasks(X, t).items():
                found = cell(task, k, C, t, contenders, seconds)
                race.say(f" {task} {found['prml4']:.3g} ms,")
                race.say(f" ratio {found['ratio']};")
                yield found
        race.say("\n")


def cell(task, threads, C, t, contenders, seconds):
    """What is kept of a race; memory in matrices of n by n."""
    runs = race.take_turns(contenders, lambda: race.factorisation(C), seconds)
    extra, _ = race.memory(contenders["prml4"])
    return {
        "data": task,
        "N": len(C),
        "threads": threads,
        **race.verdict(*runs, ["scikit-learn"]),
        "log_evidence": {who: run() for who, run in contenders.items()},
        "factors": gp_laplace.fit(C, t).factors,
        "matrices": round(1e6 * extra / C.nbytes, 2),
    }


def main():
    """Run the cells and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")  # peers that stop early say so
    sizes = [200] if quick else [200, 500, 1000, 2000]
    how = {"threads": [1], "seconds": 0.5}
    how = how if quick else {"threads": [1], "seconds": 3}
    found = [cell for n in sizes for cell in cells(n, **how)]
    if not quick:
        race.write(
            "gp_laplace",
            "two standard normal inputs, noisy signs of a smooth function, "
            "kernel 4 exp(-r^2 / 2), logistic likelihood; optimised from "
            "variance 1 and length 0.5. The bound is one Cholesky "
            "factorisation; matrices counts n by n ones allocated at the peak.",
            ["numpy", "scipy", "scikit-learn"],
            found,
        )


if __name__ == "__main__":
    main()
