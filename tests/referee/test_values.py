"""Columns, matrices and numbers fit together, or they are refused."""

import numpy as np
import pytest

from prml4.referee import values as v

x = v.column(np.array([1.0, -2.0, 0.5]))
A = np.arange(9.0).reshape(3, 3) + np.eye(3)


def test_columns_come_back_as_they_went_in():
    """column and plain are inverse; one by one is a number."""
    assert np.array_equal(v.plain(x), [1.0, -2.0, 0.5])
    assert v.column(np.array([[3.0]])) == 3.0


def test_the_identity_takes_the_size_that_fits():
    """A + 2 I, I x, and 0 for whatever is missing."""
    two = v.mul(2.0, v.Eye())
    assert np.array_equal(v.add(A, two), A + 2 * np.eye(3))
    assert np.array_equal(v.mul(v.Eye(), x), x)
    assert np.array_equal(v.add(v.Zero(), x), x)
    assert isinstance(v.mul(v.Zero(), A), v.Zero)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: v.add(x, x.T),
        lambda: v.add(x, 1.0),
        lambda: v.mul(x, x),
        lambda: v.mul(1.0, A, "/"),
        lambda: v.mul(A, x, r"\odot"),
        lambda: v.mul(v.Eye(), A, r"\otimes"),
        lambda: v.mul(A, v.Eye(), r"\odot"),
        lambda: v.power(x, 2),
        lambda: v.power(2.0, x),
        lambda: v.gauss(x, x, np.eye(2)),
        lambda: v.column(np.zeros((2, 2, 2))),
        lambda: v.BUILTIN["ln"](x),
        lambda: v.BUILTIN["tr"](x),
        lambda: v.add(np.ones((2, 3)), v.Eye()),
    ],
)
def test_what_does_not_fit_is_refused(wrong):
    """Nothing is broadcast."""
    with pytest.raises(v.Mismatch):
        wrong()


def test_bars_are_size_length_or_determinant():
    """|c|, |x| and |A|."""
    assert v.absolute(-2.0) == 2.0
    assert np.isclose(v.absolute(x), np.linalg.norm(x))
    assert np.isclose(v.absolute(A), np.linalg.det(A))


def test_the_normal_density():
    """Of scipy, in one dimension and in three."""
    from scipy import stats

    assert np.isclose(v.gauss(0.3, -1.0, 2.0), stats.norm(-1, 2**0.5).pdf(0.3))
    S = np.diag([1.0, 2.0, 3.0])
    expected = stats.multivariate_normal(np.zeros(3), S).pdf(v.plain(x))
    assert np.isclose(v.gauss(x, v.Zero(), S), expected)


def test_zero_times_infinity_is_zero():
    """As at the ends of an integral."""
    assert v.mul(0.0, np.inf) == 0.0


def test_a_law_has_a_value_for_every_weight():
    """Three weights, two values."""
    with pytest.raises(ValueError, match=r"\(3,\) weights, \(2,\) values x"):
        v.law([0.2, 0.3, 0.5], x=[1.0, 2.0])
