"""The printed formula with numbers for its symbols.

    evaluate(tex, given)   every statement of a display: the values of its
                           members, or the reasons why they have none

What a reader knows from type is held to: bold small letters are columns, bold
capitals matrices, all others numbers, and shapes must fit. f(x) applies f if f
is bound to a function, and multiplies if it is a number. An index counts from
`start`, or from 0 if its sum does. y_n is an element of y, or the symbol `y_n`
if that is bound.
"""

import inspect
import itertools
from dataclasses import dataclass
from keyword import iskeyword

import numpy as np
from scipy import optimize

from prml4.referee import calculus
from prml4.referee.estimate import limit_of
from prml4.referee.tex import Parser, Syntax, TexError, label, parse, walk
from prml4.referee.tex import tokens as tokens_of
from prml4.referee.values import (
    BUILTIN,
    DEFAULT,
    Depends,
    Each,
    Eye,
    Law,
    Mismatch,
    Raw,
    Unbound,
    Zero,
    absolute,
    add,
    column,
    gauss,
    mul,
    plain,
    power,
    turned,
)  # fmt: skip

ENDLESS = 200  # terms of a sum to infinity
HOLDS = {
    "=": np.isclose, r"\ne": lambda a, b: not np.isclose(a, b),
    "<": np.less, r"\le": np.less_equal,
    ">": np.greater, r"\ge": np.greater_equal,
}  # fmt: skip
LINEAR = {"tr", "diag", "max", "min", "det"}  # of the terms in an argument
PLAIN = {
    "neg": lambda a: mul(-1.0, a), "pow": power, "T": turned,
    "pinv": np.linalg.pinv,
}  # fmt: skip


@dataclass(frozen=True)
class Member:
    """What one member of a statement is."""

    value: object  # an array, free indices first; Eye, Zero; or a TexError
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
    """What differs from the bindings here, and the running indices."""

    def __init__(self, over=None, loops=None, cache=None):
        self.over, self.loops = over or {}, loops or {}
        self.cache = {} if cache is None else cache

    def put(self, key, value):
        """The same place with a symbol changed."""
        return Env({**self.over, key: value}, self.loops)

    def at(self, letter, value):
        """The same place with an index set."""
        return Env(self.over, {**self.loops, letter: value}, self.cache)


class Evaluator:
    """One display's bindings; ev(node, env) is the value of a tree."""

    def __init__(self, given, start=1):
        self.sizes = given.get("sizes", {})
        self.given = {spelled(k): v for k, v in given.items() if k != "sizes"}
        self.start, self.origin, self.pages = start, {}, {}
        self.size, self.doubts = 0.0, {}

    def ev(self, node, env):
        """The value of a tree."""
        kind, *rest = node
        if kind in PLAIN:
            return PLAIN[kind](*(self.ev(x, env) for x in rest))
        return getattr(self, "_" + kind)(*rest, env)

    def doubt(self, node, found):
        """A value, its error noted; at many places, that of the largest."""
        value, error = found
        worst, size = self.doubts.get(id(node), (0.0, 0.0))
        largest = float(np.max(np.abs(value)))
        self.doubts[id(node)] = max(worst, error), max(size, largest)
        return value

    def derived(self, node, f, x):
        """The derivative of f at x; of a zero, how steep f is nearby."""
        value, error = calculus.gradient(f, x)
        if np.max(np.abs(value)) <= 1e3 * error:
            self.size = max(self.size, calculus.steepness(f, x))
        return self.doubt(node, (value, error))

    def noise(self):
        """(relative, absolute) errors of the operations in the last member.

        What vanishes everywhere has no relative error.
        """
        found = list(self.doubts.values())
        relative = max((e / s for e, s in found if s > e), default=0.0)
        return relative, max((e for e, s in found if s <= e), default=0.0)

    # -- names --

    def known(self, key, env):
        """What a key is bound to here, or None."""
        for book in (env.over, self.given, self.pages):
            if key in book:
                return book[key]
        return None

    def has(self, name, env):
        """The key of a bound name that is given without its type, or None."""
        name = name.rstrip("_")
        keys = (
            k for k in (name, f"bf:{name}") if self.known(k, env) is not None
        )
        return next(keys, None)

    def fetch(self, sym, env):
        """(key, value, indices left): the longest name that is bound."""
        _, name, style, items, primes = sym
        labels, name = [label(i) for i in items], name + "_prime" * primes
        for n in range(len(items), -1, -1):
            if None in labels[:n]:
                continue
            full = "_".join([name, "".join(labels[:n])][: 1 + bool(n)])
            for key in keys(full, style, n < len(items)):
                value = self.known(key, env)
                if value is not None:
                    if env.loops.keys() & set(labels[:n]):
                        raise Syntax(f"{full}: a name or an index?")
                    return key, value, items[n:]
        if primes:
            return self.differentiated(sym, env)
        key = f"{style}:{name}" if style else name
        if key == "bf:I" and len(items) == 1:
            return key, np.eye(int(self.ev(items[0], env))), []
        if key in DEFAULT and (not items or style == "cal"):
            return key, DEFAULT[key], items
        tail = "".join(x or "?" for x in labels)
        raise Unbound(f"{name}_{tail}" if items else name)

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

        def inner(x, *more):
            found = calculus.gradient(
                lambda y: np.asarray(f(y, *more), float), x
            )
            return self.doubt(f, found)

        inner.__signature__ = inspect.signature(f)
        return inner

    def position(self, item, env):
        """Where an index points to, counted from 0 as Python does."""
        if item[0] == "num":
            return int(item[1]) - self.start
        if item[0] == "label":
            raise Syntax(f"an index {item[1]} points nowhere")
        value = self.ev(item[1] if item[0] == "up" else item, env)
        if value != int(value):
            raise Mismatch(f"an index is {value}")
        if item[0] == "up" or item[0] == "sym" and item[3]:
            return int(value)  # iterates, and data, count from 0
        letters = (x[1] for x in walk(item) if x[0] == "sym")
        return int(value) - self.origin.get(next(letters, ""), self.start)

    def raw(self, name, env):
        """A bound value as it is; a quantity at what it depends on."""
        key = self.has(name, env) or name.rstrip("_")
        value = self.known(key, env)
        value = DEFAULT.get(key) if value is None else value
        if value is None:
            raise Unbound(key)
        if isinstance(value, Each):
            raise Mismatch(f"{key} has several values")
        if not isinstance(value, Depends):
            return value
        if key not in env.cache:
            env.cache[key] = self.fill(value.function, [], env)
        return env.cache[key]

    def fill(self, f, args, env):
        """f(*args, and what its further parameters are bound to)."""
        more = [self.raw(name, env) for name in needs(f)[len(args) :]]
        more = [np.asarray(x).item() if np.size(x) == 1 else x for x in more]
        return f(*args, *more)

    def quantity(self, key, f, rest, env):
        """(value, indices left); parameters that are unbound are indices."""
        if not rest or all(self.has(name, env) for name in needs(f)):
            slope = "'" in key
            return self.fill(f, [], env) if slope else self.raw(key, env), rest
        args, rest = [], list(rest)
        for name in needs(f):
            own = rest and not self.has(name, env)
            args.append(
                self.position(rest.pop(0), env) if own else self.raw(name, env)
            )
        return f(*args), rest

    def element(self, value, items, env, key):
        """value[i, j, ...], with the positions of the items."""
        at, value = [self.position(i, env) for i in items], np.asarray(value)
        if len(at) > value.ndim:
            raise Mismatch(f"{key}: {len(at)} indices for {value.shape}")
        for i, n in zip(at, value.shape, strict=False):
            if not 0 <= i < n:
                raise Mismatch(f"{key}: index {i} outside 0..{n - 1}")
        return value[tuple(at)]

    # -- symbols and algebra --

    def _sym(self, name, style, items, primes, env):
        if not items and not style and name in env.loops:
            return float(env.loops[name])
        sym = ("sym", name, style, items, primes)
        key, value, rest = self.fetch(sym, env)
        if isinstance(value, Page) and not rest:
            return self.ev(value.body, env)
        if isinstance(value, Depends):
            value, rest = self.quantity(key, value.function, rest, env)
        if isinstance(value, Eye | Zero | Raw | tuple):
            return value
        if callable(value) or isinstance(value, Each | Law):
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

    def _add(self, a, b, env):
        return self.added(self.ev(a, env), self.ev(b, env))

    def added(self, a, b):
        """a + b, the size of the terms noted."""
        sizes = [np.max(np.abs(x)) for x in (a, b) if not isinstance(x, Eye)]
        self.size = max(self.size, *map(float, sizes), 0.0)
        return add(a, b)

    def _mul(self, infix, a, b, env):
        a, b = self.ev(a, env), self.ev(b, env)
        out = mul(a, b, infix)
        if not infix and np.ndim(a) == np.ndim(b) == 2:
            self.size = max(self.size, np.max(np.abs(a) @ np.abs(b)))
        return out

    def _item(self, node, items, env):
        value = self.ev(node, env)
        if np.ndim(value) != 2:
            raise Mismatch("an index on a number")
        value = plain(value) if len(items) == 1 else value
        return column(self.element(value, items, env, "(...)"))

    def _group(self, kind, nodes, separators, env):
        values = [self.ev(n, env) for n in nodes]
        if kind in ("|", "|("):
            return absolute(*values)
        if kind in (r"\|", r"\|("):
            return float(np.linalg.norm(*values))
        return values[0] if len(values) == 1 else tuple(values)

    def _fn(self, name, exponent, args, env):
        bound = name in self.given
        f = self.given[name] if bound else BUILTIN.get(name)
        if f is None:
            raise Unbound(name)
        size, values = self.size, [self.ev(a, env) for a in args]
        if not (bound or name in LINEAR):  # ln 1e20 is no larger than 46
            self.size = size
        out = column(f(*(map(plain, values) if bound else values)))
        return power(out, self.ev(exponent, env)) if exponent else out

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
        return column(np.block(cells))

    def _cases(self, rows, env):
        for value, sides, relations in rows:
            sides = [[s] for s in sides]
            if not relations or self.holds(sides, relations, env):
                return self.ev(value, env)
        raise Mismatch("no case applies")

    # -- functions --

    def _maybe(self, sym, group, call, product, env):
        try:
            _, value, rest = self.fetch(sym, env)
        except Unbound:
            value = None
        if isinstance(value, list | Law):
            law = value[self.position(rest[0], env)] if rest else value
            return self.mean("E", law, group[2], env)
        node = call if self.applies(sym, group, env) else product
        return self.ev(node, env)

    def applies(self, sym, group, env):
        """Whether f(x) means a function, and not a product."""
        if self.known(self.signature(sym[1], group), env) is not None:
            return True
        if sym[1] in env.loops and not sym[3]:
            return False
        key, value, rest = self.fetch(sym, env)
        if isinstance(value, Depends) and not rest:
            raise Syntax(f"{key}(...) has two readings: write {key}\\,(...)")
        return callable(value)

    def _refuse(self, why, env):
        raise Syntax(why)

    def signature(self, name, group):
        """'p(x|C)' of p(x | C_k): the leading names, with the separators."""
        out = []
        for node in group[2]:
            syms = (x for x in walk(node) if x[0] in ("sym", "all"))
            first = next(syms, ("sym", "", "", [], 0))
            tail = "".join(
                label(i) or "" for i in first[3] if first[0] == "sym"
            )
            full = f"{first[1]}_{tail}"
            bound = {full, f"{first[2]}:{full}"} & self.given.keys()
            out.append(full if tail and bound else first[1])
        marks = zip(out, [*group[3], ""], strict=True)
        return f"{name}({''.join(a + b for a, b in marks)})"

    def _call(self, sym, group, env):
        f, rest = self.known(self.signature(sym[1], group), env), sym[3]
        if f is None:
            _, f, rest = self.fetch(sym, env)
        if not callable(f):
            depends = isinstance(f, Depends)
            return column(self.fill(f.function, [], env) if depends else f)
        nodes = [n[3] if n[0] == "rel" else n for n in group[2]]
        values = [self.ev(n, env) for n in nodes]
        if ("argument", id(group)) in env.over:
            values[0] = column(env.over["argument", id(group)])
        if f is gauss and len(values) != 3:
            raise Syntax("a density N(x | m, v) has three arguments")
        if f is gauss:
            return gauss(*map(column, values))
        values = [plain(v) for v in values]
        if rest and len(rest) + len(values) > most(f):  # y_k(a) = [y(a)]_k
            value = self.fill(f, values, env)
            return column(self.element(value, rest, env, sym[1]))
        at = [self.position(i, env) for i in rest]
        return column(self.fill(f, [*at, *values], env))

    def _rel(self, op, a, b, env):
        return float(self.holds([[a], [b]], [op], env))

    # -- derivatives, integrals, limits, means --

    def variable(self, sym, env):
        """(key, array, positions) of what is varied."""
        if sym[0] != "sym":
            raise Syntax("a variable expected")
        key, _, rest = self.fetch(sym, env)
        at = tuple(self.position(i, env) for i in rest)
        value = self.raw(key, env)
        if callable(value):
            raise Mismatch(f"{key} is a function, not a variable")
        value = np.asarray(value, float)
        if value.ndim - len(at) != rank(sym) and value.size > 1:
            raise Mismatch(f"{key} does not vary as it is printed")
        return key, value, at

    def moved(self, key, old, at, value, env):
        """A place where a symbol, or an element of it, is changed."""
        new = np.array(old, float)
        new[at] = np.asarray(plain(value), float).reshape(new[at].shape)
        return env.put(key, new[()])

    def _at(self, body, var, value, env):
        value = self.ev(value, env)
        try:
            here = self.moved(*self.variable(var, env), value, env)
        except Unbound:
            here = env.put(var[1], plain(value))
        return self.ev(body, here)

    def _diff(self, variables, body, env):
        *rest, last = variables
        inner = ("diff", rest, body) if rest else body
        key, old, at = self.variable(last, env)

        def f(x):
            return self.ev(inner, self.moved(key, old, at, x, env))

        return self.derived(body, f, old[at])

    def _nabla(self, body, env):
        inner = body
        while inner[0] in ("nabla", "fn", "neg"):
            inner = inner[3][0] if inner[0] == "fn" else inner[1]
        if inner[0] != "maybe" or not self.applies(*inner[1:3], env):
            raise Syntax("nabla with respect to what? write \\nabla_x")
        group = inner[2]
        mark = "argument", id(group)
        x = env.over.get(mark)
        x = plain(self.ev(group[2][0], env)) if x is None else x

        def f(y):
            return self.ev(body, env.put(mark, y))

        return self.derived(body, f, x)

    def _int(self, ends, var, body, env):
        try:
            key = self.fetch(var, env)[0]
        except Unbound:
            key = "_".join([var[1], *(label(i) or "" for i in var[3])])
        old = np.asarray(self.raw(key, env), float) if var[2] == "bf" else 0.0
        low, high = (e and self.ev(e, env) for e in ends)
        low = -np.inf if low is None else low
        high = np.inf if high is None else high

        def f(x):
            return self.ev(body, env.put(key, x.reshape(np.shape(old))[()]))

        ends, sign = sorted([low, high]), -1.0 if high < low else 1.0
        with np.errstate(all="ignore"):
            found = calculus.integral(f, ends, max(np.size(old), 1))
        return sign * column(self.doubt(body, found))

    def _lim(self, var, to, body, env):
        to, letter = self.ev(to, env), var[1]
        index = letter in self.letters(body, env)
        sign = -1.0 if to == -np.inf else 1.0

        def f(x):
            here = env.put(letter, sign * x)
            here = env.at(letter, round(x)) if index else here
            try:
                return plain(self.ev(body, here))
            except Mismatch:  # a sequence is known only so far
                return np.nan

        found = limit_of(f, np.inf if np.isinf(to) else to)
        found = found.value, float(np.max(found.error))
        return column(self.doubt(body, found))

    def _mean(self, name, items, args, separators, env):
        key = self.signature(name, (0, 0, args, separators))
        f = self.known(key, env)
        if f is not None:
            values = [plain(self.ev(a, env)) for a in args]
            return column(self.fill(f, values, env) if callable(f) else f)
        _, law, rest = self.fetch(self.law(name, items, env), env)
        law = law[self.position(rest[0], env)] if rest else law
        if "|" in separators or not isinstance(law, Law):
            raise Unbound(key)
        return self.mean(name, law, args, env)

    def law(self, name, items, env):
        """The symbol E_q, or cov_q if that is bound."""
        flat = []
        for x in items:
            flat += [(*x[:3], [], x[4]), *x[3]] if x[0] == "sym" else [x]
        try:
            self.fetch(sym := ("sym", name, "", flat, 0), env)
        except Unbound:
            sym = ("sym", "E", "", flat, 0)
        return sym

    def mean(self, name, law, args, env):
        """E[x], or cov[x, y] = E[x y^T] - E[x] E[y]^T."""
        first, last = args[0], args[-1]
        one = self.weighted(lambda here: self.ev(first, here), law, env)
        if name == "E":
            return one
        two = self.weighted(lambda here: self.ev(last, here), law, env)

        def product(here):
            return mul(self.ev(first, here), turned(self.ev(last, here)))

        both = self.weighted(product, law, env)
        return self.added(both, mul(-1.0, mul(one, turned(two))))

    def weighted(self, f, law, env):
        """sum_s weight_s f(point s)"""
        total, keys = Zero(), {}
        for name in law.points:
            bold = f"bf:{name}"
            keys[name] = bold if bold in self.given else spelled(name)
        for i, w in enumerate(law.weights):
            here = {keys[k]: p[i] for k, p in law.points.items()}
            term = f(Env({**env.over, **here}, env.loops))
            total = add(total, mul(float(w), term))
        return total

    # -- sums and indices --

    def _over(self, kind, heads, condition, top, body, env):
        index = condition or heads[0][1] in self.letters(body, env)
        if kind in ("max", "min") and not index:
            return self.extreme(kind, heads[0], body, env)
        places = self.ranges(heads, condition, top, body, env)
        terms = [self.ev(body, here) for here in places]
        if kind in ("max", "min"):
            return (max if kind == "max" else min)(terms)
        if top:
            ended(kind, terms, condition[0][1][0], top)
        out = Zero() if kind == "sum" else 1.0
        for term in terms:
            out = self.added(out, term) if kind == "sum" else mul(out, term)
        return out

    def extreme(self, kind, head, body, env):
        """The largest or smallest value over a number or a column."""
        key, old, at = self.variable(head, env)
        sign = -1.0 if kind == "max" else 1.0

        def f(x):
            x = x.reshape(old[at].shape)
            return sign * self.ev(body, self.moved(key, old, at, x, env))

        found = optimize.minimize(f, np.ravel(old[at]), tol=1e-10)
        value = sign * float(found.fun)
        return self.doubt(body, (value, 1e-9 * abs(value)))

    def ranges(self, heads, condition, top, body, env):
        """The places of the terms of a sum."""
        bare = [h[1] for h in heads if not h[3]]
        sides, relations = condition or ([], [])
        if relations == ["="] and bare and top:
            low, high = self.ev(sides[1][0], env), self.ev(top, env)
            low, high = max(low, -ENDLESS), min(high, ENDLESS)
            if low != int(low) or high != int(high):
                raise Mismatch(f"a sum from {low:g} to {high:g}")
            span = range(int(low), int(high) + 1)
            yield from (env.at(bare[0], v) for v in span)
        elif relations == [r"\in"]:
            index, members = bare[0] in self.letters(body, env), sides[1][0]
            named = members[2] if members[0] == "group" else [("num", 0.0)]
            if index and ("num", 0.0) not in named:
                raise Syntax("numbers of classes start at 0, or at 1?")
            for v in self.ev(members, env):
                if index:
                    yield env.at(bare[0], int(v) + self.start)
                else:
                    yield env.put(bare[0], np.asarray(v, float))
        else:
            letters = self.running(bare, sides, heads, env)
            for here in self.places(letters, [body, sides, heads], env):
                if not relations or self.holds(sides, relations, here):
                    yield here

    def running(self, bare, sides, heads, env):
        """The letters that a sum without limits runs over."""
        mine = [b for b in bare if b == bare[0] or b not in env.loops]
        alone = [s[1] for side in sides for s in side if is_letter(s)]
        for x in [*self.letters([sides, heads], env), *alone]:
            if not (x in mine or x in env.loops or self.has(x, env)):
                mine.append(x)
        return mine

    def places(self, letters, node, env):
        """Every combination of the indices' values."""
        spans = []
        for letter in letters:
            first = self.origin.get(letter, self.start)
            spans.append(range(first, first + self.length(letter, node, env)))
        for values in itertools.product(*spans):
            here = env
            for letter, v in zip(letters, values, strict=True):
                here = here.at(letter, v)
            yield here

    def holds(self, sides, relations, env):
        """Whether a condition is true; indices against data count from 0."""
        index = any(
            is_letter(s) and s[1] in env.loops for a in sides for s in a
        )

        def value(n):
            as_index = index and (is_letter(n) or n[0] == "num")
            return self.position(n, env) if as_index else self.ev(n, env)

        far = {x[1] for x in walk(sides[1:]) if x[0] == "sym"}
        if far & {x[1] for x in sides[0] if x[0] == "sym"}:  # n, k != t_n
            sides = [sides[0][-1:], *sides[1:]]
        triples = zip(sides, relations, sides[1:], strict=False)
        return all(
            HOLDS[r](value(x), value(y))
            for a, r, b in triples
            for x in a
            for y in b
        )

    def length(self, letter, node, env):
        """How far an index runs, from the arrays that carry it."""
        found = {self.sizes[letter]} if letter in self.sizes else set()
        for x in walk(node):
            if x[0] == "sym" and x[3]:
                found |= self.lengths(letter, x, env)
        if len(found) != 1:
            text = f"is one of {sorted(found)}" if found else "is unknown"
            raise Unbound(letter, f"as an index: its range {text}")
        return found.pop()

    def lengths(self, letter, sym, env):
        """The axes of one array that an index runs over."""
        try:
            key, value, rest = self.fetch(sym, env)
            value = self.raw(key, env) if isinstance(value, Depends) else value
        except Unbound:
            return set()
        if key == "cal:C" or callable(value) or isinstance(value, Law):
            return set()
        shape = (len(value),) if isinstance(value, list) else np.shape(value)
        pairs = zip(shape, rest, strict=False)
        return {n for n, item in pairs if is_letter(item, letter)}

    def letters(self, node, env, bound=frozenset()):
        """The index letters that no sum binds, in order."""
        kind, items = node[0] if isinstance(node, tuple) and node else "", []
        if kind in ("sym", "mean"):
            items = self.items(node, env)
            node = node[3] if kind == "mean" else []
        elif kind == "item":
            items, node = node[2], [node[1]]
        elif kind == "maybe":
            node = node[1:4]
        elif kind == "lim":
            node, bound = node[2:], bound | {node[1][1]}
        elif kind == "over":
            condition, bound = node[3], bound | bound_by(node)
            node = [node[5], condition and condition[0]]
            alone = (x for x in walk(node[1]) if is_letter(x) and not x[2])
            items = [x for x in alone if len(x[1]) == 1]
        out = []
        for item in (i[1] if i[0] == "up" else i for i in items):
            free = is_letter(item) and item[1] not in bound
            out += [item[1]] if free and not self.has(item[1], env) else []
            out += [] if is_letter(item) else self.letters(item, env, bound)
        for x in node:
            if isinstance(x, list | tuple):
                out += self.letters(x, env, bound)
        return list(dict.fromkeys(out))

    def items(self, node, env):
        """The subscripts of a symbol, or of a law, that are no names."""
        sym = node if node[0] == "sym" else self.law(*node[1:3], env)
        try:
            return self.fetch(sym, env)[2]
        except TexError:
            return [i for i in sym[3] if i[0] != "label"] if sym is node else []


def ended(kind, terms, low, top):
    """Mismatch unless the last terms of a sum to infinity are nothing."""
    far = [terms[:4]] * endless(low) + [terms[-4:]] * endless(top)
    neutral = -1.0 if kind == "prod" else Zero()
    most, left = (
        max((np.max(np.abs(add(x, neutral))) for x in some), default=0.0)
        for some in (terms if far else [], itertools.chain(*far))
    )
    if left > 1e-12 * most:
        raise Mismatch(f"after {ENDLESS} terms a {kind} has not ended")


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


def is_letter(node, letter=None):
    """Whether a node is a bare letter, perhaps a certain one."""
    bare = node[0] == "sym" and not node[3] and not node[4]
    return bare and letter in (None, node[1])


def rank(sym):
    """How many axes its type promises: bold capitals 2, small letters 1."""
    return (2 if sym[1][0].isupper() else 1) if sym[2] == "bf" else 0


def keys(full, style, indexed):
    """The keys that a name may be bound to, the most special first."""
    out = [f"{style}:{full}_", full + "_"] if indexed else []
    alone = style == "cal" or style == "bf" and full in ("I", "0")
    return [*out, f"{style}:{full}", *([] if alone else [full])]


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
    _, name, style, items, _ = Parser(tokens_of(key)).symbol(calls=False)
    tail = "_" * bool(items) + "".join(map(label, items))
    return f"{style}:{name}{tail}"


# -- the display -----------------------------------------------------------


def evaluate(tex, given, start=1, defines=()):
    """Every statement of a display, and the prose in it."""
    chains, prose = parse(tex)
    e = Evaluator(given, start)
    for n in walk([c[0] for c in chains]):
        if n[0] == "over" and n[4] and n[3] and n[3][0][1][0] == ("num", 0.0):
            e.origin[n[2][0][1]] = 0
    chains = [c for c in chains if not define(e, c, defines)]
    if missing := set(defines) - e.pages.keys():
        raise Unbound(min(missing), "is not defined in the display")
    quantified = {x for text in prose for x in text.split() if len(x) == 1}
    return [statement(e, *c, quantified) for c in chains], prose


def define(e, chain, defines):
    """Whether a statement says what one of the names in `defines` is."""
    (head, *rest), relations = chain
    name = head[1] if head[0] == "sym" else ""
    if name in defines and relations == ["="] and not head[3]:
        e.pages[name] = Page(rest[0])
    return name in e.pages and relations == ["="]


def statement(e, nodes, relations, quantified):
    """One chain, for all its free indices and points.

    An index stands in all members, but for one that is quantified in prose.
    """
    points = points_of(e, nodes)
    letters = [None if constant(n) else e.letters(n, points[0]) for n in nodes]
    free = list(dict.fromkeys(x for own in letters for x in own or ()))
    for own in letters if "=" in relations else ():
        odd = set(free) - set(free if own is None else own) - quantified
        if odd:
            odd = ", ".join(sorted(odd))
            raise Syntax(f"the index {odd} stands on one side only")
    try:
        places = [p for env in points for p in e.places(free, nodes, env)]
    except Unbound as why:
        places = why
    shape = (len(points),) * any(p.over for p in points)
    members = tuple(member(e, n, places, shape) for n in nodes)
    return Statement(members, tuple(relations))


def constant(node):
    """Whether no symbol stands in a member but 0, I and infinity."""
    names = {x[1] for x in walk(node) if x[0] == "sym"}
    return names <= {"0", "I", "infty"}


def points_of(e, nodes):
    """The points that the display holds for."""
    swept = sorted(k for k in reach(e, nodes) if isinstance(e.given[k], Each))
    values = {k: e.given[k].values for k in swept}
    lengths = {len(v) for v in values.values()} or {1}
    if len(lengths) > 1:
        raise Mismatch(f"points of different number: {', '.join(swept)}")
    every = range(lengths.pop())
    return [Env({k: v[i] for k, v in values.items()}) for i in every]


def reach(e, nodes):
    """The bindings that the display rests on, directly or not."""
    open_, found = [], set()
    for x in walk(nodes):
        try:
            open_ += [e.fetch(x, Env())[0]] if x[0] == "sym" else []
        except TexError:
            continue
        open_ += [e.signature(x[1][1], x[2])] if x[0] == "call" else []
        if x[0] == "mean":
            open_.append(e.signature(x[1], (0, 0, *x[3:])))
    while open_:
        key = open_.pop()
        value = e.given.get(key)
        if key not in found and value is not None:
            found.add(key)
            f = value.function if isinstance(value, Depends) else value
            names = [n.rstrip("_") for n in needs(f)] if callable(f) else []
            open_ += [*names, *(f"bf:{n}" for n in names)]
    return found


def member(e, node, places, shape):
    """The value of one member at all its places."""
    e.size, e.doubts = 0.0, {}
    try:
        if isinstance(places, TexError):
            raise places
        with np.errstate(all="ignore"):
            values = [e.ev(node, here) for here in places]
            value = stacked(values, places, shape)
    except TexError as why:
        value = why
    except (np.linalg.LinAlgError, OverflowError) as why:
        value = Mismatch(str(why))
    return Member(value, e.noise(), e.size, constant(node))


def stacked(values, places, shape):
    """The values as one array: points, free indices, own axes."""
    if isinstance(values[0], Eye | Zero):
        return values[0]
    if any(isinstance(v, tuple | Raw) for v in values):
        raise Mismatch("no number")
    free = [len({p.loops[x] for p in places}) for x in places[0].loops]
    out = np.array([plain(v) for v in values], float)
    return out.reshape((*shape, *free, *out.shape[1:]))
