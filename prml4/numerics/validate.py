"""Input at the boundary: each function returns what the models compute with,
or raises a ValueError that says what arrived and what was expected.

    Phi      (N, M)  design matrix, finite real numbers
    t        (N,)    targets in {0, 1}; booleans count as 0 and 1
    weights  (N,)    observation weights >= 0, not all zero
    alpha    (M,)    prior precisions >= 0, from one number or one per column

Nothing is modified; contiguous or strided float64 is passed on uncopied.
Fits and predictions ask for all of it. Formulas (error, gradient, hessian, ...)
ask for shapes and targets: of w and Phi with NaN in them they are NaN.
"""

from operator import index

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import eigvalsh, lapack, qr, solve_triangular


def real(name, value):
    """`value` as float64, or a ValueError if that would lose its meaning."""
    if np.ma.is_masked(value):
        raise ValueError(f"{name} must hide no entries; got a masked array")
    try:
        array = np.asarray(value)
    except ValueError as ragged:
        raise ValueError(
            f"{name} must be a regular array; got {ragged}"
        ) from None
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
    if array.dtype.kind not in "biuf":
        single = array.ndim == 0 and array.dtype.kind == "O"
        got = type(value).__name__ if single else f"dtype {array.dtype}"
        raise ValueError(f"{name} must hold real numbers; got {got}")
    return np.asarray(array, dtype=np.float64)


def finite(name, array, first=0):
    """`array` itself if its entries and the sum of their squares are finite.

    It may be a block of rows, `first` the number of its first one.
    """
    flat = array.ravel(order="K")  # a view if the memory has no gaps
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.vdot(flat, flat)
    if not np.isfinite(squares):
        at = np.unravel_index(np.argmax(np.abs(array)), array.shape)
        where = ", ".join(str(i + first * (j == 0)) for j, i in enumerate(at))
        raise ValueError(
            f"{name} must be finite and below 1e150; "
            f"got {array[at]:g}{f' at [{where}]' if at else ''}"
        )
    return array


def matrix(X, name="X"):
    """Matrix (N, M) with N, M >= 1 of real numbers, finite or not."""
    X = real(name, X)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(
            f"{name} must be a matrix (N, M) with at least one row and one "
            f"column; got shape {X.shape}"
        )
    return X


def design(Phi, name="Phi"):
    """Design matrix (N, M) with N, M >= 1, real and finite."""
    return finite(name, matrix(Phi, name))


def points(X, name="X"):
    """X as a design matrix (N, D), D = 1 for a vector."""
    X = real(name, X)
    return design(X[:, None] if X.ndim == 1 else X, name)


def columns(Phi, M, name="Phi"):
    """Design matrix with as many columns as that of the fit had."""
    return finite(name, width(Phi, M, name))


def width(Phi, M, name):
    """Matrix with as many columns as that of the fit had, finite or not."""
    Phi = matrix(Phi, name)
    if Phi.shape[1] != M:
        letter = "D" if name == "X" else "M"
        raise ValueError(
            f"{name} must have {letter} = {M} columns, as in the fit; "
            f"got shape {Phi.shape}"
        )
    return Phi


def prediction(fit, Phi, name="w", ndim=1):
    """Weights of a fit, or bare ones, and the design matrix they suit.

    w is (M,), or (K, M) with ndim = 2; the fit goes first.
    """
    w = real(name, getattr(fit, name, fit))
    if w.ndim != ndim:
        raise ValueError(
            f"{name} must be a fit or its weights, {ndim}-dimensional, and go "
            f"before Phi; got shape {w.shape}"
        )
    return finite(name, w), columns(Phi, w.shape[-1])


def fitted(fit, *kinds, name="fit"):
    """The fit itself, or another value, if it is of one of the kinds."""
    if not isinstance(fit, kinds):
        names = [kind.__name__ for kind in kinds]
        got = type(fit).__name__
        if got in names:
            got = f"that of {type(fit).__module__}"
        raise ValueError(f"{name} must be a {' or '.join(names)}; got {got}")
    return fit


def at_minimum(fit):
    """The fit itself if there is a minimum for its errors to be about."""
    if getattr(fit, "separated", None):
        raise ValueError(
            "fit must have a minimum for its curvature to be a variance; got "
            f"one of separable classes ({fit.separated})"
        )
    return fit


def one_each(name, value, size, per):
    """Vector of `size` real numbers, finite or not, one per `per`."""
    value = real(name, value)
    if value.shape != (size,):
        raise ValueError(
            f"{name} must have shape ({size},), one per {per}; "
            f"got shape {value.shape}"
        )
    return value


def vector(name, value, size, per):
    """Vector of `size` finite real numbers, one per `per`."""
    return finite(name, one_each(name, value, size, per))


def activations(w, Phi):
    """a_n = w^T phi_n (N,), one for each row of Phi; no column of them."""
    w, Phi = real("w", w), real("Phi", Phi)
    if Phi.ndim != 2 or w.shape != Phi.shape[1:]:
        raise ValueError(
            "w must be a vector with a weight for each column of Phi; "
            f"got shapes {w.shape} and {Phi.shape}"
        )
    return Phi @ w


def arguments(w, M):
    """w (..., M), one set of M real parameters per row."""
    w = real("w", w)
    if w.ndim == 0 or w.shape[-1] != M:
        raise ValueError(f"w must have shape (..., {M}); got {w.shape}")
    return w


def held(w, alpha, m0=0.0):
    """w - m0 and alpha of a prior: no pairs of their entries."""
    w, M = real("w", w), np.shape(w)[-1:]
    for name, value in (("alpha", alpha), ("m0", m0)):
        if np.shape(value) not in ((), M):
            raise ValueError(
                f"{name} must be one number or have shape {M}, one per "
                f"column; got shape {np.shape(value)}"
            )
    return w - real("m0", m0), real("alpha", alpha)


def vector_or_zeros(name, value, size, per):
    """Vector of `size` finite real numbers, or as many zeros for None.

    A copy: a way down that begins at its end hands it back.
    """
    if value is None:
        return np.zeros(size)
    return vector(name, value, size, per).copy()


def two_classes(Phi, t, weights=None):
    """Phi, t and weights of a two-class problem; rows of weight 0 left out."""
    Phi = design(Phi)
    N = len(Phi)
    t, weights = binary_targets(t, N), observation_weights(weights, N)
    return rows_that_count(weights, Phi, t, weights)


def rows_that_count(weights, *arrays):
    """The arrays without rows of weight 0: nothing there may matter."""
    if weights is None or weights.all():
        return arrays
    return tuple(array[weights > 0] for array in arrays)


def binary_targets(t, N):
    """Targets (N,) in {0, 1} as floats; any other coding is refused."""
    t = one_each("t", t, N, "row")
    if np.count_nonzero(t == 0) + np.count_nonzero(t == 1) != N:
        hint = "; use (t + 1) / 2" if set(np.unique(t)) == {-1, 1} else ""
        raise ValueError(f"t must be in {{0, 1}}; got {_some(t)}{hint}")
    return t


def _some(t):
    """The first of the values that occur."""
    found = np.unique(t)
    shown = ", ".join(f"{v:g}" for v in found[:5])
    return f"{{{shown}{', ...' if found.size > 5 else ''}}}"


def observation_weights(weights, N):
    """Weights (N,) >= 0, not all zero; None stays None and means ones."""
    if weights is None:
        return None
    weights = vector("weights", weights, N, "row")
    if weights.min() < 0 or not weights.any():
        raise ValueError(
            "weights must be >= 0 and not all zero; "
            f"got values from {weights.min():g} to {weights.max():g}"
        )
    if weights.sum() < 1e-9:  # a step that promises 1e-16 would end a fit
        raise ValueError(
            "weights must not sum to less than 1e-9, or rounding decides; "
            f"got {weights.sum():g}: multiply them, and a prior's alpha"
        )
    return weights


def precisions(alpha, M, proper=False):
    """Prior precisions (M,) >= 0 from one number or one per column.

    A `proper` prior has none that is 0.
    """
    alpha = variances("alpha", alpha, M, "column")
    if proper and not alpha.all():
        raise ValueError(
            "alpha must be > 0, for a flat prior is improper; got 0"
        )
    return alpha


def variances(name, value, size, per="column of c_star"):
    """Numbers >= 0 (size,) from one for all or one per `per`."""
    value = real(name, value)
    if value.shape not in ((), (size,)):
        raise ValueError(
            f"{name} must be one number or have shape ({size},), one per "
            f"{per}; got shape {value.shape}"
        )
    value = finite(name, np.array(np.broadcast_to(value, (size,))))
    if value.min() < 0:
        raise ValueError(f"{name} must be >= 0; got {value.min():g}")
    return value


def both_classes(t, weights=None):
    """Raise a ValueError unless both classes occur with weight > 0."""
    found = np.unique(t if weights is None else t[weights > 0])
    if found.size == 1:
        raise ValueError(
            f"t must hold both classes; got only {found[0]:g} (with a prior "
            "on every weight, alpha > 0, one class is enough)"
        )


def independent_columns(Phi, names=None):
    """Raise a ValueError that names the columns that depend on others."""
    N, M = Phi.shape
    names = np.arange(M) if names is None else names
    scale = np.abs(Phi).max(axis=0)
    A = Phi / np.where(scale > 0, scale, 1)
    R, order = qr(A, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int(np.sum(size > max(N, M) * np.finfo(float).eps * size[0]))
    if rank == M:
        return
    X = solve_triangular(R[:rank, :rank], R[:rank, rank:]) if rank else R[:0]
    said = [
        _dependence(names[j], names[order[:rank]][np.abs(x) > 1e-8])
        for j, x in zip(order[rank:], X.T, strict=True)
    ]
    raise ValueError(
        f"Phi must have independent columns where there is no prior; got rank "
        f"{rank} for {M} columns: {'; '.join(said[:3])}"
        f"{'; ...' if len(said) > 3 else ''}. Leave them out or give them a "
        "prior (alpha > 0)"
    )


def _dependence(j, others):
    """Column j in words."""
    if not others.size:
        return f"column {j} is zero"
    listed = ", ".join(str(i) for i in np.sort(others)[:5])
    more = ", ..." if others.size > 5 else ""
    return f"column {j} is a combination of {listed}{more}"


def classes(t, N, K=None, empty=False):
    """Class numbers (N,) as integers and K; each of 0, ..., K - 1 has rows.

    K is one more than the largest number unless it is given. Where a prior
    allows it a class may be `empty`.
    """
    t = one_each("t", t, N, "row")
    top = t.max() + 1 if K is None else whole("K", K, 2)
    with np.errstate(invalid="ignore"):
        numbers = t.astype(np.intp)
    fits = 0 <= t.min() and t.max() < top
    if top < 2 or not (fits and np.array_equal(numbers, t)):
        raise ValueError(_class_numbers(t, K))
    if empty:
        return numbers, int(top)
    found = np.flatnonzero(np.bincount(numbers)) if top <= N else np.unique(t)
    if found.size < top:
        gap = np.flatnonzero(np.r_[found, -1] != np.arange(found.size + 1))[0]
        raise ValueError(
            f"t must hold each of 0, ..., {top - 1:g}; got no row of class "
            f"{gap}, so that nothing can be estimated for it: leave it out and "
            "number the others without gaps"
        )
    return numbers, int(top)


def _class_numbers(t, K, name="t"):
    """What t holds, and what it should hold."""
    last = "K - 1" if K is None else f"{K - 1}"
    return (
        f"{name} must hold the class numbers 0, ..., {last} of at least two "
        f"classes; got {_some(t)}"
    )


def posteriors(P):
    """Probabilities (N, K) of K >= 2 classes: each row >= 0, with sum 1."""
    P = design(P, "P")
    gap = np.abs(P.sum(axis=1) - 1).max()
    if P.shape[1] < 2 or P.min() < 0 or gap > 1e-6:  # single precision
        raise ValueError(
            "P must hold in each row probabilities >= 0 of at least two "
            f"classes with sum 1; got shape {P.shape}, smallest entry "
            f"{P.min():g}, sums off by {gap:.1e}"
        )
    return P


def probabilities(name, value, K):
    """Probabilities (K,) of K >= 2 classes: positive, with sum 1; a copy.

    None is below 2e-308, where 1 / p overflows.
    """
    value = vector(name, value, K, "class").copy()
    least = np.finfo(float).tiny
    if K < 2 or value.min() < least or abs(value.sum() - 1) > 1e-9:
        raise ValueError(
            f"{name} must hold positive probabilities of at least two classes "
            f"with sum 1; got {value} with sum {value.sum():g}"
        )
    return value


def symmetric(name, value, shapes):
    """Symmetric matrix, or stack of them, of one of the shapes."""
    value = finite(name, real(name, value))
    if value.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise ValueError(f"{name} must have shape {wanted}; got {value.shape}")
    gap = np.abs(value - np.swapaxes(value, -1, -2)).max()
    if gap > 1e-9 * np.abs(value).max():
        raise ValueError(f"{name} must be symmetric; got a gap of {gap:.1e}")
    return value


def covariance(name, value, shapes):
    """The same, symmetric also in units of its standard deviations.

    Of columns below 1e150 it may have larger entries: no one squares them.
    """
    value = real(name, value)
    top = np.abs(value).max(initial=0.0)
    symmetric(name, value / (top if 1e150 < top < np.inf else 1.0), shapes)
    var = np.diagonal(value, axis1=-2, axis2=-1)
    size = np.sqrt(np.where(var > 0, var, 1.0))
    R = value / size[..., None] / size[..., None, :]
    symmetric(f"{name}, as correlations,", R, [R.shape])
    return value


def several_classes(Phi, t, weights=None, empty=False):
    """Phi, class numbers t, K and weights; rows of weight 0 left out."""
    Phi = design(Phi)
    N = len(Phi)
    numbers, K = one_of_k(t, N, empty)
    weights = observation_weights(weights, N)
    if weights is not None and not empty:
        mass = np.bincount(numbers, weights)
        if not mass.all():
            raise ValueError(
                "weights must be > 0 in a row of each class; got none for "
                f"class {mass.argmin()}"
            )
    Phi, numbers, weights = rows_that_count(weights, Phi, numbers, weights)
    return Phi, numbers, K, weights


def one_of_k(t, N, empty=False):
    """Class numbers (N,) and K, from class numbers or from rows of T (N, K).

    Every row of T must hold a single 1 and zeros; every class has a row, but
    that T may have `empty` columns.
    """
    T = real("t", t)
    if T.ndim != 2:
        return classes(T, N)
    if len(T) != N or T.shape[1] < 2:
        raise ValueError(
            f"T must have shape ({N}, K), one row per row of Phi and one "
            f"column per class, at least two; got shape {T.shape}"
        )
    numbers = T.argmax(axis=1)
    wrong = np.flatnonzero((T != np.eye(T.shape[1])[numbers]).any(axis=1))
    if wrong.size:
        raise ValueError(
            "T must hold in each row a single 1 and zeros; got row "
            f"{wrong[0]} = {T[wrong[0]]} ({wrong.size} of {N} rows)"
        )
    return classes(numbers, N, T.shape[1], empty)


def flip_probability(epsilon):
    """Chance in [0, 1/2) that a label was flipped, as a float."""
    wanted = "be one number in [0, 1/2)"
    return number("epsilon", epsilon, lambda e: 0 <= e < 0.5, wanted)


def number(name, value, fits, wanted):
    """One number for which fits(number), as a float."""
    found = real(name, value)
    if found.shape != () or not fits(found):
        raise ValueError(f"{name} must {wanted}; got {value}")
    return float(found)


def labels(t, N, K, name="t"):
    """Class numbers (N,) out of 0, ..., K - 1; a class may have no rows."""
    t = one_each(name, t, N, "row")
    if not np.isin(t, range(K)).all():
        raise ValueError(_class_numbers(t, K, name))
    return t.astype(np.intp)


def whole(name, value, least=1):
    """A whole number, at least so large, as an int."""
    try:
        found = index(value)
    except TypeError:
        found = least - 1
    if found < least:
        raise ValueError(
            f"{name} must be a whole number >= {least}; got {value!r}"
        )
    return found


def gaussian(mean, root):
    """mean (M,) and root (M, M) of N(mean, root root^T), both finite."""
    mean, root = real("mean", mean), real("root", root)
    if mean.ndim != 1 or root.shape != (len(mean), len(mean)):
        raise ValueError(
            "mean must be (M,) and root must be (M, M); got shapes "
            f"{mean.shape} and {root.shape}"
        )
    return finite("mean", mean), finite("root", root)


def invertible(name, A):
    """A square matrix itself if its determinant is not 0."""
    if not np.isfinite(np.linalg.slogdet(A)[1]):
        raise ValueError(f"{name} must be invertible; got determinant 0")
    return A


def freedom(nu):
    """Degrees of freedom of Student's t, so many that draws are numbers."""
    wanted = "be finite and at least 0.1"
    return number("nu", nu, lambda nu: 0.1 <= nu < np.inf, wanted)


def stopping(tol, max_iter):
    """When a way down ends: tol > 0 and a number of steps, as keywords."""
    most = whole("max_iter", max_iter)
    return {"tol": positive("tol", tol), "max_iter": most}


def choice(name, value, choices):
    """`value` itself if it is one of the choices."""
    if np.ndim(value) or value not in tuple(choices):
        said = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {said}; got {value!r}")
    return value


def damping(value):
    """Share d of a step that is taken, 0 < d <= 1, as a float."""
    return number("damping", value, lambda d: 0 < d <= 1, "lie in (0, 1]")


def rows(order, N):
    """Row numbers 0 <= n < N, in any order, as ints; None is all in turn."""
    order = np.arange(N) if order is None else np.asarray(order)
    whole = order.ndim == 1 and order.size and order.dtype.kind in "iu"
    if not whole or order.min() < 0 or order.max() >= N:
        raise ValueError(f"order must list rows 0, ..., {N - 1}; got {order}")
    return order


def permutation(order, N):
    """Row numbers in which each of 0, ..., N - 1 stands once."""
    order = rows(order, N)
    if not np.array_equal(np.sort(order), np.arange(N)):
        raise ValueError(f"order must hold each of {N} rows once; got {order}")
    return order


def not_negative(name, value):
    """One finite number >= 0 as a float."""
    value = finite(name, real(name, value))
    return number(name, value, lambda x: x >= 0, "be >= 0, one number")


def pseudo_counts(value):
    """a, b >= 0 of a Beta prior, from one number for both or from a pair."""
    pair = finite("pseudo_count", real("pseudo_count", value))
    if pair.shape not in ((), (2,)) or pair.min() < 0:
        raise ValueError(
            "pseudo_count must be one number >= 0 or a pair of them; "
            f"got {value}"
        )
    return np.broadcast_to(pair, (2,))


def grid(log_p, x):
    """ln p (S,), none NaN and one finite, over evenly rising x (S,), S > 1."""
    x, log_p = real("grid", x), real("log_p", log_p)
    h = np.diff(x) if x.ndim == 1 and x.size > 1 else np.zeros(1)
    with np.errstate(invalid="ignore"):
        if not (h.min() > 0 and np.ptp(h) <= 1e-6 * h.max()):
            raise ValueError(
                f"grid must rise evenly, (S,), S > 1; got shape {x.shape} with "
                f"steps from {h.min():g} to {h.max():g}"
            )
    top = one_each("log_p", log_p, x.size, "node").max()
    if not np.isfinite(top):
        raise ValueError(f"log_p must have a finite maximum; got {top:g}")
    return log_p, x


def mask(observed, shape):
    """True where an entry of X is known, or None where all are."""
    if observed is None:
        return None
    hidden, observed = np.ma.is_masked(observed), np.asarray(observed)
    if hidden or observed.dtype != bool or observed.shape != shape:
        raise ValueError(
            f"observed must be boolean and of the shape of X, {shape}; got "
            f"{'masked ' * hidden}{observed.dtype} of shape {observed.shape}"
        )
    return observed


def bits(x, rows, remedy=""):
    """The given rows x of X, if they hold 0 and 1 only.

    The remedy is what to do about a NaN.
    """
    if np.array_equal(x != 0, x == 1):
        return x
    n, i = np.argwhere((x != 0) & (x != 1))[0]
    raise ValueError(
        f"X must hold 0 and 1 only; got {x[n, i]:g} at [{rows[n]}, {i}]"
        f"{remedy if np.isnan(x[n, i]) else ''}"
    )


def positive(name, value):
    """One number with 0 < number < inf, as a float."""
    wanted = "be one positive, finite number"
    return number(name, value, lambda x: 0 < x < np.inf, wanted)


def cross(c_star, N, name="c_star"):
    """Covariances (N, n) of the N points of a fit with n new ones."""
    c_star = design(c_star, name)
    if len(c_star) != N:
        raise ValueError(
            f"{name} must have N = {N} rows, one per point of the fit; "
            f"got shape {c_star.shape}"
        )
    return c_star


class Indefinite(LinAlgError):
    """A kernel matrix by which a sum of values would have variance below 0."""


class SingularKernel(Indefinite):
    """A value is determined by others: its covariance cannot be inverted."""


def kernel_matrix(C):
    """Kernel matrix (N, N): symmetric, no eigenvalue below -1e-8 |C|.

    |C| is Frobenius' norm. C + 1e-8 |C| I must have a Cholesky factor: a
    singular C, which rounding has made indefinite by a little, passes.
    """
    C = finite("C", matrix(C, "C"))
    if C.shape[0] != C.shape[1]:
        raise ValueError(f"C must be a square matrix; got shape {C.shape}")
    size = np.sqrt(np.vdot(C, C))
    blocks = [slice(i, i + 128) for i in range(0, len(C), 128)]
    gap = max(
        np.abs(C[i, j] - C[j, i].T).max()
        for k, i in enumerate(blocks)
        for j in blocks[: k + 1]
    )
    if gap > 1e-9 * size:
        raise ValueError(f"C must be symmetric; got a gap of {gap:.1e}")
    shifted = np.array(C, order="C")
    shifted.flat[:: len(C) + 1] += max(1e-8 * size, np.finfo(float).tiny)
    _, info = lapack.dpotrf(shifted.T, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        least = eigvalsh(C, subset_by_index=[0, 0])[0]
        raise Indefinite(
            "C must be positive semi-definite, a matrix of covariances; got "
            f"the eigenvalue {least:.3g} beside a norm of {size:.3g}"
        )
    return C
