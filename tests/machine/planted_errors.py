"""A bank of errors that learners make when they code a formula.

FORMULAS holds right formulas as text; the errors are made from them. OPERATORS
are the kinds that a diagnosis has words for: on a formula, on one of its
terms, or on all but its first term. REPLACED are texts for a part of a
formula, or for all of it: of a kind, or of none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special, stats
from scipy.special import expit

# words that name a kind, and are false where none fits
NOT_NAMED = (
    *("sign", "twice", "factor", "double", "half", "½", "mean", "average"),
    *("n−1", "n − 1", "n-1", "n - 1", "transpos", "order", "missing"),
    *("prior", "left out", "evaluated at", "the start"),
)
LESS_ONE = ("n−1", "n − 1", "n-1", "n - 1")
# kind: the text around a formula, and words of which a diagnosis uses one
OPERATORS = {
    "sign": ("-({})", ("sign",)),
    "twice": ("2 * ({})", ("twice", "factor 2", "factor of 2", "double")),
    "half": ("0.5 * ({})", ("half", "½", "factor 1/2", "factor of 1/2")),
    "mean": ("({}) / N", ("mean", "average", "1/n", "divided by n")),
    "sum": ("({}) * N", ("sum", "factor n", "factor of n", "n times")),
    "more": ("({}) * N / (N - 1)", LESS_ONE),
    "less": ("({}) * (N - 1) / N", LESS_ONE),
    "transposed": ("({}).T", ("transpos",)),
    "order": ("reordered({})", ("order", "transpos")),
    "start": ("(lambda w: {})(START[w.ndim])", ("start",)),
    "zero": ("(lambda w: {})(0 * w)", ("zero",)),
    "missing": ("0 * ({})", ("missing", "without", "left out", "lack")),
}


@dataclass(frozen=True)
class Case:
    """A learner's function, and how its error is called."""

    name: str
    right: Callable
    yours: Callable
    at: tuple | list
    terms: dict
    elsewhere: dict
    expected: tuple = ()  # one of these words is in the diagnosis
    also: tuple = ()  # and one of these, if there are any
    allowed: tuple = ()  # of NOT_NAMED, those that are true


@dataclass(frozen=True)
class Formula:
    """A right formula, and the kinds of errors that are made in it.

    name       by which others may call it
    takes      its arguments
    text       what it computes
    at         where
    kinds      words of OPERATORS; two at once are joined by +
    terms      name: (text, kinds)
    rest       kinds of errors in all but the first term
    start      whether a learner may be at another w
    """

    name: str
    takes: str
    text: str
    at: tuple | list
    kinds: str = ""
    terms: dict | None = None
    rest: str = ""
    start: bool = False

    def code(self, text):
        """The function that a text computes; N counts the rows."""
        rows = [a for a in self.takes.split(", ") if a in ("phi", "x")]
        text = f"(lambda N: {text})(len({rows[0]}))" if rows else text
        return eval(f"lambda {self.takes}: {text}", NAMES)

    def case(self, what, text, **words):
        """What is called thus, and computed so."""
        terms = {k: self.code(t) for k, (t, _) in (self.terms or {}).items()}
        points = self.at if isinstance(self.at, list) else [self.at]
        begin = START[points[0][0].ndim] if self.start else None
        known = {"the start": begin, "zero": 0 * begin} if self.start else {}
        right, yours = self.code(self.text), self.code(text)
        name = f"{self.name}: {what}"
        return Case(name, right, yours, self.at, terms, known, **words)

    def planted(self):
        """Every error of a kind."""
        for kinds in self.kinds.split():
            text, words = operated(self.text, kinds)
            yield self.case(kinds, text, expected=words[0], also=words[-1])
        for name, (term, kinds) in (self.terms or {}).items():
            for kind in kinds.split():
                wrong, (words,) = operated(term, kind)
                text = f"({self.text}) - ({term}) + {wrong}"
                yield self.case(
                    f"{name} {kind}", text, expected=(name,), also=words
                )
        for kind in self.rest.split():
            name, (term, _) = next(iter(self.terms.items()))
            wrong, (words,) = operated(f"({self.text}) - ({term})", kind)
            yield self.case(
                f"all but {name} {kind}",
                f"{wrong} + {term}", expected=words, also=(name, "data"),
            )  # fmt: skip


def operated(text, kinds):
    """The text with operators around it, and the words for each."""
    words = []
    for kind in kinds.split("+"):
        around, called = OPERATORS[kind]
        text = around.format(text)
        words.append(called)
    return text, words


# ---------------------------------------------------------------- the points

RNG = np.random.default_rng(20)
M, K = 3, 4


def design(n):
    """A design matrix whose first column is the bias."""
    return np.column_stack([np.ones(n), RNG.normal(size=(n, M - 1))])


def reordered(h):
    """Classes innermost where they were outermost."""
    if h.ndim == 1:
        return h.reshape(K, M).T.ravel()
    return h.reshape(K, M, K, M).transpose(1, 0, 3, 2).reshape(h.shape)


PHI, PHI2 = design(11), design(8)
T = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0.0])
T2 = np.array([1, 1, 0, 1, 0, 1, 0, 1.0])
W, W2, M0 = RNG.normal(size=(3, M))
START = {1: RNG.normal(size=M), 2: RNG.normal(size=(M, K))}
A = np.array([[2.0, 0.3, -0.1], [0.3, 1.5, 0.4], [-0.1, 0.4, 0.8]])
S = np.array([[1.3, 0.4, 0.2], [0.4, 0.9, -0.3], [0.2, -0.3, 2.1]])
ONE, TWO = (W, PHI, T), [(W, PHI, T), (W2, PHI2, T2)]
MAP = [(W, PHI, T, M0, A), (W2, PHI2, T2, M0, A)]
REAL = RNG.normal(size=11)
LINE = [(W, PHI, REAL), (W2, PHI2, RNG.normal(size=8))]
WK = RNG.normal(size=(M, K))
MANY = (WK, PHI, np.eye(K)[[0, 1, 2, 3, 1, 0, 2, 2, 3, 1, 1]])
X, X2 = PHI[:, 1:] + 0.7, PHI2[:, 1:] - 0.4
XC = [(X, T.astype(int)), (X2, T2.astype(int))]
NORMAL = [(W, M0, S), (W2, M0, A)]
CURVE = [(np.exp, 0.3, 0.1), (np.sin, 1.2, 0.2)]
LIKELY = [(-31.7, 3, 50), (-12.9, 5, 23)]
NAMES = {**vars(special), **vars(np.linalg), "np": np, "stats": stats}
NAMES |= {"START": START, "M": M, "K": K, "reordered": reordered}

# -------------------------------------------------------- the right formulas

DATA, PRIOR = "w, phi, t", "w, phi, t, m0, a"
ALL = "missing sign twice"
FORMULAS = [
    Formula("weights", "w, phi", "expit(phi @ w) * expit(-phi @ w)",
            [(W, PHI), (W2, PHI2)], "sign mean twice"),
    Formula("error", DATA,
            "-np.sum(t * np.log(expit(phi @ w)))"
            " - np.sum((1 - t) * np.log(expit(-phi @ w)))",
            TWO, "sign mean half twice",
            {"zeros": ("-np.sum((1 - t) * np.log(expit(-phi @ w)))", ALL)}),
    Formula("gradient", DATA, "phi.T @ (expit(phi @ w) - t)", TWO,
            "sign mean twice start zero mean+sign sign+twice start+sign",
            start=True),
    Formula("hessian", DATA, "phi.T @ np.diag(weights(w, phi)) @ phi", ONE,
            "sign mean half zero", start=True),
    Formula("map_error", PRIOR,
            "error(w, phi, t) + 0.5 * (w - m0) @ a @ (w - m0)", MAP, "sign",
            {"prior": ("0.5 * (w - m0) @ a @ (w - m0)", ALL)}),
    Formula("map_gradient", PRIOR, "gradient(w, phi, t) + a @ (w - m0)", MAP,
            "sign start",
            {"prior": ("a @ (w - m0)", f"{ALL} half"),
             "centre": ("-a @ m0", "missing sign")},
            "mean sign start", start=True),
    Formula("map_hessian", PRIOR, "hessian(w, phi, t) + a", MAP, "",
            {"prior": ("a", ALL), "data": ("hessian(w, phi, t)", "missing")}),
    Formula("squares", DATA, "0.5 * np.sum((phi @ w - t) ** 2)", LINE,
            "twice mean half"),
    Formula("squares_gradient", DATA, "phi.T @ (phi @ w - t)", LINE,
            "sign twice half mean", {"targets": ("-phi.T @ t", "missing")}),
    Formula("squares_hessian", DATA, "phi.T @ phi", LINE, "twice mean"),
    Formula("least_squares", "phi, t", "solve(phi.T @ phi, phi.T @ t)",
            [(PHI, REAL)], "half sum sign"),
    Formula("softmax_error", DATA, "-np.sum(t * log_softmax(phi @ w, axis=1))",
            MANY, "sign mean",
            {"normaliser": ("np.sum(logsumexp(phi @ w, axis=1))",
                            "missing sign")}),
    Formula("softmax_gradient", DATA, "phi.T @ (softmax(phi @ w, axis=1) - t)",
            MANY, "sign transposed mean start transposed+sign transposed+mean",
            {"targets": ("-phi.T @ t", "missing")}, start=True),
    Formula("flat_gradient", DATA, "softmax_gradient(w, phi, t).T.ravel()",
            MANY, "order sign"),
    Formula("jacobian", "a", "np.diag(softmax(a)) "
            "- np.outer(softmax(a), softmax(a))", (WK[0],), "sign",
            {"outer": ("-np.outer(softmax(a), softmax(a))", "missing sign"),
             "indicator": ("np.diag(softmax(a))", "missing")}),
    Formula("class_major_hessian", DATA,
            "sum(np.kron(jacobian(w.T @ p), np.outer(p, p)) for p in phi)",
            MANY, "order sign mean order+sign",
            {"diagonal": ("sum(np.kron(np.diag(softmax(w.T @ p)), "
                          "np.outer(p, p)) for p in phi)", "missing"),
             "coupling": ("-sum(np.kron(np.outer(*[softmax(w.T @ p)] * 2), "
                          "np.outer(p, p)) for p in phi)", "missing")}),
    Formula("feature_major_hessian", DATA,
            "sum(np.kron(np.outer(p, p), jacobian(w.T @ p)) for p in phi)",
            MANY, "half"),
    Formula("working_response", DATA,
            "phi @ w - (expit(phi @ w) - t) / weights(w, phi)", TWO, "",
            {"correction": ("(t - expit(phi @ w)) / weights(w, phi)",
                            "sign missing"),
             "activation": ("phi @ w", "missing")}),
    Formula("newton_direction", DATA,
            "-solve(hessian(w, phi, t), gradient(w, phi, t))", TWO,
            "sign sum mean"),
    Formula("newton_step", DATA, "w + newton_direction(w, phi, t)", TWO,
            "start",
            {"step": ("newton_direction(w, phi, t)", "sign twice mean sum"),
             "weights": ("w", "missing")}, start=True),
    Formula("sgd_step", "w, phi_n, t_n, eta",
            "w - eta * (expit(w @ phi_n) - t_n) * phi_n",
            (W, PHI[3], T[3], 0.3), "",
            {"step": ("-eta * (expit(w @ phi_n) - t_n) * phi_n", "sign twice"),
             "weights": ("w", "missing")}),
    Formula("central", "f, y, h", "(f(y + h) - f(y - h)) / (2 * h)", CURVE,
            "twice sign half"),
    Formula("second", "f, y, h", "(f(y + h) - 2 * f(y) + f(y - h)) / h**2",
            CURVE, "half sign",
            {"middle": ("-2 * f(y) / h**2", "missing sign")}),
    Formula("covariance", "x", "(x - x.mean(0)).T @ (x - x.mean(0)) / len(x)",
            [(X,), (X2,)], "more sum",
            {"centring": ("-np.outer(x.mean(0), x.mean(0))", "missing")}),
    Formula("covariance_of_one", "x", "covariance(x)", (X,), "more"),
    Formula("unbiased", "x", "covariance(x) * len(x) / (len(x) - 1)",
            [(X,), (X2,)], "less"),
    Formula("class_means", "x, t",
            "np.array([x[t == k].mean(axis=0) for k in np.unique(t)])",
            (np.vstack([X, X2]), np.arange(19) % 3), "transposed"),
    Formula("pooled", "x, t",
            "(x - class_means(x, t)[t]).T @ (x - class_means(x, t)[t])"
            " / len(x)", XC, "more sum"),
    Formula("pooled_unbiased", "x, t", "pooled(x, t) * len(x)"
            " / (len(x) - len(np.unique(t)))", XC),
    Formula("log_density", "z, m, s",
            "-0.5 * (len(z) * np.log(2 * np.pi) + slogdet(s)[1]"
            " + (z - m) @ solve(s, z - m))", NORMAL, "twice sign sign+twice",
            {"determinant": ("-0.5 * slogdet(s)[1]", "sign twice"),
             "distance": ("-0.5 * (z - m) @ solve(s, z - m)", "sign twice"),
             "pi": ("-0.5 * len(z) * np.log(2 * np.pi)", "missing")}),
    Formula("log_evidence", "log_f, h",
            "log_f + len(h) / 2 * np.log(2 * np.pi) - 0.5 * slogdet(h)[1]",
            [(-7.3, S), (-4.1, A)], "",
            {"determinant": ("-0.5 * slogdet(h)[1]", ALL),
             "pi": ("len(h) / 2 * np.log(2 * np.pi)", "sign")}),
    Formula("bic", "log_lik, m, n", "log_lik - 0.5 * m * np.log(n)", LIKELY,
            "twice sign", {"penalty": ("-0.5 * m * np.log(n)", "sign twice")}),
    Formula("variance_of_mean", "x", "x.var(ddof=1) / len(x)",
            [(REAL,), (T2,)], "less sum more"),
]  # fmt: skip
KNOWN = {formula.name: formula for formula in FORMULAS}
NAMES |= {name: formula.code(formula.text) for name, formula in KNOWN.items()}

# ------------------------------------- other texts: of a kind, right, of none

# errors of a kind that are no factor of the formula as it is written
REPLACED = [
    ("squares_hessian", "N − 1 of a covariance", "more",
     "phi.T @ phi", "phi.T @ phi / (N - 1)"),
    ("map_gradient", "prior in each of two batches", "twice",
     "a @ (w - m0)", "sum(a @ (w - m0) for _ in range(2))"),
    ("flat_gradient", "order F of the transpose", "order",
     ".T.ravel()", ".T.ravel(order='F')"),
    ("feature_major_hessian", "classes outermost", "order",
     None, "class_major_hessian(w, phi, t)"),
    ("log_density", "no ½ of the determinant", "twice",
     "slogdet(s)[1]", "2 * slogdet(s)[1]"),
]  # fmt: skip
# errors of no kind, and the words of NOT_NAMED that are true of them
NAMELESS = [
    ("gradient", "tanh", "expit", "np.tanh"),
    ("gradient", "probit", "expit", "stats.norm.cdf"),
    ("gradient", "no σ", "expit", ""),
    ("gradient", "relu", "expit(phi @ w)", "np.maximum(phi @ w, 0)"),
    ("gradient", "dropped row", None,
     "phi[1:].T @ (expit(phi[1:] @ w) - t[1:])", "left out"),
    ("gradient", "last target", None, "phi[-1] * t[-1]"),
    ("gradient", "σ(−a)", "phi @ w", "-phi @ w", "sign"),
    ("gradient", "= for +=", None, "(expit(w @ phi[-1]) - t[-1]) * phi[-1]"),
    ("gradient", "clipped", "expit(phi @ w)",
     "np.clip(expit(phi @ w), 0.3, 0.7)"),
    ("gradient", "rolled targets", "- t", "- np.roll(t, 1)"),
    ("gradient", "targets ±1", "- t", "- 2 * t + 1"),
    ("gradient", "column targets", None,
     "(expit(phi @ w) - t[:, None]).sum(axis=1) @ phi"),
    ("gradient", "raises", "phi.T", "phi", "sign"),
    ("gradient", "undefined name", "expit", "sigma"),
    ("gradient", "nan", None, "np.full(M, np.nan)"),
    ("gradient", "3 times", "phi.T", "3 * phi.T", "factor"),
    ("gradient", "slope of the squares", "- t)",
     "- t) * weights(w, phi)", "factor"),
    ("gradient", "scalar", "phi.T @", "np.sum"),
    ("gradient", "text", None, "'phi.T @ (y - t)'"),
    ("error", "log2", "np.log(", "np.log2(", "factor", "missing"),
    ("error", "classes swapped", None, "error(-w, phi, t)", "sign"),
    ("error", "squares", None, "np.sum((expit(phi @ w) - t) ** 2)"),
    ("error", "not summed", None,
     "np.logaddexp(0, phi @ w) - t * (phi @ w)", "missing"),
    ("hessian", "no R", " @ np.diag(weights(w, phi))", "",
     "factor", "missing", "evaluated at"),  # 4 times that at zero
    ("hessian", "R of y", "weights(w, phi)", "expit(phi @ w)",
     "factor", "missing"),
    ("hessian", "√R", "weights(w, phi)", "weights(w, phi) ** 0.5"),
    ("hessian", "R²", "weights(w, phi)", "weights(w, phi) ** 2", "factor"),
    ("hessian", "Φ R Φᵀ", None, "phi @ np.diag(weights(w, phi)) @ phi.T",
     "sign"),  # the error says "signature"
    ("hessian", "trace", None, "np.trace(hessian(w, phi, t))"),
    ("hessian", "diagonal", None, "np.diag(np.diag(hessian(w, phi, t)))"),
    ("hessian", "inverse", None, "inv(hessian(w, phi, t))"),
    ("map_gradient", "A⁻¹", "a @", "inv(a) @"),
    ("map_gradient", "no A", "a @", ""),
    ("map_gradient", "diagonal of A", "a @", "np.diag(a) *"),
    ("softmax_gradient", "axis 0", "axis=1", "axis=0"),
    ("softmax_gradient", "sigmoid", "softmax(phi @ w, axis=1)",
     "expit(phi @ w)"),
    ("class_major_hessian", "last block", None,
     "class_major_hessian(w, phi, t)"
     " * np.pad(np.ones((9, 9)), (0, 3), constant_values=0)"),
    ("class_major_hessian", "no R", None, "np.kron(np.eye(K), phi.T @ phi)"),
    ("central", "forward", "f(y - h)) / (2 * h)", "f(y)) / h"),
    ("central", "/ 2 * h", "(2 * h)", "2 * h", "factor"),
    ("pooled", "of all rows", None, "np.cov(x.T, bias=True)", "missing"),
    ("pooled", "weighted np.cov", None,
     "sum(sum(t == k) * np.cov(x[t == k].T) for k in np.unique(t)) / len(x)"),
    ("pooled_unbiased", "over N", None, "pooled(x, t)"),
    ("log_density", "precision", "solve(s, z - m)", "s @ (z - m)"),
    ("log_density", "slogdet[0]", "slogdet(s)[1]", "slogdet(s)[0]"),
    ("log_density", "density", None, "stats.multivariate_normal.pdf(z, m, s)"),
    ("bic", "AIC", "0.5 * m * np.log(n)", "m"),
    ("bic", "log10", "np.log", "np.log10"),
    ("variance_of_mean", "standard error", None,
     "x.std(ddof=1) / np.sqrt(len(x))"),
    ("variance_of_mean", "√N", "len(x)", "np.sqrt(len(x))"),
]  # fmt: skip
# right, and written otherwise
OTHERWISE = [
    ("error", "logaddexp", "np.sum(np.logaddexp(0, phi @ w) - t * (phi @ w))"),
    ("error", "xlogy", "-xlogy(t, expit(phi @ w)).sum()"
     " - xlogy(1 - t, expit(-phi @ w)).sum()"),
    ("error", "0-d array",
     "np.array(-stats.bernoulli.logpmf(t, expit(phi @ w)).sum())"),
    ("gradient", "loop, list", "list(sum((1 / (1 + np.exp(-p @ w)) - c) * p"
     " for p, c in zip(phi, t)))"),
    ("gradient", "einsum", "np.einsum('n,nm', expit(phi @ w) - t, phi)"),
    ("gradient", "minus Φᵀ(t − y)", "-(t - expit(phi @ w)) @ phi"),
    ("gradient", "tanh of half",
     "phi.T @ ((1 + np.tanh(phi @ w / 2)) / 2 - t)"),
    ("hessian", "columns", "phi.T @ (weights(w, phi)[:, None] * phi)"),
    ("hessian", "outer products", "sum(expit(p @ w) * expit(-p @ w)"
     " * np.outer(p, p) for p in phi)"),
    ("map_gradient", "rows", "(expit(phi @ w) - t) @ phi - (m0 - w) @ a.T"),
    ("least_squares", "lstsq", "lstsq(phi, t, rcond=None)[0]"),
    ("least_squares", "pinv", "pinv(phi) @ t"),
    ("least_squares", "mean", "inv(phi.T @ phi / N) @ phi.T @ t / N"),
    ("softmax_gradient", "columns", "np.column_stack([phi.T"
     " @ (softmax(phi @ w, axis=1)[:, k] - t[:, k]) for k in range(K)])"),
    ("class_major_hessian", "einsum", "np.einsum('nm,nl,nkj->kmjl', phi, phi,"
     " [jacobian(w.T @ p) for p in phi]).reshape(M * K, M * K)"),
    ("feature_major_hessian", "reordered",
     "reordered(class_major_hessian(w, phi, t))"),
    ("newton_step", "QR", "lstsq(weights(w, phi)[:, None] ** 0.5 * phi,"
     " weights(w, phi) ** 0.5 * working_response(w, phi, t), rcond=None)[0]"),
    ("sgd_step", "in place",
     "np.subtract(w, eta * (expit(w @ phi_n) - t_n) * phi_n, out=w)"),
    ("covariance", "np.cov", "np.cov(x.T, ddof=0)"),
    ("covariance", "moments",
     "x.T @ x / len(x) - np.outer(x.mean(0), x.mean(0))"),
    ("log_density", "Cholesky", "-0.5 * (sum(solve(cholesky(s), z - m) ** 2)"
     " + 3 * np.log(2 * np.pi) + 2 * np.log(np.diag(cholesky(s))).sum())"),
    ("log_density", "SciPy", "stats.multivariate_normal.logpdf(z, m, s)"),
    ("jacobian", "y(I − y)", "softmax(a)[:, None] * (np.eye(K) - softmax(a))"),
]  # fmt: skip
# not yet attempted


def only_pass(w, phi, t):
    pass


def only_dots(w, phi, t): ...


def only_a_docstring(w, phi, t):
    """The gradient Φᵀ(y − t)."""


def returns_dots(w, phi, t):
    return ...


def not_implemented(w, phi, t):
    raise NotImplementedError


def computes_first(w, phi, t):
    """The gradient Φᵀ(y − t)."""
    y = expit(phi @ w)  # noqa: F841
    raise NotImplementedError("and now the gradient")


def replaced(name, old, new):
    """The formula's text with another text for a part of it, or for all."""
    text = KNOWN[name].text
    assert old is None or old in text
    return new if old is None else text.replace(old, new)


PLANTED = [case for formula in FORMULAS for case in formula.planted()]
PLANTED += [
    KNOWN[name].case(
        what, replaced(name, old, new), expected=OPERATORS[kind][1]
    )
    for name, what, kind, old, new in REPLACED
]
UNNAMEABLE = [
    KNOWN[name].case(what, replaced(name, old, new), allowed=tuple(true))
    for name, what, old, new, *true in NAMELESS
]
RIGHT = [KNOWN[name].case(what, text) for name, what, text in OTHERWISE]
STUBS = [
    replace(KNOWN["gradient"].case(stub.__name__, "None"), yours=stub)
    for stub in (only_pass, only_dots, only_a_docstring, returns_dots,
                 not_implemented, computes_first)
]  # fmt: skip
STUBS.append(KNOWN["gradient"].case("return None", "None"))
