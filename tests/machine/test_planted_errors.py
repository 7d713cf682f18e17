"""The diagnosis calls learners' errors by their names, and no other."""

import numpy as np
import planted_errors as bank
import pytest

from prml4 import check


def attempt(case):
    """The verdict and the diagnosis, in lower case."""
    found = check.attempt(
        "planted-error",
        case.yours,
        case.right,
        case.at,
        terms=case.terms,
        elsewhere=case.elsewhere,
    )
    return found.verdict, str(found.diagnosis).lower()


def says(text, words):
    """Whether one of the words is in the text."""
    return any(word in text for word in words)


def called(case):
    """Whether the diagnosis of an error uses the expected words."""
    verdict, text = attempt(case)
    named = says(text, case.expected) and says(text, case.also or ("",))
    return verdict == "not yet" and named


def parts(kind):
    """The cases of a kind as parameters with readable ids."""
    return [pytest.param(case, id=case.name) for case in kind]


def test_the_bank_is_large_and_without_repetition():
    """Sixty errors, fifteen right answers, six stubs, each named once."""
    sizes = [len(k) for k in (bank.PLANTED, bank.RIGHT, bank.STUBS)]
    assert np.all(np.array(sizes) >= [60, 15, 6])
    names = [case.name for case in bank.PLANTED]
    assert len(set(names)) == len(names)


def test_nine_in_ten_errors_are_called_by_their_names():
    """Of the errors that have a name."""
    missed = [c for c in bank.PLANTED if not called(c)]
    for case in missed:
        print(case.name, case.expected[0], *case.also[:1], attempt(case))
    assert len(missed) <= len(bank.PLANTED) / 10


KINDS = {kind: words for kind, (_, words) in bank.OPERATORS.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_error_goes_unnamed(kind):
    """Most errors of each kind are called by its name, few as they may be."""
    mine = [c for c in bank.PLANTED if KINDS[kind] in (c.expected, c.also)]
    assert sum(map(called, mine)) > len(mine) / 2 > 0


@pytest.mark.parametrize("case", parts(bank.UNNAMEABLE))
def test_an_error_of_no_kind_is_given_no_name(case):
    """It is wrong, and that is all that is said."""
    verdict, text = attempt(case)
    assert verdict == "not yet"
    false = [w for w in bank.NOT_NAMED if w in text]
    assert [w for w in false if w not in case.allowed] == []


@pytest.mark.parametrize("case", parts(bank.RIGHT))
def test_a_right_answer_written_otherwise_is_right(case):
    """However it was computed."""
    verdict, text = attempt(case)
    assert verdict == "right", text
    assert not says(text, bank.NOT_NAMED)


@pytest.mark.parametrize("case", parts(bank.STUBS))
def test_a_stub_is_not_attempted(case):
    """It is no error to have not begun."""
    assert attempt(case)[0] == "not attempted"
