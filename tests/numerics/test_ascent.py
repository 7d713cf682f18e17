"""numerics.ascent: the pieces; whole ascents are those of evidences."""

import numpy as np
import pytest

from prml4.numerics import ascent


def test_a_paraboloid_is_climbed_in_a_few_steps():
    """Against its summit; every trial counts, the trace rises."""
    A, top = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([0.7, -1.2])

    def hill(x):
        g = -A @ (x - top)
        return float((x - top) @ g / 2), g

    found = ascent.ascend(hill, np.zeros(2), 1e-9, 100)
    assert found.converged and found.evaluations < 30
    np.testing.assert_allclose(found.x, top, atol=1e-8)
    assert np.all(np.diff(found.trace) > 0)
    np.testing.assert_array_equal(found.path[[0, -1]], [[0, 0], found.x])
    short = ascent.ascend(hill, np.zeros(2), 1e-9, 1)
    assert not short.converged and len(short.trace) == 2
    with pytest.raises(ValueError, match="the start must have a value"):
        ascent.ascend(lambda x: (np.nan, x), np.zeros(2), 1e-9, 1)


def test_update_meets_the_secant_condition(rng):
    """B y = s, symmetric, and s^T y / y^T y elsewhere after the first step."""
    A = rng.standard_normal((4, 4))
    B, s, y = A @ A.T, np.array([1.0, 2, 0, 0]), np.array([3.0, 1, 0, 0])
    for first in (False, True):
        new = ascent.updated(B, s, y, first=first)
        np.testing.assert_allclose(new @ y, s, atol=1e-12)
        np.testing.assert_allclose(new, new.T)
        other = np.array([0.0, 0, 1, 0]) if first else np.zeros(4)
        np.testing.assert_allclose(new @ other, 0.5 * other)
    V = np.eye(4) - np.outer(s, y) / (s @ y)
    want = V @ B @ V.T + np.outer(s, s) / (s @ y)
    np.testing.assert_allclose(ascent.updated(B, s, y, first=False), want)
    assert ascent.updated(B, s, -y, first=True) is B
    assert ascent.updated(B, s, 0 * y, first=False) is B


def test_search_gives_up_and_counts():
    """Nothing better: length 0, 25 trials; the first trial is a full step."""
    tried = []

    def cliff(theta):
        tried.append(theta[0])
        return (-np.inf, theta)

    length, value, _, count = ascent.search(
        cliff, np.zeros(1), np.ones(1), 2.0, np.ones(1)
    )
    assert (length, value, count) == (0.0, 2.0, 25)
    np.testing.assert_allclose(tried, 0.5 ** np.arange(25))
