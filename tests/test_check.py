"""The referee accepts what is true and objects to everything else."""

import json
import math
import re

import numpy as np
import pytest

from prml4 import check

INF = np.inf
LINE = re.compile(r"residual \d\.\de[+-]\d+ ≤ \d\.\de[+-]\d+")

A = np.array([[2.0, 0.7, -0.4], [0.7, 3.0, 0.2], [-0.4, 0.2, 1.5]])
b = np.array([1.0, -2.0, 0.5])
x0 = np.array([0.3, -1.1, 0.8])


def f(x):
    """x^T A x / 2 + b^T x + sum exp x: a gradient and a Hessian by hand."""
    return x @ A @ x / 2 + b @ x + np.sum(np.exp(x))


def f_real(x):
    """The same, but deaf to complex numbers."""
    return math.fsum([x @ A @ x / 2, b @ x, *(math.exp(v) for v in x)])


def df(x):
    return A @ x + b + np.exp(x)


def d2f(x):
    return A + np.diag(np.exp(x))


def argmin():
    """Where df is zero to the last digit: Newton's method, thirty times."""
    x = np.zeros(3)
    for _ in range(30):
        x = x - np.linalg.solve(d2f(x), df(x))
    return x


def g(x):
    return np.array([x[0] * x[1], np.sin(x[2]), x[0] ** 2, x[1] * x[2]])


def dg(x):
    return np.array(
        [
            [x[1], x[0], 0.0],
            [0.0, 0.0, np.cos(x[2])],
            [2 * x[0], 0.0, 0.0],
            [0.0, x[2], x[1]],
        ]
    )


def normal(x, m=0.0, s=1.0):
    return np.exp(-(((x - m) / s) ** 2) / 2) / (s * math.sqrt(2 * math.pi))


DRAWS = np.random.default_rng(0).normal([2.0, -3.0], [1.0, 0.5], (40_000, 2))

# name -> (call with a display and a library, truth)
CLAIMS = {
    "gradient": (lambda **k: check.gradient("c", f, x0, **k), df(x0)),
    "gradient by differences": (
        lambda **k: check.gradient("c", f_real, x0, **k), df(x0)),
    "jacobian": (lambda **k: check.jacobian("c", g, x0, **k), dg(x0)),
    "hessian": (lambda **k: check.hessian("c", f, x0, **k), d2f(x0)),
    "integral": (
        lambda **k: check.integral("c", normal, [(-INF, 1.0)], **k),
        0.5 * math.erfc(-1 / math.sqrt(2))),
    "integral 2-D": (
        lambda **k: check.integral(
            "c", lambda x, y: normal(x) * normal(y, x, 0.5) * x * y,
            [(-INF, INF)] * 2, **k), 1.0),
    "limit": (
        lambda **k: check.limit(
            "c", lambda h: (1 - math.cos(h)) / h**2, 0, **k), 0.5),
    "limit at infinity": (
        lambda **k: check.limit("c", lambda n: (1 + 1 / n) ** n, INF, **k),
        math.e),
    "identity": (
        lambda **k: check.identity(
            "c", other=np.linalg.inv(A), error=1e-12, how="dense", **k),
        np.linalg.solve(A, np.eye(3))),
}  # fmt: skip

WRONG = {
    "the sign": lambda v: -v,
    "a thousandth": lambda v: v * (1 + 1e-3),
    "a thousandth less": lambda v: v * (1 - 1e-3),
    "a factor 2": lambda v: 2 * v,
    "an offset": lambda v: v + 1e-3 * np.max(np.abs(v)),
    "zero": lambda v: 0 * v,
}
WRONG_ARRAYS = {
    "one element": lambda v: v + np.eye(1, v.size, 1).reshape(v.shape) * 0.01,
    "the order": lambda v: v[::-1],
    "a shifted index": lambda v: np.roll(v, 1, axis=0),
    "the last left out": lambda v: v * (np.arange(len(v)) < len(v) - 1)
    .astype(float).reshape(-1, *[1] * (v.ndim - 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_truth_is_accepted(name):
    """As a value or as a function, with the library or without."""
    claim, truth = CLAIMS[name]
    at = "gradient" in name or name in ("jacobian", "hessian")
    as_function = (lambda x: truth) if at else (lambda: truth)
    for found in (
        claim(display=truth),
        claim(display=as_function, library=truth),
    ):
        assert isinstance(found, check.Check)
        assert 0 <= found.residual <= found.bound < 1e-3
        assert found.label == "c" and found.kind == name.split()[0]
        assert LINE.search(repr(found))


REFUSED = [
    (name, wrong)
    for name, (_, truth) in CLAIMS.items()
    for wrong in (WRONG | WRONG_ARRAYS if np.ndim(truth) else WRONG)
]


@pytest.mark.parametrize(("name", "wrong"), REFUSED)
def test_wrong_displays_are_refused(name, wrong):
    """Sign, factor 1.001, dropped term, wrong index: all are seen."""
    claim, truth = CLAIMS[name]
    bad = (WRONG | WRONG_ARRAYS)[wrong](np.asarray(truth))
    with pytest.raises(check.ClaimFails, match="c, "):
        claim(display=bad)


@pytest.mark.parametrize("name", CLAIMS)
def test_wrong_libraries_are_refused_tightly(name):
    """Display and library share no difference error: 1e-10 is too much."""
    claim, truth = CLAIMS[name]
    with pytest.raises(check.ClaimFails, match="display and library differ"):
        claim(display=truth, library=np.asarray(truth) * (1 + 1e-10))


def test_a_wrong_display_beside_a_right_library_fails():
    """By ClaimFails, with whatever the library: the check has teeth."""
    for claim, truth in CLAIMS.values():
        for c in (1.001, 1 + 1e-9, -1.0):
            with pytest.raises(check.ClaimFails):
                claim(display=np.multiply(c, truth), library=truth)
            with pytest.raises(check.ClaimFails):
                claim(display=truth, library=np.multiply(c, truth))


def test_transposed_jacobian_is_named():
    """An asymmetric square Jacobian: [i, j] is d of_i / d at_j."""
    with pytest.raises(check.ClaimFails, match="transposed"):
        check.jacobian(
            "c", lambda x: g(x)[:3], x0, display=lambda x: dg(x)[:3].T
        )


def test_jacobian_of_a_matrix_of_weights():
    """Axes of the answer: those of the function, then those of the point."""
    W = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 4.0]])
    v = np.array([2.0, -1.0, 3.0])
    truth = np.einsum("ij,k->ijk", np.eye(2), v)
    check.jacobian("c", lambda W: W @ v, W, display=truth)
    check.gradient("c", lambda W: np.sum(W @ v), W, display=np.tile(v, (2, 1)))


def test_gradient_at_a_number():
    """A scalar argument has a scalar derivative."""
    check.gradient("c", math.sin, 0.3, display=math.cos, library=np.cos)
    check.hessian("c", math.exp, 0.3, display=math.exp)


def test_moments_hold_within_five_standard_errors():
    """Mean and covariance of draws; 5 % off is refused, as is the sign."""
    mean = np.array([2.0, -3.0])
    found = check.moments("c", DRAWS, display=mean, library=mean)
    assert "five standard errors" in found.how

    def outer(draws):
        d = draws - mean
        return d[:, :, None] * d[:, None, :]

    check.moments("c", DRAWS, of=outer, display=np.diag([1.0, 0.25]))
    for bad in (1.05 * mean, -mean, mean[::-1], mean * [1, 0]):
        with pytest.raises(check.ClaimFails):
            check.moments("c", DRAWS, display=bad)


def test_moments_bound_is_five_standard_errors():
    """s / sqrt(S), by hand, for the mean of 0 and 2."""
    draws = np.tile([1.0, 3.0], 5000)
    found = check.moments("c", draws, display=2.0)
    s = math.sqrt(10000 / 9999)
    assert found.bound == pytest.approx(5 * s / 100 / 2, rel=1e-9)


def test_psd():
    """Symmetry, sign and rank are three separate objections."""
    V = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 4.0]])
    H = V.T @ V
    assert "rank 2" in repr(check.psd("c", H, rank=2))
    assert LINE.search(repr(check.psd("c", lambda: H)))
    check.psd("c", H, display=sum(np.outer(v, v) for v in V))
    check.psd("c", H + np.eye(3), rank=3)
    skew = np.eye(3) + np.eye(3, k=1) * 1e-9
    for bad in (H - 1e-9 * np.eye(3), -H, skew):
        with pytest.raises(check.ClaimFails, match="semidefinite"):
            check.psd("c", bad)
    for rank in (1, 3):
        with pytest.raises(check.ClaimFails, match="rank is 2"):
            check.psd("c", H, rank=rank)
    with pytest.raises(check.ClaimFails, match="display and library"):
        check.psd("c", H, display=H * 1.001)
    with pytest.raises(check.Toothless):
        check.psd("c", np.zeros((2, 2)))
    with pytest.raises(check.Toothless, match="too near zero"):
        check.psd("c", np.diag([1.0, 1e-11]), rank=2)
    with pytest.raises(ValueError, match="square"):
        check.psd("c", np.ones((2, 3)))


def test_identity_uses_the_stated_error_of_the_other_route_only():
    """error widens display = other, and leaves display = library alone."""
    check.identity("c", display=1.0, other=1 + 1e-7, error=1e-6)
    with pytest.raises(check.ClaimFails):
        check.identity("c", display=1.0, other=1 + 1e-7)
    with pytest.raises(check.ClaimFails):
        check.identity("c", display=1.0, library=1 + 1e-7, error=1e-6)
    with pytest.raises(check.Toothless):
        check.identity("c", display=1.0, other=1.0, error=0.1)
    with pytest.raises(ValueError, match="nothing to compare"):
        check.identity("c", display=1.0)
    with pytest.raises(ValueError, match="error must be"):
        check.identity("c", display=1.0, other=1.0, error=-1.0)


def test_tiny_and_huge_quantities_are_judged_alike():
    """1e-300 against 2e-300 is not 'equal to within 1e-299'."""
    for unit in (1e-300, 1.0, 1e300):
        check.identity("c", display=unit, other=unit * (1 + 1e-13))
        for c in (1.001, 2.0, -1.0):
            with pytest.raises(check.ClaimFails):
                check.identity("c", display=c * unit, other=unit)


# -- power -----------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: check.gradient(
            "c", lambda x: np.sum(x**2), np.zeros(3), display=np.zeros(3)),
        lambda: check.gradient(
            "c", f, argmin(), display=df, library=lambda x: 3 * df(x)),
        lambda: check.integral(
            "c", lambda x: x * normal(x), [(-INF, INF)], display=0.0),
        lambda: check.limit("c", lambda h: h, 0, display=0.0),
        lambda: check.moments("c", DRAWS - [2, -3], display=np.zeros(2)),
        lambda: check.moments("c", DRAWS[:50], display=[2, -3.0]),
        lambda: check.identity("c", display=np.zeros(2), other=np.zeros(2)),
        lambda: check.identity("c", display=0.0, library=0.0),
        lambda: check.gradient(
            "c", lambda x: math.fsum([1e15, math.sin(x)]), 1.0,
            display=math.cos),
        lambda: check.gradient("c", np.abs, 0.0, display=0.0),
        lambda: check.hessian(
            "c", lambda x: x * np.abs(x) + x * x, 0.0, display=2.0),
        lambda: check.slip(
            "A01", "c", as_written=1.0, corrected=0.0, truth=0.0),
    ],
)  # fmt: skip
def test_checks_that_could_not_fail_are_refused(call):
    """A true value of zero, or an error as large as the value."""
    with pytest.raises(check.Toothless, match="elsewhere"):
        call()


def test_arrays_with_zeros_keep_their_teeth():
    """A diagonal Jacobian: a stray 1e-3 in a zero element is seen."""
    diagonal = np.diag(np.cos(x0))
    check.jacobian("c", np.sin, x0, display=diagonal)
    with pytest.raises(check.ClaimFails):
        check.jacobian("c", np.sin, x0, display=diagonal + np.eye(3, k=1) / 999)


def test_a_residual_uses_up_part_of_the_teeth():
    """5e-4 off already: a further 1e-3, the other way, would pass."""
    with pytest.raises(check.Toothless):
        check.identity("c", display=1.0, other=1.0005, error=6e-4)
    check.identity("c", display=1.0, other=1.0001, error=2e-4)


def test_one_vague_element_makes_the_check_toothless():
    """Precision of the others does not excuse it."""
    with pytest.raises(check.Toothless):
        check.identity(
            "c", display=np.ones(3), other=np.ones(3), error=[0, 0, 0.01]
        )


# -- sides, labels, lines --------------------------------------------------


@pytest.mark.parametrize(
    ("a", "other"),
    [
        (np.ones(3), np.ones(1)),
        (np.ones(3), np.ones((3, 1))),
        (1.0, np.ones(1)),
        (np.ones((2, 3)), np.ones((3, 2))),
    ],
)
def test_nothing_is_broadcast(a, other):
    """Sides of different shape differ, whatever numpy thinks."""
    for sides in (
        {"display": a, "other": other},
        {"display": other, "other": a},
        {"display": a, "library": other, "other": a},
    ):
        with pytest.raises(check.ClaimFails, match="shapes differ"):
            check.identity("c", **sides)
    with pytest.raises(check.ClaimFails, match="shapes differ"):
        check.gradient("c", np.sum, np.ones((2, 2)), display=np.ones(4))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", ["display", "library", "other"])
def test_nan_and_infinity_fail_on_every_side(bad, side):
    """Even if all sides agree on them."""
    sides = dict.fromkeys(("display", "library", "other"), np.ones(2))
    sides[side] = np.array([1.0, bad])
    with pytest.raises(check.ClaimFails, match="not finite"):
        check.identity("c", **sides)


@pytest.mark.parametrize(
    "bad", [None, ..., [], np.ones((0, 2)), "one", [1j], lambda: None]
)
def test_what_is_no_number_is_refused(bad):
    """Empty, missing, complex or textual sides say so."""
    with pytest.raises(ValueError, match="c: display"):
        check.identity("c", display=bad, other=1.0)


@pytest.mark.parametrize("over", [(0, 1), [], [(0, 1)] * 4, [(0, 1, 2)]])
def test_a_box_has_one_to_three_pairs_of_ends(over):
    """One pair without its brackets, or a fourth, raised anything."""
    with pytest.raises(ValueError, match="a-b: over must hold one to three"):
        check.integral("a-b", lambda *x: 1.0, over, display=1.0)


@pytest.mark.parametrize("label", ["", " ", None, "two words", 3, "a<b"])
def test_a_claim_has_a_label(label):
    """The label is part of a link."""
    with pytest.raises(ValueError, match="label"):
        check.identity(label, display=1.0, other=1.0)
    with pytest.raises(ValueError, match="label"):
        check.psd(label, np.eye(2))
    with pytest.raises(ValueError, match="label"):
        check.slip("A1", label, as_written=2.0, corrected=1.0, truth=1.0)
    with pytest.raises(ValueError, match="label"):
        check.attempt(label, np.sin, np.sin, (1.0,))


def test_sides_may_not_change_the_point():
    """Each side gets its own copy."""

    def careless(x):
        x *= 0
        return df(x0)

    found = check.gradient("c", f, x0, display=careless, library=df)
    assert found.sides == ("display", "library", "complex step")
    assert x0[0] == 0.3


def test_text_and_html_say_the_same():
    """One line, a link, a mark with words for those who cannot see it."""
    found = check.identity("c-1", display=1.0, other=1.0, how="a < b & c")
    assert repr(found) == (
        "✓ c-1 · identity: display = a < b & c · residual 0.0e+00 ≤ 2.2e-12"
    )
    assert found._repr_html_() == (
        '<div class="check"><span class="mark" aria-hidden="true">✓</span>'
        '<span class="visually-hidden">holds:</span> '
        '<a href="#equation-c-1">c-1</a> <span>identity: display = '
        "a &lt; b &amp; c · residual 0.0e+00 ≤ 2.2e-12</span></div>"
    )


def test_the_reported_pair_is_the_one_nearest_its_bound():
    """display and other differ by half the bound, the library by less."""
    found = check.identity(
        "c", display=1.0, library=1 + 1e-13, other=1 + 5e-7, error=1e-6
    )
    assert found.residual == pytest.approx(5e-7, rel=1e-6)


def test_failures_name_pair_size_and_kind():
    """What differs, by how much, and what it looks like."""
    with pytest.raises(check.ClaimFails) as caught:
        check.gradient("c", f, x0, display=lambda x: -df(x))
    text = str(caught.value)
    assert "c, gradient: display and complex step differ" in text
    assert "residual 2.0e+00 > " in text
    assert "sign is flipped" in text


# -- slips -----------------------------------------------------------------


def test_slip_shows_both_residuals():
    """The refuted statement's without a bound, the correction's with."""
    found = check.slip("A02", "c", as_written=3.0, corrected=2.0, truth=2.0)
    assert repr(found) == (
        "✗ A02 · c · as written: residual 5.0e-01 · ✓ corrected: "
        "residual 0.0e+00 ≤ 2.2e-12"
    )
    html = found._repr_html_()
    assert 'class="slip"' in html and 'href="#equation-c"' in html


def test_slip_that_holds_is_no_slip():
    """As written equal to the truth, or nearer than ten bounds."""
    for near in (2.0, 2.0 * (1 + 1e-11)):
        with pytest.raises(check.ClaimFails, match="not refuted"):
            check.slip("A02", "c", as_written=near, corrected=2.0, truth=2.0)
    with pytest.raises(check.ClaimFails, match="not refuted"):
        check.slip(
            "A02", "c", as_written=2.009, corrected=2.0, truth=2.0, error=1e-3
        )


def test_slip_needs_a_correction_that_holds():
    """A wrong correction is as bad as the slip."""
    with pytest.raises(check.ClaimFails, match="corrected and truth"):
        check.slip("A02", "c", as_written=3.0, corrected=2.002, truth=2.0)


def test_slip_that_cannot_be_evaluated_is_refuted():
    """Matrices that do not fit; a result of another shape."""
    found = check.slip(
        "A02", "c", as_written=lambda: np.ones(2) @ np.ones(3),
        corrected=np.ones(2), truth=lambda: np.ones(2),
    )  # fmt: skip
    assert "cannot be evaluated" in repr(found)
    found = check.slip(
        "A02", "c", as_written=np.ones((2, 2)), corrected=np.ones(2),
        truth=np.ones(2),
    )  # fmt: skip
    assert "has shape (2, 2), not (2,)" in repr(found)
    with pytest.raises(check.ClaimFails, match="not finite"):
        check.slip("A02", "c", as_written=np.nan, corrected=1.0, truth=1.0)


# -- the printed formula ---------------------------------------------------

GRADIENT = r"\nabla E(\mathbf x) = \mathbf A\mathbf x+\mathbf b"


@pytest.fixture
def named():
    """A quadratic, its symbols named, and forgotten afterwards."""
    check.given(x=x0, A=A, b=b, E=lambda x: x @ A @ x / 2 + b @ x)
    yield
    check.given()


def printed(tex, **options):
    """The check of a display that is handed over."""
    return check.printed("x-a", tex=tex, **options)


def test_a_printed_formula_is_compared_with_all_sides(named):
    """Members, library and other; the line has the form of every check."""
    found = printed(GRADIENT, library=A @ x0 + b, other=b + x0 @ A, how="rows")
    assert LINE.search(repr(found))
    assert found.sides == ("2 members", "library", "rows")
    assert found.kind == "as printed"


@pytest.mark.parametrize(
    ("old", "new"),
    [("+", "-"), (r"\mathbf A", r"\mathbf A^2"), (r"\nabla E", r"\nabla\ln E")],
)
def test_a_wrong_printed_formula_fails(named, old, new):
    """Without any side but the page itself."""
    with pytest.raises(check.ClaimFails, match="member 1 and member 2 differ"):
        printed(GRADIENT.replace(old, new))


@pytest.mark.parametrize("side", ["library", "other"])
def test_a_wrong_side_fails(named, side):
    """A thousandth is enough."""
    with pytest.raises(check.ClaimFails, match="differ"):
        printed(GRADIENT, **{side: (A @ x0 + b) * 1.001})


def test_what_cannot_be_read_says_why(named):
    """Two readings, or a symbol without a value."""
    with pytest.raises(check.Unreadable, match="c is unbound"):
        printed(r"\mathbf A\mathbf x = \mathbf c")
    with pytest.raises(check.Unreadable, match="two readings"):
        printed(r"b_1/b_2 b_3 = 1")


@pytest.mark.parametrize(
    "relation", [r"\approx", r"\ne", r"\propto", r"\to", r"\sim", r"\in"]
)
def test_a_relation_without_a_bound_is_refused(named, relation):
    """s = s approx 7 s passed, for what followed was compared with nothing."""
    with pytest.raises(check.Unreadable, match="transcribe it"):
        printed(rf"s=s{relation} r", s=1.0, r=7.0)


def test_a_zero_is_not_judged_by_sums_inside_a_logarithm(named):
    """ln 6e20 - ln 1.2e21 = 0 passed: -0.7 is nothing beside 1e21."""
    zero = r"\ln\sum_n a_n-\ln\sum_n c_n=0"
    a = np.array([1e20, 2e20, 3e20])
    assert printed(zero, a=a, c=a[::-1])
    with pytest.raises(check.ClaimFails):
        printed(zero, a=a, c=2 * a)


def test_fewer_than_two_values_are_toothless(named):
    """Nothing meets anything."""
    with pytest.raises(check.Toothless, match="fewer than two"):
        printed(r"\mathbf A\mathbf x")
    assert printed(r"\mathbf A\mathbf x", other=A @ x0)


def test_several_statements_have_a_side_each(named):
    """A tuple, None where a side has nothing to say."""
    tex = r"\mathbf b^{\mathsf T}\mathbf x=s,\quad\mathbf A\mathbf x=\mathbf r"
    names = {"s": b @ x0, "r": A @ x0}
    assert printed(tex, **names, other=(b @ x0, None), library=(None, A @ x0))
    with pytest.raises(check.ClaimFails):
        printed(tex, **names, library=(None, b))
    with pytest.raises(ValueError, match="tuple of 2"):
        printed(tex, **names, library=b @ x0)


def test_a_sum_that_vanishes_is_measured_by_its_terms(named):
    """0 has no size of its own."""
    zero = r"\mathbf A\mathbf x-\mathbf r=\mathbf 0"
    assert printed(zero, r=A @ x0)
    with pytest.raises(check.ClaimFails):
        printed(zero, r=A @ x0 * (1 + 1e-9))


def test_an_inequality_states_its_slack(named):
    """Or touches, or follows an equation and compares with zero."""
    tex = r"\mathbf x^{\mathsf T}\mathbf A\mathbf x\ge c"
    value = x0 @ A @ x0
    assert printed(tex, c=value - 1.0, slack=1.0)
    assert printed(tex, c=value)
    with pytest.raises(check.ClaimFails, match="does not hold"):
        printed(tex, c=value + 1.0, slack=-1.0)
    with pytest.raises(check.ClaimFails, match="differ"):
        printed(tex, c=value - 1.0, slack=1.1)
    with pytest.raises(check.Toothless, match="state by how much"):
        printed(tex, c=value - 1.0)
    assert printed(r"q=\mathbf x^{\mathsf T}\mathbf A\mathbf x>0", q=value)


def test_order_of_matrices_is_by_eigenvalues(named):
    """The slack of a matrix is its smallest eigenvalue."""
    low = np.linalg.eigvalsh(A)[0]
    assert printed(r"\mathbf A\succeq c\mathbf I", c=low)
    assert printed(r"\mathbf A\succeq c\mathbf I", c=low - 0.5, slack=0.5)
    with pytest.raises(check.ClaimFails):
        printed(r"\mathbf A\succeq c\mathbf I", c=low + 0.1)


def test_a_vague_binding_states_its_error(named):
    """A fit may be off by given_error; without teeth it is refused."""
    near = A @ x0 + b + 1e-6
    assert printed(r"\nabla E(\mathbf x)=\mathbf r", r=near, given_error=1e-5)
    with pytest.raises(check.ClaimFails):
        printed(r"\nabla E(\mathbf x)=\mathbf r", r=near)
    with pytest.raises(check.Toothless):
        printed(r"\nabla E(\mathbf x)=\mathbf r", r=near, given_error=1.0)


def test_a_derivative_that_vanishes_is_not_forgiven(named):
    """Its relative error is infinite; that must not widen the bound."""
    with pytest.raises(check.ClaimFails):
        printed(r"\frac{d}{dc}\mathbf x^{\mathsf T}\mathbf x=b_1", c=0.3)


def test_a_display_is_read_from_the_page(tmp_path, monkeypatch, named):
    """By its label, in the working directory; failures name the file."""
    cell = {"cell_type": "markdown", "source": [f"$$ {GRADIENT} $$ (x-a)"]}
    text = json.dumps({"cells": [cell]})
    (tmp_path / "one.ipynb").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert check.printed("x-a")
    with pytest.raises(check.ClaimFails, match="one.ipynb"):
        check.printed("x-a", other=b)
    with pytest.raises(LookupError, match="save first"):
        check.printed("x-b")


def test_a_transcription_knows_what_it_was_made_from(tmp_path, monkeypatch):
    """A changed display fails until it is transcribed again."""
    cell = {"cell_type": "markdown", "source": ["$$ a = O(h^2) $$ (x-a)"]}
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({"cells": [cell]}), "utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(check.ClaimFails, match="transcribe it again") as said:
        check.transcribed("x-a", "", "a rate")
    digest = str(said.value).split('"')[1]
    check.transcribed("x-a", digest, "a rate")
    with pytest.raises(ValueError, match="needs a reason"):
        check.transcribed("x-a", digest, "")
    monkeypatch.setenv("PRML4_UNGUARDED", "1")
    check.transcribed("x-a", "another", "a rate")


def test_names_are_forgotten_at_the_next_given():
    """Nothing of one section leaks into the next."""
    names = check.given(x=x0)
    check.given(b=b)
    with pytest.raises(check.Unreadable, match="x is unbound"):
        printed(r"\mathbf x=\mathbf x")
    check.given(**names)
    assert printed(r"\mathbf x=\mathbf x")
    check.given()


@pytest.mark.parametrize("decades", [0, 6, 12])
def test_a_gradient_may_be_printed_as_zero(decades):
    """However curved the error is: it is small to the slopes nearby."""
    Q = np.linalg.qr(A)[0]
    H = Q * np.logspace(0, decades, 3) @ Q.T
    names = {"E": lambda w: (w - b) @ H @ (w - b) / 2}
    tex = r"\nabla E(\hat{\mathbf w})=\mathbf 0"
    assert check.printed("x-a", tex=tex, w_hat=b, **names)
    with pytest.raises(check.ClaimFails):
        check.printed("x-a", tex=tex, w_hat=b + 0.01 * Q[:, 2], **names)


# -- printed: what is no claim, and what cannot be its error ------------------


@pytest.mark.parametrize("name", ["error", "given_error"])
def test_a_negative_error_is_refused(name):
    """A bound below zero was never exceeded: 2 = 3 passed."""
    with pytest.raises(ValueError, match="error must be >= 0"):
        check.printed("c", tex="a=b", a=2.0, b=3.0, other=3.0, **{name: -1.0})


@pytest.mark.parametrize(
    "value", [[[1.0, 5.0], [-5.0, 1.0]], [1.0, 2.0], np.ones((3, 2)), 2.0]
)
def test_an_order_of_matrices_is_one_of_symmetric_ones(value):
    """(1 5; -5 1) passed, other shapes raised anything."""
    with pytest.raises(check.ClaimFails, match="for symmetric matrices"):
        tex = (r"\mathbf Q", r"\mathbf q", r"\mathbf Q", "q")
        shown = dict(zip([(2, 2), (2,), (3, 2), ()], tex, strict=True))
        tex = rf"{shown[np.shape(value)]}\succeq0"
        check.printed("c", tex=tex, Q=value, q=value)


def test_what_claims_nothing_or_has_no_end_says_so():
    """An empty display, a quantity that depends on itself, a label."""
    with pytest.raises(check.Toothless, match="nothing is claimed"):
        check.printed("c", tex=" ")
    with pytest.raises(check.Unreadable, match="depends on itself"):
        check.printed("c", tex="a=5", a=check.depends(lambda a: a))
    with pytest.raises(check.Unreadable, match="too deep"):
        check.printed("c", tex="(" * 3000 + "5" + ")" * 3000 + "=5")
    with pytest.raises(ValueError, match="label"):
        check.printed("a b", tex="a=5", a=5.0)


@pytest.mark.parametrize("bad", [5.0, []])
def test_several_values_are_a_list(bad):
    """One, or none, raised TypeError or IndexError where it was used."""
    with pytest.raises(ValueError, match="each must have a list"):
        check.each(bad)
    with pytest.raises(ValueError, match="law must have as many values"):
        check.law([0.5, 0.5], z=bad)


@pytest.mark.parametrize(
    "point", ["abc", [], [1j], np.array([1 + 2j]), np.ma.array([1.0], mask=1)]
)
def test_a_point_that_is_none_is_named(point):
    """TypeErrors of float, and a hidden entry was taken for what it hid."""
    with pytest.raises(ValueError, match="a point must hold real numbers"):
        check.gradient("a", np.sum, point, display=np.ones(1))


def test_ends_and_limits_are_real_numbers():
    """isinf and a difference of strings did not like them."""
    with pytest.raises(ValueError, match="a point must hold real numbers"):
        check.limit("a", np.cos, "0", display=1.0)
    with pytest.raises(ValueError, match="a point must hold real numbers"):
        check.integral("a", np.cos, [("a", 1)], display=1.0)
