"""prml4.separator: hyperplanes, decisions, exact risks."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, ndtr
from scipy.stats import norm
from sklearn.metrics import confusion_matrix

from prml4 import separator as sep
from prml4.models import bases


@pytest.fixture
def plane(rng):
    """Weights of a plane in three dimensions, and some points."""
    return rng.standard_normal(4), 3 * rng.standard_normal((8, 3))


def posteriors(rng, N=30, K=3):
    return rng.dirichlet(np.ones(K), N)


# Hyperplanes.


def test_the_discriminant_is_a_sum(plane):
    """w_0 + sum_i w_i x_i, with loops; a row of weights for each class."""
    w, X = plane
    expected = [w[0] + sum(w[i + 1] * x[i] for i in range(3)) for x in X]
    np.testing.assert_allclose(sep.discriminant(w, X), expected)
    both = sep.discriminant([w, -2 * w], X)
    np.testing.assert_allclose(both, np.outer(expected, [1, -2]))
    np.testing.assert_allclose(sep.discriminant([1.0, 2.0], [3.0]), [7.0])


def test_the_positive_side_is_class_one(plane, rng):
    """Zero belongs to class 0; of several classes the largest y wins."""
    w, X = plane
    np.testing.assert_array_equal(
        sep.predict(w, X), [int(w[0] + w[1:] @ x > 0) for x in X]
    )
    np.testing.assert_array_equal(sep.predict([0, 1], [-1, 0, 1]), [0, 0, 1])
    W = rng.standard_normal((3, 4))
    ys = [[v[0] + v[1:] @ x for v in W] for x in X]
    np.testing.assert_array_equal(
        sep.predict(W, X), [y.index(max(y)) for y in ys]
    )


def test_the_distance_is_that_to_the_nearest_point(plane):
    """Least squares over the plane x_0 + V c, V orthogonal to w."""
    w, X = plane
    r, foot = sep.signed_distance(w, X), sep.project(w, X)
    start = -w[0] * w[1:] / (w[1:] @ w[1:])
    V = np.linalg.svd(w[1:][None])[2][1:].T
    for n, x in enumerate(X):
        c = np.linalg.lstsq(V, x - start, rcond=None)[0]
        np.testing.assert_allclose(foot[n], start + V @ c)
        assert abs(r[n]) == pytest.approx(np.linalg.norm(x - foot[n]))
        assert np.sign(r[n]) == np.sign(w[0] + w[1:] @ x)
    np.testing.assert_allclose(sep.signed_distance(w, foot), 0, atol=1e-13)
    np.testing.assert_allclose(
        sep.signed_distance([3, -2], [1, 4]), [0.5, -2.5]
    )
    np.testing.assert_allclose(sep.project([3, -2], [1, 4]), [[1.5], [1.5]])


@pytest.mark.parametrize("c", [1e-200, 0.5, 1e140])
def test_a_positive_factor_changes_nothing(plane, c):
    """One weight is redundant; no overflow or underflow in the length."""
    w, X = plane
    np.testing.assert_allclose(sep.unit(c * w), sep.unit(w), rtol=1e-12)
    np.testing.assert_allclose(
        sep.signed_distance(c * w, X), sep.signed_distance(w, X), rtol=1e-12
    )
    np.testing.assert_allclose(sep.project(c * w, X), sep.project(w, X))
    np.testing.assert_allclose(
        sep.signed_distance(-c * w, X), -sep.signed_distance(w, X), rtol=1e-12
    )
    assert np.linalg.norm(sep.unit(c * w)[1:]) == pytest.approx(1)


@pytest.mark.parametrize("D", [1, 2, 3, 6])
def test_d_points_determine_a_hyperplane(rng, D):
    points = 100 + rng.standard_normal((D, D))
    w = sep.through(points)
    np.testing.assert_allclose(sep.discriminant(w, points), 0, atol=1e-11)
    assert np.linalg.norm(w[1:]) == pytest.approx(1)
    assert w[1:][np.abs(w[1:]).argmax()] > 0


@given(
    st.lists(st.floats(-10, 10), min_size=3, max_size=3),
    st.lists(st.floats(-10, 10), min_size=2, max_size=2),
)
def test_foot_and_distance_rebuild_the_point(w, x):
    """x = foot + r w / |w| for any plane and point, PRML (4.6)."""
    if max(abs(w[1]), abs(w[2])) < 1e-3:
        return
    r, foot = sep.signed_distance(w, [x]), sep.project(w, [x])
    again = foot + r[:, None] * sep.unit(w)[1:]
    np.testing.assert_allclose(again, [x], atol=1e-9)


# Decisions.


def test_expected_losses_are_sums_over_classes(rng):
    P, L = posteriors(rng), rng.random((3, 5))
    R = sep.expected_loss(P, L)
    assert R.shape == (30, 5)
    for n, j in np.ndindex(R.shape):
        assert R[n, j] == pytest.approx(
            sum(P[n, k] * L[k, j] for k in range(3))
        )


def test_no_rule_beats_the_minimum_of_the_risk(rng):
    """All 3^4 rules on four inputs; a loss that is not symmetric."""
    joint, L = rng.dirichlet(np.ones(8)).reshape(4, 2), rng.random((2, 3))
    P = joint / joint.sum(axis=1, keepdims=True)
    risks = {
        rule: sum(
            joint[n, k] * L[k, rule[n]] for n in range(4) for k in range(2)
        )
        for rule in product(range(3), repeat=4)
    }
    assert min(risks, key=risks.get) == tuple(sep.decide(P, L))


def test_zero_one_loss_asks_for_the_likeliest_class(rng):
    P = posteriors(rng)
    np.testing.assert_array_equal(sep.decide(P), P.argmax(axis=1))
    np.testing.assert_array_equal(sep.decide(P, sep.zero_one(3)), sep.decide(P))
    np.testing.assert_array_equal(sep.zero_one(2), [[0, 1], [1, 0]])


@given(
    st.floats(0.01, 10), st.floats(0.01, 10), st.floats(-3, 3), st.floats(-3, 3)
)
@settings(max_examples=60)
def test_two_classes_have_one_threshold(c, d, a, b):
    """decide agrees with p(C_1|x) > p* on a grid that avoids p*; the
    diagonal of L does not matter beyond its difference to the rest."""
    L = np.array([[a, a + c], [b + d, b]])
    p = np.linspace(0, 1, 101)
    p = p[np.abs(p - sep.threshold(L)) > 1e-9]
    decided = sep.decide(np.column_stack([1 - p, p]), L)
    np.testing.assert_array_equal(decided, p > sep.threshold(L))
    assert sep.threshold(L) == pytest.approx(c / (c + d))


def test_costs_move_the_hyperplane_in_parallel(plane):
    """y > 0 with shifted weights is sigma(y) > p* with the old ones."""
    w, X = plane
    L = [[0, 1], [7, 0]]
    moved = sep.shifted(w, L)
    np.testing.assert_array_equal(moved[1:], w[1:])
    p = expit(w[0] + X @ w[1:])
    np.testing.assert_array_equal(
        sep.predict(moved, X), sep.decide(np.column_stack([1 - p, p]), L)
    )
    assert moved[0] == pytest.approx(w[0] + np.log(7))


@pytest.mark.parametrize("cost", [0.05, 0.3, 0.6, 0.7])
def test_rejecting_is_one_more_decision(rng, cost):
    """Reject where max p < 1 - cost; nowhere if cost > 1 - 1/K."""
    P = posteriors(rng, 200)
    L = sep.with_reject(sep.zero_one(3), cost)
    assert L.shape == (3, 4)
    j = sep.decide(P, L)
    np.testing.assert_array_equal(j == 3, P.max(axis=1) < 1 - cost)
    np.testing.assert_array_equal(j[j < 3], P.argmax(axis=1)[j < 3])
    assert (cost < 2 / 3) == (j == 3).any()


def test_the_mean_loss_is_a_sum_over_the_confusion_matrix(rng):
    t, j, L = rng.integers(0, 3, 50), rng.integers(0, 3, 50), rng.random((3, 3))
    counts = confusion_matrix(t, j, labels=range(3))
    expected = sum(counts[k, i] * L[k, i] for k in range(3) for i in range(3))
    assert sep.mean_loss(t, j, L) == pytest.approx(expected / 50)
    assert sep.mean_loss(t.astype(float), j, L) == sep.mean_loss(t, j, L)
    wide = sep.with_reject(L, 0.5)
    assert sep.mean_loss([0, 2], [3, 1], wide) == (0.5 + L[2, 1]) / 2


def test_the_reject_curve_by_brute_force(rng):
    """One point for each doubt; ties enter together."""
    P = np.round(posteriors(rng, 60, 2), 1)
    P[:, 1] = 1 - P[:, 0]
    t = rng.integers(0, 2, 60)
    curve = sep.reject_curve(P, t)
    doubt = 1 - P.max(axis=1)
    np.testing.assert_allclose(curve.cost, np.unique(doubt))
    for i, c in enumerate(curve.cost):
        kept = doubt <= c
        assert curve.kept[i] == pytest.approx(kept.mean())
        wrong = P.argmax(axis=1)[kept] != t[kept]
        assert curve.error[i] == pytest.approx(wrong.mean())
        assert curve.promised[i] == pytest.approx(doubt[kept].mean())
    assert curve.kept[-1] == 1
    assert len(curve.cost) < 10


# Exact risks.

BELLS = sep.normals([0.5, 0.5], [-1.0, 1.0], [1.0, 1.0])


def test_normals_are_those_of_scipy():
    pi, mu, sigma = [0.2, 0.5, 0.3], [-1, 0, 2], [0.5, 1, 3]
    x = np.linspace(-4, 4, 10).reshape(2, 5)
    joint = sep.normals(pi, mu, sigma)(x)
    assert joint.shape == (2, 5, 3)
    for k in range(3):
        np.testing.assert_allclose(
            joint[..., k], pi[k] * norm(mu[k], sigma[k]).pdf(x)
        )


def test_the_bayes_error_of_two_bells():
    """Phi(-1); any other cut is worse, and its error is known as well."""
    best = sep.bayes_risk(BELLS, [-9, 0, 9])
    assert best == pytest.approx(ndtr(-1), rel=1e-10)
    for c in (-0.7, 0.0, 0.4):
        error = sep.risk([0, 1], BELLS, [-9, c, 9])
        exact = (ndtr(-(c + 1)) + ndtr(c - 1)) / 2
        assert error == pytest.approx(exact, rel=1e-10)
        assert error >= best - 1e-12


def test_a_bell_that_quadrature_overlooks_is_missed():
    """Far from the edges for its width: every mistake was made, for nothing."""
    joint = sep.normals([0.5, 0.5], [-40, 40], [0.1, 0.1])
    for L in (None, 1 - np.eye(2)):
        with pytest.raises(ValueError, match="put edges far out on each side"):
            sep.risk([1, 0], joint, [-np.inf, 0, np.inf], L)
    with pytest.raises(ValueError, match="quadrature found 0:"):
        sep.bayes_risk(joint, [-np.inf, 0, np.inf], np.ones((2, 1)))
    near = [-np.inf, 5 - 5e-4, 5 + 5e-4, np.inf]  # 3e-7 of a bell is missed
    with pytest.raises(ValueError, match="found 0.99999971"):
        sep.risk([0, 1, 0], sep.normals([0.5, 0.5], [0, 5], [1, 1e-4]), near)
    edges = [-np.inf, -41, -39, 0, 39, 41, np.inf]
    assert sep.risk([1, 1, 1, 0, 0, 0], joint, edges) == pytest.approx(1)
    assert sep.bayes_risk(BELLS, [-np.inf, 0, np.inf]) == pytest.approx(
        ndtr(-1), rel=1e-9
    )


@pytest.mark.parametrize("decisions", [[0, -1], [0, 2], [0, 0.5]])
def test_a_decision_is_one_of_those_there_are(decisions):
    """-1 was taken for the last."""
    for L in (None, np.ones((2, 2))):
        with pytest.raises(ValueError, match="decisions must hold"):
            sep.risk(decisions, BELLS, [-9, 0, 9], L)


@pytest.mark.parametrize("seed", [326, 339, 372])
def test_a_kink_between_edges_costs_no_digits_that_count(seed):
    """SciPy warned of roundoff, of a risk that was right to twelve digits."""
    rng = np.random.default_rng(seed)
    pi, mu = rng.dirichlet(np.ones(3)), 0.3 * rng.standard_normal(3)
    sigma, L = 10 ** rng.uniform(-1, 1, 3), rng.random((3, 4))
    joint = sep.normals(pi, mu, sigma)
    edges = np.sort(np.add.outer([-8, -3, 0, 3, 8], mu / sigma) * sigma, None)
    edges = np.r_[-np.inf, edges, np.inf]
    x = np.linspace(-90, 90, 1_000_001)
    truth = np.trapezoid((joint(x) @ L).min(axis=1), x)
    with warnings.catch_warnings(action="error"):
        best = sep.bayes_risk(joint, edges, L)
    assert best == pytest.approx(truth, abs=1e-8)


def test_an_integral_without_digits_is_said_to_be_rough():
    """A density that no quadrature finds to nine digits."""

    def joint(x):
        return np.array([abs(np.sin(1 / x)), 0.0]) if x else np.zeros(2)

    with pytest.warns(sep.RoughRisk, match="an integral from 0 to 1"):
        sep.risk([1], joint, [0, 1])


def test_risks_with_losses():
    """L_01 = 1, L_10 = 5: the cut is at -ln(5)/2, errors are weighted."""
    L, c = np.array([[0.0, 1.0], [5.0, 0.0]]), -np.log(5) / 2
    exact = (ndtr(-(c + 1)) + 5 * ndtr(c - 1)) / 2
    assert sep.bayes_risk(BELLS, [-9, c, 9], L) == pytest.approx(exact)
    at_cut = sep.risk([0, 1], BELLS, [-9, c, 9], L)
    assert at_cut == pytest.approx(exact)


def test_a_decision_may_be_no_class():
    """Rejecting at 0.1 from -1 to 1: a loss has more columns than rows."""
    L = sep.with_reject(sep.zero_one(2), 0.1)
    wrong, doubtful = ndtr(-2), (ndtr(2) - ndtr(0)) / 2 * 2
    found = sep.risk([0, 2, 1], BELLS, [-9, -1, 1, 9], L)
    assert found == pytest.approx(wrong + 0.1 * doubtful, rel=1e-9)


def test_one_infinite_edge_asks_for_no_whole():
    """The risk of half a line is that of its half, on either side."""
    for edges in ([-np.inf, -2, 0], [0, 2, np.inf]):
        half = sep.bayes_risk(BELLS, edges)
        assert half == pytest.approx(ndtr(-1) / 2, rel=1e-9)


def test_a_class_may_be_impossible():
    """A prior of zero is one; its density is zero."""
    joint = sep.normals([1.0, 0.0], [0.0, 1.0], [1.0, 2.0])
    np.testing.assert_allclose(joint(0.3), [norm.pdf(0.3), 0.0])


def test_a_square_creates_overlap_and_a_cube_does_not():
    """.159 on x, .5 on x^2, and .159 again on x^3."""
    square = [np.sqrt, lambda z: -np.sqrt(z)], lambda x: 2 * x
    cube = [np.cbrt], lambda x: 3 * x**2
    for phi, ends, truth in [
        (square, [0, 1, 100], 0.5),
        (cube, [-1000, -1, 0, 1, 1000], ndtr(-1)),
    ]:
        image = sep.pushed(BELLS, *phi)
        assert sep.bayes_risk(image, ends) == pytest.approx(truth, rel=1e-7)
    z = np.array([0.3, 2.0])
    both = sep.squared(BELLS)(z)
    np.testing.assert_allclose(both, sep.pushed(BELLS, *square)(z))
    np.testing.assert_allclose(
        both[:, 0],
        (norm(-1).pdf(np.sqrt(z)) + norm(-1).pdf(-np.sqrt(z)))
        / (4 * np.sqrt(z)),
    )


def test_regions_end_where_the_sign_changes():
    """(x - 1)(x + 2)(x - 3): negative, positive, negative, positive."""
    w = np.poly([1, -2, 3])[::-1]
    grid = np.linspace(-5, 5.3, 60)
    edges, decisions = sep.regions(w, bases.polynomial(3), grid)
    np.testing.assert_allclose(edges, [-5, -2, 1, 3, 5.3], atol=1e-12)
    np.testing.assert_array_equal(decisions, [0, 1, 0, 1])
    edges, decisions = sep.regions([-1.0, 0.0, -1.0], bases.polynomial(2), grid)
    np.testing.assert_array_equal(edges, [-5, 5.3])
    np.testing.assert_array_equal(decisions, [0])


def test_the_risk_of_a_curved_boundary():
    """x^2 > 2 on two bells of different width, by the normal cdf."""
    joint = sep.normals([0.6, 0.4], [0, 0], [1, 2])
    grid = np.linspace(-20, 20, 401)
    edges, j = sep.regions([-2, 0, 1], bases.polynomial(2), grid)
    exact = 0.6 * 2 * ndtr(-np.sqrt(2)) + 0.4 * (1 - 2 * ndtr(-np.sqrt(0.5)))
    assert sep.risk(j, joint, edges) == pytest.approx(exact, rel=1e-10)
    with pytest.raises(ValueError, match="got 2 decisions and 4 edges"):
        sep.risk([0, 1], joint, edges)


# Whatever arrives.


def test_any_array_of_numbers_will_do(rng):
    """Integers, float32, read-only, strided; nothing is modified."""
    w, X = np.array([1, -2, 3]), rng.integers(-3, 4, (6, 2))
    right = sep.signed_distance(w.astype(float), X.astype(float))
    frozen_w, frozen_X = w.astype(float), X.astype(float)
    frozen_w.flags.writeable = frozen_X.flags.writeable = False
    wide = np.zeros((6, 4))
    wide[:, ::2] = X
    for other in (X, X.astype("f4"), X.tolist(), wide[:, ::2], frozen_X):
        np.testing.assert_array_equal(sep.signed_distance(w, other), right)
    sep.project(frozen_w, frozen_X)
    shifted = sep.shifted(frozen_w, [[0, 1], [2, 0]])
    assert shifted is not frozen_w and frozen_w[0] == 1


@pytest.mark.parametrize(
    "w, said",
    [
        ([1.0, 2.0], r"w must hold 3 weights.*got shape \(2,\)"),
        (np.ones((2, 2)), r"got shape \(2, 2\)"),
        (np.ones((1, 1, 3)), r"got shape \(1, 1, 3\)"),
        ([1.0, np.nan, 2.0], r"w must be finite.*nan at \[1\]"),
        (["a", "b", "c"], "w must hold real numbers"),
    ],
)
def test_bad_weights_are_named(w, said):
    with pytest.raises(ValueError, match=said):
        sep.discriminant(w, np.zeros((4, 2)))


@pytest.mark.parametrize(
    "X, said",
    [
        ([[1.0, np.inf]], r"X must be finite.*inf at \[0, 1\]"),
        (np.empty((0, 2)), r"got shape \(0, 2\)"),
        (np.zeros((4, 2, 1)), r"got shape \(4, 2, 1\)"),
    ],
)
def test_bad_points_are_named(X, said):
    for f in (sep.discriminant, sep.signed_distance, sep.project, sep.predict):
        with pytest.raises(ValueError, match=said):
            f([1.0, 2.0, 3.0], X)


def test_a_unit_normal_stays_as_it_is():
    """Its largest element is 1, and there is nothing wrong with that."""
    w = np.array([3.0, 0.0, -1.0, 0.0])
    np.testing.assert_array_equal(sep.unit(w), w)


def test_without_a_normal_there_is_no_hyperplane():
    for f in (sep.signed_distance, sep.project):
        with pytest.raises(ValueError, match="all zero: w_0 alone"):
            f([1.0, 0.0, 0.0], np.zeros((4, 2)))
    for w in ([1.0], 1.0, np.ones((2, 3))):
        with pytest.raises(ValueError, match="a bias and at least one weight"):
            sep.unit(w)


@pytest.mark.parametrize("unit", [1e-30, 1e-13, 1e13, 1e100])
def test_a_plane_does_not_depend_on_units(rng, unit):
    """Three points were said to lie on a line where a unit was large."""
    units = np.array([1, 1, unit])
    points = rng.standard_normal((3, 3))
    w = sep.through(points)[1:] / units
    found = sep.through(points * units)[1:]
    np.testing.assert_allclose(found, w / w[np.abs(w).argmax()] * found.max())


def test_points_must_determine_their_plane():
    with pytest.raises(ValueError, match="points must be 2 in 2 dimens"):
        sep.through(np.zeros((3, 2)))
    for line in ([[0, 0, 0], [1, 1, 1], [2, 2, 2]], [[1, 2], [1, 2]]):
        with pytest.raises(
            ValueError, match="points must lie on one hyperplane"
        ):
            sep.through(line)


@pytest.mark.parametrize(
    "P, said",
    [
        ([[0.5, 0.6]], "sums off by 1.0e-01"),
        ([[0.5, 0.5], [0.5, 0.6]], "sums off by 1.0e-01"),
        ([[1.2, -0.2]], "smallest entry -0.2"),
        ([[1.0]], r"got shape \(1, 1\)"),
        ([0.5, 0.5], "P must be a matrix"),
        ([[0.5, np.nan]], "P must be finite"),
    ],
)
def test_bad_posteriors_are_named(P, said):
    calls = [
        sep.decide,
        lambda P: sep.expected_loss(P, np.eye(2)),
        lambda P: sep.reject_curve(P, [0]),
    ]
    for f in calls:
        with pytest.raises(ValueError, match=said):
            f(P)


def test_bad_losses_are_named():
    P = [[0.5, 0.5]]
    with pytest.raises(ValueError, match=r"row for each of the 2 .*\(3, 3\)"):
        sep.decide(P, np.eye(3))
    with pytest.raises(ValueError, match="L must be finite"):
        sep.decide(P, [[0, np.inf], [1, 0]])
    with pytest.raises(ValueError, match=r"must have shape \(2, 2\)"):
        sep.threshold(np.ones((2, 3)))
    for L, said in [
        ([[0, 0], [1, 0]], "L_01 - L_00 = 0 and"),
        ([[0, 1], [1, 2]], "L_10 - L_11 = -1"),
        ([[0, 1], [1, 1]], "L_10 - L_11 = 0"),
    ]:
        with pytest.raises(ValueError, match=said):
            sep.threshold(L)
    for cost in (-0.1, np.inf, np.nan):
        with pytest.raises(ValueError, match="cost must be"):
            sep.with_reject(np.eye(2), cost)


def test_bad_numbers_are_named():
    L = sep.zero_one(2)
    with pytest.raises(ValueError, match=r"t must hold .* 0, \.\.\., 1"):
        sep.mean_loss([0, 2], [0, 1], L)
    for j in ([0, -1], [0.5, 1], [], [[0, 1]]):
        with pytest.raises(ValueError, match="decisions must"):
            sep.mean_loss([0, 1], j, L)
    with pytest.raises(ValueError, match=r"decisions must have shape \(2,\)"):
        sep.mean_loss([0, 1], [0], L)
    with pytest.raises(ValueError, match=r"t must have shape \(1,\)"):
        sep.reject_curve([[0.5, 0.5]], [0, 1])


@pytest.mark.parametrize("edges", [[9, 0, -9], [0, np.nan, 1], [0, 0, 1], [0]])
def test_edges_ascend(edges):
    """Anything else would count a region twice, or with the wrong sign."""
    joint = sep.normals([0.5, 0.5], [-1, 1], [1, 1])
    with pytest.raises(ValueError, match="edges must ascend"):
        sep.risk([0, 1][: len(edges) - 1], joint, edges)
    with pytest.raises(ValueError, match="edges must ascend"):
        sep.bayes_risk(joint, edges)
    with pytest.raises(ValueError, match="grid must"):
        sep.regions([0.0, 1.0], bases.polynomial(1), edges)


@pytest.mark.parametrize("sigma", [[1, 0], [1, -1], [1, np.nan]])
def test_widths_are_positive(sigma):
    """A negative width would be a negative density."""
    with pytest.raises(ValueError, match="sigma must be > 0"):
        sep.normals([0.5, 0.5], [-1, 1], sigma)


def test_means_are_finite():
    """NaN went through, to densities of NaN."""
    with pytest.raises(ValueError, match="and mu finite; got"):
        sep.normals([0.5, 0.5], [-1, np.nan], [1, 1])


def test_bells_have_one_of_each(rng):
    """They were paired, (2, 1) with (2,) to four; a mask hid nothing."""
    for pi, mu in (([[0.5], [0.5]], [-1, 1]), ([0.5, 0.5], [-1, 1, 2])):
        with pytest.raises(ValueError, match="must have shape"):
            sep.normals(pi, mu, [1, 1])
    with pytest.raises(ValueError, match="mu must hide no entries"):
        sep.normals([0.5, 0.5], np.ma.masked_equal([-1, 1], 1), [1, 1])
    with pytest.raises(ValueError, match="pi >= 0"):
        sep.normals([0.5, np.inf], [-1, 1], [1, 1])


def test_regions_are_those_of_one_discriminant():
    """Of two rows edges came back that are none; of one row no edges."""
    grid, x = np.linspace(-3, 3, 5), bases.polynomial(1)
    np.testing.assert_allclose(sep.regions([-0.3, 1.0], x, grid)[0][1], 0.3)
    for w in ([[-0.3, 1.0]], [[-0.3, 1.0], [0.3, 1.0]]):
        with pytest.raises(ValueError, match="w must have shape"):
            sep.regions(w, x, grid)


@pytest.mark.parametrize("price", [1e8, 1e16, 1e20])
def test_a_price_beyond_all_measure_shifts_by_its_logarithm(price):
    """p* is rounded to 1, whose log odds are infinite; c / d is not."""
    L = np.array([[0, price], [1, 0]])
    w = sep.shifted([0.0, 1.0], L)
    np.testing.assert_allclose(w, [-np.log(price), 1], rtol=1e-15)
    cheap = sep.shifted([0.0, 1.0], L.T)
    np.testing.assert_allclose(cheap, [np.log(price), 1], rtol=1e-15)


@pytest.mark.parametrize("w", [[], 1.0, [[1, 2], [3, 4]]])
def test_one_boundary_is_shifted(w):
    """The rows of several classes have no common threshold."""
    with pytest.raises(ValueError, match="w must be one vector"):
        sep.shifted(w, 1 - np.eye(2))
    with pytest.raises(ValueError, match="w must be finite"):
        sep.shifted([np.nan, 1.0], 1 - np.eye(2))


def test_a_hyperplane_infinitely_far_away_is_refused_in_one_line():
    """w_0 / |w_1| would overflow: a refusal, and no warning before it."""
    with pytest.raises(ValueError, match="w must have a hyperplane"):
        sep.unit([1, 1e-320])


def test_what_is_no_edge_no_loss_and_no_class_is_named():
    """TypeErrors, and an IndexError for a loss that is a number."""
    joint = sep.normals([0.5, 0.5], [-1, 1], [1, 1])
    for edges in (None, 1.0, [["a"]], [[0, 1]]):
        with pytest.raises(ValueError, match="edges must"):
            sep.bayes_risk(joint, edges)
        with pytest.raises(ValueError, match="edges must"):
            sep.risk([0], joint, edges)
    with pytest.raises(ValueError, match="L must be a matrix"):
        sep.risk([0, 1], joint, [-9, 0, 9], 1.0)
    with pytest.raises(ValueError, match="K must be a whole number"):
        sep.zero_one(2.5)


def test_costs_that_quadrature_does_not_see_are_not_nought():
    """All probability was found, and of the cost of the left pair nothing."""
    mu, sigma = [-1.1266, -1.1154, -0.0765], [0.0113, 0.0236, 0.0136]
    joint = sep.normals([0.35, 0.35, 0.3], mu, sigma)
    with pytest.raises(ValueError, match="put edges far out"):
        sep.bayes_risk(joint, [-np.inf, np.inf])
    edges = [-np.inf, -1.4, -1.15, -1.1, -0.9, -0.2, 0.1, np.inf]
    x = np.linspace(-1.4, -0.9, 200_001)
    cost = joint(x)[:, :2].min(axis=1).sum() * (x[1] - x[0])
    assert sep.bayes_risk(joint, edges) == pytest.approx(cost, abs=1e-8)


@pytest.mark.parametrize("unit", [1e-8, 1e8, -1.0, 0.0])
def test_risks_have_the_units_of_their_losses(unit):
    """Eleven digits of any; and gains, or no losses at all, are losses too."""
    L, edges = unit * np.array([[0.0, 3], [1, 0]]), [-np.inf, 0, np.inf]
    exact = unit * sep.risk([0, 1], BELLS, edges, [[0.0, 3], [1, 0]])
    found = sep.risk([0, 1], BELLS, edges, L)
    assert found == pytest.approx(exact, rel=1e-10, abs=0)


def test_bells_of_one_class_or_of_no_width():
    """One class is allowed, an infinite width is none."""
    one = sep.normals([1.0], [0.0], [1.0])(0.0)
    np.testing.assert_allclose(one, [1 / np.sqrt(2 * np.pi)])
    with pytest.raises(ValueError, match="sigma must be > 0"):
        sep.normals([0.5, 0.5], [0.0, 1.0], [1.0, np.inf])
