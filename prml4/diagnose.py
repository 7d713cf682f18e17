"""What kind of error does a wrong answer look like?

`diagnose` compares a reader's function with the book's at the points given
and at random points near them, and where they differ has
`prml4.hypotheses` find the likeliest reason.
"""

from functools import wraps

import numpy as np

from .cases import FAULTS, Case, all_equal, array, call, cases_near, close
from .hypotheses import explanation, sentence
from .mistakes import factor, reordered


def diagnose(yours, right, at, terms=None, elsewhere=None):
    """(verdict, text): yours(*at) = right(*at), or yours ~ c base(*at)."""
    at = at if isinstance(at, list) else [at]
    points = [p if isinstance(p, tuple) else (p,) for p in at]
    _check_terms(terms or {}, right, points[0])
    for args in points:
        value, trouble = _attempted(yours, args)
        truth = call(right, args)
        if trouble is None and isinstance(truth, tuple):
            return _one_by_one(yours, right, points, terms, elsewhere, value)
        trouble = trouble or _unusable(array(value), array(truth))
        if trouble:
            return trouble
    found = cases_near(yours, right, points)
    wrong = [c for c in found if not all_equal([c], found)]
    if not wrong:
        return "right", "your function agrees with the book's"
    where = _where(len(points), found, wrong)
    why = explanation(yours, right, wrong, terms or {}, elsewhere or {})
    return "not yet", where + why


def _check_terms(terms, right, args):
    """Terms have to fit the answer, or the exercise itself is wrong."""
    shape = np.shape(call(right, args)) if terms else ()
    for name, term in terms.items():
        found = np.shape(call(term, args))
        if np.broadcast_shapes(found, shape) != shape:
            raise ValueError(f"term {name!r} has shape {found}, not {shape}")


def _where(given, found, wrong):
    """Which of the cases are wrong, in words, '' if all of them are."""
    off = {id(c) for c in wrong}
    if all(id(c) in off for c in found):
        return ""
    if any(id(c) in off for c in found[:given]):
        return "it is right at some points; at the others, "
    return (
        "it is right at the point given, but not in general (does it use "
        "something from outside?); nearby, "
    )


def resemblance(value, truth):
    """' (it is off by a factor 2)' if value = 2 truth, and so on, or ''."""
    if close([Case((), value, truth)]):
        return ""
    with np.errstate(all="ignore"):
        for words, base in (("", truth), *reordered(truth)):
            found = factor([value], [base], [{}])
            text = "" if found is None else sentence(words, found)
            if text:
                return f" ({text})"
    return ""


def _attempted(yours, args):
    """(value, None), or (None, the verdict on a stub or an exception)."""
    stub = "not attempted", "the function is still a stub"
    try:
        value = call(yours, args)
    except NotImplementedError:
        return None, stub
    except FAULTS as fault:
        text = f"your function raises {type(fault).__name__}: {fault}"
        return None, ("not yet", text)
    if value is None or value is Ellipsis:
        return None, stub
    return value, None


def _unusable(value, truth):
    """Why the answers cannot be compared number by number, or None."""
    text = None
    if not isinstance(value, np.ndarray):
        text = f"your function returns a {type(value).__name__}, not numbers"
    elif np.any(np.isnan(value)):
        text = "your answer contains NaN"
    elif value.shape != truth.shape:
        text = _shape(value, truth)
    elif np.any(np.isinf(value)) and np.all(np.isfinite(truth)):
        text = "your answer contains infinity"
    return text and ("not yet", text)


def _shape(value, truth):
    """What kind of wrong shape it is."""
    text = f"your answer has shape {value.shape}, not {truth.shape}"
    size = truth.ndim
    hints = [("transposed", value.T)] if value.ndim == size == 2 else []
    if value.size == truth.size:
        hints.append(
            ("an axis too many or too few", value.reshape(truth.shape))
        )
    for axis in range(value.ndim):
        hints.append((f"the sum over axis {axis} is missing", value.sum(axis)))
        hints.append(
            (f"the mean over axis {axis} is missing", value.mean(axis))
        )
    if value.size == 1:
        hints.append(
            ("it is summed over everything", value / truth.sum() * truth)
        )
    for words, guess in hints:
        if guess.shape == truth.shape:
            found = factor([guess], [truth], [{}])
            if found is not None:
                return f"{text}: {sentence(words, found)}"
    return text


def _item(f, i):
    """Answer number i of f, under the name and signature of f."""
    return wraps(f)(lambda *args: f(*args)[i])


def _one_by_one(yours, right, points, terms, elsewhere, value):
    """Several answers at once: the first that differs."""
    size = len(call(right, points[0]))
    if not isinstance(value, tuple | list) or len(value) != size:
        return "not yet", f"your function should return {size} values"
    for i in range(size):
        verdict, text = diagnose(
            lambda *a, i=i: yours(*a)[i],
            lambda *a, i=i: right(*a)[i],
            points, terms, elsewhere,
        )  # fmt: skip
        if verdict != "right":
            return verdict, f"value {i + 1} of {size}: {text}"
    return verdict, text
