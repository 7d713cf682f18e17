"""prml4.least_squares: regression on labels, and Fisher's discriminant."""

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from scipy.optimize import brute
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from prml4 import gaussian
from prml4 import least_squares as ls
from prml4.models import data
from prml4.models.data import with_bias

FIVE = np.array([-1.0, -0.5, 0.5, 1.0, 60.0])  # separable, but not by a fit
SIGNS = np.array([-1.0, -1.0, 1.0, 1.0, 1.0])


def sample(rng, N=90, D=3, K=3):
    """Classes of unequal size around means in general position."""
    t = np.r_[np.arange(K), rng.choice(K, N - K, p=np.arange(1, K + 1) / 6)]
    means = 2 * rng.standard_normal((K, D))
    A = np.eye(D) + 0.4 * rng.standard_normal((D, D))
    return means[t] + rng.standard_normal((N, D)) @ A, t


@pytest.fixture
def points(rng):
    return sample(rng)


@pytest.fixture
def pair(rng):
    """Two classes of 30 and 50 rows or so."""
    X, t = sample(rng)
    return X[t > 0], t[t > 0] - 1


# Targets.


def test_one_hot_marks_the_class():
    """One row per observation; the type of the labels does not matter."""
    T = [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    for t in ([1, 0, 2], np.array([1.0, 0.0, 2.0]), np.array([1, 0, 2], "i1")):
        np.testing.assert_array_equal(ls.one_hot(t), T)
    np.testing.assert_array_equal(ls.one_hot([True, False]), [[0, 1], [1, 0]])


def test_fishers_targets():
    """N / N_1 and -N / N_0 with N_0 = 3, N_1 = 1, by hand."""
    np.testing.assert_allclose(
        ls.fisher_targets([0, 1, 0, 0]), [-4 / 3, 4, -4 / 3, -4 / 3]
    )


# The fit.


def test_error_is_half_the_sum_of_squares():
    """One row misses by (1, 2): 5 / 2; one output by 3: 9 / 2."""
    assert ls.error(np.zeros((1, 2)), [[1.0]], [[1.0, 2.0]]) == 2.5
    assert ls.error(np.array([4.0]), [[1.0]], [1.0]) == 4.5


def test_gradient_is_the_slope_of_the_error(points, rng):
    """Central differences are exact for a quadratic, up to rounding."""
    Phi, T = with_bias(points[0]), ls.one_hot(points[1])
    W, g = rng.standard_normal((4, 3)), np.empty((4, 3))
    for i in np.ndindex(W.shape):
        d = np.zeros_like(W)
        d[i] = 0.5
        g[i] = ls.error(W + d, Phi, T) - ls.error(W - d, Phi, T)
    np.testing.assert_allclose(ls.gradient(W, Phi, T), g)


def test_the_fit_is_lapacks(points):
    """numpy's lstsq goes by the singular values."""
    Phi, t = with_bias(points[0]), points[1]
    fit = ls.fit(Phi, t)
    W = np.linalg.lstsq(Phi, ls.one_hot(t))[0]
    np.testing.assert_allclose(fit.W, W, atol=1e-14)
    np.testing.assert_allclose(fit.R.T @ fit.R, Phi.T @ Phi, atol=1e-11)
    assert fit.error == pytest.approx(ls.error(W, Phi, ls.one_hot(t)))
    one = ls.regress(Phi, ls.one_hot(t)[:, 1])
    assert one.W.shape == (4,)
    np.testing.assert_allclose(one.W, W[:, 1], atol=1e-14)


def test_qr_keeps_the_digits_that_normal_equations_lose():
    """A column of 1e6 + small: condition 1e6, squared beyond 1e12."""
    x = 1e6 + np.linspace(0, 1, 20)
    Phi, w = with_bias(x), np.array([3.0, -2e-6])
    found = ls.regress(Phi, Phi @ w).W
    np.testing.assert_allclose(Phi @ found, Phi @ w, rtol=1e-13)
    np.testing.assert_allclose(found[1], w[1], rtol=1e-3)


def test_a_penalty_is_ridge_regression(points):
    """scikit-learn's Ridge leaves the intercept alone, as alpha_0 = 0 does."""
    X, t = points
    T = ls.one_hot(t)
    ours = ls.fit(with_bias(X), t, alpha=[0, 2.5, 2.5, 2.5])
    peer = Ridge(alpha=2.5).fit(X, T)
    np.testing.assert_allclose(ours.W[0], peer.intercept_)
    np.testing.assert_allclose(ours.W[1:], peer.coef_.T)
    assert ours.error == pytest.approx(ls.error(ours.W, with_bias(X), T))
    A = np.diag([0, 2.5, 2.5, 2.5])
    dense = with_bias(X).T @ with_bias(X) + A
    np.testing.assert_allclose(ours.R.T @ ours.R, dense)


def test_each_weight_may_have_its_own_penalty(points):
    """The gradient of error and penalty vanishes."""
    Phi, t = with_bias(points[0]), points[1]
    alpha = np.array([0.3, 0.0, 1.0, 7.0])
    W = ls.fit(Phi, t, alpha=alpha).W
    slope = ls.gradient(W, Phi, ls.one_hot(t)) + alpha[:, None] * W
    np.testing.assert_allclose(slope, 0, atol=1e-12)


def test_scikit_learn_predicts_the_same(points):
    """LinearRegression on one-hot targets; RidgeClassifier on +-1."""
    X, t = points
    Phi = with_bias(X)
    peer = LinearRegression().fit(X, ls.one_hot(t))
    W = ls.fit(Phi, t).W
    np.testing.assert_allclose(ls.outputs(W, Phi), peer.predict(X), atol=1e-13)
    ridge = RidgeClassifier(alpha=4.0).fit(X, t)
    W = ls.fit(Phi, t, alpha=[0, 4, 4, 4]).W
    twice = 2 * ls.outputs(W, Phi) - 1
    np.testing.assert_allclose(twice, ridge.decision_function(X), atol=1e-13)
    np.testing.assert_array_equal(ls.predict(W, Phi), ridge.predict(X))


def test_linear_constraints_carry_over(points, rng):
    """a^T t_n + b = 0 for all n, hence for the outputs anywhere."""
    Phi, t = with_bias(points[0]), points[1]
    new = with_bias(9 * rng.standard_normal((40, 3)))
    y = ls.outputs(ls.fit(Phi, t).W, new)
    np.testing.assert_allclose(y.sum(axis=1), 1)
    assert y.min() < 0 and y.max() > 1
    y = ls.outputs(ls.fit(Phi, t, alpha=[0, 3, 3, 3]).W, new)
    np.testing.assert_allclose(y.sum(axis=1), 1)
    y = ls.outputs(ls.fit(Phi, t, alpha=3).W, new)  # bias penalised
    assert np.abs(y.sum(axis=1) - 1).max() > 1e-3


def test_as_many_rows_as_weights_are_enough():
    """Two rows and two weights: the line through two points."""
    fit = ls.regress([[1.0, 2], [1, 4]], [3.0, 7])
    np.testing.assert_allclose(fit.W, [-1, 2])
    assert fit.error == pytest.approx(0, abs=1e-25)


def test_a_penalty_lost_in_rounding_is_refused(points):
    """It must decide between dependent columns; a larger one does, to within
    the rounding of Phi over the penalty."""
    Phi, t = with_bias(points[0]), points[1]
    twice = np.column_stack([Phi, 3 * Phi[:, 1]])
    small = ls.fit(twice, t, alpha=[0, 1e-9, 0, 0, 1e-9]).W
    shares = small[[1, 4]] / ls.fit(Phi, t).W[1]
    np.testing.assert_allclose(shares, [[0.1] * 3, [0.3] * 3], rtol=1e-3)
    for alpha in (1e-14, 1e-30, 1e-320):
        with pytest.raises(ValueError, match="alpha is too small to count"):
            ls.fit(twice, t, alpha=[0, alpha, 0, 0, alpha])
    for alpha in (1e-30, 1e-320):  # nothing to decide, nothing to refuse
        W = ls.fit(Phi, t, alpha=alpha).W
        np.testing.assert_allclose(W, ls.fit(Phi, t).W, atol=1e-14)
    steep = with_bias(1e8 + np.arange(9.0))  # close to dependent, but not
    W = ls.regress(steep, np.arange(9.0), alpha=[0, 1e-9]).W
    assert W[1] == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("f", [ls.error, ls.gradient])
def test_targets_are_not_broadcast(points, f):
    """(N, 1) - (N,) is (N, N), whose squares sum to another error."""
    X, t = points
    W = ls.regress(X, t[:, None]).W
    with pytest.raises(ValueError, match=r"T must have the shape \(90, 1\)"):
        f(W, X, t)
    one = f(W[:, 0], X, t)
    np.testing.assert_allclose(np.squeeze(f(W, X, t[:, None])), one)


@pytest.mark.parametrize("shared", [True, False])
def test_the_fit_depends_on_moments_only(points, shared):
    """pi_k V^{-1} (m_k - m) from the sample's own moments is the fit."""
    X, t = points
    model = (gaussian.fit_lda if shared else gaussian.fit_qda)(X, t)
    W = ls.fit(with_bias(X), t).W
    np.testing.assert_allclose(ls.limit_weights(model), W, atol=1e-13)


@pytest.mark.parametrize("far", [1.0, 1e4, 1e8, 1e12])
def test_limit_weights_of_classes_far_apart_keep_their_digits(far):
    """V w_k = pi_k (mu_k - m), solved with sixty digits."""
    pi, mu = (
        [0.25, 0.25, 0.5],
        far * np.array([[0.0, 1, 2], [3, -1, 1], [1, 2, 0]]),
    )
    Sigma = np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 1]])
    W = ls.limit_weights(gaussian.model(pi, mu, Sigma))
    with mpmath.workdps(60):
        M, P = mpmath.matrix(mu.tolist()), mpmath.diag(pi)
        m = mpmath.matrix([pi]) * M
        B = M - mpmath.ones(3, 1) * m
        V = mpmath.matrix(Sigma.tolist()) + B.T * P * B
        w = mpmath.inverse(V) * B.T * P
        want = np.array([[float(x) for x in row] for row in w.tolist()])
        bias = [float(pi[k] - (m * w)[k]) for k in range(3)]
    want = np.vstack([bias, want])
    size = np.abs(want).max(axis=1, keepdims=True)
    np.testing.assert_allclose(W / size, want / size, atol=1e-13)


# Masking.


@given(
    st.integers(3, 6),
    st.integers(1, 3),
    st.lists(st.floats(-9, 9), min_size=6, max_size=6, unique=True),
    st.integers(0, 999),
)
@settings(max_examples=30, deadline=None)
def test_inner_classes_are_masked_wherever_they_are(K, D, places, seed):
    """Means on a line, equal sizes: an outermost class is always ahead."""
    rng = np.random.default_rng(seed)
    places = np.sort(places[:K])
    assume(np.diff(places).min() > 0.1)
    E = rng.standard_normal((2 * D, D))
    E -= E.mean(axis=0)
    means = np.outer(places, rng.standard_normal(D))
    X = (means[:, None] + 0.01 * E).reshape(-1, D)
    t = np.repeat(np.arange(K), 2 * D)
    y = ls.outputs(ls.fit(with_bias(X), t).W, with_bias(X))
    outer = np.maximum(y[:, 0], y[:, -1])
    np.testing.assert_allclose(y.max(axis=1), outer, rtol=1e-6)
    assert (y[:, 0] > y[:, -1]).any() and (y[:, 0] < y[:, -1]).any()


def test_a_square_unmasks_three_classes():
    """With x^2 the middle class gets a hump."""
    x = np.r_[-5.3, -5, -4.7, -0.3, 0.1, 0.2, 4.7, 5, 5.3]
    t = np.repeat([0, 1, 2], 3)
    line, square = with_bias(x), np.column_stack([x**0, x, x**2])
    assert (ls.predict(ls.fit(line, t).W, line) == t).sum() <= 6
    assert (ls.predict(ls.fit(square, t).W, square) == t).all()


# Far points.


def test_the_line_through_five_points():
    """Slope 51 / 2882.5, zero at 177.5 / 255, on the far side of 0.5."""
    w = ls.regress(with_bias(FIVE), SIGNS).W
    assert w[1] == pytest.approx(51 / 2882.5)
    assert -w[0] / w[1] == pytest.approx(177.5 / 255)
    wrong = np.sign(with_bias(FIVE) @ w) != SIGNS
    np.testing.assert_array_equal(np.flatnonzero(wrong), [2])
    near = ls.regress(with_bias(np.r_[FIVE[:4], 9.9]), SIGNS).W
    assert -near[0] / near[1] < 0.5
    far = ls.regress(with_bias(np.r_[FIVE[:4], 10.1]), SIGNS).W
    assert -far[0] / far[1] > 0.5


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_one_row_more_is_a_refit(points, rng, alpha):
    """Sherman and Morrison against the fit to N + 1 rows."""
    Phi, T = with_bias(points[0]), ls.one_hot(points[1])
    for targets in (T, T[:, 0]):
        row, target = rng.standard_normal(4), targets[5]
        longer = np.vstack([Phi, row]), np.concatenate([targets, target[None]])
        np.testing.assert_allclose(
            ls.add_row(ls.regress(Phi, targets, alpha=alpha), row, target),
            ls.regress(*longer, alpha=alpha).W,
            atol=1e-13,
        )


def test_a_far_point_turns_the_boundary_towards_itself(pair):
    """As the row goes away, the weights along its direction vanish."""
    Phi, t = with_bias(pair[0]), ls.fisher_targets(pair[1])
    fit = ls.regress(Phi, t)
    e = np.array([0, 0.6, -0.8, 0.0])
    limit = ls.far_limit(fit, e)
    assert limit @ e == pytest.approx(0, abs=1e-14)
    far = ls.add_row(fit, Phi[3] + 1e7 * e, t[3])
    np.testing.assert_allclose(far, limit, atol=1e-6)
    assert np.abs(fit.W - limit).max() > 0.01
    two = ls.regress(Phi, np.column_stack([t, -t]))
    both = np.column_stack([limit, -limit])
    basis = np.delete(np.eye(4), 2, axis=1)  # of the weights with e^T w = 0
    basis[2, 1] = 0.75
    best = basis @ np.linalg.lstsq(Phi @ basis, t)[0]
    np.testing.assert_allclose(limit, best, atol=1e-13)
    np.testing.assert_allclose(ls.far_limit(two, e), both, atol=1e-13)


def test_leverage_is_the_diagonal_of_the_projection(points):
    """diag of Phi (Phi^T Phi)^{-1} Phi^T, with sum M."""
    Phi = with_bias(points[0])
    h = ls.leverage(ls.fit(Phi, points[1]), Phi)
    np.testing.assert_allclose(h, np.diag(Phi @ np.linalg.pinv(Phi)))
    assert h.sum() == pytest.approx(4)


@pytest.mark.parametrize("alpha", [0.0, 1.3])
def test_leaving_one_out_is_refitting(alpha, rng):
    """Against N fits, for several outputs and for one."""
    X, t = sample(rng, N=15, D=2)
    Phi, T = with_bias(X), ls.one_hot(t)
    for targets in (T, T[:, 2]):
        quick = ls.leave_one_out(Phi, targets, alpha=alpha)
        for n in range(15):
            keep = np.arange(15) != n
            W = ls.regress(Phi[keep], targets[keep], alpha=alpha).W
            np.testing.assert_allclose(quick[n], Phi[n] @ W, atol=1e-12)


def test_ordinary_rows_are_left_out_without_refitting(points, monkeypatch):
    """One fit serves all of them."""
    monkeypatch.delattr(ls, "_without")
    Phi, t = with_bias(points[0]), points[1].astype(float)
    assert ls.leave_one_out(Phi, t).shape == t.shape


def test_a_row_that_determines_a_weight_cannot_be_left_out():
    """A feature that is zero but once; two rows for two weights."""
    Phi = np.column_stack([np.ones(5), [0, 0, 3, 0, 0]])
    with pytest.raises(ValueError, match="row 2 alone .* column 1 is zero"):
        ls.leave_one_out(Phi, SIGNS)
    assert np.isfinite(ls.leave_one_out(Phi, SIGNS, alpha=1)).all()
    with pytest.raises(ValueError, match="row 0 alone .* got 1 rows for"):
        ls.leave_one_out(np.eye(2), [0.0, 1])


@pytest.mark.parametrize("c", [1e2, 1e4, 1e6, 1e12])
def test_a_far_row_can_be_left_out(c):
    """Its leverage is 1 but for rounding; the others fit (6 x) / 5."""
    Phi = with_bias(np.r_[FIVE[:4], c])
    T = np.column_stack([SIGNS, -SIGNS])
    for targets in (SIGNS, T):
        found = ls.leave_one_out(Phi, targets)
        row = 1.2 * c * targets[4]
        np.testing.assert_allclose(found[4], row)
        for n in range(4):
            W = ls.regress(np.delete(Phi, n, 0), np.delete(targets, n, 0)).W
            np.testing.assert_allclose(found[n], Phi[n] @ W, atol=1e-9)


# Fisher.


def test_scatter_adds_up(points):
    """(4.40)-(4.46) with loops; within and between make the total."""
    X, t = points
    S_W, S_B = ls.scatter(X, t)
    within, between, m = np.zeros((3, 3)), np.zeros((3, 3)), X.mean(axis=0)
    for x, k in zip(X, t, strict=True):
        m_k = X[t == k].mean(axis=0)
        within += np.outer(x - m_k, x - m_k)
        between += np.outer(m_k - m, m_k - m)
    np.testing.assert_allclose(S_W, within)
    np.testing.assert_allclose(S_B, between)
    np.testing.assert_allclose(S_W + S_B, (X - m).T @ (X - m))


def test_criterion_and_its_gradient(points, rng):
    """The ratio for a vector; central differences; zero at the top."""
    S_W, S_B = ls.scatter(*points)
    w = rng.standard_normal(3)
    ratio = (w @ S_B @ w) / (w @ S_W @ w)
    assert ls.criterion(w, S_B, S_W) == pytest.approx(ratio)
    g = [
        (ls.criterion(w + d, S_B, S_W) - ls.criterion(w - d, S_B, S_W)) / 2e-5
        for d in 1e-5 * np.eye(3)
    ]
    np.testing.assert_allclose(
        ls.criterion_gradient(w, S_B, S_W), g, rtol=1e-6, atol=1e-8
    )
    top = ls.fit_fisher(*points).W[:, 0]
    slope = ls.criterion_gradient(top, S_B, S_W)
    np.testing.assert_allclose(slope, 0, atol=1e-12)


@pytest.mark.parametrize(
    "W, S_B, S_W, said",
    [
        ([0, 0, 0], np.eye(3), np.eye(3), "W must hold directions"),
        (np.ones((3, 2)), np.eye(3), np.eye(3), "W must hold directions"),
        ([1, 2, 3], np.eye(3), np.diag([0, 0, 0]), "W must hold directions"),
        ([1, 2], np.eye(3), np.eye(3), r"S_B must have shape \(2, 2\)"),
        ([1, 2, 3j], np.eye(3), np.eye(3), "W must hold real numbers"),
        ([1, 2, 3], np.eye(3), np.triu(np.ones((3, 3))), "be symmetric"),
        ([1, 2, 3], np.ma.masked_less(np.eye(3), 1), np.eye(3), "must hide no"),
    ],
)
def test_criterion_of_what_is_no_direction_or_scatter(W, S_B, S_W, said):
    """LinAlgError, 0/0, the real part, or what a mask hides."""
    with pytest.raises(ValueError, match=said):
        ls.criterion(W, S_B, S_W)
    said = "real numbers|w must have shape" if len(W) == 2 or 3j in W else said
    if np.ndim(W) == 1:
        with pytest.raises(ValueError, match=said):
            ls.criterion_gradient(W, S_B, S_W)


def test_fishers_direction_has_no_better(pair):
    """Against all directions of a hemisphere, the best of them improved.

    Lengths do not count; a search that may change them can run away. The
    simplex ends near the best angles: J, flat there, is right to 1e-6.
    """
    S_W, S_B = ls.scatter(*pair)
    w = ls.fisher_direction(*pair)
    delta = pair[0][pair[1] == 1].mean(0) - pair[0][pair[1] == 0].mean(0)
    np.testing.assert_allclose(w, np.linalg.solve(S_W, delta))
    best = ls.criterion(w, S_B, S_W)

    def loss(angles):
        (c, d), (s, r) = np.cos(angles), np.sin(angles)
        return -ls.criterion([c, s * d, s * r], S_B, S_W)

    found = -loss(brute(loss, [(0, np.pi), (0, np.pi)]))
    assert best * (1 - 1e-6) < found < best * (1 + 1e-12)


def test_regression_finds_fishers_direction(pair):
    """Any two target values; with N / N_1, -N / N_0 the length is known."""
    X, t = pair
    w = ls.fisher_direction(X, t)
    counts = np.bincount(t)
    delta = X[t == 1].mean(axis=0) - X[t == 0].mean(axis=0)
    scale = len(t) / (1 + counts.prod() / len(t) * (delta @ w))
    v = ls.regress(with_bias(X), ls.fisher_targets(t)).W
    np.testing.assert_allclose(v[1:], scale * w)
    assert v[0] == pytest.approx(-v[1:] @ X.mean(axis=0))
    for low, high in ((-1, 1), (0, 1), (3, -8)):
        v = ls.regress(with_bias(X), np.where(t, high, low)).W[1:]
        unit = np.sign(high - low) * v / np.linalg.norm(v)
        np.testing.assert_allclose(unit, w / np.linalg.norm(w))


def test_fishers_direction_is_that_of_lda(pair):
    """Sigma^{-1} (mu_1 - mu_0), N times as long."""
    slope = gaussian.sigmoid_weights(gaussian.fit_lda(*pair))[1:]
    w = ls.fisher_direction(*pair)
    np.testing.assert_allclose(len(pair[1]) * w, slope)


@pytest.mark.parametrize("K, D", [(3, 4), (5, 2), (2, 3), (4, 4)])
def test_projections_solve_the_eigenproblem(rng, K, D):
    """Against scipy's generalised symmetric eigenproblem."""
    X, t = sample(rng, N=60, D=D, K=3)
    t = np.r_[np.arange(K), np.arange(60 - K) % K]
    fisher, (S_W, S_B) = ls.fit_fisher(X, t), ls.scatter(X, t)
    count = min(D, K - 1)
    values = eigh(S_B, S_W, eigvals_only=True)[::-1][:count]
    np.testing.assert_allclose(fisher.ratios, values)
    np.testing.assert_allclose(
        S_B @ fisher.W, S_W @ fisher.W * fisher.ratios, atol=1e-9
    )
    np.testing.assert_allclose(
        fisher.W.T @ S_W @ fisher.W, 60 * np.eye(count), atol=1e-9
    )
    top = ls.criterion(fisher.W, S_B, S_W)
    assert top == pytest.approx(fisher.ratios.sum())
    np.testing.assert_allclose(ls.project(fisher, X).mean(0), 0, atol=1e-12)


def test_scikit_learn_projects_the_same():
    """Up to the sign and the length of each direction, which are its choice."""
    wine = data.wine()
    ours = ls.project(fisher := ls.fit_fisher(wine.X, wine.t), wine.X)
    peer = LinearDiscriminantAnalysis(solver="svd").fit(wine.X, wine.t)
    theirs = peer.transform(wine.X)
    theirs *= np.sum(theirs * ours, axis=0) / np.sum(theirs**2, axis=0)
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
    share = fisher.ratios / fisher.ratios.sum()
    np.testing.assert_allclose(share, peer.explained_variance_ratio_)


def test_units_do_not_matter(points, rng):
    """Projections are the same after any invertible change of features."""
    X, t = points
    A = rng.standard_normal((3, 3)) * [1, 1e3, 1e-3]
    z = ls.project(ls.fit_fisher(X, t), X)
    v = ls.project(ls.fit_fisher(X @ A + 5, t), X @ A + 5)
    v *= np.sign(np.sum(v * z, axis=0))
    np.testing.assert_allclose(v, z, atol=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_signs_are_fixed(seed):
    """The largest weight per standard deviation is positive, in any units."""
    X, t = sample(np.random.default_rng(seed))
    W = ls.fit_fisher(X, t).W
    sd = np.sqrt(np.diag(gaussian.fit_lda(X, t).Sigma))
    scaled = W * sd[:, None]
    assert (scaled[np.abs(scaled).argmax(axis=0), [0, 1]] > 0).all()
    units = np.array([1e3, 1.0, 1e-3])
    for other in (-X, X * units, X * units[::-1]):
        scale = other[0] / X[0]
        found = ls.fit_fisher(other, t).W * np.abs(scale)[:, None]
        np.testing.assert_allclose(found, W, atol=1e-9)


def test_means_on_a_line_leave_one_direction(rng):
    """Three classes, but the rank of S_B is 1, also far from the origin."""
    E = rng.standard_normal((20, 3))
    E -= E.mean(axis=0)
    for shift in (0.0, 1e5):
        X = np.vstack([E, E + [1, 2, 0], E + [3, 6, 0]]) + shift
        fisher = ls.fit_fisher(X, np.repeat([0, 1, 2], 20))
        assert fisher.W.shape == (3, 1) and fisher.ratios.shape == (1,)


def test_equal_means_are_refused(rng):
    """Nothing to separate: also when the shift is large."""
    E = rng.standard_normal((20, 2))
    for shift in (0.0, 1e5):
        X = np.vstack([E, E]) + shift
        with pytest.raises(ValueError, match="class means that differ"):
            ls.fit_fisher(X, np.repeat([0, 1], 20))


def test_lda_on_the_outputs_is_lda(points):
    """The regression keeps all that LDA needs; only the argmax loses it."""
    X, t = points
    Y = ls.outputs(ls.fit(with_bias(X), t).W, with_bias(X))[:, :2]
    direct = gaussian.predict_proba(gaussian.fit_lda(X, t), X)
    detour = gaussian.predict_proba(gaussian.fit_lda(Y, t), Y)
    np.testing.assert_allclose(detour, direct, rtol=1e-6, atol=1e-12)


def test_shrinkage_helps_where_the_scatter_is_singular(rng):
    """More features than rows: refused with a remedy, which works."""
    X, t = rng.standard_normal((10, 12)), np.arange(10) % 3
    for call in (
        ls.fit_fisher,
        lambda X, t, **s: ls.fisher_direction(X, t > 0, **s),
    ):
        with pytest.raises(ValueError, match="shrink"):
            call(X, t)
        call(X, t, shrinkage=0.2)


# Bad input.


GOOD = np.array([[1, 0.0], [1, 3], [1, 4], [1, 2], [1, 0], [1, 7]])
LABELS = [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    "Phi, t, more, said",
    [
        (GOOD, LABELS, {"K": 3}, "no row of class 2"),
        (GOOD[:, [0, 1, 1]], LABELS, {}, "column . is a combination of"),
        (
            GOOD[:, [0, 1, 1]],
            LABELS,
            {"alpha": [1, 0, 0]},
            "combination of 2|1",
        ),
        (GOOD * [1, 0], LABELS, {}, "column 1 is zero"),
        (np.ones((2, 3)), [0, 1], {}, "got 2 rows for 3 .* are equally good"),
    ],
)
def test_bad_input_to_the_fit_is_named(Phi, t, more, said):
    """A ValueError says what arrived and what was expected."""
    with pytest.raises(ValueError, match=said):
        ls.fit(Phi, t, **more)


@pytest.mark.parametrize(
    "T, said",
    [
        ([1.0, 2], r"T must have shape \(6,\) or \(6, K\).*got shape \(2,\)"),
        (np.ones((6, 0)), r"got shape \(6, 0\)"),
        (np.ones((6, 1, 1)), r"got shape \(6, 1, 1\)"),
        (1.0, r"got shape \(\)"),
        ([1, 2, 3, np.nan, 5, 6], r"T must be finite.*nan at \[3\]"),
        (list("abcdef"), "T must hold real numbers"),
    ],
)
def test_bad_targets_are_named(T, said):
    with pytest.raises(ValueError, match=said):
        ls.regress(GOOD, T)
    with pytest.raises(ValueError, match=said):
        ls.leave_one_out(GOOD, T)


@pytest.mark.parametrize(
    "t, said",
    [
        ([], r"got shape \(0,\)"),
        (1.0, r"got shape \(\)"),
        ([[0, 1]], r"got shape \(1, 2\)"),
        ([0], "class numbers|no row of class 1"),
        ([0, 0], "at least two classes|no row of class 1"),
        ([0, 2], "t must hold|class 1"),
    ],
)
def test_bad_labels_are_named(t, said):
    for coding in (ls.one_hot, ls.fisher_targets):
        with pytest.raises(ValueError, match=said):
            coding(t)


@pytest.mark.parametrize(
    "call", [ls.scatter, ls.fit_fisher, ls.fisher_direction]
)
@pytest.mark.parametrize(
    "X, t, said",
    [
        (GOOD * np.nan, LABELS, "X must be finite"),
        (GOOD[:0], [], "at least one row"),
        (GOOD, [0] * 6, "at least two classes|no row of class 1"),
        (GOOD, [0, 1], r"t must have shape \(6,\)"),
        (GOOD, [0, -1] * 3, "class numbers"),
    ],
)
def test_bad_input_to_fisher_is_named(call, X, t, said):
    with pytest.raises(ValueError, match=said):
        call(X, t)


def test_bad_rows_to_project_are_named(points):
    X, t = points
    fisher = ls.fit_fisher(X, t)
    with pytest.raises(ValueError, match="X must have D = 3 columns"):
        ls.project(fisher, X[:, :2])
    with pytest.raises(ValueError, match="X must be finite"):
        ls.project(fisher, X * np.nan)


def test_a_prediction_needs_an_output_for_each_class():
    """One output has no argmax."""
    for W in (np.ones(2), np.ones((2, 1))):
        with pytest.raises(ValueError, match=r"W must have shape \(M, K\)"):
            ls.predict(W, GOOD)


@pytest.mark.parametrize(
    "phi, target, said",
    [
        ([1.0], [0, 1], r"phi must have shape \(2,\)"),
        ([1.0, np.nan], [0, 1], "phi must be finite"),
        ([1.0, 2], 1.0, r"target must have shape \(2,\).*got \(\)"),
        ([1.0, 2], [0, np.inf], "target must be finite"),
        ([1.0, 2], ["a", "b"], "target must hold real numbers"),
    ],
)
def test_a_bad_row_to_add_is_named(phi, target, said):
    with pytest.raises(ValueError, match=said):
        ls.add_row(ls.fit(GOOD, LABELS), phi, target)


@pytest.mark.parametrize(
    "e, said",
    [
        ([0.0, 0], "e must be a direction"),
        ([0.0, np.nan], "e must be finite"),
        ([1.0, 2, 3], r"e must have shape \(2,\)"),
    ],
)
def test_a_bad_direction_is_named(e, said):
    with pytest.raises(ValueError, match=said):
        ls.far_limit(ls.fit(GOOD, LABELS), e)


def test_a_direction_is_for_two_classes(points):
    with pytest.raises(ValueError, match="class numbers 0, ..., 1"):
        ls.fisher_direction(*points)


def test_a_constant_feature_is_named():
    """GOOD's first column has no scatter within the classes."""
    with pytest.raises(ValueError, match="feature 0 is constant"):
        ls.fit_fisher(GOOD, LABELS)


@given(st.integers(2, 5), st.integers(1, 4), st.integers(0, 9999))
@settings(max_examples=40, deadline=None)
def test_residuals_are_orthogonal_to_the_columns(K, D, seed):
    """Phi^T (Phi W - T) = 0 characterises the minimiser; outputs sum to 1."""
    rng = np.random.default_rng(seed)
    N = D + 3 + 2 * K
    Phi = with_bias(10.0 ** rng.integers(-3, 4) * rng.standard_normal((N, D)))
    t = np.arange(N) % K
    fit = ls.fit(Phi, t)
    scale = np.abs(Phi).max() * N
    slope = ls.gradient(fit.W, Phi, ls.one_hot(t))
    np.testing.assert_allclose(slope, 0, atol=1e-13 * scale)
    np.testing.assert_allclose(ls.outputs(fit.W, Phi).sum(axis=1), 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ls.add_row(None, [1.0], [1.0]),
        lambda: ls.far_limit(None, [1.0]),
        lambda: ls.project(None, [[1.0]]),
        lambda: ls.limit_weights(None),
    ],
)
def test_what_is_no_fit_is_named(call):
    """By its kind, and the kind that was expected."""
    with pytest.raises(ValueError, match="must be a .*; got NoneType"):
        call()


def test_short_integers_are_added_up_as_floats():
    """An error of -7 for 3449."""
    Phi = np.array([[1, 60], [1, 90]], np.int8)
    W, T = np.array([3, 2], np.int8), np.array([120, 100], np.int8)
    assert ls.error(W, Phi, T) == 3449
    assert ls.gradient(W, Phi, T).tolist() == [86, 7650]
