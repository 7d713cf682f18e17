"""Data sets and generators, each with its source and its meaning of class 1.

    X  (N, D)  inputs, one row per observation, without the constant column
    t  (N,)    targets, 0.0 or 1.0

Counts and groups come without X and t, as what they are. The full citations
stand in the book's bibliography. Some sets are bundled with scikit-learn or
statsmodels, which `pip install "prml4[data]"` brings along.
"""

from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np

from prml4.numerics import validate
from prml4.numerics.result import Result
from prml4.numerics.special import sigmoid


@dataclass(frozen=True, eq=False)
class Data(Result):
    """Inputs and targets of a classification problem.

    X       (N, D)  inputs
    t       (N,)    targets in {0, 1} or {0, ..., K - 1}, as floats
    names   (D,)    names of the columns, with units where there are any
    source          where the numbers come from
    """

    X: np.ndarray
    t: np.ndarray
    names: tuple[str, ...]
    source: str


@dataclass(frozen=True, eq=False)
class Flights(Data):
    """The shuttle's flights, with the counts behind the targets.

    X        (N, 1)  temperature of the joints
    t        (N,)    1.0: at least one O-ring was damaged
    names    (1,)    name of the column, with its unit
    source           where the numbers come from
    damaged  (N,)    how many of the six primary O-rings
    """

    damaged: np.ndarray


@dataclass(frozen=True, eq=False)
class Rates(Data):
    """Events, counted, and what they were counted over.

    X         (N, D)  inputs
    t         (N,)    numbers of events
    names     (D,)    names of the columns
    source            where the numbers come from
    exposure  (N,)    person-years
    """

    exposure: np.ndarray


@dataclass(frozen=True, eq=False)
class Counts(Result):
    """How often something happened, per unit of observation.

    x       (N,)  counts
    source        where the numbers come from
    """

    x: np.ndarray
    source: str


@dataclass(frozen=True, eq=False)
class Groups(Result):
    """Trials with the same input, counted.

    x       (J,)  input of each group
    k       (J,)  successes
    n       (J,)  trials
    name          of the input, with its unit
    source        where the numbers come from
    """

    x: np.ndarray
    k: np.ndarray
    n: np.ndarray
    name: str
    source: str


def with_bias(X):
    """Phi = (1, X): phi_0(x) = 1 goes first, PRML (3.3). X: (N, D) or (N,)."""
    X = validate.points(X)
    return np.column_stack([np.ones(len(X)), X])


def standardise(X):
    """(X - mean) / scale, mean and scale, by column; scale^2 = sum (..)^2 / N.

    A constant column becomes zero: its scale is set to 1.
    """
    X = validate.design(X, "X")
    unit = np.exp2(np.frexp(np.abs(X).max(axis=0))[1])  # exact; no underflow
    mean, scale = X.mean(axis=0), (X / unit).std(axis=0) * unit
    constant = np.ptp(X, axis=0) == 0.0
    if (scale[~constant] < np.finfo(float).tiny).any():
        raise ValueError(
            "X must have standard deviations of 2e-308 or more, or 0; got "
            f"{scale[~constant].min():.1e}: change units"
        )
    mean[constant], scale[constant] = X[0, constant], 1.0
    return (X - mean) / scale, mean, scale


# Bundled with other libraries.


def _bundled(module, load):
    """What a loader of another library returns, or which extra brings it."""
    try:
        return getattr(import_module(module), load)()
    except ImportError as missing:
        raise ImportError(
            f"{module} holds this data set and is not installed; "
            'pip install "prml4[data]" brings it'
        ) from missing


def _table(load, source, names=None):
    """A table of scikit-learn's, class numbers as floats."""
    table = _bundled("sklearn.datasets", f"load_{load}")
    names = tuple(map(str, names or table.feature_names))
    return Data(table.data, table.target.astype(float), names, source)


def breast_cancer(*, standardised=False):
    """569 tumours, thirty features; t = 1 is malignant (Street et al. 1993).

    scikit-learn codes malignant as 0: turned round here, so that class 1 is
    the disease. The classes are linearly separable in these thirty features.
    """
    d = _table("breast_cancer", "Street, Wolberg and Mangasarian (1993)")
    X = standardise(d.X)[0] if standardised else d.X
    return replace(d, X=X, t=1.0 - d.t)


def breast_cancer_mean(*, standardised=False):
    """The ten features that are means over nuclei (Street et al. 1993).

    t = 1 is malignant. In these ten features the classes overlap.
    """
    d = breast_cancer(standardised=standardised)
    X = np.ascontiguousarray(d.X[:, :10])
    return replace(d, X=X, names=d.names[:10])


def iris():
    """150 irises of three species, four measures in cm (Fisher 1936).

    t = 0 is setosa, 1 versicolor, 2 virginica; fifty flowers of each.
    """
    return _table("iris", "Fisher (1936)")


def wine():
    """178 wines of three cultivars, thirteen chemical measures (Forina 1988).

    t = 0 is Barolo (59 wines), 1 Grignolino (71), 2 Barbera (48).
    """
    return _table("wine", "Forina et al. (1988), PARVUS")


def digits(*, binarised=False):
    """1797 handwritten digits, 8 x 8 pixels (Alpaydin and Kaynak 1998).

    A pixel counts inked points, 0 to 16; binarised, it is 1 from 8 on.
    """
    names = [f"row {i}, column {j}" for i, j in np.ndindex(8, 8)]
    d = _table("digits", "Alpaydin and Kaynak (1998)", names)
    return replace(d, X=(d.X >= 8.0).astype(float)) if binarised else d


def diabetes():
    """442 patients, ten measurements, a year later (Efron et al. 2004).

    t = 1: the disease went further than in half of the patients, the median
    being left out of class 1. Columns have mean 0 and one common length.
    """
    d = _table("diabetes", "Efron, Hastie, Johnstone and Tibshirani (2004)")
    return replace(d, t=(d.t > np.median(d.t)).astype(float))


def carbon_dioxide():
    """Monthly CO2 on Mauna Loa, 1958 to 2001 (Keeling and Whorf 2004).

    X is the time in years, the middle of the month; t the mean of the month's
    weekly values in parts per million. Months without a value are left out.
    """
    weekly = _bundled("statsmodels.datasets.co2", "load").data["co2"].dropna()
    month = 12 * weekly.index.year + weekly.index.month - 1
    number, start, n = np.unique(month, return_index=True, return_counts=True)
    X = ((number + 0.5) / 12)[:, None]
    t = np.add.reduceat(weekly.to_numpy(dtype=float), start) / n
    return Data(X, t, ("year",), "Keeling and Whorf (2004)")


# Numbers that stand here.


# One pair per flight, in order of launch: temperature of the joints in
# degrees Fahrenheit, primary O-rings of six with erosion or blow-by.
FLIGHTS = [
    *[(66, 0), (70, 1), (69, 0), (68, 0), (67, 0), (72, 0), (73, 0), (70, 0)],
    *[(57, 1), (63, 1), (70, 1), (78, 0), (67, 0), (53, 2), (67, 0), (75, 0)],
    *[(70, 0), (81, 0), (76, 0), (79, 0), (75, 2), (76, 0), (58, 1)],
]


def challenger():
    """23 shuttle flights before 28 January 1986 (Dalal et al. 1989).

    t = 1: at least one of the six primary O-rings showed thermal distress.
    """
    temperature, damaged = (a.copy() for a in np.array(FLIGHTS, float).T)
    X, t = temperature[:, None], (damaged > 0).astype(float)
    source = "Dalal, Fowlkes and Hoadley (1989)"
    return Flights(X, t, ("temperature (°F)",), source, damaged)


def horse_kicks():
    """Deaths by horse kick in 200 Prussian corps-years (Bortkiewicz 1898).

    Ten corps, 1875 to 1894: 109 years of a corps without such a death, 65
    with one, 22 with two, 3 with three, 1 with four.
    """
    x = np.repeat(np.arange(5.0), [109, 65, 22, 3, 1])
    return Counts(x, "von Bortkiewicz (1898)")


# log10 of the dose, beetles exposed, beetles killed.
BEETLES = [
    *[(1.6907, 59, 6), (1.7242, 60, 13), (1.7552, 62, 18), (1.7842, 56, 28)],
    *[(1.8113, 63, 52), (1.8369, 59, 53), (1.8610, 62, 61), (1.8839, 60, 60)],
]


def beetles():
    """481 flour beetles, five hours in carbon disulphide (Bliss 1935).

    Eight groups by log10 of the concentration in mg/l; k of n were killed.
    """
    x, n, k = (a.copy() for a in np.array(BEETLES).T)
    return Groups(x, k, n, "log10 of CS2 (mg/l)", "Bliss (1935)")


def aids():
    """New cases of AIDS in Belgium, 1981 to 1993 (Venables and Ripley 2002).

    X is the year, t the number of cases.
    """
    X = np.arange(1981.0, 1994.0)[:, None]
    t = [12, 14, 33, 50, 67, 74, 123, 141, 165, 204, 253, 246, 240]
    return Data(X, np.array(t, float), ("year",), "Venables and Ripley (2002)")


def clotting():
    """Clotting times of plasma, two lots of an agent (Hurn et al. 1945).

    X is the concentration of normal plasma in per cent and the lot, 0 or 1;
    t the mean of five times in seconds.
    """
    u = [5, 10, 15, 20, 30, 40, 60, 80, 100]
    first = [118, 58, 42, 35, 27, 25, 21, 19, 18]
    second = [69, 35, 26, 21, 18, 16, 13, 12, 12]
    X = np.column_stack([u + u, np.repeat([0.0, 1.0], 9)])
    source = "Hurn, Barker and Magath (1945); McCullagh and Nelder (1989)"
    return Data(
        X, np.array(first + second, float), ("plasma (%)", "lot"), source
    )


def coronary():
    """Coronary deaths among British doctors (Doll and Hill 1966).

    X is the age in decades about 40, 0 to 4, and whether they smoked;
    t the number of deaths in so many person-years of exposure.
    """
    X = np.column_stack([np.tile(np.arange(5.0), 2), np.repeat([1.0, 0], 5)])
    t = [32, 104, 206, 186, 102, 2, 12, 28, 28, 31]
    smokers = [52407, 43248, 28612, 12663, 5317]
    exposure = np.array([*smokers, 18790, 10673, 5710, 2585, 1462], float)
    names = "decades of age beyond 40", "smoker"
    source = "Doll and Hill (1966); Breslow and Day (1987)"
    return Rates(X, np.array(t, float), names, source, exposure)


# Generated data.


def draw_targets(rng, Phi, w):
    """t_n ~ Bern(sigma(w^T phi_n)), what logistic regression assumes (4.87)."""
    validate.fitted(rng, np.random.Generator, name="rng")
    Phi = validate.design(Phi)
    y = sigmoid(Phi @ validate.vector("w", w, Phi.shape[1], "column of Phi"))
    return (rng.random(len(y)) < y).astype(float)


def two_gaussians(rng, N, *, means=((-1, 0), (1, 0))):
    """x | C_k ~ N(means[k], I), p(C_1) = 1/2, PRML (4.64): they overlap."""
    validate.fitted(rng, np.random.Generator, name="rng")
    N, means = validate.whole("N", N, 0), validate.design(means, "means")
    if len(means) != 2:
        raise ValueError(f"means must be two rows; got shape {means.shape}")
    t = (rng.random(N) < 0.5).astype(float)
    X = means[t.astype(int)] + rng.standard_normal((N, means.shape[1]))
    names = tuple(f"x{i + 1}" for i in range(X.shape[1]))
    return Data(X, t, names, "drawn from two Gaussians, p(C_1) = 1/2")
