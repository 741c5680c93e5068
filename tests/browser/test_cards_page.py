"""The cards of notebooks in a browser: readable on light and dark pages, at two widths."""

import numpy as np
import pytest

import biasfree as bf
from browsing import faint, overflow


@pytest.fixture(scope="module")
def cards():
    six = bf.data.six_points()
    start = bf.networks.rank_one((1.0, 1.0, 0.0), width=4, scale=1e-3)
    run = bf.theory.reduced_flow(start, bf.data.odd_sine(n=20, d=3, seed=0), np.linspace(0, 50, 300))
    report = bf.diagnose(bf.networks.gaussian((2, 6, 1), scale=1.0, seed=0), six)
    return [one._repr_html_() for one in (run, six, report)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cards_are_readable(browser_page, tmp_path, cards, scheme):
    colors = "#ffffff; color: #111111" if scheme == "light" else "#111111; color: #eeeeee"
    body = "<hr>".join(cards)
    text = (
        f"<!doctype html><meta charset=utf-8><body style='font: 14px sans-serif; background: {colors}'>{body}"
    )
    (tmp_path / "cards.html").write_text(text)
    page = browser_page(1280, 800, color_scheme=scheme)
    page.goto((tmp_path / "cards.html").as_uri())
    every = "[...document.querySelectorAll('svg')]"
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert overflow(page) == 0
        assert faint(page) == []
        widths = page.evaluate(f"{every}.map(each => each.getBoundingClientRect().width)")
        assert widths == [180] * len(cards)
        assert all(page.evaluate(f"{every}.map(each => each.getBBox().height > 10)"))
