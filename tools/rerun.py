"""Run the checks of a chapter without Jupyter and without its pictures.

Only the cells that a check needs are run: a check's own, and those that
define or change what it uses. The referee can be wrapped, so that each of its
calls is made again with something planted.
"""

import ast
import contextlib
import io
import os
import warnings

import numpy as np
from matplotlib import pyplot as plt
from support import book

from prml4 import check
from tools.chapters import referee_calls

TEETH, TEETH_RANDOM = 1e-3, 0.05


# ------------------------------------------------------------ which cells run
def needed_cells(chapter, goals=None):
    """The cells that hold checks, or only goals, and all they depend on."""
    wanted, kept = set(), []
    for cell in reversed(chapter.code):
        checks = [c for c, _ in referee_calls(cell.tree) if c.func.attr in KEPT]
        is_goal = checks if goals is None else cell.index in goals
        if is_goal or wanted & names_bound(cell.tree):
            kept.append(cell)
            wanted |= names_read(cell.tree)
    return kept[::-1]


KEPT = {
    *("gradient", "jacobian", "hessian", "integral", "moments"),
    *("identity", "limit", "psd", "slip", "printed", "transcribed"),
}
GIVEN = "check.given"  # the symbols that check.printed reads, as a name


def names_read(tree):
    """Every name that a cell mentions."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    calls = {call.func.attr for call, _ in referee_calls(tree)}
    return names | ({GIVEN} if "printed" in calls else set())


def names_bound(tree):
    """Names that a cell defines, imports or changes in place."""
    calls = {call.func.attr for call, _ in referee_calls(tree)}
    bound = {GIVEN} if "given" in calls else set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and is_changed(node):
            bound.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.asname or a.name.split(".")[0] for a in node.names]
            bound |= set(names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Attribute | ast.Subscript):
            root = root_name(node)
            if isinstance(node.ctx, ast.Store) or calls_method(node):
                bound.add(root)
    return bound


def is_changed(name):
    """Whether a name is assigned, or is the source of randomness."""
    return isinstance(name.ctx, ast.Store) or name.id == "rng"


def calls_method(node):
    """Whether the attribute is one that changes its object."""
    changing = {"append", "extend", "update", "sort", "add", "setdefault"}
    return isinstance(node, ast.Attribute) and node.attr in changing


def root_name(node):
    """The leftmost name of a.b[c].d, "" if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# -------------------------------------------------------------------- running
def run(chapter, wrap=None, goals=None, execute=None):
    """Run the needed cells; `wrap` may replace functions of the referee.

    execute(cell, names) may run a cell in another way.
    """
    names = {"display": lambda *things: None, "__name__": "__main__"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(working_folder(chapter.path.parent))
        stack.enter_context(without_pictures())
        if wrap:
            stack.enter_context(replaced(check, wrap))
        warnings.simplefilter("ignore")
        check.given()
        for cell in needed_cells(chapter, goals):
            if execute:
                execute(cell, names)
            else:
                place = f"{chapter.name} cell {cell.index}"
                exec(compile(cell.tree, place, "exec"), names)
    plt.close("all")


@contextlib.contextmanager
def working_folder(path):
    """Notebooks run in their own folder."""
    before = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def replaced(module, functions):
    """A module with some functions replaced for a while."""
    before = {name: getattr(module, name) for name in functions}
    vars(module).update(functions)
    try:
        yield
    finally:
        vars(module).update(before)


def without_pictures():
    """Pictures are the slow part of a chapter and prove nothing here."""

    def closed(*args, **options):
        plt.close("all")

    return replaced(book, {"slider": closed, "show": closed, "drawn": closed})


# ---------------------------------------------------------------- sensitivity
def weak_checks(chapter):
    """Complaints about checks that pass although a side has been spoilt."""
    complaints = []
    run(chapter, {n: watched(n, complaints) for n in sorted(KEPT)})
    return complaints


def watched(name, complaints):
    """A function of the referee that is also called with spoilt sides."""
    original = getattr(check, name)

    def wrapper(*args, **options):
        result = original(*args, **options)
        for what, spoilt_args, spoilt in spoilt_calls(name, args, options):
            if not objects(original, spoilt_args, spoilt):
                label = args[1] if name == "slip" else args[0]
                complaints.append(f"{label}: check.{name} accepts {what}")
        return result

    return wrapper


def objects(function, args, options):
    """Whether the referee raises ClaimFails."""
    try:
        function(*args, **options)
    except check.ClaimFails:
        return True
    except check.Toothless:
        pass
    return False


def spoilt_calls(name, args, options):
    """(what, args, options) of calls that the referee must reject."""
    size = TEETH_RANDOM if name == "moments" else TEETH
    sides = ["corrected"] if name == "slip" else ["display", "library"]
    sides += ["other"] if name == "printed" else []
    for side in sides:
        if options.get(side) is not None:
            value = scaled(options[side], size)
            yield f"its {side} off by {size}", args, {**options, side: value}
    if name == "slip":
        as_truth = {**options, "as_written": options["truth"]}
        yield "the truth as a slip", args, as_truth
    if name == "psd":
        yield "an indefinite matrix", (args[0], indefinite(args[1])), options


def scaled(side, size):
    """The side, times 1 + size; a side that is nearly zero, plus size."""
    if callable(side):
        return lambda *at: scaled(side(*at), size)
    if isinstance(side, tuple):  # one for each statement of a display
        return tuple(x if x is None else scaled(x, size) for x in side)
    value = np.asarray(side, float)
    nearly_zero = np.all(np.abs(value) < 1e-6)
    return value + size if nearly_zero else value * (1 + size)


def indefinite(H):
    """H with its smallest eigenvalue moved to -1e-3 of its norm."""
    H = np.asarray(H() if callable(H) else H, float)
    shift = np.linalg.eigvalsh(H)[0] + TEETH * np.linalg.norm(H, 2)
    return H - shift * np.eye(len(H))
