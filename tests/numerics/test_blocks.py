"""numerics.blocks: every row once, whatever the size of a block."""

import numpy as np
import pytest

from prml4.numerics import blocks, special

SIZES = [1, 8 * 3 * 4, 8 * 3 * 4 + 23, 2**19]  # 1, 4, 4 and all of 21 rows


@pytest.mark.parametrize("size", SIZES)
def test_blocks_of_rows_are_the_matrix(rng, monkeypatch, size):
    """Consecutive, none empty, none larger than asked for but single rows."""
    monkeypatch.setattr(blocks, "SIZE", size)
    X, known = rng.standard_normal((21, 3)), rng.random((21, 3)) < 0.5
    parts = []
    for rows, x, m in blocks.rows(X):
        assert m is None and np.shares_memory(x, X)
        np.testing.assert_array_equal(x, X[rows])
        parts.append(x)
    np.testing.assert_array_equal(np.concatenate(parts), X)
    largest = max(size // 24, 1)
    assert all(1 <= len(x) <= largest for x in parts)
    assert len(parts) == -(-21 // largest)
    gaps = np.where(known, X, np.nan)
    for rows, x, m in blocks.rows(gaps, known):
        np.testing.assert_array_equal(m, known[rows])
        np.testing.assert_array_equal(x, np.where(known, X, 0)[rows])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_blocks_by_class_are_copies_of_the_rows(rng, monkeypatch, size, layout):
    """Each row once, with its number and class; writing to it is harmless."""
    monkeypatch.setattr(blocks, "SIZE", size)
    X, t = rng.standard_normal((21, 3)), rng.integers(0, 3, 21)
    before, seen = X.copy(), []
    if layout == "strided":
        X = np.repeat(X, 2, axis=1)[:, ::2]
    X = np.asarray(X, order="F") if layout == "F" else X
    for k, rows, x in blocks.by_class(X, t, 3):
        np.testing.assert_array_equal(x, before[rows])
        assert (t[rows] == k).all() and 1 <= len(rows) <= max(size // 24, 1)
        seen.extend(rows)
        x *= 2
    assert sorted(seen) == list(range(21)) and (np.diff(t[seen]) >= 0).all()
    np.testing.assert_array_equal(X, before)


def test_softmax_in_place_is_the_softmax(rng):
    """Over the first axis; large numbers and -inf do no harm."""
    a = rng.standard_normal((4, 7)) * 1000
    a[2, 3] = -np.inf
    expected = special.softmax(a, axis=0)
    found = blocks.softmax(a)
    assert found is a
    np.testing.assert_allclose(found, expected, rtol=1e-12)
