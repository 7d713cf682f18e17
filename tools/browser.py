"""Chromium as the pages are opened in it, by tests and tools."""

import re
import shutil
from contextlib import contextmanager

QUIET = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
--disable-background-networking --disable-component-update
--disable-sync""".split()
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def launch(playwright):
    """Debian's Chromium, or whichever there is."""
    if not (found := next(filter(None, map(shutil.which, NAMES)), None)):
        raise FileNotFoundError("no Chromium: apt-get install chromium")
    return playwright.chromium.launch(executable_path=found, args=QUIET)


@contextmanager
def visits(browser):
    """Open files of the built book; at the end nothing may have gone wrong.

    Every request to another host is refused and remembered, and so is every
    error of a page's scripts.
    """
    contexts, trouble = [], []

    def refuse(route):
        trouble.append(f"request to {route.request.url}")
        route.abort()

    def goto(file, link="", width=1300, **options):
        if not file.exists():
            raise FileNotFoundError(f"{file} is missing: make book")
        options["viewport"] = {"width": width, "height": 900}
        contexts.append(browser.new_context(**options))
        contexts[-1].route(re.compile("^(?!file:|data:|blob:)"), refuse)
        view = contexts[-1].new_page()
        view.on("pageerror", lambda error: trouble.append(str(error)))
        view.on(
            "console",
            lambda m: trouble.append(m.text) if m.type == "error" else None,
        )
        view.goto(file.as_uri() + link)
        return view

    yield goto
    for context in contexts:
        context.close()
    if trouble:
        raise AssertionError("\n".join(trouble))
