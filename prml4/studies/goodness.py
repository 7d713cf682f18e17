"""How well a GLM fits and what its weights are worth, of chapter 11.

    fit  a GLMFit            Phi  (N, M)  and t (N,), its data
    y    (N,)  fitted means  c    (N,)    observation weights, those > 0
    V    (N,)  V(y)          s            dispersion

Logistic and probit regressions come as glm.fit(Phi, t, BERNOULLI, link). Where
their targets are shares of groups, c_n is the size of group n, and the
likelihood is that of the counts c_n t_n: a binomial one, s = 1 / c_n.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.optimize import minimize_scalar

from prml4 import glm
from prml4.models import dispersion
from prml4.numerics import validate
from prml4.numerics.result import Result


def log_likelihood(fit, Phi, t, s=None):
    """sum_n c_n ln p(t_n|y_n, s); s at its best for these y if not given.

    A family whose dispersion is known has s = 1.
    """
    given, _, c = _rows(fit, Phi, t)
    half_deviance, _ = _terms(fit, given)

    def ln_p(s):
        return fit.family.largest(given.t, s) - half_deviance / s

    if glm.grouped(fit.family, given.t):
        return float(ln_p(1 / c).sum())
    s = fit.family.s if s is None else validate.positive("s", s)
    if s is None:
        unit = float(c @ (given.t**2 / fit.family.variance(given.t)))
        if not fit.deviance > 1e-20 * unit:
            raise ValueError(
                "fit must leave a deviance, or its likelihood grows for ever "
                f"as s -> 0; got {fit.deviance:.1e}"
            )
        near = np.log(fit.deviance / c.sum()) + np.array([-1.0, 1.0])
        s = np.exp(minimize_scalar(lambda u: -c @ ln_p(np.exp(u)), near).x)
    return float(c @ ln_p(s))


@dataclass(frozen=True, eq=False)
class Criteria(Result):
    """What a model pays for its fit, PRML 1.3 and (4.139).

    log_likelihood  at its maximum, in s as well
    parameters      M, one more where s is estimated
    aic             -2 log_likelihood + 2 parameters, Akaike (1974)
    bic             -2 log_likelihood + parameters ln N, Schwarz (1978); groups
                    count once
    """

    log_likelihood: float
    parameters: int
    aic: float
    bic: float


def _no_prior(*fits):
    """Or a ValueError: what a prior shrinks obeys other laws."""
    for fit in fits:
        if validate.fitted(fit, glm.GLMFit).alpha.any():
            raise ValueError(
                "fit must be one of maximum likelihood; got alpha = "
                f"{fit.alpha}"
            )


def _leaves_noise(name, fit):
    """Or a ValueError: s is estimated from what a fit leaves."""
    if not fit.dispersion > 0:
        raise ValueError(
            f"{name} must have more rows than weights and leave a deviance, or "
            f"s cannot be estimated; got {fit.freedom:g} degrees of freedom "
            f"and a deviance of {fit.deviance:.1e}"
        )


def criteria(fit, Phi, t):
    """ln L, AIC = 2 k - 2 ln L and BIC = k ln N - 2 ln L of a fit, no prior."""
    _no_prior(fit)
    L, M = log_likelihood(fit, Phi, t), len(fit.w)
    k, N = M + (fit.family.s is None), fit.freedom + M
    if fit.weights is None and len(Phi) != N:
        raise ValueError(
            f"Phi must have the {N:g} rows of the fit, whose likelihood is "
            f"charged for its weights; got {len(Phi)}"
        )
    return Criteria(L, k, 2 * k - 2 * L, k * np.log(N) - 2 * L)


@dataclass(frozen=True, eq=False)
class Significance(Result):
    """A statistic and how rare a larger one is if the weights are zero.

    statistic  (M,)  or one number
    error      (M,)  standard errors of the weights; None for a ratio
    p          (M,)  chance of a larger one, either sign for a weight
    """

    statistic: np.ndarray | float
    error: np.ndarray | None
    p: np.ndarray | float


def wald(fit, Phi):
    """z_j = w_j / se_j of every weight; Student's t where s is estimated."""
    _no_prior(fit)
    _leaves_noise("fit", fit)
    se = glm.standard_errors(fit, Phi)
    z = fit.w / se
    known = fit.family.s is not None
    law = stats.norm if known else stats.t(fit.freedom)
    return Significance(z, se, 2 * law.sf(np.abs(z)))


def likelihood_ratio(small, large):
    """D_small - D_large, chi^2 of the number q of weights that are missing.

    Where s is estimated it is (D_small - D_large) / (q s), s that of the large
    model: an F with q and its degrees of freedom.
    """
    _no_prior(small, large)
    for name in ("offset", "weights"):
        if not _alike(getattr(small, name), getattr(large, name)):
            raise ValueError(
                "small must be nested in large, with the same offset and "
                f"weights; got another {name}"
            )
    q, gain = len(large.w) - len(small.w), small.deviance - large.deviance
    rows = large.freedom + len(large.w) == small.freedom + len(small.w)
    same = rows and small.family is large.family and small.link is large.link
    if not same or q < 1 or gain < -1e-6 * (1 + large.deviance):
        raise ValueError(
            f"small must be nested in large, fitted to the same targets; got "
            f"{len(small.w)} and {len(large.w)} weights with deviances "
            f"{small.deviance:.6g} and {large.deviance:.6g}"
        )
    if large.family.s is not None:
        return Significance(gain, None, float(stats.chi2.sf(gain, q)))
    _leaves_noise("large", large)
    F = gain / (q * large.dispersion)
    return Significance(F, None, float(stats.f.sf(F, q, large.freedom)))


def _alike(one, other):
    """The same for each row, though one says so by a number or by None."""
    one, other = (np.array(1.0 if v is None else v) for v in (one, other))
    each = one.shape == other.shape or not (one.ndim and other.ndim)
    return each and bool(np.all(one == other))


def residuals(fit, Phi, t, kind="deviance"):
    """t - y ("response"), sqrt(c / V) (t - y) ("pearson") or the signed root
    of the row's share of the deviance: their squares add up to it."""
    validate.choice("kind", kind, ("response", "pearson", "deviance"))
    given, y, c = _rows(fit, Phi, t)
    if kind == "response":
        return given.t - y
    half_deviance, r = _terms(fit, given)
    if kind == "pearson":
        return np.sqrt(c) * r
    return np.sign(r) * np.sqrt(2 * c * np.maximum(half_deviance, 0))


def leverage(fit, Phi):
    """h_n = r_n phi_n^T (Phi^T R Phi + A)^{-1} phi_n, r_n = c_n y'^2 / V.

    What a row has to say about its own mean; they add up to M, or to less
    with a prior.
    """
    given, y, c = _rows(fit, Phi, np.ones(np.shape(Phi)[:1]))
    a = given.Phi @ fit.w + given.offset
    _, _, r, _ = dispersion.row_terms(fit.family, fit.link, a, y)
    half = given.Phi @ glm.inverse_root(fit, Phi).T
    return c * r * np.sum(half**2, axis=1)


def _rows(fit, Phi, t):
    """The rows that count, their means and their observation weights."""
    given = glm.again(fit, Phi, t)
    y = fit.link.mean(given.Phi @ fit.w + given.offset)
    return given, y, np.ones(len(y)) if given.weights is None else given.weights


def _terms(fit, given):
    """Half the deviance of each row, and (t - y) / sqrt(V)."""
    a = given.Phi @ fit.w + given.offset
    row = fit.family, fit.link, a, given.t
    return dispersion.row_terms(*row)[0], dispersion.pearson_residual(*row)
