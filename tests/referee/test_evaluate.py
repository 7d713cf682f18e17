r"""Displays with numbers for their symbols: what they are worth, and refusals.

The oracle is NumPy, written out by hand next to the TeX.
"""

import numpy as np
import pytest
from scipy import special

from prml4.referee.evaluate import evaluate
from prml4.referee.tex import Mismatch, Syntax, Unbound
from prml4.referee.values import depends, each, law

rng = np.random.default_rng(5)
X, x, u = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=3)
A = rng.normal(size=(3, 3)) + 3 * np.eye(3)
S = A @ A.T
t = np.array([1.0, 0.0, 2.0, 1.0])
y, s = X @ u, special.expit
GIVEN = {"x": x, "u": u, "A": A, "S": S, "t": t, "N": 4, "X": X, "phi": X}


def first(tex, start=1, **names):
    """The members of the first statement, as arrays."""
    (statement, *_), _ = evaluate(tex, {**GIVEN, **names}, start)
    return [np.asarray(m.value) for m in statement.members]


def value(tex, **names):
    """The value of a display of one member."""
    return first(tex, **names)[0]


@pytest.mark.parametrize(
    ("tex", "truth"),
    [
        (r"\mathbf x^{\mathsf T}\mathbf A\mathbf u", x @ A @ u),
        (r"\mathbf A\mathbf x-2\mathbf u", A @ x - 2 * u),
        (r"\mathbf A^{-1}\mathbf x", np.linalg.solve(A, x)),
        (r"(\mathbf A+\mathbf I)\mathbf x", A @ x + x),
        (r"|\mathbf A|+\|\mathbf x\|^2", np.linalg.det(A) + x @ x),
        (r"\operatorname{tr}(\mathbf A\mathbf S)/3", np.trace(A @ S) / 3),
        (r"\sum_{n=1}^N t_n\boldsymbol\phi_n", X.T @ t),
        (
            r"\sum_n t_n\boldsymbol\phi_n\boldsymbol\phi_n^{\mathsf T}",
            X.T * t @ X,
        ),
        (r"\sum_{n=2}^N t_n", t[1:].sum()),
        (r"\sum_{n=1}^{N-1} t_n", t[:-1].sum()),
        (r"\prod_{n=2}^N\{t_n+1\}", np.prod(t[1:] + 1)),
        (r"\max_n t_n - \min_n t_n", 2.0),
        (r"\sum_{j\ne i} A_{ij}", A.sum(1) - np.diag(A)),
        (r"\sum_{i<j} A_{ij}", np.triu(A, 1).sum()),
        (r"\sum_{n:\,t_n=1} t_n", 2.0),
        (r"A_{ij}x_j", A * x),
        (r"(\mathbf x^{\mathsf T}\mathbf A)_2", (x @ A)[1]),
        (r"(\mathbf A\mathbf x)_i-x_i", A @ x - x),
        (r"\ln 2\pi\,x_1", np.log(2 * np.pi) * x[0]),
        (r"\tfrac12\ln|\mathbf S|", np.linalg.slogdet(S)[1] / 2),
        (r"\sigma(x_1)+\Phi(x_2)", s(x[0]) + special.ndtr(x[1])),
        (r"\exp\{-x_1^2/2\}", np.exp(-(x[0] ** 2) / 2)),
        (r"e^{x_1}+3!", np.exp(x[0]) + 6),
        (
            r"\begin{pmatrix}\mathbf I&\mathbf x\end{pmatrix}",
            np.c_[np.eye(3), x],
        ),
        (r"\begin{vmatrix}2&1\\1&3\end{vmatrix}", 5.0),
        (r"\mathbf X\mathbf X^{\mathsf T}+\mathbf I_N", X @ X.T + np.eye(4)),
        (
            r"\sum_n\begin{cases}t_n&\text{if }t_n<1\\7&\text{else}\end{cases}",
            t[t < 1].sum() + 7 * (t >= 1).sum(),
        ),
        (
            r"\begin{cases}N&x_1<-9\\-N&x_1\ge -9\end{cases}",
            -4.0,
        ),
        (r"\begin{cases}1&x_1/10^9=0\\2&\text{else}\end{cases}", 2.0),
        (r"\operatorname{diag}(\mathbf x)", np.diag(x)),
        (r"\sum_{i,j=1}^2A_{ij}", A[:2, :2].sum()),
        (r"\sum_n t_n\ln t_n+4!", 2 * np.log(2) + 24),
        (r"\mathbf x\otimes\mathbf u", np.kron(x, u)),
    ],
)
def test_algebra(tex, truth):
    """Sums index by index, matrices by type."""
    assert np.allclose(value(tex), truth, rtol=1e-12)


def E(w):
    """A function with a gradient that is known."""
    return w @ S @ w / 2 + np.sum(np.exp(w))


@pytest.mark.parametrize(
    ("tex", "truth"),
    [
        (r"\nabla E(\mathbf x)", S @ x + np.exp(x)),
        (r"\nabla\nabla E(\mathbf x)", S + np.diag(np.exp(x))),
        (r"\nabla\ln E(\mathbf x)", (S @ x + np.exp(x)) / E(x)),
        (r"\frac{\partial}{\partial\mathbf x}E(\mathbf x)", S @ x + np.exp(x)),
        (r"\nabla_{\mathbf x}\{\mathbf x^{\mathsf T}\mathbf u\}", u),
        (r"\frac{\partial}{\partial x_i}\mathbf x^{\mathsf T}\mathbf S"
         r"\mathbf x", 2 * S @ x),
        (r"\frac{d^2}{db^2}E(\mathbf x+b\mathbf u)\Big|_{b=0}",
         u @ (S + np.diag(np.exp(x))) @ u),
        (r"\frac{\partial\mathbf y}{\partial\mathbf x}", A),
        (r"\frac{dv}{db}", np.cos(0.7)),
        (r"v'", np.cos(0.7)),
        (r"f'(b)", 3 * 0.7**2),
        (r"\mathbf Y'", A),
        (r"\int_0^1 c^2\,dc", 1 / 3),
        (r"\int\mathcal N(c\mid b,2)\,c^2\,dc", 2 + 0.7**2),
        (r"\lim_{c\to0}\frac{\sin c}{c}", 1.0),
        (r"\lim_{c\to\infty}\frac{2c+1}{c+b}", 2.0),
        (r"\lim_{c\to0^+}\frac{|c|}{c}", 1.0),
        (r"\lim_{c\to0}\sqrt{c}\ln c", 0.0),
        (r"\sum_{k=0}^\infty b^k", 1 / 0.3),
        (r"\sum_{k=1}^{300}k", 45150.0),
        (r"\sum_{k=-\infty}^\infty e^{-k^2}", 1.772637204826652),
        (r"\prod_{k=0}^\infty{(1+b^{2^k})}", 1 / 0.3),
        (r"\min_b\{b^4-b^2+b/10\}", -0.3219193491),  # -0.18 near 0.7
        (r"\max_b\{\mathcal N(b\mid0,1)+\mathcal N(b\mid6,1/4)\}",
         2 / np.sqrt(2 * np.pi)),
        (r"f(b)^{-1}", 0.7**-3),
        (r"\sum_{n\in\{0,1\}} z_n", 5.0),
        (r"b^{-1}(1+b)", 1.7 / 0.7),
        (r"\mathbb E[z^2]", 0.3 * 1 + 0.7 * 4),
        (r"\operatorname{var}[z]", 0.3 + 2.8 - (0.3 - 1.4) ** 2),
        (r"\operatorname{cov}[z,b z]", 0.7 * (0.3 + 2.8 - (0.3 - 1.4) ** 2)),
    ],
)  # fmt: skip
def test_analysis(tex, truth):
    """Derivatives, integrals, limits and means are carried out."""
    names = {
        "E": E, "y": depends(lambda x: A @ x), "b": 0.7,
        "Y": depends(lambda x: A @ x),
        "v": depends(lambda b: np.sin(b)), "f": lambda b: b**3,
        "z": np.array([2.0, 3.0, 7.0]),
    }  # fmt: skip
    if "mathbb" in tex or "operatorname" in tex:
        names["E"] = law([0.3, 0.7], z=[1.0, -2.0])
    assert np.allclose(value(tex, **names), truth, rtol=1e-7)


def test_members_share_their_free_indices():
    """A_ij + A_ji for all i and j."""
    left, right = first(r"A_{ij}+A_{ji}=(\mathbf A+\mathbf A^{\mathsf T})_{ij}")
    assert np.allclose(left, A + A.T) and np.allclose(left, right)


def test_a_display_holds_at_each_point():
    """Each value of b, quantities that depend on it included."""
    b = np.linspace(-1, 1, 5)
    square = depends(lambda b: b**2)
    left, right = first("c=bb", b=each(b), c=square)
    assert np.allclose(left, b**2) and np.allclose(right, b**2)
    left, right = first("P_b=3", b=each(b), P_b=3.0)
    assert np.allclose([left, right], 3.0) and left.shape == right.shape == (5,)


def test_an_index_counts_from_where_its_sum_does():
    """From 0 if the sum does, else from `start`."""
    assert value(r"\sum_{n=0}^{N-1} t_n") == t.sum()
    assert first("t_0+t_3", start=0)[0] == t[0] + t[3]


@pytest.mark.parametrize(
    "tex",
    [
        r"\sum_{n=0}^1 t_n=t_1+t_2",
        r"t_1+t_2=\sum_{n=0}^1 t_n",
        r"\sum_{n=0}^{N-1} t_n=\sum_{m=1}^N t_m",
        r"\sum_{n=0}^2 t_n=\sum_{n=0}^3 t_n-t_N",
    ],
)
def test_an_array_begins_at_one_place(tex):
    """These were confirmed: its first element was t_0 here and t_1 there."""
    with pytest.raises(Syntax, match="t begins at"):
        first(tex)
    assert first(r"\sum_{n=0}^{N-1} t_n=\sum_{m=1}^3 x_m")[1] == x.sum()
    both = r"\sum_{n=1}^2\sum_{k=0}^1"
    assert value(rf"{both} t_{{n+k}}") == t[0] + 2 * t[1] + t[2]
    with pytest.raises(Syntax, match="with k and later"):  # had t_2 first
        value(rf"{both} t_{{k+n}}")


def test_names_with_scripts():
    """m_hat, v_minus[n], S_aa, and one letter in two roles."""
    tex = r"\hat m+v_{-n}+S_{aa}+v"
    found = value(tex, m_hat=1.0, v_minus=t, S_aa=5.0, v=7.0)
    assert np.allclose(found, 13 + t)
    assert np.allclose(value("v_n+v", v_=t, v=7.0), t + 7)


def test_conditional_densities_are_told_apart():
    """p(x | C) is not p(C)."""
    names = {"p(x|C)": lambda x, k: 10.0 + k, "p(C)": lambda k: k + 1.0}
    assert (
        value(r"p(\mathbf x\mid\mathcal C_2)\,p(\mathcal C_1)", **names) == 11
    )


def test_a_symbol_that_the_display_defines():
    """The page is taken at its word, and only if the caller says so."""
    tex = r"b=2c,\qquad c=t_1+1"
    (statement,), _ = evaluate(tex, {**GIVEN, "b": 4.0}, defines=("c",))
    assert [m.value for m in statement.members] == [4.0, 4.0]
    with pytest.raises(Unbound, match="q is not defined"):
        evaluate(tex, GIVEN, defines=("q",))


@pytest.mark.parametrize(
    ("tex", "error", "says"),
    [
        (r"q+1", Unbound, "q is unbound"),
        (r"f(1-f)", Mismatch, "function, used as a number"),
        (r"v(1-v)", Syntax, "two readings"),
        (r"\ln b(1-b)", Syntax, "in brackets"),
        (r"\mathbf t", Mismatch, None),
        (r"x+1", Mismatch, "should be a number"),
        (r"\mathbf x^{\mathsf T}", None, None),
        (r"t_n=N", Syntax, "one side only"),
        (r"t_5", Mismatch, "outside"),
        (r"t_0", Mismatch, "outside"),
        (r"\nabla(\mathbf x^{\mathsf T}\mathbf u)", Syntax, "with respect to"),
        (r"\sum_{n=1}^K t_n", Unbound, "K is unbound"),
        (r"\sum_r b", Unbound, "range is unknown"),
        (r"\sum_n t_nx_n", Unbound, r"range is one of \[3, 4\]"),
        (r"\mathbf A+\mathbf x", Mismatch, "sum of shapes"),
        (r"\mathbf x\mathbf u", Mismatch, "product of shapes"),
        (r"t_{b}", Mismatch, "an index is 0.7"),
        (r"t_{-1}", Syntax, "points nowhere"),
        (r"\sum_{n\in\{1,2\}} t_n", Syntax, "at 0, or at 1"),
        (r"f^{-1}(b)", Syntax, "two readings"),
        (r"\Phi^{-1}(b)", Syntax, "two readings"),
        (r"1/b(b+1)", Syntax, "two readings"),
        (r"\prod_n t_n(1+b)", Syntax, "scope"),
        (r"A_{12}^{-1}", Syntax, "two readings"),
        (r"A^{-1}_{12}", Syntax, "two readings"),
        (r"\mathbf A_{12}^{\mathsf T}", Syntax, "two readings"),
        (r"(\mathbf A\mathbf A)_{12}^{-1}", Syntax, "two readings"),
        (r"\mathbf A^T", Syntax, "transposes"),
        (r"\|\mathbf A\|", Mismatch, "several norms"),
        (r"p(-b)", Syntax, "bind a function"),
        (r"\operatorname{E}[b^2]", Syntax, "bind a function"),
        (r"e^2", Syntax, "bound to a number"),
        (r"\mathcal N(b,2)", Syntax, "three arguments"),
        (r"\sum_{n=1}^{3/2} t_n", Mismatch, "a sum from 1 to 1.5"),
        (r"\sum_{k=1}^\infty\frac1k", Mismatch, "has not ended"),
        (r"\lim_{b\to0}\frac{|b|}b", Mismatch, r"from below: write 0\^\+"),
        (r"\sum_{k=-\infty}^0 b^{-k/9}", Mismatch, "has not ended"),
        (r"\prod_{k=1}^\infty{(1+\frac1k)}", Mismatch, "has not ended"),
        (r"\max_b b^2", Mismatch, "there is always more"),
        (r"\sum_{k=0}^\infty\mathcal N(k\mid 250,1)", Mismatch, "or begun"),
        (r"\sum_{k=1}^{10^9}k", Mismatch, "a sum from 1 to 1e"),
        (r"\max\mathbf x", Mismatch, "of a vector"),
        (r"\max(\mathbf x,b)", Mismatch, "of a vector"),
        (r"(\mathbf A\mathbf A)_1", Syntax, "of a row, or a column"),
        (r"-\{b,c\}", Mismatch, "where one is expected"),
        (r"|\{b,c\}|", Mismatch, "where one is expected"),
        (r"\ln(b,c)", Mismatch, "ln of 2 arguments"),
        (r"(-\mathbf A)^{1/2}", Mismatch, "not real"),
        (r"\begin{pmatrix}\mathbf A&\mathbf 0\\"
         r"\mathbf 0&\mathbf I\end{pmatrix}", Mismatch,
         r"shape \(3, 0\) fits nowhere"),
        (r"\begin{pmatrix}\mathbf x\\\mathbf 0\end{pmatrix}",
         Mismatch, "fits nowhere"),
        (r"\begin{pmatrix}\mathbf A&0\\0&b\end{pmatrix}",
         Mismatch, "fits nowhere"),
        (r"\begin{cases}b&b\in\{1,2\}\\c\end{cases}", Syntax, "no condition"),
        (r"\sum_{n\sim1}t_n", Syntax, "no condition"),
        (r"\min_b f(b)^3", Mismatch, "there is always more"),
        (r"\min_{b,c}(b-c)^2", Syntax, "over several variables"),
        (r"1.5.2", Syntax, "1.5.2 is no number"),
        (r"b²", Syntax, "not understood"),
        (r"\frac{d^{c}}{db^{c}}b^2", Syntax, "order of a derivative"),
        (r"\frac{d}{db^{1.5}}b^2", Syntax, "order of a derivative"),
        (r"\operatorname{tr}\mathbf I", Mismatch, "has no size"),
        (r"|\mathbf I|+\det\mathbf I", Mismatch, "has no size"),
        (r"\|\mathbf I\|", Mismatch, "has no size"),
        (r"\mathbf I^+", Mismatch, "has no size"),
        (r"\mathbf I_{b}", Mismatch, "an index is 0.7"),
        (r"\sum_{c\in b}c", Mismatch, "a set is expected"),
        (r"\int_{\mathbf x}^1b\,db", Mismatch, "a number is expected"),
        (r"\lim_{b\to\mathbf x}b", Mismatch, "a number is expected"),
    ],
)  # fmt: skip
def test_refusals(tex, error, says):
    """Two readings, no value, or types that do not fit."""
    names = {"f": lambda b: b, "v": depends(lambda b: b), "b": 0.7, "e": 0.1}
    names |= {"c": 2.0}
    names |= {"p(b)": 0.3, "E(b)": 0.2, "T": 2}
    if error is None:
        assert first(tex, **names)
        return
    if says is None:
        assert first(tex, **names)
        return
    with pytest.raises(error, match=says):
        first(tex, **names)


@pytest.mark.parametrize("tex", [r"\frac{N-4}{x_1-x_1}", "(-1)!", "(-2)!"])
def test_what_is_nothing_in_particular_is_no_number(tex):
    """0/0 and (-1)! were 0."""
    assert not np.isfinite(value(tex))


def test_a_mean_is_one_of_one_thing():
    """E[z, b] was E[z]."""
    with pytest.raises(Unbound, match=r"E\(z,b\)"):
        value(r"\operatorname{E}[z,b]", E=law([0.3, 0.7], z=[1.0, -2.0]), b=1.0)


def test_a_limit_is_as_sure_as_its_worse_side():
    """From below e^{-1/c} grows without end."""
    (statement,), _ = evaluate(r"N+\lim_{c\to0}e^{-1/c}", GIVEN)
    (member,) = statement.members
    assert max(member.noise) > 1


def test_e_is_a_number_beside_columns_e():
    r"""e^2 is not a power of \mathbf e."""
    assert np.isclose(value("e^2", e=x), np.exp(2))


def test_values_of_names_hold_where_names_stand():
    """E[b] is bound, and E[f(b)] as well; E[b^2] is another number."""
    names = {"E(b)": 0.2, "E(f)": 0.3, "f": lambda b: b, "b": 1.0}
    assert value(r"\operatorname{E}[b]", **names) == 0.2
    assert value(r"\operatorname{E}[f(b)]", **names) == 0.3


def test_nothing_is_looked_up_behind_the_caller():
    """A global of the same name is not a binding."""
    global q
    q = 3.0
    with pytest.raises(Unbound):
        value("q")


def test_points_must_be_as_many():
    """Two values of b, three of c."""
    with pytest.raises(Mismatch, match="different number: b, c"):
        first("b+c", b=each([1, 2]), c=each([1, 2, 3]))


def test_delta_x_is_one_name():
    """And no product, as EP prints its changes."""
    assert value(r"1+\Delta b", Delta_b=2.0) == 3.0


@pytest.mark.parametrize(
    ("tex", "truth"),
    [
        (r"\sum_{n\le N-1} t_n", 3.0),
        (r"\sum_{n\ge N-1} t_n", 3.0),
        (r"\sum_{n\ne N-2} t_n", 4 - 0.0),
        (r"\sum_{n:\,n\le N/4} t_n", 1.0),
        (r"\sum_n\sum_{m\le n-1} t_nt_m", (4.0**2 - 6) / 2),
    ],
)
def test_a_condition_compares_what_is_printed(tex, truth):
    """k <= n - 1 took in k = n, and n >= N - 1 left out N - 1."""
    assert value(tex) == truth
    with pytest.raises(Syntax, match="from 0, or from 1"):
        value(r"\sum_{n:\,t_n<n} t_n")
