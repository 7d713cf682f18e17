"""Likelihoods of a 0/1 target, PRML (4.59), (4.114), (4.117), 6.4.5.

    a      (...,)  activations, or latent values f of a Gaussian process
    t      (...,)  targets in {0, 1}; s = 2t - 1 and m = s a
    f(a)           p(t = 1 | a), whose inverse is a link of `dispersion`

A likelihood is a value that a fit takes as an argument: LOGISTIC, PROBIT,
CLOGLOG, or `flipped` of one, where labels may be wrong. Another one is made
of the two functions that `Likelihood` names, and has one mode if ln p is
concave in a.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from prml4.models import averages
from prml4.numerics import validate
from prml4.numerics.special import (
    log_normal_cdf,
    mills,
    mills_prime,
    mills_second,
    sigmoid,
)


@dataclass(frozen=True)
class Likelihood:
    """p(t|a), one activation per target, PRML (6.73).

    name             what it is called
    log_p            (a, t, order=3) -> ln p(t|a) and `order` derivatives by a
    average          (mu, s2, t) -> ln int p(t|a) N(a|mu, s2) da and its first
                     two derivatives by mu
    epsilon          chance in [0, 1/2) that a label was flipped
    """

    name: str
    log_p: Callable
    average: Callable
    epsilon: float = 0.0

    def probabilities(self, a):
        """p(t|a) for t = 0 and 1, along a new last axis."""
        a = validate.real("a", a)[..., None]
        return np.exp(self.log_p(a, np.arange(2), 0)[0])

    def predictive(self, mu, s2):
        """int p(t|a) N(a|mu, s2) da for t = 0 and 1, PRML (4.151)."""
        pair = ("mu", mu), ("s2", s2)
        mu, s2 = (validate.real(*x)[..., None] for x in pair)
        return np.exp(np.minimum(self.average(mu, s2, np.arange(2))[0], 0))

    def loss(self, t, scoring=False):
        """(a, rows, order) -> E_n = -ln p(t_n|a_n), E_n', E_n'' or its mean."""
        t = np.asarray(t)

        def terms(a, rows, order=2):
            found = [-x for x in self.log_p(a, t[rows], order)]
            if scoring and order > 1:
                found[2] = self.expected_curvature(a)
            return found

        return terms

    def expected_curvature(self, a):
        """E[E''] = f'^2 / {f (1 - f)} = -(ln f)' (ln(1 - f))', Fisher (1935).

        For LOGISTIC sigma', for PROBIT r(a) r(-a).
        """
        return -self.log_p(a, 1, 1)[1] * self.log_p(a, 0, 1)[1]


def log_logistic(a, t, order=3):
    """ln sigma(m), t - sigma(a), -sigma' and -sigma'' at a, PRML (4.88).

    With z = e^{-|m|} nothing overflows, and neither tail cancels.
    """
    s = _signs(t)
    m = s * a
    z = np.exp(-np.abs(m))
    d = 1.0 + z
    terms = [np.minimum(m, 0.0) - np.log1p(z)]
    if order > 0:
        terms.append(s * (np.where(m > 0, z, 1.0) / d))
    if order > 1:
        terms.append(-z / (d * d))
    if order > 2:
        terms.append(-terms[2] * np.tanh(np.asarray(a) / 2))
    return tuple(terms)


def log_probit(a, t, order=3):
    """ln Phi(m), s r, -r (r + m) and s r'', r = phi / Phi at m, GPML 3.4."""
    s = _signs(t)
    m = s * a
    terms = [log_normal_cdf(m)]
    for k, ladder in enumerate([mills, mills_prime, mills_second][:order]):
        terms.append(s ** (k + 1) * ladder(m))
    return tuple(terms)


def log_cloglog(a, t, order=3):
    """ln(1 - e^{-z}) or -z, z = e^a, and derivatives by a, Fisher (1922).

    h = z / (e^z - 1) = (ln f)', h' = h g, g = 1 - z - h, h'' = h' (g - h) -
    h z. Above a = 700, where f = 1, z stays at e^700.
    """
    z, t = np.exp(np.maximum(np.minimum(a, 700), -700)), np.asarray(t, bool)
    down = (-z if t.ndim == 0 else -z + 0.0 * t,) * (order + 1)
    if not t.any():
        return down
    y = -np.expm1(-z)
    h = z * np.exp(-z) / y
    far = np.log1p(-np.exp(-np.maximum(z, 1)))
    up = [np.where(np.less(a, -37), a, np.where(z < 1, np.log(y), far)), h]
    if order > 1:
        g = _gap(z, h)
        up.append(h * g)
    if order > 2:
        up.append(h * g * (g - h) - h * z)
    pairs = zip(up, down, strict=False)
    return tuple(one if t.all() else np.where(t, one, no) for one, no in pairs)


def average_cloglog(mu, s2, t=1):
    """ln Z and two derivatives for Z = int p(t|a) N(a|mu, s2) da."""
    return averages.log_concave(log_cloglog, mu, s2, t)


def _gap(z, h):
    """1 - z - h, for small z by -z/2 - z^2/12 + z^4/720."""
    low = np.minimum(z, 0.01)
    series = -low / 2 - low**2 / 12 + low**4 / 720
    return np.where(z < 0.01, series, 1 - z - h)


def _signs(t):
    """s = 2t - 1 in {-1, 1}."""
    return 2.0 * np.asarray(t, float) - 1.0


def log_likelihood(likelihood, t):
    """a -> ln p(t|a) = sum_n ln p(t_n|a_n), PRML 6.4.5, for samplers."""
    return lambda a: likelihood.log_p(a, t, 0)[0].sum(axis=-1)


LOGISTIC = Likelihood("logistic", log_logistic, averages.logistic)
PROBIT = Likelihood("probit", log_probit, averages.probit)
CLOGLOG = Likelihood("complementary log-log", log_cloglog, average_cloglog)


# Labels that may be wrong.


def flipped(likelihood, epsilon):
    """p(t|a) <- epsilon + (1 - 2 epsilon) p(t|a), PRML (4.117).

    Labels are wrong with chance epsilon. ln p is not concave any more, and
    sites of EP may get negative precisions.
    """
    validate.fitted(likelihood, Likelihood, name="likelihood")
    epsilon = validate.flip_probability(epsilon)
    if epsilon == 0:
        return likelihood
    return Likelihood(
        f"{likelihood.name}, flipped",
        partial(_flipped_log_p, likelihood.log_p, epsilon),
        partial(_flipped_average, likelihood.average, epsilon),
        epsilon + (1 - 2 * epsilon) * likelihood.epsilon,
    )


def honest_share(L, epsilon):
    """rho = (1 - 2 epsilon) p / {epsilon + (1 - 2 epsilon) p}, and 1 - rho.

    L = ln p. The chance, given t, that the label came from p and not from a
    fair coin; sigma(+-u), u = ln{(1 - 2 epsilon) p / epsilon}.
    """
    L, epsilon = validate.real("L", L), validate.flip_probability(epsilon)
    with np.errstate(divide="ignore"):  # without flips all shares are honest
        u = np.log1p(-2 * epsilon) - np.log(epsilon) + L
    return sigmoid(u), sigmoid(-u)


def _flipped_log_p(log_p, epsilon, a, t, order=3):
    """ln{epsilon + (1 - 2 epsilon) p} and its derivatives by a."""
    return _forgiven(log_p(a, t, order), epsilon)


def _flipped_average(average, epsilon, mu, s2, t=1):
    """The average of a sum is the sum of the averages, PRML (4.151)."""
    return _forgiven(average(mu, s2, t), epsilon)


def _forgiven(terms, epsilon):
    """L, L', ... of p -> those of epsilon + (1 - 2 epsilon) p.

    rho L', rho {L'' + c L'^2} and rho {L''' + 3 c L' L'' + c (c - rho) L'^3}
    with c = 1 - rho, for rho' = rho c L'.
    """
    L, *slopes = terms
    rho, c = honest_share(L, epsilon)
    total = [np.logaddexp(np.log(epsilon), np.log1p(-2 * epsilon) + L)]
    d = [np.clip(slope, -1e100, 1e100) for slope in slopes]  # beyond, rho is 0
    if len(d) > 0:
        total.append(rho * d[0])
    if len(d) > 1:
        total.append(rho * (d[1] + c * d[0] ** 2))
    if len(d) > 2:
        bend = 3 * c * d[0] * d[1] + c * (c - rho) * d[0] ** 3
        total.append(rho * (d[2] + bend))
    return tuple(total)
