"""support.selection: worlds with known truth, and how often it is found."""

import json

import numpy as np
import pytest
from scipy import special
from support import selection

from prml4 import evidence


@pytest.mark.parametrize("name", list(selection.WORLDS))
def test_worlds_are_what_they_say(rng, name):
    """Nested designs; the frequency of t = 1 where the log odds are known."""
    designs, t = selection.WORLDS[name](rng, 20000)
    for small, large in zip(designs, designs[1:], strict=False):
        np.testing.assert_array_equal(small, large[:, :-1])
        assert large.shape[1] == small.shape[1] + 1
    assert np.all(designs[0] == 1)
    x = designs[-1][:, 1]
    odds = {
        "inside": 0.2 + 0.6 * x,
        "outside": 2 * x**2 - 2,
        "kink": 6 * np.abs(x) - 3,
    }[name]
    y = special.expit(odds)
    error = np.sqrt(np.sum(y * (1 - y)))
    for part in (x > 0.3, np.abs(x) > 0.5, x < 10):
        assert abs(np.sum((t - y)[part])) < 5 * error


def test_counts_are_reproducible_and_complete():
    """The same seed, the same counts; every draw is counted thrice."""
    counts = selection.chosen("inside", 50, 3, repeats=10)
    assert counts.shape == (3, 3)
    np.testing.assert_array_equal(counts.sum(axis=1), [10, 10, 10])
    again = selection.chosen("inside", 50, 3, repeats=10)
    np.testing.assert_array_equal(counts, again)
    other = selection.chosen("inside", 50, 4, repeats=10)
    assert np.any(counts != other)


def test_rows_of_the_counts_are_bic_aic_evidence():
    """Recounted by hand from the same draws."""
    counts = selection.chosen("inside", 60, 1, repeats=8)
    rng = np.random.default_rng([14, 0, 60, 1])
    hand = np.zeros((3, 3), int)
    for _ in range(8):
        designs, t = selection.inside(rng, 60)
        s = evidence.compare(designs, t, alpha=0.25)
        for row, score in enumerate((s.bic, s.aic, s.log_evidence)):
            hand[row, np.argmax(score)] += 1
    np.testing.assert_array_equal(counts, hand)


def test_precomputed_counts_are_complete():
    """Every batch has 100 draws; the file is small."""
    found = selection.experiments()
    assert list(found) == list(selection.WORLDS)
    for sizes in found.values():
        for batches in sizes.values():
            assert np.all(np.sum(batches, axis=2) == 100)
    assert selection.RESULTS.stat().st_size < 100_000
    json.dumps(found)


def test_one_precomputed_batch_is_recomputed():
    """The committed data are what the code gives."""
    stored = selection.experiments()["outside"]["100"][2]
    np.testing.assert_array_equal(selection.chosen("outside", 100, 2), stored)


def test_unknown_worlds_are_named():
    """The message lists those there are."""
    with pytest.raises(ValueError, match="inside.*got 'beyond'"):
        selection.chosen("beyond", 20, 0)


@pytest.mark.parametrize(("N", "repeats"), [(1, 5), (0, 5), (20, 0)])
def test_draws_that_cannot_be_are_refused(N, repeats):
    """One row never holds both classes: no endless loop."""
    with pytest.raises(ValueError, match="N must be >= 2"):
        selection.chosen("inside", N, 0, repeats=repeats)
