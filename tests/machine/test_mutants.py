"""The planter of faults plants them, and counts who notices."""

import ast
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from prml4.numerics.special import softplus
from tools import journal, mutants


def written(text):
    """What might have been written instead of an expression."""
    tree = ast.parse(text, mode="eval")
    nodes = list(ast.walk(tree.body))
    return {
        ast.unparse(mutants.substitute(tree, k + 1, new))
        for k, node in enumerate(nodes)
        for new in mutants.alternatives(node)
    }


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a - b", {"a + b", "a", "b"}),
        ("-a", {"a"}),
        ("0.5 * x", {"0.5 / x", "1.0 * x"}),
        ("2 * x", {"2 / x", "1 * x", "3 * x"}),
        ("A.T @ b", {"A @ b"}),
        ("x[1]", {"x[0]", "x[2]"}),
        ("a <= b", {"a < b"}),
        ("a == b", {"a != b"}),
        ("np.sum(x)", {"np.mean(x)"}),
        ("f(y)", {"f(1 - y)"}),
        ("f(N)", {"f(N - 1)"}),
        ("a and b", {"a or b"}),
    ],
)
def test_the_faults_of_an_expression(text, faults):
    """Sign, factor, index, term, transposition, comparison, target."""
    assert written(text) == faults


def test_only_the_length_of_a_target_is_spared():
    """1 - y is as long as y."""
    tree = ast.parse("len(y) * y")
    skipped = mutants.spared(tree)
    names = [n for n in ast.walk(tree) if getattr(n, "id", "") == "y"]
    assert sorted(id(n) in skipped for n in names) == [False, True]


def test_messages_signatures_and_tolerances_are_spared():
    """A fault in the wording of an error is no fault of mathematics."""
    tree = ast.parse(
        "def f(x=1):\n"
        "    if x:\n"
        "        raise ValueError(f'{x - 2}')\n"
        "    return x <= 3 + 1e-9 * (1 + x)"
    )
    skipped = mutants.spared(tree)
    constants = {
        n.value: id(n) in skipped
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant)
    }
    assert not constants.pop(3)
    assert all(constants.values())


def test_a_fault_reaches_those_who_imported_the_function():
    """The code of the function is replaced, not the name in its module."""
    faults = mutants.mutants("special", "softplus")
    assert faults
    pid = os.fork()
    if not pid:
        before = softplus(1.0)
        mutants.plant(faults[0])
        os._exit(0 if softplus(1.0) != before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def fault(name):
    """A mutant that is never planted."""
    return mutants.Mutant("special", name, "x = a", "a → b", ast.parse("0"))


@pytest.mark.parametrize(("survivors", "failed"), [(3, False), (4, True)])
def test_fewer_than_97_in_100_fail(
    monkeypatch, capsys, tmp_path, survivors, failed
):
    """97 of 100 noticed are enough, 96 are not."""
    missed = [("special.f", "x = a", "a → b")] * survivors
    tried = {"f": {"source": "", "tried": 100, "survived": missed}}
    monkeypatch.setattr(mutants, "run_module", lambda *module: tried)
    monkeypatch.setattr(mutants, "equivalents", lambda stem: [])
    monkeypatch.setattr(mutants, "RESULTS", tmp_path / "mutants.json")
    monkeypatch.setattr(mutants, "JOURNAL", tmp_path / "journal")
    assert mutants.main(["special"]) is failed
    assert f"{100 - survivors} of 100 noticed" in capsys.readouterr().out


def test_a_module_that_no_claim_names_ends_the_run():
    """Nothing would be planted, and all of it noticed."""
    with pytest.raises(SystemExit, match="08_irls"):
        mutants.main(["08_irls"])


def test_equivalent_faults_are_left_out_while_they_survive():
    """An entry that excuses nothing is counted as such."""
    entries = [
        mutants.Equivalent(f"special.{name}", "a → …", "why", "x…")
        for name in "fg"
    ]
    tried = {
        "f": {"tried": 1, "survived": [fault("f").row]},
        "g": {"tried": 1, "survived": []},
    }
    found = mutants.report("special", tried, entries)
    assert (found["planted"], found["killed"]) == (1, 1)
    assert [e["count"] for e in found["equivalent"]] == [1, 0]


def test_a_run_of_one_module_keeps_the_others(monkeypatch, tmp_path):
    """Figures are renewed module by module."""
    monkeypatch.setattr(mutants, "RESULTS", tmp_path / "mutants.json")
    mutants.keep({"irls": {"planted": 1}, "special": {"planted": 2}})
    mutants.keep({"special": {"planted": 3}})
    kept = json.loads(mutants.RESULTS.read_text("utf-8"))
    assert kept == {"irls": {"planted": 1}, "special": {"planted": 3}}


def test_a_fault_is_known_by_its_statement():
    """Lines may move; a statement that is another is not excused."""
    entry = mutants.Equivalent("special.f", "a → b", "why", "x = a")
    assert entry.covers(*fault("f").row)
    assert not entry.covers("special.f", "y = a", "a → b")
    found = mutants.mutants("special", "softplus")
    assert all("line" not in m.fault and m.statement for m in found)


def test_a_module_goes_on_where_it_was(monkeypatch, tmp_path):
    """What is in the journal is not tried again."""
    tried = []
    monkeypatch.setattr(mutants, "limit", lambda *any: 60)
    monkeypatch.setattr(mutants, "trial", lambda *any: mutants.NOTICED)
    monkeypatch.setattr(mutants, "RESULTS", tmp_path / "results")
    start = mutants.start
    monkeypatch.setattr(
        mutants, "start", lambda m, *how: tried.append(m) or start(m, *how)
    )
    faults = mutants.mutants("special", "softplus")
    done = journal.Journal(tmp_path / "journal", "a")
    done.add(faults[0].key, mutants.SURVIVED)
    done.read()
    named = [("softplus", {})]
    found = mutants.run_module("special", named, done)
    assert [m.key for m in tried] == [m.key for m in faults[1:]]
    assert found["softplus"]["tried"] == len(faults)
    assert found["softplus"]["survived"] == [faults[0].row]


def test_of_a_measured_function_only_survivors_are_tried_again(
    monkeypatch, tmp_path
):
    """Unless it has changed."""
    monkeypatch.setattr(mutants, "limit", lambda *any: 60)
    monkeypatch.setattr(mutants, "RESULTS", tmp_path / "results")
    faults = mutants.mutants("special", "softplus")
    tried = []

    def start(mutant, book, seconds):
        tried.append(mutant.fault)
        return real(mutant, book, seconds)

    def run(verdict):
        tried.clear()
        monkeypatch.setattr(mutants, "trial", verdict)
        done = journal.Journal(tmp_path / "journal", "a")
        found = mutants.run_module("special", [("softplus", {})], done)
        mutants.keep({"special": {"functions": found}})
        done.close()
        return found["softplus"]

    real = mutants.start
    monkeypatch.setattr(mutants, "start", start)
    survivor = faults[1].fault
    first = run(lambda m, book: m.fault != survivor and mutants.NOTICED)
    assert len(tried) == first["tried"] == len(faults)
    assert first["survived"] == [faults[1].row]
    second = run(lambda m, book: mutants.NOTICED)
    assert tried == [survivor] and second["survived"] == []
    assert second["tried"] == len(faults)
    kept = mutants.known()
    kept["special"]["functions"]["softplus"]["source"] = "another"
    mutants.keep(kept)
    run(lambda m, book: mutants.NOTICED)
    assert len(tried) == len(faults)


def test_a_fault_that_never_ends_is_noticed(monkeypatch, tmp_path):
    """After so many seconds of work, however long it waited for them."""

    def endless(*any):
        while True:
            pass

    monkeypatch.setattr(mutants, "trial", endless)
    monkeypatch.setattr(mutants, "limit", lambda *any: 1)
    done = journal.Journal(tmp_path / "journal", "a")
    monkeypatch.setattr(mutants, "mutants", lambda *any: [fault("f")])
    monkeypatch.setattr(mutants, "RESULTS", tmp_path / "results")
    found = mutants.run_module("special", [("f", {})], done)
    assert found["f"]["survived"] == []


def test_who_noticed_a_fault_is_asked_first(monkeypatch, tmp_path):
    """For the next fault of the function; all others if it says nothing."""
    asked, wrong = [], {7}

    def run(chapter, goals, execute):
        asked.append(goals)
        for index in sorted(goals):
            tree = ast.parse("1 / 0" if index in wrong else "0")
            execute(SimpleNamespace(index=index, tree=tree), {})

    monkeypatch.setattr(mutants.rerun, "run", run)
    book = {Path("a"): {3, 7, 9}}  # it has a name
    witness = tmp_path / "f" / "cell"
    assert mutants.objects(book, witness) and mutants.objects(book, witness)
    wrong.clear()
    assert not mutants.objects(book, witness)
    assert asked == [{3, 7, 9}, {7}, {7}, {3, 7, 9}]


def test_unit_tests_are_asked_first_where_they_noticed_the_last(
    monkeypatch, tmp_path
):
    """And the checks again as soon as the tests say nothing."""
    asked, noticed = [], {"tests"}

    def ask(who):
        return lambda *any: asked.append(who) or who in noticed

    monkeypatch.setattr(mutants, "plant", lambda mutant: None)
    monkeypatch.setattr(mutants, "WITNESSES", tmp_path)
    monkeypatch.setattr(mutants, "objects", ask("checks"))
    monkeypatch.setattr(mutants, "unit_tests", ask("tests"))
    mutant = mutants.mutants("special", "softplus")[0]
    codes = [mutants.trial(mutant, {}) for _ in range(2)]
    noticed.symmetric_difference_update({"tests", "checks"})
    codes.append(mutants.trial(mutant, {}))
    noticed.clear()
    codes.append(mutants.trial(mutant, {}))
    assert codes == [mutants.NOTICED] * 3 + [mutants.SURVIVED]
    order = "checks tests, tests, tests checks, checks tests"
    assert asked == order.replace(",", "").split()
