r"""What a display says, and what it leaves open.

Every refusal is a form that two readers could read differently.
"""

import pytest

from prml4.referee import tex


def tree(text):
    """The tree of a display of one member."""
    ((members, relations),), _ = tex.parse(text)
    assert relations == []
    return members[0]


def name(letter, *indices):
    """An italic symbol."""
    return ("sym", letter, "", list(indices), 0)


a, b, c = map(name, "abc")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (r"a\,b", "a b"),
        (r"\left(a+b\right) c", "(a+b) c"),
        (r"\tfrac12 a", r"\frac{1}{2} a"),
        (r"\Bigl\{a\Bigr\}", r"\{a\}"),
        (r"a^{\mathsf T}", r"a^\top"),
        (r"a\leq b", r"a\le b"),
        (r"\mathbb{E}[a]", r"\mathbb E[a]"),
        ("a_{nj}", "a_{n,j}"),
    ],
)
def test_these_say_the_same(text, same):
    """Sizes, thin spaces and spellings do not matter."""
    assert tex.parse(text) == tex.parse(same)


def test_products_bind_before_sums_and_powers_before_products():
    """a + b c^2"""
    square = ("pow", c, ("num", 2.0))
    assert tree("a+bc^2") == ("add", a, ("mul", None, b, square))


def test_a_minus_belongs_to_its_term():
    """-a b - c"""
    product = ("neg", ("mul", None, a, b))
    assert tree("-ab-c") == ("add", product, ("neg", c))


def test_a_sum_reaches_to_the_next_sign():
    """sum_n a_n b + c = {sum_n a_n b} + c"""
    inner = ("mul", None, name("a", name("n")), b)
    total = ("over", "sum", [name("n")], None, None, inner)
    assert tree(r"\sum_n a_nb+c") == ("add", total, c)


def test_a_function_without_brackets_ends_at_a_space():
    r"""\ln a b\,c = {ln(a b)} c"""
    log = ("fn", "ln", None, [("mul", None, a, b)])
    assert tree(r"\ln ab\,c") == ("mul", None, log, c)


@pytest.mark.parametrize(
    ("text", "relations"),
    [
        ("a=b=c", [["=", "="]]),
        (r"a=b\,,\qquad b\le c", [["="], [r"\le"]]),
        (r"\begin{aligned} a&=b\\ &=c \end{aligned}", [["=", "="]]),
        (r"\begin{aligned} a&=b,\\ b&=c \end{aligned}", [["="], ["="]]),
        (r"\begin{aligned} a\qquad\\ =b+c\qquad\\ +1\end{aligned}", [["="]]),
        (r"a=b\quad\text{for all }n", [["="]]),
        (r"a=b,\quad -b=c", [["="], ["="]]),
        (r"a=b\implies -b=c", [["="], ["="]]),
        (r"a=b\quad\text{and}\quad -b=c", [["="], ["="]]),
        (r"\begin{aligned} a&=b \\ &-b=c \end{aligned}", [["=", "="]]),
        (r"a=b\quad\text{where } b=c", [["="], ["="]]),
        (r"\begin{aligned} a&=b & b&=c \end{aligned}", [["="], ["="]]),
        (r"\begin{aligned} a&=b \\ &\quad -c \end{aligned}", [["="]]),
        (r"\begin{aligned} a \\ +b=c \end{aligned}", [["="]]),
        (r"a=b\Longleftrightarrow b=c", [["="], ["="]]),
    ],
)
def test_statements_of_a_display(text, relations):
    """Rows, commas and words end a statement; signs and relations go on."""
    chains, _ = tex.statements(text)
    assert [r for _, r in chains] == relations


def test_words_are_reported_as_prose():
    """What is not computed is said."""
    _, prose = tex.statements(r"a=b\quad\text{at the minimum.}")
    assert prose == ["at the minimum."]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (r"\begin{aligned} a&=b\\ -b&=c\end{aligned}", "begins with a sign"),
        (r"a=b\\ -b=c", "begins with a sign"),
        (r"\begin{aligned} a&=b&-b&=c\end{aligned}", "begins with a sign"),
        (r"\begin{cases} a & \text{unless }n=1\\ b\end{cases}", "in words"),
        (r"\begin{cases} a\\ b\end{cases}", "in words only"),
        (r"\begin{pmatrix} a & b\\ c\end{pmatrix}", "not of one length"),
        (r"\begin{pmatrix}\end{pmatrix}", "not of one length"),
        (r"\lim_{a\to0}b/a+a", "the scope of a sum or limit"),
        (r"c-2\sum_ia_i\,b+c_i+i", "the scope of a sum or limit"),
        (r"\mathbf{ab}", "over several letters"),
        (r"\bar{\mathbf x\mathbf y}", "over several letters"),
        (r"\bar{x_ny}", "over several letters"),
        (r"a^b^c", "two scripts"),
        (r"\lim_{a\downarrow0} a", "where"),
        (r"\lim a", "where"),
        (r"a/b c", "two readings"),
        (r"a/b\,c", "two readings"),
        (r"\ln a/b", "two readings"),
        (r"\ln a\cdot b", "two readings"),
        (r"\sin^{-1} a", "two readings"),
        (r"\sin^{-1}(a)", "two readings"),
        (r"\mathbb E^2[a]", "two readings"),
        (r"\operatorname{var}^{1/2}[a]", "two readings"),
        (r"\max^2_k a_k", "two readings"),
        (r"n!!", "two readings"),
        (r"\mathbf A^{-1}_{ij}", "two readings"),
        (r"\boldsymbol\Sigma^{\mathsf T}_{ab}", "two readings"),
        (r"\sum_n^K a_n", "up to what"),
        (r"\prod_{n\ne 1}^K a_n", "up to what"),
        (r"\begin{cases} a & \text{if so}\\ b & n=1\end{cases}", "in words"),
        (r"\ln_2(a)", "subscript of ln"),
        (r"\operatorname{erf}_*(a)", "subscript of erf"),
        (r"\ln(a)^2", "two readings"),
        (r"\mathbb E[a]^2", "two readings"),
        (r"\prod_k a_k\,\frac bc", "two readings"),
        (r"\prod_k a_k b", "two readings"),
        (r"\prod_k a_k/b", "two readings"),
        (r"\prod_k a_k/\prod_m c_m", "two readings"),
        (r"\cos\frac12x", "two readings"),
        (r"\ln 2(a+b)", "two readings"),
        (r"\ln|A||B|", "two readings"),
        (r"\int_0^1dx\,x^2", "at its end"),
        (r"10\,000", "a number behind a factor"),
        (r"\nabla^2 f(a)", "no meaning for 2 above"),
        (r"\partial_a^2 f(a)", "no meaning for 2 above"),
        (r"\nabla_a b a^2", "slope of a product"),
        (r"\int_0 a\,da", "with one end"),
        (r"\sum_{k\ne a, k\ne b}c_k", "two conditions"),
        (r"b|_{b=0}^{1}", "no meaning for 1 above"),
        (r"\left.a+b\right|_{b=0}", "a factor expected, not ."),
        (r"\frac{dE}{da}(b)", "two readings"),
        (r"\bar{ab}", "over several letters"),
        (r"\begin{cases} a & a>0\text{ or }b>0\\ b\end{cases}", "in words"),
        (r"\partial a", "without a variable"),
        (r"\frac{d^2}{da} b", "orders"),
        (r"\int a", "without dx"),
        (r"\sum a_n", "without an index"),
        (r"\sqrt[3]{a}", "power"),
        (r"(a+b", "expected"),
        (r"((a)", "expected, not the end"),
        (r"\frac{a", "has no end"),
        (r"a_", "has no end"),
        (r"\hat", "has no end"),
        (r"a+", "a factor expected"),
        (r"\cdot a", "a factor expected"),
        (r"\ln", "without an argument"),
        (r"f(a_1+b,\dots,a_K+b)", "only for"),
        (r"\arg a", "not understood"),
        (r"\underbrace{a}", "not understood"),
        (r"\begin{array} a\end{array}", "environment"),
    ],
)
def test_two_readings_or_none_are_refused(text, says):
    """The message says what is wrong."""
    with pytest.raises(tex.Syntax, match=says):
        tex.parse(text)


def test_these_have_one_reading():
    """Near to what is refused, and common."""
    for text in (
        r"\ln|a|/2", r"\ln|a|\,b", r"\prod_k{a_k/b}", r"\prod_k\frac{a_k}b",
        r"\ln\frac ab/2", r"\sin^2 a", r"(n!)!", r"\{a/b\}\,c",
        r"\int_0^1 a/2\,da",
        r"\begin{cases} a & n=1\\ b & \text{else}\end{cases}",
        r"f(a)^{-1}", r"\mathbf A^{-1}(a+b)", r"\mathbf A_{ij}^{-1}",
        r"\mathbf x^{\mathsf T}_n", r"x^2_n", r"\bar{x_n}",
        r"\frac{d}{da}(a+b)", r"\frac{dE}{da}\,(a+b)",
        r"\sum_ia_i-\sum_ib_i", r"(\sum_ia_i)+b_i", r"\sum_ia_i+b",
    ):  # fmt: skip
        tex.parse(text)


def test_a_product_in_braces_ends_where_they_end():
    """The cure for an open product."""
    tex.parse(r"\Bigl\{\prod_k a_k\Bigr\}\,b")
    tex.parse(r"\prod_k a_k^{b_k}\,c_k")
