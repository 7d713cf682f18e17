"""One-dimensional Gaussian averages of a likelihood factor, PRML 4.5.2.

    mu, s2   mean and variance of the activation a ~ N(mu, s2), any shapes
    x        standardised, a = mu + s x;  h its step
    Z        integral of sigma(a) N(a | mu, s2) da, sigma(-a) for t = 0
    q        the tilted density sigma(a) N(a | mu, s2) / Z

The trapezoidal rule on the whole line errs by exp(-2 pi y / h) for a function
analytic up to the height y. Gaussians are so everywhere, sigma up to its
poles at +-i pi. Gauss-Hermite sees polynomials instead, and loses sight of
a step that is narrow beside the Gaussian.
"""

from functools import cache, partial

import numpy as np
from scipy.special import ndtri, roots_hermitenorm

from prml4.numerics import cubature, special, validate

FALL = 37.0  # e^-37: what is left of an integrand where we cut it off
DECAY = 39.0  # e^-39: what the poles may add, a few orders of them
SPAN = 8.5  # standard deviations from mu at which `quadrature` ends
STEEP = 80.0  # of those up to which e^{SPAN s} is a number
NEWTON = 30  # steps to the mode, before a bisection looks for it
BISECTION = 100  # more of them, of a bracket up to 1e308
CHUNK = 2**15  # numbers worked on at once: they stay in cache
ROWS = 2**13  # averages, where a loop goes along the nodes
NODES = 2**22  # of a grid for several classes, at most
WIDE = 60.0  # standard deviations from which sigma is but a blurred step
WIDEST = 1e5  # for other factors, where nodes would be too many
DIM = 100.0  # -ln q from which on its rounding outgrows what we promise
LOST = 1e8  # standard deviations from mu at which nodes are no longer apart
WHOLE = 1e13  # distance from mu beyond which a has no digits after its point
HUGE = 1e300  # what stands for a slope or a curvature beyond all numbers
SIDES = np.array([[-1.0], [1.0]])
ROOT_TWO_PI = np.sqrt(2 * np.pi)


def logistic(mu, s2, t=1):
    """(ln Z, d ln Z/d mu, d^2 ln Z/d mu^2), Z = int sigma(+-a) N(a|mu, s2) da.

    All three to 1e-12, relative, for |mu| <= 40 and s2 <= 100. The mean
    of q is mu + s2 d1, its variance s2 + s2^2 d2.
    """
    mu, s, t, shape = _arguments(mu, s2, t)
    sign = 2.0 * t - 1
    m, out = -np.abs(mu), np.empty((3, mu.size))
    far = (s <= WIDE) & (m < -750 - 2 * s * s)  # there sigma(a) is e^a
    out[:, far] = (m + s * s / 2)[far], np.ones(far.sum()), np.zeros(far.sum())
    wide, rest = np.flatnonzero(s > WIDE), np.flatnonzero(~far & (s <= WIDE))
    for rows in (wide[k : k + 64] for k in range(0, wide.size, 64)):
        out[:, rows] = _blurred(m[rows], s[rows])
    ends = _ends(m[rest], s[rest])
    given = _log_sigmoid, m[rest], s[rest]
    out[:, rest] = _tilted(*given, *ends, _step(s[rest]))
    out = np.where(sign * mu > 0, _mirrored(*out), out)
    out[1] *= sign
    return tuple(side.reshape(shape)[()] for side in out)


def _mirrored(L, d1, d2):
    """The same at -mu, where Z(-mu) = 1 - Z(mu): nothing there cancels."""
    odds = 1 / np.expm1(np.minimum(-L, 700))
    return np.log1p(-np.exp(L)), odds * d1, -odds * (d2 + d1**2 * (1 + odds))


@np.errstate(over="ignore", divide="ignore")  # -e^a, and what it leaves of p
def log_concave(log_p, mu, s2, t=1):
    """ln Z = ln int p(t|a) N(a|mu, s2) da, d1, d2 for any p log-concave in a.

    log_p is a function of (a, t, order). Errors of ln Z, s d1 and s2 d2 are
    absolute, 1e-11 for |mu| <= 40; beyond it 1e-8, relative to them. They are
    1e-16 |ln Z| where that is more, the rounding of ln p; and for s2 beyond 1e4
    that of s2 d2 is 1e-15 s2 instead, as rounding does not shrink.
    """
    mu, s, t, shape = _arguments(mu, s2, t)
    if np.any(s > WIDEST):
        raise ValueError(
            f"s2 must be at most {WIDEST**2:.0e} for a grid; got {np.max(s2):g}"
        )
    out = np.empty((3, mu.size))
    for label in (0, 1):
        rows = np.flatnonzero(t == label)
        terms = partial(log_p, t=label, order=2)
        given = terms, mu[rows], s[rows]
        found = np.array(_mode(*given))
        far = np.abs(found[0]) > LOST
        for some, average in ((far, _at_mode), (~far, _about_mode)):
            at = rows[some]
            out[:, at] = average(terms, mu[at], s[at], *found[:, some])
    return tuple(side.reshape(shape)[()] for side in out)


def _log_sigmoid(a):
    """ln sigma(a), sigma(-a), -sigma'(a) in one pass, z = e^-|a|."""
    z = np.exp(-np.abs(a))
    lack = np.where(a > 0, z, 1.0) / (1.0 + z)
    return np.minimum(a, 0.0) - np.log1p(z), lack, -z / (1.0 + z) ** 2


def _tilted(terms, mu, s, left, right, step):
    """ln Z = ln int p N, d1 = E_q[l'], d2 = var_q[l'] + E_q[l''], l = ln p.

    terms(a) -> l, l', l''.
    """
    out = np.empty((3, mu.size))
    for n, rows in _alike((right - left) / step):
        h = (right[rows] - left[rows]) / n
        x = left[rows, None] + h[:, None] * np.arange(n + 1)
        L, d, bend = terms(mu[rows, None] + s[rows, None] * x)
        L = L - x * x / 2
        top = L.max(axis=1)
        q = np.exp(L - top[:, None])
        total = q.sum(axis=1)
        q /= total[:, None]
        d1 = np.sum(q * d, axis=1)
        d = np.sqrt(q) * (d - d1[:, None])
        d2 = np.minimum(np.sum(d * d + q * bend, axis=1), 0)  # p is log-concave
        if top.min() < -DIM:
            d1, d2 = _by_moments(q, x, s[rows], top, d1, d2)
        out[:, rows] = top + np.log(total * h / ROOT_TWO_PI), d1, d2
    return out


def _by_moments(q, x, s, top, d1, d2):
    """d1 = E_q[x] / s, d2 = (var_q[x] - 1) / s2 where q is narrow and far out:
    there l' varies about as much as -l'' is large, and ln q has lost digits.
    """
    mean = np.sum(q * x, axis=1)
    v = np.sum(q * (x - mean[:, None]) ** 2, axis=1)
    rows = (v < 0.5) & (top < -DIM)
    s = np.where(rows, s, 1.0)
    return np.where(rows, mean / s, d1), np.where(rows, (v - 1) / s**2, d2)


def _about_mode(terms, mu, s, mode, width):
    """ln Z, d1, d2 on a grid about the mode of ln p(mu + s x) - x^2 / 2."""
    step = np.minimum(_step(s, 1.0), _step(0.0) * width)
    ends = _reach(terms, mu, s, mode, width)
    return _tilted(terms, mu, s, *ends, step)


def _at_mode(terms, mu, s, mode, width):
    """The same by a Gaussian at the mode, where nodes would be one number."""
    if np.any(s * np.abs(mode) > WHOLE):
        raise ValueError(
            f"mu must be below {WHOLE:.0e} where p(t|a) falls so steeply, or "
            f"no digits are left of a; got {np.abs(mu).max():g}"
        )
    L, _, bend = terms(mu + s * mode)
    return L - mode**2 / 2 + np.log(width), mode / s, bend * width**2


def _alike(need, least=1):
    """(n, rows): rows that need up to n intervals, a third of an octave more.

    Every sum is over a row of its own: a point does not feel its company.
    """
    level = np.ceil(3 * np.log2(need)).astype(int)
    for k in np.flatnonzero(np.bincount(level)):
        rows, n = np.flatnonzero(level == k), int(np.ceil(2 ** (k / 3)))
        size = max(CHUNK // n, least)
        for start in range(0, rows.size, size):
            yield n, rows[start : start + size]


def _mode(terms, mu, s):
    """argmax_x ln p(mu + s x) - x^2 / 2, by Newton's method in a bracket; and
    1 / sqrt of minus the curvature there.

    Where that takes too long, as by units of a down e^a, the bracket is halved,
    on a scale on which no exponent is far away.
    """
    x, moving = np.zeros_like(mu), np.ones(mu.shape, bool)
    end = (s * terms(mu)[1]).clip(-HUGE, HUGE)
    low, high = np.minimum(end, 0), np.maximum(end, 0)
    for k in range(NEWTON + BISECTION):
        _, slope, bend = terms(mu + s * x)
        g = s * slope - x
        width = 1 / np.sqrt(np.minimum(1 - s * s * bend, HUGE))
        moving &= np.abs(g) * width > 0.01
        if not moving.any():
            break
        low, high = np.where(g > 0, x, low), np.where(g > 0, high, x)
        new = x + g * width**2
        inside = (low <= new) & (new <= high) & (k < NEWTON)
        half = np.sinh((np.arcsinh(low) + np.arcsinh(high)) / 2)
        new = np.where(inside, new, half)
        x = np.where(moving, new, x)  # each stops by itself
    return x, width


def _reach(terms, mu, s, mode, width):
    """Where q has fallen by e^-FALL: it falls from its mode at least as fast as
    the Gaussian does from mu, and if it is narrow a bisection says how fast.
    """
    near, ends = np.array([mode, mode]), np.sqrt(2 * FALL) * SIDES + mode
    narrow = width < 0.1
    if narrow.any():

        def log_q(x):
            return terms(mu[narrow] + s[narrow] * x)[0] - x * x / 2

        low, far = near[:, narrow], ends[:, narrow]
        floor = log_q(low[0]) - FALL
        for _ in range(30):
            half = (low + far) / 2
            beyond = log_q(half) < floor
            low, far = np.where(beyond, low, half), np.where(beyond, half, far)
        ends[:, narrow] = far
    return ends


def _blurred(mu, s):
    """The same for large s: sigma is a step, blurred by logistic noise e.

    sigma(a) = P(e <= a), hence Z = int sigma'(e) Phi((mu - e) / s) de, whose
    integrand is as narrow as sigma', whatever s; poles at e = +-i pi. For
    mu < -s^2 / 2, as sigma(a) = e^a sigma(-a), Z(mu) is
    exp(mu + s^2 / 2) Z(-mu - s^2).
    """
    far = mu < -0.5 * s * s
    given, mu = mu, np.where(far, -mu - s * s, mu)
    e = np.linspace(-90, 90, 361)
    z, middle = (mu[:, None] - e) / s[:, None], special.log_normal_cdf(mu / s)
    noise = special.sigmoid_prime(e)
    noise /= noise.sum()
    q = noise * np.exp(special.log_normal_cdf(z) - middle[:, None])
    total = q.sum(axis=1)
    q /= total[:, None]
    r = special.mills(z)
    d1 = np.sum(q * r, axis=1)
    gap = r - d1[:, None]
    gap[np.abs(gap) < 1e-14 * r] = 0  # all rounding, large where r is
    d2 = np.sum(q * (special.mills_prime(z) + gap**2), axis=1)
    log_Z = middle + np.log(total) + np.where(far, given + 0.5 * s * s, 0)
    return log_Z, np.where(far, 1 - d1 / s, d1 / s), d2 / s**2


def _step(s, height=np.pi):
    """h with 2 pi y / h = DECAY, for poles of the factor at a height in a.

    Below s = height / sqrt(2 DECAY) the Gaussian's own transform
    exp(-2 pi^2 / h^2) decides, above it the poles, which the Gaussian makes
    exp(y^2 / 2) times as strong, y = height / s.
    """
    y = height / np.maximum(s, height / np.sqrt(2 * DECAY))
    return 2 * np.pi * y / (DECAY + y**2 / 2)


def _ends(mu, s):
    """Where the integrands of Z, d1 and d2 have fallen by e^-FALL, mu <= 0.

    They are sigma^j sigma(-a)^k N, and the slope of their logarithm, of one of
    these without N, is at most 3 sigma(-a), never negative at mu, and 0.76 at
    least where a <= -2. So their modes are between `low` and `high`, and all
    fall from there at least as fast as the Gaussian does from mu.
    """
    s, reach = np.maximum(s, 1e-9), np.sqrt(2 * FALL)
    low = np.maximum(np.minimum((-2 - mu) / s, 0.76 * s), 0)
    high = np.minimum(3 * s, (np.log1p(3 * s * s) - mu) / s)
    return low - reach, high + reach


def probit(mu, s2, t=1):
    """(ln Z, d1, d2) for Z = int Phi(+-a) N(a|mu, s2) da, in closed form.

    Z = Phi(+-mu / sqrt(1 + s2)), PRML (4.152) with lambda = 1.
    """
    mu, s, t, shape = _arguments(mu, s2, t)
    sign, root = 2.0 * t - 1, np.hypot(1, s)
    z = sign * mu / root
    out = (
        special.log_normal_cdf(z),
        sign / root * special.mills(z),
        special.mills_prime(z) / root**2,
    )
    return tuple(side.reshape(shape)[()] for side in out)


# Schemes for the predictive probability: scheme(mu, s2) -> p(C_1).


def plug_in(mu, s2):
    """sigma(mu): no average at all."""
    return special.sigmoid(np.broadcast_arrays(_mean(mu), _variance(s2))[0])


def kappa(s2):
    """kappa(s2) = 1 / sqrt(1 + pi s2 / 8), PRML (4.154)."""
    return 1 / np.sqrt(1 + np.pi / 8 * _variance(s2))


def mackay(mu, s2):
    """sigma(kappa(s2) mu), PRML (4.153), MacKay (1992)."""
    mu = _mean(mu)
    return special.sigmoid(kappa(s2) * mu)


def exact_probit(mu, s2):
    """int Phi(a) N(a|mu, s2) da = Phi(mu / sqrt(1 + s2)), PRML (4.152)."""
    mu = _mean(mu)
    return special.normal_cdf(mu / np.sqrt(1 + _variance(s2)))


def quadrature(mu, s2):
    """int sigma(a) N(a|mu, s2) da by the trapezoidal rule, to 1e-15.

    An absolute error: use `logistic` where tails count.
    """
    mu, s, _, shape = _arguments(mu, s2, 1)
    p, m = np.empty(mu.size), -np.abs(mu)
    wide, narrow = np.flatnonzero(s > STEEP), np.flatnonzero(s <= STEEP)
    if wide.size:
        p[wide] = np.exp(logistic(m[wide], s[wide] ** 2)[0])
    for n, rows in _alike(SPAN / _step(s[narrow]), ROWS):
        rows = narrow[rows]
        p[rows] = _pairs(m[rows].clip(-700), s[rows], SPAN / n, n)
    return np.where(mu < 0, p, 1 - p).reshape(shape)[()]


def _pairs(mu, s, h, n):
    """The sum for mu <= 0, its terms at +-x together.

    They are (c + 2e) / (c + e + 1/e) with e = e^mu and c = 2 cosh(sx), whose
    two halves are powers of e^{hs} and e^{-hs}.
    """
    weights = np.exp(-((h * np.arange(n + 1)) ** 2) / 2)
    weights[0] /= 2
    e, up, down = np.exp(mu), np.exp(h * s), np.exp(-h * s)
    both, twice = e + 1 / e, 2 * e
    rise, fall = np.ones_like(e), np.ones_like(e)
    total = np.zeros_like(e)
    for weight in weights / (2 * weights.sum()):
        c = rise + fall
        term = c + twice
        term /= c + both
        term *= weight
        total += term
        rise *= up
        fall *= down
    return total


def gauss_hermite(mu, s2, n=20):
    """sum_i omega_i sigma(mu + s x_i), exact for polynomials up to 2n - 1."""
    x, omega = _hermite(validate.whole("n", n))
    mu, s, _, shape = _arguments(mu, s2, 1)
    a = mu[:, None] + s[:, None] * x
    y = special.sigmoid(a) @ omega
    return np.minimum(y, 1).reshape(shape)[()]  # rounding may add to it


@cache
def _hermite(n):
    """Nodes and weights for the standard normal density."""
    x, omega = roots_hermitenorm(n)
    return x, omega / omega.sum()


def monte_carlo(mu, s2, draws):
    """1/S sum_i sigma(mu + s z_i), draws z ~ N(0, 1) of shape (S,)."""
    mu, s, _, shape = _arguments(mu, s2, 1)
    draws = _draws(draws, 1)
    p = np.empty(mu.size)
    for rows in _slices(mu.size, draws.size):
        a = mu[rows, None] + s[rows, None] * draws
        p[rows] = special.sigmoid(a).mean(axis=1)
    return p.reshape(shape)[()]


def _draws(draws, ndim):
    """Draws as an array of finite numbers, one at least."""
    draws = validate.real("draws", draws)
    if draws.ndim != ndim or not draws.size or not np.isfinite(draws).all():
        raise ValueError(
            f"draws must be finite, with {ndim} axes and one draw at least; "
            f"got shape {draws.shape}"
        )
    return draws


def _slices(N, size):
    """Slices of N rows of `size` numbers each, for some memory at a time."""
    step = max(NODES // size, 1)
    return [slice(k, k + step) for k in range(0, N, step)]


# Several classes: mu (N, K - 1) and C (N, K - 1, K - 1) of the activations
# relative to the last class, whose own is zero.


def softmax_plug_in(mu, C):
    """softmax(mu, 0), (N, K): no average at all."""
    del C
    return special.softmax(_with_zero(_mean(mu)))


def softmax_pairs(mu, C):
    """1/y_k = 2 - K + sum_j 1/sigma(a_k - a_j), averaged; Daunizeau (2017).

    Exact before averaging. Each sigma is replaced by sigma(kappa mu), and the
    rows are made to sum to one.
    """
    mu, C = _gaussians(mu, C)
    mu, V = _with_zero(mu), _differences(C)
    K = mu.shape[-1]
    p = mackay(mu[:, :, None] - mu[:, None, :], V)
    with np.errstate(divide="ignore"):  # y = 0 where some p is
        y = 1 / (np.sum(1 / p, axis=2) - K)  # with j = k, 1 / sigma(0) = 2
    return y / y.sum(axis=1, keepdims=True)


def softmax_grid(mu, C):
    """int softmax(a) N(a | mu, C) da by the trapezoidal rule, to 1e-11.

    In K - 1 <= 3 dimensions. K numbers of an arc below pi do not sum to zero,
    so the poles are where some a_j - a_k leaves the strip |Im| < pi.
    """
    mu, C = _gaussians(mu, C)
    N, d = mu.shape
    if d > 3:
        raise ValueError(f"mu must be of 4 classes at most; got {d + 1}")
    s = _widest(C)
    if N and not _for_a_grid(s, d).all():
        raise ValueError(
            f"a grid over {d} activations is too large for a standard "
            f"deviation of {s.max():.3g}: use softmax_monte_carlo"
        )
    p = np.empty((N, d + 1))
    for n, L in enumerate(_roots(C)):
        z = cubature.lattice(d, 7.5, float(_step(s[n])))
        weights = np.exp(-0.5 * np.sum(z**2, axis=1))
        a = _with_zero(mu[n] + z @ L.T)
        p[n] = weights @ special.softmax(a)
    return p / p.sum(axis=1, keepdims=True)


def softmax_monte_carlo(mu, C, draws):
    """1/S sum_i softmax(mu + L z_i), C = L L^T, draws z (S, K - 1)."""
    mu, C = _gaussians(mu, C)
    draws = _draws(draws, 2)
    y = np.empty((len(mu), mu.shape[1] + 1))
    for rows in _slices(len(mu), draws.size):
        a = np.einsum("njk,sk->nsj", _roots(C[rows]), draws)
        a = _with_zero(a + mu[rows, None])
        y[rows] = special.softmax(a).mean(axis=1)
    return y / y.sum(axis=1, keepdims=True)


def softmax(mu, C):
    """int softmax(a) N(a | mu, C) da: by a grid, to 1e-11, or else to 5e-3.

    For K >= 5 classes, or where C is too wide for a grid, at 2^14 points of
    Sobol (1967), made normal: the same ones in every call.
    """
    mu, C = _gaussians(mu, C)
    N, d = mu.shape
    p, fine = np.empty((N, d + 1)), _for_a_grid(_widest(C), d)
    if fine.any():
        p[fine] = softmax_grid(mu[fine], C[fine])
    if not fine.all():
        from scipy.stats import qmc  # which takes a second to import

        draws = ndtri(qmc.Sobol(d, scramble=False).random(2**14) + 2.0**-15)
        p[~fine] = softmax_monte_carlo(mu[~fine], C[~fine], draws)
    return p


def _widest(C):
    """The largest standard deviation of an a_j - a_k, (N,)."""
    return np.sqrt(_differences(C).max(axis=(1, 2)))


def _for_a_grid(s, d):
    """Whether a grid over d activations is small enough, (N,)."""
    return (d <= 3) & (15 / _step(s) <= NODES ** (1 / d))


def _gaussians(mu, C):
    """mu (N, d) and C (N, d, d) as arrays, finite, no variance negative."""
    mu, C = validate.real("mu", mu), validate.real("C", C)
    if mu.ndim != 2 or C.shape != (*mu.shape, mu.shape[1]) or 0 in C.shape[1:]:
        raise ValueError(
            "mu must be (N, K - 1) and C (N, K - 1, K - 1); got shapes "
            f"{mu.shape} and {C.shape}"
        )
    if not (np.isfinite(mu).all() and np.isfinite(C).all()):
        raise ValueError("mu and C must be finite; got NaN or infinity")
    low = np.linalg.eigvalsh(C)
    gap = np.abs(C - C.swapaxes(1, 2)).max(axis=(1, 2))
    if np.any(np.minimum(low[:, 0], -gap) < -1e-9 * (1 + np.abs(low[:, -1]))):
        raise ValueError(
            f"C must be covariances; got an eigenvalue of {low.min():.3g} and "
            f"a gap of {gap.max():.3g} to C^T"
        )
    return mu, C


def _with_zero(a):
    """a with the last class's 0 appended."""
    a = np.asarray(a, float)
    return np.concatenate([a, np.zeros((*a.shape[:-1], 1))], axis=-1)


def _differences(C):
    """var(a_j - a_k) of all K classes, (N, K, K)."""
    C = np.pad(np.asarray(C, float), ((0, 0), (0, 1), (0, 1)))
    own = np.diagonal(C, axis1=1, axis2=2)
    return (own[:, :, None] + own[:, None, :] - 2 * C).clip(0)


def _roots(C):
    """L with C = L L^T by eigenvalues: a variance may be zero."""
    size, U = np.linalg.eigh(C)
    return U * np.sqrt(size.clip(0))[:, None, :]


# Helpers.


def _arguments(mu, s2, t):
    """mu, s, t as flat arrays of one length, and the shape to give back."""
    three = [validate.real(*x) for x in (("mu", mu), ("s2", s2), ("t", t))]
    try:
        mu, s2, t = np.broadcast_arrays(*three)
    except ValueError:
        raise ValueError(
            "mu, s2 and t must have shapes that go together; got "
            + ", ".join(str(x.shape) for x in three)
        ) from None
    if not (np.all(np.isfinite(mu)) and np.all(np.isfinite(s2))):
        raise ValueError("mu and s2 must be finite; got NaN or infinity")
    _variance(s2)
    if not np.all((t == 0) | (t == 1)):
        raise ValueError(f"t must be 0 or 1; got {np.unique(t)[:5]}")
    return mu.ravel(), np.sqrt(s2.ravel()), t.ravel(), mu.shape


def _mean(mu):
    """mu as an array, and no NaN in it."""
    mu = validate.real("mu", mu)
    if np.isnan(mu).any():
        raise ValueError("mu must hold numbers; got NaN")
    return mu


def _variance(s2):
    """s2 as an array, and no negative number or NaN in it."""
    s2 = validate.real("s2", s2)
    if not np.all(s2 >= 0):
        raise ValueError(f"s2 must be a variance >= 0; got {np.min(s2):g}")
    return s2
