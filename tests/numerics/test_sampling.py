"""numerics.sampling: it leaves known posteriors as they are."""

import numpy as np
import pytest
from scipy import stats

from prml4 import evidence, gaussian_process, laplace
from prml4.models.likelihoods import LOGISTIC
from prml4.numerics import sampling
from prml4.studies import clutter, gp_truth

MEAN = np.array([0.5, -1.0])
L = np.array([[1.2, 0.0], [-0.4, 0.7]])


def gaussian(w):
    """Four observations of w_1 + w_2 with unit noise and mean 1."""
    return -2 * (w[0] + w[1] - 1) ** 2


def posterior():
    """Mean and covariance under that likelihood, by Gauss."""
    A = np.linalg.inv(L @ L.T)
    C = np.linalg.inv(A + 4 * np.ones((2, 2)))
    return C @ (A @ MEAN + 4 * np.ones(2)), C


def test_conjugate_posterior_comes_out(rng):
    """Mean and covariance within five standard errors of the truth."""
    x = sampling.elliptical(gaussian, MEAN, L, rng, 6000)
    mean, C = posterior()
    size = sampling.effective_size(x)
    assert np.all(size > 400)
    error = np.sqrt(np.diag(C) / size)
    assert np.all(np.abs(x.mean(axis=0) - mean) < 5 * error)
    spread = np.cov(x.T)
    scale = np.sqrt(np.outer(np.diag(C), np.diag(C)))
    assert np.all(np.abs(spread - C) < 5 * scale * np.sqrt(2 / size.min()))


def test_without_data_the_prior_comes_out(rng):
    """log L = 0: every proposal is taken, and draws hardly depend."""
    x = sampling.elliptical(lambda w: 0.0, MEAN, L, rng, 4000, burn=0)
    assert np.all(np.abs(x.mean(axis=0) - MEAN) < 0.1)
    np.testing.assert_allclose(np.cov(x.T), L @ L.T, atol=0.12)
    assert np.all(sampling.effective_size(x) > 1000)


def test_walls_are_respected(rng):
    """log L = -inf outside a half plane: no draw lies there."""

    def wall(w):
        return 0.0 if w[0] > 0.4 else -np.inf

    x = sampling.elliptical(wall, MEAN, L, rng, 500, burn=3)
    assert x[:, 0].min() > 0.4
    half = MEAN[0] + 1.2 * 0.746  # E of N(0.5, 1.2^2) above 0.4
    assert abs(x[:, 0].mean() - half) < 0.2


def test_thinning_and_burning_count_steps():
    """The same stream of random numbers, seen at other times."""

    def run(n, **options):
        seed = np.random.default_rng(3)
        return sampling.elliptical(gaussian, MEAN, L, seed, n, **options)

    every = run(20, burn=0)
    np.testing.assert_array_equal(run(4, burn=0, thin=5), every[::5])
    np.testing.assert_array_equal(run(5, burn=15), every[15:])


def test_effective_size_of_an_autoregression(rng):
    """x_k = r x_k-1 + e has n (1 - r) / (1 + r) draws' worth."""
    n, r = 40_000, 0.8
    x = np.empty((n, 2))
    e = rng.standard_normal((n, 2))
    x[0] = e[0]
    for k in range(1, n):
        x[k] = r * x[k - 1] + e[k]
    size = sampling.effective_size(x)
    np.testing.assert_allclose(size, n / 9, rtol=0.15)
    np.testing.assert_allclose(sampling.effective_size(e), n, rtol=0.1)


def test_bad_input_is_refused(rng):
    """Wrong shapes, NaN, and a start where nothing can be measured."""
    run = sampling.elliptical
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(3, 3\)"):
        run(gaussian, MEAN, np.eye(3), rng, 5)
    with pytest.raises(ValueError, match="mean must be finite"):
        run(gaussian, [np.nan, 0], L, rng, 5)
    with pytest.raises(ValueError, match="finite at the mean; got nan"):
        run(lambda w: np.nan, MEAN, L, rng, 5)
    for bad in ({"thin": 0}, {"burn": -3}, {"burn": 2.5}):
        with pytest.raises(ValueError, match="must be a whole number"):
            run(gaussian, MEAN, L, rng, 5, **bad)
    with pytest.raises(ValueError, match="n must be a whole number >= 0"):
        run(gaussian, MEAN, L, rng, -1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_likelihood_that_breaks_on_the_way_is_named(rng, value):
    """NaN is no wall, and infinity would hold the chain for ever."""

    def broken(w):
        return 0.0 if np.array_equal(w, MEAN) else value

    with pytest.raises(ValueError, match="log_l must be < inf"):
        sampling.elliptical(broken, MEAN, L, rng, 5)


def test_effective_size_of_what_is_no_chain(rng):
    """A column that stands still is one draw; one draw is no chain."""
    x = np.column_stack([rng.standard_normal(500), np.full(500, 0.3)])
    with pytest.warns(
        sampling.TooFewDraws, match="worth 1 .* column 1, of 500"
    ):
        size = sampling.effective_size(x)
    assert size[0] > 300 and size[1] == 1
    for bad in (x[:, 0], x[:1], [[np.nan, 0.0]] * 9):
        with pytest.raises(ValueError, match="draws must be finite"):
            sampling.effective_size(bad)


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e155, 1e300, 1e307])
def test_effective_size_has_no_unit(rng, unit):
    """Squares underflowed to 0 / 0, or overflowed, and the size was NaN."""
    x = autoregression(rng, 2000, 0.5)
    size = sampling.effective_size(np.c_[x, unit * x, unit * (x + 9)])
    np.testing.assert_allclose(size[1:], size[0], rtol=1e-6)


def autoregression(rng, n, r):
    """x_k = r x_k-1 + e, n of them as a column, from its own distribution."""
    x = rng.standard_normal(n)
    x[0] /= np.sqrt(1 - r**2)
    for k in range(1, n):
        x[k] += r * x[k - 1]
    return x[:, None]


@pytest.mark.filterwarnings("ignore::prml4.numerics.sampling.TooFewDraws")
def test_no_chain_is_worth_more_than_its_draws(rng):
    """Alternating, antithetic or of two draws: never below 1 or above n."""
    chains = [
        np.tile([1.0, -1.0], 500)[:, None],
        autoregression(rng, 999, -0.95),
    ]
    chains += [rng.standard_normal((n, 40)) for n in (2, 3, 5, 10)]
    for x in chains:
        size = sampling.effective_size(x)
        assert np.all((size >= 1) & (size <= len(x)))


def test_a_chain_that_hardly_mixes_is_named(rng):
    """Worth 50 of 100,000 for r = 0.999; its error would be a guess."""
    with pytest.warns(sampling.TooFewDraws, match="below 100 they do not know"):
        sampling.effective_size(autoregression(rng, 100_000, 0.999))
    sampling.effective_size(autoregression(rng, 5000, 0.9))


def test_importance_weights_divide_by_the_density_of_student_t(rng):
    """scipy's multivariate t at the very draws, with an oblique root."""
    mean, root = np.array([1.0, -2.0]), np.array([[0.9, -0.5], [0.4, 1.1]])
    w, ratios = sampling.importance(
        rng, 500, lambda w: w[:, 0], mean, root, nu=5
    )
    peer = stats.multivariate_t(mean, root @ root.T, df=5)
    np.testing.assert_allclose(w[:, 0] - ratios, peer.logpdf(w))
    spread = np.linalg.solve(root, (w - mean).T)  # each t with 5 degrees
    for z in spread:
        assert stats.kstest(z, stats.t(5).cdf).pvalue > 1e-3


def test_log_mean_is_that_of_the_weights_however_small(rng):
    """ln mean and sd / (mean sqrt n), shifted by a thousand."""
    w = rng.gamma(2.0, size=400)
    value, error = sampling.log_mean(np.log(w) - 1000)
    assert value == pytest.approx(np.log(w.mean()) - 1000)
    assert error == pytest.approx(stats.sem(w) / w.mean())


def test_a_mean_that_few_weights_make_is_not_believed(rng):
    """A proposal that is too narrow: one weight in a thousand has it all."""
    log_w = 20 * rng.standard_normal(1000)
    with pytest.warns(sampling.TooFewDraws, match="in a mean of 1000"):
        sampling.log_mean(log_w)


@pytest.mark.parametrize(
    "log_w",
    [[np.nan, 0.0], [np.inf, 0.0], [-np.inf] * 9, [0.0], [], [[0.0, 1.0]], "x"],
    ids=str,
)
def test_weights_without_a_mean_are_named(log_w):
    """NaN went through, one weight had an error of NaN."""
    with pytest.raises(ValueError, match="log_w must"):
        sampling.log_mean(log_w)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_handful_of_draws_does_not_know_its_error(n):
    """Two errors of three draws miss three times in ten."""
    with pytest.warns(sampling.TooFewDraws, match=f"in a mean of {n}"):
        sampling.log_mean(np.linspace(0, 0.1, n))


@pytest.mark.filterwarnings("error")
def test_some_draws_of_equal_weight_are_enough():
    """No false alarm."""
    sampling.log_mean(0.1 * np.sin(np.arange(20.0)))


@pytest.mark.parametrize(
    "change",
    [
        {"nu": np.nan},
        {"nu": None},
        {"n": 2.5},
        {"mean": None},
        {"root": 1.0},
        {"nu": 0.01},
        {"root": np.zeros((2, 2))},
    ],
    ids=str,
)
def test_a_proposal_that_is_none_is_named(rng, change):
    """nu = NaN made draws of NaN, 0.01 some of infinity; no root ln T = inf."""
    given = {"n": 9, "mean": np.zeros(2), "root": np.eye(2)} | change
    with pytest.raises(ValueError, match=f"{next(iter(change))} must"):
        sampling.importance(rng, log_f=lambda w: w[:, 0], **given)


@pytest.mark.parametrize("log_f", [lambda w: -np.sum(w**2), lambda w: -(w**2)])
def test_a_density_that_sums_over_the_draws_is_named(rng, log_f):
    """One number for all draws, or a column, was broadcast."""
    with pytest.raises(ValueError, match=r"log_f\(w\) must have shape \(9,\)"):
        sampling.importance(rng, 9, log_f, np.zeros(1), np.eye(1))


@pytest.mark.parametrize("nu", [1e6, 1e12, 1e16, 1e100, 1e307])
def test_a_student_t_of_any_degrees_is_normalised(rng, nu):
    """ln Z = 0, as T is all but N: -10 at nu = 1e16, with an error of 1e-17."""

    def log_f(w):
        return -0.5 * np.sum(w**2, axis=1) - 1.5 * np.log(2 * np.pi)

    _, ratios = sampling.importance(
        rng, 500, log_f, np.zeros(3), np.eye(3), nu=nu
    )
    assert sampling.log_mean(ratios).value == pytest.approx(0, abs=1e-6)


def test_what_draws_asks_for_a_generator(rng):
    """A seed had no attribute 'standard_normal', said an AttributeError."""
    one, row = np.eye(1), [[1.0]]
    q = laplace.at_mode([0.0], 0.0, row)
    for call in (
        lambda rng: sampling.importance(rng, 9, np.ravel, [0.0], one),
        lambda rng: sampling.elliptical(np.sum, [0.0], one, rng, 2),
        lambda rng: q.draws(rng, 2),
        lambda rng: evidence.sample(rng, 200, row, [1], alpha=1.0),
        lambda rng: gaussian_process.draws(rng, row, 2),
        lambda rng: clutter.draw(rng, 2, [0.0], clutter.World()),
        lambda rng: gp_truth.importance(
            row, [1], LOGISTIC, [0.0], row, rng, 200
        ),
    ):
        call(rng)
        for seed in (3, None, np.random.RandomState(0)):
            with pytest.raises(ValueError, match="rng must be a Generator"):
                call(seed)
