"""Map evidence and information of Laplace and EP; sample the truth.

    python tools/precompute_gp_ep.py

Writes book/support/data/gp_ep.json, which chapter 19 draws and spot-checks.
Takes some minutes.
"""

import json
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is imported
import numpy as np  # noqa: E402
from support import digit_maps  # noqa: E402


def main():
    """Compute, round to seven digits, write."""
    found = digit_maps.compute()
    rounded = {
        name: np.vectorize(lambda x: float(f"{x:.7g}"))(value).tolist()
        for name, value in found.items()
    }
    digit_maps.RESULTS.parent.mkdir(exist_ok=True)
    digit_maps.RESULTS.write_text(json.dumps(rounded) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
