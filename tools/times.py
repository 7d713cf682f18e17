"""Seconds and peak memory of each notebook, run by itself.

    python tools/times.py              every notebook below book/
    python tools/times.py FILE ...     only these; the others stay as they were

Nothing is written back to the notebooks; benchmarks/results/times.json holds
what the page "How reliable" prints. The memory is that of the kernel.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import execute

OUT = Path("benchmarks/results/times.json")
MEASURE = "import sys, times; times.measure(sys.argv[1])"


def measure(name):
    """Print seconds, and the peak of the one kernel that this process had."""
    start = time.perf_counter()
    execute.run(Path(name).resolve())
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    kilo = 1e6 if sys.platform == "darwin" else 1e3
    print(json.dumps({"s": round(seconds, 1), "MB": round(peak / kilo)}))


def main(names):
    """Measure the named notebooks, one at a time, and keep the figures."""
    paths = [Path(n) for n in names] or execute.every_notebook(Path("book"))
    old = json.loads(OUT.read_text()) if OUT.exists() and names else {}
    runs = old.get("notebooks", {})
    for path in paths:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path)],
            env=os.environ | execute.STEADY | {"PYTHONPATH": "tools"},
            check=True,
            stdout=subprocess.PIPE,
        )
        runs[path.stem] = json.loads(done.stdout)
        print(path, runs[path.stem], flush=True)
    setting = f"On a machine of {os.cpu_count()} cores."
    report = {"setting": setting, "notebooks": dict(sorted(runs.items()))}
    OUT.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
