"""prml4.gaussian_process: conditioning, draws, evidence, optimisation."""

import tracemalloc
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from prml4 import evidence
from prml4 import gaussian_process as gp
from prml4.models import kernels
from prml4.numerics import validate
from prml4.numerics.newton import NotConverged
from prml4.referee.estimate import partials

KERNEL = kernels.constant() * kernels.squared_exponential()
NOISY = KERNEL + kernels.noise()


@pytest.fixture
def problem(rng):
    """Twelve inputs, noisy values of a sine, five new points."""
    x, new = rng.uniform(-3, 3, 12), np.linspace(-4, 4, 5)
    return x, np.sin(x) + 0.3 * rng.standard_normal(12), new


def dense(C, t, c_star, C_ss, noise):
    """Mean and covariance by the inverse itself."""
    A = np.linalg.inv(C + np.diag(np.broadcast_to(noise, len(C))))
    return c_star.T @ A @ t, C_ss - c_star.T @ A @ c_star


@pytest.mark.parametrize("noise", [0.09, "each"])
def test_condition_is_dense_algebra(problem, noise, rng):
    """(6.66) and (6.67), joint covariance, evidence; noise may vary."""
    x, t, new = problem
    noise = rng.uniform(0.01, 1, 12) if noise == "each" else noise
    theta = np.array([0.5, 0.2])
    C, c, C_ss = KERNEL(theta, x), KERNEL(theta, x, new), KERNEL(theta, new)
    f = gp.condition(C, t, noise=noise)
    mean, variance = gp.predict_latent(f, c, KERNEL.diagonal(theta, new))
    m, S = dense(C, t, c, C_ss, noise)
    np.testing.assert_allclose(mean, m, rtol=1e-9)
    np.testing.assert_allclose(variance, np.diag(S), rtol=1e-9)
    np.testing.assert_allclose(
        gp.posterior_covariance(f, c, C_ss), S, rtol=1e-8, atol=1e-12
    )
    A = C + np.diag(np.broadcast_to(noise, 12))
    want = multivariate_normal(np.zeros(12), A).logpdf(t)
    np.testing.assert_allclose(f.log_evidence, want, rtol=1e-10)
    np.testing.assert_allclose(f.L @ f.L.T, A, rtol=1e-12)
    np.testing.assert_allclose(A @ f.dual, t, rtol=1e-10)
    assert f.jitter == 0.0
    given = [A[n, n] - A[n, :n] @ np.linalg.solve(A[:n, :n], A[:n, n])
             for n in range(12)]  # fmt: skip
    np.testing.assert_allclose(f.left, min(given / np.diag(A)), rtol=1e-8)


def test_without_noise_the_values_are_hit(problem):
    """Mean f and variance 0 at the inputs; elsewhere as the dense algebra."""
    x, t, new = problem
    k, theta = kernels.matern(0.5), np.array([0.0])
    C = k(theta, x)
    f = gp.condition(C, t)
    mean, variance = gp.predict_latent(f, C, k.diagonal(theta, x))
    np.testing.assert_allclose(mean, t, rtol=1e-10)
    assert np.all(variance >= 0) and variance.max() < 1e-12
    m, S = dense(C, t, k(theta, x, new), k(theta, new), 0.0)
    mean, variance = gp.predict_latent(f, k(theta, x, new), np.ones(5))
    np.testing.assert_allclose(mean, m, rtol=1e-10)
    np.testing.assert_allclose(variance, np.diag(S), rtol=1e-10)


def test_regression_predicts_no_classes():
    """It has no likelihood of a class: an AttributeError said so."""
    fit = gp.condition(np.eye(2), np.ones(2), noise=0.1)
    for predict in (gp.predict, gp.predict_proba):
        with pytest.raises(ValueError, match="fit must be of classes"):
            predict(fit, np.zeros((2, 1)), 1.0)


def test_a_repeated_point_is_named_and_jitter_shows():
    """The error says which point; the jitter stands in the result."""
    x = np.array([0.0, 1.0, 2.0, 1.0])
    C = 1e12 * kernels.matern(1.5)([0.0], x)
    with pytest.raises(
        validate.SingularKernel, match="value 3; .* as point 1.*1e.02"
    ):
        gp.condition(C, np.ones(4))
    f = gp.condition(C, np.ones(4), jitter=1e2)
    assert f.jitter == 1e2
    assert 1e-11 < f.left < 1e-9
    with pytest.raises(
        validate.SingularKernel, match="other points determine it"
    ):
        gp.condition(KERNEL([0.0, 0.0], np.linspace(0, 1, 40)), np.ones(40))
    for x, said in (
        ([0, 0, 3], "value 1; .* point 0"),
        ([99, 0, 0, 50], "value 2; .* point 1"),
    ):
        with pytest.raises(validate.SingularKernel, match=said):
            gp.condition(KERNEL([0.0, 0.0], x), np.ones(len(x)))
    with pytest.raises(
        validate.SingularKernel, match="value 0; the prior says"
    ):
        gp.condition(kernels.linear()([0.0], [0.0, 1.0]), np.ones(2))
    assert gp.condition(C, np.ones(4), noise=0.1).jitter == 0.0
    with pytest.raises(
        validate.SingularKernel
    ):  # what exact arithmetic would do
        gp.log_evidence(C, np.ones(4))


def test_a_pivot_of_rounding_is_no_variance():
    """LAPACK takes 1 - r^2 = 2^-52 for a pivot, a fit must not."""
    r = 1 - 2.0**-53
    with pytest.raises(validate.SingularKernel, match="value 1; .* other"):
        gp.condition([[1.0, r], [r, 1.0]], np.ones(2))


@pytest.mark.parametrize("unit", [1e-40, 1e-8, 1e8, 1e40])
def test_a_pivot_is_judged_by_its_variance(unit):
    """In any unit of t: half a variance left is enough, nothing is not."""
    C = unit * np.array([[1.0, 0.5], [0.5, 0.5]])
    assert gp.condition(C, np.ones(2)).left == pytest.approx(0.5)
    with pytest.raises(validate.SingularKernel):
        gp.condition(np.full((2, 2), unit * 0.7), np.ones(2))


def test_one_foreign_entry_of_c_is_seen(problem):
    """Though the rows without it give the same means."""
    x, t, _ = problem
    C = KERNEL([0.0, 0.0], x)
    f = gp.condition(C, t, noise=0.1)
    gp.posterior_covariance(f, C)
    C[0, 1] = C[1, 0] = 0.9 * C[0, 1]
    with pytest.raises(ValueError, match="C must be that of the fit"):
        gp.posterior_covariance(f, C)


@pytest.mark.parametrize("amplitude", [1e-12, 1.0, 1e12])
def test_amplitudes_are_units(amplitude, problem):
    """C and noise times v, t times sqrt(v): the same in other units."""
    x, t, new = problem
    theta = np.array([np.log(amplitude), 0.0])
    C, c = KERNEL(theta, x), KERNEL(theta, x, new)
    f = gp.condition(C, amplitude**0.5 * t, noise=0.1 * amplitude)
    mean, variance = gp.predict_latent(f, c, KERNEL.diagonal(theta, new))
    one = [0.0, 0.0]
    unit = gp.condition(KERNEL(one, x), t, noise=0.1)
    m, v = gp.predict_latent(unit, KERNEL(one, x, new), np.ones(5))
    np.testing.assert_allclose(mean, amplitude**0.5 * m, rtol=1e-9)
    np.testing.assert_allclose(variance, amplitude * v, rtol=1e-9)
    shift = 6 * np.log(amplitude)
    np.testing.assert_allclose(f.log_evidence + shift, unit.log_evidence)


def test_other_numbers_and_read_only_input(problem):
    """float32, integers, column order; nothing is modified."""
    x, t, new = problem
    C, c = KERNEL([0.0, 0.0], x), KERNEL([0.0, 0.0], x, new)
    mean, variance = gp.predict_latent(
        gp.condition(C, t, noise=1), c, np.ones(5)
    )
    for A in (np.asfortranarray(C), np.asfortranarray(C)[::-1][::-1]):
        kept = A.copy()
        A.flags.writeable = t.flags.writeable = False
        m, v = gp.predict_latent(gp.condition(A, t, noise=1.0), c, [1] * 5)
        np.testing.assert_allclose([m, v], [mean, variance])
        np.testing.assert_allclose(
            gp.log_evidence(A + np.eye(12), t)[1].shape, 12
        )
        np.testing.assert_array_equal(A, kept)
    single = gp.condition(C.astype(np.float32), t, noise=1)
    np.testing.assert_allclose(
        gp.predict_latent(single, c, np.ones(5))[0], mean, 1e-4
    )


def test_one_value():
    """N = 1 by hand: m = c t / (C + s), v = c_ss - c^2 / (C + s)."""
    f = gp.condition([[2.0]], [3.0], noise=0.5)
    mean, variance = gp.predict_latent(f, [[1.0]], [2.0])
    np.testing.assert_allclose([mean[0], variance[0]], [3 / 2.5, 2 - 1 / 2.5])
    value, G = gp.log_evidence([[2.5]], [3.0])
    want = -0.5 * (9 / 2.5 + np.log(2 * np.pi * 2.5))
    np.testing.assert_allclose([value, f.log_evidence], want)
    np.testing.assert_allclose(G, [[0.5 * ((3 / 2.5) ** 2 - 1 / 2.5)]])


@pytest.mark.parametrize("centre", [0, 2000])
def test_weight_space_keeps_its_digits_under_a_vague_prior(centre):
    """A cubic in years, prior variance 10^6: rational arithmetic agrees."""
    x = centre + np.arange(0.0, 24.0, 2)
    Phi = x[:, None] ** np.arange(4)
    t = np.cos(np.arange(12.0))
    m_N, S_N = gp.weight_space(Phi, t, alpha=2.0**-20, noise=0.0625)
    A = [
        [Fraction(v) for v in (*row, t_n)]
        for row, t_n in zip(Phi, t, strict=True)
    ]
    sums = [[16 * sum(r[i] * r[j] for r in A) for j in range(5)]
            for i in range(4)]  # fmt: skip
    P = [[v + Fraction(i == j, 2**20) for j, v in enumerate(row[:4])]
         for i, row in enumerate(sums)]  # fmt: skip
    S = inverted(P)
    m = [
        sum(s * row[4] for s, row in zip(line, sums, strict=True)) for line in S
    ]
    np.testing.assert_allclose(S_N, np.array(S, float), rtol=1e-8)
    np.testing.assert_allclose(m_N, np.array(m, float), rtol=1e-6)


def inverted(P):
    """P^{-1} of fractions, by Gauss and Jordan."""
    N = len(P)
    A = [[*row, *(Fraction(i == j) for j in range(N))]
         for i, row in enumerate(P)]  # fmt: skip
    for k in range(N):
        A[k] = [v / A[k][k] for v in A[k]]
        for i in set(range(N)) - {k}:
            A[i] = [a - A[i][k] * b for a, b in zip(A[i], A[k], strict=True)]
    return [row[N:] for row in A]


def test_weight_space_is_function_space(rng):
    """The same predictions and evidence with the kernel Phi A^{-1} Phi^T."""
    Phi, new = rng.standard_normal((15, 4)), rng.standard_normal((6, 4))
    t, alpha = rng.standard_normal(15), np.array([0.5, 1, 2, 4])
    m_N, S_N = gp.weight_space(Phi, t, alpha=alpha, noise=0.3)
    C, c, C_ss = ((A / alpha) @ B.T
                  for A, B in ((Phi, Phi), (Phi, new), (new, new)))  # fmt: skip
    f = gp.condition(C, t, noise=0.3)
    mean, _ = gp.predict_latent(f, c, np.diag(C_ss))
    np.testing.assert_allclose(mean, new @ m_N, rtol=1e-10)
    np.testing.assert_allclose(
        gp.posterior_covariance(f, c, C_ss), new @ S_N @ new.T
    )
    weights = evidence.linear_evidence(Phi, t, alpha=alpha, noise=0.3)
    np.testing.assert_allclose(f.log_evidence, weights.log_evidence)


def test_draws_have_the_covariance(rng):
    """Mean and covariance within five standard errors, C singular."""
    x = np.array([0.0, 0.4, 0.4, 3.0])
    C = KERNEL([np.log(2.0), 0.0], x)
    f = gp.draws(rng, C, 20000, mean=np.arange(4.0))
    assert f.shape == (20000, 4)
    error = 5 * np.sqrt(2 * 4.0 / 20000)
    np.testing.assert_allclose(f.mean(axis=0), range(4), atol=error)
    np.testing.assert_allclose(np.cov(f.T), C, atol=error)
    np.testing.assert_allclose(f[:, 1] + 1, f[:, 2], atol=1e-6)
    z = np.random.default_rng(3).standard_normal((2, 4))
    g = gp.draws(np.random.default_rng(3), C, 2)
    np.testing.assert_allclose(g @ g.T, z @ C @ z.T)  # the symmetric root
    same = gp.draws(np.random.default_rng(3), 4 * np.eye(4), 2, mean=1.0)
    np.testing.assert_allclose(same, 1 + 2 * z)


def test_log_evidence_and_its_derivative(problem, rng):
    """ln N(t|0, C) against scipy's; sum G dC against differences."""
    x, t, _ = problem
    theta = np.array([0.3, 0.1, -1.0])
    C, slopes = NOISY.with_gradients(theta, x)
    kept = C.copy()
    value, G = gp.regression(t)(C)
    np.testing.assert_array_equal(C, kept)
    np.testing.assert_allclose(
        value, multivariate_normal(np.zeros(12), C).logpdf(t)
    )
    np.testing.assert_array_equal(G, G.T)
    A = np.linalg.inv(C)
    np.testing.assert_allclose(G, 0.5 * (np.outer(A @ t, A @ t) - A))
    found, _ = partials(lambda at: gp.log_evidence(NOISY(at, x), t)[0], theta)
    g = [np.sum(G * slope) for slope in slopes]
    assert np.all(np.abs(g - found.value) <= 10 * found.error + 1e-9)


def test_optimise_finds_what_scipy_finds(problem):
    """The same maximum, trace ascending, gradient zero, best of restarts."""
    x, t, _ = problem
    starts = [[0.0, 0.0, -1.0], [2.0, 1.0, 0.0], [1.0, -1.0, -3.0]]
    best = gp.optimise(NOISY, x, gp.regression(t), starts)
    peers = [
        minimize(
            lambda at: -gp.log_evidence(NOISY(at, x), t)[0],
            start,
            method="Nelder-Mead",
            options={"xatol": 1e-6, "fatol": 1e-10, "maxiter": 2000},
        )
        for start in starts
    ]
    np.testing.assert_allclose(best.log_evidence, -min(p.fun for p in peers))
    assert best.converged and len(best.restarts) == 3
    assert best.log_evidence == max(r.log_evidence for r in best.restarts)
    for run, start in zip(best.restarts, starts, strict=True):
        assert np.all(np.diff(run.trace) > 0)
        assert len(run.trace) == len(run.path) <= run.evaluations
        np.testing.assert_array_equal(run.path[0], start)
        np.testing.assert_array_equal(run.path[-1], run.theta)
        assert run.trace[-1] == run.log_evidence
        assert np.abs(run.gradient).max() <= 1e-6 * abs(run.log_evidence)


def test_sensitivity_shows_what_the_data_do_not_know(rng):
    """A constant column: its length-scale changes nothing, the others do."""
    X = np.c_[rng.uniform(-3, 3, 60), np.ones(60)]
    t = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    k = kernels.constant() * kernels.squared_exponential(2) + kernels.noise()
    best = gp.optimise(k, X, gp.regression(t), np.zeros(4))
    assert best.converged
    change = gp.sensitivity(k, X, gp.regression(t), best.theta)
    assert change.shape == (4, 2)
    np.testing.assert_allclose(change[2], 0, atol=1e-9)
    assert change[[0, 1, 3]].max() < -0.2
    want = gp.log_evidence(k(best.theta + [0, -1, 0, 0], X), t)[0]
    np.testing.assert_allclose(change[1, 0], want - best.log_evidence)


def test_sensitivity_where_the_matrix_cannot_be_factorised():
    """-inf, and numbers on the other side."""
    x = np.linspace(0, 1, 12)
    change = gp.sensitivity(
        KERNEL, x, gp.regression(np.sin(9 * x)), [0, -1.5], moves=(-0.5, 3)
    )
    assert np.isneginf(change[1, 1])
    assert np.isfinite(change).sum() == 3


def test_trials_without_a_gradient_are_stepped_back_from():
    """A gradient of NaN: not taken, not converged, nothing NaN returned."""

    def inference(C):
        beyond = np.nan if C[0, 0] > 2.0 else 1.0
        return float(C[0, 0]), beyond * np.diag([1.0, 0.0])

    with pytest.warns(NotConverged):
        best = gp.optimise(kernels.constant(), [1, 2], inference, [0.0])
    assert 1.5 < best.log_evidence <= 2.0 and np.isfinite(best.gradient).all()


def test_small_negative_variances_only_are_rounding():
    """0 down to -1e-6 of the prior's, and not beyond."""
    c = np.array([[1.0], [0.0]])
    g = gp.condition(np.eye(2), [3, 4])
    assert gp.predict_latent(g, c, [1 - 5e-7])[1] == 0.0
    assert gp.posterior_covariance(g, c, [[2.0]]) == 1.0
    with pytest.raises(
        validate.Indefinite, match="-0.5 out of 0.5 at new point 1"
    ):
        gp.predict_latent(g, np.eye(2), [1.0, 0.5])
    with pytest.raises(ValueError, match="c_ss must be >= 0; got -1e-09"):
        gp.predict_latent(g, 0 * c, [-1e-9])
    assert gp.predict_latent(g, 0 * c, [0.0])[1] == 0.0
    with pytest.raises(
        validate.Indefinite, match="variance of -2e-.* at new point 0"
    ):
        gp.predict_latent(g, c, [1 - 2e-6])
    with pytest.raises(
        validate.Indefinite, match="variance of -2e-.* at new point 0"
    ):
        gp.posterior_covariance(g, c, [[1 - 2e-6]])


def test_what_is_not_reached_is_said(problem):
    """max_iter, with a warning by name and converged = False."""
    x, t, _ = problem
    with pytest.warns(NotConverged, match="is no maximum"):
        best = gp.optimise(
            NOISY, x, gp.regression(t), [3.0, 3.0, 3.0], max_iter=2
        )
    assert not best.converged and len(best.trace) == 3


def test_memory_is_a_few_matrices(rng):
    """Kernel, slopes and inference of regression: seven N by N at once."""
    X, t, N = rng.standard_normal((400, 3)), rng.standard_normal(400), 400
    for scales in (1, 3):
        k = kernels.constant() * kernels.squared_exponential(scales)
        theta = np.zeros(scales + 2)
        tracemalloc.start()
        with pytest.warns(NotConverged):
            gp.optimise(
                k + kernels.noise(), X, gp.regression(t), theta, max_iter=1
            )
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 7 * 8 * N**2


def test_a_start_at_the_optimum_stays(problem):
    """No step, one evaluation."""
    x, t, _ = problem
    best = gp.optimise(NOISY, x, gp.regression(t), [0.0, 0.0, -1.0])
    again = gp.optimise(NOISY, x, gp.regression(t), best.theta)
    assert again.converged and again.evaluations == 1
    np.testing.assert_array_equal(again.theta, best.theta)


def test_trial_points_that_fail_are_stepped_back_from():
    """Without noise a long length-scale is singular: the search backs off."""
    x = np.linspace(0, 3, 12)
    t = np.sin(2 * x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        best = gp.optimise(KERNEL, x, gp.regression(t), [0.0, -1.0])
    assert best.log_evidence > best.trace[0] + 5
    assert np.isfinite(best.gradient).all()


def test_runaways_stop_at_the_widest(rng):
    """An evidence without a maximum: not converged, and who ran away."""

    def inference(C):
        return float(np.trace(C)) ** 0.1, 0.1 * np.trace(C) ** -0.9 * np.eye(3)

    with pytest.warns(NotConverged, match="in variance"):
        best = gp.optimise(kernels.constant(), np.zeros(3), inference, [0.0])
    assert not best.converged and 20 < best.theta[0] <= np.log(1e12)


EASY = gp.condition(np.eye(2), [1, 2])


def bad(call, said):
    """One case."""
    return pytest.param(call, said, id=said)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        bad(lambda: gp.condition(np.ones((2, 3)), [1, 2]), "square"),
        bad(lambda: gp.condition([[1, 2], [0, 1]], [1, 2]), "symmetric"),
        bad(lambda: gp.condition([[1, 2], [2, 1]], [1, 2]), "semi-definite"),
        bad(lambda: gp.condition(np.eye(2), [1, 2, 3]), r"shape \(2,\)"),
        bad(lambda: gp.condition(np.eye(2), [1, np.nan]), "t must be finite"),
        bad(lambda: gp.condition(np.eye(2), [1, 2], noise=-1), "noise must"),
        bad(lambda: gp.condition(np.eye(2), [1, 2], noise=[2, -1]), "got -1"),
        bad(
            lambda: gp.condition(np.eye(2), [1, 2], noise=[1, 2, 3]),
            "one per target",
        ),
        bad(lambda: gp.condition(np.eye(2), [1, 2], jitter=-1), "jitter must"),
        bad(
            lambda: gp.predict_latent(EASY, np.ones((3, 1)), [1]),
            "N = 2 rows, one per point",
        ),
        bad(
            lambda: gp.predict_latent(EASY, np.ones((2, 1)), [1, 1]),
            "c_ss must",
        ),
        bad(
            lambda: gp.posterior_covariance(EASY, np.ones((2, 1)), np.eye(2)),
            "C_ss must",
        ),
        bad(
            lambda: gp.draws(np.random.default_rng(0), [[1, 2], [2, 1]], 1),
            "eigenvalue",
        ),
        bad(
            lambda: gp.draws(np.random.default_rng(0), np.eye(2), 1, [1, 2, 3]),
            "mean must",
        ),
        bad(
            lambda: gp.draws(np.random.default_rng(0), np.eye(2), 1, np.nan),
            "mean must be finite",
        ),
        bad(
            lambda: gp.weight_space(np.eye(2), [1, 2], alpha=0, noise=1),
            "alpha must be > 0",
        ),
        bad(
            lambda: gp.optimise(
                KERNEL, [1, 2], lambda C: (1.0, np.nan * C), np.zeros(2)
            ),
            "the start must have",
        ),
        bad(
            lambda: gp.weight_space(np.eye(2), [1, 2], alpha=1, noise=0),
            "noise must be one positive",
        ),
        bad(
            lambda: gp.optimise(KERNEL, [1, 2], gp.regression([1, 2]), [0]),
            "theta must hold 2",
        ),
        bad(
            lambda: gp.optimise(NOISY, [1, 2], gp.regression([1]), np.zeros(3)),
            "one per row of C",
        ),
        bad(
            lambda: gp.optimise(
                KERNEL, [1, 2], lambda C: (np.nan, C), np.zeros(2)
            ),
            "the start must have",
        ),
    ],
)
def test_bad_input_is_named(call, said):
    """A ValueError that says what arrived and what was expected."""
    with pytest.raises(ValueError, match=said):
        call()


def test_indefinite_has_a_name(rng):
    """A matrix of covariances by which a variance is negative."""
    with pytest.raises(validate.Indefinite):
        gp.log_evidence([[1.0, 2.0], [2.0, 1.0]], [0.0, 1.0])


@pytest.mark.parametrize("count", [-1, 2.5, None, (2, 3)], ids=str)
def test_a_number_of_draws_is_whole(rng, count):
    """2.5 was a bare TypeError."""
    with pytest.raises(ValueError, match="count must be a whole number >= 0"):
        gp.draws(rng, np.eye(2), count)


@pytest.mark.filterwarnings("error")
def test_a_prior_too_narrow_for_squares_is_named():
    """t = 1 under a variance of 1e-200: (C^-1 t)^2 was infinite, with numpy's
    RuntimeWarning as the only word."""
    C, t = 1e-200 * np.eye(2), np.array([1.0, 0.0])
    for run in (gp.condition, gp.log_evidence):
        with pytest.raises(validate.Indefinite, match="below 1e[+]150"):
            run(C, t)
        run(1e60 * C, t)
