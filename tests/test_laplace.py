"""prml4.laplace: from ln f to a Gaussian at its mode, or a named refusal."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate, optimize, stats

from prml4 import laplace, logistic
from prml4.models import data
from prml4.numerics import newton
from prml4.studies import densities


def quartic(z):
    """ln f = -z^4: a maximum without curvature."""
    return -(z**4)


def double_well(z):
    """ln f = -(z^2 - 1)^2: two maxima and a minimum at 0."""
    return -((z**2 - 1) ** 2)


def two_hills(w):
    """Two unit Gaussians at (-2, 0) and (2, 0), unequal weights."""
    right = -0.5 * np.sum((w - [2, 0]) ** 2)
    return np.logaddexp(right, np.log(0.5) - 0.5 * np.sum((w + [2, 0]) ** 2))


@pytest.fixture
def gaussian(rng):
    """A correlated Gaussian in three dimensions with strange units."""
    R = rng.standard_normal((3, 3)) * [1.0, 10.0, 0.1]
    S = R.T @ R
    return stats.multivariate_normal([1.0, -20.0, 0.3], S)


# Exact for a Gaussian.


def test_a_gaussian_is_its_own_approximation(gaussian):
    """Whatever the start: mode, covariance, evidence 7 of 7 N(w | m, S)."""
    P = np.linalg.inv(gaussian.cov)

    def log_f(w):
        return np.log(7) + gaussian.logpdf(w)

    q = laplace.approximate(
        log_f,
        [5.0, 0.0, 0.0],
        gradient=lambda w: -P @ (w - gaussian.mean),
        hessian=lambda w: -P,
    )
    np.testing.assert_allclose(q.mean, gaussian.mean, rtol=1e-9)
    np.testing.assert_allclose(q.covariance, gaussian.cov, rtol=1e-9)
    np.testing.assert_allclose(q.log_evidence, np.log(7), rtol=1e-9)
    np.testing.assert_allclose(laplace.falls(log_f, q), np.full((2, 3), 0.5))
    assert q.converged and q.mean is q.mode
    points = gaussian.mean + np.array([[0.1, 5, 0.02], [0, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(q.log_density(points), gaussian.logpdf(points))
    assert q.log_density(points[0]).shape == ()


@pytest.mark.parametrize("given", ["nothing", "gradient", "both"])
def test_differences_stand_in_for_derivatives(given, rng):
    """A Gaussian times a logistic factor, all three ways the same."""
    Phi, t = rng.standard_normal((9, 2)), np.arange(9.0) % 2
    options = {}
    if given != "nothing":
        options["gradient"] = lambda w: -logistic.map_gradient(w, Phi, t, 0.5)
    if given == "both":
        options["hessian"] = lambda w: -logistic.map_hessian(w, Phi, 0.5)
    q = laplace.approximate(
        lambda w: -logistic.map_error(w, Phi, t, 0.5), [0.0, 0.0], **options
    )
    fit = logistic.fit(Phi, t, alpha=0.5)
    np.testing.assert_allclose(q.mode, fit.w, atol=1e-8)
    np.testing.assert_allclose(
        q.precision, logistic.curvature(fit, Phi), rtol=1e-7
    )
    assert q.log_f == pytest.approx(-fit.error, rel=1e-12)
    assert np.abs(q.gradient).max() < 1e-7


def test_every_constant_of_the_evidence():
    """ln f + M/2 ln 2 pi - 1/2 ln |A|, for a number and for a matrix."""
    q = laplace.at_mode(3.0, -1.5, 4.0)
    assert q.log_evidence == pytest.approx(
        -1.5 + 0.5 * np.log(2 * np.pi) - 0.5 * np.log(4)
    )
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    q = laplace.at_mode([0.0, 1.0], 0.25, A)
    want = 0.25 + np.log(2 * np.pi) - 0.5 * np.log(np.linalg.det(A))
    assert q.log_evidence == pytest.approx(want)
    np.testing.assert_allclose(q.cholesky @ q.cholesky.T, A)
    assert q.gradient is None and q.converged and q.trace == ()


def test_results_do_not_alias_their_input():
    """What the caller changes later stays the caller's."""
    mode, A = np.zeros(2), np.eye(2)
    q = laplace.at_mode(mode, 0.0, A)
    mode += 1
    A *= 2
    np.testing.assert_array_equal(q.mode, [0, 0])
    np.testing.assert_array_equal(q.precision, np.eye(2))


def test_stirling_is_laplace():
    """f = z^N e^{-z}: mode N, A = 1/N, Z_q = N^N e^{-N} sqrt(2 pi N)."""
    q = laplace.approximate(partial(densities.rate, k=10, n=1), 3.0)
    np.testing.assert_allclose(q.mode, [10.0], rtol=1e-7)
    np.testing.assert_allclose(q.precision, [[0.1]], rtol=1e-7)
    want = 10 * np.log(10) - 10 + 0.5 * np.log(20 * np.pi)
    assert q.log_evidence == pytest.approx(want, rel=1e-10)


def test_draws_and_axes(rng):
    """U U^T = A^{-1}; draws have mean and covariance, Kolmogorov agrees."""
    A = np.array([[2.0, 0.9], [0.9, 1.0]])
    q = laplace.at_mode([1.0, -2.0], 0.0, A)
    np.testing.assert_allclose(q.axes @ q.axes.T, np.linalg.inv(A))
    units = np.array([1e3, 1e-4])
    scaled = laplace.at_mode(q.mode * units, 0.0, A / np.outer(units, units))
    np.testing.assert_allclose(abs(scaled.axes), abs(units[:, None] * q.axes))
    w = q.draws(rng, 4000)
    assert w.shape == (4000, 2)
    u = (w - q.mode) @ q.cholesky
    for j in range(2):
        assert stats.kstest(u[:, j], "norm").pvalue > 1e-3
    assert abs(np.corrcoef(u.T)[0, 1]) < 5 / np.sqrt(4000)


# Finding modes.


def test_the_figure_of_the_book():
    """z0 = .0775, A = 2.5436, f(z0) = .99314; and the warning it deserves."""
    with pytest.warns(laplace.NotGaussian, match="falls by 7.14"):
        q = laplace.approximate(densities.shoulder, 0.5)
    assert q.mode[0] == pytest.approx(0.0774796, abs=1e-7)
    assert q.precision[0, 0] == pytest.approx(2.5435886, abs=1e-6)
    assert np.exp(q.log_f) == pytest.approx(0.9931406, abs=1e-7)
    assert q.trace[-1] == q.log_f and len(q.trace) > 3
    assert np.all(np.diff(q.trace) > -1e-12)


def test_a_start_where_ln_f_is_convex_still_finds_the_mode():
    """Cauchy tails: plain Newton runs away from where it starts."""

    def log_f(w):
        return -2.0 * np.log1p(np.sum(w**2))

    q = laplace.approximate(log_f, [30.0, -5.0])
    np.testing.assert_allclose(q.mode, [0, 0], atol=1e-7)
    np.testing.assert_allclose(q.precision, 4 * np.eye(2), atol=1e-6)


def test_steps_out_of_the_range_of_f_are_cut():
    """From 0.05 Newton's step for this rate leads far beyond, or below 0."""
    for start in (1e-3, 0.05, 400.0):
        q = laplace.approximate(partial(densities.rate, k=30, n=10), start)
        np.testing.assert_allclose(q.mode, [3.0], rtol=1e-7)


def test_points_without_a_gradient_are_not_accepted():
    """The first full step ends higher, but where the gradient is NaN."""
    q = laplace.approximate(
        lambda w: -np.log(np.cosh(w)),
        -1.05,
        gradient=lambda w: np.where(w > 0.6, np.nan, -np.tanh(w)),
        hessian=lambda w: -1 / np.cosh(w) ** 2,
    )
    assert q.converged and abs(q.mode[0]) < 1e-8


def test_absolute_value_of_a_matrix():
    """Positive definite stays; else absolute eigenvalues, none of them 0."""
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert laplace.absolute(A) is A
    R = np.array([[0.6, -0.8], [0.8, 0.6]])
    B = R @ np.diag([3.0, -2.0]) @ R.T
    np.testing.assert_allclose(
        laplace.absolute(B), R @ np.diag([3.0, 2.0]) @ R.T, atol=1e-14
    )
    U = np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 + np.eye(3))[0]
    for sizes in ([1.0, 2.0, -3.0], [4.0, -5.0, -6.0]):
        np.testing.assert_allclose(
            laplace.absolute(U * sizes @ U.T),
            U * np.abs(sizes) @ U.T,
            atol=1e-13,
        )
    C = laplace.absolute(np.diag([-4.0, 0.0]))
    np.testing.assert_allclose(C, np.diag([4.0, 4e-8]), atol=1e-15)
    np.testing.assert_array_equal(laplace.absolute(np.zeros((2, 2))), np.eye(2))


def test_several_modes_from_several_starts():
    """The higher first, each once, the saddle between them left out."""
    starts = [[0.0, 0.0], [3.0, 1.0], [-3.0, 1.0], [2.0, 0.1], [0.0, 0.0]]
    found = laplace.modes(two_hills, starts)
    assert len(found) == 2 and found[0].log_f > found[1].log_f
    best = optimize.minimize(lambda w: -two_hills(w), [3.0, 1.0], tol=1e-12)
    np.testing.assert_allclose(found[0].mode, best.x, atol=1e-5)
    assert found[1].mode[0] < -1.9
    total = np.logaddexp(*(q.log_evidence for q in found))
    exact = np.log(2 * np.pi * 1.5)
    assert total == pytest.approx(exact, abs=5e-3)


def test_modes_that_do_not_exist():
    """Only saddles: their error. No starts: that is said."""
    with pytest.raises(laplace.NotPositiveDefinite, match="minimum"):
        laplace.modes(double_well, [0.0])
    with pytest.raises(ValueError, match="starts must hold one"):
        laplace.modes(double_well, [])
    with pytest.warns(laplace.NotGaussian) as seen:
        laplace.modes(densities.shoulder, [0.5, 0.2])
    assert [w.filename for w in seen] == [__file__]


def test_modes_in_one_dimension_agree_with_a_grid():
    """Starts on a grid find what a fine grid of ln f shows."""
    found = laplace.modes(densities.two_bumps, np.linspace(-4, 4, 9))
    z = np.linspace(-5, 5, 100_001)
    f = densities.two_bumps(z)
    peaks = z[1:-1][(f[1:-1] > f[2:]) & (f[1:-1] > f[:-2])]
    np.testing.assert_allclose(
        sorted(q.mode[0] for q in found), peaks, atol=1e-4
    )


# Refusals and warnings.


@pytest.mark.parametrize(
    ("log_f", "start", "kind"),
    [
        (double_well, 0.0, "a minimum"),
        (lambda w: (w[0] - w[1]) ** 2, [2.0, 2.0], "a minimum"),  # a trough
        (lambda w: w[1] ** 2 - w[0] ** 2, [0.0, 0.0], "a saddle"),
        (quartic, 0.0, "flat"),
        (lambda w: -((w[0] + w[1]) ** 2), [1.0, 2.0], "flat"),
        (lambda w: -((w[0] - w[1]) ** 2) - w[1] ** 4, [0.0, 0.0], "flat"),
    ],
)
def test_a_stationary_point_without_a_gaussian_is_named(log_f, start, kind):
    """Differences have errors: what they leave open counts as flat."""
    with pytest.raises(laplace.NotPositiveDefinite, match=kind):
        laplace.approximate(log_f, start)


def test_given_hessians_are_judged_too():
    """A saddle and a redundant direction, from exact derivatives."""
    H = np.diag([-2.0, 3.0])
    with pytest.raises(laplace.NotPositiveDefinite, match="saddle"):
        laplace.approximate(
            lambda w: 0.5 * w @ H @ w,
            [0.0, 0.0],
            gradient=lambda w: H @ w,
            hessian=lambda w: H,
        )
    v = np.array([1.0, 3.0, -7.0])
    A = np.outer(v, v) / 3 + np.outer([0, 1, 1], [0, 1, 1]) / 7
    with pytest.raises(laplace.NotPositiveDefinite, match="flat"):
        laplace.at_mode(np.zeros(3), 0.0, A)
    for A, said in (
        (-np.eye(2), "run from -1 to -1: a minimum"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "run from -1 to 3: a saddle"),
        (-np.zeros((2, 2)), "run from 0 to 0: ln f is flat"),
    ):
        with pytest.raises(laplace.NotPositiveDefinite, match=said):
            laplace.at_mode([0.0, 0.0], 0.0, A)


def test_units_do_not_make_a_precision_singular():
    """Standard deviations of 1e-8 and 1e8 are no reason to refuse."""
    A = np.outer([1e8, 1e-8], [1e8, 1e-8]) * [[1.0, 0.5], [0.5, 1.0]]
    q = laplace.at_mode([0.0, 0.0], 0.0, A)
    assert q.log_evidence == pytest.approx(
        np.log(2 * np.pi) - 0.5 * np.log(0.75)
    )


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_differences_in_any_unit_find_a_precision(unit):
    """Their errors are judged in the same unit."""
    q = laplace.approximate(lambda w: -((w[0] / unit) ** 2) / 2, 0.0)
    assert q.precision[0, 0] == pytest.approx(unit**-2, rel=1e-6)


def test_a_gaussian_that_misses_the_neighbourhood_is_announced():
    """e^{-z^4} reached from the side, and e^{-z^4 - z^2/50}: far too wide."""
    with pytest.warns(laplace.NotGaussian):
        laplace.approximate(quartic, 1.0)
    with pytest.warns(laplace.NotGaussian, match="falls by 626"):
        laplace.approximate(lambda z: -(z**4) - z**2 / 50, 1.0)
    with pytest.warns(laplace.NotGaussian, match="falls by 0.0"):
        laplace.approximate(lambda z: -np.log1p(z**2) / 50, 0.1)


def test_the_warning_begins_at_a_factor_of_two():
    """ln f = -z^2/2 - c z^4 falls by 1/2 + c; the other way round as well."""
    for c, bad in ((0.49, False), (0.51, True), (-0.24, False), (-0.26, True)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            laplace.approximate(lambda z, c=c: -(z**2) / 2 - c * z**4, 0.0)
        assert [w.category for w in seen] == [laplace.NotGaussian] * bad


def test_the_axis_that_is_worst_is_told():
    """Worst is the largest |ln 2d| of the falls d."""
    for falls, worst in (((0.2, 1.2), "0.2$"), ((0.24, 1.1), "1.1$")):
        c = np.array(falls) - 0.5
        with pytest.warns(laplace.NotGaussian, match=f"falls by {worst}"):
            laplace.approximate(
                lambda w, c=c: -(w @ w) / 2 - c @ w**4, [0.0, 0.0],
                gradient=lambda w, c=c: -w - 4 * c * w**3,
            )  # fmt: skip


def test_falls_come_first_along_the_axes_then_against_them():
    """ln f = z - e^z, its mode 0 and its deviation 1."""
    q = laplace.at_mode(0.0, -1.0, 1.0)
    up = q.axes[0, 0]
    np.testing.assert_allclose(
        laplace.falls(lambda z: z - np.exp(z), q)[:, 0],
        [np.exp(up) - up - 1, np.exp(-up) + up - 1],
    )


def test_only_one_axis_of_several_may_be_at_fault():
    """Along the second principal axis the density is too narrow."""
    R = np.array([[0.6, 0.8], [-0.8, 0.6]])

    def log_f(w):
        u = R @ w
        return -0.5 * u[0] ** 2 - 2 * u[1] ** 2 - 3 * u[1] ** 4 * 16

    with pytest.warns(laplace.NotGaussian):
        q = laplace.approximate(log_f, [0.0, 0.0])
    drop = laplace.falls(log_f, q)
    assert drop.shape == (2, 2)
    np.testing.assert_allclose(drop[0], drop[1])


def test_no_mode_at_all():
    """ln f = w rises for ever: no curvature, and the search says so."""
    with pytest.raises(laplace.NotPositiveDefinite, match="search ended"):
        laplace.approximate(lambda w: w, 0.0)


@pytest.mark.parametrize(
    ("log_f", "start"),
    [
        (lambda z: -np.exp(-z[0]), 0.0),
        (lambda z: -np.logaddexp(0, -z[0]), -3.0),
        (lambda z: -1 / z[0] if z[0] > 0 else -np.inf, 1.0),
        (lambda w: -np.exp(-w[0]) - 0.5 * w[1] ** 2, [0.0, 1.0]),
    ],
)
def test_a_limit_is_no_maximum(log_f, start):
    """ln f rises for ever, by less than its last digit where we stop."""
    with pytest.raises(laplace.NotPositiveDefinite, match="rises for ever"):
        laplace.approximate(log_f, start)


@pytest.mark.parametrize("x", [[-2.0, -1, 1, 2], [-2.0, 0, 0, 2]])
def test_separable_data_without_a_prior_have_no_gaussian(x):
    """Chapter 7 refuses them too; the limit of ln p is reached by rounding."""
    Phi, t = data.with_bias(x), np.array([0.0, 0, 1, 1])
    given = {
        name: laplace.minus(partial(given, Phi=Phi, **more))
        for name, given, more in [
            ("gradient", logistic.gradient, {"t": t}),
            ("hessian", logistic.hessian, {}),
        ]
    }
    for options in (given, {"gradient": given["gradient"]}, {}):
        with pytest.raises(laplace.NotPositiveDefinite):
            laplace.approximate(
                lambda w: -logistic.error(w, Phi, t), [0.0, 0.0], **options
            )


def test_an_interrupted_search_warns():
    """A gradient that does not belong to ln f stops the line search."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        q = laplace.approximate(
            lambda w: -0.5 * float(w @ w),
            [1.0],
            gradient=lambda w: w,
            hessian=lambda w: -np.eye(1),
        )
    kinds = [w.category for w in seen]
    assert kinds == [newton.NotConverged, laplace.NotGaussian]
    assert "with a gradient of 1.0e+00" in str(seen[0].message)
    assert all(w.filename == __file__ for w in seen)
    assert not q.converged and abs(q.log_f + 0.5) < 1e-9
    np.testing.assert_allclose(q.gradient, [1.0])  # as it was given


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ([np.nan], "finite"),
        ([[0.0, 1.0]], "shape"),
        ("mode", "real numbers"),
        (-1.0, "finite and smooth at the start"),
    ],
)
def test_bad_starts(start, says):
    """What arrived and what was expected."""
    with pytest.raises(ValueError, match=says):
        laplace.approximate(partial(densities.rate, k=3, n=2), start)


@pytest.mark.parametrize(
    ("mode", "log_f", "A", "says"),
    [
        ([0.0, 1.0], 0.0, np.eye(3), "shape"),
        ([0.0, 1.0], 0.0, [[1.0, 0.2], [0.1, 1.0]], "symmetric"),
        ([0.0, np.inf], 0.0, np.eye(2), "finite"),
        ([0.0, 1.0], np.nan, np.eye(2), "finite"),
        ([0.0, 1.0], 0.0, np.diag([1.0, np.inf]), "finite"),
        ([0.0, 1.0], 0.0, np.diag([1.0, 1e200]), "below 1e150"),
    ],
)
def test_bad_modes(mode, log_f, A, says):
    """at_mode believes nothing but numbers of the right shape."""
    with pytest.raises(ValueError, match=says):
        laplace.at_mode(mode, log_f, A)


def test_no_parameters_and_no_numbers_of_draws():
    """TypeErrors, or numpy's own words."""
    with pytest.raises(ValueError, match="start must hold one"):
        laplace.approximate(lambda w: -w @ w, [])
    with pytest.raises(ValueError, match="mode must hold one"):
        laplace.at_mode([], 0.0, np.zeros((0, 0)))
    with pytest.raises(ValueError, match="log_f must be one finite"):
        laplace.at_mode([0.0], [0.0, 1.0], [[1.0]])
    for n in (-1, 2.5, None):
        with pytest.raises(ValueError, match="n must be a whole number"):
            laplace.at_mode([0.0], 0.0, [[1.0]]).draws(None, n)


@pytest.mark.parametrize("start", [-6.0, -6.2, -6.5, -7.0])
@pytest.mark.parametrize("beyond", [1e304, np.inf, np.nan])
def test_a_step_too_far_is_not_the_end(start, beyond):
    """u - e^u from where Newton's first step is about e^6 long: its curvature
    there was refused as if it were that of a wrong function."""

    def hessian(u):
        return [[-min(np.exp(u[0]), 1e304) if u[0] < 340 else -beyond]]

    q = laplace.approximate(
        lambda u: u[0] - np.exp(u[0]), start,
        gradient=lambda u: 1 - np.exp(u), hessian=hessian,
    )  # fmt: skip
    assert q.converged
    assert abs(q.mode[0]) < 1e-7


def test_the_remainder_looks_how_far_it_reaches():
    """Of 0 in 5, in log odds: -0.005 within two deviations, and not 0.083; a
    Student t with three degrees of freedom goes on for ever."""

    def log_f(w):
        return float(densities.share_log_odds(w[0], 0, 5))

    q = laplace.approximate(log_f, [0.0])
    for reach in (1.0, 2.0, 6.0):
        with pytest.raises(ValueError, match="reach must leave nothing"):
            laplace.remainder(log_f, q, reach=reach)
    gap = laplace.remainder(log_f, q, reach=30.0, step=0.25)
    exact = -np.log(6)  # B(1, 6)
    assert gap == pytest.approx(exact - q.log_evidence, abs=1e-9)
    q = laplace.approximate(lambda w: -2 * np.log1p(w @ w / 3), [0.1])
    with pytest.raises(ValueError, match="reach must leave nothing"):
        laplace.remainder(lambda w: -2 * np.log1p(w @ w / 3), q)


def test_a_hessian_must_be_symmetric_and_fit():
    """Given derivatives of the wrong shape are not broadcast."""
    for H in ([[-1.0, 0.3], [0.0, -1.0]], [-1.0, -1.0]):
        with pytest.raises(ValueError, match="hessian must"):
            laplace.approximate(
                lambda w: -0.5 * w @ w, [0.1, 0.1], hessian=lambda w, H=H: H
            )


def test_functions_of_the_wrong_shape_are_named():
    """One number from ln f, M from its gradient: else what arrived."""
    with pytest.raises(
        ValueError, match=r"ln f must have shape \(\); got \(2,"
    ):
        laplace.approximate(lambda w: -(w**2), [0.1, 0.1])
    with pytest.raises(ValueError, match=r"gradient must have shape \(2,\)"):
        laplace.approximate(
            lambda w: -w @ w, [0.1, 0.1], gradient=lambda w: -2 * w[:1]
        )


@pytest.mark.parametrize("kind", [int, np.float32, float])
def test_starts_of_any_kind_are_left_alone(kind):
    """Integers, single precision, read-only and strided arrays."""
    start = np.array([[3, 0], [-1, 0]], dtype=kind)[:, 0]
    start.flags.writeable = False
    q = laplace.approximate(lambda w: -0.5 * np.sum((w - 1) ** 2), start)
    np.testing.assert_allclose(q.mode, [1, 1], atol=1e-8)
    np.testing.assert_array_equal(start, [3, -1])


@given(
    arrays(float, (3, 3), elements=st.floats(-2, 2)),
    arrays(float, 3, elements=st.floats(-9, 9)),
    st.floats(-700, 700),
)
def test_any_precision_gives_the_normal_density(R, mode, log_f):
    """Against scipy; the evidence is ln f less ln q at the mode."""
    A = R @ R.T + 0.1 * np.eye(3)
    q = laplace.at_mode(mode, log_f, A)
    w = mode + np.array([[0.1, -0.2, 0.3], [2.0, 1.0, 0.0]])
    peer = stats.multivariate_normal(mode, np.linalg.inv(A))
    np.testing.assert_allclose(q.log_density(w), peer.logpdf(w), rtol=1e-8)
    want = log_f - peer.logpdf(mode)
    assert q.log_evidence == pytest.approx(want, rel=1e-9, abs=1e-9)


# What the approximation keeps and what it does not.


@given(
    st.floats(-3, 3), st.floats(0.1, 9), st.floats(0.01, 100), st.integers(1, 9)
)
def test_affine_maps_change_nothing(shift, k, slope, n):
    """z = shift + slope u: the mode moves along, the evidence stays."""

    def approximate(at, step, start):
        def z(u):
            return at + step * u[0]

        return laplace.approximate(
            lambda u: k * z(u) - n * np.exp(z(u)) + np.log(step),
            start,
            gradient=lambda u: step * (k - n * np.exp(z(u))),
            hessian=lambda u: -(step**2) * n * np.exp(z(u)),
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", laplace.NotGaussian)
        z = approximate(0.0, 1.0, 0.0)
        u = approximate(shift, slope, -shift / slope)
    assert shift + slope * u.mode[0] == pytest.approx(z.mode[0], abs=1e-7)
    assert u.log_evidence == pytest.approx(z.log_evidence, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(u.covariance * slope**2, z.covariance, rtol=1e-7)


def test_error_falls_as_one_over_n():
    """Stirling's series: ln Z - ln Z_q = 1/(12 N) - 1/(360 N^3) + ..."""
    for N in (5, 50, 500):
        q = laplace.approximate(partial(densities.rate, k=N, n=1), N + 1.0)
        exact = float(np.sum(np.log(np.arange(1, N + 1))))
        gap = exact - q.log_evidence
        series = 1 / (12 * N) - 1 / (360 * N**3) + 1 / (1260 * N**5)
        assert gap == pytest.approx(series, abs=2e-8)


def test_correction_in_one_dimension_is_stirlings():
    """l = k ln z: third derivative 2k/z^3, fourth -6k/z^4, at z = k."""
    for k in (3.0, 70.0):
        found = laplace.correction(
            np.ones((1, 1)),
            np.array([[k]]),
            np.array([2 / k**2]),
            np.array([-6 / k**3]),
        )
        assert found == pytest.approx(1 / (12 * k))


@pytest.mark.parametrize("change", ["Phi", "covariance", "third", "fourth"])
def test_correction_of_what_is_no_number_is_refused(change):
    """NaN was handed through, a short vector was an error of matmul."""
    given = {"Phi": np.ones((2, 1)), "covariance": np.eye(1)}
    given |= {"third": np.ones(2), "fourth": np.ones(2)}
    laplace.correction(**given)
    for wrong in (np.full_like(given[change], np.nan), np.ones(5)):
        with pytest.raises(ValueError, match=f"{change} must"):
            laplace.correction(**{**given, change: wrong})


def test_correction_in_two_dimensions_against_quadrature():
    """Poisson regression with every row forty times."""
    Phi = np.array([[1.0, -1.0], [1.0, 0.2], [1.0, 0.9], [0.3, 2.0]])
    t = np.array([1.0, 2.0, 2.0, 5.0])

    def error(c):
        def log_f(w):
            return c * float(t @ (Phi @ w) - np.exp(Phi @ w).sum())

        q = laplace.approximate(
            log_f,
            [0.5, 0.5],
            gradient=lambda w: c * Phi.T @ (t - np.exp(Phi @ w)),
            hessian=lambda w: -c * (Phi.T * np.exp(Phi @ w)) @ Phi,
        )
        y = np.exp(Phi @ q.mode)
        term = laplace.correction(Phi, q.covariance, -c * y, -c * y)
        return laplace.remainder(log_f, q), term

    gap, term = error(40.0)
    assert gap == pytest.approx(term, rel=0.03) and abs(term) > 1e-4


def test_remainder_is_what_quadrature_says():
    """One dimension against quad, two against dblquad, a Gaussian: nothing."""
    with pytest.warns(laplace.NotGaussian):
        q = laplace.approximate(densities.shoulder, 0.5)
    Z, _ = integrate.quad(lambda z: np.exp(densities.shoulder(z)), -9, 9)
    found = laplace.remainder(densities.shoulder, q, reach=20, step=0.05)
    assert found == pytest.approx(np.log(Z) - q.log_evidence, abs=1e-8)

    def log_f(w):
        return w[0] - np.exp(w[0]) - 0.5 * w @ [[1.0, 0.6], [0.6, 1.0]] @ w

    q = laplace.approximate(log_f, [0.0, 0.0])
    Z, _ = integrate.dblquad(
        lambda y, x: np.exp(log_f(np.array([x, y]))), -9, 9, -9, 9
    )
    assert laplace.remainder(log_f, q) == pytest.approx(
        np.log(Z) - q.log_evidence, abs=1e-8
    )
    units = np.array([1e3, 1.0, 1e-3])
    A = np.outer(units, units) * (np.eye(3) + 0.5)
    q = laplace.at_mode(np.zeros(3), 0.7, A)
    gap = laplace.remainder(
        lambda w: 0.7 - 0.5 * w @ q.precision @ w, q, reach=8, step=1.0
    )
    assert abs(gap) < 1e-7
    with pytest.raises(ValueError, match="at most 3 for a grid; got 4"):
        laplace.remainder(np.sum, laplace.at_mode(np.zeros(4), 0, np.eye(4)))


def test_real_data_against_quadrature():
    """O-rings, prior precision 0.2: the correction leaves under a third."""
    flights = data.challenger()
    Phi = data.with_bias(data.standardise(flights.X)[0])
    of = {"Phi": Phi, "alpha": 0.2}
    log_f = laplace.minus(partial(logistic.map_error, t=flights.t, **of))
    q = laplace.approximate(
        log_f,
        [0.0, 0.0],
        gradient=laplace.minus(
            partial(logistic.map_gradient, t=flights.t, **of)
        ),
        hessian=laplace.minus(partial(logistic.map_hessian, **of)),
    )
    gap = laplace.remainder(log_f, q)
    assert abs(gap) < 0.1
    S = q.covariance
    p = logistic.predict_proba(q.mode, Phi)[:, 1]
    r = p * (1 - p)
    third = -r * (1 - 2 * p)
    fourth = -r * (1 - 6 * p + 6 * p**2)
    term = laplace.correction(Phi, S, third, fourth)
    assert abs(gap - term) < 0.3 * abs(gap)


def test_a_mode_on_the_boundary_is_not_stationary():
    """No success in ten: the search ends at z = 0, and both warnings say so."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        q = laplace.approximate(
            partial(densities.share, k=0, n=10),
            0.3,
            gradient=lambda z: -10 / (1 - z),
            hessian=lambda z: -10 / (1 - z) ** 2,
        )
    kinds = [w.category for w in seen]
    assert kinds == [newton.NotConverged, laplace.NotGaussian]
    assert not q.converged and 0 < q.mode[0] < 1e-2


@pytest.mark.parametrize("w", [0.3, np.zeros((4, 1)), np.zeros(3), [1j, 0.0]])
def test_a_density_refuses_points_of_another_space(w):
    """A number, one column, three, complex: none is a w of two parameters."""
    q = laplace.at_mode([0.0, 1.0], 0.0, np.eye(2))
    with pytest.raises(ValueError, match="w must"):
        q.log_density(w)


@pytest.mark.parametrize("how", [{"step": 5}, {"step": 0}, {"reach": 0.5}])
def test_remainder_refuses_grids_that_see_nothing(how):
    """Steps of five standard deviations miss the bell."""
    q = laplace.at_mode(0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="0 < step <= 1 <= reach"):
        laplace.remainder(lambda w: -0.5 * float(w @ w), q, **how)


def test_what_is_no_gaussian_and_a_start_that_is_one_number():
    """Attributes were missed; one number was not iterable."""
    for run in (laplace.falls, laplace.remainder):
        with pytest.raises(ValueError, match="q must be a Laplace; got float"):
            run(lambda w: -np.sum(w**2), 1.0)
    (q,) = laplace.modes(lambda w: -np.sum(w**2), 3.0)
    assert q.mode == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("centre", [0.0, 1.0])
def test_what_differences_leave_in_doubt_is_told(centre):
    """Deviations of 1e-5 and 1e8: ln Z was off by 3e-4 without a word."""
    s, P = np.array([1e-5, 1e8]), np.linalg.inv([[1, 0.6], [0.6, 1]])

    def log_f(w):
        z = (w - centre) / s
        return -0.5 * z @ P @ z

    def gradient(w):
        return -(P @ ((w - centre) / s)) / s

    with pytest.warns(laplace.RoughDifferences, match="in doubt by .* units"):
        laplace.approximate(log_f, centre + 0.3 * s)
    how = {"gradient": gradient, "hessian": lambda w: -P / np.outer(s, s)}
    q = laplace.approximate(log_f, centre + 0.3 * s, **how)
    true = np.log(2 * np.pi * s[0] * s[1]) + 0.5 * np.log(1 - 0.36)
    assert q.log_evidence == pytest.approx(true, abs=1e-9)


def test_the_doubt_in_ln_z_is_half_a_trace():
    """d ln|A| = tr(A^-1 dA), at worst: all terms with one sign."""
    A = np.array([[2.0, -0.5], [-0.5, 1.0]])
    q, error = laplace.at_mode([0.0, 0.0], 0.0, A), np.array([[3.0, 1], [1, 4]])
    doubt = np.sum(np.abs(np.linalg.inv(A)) * error) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        laplace._doubted(q, 0.99 * laplace.DOUBT / doubt * error)
    with pytest.warns(laplace.RoughDifferences):
        laplace._doubted(q, 1.01 * laplace.DOUBT / doubt * error)


@pytest.mark.parametrize("m", [3.1, 3.7, 4.2])
@pytest.mark.parametrize("start", [[0.3, -0.2], [-0.25, 0.9]])
def test_a_faint_second_bump_does_not_spoil_the_differences(m, start):
    """At m = 3.1 the curvature was 1e6, and the point no maximum; elsewhere
    Newton's method went to and fro for a hundred steps."""

    def log_f(w):
        bump = np.exp(-0.5 * np.sum((w - m) ** 2))
        return -0.5 * (w[0] ** 2 + 3 * w[1] ** 2) + np.log(1 + bump / 2)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q = laplace.approximate(log_f, start)
    assert q.converged
    np.testing.assert_allclose(q.precision, np.diag([1.0, 3.0]), atol=0.01)
