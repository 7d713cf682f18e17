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
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri

from prml4 import kernels, validate
from prml4.newton import NotConverged

LEFT = 4 * np.finfo(float).eps  # share of a variance that is rounding, times N
TOL = 1e-6  # a gradient this small, relative to the log evidence, is zero
STEP = 2.0  # the longest step for any theta: a factor exp(2)
WIDEST = np.log(1e12)  # largest |theta| that the optimiser tries


class SingularKernel(np.linalg.LinAlgError):
    """A value is determined by others: its covariance cannot be inverted."""


@dataclass(frozen=True, eq=False)
class Conditional:
    """f given t, as what predictions need: PRML (6.66), (6.67)."""

    L: np.ndarray  # (N, N) Cholesky factor of C + (noise + jitter) I
    weights: np.ndarray  # (N,) b = (C + (noise + jitter) I)^{-1} t
    log_evidence: float  # ln N(t|0, C + (noise + jitter) I)
    noise: np.ndarray  # () or (N,)
    jitter: float  # what the caller had added to the diagonal besides
    left: float  # least share of a variance that the points before leave

    def predict(self, c_star, c_ss):
        """m = c^T C_t^{-1} t, v = c_ss - c^T C_t^{-1} c, PRML (6.66-67).

        Of f: the noise of a new target is not part of v. A variance that
        rounding has made negative is 0, if by less than 1e-6 of c_ss.
        """
        c_star = self._cross(c_star)
        c_ss = validate.vector("c_ss", c_ss, c_star.shape[1], "new point")
        v = solve_triangular(self.L, c_star, lower=True)
        variance = _not_negative(c_ss - np.einsum("nm,nm->m", v, v), c_ss)
        return c_star.T @ self.weights, variance

    def covariance(self, c_star, C_ss):
        """C_ss - c^T C_t^{-1} c: what is left of the prior's, PRML (2.82)."""
        c_star = self._cross(c_star)
        n = c_star.shape[1]
        C_ss = validate.symmetric("C_ss", C_ss, [(n, n)])
        v = solve_triangular(self.L, c_star, lower=True)
        rest = C_ss - v.T @ v
        _not_negative(rest.diagonal(), C_ss.diagonal())
        return rest

    def _cross(self, c_star):
        """c_star as an array (N, n)."""
        c_star = validate.design(c_star, "c_star")
        if len(c_star) != len(self.L):
            raise ValueError(
                f"c_star must have shape ({len(self.L)}, n), one row per "
                f"target; got {c_star.shape}"
            )
        return c_star


def _not_negative(variance, prior):
    """max(variance, 0); Indefinite where it is below -1e-6 of the prior's."""
    worst = int(np.argmin(variance + 1e-6 * prior))
    if variance[worst] < -1e-6 * prior[worst] or prior[worst] < 0:
        raise validate.Indefinite(
            f"the variance of new point {worst} is {variance[worst]:.2g} of "
            f"{prior[worst]:.2g}: either these are not covariances of the "
            "kernel that C is of, or C is so nearly singular that rounding "
            "decides; then say how much noise there is, or add a jitter"
        )
    return np.maximum(variance, 0.0)


def condition(C, t, *, noise=0.0, jitter=0.0):
    """f | t with t = f + noise, PRML (6.66), (6.67); noise = 0: (2.81), (2.82).

    A SingularKernel says which value the others determine. Nothing is added
    to the diagonal unless it is asked for.
    """
    C = validate.kernel_matrix(C)
    t = validate.vector("t", t, len(C), "row of C")
    noise = _noise(noise, len(C))
    jitter = validate.not_negative("jitter", jitter)
    L, left = _factor(C, noise + jitter)
    weights = cho_solve((L, True), t)
    return Conditional(
        L, weights, _log_density(L, t, weights), noise, jitter, left
    )


def _noise(noise, N):
    """Variances >= 0: one number or one per target."""
    noise = validate.finite("noise", validate.real("noise", noise))
    if noise.shape not in ((), (N,)) or np.min(noise) < 0:
        raise ValueError(
            f"noise must be a variance >= 0, or {N} of them, one per target; "
            f"got {noise}"
        )
    return noise


def _factor(C, extra=0.0):
    """L with C + extra I = L L^T, and the least share L_nn^2 / C_nn of it."""
    A = np.array(C, order="F")
    A.flat[:: len(C) + 1] += extra
    variances = A.diagonal().copy()
    L, stuck = dpotrf(A, lower=1, clean=1, overwrite_a=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = L.diagonal() ** 2 / variances
    if stuck:
        shares[stuck - 1 :] = np.inf
        shares[stuck - 1] = 0.0
    n = int(np.argmin(shares))
    if stuck or not shares[n] > LEFT * len(C):
        raise SingularKernel(_determined(C, n, np.mean(variances)))
    return L, float(shares[n])


def _determined(C, n, scale):
    """Which value the others determine, and what to do about it."""
    same = np.flatnonzero((C[:n, n] == C[n, n]) & (C.diagonal()[:n] == C[n, n]))
    why = "the values at other points determine it"
    if C[n, n] <= 0:
        why = "the prior says that it is 0"
    elif same.size:
        why = f"the point is the same as point {same[0]}"
    return (
        f"C is singular to rounding: nothing is left of the variance of value "
        f"{n}; {why}. Say how much noise there is (noise > 0), leave the point "
        f"out, or add a jitter that you can see, such as {1e-10 * scale:.0e}"
    )


def _log_density(L, t, weights):
    """ln N(t|0, L L^T), PRML (6.69)."""
    log_root = np.sum(np.log(L.diagonal()))
    return float(-0.5 * (t @ weights + len(t) * np.log(2 * np.pi)) - log_root)


def draws(rng, C, count, mean=0.0):
    """f ~ N(mean, C), count rows (count, N), PRML 6.4.1.

    By f = mean + U diag(lambda)^{1/2} U^T z: a draw needs a root of C and not
    its inverse, so that a singular C is welcome. This root is unique. The
    mean is one number or (N,).
    """
    C = validate.kernel_matrix(C)
    mean = validate.real("mean", mean)
    mean = validate.vector(
        "mean", mean if mean.ndim else np.full(len(C), mean), len(C), "value"
    )
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
    alpha = validate.precisions(alpha, Phi.shape[1])
    if alpha.min() <= 0:
        raise ValueError(f"alpha must be > 0, no flat prior; got {alpha.min()}")
    noise = validate.positive("noise", noise)
    factor = cho_factor(np.diag(alpha) + Phi.T @ Phi / noise)
    S_N = cho_solve(factor, np.eye(len(alpha)))
    return cho_solve(factor, Phi.T @ t / noise), S_N


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
    t = np.atleast_1d(validate.real("t", t))

    def inference(C):
        targets = validate.vector("t", t, len(C), "row of C")
        L, _ = _factor(C)
        weights = cho_solve((L, True), targets)
        value = _log_density(L, targets, weights)
        half, _ = dpotri(L, lower=1, overwrite_c=1)
        G = np.outer(weights, weights)
        G -= half
        G -= half.T
        G.flat[:: len(C) + 1] += half.diagonal()
        G *= 0.5
        return value, G

    return inference


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where the ascent of the log evidence stopped, and whether to trust it."""

    theta: np.ndarray  # (P,)
    log_evidence: float
    gradient: np.ndarray  # (P,) of the log evidence with respect to theta
    converged: bool
    trace: tuple[float, ...]  # log evidence at each accepted theta
    path: np.ndarray  # (K, P) the accepted theta, the start first
    evaluations: int  # calls of inference
    restarts: tuple = ()  # an Optimum for each start, in their order


def optimise(kernel, X, inference, starts, *, tol=TOL, max_iter=100):
    """argmax over theta of inference(C(theta)), by BFGS; PRML 6.4.3.

    inference(C) -> (log evidence, G), G symmetric with d log evidence =
    sum_nm G_nm dC_nm; starts (P,) or (S, P). The best of all restarts.
    """
    X = kernels.inputs(X)
    starts = np.atleast_2d(validate.real("starts", starts))
    starts = validate.design(starts, "starts")

    def objective(theta):
        C, slopes = kernel.with_gradients(theta, X)
        value, G = inference(C)
        del C  # to make room for the slopes
        G = G.T if G.flags.f_contiguous else G
        return float(value), np.array([np.vdot(G, slope) for slope in slopes])

    runs = [_ascend(objective, start, tol, max_iter) for start in starts]
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


def _ascend(objective, theta, tol, max_iter):
    """BFGS on the negative log evidence from one start."""
    value, g = objective(theta)
    if not (np.isfinite(value) and np.isfinite(g).all()):
        raise ValueError(
            f"at the start {theta} the log evidence is {value}, its gradient "
            f"{g}; both must be finite"
        )
    B = np.eye(len(theta)) / max(np.abs(g).max(), 1.0)  # inverse Hessian
    path, trace, calls, moved = [theta], [value], 1, True
    while True:
        done = np.abs(g).max() <= tol * max(1.0, abs(value))
        if done or not moved or len(trace) > max_iter:
            break
        step = B @ g
        step /= max(1.0, np.abs(step).max() / STEP)
        length, new, new_g, tried = _search(objective, theta, step, value, g)
        calls, moved = calls + tried, length > 0
        if moved:
            s, y = length * step, g - new_g
            B = _updated(B, s, y, first=len(trace) == 1)
            theta, value, g = theta + s, new, new_g
            path.append(theta)
            trace.append(value)
    return Optimum(
        theta, value, g, bool(done), tuple(trace), np.array(path), calls
    )


def _updated(B, s, y, *, first):
    """B + (1 + y^T B y / s^T y) s s^T / s^T y - (B y s^T + s y^T B) / s^T y."""
    curvature = s @ y
    if curvature <= 0:
        return B
    if first:
        B = np.eye(len(s)) * (curvature / (y @ y))
    By = B @ y
    cross = np.outer(By, s)
    size = (1 + (y @ By) / curvature) / curvature
    return B + size * np.outer(s, s) - (cross + cross.T) / curvature


def _search(objective, theta, step, value, g):
    """A step length by the weak Wolfe conditions; Lewis and Overton (2013).

    What cannot be evaluated counts as -inf. Returns the length, 0 if nothing
    is better, with value, gradient and number of evaluations.
    """
    slope, low, high = g @ step, 0.0, np.inf
    best, length, tried = (0.0, value, g), 1.0, 0
    while tried < 25 and high - low > 1e-8 * length:
        new, new_g = _try(objective, theta + length * step)
        tried += 1
        if not new >= value + 1e-4 * length * slope:
            high = length
        else:
            best, low = (length, new, new_g), length
            if new_g @ step <= 0.9 * slope:
                break
        length = (low + high) / 2 if high < np.inf else 2 * low
    return *best, tried


def _try(objective, theta):
    """Log evidence and gradient, or -inf where there is none."""
    if np.abs(theta).max() > WIDEST:
        return -np.inf, theta
    try:
        value, g = objective(theta)
    except np.linalg.LinAlgError:
        return -np.inf, theta
    return (value, g) if np.isfinite(g).all() else (-np.inf, theta)
