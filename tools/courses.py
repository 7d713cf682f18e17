"""The plans of book/back/teaching.md: one line for each lesson.

    ```{course} 6
    7: The gradient … A prior as the cure + 8 | logistic-ex-step irls-ex-halve
    ```

What is read: chapters, or from one of their sections to another; and after
the bar the labels of exercises. Hours are those that the chapters state; a
part of a chapter has its share of the chapter's words.
"""

import re
from dataclasses import dataclass
from functools import cache

from tools.chapters import Chapter, directives, without_code

READING = re.compile(r"(\d+)(?:: (.+?)(?: … (.+))?)?$")
HOURS = re.compile(r"(?m)^\*About ([\d½¼¾]+) (hour|minute)s?\b")
QUARTERS = {"": 0, "¼": 0.25, "½": 0.5, "¾": 0.75}
ASIDE = "Five questions", "Exercises", "Further reading"


@dataclass(frozen=True)
class Reading:
    """A chapter, or its sections from the first to the last."""

    chapter: Chapter
    titles: tuple  # () if all of it is read

    @property
    def hours(self):
        """What the chapter states, or this share of it; None if nothing."""
        stated = hours_of(self.chapter)
        if not (stated and self.titles):
            return stated
        words = words_of(self.chapter)
        part = sum(words[title] for title in self.titles)
        return stated * part / sum(words.values())


@dataclass(frozen=True)
class Lesson:
    """What is read for it, and the labels of its exercises."""

    readings: tuple
    exercises: tuple

    @property
    def hours(self):
        """The sum, or None if a chapter states nothing."""
        parts = [reading.hours for reading in self.readings]
        return None if None in parts else sum(parts)


def hours_of(chapter):
    """The hours of the line below the first picture, or None."""
    found = HOURS.search("\n".join(c.source for c in chapter.markdown))
    if not found:
        return None
    whole, quarter = re.fullmatch(r"(\d*)(\D?)", found[1]).groups()
    number = int(whole or 0) + QUARTERS[quarter]
    return number / (60 if found[2] == "minute" else 1)


def shown(hours):
    """To a quarter of an hour: "2½ h"."""
    if hours is None:
        return "–"
    quarters = max(round(4 * hours), 1)
    part = [*QUARTERS][quarters % 4]
    return f"{quarters // 4 or ''}{part} h"


@cache
def words_of(chapter):
    """Title -> number of words, of every section but those at the end."""
    text = without_code("\n\n".join(c.source for c in chapter.markdown))
    _, *parts = re.split(r"(?m)^## +(.+)$", text)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    words = {title.strip(): len(body.split()) for title, body in pairs}
    return {t: n for t, n in words.items() if not t.startswith(ASIDE)}


def parse(text, book):
    """(lessons, complaints) of the lines of a plan."""
    lessons, complaints, known = [], [], set()
    for line in filter(str.strip, text.splitlines()):
        read, _, labels = line.partition("|")
        found = [reading(part.strip(), book) for part in read.split(" + ")]
        complaints += [said for said in found if isinstance(said, str)]
        readings = tuple(r for r in found if isinstance(r, Reading))
        for r in readings:
            known |= {d.options.get("label") for d in r.chapter.exercises}
        complaints += [
            f"{label} is no exercise of a chapter read by then"
            for label in labels.split()
            if label not in known
        ]
        lessons.append(Lesson(readings, tuple(labels.split())))
    return lessons, complaints


def reading(text, book):
    """What a text names, or a sentence saying why there is no such thing."""
    found = READING.match(text)
    chapters = {int(c.name[:2]): c for c in book if c.name[:2].isdigit()}
    if not found or int(found[1]) not in chapters:
        return f"“{text}” begins with no number of a chapter"
    chapter = chapters[int(found[1])]
    if not found[2]:
        return Reading(chapter, ())
    titles, ends = [*words_of(chapter)], (found[2], found[3] or found[2])
    if missing := [title for title in ends if title not in titles]:
        return f"{chapter.name} has no section “{missing[0]}”"
    start, stop = map(titles.index, ends)
    if stop < start:
        return f"{chapter.name}: “{ends[1]}” comes before “{ends[0]}”"
    return Reading(chapter, tuple(titles[start : stop + 1]))


def paths(text):
    """(title, numbers of chapters) of each line of a list of paths."""
    for line in filter(str.strip, text.splitlines()):
        title, _, numbers = line.partition(":")
        yield title.strip(), [int(n) for n in numbers.split()]


def missing(lessons):
    """Numbers of chapters that a reading needs, and that nobody has read."""
    read, lacking = set(), set()
    for part in (r for lesson in lessons for r in lesson.readings):
        read.add(int(part.chapter.name[:2]))
        text = "\n".join(c.source for c in part.chapter.markdown)
        line = re.search(r"(?m)^\*About .*$", text)
        needs = re.findall(r"\((\d\d)_\w+\.ipynb\)", line[0] if line else "")
        lacking |= {int(n) for n in needs} - read
    return sorted(lacking)


def plans_are_true(page, book):
    """Each plan has its number of lessons, and names only what there is."""
    found = [d for d in directives(page, 0) if d.kind == "course"]
    complaints = [] if found else ["there is no plan"]
    for plan in found:
        lessons, said = parse(plan.body, book)
        complaints += said
        if len(lessons) != int(plan.argument):
            text = f"a plan of {plan.argument} has {len(lessons)} lessons"
            complaints.append(text)
    return complaints
