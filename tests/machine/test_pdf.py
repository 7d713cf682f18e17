"""The printed book, read again: `make pdf` makes it first."""

import re
from functools import cache
from itertools import pairwise

import pytest

from tools import chapters, pdf

pytestmark = pytest.mark.pdf
CHAPTERS = sorted(p.stem for p in (pdf.ROOT / "book").glob("[0-9]*.ipynb"))


@cache
def printed(name="book"):
    """(reader, text of each page) of one PDF."""
    from pypdf import PdfReader

    reader = PdfReader(pdf.PDF / f"{name}.pdf")
    return reader, [" ".join(p.extract_text().split()) for p in reader.pages]


def links(reader):
    """(page, annotation) of every link."""
    for k, page in enumerate(reader.pages):
        for ref in page.get("/Annots", ()):
            yield k, ref.get_object()


def test_contents_name_the_right_pages():
    """Each line of the contents stands as a heading on the page it names."""
    reader, texts = printed()
    last = reader.page_labels.index("1")
    first = next(k for k in range(last) if " Contents How to" in texts[k])
    lines = re.findall(
        r"^(.*\D) (\d+)$",
        "\n".join(p.extract_text() for p in reader.pages[first:last]),
        re.MULTILINE,
    )
    assert len(lines) > 19 * 10
    for text, number in lines:
        page = texts[reader.page_labels.index(number, last)]
        assert pdf.solid(text) in pdf.solid(page), (text, number)


def test_every_chapter_has_its_bookmarks():
    """Chapters, and their sections below."""
    reader, _ = printed()
    numbers = [
        int(item.title.split(".")[0])
        for item, below in pairwise(reader.outline)
        if not isinstance(item, list) and isinstance(below, list)
        if item.title[:1].isdigit()
    ]
    assert numbers == [int(stem[:2]) for stem in CHAPTERS]


def test_links_lead_somewhere():
    """No link to a file, none to the place that stands for unbound links."""
    reader, _ = printed()
    inside = 0
    for page, link in links(reader):
        uri = str(link.get("/A", {}).get("/URI", ""))
        assert not uri.startswith((pdf.PLACE, "file:")), (page, uri)
        inside += "/Dest" in link
    assert inside > 2000


def test_nothing_is_torn_from_what_it_names():
    """No label at the foot of a page, no output alone on the next."""
    _, texts = printed()
    alone = re.compile(r"\(\w+\.\d+\) · ([\w-]+) (?!Checked|A definition)")
    assert [found[1] for text in texts if (found := alone.search(text))] == []
    assert min(len(text.split()) for text in texts[1:]) > 10


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_typefaces_are_within(name):
    """Every font is embedded, and text is set in the book's own."""
    reader, _ = printed(name)
    names = set()
    for page in reader.pages:
        for font in page["/Resources"].get("/Font", {}).values():
            font = font.get_object()
            names.add(font.get("/BaseFont", "").partition("+")[2])
            for part in font.get("/DescendantFonts", ()):
                look = part.get_object()["/FontDescriptor"]
                assert any(key.startswith("/FontFile") for key in look)
    faces = {"SourceSerifPro-Regular", "SourceSansPro-Semibold"}
    assert names >= faces


@pytest.mark.parametrize("stem", CHAPTERS)
def test_a_chapter_is_all_there(stem):
    """In Read, with its seals, each exercise with its solution at the end."""
    _, texts = printed(stem)
    text, number = " ".join(texts), int(stem[:2])
    body, _, end = text.partition(" Solutions ")
    chapter = chapters.Chapter(pdf.ROOT / "book" / f"{stem}.ipynb")
    numbers = set(re.findall(rf"Exercise ({number}\.\d+) \(", body))
    assert len(numbers) >= 4
    assert numbers == set(re.findall(r"Solution to Exercise ([\d.]+) \(", end))
    if number > 1:  # which shows how it is done
        assert "check.printed" not in text
    assert body.count("✓") >= len(chapter.claims)


@pytest.mark.parametrize("stem", CHAPTERS)
def test_a_page_offers_its_pdf(stem):
    """The link leads from the page to the file."""
    page = pdf.SITE / "book" / f"{stem}.html"
    (link,) = re.findall(r'href="([^"]+\.pdf)"', page.read_text("utf-8"))
    assert (page.parent / link).resolve() == pdf.PDF / f"{stem}.pdf"
    assert (page.parent / link).exists()


def test_pages_have_one_number():
    """A chapter's own PDF and the book agree."""
    whole, of = printed()
    for stem in CHAPTERS:
        part, texts = printed(stem)
        assert texts[0] == of[whole.page_labels.index(part.page_labels[0], 5)]
