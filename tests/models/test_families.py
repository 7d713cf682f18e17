"""models.families: densities, moments and shapes of each member."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from scipy.special import digamma

from prml4.models import families
from prml4.referee.estimate import partials

S = np.array([[1.0, 0.3], [0.3, 2.0]])
SHARES = [0.1, 0.2, 0.3, 0.4]

LINE = np.array([-3.0, 0.2, 4.0])
PLANE = np.array([[-3.0, 0.2], [4.0, 0.1], [0.0, 0.0]])
TRIANGLE = np.array([[0.2, 0.3, 0.5], [0.7, 0.1, 0.2]])

# maker, usual parameters, scipy's log density or mass, points; a member is
# made by the test that uses it
MEMBERS = {
    "bernoulli": (
        *(families.bernoulli, [0.3], stats.bernoulli(0.3).logpmf),
        np.array([0.0, 1.0]),
    ),
    "categorical": (
        *(lambda: families.categorical(4), [SHARES]),
        lambda x: np.log(np.array(SHARES)[x.astype(int)]),
        np.arange(4.0),
    ),
    "poisson": (
        *(families.poisson, [2.5], stats.poisson(2.5).logpmf),
        np.arange(60.0),
    ),
    "location": (
        *(lambda: families.gaussian_location(1.7), [0.6]),
        *(stats.norm(0.6, np.sqrt(1.7)).logpdf, LINE),
    ),
    "gaussian": (
        *(families.gaussian, [0.7, 1.69], stats.norm(0.7, 1.3).logpdf, LINE),
    ),
    "multivariate": (
        *(lambda: families.multivariate_gaussian(2), [[0.5, -1.0], S]),
        *(stats.multivariate_normal([0.5, -1.0], S).logpdf, PLANE),
    ),
    "gamma": (
        *(families.gamma, [2.5, 1.3], stats.gamma(2.5, scale=1 / 1.3).logpdf),
        np.array([0.1, 1.0, 7.0]),
    ),
    "beta": (
        *(families.beta, [2.0, 3.5], stats.beta(2.0, 3.5).logpdf),
        np.array([0.01, 0.5, 0.9]),
    ),
    "dirichlet": (
        *(lambda: families.dirichlet(3), [1.5, 2.0, 0.7]),
        *(lambda x: stats.dirichlet([1.5, 2.0, 0.7]).logpdf(x.T), TRIANGLE),
    ),
}


def made(name):
    """One family with its parameters, a second opinion, and points."""
    make, *rest = MEMBERS[name]
    return make(), *rest


@pytest.fixture(params=MEMBERS)
def member(request):
    """Each of them in turn."""
    return made(request.param)


def log_p(f, x, eta):
    """The density put together from its parts."""
    return f.log_h(x) + f.log_g(eta) + f.u(x) @ eta


def test_log_density_is_scipys(member):
    """Same formula, other parameters: agreement to rounding."""
    f, usual, theirs, x = member
    np.testing.assert_allclose(
        log_p(f, x, f.natural(*usual)), theirs(x), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *(("bernoulli", (0, 0, 1)), ("categorical", (0, 0, 3))),
        *(("poisson", (0, 0, 1)), ("location", (0, 1, 1))),
        *(("gaussian", (0, 1, 2)), ("multivariate", (2, 2, 5))),
        *(("gamma", (0, 1, 2)), ("beta", (0, 1, 2)), ("dirichlet", (3, 2, 3))),
    ],
)
def test_shapes(name, shape):
    """Columns of x, dimensions of the density, statistics."""
    f, usual, _, x = made(name)
    assert f.shape == shape
    assert f.u(x).shape == (len(x), shape[2])
    assert f.natural(*usual).shape == (shape[2],)


def test_mean_is_minus_the_gradient_of_log_g(member):
    """PRML (2.226), by Richardson differences that know their error."""
    f, usual, _, _ = member
    slope, _ = partials(lambda eta: -f.log_g(eta), f.natural(*usual))
    assert f.mean(f.natural(*usual)).shape == (f.shape[2],)
    np.testing.assert_allclose(
        f.mean(f.natural(*usual)), slope.value, rtol=1e-9, atol=1e-11
    )


def test_covariance_is_minus_the_hessian_of_log_g(member):
    """As differences of the mean; symmetric and positive definite."""
    f, usual, _, _ = member
    eta = f.natural(*usual)
    C = f.covariance(eta)
    slope, _ = partials(f.mean, eta)
    np.testing.assert_allclose(C, slope.value, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(C, C.T, rtol=1e-13)
    assert np.linalg.eigvalsh(C)[0] > 0


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "poisson"])
def test_moments_by_enumeration(name):
    """All values (Poisson: sixty, the rest is below 1e-60)."""
    f, usual, _, x = made(name)
    eta = f.natural(*usual)
    p, u = np.exp(log_p(f, x, eta)), f.u(x)
    assert p.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(p @ u, f.mean(eta), rtol=1e-12)
    C = (u - p @ u).T @ (p[:, None] * (u - p @ u))
    np.testing.assert_allclose(C, f.covariance(eta), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        *(("location", (-np.inf, np.inf)), ("gaussian", (-np.inf, np.inf))),
        *(("gamma", (0, np.inf)), ("beta", (0, 1))),
    ],
)
def test_moments_by_quadrature(name, ends):
    """QUADPACK knows nothing of log g."""
    f, usual, _, _ = made(name)
    eta = f.natural(*usual)

    def expected(of):
        def integrand(x):
            x = np.asarray(x)
            return of(f.u(x)) * np.exp(log_p(f, x, eta))

        return integrate.quad(integrand, *ends, epsabs=1e-11)[0]

    m = f.mean(eta)
    assert expected(lambda u: 1.0) == pytest.approx(1, abs=1e-8)
    for i in range(f.shape[2]):
        assert expected(lambda u, i=i: u[i]) == pytest.approx(m[i], rel=1e-7)
        for j in range(i + 1):
            found = expected(lambda u, i=i, j=j: (u[i] - m[i]) * (u[j] - m[j]))
            assert found == pytest.approx(f.covariance(eta)[i, j], rel=1e-6)


@pytest.mark.parametrize("name", ["multivariate", "dirichlet"])
def test_moments_of_vectors_by_sampling(name, rng):
    """Five standard errors of 200 000 draws."""
    f, usual, _, _ = made(name)
    eta, N = f.natural(*usual), 200_000
    x = (
        rng.multivariate_normal(*usual, N)
        if name == "multivariate"
        else rng.dirichlet(usual, N)
    )
    u = f.u(x)
    error = 5 * u.std(axis=0) / np.sqrt(N)
    assert np.all(np.abs(u.mean(axis=0) - f.mean(eta)) < error)
    squares = (u - f.mean(eta))[:, :, None] * (u - f.mean(eta))[:, None, :]
    error = 5 * squares.std(axis=0) / np.sqrt(N)
    assert np.all(np.abs(squares.mean(axis=0) - f.covariance(eta)) < error)


def test_multivariate_gaussian_in_three_dimensions(rng):
    """Mean and covariance by differences where i >= j has six pairs."""
    f = families.multivariate_gaussian(3)
    A = rng.standard_normal((3, 3))
    eta = f.natural(rng.standard_normal(3), A @ A.T + np.eye(3))
    slope, _ = partials(lambda eta: -f.log_g(eta), eta)
    np.testing.assert_allclose(f.mean(eta), slope.value, rtol=1e-8, atol=1e-10)
    slope, _ = partials(f.mean, eta)
    np.testing.assert_allclose(
        f.covariance(eta), slope.value, rtol=1e-8, atol=1e-10
    )


def test_guess_is_exact_or_a_start(member):
    """One or no equation inverts the mean; Beta, Dirichlet start inside."""
    f, usual, _, _ = member
    eta = f.natural(*usual)
    m = f.mean(eta)
    assert f.gap(m) > 0
    assert f.exact is not (f.name in ("Beta", "Dirichlet"))
    if f.exact:
        np.testing.assert_allclose(f.guess(m), eta, rtol=1e-11)
    else:
        assert np.isfinite(f.log_g(f.guess(m)))


@pytest.mark.parametrize(
    ("name", "m", "expected"),
    [
        ("bernoulli", [0.25], 0.75),
        ("bernoulli", [1e-12], 1.0),
        ("bernoulli", [0.0], 0.0),
        ("bernoulli", [1.0], 0.0),
        ("categorical", [0.5, 0.25, 0.0], 0.0),
        ("categorical", [0.5, 0.2, 0.2], 0.1),
        ("categorical", [0.5, 0.25, 0.25], 0.0),
        ("poisson", [0.0], 0.0),
        ("poisson", [1e-12], 1.0),
        ("categorical", [0.5, 0.25, 1e-12], 0.25),
        ("gaussian", [2.0, 5.0], 0.2),
        ("gaussian", [2.0, 4.0], 0.0),
        ("multivariate", [0.0, 0.0, 4.0, 4.0, 4.0], 0.0),
        ("multivariate", [0.0, 0.0, 4.0, 3.0, 9.0], 0.5),
        ("multivariate", [0.0, 0.0, 0.0, 0.0, 0.0], 0.0),
        ("gamma", [0.0, 1.0], 0.0),
        ("gamma", [-1.0, 1.0], 0.5),
        ("gamma", [-2.0, 1.0], 2 / 3),
        ("location", [3.0], 1.0),
        ("beta", [np.log(0.5), np.log(0.5)], 0.0),
        (
            "dirichlet",
            np.log([0.25, 0.25, 0.25]),
            -np.log(0.75) / (1 + np.log(4)),
        ),
        (
            "dirichlet",
            np.log([0.2, 0.3, 0.4]),
            -np.log(0.9) / (1 + np.log(5)),
        ),
    ],
)
def test_gap_measures_the_way_to_the_boundary(name, m, expected):
    """Zero where all observations coincide or a value never occurs."""
    gap = made(name)[0].gap(np.array(m))
    assert gap == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("name", "x"),
    [
        *(("bernoulli", 0.5), ("categorical", 4.0), ("categorical", 1.5)),
        *(("categorical", -1.0), ("poisson", -1.0), ("poisson", 0.5)),
        *(("gamma", 0.0), ("gamma", -1.0), ("beta", 0.0), ("beta", 1.0)),
        *(("beta", 1.5), ("dirichlet", [0.5, 0.5, 0.5])),
        ("dirichlet", [0.5, 0.5, 0.0]),
    ],
)
def test_h_is_zero_outside_the_domain(name, x):
    """No observation there has a density."""
    assert made(name)[0].log_h(np.array(x)) == -np.inf


@pytest.mark.parametrize(
    ("name", "eta"),
    [
        *(("gaussian", [0.0, 0.0]), ("gaussian", [0.0, 1.0])),
        ("multivariate", [0.0, 0.0, -1.0, 3.0, -1.0]),
        *(("gamma", [0.0, -1.0]), ("gamma", [1.0, 0.0]), ("gamma", [1.0, 1.0])),
        *(("beta", [0.0, 1.0]), ("dirichlet", [1.0, -1.0, 1.0])),
        *(("gamma", [2.0, 0.5]), ("dirichlet", [1.0, -0.5, 1.0])),
        ("dirichlet", [0.0, 0.0, 0.0]),
    ],
)
def test_g_is_zero_where_the_integral_diverges(name, eta):
    """These are no natural parameters."""
    assert made(name)[0].log_g(np.array(eta)) == -np.inf


@given(st.floats(-700, 700))
def test_log_g_of_bernoulli_is_stable(eta):
    """log sigma(-eta) = log(1 - mu), not log of a rounded difference."""
    f = families.bernoulli()
    expected = -np.logaddexp(0, eta)
    assert f.log_g(np.array([eta])) == pytest.approx(expected, rel=1e-14)


def test_two_values_of_a_categorical_are_bernoulli():
    """The first value of two has the success probability."""
    two, one = families.categorical(2), families.bernoulli()
    eta = np.array([0.8])
    assert two.log_g(eta) == pytest.approx(one.log_g(eta))
    np.testing.assert_allclose(two.mean(eta), one.mean(eta))
    np.testing.assert_allclose(two.covariance(eta), one.covariance(eta))


def test_products_are_blocks(rng):
    """Sizes, log densities and moments of independent columns."""
    parts = [made(k) for k in ("gamma", "categorical", "gaussian")]
    f = families.product(*(p[0] for p in parts))
    etas = [p[0].natural(*p[1]) for p in parts]
    eta = f.natural(*etas)
    x = np.array([[0.5, 3.0, -1.0], [2.0, 0.0, 0.3]])
    assert f.shape == (3, 2, 7) and f.name == "Gamma × categorical × Gaussian"
    expected = sum(p[2](x[:, d]) for d, p in enumerate(parts))
    np.testing.assert_allclose(log_p(f, x, eta), expected)
    slope, _ = partials(lambda eta: -f.log_g(eta), eta)
    np.testing.assert_allclose(f.mean(eta), slope.value, rtol=1e-9, atol=1e-11)
    C = f.covariance(eta)
    assert (
        C.shape == (7, 7) and np.all(C[:2, 2:] == 0) and np.all(C[2:5, 5:] == 0)
    )
    for p, e, rows in zip(
        parts, etas, ([0, 1], [2, 3, 4], [5, 6]), strict=True
    ):
        np.testing.assert_array_equal(C[np.ix_(rows, rows)], p[0].covariance(e))
    assert f.gap(f.mean(eta)) == min(
        p[0].gap(p[0].mean(e)) for p, e in zip(parts, etas, strict=True)
    )
    assert f.domain == "positive, one of 0, ..., 3, real"


@pytest.mark.parametrize(
    ("make", "argument", "says"),
    [
        (families.categorical, 1, "K must .* >= 2; got 1"),
        (families.dirichlet, 1, "K must .* >= 2; got 1"),
        (families.multivariate_gaussian, 0, "D must .* >= 1; got 0"),
        (families.categorical, 2.5, "K must .* >= 2; got 2.5"),
        (families.categorical, "3", "K must .* >= 2; got '3'"),
        (families.gaussian_location, 0.0, "^variance must .* got 0.0"),
        (families.gaussian_location, np.nan, "^variance must be one positive"),
    ],
)
def test_impossible_members_are_refused(make, argument, says):
    """The message says what was expected and what arrived."""
    with pytest.raises(ValueError, match=says):
        make(argument)


def test_a_covariance_must_be_positive_definite():
    """Not a bare LinAlgError."""
    f = families.multivariate_gaussian(2)
    with pytest.raises(ValueError, match="positive definite; got"):
        f.natural([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="positive definite"):
        families.gaussian().natural(0.0, -1.0)


def test_rows_may_come_alone_or_in_blocks():
    """The last axis holds the columns, whatever comes before it."""
    f = families.multivariate_gaussian(2)
    row, block = np.array([2.0, -3.0]), np.arange(24.0).reshape(3, 4, 2)
    np.testing.assert_array_equal(f.u(row), [2, -3, 4, -6, 9])
    assert f.log_h(row) == pytest.approx(-np.log(2 * np.pi))
    assert f.u(block).shape == (3, 4, 5) and f.log_h(block).shape == (3, 4)
    np.testing.assert_array_equal(f.u(block)[2, 1], f.u(block[2, 1]))


@pytest.mark.parametrize(
    ("name", "usual", "says"),
    [
        ("bernoulli", [1.5], "mu, 1 - mu must hold positive probabilities"),
        ("bernoulli", [0.0], "mu, 1 - mu must hold positive probabilities"),
        ("categorical", [[0.5, 0.5]], r"mu must have shape \(4,\)"),
        ("categorical", [[0.1, 0.2, 0.3, 0.5]], "with sum 1.1"),
        ("poisson", [-1.0], "rate must be one positive, finite number"),
        ("location", [np.nan], "mu must be finite"),
        ("gaussian", [0.0, 0.0], "must be positive definite"),
        ("multivariate", [[0.0], np.eye(2)], "mu must have shape"),
        ("multivariate", [[0.0, 1.0], np.eye(3)], "S must have shape"),
        ("multivariate", [[0.0, 1.0], [[1, 0.5], [0, 1]]], "S must be symm"),
        ("gamma", [-1.0, 1.0], "a and b must be positive; got"),
        ("gamma", [1.0, 0.0], "a and b must be positive; got"),
        ("beta", [1.0, np.inf], "a must be finite"),
        ("dirichlet", [1.0, 2.0], r"a must have shape \(3,\)"),
        ("dirichlet", [1.0, 2.0, 0.0], "a must be positive; got"),
    ],
)
def test_impossible_parameters_are_refused(name, usual, says):
    """Named, with what arrived; never a nan or a parameter of nothing."""
    with pytest.raises(ValueError, match=says):
        made(name)[0].natural(*usual)


@pytest.mark.parametrize(
    "parts", [(), ("dirichlet", "gamma"), ("gamma", "multivariate")]
)
def test_columns_hold_numbers(parts):
    """No empty product, and none of families of rows."""
    with pytest.raises(
        ValueError, match="families must have one column each; got"
    ):
        families.product(*(made(name)[0] for name in parts))


@pytest.mark.parametrize("s", [1e-14, 1e-6, 0.004, 0.3, 3.0, 50.0, 1500.0])
def test_shape_of_a_gamma_solves_its_equation(s):
    """Bisection on the logarithm of a, with the series where that is sharp."""

    def excess(log_a):
        a = np.exp(log_a)
        if a > 1e4:
            return 1 / (2 * a) + 1 / (12 * a**2) - s
        return np.log(a) - digamma(a) - s

    expected = np.exp(optimize.brentq(excess, -8, 35, xtol=1e-15, rtol=1e-15))
    assert families._shape(s) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("a", [200, 1000, 10**5])
def test_log_less_digamma_keeps_its_digits(a):
    """digamma(n) = 1 + 1/2 + ... + 1/(n - 1) - 0.5772..., summed exactly."""
    harmonic = math.fsum(1 / k for k in range(1, a))
    expected = math.fsum([np.log(a), -harmonic, np.euler_gamma])
    found = families._log_less_digamma(a)
    assert found == pytest.approx(expected, abs=4e-15)
    near = families._log_less_digamma(199.9999)
    assert near == pytest.approx(math.log(199.9999) - digamma(199.9999))


def test_gamma_estimates_follow_the_unit(rng):
    """x in other units has the same shape, over the range of floats."""
    f, x = families.gamma(), rng.gamma(2.5, 1.0, 30)
    a, minus_b = f.guess(f.u(x).mean(axis=0))
    for unit in (1e-300, 1e-155, 1e-20, 1e20, 1e140):
        found = f.guess(f.u(unit * x).mean(axis=0))
        np.testing.assert_allclose(found * [1, unit], [a, minus_b], rtol=1e-9)
    assert (
        f.gap(np.array([0.0, 0.0])) == f.gap(np.array([0.0, -1.0])) == -np.inf
    )


@pytest.mark.parametrize("K", [2, 3, 5])
def test_concentrated_start_is_the_limit_of_large_parameters(K, rng):
    """Its relative error is of the order of 1 / a; it is positive always."""
    f, p = families.dirichlet(K), rng.uniform(1, 2, K)
    for size in (1e2, 1e4):
        found = f.guess(f.mean(size * p))
        np.testing.assert_allclose(found, size * p, rtol=2 / size)
    start = f.guess(np.append(np.full(K - 1, -1e3), -1e-9))
    np.testing.assert_allclose(start[:-1], 0.5 / 1001)
    assert f.log_g(start) > -np.inf


# The Gaussian: vectors that stand for a mean and a covariance.


@pytest.fixture(params=[1, 2, 3, 4])
def bell(request, rng):
    """A mean and a covariance in D dimensions."""
    D = request.param
    A = rng.standard_normal((D, D))
    return rng.standard_normal(D), A @ A.T + np.eye(D)


def products(X):
    """(x, x_i x_j), i >= j, one pair after the other."""
    D = X.shape[1]
    pairs = [X[:, i] * X[:, j] for i in range(D) for j in range(i + 1)]
    return np.column_stack([X, *pairs])


def test_gaussian_log_density_is_scipys(bell, rng):
    """log g + eta^T u - D log(2 pi) / 2."""
    mu, S = bell
    eta = families.gaussian_natural(mu, S)
    X = rng.standard_normal((5, len(mu)))
    found = families.gaussian_log_g(eta) + products(X) @ eta
    found -= len(mu) * np.log(2 * np.pi) / 2
    expected = stats.multivariate_normal(mu, S).logpdf(X)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_gaussian_mean_holds_both_moments(bell):
    """E[x] and E[x_i x_j] = S_ij + mu_i mu_j, and back."""
    mu, S = bell
    eta = families.gaussian_natural(mu, S)
    m = families.gaussian_mean(eta)
    D = len(mu)
    pairs = [S[i, j] + mu[i] * mu[j] for i in range(D) for j in range(i + 1)]
    np.testing.assert_allclose(m, [*mu, *pairs], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(families.gaussian_from_mean(m), eta, rtol=1e-9)


def test_gaussian_moments_are_derivatives(bell):
    """-grad and -hess of log g, by differences that know their error."""
    eta = families.gaussian_natural(*bell)
    slope, _ = partials(lambda eta: -families.gaussian_log_g(eta), eta)
    m = families.gaussian_mean(eta)
    np.testing.assert_allclose(m, slope.value, rtol=1e-8, atol=1e-9)
    slope, _ = partials(families.gaussian_mean, eta)
    C = families.gaussian_covariance(eta)
    np.testing.assert_allclose(C, slope.value, rtol=1e-7, atol=1e-8)


def test_gaussian_gap_is_a_smallest_eigenvalue(bell):
    """Of S in units of sqrt(E[x_i^2]); negative outside, zero on the edge."""
    mu, S = bell
    D = len(mu)
    m = families.gaussian_mean(families.gaussian_natural(mu, S))
    size = np.sqrt(np.diag(S) + mu**2)
    expected = np.linalg.eigvalsh(S / np.outer(size, size))[0]
    assert families.gaussian_gap(m) == pytest.approx(expected, rel=1e-9)
    point = products(mu[None])[0]
    assert families.gaussian_gap(point) == pytest.approx(0, abs=1e-14)
    assert families.gaussian_gap(2 * point - m) < 0
    assert families.gaussian_gap(np.zeros_like(m)) == 0
    assert D * (D + 3) // 2 == len(m)


def test_what_is_no_gaussian():
    """log g = -inf; moments of nothing are refused."""
    for eta in ([0.0, 0.0], [1.0, 1.0], [0.0, 0.0, -1.0, 3.0, -1.0]):
        eta = np.array(eta)
        assert families.gaussian_log_g(eta) == -np.inf
        for function in (families.gaussian_mean, families.gaussian_covariance):
            with pytest.raises(ValueError, match="positive definite; got"):
                function(eta)
    with pytest.raises(ValueError, match="positive definite; got"):
        families.gaussian_natural(np.zeros(2), [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"S must have shape \(2, 2\)"):
        families.gaussian_natural(np.zeros(2), np.eye(3))


def test_gaussian_in_many_dimensions(rng):
    """The size of the matrix is found from that of the vector."""
    mu, S = rng.standard_normal(20), np.diag(np.arange(1.0, 21.0))
    m = families.gaussian_mean(families.gaussian_natural(mu, S))
    np.testing.assert_allclose(m, products(mu[None])[0] + products_of(S))


def products_of(S):
    """Zeros for x, S_ij for x_i x_j."""
    pairs = [S[i, j] for i in range(len(S)) for j in range(i + 1)]
    return np.append(np.zeros(len(S)), pairs)


def test_a_covariance_is_symmetric_in_units_of_each_dimension():
    """A correlation of 1/2 above the diagonal and -1/2 below it, though the
    gap of 1e-10 is small beside the larger variance."""
    S = np.array([[1.0, 5e-11], [-5e-11, 1e-20]])
    with pytest.raises(ValueError, match="S, as correlations, must be symm"):
        families.multivariate_gaussian(2).natural([0.0, 0.0], S)
