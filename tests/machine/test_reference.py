"""The page about the library: order, names, fields, equations."""

import ast
from types import SimpleNamespace

import pytest
import sample
from docutils import nodes

from theme import reference
from tools import chapters as reader

BOOK = {row.stem: row for row in reader.outline()}
PAGES = {c.stem: c for c in reader.chapters()}
EQUATIONS = reference.equations(PAGES.values())


@pytest.fixture
def page():
    """The directive, without the machinery of Sphinx."""
    found = reference.ApiReference.__new__(reference.ApiReference)
    note = SimpleNamespace(note_explicit_target=lambda node: None)
    found.state = SimpleNamespace(document=note)
    found.equations = EQUATIONS
    return found


def terms(section):
    """What a section explains, in order."""
    return [term.astext() for term in section.findall(nodes.term)]


def cross_references(section):
    """Where a section refers to."""
    return [
        node["reftarget"] for node in section.findall(reference.pending_xref)
    ]


@pytest.mark.parametrize("stem", BOOK)
def test_a_chapter_explains_every_public_name_once(page, stem):
    """None of the internals, and first what its notebook uses."""
    section = page.chapter(BOOK[stem], PAGES[stem])
    path = reader.ROOT / "prml4" / f"{stem}.py"
    names = reference.public_names(reference.syntax(path))
    told = [
        text.removeprefix("class ").partition("(")[0] for text in terms(section)
    ]
    assert sorted(told) == sorted(f"{stem}.{node.name}" for node in names)
    used = [f"{stem}.{n}" for n in reference.used(PAGES[stem], stem)]
    used = [name for name in used if name in told]
    assert used and told[: len(used)] == used


def test_a_function_comes_with_its_equation_and_its_checks(page):
    """The formula of the summary, the numbers of all that name it."""
    section = page.chapter(BOOK["logistic"], PAGES["logistic"])
    (item,) = [
        item
        for item in section.findall(nodes.definition_list_item)
        if item.astext().startswith("logistic.gradient(")
    ]
    (block,) = item.findall(nodes.math_block)
    assert r"\nabla E(\mathbf w) = \sum" in block.astext()
    assert {"logistic-gradient", "check-components"} <= {
        *cross_references(item)
    }
    assert cross_references(section)[0] == "/book/07_logistic"


def test_a_room_has_first_lines(page):
    """Module by module; what starts with an underscore is absent."""
    section = page.room("numerics")
    titles = [title.astext() for title in section.findall(nodes.title)]
    stems = [p.stem for p in reader.modules() if p.parent.name == "numerics"]
    assert titles == ["prml4.numerics", *(f"numerics.{s}" for s in stems)]
    assert not [text for text in terms(section) if "._" in text]


def test_fields_become_a_table():
    """Name, shape and meaning, continued lines included; methods too."""
    source = '''class Fit(Result):
    """Where it stopped.

    w          (M,)  weights, of which
                     there are some
    converged        whether it did
    """

    w: np.ndarray
    converged: bool

    @property
    def size(self):
        """|w|."""
'''
    node = ast.parse(source).body[0]
    assert reference.is_result(node)
    first, fields, methods = reference.told(node)
    assert first.astext() == "Where it stopped."
    found = [row.astext().split("\n\n") for row in fields.findall(nodes.row)]
    assert found == [
        ["w", "(M,) weights, of which there are some"],
        ["converged", "whether it did"],
    ]
    assert methods.astext().split() == [".size", "|w|."]


def test_names_have_anchors_of_their_own():
    """Also where a class and a function differ by a capital only."""
    names = list(reference.defined())
    anchors = [reference.anchor(name) for name in names]
    assert len({*anchors}) == len(names)
    assert reference.anchor("logistic.fit") == "api-logistic-fit"
    assert reference.anchor("likelihoods.LOGISTIC.log_p") is None
    assert reference.anchor("logistic._problem") is None


def test_only_checks_that_count_are_named(tmp_path):
    """As on the page of the equations."""
    (chapter,) = reader.chapters(sample.write(tmp_path))
    assert reference.equations([chapter]) == {}
    check = SimpleNamespace(
        counts=True, label="logistic-square", library=("a.f", "a.f")
    )
    fake = SimpleNamespace(equations=chapter.equations, checks=[check, check])
    (equation,) = reference.equations([fake])["a.f"]
    assert equation.label == "logistic-square"
