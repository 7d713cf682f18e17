"""Count how often BIC, AIC and the evidence choose which model.

    python tools/precompute_evidence.py

Writes book/support/data/evidence.json, which chapter 14 draws and spot-checks:
world -> N -> one table (criterion, model) of counts per batch of 100 draws.
Takes some minutes; every batch has a seed of its own.
"""

import json
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is imported
from support import selection  # noqa: E402

PLAN = {  # world -> (batches, sizes)
    "inside": (20, (20, 50, 100, 200, 500, 1000, 2000, 5000)),
    "outside": (20, (20, 100, 500, 5000)),
    "kink": (5, (100, 300, 1000, 3000, 10000)),
}


def main():
    """Run the plan and write the counts."""
    counts = {}
    for world, (batches, sizes) in PLAN.items():
        counts[world] = {}
        for N in sizes:
            print(f"{world}: {batches} batches of N = {N}", flush=True)
            counts[world][N] = [
                selection.chosen(world, N, batch).tolist()
                for batch in range(batches)
            ]
    selection.RESULTS.parent.mkdir(exist_ok=True)
    selection.RESULTS.write_text(json.dumps(counts) + "\n")


if __name__ == "__main__":
    main()
