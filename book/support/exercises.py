"""What the code exercises compare a reader's function with.

One function per exercise, with the arguments of `check.attempt`: the book's
function, the points where both are tried, and terms that are easily lost.
"""

from itertools import product

import numpy as np
from scipy import optimize

from prml4 import (
    comparison,
    ep,
    evidence,
    exponential_family,
    gaussian,
    gaussian_process,
    glm,
    gp_ep,
    irls,
    laplace,
    least_squares,
    logistic,
    naive_bayes,
    probit,
    softmax,
)
from prml4.models import data, dispersion, families, kernels, likelihoods
from prml4.numerics import newton, separation
from prml4.numerics import special as normal
from prml4.referee import estimate
from prml4.studies import clutter, densities

SIX = np.array([-1.1, 0.4, 0.9, -0.3, 1.7, -0.6])
W_FOUR = np.array(
    [[0.3, -0.8, 0.5], [0.0, 1.1, -0.4], [-0.6, 0.2, 0.9], [0.5, 0.4, -0.7]]
)


def check_four():
    """The slope of 1/x from x - 2h, x - h, x + h and x + 2h."""

    def right(x, h):
        near = estimate.central_difference(np.reciprocal, x, h)
        far = estimate.central_difference(np.reciprocal, x, 2 * h)
        return (4 * near - far) / 3

    return {"right": right, "at": (0.7, 0.05)}


def check_second():
    """The second difference of ln at x."""

    def right(x, h):
        return estimate.second_difference(np.log, x, h)

    return {"right": right, "at": (2.0, 0.1)}


def separator_mirror():
    """Rows of X mirrored in the hyperplane w: two right angles to it."""

    def right(w, X):
        normal = w[1:] / np.linalg.norm(w[1:])
        turn = np.eye(len(normal)) - 2 * np.outer(normal, normal)
        return X @ turn - 2 * w[0] / np.linalg.norm(w[1:]) * normal

    rng = np.random.default_rng(1)
    return {
        "right": right,
        "at": [
            (np.array([1.0, 2.0, -2.0]), rng.normal(size=(4, 2))),
            (np.array([-0.3, 0.5, 1.0, 2.0]), rng.normal(size=(3, 3))),
        ],
    }


def separator_prior():
    """Posteriors P (N, K) where the classes have other shares."""

    def right(P, old, new):
        log = np.log(P) + np.log(new) - np.log(old)
        p = np.exp(log - log.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    rng = np.random.default_rng(2)
    two, three = rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(3), 4)
    return {
        "right": right,
        "at": [
            (two, np.array([0.5, 0.5]), np.array([0.9, 0.1])),
            (three, np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])),
        ],
    }


def separator_count():
    """How many labellings of N random points in D dimensions separate."""

    def right(N, D):
        points = np.random.default_rng(3).normal(size=(N, D))
        kinds = [
            separation.separation(data.with_bias(points), np.array(t)).kind
            for t in product([0.0, 1.0], repeat=N)
        ]
        return 1.0 * kinds.count("complete")

    return {"right": right, "at": [(3, 1), (4, 2), (5, 2)]}


def gaussian_pooled():
    """The covariance that classes share, from rows and their classes."""
    X, t = _wines()
    lda, n = gaussian.fit_lda(X, t), np.bincount(t)
    own = np.array([np.cov(X[t == k].T, ddof=0) for k in range(3)])
    wide = sum(np.cov(X[t == k].T) * n[k] / len(t) for k in range(3))
    return {
        "right": lambda X, t: gaussian.fit_lda(X, t).Sigma,
        "at": (X, t),
        "terms": {
            "own class mean": lda.Sigma - np.cov(X.T, ddof=0),
            "weighting by N_k": lda.Sigma - own.mean(axis=0),
            "ddof=0 (np.cov divides by N_k - 1)": lda.Sigma - wide,
            "bias (1/N, not 1/(N - K))": -3 / (len(t) - 3) * lda.Sigma,
        },
    }


def gaussian_posterior():
    """The discriminants of classes with covariances of their own."""
    X, t = _wines()
    m = gaussian.fit_qda(X, t)
    at = X[::20], m.pi, m.mu, m.Sigma
    terms = {
        "prior": np.log(m.pi),
        "determinant": -np.linalg.slogdet(m.Sigma)[1] / 2,
    }
    terms["distance"] = _discriminants(*at) - sum(terms.values())
    return {"right": _discriminants, "at": at, "terms": terms}


def gaussian_weights():
    """The weights of two classes with one covariance, bias first."""
    X, t = _wines()
    two = gaussian.fit_lda(X[t < 2], t[t < 2])
    w, bias = gaussian.sigmoid_weights(two), np.eye(5)[0]
    return {
        "right": lambda pi, mu, Sigma: gaussian.sigmoid_weights(
            gaussian.model(pi, mu, Sigma)
        ),
        "at": (two.pi, two.mu, two.Sigma),
        "terms": {
            "prior": np.log(two.pi[1] / two.pi[0]) * bias,
            "midpoint": -w[1:] @ two.mu.mean(axis=0) * bias,
            "order (bias first)": w - np.roll(w, -1),
        },
    }


def naive_bayes_fit():
    """Posterior means of the bits of two classes, pseudo-counts a and b."""
    X, t = _bits()

    def right(X, t, a, b):
        return naive_bayes.fit_bernoulli(X, t, pseudo_count=(a, b)).theta

    return {
        "right": right,
        "at": (X, t, 0.5, 1.7),
        "elsewhere": {
            "without pseudo-counts": (X, t, 0, 0),
            "with the pseudo-counts exchanged": (X, t, 1.7, 0.5),
            "with the first pseudo-count for both": (X, t, 0.5, 0.5),
        },
    }


def naive_bayes_offset():
    """The weights of two classes of bits, offset first."""
    theta_1, theta_0 = np.array([0.25, 0.7, 0.8]), np.array([0.6, 0.3, 0.45])

    def right(theta_1, theta_0, pi_1):
        model = naive_bayes.bernoulli([1 - pi_1, pi_1], [theta_0, theta_1])
        return naive_bayes.sigmoid_weights(model)

    w, first = right(theta_1, theta_0, 0.65), np.eye(4)[0]
    prior = np.log(0.65 / 0.35)
    return {
        "right": right,
        "at": (theta_1, theta_0, 0.65),
        "terms": {"prior": prior * first, "absence": (w[0] - prior) * first},
    }


def naive_bayes_discount():
    """The posterior with its evidence counted s times."""
    rng = np.random.default_rng(4)
    pi, a = np.array([0.2, 0.5, 0.3]), 9 * rng.normal(size=(5, 3)) - 40

    def right(log_joint, pi, s):
        return normal.softmax(np.log(pi) + s * (log_joint - np.log(pi)))

    return {"right": right, "at": [(a, pi, 0.3), (100 * a, pi, 0.9)]}


def exponential_family_covariance():
    """The covariance of (x, x^2) for x ~ N(mean, variance)."""
    bell = families.gaussian()
    return {
        "right": lambda m, v: bell.covariance(bell.natural(m, v)),
        "at": [(0.7, 1.69), (-2.0, 0.3), (1.0, 4.0)],
    }


def exponential_family_fit():
    """The natural parameter whose mean of u is the average of the data."""
    gamma, poisson = families.gamma(), families.poisson()
    growth = np.array([0.6, 2.2, 1.1, 1.9, 3.4, 0.9, 1.5, 2.8])
    return {
        "right": lambda f, x, eta: exponential_family.fit(f, x),
        "at": [
            (gamma, growth, gamma.natural(1.5, 0.8)),
            (poisson, data.horse_kicks().x, np.array([-0.4])),
        ],
    }


def exponential_family_weights():
    """The log odds of a Poisson class with rate r_1 against one with r_0."""

    def right(x, r_1, r_0, pi):
        counts = families.poisson()
        etas = [counts.natural(r) for r in (r_0, r_1)]
        W = exponential_family.class_weights(counts, etas, [1 - pi, pi])
        return np.diff(exponential_family.log_posterior(counts, x, W))[:, 0]

    return {
        "right": right,
        "at": [(np.arange(5.0), 6.0, 2.5, 0.3), (np.arange(3.0), 1.0, 4, 0.5)],
        "terms": {
            "prior": lambda x, a, b, pi: 0 * x + np.log(pi / (1 - pi)),
            "normaliser": lambda x, a, b, pi: 0 * x + b - a,
        },
    }


def least_squares_fisher():
    """S_W^{-1} (m_1 - m_0) of 90 irises."""
    iris = data.iris()
    X, t = iris.X[50:140], iris.t[50:140] - 1
    w = least_squares.fisher_direction(X, t)
    S_W, S_B = least_squares.scatter(X, t)
    gap = X[t == 1].mean(axis=0) - X[t == 0].mean(axis=0)
    return {
        "right": lambda X, t: least_squares.fisher_direction(X, t > 0.5),
        "at": (X, t),
        "terms": {
            "own class mean": w - np.linalg.solve(S_W + S_B, gap),
            "sum (not a mean)": w * (1 - len(t)),
        },
    }


def least_squares_loo():
    """Outputs for rows that were left out of a regression."""
    rng = np.random.default_rng(6)
    Phi = data.with_bias(rng.normal(size=(20, 2)))
    t = np.sign(Phi @ [0.2, 1.0, -0.5] + rng.normal(size=20))
    left = least_squares.leave_one_out(Phi, t)
    whole = Phi @ least_squares.regress(Phi, t).W
    return {
        "right": least_squares.leave_one_out,
        "at": (Phi, t),
        "terms": {"division by 1 - h_n": left - whole},
    }


def logistic_stable():
    """The cross-entropy of log odds a and targets t."""
    return {
        "right": lambda a, t: np.logaddexp(0, (1 - 2 * t) * a).sum(),
        "at": [
            (np.array([-1e8, -40.0, 800.0]), np.array([1.0, 0, 1])),
            (np.array([-40.0, -1, 0.5, 2, 40]), np.array([1.0, 1, 0, 1, 0])),
            (np.array([40.0]), np.array([1.0])),
        ],
    }


def irls_response():
    """The working response, also where probabilities have rounded to 0 or 1."""
    rng = np.random.default_rng(8)
    Phi = data.with_bias(rng.normal(size=(12, 2)))
    w = np.array([0.4, -0.9, 0.6])
    t = np.array([0.0, 1] * 6)
    return {
        "right": lambda w, Phi, t: irls.working_response(w, Phi, t)[0],
        "at": [(w, Phi, t), (50 * w, Phi, (Phi @ w > 0).astype(float))],
        "terms": {"activation": lambda w, Phi, t: Phi @ w},
    }


def irls_damped():
    """One Newton step, halved until the error falls by its fair share."""
    pair, opposed = np.ones((2, 1)), np.array([1.0, 0.0])

    def right(w, Phi, t):
        E, _ = logistic.problem(Phi, t, 0.0, None, None)
        now, g, H = E(w)
        return newton.search(E, w, now, *newton.newton_step(g, H))[0]

    starts = (1.0, 2.1772, 2.1774, 2.5, 6.0)
    return {
        "right": right,
        "at": [(np.array([w0]), pair, opposed) for w0 in starts],
    }


def softmax_blocks():
    """The Hessian of the softmax error as one matrix, class by class."""
    return {
        "right": lambda W, Phi: softmax.as_matrix(softmax.hessian(W, Phi)),
        "at": (W_FOUR, data.with_bias(np.column_stack([SIX, SIX[::-1] ** 2]))),
    }


def softmax_product():
    """The Hessian of the softmax error times U, with observation weights."""
    Phi = data.with_bias(np.column_stack([SIX, SIX[::-1] ** 2]))

    def right(W, Phi, U, weights):  # row by row
        rows = zip(weights, Phi[:, None], strict=True)
        return sum(c * softmax.hessian_vector(W, phi, U) for c, phi in rows)

    return {
        "right": right,
        "at": (W_FOUR, Phi, W_FOUR[::-1] ** 2, np.arange(1.0, 7)),
    }


def probit_tails():
    """The gradient of the probit error, at margins down to -1000."""
    tall = np.array([[1.0, 2.0], [1.0, -1000.0], [1.0, 30.0]])
    t = np.array([0.0, 1, 0])
    return {
        "right": probit.gradient,
        "at": [
            (np.array([0.1, 0.4]), data.with_bias(SIX), np.tile(t, 2)),
            (np.array([0.0, 1.0]), tall, t),
        ],
    }


def probit_coin():
    """Half the share of tosses; the root of the slope of what EM maximises."""

    def right(rho):
        tosses, honest = np.sum(1 - rho), np.sum(rho)
        return optimize.brentq(
            lambda e: (1 - 2 * e) * tosses - 2 * e * honest, -1, 1, xtol=1e-14
        )

    shares = np.array([0.9, 0.5, 1.0, 0.2])
    return {"right": right, "at": [(shares,), (np.linspace(0.3, 1, 7) ** 2,)]}


def glm_gradient():
    """s grad E of counts with exposure: offset o, row weights c."""

    def right(w, Phi, t, o, c):
        more = {"offset": o, "weights": c}
        return glm.gradient(w, Phi, t, dispersion.POISSON, **more)

    Phi = data.with_bias(np.column_stack([SIX, SIX[::-1] ** 2]))
    w, t = np.array([0.4, -0.3, 0.2]), np.array([0.0, 2, 1, 5, 3, 0])
    o, c = SIX[::-1] / 2, np.array([1.0, 2, 1, 3, 5, 4])
    return {
        "right": right,
        "at": [(w, Phi, t, o, c), (-w, Phi, t, -o, c[::-1])],
        "terms": {
            "offset": lambda w, Phi, t, o, c: (
                right(w, Phi, t, o, c) - right(w, Phi, t, 0.0, c)
            ),
            "row weights": lambda w, Phi, t, o, c: right(w, Phi, t, o, c - 1),
        },
    }


def glm_factor():
    """s dE/da and s d2E/da2 of a Gamma row with the identity link."""

    def right(a, t):
        _, slope, expected, rest = dispersion.row_terms(
            dispersion.GAMMA, dispersion.IDENTITY, a, t
        )
        return np.array([slope, expected + rest])

    return {"right": right, "at": [(1.3, 0.4), (0.7, 2.0)]}


def glm_irls():
    """One step of Fisher scoring for Gamma times with the log link."""
    Phi = data.with_bias(np.column_stack([SIX, SIX[::-1] ** 2]))
    w, t = np.array([0.4, -0.3, 0.2]), np.array([0.5, 2.2, 1.3, 4.1, 0.7, 2.9])
    return {
        "right": lambda w, Phi, t: glm.fisher_step(
            w, Phi, t, dispersion.GAMMA, dispersion.LOG
        ),
        "at": [(w, Phi, t), (-2 * w, Phi, t[::-1])],
        "elsewhere": {"the old weights": w},
    }


def comparison_parts():
    """(calibration, refinement) of forecasts in the bins b."""

    def right(y, t, b):
        found = comparison.binned(y, t, b)
        return np.array([found.calibration, found.refinement])

    rng = np.random.default_rng(12)
    y, z = np.linspace(0.05, 0.95, 40), rng.random(25)
    return {
        "right": right,
        "at": [
            (y, (np.arange(40) % 7 < 3).astype(float), (5 * y).astype(int)),
            (z, (rng.random(25) < z**2).astype(float), (3 * z).astype(int)),
        ],
    }


def comparison_prior():
    """The shares of the classes where rows of posteriors P come from."""

    def right(P, old):
        return comparison.estimate_prior(P, old, tol=1e-13)

    rng = np.random.default_rng(13)
    old = np.array([0.5, 0.3, 0.2])
    return {
        "right": right,
        "at": [
            (rng.dirichlet(np.ones(2), 30), np.array([0.5, 0.5])),
            (rng.dirichlet(10 * old, 40), old),
        ],
    }


def laplace_evidence():
    """ln Z_q from ln f at the mode and the precision A."""
    five = np.diag([1.0, 2.0, 3.0, 4.0, 5.0]) + 0.5
    log_det = np.linalg.slogdet
    return {
        "right": lambda top, A: (
            top + len(A) / 2 * np.log(2 * np.pi) - log_det(A)[1] / 2
        ),
        "at": [
            (-3.0, five),
            (0.7, np.array([[0.3]])),
            (1.0, 1e3 * np.eye(400)),
        ],
        "terms": {
            "M/2 ln 2 pi": lambda top, A: len(A) / 2 * np.log(2 * np.pi),
            "1/2 ln |A|": lambda top, A: log_det(A)[1] / 2,
            "other half of 1/2 ln |A|": lambda top, A: log_det(A)[1] / 4,
        },
    }


def laplace_cube():
    """gamma of N (ln z - z) in the coordinate z^s."""
    return {
        "right": lambda s, N: abs(s) * (3 - 1 / s) / np.sqrt(N),
        "at": [(1.0, 4.0), (0.5, 9.0), (-0.25, 25.0)],
    }


def laplace_ratio():
    """The mean of a chance, k of n, from two of Laplace's normalisers."""

    def log_Z_q(k, n):
        top = densities.share(k / n, k, n)
        return laplace.at_mode(k / n, top, n**3 / (k * (n - k))).log_evidence

    return {
        "right": lambda k, n: np.exp(log_Z_q(k + 1, n + 1) - log_Z_q(k, n)),
        "at": [(1.0, 10.0), (30.0, 40.0)],
    }


def evidence_probabilities():
    """p(M_i|D) from log evidences that are far down, or far apart."""
    deep, tilt = np.array([-10000.0, -10001.5, -10007.0]), [0.2, 0.3, 0.5]
    return {
        "right": evidence.model_probabilities,
        "at": [
            (deep, np.array(tilt)),
            (np.zeros(2), np.array([0.6, 0.4])),
            (np.array([-10000.0, 0.0, -1.0]), np.array(tilt)),
        ],
    }


def evidence_rank():
    """BIC that charges for directions, in whatever units columns come."""
    x = np.column_stack([np.ones(6), SIX])
    designs = [
        x,
        1e-14 * x[:, [0, 1, 1]],
        np.column_stack([x, x @ [1.0, -2.0], 1e6 * SIX]),
        x * [1, 1e17],
        np.column_stack([x, SIX + 1e-10 * SIX**2]),
    ]

    def right(log_likelihood, Phi):
        rank = np.linalg.matrix_rank(Phi / abs(Phi).max(axis=0))
        return evidence.bic(log_likelihood, rank, len(Phi))

    return {"right": right, "at": [(-40.0, Phi) for Phi in designs]}


def bayes_logistic_width():
    """phi^T P^{-1} phi, the variance of an activation."""
    rng, cases = np.random.default_rng(4), []
    for M in (2, 4):
        A = rng.normal(size=(M + 3, M))
        cases.append((rng.normal(size=M), A.T @ A))
    return {
        "right": lambda phi, P: phi @ np.linalg.inv(P) @ phi,
        "at": cases,
    }


def bayes_logistic_slope():
    """The largest |sigma(a) - Phi(lam a)| over 0 <= a <= 10."""

    def right(lam):
        a = np.arange(0, 10.005, 0.01)
        return np.abs(normal.sigmoid(a) - normal.normal_cdf(lam * a)).max()

    return {"right": right, "at": [(0.6,), (0.5,), (0.7,)]}


def bayes_logistic_moving():
    """d ln p(t|alpha) / d alpha, and what its terms are."""
    three = np.array([0.6, -1.2, 0.3])
    S = np.array([[0.5, 0.1], [0.1, 0.3]])
    return {
        "right": lambda alpha, d, S, u: (
            0.5 * (len(d) / alpha - d @ d - np.trace(S) + d @ S @ u)
        ),
        "at": [
            (0.7, np.array([-0.2, 1.3]), S, np.array([0.4, -1.1])),
            (1.6, three, 0.4 * np.eye(3) + 0.1, three[::-1]),
        ],
        "terms": {
            "moving mode": lambda alpha, d, S, u: 0.5 * d @ S @ u,
            "trace": lambda alpha, d, S, u: -0.5 * np.trace(S),
            "first": lambda alpha, d, S, u: 0.5 * len(d) / alpha,
        },
    }


def gaussian_process_predict():
    """Mean and variance of the function at one new point."""

    def right(C, t, c, c_ss, noise):
        fit = gaussian_process.condition(C, t, noise=noise)
        return np.ravel(gaussian_process.predict_latent(fit, c[:, None], c_ss))

    k = kernels.matern(1.5)
    C, c = k([0.0], SIX), k([0.0], SIX, [0.3])[:, 0]
    return {
        "right": right,
        "at": [(C, SIX**2, c, 1.0, 0.2), (2 * C, -SIX, c, 2.0, 1.5)],
        "terms": {"noise": lambda C, t, c, c_ss, noise: np.array([0, noise])},
    }


def gaussian_process_loo():
    """Each target from all the others: means and variances, (N, 2)."""

    def right(C_t, t):
        rest = [np.delete(np.arange(len(t)), n) for n in range(len(t))]
        fits = [gaussian_process.condition(C_t[np.ix_(o, o)], t[o])
                for o in rest]  # fmt: skip
        return np.array(
            [
                np.ravel(gaussian_process.predict_latent(f, C_t[o, n : n + 1],
                                                         C_t[n, n]))
                for n, (f, o) in enumerate(zip(fits, rest, strict=True))
            ]
        )  # fmt: skip

    C = kernels.matern(1.5)([0.0], SIX)
    return {
        "right": right,
        "at": [(C + 0.1 * np.eye(6), SIX), (C + np.eye(6), SIX**2)],
    }


def gaussian_process_markov():
    """Covariance of the first and third of three values, given the second."""
    return {
        "right": lambda C: C[0, 2] - C[0, 1] * C[1, 2] / C[1, 1],
        "at": [
            (3 * kernels.matern(1.5)([0.0], SIX[:3]),),
            (kernels.squared_exponential()([0.0], SIX[1:4]),),
        ],
    }


def gaussian_process_slopes():
    """cov{f(x), f'(z)} of the squared exponential, by differences."""

    def right(ell, x, z, h=1e-5):
        k = kernels.squared_exponential()
        ends = [k([np.log(ell)], x, z + step) for step in (h, -h)]
        return (ends[0] - ends[1]) / (2 * h)

    return {
        "right": right,
        "at": [(0.8, SIX, SIX[:4] + 0.3), (2.0, SIX[::-1], SIX)],
    }


def gp_laplace_step():
    """The new dual vector of Newton's step, by a solve with I + W C."""
    C = 3 * np.exp(-((SIX[:, None] - SIX) ** 2) / 2)
    W = np.array([0.25, 0.1, 0.2, 0.05, 0.15, 0.22])
    g = np.array([0.5, -0.3, 0.1, 0.7, -0.6, 0.2])

    def right(C, W, f, g):
        return np.linalg.solve(np.eye(len(W)) + W[:, None] * C, W * f + g)

    return {
        "right": right,
        "at": [(C, W, np.zeros(6), g), (C, W, SIX**2, -g)],
        "terms": {"slope": lambda C, W, f, g: right(C, W, 0 * f, g)},
    }


def gp_laplace_variance():
    """c_ss - c^T (C + W^{-1})^{-1} c for each new input."""
    k = kernels.matern(1.5)
    C, c = k([0.0], SIX), k([0.0], SIX, [0.3, 2.0])
    W = np.array([0.25, 0.1, 0.2, 0.05, 0.15, 0.22])

    def right(C, W, c, cc):
        shares = np.linalg.solve(C + np.diag(1 / W), c)
        return cc - np.sum(c * shares, axis=0)

    return {
        "right": right,
        "at": [(4 * C, W, 4 * c, np.full(2, 4.0)), (C, 2 * W, c, np.ones(2))],
    }


def gp_laplace_amplitude():
    """f^T b / 2 - (N - tr B^{-1}) / 2."""

    def right(f, b, B):
        return f @ b / 2 - (len(f) - np.sum(1 / np.linalg.eigvalsh(B))) / 2

    B = np.eye(6) + np.exp(-((SIX[:, None] - SIX) ** 2)) / 3
    return {
        "right": right,
        "at": [(SIX, SIX[::-1], B), (SIX**2, SIX, 2 * B)],
        "terms": {"quadratic": lambda f, b, B: f @ b / 2},
    }


def gp_laplace_cloglog():
    """ln p(t | f) and two derivatives where p(1 | f) = 1 - exp(-e^f)."""
    return {
        "right": lambda f, t: np.array(likelihoods.CLOGLOG.log_p(f, t, 2)),
        "at": [(np.array([-1.0, 0.5, 1.2]), np.array([1.0, 0.0, 1.0]))],
    }


def ep_site():
    """tau = 1/v_t - 1/v_c, nu = m_t/v_t - m_c/v_c, as an array."""
    return {
        "right": lambda m_c, v_c, m_t, v_t: np.array(
            ep.site(m_c, v_c, (m_t - m_c) / v_c, (v_t - v_c) / v_c**2)
        ),
        "at": [(0.3, 2.0, 0.9, 1.1), (-1.0, 0.5, -1.3, 0.8)],
    }


def ep_flip():
    """ln Z, d1, d2 of 0.1 + 0.8 Phi(s a), by sums over f, f' and f''."""
    x = np.linspace(-12, 12, 4001)

    def steps(mu, s2, t):
        a, s = mu + np.sqrt(s2) * x, 2 * t - 1
        f, slope = 0.1 + 0.8 * normal.normal_cdf(s * a), normal.normal_pdf(a)
        terms = np.array([f, 0.8 * s * slope, -0.8 * s * a * slope])
        Z, Z1, Z2 = 0.006 * terms @ normal.normal_pdf(x)
        return np.array([np.log(Z), Z1 / Z, Z2 / Z - (Z1 / Z) ** 2])

    return {
        "right": steps,
        "at": [(0.4, 1.3, 1.0), (-2.1, 0.6, 1.0), (0.8, 2.0, 0.0)],
    }


def ep_parallel():
    """All sites of points on a line moved at once, by a visit to each."""
    world = clutter.World()
    X = clutter.draw(np.random.default_rng(7), 20, 2.0, world)

    def site_by_site(z, delta, X, world):
        N = len(X)
        sites = z[:N], z[N:, None]
        moved = [
            clutter.update(n, *sites, X, world, delta)[:2] for n in range(N)
        ]
        parts = [(tau[n], nu[n, 0]) for n, (tau, nu) in enumerate(moved)]
        return np.concatenate(np.transpose(parts))

    start = np.r_[np.linspace(0.1, 0.6, 20), np.linspace(-1, 1, 20)]
    return {
        "right": site_by_site,
        "at": [(np.zeros(40), 1.0, X, world), (start, 0.5, X, world)],
    }


def gp_ep_site():
    """tau = 1/v_t - 1/v_c, nu = m_t/v_t - m_c/v_c from slopes, as an array."""

    def by_division(m_c, v_c, d1, d2):
        m_t, v_t = m_c + v_c * d1, v_c + v_c**2 * d2
        return np.array([1 / v_t - 1 / v_c, m_t / v_t - m_c / v_c])

    return {
        "right": by_division,
        "at": [(0.4, 2.0, 0.5, -0.3), (-1.2, 0.7, 0.9, 0.2)],
    }


def gp_ep_variances():
    """Cavity variances of all latent values, from sites of the others."""

    def one_by_one(C, tau):
        s2 = []
        for n in range(len(C)):
            others = np.where(np.arange(len(C)) == n, 0.0, tau)
            Sigma = np.linalg.solve(np.eye(len(C)) + C * others, C)
            s2.append(Sigma[n, n])
        return np.array(s2)

    C = 2 * np.exp(-((SIX[:, None] - SIX) ** 2) / 2)
    tau = np.array([0.3, 1.2, 0.1, 2.0, 0.7, 0.4])
    Sigma = np.linalg.solve(np.eye(6) + C * tau, C)
    return {
        "right": one_by_one,
        "at": (C, tau),
        "terms": {"own site taken out": one_by_one(C, tau) - np.diag(Sigma)},
    }


def gp_ep_variance():
    """tr(G C) = d ln Z_EP / d ln v with the sites held fast."""
    C = 2 * np.exp(-((SIX[:, None] - SIX) ** 2) / 2)
    tau = np.array([0.3, 1.2, 0.1, 2.0, 0.7, 0.4])
    nu = np.array([0.5, -0.8, 0.2, 1.1, -0.4, 0.3])

    def right(C, tau, nu):
        q = gp_ep.posterior(C, tau, nu)
        G = (np.outer(q.dual, q.dual) - q.root.T @ q.root) / 2
        return np.sum(G * C)

    Sigma = np.linalg.solve(np.eye(6) + C * tau, C)
    return {
        "right": right,
        "at": (C, tau, nu),
        "terms": {"tr(R C)": tau @ np.diag(Sigma) / 2},
    }


def _discriminants(X, pi, mu, Sigma):
    """a_k(x_n), without the 2 pi that cancels; (N, K)."""
    joint = gaussian.log_joint(gaussian.model(pi, mu, Sigma), X)
    return joint + X.shape[1] / 2 * np.log(2 * np.pi)


def _bits():
    """Ten rows of three bits, in classes of four and six."""
    X = [(1, 0, 1), (1, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 1)]
    X += [(0, 1, 1), (1, 1, 1), (0, 0, 1), (0, 1, 0), (0, 1, 1)]
    return np.array(X, float), np.repeat([0, 1], [4, 6])


def _wines():
    """The first four measures of the wines, and their classes."""
    wines = data.wine()
    return wines.X[:, :4], wines.t.astype(int)
