"""prml4.irls: Newton's method written as least squares."""

import warnings

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from scipy.optimize import minimize

from prml4 import irls, logistic
from prml4.numerics import newton
from prml4.numerics.separation import SeparableDataWarning


@pytest.fixture
def data(rng):
    """Sixty rows, three columns, overlapping classes."""
    Phi = np.c_[np.ones(60), rng.standard_normal((60, 2))]
    t = (rng.random(60) < logistic.predict_proba([0.3, 1, -2], Phi)[:, 1]) * 1.0
    return Phi, t


def test_irls_equals_newton_step_by_step(data, rng):
    """(4.92) with (4.96), (4.97) and (4.99) are the same iteration."""
    Phi, t = data
    w = rng.standard_normal(3)
    H = logistic.hessian(w, Phi)
    newton_w = w - np.linalg.solve(H, logistic.gradient(w, Phi, t))
    for method in ("qr", "normal"):
        step = irls.irls_step(w, Phi, t, method=method)
        np.testing.assert_allclose(step, newton_w, rtol=1e-10)


def test_prior_and_weights_enter_as_rows(data, rng):
    """Newton's step for E with weights plus the prior's quadratic."""
    Phi, t = data
    c, alpha, m0 = rng.random(60), np.array([0, 0.5, 2]), np.array([1, -1, 3.0])
    w = rng.standard_normal(3)
    given = {"alpha": alpha, "m0": m0, "weights": c}
    _, g, H = logistic.problem(Phi, t, **given)[0](w)
    step = irls.irls_step(w, Phi, t, **given)
    np.testing.assert_allclose(step, w - np.linalg.solve(H, g), rtol=1e-9)
    fit = irls.fit_irls(Phi, t, **given)
    np.testing.assert_allclose(fit.w, logistic.fit(Phi, t, **given).w)


@pytest.mark.parametrize(
    "given, said",
    [
        ({"alpha": [1.0, np.nan, 1]}, "alpha must be finite"),
        ({"alpha": [1.0, -2, 1]}, "alpha must be >= 0"),
        ({"alpha": 1.0, "m0": 0.5}, r"m0 must have shape \(3,\)"),
        ({"weights": -np.ones(60)}, "weights must be >= 0"),
        ({"weights": np.full(60, np.nan)}, "weights must be finite"),
    ],
)
def test_a_step_without_such_a_prior_or_weights(data, given, said):
    """NaN and -2 were no prior at all, weights below 0 an underflow of r."""
    with pytest.raises(ValueError, match=said):
        irls.irls_step(np.zeros(3), *data, **given)


def test_working_response_in_the_tails():
    """z = a + (t - y) / (y (1 - y)) with (1 - y) never formed."""
    Phi, t = np.array([[0.0], [3.0], [40.0], [40.0], [-1e8]]), [1, 0, 1, 0, 0]
    z, r = irls.working_response(np.ones(1), Phi, t)
    y = 1 / (1 + np.exp(-3.0))
    want = [
        2,
        3 - y / (y * (1 - y)),
        41 + np.exp(-40),
        39 - np.exp(40),
        -1e8 - 1,
    ]
    np.testing.assert_allclose(z, want, rtol=1e-12)
    np.testing.assert_allclose(
        r, [0.25, y * (1 - y), np.exp(-40), np.exp(-40), 0], rtol=1e-12
    )


def test_weighted_least_squares_minimises_the_weighted_sum(rng):
    """A general minimiser that has never heard of normal equations."""
    Phi, r, z = rng.standard_normal((9, 2)), rng.random(9), rng.random(9)
    found = minimize(lambda w: np.sum(r * (z - Phi @ w) ** 2), np.zeros(2))
    for method in ("qr", "normal"):
        w = irls.weighted_least_squares(Phi, r, z, method)
        np.testing.assert_allclose(w, found.x, atol=1e-6)
        w = irls.weighted_least_squares(Phi[:2], r[:2], z[:2], method)
        np.testing.assert_allclose(Phi[:2] @ w, z[:2])
        with pytest.raises(LinAlgError, match="rows are few"):
            irls.weighted_least_squares(Phi[:1], r[:1], z[:1], method)
    with pytest.raises(ValueError, match="method must be .* got 'svd'"):
        irls.weighted_least_squares(Phi, r, z, "svd")


def test_qr_survives_conditioning_that_normal_equations_square(rng):
    """cond(Phi) = 1e7: QR loses 7 of 16 digits, normal equations 14."""
    U, V = np.linalg.qr(rng.standard_normal((50, 3)))[0], np.eye(3)
    V[:, 2] = [1, 1, 1e-7]
    Phi, w = U @ V, np.ones(3)
    z, r = Phi @ w, np.ones(50)
    lost = [
        np.abs(irls.weighted_least_squares(Phi, r, z, method) - w).max()
        for method in ("qr", "normal")
    ]
    assert lost[0] < 1e-8 and lost[1] > 1e2 * lost[0]


def test_small_weights_count_beside_large_ones():
    """Two rows of 1e16 times the strength of all others hold two of four
    weights; the others came out to nine digits."""
    rng = np.random.default_rng(3)
    Phi, w = rng.standard_normal((30, 4)), np.array([1.0, -2.0, 0.5, 3.0])
    r = np.r_[np.full(28, 1e-16), 1.0, 1.0]
    found = irls.weighted_least_squares(Phi, r, Phi @ w)
    np.testing.assert_allclose(found, w, rtol=1e-13)


@pytest.mark.parametrize("seed", [2, 3, 12, 14])
def test_rows_of_unlike_weights_have_a_minimum(seed):
    """From 1e-4 to 1e4: what small rows say was lost, and steps led nowhere."""
    rng = np.random.default_rng([seed, 8])
    Phi = np.c_[np.ones(25), 3 * rng.standard_normal((25, 5))]
    t = (5 * rng.logistic(size=25) < Phi @ rng.standard_normal(6)) * 1.0
    weights = 10 ** rng.uniform(-4, 4, 25)
    best = logistic.fit(Phi, t, weights=weights)
    found = irls.fit_irls(Phi, t, weights=weights)
    assert best.converged and found.converged
    assert found.error == pytest.approx(best.error, rel=1e-8)


def test_fit_converges_quadratically(data):
    """The number of right digits doubles: e_{k+1} <= C e_k^2 at the end."""
    Phi, t = data
    fit = irls.fit_irls(Phi, t)
    e = np.linalg.norm(fit.path - logistic.fit(Phi, t).w, axis=1)
    k = np.flatnonzero(e < 0.1)[0]
    assert fit.converged and fit.path.shape == (len(fit.trace), 3)
    assert e[k + 1] < 2 * e[k] ** 2 and e[k + 1] > 1e-12
    assert fit.trace[-1] == fit.error
    assert fit.error == pytest.approx(logistic.error(fit.w, Phi, t))
    np.testing.assert_array_equal(fit.path[-1], fit.w)


def test_undamped_diverges_exactly_beyond_its_fixed_point():
    """x = 1, 1 and t = 1, 0: w <- w - sinh w, from |w| > 2.17732 away."""
    Phi, t = np.ones((2, 1)), [1, 0]
    path = irls.fit_irls(Phi, t, w0=[2.1], damped=False).path[:, 0]
    np.testing.assert_allclose(
        path[1:4], path[:3] - np.sinh(path[:3]), rtol=1e-9
    )
    with pytest.warns(newton.NotConverged, match="stopped after 3 steps"):
        fit = irls.fit_irls(Phi, t, w0=[2.5], damped=False)
    assert not fit.converged and fit.steps == (1.0, 1.0, 1.0)
    damped = irls.fit_irls(Phi, t, w0=[2.5])
    assert damped.converged and damped.steps[0] < 1
    assert np.all(np.diff(damped.trace) <= 1e-12)


def test_every_step_pays_its_share(data):
    """E falls by 1e-4 of what the slope promises, or the step was halved."""
    Phi, t = data
    fit = irls.fit_irls(8 * Phi, t, w0=[-1, 1, 1])
    start = logistic.error(fit.path[0], 8 * Phi, t)
    assert (
        fit.trace[0] == pytest.approx(start)
        and fit.converged
        and min(fit.steps) < 1
    )
    for k, eta in enumerate(fit.steps):
        full = irls.irls_step(fit.path[k], 8 * Phi, t) - fit.path[k]
        slope = logistic.gradient(fit.path[k], 8 * Phi, t) @ full
        np.testing.assert_allclose(
            fit.path[k + 1], fit.path[k] + eta * full, atol=1e-12
        )
        assert fit.trace[k + 1] <= fit.trace[k] + 1e-4 * eta * slope + 1e-9
        if eta < 1:
            E = logistic.error(fit.path[k] + 2 * eta * full, 8 * Phi, t)
            assert E > fit.trace[k] + 2e-4 * eta * slope


def test_running_out_of_steps_is_not_convergence(data):
    """Three steps from zero are too few here."""
    with pytest.warns(newton.NotConverged, match="after 3 steps"):
        fit = irls.fit_irls(*data, max_iter=3)
    assert not fit.converged and len(fit.path) == 4


def test_bad_input_is_named(data):
    """The same answers as logistic.fit gives."""
    Phi, t = data
    with pytest.raises(ValueError, match="column . is a combination of [13]"):
        irls.fit_irls(np.c_[Phi, -Phi[:, 1]], t)
    with pytest.raises(ValueError, match="t must be in"):
        irls.fit_irls(Phi, t + 1)
    with pytest.raises(ValueError, match="w0 must have shape"):
        irls.fit_irls(Phi, t, w0=[1])


def test_separable_classes_are_named_and_not_called_converged(data):
    """E falls for ever: rounding ends the steps, and that is no minimum."""
    Phi, t = data
    with pytest.warns(SeparableDataWarning, match=r"\(complete\)"):
        fit = irls.fit_irls(Phi, Phi[:, 1] > 0)
    assert not fit.converged and fit.separated == "complete"
    dummy = np.zeros(60)
    dummy[np.flatnonzero(t)[:5]] = 1
    with pytest.warns(SeparableDataWarning, match="quasi-complete"):
        fit = irls.fit_irls(np.c_[Phi, dummy], t)
    assert not fit.converged and fit.separated == "quasi-complete"
    assert irls.fit_irls(Phi, Phi[:, 1] > 0, alpha=1e-3).converged


def test_nearly_dependent_columns_are_not_taken_for_a_plane(data, rng):
    """They are looked at once more; weights of 3e5 may not settle for all."""
    Phi, t = data
    noise = rng.standard_normal(len(t))
    assert irls.fit_irls(np.c_[Phi, Phi[:, 1] + 1e-4 * noise], t).converged
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", newton.NotConverged)
        fit = irls.fit_irls(np.c_[Phi, Phi[:, 1] + 1e-6 * noise], t)
    assert fit.separated is None


def test_standard_errors_are_those_of_logistic(data):
    """The fit remembers its prior and its weights."""
    Phi, t = data
    how = {"alpha": [0, 1, 2.0], "weights": np.arange(60) % 3}
    one, two = irls.fit_irls(Phi, t, **how), logistic.fit(Phi, t, **how)
    np.testing.assert_allclose(
        logistic.standard_errors(one, Phi), logistic.standard_errors(two, Phi)
    )


def test_a_tolerance_beyond_all_measure_is_one():
    """Its square overflowed, to an OverflowError."""
    Phi, t = np.c_[np.ones(4), [0.0, 1, 2, 3]], [0, 1, 0, 1]
    with pytest.warns(newton.NotConverged):
        assert irls.fit_irls(Phi, t, tol=1e200).steps == (1.0,)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_least_squares_of_no_real_numbers_are_refused(at, rng):
    """Complex numbers and what a mask hides were computed with."""
    given = [rng.normal(size=(5, 2)), np.ones(5), np.arange(5.0)]
    hidden = np.ma.masked_array(given[at], np.ones(given[at].shape, bool))
    for wrong in (given[at] + 1j, hidden):
        each = [*given[:at], wrong, *given[at + 1 :]]
        with pytest.raises(ValueError, match=f"{'Phi r z'.split()[at]} must h"):
            irls.weighted_least_squares(*each)


@pytest.mark.parametrize("seed", range(4))
def test_a_long_prior_mean_in_a_column_of_small_numbers(seed):
    """Column 1 is 1e-89 times numbers, its m0 1e88: the minimum of the same
    problem in other units. It said converged, 0.01 above it in E."""
    rng = np.random.default_rng(seed)
    size = np.array([5e3, 1e-89, 2.7, 0.1])
    Phi, t = rng.standard_normal((90, 4)) * size, (rng.random(90) < 0.4) * 1.0
    m0 = rng.standard_normal(4) / size
    given = {"alpha": 0.003, "m0": m0}
    fit, best = (way(Phi, t, **given) for way in (irls.fit_irls, logistic.fit))
    assert fit.converged and best.converged
    np.testing.assert_allclose(fit.w, best.w, rtol=1e-7)
    assert fit.error == pytest.approx(best.error, rel=1e-12)


def test_steps_that_end_elsewhere_are_no_minimum(data, monkeypatch):
    """Least squares that lose a part of a row stand still, and g is left."""
    lossy, part = irls.weighted_least_squares, np.r_[0.9, np.ones(59)]
    monkeypatch.setattr(
        irls,
        "weighted_least_squares",
        lambda Phi, r, z, method: lossy(Phi, r * part, z, method),
    )
    with pytest.warns(newton.NotConverged):
        fit = irls.fit_irls(*data)
    assert not fit.converged
