"""numerics.validate: what arrived, what was expected."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from prml4.numerics import validate

REAL = (np.float64, np.float32, np.float16, np.int8, np.uint8, np.int64, bool)


@given(
    st.sampled_from(REAL).flatmap(
        lambda kind: arrays(kind, array_shapes(min_dims=2, max_dims=2))
    )
)
def test_design_takes_every_kind_of_real_number(Phi):
    """Values survive as float64, so that int8 columns cannot overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.sum(Phi.astype(float) ** 2)
    if not np.isfinite(squares):
        with pytest.raises(ValueError, match="finite and below 1e150; got"):
            validate.design(Phi)
        return
    out = validate.design(Phi)
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, Phi.astype(float))


@pytest.mark.parametrize("order", ["C", "F"])
def test_double_precision_is_not_copied(rng, order):
    """A design matrix may be most of the memory; views are fine too."""
    Phi = np.asarray(rng.standard_normal((20, 6)), order=order)
    Phi.flags.writeable = False
    assert np.shares_memory(validate.design(Phi), Phi)
    assert np.shares_memory(validate.design(Phi[::-2, ::3]), Phi)


@pytest.mark.parametrize(
    "Phi, said",
    [
        (np.ones(3), r"got shape \(3,\)"),
        (np.ones((0, 3)), r"got shape \(0, 3\)"),
        (np.ones((3, 0)), r"got shape \(3, 0\)"),
        (np.ones((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        ([[1, 2], [3]], "must be a regular array"),
        ([[1, "a"]], "real numbers; got dtype <U"),
        ([[1, None]], r"got nan at \[0, 1\]"),
        ([[1, "a", None]], "real numbers; got dtype object"),
        ([[1j]], "real numbers; got dtype complex128"),
        ([[1, 10**400]], "real numbers; got dtype object"),
        (np.array([["2020-01-01"]], "M8[D]"), "real numbers; got dtype"),
        ([[1, np.nan]], r"got nan at \[0, 1\]"),
        ([[1], [-np.inf]], r"got -inf at \[1, 0\]"),
        ([[1e200, 1]], r"below 1e150; got 1e\+200 at \[0, 0\]"),
    ],
)
def test_design_says_what_arrived(Phi, said):
    """Each message names the argument and the offence."""
    with pytest.raises(ValueError, match=f"Phi .*{said}"):
        validate.design(Phi)


def test_whole_numbers_in_an_object_array_are_numbers():
    """Data frames of mixed columns arrive like that."""
    out = validate.real("Phi", np.array([[1, 2.5]], dtype=object))
    np.testing.assert_array_equal(out, [[1, 2.5]])


@pytest.mark.parametrize("kind", REAL)
def test_targets_of_every_kind(kind):
    """0 and 1 are 0 and 1 whatever they are stored in; True is 1."""
    t = validate.binary_targets(np.array([0, 1, 1], dtype=kind), 3)
    assert t.dtype == np.float64
    np.testing.assert_array_equal(t, [0, 1, 1])


@pytest.mark.parametrize(
    "t, said",
    [
        ([-1, 1, 1], r"got \{-1, 1\}; use \(t \+ 1\) / 2"),
        ([1, 2, 2], r"got \{1, 2\}"),
        ([0, 1, 0.5], r"got \{0, 0.5, 1\}"),
        ([0, 1, np.nan], "got .*nan"),
        (range(9), r"got \{0, 1, 2, 3, 4, ...\}"),
        (["no", "yes"], "real numbers"),
        ([[0], [1]], r"one per row; got shape \(2, 1\)"),
    ],
)
def test_other_codings_are_refused(t, said):
    """Guessing which of two values is class 1 would be wrong half the time."""
    with pytest.raises(ValueError, match=f"t must .*{said}"):
        validate.binary_targets(t, len(t))


def test_rows_without_weight_are_left_out():
    """Whatever they hold; with nothing to leave out nothing is copied."""
    Phi, t, c = (
        np.array([[1.0], [1e100], [3.0]]),
        np.array([0.0, 1, 1]),
        [1, 0, 2],
    )
    kept = validate.two_classes(Phi, t, c)
    for found, wanted in zip(kept, ([[1], [3]], [0, 1], [1, 2]), strict=True):
        np.testing.assert_array_equal(found, wanted)
    rows, numbers, K, w = validate.several_classes(Phi, [0, 0, 1], c)
    assert (rows.tolist(), numbers.tolist(), K) == ([[1], [3]], [0, 1], 2)
    assert w.tolist() == [1, 2]
    assert validate.two_classes(Phi, t, np.ones(3))[0] is Phi


def test_weights_and_precisions():
    """One number serves all columns; a missing weight means 1."""
    assert validate.observation_weights(None, 3) is None
    np.testing.assert_array_equal(validate.precisions(2, 3), [2, 2, 2])
    np.testing.assert_array_equal(validate.precisions([0, 1], 2), [0, 1])
    for bad in ([1, -1], [0, 0], [1], [np.nan, 1], [1e-10, 0]):
        with pytest.raises(ValueError, match="weights must"):
            validate.observation_weights(bad, 2)
    for bad in (-1, [1, -1], [1, 2, 3], np.inf, "x"):
        with pytest.raises(ValueError, match="alpha must"):
            validate.precisions(bad, 2)
    with pytest.raises(ValueError, match=r"m0 must .*one per column; got"):
        validate.vector("m0", np.ones(3), 2, "column")


def test_both_classes_looks_at_rows_that_count():
    """A class whose weights are all zero is not there."""
    t = np.array([0.0, 0.0, 1.0])
    validate.both_classes(t)
    with pytest.raises(ValueError, match="got only 0"):
        validate.both_classes(t, np.array([1.0, 2.0, 0.0]))


def test_dependent_columns_are_named(rng):
    """Sums, copies, zeros, two constants; and columns of any size."""
    A = rng.standard_normal((30, 3)) * [1e-120, 1, 1e120]
    validate.independent_columns(A)
    for extra, said in [
        (A[:, 1] * 1e9, "a combination of 1|column 1 is a combination of 3"),
        (0 * A[:, 0], "column 3 is zero"),
    ]:
        with pytest.raises(ValueError, match=f"got rank 3 for 4 .*{said}"):
            validate.independent_columns(np.c_[A, extra])
    with pytest.raises(ValueError, match="got rank 2 for 3 columns"):
        validate.independent_columns(A[:2] / [1e-120, 1, 1e120])
    with pytest.raises(ValueError, match="column 9 is zero"):
        validate.independent_columns(np.zeros((3, 1)), np.array([9]))


@given(arrays(float, (8, 3), elements=st.integers(-3, 3)))
def test_rank_is_that_of_exact_arithmetic(A):
    """Small integers: numpy's singular values leave no doubt."""
    if np.linalg.matrix_rank(A) == 3:
        validate.independent_columns(A)
    else:
        with pytest.raises(ValueError, match="got rank"):
            validate.independent_columns(A)


@given(
    st.integers(2, 6).flatmap(
        lambda K: st.tuples(
            st.just(K),
            st.permutations(range(K)),
            st.lists(st.integers(0, K - 1), max_size=9),
        )
    ),
    st.sampled_from([int, float, np.int8, np.float32]),
)
def test_class_numbers_come_back_as_integers(drawn, kind):
    """With or without K; the input may be of any kind and stays as it is."""
    K, each, more = drawn
    t = np.array([*each, *more], kind)
    t.flags.writeable = False
    for given_K in (None, K):
        numbers, found = validate.classes(t, len(t), given_K)
        assert found == K and numbers.dtype == np.intp
        np.testing.assert_array_equal(numbers, t)


@pytest.mark.parametrize(
    "t, K, said",
    [
        ([0, 0], None, r"of at least two classes; got \{0\}"),
        ([-1, 1], None, r"0, \.\.\., K - 1 .* got \{-1, 1\}"),
        ([0, 0.5], None, r"got \{0, 0\.5\}"),
        ([0, np.nan], None, r"got \{0, nan\}"),
        ([0, np.inf], None, r"got \{0, inf\}"),
        ([0, 1, 2], 2, r"0, \.\.\., 1 .* got \{0, 1, 2\}"),
        ([0, 1], 1, "K must be a whole number >= 2; got 1"),
        ([0, 2], None, "no row of class 1"),
        ([1, 1], None, "no row of class 0"),
        ([0, 1], 3, r"each of 0, \.\.\., 2; got no row of class 2"),
        ([0, 1, 0, 1], 3, "no row of class 2"),
        ([0, 1, 1e9], None, "no row of class 2"),
        ([[0, 1]], None, r"must have shape \(1,\).* got shape \(1, 2\)"),
        (["a", "b"], None, "t must hold real numbers"),
    ],
)
def test_other_class_numbers_are_refused(t, K, said):
    """One class, gaps, fractions, NaN, labels outside the set, a matrix."""
    with pytest.raises(ValueError, match=said):
        validate.classes(t, len(t), K)


@given(arrays(int, 8, elements=st.integers(0, 2)))
def test_rows_of_k_say_the_same_as_class_numbers(t):
    """T = I[t]: the same numbers, or the same complaint."""
    t = np.r_[t, 0, 1, 2]
    for given_t in (t, np.eye(3)[t], np.eye(3, dtype=bool)[t]):
        numbers, K = validate.one_of_k(given_t, len(t))
        np.testing.assert_array_equal(numbers, t)
        assert K == 3


@pytest.mark.parametrize(
    "T, said",
    [
        ([[1, 0], [1, 1]], r"single 1 and zeros; got row 1 = \[1\. 1\.\]"),
        ([[0.5, 0.5], [0, 1]], r"got row 0 = .* \(1 of 2 rows\)"),
        ([[0, 0], [0, 1]], "single 1 and zeros; got row 0"),
        ([[1, np.nan], [0, 1]], "single 1 and zeros; got row 0"),
        ([[1, 0], [1, 0]], "no row of class 1"),
        ([[1, 0]], r"T must have shape \(2, K\).* got shape \(1, 2\)"),
        ([[1], [1]], r"T must have shape \(2, K\).* got shape \(2, 1\)"),
    ],
)
def test_other_rows_of_k_are_refused(T, said):
    """Two ones, none, fractions, NaN, an empty class, a wrong shape."""
    with pytest.raises(ValueError, match=said):
        validate.one_of_k(T, 2)


def test_a_class_needs_a_row_that_counts():
    """Class 1 has rows, but all of them have weight 0."""
    Phi, t = np.ones((3, 1)), [0, 1, 0]
    _, numbers, K, weights = validate.several_classes(Phi, t, [1, 2, 0])
    np.testing.assert_array_equal(numbers, t[:2])
    np.testing.assert_array_equal(weights, [1, 2])
    assert K == 2 and validate.several_classes(Phi, t)[3] is None
    with pytest.raises(ValueError, match="got none for class 1"):
        validate.several_classes(Phi, t, [1, 0, 1])


@pytest.mark.parametrize("bad", [0.5, 0.7, -1e-9, np.nan, [0.1], "0.1"])
def test_flip_probability_lies_below_one_half(bad):
    """From 1/2 on a label says nothing, or the opposite."""
    with pytest.raises(ValueError, match="^epsilon must"):
        validate.flip_probability(bad)
    for good in (0, 0.25, np.float32(0.125)):
        assert validate.flip_probability(good) == good


@pytest.mark.parametrize("bad", [0, -1.0, np.nan, np.inf, [1.0], "1", None])
def test_positive_is_one_positive_number(bad):
    """Named, with what arrived."""
    with pytest.raises(ValueError, match="^scale must"):
        validate.positive("scale", bad)
    assert validate.positive("scale", np.float32(0.5)) == 0.5


def test_labels_may_leave_classes_out():
    """0, ..., K - 1, whole, one per row; nothing else."""
    found = validate.labels([2.0, 0.0, 2.0], 3, 4)
    assert found.dtype == np.intp and found.tolist() == [2, 0, 2]
    bad = [[0, 1], [0, 1, 4], [0, -1, 1], [0, 0.5, 1], [0, np.nan, 1]]
    for t in [*bad, ["a", "b", "c"], [[0], [1], [2]]]:
        with pytest.raises(ValueError, match="^t must"):
            validate.labels(t, 3, 4)


def test_the_number_of_classes_is_whole():
    """Numpy's integers count; fractions and words do not."""
    assert validate.classes([0, 1], 2, np.int8(2))[1] == 2
    for K in (2.5, "2", [2]):
        with pytest.raises(ValueError, match="K must be a whole number"):
            validate.classes([0, 1], 2, K)


def test_a_block_of_rows_knows_where_it_stands():
    """Row 0 of the block is row `first` of the matrix; columns do not move."""
    with pytest.raises(ValueError, match=r"got nan at \[8, 1\]"):
        validate.finite("X", np.array([[0.0, 1.0], [2.0, np.nan]]), first=7)
    with pytest.raises(ValueError, match=r"got inf at \[7, 0\]"):
        validate.finite("X", np.array([[np.inf, 1.0]]), first=7)


def test_bits_are_0_and_1():
    """The first entry that is not is named by its row in the matrix."""
    x = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert validate.bits(x, [4, 9]) is x
    for bad in (0.5, -1, 2, 1 + 1e-15, np.inf):
        x[1, 0] = bad
        with pytest.raises(ValueError, match=r"0 and 1 only; .* at \[9, 0\]$"):
            validate.bits(x, [4, 9])
    x[0, 1] = np.nan
    with pytest.raises(ValueError, match=r"nan at \[4, 1\], leave it out$"):
        validate.bits(x, [4, 9], ", leave it out")


def test_a_mask_is_boolean_and_of_the_shape_of_x():
    """None stays None; numbers could be weights and are not taken."""
    assert validate.mask(None, (1, 2)) is None
    found = validate.mask([[True, False]], (1, 2))
    np.testing.assert_array_equal(found, [[True, False]])
    for bad in ([[1, 0]], [True, False], [[True], [False]]):
        with pytest.raises(ValueError, match="boolean and of the shape of X"):
            validate.mask(bad, (1, 2))


def test_pseudo_counts_are_one_number_or_two():
    """Zero is maximum likelihood; negative and infinite counts are refused."""
    for value, pair in [(0, [0, 0]), (1.5, [1.5, 1.5]), ([0, 2], [0, 2])]:
        np.testing.assert_array_equal(validate.pseudo_counts(value), pair)
    for bad in (-1, [1, -1], [1, 2, 3], [], [[1, 2]], np.nan, np.inf, "one"):
        with pytest.raises(ValueError, match="pseudo_count"):
            validate.pseudo_counts(bad)


@pytest.mark.parametrize("value", [0, 0.0, 1, True, np.float32(0.5), 1e149])
def test_one_number_that_is_not_negative(value):
    """Of any type of number; zero is allowed."""
    assert validate.not_negative("smoothing", value) == float(value)


@pytest.mark.parametrize(
    "value", [-1e-300, np.nan, np.inf, 1e200, [1], [1, 2], "one", None]
)
def test_other_than_one_number_that_is_not_negative(value):
    """The name is in the message, and no index where there is none."""
    with pytest.raises(ValueError, match="^smoothing must") as caught:
        validate.not_negative("smoothing", value)
    assert "[]" not in str(caught.value)


def test_masked_arrays_are_refused_where_they_hide_something():
    """To NumPy the hidden entries would be ordinary numbers again."""
    X = np.ma.masked_array([[0.0, 1.0]], mask=[[False, True]])
    with pytest.raises(ValueError, match="X must hide no entries"):
        validate.design(X, "X")
    np.testing.assert_array_equal(validate.design(X[:, :1]), [[0.0]])


def kernel_matrix_of(rng, n=7):
    """A positive definite matrix that nobody may write to."""
    A = rng.normal(size=(n, n))
    C = A @ A.T
    C.setflags(write=False)
    return C


def test_a_kernel_matrix_goes_through_unchanged(rng):
    """Also one that is singular, or zero, or of extreme size."""
    C = kernel_matrix_of(rng)
    assert validate.kernel_matrix(C) is C
    v = rng.normal(size=150)
    for C in (np.outer(v, v), np.zeros((3, 3)), 1e12 * np.outer(v, v)):
        np.testing.assert_array_equal(validate.kernel_matrix(C), C)


@pytest.mark.parametrize("n", [2, 127, 128, 129, 300])
def test_one_asymmetric_pair_is_seen_wherever_it_is(rng, n):
    """The matrix is compared with its transpose block by block."""
    C = kernel_matrix_of(rng, n).copy()
    C[0, n - 1] += 1e-6 * np.linalg.norm(C)
    with pytest.raises(ValueError, match="must be symmetric; got a gap"):
        validate.kernel_matrix(C)


def test_indefinite_by_more_than_rounding_is_named(rng):
    """-1e-7 of the norm is too much, -1e-9 may be rounding."""
    Q, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    for least, fails in ((-1e-7, True), (-1e-9, False), (-1.0, True)):
        C = (Q * [1, 0.3, 0.1, 0.01, least]) @ Q.T
        C = (C + C.T) / 2
        if fails:
            with pytest.raises(validate.Indefinite, match="eigenvalue -"):
                validate.kernel_matrix(C)
        else:
            validate.kernel_matrix(C)


@pytest.mark.parametrize(
    ("C", "complaint"),
    [
        (np.ones((2, 3)), "must be a square matrix; got shape"),
        (np.ones(3), "must be a matrix"),
        (np.diag([1.0, np.nan]), "must be finite"),
        (np.array([[1.0, np.inf], [np.inf, 1.0]]), "must be finite"),
        (np.zeros((0, 0)), "matrix"),
        ([["a"]], "must hold real numbers"),
    ],
)
def test_what_is_no_kernel_matrix(C, complaint):
    """Shape, kind and finiteness, named."""
    with pytest.raises(ValueError, match=complaint):
        validate.kernel_matrix(C)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: validate.columns(np.ones((4, 2)), 3),
         r"Phi must have M = 3 columns, as in the fit; got shape \(4, 2\)"),
        (lambda: validate.columns(np.ones((4, 2)), 3, "X"), "have D = 3"),
        (lambda: validate.prediction(np.ones((4, 2)), np.ones(2)),
         r"w must be a fit or its weights, .* before Phi; got shape \(4, 2\)"),
        (lambda: validate.prediction(np.ones(2), Fit()),
         "Phi must hold real numbers; got Fit"),
        (lambda: validate.fitted(np.ones(2), Fit),
         "fit must be a Fit; got ndarray"),
        (lambda: validate.precisions([1, 0], 2, proper=True),
         "alpha must be > 0, .*; got 0"),
        (lambda: validate.variances("c_ss", [1, -1], 2), ">= 0; got -1"),
        (lambda: validate.variances("c_ss", [1, 1], 3),
         r"shape \(3,\), one per column of c_star; got shape \(2,\)"),
        (lambda: validate.posteriors([[0.5, 0.6]]), "sums off by 1.0e-01"),
        (lambda: validate.posteriors([[1.5, -0.5]]), "smallest entry -0.5"),
        (lambda: validate.posteriors([[1.0]]), "at least two classes"),
        (lambda: validate.whole("n", 0), "a whole number >= 1; got 0"),
        (lambda: validate.whole("n", 2.0), "n must be .*; got 2.0"),
        (lambda: validate.choice("method", "cg", ["qr", "svd"]),
         "method must be one of 'qr', 'svd'; got 'cg'"),
        (lambda: validate.damping(0), r"damping must lie in \(0, 1\]; got 0"),
        (lambda: validate.damping([1, 1]), "damping must lie"),
        (lambda: validate.rows([0, 3], 3), "order must list rows 0, ..., 2"),
        (lambda: validate.rows([0.5], 3), "order must list rows"),
        (lambda: validate.permutation([0, 0], 2), "order must hold each of 2"),
        (lambda: validate.cross(np.ones((2, 5)), 3),
         r"c_star must have N = 3 rows, .*; got shape \(2, 5\)"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_must_be_and_what_arrived(call, said):
    """One text for each kind, whoever asks."""
    with pytest.raises(ValueError, match=said):
        call()


class Fit:
    """Two weights."""

    w = np.array([1.0, 2.0])


def test_what_is_right_passes():
    """As arrays of the kind that is computed with."""
    w, Phi = validate.prediction(Fit(), [[1, 2]])
    assert w @ Phi[0] == 5
    assert validate.prediction([[1, 2]], [[1, 2]], ndim=2)[0].shape == (1, 2)
    assert validate.points([1, 2]).shape == (2, 1)
    assert validate.variances("v", 1, 3).tolist() == [1, 1, 1]
    assert validate.rows(None, 3).tolist() == [0, 1, 2]
    assert validate.permutation([1, 0], 2).tolist() == [1, 0]
    assert validate.choice("kind", "a", "ab") == "a"
    assert validate.damping(1) == 1.0
