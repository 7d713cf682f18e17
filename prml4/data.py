"""Data sets and generators, each with its source and its meaning of class 1.

    X  (N, D)  inputs, one row per observation, without the constant column
    t  (N,)    targets, 0.0 or 1.0
    w  (M,)    weights, M = D + 1, the bias first as in with_bias

scikit-learn is needed for its own sets only, and imported there.
"""

from dataclasses import dataclass

import numpy as np

from prml4 import validate
from prml4.special import sigmoid


@dataclass(frozen=True, eq=False)
class Data:
    """Inputs and targets of a classification problem."""

    X: np.ndarray  # (N, D) inputs
    t: np.ndarray  # (N,) targets in {0, 1} or {0, ..., K - 1}, as floats
    names: tuple[str, ...]  # D names, with units where there are any
    source: str  # where the numbers come from


@dataclass(frozen=True, eq=False)
class Flights(Data):
    """The shuttle's flights, with the counts behind the targets."""

    damaged: np.ndarray  # (N,) how many of the six primary O-rings


@dataclass(frozen=True, eq=False)
class Sample(Data):
    """Drawn data, with the truth they were drawn from."""

    w: np.ndarray  # (M,) true log odds are with_bias(X) @ w


def with_bias(X):
    """Phi = (1, X): phi_0(x) = 1 goes first, PRML (3.3). X: (N, D) or (N,)."""
    X = validate.real("X", X)
    X = validate.design(X[:, None] if X.ndim == 1 else X, "X")
    return np.column_stack([np.ones(len(X)), X])


def standardise(X):
    """(X - mean) / scale, mean and scale, by column; scale^2 = sum (..)^2 / N.

    A constant column becomes zero: its scale is set to 1.
    """
    X = validate.design(X, "X")
    mean, scale = X.mean(axis=0), X.std(axis=0)
    constant = np.ptp(X, axis=0) == 0.0
    mean[constant], scale[constant] = X[0, constant], 1.0
    return (X - mean) / scale, mean, scale


# Measured data.


def breast_cancer(*, standardised=False):
    """569 tumours, thirty features; t = 1 is malignant (Street et al. 1993).

    scikit-learn codes malignant as 0: turned round here, so that class 1 is
    the disease. The classes are linearly separable in these thirty features.
    """
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    return Data(
        X=standardise(table.data)[0] if standardised else table.data,
        t=1.0 - table.target,
        names=tuple(map(str, table.feature_names)),
        source=(
            "Street, Wolberg and Mangasarian (1993), Nuclear feature "
            "extraction for breast tumor diagnosis, SPIE 1905, 861-870"
        ),
    )


def breast_cancer_mean(*, standardised=False):
    """The ten features that are means over nuclei (Street et al. 1993).

    t = 1 is malignant. In these ten features the classes overlap.
    """
    full = breast_cancer(standardised=standardised)
    X = np.ascontiguousarray(full.X[:, :10])
    return Data(X=X, t=full.t, names=full.names[:10], source=full.source)


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
    temperature, damaged = np.array(FLIGHTS, dtype=float).T
    return Flights(
        X=temperature[:, None].copy(),
        t=(damaged > 0).astype(float),
        names=("temperature (°F)",),
        source=(
            "Dalal, Fowlkes and Hoadley (1989), Risk analysis of the space "
            "shuttle: pre-Challenger prediction of failure, Journal of the "
            "American Statistical Association 84, 945-957"
        ),
        damaged=damaged.copy(),
    )


# Generated data.


def draw_targets(rng, Phi, w):
    """t_n ~ Bern(sigma(w^T phi_n)), what logistic regression assumes (4.87)."""
    y = sigmoid(validate.design(Phi) @ np.asarray(w, dtype=float))
    return (rng.random(len(y)) < y).astype(float)


def two_gaussians(rng, N, *, means=((-1, 0), (1, 0)), cov=None, prior=0.5):
    """x | C_k ~ N(means[k], cov), p(C_1) = prior: log odds as PRML (4.65-67).

    cov is the identity unless given. The classes overlap: no line separates
    a large sample, and the best error is that of the true w.
    """
    means = np.asarray(means, dtype=float)
    D = means.shape[1]
    cov = np.eye(D) if cov is None else np.asarray(cov, dtype=float)
    t = (rng.random(N) < prior).astype(float)
    L = np.linalg.cholesky(cov)
    X = means[t.astype(int)] + rng.standard_normal((N, D)) @ L.T
    slope = np.linalg.solve(cov, means[1] - means[0])
    bias = -slope @ means.sum(axis=0) / 2 + np.log(prior / (1 - prior))
    return Sample(
        X=X,
        t=t,
        names=tuple(f"x{i + 1}" for i in range(D)),
        source=f"drawn from two Gaussians, p(C_1) = {prior}",
        w=np.concatenate([[bias], slope]),
    )


def separable(rng, N, *, D=2, margin=0.5):
    """s_n u^T x_n >= margin, s_n = 2 t_n - 1, u a random direction, |u| = 1.

    The classes differ in size by at most one; w = (0, u). The true posterior
    is a step, the limit of sigma(c w^T phi) as c grows.
    """
    u = rng.standard_normal(D)
    u /= np.linalg.norm(u)
    t = rng.permutation(np.arange(N) % 2).astype(float)
    X = rng.standard_normal((N, D))
    along = X @ u
    wanted = (2.0 * t - 1.0) * (np.abs(along) + margin)
    return Sample(
        X=X + np.outer(wanted - along, u),
        t=t,
        names=tuple(f"x{i + 1}" for i in range(D)),
        source=f"drawn with margin {margin} around a hyperplane",
        w=np.concatenate([[0.0], u]),
    )


# Three classes and more: t holds 0.0, 1.0, ..., K - 1.


def iris():
    """150 irises of three species, four measures in cm (Fisher 1936).

    t = 0 is setosa, 1 versicolor, 2 virginica; fifty flowers of each.
    """
    from sklearn.datasets import load_iris

    table = load_iris()
    return Data(
        X=table.data,
        t=table.target.astype(float),
        names=tuple(map(str, table.feature_names)),
        source=(
            "Fisher (1936), The use of multiple measurements in taxonomic "
            "problems, Annals of Eugenics 7, 179-188"
        ),
    )


def wine():
    """178 wines of three cultivars, thirteen chemical measures (Forina 1988).

    t = 0 is Barolo (59 wines), 1 Grignolino (71), 2 Barbera (48).
    """
    from sklearn.datasets import load_wine

    table = load_wine()
    return Data(
        X=table.data,
        t=table.target.astype(float),
        names=tuple(map(str, table.feature_names)),
        source=(
            "Forina et al. (1988), PARVUS: an extendible package for data "
            "exploration, classification and correlation, Genoa"
        ),
    )


# Counts, without classes.


@dataclass(frozen=True, eq=False)
class Counts:
    """How often something happened, per unit of observation."""

    x: np.ndarray  # (N,) counts
    source: str  # where the numbers come from


def horse_kicks():
    """Deaths by horse kick in 200 Prussian corps-years (Bortkiewicz 1898).

    Ten corps, 1875 to 1894: 109 years of a corps without such a death, 65
    with one, 22 with two, 3 with three, 1 with four.
    """
    return Counts(
        x=np.repeat(np.arange(5.0), [109, 65, 22, 3, 1]),
        source=(
            "von Bortkiewicz (1898), Das Gesetz der kleinen Zahlen, Leipzig: "
            "Teubner"
        ),
    )


# Pictures.


def digits(*, binarised=False):
    """1797 handwritten digits, 8 x 8 pixels (Alpaydin and Kaynak 1998).

    A pixel counts inked points, 0 to 16; binarised, it is 1 from 8 on.
    """
    from sklearn.datasets import load_digits

    table = load_digits()
    return Data(
        X=(table.data >= 8.0).astype(float) if binarised else table.data,
        t=table.target.astype(float),
        names=tuple(f"row {i}, column {j}" for i, j in np.ndindex(8, 8)),
        source=(
            "Alpaydin and Kaynak (1998), Optical recognition of handwritten "
            "digits, UCI Machine Learning Repository"
        ),
    )


# Groups: how many of n answered to a dose.


@dataclass(frozen=True, eq=False)
class Groups:
    """Trials with the same input, counted."""

    x: np.ndarray  # (J,) input of each group
    k: np.ndarray  # (J,) successes
    n: np.ndarray  # (J,) trials
    name: str  # of the input, with its unit
    source: str  # where the numbers come from


# log10 of the dose, beetles exposed, beetles killed.
BEETLES = [
    *[(1.6907, 59, 6), (1.7242, 60, 13), (1.7552, 62, 18), (1.7842, 56, 28)],
    *[(1.8113, 63, 52), (1.8369, 59, 53), (1.8610, 62, 61), (1.8839, 60, 60)],
]


def beetles():
    """481 flour beetles, five hours in carbon disulphide (Bliss 1935).

    Eight groups by log10 of the concentration in mg/l; k of n were killed.
    """
    x, n, k = np.array(BEETLES).T
    return Groups(
        x=x.copy(),
        k=k.copy(),
        n=n.copy(),
        name="log10 of CS2 (mg/l)",
        source=(
            "Bliss (1935), The calculation of the dosage-mortality curve, "
            "Annals of Applied Biology 22, 134-167"
        ),
    )


# Responses that are no classes: counts and times.


@dataclass(frozen=True, eq=False)
class Rates(Data):
    """Events, counted, and what they were counted over."""

    exposure: np.ndarray  # (N,) person-years


def aids():
    """New cases of AIDS in Belgium, 1981 to 1993 (Venables and Ripley 2002).

    X is the year, t the number of cases.
    """
    t = [12, 14, 33, 50, 67, 74, 123, 141, 165, 204, 253, 246, 240]
    return Data(
        X=np.arange(1981.0, 1994.0)[:, None],
        t=np.array(t, dtype=float),
        names=("year",),
        source=(
            "Venables and Ripley (2002), Modern Applied Statistics with S, "
            "fourth edition, Springer"
        ),
    )


def clotting():
    """Clotting times of plasma, two lots of an agent (Hurn et al. 1945).

    X is the concentration of normal plasma in per cent and the lot, 0 or 1;
    t the mean of five times in seconds.
    """
    u = [5, 10, 15, 20, 30, 40, 60, 80, 100]
    first = [118, 58, 42, 35, 27, 25, 21, 19, 18]
    second = [69, 35, 26, 21, 18, 16, 13, 12, 12]
    return Data(
        X=np.column_stack([u + u, np.repeat([0.0, 1.0], 9)]).astype(float),
        t=np.array(first + second, dtype=float),
        names=("plasma (%)", "lot"),
        source=(
            "Hurn, Barker and Magath (1945), The determination of prothrombin "
            "time following the administration of dicumarol, Journal of "
            "Laboratory and Clinical Medicine 30, 432-447; McCullagh and "
            "Nelder (1989), section 8.4.2"
        ),
    )


def coronary():
    """Coronary deaths among British doctors (Doll and Hill 1966).

    X is the age in decades about 40, 0 to 4, and whether they smoked;
    t the number of deaths in so many person-years of exposure.
    """
    smokers = [32, 104, 206, 186, 102], [52407, 43248, 28612, 12663, 5317]
    others = [2, 12, 28, 28, 31], [18790, 10673, 5710, 2585, 1462]
    return Rates(
        X=np.column_stack([np.tile(np.arange(5.0), 2), np.repeat([1.0, 0], 5)]),
        t=np.array(smokers[0] + others[0], dtype=float),
        names=("decades of age beyond 40", "smoker"),
        source=(
            "Doll and Hill (1966), Mortality of British doctors in relation "
            "to smoking, National Cancer Institute Monograph 19, 205-268; "
            "Breslow and Day (1987), Statistical Methods in Cancer Research II"
        ),
        exposure=np.array(smokers[1] + others[1], dtype=float),
    )


# A curve in time: regression.


def carbon_dioxide():
    """Monthly CO2 on Mauna Loa, 1958 to 2001 (Keeling and Whorf 2004).

    X is the time in years, the middle of the month; t the mean of the month's
    weekly values in parts per million. Months without a value are left out.
    """
    from statsmodels.datasets import co2

    weekly = co2.load().data["co2"].dropna()
    month = 12 * weekly.index.year + weekly.index.month - 1
    number, start, n = np.unique(month, return_index=True, return_counts=True)
    return Data(
        X=((number + 0.5) / 12)[:, None],
        t=np.add.reduceat(weekly.to_numpy(dtype=float), start) / n,
        names=("year",),
        source=(
            "Keeling and Whorf (2004), Atmospheric CO2 concentrations derived "
            "from flask air samples, Carbon Dioxide Information Analysis "
            "Center, Oak Ridge; as bundled with statsmodels"
        ),
    )


def diabetes():
    """442 patients, ten measurements, a year later (Efron et al. 2004).

    t = 1: the disease went further than in half of the patients, the median
    being left out of class 1. Columns have mean 0 and one common length.
    """
    from sklearn.datasets import load_diabetes

    table = load_diabetes()
    return Data(
        X=table.data,
        t=(table.target > np.median(table.target)).astype(float),
        names=tuple(map(str, table.feature_names)),
        source=(
            "Efron, Hastie, Johnstone and Tibshirani (2004), Least angle "
            "regression, Annals of Statistics 32, 407-499; as bundled with "
            "scikit-learn"
        ),
    )
