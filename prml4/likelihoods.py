"""Likelihoods of a latent value: what Laplace and EP ask of them, PRML 6.4.5.

    f      (...,)  latent values, PRML's a
    t      (...,)  targets in {0, 1}; inside, s = 2t - 1 and m = s f
    ln p           ln p(t | f) = ln sigma(m) (logistic), ln Phi(m) (probit)

A likelihood is a value: inference takes LOGISTIC or PROBIT as an argument and
knows neither of them. Another one needs the two functions, and ln p concave
in f if the mode is to be the only one. The averages over f ~ N(mu, s2) and
their derivatives by mu are those of `averages`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prml4 import averages
from prml4.special import (
    log_normal_cdf,
    log_sigmoid,
    mills,
    mills_prime,
    mills_second,
    sigmoid,
)


@dataclass(frozen=True)
class Likelihood:
    """p(t | f), one latent value per target, PRML (6.73) and (4.114)."""

    name: str
    log_p: Callable  # (f, t, order=3) -> ln p and its first `order` derivatives
    average: Callable  # (mu, s2, t) -> ln int p N(f|mu, s2) df, two derivatives


def log_logistic(f, t, order=3):
    """ln sigma(m), t - sigma(f), -sigma' and -sigma'' at f, PRML (4.88).

    One pass for all of them: y = sigma(-m) is what the target still lacks.
    """
    s = _signs(t)
    y = sigmoid(-s * f)
    terms = [log_sigmoid(s * f), s * y]
    if order > 1:
        slope = y * sigmoid(s * f)
        terms += [-slope, slope * np.tanh(np.asarray(f) / 2)]
    return tuple(terms[: order + 1])


def log_probit(f, t, order=3):
    """ln Phi(m), s r, -r (r + m) and s r'', r = phi / Phi at m, GPML 3.4."""
    s = _signs(t)
    m = s * f
    terms = [log_normal_cdf(m)]
    for k, ladder in enumerate([mills, mills_prime, mills_second][:order]):
        terms.append(s ** (k + 1) * ladder(m))
    return tuple(terms)


def log_likelihood(likelihood, t):
    """f -> ln p(t | f) = sum_n ln p(t_n | f_n), PRML 6.4.5, for samplers."""
    return lambda f: likelihood.log_p(f, t, 0)[0].sum(axis=-1)


def _signs(t):
    """s = 2t - 1 in {-1, 1}."""
    return 2.0 * np.asarray(t, float) - 1.0


LOGISTIC = Likelihood("logistic", log_logistic, averages.logistic)
PROBIT = Likelihood("probit", log_probit, averages.probit)
