"""Every estimate of referee.estimate covers the truth, nasty cases included."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from prml4.referee import estimate

INF = np.inf


def normal(x, m=0.0, s=1.0):
    return np.exp(-(((x - m) / s) ** 2) / 2) / (s * math.sqrt(2 * math.pi))


def sech2(x):
    return 1 / np.cosh(x) ** 2


def plain_sum(x):
    """A thousand terms added one by one: its rounding exceeds eps |f|."""
    return sum((x - k * 1e-3) ** 2 for k in range(1000))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# f, f', f'', x
SMOOTH = [
    (np.sin, np.cos, lambda x: -np.sin(x), 1.0),
    (np.sin, np.cos, lambda x: -np.sin(x), 0.0),
    (np.sin, np.cos, lambda x: -np.sin(x), 1e3),
    (np.exp, np.exp, np.exp, 3.0),
    (np.exp, np.exp, np.exp, -40.0),
    (np.exp, np.exp, np.exp, 600.0),
    (np.log, lambda x: 1 / x, lambda x: -1 / x**2, 0.9),
    (np.log, lambda x: 1 / x, lambda x: -1 / x**2, 1e-3),
    (np.log, lambda x: 1 / x, lambda x: -1 / x**2, 1e6),
    (np.log1p, lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2, -0.9),
    (np.sqrt, lambda x: 0.5 / np.sqrt(x), lambda x: -0.25 * x**-1.5, 2.0),
    (np.sqrt, lambda x: 0.5 / np.sqrt(x), lambda x: -0.25 * x**-1.5, 1e-4),
    (np.tanh, sech2, lambda x: -2 * np.tanh(x) * sech2(x), 0.3),
    (np.tanh, sech2, lambda x: -2 * np.tanh(x) * sech2(x), 20.0),
    (np.arctan, lambda x: 1 / (1 + x * x),
     lambda x: -2 * x / (1 + x * x) ** 2, 5.0),
    (np.cosh, np.sinh, np.cosh, -2.0),
    (lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3, 1e-3),
    (lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3, -7.0),
    (lambda x: x**2, lambda x: 2 * x, lambda x: 2.0, 1e6),
    (lambda x: x**9, lambda x: 9 * x**8, lambda x: 72 * x**7, 1.1),
    (lambda x: x**3, lambda x: 3 * x**2, lambda x: 6 * x, 0.0),
    (lambda x: 5.0 + 0 * x, lambda x: 0.0, lambda x: 0.0, 2.0),
    (lambda x: 3 * x - 1, lambda x: 3.0, lambda x: 0.0, 0.7),
    (lambda x: 1e8 + np.sin(x), np.cos, lambda x: -np.sin(x), 1.0),
    (lambda x: 1e-300 * x**3, lambda x: 3e-300 * x**2,
     lambda x: 6e-300 * x, 2.0),
    (lambda x: np.sin(x / 1e-8), lambda x: 1e8 * np.cos(x / 1e-8),
     lambda x: -1e16 * np.sin(x / 1e-8), 1e-8),
    (lambda x: np.sin(2 * np.pi * x),
     lambda x: 2 * np.pi * np.cos(2 * np.pi * x),
     lambda x: -4 * np.pi**2 * np.sin(2 * np.pi * x), 8.0),
    (lambda x: np.sin(x) * 1e6, lambda x: 1e6 * np.cos(x),
     lambda x: -1e6 * np.sin(x), 2.5),
    (lambda x: np.exp(-x * x / 2), lambda x: -x * np.exp(-x * x / 2),
     lambda x: (x * x - 1) * np.exp(-x * x / 2), 6.0),
    (lambda x: np.log1p(np.exp(x)), sigmoid,
     lambda x: sigmoid(x) * sigmoid(-x), -30.0),
    (lambda x: np.log1p(np.exp(x)), sigmoid,
     lambda x: sigmoid(x) * sigmoid(-x), 0.4),
    (sigmoid, lambda x: sigmoid(x) * sigmoid(-x),
     lambda x: sigmoid(x) * sigmoid(-x) * (1 - 2 * sigmoid(x)), 2.0),
    (special.ndtr, normal, lambda x: -x * normal(x), 1.3),
    (special.gammaln, special.psi, lambda x: special.polygamma(1, x), 4.5),
    (special.erf, lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x),
     lambda x: -4 * x / np.sqrt(np.pi) * np.exp(-x * x), 0.1),
    (plain_sum, lambda x: 2000 * x - 999.0, lambda x: 2000.0, 0.3),
    (lambda x: np.cos(x) ** 2 + np.sin(x) ** 2, lambda x: 0.0,
     lambda x: 0.0, 0.8),
    (lambda x: (x - 1) ** 2, lambda x: 2 * (x - 1), lambda x: 2.0, 1 + 1e-6),
    (lambda x: x * np.abs(x), lambda x: 2 * np.abs(x),
     lambda x: 2 * np.sign(x), 0.5),
    (lambda x: np.hypot(x, 1e-3), lambda x: x / np.hypot(x, 1e-3),
     lambda x: 1e-6 / np.hypot(x, 1e-3) ** 3, 2e-3),
]  # fmt: skip

# functions that jump, bend or wiggle too fast: (f, f', x); f' may not exist
NASTY = [
    (np.sin, np.cos, 1e6),
    (np.sin, np.cos, 1e8),
    (lambda x: np.abs(x), None, 0.0),
    (lambda x: np.maximum(x, 0), None, 0.0),
    (lambda x: np.abs(x - 0.5), np.sign, 0.5 + 1e-9),
    (lambda x: np.abs(x - 0.5) + 3 * x, None, 0.5),
    (lambda x: np.sqrt(np.abs(x)), None, 0.0),
    (lambda x: np.cbrt(x), None, 0.0),
    (lambda x: np.floor(x), None, 1.0),
    (lambda x: np.sign(x), None, 0.0),
    (lambda x: np.where(x > 1, x, x**2), None, 1.0),
]


@pytest.mark.parametrize("case", range(len(SMOOTH)))
def test_derivative_lies_within_its_error(case):
    """|f' - estimate| <= error, and the error is small enough to be of use."""
    f, f1, _, x = SMOOTH[case]
    value, error = estimate.derivative(f, x)
    assert abs(value - f1(x)) <= error
    size = abs(f1(x)) + abs(f(x)) or 1.0
    assert error <= 1e-5 * size


@pytest.mark.parametrize("case", range(len(SMOOTH)))
def test_second_derivative_lies_within_its_error(case):
    """|f'' - estimate| <= error."""
    f, _, f2, x = SMOOTH[case]
    value, error = estimate.second_derivative(f, x)
    assert abs(value - f2(x)) <= error


@pytest.mark.parametrize("case", range(len(SMOOTH)))
def test_complex_step_lies_within_its_error(case):
    """Where f takes complex numbers correctly, the error is near eps."""
    f, f1, f2, x = SMOOTH[case]
    found, how = estimate.partials(f, x)
    assert abs(found.value - f1(x)) <= found.error
    if how == "complex step":
        size = max(abs(f1(x)), abs(x * f2(x)), abs(f(x)))
        assert found.error <= 1e-13 * size + 1e-280


def test_most_functions_take_the_complex_step():
    """It is the rule among the analytic ones, not the exception."""
    hows = [estimate.partials(f, x)[1] for f, _, _, x in SMOOTH]
    assert hows.count("complex step") >= 25


@pytest.mark.parametrize("case", range(len(NASTY)))
def test_kinks_jumps_and_wiggles_are_not_trusted(case):
    """Either the error covers the truth, or it is as large as the value."""
    f, f1, x = NASTY[case]
    value, error = estimate.derivative(f, x)
    if f1 is None:
        assert error >= 0.4
    else:
        assert abs(value - f1(x - 0.5 if f1 is np.sign else x)) <= error


def test_derivative_takes_arrays():
    """Each element has its own step: 1, e^30 and a constant side by side."""
    value, error = estimate.derivative(
        lambda x: np.array([x, np.exp(30 * x), 2.0 + 0 * x]), 1.0
    )
    truth = np.array([1, 30 * np.exp(30.0), 0])
    assert np.all(np.abs(value - truth) <= error)
    assert np.all(error <= 1e-6 * np.array([1, np.exp(30.0) * 30, 2]))


def test_v_curve_is_lowest_at_the_optimal_step():
    """h* minimises truncation + rounding, and real errors follow the curve."""
    x = 1.0
    best = estimate.optimal_step(np.sin(x), -np.cos(x))
    steps = np.logspace(-12, 0, 200)
    curve = estimate.difference_error(steps, np.sin(x), -np.cos(x))
    assert abs(np.log(steps[np.argmin(curve)] / best)) < 0.2
    errors = [
        abs(estimate.central_difference(np.sin, x, h) - np.cos(x))
        for h in steps
    ]
    assert np.all(np.array(errors) <= 4 * curve)
    assert 1e-6 < best < 1e-4


def test_complex_step_needs_no_optimal_step():
    """The smallest h is the best: nothing is subtracted."""
    assert estimate.complex_step(np.sin, 1.0) == np.cos(1.0)
    rough = estimate.complex_step(np.sin, 1.0, h=1e-3)
    assert abs(rough - np.cos(1.0) * (1 + 1e-6 / 6)) < 1e-12


def test_second_difference_and_jump_of_slope():
    """Exact for a parabola, and 2 at the tip of |x|."""
    assert estimate.second_difference(lambda x: 3 * x * x, 1.0, 0.5) == 6
    assert estimate.slope_jump(abs, 0.0, 1e-3) == 2


def test_partials_prefer_the_complex_step():
    """np.exp takes complex numbers, |x| takes them wrongly, erfc not at all."""
    x = np.array([0.3, -1.2])
    found, how = estimate.partials(lambda v: np.sum(np.exp(v)), x)
    assert how == "complex step"
    assert np.allclose(found.value, np.exp(x), rtol=1e-15)
    found, how = estimate.partials(lambda v: np.sum(np.abs(v) ** 3), x)
    assert how == "central differences"
    assert np.all(np.abs(found.value - 3 * x * np.abs(x)) <= found.error)
    _, how = estimate.partials(lambda v: math.fsum(v**2), x)
    assert how == "central differences"


def test_partials_of_arrays_have_the_indices_of_x_last():
    """f (2, 3) of X (2, 2): the complex step and differences alike."""
    A = np.arange(6.0).reshape(2, 3) + 1
    X = np.array([[0.2, -0.5], [1.5, 0.7]])
    want = np.zeros((2, 3, 2, 2))
    for i, j in np.ndindex(2, 3):
        want[i, j, i, 0] = A[0, j] * np.cos(X[i, 0])
        want[i, j, i, 1] = A[1, j] * np.cos(X[i, 1])
    for f, name in (
        (lambda X: np.sin(X) @ A, "complex step"),
        (lambda X: np.sin(np.asarray(X, float)) @ A, "central differences"),
    ):
        found, how = estimate.partials(f, X)
        assert how == name
        np.testing.assert_allclose(found.value, want, atol=1e-9)
        assert found.error.shape == want.shape


def test_the_complex_step_is_confirmed_within_both_errors():
    """Twice their sum, if every difference is good to a thousandth."""
    rough = estimate.Estimate(np.array([1000.0, 1.0]), np.array([0.1, 0.1]))
    exact = np.array([1000.39, 1.0])
    error = np.array([0.1, 0.1])
    assert estimate._confirmed(estimate.Estimate(exact, error), rough)
    assert not estimate._confirmed(
        estimate.Estimate(exact + [0.02, 0], error), rough
    )
    bad = rough._replace(error=np.array([0.1, 1.1]))
    assert not estimate._confirmed(estimate.Estimate(exact, error), bad)


def test_steps_know_the_largest_number():
    """The scale is max(1, |x|)."""
    assert estimate._reach(np.array([2.0, -30.0])) == 30
    assert estimate._reach(np.array([0.5, 0.1])) == 1


@pytest.mark.parametrize("side", [-1, 1])
def test_rounding_follows_the_steeper_side(side):
    """eps (|f| + reach |f'|), with |f'| from either side."""

    def ramp(s):
        return 1e3 * max(side * s - 0.1, 0.0)

    _, h0, noise = estimate._prepared(ramp, 0.0, None)
    assert h0 == 1 / np.e
    assert noise(0.5) / estimate.EPS == pytest.approx(400 + 800)


def test_complex_step_is_not_accepted_at_a_kink():
    """numpy's complex |x| has slope 0; differences do not confirm it."""
    found, how = estimate.partials(lambda v: np.abs(v).sum(), np.zeros(2))
    assert how == "central differences"
    assert np.all(found.error >= 1)


def test_second_partials_of_a_quadratic_form():
    """H of x^T A x is A + A^T, element by element."""
    A = np.array([[2.0, 1.0, 0.0], [3.0, -1.0, 5.0], [0.5, 0.0, 4.0]])
    found = estimate.second_partials(
        lambda x: x @ A @ x, np.array([1.0, -2.0, 0.5])
    )
    assert np.all(np.abs(found.value - A - A.T) <= found.error)
    assert np.max(found.error) < 1e-8


# f, box, integral
INTEGRALS = [
    (lambda x: x**2, [(0, 1)], 1 / 3),
    (np.exp, [(0, 1)], math.e - 1),
    (np.sin, [(0, math.pi)], 2.0),
    (lambda x: 1 / (1 + x * x), [(-INF, INF)], math.pi),
    (normal, [(-INF, INF)], 1.0),
    (lambda x: x * normal(x), [(-INF, INF)], 0.0),
    (lambda x: x**4 * normal(x), [(-INF, INF)], 3.0),
    (lambda x: normal(x, 40.0, 3.0), [(-INF, INF)], 1.0),
    (lambda x: normal(x, 0.3, 1e-3), [(0, 1)], 1.0),
    (lambda x: 1e-200 * normal(x), [(-INF, INF)], 1e-200),
    (lambda x: 1e8 + x, [(0, 1)], 1e8 + 0.5),
    (lambda x: np.exp(-x), [(0, INF)], 1.0),
    (lambda x: np.exp(x), [(-INF, 0)], 1.0),
    (lambda x: 1 / np.sqrt(x), [(0, 1)], 2.0),
    (np.log, [(0, 1)], -1.0),
    (np.abs, [(-1, 2)], 2.5),
    (lambda x: math.exp(-x * x), [(-INF, INF)], math.sqrt(math.pi)),
    (lambda x: np.cos(50 * x), [(0, 1)], math.sin(50) / 50),
    (lambda x: sigmoid(x) * normal(x), [(-INF, INF)], 0.5),
    (lambda x, y: x * y, [(0, 1), (0, 2)], 1.0),
    (lambda x, y: normal(x) * normal(y, x, 0.5), [(-INF, INF)] * 2, 1.0),
    (lambda x, y: normal(x, 3, 0.1) * normal(y, x, 0.05), [(-INF, INF)] * 2,
     1.0),
    (lambda x, y: x * y * normal(x) * normal(y, x, 0.5), [(-INF, INF)] * 2,
     1.0),
    (lambda x, y: np.exp(-x - y), [(0, INF), (0, 1)], 1 - math.exp(-1)),
    (lambda x, y: math.exp(-x * x - y * y), [(0, 1), (0, 1)],
     math.pi / 4 * math.erf(1) ** 2),
    (lambda x, y, z: x + y * z, [(0, 1), (0, 2), (0, 3)], 12.0),
    (lambda x, y, z: normal(x) * normal(y, x, 0.5) * normal(z, x),
     [(-INF, INF)] * 3, 1.0),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(INTEGRALS)))
def test_quadrature_lies_within_its_error(case):
    """|integral - estimate| <= error <= 1e-4 of the size."""
    f, box, truth = INTEGRALS[case]
    value, error = estimate.quadrature(f, box)
    assert abs(value - truth) <= error + 1e-15 * abs(truth)
    assert error <= 1e-4 * (abs(truth) or 1)


def test_odd_integrands_do_not_exhaust_the_quadrature():
    """Half of nothing is still nothing: the scale comes from |f|."""
    calls = []

    def odd(x):
        calls.append(x)
        return math.sin(x) * math.exp(-abs(x))

    value, error = estimate.quadrature(odd, [(-INF, INF)])
    assert abs(value) <= error < 1e-10
    assert len(calls) < 20_000


def test_an_overlooked_peak_is_not_trusted():
    """The fine pass misses what the rough pass saw, and the error says so."""
    value, error = estimate.quadrature(
        lambda x: normal(x, 0.3, 1e-3) + np.sin(14 * np.pi * x), [(0, 1)]
    )
    assert abs(value - 1) <= error


@pytest.mark.parametrize("kink", [0.001875913976973509, 0.5625, 0.37483])
def test_a_kink_that_hides_at_an_end_is_not_trusted(kink):
    """A part that ends just beyond a kink has no node on its far side."""
    value, error = estimate.quadrature(lambda x: abs(x - kink), [(-1.0, 1.0)])
    assert abs(value - 1 - kink**2) <= error + 1e-12
    assert error < 1e-4

    def laplace(x):
        return np.exp(-abs(x - 5.0949111708072525) / 0.054)

    value, error = estimate.quadrature(laplace, [(0.0, INF)])
    assert abs(value - 0.108) <= error < 1e-4


def test_quadrature_of_an_array_valued_function():
    """Moments 0, 1, 2 of a normal in one call."""
    value, error = estimate.quadrature(
        lambda x: np.array([1, x, x * x]) * normal(x, 2.0), [(-INF, INF)]
    )
    assert np.all(np.abs(value - [1, 2, 5]) <= error + 1e-13)


# f, to, limit
LIMITS = [
    (lambda h: math.sin(h) / h, 0, 1.0),
    (lambda h: (1 - math.cos(h)) / h**2, 0, 0.5),
    (lambda h: math.expm1(h) / h, 0, 1.0),
    (lambda h: (math.exp(h) - 1 - h) / h**2, 0, 0.5),
    (lambda h: 2 + h**0.5, 0, 2.0),
    (lambda h: 2 + h ** (1 / 3) - h, 0, 2.0),
    (lambda h: 2 + h**0.5 + h + h**1.5, 0, 2.0),
    (lambda h: 1 + h**2.5, 0, 1.0),
    (lambda h: 1 / (1 + math.exp(-1 / h) if h > 1e-3 else 1.0), 0, 1.0),
    (lambda h: h**h, 0, 1.0),
    (lambda h: 3 + 1e-3 * math.log(h) * h, 0, 3.0),
    (lambda N: (1 + 1 / N) ** N, INF, math.e),
    (lambda N: N * math.log1p(2 / N), INF, 2.0),
    (lambda N: 1 + 1 / math.sqrt(N), INF, 1.0),
    (lambda N: math.tanh(N), INF, 1.0),
    (lambda N: (N + 1) / (2 * N - 1), INF, 0.5),
    (lambda N: special.gammaln(N + 1) - (N + 0.5) * math.log(N) + N, INF,
     0.5 * math.log(2 * math.pi)),
    (lambda x: (x**2 - 1) / (x - 1), 1, 2.0),
    (lambda x: math.log(x) / (x - 1), 1, 1.0),
    (lambda h: 1e-250 * math.sin(h) / h, 0, 1e-250),
    (lambda h: np.array([math.sin(h) / h, 5 + h]), 0, np.array([1.0, 5.0])),
    (lambda h: (math.sin(h) - h) / h**3, 0, -1 / 6),
    (lambda h: (math.exp(-h) - 1 + h - h**2 / 2) / -h**3, 0, 1 / 6),
    (lambda h: ((1 / (0.7 + h) - 1 / (0.7 - h)) / (2 * h) + 1 / 0.49) / h**2,
     0, -1 / 0.7**4),
]  # fmt: skip


def test_a_limit_at_minus_infinity_is_approached():
    """f(-inf) itself, 1 for Euler's number, had been the whole sequence."""
    value, error = estimate.limit_of(lambda x: (1 + 1 / x) ** x, -INF)
    assert abs(value - math.e) <= error <= 1e-6


@pytest.mark.parametrize("case", range(len(LIMITS)))
def test_limit_lies_within_its_error(case):
    """|limit - estimate| <= error <= 1e-4 of the size."""
    f, to, truth = LIMITS[case]
    value, error = estimate.limit_of(f, to)
    assert np.all(np.abs(value - truth) <= error)
    assert np.all(error <= 1e-4 * np.abs(truth))


@pytest.mark.parametrize(
    "f",
    [
        lambda N: 1 + 1 / math.log(N + 1),
        lambda N: math.log(math.log(N + 3)),
        lambda N: math.cos(N),
        lambda N: N,
        lambda N: (-1.0) ** round(math.log2(N)),
        lambda N: math.log(N),
        lambda N: 1 + math.sin(2 * math.pi * N),  # always 1 at powers of two
        lambda N: math.cos(math.pi * N),
        lambda N: 5 + N,  # Aitken: 5
        lambda N: 5 + math.sqrt(N),
    ],
)
def test_hopeless_limits_are_not_trusted(f):
    """Divergent, oscillating and logarithmic sequences get huge errors."""
    value, error = estimate.limit_of(f, INF)
    assert error >= 5e-3 * abs(value)


@pytest.mark.parametrize(
    ("f", "truth", "furthest"),
    [
        (lambda N: (1 + 1 / N) ** N, math.e, 2**10),
        (lambda N: 1 + 1 / math.sqrt(N) - 2 / N, 1.0, 2**30),
    ],
)
def test_limit_goes_no_further_than_it_must(f, truth, furthest):
    """Integer powers take ten points (Richardson), others thirty (Aitken)."""
    seen = []

    def watched(N):
        seen.append(N)
        return f(N)

    value, error = estimate.limit_of(watched, INF)
    assert abs(value - truth) <= error < 1e-7
    assert max(seen) < furthest


def test_richardson_removes_the_powers_it_is_told():
    """v(h) = 7 + h^2 - h^4 at h = 1, 1/2, 1/4, 1/8 gives 7 to rounding."""
    h = 0.5 ** np.arange(6)
    found = estimate.richardson(7 + h**2 - h**4, (2, 4))
    assert abs(found.value - 7) < 1e-14
    assert abs(found.value - 7) <= found.error + 1e-15


def test_four_values_are_enough_for_one_power():
    """1 + h^2 + h^4 by hand: the last entry, and how far it moved."""
    h = 0.5 ** np.arange(4)
    found = estimate.richardson(1 + h**2 + h**4, (2, 4))
    once = 1 - h[1:] ** 4 * 4  # (4 (h/2)^4 - h^4) / 3, h the larger step
    assert found.value == pytest.approx(once[2], abs=1e-15)
    moved = abs(once[2] - (1 + h[2] ** 2 + h[2] ** 4))
    assert found.error == pytest.approx(moved, rel=1e-12)
    noisy = estimate.richardson(1 + h**2, (2,), 1e-3 * 2.0 ** np.arange(4))
    noise = (4 * 8e-3 + 4e-3) / 3  # that of T = (4 v_3 - v_2) / 3
    assert noisy.error == pytest.approx(h[2] ** 2 + noise, rel=1e-12)
    three = estimate.richardson((1 + h**2)[:3], (2,))
    assert (three.value, three.error) == (1 + h[2] ** 2, INF)


def test_what_no_row_can_say_is_the_last_row_without_a_bound():
    found = estimate._nothing(np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(found.value, [4, 5])
    np.testing.assert_array_equal(found.error, [INF, INF])
    kept = estimate._better(
        estimate.Estimate(np.array(1.0), np.array(0.5)),
        np.array([2.0]), np.array([0.5]),
    )  # fmt: skip
    assert kept.value == 1


@pytest.mark.parametrize(
    ("column", "noise", "tail"),
    [
        ([0, 1, 1.5, 1.75, 2.75], 0, [2.5, 2, INF]),  # twice what follows
        ([0, 1, 2], 0, [INF]),  # steps that do not shrink
        ([0, 1, 1.8], 0, [0.8]),  # or by a fifth
        ([0, 1, 2], 0.5, [1]),  # within their noise
        ([0, 1, 2], [0, 0.5, 0.5], [1]),
        ([0, 1, 2], [0.5, 0, 0.2], [INF]),
        ([np.nan, 1, 1], 0, [0]),  # f begins somewhere
    ],
)
def test_the_tail_by_hand(column, noise, tail):
    found = estimate._tail(*estimate._columns(column, noise))
    np.testing.assert_allclose(found, tail)


def test_aitken_removes_a_power_it_does_not_know():
    """v(h) = 7 + 3 h^0.37: one step is exact up to rounding."""
    h = 0.5 ** np.arange(12)
    found = estimate.aitken(7 + 3 * h**0.37, 1e-15)
    assert abs(found.value - 7) <= found.error < 1e-10


def test_a_function_that_always_fails_shows_its_own_error():
    """Forgiveness is for points outside the domain only."""

    def broken(x):
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        estimate.derivative(broken, 1.0)


LOSSY = [
    (lambda x: (1 - np.cos(x)) / x**2, 1e-3, -1e-3 / 12),
    (lambda x: (np.sin(x) + 1e8) - 1e8, 0.4, np.cos(0.4)),
    (lambda x: float(np.tanh(np.float32(x))), 0.4, 1 - np.tanh(0.4) ** 2),
    (lambda x: np.round(np.tanh(x), 6), 0.4, 1 - np.tanh(0.4) ** 2),
]


@pytest.mark.parametrize("case", range(len(LOSSY)))
def test_functions_that_lose_digits_get_a_wider_bound(case):
    """Rounding is measured, not only assumed to be eps |f|."""
    f, x, truth = LOSSY[case]
    value, error = estimate.derivative(f, x)
    assert abs(value - truth) <= error <= 1e-2 * abs(truth)


def test_noise_level_finds_the_size_of_planted_noise(rng):
    """Gaussian noise of deviation 1e-7 on a smooth function is measured."""
    level = estimate.noise_level(
        lambda x: np.sin(x) + 1e-7 * rng.normal(size=200), 0.4, 1e-3
    )
    assert 0.7e-7 < np.median(level) < 1.4e-7


def test_noise_level_of_one_spike():
    """Its sixth differences are binomials: 6, 15, 20, 15, 6."""
    level = estimate.noise_level(lambda x: float(x == 0), 0.0, 1.0)
    assert level == pytest.approx(np.sqrt(922 / 4620), rel=1e-12)


def test_noise_that_looks_like_drift_does_not_spoil_good_rows():
    """A mixture's slope; a parabola so far out that x + h is rounded."""
    c = 1.9986513460302162
    slope = estimate.derivative(
        lambda s: np.logaddexp(-((c + s - 2) ** 2) / 2, -((c + s + 2) ** 2) / 2)
    )
    truth = 2 * np.tanh(2 * c) - c
    assert abs(slope.value - truth) <= slope.error < 1e-13
    bend = estimate.second_derivative(
        lambda s: -0.5 * ((1e8 + s - 1e8) / 1e8) ** 2, scale=1e8
    )
    assert abs(bend.value + 1e-16) <= bend.error < 1e-28


def test_kinks_stand_out_however_near():
    """sin x + |x - d| / 1000 at 0, d from 1e-15 up: never trusted in vain."""
    for d in 10.0 ** np.arange(-15, 0.5, 0.5):
        found = estimate.derivative(
            lambda s, d=d: np.sin(s) + 1e-3 * np.abs(s - d)
        )
        assert abs(found.value - (1 - 1e-3)) <= found.error


@pytest.mark.parametrize("width", 10.0 ** -np.arange(2, 8))
def test_a_narrow_feature_is_met_or_confessed(width):
    """1.001 at x = 0, and 1 everywhere but within the width."""
    found = estimate.derivative(
        lambda x: x + 1e-3 * x * np.exp(-((x / width) ** 2))
    )
    assert abs(found.value - 1.001) <= 2 * found.error


@pytest.mark.parametrize("width", 10.0 ** -np.arange(1, 5.5, 0.5))
@pytest.mark.parametrize("height", [1.0, 1e-3])
def test_a_narrow_bend_is_met_or_confessed(width, height):
    """2 height / width^2 at x = 0, and 0 beyond; f(0) does not tell."""
    found = estimate.second_derivative(
        lambda x: x + height * (x / width) ** 2 * np.exp(-((x / width) ** 2))
    )
    assert abs(found.value - 2 * height / width**2) <= 3 * found.error


@pytest.mark.parametrize("n", [2556.7, 2557, 2560, 5120.5])
def test_waves_that_all_long_steps_see_as_slower_ones(n):
    """n periods in 1 / e: of 2557 f'' was -1e3, its error 4e-6, not -7e8."""
    k = 2 * np.pi * np.e * n
    found = estimate.second_derivative(lambda x: np.sin(k * x), -0.228)
    truth = k**2 * np.sin(0.228 * k)
    assert abs(found.value - truth) <= max(1.02 * found.error, 1e-9 * truth)


def test_a_feature_too_slight_for_the_nearest_steps():
    """1 + 1e-5 at 1: of the steps near by only the wider one sees it."""
    found = estimate.derivative(
        lambda x: x + 1e-13 * np.tanh((x - 1) / 1e-8), 1.0
    )
    assert abs(found.value - 1 - 1e-5) <= 3 * found.error


def test_fast_oscillations_do_not_widen_the_bound():
    """What the ladder knows already is no feature that it missed."""
    k = np.arange(1000)
    found = estimate.derivative(lambda x: np.sum(np.cos(k * x)), 0.7)
    assert found.error < 1e-6 * abs(found.value)


@pytest.mark.parametrize("m", np.arange(2.5, 4.6, 0.1))
def test_a_part_that_stands_still_does_not_hide_the_rounding(m):
    """Near 0, where f is 0, ln(1 + e^...) moves by whole 2^-52 or not at all:
    f' lacked its slope, 1e-7 or so, and the error was 1e-12."""

    def f(s):
        return -(s**2) / 2 + np.log(1 + np.exp(-((s - m) ** 2)))

    for x in (0.0, 1e-9, 1.3e-7, 2.4e-6, 3.7e-5):
        e = np.exp(-((x - m) ** 2))
        found = estimate.derivative(f, x)
        assert abs(found.value + x + 2 * (x - m) * e / (1 + e)) <= found.error


@pytest.mark.parametrize("x", [0.0679453241199216, 0.0679453241, 0.0821, 0.11])
def test_steps_by_whole_last_digits_do_not_hide_the_rounding(x):
    """At the first x the steps of 1 + x^4 were multiples of 2^-52: f' was off
    by 1e-10, its error 3e-12, and f'' by 2e-3, its error 4e-4."""

    def f(x):
        return np.log(1 + x**4) * np.arctan(x) / (2 + np.sin(x))

    with mp.workdps(30):

        def g(x):
            return mp.log(1 + x**4) * mp.atan(x) / (2 + mp.sin(x))

        true = [float(mp.diff(g, mp.mpf(x), n)) for n in (1, 2)]
    for n, of in enumerate((estimate.derivative, estimate.second_derivative)):
        found = of(f, x)
        assert abs(found.value - true[n]) <= found.error
