"""Random problems for LDA, QDA and naive Bayes: any answer wrong unsaid?

Fits are refused, warned of, or answer. An answer must be finite, agree with
moments in extended precision, and give the log odds of the densities; rows
of probability zero are refused by name. Of samples drawn from overlapping
Gaussians or coins none may be refused or warned of.
"""

import numpy as np

from prml4 import gaussian, naive_bayes
from tests.campaigns.problems import attempt, oddities

FITS = {
    "lda": gaussian.fit_lda,
    "qda": gaussian.fit_qda,
    "naive": naive_bayes.fit_gaussian,
    "bits": naive_bayes.fit_bernoulli,
}
LONG = np.longdouble


def problem(rng, well=False):
    """X and t: few rows or many, copies, constants, dependence, any scale."""
    K, D = rng.integers(2, 5), rng.integers(1, 7)
    N = 200 if well else max(int(200 ** rng.random()), K)
    t = rng.permutation(np.arange(N) % K)
    if well:
        return rng.normal(size=(N, D)) + 0.5 * rng.normal(size=(K, D))[t], t
    X = rng.normal(size=(N, D)) * 10.0 ** rng.uniform(-4, 4, D)
    X += 10.0 ** rng.uniform(-4, 4) * rng.normal(size=(K, D))[t]
    kind = rng.choice("none copies one constant rank thin scale far".split())
    if kind == "copies":
        X, t = np.r_[X, X], np.r_[t, (t + 1) % K]
    elif kind == "one":
        t[:] = 0
    elif kind == "constant":
        X[:, 0] = X[0, 0]
    elif kind in ("rank", "thin"):
        noise = 10.0 ** rng.uniform(-7, -1) * rng.normal(size=N)
        X = np.c_[X, X @ rng.normal(size=D) * (1 + (kind == "thin") * noise)]
    elif kind == "scale":
        X = X * 10.0 ** rng.uniform(-150, 140)
    if kind == "far" or kind == "thin":
        X = X + 10.0 ** rng.uniform(0, 9)
    return X, t


def judge(name, model, X, t, options):
    """The model and its posterior against the densities and moments."""
    module = gaussian if name in ("lda", "qda") else naive_bayes
    P, a = module.predict_proba(model, X), module.log_joint(model, X)
    logs = module.log_posterior(model, X)
    assert np.isfinite(P).all(), "probabilities that are not finite"
    assert not np.isnan([logs, a]).any(), "logarithms that are NaN"
    off = np.abs(P.sum(axis=1) - 1).max()
    assert off <= 1e-12 and P.min() >= 0, "no probabilities"
    top = a - a.max(axis=1, keepdims=True)
    truth = top - np.log(np.exp(top).sum(axis=1, keepdims=True))
    with np.errstate(invalid="ignore"):
        gap = np.abs(logs - truth) / (1e-6 + 1e-12 * np.abs(a))
    most = 1 + 1e-9 * np.abs(a).max()
    assert np.nanmax(gap) <= most, "log odds are not those of the densities"
    if name == "bits":
        return
    far = np.abs(X).max(axis=0)
    assert (np.abs(model.mu - means(X, t)) <= 1e-13 * far).all(), "means"
    if name == "naive" and not options.get("smoothing"):
        d = X.astype(LONG) - means(X, t)[t]
        var = np.array([(d[t == k] ** 2).mean(axis=0) for k in np.unique(t)])
        gap = np.abs(model.var - var)
        assert (gap <= 1e-8 * var + 1e-14 * far**2).all(), "variances"


def means(X, t):
    """Of each class, in extended precision."""
    return np.array([X[t == k].astype(LONG).mean(axis=0) for k in np.unique(t)])


def trial(rng, well):
    """One problem by one of the fits."""
    name, (X, t) = rng.choice(list(FITS)), problem(rng, well)
    shrunk = name in ("lda", "qda") and rng.random() < 0.3 and not well
    X = (X > 0).astype(float) if name == "bits" else X
    options = {"shrinkage": rng.random()} if shrunk else {}
    _, said = attempt(
        lambda: judge(name, FITS[name](X, t, **options), X, t, options),
        named=naive_bayes.ZeroCountWarning,
    )
    return [said, f"{name} {said}", *oddities(X, t)]
