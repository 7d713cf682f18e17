"""models.data: the numbers are those of the sources, the truths are true."""

import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import linprog

from prml4 import glm
from prml4.models import data, dispersion
from prml4.numerics import special


def logistic_fit(x, successes, trials, start=(10, -0.2)):
    """Maximum likelihood in one variable and its standard errors, by mpmath."""
    rows = [
        tuple(map(mp.mpf, row))
        for row in zip(x, successes, trials, strict=True)
    ]

    def y(a, b, u):
        return 1 / (1 + mp.exp(-a - b * u))

    def score(a, b):
        gaps = [(s - n * y(a, b, u), u) for u, s, n in rows]
        return mp.fsum(g for g, _ in gaps), mp.fsum(g * u for g, u in gaps)

    a, b = mp.findroot(score, start)
    info = mp.matrix(2, 2)
    for u, _, n in rows:
        v = n * y(a, b, u) * (1 - y(a, b, u))
        info += v * mp.matrix([[1, u], [u, u * u]])
    errors = mp.inverse(info)
    return [
        float(z) for z in (a, b, mp.sqrt(errors[0, 0]), mp.sqrt(errors[1, 1]))
    ]


def separates(X, t):
    """Is there w with s_n w^T phi_n >= 1 for all n? A linear programme."""
    signed = (2 * t - 1)[:, None] * np.column_stack([np.ones(len(X)), X])
    programme = linprog(
        np.zeros(signed.shape[1]),
        A_ub=-signed,
        b_ub=-np.ones(len(X)),
        bounds=(None, None),
    )
    assert programme.status in (0, 2), programme.message
    return programme.status == 0


def test_challenger_gives_the_published_logistic_fit():
    """15.0429 and -0.23216, errors 7.3786 and 0.10824: one wrong flight shows.

    The values that textbooks print for the binary outcome, to their digits.
    """
    shuttle = data.challenger()
    fit = logistic_fit(shuttle.X[:, 0], shuttle.t, np.ones(23))
    assert [round(v, d) for v, d in zip(fit, (4, 5, 4, 5), strict=True)] == [
        *(15.0429, -0.23216, 7.3786, 0.10824)
    ]


def test_challenger_gives_the_published_binomial_fit():
    """Counts out of six: 5.085 and -0.1156, Dalal, Fowlkes & Hoadley 1989."""
    shuttle = data.challenger()
    fit = logistic_fit(shuttle.X[:, 0], shuttle.damaged, np.full(23, 6.0))
    assert (round(fit[0], 3), round(fit[1], 4)) == (5.085, -0.1156)
    np.testing.assert_array_equal(shuttle.t, shuttle.damaged > 0)
    assert shuttle.t.sum() == 7 and shuttle.damaged.sum() == 9


def test_breast_cancer_class_one_is_malignant():
    """212 malignant of 569; malignant cells are the larger ones."""
    pytest.importorskip("sklearn")
    full, mean = data.breast_cancer(), data.breast_cancer_mean()
    assert full.X.shape == (569, 30) and mean.X.shape == (569, 10)
    assert full.t.sum() == mean.t.sum() == 212
    radius = mean.X[:, mean.names.index("mean radius")]
    assert radius[mean.t == 1].mean() > 1.4 * radius[mean.t == 0].mean()
    np.testing.assert_array_equal(mean.X, full.X[:, :10])
    assert all(name.startswith("mean ") for name in mean.names)
    assert not any(name.startswith("mean ") for name in full.names[10:])


def test_thirty_features_separate_the_tumours_and_ten_do_not():
    """Maximum likelihood exists for the ten and not for the thirty."""
    pytest.importorskip("sklearn")
    full = data.breast_cancer(standardised=True)
    mean = data.breast_cancer_mean(standardised=True)
    assert separates(full.X, full.t)
    assert not separates(mean.X, mean.t)


def test_every_set_is_ready_for_use(rng):
    """float64, contiguous, finite, targets 0 or 1, named columns, a source."""
    pytest.importorskip("sklearn")
    for d in [
        data.breast_cancer(),
        data.breast_cancer(standardised=True),
        data.breast_cancer_mean(),
        data.breast_cancer_mean(standardised=True),
        data.challenger(),
        data.two_gaussians(rng, 20),
    ]:
        assert d.X.dtype == d.t.dtype == np.float64
        assert d.X.flags.c_contiguous and np.isfinite(d.X).all()
        assert d.X.shape == (len(d.t), len(d.names))
        assert set(d.t) == {0.0, 1.0} and d.source


def test_callers_cannot_spoil_each_others_data():
    """Every call returns arrays of its own."""
    first = data.challenger()
    first.X[:] = first.t[:] = first.damaged[:] = -1
    again = data.challenger()
    assert again.X.min() == 53 and again.damaged.max() == 2
    assert set(again.t) == {0.0, 1.0}


def test_other_libraries_are_imported_only_when_asked_for():
    """They take most of a second; the library must do without them."""
    code = (
        "import sys, prml4.models.data; "
        "sys.exit(bool({'sklearn', 'statsmodels', 'pandas'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("load", "module"),
    [
        *((f, "sklearn.datasets") for f in (data.iris, data.wine)),
        *((f, "sklearn.datasets") for f in (data.digits, data.diabetes)),
        (data.breast_cancer_mean, "sklearn.datasets"),
        (data.carbon_dioxide, "statsmodels.datasets.co2"),
    ],
)
def test_a_missing_library_is_named_and_so_is_the_extra(
    load, module, monkeypatch
):
    """Without scikit-learn or statsmodels: what to install, and for what."""
    for name in (module.split(".")[0], module):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"{module} .*prml4\[data\]"):
        load()


def test_sets_whose_numbers_stand_here_need_nothing_else(monkeypatch):
    """Flights, kicks, beetles, AIDS, plasma and hearts are always there."""
    for name in ("sklearn", "statsmodels"):
        monkeypatch.setitem(sys.modules, name, None)
    for load in (data.challenger, data.horse_kicks, data.beetles):
        assert load().source
    for load in (data.aids, data.clotting, data.coronary):
        assert load().source


def test_standardised_columns_have_mean_zero_and_variance_one(rng):
    """Divided by N as scikit-learn does, and X can be had back."""
    X = rng.normal(size=(50, 3)) * [1e-6, 1.0, 1e6] + [1.0, -5.0, 1e7]
    before = X.copy()
    Z, mean, scale = data.standardise(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose((Z**2).sum(axis=0) / 50, 1, rtol=1e-12)
    np.testing.assert_allclose(Z * scale + mean, X, rtol=1e-14)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e-20, 1e140])
def test_standardised_columns_have_no_unit(rng, unit):
    """The squares of 1e-170 are 0, and so was the scale that divided."""
    X = rng.standard_normal((20, 2))
    Z, mean, scale = data.standardise(X * unit)
    np.testing.assert_allclose(Z, data.standardise(X)[0], rtol=1e-12)
    np.testing.assert_allclose(scale, X.std(axis=0) * unit, rtol=1e-14)


def test_constant_columns_become_zero_and_not_noise():
    """The mean of fifty times 0.1 is not 0.1; rounding is not variation."""
    X = np.column_stack([np.full(50, 0.1), np.arange(50.0)])
    Z, mean, scale = data.standardise(X)
    np.testing.assert_array_equal(Z[:, 0], 0)
    assert (mean[0], scale[0]) == (0.1, 1.0)


def test_bias_comes_first():
    """w_0 is the bias in PRML; one variable may come without its axis."""
    Phi = data.with_bias([[2, 3], [4, 5]])
    np.testing.assert_array_equal(Phi, [[1, 2, 3], [1, 4, 5]])
    np.testing.assert_array_equal(data.with_bias([7, 8]), [[1, 7], [1, 8]])


@pytest.mark.parametrize("f", [data.with_bias, data.standardise])
@pytest.mark.parametrize(
    "X", [np.empty((0, 2)), [[np.nan]], [["a"]], np.ones((2, 2, 2)), 3.0]
)
def test_what_is_no_table_is_refused_by_name(f, X):
    """The message names X and what arrived."""
    with pytest.raises(ValueError, match="X must"):
        f(X)


def test_two_gaussians_are_drawn_as_stated(rng):
    """Class sizes, means and covariances within five standard errors."""
    N, means = 40_000, np.array([[-0.5, 1.0], [1.5, 0.25]])
    d = data.two_gaussians(rng, N, means=means)
    assert abs(d.t.mean() - 0.5) < 5 * np.sqrt(0.25 / N)
    for k in (0, 1):
        gap = d.X[d.t == k] - means[k]
        n = len(gap)
        assert np.all(abs(gap.mean(axis=0)) < 5 / np.sqrt(n))
        spread = (1 + np.eye(2)) / n
        assert np.all(abs(gap.T @ gap / n - np.eye(2)) < 5 * np.sqrt(spread))


def test_targets_are_drawn_with_the_stated_probabilities(rng):
    """sum (t - y) phi is zero within five standard errors: E[t | phi] = y."""
    Phi = data.with_bias(rng.normal(size=(20_000, 2)))
    w = np.array([-1.0, 2.0, 0.5])
    y = special.sigmoid(Phi @ w)
    gap = (data.draw_targets(rng, Phi, w) - y) @ Phi
    assert np.all(abs(gap) < 5 * np.sqrt((y * (1 - y)) @ Phi**2))


@pytest.mark.parametrize("w", [[[1.0], [2.0]], [1.0], 1.0, [1.0, np.nan]])
def test_weights_of_another_shape_draw_nothing(w, rng):
    """A column (2, 1) gave as many targets for every row as there are rows."""
    with pytest.raises(ValueError, match="w must"):
        data.draw_targets(rng, np.ones((5, 2)), w)


def test_overlapping_data_overlap(rng):
    """A hundred draws of the default Gaussians are not separable."""
    d = data.two_gaussians(rng, 100)
    assert not separates(d.X, d.t)


def test_the_same_seed_draws_the_same_data():
    """Nothing but the generator handed in decides."""
    one, two = (
        data.two_gaussians(np.random.default_rng(3), 9) for _ in range(2)
    )
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.t, two.t)


@pytest.mark.parametrize(
    "load, counts, D, first",
    [
        (data.iris, [50, 50, 50], 4, [5.1, 3.5, 1.4, 0.2]),
        (data.wine, [59, 71, 48], 13, [14.23, 1.71, 2.43, 15.6]),
    ],
)
def test_three_classes_as_published(load, counts, D, first):
    """Counts of classes and first rows, as the UCI repository prints them."""
    found = load()
    assert found.X.shape == (sum(counts), D) and len(found.names) == D
    assert found.t.dtype == float
    np.testing.assert_array_equal(np.bincount(found.t.astype(int)), counts)
    np.testing.assert_array_equal(found.X[0, :4], first)


def test_horse_kicks_are_bortkiewiczs():
    """122 deaths in 200 corps-years; the mean is Fisher's 0.61 (1925)."""
    deaths = data.horse_kicks()
    assert deaths.x.shape == (200,) and deaths.x.sum() == 122
    assert np.bincount(deaths.x.astype(int)).tolist() == [109, 65, 22, 3, 1]
    assert "Bortkiewicz" in deaths.source


def test_digits_are_those_of_the_repository():
    """178 zeros, 182 ones ...; the first is a 0 with blank corners."""
    grey, bits = data.digits(), data.digits(binarised=True)
    counts = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.bincount(grey.t.astype(int)).tolist() == counts
    assert grey.X.shape == bits.X.shape == (1797, 64) and grey.X.max() == 16
    np.testing.assert_array_equal(grey.X[0, :8], [0, 0, 5, 13, 9, 1, 0, 0])
    np.testing.assert_array_equal(bits.X[0, :8], [0, 0, 0, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(bits.X, grey.X >= 8)
    assert bits.names[9] == "row 1, column 1" and "Alpaydin" in bits.source


def test_beetles_give_the_published_fit():
    """-60.72 and 34.27 with errors 5.18 and 2.91: Dobson's table (2002)."""
    found = data.beetles()
    assert found.n.sum() == 481 and found.k.sum() == 291
    fit = logistic_fit(found.x, found.k, found.n, start=(-60, 34))
    assert [round(v, 2) for v in fit] == [-60.72, 34.27, 5.18, 2.91]
    assert "Bliss" in found.source


def published(Phi, t, *args, **more):
    """Weights and standard errors of a generalised linear model."""
    Phi = np.column_stack(Phi)
    fit = glm.fit(Phi, t, *args, **more)
    return fit, glm.standard_errors(fit, Phi)


def test_aids_gives_the_published_fit():
    """3.1406 and 0.2021 per year from 1980 on, deviance 80.69 (Wood 2006)."""
    found = data.aids()
    x = found.X[:, 0] - 1980
    fit, _ = published([np.ones(13), x], found.t, dispersion.POISSON)
    assert fit.w.round(4).tolist() == [3.1406, 0.2021]
    assert round(fit.deviance, 2) == 80.69


def test_clotting_gives_the_published_fit():
    """1 / mean = -0.01655 + 0.01534 ln u, errors 0.00093 and 0.00042 (R)."""
    found = data.clotting()
    assert found.X.shape == (18, 2) and found.t[9:].sum() == 222
    first = found.X[:, 1] == 0
    u = found.X[first, 0]
    fit, se = published(
        [np.ones(9), np.log(u)], found.t[first], dispersion.GAMMA
    )
    assert fit.w.round(7).tolist() == [0.0165544, -0.0153431]
    assert se.round(7).tolist() == [0.0009275, 0.000415]


def test_coronary_gives_the_published_rate_ratios():
    """1.4255 for smoking; 4.41, 13.84, 28.52, 40.45 for age (Stata)."""
    found = data.coronary()
    age = found.X[:, 0]
    Phi = [np.ones(10), found.X[:, 1], *(age == k for k in range(1, 5))]
    fit, _ = published(
        Phi, found.t, dispersion.POISSON, offset=np.log(found.exposure)
    )
    ratios = np.exp(fit.w[1:]).round(2).tolist()
    assert ratios == [1.43, 4.41, 13.84, 28.52, 40.45]
    assert found.t.sum() == 731 and found.exposure.sum() == 181467


def test_carbon_dioxide_is_monthly():
    """521 months of the 526, the first and last from the weekly values."""
    found = data.carbon_dioxide()
    assert found.X.shape == (521, 1) and found.t.shape == (521,)
    assert found.t[0] == 316.1
    april = np.mean([317.3, 317.6, 317.5, 316.4])
    assert np.isclose(found.t[1], april)
    assert np.isclose(found.X[0, 0], 1958 + 2.5 / 12)
    assert np.isclose(found.X[-1, 0], 2001 + 11.5 / 12)
    assert np.isclose(found.t[-1], np.mean([370.3, 370.8, 371.2, 371.3, 371.5]))


def test_diabetes_is_halved_at_its_median():
    """442 rows, ten centred columns, as many above the median as not."""
    d = data.diabetes()
    assert d.X.shape == (442, 10) and len(d.names) == 10
    assert d.t.sum() == 221 and set(d.t) == {0.0, 1.0}
    np.testing.assert_allclose(d.X.mean(axis=0), 0, atol=1e-12)


def test_a_width_below_all_normal_doubles_is_refused():
    """It was 0, or had lost its digits: NaN and infinities, or 30 % off."""
    for x in ([0.0, 5e-324], [0.0, 5e-323, 1e-320]):
        with pytest.raises(ValueError, match="deviations of 2e-308 or more"):
            data.standardise(np.transpose([x]))
    assert data.standardise([[0.0], [1e-307]])[0].tolist() == [[-1], [1]]
