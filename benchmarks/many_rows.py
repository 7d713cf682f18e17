"""How fast rows pass by where only their sums are kept, array or memory map.

    python benchmarks/many_rows.py     about a minute

A pass adds up what a Newton step of logistic regression needs, or what LDA
needs; the second read of a memory map finds the file in the system's cache.
Gigabytes of float64 rows a second, in one thread; of 20 passes over a block
the fastest counts, and the blocks are added. And the bytes of what is left of
any number of rows.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import race
from threadpoolctl import threadpool_limits

from prml4 import gaussian
from prml4.numerics import descent
from prml4.studies import many_rows

SIZE = 8e7  # bytes of rows
REPEATS = 20


def rates(M, folder):
    """GB/s of each pass over rows of M numbers, and what it leaves."""
    rng = np.random.default_rng(7)
    N = int(SIZE / 8 / M)
    Phi = rng.standard_normal((N, M))
    t = (rng.random(N) < 1 / (1 + np.exp(-Phi[:, 0]))).astype(float)
    np.save(folder / f"{M}.npy", Phi)
    kinds = {"array": Phi}
    kinds["map"] = np.load(folder / f"{M}.npy", mmap_mode="r")
    step = many_rows.terms, many_rows.logistic_problem, np.full(M, 0.1)
    parts = {
        "logistic": (step[0], step[1:], many_rows.add),
        "lda": (
            many_rows.statistics,
            (gaussian.statistics, 2),
            many_rows.merge,
        ),
    }
    for model, (part, given, unite) in parts.items():
        for kind, rows in kinds.items():
            seconds, found = best(part, (rows, t), *given, unite=unite)
            leaves = 8 * sum(np.size(number) for number in found)
            gbs = round(SIZE / 1e9 / seconds, 3)
            race.say(f"{model} {kind} M = {M}: {gbs} GB/s, {leaves} bytes\n")
            yield {
                "model": model, "rows": kind, "M": M, "N": N, "gb_per_s": gbs,
                "bytes": leaves,
            }  # fmt: skip


def best(part, arrays, *given, unite):
    """Seconds of the fastest pass over each block, added; and the sums."""
    size = descent.BLOCK // arrays[0][:1].nbytes
    blocks = [
        [A[first : first + size] for A in arrays]
        for first in range(0, len(arrays[0]), size)
    ]
    times = np.full((REPEATS, len(blocks)), np.inf)
    for k in np.ndindex(times.shape):
        start = time.perf_counter()
        found = many_rows.total(part, blocks[k[1]], *given, unite=unite)
        times[k] = time.perf_counter() - start
    return times.min(axis=0).sum(), found


def main():
    """Run the passes and write what was found."""
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        found = [c for M in (10, 20, 50) for c in rates(M, Path(folder))]
    race.write(
        "many_rows",
        "standard normal columns, 80 MB of rows in blocks of 4 MB; GB of rows "
        "a second, one thread, each block by the fastest of 20 passes: the "
        "machine did other work as well.",
        ["numpy"],
        found,
    )


if __name__ == "__main__":
    main()
