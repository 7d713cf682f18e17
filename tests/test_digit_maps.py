"""The stored maps are what the code computes."""

import json

import numpy as np
import pytest

from prml4 import digit_maps, gp_ep, gp_laplace


def test_problem_splits_the_pair_of_digits():
    """365 images, every other one to learn from."""
    X, t, X_star, t_star = digit_maps.problem()
    assert X.shape == (183, 64) and X_star.shape == (182, 64)
    assert X.max() == 1.0 and X.min() == 0.0
    assert t.sum() + t_star.sum() == 182
    assert set(t) == {0.0, 1.0}


def test_information_is_in_bits():
    """A coin says nothing; certainty that is right says one bit."""
    t = np.array([0, 1, 1])
    assert digit_maps.information(np.full(3, 0.5), t) == 0.0
    assert digit_maps.information(np.array([0.0, 1, 1]), t) == 1.0
    wrong = digit_maps.information(np.array([0.5, 0.25, 0.5]), t)
    assert wrong == pytest.approx(-1 / 3)


@pytest.mark.parametrize("method", [gp_laplace, gp_ep])
@pytest.mark.parametrize("at", [(0, 0), (6, 4), (12, 9)])
def test_stored_maps_can_be_recomputed(method, at):
    """Three places of each map."""
    stored = digit_maps.load()
    name = method.__name__.removeprefix("prml4.gp_")
    i, j = at
    theta = [2 * digit_maps.HEIGHTS[i], digit_maps.LENGTHS[j]]
    found = digit_maps.judge(method, theta)
    np.testing.assert_allclose(stored[name][:, i, j], found, rtol=1e-5)


def test_stored_truths_have_errors():
    """Values and standard errors, in the shapes that are drawn."""
    stored = digit_maps.load()
    assert stored["truth"].shape == (len(digit_maps.PATH), 2)
    assert np.all(stored["truth"][:, 1] > 0)
    p, error = stored["predictions"]
    assert p.shape == (182,) and np.all((p >= 0) & (p <= 1))
    assert error.max() < 0.03


def test_short_chains_agree_with_the_stored_truth(rng):
    """The sampler that made the file, run briefly."""
    value, error = digit_maps.true_evidence([0.0, 1.0], rng, 400)
    kept, its_error = digit_maps.load()["truth"][0]
    assert abs(value - kept) < 5 * np.hypot(error, its_error)
    p, _ = digit_maps.true_predictions(digit_maps.WIDE, rng, 100)
    assert np.abs(p - digit_maps.load()["predictions"][0]).mean() < 0.08


def test_the_file_holds_all_that_is_computed(monkeypatch):
    """Names and shapes of `compute`, with its work left out."""
    monkeypatch.setattr(digit_maps, "HEIGHTS", np.array([0.0]))
    monkeypatch.setattr(digit_maps, "LENGTHS", np.array([1.0, 2.0]))
    monkeypatch.setattr(digit_maps, "PATH", (0.0,))
    monkeypatch.setattr(
        digit_maps.gp_truth, "stepping_stones", lambda *_: (-40.0, 0.2)
    )
    found = digit_maps.compute(draws=3)
    assert found["ep"].shape == (2, 1, 2)
    assert found["truth"].shape == (1, 2)
    assert found["predictions"].shape == (2, 182)
    text = digit_maps.RESULTS.read_text(encoding="utf-8")
    assert set(json.loads(text)) == set(found)
