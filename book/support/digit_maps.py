"""Laplace, EP and the truth over hyperparameters: digits, and tumours.

    theta (2,)    ln v and ln l of v exp(-|x - z|^2 / 2 l^2); x in [0, 1]^64

Threes against fives, the small sibling of the USPS experiment of Kuss and
Rasmussen (2005), probit likelihood; and every fourth tumour. What takes long
is in book/support/data/gp_ep.json, computed by tools/precompute_gp_ep.py.
"""

import json
from pathlib import Path

import numpy as np
from scipy import stats

from prml4 import gp_ep, gp_laplace
from prml4.models import data, kernels
from prml4.models.likelihoods import LOGISTIC, PROBIT
from prml4.numerics import sampling
from prml4.studies import gp_truth

RESULTS = Path(__file__).parent / "data" / "gp_ep.json"
KERNEL = kernels.constant() * kernels.squared_exponential()
HEIGHTS = np.linspace(-1, 5, 25)  # ln sqrt(v)
LENGTHS = np.linspace(0, 3, 25)  # ln l
PATH = (0.0, 1.0, 2.0, 3.0, 4.0)  # ln sqrt(v) of the true evidences, ln l = 1
WIDE = np.array([6.0, 1.0])  # theta of the true predictions
SETTINGS = [  # of the tumours
    (likelihood, v, length)
    for likelihood in (PROBIT, LOGISTIC)
    for v in (1.0, 5.0, 20.0, 100.0)
    for length in (0.5, 1.5, 4.0)
]
CHUNK = 10000  # draws at a time


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
    found = method.fit(C, t, likelihood=PROBIT)
    p = method.predict_proba(found, c_star, c_ss)[:, 1]
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


def latent_density(F, at, C, c_star, c_ss):
    """p(f_* = at | f) (S, n): noise-free regression, for every draw f."""
    pull = np.linalg.solve(C, c_star)
    wide = np.sqrt(c_ss - c_star.T @ pull)
    return stats.norm.pdf(at, F @ pull, wide)


def truth(C, t, likelihood, rng, draws, of=lambda F: F):
    """ln p(t) and E[of(F) | t], with standard errors: EP proposes.

    F = R z with C = R R^T, z ~ N(0, I) a priori: C may be singular. Draws of z
    from EP's Gaussian are weighed by p(t | R z) N(z | 0, I) / q(z).
    """
    R, m, root = proposal(C, gp_ep.fit(C, t, likelihood=likelihood))
    log_w, found = [], []
    for _ in range(draws // CHUNK):
        u = rng.standard_normal((CHUNK, len(m)))
        z = m + u @ root
        log_p = likelihood.log_p(z @ R.T, t, 0)[0].sum(axis=1)
        log_w.append(log_p + (np.sum(u**2, axis=1) - np.sum(z**2, axis=1)) / 2)
        found.append(of(z @ R.T))
    log_w, found = np.concatenate(log_w), np.concatenate(found)
    value, error = sampling.log_mean(log_w)
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    spread = np.sqrt(w**2 @ (found - w @ found) ** 2)
    return value + np.log(root.diagonal()).sum(), error, w @ found, spread


def proposal(C, fit):
    """R (N, r), and mean and root of EP's Gaussian of z: z = m + u root."""
    size, R = np.linalg.eigh(C)
    R = (R * np.sqrt(size.clip(0)))[:, size > 1e-12 * size[-1]]
    P = np.eye(R.shape[1]) + (R.T * fit.tau) @ R
    m = np.linalg.solve(P, R.T @ fit.nu)
    return R, m, np.linalg.inv(np.linalg.cholesky(P))


def true_evidence(theta, rng, draws):
    """ln p(t) of the digits and its standard error."""
    C, _, _ = covariances(theta)
    return truth(C, problem()[1], PROBIT, rng, draws, lambda F: F[:, :1])[:2]


def true_predictions(theta, rng, draws):
    """E[p(C_1 | f)] over p(f | t) for each new image, and standard errors."""
    C, c_star, c_ss = covariances(theta)
    new = C, c_star, c_ss, PROBIT

    def of(F):
        return gp_truth.predictions(F, *new)

    return truth(C, problem()[1], PROBIT, rng, draws, of)[2:]


def tumours():
    """Mean radius and texture of every fourth tumour, and its class."""
    table = data.breast_cancer_mean(standardised=True)
    return table.X[::4, :2], table.t[::4]


def compare(likelihood, v, length):
    """ln evidence of EP and Laplace for the tumours, and their means."""
    X, t = tumours()
    C = KERNEL(np.log([v, length]), X)
    fits = [m.fit(C, t, likelihood=likelihood) for m in (gp_ep, gp_laplace)]
    return [f.log_evidence for f in fits], [f.mean for f in fits]


def referee(setting, rng, draws):
    """ln p(t), its error, ln evidence twice, the worst mean twice."""
    X, t = tumours()
    C = KERNEL(np.log(setting[1:]), X)
    value, error, mean, _ = truth(C, t, setting[0], rng, draws)
    evidences, means = compare(*setting)
    return [value, error, *evidences, *(np.abs(m - mean).max() for m in means)]


def by_student(setting, dice, draws=20000):
    """How the squared weights of EP's own draws grow, and another evidence.

    Along the mean of z, at r times it, squared weight times density of the
    draws goes with e^{growth r^2 / 2}. The log evidence and its standard error
    are from a Student with 40 degrees of freedom in the Gaussian's place.
    """
    likelihood, v, length = setting
    X, t = tumours()
    C = KERNEL(np.log([v, length]), X)
    fit = gp_ep.fit(C, t, likelihood=likelihood)
    R, m, root = proposal(C, fit)

    def log_f(z):
        log_p = likelihood.log_p(z @ R.T, t, 0)[0].sum(axis=1)
        return log_p + stats.norm.logpdf(z).sum(axis=1)

    f = R @ m
    wrong = np.minimum((2 * t - 1) * f, 0)
    growth = f @ (fit.tau * f) - m @ m - 2 * wrong @ wrong
    log_w = sampling.importance(dice, draws, log_f, m, root.T, nu=40)[1]
    return growth, *sampling.log_mean(log_w)


def load():
    """name -> array, as tools/precompute_gp_ep.py has left them."""
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {name: np.array(value) for name, value in stored.items()}


def compute(draws=200000, seed=7):
    """Both evidences, both predictions and the truth, wherever it is drawn."""
    rng = np.random.default_rng(seed)
    found = {"laplace": maps(gp_laplace), "ep": maps(gp_ep)}
    paths = [true_evidence([2 * s, 1.0], rng, draws) for s in PATH]
    found["truth"] = np.array(paths)
    found["predictions"] = np.array(true_predictions(WIDE, rng, draws))
    rows = [referee(setting, rng, draws) for setting in SETTINGS]
    found["tumours"] = np.array(rows)
    return found
