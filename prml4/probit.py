"""Probit regression, noisy thresholds and wrong labels, PRML 4.3.5.

Phi      (N, M)  design matrix (bold in the book; upright Phi(a) is a cdf)
t        (N,)    targets in {0, 1}; s = 2t - 1 where -1 and 1 are handier
w        (M,)    weights of the activation a = Phi w
f_t(a)           f(a) for t = 1, 1 - f(a) for t = 0
epsilon          chance in [0, 1/2) that a label was flipped after it was made
weights  (N,)    how often each observation counts, None for once
alpha    (M,)    prior precisions (one number serves all; 0 = no prior)
theta            a threshold; in `joint` functions (w, epsilon) together

An activation is a function (a, t) -> ln f_t(a) and its first two derivatives
by a: `normal`, `logistic` and `cloglog` are three.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from prml4 import newton, validate
from prml4.dispersion import BERNOULLI, CLOGLOG
from prml4.logistic import complain, second_look
from prml4.special import (
    log_normal_cdf,
    log_sigmoid,
    log_sigmoid_prime,
    log_sigmoid_second,
    mills,
    mills_prime,
    normal_cdf,
    normal_pdf,
    sigmoid,
)

MOVES = 1e-3  # a step that moves some a_n by more is not the last one
STEPS = 500  # Fisher scoring converges linearly where labels may be wrong
START = 0.05  # a first guess at epsilon


# Noisy thresholds.


def threshold_targets(a, theta):
    """t_n = 1 if a_n >= theta_n, 0 otherwise, PRML (4.112)."""
    return (np.asarray(a) >= theta).astype(float)


def mixture_pdf(theta, pi, mu, sigma):
    """p(theta) = sum_k pi_k N(theta | mu_k, sigma_k^2), PRML figure 4.13."""
    z = (np.asarray(theta)[..., None] - mu) / sigma
    return normal_pdf(z) @ (np.asarray(pi) / sigma)


def mixture_cdf(a, pi, mu, sigma):
    """f(a) = sum_k pi_k Phi((a - mu_k) / sigma_k), PRML (4.113)."""
    return normal_cdf((np.asarray(a)[..., None] - mu) / sigma) @ np.asarray(pi)


def draw_mixture(rng, N, pi, mu, sigma):
    """theta_n ~ N(mu_k, sigma_k^2), k ~ pi: (N,) draws of a threshold."""
    k = rng.choice(len(pi), size=N, p=pi)
    return rng.normal(np.asarray(mu)[k], np.asarray(sigma)[k])


# Activations.


def normal(a, t):
    """ln Phi(m), s r(m), -r(m) (r(m) + m) with m = s a, PRML (4.114)."""
    s = 2.0 * np.asarray(t) - 1.0
    m = s * a
    return log_normal_cdf(m), s * mills(m), mills_prime(m)


def logistic(a, t):
    """ln sigma(m), s sigma(-m), -sigma'(m) with m = s a, PRML (4.59)."""
    s = 2.0 * np.asarray(t) - 1.0
    m = s * a
    return log_sigmoid(m), s * log_sigmoid_prime(m), log_sigmoid_second(m)


def cloglog(a, t):
    """f(a) = 1 - exp(-e^a): ln f_t and its derivatives, Fisher (1922)."""
    up, down = CLOGLOG.tails(np.asarray(a, dtype=float))
    return tuple(map(partial(np.where, t), up, down))


# The error of a row, with labels that may be wrong.


def log_loss(a, t, activation=normal, epsilon=0.0):
    """E_n = -ln{epsilon + (1 - 2 epsilon) f_t(a)}, E_n', E_n'', PRML (4.117).

    E_n' = -rho d, E_n'' = -rho (d' + (1 - rho) d^2) with d = (ln f_t)'.
    """
    L, d, slope = activation(a, t)
    if epsilon == 0:
        return -L, -d, -slope
    rho, rest = _shares(L, epsilon)
    E = -np.logaddexp(np.log(epsilon), np.log1p(-2 * epsilon) + L)
    return E, -rho * d, -rho * (slope + rest * d**2)


def honesty(a, t, activation=normal, epsilon=0.0):
    """rho_n = (1 - 2 epsilon) f_t / {epsilon + (1 - 2 epsilon) f_t}.

    The chance, given t, that the label came from f and not from a fair coin.
    """
    L, _, _ = activation(a, t)
    return _shares(L, epsilon)[0] if epsilon > 0 else np.ones_like(L)


def _shares(L, epsilon):
    """rho = sigma(u) and 1 - rho, u = ln{(1 - 2 epsilon) f_t / epsilon}."""
    u = np.log1p(-2 * epsilon) - np.log(epsilon) + L
    return sigmoid(u), sigmoid(-u)


def expected_curvature(a, activation=normal, epsilon=0.0):
    """p'^2 / {p (1 - p)}, p = epsilon + (1 - 2 epsilon) f(a), Fisher (1935)."""
    _, up, _ = log_loss(a, 1, activation, epsilon)
    _, down, _ = log_loss(a, 0, activation, epsilon)
    return -up * down


# The error of all rows.


def predict_proba(Phi, w, activation=normal, epsilon=0.0):
    """p(t_n = 1) = epsilon + (1 - 2 epsilon) f(a_n), PRML (4.117)."""
    E, _, _ = log_loss(np.asarray(Phi) @ w, 1, activation, epsilon)
    return np.exp(-E)


def error(w, Phi, t, activation=normal, epsilon=0.0, weights=None):
    """E(w) = -sum_n ln{epsilon + (1 - 2 epsilon) f_t(a_n)}, PRML (4.90)."""
    E, _, _ = log_loss(np.asarray(Phi) @ w, np.asarray(t), activation, epsilon)
    return float(np.sum(E if weights is None else weights * E))


def gradient(w, Phi, t, activation=normal, epsilon=0.0, weights=None):
    """grad E = -sum_n rho_n d_n phi_n; for probit -sum_n s_n r_n phi_n."""
    _, d, _ = log_loss(np.asarray(Phi) @ w, np.asarray(t), activation, epsilon)
    return (d if weights is None else weights * d) @ Phi


def hessian(w, Phi, t, activation=normal, epsilon=0.0, weights=None):
    """H = sum_n E_n'' phi_n phi_n^T; for probit E_n'' = r_n (r_n + m_n)."""
    _, _, h = log_loss(np.asarray(Phi) @ w, np.asarray(t), activation, epsilon)
    return _gram(Phi, h, weights)


def information(w, Phi, activation=normal, epsilon=0.0, weights=None):
    """F = sum_n p_n'^2 / {p_n (1 - p_n)} phi_n phi_n^T = E[H], Fisher (1935).

    For probit the factor is r(a) r(-a).
    """
    h = expected_curvature(np.asarray(Phi) @ w, activation, epsilon)
    return _gram(Phi, h, weights)


def _gram(Phi, h, weights):
    """sum_n c_n h_n phi_n phi_n^T, for h_n of any sign."""
    h = h if weights is None else weights * h
    return np.asarray(Phi).T @ (h[:, None] * Phi)


# Weights and label noise together, theta = (w, epsilon).


def joint_gradient(theta, Phi, t, activation=normal, weights=None):
    """dE/dw as `gradient`, dE/d(epsilon) = sum_n (2 f_t - 1) / p_t."""
    w, epsilon = theta[:-1], theta[-1]
    a, t = np.asarray(Phi) @ w, np.asarray(t)
    E, d, _ = log_loss(a, t, activation, epsilon)
    c = np.ones(len(a)) if weights is None else weights
    with np.errstate(over="ignore"):  # an outlier's slope at epsilon = 0
        odds = np.exp(np.where(c > 0, E, 0))
    slope = (2 * np.exp(activation(a, t)[0]) - 1) * odds
    return np.append((c * d) @ Phi, c @ slope)


def joint_information(theta, Phi, activation=normal, weights=None):
    """sum_n u_n u_n^T / {p_n (1 - p_n)}, u_n = grad p_n = (p' phi, 1 - 2 f)."""
    w, epsilon = theta[:-1], theta[-1]
    a = np.asarray(Phi) @ w
    f = np.exp(activation(a, 1)[0])
    up, down = (log_loss(a, t, activation, epsilon) for t in (1, 0))
    root = np.exp((up[0] + down[0]) / 2)  # 1 / sqrt{p (1 - p)}
    slope = np.sqrt(-up[1] * down[1])
    U = np.column_stack([slope[:, None] * Phi, root * (1 - 2 * f)])
    return _gram(U, np.ones(len(a)), weights)


# Fits.


@dataclass(frozen=True, eq=False)
class ProbitFit:
    """The minimiser of the error, and whether to trust it."""

    w: np.ndarray  # (M,) weights
    epsilon: float  # chance of a wrong label, given or estimated
    error: float  # E(w), with the prior's term if there is a prior
    gradient: np.ndarray  # (M,) its gradient at w
    H: np.ndarray  # (M, M) observed Hessian at w, with the prior's
    information: np.ndarray  # its mean; a fitted epsilon > 0 comes last
    converged: bool
    separated: str | None  # "complete", "quasi-complete": why there is no end
    trace: tuple[float, ...]  # E at the accepted iterates
    activation: Callable


def fit(
    Phi,
    t,
    *,
    activation=normal,
    epsilon=0.0,
    alpha=0.0,
    m0=None,
    weights=None,
    scoring=False,
):
    """w = argmin E(w) + 1/2 (w - m0)^T A (w - m0), PRML (4.90), (4.117).

    Newton's method from m0; Fisher scoring, E[H] in the place of H, if asked
    for, and wherever H is not positive definite. With epsilon > 0 that occurs:
    E is not convex, and another m0 may lead to another valley.
    """
    objective, t = _problem(Phi, t, alpha, m0, weights)
    epsilon = validate.flip_probability(epsilon)
    result = _descent(objective, t, activation, epsilon, scoring)
    complain(result, result.separated, stuck=_stuck(epsilon))
    return result


def fit_noise(Phi, t, *, activation=normal, alpha=0.0, m0=None, weights=None):
    """(w, epsilon) = argmin -sum_n ln p(t_n), 0 <= epsilon < 1/2, PRML 4.3.5.

    Where the slope by epsilon at 0 and its own w is not negative, 0 is it;
    else Fisher scoring on both from epsilon = 0.05, to the nearest valley.
    """
    objective, t = _problem(Phi, t, alpha, m0, weights)
    fit = _descent(objective, t, activation, 0.0)
    at = np.append(fit.w, 0.0), objective.Phi, t, activation, objective.weights
    if not fit.separated and joint_gradient(*at)[-1] < 0:
        start = np.append(_descent(objective, t, activation, START).w, START)
        joint = _joint(objective, t, activation)
        best = newton.iterate(joint, start, max_iter=STEPS)
        w, g, epsilon = best.w[:-1], best.gradient[:-1], float(best.w[-1])
        both = replace(best, w=w, gradient=g)
        fit = _result(both, None, objective, t, activation, epsilon)
        fit = replace(fit, information=best.H)
    complain(fit, fit.separated, stuck=_stuck(fit.epsilon))
    return fit


def _problem(Phi, t, alpha, m0, weights):
    """A validated objective that lacks its likelihood, and the targets."""
    Phi, t, weights = validate.two_classes(Phi, t, weights)
    M = Phi.shape[1]
    alpha = validate.precisions(alpha, M)
    m0 = validate.vector_or_zeros("m0", m0, M, "column")
    if not alpha.all():
        validate.both_classes(t, weights)
    return newton.Objective(Phi, None, weights, alpha, m0), t


def _pointwise(t, activation, epsilon, scoring):
    """(a, rows) -> E_n, E_n' and E_n'' or its expectation, for row_pass."""

    def terms(a, rows):
        E, d, h = log_loss(a, t[rows], activation, epsilon)
        if scoring:
            h = expected_curvature(a, activation, epsilon)
        return E, d, h

    return terms


def _joint(objective, t, activation):
    """theta -> E, its gradient, its expected Hessian, the prior's included."""
    Phi, c = objective.Phi, objective.weights
    alpha = np.append(objective.alpha, 0.0)
    m0 = np.append(objective.m0, 0.0)

    def at(theta):
        if not 0 <= theta[-1] < 0.5:
            return np.inf, theta, None
        d = theta - m0
        E = error(theta[:-1], Phi, t, activation, theta[-1], c)
        g = joint_gradient(theta, Phi, t, activation, c)
        F = joint_information(theta, Phi, activation, c)
        return E + alpha @ d**2 / 2, g + alpha * d, F + np.diag(alpha)

    return at


def _descent(objective, t, activation, epsilon, scoring=False):
    """The fit for a given epsilon, without a warning."""
    terms = _pointwise(t, activation, epsilon, scoring or epsilon > 0)
    objective = replace(objective, pointwise=terms)
    if epsilon == 0 and not scoring:
        best = newton.descend(objective)
    else:
        guard = objective
        if not scoring:
            guard = _guarded(objective, t, activation, epsilon)
        best = newton.iterate(guard, objective.m0, max_iter=STEPS)
    best, separated = _judged(best, objective, t)
    return _result(best, separated, objective, t, activation, epsilon)


def _guarded(objective, t, activation, epsilon):
    """w -> E, g, and H where it is positive definite, E[H] elsewhere."""
    Phi, c, A = objective.Phi, objective.weights, np.diag(objective.alpha)

    def at(w):
        E, g, F = objective(w)
        H = hessian(w, Phi, t, activation, epsilon, c) + A
        safe = newton.smallest_share(H) > newton.DEPENDENT
        return E, g, H if safe else F

    return at


def _judged(best, objective, t):
    """Is it the minimum? If some a_n still wants to move, why?"""
    share = newton.smallest_share
    _, g, H = objective(best.w)
    if best.converged and share(H) > newton.DEPENDENT:
        step, _ = newton.newton_step(g, H)
        if newton.farthest_move(objective, step) < MOVES:
            return best, None
    return second_look(best, objective, t)


def _result(best, separated, objective, t, activation, epsilon):
    """What `fit` hands back."""
    Phi, c, A = objective.Phi, objective.weights, np.diag(objective.alpha)
    return ProbitFit(
        w=best.w,
        epsilon=epsilon,
        error=best.error,
        gradient=best.gradient,
        H=hessian(best.w, Phi, t, activation, epsilon, c) + A,
        information=information(best.w, Phi, activation, epsilon, c) + A,
        converged=best.converged,
        separated=separated,
        trace=best.trace,
        activation=activation,
    )


def _stuck(epsilon):
    """What may be the matter if there is no end."""
    return ": too few" + " or E has no minimum at finite w" * (epsilon > 0)


def standard_errors(fit, *, expected=True):
    """Square roots of the diagonal of F^{-1}, or H^{-1}: (M,) or (M + 1,)."""
    H = fit.information if expected else fit.H
    return np.sqrt(np.diag(cho_solve(cho_factor(H), np.eye(len(H)))))


def influence(fit, phi, t):
    """dw/dc = -H^{-1} grad E_new, c = 0 the weight of a new row (phi, t)."""
    _, d, _ = log_loss(phi @ fit.w, t, fit.activation, fit.epsilon)
    return -d * cho_solve(cho_factor(fit.H), phi)


# Groups: k_j successes among n_j trials with the same phi_j.


def grouped(Phi, k, n):
    """Rows (phi_j, t): weight = k_j for t = 1, n_j - k_j for t = 0."""
    Phi = validate.design(Phi)
    J = len(Phi)
    k = validate.vector("k", k, J, "group")
    n = validate.vector("n", n, J, "group")
    if np.any(k < 0) or np.any(k > n) or np.any(n <= 0):
        raise ValueError(
            "k must lie between 0 and n > 0 in every group; "
            f"got k = {k} and n = {n}"
        )
    t = np.repeat([1.0, 0.0], J)
    return np.vstack([Phi, Phi]), t, np.concatenate([k, n - k])


def deviance(k, n, y):
    """2 sum_j k ln(k / n y) + (n - k) ln((n - k) / n (1 - y)), all summed.

    Twice the error less that of the frequencies y_j = k_j / n_j.
    """
    n = np.asarray(n)
    return 2 * float(n @ BERNOULLI.half_deviance(k / n, np.asarray(y)))
