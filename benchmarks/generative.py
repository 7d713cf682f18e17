"""LDA, QDA and naive Bayes against scikit-learn: fit and probabilities.

    python benchmarks/generative.py            every cell, a quarter of an hour
    python benchmarks/generative.py --quick    small ones, written nowhere
    python benchmarks/generative.py lda qda    these models, written nowhere

All of a cell take turns, and the best of each one's runs counts.  Ours
validates its input, theirs need not (assume_finite).  Before that, every peer
must give the same probabilities.  Times in milliseconds, memory in megabytes
beyond the data (and, for probabilities, beyond the answer).
"""

import argparse
import warnings
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import race
import sklearn
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from threadpoolctl import threadpool_limits

SAME = 1e-8  # the largest difference of probabilities
SECONDS = 2  # of repeats per cell and contender, at most
THREADS = [1]  # of the BLAS
D = 50


@dataclass(frozen=True)
class Model:
    """One model: ours, and the peers with the settings that agree."""

    name: str  # as the report calls it
    module: str  # of prml4
    fit: str  # our function
    peers: dict  # name -> () -> an estimator


MODELS = {
    "lda": Model(
        "LDA",
        "gaussian",
        "fit_lda",
        {
            f"scikit-learn {s}": lambda s=s: LinearDiscriminantAnalysis(
                solver=s
            )
            for s in ("svd", "lsqr", "eigen")
        },
    ),
    "qda": Model(
        "QDA",
        "gaussian",
        "fit_qda",
        {
            f"scikit-learn {s}": lambda s=s: QuadraticDiscriminantAnalysis(
                solver=s
            )
            for s in ("svd", "eigen")
        },
    ),
    "gnb": Model(
        "Gaussian naive Bayes",
        "naive_bayes",
        "fit_gaussian",
        {"scikit-learn": lambda: GaussianNB(var_smoothing=0.0)},
    ),
    "bnb": Model(
        "Bernoulli naive Bayes",
        "naive_bayes",
        "fit_bernoulli",
        {"scikit-learn": lambda: BernoulliNB(binarize=None)},
    ),
}


def data(key, N, K):
    """Correlated normal columns, class means 0.3 apart in each; or bits."""
    rng = np.random.default_rng(7)
    t = rng.integers(0, K, N)
    X = rng.standard_normal((N, D))
    if key in ("lda", "qda"):
        X @= np.linalg.cholesky(
            0.5 ** np.abs(np.subtract.outer(*2 * [range(D)]))
        )
    X += 0.3 * rng.standard_normal((K, D))[t]
    return (X > 0).astype(float) if key == "bnb" else X, t


def contenders(key, X, t):
    """name -> {"fit": (), "probabilities": ()}, each fitted already."""
    model = MODELS[key]
    module = import_module(f"prml4.{model.module}")
    fit = getattr(module, model.fit)
    ours = fit(X, t)
    out = {
        "prml4": {
            "fit": lambda: fit(X, t),
            "probabilities": lambda: module.predict_proba(ours, X),
        }
    }
    for name, make in model.peers.items():
        peer = make().fit(X, t)
        out[name] = {
            "fit": lambda make=make: make().fit(X, t),
            "probabilities": lambda peer=peer: peer.predict_proba(X),
        }
    return out


def bounds(key, X, K):
    """What no fit, and no prediction, can do without, in ms.

    LDA and QDA need one product X^T X, naive Bayes the sums of the columns;
    probabilities need one product with a vector for each class or, for QDA,
    half a product with a matrix for each class.
    """
    V, W = np.ones((D, D)), np.ones((D, K))
    if key == "lda":
        return race.milliseconds(lambda: X.T @ X), race.milliseconds(
            lambda: X @ W
        )
    if key == "qda":
        product = race.milliseconds(lambda: X @ V)
        return race.milliseconds(lambda: X.T @ X), K / 2 * product
    ones = np.ones(len(X))
    return race.milliseconds(lambda: ones @ X), race.milliseconds(lambda: X @ W)


def cells(key, N, K, threads):
    """One data set at one number of threads: both tasks, all in turn."""
    X, t = data(key, N, K)
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with sklearn.config_context(assume_finite=True):
            found = contenders(key, X, t)
            gap = agreement(found)
            for number, task in enumerate(("fit", "probabilities")):
                tasks = {name: both[task] for name, both in found.items()}
                runs = race.take_turns(
                    tasks, lambda n=number: bounds(key, X, K)[n], SECONDS
                )
                yield cell(key, task, X, K, threads, tasks, runs, gap)


def agreement(found):
    """The largest difference of a peer's probabilities from ours."""
    P = found["prml4"]["probabilities"]()
    gap = 0.0
    for name, tasks in found.items():
        gap = max(gap, float(np.abs(tasks["probabilities"]() - P).max()))
        if gap > SAME:
            raise SystemExit(f"{name} differs from prml4 by {gap:.1e}")
    return gap


def cell(key, task, X, K, threads, tasks, runs, gap):
    """What is kept of a race."""
    extra = {name: memory(f, task) for name, f in tasks.items()}
    own = extra.pop("prml4")
    found = {
        "model": MODELS[key].name,
        "task": task,
        "N": len(X),
        "D": D,
        "K": K,
        "threads": threads,
        **race.verdict(*runs, list(extra)),
        "difference": gap,
        "data_mb": round(X.nbytes / 1e6, 3),
        "extra_mb": own,
        "peers_extra_mb": extra,
    }
    race.say(
        f"{found['model']}, {task}, N = {len(X):.0e}, K = {K}, threads = "
        f"{threads}: {found['prml4']:.3g} ms, peer / prml4 = "
        f"{found['ratio']:.2f}, prml4 / bound = {found['bounds']:.2f}, "
        f"memory {own:.3g} against {min(extra.values()):.3g} MB\n"
    )
    return found


def memory(f, task):
    """Peak of what f allocates, in MB, without the answer of a prediction."""
    peak, answer = race.memory(f)
    size = answer.nbytes / 1e6 if task == "probabilities" else 0
    return round(peak - size, 3)


def growth(found):
    """The exponent k of time ~ N^k between the smallest and the largest N."""
    out = []
    keys = ("model", "task", "K", "threads")
    for group in sorted({tuple(c[k] for k in keys) for c in found}):
        line = [c for c in found if tuple(c[k] for k in keys) == group]
        if len(line) > 1:
            x, y = (np.log([c[k] for c in line]) for k in ("N", "prml4"))
            slope = round(float(np.polyfit(x, y, 1)[0]), 3)
            out.append(dict(zip(keys, group, strict=True), exponent=slope))
    return out


def main():
    """Run the cells and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("models", nargs="*", metavar="model")
    given = parser.parse_args()
    keys = given.models or list(MODELS)
    if not set(keys) <= set(MODELS):
        parser.error(f"models are {', '.join(MODELS)}; got {', '.join(keys)}")
    if given.quick:
        globals()["SECONDS"] = 0.5
    sizes = [10**4, 10**5] if given.quick else [10**5, 10**6]
    found = [
        cell
        for threads in THREADS
        for key in keys
        for N in sizes
        for K in (2, 10)
        for cell in cells(key, N, K, threads)
    ]
    judge(found)
    if not given.quick and set(keys) == set(MODELS):
        race.write(
            "generative",
            f"{D} columns, classes of equal size; every contender gives the "
            f"same probabilities to {SAME:g}, and the best of its runs "
            "counts.",
            ["numpy", "scipy", "scikit-learn"],
            found,
            growth=growth(found),
            import_ms=race.import_time("gaussian", "naive_bayes"),
        )


def judge(found):
    """How many cells miss the goal: faster, and with no more memory."""
    slow = [c for c in found if c["ratio"] < 1]
    large = [
        c for c in found if c["extra_mb"] > min(c["peers_extra_mb"].values())
    ]
    race.say(
        f"{len(slow)} of {len(found)} cells slower than a peer, {len(large)} "
        "with more memory\n"
    )


if __name__ == "__main__":
    main()
