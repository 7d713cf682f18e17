"""Sweeps of EP over the sites of a Gaussian process, against dense algebra."""

import numpy as np
import pytest

from prml4 import gp_ep, gp_sweeps
from prml4.likelihoods import PROBIT


@pytest.fixture
def problem(rng):
    """Twelve noisy signs of a sine."""
    x = np.sort(rng.uniform(-3, 3, 12))
    t = np.sin(1.5 * x) + 0.4 * rng.normal(size=12) > 0
    return x, 4 * np.exp(-((x[:, None] - x) ** 2) / 2), t.astype(float)


def test_the_posterior_is_that_of_the_dense_problem(problem, rng):
    """Sigma = (C^-1 + diag tau)^-1, mu = Sigma nu, by inversion."""
    _, C, _ = problem
    C += 0.01 * np.eye(len(C))
    tau, nu = rng.uniform(0.1, 2, len(C)), rng.normal(size=len(C))
    for k, sign in enumerate([1.0, -0.05]):
        tau[3] *= sign
        tau[5] = 0.0
        q = gp_sweeps.posterior(C, tau, nu)
        Sigma = np.linalg.inv(np.linalg.inv(C) + np.diag(tau))
        v, R = np.diag(Sigma), np.diag(tau) - tau[:, None] * Sigma * tau
        np.testing.assert_allclose(q.mu, Sigma @ nu, rtol=1e-9)
        np.testing.assert_allclose(q.s2, v / (1 - tau * v), rtol=1e-8)
        np.testing.assert_allclose(q.m, q.s2 * (q.mu / v - nu), rtol=1e-7)
        np.testing.assert_allclose(q.A.T @ (q.d[:, None] * q.A), R, atol=1e-9)
        np.testing.assert_allclose(q.b, np.linalg.solve(C, q.mu), rtol=1e-7)
        det = np.linalg.det(np.eye(len(C)) + C * tau)
        assert q.log_det == pytest.approx(np.log(det), rel=1e-9), k


def test_a_weak_site_keeps_its_digits():
    """s2 comes from v where 1 - (B^-1)_nn would cancel."""
    C = np.array([[2.0, 0.5], [0.5, 1.0]])
    for weak in (0.0, 1e-300, 1e-17, 1e-9, 4e-5, 6e-5):
        q = gp_sweeps.posterior(C, np.array([weak, 1.0]), np.array([0.0, 0.3]))
        other = 2.0 - 0.25 / (1.0 + 1.0)
        assert q.s2[0] == pytest.approx(other, rel=1e-11)


def test_where_single_precision_breaks_down_double_takes_over(
    problem, monkeypatch
):
    """A factorisation that fails in the first sweeps is no failure."""
    _, C, t = problem
    best, real = gp_ep.fit(C, t).log_evidence, gp_sweeps.posterior

    def brittle(C, tau, nu):
        if C.dtype == np.float32:
            raise np.linalg.LinAlgError
        return real(C, tau, nu)

    monkeypatch.setattr(gp_sweeps, "LARGE", 5)
    for posterior in (real, brittle):
        monkeypatch.setattr(gp_sweeps, "posterior", posterior)
        found = gp_ep.fit(C, t)
        assert found.log_evidence == pytest.approx(best, rel=1e-10)


def test_improper_sites_are_refused():
    """q needs a positive definite precision."""
    C, tau = np.diag([1.0, 2.0]), np.array([-1.5, 1.0])
    with pytest.raises(np.linalg.LinAlgError, match="no proper Gaussian"):
        gp_sweeps.posterior(C, tau, np.zeros(2))


def test_rank_one_is_the_posterior_with_one_site_changed(problem, rng):
    """Sigma, mu from (C^-1 + diag tau)^-1 before and after, by inversion."""
    _, C, _ = problem
    C += 0.01 * np.eye(12)
    tau, nu = rng.uniform(0.1, 2, 12), rng.normal(size=12)
    for n, dtau, dnu in ((4, 0.6, -0.9), (0, -0.05, 0.0), (11, 0.0, 2.0)):
        Sigma = np.linalg.inv(np.linalg.inv(C) + np.diag(tau))
        mu = Sigma @ nu
        gp_sweeps.rank_one(Sigma, mu, n, dtau, dnu)
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
        x = gp_sweeps.anderson(past, rng.uniform(0.5, 2, 4))
        if k == 0:
            np.testing.assert_array_equal(x, c)
    np.testing.assert_allclose(x, np.linalg.solve(np.eye(4) - M, c), rtol=1e-6)


@pytest.mark.parametrize("name", gp_sweeps.METHODS)
def test_one_sweep_from_the_prior(problem, name):
    """Sites from the tilted moments of the prior's marginals (the first)."""
    _, C, t = problem
    zero = np.zeros(12)
    start = zero, zero, gp_sweeps.posterior(C, zero, zero)
    tau, nu, q, change = next(
        gp_sweeps.METHODS[name](C, t, PROBIT.average, start)
    )
    _, d1, d2 = PROBIT.average(0.0, 4.0, t[0])
    v = 4 + 16 * d2
    assert tau[0] == pytest.approx(1 / v - 1 / 4, rel=1e-12)
    assert nu[0] == pytest.approx(4 * d1 / v, rel=1e-12)
    again = gp_sweeps.posterior(C, tau, nu)
    np.testing.assert_allclose(q.s2, again.s2, rtol=1e-12)
    far = np.abs(again.m) / np.sqrt(again.s2)
    spread = np.abs(np.log(again.s2 / 4))
    assert change == pytest.approx(max(far.max(), spread.max()), rel=1e-9)


@pytest.mark.parametrize("name", ["parallel", "sequential"])
def test_half_a_step_counts_as_a_whole_one(name):
    """Half of each site, and a change in units of the step."""
    C, t, zero = np.array([[4.0, 3.0], [3.0, 4.0]]), np.ones(2), np.zeros(2)
    start = zero, zero, gp_sweeps.posterior(C, zero, zero)
    method = gp_sweeps.METHODS[name]
    tau, _, q, change = next(method(C, t, PROBIT.average, start, damping=0.5))
    _, d1, d2 = PROBIT.average(0.0, 4.0, 1)
    assert tau[0] == pytest.approx(0.5 * (1 / (4 + 16 * d2) - 0.25), rel=1e-12)
    far = np.max(np.abs(q.m) / np.sqrt(q.s2))
    assert change == pytest.approx(
        2 * max(far, np.max(np.abs(np.log(q.s2 / 4)))), rel=1e-9
    )
