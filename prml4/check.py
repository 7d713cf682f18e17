"""The referee: every claim of the book is tied to three things that agree.

    display      the formula transcribed literally, sums index by index
    library      the function of prml4 that computes it
    other side   an evaluation that shares neither: differences, quadrature,
                 Monte Carlo, enumeration, a limit

Sides are numbers, arrays, or functions that return them. A check returns a
`Check`, which displays as one line, or raises: `ClaimFails` if two sides
differ by more than the bound, `Toothless` if the bound is so wide that a
formula wrong by a thousandth would have passed.

The bound is the error estimate of the other side (`prml4.estimate`) plus a
rounding allowance of eps * 10^4 times the largest element: a sum of n terms
errs by at most n eps times the sum of their sizes, and no formula of the
book has more than some thousands. Display and library get that allowance
alone. Residual and bound are printed relative to the largest element of the
truth, so that 1e-300 and 1e300 are judged alike.
"""

import re
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import NamedTuple

import numpy as np

from . import diagnose
from .estimate import (
    EPS,
    Estimate,
    central_difference,
    complex_step,
    derivative,
    difference_error,
    limit_of,
    optimal_step,
    partials,
    quadrature,
    richardson,
    second_difference,
    second_partials,
)

__all__ = [
    "Attempt", "Check", "ClaimFails", "Estimate", "Slip", "Toothless",
    "attempt", "central_difference", "complex_step", "derivative",
    "difference_error", "gradient", "hessian", "identity", "integral",
    "jacobian", "limit", "moments", "optimal_step", "psd", "richardson",
    "second_difference", "slip",
]  # fmt: skip

ROUNDING = 1e4 * EPS  # of a formula with up to 10^4 terms, relative
TEETH = 1e-3  # the error that every check must be able to see
TEETH_RANDOM = 0.05  # the same for Monte Carlo


class ClaimFails(Exception):
    """Two sides of a claim differ by more than the bound."""


class Toothless(Exception):
    """The check would also have passed a formula that is wrong."""


@dataclass(frozen=True)
class Check:
    """A claim that held."""

    label: str  # of the claim
    kind: str  # gradient, jacobian, hessian, integral, ...
    how: str  # how the other side was computed
    residual: float  # of the pair nearest its bound, relative to the truth
    bound: float  # likewise
    sides: tuple[str, ...]  # what was compared
    joined: str = " = "  # by what relation

    def __repr__(self):
        return f"✓ {self.label} · {self._text()}"

    def _repr_html_(self):
        return _html("check", "✓", "holds", self.label, self._text())

    def _text(self):
        sides = self.joined.join(self.sides)
        return f"{self.kind}: {sides} · {_numbers(self.residual, self.bound)}"


@dataclass(frozen=True)
class Slip:
    """A statement that was refuted, and its correction that held."""

    id: str  # in the ledger, such as A02
    label: str  # of the claim that it misstates
    as_written: str  # how the statement fails
    residual: float  # of the correction, relative to the truth
    bound: float  # likewise

    def __repr__(self):
        return f"✗ {self.id} · {self.label} · {self._text()}"

    def _repr_html_(self):
        return _html(
            "slip", "✗", f"refuted: {self.id}", self.label, self._text()
        )

    def _text(self):
        held = _numbers(self.residual, self.bound)
        return f"as written: {self.as_written} · ✓ corrected: {held}"


@dataclass(frozen=True)
class Attempt:
    """What a reader's function got right, or seems to get wrong."""

    label: str  # of the exercise or the claim
    verdict: str  # "right", "not yet" or "not attempted"
    diagnosis: str  # one sentence for the reader

    def __repr__(self):
        return f"{self._mark()} {self.label} · {self._text()}"

    def _repr_html_(self):
        name, mark = f"attempt {self.verdict.replace(' ', '-')}", self._mark()
        return (
            f'<div class="{name}"><span class="mark" aria-hidden="true">'
            f"{mark}</span> <code>{escape(self.label)}</code> "
            f"{escape(self._text())}</div>"
        )

    def _mark(self):
        return {"right": "✓", "not yet": "✗"}.get(self.verdict, "·")

    def _text(self):
        return f"{self.verdict}: {self.diagnosis}"


# -- the claims ------------------------------------------------------------


def gradient(label, of, at, *, display, library=None):
    """display = d of / d at, for `of` a number and `at` of any shape."""
    truth, how = partials(of, _point(at))
    return _judge("gradient", label, how, truth, display, library, at)


def jacobian(label, of, at, *, display, library=None):
    """display[i, j] = d of_i / d at_j."""
    truth, how = partials(of, _point(at))
    return _judge("jacobian", label, how, truth, display, library, at)


def hessian(label, of, at, *, display, library=None, gradient=None):
    """display[i, j] = d^2 of / d at_i d at_j, or d gradient_i / d at_j."""
    if gradient is None:
        truth, how = second_partials(of, _point(at)), "second differences"
    else:
        truth, how = partials(gradient, _point(at))
        how += " of the gradient"
    return _judge("hessian", label, how, truth, display, library, at)


def integral(label, of, over, *, display, library=None):
    """display = int of(x, ...) over the box [(a, b), ...], 1 to 3 dims."""
    truth = quadrature(of, over)
    how = "adaptive quadrature"
    return _judge("integral", label, how, truth, display, library)


def limit(label, of, to, *, display, library=None):
    """display = lim of(h) as h -> to (from above; np.inf is allowed)."""
    how = "extrapolated sequence"
    return _judge("limit", label, how, limit_of(of, to), display, library)


def moments(label, draws, *, display, library=None, of=None):
    """display = E of(x), from independent draws along axis 0.

    The bound is five standard errors of the mean, s / sqrt(S) each.
    """
    values = np.asarray(draws if of is None else of(draws), float)
    if values.ndim == 0 or len(values) < 2:
        raise ValueError(f"{label}: at least two draws are needed")
    error = 5 * values.std(axis=0, ddof=1) / np.sqrt(len(values))
    truth = Estimate(values.mean(axis=0), error)
    how = f"mean of {len(values)} draws, five standard errors"
    return _judge(
        "moments", label, how, truth, display, library, teeth=TEETH_RANDOM
    )


def identity(label, *, display, library=None, other=None, error=0.0, how=""):
    """display = library = other, an independent route off by `error`."""
    if library is None and other is None:
        raise ValueError(f"{label}: nothing to compare the display with")
    truth = None
    if other is not None:
        value = _value(label, "other", other)
        truth = _stated(label, value, error)
        how = how or "independent route"
    return _judge("identity", label, how, truth, display, library)


def psd(label, H, *, display=None, rank=None):
    """H = H^T and lambda_min(H) >= -eps 10^4 ||H||; exact rank when given.

    Eigenvalues within that allowance of zero count as zero; with a rank to
    decide, none may lie between one and a thousand allowances.
    """
    H = _value(_named(label), "library", H)
    if H.ndim != 2 or H.shape[0] != H.shape[1]:
        raise ValueError(f"{label}: a square matrix expected, not {H.shape}")
    if display is not None:
        shown = _value(label, "display", display)
        _compare(label, "psd", {"display": shown, "library": H}, TEETH)
    size = np.linalg.norm(H, 2)
    if size == 0:
        raise Toothless(f"{label}: the zero matrix shows nothing")
    values = np.linalg.eigvalsh((H + H.T) / 2) / size
    residual = max(float(-values[0]), float(np.abs(H - H.T).max() / size), 0.0)
    if residual > ROUNDING:
        raise ClaimFails(
            f"{label}: not symmetric positive semidefinite, "
            f"{_numbers(residual, ROUNDING, '>')}"
        )
    sides = ("symmetric", "smallest eigenvalue ≥ 0")
    if rank is not None:
        sides += (_rank(label, values, rank),)
    how = "eigenvalues"
    return Check(label, "psd", how, residual, ROUNDING, sides, ", ")


def _rank(label, values, rank):
    """'rank r', if exactly r eigenvalues (relative to ||H||) are not zero."""
    found = int(np.sum(values > ROUNDING))
    if np.any((values > ROUNDING) & (values < 1e3 * ROUNDING)):
        raise Toothless(f"{label}: an eigenvalue is too near zero for a rank")
    if found != rank:
        raise ClaimFails(f"{label}: the rank is {found}, not {rank}")
    return f"rank {found}"


def slip(id, label, *, as_written, corrected, truth, error=0.0):
    """as_written != truth by ten bounds at least, corrected = truth."""
    truth = _value(_named(label), "truth", truth)
    estimate = _stated(label, truth, error)
    sides = {"corrected": _value(label, "corrected", corrected)}
    worst = _compare(label, f"slip {id}", sides, TEETH, estimate)
    verdict = _refuted(id, label, as_written, estimate)
    return Slip(id, label, verdict, worst.residual, worst.bound)


def _stated(label, value, error):
    """A value with the error that the author states for it."""
    error = np.asarray(error, float)
    if not np.all(error >= 0):
        raise ValueError(f"{label}: error must be >= 0, not {error}")
    return Estimate(value, np.broadcast_to(error, value.shape))


def attempt(label, yours, right, at, *, terms=None, elsewhere=None):
    """Says what yours(*at) gets wrong, if right(*at) differs from it."""
    verdict, text = diagnose.diagnose(yours, right, at, terms, elsewhere)
    return Attempt(_named(label), verdict, text)


# -- the judge -------------------------------------------------------------


class _Pair(NamedTuple):
    """Two sides, where they come nearest to the bound or furthest past it."""

    names: tuple[str, str]
    residual: float  # |difference| / scale
    bound: float  # allowed, / scale
    ratio: float  # of the two


def _judge(kind, label, how, truth, display, library, at=None, teeth=TEETH):
    """All pairs of sides within their bounds, and the check has teeth."""
    at = () if at is None else (at,)
    sides = {"display": _value(_named(label), "display", display, *at)}
    if library is not None:
        sides["library"] = _value(label, "library", library, *at)
    names = tuple(sides)
    if truth is not None:
        names += (how,)
        _value(label, how, truth.value)
    worst = _compare(label, kind, sides, teeth, truth, how)
    return Check(label, kind, how, worst.residual, worst.bound, names)


def _compare(label, kind, sides, teeth, truth=None, how="truth"):
    """The pair nearest its bound; raises if it lies beyond, or cannot."""
    errors = dict.fromkeys(sides, 0.0)
    if truth is not None:
        error = np.nan_to_num(truth.error, nan=np.inf)
        sides, errors[how] = {**sides, how: truth.value}, error
    _same_shapes(label, sides)
    first, last = list(sides)[0], list(sides)[-1]
    scale = float(np.max(np.abs(sides[last])))
    pairs = [
        _pair(a, b, sides, errors[a] + errors[b], scale)
        for a, b in combinations(sides, 2)
    ]
    worst = max(pairs, key=lambda pair: pair.ratio)
    gap = np.abs(sides[first] - sides[last]) if worst.ratio <= 1 else 0.0
    if last not in worst.names or worst.ratio <= 1:
        _bite(label, kind, sides[last], errors[last] + gap, teeth)
    if worst.ratio > 1:
        a, b = worst.names
        raise ClaimFails(
            f"{label}, {kind}: {a} and {b} differ, "
            f"{_numbers(worst.residual, worst.bound, '>')}"
            f"{diagnose.resemblance(sides[a], sides[b])}"
        )
    return worst


def _pair(a, b, sides, error, scale):
    """|a - b| against error + rounding, where the ratio is largest."""
    gap = np.abs(sides[a] - sides[b])
    bound = error + ROUNDING * scale + np.zeros_like(gap)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(gap == 0, 0.0, gap / bound)
    i = np.unravel_index(np.argmax(ratio), gap.shape)
    unit = scale or 1.0
    found = gap[i] / unit, bound[i] / unit, ratio[i]
    return _Pair((a, b), *map(float, found))


def _bite(label, kind, truth, error, teeth):
    """A shift of any element by teeth * scale, either way, would be seen."""
    scale = float(np.max(np.abs(truth)))
    if scale == 0 or np.any(teeth * scale <= error + ROUNDING * scale):
        raise Toothless(
            f"{label}, {kind}: the other side is {scale:.1e} at most, its "
            f"error up to {np.max(error):.1e}, so a display wrong by "
            f"{teeth:.1%} could pass; evaluate elsewhere, where the value "
            "is not (nearly) zero, or find a sharper other side"
        )


def _refuted(id, label, as_written, truth):
    """How the statement as written fails, in words."""
    try:
        value = as_written() if callable(as_written) else as_written
    except ValueError:
        return "cannot be evaluated"
    value = _value(label, "as_written", value)
    if value.shape != truth.value.shape:
        return f"has shape {value.shape}, not {truth.value.shape}"
    scale = float(np.max(np.abs(truth.value)))
    sides = {"as_written": value, "truth": truth.value}
    pair = _pair(*sides, sides, truth.error, scale)
    if pair.ratio < 10:
        raise ClaimFails(
            f"slip {id} ({label}): the statement as written is not refuted, "
            f"{_numbers(pair.residual, pair.bound, 'against')}"
        )
    return f"residual {pair.residual:.1e}"


# -- sides, labels and lines -----------------------------------------------


def _value(label, name, side, *at):
    """A side as a finite, non-empty array of floats."""
    value = side(*(_point(x) for x in at)) if callable(side) else side
    if value is None or value is Ellipsis:
        raise ValueError(f"{label}: {name} returned nothing")
    value = np.asarray(value)
    if value.dtype.kind not in "buif":
        raise ValueError(f"{label}: {name} is not real but {value.dtype}")
    if value.size == 0:
        raise ValueError(f"{label}: {name} is empty, of shape {value.shape}")
    if not np.all(np.isfinite(value)):
        raise ClaimFails(f"{label}: {name} is not finite: NaN or infinity")
    return value.astype(float)


def _same_shapes(label, sides):
    """Shapes are compared as they are: nothing is broadcast."""
    shapes = {name: side.shape for name, side in sides.items()}
    if len(set(shapes.values())) > 1:
        text = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ClaimFails(f"{label}: the shapes differ: {text}")


def _point(at):
    """A private copy, as a float array or a number."""
    return np.array(at, float)[()]


def _named(label):
    """A label is a word that can stand in a link."""
    if not isinstance(label, str) or not re.fullmatch(r"[\w.:-]+", label):
        raise ValueError(f"a claim needs a label, not {label!r}")
    return label


def _numbers(residual, bound, sign="≤"):
    return f"residual {residual:.1e} {sign} {bound:.1e}"


def _html(name, mark, spoken, label, text):
    """One line; the mark is a picture, `spoken` is read out instead."""
    return (
        f'<div class="{name}"><span class="mark" aria-hidden="true">{mark}'
        f'</span><span class="visually-hidden">{spoken}:</span> '
        f'<a href="#equation-{escape(label)}">{escape(label)}</a> '
        f"<span>{escape(text)}</span></div>"
    )
