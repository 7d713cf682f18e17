"""Random problems for Gaussian process classification by Laplace's method.

A failure: NaN; converged=True where the decrement is above the promise, or
where another optimiser finds a higher psi.
"""

import numpy as np
from scipy.optimize import minimize

from prml4 import gp_laplace
from prml4.models import kernels
from prml4.models.likelihoods import LOGISTIC, PROBIT
from prml4.numerics import newton, validate
from tests.campaigns.problems import attempt

SHAPES = kernels.squared_exponential, kernels.matern, kernels.linear
PROMISE = 10 * newton.ROUNDING  # of the decrement, by other arithmetic


def problem(rng, tame, largest=200):
    """C, t, a likelihood, what is odd; variances 1e-8 to 1e8, lengths 1e-3
    to 1e3, inputs at times 1e-150 to 1e150; tame ones are drawn from the model.
    """
    N = int(
        np.exp(rng.uniform(0, np.log(min(largest, 60) if tame else largest)))
    )
    X, odd = rng.normal(size=(N, rng.integers(1, 4))), []
    if not tame and rng.random() < 0.3:
        X[N // 2 :] = X[: N - N // 2]
        odd.append("duplicates")
    theta = rng.uniform(-0.5, 1.5, 2) if tame else spread(rng, [8, 3])
    if not tame and rng.random() < 0.2:
        X *= np.exp(spread(rng, [150]))
        odd.append("far or near")
    C = kernels.constant() * SHAPES[0 if tame else rng.integers(3)]()
    C = C(theta, X)
    f = rng.normal(size=N)
    if tame:
        f = np.linalg.cholesky(C + 1e-8 * np.eye(N)) @ f
    t = (rng.random(N) < 1 / (1 + np.exp(-f))).astype(float)
    if "duplicates" in odd and rng.random() < 0.5:
        t[N // 2 :] = 1 - t[: N - N // 2]
    if not tame and rng.random() < 0.1:
        t[:] = t[0]
    singular = np.linalg.matrix_rank(C, hermitian=True) < N
    odd += ["one class"] * int(np.ptp(t) == 0) + ["singular"] * int(singular)
    return C, t, (LOGISTIC, PROBIT)[rng.integers(2)], odd


def spread(rng, decades):
    """Logarithms, uniform within so many decades of zero."""
    return np.log(10) * rng.uniform(-1, 1, np.size(decades)) * decades


def judge(fit, C, t, likelihood):
    """What a mode that says it is one must be."""
    terms = likelihood.log_p(fit.mean, t, 2)
    r = terms[1] - fit.dual
    left = r @ gp_laplace.posterior_covariance(fit, C) @ r
    most = PROMISE**2 * (1 + abs(fit.trace[-1]))
    assert left <= most, f"not stationary: {left:.1e} above {most:.1e}"
    if len(t) <= 12 and np.abs(C).max() < 1e4:
        values, U = np.linalg.eigh(C)
        root = U * np.sqrt(values.clip(0))

        def loss(z):
            L, g, *_ = likelihood.log_p(root @ z, t, 1)
            return z @ z / 2 - L.sum(), z - root.T @ g

        best = -minimize(loss, np.zeros(len(t)), jac=True).fun
        assert best <= fit.trace[-1] + 1e-7 * (1 + abs(best)), "beaten"


def trial(rng, well, method=gp_laplace, judge=judge):
    """One problem by a method; its fit is held against what it promises."""
    odd = []

    def fitted():
        C, t, likelihood, more = problem(rng, well)
        odd.extend(more)
        fit = method.fit(C, t, likelihood=likelihood)
        p = method.predict_proba(fit, C, C.diagonal())
        numbers = [v for v in vars(fit).values() if isinstance(v, np.ndarray)]
        numbers = [np.ravel(v) for v in (p, fit.log_evidence, *numbers)]
        assert np.isfinite(np.concatenate(numbers)).all(), "not finite"
        if fit.converged:
            judge(fit, C, t, likelihood)
        return fit

    refusals = ValueError, validate.Indefinite
    _, said = attempt(fitted, refusals, newton.NotConverged)
    return [said, *odd]
