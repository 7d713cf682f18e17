"""models.bases: polynomial, Gaussian and sigmoidal features."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import PolynomialFeatures

from prml4.models import bases
from prml4.numerics.special import sigmoid


def test_powers_of_a_number():
    """x, x^2, x^3, in that order; a vector is one column."""
    x = np.array([-1.5, 0.0, 2.0])
    np.testing.assert_allclose(
        bases.polynomial(3)(x), np.column_stack([x, x**2, x**3])
    )
    np.testing.assert_array_equal(
        bases.polynomial(3)(x), bases.polynomial(3)(x[:, None])
    )


@pytest.mark.parametrize("D", [1, 2, 4])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_monomials_are_those_of_scikit_learn(rng, D, degree):
    """All products of at most `degree` inputs, in the same order."""
    X = rng.standard_normal((5, D))
    theirs = PolynomialFeatures(degree, include_bias=False).fit_transform(X)
    np.testing.assert_allclose(bases.polynomial(degree)(X), theirs)


def test_gaussian_bumps_are_a_kernel(rng):
    """exp(-gamma |x - mu|^2) with gamma = 1 / (2 s^2), and the formula."""
    X, centres, s = (
        rng.standard_normal((6, 3)),
        rng.standard_normal((4, 3)),
        0.7,
    )
    bumps = bases.gaussian(centres, s)(X)
    theirs = rbf_kernel(X, centres, gamma=1 / (2 * s**2))
    np.testing.assert_allclose(bumps, theirs, rtol=1e-12)
    for n, j in np.ndindex(6, 4):
        square = sum((X[n, i] - centres[j, i]) ** 2 for i in range(3))
        assert bumps[n, j] == pytest.approx(np.exp(-square / (2 * s**2)))


def test_a_bump_is_one_at_its_centre_and_vanishes_far_away():
    bumps = bases.gaussian([0.0, 3.0], 0.5)([0.0, 3.0, 1e100])
    np.testing.assert_allclose(np.diag(bumps), 1)
    np.testing.assert_array_equal(bumps[2], 0)


def test_soft_steps(rng):
    """Each column of X has its steps, the first column's first."""
    X, centres, s = rng.standard_normal((5, 2)), [-1.0, 0.5, 2.0], 0.3
    expected = [
        [sigmoid((x - m) / s) for x in row for m in centres] for row in X
    ]
    np.testing.assert_allclose(bases.sigmoidal(centres, s)(X), expected)
    one = bases.sigmoidal(0.5, s)([0.5, 0.5 + s])
    np.testing.assert_allclose(one, [[0.5], [1 / (1 + np.exp(-1))]])


@pytest.mark.parametrize("make", [bases.gaussian, bases.sigmoidal])
def test_a_basis_keeps_its_centres(rng, make):
    """Centres are often rows of X, which is standardised later, in place."""
    x = rng.standard_normal(9)
    basis, before = make(x[:4], 1.0), make(x[:4].tolist(), 1.0)(x)
    seen = x.copy()
    x += 5.0
    np.testing.assert_array_equal(basis(seen), before)


def test_bases_stand_side_by_side(rng):
    """The constant goes first, then the bases in the order given."""
    X = rng.standard_normal((7, 2))
    p, g = bases.polynomial(2), bases.gaussian(np.zeros((1, 2)), 2.0)
    Phi = bases.design(X, p, g)
    assert Phi.shape == (7, 1 + 5 + 1)
    np.testing.assert_array_equal(Phi[:, 0], 1)
    np.testing.assert_array_equal(Phi[:, 1:6], p(X))
    np.testing.assert_array_equal(Phi[:, 6:], g(X))


@pytest.mark.parametrize(
    "make",
    [
        bases.polynomial(2),
        bases.gaussian(np.zeros((1, 2)), 1.0),
        bases.sigmoidal([0.0], 1.0),
    ],
)
def test_any_array_of_numbers_will_do(rng, make):
    """Integers, float32, read-only, strided; the input stays as it was."""
    X = rng.integers(-3, 4, (6, 2))
    right = make(X.astype(float))
    wide = np.zeros((6, 4))
    wide[:, ::2] = X
    frozen = X.astype(float)
    frozen.flags.writeable = False
    for other in (X, X.astype("f4"), X.tolist(), wide[:, ::2], frozen):
        np.testing.assert_array_equal(make(other), right)
    np.testing.assert_array_equal(frozen, X)


@pytest.mark.parametrize(
    "bad, said",
    [
        (np.array([[1.0, np.nan]]), r"X must be finite.*nan at \[0, 1\]"),
        (np.empty((0, 2)), r"X must be a matrix .* got shape \(0, 2\)"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        ([["a", "b"]], "X must hold real numbers"),
    ],
)
def test_bad_inputs_are_named(bad, said):
    makers = [
        bases.polynomial(2),
        bases.gaussian(np.zeros((1, 2)), 1.0),
        bases.sigmoidal([0.0], 1.0),
    ]
    for make in makers:
        with pytest.raises(ValueError, match=said):
            make(bad)


@pytest.mark.parametrize("degree", [0, -1, 1.5])
def test_a_degree_is_a_whole_number(degree):
    with pytest.raises(ValueError, match="degree must be a whole number"):
        bases.polynomial(degree)


@pytest.mark.parametrize("scale", [0, -1, np.inf, np.nan])
@pytest.mark.parametrize("make", [bases.gaussian, bases.sigmoidal])
def test_a_scale_is_positive(make, scale):
    with pytest.raises(ValueError, match="scale must be one positive, finite"):
        make([0.0, 1.0], scale)


def test_centres_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="X must have D = 2 columns, as the"):
        bases.gaussian(np.zeros((4, 2)), 1.0)(np.zeros((5, 3)))
    with pytest.raises(ValueError, match=r"centres must have shape \(4,\)"):
        bases.sigmoidal(np.zeros((2, 2)), 1.0)
    with pytest.raises(ValueError, match="finite"):
        bases.sigmoidal([0.0, np.inf], 1.0)


@pytest.mark.filterwarnings("error")
def test_features_far_out_reach_their_limits_or_say_that_they_have_none():
    far = np.array([-1e100, 0.0, 1e100])
    with pytest.raises(ValueError, match="X to the power 4 must be finite"):
        bases.polynomial(4)(far)
    bell, step = (
        make([0.0], 1e-300) for make in (bases.gaussian, bases.sigmoidal)
    )
    assert bell(far).ravel().tolist() == [0, 1, 0]
    assert step(far).ravel().tolist() == [0, 0.5, 1]
