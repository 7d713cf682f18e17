"""Exponential dispersion families and their links, PRML 4.3.6.

    t     (N,)  targets                        s  dispersion, var[t] = s V(y)
    y     (N,)  means of the targets, in (low, high) of the family
    eta   (N,)  natural parameters             V  variance function
    a     (N,)  linear predictors, below high of the link

A link is a = f^{-1}(y), f the activation.  The canonical ones carry the sign
and the factor that make a the natural parameter itself: -1/y for the Gamma,
-1/(2 y^2) for the inverse Gaussian.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special as scipy_special
from scipy.special import gammaln, xlog1py, xlogy

from prml4.models.likelihoods import CLOGLOG, LOGISTIC, PROBIT, Likelihood
from prml4.numerics import special, validate

TINY = np.finfo(float).tiny


class _Constant:
    """A value of this module, which pickles by its name there."""

    def __reduce__(self):
        """LOG for the link of that name: functions do not pickle."""
        return next(name for name, v in globals().items() if v is self)


@dataclass(frozen=True, eq=False)
class Link(_Constant):
    """a = f^{-1}(y), with f and its derivatives."""

    name: str
    link: Callable  # y -> a
    mean: Callable  # a -> y = f(a)
    slope: Callable  # a -> dy/da
    bend: Callable | None = None  # a -> d2y/da2, or else a likelihood
    high: float = np.inf  # a must be below
    likelihood: Likelihood | None = None  # p(t|a) where f is one of a 0/1 t

    def tails(self, a):
        """ln y and ln(1 - y), each with two derivatives, exact in both."""
        return [self.likelihood.log_p(a, t, 2)[:3] for t in (1, 0)]


IDENTITY = Link(
    name="identity",
    link=lambda y: y * 1.0,
    mean=lambda a: a * 1.0,
    slope=np.ones_like,
    bend=np.zeros_like,
)
LOG = Link(name="log", link=np.log, mean=np.exp, slope=np.exp, bend=np.exp)
LOGIT = Link(
    name="logit",
    link=special.logit,
    mean=special.sigmoid,
    slope=special.sigmoid_prime,
    likelihood=LOGISTIC,
)
PROBIT_LINK = Link(
    name="probit",
    link=scipy_special.ndtri,
    mean=special.normal_cdf,
    slope=special.normal_pdf,
    likelihood=PROBIT,
)
CLOGLOG_LINK = Link(
    name="complementary log-log",
    link=lambda y: np.log(-np.log1p(-y)),
    mean=lambda a: -np.expm1(-np.exp(a)),
    slope=lambda a: np.exp(a - np.exp(a)),  # z e^{-z}, z = e^a
    likelihood=CLOGLOG,
)
INVERSE = Link(  # y' = y^2, y'' = 2 y^3
    name="inverse",
    link=lambda y: -1 / y,
    mean=lambda a: -1 / a,
    slope=lambda a: a**-2.0,
    bend=lambda a: -2 * a**-3.0,
    high=0.0,
)
INVERSE_SQUARE = Link(  # y' = y^3, y'' = 3 y^5
    name="inverse square",
    link=lambda y: -0.5 / y**2,
    mean=lambda a: (-2 * a) ** -0.5,
    slope=lambda a: (-2 * a) ** -1.5,
    bend=lambda a: 3 * (-2 * a) ** -2.5,
    high=0.0,
)


def log_peak(x):
    """ln x^x e^{-x} / Gamma(x + 1), by Stirling's series for large x."""
    z = np.maximum(x, 100.0)
    series = 1 / (12 * z) - z**-3.0 / 360 + z**-5.0 / 1260
    exact = xlogy(x, x) - x - gammaln(x + 1.0)
    return np.where(z > x, exact, -np.log(2 * np.pi * z) / 2 - series)


@dataclass(frozen=True, eq=False)
class Family(_Constant):
    """p(t|eta, s) = h(t, s) exp({eta t - b(eta)} / s), Jorgensen (1987)."""

    name: str
    domain: str  # what t must be, in words
    allows: Callable  # t -> is it?
    low: float  # the mean is above, t may not
    high: float  # and below
    natural: Callable  # y -> eta
    b: Callable  # eta -> b, the mean is b' and V is b''
    variance: Callable  # y -> V
    variance_slope: Callable  # y -> dV/dy
    half_deviance: Callable  # t, y -> {eta t - b}(t) - {eta t - b}(y)
    log_h: Callable  # t, s -> ln h
    largest: Callable  # t, s -> ln p at y = t, where no large terms cancel
    s: float | None  # the dispersion, None where it is estimated
    links: tuple  # those offered, the canonical one first


GAUSSIAN = Family(
    name="Gaussian", domain="real", allows=np.isfinite,
    low=-np.inf, high=np.inf,
    natural=lambda y: y * 1.0,
    b=lambda eta: eta**2 / 2,
    variance=np.ones_like, variance_slope=np.zeros_like,
    half_deviance=lambda t, y: (t - y) ** 2 / 2,
    log_h=lambda t, s: -(t**2) / (2 * s) - np.log(2 * np.pi * s) / 2,
    largest=lambda t, s: -np.log(2 * np.pi * s) / 2,
    s=None, links=(IDENTITY, LOG, INVERSE),
)  # fmt: skip
BERNOULLI = Family(
    name="Bernoulli", domain="in [0, 1]",
    allows=lambda t: (t >= 0) & (t <= 1),
    low=0.0, high=1.0,
    natural=special.logit,
    b=special.softplus,
    variance=lambda y: y * (1 - y), variance_slope=lambda y: 1 - 2 * y,
    half_deviance=lambda t, y: xlogy(t, t) + xlog1py(1 - t, -t)
    - xlogy(t, y) - xlog1py(1 - t, -y),
    log_h=lambda t, s: gammaln(1 / s + 1) - gammaln(t / s + 1)
    - gammaln((1 - t) / s + 1),
    largest=lambda t, s: log_peak(t / s) + log_peak((1 - t) / s)
    - log_peak(1 / s),
    s=1.0, links=(LOGIT, PROBIT_LINK, CLOGLOG_LINK),
)  # fmt: skip
POISSON = Family(
    name="Poisson", domain="0, 1, 2, ...",
    allows=lambda t: (t >= 0) & (t == np.floor(t)),
    low=0.0, high=np.inf,
    natural=np.log,
    b=np.exp,
    variance=lambda y: y * 1.0, variance_slope=np.ones_like,
    half_deviance=lambda t, y: y - t + t * np.log(np.maximum(t, TINY) / y),
    log_h=lambda t, s: -t / s * np.log(s) - gammaln(t / s + 1),
    largest=lambda t, s: log_peak(t / s),
    s=1.0, links=(LOG, IDENTITY),
)  # fmt: skip
GAMMA = Family(
    name="Gamma", domain="positive", allows=lambda t: t > 0,
    low=0.0, high=np.inf,
    natural=lambda y: -1 / y,
    b=lambda eta: -np.log(-eta),
    variance=np.square, variance_slope=lambda y: 2 * y,
    half_deviance=lambda t, y: t / y - 1 - np.log(t / y),
    log_h=lambda t, s: (1 / s - 1) * np.log(t) - np.log(s) / s
    - gammaln(1 / s),
    largest=lambda t, s: log_peak(1 / s) - np.log(s) - np.log(t),
    s=None, links=(INVERSE, LOG, IDENTITY),
)  # fmt: skip
INVERSE_GAUSSIAN = Family(
    name="inverse Gaussian", domain="positive", allows=lambda t: t > 0,
    low=0.0, high=np.inf,
    natural=lambda y: -0.5 / y**2,
    b=lambda eta: -np.sqrt(-2 * eta),
    variance=lambda y: y**3, variance_slope=lambda y: 3 * y**2,
    half_deviance=lambda t, y: (t - y) ** 2 / (2 * y**2 * t),
    log_h=lambda t, s: -0.5 / (s * t) - np.log(2 * np.pi * s * t**3) / 2,
    largest=lambda t, s: -np.log(2 * np.pi * s * t**3) / 2,
    s=None,
    links=(INVERSE_SQUARE, INVERSE, LOG, IDENTITY),
)  # fmt: skip
FAMILIES = (GAUSSIAN, BERNOULLI, POISSON, GAMMA, INVERSE_GAUSSIAN)


def log_density(family, t, y, s=1.0):
    """ln p(t|eta, s) = {eta t - b(eta)} / s + ln h(t, s), eta = eta(y).

    As the largest there is, less half the deviance: far from 0 the terms are
    large and their sum is not. Coins and counts whose mean is at the end of
    its range are certain.
    """
    validate.fitted(family, Family, name="family")
    t, y, s = (validate.real(*v) for v in (("t", t), ("y", y), ("s", s)))
    if not np.all(s > 0):
        raise ValueError(f"s must be > 0; got {s}")
    with np.errstate(divide="ignore", invalid="ignore"):
        eta, less = family.natural(y), family.half_deviance(t, y)
    certain = np.where(t == y, 0.0, np.inf)
    less = np.where(np.isfinite(eta), less, certain)
    return family.largest(t, s) - less / s


def factor(family, link, a):
    """a -> d eta / d a, d2 eta / d a2; 1 and 0 for the canonical link.

    From dy = V d eta: eta' = y' / V, eta'' = (y'' - V' y' eta') / V.
    """
    if link is family.links[0]:
        return np.ones_like(a), np.zeros_like(a)
    if link.likelihood:  # eta = ln y - ln(1 - y)
        (_, up, up2), (_, down, down2) = link.tails(a)
        return up - down, up2 - down2
    y, slope = link.mean(a), link.slope(a)
    V, first = family.variance(y), slope / family.variance(y)
    bend = link.bend(a) - family.variance_slope(y) * slope * first
    return first, bend / V


def row_terms(family, link, a, t):
    """E_n, (y - t) eta', V eta'^2, (y - t) eta'': the rows' share of all.

    E_n is infinite outside the domain, where the others mean nothing, and
    where a mean that is no share is too small or too large for a double.
    """
    if link.likelihood:
        (p, p1, p2), (q, q1, q2) = link.tails(a)
        best = xlogy(t, t) + xlog1py(1 - t, -t)
        expected = np.exp(p) * p1**2 + np.exp(q) * q1**2
        observed = -t * p2 - (1 - t) * q2
        E, slope = best - t * p - (1 - t) * q, -t * p1 - (1 - t) * q1
        return E, slope, expected, observed - expected
    y = link.mean(a)
    first, second = factor(family, link, a)
    inside = (a < link.high) & (y > family.low)
    E = np.where(inside, family.half_deviance(t, y), np.inf)
    expected = family.variance(y) * first**2
    return E, (y - t) * first, expected, (y - t) * second


def pearson_residual(family, link, a, t):
    """(t - y) / sqrt(V), y = f(a); for a share -(y - t) eta' / sqrt(V eta'^2).

    So a coin has it also where y is 1 to the last digit.
    """
    with np.errstate(all="ignore"):
        y = link.mean(a)
        off, V = t - y, family.variance(y)
        if link.likelihood:
            _, slope, V, _ = row_terms(family, link, a, t)
            off = -slope
        return np.divide(
            off, np.sqrt(V), out=np.zeros_like(off), where=off != 0
        )


def unit_deviance(t, y, family):
    """d = 2 ({eta t - b(eta)} at y = t, less the same at y), >= 0."""
    validate.fitted(family, Family, name="family")
    return 2 * family.half_deviance(
        validate.real("t", t), validate.real("y", y)
    )


def side(family, link):
    """1 where a must be > 0, -1 where a must be < 0, 0 on the whole line."""
    if link.high == 0:
        return -1
    return int(link is IDENTITY and family.low == 0)
