"""studies.worlds: clusters, exact errors of linear rules, learning curves."""

import numpy as np
import pytest
from scipy import integrate, stats

from prml4 import gaussian, logistic
from prml4.models.data import with_bias
from prml4.studies import worlds


@pytest.fixture
def three():
    """Two clusters of class 1, one of class 0, correlated features."""
    mu = [[-1.0, 0.5], [1.0, 0.0], [4.0, 2.0]]
    return worlds.world([0.5, 0.3, 0.2], [0, 1, 1], mu, [[1, 0.4], [0.4, 2]])


def test_draws_have_the_moments_of_their_clusters(three, rng):
    """Proportions, means and covariance within classes of one cluster."""
    X, t = worlds.draw(rng, three, 40_000)
    assert X.shape == (40_000, 2) and set(t) == {0, 1}
    assert t.mean() == pytest.approx(0.5, abs=0.01)
    np.testing.assert_allclose(X[t == 0].mean(0), [-1, 0.5], atol=0.04)
    np.testing.assert_allclose(np.cov(X[t == 0].T), three.Sigma, atol=0.06)
    mean = (0.3 * three.mu[1] + 0.2 * three.mu[2]) / 0.5
    np.testing.assert_allclose(X[t == 1].mean(0), mean, atol=0.05)


def test_small_draws_hold_two_rows_of_each_class(rng):
    """Or LDA could not learn; fewer than four rows are refused."""
    rare, common = (
        worlds.world([1 - p, p], [0, 1], [[-1.0], [1.0]], np.eye(1))
        for p in (0.1, 0.9)
    )
    for world in [rare, common] * 50:
        _, t = worlds.draw(rng, world, 6)
        assert len(t) == 6 and 2 <= t.sum() <= 4
    with pytest.raises(ValueError, match="whole number >= 4"):
        worlds.draw(rng, rare, 3)
    assert worlds.draw(rng, rare, 4)[1].sum() == 2


def test_linear_error_is_the_share_of_mistakes(three, rng):
    """Against 40000 draws, and the closed form of LDA's optimum."""
    w = np.array([-0.3, 1.0, -0.4])
    X, t = worlds.draw(rng, three, 40_000)
    share = np.mean((with_bias(X) @ w > 0) != t)
    assert worlds.linear_error(w, three) == pytest.approx(share, abs=0.01)
    pair = worlds.world([0.3, 0.7], [0, 1], three.mu[:2], three.Sigma)
    model = gaussian.model([0.3, 0.7], three.mu[:2], three.Sigma)
    w = gaussian.sigmoid_weights(model)
    assert worlds.linear_error(w, pair) == pytest.approx(
        gaussian.bayes_error(model)
    )
    assert worlds.linear_error(-w, pair) == pytest.approx(
        1 - gaussian.bayes_error(model)
    )


def test_rule_without_a_direction_always_says_the_same(three):
    """w = (w_0, 0): one class is all wrong; w = 0 tosses a coin."""
    assert worlds.linear_error([1.0, 0, 0], three) == pytest.approx(0.5)
    rare = worlds.world([0.9, 0.1], [0, 1], [[-1.0], [1.0]], np.eye(1))
    assert worlds.linear_error([1.0, 0], rare) == pytest.approx(0.9)
    assert worlds.linear_error([-1.0, 0], rare) == pytest.approx(0.1)
    assert worlds.linear_error([0.0, 0], rare) == pytest.approx(0.5)


def test_limits_are_what_many_rows_teach(three, rng):
    """Fits to 100000 rows, within a few of their standard errors."""
    X, t = worlds.draw(rng, three, 100_000)
    for limit, learn in [
        (worlds.limit_lda(three), worlds.lda_weights),
        (worlds.limit_lda(three, naive=True), worlds.naive_weights),
        (worlds.limit_logistic(three), worlds.logistic_weights),
    ]:
        np.testing.assert_allclose(limit, learn(X, t), atol=0.04)


def test_where_lda_is_right_all_limits_agree():
    """One cluster for each class, independent features."""
    pair = worlds.pair(2.0, D=2)
    np.testing.assert_allclose(worlds.limit_lda(pair), [0, 2, 0], atol=1e-12)
    for w in (
        worlds.limit_lda(pair, naive=True),
        worlds.limit_logistic(pair, 30),
    ):
        np.testing.assert_allclose(w, [0, 2, 0], atol=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("Delta", [0.5, 2.0, 3.5, 6.0, 8.0, 12.0])
def test_a_limit_says_when_its_nodes_are_too_few(Delta):
    """Known to be (0, Delta, 0); without a word Delta = 8 came out as 8.08."""
    pair = worlds.pair(Delta)
    if Delta > 4:
        with pytest.warns(worlds.TooFewNodes, match="60 nodes are too few"):
            worlds.limit_logistic(pair)
    else:
        w = worlds.limit_logistic(pair)
        np.testing.assert_allclose(w, [0, Delta, 0], atol=1e-4)


def test_nodes_integrate_polynomials_exactly(three):
    """Mass, means and second moments of each class."""
    X, t, v = worlds.nodes(three, 3)
    assert X.shape == (27, 2) and v.sum() == pytest.approx(1)
    assert v @ t == pytest.approx(0.5)
    np.testing.assert_allclose(v[t == 0] @ X[t == 0], 0.5 * three.mu[0])
    d = X[t == 0] - three.mu[0]
    np.testing.assert_allclose((v[t == 0] * d.T) @ d, 0.5 * three.Sigma)


def test_learning_curves_share_their_samples(three):
    """Two learners that are the same give the same errors."""
    same = {"a": worlds.lda_weights, "b": worlds.lda_weights}
    rng = np.random.default_rng(1)
    found = worlds.learning_curves(same, three, [8, 50], repeats=5, rng=rng)
    assert found["a"].shape == (2, 5)
    np.testing.assert_array_equal(found["a"], found["b"])
    assert found["a"][1].mean() < found["a"][0].mean()
    rng = np.random.default_rng(1)
    X, t = worlds.draw(rng, three, 8)
    first = worlds.linear_error(worlds.lda_weights(X, t), three)
    assert found["a"][0, 0] == first


def test_curves_are_repeated_a_whole_number_of_times(three, rng):
    """TypeError, and no learning at all for 0."""
    for repeats in (0, 2.5, None):
        with pytest.raises(ValueError, match="repeats must be a whole number"):
            worlds.learning_curves({}, three, [8], repeats=repeats, rng=rng)


def test_learners_are_those_of_the_chapters(three, rng):
    """LDA, its diagonal form, logistic regression with a weak prior."""
    X, t = worlds.draw(rng, three, 60)
    model = gaussian.fit_lda(X, t)
    np.testing.assert_allclose(
        worlds.lda_weights(X, t), gaussian.sigmoid_weights(model)
    )
    beta = (model.mu[1] - model.mu[0]) / np.diag(model.Sigma)
    np.testing.assert_allclose(worlds.naive_weights(X, t)[1:], beta)
    np.testing.assert_allclose(
        worlds.logistic_weights(X, t),
        logistic.fit(with_bias(X), t, alpha=0.01).w,
    )
    X[:, 0] = 5 * t  # separable
    assert np.isfinite(worlds.logistic_weights(X, t)).all()


def test_efficiency_is_efrons_table():
    """Efron (1975), table 1, and adaptive quadrature."""
    table = [1.0, 1.0, 0.995, 0.968, 0.899, 0.786, 0.641, 0.486, 0.343]
    found = worlds.efficiency(np.arange(9) / 2)
    np.testing.assert_allclose(found, table, atol=5.1e-4)
    for d in (1.0, 3.0, 6.0):
        area, _ = integrate.quad(
            lambda x, d=d: stats.norm.pdf(x) / np.cosh(d * x / 2), -40, 40
        )
        exact = (1 + d**2 / 4) * np.exp(-(d**2) / 8) * area
        assert worlds.efficiency(d) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weight": [0.5, 0.6]}, "sum 1"),
        ({"label": [0, 2]}, "class numbers"),
        ({"label": [0, 0]}, "no row of class 1"),
        ({"mu": [[0.0], [np.nan]]}, "finite"),
        ({"Sigma": [[-1.0]]}, "positive definite"),
        ({"Sigma": np.eye(2)}, "shape"),
    ],
)
def test_impossible_worlds_are_refused(change, says):
    """Weights, labels, means, covariances that cannot be."""
    given = {
        "weight": [0.5, 0.5],
        "label": [0, 1],
        "mu": [[0.0], [1.0]],
        "Sigma": [[1.0]],
    }
    with pytest.raises(ValueError, match=says):
        worlds.world(**(given | change))
    good = worlds.world(**given)
    with pytest.raises(ValueError, match="w must have shape"):
        worlds.linear_error([1.0, 2.0, 3.0], good)


@pytest.mark.parametrize("size", [1e-300, 1e-165, 1.0, 1e140])
def test_the_length_of_w_does_not_matter(size):
    """Nor does it where its square underflows."""
    world = worlds.world(
        [0.3, 0.2, 0.5], [0, 1, 1], [[0, 1], [2, 0], [1, -1]], np.eye(2)
    )
    w = np.array([0.2, 1.0, -0.5])
    want = worlds.linear_error(w, world)
    assert 0.1 < want < 0.9
    assert worlds.linear_error(w * size, world) == pytest.approx(want)


def test_a_rule_that_looks_at_nothing_gives_one_class():
    """That of the sign of w_0, however small."""
    world = worlds.world([0.3, 0.7], [0, 1], [[0.0], [1.0]], [[1.0]])
    for bias, error in ((-1.0, 0.7), (0.0, 0.5), (1e-300, 0.3), (1.0, 0.3)):
        assert worlds.linear_error([bias, 0.0], world) == pytest.approx(error)


def test_efficiency_at_great_distances():
    """The integrand is narrow there; no overflow of cosh either."""
    for Delta in (15.0, 30.0, 50.0):
        x, h = np.linspace(-60 / Delta, 60 / Delta, 20001, retstep=True)
        each = np.exp(-(x**2) / 2) / np.cosh(Delta * x / 2) * h
        want = each.sum() / np.sqrt(2 * np.pi)
        want *= (1 + Delta**2 / 4) * np.exp(-(Delta**2) / 8)
        assert worlds.efficiency(Delta) == pytest.approx(want, rel=1e-9)
    assert worlds.efficiency(500.0) == 0


def test_what_is_no_pair_is_named():
    """A distance, a number of features, a number of nodes."""
    with pytest.raises(ValueError, match="D must be a whole number >= 1"):
        worlds.pair(1.0, 0)
    with pytest.raises(ValueError, match="Delta must be finite"):
        worlds.pair(None)
    with pytest.raises(ValueError, match="n must be a whole number >= 1"):
        worlds.nodes(worlds.pair(1.0), 2.5)
    with pytest.raises(ValueError, match="Delta must hold real numbers"):
        worlds.efficiency("far")


def test_a_class_too_rare_to_be_drawn_is_refused(rng):
    """It was waited for until two rows of it came: for ever."""
    for p in (1e-9, 1e-5, 1 - 1e-5):  # with one row once in 2,000 draws
        world = worlds.world([1 - p, p], [0, 1], [[0.0], [1]], [[1.0]])
        with pytest.raises(ValueError, match="two rows more often .* 50 rows"):
            worlds.draw(rng, world, 50)
    rare = worlds.world([0.99, 0.01], [0, 1], [[0.0], [1]], [[1.0]])
    assert worlds.draw(rng, rare, 4)[1].sum() == 2


def test_distances_and_nodes_beyond_doubles():
    """NaN: infinity times 0, and weights that numpy has not got."""
    assert worlds.efficiency(1e149) == 0
    for Delta in (np.nan, 1e200):
        with pytest.raises(ValueError, match="Delta must be finite"):
            worlds.efficiency(Delta)
    X, _, v = worlds.nodes(worlds.pair(0, 1), worlds.MOST)
    assert v @ X**2 == pytest.approx(1)
    with pytest.raises(ValueError, match="n must be at most 370; got 371"):
        worlds.nodes(worlds.pair(0, 1), 371)


def test_what_is_no_world_is_named(rng):
    """A model of LDA, say."""
    no = gaussian.model([0.5, 0.5], [[0.0], [1.0]], [[1.0]])
    for call in (
        lambda: worlds.draw(rng, no, 9),
        lambda: worlds.linear_error([0.0, 1.0], no),
        lambda: worlds.limit_lda(no),
        lambda: worlds.nodes(no, 5),
    ):
        with pytest.raises(
            ValueError, match="world must be a World; got Gauss"
        ):
            call()
