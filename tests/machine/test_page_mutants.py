"""Errors planted in printed formulas are planted, and found."""

import json

import numpy as np
import pytest

from prml4 import check
from tools import chapters as reader
from tools import journal, page_mutants

rng = np.random.default_rng(3)
Phi, w, u = rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=3)
A, B = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
t = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
s = check.depends(lambda a: 1 / (1 + np.exp(-a)))
NAMES = {
    "w": w, "u": u, "A": A, "B": B, "phi": Phi, "t": t, "N": 5,
    "a": check.depends(lambda w: Phi @ w), "y": s,
    "E": lambda w: np.logaddexp(0, (1 - 2 * t) * (Phi @ w)).sum(),
}  # fmt: skip
TRUE = [
    r"\nabla E(\mathbf w)=\sum_{n=1}^N(y_n-t_n)\,\boldsymbol\phi_n",
    r"E(\mathbf w)=-\sum_{n=1}^N\{t_n\ln y_n+(1-t_n)\ln(1-y_n)\}",
    r"\frac{\partial y_n}{\partial\mathbf w}=y_n(1-y_n)\,\boldsymbol\phi_n",
    r"(\mathbf A+\mathbf u\mathbf w^{\mathsf T})^{-1}=\mathbf A^{-1}-"
    r"\frac{\mathbf A^{-1}\mathbf u\,\mathbf w^{\mathsf T}\mathbf A^{-1}}"
    r"{1+\mathbf w^{\mathsf T}\mathbf A^{-1}\mathbf u}",
    r"(\mathbf A\mathbf B)_{ik}=\sum_jA_{ij}B_{jk}",
    r"\|\mathbf w-\mathbf u\|^2=\|\mathbf w\|^2"
    r"-2\mathbf w^{\mathsf T}\mathbf u+\|\mathbf u\|^2",
    r"\int_0^1(2c+1)^2\,dc=\tfrac12(8+\tfrac23)",
]


def judged(edit):
    """What the referee says of one edit."""
    return page_mutants.judged(check.printed, "x-a", edit, NAMES)


@pytest.mark.parametrize("tex", TRUE)
def test_every_planted_error_is_found(tex):
    """Not one survives where the numbers are rich."""
    assert check.printed("x-a", tex=tex, **NAMES)
    edits = page_mutants.errors(tex)
    assert len(edits) >= 4
    survivors = [e for e in edits if judged(e) == page_mutants.SURVIVED]
    assert survivors == []


@pytest.mark.parametrize("tex", TRUE)
def test_edits_that_change_nothing_are_let_alone(tex):
    """Renamed indices, exchanged members and terms."""
    edits = list(page_mutants.harmless(tex))
    assert edits
    assert [e for e in edits if judged(e) != page_mutants.SURVIVED] == []


def test_every_kind_of_error_is_planted():
    """Each rule has its place in the displays above, or in these."""
    more = (r"a_{ij}\le 2\,b^2_{ji}+\tfrac12c_1", r"\mathbf m\succeq\mathbf Q")
    kinds = {e.kind for tex in (*TRUE, *more) for e in page_mutants.errors(tex)}
    rules = {kind for kind, *_ in page_mutants.RULES}
    added = {"another index", "another symbol", "drop a term"}
    assert kinds == rules | added


def test_errors_that_say_the_same_are_not_planted():
    """A thin space is no error."""
    edits = page_mutants.errors(r"\mathbf x\,=\mathbf x")
    assert all(page_mutants.read(e.tex) for e in edits)
    assert len({e.tex for e in edits}) == len(edits)


def test_few_are_spread_evenly():
    """Three of nine: the first, the fourth, the seventh."""
    edits = [page_mutants.Edit("k", str(i), "") for i in range(9)]
    found = page_mutants.few(edits, 3)
    assert [e.tex for e in found] == ["0", "3", "6"]


def book(root, display, call):
    """A chapter of one display and one check."""
    cells = [
        {"cell_type": "markdown", "source": f"$$ {display} $$ (logistic-a)"},
        {"cell_type": "code", "source": f"from prml4 import check\n{call}"},
    ]
    for cell in cells:
        cell |= {"metadata": {}, "outputs": []}
    (root / "book").mkdir()
    path = root / "book" / "07_logistic.ipynb"
    path.write_text(json.dumps({"cells": cells}), "utf-8")
    return reader.Chapter(path)


def test_a_notebook_is_run_and_its_displays_are_spoilt(tmp_path):
    """2 a = a + a at a = 1: the square that is dropped shows it is weak."""
    call = "check.printed('logistic-a', b=1.0, c=2.0)"
    chapter = book(tmp_path, "b^2+c = 3", call)
    results, broken = page_mutants.trials(chapter)
    verdicts = {r.edit.kind: r.verdict for r in results}
    assert verdicts["flip a sign"] == page_mutants.CAUGHT
    assert verdicts["drop a square"] == page_mutants.SURVIVED
    assert broken == []
    said = list(page_mutants.complaints(results, broken, {}, True))
    assert any("survived: logistic-a, drop a square" in s for s in said)
    assert any("were noticed" in s for s in said)


def test_survivors_are_excused_one_by_one(tmp_path):
    """With a verdict and a reason; an excuse for nothing is a complaint."""
    chapter = book(
        tmp_path, "b^2+c = 3", "check.printed('logistic-a', b=1.0, c=2.0)"
    )
    results, _ = page_mutants.trials(chapter)
    (r,) = [r for r in results if r.verdict == page_mutants.SURVIVED]
    row = {"verdict": "equivalent", "reason": "b is 1"}
    known = {("logistic-a", r.edit.change): row}
    assert list(page_mutants.complaints(results, [], known, True)) == []
    known["logistic-a", "nothing"] = row
    said = list(page_mutants.complaints(results, [], known, True))
    assert said == ["excuses nothing: logistic-a: nothing"]


def test_figures_go_on_where_they_were(tmp_path, monkeypatch, capsys):
    """What is in the journal is not run again; figures are kept whole."""
    call = "check.printed('logistic-a', b=1.0, c=2.0)"
    chapter = book(tmp_path, "b^2+c = 3", call)
    done = journal.Journal(tmp_path / "journal", "a")
    page_mutants.plant_all([chapter], 4, done)
    ((results, broken),) = page_mutants.gathered([chapter], done).values()
    assert page_mutants.trials(chapter) == (results, broken)
    monkeypatch.setattr(page_mutants, "plant", None)  # a second run would fail
    page_mutants.plant_all([chapter], 4, done)
    monkeypatch.setattr(page_mutants, "RESULTS", tmp_path / "printed")
    page_mutants.keep(chapter, results, {})
    kept = json.loads((tmp_path / "printed/07_logistic.json").read_text())
    assert kept["digest"] == page_mutants.digest(chapter)
    assert kept["planted"] == kept["noticed"] + kept["new"] == len(results)


def test_a_notebook_that_fails_stops_the_run(tmp_path):
    """It is no verdict."""
    chapter = book(tmp_path, "b = 3", "check.printed('logistic-a', b=1.0)")
    done = journal.Journal(tmp_path / "journal", "a")
    with pytest.raises(SystemExit, match="fails without"):
        page_mutants.plant_all([chapter], 4, done)


@pytest.mark.parametrize(
    "chapter",
    list(filter(page_mutants.is_read, reader.notebooks())),
    ids=lambda c: c.name,
)
def test_the_figures_on_the_page_are_of_today(chapter):
    """Else run tools/page_mutants.py with its stem again."""
    path = page_mutants.RESULTS / f"{chapter.name}.json"
    assert path.exists(), f"run tools/page_mutants.py {chapter.stem}"
    kept = json.loads(path.read_text("utf-8"))
    assert kept["digest"] == page_mutants.digest(chapter)
    assert kept["new"] == 0


def test_an_excuse_needs_a_reason(tmp_path):
    """An entry of the list is complete, or it is refused."""
    path = tmp_path / "survivors.toml"
    path.write_text(
        '[[survivor]]\nlabel = "a"\nchange = "b"\nverdict = "slack"\n'
        'reason = ""\n'
    )
    with pytest.raises(ValueError, match="no reason"):
        page_mutants.excuses(path)


def test_the_list_of_survivors_is_complete():
    """As it stands."""
    assert all(page_mutants.excuses().values())


def test_a_name_that_no_notebook_has_ends_the_run():
    """Nothing would be planted, and nothing found wrong."""
    by_stem, by_file = (
        [c.name for c in reader.asked_for([name])]
        for name in ("irls", "08_irls")
    )
    assert by_stem == by_file == ["08_irls"]
    assert len(reader.asked_for([])) == len(reader.notebooks())
    with pytest.raises(SystemExit, match="8_irls"):
        page_mutants.main(["irls", "8_irls"])
