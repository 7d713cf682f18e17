"""Likely mistakes in a formula, as operations on its right answer.

    factor    values = c bases in every case, c from a table of likely numbers
    table     what a formula may have too much of: N, 1/N, `alpha`, y(1 - y)
    base      the right answer transposed, with blocks in the other order, ...

Words are given for each, so that `prml4.diagnose` can make a sentence.
"""

from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from .cases import discrete

ZERO = 1e-9  # a factor below this is zero
FITS = 1e-5  # relative difference at which a hypothesis still fits
NUMBERS = {
    "": 1.0, "2": 2.0, "½": 0.5, "3": 3.0, "⅓": 1 / 3, "4": 4.0, "¼": 0.25,
    "log 2": np.log(2), "1/log 2": 1 / np.log(2), "π": np.pi,
    "√2": np.sqrt(2), "1/√2": np.sqrt(0.5), "√(2π)": np.sqrt(2 * np.pi),
}  # fmt: skip
HINTS = {"1/N": " (a mean for a sum)", "N": " (a sum for a mean)"}


class Factor(NamedTuple):
    """c = sign * (the number or symbol that `text` names); sign 0: c = 0."""

    sign: int
    text: str  # '' for 1

    @property
    def words(self):
        """A clause, '' for c = 1."""
        if self.sign == 0:
            return "it is zero"
        parts = ["the sign is flipped"] if self.sign < 0 else []
        name = self.text.removeprefix("1/")
        if name != self.text and self.text not in HINTS:
            parts.append(f"a factor {name} is missing")
        elif self.text:
            hint = HINTS.get(self.text, "")
            parts.append(f"it is off by a factor {self.text}{hint}")
        return " and ".join(parts)


RIGHT = Factor(1, "")


# -- factors ---------------------------------------------------------------


def factor(values, bases, tables):
    """The Factor c with values = c bases in every case, or None."""
    found = ratios(values, bases)
    if found is None or not any(np.isfinite(found)):
        return None
    known = [(c, t) for c, t in zip(found, tables, strict=True) if c == c]
    return _named(np.array([c for c, _ in known]), [t for _, t in known])


def ratios(values, bases):
    """c = <value, base>/<base, base> per case (NaN for 0/0), or None."""
    found = []
    for value, base in zip(values, bases, strict=False):
        if base is None or np.shape(base) != np.shape(value):
            return None
        size, weight = np.max(np.abs(value)), np.sum(base * base)
        if not np.isfinite(weight) or (weight == 0 and size > 0):
            return None
        c = np.sum(value * base) / weight if weight else np.nan
        slack = FITS * max(size, FITS * np.max(np.abs(base)))
        if weight and not np.max(np.abs(value - c * base)) <= slack:
            return None
        found.append(float(c))
    return found


def _named(c, tables):
    """The simplest Factor that all c equal, each with its own table."""
    common = set.intersection(*(set(t) for t in tables))
    names = ["", *sorted(common, key=_rank)]
    symbols = np.array([[t.get(name, 1.0) for t in tables] for name in names])
    known = symbols[:, None] * np.array(list(NUMBERS.values()))[:, None]
    quotient = c / known  # (names, numbers, cases)
    fits = [np.all(np.abs(s * quotient - 1) <= FITS, axis=2) for s in (1, -1)]
    if np.any(fits):
        i, j = np.argwhere(fits[0] | fits[1])[0]
        return Factor(
            1 if fits[0][i, j] else -1, _text(list(NUMBERS)[j], names[i])
        )
    return Factor(0, "") if np.max(np.abs(c)) < ZERO else None


def _text(number, name):
    """'2/N' from '2' and '1/N'."""
    if number and name.startswith("1/"):
        return number + name[1:]
    return " ".join(part for part in (number, name) if part)


def _rank(name):
    """N first, then short names."""
    return (not name.removeprefix("1/").startswith("N"), len(name), name)


def table(args, names):
    """Numbers that a formula of these arguments may have too much of."""
    found = {}
    for name, x in zip(names, args, strict=False):
        if np.ndim(x) == 0 and isinstance(x, int | float | np.number):
            found |= _powers(f"`{name}`", float(x))
    arrays = [x for x in args if isinstance(x, np.ndarray) and x.ndim]
    for name, n in sizes(arrays).items():
        found |= _powers(name, n)
        if n > 1:
            found |= _powers(f"({name} − 1)", n - 1)
            found |= _powers(f"({name} − 1)/{name}", (n - 1) / n)
    for a in _activations(arrays):
        y = 1 / (1 + np.exp(-np.clip(a, -30, 30)))
        for name, v in (("y", y), ("(1 − y)", 1 - y), ("y(1 − y)", y - y * y)):
            found |= _powers(name, v)
    return {
        k: v for k, v in found.items() if np.isfinite(v) and v not in (0, 1)
    }


def _powers(name, x):
    """x, 1/x and x^2 by name."""
    return {name: x, f"1/{name}": 1 / x, f"{name}²": x * x} if x else {}


def sizes(arrays):
    """{'N': the rows of the tallest, 'M': ..., 'K': ...}, without repeats."""
    tall = sorted(arrays, key=lambda a: (a.ndim < 2, -a.shape[0]))
    N = tall[0].shape[0] if tall else 0
    rest = sorted({n for a in arrays for n in a.shape} - {N, 1}, reverse=True)
    return dict(zip("NMKL", [N, *rest], strict=False))


def _activations(arrays):
    """w^T phi for each pair of arguments that may be one phi and one w."""
    for u, v in permutations(arrays, 2):
        if v.ndim == 1 and u.shape in ((1, v.size), v.shape) and v.size > 1:
            yield float(np.sum(u * v))


# -- bases -----------------------------------------------------------------


def reordered(r):
    """(words, base): the elements of r in another order."""
    if r.ndim == 2:
        yield "it is transposed", r.T
    if r.ndim > 2:
        for axes in permutations(range(r.ndim)):
            yield f"the axes are in the order {axes}", r.transpose(axes)
    yield from _other_blocks(r)
    if r.ndim and r.size > 1:
        yield "the order is reversed", np.flip(r)
        yield "the indices are shifted by one", np.roll(r, 1, axis=0)
        yield "the indices are shifted by one", np.roll(r, -1, axis=0)


def _other_blocks(r):
    """Blocks indexed (m, k) where (k, m) is right, on all axes or on one."""
    words = "the blocks have the wrong index order"
    n = r.shape[0] if r.ndim in (1, 2) else 0
    for k in range(2, n):
        if n % k == 0:
            p = np.arange(n).reshape(k, -1).T.ravel()
            if r.shape == (n, n):
                yield words, r[np.ix_(p, p)]
                yield words + " in the columns", r[:, p]
            yield words + (" in the rows" if r.ndim == 2 else ""), r[p]


def transformed(r):
    """(words, base): a function of r in place of r."""
    yield "it is squared", r * r
    yield "it is the square root", np.sqrt(np.abs(r))
    yield "it is the reciprocal", 1 / r
    yield "it is the logarithm", np.log(np.abs(r))
    yield "it is the exponential", np.exp(np.minimum(r, 700.0))
    yield "it is one minus the right answer", 1 - r
    if r.ndim:
        yield "it is the absolute value", np.abs(r)
        total = np.full_like(r, np.sum(r))
        yield "every element is the sum over all elements", total
    if r.ndim == 2 and r.shape[0] == r.shape[1]:
        if np.linalg.cond(r) < 1e10:
            yield "it is the inverse matrix", np.linalg.inv(r)


def parts(r):
    """(words, words of the rest, mask): likely parts of an array."""
    if r.ndim == 1 and r.size > 1:
        i = np.arange(r.size)
        yield "in the first element", "elsewhere", i == 0
        yield "in the last element", "elsewhere", i == r.size - 1
    if r.ndim == 2 and r.shape[0] == r.shape[1] and len(r) > 1:
        i, j = np.indices(r.shape)
        yield "on the diagonal", "off the diagonal", i == j
        yield "above the diagonal", "elsewhere", i < j
        yield "below the diagonal", "elsewhere", i > j
        yield "in the first row and column", "elsewhere", (i == 0) | (j == 0)
        for k in (k for k in range(2, len(r)) if len(r) % k == 0):
            same = i // k == j // k
            yield "in the diagonal blocks", "in the off-diagonal blocks", same


# -- other arguments, other terms ------------------------------------------


def _real(f, only=lambda a: True):
    """f for real arguments for which it makes sense, else None."""

    def change(x):
        if isinstance(x, float | np.ndarray) and only(np.asarray(x)):
            return f(x)
        return None

    return change


REPLACEMENTS = (
    ("were 0, that is: its term is missing", _real(lambda x: 0 * x)),
    ("had the opposite sign", _real(lambda x: -x)),
    ("were 1 minus itself", _real(lambda x: 1 - x)),
    ("were doubled (a factor 2)", _real(lambda x: 2 * x)),
    ("were halved (a factor ½)", _real(lambda x: x / 2)),
    ("were squared", _real(lambda x: x * x)),
    ("were its reciprocal", _real(lambda x: 1 / x, lambda a: np.all(a))),
    ("were its root", _real(np.sqrt, lambda a: np.all(a > 0))),
    ("were transposed", _real(lambda x: x.T, lambda a: a.ndim == 2)),
    ("were inverted", _real(np.linalg.pinv, lambda a: a.ndim == 2)),
    ("were labelled ±1", _real(lambda x: 2 * x - 1, lambda a: discrete(a))),
    ("were in the opposite order", _real(np.flip, lambda a: a.ndim == 1)),
)


def ingredients(names, args, shape):
    """(name, args -> value) of terms in the shape of the answer."""
    named = list(enumerate(zip(names, args, strict=True)))
    found = [("1", lambda a: np.ones(shape))]
    if len(shape) == 2 and shape[0] == shape[1]:
        found.append(("of the identity", lambda a: np.eye(shape[0])))
        found.append(("off the diagonal", lambda a: 1 - np.eye(shape[0])))
    for (i, (n1, x)), (j, (n2, v)) in permutations(named, 2):
        if np.ndim(x) == 2 and np.ndim(v) == 1:
            if (x.shape[1], x.shape[0]) == (v.size, *shape):
                make = lambda a, i=i, j=j: a[i] @ a[j]  # noqa: E731
                found.append((f"`{n1} @ {n2}`", make))
            if (x.shape[0], x.shape[1]) == (v.size, *shape):
                make = lambda a, i=i, j=j: a[i].T @ a[j]  # noqa: E731
                found.append((f"`{n1}.T @ {n2}`", make))
    for i, (name, x) in named:
        if isinstance(x, float | np.ndarray) and np.shape(x) == shape:
            found.append((f"`{name}`", lambda a, i=i: a[i]))
    yield from found
    for (k, (name, x)), (text, make) in product(named, found):
        if np.ndim(x) == 0 and isinstance(x, float | np.number) and shape:
            yield f"`{name}` {text}", lambda a, k=k, f=make: a[k] * f(a)
