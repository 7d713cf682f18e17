"""EP for Gaussian processes against enumeration, quadrature and itself."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import log_expit, log_ndtr

from prml4 import averages, gp_ep, gp_laplace, gp_sweeps, validate
from prml4.likelihoods import LOGISTIC, PROBIT
from prml4.newton import NotConverged

LOG_P = {"probit": log_ndtr, "logistic": log_expit}
BOTH = pytest.mark.parametrize("likelihood", [PROBIT, LOGISTIC])


def kernel(x, z=None, variance=4.0, scale=1.0):
    """A squared exponential, written out."""
    z = x if z is None else z
    return variance * np.exp(-((x[:, None] - z) ** 2) / (2 * scale**2))


@pytest.fixture
def problem(rng):
    """Twelve noisy signs of a sine."""
    x = np.sort(rng.uniform(-3, 3, 12))
    t = np.sin(1.5 * x) + 0.4 * rng.normal(size=12) > 0
    return x, kernel(x), t.astype(float)


def grid_moments(C, t, likelihood):
    """ln Z, mean and variances of two latent values, by brute force."""
    u = np.linspace(-14, 14, 1401)
    F = np.stack(np.meshgrid(u, u, indexing="ij"), -1)
    s = 2 * t - 1
    log_p = LOG_P[likelihood.name](s * F).sum(-1)
    log_p += stats.multivariate_normal.logpdf(F, np.zeros(2), C)
    p = np.exp(log_p)
    Z = p.sum() * (u[1] - u[0]) ** 2
    p /= p.sum()
    mean = np.tensordot(p, F, 2)
    return np.log(Z), mean, np.tensordot(p, (F - mean) ** 2, 2)


# The fixed point.


@BOTH
@pytest.mark.parametrize("variance", [1e-6, 0.3, 3.0, 50.0])
def test_one_observation_is_exact(likelihood, variance):
    """With one site the tilted distribution is the posterior itself."""
    log_z, d1, d2 = likelihood.average(0.0, variance, 1)
    found = gp_ep.fit([[variance]], [1], likelihood)
    assert found.converged
    assert found.log_evidence == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(found.mean, variance * d1, rtol=1e-12)
    v = variance + variance**2 * d2
    np.testing.assert_allclose(found.variance, v, rtol=1e-12)


@BOTH
@pytest.mark.parametrize("t", [[1, 0], [1, 1]])
def test_two_observations_are_near_the_truth(likelihood, t):
    """Against a two-dimensional grid; EP errs by 5e-4 here, Laplace by 0.05."""
    C, t = kernel(np.array([-0.6, 0.9])), np.array(t, float)
    log_z, mean, variance = grid_moments(C, t, likelihood)
    found = gp_ep.fit(C, t, likelihood)
    assert abs(found.log_evidence - log_z) < 2e-3
    np.testing.assert_allclose(found.mean, mean, atol=0.02)
    np.testing.assert_allclose(found.variance, variance, atol=0.08)
    other = gp_laplace.fit(C, t, likelihood).log_evidence
    assert abs(found.log_evidence - log_z) < 0.1 * abs(other - log_z)


@BOTH
def test_marginals_have_the_tilted_moments(problem, likelihood):
    """This is what EP's fixed point means."""
    _, C, t = problem
    found = gp_ep.fit(C, t, likelihood, tol=1e-11)
    m, s2 = found.q.m, found.q.s2
    _, d1, d2 = likelihood.average(m, s2, t)
    np.testing.assert_allclose(found.mean, m + s2 * d1, rtol=1e-9)
    np.testing.assert_allclose(found.variance, s2 + s2**2 * d2, rtol=1e-9)


@BOTH
def test_every_method_ends_at_the_same_point(problem, rng, likelihood):
    """Fixed points do not depend on the way, nor on the order."""
    _, C, t = problem
    best = gp_ep.fit(C, t, likelihood, tol=1e-10)
    for how in (
        {"method": "accelerated"},
        {"method": "parallel", "damping": 0.7},
        {"method": "sequential"},
        {"method": "sequential", "order": rng.permutation(len(t))},
    ):
        other = gp_ep.fit(C, t, likelihood, tol=1e-10, **how)
        assert other.log_evidence == pytest.approx(best.log_evidence, rel=1e-12)
        np.testing.assert_allclose(other.tau, best.tau, rtol=1e-7)
        np.testing.assert_allclose(other.nu, best.nu, rtol=1e-7, atol=1e-9)


def test_first_sequential_sweep_is_adf(problem):
    """Each observation once, moments matched: assumed-density filtering."""
    _, C, t = problem
    with pytest.warns(NotConverged):
        found = gp_ep.fit(C, t, method="sequential", max_sweeps=1)
    mu, S = np.zeros(len(C)), C.copy()
    for n in range(len(C)):
        _, d1, d2 = averages.probit(mu[n], S[n, n], t[n])
        s = S[:, n].copy()
        mu, S = mu + s * d1, S + np.outer(s, s) * d2
    np.testing.assert_allclose(found.mean, mu, rtol=1e-10)
    np.testing.assert_allclose(found.variance, np.diag(S), rtol=1e-10)


# The evidence.


@BOTH
def test_evidence_is_the_integral_of_prior_times_sites(likelihood):
    """ln int N(f|0,C) prod t_n, sites with their normalisers, on a grid."""
    C, t = kernel(np.array([-0.6, 0.9])), np.array([1.0, 0.0])
    found = gp_ep.fit(C, t, likelihood)
    m, s2, tau, nu = found.q.m, found.q.s2, found.tau, found.nu
    u = np.linspace(-16, 16, 1601)
    F = np.stack(np.meshgrid(u, u, indexing="ij"), -1)
    # the cavity times c exp(nu f - tau f^2 / 2) has the mass Z_n
    h = u[1] - u[0]
    shape = np.exp(nu * u[:, None] - tau * u[:, None] ** 2 / 2)
    mass = (stats.norm.pdf(u[:, None], m, np.sqrt(s2)) * shape).sum(0) * h
    log_c = found.log_z - np.log(mass)
    log_q = stats.multivariate_normal.logpdf(F, np.zeros(2), C)
    log_q += (log_c + nu * F - tau * F**2 / 2).sum(-1)
    total = np.log(np.exp(log_q).sum() * h**2)
    assert found.log_evidence == pytest.approx(total, rel=1e-11)


def test_evidence_equals_the_form_that_divides(problem):
    """GPML (3.65) with the site means nu / tau and variances 1 / tau."""
    _, C, t = problem
    found = gp_ep.fit(C, t)
    m, s2 = found.q.m, found.q.s2
    mt, vt = found.nu / found.tau, 1 / found.tau
    total = stats.multivariate_normal.logpdf(mt, np.zeros(12), C + np.diag(vt))
    total += found.log_z.sum() + 0.5 * np.sum(np.log(2 * np.pi * (s2 + vt)))
    total += np.sum((m - mt) ** 2 / (2 * (s2 + vt)))
    assert found.log_evidence == pytest.approx(total, rel=1e-12)


@BOTH
def test_gradient_is_that_of_the_evidence(problem, rng, likelihood):
    """Central differences in a random symmetric direction, to 1e-6."""
    _, C, t = problem
    C = C + 0.01 * np.eye(12)
    D = rng.normal(size=C.shape)
    D = D @ D.T / 12
    log_z, G = gp_ep.inference(t, likelihood, tol=1e-11)(C)
    h = 1e-4
    up, down = (
        gp_ep.fit(C + k * h * D, t, likelihood, tol=1e-11).log_evidence
        for k in (1, -1)
    )
    assert np.sum(G * D) == pytest.approx((up - down) / (2 * h), rel=1e-6)
    np.testing.assert_allclose(G, G.T, rtol=1e-12)
    best = gp_ep.fit(C, t, likelihood, tol=1e-11).log_evidence
    assert log_z == pytest.approx(best, rel=1e-12)


def test_evidence_does_not_change_with_order_or_names(problem, rng):
    """Permuted rows, and exchanged classes of a symmetric likelihood."""
    _, C, t = problem
    best = gp_ep.fit(C, t, tol=1e-10)
    some = rng.permutation(12)
    moved = gp_ep.fit(C[np.ix_(some, some)], t[some], tol=1e-10)
    turned = gp_ep.fit(C, 1 - t, tol=1e-10)
    assert moved.log_evidence == pytest.approx(best.log_evidence, rel=1e-12)
    assert turned.log_evidence == pytest.approx(best.log_evidence, rel=1e-12)
    np.testing.assert_allclose(moved.mean, best.mean[some], rtol=1e-7)
    np.testing.assert_allclose(turned.mean, -best.mean, rtol=1e-7)


def test_inference_starts_where_it_was(problem):
    """Another C in between changes nothing but the number of sweeps."""
    _, C, t = problem
    infer = gp_ep.inference(t)
    first = infer(C)
    infer(1.5 * C)
    again = infer(C)
    assert again[0] == pytest.approx(first[0], rel=1e-9)
    np.testing.assert_allclose(again[1], first[1], atol=1e-5)
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        gp_ep.inference(t, max_sweeps=1)(C)


def test_single_precision_shows_the_way_only(rng):
    """Large problems: the same answer, to the tolerance, in double."""
    x = rng.normal(size=gp_sweeps.LARGE)
    C, t = kernel(x), (np.sin(2 * x) + rng.normal(size=len(x)) > 0) * 1.0
    found = gp_ep.fit(C, t, tol=1e-9)
    other = gp_ep.fit(C, t, tol=1e-9, method="sequential")
    assert found.converged and found.q.A.dtype == float
    assert found.log_evidence == pytest.approx(other.log_evidence, rel=1e-11)
    np.testing.assert_allclose(found.mean, other.mean, atol=1e-7)
    with pytest.warns(NotConverged):
        short = gp_ep.fit(C, t, method="accelerated", max_sweeps=1)
    assert short.log_evidence == pytest.approx(len(x) * np.log(0.5))


def test_a_wide_prior_on_smooth_separable_labels_is_settled(rng):
    """Single precision is no good here, and plain sweeps swing for ever."""
    x = rng.normal(size=gp_sweeps.LARGE)
    C, t = kernel(x, variance=1e6), (x > 0.1) * 1.0
    found = gp_ep.fit(C, t, tol=1e-5, method="accelerated")
    assert found.converged
    assert -12 < found.log_evidence < -5


def test_memory_stays_below_ten_matrices(rng):
    """Fit and gradient, C not counted."""
    x = rng.normal(size=400)
    C, t = kernel(x), (x > 0) * 1.0
    gp_ep.fit(C, t)
    tracemalloc.start()
    gp_ep.evidence_gradient(gp_ep.fit(C, t))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * C.nbytes


# Predictions.


@BOTH
def test_prediction_at_an_input_is_its_marginal(problem, likelihood):
    """c_* = a column of C: f_* is f_n."""
    _, C, t = problem
    found = gp_ep.fit(C, t, likelihood)
    m, v = gp_ep.predict_latent(found, C, np.diag(C))
    np.testing.assert_allclose(m, found.mean, rtol=1e-10)
    np.testing.assert_allclose(v, found.variance, rtol=1e-8)
    p = gp_ep.predict_proba(found, C, np.diag(C))
    np.testing.assert_allclose(p, np.exp(likelihood.average(m, v, 1)[0]))


def test_prediction_is_regression_on_the_site_means(problem):
    """m = c^T (C + Sigma~)^-1 mu~, v = c - c^T (C + Sigma~)^-1 c."""
    x, C, t = problem
    found = gp_ep.fit(C, t)
    x_star = np.linspace(-4, 4, 7)
    c = kernel(x, x_star)
    m, v = gp_ep.predict_latent(found, c, np.full(7, 4.0))
    noisy = C + np.diag(1 / found.tau)
    np.testing.assert_allclose(
        m, c.T @ np.linalg.solve(noisy, found.nu / found.tau), rtol=1e-9
    )
    other = 4.0 - np.sum(c * np.linalg.solve(noisy, c), axis=0)
    np.testing.assert_allclose(v, other, rtol=1e-9)


# Likelihoods that are not log-concave.


def test_a_flipped_label_may_have_negative_precision(problem):
    """The tilted variance exceeds the cavity's where a label looks wrong."""
    _, C, t = problem
    wrong = t.copy()
    wrong[2] = 1 - wrong[2]
    found = gp_ep.fit(C, wrong, gp_ep.flipped(PROBIT, 0.05), tol=1e-9)
    assert found.converged
    assert found.tau.min() < -1e-3
    dense = np.linalg.inv(
        np.linalg.inv(C + 1e-9 * np.eye(12)) + np.diag(found.tau)
    )
    np.testing.assert_allclose(found.variance, np.diag(dense), rtol=1e-4)
    _, G = gp_ep.inference(wrong, gp_ep.flipped(PROBIT, 0.05), tol=1e-11)(C)
    h = 1e-4
    up, down = (
        gp_ep.fit(
            C * (1 + k * h), wrong, gp_ep.flipped(PROBIT, 0.05), tol=1e-11
        )
        for k in (1, -1)
    )
    slope = (up.log_evidence - down.log_evidence) / (2 * h)
    assert np.sum(G * C) == pytest.approx(slope, rel=1e-5)


@BOTH
def test_forgiving_likelihoods_are_what_they_say(likelihood):
    """eps + (1 - 2 eps) p, its average and derivatives by differences."""
    forgiving = gp_ep.flipped(likelihood, 0.1)
    for f in (-3.0, 0.2, 2.0):
        p = 0.1 + 0.8 * np.exp(likelihood.log_p(f, 1, 0)[0])
        assert forgiving.log_p(f, 1, 0)[0] == pytest.approx(np.log(p))
        p = 0.1 + 0.8 * np.exp(likelihood.average(f, 2.0, 0)[0])
        value, d1, d2 = forgiving.average(f, 2.0, 0)
        assert value == pytest.approx(np.log(p))
        up, down = (forgiving.average(f + h, 2.0, 0) for h in (1e-5, -1e-5))
        assert d1 == pytest.approx((up[0] - down[0]) / 2e-5, rel=1e-6)
        assert d2 == pytest.approx((up[1] - down[1]) / 2e-5, rel=1e-5)
    assert len(forgiving.log_p(0.0, 1)) == 3
    with pytest.raises(ValueError, match="epsilon"):
        gp_ep.flipped(likelihood, 0.7)


# Trouble.


def test_undamped_parallel_updates_may_not_converge(rng):
    """Strong correlations, wide prior: all sites overshoot together."""
    x = rng.normal(size=(40, 2))
    r2 = ((x[:, None] - x) ** 2).sum(-1)
    C = 1e3 * np.exp(-r2 / 0.2)
    t = (rng.random(40) < 0.5).astype(float)
    with pytest.warns(NotConverged, match="a cavity still moved"):
        bad = gp_ep.fit(C, t, method="parallel", max_sweeps=8)
    assert not bad.converged
    assert np.isfinite(bad.log_evidence)
    assert gp_ep.fit(C, t).converged


def test_where_acceleration_fails_the_sequence_goes_on(problem, monkeypatch):
    """The second plan starts where the first stopped."""
    _, C, t = problem

    def stuck(C, t, average, start):
        while True:
            yield (*start, 1.0)

    best = gp_ep.fit(C, t)
    monkeypatch.setattr(gp_ep, "accelerated", stuck)
    found = gp_ep.fit(C, t)
    assert found.converged
    assert found.log_evidence == pytest.approx(best.log_evidence, rel=1e-9)
    assert found.trace[: gp_ep.PATIENCE] == (1.0,) * gp_ep.PATIENCE


def test_duplicated_inputs_are_no_trouble(problem):
    """C is singular; B is not."""
    x, _, t = problem
    twice = kernel(np.r_[x, x])
    found = gp_ep.fit(twice, np.r_[t, t])
    assert found.converged
    np.testing.assert_allclose(found.mean[:12], found.mean[12:], rtol=1e-7)


@BOTH
@pytest.mark.parametrize("variance", [1e-12, 1e12])
def test_extreme_amplitudes_give_an_answer_or_a_flag(
    problem, likelihood, variance
):
    """Nothing to learn, or everything: no NaN in either."""
    x, _, t = problem
    C = kernel(x, variance=variance, scale=0.2)
    found = gp_ep.fit(C, t, likelihood)
    assert found.converged
    assert np.isfinite(found.log_evidence)
    if variance < 1:
        assert found.log_evidence == pytest.approx(-12 * np.log(2), rel=1e-9)


def test_input_is_checked(problem):
    """Each complaint names what arrived."""
    _, C, t = problem
    skew, indefinite = C.copy(), C - 2 * np.eye(12)
    skew[0, 1] += 0.1
    for bad, said in (
        (C[:5], "square"), (skew, "symmetric"), (C[0], "matrix"),
        (np.full((12, 12), np.nan), "finite"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            gp_ep.fit(bad, t)
    with pytest.raises(validate.Indefinite):
        gp_ep.fit(indefinite, t)
    with pytest.raises(ValueError, match="t must"):
        gp_ep.inference(2 * t - 1)
    for bad in (2 * t - 1, t[:5], t + 0.5):
        with pytest.raises(ValueError, match="t must"):
            gp_ep.fit(C, bad)
    with pytest.raises(ValueError, match="accelerated, parallel, sequential"):
        gp_ep.fit(C, t, method="serial")
    for how, said in (
        ({"tol": 0.0}, "tol"), ({"tol": np.nan}, "tol"),
        ({"max_sweeps": 0}, "max_sweeps"),
        ({"method": "parallel", "damping": 0.0}, "damping"),
        ({"method": "sequential", "damping": 1.5}, "damping"),
        ({"method": "sequential", "order": [0, 1]}, "each of 12 sites"),
        ({"method": "parallel", "order": range(12)}, "no option 'order'"),
        ({"damping": 0.5}, "no option 'damping'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            gp_ep.fit(C, t, **how)
    found = gp_ep.fit(C, t)
    with pytest.raises(ValueError, match="one kernel"):
        gp_ep.predict_latent(found, C, 0.1 * np.diag(C))
    with pytest.raises(ValueError, match="variances"):
        gp_ep.predict_latent(found, C, -np.diag(C))
    with pytest.raises(ValueError, match="12 rows"):
        gp_ep.predict_latent(found, C[:5], np.ones(12))
    with pytest.raises(ValueError, match="c_ss"):
        gp_ep.predict_latent(found, C, np.ones(5))


def test_inputs_are_left_alone(problem):
    """Read-only and Fortran-ordered arrays, integers, booleans."""
    _, C, t = problem
    best = gp_ep.fit(C, t).log_evidence
    C.flags.writeable = False
    for matrix in (C, np.asfortranarray(C), C.astype(object)):
        for target in (t.astype(int), t.astype(bool)):
            found = gp_ep.fit(matrix, target)
            assert found.log_evidence == pytest.approx(best, rel=1e-12)


@given(st.integers(1, 6), st.floats(-6, 6), st.floats(-3, 2), st.data())
def test_any_small_problem_is_settled(n, log_variance, log_scale, data):
    """Random inputs, labels and scales, probit: converged and bounded."""
    x = np.array(data.draw(st.lists(st.floats(-5, 5), min_size=n, max_size=n)))
    t = data.draw(st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n))
    C = kernel(x, variance=10**log_variance, scale=10**log_scale)
    found = gp_ep.fit(C, t, tol=1e-5)
    assert found.converged
    assert found.log_evidence <= 1e-9
    assert np.all(found.tau >= 0)
