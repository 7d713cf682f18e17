"""Write the chapters for a class: without the answers, and with them open.

    python tools/teach.py [FOLDER]      _build/teach unless another is named

FOLDER/student holds every chapter without solutions and answers; exercises,
their stubs and all checks stay, and nothing has been run. FOLDER/solutions
holds the chapters as they were run, with solutions and answers unfolded.
Each has what a notebook needs besides prml4, so that it can be handed out.
"""

import json
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.chapters import FENCE, ROOT, closing_line

START = """\
# How to run these notebooks

Python 3.11 or newer, in an environment of its own:

    python -m pip install "prml4[lab]"
    jupyter lab

If somebody gave you the library as a file beside these notebooks, name that
file: `python -m pip install "./prml4-{version}-py3-none-any.whl[lab]"`.

Run a chapter from its top. For an exercise in code, replace the stub and run
its cell: it says whether your function is right, or what seems wrong.
"""


def directive(line):
    """(fence, kind, argument) of the directive that a line opens, or Nones."""
    found = FENCE.match(line)
    return found.groups() if found else (None, "", "")


def unanswered(text, solving):
    """The text outside answers, and whether a solution goes on after it."""
    lines, kept, i = text.split("\n"), [], 0
    while i < len(lines):
        fence, kind, argument = directive(lines[i])
        if kind in ("solution-start", "solution-end"):
            solving = kind == "solution-start"
        if kind.startswith("solution") or (
            kind == "dropdown" and argument.startswith("Answer")
        ):
            i = closing_line(lines, i + 1, fence)
        elif not solving:
            kept.append(lines[i])
        i += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n"), solving


def for_students(notebook):
    """Neither solutions nor answers; nothing has been run.

    The numbers that are asserted below the five questions are answers, too.
    """
    cells, solving, asked = [], False, False
    for cell in notebook["cells"]:
        tags = {*cell["metadata"].get("tags", [])}
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for heading in re.findall(r"(?m)^## +(.+)$", source):
                asked = heading.startswith("Five questions")
            source, solving = unanswered(source, solving)
            if source:
                cells.append(cell | {"source": source.splitlines(True)})
        elif not (solving or "solution" in tags or asked and "numbers" in tags):
            cells.append(cell | {"outputs": [], "execution_count": None})
    return notebook | {"cells": cells}


def unfolded(text):
    """The text with its solutions and answers open."""
    fold = r"(?m)^((?::{3,}|`{3,})\{solution-start\}.*\n):class: dropdown\n"
    answer = r"(?m)^(:{3,}\{dropdown\} Answer.*)$"
    return re.sub(answer, r"\1\n:open:\n", re.sub(fold, r"\1", text))


def for_teachers(notebook):
    """Whatever the book has, with nothing folded away that answers."""
    cells = [
        cell | {"source": unfolded("".join(cell["source"])).splitlines(True)}
        if cell["cell_type"] == "markdown"
        else cell
        for cell in notebook["cells"]
    ]
    return notebook | {"cells": cells}


EDITIONS = {"student": for_students, "solutions": for_teachers}


def write(folder, root=ROOT):
    """Write both editions below the folder; return the paths of notebooks."""
    version = re.search(
        r'(?m)^version = "(.+)"', (root / "pyproject.toml").read_text("utf-8")
    )[1]
    written = []
    for name, edition in EDITIONS.items():
        place = folder / name
        shutil.copytree(
            root / "book" / "support",
            place / "support",
            ignore=shutil.ignore_patterns("__pycache__"),
            dirs_exist_ok=True,
        )
        (place / "START.md").write_text(START.format(version=version), "utf-8")
        for path in sorted((root / "book").glob("[0-9]*.ipynb")):
            notebook = edition(json.loads(path.read_text("utf-8")))
            text = json.dumps(notebook, ensure_ascii=False, indent=1)
            (place / path.name).write_text(text + "\n", "utf-8")
            written.append(place / path.name)
    return written


def main(names):
    """Write, and say where."""
    folder = Path(names[0]) if names else ROOT / "_build" / "teach"
    count = len(write(folder)) // len(EDITIONS)
    for name in EDITIONS:
        print(f"{folder / name}: {count} notebooks")


if __name__ == "__main__":
    main(sys.argv[1:])
