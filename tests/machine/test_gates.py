"""The gates of the book: each is open for the book as it stands, and each
closes on exactly the fault that is planted before it."""

import json
import re
from pathlib import Path

import pytest
import sample

from tools import chapters as reader
from tools import gates, versions

ROOT = Path(__file__).resolve().parents[2]
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
    assert gate(BOOK + BACK, PLAN) == []


@pytest.mark.parametrize("gate", gates.PER_TREE, ids=named)
def test_tree(gate):
    """The tree is the table of contents, and help() the map."""
    assert gate(ROOT) == []


@pytest.mark.parametrize("gate", gates.PER_LIST, ids=named)
def test_list(gate):
    """What is exempt is on a list, and the list holds nothing else."""
    assert gate(ROOT, gates.PER_LIST[gate]) == []


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


def test_no_file_of_the_library_is_left_out():
    """Whatever changes in a room, make test runs the notebooks again."""
    makefile = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    patterns = re.search(r"LIBRARY := \$\(wildcard (.+?)\)", makefile)[1]
    found = {p for pattern in patterns.split() for p in ROOT.glob(pattern)}
    support = ROOT / "book" / "support"
    files = {*(ROOT / "prml4").rglob("*.py"), *support.rglob("*.*")}
    assert {f for f in files if f.suffix != ".pyc"} <= found
    assert {*versions.ROOMS} == {*reader.ROOMS}


# ------------------------------------------------------------- planted faults
def complaints(root):
    """Gate -> what it says about the repository below root."""
    book, plan = reader.chapters(root), reader.outline(root)
    back = reader.back_pages(root)
    found = {g: [s for c in book for s in g(c)] for g in gates.PER_CHAPTER}
    for gate in gates.PER_NOTEBOOK:
        found[gate] += [s for page in back for s in gate(page)]
    found |= {g: g(book + back) for g in gates.PER_BOOK}
    found |= {g: g(book + back, plan) for g in gates.PER_PLAN}
    found |= {g: g(root) for g in gates.PER_TREE}
    found |= {g: g(root, set()) for g in gates.PER_LIST}
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
    assert [c.stem for c in reader.back_pages(root)] == ["identities", "slips"]
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


def as_printed(label):
    """A cell that checks a claim as printed."""
    line = sample.CHECK_LINE.replace("logistic-square", label)
    return sample.code(f"check.printed({label!r})", line)


CHECKED, SLIPPED, DRAWN = "check.gradient", "check.slip", "book.show"
BELOW = "## When it breaks"  # the sample's only claim and its check
LEAD = "lambda x: x**2"
MISTAKE = ":::{admonition} Common mistake: half\n:class: mistake\n\nNo.\n:::"
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
            insert("## Slopes", cell_with(sample.cells(), CHECKED)),
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
            cell_with(sample.cells(), CHECKED)["source"],
            "try:\n    check.gradient('logistic-square', lambda x: x**2, 1.5,\n"
            "        display=lambda x: x)\nexcept check.ClaimFails as e:\n"
            "    print(e)",
        ),
    ),
    (
        gates.claims_are_read,
        "logistic-new is checked neither as printed nor by hand",
        both(
            replace("$$ y + y = 2 y $$", "$$ y = y $$ (logistic-new)"),
            insert(BELOW, as_printed("logistic-square")),
            insert(
                BELOW,
                sample.code(
                    "check.identity('logistic-new')",
                    sample.CHECK_LINE.replace("square", "new"),
                ),
            ),
        ),
    ),
    (
        gates.claims_are_read,
        "logistic-square is checked both ways",
        insert(
            BELOW,
            as_printed("logistic-square"),
            sample.code("check.transcribed('logistic-square', '0', 'a rate')"),
        ),
    ),
    (
        gates.claims_are_read,
        "no reason why logistic-new is checked by hand",
        both(
            replace("$$ y + y = 2 y $$", "$$ y = y $$ (logistic-new)"),
            insert(BELOW, as_printed("logistic-square")),
            insert(
                BELOW,
                sample.code(
                    "check.transcribed('logistic-new', '0', '')\n"
                    "check.identity('logistic-new')",
                    sample.CHECK_LINE.replace("square", "new"),
                ),
            ),
        ),
    ),
    (
        gates.house_style,
        "the scope of a product has two readings",
        both(
            replace("\\frac{dy}{dx} = 2 x", "\\prod_k a_k b = 2 x"),
            insert(BELOW, as_printed("logistic-square")),
        ),
    ),
    (
        gates.checks_name_claims,
        "names no claim here: logistic-cube",
        insert(
            BELOW,
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
            BELOW,
            sample.code(
                "check.identity('def-square', display=1, other=1)",
                "✓ def-square · residual 0.0e+00 ≤ 1.0e-12",
            ),
        ),
    ),
    (
        gates.referee_is_known,
        "unknown referee check.gradeint",
        insert(BELOW, sample.code("check.gradeint('logistic-square')", "x")),
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
        gates.slip_calls_are_told,
        "check.slip of a slip that is not told: A03",
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
        gates.numbers_are_asserted,
        "tagged numbers shows or checks something",
        insert(BELOW, sample.code("print(1)", "1", tags=["numbers"])),
    ),
    (
        gates.numbers_are_asserted,
        "tagged numbers shows or checks something",
        insert(BELOW, sample.code("check.given(x=1)", tags=["numbers"])),
    ),
    (
        gates.mistakes_are_few,
        "4 common mistakes, at most 3",
        insert(BELOW, *[sample.markdown(MISTAKE)] * 4),
    ),
    (
        gates.stars_are_explained,
        "“### Cubes ★” does not go on with",
        insert(BELOW, sample.markdown("### Cubes ★\n\nMore.")),
    ),
    (
        gates.stars_are_explained,
        "“## Cubes ★” does not go on with",
        insert("## Exercises", sample.markdown("## Cubes ★")),
    ),
    # execution and outputs
    (gates.counts_are_in_order, "count 7, expected 3", count(CHECKED, 7)),
    (gates.counts_are_in_order, "count None", count(CHECKED, None)),
    (
        gates.outputs_are_there,
        "output is missing",
        insert(BELOW, sample.code("print(1)")),
    ),
    (
        gates.no_error_outputs,
        "an error or stderr",
        insert(BELOW, sample.code("1 / 0", "x")),
    ),
    (
        gates.no_machine_paths,
        "output holds '/home/m'",
        insert(BELOW, sample.code("print(p)", "/home/me/book")),
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
        insert(BELOW, sample.code("def sigmoid(a):\n    return a")),
    ),
    (
        gates.mathematics_is_imported,
        "defines a lambda",
        insert(BELOW, sample.code("f = lambda a: a + 1")),
    ),
    (
        gates.mathematics_is_imported,
        "defines Model",
        insert(BELOW, sample.code("class Model:\n    pass")),
    ),
    (
        gates.cells_are_short,
        "16 lines",
        insert(BELOW, sample.code("\n".join(["x = 1"] * 16))),
    ),
    (
        gates.cells_are_short,
        "41 lines",
        insert(
            BELOW,
            sample.code("\n".join(["x = 1"] * 41), tags=["hide-input"]),
        ),
    ),
    (
        gates.cells_are_short,
        "81 columns",
        insert(BELOW, sample.code("x = 1  " + "#" * 74)),
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
        gates.sliders_have_captions,
        "a slider without",
        insert(BELOW, sample.code("book.slider(draw, [1])", "slider: x")),
    ),
    (
        gates.figures_state_what_they_show,
        "a picture without",
        lambda cells: cell_with(cells, DRAWN)["outputs"].append(
            {"data": {"image/png": "iVBORw0KGgo="}}
        ),
    ),
    # the whole chapter
    (
        gates.header_is_complete,
        "lacks the question",
        replace("**The question.**", "Here is a question."),
    ),
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


def move_to_the_end(text):
    """A fault: a section in the wrong place."""

    def plant(cells):
        cell = cell_with(cells, text)
        cells.remove(cell)
        cells.append(cell)

    return plant


STUB = "**exercises.square_3()"


def say(text):
    """A fault: a sentence in the text."""
    return replace("Twice the place.", f"Twice the place. {text}")


FAULTS += [
    (
        gates.header_is_complete,
        "lacks “*About … hours",
        replace("*About 2 hours, exercises aside · ", "*"),
    ),
    (
        gates.header_is_complete,
        "lacks “*About … hours",
        replace(" · PRML 4.3.2*", "*"),
    ),
    (
        gates.header_is_complete,
        "lacks the folded “What you will be able to do”",
        replace(gates.ABILITIES, "What you need"),
    ),
    (
        gates.parts_are_there,
        "no section “On real data”",
        remove("## On real data"),
    ),
    (
        gates.parts_are_there,
        "the end has not the order",
        move_to_the_end("## When it breaks"),
    ),
    (
        gates.results_are_a_table,
        "no table of 3 columns",
        replace(gates.RESULTS, "Results"),
    ),
    (
        gates.results_are_a_table,
        "refers to unknown logistic-cube",
        replace("{eq}`logistic-square`", "{eq}`logistic-cube`"),
    ),
    (
        gates.five_things_are_five,
        "not five things to remember",
        replace("3. An idea.", "And an idea."),
    ),
    (
        gates.five_things_are_five,
        "not five questions",
        replace("{dropdown} Answer", "{note}"),
    ),
    (
        gates.five_things_are_five,
        "not five questions",
        replace("**5.** True or false: it is.", ""),
    ),
    *[
        (gates.prose_keeps_to_its_subject, f"says “{said}”", say(text))
        for said, text in {
            "Source B": "Source B forgets it.",
            "B14": "See slip B14.",
            "referee": "The referee agrees.",
            "checked": "It is checked below.",
            "the check": "Here the check sets x = 1.",
            "asserts": "The cell asserts it.",
            "{doc}`01_check`": "See {doc}`01_check`.",
            "[](01_check.ipynb)": "See [](01_check.ipynb).",
        }.items()
    ],
    *[
        (gates.stubs_keep_the_answer, "shows its answer", replace(STUB, shown))
        for shown in (
            "np.square, (1.0,)",
            "**exercises.cube()",
            "**exercises.square_3(), terms={'x': 1}",
            "lambda x: x * x, **exercises.square_3()",
            "**np.square()",
        )
    ],
    (
        gates.stubs_keep_the_answer,
        "exercises.square_2 judges 2 exercises",
        replace(STUB, "**exercises.square_2()"),
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


@pytest.mark.parametrize(
    "text",
    ["Check that it is 2.", "A check of $E10$ is `B14`.", "A resource E."],
)
def test_plain_words_are_allowed(tmp_path, text):
    """Readers may check something; formulas and code have names."""
    cells = sample.cells()
    say(text.replace("A check of", "Take"))(cells)
    assert complaints(sample.write(tmp_path, cells)) == {}


LEDGER_FAULTS = [
    (
        gates.ledger_is_complete,
        "slip A02 is missing below “7 · Squares”",
        both(remove("### A02"), remove(SLIPPED)),
        {gates.sources_are_counted},
    ),
    (
        gates.ledger_is_complete,
        "slip A01 is missing below “7 · Squares”",
        remove("### A01"),
        {gates.sources_are_counted},
    ),
    (
        gates.ledger_is_complete,
        "slip A02 is not planned below “8 · Squares”",
        replace("## 7", "## 8"),
        set(),
    ),
    (
        gates.slips_are_refuted,
        "slip A02 is not refuted in the next cell",
        remove(SLIPPED),
        {gates.silence_is_explained},
    ),
    (
        gates.slips_are_refuted,
        "slip A02 is not refuted in the next cell",
        insert(SLIPPED, sample.markdown("Between.")),
        set(),
    ),
    (
        gates.slips_are_refuted,
        "slip A02 shows no residuals",
        output(SLIPPED, prints("refuted")),
        set(),
    ),
    (
        gates.slips_name_claims,
        "slip A02 names no claim: logistic-cube",
        replace("'A02', 'logistic-square'", "'A02', 'logistic-cube'"),
        set(),
    ),
    (
        gates.silence_is_explained,
        "slip A01: “Nothing to compute” is missing",
        replace("Nothing to compute", "See above"),
        set(),
    ),
    (
        gates.silence_is_explained,
        "slip A02: “Nothing to compute” is missing or does not",
        replace("Some forget the two.", "*Nothing to compute.*"),
        set(),
    ),
    (
        gates.silence_is_explained,
        "slip A01: “Nothing to compute” is missing or does not",
        lambda cells: cells.append(
            sample.code(
                "check.slip('A01', 'logistic-square', as_written=1,\n"
                "    corrected=2, truth=2)",
                sample.SLIP_LINE,
            )
        ),
        set(),
    ),
    (
        gates.sources_are_counted,
        "source A has 2 slips, 1 in PRML",
        replace("| 2 | 1 |", "| 2 | 0 |"),
        set(),
    ),
    (
        gates.slips_are_unique,
        "slip A02 occurs 2 times",
        insert("### A01", *sample.ledger()[3:5]),
        {gates.sources_are_counted},
    ),
]


@pytest.mark.parametrize(
    ("gate", "text", "plant", "others"),
    LEDGER_FAULTS,
    ids=[f"{g.__name__}-{t.replace(' ', '_')}" for g, t, *_ in LEDGER_FAULTS],
)
def test_a_fault_of_the_ledger_is_found(tmp_path, gate, text, plant, others):
    """The gate in question names the fault, with those that it entails."""
    cells = sample.ledger()
    plant(cells)
    found = complaints(sample.write(tmp_path, ledger_cells=cells))
    assert gate in found and set(found) <= {gate, *others}
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
    ledger = sample.ledger()
    for page in (cells, ledger):
        rename("logistic-square", "irls-square")(page)
    found = complaints(sample.write(tmp_path, cells, ledger_cells=ledger))
    assert set(found) == {gates.labels_are_prefixed}
    assert "label irls-square lacks" in found[gates.labels_are_prefixed][0]


def test_an_ill_formed_ledger_id_is_found(tmp_path):
    """Slip F02 belongs to no source."""
    cells = sample.ledger()
    rename("A02", "F02")(cells)
    found = complaints(sample.write(tmp_path, ledger_cells=cells))
    assert set(found) == {
        gates.slip_calls_are_told,
        gates.ledger_is_complete,
        gates.sources_are_counted,
    }
    assert "not told: F02" in found[gates.slip_calls_are_told][0]


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


def add_room(root):
    """The path of a module in a room that was not there."""
    (root / "prml4/numerics").mkdir()
    return root / "prml4/numerics/special.py"


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
        gates.tree_is_the_contents,
        lambda root: (root / "prml4/helpers.py").write_text('"""H."""'),
        "prml4/helpers.py is no chapter and no room",
    ),
    (
        gates.tree_is_the_contents,
        lambda root: (root / "prml4/utils").mkdir(),
        "prml4/utils is no chapter",
    ),
    (
        gates.tree_is_the_contents,
        plan_softmax,
        "there is no prml4/softmax.py",
    ),
    (
        gates.maps_are_complete,
        lambda root: change(root / "prml4/__init__.py", "7  log", "8  log"),
        "prml4 lists ['8 logistic'], not ['7 logistic']",
    ),
    (
        gates.maps_are_complete,
        lambda root: add_room(root).write_text('"""S."""'),
        "numerics lists [], not ['special']",
    ),
    (
        gates.refusals_are_worded,
        lambda root: change(
            root / "prml4/logistic.py",
            "return x",
            'raise ValueError(f"x must be 1, got {x}")\n    return x',
        ),
        "logistic, line 6: not “… must …; got …”",
    ),
    (
        gates.functions_are_short,
        lambda root: change(
            root / "prml4/logistic.py",
            "return x",
            "x = 1\n    " * 25 + "return x",
        ),
        "logistic.square: 27 lines",
    ),
    (
        gates.modules_have_tests,
        lambda root: add_room(root).write_text('"""S."""'),
        "prml4/numerics/special.py has no tests/numerics/test_special.py",
    ),
    (
        gates.notebooks_are_planned,
        lambda root: (root / "book/07_logistic.ipynb").unlink(),
        "there is no book/07_logistic.ipynb",
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


def test_an_exemption_for_nothing_is_found(tmp_path):
    """Lists of exemptions shrink."""
    root = sample.write(tmp_path)
    said = gates.functions_are_short(root, {"logistic.square"})
    assert said == ["logistic.square is short now: unlist it"]
    assert gates.plain_modules_exist(root, {"logistic"}) == []
    said = gates.plain_modules_exist(root, {"cases"})
    assert said == ["there is no module cases"]


def test_every_gate_has_a_planted_fault():
    """A gate that never closed may be unable to."""
    planted = {gate for gate, *_ in FAULTS + LEDGER_FAULTS + TREE_FAULTS}
    planted |= {gates.labels_are_prefixed, gates.kernel_is_clean}
    all_gates = {
        *gates.PER_CHAPTER,
        *gates.PER_BOOK,
        *gates.PER_PLAN,
        *gates.PER_TREE,
        gates.functions_are_short,
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


def test_a_third_pattern_is_found():
    """The list of patterns is short."""
    one = "regex: residual \\S+ ≤ \\S+\nreplace: residual …\n"
    config = f"[x]\n{one}[y]\n{one}[z]\n{one}"
    found = gates.sanitising_is_narrow(config, [sample.CHECK_LINE])
    assert found == ["more than 2 sanitising patterns"]


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
