"""Latency of the laboratory: from the pointer to the redrawn loss, in Chromium, while a point is dragged.

Six points, 100 neurons, 60 moves of the sixth point. The latency of a move ends when a loss is drawn that
belongs to this position of the point or to a later one. Other work on the machine adds to it.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from benchmarks.rows import Goal, Row

MEDIAN, WORST = "lab: pointer to redrawn loss, median", "lab: pointer to redrawn loss, worst"
GOALS = {MEDIAN: Goal("≤", 0.1, "s"), WORST: Goal("≤", 0.3, "s")}
MOVES, PAUSE = 60, 30  # milliseconds between two moves
_FLAGS = ("--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking")

#: Collects, in the page, the milliseconds from each pointer event to a loss of its state or of a later one.
#: A state without a pointer event since the last one, as when the pointer rests, does not count.
_WATCH = """() => {
    const plane = document.querySelector("#plane > svg"), loss = document.querySelector("#loss > svg");
    const open = [], found = window.latencies = [];
    let moved = 0, draws = 0;
    window.draws = () => draws;
    document.addEventListener("pointermove", event => { if (event.buttons) moved = event.timeStamp; }, true);
    new MutationObserver(() => {
        if (moved) open.push([+plane.dataset.proposed, moved]);
        moved = 0;
    }).observe(plane, {attributes: true, attributeFilter: ["data-proposed"]});
    new MutationObserver(() => {
        draws += 1;
        while (open.length && open[0][0] <= +loss.dataset.answered) {
            found.push(performance.now() - open.shift()[1]);
        }
    }).observe(loss, {attributes: true, attributeFilter: ["data-answered"]});
}"""


def rows() -> Iterator[Row]:
    """The median and the worst latency of one drag."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None or find_spec("playwright") is None:
        for name, goal in GOALS.items():
            yield Row(name, goal=goal, note="not measured: no Chromium, or no Playwright; see `make browser`")
        return
    seconds, draws = latencies(browser)
    note = f"{len(seconds)} moves, {draws} redrawn losses; load {os.getloadavg()[0]:.1f}"
    for name, value in ((MEDIAN, statistics.median(seconds)), (WORST, max(seconds))):
        yield Row(name, ours=value, ratio=value, goal=GOALS[name], note=note)


def latencies(browser: str) -> tuple[list[float], int]:
    """The seconds of every move of a drag, and the number of losses that were drawn."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-c", "from biasfree.cli import main; main()", "lab", "--no-browser"]
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"http://\S+", server.stdout.readline())
            assert address is not None
            with sync_playwright() as driver:
                opened = driver.chromium.launch(executable_path=browser, args=[*_FLAGS, *root])
                page = opened.new_page(viewport={"width": 1280, "height": 720})
                page.goto(address[0])
                page.wait_for_selector("#status.exact", timeout=120_000)
                found = _drag(page)
                opened.close()
        finally:
            server.terminate()
    return found


def _drag(page: Any) -> tuple[list[float], int]:
    page.evaluate(_WATCH)
    box = page.locator("[data-sample='5'] .grip").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for i in range(MOVES):
        page.mouse.move(x - i / 2, y + 0.7 * i)
        page.wait_for_timeout(PAUSE)
    page.mouse.up()
    page.wait_for_selector("#status.exact", timeout=60_000)
    found = page.evaluate("[window.latencies, window.draws()]")
    return [each / 1000 for each in found[0]], found[1]
