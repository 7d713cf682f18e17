"""The built book in Chromium: every page, light and dark, wide and narrow.

Run by `make a11y`, which builds the book first.  Pages are opened as files,
every request to another host is refused and remembered, and a missing browser
or a missing page is a failure, not a reason to skip.
"""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from prml4 import check, logistic

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
CHAPTERS = sorted(p.stem for p in ROOT.glob("book/[0-9][0-9]_*.ipynb"))
PAGES = sorted(
    p.relative_to(ROOT).with_suffix("").as_posix()
    for kind in ("*.md", "*.ipynb")
    for p in (ROOT / "book").rglob(kind)
    if ".ipynb_checkpoints" not in p.parts
)
QUIET = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
--disable-background-networking --disable-component-update
--disable-sync""".split()

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
SCROLL_THROUGH = """async () => {
  await MathJax.startup.promise;
  for (let y = 0; y < document.body.scrollHeight; y += innerHeight / 2) {
    scrollTo({top: y, behavior: 'instant'});
    await new Promise(done => setTimeout(done, 40));
  }
  for (let i = 0; i < 100 && document.querySelector('mjx-lazy'); i++) {
    document.querySelector('mjx-lazy').scrollIntoView();
    await new Promise(done => setTimeout(done, 40));
  }
  scrollTo({top: 0, behavior: 'instant'});
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


@pytest.fixture(scope="module")
def chromium():
    """Debian's Chromium, or whichever there is."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        pytest.fail("no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Open a page of the book; at the end nothing may have gone wrong."""
    contexts, trouble = [], []

    def refuse(route):
        trouble.append(f"request to {route.request.url}")
        route.abort()

    def goto(page, width=1300):
        path, _, rest = page.partition("?")
        file = SITE / f"{path}.html"
        if not file.exists():
            pytest.fail(f"{file} is missing: make book")
        context = chromium.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        context.route(re.compile("^(?!file:|data:|blob:)"), refuse)
        view = context.new_page()
        view.on("pageerror", lambda error: trouble.append(str(error)))
        view.on(
            "console",
            lambda m: trouble.append(m.text) if m.type == "error" else None,
        )
        view.goto(file.as_uri() + (f"?{rest}" if rest else ""))
        return view

    yield goto
    for context in contexts:
        context.close()
    assert not trouble, "\n".join(trouble)


def unfold(view):
    """Open what is folded, and let every formula be typeset."""
    view.add_style_tag(content="* { transition: none !important }")
    view.evaluate(OPEN_EVERYTHING)
    if view.locator(".math").count():
        view.evaluate(SCROLL_THROUGH)


@pytest.mark.browser
@pytest.mark.parametrize("width", RULES)
@pytest.mark.parametrize("page", [*PAGES, "search", "genindex"])
def test_page_is_open_to_everybody(visit, page, width):
    """Every formula is typeset, nothing sticks out, axe finds no fault."""
    from axe_playwright_python.sync_playwright import Axe

    view = visit(page, width)
    unfold(view)
    assert view.evaluate(UNTYPESET) == []
    assert view.evaluate(TOO_WIDE) == []
    for theme, rules in RULES[width].items():
        view.emulate_media(color_scheme=theme)
        view.wait_for_selector(f"html[data-theme={theme}]")
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


@pytest.mark.browser
def test_search_finds_a_word(visit):
    """The index is a script beside the page, so it works from a file."""
    view = visit("search?q=gradient")
    hits = view.locator("#search-results li a")
    hits.first.wait_for(timeout=10_000)
    assert any("07_logistic" in a.get_attribute("href") for a in hits.all())


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
    """Each arrow key shows another frame, another value, another text."""
    view = visit(f"book/{chapter}")
    box = view.locator(".prml-slider").first
    handle = box.locator("input[type=range]")
    picture = box.locator("svg")
    handle.focus()
    view.keyboard.press("Home")
    seen = set()
    for _ in range(3):
        said = picture.get_attribute("aria-label")
        seen.add((box.locator("output").inner_text(), said))
        view.keyboard.press("ArrowRight")
    assert len(seen) == 3


@pytest.mark.browser
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_notebook_can_be_downloaded(visit, chapter):
    """The button at the top of a page hands out the notebook itself."""
    view = visit(f"book/{chapter}")
    link = view.locator("a.btn-download-source-button").get_attribute("href")
    file = (SITE / "book" / link).resolve()
    assert file.read_bytes() == (ROOT / f"book/{chapter}.ipynb").read_bytes()


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
    given |= {"logistic": logistic, "y": logistic.predict_proba(Phi, w)}
    with pytest.raises(check.ClaimFails, match="sign"):
        exec(python_of("CONTRIBUTING.md"), given)


@pytest.mark.parametrize("name", ["CITATION.cff", "CHANGELOG.md"])
def test_version_is_the_same_everywhere(name):
    """pyproject.toml decides."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = tomllib.loads(text)["project"]["version"]
    words = (ROOT / name).read_text(encoding="utf-8").split()
    assert version in words
