"""models.kernels: values, slopes, sums and products, coinciding points."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from prml4.models import kernels
from prml4.referee.estimate import partials

BASE = {
    "constant": (kernels.constant, 1),
    "noise": (kernels.noise, 1),
    "linear": (kernels.linear, 1),
    "linear by columns": (lambda: kernels.linear(3), 3),
    "squared exponential": (kernels.squared_exponential, 1),
    "one length a column": (lambda: kernels.squared_exponential(3), 3),
    "Matern 1/2": (lambda: kernels.matern(0.5), 1),
    "Matern 3/2": (lambda: kernels.matern(1.5), 1),
    "Matern 5/2": (lambda: kernels.matern(2.5), 1),
    "Matern 1/2 by columns": (lambda: kernels.matern(0.5, 3), 3),
    "Matern 3/2 by columns": (lambda: kernels.matern(1.5, 3), 3),
    "Matern 5/2 by columns": (lambda: kernels.matern(2.5, 3), 3),
    "periodic": (kernels.periodic, 2),
    "periodic, known": (lambda: kernels.periodic(0.7), 1),
}


@pytest.fixture(params=BASE)
def named(request):
    """Name, kernel, number of hyperparameters."""
    make, P = BASE[request.param]
    return request.param, make(), P


def by_definition(name, theta, x, z, same):
    """k(x, z) as the page prints it, entry by entry."""
    h = np.exp(theta)
    if name in ("constant", "noise"):
        return h[0] * (same or name == "constant")
    if name.startswith("linear"):
        return float(np.sum(h * x * z))
    if name.startswith("periodic"):
        h = h if name == "periodic" else [h[0], 0.7]
        s2 = np.sum(np.sin(np.pi * (x - z) / h[1]) ** 2)
        return np.exp(-2 * s2 / h[0] ** 2)
    r = np.sqrt(np.sum(((x - z) / h) ** 2))
    if name.startswith("Matern 1/2"):
        return np.exp(-r)
    if name.startswith("Matern 3/2"):
        return (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r)
    if name.startswith("Matern 5/2"):
        return (1 + 5**0.5 * r + 5 * r**2 / 3) * np.exp(-(5**0.5) * r)
    return np.exp(-(r**2) / 2)


def points(rng, N=7):
    """Points of three columns, two of them the same."""
    X = rng.standard_normal((N, 3))
    X[4] = X[1]
    return X


def test_values_are_the_definitions(named, rng):
    """C_nm = k(x_n, z_m) entry by entry; symmetric; diagonal alone."""
    name, k, P = named
    X, Z, theta = points(rng), rng.standard_normal((4, 3)), rng.normal(size=P)
    want = [
        [by_definition(name, theta, x, z, i == j) for j, z in enumerate(X)]
        for i, x in enumerate(X)
    ]
    C = k(theta, X)
    np.testing.assert_allclose(C, want, rtol=1e-13)
    np.testing.assert_array_equal(C, C.T)
    np.testing.assert_allclose(k.diagonal(theta, X), np.diag(C), rtol=1e-14)
    cross = [[by_definition(name, theta, x, z, False) for z in Z] for x in X]
    np.testing.assert_allclose(k(theta, X, Z), cross, rtol=1e-13)
    assert len(k.names) == P


def test_slopes_are_differences(named, rng):
    """dC / dtheta_j, exactly 0 or right where points coincide."""
    _, k, P = named
    X, theta = points(rng), rng.normal(size=P)
    X[5] = X[6] + 0.1  # no two coincide, nor are they far apart
    found, _ = partials(lambda at: k(at, X), theta)
    C, slopes = k.with_gradients(theta, X)
    np.testing.assert_array_equal(C, k(theta, X))
    slopes = np.stack(list(slopes), axis=-1)
    assert slopes.shape == (7, 7, P)
    gap = np.abs(slopes - found.value)
    assert np.all(gap <= 10 * found.error + 1e-13 * np.abs(slopes))
    np.testing.assert_array_equal(
        slopes, np.stack(list(k.gradients(theta, X)), axis=-1)
    )


def test_two_columns_of_a_linear_kernel(rng):
    """One slope variance for each: dC / d ln v_d = v_d x_d x_d^T."""
    X = rng.standard_normal((5, 2))
    slopes = list(kernels.linear(2).gradients([0.4, -0.3], X))
    want = [
        np.exp(v) * np.outer(x, x)
        for v, x in zip([0.4, -0.3], X.T, strict=True)
    ]
    np.testing.assert_allclose(slopes, want)


def test_sums_and_products(rng):
    """(a + b c) and its slopes against differences; theta in order."""
    k = kernels.matern(2.5, 3) + kernels.constant() * kernels.periodic()
    k = (k * kernels.linear()) + kernels.noise() + kernels.constant()
    assert k.names == (
        "length 1", "length 2", "length 3", "variance", "length", "period",
        "slope variance", "noise variance", "variance",
    )  # fmt: skip
    X, theta = points(rng), rng.normal(size=9)
    found, _ = partials(lambda at: k(at, X), theta)
    slopes = np.stack(list(k.gradients(theta, X)), axis=-1)
    assert np.all(np.abs(slopes - found.value) <= 10 * found.error + 1e-12)
    parts = kernels.matern(2.5, 3)(theta[:3], X) + np.exp(
        theta[3]
    ) * kernels.periodic()(theta[4:6], X)
    parts = parts * kernels.linear()(theta[6], X) + np.exp(theta[8])
    parts += np.exp(theta[7]) * np.eye(7)
    np.testing.assert_allclose(k(theta, X), parts, rtol=1e-13)
    np.testing.assert_allclose(k.diagonal(theta, X), np.diag(parts))
    with pytest.raises(TypeError):
        k + 1


def test_constants_alone_have_full_shape_and_own_memory():
    """Matrices (N, N), writable, though one number says it all."""
    k = kernels.constant() + kernels.constant()
    C, slopes = k.with_gradients([0.0, 1.0], np.zeros((3, 2)))
    C[0, 0] = 7
    assert C[1, 1] == 1 + np.e
    assert [slope.shape for slope in slopes] == [(3, 3), (3, 3)]
    assert k.diagonal([0.0, 1.0], np.zeros((3, 2))).tolist() == [1 + np.e] * 3
    assert kernels.noise()([0.0], [1.0], [1.0]).tolist() == [[0.0]]


def test_many_columns_are_multiplied_and_close_pairs_formed_anew(
    rng, monkeypatch
):
    """Not pair by pair; of four million pairs 80 000 are close."""
    X = rng.standard_normal((50, 13)).repeat(40, axis=0)
    X += 1e-6 * rng.standard_normal(X.shape)
    want = cdist(X, X, "sqeuclidean")
    monkeypatch.setattr(kernels, "cdist", None)
    found = kernels.squared_distances(X)
    np.testing.assert_allclose(found, want, rtol=1e-11)
    found = kernels.squared_distances(X[:2], X[40:])
    np.testing.assert_allclose(found, want[:2, 40:], rtol=1e-11)


@pytest.mark.parametrize("D", [1, 12, 13, 40])
def test_squared_distances_do_not_cancel(D, rng):
    """Against 50 digits: near pairs, an outlier, a cluster, two sets."""
    for spread in (1e-7, 1e-3, 1.0, 1e7):
        X = rng.standard_normal((30, D))
        X[10:20] = X[:10] + spread * rng.standard_normal((10, D))
        X[3] = X[2]
        for Z in (None, X[::-1] + 1e-5, X[:1] + 3):
            found = kernels.squared_distances(X, Z)
            other = X if Z is None else Z
            gap = X[:, None] - other
            want = np.sum(gap * gap, axis=-1)
            np.testing.assert_allclose(found, want, rtol=1e-11, atol=0)
    with mpmath.workdps(50):
        exact = sum(
            (mpmath.mpf(a) - mpmath.mpf(b)) ** 2
            for a, b in zip(X[0], X[10], strict=True)
        )
    np.testing.assert_allclose(
        kernels.squared_distances(X)[0, 10], float(exact), rtol=1e-11
    )


@pytest.mark.parametrize("D", [2, 20])
def test_a_common_offset_changes_nothing(D, rng):
    """k depends on differences, though the inputs are as large as dates."""
    X = np.round(rng.standard_normal((40, D)), 6)
    for k, P in ((kernels.squared_exponential(D), D), (kernels.matern(), 1)):
        there = k(np.zeros(P), X + 2.0**20, X[:5] + 2.0**20)
        here = k(np.zeros(P), X, X[:5])
        np.testing.assert_allclose(there, here, rtol=1e-8)


@given(st.floats(-27, 27), st.floats(-27, 27), st.integers(0, 10**6))
def test_positive_semidefinite_whatever_the_scales(log_v, log_l, seed):
    """No eigenvalue below rounding, no NaN, for amplitudes of 1e+-12."""
    X = np.random.default_rng(seed).standard_normal((9, 2))
    X[1] = X[0]
    for base in (
        kernels.squared_exponential(),
        kernels.matern(0.5),
        kernels.matern(2.5),
    ):
        k = kernels.constant() * base
        C, slopes = k.with_gradients([log_v, log_l], X)
        assert np.linalg.eigvalsh(C)[0] >= -1e-14 * 9 * np.exp(log_v)
        assert all(np.isfinite(slope).all() for slope in slopes)


@pytest.mark.parametrize("log_p", [-230.0, -60.0, -36.0, -30.0, 0.0, 60.0])
def test_periods_of_any_length_give_covariances(log_p, rng):
    """Positive semi-definite where x / p has no digits after the point."""
    x = 5 * rng.standard_normal(9)
    C, slopes = kernels.periodic().with_gradients([0.0, log_p], x)
    assert np.linalg.eigvalsh(C)[0] >= -1e-14
    assert all(np.isfinite(slope).all() for slope in slopes)
    there = kernels.periodic()([0.3, 0.1], x + 2.0**30, x[:4] + 2.0**30)
    here = kernels.periodic()([0.3, 0.1], x, x[:4])
    np.testing.assert_allclose(there, here, rtol=1e-5)


def test_one_dimension_may_be_a_vector(rng):
    """X (N,) and X (N, 1) are the same points."""
    x = rng.standard_normal(5)
    k = kernels.squared_exponential()
    np.testing.assert_array_equal(k([0.3], x), k([0.3], x[:, None]))
    np.testing.assert_array_equal(k(0.3, x, x[:2]), k([0.3], x)[:, :2])


def test_integers_float32_and_strides(rng):
    """Other number types and memory orders; nothing is modified."""
    X = np.arange(12).reshape(6, 2)
    k = kernels.constant() * kernels.matern(1.5, 2)
    theta = np.array([0.5, 0.1, 1.0])
    want = k(theta, X.astype(float))
    for other in (X, X.astype(np.float32), np.asfortranarray(X)[:, :]):
        kept = other.copy()
        other.flags.writeable = False
        np.testing.assert_array_equal(k(theta, other), want)
        np.testing.assert_array_equal(other, kept)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda k: k([0.0], np.eye(2)), "theta must hold 3 logarithms"),
        (lambda k: k([0, 0, np.nan], np.eye(2)), "variance, length 1"),
        (lambda k: k([0, 0, 400], np.eye(2)), "between -230 and 230"),
        (lambda k: k([0, 0, 0], np.eye(3)), "2 columns, one for each"),
        (lambda k: k([0, 0, 0], [[1, np.inf]]), "X must be finite"),
        (lambda k: k([0, 0, 0], np.eye(2), np.eye(3)), "as many columns"),
        (lambda k: k([0, 0, 0], np.empty((0, 2))), "at least one row"),
        (lambda k: k([0, 0, 0], [["a", "b"]]), "real numbers"),
        (lambda k: k([0, -230, 0], 1e20 * np.eye(2)), "scales of the kernel"),
        (lambda k: k.diagonal([0.0], np.eye(2)), "theta must hold"),
        (lambda k: kernels.matern(1.0), "nu must be"),
        (lambda k: kernels.matern(0.5, 0), "scales must be"),
        (lambda k: kernels.linear(1.5), "scales must be"),
        (lambda k: kernels.matern(0.5, np.nan), "scales must be"),
        (lambda k: k([0, 0, 0], np.empty((3, 0))), "one column"),
        (lambda k: kernels.periodic(-1), "period must be one positive"),
    ],
)
def test_bad_input_is_named(call, said):
    """A ValueError that says what arrived and what was expected."""
    k = kernels.constant() * kernels.squared_exponential(2)
    with pytest.raises(ValueError, match=said):
        call(k)


def test_a_short_period_leaves_its_slope_its_digits():
    """A million periods apart: 0.13 of the slope was rounding."""
    p = 2.0**-20
    X = np.array([0.0, 0.3 * p, 2.0**20 + 0.4 * p])
    near = np.array([0.0, 0.3 * p, 0.4 * p])
    theta = np.array([0.0, np.log(p)])
    k = kernels.periodic()
    C, slopes = k.with_gradients(theta, X)
    slope = list(slopes)[1]
    p = np.exp(theta[1])
    u = np.pi / p * np.subtract.outer(X, X)
    sine = np.sin(2 * np.pi / p * np.subtract.outer(near, near))
    np.testing.assert_allclose(slope, 2 * C * u * sine, rtol=1e-3)


@pytest.mark.parametrize("far", [1e8, 1e12, -1e16])
@pytest.mark.parametrize("scales", [1, 2])
def test_a_far_point_leaves_the_others_their_digits(far, scales, rng):
    """The mean of all was the origin: 0.6 of k among near points was lost."""
    X = rng.normal(size=(6, 2))
    all_of_them = np.vstack([X[:3], [[far, 0.0]], X[3:]])
    near = [0, 1, 2, 4, 5, 6]
    k, theta = kernels.squared_exponential(scales), -np.ones(scales)
    C, slopes = k.with_gradients(theta, all_of_them)
    np.testing.assert_allclose(C[near][:, near], k(theta, X), rtol=1e-12)
    np.testing.assert_array_equal(k(theta, all_of_them), C)
    crossed = k(theta, all_of_them, X)[near]
    np.testing.assert_allclose(crossed, k(theta, X), rtol=1e-12)
    for slope, right in zip(slopes, k.gradients(theta, X), strict=True):
        np.testing.assert_allclose(slope[near][:, near], right, rtol=1e-12)
