"""The small derivatives and integrals know their own error."""

import numpy as np
import pytest
from scipy import special

from prml4.referee import calculus
from prml4.referee.tex import Mismatch

INF = np.inf


@pytest.mark.parametrize(
    ("f", "x", "truth"),
    [
        (np.exp, 1.3, np.exp(1.3)),
        (np.log, 0.01, 100.0),
        (np.sin, 0.0, 1.0),
        (special.expit, -4.0, special.expit(-4) * special.expit(4)),
        (lambda x: x**3, 200.0, 3 * 200.0**2),
    ],
)
def test_slopes_are_as_good_as_they_say(f, x, truth):
    """Eleven digits, and an error that is no smaller than the truth's."""
    value, error = calculus.slope(f, x)
    assert abs(value - truth) <= 10 * error <= 1e-8 * abs(truth)


def test_a_kink_is_seen():
    """|x| at zero has no slope: steps of 0.07 + |x| do not settle."""
    _, error = calculus.slope(lambda x: abs(x - 0.003), 0.0)
    assert error > 1e-3


def test_steps_as_long_as_a_period_settle_nothing():
    """The slope of x^2 + sin 2 pi x at 10 was 20, to the last digit."""

    def wave(x):
        return x * x + np.sin(2 * np.pi * x)

    for x in (10.0, 20.0, 30.3, 100.0):
        value, error = calculus.slope(wave, x)
        truth = 2 * x + 2 * np.pi * np.cos(2 * np.pi * x)
        assert abs(value - truth) <= 10 * error + 1e-12 * truth
        assert error < 1e-8 or x == 100  # where no step is short enough
    value, error = calculus.slope(lambda x: 0.7 * x + np.cos(0.844 * x), 151.1)
    truth = 0.7 - 0.844 * np.sin(0.844 * 151.1)
    assert abs(value - truth) <= 10 * error < 1e-8


@pytest.mark.parametrize("f", [abs, lambda x: max(0.0, x)])
def test_a_kink_in_the_middle_is_seen(f):
    """Central differences agree there: |x| had the slope 0, and no error."""
    assert calculus.slope(f, 0.0)[1] >= 1
    assert calculus.slope(lambda x: x * f(x), 0.0)[1] < 1e-3


def test_the_shapes_of_gradients():
    """Of a number a column, of a column a Jacobian; matrices stay."""
    A = np.array([[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]])
    x = np.array([0.3, -0.4])
    jacobian, _ = calculus.gradient(lambda x: (A @ x)[:, None], x)
    assert np.allclose(jacobian, A)
    slope, _ = calculus.gradient(lambda x: float(x @ x), x)
    assert np.allclose(slope, 2 * x[:, None])
    of_matrix, _ = calculus.gradient(lambda B: float(np.sum(B**2)), A)
    assert np.allclose(of_matrix, 2 * A)


def test_what_lies_beyond_the_last_nodes_is_an_error():
    """2e-7 of Cauchy's mass was refused, 2% of x^-1.1 was taken for nothing."""
    for f, ends, truth, most in (
        (lambda x: 1 / (1 + x * x), (-INF, INF), np.pi, 1e-5),
        (lambda x: x**-1.1, (1.0, INF), 10.0, np.inf),
    ):
        value, error = calculus.integral(lambda x, f=f: f(x[0]), ends, 1)
        assert abs(value - truth) <= 2 * error < most
    value, error = calculus.integral(
        lambda x: 1 / (x[0] * np.log(x[0] / 2) ** 2), (0.0, 1.0), 1
    )
    assert abs(value - 1 / np.log(2)) <= 2 * error < 0.1


@pytest.mark.parametrize(
    ("f", "ends"),
    [
        (lambda x: 1 / x, (1.0, INF)),
        (lambda x: 1 / x, (0.0, 1.0)),
        (np.sin, (0.0, INF)),
        (lambda x: np.exp(-(((x - 3) / 1e-3) ** 2)), (-1e3, 1e3)),  # was 0
        (lambda x: np.exp(-((x - 300) ** 2)), (-INF, INF)),
    ],
)
def test_what_diverges_or_is_seen_by_one_node_has_no_value(f, ends):
    """A peak between the nodes was worth nothing, known to 2e-16."""
    with pytest.raises(Mismatch, match="diverges, or has a peak"):
        calculus.integral(lambda x: f(x[0]), ends, 1)


@pytest.mark.parametrize("ends", [(-1.0, 1.0), (-INF, INF)])
def test_where_an_integrand_has_no_value_is_an_error(ends):
    """Roots of negative numbers counted as nothing, and the rest passed."""
    with np.errstate(all="ignore"):
        value, error = calculus.integral(
            lambda x: np.sqrt(x[0]) * np.exp(-x[0]), ends, 1
        )
    assert error > 7e-4 * value


@pytest.mark.parametrize(
    ("f", "ends", "truth"),
    [
        (lambda x: np.exp(-(x**2) / 2), (-INF, INF), np.sqrt(2 * np.pi)),
        (lambda x: np.exp(-x), (0.0, INF), 1.0),
        (lambda x: np.exp(x), (-INF, 1.0), np.e),
        (lambda x: x**3, (1.0, 3.0), 20.0),
        (lambda x: np.sqrt(x), (0.0, 1.0), 2 / 3),
    ],
)
def test_integrals_are_as_good_as_they_say(f, ends, truth):
    """On the line, on half of it, on an interval."""
    value, error = calculus.integral(lambda x: f(x[0]), ends, 1)
    assert abs(value - truth) <= 10 * error + 1e-12
    assert error < 1e-6


@pytest.mark.parametrize(
    ("f", "ends", "truth"),
    [
        (lambda x: abs(x) * np.exp(-(x**2) / 2), (-INF, INF), 2.0),
        (lambda x: np.exp(-abs(x - 0.7) / 2), (-INF, INF), 4.0),
        (lambda x: abs(x - 0.3), (0.0, 1.0), 0.29),
        (lambda x: 1 - abs(x), (-1.0, 1.0), 1.0),
        (lambda x: max(0.0, 1 - x) * np.exp(-x), (0.0, INF), np.exp(-1)),
    ],
)
def test_a_kink_is_no_reason_to_trust_the_rule_too_much(f, ends, truth):
    """E|x| was refused, twenty times further off than its error said."""
    value, error = calculus.integral(lambda x: f(x[0]), ends, 1)
    assert abs(value - truth) <= 5 * error < 1e-3


def test_an_integral_over_the_plane():
    """Of a density that is not centred."""
    S = np.linalg.inv([[1.0, 0.3], [0.3, 0.8]])
    m = np.array([0.4, -0.7])
    scale = np.sqrt(np.linalg.det(S)) / (2 * np.pi)
    value, error = calculus.integral(
        lambda x: scale * np.exp(-(x - m) @ S @ (x - m) / 2), (-INF, INF), 2
    )
    assert abs(value - 1) <= 10 * error <= 1e-4


@pytest.mark.parametrize("k", [0, 8])
def test_a_zero_is_small_to_the_slopes_nearby(k):
    """(w - 1)^2 10^k rises by a tenth of its curvature."""
    found = calculus.steepness(lambda w: 10.0**k * (w[0] - 1) ** 2, [1.0])
    assert found == pytest.approx(10.0 ** (k - 1))
