"""Random problems for every family of fits: is any answer wrong unsaid?

    python -m tests.campaigns --problems 10000 --well 1000 --seed 0
    python -m tests.campaigns logistic --only 4711

Counts go to benchmarks/results/campaigns.json after every few problems, and a
run that was interrupted goes on from there; another seed begins anew. Exit 1
if anything failed. What counts as a failure each family says itself, here:

- anything raised but a ValueError that says what must be, or a named warning;
- of well-posed problems, drawn from the model, any that is not answered;
- of the answers of searches for one of several minima, more than one in a
  hundred that another start or a grid beats.
"""

import argparse
import importlib
import json
import os
import sys
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

import numpy as np

FAMILIES = (
    "logistic softmax probit glm_pairs generative bayes_logistic gp_laplace "
    "gp_ep"
).split()
RESULTS = Path(__file__).parents[2] / "benchmarks/results/campaigns.json"
KINDS = "any", "well posed"
FEW = 10  # problems after which counts are kept
MANY = 0.01  # share of beaten searches that is too many


def one(family, well, seed, n):
    """Labels of the n-th problem; what went wrong in capitals."""
    trial = importlib.import_module(f"tests.campaigns.{family}").trial
    try:
        labels = trial(np.random.default_rng([seed, well, n]), well)
    except Exception as wrong:  # noqa: BLE001 - a fault is counted
        return ["FAILED", f"{type(wrong).__name__}: {wrong}"[:200]]
    return [*labels, *["FALSE ALARM"] * (well and "answered" not in labels)]


def some(task):
    """Counts of a few problems in a row, and the numbers of those failed."""
    family, well, seed, start, stop = task
    counts, failed = Counter(), []
    for n in range(start, stop):
        labels = one(family, well, seed, n)
        wrong = [label for label in labels if label.isupper()]
        counts.update(wrong or labels)
        if wrong:
            failed.append(n)
            print(f"{family}{' well' * well} {n}: {labels}", flush=True)
    return task, counts, failed


def tasks(asked, found):
    """What is left to do, a few problems at a time."""
    for family in asked.families:
        for well, most in ((False, asked.problems), (True, asked.well)):
            done = found["families"].get(family, {}).get(KINDS[well], {})
            for start in range(done.get("problems", 0), most, FEW):
                stop = min(start + FEW, most)
                yield family, well, asked.seed, start, stop


def keep(path, found, task, counts, failed):
    """Add counts to the file, which is never half written."""
    family, well, _, _, stop = task
    place = found["families"].setdefault(family, {})
    old = place.get(KINDS[well], {"counts": {}, "failed": []})
    total = Counter(old["counts"]) + counts
    place[KINDS[well]] = {
        "problems": stop,
        "counts": dict(sorted(total.items())),
        "failed": old["failed"] + failed,
    }
    part = path.with_suffix(".part")
    part.write_text(json.dumps(found, indent=1) + "\n")
    os.replace(part, path)


def bad(place):
    """Whether a problem of a family failed, or too many ends were beaten."""
    counts = Counter(place.get("any", {}).get("counts"))
    failed = any(part["failed"] for part in place.values())
    return failed or counts["beaten"] > MANY * counts["searched"]


def main():
    """Run what is left; whether nothing failed."""
    parse = argparse.ArgumentParser()
    parse.add_argument("families", nargs="*", default=FAMILIES)
    parse.add_argument("--problems", type=int, default=10000)
    parse.add_argument("--well", type=int, default=1000)
    parse.add_argument("--seed", type=int, default=0)
    parse.add_argument("--only", type=int, help="one problem, by its number")
    parse.add_argument("--out", type=Path, default=RESULTS)
    asked, found = parse.parse_args(), {}
    if asked.only is not None:
        for well in (False, True):
            for family in asked.families:
                print(family, one(family, well, asked.seed, asked.only))
        return True
    if asked.out.exists():
        found = json.loads(asked.out.read_text())
    if found.get("seed") != asked.seed:
        found = {"seed": asked.seed, "families": {}}
    with Pool(2) as pool:
        for done in pool.imap(some, list(tasks(asked, found))):
            keep(asked.out, found, *done)
    return not any(map(bad, found["families"].values()))


if __name__ == "__main__":
    sys.exit(not main())
