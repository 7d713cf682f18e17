"""What a wrong answer looks like: hypotheses, from the simplest on.

    Case        one set of arguments with the reader's answer and the book's
    factor      c in values = c bases, the same in every case: -1, 2, 1/N ...
    hypothesis  (say, values, bases): made from the two answers and a likely
                mistake; `say` turns the factor, if one fits, into a sentence

Cases are the points given and random points near them, so that no
coincidence is called an error.
"""

import copy
import inspect
import warnings
from functools import partial
from itertools import combinations
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

EPS = float(np.finfo(float).eps)
SAME, CLOSE, FITS = 1e-7, 1e-4, 1e-5  # equal; nearly so; a hypothesis fits
EXPLAINS = 1e-3  # what a changed argument may leave of a difference
SLOW = 0.02  # what an iteration may be off by from another start
NUMBERS = {"": 1, "2": 2, "½": 0.5, "3": 3, "⅓": 1 / 3, "4": 4, "¼": 0.25}
HINTS = {"1/N": " (a mean for a sum)", "N": " (a sum for a mean)"}
NIL = "it is zero"
UNEXPLAINED = "it differs, and not in a way that has a simple name"
NEARLY = (
    "it is close, but not equal: an approximation (such as a one-sided "
    "difference, or a search that stops early), or lost digits"
)
OUTSIDE = (
    "it is right at the point given, but not near it: does it use something "
    "from outside, or stop too early? There, "
)
LOST = (
    "its digits are lost where the answer is as small as {:.0e}: what is added "
    "to 1, or taken from it, must not be smaller than 1e-16 (see log1p, expm1)"
)
FAULTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError,
    RuntimeError, TypeError, ValueError, Warning,
)  # fmt: skip


class Case(NamedTuple):
    """One set of arguments, and the two answers."""

    args: tuple
    yours: np.ndarray
    right: np.ndarray


def diagnose(yours, right, at, terms=None, elsewhere=None):
    """(verdict, text): yours(*at) = right(*at), or yours ~ c base(*at)."""
    points = at if isinstance(at, list) else [at]
    points = [p if isinstance(p, tuple) else (p,) for p in points]
    if verdict := _unusable_at(points, yours, right, terms or {}):
        return verdict
    cases = _cases(yours, right, points)
    given = {id(args) for args in points}  # judged by its own size each
    wrong = [
        c for c in cases
        if not _equal([c], [c] if id(c.args) in given else cases)
        and not _is_rounding(right, c)
    ]  # fmt: skip
    here = [c for c in wrong if id(c.args) in given]
    slow = wrong and not here and len(points) > 1 and _equal(wrong, within=SLOW)
    if not wrong or slow:  # what iterates may be right from these starts only
        return "right", "your function agrees with the book's"
    if _equal(wrong, within=CLOSE):
        return "not yet", NEARLY
    if all(np.max(np.abs(c.yours - c.right)) < 1e-15 for c in wrong):
        least = min(np.max(np.abs(c.right)) for c in wrong)
        return "not yet", LOST.format(least)
    text = _explained(right, wrong, here, terms or {}, elsewhere or {})
    if text == UNEXPLAINED and here and _equal(here, within=CLOSE):
        return "not yet", NEARLY
    return "not yet", ("" if here else OUTSIDE) + text


def _unusable_at(points, yours, right, terms):
    """The verdict on what has no value, or another shape, at a point."""
    for args in points:
        truth = _array(_call(right, args))
        if not np.all(np.isfinite(truth)):
            raise ValueError("the book's function has no finite answer there")
        for term in terms.values():
            np.broadcast_to(_call(term, args), truth.shape)
        if verdict := _unusable(yours, args, truth):
            return verdict
    return None


def _explained(right, wrong, here, terms, elsewhere):
    """The first sentence that fits all cases, or those at the points given.

    Terms given as values hold there only. A single number fits too easily.
    """
    general = {n: t for n, t in terms.items() if callable(t)}
    sure = [c for c in here if c.right.size > 1]
    trials = [(here, terms)] if general != terms else []
    for cases, known in (*trials, (wrong, general), (sure, terms)):
        text = cases and _first(_question(right, cases, known, elsewhere))
        if text:
            return text
    return UNEXPLAINED


def resemblance(value, truth):
    """' (it is off by a factor 2)' if value = 2 truth, and so on, or ''."""
    if not _equal([Case((), value, truth)], within=CLOSE):
        for words, reorder in ORDERS:
            c = factor([value], [reorder(truth)], [{}])
            if c is not None:
                return f" ({_and(words, c)})"
    return ""


# -- cases -----------------------------------------------------------------


def _call(f, args):
    """f on private copies of its arguments, quietly; values as they are."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return f(*copy.deepcopy(args)) if callable(f) else f


def _array(value):
    """Numbers as floats; NaN for anything else."""
    if np.iscomplexobj(value):
        return np.array(np.nan)
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError):
        return np.array(np.nan)


def _unusable(yours, args, truth):
    """The verdict on a stub, an exception, NaN or a wrong shape, or None."""
    stub = "not attempted", "the function is still a stub"
    try:
        value = _call(yours, args)
    except NotImplementedError:
        return stub
    except FAULTS as fault:
        name = type(fault).__name__
        return "not yet", f"your function raises {name}: {fault}"
    if value is None or value is Ellipsis:
        return stub
    value = _array(value)
    if not np.all(np.isfinite(value)):
        return "not yet", "your answer contains NaN, infinity or no numbers"
    if value.shape != truth.shape:
        text = f"your answer has shape {value.shape}, not {truth.shape}"
        return "not yet", text + _shape_hint(value, truth, table(args, ()))
    return None


def _shape_hint(value, truth, numbers):
    """': it is transposed', or what else explains the shape, or ''."""
    guesses = {"it is transposed": value.T}
    if value.size == truth.size:
        guesses["an axis is too many or too few"] = value.reshape(truth.shape)
    for i in range(value.ndim):
        guesses[f"the sum over axis {i} is missing"] = value.sum(i)
    for words, guess in guesses.items():
        c = factor([guess], [truth], [numbers])
        if c is not None:
            return f": {_and(words, c)}"
    return ""


def _case(yours, right, args):
    """A Case, or None where one of the two has no usable answer."""
    try:
        pair = _array(_call(yours, args)), _array(_call(right, args))
    except FAULTS:
        return None
    usable = pair[0].shape == pair[1].shape and np.all(np.isfinite(pair))
    return Case(args, *pair) if usable else None


def _cases(yours, right, points):
    """The points given, and three random ones near each of the first two."""
    rng = np.random.default_rng(0)
    live = callable(yours) and callable(right)
    near = points[:2] * 3 if live else []
    near = [tuple(_moved(x, rng) for x in args) for args in near]
    found = [_case(yours, right, args) for args in points + near]
    return [c for c in found if c is not None]


def _is_rounding(right, case):
    """Whether the answers differ by no more than right's own last digits.

    Where it vanishes, as a gradient at the minimum, it is all rounding.
    """
    rng = np.random.default_rng(0)
    near = tuple(
        x * (1 + 8 * EPS * rng.standard_normal(np.shape(x)))
        if isinstance(x, float | np.ndarray) and np.asarray(x).dtype.kind == "f"
        else x
        for x in case.args
    )
    near = callable(right) and _case(right, right, near)
    off = np.abs(near.right - case.right) if near else 0.0
    return bool(np.all(np.abs(case.yours - case.right) <= 4 * np.max(off)))


def _moved(x, rng):
    """A random neighbour of the same nature; labels and counts stay.

    Whole numbers stay whole, zeros and ones where they are (as in a column
    of ones, or below a diagonal), and what rises goes on rising.
    """
    a = np.asarray(x)
    labels = np.all(np.isin(a, (0, 1))) or np.all(np.isin(a, (-1, 1)))
    shares = a.ndim in (1, 2) and np.all(a >= 0) and np.allclose(a.sum(-1), 1)
    rows = shares and a.ndim == 2
    if a.dtype.kind != "f" or rows or (labels and (a.ndim == 0 or a.any())):
        return x
    noise = 0.3 * rng.standard_normal(a.shape)
    fixed = np.isin(a, (-1, 0, 1))
    if not fixed.all() and np.all(a == np.round(a)):
        return np.where(fixed, a, a + rng.integers(1, 4, a.shape))[()]
    noise = np.where(fixed & ~fixed.all(), 0.0, noise)
    if a.ndim == 1 and a.size > 2 and np.all(np.diff(a) > 0) and not shares:
        return np.sort(a + noise * np.std(a))
    if shares:
        return a * np.exp(noise) / np.sum(a * np.exp(noise))
    if a.ndim == 2 and a.shape[0] == a.shape[1] and np.allclose(a, a.T):
        return a * np.exp(noise[0] + noise[0][:, None])
    if np.all((a > 0) & (a < 1)):
        return (a / (a + (1 - a) * np.exp(noise)))[()]
    if np.all(a > 0):
        return (a * np.exp(noise))[()]
    return (a + noise * (np.std(a) or 1.0))[()]


def _equal(cases, among=None, within=SAME):
    """max |yours - right| <= within * max |right|, for every case.

    The size counts as at least 1e-6 of what is typical `among` the cases.
    """
    least = 1e-6 * max(np.max(np.abs(c.right)) for c in among or cases)
    return all(
        np.max(np.abs(c.yours - c.right))
        <= within * max(np.max(np.abs(c.right)), least)
        for c in cases
    )


# -- factors ---------------------------------------------------------------


def factor(values, bases, tables):
    """c in values = c bases, in words ('' for 1), or None if there is none."""
    found, known = [], []
    with np.errstate(all="ignore"):
        for value, base, numbers in zip(values, bases, tables, strict=False):
            if base is None or base.shape != value.shape:
                return None
            if not (np.any(value) or np.any(base)):
                continue
            c = np.sum(value * base) / np.sum(base * base)
            size = max(np.max(np.abs(v)) for v in (value, FITS * base))
            if not np.max(np.abs(value - c * base)) <= FITS * size:
                return None
            found.append(c)
            known.append(numbers)
    return _named(np.array(found), known) if found else None


def _named(c, tables):
    """The simplest product of a number and a symbol that all c equal."""
    common = set.intersection(*(set(t) for t in tables))
    names = ["", *sorted(common, key=lambda s: ("N" not in s[:3], len(s), s))]
    for name in names:
        symbol = np.array([t.get(name, 1.0) for t in tables])
        for number, value in NUMBERS.items():
            for sign in (1, -1):
                expected = sign * value * symbol
                if np.all(np.abs(c - expected) <= FITS * np.abs(expected)):
                    return _words(sign, number, name)
    return NIL if np.max(np.abs(c)) < 1e-9 else None


def _words(sign, number, name):
    """'the sign is flipped and it is off by a factor 2/N', '' for 1."""
    ratio = number and name.startswith("1/")
    text = number + name[1:] if ratio else f"{number} {name}".strip()
    flipped = "the sign is flipped" if sign < 0 else ""
    if text.startswith("1/`"):
        return _and(flipped, f"a factor {text[2:]} is missing")
    hint = HINTS.get(text, "")
    return _and(flipped, f"it is off by a factor {text}{hint}" if text else "")


def _and(*clauses):
    return " and ".join(c for c in clauses if c)


def table(args, names):
    """Numbers that a formula of these arguments may have too much of."""
    found = {
        f"`{name}`": float(x)
        for name, x in zip(names, args, strict=False)
        if np.ndim(x) == 0 and isinstance(x, int | float | np.number) and x
    }
    arrays = [x for x in args if isinstance(x, np.ndarray) and x.ndim]
    arrays.sort(key=lambda a: (a.ndim < 2, -a.shape[0]))
    sizes = dict.fromkeys(n for a in arrays for n in a.shape if n > 1)
    for name, n in zip("NMKL", sizes, strict=False):  # N: rows of the tallest
        found |= {name: n, f"({name} − 1)": n - 1}
        found[f"({name} − 1)/{name}"] = (n - 1) / n
    inverse = {_inverted(name): 1 / x for name, x in found.items()}
    squares = {f"{n}²": x * x for n, x in found.items() if "/" not in n}
    return found | inverse | squares


def _inverted(name):
    """'1/N' of 'N', and 'N/(N − 1)' of '(N − 1)/N'."""
    return "/".join(reversed(name.split("/"))) if "/" in name else f"1/{name}"


# -- hypotheses ------------------------------------------------------------


def _question(right, cases, terms, elsewhere):
    """What the hypotheses need: y, r and the terms as lists over the cases."""
    names = [f"argument {i + 1}" for i in range(len(cases[0].args))]
    if inspect.isfunction(right):
        names = list(inspect.signature(right).parameters)[: len(names)]
    found = {
        f"the {name} term": [
            np.broadcast_to(_call(term, c.args), c.right.shape) for c in cases
        ]
        for name, term in terms.items()
    }
    for i, name in enumerate(names):  # arguments may be terms
        values = [c.args[i] for c in cases]
        if all(np.shape(c.args[i]) == c.right.shape != () for c in cases):
            found[f"the term `{name}`"] = values
    return SimpleNamespace(
        right=right, cases=cases, names=names, terms=found,
        elsewhere=elsewhere, y=[c.yours for c in cases],
        r=[c.right for c in cases],
    )  # fmt: skip


def _first(q):
    """What the first hypothesis that fits has to say, or ''."""
    tables = [table(c.args, q.names) for c in q.cases]
    for hypotheses in SEARCHES:
        for say, values, bases in hypotheses(q):
            c = factor(values, bases, tables)
            text = "" if c is None else say(c)
            if text:
                return text
    return ""


def _also(words):
    """'words and factor'; a base that would have to vanish says nothing."""
    return lambda c: "" if c == NIL else _and(words, c)


def _blocks(k, axes, r):
    """Blocks of k indexed (m, k) where (k, m) is right, along some axes."""
    n = r.shape[0] if r.ndim in (1, 2) else 0
    if n % k or n <= k or any(r.shape[a : a + 1] != (n,) for a in axes):
        return None
    order = np.arange(n).reshape(k, -1).T.ravel()
    for axis in axes:
        r = np.take(r, order, axis=axis)
    return r


ORDERS = (
    ("", lambda r: r),
    ("it is transposed", lambda r: r.T if r.ndim > 1 else None),
    *(
        ("the blocks have the wrong index order", partial(_blocks, k, axes))
        for axes in ((0, 1), (0,), (1,))
        for k in range(2, 13)
    ),
    ("the order is reversed", lambda r: np.flip(r) if r.size > 1 else None),
)


def _in_order(q):
    """yours = c right, also with the elements in another order."""
    yield lambda c: c, q.y, q.r
    for words, reorder in ORDERS[1:]:
        yield _also(words), q.y, (reorder(r) for r in q.r)


def _minus(a, b, c=1.0):
    return [x - c * y for x, y in zip(a, b, strict=True)]


def _terms(q):
    """yours = a (right - term) + c term, with a = 1 or c from a short list."""

    def own(name, c):
        twice = ", as if it were added twice" if c.endswith("factor 2") else ""
        if c == NIL:
            return f"{name} is missing"
        return c and f"in {name}, {c}{twice}"

    def rest(name, words, a):
        clause = f"in everything but {name}, {a}"
        return a and _and(words and f"{name} {words}", clause)

    for name, t in q.terms.items():
        yield partial(own, name), _minus(q.y, _minus(q.r, t)), t
    for name, t in q.terms.items():
        for c, words in TERMS:
            say = partial(rest, name, words)
            yield say, _minus(q.y, t, c), _minus(q.r, t)


def _changed(q, change):
    """right at changed arguments, case by case, only on demand."""
    for c in q.cases:
        args = change(c.args)
        near = args and _case(q.right, q.right, args)
        yield near.right if near else None


def _elsewhere(q):
    """yours = c right(elsewhere), one argument or a tuple of all."""
    for name, place in q.elsewhere.items():
        say = _also(f"it is evaluated at another point: {name}")
        if isinstance(place, tuple):
            yield say, q.y, _changed(q, lambda args, p=place: p)
            continue
        for i in range(len(q.names)):
            new = _changed(q, partial(_put, i, lambda x, p=place: p))
            yield say, q.y, new


def _put(i, change, args):
    """args with number i changed, or None where that makes no sense."""
    x = args[i]
    if not isinstance(x, float | np.ndarray):
        return None
    with np.errstate(all="ignore"):
        new = change(x)
    same = np.shape(new) == np.shape(x)
    return (*args[:i], new, *args[i + 1 :]) if same else None


def _one_sided(q):
    """yours = c right(f, x + h/2, h/2), a forward or backward difference."""
    for sign, words in ((1, "forward"), (-1, "backward")):

        def change(args, sign=sign):
            f, x, h = args if len(args) == 3 else (None, 0, 0)
            return callable(f) and (f, x + sign * h / 2, h / 2)

        say = _also(f"it is a one-sided ({words}) difference")
        yield say, q.y, _changed(q, change)


def _replaced(q):
    """yours = right with one argument replaced, or with two exchanged."""
    for words, change in REPLACED:
        for i, name in enumerate(q.names):
            new = _changed(q, partial(_put, i, change))
            yield _alone(f"it is as if `{name}` {words}"), q.y, _apart(q, new)
    for i, j in combinations(range(len(q.names)), 2):
        names = f"`{q.names[i]}` and `{q.names[j]}`"
        new = _changed(q, partial(_exchanged, i, j))
        say = _alone(f"it is as if {names} were exchanged")
        yield say, q.y, _apart(q, new)


def _alone(words):
    """'words', if there is no factor besides."""
    return lambda c: "" if c else words


def _apart(q, bases):
    """The bases that leave a thousandth of the difference at most.

    One that leaves more, as it is nearly right itself, explains nothing.
    """
    for case, base in zip(q.cases, bases, strict=True):
        off = np.max(np.abs(case.yours - case.right))
        same = base is not None and base.shape == case.yours.shape
        fits = same and np.max(np.abs(case.yours - base)) <= EXPLAINS * off
        yield base if fits else None


def _exchanged(i, j, args):
    """args with two arrays or two numbers in each other's place, or None."""
    kinds = [isinstance(args[k], float | np.ndarray) for k in (i, j)]
    if not all(kinds) or np.shape(args[i]) != np.shape(args[j]):
        return None
    new = list(args)
    new[i], new[j] = args[j], args[i]
    return tuple(new)


REPLACED = (
    ("were 0: its term is missing", lambda x: 0 * x),
    ("were 1 minus itself", lambda x: 1 - x),
    ("had the opposite sign", lambda x: -x),
    ("were doubled (a factor 2)", lambda x: 2 * x),
    ("were halved (a factor ½)", lambda x: x / 2),
    ("were its reciprocal", lambda x: np.divide(1.0, x)),
)
TERMS = ((1, ""), (0, "is missing"), (-1, "has the wrong sign"),
         (2, "has a factor 2"), (0.5, "has a factor ½"))  # fmt: skip
SEARCHES = (_in_order, _terms, _elsewhere, _one_sided, _replaced)
