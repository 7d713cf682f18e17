"""Probit regression, noisy thresholds and wrong labels, PRML 4.3.5.

Phi      (N, M)  design matrix (bold in the book; upright Phi(a) is a cdf)
t        (N,)    targets in {0, 1}; s = 2t - 1 where -1 and 1 are handier
w        (M,)    weights of the activation a = Phi w
f_t(a)           f(a) for t = 1, 1 - f(a) for t = 0
epsilon          chance in [0, 1/2) that a label was flipped after it was made
weights  (N,)    how often each observation counts, None for once
alpha    (M,)    prior precisions (one number serves all; 0 = no prior)
theta            a threshold; in `joint` functions (w, epsilon) together

A likelihood is PROBIT, LOGISTIC, CLOGLOG of `likelihoods`, or `flipped` of one
with an epsilon.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from prml4 import logistic
from prml4.models.dispersion import BERNOULLI
from prml4.models.likelihoods import PROBIT, Likelihood, flipped
from prml4.numerics import descent, newton, validate
from prml4.numerics.separation import between, complain, settled, verdict
from prml4.numerics.special import normal_cdf, normal_pdf

MOVES = 1e-3  # a step that moves some a_n by more is not the last one
MOST = 500  # steps: Fisher scoring converges linearly where labels are wrong
GUESSES = 0.05, 0.2  # at epsilon, to start from
TURNED = 6  # columns, to start with the sign of one of them changed


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
    validate.fitted(rng, np.random.Generator, name="rng")
    k = rng.choice(len(pi), size=N, p=pi)
    return rng.normal(np.asarray(mu)[k], np.asarray(sigma)[k])


# The error of all rows.


def honesty(a, t, likelihood):
    """rho_n = (1 - 2 epsilon) f_t / p_t = 1 - epsilon / p_t at a_n.

    The chance, given t, that the label came from f and not from a fair coin;
    p_t = epsilon + (1 - 2 epsilon) f_t is the likelihood with flipped labels.
    """
    L, *_ = likelihood.log_p(a, t, 0)
    return 1 - likelihood.epsilon * np.exp(np.minimum(-L, 700))


def predict_proba(fit, Phi):
    """p(t_n|a_n) for t = 0 and 1, PRML (4.114), (4.117): (N, 2)."""
    if hasattr(fit, "w"):
        validate.fitted(fit, ProbitFit)
    w, Phi = validate.prediction(fit, Phi)
    return getattr(fit, "likelihood", PROBIT).probabilities(Phi @ w)


def predict(fit, Phi):
    """argmax_k p(C_k|x_n), the class of greater probability, 0 or 1: (N,)."""
    return predict_proba(fit, Phi).argmax(axis=1)


def error(w, Phi, t, likelihood=PROBIT, weights=None):
    """E(w) = -sum_n ln p(t_n|a_n), PRML (4.90), a_n = w^T phi_n."""
    t = validate.binary_targets(t, len(Phi))
    (L,) = likelihood.log_p(validate.activations(w, Phi), t, 0)
    return -float(np.sum(_counted(L, weights)))


def gradient(w, Phi, t, likelihood=PROBIT, weights=None):
    """grad E = -sum_n (ln p)' phi_n; for probit -sum_n s_n r_n phi_n."""
    t = validate.binary_targets(t, len(Phi))
    _, d = likelihood.log_p(validate.activations(w, Phi), t, 1)
    return -_counted(d, weights) @ Phi


def hessian(w, Phi, t, likelihood=PROBIT, weights=None):
    """H = -sum_n (ln p)'' phi_n phi_n^T; for probit r_n (r_n + m_n)."""
    t = validate.binary_targets(t, len(Phi))
    _, _, bend = likelihood.log_p(validate.activations(w, Phi), t, 2)
    return _gram(Phi, -bend, weights)


def information(w, Phi, likelihood=PROBIT, weights=None):
    """F = sum_n p_n'^2 / {p_n (1 - p_n)} phi_n phi_n^T = E[H], Fisher (1935).

    For probit the factor is r(a) r(-a).
    """
    h = likelihood.expected_curvature(validate.activations(w, Phi))
    return _gram(Phi, h, weights)


def _gram(Phi, h, weights):
    """sum_n c_n h_n phi_n phi_n^T, for h_n of any sign."""
    return np.asarray(Phi).T @ (_counted(h, weights)[:, None] * Phi)


def _counted(terms, weights):
    """The rows' terms, c_n times each, once without weights."""
    if weights is None:
        return terms
    return validate.vector("weights", weights, len(terms), "row") * terms


# Weights and label noise together, theta = (w, epsilon).


def joint_gradient(theta, Phi, t, likelihood=PROBIT, weights=None):
    """dE/dw as `gradient`, dE/d(epsilon) = sum_n (2 f_t - 1) / p_t."""
    noisy, a = flipped(likelihood, theta[-1]), np.asarray(Phi) @ theta[:-1]
    t = validate.binary_targets(t, len(a))
    c = _counted(np.ones(len(a)), weights)
    L, d = noisy.log_p(a, t, 1)
    with np.errstate(over="ignore"):  # an outlier's slope at epsilon = 0
        odds = np.exp(np.where(c > 0, -L, 0))
    slope = (2 * np.exp(likelihood.log_p(a, t, 0)[0]) - 1) * odds
    return np.append(-(c * d) @ Phi, c @ slope)


def joint_information(theta, Phi, likelihood=PROBIT, weights=None):
    """sum_n u_n u_n^T / {p_n (1 - p_n)}, u_n = grad p_n = (p' phi, 1 - 2 f)."""
    noisy, a = flipped(likelihood, theta[-1]), np.asarray(Phi) @ theta[:-1]
    f = likelihood.probabilities(a)[:, 1]
    # at epsilon = 0 a sure row would tell all about epsilon
    size = np.sqrt(noisy.probabilities(a).prod(axis=1)).clip(1e-100)
    slope = np.sqrt(noisy.expected_curvature(a))  # p' / sqrt{p (1 - p)}
    U = np.column_stack([slope[:, None] * Phi, (1 - 2 * f) / size])
    return _gram(U, np.ones(len(a)), weights)


def joint_hessian(theta, Phi, t, likelihood=PROBIT, weights=None):
    """H of both: d2E/dw d(epsilon) = sum_n f_t' phi_n / p_t^2, and
    d2E/d(epsilon)^2 = sum_n {(1 - 2 f_t) / p_t}^2."""
    epsilon, a = theta[-1], np.asarray(Phi) @ theta[:-1]
    noisy, c = flipped(likelihood, epsilon), _counted(np.ones(len(a)), weights)
    L, d = noisy.log_p(a, t, 1)
    odds = np.exp(np.minimum(-L, 300))  # an outlier's, at epsilon = 0
    mixed = (c * d * odds / (1 - 2 * epsilon)) @ Phi
    bend = np.sum(
        c * ((1 - 2 * np.exp(likelihood.log_p(a, t, 0)[0])) * odds) ** 2
    )
    H = hessian(theta[:-1], Phi, t, noisy, weights)
    return np.block([[H, mixed[:, None]], [mixed, bend]])


# Fits.


@dataclass(frozen=True, eq=False)
class ProbitFit(logistic.Fit):
    """The minimiser of the error: a `logistic.Fit` with

    H            (M, M)  observed Hessian at w, with the prior's
    information  (M, M)  its mean; a fitted epsilon > 0 adds a row to both
    likelihood           what was fitted, flipped if epsilon > 0
    """

    H: np.ndarray
    information: np.ndarray
    likelihood: Likelihood

    @property
    def epsilon(self):
        """Chance of a wrong label, given or estimated."""
        return self.likelihood.epsilon


def fit(
    Phi, t, *, likelihood=PROBIT, alpha=0.0, m0=None, weights=None,
    scoring=False, tol=newton.ROUNDING, max_iter=MOST,
):  # fmt: skip
    """w = argmin E(w) + 1/2 (w - m0)^T A (w - m0), PRML (4.90), (4.117).

    Newton's method from m0; Fisher scoring, E[H] in the place of H, if asked
    for, and wherever H is not positive definite. With flipped labels that
    occurs: E is not convex, and of the ends to which m0 and `starts` lead it
    is the lowest. An m0 without a prior is a start, and then the only one.
    """
    objective, t = logistic.problem(Phi, t, alpha, m0, weights, likelihood)
    stop = validate.stopping(tol, max_iter)
    begin = [objective.m0]
    if likelihood.epsilon > 0 and (m0 is None or objective.alpha.any()):
        begin += starts(objective, t)
    found = _descent(objective, t, likelihood, begin, stop, scoring)
    complain(found, found.separated, stuck=_stuck(found))
    return replace(found, weights=logistic.own(weights))


def fit_noise(
    Phi, t, *, likelihood=PROBIT, alpha=0.0, m0=None, weights=None,
    tol=newton.ROUNDING, max_iter=MOST,
):  # fmt: skip
    """(w, epsilon) = argmin -sum_n ln p(t_n), 0 <= epsilon < 1/2, PRML 4.3.5.

    The lowest of the minima that are found, see `_lowest`; epsilon = 0 is one
    if E does not fall there.
    """
    objective, t = logistic.problem(Phi, t, alpha, m0, weights, likelihood)
    if likelihood.epsilon > 0:
        raise ValueError(
            "likelihood must flip no labels, since epsilon is to be learned; "
            f"got {likelihood.name}"
        )
    stop = validate.stopping(tol, max_iter)
    found = plain = _descent(objective, t, likelihood, [objective.m0], stop)
    if not plain.separated:
        found = _lowest(objective, t, likelihood, plain, stop)
        if found.error > plain.error - 1e-9 * (1 + plain.error):
            _tells_epsilon(found, objective, likelihood)
    complain(found, found.separated, stuck=_stuck(found))
    return replace(found, weights=logistic.own(weights))


def _tells_epsilon(fit, objective, likelihood):
    """A ValueError where E is flat along (w, epsilon) that predict the same."""
    theta = np.append(fit.w, fit.epsilon)
    F = joint_information(theta, objective.Phi, likelihood, objective.weights)
    F += np.diag(np.append(objective.alpha, 0.0))
    if newton.smallest_share(F) < descent.DEPENDENT:
        J, M = np.unique(objective.Phi, axis=0).shape
        raise ValueError(
            f"Phi must tell epsilon from {M} weights, as {M + 1} different "
            f"rows or a prior may do; got {J}, along which E is flat"
        )


def _lowest(objective, t, likelihood, plain, stop):
    """By Newton's method on both, from `starts` and two guesses at epsilon;
    then from the best w for the epsilon that was found, held fixed.
    """

    def both(w, epsilon):
        return _both(objective, t, likelihood, np.append(w, epsilon), stop)

    def rank(fit):  # a valley without end may be the lowest
        return fit.error - fit.converged * 1e-9 * (1 + fit.error)

    several = starts(objective, t)
    at = np.append(plain.w, 0.0), objective.Phi, t, likelihood
    falls = joint_gradient(*at, objective.weights)[-1] < 0
    minima = [both(v, e) for e in GUESSES for v in (plain.w, *several[:2])]
    best = min([plain] * (not falls) + minima, key=rank)
    if best.epsilon > 0:
        begin = [objective.m0, *several]
        held = _descent(objective, t, best.likelihood, begin, stop)
        best = min(best, both(held.w, best.epsilon), key=rank)
    return best


def starts(objective, t):
    """Several w (M,) to start from if E(w) is not convex.

    First a PROBIT of rows that count the less the farther out they are, so
    that none hides behind the weights that it has spoilt: by 1 / h_n^2 where
    h_n = phi_n^T S^{-1} phi_n, S = sum_n c_n phi_n phi_n^T, is beyond the mean
    of all, as they count; then three and ten times as long, and turned round,
    as a whole and in each of the columns that say most. Besides three times
    the PROBIT of all rows. A weak prior makes sure of each.
    """
    size = np.abs(objective.Phi).max(axis=0)
    size[size == 0] = 1
    X, v = objective.Phi / size, objective.weights
    v = np.ones(len(X)) if v is None else v / v.mean()
    c = v
    for _ in range(10):
        U, s, _ = np.linalg.svd(np.sqrt(c)[:, None] * X, full_matrices=False)
        leverage = np.sum(U[:, s > 1e-10 * s[0]] ** 2, axis=1) / c
        mean = np.average(leverage, weights=c)  # by v an outlier would make it
        c = v / np.clip(leverage / (mean or 1.0), 1, 1e30) ** 2
    w, every = (_weakly(X, t, c) for c in (c, v))
    most = np.argsort(-np.abs(w))[:TURNED]
    turned = 3 * w * (1 - 2 * np.eye(len(w))[most])
    return [u / size for u in (w, 3 * w, 10 * w, -w, 3 * every, *turned)]


def _weakly(X, t, c):
    """The PROBIT of rows that count c times, with a weak prior."""
    zero, ridge = np.zeros(X.shape[1]), 1e-3 * (c @ X**2) + 1e-200
    some = descent.Objective(X, PROBIT.loss(t), c, ridge, zero)
    return newton.newtons_method(some, zero, tol=1e-3).w


@np.errstate(over="ignore", invalid="ignore")  # far out there is no minimum
def _descent(objective, t, likelihood, begin, stop, scoring=False):
    """The fit of a given likelihood, without a warning."""
    noisy = likelihood.epsilon > 0
    terms = likelihood.loss(t, scoring or noisy)
    objective = replace(objective, pointwise=terms)
    solve = newton.newtons_method if scoring or noisy else descent.descend
    guarded = noisy and not scoring
    guard = _guarded(objective, t, likelihood) if guarded else objective
    solve = partial(solve, **stop)
    ends = []
    for w in begin:
        end = solve(guard, w)
        _, g, H = objective(end.w)
        end = replace(end, gradient=g, H=H)
        lead = settled(end, objective, MOVES) * 1e-9 * (1 + end.error)
        ends.append((end.error - lead, w, end))  # the lowest may have no end
    _, w, best = min(ends, key=lambda end: end[0])
    if best.error == 0 and not likelihood.log_p(1e8 - 2e8 * t, t, 1)[1].any():
        # thresholds of bounded support: E >= 0 is 0, at w and beyond
        best, kind = replace(best, converged=True), None
    else:
        kind = between(objective, t)
        best, kind = verdict(best, objective, w, kind, solve=solve, moves=MOVES)
    return _result(best, kind, objective, t, likelihood)


def _guarded(objective, t, likelihood):
    """w -> E, g, and H where it is positive definite, E[H] elsewhere."""
    Phi, c, A = objective.Phi, objective.weights, np.diag(objective.alpha)

    def at(w):
        E, g, F = objective(w)
        return E, g, _safe(hessian(w, Phi, t, likelihood, c) + A, F)

    return at


def _safe(H, F):
    """H if it is positive definite, F otherwise."""
    return H if newton.smallest_share(H) > descent.DEPENDENT else F


@np.errstate(over="ignore", invalid="ignore")  # far out there is no minimum
def _both(objective, t, likelihood, theta, stop):
    """The minimum in w and epsilon to which Newton's method leads."""
    Phi, c = objective.Phi, objective.weights
    alpha, m0 = np.append(objective.alpha, 0.0), np.append(objective.m0, 0.0)
    data = Phi, t, likelihood, c

    def at(theta):
        if not 0 <= theta[-1] < 0.5:
            return np.inf, theta, None
        d, noisy = theta - m0, flipped(likelihood, theta[-1])
        E = error(theta[:-1], Phi, t, noisy, c) + alpha @ d**2 / 2
        F = joint_information(theta, Phi, likelihood, c) + np.diag(alpha)
        H = joint_hessian(theta, *data) + np.diag(alpha)
        return E, joint_gradient(theta, *data) + alpha * d, _safe(H, F)

    at.predictor = lambda theta: Phi @ theta[:-1]  # see newton.arrived
    best = newton.newtons_method(at, theta, **stop)
    both = replace(best, w=best.w[:-1], gradient=best.gradient[:-1])
    noisy = flipped(likelihood, best.w[-1])
    found = _result(both, None, objective, t, noisy)
    F = joint_information(best.w, Phi, likelihood, c) + np.diag(alpha)
    H = joint_hessian(best.w, *data) + np.diag(alpha)
    return replace(found, information=F, H=H)


def _result(best, separated, objective, t, likelihood):
    """What `fit` hands back; where E is not convex a saddle is no minimum."""
    Phi, c, A = objective.Phi, objective.weights, np.diag(objective.alpha)
    H = hessian(best.w, Phi, t, likelihood, c) + A
    saddle = likelihood.epsilon > 0 and newton.smallest_share(H) == 0
    best = replace(best, converged=best.converged and not saddle)
    F = information(best.w, Phi, likelihood, c) + A
    more = {"H": H, "information": F, "likelihood": likelihood}
    return ProbitFit.of(best, separated, objective.alpha, c, **more)


def _stuck(fit):
    """What may be the matter if there is no end."""
    doubt = " or E has no minimum at finite w"
    return ": too few" + doubt * (fit.epsilon > 0)


def standard_errors(fit, *, expected=True):
    """Square roots of the diagonal of F^{-1}, or H^{-1}: (M,) or (M + 1,)."""
    validate.at_minimum(validate.fitted(fit, ProbitFit))
    H = fit.information if expected else fit.H
    return np.sqrt(np.sum(descent.variance_root(H) ** 2, axis=0))


def influence(fit, phi, t):
    """dw/dc = -H^{-1} grad E_new, c the weight of (phi, t), 0 if it is new.

    The last entry is that of a fitted epsilon.
    """
    validate.at_minimum(validate.fitted(fit, ProbitFit))
    (t,) = validate.binary_targets([t], 1)
    phi = validate.vector("phi", phi, len(fit.w), "column")
    L, d = fit.likelihood.log_p(phi @ fit.w, t, 1)
    uphill = d * phi
    if len(fit.H) > len(fit.w):  # (1 - 2 f_t) / p_t, p_t = e^L
        uphill = np.append(uphill, (np.exp(-L) - 2) / (1 - 2 * fit.epsilon))
    root = descent.variance_root(fit.H)
    return root.T @ (root @ uphill)


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
    J = np.size(k)
    k, n, y = (
        validate.one_each(name, value, J, "group")
        for name, value in (("k", k), ("n", n), ("y", y))
    )
    if not np.all((0 <= k) & (k <= n) & (n > 0) & (0 <= y) & (y <= 1)):
        raise ValueError(
            "k must lie between 0 and n > 0, and y in [0, 1], in every group; "
            f"got k = {k}, n = {n} and y = {y}"
        )
    return 2 * float(n @ BERNOULLI.half_deviance(k / n, y))
