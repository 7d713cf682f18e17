"""The built book in Chromium: every page, light and dark, wide and narrow.

Run by `make a11y`, which builds the book first.  Pages are opened as files,
every request to another host is refused and remembered, and a missing browser
or a missing page is a failure, not a reason to skip.
"""

import re
import tomllib
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import numpy as np
import pytest

from prml4 import check, logistic
from tools import chapters as reader
from tools import check_html

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
CHAPTERS = sorted(p.stem for p in ROOT.glob("book/[0-9][0-9]_*.ipynb"))
PAGES = sorted(
    p.relative_to(ROOT).with_suffix("").as_posix()
    for kind in ("*.md", "*.ipynb")
    for p in (ROOT / "book").rglob(kind)
    if ".ipynb_checkpoints" not in p.parts
)
# only failures are described, which is five times faster, and no style sheet
# is fetched again, which would be a request of axe's own
AXE = {"resultTypes": ["violations"], "preload": False}
COLOURS = {"runOnly": ["color-contrast"]}  # takes longer than all other rules
STRUCTURE = {"rules": {"color-contrast": {"enabled": False}}}
# what depends on the theme is asked for each, the rest for each width
RULES = {1300: {"light": {}, "dark": COLOURS}, 390: {"light": STRUCTURE}}

OPEN_EVERYTHING = """() => {
  document.querySelectorAll('details').forEach(d => d.open = true);
  document.querySelectorAll('.toggle-hidden button.toggle-button')
    .forEach(b => b.click());
}"""
UNTYPESET = """() => [...document.querySelectorAll('.math')]
  .filter(m => !m.querySelector('mjx-math') || m.querySelector('mjx-merror'))
  .map(m => m.textContent)"""
TOO_WIDE = """() => {
  const inside = e => { for (; e; e = e.parentElement)
    if (getComputedStyle(e).overflowX != 'visible') return true; };
  return document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll('.bd-article *')]
      .filter(e => e.getBoundingClientRect().right > innerWidth + 1
                   && !inside(e.parentElement))
      .map(e => e.outerHTML.slice(0, 120)).concat('the page scrolls');
}"""


@pytest.fixture
def visit(opened):
    """Open a page of the book by its name, and what is asked of it."""

    def goto(page, width=1300, **options):
        path, mark, asked = page.partition("?")
        return opened(SITE / f"{path}.html", mark + asked, width, **options)

    return goto


def typeset(view):
    """Wait until all formulas are there, without a move of the reader's."""
    view.wait_for_selector("html[data-math=typeset]", timeout=60_000)
    view.evaluate("() => document.fonts.ready")


def unfold(view):
    """Open what is folded, and let every formula be typeset."""
    view.add_style_tag(
        content="* { transition: none !important; animation: none !important }"
    )
    view.evaluate(OPEN_EVERYTHING)
    if view.locator(".math").count():
        typeset(view)


# words of a picture that stand outside it or are too small to be read
CUT_PICTURES = """() => {
  const out = [];
  for (const word of document.querySelectorAll('.prml-panels text')) {
    const all = word.closest('.prml-panels').getBoundingClientRect();
    const box = word.getBoundingClientRect();
    const size = parseFloat(getComputedStyle(word).fontSize) *
      word.ownerSVGElement.getScreenCTM().a;
    if (!box.width) continue;  // it belongs to another frame
    if (box.left < all.left - 12 || box.right > all.right + 12 || size < 11.5)
      out.push(`${word.textContent}: ${size.toFixed(1)} px`);
  }
  return out;
}"""
# what is light behind or inside a picture, where it is not small
GLARING = """() => {
  const light = colour => {
    const [r, g, b, a = 1] = colour.match(/[\\d.]+/g) ?? [0, 0, 0];
    return a > 0.2 && Math.min(r, g, b) > 170;
  };
  const out = [];
  for (const all of document.querySelectorAll('.prml-panels')) {
    for (let e = all; e.matches('article *'); e = e.parentElement)
      if (light(getComputedStyle(e).backgroundColor)) out.push(e.className);
    for (const shape of all.querySelectorAll('path, rect')) {
      const [box, svg] = [shape, shape.ownerSVGElement].map(
        e => e.getBoundingClientRect()), look = getComputedStyle(shape);
      if (box.width * box.height > 0.2 * svg.width * svg.height &&
          look.fillOpacity * look.opacity > 0.5 && light(look.fill))
        out.push(shape.outerHTML.slice(0, 80));
    }
  }
  return out;
}"""


@pytest.mark.browser
@pytest.mark.parametrize("width", RULES)
@pytest.mark.parametrize("page", [*PAGES, "search", "genindex"])
def test_page_is_open_to_everybody(visit, page, width):
    """All is typeset, nothing sticks out or glares, axe finds no fault."""
    from axe_playwright_python.sync_playwright import Axe

    view = visit(page, width)
    unfold(view)
    assert view.evaluate(UNTYPESET) == []
    assert view.evaluate(TOO_WIDE) == []
    assert view.evaluate(CUT_PICTURES) == []
    for theme, rules in RULES[width].items():
        view.emulate_media(color_scheme=theme)
        view.wait_for_selector(f"html[data-theme={theme}]")
        assert theme == "light" or view.evaluate(GLARING) == []
        found = Axe().run(view, options=AXE | rules)
        faults = [
            (v["id"], v["nodes"][0]["html"])
            for v in found.response["violations"]
        ]
        assert faults == [], theme


@pytest.mark.browser
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_numbers_follow_the_file_name(visit, chapter):
    """Chapter, sections, equations, figures and exercises of 07_… are 7.…"""
    number = int(chapter[:2])
    view = visit(f"book/{chapter}")
    shown = view.locator(
        ".bd-article :is(.section-number, .eqno, .caption-number)"
    )
    numbers = re.findall(r"(\d+)(?:\.\d+)*", " ".join(shown.all_inner_texts()))
    assert len(numbers) > 10
    assert set(numbers) == {str(number)}


@pytest.mark.browser
def test_equations_of_the_identities_have_a_letter(visit):
    """(G.1), (G.2), ... on the page, and where a chapter cites them."""
    view = visit("book/back/identities")
    shown = view.locator(".bd-article .eqno").all_inner_texts()
    numbers = re.findall(r"\((\w+\.\d+)\)", " ".join(shown))
    assert len(shown) > 10
    assert numbers == [f"G.{k}" for k in range(1, len(shown) + 1)]


WEIGHT = 1_500_000  # bytes beside the page and its pictures
PICTURES = {".png", ".jpg", ".svg"}
SHIFTS = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => list.getEntries().forEach(
    shift => sum += shift.value)
  ).observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done(sum), 500);
})"""
PAPER = 612  # pixels between the margins
BESIDE_PAPER = """wide => [...document.querySelectorAll(
  '.bd-article :is(table, svg, img, div.math, mjx-math, pre)')].filter(
    e => e.checkVisibility() && e.getBoundingClientRect().right > wide + 4)
  .map(e => e.outerHTML.slice(0, 200))"""
CUT = """() => {
  const out = [], wide = '.bd-article :is(div.math > mjx-container, ' +
    'div.cell_input pre, .cell_output pre, .cell_output .text_html)';
  for (const box of document.querySelectorAll(wide)) {
    const hidden = box.scrollWidth - box.clientWidth;
    if (!box.checkVisibility() || hidden <= 4) continue;
    const number = box.parentElement.querySelector(':scope > .eqno');
    out.push(`${hidden} px: ` + (number?.textContent ||
      box.textContent.trim()).slice(0, 60));
  }
  return out;
}"""


@pytest.mark.browser
@pytest.mark.parametrize(
    "page", ["book/07_logistic", "book/16_gaussian_process", "book/intro"]
)
def test_pages_are_light_and_nothing_moves(visit, page):
    """At most 1.5 MB beside the page; what is drawn stays where it is."""
    view, seen = visit(page), set()
    view.on("request", lambda request: seen.add(request.url))
    view.reload()
    if view.locator(".math").count():
        typeset(view)
    files = {Path(unquote(urlsplit(u).path)) for u in seen if u[:5] == "file:"}
    loaded = {f for f in files if f.suffix not in {".html", *PICTURES}}
    assert sum(f.stat().st_size for f in loaded) < WEIGHT
    assert view.evaluate(SHIFTS) < 0.05


@pytest.mark.browser
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_nothing_is_cut(visit, chapter):
    """Displays, outputs and code are whole in the wide window, and on paper."""
    view = visit(f"book/{chapter}")
    view.locator(".mode [value=audit]").evaluate("button => button.click()")
    unfold(view)
    assert view.evaluate(CUT) == []
    view.set_viewport_size({"width": PAPER, "height": 900})
    view.emulate_media(media="print")
    assert view.evaluate(BESIDE_PAPER, PAPER) == []


# displays that run off though no piece of them is as wide as their column
UNBROKEN = """() => [...document.querySelectorAll(
  '.bd-article div.math > mjx-container')].filter(box => box.checkVisibility()
    && box.scrollWidth - box.clientWidth > 4
    && ![...box.querySelectorAll('.whole')].some(
      piece => piece.offsetWidth > 0.8 * box.clientWidth))
  .map(box => box.parentElement.id + ': ' + box.clientWidth + ' px of ' +
    box.scrollWidth)"""


# left sides beside a later line of what they equal, not the first
SUNK = """() => [...document.querySelectorAll('.bd-article .whole + .parts')]
  .filter(right => {
    const [a, b] = [right.previousElementSibling, right.querySelector('.whole')]
      .map(e => e.getBoundingClientRect());
    return a.height && a.right < b.left + 2 && a.top > b.bottom;
  }).map(e => e.closest('div.math').id)"""


@pytest.mark.browser
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_displays_go_on_below_on_a_phone(visit, chapter):
    """What has several parts is broken; what scrolls can be reached."""
    view = visit(f"book/{chapter}", 390)
    typeset(view)
    view.locator(".bd-article .parts").first.wait_for()
    assert view.evaluate(UNBROKEN) == []
    assert view.evaluate(SUNK) == []
    view.wait_for_function(
        """() => [...document.querySelectorAll(
      '.bd-article div.math > mjx-container')].every(box =>
        box.scrollWidth - box.clientWidth <= 4 ||
        box.tabIndex == 0 && box.classList.contains('cut'))"""
    )


@pytest.mark.browser
@pytest.mark.parametrize("page", ["book/07_logistic", "search", "book/intro"])
def test_search_ranks_sections(visit, page):
    """A title before running text, with an excerpt; arrows reach the hits."""
    view = visit(page)
    if page != "search":
        view.keyboard.press("Control+k")
    box = view.locator("form.bd-search:visible input")
    box.fill("separable data")
    hits = view.locator(".search-results:visible li a")
    hits.first.wait_for()
    assert "Separable data" in hits.first.inner_text()
    assert "#" in hits.first.get_attribute("href")
    assert hits.locator("mark").count() > 5
    box.press("ArrowDown")
    view.keyboard.press("Enter")
    view.wait_for_url("**#separable-data*")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("7.4", "07_logistic.html#equation-"),
        ("(G.2)", "identities.html#equation-"),
        ("loglikelihood", "html"),
        ("occam factor", "14_evidence.html#"),
    ],
)
def test_search_jumps(visit, query, place):
    """To a number, a word written differently, a section of that name."""
    view = visit(f"search?q={quote(query)}")
    hit = view.locator(".search-results li a").first
    hit.wait_for()
    assert place in hit.get_attribute("href")
    view.locator(".bd-search-container input").press("Enter")
    view.wait_for_url(f"**/*{place}*")


@pytest.mark.browser
def test_search_says_when_there_is_nothing(visit):
    view = visit("search?q=xyzzyx")
    view.get_by_role("status").get_by_text("no places").wait_for()


@pytest.mark.browser
def test_equations_and_terms_have_previews(visit):
    """Under the pointer and under the keyboard; Escape puts them away."""
    view = visit("book/07_logistic")
    typeset(view)
    link = view.locator(".bd-article p a[href*='#equation-']").first
    link.hover()
    shown = view.get_by_role("tooltip")
    shown.locator("mjx-math").wait_for()
    assert link.inner_text() in shown.inner_text()
    assert link.get_attribute("aria-describedby") == "preview"
    view.keyboard.press("Escape")
    assert shown.count() == 0
    view.mouse.move(0, 0)
    view.keyboard.press("Tab")
    term = view.locator(".bd-article a.term").first
    term.focus()
    shown.wait_for()
    assert term.inner_text().lower() in shown.inner_text().lower()
    inside = shown.bounding_box()
    assert 0 <= inside["x"] <= inside["x"] + inside["width"] <= 1300


@pytest.mark.browser
def test_a_tap_shows_and_a_second_one_follows(visit):
    view = visit("book/07_logistic", 390, has_touch=True, is_mobile=True)
    typeset(view)
    link = view.locator(".bd-article p a[href*='#equation-']").first
    link.tap()
    box = view.get_by_role("tooltip")
    box.locator("mjx-math").wait_for()
    assert "#equation" not in view.url
    place = box.bounding_box()
    assert place["x"] >= 0 and place["x"] + place["width"] <= 390
    link.tap()
    view.wait_for_url("**#equation-*")


# the sections that can be said to be read: those with a part in the window
AROUND = """() => [...document.querySelectorAll('.bd-article section')].filter(
  e => e.getBoundingClientRect().top < innerHeight
    && e.getBoundingClientRect().bottom > 0).map(e => e.id)"""


@pytest.mark.browser
@pytest.mark.parametrize("share", [0.3, 0.6, 0.97])
def test_contents_follow_the_reader(visit, share):
    """The section that is read is marked, in sight; the line has its length."""
    view = visit("book/07_logistic")
    typeset(view)
    view.evaluate(
        """share => scrollTo({behavior: 'instant',
      top: share * (document.body.scrollHeight - innerHeight)})""",
        share,
    )
    mark = view.locator("#pst-page-toc-nav a.active").last
    view.wait_for_timeout(500)
    box = mark.bounding_box()
    assert 0 < box["y"] < 900
    assert mark.get_attribute("href")[1:] in view.evaluate(AROUND)
    grown = view.evaluate("""() => new DOMMatrix(
      getComputedStyle(document.body, '::before').transform).a""")
    assert abs(grown - share) < 0.05


@pytest.mark.browser
def test_index_of_equations_folds_and_filters(visit):
    """Closed at first; a word opens what holds it and hides the rest."""
    view = visit("book/back/equations")
    folds = view.locator("details.sd-dropdown")
    assert folds.count() >= 20
    assert view.locator("details.sd-dropdown dt:visible").count() == 0
    view.get_by_role("searchbox", name="Filter").fill("logistic-symmetry")
    left = view.locator("details.sd-dropdown dt:visible").all_inner_texts()
    assert left and "logistic-symmetry" in left[0]
    assert f"{len(left)} found" in view.locator(".filtered").inner_text()
    view.get_by_role("searchbox", name="Filter").fill("")
    assert view.locator("details.sd-dropdown:visible").count() == folds.count()


@pytest.mark.browser
def test_the_index_leads_to_sections(visit):
    """From any page to the index, and on to a section by its number."""
    view = visit("book/07_logistic")
    view.locator(".book-footer").get_by_role("link", name="index").click()
    view.wait_for_url("**/genindex.html")
    row = view.locator("td li", has_text="odds ratio").first
    links = row.get_by_role("link", name=re.compile(r"^\d+\.\d+$"))
    assert links.count() > 0
    number = links.first.inner_text()
    links.first.click()
    section = view.locator(":target > :is(h2, h3) .section-number")
    assert section.inner_text().startswith(number)


POISON = """{"renderer": "SVG", "explorer": true, "collapsible": true,
"texHints": false, "assistiveMml": false}"""
FACES = """[...document.fonts].filter(
  f => /MJXTEX/.test(f.family) && f.status == 'loaded').length"""
SPOKEN = """() => [...document.querySelectorAll('mjx-assistive-mml math')]
  .filter(formula => formula.children.length).length"""


@pytest.mark.browser
@pytest.mark.parametrize("store", ["{}", POISON])
def test_formulas_ignore_what_a_menu_has_stored(visit, store):
    """No setting of another document blanks them; they have no menu at all."""
    view = visit("book/07_logistic")
    view.evaluate("text => localStorage['MathJax-Menu-Settings'] = text", store)
    view.reload()
    typeset(view)
    assert view.evaluate(UNTYPESET) == []
    assert view.evaluate("localStorage['MathJax-Menu-Settings']") is None
    view.locator("div.math mjx-container").first.click(button="right")
    assert view.locator(".CtxtMenu_Menu").count() == 0


@pytest.mark.browser
def test_formulas_are_there_before_anybody_scrolls(visit):
    """Typeset and spoken, with their typefaces, and nowhere a tab stop."""
    view = visit("book/18_ep")
    typeset(view)
    assert view.evaluate("scrollY") == 0
    assert view.evaluate(UNTYPESET) == []
    count = view.locator(".math").count()
    assert view.evaluate(SPOKEN) == count > 200
    assert view.evaluate(FACES) >= 5
    stops = view.locator(":is(mjx-container, span.math)[tabindex]:not(.cut)")
    assert stops.count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", ["book/07_logistic", "book/intro", "search"])
def test_the_keyboard_is_seen(visit, page, theme):
    """Whatever has the focus has an outline that differs from its ground."""
    view = visit(page, color_scheme=theme)
    if view.locator(".math").count():
        typeset(view)
    controls = view.locator(FOCUSABLE).element_handles()
    view.keyboard.press("Tab")  # from here on the focus is shown
    seen = 0
    for control in controls:
        control.focus()
        if control.is_visible():  # contents fold where the reader is not
            outline = control.evaluate(OUTLINE)
            assert outline["width"] >= 2, control.evaluate("e => e.outerHTML")
            seen += 1
    assert seen > 0.8 * len(controls) > 5


FOCUSABLE = (
    ':is(a[href], button, input, select, summary, [tabindex="0"])'
    ":not(.bd-article p a, .bd-toc-item a, .bd-links a, [disabled]):visible"
)
OUTLINE = """e => {
  if (e.matches('svg g'))  // a point has a ring of its own
    return {width: parseFloat(getComputedStyle(
      e.querySelector('.ring')).strokeWidth)};
  const look = getComputedStyle(
    e.matches('.mode input') ? e.nextElementSibling : e);
  return {width: look.outlineStyle == 'none' ? 0 :
    parseFloat(look.outlineWidth)};
}"""


@pytest.mark.browser
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_check_is_a_seal(visit, chapter):
    """One mark at the number of each checked display, and no line is left."""
    book = reader.Chapter(ROOT / f"book/{chapter}.ipynb")
    checked = {c.label for c in book.checks if c.counts}
    view = visit(f"book/{chapter}")
    places = view.locator(".sealed:has(> .seal) > div.math").all()
    ids = [place.get_attribute("id") for place in places]
    assert sorted(ids) == sorted(f"equation-{label}" for label in checked)
    loose = view.locator(".cell_output :is(.check, .slip):visible")
    shown = [c for c in book.code if "shown" in c.tags]
    assert loose.count() <= len(shown)
    places = view.evaluate(BESIDE)
    assert len(places) == len(checked)
    for box, number in places:
        assert number["x"] < box["x"] < number["x"] + number["width"] + 30
        assert number["y"] - 8 < box["y"] < number["y"] + number["height"]


# measured at once, for the page may still move
BESIDE = """[...document.querySelectorAll('.sealed .mark')].map(mark =>
    [mark, mark.closest('.sealed').querySelector('span.eqno')].map(
        node => node.getBoundingClientRect().toJSON()))"""


@pytest.mark.browser
@pytest.mark.parametrize("script", [True, False])
def test_seal_opens_by_keyboard(visit, script):
    """Enter shows what was compared and the code, with or without scripts."""
    view = visit("book/07_logistic", java_script_enabled=script)
    box = view.locator(".sealed:has(#equation-logistic-symmetry)")
    panel = box.locator(".panel")
    assert not panel.is_visible()
    mark = box.locator("summary")
    assert mark.inner_text().split() == ["✓", "checked"]
    mark.press("Enter")
    assert panel.is_visible()
    assert "as printed, 4 members · prml4 ·" in panel.inner_text()
    assert 'check.printed(\n    "logistic-symmetry"' in panel.inner_text()
    mark.press("Enter")
    assert not panel.is_visible()


@pytest.mark.browser
def test_mark_says_what_was_compared_before_it_is_opened(visit):
    """Under the pointer, and where the keyboard is."""
    view = visit("book/07_logistic")
    mark = view.locator(".sealed summary").first
    tip = "e => getComputedStyle(e, '::after').content"
    assert mark.evaluate(tip) == "none"
    mark.hover()
    assert "as printed, 3 members" in mark.evaluate(tip)
    view.mouse.move(0, 0)
    view.keyboard.press("Tab")
    mark.focus()
    assert "as printed, 3 members" in mark.evaluate(tip)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1300, 390])
def test_audit_opens_everything_and_is_remembered(visit, width):
    """The switch is a pair of radio buttons; the next page obeys it too."""
    view = visit("book/18_ep", width)
    panels, cells = view.locator(".panel"), view.locator(".audit")
    assert panels.count() > 20 and cells.count() > 5
    assert view.locator(":is(.panel, .audit):visible").count() == 0
    view.get_by_role("radio", name="Read").press("ArrowRight")
    folded = ":is(.panel, .audit):not(:visible)"
    assert view.locator(folded).count() == 0
    view.goto((SITE / "book/07_logistic.html").as_uri())
    assert view.get_by_role("radio", name="Audit").is_checked()
    assert view.locator(folded).count() == 0
    view.get_by_role("radio", name="Audit").press("ArrowLeft")
    assert view.locator(":is(.panel, .audit):visible").count() == 0


@pytest.mark.browser
def test_switch_keeps_the_place(visit):
    """What the reader looks at does not move when seals open above it."""
    view = visit("book/07_logistic")
    here = view.locator("#three-kinds-of-data")
    typeset(view)
    here.evaluate("e => e.scrollIntoView({behavior: 'instant'})")
    before = here.bounding_box()["y"]
    view.locator(".mode [value=audit]").evaluate("button => button.click()")
    assert view.locator(".panel:visible").count() > 20
    assert abs(here.bounding_box()["y"] - before) < 3


@pytest.mark.browser
def test_paper_shows_the_mark_alone(visit):
    """Whatever is open: no panel, no cell of the audit, no switch."""
    view = visit("book/07_logistic")
    view.get_by_role("radio", name="Audit").check(force=True)
    view.emulate_media(media="print")
    assert view.locator(":is(.panel, .audit, .mode):visible").count() == 0
    assert view.locator(".sealed .mark:visible").count() > 20


@pytest.mark.browser
def test_an_exercise_says_nothing_of_its_empty_function(visit):
    """Only those who run the notebook have attempted anything."""
    view = visit("book/07_logistic")
    said = view.locator(".tag_exercise .attempt")
    assert said.count() == 1 and not said.is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_code_can_be_copied(visit, chapter):
    """The button puts the first cell, as it stands, on the clipboard."""
    view = visit(f"book/{chapter}")
    cell = view.locator("div.cell_input:visible").first
    cell.hover()
    cell.locator("button.copybtn").click()
    view.evaluate("document.body.append(document.createElement('textarea'))")
    paper = view.locator("body > textarea")
    paper.focus()
    view.keyboard.press("Control+V")
    code = cell.locator("pre").inner_text()
    assert paper.input_value().strip() == code.strip() != ""


@pytest.mark.browser
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_slider_answers_to_the_keyboard(visit, chapter):
    """Each arrow key shows another frame, value and text; it has a number."""
    view = visit(f"book/{chapter}")
    box = view.locator(".prml-slider").first
    handle = box.locator("input[type=range]")
    picture = box.locator("[role=img]")
    handle.focus()
    view.keyboard.press("Home")
    seen = set()
    for _ in range(3):
        said = picture.get_attribute("aria-label")
        seen.add((box.locator("output").inner_text(), said))
        view.keyboard.press("ArrowRight")
    assert len(seen) == 3
    caption = box.locator("xpath=ancestor::figure/figcaption")
    assert f"Figure {int(chapter[:2])}." in caption.inner_text()


@pytest.mark.browser
@pytest.mark.parametrize(("width", "stacked"), [(1300, False), (390, True)])
def test_panels_of_a_slider_stack_on_a_phone(visit, width, stacked):
    """Beside each other where there is room; both follow the handle."""
    view = visit("book/18_ep", width)
    typeset(view)
    box = view.locator(".prml-slider:has(svg + svg)").first
    first, second = (box.locator("svg").nth(k).bounding_box() for k in (0, 1))
    assert (second["y"] >= first["y"] + first["height"]) is stacked
    assert (second["x"] >= first["x"] + first["width"] - 1) is not stacked
    box.locator("input[type=range]").press("Home")
    for k in (0, 1):
        frames = box.locator("svg").nth(k).locator("[data-f]:visible")
        shown = frames.evaluate_all("all => all.map(g => g.dataset.f)")
        assert set(shown) == {"0"}


@pytest.mark.browser
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_notebook_can_be_downloaded(visit, chapter):
    """The button at the top of a page hands out the notebook itself."""
    view = visit(f"book/{chapter}")
    link = view.locator("a.btn-download-source-button").get_attribute("href")
    file = (SITE / "book" / link).resolve()
    assert file.read_bytes() == (ROOT / f"book/{chapter}.ipynb").read_bytes()


@pytest.mark.parametrize(
    ("before", "torn"),
    [
        ("integrates to", True),
        ("which must give <em>x</em>", True),
        ("Two things:", False),
        ("It is so.", False),
    ],
)
def test_a_list_does_not_start_inside_a_sentence(tmp_path, before, torn):
    """A line of Markdown that begins with "1." makes a list of its rest."""
    page = tmp_path / "page.html"
    page.write_text(f"<p>{before}</p>\n<ol><li>What is missing</li></ol>")
    assert bool(check_html.Page(page).faults) is torn


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("<td>2e-02</td>", True),
        ("<p>off by 1.5e+03 there</p>", True),
        ("<svg><text>1e-15</text></svg>", True),
        ('<g role="img" aria-label="from 1e-9 to 1000"></g>', True),
        ('<g role="img" aria-label="from 10⁻⁹ to 1000"></g>', False),
        ("<p>2 × 10⁻², <code>1e-8</code>, 2e, b8a1e5</p>", False),
        ('<span class="math">\\(1e-8\\)</span>', False),
    ],
)
def test_a_number_is_not_written_as_in_code(tmp_path, text, wrong):
    """In what readers see, a power of ten is one."""
    page = tmp_path / "page.html"
    page.write_text(text)
    assert bool(check_html.Page(page).faults) is wrong


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_readme_lists_the_chapter(chapter):
    """The map of the README has a row for every chapter there is."""
    row = f"| {int(chapter[:2])} | [`book/{chapter}.ipynb`]"
    assert row in (ROOT / "README.md").read_text(encoding="utf-8")


def python_of(name):
    """The Python example of one of the documents at the root."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.search("```python\n(.*?)```", text, re.DOTALL)[1]


def test_readme_example_runs(capsys):
    """What the README shows works, and converges."""
    exec(python_of("README.md"), {})
    assert "True" in capsys.readouterr().out


def test_contributing_example_finds_the_sign(rng):
    """The cell of CONTRIBUTING raises, and says what it says there."""
    N = 8
    Phi, w = rng.normal(size=(N, 3)), rng.normal(size=3)
    t = (rng.random(N) < 0.5).astype(float)
    given = {"N": N, "Phi": Phi, "w": w, "t": t, "check": check}
    given |= {"logistic": logistic, "y": logistic.predict_proba(w, Phi)[:, 1]}
    with pytest.raises(check.ClaimFails, match="sign"):
        exec(python_of("CONTRIBUTING.md"), given)


@pytest.mark.parametrize("name", ["CITATION.cff", "CHANGELOG.md"])
def test_version_is_the_same_everywhere(name):
    """pyproject.toml decides."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = tomllib.loads(text)["project"]["version"]
    words = (ROOT / name).read_text(encoding="utf-8").split()
    assert version in words


ROWS = [[1, -1], [1, 0.5], [1, 2], [1, 3]]  # those of the cover, and targets
SEEN = [0, 1, 0, 1]


@pytest.mark.browser
def test_the_cover_computes_what_the_library_does(visit, rng):
    """At a hundred points; the sum, the product, and differences."""
    view = visit("book/intro")
    for w in rng.normal(scale=3, size=(100, 2)):
        asked = "w => window.bookReferee(w, [1, 1, 1]).values"
        for value in view.evaluate(asked, w.tolist()):
            right = logistic.gradient(w, np.array(ROWS), np.array(SEEN))
            assert value == pytest.approx(right, rel=1e-8, abs=1e-8)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1300, 390])
def test_a_sign_on_the_cover_breaks_the_seal(visit, width):
    """By keyboard, one party after the other; turned back, it is whole."""
    view = visit("book/intro", width)
    judged = view.locator(".referee .judgement")
    first = " ".join(judged.inner_text().split())
    assert (
        first
        == "✓ the referee: all three agree within the error of the method."
    )
    off = {"page": "7", "library": "7", "measurement": "430,000"}
    for party, (name, gap) in enumerate(off.items()):
        button = view.locator(".referee .party button").nth(party)
        button.press("Enter")
        assert judged.inner_text().startswith("✗ the referee")
        assert f"the {name} is off by {gap}." in judged.inner_text()
        button.press("Enter")
        assert judged.inner_text().startswith("✓ the referee: all three agree,")
