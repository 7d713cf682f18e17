"""numerics.result: a result prints in a line, however large it is."""

import dataclasses
import inspect
import pickle
from dataclasses import dataclass

import numpy as np

from prml4.numerics.result import Result


@dataclass(frozen=True, eq=False)
class Fit(Result):
    """Nothing that was fitted.

    w        (M,)  weights
    error          a number
    trace    (S,)  numbers
    converged      whether it did
    inner          another result
    """

    w: np.ndarray
    error: float
    trace: tuple[float, ...]
    converged: bool
    inner: object = None


def test_arrays_are_shapes_and_numbers_are_short():
    """A fit in a cell's last line tells what it is."""
    fit = Fit(np.ones((3, 2)), 1 / 3, (1.0, 2.0), True)
    assert repr(fit) == (
        "Fit(w=(3, 2), error=0.333333, trace=(1.0, 2.0), "
        "converged=True, inner=None)"
    )


def test_a_result_never_fills_a_page():
    """Neither a long trace nor results within results."""
    fit = Fit(np.ones(9), np.float64(1), tuple(np.arange(9.0)), True)
    assert "trace=(9 entries)" in repr(fit)
    for _ in range(9):
        fit = Fit(np.ones(9), 1.0, (), True, fit)
    assert len(repr(fit)) < 400


def test_a_result_pickles():
    """As scikit-learn's tools ask of what they hold."""
    fit = pickle.loads(pickle.dumps(Fit(np.ones(3), 1.0, (), True)))
    assert fit.w.shape == (3,)


@dataclass(frozen=True, eq=False)
class More(Fit):
    """What was fitted, and

    steps          how many

    It took them one by one.
    """

    steps: int = 0


def test_inherited_fields_are_explained_as_well():
    """help() of a subclass has the lines of its base, then its own."""
    head, fields, rest = inspect.getdoc(More).split("\n\n")
    assert (head, rest) == ("What was fitted, and", "It took them one by one.")
    names = [line.split()[0] for line in fields.splitlines()]
    assert names == [field.name for field in dataclasses.fields(More)]
