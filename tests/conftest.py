"""Fixtures shared by all tests."""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# the same examples on every machine, however slow it is
settings.register_profile(
    "book",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("book")


@pytest.fixture
def rng():
    """One source of randomness, seeded, per test."""
    return np.random.default_rng(7)
