"""Plant faults in the library, one at a time, and see who notices.

    python tools/mutants.py              every function that a claim names
    python tools/mutants.py logistic     those of one module, or of several

For each function behind a claim, and the functions of its module that it
calls, small faults are planted in the source: a sign, a factor, an index, a
term, a transposition, a comparison. The checks that rest on the function run
against the fault, then the unit tests of its module. The figures go, module by
module, to benchmarks/results/mutants.json; below 97 % the run fails. A run
that was killed goes on where it was; and of a function that is as it was when
it was last measured, only the faults are planted again that nobody noticed.
"""

import ast
import copy
import inspect
import io
import json
import os
import re
import resource
import signal
import sys
import textwrap
import time
import tomllib
from collections import defaultdict
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is imported
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ["DASK_SCHEDULER"] = "synchronous"  # a fork has no threads
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402

from tools import chapters as reader  # noqa: E402
from tools import journal, rerun  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"
EQUIVALENT = ROOT / "tools" / "equivalent.toml"
PATHS = {path.stem: path for path in reader.modules()}
JOURNAL = ROOT / ".make" / "mutants-library.jsonl"
WITNESSES = ROOT / ".make" / "witnesses"  # who noticed a function's faults
WORKERS, GOAL = 2, 0.97
PATIENCE = 50  # seconds to wait for a second of work, on a busy machine
SURVIVED, NOTICED = 0, 11  # exit codes of a worker


# ------------------------------------------------------------ what is mutated
def targets(book):
    """(module, function) -> {chapter: cells whose checks rest on it}."""
    named = defaultdict(lambda: defaultdict(set))
    for chapter in book:
        for check in chapter.checks:
            for path in check.library:
                stem, name = home(*path.split(".")[:2])
                if mutable(stem, name):
                    for callee in callees(stem, name):
                        named[stem, callee][chapter].add(check.cell)
    return {key: named[key] for key in sorted(named)}


def library(stem):
    """The module of this name, whatever room it is in."""
    path = PATHS[stem].relative_to(ROOT).with_suffix("")
    return import_module(".".join(path.parts))


def home(stem, name):
    """The module that defines what another module passes on."""
    thing = getattr(library(stem), name, None)
    module = getattr(thing, "__module__", None) or stem
    return module.rpartition(".")[2], name


def mutable(stem, name):
    """Whether prml4.stem.name is a plain function of that module."""
    module = library(stem)
    function = getattr(module, name, None)
    plain = inspect.isfunction(function) and function.__name__ == name
    return plain and function.__module__ == module.__name__


@cache
def callees(stem, name):
    """A function and all of its module that it calls, directly or not."""
    found, open_ = set(), [name]
    while open_:
        current = open_.pop()
        found.add(current)
        (function,) = syntax(stem, current).body
        function.decorator_list = []  # has run long ago
        read = rerun.names_read(function)
        open_ += [n for n in read - found if mutable(stem, n)]
    return found


def syntax(stem, name):
    """The tree of a function, without its docstring."""
    function = getattr(library(stem), name)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    if ast.get_docstring(tree.body[0]):
        tree.body[0].body = tree.body[0].body[1:] or [ast.Pass()]
    return tree


# ----------------------------------------------------------------- the faults
@dataclass(frozen=True)
class Mutant:
    """One fault in one function."""

    stem: str  # module
    name: str  # function
    statement: str  # the one that is changed, its first line
    fault: str  # old → new
    tree: ast.Module

    @property
    def function(self):
        """module.function"""
        return f"{self.stem}.{self.name}"

    @property
    def row(self):
        """What the results hold of it."""
        return self.function, self.statement, self.fault

    @property
    def key(self):
        """Its name in the journal."""
        tree = journal.digest(ast.dump(self.tree))
        return f"{self.function}: {self.statement}: {self.fault}: {tree}"


def mutants(stem, name):
    """Every fault of a function, each once, in order."""
    original = syntax(stem, name)
    found, skipped = {}, spared(original)
    for index, node in enumerate(ast.walk(original)):
        if id(node) in skipped:
            continue
        for new in alternatives(node):
            tree = substitute(original, index, new)
            up = isinstance(node, SMALL)
            before = context(original, index, up)
            after = context(tree, index, up)
            where = shown(statement(original, node), first=True)
            fault = f"{shown(before)} → {shown(after)}"
            mutant = Mutant(stem, name, where, fault, tree)
            found.setdefault(ast.dump(tree), mutant)
    return list(found.values())


def spared(tree):
    """Ids of the nodes that hold no mathematics.

    They word a message, are part of a signature, are counted only, or set a
    tolerance: how close is close enough is a choice, and no test could call it
    wrong.
    """
    outer = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.arguments)
        or (isinstance(node, ast.Call) and "warn" in ast.unparse(node.func))
        or re.fullmatch(r"len\(\w+\)", ast.unparse(node))
        or is_tolerance(node)
    ]
    inner = {id(n) for node in outer for n in ast.walk(node)}
    return inner | {id(n) for n in ast.walk(tree) if has_tolerance(n)}


def is_tolerance(node):
    """A tiny number, `tol`, a threshold in CAPITALS, or a product with one."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and 0 < abs(node.value) <= 1e-3
    if isinstance(node, ast.Name | ast.Attribute):
        name = ast.unparse(node).split(".")[-1]
        return name == "tol" or (name.isupper() and len(name) > 1)
    if isinstance(node, ast.UnaryOp):
        return is_tolerance(node.operand)
    if isinstance(node, ast.BinOp):
        is_sum = isinstance(node.op, ast.Add | ast.Sub)
        sides = is_tolerance(node.left) or is_tolerance(node.right)
        return sides and not is_sum
    return False


def has_tolerance(node):
    """A sum or a comparison one side of which is a tolerance."""
    if isinstance(node, ast.BinOp):
        return is_tolerance(node.left) or is_tolerance(node.right)
    if isinstance(node, ast.Compare):
        return any(map(is_tolerance, [node.left, *node.comparators]))
    return False


def substitute(tree, index, new):
    """A copy of the tree with its index-th node replaced, None: removed."""
    tree = copy.deepcopy(tree)
    target = list(ast.walk(tree))[index]
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, field, new)
            elif isinstance(value, list) and target in value:
                value[value.index(target)] = new
    return ast.fix_missing_locations(tree)


SMALL = (ast.Name, ast.Constant, ast.Attribute, ast.UnaryOp)


def context(tree, index, up):
    """The index-th node; what encloses it, if it is too small to show."""
    places = [(tree, tree)]
    for node, _ in places:  # grows, in the order of ast.walk
        places += [(inner, node) for inner in ast.iter_child_nodes(node)]
    node, parent = places[index]
    return parent if up and hasattr(parent, "lineno") else node


def statement(tree, node):
    """The innermost statement that holds a node."""
    return [
        s
        for s in ast.walk(tree)
        if isinstance(s, ast.stmt) and any(n is node for n in ast.walk(s))
    ][-1]


def shown(node, first=False):
    """A node as one line of code; of a statement perhaps the first only."""
    lines = ast.unparse(node).splitlines()
    text = " ".join(" ".join(lines[:1] if first else lines).split())
    return text if len(text) <= 60 else text[:59] + "…"


def alternatives(node):
    """What a tired author might have written instead of the node."""
    for kind, make in MUTATIONS:
        if isinstance(node, kind):
            yield from make(node)


def binary(node):
    """Signs, dropped terms, factors; a transposition forgotten."""
    left, op, right = node.left, node.op, node.right
    swapped = SWAPPED.get(type(op))
    if swapped:
        yield ast.BinOp(left, swapped(), right)
    if isinstance(op, ast.Add | ast.Sub):
        yield left
        yield right


SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


def unary(node):
    """A sign or a negation lost."""
    yield node.operand


def constant(node):
    """½ for 1, 1 for 2, and the next index; 0 and 1 exchanged."""
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        return
    if node.value == 0.5:
        yield ast.Constant(1.0)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
        if node.value in (1, 2):
            yield ast.Constant(node.value - 1)
    else:
        yield ast.Constant(2 * node.value or 1.0)


def comparison(node):
    """< for <=, == for !=, and the like."""
    new = COMPARED.get(type(node.ops[0]))
    if new and len(node.ops) == 1:
        yield ast.Compare(node.left, [new()], node.comparators)


COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def attribute(node):
    """A transposition dropped; sum for mean, min for max."""
    if node.attr == "T" and isinstance(node.ctx, ast.Load):
        yield node.value
    elif node.attr in EXCHANGED:
        yield ast.Attribute(node.value, EXCHANGED[node.attr], node.ctx)


EXCHANGED = {
    "sum": "mean",
    "mean": "sum",
    "min": "max",
    "max": "min",
    "argmin": "argmax",
    "argmax": "argmin",
    "minimum": "maximum",
    "maximum": "minimum",
}


def variable(node):
    """1 - y for y, 1 - t for t, N - 1 for N."""
    if isinstance(node.ctx, ast.Load):
        if node.id in ("y", "t"):
            yield ast.BinOp(ast.Constant(1), ast.Sub(), node)
        elif node.id == "N":
            yield ast.BinOp(node, ast.Sub(), ast.Constant(1))


def boolean(node):
    """and for or."""
    other = ast.Or if isinstance(node.op, ast.And) else ast.And
    yield ast.BoolOp(other(), node.values)


def update(node):
    """-= for +=, and the update left out."""
    swapped = SWAPPED.get(type(node.op))
    if swapped:
        yield ast.AugAssign(node.target, swapped(), node.value)
    yield ast.Pass()


MUTATIONS = (
    (ast.BinOp, binary),
    (ast.UnaryOp, unary),
    (ast.Constant, constant),
    (ast.Compare, comparison),
    (ast.Attribute, attribute),
    (ast.Name, variable),
    (ast.BoolOp, boolean),
    (ast.AugAssign, update),
)


# --------------------------------------------------------------------- a trial
def plant(mutant):
    """Give the function the faulty code, for everyone who has imported it."""
    module = library(mutant.stem)
    names = dict(vars(module))
    place = f"mutant of {mutant.function}"
    exec(compile(mutant.tree, place, "exec"), names)
    function = inspect.unwrap(getattr(module, mutant.name))
    function.__code__ = inspect.unwrap(names[mutant.name]).__code__


def trial(mutant, book):
    """Exit code of a worker: whether somebody noticed the fault.

    First the checks that rest on the function, then the unit tests; but who
    noticed the last fault of the same function goes before all others.
    """
    plant(mutant)
    witnesses = WITNESSES / mutant.function
    tests, by_tests = reader.test_of(PATHS[mutant.stem]), witnesses / "tests"
    first = by_tests.exists()
    if first and unit_tests(tests, witnesses):
        return NOTICED
    by_tests.unlink(missing_ok=True)
    if objects(book, witnesses / "cell"):
        return NOTICED
    if first or not unit_tests(tests, witnesses):
        return SURVIVED
    journal.write(by_tests, "")
    return NOTICED


def objects(book, witness):
    """Whether a check fails; the cell of the first is written down."""
    known = witness.read_text("utf-8") if witness.exists() else ""
    likely = [
        (chapter, {cell})
        for chapter, cells in book.items()
        for cell in cells
        if f"{chapter.name} {cell}" == known
    ]
    for chapter, goals in [*likely, *book.items()]:
        reached = []

        def execute(cell, names, reached=reached):
            reached.append(cell.index)
            exec(compile(cell.tree, f"cell {cell.index}", "exec"), names)

        try:
            rerun.run(chapter, goals=goals, execute=execute)
        except Exception:  # noqa: BLE001  any failure is an objection
            journal.write(witness, f"{chapter.name} {reached[-1]}")
            return True
    return False


def unit_tests(path, witnesses):
    """pytest's exit code for one file, silent, stopping at a failure."""
    options = ["-x", "-q", "--failed-first", "-o", f"cache_dir={witnesses}"]
    slow = ["-p", "no:nbval", "-p", "no:unraisableexception"]  # here useless
    options += [*slow, "--rootdir", str(ROOT), str(path)]
    quietly = redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO())
    with quietly[0], quietly[1]:
        return int(pytest.main(options))


def start(mutant, book, seconds):
    """Fork a worker, which may compute for so long; its process id."""
    pid = os.fork()
    if not pid:
        code, most = NOTICED, int(seconds + time.process_time())
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (most, most))
            code = trial(mutant, book)
        finally:
            os._exit(code)
    return pid


class Workers:
    """At most WORKERS trials at a time; a late one counts as noticed."""

    def __init__(self, done):
        """done: the journal of the run."""
        self.done, self.running = done, {}

    def add(self, mutant, book, seconds):
        """Start a trial as soon as a worker is free."""
        while len(self.running) >= WORKERS:
            self.collect()
        deadline = time.monotonic() + PATIENCE * seconds
        self.running[start(mutant, book, seconds)] = mutant, deadline

    def collect(self):
        """Wait for a trial to end, or end those that are late."""
        time.sleep(0.02)
        for pid, (mutant, deadline) in list(self.running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            late = time.monotonic() > deadline
            if not done and late:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            if done or late:
                code = os.waitstatus_to_exitcode(status) if done else NOTICED
                self.done.add(mutant.key, code if code >= 0 else NOTICED)
                del self.running[pid]

    def finish(self):
        """Wait for all."""
        while self.running:
            self.collect()


# -------------------------------------------------------------------- a report
@dataclass(frozen=True)
class Equivalent:
    """Faults that no test can tell from the original, and why."""

    function: str
    fault: str  # as printed; … at an end stands for anything
    reason: str
    statement: str = "…"  # as printed; likewise

    def covers(self, function, statement, fault):
        """Whether the entry is about this fault."""
        places = (self.statement, statement), (self.fault, fault)
        return self.function == function and all(matches(*p) for p in places)


def matches(pattern, text):
    """Whether a text is as an entry says."""
    parts = ".*".join(map(re.escape, pattern.split("…")))
    return bool(re.fullmatch(parts, text))


def equivalents(stem):
    """The entries of tools/equivalent.toml about one module."""
    rows = tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", [])
    return [
        Equivalent(**row)
        for row in rows
        if row["function"].split(".")[0] == stem
    ]


def limit(stem, books):
    """Seconds for a trial: four times what the sound library needs."""
    began, goals = time.process_time(), defaultdict(set)
    for book in books:
        for chapter, cells in book.items():
            goals[chapter] |= cells
    for chapter, cells in goals.items():
        rerun.run(chapter, goals=cells)
    if unit_tests(reader.test_of(PATHS[stem]), WITNESSES / stem):
        raise SystemExit(f"the test of {stem} fails without a fault")
    return 5 + 4 * (time.process_time() - began)


def report(stem, tried, entries):
    """The figures of one module, as the book shows them.

    tried: function -> its digest, how many faults, those nobody noticed.
    """
    missed = [m for part in tried.values() for m in part["survived"]]
    excused = [m for m in missed if any(e.covers(*m) for e in entries)]
    survivors = [m for m in missed if m not in excused]
    planted = sum(part["tried"] for part in tried.values()) - len(excused)
    return {
        "source": journal.digest_of([PATHS[stem]]),
        "functions": tried,
        "planted": planted,
        "killed": planted - len(survivors),
        "survivors": [
            {"function": function, "fault": f"{statement}: {fault}"}
            for function, statement, fault in survivors
        ],
        "equivalent": [
            {
                "function": e.function,
                "fault": e.fault,
                "reason": e.reason,
                "count": sum(e.covers(*m) for m in excused),
            }
            for e in entries
        ],
    }


def known():
    """The figures of all modules, as they were written."""
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}


def keep(found):
    """Write the figures of these modules beside those of the others."""
    both = dict(sorted({**known(), **found}.items()))
    text = json.dumps(both, indent=1, ensure_ascii=False)
    journal.write(RESULTS, text + "\n")


def rests_on():
    """What may change a verdict."""
    files = [*ROOT.glob("prml4/**/*.py"), *ROOT.glob("tests/**/*.py")]
    files += [c.path for c in reader.notebooks()]
    return journal.digest_of([*files, __file__, rerun.__file__])


def to_try(stem, name, before):
    """The faults of a function that have to be planted; all, their digest."""
    faults = mutants(stem, name)
    source = journal.digest(*(m.key for m in faults))
    if before.get("source") != source:
        return faults, faults, source
    missed = [tuple(row) for row in before["survived"]]
    return [m for m in faults if m.row in missed], faults, source


def run_module(stem, named, done):
    """function -> figures, once every mutant was tried that has to be."""
    before = known().get(stem, {}).get("functions", {})
    plans = {
        name: to_try(stem, name, before.get(name, {})) for name, _ in named
    }
    trials = [(m, book) for name, book in named for m in plans[name][0]]
    open_ = [(m, book) for m, book in trials if m.key not in done.results]
    seconds = limit(stem, [book for _, book in named]) if open_ else 0
    workers = Workers(done)
    for k, (mutant, book) in enumerate(open_, len(trials) - len(open_) + 1):
        line = f"\r{stem} {k}/{len(trials)} {mutant.name}"
        print(f"{line:60.60}", end="", file=sys.stderr, flush=True)
        workers.add(mutant, book, seconds)
    workers.finish()
    print(file=sys.stderr)
    codes = done.read()
    return {
        name: {
            "source": source,
            "tried": len(faults),
            "survived": [m.row for m in tried if codes[m.key] == SURVIVED],
        }
        for name, (tried, faults, source) in plans.items()
    }


def main(stems):
    """Plant, try, report; 1 if too few were noticed."""
    named = defaultdict(list)
    for (stem, name), book in targets(reader.notebooks()).items():
        if not stems or stem in stems:
            named[stem].append((name, book))
    if unknown := sorted({*stems} - {*named}):
        raise SystemExit(f"no claim names a function of {', '.join(unknown)}")
    done, verdict = journal.Journal(JOURNAL, rests_on()), []
    for stem, functions in named.items():
        began = time.monotonic()
        tried = run_module(stem, functions, done)
        found = report(stem, tried, equivalents(stem))
        keep({stem: found})
        print(f"{stem}, {time.monotonic() - began:.0f} s: ", end="")
        verdict.append(satisfied(found))
    done.close()
    return not all(verdict)


def satisfied(figures):
    """Whether enough was noticed and every excuse is needed; prints it."""
    for s in figures["survivors"]:
        print(f"survived: {s['function']}, {s['fault']}")
    outdated = [e for e in figures["equivalent"] if not e["count"]]
    for e in outdated:
        print(f"excuses nothing: {e['function']}, {e['fault']}")
    share = figures["killed"] / max(figures["planted"], 1)
    print(f"{figures['killed']} of {figures['planted']} noticed, {share:.1%}")
    return share >= GOAL and not outdated


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
