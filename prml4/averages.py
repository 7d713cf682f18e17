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

from functools import cache

import numpy as np
from scipy.special import gammaln, roots_hermitenorm, zeta

from . import special

FALL = 37.0  # e^-37: what is left of an integrand where we cut it off
DECAY = 39.0  # e^-39: what the poles may add, a few orders of them
STEPS = 0.72, 0.4  # of `quadrature`, where s is small and elsewhere
BLUNT = 9.0  # standard deviations from which its series in 1 / s^2 is used
ROWS = 2**11  # averages worked on at once
CHUNK = 2**15  # numbers worked on at once: they stay in cache
NODES = 2**22  # of a grid for several classes, at most
WIDE = 300.0  # standard deviations from which sigma is but a blurred step
ROOT_TWO_PI = np.sqrt(2 * np.pi)


def logistic(mu, s2, t=1):
    """(ln Z, d ln Z/d mu, d^2 ln Z/d mu^2), Z = int sigma(+-a) N(a|mu, s2) da.

    Z and the derivatives to 1e-12, relative, for |mu| <= 40, s2 <= 100. The
    mean of q is mu + s2 d1, its variance s2 + s2^2 d2.
    """
    mu, s, t, shape = _arguments(mu, s2, t)
    sign = 2.0 * t - 1
    out = np.empty((3, mu.size))
    wide = s > WIDE
    for average, kind in ((_tilted, ~wide), (_blurred, wide)):
        rows = np.flatnonzero(kind)
        for some in _chunks(s[rows]):
            at = rows[some]
            out[:, at] = average(sign[at] * mu[at], s[at])
    out[1] *= sign
    return tuple(side.reshape(shape)[()] for side in out)


def _tilted(mu, s):
    """ln Z = ln int sigma N, d1 = E_q[sigma(-a)], d2 = var_q - E_q[sigma'].

    1 - sigma(-a) has the same variance: we take the smaller of the two.
    """
    left, right = _ends(mu, s)
    n = int(np.max((right - left) / _step(s))) + 2
    h = (right - left) / n
    x = left + h * np.arange(n + 1)[:, None]
    a = mu + s * x
    g = special.log_sigmoid(a) - x * x / 2
    top = g.max(axis=0)
    q = np.exp(g - top)
    total = q.sum(axis=0)
    q /= total
    d1 = np.sum(q * special.sigmoid(-a), axis=0)
    y = special.sigmoid(np.where(mu + s * s * d1 > 0, -a, a))
    spread = np.sum(q * (y - np.sum(q * y, axis=0)) ** 2, axis=0)
    d2 = spread - np.sum(q * special.sigmoid_prime(a), axis=0)
    return top + np.log(total * h / ROOT_TWO_PI), d1, d2


def _blurred(mu, s):
    """The same for large s: sigma is a step, blurred by logistic noise e.

    sigma(a) = P(e <= a), hence Z = int sigma'(e) Phi((mu - e) / s) de, whose
    integrand is as narrow as sigma', whatever s; poles at e = +-i pi. For
    mu < -s^2 / 2, as sigma(a) = e^a sigma(-a), Z(mu) is
    exp(mu + s^2 / 2) Z(-mu - s^2).
    """
    far = mu < -0.5 * s * s
    given, mu = mu, np.where(far, -mu - s * s, mu)
    e = np.linspace(-90, 90, 361)[:, None]
    noise = special.sigmoid_prime(e)
    noise /= noise.sum()

    def average(mu):
        z, middle = (mu - e) / s, special.log_normal_cdf(mu / s)
        q = noise * np.exp(special.log_normal_cdf(z) - middle)
        return z, q, middle + np.log(q.sum(axis=0))

    z, q, _ = average(mu)
    q /= q.sum(axis=0)
    r = special.mills(z)
    d1 = np.sum(q * r, axis=0)
    d2 = np.sum(q * (special.mills_prime(z) + (r - d1) ** 2), axis=0)
    less = average(-np.abs(mu))[2]  # ln of the smaller one of Z and 1 - Z
    log_Z = np.where(mu > 0, np.log1p(-np.exp(less)), less)
    log_Z = np.where(far, given + 0.5 * s * s + log_Z, log_Z)
    return log_Z, np.where(far, 1 - d1 / s, d1 / s), d2 / s**2


def _step(s):
    """h with 2 pi y / h = DECAY, y = s for the Gaussian, pi / s for poles.

    Below s = pi / sqrt(2 DECAY) the Gaussian's own transform
    exp(-2 pi^2 / h^2) decides, above it the poles, which the Gaussian makes
    exp(pi^2 / 2 s^2) times as strong.
    """
    gauss = np.pi * np.sqrt(2 / DECAY)
    least = np.pi / np.sqrt(2 * DECAY)
    poles = 2 * np.pi**2 / (DECAY * np.maximum(s, least) ** 2 + np.pi**2 / 2)
    return np.where(s < least, gauss, poles * np.maximum(s, least))


def _ends(mu, s):
    """Where sigma N, sigma^3 N, sigma^2 sigma(-a) N have fallen by e^-FALL.

    They are the integrands of Z, of the variance and of E_q[sigma']. From
    sigma(a) <= min(1, e^a): each is below two Gaussians e^ka N. Heights are
    bounded from below by the values at a few points.
    """
    k = np.array([[-1.0], [0], [1], [2], [3]])
    at = mu + k * s * s
    at = np.vstack([at, np.clip(0, at[0], at[-1])])
    density = -0.5 * ((at - mu) / np.where(s > 0, s, 1)) ** 2
    up, down = special.log_sigmoid(at), special.log_sigmoid(-at)
    left, right = np.inf, -np.inf
    for value, tilts in (
        (up, (0, 1)), (3 * up, (0, 3)), (2 * up + down, (-1, 2)),
    ):  # fmt: skip
        floor = np.max(value + density, axis=0) - FALL
        k = np.array(tilts)[:, None]
        reach = np.sqrt(2 * (k * mu + (k * s) ** 2 / 2 - floor))
        left = np.minimum(left, np.max(k * s - reach, axis=0))
        right = np.maximum(right, np.min(k * s + reach, axis=0))
    return left, right


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
    return special.sigmoid(np.broadcast_arrays(mu, _variance(s2))[0])


def kappa(s2):
    """kappa(s2) = 1 / sqrt(1 + pi s2 / 8), PRML (4.154)."""
    return 1 / np.sqrt(1 + np.pi / 8 * _variance(s2))


def mackay(mu, s2):
    """sigma(kappa(s2) mu), PRML (4.153), MacKay (1992)."""
    return special.sigmoid(kappa(s2) * mu)


def exact_probit(mu, s2):
    """int Phi(a) N(a|mu, s2) da = Phi(mu / sqrt(1 + s2)), PRML (4.152)."""
    return special.normal_cdf(mu / np.sqrt(1 + _variance(s2)))


def quadrature(mu, s2):
    """int sigma(a) N(a|mu, s2) da to 1e-13: trapezoidal rule, or a series.

    With steps of STEPS standard deviations, and what the poles add taken off
    again; where s is large, by `series`. An absolute error: use `logistic`
    where tails count.
    """
    mu, s, _, shape = _arguments(mu, s2, 1)
    p = np.empty(mu.size)
    for some, level in _levels(s):
        m, d = mu[some], s[some]
        if d[0] >= BLUNT:
            p[some] = series(m, d)
            continue
        h, m = STEPS[min(level, 1)], m.clip(-200, 200)  # e^-160 beyond
        total = _pairs(m, d, h)
        for k in range(level - 1):
            total += poles(m, d, h, (2 * k + 1) * np.pi)
        p[some] = total
    return p.reshape(shape)[()]


def _pairs(mu, s, h):
    """The sum with the step h s, its terms to the left and right in pairs.

    For mu < 0: sigma(mu + x) + sigma(mu - x) = (c + 2 e^mu) / (c + 2 cosh mu)
    with c = 2 cosh x. Powers of e^hs make all c; for mu > 0 it is 1 - sum.
    """
    n = int(8 / h)
    weights = h / ROOT_TWO_PI * np.exp(-((h * np.arange(n + 1)) ** 2) / 2)
    up, down = np.exp(h * s), np.exp(-h * s)
    rise, fall, c = up.copy(), down.copy(), np.empty((n, mu.size))
    for row in c:
        np.add(rise, fall, out=row)
        rise *= up
        fall *= down
    e = np.exp(-np.abs(mu))
    total = c + 2 * e
    c += e + 1 / e
    total /= c
    total = weights[1:] @ total + weights[0] * e / (1 + e)
    return np.where(mu < 0, total, 1 - total)


def series(mu, s):
    """Phi(r) + sum_k c_k Phi^(2k)(r) / s^2k, r = mu / s: asymptotic in s.

    E[Phi((mu - e) / s)], e logistic noise, by Taylor: its even moments are
    (2k)! c_k, c_k = 2 (1 - 2^(1-2k)) zeta(2k). After the last term the error
    is below the next one's bound, |Phi^(2k)| < sqrt((2k - 1)!) / 2.
    """
    least, r = s.min(), np.clip(mu / s, -39, 39)
    v, u = r / s, 1 / s**2
    old, new = 1 / s, v / s  # He_j(r) / s^(j+1), j = 0, 1
    total = np.zeros(mu.size)
    for k in range(1, 40):
        total += 2 * (1 - 2.0 ** (1 - 2 * k)) * zeta(2 * k) * new
        if 0.5 * gammaln(2 * k + 2) < 2 * (k + 1) * np.log(least) - FALL:
            break
        old, new = new, v * new - (2 * k - 1) * u * old
        old, new = new, v * new - 2 * k * u * old
    return special.normal_cdf(r) - special.normal_pdf(r) * total


def poles(mu, s, h, y):
    """4 pi Im {N(iy|mu, s2) r / (1 - r)}, r = exp{2 pi i (iy - mu) / hs}.

    What the poles of sigma at +-iy take from the sum with the step h s.
    """
    turn, size = 2 * np.pi * mu / (h * s), np.exp(-2 * np.pi * y / (h * s))
    angle = mu * y / s**2 - turn
    up = np.exp((y**2 - mu**2) / (2 * s**2) - 2 * np.pi * y / (h * s))
    part = np.sin(angle) - size * np.sin(angle + turn)
    part /= 1 - 2 * size * np.cos(turn) + size**2
    return 4 * np.pi * up * part / (ROOT_TWO_PI * s)


def _levels(s):
    """Index arrays and a level: 0 narrow, 1 no pole counts, 2 one does, ...,
    100 and more for the series, so that equals have as many terms.

    A pole at height y adds exp(u^2/2 - 2 pi u/h), u = y / s, which is above
    e^-33 for u < reach.
    """
    top = 2 * np.pi / STEPS[1]
    reach = top - np.sqrt(top**2 - 66)
    level = 1 + ((np.minimum(s, BLUNT) * reach / np.pi + 1) / 2).astype(
        np.uint8
    )
    level[s < 0.35] = 0
    level[s >= BLUNT] = 99 + np.log2(s[s >= BLUNT])
    order = np.argsort(level, kind="stable")
    level = level[order]
    cuts = np.flatnonzero(np.diff(level)) + 1
    for run in np.split(np.arange(s.size), cuts):
        for k in range(0, run.size, ROWS):
            yield order[run[k : k + ROWS]], int(level[run[0]])


def gauss_hermite(mu, s2, n=20):
    """sum_i omega_i sigma(mu + s x_i), exact for polynomials up to 2n - 1."""
    x, omega = _hermite(n)
    mu, s, _, shape = _arguments(mu, s2, 1)
    a = mu[:, None] + s[:, None] * x
    return (special.sigmoid(a) @ omega).reshape(shape)[()]


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
    draws = np.asarray(draws, float)
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
    return special.softmax(_with_zero(mu))


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
        y = 1 / (2 - K + np.sum(1 / p, axis=2) - 2)  # j = k added 1 / sigma(0)
    return y / y.sum(axis=1, keepdims=True)


def softmax_grid(mu, C):
    """int softmax(a) N(a | mu, C) da by the trapezoidal rule, to 1e-11.

    In K - 1 <= 3 dimensions. K numbers of an arc below pi do not sum to zero,
    so the poles are where some a_j - a_k leaves the strip |Im| < pi.
    """
    mu, C = _gaussians(mu, C)
    N, d = mu.shape
    if d > 3:
        raise ValueError(f"a grid is for 4 classes at most; got {d + 1}")
    s = np.sqrt(_differences(C).max(axis=(1, 2)))
    if N and (15 / _step(s.max())) ** d > NODES:
        raise ValueError(
            f"a grid over {d} activations is too large for a standard "
            f"deviation of {s.max():.3g}: use softmax_monte_carlo"
        )
    p = np.empty((N, d + 1))
    for n, L in enumerate(_roots(C)):
        h = float(_step(s[n]))
        axis = h * np.arange(-int(7.5 / h), int(7.5 / h) + 1)
        z = np.stack(np.meshgrid(*[axis] * d), -1).reshape(-1, d)
        weights = np.exp(-0.5 * np.sum(z**2, axis=1))
        a = _with_zero(mu[n] + z @ L.T)
        p[n] = weights @ special.softmax(a) / weights.sum()
    return p


def softmax_monte_carlo(mu, C, draws):
    """1/S sum_i softmax(mu + L z_i), C = L L^T, draws z (S, K - 1)."""
    mu, C = _gaussians(mu, C)
    draws = _draws(draws, 2)
    y = np.empty((len(mu), mu.shape[1] + 1))
    for rows in _slices(len(mu), draws.size):
        a = np.einsum("njk,sk->nsj", _roots(C[rows]), draws)
        a = _with_zero(a + mu[rows, None])
        y[rows] = special.softmax(a).mean(axis=1)
    return y


def _gaussians(mu, C):
    """mu (N, d) and C (N, d, d) as arrays, finite, no variance negative."""
    mu, C = np.asarray(mu, float), np.asarray(C, float)
    if mu.ndim != 2 or C.shape != (*mu.shape, mu.shape[1]):
        raise ValueError(
            "mu must be (N, K - 1) and C (N, K - 1, K - 1); got shapes "
            f"{mu.shape} and {C.shape}"
        )
    if not (np.isfinite(mu).all() and np.isfinite(C).all()):
        raise ValueError("mu and C must be finite")
    low = np.linalg.eigvalsh(C)
    if np.any(low[:, 0] < -1e-9 * (1 + np.abs(low[:, -1]))):
        raise ValueError(
            f"C must be covariances; got an eigenvalue of {low.min():.3g}"
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
    mu, s2, t = np.broadcast_arrays(np.asarray(mu, float), s2, t)
    if not (np.all(np.isfinite(mu)) and np.all(np.isfinite(s2))):
        raise ValueError("mu and s2 must be finite")
    _variance(s2)
    if not np.all((t == 0) | (t == 1)):
        raise ValueError("t must be 0 or 1")
    return mu.ravel(), np.sqrt(s2.ravel()), t.ravel(), mu.shape


def _variance(s2):
    """s2 as an array, and no negative number or NaN in it."""
    s2 = np.asarray(s2, float)
    if not np.all(s2 >= 0):
        raise ValueError(f"s2 must be a variance >= 0, got {np.min(s2):g}")
    return s2


def _chunks(s):
    """Index arrays, s ascending, so that each has nodes to its own needs."""
    nodes = np.minimum(24 / _step(s), 65535).astype(np.uint16)
    order = np.argsort(nodes, kind="stable")
    start = 0
    while start < s.size:
        stop = start + max(CHUNK // int(nodes[order[start]]), 16)
        yield order[start:stop]
        start = stop
