"""The printed formula with numbers for its symbols.

    evaluate(tex, given)   every statement of a display: the values of its
                           members; a TexError says why one has none

What a reader knows from type is held to: bold small letters are columns, bold
capitals matrices, all others numbers, and shapes must fit. f(x) applies f if f
is bound to a function, and multiplies if it is a number. An index counts from
`start`, or from 0 if its sum does. y_n is an element of y, or the symbol `y_n`
if that is bound.

A tree (kind, ...) of `prml4.referee.tex` is evaluated by the method _kind.
"""

import inspect
import itertools
from dataclasses import dataclass
from functools import reduce
from keyword import iskeyword

import numpy as np
from scipy import optimize

from prml4.referee import calculus, values
from prml4.referee import tex as grammar
from prml4.referee.estimate import limit_of
from prml4.referee.tex import Mismatch, Syntax, TexError, Unbound, walk
from prml4.referee.values import Depends, Eye, Law, Raw, Zero, column, plain

ENDLESS, LONG = 200, 10**5  # terms of a sum to infinity, and at most
HOLDS = {
    "=": lambda a, b: np.isclose(a, b, 1e-9, 1e-14),
    r"\ne": lambda a, b: not np.isclose(a, b, 1e-9, 1e-14),
    "<": np.less, r"\le": np.less_equal,
    ">": np.greater, r"\ge": np.greater_equal,
}  # fmt: skip
LINEAR = {"tr", "diag", "max", "min", "det"}  # of the terms in an argument
PLAIN = {
    "neg": lambda a: values.mul(-1.0, a), "pow": values.power,
    "T": values.turned,
    "pinv": lambda a: column(np.linalg.pinv(values.sized(a, "A^+"))),
}  # fmt: skip


@dataclass(frozen=True)
class Member:
    """What one member of a statement is."""

    value: object  # an array, points and free indices first; or Eye, Zero
    noise: tuple  # relative and absolute error of derivatives, integrals, ...
    size: float  # the largest term that was added up in it
    constant: bool  # without any symbol, such as 0


@dataclass(frozen=True)
class Statement:
    """a = b <= c"""

    members: tuple[Member, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A symbol that the display itself defines."""

    body: tuple


class Env:
    """What symbols and running indices stand for at one place."""

    def __init__(self, names, loops=None, point=0, cache=None):
        self.names, self.loops, self.point = names, loops or {}, point
        self.cache = {} if cache is None else cache

    def put(self, names):
        """The same place with symbols changed."""
        return Env({**self.names, **names}, self.loops, self.point)

    def at(self, loops):
        """The same place with indices set."""
        loops = {**self.loops, **loops}
        return Env(self.names, loops, self.point, self.cache)


class Evaluator:
    """One display's bindings; ev(node, env) is the value of a tree."""

    def __init__(self, given, start=1):
        self.names = {spelled(k): v for k, v in given.items() if k != "sizes"}
        self.sizes, self.start, self.origin = given.get("sizes", {}), start, {}
        self.size, self.doubts = 0.0, {}
        self.swept, self.points, self.begins = {}, {}, {}

    def ev(self, node, env):
        """The value of a tree."""
        kind, *rest = node
        if kind in PLAIN:
            found = [self.ev(x, env) for x in rest]
            if kind in ("T", "pow"):
                power = rest[1] if kind == "pow" else ("num", -1.0)
                self.entire(found[0], rest[0], power, env)
            return PLAIN[kind](*found)
        return getattr(self, "_" + kind)(*rest, env)

    def entire(self, value, node, power, env):
        """A_{ij}^{-1} and A^{-1}_{ij} look alike, and A^T a transpose."""
        items = node[2] if node[0] == "item" else []
        if node[0] == "sym" and node[1][0].isupper() and len(node[3]) > 1:
            items = self.fetch(node, env)[2]
        if len(items) > 1 and power == ("num", -1.0):
            raise Syntax("A_{ij}^{-1} has two readings: use brackets")
        if power[:2] == ("sym", "T") and np.ndim(value) == 2:
            raise Syntax(r"A^T has two readings: \mathsf T transposes")

    def doubt(self, node, found):
        """A value, its error noted; at many places, that of the largest."""
        value, error = found
        worst, size = self.doubts.get(id(node), (0.0, 0.0))
        largest = float(np.max(np.abs(value)))
        self.doubts[id(node)] = max(worst, error), max(size, largest)
        return value

    def noise(self):
        """(relative, absolute) errors of the operations in the last member.

        What vanishes everywhere has no relative error.
        """
        found = list(self.doubts.values())
        relative = max((e / s for e, s in found if s > e), default=0.0)
        return relative, max((e for e, s in found if s <= e), default=0.0)

    def point(self, k):
        """The k-th point that a statement is to hold for."""
        return self.points.setdefault(k, Env(self.names, point=k))

    # -- names --

    def known(self, key, env):
        """What a key is bound to here, or None; of each(...), one value."""
        value = env.names.get(key)
        if not isinstance(value, values.Each):
            return value
        self.swept[key] = len(value.values)
        if len({*self.swept.values()}) > 1:
            keys = ", ".join(sorted(self.swept))
            raise Mismatch(f"points of different number: {keys}")
        return value.values[env.point]

    def has(self, name, env):
        """The key of a bound name that is given without its type, or None."""
        name = name.rstrip("_")
        keys = (name, f"bf:{name}")
        return next((k for k in keys if env.names.get(k) is not None), None)

    def fetch(self, sym, env):
        """(key, value, indices left): the longest name that is bound."""
        _, name, style, items, primes = sym
        name, labels = name + "_prime" * primes, list(map(grammar.label, items))
        for key, n in keys(name, style, labels):
            value = self.known(key, env)
            if value is None:
                continue
            if env.loops.keys() & set(labels[:n]):
                raise Syntax(f"{key}: a name or an index?")
            for x in labels[:n]:
                self.known(x, env)  # P_z holds at each z
            return key, value, items[n:]
        if primes:
            return self.differentiated(sym, env)
        key = f"{style}:{name}" if style else name
        if key == "bf:I" and len(items) == 1:
            return key, np.eye(self.position(("up", items[0]), env)), []
        if key in values.DEFAULT and (not items or style == "cal"):
            return key, values.DEFAULT[key], items
        tail = "".join(x or "?" for x in labels)
        raise Unbound(f"{name}_{tail}" if items else name)

    def raw(self, name, env):
        """A bound value as it is; a quantity at what it depends on."""
        key = self.has(name, env) or name.rstrip("_")
        value = self.known(key, env)
        value = values.DEFAULT.get(key) if value is None else value
        if value is None:
            raise Unbound(key)
        return self.now(value, env) if isinstance(value, Depends) else value

    def now(self, quantity, env):
        """What a quantity is here, computed once."""
        f = quantity.function
        if f not in env.cache:
            env.cache[f] = self.fill(f, [], env)
        return env.cache[f]

    def fill(self, f, args, env):
        """f(*args, and what its further parameters are bound to)."""
        more = [self.raw(name, env) for name in needs(f)[len(args) :]]
        more = [np.asarray(x).item() if np.size(x) == 1 else x for x in more]
        return f(*args, *more)

    def quantity(self, value, items, env):
        """(value, indices left); parameters that are unbound are indices."""
        names = needs(value.function)
        free = [name for name in names if not self.has(name, env)]
        at = dict(zip(free, items, strict=False))
        if not at:
            return self.now(value, env), items
        args = (
            self.position(at[x], env) if x in at else self.raw(x, env)
            for x in names
        )
        return value.function(*args), items[len(at) :]

    # -- symbols and algebra --

    def _sym(self, name, style, items, primes, env):
        if not items and not style and name in env.loops:
            return float(env.loops[name])
        sym = ("sym", name, style, items, primes)
        key, value, rest = self.fetch(sym, env)
        if isinstance(value, Page) and not rest:
            return self.ev(value.body, env)
        if isinstance(value, Depends):
            value, rest = self.quantity(value, rest, env)
        if isinstance(value, Eye | Zero | Raw | tuple):
            return value
        if callable(value) or isinstance(value, Law):
            raise Mismatch(f"{key} is a function, used as a number")
        value, want = self.element(value, rest, env, key), rank(sym)
        if value.ndim != want and value.size > 1:
            kind = ("a number", "a column", "a matrix")[want]
            raise Mismatch(f"{name} should be {kind}, not {value.shape}")
        return column(value) if value.ndim else value.item()

    def _all(self, name, style, first, last, env):
        value = self.raw(self.fetch(("sym", name, style, [], 0), env)[0], env)
        end = int(self.ev(last, env)) - self.start + 1
        return Raw(value[self.position(first, env) : end])

    def _num(self, x, env):
        return x

    def number(self, node, env):
        """The value of a tree that must be a number, as an end is."""
        value = self.ev(node, env)
        if not values.scalar(value):
            raise Mismatch("a number is expected at an end, or as a limit")
        return value

    def _add(self, a, b, env):
        return self.added(self.ev(a, env), self.ev(b, env))

    def added(self, a, b):
        """a + b, the size of the terms noted."""
        sizes = [np.max(np.abs(x)) for x in (a, b) if not isinstance(x, Eye)]
        self.size = max(self.size, *map(float, sizes), 0.0)
        return values.add(a, b)

    def _mul(self, infix, a, b, env):
        a, b = self.ev(a, env), self.ev(b, env)
        out = values.mul(a, b, infix)
        if not infix and np.ndim(a) == np.ndim(b) == 2:
            self.size = max(self.size, np.max(np.abs(a) @ np.abs(b)))
        return out

    def _item(self, node, items, env):
        value = self.ev(node, env)
        if np.ndim(value) != 2:
            raise Mismatch("an index on a number")
        if len(items) == 1:
            if 1 not in value.shape:
                raise Syntax("one index of a matrix: of a row, or a column?")
            value = value.ravel()
        return column(self.element(value, items, env, "(...)"))

    def element(self, value, items, env, key):
        """value[i, j, ...], with the positions of the items."""
        for place in enumerate(items):
            self.begun(key, *place, env)
        at, value = [self.position(i, env) for i in items], np.asarray(value)
        if len(at) > value.ndim:
            raise Mismatch(f"{key}: {len(at)} indices for {value.shape}")
        for i, n in zip(at, value.shape, strict=False):
            if not 0 <= i < n:
                raise Mismatch(f"{key}: index {i} outside 0..{n - 1}")
        return value[tuple(at)]

    def position(self, item, env):
        """Where an index points to, counted from 0 as Python does."""
        if item[0] == "label":
            raise Syntax(f"an index {item[1]} points nowhere")
        value = self.ev(item[1] if item[0] == "up" else item, env)
        if value != int(value):
            raise Mismatch(f"an index is {value}")
        if item[0] == "up" or item[0] == "sym" and item[3]:
            return int(value)  # iterates, and data, count from 0
        letters = (x[1] for x in walk(item) if x[0] == "sym")
        return int(value) - self.origin.get(next(letters, ""), self.start)

    def begun(self, key, axis, item, env):
        """An axis begins at 0 or at 1: sums and numbers tell, a free n not."""
        if item[0] in ("up", "label") or item[0] == "sym" and item[3]:
            return
        first, *rest = [x[1] for x in walk(item) if x[0] == "sym"] or [""]
        free = first in env.loops and first not in self.origin
        told = self.origin.get(first, self.start)
        others = {
            self.origin.get(x, self.start) for x in rest if x in env.loops
        }
        if not told and any(others):  # a_{k+n}, where a_{n+k} begins as a_n
            raise Syntax(
                f"{key} begins at 0 with {first} and later with others"
            )
        if not free and self.begins.setdefault((key, axis), told) != told:
            raise Syntax(f"{key} begins at 0 here and at {self.start} there")

    def _group(self, kind, nodes, separators, env):
        args = [self.ev(n, env) for n in nodes]
        if kind in ("|", "|("):
            return values.absolute(*args)
        if kind in (r"\|", r"\|("):
            if np.ndim(*args) == 2 and np.shape(*args)[1] > 1:
                raise Mismatch("a matrix has several norms: name one")
            return float(np.linalg.norm(values.sized(*args, "a norm")))
        return args[0] if len(args) == 1 else tuple(args)

    def _fn(self, name, exponent, args, env):
        own = env.names.get(name)
        if not callable(own) and own is not None and np.ndim(own) == 0:
            raise Syntax(f"{name} is bound to a number, used as a function")
        own = own if callable(own) else None  # not the e of \mathbf e_j
        size, args = self.size, [self.ev(a, env) for a in args]
        if len(args) > 1 and not own and name not in ("max", "min"):
            raise Mismatch(f"{name} of {len(args)} arguments")
        if not (own or name in LINEAR):  # ln 1e20 is no larger than 46
            self.size = size
        found = own(*map(plain, args)) if own else values.BUILTIN[name](*args)
        out = column(found)
        return values.power(out, self.ev(exponent, env)) if exponent else out

    def _block(self, rows, env):
        cells = [[self.ev(c, env) for c in row] for row in rows]
        high, wide = [0] * len(cells), [0] * len(cells[0])
        every = list(itertools.product(range(len(high)), range(len(wide))))
        for i, j in every * 3:  # an identity is square: sizes spread by it
            c = cells[i][j]
            if isinstance(c, Eye):
                high[i] = wide[j] = max(high[i], wide[j])
            elif not isinstance(c, Zero):
                high[i], wide[j] = np.shape(c) if np.ndim(c) else (1, 1)
        for i, j in every:
            if isinstance(cells[i][j], Eye | Zero):
                c = getattr(cells[i][j], "c", 0.0)
                cells[i][j] = c * np.eye(high[i], wide[j])
            size = np.shape(cells[i][j]) or (1, 1)
            if 0 in size or size != (high[i], wide[j]):
                raise Mismatch(f"a block of shape {size} fits nowhere")
        return column(np.block(cells))

    def _cases(self, rows, env):
        for value, sides, relations in rows:
            sides = [[s] for s in sides]
            if not relations or self.holds(sides, relations, env):
                return self.ev(value, env)
        raise Mismatch("no case applies")

    def _refuse(self, why, env):
        raise Syntax(why)

    # -- functions --

    def _maybe(self, sym, group, call, product, env):
        try:
            law = self.law(sym, env)
        except Unbound:
            law = None
        if law:
            return self.mean("E", law, group[2], env)
        applies = self.function(sym, group, env)
        return self.ev(call if applies else product, env)

    def function(self, sym, group, env):
        """(f, indices left) if f(x) applies f; None if it is a product."""
        f = self.known(self.signature(sym[1], *group[2:], env), env)
        if f is not None:
            return f, sym[3]
        if sym[1] in env.loops and not sym[3]:
            return None
        key, f, rest = self.fetch(sym, env)
        if isinstance(f, Depends) and not rest:
            raise Syntax(f"{key}(...) has two readings: write {key}\\,(...)")
        return (f, rest) if callable(f) else None

    def signature(self, name, nodes, separators, env):
        """'p(x|C)' of p(x | C_k): the leading names, with the separators."""
        out = f"{name}("
        for node, mark in zip(nodes, [*separators, ")"], strict=True):
            syms = (x for x in walk(node) if x[0] in ("sym", "all"))
            kind, first, style, items, _ = next(syms, ("all", "", "", [], 0))
            labels = map(grammar.label, items if kind == "sym" else [])
            tail = "".join(x or "" for x in labels)
            full = f"{first}_{tail}"
            bound = {full, f"{style}:{full}"} & env.names.keys()
            out += (full if tail and bound else first) + mark
        return out

    def _call(self, sym, group, env):
        f, rest = self.function(sym, group, env)
        if not callable(f):
            of_names(group[2])
            return column(self.now(f, env) if isinstance(f, Depends) else f)
        nodes = [n[3] if n[0] == "rel" else n for n in group[2]]
        args = [plain(self.ev(n, env)) for n in nodes]
        args[0] = env.names.get(("argument", id(group)), args[0])
        if f is values.gauss and len(args) != 3:
            raise Syntax("a density N(x | m, v) has three arguments")
        if rest and len(rest) + len(args) > most(f):  # y_k(a) = [y(a)]_k
            value = self.fill(f, args, env)
            return column(self.element(value, rest, env, sym[1]))
        at = [self.position(i, env) for i in rest]
        return column(self.fill(f, [*at, *args], env))

    def _rel(self, op, a, b, env):
        return float(self.holds([[a], [b]], [op], env))

    # -- derivatives, limits, integrals: a symbol is varied --

    def path(self, sym, body, env):
        """(f, x): a tree as a function of a symbol, or an element, now x."""
        if sym[0] != "sym":
            raise Syntax("a variable expected")
        key, _, rest = self.fetch(sym, env)
        at = tuple(self.position(i, env) for i in rest)
        old = self.raw(key, env)
        if callable(old):
            raise Mismatch(f"{key} is a function, not a variable")
        old = np.array(old, float)
        if old.ndim - len(at) != rank(sym) and old.size > 1:
            raise Mismatch(f"{key} does not vary as it is printed")

        def f(x):
            new = old.copy()
            new[at] = np.asarray(plain(x), float).reshape(new[at].shape)
            return self.ev(body, env.put({key: new[()]}))

        return f, old[at]

    def _at(self, body, var, value, env):
        value = self.ev(value, env)
        try:
            f, _ = self.path(var, body, env)
        except Unbound:
            return self.ev(body, env.put({var[1]: plain(value)}))
        return f(value)

    def _diff(self, variables, body, env):
        *rest, last = variables
        inner = ("diff", rest, body) if rest else body
        return self.derived(body, *self.path(last, inner, env))

    def _nabla(self, body, env):
        inner = body
        while inner[0] in ("nabla", "fn", "neg"):
            inner = inner[3][0] if inner[0] == "fn" else inner[1]
        if inner[0] != "maybe" or not self.function(*inner[1:3], env):
            raise Syntax("nabla with respect to what? write \\nabla_x")
        group = inner[2]
        mark = "argument", id(group)
        x = env.names.get(mark)
        x = plain(self.ev(group[2][0], env)) if x is None else x

        def f(y):
            return self.ev(body, env.put({mark: y}))

        return self.derived(body, f, x)

    def derived(self, node, f, x):
        """The derivative of f at x; of a zero, how steep f is nearby."""
        value, error = calculus.gradient(f, x)
        if np.max(np.abs(value)) <= 1e3 * error:
            self.size = max(self.size, calculus.steepness(f, x))
        return self.doubt(node, (value, error))

    def differentiated(self, sym, env):
        """f' of a function f by its first argument, or of a quantity."""
        *start, primes = sym
        key, f, rest = self.fetch((*start, 0), env)
        quantity = isinstance(f, Depends)
        f = f.function if quantity else f
        if not callable(f) or quantity and len(needs(f)) != 1:
            raise Syntax(f"{sym[1]}': with respect to what?")
        for _ in range(primes):
            f = self.slope_of(f)
        return key + "'" * primes, Depends(f) if quantity else f, rest

    def slope_of(self, f):
        """The derivative of f by its first argument."""

        def slope(x, *more):
            found = calculus.gradient(lambda y: column(f(y, *more)), x)
            return self.doubt(f, found)

        slope.__signature__ = inspect.signature(f)
        return slope

    def extreme(self, kind, heads, body, env):
        """The largest or smallest value that a wide search finds."""
        if len(heads) > 1:
            raise Syntax(f"{kind} over several variables: write one column")
        f, x = self.path(heads[0], body, env)
        sign, x = -1.0 if kind == "max" else 1.0, x.ravel()

        def cost(x):
            return np.nan_to_num(sign * f(x), nan=np.inf, neginf=-np.inf)

        draws = np.random.default_rng(0).standard_normal((300, x.size))
        draws *= 3.0 ** np.arange(-5, 5).repeat(30)[:, None]
        draws = sorted(draws * (1 + np.max(np.abs(x))), key=cost)
        found = min(
            (optimize.minimize(cost, at, tol=1e-10) for at in (x, *draws[:3])),
            key=lambda end: end.fun,
        )
        far = [cost(c * found.x) for c in (2, 10, 100)]
        if not min(far) >= found.fun - 1e-12 * abs(found.fun) > -np.inf:
            raise Mismatch(f"no {kind}: further away there is always more")
        value = sign * float(found.fun)
        return self.doubt(body, (value, 1e-9 * abs(value)))

    def _lim(self, var, to, sides, body, env):
        to, letter = self.number(to, env), var[1]
        index = letter in self.letters(body, env)
        sign = -1.0 if to == -np.inf else 1.0

        def f(x):
            here = env.put({letter: sign * x})
            here = env.at({letter: round(x)}) if index else here
            try:
                return plain(self.ev(body, here))
            except Mismatch:  # a sequence is known only so far
                return np.nan

        value, error = limit_of(f, np.inf if np.isinf(to) else to)
        if np.isfinite(to) and sides == 2:
            left = limit_of(lambda x: f(2 * to - x), to)
            gap, scale = np.abs(left.value - value), np.abs(value)
            if np.any(gap > 1e-6 * scale + 1e3 * (left.error + error)):
                raise Mismatch(f"another limit from below: write {to:g}^+")
            error = error + np.where(np.isnan(left.value), 0.0, left.error)
        return column(self.doubt(body, (value, float(np.max(error)))))

    def _int(self, ends, var, body, env):
        try:
            key = self.fetch(var, env)[0]
        except Unbound:
            labels = (grammar.label(i) or "" for i in var[3])
            key = "_".join([var[1], *labels])
        old = np.asarray(self.raw(key, env), float) if var[2] == "bf" else 0.0
        low, high = (self.number(e, env) for e in ends)

        def f(x):
            return self.ev(body, env.put({key: x.reshape(np.shape(old))[()]}))

        sign = -1.0 if high < low else 1.0
        found = calculus.integral(f, sorted([low, high]), max(np.size(old), 1))
        return sign * column(self.doubt(body, found))

    # -- means over a law --

    def _mean(self, name, items, args, separators, env):
        key = self.signature(name, args, separators, env)
        f = self.known(key, env)
        if f is not None:
            found = [plain(self.ev(a, env)) for a in args]
            if not callable(f):
                of_names(args)
            return column(self.fill(f, found, env) if callable(f) else f)
        law = self.law(self.law_name(name, items, env), env)
        if "|" in separators or not law or len(args) > 1 + (name == "cov"):
            raise Unbound(key)
        return self.mean(name, law, args, env)

    def law_name(self, name, items, env):
        """The symbol E_q, or cov_q if that is bound."""
        flat = []
        for x in items:
            flat += [(*x[:3], [], x[4]), *x[3]] if x[0] == "sym" else [x]
        try:
            self.fetch(sym := ("sym", name, "", flat, 0), env)
        except Unbound:
            sym = ("sym", "E", "", flat, 0)
        return sym

    def law(self, sym, env):
        """The law that a symbol stands for, one of several laws, or None."""
        _, found, rest = self.fetch(sym, env)
        if isinstance(found, list) and rest:
            found = found[self.position(rest[0], env)]
        return found if isinstance(found, Law) else None

    def mean(self, name, law, args, env):
        """E[x], or cov[x, y] = E[x y^T] - E[x] E[y]^T."""
        one = self.weighted(args[0], law, env)
        if name == "E":
            return one
        two = values.turned(self.weighted(args[-1], law, env))
        product = ("mul", r"\cdot", args[0], ("T", args[-1]))
        both = self.weighted(product, law, env)
        return self.added(both, values.mul(-1.0, values.mul(one, two)))

    def weighted(self, node, law, env):
        """sum_s weight_s node(point s)"""
        keys = [
            f"bf:{x}" if f"bf:{x}" in self.names else spelled(x)
            for x in law.points
        ]
        total = Zero()
        for w, *point in zip(law.weights, *law.points.values(), strict=True):
            value = self.ev(node, env.put(dict(zip(keys, point, strict=True))))
            total = values.add(total, values.mul(float(w), value))
        return total

    # -- sums, products, max and min over indices --

    def _over(self, kind, heads, condition, top, body, env):
        pick = kind in ("max", "min")
        index = condition or heads[0][1] in self.letters(body, env)
        if pick and not index:
            return self.extreme(kind, heads, body, env)
        places = self.ranges(heads, condition, top, body, env)
        terms = [self.ev(body, here) for here in places]
        if pick:
            return values.BUILTIN[kind](*terms)
        if top:
            ended(kind, terms, condition[0][1][0], top)
        if kind == "sum":
            return reduce(self.added, terms, Zero())
        return reduce(values.mul, terms, 1.0)

    def ranges(self, heads, condition, top, body, env):
        """The places of the terms of a sum."""
        bare = [h[1] for h in heads if not h[3]]
        sides, relations = condition or ([], [])
        if relations == ["="] and bare and top:
            ends = self.number(sides[1][0], env), self.number(top, env)
            low, high = (finite(end) for end in ends)
            if low != int(low) or high != int(high) or high - low > LONG:
                raise Mismatch(f"a sum from {low:g} to {high:g}")
            span = range(int(low), int(high) + 1)
            for at in itertools.product(span, repeat=len(bare)):
                yield env.at(dict(zip(bare, at, strict=True)))
        elif relations == [r"\in"]:
            yield from self.elements(bare[0], sides[1][0], body, env)
        else:
            letters = self.running(bare, sides, heads, env)
            for here in self.places(letters, [body, sides, heads], env):
                if not relations or self.holds(sides, relations, here):
                    yield here

    def elements(self, name, members, body, env):
        """The places of a sum over a set; an index is a class, from 0."""
        index = name in self.letters(body, env)
        named = members[2] if members[0] == "group" else [("num", 0.0)]
        if index and ("num", 0.0) not in named:
            raise Syntax("numbers of classes start at 0, or at 1?")
        found = self.ev(members, env)
        if not isinstance(found, tuple | np.ndarray):
            raise Mismatch("a sum over a number: a set is expected")
        for v in found:
            if index:
                yield env.at({name: int(v) + self.start})
            else:
                yield env.put({name: np.asarray(v, float)})

    def running(self, bare, sides, heads, env):
        """The letters that a sum without limits runs over."""
        mine = [b for b in bare if b == bare[0] or b not in env.loops]
        alone = [s[1] for side in sides for s in side if is_letter(s)]
        more = [*self.letters([sides, heads], env), *alone]
        more = [x for x in more if not (x in env.loops or self.has(x, env))]
        return list(dict.fromkeys([*mine, *more]))

    def places(self, letters, node, env):
        """Every combination of the indices' values."""
        spans = []
        for letter in letters:
            first = self.origin.get(letter, self.start)
            spans.append(range(first, first + self.length(letter, node, env)))
        for at in itertools.product(*spans):
            yield env.at(dict(zip(letters, at, strict=True)))

    def holds(self, sides, relations, env):
        """Whether a condition is true."""
        if not HOLDS.keys() >= {*relations}:
            raise Syntax(f"{', '.join(relations)} is no condition")
        far = {x[1] for x in walk(sides[1:]) if x[0] == "sym"}
        if far & {x[1] for x in sides[0] if x[0] == "sym"}:  # n, k != t_n
            sides = [sides[0][-1:], *sides[1:]]
        triples = zip(sides, relations, sides[1:], strict=False)
        return all(
            HOLDS[r](*self.compared(r, (x, y), env))
            for a, r, b in triples
            for x in a
            for y in b
        )

    def compared(self, relation, pair, env):
        """The values of both; an index equals data where it counts from 0."""
        found = [self.ev(n, env) for n in pair]
        data = [any(x[0] == "sym" and x[3] for x in walk(n)) for n in pair]
        for k, n in enumerate(pair):
            if data[1 - k] and is_letter(n) and n[1] in env.loops:
                counted = self.position(n, env)
                if relation not in ("=", r"\ne") and counted != found[k]:
                    raise Syntax("an index beside data: from 0, or from 1?")
                found[k] = counted
        return found

    # -- which letters are indices, and how far they run --

    def letters(self, node, env):
        """The index letters that no sum binds, in order."""
        found = dict.fromkeys(
            x for x, _, free in self.indices(node, env) if free
        )
        return [name for name in found if not self.has(name, env)]

    def length(self, letter, node, env):
        """How far an index runs, from the arrays that carry it."""
        found = {self.sizes[letter]} if letter in self.sizes else set()
        for name, axis, _ in self.indices(node, env):
            found |= {self.extent(*axis, env)} if name == letter else set()
        found -= {None}
        if len(found) != 1:
            text = f"is one of {sorted(found)}" if found else "is unknown"
            raise Unbound(letter, f"as an index: its range {text}")
        return found.pop()

    def extent(self, value, axis, env):
        """How long an axis of what a symbol is bound to is, or None."""
        try:
            value = (
                self.now(value, env) if isinstance(value, Depends) else value
            )
        except Unbound:
            return None
        if value is values.DEFAULT["cal:C"]:
            return None
        shape = (len(value),) if isinstance(value, list) else np.shape(value)
        return shape[axis] if axis < len(shape) else None

    def indices(self, node, env, bound=frozenset()):
        """(letter, (value, axis) it points into, whether no sum binds it)."""
        value, items, below, own = self.carried(node, env)
        bound = bound | own
        for axis, item in enumerate(items):
            place = (None if item[0] == "up" else value), axis
            item = item[1] if item[0] == "up" else item
            if is_letter(item):
                yield item[1], place, item[1] not in bound
            else:
                yield from self.indices(item, env, bound)
        for x in below:
            if isinstance(x, list | tuple):
                yield from self.indices(x, env, bound)

    def carried(self, node, env):
        """(value, its indices, trees below, letters bound there) of a node."""
        match node:
            case ("sym", _, _, items, _):
                unknown = [i for i in items if i[0] != "label"]
                return *self.subscripts(node, env, unknown), [], set()
            case ("mean", name, items, args, _):
                law = self.law_name(name, items, env)
                return *self.subscripts(law, env, []), args, set()
            case ("item", inner, items):
                return None, items, [inner], set()
            case ("lim", variable, to, _, body):
                return None, [], [to, body], {variable[1]}
            case ("over", _, _, condition, top, body):
                sides = condition[0] if condition else []
                alone = (x for x in walk(sides) if is_letter(x) and not x[2])
                items = [x for x in alone if len(x[1]) == 1]
                return None, items, [body, sides, top], bound_by(node)
        return None, [], node, set()

    def subscripts(self, sym, env, unknown):
        """(what a symbol is bound to, its items that are no name)."""
        try:
            return self.fetch(sym, env)[1:]
        except TexError:
            return None, unknown


def ended(kind, terms, low, top):
    """Mismatch unless the last terms of a sum to infinity are nothing."""
    far = [terms[:4]] * endless(low) + [terms[-4:]] * endless(top)
    neutral = -1.0 if kind == "prod" else Zero()
    most, left = (
        max((np.max(np.abs(values.add(x, neutral))) for x in some), default=0.0)
        for some in (terms if far else [], itertools.chain(*far))
    )
    if left > 1e-12 * most or far and not most:
        raise Mismatch(f"a {kind} has not ended, or begun, in {ENDLESS} terms")


def finite(end):
    """Where a sum ends; one to infinity, after many terms."""
    return float(np.clip(end, -ENDLESS, ENDLESS)) if np.isinf(end) else end


def endless(node):
    """Whether infinity stands in a limit."""
    return any(x[:2] == ("sym", "infty") for x in walk(node))


def bound_by(over):
    """The letters that a sum runs over."""
    _, _, heads, condition, top, _ = over
    found = {h[1] for h in heads if not h[3]}
    found |= {i[1] for h in heads for i in h[3] if i[0] == "sym"}
    if condition and not top and condition[1] != [r"\ne"]:
        found |= {x[1] for x in walk(condition[0]) if is_letter(x)}
    return found


def is_letter(node):
    """Whether a node is a bare letter."""
    return node[0] == "sym" and not node[3] and not node[4]


def of_names(nodes):
    """Syntax unless all are names: p(x) has a value, p(-x) has not."""
    for n in nodes:
        if n[0] == "maybe":  # E[m(eta)]
            of_names(n[2][2])
        elif (n[2] if n[0] == "rel" else n)[0] not in ("sym", "all"):
            raise Syntax("a value of p(x) is none of p(-x): bind a function")


def rank(sym):
    """How many axes its type promises: bold capitals 2, small letters 1."""
    return (2 if sym[1][0].isupper() else 1) if sym[2] == "bf" else 0


def keys(name, style, labels):
    """(key, how many labels it takes in): most special first, v_ for v[n]."""
    known = labels.index(None) if None in labels else len(labels)
    for n in range(known, -1, -1):
        full = f"{name}_{''.join(labels[:n])}" if n else name
        if n < len(labels):
            yield from ((f"{style}:{full}_", n), (f"{full}_", n))
        yield f"{style}:{full}", n
        if style != "cal" and (style, full) not in (("bf", "I"), ("bf", "0")):
            yield full, n


def parameters(f):
    """The parameters by position, of a function that tells them."""
    try:
        every = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p for p in every if p.kind < 3]


def needs(f):
    """The names of the parameters that have no default."""
    own = [p for p in parameters(f) if p.kind < 2]
    return [p.name for p in own if p.default is p.empty]


def most(f):
    """How many arguments a function takes."""
    kinds = [p.kind for p in parameters(f)] or [0]
    return 99 if 2 in kinds else len(kinds)


def spelled(key):
    r"""'bf:Phi' of r'\boldsymbol\Phi'; names and signatures stay."""
    if "(" in key or iskeyword(key[:-1]):
        return key.removesuffix("_")  # lambda_ is printed \lambda
    if "\\" not in key:
        return key
    if key[-1] == "_":
        return spelled(key[:-1]) + "_"
    parser = grammar.Parser(grammar.tokens(key))
    _, name, style, items, _ = parser.symbol(calls=False)
    tail = "_" * bool(items) + "".join(map(grammar.label, items))
    return f"{style}:{name}{tail}"


# -- the display -----------------------------------------------------------


def evaluate(tex, given, start=1, defines=()):
    """Every statement of a display, and the prose in it."""
    chains, prose = grammar.parse(tex)
    e = Evaluator(given, start)
    for n in walk([c[0] for c in chains]):
        if n[0] == "over" and n[4] and n[3] and n[3][0][1][0][0] == "num":
            zero = n[3][0][1][0] == ("num", 0.0)
            letter = n[2][0][1]
            e.origin[letter] = 0 if zero else e.origin.get(letter, start)
    told = [
        (nodes, relations)
        for nodes, relations in chains
        if relations == ["="] and is_letter(nodes[0]) and nodes[0][1] in defines
    ]
    pages = {head[1]: Page(body) for (head, body), _ in told}
    if missing := set(defines) - pages.keys():
        raise Unbound(min(missing), "is not defined in the display")
    e.names = pages | e.names
    quantified = {x for text in prose for x in text.split() if len(x) == 1}
    chains = [c for c in chains if c not in told]
    return [statement(e, *c, quantified) for c in chains], prose


def statement(e, nodes, relations, quantified):
    """One chain, for all its points and free indices."""
    e.swept, e.points = {}, {}
    free = free_letters(e, nodes, relations, quantified)
    rows = [member(e, n, nodes, free) for n in nodes]
    members = (Member(stacked(e, row), *rest) for row, *rest in rows)
    return Statement(tuple(members), tuple(relations))


def free_letters(e, nodes, relations, quantified):
    """The indices of a chain, which stand in all members.

    But for one that is quantified in prose, and members without symbols.
    """
    own = [e.letters(n, e.point(0)) for n in nodes if not constant(n)]
    free = list(dict.fromkeys(itertools.chain(*own)))
    for letters in own if "=" in relations else ():
        if odd := set(free) - set(letters) - quantified:
            odd = ", ".join(sorted(odd))
            raise Syntax(f"the index {odd} stands on one side only")
    return free


def constant(node):
    """Whether no symbol stands in a member but 0, I and infinity."""
    names = {x[1] for x in walk(node) if x[0] == "sym"}
    return names <= {"0", "I", "infty"}


def member(e, node, nodes, free):
    """(values at each point, noise, size, constant) of one member.

    A member that meets no each(...) has the same value at all points.
    """
    e.size, e.doubts, row = 0.0, {}, []
    try:
        with np.errstate(all="ignore"):
            while len(row) < max(e.swept.values(), default=1):
                row.append(everywhere(e, node, nodes, free, e.point(len(row))))
    except (np.linalg.LinAlgError, OverflowError) as why:
        raise Mismatch(str(why)) from why
    return row, e.noise(), e.size, constant(node)


def everywhere(e, node, nodes, free, env):
    """A tree for all its free indices, which are the first axes."""
    places = list(e.places(free, nodes, env))
    found = [e.ev(node, here) for here in places]
    if isinstance(found[0], Eye | Zero):
        return found[0]
    if any(isinstance(v, tuple | Raw) for v in found):
        raise Mismatch("no number")
    shape = [len({p.loops[x] for p in places}) for x in free]
    out = np.array([plain(v) for v in found], float)
    return out.reshape((*shape, *out.shape[1:]))


def stacked(e, row):
    """The values at all points as one array, if there are several."""
    if isinstance(row[0], Eye | Zero) or not e.swept:
        return row[0]
    return np.array(row * (max(e.swept.values()) // len(row)))
