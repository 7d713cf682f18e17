"""Fixtures shared by all tests."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """One source of randomness, seeded, per test."""
    return np.random.default_rng(7)
