"""What is handed to a class: no answers for students, and all the rest."""

import copy
import json
import re
import symtable
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tools import chapters as reader
from tools import execute, teach

ROOT = Path(__file__).resolve().parents[2]
NAMES = [path.stem for path in sorted((ROOT / "book").glob("[0-9]*.ipynb"))]
SOLUTION = re.compile(
    r"(?ms)^([:`]{3,})\{solution-start\}.*?^\1$(.*?)^([:`]{3,})\{solution-end\}"
)
ANSWER = re.compile(r"(?ms)^(:{3,})\{dropdown\} Answer.*?$(.*?)^\1$")
SAMPLE = "07_logistic"


def source(cell):
    """The text of a cell."""
    return "".join(cell["source"])


def raw(name):
    """A notebook of the book, as it is stored."""
    return json.loads((ROOT / "book" / f"{name}.ipynb").read_text("utf-8"))


def texts(notebook, kind, *tags):
    """The sources of the cells of a kind, with one of the tags if any."""
    return [
        source(cell)
        for cell in notebook["cells"]
        if cell["cell_type"] == kind
        and (not tags or {*tags} & {*cell["metadata"].get("tags", [])})
    ]


def answers(notebook):
    """Every paragraph that answers, and every cell of code that does."""
    prose = "\n".join(texts(notebook, "markdown"))
    found = [m[2] for m in (*SOLUTION.finditer(prose), *ANSWER.finditer(prose))]
    told = [p.strip() for text in found for p in re.split(r"\n\s*\n", text)]
    return [p for p in told if p] + texts(notebook, "code", "solution")


def faults(book, student):
    """What a student's notebook has too much, or lacks."""
    left = "\n".join(map(source, student["cells"]))
    found = [f"an answer: {a[:60]}" for a in answers(book) if a in left]
    if re.search(r"\{solution|\{dropdown\} Answer", left):
        found.append("a fold that held an answer")
    if any(c.get("outputs") or c.get("execution_count")
           for c in student["cells"]):  # fmt: skip
        found.append("an output")
    due = Counter(texts(book, "code", "exercise"))
    found += list(due - Counter(texts(student, "code", "exercise")))
    for kind in ("exercise", "dropdown"):
        due = [d for d in told(book, kind) if not d[0].startswith("Answer")]
        found += [str(d) for d in due if d not in told(student, kind)]
    checks = Counter(checked(book)) - Counter(checked(student))
    return found + [f"no check of {label}" for label in checks]


def told(notebook, kind):
    """(argument, label, body) of the directives of a kind."""
    return [
        (d.argument.strip(), d.options.get("label"), d.body)
        for text in texts(notebook, "markdown")
        for d in reader.directives(text, 0)
        if d.kind == kind
    ]


def checked(notebook):
    """The labels of the checks outside solutions."""
    cells = [reader.make_cell(i, c) for i, c in enumerate(notebook["cells"])]
    return [
        reader.literal(call, 0)
        for cell in cells
        if cell.kind == "code" and "solution" not in cell.tags
        for call, _ in reader.referee_calls(cell.tree)
        if call.func.attr in reader.CLAIM_CHECKS
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_student_gets_no_answer_and_all_the_rest(name):
    """Exercises, stubs, folds that do not answer, and checks are there."""
    book = raw(name)
    assert len(answers(book)) > 5
    assert faults(book, teach.for_students(book)) == []


def test_the_answers_of_the_five_questions_are_asserted_nowhere():
    """The numbers below the questions go; those above stay."""
    student, book = teach.for_students(raw(SAMPLE)), raw(SAMPLE)
    gone = Counter(texts(book, "code", "numbers"))
    gone -= Counter(texts(student, "code", "numbers"))
    assert any('"0.047", "0.953"' in text for text in gone)
    assert len(gone) < len(texts(student, "code", "numbers")) / 4


def of_kind(notebook, text):
    """Where the text stands in a notebook."""
    found = [k for k, c in enumerate(notebook["cells"]) if text in source(c)]
    return found[-1]


@pytest.mark.parametrize(
    ("found", "planted"),
    [
        ("an answer: def good_error", "def good_error"),
        ("an answer: Before 0.04", "Before 0.04"),
        ("a fold that held an answer", ":::{dropdown} Answer\n?\n:::"),
    ],
)
def test_an_answer_that_was_left_is_found(found, planted):
    """A cell, the text of a solution, and an empty fold."""
    book, student = raw(SAMPLE), teach.for_students(raw(SAMPLE))
    left = [c for c in book["cells"] if planted in source(c)]
    cell = {"cell_type": "markdown", "metadata": {}, "source": planted}
    student["cells"].append(left[0] if left else cell)
    assert any(fault.startswith(found) for fault in faults(book, student))


@pytest.mark.parametrize(
    ("found", "lost"),
    [
        ("logistic-ex-stable", ":label: logistic-ex-stable"),
        ("def my_error", "def my_error"),
        ("no check of logistic-odds-ratio", '"logistic-odds-ratio"'),
        ("What you will be able to do", "What you will be able to do"),
    ],
)
def test_what_was_lost_is_found(found, lost):
    """An exercise, its stub, a check, a fold that is no answer."""
    book, student = raw(SAMPLE), teach.for_students(raw(SAMPLE))
    del student["cells"][of_kind(student, lost)]
    assert any(found in fault for fault in faults(book, student))


def test_outputs_are_found():
    """Nothing has been run, and the book's own notebook is not changed."""
    book = raw(SAMPLE)
    before = copy.deepcopy(book)
    assert "an output" in faults(book, book)
    teach.for_students(book), teach.for_teachers(book)
    assert book == before


def test_a_teacher_sees_every_answer_unfolded():
    """Text and code as in the book, but open."""
    book = raw(SAMPLE)
    open_ = teach.for_teachers(book)
    text = "\n".join(texts(open_, "markdown"))
    assert ":class: dropdown" not in text
    assert text.count("{dropdown} Answer\n:open:\n") == 5
    assert texts(open_, "code") == texts(book, "code")
    assert all(a in "\n".join(map(source, open_["cells"]))
               for a in answers(book))  # fmt: skip


def names_read(table):
    """Names that a cell, or a function in it, takes from the notebook."""
    top = table.get_type() == "module"
    found = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (top or symbol.is_global())
    }
    return found.union(*map(names_read, table.get_children()))


def borrowed(book, student):
    """(cell, name) where a student's cell reads what only an answer made."""
    kept = {source(cell) for cell in student["cells"]}
    answered, found = set(), []
    for k, cell in enumerate(book["cells"]):
        if cell["cell_type"] == "code":
            table = symtable.symtable(source(cell), "cell", "exec")
            made = {
                symbol.get_name()
                for symbol in table.get_symbols()
                if symbol.is_assigned() or symbol.is_imported()
            }
            if source(cell) in kept:
                read = names_read(table) - made
                found += [(k, name) for name in sorted(read & answered)]
                answered -= made
            else:
                answered |= made
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_that_stays_reads_what_an_answer_made(name):
    """Or what it made last: the value would be another."""
    book = raw(name)
    assert borrowed(book, teach.for_students(book)) == []


def test_a_borrowed_name_is_found():
    """In a function, too; an argument of the same name is none."""
    book = raw(SAMPLE)
    late = "def again(x):\n    return good_error(x)"
    cell = {"cell_type": "code", "metadata": {}, "source": late}
    book["cells"].append(cell)
    found = borrowed(book, teach.for_students(book))
    assert found == [(len(book["cells"]) - 1, "good_error")]
    cell["source"] = "again = lambda good_error: good_error"
    assert borrowed(book, teach.for_students(book)) == []


def run(path):
    """What the attempts print when a notebook is run where it stands."""
    notebook = nbformat.read(path, as_version=4)
    assert nbformat.validate(notebook) is None
    place = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=600, resources=place).execute()
    assert all(c.execution_count for c in notebook.cells if "source" in c
               and c.cell_type == "code")  # fmt: skip
    return [
        "\n".join(map(reader.output_text, cell.outputs))
        for cell in notebook.cells
        if "exercise" in cell.metadata.get("tags", [])
    ]


QUICK = {"02_separator", "07_logistic"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.teach] * (n not in QUICK))
        for n in NAMES
    ],
)
def test_a_student_notebook_runs_to_its_end(name, tmp_path, monkeypatch):
    """Away from the book; whoever has written nothing yet is told so."""
    for variable, value in execute.STEADY.items():
        monkeypatch.setenv(variable, value)
    written = teach.write(tmp_path)
    path = tmp_path / "student" / f"{name}.ipynb"
    assert path in written
    said = run(path)
    assert said and all("not attempted" in text for text in said)


def test_a_notebook_that_needs_a_solution_stops(tmp_path):
    """The run notices a name that only a solution made."""
    student = teach.for_students(raw(SAMPLE))
    cell = {"cell_type": "code", "source": "good_error", "outputs": []}
    cell |= {"metadata": {}, "execution_count": None, "id": "planted"}
    student["cells"] = [cell]
    path = tmp_path / "planted.ipynb"
    path.write_text(json.dumps(student), "utf-8")
    with pytest.raises(Exception, match="good_error"):
        run(path)
