"""EP for Gaussian processes against enumeration, quadrature and itself."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import log_expit, log_ndtr

from prml4 import ep, gaussian_process, gp_ep, gp_laplace
from prml4.models import averages
from prml4.models.likelihoods import LOGISTIC, PROBIT, flipped
from prml4.numerics import validate
from prml4.numerics.newton import NotConverged

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
@pytest.mark.parametrize("variance", [1e-3, 0.3, 4.0])
@pytest.mark.parametrize("method", ["accelerated", "parallel", "sequential"])
def test_moments_match_at_the_end_and_not_before(
    problem, likelihood, variance, method
):
    """Of each tilted distribution; a search that has arrived ends."""
    x, _, t = problem
    C = kernel(x, variance=variance)
    q = gp_ep.fit(C, t, likelihood=likelihood, method=method)
    m, v = q.cavity_mean, q.cavity_variance
    _, d1, d2 = likelihood.average(m, v, t)
    sd = np.sqrt(q.variance)
    np.testing.assert_allclose((m + v * d1 - q.mean) / sd, 0, atol=1e-8)
    np.testing.assert_allclose(v * (1 + v * d2), q.variance, rtol=1e-8)
    assert q.converged and np.all(np.array(q.trace[:-1]) > gp_ep.TOL)


def test_sweeps_leave_what_they_began_with(problem):
    """The sites of q, and those that are given to posterior."""
    _, C, t = problem
    tau, nu = np.full(12, 0.5), np.linspace(-1, 1, 12)
    q = gp_ep.posterior(C, tau, nu)
    assert not np.shares_memory(q.tau, tau) and not np.shares_memory(q.nu, nu)
    next(gp_ep.sequential(C, t, LOGISTIC.average, q))
    np.testing.assert_array_equal(q.tau, tau)
    np.testing.assert_array_equal(q.nu, nu)


@BOTH
@pytest.mark.parametrize("variance", [1e-6, 0.3, 3.0, 50.0])
def test_one_observation_is_exact(likelihood, variance):
    """With one site the tilted distribution is the posterior itself."""
    log_z, d1, d2 = likelihood.average(0.0, variance, 1)
    found = gp_ep.fit([[variance]], [1], likelihood=likelihood)
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
    found = gp_ep.fit(C, t, likelihood=likelihood)
    assert abs(found.log_evidence - log_z) < 2e-3
    np.testing.assert_allclose(found.mean, mean, atol=0.02)
    np.testing.assert_allclose(found.variance, variance, atol=0.08)
    other = gp_laplace.fit(C, t, likelihood=likelihood).log_evidence
    assert abs(found.log_evidence - log_z) < 0.1 * abs(other - log_z)


@BOTH
def test_marginals_have_the_tilted_moments(problem, likelihood):
    """This is what EP's fixed point means."""
    _, C, t = problem
    found = gp_ep.fit(C, t, likelihood=likelihood, tol=1e-11)
    m, s2 = found.cavity_mean, found.cavity_variance
    _, d1, d2 = likelihood.average(m, s2, t)
    np.testing.assert_allclose(found.mean, m + s2 * d1, rtol=1e-9)
    np.testing.assert_allclose(found.variance, s2 + s2**2 * d2, rtol=1e-9)


@BOTH
def test_every_method_ends_at_the_same_point(problem, rng, likelihood):
    """Fixed points do not depend on the way, nor on the order."""
    _, C, t = problem
    best = gp_ep.fit(C, t, likelihood=likelihood, tol=1e-10)
    for how in (
        {"method": "accelerated"},
        {"method": "parallel", "damping": 0.7},
        {"method": "sequential"},
        {"method": "sequential", "order": rng.permutation(len(t))},
    ):
        other = gp_ep.fit(C, t, likelihood=likelihood, tol=1e-10, **how)
        assert other.log_evidence == pytest.approx(best.log_evidence, rel=1e-12)
        np.testing.assert_allclose(other.tau, best.tau, rtol=1e-7)
        np.testing.assert_allclose(other.nu, best.nu, rtol=1e-7, atol=1e-9)


def test_first_sequential_sweep_is_adf(problem):
    """Each observation once, moments matched: assumed-density filtering."""
    _, C, t = problem
    with pytest.warns(NotConverged):
        found = gp_ep.fit(
            C, t, likelihood=PROBIT, method="sequential", max_iter=1
        )
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
    found = gp_ep.fit(C, t, likelihood=likelihood)
    m, s2, tau, nu = (
        found.cavity_mean,
        found.cavity_variance,
        found.tau,
        found.nu,
    )
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
    m, s2 = found.cavity_mean, found.cavity_variance
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
    log_z, G, _ = gp_ep.inference(t, likelihood, tol=1e-11)(C)
    h = 1e-4
    up, down = (
        gp_ep.fit(
            C + k * h * D, t, likelihood=likelihood, tol=1e-11
        ).log_evidence
        for k in (1, -1)
    )
    assert np.sum(G * D) == pytest.approx((up - down) / (2 * h), rel=1e-6)
    np.testing.assert_allclose(G, G.T, rtol=1e-12)
    best = gp_ep.fit(C, t, likelihood=likelihood, tol=1e-11).log_evidence
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


@pytest.mark.parametrize(
    "make", [gp_ep.inference, gp_laplace.inference, gaussian_process.regression]
)
def test_inference_keeps_its_targets(problem, make):
    """It is called long after it was made, when t may hold other numbers."""
    _, C, t = problem
    C = C + 0.1 * np.eye(12)
    infer, before = make(t), make(t.copy())(C)[0]
    t[:] = 1 - t
    assert infer(C)[0] == before


def test_inference_starts_where_it_is_told_to(problem):
    """The cavities of another C change nothing but the number of sweeps."""
    _, C, t = problem
    infer = gp_ep.inference(t)
    first = infer(C)
    _, _, near = infer(1.5 * C)
    again = infer(C, near)
    assert again[0] == pytest.approx(first[0], rel=1e-9)
    np.testing.assert_allclose(again[1], first[1], atol=1e-5)
    assert infer(C)[0] == first[0]  # and nothing is remembered
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        gp_ep.inference(t, max_iter=1)(C)


def test_single_precision_shows_the_way_only(rng):
    """Large problems: the same answer, to the tolerance, in double."""
    x = rng.normal(size=gp_ep.LARGE)
    C, t = kernel(x), (np.sin(2 * x) + rng.normal(size=len(x)) > 0) * 1.0
    found = gp_ep.fit(C, t, tol=1e-9)
    other = gp_ep.fit(C, t, tol=1e-9, method="sequential")
    assert found.converged and found.root.dtype == float
    assert found.log_evidence == pytest.approx(other.log_evidence, rel=1e-11)
    np.testing.assert_allclose(found.mean, other.mean, atol=1e-7)
    with pytest.warns(NotConverged):
        short = gp_ep.fit(C, t, method="accelerated", max_iter=1)
    assert short.log_evidence == pytest.approx(len(x) * np.log(0.5))


def test_a_wide_prior_on_smooth_separable_labels_is_settled(rng):
    """Single precision is no good here, and plain sweeps swing for ever."""
    x = rng.normal(size=gp_ep.LARGE)
    C, t = kernel(x, variance=1e6), (x > 0.1) * 1.0
    found = gp_ep.fit(C, t, tol=1e-5, likelihood=PROBIT)
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


# The sweeps, against dense algebra.


WAYS = ("accelerated", "parallel", "sequential")


def test_the_posterior_is_that_of_the_dense_problem(problem, rng):
    """Sigma = (C^-1 + diag tau)^-1, mu = Sigma nu, by inversion."""
    _, C, _ = problem
    C += 0.01 * np.eye(len(C))
    tau, nu = rng.uniform(0.1, 2, len(C)), rng.normal(size=len(C))
    for k, sign in enumerate([1.0, -0.05]):
        tau[3] *= sign
        tau[5] = 0.0
        q = gp_ep.posterior(C, tau, nu)
        Sigma = np.linalg.inv(np.linalg.inv(C) + np.diag(tau))
        v, R = np.diag(Sigma), np.diag(tau) - tau[:, None] * Sigma * tau
        np.testing.assert_allclose(q.mean, Sigma @ nu, rtol=1e-9)
        np.testing.assert_allclose(
            q.cavity_variance, v / (1 - tau * v), rtol=1e-8
        )
        np.testing.assert_allclose(
            q.cavity_mean, q.cavity_variance * (q.mean / v - nu), rtol=1e-7
        )
        np.testing.assert_allclose(
            q.root.T @ (q.scale[:, None] * q.root), R, atol=1e-9
        )
        np.testing.assert_allclose(
            q.dual, np.linalg.solve(C, q.mean), rtol=1e-7
        )
        det = np.linalg.det(np.eye(len(C)) + C * tau)
        assert q.log_det == pytest.approx(np.log(det), rel=1e-9), k
        assert q.tau is not tau  # which may change, as it does here


def test_a_weak_site_keeps_its_digits():
    """s2 comes from v where 1 - (B^-1)_nn would cancel."""
    C = np.array([[2.0, 0.5], [0.5, 1.0]])
    for weak in (0.0, 1e-300, 1e-17, 1e-9, 4e-5, 6e-5):
        q = gp_ep.posterior(C, np.array([weak, 1.0]), np.array([0.0, 0.3]))
        other = 2.0 - 0.25 / (1.0 + 1.0)
        assert q.cavity_variance[0] == pytest.approx(other, rel=1e-11)


def test_where_single_precision_breaks_down_double_takes_over(
    problem, monkeypatch
):
    """A factorisation that fails in the first sweeps is no failure."""
    _, C, t = problem
    best, real = gp_ep.fit(C, t).log_evidence, gp_ep.posterior

    def brittle(C, tau, nu):
        if C.dtype == np.float32:
            raise np.linalg.LinAlgError
        return real(C, tau, nu)

    monkeypatch.setattr(gp_ep, "LARGE", 5)
    for posterior in (real, brittle):
        monkeypatch.setattr(gp_ep, "posterior", posterior)
        found = gp_ep.fit(C, t)
        assert found.log_evidence == pytest.approx(best, rel=1e-10)


def test_improper_sites_are_refused():
    """q needs a positive definite precision."""
    C, tau = np.diag([1.0, 2.0]), np.array([-1.5, 1.0])
    with pytest.raises(np.linalg.LinAlgError, match="1 negative eigenvalues"):
        gp_ep.posterior(C, tau, np.zeros(2))


def test_rank_one_is_the_posterior_with_one_site_changed(problem, rng):
    """Sigma, mu from (C^-1 + diag tau)^-1 before and after, by inversion."""
    _, C, _ = problem
    C += 0.01 * np.eye(12)
    tau, nu = rng.uniform(0.1, 2, 12), rng.normal(size=12)
    for n, dtau, dnu in ((4, 0.6, -0.9), (0, -0.05, 0.0), (11, 0.0, 2.0)):
        Sigma = np.linalg.inv(np.linalg.inv(C) + np.diag(tau))
        mu = Sigma @ nu
        gp_ep.rank_one(Sigma, mu, n, dtau, dnu)
        tau[n] += dtau
        nu[n] += dnu
        wanted = np.linalg.inv(np.linalg.inv(C) + np.diag(tau))
        np.testing.assert_allclose(Sigma, wanted, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(mu, wanted @ nu, rtol=1e-8)


def test_anderson_solves_affine_maps(rng):
    """d + 1 evaluations in d dimensions, whatever the weights."""
    M, c = rng.normal(size=(4, 4)), rng.normal(size=4)
    x, past = np.zeros(4), []
    for k in range(5):
        past.append((M @ x + c - x, M @ x + c))
        x = gp_ep.anderson(past, rng.uniform(0.5, 2, 4))
        if k == 0:
            np.testing.assert_array_equal(x, c)
    np.testing.assert_allclose(x, np.linalg.solve(np.eye(4) - M, c), rtol=1e-6)


@pytest.mark.parametrize("name", WAYS)
def test_one_sweep_from_the_prior(problem, name):
    """Sites from the tilted moments of the prior's marginals (the first)."""
    _, C, t = problem
    zero = np.zeros(12)
    start = gp_ep.posterior(C, zero, zero)
    q, change = next(getattr(gp_ep, name)(C, t, PROBIT.average, start))
    tau, nu = q.tau, q.nu
    _, d1, d2 = PROBIT.average(0.0, 4.0, t[0])
    v = 4 + 16 * d2
    assert tau[0] == pytest.approx(1 / v - 1 / 4, rel=1e-12)
    assert nu[0] == pytest.approx(4 * d1 / v, rel=1e-12)
    again = gp_ep.posterior(C, tau, nu)
    np.testing.assert_allclose(
        q.cavity_variance, again.cavity_variance, rtol=1e-12
    )
    far = np.abs(again.cavity_mean) / np.sqrt(again.cavity_variance)
    spread = np.abs(np.log(again.cavity_variance / 4))
    assert change == pytest.approx(max(far.max(), spread.max()), rel=1e-9)


@pytest.mark.parametrize("name", ["parallel", "sequential"])
def test_half_a_step_counts_as_a_whole_one(name):
    """Half of each site, and a change in units of the step."""
    C, t, zero = np.array([[4.0, 3.0], [3.0, 4.0]]), np.ones(2), np.zeros(2)
    start = gp_ep.posterior(C, zero, zero)
    method = getattr(gp_ep, name)
    q, change = next(method(C, t, PROBIT.average, start, damping=0.5))
    _, d1, d2 = PROBIT.average(0.0, 4.0, 1)
    assert q.tau[0] == pytest.approx(
        0.5 * (1 / (4 + 16 * d2) - 0.25), rel=1e-12
    )
    far = np.max(np.abs(q.cavity_mean) / np.sqrt(q.cavity_variance))
    assert change == pytest.approx(
        2 * max(far, np.max(np.abs(np.log(q.cavity_variance / 4)))), rel=1e-9
    )


# Predictions.


@BOTH
def test_prediction_at_an_input_is_its_marginal(problem, likelihood):
    """c_* = a column of C: f_* is f_n."""
    _, C, t = problem
    found = gp_ep.fit(C, t, likelihood=likelihood)
    m, v = gp_ep.predict_latent(found, C, np.diag(C))
    np.testing.assert_allclose(m, found.mean, rtol=1e-10)
    np.testing.assert_allclose(v, found.variance, rtol=1e-8)
    p = gp_ep.predict_proba(found, C, np.diag(C))
    np.testing.assert_allclose(p[:, 1], np.exp(likelihood.average(m, v, 1)[0]))
    np.testing.assert_allclose(p[:, 0], np.exp(likelihood.average(m, v, 0)[0]))
    Sigma = gp_ep.posterior_covariance(found, C)
    np.testing.assert_allclose(np.diag(Sigma), found.variance, rtol=1e-8)


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
    found = gp_ep.fit(C, wrong, likelihood=flipped(PROBIT, 0.05), tol=1e-9)
    assert found.converged
    assert found.tau.min() < -1e-3
    dense = np.linalg.inv(
        np.linalg.inv(C + 1e-9 * np.eye(12)) + np.diag(found.tau)
    )
    np.testing.assert_allclose(found.variance, np.diag(dense), rtol=1e-4)
    Sigma = gp_ep.posterior_covariance(found, C)
    np.testing.assert_allclose(Sigma, dense, atol=1e-4)
    _, G, _ = gp_ep.inference(wrong, flipped(PROBIT, 0.05), tol=1e-11)(C)
    h = 1e-4
    up, down = (
        gp_ep.fit(
            C * (1 + k * h),
            wrong,
            likelihood=flipped(PROBIT, 0.05),
            tol=1e-11,
        )
        for k in (1, -1)
    )
    slope = (up.log_evidence - down.log_evidence) / (2 * h)
    assert np.sum(G * C) == pytest.approx(slope, rel=1e-5)


# Trouble.


def test_cavities_at_rest_are_not_enough():
    """At 1e40 rounding holds them, where tilted moments are not those of q."""
    for v, a in ((1e40, [1.0, 1.3]), (1e60, [1.0, 2.2]), (1e80, [1.0, 2.2])):
        with pytest.warns(NotConverged, match="tilted moments"):
            found = gp_ep.fit(v * np.outer(a, a), [0, 1], likelihood=PROBIT)
        assert found.residual > 0.1 and not found.converged


@BOTH
@pytest.mark.parametrize("method", ["accelerated", "parallel", "sequential"])
def test_a_value_that_the_prior_knows_is_no_trouble(method, likelihood):
    """A linear kernel at x = 0, or at nothing else: EP in weight space."""
    x, t = np.array([0.0, 1.0, -2.0, 3.0]), np.array([1.0, 1.0, 0.0, 1.0])
    C = np.outer(x, x)
    found = gp_ep.fit(C, t, likelihood=likelihood, method=method, tol=1e-10)
    w = ep.fit(x[:, None], t, likelihood=likelihood)
    assert found.converged
    assert found.residual < 1e-9
    assert found.log_evidence == pytest.approx(w.log_evidence, rel=1e-9)
    np.testing.assert_allclose(found.mean, x * w.m, atol=1e-9)
    np.testing.assert_allclose(found.variance, x**2 * w.S[0, 0], atol=1e-9)
    G, h = gp_ep.evidence_gradient(found), 1e-5
    low, high = (
        gp_ep.fit(
            C + k * h * np.eye(4), t, likelihood=likelihood, tol=1e-12
        ).log_evidence
        for k in (0, 1)
    )
    assert np.trace(G) == pytest.approx((high - low) / h, rel=1e-4)
    none = gp_ep.fit(0 * C, t, likelihood=likelihood, method=method)
    assert none.converged
    assert none.log_evidence == pytest.approx(-4 * np.log(2))


def test_the_residual_is_that_of_the_state_returned(problem):
    """Tilted moments and those of q, whatever the last sweep did."""
    _, C, t = problem
    with pytest.warns(NotConverged) as caught:
        found = gp_ep.fit(C, t, max_iter=2)
    m, s2, q = found.cavity_mean, found.cavity_variance, found
    _, d1, d2 = LOGISTIC.average(m, s2, t)
    gap = np.abs(m + s2 * d1 - q.mean) / np.sqrt(q.variance)
    grown = np.abs((s2 + s2**2 * d2) / q.variance - 1)
    assert found.residual == pytest.approx(max(gap.max(), grown.max()))
    assert f"{found.residual:.1e} away" in str(caught[0].message)


def test_undamped_parallel_updates_may_not_converge(rng):
    """Strong correlations, wide prior: all sites overshoot together."""
    x = rng.normal(size=(40, 2))
    r2 = ((x[:, None] - x) ** 2).sum(-1)
    C = 1e3 * np.exp(-r2 / 0.2)
    t = (rng.random(40) < 0.5).astype(float)
    with pytest.warns(NotConverged, match="tilted moments"):
        bad = gp_ep.fit(C, t, method="parallel", max_iter=8)
    assert not bad.converged
    assert np.isfinite(bad.log_evidence)
    assert gp_ep.fit(C, t).converged


def test_parallel_updates_leave_improper_cavities_alone():
    """Labels that may be wrong, far apart: a cavity of variance -300 or so."""
    x = np.linspace(-1, 1, 6)[:, None]
    likelihood = flipped(PROBIT, 0.01)
    for width in (0.3, 0.6, 1.2):
        C = 1.4e5 * np.exp(-0.5 * (x - x.T) ** 2 / width**2)
        for t in np.ndindex((2,) * 6):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotConverged)
                found = gp_ep.fit(
                    C, t, likelihood=likelihood, method="parallel", damping=0.7
                )
            assert np.isfinite(found.log_evidence)


def test_where_acceleration_fails_the_sequence_goes_on(problem, monkeypatch):
    """The second plan starts where the first stopped."""
    _, C, t = problem

    def stuck(C, t, average, q):
        while True:
            yield q, 1.0

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
    found = gp_ep.fit(C, t, likelihood=likelihood)
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
    with pytest.raises(ValueError, match="method must be one of"):
        gp_ep.fit(C, t, method="serial")
    for how, said in (
        ({"tol": 0.0}, "tol"), ({"tol": np.nan}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"method": "parallel", "damping": 0.0}, "damping"),
        ({"method": "sequential", "damping": 1.5}, "damping"),
        ({"method": "sequential", "order": [0, 1]}, "each of 12 rows"),
        ({"method": "parallel", "order": range(12)}, "order must be None"),
        ({"damping": 0.5}, "damping must be 1"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            gp_ep.fit(C, t, **how)
    found = gp_ep.fit(C, t)
    with pytest.raises(ValueError, match="must be covariances of the kernel"):
        gp_ep.predict_latent(found, C, 0.1 * np.diag(C))
    with pytest.raises(ValueError, match="c_ss must be >= 0"):
        gp_ep.predict_latent(found, C, -np.diag(C))
    with pytest.raises(ValueError, match="c_star must have N = 12 rows"):
        gp_ep.predict_latent(found, C[:5], np.ones(12))
    with pytest.raises(ValueError, match="c_ss"):
        gp_ep.predict_latent(found, C, np.ones(5))


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


def test_a_fit_keeps_targets_of_its_own():
    """Whoever changes t afterwards does not change what was fitted."""
    t = np.array([0.0, 1, 1])
    fit = gp_ep.fit(np.eye(3), t)
    t[:] = 1 - t
    np.testing.assert_array_equal(fit.t, [0, 1, 1])


@pytest.mark.parametrize("chapter", [gp_laplace, gp_ep])
def test_inference_has_as_many_targets_as_points(chapter):
    """One target for four points ended in an error of BLAS, or of NumPy."""
    with pytest.raises(ValueError, match="one per row of C"):
        chapter.inference([1.0])(np.eye(4))


@pytest.mark.parametrize("method", ["parallel", "sequential"])
@pytest.mark.parametrize("C", [np.eye(1), np.eye(4), 1e-6 * np.eye(1)])
def test_damped_sites_settle_where_no_cavity_moves(method, C):
    """Of one value, or independent ones, half of the first step was taken."""
    t = np.ones(len(C))
    slow = gp_ep.fit(C, t, method=method, damping=0.5)
    assert slow.converged
    assert np.allclose(slow.mean, gp_ep.fit(C, t).mean, rtol=1e-6, atol=0)
