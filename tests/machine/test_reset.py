"""A reader's notebook is kept, and the original comes back."""

import shutil
import subprocess
from pathlib import Path

import pytest
from jinja2 import Environment

from tools import reset

ROOT = Path(__file__).resolve().parents[2]
ME = ["-c", "user.name=a", "-c", "user.email=a@b.example"]


@pytest.fixture
def root(tmp_path):
    """A book of a chapter and a page of the back matter, committed."""
    for name in ("07_logistic", "17_other", "back/slips"):
        path = tmp_path / "book" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"original {name}", "utf-8")
    for command in (["init", "-q"], ["add", "."], [*ME, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def change(root, text):
    """What a reader saves."""
    path = root / "book" / "07_logistic.ipynb"
    path.write_text(text, "utf-8")
    return path


def test_the_original_comes_back_and_nothing_is_lost(root):
    """However often: no earlier notebook of the reader is overwritten."""
    for k, text in enumerate(["first", "second"], 1):
        path = change(root, text)
        said = reset.reset(path, root)
        assert f"yours is book/mine/{k}/07_logistic.ipynb" in said
        assert path.read_text("utf-8") == "original 07_logistic"
    mine = root / "book" / "mine"
    kept = [(mine / k / path.name).read_text("utf-8") for k in "12"]
    assert kept == ["first", "second"]


def test_what_was_not_changed_is_left_alone(root):
    """No copy is made of the original."""
    path = root / "book" / "07_logistic.ipynb"
    assert reset.reset(path, root).endswith("is the original")
    assert not (root / "book" / "mine").exists()


def test_without_git_nothing_is_changed(root):
    """It says where the original is to be had."""
    path = change(root, "mine")
    shutil.rmtree(root / ".git")
    with pytest.raises(SystemExit, match="nothing was changed: .* archive"):
        reset.reset(path, root)
    assert path.read_text("utf-8") == "mine"


@pytest.mark.parametrize("name", ["7", "07", "07_logistic"])
def test_a_chapter_goes_by_its_number_or_name(root, name):
    """As in make lab."""
    assert reset.find(name, root).name == "07_logistic.ipynb"
    assert reset.find("slips", root).name == "slips.ipynb"


@pytest.mark.parametrize("name", ["8", "logistics", "*"])
def test_a_name_of_none_or_many_is_refused(root, name):
    """Nothing is guessed."""
    with pytest.raises(SystemExit, match="NB must be .*; got"):
        reset.find(name, root)


@pytest.mark.parametrize(
    ("given", "opened"),
    [
        ([], "jupyter lab book "),
        (["NB=07"], "jupyter lab book/07_logistic.ipynb "),
        (["NB=7"], "jupyter lab book/07_logistic.ipynb "),
        (["NB=slips"], "jupyter lab book/back/slips.ipynb "),
    ],
)
def test_make_lab_opens_what_was_asked_for(given, opened):
    """The book, or one notebook of it; and it says how to have it back."""
    command = ["make", "-n", "-o", ".venv/ok", "lab", *given]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert opened in told.stdout
    assert "make reset NB=07" in told.stdout and "Ctrl-C" in told.stdout


def test_make_lab_refuses_what_there_is_not():
    """Before JupyterLab starts."""
    command = ["make", "-o", ".venv/ok", "lab", "NB=77", "LAB=--version"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert told.returncode and "got 77" in told.stdout


def test_what_readers_keep_is_no_part_of_the_book():
    """git ignores it; gates, contents and comparison do not look there."""
    kept = "book/mine/1/07_logistic.ipynb"
    command = ["git", "check-ignore", "-q", kept]
    assert subprocess.run(command, cwd=ROOT).returncode == 0
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "book/*.ipynb" not in makefile and "book/*/" not in makefile


@pytest.mark.parametrize(
    ("page", "number"),
    [("book/07_logistic", "07"), ("book/back/slips", "slips")],
)
def test_a_page_names_its_notebook_and_the_commands(page, number):
    """A link to the file, make lab, make reset; not on other pages."""
    text = (ROOT / "theme" / "templates" / "book-footer.html").read_text(
        "utf-8"
    )
    template = Environment().from_string(text)
    words = {"pathto": lambda name, *_: f"../{name}", "release": "1"}

    def footer(suffix):
        return template.render(
            pagename=page,
            sourcename=page + suffix,
            page_source_suffix=suffix,
            **words,
        )

    told = footer(".ipynb")
    assert f'href="../_sources/{page}.ipynb" download' in told
    assert f"make lab NB={number}<" in told
    assert f"make reset NB={number}<" in told
    assert "make lab" not in footer(".md")
