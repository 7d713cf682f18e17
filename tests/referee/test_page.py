"""A display is found by its label, as it was last saved."""

import json

import pytest

from prml4.referee import page


def write(folder, **cells):
    """Notebooks of one Markdown cell each."""
    for name, text in cells.items():
        cell = {"cell_type": "markdown", "source": text.splitlines(True)}
        path = folder / f"{name}.ipynb"
        path.write_text(json.dumps({"cells": [cell]}), "utf-8")


def test_a_display_is_found(tmp_path):
    """Unlabelled displays before it are not taken for its beginning."""
    text = "$$ q $$\n\nand\n\n$$\na = b\n$$ (x-a)\n"
    write(tmp_path, one="`$$ c $$ (x-a)`", two=text)
    assert page.display("x-a", tmp_path) == ("a = b", "two.ipynb")


def test_what_is_not_there_says_save_first(tmp_path):
    """The message names what to do."""
    write(tmp_path, one="$$ a $$ (x-a)")
    with pytest.raises(LookupError, match="save first"):
        page.display("x-b", tmp_path)


def test_a_label_stands_once(tmp_path):
    """In two notebooks, nobody knows which is meant."""
    write(tmp_path, one="$$ a $$ (x-a)", two="$$ b $$ (x-a)")
    with pytest.raises(LookupError, match="one.ipynb, two.ipynb"):
        page.display("x-a", tmp_path)


def test_a_saved_change_is_read(tmp_path):
    """The notebook is read again after it was saved."""
    import os

    write(tmp_path, one="$$ a $$ (x-a)")
    page.display("x-a", tmp_path)
    write(tmp_path, one="$$ b $$ (x-a)")
    os.utime(tmp_path / "one.ipynb", (1, 1))
    assert page.display("x-a", tmp_path)[0] == "b"


def test_a_digest_sees_signs_and_no_spaces():
    """Eight letters."""
    assert page.digest("a + b") == page.digest("a+\\, b")
    assert page.digest("a+b") != page.digest("a-b")
    assert len(page.digest("a")) == 8
