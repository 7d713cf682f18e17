"""studies.clutter: a centre among clutter, by ADF and by EP."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from prml4 import ep
from prml4.numerics import newton
from prml4.studies import clutter

WORLD = clutter.World(w=0.4, a=7.0, b=30.0)
GRID = np.linspace(-40, 40, 8001)


def brute(X, world):
    """ln Z, mean, variance for D = 1."""
    return ep.moments_on_grid(clutter.log_joint(GRID[:, None], X, world), GRID)


@pytest.fixture
def X(rng):
    """Ten points on a line."""
    return clutter.draw(rng, 10, 2.0, WORLD)


def sites(rng, N, D):
    """Sites of either sign with proper cavities."""
    return rng.uniform(-0.1, 0.5, N), rng.standard_normal((N, D))


# The model.


@pytest.mark.parametrize("N", [-1, 2.5, None])
def test_draws_come_in_whole_numbers(rng, N):
    """Not in numpy's words."""
    with pytest.raises(ValueError, match="N must be a whole number"):
        clutter.draw(rng, N, 2.0, WORLD)


def test_draws_have_the_density(rng):
    """Kolmogorov and Smirnov do not object; columns share their clutter."""
    x = clutter.draw(rng, 20_000, [1.5, 0.0], WORLD)
    assert x.shape == (20_000, 2)

    def cdf(z):
        good, junk = stats.norm(1.5, 1), stats.norm(0, 7**0.5)
        return 0.6 * good.cdf(z) + 0.4 * junk.cdf(z)

    assert stats.kstest(x[:, 0], cdf).pvalue > 1e-3
    far = np.abs(x - [1.5, 0.0]) > 3.5
    assert np.corrcoef(far.T)[0, 1] > 0.1


def test_log_joint_is_prior_and_factors():
    """Against scipy, at several theta at once; w = 0 has no clutter."""
    X, theta = np.array([[0.5, 1.0], [-2.0, 0.3]]), np.array([[1.0, 0.2]] * 3)
    normal = stats.multivariate_normal

    def density(x):
        good = normal.pdf(x, theta[0], np.eye(2))
        return 0.6 * good + 0.4 * normal.pdf(x, np.zeros(2), 7 * np.eye(2))

    want = np.log(density(X[0]) * density(X[1]))
    want += normal.logpdf(theta[0], np.zeros(2), 30 * np.eye(2))
    np.testing.assert_allclose(clutter.log_joint(theta, X, WORLD), [want] * 3)
    clean = clutter.log_factor(theta, X[0], clutter.World(w=0.0))
    np.testing.assert_allclose(clean, normal.logpdf(X[0], theta[0], np.eye(2)))


# One factor.


@pytest.mark.parametrize("x", [-4.0, 0.3, 2.5, 9.0])
def test_tilted_moments_on_a_line(x):
    """By sums over a grid."""
    m, v = np.array([0.8]), 2.3
    log_p = clutter.log_gauss(GRID[:, None], m, v) + clutter.log_factor(
        GRID[:, None], np.array([x]), WORLD
    )
    log_Z, rho, m_t, v_t = clutter.tilted(np.array([x]), m, v, WORLD)
    want = ep.moments_on_grid(log_p, GRID)
    np.testing.assert_allclose([log_Z, m_t[0], v_t], want, rtol=1e-10)
    good = 0.6 * stats.norm.pdf(x, 0.8, 3.3**0.5)
    junk = 0.4 * stats.norm.pdf(x, 0, 7**0.5)
    assert rho == pytest.approx(good / (good + junk))


def test_tilted_moments_are_the_projection():
    """D = 2, from central differences of ln Z."""
    x, m, v, h = np.array([2.0, -1.0]), np.array([0.3, 0.4]), 1.7, 1e-5

    def log_Z(m, v):
        return clutter.tilted(x, m, v, WORLD)[0]

    slopes = [
        (log_Z(m + h * e, v) - log_Z(m - h * e, v)) / (2 * h) for e in np.eye(2)
    ]
    slope = (log_Z(m, v + h) - log_Z(m, v - h)) / (2 * h)
    _, _, m_t, v_t = clutter.tilted(x, m, v, WORLD)
    m_p, v_p = ep.projected(m, v, np.array(slopes), slope)
    np.testing.assert_allclose(m_t, m_p, rtol=1e-8)
    assert v_t == pytest.approx(v_p, rel=1e-8)


@given(
    st.floats(-1e3, 1e3),
    st.floats(-1e3, 1e3),
    st.floats(1e-8, 1e8),
    st.floats(0, 0.99),
)
def test_tilted_moments_are_moments(x, m, v, w):
    """Finite, a positive variance, a probability."""
    world = clutter.World(w=w)
    log_Z, rho, m_t, v_t = clutter.tilted(
        np.array([x]), np.array([m]), v, world
    )
    assert np.isfinite([log_Z, m_t[0], v_t]).all()
    assert v_t > 0 and 0 <= rho <= 1


@given(st.floats(-8, 8), st.floats(0.05, 50))
def test_a_site_is_negative_where_the_point_is_far_and_doubtful(x, v):
    """tau < 0 if and only if (1 - rho) |x - m|^2 > D (v + 1)."""
    x, m = np.array([x, 0.5]), np.array([0.2, -0.4])
    _, rho, _, v_t = clutter.tilted(x, m, v, WORLD)
    excess = (1 - rho) * np.sum((x - m) ** 2) / (2 * (v + 1)) - 1
    if abs(excess) > 1e-6 and rho > 1e-6:
        assert (1 / v_t - 1 / v < 0) == (excess > 0)


# ADF.


def test_filtering_one_point_is_exact(X):
    """Moments and evidence."""
    q = clutter.adf(X[:1], WORLD)
    np.testing.assert_allclose(
        [q.log_evidence, q.m[0], q.S], brute(X[:1], WORLD), rtol=1e-8
    )


def test_filtering_depends_on_the_order(X):
    """And takes a part of the rows."""
    forth, back = clutter.adf(X, WORLD), clutter.adf(X[::-1], WORLD)
    assert abs(forth.m[0] - back.m[0]) > 1e-3
    part = clutter.adf(X, WORLD, order=[4, 1])
    np.testing.assert_allclose(part.m, clutter.adf(X[[4, 1]], WORLD).m)
    assert part.log_Z.shape == (2,)
    assert part.log_evidence == pytest.approx(part.log_Z.sum())


# EP.


def test_without_clutter_it_is_exact(X):
    """w = 0: conjugate Gaussian, sites N(theta | x_n, I), two sweeps."""
    world = clutter.World(w=0.0, b=3.0)
    p = clutter.fit(X, world)
    assert p.converged and len(p.trace) == 2
    np.testing.assert_allclose(p.tau, 1.0)
    np.testing.assert_allclose(p.nu, X)
    np.testing.assert_allclose(
        [p.log_evidence, p.m[0], p.S], brute(X, world), rtol=1e-9
    )


def test_with_one_point_it_is_exact(X):
    """Nothing but one factor is approximated."""
    p = clutter.fit(X[:1], WORLD)
    assert p.converged
    np.testing.assert_allclose(
        [p.log_evidence, p.m[0], p.S], brute(X[:1], WORLD), rtol=1e-8
    )


def test_the_first_sweep_is_filtering(X):
    """In a given order."""
    order = [3, 1, 4, 0, 5, 9, 2, 6, 8, 7]
    q = clutter.adf(X, WORLD, order)
    with pytest.warns(newton.NotConverged, match="after 1 sweeps"):
        p = clutter.fit(X, WORLD, order=order, max_iter=1)
    assert not p.converged
    np.testing.assert_allclose(p.m, q.m)
    np.testing.assert_allclose(p.S, q.S)


def test_it_is_near_the_truth(X):
    """Nearer than filtering, in mean and evidence; some sites negative."""
    log_Z, m, v = brute(X, WORLD)
    p, q = clutter.fit(X, WORLD), clutter.adf(X, WORLD)
    assert p.converged and (p.tau < 0).any()
    assert abs(p.log_evidence - log_Z) < 0.3
    assert abs(p.m[0] - m) < abs(q.m[0] - m)
    assert abs(p.m[0] - m) < 0.2 * v**0.5


def test_tilted_moments_agree_at_the_end(rng):
    """D = 3, from the sites alone."""
    X = clutter.draw(rng, 15, [1.0, 2.0, -1.0], WORLD)
    p = clutter.fit(X, WORLD, tol=1e-12)
    v = 1 / (1 / 30 + p.tau.sum())
    np.testing.assert_allclose(p.S, v)
    np.testing.assert_allclose(p.m, v * p.nu.sum(axis=0))
    for x, tau, nu in zip(X, p.tau, p.nu, strict=True):
        v_c = 1 / (1 / v - tau)
        _, _, m_t, v_t = clutter.tilted(x, v_c * (p.m / v - nu), v_c, WORLD)
        np.testing.assert_allclose(m_t, p.m, atol=1e-10)
        assert v_t == pytest.approx(v, rel=1e-10)


def test_evidence_as_prml_writes_it_with_one_normaliser(rng):
    """(10.223) with s_n = Z_n / N(m_n | m_c, (v_n + v_c) I) and b^{-D/2}."""
    world = clutter.World(w=0.2, a=20.0, b=50.0)
    X = np.array([[2.0, 1.0], [3.0, 1.5], [2.5, 0.2], [1.8, 0.9]])
    p = clutter.fit(X, world)
    assert p.tau.min() > 0
    v_n, m_n = 1 / p.tau, p.nu / p.tau[:, None]
    v = p.S
    B = p.m @ p.m / v - np.sum(m_n**2 / v_n[:, None])
    total = np.log(v / 50) + B / 2
    for n, x in enumerate(X):
        m_c, v_c = clutter.cavity(n, p.tau, p.nu, world)
        log_Z = clutter.tilted(x, m_c, v_c, world)[0]
        normal = clutter.log_gauss(m_n[n], m_c, v_n[n] + v_c)
        total += log_Z - normal - np.log(2 * np.pi * v_n[n])
    assert p.log_evidence == pytest.approx(total, abs=1e-11)


@pytest.mark.parametrize("D", [1, 2])
def test_gradient_of_the_evidence_in_the_sites(rng, D):
    """Central differences where nothing is converged."""
    X = rng.standard_normal((5, D)) * 2
    tau, nu = sites(rng, 5, D)
    up, across = clutter.evidence_gradient(tau, nu, X, WORLD)
    h = 1e-5
    for k in range(5):
        e = h * np.eye(5)[k]
        high = clutter.log_evidence(tau + e, nu, X, WORLD)
        low = clutter.log_evidence(tau - e, nu, X, WORLD)
        assert up[k] == pytest.approx((high - low) / (2 * h), rel=1e-6)
        for i in range(D):
            e = np.zeros((5, D))
            e[k, i] = h
            high = clutter.log_evidence(tau, nu + e, X, WORLD)
            low = clutter.log_evidence(tau, nu - e, X, WORLD)
            slope = (high - low) / (2 * h)
            assert across[k, i] == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_evidence_is_stationary_where_it_stops(X):
    """All derivatives vanish."""
    p = clutter.fit(X, WORLD, tol=1e-13)
    for g in clutter.evidence_gradient(p.tau, p.nu, X, WORLD):
        np.testing.assert_allclose(g, 0, atol=1e-10)


def test_order_damping_and_rotation(rng):
    """The same end; q turns with the data."""
    X = clutter.draw(rng, 15, [2.0, 1.0], WORLD)
    p = clutter.fit(X, WORLD)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    others = (
        clutter.fit(X, WORLD, order=rng.permutation(15)),
        clutter.fit(X, WORLD, damping=0.5),
        clutter.fit(X @ turn, WORLD),
    )
    for q, want in zip(others, (p.m, p.m, p.m @ turn), strict=True):
        np.testing.assert_allclose(q.m, want, atol=1e-8)
        assert q.S == pytest.approx(p.S)
        assert q.log_evidence == pytest.approx(p.log_evidence, abs=1e-8)


def test_a_visit_goes_the_given_share_of_the_way(rng, X):
    """Linear in the damping, and the inputs stay as they are."""
    tau, nu = sites(rng, 10, 1)
    before = tau.copy(), nu.copy()
    full = clutter.update(3, tau, nu, X, WORLD)
    half = clutter.update(3, tau, nu, X, WORLD, 0.5)
    np.testing.assert_array_equal(tau, before[0])
    np.testing.assert_array_equal(nu, before[1])
    np.testing.assert_allclose(half[0], (tau + full[0]) / 2)
    np.testing.assert_allclose(half[1], (nu + full[1]) / 2)
    assert full[2] == half[2] > 0
    np.testing.assert_array_equal(full[0][[0, 9]], tau[[0, 9]])
    done = clutter.update(3, *full[:2], X, WORLD)
    np.testing.assert_allclose(done[0], full[0])
    assert done[2] < 1e-12


def test_drift_is_what_all_updates_would_do(rng):
    """Site by site; nothing is left to do at the end."""
    X = clutter.draw(rng, 6, [2.0, 1.0], WORLD)
    tau, nu = sites(rng, 6, 2)
    move = clutter.drift(np.r_[tau, nu.ravel()], X, WORLD)
    for n in range(6):
        t, r, _ = clutter.update(n, tau, nu, X, WORLD)
        assert move[n] == pytest.approx(t[n] - tau[n])
        np.testing.assert_allclose(move[6 + 2 * n : 8 + 2 * n], r[n] - nu[n])
    p = clutter.fit(X, WORLD, damping=0.5, tol=1e-12)
    rest = clutter.drift(np.r_[p.tau, p.nu.ravel()], X, WORLD)
    np.testing.assert_allclose(rest, 0, atol=1e-10)


# What may go wrong.


def test_an_improper_cavity_is_left_alone_and_named():
    """Site 0 holds q up by itself: without it there is no Gaussian."""
    X = np.array([[1.0], [2.0], [3.0]])
    tau, nu = np.array([3.0, -1.0, -1.0]), np.zeros((3, 1))
    new, _, gap = clutter.update(0, tau, nu, X, WORLD)
    assert gap == np.inf
    np.testing.assert_array_equal(new, tau)
    for f in (clutter.log_evidence, clutter.evidence_gradient):
        with pytest.raises(ValueError, match="cavity of site 0"):
            f(tau, nu, X, WORLD)
    with pytest.raises(ValueError, match="cavity of site 0"):
        clutter.drift(np.r_[tau, nu[:, 0]], X, WORLD)
    assert clutter.update(1, tau - 2, nu, X, WORLD)[2] == np.inf


def hard(seed):
    """Half clutter and five points: EP's worst case."""
    rng = np.random.default_rng(seed)
    world = clutter.World()
    return clutter.draw(rng, 5, 2.0, world), world


def test_a_failure_is_flagged():
    """One data set whose cavities end improper, one that goes in circles."""
    X, world = hard(2)
    with pytest.warns(ep.ImproperCavity, match="no Gaussians"):
        p = clutter.fit(X, world, max_iter=4)
    assert not p.converged and p.improper == (2,) and np.isnan(p.log_evidence)
    X, world = hard(5)
    with pytest.warns(newton.NotConverged, match="try damping"):
        p = clutter.fit(X, world)
    assert not p.converged and not p.improper
    assert np.isfinite(p.log_evidence) and p.trace[-1] > 0.1


def test_damping_mends_both():
    """The same data with steps of a third."""
    for seed in (2, 5):
        X, world = hard(seed)
        p = clutter.fit(X, world, damping=0.3, max_iter=600)
        assert p.converged


def test_what_is_refused(X):
    """ValueErrors that say what arrived."""
    for w in (-0.1, 1.0, np.nan, [0.5, 0.5]):
        with pytest.raises(ValueError, match="w must lie"):
            clutter.World(w=w)
    for name in "ab":
        with pytest.raises(ValueError, match=f"^{name} "):
            clutter.World(**{name: 0.0})
    with pytest.raises(ValueError, match="X"):
        clutter.fit(X[:, 0], WORLD)
    with pytest.raises(ValueError, match="finite"):
        clutter.adf(np.array([[np.inf]]), WORLD)
    with pytest.raises(ValueError, match="damping"):
        clutter.fit(X, WORLD, damping=2)
    with pytest.raises(ValueError, match="once"):
        clutter.fit(X, WORLD, order=[0])
    for w in ("half", None):
        with pytest.raises(ValueError, match="^w must"):
            clutter.World(w=w)
    for theta in (np.nan, np.ones((2, 2))):
        with pytest.raises(ValueError, match="theta"):
            clutter.draw(np.random.default_rng(1), 3, theta, WORLD)


def test_no_damping_helps_eight_points():
    """A sweep's derivative at the fixed point is above one for all steps."""
    world, k = clutter.World(), 8
    X = clutter.draw(np.random.default_rng(35), k, 2.0, world)
    with pytest.warns(UserWarning):
        p = clutter.fit(X, world, damping=0.02, max_iter=400)
    z = np.r_[p.tau, p.nu[:, 0]]
    root = optimize.root(clutter.drift, z, args=(X, world), tol=1e-12)
    assert root.success

    def swept(z, damping):
        tau, nu = z[:k], z[k:, None]
        for n in range(k):
            tau, nu, _ = clutter.update(n, tau, nu, X, world, damping)
        return np.r_[tau, nu[:, 0]]

    np.testing.assert_allclose(swept(root.x, 0.7), root.x, atol=1e-8)
    for damping in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0):
        J = [
            swept(root.x + e, damping) - swept(root.x - e, damping)
            for e in 1e-6 * np.eye(2 * k)
        ]
        radius = np.abs(np.linalg.eigvals(np.array(J) / 2e-6)).max()
        assert radius > 1 + 0.4 * damping


def test_evidence_as_prml_prints_it_fails_for_one_point():
    """(10.222) and (10.223) literally, D = 1, where EP is exact; mended not."""
    b, X = WORLD.b, np.array([[2.2]])
    p = clutter.fit(X, WORLD)
    v_n, m_n = 1 / p.tau[0], p.nu[0, 0] / p.tau[0]
    Z_1 = integrate.quad(
        lambda s: np.exp(clutter.log_joint(np.array([s]), X, WORLD)), -60, 60
    )[0]
    N = stats.norm.pdf(m_n, 0, (v_n + b) ** 0.5)
    B = p.m[0] ** 2 / p.S - m_n**2 / v_n
    s_n = Z_1 / ((2 * np.pi * v_n) ** 0.5 * N)
    printed = (2 * np.pi * p.S) ** 0.5 * np.exp(B / 2)
    printed *= s_n / (2 * np.pi * v_n) ** 0.5
    assert abs(np.log(printed / Z_1)) > 0.1
    once = s_n / (2 * np.pi * b) ** 0.5
    mended = (2 * np.pi * p.S) ** 0.5 * np.exp(B / 2) * once
    assert mended == pytest.approx(Z_1, rel=1e-9)


def test_second_moment_needs_the_variance_of_the_cavity():
    """PRML (10.245) lacks the last term of 2 v^2 d + 2 m_t m - m^2 + D v."""
    m, v, world = np.array([0.7, -0.4]), 1.3, clutter.World(w=0.0)
    far = np.array([0.5, 2.0])
    h = 1e-5
    high = clutter.tilted(far, m, v + h, world)[0]
    low = clutter.tilted(far, m, v - h, world)[0]
    _, _, m_t, v_t = clutter.tilted(far, m, v, world)
    assert v_t == pytest.approx(1 / (1 / v + 1))  # conjugate: no clutter
    want = m_t @ m_t + 2 * v_t
    printed = v**2 * (high - low) / h + 2 * m_t @ m - m @ m
    assert printed + 2 * v == pytest.approx(want, rel=1e-8)


@pytest.mark.parametrize("world", [None, 0.5, "World"])
def test_a_world_is_a_world(world):
    """Named before anything is computed."""
    for infer in (clutter.fit, clutter.adf):
        with pytest.raises(ValueError, match="world must be a World; got"):
            infer(np.zeros((2, 1)), world)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.float32])
def test_a_world_counts_in_double_precision(X, kind):
    """2 a = 200 overflowed, and ln 0.4 was that of a rounded number."""
    given = {"w": kind(0.4), "a": kind(100), "b": kind(100)}
    plain = clutter.World(**{name: float(v) for name, v in given.items()})
    q, p = clutter.adf(X, clutter.World(**given)), clutter.adf(X, plain)
    assert q.log_evidence == p.log_evidence and q.S == p.S


def test_sites_suit_the_observations(rng):
    """Sites of other shapes, NaN and a world that is none had no name."""
    X, world = rng.standard_normal((4, 2)), clutter.World()
    tau, nu = np.zeros(4), np.zeros((4, 2))
    wrong = [(tau[:3], nu, X), (tau, nu[:3], X), (tau, nu, X * np.nan)]
    for call in (clutter.log_evidence, clutter.evidence_gradient):
        for sites in wrong:
            with pytest.raises(ValueError, match="(tau|nu|X) must"):
                call(*sites, world)
        with pytest.raises(ValueError, match="world must"):
            call(tau, nu, X, None)
    with pytest.raises(ValueError, match="w must have shape"):
        clutter.log_joint(np.zeros(3), X, world)
