"""Gaussian processes: priors over functions, regression, PRML 6.4.

C       (N, N)  kernel matrix, the covariance of the values f at the inputs
t       (N,)    targets: f itself, or f plus noise
noise           variance of the noise, 1 / beta; one number or (N,)
C_t     (N, N)  covariance of the targets, C + noise I
c_star  (N, n)  covariances of the values at the inputs and at n new points
c_ss    (n,)    prior variances at the new points; C_ss (n, n) covariances
theta   (P,)    logarithms of a kernel's hyperparameters

The mean of the prior is zero: take off another one first. Nothing here knows
a kernel but `optimise`, which knows nothing of the model: that is `inference`.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_solve, qr, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri

from prml4.numerics import validate
from prml4.numerics.ascent import ascend
from prml4.numerics.newton import NotConverged
from prml4.numerics.result import Result

FOREIGN = 1e-7  # what C dual may miss the mean by, relative to its terms
NEGATIVE = 1e-6  # share of the prior variance below zero that is rounding
LEFT = 4 * np.finfo(float).eps  # share of a variance that is rounding, times N
HUGE = 1e150  # numbers whose square is one
TOL = 1e-6  # a gradient this small, relative to the log evidence, is zero


@dataclass(frozen=True, eq=False)
class Posterior(Result):
    """A Gaussian over functions, f given t: what regression, Laplace, EP share.

    mean  (N,)  of the values f at the inputs
    dual  (N,)  C^{-1} mean, by which a prediction weighs the inputs

    The covariance is C - C R C; each kind knows R by `halves` of its own.
    """

    mean: np.ndarray
    dual: np.ndarray

    def halves(self, c):
        """U and V (., n) with U^T V = c^T R c, for c (N, n)."""
        raise NotImplementedError


# What any of them predicts.


def predict_latent(fit, c_star, c_ss):
    """m = c^T C^{-1} mean, v = c_ss - c^T R c, PRML (6.66-67), (6.87-88).

    Of f: the noise of a new target is no part of v. A variance that rounding
    has made negative is 0, if by less than 1e-6 of c_ss.
    """
    c_star = validate.cross(c_star, len(validate.fitted(fit, Posterior).dual))
    c_ss = validate.variances("c_ss", c_ss, c_star.shape[1])
    U, V = fit.halves(c_star)
    v = not_negative(c_ss - np.einsum("nm,nm->m", U, V), c_ss)
    return c_star.T @ fit.dual, v


def predict_proba(fit, c_star, c_ss):
    """p(C_k) = int p(t = k | f) N(f | m, v) df, (n, 2); PRML (6.76)."""
    m, v = predict_latent(fit, c_star, c_ss)
    if not hasattr(fit, "likelihood"):
        raise ValueError(
            f"fit must be of classes to predict one; got {type(fit).__name__}"
        )
    return fit.likelihood.predictive(m, v)


def predict(fit, c_star, c_ss):
    """argmax_k p(C_k), class numbers (n,)."""
    return predict_proba(fit, c_star, c_ss).argmax(axis=1)


def posterior_covariance(fit, c_star, C_ss=None):
    """C_ss - c^T R c: what is left of the prior's, PRML (2.82), (6.86).

    Without C_ss, c_star is the C of the fit: then of f at the data.
    """
    N = len(validate.fitted(fit, Posterior).dual)
    if C_ss is None:
        c_star = C_ss = same_kernel(fit, c_star)
    c_star = validate.cross(c_star, N)
    n = c_star.shape[1]
    C_ss = validate.symmetric("C_ss", C_ss, [(n, n)])
    U, V = fit.halves(c_star)
    rest = C_ss - U.T @ V
    not_negative(rest.diagonal(), C_ss.diagonal())
    return rest


def same_kernel(fit, C):
    """C as an array, if C dual = mean: else it is not that of the fit."""
    N = len(validate.fitted(fit, Posterior).dual)
    C = validate.cross(C, N, "C")
    if C.shape != (N, N):
        raise ValueError(f"C must be square; got shape {C.shape}")
    gap = np.abs(C @ fit.dual - fit.mean).max()
    if not gap <= FOREIGN * np.abs(C).max() * np.abs(fit.dual).sum():
        raise ValueError(f"C must be that of the fit; got a gap of {gap:.1e}")
    return C


def not_negative(variance, prior):
    """max(variance, 0); Indefinite where it is below -1e-6 of the prior's."""
    worst = int(np.argmin(variance + NEGATIVE * prior))
    if variance[worst] < -NEGATIVE * prior[worst]:
        raise validate.Indefinite(
            "c_star and c_ss must be covariances of the kernel that C is of; "
            f"got a variance of {variance[worst]:.2g} out of "
            f"{prior[worst]:.2g} at new point {worst}. Or C is so nearly "
            "singular that rounding decides: add noise, or a jitter"
        )
    return np.maximum(variance, 0.0)


# Regression.


@dataclass(frozen=True, eq=False)
class Conditional(Posterior):
    """f given t = f + noise, R = (C + (noise + jitter) I)^{-1} = (L L^T)^{-1}.

    L             (N, N)  Cholesky factor of C + (noise + jitter) I
    log_evidence          ln N(t|0, C + (noise + jitter) I)
    noise         (N,)    its variances
    jitter                what the caller had added to the diagonal besides
    left                  least share of a variance that the points before leave
    """

    L: np.ndarray
    log_evidence: float
    noise: np.ndarray
    jitter: float
    left: float

    def halves(self, c):
        """v = L^{-1} c, twice."""
        v = solve_triangular(self.L, c, lower=True)
        return v, v


def condition(C, t, *, noise=0.0, jitter=0.0):
    """f | t with t = f + noise, PRML (6.66), (6.67); noise = 0: (2.81), (2.82).

    A SingularKernel says which value the others determine. Nothing is added
    to the diagonal unless it is asked for.
    """
    C = validate.kernel_matrix(C)
    t = validate.vector("t", t, len(C), "row of C")
    noise = validate.variances("noise", noise, len(C), "target")
    jitter = validate.not_negative("jitter", jitter)
    L, left, dual, value = _solved(C, t, noise + jitter)
    return Conditional(C @ dual, dual, L, value, noise, jitter, left)


def _solved(C, t, extra=0.0):
    """L with C + extra I = L L^T, the least share L_nn^2 / C_nn of it, and
    b = (L L^T)^{-1} t with ln N(t|0, L L^T), PRML (6.69).
    """
    A = np.array(C, order="F")
    A.flat[:: len(C) + 1] += extra
    variances = A.diagonal().copy()
    L, stuck = dpotrf(A, lower=1, clean=1, overwrite_a=1)
    # a pivot that is not positive ends it; one that is rounding means nothing
    small = L.diagonal() ** 2 <= LEFT * len(C) * variances
    n = stuck - 1 if stuck else int(np.argmax(small))
    if stuck or small[n]:
        raise validate.SingularKernel(_determined(C, n, np.mean(variances)))
    left = np.min(L.diagonal() ** 2 / variances)
    b = cho_solve((L, True), t)
    if not np.abs(b).max() < HUGE:
        raise validate.Indefinite(
            f"C must leave C^-1 t below {HUGE:.0e}; got variances down to "
            f"{variances.min():.1e}: measure t in other units"
        )
    value = -0.5 * (t @ b + len(t) * np.log(2 * np.pi))
    return L, float(left), b, float(value - np.log(L.diagonal()).sum())


def _determined(C, n, scale):
    """Which value the others determine, and what to do about it."""
    same = np.flatnonzero((C[:n, n] == C[n, n]) & (C.diagonal()[:n] == C[n, n]))
    why = "the values at other points determine it"
    if C[n, n] <= 0:
        why = "the prior says that it is 0"
    elif same.size:
        why = f"the point is the same as point {same[0]}"
    return (
        f"C must be invertible; got nothing left of the variance of value "
        f"{n}; {why}. Say how much noise there is (noise > 0), leave the point "
        f"out, or add a jitter that you can see, such as {1e-10 * scale:.0e}"
    )


def draws(rng, C, count, mean=0.0):
    """f ~ N(mean, C), count rows (count, N), PRML 6.4.1.

    By f = mean + U diag(lambda)^{1/2} U^T z: a draw needs a root of C and not
    its inverse, so that a singular C is welcome. This root is unique. The
    mean is one number or (N,).
    """
    validate.fitted(rng, np.random.Generator, name="rng")
    C, count = validate.kernel_matrix(C), validate.whole("count", count, 0)
    mean = np.broadcast_to(mean, len(C)) if np.ndim(mean) == 0 else mean
    mean = validate.vector("mean", mean, len(C), "value")
    values, U = np.linalg.eigh(C)
    root = (U * np.sqrt(np.maximum(values, 0.0))) @ U.T
    return mean + rng.standard_normal((count, len(C))) @ root


def weight_space(Phi, t, *, alpha, noise):
    """m_N = S_N Phi^T t / noise, S_N^{-1} = P + Phi^T Phi / noise, PRML (3.50).

    The posterior of the weights of f = Phi w under w ~ N(0, P^{-1}), P =
    diag(alpha) > 0; noise is one positive number.
    """
    Phi = validate.design(Phi)
    t = validate.vector("t", t, len(Phi), "row of Phi")
    alpha = validate.precisions(alpha, Phi.shape[1], proper=True)
    noise = np.sqrt(validate.positive("noise", noise))
    # R^T R = S_N^{-1} by QR: the sum itself would keep half the digits
    rows = np.vstack([Phi / noise, np.diag(np.sqrt(alpha))])
    Q, R = qr(rows, mode="economic")
    root = solve_triangular(R, np.eye(len(alpha)))
    return root @ (Q[: len(t)].T @ (t / noise)), root @ root.T


def log_evidence(C, t):
    """ln N(t|0, C) and G = (b b^T - C^{-1}) / 2, b = C^{-1} t, PRML (6.69-70).

    C is that of the targets, noise included. G is the derivative: a change of
    C by dC changes the log evidence by sum_nm G_nm dC_nm.
    """
    C = validate.kernel_matrix(C)
    return regression(t)(C)


def regression(t):
    """C -> ln N(t|0, C) and G = (b b^T - C^{-1}) / 2, for `optimise`; (6.69).

    As `log_evidence`, but C is taken to be a kernel matrix.
    """
    t = np.atleast_1d(validate.real("t", t)).copy()

    def inference(C):
        targets = validate.vector("t", t, len(C), "row of C")
        L, _, b, value = _solved(C, targets)
        G = np.outer(b, b)
        half, _ = dpotri(L, lower=1, overwrite_c=1)
        G -= half
        G -= half.T
        G.flat[:: len(C) + 1] += half.diagonal()
        G *= 0.5
        return value, G

    return inference


@dataclass(frozen=True, eq=False)
class Optimum(Result):
    """Where the ascent of the log evidence stopped, and whether to trust it.

    theta         (P,)    where it is highest
    log_evidence          there
    gradient      (P,)    of the log evidence with respect to theta
    converged             whether the gradient fell below tol
    trace         (S,)    log evidence at each accepted theta
    path          (S, P)  the accepted theta, the start first
    evaluations           calls of inference
    restarts              an Optimum for each start, in their order
    """

    theta: np.ndarray
    log_evidence: float
    gradient: np.ndarray
    converged: bool
    trace: tuple[float, ...]
    path: np.ndarray
    evaluations: int
    restarts: tuple = ()


def optimise(kernel, X, inference, starts, *, tol=TOL, max_iter=100):
    """argmax over theta of inference(C(theta)), by BFGS; PRML 6.4.3.

    inference(C) -> (log evidence, G), G symmetric with d log evidence =
    sum_nm G_nm dC_nm; starts (P,) or (S, P). The best of all restarts. What
    inference returns besides is handed to it again with the next C.
    """
    X = validate.points(X)
    starts = validate.design(np.atleast_2d(starts), "starts")
    tol = validate.positive("tol", tol)
    most = validate.whole("max_iter", max_iter)
    runs = [
        Optimum(*ascend(_along(kernel, X, inference), start, tol, most))
        for start in starts
    ]
    best = max(runs, key=lambda run: run.log_evidence)
    if not best.converged:
        steepest = np.abs(best.gradient).argmax()
        warnings.warn(
            f"the log evidence {best.log_evidence:.6g} at theta = "
            f"{np.round(best.theta, 3)} is no maximum: its gradient is "
            f"{best.gradient[steepest]:.1e} in {kernel.names[steepest]}",
            NotConverged,
            stacklevel=2,
        )
    return replace(best, restarts=tuple(runs))


def _along(kernel, X, inference):
    """theta -> log evidence and its gradient, for one ascent."""
    near = ()

    def objective(theta):
        nonlocal near
        C, slopes = kernel.with_gradients(theta, X)
        value, G, *near = inference(C, *near)
        del C  # to make room for the slopes
        G = G.T if G.flags.f_contiguous else G
        return float(value), np.array([np.vdot(G, slope) for slope in slopes])

    return objective


def sensitivity(kernel, X, inference, theta, moves=(-1.0, 1.0)):
    """inference(C(theta + h e_j)) - inference(C(theta)), (P, len(moves)).

    Next to 0 where the data do not care for a hyperparameter: its maximum is
    at infinity, or everywhere. -inf where the matrix cannot be factorised.
    """
    theta = np.atleast_1d(validate.real("theta", theta))
    here = inference(kernel(theta, X))[0]

    def change(step):
        try:
            return inference(kernel(theta + step, X))[0] - here
        except np.linalg.LinAlgError:
            return -np.inf

    axes = np.eye(len(theta))
    return np.array([[change(h * e) for h in moves] for e in axes])
