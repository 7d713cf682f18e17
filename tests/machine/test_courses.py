"""The plans for a course name what there is, and add up its hours."""

from pathlib import Path

import pytest
import sample

from theme import courses as page
from tools import chapters as reader
from tools import courses

ROOT = Path(__file__).resolve().parents[2]
PLAN = "```{{course}} {}\n{}\n```"
CHAPTER = [
    sample.markdown("# Squares"),
    sample.markdown(
        "*About 2½ hours, exercises aside · needs [2](02_x.ipynb)*"
    ),
    sample.markdown("## Slopes\n\nOne two three.\n\n## Ends\n\nFour."),
    sample.markdown("## Exercises\n\nMany words that nobody counts."),
    *sample.exercise(0),
]


@pytest.fixture
def book(tmp_path):
    """A book of one chapter, number 7."""
    return reader.chapters(sample.write(tmp_path, list(CHAPTER)))


def test_the_page_names_what_there_is():
    """Sections, exercises, and as many lessons as are promised."""
    text = (ROOT / "book" / "back" / "teaching.md").read_text("utf-8")
    assert courses.plans_are_true(text, reader.chapters(ROOT)) == []
    found = [d.argument for d in reader.directives(text, 0)]
    assert found == ["6", "12", "24"]


def test_paths_need_nothing_that_they_do_not_read():
    """The first course stands alone, the second rests on it; all is all."""
    book = {int(c.name[:2]): c for c in reader.chapters(ROOT)}
    text = (ROOT / "book" / "intro.md").read_text("utf-8")
    (plan,) = [d for d in reader.directives(text, 0) if d.kind == "paths"]
    (_, first), (_, then), (_, every) = courses.paths(plan.body)
    lessons = [
        courses.Lesson((courses.Reading(book[n], ()),), ())
        for n in first + then
    ]
    assert courses.missing(lessons) == []
    assert first[0] == 2  # a first course begins with chapter 2
    assert every == sorted(book)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("7: Slopes … Ends | logistic-ex-0", None),
        ("7: Slope | logistic-ex-0", "no section “Slope”"),
        ("7: Slopes … End", "no section “End”"),
        ("7: Ends … Slopes", "“Slopes” comes before “Ends”"),
        ("7: Exercises", "no section “Exercises”"),
        ("7 | logistic-ex-9", "logistic-ex-9 is no exercise"),
        ("7 + 8 | logistic-ex-0", "“8” begins with no number"),
        ("| logistic-ex-0", "begins with no number"),
        ("7\n7", "a plan of 1 has 2 lessons"),
        ("", "a plan of 1 has 0 lessons"),
    ],
)
def test_what_there_is_not_is_found(book, line, fault):
    """Misspelt sections, lost exercises, wrong orders, wrong counts."""
    said = courses.plans_are_true(PLAN.format(1, line), book)
    assert said == [] if fault is None else fault in " ".join(said)


def test_a_page_without_plans_is_found(book):
    """The gate does not pass for want of a plan."""
    assert courses.plans_are_true("Nothing.", book) == ["there is no plan"]


def test_a_part_has_its_share_of_the_hours(book):
    """Three words of four; what stands at the end is not counted."""
    text = "7\n7: Slopes\n7: Ends\n7: Slopes … Ends"
    lessons, said = courses.parse(text, book)
    assert said == []
    assert [x.hours for x in lessons] == [2.5, 2.5 * 3 / 4, 2.5 / 4, 2.5]
    shown = [courses.shown(x.hours) for x in lessons]
    assert shown == ["2½ h", "2 h", "½ h", "2½ h"]
    assert (courses.shown(None), courses.shown(0.01)) == ("–", "¼ h")


@pytest.mark.parametrize(
    ("line", "hours"),
    [
        ("*About 40 minutes.*", 2 / 3),
        ("*About 1 hour, exercises aside*", 1),
        ("*About ½ hour*", 0.5),
        ("About time.", None),
    ],
)
def test_hours_are_the_chapters_own(tmp_path, line, hours):
    """In hours or minutes; a chapter that states none has none."""
    cells = [sample.markdown("# A"), sample.markdown(line)]
    (chapter,) = reader.chapters(sample.write(tmp_path, cells))
    assert courses.hours_of(chapter) == hours


def test_the_plan_is_a_table(book, monkeypatch):
    """Sections, links to exercises, hours, and what nobody has read."""
    monkeypatch.setattr(reader, "chapters", lambda: book)

    class Asked:
        content = ["7: Slopes | logistic-ex-0"]

    assert courses.missing(courses.parse("7", book)[0]) == [2]
    monkeypatch.setattr(courses, "missing", lambda lessons: [7])
    text = "\n".join(page.Course.markdown(Asked))
    assert "{doc}`Chapter 7 </book/07_logistic>`: *Slopes*" in text
    assert "{ref}`logistic-ex-0`" in text
    assert "Reading in all: 2 h.\n" in text
    assert text.endswith(
        "read in no lesson before: {doc}`Squares </book/07_logistic>`."
    )
