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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import qr, solve_triangular

from prml4 import blocks, newton, special, validate
from prml4.descent import DENSE, descend, inverse
from prml4.logistic import complain, settled
from prml4.separation import Separation
from prml4.separation import separation as of_one_class

FAR = 8  # log odds that a fit leaves behind on a ray, and hardly elsewhere
BLOCK = 2**20  # bytes of Phi worked on at once where Hessians are formed


def activations(Phi, W):
    """a_nk = w_k^T phi_n, A = Phi W^T, PRML (4.105)."""
    return np.asarray(Phi) @ np.asarray(W).T


def predict_proba(Phi, W):
    """y_nk = exp(a_nk) / sum_j exp(a_nj), PRML (4.104)."""
    return special.softmax(activations(Phi, W))


def error(W, Phi, t, weights=None):
    """E(W) = -sum_n sum_k t_nk ln y_nk, PRML (4.108)."""
    return row_pass(Phi, W, t, weights=weights, order=1)[0]


def gradient(W, Phi, t, weights=None):
    """grad_{w_j} E = sum_n (y_nj - t_nj) phi_n, (K, M), PRML (4.109)."""
    return row_pass(Phi, W, t, weights=weights, order=1)[1]


def hessian(W, Phi, weights=None):
    """H_jk = sum_n y_nk (I_kj - y_nj) phi_n phi_n^T, (K, K, M, M), (4.110)."""
    any_t = np.zeros(len(Phi), np.intp)
    return row_pass(Phi, W, any_t, weights=weights)[2]


def map_error(W, Phi, t, alpha, weights=None):
    """E(W) + 1/2 sum_k w_k^T A w_k, A = diag(alpha), PRML (4.142)."""
    prior = 0.5 * float(np.sum(alpha * np.square(W)))
    return error(W, Phi, t, weights) + prior


def map_gradient(W, Phi, t, alpha, weights=None):
    """grad_{w_j} E + A w_j, A = diag(alpha), (K, M)."""
    return gradient(W, Phi, t, weights) + alpha * np.asarray(W)


def as_matrix(H):
    """u^T H u = sum_jk u_j^T H_jk u_k: the blocks as one matrix (K M, K M)."""
    J, K, M, _ = H.shape
    return H.transpose(0, 2, 1, 3).reshape(J * M, K * M)


def hessian_vector(W, Phi, U, weights=None):
    """(H u)_j = sum_n y_nj (z_nj - sum_k y_nk z_nk) phi_n, z_nk = u_k^T phi_n.

    No Hessian is formed: the price is that of a gradient, (K, M) as U.
    """
    Y = predict_proba(Phi, W).T
    return curvature_along(np.asarray(Phi), Y, np.asarray(U), weights)


def curvature_along(Phi, Y, U, weights=None):
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


def row_pass(Phi, W, t, *, weights=None, order=2):
    """E, G = Y^T Phi - T^T Phi and the blocks of H, in one pass over the rows.

    Block by block, so that Phi comes from memory once; order=1 omits H.  The
    last class costs nothing: its activations may be 0, the sum of G is 0.
    """
    Phi, W, t = np.asarray(Phi), np.asarray(W, float), _numbers(t)
    (N, M), K = Phi.shape, len(W)
    E, G, V = 0.0, np.zeros((K, M)), W[:-1] - W[-1]
    H = np.zeros((K, K, M, M)) if order == 2 else None
    size = (newton.BLOCK if order == 1 else BLOCK) // (8 * M)
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


def _numbers(t):
    """Class numbers, from those or from rows of T; shares are refused."""
    t = np.asarray(t)
    numbers = t.argmax(axis=1) if t.ndim == 2 else t.astype(np.intp, copy=False)
    if numbers is not t or np.any(t < 0):
        meant = np.eye(t.shape[1])[numbers] if t.ndim == 2 else abs(numbers)
        if np.any(t != meant):
            raise ValueError("t must hold class numbers, T one 1 in each row")
    return numbers


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
        W = self.whole(v)
        E, G, H = row_pass(
            self.Phi, W, self.t, weights=self.weights, order=order
        )
        PV = self.alpha * (self.P @ W[:-1])
        if order == 2:
            H = as_matrix(H[:-1, :-1]) + np.kron(self.P, np.diag(self.alpha))
        return E + 0.5 * float(np.sum(PV * W[:-1])), (G[:-1] + PV).ravel(), H

    def predictor(self, v):
        """The activations of all rows, (K, N)."""
        return self.whole(v) @ self.Phi.T

    def sample(self, n):
        """The same problem on about n rows, alpha n / N keeping its share."""
        rows = newton.spread_rows(len(self.Phi), n)
        return replace(
            self,
            Phi=self.Phi[rows],
            t=self.t[rows],
            weights=None if self.weights is None else self.weights[rows],
            alpha=self.alpha * (len(rows) / len(self.Phi)),
        )

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
            HU = curvature_along(self.Phi, Y, U, self.weights)
            return (HU + self.alpha * (self.P @ U)).ravel()

        v = np.ones(len(self.Phi)) if self.weights is None else self.weights
        C = (np.diag(Y @ v) - (Y * v) @ Y.T) / v.sum()
        left = inverse(C)
        prior = np.diag(self.alpha) * (np.trace(self.P) / np.trace(C))
        right = inverse(self.scatter + prior)
        return product, lambda u: (left @ u.reshape(shape) @ right).ravel()


# The fit.


@dataclass(frozen=True, eq=False)
class SoftmaxFit:
    """The minimiser of the error, and whether to trust it."""

    W: np.ndarray  # (K, M) weights; zero for the reference class
    error: float  # E(W), with the prior's term if there is a prior
    gradient: np.ndarray  # (K - 1, M) by the differences, at W
    converged: bool
    separated: str | None  # "complete", "quasi-complete": why there is no end
    method: str  # "newton", "newton-cg" or "quasi-newton"
    trace: tuple[float, ...]  # E at the accepted iterates of the last stage
    reference: int | None  # class with weights zero; None: all sum to zero
    hessian: Callable  # () -> (d, d), looks at Phi again

    @cached_property
    def H(self):
        """Hessian by the differences, (d, d), computed when first asked for."""
        return self.hessian()


def fit(
    Phi,
    t,
    *,
    alpha=0.0,
    reference=None,
    weights=None,
    method=None,
    tol=newton.ROUNDING,
):
    """W = argmin E(W) + 1/2 sum_k w_k^T A w_k, PRML (4.108), A = diag(alpha).

    With a reference class r, w_r = 0 and the prior is on the others; without
    one sum_k w_k = 0, as a prior on all of them would have it.
    """
    Phi, t, K, weights = validate.several_classes(Phi, t, weights)
    alpha = validate.precisions(alpha, Phi.shape[1])
    order = _reference_last(reference, K)
    P = np.eye(K - 1) - (1 / K if reference is None else 0)
    problem = Problem(Phi, np.argsort(order)[t], weights, alpha, P)
    best, method = descend(problem, method, tol)
    separated = None
    if not settled(best, problem) or suspect(best, problem, method):
        best, separated = second_look(best, problem, method, tol)
    complain(best, separated, along="softmax.separation(Phi, t).direction")
    return SoftmaxFit(
        W=_in_order(problem.whole(best.w), order, reference),
        error=best.error,
        gradient=best.gradient.reshape(K - 1, -1),
        converged=best.converged,
        separated=separated,
        method=method,
        trace=best.trace,
        reference=reference,
        hessian=lambda: problem(best.w)[2],
    )


def _reference_last(reference, K):
    """0, ..., K - 1 with the reference class moved to the end."""
    if reference is None:
        return np.arange(K)
    if reference not in range(K):
        raise ValueError(
            f"reference must be None or one of 0, ..., {K - 1}; "
            f"got {reference!r}"
        )
    return np.r_[np.delete(np.arange(K), reference), int(reference)]


def _in_order(W, order, reference):
    """Rows back where they belong; sum zero if there is no reference class."""
    return (W if reference is not None else W - W.mean(axis=0))[
        np.argsort(order)
    ]


def suspect(best, problem, method):
    """max_njk (w_j - w_k)^T phi_n > FAR: could E fall for ever along a ray?

    Conjugate gradients may not see it where the curvature has vanished.
    """
    if method != "newton-cg" or problem.alpha.all() or problem.d > DENSE:
        return False
    return np.ptp(problem.predictor(best.w), axis=0).max() > FAR


def second_look(best, problem, method, tol):
    """Why not: dependent columns, separation, or V = X S^{-T} with Phi = Q S?

    Only columns without a prior can be to blame.
    Nearly dependent columns are replaced by orthonormal ones, Q.
    """
    free = problem.alpha == 0
    if not free.any():
        return best, None
    Phi, t = problem.Phi[:, free], problem.t
    validate.independent_columns(Phi, np.flatnonzero(free))
    kind = "complete"
    if not free.all() or margins(problem.whole(best.w), Phi, t).min() <= 0:
        kind = kind_of_ray(problem.predictor(best.w), Phi, t)
    if kind != "none":
        return replace(best, converged=False), kind
    if not free.all() or (best.H is None and best.converged):
        return best, None
    Q, S = qr(problem.Phi, mode="economic")
    found, _ = descend(replace(problem, Phi=Q), method, tol)
    V = solve_triangular(S, found.w.reshape(-1, len(S)).T).T
    _, g, _ = problem(V.ravel(), order=1)
    return replace(found, w=V.ravel(), gradient=g), None


def margins(W, Phi, t):
    """min over k != t_n of (w_t - w_k)^T phi_n, t = t_n: > 0 where right."""
    A, t = activations(Phi, W), _numbers(t)[:, None]
    own = np.take_along_axis(A, t, axis=1)
    np.put_along_axis(A, t, -np.inf, axis=1)
    return own[:, 0] - A.max(axis=1)


def kind_of_ray(A, Phi, t):
    """A (K, N) -> the kind of separation along which a fit went off.

    On a ray along which E falls for ever the margins (u_t - u_k)^T phi_n that
    stay finite are zero.  The directions that leave those alone are few, and
    for them a small linear programme decides about the others.
    """
    K, M = len(A), Phi.shape[1]
    far = np.take_along_axis(A, t[None], axis=0) - A > FAR
    Phi, S = Phi / np.abs(Phi).max(axis=0), np.zeros((K, K, M, M))
    for j in range(K):
        for k in range(j):
            rows = (t == j) & ~far[k] | (t == k) & ~far[j]
            S[j, k] = Phi[rows].T @ Phi[rows]
    values, U = np.linalg.eigh(as_matrix(with_diagonal(S)[:-1, :-1]))
    gains = []
    for u in U.T[values <= 1e-12 * max(values[-1], 1)]:
        Z = np.vstack([u.reshape(K - 1, M), 0 * Phi[0]]) @ Phi.T
        gains.append((np.take_along_axis(Z, t[None], axis=0) - Z)[far])
    if not gains or not far.any():
        return "none"
    gains = np.transpose(gains)
    size = np.abs(gains).max(axis=1)
    gains = gains[size > 1e-6 * size.max()]  # the others are rounded zeros
    kind = of_one_class(gains, np.ones(len(gains))).kind
    every = len(gains) == (K - 1) * len(t)
    return "quasi-complete" if kind == "complete" and not every else kind


def separation(Phi, t):
    """max_U min_nk (u_t - u_k)^T phi_n > 0, k != t = t_n: complete; sum > 0
    and none negative: quasi-complete.  Albert and Anderson (1984).

    The direction is (K, M): one row u_k per class, the last one zero.
    """
    Phi, t, K, _ = validate.several_classes(Phi, t)
    own = np.eye(K)[t]
    wins = (own[:, None] - np.eye(K))[own == 0][:, :-1]  # e_t - e_k
    Z = wins[:, :, None] * np.repeat(Phi, K - 1, axis=0)[:, None]
    found = of_one_class(Z.reshape(len(Z), -1), np.ones(len(Z)))
    if found.direction is None:
        return found
    U = np.vstack([found.direction.reshape(K - 1, -1), 0 * Phi[0]])
    return Separation(found.kind, U, found.margin)


def standard_errors(fit):
    """Square roots of the diagonal of T H^{-1} T^T, w = T v, as W: (K, M).

    T puts the reference class back, zeros; or it subtracts the mean of all.
    """
    K, M = fit.W.shape
    order = _reference_last(fit.reference, K)
    T = _in_order(np.eye(K, K - 1), order, fit.reference)
    C = inverse(fit.H).reshape(K - 1, M, K - 1, M)
    return np.sqrt(np.einsum("kj,jmlm,kl->km", T, C, T))
