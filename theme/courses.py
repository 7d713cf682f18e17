"""Plans for a course, and ways through the book: what to read, how long."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from theme.back_matter import Assembled, chapter_link, table  # noqa: E402
from tools import chapters as reader  # noqa: E402
from tools import courses  # noqa: E402


class Course(Assembled):
    """A plan; its argument is the number of lessons."""

    has_content = True
    required_arguments = 1

    def markdown(self):
        """A row for each lesson, the hours of all, and what is not read."""
        book = reader.chapters()
        lessons, _ = courses.parse("\n".join(self.content), book)
        rows = [[k, *row(lesson)] for k, lesson in enumerate(lessons, 1)]
        header = ["Lesson", "Read", "Solve", "Reading"]
        yield from table(header, rows, [2, 12, 5, 3])
        stated = [n for lesson in lessons if (n := lesson.hours)]
        less = "" if len(stated) == len(lessons) else ", where it is stated"
        yield f"Reading in all: {courses.shown(sum(stated))}{less}."
        links = {int(c.name[:2]): chapter_link(c) for c in book}
        if lacking := [links[n] for n in courses.missing(lessons)]:
            yield f"Needed, and read in no lesson before: {', '.join(lacking)}."


class Paths(Assembled):
    """Ways through the book: a title, and numbers of chapters, in each line."""

    has_content = True

    def markdown(self):
        """One item for each, with its chapters and their hours."""
        book = {int(c.name[:2]): c for c in reader.chapters()}
        for title, numbers in courses.paths("\n".join(self.content)):
            links = [chapter_link(book[n], str(n)) for n in numbers]
            stated = [courses.hours_of(book[n]) for n in numbers]
            hours = f"{sum(filter(None, stated)):.0f}"
            less = "" if None not in stated else " for those that state them"
            yield f"{title}"
            yield f": chapters {', '.join(links)}. About {hours} hours{less}."
            yield ""


def row(lesson):
    """What is read, the exercises, the hours."""
    read = "\\\n".join(map(passage, lesson.readings))
    solve = "\\\n".join(f"{{ref}}`{x}`" for x in lesson.exercises)
    return [read, solve, courses.shown(lesson.hours)]


def passage(reading):
    """A chapter, and from where to where."""
    number = int(reading.chapter.name[:2])
    link = chapter_link(reading.chapter, f"Chapter {number}")
    if not reading.titles:
        return f"{link}, *{reading.chapter.title}*"
    ends = dict.fromkeys((reading.titles[0], reading.titles[-1]))
    return f"{link}: *{'* to *'.join(ends)}*"


def setup(app):
    """Register the directives."""
    app.add_directive("course", Course)
    app.add_directive("paths", Paths)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
