"""numerics.special against long arithmetic, in its limits, and beside peers.

The oracle takes differences of the definitions, with hundreds of digits. It
knows none of the rewritten formulas, so it cannot share an error with them.
"""

import functools

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special as scipy_special

from prml4.numerics import special

TINY = np.finfo(float).tiny
EPS = np.finfo(float).eps
BOUND = 1e-14  # times 1 + condition number; the worst seen here is 7e-15

# function: (base, order of derivative)
CHAIN = {
    "sigmoid": ("sigma", 0),
    "sigmoid_prime": ("sigma", 1),
    "sigmoid_second": ("sigma", 2),
    "softplus": ("softplus", 0),
    "log_sigmoid": ("log sigma", 0),
    "normal_cdf": ("Phi", 0),
    "normal_pdf": ("phi", 0),
    "log_normal_cdf": ("log Phi", 0),
    "mills": ("log Phi", 1),
    "mills_prime": ("log Phi", 2),
    "mills_second": ("log Phi", 3),
}
ELEMENTWISE = [*CHAIN, "logit"]
ALONG_AXIS = ["logsumexp", "softmax", "log_softmax"]

# (at -inf, at +inf)
LIMITS = {
    "sigmoid": (0, 1),
    "sigmoid_prime": (0, 0),
    "sigmoid_second": (0, 0),
    "softplus": (0, np.inf),
    "log_sigmoid": (-np.inf, 0),
    "normal_cdf": (0, 1),
    "normal_pdf": (0, 0),
    "log_normal_cdf": (-np.inf, 0),
    "mills": (np.inf, 0),
    "mills_prime": (-1, 0),
    "mills_second": (0, 0),
}
# where the value itself still fits at -1e308 or +1e308
FINITE_AT_1E308 = {
    ("softplus", 1): 1e308,
    ("log_sigmoid", -1): -1e308,
    ("mills", -1): 1e308,
}


def upper_tail(a):
    return mp.erfc(a / mp.sqrt(2)) / 2


def log_normal_cdf(a):
    return mp.log(upper_tail(-a)) if a < 0 else mp.log1p(-upper_tail(a))


# definition, and digits enough for a fourth difference of step 1e-30
BASE = {
    "sigma": (lambda a: 1 / (1 + mp.exp(-a)), 600),
    "softplus": (lambda a: mp.log1p(mp.exp(a)), 600),
    "log sigma": (lambda a: -mp.log1p(mp.exp(-a)), 600),
    "phi": (mp.npdf, 200),
    "Phi": (lambda a: upper_tail(-a), 200),
    "log Phi": (log_normal_cdf, 200),
}


@functools.cache
def grid():
    """Dense and random points, both tails, roots of sigma''' and the seams."""
    rng = np.random.default_rng(7)
    tiny = 10.0 ** rng.uniform(-300, 0, 40) * rng.choice([-1, 1], 40)
    roots = np.log(2 + np.sqrt(3)) * (1 + np.array([-1e-9, 0, 1e-9]))
    seams = [-37.6, 37.6, -708.3, 708.3, 709.9, -709.9, -1e3, 1e3, -0.0, 0.0]
    return np.concatenate(
        [
            np.linspace(-40, 40, 81),
            rng.uniform(-40, 40, 120),
            rng.uniform(-2, 2, 120),
            rng.uniform(-1e3, 1e3, 60),
            *(tiny, roots, -roots, seams),
        ]
    )


def differences(f, a):
    """f and its derivatives of order 1 to 4 at a, by central differences."""
    h = mp.mpf(10) ** -30
    low, left, here, right, high = (f(a + j * h) for j in range(-2, 3))
    return (
        here,
        (right - left) / (2 * h),
        (right - 2 * here + left) / h**2,
        (high - 2 * right + 2 * left - low) / (2 * h**3),
        (high - 4 * right + 6 * here - 4 * left + low) / h**4,
    )


@functools.cache
def derivatives(base):
    """Orders 0 to 4 of one definition at every grid point."""
    f, digits = BASE[base]
    with mp.workdps(digits):
        return [differences(f, mp.mpf(float(a))) for a in grid()]


def relative_error(value, truth):
    """|value / truth - 1|, at the precision of mpmath."""
    return float(abs(mp.mpf(float(value)) / truth - 1))


def worst_error(values, truths):
    return max(map(relative_error, values, truths))


@pytest.mark.parametrize("name", CHAIN)
def test_relative_error_is_bounded_by_the_condition_number(name):
    """1e-14 (1 + |a f' / f|) on [-1e3, 1e3], both tails, no silent flag."""
    base, order = CHAIN[name]
    with np.errstate(all="raise"):
        values = getattr(special, name)(grid())
    for a, value, truth in zip(grid(), values, derivatives(base), strict=True):
        if abs(truth[order]) < TINY:
            assert abs(value) < 2 * TINY, a
            continue
        condition = float(abs(a * truth[order + 1] / truth[order]))
        error = relative_error(value, truth[order])
        assert error <= BOUND * (1 + condition), (a, error, condition)


def test_logit_is_accurate_at_both_ends_and_in_the_middle(rng):
    """logit vanishes at 1/2, so there the condition number is unbounded."""
    near_half = 0.5 + 10.0 ** rng.uniform(-16, -1, 100) * rng.choice([-1, 1])
    small = 10.0 ** rng.uniform(-307, 0, 200)
    y = np.concatenate([near_half, small, 1 - small[small > 1e-16], [TINY]])
    y = y[(y > 0) & (y < 1) & (y != 0.5)]
    with np.errstate(all="raise"):
        values = special.logit(y)
    for p, value in zip(y, values, strict=True):
        exact = mp.mpf(float(p))
        truth = mp.log(exact) - mp.log1p(-exact)
        condition = float(abs(1 / ((1 - exact) * truth)))
        assert relative_error(value, truth) <= BOUND * (1 + condition), p


def test_logit_undoes_the_sigmoid():
    """Two routes of ours: logit(sigma(a)) = a, as far as sigma(a) tells a."""
    a = np.linspace(-700, 3, 500)
    np.testing.assert_allclose(special.logit(special.sigmoid(a)), a, rtol=1e-12)


def test_normal_density_and_tail_far_out():
    """A rounded a^2 costs a^2 / 4 units in the last place, and no more.

    Measured with scipy 1.17.1 on this grid: 2.3e-13, of numbers below 1e-197.
    """
    a = np.linspace(-37.5, -30, 400)
    exact = [mp.mpf(float(x)) for x in a]
    with mp.workdps(40):
        tail = [upper_tail(-x) for x in exact]
        density = [mp.npdf(x) for x in exact]
        log_right = [mp.log1p(-p) for p in tail]
    for ours, truth in [
        (special.normal_cdf(a), tail),
        (special.normal_pdf(a), density),
        (special.log_normal_cdf(-a), log_right),
    ]:
        assert worst_error(ours, truth) <= 3e-13


def test_log_softmax_of_a_certain_class_keeps_all_digits():
    """log y_1 is about -exp(-30): a - logsumexp(a) has four digits of it.

    scipy 1.17.1 is off by 1.0e-3 at 30 against 0, and here by 1e-16.
    """
    with mp.workdps(40):
        truth = -mp.log1p(mp.exp(-30))
    ours = special.log_softmax([30.0, 0.0])[0]
    theirs = scipy_special.log_softmax([30.0, 0.0])[0]
    print(f"{relative_error(ours, truth):.1e}", end=" ")
    print(f"{relative_error(theirs, truth):.1e}")
    assert relative_error(ours, truth) <= 1e-15


def test_log_sum_exp_keeps_its_digits_near_zero():
    """log(1 + exp(-50)) = 2e-22, lost where the largest term joins the sum."""
    for small in (-30.0, -50.0, -700.0):
        for a in ([0.0, small], [small, 0.0], [small, 0.0, small]):
            with mp.workdps(400):
                truth = mp.log1p((len(a) - 1) * mp.exp(small))
            assert relative_error(special.logsumexp(a), truth) <= 1e-15


@pytest.mark.parametrize("z", [1e4, 1e8, 1e20, 1e100])
def test_derivatives_of_log_normal_cdf_follow_their_expansions(z):
    """r = z + 1/z - ..., r' = -1 + 1/z^2 - ..., r'' = 2/z^3 - 24/z^5 + ...

    At 1e8, r (r + a) computed as written would have no digit left.
    """
    with np.errstate(all="raise"):
        got = [f(-z) for f in (special.mills_prime, special.mills_second)]
    r = z + (1 / z - 2 / z**3)
    np.testing.assert_allclose(special.mills(-z), r, rtol=2e-15)
    np.testing.assert_allclose(got[0], -1 + z**-2, rtol=2e-15)
    second = 2 * z**-3 * (1 - 12 * z**-2)
    np.testing.assert_allclose(got[1], second, rtol=5e-14)


@pytest.mark.parametrize("name", CHAIN)
def test_limits_are_reached_in_silence(name):
    """Values at +-1e308 and +-inf are limits, not overflows."""
    f = getattr(special, name)
    with np.errstate(all="raise"):
        for sign, limit in zip((-1, 1), LIMITS[name], strict=True):
            assert f(sign * np.inf) == limit
            expected = FINITE_AT_1E308.get((name, sign), limit)
            np.testing.assert_allclose(f(sign * 1e308), expected, rtol=2e-15)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_nan_goes_through_and_only_where_it_stood(name):
    """A NaN is neither swallowed nor spread to its neighbours."""
    f = getattr(special, name)
    with np.errstate(all="raise"):
        y = f(np.array([0.25, np.nan, 0.75]))
    np.testing.assert_array_equal(np.isnan(y), [False, True, False])
    assert np.isnan(f(np.nan))


def test_logit_has_infinite_ends_and_no_outside():
    """0 and 1 are limits; -0.1 and 1.5 are mistakes, named."""
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(
            special.logit([0.0, 0.5, 1.0]), [-np.inf, 0.0, np.inf]
        )
    with pytest.raises(ValueError, match=r"\[0, 1\].*1\.5.*2 of 3 outside"):
        special.logit([0.5, 1.5, -0.1])
    with pytest.raises(ValueError, match="outside"):
        special.logit(np.inf)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_shape_is_kept_and_scalars_stay_scalars(name):
    """Any shape, also empty, also not contiguous; scalars give np.float64."""
    f = getattr(special, name)
    assert type(f(0.25)) is np.float64
    assert type(f(np.array(0.25))) is np.float64
    assert f(np.empty((0, 3))).shape == (0, 3)
    a = np.linspace(0.1, 0.9, 24).reshape(4, 6)
    strided = a[::2, ::-1]
    np.testing.assert_array_equal(f(strided), f(a)[::2, ::-1])
    np.testing.assert_array_equal(f(strided.tolist()), f(strided))


@pytest.mark.parametrize("name", ELEMENTWISE + ALONG_AXIS)
def test_input_is_never_modified(name):
    """Works in place inside, but on copies: a read-only array will do."""
    a = np.array([0.25, 1.0, 0.0, 0.75])
    before = a.copy()
    getattr(special, name)(a)
    np.testing.assert_array_equal(a, before)
    a.flags.writeable = False
    getattr(special, name)(a)


@pytest.mark.parametrize("name", ELEMENTWISE + ALONG_AXIS)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, np.bool_])
def test_other_real_types_are_computed_in_double(name, dtype):
    """float32 in, float64 accuracy out; -a never wraps around in uint64."""
    a = np.array([0, 1, 1, 0], dtype=dtype)
    y = getattr(special, name)(a)
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, getattr(special, name)(a.astype(float)))


@pytest.mark.parametrize("name", ELEMENTWISE + ALONG_AXIS)
@pytest.mark.parametrize("a", [[1j, 0j], ["1", "2"], [None, 1.0], [10**400]])
def test_what_is_not_real_is_refused_by_name(name, a):
    """A complex step through these would silently lose its imaginary part."""
    with pytest.raises(ValueError, match="a must hold real numbers; got dtype"):
        getattr(special, name)(a)


doubles = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)


@given(hnp.arrays(float, hnp.array_shapes(max_dims=2), elements=doubles))
def test_no_double_raises_a_flag_or_leaves_the_range(a):
    """Every double: no warning, NaN only for NaN, values in their range."""
    inside = {
        "sigmoid": (0, 1),
        "sigmoid_prime": (0, 0.25 * (1 + 4 * EPS)),
        "normal_cdf": (0, 1),
        "mills": (0, np.inf),
        "mills_prime": (-1, 0),
        "mills_second": (0, 0.3),
    }
    for name in CHAIN:
        with np.errstate(all="raise"):
            y = getattr(special, name)(a)
        np.testing.assert_array_equal(np.isnan(y), np.isnan(a))
        low, high = inside.get(name, (-np.inf, np.inf))
        assert np.all((low <= y) & (y <= high) | np.isnan(y)), name


@given(hnp.arrays(float, hnp.array_shapes(max_dims=2), elements=doubles))
def test_no_row_raises_a_flag(a):
    """inf - inf inside softmax is NaN by design, and silent."""
    with np.errstate(all="raise"):
        total = special.logsumexp(a)
        y, log_y = special.softmax(a), special.log_softmax(a)
    poisoned = np.isnan(a).any(axis=-1)
    np.testing.assert_array_equal(np.isnan(total), poisoned)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(log_y))
    assert np.isnan(y)[poisoned].all()
    settled = ~np.isnan(y).any(axis=-1)
    np.testing.assert_allclose(y.sum(axis=-1)[settled], 1.0, rtol=1e-14)


def draw_rows(rng, count):
    """Rows of all sizes and scales: shifted, tied, summing to nearly one."""
    for i in range(count):
        a = rng.normal(size=rng.integers(1, 8)) * 10.0 ** rng.uniform(-3, 2)
        if i % 3 == 0:
            a = a - special.logsumexp(a)
        if i % 4 == 0:
            a = np.append(a, a.max())
        if i % 5 == 0:
            a = a + rng.uniform(-1e3, 1e3)
        yield a


def test_log_sum_exp_error_is_bounded_by_the_condition_number(rng):
    """Condition number sum_k |a_k y_k / f|; a third of the rows have f ~ 0."""
    for a in draw_rows(rng, 600):
        with mp.workdps(200):
            exact = [mp.mpf(float(x)) for x in a]
            mass = mp.fsum(map(mp.exp, exact))
            truth = mp.log(mass)
            pull = sum(abs(x) * mp.exp(x) for x in exact) / mass
            error = abs(mp.mpf(float(special.logsumexp(a))) - truth)
            assert error <= BOUND * (abs(truth) + pull), a


def test_softmax_error_is_bounded_by_the_condition_number(rng):
    """Condition number of y_k: sum_j |a_j (I_kj - y_j)|."""
    for a in draw_rows(rng, 200):
        with np.errstate(all="raise"):
            got, got_log = special.softmax(a), special.log_softmax(a)
        with mp.workdps(500):
            exact = [mp.mpf(float(x)) for x in a]
            mass = mp.fsum(map(mp.exp, exact))
            for k, x in enumerate(exact):
                y = mp.exp(x) / mass
                pull = sum(
                    abs(z) * abs((j == k) - mp.exp(z) / mass)
                    for j, z in enumerate(exact)
                )
                if y > TINY:
                    assert relative_error(got[k], y) <= BOUND * (1 + pull), a
                error = abs(mp.mpf(float(got_log[k])) - mp.log(y))
                allowed = BOUND * (abs(mp.log(y)) + pull)
                assert error <= allowed + TINY, a


def test_softmax_of_two_classes_is_the_logistic_sigmoid(rng):
    """K = 2: y_1 = sigma(a_1 - a_2), PRML (4.57) and (4.62)."""
    a = rng.normal(size=(200, 2)) * 20
    y = special.softmax(a)
    np.testing.assert_allclose(y[:, 0], special.sigmoid(a[:, 0] - a[:, 1]))
    log_y = special.log_sigmoid(a[:, 1] - a[:, 0])
    np.testing.assert_allclose(special.log_softmax(a)[:, 1], log_y)


def test_softmax_does_not_feel_a_common_shift(rng):
    """Adding c to every a_k changes nothing but logsumexp, by c."""
    a = rng.integers(-50, 50, size=(5, 4)) / 8
    np.testing.assert_array_equal(special.softmax(a + 512), special.softmax(a))
    np.testing.assert_allclose(
        special.logsumexp(a + 512), special.logsumexp(a) + 512, rtol=1e-15
    )


def test_axis_chooses_the_classes(rng):
    """Last axis by default; any other equals moving it there."""
    a = rng.normal(size=(2, 3, 4))
    for axis in (0, 1, 2, -3):
        last = np.moveaxis(a, axis, -1)
        np.testing.assert_array_equal(
            special.logsumexp(a, axis), special.logsumexp(last)
        )
        for f in (special.softmax, special.log_softmax):
            got = np.moveaxis(f(a, axis=axis), axis, -1)
            np.testing.assert_allclose(got, f(last), rtol=1e-14)
    assert type(special.logsumexp([1.0, 2.0])) is np.float64


def test_softmax_takes_its_limits_where_they_exist():
    """One infinite activation wins; two leave the answer open: NaN."""
    inf, nan = np.inf, np.nan
    a = [
        [inf, 0],
        [-inf, 0],
        [inf, inf],
        [-inf, -inf],
        [nan, 0],
        [1e308, -1e308],
    ]
    with np.errstate(all="raise"):
        y, log_y = special.softmax(a), special.log_softmax(a)
        total = special.logsumexp(a)
    open_ = [nan, nan]
    np.testing.assert_array_equal(y, [[1, 0], [0, 1], *[open_] * 3, [1, 0]])
    np.testing.assert_array_equal(
        log_y, [[0, -inf], [-inf, 0], *[open_] * 3, [0, -inf]]
    )
    np.testing.assert_array_equal(total, [inf, 0, inf, -inf, nan, 1e308])
    np.testing.assert_array_equal(special.softmax([[-inf], [inf]]), 1)
    assert np.isnan(special.softmax([nan])) and np.isnan(
        special.log_softmax([nan])
    )


@pytest.mark.parametrize("name", ALONG_AXIS)
@pytest.mark.parametrize("a", [0.5, [], np.empty((3, 0))])
def test_no_classes_are_refused_by_name(name, a):
    """The sum over no class has no largest term."""
    with pytest.raises(ValueError, match="a must have entries there"):
        getattr(special, name)(a)


def test_what_is_hidden_is_not_computed_with():
    """The mask was dropped without a word."""
    with pytest.raises(ValueError, match="got a masked array"):
        special.sigmoid(np.ma.array([0.5, 2.0], mask=[0, 1]))
