"""prml4.ep: moment matching for classifiers, one factor at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import log_expit, log_ndtr

from prml4 import ep
from prml4.models import data
from prml4.models.likelihoods import LOGISTIC, PROBIT, Likelihood
from prml4.numerics import newton
from prml4.studies import clutter

FACTORS = {"probit": PROBIT, "logistic": LOGISTIC}
LOGS = {"probit": log_ndtr, "logistic": log_expit}
every = pytest.mark.parametrize("name", FACTORS)


@pytest.fixture
def sample(rng):
    """Overlapping classes, two columns, twelve rows."""
    Phi = np.c_[np.ones(12), rng.standard_normal(12)]
    t = (Phi @ [0.3, 1.5] > rng.standard_normal(12)).astype(float)
    return Phi, t


def brute(Phi, t, alpha, log_f, half=9.0, n=701):
    """ln Z, mean and covariance of two weights on a grid."""
    axis = np.linspace(-half, half, n)
    W = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    log_p = stats.norm.logpdf(W, scale=alpha**-0.5).sum(axis=1)
    for phi, s in zip(Phi, 2 * t - 1, strict=True):
        log_p += log_f(s * (W @ phi))
    p = np.exp(log_p - log_p.max())
    log_Z = log_p.max() + np.log(p.sum() * (axis[1] - axis[0]) ** 2)
    p /= p.sum()
    m = p @ W
    return log_Z, m, (W - m).T @ (p[:, None] * (W - m))


# Gaussians and their moments.


@pytest.mark.parametrize("tau", [-0.3, 0.0, 1.7])
def test_log_integral_of_an_exponential_quadratic(tau):
    """One dimension by quadrature, two by the product of two."""
    m, v, nu = np.array([0.4, -1.1]), 1.9, np.array([0.8, 0.5])

    def one(i):
        return integrate.quad(
            lambda x: (
                stats.norm.pdf(x, m[i], v**0.5)
                * np.exp(nu[i] * x - tau * x**2 / 2)
            ),
            -60,
            60,
            points=[m[i]],
            epsabs=1e-13,
        )[0]

    alone = ep.log_integral(m[:1], v, tau, nu[:1])
    assert alone == pytest.approx(np.log(one(0)), abs=1e-10)
    both = ep.log_integral(m, v, tau, nu)
    assert both == pytest.approx(np.log(one(0) * one(1)), abs=1e-10)


def test_log_integral_takes_many_at_once():
    """The last axis is D, the ones before it are sites."""
    m, nu = np.arange(6.0).reshape(3, 2), np.ones((3, 2))
    v, tau = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, -0.1])
    want = [ep.log_integral(*row) for row in zip(m, v, tau, nu, strict=True)]
    np.testing.assert_allclose(ep.log_integral(m, v, tau, nu), want)


@every
def test_projection_has_the_moments_of_the_tilted_density(name):
    """Of Phi(a) or sigma(a) times a Gaussian in two dimensions, by grid."""
    m, v, x = np.array([0.3, -0.2]), 1.4, np.array([1.0, -2.0])
    s2 = v * x @ x
    _, d1, d2 = FACTORS[name].average(m @ x, s2, 1)
    slope = x @ x * (d2 + d1**2) / 2  # d/dv of ln Z, by the heat equation
    m_t, v_t = ep.projected(m, v, d1 * x, slope)
    axis = np.linspace(-11, 11, 901)
    W = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    p = np.exp(LOGS[name](W @ x) - ((W - m) ** 2).sum(1) / (2 * v))
    p /= p.sum()
    np.testing.assert_allclose(m_t, p @ W, atol=1e-10)
    var = p @ ((W - m_t) ** 2).sum(1) / 2
    assert v_t == pytest.approx(var, abs=1e-10)


@given(
    st.floats(-20, 20),
    st.floats(1e-6, 1e4),
    st.floats(-5, 5),
    st.floats(-0.9, 0.9),
)
def test_a_site_is_the_ratio_of_tilted_and_cavity(m, v, d1, share):
    """1/v_t - 1/v_c and m_t/v_t - m_c/v_c, and the cavity undoes it."""
    d2 = share / v
    m_t, v_t = m + v * d1, v + v**2 * d2
    tau, nu = ep.site(m, v, d1, d2)
    scale = 1e-10 * (1 / v + 1 / v_t) * (1 + abs(m) + abs(m_t))
    assert tau == pytest.approx(1 / v_t - 1 / v, abs=scale)
    assert nu == pytest.approx(m_t / v_t - m / v, abs=scale)
    m_c, v_c = ep.cavity(m_t, v_t, tau, nu)
    assert v_c == pytest.approx(v, rel=1e-8)
    assert m_c == pytest.approx(m, rel=1e-7, abs=1e-7 * (1 + abs(m_t)))


def test_inconsistency_takes_the_larger_of_the_two():
    """Mean in standard deviations of q, variance as a share; none if v = 0."""
    assert ep.inconsistency(3.0, 4.0, 1.0, 4.0) == pytest.approx(1.0)
    assert ep.inconsistency(1.0, 2.0, 1.0, 4.0) == pytest.approx(0.5)
    assert ep.inconsistency(1.1, 7.0, 1.0, 4.0) == pytest.approx(0.75)
    far = ep.inconsistency(np.array([1.0, 5.0]), 4.0, np.array([1.0, 1.0]), 4.0)
    assert far == pytest.approx(2.0)
    assert ep.inconsistency(1.0, 0.0, 1.0, 0.0) == 0.0
    assert ep.inconsistency(1.0, 2.0, 1.0, -4.0) == np.inf


def test_moments_on_a_grid():
    """A scaled and shifted normal density, far below where exp underflows."""
    grid = np.linspace(-10, 14, 800)
    log_p = stats.norm.logpdf(grid, 1.5, 1.2) - 2000
    log_Z, m, v = ep.moments_on_grid(log_p, grid)
    np.testing.assert_allclose([log_Z, m, v], [-2000, 1.5, 1.44], rtol=1e-10)
    far = np.linspace(-120, 120, 12001)  # a step of 0.02 far from zero
    log_Z, _, _ = ep.moments_on_grid(stats.norm.logpdf(far, 1.5, 1.2), far)
    assert log_Z == pytest.approx(0, abs=1e-14)


# Filtering.


@every
def test_one_row_is_filtered_exactly(sample, name):
    """Evidence, mean and full covariance against a grid."""
    Phi, t = sample
    alpha = np.array([0.8, 1.7])
    q = ep.adf(Phi[:1], t[:1], alpha=alpha, likelihood=FACTORS[name])
    log_Z, m, S = brute(Phi[:1], t[:1], alpha, LOGS[name])
    assert q.log_evidence == pytest.approx(log_Z, abs=1e-8)
    np.testing.assert_allclose(q.m, m, atol=1e-8)
    np.testing.assert_allclose(q.S, S, atol=1e-8)


def test_filtering_depends_on_the_order_and_may_repeat_rows(sample):
    """Three orders, three answers; a row seen twice counts twice."""
    Phi, t = sample
    forth = ep.adf(Phi, t)
    back = ep.adf(Phi, t, order=np.arange(12)[::-1])
    assert np.abs(forth.m - back.m).max() > 1e-3
    assert abs(forth.log_evidence - back.log_evidence) > 1e-3
    assert forth.log_Z.shape == (12,)
    assert forth.log_evidence == pytest.approx(forth.log_Z.sum())
    twice = ep.adf(Phi, t, order=[3, 3])
    again = ep.adf(Phi[[3, 3]], t[[3, 3]])
    np.testing.assert_allclose(twice.S, again.S)


@every
def test_the_first_sweep_is_filtering(sample, name):
    """Cavities without later sites, whose precisions are zero."""
    Phi, t = sample
    order = [5, 2, 8, 11, 0, 1, 3, 4, 6, 7, 9, 10]
    given = {"order": order, "likelihood": FACTORS[name], "alpha": [0.5, 2.0]}
    q = ep.adf(Phi, t, **given)
    with pytest.warns(newton.NotConverged, match="after 1 sweeps"):
        p = ep.fit(Phi, t, max_iter=1, **given)
    assert not p.converged
    np.testing.assert_allclose(p.m, q.m, rtol=1e-12)
    np.testing.assert_allclose(p.S, q.S, rtol=1e-12)


# Expectation propagation.


@every
def test_with_one_row_it_is_exact(sample, name):
    """Nothing is approximated but one factor, whose moments are matched."""
    Phi, t = sample
    alpha = np.array([0.8, 1.7])
    p = ep.fit(Phi[:1], t[:1], alpha=alpha, likelihood=FACTORS[name])
    log_Z, m, S = brute(Phi[:1], t[:1], alpha, LOGS[name])
    assert p.converged and len(p.trace) == 2
    assert p.log_evidence == pytest.approx(log_Z, abs=1e-8)
    np.testing.assert_allclose(p.m, m, atol=1e-8)
    np.testing.assert_allclose(p.S, S, atol=1e-8)


@every
def test_tilted_moments_and_marginals_agree(sample, name):
    """What convergence means, from the sites alone."""
    Phi, t = sample
    p = ep.fit(Phi, t, likelihood=FACTORS[name], tol=1e-12)
    P = np.eye(2) + Phi.T @ np.diag(p.tau) @ Phi
    np.testing.assert_allclose(np.linalg.inv(P), p.S, rtol=1e-12)
    np.testing.assert_allclose(p.S @ Phi.T @ p.nu, p.m, rtol=1e-12)
    for phi, s, tau, nu in zip(Phi, t, p.tau, p.nu, strict=True):
        mu, s2 = phi @ p.m, phi @ p.S @ phi
        v_c = 1 / (1 / s2 - tau)
        m_c = v_c * (mu / s2 - nu)
        _, d1, d2 = FACTORS[name].average(m_c, v_c, s)
        assert m_c + v_c * d1 == pytest.approx(mu, abs=1e-11)
        assert v_c + v_c**2 * d2 == pytest.approx(s2, abs=1e-11)


@every
def test_it_is_near_the_truth(sample, name):
    """Two weights by a grid: two digits of ln Z, nearer than filtering."""
    Phi, t = sample
    alpha = np.array([1.0, 0.5])
    p = ep.fit(Phi, t, alpha=alpha, likelihood=FACTORS[name])
    q = ep.adf(Phi, t, alpha=alpha, likelihood=FACTORS[name])
    log_Z, m, S = brute(Phi, t, alpha, LOGS[name])
    assert abs(p.log_evidence - log_Z) < 0.02
    np.testing.assert_allclose(p.m, m, atol=0.02)
    np.testing.assert_allclose(p.S, S, atol=0.03)
    assert np.abs(p.m - m).max() < np.abs(q.m - m).max()


@every
def test_predictions_are_averages_over_q(sample, rng, name):
    """Monte Carlo over weights; both columns, and those of filtering."""
    Phi, t = sample
    for q in (ep.fit(Phi, t, likelihood=FACTORS[name]), ep.adf(Phi, t)):
        W = rng.multivariate_normal(q.m, q.S, 40_000)
        p = np.exp(q.likelihood.log_p(Phi[:3] @ W.T, 1, 0)[0])
        found = ep.predict_proba(q, Phi[:3])
        np.testing.assert_allclose(found[:, 1], p.mean(axis=1), atol=0.01)
        np.testing.assert_allclose(found.sum(axis=1), 1)


@every
def test_slope_of_the_evidence_in_the_prior(sample, name):
    """1 / (2 alpha_j) - (S_jj + m_j^2) / 2: sites are stationary."""
    Phi, t = sample
    alpha, h = np.array([0.7, 1.9]), 1e-4

    def at(a):
        p = ep.fit(Phi, t, alpha=a, likelihood=FACTORS[name], tol=1e-13)
        return p.log_evidence

    p = ep.fit(Phi, t, alpha=alpha, likelihood=FACTORS[name])
    for j, e in enumerate(np.eye(2)):
        slope = (at(alpha + h * e) - at(alpha - h * e)) / (2 * h)
        want = (1 / alpha[j] - p.S[j, j] - p.m[j] ** 2) / 2
        assert slope == pytest.approx(want, abs=1e-7)


def test_the_end_does_not_depend_on_order_damping_or_signs(sample, rng):
    """Three ways to the same q; flipping classes flips the weights."""
    Phi, t = sample
    p = ep.fit(Phi, t)
    other = ep.fit(Phi, t, order=rng.permutation(12))
    slow = ep.fit(Phi, t, damping=0.4)
    flip = ep.fit(Phi, 1 - t)
    for q, sign in ((other, 1), (slow, 1), (flip, -1)):
        np.testing.assert_allclose(sign * q.m, p.m, atol=1e-8)
        np.testing.assert_allclose(q.S, p.S, atol=1e-8)
        assert q.log_evidence == pytest.approx(p.log_evidence, abs=1e-8)
    assert len(slow.trace) > len(p.trace)


def test_a_copy_of_every_row_is_a_sharper_likelihood(sample):
    """Permuted and doubled rows: q depends on the multiset only."""
    Phi, t = sample
    both = ep.fit(np.r_[Phi, Phi], np.r_[t, t])
    shuffled = np.tile(np.arange(12)[::-1], 2)
    again = ep.fit(np.r_[Phi, Phi][shuffled], np.r_[t, t][shuffled])
    np.testing.assert_allclose(both.m, again.m, atol=1e-8)
    np.testing.assert_allclose(both.tau[:12], both.tau[12:], atol=1e-7)


@every
def test_log_concave_factors_have_sites_of_positive_precision(name):
    """On real data with classes that can be separated, too."""
    tumours = data.breast_cancer_mean(standardised=True)
    Phi = data.with_bias(tumours.X[:80, :3])
    p = ep.fit(Phi, tumours.t[:80], alpha=0.1, likelihood=FACTORS[name])
    assert p.converged and p.tau.min() > 0


def test_rank_one_updates_equal_the_renewed_posterior(sample):
    """Before renew() as after it."""
    Phi, t = sample
    q = ep._Weights(Phi, t, np.array([1.0, 2.0]), PROBIT, 0.7)
    for _ in range(2):
        for n in range(12):
            q.visit(n)
    m, S = q.m, q.S
    q.renew()
    np.testing.assert_allclose(m, q.m, rtol=1e-10)
    np.testing.assert_allclose(S, q.S, rtol=1e-10)


def test_a_row_of_zeros_says_nothing(sample):
    """ln Z falls by ln 2, the rest stays."""
    Phi, t = sample
    p = ep.fit(Phi, t)
    more = ep.fit(np.r_[Phi, np.zeros((1, 2))], np.append(t, 1.0))
    np.testing.assert_allclose(more.m, p.m, atol=1e-9)
    gap = more.log_evidence - p.log_evidence
    assert gap == pytest.approx(-np.log(2), abs=1e-9)


def test_a_factor_that_is_not_log_concave_may_leave_no_cavity():
    """An improper cavity is named, the evidence then NaN and flagged."""

    world, place = clutter.World(), {1: [3.0], 0: [-2.0]}

    def one(m, v, t):
        log_Z, _, m_t, v_t = clutter.tilted(
            np.array(place[int(t)]), np.array([m]), v, world
        )
        return log_Z, (m_t[0] - m) / v, (v_t - v) / v**2

    factor = Likelihood("clutter", None, np.vectorize(one))
    given = {"alpha": 0.01, "likelihood": factor}
    Phi, t = np.ones((5, 1)), np.array([1.0, 1.0, 0.0, 0.0, 0.0])
    with pytest.warns(ep.ImproperCavity, match=r"cavities of sites \(2,\)"):
        p = ep.fit(Phi, t, max_iter=3, **given)
    assert not p.converged and np.isnan(p.log_evidence)
    slow = ep.fit(Phi, t, damping=0.3, max_iter=900, **given)
    X = np.array([[3.0], [3.0], [-2.0], [-2.0], [-2.0]])
    same = clutter.fit(X, world, damping=0.3, max_iter=900)
    np.testing.assert_allclose(slow.m, same.m, atol=1e-6)
    assert slow.log_evidence == pytest.approx(same.log_evidence, abs=1e-6)


# Bad input.


def test_what_is_refused(sample):
    """ValueErrors that say what arrived."""
    Phi, t = sample
    with pytest.raises(ValueError, match="alpha must be > 0"):
        ep.fit(Phi, t, alpha=[1.0, 0.0])
    with pytest.raises(ValueError, match="alpha"):
        ep.adf(Phi, t, alpha=-1.0)
    with pytest.raises(ValueError, match="t"):
        ep.fit(Phi, 2 * t - 1)
    with pytest.raises(ValueError, match="finite"):
        ep.fit(np.where(Phi > 1, np.nan, Phi), t)
    for damping in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match="damping"):
            ep.fit(Phi, t, damping=damping)
    for order in ([0.0, 1.0], [-1], [12], [[0]], []):
        with pytest.raises(ValueError, match="order must list"):
            ep.adf(Phi, t, order=order)
    with pytest.raises(ValueError, match="each of 12 rows once"):
        ep.fit(Phi, t, order=[0] * 12)
    with pytest.raises(ValueError, match="max_iter"):
        ep.fit(Phi, t, max_iter=0)


def test_one_class_only_is_no_obstacle():
    """The prior holds the weights."""
    p = ep.fit(np.ones((5, 1)), np.ones(5))
    assert p.converged and p.m[0] > 0.5


@pytest.mark.parametrize("alpha", [1e-12, 1e-4, 1e4, 1e12])
def test_priors_of_any_width(alpha, rng):
    """Separated classes: finite, converged, consistent."""
    Phi = np.c_[np.ones(20), rng.standard_normal(20)]
    t = (Phi[:, 1] > 0).astype(float)
    p = ep.fit(Phi, t, alpha=alpha)
    assert p.converged and np.isfinite([p.log_evidence, *p.m]).all()
    assert -20 * np.log(2) - 1e-9 < p.log_evidence < 0
    assert p.tau.min() > 0


def test_an_average_that_is_no_number_is_named():
    """Not believed in silence, even where the row before it says nothing."""

    def broken(mu, s2, t):
        return 0.0 * mu, np.nan if s2 > 0 else 0.0, 0.0 * mu

    for f in (ep.fit, ep.adf):
        with pytest.raises(ValueError, match=r"likelihood must .* got nan"):
            f(
                [[0.0], [1.0]],
                [0, 1],
                likelihood=Likelihood("broken", None, broken),
            )


def test_a_sweep_does_not_overlook_what_is_no_number():
    """NaN is the largest inconsistency, wherever it occurs."""
    assert np.isnan(ep.sweep([0.0, np.nan, 1.0].__getitem__, range(3), 1, 1))
    assert np.isnan(ep.inconsistency(1.0, np.nan, 1.0, 4.0))
    assert np.isnan(ep.inconsistency(np.nan, 4.0, 1.0, 4.0))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-100, 1e6, 1e100])
def test_features_of_any_size(scale, rng):
    """No overflow; above one the size sets the unit of the weights only."""
    Phi = np.array([[1.0, 0.5], [1.0, -0.3], [1.0, 2.0]])
    p = ep.fit(scale * Phi, [0, 1, 1])
    assert p.converged and np.isfinite([p.log_evidence, *p.m]).all()
    if scale > 1:
        wide = ep.fit(Phi, [0, 1, 1], alpha=1e-12)
        np.testing.assert_allclose(scale * p.m, wide.m, rtol=1e-4)
        np.testing.assert_allclose(scale**2 * p.S, wide.S, rtol=1e-4)


@pytest.mark.parametrize("alpha", [1e-12, 1e-4, 1.0])
def test_opposite_labels_of_one_row_leave_no_mean(alpha):
    """From a prior of any width, with cavities far wider than q."""
    p = ep.fit([[1.0], [1.0]], [0, 1], alpha=alpha)
    assert p.converged and p.m[0] == pytest.approx(0, abs=1e-10)
    assert 0 < p.S[0, 0] < 1 / alpha


def test_filtering_names_what_is_no_likelihood():
    """As the fit does."""
    with pytest.raises(ValueError, match="likelihood must be a Likelihood"):
        ep.adf(np.ones((2, 1)), [0, 1], likelihood="probit")


def test_clutter_is_of_no_class():
    """Its results are EP or Filtered as well; they ended in AttributeError."""
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    for of in (clutter.fit, clutter.adf):
        with pytest.raises(ValueError, match="fit must be of classes"):
            ep.predict(of(X, clutter.World()), X)


@pytest.mark.parametrize(
    "log_p, grid, said",
    [
        (np.zeros(3), [2, 1, 0], "grid must rise evenly"),
        (np.zeros(3), [0, 1, 3], "grid must rise evenly"),
        (np.zeros(3), [0, np.nan, 2], "grid must rise evenly"),
        (np.zeros(1), [0], "grid must rise evenly"),
        (np.zeros(3), np.zeros((3, 1)), "grid must rise evenly"),
        (np.zeros(4), [0, 1, 2], "log_p must have shape"),
        ([0, np.nan, 0], [0, 1, 2], "log_p must have a finite maximum"),
        (np.full(3, -np.inf), [0, 1, 2], "log_p must have a finite maximum"),
    ],
)
def test_moments_on_what_is_no_grid_are_refused(log_p, grid, said):
    """A falling one gave ln Z = NaN, an uneven one another integral."""
    with pytest.raises(ValueError, match=said):
        ep.moments_on_grid(log_p, grid)


@pytest.mark.parametrize("unit, alpha", [(1.0, 1e-300), (1e100, 1e-60)])
@pytest.mark.parametrize("run", [ep.fit, ep.adf])
@pytest.mark.filterwarnings("error")
def test_variances_whose_squares_are_no_numbers_are_refused(run, unit, alpha):
    """numpy's RuntimeWarnings were the first word, and NaN met the average."""
    Phi = unit * np.array([[1.0, 2.0], [1.0, -1.0], [1.0, 0.5]])
    with pytest.raises(ValueError, match="Phi / alpha must be finite"):
        run(Phi, [1, 0, 1], alpha=alpha)
