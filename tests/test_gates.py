"""The gates of the book: each is open for the book as it stands, and each
closes on exactly the fault that is planted before it."""

import json
import re
from pathlib import Path

import pytest
import sample

from tools import chapters as reader
from tools import gates

ROOT = Path(__file__).resolve().parents[1]
BOOK = reader.chapters(ROOT)
BACK = reader.back_pages(ROOT)
PLAN = reader.outline(ROOT)


def named(gate):
    """The name of a gate as the id of a test."""
    return gate.__name__


# ------------------------------------------------------- the book as it stands
@pytest.mark.parametrize("gate", gates.PER_CHAPTER, ids=named)
@pytest.mark.parametrize("chapter", BOOK, ids=[c.name for c in BOOK])
def test_chapter(chapter, gate):
    """Every chapter passes every gate."""
    assert gate(chapter) == []


@pytest.mark.parametrize("gate", gates.PER_NOTEBOOK, ids=named)
@pytest.mark.parametrize("page", BACK, ids=[c.name for c in BACK])
def test_back_page(page, gate):
    """The back matter has no chapter's form, but claims that are checked."""
    assert gate(page) == []


@pytest.mark.parametrize("gate", gates.PER_BOOK, ids=named)
def test_book(gate):
    """What no chapter can show alone."""
    assert gate(BOOK + BACK) == []


@pytest.mark.parametrize("gate", gates.PER_PLAN, ids=named)
def test_plan(gate):
    """The book and its plan agree."""
    assert gate(BOOK, PLAN) == []


@pytest.mark.parametrize("gate", gates.PER_TREE, ids=named)
def test_tree(gate):
    """Chapter, module and test share a stem; imports run one way."""
    assert gate(ROOT, PLAN) == []


@pytest.mark.parametrize("path", reader.modules(ROOT), ids=lambda p: p.stem)
def test_public_functions_state_their_formula(path):
    """The first line of a docstring is the formula or the reference."""
    assert gates.functions_are_documented(path) == []


def test_sanitising_touches_the_residual_only():
    """Elsewhere nbval compares every character."""
    config = (ROOT / "tools" / "nbval.cfg").read_text("utf-8")
    printed = [s for c in BOOK + BACK for s in printed_lines(c)]
    lines = [*printed, sample.CHECK_LINE, sample.SLIP_LINE, "3.1e-11 7 of 9"]
    assert gates.sanitising_is_narrow(config, lines) == []


def printed_lines(chapter):
    """Every line of text that a chapter's cells print."""
    return [s for c in chapter.code for s in c.printed.splitlines()]


@pytest.mark.parametrize(
    "chapter", BOOK + BACK, ids=[c.name for c in BOOK + BACK]
)
def test_checks_object_to_spoilt_sides(chapter):
    """A thousandth more in display or library, and the referee objects."""
    from tools import rerun

    assert rerun.weak_checks(chapter) == []


def test_no_notebook_is_left_out():
    """Each is run by make outputs, compared by make test, in the contents."""
    from tools import execute

    paths = [c.path for c in BOOK + BACK]
    assert execute.every_notebook(ROOT / "book") == paths
    makefile = (ROOT / "Makefile").read_text("utf-8")
    patterns = re.search(r"NOTEBOOKS := \$\(wildcard (.+)\)", makefile)[1]
    found = {p for pattern in patterns.split() for p in ROOT.glob(pattern)}
    assert found == set(paths)
    contents = (ROOT / "_toc.yml").read_text("utf-8").split()
    names = [p.relative_to(ROOT).with_suffix("").as_posix() for p in paths]
    assert [n for n in names if n not in contents] == []


# ------------------------------------------------------------- planted faults
def complaints(root):
    """Gate -> what it says about the repository below root."""
    book, plan = reader.chapters(root), reader.outline(root)
    back = reader.back_pages(root)
    found = {g: [s for c in book for s in g(c)] for g in gates.PER_CHAPTER}
    for gate in gates.PER_NOTEBOOK:
        found[gate] += [s for page in back for s in gate(page)]
    found |= {g: g(book + back) for g in gates.PER_BOOK}
    found |= {g: g(book, plan) for g in gates.PER_PLAN}
    found |= {g: g(root, plan) for g in gates.PER_TREE}
    paths = reader.modules(root)
    documented = gates.functions_are_documented
    found[documented] = [s for p in paths for s in documented(p)]
    return {gate: said for gate, said in found.items() if said}


def test_the_sample_is_sound(tmp_path):
    """Without a planted fault no gate complains."""
    assert complaints(sample.write(tmp_path)) == {}


def test_a_page_of_the_back_matter_is_sound(tmp_path):
    """Nobody asks it for a summary or for exercises."""
    root = sample.write(tmp_path, back=sample.back_cells())
    assert [c.stem for c in reader.back_pages(root)] == ["identities"]
    assert complaints(root) == {}


def cell_with(cells, text):
    """The first cell that contains the text."""
    return next(c for c in cells if text in c["source"])


def replace(old, new):
    """A fault: one text for another, in the cell where it stands."""

    def plant(cells):
        cell = cell_with(cells, old)
        cell["source"] = cell["source"].replace(old, new, 1)

    return plant


def output(text, new):
    """A fault: the output of the cell that contains the text."""

    def plant(cells):
        cell_with(cells, text)["outputs"] = new

    return plant


def prints(text):
    """One output that prints the text."""
    data = {"text/plain": text}
    return [{"output_type": "execute_result", "data": data}]


def metadata(text, *path, value):
    """A fault in the metadata of the cell that contains the text."""

    def plant(cells):
        target = cell_with(cells, text)["metadata"]
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value

    return plant


def insert(before, *new):
    """A fault: cells that should not be there."""

    def plant(cells):
        at = cells.index(cell_with(cells, before))
        cells[at:at] = new

    return plant


def remove(text):
    """A fault: a cell that is missing."""

    def plant(cells):
        cells.remove(cell_with(cells, text))

    return plant


def count(text, value):
    """A fault in an execution count."""

    def plant(cells):
        cell_with(cells, text)["execution_count"] = value

    return plant


def both(*plants):
    """Two changes that make one fault."""

    def plant(cells):
        for one in plants:
            one(cells)

    return plant


CHECKED, SLIPPED, DRAWN = "check.gradient", "check.slip", "book.show"
LEAD = "lambda x: x**2"
FAULTS = [
    # claims and checks
    (
        gates.claims_are_checked,
        "claim logistic-new has no check",
        replace("$$ y + y = 2 y $$", "$$ y = y $$ (logistic-new)"),
    ),
    (
        gates.claims_are_checked,
        "claim logistic-square has no check below",
        both(
            remove("check.gradient"),
            insert("## Slopes", sample.cells()[4]),
        ),
    ),
    (
        gates.claims_are_checked,
        "claim logistic-square has no check",
        metadata(CHECKED, "tags", value=["solution"]),
    ),
    (
        gates.claims_are_checked,
        "claim logistic-square has no check",
        replace(
            sample.cells()[4]["source"],
            "try:\n    check.gradient('logistic-square', lambda x: x**2, 1.5,\n"
            "        display=lambda x: x)\nexcept check.ClaimFails as e:\n"
            "    print(e)",
        ),
    ),
    (
        gates.checks_name_claims,
        "names no claim here: logistic-cube",
        insert(
            "A02 ·",
            sample.code(
                "check.identity('logistic-cube', display=1, other=1)",
                "✓ logistic-cube · residual 0.0e+00 ≤ 1.0e-12",
            ),
        ),
    ),
    (
        gates.checks_name_claims,
        "names no claim here: def-square",
        insert(
            "A02 ·",
            sample.code(
                "check.identity('def-square', display=1, other=1)",
                "✓ def-square · residual 0.0e+00 ≤ 1.0e-12",
            ),
        ),
    ),
    (
        gates.referee_is_known,
        "unknown referee check.gradeint",
        insert("A02 ·", sample.code("check.gradeint('logistic-square')", "x")),
    ),
    (
        gates.checks_show_their_line,
        "shows no line with residual",
        output(CHECKED, prints("<Check>")),
    ),
    (
        gates.checks_show_their_line,
        "is not ≤",
        output(CHECKED, prints("✓ logistic-square · residual 1.0 ≤ 0.5")),
    ),
    (
        gates.labels_are_unique,
        "label logistic-square occurs 2 times",
        replace("$$ y + y = 2 y $$", "$$ y = y $$ (logistic-square)"),
    ),
    (
        gates.no_hidden_labels,
        r"\tag{",
        replace("y + y = 2 y", r"y + y = 2 y \tag{1}"),
    ),
    # slips
    (
        gates.slips_are_refuted,
        "slip A02 is not refuted in the next cell",
        insert(SLIPPED, sample.markdown("Between.")),
    ),
    (
        gates.slips_are_refuted,
        "slip A02 shows no residuals",
        output(SLIPPED, prints("refuted")),
    ),
    (
        gates.slip_calls_are_boxed,
        "check.slip without a box: A03",
        insert(
            "## When it breaks",
            sample.code(
                "check.slip('A03', 'logistic-square', as_written=1,"
                "\n    corrected=2, truth=2)",
                "✗ A03",
            ),
        ),
    ),
    (
        gates.slips_name_claims,
        "slip A02 names no claim: logistic-cube",
        replace("'A02', 'logistic-square'", "'A02', 'logistic-cube'"),
    ),
    (
        gates.slips_are_unique,
        "slip A02 occurs 2 times",
        insert("A02 ·", *sample.cells()[5:7]),
    ),
    (
        gates.slips_are_complete,
        "slip A02 is missing",
        both(remove("A02 ·"), remove(SLIPPED)),
    ),
    # execution and outputs
    (gates.counts_are_in_order, "count 7, expected 3", count(CHECKED, 7)),
    (gates.counts_are_in_order, "count None", count(CHECKED, None)),
    (
        gates.outputs_are_there,
        "output is missing",
        insert("A02 ·", sample.code("print(1)")),
    ),
    (
        gates.no_error_outputs,
        "an error or stderr",
        insert("A02 ·", sample.code("1 / 0", "x")),
    ),
    (
        gates.no_machine_paths,
        "output holds '/home/m'",
        insert("A02 ·", sample.code("print(p)", "/home/me/book")),
    ),
    (
        gates.tags_are_known,
        "tag nbval-ignore-output is not on the list",
        metadata(CHECKED, "tags", value=["nbval-ignore-output"]),
    ),
    (
        gates.tags_are_known,
        "tag raises-exception is not on the list",
        metadata(CHECKED, "tags", value=["raises-exception"]),
    ),
    # mathematics stays in prml4
    (
        gates.mathematics_is_imported,
        "defines sigmoid",
        insert("A02 ·", sample.code("def sigmoid(a):\n    return a")),
    ),
    (
        gates.mathematics_is_imported,
        "defines a lambda",
        insert("A02 ·", sample.code("f = lambda a: a + 1")),
    ),
    (
        gates.mathematics_is_imported,
        "defines Model",
        insert("A02 ·", sample.code("class Model:\n    pass")),
    ),
    (
        gates.cells_are_short,
        "16 lines",
        insert("A02 ·", sample.code("\n".join(["x = 1"] * 16))),
    ),
    (
        gates.cells_are_short,
        "41 lines",
        insert(
            "A02 ·",
            sample.code("\n".join(["x = 1"] * 41), tags=["hide-input"]),
        ),
    ),
    (
        gates.cells_are_short,
        "81 columns",
        insert("A02 ·", sample.code("x = 1  " + "#" * 74)),
    ),
    # figures
    (
        gates.figures_are_described,
        "alt text shorter",
        metadata(DRAWN, "mystnb", "image", value={"alt": "A parabola."}),
    ),
    (
        gates.figures_are_described,
        "repeats the caption",
        metadata(DRAWN, "mystnb", "figure", "caption", value=sample.ALT),
    ),
    (
        gates.figures_are_described,
        "is a file name",
        metadata(
            DRAWN,
            *("mystnb", "image"),
            value={"alt": f"../_images/{'0123456789' * 5}.png"},
        ),
    ),
    (
        gates.figures_are_described,
        "without a name",
        metadata(DRAWN, "mystnb", "figure", "name", value=""),
    ),
    (
        gates.figures_are_described,
        "without a caption",
        metadata(DRAWN, "mystnb", "figure", "caption", value=""),
    ),
    (
        gates.figures_state_what_they_show,
        "a picture without",
        replace("book.show(fig)", "fig"),
    ),
    # the whole chapter
    (
        gates.header_is_complete,
        "lacks the question",
        replace("**The question.**", "Here is a question."),
    ),
    (
        gates.header_is_complete,
        "lacks prml4/logistic.py",
        replace("`prml4/logistic.py`", "`prml4/logistics.py`"),
    ),
    (
        gates.header_is_complete,
        "lacks tests/test_logistic.py",
        replace("`tests/test_logistic.py`", ""),
    ),
    (gates.header_is_complete, "lacks the PRML", replace("PRML 4.3.2", "4")),
    (
        gates.parts_are_there,
        "no section “Second opinion”",
        remove("## Second opinion"),
    ),
    (
        gates.parts_are_there,
        "cites nothing",
        replace("{cite}`bishop2006`", "2006"),
    ),
    (
        gates.parts_are_there,
        "no picture before the third",
        both(remove(DRAWN), insert("## Exercises", sample.cells()[2])),
    ),
    (
        gates.summary_is_a_table,
        "no table of four columns",
        replace(
            "| slope | {eq}`logistic-square` | none | gradient |", "| slope |"
        ),
    ),
    (
        gates.summary_is_a_table,
        "refers to unknown logistic-cube",
        replace("{eq}`logistic-square`", "{eq}`logistic-cube`"),
    ),
    (
        gates.names_in_prose_exist,
        "there is no prml4.logistic.cube",
        replace("| none |", "| `logistic.cube(x)` |"),
    ),
    (
        gates.exercises_are_solved,
        "5 exercises, at least 6",
        both(
            *[
                remove(":label: logistic-ex-5"),
                remove("{solution} logistic-ex-5"),
            ]
        ),
    ),
    (
        gates.exercises_are_solved,
        "logistic-ex-3 has no single solution",
        remove("{solution} logistic-ex-3"),
    ),
    (
        gates.exercises_are_solved,
        "is not collapsed",
        replace(":class: dropdown", ":class: open"),
    ),
    (
        gates.exercises_check_themselves,
        "without check.attempt",
        replace("check.attempt", "print"),
    ),
    (
        gates.exercises_check_themselves,
        "wrong by its own check.attempt",
        insert(
            ":label: logistic-ex-2",
            sample.code(
                "check.attempt('x', np.abs, np.square, (2.0,))",
                "✗ x · not yet: it is off by a factor ½",
                tags=["solution"],
            ),
        ),
    ),
]


@pytest.mark.parametrize(
    ("gate", "text", "plant"),
    FAULTS,
    ids=[f"{g.__name__}-{t.replace(' ', '_')}" for g, t, _ in FAULTS],
)
def test_a_planted_fault_is_found(tmp_path, gate, text, plant):
    """The gate in question names the fault, and no other gate complains."""
    cells = sample.cells()
    plant(cells)
    if gate is gates.no_error_outputs:
        cell_with(cells, "1 / 0")["outputs"] = [{"output_type": "error"}]
    found = complaints(sample.write(tmp_path, cells))
    assert set(found) == {gate}
    assert text in "\n".join(found[gate])


PAGE_FAULTS = [
    (
        gates.claims_are_checked,
        "identities cell 1: claim identities-two has no check",
        "identities-two', d",
        "identities-three', d",
        {gates.checks_name_claims, gates.checks_show_their_line},
    ),
    (
        gates.checks_name_claims,
        "names no claim here: logistic-square",
        "'identities-two'",
        "'logistic-square'",
        {gates.claims_are_checked, gates.checks_show_their_line},
    ),
    (
        gates.checks_show_their_line,
        "shows no line with residual",
        "residual",
        "rest",
        set(),
    ),
    (
        gates.labels_are_prefixed,
        "label logistic-two lacks the prefix identities-",
        "identities-two",
        "logistic-two",
        set(),
    ),
    (
        gates.labels_are_unique,
        "label logistic-square occurs 2 times",
        "identities-two",
        "logistic-square",
        {gates.labels_are_prefixed},
    ),
    (
        gates.referee_is_known,
        "unknown referee check.identty",
        "check.identity",
        "check.identty",
        {gates.claims_are_checked},
    ),
    (
        gates.names_in_prose_exist,
        "there is no prml4.logistic.cube",
        "Sums.",
        "See `logistic.cube`.",
        set(),
    ),
]


@pytest.mark.parametrize(
    ("gate", "text", "old", "new", "others"),
    PAGE_FAULTS,
    ids=[gate.__name__ for gate, *_ in PAGE_FAULTS],
)
def test_a_fault_of_the_back_matter_is_found(
    tmp_path, gate, text, old, new, others
):
    """The gate in question names the fault, with those that it entails."""
    cells = json.loads(json.dumps(sample.back_cells()).replace(old, new))
    found = complaints(sample.write(tmp_path, back=cells))
    assert gate in found and set(found) <= {gate, *others}
    assert text in "\n".join(found[gate])


# ------------------------------------- faults that are not in a single cell
def rename(old, new):
    """A fault: a text replaced in every cell, outputs included."""

    def plant(cells):
        changed = json.loads(json.dumps(cells).replace(old, new))
        cells[:] = changed

    return plant


def test_a_foreign_prefix_is_found(tmp_path):
    """A claim of chapter logistic is not called irls-…"""
    cells = sample.cells()
    rename("logistic-square", "irls-square")(cells)
    found = complaints(sample.write(tmp_path, cells))
    assert set(found) == {gates.labels_are_prefixed}
    assert "label irls-square lacks" in found[gates.labels_are_prefixed][0]


def test_an_ill_formed_ledger_id_is_found(tmp_path):
    """Slip F02 belongs to no source."""
    cells = sample.cells()
    rename("A02", "F02")(cells)
    found = complaints(sample.write(tmp_path, cells))
    expected = {
        gates.slips_are_refuted: "slip without a ledger id",
        gates.slip_calls_are_boxed: "without a box: F02",
        gates.slips_are_complete: "slip A02 is missing",
    }
    assert set(found) == set(expected)
    assert all(text in found[gate][0] for gate, text in expected.items())


def test_foreign_metadata_are_found(tmp_path):
    """A kernel called after someone's environment does not start elsewhere."""
    path = sample.write(tmp_path) / "book" / "07_logistic.ipynb"
    text = path.read_text("utf-8")
    path.write_text(text.replace('"name": "python3"', '"name": "me"'), "utf-8")
    assert set(complaints(tmp_path)) == {gates.kernel_is_clean}


def change(path, old, new):
    """Replace a text in a file."""
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def plan_softmax(root):
    """Another chapter in the plan, with nothing written."""
    row = 'number = 9\nstem = "softmax"\ntitle = ""\nprml = ""\nslips = []'
    with (root / "book/outline.toml").open("a") as plan:
        plan.write(f"[[part.chapter]]\n{row}\n")


def import_later(root, line):
    """Chapter 7 rests on chapter 9."""
    plan_softmax(root)
    change(root / "prml4/logistic.py", "def ", f"{line}\n\n\ndef ")


TREE_FAULTS = [
    (
        gates.notebooks_are_planned,
        lambda root: change(
            root / "book/outline.toml", "number = 7", "number = 8"
        ),
        "07_logistic is not in outline.toml",
    ),
    (
        gates.notebooks_are_planned,
        plan_softmax,
        "there is no book/09_softmax.ipynb",
    ),
    (
        gates.modules_have_tests,
        lambda root: (root / "prml4/special.py").write_text('"""S."""'),
        "prml4/special.py has no tests/test_special.py",
    ),
    (
        gates.notebooks_are_planned,
        lambda root: (root / "book/07_logistic.ipynb").unlink(),
        "there is no book/07_logistic.ipynb",
    ),
    (
        gates.imports_run_one_way,
        lambda root: import_later(root, "from .softmax import f"),
        "prml4/logistic.py imports softmax",
    ),
    (
        gates.imports_run_one_way,
        lambda root: import_later(root, "from prml4 import softmax"),
        "prml4/logistic.py imports softmax",
    ),
    (
        gates.functions_are_documented,
        lambda root: change(root / "prml4/logistic.py", "y = x^2.", "Squares."),
        "square states no formula",
    ),
    (
        gates.functions_are_documented,
        lambda root: change(root / "prml4/logistic.py", '"""y = x^2."""', ""),
        "square has no docstring",
    ),
]


@pytest.mark.parametrize(
    ("gate", "plant", "text"),
    TREE_FAULTS,
    ids=[f"{g.__name__}-{t.replace(' ', '_')}" for g, _, t in TREE_FAULTS],
)
def test_a_fault_of_the_tree_is_found(tmp_path, gate, plant, text):
    """The gate in question names the fault."""
    plant(sample.write(tmp_path))
    assert any(text in said for said in complaints(tmp_path).get(gate, []))


def test_every_gate_has_a_planted_fault():
    """A gate that never closed may be unable to."""
    planted = {gate for gate, *_ in FAULTS + TREE_FAULTS}
    planted |= {gates.labels_are_prefixed, gates.kernel_is_clean}
    all_gates = {
        *gates.PER_CHAPTER,
        *gates.PER_BOOK,
        *gates.PER_PLAN,
        *gates.PER_TREE,
    }
    assert all_gates <= planted


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\d+", "changes the line"),
        (r"residual .*", "changes the line"),
        (r"✗.*≤ \S+", "changes the line"),
    ],
)
def test_a_wide_pattern_is_found(pattern, text):
    """A pattern that hides more than the residual hides errors."""
    config = f"[x]\nregex: {pattern}\nreplace: residual …\n"
    lines = [sample.CHECK_LINE + " of 7", sample.SLIP_LINE]
    found = gates.sanitising_is_narrow(config, lines)
    assert found and text in found[0]


def test_a_second_pattern_is_found():
    """The list of patterns is short."""
    one = "regex: residual \\S+ ≤ \\S+\nreplace: residual …\n"
    config = f"[x]\n{one}[y]\n{one}"
    found = gates.sanitising_is_narrow(config, [sample.CHECK_LINE])
    assert found == ["more than 1 sanitising pattern"]


# ------------------------------------------------------ a referee that sleeps
def run_sample(root, cell):
    """The complaints of the sensitivity gate about a chapter of one check."""
    from tools import rerun

    first = sample.code("import numpy as np\n\nfrom prml4 import check")
    sample.write(root, [sample.markdown("# X"), first, cell])
    return rerun.weak_checks(reader.chapters(root)[0])


def test_a_sound_check_is_accepted(tmp_path):
    """Gradient, semidefinite matrix and slip, all of them sharp."""
    cell = sample.code(
        "check.gradient('x-a', lambda w: w**2, 1.5, display=lambda w: 2 * w,\n"
        "    library=lambda w: w + w)\n"
        "check.psd('x-b', np.diag([1.0, 0.0, 2.0]), rank=2)\n"
        "check.slip('A02', 'x-a', as_written=1, corrected=2, truth=2)"
    )
    assert run_sample(tmp_path, cell) == []


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("check.identity('x-a', display=2, other=2, error=1)", "its display"),
        ("check.moments('x-a', [1, 2, 3, 4], display=2.5)", "its display"),
        ("check.psd('x-a', np.eye(2))", "an indefinite matrix"),
        (
            "check.slip('A02', 'x-a', as_written=1, corrected=2, truth=2)",
            "the truth as a slip",
        ),
    ],
)
def test_a_sleeping_referee_is_found(tmp_path, monkeypatch, call, text):
    """Whatever the referee itself thinks of its bounds, the gate asks again."""
    from prml4 import check

    monkeypatch.setattr(check, "_bite", lambda *args: None)
    if "psd" in call:
        monkeypatch.setattr(check, "psd", lambda *args, **options: None)
    if "slip" in call:
        monkeypatch.setattr(check, "slip", lambda *args, **options: None)
    found = run_sample(tmp_path, sample.code(call))
    assert any(text in said for said in found)
