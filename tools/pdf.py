"""The book on paper: one PDF, and one of each page.

    python tools/pdf.py

Run by `make pdf`, after `make book`. Chromium prints each page in Read, one
after the other, so that numbers go on; solutions are put aside and printed
together at the end, contents last, when all numbers are known. Here the parts
are bound, with bookmarks and links. The PDF of a chapter is cut from the
book: a page has one number in both.
"""

import re
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

import yaml
from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    Fit,
    FloatObject,
    NameObject,
    NullObject,
    TextStringObject,
)

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
SITE, PDF = ROOT / "_build" / "html", ROOT / "_build" / "pdf"
PLACE = "https://book.invalid/"  # where links within the book go, unbound
TITLE, AUTHORS = "Classification, Checked", "The Classification, Checked team"
MENU = re.compile(r'dropdown-download-buttons">.*?<ul class="dropdown-menu">',
                  re.DOTALL)  # fmt: skip
DEPTH = 2  # levels of bookmarks
STYLES = {"decimal": "/D", "lower-roman": "/r"}
PAPER = """
@page { size: A4; margin: 23mm 24mm 22mm;
  @top-left { content: "%(head)s"; font: 9pt "Source Sans"; }
  @bottom-center { content: counter(page, %(numerals)s);
    font: 9pt "Source Sans"; } }
html { counter-reset: page %(before)d; }
"""
# links get names that can be bound, whatever is folded is opened, and what
# others link to gets a link in this part, since only then it is a place
PREPARE = """([doc, targets, place]) => {
  document.documentElement.dataset.theme = "light";
  const read = document.querySelector('.mode [value=read]');
  if (read && !read.checked) read.click();
  const article = document.querySelector('article.bd-article');
  const root = document.location.href.replace(doc + '.html', '');
  for (const a of article.querySelectorAll('a[href]')) {
    const url = new URL(a.href);
    if (url.href.startsWith(root))
      a.href = place + url.href.slice(root.length).replace(/\\.html/, '');
  }
  article.querySelectorAll('details.sd-dropdown').forEach(d => d.open = true);
  for (const box of article.querySelectorAll('.toggle-hidden'))
    box.classList.remove('toggle-hidden');
  const places = document.createElement('nav');
  places.style = 'position: absolute; height: 0; overflow: hidden';
  for (const id of targets) places.append(Object.assign(
    document.createElement('a'), {href: '#' + id, textContent: '.'}));
  document.body.append(places);
}"""
# the answers of the five questions and the solutions, out of the page
ASIDE = """([name, title]) => {
  const article = document.querySelector('article.bd-article');
  const aside = document.createElement('section');
  const make = (name, text) => Object.assign(
    document.createElement(name), {textContent: text});
  const answers = [...article.querySelectorAll('details.sd-dropdown')].filter(
    d => d.querySelector('summary').textContent.trim() == 'Answer');
  answers.forEach((details, k) => {
    const box = make('div', '');
    box.className = 'answer';
    box.append(make('b', `Question ${k + 1}.`),
      ...details.querySelector('.sd-summary-content').children);
    details.remove();
    aside.append(box);
  });
  aside.append(...article.querySelectorAll('.solution'));
  if (!aside.children.length) return null;
  const head = make('h2', title);
  head.id = name;
  aside.className = 'solutions';
  aside.prepend(head);
  const rules = document.getElementById('MJX-CHTML-styles').sheet.cssRules;
  return [aside.outerHTML, [...rules].map(r => r.cssText).join('\\n')];
}"""
FILL = """([html, css]) => {
  document.querySelector('article.bd-article').innerHTML = html;
  document.head.append(Object.assign(
    document.createElement('style'), {textContent: css}));
}"""
APPEND = """html => {
  const title = document.createElement('section');
  const article = document.querySelector('article.bd-article');
  title.className = 'title';
  title.append(...[...article.querySelectorAll('h1, h1 + p')]);
  article.prepend(title);
  document.querySelector('article.bd-article').append(...new DOMParser()
    .parseFromString(html, 'text/html').body.children);
}"""
ON_PAPER = """
html, body, .bd-article { background: white; }
.bd-article-container, .bd-article-container .bd-article {
  padding: 0 !important; }
section.title { break-after: page; padding-top: 60mm; }
section.contents, section.solutions + section.solutions { break-before: page; }
.solutions .answer { display: flow-root; }
.solutions .answer b { float: left; margin-right: 0.4em; }
.solutions .solution { break-inside: auto; }
.contents ol { list-style: none; padding: 0; margin: 0; }
.contents a { display: flex; gap: 3mm; }
.contents a span:first-child { flex: 1; }
.contents p { margin: 5mm 0 1mm; break-after: avoid; color: var(--soft); }
.contents .level-0 { font-weight: 600; margin-top: 1.5mm; break-after: avoid; }
.contents .level-1 { padding-left: 6mm; }
"""


@dataclass
class Piece:
    """Printed pages: of which page of the site, after how many others."""

    doc: str
    title: str
    path: Path
    before: int
    numerals: str
    words: dict  # of headings, since Chromium forgets where a line broke

    def __post_init__(self):
        self.reader = PdfReader(self.path)
        refs = [page.indirect_reference for page in self.reader.pages]
        self.page_of = {ref.idnum: k for k, ref in enumerate(refs)}

    def __len__(self):
        return len(self.page_of)

    def page_at(self, place):
        """Number of the page, in the piece, that a destination names."""
        return self.page_of[place.raw_get("/Page").idnum]

    def places(self):
        """(id, page of the piece, height on it) of all that links may name."""
        for name, place in self.reader.named_destinations.items():
            yield unquote(name[1:]), self.page_at(place), place["/Top"]

    def headings(self, level=0, items=None):
        """(level, text, page of the piece, height on it) of its headings."""
        for item in self.reader.outline if items is None else items:
            if isinstance(item, list):
                yield from self.headings(level + 1, item)
            else:
                text = heading(item["/Title"], self.words)
                yield level, text, self.page_at(item), item["/Top"]


def heading(title, words):
    """The words of a heading, as which the outline names it without spaces.

    Where a page ends before a heading, Chromium may give its end twice.
    """
    name = solid(title)
    for known in [name] if name in words else words:
        if name.startswith(known) and known.endswith(name[len(known) :]):
            return words[known]
    return title


def solid(text):
    """A text without its spaces."""
    return re.sub(r"\s", "", text)


def plan():
    """The cover, and the pages of the book below their parts."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    parts = [
        (part["caption"], [page["file"] for page in part["chapters"]])
        for part in toc["parts"]
    ]
    return toc["root"], parts


def targets(docs):
    """Which ids of each page are linked to, from anywhere in the book."""
    found = {doc: set() for doc in docs}
    for doc in docs:
        html = (SITE / f"{doc}.html").read_text(encoding="utf-8")
        for where, name in re.findall(r'href="([^"#:]*)#([^"]+)"', html):
            page = (SITE / doc).parent / where.removesuffix(".html")
            page = page.resolve().relative_to(SITE.resolve()).as_posix()
            found.get(page if where else doc, set()).add(unquote(name))
    return {doc: sorted(names) for doc, names in found.items()}


# ------------------------------------------------------------------- printing
class Press:
    """Chromium, which prints one page of the site after the other."""

    def __init__(self, browser, folder, docs):
        self.browser, self.folder = browser, Path(folder)
        self.targets, self.asides = targets(docs), {}

    def page(self, doc, before):
        """A page, without its solutions, which are put aside."""
        view = self.open(doc)
        title = view.title().removesuffix(f" — {TITLE}")
        if aside := view.evaluate(ASIDE, [apart(doc), title]):
            self.asides[doc] = aside
        return self.print(view, doc, title, before)

    def solutions(self, before):
        """What was put aside, of one page after the other."""
        bodies, styles = zip(*self.asides.values(), strict=True)
        docs = list(self.asides)
        ids = [*map(apart, docs), *(i for d in docs for i in self.targets[d])]
        view = self.open(docs[0], ids)
        html = "<h1>Solutions</h1>" + "".join(bodies)
        view.evaluate(FILL, [html, "\n".join(dict.fromkeys(styles))])
        return self.print(view, "solutions", "Solutions", before)

    def front(self, cover, listing):
        """The cover and a list of contents, numbered in Roman."""
        view = self.open(cover)
        view.evaluate(APPEND, listing)
        return self.print(view, cover, TITLE, 0, "lower-roman")

    def open(self, doc, ids=None):
        """A page of the site, typeset and prepared for paper."""
        view = self.browser.new_page()
        view.goto((SITE / f"{doc}.html").as_uri())
        if view.locator(".math").count():
            view.wait_for_selector("html[data-math=typeset]", timeout=120_000)
        view.evaluate(PREPARE, [doc, ids or self.targets[doc], PLACE])
        view.add_style_tag(content=ON_PAPER)
        return view

    def print(self, view, doc, title, before, numerals="decimal"):
        """What is open as a piece, its numbers after `before`."""
        style = {"head": title, "before": before, "numerals": numerals}
        view.add_style_tag(content=PAPER % style)
        view.emulate_media(media="print")
        path = self.folder / f"{doc.replace('/', '-')}.pdf"
        heads = view.locator("article :is(h1, h2)").all_text_contents()
        heads = [text.removesuffix("#").strip() for text in heads]
        words = {solid(text): text for text in heads}
        view.pdf(
            path=path,
            prefer_css_page_size=True,
            print_background=True,
            tagged=True,  # without it no headings are found
            outline=True,
        )
        view.close()
        return Piece(doc, title, path, before, STYLES[numerals], words)


def apart(doc):
    """The place of a page's solutions."""
    return f"solutions-{doc.replace('/', '-')}"


def contents(parts, pieces):
    """The list of contents in HTML: parts, chapters, sections, pages."""
    by_doc = {piece.doc: piece for piece in pieces}
    html = ['<section class="contents"><h1>Contents</h1><ol>']
    for caption, docs in [*parts, ("At the end", ["solutions"])]:
        html.append(f"<li><p>{escape(caption)}</p><ol>")
        for doc in docs:
            for level, text, page, _ in by_doc[doc].headings():
                if level < (2 if doc[5:7].isdigit() else 1):
                    html.append(
                        f'<li class="level-{level}"><a href="{PLACE}{doc}">'
                        f"<span>{escape(text)}</span> "
                        f"<span>{by_doc[doc].before + page + 1}</span></a></li>"
                    )
        html.append("</ol></li>")
    return "".join([*html, "</ol></section>"])


# -------------------------------------------------------------------- binding
def bind(parts, path, elsewhere=()):
    """Write (piece, its first page, the one after its last) as one PDF.

    A link goes to its place, or to the PDF of its page if that is `elsewhere`.
    """
    writer, places, numbers = PdfWriter(), {}, []
    for piece, start, stop in parts:
        shift = len(writer.pages) - start
        for page in piece.reader.pages[start:stop]:
            writer.add_page(page)
        places[piece.doc] = start + shift, None
        for name, page, top in piece.places():
            if start <= page < stop:
                doc = "" if piece.doc == "solutions" else piece.doc
                places[f"{doc}#{name}"] = page + shift, top
        numbers.append((start + shift, piece.numerals, piece.before + start))
        mark(writer, piece, start, stop, shift)
    join(writer, places, elsewhere)
    for k, (first, style, before) in enumerate(numbers):
        last = numbers[k + 1][0] if k + 1 < len(numbers) else len(writer.pages)
        writer.set_page_label(first, last - 1, style, start=before + 1)
    writer.add_metadata({"/Title": TITLE, "/Author": AUTHORS})
    writer.compress_identical_objects()
    writer.write(path)


def mark(writer, piece, start, stop, shift):
    """Bookmarks for its headings, to the second level."""
    above = {}
    for level, text, page, top in piece.headings():
        if start <= page < stop and level < DEPTH:
            above[level] = writer.add_outline_item(
                title=text,
                page_number=page + shift,
                parent=above.get(level - 1),
                fit=Fit.xyz(top=top),
                is_open=False,
            )


def join(writer, places, elsewhere):
    """Let every link within the book go where it should, or nowhere."""
    for page in writer.pages:
        kept = ArrayObject()
        for ref in page.get("/Annots", ()):
            action = ref.get_object().get("/A", {})
            uri = str(action.get("/URI", ""))
            if not uri.startswith(PLACE):
                kept.append(ref)
                continue
            where = unquote(uri.removeprefix(PLACE))
            doc, _, name = where.partition("#")
            found = places.get(where) or name and places.get(f"#{name}")
            if found := found or places.get(doc):
                kept.append(ref)
                del ref.get_object()["/A"]
                goal = writer.pages[found[0]].indirect_reference
                spot = [NameObject("/XYZ"), NullObject(), number(found[1])]
                ref.get_object()[NameObject("/Dest")] = ArrayObject(
                    [goal, *spot, NullObject()]
                )
            elif doc in elsewhere:
                kept.append(ref)
                file = f"{Path(doc).name}.pdf"
                action[NameObject("/URI")] = TextStringObject(file)
        page[NameObject("/Annots")] = kept


def number(value):
    """For a PDF; None is left as it is."""
    return NullObject() if value is None else FloatObject(value)


def cut(piece, solutions):
    """The parts of one page's PDF: its piece, and its share of solutions."""
    starts = sorted(
        (page, name)
        for name, page, _ in solutions.places()
        if name.startswith("solutions-")
    )
    ends = [page for page, _ in starts[1:]] + [len(solutions)]
    return [(piece, 0, len(piece))] + [
        (solutions, start, stop)
        for (start, name), stop in zip(starts, ends, strict=True)
        if name == apart(piece.doc)
    ]


def offer(doc):
    """A link to its PDF in the menu of a page of the built book."""
    page = SITE / f"{doc}.html"
    here = "../" * (doc.count("/") + 1)
    item = (
        f'<li><a href="{here}pdf/{Path(doc).name}.pdf" class="btn btn-sm '
        'dropdown-item"><span class="btn__text-container">.pdf</span></a></li>'
    )
    text, found = MENU.subn(
        rf"\g<0>{item}", page.read_text(encoding="utf-8"), count=1
    )
    if not found:
        raise ValueError(f"{page} has no menu of downloads")
    page.write_text(text, encoding="utf-8")


def main():
    """Print, bind, cut, and offer all of it."""
    from playwright.sync_api import sync_playwright

    from tools.browser import launch

    cover, parts = plan()

    docs = [doc for _, some in parts for doc in some]
    PDF.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launch(playwright)
        press, pieces, before = Press(browser, folder, [cover, *docs]), [], 0
        for doc in docs:
            pieces.append(press.page(doc, before))
            before += len(pieces[-1])
            print(f"{doc}: {len(pieces[-1])} pages", flush=True)
        pieces.append(solutions := press.solutions(before))
        front = press.front(cover, contents(parts, pieces))
        browser.close()
        everything = [(piece, 0, len(piece)) for piece in [front, *pieces]]
        bind(everything, PDF / "book.pdf")
        for piece in [front, *pieces[:-1]]:
            some = cut(piece, solutions)
            bind(some, PDF / f"{Path(piece.doc).name}.pdf", docs)
            offer(piece.doc)
    print(f"open {(PDF / 'book.pdf').as_uri()}")


if __name__ == "__main__":
    main()
