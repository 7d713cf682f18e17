"""Who computes a check's sides: the library, or somebody else.

    python tools/sides.py              every notebook
    python tools/sides.py logistic     those of one chapter, or several

A notebook runs once, statement by statement. At each check the statements
that its `other=` rests on run again, under a watch that raises as soon as a
function of the library is entered: it must give the same answer. And those
that its `library=` rests on run again with each function that computes it
times 1.001: the check must break, while times 1 it holds. A family or a link
that such a function is given is no function, and stays as it is.

What `other=` may take from the library are points: values that the claim is
about, since its symbols are bound to them or its display reads them, or since
tools/points.toml says so. Sides that need such points are counted apart.
"""

import ast
import contextlib
import copy
import dis
import inspect
import itertools
import os
import sys
import time
import tomllib
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache, cached_property, partial, wraps
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is imported
os.environ.setdefault("MPLBACKEND", "Agg")
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "book")]

import numpy as np  # noqa: E402

from prml4 import check  # noqa: E402
from prml4.referee.values import Each, Law  # noqa: E402
from tools import chapters as reader  # noqa: E402
from tools import rerun  # noqa: E402

POINTS = ROOT / "tools" / "points.toml"
FACTOR = 1.001
LIBRARY = str(ROOT / "prml4") + os.sep
OPEN = tuple(LIBRARY + p for p in ("check.py", "referee", "models/data.py"))
INPUT = {"__post_init__", "draw", "draw_mixture"}
CONTROL = set(inspect.signature(check.printed).parameters)


class LibraryUsed(Exception):
    """A side that should share no code with the library does."""


# ------------------------------------------------------------------ the watch
def raise_in_library(frame, *_):
    """Raise where a function of the library starts.

    The referee and the data may do as they like, and so may what draws data
    elsewhere, or holds parameters and looks at them.
    """
    code, above = frame.f_code, frame
    if code.co_filename.startswith(LIBRARY):
        while above:
            is_open = above.f_code.co_filename.startswith(OPEN)
            if is_open or above.f_code.co_name in INPUT:
                return
            above = above.f_back
        stem = Path(code.co_filename).stem
        raise LibraryUsed(f"{stem}.{code.co_qualname}")


@contextlib.contextmanager
def watched():
    """Nobody enters the library, and nothing is remembered from before."""
    for module in [m for n, m in sys.modules.items() if n[:6] == "prml4."]:
        for thing in vars(module).values():
            if hasattr(thing, "cache_clear"):
                thing.cache_clear()
    before = sys.gettrace()
    sys.settrace(raise_in_library)
    try:
        yield
    finally:
        sys.settrace(before)


# ----------------------------------------------------------------- statements
@dataclass(frozen=True, eq=False)
class Step:
    """A statement as it ran."""

    tree: ast.stmt
    before: dict  # all names and their values
    states: dict  # of the random generators, by name

    @cached_property
    def binds(self):
        """The names that it defines or changes."""
        changed = {
            n
            for n in rerun.names_bound(self.tree) - {"rng"}
            if not inspect.ismodule(self.before.get(n))
        }
        return changed | lookups(self.tree)[1]

    @cached_property
    def replaces(self):
        """The names whose former values no longer matter."""
        perhaps = isinstance(self.tree, ast.If | ast.Try | ast.While)
        return set() if perhaps else lookups(self.tree)[1]


def compiled(tree, place="again"):
    """An expression or a statement as code."""
    if isinstance(tree, ast.expr):
        whole, mode = ast.Expression(tree), "eval"
    else:
        whole, mode = ast.Module([tree], []), "exec"
    return compile(ast.fix_missing_locations(whole), place, mode)


def run_one(tree, names, place="again"):
    """Execute one statement."""
    exec(compiled(tree, place), names)


def lookups(tree):
    """(global names that a tree reads before it stores them, all it stores).

    Functions are taken to run where they are made.
    """
    read, stored = set(), set()

    def follow(code):
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
                read.update({step.argval} - stored)
            elif step.opname in ("STORE_NAME", "STORE_GLOBAL"):
                stored.add(step.argval)
            elif inspect.iscode(step.argval):
                follow(step.argval)

    follow(compiled(tree))
    return read, stored


def parts(tree):
    """a, b = x, y as two statements, if that is the same."""
    whole = isinstance(tree, ast.Assign) and [*tree.targets, tree.value]
    if not whole or not all(isinstance(x, ast.Tuple) for x in whole):
        return [tree]
    read, stored = lookups(tree)
    names, values = whole[0].elts, whole[-1].elts
    plain = all(isinstance(x, ast.Name) for x in names) and not read & stored
    if len(whole) > 2 or not plain or len(names) != len(values):
        return [tree]
    return [
        ast.copy_location(ast.Assign([name], value), value)
        for name, value in zip(names, values, strict=True)
    ]


def needed(tree, steps, change, taken=()):
    """The steps that a tree rests on, changed, in order.

    taken: names that are taken as they are.
    """
    wanted, kept = lookups(tree)[0] - set(taken), []
    for step in reversed(steps):
        if wanted & step.binds:
            wanted = wanted - step.replaces
            step = replace(step, tree=change(step.tree, step.before))
            wanted = wanted | lookups(step.tree)[0] - set(taken)
            kept.append(step)
    return kept[::-1]


def generators(names):
    """name -> state of every random generator."""
    made = {
        n: x for n, x in names.items() if isinstance(x, np.random.Generator)
    }
    return {n: x.bit_generator.state for n, x in made.items()}


def restore(states, names):
    """Put random generators back to where they were."""
    for name, state in states.items():
        names[name].bit_generator.state = state


@contextlib.contextmanager
def aside(names):
    """What runs here again leaves no trace, and checks nothing."""
    states, given = generators(names), dict(check.GIVEN)
    silent = dict.fromkeys(rerun.KEPT, lambda *args, **options: None)
    try:
        with rerun.replaced(check, silent):
            yield
    finally:
        restore(states, names)
        check.GIVEN.clear()
        check.GIVEN.update(given)


class Moment:
    """One call of a check, and all that ran before it."""

    def __init__(self, frame, steps):
        """frame: that of the notebook; steps: so far, the last unfinished."""
        self.live = {**frame.f_globals, **frame.f_locals}
        spot = list(frame.f_code.co_positions())[frame.f_lasti // 2]
        path = path_to(steps[-1].tree, spot)
        self.call = path[-1]
        inner = [
            Step(tree, self.live, generators(self.live))
            for outer, node in itertools.pairwise(path)
            for tree in earlier(outer, node)
        ]
        self.steps = [*steps[:-1], *inner]

    def again(self, tree, change, taken=()):
        """The value of a tree, after what it rests on has run once more.

        change(tree, names) may put other things in place of parts of a tree,
        which change.names defines. Names that are `taken` keep their values.
        """
        tree = change(tree, self.live)
        steps = needed(tree, self.steps, change, taken)
        space, fresh = {}, dict(change.names)
        for step in steps:
            space.update({**step.before, **fresh})
            restore(step.states, space)
            try:
                run_one(step.tree, space)
            except LibraryUsed as used:
                line = ast.unparse(step.tree).splitlines()[0]
                raise LibraryUsed(f"{used} in `{line[:60]}`") from None
            fresh |= {n: space[n] for n in step.binds if n in space}
        space.update({**self.live, **fresh})
        return eval(compiled(tree), space)


def path_to(tree, spot):
    """The nodes from a statement down to the call at a place."""
    if isinstance(tree, ast.Call) and spot == (
        tree.lineno, tree.end_lineno, tree.col_offset, tree.end_col_offset
    ):  # fmt: skip
        return [tree]
    for child in ast.iter_child_nodes(tree):
        if below := path_to(child, spot):
            return [tree, *below]
    return []


def earlier(outer, node):
    """The statements before a node in the same block."""
    for block in ("body", "orelse", "finalbody"):
        siblings = getattr(outer, block, None)
        if isinstance(siblings, list) and node in siblings:
            return siblings[: siblings.index(node)]
    return []


# ------------------------------------------------------------- other=, watched
class Pinned:
    """Puts the points of a claim in place of the chains that name them."""

    def __init__(self, points, answers):
        """points: what the claim is about, but for what is to be shown."""
        own = list(filter(is_number, answers))
        points = filter(is_number, points)
        self.points = [p for p in points if not any(equal(p, x) for x in own)]
        self.names, self.used = {}, set()

    def __call__(self, tree, names):
        """The tree with a.b[1] replaced, where that is a point."""
        return Pinner(self, lookups(tree)[0], names).visit(copy.deepcopy(tree))

    def point(self, value, text):
        """A name for a value, if it is a point."""
        for k, p in enumerate(self.points):
            if equal(p, value):
                self.names[f"point_{k}__"] = value
                self.used.add(text)
                return f"point_{k}__"
        return None


@dataclass
class Pinner(ast.NodeTransformer):
    """One tree of Pinned."""

    pinned: Pinned
    globals: set  # the names that are no parameters
    values: dict

    def visit(self, node):
        """A point, if the node is a chain whose value is one."""
        root = rerun.root_name(node) if is_chain(node) else ""
        if root in self.globals and isinstance(node.ctx, ast.Load):
            value = valued(node, self.values)
            if is_number(value):
                name = self.pinned.point(value, ast.unparse(node))
                if name:
                    return ast.Name(name, ast.Load())
        return self.generic_visit(node)


def equal(a, b):
    """Whether two numbers or arrays are the same in every element."""
    return np.shape(a) == np.shape(b) and np.array_equal(a, b)


def is_chain(node):
    """Whether a node is a.b[1].c."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript):
            if not isinstance(node.slice, ast.Constant):
                return False
        elif not isinstance(node, ast.Attribute):
            return False
        node = node.value
    return True


def valued(node, names):
    """The value of a chain, None if it has none."""
    try:
        return eval(compiled(node), dict(names))
    except Exception:  # noqa: BLE001  a name of another time
        return None


def is_number(x):
    """Whether x is a number or an array of numbers, not empty."""
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind in "iufc" and x.size > 0
    return isinstance(x, int | float | complex) and not isinstance(x, bool)


def points_of(moment, kind, options):
    """What the claim is about: its symbols' values, or its display's."""
    if kind == "printed":
        names = {**check.GIVEN, **options}
        return flat([v for k, v in names.items() if k not in CONTROL])
    shown = reader.keyword(moment.call, "display")
    chains = [n for n in ast.walk(shown) if is_chain(n)] if shown else []
    return flat([valued(n, moment.live) for n in chains])


def flat(values):
    """The numbers and arrays in symbols of all kinds."""
    out = []
    for x in values:
        if isinstance(x, Each):
            out.append(x.values)
        elif isinstance(x, Law):
            out += [x.weights, *x.points.values()]
        elif isinstance(x, list | tuple):
            out += [*flat(x), np.asarray(x) if is_table(x) else None]
        else:
            out.append(x)
    return out


def is_table(x):
    """Whether a list holds numbers only."""
    return bool(x) and all(isinstance(v, int | float) for v in x)


def watched_other(moment, kind, options, declared):
    """(whether it is as it should be, the points it needs or what is wrong)."""
    tree = reader.keyword(moment.call, "other")
    before = settled(options["other"])
    symbols, why = points_of(moment, kind, options), ""
    for points, taken in (([], ()), (symbols, ()), (symbols, declared)):
        pinned = Pinned(points, flat([before]))
        try:
            with aside(moment.live), watched():
                answer = settled(moment.again(tree, pinned, taken))
        except LibraryUsed as used:
            why = f"its other side uses {used}"
            continue
        if alike(before, answer):
            return True, ", ".join([*sorted(pinned.used), *taken])
        return False, "its other side cannot be computed again"
    return False, why


def settled(side):
    """A side with its functions called."""
    if isinstance(side, tuple):
        return tuple(map(settled, side))
    return side() if callable(side) else side


def alike(a, b):
    """Whether two sides are the same, but for rounding."""
    if isinstance(a, tuple):
        return all(map(alike, a, b))
    return a is b or np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)


# ------------------------------------------------------------ library=, scaled
class Scaled(ast.NodeTransformer):
    """Multiplies what one function of the library answers."""

    def __init__(self, imported, path, factor):
        """imported: what the notebook calls them; path: module.function."""
        self.origins = reader.Origins(imported, {}, 0)
        self.path, self.names = path, {"scaled__": times(factor)}
        self.found = False  # whether the function is named at all

    def __call__(self, tree, _):
        """The tree with the function wrapped, wherever it is named."""
        return self.visit(copy.deepcopy(tree))

    def visit(self, node):
        """Wrap the function."""
        if isinstance(node, ast.Name | ast.Attribute):
            if self.origins.path(node) == self.path:
                self.found = True
                return ast.Call(ast.Name("scaled__", ast.Load()), [node], [])
        return self.generic_visit(node)


def times(factor):
    """thing -> the same with all its numbers times the factor.

    Zero times anything is zero: to that we add what one would have grown by.
    The second of several numbers grows twice, lest a ratio see nothing.
    """

    def scaled(thing):
        if isinstance(thing, tuple | list):
            make = getattr(thing, "_make", type(thing))
            return make(several(thing))
        if is_dataclass(thing) and not isinstance(thing, type):
            new, fields = object.__new__(type(thing)), vars(thing)
            for name, x in zip(fields, several(fields.values()), strict=True):
                keep = counts(fields[name])
                object.__setattr__(new, name, fields[name] if keep else x)
            return new
        if callable(thing):
            return wraps(thing)(lambda *a, **k: scaled(thing(*a, **k)))
        if not is_number(thing):
            return thing
        nearly_zero = np.all(np.abs(thing) < 1e-6)
        return thing + (factor - 1) if nearly_zero else thing * factor

    def several(things):
        powers = range(1, len(things) + 1)
        return [
            times(factor**k)(x) for k, x in zip(powers, things, strict=True)
        ]

    return scaled


def counts(thing):
    """Whether it holds whole numbers: how many, or which."""
    return np.asarray(thing).dtype.kind == "i"


def scaled_library(moment, check_again, origins):
    """What is wrong with a library side, "" if nothing is."""
    tree = reader.keyword(moment.call, "library")
    found = False
    for path in sorted(formulas(origins.of(tree))):
        sound = Scaled(origins.names, path, 1.0)
        if not holds(moment, check_again, tree, sound):
            return "its library side cannot be computed again"
        wrong = Scaled(origins.names, path, FACTOR)
        if sound.found and holds(moment, check_again, tree, wrong):
            return f"{path} times {FACTOR} passes"
        found |= sound.found
    return "" if found else "its library side names no function of the library"


def formulas(paths):
    """Those that compute: no data, nor values passed to such a function."""
    names = {p: p.rpartition(".")[2] for p in paths}
    computing = {p for p in paths if names[p] not in INPUT}
    return {p for p in computing if not names[p].isupper()} or computing


def holds(moment, check_again, tree, change):
    """Whether the check passes with a function of the library changed."""
    try:
        with aside(moment.live):
            library = moment.again(tree, change)
        check_again(library=library)
    except Exception:  # noqa: BLE001  any failure turns the cell red
        return False
    return True


# ------------------------------------------------------------------ a notebook
@dataclass
class Report:
    """What was found in one notebook."""

    others: int = 0
    libraries: int = 0
    points: list = field(default_factory=list)  # label: what it stands at
    faults: list = field(default_factory=list)


def examine(chapter):
    """Run a notebook and look at the sides of all its checks."""
    steps, report = [], Report()
    imported = reader.library_names(chapter.code)
    values = reader.assignments(chapter.code)
    place = {}

    def execute(cell, names):
        place["cell"] = cell
        for tree in itertools.chain(*map(parts, cell.tree.body)):
            steps.append(Step(tree, dict(names), generators(names)))
            run_one(tree, names, f"{chapter.name} cell {cell.index}")

    def wrapped(name):
        original = getattr(check, name)

        def wrapper(*args, **options):
            out = original(*args, **options)
            frame = sys._getframe(1)
            here = frame.f_code.co_filename.startswith(chapter.name)
            if here and not place["cell"].is_reader:
                moment = Moment(frame, steps)
                origins = reader.Origins(imported, values, place["cell"].index)
                look(report, moment, name, original, args, options, origins)
            return out

        return wrapper

    rerun.run(chapter, {n: wrapped(n) for n in SEEN}, execute=execute)
    return report


def look(report, moment, name, original, args, options, origins):
    """Add to the report what one check shows."""
    label = args[0]
    if options.get("other") is not None:
        report.others += 1
        names = declared().get(label, ())
        good, text = watched_other(moment, name, options, names)
        if not good:
            report.faults.append(f"{label}: {text}")
        elif text:
            report.points.append(f"{text}: {label}")
    if options.get("library") is not None:
        report.libraries += 1
        check_again = partial(original, *args, **options)
        if text := scaled_library(moment, check_again, origins):
            report.faults.append(f"{label}: {text}")


@cache
def declared(path=POINTS):
    """label -> names that hold points of the claim."""
    rows = tomllib.loads(path.read_text("utf-8"))["point"]
    if missing := [row["label"] for row in rows if not row["reason"]]:
        raise ValueError(f"no reason: {missing}")
    return {row["label"]: tuple(row["names"]) for row in rows}


SEEN = sorted(rerun.KEPT - {"slip", "transcribed", "psd"})


def main(stems):
    """Examine and print; 1 if there are faults."""
    wrong = False
    for chapter in reader.asked_for(stems):
        began = time.monotonic()
        found = examine(chapter)
        wrong |= bool(found.faults)
        print(
            f"{chapter.name}: {found.others} other "
            f"sides, {len(found.points)} of them at points of the library; "
            f"{found.libraries} library sides; {len(found.faults)} faults; "
            f"{time.monotonic() - began:.0f} s",
            flush=True,
        )
        for line in found.faults + [f"at {p}" for p in found.points]:
            print(f"  {line}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
