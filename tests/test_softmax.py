"""prml4.softmax: error, gradient, Hessian, the fit and what can go wrong."""

import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prml4 import least_squares, logistic, softmax
from prml4.numerics import newton
from prml4.numerics.separation import (
    SeparableDataWarning,
    kind_of_ray,
    of_classes,
)
from tests.campaigns.problems import draw


def overlapping(rng, N=90, M=3, K=4):
    """A design with a bias and classes drawn from the model."""
    Phi = np.c_[np.ones(N), rng.standard_normal((N, M - 1))]
    W = rng.standard_normal((K, M))
    A = Phi @ W.T + rng.gumbel(size=(N, K))
    return Phi, A.argmax(axis=1)


def wide(rng, N=6000, M=30, K=9):
    """More than 200 differences, and enough rows for a head start."""
    Phi = np.c_[np.ones(N), rng.standard_normal((N, M - 1))]
    W = rng.standard_normal((K, M)) / np.sqrt(M)
    return Phi, (Phi @ W.T + rng.gumbel(size=(N, K))).argmax(axis=1)


@pytest.fixture
def data(rng):
    """Ninety rows, three columns, four classes."""
    return overlapping(rng)


@pytest.fixture(scope="module")
def wine():
    """Alcohol and colour of 178 wines from three growers."""
    datasets = pytest.importorskip("sklearn.datasets")
    X, t = datasets.load_wine(return_X_y=True)
    return np.c_[np.ones(len(X)), X[:, [0, 9]]], t


# The formulas.


def test_error_and_gradient_are_those_of_the_sums(data, rng):
    """(4.108) and (4.109) written out, row by row."""
    Phi, t = data
    W = rng.standard_normal((4, 3))
    Y = np.exp(Phi @ W.T)
    Y /= Y.sum(axis=1, keepdims=True)
    T = np.eye(4)[t]
    np.testing.assert_allclose(softmax.predict_proba(W, Phi), Y, rtol=1e-12)
    for given_t in (t, T, t.astype(float)):
        E = softmax.error(W, Phi, given_t)
        assert E == pytest.approx(-np.sum(T * np.log(Y)))
        G = softmax.gradient(W, Phi, given_t)
        G_rows = sum(np.outer(Y[n] - T[n], Phi[n]) for n in range(90))
        np.testing.assert_allclose(G, G_rows, 1e-9)
    for shares in (t + 0.5, -t, -t.astype(float)):
        with pytest.raises(ValueError, match="^t must hold the class numbers"):
            softmax.error(W, Phi, shares)
    for wrong in (np.full((90, 4), 0.25), T[:, :3]):
        with pytest.raises(ValueError, match="^T must hold in each row"):
            softmax.error(W, Phi, wrong)


def test_gradient_and_hessian_by_central_differences(data, rng):
    """h = 1e-5 leaves an error of about 1e-10; a prior included."""
    Phi, t = data
    W = rng.standard_normal((4, 3))
    alpha = np.array([0, 1, 2.5])
    H = softmax.hessian(W, Phi)
    G = softmax.map_gradient(W, Phi, t, alpha)
    for k, j in np.ndindex(4, 3):
        e = np.zeros((4, 3))
        e[k, j] = 1e-5
        up = softmax.map_error(W + e, Phi, t, alpha)
        down = softmax.map_error(W - e, Phi, t, alpha)
        assert G[k, j] == pytest.approx((up - down) / 2e-5, rel=1e-6)
        slope = softmax.gradient(W + e, Phi, t)
        slope -= softmax.gradient(W - e, Phi, t)
        np.testing.assert_allclose(H[:, k, :, j], slope / 2e-5, atol=1e-7)


def test_hessian_blocks_are_those_of_the_sums(data, rng):
    """H_jk = sum y_k (I_kj - y_j) phi phi^T, (4.110) without its minus."""
    Phi, _ = data
    W = rng.standard_normal((4, 3))
    Y = softmax.predict_proba(W, Phi)
    H = softmax.hessian(W, Phi)
    for j, k in np.ndindex(4, 4):
        r = Y[:, k] * ((k == j) - Y[:, j])
        np.testing.assert_allclose(H[j, k], (r * Phi.T) @ Phi, atol=1e-12)
    big = softmax.as_matrix(H)
    np.testing.assert_array_equal(big[3:6, 9:12], H[1, 3])
    values = np.linalg.eigvalsh(big)
    assert values[0] > -1e-14 * values[-1]
    assert np.sum(values > 1e-10 * values[-1]) == 3 * (4 - 1)


def test_hessian_vector_product_is_that_of_the_matrix(data, rng):
    """And zero along (u, u, u, u)."""
    Phi, _ = data
    W, U = rng.standard_normal((2, 4, 3))
    H = softmax.as_matrix(softmax.hessian(W, Phi))
    HU = softmax.hessian_vector(W, Phi, U)
    np.testing.assert_allclose(HU.ravel(), H @ U.ravel(), rtol=1e-10)
    same = softmax.hessian_vector(W, Phi, np.ones((4, 1)) * U[0])
    np.testing.assert_allclose(same, 0, atol=1e-13)


def test_passes_over_many_blocks_are_the_formulas(rng):
    """More rows than a block holds, each as often as its weight says."""
    Phi, t = overlapping(rng, 35000, 5, 3)
    W, c = rng.standard_normal((3, 5)), rng.integers(3, size=35000)
    E, G, H = softmax.row_pass(Phi, W, t, weights=c)
    rows = Phi.repeat(c, axis=0)
    assert E == pytest.approx(softmax.error(W, rows, t.repeat(c)), rel=1e-12)
    want = softmax.gradient(W, rows, t.repeat(c))
    np.testing.assert_allclose(G, want, atol=1e-8)
    np.testing.assert_allclose(H, softmax.hessian(W, rows), atol=1e-8)


def test_products_of_the_fit_are_those_of_its_hessian(rng):
    """With the last class left out and with weights, block after block."""
    Phi, t = overlapping(rng, 35000, 5, 3)
    c, v = rng.random(35000), rng.standard_normal(10)
    f = softmax.Problem(Phi, t, c, np.ones(5), np.eye(2))
    product, _ = f.curvature(v)
    u = rng.standard_normal(10)
    np.testing.assert_allclose(product(u), f(v)[2] @ u, rtol=1e-9)


@given(arrays(float, 3, elements=st.floats(-1e8, 1e8)), st.integers(0, 2))
def test_one_row_is_exact_however_large_the_activations(a, t):
    """Fifty digits of mpmath, activations up to 1e8."""
    E, D, Y = softmax.cross_entropy(a[:, None].copy(), np.array([t]), 2)
    with mpmath.workdps(50):
        e = [mpmath.exp(mpmath.mpf(v) - mpmath.mpf(a[t])) for v in a]
        rest = sum(v for k, v in enumerate(e) if k != t)
        y = [v / (1 + rest) for v in e]
        d = [-rest / (1 + rest) if k == t else y[k] for k in range(3)]
        want = [float(mpmath.log1p(rest)), *map(float, d), *map(float, y)]
    close = {"rel": 1e-13 * (1 + min(np.ptp(a), 745)), "abs": 1e-300}
    assert [E[0], *D[:, 0], *Y[:, 0]] == pytest.approx(want, **close)


def test_a_sure_prediction_keeps_its_digits():
    """An error of 1e-20 is not rounded to 0, nor is its gradient."""
    a = np.array([[0.0], [-46.0], [-60.0]])
    E, D, _ = softmax.cross_entropy(a.copy(), np.array([0]))
    rest = np.exp(-46.0) + np.exp(-60.0)
    assert E[0] == pytest.approx(rest, rel=1e-12, abs=0)
    assert D[0, 0] == pytest.approx(-rest, rel=1e-12, abs=0)


def test_a_row_may_be_longer_than_a_block(rng):
    """600000 columns, two rows: a block is never empty."""
    Phi, W = rng.random((2, 600000)), np.zeros((2, 600000))
    G = softmax.gradient(W, Phi, [0, 1])
    np.testing.assert_allclose(G[0], (Phi[1] - Phi[0]) / 2, atol=1e-15)


def test_activations_of_1e8_are_no_trouble(data):
    """Probabilities, error, gradient and Hessian stay finite and right."""
    Phi, t = data
    W = 1e8 * np.arange(12.0).reshape(4, 3)
    with np.errstate(all="raise", under="ignore"):
        E = softmax.error(W, Phi, t)
        G = softmax.gradient(W, Phi, t)
        H = softmax.hessian(W, Phi)
    assert np.isfinite(E) and np.isfinite(G).all() and np.isfinite(H).all()
    A = Phi @ W.T
    assert E == pytest.approx(np.sum(A.max(axis=1) - A[np.arange(90), t]))


def test_adding_one_vector_to_all_weights_changes_nothing(data, rng):
    """Error, gradient and Hessian depend on differences alone."""
    Phi, t = data
    W, u = rng.standard_normal((4, 3)), rng.standard_normal(3)
    for f in (softmax.error, softmax.gradient):
        np.testing.assert_allclose(f(W + u, Phi, t), f(W, Phi, t), rtol=1e-9)
    np.testing.assert_allclose(
        softmax.hessian(W + u, Phi), softmax.hessian(W, Phi), atol=1e-9
    )


# The fit.


@pytest.mark.parametrize("method", [None, "newton", "newton-cg"])
@pytest.mark.parametrize("alpha", [0.0, [0, 1, 0.3]])
@pytest.mark.parametrize("reference", [None, 2])
def test_fit_is_where_the_gradient_is_zero(data, method, alpha, reference):
    """With and without prior, by either method, with weights."""
    Phi, t = data
    c = np.r_[np.full(45, 0.5), np.full(45, 2)]
    fit = softmax.fit(
        Phi, t, alpha=alpha, reference=reference, weights=c, method=method
    )
    assert fit.converged and fit.separated is None
    assert fit.method == (method or "newton")
    rows, seen = (
        Phi.repeat((4 * c).astype(int), axis=0),
        t.repeat((4 * c).astype(int)),
    )
    prior = 4 * np.array(alpha)
    G = softmax.map_gradient(fit.W, rows, seen, prior) / 4
    if reference is None:
        np.testing.assert_allclose(fit.W.sum(axis=0), 0, atol=1e-9)
    else:
        assert not fit.W[2].any()
        G = np.delete(G, 2, axis=0)
    np.testing.assert_allclose(G, 0, atol=1e-5)
    E = softmax.map_error(fit.W, rows, seen, prior) / 4
    assert fit.error == pytest.approx(E, rel=1e-12)
    assert fit.gradient.shape == (3, 3) and np.abs(fit.gradient).max() < 1e-5


def test_all_methods_agree_where_there_are_many_weights(rng):
    """240 differences, 6000 rows: a sample first, or conjugate gradients."""
    Phi, t = wide(rng)
    quick = softmax.fit(Phi, t)
    slow = softmax.fit(Phi, t, method="newton-cg")
    full = softmax.fit(Phi, t, method="newton")
    assert quick.method == "quasi-newton" and quick.converged
    assert slow.converged and full.converged
    np.testing.assert_allclose(quick.W, full.W, atol=1e-6)
    np.testing.assert_allclose(slow.W, full.W, atol=1e-6)
    assert softmax.fit(Phi[:2000], t[:2000]).method == "newton-cg"


def test_a_prior_and_weights_go_through_the_sample_too(rng):
    """The head start with every option against full Newton."""
    Phi, t = wide(rng)
    how = {"alpha": np.linspace(0, 3, 30), "weights": rng.random(6000)}
    quick = softmax.fit(Phi, t, **how)
    assert quick.method == "quasi-newton"
    for method in ("newton", "newton-cg"):
        other = softmax.fit(Phi, t, **how, method=method)
        np.testing.assert_allclose(quick.W, other.W, atol=1e-6)


def test_two_classes_are_logistic_regression(rng):
    """w_1 - w_0 is the logistic w; also with a prior on the difference."""
    Phi, t = overlapping(rng, 90, 3, 2)
    for alpha in (0.0, 1.5):
        two = logistic.fit(Phi, t, alpha=alpha)
        fit = softmax.fit(Phi, t, reference=0, alpha=alpha)
        np.testing.assert_allclose(fit.W[1], two.w, rtol=1e-10)
        H = logistic.curvature(two, Phi)
        np.testing.assert_allclose(softmax.curvature(fit, Phi), H, rtol=1e-10)
        np.testing.assert_allclose(
            softmax.standard_errors(fit, Phi)[1],
            logistic.standard_errors(two, Phi),
        )
        assert fit.error == pytest.approx(two.error, rel=1e-12)
        both = softmax.fit(Phi, t, alpha=2 * alpha)
        np.testing.assert_allclose(both.W[1] - both.W[0], two.w, rtol=1e-8)


def test_the_reference_class_is_a_matter_of_taste(data):
    """Without a prior: the same differences, probabilities and error."""
    Phi, t = data
    free = softmax.fit(Phi, t)
    for r in range(4):
        fit = softmax.fit(Phi, t, reference=r)
        np.testing.assert_allclose(fit.W, free.W - free.W[r], atol=1e-8)
        assert fit.error == pytest.approx(free.error, rel=1e-12)


def test_fit_equals_statsmodels_with_standard_errors(wine):
    """MNLogit's reference is class 0."""
    statsmodels = pytest.importorskip("statsmodels.api")
    Phi, t = wine
    fit = softmax.fit(Phi, t, reference=0)
    other = statsmodels.MNLogit(t, Phi).fit(method="newton", disp=0, tol=1e-10)
    np.testing.assert_allclose(fit.W[1:], other.params.T, rtol=1e-7)
    np.testing.assert_allclose(
        softmax.standard_errors(fit, Phi)[1:], other.bse.T, rtol=1e-7
    )
    assert fit.error == pytest.approx(-other.llf, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_fit_equals_scikit_learn(wine, alpha):
    """Its weights sum to zero too; C = 1 / alpha, on the bias as well."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    Phi, t = wine
    fit = softmax.fit(Phi, t, alpha=alpha)
    other = linear_model.LogisticRegression(
        C=1 / alpha if alpha else np.inf,
        fit_intercept=False,
        solver="newton-cg",
        tol=1e-11,
        max_iter=1000,
    ).fit(Phi, t)
    W = other.coef_ - other.coef_.mean(axis=0)
    np.testing.assert_allclose(fit.W, W, rtol=1e-6)
    np.testing.assert_allclose(
        softmax.predict_proba(fit, Phi), other.predict_proba(Phi), atol=1e-8
    )


def test_standard_errors_are_those_of_the_pseudo_inverse(data):
    """Of the whole Hessian, whose null space the centred weights avoid."""
    Phi, t = data
    fit = softmax.fit(Phi, t)
    H = softmax.as_matrix(softmax.hessian(fit.W, Phi))
    S = np.diag(np.linalg.pinv(H, hermitian=True, rcond=1e-10))
    np.testing.assert_allclose(
        softmax.standard_errors(fit, Phi).ravel(), np.sqrt(S), rtol=1e-7
    )
    fixed = softmax.standard_errors(softmax.fit(Phi, t, reference=1), Phi)
    keep = np.r_[0:3, 6:12]
    S = np.diag(np.linalg.inv(H[np.ix_(keep, keep)])).reshape(3, 3)
    np.testing.assert_allclose(np.delete(fixed, 1, 0), np.sqrt(S), rtol=1e-7)
    assert not fixed[1].any()


def test_a_vanishing_prior_leads_to_the_fit_without(data):
    """The distance of the weights is proportional to alpha."""
    Phi, t = data
    free = softmax.fit(Phi, t).W
    off = [
        np.abs(softmax.fit(Phi, t, alpha=a).W - free).max()
        for a in (1e-4, 1e-3)
    ]
    assert off[1] / off[0] == pytest.approx(10, rel=0.02)


# When there is no answer.


def blobs(K=3, n=6):
    """Classes far apart on a circle."""
    angle = 2 * np.pi * np.arange(K * n) / (K * n)
    return (
        np.c_[np.ones(K * n), np.cos(angle), np.sin(angle)],
        np.arange(K * n) // n,
    )


@pytest.mark.parametrize("method", [None, "newton", "newton-cg"])
def test_complete_separation_is_named_and_certified(method):
    """Three sectors of a circle; a prior helps."""
    Phi, t = blobs()
    found = of_classes(Phi, t)
    ahead = softmax.margins(found.direction, Phi, t)
    assert found.kind == "complete"
    assert ahead.min() == pytest.approx(found.margin, rel=1e-6)
    assert ahead.min() > 0 and found.direction.shape == (3, 3)
    with pytest.warns(SeparableDataWarning, match=r"\(complete\)"):
        fit = softmax.fit(Phi, t, method=method)
    assert not fit.converged and fit.separated == "complete"
    assert softmax.fit(Phi, t, alpha=1e-3, method=method).converged


def test_one_class_apart_is_enough_for_quasi_complete_separation(data):
    """Classes 0 to 2 overlap, a dummy marks some rows of class 3."""
    Phi, t = data
    dummy = np.zeros(90)
    dummy[np.flatnonzero(t == 3)[:4]] = 1
    Phi = np.c_[Phi, dummy]
    found = of_classes(Phi, t)
    assert found.kind == "quasi-complete" and found.margin == 0
    ahead = softmax.margins(found.direction, Phi, t)
    assert ahead.min() > -1e-12
    for method in (None, "newton-cg"):
        with pytest.warns(SeparableDataWarning, match="quasi-comp"):
            fit = softmax.fit(Phi, t, method=method)
        assert not fit.converged and fit.separated == "quasi-complete"
    assert softmax.fit(Phi, t, alpha=[0, 0, 0, 1]).converged
    assert of_classes(Phi[:, :3], t).direction is None


def test_wine_with_all_features_is_separable():
    """And the fit says so at once, from its own iterate."""
    datasets = pytest.importorskip("sklearn.datasets")
    X, t = datasets.load_wine(return_X_y=True)
    Phi = np.c_[np.ones(178), (X - X.mean(0)) / X.std(0)]
    with pytest.warns(SeparableDataWarning, match=r"\(complete\)"):
        fit = softmax.fit(Phi, t)
    assert softmax.margins(fit.W, Phi, t).min() > 0
    assert of_classes(Phi, t).kind == "complete"


def test_separation_of_many_rows_is_found_too(rng):
    """Where the fit starts from a sample."""
    Phi, _ = wide(rng)
    t = (Phi @ rng.standard_normal((30, 9))).argmax(axis=1)
    with pytest.warns(SeparableDataWarning, match=r"\(complete\)"):
        assert softmax.fit(Phi, t).separated == "complete"


def test_a_row_of_weight_zero_decides_nothing(data):
    """Left with the rows on the right side the classes are separable."""
    Phi, _ = data
    best = (Phi @ np.array([[1, 2, 0], [1, -1, 2], [1, -1, -2]]).T).argmax(1)
    right = np.arange(90) % 6 > 0
    t = np.where(right, best, (best + 1) % 3)
    for method in ("newton", "newton-cg"):
        with pytest.warns(SeparableDataWarning, match="complete"):
            softmax.fit(Phi, t, weights=0.5 * right, method=method)
    alone = np.c_[Phi, ~right]  # a column that only absent rows have
    with pytest.raises(ValueError, match="column 3 is zero"):
        softmax.fit(alone, t, weights=0.5 * right)


def test_dependent_columns_are_an_error_without_a_prior(data):
    """A prior on one of them decides."""
    Phi, t = data
    Phi = np.c_[Phi, Phi[:, 1] - Phi[:, 2]]
    for method in (None, "newton", "newton-cg"):
        with pytest.raises(ValueError, match="got rank 3 for 4 columns"):
            softmax.fit(Phi, t, method=method)
    fit = softmax.fit(Phi, t, alpha=[0, 0, 0, 1])
    assert fit.converged and np.abs(fit.W[:, 3]).max() < 1e-7


def test_nearly_dependent_columns_are_fitted(data, rng):
    """Column 3 is column 1 but for 1e-8: activations as of 1."""
    Phi, t = data
    extra = rng.standard_normal(90)
    near = softmax.fit(np.c_[Phi, Phi[:, 1] + 1e-8 * extra], t)
    far = softmax.fit(np.c_[Phi, extra], t)
    assert near.converged
    np.testing.assert_allclose(
        softmax.predict_proba(near, np.c_[Phi, Phi[:, 1] + 1e-8 * extra]),
        softmax.predict_proba(far, np.c_[Phi, extra]),
        atol=1e-6,
    )


def test_steps_that_run_out_are_named(data):
    """The maximal number of steps set to one."""
    Phi, t = data
    with pytest.warns(newton.NotConverged, match="after 1 steps"):
        fit = softmax.fit(Phi, t, max_iter=1)
    assert not fit.converged and fit.separated is None


@given(
    arrays(float, (7, 2), elements=st.floats(-1e8, 1e8, width=32)),
    arrays(int, 7, elements=st.integers(0, 2)),
    st.sampled_from([0.0, 1e-3, 1.0]),
    st.sampled_from(["newton", "newton-cg", None]),
)
def test_fit_answers_or_says_why_not(Phi, t, alpha, method):
    """Converged, or ValueError, or a named warning."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            fit = softmax.fit(Phi, t, alpha=alpha, method=method)
        except ValueError as no:
            assert "got" in str(no) or "no rows" in str(no)
            return
    names = {w.category for w in said}
    assert names <= {newton.NotConverged, SeparableDataWarning}
    assert fit.converged == (not names)
    assert np.isfinite(fit.W).all() and np.isfinite(fit.error)


@given(
    arrays(int, (9, 2), elements=st.integers(-2, 2)),
    arrays(int, 9, elements=st.integers(0, 2)),
    st.sampled_from(["newton", "newton-cg"]),
)
def test_fit_and_linear_programme_agree_on_separation(Phi, t, method):
    """One goes where E falls, the other asks whether it may end there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparableDataWarning)
        try:
            fit = softmax.fit(Phi, t, method=method)
        except ValueError:
            return
    assert (fit.separated or "none") == of_classes(Phi, t).kind
    assert fit.converged == (fit.separated is None)


@pytest.mark.parametrize(
    "said, bad",
    [
        ("t must", {"t": [0, 1, 1]}),
        ("t must hold each", {"t": [0, 2]}),
        ("t must hold each", {"t": [[1, 0, 0], [0, 1, 0]]}),
        ("T must hold in each row", {"t": [[1, 1], [0, 1]]}),
        ("weights must", {"weights": [1, 0]}),
        ("reference must", {"reference": 2}),
        ("method must", {"method": "bfgs"}),
    ],
)
def test_the_argument_at_fault_is_named(said, bad):
    """And nothing is computed with it."""
    good = {"Phi": [[1.0, 2], [1, 3]], "t": [0, 1]}
    with pytest.raises(ValueError, match=f"^{said}"):
        softmax.fit(**{**good, **bad})


def test_a_rare_dummy_among_many_weights_is_found_quickly(rng):
    """354 differences; no linear programme over all rows is needed."""
    Phi, t = wide(rng, 3000, 60, 7)
    Phi[:, 5] = 0
    Phi[np.flatnonzero(t == 2)[:3], 5] = 1
    with pytest.warns(SeparableDataWarning, match="quasi-complete"):
        assert softmax.fit(Phi, t).separated == "quasi-complete"
    Phi[np.flatnonzero(t == 1)[:3], 5] = 1
    Phi[np.flatnonzero(t == 0)[:3], 5] = 1
    with pytest.warns(SeparableDataWarning, match="quasi-complete"):
        assert softmax.fit(Phi, t).separated == "quasi-complete"
    Phi[[np.flatnonzero(t == k)[4] for k in range(7)], 5] = 1
    assert softmax.fit(Phi, t).converged


def test_a_ray_is_seen_where_the_curvature_has_vanished(rng):
    """One long last step leaves a curvature of 1e-57 there."""
    Phi = [[0, 2, 1], [1, 0, -2], [0, 0, 1], [0, -1, -2], [0, 2, -2]]
    Phi, t = [*Phi, [-1, 2, -1]], [1, 0, 1, 1, 1, 1]
    for method in ("newton", "newton-cg"):
        with pytest.warns(SeparableDataWarning, match="quasi-compl"):
            softmax.fit(Phi, t, method=method)
    Phi, t = overlapping(rng, 20000, 6, 5)
    Phi[:, 5] = 0
    Phi[np.flatnonzero(t == 2)[:3], 5] = 1
    with pytest.warns(SeparableDataWarning, match="quasi-complete"):
        softmax.fit(Phi, t)


def test_the_kind_of_ray_is_the_kind_of_separation(rng):
    """From the iterates of fits of small integers, in columns of any scale."""
    seen = set()
    for _ in range(150):
        K = rng.integers(2, 5)
        t = np.r_[np.arange(K), rng.integers(0, K, rng.integers(2, 9))]
        Phi = rng.integers(-2, 3, (len(t), 3)) * [1, 1e4, 1e-4]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparableDataWarning)
            try:
                W = softmax.fit(Phi, t, method="newton").W
            except ValueError:
                continue
        kind = kind_of_ray(W @ Phi.T, Phi, t)
        assert kind == of_classes(Phi, t).kind
        seen.add(kind)
    assert len(seen) == 3


def test_nearly_dependent_columns_with_a_prior_elsewhere(data, rng):
    """What comes back is consistent, and says whether it is an answer."""
    Phi, t = data
    Phi = np.c_[Phi, Phi[:, 2] + 1e-8 * rng.standard_normal(90)]
    alpha = np.array([0, 1.0, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", newton.NotConverged)
        fit = softmax.fit(Phi, t, alpha=alpha, method="newton")
    E = softmax.map_error(fit.W, Phi, t, alpha)
    assert fit.error == pytest.approx(E, rel=1e-9)
    if fit.converged:
        G = softmax.map_gradient(fit.W, Phi, t, alpha)
        np.testing.assert_allclose(G, 0, atol=1e-5)


def test_a_ray_is_seen_among_thousands_of_weights(rng):
    """2050 differences; a dummy marks four rows of one class."""
    N, M, K = 1500, 50, 42
    Phi = np.c_[np.ones(N), rng.standard_normal((N, M - 1))]
    t = (0.2 * Phi @ rng.standard_normal((M, K))).argmax(axis=1)
    t = np.where(rng.random(N) < 0.9, rng.integers(K, size=N), t)
    assert softmax.fit(Phi, t).converged
    Phi[:, -1] = 0
    Phi[np.flatnonzero(t == 3)[:4], -1] = 1
    with pytest.warns(SeparableDataWarning, match="quasi-complete"):
        fit = softmax.fit(Phi, t)
    assert fit.gradient.size == 2050 and not fit.converged


def test_with_a_prior_a_class_may_have_no_rows(data):
    """The minimum is that of a general minimiser; without it there is none."""
    Phi, t = data
    T = np.insert(np.eye(4)[t], 2, 0, axis=1)
    fit = softmax.fit(Phi, T, alpha=0.5)
    assert fit.converged and fit.W.shape == (5, 3)
    G = softmax.map_gradient(fit.W, Phi, T, 0.5)
    np.testing.assert_allclose(G, 0, atol=1e-6)
    for wrong, alpha in ((T, 0.0), (T, [0, 1, 1]), (2 * t, 0.5)):
        with pytest.raises(ValueError, match="got no row of class"):
            softmax.fit(Phi, wrong, alpha=alpha)
    c = 1.0 * (t > 0)
    assert softmax.fit(Phi, t, weights=c, alpha=1.0).converged
    with pytest.raises(ValueError, match="weights must be > 0 in a row"):
        softmax.fit(Phi, t, weights=c)


def test_separated_classes_have_no_standard_errors():
    """A curvature of 1e-16 is the stopping rule's, not the data's."""
    with pytest.warns(SeparableDataWarning):
        fit = softmax.fit(*blobs())
    with pytest.raises(ValueError, match="fit must have a minimum"):
        softmax.standard_errors(fit, blobs()[0])


def test_weights_that_stand_the_other_way_round_are_not_taken(data):
    """Regression on labels has W (M, K): for M = K = 3 no shape gives it away.

    The errors of a weighted fit need all its rows.
    """
    Phi, t = data[0][:, :3], np.arange(len(data[0])) % 3
    ours, theirs = softmax.fit(Phi, t), least_squares.fit(Phi, t)
    with pytest.raises(ValueError, match="fit must be a SoftmaxFit; got Least"):
        softmax.predict_proba(theirs, Phi)
    with pytest.raises(ValueError, match="fit must be a LeastSquaresFit; got"):
        least_squares.predict(ours, Phi)
    half = softmax.fit(Phi, t, weights=np.ones(len(t)))
    with pytest.raises(ValueError, match=r"weights must have shape \(9,\)"):
        softmax.standard_errors(half, Phi[:9])


def test_columns_that_are_nearly_alike_are_no_ray(rng):
    """Classes that overlap, a column but for 1e-7 the sum of two others."""
    Phi = rng.integers(-2, 3, (60, 4)).astype(float)
    Phi[:, 3] = Phi[:, 0] - Phi[:, 1] + 1e-7 * rng.standard_normal(60)
    t = rng.integers(2, size=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", newton.NotConverged)
        fits = [softmax.fit(Phi, t, method=m) for m in ("newton", "newton-cg")]
    assert [fit.separated for fit in fits] == [None, None]
    W = 1e3 * np.random.default_rng(0).standard_normal((2, 4))
    assert kind_of_ray(W @ Phi.T, Phi, t) == of_classes(Phi, t).kind


def test_a_ray_is_confirmed_where_a_far_minimum_looks_like_one():
    """Two rows hold some weights from both sides, at odds of e^15 to 1: log
    odds of thousands and a curvature of 1e-12 look like a ray; it ends."""
    rng = np.random.default_rng([5, 0, 126])
    problem = draw(rng, False, K=rng.integers(2, 6))
    assert of_classes(problem.Phi, problem.t).kind == "none"
    found = softmax.fit(problem.Phi, problem.t)
    assert found.converged and found.separated is None


@pytest.mark.parametrize("method", ["newton", "newton-cg"])
def test_columns_may_have_any_unit(method):
    """From 1e-38 to 1e16, with priors: one method stayed where it began, the
    other stopped short of the minimum and said that it had arrived."""
    rng = np.random.default_rng([0, 0, 6476])
    problem = draw(rng, False, K=rng.integers(2, 6))
    found = softmax.fit(
        problem.Phi, problem.t, method=method, **problem.options
    )
    size = np.sqrt(problem.alpha)
    plain = softmax.fit(problem.Phi / size, problem.t, alpha=1.0)
    assert found.converged and plain.converged
    np.testing.assert_allclose(found.error, plain.error, rtol=1e-14)
    np.testing.assert_allclose(found.W * size, plain.W, atol=1e-8)


def test_standard_errors_know_no_units(rng):
    """Orthogonal columns, from 1e-20 to 1e20: no exchange of rows."""
    Phi = np.linalg.qr(np.c_[np.ones(64), rng.standard_normal((64, 3))])[0]
    t, size = rng.integers(3, size=64), np.array([1e-20, 1e20, 1e-10, 1e20])
    one, two = (softmax.fit(X, t) for X in (Phi, Phi * size))
    errors = softmax.standard_errors(two, Phi * size) * size
    right = softmax.standard_errors(one, Phi)
    np.testing.assert_allclose(errors, right, rtol=1e-10)


def test_a_plane_that_only_rounding_clears_is_no_proof():
    """Two rows that differ by 5e-13, with opposite labels: not "complete"."""
    rng = np.random.default_rng([0, 0, 3537])
    problem = draw(rng, False, K=rng.integers(2, 6))
    kind = of_classes(problem.Phi, problem.t).kind
    for method in ("newton", "newton-cg"):
        with pytest.warns(SeparableDataWarning, match=kind):
            softmax.fit(problem.Phi, problem.t, method=method)


@pytest.mark.parametrize("reference", [np.array([0, 1]), [1], "1", 3, -1])
def test_a_reference_is_one_of_the_classes(reference):
    """Not several, nor their name."""
    with pytest.raises(ValueError, match="reference must be one of 0, 1, 2"):
        softmax.fit(np.eye(3), [0, 1, 2], alpha=1.0, reference=reference)
    one, same = (
        softmax.fit(np.eye(3), [0, 1, 2], alpha=1.0, reference=r).W
        for r in (1, 1.0)  # class numbers may be floats, as t is
    )
    np.testing.assert_array_equal(one, same)


def test_weights_that_hide_an_entry_have_no_map_error(rng):
    """What the mask hides counted; without a prior it was refused."""
    Phi, t = rng.standard_normal((5, 2)), np.array([0, 1, 2, 0, 1])
    W = np.ma.masked_less(rng.standard_normal((3, 2)), 9.0)
    for formula in (softmax.map_error, softmax.map_gradient):
        with pytest.raises(ValueError, match="w must hide no entries"):
            formula(W, Phi, t, 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_conjugate_gradients_see_a_ray_that_a_prior_hardly_holds(seed):
    """A column of numbers of 1e50 is a class's own, and alpha is nothing to
    it: E falls until it is rounding. It said converged, where another step
    moves activations by 2 to 7000."""
    rng = np.random.default_rng(seed)
    t = np.r_[np.arange(6), rng.integers(0, 6, 24)]
    x = rng.standard_normal((30, 2))
    own = 1e50 * (t == 2) * (1 + x[:, 1] ** 2)
    with pytest.warns(newton.NotConverged):
        fit = softmax.fit(
            np.c_[np.ones(30), x[:, 0], own], t, alpha=0.01, method="newton-cg"
        )
    assert not fit.converged
