"""Threes against fives: Laplace, EP and the truth over hyperparameters.

    theta (2,)    ln v and ln l of v exp(-|x - z|^2 / 2 l^2); x in [0, 1]^64

The small sibling of the USPS experiment of Kuss and Rasmussen (2005), probit
likelihood. What takes long is in book/data/gp_ep.json, computed by
tools/precompute_gp_ep.py.
"""

import json
from pathlib import Path

import numpy as np

from prml4 import data, gp_ep, gp_laplace, gp_truth, kernels, slice_sampling
from prml4.likelihoods import PROBIT

RESULTS = Path(__file__).parents[1] / "book" / "data" / "gp_ep.json"
KERNEL = kernels.constant() * kernels.squared_exponential()
HEIGHTS = np.linspace(-1, 5, 13)  # ln sqrt(v)
LENGTHS = np.linspace(0, 3, 13)  # ln l
PATH = (0.0, 1.0, 2.0, 3.0, 4.0)  # ln sqrt(v) of the true evidences, ln l = 1
WIDE = np.array([6.0, 1.0])  # theta of the true predictions


def problem():
    """X, t = [digit is 5], X_*, t_*: Kuss and Rasmussen (2005)."""
    table = data.digits()
    pair = np.isin(table.t, [3, 5])
    X, t = table.X[pair] / 16, (table.t[pair] == 5).astype(float)
    return X[::2], t[::2], X[1::2], t[1::2]


def covariances(theta):
    """C (N, N), c_star (N, n) and c_ss (n,), PRML (6.65)."""
    X, _, X_star, _ = problem()
    c_ss = KERNEL.diagonal(theta, X_star)
    return KERNEL(theta, X), KERNEL(theta, X, X_star), c_ss


def judge(method, theta):
    """ln evidence and 1 + mean log2 p(t_*): bits an image tells us at most 1.

    method: gp_laplace or gp_ep. A coin has information 0.
    """
    _, t, _, t_star = problem()
    C, c_star, c_ss = covariances(theta)
    found = method.fit(C, t, PROBIT)
    p = method.predict_proba(found, c_star, c_ss)
    return found.log_evidence, information(p, t_star)


def information(p, t):
    """1 + mean log2 p(t_n), in bits, Kuss and Rasmussen (2005)."""
    return float(1 + np.mean(np.log2(np.where(t == 1, p, 1 - p))))


def maps(method):
    """judge = (ln Z, bits) at all hyperparameters, (2, heights, lengths)."""
    rows = [
        [judge(method, [2 * height, length]) for length in LENGTHS]
        for height in HEIGHTS
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def true_evidence(theta, rng, draws):
    """ln p(t) and its standard error by stepping stones, Xie et al. (2011)."""
    C, _, _ = covariances(theta)
    return gp_truth.stepping_stones(C, problem()[1], PROBIT, rng, draws)


def true_predictions(theta, rng, draws):
    """E[p(C_1 | f)] over p(f | t) for each new image, and standard errors."""
    C, c_star, c_ss = covariances(theta)
    F = gp_truth.sample(C, problem()[1], PROBIT, rng, draws, thin=4)
    p = gp_truth.predictions(F, C, c_star, c_ss, PROBIT)
    size = slice_sampling.effective_size(p)
    return p.mean(axis=0), p.std(axis=0) / np.sqrt(size)


def load():
    """name -> array, as tools/precompute_gp_ep.py has left them: PRML 6.4.6."""
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {name: np.array(value) for name, value in stored.items()}


def compute(draws=10000, seed=7):
    """ln Z and p by Laplace, EP and sampling: Kuss and Rasmussen (2005)."""
    rng = np.random.default_rng(seed)
    found = {"laplace": maps(gp_laplace), "ep": maps(gp_ep)}
    truth = [true_evidence([2 * s, 1.0], rng, draws) for s in PATH]
    found["truth"] = np.array(truth)
    found["predictions"] = np.array(true_predictions(WIDE, rng, 2 * draws))
    return found
