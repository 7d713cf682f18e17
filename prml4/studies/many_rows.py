"""More rows than fit in memory: only sums over rows travel, of chapter 8.

X, Phi  (N, M)  rows: an array; a memory map, of which a block at a time is
                read; or a Dask array, whose blocks stay where they are
t       (N,)    class numbers 0, ..., K - 1, of the same kind
part            (X_b, t_b, ...) -> what a block of rows adds, a tuple
n, mu           (K,), (K, M)  number and mean of the rows of each class
progress        called with (rows done, seconds) of a pass after each block,
                on Dask, which adds in a tree, after all: print, or list.append

Each block adds what the fit in memory computes of its rows, by the same code;
what comes back is of the same classes, so that the chapters' functions predict
from it. A pass reads a Dask array again unless it is persisted.
"""

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from time import perf_counter

import numpy as np

from prml4 import gaussian, logistic, naive_bayes, softmax
from prml4.models import covariance
from prml4.models.likelihoods import LOGISTIC
from prml4.numerics import descent, newton, validate
from prml4.numerics.separation import complain, settled

UNSETTLED = (
    "; classes that a hyperplane separates, or columns that depend on others, "
    "have no minimum: a prior (alpha > 0) gives one"
)


def add(one, other):
    """c_i = a_i + b_i for each i: the shares of two blocks become one."""
    return tuple(a + b for a, b in zip(one, other, strict=True))


def merge(one, other):
    """n_k, mu_k and S_k = sum (x_n - mu_k)(x_n - mu_k)^T of two sets of rows.

    S = S_a + S_b + n_a n_b / n (mu_b - mu_a)(mu_b - mu_a)^T, or its diagonal;
    Chan, Golub and LeVeque (1983).
    """
    (n, mu, S), (more, mu_b, S_b) = one, other
    share, d = more / np.maximum(n + more, 1), mu_b - mu
    apart = d * d if S.ndim == 2 else d[:, :, None] * d[:, None]
    S = S + S_b + (n * share * apart.T).T
    return n + more, mu + share[:, None] * d, S


def total(part, arrays, *given, unite=add, progress=None):
    """sum_b part(X_b, t_b, ...) over the blocks b of rows of the arrays."""
    start, N = perf_counter(), arrays[0].shape[0]

    def told(done):
        if progress is not None:
            progress((done, perf_counter() - start))

    if hasattr(arrays[0], "to_delayed"):
        found = _on_dask(part, arrays, given, unite)
        told(N)
        return found
    found, size = None, max(descent.BLOCK // (8 * arrays[0][:1].size), 1)
    for b, first in enumerate(range(0, N, size)):
        block = [A[first : first + size] for A in arrays]
        share = _share(part, b, block, given)
        found = unite(found, share) if b else share
        told(min(first + size, N))
    return found


def _on_dask(part, arrays, given, unite):
    """The same sum, made by the workers in pairs: one tuple comes back."""
    try:
        from dask import delayed
    except ImportError as why:
        raise ImportError(
            "a Dask array needs Dask: pip install prml4[dask]"
        ) from why
    blocks = zip(*(A.to_delayed().ravel() for A in arrays), strict=True)
    given = delayed(given, traverse=False)
    share, both = delayed(_share, pure=False), delayed(unite, pure=False)
    found = [share(part, b, block, given) for b, block in enumerate(blocks)]
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        found = [both(*pair) for pair in pairs] + found[len(found) // 2 * 2 :]
    return found[0].compute()


def _share(part, b, block, given):
    """What block b adds; a refusal says which block it was."""
    try:
        return part(*block, *given)
    except ValueError as wrong:
        raise ValueError(f"{wrong}, in block {b}") from None


def _rows(name, X, t):
    """X and t, which can be cut into the same blocks of rows."""
    far = hasattr(X, "rechunk")  # a Dask array
    if not far:
        X = X if isinstance(X, np.ndarray) else validate.real(name, X)
        t = t if isinstance(t, np.ndarray) else validate.real("t", t)
        validate.matrix(X[:1] if X.ndim else X, name)
    if t.shape != X.shape[:1] or far and not hasattr(t, "rechunk"):
        raise ValueError(
            f"t must have one entry per row, of the kind that {name} is; got "
            f"{type(t).__name__} of shape {t.shape} for {X.shape}"
        )
    if far:
        X = X.rechunk({1: -1})
        t = t.rechunk(X.chunks[:1])
    return X, t


def class_counts(t, K, progress=None):
    """n_k, how many rows have t_n = k: some for each of K classes; (K,)."""
    K = validate.whole("K", K, 2)
    if not hasattr(t, "to_delayed"):
        validate.one_each("t", t, max(np.size(t), 1), "row")
        t = np.asarray(t)
    (n,) = total(_class_counts, (t,), K, progress=progress)
    return _every_class(n)


def _class_counts(t, K):
    """n_k of a block, which need not have a row of each class."""
    return (np.bincount(_numbers(t, K), minlength=K),)


def _numbers(t, K):
    """Class numbers of a block, as integers."""
    return validate.classes(t, len(t), K, empty=True)[0]


def _every_class(n):
    """n, if no class is empty."""
    if not n.all():
        raise ValueError(
            f"t must hold each of 0, ..., {len(n) - 1}; got no row of class "
            f"{n.argmin()}"
        )
    return n


# Models of the joint: one pass.


def moments(X, t, K, progress=None, of_block=gaussian.statistics):
    """n_k, mu_k and S_k = sum_{t_n=k} (x_n - mu_k)(x_n - mu_k)^T, PRML (4.80).

    Or with naive_bayes.moments for a block the diagonals of S_k only.
    """
    K = validate.whole("K", K, 2)
    rows, how = _rows("X", X, t), {"unite": merge, "progress": progress}
    n, mu, S = total(statistics, rows, of_block, K, **how)
    return _every_class(n), mu, S


def statistics(X, t, of_block, K):
    """n_k, mu_k and S_k = sum (x_n - mu_k)(x_n - mu_k)^T of a block."""
    return of_block(validate.design(X, "X"), _numbers(t, K), K)


def fit_qda(X, t, K, *, progress=None):
    """pi_k = n_k / N, mu_k, Sigma_k = S_k / n_k as gaussian.fit_qda."""
    n, mu, S = moments(X, t, K, progress)
    return _estimated(n, mu, S / n[:, None, None])


def fit_lda(X, t, K, *, progress=None):
    """pi_k = n_k / N, mu_k, Sigma = sum_k S_k / N as gaussian.fit_lda."""
    n, mu, S = moments(X, t, K, progress)
    return _estimated(n, mu, S.sum(axis=0) / n.sum())


@contextmanager
def _only_leaving_out():
    """A refusal of the fit in memory, whose remedies are not all here."""
    try:
        yield
    except ValueError as no:
        raise ValueError(
            f"{no}. Only the fit in memory takes shrinkage or smoothing: for "
            "many rows leave features out"
        ) from None


def _estimated(n, mu, Sigma):
    """The model, or the refusal of a singular Sigma that fits in memory have:
    of too few rows, or of a feature that is constant but for rounding."""
    with _only_leaving_out():
        covariance.enough_rows(n, mu.shape[1], shared=Sigma.ndim == 2)
        covariance.estimated(Sigma, mu)
    return gaussian.model(n / n.sum(), mu, Sigma)


def fit_gaussian(X, t, K, *, progress=None):
    """pi_k = n_k / N, mu_k, var_k = S_k / n_k as naive_bayes.fit_gaussian."""
    n, mu, S = moments(X, t, K, progress, naive_bayes.moments)
    var = S / n[:, None]
    with _only_leaving_out():
        naive_bayes.refuse_constants(mu, var, n)
    return naive_bayes.gaussian(n / n.sum(), mu, var)


def fit_bernoulli(X, t, K, *, pseudo_count=1.0, progress=None):
    """theta_ki = (n_ki + a) / (n_k + 2 a) as naive_bayes.fit_bernoulli."""
    a = validate.positive("pseudo_count", pseudo_count)
    K = validate.whole("K", K, 2)
    n, ones = total(_ones, _rows("X", X, t), K, progress=progress)
    n = _every_class(n)[:, None]
    theta = naive_bayes.posterior_mean(ones, n, a, a)
    rest = naive_bayes.posterior_mean(n - ones, n, a, a)
    return naive_bayes.BernoulliModel(n[:, 0] / n.sum(), theta, rest)


def _ones(X, t, K):
    """n_k and n_ki of a block."""
    X, t = validate.matrix(X, "X"), _numbers(t, K)
    ones = naive_bayes.counts(X, t, K, validate.bits)
    return np.bincount(t, minlength=K), ones


# Models of the posterior: one pass for each step of Newton's method.


def fit_logistic(
    Phi, t, *, alpha=0.0, m0=None, tol=newton.ROUNDING, max_iter=100,
    progress=None,
):  # fmt: skip
    """w = argmin E(w) + 1/2 (w - m0)^T A (w - m0) as logistic.fit, by IRLS."""
    Phi, t = _rows("Phi", Phi, t)
    M = Phi.shape[1]
    alpha = validate.precisions(alpha, M)
    m0 = validate.vector_or_zeros("m0", m0, M, "column")
    if not alpha.all():
        class_counts(t, 2)
    none, loss = np.empty((0, M)), LOGISTIC.loss([])
    prior = descent.Objective(none, loss, None, alpha, m0)
    best = _minimum(
        (Phi, t), logistic_problem, prior, m0, tol, max_iter, progress
    )
    complain(best, None, stuck=UNSETTLED)
    return logistic.Fit.of(best, None, alpha, None)


def fit_softmax(
    Phi, t, K, *, alpha=0.0, tol=newton.ROUNDING, max_iter=100, progress=None
):
    """W = argmin E(W) + 1/2 sum_k w_k^T A w_k as softmax.fit, by Newton."""
    Phi, t = _rows("Phi", Phi, t)
    alpha = validate.precisions(alpha, Phi.shape[1])
    K = validate.whole("K", K, 2)
    if not alpha.all():
        class_counts(t, K)
    none, P = np.empty((0, Phi.shape[1])), np.eye(K - 1) - 1 / K
    prior = softmax.Problem(none, none[:, 0], None, alpha, P)
    v0, several = np.zeros(prior.d), partial(softmax_problem, P=P)
    best = _minimum((Phi, t), several, prior, v0, tol, max_iter, progress)
    complain(best, None, stuck=UNSETTLED)
    W = prior.whole(best.w)
    return softmax.SoftmaxFit(
        W - W.mean(axis=0), best.error, best.gradient.reshape(K - 1, -1),
        best.converged, None, "newton", best.trace, None, alpha, None,
    )  # fmt: skip


def logistic_problem(Phi, t):
    """w -> E, grad E and H of a block: what logistic.fit minimises of it."""
    Phi, t = validate.design(Phi), validate.binary_targets(t, len(Phi))
    zero = np.zeros(Phi.shape[1])
    return descent.Objective(Phi, LOGISTIC.loss(t), None, zero, zero)


def softmax_problem(Phi, t, P):
    """v -> E, grad E and H of a block: what softmax.fit minimises of it."""
    Phi, t = validate.design(Phi), _numbers(t, len(P) + 1)
    return softmax.Problem(Phi, t, None, np.zeros(Phi.shape[1]), P)


def _minimum(rows, problem, prior, v0, tol, max_iter, progress):
    """Newton's method on the sum of the blocks' problems and of the prior's,
    which is a problem without rows."""
    stop = validate.stopping(tol, max_iter)

    def objective(v):
        return add(total(terms, rows, problem, v, progress=progress), prior(v))

    best = newton.newtons_method(objective, v0, **stop)
    if settled(best, prior):
        (moving,) = total(_moving, rows, problem, best, progress=progress)
        return replace(best, converged=not moving)
    return replace(best, converged=False)


def terms(Phi, t, problem, v):
    """E, grad E and H of a block at v; problem(Phi, t) is a function of v."""
    return problem(Phi, t)(v)


def _moving(Phi, t, problem, best):
    """1 if another step would move some a_n of the block; see `arrived`."""
    there = best.w, best.gradient, best.H
    return (int(not newton.arrived(problem(Phi, t), *there)),)
