"""Look at the built book as a browser without network would.

    python tools/check_html.py _build/html

Every source in book/ must have become a page and no page more; every link
inside the book must lead to a file and an id; nothing may be fetched from
another host; every picture must have a text; no page may show markup that
was meant to be rendered, no list may start inside a sentence, and no number may
be written as in code, 2e-02.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# made by Sphinx itself
EXTRA = {"index", "genindex", "search", "prf-prf"}
# a <link> of these kinds makes the browser fetch something
FETCHED_LINKS = {
    "dns-prefetch",
    "icon",
    "manifest",
    "modulepreload",
    "preconnect",
    "prefetch",
    "preload",
    "stylesheet",
}
FETCHED_TAGS = {
    "audio",
    "embed",
    "iframe",
    "img",
    "input",
    "object",
    "script",
    "source",
    "track",
    "video",
}
VOID = {"br", "col", "embed", "hr", "img", "input", "link", "meta", "source"}
BLOCKS = {"div", "dd", "li", "nav", "ol", "p", "section", "ul", "summary"}
VERBATIM = {"code", "pre", "script", "style", "textarea", "title", "desc"}
RAW = re.compile(
    r"\{[a-z:-]+\}`|:::|```|\$\$|\\(?:begin|frac|mathbf|sum|sigma)\b|"
    r"\(#?sec-[\w-]+\)=|\?\?\?"
)
EXPONENT = re.compile(r"(?<![\w.])\d+(?:\.\d+)?e[-+]?\d+\b")
# what may stand before a list; a Markdown line that begins with "1." or "+"
# makes one in the middle of a sentence
SENTENCE_END = re.compile(r"[.:;!?…)\]”’]\s*$")
SPOKEN = {"alt", "aria-label", "aria-valuetext", "data-tip", "title"}
NEVER = (("unrendered", RAW), ("a number as in code", EXPONENT))
OUTSIDE_CSS = re.compile(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)'\"\s;]+")


class Page(HTMLParser):
    """What one page contains, links to, fetches and shows."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.faults = set(), set(), []
        self.open = []
        self.paragraph = None  # the last one, while nothing else has followed
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Note ids, links and fetches; judge pictures and lists."""
        given = {key: value or "" for key, value in attributes}
        self.follow(tag, given)
        self.ids |= {given[k] for k in ("id", "name") if given.get(k)}
        self.links |= {given[k] for k in ("href", "src") if given.get(k)}
        kinds = set(given.get("rel", "").split())
        fetches = tag in FETCHED_TAGS or kinds & FETCHED_LINKS
        for key in ("href", "src", "data", "poster") if fetches else ():
            if urlsplit(given.get(key, "")).netloc:
                self.faults.append(f"fetches {given[key]}")
        if OUTSIDE_CSS.search(given.get("style", "")):
            self.faults.append(f"fetches in style: {given['style']}")
        for key in SPOKEN & given.keys():
            self.judge(given[key])
        if tag == "img" and not worded(given.get("alt"), given.get("src")):
            self.faults.append(f"no alt text: {given.get('src')}")
        if given.get("role") == "img" and not (
            given.keys() & {"aria-label", "aria-labelledby", "alt"}
        ):
            self.faults.append(f"<{tag} role=img> without a name")
        if tag not in VOID:
            classes = given.get("class", "").split()
            verbatim = tag in VERBATIM or "math" in classes
            self.open.append((tag, verbatim))

    def follow(self, tag, given):
        """A list after a paragraph needs the end of a sentence before it."""
        if tag in ("ol", "ul") and self.paragraph is not None:
            if not SENTENCE_END.search(self.paragraph):
                end = " ".join(self.paragraph.split())[-50:]
                self.faults.append(f"a list inside a sentence: {end}")
        if tag == "p" and "class" not in given:
            self.paragraph = ""
        elif tag in BLOCKS:
            self.paragraph = None

    def handle_endtag(self, tag):
        """Leave the innermost element of this name."""
        if tag in BLOCKS - {"p"}:
            self.paragraph = None
        for place in reversed(range(len(self.open))):
            if self.open[place][0] == tag:
                del self.open[place:]
                break

    def handle_data(self, data):
        """Judge text, and the style sheets that stand in the page."""
        if self.paragraph is not None:
            self.paragraph += data
        if self.open and self.open[-1][0] == "style":
            if found := OUTSIDE_CSS.search(data):
                self.faults.append(f"fetches {found[0]}")
        elif not any(verbatim for _, verbatim in self.open):
            self.judge(data)

    def judge(self, text):
        """No text, shown or spoken, is one for programs."""
        for fault, pattern in NEVER:
            if found := pattern.search(text):
                around = text[max(0, found.start() - 30) : found.end() + 30]
                self.faults.append(f"{fault}: {' '.join(around.split())}")


def worded(alt, source):
    """An alt text that says something; myst-nb falls back to the file name."""
    return bool(alt and alt.strip()) and alt not in (source, Path(source).name)


def dead_links(path, page, pages):
    """Links inside the book that lead nowhere."""
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = path
        if parts.path:
            target = (path.parent / unquote(parts.path)).resolve()
        if target.is_dir():
            target /= "index.html"
        if not target.exists():
            yield f"dead link {link}"
        elif target in pages and parts.fragment not in ("", "top"):
            if unquote(parts.fragment) not in pages[target].ids:
                yield f"no such place {link}"


def wrong_pages(root, pages, book):
    """Sources without a page, pages without a source."""
    sources = {
        path.relative_to(book.parent).with_suffix("").as_posix()
        for kind in ("*.md", "*.ipynb")
        for path in book.rglob(kind)
        if ".ipynb_checkpoints" not in path.parts
    }
    built = {p.relative_to(root).with_suffix("").as_posix() for p in pages}
    yield from (f"{name}: has no page" for name in sorted(sources - built))
    yield from (
        f"{name}: a page without a source"
        for name in sorted(built - sources - EXTRA)
    )


def main(root):
    """Print every fault; tell whether there was one."""
    root = Path(root).resolve()
    pages = {
        path: Page(path)
        for path in sorted(root.rglob("*.html"))
        if "_static" not in path.parts
    }
    faults = list(wrong_pages(root, pages, Path("book").resolve()))
    for path, page in pages.items():
        name = path.relative_to(root)
        found = [*page.faults, *dead_links(path, page, pages)]
        faults += [f"{name}: {fault}" for fault in sorted(set(found))]
    for path in sorted(root.rglob("*.css")):
        sheet = path.read_text(encoding="utf-8")
        faults += [
            f"{path.relative_to(root)}: fetches {found}"
            for found in OUTSIDE_CSS.findall(sheet)
        ]
    print("\n".join(faults), end="\n" if faults else "")
    links = sum(len(page.links) for page in pages.values())
    print(f"{len(pages)} pages, {links} links, {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
