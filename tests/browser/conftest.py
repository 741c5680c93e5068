"""A browser for tests of pages: Debian's Chromium, driven by Playwright; without it these tests are skipped.

BIASFREE_REQUIRE_BROWSER=1 makes them fail instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from browsing import chromium, require_browser, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: No network of the browser's own; in containers /dev/shm is often too small.
_QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
)


def pytest_runtest_setup(item: pytest.Function) -> None:
    """Skip here, not in the fixture, so that all that are skipped share one line of pytest's summary."""
    if "browser" in item.fixturenames:
        require_browser()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for one file of tests: its event loop must not run while tests of other files do."""
    from playwright.sync_api import sync_playwright

    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=[*_QUIET, *root])
        yield browser
        browser.close()


@pytest.fixture
def browser_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages: `browser_page(width, height, color_scheme="dark")`.

    The test fails if one of them has errors on its console or asks for anything outside this machine.
    """
    contexts, problems = [], []

    def opened(width: int, height: int, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        problems.append(watched(page))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [problem for found in problems for problem in found] == []
