"""Hypotheses about a wrong answer, from the simplest on.

    Question    the two functions and the cases where they differ
    search      Question -> sentences that fit, possibly none

Each search tests values = c bases, where values and bases are made from
yours and right; `prml4.mistakes` knows the likely c and bases. A hypothesis
has to fit every case, so that no coincidence is called an error.
"""

import inspect
from itertools import combinations

import numpy as np

from .cases import (
    SAME,
    Case,
    all_equal,
    array,
    call,
    case_at,
    close,
    discrete,
    moved,
)
from .mistakes import (
    REPLACEMENTS,
    RIGHT,
    factor,
    ingredients,
    parts,
    ratios,
    reordered,
    sizes,
    table,
    transformed,
)


def explanation(yours, right, cases, terms, elsewhere):
    """The first sentence that fits; the last search always finds one."""
    if close(cases):
        return (
            "it is close, but not equal: an approximation (such as a "
            "one-sided difference), or lost digits"
        )
    q = Question(yours, right, cases, terms, elsewhere)
    return next(text for search in SEARCHES for text in search(q))


def sentence(words, found):
    """A base and a factor as one clause."""
    return " and ".join(part for part in (words, found.words) if part)


class Question:
    """Both functions, the cases, and what the exercise says about them."""

    def __init__(self, yours, right, cases, terms, elsewhere):
        self.yours, self.right, self.cases = yours, right, cases
        self.terms, self.elsewhere = terms, elsewhere
        self.live = callable(yours) and callable(right)
        self.names = _names(yours, right, len(cases[0].args))
        self.y = [c.yours for c in cases]
        self.r = [c.right for c in cases]
        self.tables = [table(c.args, self.names) for c in cases]

    def factor(self, values, bases):
        """The factor of values = c bases over all cases."""
        with np.errstate(all="ignore"):
            return factor(values, bases, self.tables)

    def changed(self, change):
        """right at changed arguments, case by case and only on demand."""
        for c in self.cases:
            other = case_at(self.right, self.right, change(c.args))
            yield None if other is None else other.right


def _names(yours, right, count):
    """The reader's own argument names, or the book's, or numbers."""
    for f in (yours, right):
        try:
            found = inspect.signature(f).parameters.values()
        except (TypeError, ValueError):
            continue
        names = [p.name for p in found if p.kind != p.VAR_POSITIONAL]
        if len(names) >= count:
            return names[:count]
    return [f"argument {i + 1}" for i in range(count)]


def _plain(q):
    """yours = c right."""
    found = q.factor(q.y, q.r)
    if found is not None:
        yield found.words


def _named_terms(q):
    """yours = a (right - term) + c term, for the terms of the exercise."""
    terms = {n: _term_values(q, t) for n, t in q.terms.items()}
    for name, values in terms.items():
        yield from _one_term(q, f"the {name} term", values)
    for (n1, t1), (n2, t2) in combinations(terms.items(), 2):
        both = [a + b for a, b in zip(t1, t2, strict=True)]
        yield from _one_term(q, f"the sum of the {n1} and {n2} terms", both)
    for name, values in terms.items():
        with np.errstate(all="ignore"):
            less = [r / t for r, t in zip(q.r, values, strict=True)]
            more = [r * t for r, t in zip(q.r, values, strict=True)]
        for words, bases in (("missing", less), ("there once too often", more)):
            found = q.factor(q.y, bases)
            if found is not None:
                yield sentence(f"the factor {name} is {words}", found)


def _term_values(q, term):
    """A term at every case, in the shape of the answer."""
    values = [array(call(term, c.args)) for c in q.cases]
    return [
        np.broadcast_to(v, r.shape) for v, r in zip(values, q.r, strict=True)
    ]


TERM_FACTORS = (
    (1, ""),
    (0, "is missing"),
    (-1, "has the wrong sign"),
    (2, "has a factor 2"),
    (0.5, "has a factor ½"),
)


def _one_term(q, name, values):
    """(a, c) with a = 1, or with c from a few likely values."""
    rest = [r - t for r, t in zip(q.r, values, strict=True)]
    other = [y - s for y, s in zip(q.y, rest, strict=True)]
    found = q.factor(other, values)
    if found is not None:
        yield f"{name} is missing" if found.sign == 0 else _in(name, found)
    for c, words in TERM_FACTORS:
        other = [y - c * t for y, t in zip(q.y, values, strict=True)]
        found = q.factor(other, rest)
        if found not in (None, RIGHT):
            but = _in(f"everything but {name}", found)
            yield f"{name} {words}; {but}" if words else but


def _in(name, found):
    """A factor of a part of the formula."""
    extra = ", as if it were added twice" if found.text == "2" else ""
    return f"in {name}, {found.words}{extra}"


def _other_order(q):
    """yours = c right, with the elements in another order."""
    lists = zip(*(list(reordered(r)) for r in q.r), strict=True)
    yield from _of_bases(q, lists)


def _other_function(q):
    """yours = c g(right)."""
    with np.errstate(all="ignore"):
        lists = list(zip(*(list(transformed(r)) for r in q.r), strict=False))
    yield from _of_bases(q, lists)


def _of_bases(q, lists):
    for row in lists:
        found = q.factor(q.y, [base for _, base in row])
        if found is not None and found.sign:
            yield sentence(row[0][0], found)


def _other_point(q):
    """yours = c right(elsewhere)."""
    for name, place in q.elsewhere.items():
        for change in _changes_to(place, q):
            found = q.factor(q.y, q.changed(change))
            if found is not None and found.sign:
                words = f"it is evaluated at another point: {name}"
                yield sentence(words, found)


def _changes_to(place, q):
    """The argument that `place` can stand for, or all of them at once."""
    if isinstance(place, tuple):
        yield lambda args: place
        return
    for i, x in enumerate(q.cases[0].args):
        value = call(place, q.cases[0].args)
        if np.shape(value) == np.shape(x):
            yield lambda args, i=i: _put(args, i, call(place, args))


def _put(args, i, x):
    return (*args[:i], x, *args[i + 1 :])


def _other_rows(q):
    """yours = c right(some of the rows)."""
    for words, pick in _row_choices(q):
        found = q.factor(q.y, q.changed(lambda a, f=pick: _rows(a, f(a))))
        if found is not None and found.sign:
            yield sentence(words, found)


def _row_choices(q):
    yield "the last row is left out", lambda args: slice(0, -1)
    yield "the first row is left out", lambda args: slice(1, None)
    for i, (name, x) in enumerate(zip(q.names, q.cases[0].args, strict=True)):
        if isinstance(x, np.ndarray) and x.ndim == 1 and discrete(x):
            for v in np.unique(x):
                words = f"only the rows with `{name}` = {v:g} count"
                yield words, lambda args, i=i, v=v: args[i] == v


def _rows(args, rows):
    """The arguments with only some of their rows."""
    N = len(_row_numbers(args))
    return tuple(
        x[rows] if isinstance(x, np.ndarray) and x.shape[:1] == (N,) else x
        for x in args
    )


def _row_numbers(args):
    """0, ..., N - 1 for the tallest array among the arguments."""
    arrays = [x for x in args if isinstance(x, np.ndarray) and x.ndim]
    return range(sizes(arrays)["N"]) if arrays else range(0)


def _other_argument(q, exact=True):
    """yours = right with one argument replaced (= c right, later on)."""
    for i, name in enumerate(q.names):
        for words, change in REPLACEMENTS:
            bases = q.changed(lambda a, i=i, f=change: _put(a, i, f(a[i])))
            found = q.factor(q.y, bases)
            if found is not None and found.sign and (found == RIGHT) == exact:
                yield sentence(f"it is as if `{name}` {words}", found)
    for i, j in combinations(range(len(q.names)), 2):
        found = q.factor(q.y, q.changed(lambda a, i=i, j=j: _swapped(a, i, j)))
        if found is not None and found.sign and (found == RIGHT) == exact:
            words = f"`{q.names[i]}` and `{q.names[j]}` are exchanged"
            yield sentence(words, found)


def _swapped(args, i, j):
    same = np.shape(args[i]) == np.shape(args[j])
    return _put(_put(args, i, args[j]), j, args[i]) if same else (None,)


def _any_argument(q):
    """The same with a factor."""
    yield from _other_argument(q, exact=False)


def _dependence(q):
    """yours does not change with an argument that right depends on."""
    rng = np.random.default_rng(1)
    first = q.cases[0]
    for i, name in enumerate(q.names if q.live else ()):
        x = first.args[i]
        labels = isinstance(x, np.ndarray) and discrete(x)
        other = 1 - x if labels else moved(x, rng)
        now = case_at(q.yours, q.right, _put(first.args, i, other))
        if now is None or not np.array_equal(now.yours, first.yours):
            continue
        if not all_equal([Case((), now.right, first.right)]):
            yield f"it does not change with `{name}`, but should"


def _own_terms(q):
    """The same for terms made of the arguments: `w`, Phi w, alpha I."""
    for name, make in ingredients(q.names, q.cases[0].args, q.r[0].shape):
        values = [np.asarray(make(c.args), float) for c in q.cases]
        if any(v.shape != r.shape for v, r in zip(values, q.r, strict=True)):
            continue
        gaps = [y - r for y, r in zip(q.y, q.r, strict=True)]
        found = q.factor(gaps, values)
        if found == RIGHT:
            yield f"there is an extra term {name}"
        yield from _one_term(q, f"the term {name}", values)
        if found is not None and found.sign:
            much = "an extra" if found.sign > 0 else "a missing"
            yield f"there is {much} term {found.text} {name}"


def _row_weights(q):
    """yours = c_n right for the data of one row n alone."""
    args = q.cases[0].args
    N = len(_row_numbers(args)) if q.live else 0
    single = [
        case_at(q.yours, q.right, _rows(args, slice(n, n + 1)))
        for n in range(min(N, 8))
    ]
    single = [c for c in single if c is not None]
    if len(single) < 3 or all_equal(single):
        return
    alone = Question(q.yours, q.right, single, {}, {})
    for text in (*_plain(alone), *_own_terms(alone)):
        yield f"for a single row, {text}"
    yield from _by_label(alone)
    if single[0].right.size > 1 and ratios(alone.y, alone.r) is not None:
        yield "each row points the right way but has the wrong weight"


def _by_label(q):
    """yours = c right, with its own c for each of two labels."""
    for i, name in enumerate(q.names):
        labels = [c.args[i] for c in q.cases]
        if not all(
            np.size(x) == 1 and discrete(np.ravel(x)[0]) for x in labels
        ):
            continue
        clauses = []
        for v in sorted({float(np.ravel(x)[0]) for x in labels}):
            rows = [c for c in q.cases if np.ravel(c.args[i])[0] == v]
            own = Question(q.yours, q.right, rows, {}, {})
            found = own.factor(own.y, own.r)
            if found is not None and len(rows) > 1:
                words = found.words or "it is right"
                clauses.append(f"for rows with `{name}` = {v:g}, {words}")
        if len(clauses) == 2:
            yield "; ".join(clauses)


def _one_sided(q):
    """yours = c (f(x + h) - f(x))/h, where right is a central difference."""
    for sign, words in ((1, "forward"), (-1, "backward")):
        found = q.factor(q.y, (_shifted(q, c, sign) for c in q.cases))
        if found is not None and found.sign:
            yield sentence(f"it is a one-sided ({words}) difference", found)


def _shifted(q, case, sign):
    """right at x + e_i h/2 with h/2, element i: a one-sided difference."""
    kinds = [i for i, x in enumerate(case.args) if isinstance(x, float)]
    if not kinds or not callable(case.args[0]) or len(case.args) < 3:
        return None
    h = case.args[kinds[-1]]
    args = _put(case.args, kinds[-1], h / 2)
    x = np.asarray(args[1], float)
    base = np.empty(case.right.shape)
    for i in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[i] = sign * h / 2
        near = case_at(q.right, q.right, _put(args, 1, (x + e)[()]))
        if near is None or near.right.shape != x.shape:
            return None
        base[i] = near.right[i]
    return base


def _partly(q):
    """yours = c right in one part of the array, another c in the rest."""
    found = []
    for here, there, mask in parts(q.r[0]):
        if all(r.shape == mask.shape for r in q.r) and not mask.all():
            sides = [(here, mask), (there, ~mask)]
            clauses = [_clause(q, words, m) for words, m in sides]
            known = sum(
                m.sum() for c, (_, m) in zip(clauses, sides, strict=True) if c
            )
            if known:
                text = [
                    c or f"{words}, it differs"
                    for c, (words, _) in zip(clauses, sides, strict=True)
                ]
                found.append(
                    (-sum(map(bool, clauses)), -known, "; ".join(text))
                )
    yield from (text for *_, text in sorted(found, key=lambda f: f[:2]))


def _known(clauses, sides):
    """How many elements the clauses explain."""
    pairs = zip(clauses, sides, strict=True)
    return sum(int(mask.sum()) for clause, (_, mask) in pairs if clause)


def _clause(q, words, mask):
    """What c is in one part of the array, or None."""
    c = q.factor([y[mask] for y in q.y], [r[mask] for r in q.r])
    return None if c is None else f"{words}, {c.words or 'it is right'}"


def _unnamed(q):
    """yours = c right with a number that has no name."""
    with np.errstate(all="ignore"):
        found = ratios(q.y, q.r)
    if found and len(found) > 2 and np.ptp(found) < SAME * max(map(abs, found)):
        yield f"it is {found[0]:.3g} times the right answer, always"


def _unexplained(q):
    """No hypothesis fits: how many elements differ."""
    c = q.cases[0]
    text = "and not in a way that has a simple name"
    if c.right.ndim == 0:
        yield f"it differs, {text}"
    off = np.abs(c.yours - c.right) > SAME * np.max(np.abs(c.right))
    yield f"{off.sum()} of {off.size} elements differ, {text}"


SEARCHES = (
    _plain, _named_terms, _other_order, _other_point, _one_sided,
    _other_rows, _other_argument, _own_terms, _row_weights, _dependence,
    _any_argument, _other_function, _partly, _unnamed, _unexplained,
)  # fmt: skip
