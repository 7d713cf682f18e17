"""The stored maps are what the code computes."""

import json

import numpy as np
import pytest
from support import digit_maps

from prml4 import gp_ep, gp_laplace
from prml4.models.likelihoods import PROBIT
from prml4.studies import gp_truth

# a few draws say that they are too few
SHORT = pytest.mark.filterwarnings(
    "ignore::prml4.numerics.sampling.TooFewDraws"
)


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
@pytest.mark.parametrize("at", [(0, 0), (12, 8), (24, 18)])
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


def test_the_density_of_a_new_value_averages_the_likelihood(rng):
    """Its average of the likelihood is what gp_truth predicts."""
    C, c_star, F = (
        np.eye(2) + 0.5,
        np.array([[0.9], [0.2]]),
        rng.normal(size=(3, 2)),
    )
    at = np.linspace(-9, 9, 1801)
    p = digit_maps.latent_density(F, at, C, c_star, 1.5)
    mean = 0.01 * p @ np.exp(PROBIT.log_p(at, np.ones(1801), 0)[0])
    ahead = gp_truth.predictions(F, C, c_star, np.array([1.5]), PROBIT)
    np.testing.assert_allclose(mean, ahead[:, 0], rtol=1e-9)


def test_the_truth_of_two_latent_values_is_an_arcsine(rng):
    """Draws of EP, weighed, against the probability of an orthant."""
    C = np.array([[4.0, 3], [3, 4]])
    t = np.array([1.0, 0])
    value, error, mean, _ = digit_maps.truth(C, t, PROBIT, rng, 20000)
    exact = np.log(0.25 - np.arcsin(0.6) / (2 * np.pi))
    assert error < 0.005 and abs(value - exact) < 5 * error
    assert abs(mean[0] + mean[1]) < 0.05 and abs(mean[0] - 0.604) < 0.05


def test_the_truth_does_not_need_an_inverse(rng):
    """A point twice: the same truth as a point whose label counts twice."""
    C = np.full((2, 2), 4.0)
    value, error, mean, _ = digit_maps.truth(C, np.ones(2), PROBIT, rng, 20000)
    exact = np.log(0.25 + np.arcsin(0.8) / (2 * np.pi))
    assert abs(value - exact) < 5 * error
    np.testing.assert_allclose(mean[0], mean[1])


@SHORT
def test_a_few_draws_agree_with_the_stored_truth(rng, monkeypatch):
    """What made the file, run briefly."""
    monkeypatch.setattr(digit_maps, "CHUNK", 1000)
    value, error = digit_maps.true_evidence([0.0, 1.0], rng, 2000)
    kept, its_error = digit_maps.load()["truth"][0]
    assert abs(value - kept) < 5 * np.hypot(error, its_error)
    p, _ = digit_maps.true_predictions(digit_maps.WIDE, rng, 2000)
    assert np.abs(p - digit_maps.load()["predictions"][0]).mean() < 0.05


@SHORT
def test_the_file_holds_all_that_is_computed(monkeypatch):
    """Names and shapes of `compute`, with its work left out."""
    monkeypatch.setattr(digit_maps, "HEIGHTS", np.array([0.0]))
    monkeypatch.setattr(digit_maps, "LENGTHS", np.array([1.0, 2.0]))
    monkeypatch.setattr(digit_maps, "PATH", (0.0,))
    monkeypatch.setattr(digit_maps, "SETTINGS", digit_maps.SETTINGS[:1])
    monkeypatch.setattr(digit_maps, "CHUNK", 50)
    found = digit_maps.compute(draws=50)
    assert found["ep"].shape == (2, 1, 2)
    assert found["truth"].shape == (1, 2)
    assert found["predictions"].shape == (2, 182)
    assert found["tumours"].shape == (1, 6)
    text = digit_maps.RESULTS.read_text(encoding="utf-8")
    assert set(json.loads(text)) == set(found)


def test_a_student_finds_the_evidence_that_is_stored():
    """For draws that no squared weight spoils: within three standard errors."""
    dice = np.random.default_rng(3)
    found = digit_maps.by_student(digit_maps.SETTINGS[0], dice, draws=4000)
    growth, log_Z, error = found
    stored, around = digit_maps.load()["tumours"][0, :2]
    assert growth > 0 and error < 0.1
    assert abs(log_Z - stored) < 3 * np.hypot(error, around)
