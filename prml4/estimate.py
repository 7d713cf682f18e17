"""Numbers that know their own error: differences, quadrature, limits.

The referee of `prml4.check` gets its independent side from here.

    f         a function of one number, with number or array values
    x, h      the point and the step;  h_k = h_0 / 2^k is a ladder of steps
    Estimate  (value, error) with |truth - value| <= error, element by
              element, as far as the method itself can tell

Two errors fight in every difference: truncation, which falls with h, and
rounding, which grows as eps |f| / h. Chapter 01 is about their balance.
"""

import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import integrate

EPS = float(np.finfo(float).eps)
RATIO = 2.0  # neighbouring steps of a ladder
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


def complex_step(f, x, h=1e-100):
    """Im f(x + ih) / h = f'(x) - h^2 f'''(x)/6 + ...: nothing cancels."""
    return np.imag(f(x + 1j * h)) / h


def difference_error(h, f, f3):
    """h^2 |f'''|/6 + eps |f|/h: truncation plus rounding, the V-curve."""
    return h**2 * np.abs(f3) / 6 + EPS * np.abs(f) / h


def optimal_step(f, f3):
    """h* = (3 eps |f| / |f'''|)^(1/3), where the V-curve is lowest."""
    return np.cbrt(3 * EPS * np.abs(f) / np.abs(f3))


def richardson(values, powers, rounding=0.0):
    """T_kj = T_k,j-1 + (T_k,j-1 - T_k-1,j-1) / (2^p_j - 1), the best entry.

    values[k] = limit + c_1 h_k^p_1 + c_2 h_k^p_2 + ..., up to rounding[k].
    An entry's error is its distance from the entries it was made of and
    from the one above it, plus what rounding became on the way.
    """
    column = np.asarray(values, float)
    noise = np.broadcast_to(np.asarray(rounding, float), column.shape)
    best = Estimate(column[-1], np.full(column.shape[1:], np.inf))
    for p in powers[: len(column) - 2]:
        r = RATIO**p
        new = column[1:] + (column[1:] - column[:-1]) / (r - 1)
        noise = (r * noise[1:] + noise[:-1]) / (r - 1)
        error = np.maximum(np.abs(new - column[1:]), np.abs(new - column[:-1]))
        error = np.maximum(error[1:], np.abs(new[1:] - new[:-1])) + noise[1:]
        best = _better(best, new[1:], error)
        column = new
    return best


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

    The ladder ends where rounding alone exceeds the best error so far.
    """
    rows = []
    for length in ROWS:
        for k in range(len(rows), length):
            rows.append(difference(h0 / RATIO**k))
        values, rounding = (np.array(side) for side in zip(*rows, strict=True))
        with np.errstate(all="ignore"):
            best = richardson(values, powers, rounding)
        if np.all(rounding[-1] >= best.error):
            break
    return _audited(best, difference, h0 / RATIO ** len(rows))


def _audited(best, difference, h):
    """Much smaller steps are rougher, but may not contradict the result.

    They would if f varied faster than the ladder's steps can see. The
    truncation of the ladder's last step must fall at least as fast as h.
    """
    value, error = best
    truncation = np.abs(difference(h)[0] - value)
    for k in range(4, 32, 4):
        rough, rounding = difference(h / RATIO**k)
        gap = np.abs(rough - value)
        allowed = error + truncation / RATIO**k + 100 * rounding
        error = np.where(gap > allowed, 2 * gap, error)
    return Estimate(value, error)


# -- derivatives -----------------------------------------------------------


def derivative(f, x=0.0, scale=None):
    """f'(x) by central differences; the one-sided slopes must agree too."""
    f, h0, reach = _prepared(f, x, scale)

    def central(h):
        return central_difference(f, x, h), _noise(f, x, h, reach) / h

    def jump(h):
        return slope_jump(f, x, h), 4 * _noise(f, x, h, reach) / h

    with np.errstate(all="ignore"):
        best = extrapolate(central, h0, (2, 4, 6, 8, 10))
        kink = extrapolate(jump, h0, (1, 3, 5, 7))
    return Estimate(best.value, best.error + np.abs(kink.value))


def second_derivative(f, x=0.0, scale=None):
    """f''(x) by second differences."""
    f, h0, reach = _prepared(f, x, scale)

    def second(h):
        return second_difference(f, x, h), 4 * _noise(f, x, h, reach) / h**2

    with np.errstate(all="ignore"):
        return extrapolate(second, h0, (2, 4, 6, 8, 10))


def complex_derivative(f, x=0.0, scale=None):
    """f'(x) by the complex step, or None if f does not take complex x."""
    scale = max(1.0, abs(x)) if scale is None else scale
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            value = complex_step(f, x)
            moved = complex_step(f, x + 8 * EPS * scale)
    except (TypeError, ValueError, ArithmeticError, Warning):
        return None
    return Estimate(value, np.abs(moved - value) + 8 * EPS * np.abs(value))


def partials(f, x):
    """D[..., i] = df/dx_i as (Estimate, how), for x of any shape."""
    x = np.asarray(x, float)
    scale = _reach(x)
    lines = [_line(f, x, u) for u in _axes(x)]
    steps = _stack([derivative(g, scale=scale) for g in lines], x.shape)
    exact = [complex_derivative(g, scale=scale) for g in lines]
    if all(e is not None for e in exact):
        exact = _stack(exact, x.shape)
        if _confirmed(exact, steps):
            return exact, "complex step"
    return steps, "central differences"


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
    """f cached and forgiving, the largest step, the size of arguments."""
    reach = max(1.0, abs(x)) if scale is None else scale
    h0 = reach / np.e  # no round number: periods must not hide
    return cache(_tolerant(f, np.asarray(f(x), float).shape)), h0, reach


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


def _noise(f, x, h, reach):
    """eps |f| + eps |x| |f'|: rounding of the value and of x + h."""
    plus, minus = f(x + h), f(x - h)
    size = np.maximum(np.maximum(np.abs(plus), np.abs(minus)), np.abs(f(x)))
    return EPS * (size + reach * np.abs(plus - minus) / (2 * h))


def _confirmed(exact, steps):
    """The complex step counts only where good differences confirm it."""
    gap = np.abs(exact.value - steps.value)
    good = np.max(steps.error) <= 1e-3 * np.max(np.abs(steps.value))
    return bool(good and np.all(gap <= 2 * (steps.error + exact.error)))


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
    """int f over a box, adaptively; scale and inner errors are included.

    A first rough pass over |f| fixes the absolute tolerance, so that odd
    integrands and tiny ones are served alike.
    """
    loose, tight = 1e-2, (1e-12, 1e-9, 1e-6)[len(over) - 1]
    size, _ = _nested(lambda *x: abs(f(*x)), over, loose, 0.0)
    value, error = _nested(f, over, tight, tight * size)
    return Estimate(np.asarray(value), np.asarray(error + tight * size))


def _nested(f, over, relative, absolute):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        options = {"epsrel": relative, "epsabs": absolute, "limit": 100}
        return integrate.nquad(f, over, opts=options)[:2]


def limit_of(f, to):
    """lim f(h) as h -> to from above, along h_k = 2^-k (2^k for infinity).

    Richardson with powers 1, 2, 3, ... and, for other powers, Aitken.
    """
    ladder = [f(_approach(to, k)) for k in range(ROWS[1])]
    values = np.array(ladder, float)
    with np.errstate(all="ignore"):
        return richardson(values, (1, 2, 3, 4, 5, 6))


def _approach(to, k):
    """The k-th point on the way to `to`."""
    return RATIO**k if to == np.inf else to + RATIO**-k
