"""Logistic regression with several classes, PRML 4.3.4.

Phi      (N, M)  design matrix, one row phi(x_n)^T per observation
t        (N,)    class numbers 0, ..., K - 1; or T (N, K), rows one of K
W        (K, M)  weights: row k is w_k^T, the activations are A = Phi W^T
Y        (N, K)  probabilities y_nk = softmax of row n of A
H   (K, K, M, M) Hessian: block H[j, k] belongs to w_j and w_k
weights  (N,)    how often each observation counts, None for once
alpha    (M,)    prior precisions by column (one number serves all; 0 = none)
V    (K - 1, M)  differences w_k - w_r from a reference class r, which comes
                 last wherever V is used; v is V in one line, d = (K - 1) M long
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from prml4.logistic import own
from prml4.numerics import blocks, descent, special, validate
from prml4.numerics.newton import ROUNDING, arrived
from prml4.numerics.result import Result
from prml4.numerics.separation import (
    FAR,
    ZERO,
    complain,
    kind_of_ray,
    of_classes,
    verdict,
)

SURE = 10**5  # N (K - 1)^2 M up to which linear programmes judge a ray
EASY = 10**9  # N d^2 up to which the end of conjugate gradients is given its H
BLOCK = 2**20  # bytes of Phi worked on at once where Hessians are formed


def activations(fit, Phi):
    """a_nk = w_k^T phi_n, A = Phi W^T, PRML (4.105)."""
    if hasattr(fit, "W"):
        validate.fitted(fit, SoftmaxFit)
    W, Phi = validate.prediction(fit, Phi, "W", 2)
    return Phi @ W.T


def predict_proba(fit, Phi):
    """y_nk = exp(a_nk) / sum_j exp(a_nj), (N, K), PRML (4.104)."""
    return special.softmax(activations(fit, Phi))


def predict(fit, Phi):
    """argmax_k p(C_k|x_n), the most probable class: (N,)."""
    return activations(fit, Phi).argmax(axis=1)


def error(W, Phi, t):
    """E(W) = -sum_n sum_k t_nk ln y_nk, PRML (4.108)."""
    T = _one_of_k(t, len(Phi), len(W))
    return -float(np.sum(T * special.log_softmax(activations(W, Phi))))


def gradient(W, Phi, t):
    """grad_{w_j} E = sum_n (y_nj - t_nj) phi_n, (K, M), PRML (4.109)."""
    T = _one_of_k(t, len(Phi), len(W))
    return (predict_proba(W, Phi) - T).T @ Phi


def hessian(W, Phi):
    """H_jk = sum_n y_nk (I_kj - y_nj) phi_n phi_n^T, (K, K, M, M), (4.110)."""
    Y, eye = predict_proba(W, Phi).T, np.eye(len(W))
    return np.array(
        [
            [(Y[k] * (eye[k, j] - Y[j]) * Phi.T) @ Phi for k in range(len(W))]
            for j in range(len(W))
        ]
    )


def hessian_vector(W, Phi, U):
    """(H u)_j = sum_n y_nj (z_nj - sum_k y_nk z_nk) phi_n, z_nk = u_k^T phi_n.

    No Hessian is formed: the price is that of a gradient, (K, M) as U.
    """
    Y, Z = predict_proba(W, Phi), activations(U, Phi)
    return (Y * (Z - np.sum(Y * Z, axis=1, keepdims=True))).T @ Phi


def as_matrix(H):
    """u^T H u = sum_jk u_j^T H_jk u_k: the blocks as one matrix (K M, K M)."""
    J, K, M, _ = H.shape
    return H.transpose(0, 2, 1, 3).reshape(J * M, K * M)


def map_error(W, Phi, t, alpha):
    """E(W) + 1/2 sum_k w_k^T A w_k, A = diag(alpha), PRML (4.142)."""
    W, alpha = validate.held(W, alpha)
    return error(W, Phi, t) + 0.5 * float(np.sum(alpha * np.square(W)))


def map_gradient(W, Phi, t, alpha):
    """grad_{w_j} E + A w_j, A = diag(alpha), (K, M)."""
    W, alpha = validate.held(W, alpha)
    return gradient(W, Phi, t) + alpha * W


def margins(W, Phi, t):
    """min over k != t_n of (w_t - w_k)^T phi_n, t = t_n: > 0 where right."""
    T = _one_of_k(t, len(Phi), len(W))
    A = activations(W, Phi)
    return A[T == 1] - np.where(T == 1, -np.inf, A).max(axis=1)


def _one_of_k(t, N, K):
    """T (N, K) from class numbers or from rows of T; shares are refused."""
    T = validate.real("t", t)
    numbers = T.argmax(axis=1) if T.ndim == 2 else T
    rows = np.eye(K)[validate.labels(numbers, N, K)]
    if T.ndim == 2 and not np.array_equal(rows, T):
        raise ValueError(
            f"T must hold in each row a single 1 and zeros, K = {K} numbers; "
            f"got {T[0]} in the first"
        )
    return rows


# What a fit computes, in passes over blocks of rows.


def row_pass(Phi, W, t, *, weights=None, order=2):
    """E, G = Y^T Phi - T^T Phi and the blocks of H, in one pass over the rows.

    Block by block, so that Phi comes from memory once; order=1 omits H.  The
    last class costs nothing: its activations may be 0, the sum of G is 0.
    """
    (N, M), K = Phi.shape, len(W)
    E, G, V = 0.0, np.zeros((K, M)), W[:-1] - W[-1]
    H = np.zeros((K, K, M, M)) if order == 2 else None
    size = (descent.BLOCK if order == 1 else BLOCK) // (8 * M)
    size = min(max(size, 1), 2**14)
    for start in range(0, N, size):
        rows = slice(start, start + size)
        block, v = Phi[rows], None if weights is None else weights[rows]
        A = np.zeros((K, len(block)))
        np.matmul(V, block.T, out=A[:-1])
        E_n, D, Y = cross_entropy(A, t[rows], order)
        E += E_n.sum() if v is None else v @ E_n
        G[:-1] += (D if v is None else D * v)[:-1] @ block
        if order == 2:
            part = block if v is None else np.sqrt(v)[:, None] * block
            add_pairs(H, np.sqrt(Y), part)
    G[-1] = -G[:-1].sum(axis=0)
    return float(E), G, None if H is None else with_diagonal(H)


def cross_entropy(A, t, order=1):
    """E_n = -ln y_nt, D = Y - T (K, n) and, at order 2, Y; D replaces A (K, n).

    The largest activation is subtracted, and y_nt - 1 is minus the sum of the
    others: nothing overflows and no small number is a difference of large ones.
    """
    n = A.shape[1]
    A = np.ascontiguousarray(A)
    flat, own = A.ravel(), t * n + np.arange(n)  # flat[own]: own classes
    A -= A.max(axis=0)
    a = flat[own]
    np.exp(A, out=A)
    e = flat[own]
    flat[own] = 0.0
    others = A.sum(axis=0)
    z = e + others
    E = np.log(z) - a
    sure = others < 1e-3  # then a = 0
    E[sure] = np.log1p(others[sure])
    A /= z
    Y = None
    if order == 2:
        Y = A.copy()
        Y.ravel()[own] = e / z
    flat[own] = -others / z
    return E, A, Y


def add_pairs(H, root, block):
    """H_jk += sum_n y_nj y_nk phi_n phi_n^T for j > k, root = sqrt(y), (K, n).

    K (K - 1) / 2 symmetric rank-n products.
    """
    for j in range(len(root)):
        for k in range(j):
            scaled = (root[j] * root[k])[:, None] * block
            H[j, k] += scaled.T @ scaled


def with_diagonal(S):
    """H_jk = -S_jk and H_jj = sum_{k != j} S_jk, because y_j (1 - y_j) is
    y_j times the sum of the others; S_jk = sum_n y_nj y_nk phi_n phi_n^T."""
    H = np.zeros_like(S)
    for j in range(len(S)):
        for k in range(j):
            H[j, k] = H[k, j] = -S[j, k]
            H[j, j] += S[j, k]
            H[k, k] += S[j, k]
    return H


def _curvature_along(Phi, Y, U, weights=None):
    """H u = sum_n y_nj (z_nj - sum_k y_nk z_nk) phi_n; Y, U are (K, N).

    With a class missing from Y and U the missing u is zero.
    """
    HU = np.zeros(U.shape)
    for start in range(0, len(Phi), 2**14):
        rows = slice(start, start + 2**14)
        Z = U @ Phi[rows].T
        Z *= Y[:, rows]
        Z -= Y[:, rows] * Z.sum(axis=0)
        HU += (Z if weights is None else Z * weights[rows]) @ Phi[rows]
    return HU


# What is minimised: K - 1 differences, so that nothing is left undetermined.


@dataclass(frozen=True, eq=False)
class Problem:
    """E + 1/2 sum_jk P_jk v_j^T A v_k, A = diag(alpha), over differences."""

    Phi: np.ndarray  # (N, M)
    t: np.ndarray  # (N,) class numbers, the reference class being K - 1
    weights: np.ndarray | None  # (N,) observation weights, None for ones
    alpha: np.ndarray  # (M,)
    P: np.ndarray  # (K - 1, K - 1)

    @property
    def d(self):
        """How many numbers v holds."""
        return len(self.P) * self.Phi.shape[1]

    @property
    def floor(self):
        """min v_n ln 2: with less, every y_nt > 1/2 and 2 v is better yet."""
        if self.alpha.any():
            return -np.inf
        return np.log(2) * (1 if self.weights is None else self.weights.min())

    def whole(self, v):
        """W (K, M) with w_K = 0."""
        V = v.reshape(len(self.P), self.Phi.shape[1])
        return np.vstack([V, np.zeros(V.shape[1])])

    def __call__(self, v, order=2):
        """(E, g, H) at v, the prior's terms included; order=1 omits H."""
        W, more = self.whole(v), {"weights": self.weights, "order": order}
        E, G, H = row_pass(self.Phi, W, self.t, **more)
        PV = self.alpha * (self.P @ W[:-1])
        if order == 2:
            H = as_matrix(H[:-1, :-1]) + np.kron(self.P, np.diag(self.alpha))
        return E + 0.5 * float(np.sum(PV * W[:-1])), (G[:-1] + PV).ravel(), H

    def predictor(self, v):
        """The activations of all rows, (K, N)."""
        return self.whole(v) @ self.Phi.T

    def sample(self, n):
        """The same problem on about n rows, alpha n / N keeping its share."""
        rows = descent.spread_rows(len(self.Phi), n)
        weights = None if self.weights is None else self.weights[rows]
        alpha = self.alpha * (len(rows) / len(self.Phi))
        return Problem(self.Phi[rows], self.t[rows], weights, alpha, self.P)

    @cached_property
    def scatter(self):
        """S = sum_n phi_n phi_n^T, (M, M)."""
        if self.weights is None:
            return self.Phi.T @ self.Phi
        return (self.Phi.T * self.weights) @ self.Phi

    def curvature(self, v):
        """u -> H u, and u -> (C (x) (S + A tr P / tr C))^{-1} u, close to H^-1.

        C is the mean over n of diag(y_n) - y_n y_n^T.
        """
        Y = blocks.softmax(self.predictor(v))[:-1]
        shape = Y.shape[0], self.Phi.shape[1]

        def product(u):
            U = u.reshape(shape)
            HU = _curvature_along(self.Phi, Y, U, self.weights)
            return (HU + self.alpha * (self.P @ U)).ravel()

        v = np.ones(len(self.Phi)) if self.weights is None else self.weights
        C = (np.diag(Y @ v) - (Y * v) @ Y.T) / v.sum()
        left = descent.inverse(C)
        prior = np.diag(self.alpha) * (np.trace(self.P) / np.trace(C))
        right = descent.inverse(self.scatter + prior)
        return product, lambda u: (left @ u.reshape(shape) @ right).ravel()


# The fit.


@dataclass(frozen=True, eq=False)
class SoftmaxFit(Result):
    """The minimiser of the error, and whether to trust it.

    W          (K, M)      weights; zero for the reference class
    error                  E(W), with the prior's term if there is a prior
    gradient   (K - 1, M)  by the differences, at W
    converged              whether W is the minimum, as far as E can show
    separated              "complete", "quasi-complete": why there is no end
    method                 "newton", "newton-cg" or, for a fit that began with
                           a sample, "quasi-newton"
    trace      (S,)        E at the accepted iterates of the last stage
    reference              class with weights zero; None: all sum to zero
    alpha      (M,)        prior precisions by column
    weights    (N,)        observation weights, None for ones
    """

    W: np.ndarray
    error: float
    gradient: np.ndarray
    converged: bool
    separated: str | None
    method: str
    trace: tuple[float, ...]
    reference: int | None
    alpha: np.ndarray
    weights: np.ndarray | None


def fit(
    Phi, t, *, alpha=0.0, reference=None, weights=None, method=None,
    tol=ROUNDING, max_iter=100,
):  # fmt: skip
    """W = argmin E(W) + 1/2 sum_k w_k^T A w_k, PRML (4.108), A = diag(alpha).

    With a reference class r, w_r = 0 and the prior is on the others; without
    one sum_k w_k = 0, as a prior on all of them would have it; with alpha > 0
    T may have empty columns. The method is "newton", "newton-cg" or, for
    None, the cheapest.
    """
    problem, T = _problem(Phi, t, alpha, reference, weights)
    validate.choice("method", method, (None, "newton", "newton-cg"))
    stop = validate.stopping(tol, max_iter)
    solve = partial(_descend, method=method, **stop)
    best = solve(problem, v0 := np.zeros(problem.d))
    doubt = _doubtful(best, problem) and not problem.alpha.all()
    kind = partial(_kind, best, problem)
    best, separated = verdict(best, problem, v0, kind, solve=solve, doubt=doubt)
    complain(best, separated, along="of_classes(Phi, t).direction")
    return SoftmaxFit(
        W=T @ best.w.reshape(len(problem.P), -1),
        gradient=best.gradient.reshape(len(problem.P), -1),
        error=best.error, converged=best.converged, separated=separated,
        method=best.method, trace=best.trace, reference=reference,
        alpha=problem.alpha, weights=own(weights),
    )  # fmt: skip


def _problem(Phi, t, alpha, reference, weights):
    """The problem by the differences, and T with W = T V, see `_basis`."""
    proper = bool(np.all(alpha))
    Phi, t, K, weights = validate.several_classes(Phi, t, weights, proper)
    alpha = validate.precisions(alpha, Phi.shape[1])
    T, order = _basis(reference, K)
    t = np.argsort(order)[t]
    return Problem(Phi, t, weights, alpha, T.T @ T), T


def _basis(reference, K):
    """T (K, K - 1) with W = T V, and the classes, the reference r the last.

    T puts w_r = 0 back; without a reference it subtracts the mean of all.
    The prior of V has T^T T (x) A.
    """
    none = reference is None
    r = K - 1 if none else validate.choice("reference", reference, range(K))
    T = np.insert(np.eye(K - 1), int(r), 0.0, axis=0) - none / K
    return T, np.append(np.delete(np.arange(K), int(r)), int(r))


def _descend(problem, v0, **how):
    """The way down; at an end in doubt H has to agree, if it is cheap."""
    best = descent.descend(problem, v0, **how)
    costly = len(problem.Phi) * problem.d**2 > EASY
    if costly or not (best.converged and _doubtful(best, problem)):
        return best
    H = problem(best.w)[2]
    there = arrived(problem, best.w, best.gradient, H)
    return replace(best, H=H, converged=there)


def _doubtful(best, problem):
    """Conjugate gradients may not see where the curvature has vanished."""
    a = problem.predictor(best.w)
    return best.method == "newton-cg" and np.ptp(a, axis=0).max() > FAR


def _kind(best, problem, free):
    """How the columns without a prior separate the classes, if they do."""
    Phi, t, W = problem.Phi[:, free], problem.t, problem.whole(best.w)
    if free.all():
        sums = np.abs(Phi) @ np.abs(W).max(axis=0)
        if np.all(margins(W, Phi, t) > ZERO * sums):
            return "complete"
    kind = kind_of_ray(problem.predictor(best.w), Phi, t)
    if kind != "none" and Phi.size * len(problem.P) ** 2 <= SURE:
        return of_classes(Phi, t).kind
    return kind


def curvature(fit, Phi):
    """H(v) + P (x) A of a fit by the differences v, (d, d), from its Phi."""
    W, Phi = validate.prediction(validate.fitted(fit, SoftmaxFit), Phi, "W", 2)
    T, order = _basis(fit.reference, len(W))
    any_t = np.zeros(len(Phi), int)  # H does not depend on the targets
    weights = validate.observation_weights(fit.weights, len(Phi))
    problem = Problem(Phi, any_t, weights, fit.alpha, T.T @ T)
    return problem((W[order[:-1]] - W[order[-1]]).ravel())[2]


def standard_errors(fit, Phi):
    """Square roots of the diagonal of T H^{-1} T^T, W = T V, as W: (K, M)."""
    validate.at_minimum(validate.fitted(fit, SoftmaxFit))
    K, M = fit.W.shape
    T, _ = _basis(fit.reference, K)
    root = descent.variance_root(curvature(fit, Phi))
    C = (root.T @ root).reshape(K - 1, M, K - 1, M)
    return np.sqrt(np.einsum("kj,jmlm,kl->km", T, C, T))
