"""A bank of errors that learners make when they code a formula.

Each case has a right function, what a learner wrote for it, and the words of
which a diagnosis should use one.  The bank was drawn up from the formulas, not
from the diagnosis.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import stats
from scipy.special import expit, log_softmax, logsumexp, softmax, xlogy

# words that name a kind of error
SIGN = ("sign",)
TWICE = ("twice", "factor 2", "factor of 2", "double", "2 times", "two times")
HALF = ("half", "½", "factor 1/2", "factor of 1/2", "halve")
MEAN = ("mean", "average", "1/n", "divided by n", "divide by n")
SUM = ("sum", "factor n", "factor of n", "n times", "divide by n")
LESS_ONE = ("n−1", "n − 1", "n-1", "n - 1")
TRANSPOSED = ("transpos",)
ORDER = ("order",)
MISSING = ("missing", "without", "left out", "lack", "omit", "forg", "absent")

# words that name a kind, and are false where none fits
NOT_NAMED = (
    *("sign", "twice", "factor", "double", "half", "½", "mean", "average"),
    *("n−1", "n − 1", "n-1", "n - 1", "transpos", "order", "missing"),
    *("prior", "left out", "evaluated at", "the start"),
)


@dataclass(frozen=True)
class Case:
    """A learner's function, and how its error is called."""

    name: str
    right: Callable
    yours: Callable
    at: tuple | list
    terms: dict | None = None
    elsewhere: dict | None = None
    expected: tuple = ()  # one of these words is in the diagnosis
    also: tuple = field(default=())  # and one of these, if there are any
    allowed: tuple = field(default=())  # of NOT_NAMED, those that are true


def group(name, right, at, *rows, terms=None, elsewhere=None):
    """The cases of one formula: rows of a name, a function and its words."""
    return [
        Case(f"{name}: {what}", right, yours, at, terms, elsewhere, *words)
        for what, yours, *words in rows
    ]


def nameless(name, right, at, *rows, **points):
    """The same, of errors of no kind: rows of a name, a function and the
    words of NOT_NAMED that are true of it all the same."""
    rows = [(what, yours, (), (), true) for what, yours, *true in rows]
    return group(name, right, at, *rows, **points)


# ---------------------------------------------------------------- the points

RNG = np.random.default_rng(20)
M, K = 3, 4


def design(n):
    """A design matrix whose first column is the bias."""
    return np.column_stack([np.ones(n), RNG.normal(size=(n, M - 1))])


PHI, PHI2 = design(11), design(8)
T = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0.0])
T2 = np.array([1, 1, 0, 1, 0, 1, 0, 1.0])
W, W2, START, M0 = RNG.normal(size=(4, M))
A = np.array([[2.0, 0.3, -0.1], [0.3, 1.5, 0.4], [-0.1, 0.4, 0.8]])
TWO = [(W, PHI, T), (W2, PHI2, T2)]
ONE = (W, PHI, T)
MAP = [(W, PHI, T, M0, A), (W2, PHI2, T2, M0, A)]
REAL = RNG.normal(size=11)
LINE = [(W, PHI, REAL), (W2, PHI2, RNG.normal(size=8))]
WK, WK0 = RNG.normal(size=(2, M, K))
CLASS = np.array([0, 1, 2, 3, 1, 0, 2, 2, 3, 1, 1])
TK = np.eye(K)[CLASS]
MANY = (WK, PHI, TK)
X, X2 = PHI[:, 1:] + 0.7, PHI2[:, 1:] - 0.4
XC = [(X, T.astype(int)), (X2, T2.astype(int))]
S = np.array([[1.3, 0.4, 0.2], [0.4, 0.9, -0.3], [0.2, -0.3, 2.1]])
EYE = np.eye


# -------------------------------------------------------- the right formulas


def error(w, phi, t):
    y = expit(phi @ w)
    return -np.sum(t * np.log(y) + (1 - t) * np.log(1 - y))


def gradient(w, phi, t):
    return phi.T @ (expit(phi @ w) - t)


def weights(w, phi):
    y = expit(phi @ w)
    return y * (1 - y)


def hessian(w, phi, t):
    return phi.T @ np.diag(weights(w, phi)) @ phi


def quadratic(w, phi, t, m0, a):
    return 0.5 * (w - m0) @ a @ (w - m0)


def pull(w, phi, t, m0, a):
    return a @ (w - m0)


def map_error(w, phi, t, m0, a):
    return error(w, phi, t) + quadratic(w, phi, t, m0, a)


def map_gradient(w, phi, t, m0, a):
    return gradient(w, phi, t) + a @ (w - m0)


def map_hessian(w, phi, t, m0, a):
    return hessian(w, phi, t) + a


def squares(w, phi, t):
    return 0.5 * np.sum((phi @ w - t) ** 2)


def squares_gradient(w, phi, t):
    return phi.T @ (phi @ w - t)


def squares_hessian(w, phi, t):
    return phi.T @ phi


def least_squares(phi, t):
    return np.linalg.solve(phi.T @ phi, phi.T @ t)


def softmax_error(w, phi, t):
    return -np.sum(t * log_softmax(phi @ w, axis=1))


def softmax_gradient(w, phi, t):
    return phi.T @ (softmax(phi @ w, axis=1) - t)


def class_major_gradient(w, phi, t):
    return softmax_gradient(w, phi, t).T.ravel()


def jacobian(a):
    y = softmax(a)
    return np.diag(y) - np.outer(y, y)


def class_major_hessian(w, phi, t):
    """Entry (k M + m, j M + l)."""
    return sum(np.kron(jacobian(w.T @ p), np.outer(p, p)) for p in phi)


def feature_major_hessian(w, phi, t):
    """Entry (m K + k, l K + j)."""
    return sum(np.kron(np.outer(p, p), jacobian(w.T @ p)) for p in phi)


def working_response(w, phi, t):
    return phi @ w - (expit(phi @ w) - t) / weights(w, phi)


def newton_direction(w, phi, t):
    return -np.linalg.solve(hessian(w, phi, t), gradient(w, phi, t))


def newton_step(w, phi, t):
    return w + newton_direction(w, phi, t)


def sgd_step(w, phi_n, t_n, eta):
    return w - eta * (expit(w @ phi_n) - t_n) * phi_n


def central(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


def second(f, x, h):
    return (f(x + h) - 2 * f(x) + f(x - h)) / h**2


def covariance(x):
    d = x - x.mean(axis=0)
    return d.T @ d / len(x)


def unbiased(x):
    d = x - x.mean(axis=0)
    return d.T @ d / (len(x) - 1)


def class_means(x, t):
    return np.array([x[t == k].mean(axis=0) for k in np.unique(t)])


def within(x, t):
    d = x - class_means(x, t)[t]
    return d.T @ d


def pooled(x, t):
    return within(x, t) / len(x)


def pooled_unbiased(x, t):
    return within(x, t) / (len(x) - len(np.unique(t)))


def log_det(s):
    return np.linalg.slogdet(s)[1]


def log_density(x, m, s):
    d = x - m
    quad = d @ np.linalg.solve(s, d)
    return -0.5 * (len(x) * np.log(2 * np.pi) + log_det(s) + quad)


def log_evidence(log_f, h):
    return log_f + len(h) / 2 * np.log(2 * np.pi) - 0.5 * log_det(h)


def bic(log_lik, m, n):
    return log_lik - 0.5 * m * np.log(n)


def variance_of_mean(x):
    return x.var(ddof=1) / len(x)


# ---------------------------------------------- errors, in more than one line


def error_by_loop_minus_missing(w, phi, t):
    total = 0.0
    for row, target in zip(phi, t, strict=True):
        y = expit(w @ row)
        total += np.log(y) if target == 1 else np.log(1 - y)
    return total


def gradient_by_loop_mean(w, phi, t):
    g = np.zeros_like(w)
    for row, target in zip(phi, t, strict=True):
        g += (expit(w @ row) - target) * row / len(t)
    return g


def gradient_by_loop_dropped(w, phi, t):
    g = np.zeros_like(w)
    for n in range(1, len(t)):
        g += (expit(w @ phi[n]) - t[n]) * phi[n]
    return g


def gradient_at_start(w, phi, t):
    w_old = START
    y = expit(phi @ w_old)
    return phi.T @ (y - t)


def hessian_at_zero(w, phi, t):
    w = np.zeros(M)
    y = expit(phi @ w)
    return phi.T @ np.diag(y * (1 - y)) @ phi


def hessian_negative_weights(w, phi, t):
    y = expit(phi @ w)
    r = np.diag(y * (y - 1))
    return phi.T @ r @ phi


def map_gradient_all_at_start(w, phi, t, m0, a):
    w_old = START
    return phi.T @ (expit(phi @ w_old) - t) + a @ (w_old - m0)


def softmax_gradient_at_start(w, phi, t):
    activations = phi @ WK0
    y = np.exp(activations)
    y /= y.sum(axis=1, keepdims=True)
    return phi.T @ (y - t)


def block_hessian(w, phi, place, scale=1.0):
    """Loops over the blocks (k, j), written where `place` says."""
    y, h = softmax(phi @ w, axis=1), np.zeros((M * K, M * K))
    for k in range(K):
        for j in range(K):
            r = y[:, k] * ((k == j) - y[:, j])
            h[place(k), place(j)] = scale * phi.T @ (r[:, None] * phi)
    return h


def blocks_one_after_another(w, phi, t):
    return block_hessian(w, phi, lambda k: slice(k * M, (k + 1) * M))


def blocks_interleaved(w, phi, t):
    return block_hessian(w, phi, lambda k: slice(k, None, K))


def blocks_negative(w, phi, t):
    return block_hessian(w, phi, lambda k: slice(k * M, (k + 1) * M), -1.0)


def blocks_mean(w, phi, t):
    return blocks_one_after_another(w, phi, t) / phi.shape[0]


def blocks_without_diagonal(w, phi, t):
    y = softmax(phi @ w, axis=1)
    return -np.einsum("nk,nj,nm,nl->kmjl", y, y, phi, phi).reshape(12, 12)


def diagonal_blocks(w, phi, t):
    """What the indicator I_kj contributes, classes outermost."""
    h, y = np.zeros((K, M, K, M)), softmax(phi @ w, axis=1)
    for k in range(K):
        h[k, :, k] = phi.T @ (y[:, [k]] * phi)
    return h.reshape(M * K, M * K)


def einsum_feature_major(w, phi, t):
    y = softmax(phi @ w, axis=1)
    s = np.einsum("nk,kj->nkj", y, EYE(K)) - np.einsum("nk,nj->nkj", y, y)
    return np.einsum("nm,nl,nkj->mklj", phi, phi, s).reshape(M * K, M * K)


def einsum_class_major(w, phi, t):
    y = softmax(phi @ w, axis=1)
    s = y[:, :, None] * (EYE(K) - y[:, None, :])
    return np.einsum("nm,nl,nkj->kmjl", phi, phi, s).reshape(M * K, M * K)


def newton_mean_hessian(w, phi, t):
    y = expit(phi @ w)
    h = (phi.T * (y * (1 - y))) @ phi / len(t)
    return -np.linalg.solve(h, phi.T @ (y - t))


def newton_mean_gradient(w, phi, t):
    y = expit(phi @ w)
    g = np.mean((y - t)[:, None] * phi, axis=0)
    return -np.linalg.inv((phi.T * (y * (1 - y))) @ phi) @ g


def newton_plus(w, phi, t):
    y = expit(phi @ w)
    h = (phi.T * (y * (1 - y))) @ phi
    return w + np.linalg.solve(h, phi.T @ (y - t))


def newton_half_hessian(w, phi, t):
    """Took ½ from the Taylor series into the Hessian."""
    y = expit(phi @ w)
    h = 0.5 * phi.T @ np.diag(y * (1 - y)) @ phi
    return w - np.linalg.inv(h) @ phi.T @ (y - t)


def newton_at_start(w, phi, t):
    y = expit(phi @ START)
    h = phi.T @ np.diag(y * (1 - y)) @ phi
    return START - np.linalg.inv(h) @ phi.T @ (y - t)


def newton_update_only(w, phi, t):
    y = expit(phi @ w)
    h = phi.T @ np.diag(y * (1 - y)) @ phi
    return -np.linalg.inv(h) @ phi.T @ (y - t)


def pooled_of_np_cov(x, t):
    d = x.copy()
    for k in np.unique(t):
        d[t == k] -= x[t == k].mean(axis=0)
    return np.cov(d.T)


def pooled_scatter(x, t):
    s = np.zeros((x.shape[1], x.shape[1]))
    for k in np.unique(t):
        d = x[t == k] - x[t == k].mean(axis=0)
        s += d.T @ d
    return s


def pooled_of_unbiased(x, t):
    parts = [np.sum(t == k) * np.cov(x[t == k].T) for k in np.unique(t)]
    return sum(parts) / len(x)


def log_density_plus_log_det(x, m, s):
    d = x - m
    quad = d @ np.linalg.inv(s) @ d
    norm = -0.5 * len(x) * np.log(2 * np.pi) + 0.5 * np.log(np.linalg.det(s))
    return norm - 0.5 * quad


def log_density_det_without_half(x, m, s):
    d = x - m
    quad = d @ np.linalg.inv(s) @ d
    norm = 0.5 * len(x) * np.log(2 * np.pi) + np.log(np.linalg.det(s))
    return -norm - 0.5 * quad


def log_density_quad_without_half(x, m, s):
    d = x - m
    norm = np.sqrt(np.linalg.det(2 * np.pi * s))
    return -np.log(norm) - d @ np.linalg.inv(s) @ d


def log_density_quad_plus(x, m, s):
    d = x - m
    norm = np.sqrt(np.linalg.det(2 * np.pi * s))
    return -np.log(norm) + 0.5 * d @ np.linalg.inv(s) @ d


def log_density_without_pi(x, m, s):
    d = x - m
    return -0.5 * (np.log(np.linalg.det(s)) + d @ np.linalg.inv(s) @ d)


def log_density_without_halves(x, m, s):
    d = x - m
    quad = d @ np.linalg.inv(s) @ d
    return -(len(x) * np.log(2 * np.pi) + np.log(np.linalg.det(s)) + quad)


def log_density_precision(x, m, s):
    """Takes the covariance for the precision."""
    d = x - m
    return 0.5 * (log_det(s) - len(x) * np.log(2 * np.pi) - d @ s @ d)


def log_density_sign_of_det(x, m, s):
    d = x - m
    quad = d @ np.linalg.inv(s) @ d
    return -0.5 * (len(x) * np.log(2 * np.pi) + np.linalg.slogdet(s)[0] + quad)


# ------------------------------------------------- what can be called a name

PLANTED = [
    *group(
        "error",
        error,
        TWO,
        ("loop of log likelihood", error_by_loop_minus_missing, SIGN),
        (
            "log likelihood",
            lambda w, phi, t: np.sum(
                t * np.log(expit(phi @ w)) + (1 - t) * np.log(expit(-phi @ w))
            ),
            SIGN,
        ),
        (
            "np.mean",
            lambda w, phi, t: (
                -np.mean(
                    t * np.log(expit(phi @ w))
                    + (1 - t) * np.log(1 - expit(phi @ w))
                )
            ),
            MEAN,
        ),
        (
            "½ from the squares",
            lambda w, phi, t: (
                0.5 * np.sum(np.logaddexp(0, phi @ w) - t * (phi @ w))
            ),
            HALF,
        ),
        (
            "deviance",
            lambda w, phi, t: (
                -2 * np.sum(stats.bernoulli.logpmf(t, expit(phi @ w)))
            ),
            TWICE,
        ),
    ),
    *group(
        "error",
        error,
        TWO,
        (
            "only the ones",
            lambda w, phi, t: -np.sum(t * np.log(expit(phi @ w))),
            ("zeros",),
            MISSING,
        ),
        (
            "a minus for the zeros",
            lambda w, phi, t: (
                -np.sum(
                    t * np.log(expit(phi @ w))
                    - (1 - t) * np.log(1 - expit(phi @ w))
                )
            ),
            ("zeros",),
            SIGN,
        ),
        terms={
            "part of the zeros": lambda w, phi, t: (
                -np.sum((1 - t) * np.log(1 - expit(phi @ w)))
            )
        },
    ),
    *group(
        "gradient",
        gradient,
        TWO,
        ("t − y", lambda w, phi, t: phi.T @ (t - expit(phi @ w)), SIGN),
        ("mean by loop", gradient_by_loop_mean, MEAN),
        (
            "np.mean",
            lambda w, phi, t: np.mean(
                (expit(phi @ w) - t)[:, None] * phi, axis=0
            ),
            MEAN,
        ),
        (
            "2 of the squares",
            lambda w, phi, t: 2 * (expit(phi @ w) - t) @ phi,
            TWICE,
        ),
        ("w_old", gradient_at_start, ("start",)),
        (
            "at zero",
            lambda w, phi, t: phi.T @ (0.5 - t),
            ("zero",),
        ),
        elsewhere={"the start": START, "zero": np.zeros(M)},
    ),
    *group(
        "Hessian",
        hessian,
        ONE,
        ("y(y − 1)", hessian_negative_weights, SIGN),
        (
            "mean",
            lambda w, phi, t: np.mean(
                [
                    r * np.outer(p, p)
                    for r, p in zip(weights(w, phi), phi, strict=True)
                ],
                axis=0,
            ),
            MEAN,
        ),
        ("at zero", hessian_at_zero, ("zero",)),
        (
            "½ of the Taylor series",
            lambda w, phi, t: 0.5 * (phi.T @ (weights(w, phi)[:, None] * phi)),
            HALF,
        ),
        elsewhere={"the start": START, "zero": np.zeros(M)},
    ),
    *group(
        "MAP error",
        map_error,
        MAP,
        (
            "no ½",
            lambda w, phi, t, m0, a: error(w, phi, t) + (w - m0) @ a @ (w - m0),
            ("prior",),
            TWICE,
        ),
        ("no prior", lambda w, phi, t, m0, a: error(w, phi, t), ("prior",)),
        (
            "minus the quadratic",
            lambda w, phi, t, m0, a: (
                error(w, phi, t) - 0.5 * (w - m0).T @ a @ (w - m0)
            ),
            ("prior",),
            SIGN,
        ),
        (
            "log posterior",
            lambda w, phi, t, m0, a: (
                np.sum(t * (phi @ w) - np.logaddexp(0, phi @ w))
                - 0.5 * (w - m0) @ a @ (w - m0)
            ),
            SIGN,
        ),
        terms={"prior": quadratic},
    ),
    *group(
        "MAP gradient",
        map_gradient,
        MAP,
        (
            "no prior",
            lambda w, phi, t, m0, a: phi.T @ (expit(phi @ w) - t),
            ("prior",),
            MISSING,
        ),
        (
            "minus A(w − m0)",
            lambda w, phi, t, m0, a: (
                phi.T @ (expit(phi @ w) - t) - a @ (w - m0)
            ),
            ("prior",),
            SIGN,
        ),
        (
            "A(m0 − w)",
            lambda w, phi, t, m0, a: (
                phi.T @ (expit(phi @ w) - t) + a @ (m0 - w)
            ),
            ("prior",),
            SIGN,
        ),
        (
            "2A(w − m0)",
            lambda w, phi, t, m0, a: (
                phi.T @ (expit(phi @ w) - t) + 2 * a @ (w - m0)
            ),
            ("prior",),
            TWICE,
        ),
        (
            "prior in each of two batches",
            lambda w, phi, t, m0, a: sum(
                phi[i].T @ (expit(phi[i] @ w) - t[i]) + a @ (w - m0)
                for i in (slice(0, 5), slice(5, None))
            ),
            ("prior",),
            TWICE,
        ),
        ("all at w_old", map_gradient_all_at_start, ("start",)),
        terms={"prior": pull},
        elsewhere={"the start": START},
    ),
    *group(
        "MAP gradient",
        map_gradient,
        MAP,
        (
            "no m0",
            lambda w, phi, t, m0, a: phi.T @ (expit(phi @ w) - t) + a @ w,
            ("centre",),
            MISSING,
        ),
        (
            "A(w + m0)",
            lambda w, phi, t, m0, a: (
                phi.T @ (expit(phi @ w) - t) + a @ (w + m0)
            ),
            ("centre",),
            SIGN,
        ),
        terms={"prior": pull, "centre": lambda w, phi, t, m0, a: -a @ m0},
    ),
    *group(
        "MAP Hessian",
        map_hessian,
        MAP,
        (
            "no prior",
            lambda w, phi, t, m0, a: (
                phi.T @ np.diag(expit(phi @ w) * expit(-phi @ w)) @ phi
            ),
            ("prior",),
            MISSING,
        ),
        (
            "minus A",
            lambda w, phi, t, m0, a: (phi.T * weights(w, phi)) @ phi - a,
            ("prior",),
            SIGN,
        ),
        (
            "2A",
            lambda w, phi, t, m0, a: (phi.T * weights(w, phi)) @ phi + 2 * a,
            ("prior",),
            TWICE,
        ),
        (
            "prior only",
            lambda w, phi, t, m0, a: a,
            ("data",),
            MISSING,
        ),
        terms={
            "prior": A,
            "data": lambda w, phi, t, m0, a: hessian(w, phi, t),
        },
    ),
    *group(
        "squares",
        squares,
        LINE,
        ("no ½", lambda w, phi, t: np.sum((phi @ w - t) ** 2), TWICE),
        (
            "norm squared",
            lambda w, phi, t: np.linalg.norm(t - phi @ w) ** 2,
            TWICE,
        ),
        (
            "np.mean",
            lambda w, phi, t: np.mean((t - phi @ w) ** 2) / 2,
            MEAN,
        ),
        (
            "divided by 4",
            lambda w, phi, t: 0.25 * np.sum((t - phi @ w) ** 2),
            HALF,
        ),
    ),
    *group(
        "gradient of the squares",
        squares_gradient,
        LINE,
        ("t − Φw", lambda w, phi, t: phi.T @ (t - phi @ w), SIGN),
        ("2", lambda w, phi, t: 2 * phi.T @ (phi @ w - t), TWICE),
        (
            "½ left",
            lambda w, phi, t: 0.5 * phi.T @ (phi @ w - t),
            HALF,
        ),
        (
            "/ N",
            lambda w, phi, t: (phi @ w - t) @ phi / phi.shape[0],
            MEAN,
        ),
        (
            "Φᵀt missing",
            lambda w, phi, t: phi.T @ phi @ w,
            ("targets",),
            MISSING,
        ),
        terms={"targets": lambda w, phi, t: -phi.T @ t},
    ),
    *group(
        "Hessian of the squares",
        squares_hessian,
        LINE,
        ("2ΦᵀΦ", lambda w, phi, t: 2 * phi.T @ phi, TWICE),
        ("mean", lambda w, phi, t: phi.T @ phi / len(phi), MEAN),
        (
            "N − 1 of a covariance",
            lambda w, phi, t: phi.T @ phi / (len(phi) - 1),
            LESS_ONE,
        ),
    ),
    *group(
        "least squares",
        least_squares,
        [(PHI, REAL)],
        (
            "2ΦᵀΦ",
            lambda phi, t: np.linalg.inv(2 * phi.T @ phi) @ phi.T @ t,
            HALF,
        ),
        (
            "mean of ΦᵀΦ",
            lambda phi, t: np.linalg.solve(phi.T @ phi / len(t), phi.T @ t),
            SUM,
        ),
        (
            "minus",
            lambda phi, t: np.linalg.lstsq(phi, -t, rcond=None)[0],
            SIGN,
        ),
    ),
    *group(
        "softmax error",
        softmax_error,
        MANY,
        (
            "log likelihood",
            lambda w, phi, t: np.sum(t * np.log(softmax(phi @ w, axis=1))),
            SIGN,
        ),
        (
            "mean of the rows",
            lambda w, phi, t: (
                -np.mean(np.sum(t * log_softmax(phi @ w, axis=1), axis=1))
            ),
            MEAN,
        ),
        (
            "no log of the sum",
            lambda w, phi, t: -np.sum(t * (phi @ w)),
            ("normal",),
            MISSING,
        ),
        (
            "plus for the normaliser's minus",
            lambda w, phi, t: (
                -np.sum(t * (phi @ w)) - np.sum(logsumexp(phi @ w, axis=1))
            ),
            ("normal",),
            SIGN,
        ),
        terms={
            "normaliser": lambda w, phi, t: np.sum(logsumexp(phi @ w, axis=1))
        },
    ),
    *group(
        "softmax gradient",
        softmax_gradient,
        MANY,
        (
            "T − Y",
            lambda w, phi, t: phi.T @ (t - softmax(phi @ w, axis=1)),
            SIGN,
        ),
        (
            "(Y − T)ᵀΦ",
            lambda w, phi, t: (softmax(phi @ w, axis=1) - t).T @ phi,
            TRANSPOSED,
        ),
        (
            "outer products φ last",
            lambda w, phi, t: sum(
                np.outer(softmax(p @ w) - c, p)
                for p, c in zip(phi, t, strict=True)
            ),
            TRANSPOSED,
        ),
        (
            "/ N",
            lambda w, phi, t: phi.T @ (softmax(phi @ w, axis=1) - t) / len(phi),
            MEAN,
        ),
        ("w_old", softmax_gradient_at_start, ("start",)),
        (
            "no targets",
            lambda w, phi, t: phi.T @ softmax(phi @ w, axis=1),
            ("targets",),
            MISSING,
        ),
        terms={"targets": lambda w, phi, t: -phi.T @ t},
        elsewhere={"the start": WK0},
    ),
    *group(
        "flattened softmax gradient",
        class_major_gradient,
        MANY,
        (
            "ravel without .T",
            lambda w, phi, t: (phi.T @ (softmax(phi @ w, axis=1) - t)).ravel(),
            (*ORDER, *TRANSPOSED),
        ),
        (
            "order F of the transpose",
            lambda w, phi, t: ((softmax(phi @ w, axis=1) - t).T @ phi).ravel(
                order="F"
            ),
            (*ORDER, *TRANSPOSED),
        ),
        (
            "minus",
            lambda w, phi, t: ((t - softmax(phi @ w, axis=1)).T @ phi).ravel(),
            SIGN,
        ),
    ),
    *group(
        "softmax Hessian, classes outermost",
        class_major_hessian,
        MANY,
        ("einsum m k", einsum_feature_major, ORDER),
        ("interleaved", blocks_interleaved, ORDER),
        ("y(y − I)", blocks_negative, SIGN),
        ("mean", blocks_mean, MEAN),
        (
            "without I_kj",
            blocks_without_diagonal,
            ("diagonal",),
            MISSING,
        ),
        (
            "with I_kj only",
            diagonal_blocks,
            ("coupling",),
            MISSING,
        ),
        terms={
            "diagonal": diagonal_blocks,
            "coupling": blocks_without_diagonal,
        },
    ),
    *group(
        "softmax Hessian, features outermost",
        feature_major_hessian,
        MANY,
        ("einsum k m", einsum_class_major, ORDER),
        ("block by block", blocks_one_after_another, ORDER),
        (
            "½",
            lambda w, phi, t: 0.5 * einsum_feature_major(w, phi, t),
            HALF,
        ),
    ),
    *group(
        "working response",
        working_response,
        TWO,
        (
            "plus (y − t)/r",
            lambda w, phi, t: phi @ w + (expit(phi @ w) - t) / weights(w, phi),
            ("correction",),
            SIGN,
        ),
        ("Φw", lambda w, phi, t: phi @ w, ("correction",), MISSING),
        (
            "correction only",
            lambda w, phi, t: (t - expit(phi @ w)) / weights(w, phi),
            ("activation",),
            MISSING,
        ),
        terms={
            "correction": lambda w, phi, t: (
                -(expit(phi @ w) - t) / weights(w, phi)
            ),
            "activation": lambda w, phi, t: phi @ w,
        },
    ),
    *group(
        "weights",
        weights,
        [(W, PHI), (W2, PHI2)],
        (
            "y(y − 1)",
            lambda w, phi: expit(phi @ w) * (expit(phi @ w) - 1),
            SIGN,
        ),
        (
            "mean over the rows",
            lambda w, phi: expit(phi @ w) * expit(-phi @ w) / len(phi),
            MEAN,
        ),
        (
            "doubled",
            lambda w, phi: (expit(phi @ w) * expit(-phi @ w)) * 2,
            TWICE,
        ),
    ),
    *group(
        "Newton direction",
        newton_direction,
        TWO,
        (
            "H⁻¹g",
            lambda w, phi, t: np.linalg.solve(
                hessian(w, phi, t), phi.T @ (expit(phi @ w) - t)
            ),
            SIGN,
        ),
        ("mean Hessian", newton_mean_hessian, SUM),
        ("mean gradient", newton_mean_gradient, MEAN),
    ),
    *group(
        "Newton step",
        newton_step,
        TWO,
        ("uphill", newton_plus, ("step",), SIGN),
        ("½H", newton_half_hessian, ("step",), TWICE),
        ("from the start", newton_at_start, ("start",)),
        ("w left out", newton_update_only, ("weights",), MISSING),
        terms={"step": newton_direction, "weights": lambda w, phi, t: w},
        elsewhere={"the start": START},
    ),
    *group(
        "SGD step",
        sgd_step,
        (W, PHI[3], T[3], 0.3),
        (
            "w + η(y − t)φ",
            lambda w, phi_n, t_n, eta: (
                w + eta * (expit(phi_n @ w) - t_n) * phi_n
            ),
            ("step",),
            SIGN,
        ),
        (
            "t − y",
            lambda w, phi_n, t_n, eta: (
                w - eta * (t_n - expit(phi_n @ w)) * phi_n
            ),
            ("step",),
            SIGN,
        ),
        (
            "2η",
            lambda w, phi_n, t_n, eta: (
                w - 2 * eta * (expit(phi_n @ w) - t_n) * phi_n
            ),
            ("step",),
            TWICE,
        ),
        (
            "gradient only",
            lambda w, phi_n, t_n, eta: -eta * (expit(phi_n @ w) - t_n) * phi_n,
            ("weights",),
            MISSING,
        ),
        terms={
            "step": lambda w, phi_n, t_n, eta: (
                -eta * (expit(w @ phi_n) - t_n) * phi_n
            ),
            "weights": lambda w, phi_n, t_n, eta: w,
        },
    ),
    *group(
        "central difference",
        central,
        [(np.exp, 0.3, 0.1), (np.sin, 1.2, 0.2)],
        ("/ h", lambda f, x, h: (f(x + h) - f(x - h)) / h, TWICE),
        ("minus", lambda f, x, h: (f(x - h) - f(x + h)) / (2 * h), SIGN),
        (
            "/ 4h",
            lambda f, x, h: ((f(x + h) - f(x - h)) / 2) / (2 * h),
            HALF,
        ),
    ),
    *group(
        "second difference",
        second,
        [(np.exp, 0.3, 0.1), (np.sin, 1.2, 0.2)],
        (
            "/ 2h²",
            lambda f, x, h: (f(x + h) - 2 * f(x) + f(x - h)) / (2 * h**2),
            HALF,
        ),
        (
            "no middle",
            lambda f, x, h: (f(x + h) + f(x - h)) / h**2,
            ("middle",),
            MISSING,
        ),
        (
            "middle added",
            lambda f, x, h: (f(x + h) + 2 * f(x) + f(x - h)) / h**2,
            ("middle",),
            SIGN,
        ),
        (
            "minus",
            lambda f, x, h: (2 * f(x) - f(x + h) - f(x - h)) / h**2,
            SIGN,
        ),
        terms={"middle value": lambda f, x, h: -2 * f(x) / h**2},
    ),
    *group(
        "covariance",
        covariance,
        [(X,), (X2,)],
        ("np.cov", lambda x: np.cov(x.T), LESS_ONE),
        (
            "ddof of the mean",
            lambda x: (x - x.mean(0)).T @ (x - x.mean(0)) / (x.shape[0] - 1),
            LESS_ONE,
        ),
        (
            "scatter",
            lambda x: (x - x.mean(axis=0)).T @ (x - x.mean(axis=0)),
            SUM,
        ),
        (
            "not centred",
            lambda x: x.T @ x / len(x),
            ("centring",),
            MISSING,
        ),
        terms={"centring": lambda x: -np.outer(x.mean(0), x.mean(0))},
    ),
    *group(
        "unbiased covariance",
        unbiased,
        [(X,), (X2,)],
        ("bias=True", lambda x: np.cov(x, rowvar=False, bias=True), LESS_ONE),
        (
            "scatter",
            lambda x: np.einsum(
                "ni,nj->ij", x - x.mean(axis=0), x - x.mean(axis=0)
            ),
            (*LESS_ONE, *SUM),
        ),
    ),
    *group(
        "pooled covariance",
        pooled,
        XC,
        ("np.cov of residuals", pooled_of_np_cov, LESS_ONE),
        ("scatter", pooled_scatter, SUM),
    ),
    *group(
        "class means",
        class_means,
        (np.vstack([X, X2]), np.arange(19) % 3),
        (
            "means as columns",
            lambda x, t: np.stack(
                [x[t == k].mean(axis=0) for k in np.unique(t)], axis=1
            ),
            TRANSPOSED,
        ),
    ),
    *group(
        "log density",
        log_density,
        [(W, M0, S), (W2, M0, A)],
        ("+ log det", log_density_plus_log_det, ("determinant",), SIGN),
        ("log det", log_density_det_without_half, ("determinant",), TWICE),
        ("quadratic", log_density_quad_without_half, ("distance",), TWICE),
        ("+ quadratic", log_density_quad_plus, ("distance",), SIGN),
        ("no 2π", log_density_without_pi, ("pi",), MISSING),
        ("no ½ at all", log_density_without_halves, TWICE),
        (
            "negative",
            lambda x, m, s: -stats.multivariate_normal.logpdf(x, m, s),
            SIGN,
        ),
        terms={
            "determinant": lambda x, m, s: -0.5 * log_det(s),
            "distance": lambda x, m, s: (
                -0.5 * (x - m) @ np.linalg.solve(s, x - m)
            ),
            "pi": lambda x, m, s: -0.5 * len(x) * np.log(2 * np.pi),
        },
    ),
    *group(
        "log evidence",
        log_evidence,
        [(-7.3, S), (-4.1, A)],
        (
            "+ ½ log det",
            lambda log_f, h: (
                log_f
                + len(h) / 2 * np.log(2 * np.pi)
                + 0.5 * np.log(np.linalg.det(h))
            ),
            ("determinant",),
            SIGN,
        ),
        (
            "log det",
            lambda log_f, h: (
                log_f
                + len(h) / 2 * np.log(2 * np.pi)
                - np.log(np.linalg.det(h))
            ),
            ("determinant",),
            TWICE,
        ),
        (
            "− M/2 log 2π",
            lambda log_f, h: (
                log_f
                - 0.5 * np.log(2 * np.pi) * len(h)
                - 0.5 * np.linalg.slogdet(h)[1]
            ),
            ("pi",),
            SIGN,
        ),
        (
            "no determinant",
            lambda log_f, h: log_f + len(h) * np.log(2 * np.pi) / 2,
            ("determinant",),
            MISSING,
        ),
        terms={
            "determinant": lambda log_f, h: -0.5 * log_det(h),
            "pi": lambda log_f, h: len(h) / 2 * np.log(2 * np.pi),
        },
    ),
    *group(
        "BIC",
        bic,
        [(-31.7, 3, 50), (-12.9, 5, 23)],
        (
            "no ½",
            lambda log_lik, m, n: log_lik - m * np.log(n),
            ("penalty",),
            TWICE,
        ),
        (
            "+ ½",
            lambda log_lik, m, n: log_lik + m / 2 * np.log(n),
            ("penalty",),
            SIGN,
        ),
        (
            "to be minimised",
            lambda log_lik, m, n: 0.5 * m * np.log(n) - log_lik,
            SIGN,
        ),
        (
            "2 log likelihood",
            lambda log_lik, m, n: 2 * log_lik - m * np.log(n),
            TWICE,
        ),
        terms={"penalty": lambda log_lik, m, n: -0.5 * m * np.log(n)},
    ),
    *group(
        "variance of a mean",
        variance_of_mean,
        [(REAL,), (T2,)],
        ("np.var", lambda x: np.var(x) / len(x), LESS_ONE),
        ("not divided", lambda x: np.var(x, ddof=1), SUM),
        (
            "N − 1 twice",
            lambda x: np.sum((x - x.mean()) ** 2) / (len(x) - 1) ** 2,
            LESS_ONE,
        ),
    ),
    *group(
        "Jacobian of softmax",
        jacobian,
        (WK[0],),
        (
            "y yᵀ − diag",
            lambda a: np.outer(softmax(a), softmax(a)) - np.diag(softmax(a)),
            SIGN,
        ),
        (
            "diag + y yᵀ",
            lambda a: np.diag(softmax(a)) + np.outer(softmax(a), softmax(a)),
            ("outer",),
            SIGN,
        ),
        ("diag", lambda a: np.diag(softmax(a)), ("outer",), MISSING),
        (
            "no diag",
            lambda a: -softmax(a)[:, None] * softmax(a),
            ("indicator",),
            MISSING,
        ),
        terms={
            "outer product": lambda a: -np.outer(softmax(a), softmax(a)),
            "indicator": lambda a: np.diag(softmax(a)),
        },
    ),
]

# two errors at once, and errors in what the named terms leave
PLANTED += [
    *group(
        "gradient",
        gradient,
        TWO,
        (
            "mean of t − y",
            lambda w, phi, t: phi.T @ (t - expit(phi @ w)) / len(t),
            SIGN,
            MEAN,
        ),
        (
            "2(t − y)",
            lambda w, phi, t: 2 * phi.T @ (t - expit(phi @ w)),
            SIGN,
            TWICE,
        ),
        (
            "t − y at the start",
            lambda w, phi, t: phi.T @ (t - expit(phi @ START)),
            SIGN,
            ("start",),
        ),
        elsewhere={"the start": START},
    ),
    *group(
        "MAP gradient",
        map_gradient,
        MAP,
        (
            "mean of the data",
            lambda w, phi, t, m0, a: (
                phi.T @ (expit(phi @ w) - t) / len(t) + a @ (w - m0)
            ),
            MEAN,
            ("but the prior", "data"),
        ),
        (
            "t − y, prior kept",
            lambda w, phi, t, m0, a: (
                phi.T @ (t - expit(phi @ w)) + a @ (w - m0)
            ),
            SIGN,
            ("prior", "data"),
        ),
        (
            "½ of the quadratic kept",
            lambda w, phi, t, m0, a: (
                phi.T @ (expit(phi @ w) - t) + 0.5 * a @ (w - m0)
            ),
            HALF,
            ("prior",),
        ),
        (
            "data at the start",
            lambda w, phi, t, m0, a: (
                phi.T @ (expit(phi @ START) - t) + a @ (w - m0)
            ),
            ("start",),
            ("prior", "data"),
        ),
        terms={"prior": pull},
        elsewhere={"the start": START},
    ),
    *group(
        "Newton step",
        newton_step,
        TWO,
        (
            "mean gradient, whole Hessian",
            lambda w, phi, t: w + newton_mean_gradient(w, phi, t),
            MEAN,
            ("step",),
        ),
        (
            "mean Hessian, whole gradient",
            lambda w, phi, t: w + newton_mean_hessian(w, phi, t),
            SUM,
            ("step",),
        ),
        terms={"step": newton_direction},
    ),
    *group(
        "softmax gradient",
        softmax_gradient,
        MANY,
        (
            "(T − Y)ᵀΦ",
            lambda w, phi, t: (t - softmax(phi @ w, axis=1)).T @ phi,
            TRANSPOSED,
            SIGN,
        ),
        (
            "mean of (Y − T)ᵀΦ",
            lambda w, phi, t: (softmax(phi @ w, axis=1) - t).T @ phi / 11,
            TRANSPOSED,
            MEAN,
        ),
    ),
    *group(
        "softmax Hessian, classes outermost",
        class_major_hessian,
        MANY,
        (
            "einsum m k, minus",
            lambda w, phi, t: -feature_major_hessian(w, phi, t),
            ORDER,
            SIGN,
        ),
    ),
    *group(
        "log density",
        log_density,
        [(W, M0, S), (W2, M0, A)],
        (
            "negative, no ½",
            lambda x, m, s: (
                len(x) * np.log(2 * np.pi)
                + np.log(np.linalg.det(s))
                + (x - m) @ np.linalg.inv(s) @ (x - m)
            ),
            SIGN,
            TWICE,
        ),
    ),
    *group(
        "covariance",
        covariance,
        (X,),
        ("np.cov, one sample", lambda x: np.cov(x, rowvar=False), LESS_ONE),
    ),
]


# ----------------------------------------------- what no kind of error names


def gradient_clipped(w, phi, t):
    y = np.clip(expit(phi @ w), 0.3, 0.7)
    return phi.T @ (y - t)


def gradient_of_last_row(w, phi, t):
    g = np.zeros(M)
    for row, target in zip(phi, t, strict=True):
        g = (expit(w @ row) - target) * row
    return g


def gradient_shuffled(w, phi, t):
    return phi.T @ (expit(phi @ w) - np.roll(t, 1))


def gradient_column_target(w, phi, t):
    """Broadcasts to N × N, and sums what it should not."""
    return (expit(phi @ w) - t[:, None]).sum(axis=1) @ phi


def softmax_wrong_axis(w, phi, t):
    return phi.T @ (softmax(phi @ w, axis=0) - t)


def sigmoid_per_class(w, phi, t):
    return phi.T @ (expit(phi @ w) - t)


def last_block_forgotten(w, phi, t):
    h = class_major_hessian(w, phi, t)
    h[-M:, -M:] = 0.0
    return h


UNNAMEABLE = [
    *nameless(
        "gradient",
        gradient,
        TWO,
        ("tanh", lambda w, phi, t: phi.T @ (np.tanh(phi @ w) - t)),
        ("probit", lambda w, phi, t: phi.T @ (stats.norm.cdf(phi @ w) - t)),
        ("no σ", lambda w, phi, t: phi.T @ (phi @ w - t)),
        ("relu", lambda w, phi, t: phi.T @ (np.maximum(phi @ w, 0) - t)),
        ("dropped row", gradient_by_loop_dropped, "left out"),
        ("last target", lambda w, phi, t: phi[-1] * t[-1]),
        ("σ(−a)", lambda w, phi, t: phi.T @ (expit(-phi @ w) - t), "sign"),
        ("= for +=", gradient_of_last_row),
        ("clipped", gradient_clipped),
        ("rolled targets", gradient_shuffled),
        ("targets ±1", lambda w, phi, t: phi.T @ (expit(phi @ w) - 2 * t + 1)),
        ("column targets", gradient_column_target),
        ("raises", lambda w, phi, t: phi @ (expit(phi @ w) - t), "sign"),
        ("undefined name", lambda w, phi, t: phi.T @ (sigma(phi @ w) - t)),  # noqa: F821
        ("nan", lambda w, phi, t: np.full(M, np.nan)),
        (
            "3 times",
            lambda w, phi, t: 3 * phi.T @ (expit(phi @ w) - t),
            "factor",
        ),
        (
            "slope of the squares",
            lambda w, phi, t: phi.T @ ((expit(phi @ w) - t) * weights(w, phi)),
            "factor",
        ),
        ("scalar", lambda w, phi, t: np.sum(expit(phi @ w) - t)),
        ("text", lambda w, phi, t: "phi.T @ (y - t)"),
        elsewhere={"the start": START, "zero": np.zeros(M)},
    ),
    *nameless(
        "error",
        error,
        TWO,
        (
            "log2",
            lambda w, phi, t: (
                -np.sum(
                    t * np.log2(expit(phi @ w))
                    + (1 - t) * np.log2(expit(-phi @ w))
                )
            ),
            "factor",
            "missing",
        ),
        (
            "classes swapped",
            lambda w, phi, t: (
                -np.sum(
                    (1 - t) * np.log(expit(phi @ w))
                    + t * np.log(expit(-phi @ w))
                )
            ),
            "sign",
        ),
        ("squares", lambda w, phi, t: np.sum((expit(phi @ w) - t) ** 2)),
        (
            "not summed",
            lambda w, phi, t: np.logaddexp(0, phi @ w) - t * (phi @ w),
            "missing",
        ),
    ),
    *nameless(
        "Hessian",
        hessian,
        ONE,
        ("no R", lambda w, phi, t: phi.T @ phi, "factor", "missing"),
        (
            "R of y",
            lambda w, phi, t: phi.T @ np.diag(expit(phi @ w)) @ phi,
            "factor",
            "missing",
        ),
        ("√R", lambda w, phi, t: (phi.T * np.sqrt(weights(w, phi))) @ phi),
        (
            "R²",
            lambda w, phi, t: (phi.T * weights(w, phi) ** 2) @ phi,
            "factor",
        ),
        (
            "Φ R Φᵀ",
            lambda w, phi, t: phi @ np.diag(weights(w, phi)) @ phi.T,
            "sign",  # the error says "signature"
        ),
        ("trace", lambda w, phi, t: np.trace(hessian(w, phi, t))),
        ("diagonal", lambda w, phi, t: np.diag(np.diag(hessian(w, phi, t)))),
        ("inverse", lambda w, phi, t: np.linalg.inv(hessian(w, phi, t))),
    ),
    *nameless(
        "MAP gradient",
        map_gradient,
        MAP,
        (
            "A⁻¹",
            lambda w, phi, t, m0, a: (
                gradient(w, phi, t) + np.linalg.solve(a, w - m0)
            ),
        ),
        (
            "no A",
            lambda w, phi, t, m0, a: gradient(w, phi, t) + w - m0,
        ),
        (
            "diagonal of A",
            lambda w, phi, t, m0, a: (
                gradient(w, phi, t) + np.diag(a) * (w - m0)
            ),
        ),
        (
            "no m0",
            lambda w, phi, t, m0, a: gradient(w, phi, t) + a @ w,
            "missing",
        ),
        terms={"prior": pull},
        elsewhere={"the start": START},
    ),
    *nameless(
        "softmax gradient",
        softmax_gradient,
        MANY,
        ("axis 0", softmax_wrong_axis),
        ("sigmoid", sigmoid_per_class),
    ),
    *nameless(
        "softmax Hessian, classes outermost",
        class_major_hessian,
        MANY,
        ("last block", last_block_forgotten),
        ("no R", lambda w, phi, t: np.kron(EYE(K), phi.T @ phi)),
    ),
    *nameless(
        "central difference",
        central,
        [(np.exp, 0.3, 0.1), (np.sin, 1.2, 0.2)],
        ("forward", lambda f, x, h: (f(x + h) - f(x)) / h),
        ("/ 2 * h", lambda f, x, h: (f(x + h) - f(x - h)) / 2 * h, "factor"),
    ),
    *nameless(
        "pooled covariance",
        pooled,
        XC,
        ("of all rows", lambda x, t: np.cov(x.T, bias=True), "missing"),
        ("weighted np.cov", pooled_of_unbiased),
    ),
    *nameless(
        "pooled covariance over N − K",
        pooled_unbiased,
        XC,
        ("over N", pooled),
    ),
    *nameless(
        "log density",
        log_density,
        [(W, M0, S), (W2, M0, A)],
        ("precision", log_density_precision),
        ("slogdet[0]", log_density_sign_of_det),
        ("density", lambda x, m, s: stats.multivariate_normal.pdf(x, m, s)),
    ),
    *nameless(
        "BIC",
        bic,
        [(-31.7, 3, 50), (-12.9, 5, 23)],
        ("AIC", lambda log_lik, m, n: log_lik - m),
        ("log10", lambda log_lik, m, n: log_lik - 0.5 * m * np.log10(n)),
        terms={"penalty": lambda log_lik, m, n: -0.5 * m * np.log(n)},
    ),
    *nameless(
        "variance of a mean",
        variance_of_mean,
        [(REAL,), (T2,)],
        ("standard error", lambda x: x.std(ddof=1) / np.sqrt(len(x))),
        ("√N", lambda x: x.var(ddof=1) / np.sqrt(len(x))),
    ),
]


# ---------------------------------------------- right, and written otherwise


def gradient_by_loop(w, phi, t):
    g = [0.0] * len(w)
    for row, target in zip(phi, t, strict=True):
        for i in range(len(w)):
            g[i] += (1 / (1 + np.exp(-row @ w)) - target) * row[i]
    return g


def sgd_in_place(w, phi_n, t_n, eta):
    w -= eta * (expit(w @ phi_n) - t_n) * phi_n
    return w


def newton_by_least_squares(w, phi, t):
    root = np.sqrt(weights(w, phi))
    z = working_response(w, phi, t)
    return np.linalg.lstsq(root[:, None] * phi, root * z, rcond=None)[0]


def log_density_by_cholesky(x, m, s):
    c = np.linalg.cholesky(s)
    u = np.linalg.solve(c, x - m)
    return -0.5 * (
        u @ u + len(x) * np.log(2 * np.pi) + 2 * np.log(np.diag(c)).sum()
    )


def softmax_gradient_by_columns(w, phi, t):
    e = np.exp(phi @ w - (phi @ w).max(axis=1, keepdims=True))
    y = e / e.sum(axis=1, keepdims=True)
    return np.column_stack([phi.T @ (y[:, k] - t[:, k]) for k in range(K)])


RIGHT = [
    *group(
        "error",
        error,
        TWO,
        (
            "logaddexp",
            lambda w, phi, t: np.sum(np.logaddexp(0, phi @ w) - t * (phi @ w)),
        ),
        (
            "xlogy",
            lambda w, phi, t: (
                -xlogy(t, expit(phi @ w)).sum()
                - xlogy(1 - t, expit(-phi @ w)).sum()
            ),
        ),
        (
            "0-d array",
            lambda w, phi, t: np.array(
                -stats.bernoulli.logpmf(t, expit(phi @ w)).sum()
            ),
        ),
    ),
    *group(
        "gradient",
        gradient,
        TWO,
        ("loop, list", gradient_by_loop),
        ("einsum", lambda w, p, t: np.einsum("n,nm", expit(p @ w) - t, p)),
        ("minus Φᵀ(t − y)", lambda w, phi, t: -(t - expit(phi @ w)) @ phi),
        (
            "tanh of half",
            lambda w, phi, t: phi.T @ ((1 + np.tanh(phi @ w / 2)) / 2 - t),
        ),
        elsewhere={"the start": START, "zero": np.zeros(M)},
    ),
    *group(
        "Hessian",
        hessian,
        ONE,
        ("columns", lambda w, p, t: p.T @ (weights(w, p)[:, None] * p)),
        (
            "outer products",
            lambda w, phi, t: sum(
                expit(p @ w) * expit(-p @ w) * np.outer(p, p) for p in phi
            ),
        ),
    ),
    *group(
        "MAP gradient",
        map_gradient,
        MAP,
        (
            "rows",
            lambda w, phi, t, m0, a: (
                (expit(phi @ w) - t) @ phi - (m0 - w) @ a.T
            ),
        ),
        terms={"prior": pull},
        elsewhere={"the start": START},
    ),
    *group(
        "least squares",
        least_squares,
        (PHI, REAL),
        ("lstsq", lambda phi, t: np.linalg.lstsq(phi, t, rcond=None)[0]),
        ("pinv", lambda phi, t: np.linalg.pinv(phi) @ t),
        ("mean", lambda p, t: np.linalg.inv(p.T @ p / 11) @ p.T @ t / 11),
    ),
    *group(
        "softmax gradient",
        softmax_gradient,
        MANY,
        ("columns", softmax_gradient_by_columns),
    ),
    *group(
        "softmax Hessian, classes outermost",
        class_major_hessian,
        MANY,
        ("blocks", blocks_one_after_another),
        ("einsum", einsum_class_major),
        terms={
            "diagonal": diagonal_blocks,
            "coupling": blocks_without_diagonal,
        },
    ),
    *group(
        "softmax Hessian, features outermost",
        feature_major_hessian,
        MANY,
        ("interleaved", blocks_interleaved),
    ),
    *group("Newton step", newton_step, TWO, ("QR", newton_by_least_squares)),
    *group(
        "SGD step",
        sgd_step,
        (W.copy(), PHI[3], T[3], 0.3),
        ("in place", sgd_in_place),
    ),
    *group(
        "covariance",
        covariance,
        [(X,), (X2,)],
        ("np.cov", lambda x: np.cov(x.T, ddof=0)),
        (
            "moments",
            lambda x: x.T @ x / len(x) - np.outer(x.mean(0), x.mean(0)),
        ),
        terms={"centring": lambda x: -np.outer(x.mean(0), x.mean(0))},
    ),
    *group(
        "log density",
        log_density,
        [(W, M0, S), (W2, M0, A)],
        ("Cholesky", log_density_by_cholesky),
        ("SciPy", stats.multivariate_normal.logpdf),
    ),
    *group(
        "Jacobian of softmax",
        jacobian,
        (WK[0],),
        ("y(I − y)", lambda a: softmax(a)[:, None] * (EYE(K) - softmax(a))),
    ),
]


# --------------------------------------------------------- not yet attempted


def only_pass(w, phi, t):
    pass


def only_dots(w, phi, t): ...


def only_a_docstring(w, phi, t):
    """The gradient Φᵀ(y − t)."""


def returns_none(w, phi, t):
    return None


def returns_dots(w, phi, t):
    return ...


def not_implemented(w, phi, t):
    raise NotImplementedError


def not_implemented_in_words(w, phi, t):
    """The gradient Φᵀ(y − t)."""
    raise NotImplementedError("write me")


def computes_first(w, phi, t):
    y = expit(phi @ w)  # noqa: F841
    raise NotImplementedError("and now the gradient")


STUBS = group(
    "gradient",
    gradient,
    ONE,
    ("pass", only_pass),
    ("dots", only_dots),
    ("docstring", only_a_docstring),
    ("return None", returns_none),
    ("return ...", returns_dots),
    ("raise", not_implemented),
    ("raise with words", not_implemented_in_words),
    ("given line, then raise", computes_first),
)

CASES = [*PLANTED, *UNNAMEABLE, *RIGHT, *STUBS]
