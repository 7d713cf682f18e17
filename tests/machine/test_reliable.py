"""Random problems are counted, failures found, and both shown as they are."""

import importlib
import json

import pytest

from tests.campaigns import __main__ as campaigns
from tests.campaigns import error_bars, slips
from theme import reliable
from tools import versions

SOME = "--problems 12 --well 4".split()


def lines(directive):
    """The Markdown of a directive, without the machinery of Sphinx."""
    return "\n".join(directive.markdown(directive.__new__(directive)))


def run(monkeypatch, path, trial, *words):
    """A run of one family with this trial, here and not in other processes."""
    family = importlib.import_module("tests.campaigns.logistic")
    monkeypatch.setattr(family, "trial", trial)
    monkeypatch.setattr(campaigns, "Pool", Here)
    asked = ["", "logistic", *SOME, "--out", str(path), *words]
    monkeypatch.setattr("sys.argv", asked)
    return campaigns.main()


class Here:
    """A pool of this process alone."""

    def __init__(self, n):
        self.imap = map

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


@pytest.mark.parametrize("family", campaigns.FAMILIES)
def test_each_family_has_problems(family):
    """Each ends in one of three ways; the well-posed one is answered."""
    assert not any(
        label.isupper() for label in campaigns.one(family, True, 0, 0)
    )
    ends = {"answered", "warned", "refused"}
    assert len(ends & set(campaigns.one(family, False, 0, 0))) == 1


def test_a_run_counts_and_goes_on_where_it_was(monkeypatch, tmp_path):
    """Problems are not tried twice; what they were adds up."""
    path, tried = tmp_path / "campaigns.json", []

    def trial(rng, well):
        tried.append(well)
        return ["answered"]

    assert run(monkeypatch, path, trial)
    assert (tried.count(False), tried.count(True)) == (12, 4)
    assert run(monkeypatch, path, trial, "--problems", "15")
    assert (tried.count(False), tried.count(True)) == (15, 4)
    found = json.loads(path.read_text())["families"]["logistic"]
    assert found["any"]["counts"] == {"answered": 15}


@pytest.mark.parametrize(
    "label, problems",
    [("NaN", 12 + 4), ("warned", 4), ("beaten", 0)],
)
def test_faults_are_failures(monkeypatch, tmp_path, label, problems):
    """An assertion, a false alarm, too many beaten ends: each fails a run."""
    path = tmp_path / "campaigns.json"

    def trial(rng, well):
        assert label != "NaN", "a number that is not finite"
        return [label] if label == "warned" else ["answered", "searched", label]

    assert not run(monkeypatch, path, trial)
    places = json.loads(path.read_text())["families"]["logistic"].values()
    assert sum(len(place["failed"]) for place in places) == problems


def test_convex_answers_excuse_no_beaten_search():
    """One in a hundred of the answers that may be one of several minima."""
    for searched, bad in ((99, True), (100, False)):
        counts = {"answered": 1000, "searched": searched, "beaten": 1}
        place = {"any": {"counts": counts, "failed": []}}
        assert campaigns.bad(place) == bad
        told = [f"logistic regression (1 of {searched})"] * bad
        assert reliable.beaten_often([("logistic", place["any"])]) == told


def test_the_page_prints_what_is_in_the_file(monkeypatch, tmp_path):
    """Totals, failures and a table of all labels that occur."""
    monkeypatch.setattr(reliable, "RESULTS", tmp_path)
    assert "make campaigns" in lines(reliable.Campaigns)
    counts = {"answered": 7, "refused": 5, "singular": 2}
    hard = {"problems": 12, "counts": counts, "failed": [3]}
    easy = {"problems": 4, "counts": {"answered": 4}, "failed": []}
    place = {"any": hard, "well posed": easy}
    report = {"seed": 0, "families": {"gp_ep": place, "logistic": place}}
    (tmp_path / "campaigns.json").write_text(json.dumps(report))
    text = lines(reliable.Campaigns)
    assert "24 problems of any kind were tried, and 8 that are" in text
    assert "Of the former 2 failed, of the latter none." in text
    assert "* - logistic regression\n  - 12\n  - 7\n  - 5\n  - 1\n" in text


def test_error_bars_and_slips_are_shown(monkeypatch, tmp_path):
    """Counts as they are in the files; the slips that were missed by name."""
    monkeypatch.setattr(reliable, "RESULTS", tmp_path)
    assert "make error-bars" in lines(reliable.ErrorBars)
    assert "make slips" in lines(reliable.PlantedSlips)
    kinds = {"Gaussian, chain": error_bars.counted([0.5, 3.04, 1.9], [2.5])}
    report = {"problems": 4, "seed": 7, "kinds": kinds}
    (tmp_path / "error_bars.json").write_text(json.dumps(report))
    text = lines(reliable.ErrorBars)
    assert "Of 4 problems of each kind, with seed 7" in text
    assert "* - Gaussian, chain\n  - 3\n  - 2\n  - 3.0\n  - 1\n  - 0\n" in text
    (tmp_path / "slips.json").write_text('{"A1": true, "B2": false}')
    text = lines(reliable.PlantedSlips)
    assert "Of 2 slips" in text and "found 1, and missed B2." in text


def test_versions_are_shown_as_they_were_counted(monkeypatch, tmp_path):
    """Failures and errors of a run are failed; the table has a row for each."""
    monkeypatch.setattr(reliable, "RESULTS", tmp_path)
    assert "make versions" in lines(reliable.Versions)
    monkeypatch.setattr(versions, "RESULTS", tmp_path / "versions.json")
    suite = '<testsuite tests="9" skipped="2" failures="1" errors="3"/>'
    (tmp_path / "tests.xml").write_text(f"<testsuites>{suite}</testsuites>")
    counts = versions.counted(tmp_path / "tests.xml")
    versions.keep("3.12 oldest", {"with": "numpy 2.0.0", **counts})
    text = lines(reliable.Versions)
    assert "* - 3.12\n  - numpy 2.0.0\n  - 3\n  - 2\n  - 4\n" in text


@pytest.mark.parametrize("slip", slips.SLIPS)
def test_each_slip_has_its_place_in_the_library(slip):
    """Once, and in a module with tests; a new text of it must be told."""
    path, text = slips.planted(slip)
    compile(text, str(path), "exec")
    assert slips.tests_of(path).exists()


def test_times_are_shown_with_their_sum(monkeypatch, tmp_path):
    """Seconds and megabytes, the slowest first."""
    monkeypatch.setattr(reliable, "RESULTS", tmp_path)
    assert "make times" in lines(reliable.Times)
    runs = {"a": {"s": 1.0, "MB": 200}, "b": {"s": 2.5, "MB": 100}}
    report = {"setting": "Two cores.", "notebooks": runs}
    (tmp_path / "times.json").write_text(json.dumps(report))
    text = lines(reliable.Times)
    assert text.index("* - b\n  - 2.5\n  - 100") < text.index("* - a\n")
    assert "* - all\n  - 4\n  - 200\n" in text and "Two cores." in text
