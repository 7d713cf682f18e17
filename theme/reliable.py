"""What became of random problems, slips and error bars; seconds and memory."""

import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from theme.back_matter import RESULTS, Assembled, table  # noqa: E402

FAMILIES = {
    "logistic": "logistic regression",
    "softmax": "softmax regression",
    "probit": "probit, other thresholds, wrong labels",
    "glm_pairs": "generalised linear models",
    "generative": "LDA, QDA, naive Bayes",
    "bayes_logistic": "Bayesian logistic regression",
    "gp_laplace": "Gaussian processes, Laplace",
    "gp_ep": "Gaussian processes, EP",
}
ODD = "singular", "separable", "one class", "opposite labels"
ENDS = "answered", "warned", "refused", "searched", "beaten"


class Measured(Assembled):
    """What the file of a make target holds, shown by `told`."""

    target = ""  # its name; that of the file has _ for -

    def markdown(self):
        """What was measured, or which word measures it."""
        path = RESULTS / f"{self.target.replace('-', '_')}.json"
        if path.exists():
            yield from self.told(json.loads(path.read_text("utf-8")))
        else:
            yield f"Nothing has been tried yet: run `make {self.target}`."

    def told(self, report):
        """The lines of the page; each directive has its own."""
        raise NotImplementedError


class Campaigns(Measured):
    """Counts of `make campaigns`, by family."""

    target = "campaigns"

    def told(self, report):
        """How many problems; what they were; what came of them."""
        found = report["families"]
        hard = [(f, found[f]["any"]) for f in FAMILIES if f in found]
        easy = [(f, p["well posed"]) for f, p in found.items() if len(p) > 1]
        yield (
            f"With seed {report['seed']}, {total(hard, 'problems')} problems "
            f"of any kind were tried, and {total(easy, 'problems')} that are "
            f"well posed. Of the former {failures(hard)} failed, of the latter "
            f"{failures(easy)}."
        )
        if over := beaten_often(hard):
            yield (
                "As a whole these families failed, with more than one search "
                f"in a hundred beaten: {'; '.join(over)}."
            )
        yield ""
        yield from counts("What they were", hard, ODD)
        yield from counts("What came of them", hard, ENDS)
        yield from counts("What came of well-posed ones", easy, ENDS[:3])


def total(places, key):
    """The sum of a number over families."""
    return sum(place[key] for _, place in places)


def failures(places):
    """How many problems went wrong, or none."""
    return sum(len(place["failed"]) for _, place in places) or "none"


def beaten_often(places):
    """Families of which more searches are beaten than one in a hundred."""
    found = [(f, Counter(place["counts"])) for f, place in places]
    return [
        f"{FAMILIES[f]} ({n['beaten']} of {n['searched']})"
        for f, n in found
        if 100 * n["beaten"] > n["searched"]
    ]


def counts(title, places, labels):
    """One row for each family, one column for each label that occurs."""
    shown = [b for b in labels if any(b in p["counts"] for _, p in places)]
    rows = [
        [FAMILIES[f], p["problems"], *(p["counts"].get(b, 0) for b in shown)]
        + [len(p["failed"])]
        for f, p in places
    ]
    yield f"**{title}.**"
    yield ""
    header = ["Family", "problems", *shown, "failed"]
    yield from table(header, rows, [5, *[2] * (len(header) - 1)])


class ErrorBars(Measured):
    """How many error bars cover the truth."""

    target = "error-bars"

    def told(self, report):
        """One row for each kind of problem and method."""
        keys = "bars", "cover", "farthest", "warned", "warned that cover"
        rows = [[k, *map(v.get, keys)] for k, v in report["kinds"].items()]
        yield (
            f"Of {report['problems']} problems of each kind, with seed "
            f"{report['seed']}; *farthest* is in stated errors:"
        )
        yield ""
        header = ["Problem, method", *keys]
        yield from table(header, rows, [5, *[2] * len(keys)])


class PlantedSlips(Measured):
    """Which slips of the notes the unit tests find in the library."""

    target = "slips"

    def told(self, tried):
        """How many, and those that were missed."""
        missed = [slip for slip, found in tried.items() if not found]
        yield (
            f"Of {len(tried)} slips the tests of the module found "
            f"{len(tried) - len(missed)}, and missed "
            f"{', '.join(missed) or 'none'}. Planted were {', '.join(tried)}."
        )


class Versions(Measured):
    """What came of the unit tests on each Python, from `make versions`."""

    target = "versions"

    def told(self, report):
        """One row for each environment."""
        keys = "with", "passed", "skipped", "failed"
        rows = [
            [name.split()[0], *map(row.get, keys)]
            for name, row in report.items()
        ]
        header = ["Python", *keys]
        yield from table(header, rows, [2, 5, *[2] * 3])


class Times(Measured):
    """Seconds and memory of `make times`, by notebook."""

    target = "times"

    def told(self, report):
        """The largest first, and the sum."""
        runs = sorted(report["notebooks"].items(), key=lambda r: -r[1]["s"])
        rows = [[name, f"{r['s']:.1f}", f"{r['MB']:.0f}"] for name, r in runs]
        whole = sum(run["s"] for _, run in runs)
        rows.append(
            ["all", f"{whole:.0f}", f"{max(r['MB'] for _, r in runs):.0f}"]
        )
        yield from table(["Notebook", "seconds", "peak, MB"], rows, [5, 2, 2])
        yield report["setting"]


def setup(app):
    """Register with Sphinx."""
    app.add_directive("campaigns", Campaigns)
    app.add_directive("error-bars", ErrorBars)
    app.add_directive("planted-slips", PlantedSlips)
    app.add_directive("versions", Versions)
    app.add_directive("times", Times)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
