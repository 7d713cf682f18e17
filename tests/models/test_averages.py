"""models.averages: Gaussian averages of sigma and Phi, and their tails."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from prml4.models import averages
from prml4.models.likelihoods import CLOGLOG, LOGISTIC
from prml4.numerics import special

MEANS = [-40.0, -12.3, -3.0, 0.0, 1.7, 20.0, 40.0]
VARIANCES = [1e-3, 0.1, 1.0, 4.0, 16.0, 40.0, 65.0, 100.0]
SCHEMES = [
    averages.plug_in,
    averages.mackay,
    averages.quadrature,
    averages.gauss_hermite,
    lambda mu, s2: averages.monte_carlo(mu, s2, [-1.0, 0.3, 2.0]),
]


def exact(mu, s2, factor=lambda a: 1 / (1 + mp.exp(-a))):
    """ln Z and two derivatives with 40 digits, by differentiating N."""
    mu, s2 = mp.mpf(mu), mp.mpf(s2)
    h = min(mp.sqrt(s2) * mp.mpf("0.4"), mp.mpf("0.2"))
    n = int((25 * mp.sqrt(s2) + 3 * s2) / h)
    moments = [mp.mpf(0)] * 3
    for k in range(-n, n + 1):
        z = k * h
        mass = factor(mu + z) * mp.exp(-z * z / (2 * s2)) * h
        terms = mass, mass * z / s2, mass * (z * z / s2 - 1) / s2
        moments = [m + x for m, x in zip(moments, terms, strict=True)]
    Z, Z1, Z2 = moments
    log_Z = mp.log(Z / mp.sqrt(2 * mp.pi * s2))
    return log_Z, Z1 / Z, Z2 / Z - (Z1 / Z) ** 2


@pytest.mark.parametrize("s2", VARIANCES)
@pytest.mark.parametrize("mu", MEANS)
def test_logistic_against_forty_digits(mu, s2):
    """ln Z and its derivatives to 1e-12, relative; t = 0 by symmetry.

    Also where Z rounds to 1, and where d1 and d2 come from another place
    than Z does.
    """
    found = averages.logistic(mu, s2)
    mirrored = averages.logistic(-mu, s2, 0)
    with mp.workdps(60):
        log_Z, d1, d2 = exact(mu, s2)
        for ours, true in zip(found, (log_Z, d1, d2), strict=True):
            assert abs(float(ours) / true - 1) < 1e-12
    assert mirrored == (found[0], -found[1], found[2])


@pytest.mark.parametrize("mu,s2,t", [(0.3, 2.0, 1), (-1.5, 9.0, 0)])
def test_probit_against_forty_digits(mu, s2, t):
    """The closed form is the integral."""
    found = averages.probit(mu, s2, t)
    side = 1 if t else -1
    with mp.workdps(40):
        true = exact(mu, s2, lambda a: mp.ncdf(side * a))
        for a, b in zip(found, true, strict=True):
            assert abs(float(a) / b - 1) < 1e-13


@pytest.mark.parametrize("s", [0.0, 0.3, 1.0, 2.0, 12.0, 59.0])
@pytest.mark.parametrize("mu", [0.0, -0.5, -1.5, -4.0, -60.0, -2e4])
def test_little_is_left_beyond_the_ends(mu, s):
    """Each integrand has fallen by e^-37 there, by brute force; and the ends
    are apart as far as that takes for one of them, and 3 s or less."""
    left, right = averages._ends(np.array([mu]), np.array([s]))
    x = np.linspace(-20, 3 * s + 20, 200_001)
    a = mu + s * x
    for up, down in ((1, 0), (1, 1), (3, 0), (2, 1)):
        q = up * special.log_sigmoid(a) + down * special.log_sigmoid(-a)
        q -= x * x / 2
        assert np.all(q[(x < left) | (x > right)] < q.max() - 36.99)
    nearer = (np.log1p(3 * s * s) - mu) / max(s, 1e-9)
    most = np.sqrt(8 * 37) + min(3 * s, nearer) + 1e-6
    assert left >= -np.sqrt(2 * 37) - 1e-6 and right - left <= most


@pytest.mark.parametrize("s", [0.1, 0.36, 1.0, 5.0])
def test_the_steps_are_as_fine_as_the_poles_ask_for(s):
    """The sums are exact, and no longer if steps are half as long again."""
    h, errors = averages._step(s), []
    truth = averages.logistic(-0.7, s * s)[0]
    for step in (h, 1.5 * h):
        x = step * (np.arange(-150, 151) + np.array([[0], [0.25], [0.5]]))
        sums = special.sigmoid(s * x - 0.7) @ np.exp(-(x.T**2) / 2)
        p = np.diag(sums) * step / np.sqrt(2 * np.pi)
        errors.append(np.abs(p / np.exp(truth) - 1).max())
    assert errors[0] < 4e-15
    assert errors[1] > 1e-12


def test_many_at_once_equal_one_by_one(rng):
    """A point does not feel its company: the same to the last bit."""
    mu = rng.normal(0, 10, (700, 1))
    s2 = 10 ** rng.uniform(-6, 6, (700, 3))
    t = rng.integers(0, 2, 3)
    found = averages.logistic(mu, s2, t)
    p = averages.quadrature(mu, s2)
    for i, j in [(0, 0), (13, 2), (222, 1), (223, 1), (224, 0), (699, 1)]:
        alone = averages.logistic(mu[i, 0], s2[i, j], t[j])
        assert tuple(side[i, j] for side in found) == alone
        assert p[i, j] == averages.quadrature(mu[i, 0], s2[i, j])


def test_variance_zero_leaves_the_factor():
    """s2 = 0: ln sigma and its derivatives; sigma itself."""
    a = np.linspace(-30, 30, 13)
    found, terms = averages.logistic(a, 0.0), LOGISTIC.log_p(a, 1, 2)
    for side, true in zip(found, terms, strict=True):
        np.testing.assert_allclose(side, true, rtol=1e-13, atol=3e-16)
    for scheme in SCHEMES:
        np.testing.assert_allclose(scheme(a, 0.0), special.sigmoid(a), 1e-14)


def test_a_wide_gaussian_leaves_a_step():
    """s2 -> infinity: Z -> 1/2, the mean of q is that of half a normal."""
    log_Z, d1, d2 = averages.logistic(0.0, 1e6)
    assert abs(log_Z - np.log(0.5)) < 1e-15
    np.testing.assert_allclose(d1, np.sqrt(2 / np.pi) / 1e3, rtol=1e-5)
    np.testing.assert_allclose(d2, -2 / np.pi / 1e6, rtol=1e-4)


@given(
    st.floats(-40, 40), st.floats(0, 100), st.sampled_from([0, 1])
)  # fmt: skip
def test_derivatives_have_their_signs(mu, s2, t):
    """0 < Z < 1, ln Z rises towards its class and is concave."""
    log_Z, d1, d2 = averages.logistic(mu, s2, t)
    assert log_Z <= 1e-15 and (2 * t - 1) * d1 > 0 and d2 < 0
    assert s2 + s2**2 * d2 > 0 or s2 == 0


@pytest.mark.parametrize("s2", [1e-8, 0.1, 3.0, 40.0])
def test_rounding_bends_no_log_concave_average_upwards(s2):
    """Far below, sigma(a) is e^a and d2 nothing: at most 0, not 5e-32, or EP
    would take a site of negative precision (Prekopa's theorem)."""
    mu = np.linspace(-740, -60, 6801)
    assert np.all(averages.logistic(mu, s2)[2] <= 0)
    assert np.all(averages.log_concave(LOGISTIC.log_p, mu, s2)[2] <= 0)


@given(st.floats(-40, 40), st.floats(0, 100))
def test_quadrature_is_absolute(mu, s2):
    """The probability rule agrees with the sharper one to 1e-13."""
    p = np.exp(averages.logistic(mu, s2)[0])
    assert abs(averages.quadrature(mu, s2) - p) < 1e-13


@pytest.mark.parametrize(
    "s2", [1e-6, 0.1, 0.13, 2.0, 2.1, 60.0, 80.9, 81.0, 150.0, 1e3, 1e4]
)
def test_the_steps_of_quadrature_suit_every_width(s2):
    """Narrow to very wide, the error is rounding."""
    mu = np.linspace(-90, 90, 721)
    exact = np.exp(averages.logistic(mu, s2)[0])
    assert np.abs(averages.quadrature(mu, s2) - exact).max() < 2e-15


def test_quadrature_stays_in_range_and_silent():
    """Far out without overflow, and never a hair beyond 0 or 1."""
    grid = np.linspace(-300, 300, 2001), np.linspace(0.3, 9.5, 47)[:, None]
    p = averages.quadrature(grid[0], grid[1] ** 2)
    assert p.min() >= 0 and p.max() <= 1 + 2e-16
    far = averages.quadrature([-1e200, -1e8, 1e8], 64.0)
    np.testing.assert_allclose(far, [0, 0, 1], atol=1e-15)


@pytest.mark.parametrize("s", [9.0, 13.0, 1e3])
def test_quadrature_against_forty_digits(s):
    """Logistic noise added up; means out to where all is 0 or 1."""
    mu = s * np.array([-60.0, -3.0, -0.4, 0.0, 1.3, 60.0])
    found = averages.quadrature(mu, s * s)
    np.testing.assert_allclose(found[[0, 3, 5]], [0, 0.5, 1], atol=2e-16)
    with mp.workdps(40):
        for k in (1, 2, 4):
            e = [mp.mpf(j) / 4 for j in range(-400, 401)]
            noise = [mp.exp(-x) / (1 + mp.exp(-x)) ** 2 / 4 for x in e]
            want = mp.fsum(
                n * mp.ncdf((mp.mpf(mu[k]) - x) / mp.mpf(s))
                for n, x in zip(noise, e, strict=True)
            )
            assert abs(found[k] - want) < 2e-15


def test_any_width_is_answered_at_once():
    """s2 up to 1e300: a step, blurred; no array grows with the width."""
    s2 = np.array([1e4, 1e8, 1e12, 1e300])
    p = averages.quadrature(0.7 * np.sqrt(s2), s2)
    np.testing.assert_allclose(p, special.normal_cdf(0.7), atol=1e-4)
    np.testing.assert_allclose(p[2:], special.normal_cdf(0.7), rtol=1e-12)
    tiny = averages.quadrature(3.0, 1e12) - 0.5
    np.testing.assert_allclose(tiny, 3e-6 / np.sqrt(2 * np.pi), 1e-9)


@pytest.mark.parametrize("s2", [1e11, 1e200])
def test_too_wide_for_the_nodes_of_any_factor(s2):
    """A name, where it was all of the memory or a division by zero."""
    with pytest.raises(ValueError, match="s2 must be at most 1e[+]10 for a"):
        CLOGLOG.average([0.0, 1.0], [1.0, s2], 1)
    half = CLOGLOG.average(0.0, 1e8, 0)[0]
    assert abs(half - np.log(0.5)) < 1e-3


@pytest.mark.parametrize("mu", [-0.2, -0.5, -0.9, -1.0, -3.0])
def test_wide_and_far_below(mu):
    """Z(mu) = exp(mu + s^2/2) Z(-mu - s^2), also where exp(mu) is nothing."""
    s2 = 1e5
    log_Z, d1, d2 = averages.logistic(mu * s2, s2)
    other = averages.logistic(-mu * s2 - s2, s2)
    atol = 1e-15
    np.testing.assert_allclose(log_Z, (mu + 0.5) * s2 + other[0], 1e-13)
    np.testing.assert_allclose([d1, d2], [1 - other[1], other[2]], 1e-9, atol)
    want = -mu if mu > -1 else 1 - (mu == -1) * np.sqrt(2 / np.pi / s2)
    np.testing.assert_allclose(d1, want, rtol=1e-3)


def test_gauss_hermite_is_gauss_hermite():
    """Eight nodes against numpy's rule, and a single node is the plug-in."""
    x, omega = np.polynomial.hermite.hermgauss(8)
    a = 0.7 + np.sqrt(2 * 3.0) * x
    true = np.sum(omega / np.sqrt(np.pi) / (1 + np.exp(-a)))
    np.testing.assert_allclose(averages.gauss_hermite(0.7, 3.0, 8), true, 1e-14)
    one = averages.gauss_hermite(0.7, 3.0, 1)
    np.testing.assert_allclose(one, special.sigmoid(0.7), 1e-14)


def test_mackay_matches_the_slope_of_a_probit():
    """sigma(kappa mu) with kappa^2 = 1 / (1 + pi s2 / 8)."""
    np.testing.assert_allclose(averages.kappa(8 / np.pi), np.sqrt(0.5), 1e-15)
    a = averages.mackay([[1.0], [2.0]], [8 / np.pi, 0.0])
    np.testing.assert_allclose(
        a,
        special.sigmoid([[np.sqrt(0.5), 1.0], [np.sqrt(2.0), 2.0]]),
        rtol=1e-14,
    )


def test_monte_carlo_is_the_mean_over_the_draws():
    """Two draws, by hand."""
    p = averages.monte_carlo([1.0, -2.0], 4.0, [0.5, -1.0])
    true = [
        (special.sigmoid(2.0) + special.sigmoid(-1.0)) / 2,
        (special.sigmoid(-1.0) + special.sigmoid(-4.0)) / 2,
    ]
    np.testing.assert_allclose(p, true, rtol=1e-14)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes_keep_shapes(scheme):
    """Broadcasting, scalars for scalars, empty for empty."""
    assert scheme(np.zeros((4, 1)), np.ones(3)).shape == (4, 3)
    assert np.ndim(scheme(0.5, 1.0)) == 0
    assert scheme(np.zeros(0), 1.0).shape == (0,)


@pytest.mark.parametrize("n", range(1, 60))
def test_gauss_hermite_stays_in_range(n):
    """Rounding of the weights makes no probability of 1 + 2e-16."""
    assert averages.gauss_hermite([-1e3, 1e3], 1.0, n).max() <= 1


@pytest.mark.parametrize(
    "average",
    [averages.logistic, averages.probit, averages.quadrature, SCHEMES[-1]],
)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, bool, "O"])
def test_every_kind_of_number_is_a_double(average, kind):
    """The root of a variance in float16 would have three digits."""
    s2 = np.array([1, 0, 1] if kind is bool else [2, 0, 5], dtype=kind)
    mu = np.array([1, -2, 0], dtype=kind)
    found = average(mu, s2), average(mu.astype(float), s2.astype(float))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    "mu,s2,t,said",
    [
        (np.nan, 1.0, 1, "finite"),
        ("1", 1.0, 1, "mu must hold real numbers"),
        (1.0, 1j, 1, "s2 must hold real numbers"),
        (0.0, np.inf, 1, "finite"),
        (0.0, -1e-9, 1, "variance >= 0; got -1e-09"),
        (0.0, 1.0, -1, "t must be 0 or 1"),
    ],
)
def test_bad_input_is_refused(mu, s2, t, said):
    """Named by what is wrong with it."""
    for average in (averages.logistic, averages.probit):
        with pytest.raises(ValueError, match=said):
            average(mu, s2, t)


@pytest.mark.parametrize(
    "scheme",
    [averages.plug_in, averages.mackay, averages.exact_probit, averages.kappa],
)
@pytest.mark.parametrize("s2", [-1.0, np.nan])
def test_closed_forms_refuse_what_is_no_variance(scheme, s2):
    """No NaN in silence."""
    with pytest.raises(ValueError, match="variance >= 0"):
        scheme(s2) if scheme is averages.kappa else scheme(1.0, [2.0, s2])


@pytest.mark.parametrize(
    "scheme", [averages.plug_in, averages.mackay, averages.exact_probit]
)
def test_closed_forms_refuse_what_is_no_mean(scheme):
    """It came back as NaN; an empty list was a TypeError."""
    for bad in (np.nan, [1.0, np.nan], None, "x"):
        with pytest.raises(ValueError, match="mu must"):
            scheme(bad, 1.0)
    assert scheme([], 1.0).shape == (0,)


@pytest.mark.parametrize("n", [0, 2.5, np.inf, [5]])
def test_gauss_and_hermite_have_whole_numbers_of_nodes(n):
    """An OverflowError for infinitely many, a TypeError for a list."""
    with pytest.raises(ValueError, match="n must be a whole number"):
        averages.gauss_hermite(0.3, 1.0, n)


def test_draws_are_looked_at_and_worked_off_in_blocks(monkeypatch):
    """None, NaN and a wrong shape are named; blocks change nothing."""
    mu, z = np.linspace(-3, 3, 7), np.array([0.5, -1.0, 2.0])
    whole = averages.monte_carlo(mu, 2.0, z)
    C = np.tile(np.eye(2), (7, 1, 1))
    pairs = np.column_stack([mu, -mu]), C, np.column_stack([z, -z])
    both = averages.softmax_monte_carlo(*pairs)
    monkeypatch.setattr(averages, "NODES", 6)
    np.testing.assert_array_equal(averages.monte_carlo(mu, 2.0, z), whole)
    np.testing.assert_array_equal(averages.softmax_monte_carlo(*pairs), both)
    for bad in ([], [np.nan], np.ones((2, 2))):
        with pytest.raises(ValueError, match="draws must be finite"):
            averages.monte_carlo(0.0, 1.0, bad)


# Several classes.


@pytest.mark.parametrize(
    "mu,C,said",
    [
        ([[np.nan, 1.0]], [np.eye(2)], "must be finite"),
        ([[0.0, 1.0]], [np.eye(3)], r"got shapes \(1, 2\) and \(1, 3, 3\)"),
        ([[]], np.ones((1, 0, 0)), r"got shapes \(1, 0\) and \(1, 0, 0\)"),
        ([[0.0, 1.0]], [np.diag([1.0, -1.0])], "got an eigenvalue of -1"),
        ([[0.0, 1.0]], [[[4.0, 3.0], [0.0, 4.0]]], "a gap of 3 to C"),
        ([[0.0, 1.0]], [1e8 * np.eye(2)], "grid over 2 activations is too"),
    ],
)
def test_bad_activations_are_named(mu, C, said):
    """Before any grid is laid out."""
    with pytest.raises(ValueError, match=said):
        averages.softmax_grid(mu, C)


@pytest.mark.parametrize("K", range(2, 6))
def test_probabilities_of_classes_sum_to_one(rng, K):
    """Next to certain ones are not above 1, and sums are as good as 1."""
    n = 20 if K != 4 else 4  # rows of each kind; a grid for four takes long
    A = rng.standard_normal((2 * n, K - 1, K - 1))
    mu = rng.standard_normal((2 * n, K - 1))
    mu[n:] *= 1e3
    p = averages.softmax(mu, A @ A.swapaxes(1, 2))
    assert p.min() >= 0 and p.max() <= 1
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-15)


def test_a_wide_row_leaves_the_others_on_the_grid():
    """The average of a point does not feel its company."""
    mu = np.array([[0.3, -0.2], [0.0, 1.0]])
    C = np.array([np.eye(2), 1e6 * np.eye(2)])
    both = averages.softmax(mu, C)
    np.testing.assert_array_equal(
        both[0], averages.softmax_grid(mu[:1], C[:1])[0]
    )
    np.testing.assert_array_equal(both[1:], averages.softmax(mu[1:], C[1:]))
    assert averages.softmax(mu, 1e300 * C).max() <= 1


def test_a_grid_is_for_four_classes_at_most():
    """It is taken for narrow Gaussians then, and refused by name beyond."""
    four = np.array([[0.3, -0.2, 0.9]]), 0.01 * np.eye(3)[None]
    np.testing.assert_array_equal(
        averages.softmax(*four), averages.softmax_grid(*four)
    )
    five = np.array([[0.3, -0.2, 0.9, 0.1]]), 0.01 * np.eye(4)[None]
    assert averages.softmax(*five).shape == (1, 5)
    with pytest.raises(ValueError, match="mu must be of 4 classes at most"):
        averages.softmax_grid(*five)


@pytest.mark.parametrize("K", [5, 9])
def test_classes_alike_share_the_probability(K):
    """Activations that are all alike beside the last: 1/K each, to 5e-3."""
    C = 4 * (np.eye(K - 1) + 1)[None]  # of a_k - a_K, all independent
    p = averages.softmax(np.zeros((1, K - 1)), C)
    np.testing.assert_allclose(p, 1 / K, rtol=0, atol=5e-3)


def test_no_rows_have_no_probabilities():
    """Empty for empty, with a column for each class."""
    p = averages.softmax(np.zeros((0, 2)), np.zeros((0, 2, 2)))
    assert p.shape == (0, 3)


@pytest.mark.parametrize("size", [1, averages.NODES // 3, 2 * averages.NODES])
def test_slices_leave_no_row_out(size):
    """However many fit into memory at a time, one at least."""
    rows = [np.arange(7)[part] for part in averages._slices(7, size)]
    assert np.concatenate(rows).tolist() == list(range(7))
    assert len(rows) == {1: 1, 2 * averages.NODES: 7}.get(size, 3)


def test_variances_of_differences(vague):
    """d^T C d with d = e_j - e_k, the last class at rest."""
    C = np.zeros((4, 3, 3))
    C[:, :2, :2] = vague[1]
    d = np.eye(3)[:, None] - np.eye(3)
    want = np.einsum("jki,nil,jkl->njk", d, C, d)
    np.testing.assert_allclose(
        averages._differences(vague[1]), want, atol=1e-14
    )


def test_pairs_far_out_are_silent():
    """A probability of zero is no warning."""
    y = averages.softmax_pairs([[-1e5, 1.0]], [np.eye(2)])
    assert y[0, 0] == 0 and abs(y.sum() - 1) < 1e-15


@pytest.fixture
def vague(rng):
    """Means and covariances of two activations, four inputs."""
    root = rng.standard_normal((4, 2, 2))
    return 2 * rng.standard_normal((4, 2)), root @ root.transpose(0, 2, 1)


def test_softmax_rules_without_variance_are_the_softmax(vague):
    """All four give the activations' own softmax, the last one zero."""
    mu = vague[0]
    e = np.exp(np.c_[mu, np.zeros(4)])
    want = e / e.sum(axis=1, keepdims=True)
    none = np.zeros((4, 2, 2))
    draws = np.ones((3, 2))
    for found in (
        averages.softmax_plug_in(mu, none),
        averages.softmax_pairs(mu, none),
        averages.softmax_grid(mu, none),
        averages.softmax_monte_carlo(mu, none, draws),
    ):
        np.testing.assert_allclose(found, want, rtol=1e-12)


def test_two_classes_are_the_one_dimensional_rules():
    """K = 2: pairs is the probit approximation, the grid the integral."""
    mu, s2 = np.array([[0.7], [-2.0]]), np.array([[[3.0]], [[0.4]]])
    flat = mu[:, 0], s2[:, 0, 0]
    pairs = averages.softmax_pairs(mu, s2)
    np.testing.assert_allclose(pairs[:, 0], averages.mackay(*flat), 1e-13)
    grid = averages.softmax_grid(mu, s2)
    np.testing.assert_allclose(grid[:, 0], averages.quadrature(*flat), 1e-11)
    np.testing.assert_allclose(grid.sum(axis=1), 1.0, rtol=1e-13)


def test_softmax_grid_against_a_finer_one(vague):
    """A plain sum over 201 x 201 nodes; pairs is close, draws are draws."""
    mu, C = vague
    z = np.linspace(-9, 9, 201)
    nodes = np.stack(np.meshgrid(z, z), -1).reshape(-1, 2)
    p = np.exp(-0.5 * np.sum(nodes**2, axis=1))
    want = np.empty((4, 3))
    for n in range(4):
        a = mu[n] + nodes @ np.linalg.cholesky(C[n]).T
        e = np.exp(np.c_[a, np.zeros(len(a))])
        want[n] = p / p.sum() @ (e / e.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(averages.softmax_grid(mu, C), want, atol=1e-11)
    pairs = averages.softmax_pairs(mu, C)
    assert np.abs(pairs - want).max() < 0.03
    np.testing.assert_allclose(pairs.sum(axis=1), 1.0, rtol=1e-13)
    draws = np.random.default_rng(2).standard_normal((20_000, 2))
    drawn = averages.softmax_monte_carlo(mu, C, draws)
    assert np.abs(drawn - want).max() < 0.02


@pytest.mark.parametrize("mu", [-3e3, -900.0, -40.0, 0.0, 0.7, 900.0])
@pytest.mark.parametrize("t", [0, 1])
def test_the_blurred_step_joins_the_other_rule(mu, t, monkeypatch):
    """Both rules, just where one takes over; the other is past its best."""
    s2 = (1.01 * averages.WIDE) ** 2
    blurred = averages.logistic(mu, s2, t)
    monkeypatch.setattr(averages, "WIDE", np.inf)
    for side, other in zip(blurred, averages.logistic(mu, s2, t), strict=True):
        np.testing.assert_allclose(side, other, rtol=1e-10)


@pytest.mark.parametrize("mu", [-5.5e4, -4.1e4])
def test_wide_in_the_tail_against_forty_digits(mu):
    """Where the tilted density is two exponentials, to 1e-14 of d1 and d2."""
    s2 = 9e4 + 1.0
    _, d1, d2 = averages.logistic(mu, s2)
    with mp.workdps(40):
        moments = [mp.mpf(0)] * 3
        for k in range(-1400, 1401):
            a = mp.mpf(k) / 5
            f = mp.exp(a * (2 * mu - a) / (2 * s2)) / (1 + mp.exp(-a))
            moments = [m + f * a**j for j, m in enumerate(moments)]
        mean = moments[1] / moments[0]
        var = moments[2] / moments[0] - mean**2
        assert abs(float(d1) / ((mean - mu) / s2) - 1) < 1e-14
        assert abs(float(d2) / ((var - s2) / mp.mpf(s2) ** 2) - 1) < 1e-14


@pytest.mark.parametrize("log_s", [16, 20, 60, 110, 140])
@pytest.mark.parametrize("z", [1e4, 1e9, 1e15, 1e16, 1e20, 1e40])
def test_so_far_out_that_a_slope_is_all_rounding(log_s, z):
    """The tilted variance is nothing beside s2: s2 d2 = -1 + O(1 / z^2). At
    z = 1e15 and beyond it came out positive, up to 1e200."""
    s = 10.0**log_s
    if z < s / 2:
        log_Z, d1, d2 = averages.logistic([-z * s, z * s], s * s, [1, 0])
        assert log_Z == pytest.approx(-z * z / 2, rel=1e-6)
        assert d1 * s == pytest.approx([z, -z], rel=1e-7)
        assert d2 * s * s == pytest.approx(-1, rel=1e-7)


def test_wide_gaussians_take_no_longer():
    """A prior variance of 1e12, twelve thousand times."""
    mu = np.linspace(-1e6, 1e6, 12000)
    log_Z, d1, d2 = averages.logistic(mu, 1e12)
    step = averages.probit(mu, 1e12)
    for side, other in zip((log_Z, d1, d2), step, strict=True):
        np.testing.assert_allclose(side, other, rtol=1e-5)


@pytest.mark.parametrize("s2", [0.0, 1.0, 1e4, 1e6])
@pytest.mark.parametrize("mu", [-1e4, -1e8, -1.7e53, -1e300])
def test_far_out_where_a_sigmoid_is_an_exponential(mu, s2):
    """ln Z = mu + s2 / 2 there: the ends of a grid were the same number."""
    if mu + s2 < 0:
        log_Z, d1, d2 = averages.logistic([mu, -mu], s2, [1, 0])
        assert log_Z == pytest.approx(mu + s2 / 2, rel=1e-12)
        assert d1 == pytest.approx([1, -1], rel=1e-12)
        assert d2 == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("mu", [50.0, 1e3, 1e4, 1e8])
def test_the_mode_is_found_however_steep_the_slope_to_it(mu):
    """For exp(-e^a) N(a|mu, 2) it is where 2 e^a = mu - a, far below mu."""
    log_Z, d1, d2 = CLOGLOG.average(mu, 2.0, 0)
    a = brentq(lambda a: 2 * np.exp(a) - (mu - a), -10, 30)
    peak = -np.exp(a) - (a - mu) ** 2 / 4
    assert log_Z == pytest.approx(peak, abs=10, rel=1e-9)
    assert d1 == pytest.approx(-np.exp(a), rel=0.1)
    assert np.isfinite(d2)


@pytest.mark.parametrize(
    "mu, s2", [(300, 1), (1000, 1e4), (45, 25), (1e5, 9), (7354, 1e7)]
)
def test_a_factor_that_leaves_next_to_nothing(mu, s2):
    """e^{-e^a} at a = 300: q is narrow, and far from mu. Against mpmath about
    the mode; sums on the Gaussian's own nodes gave ln Z = -2e60 at 1000."""
    with mp.workdps(40):
        s = mp.sqrt(s2)
        mode = mp.lambertw(s2 * mp.exp(mu)).real  # of mu - a
        x, width = -mode / s, 1 / mp.sqrt(1 + mode)
        ends = [-800, -400, -200, -100, -50, -25, -12, -6, -3, 0, 3, 6, 12, 24]
        edge = [((a - mu) / s - x) / width for a in range(-16, 9, 2)]
        ends = sorted(ends + [u for u in edge if abs(u) < 24])

        def q(u):
            z = x + width * u
            return mp.exp(mode / s2 - mp.exp(mu + s * z) + log_n(z))

        def log_n(z):
            return (x * x - z * z) / 2

        def moment(k):
            return mp.quad(lambda u: u**k * q(u), ends)

        Z, m = moment(0), moment(1) / moment(0)
        log_Z = mp.log(Z * width / mp.sqrt(2 * mp.pi))
        log_Z -= mode / s2 + x * x / 2
        d1 = (x + width * m) / s
        d2 = (width**2 * (moment(2) / Z - m * m) - 1) / s2
    found = CLOGLOG.average(float(mu), float(s2), 0)
    np.testing.assert_allclose(found[0], float(log_Z), rtol=1e-11)
    np.testing.assert_allclose(found[1], float(d1), rtol=1e-9)
    np.testing.assert_allclose(found[2], float(d2), rtol=1e-8)
    assert 1 + s2 * found[2] == pytest.approx(float(1 + s2 * d2), rel=0.2)


def test_a_factor_that_leaves_no_two_nodes_apart():
    """e^{-e^a} at 1e9, with next to no variance: an unnamed error it was."""
    log_Z, d1, d2 = CLOGLOG.average(1e9, 1e-8, 0)
    a = brentq(lambda a: 1e-8 * np.exp(a) - (1e9 - a), 0, 60)
    assert log_Z == pytest.approx(-np.exp(a) - (a - 1e9) ** 2 / 2e-8, rel=1e-9)
    assert d1 == pytest.approx(-np.exp(a), rel=1e-8)
    assert d2 == pytest.approx(-1e8, rel=1e-8)
    assert abs(CLOGLOG.average(1e200, 1.0, 1)[0]) < 1e-15
    with pytest.raises(ValueError, match="mu must be below 1e[+]13 where p"):
        CLOGLOG.average(1e46, 300.0, 0)


def test_a_factor_of_no_size_at_all_is_silent():
    """A prediction far away, with or without variance: warnings are errors."""
    for s2 in (0.0, 1e-8, 1.0, 1e4):
        p = CLOGLOG.predictive(np.array([-1e8, 1e8]), s2)
        np.testing.assert_allclose(p, [[1, 0], [0, 1]], atol=1e-15)


@pytest.mark.parametrize("mu, s2", [(0.7, 0.5), (-1.5, 4.0), (3.0, 25.0)])
def test_the_exact_average_of_a_probit(mu, s2):
    """Phi averaged by adaptive quadrature, which knows no closed form."""
    bell = stats.norm(mu, s2**0.5)
    true = bell.expect(stats.norm.cdf, epsabs=1e-12)
    assert averages.exact_probit(mu, s2) == pytest.approx(true, abs=1e-9)


@pytest.mark.filterwarnings("error")
def test_what_is_no_real_number_is_named():
    """numpy dropped imaginary parts, and asked for shapes without a name."""
    mu, C = np.zeros((1, 2)), np.eye(2)[None]
    with pytest.raises(ValueError, match="t must be 0 or 1; got"):
        averages.logistic(0.0, 1.0, None)
    with pytest.raises(ValueError, match="mu, s2 and t must have shapes that"):
        averages.quadrature(np.zeros(2), np.ones(3))
    with pytest.raises(ValueError, match="draws must hold real numbers"):
        averages.monte_carlo(0.0, 1.0, np.array([1j]))
    for scheme in (averages.softmax, averages.softmax_plug_in):
        with pytest.raises(ValueError, match="mu must hold real numbers"):
            scheme(mu + 1j, C)
    with pytest.raises(ValueError, match="mu must hold numbers; got NaN"):
        averages.softmax_plug_in(mu + np.nan, C)
    assert averages.logistic(0.3, 1.0, np.array(1, object)) == pytest.approx(
        averages.logistic(0.3, 1.0, 1)
    )
