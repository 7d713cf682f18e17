"""Values that symbols take, and the algebra of columns and matrices.

    a number is a float, a column an (n, 1) array, a matrix an (n, m) array
    Eye, Zero   the identity and zero, of whatever size fits
    Raw         an object that functions get as it is: all of x_1, ..., x_N

What an author binds a symbol to, beside numbers, arrays and functions:

    depends(f)      a quantity that depends on the symbols f's parameters name
    each(values)    several values: the display holds at each of them
    law(w, x=...)   a distribution as a table of weights and values

Shapes must fit as they are: nothing is broadcast.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from scipy import linalg, special

from prml4.referee.tex import Mismatch

# -- what a symbol can be bound to -----------------------------------------


@dataclass(frozen=True, eq=False)
class Depends:
    """A quantity that changes with other symbols; made by `depends`."""

    function: object  # its parameters are the names of those symbols


@dataclass(frozen=True, eq=False)
class Each:
    """Values of a symbol that the display is to hold for; see `each`."""

    values: np.ndarray  # one row per point


@dataclass(frozen=True, eq=False)
class Law:
    """A distribution, or a signed measure, as a table; see `law`."""

    weights: np.ndarray  # (S,)
    points: dict  # symbol -> (S, ...) values


def depends(function):
    """A symbol that stands for function(...) of the symbols it names."""
    return Depends(function)


def each(values):
    """A symbol that takes several values; the display holds for each."""
    if not np.size(values) or not np.ndim(values):
        raise ValueError(f"each must have a list of values; got {values}")
    return Each(np.asarray(values))


def law(weights, **points):
    """E[f] = sum_s weights[s] f(points[s]), for E, var, cov of a display."""
    weights = np.asarray(weights, float)
    points = {name: np.asarray(x) for name, x in points.items()}
    for name, x in points.items():
        if weights.ndim != 1 or x.shape[:1] != weights.shape:
            shapes = f"{weights.shape} weights, {x.shape} values"
            raise ValueError(
                f"law must have as many values; got {shapes} {name}"
            )
    return Law(weights, points)


@dataclass(frozen=True, eq=False)
class Raw:
    """An object that functions of the author get as it is."""

    value: object


class Eye:
    """c times the identity, of whatever size fits."""

    def __init__(self, c=1.0):
        self.c = c


class Zero(float):
    """The zero vector or matrix, of whatever size fits."""


# -- columns and numbers ---------------------------------------------------


def column(x):
    """Numbers stay; one axis becomes a column; (1, 1) a number."""
    if isinstance(x, Eye | Zero | Raw | tuple):
        return x
    x = np.asarray(x, float)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim > 2:
        raise Mismatch(f"an array of shape {x.shape} is no matrix")
    return float(x.ravel()[0]) if x.size == 1 else x


def plain(x):
    """The reverse, for functions of the author."""
    if isinstance(x, Raw):
        return x.value
    is_column = isinstance(x, np.ndarray) and x.shape[1:] == (1,)
    return x[:, 0] if is_column else x


def scalar(x):
    """Whether x is a number; a list of several is nothing to add up."""
    if isinstance(x, tuple):
        raise Mismatch("a list of values, where one is expected")
    return np.ndim(x) == 0 and not isinstance(x, Eye)


def add(a, b):
    """a + b"""
    if isinstance(a, Eye | Zero) and not isinstance(b, Zero):
        a, b = b, a
    if isinstance(b, Zero):
        return a
    if isinstance(a, Eye):
        return Eye(a.c + b.c)
    if isinstance(b, Eye):
        if scalar(a):
            return a + b.c
        return square(a, "identity plus") + b.c * np.eye(len(a))
    if np.shape(a) != np.shape(b):
        raise Mismatch(f"sum of shapes {np.shape(a)} and {np.shape(b)}")
    return a + b


def mul(a, b, infix=None):
    """a b, a / b, and the products element by element and of Kronecker."""
    if infix == "/":
        if not scalar(b):
            raise Mismatch("division by a matrix")
        exact = scalar(a) and not isinstance(a, Zero)  # 0/0 is not 0
        return np.float64(a) / b if exact else mul(a, np.float64(1) / b)
    if isinstance(a, Zero) or isinstance(b, Zero):
        return Zero()
    if isinstance(a, Eye) or isinstance(b, Eye):
        if infix in (r"\otimes", r"\odot"):
            raise Mismatch(f"{infix} with an identity of no size: write I_N")
        a, b = (a, b) if isinstance(a, Eye) else (b, a)
        b = b.c if isinstance(b, Eye) else b
        return Eye(a.c * b) if scalar(b) else a.c * b
    if infix == r"\otimes":
        return np.kron(a, b)
    if scalar(a) or scalar(b):
        return scaled(a, b) if scalar(a) else scaled(b, a)
    if infix == r"\odot":
        if a.shape != b.shape:
            raise Mismatch(f"elements of shapes {a.shape} and {b.shape}")
        return a * b
    if a.shape[1] != b.shape[0]:
        raise Mismatch(f"product of shapes {a.shape} and {b.shape}")
    return column(a @ b)


def scaled(c, x):
    """c x; zero times infinity is zero, as at the ends of an integral."""
    if c == 0 or scalar(x) and x == 0:
        return 0.0 * np.nan_to_num(c * 0.0 + x * 0.0, posinf=0, neginf=0)
    return c * x


def square(a, what):
    """A matrix that must have as many rows as columns."""
    if a.shape[0] != a.shape[1]:
        raise Mismatch(f"{what} a matrix that is not square: {a.shape}")
    return a


def turned(x):
    """x^T"""
    return x.T if isinstance(x, np.ndarray) else x


def power(a, b):
    """a^b; of a matrix, and of a set of values"""
    if not scalar(b):
        raise Mismatch("the exponent is no number")
    if isinstance(a, tuple):
        return tuple(itertools.product(a, repeat=int(b)))
    if isinstance(a, Eye):
        return Eye(a.c**b)
    if scalar(a):
        return float(np.float64(a) ** b)
    if b == int(b):
        return np.linalg.matrix_power(square(a, "a power of"), int(b))
    root = linalg.fractional_matrix_power(square(a, "a power of"), b)
    if np.iscomplexobj(root := np.real_if_close(root, 1e6)):
        raise Mismatch("a power of a matrix that is not real")
    return root


def sized(a, what):
    """A number, column or matrix as a matrix; an identity is of no size."""
    if not isinstance(a, float | np.ndarray):
        raise Mismatch(f"{what} of what has no size, as I: write I_N")
    return np.atleast_2d(a)


def absolute(a):
    """|x|: of a number its size, of a column its length, else |A|."""
    if scalar(a):
        return abs(a)
    a = sized(a, "|A|")
    if a.shape[1] == 1:
        return float(np.linalg.norm(a))
    return determinant(a)


# -- functions that need no binding ----------------------------------------


def gauss(x, m, v):
    """The normal density N(x | m, v)."""
    d = sized(add(x, mul(-1.0, m)), "N").ravel()
    v = v.c * np.eye(len(d)) if isinstance(v, Eye) else np.atleast_2d(v)
    if v.shape != (len(d), len(d)):
        raise Mismatch(f"N: covariance {v.shape} for a column of {len(d)}")
    q = d @ np.linalg.solve(v, d)
    return float(np.exp(-q / 2) / np.sqrt(np.linalg.det(2 * np.pi * v)))


def of_number(f):
    """f, which refuses columns and matrices."""

    def inner(x):
        if not scalar(x):
            raise Mismatch(f"{f.__name__} of a vector or matrix")
        return float(f(float(x)))

    return inner


def of_matrix(f):
    """f, which refuses numbers (they count as one by one) and columns."""

    def inner(a):
        return float(f(square(sized(a, f.__name__), f"{f.__name__} of")))

    return inner


determinant = of_matrix(np.linalg.det)


def diag(a):
    """The diagonal matrix of a column, the diagonal of a matrix."""
    a = sized(a, "diag")
    return np.diag(a.ravel()) if 1 in a.shape else np.diag(a)[:, None]


def extreme(f):
    """max and min of arguments, or of a set of values."""
    one = of_number(float)
    return lambda *a: f(map(one, a[0] if isinstance(a[0], tuple) else a))


OF_NUMBERS = "exp log sqrt sin cos tan sinh cosh tanh arcsin arccos arctan"
BUILTIN = {f: of_number(getattr(np, f)) for f in OF_NUMBERS.split()}
BUILTIN |= {f: of_number(getattr(special, f)) for f in ("erf", "logit")}
BUILTIN |= {
    "e": of_number(np.exp),
    "factorial": of_number(lambda a: special.gamma(a + 1)),
    "ln": of_number(np.log),
    "sgn": of_number(np.sign),
    "tr": of_matrix(np.trace),
    "det": determinant,
    "diag": diag,
    "rank": lambda a: np.linalg.matrix_rank(sized(a, "rank")),
    "max": extreme(max),
    "min": extreme(min),
}
DEFAULT = {
    "cal:N": gauss,
    "cal:C": np.arange(100),  # a class is its position
    "sigma": special.expit,
    "Phi": special.ndtr,
    "Gamma": special.gamma,
    "varphi": lambda a: gauss(a, 0.0, 1.0),
    "pi": np.pi,
    "e": np.e,
    "infty": np.inf,
    "bf:0": Zero(),
    "bf:I": Eye(),
}
