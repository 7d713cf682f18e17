"""How high each chapter is in Read, in screens of 1300 x 900.

    python tools/heights.py

Run by `make heights`, after `make book`. Next to the height stands what the
audit adds, and the longest stretch without a picture.
"""

import sys
from pathlib import Path

SITE = Path(__file__).resolve().parents[1] / "_build" / "html"
WIDTH, HEIGHT = 1300, 900
MEASURE = """async () => {
  await document.fonts.ready;
  const article = document.querySelector('article.bd-article');
  const height = () => article.getBoundingClientRect().height;
  const read = height(), top = article.getBoundingClientRect().top;
  const tops = [...article.querySelectorAll('figure, .prml-slider')]
    .filter(e => e.checkVisibility())
    .map(e => e.getBoundingClientRect().top - top);
  tops.push(read);
  const gaps = tops.map((y, k) => y - (k ? tops[k - 1] : 0));
  document.querySelector('.mode [value=audit]').click();
  return [read, height(), Math.max(...gaps)];
}"""


def main():
    """Print the table and its sum."""
    from playwright.sync_api import sync_playwright

    from tools.browser import launch

    total = [0.0, 0.0]
    print("chapter                   read  audit  without a picture")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        view = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for path in sorted((SITE / "book").glob("[0-9]*.html")):
            view.goto(path.as_uri())
            view.evaluate("localStorage.clear()")
            view.reload()
            view.wait_for_selector("html[data-math=typeset]", timeout=60_000)
            read, audit, gap = (y / HEIGHT for y in view.evaluate(MEASURE))
            total = [total[0] + read, total[1] + audit]
            print(f"{path.stem:24} {read:5.1f}  {audit:5.1f}  {gap:5.1f}")
        browser.close()
    print(f"{'all':24} {total[0]:5.0f}  {total[1]:5.0f}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
