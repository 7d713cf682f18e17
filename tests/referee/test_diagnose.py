"""Likely mistakes are called by their names; right answers are let alone.

The larger bank, drawn up without knowledge of the diagnosis, is in
planted_errors.py; these cases are its author's own.
"""

import math

import numpy as np
import pytest
from scipy import special
from scipy.linalg import solve_triangular

from prml4 import check
from prml4.referee import diagnose

RNG = np.random.default_rng(3)
N, M, K = 12, 3, 4
Phi = np.column_stack([np.ones(N), RNG.normal(size=(N, M - 1))])
t = (RNG.random(N) < 0.5) * 1.0
w, m0, start = RNG.normal(size=(3, M))
W = RNG.normal(size=(K, M))
alpha, eta = 0.7, 0.1


def s(a):
    return 1 / (1 + np.exp(-a))


def E(w, Phi, t):
    y = s(Phi @ w)
    return -np.sum(t * np.log(y) + (1 - t) * np.log(1 - y))


def G(w, Phi, t):
    return Phi.T @ (s(Phi @ w) - t)


def H(w, Phi):
    y = s(Phi @ w)
    return Phi.T @ np.diag(y * (1 - y)) @ Phi


def MG(w, Phi, t, alpha, m0):
    return G(w, Phi, t) + alpha * (w - m0)


def sgd(w, phi, t, eta):
    return w - eta * (s(w @ phi) - t) * phi


def blocks(W, Phi):
    """Softmax Hessian, block (j, k) = sum_n y_k (I_kj - y_j) phi phi^T."""
    Y = np.exp(Phi @ W.T)
    Y /= Y.sum(1, keepdims=True)
    D = np.einsum("nk,kj->nkj", Y, np.eye(len(W))) - Y[:, :, None] * Y[:, None]
    full = np.einsum("nkj,na,nb->kajb", D, Phi, Phi)
    return full.reshape(W.size, W.size)


def other_order(A):
    p = np.arange(K * M).reshape(K, M).T.ravel()
    return A[np.ix_(p, p)]


def slope(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


PRIOR = {"prior": lambda w, Phi, t, alpha, m0: alpha * (w - m0)}
START = {"the start": start}
g, gm, h, step, D = (
    (w, Phi, t), (w, Phi, t, alpha, m0), (w, Phi), (w, Phi[1], 1.0, eta),
    (np.sin, 1.0, 1e-2),
)  # fmt: skip

# what is said, the wrong function, the right one, the arguments
NAMED = {
    "the sign is flipped": (lambda *a: -G(*a), G, g),
    "a factor 2": (lambda *a: 2 * E(*a), E, g),
    "a factor ½": (lambda *a: H(*a) / 2, H, h),
    "a factor 1/N (a mean for a sum)": (lambda *a: G(*a) / N, G, g),
    "a factor 2/N": (lambda *a: 2 * G(*a) / N, G, g),
    "a factor 1/(N − 1)": (lambda *a: H(*a) / (N - 1), H, h),
    "a factor (N − 1)/N": (lambda *a: H(*a) * (N - 1) / N, H, h),
    "a factor N/(N − 1)": (lambda *a: H(*a) * N / (N - 1), H, h),
    "the sign is flipped and it is off by a factor 1/N": (
        lambda *a: -E(*a) / N, E, g),
    "it is zero": (lambda *a: 0 * G(*a), G, g),
    "the prior term is missing": (lambda *a: G(*a[:3]), MG, gm),
    "in the prior term, the sign is flipped": (
        lambda *a: G(*a[:3]) - alpha * (a[0] - m0), MG, gm),
    "in the prior term, it is off by a factor ½": (
        lambda w, Phi, t, al, m: G(w, Phi, t) + al / 2 * (w - m), MG, gm),
    "in the prior term, it is off by a factor 2, as if it were added twice": (
        lambda w, Phi, t, al, m: G(w, Phi, t) + 2 * al * (w - m), MG, gm),
    "in the prior term, a factor `alpha` is missing": (
        lambda w, Phi, t, al, m: G(w, Phi, t) + w - m, MG, gm),
    "in everything but the prior term, it is off by a factor 1/N": (
        lambda w, Phi, t, al, m: G(w, Phi, t) / N + al * (w - m), MG, gm),
    "the prior term is missing and in everything but the prior term, the "
    "sign is flipped": (lambda *a: -G(*a[:3]), MG, gm),
    "as if `m0` were 0": (
        lambda w, Phi, t, al, m: G(w, Phi, t) + al * w, MG, gm),
    "as if `m0` had the opposite sign": (
        lambda w, Phi, t, al, m: G(w, Phi, t) + al * (w + m), MG, gm),
    "as if `t` were 1 minus itself": (lambda w, P, t: G(w, P, 1 - t), G, g),
    "as if `alpha` were its reciprocal": (
        lambda w, Phi, t, al, m: G(w, Phi, t) + (w - m) / al, MG, gm),
    "evaluated at another point: the start": (
        lambda w, *a: G(start, *a), G, g),
    "evaluated at another point: the start and the sign": (
        lambda w, *a: -G(start, *a), G, g),
    "everything but the term `w`, the sign is flipped": (
        lambda w, *a: 2 * w - sgd(w, *a), sgd, step),
    "everything but the term `w`, a factor `eta` is missing": (
        lambda w, p, t, eta: w - (s(w @ p) - t) * p, sgd, step),
    "the term `w` is missing": (
        lambda w, *a: sgd(w, *a) - w, sgd, step),
    "the blocks have the wrong index order": (
        lambda *a: other_order(blocks(*a)), blocks, (W, Phi)),
    "wrong index order and the sign is flipped": (
        lambda *a: -other_order(blocks(*a)), blocks, (W, Phi)),
    "it is transposed": (
        lambda A, B: B.T @ A.T, lambda A, B: A @ B, (W[:3], H(w, Phi))),
    "has shape (3, 4), not (4, 3): it is transposed": (
        lambda W: W.T, lambda W: +W, (W,)),
    "has shape (12, 3), not (3,): the sum over axis 0 is missing": (
        lambda w, Phi, t: (s(Phi @ w) - t)[:, None] * Phi, G, g),
    "an axis is too many or too few": (lambda *a: G(*a)[:, None], G, g),
    "one-sided (forward) difference": (
        lambda f, x, h: (f(x + h) - f(x)) / h, slope, D),
    "one-sided (backward) difference": (
        lambda f, x, h: (f(x) - f(x - h)) / h, slope, D),
    "it is off by a factor 2 `h`": (
        lambda f, x, h: f(x + h) - f(x - h), slope, D),
    "close, but not equal": (
        lambda f, x, h: (f(x + 1e-6) - f(x)) / 1e-6, slope, (np.sin, 1., 1e-6)),
    "not in a way that has a simple name": (
        lambda *a: np.sin(G(*a) + 1), G, g),
    "raises NameError: name 'sigmoid' is not defined": (
        lambda *a: sigmoid(a), G, g),  # noqa: F821
    "raises ValueError": (lambda w, Phi, t: Phi @ t, G, g),
    "NaN": (lambda *a: G(*a) * np.nan, G, g),
    "no numbers": (lambda *a: "done", G, g),
    "it is right at the point given, but not near it": (
        lambda w, P, t: G(*g), G, g),
}  # fmt: skip


@pytest.mark.parametrize("words", NAMED)
def test_mistakes_are_named(words):
    """Each in the words that the reader will see."""
    yours, right, at = NAMED[words]
    terms = PRIOR if right is MG else None
    elsewhere = START if right is G else None
    found = check.attempt(
        "e", yours, right, at, terms=terms, elsewhere=elsewhere
    )
    assert found.verdict == "not yet"
    assert words in found.diagnosis


def loop(w, Phi, t):
    """The gradient, row by row, on the reader's own copy of nothing."""
    total = np.zeros(len(w))
    for n in range(len(t)):
        total += (s(Phi[n] @ w) - t[n]) * Phi[n]
    return total


def careless(w, Phi, t):
    """Right, though it overwrites its argument."""
    y = s(Phi @ w)
    w *= 0
    return list(Phi.T @ (y - t))


@pytest.mark.parametrize(
    ("yours", "right", "at"),
    [
        (loop, G, g),
        (careless, G, g),
        (G, G, [g, (np.zeros(M), Phi, t), (w, Phi[:5], t[:5])]),
        (lambda *a: MG(*a), MG, gm),
        (lambda w, Phi: H(w, Phi).T, H, h),
        (lambda W, Phi: blocks(W, Phi).T, blocks, (W, Phi)),
        (lambda w, p, t, e: sgd(w, p, t, e), sgd, step),
        (lambda w: w**2, np.square, w),
        (lambda f, x, h: np.cos(x), lambda f, x, h: np.cos(x), D),
    ],
)
def test_right_answers_are_right(yours, right, at):
    """However they were computed; nothing is named."""
    found = check.attempt("e", yours, right, at, terms=None)
    assert repr(found) == "✓ e · right: your function agrees with the book's"


def stub_pass(w, Phi, t): ...


def stub_ellipsis(w, Phi, t):
    return ...


def stub_raises(w, Phi, t):
    raise NotImplementedError


@pytest.mark.parametrize("stub", [stub_pass, stub_ellipsis, stub_raises, None])
def test_stubs_are_not_attempted(stub):
    """And nothing is raised."""
    found = check.attempt("e", stub, G, g, terms=None)
    assert found.verdict == "not attempted"
    assert found._repr_html_().startswith('<div class="attempt not-attempted">')


def test_probabilities_stay_probabilities():
    """A right answer may use that they sum to one, and neighbours must too;
    but a constant is seen to be one.
    """

    def entropy(p):
        return -np.sum(p * np.log(p))

    def by_the_rest(p):
        last = 1 - p[0] - p[1]
        return -p[0] * np.log(p[0]) - p[1] * np.log(p[1]) - last * np.log(last)

    at = (np.array([0.2, 0.3, 0.5]),)
    assert diagnose.diagnose(by_the_rest, entropy, at)[0] == "right"
    fixed = diagnose.diagnose(lambda p: entropy(at[0]), entropy, at)
    assert fixed[0] == "not yet"


def test_coincidences_do_not_deceive():
    """At w = 0 every y is 1/2: there the slip y^2 for y(1 - y) is invisible."""
    found = check.attempt(
        "e",
        lambda w, Phi: Phi.T @ np.diag(s(Phi @ w) ** 2) @ Phi,
        H,
        (np.zeros(M), Phi),
    )
    assert "right at the point given, but not near it" in found.diagnosis


def test_terms_may_be_values():
    """They hold at the point given, where the answer is then explained."""
    found = check.attempt(
        "e", lambda *a: G(*a[:3]), MG, gm, terms={"prior": alpha * (w - m0)}
    )
    assert found.diagnosis == "the prior term is missing"


def test_readers_may_use_their_notebook_variables():
    """The global Phi and t: wrong elsewhere, but the sign is still named."""
    found = check.attempt("e", lambda w, *a: -G(w, Phi, t), G, g)
    assert found.diagnosis == "the sign is flipped"


def test_each_point_given_is_judged_by_its_own_size():
    """A huge answer at one point hides nothing at the other."""
    found = check.attempt(
        "e", lambda x: x**9 + 1e-3, lambda x: x**9, [(1.0,), (1e4,)]
    )
    assert found.verdict == "not yet"


def test_elsewhere_may_be_all_arguments():
    """A tuple stands for the whole point."""
    found = check.attempt(
        "e", lambda *a: G(start, Phi, t), G, g, elsewhere={"x": (start, Phi, t)}
    )
    assert "evaluated at another point: x" in found.diagnosis


def test_wrong_at_one_of_two_points():
    """The points where the answer is right do not hide the sign."""

    def yours(w, Phi, t):
        return G(w, Phi, t) * (1 if w[0] == start[0] else -1)

    found = check.attempt("e", yours, G, [(start, Phi, t), g])
    assert found.verdict == "not yet"
    assert "the sign is flipped" in found.diagnosis


def test_symmetric_answers_are_never_called_transposed():
    """A factor is a factor."""
    found = check.attempt("e", lambda *a: 1.5 * H(*a), H, h)
    assert "transposed" not in found.diagnosis


def test_the_exercise_itself_may_not_be_wrong():
    """Terms that do not fit, or a right answer that is none, are raised."""
    with pytest.raises(ValueError, match="shape"):
        check.attempt("e", stub_pass, G, g, terms={"bad": np.ones(7)})
    with pytest.raises(ValueError, match="no finite answer"):
        check.attempt("e", stub_pass, lambda *a: np.nan, g)


def test_a_wrong_answer_is_the_same_text_every_time():
    """No clock, no address, no random state in it."""
    texts = {
        repr(check.attempt("e", lambda *a: 2.5 * G(*a), G, g)) for _ in range(3)
    }
    assert len(texts) == 1


def test_resemblance_names_only_what_differs():
    """In the referee's own messages."""
    A = np.arange(9.0).reshape(3, 3)
    assert diagnose.resemblance(A, A) == ""
    assert diagnose.resemblance(-A, A) == " (the sign is flipped)"
    assert diagnose.resemblance(A.T, A) == " (it is transposed)"
    assert diagnose.resemblance(A + 1e-9, A) == ""
    assert diagnose.resemblance(A * A, A) == ""


def test_a_number_that_is_zero_has_no_reciprocal():
    """It is an argument like any other, and no reason to stop."""
    at = [(0.4, 1.0), (-2.1, 1.0), (0.8, 0.0)]

    def right(mu, t):
        return np.array([np.sin(mu) + t, mu**2])

    found = diagnose.diagnose(lambda mu, t: np.e * right(mu, t), right, at)
    assert found == ("not yet", diagnose.UNEXPLAINED)
    found = diagnose.diagnose(lambda mu, t: right(mu, 1 - t), right, at)
    assert found == ("not yet", "it is as if `t` were 1 minus itself")


def test_a_term_that_is_off_by_a_millionth_has_no_half_sentence():
    """Nearly right in one term: it says that, or that it has no name."""
    at = (np.array([0.3, -0.2]),)
    right = np.array([1.0, 2.0]) + at[0]
    text = check.attempt(
        "x-a", right + 3e-6 * at[0], right, [at], terms={"eta": at[0]}
    ).diagnosis
    assert not text.rstrip().endswith(",")
    assert "in the eta term, " not in text + " "


def newton(y, x):
    """The root of z^3 = y in five steps from x."""
    for _ in range(5):
        x = x - (x - y / x**2) / 3
    return x


def test_an_iteration_that_is_right_from_the_starts_given_is_right():
    """Five steps are enough from there, if not from everywhere."""
    starts = [(np.array([8.0, 1.0]), np.array([3.4, 0.55]))]
    starts += [(np.array([1.0, 8.0]), np.array([0.55, 3.4]))]
    far = check.attempt("x-a", newton, lambda y, x: np.cbrt(y), starts)
    assert far.verdict == "right"
    bad = [(y, x / 20) for y, x in starts]
    found = check.attempt("x-a", newton, lambda y, x: np.cbrt(y), bad)
    assert found.verdict == "not yet"


def test_digits_that_are_lost_are_named():
    """ln(1 + e^-40) is no zero."""

    def naive(a):
        return np.log(1 + np.exp(-a))

    at = [(np.array([0.3]),), (np.array([40.0]),)]
    found = check.attempt("x-a", naive, lambda a: np.logaddexp(0, -a), at)
    assert found.verdict == "not yet"
    assert "log1p" in found.diagnosis and "4e-18" in found.diagnosis


def test_an_iteration_that_stops_early_is_close_and_nothing_else():
    """Another start has the same answer, and so explains nothing."""
    at = [(np.array([8.0, 1.0]), np.array([2.1, 0.95]))]

    def right(y, x):
        return np.cbrt(y)

    def early(y, x):
        for _ in range(2):
            x = x - (x - y / x**2) / 3
        return x

    found = diagnose.diagnose(early, right, at)
    assert found == ("not yet", diagnose.NEARLY)


def test_a_name_explains_the_difference_and_not_its_smallness():
    """A rule with a small error is not the same rule with half the step."""

    def right(x, h):
        near = (np.sin(x + h) - np.sin(x - h)) / (2 * h)
        far = (np.sin(x + 2 * h) - np.sin(x - 2 * h)) / (4 * h)
        return (4 * near - far) / 3

    found = diagnose.diagnose(lambda x, h: np.cos(x), right, (0.7, 0.25))
    assert found == ("not yet", diagnose.UNEXPLAINED)
    found = diagnose.diagnose(lambda x, h: right(x, h / 2), right, (0.7, 0.9))
    assert found == ("not yet", "it is as if `h` were halved (a factor ½)")


def test_arguments_that_were_exchanged_are_named():
    """Old shares for new ones."""

    def right(p, old, new):
        q = p * new / old
        return q / q.sum()

    at = [
        np.array(v) for v in ([0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.3, 0.6])
    ]
    at = tuple(at)
    found = diagnose.diagnose(lambda p, a, b: right(p, b, a), right, at)
    assert found == ("not yet", "it is as if `old` and `new` were exchanged")


lower = np.tril(np.arange(2.0, 11.0).reshape(3, 3) / 7)


@pytest.mark.parametrize(
    ("yours", "right", "at"),
    [
        (
            lambda Z, v: v[0] + Z[:, 1:] @ v[1:],
            lambda Z, v: Z @ v,
            (np.c_[np.ones(4), W[:, :2]], np.array([0.3, -1.2, 0.7])),
        ),
        (
            lambda L, b: solve_triangular(L, b, lower=True),
            np.linalg.solve,
            (lower, np.array([0.4, -0.3, 2.5])),
        ),
        (
            lambda x: sum(math.log(math.factorial(int(n))) for n in x),
            lambda x: np.sum(special.gammaln(x + 1)),
            (np.array([1.0, 2.0, 5.0]),),
        ),
        (lambda x, n: x ** int(n), lambda x, n: x**n, (0.7, 3.0)),
        (lambda x: x[-1] - x[0], np.ptp, (np.array([0.2, 1.5, 1.6]),)),
    ],
)
def test_neighbours_keep_what_a_right_answer_may_use(yours, right, at):
    """A column of ones, zeros above a diagonal, counts, order."""
    assert diagnose.diagnose(yours, right, at)[0] == "right"


def test_rounding_where_the_answer_vanishes_is_no_mistake():
    """Two right gradients at the minimum, 1e-16 each, and one of another."""

    def right(x, b):
        return 3 * (x - b / 3)

    def yours(x, b):
        return 3 * x - b

    assert 0 < yours(0.1, 0.3) - right(0.1, 0.3) < 1e-15
    assert diagnose.diagnose(yours, right, (0.1, 0.3))[0] == "right"
    found = diagnose.diagnose(
        lambda x, b: yours(x, b) + 1e-9, right, (0.1, 0.3)
    )
    assert found[0] == "not yet"


@pytest.mark.filterwarnings("error")
def test_a_complex_answer_is_no_right_one():
    """Its imaginary part was dropped, with numpy's warning as the only word."""
    verdict, text = diagnose.diagnose(lambda x: x**2 + 5j, lambda x: x**2, 2.0)
    assert verdict == "not yet" and "no numbers" in text
