"""What the pages let the reader touch: its numbers against the library's."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import roots_hermitenorm

from prml4.numerics import special
from tools.browser import launch

ASSETS = Path(__file__).resolve().parents[2] / "theme/assets"


@pytest.fixture(scope="module")
def scripts():
    """An empty page with the scripts of the widgets, opened once."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page()
        for name in ["linear.js"]:
            page.add_script_tag(path=ASSETS / name)
        yield page
        browser.close()


@pytest.mark.browser
@pytest.mark.parametrize("N", [0, 1, 2, 5, 30])
def test_linear_solves(scripts, rng, N):
    """A x = b, L L^T = A and ln|A| of random matrices."""
    A = rng.normal(size=(N, N + 3))
    A, b = A @ A.T, rng.normal(size=N)
    found = """([A, b]) => { const L = Linear.cholesky(A); return {L,
      x: Linear.solve(L, b), d: Linear.logdet(L), u: Linear.forward(L, b)}}"""
    found = scripts.evaluate(found, [A.tolist(), b.tolist()])
    L = np.reshape(found["L"], (N, N))
    assert pytest.approx(A, abs=1e-12) == L @ L.T
    assert A @ found["x"] == pytest.approx(b, abs=1e-9)
    assert L @ found["u"] == pytest.approx(b, abs=1e-9)
    assert found["d"] == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-12)


@pytest.mark.browser
@pytest.mark.parametrize("A", [[[0]], [[1, 2], [2, 1]], [[1, 1], [1, 1]]])
def test_linear_knows_what_is_not_positive_definite(scripts, A):
    assert scripts.evaluate("A => Linear.cholesky(A)", A) is None


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("normalCdf", special.normal_cdf),
        ("logNormalCdf", special.log_normal_cdf),
        ("mills", special.mills),
        ("millsPrime", special.mills_prime),
        ("sigmoid", special.sigmoid),
        ("log1pexp", special.softplus),
    ],
)
def test_linear_is_accurate_far_out(scripts, rng, name, other):
    """To 1e-13 up to 30; beyond, the library's own tails round earlier."""
    near = np.append(rng.uniform(-30, 9, 1000), [-1.5, 0, 1.5])
    far = rng.uniform(-37, 37, 100)
    for a, rel in [(near, 2e-13), (far, 1e-12)]:
        asked = f"a => a.map(Linear.{name})"
        got = scripts.evaluate(asked, a.tolist())
        assert got == pytest.approx(other(a), rel=rel, abs=1e-300)


@pytest.mark.browser
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_linear_has_gauss_hermite(scripts, n):
    x, w = roots_hermitenorm(n)
    rule = scripts.evaluate("n => Linear.hermite(n)", n)
    assert rule["x"] == pytest.approx(x, abs=1e-13)
    assert rule["w"] == pytest.approx(w / w.sum(), rel=1e-11)


@pytest.mark.browser
def test_linear_draws_normal_numbers(scripts):
    """Three moments of 20000, within five errors; the seed decides."""
    asked = """seed => { const z = Linear.normals(seed);
      return Array.from({length: 20000}, z)}"""
    z, again, other = (np.array(scripts.evaluate(asked, s)) for s in (3, 3, 4))
    assert np.all(z == again) and np.all(z != other)
    for power, (mean, variance) in enumerate([(0, 1), (1, 2), (0, 15)], 1):
        error = np.sqrt(variance / len(z))
        assert abs(np.mean(z**power) - mean) < 5 * error
