"""The back matter says what the chapters say, and grows with them."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import sample

from theme import back_matter, pictures
from tools import chapters as reader
from tools import journal

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book of one chapter, and where its files are."""
    root = sample.write(tmp_path)
    found = reader.chapters(root)
    monkeypatch.setattr(reader, "chapters", lambda: found)
    pages = reader.back_pages
    monkeypatch.setattr(reader, "notebooks", lambda: [*found, *pages(root)])
    plan = reader.outline(root)
    monkeypatch.setattr(reader, "outline", lambda: plan)
    monkeypatch.setattr(back_matter, "RESULTS", tmp_path)
    return root


def lines(directive):
    """The Markdown of a directive, without the machinery of Sphinx."""
    return "\n".join(directive.markdown(directive))


def test_the_map_asks_the_questions_of_the_chapters(book):
    """Number, picture, link, question."""
    text = lines(back_matter.ChapterMap)
    link = "{doc}`Squares </book/07_logistic>`"
    link = pictures.thumbnail(7) + link
    assert f"7. {link} *What is the slope of a square?*" in text


def test_a_line_of_another_page_leads_there():
    """The ledger's cells name claims of the chapters, and link to them."""
    env = SimpleNamespace(domains={"math": SimpleNamespace(equations={})})
    equations = env.domains["math"].equations
    equations |= {"a-b": ("book/01_a", 1), "c-d": ("book/back/slips", 1)}
    builder = SimpleNamespace(get_relative_uri=lambda *pages: "../01_a.html")
    links = '<a href="#equation-a-b"></a><a href="#equation-c-d"></a>'
    context = {"body": links}
    app = SimpleNamespace(env=env, builder=builder)
    back_matter.lead_to_equations(app, "book/back/slips", "", context, None)
    assert context["body"] == links.replace("#", "../01_a.html#", 1)


def test_the_index_has_claims_and_definitions(book):
    """Formula, kind of check, residual and bound."""
    text = lines(back_matter.EquationIndex)
    assert "\\frac{dy}{dx} = 2 x" in text and "A definition." in text
    line = "Checked as a gradient · complex step · 1.0 × 10⁻¹⁶ ≤ 2.2 × 10⁻¹²"
    assert line in text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    "line,side",
    [
        (
            "as printed: 2 members · library · rows, |N_k - 1|",
            r"rows, \|N\_k - 1\|",
        ),
        ("as printed: 3 members · at h = 0.001", "at h = 0.001"),
        ("limit: display = library = a sequence", "a sequence"),
        ("psd: symmetric, rank 2", "symmetric, rank 2"),
        ("as printed: 4 members", ""),
    ],
)
def test_the_index_names_the_other_side(line, side):
    """As the check says it, and no character of it is Markdown."""
    said = f"✓ label · {line} · residual 1.0e-16 ≤ 2.2e-12"
    assert back_matter.other_side(said) == side


def test_the_counts_add_up(book):
    """One row for the chapter, and the same for the book of one chapter."""
    text = lines(back_matter.BookCounts)
    row = "\n".join(f"  - {n}" for n in [1, 1, 1, 1, 1, 6])
    assert text.count(row) == 2


def test_the_back_matter_is_counted_and_listed(book):
    """Its claims are claims of the book; it has no number."""
    cells = sample.notebook(sample.back_cells())
    page = book / "book" / "back" / "identities.ipynb"
    page.write_text(json.dumps(cells), "utf-8")
    text = lines(back_matter.EquationIndex)
    assert ":::{dropdown} 7 · Squares" in text
    assert ":::{dropdown} Identities" in text
    assert "Slips" not in text
    assert "{eq}`identities-two` · `identities-two`" in text
    text = lines(back_matter.BookCounts)
    assert "{doc}`Identities </book/back/identities>`" in text
    total = text.partition("**The book**")[2]
    assert total.startswith("\n" + "\n".join(f"  - {n}" for n in [2, 1, 1, 2]))


def test_faults_that_survived_are_shown(book, monkeypatch):
    """The share, the survivors, and those that are not counted."""
    path = book / "prml4" / "newest.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text("x = 1")
    monkeypatch.setattr(reader, "modules", lambda: [path])
    report = {
        "source": journal.digest_of([path]),
        "functions": {"f": {}, "g": {}},
        "planted": 20,
        "killed": 19,
        "survivors": [{"function": "a.f", "fault": "line 1: x → y"}],
        "equivalent": [
            {
                "function": "a.g",
                "fault": "line 2: *",
                "reason": "Same.",
                "count": 3,
            }
        ],
    }
    text = json.dumps({"newest": report})
    (book / "mutants.json").write_text(text, "utf-8")
    text = lines(back_matter.MutantReport)
    assert "in 2 functions, 19 were found (95.0%)" in text
    assert "line 1: x → y" in text
    assert "3 faults that no test can notice" in text and "Same." in text
    path.write_text("x = 2")  # the figures are of another module
    assert "95.0%" not in lines(back_matter.MutantReport)


def test_the_page_says_which_modules_were_not_measured(book, monkeypatch):
    """A claim names them, and no figures of today are there."""
    check = SimpleNamespace(library=("newest.f", "newest.g", "oldest.f"))
    chapter = SimpleNamespace(checks=[check])
    monkeypatch.setattr(reader, "notebooks", lambda: [chapter])
    text = lines(back_matter.MutantReport)
    assert text.endswith("since it last changed: `newest`, `oldest`.")


def test_errors_in_printed_formulas_are_counted(book):
    """Chapter by chapter; those that were not measured are named."""
    assert lines(back_matter.PrintedMutants).startswith("Not measured: {doc}")
    figures = {"claims": 3, "planted": 44, "noticed": 39, "equivalent": 2,
               "slack": 2, "weak": 1, "new": 0}  # fmt: skip
    path = book / "printed" / "07_logistic.json"
    path.parent.mkdir()
    path.write_text(json.dumps(figures), "utf-8")
    text = lines(back_matter.PrintedMutants)
    assert "  - 4\n  - 39 (97.5%)" in text
    assert "Squares" not in text.partition("Not measured")[2]


def speed(tmp_path, name, cell, growth, optimisation=()):
    """The Markdown about a report of one cell."""
    common = {
        "threads": 1,
        "N": 100000,
        "D": 50,
        "prml4": 20.04,
        "bound": 9.82,
        "peers": {"slow": 6000.0, "fast": 1499.6},
        "fastest": "fast",
        "ratio": 1.497,
        "bounds": 2.04,
        "data_mb": 40.0,
        "extra_mb": 2.0,
    }
    report = {
        "setting": "Two cores, |grad E| <= 1e-8 N.",
        "versions": {"numpy": "2.0"},
        "cells": [common | cell],
        "other_cells": [],
        "growth": growth,
        "optimisation": list(optimisation),
        "import_ms": 3.2,
    }
    (tmp_path / f"{name}.json").write_text(json.dumps(report), "utf-8")
    asked = SimpleNamespace(arguments=[name])
    return "\n".join(back_matter.SpeedReport.markdown(asked))


def test_speed_is_shown_with_the_columns_that_were_measured(book, tmp_path):
    """Passes for Newton's method; model, task and memory for the others."""
    newton = {"data": "independent", "passes": [9.0, 0.31]}
    rows = [{"D": 50, "threads": 1, "exponent": 0.912}]
    text = speed(tmp_path, "logistic", newton, rows)
    assert "**BLAS at 1 thread.**" in text and "≤ 10⁻⁸ N" in text
    assert "  - 20\n  - 1500 (fast)\n" in text and "  - 1.50\n  - 2.0\n" in text
    assert "  - 9 + 0.31\n  - 0.05\n" in text
    assert "$N^{0.91}$ at $D = 50$." in text and "Task" not in text
    lda = {
        "model": "LDA",
        "task": "fit",
        "K": 10,
        "peers_extra_mb": {"slow": 80.0, "fast": 120.0},
    }
    rows = [
        {"model": "LDA", "threads": n, "exponent": 0.9 + 0.1 * n}
        for n in (1, 2, 1)
    ]
    text = speed(
        tmp_path, "generative", lda, [*rows, rows[0] | {"exponent": 1.1}]
    )
    assert "* - LDA\n  - fit\n  - 100\u202f000\n  - 50\n  - 10\n" in text
    assert "  - 0.05\n  - 2.00\n" in text and "passes" not in text
    assert "Time grows like $N^{1.00}$ to $N^{1.10}$." in text


def test_speed_shows_matrices_and_where_the_climbs_end(book, tmp_path):
    """What Gaussian processes report besides."""
    climb = {"N": 200, "ours": 64.21, "theirs": 51.0}
    climb["log_evidence"] = {"ours": -63.551, "theirs": -64.912}
    text = speed(tmp_path, "gp_ep", {"matrices": 4.96}, [], [climb])
    assert "N × N matrices" in text and "  - 5.0\n" in text
    assert "* - 200\n  - theirs\n  - 51\n  - −64.91\n" in text


def test_speed_is_drawn(book, tmp_path):
    """Every mark in the picture, and in words; nobody timed, no mark."""
    peers = {"scikit-learn lbfgs": 1499.6, "GPy": None}
    cell = {"data": "any", "peers": peers, "fastest": "scikit-learn lbfgs"}
    text = speed(tmp_path, "logistic", cell, [])
    picture = text.partition("```{raw} html\n")[2].partition("\n```\n")[0]
    assert "prml4 takes 2.04 to 2.04 times the bound; the fastest" in picture
    assert ">any, 100\u202f000 × 50<" in picture and ">prml4<" in picture
    assert ">scikit-learn<" in picture and "GPy" not in picture


def test_speed_before_the_first_run(book):
    """A word instead of a table."""
    asked = SimpleNamespace(arguments=["logistic"])
    (text,) = back_matter.SpeedReport.markdown(asked)
    assert "make bench" in text


def test_chapter_8_reckons_with_what_was_measured():
    """Its gigabytes a second are those of a memory map with 20 columns."""
    results = back_matter.RESULTS / "many_rows.json"
    cells = json.loads(results.read_text("utf-8"))["cells"]
    (rate,) = (
        cell["gb_per_s"]
        for cell in cells
        if (cell["model"], cell["rows"], cell["M"]) == ("logistic", "map", 20)
    )
    text = (ROOT / "book" / "08_irls.ipynb").read_text("utf-8")
    assert f"measured = {rate:.1f}e9" in text
    assert f"{rate:.1f} GB of rows a second" in text
