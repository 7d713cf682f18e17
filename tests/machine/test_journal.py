"""Long runs that are killed leave nothing half-written, and go on."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools import journal

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import sys, time
from pathlib import Path
from tools import journal
folder = Path(sys.argv[1])
done = journal.Journal(folder / "journal", "library")
for k in range(200):
    if str(k) not in done.results:
        time.sleep(0.002)
        done.add(str(k), k * k)
        journal.write(folder / "results", "x" * 100_000 + "end")
        print(k, file=sys.stderr, flush=True)
done.close()
"""


def test_a_run_killed_at_random_goes_on_where_it_was(tmp_path):
    """Killed again and again, it does every piece once and tears no file."""
    dice, pieces, kills = random.Random(3), [], 0
    command = [sys.executable, "-c", RUN, str(tmp_path)]
    for _ in range(40):
        run = subprocess.Popen(
            command, cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        with run:
            pieces += [int(run.stderr.readline() or 0)]  # it has begun
            time.sleep(dice.uniform(0, 0.2))
            run.kill()
            pieces += [int(k) for k in run.stderr.read().split()]
        kills += run.returncode == -signal.SIGKILL
        results = tmp_path / "results"
        assert results.read_text().endswith("end")
        if not (tmp_path / "journal").exists():
            break
    assert kills > 1
    assert not (tmp_path / "journal").exists()
    assert len(pieces) == len(set(pieces))


def test_a_torn_line_is_left_out(tmp_path):
    """And what is added after it is whole."""
    path = tmp_path / "journal"
    journal.Journal(path, "a").add("one", 1)
    with path.open("a") as file:
        file.write('\n["two", ')
    again = journal.Journal(path, "a")
    assert again.results == {"one": 1}
    again.add("three", 3)
    assert again.read() == {"one": 1, "three": 3}


def test_another_foundation_begins_anew(tmp_path):
    """Results of another library do not count."""
    path = tmp_path / "journal"
    journal.Journal(path, "a").add("one", 1)
    assert journal.Journal(path, "b").results == {}
    assert journal.Journal(path, "b").read() == {}


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    """If it cannot be written the old one is there still."""
    path = tmp_path / "file"
    journal.write(path, "old")

    def fails(*paths):
        raise OSError

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError):
        journal.write(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_digest_changes_with_names_and_contents(tmp_path):
    """Of files; in whatever order they are named."""
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("1")
    b.write_text("2")
    first = journal.digest_of([a, b])
    assert journal.digest_of([b, a]) == first
    b.write_text("3")
    assert journal.digest_of([a, b]) != first


def notebook(cells):
    """The text of a notebook of code cells, not yet run."""
    found = [
        {"cell_type": "code", "execution_count": None, "id": f"c{k}",
         "metadata": {}, "outputs": [], "source": text}
        for k, text in enumerate(cells)
    ]  # fmt: skip
    return json.dumps(
        {"cells": found, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    )


def test_outputs_killed_at_random_go_on_where_they_were(tmp_path):
    """Every notebook is whole at any moment, and none is run twice."""
    (tmp_path / "book").mkdir()
    paths = [tmp_path / "book" / f"0{k}_a.ipynb" for k in range(3)]
    for path in paths:
        path.write_text(notebook(["import time; time.sleep(0.2)", "print(7)"]))
    tool, dice, said = ROOT / "tools" / "execute.py", random.Random(5), ""
    for seconds in (dice.uniform(1, 6), dice.uniform(3, 9), 300):
        run = subprocess.Popen(
            [sys.executable, tool], cwd=tmp_path, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with run:
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(seconds)
            run.kill()
            said += run.stdout.read()
        assert all(json.loads(p.read_text())["cells"] for p in paths)
    assert run.returncode == 0
    assert sum(s.endswith(", changed") for s in said.splitlines()) == 3
    assert all("7" in p.read_text() for p in paths)
    assert not (tmp_path / ".make" / "outputs.jsonl").exists()
