"""prml4.descent: conjugate gradients, Newton without Hessians, head starts."""

import numpy as np
import pytest
from numpy.linalg import LinAlgError

from prml4 import descent, newton, softmax


def positive(rng, d, condition=1e3):
    """A positive definite matrix with eigenvalues from 1 to `condition`."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return Q @ np.diag(np.geomspace(1, condition, d)) @ Q.T


def problem(rng, N=3000, M=8, K=4, alpha=0.0):
    """A softmax problem whose classes overlap."""
    Phi = np.c_[np.ones(N), rng.standard_normal((N, M - 1))]
    W = rng.standard_normal((K, M)) / 2
    t = (Phi @ W.T + rng.gumbel(size=(N, K))).argmax(axis=1)
    alpha = np.broadcast_to(float(alpha), (M,))
    return softmax.Problem(Phi, t, None, alpha, np.eye(K - 1))


def test_conjugate_gradients_solve_in_d_steps(rng):
    """Six products for six unknowns; fewer with a good guess."""
    H, g = positive(rng, 6, 50), rng.standard_normal(6)
    count = []

    def product(u):
        count.append(1)
        return H @ u

    s = descent.conjugate_gradients(product, lambda r: r, g, 1e-9)
    np.testing.assert_allclose(H @ s, g, rtol=1e-7)
    assert len(count) <= 7
    count.clear()
    B = np.linalg.inv(H)
    s = descent.conjugate_gradients(product, lambda r: B @ r, g, 1e-9)
    np.testing.assert_allclose(H @ s, g, rtol=1e-7)
    assert len(count) <= 2


def test_conjugate_gradients_stop_early_when_told(rng):
    """A tenth of the residual, and every iterate is a way down."""
    H, g = positive(rng, 40), rng.standard_normal(40)
    s = descent.conjugate_gradients(lambda u: H @ u, lambda r: r, g, 0.1)
    r = g - H @ s
    assert 0 < np.linalg.norm(r) <= 0.1 * np.linalg.norm(g) and g @ s > 0
    zero = descent.conjugate_gradients(lambda u: H @ u, lambda r: r, 0 * g, 0.1)
    assert not zero.any()


def test_inverse_is_one_or_is_refused(rng):
    """Against numpy's; singular matrices and negative ones raise."""
    S = positive(rng, 5)
    np.testing.assert_allclose(descent.inverse(S), np.linalg.inv(S), rtol=1e-9)
    for bad in (np.ones((2, 2)), -np.eye(2), np.diag([1.0, 0])):
        with pytest.raises(LinAlgError):
            descent.inverse(bad)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_newton_cg_finds_what_newton_finds(rng, alpha):
    """The same v to the rounding of E; the trace falls."""
    f = problem(rng, alpha=alpha)
    full = newton.iterate(f, np.zeros(f.d))
    short = descent.newton_cg(f, np.zeros(f.d))
    assert full.converged and short.converged
    np.testing.assert_allclose(short.w, full.w, atol=1e-7)
    assert np.all(np.diff(short.trace) <= 1e-9) and len(short.trace) < 15
    again = descent.newton_cg(f, full.w)
    assert again.converged and len(again.trace) <= 2


def test_the_guess_is_close_to_the_inverse_hessian(rng):
    """Exact where all rows have the same probabilities: at v = 0."""
    for alpha in (0.0, 5.0):
        f = problem(rng, alpha=alpha)
        product, guess = f.curvature(np.zeros(f.d))
        u = rng.standard_normal(f.d)
        H = f(np.zeros(f.d))[2]
        np.testing.assert_allclose(product(u), H @ u, rtol=1e-9)
        off = np.abs(guess(H @ u) - u).max()
        assert off < (1e-10 if alpha == 0 else 0.1)


def test_head_start_comes_near_and_knows_the_curvature(rng):
    """Within the noise of 4000 rows; B H = I but for that noise."""
    f = problem(rng, 80000)
    v, B = descent.head_start(f)
    best = descent.newton_cg(f, v)
    assert 0.01 < np.abs(v - best.w).max() < 0.5
    assert np.abs(B @ f(v)[2] - np.eye(f.d)).max() < 0.5
    assert descent.descend(f, None, 2e-8)[1] == "quasi-newton"


def test_head_start_refuses_a_poor_sample(rng):
    """A column that few rows have; classes that a plane separates."""
    f = problem(rng, 80000)
    f.Phi[:, 3] = 0
    f.Phi[:5, 3] = 1
    with pytest.raises(LinAlgError):
        descent.head_start(f)
    f = problem(rng, 80000)
    f.t[:] = (f.Phi[:, :4]).argmax(axis=1)
    with pytest.raises(LinAlgError):
        descent.head_start(f)


def test_newton_cg_gives_up_below_the_floor(rng):
    """Separable classes: E below ln 2 proves it, no need to go on."""
    f = problem(rng, 500)
    f.t[:] = (f.Phi[:, :4]).argmax(axis=1)
    best = descent.newton_cg(f, np.zeros(f.d))
    assert not best.converged and best.error < f.floor == np.log(2)
    assert best.trace[-2] > f.floor


def test_newton_cg_stops_at_a_singular_problem(rng):
    """Dependent columns: no guess, no step."""
    f = problem(rng)
    f.Phi[:, 2] = f.Phi[:, 1]
    best = descent.newton_cg(f, np.zeros(f.d))
    assert not best.converged and len(best.trace) == 1
