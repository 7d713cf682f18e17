"""The referee: each claim of the book has two or three sides, which agree.

    display      the printed formula: its TeX, read from the page and evaluated
                 (`printed`), or transcribed by hand, sums index by index
    library      the function of prml4 that computes it, where there is one
    other side   an evaluation that shares neither: differences, quadrature,
                 Monte Carlo, enumeration, a limit

Sides are numbers, arrays, or functions that return them. A check returns a
`Check`, which displays as one line, or raises: `ClaimFails` if two sides
differ by more than the bound, `Toothless` if the bound is so wide that a
formula wrong by a thousandth would have passed.

The bound is the error estimate of the other side (`referee.estimate`) plus a
rounding allowance of eps * 10^4 times the largest element: a sum of n terms
errs by at most n eps times the sum of their sizes, and no formula of the
book has more than some thousands. Display and library get that allowance
alone. Residual and bound are printed relative to the largest element of the
truth, so that 1e-300 and 1e300 are judged alike.
"""

import os
import re
from dataclasses import dataclass
from html import escape
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from prml4.referee import diagnose, page
from prml4.referee.estimate import (
    EPS,
    Estimate,
    central_difference,
    derivative,
    difference_error,
    limit_of,
    optimal_step,
    partials,
    quadrature,
    second_partials,
)
from prml4.referee.evaluate import evaluate
from prml4.referee.tex import TexError
from prml4.referee.values import Eye, Zero, depends, each, law

__all__ = [
    "Attempt", "Check", "ClaimFails", "Estimate", "Slip", "Toothless",
    "Unreadable", "attempt", "central_difference", "depends", "derivative",
    "difference_error", "each", "given", "gradient", "hessian", "identity",
    "integral", "jacobian", "law", "limit", "moments", "optimal_step",
    "printed", "psd", "slip", "transcribed",
]  # fmt: skip

ROUNDING = 1e4 * EPS  # of a formula with up to 10^4 terms, relative
TEETH = 1e-3  # the error that every check must be able to see
TEETH_RANDOM = 0.05  # the same for Monte Carlo


class ClaimFails(Exception):
    """Two sides of a claim differ by more than the bound."""


class Unreadable(ClaimFails):
    """The printed formula has no value: it has two readings, or none."""


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


def hessian(label, of, at, *, display, library=None):
    """display[i, j] = d^2 of / d at_i d at_j."""
    truth, how = second_partials(of, _point(at)), "second differences"
    return _judge("hessian", label, how, truth, display, library, at)


def integral(label, of, over, *, display, library=None):
    """display = int of(x, ...) over the box [(a, b), ...], 1 to 3 dims."""
    if np.shape(over) not in [(1, 2), (2, 2), (3, 2)]:
        raise ValueError(
            f"{label}: over must hold one to three pairs of ends; got {over}"
        )
    truth = quadrature(of, _point(over))
    how = "adaptive quadrature"
    return _judge("integral", label, how, truth, display, library)


def limit(label, of, to, *, display, library=None):
    """display = lim of(h) as h -> to (from above; +-np.inf is allowed)."""
    how = "extrapolated sequence"
    return _judge(
        "limit", label, how, limit_of(of, _point(to)), display, library
    )


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
        sides = {"display": shown, "library": H}
        _agree(f"{label}, psd", sides, dict.fromkeys(sides, 0.0))
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


# -- the printed formula ---------------------------------------------------


def given(**names):
    """symbol = value, for the displays below; returns the names, to use again.

    A symbol's name is its TeX without backslash and style, scripts joined by
    underscores: w, phi, Sigma_aa, m_hat, v_minus (of v_{-n}), E_p (of E_p[..]).
    What was named before is forgotten.
    """
    GIVEN.clear()
    GIVEN.update(names)
    return names


GIVEN = {}


def printed(
    label, /, *, library=None, other=None, how="independent route", error=0.0,
    slack=None, defines=(), start=1, tex=None, **names,
):  # fmt: skip
    """member = member = library = other, the members as they are printed.

    With several statements, library, other and slack have one entry for each.
    `other` may be off by `error`. Two names are special: `given_error`, what
    members may be off by, relatively, since symbols are bound to fits or grids;
    `sizes`, how far an index runs that no array carries.
    """
    names = {**GIVEN, **names}
    errors = error, names.pop("given_error", 0.0)
    for each_error in errors:
        _stated(_named(label), 0.0, each_error)
    tex, source = (tex, "its TeX") if tex else page.display(label)
    place, sides = f"{label}, {source}", {"library": library, how: other}
    read = _read(place, tex, names, start, defines)
    each_side = [_split(place, *s, len(read)) for s in sides.items()]
    gaps = _split(place, "slack", slack, len(read))
    pairs = []
    for one, gap, *values in zip(read, gaps, *each_side, strict=True):
        values = dict(zip(sides, values, strict=True))
        pairs += _statement(place, one, values, errors, gap)
    if not pairs:
        raise Toothless(f"{place}: nothing is claimed")
    worst = _worst(pairs)
    count = sum(len(one.members) for one in read)
    compared = [n for n, side in sides.items() if side is not None]
    compared = (f"{count} members", *compared)
    found = worst.residual, worst.bound
    return Check(label, "as printed", how, *found, compared, " · ")


def transcribed(label, digest, why):
    """digest = digest of the display: what it said when it was transcribed.

    The reason names what the reader of formulas cannot read. Errors planted
    on the page must not be found by this guard: PRML4_UNGUARDED lifts it.
    """
    tex, source = page.display(_named(label))
    if not why:
        raise ValueError(f"{label}: a transcription needs a reason")
    if page.digest(tex) != digest and not os.environ.get("PRML4_UNGUARDED"):
        raise ClaimFails(
            f"{label}, {source}: the display has changed since it was "
            f"transcribed; transcribe it again, then write "
            f'"{page.digest(tex)}"'
        )


def _read(place, tex, names, start, defines):
    """The statements of a display, all members of which have values."""
    try:
        return evaluate(tex, names, start, defines)[0]
    except TexError as why:
        raise Unreadable(f"{place}: {why}") from why
    except RecursionError as why:
        text = "brackets are too deep, or a quantity depends on itself"
        raise Unreadable(f"{place}: {text}") from why


def _split(place, name, side, count):
    """One side for each statement of the display."""
    if side is None or count == 1:
        return [side] * count
    if not isinstance(side, tuple) or len(side) != count:
        raise ValueError(f"{place}: {name} must be a tuple of {count}")
    return side


def _statement(place, statement, sides, errors, slack):
    """The pairs of all sides of one statement that were compared."""
    sides = {n: _value(place, n, s) for n, s in sides.items() if s is not None}
    runs, pairs = _runs(statement), []
    for k, run in enumerate(runs):
        more, scale = sides if k == 0 else {}, _scale(run.values())
        off = {n: _noise(m, scale) + errors[1] * scale for n, m in run.items()}
        off |= {n: 0.0 if n == "library" else errors[0] for n in more}
        values = {n: m.value for n, m in run.items()} | more
        pairs += _agree(place, _alike(place, values), off, scale)
    orders = (r for r in statement.relations if r != "=")
    for ends, relation in zip(pairwise(runs), orders, strict=True):
        pairs += _ordered(place, *ends, relation, slack, errors[0], pairs)
    if not pairs:
        raise Toothless(f"{place}: fewer than two values meet in a statement")
    return pairs


def _runs(statement):
    """Members joined by =, by their names: [{"member 1": ...}, ...]."""
    runs = [{}]
    for k, member in enumerate(statement.members):
        if k and statement.relations[k - 1] != "=":
            runs.append({})
        runs[-1][f"member {k + 1}"] = member
    return runs


def _scale(members):
    """The largest value, or the largest term of a sum that is zero."""
    sizes = [np.max(np.abs(_number(m.value))) for m in members]
    if any(map(_is_zero, members)):
        sizes += [m.size for m in members]
    return float(max(sizes, default=0.0))


def _noise(member, size):
    """Ten times what derivatives, integrals and limits may be off by."""
    relative, absolute = member.noise
    return 10 * (relative * size + absolute)


def _is_zero(member):
    return member.constant and not np.any(_number(member.value))


def _number(value):
    """The size of an identity is its factor."""
    return value.c if isinstance(value, Eye) else value


def _alike(label, values):
    """Sides with identities and zeros in the shape of the others."""
    shapes = [
        np.shape(v)
        for name, v in values.items()
        if name[:6] == "member" and not isinstance(v, Eye | Zero)
    ] or [np.shape(v) for v in values.values()]
    shape = max(shapes, key=len)
    out = {}
    for name, v in values.items():
        if isinstance(v, Eye):
            v = v.c * (np.eye(*shape[-2:]) if len(shape) > 1 else 1.0)
            v = np.broadcast_to(v, shape)
        elif isinstance(v, Zero) or np.ndim(v) == 0 and v == 0:
            v = np.zeros(shape)
        elif name[:6] != "member" and np.squeeze(v).shape == shape:
            v = np.squeeze(v)  # a column of one is a number on the page
        out[name] = np.asarray(v, float)
        if not np.all(np.isfinite(out[name])):
            raise ClaimFails(f"{label}: {name} is not finite")
    _same_shapes(label, out)
    return out


def _ordered(place, a, b, relation, slack, error, seen):
    """a <= b with a slack that is stated, or seen to vanish somewhere."""
    ends = list(a.values())[-1], list(b.values())[0]
    if relation not in ORDER:
        raise Unreadable(f"{place}: {relation} has no bound: transcribe it")
    gap, scale = _gap(place, relation, ends)
    noise = max(_noise(m, scale) for m in ends) + ROUNDING * scale
    nearest, allowed = float(np.min(gap)), max(noise, 1e-9 * scale)
    if nearest < -noise or relation in STRICT and nearest <= noise:
        raise ClaimFails(f"{place}: {relation} does not hold")
    if slack is not None:
        gap = nearest if relation in MATRIX_ORDER else gap
        sides = {"slack": gap, "stated": _value(place, "slack", slack)}
        errors = {"slack": noise, "stated": error}
        return _agree(place, _alike(place, sides), errors)
    if nearest <= allowed:
        found = abs(nearest) / scale, allowed / scale, abs(nearest) / allowed
        return [_Pair(("left", "right"), *found, 0.0)]
    if not (seen and any(map(_is_zero, ends))):
        raise Toothless(f"{place}: {relation} is slack: state by how much")
    return []


def _gap(place, relation, ends):
    """(what the larger side has more, or its eigenvalues; their scale)."""
    values = _alike(place, {"left": ends[0].value, "right": ends[1].value})
    gap = ORDER[relation] * (values["right"] - values["left"])
    scale = max(float(np.max(np.abs(v))) for v in values.values())
    if relation in MATRIX_ORDER:
        turned = np.swapaxes(gap, -1, -2) if gap.ndim > 1 else gap[..., None]
        near = turned.shape == gap.shape and np.abs(gap - turned)
        if near is False or np.max(near) > 1e-6 * scale:
            raise ClaimFails(f"{place}: {relation} is for symmetric matrices")
        gap = np.linalg.eigvalsh((gap + turned) / 2)
    return gap, scale


ORDER = {"<": 1, r"\le": 1, r"\prec": 1, r"\preceq": 1} | dict.fromkeys(
    [">", r"\ge", r"\succ", r"\succeq"], -1
)
MATRIX_ORDER = {r"\prec", r"\preceq", r"\succ", r"\succeq"}
STRICT = {"<", ">", r"\prec", r"\succ"}


def slip(id, label, *, as_written, corrected, truth, error=0.0):
    """as_written != truth by ten bounds at least, corrected = truth."""
    truth = _value(_named(label), "truth", truth)
    estimate = _stated(label, truth, error)
    right = _value(label, "corrected", corrected)
    sides = {"corrected": right, "truth": truth}
    errors = {"corrected": 0.0, "truth": estimate.error}
    (pair,) = _agree(f"{label}, slip {id}", sides, errors)
    verdict = _refuted(id, label, as_written, estimate)
    return Slip(id, label, verdict, pair.residual, pair.bound)


def _stated(label, value, error):
    """A value with the error that the author states for it."""
    error = np.asarray(error, float)
    if not np.all(error >= 0):
        raise ValueError(f"{label}: error must be >= 0, not {error}")
    return Estimate(value, np.broadcast_to(error, np.shape(value)))


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
    blind: float  # the largest shift of an element that may pass, / scale


def _judge(kind, label, how, truth, display, library, at=None, teeth=TEETH):
    """All pairs of sides within their bounds, and the check has teeth."""
    at = () if at is None else (at,)
    sides = {"display": _value(_named(label), "display", display, *at)}
    if library is not None:
        sides["library"] = _value(label, "library", library, *at)
    errors = dict.fromkeys(sides, 0.0)
    if truth is not None:
        sides[how] = _value(label, how, truth.value)
        errors[how] = np.nan_to_num(truth.error, nan=np.inf)
    worst = _worst(_agree(f"{label}, {kind}", sides, errors, teeth=teeth))
    return Check(label, kind, how, worst.residual, worst.bound, tuple(sides))


def _agree(place, values, errors, scale=0.0, teeth=TEETH):
    """Every pair of the values within its bound, and the bound has teeth.

    The scale is that of the largest value, or of the terms behind a zero.
    """
    _same_shapes(place, values)
    scale = max(scale, *(float(np.max(np.abs(v))) for v in values.values()))
    pairs = [
        _pair(a, b, values, errors[a] + errors[b], scale)
        for a, b in combinations(values, 2)
    ]
    for pair in pairs:
        _bite(place, pair, scale, teeth)
    for (a, b), residual, bound, ratio, _ in pairs:
        if not ratio <= 1:
            raise ClaimFails(
                f"{place}: {a} and {b} differ, "
                f"{_numbers(residual, bound, '>')}"
                f"{diagnose.resemblance(values[a], values[b])}"
            )
    return pairs


def _worst(pairs):
    """The pair nearest its bound."""
    return max(pairs, key=lambda pair: pair.ratio)


def _pair(a, b, sides, error, scale):
    """|a - b| against error + rounding, where the ratio is largest."""
    gap = np.abs(sides[a] - sides[b])
    bound = error + ROUNDING * scale + np.zeros_like(gap)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(gap == 0, 0.0, gap / bound)
    i = np.unravel_index(np.argmax(ratio), gap.shape)
    unit = scale or 1.0
    blind = np.max(bound + gap if ratio[i] <= 1 else bound)
    found = gap[i] / unit, bound[i] / unit, ratio[i], blind / unit
    return _Pair((a, b), *map(float, found))


def _bite(place, pair, scale, teeth):
    """A shift of any element by teeth * scale, either way, would be seen."""
    if scale == 0 or not pair.blind < teeth:
        raise Toothless(
            f"{place}: {' and '.join(pair.names)} are {scale:.1e} at most and "
            f"known to {pair.blind * scale:.1e} only; evaluate elsewhere, "
            "where they are not (nearly) zero, or find a sharper other side"
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
    kind = np.asarray(at).dtype.kind
    if kind not in "biufO" or np.ma.is_masked(at) or not np.size(at):
        raise ValueError(f"a point must hold real numbers; got {at!r}")
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
