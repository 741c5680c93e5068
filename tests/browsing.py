"""Checks of a page in a browser: its width, headings, names, pictures, contrast, errors and requests."""

from __future__ import annotations

import os
import re
import shutil
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: Commands that start Chromium, by system.
_NAMES = ("chromium", "chromium-browser", "google-chrome")

#: Addresses that a page may use: its own files, data in it, and a server on this machine.
_OWN = re.compile(r"(file|data|blob|about):|https?://(127\.0\.0\.1|localhost|\[::1\])[:/]")
#: The least contrast of text to its background, by WCAG 2.2, level AA, for text of normal size.
LEAST_CONTRAST = 4.5


def chromium() -> str | None:
    """The path of the browser, if there is one."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


def require_browser() -> None:
    """Skip the test if there is no browser, or no Playwright to drive it.

    With BIASFREE_REQUIRE_BROWSER=1 in the environment the test fails instead.
    """
    if chromium() is None:
        missing = "no Chromium: `make browser` installs it, as root"
    elif find_spec("playwright") is None:
        missing = "no Playwright: `make install` installs it"
    else:
        return
    if os.environ.get("BIASFREE_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{missing}; BIASFREE_REQUIRE_BROWSER=1 requires it", pytrace=False)
    pytest.skip(missing)


def watched(page: Page) -> list[str]:
    """A list that collects a page's console errors, uncaught errors, failed and outside requests."""
    problems: list[str] = []

    def hear(message: Any) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"console {message.type}: {message.text}")

    def ask(request: Any) -> None:
        if not _OWN.match(request.url):
            problems.append(f"outside request: {request.url}")

    page.on("console", hear)
    page.on("pageerror", lambda error: problems.append(f"uncaught: {error}"))
    page.on("request", ask)
    page.on("requestfailed", lambda request: problems.append(f"failed request: {request.url}"))
    return problems


def unfold(page: Page) -> None:
    """Open all that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def heading_levels(page: Page) -> list[int]:
    """The levels of all headings, in their order."""
    return page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(each => +each.tagName[1])")


def levels_in_order(levels: list[int]) -> bool:
    """Whether there is one heading of level 1, the first, and none is more than one level below the last."""
    return levels[:1] == [1] and levels.count(1) == 1 and all(b <= a + 1 for a, b in pairwise(levels))


def unnamed(page: Page) -> list[str]:
    """Links, buttons, fields and frames that have no name for those who do not see them."""
    return page.evaluate(
        """() => [...document.querySelectorAll("a[href],button,input,select,textarea,iframe,summary")]
            .filter(each => each.type != "hidden" && !(
                each.ariaLabel || each.title || each.labels?.length || each.getAttribute("aria-labelledby")
                || each.textContent.trim() || each.querySelector("img[alt]:not([alt=''])")))
            .map(each => each.outerHTML.slice(0, 120))"""
    )


def introduction(page: Page) -> dict[str, str]:
    """What a page tells the browser: its language, its title, and the width that it is made for."""
    return page.evaluate(
        """() => ({language: document.documentElement.lang, title: document.title,
            viewport: document.querySelector("meta[name=viewport]")?.content ?? ""})"""
    )


def pictures(page: Page) -> list[dict[str, Any]]:
    """Address, description and loaded width of every picture, those further down loaded, too."""
    return page.evaluate(
        """() => Promise.all([...document.images].map(async each => {
            each.loading = "eager";
            await each.decode().catch(() => {});
            return {src: each.getAttribute("src"), alt: each.alt.trim(), width: each.naturalWidth};
        }))"""
    )


def faint(page: Page) -> list[str]:
    """Visible texts whose contrast to the color behind them is below `LEAST_CONTRAST`, with the contrast."""
    return page.evaluate(_FAINT, LEAST_CONTRAST)


#: A color is drawn on a canvas of one pixel, so that any way to write it becomes red, green, blue, alpha.
_FAINT = """least => {
    const pen = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
    const seen = new Map();
    const rgba = color => {
        if (!seen.has(color)) {
            pen.clearRect(0, 0, 1, 1); pen.fillStyle = color; pen.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
            seen.set(color, [r, g, b, a / 255]);
        }
        return seen.get(color);
    };
    const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
    const light = rgb => {
        const linear = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = rgb.map(c => linear(c / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = element => {
        if (!element) return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
        const own = rgba(getComputedStyle(element).backgroundColor);
        return own[3] == 1 ? own.slice(0, 3) : over(own, behind(element.parentElement));
    };
    const found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode.textContent.trim(), element = texts.currentNode.parentElement;
        if (!text || !element.checkVisibility({visibilityProperty: true})) continue;
        const back = behind(element), front = over(rgba(getComputedStyle(element).color), back);
        const [low, high] = [light(front), light(back)].sort((a, b) => a - b);
        const contrast = (high + 0.05) / (low + 0.05);
        if (contrast < least) found.push(`${contrast.toFixed(2)}: ${text.slice(0, 60)}`);
    }
    return found;
}"""
