"""numerics.cubature: known integrals, and a second quadrature."""

import numpy as np
import pytest
from scipy import integrate, stats

from prml4 import laplace
from prml4.numerics import cubature, special


def gaussian_times(M):
    """A correlated Gaussian (unnormalised) in M dimensions."""
    B = np.eye(M) + 0.4 * np.ones((M, M))
    m = np.arange(M) - 0.3

    def log_f(w):
        d = w - m
        return -0.5 * np.sum(d @ B * d, axis=-1) + 1.7

    return log_f, m, B


@pytest.mark.parametrize("M", [1, 2, 3])
def test_a_gaussian_comes_out_exactly(M):
    """Also when q is off centre and has another shape."""
    log_f, m, B = gaussian_times(M)
    q = laplace.at_mode(m + 0.3, 0.0, np.eye(M) * 2.0)
    found = cubature.integrate(log_f, q)
    true = 1.7 + 0.5 * (M * np.log(2 * np.pi) - np.linalg.slogdet(B)[1])
    assert abs(found.log_evidence - true) < 1e-12
    np.testing.assert_allclose(found.mean, m, atol=1e-12)
    np.testing.assert_allclose(
        found.covariance, np.linalg.inv(B), rtol=1e-11, atol=1e-12
    )
    assert found.error < 1e-11
    np.testing.assert_allclose(found.p @ found.w[:, 0], m[0], 1e-11)


def skew(w):
    """ln {sigma(3 w_1 + w_2) sigma(-w_2) N(w | 0, 4 I)}: a long shoulder."""
    return (
        special.log_sigmoid(3 * w[..., 0] + w[..., 1])
        + special.log_sigmoid(-w[..., 1])
        - 0.125 * np.sum(w**2, axis=-1)
    )


def test_a_skew_density_against_adaptive_quadrature():
    """scipy's cubature to ten digits: evidence, mean, second moment."""
    A = np.array([[2.0, 0.3], [0.3, 0.6]])
    found = cubature.integrate(skew, laplace.at_mode([0.5, -0.5], 0.0, A))

    def moment(f):
        return integrate.cubature(
            lambda w: f(*w.T) * np.exp(skew(w)),
            [-26, -26],
            [26, 26],
            rtol=1e-11,
            atol=1e-12,
        ).estimate

    Z = moment(lambda x, y: np.ones_like(x))
    mean = moment(lambda x, y: x) / Z
    cross = moment(lambda x, y: x * y) / Z
    assert abs(found.log_evidence - np.log(Z)) < 1e-9
    assert abs(found.mean[0] - mean) < 1e-9
    assert abs(found.covariance[0, 1] - cross + mean * found.mean[1]) < 1e-9
    assert abs(found.p.sum() - 1) < 1e-12
    np.testing.assert_allclose(found.p @ found.w, found.mean, atol=1e-12)


def test_it_says_what_it_cannot_do():
    """Four weights; a density that does not fall; one with a wall."""
    q = laplace.at_mode(np.zeros(4), 0.0, np.eye(4))
    with pytest.raises(ValueError, match="for a grid; got 4"):
        cubature.integrate(lambda w: -np.sum(w**2, -1), q)
    one = laplace.at_mode([0.0], 0.0, [[1.0]])
    with pytest.raises(cubature.TooCoarse, match="cannot be normalised"):
        cubature.integrate(lambda w: special.log_sigmoid(w[:, 0]), one)
    with pytest.raises(cubature.TooCoarse, match="with 4096 nodes .* move by"):
        cubature.integrate(
            lambda w: np.where(w[:, 0] > 0.1, -np.abs(w[:, 0]) * 9, -99.0),
            laplace.at_mode([0.5], 0.0, [[1.0]]),
        )


@pytest.mark.parametrize("M", [1, 2, 3])
@pytest.mark.parametrize("gap", [8.0, 30.0, 95.0])
def test_two_modes_far_apart_are_both_seen(M, gap):
    """Or refused by name, where that would take too many nodes."""
    d = (
        gap
        * np.array([0.7, 0.5, 0.5])[:M]
        / np.linalg.norm([0.7, 0.5, 0.5][:M])
    )

    def log_f(w):
        far = np.log(3) - 0.5 * np.sum((w + d) ** 2, -1)
        return np.logaddexp(-0.5 * np.sum(w**2, -1), far)

    q, tol = laplace.at_mode(np.zeros(M), 0.0, np.eye(M)), 1e-6
    if M == 3 and gap > 50:
        with pytest.raises(cubature.TooCoarse, match="results move by"):
            cubature.integrate(log_f, q, tol=tol)
        return
    found = cubature.integrate(log_f, q, tol=tol)
    true = np.log(4) + 0.5 * M * np.log(2 * np.pi)
    assert abs(found.log_evidence - true) < tol
    np.testing.assert_allclose(found.mean, -0.75 * d, rtol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_density_is_named(value):
    """NaN somewhere, an infinite peak, nothing anywhere; a silly tol."""
    one = laplace.at_mode([0.0], 0.0, [[1.0]])

    def log_f(w):
        far = -0.5 * w[:, 0] ** 2 if value > -np.inf else value
        return np.where(np.abs(w[:, 0]) < 3, value, far)

    with pytest.raises(ValueError, match="largest ln f must be finite"):
        cubature.integrate(log_f, one)
    with pytest.raises(ValueError, match="tol must be one positive"):
        cubature.integrate(log_f, one, tol=0.0)


@pytest.mark.parametrize("M", [1, 2, 3])
def test_a_lattice_integrates_what_falls_within_its_reach(M):
    """E[(z_1^2 + ... + z_M^2)] = M under N(0, I), to rounding."""
    z = cubature.lattice(M, 9.0, 0.5)
    p = np.exp(-0.5 * np.sum(z**2, axis=1)) * (0.5 / np.sqrt(2 * np.pi)) ** M
    assert p.sum() == pytest.approx(1, abs=1e-13)
    assert p @ np.sum(z**2, axis=1) == pytest.approx(M, abs=1e-12)
    assert len(z) == 37**M and np.abs(z).max() == 9.0


def test_a_lattice_names_what_it_cannot_do():
    """Too many dimensions, no step, a step beyond the reach."""
    with pytest.raises(ValueError, match="at most 3 for a grid; got 4"):
        cubature.lattice(4, 9.0, 0.5)
    for reach, step in ((9.0, 0.0), (9.0, 2.0), (0.5, 0.5), (np.inf, 0.5)):
        with pytest.raises(ValueError, match="step, reach must obey"):
            cubature.lattice(1, reach, step)
    for M, step in ((1, 1e-320), (1, 1e-9), (3, 0.01)):
        with pytest.raises(ValueError, match="step must leave at most 5e"):
            cubature.lattice(M, 9.0, step)
    with pytest.raises(ValueError, match="reach, step must hold real numbers"):
        cubature.lattice(1, 9.0, "0.5")


@pytest.mark.parametrize("M", [1, 2, 3])
@pytest.mark.parametrize("lower", [0.2, 8.0])
def test_a_mode_half_way_between_the_places_looked_at_is_seen(M, lower):
    """As wide as q, and farther from every such place than any other."""
    d = np.array([15.0, -5.0, 25.0])[:M]

    def log_f(w):
        far = -lower - 0.5 * np.sum((w - d) ** 2, -1)
        return np.logaddexp(-0.5 * np.sum(w**2, -1), far)

    q = laplace.at_mode(np.zeros(M), 0.0, np.eye(M))
    found = cubature.integrate(log_f, q, tol=1e-6)
    true = np.log1p(np.exp(-lower)) + 0.5 * M * np.log(2 * np.pi)
    assert abs(found.log_evidence - true) < 1e-6


def test_the_places_amid_which_a_mode_may_be_alive():
    """A cell's middle counts for M h^2 / 8 = 6.25 more than its value: with
    a fall of 25.2 the middles of |z|^2 / 2 < 31.45, twelve of them, and q's.
    """
    places, top = cubature._alive(lambda z: -0.5 * np.sum(z**2, 1), 2, 25.2)
    near = [(x, y) for x in (-2.5, 2.5) for y in (-7.5, -2.5, 2.5, 7.5)]
    side = [(y, x) for x, y in near if abs(y) > 3]
    assert sorted(map(tuple, places)) == sorted([(0.0, 0.0), *near, *side])
    assert top == 0


@pytest.mark.parametrize(("bend", "tol"), [(2.0, 1e-11), (5.0, 1e-3)])
def test_a_ridge_that_leaves_through_a_face_is_named(bend, tol):
    """It went between the places looked at: variances 2% too small."""

    def banana(w):
        return -0.5 * (w[:, 0] ** 2 + (w[:, 1] - bend * w[:, 0] ** 2) ** 2)

    q = laplace.at_mode([0.0, 0.0], 0.0, np.eye(2))
    with pytest.raises(cubature.TooCoarse, match="rim of the grid"):
        cubature.integrate(banana, q, tol=tol)


def test_the_rim_holds_its_share_of_the_second_moment():
    """One node and a half of 32, each 1/16 of half the box: from 9.53 on;
    0.001 of the mass at (-9.6, 3) gives 0.1012, beside the middle (0, 10)."""
    ends = np.array([[-10.0, 10.0], [0.0, 20.0]])
    z, p = np.array([[-9.6, 3.0], [9.2, 11.0]]), np.array([1e-3, 0.999])
    sums = None, None, None, z, p
    assert cubature._within(ends, 32, sums, 0.1012) is sums
    with pytest.raises(cubature.TooCoarse, match=r"holds 1\.0e-01 of E"):
        cubature._within(ends, 32, sums, 0.1011)


def test_far_out_a_place_counts_for_more():
    """By |z|^(M + 2) e^-12 where that is more than 1, and at 0 by nothing;
    the farthest coordinate of a node says how far it is."""
    z = np.array([0.0, 1.5, -20.0, 125.0, -175.0])
    with np.errstate(all="raise"):
        pull = cubature._pull(z, 2)
    assert not pull[:3].any()
    want = np.abs(z[3:]) ** 4 / np.exp(12)
    np.testing.assert_allclose(np.exp(pull[3:]), want)
    ends, rest = np.array([[-200.0, 200.0], [-1.0, 1.0]]), []
    for lower in (7.0, 8.0, 9.0):  # ln |z|^4 - 12 is 7.3 at 125, 8.7 at 175

        def log_g(z, lower=lower):
            return np.where(np.abs(z[:, 0]) < 100, 0, -5 - lower)

        *_, kept, p = cubature._sums(log_g, ends, 8, 5.0)
        assert len(kept) == len(p)
        rest.append(len(kept))
    assert rest == [64, 48, 32]


@pytest.mark.parametrize(("nu", "tol"), [(5, 1e-6), (7, 1e-6), (10, 1e-11)])
def test_long_tails_have_their_share_of_the_variance(nu, tol):
    """Student's t: e^-fall of the peak far out was cut off, 1e-4 for nu = 4."""
    q = laplace.at_mode([0.0], 0.0, [[1.0]])
    found = cubature.integrate(
        lambda w: stats.t(nu).logpdf(w[:, 0]), q, tol=tol
    )
    assert found.covariance[0, 0] == pytest.approx(nu / (nu - 2), abs=tol)
    with pytest.raises(cubature.TooCoarse, match="move by"):
        cubature.integrate(lambda w: stats.t(4).logpdf(w[:, 0]), q, tol=tol)


@pytest.mark.parametrize("tol", [0.1, 0.05])
@pytest.mark.parametrize("wall", [-1.171, 0.853, 1.232, 2.265])
def test_the_error_knows_of_a_wall(wall, tol):
    """A normal density cut off at `wall`: grids that agree by chance were off
    by up to thirty times the stated error.
    """
    q = laplace.at_mode([0.0], 0.0, [[1.0]])
    found = cubature.integrate(
        lambda w: np.where(w[:, 0] > wall, stats.norm.logpdf(w[:, 0]), -np.inf),
        q, tol=tol,
    )  # fmt: skip
    true = stats.truncnorm(wall, np.inf)
    assert abs(found.log_evidence - stats.norm.logsf(wall)) < found.error < tol
    assert abs(found.mean[0] - true.mean()) < found.error
    assert abs(found.covariance[0, 0] - true.var()) < found.error


def test_what_a_lattice_does_not_reach():
    """The share of its outermost nodes, whole steps within reach or not."""
    for reach, step in ((3.0, 0.5), (3.2, 0.7)):
        z = cubature.lattice(2, reach, step)
        inner = (np.abs(z).max(axis=1) <= 2).astype(float)
        cubature.reached(z, inner / inner.sum(), reach, step)
        with pytest.raises(ValueError, match="outermost nodes hold 1e[+]00"):
            cubature.reached(
                z, (z[:, 1] == z[:, 1].max()) / len(z) ** 0.5, reach, step
            )
