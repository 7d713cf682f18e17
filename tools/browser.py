"""Chromium as the pages are opened in it, by tests and tools."""

import shutil

QUIET = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
--disable-background-networking --disable-component-update
--disable-sync""".split()
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def launch(playwright):
    """Debian's Chromium, or whichever there is."""
    if not (found := next(filter(None, map(shutil.which, NAMES)), None)):
        raise FileNotFoundError("no Chromium: apt-get install chromium")
    return playwright.chromium.launch(executable_path=found, args=QUIET)
