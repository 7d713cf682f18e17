"""Hyperplanes, decisions and exact risks, PRML 1.5, 4.1 and 4.3.1.

    X      (N, D)  inputs, one row per observation; (N,) if D = 1
    w      (M,)    M = D + 1 weights, the bias w_0 first; (K, M) for K classes
    y      (N,)    discriminant w_0 + sum_i w_i x_i; (N, K) for K classes
    P      (N, K)  posterior probabilities p(C_k|x_n)
    L      (K, J)  loss of decision j where k is true; J > K with a reject
    joint          x -> p(x, C_k), for numbers x; k along a new last axis

Classes are numbered from 0; the fixed bases are in prml4.models.bases.
"""

import warnings
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.integrate import quad

from prml4.models.data import with_bias
from prml4.numerics import validate
from prml4.numerics.result import Result
from prml4.numerics.special import normal_pdf


class RoughRisk(UserWarning):
    """Quadrature does not vouch for nine digits of a risk."""


# Hyperplanes.


def discriminant(w, X):
    """y(x) = w_0 + w^T x, PRML (4.4); w (K, D + 1) gives a column a class."""
    Phi = with_bias(X)
    w = validate.finite("w", validate.real("w", w))
    if w.ndim not in (1, 2) or w.shape[-1] != Phi.shape[1]:
        raise ValueError(
            f"w must hold {Phi.shape[1]} weights, the bias and one for each "
            f"column of X, or such rows; got shape {w.shape}"
        )
    return Phi @ w.T


def predict(w, X):
    """1 where y(x) > 0, else 0; argmax_k y_k(x) for K classes, PRML 4.1."""
    y = discriminant(w, X)
    return (y > 0).astype(int) if y.ndim == 1 else y.argmax(axis=1)


def unit(w):
    """w / |w_1, ..., w_D|: the one w > 0 times w whose y is a distance."""
    w = validate.real("w", w)
    if w.ndim != 1 or len(w) < 2:
        raise ValueError(
            f"w must hold a bias and at least one weight; got shape {w.shape}"
        )
    size = np.abs(validate.finite("w", w)[1:]).max()
    if size < 1e-150 * np.abs(w).max() or size == 0:
        raise ValueError(
            "w must have a hyperplane; got w_1, ..., w_D all zero: w_0 alone"
        )
    w = w / size
    return w / np.linalg.norm(w[1:])


def signed_distance(w, X):
    """r = y(x) / |w|, PRML (4.7): how far, > 0 where y(x) > 0."""
    return discriminant(unit(w), X)


def project(w, X):
    """x - r w / |w|, the nearest point of the hyperplane, from PRML (4.6)."""
    r = signed_distance(w, X)
    return with_bias(X)[:, 1:] - np.outer(r, unit(w)[1:])


def through(points):
    """w with w_0 + w^T x = 0 at D points (D, D), |w| = 1; PRML (4.4).

    Its normal w is orthogonal to all differences; its largest entry is > 0.
    """
    points = validate.design(points, "points")
    D = points.shape[1]
    if len(points) != D:
        raise ValueError(
            f"points must be {D} in {D} dimensions; got {len(points)}"
        )
    centre = points.mean(axis=0)
    size = np.abs(points - centre).max(axis=0)  # units must not matter
    size[size == 0] = 1
    _, s, V = np.linalg.svd((points - centre) / size)
    if D > 1 and s[-2] <= 1e-12 * s[0]:
        raise ValueError("points must lie on one hyperplane; got many through")
    normal = V[-1] * (size.min() / size)
    normal /= np.linalg.norm(normal) * np.sign(normal[np.abs(normal).argmax()])
    return np.r_[-normal @ centre, normal]


# Decisions.


def zero_one(K):
    """L_kj = 1 - I_kj: every mistake costs the same, PRML 1.5.1."""
    return 1.0 - np.eye(validate.whole("K", K))


def with_reject(L, cost):
    """(L, cost): the last decision is to reject, PRML 1.5.3, exercise 1.24."""
    L = validate.design(L, "L")
    cost = validate.not_negative("cost", cost)
    return np.column_stack([L, np.full(len(L), cost)])


def expected_loss(P, L):
    """R_nj = sum_k p(C_k|x_n) L_kj, PRML (1.81); (N, J)."""
    P, L = validate.posteriors(P), validate.design(L, "L")
    if len(L) != (K := P.shape[1]):
        raise ValueError(
            f"L must have a row for each of the {K} classes; got {L.shape}"
        )
    return P @ L


def decide(P, L=None):
    """argmin_j R_nj, PRML (1.81); argmax_k p(C_k|x_n) without a loss."""
    if L is None:
        return validate.posteriors(P).argmax(axis=1)
    return expected_loss(P, L).argmin(axis=1)


def threshold(L):
    """p* = c / (c + d), c = L_01 - L_00, d = L_10 - L_11: 1 if p(C_1|x) > p*.

    A mistake must cost more than the right decision.
    """
    c, d = _prices(L)
    return float(c / (c + d))


def _prices(L):
    """c and d of `threshold`, both > 0: what each mistake costs."""
    L = validate.design(L, "L")
    if L.shape != (2, 2):
        raise ValueError(f"L must have shape (2, 2); got {L.shape}")
    c, d = L[0, 1] - L[0, 0], L[1, 0] - L[1, 1]
    if c <= 0 or d <= 0:
        raise ValueError(
            "L must make each mistake dearer than the right decision; got "
            f"L_01 - L_00 = {c:g} and L_10 - L_11 = {d:g}"
        )
    return c, d


def shifted(w, L):
    """w_0 - ln(p* / (1 - p*)): if y is the log odds, y > 0 now obeys L.

    p* / (1 - p*) = c / d, which is not rounded where p* is almost 1.
    """
    w = validate.finite("w", np.array(validate.real("w", w)))
    if w.ndim != 1 or not w.size:
        raise ValueError(f"w must be one vector; got shape {w.shape}")
    c, d = _prices(L)
    w[0] -= np.log(c) - np.log(d)
    return w


def mean_loss(t, decisions, L):
    """(1/N) sum_n L[t_n, j_n], the empirical form of PRML (1.80)."""
    L = validate.design(L, "L")
    t = validate.labels(t, np.size(t), len(L))
    j = validate.labels(decisions, len(t), L.shape[1], "decisions")
    return float(L[t, j].mean())


@dataclass(frozen=True, eq=False)
class RejectCurve(Result):
    """What is left when the least certain observations are rejected first.

    cost      (R,)  doubts 1 - max_k p(C_k|x_n) seen, ascending
    kept      (R,)  share of the observations with at most that doubt
    error     (R,)  share of mistakes among those that are kept
    promised  (R,)  the same by P alone: mean of the doubts kept
    """

    cost: np.ndarray
    kept: np.ndarray
    error: np.ndarray
    promised: np.ndarray


def reject_curve(P, t):
    """Errors among the kept, max_k p(C_k|x) >= 1 - cost; PRML 1.5.3."""
    P = validate.posteriors(P)
    t = validate.labels(t, *P.shape)
    doubt = 1.0 - P.max(axis=1)
    order = np.argsort(doubt, kind="stable")
    doubt, wrong = doubt[order], (decide(P) != t)[order]
    last = np.flatnonzero(np.append(np.diff(doubt) > 0, True))
    mean = [np.cumsum(x)[last] / (last + 1) for x in (wrong, doubt)]
    return RejectCurve(doubt[last], (last + 1) / len(P), *mean)


# Risks, exactly: x is a number, and integrals are computed piece by piece.


def normals(pi, mu, sigma):
    """x -> pi_k N(x|mu_k, sigma_k^2) along the last axis, PRML (1.46)."""
    each = zip(("pi", "mu", "sigma"), (pi, mu, sigma), strict=True)
    pi, mu, sigma = (
        validate.one_each(name, v, max(np.size(pi), 1), "class")
        for name, v in each
    )
    whole = np.isfinite(pi + mu + sigma).all()
    if not (np.all(sigma > 0) and np.all(pi >= 0) and whole):
        raise ValueError(
            "sigma must be > 0, pi >= 0 and mu finite; "
            f"got sigma = {sigma}, pi = {pi} and mu = {mu}"
        )

    def joint(x):
        z = (np.asarray(x, float)[..., None] - mu) / sigma
        return pi * normal_pdf(z) / sigma

    return joint


def risk(decisions, joint, edges, L=None):
    """sum_i integral of sum_k p(x, C_k) L[k, j_i] dx, PRML (1.80).

    Decision j_i holds from edges[i] to edges[i + 1]; L is 0-1 unless given.
    """
    edges, L = _pieces(edges, L)
    if np.size(decisions) != len(edges) - 1:
        raise ValueError(
            "decisions must be one for each interval between edges; got "
            f"{np.size(decisions)} decisions and {len(edges)} edges"
        )
    with np.errstate(all="ignore"):
        K = np.shape(joint(edges[-1]) if L is None else L)[-1]
    j = validate.labels(decisions, len(edges) - 1, K, "decisions")
    return _integral(lambda i, costs: costs[j[i]], joint, edges, L)


def bayes_risk(joint, edges, L=None):
    """integral of min_j sum_k p(x, C_k) L_kj dx, PRML (1.80)-(1.81).

    The integrals go from edge to edge: put edges where the decision changes,
    and the first and last at infinity (quadrature from -1e6 misses a bell,
    and then nobody asks whether the total probability is 1).
    """
    return _integral(lambda i, costs: costs.min(), joint, *_pieces(edges, L))


def _pieces(edges, L):
    """Edges that ascend, and the losses, if any are given."""
    edges = validate.one_each("edges", edges, np.size(edges), "end")
    if len(edges) < 2 or not np.all(np.diff(edges) > 0):
        raise ValueError(f"edges must ascend, two or more; got {edges}")
    return edges, None if L is None else validate.design(L, "L")


def _integral(cost, joint, edges, L):
    """sum_i integral from edges[i] to edges[i + 1] of cost(i, sum_k p_k L_kj).

    To eleven digits, or nine near kinks; for 0-1 losses sum_k p_k L_kj is
    sum_k p_k - p_j.
    """
    size = 1.0 if L is None else np.abs(L).max() or 1.0

    def f(x, i):
        p = joint(x)
        return cost(i, p.sum() - p if L is None else p @ L) / size

    def rest(x, i):
        return joint(x).sum() - f(x, i)

    def total(g):
        ends = enumerate(pairwise(edges))
        return sum(_quad(g, pair, i) for i, pair in ends)

    risk = total(f)
    if np.isinf(edges[[0, -1]]).all():
        _all_of_it(total(lambda x, i: joint(x).sum()), 1e-10)
        _all_of_it(risk + total(rest), 1e-6)  # where decisions change, kinks
    return size * risk


def _quad(f, ends, *more):
    """int f(x, ...) dx between two ends, with a warning if it is rough."""
    goal = {"epsabs": 1e-13, "epsrel": 1e-11, "limit": 400}
    value, error, *_ = quad(f, *ends, args=more, full_output=1, **goal)
    if not error <= 1e-9 * (1 + abs(value)):
        warnings.warn(
            f"an integral from {ends[0]:g} to {ends[1]:g} is {value:.6g} with "
            f"an error of {error:.0e}: put edges where the decision changes",
            RoughRisk,
            stacklevel=2,
        )
    return value


def _all_of_it(mass, tol):
    """A ValueError if edges from -inf to inf hide a narrow bell from `quad`,
    of probability or of the costs."""
    if not abs(mass - 1) < tol:
        raise ValueError(
            "joint must have total probability 1 from -inf to inf; quadrature "
            f"found {mass:.12g}: put edges far out on each side of all bells"
        )


def pushed(joint, inverses, slope):
    """z -> sum over phi(x) = z of p(x, C_k) / |phi'(x)|, from PRML (1.27).

    The joint density of z = phi(x): inverses are the functions z -> x, one
    for each piece on which phi is monotone, and slope is phi'.
    """

    def image(z):
        xs = [g(np.asarray(z, float)) for g in inverses]
        return sum(joint(x) / np.abs(slope(x))[..., None] for x in xs)

    return image


def squared(joint):
    """z -> (p(s, C_k) + p(-s, C_k)) / (2 s), s = sqrt z: `pushed` by x^2."""
    return pushed(joint, [np.sqrt, lambda z: -np.sqrt(z)], lambda x: 2 * x)


def regions(w, basis, grid):
    """Edges with y(x) = w^T (1, phi(x)) = 0 between, and [y(x) > 0] from each.

    For numbers x from grid[0] to grid[-1]; two roots between neighbours of
    the grid are overlooked.
    """
    grid = validate.vector("grid", grid, np.size(grid), "edge")
    if len(grid) < 2 or not np.all(np.diff(grid) > 0):
        raise ValueError(f"grid must ascend, two or more numbers; got {grid}")
    w = validate.one_each("w", w, np.size(w), "column of (1, phi)")
    positive = discriminant(w, basis(grid)) > 0
    change = np.flatnonzero(np.diff(positive))
    left, right = grid[change], grid[change + 1]
    for _ in range(60 if change.size else 0):  # bisection
        middle = (left + right) / 2
        go = predict(w, basis(middle)) == positive[change]
        left, right = np.where(go, middle, left), np.where(go, right, middle)
    edges = np.concatenate([grid[:1], right, grid[-1:]])
    return edges, positive[np.append(change, -1)].astype(int)
