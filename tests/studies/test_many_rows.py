"""studies.many_rows: what blocks of rows add up to is the fit in memory."""

import os
import signal
import sys
import time
import tracemalloc
from threading import Timer

import numpy as np
import pytest

from prml4 import gaussian, irls, logistic, naive_bayes, softmax
from prml4.models import data
from prml4.models.likelihoods import LOGISTIC
from prml4.numerics import descent
from prml4.numerics.newton import NotConverged
from prml4.studies import many_rows

N, K = 6000, 3
_rng = np.random.default_rng(7)
X = 3 + _rng.normal(size=(N, 4))
T3 = np.argmax(X[:, :3] + 2 * _rng.gumbel(size=(N, 3)), axis=1)
_order = np.argsort(T3, kind="stable")  # small blocks lack a class or two
X, T3 = X[_order], T3[_order]
T2 = (T3 == 1).astype(float)
PHI, BITS = data.with_bias(X), (X > 3).astype(float)
PRIOR = {"alpha": [0, 1, 1, 1, 90], "m0": [0, 1, 2, 3, 4]}
CLASSES = {"K": K}
# by blocks; rows; targets; in memory; what is compared; options of both
FITS = {
    "IRLS": (many_rows.fit_logistic, PHI, T2, irls.fit_irls, "w", {}, {}),
    "logistic, with a prior": (
        *(many_rows.fit_logistic, PHI, T2, logistic.fit, "w"), PRIOR, PRIOR,
    ),
    "softmax": (
        *(many_rows.fit_softmax, PHI, T3, softmax.fit, "W"),
        CLASSES, {"method": "newton"},
    ),
    "naive Bayes": (
        *(many_rows.fit_bernoulli, BITS, T3, naive_bayes.fit_bernoulli),
        "rest", CLASSES, {},
    ),
    "Gaussian naive Bayes": (
        *(many_rows.fit_gaussian, X, T3, naive_bayes.fit_gaussian, "var"),
        CLASSES, {},
    ),
    "LDA": (
        many_rows.fit_lda, X, T3, gaussian.fit_lda, "Sigma", CLASSES, {}
    ),
    "QDA": (
        many_rows.fit_qda, X, T3, gaussian.fit_qda, "Sigma", CLASSES, {}
    ),
}  # fmt: skip
each_model = pytest.mark.parametrize("name", FITS)


def compare(name, wrap, **how):
    """The fit of wrap(rows), wrap(targets), against that in memory, 1e-10."""
    fit, A, t, whole, field, mine, theirs = FITS[name]
    found, expected = (
        fit(wrap(A), wrap(t), **mine, **how),
        whole(A, t, **theirs),
    )
    np.testing.assert_allclose(
        getattr(found, field), getattr(expected, field), rtol=1e-10, atol=1e-10
    )
    return found


@each_model
@pytest.mark.parametrize("size", [43, N])
def test_blocks_of_an_array_give_the_fit(name, size, monkeypatch):
    """Also where most blocks have rows of a single class."""
    monkeypatch.setattr(descent, "BLOCK", 8 * 4 * size)
    compare(name, lambda A: A)


@each_model
def test_a_memory_map_gives_the_fit(name, tmp_path):
    """Targets may be small integers."""

    def mapped(A):
        path = tmp_path / f"{A.ndim}.npy"
        np.save(path, A.astype(np.int8) if A.ndim == 1 else A)
        return np.load(path, mmap_mode="r")

    compare(name, mapped)


def test_of_a_memory_map_a_block_is_in_memory(tmp_path, monkeypatch):
    """No array of a twentieth of its size is made, targets included."""
    np.save(tmp_path / "A.npy", np.tile(PHI, (50, 1)))
    np.save(tmp_path / "t.npy", np.tile(T2, 50))
    A, t = (np.load(tmp_path / f"{n}.npy", mmap_mode="r") for n in "At")
    monkeypatch.setattr(descent, "BLOCK", 2**17)
    tracemalloc.start()
    many_rows.fit_logistic(A, t)
    many_rows.fit_lda(A[:, 1:], t, 2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < A.nbytes / 20


def test_a_single_row_joins_a_class_that_had_none():
    """Its mean is the row; of nothing and nothing comes nothing."""
    none = np.zeros(2), np.zeros((2, 3)), np.zeros((2, 3))
    row = np.array([1.0, 0]), np.array([[4.0, 5, 6], [0, 0, 0]]), none[2]
    for one, other in ((none, row), (row, none)):
        for found, want in zip(many_rows.merge(one, other), row, strict=True):
            np.testing.assert_array_equal(found, want)


def test_far_from_the_origin_nothing_cancels(monkeypatch):
    """Means a million standard deviations off, merged from a hundred blocks."""
    monkeypatch.setattr(descent, "BLOCK", 8 * 4 * 60)
    for fit, field in (
        (many_rows.fit_qda, "Sigma"),
        (many_rows.fit_gaussian, "var"),
    ):
        near, far = (getattr(fit(A, T3, K), field) for A in (X, X + 1e6))
        np.testing.assert_allclose(far, near, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ["Gaussian naive Bayes", "LDA", "QDA"])
def test_a_feature_that_is_constant_but_for_rounding_is_refused(name):
    """0.3 and 0.1 + 0.2: no variance to divide by, as said in memory."""
    fit, A, t, whole, _, mine, theirs = FITS[name]
    A = A.copy()
    A[:, 1] = np.where(np.arange(len(A)) % 2, 0.3, 0.1 + 0.2)
    said = []
    for call in (lambda: fit(A, t, **mine), lambda: whole(A, t, **theirs)):
        with pytest.raises(ValueError, match="feature 1 is constant") as no:
            call()
        said.append(str(no.value))
    assert said[0].startswith(said[1])
    assert "Only the fit in memory takes shrinkage or smoothing" in said[0]


def test_each_pass_tells_how_far_it_is(monkeypatch):
    """Rows done, up to N, and seconds that only grow; then it starts again."""
    monkeypatch.setattr(descent, "BLOCK", 8 * 5 * 2500)
    told = []
    fit = many_rows.fit_logistic(PHI, T2, alpha=1.0, progress=told.append)
    rows, seconds = zip(*told, strict=True)
    assert rows[:3] == (2500, 5000, 6000) and set(rows) == set(rows[:3])
    assert seconds[0] < seconds[1] < seconds[2]
    # one for each step, one before the first, one to see that nothing moves
    assert len(told) / 3 == len(fit.trace) + 1


@pytest.mark.parametrize("fit", [many_rows.fit_logistic, irls.fit_irls])
def test_separable_classes_have_no_minimum(fit):
    """However small E and its gradient; and columns that depend on others."""
    with pytest.warns(UserWarning, match="prior"):
        assert not fit(PHI, (X[:, 0] > 3).astype(float)).converged


def test_dependent_columns_have_no_minimum():
    """Nor if a millionth of a column is new; with a prior they have."""
    for new in (0, 1e-6):
        twice = np.column_stack([PHI, PHI[:, 1] + new * np.sin(np.arange(N))])
        with pytest.warns(NotConverged, match="columns that depend on others"):
            assert not many_rows.fit_logistic(twice, T2).converged
    assert many_rows.fit_logistic(twice, T2, alpha=1.0).converged


def test_what_is_wrong_is_said_with_its_block(monkeypatch):
    """A NaN in the third block, a class without rows, too few targets."""
    monkeypatch.setattr(descent, "BLOCK", 8 * 5 * 1000)
    bad = PHI.copy()
    bad[2345, 2] = np.nan
    with pytest.raises(ValueError, match=r"nan at \[345, 2\], in block 2$"):
        many_rows.fit_logistic(bad, T2)
    with pytest.raises(ValueError, match="no row of class 3"):
        many_rows.fit_softmax(PHI, T3, 4)
    with pytest.raises(ValueError, match="t must have one entry per row"):
        many_rows.fit_lda(X, T3[:1000], K)
    with pytest.raises(ValueError, match="0, ..., 1 of at least two"):
        many_rows.fit_logistic(PHI, 2 * T2 - 1)


def test_with_a_prior_a_class_may_be_empty():
    """As in memory, where T says that there is one more."""
    found = many_rows.fit_softmax(PHI, T3, 4, alpha=1.0)
    same = softmax.fit(PHI, np.eye(4)[T3], alpha=1.0, method="newton")
    np.testing.assert_allclose(found.W, same.W, atol=1e-9)


# On Dask.


def test_what_is_no_number_of_classes_is_named():
    """None, words and fractions were a TypeError or said "in block 0"."""
    for none in (None, "3", 2.5, 1, -1):
        for call in (
            lambda: many_rows.class_counts(T3, none),  # noqa: B023
            lambda: many_rows.fit_lda(X, T3, none),  # noqa: B023
            lambda: many_rows.fit_bernoulli(BITS, T3, none),  # noqa: B023
            lambda: many_rows.fit_softmax(PHI, T3, none, alpha=1.0),  # noqa: B023
        ):
            with pytest.raises(
                ValueError, match="K must be a whole .*got [^,]*$"
            ):
                call()
    assert many_rows.class_counts([0, 1, 1], 2).tolist() == [1, 2]
    for t in (None, 1.0, [], [[0], [1]]):
        with pytest.raises(ValueError, match="t must have shape"):
            many_rows.class_counts(t, 2)
    with pytest.raises(ValueError, match="X must be a matrix"):
        many_rows.fit_lda(None, T3, K)


class Far:
    """Looks like a Dask array."""

    shape = (3,)

    def to_delayed(self):
        """Blocks."""


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    """As everything that needs more than NumPy and SciPy does."""
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"pip install prml4\[dask\]"):
        many_rows.class_counts(Far(), 2)


@each_model
def test_a_dask_array_gives_the_fit(name):
    """Cut anyhow: its threads add blocks of rows."""
    import dask
    import dask.array as da

    def cut(A):
        return da.from_array(A, chunks=(700, 2)[: A.ndim])

    with dask.config.set(scheduler="synchronous"):
        compare(name, cut)
        with pytest.raises(ValueError, match="of the kind that X is; got nda"):
            many_rows.fit_lda(cut(X), T3, K)


LIMIT = 200_000_000  # bytes, of each of two workers


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes on this machine; only they hear each other."""
    import dask
    from distributed import Client, LocalCluster

    patient = {"connect": "120s", "tcp": "120s"}
    with (
        dask.config.set({"distributed.comm.timeouts": patient}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=LIMIT,
            host="127.0.0.1",
            dashboard_address=None,
        ) as workers,
        Client(workers, timeout="120s") as client,
    ):
        client.wait_for_workers(2, timeout=120)
        yield client


on_workers = [pytest.mark.dask, pytest.mark.filterwarnings("default")]


class TestOnWorkers:
    """Two processes, that share nothing with this one."""

    pytestmark = on_workers

    @each_model
    def test_two_processes_give_the_fit(self, name, cluster):
        """And say, over there, what is wrong."""
        import dask.array as da

        compare(name, lambda A: da.from_array(A, chunks=(700, 5)[: A.ndim]))
        bad = da.from_array(np.full((N, 4), np.nan), chunks=(4000, 4))
        t = da.from_array(T3, chunks=4000)
        with pytest.raises(ValueError, match="X must be"):
            many_rows.fit_qda(bad, t, K)

    def test_four_times_the_memory_of_a_worker(self, cluster, tmp_path):
        """Read anew in each pass; no worker is ended for what it holds."""
        import dask.array as da

        M, rows = 20, 5_000_000
        make = da.random.default_rng(7)
        A = make.normal(size=(rows, M), chunks=(50_000, M))
        da.to_npy_stack(tmp_path / "A", A)
        A = da.from_npy_stack(tmp_path / "A")
        noise = make.logistic(size=rows, chunks=50_000)
        t = (A[:, 0] - A[:, 1] / 2 + noise > 0).astype(np.int8).persist()
        assert A.nbytes >= 4 * LIMIT
        before = cluster.run(os.getpid)
        fit = many_rows.fit_logistic(A, t, tol=1e-4)
        lda = many_rows.fit_lda(A, t, 2)
        assert cluster.run(os.getpid) == before
        assert fit.converged
        E, g, H, n, total = 0.0, np.zeros(M), 0.0, np.zeros(2), 0.0
        t = t.compute()
        for b in range(100):
            block = np.load(tmp_path / "A" / f"{b}.npy", mmap_mode="r")
            t_b = t[50_000 * b :][:50_000]
            terms = LOGISTIC.loss(t_b.astype(float))
            share = descent.row_pass(block, fit.w, terms)
            E, g, H = E + share[0], g + share[1], H + share[2]
            n += np.bincount(t_b, minlength=2)
            total += np.eye(2)[t_b].T @ block
        np.testing.assert_allclose(fit.error, E, rtol=1e-10)
        np.testing.assert_allclose(fit.gradient, g, atol=1e-10 * rows)
        np.testing.assert_allclose(lda.mu, total / n[:, None], atol=1e-10)
        assert g @ np.linalg.solve(H, g) < 1e-8 * E

    def test_a_worker_killed_in_mid_pass_changes_nothing(self, cluster):
        """Its blocks are made again; the shares are added in the same order."""
        import dask.array as da

        def slow(block):
            time.sleep(0.05)
            return block

        A = da.from_array(PHI, chunks=(500, 5)).persist()
        t = da.from_array(T2, chunks=500).persist()
        before = cluster.run(os.getpid)
        victim, timers = min(before.values()), []

        def kill(_):
            timers.append(Timer(0.1, os.kill, (victim, signal.SIGKILL)))
            if len(timers) == 3:  # a tenth of a second into the fourth pass
                timers[-1].start()

        late = A.map_blocks(slow, dtype=float)
        fit = many_rows.fit_logistic(late, t, alpha=1.0, progress=kill)
        assert len(timers) > 4 and timers[2].finished.is_set()
        expected = many_rows.fit_logistic(A.compute(), T2, alpha=1.0)
        cluster.wait_for_workers(2, timeout=120)
        assert victim not in cluster.run(os.getpid).values()
        np.testing.assert_allclose(fit.w, expected.w, rtol=1e-10)
        again = many_rows.fit_logistic(late, t, alpha=1.0)
        np.testing.assert_array_equal(again.w, fit.w)
