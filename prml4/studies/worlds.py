"""Worlds made of Gaussian clusters, where every linear rule's error is known.

w     (D + 1,)  a linear rule: class 1 where w_0 + w^T x > 0
Delta           Mahalanobis distance between two means

With one cluster for each class the world is what LDA assumes; with more it is
not. Learning curves need no test set, because the error is a formula.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

from prml4 import gaussian, logistic
from prml4.models.covariance import known
from prml4.models.data import with_bias
from prml4.numerics import cubature, validate
from prml4.numerics.result import Result
from prml4.numerics.special import normal_cdf, normal_pdf

TURN = 2 * np.pi
RARE = 1e-4  # draws that are worth waiting for
MOST = 370  # Gauss-Hermite nodes that numpy has weights for


class TooFewNodes(UserWarning):
    """Between two nodes the posterior goes from one class to the other."""


@dataclass(frozen=True, eq=False)
class World(Result):
    """p(x, C_k) = sum over label_j = k of weight_j N(x|mu_j, Sigma).

    weight  (J,)    probabilities of the clusters
    label   (J,)    class numbers 0 and 1
    mu      (J, D)  means
    Sigma   (D, D)  the covariance of all
    L       (D, D)  its lower Cholesky factor
    """

    weight: np.ndarray
    label: np.ndarray
    mu: np.ndarray
    Sigma: np.ndarray
    L: np.ndarray


def world(weight, label, mu, Sigma):
    """p(x, C_k) = sum over label_j = k of weight_j N(x|mu_j, Sigma)."""
    mu = validate.design(mu, "mu").copy()
    weight = validate.probabilities("weight", weight, len(mu))
    label, _ = validate.classes(label, len(mu), 2)
    return World(weight, label, mu, *known(Sigma, mu.shape[1]))


def pair(Delta, D=2):
    """mu = -+(Delta / 2) e_1, Sigma = I, equal priors: Efron's (1975) form."""
    Delta = validate.not_negative("Delta", Delta)
    mu = np.zeros((2, validate.whole("D", D)))
    mu[:, 0] = -Delta / 2, Delta / 2
    return world([0.5, 0.5], [0, 1], mu, np.eye(D))


def draw(rng, world, n):
    """x = mu_j + L z, z ~ N(0, I), j ~ weight; X (n, D) and t (n,).

    Drawn again as a whole until each class has two rows, so that all can learn.
    """
    validate.fitted(rng, np.random.Generator, name="rng")
    validate.fitted(world, World, name="world")
    ones = n = validate.whole("n", n, 4)
    p = world.weight @ world.label
    if bdtr(n - 2, n, p) - bdtr(1, n, p) < RARE:
        raise ValueError(
            f"n must give each class two rows more often than {RARE:.0e}; got "
            f"{n} rows and p(C_1) = {p:.1e}"
        )
    while not 2 <= ones <= n - 2:
        j = rng.choice(len(world.weight), size=n, p=world.weight)
        ones = world.label[j].sum()
    Z = rng.standard_normal((n, len(world.L)))
    return world.mu[j] + Z @ world.L.T, world.label[j]


def linear_error(w, world):
    """P(error) = sum_j weight_j Phi(-s_j (w_0 + w^T mu_j) / sqrt(w^T Sigma w)),
    s_j = 2 label_j - 1; w = 0 tosses a coin."""
    validate.fitted(world, World, name="world")
    w = validate.vector("w", w, world.mu.shape[1] + 1, "column of (1, X)")
    size = np.abs(w[1:]).max()
    s = 2 * world.label - 1
    if size == 0:  # one class for all
        return float(world.weight @ (1 - s * np.sign(w[0])) / 2)
    with np.errstate(over="ignore"):
        a = w[0] / size + world.mu @ (w[1:] / size)
    spread = np.linalg.norm(w[1:] / size @ world.L)
    return float(world.weight @ normal_cdf(-s * a / spread))


# The rules that infinitely many rows would teach.


def limit_lda(world, *, naive=False):
    """w of LDA for N -> inf: pi_k, mu_k, Sigma + scatter of the mu_j.

    Naive Bayes keeps the diagonal of that only: variances that classes share.
    """
    validate.fitted(world, World, name="world")
    each = np.array([world.weight * (world.label == k) for k in (0, 1)])
    pi = each.sum(axis=1)
    mu = each @ world.mu / pi[:, None]
    d = world.mu - mu[world.label]
    Sigma = world.Sigma + (world.weight[:, None] * d).T @ d
    if naive:
        Sigma = np.diag(np.diag(Sigma))
    return gaussian.sigmoid_weights(gaussian.model(pi, mu, Sigma))


def nodes(world, n):
    """int f(x) p(x, C_t) = sum_m v_m f(x_m): Gauss-Hermite, n^D per cluster.

    X (J n^D, D), t and v: a weighted sample that stands for infinitely many.
    """
    validate.fitted(world, World, name="world")
    if validate.whole("n", n) > MOST:
        raise ValueError(f"n must be at most {MOST}; got {n}")
    z, v = np.polynomial.hermite_e.hermegauss(n)
    D = len(world.L)
    Z, V = cubature.nodes([z] * D), cubature.nodes([v / v.sum()] * D)
    X = (world.mu[:, None] + Z @ world.L.T).reshape(-1, D)
    v = np.outer(world.weight, V.prod(axis=1)).ravel()
    return X, np.repeat(world.label, len(Z)), v


def limit_logistic(world, n=60):
    """w = argmin -E[ln p(t|x, w)], from n^D nodes per cluster, PRML (4.90).

    With s = sqrt(w^T Sigma w) it is off by e^{-2 pi sqrt(n) / s} or a few times
    that: ln sigma has a pole pi / s from the line that the nodes are on.
    """
    X, t, v = nodes(world, n)
    w = logistic.fit(with_bias(X), t, weights=v).w
    error = np.exp(-TURN * np.sqrt(n) / np.linalg.norm(w[1:] @ world.L))
    if error > 1e-5:
        warnings.warn(
            f"{n} nodes are too few for classes so far apart: the weights are "
            f"off by {error:.0e} of their size or more",
            TooFewNodes,
            stacklevel=2,
        )
    return w


# Learning curves.


def lda_weights(X, t):
    """w of gaussian.fit_lda, PRML (4.65)-(4.67)."""
    return gaussian.sigmoid_weights(gaussian.fit_lda(X, t))


def naive_weights(X, t):
    """X, t -> w of LDA with Sigma diagonal: naive Bayes, shared variances."""
    return gaussian.sigmoid_weights(gaussian.fit_lda(X, t, shrinkage=1.0))


def logistic_weights(X, t, alpha=0.01):
    """w = argmin E(w) + alpha w^T w / 2, PRML (4.142); separable data too."""
    return logistic.fit(with_bias(X), t, alpha=alpha).w


def learning_curves(learners, world, sizes, *, repeats, rng):
    """P(error) of the rule w = learn(X, t) for each n: (S, R) for each learner.

    All of them see the same samples, so that differences can be paired.
    """
    repeats = validate.whole("repeats", repeats)
    errors = {name: np.empty((len(sizes), repeats)) for name in learners}
    for at in np.ndindex(len(sizes), repeats):
        X, t = draw(rng, world, sizes[at[0]])
        for name, learn in learners.items():
            errors[name][at] = linear_error(learn(X, t), world)
    return errors


def efficiency(Delta):
    """(1 + Delta^2/4) e^(-Delta^2/8) int N(x|0, 1) / cosh(Delta x/2) dx:
    rows LDA needs for each row of logistic regression's; Efron (1975)."""
    Delta = validate.finite("Delta", validate.real("Delta", Delta))
    d = np.abs(Delta)[..., None]
    # the trapezoidal rule converges like e^-1/h; cosh narrows the integrand
    x, h = np.linspace(-12, 12, 481, retstep=True)
    u = d / 2 * (x := x / (1 + d / 8))
    each = normal_pdf(x) * 2 * np.exp(-np.logaddexp(u, -u)) * h / (1 + d / 8)
    return ((1 + d**2 / 4) * np.exp(-(d**2) / 8) * each).sum(axis=-1)
