"""Fixtures for what is looked at in a browser."""

import pytest

from tools.browser import launch, visits


@pytest.fixture(scope="module")
def chromium():
    """One browser for all tests of a module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield (browser := launch(playwright))
        browser.close()


@pytest.fixture
def opened(chromium):
    """Open a file of the book; at the end nothing may have gone wrong."""
    with visits(chromium) as goto:
        yield goto
