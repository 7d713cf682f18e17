"""Numbers that know their own error: differences, quadrature, limits.

The referee of `prml4.check` gets its independent side from here.

    f         a function of one number, with number or array values
    x, h      the point and the step;  h_k = h_0 / 2^k is a ladder of steps
    Estimate  (value, error) with |truth - value| <= error, element by
              element, as far as the method itself can tell

Two errors fight in every difference: truncation, which falls with h, and
rounding, which grows as 1/h. Chapter 01 is about their balance.
"""

import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import integrate

EPS = float(np.finfo(float).eps)
RATIO = 2.0  # neighbouring steps of a ladder
NEARBY = 2.0 ** np.array([-14, -24, -34])  # noise is measured at these h / h_0
APART = 1.0, 1.3  # times these: a step by whole last digits of f shows none
STILL = 0.05  # of the next noise: there a part of f, as ln(1 + e^x), is held
DOUBT = 8.0  # measured noise may be too small by as much
ROWS = (10, 20, 30, 40, 50)  # a ladder grows until rounding has won


class Estimate(NamedTuple):
    """A computed value and what the method says about its error."""

    value: np.ndarray  # any shape
    error: np.ndarray  # same shape, >= 0


# -- the building blocks that chapter 01 teaches ---------------------------


def central_difference(f, x, h):
    """(f(x+h) - f(x-h)) / 2h = f'(x) + h^2 f'''(x)/6 + O(h^4)."""
    return (f(x + h) - f(x - h)) / (2 * h)


def second_difference(f, x, h):
    """(f(x+h) - 2f(x) + f(x-h)) / h^2 = f''(x) + h^2 f''''(x)/12 + ..."""
    return (f(x + h) - 2 * f(x) + f(x - h)) / h**2


def slope_jump(f, x, h):
    """(f(x+h) - 2f(x) + f(x-h)) / h: tends to 0, but to s+ - s- at a kink."""
    return (f(x + h) - 2 * f(x) + f(x - h)) / h


def complex_step(f, x, h=1e-20):
    """Im f(x + ih) / h = f'(x) - h^2 f'''(x)/6 + ...: nothing cancels."""
    return np.imag(f(x + 1j * h)) / h


def noise_level(f, x, h):
    """sqrt(sum of squared 6th differences / (5 C(12, 6))), More, Wild 2011.

    A smooth f leaves h^6 f^(6) in a sixth difference and no more; independent
    errors of variance s^2 leave C(12, 6) s^2 = 924 s^2 in its square. NaN
    where f does not move at all: a step too small for it.
    """
    values = np.array([f(x + k * h) for k in range(-5, 6)])
    level = np.hypot.reduce(np.diff(values, 6, axis=0), axis=0) / 4620**0.5
    return np.where(np.ptp(values, axis=0) > 0, level, np.nan)


def difference_error(h, r, f3):
    """h^2 |f'''|/6 + eps r/h with r = |f| + |x f'|: the V-curve."""
    return h**2 * np.abs(f3) / 6 + EPS * r / h


def optimal_step(r, f3):
    """h* = (3 eps r / |f'''|)^(1/3), where the V-curve is lowest."""
    return np.cbrt(3 * EPS * r / np.abs(f3))


def richardson(values, powers, rounding=0.0):
    """T_kj = T_k,j-1 + (T_k,j-1 - T_k-1,j-1) / (2^p_j - 1), the best entry.

    values[k] = limit + c_1 h_k^p_1 + c_2 h_k^p_2 + ..., up to rounding[k].
    """
    column, noise = _columns(values, rounding)
    best = _nothing(column)
    for p in powers:
        r = RATIO**p
        new = column[1:] + (column[1:] - column[:-1]) / (r - 1)
        noise = (r * noise[1:] + noise[:-1]) / (r - 1)
        if len(new) < 3:
            break
        moved = np.abs(new - column[:-1])  # from the parent further off
        error = np.maximum(_tail(new, noise), moved[2:])
        best = _better(best, new[2:], error + noise[2:])
        column = new
    return best


def aitken(values, rounding=0.0):
    """v_k - (v_k - v_k-1)^2 / (v_k - 2 v_k-1 + v_k-2), thrice; best entry.

    Removes a term c h_k^p without knowing p, then the next such term. Not
    knowing p costs a factor four in the error.
    """
    column, noise = _columns(values, rounding)
    error = _tail(column, noise) + noise[2:]
    best = _better(_nothing(column), column[2:], error)
    for again in (0, 2, 2):
        step = np.diff(column, axis=0)
        share = step[1:] / np.diff(step, axis=0)
        flat = step[1:] == 0
        change = np.where(flat, 0.0, share * step[1:])
        worst = np.maximum(np.maximum(noise[2:], noise[1:-1]), noise[:-2])
        noise = np.where(flat, worst, worst * (1 + 2 * np.abs(share)) ** 2)
        column = column[2:] - change
        if len(column) < 3:
            break
        error = np.maximum(_tail(column, noise), again * np.abs(change[2:]))
        best = _better(best, column[2:], 4 * (error + noise[2:]))
    return best


def _columns(values, rounding):
    """The first column of a tableau and its rounding."""
    values = np.asarray(values, float)
    return values, np.broadcast_to(np.asarray(rounding, float), values.shape)


def _nothing(column):
    """No estimate yet."""
    return Estimate(column[-1], np.full(column.shape[1:], np.inf))


def _tail(column, noise):
    """What each entry but the first two may still be off by.

    The last step, if steps shrink by a fifth at least (else nothing can be
    said); and twice the distance of later entries beyond their noise.
    """
    steps = np.abs(np.diff(column, axis=0))
    beyond = np.maximum(steps - noise[1:] - noise[:-1], 0.0)
    steady = beyond[1:] <= 0.8 * beyond[:-1]
    last = np.where(steady | (beyond[1:] == 0), steps[1:], np.inf)
    drift = [
        np.max(np.maximum(np.abs(column[k:] - column[k]) - noise[k:], 0.0), 0)
        for k in range(2, len(column))
    ]
    return np.maximum(last, 2 * np.array(drift))


def _better(best, values, errors):
    """Element by element, the row with the smallest finite error."""
    errors = np.where(np.isfinite(errors), errors, np.inf)
    k = np.argmin(errors, axis=0)[None]
    value = np.take_along_axis(values, k, axis=0)[0]
    error = np.take_along_axis(errors, k, axis=0)[0]
    wins = error < best.error
    return Estimate(
        np.where(wins, value, best.value), np.where(wins, error, best.error)
    )


def extrapolate(difference, h0, powers):
    """lim_{h -> 0} of difference(h) = (value, rounding) down a ladder.

    The ladder ends where rounding alone exceeds the best error so far. Lest
    noise that was measured too small pass for drift, and spoil good rows, we
    also try DOUBT times as much: a kink stands out from that as well.
    """
    rows = []
    for length in ROWS:
        for k in range(len(rows), length):
            rows.append(difference(h0 / RATIO**k))
        values, rounding = (np.array(side) for side in zip(*rows, strict=True))
        with np.errstate(all="ignore"):
            best = richardson(values, powers, rounding)
            wary = richardson(values, powers, DOUBT * rounding)
        best = _better(best, wary.value[None], wary.error[None])
        if np.all(rounding[-1] >= best.error):
            break
    return best


# -- derivatives -----------------------------------------------------------


def derivative(f, x=0.0, scale=None):
    """f'(x) by central differences; the one-sided slopes must agree too.

    So must the slopes where noise is measured, lest a feature narrower than
    the steps of the ladder go unseen; one below 1e-7 of the scale does.
    """
    f, h0, noise = _prepared(f, x, scale)

    def central(h):
        return central_difference(f, x, h), noise(h) / h

    def jump(h):
        return slope_jump(f, x, h), 4 * noise(h) / h

    with np.errstate(all="ignore"):
        best = extrapolate(central, h0, (2, 4, 6, 8, 10))
        kink = extrapolate(jump, h0, (1, 3, 5, 7))
        near = [central(h0 * share) for share in NEARBY[1:]]
        missed = [np.abs(v - best.value) - DOUBT * noise for v, noise in near]
    missed = np.fmin.reduce(missed)  # NaN where nothing can be said
    error = best.error + np.abs(kink.value)
    return Estimate(best.value, np.where(missed > error, missed, error))


def second_derivative(f, x=0.0, scale=None):
    """f''(x) by second differences; from both sides it must be the same.

    Nor may steps where noise is measured deny it; what is narrower than 1e-5
    of the scale, and leaves f(x) alone, goes unseen.
    """
    f, h0, noise = _prepared(f, x, scale)

    def second(h):
        return second_difference(f, x, h), 4 * noise(h) / h**2

    def finer(h):  # its own truncation, of h^4, is less than it may tell
        (far, loud), (near, louder) = second(h), second(h / 2)
        return (4 * near - far) / 3, (4 * louder + loud) / 3

    def jump(h):
        sides = [second_difference(f, x + k, h) for k in (h, -h)]
        return sides[0] - sides[1], 8 * noise(2 * h) / h**2

    with np.errstate(all="ignore"):
        best = extrapolate(second, h0, (2, 4, 6, 8, 10))
        kink = extrapolate(jump, h0, (1, 3, 5, 7))
        near = [finer(h0 * share) for share in NEARBY[:2]]
        missed = [np.abs(v - best.value) - DOUBT * noise for v, noise in near]
    missed = np.fmin.reduce(missed)  # NaN where nothing can be said
    seen = np.abs(kink.value) > 10 * kink.error + best.error
    error = best.error + np.where(seen, np.abs(kink.value), 0.0)
    return Estimate(best.value, np.where(missed > error, missed, error))


def complex_partials(f, x):
    """D[..., i] = df/dx_i by the complex step, or None if f does not allow.

    The error is what a change of x in its last digits does to the result. It
    knows nothing of digits that f itself has lost, as ln(1 + x^2) near 0 has.
    """

    def steps(at):
        return [complex_step(_line(f, at, u), 0.0) for u in _axes(at)]

    x = np.asarray(x, float)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            here, near = steps(x), steps(x * (1 + 8 * EPS))
    except (TypeError, ValueError, ArithmeticError, Warning):
        return None
    value, moved = (np.stack(side, axis=-1) for side in (here, near))
    error = np.abs(moved - value) + 8 * EPS * np.abs(value)
    shape = value.shape[:-1] + x.shape
    return Estimate(value.reshape(shape), error.reshape(shape))


def partials(f, x):
    """D[..., i] = df/dx_i as (Estimate, how), for x of any shape."""
    x = np.asarray(x, float)
    lines = [_line(f, x, u) for u in _axes(x)]
    rough = _stack([derivative(g, scale=_reach(x)) for g in lines], x.shape)
    exact = complex_partials(f, x)
    if exact is not None and _confirmed(exact, rough):
        return exact, "complex step"
    return rough, "central differences"


def second_partials(f, x):
    """H_ii = q(e_i), H_ij = (q(e_i + e_j) - q(e_i - e_j))/4, q(u) = u^T H u.

    q(u) is the second derivative of f along the line x + s u.
    """
    x = np.asarray(x, float)
    axes, scale = _axes(x), _reach(x)

    def q(u):
        return second_derivative(_line(f, x, u), scale=scale)

    H = [[None] * x.size for _ in axes]
    for i, u in enumerate(axes):
        H[i][i] = q(u)
        for j, v in enumerate(axes[:i]):
            plus, minus = q(u + v), q(u - v)
            H[i][j] = H[j][i] = Estimate(
                (plus.value - minus.value) / 4, (plus.error + minus.error) / 4
            )
    return _stack([entry for row in H for entry in row], x.shape * 2)


def _reach(x):
    """The scale of the steps: max(1, |x|)."""
    return max(1.0, float(np.max(np.abs(x))))


def _axes(x):
    """The unit vectors e_i, each in the shape of x."""
    return list(np.eye(x.size).reshape(x.size, *x.shape))


def _line(f, x, u):
    """s -> f(x + s u), with numbers rather than 0-d arrays."""
    return lambda s: np.asarray(f((x + s * u)[()]))


def _prepared(f, x, scale):
    """f cached and forgiving, the largest step, the rounding of f(x + h)."""
    reach = max(1.0, abs(x)) if scale is None else scale
    h0 = reach / np.e  # no round number: periods must not hide
    f = cache(_tolerant(f, np.asarray(f(x), float).shape))
    with np.errstate(all="ignore"):
        near = h0 * np.outer(APART, NEARBY)
        levels = [[noise_level(f, x, h) for h in row] for row in near]
        far = np.fmax(np.abs(f(x + h0)), np.abs(f(x - h0)))
    low, middle, high = np.sort(np.fmax.reduce(levels), axis=0)  # NaN last
    plateau = (low < STILL * middle) & (middle < EPS / STILL * far)
    plateau &= ~np.isnan(high)
    measured = 4 * np.where(plateau, middle, low)

    def noise(h):
        """eps |f| + eps |x| |f'|, or four measured deviations, if larger."""
        values = np.array([f(x + h), f(x), f(x - h)])
        slope = np.abs(np.diff(values, axis=0)).max(axis=0) / h
        model = EPS * (np.abs(values).max(axis=0) + reach * slope)
        return np.fmax(model, measured)

    return f, h0, noise


def _tolerant(f, shape):
    """f, but NaN where it cannot be evaluated."""

    def inner(x):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return np.asarray(f(x), float)
        except (ValueError, ArithmeticError):
            return np.full(shape, np.nan)

    return inner


def _confirmed(exact, rough):
    """The complex step counts only where good differences confirm it."""
    if exact.value.shape != rough.value.shape:
        return False
    gap = np.abs(exact.value - rough.value)
    good = np.max(rough.error) <= 1e-3 * np.max(np.abs(rough.value))
    return bool(good and np.all(gap <= 2 * (rough.error + exact.error)))


def _stack(entries, shape):
    """A list of estimates as one, the list's index last."""
    return Estimate(
        *(
            np.stack(side, axis=-1).reshape(side[0].shape + shape)
            for side in zip(*entries, strict=True)
        )
    )


# -- integrals and limits --------------------------------------------------


def quadrature(f, over):
    """int f over the box [(a, b), ...], adaptive Gauss-Kronrod cubature.

    A rough pass over (|f| + f)/2 and (|f| - f)/2, where nothing cancels,
    gives the scale for the tolerance and shows if the fine one overlooks
    a peak. On a line another division shows a kink that hides at an end.
    """
    tight = (1e-12, 1e-9, 1e-5)[len(over) - 1]
    points = _pointwise(f, over)

    def halves(x):
        y = points(x)
        return np.stack([np.maximum(y, 0.0), np.maximum(-y, 0.0)], axis=1)

    rough = _cubature(halves, over, 1e-2, 0.0, 100)
    plus, minus = rough.value
    cancels = np.max(np.minimum(plus, minus)) > 1e-9 * np.max(rough.value)
    absolute = tight * np.max(rough.value) if cancels else 0.0
    value, error = _cubature(points, over, tight, absolute, 2000)
    if len(over) == 1:
        other = _cubature(points, over, tight, absolute, 2000, halved=False)
        apart = np.abs(other.value - value)
        hidden = apart > error + other.error + 1e-12 * np.max(rough.value)
        error = np.where(hidden, 2 * apart, error)
    gap = np.abs(plus - minus - value)
    missed = gap > error + 2 * np.sum(rough.error, axis=0)
    return Estimate(value, np.where(missed, 2 * gap, error))


def _cubature(points, over, relative, absolute, divisions, halved=True):
    """scipy's cubature, with (-inf, b) turned into (-b, inf)."""
    box = np.array(over, float)
    turn = np.isneginf(box[:, 0]) & np.isfinite(box[:, 1])
    box[turn] = -box[turn, ::-1]
    sign = np.where(turn, -1.0, 1.0)
    odd = np.clip(0.47, box[:, 0] + 1.1, np.inf)
    if np.isfinite(box).all():
        odd = box @ [0.45, 0.55]
    cuts = [] if halved else [odd]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = integrate.cubature(
            lambda x: points(sign * x), box[:, 0], box[:, 1],
            rtol=relative, atol=absolute, max_subdivisions=divisions,
            rule="gk21" if len(box) == 1 else "gk15", points=cuts,
        )  # fmt: skip
    return Estimate(np.asarray(found.estimate), np.asarray(found.error))


def _pointwise(f, over):
    """x (S, D) -> f of each row: at once if f takes arrays, or one by one."""
    margins = [min(1.0, (b - a) / 2) for a, b in over]
    inside = [
        np.clip(0.37, a + m, b - m)
        for (a, b), m in zip(over, margins, strict=True)
    ]
    probe = np.array(inside) + np.outer([0.0, 0.1, 0.2], margins)

    def single(x):
        return np.array([f(*row) for row in x], float)

    with np.errstate(all="ignore"):
        alone = single(probe)
        try:
            together = np.asarray(f(*probe.T), float)
        except (TypeError, ValueError):
            return single
    if together.shape != alone.shape or not np.allclose(together, alone):
        return single
    return lambda x: np.asarray(f(*x.T), float)


def limit_of(f, to):
    """lim f(h) as h -> to from above, along to + 2^-k (+-2^k for +-infinity).

    Richardson with powers 1, 2, 3, ... and, for any other powers, Aitken.
    What is slower than any power, as 1/ln h, gets a bound that is too small.
    Rounding is measured: f is evaluated again a 10^-9 of a step further.
    """
    f = _tolerant(f, np.shape(f(_approach(to, 1, 0.0))))
    rows, best = [], _nothing(np.asarray([f(_approach(to, 1, 0.0))]))
    for length in ROWS:
        for k in range(len(rows), length):
            value, near = f(_approach(to, k, 0.0)), f(_approach(to, k, 1e-9))
            rows.append((value, np.abs(near - value) + EPS * np.abs(value)))
        values, rounding = (np.array(side) for side in zip(*rows, strict=True))
        with np.errstate(all="ignore"):
            known = richardson(values, range(1, 7), rounding)
            free = aitken(values, rounding)
            for found in (known, free):  # a longer ladder may be noisier
                best = _better(best, found.value[None], found.error[None])
        scale = np.max(np.abs(best.value))
        if np.all(best.error <= 1e-7 * scale):
            break
    with np.errstate(all="ignore"):
        return _doubted(f(_approach(to, 6, 0.37)), values, rounding, best)


def _doubted(between, values, rounding, best):
    """`best`, but not where rows, or a value between two, deny it.

    The tenth row is further off than the first eight, as of 5 + 1/h, in which
    Aitken finds 5; or a period of 1 in 1/h, as of (-1)^N, hides behind powers
    of two.
    """
    small = 1e-4 * np.max(np.abs(best.value))
    off, between = np.abs(values - best.value), np.abs(between - best.value)
    later = np.fmax.reduce((off - DOUBT * rounding)[8:10])  # without noise yet
    grows = later > np.fmax.reduce(off[:8]) + small
    error = np.where(grows, later, best.error)
    hidden = between > 4 * np.max(off[6:8], axis=0) + small
    return Estimate(best.value, np.where(hidden, between, error))


def _approach(to, k, nudge):
    """The k-th point on the way to `to`, or a nudge further on."""
    h = RATIO ** -(k + nudge)
    return np.sign(to) / h if np.isinf(to) else to + h
