"""report.html in a browser: on a telephone and a desktop, in the dark, on paper, by keyboard."""

from dataclasses import replace

import pytest
import xarray

import biasfree as bf
from biasfree.tables import Table
from biasfree_papers.experiment import NEIGHBORS, silent
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction import make, write_report
from browsing import faint, heading_levels, levels_in_order, overflow, pictures, unfold
from stubs import stub

TELEPHONE, DESKTOP = (390, 844), (1280, 800)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report of two figures, with a claim of every verdict, a long word and a wide table."""
    out = tmp_path_factory.mktemp("out")
    wide = Table(
        "twenty columns", tuple(f"column {i}" for i in range(20)), (tuple(range(10**6, 10**6 + 20)),)
    )
    long = {"caption": "a caption with " + "a_very_long_word" * 9, "rebuilt": "all", "deviations": ("one",)}
    made = [stub(holds=False, **long), stub("other", section=NEIGHBORS)]
    with pytest.MonkeyPatch.context() as patch:
        for figure in made:
            stated = [*figure.claims(xarray.Dataset()), wide]
            patch.setitem(REGISTRY, figure.name, replace(figure, statements=lambda _, stated=stated: stated))
            make(REGISTRY[figure.name], figure.settle({"width": 7}), out, silent)
        write_report(out)
    return (out / "report.html").as_uri()


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory):
    """The page of a diagnosis."""
    path = tmp_path_factory.mktemp("diagnosis") / "report.html"
    data, network = bf.data.odd_sine(n=20, d=3, seed=0), bf.networks.gaussian((3, 5, 1), scale=1.0)
    bf.diagnose(network, data).save_html(path)
    return path.as_uri()


@pytest.mark.parametrize("made", ["report", "diagnosis"])
def test_it_fits_in_order_with_its_pictures_and_its_text_stands_out(browser_page, request, made):
    page = browser_page(*TELEPHONE)
    page.goto(request.getfixturevalue(made))
    assert overflow(page) == 0
    page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    assert overflow(page) == 0
    unfold(page)
    assert overflow(page) == 0
    page.set_viewport_size({"width": TELEPHONE[0], "height": TELEPHONE[1]})
    assert overflow(page) == 0
    assert levels_in_order(heading_levels(page))
    found = pictures(page)
    assert len(found) >= 3
    assert [picture for picture in found if not (picture["alt"] and picture["width"])] == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert faint(page) == [], scheme
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"


def test_wide_tables_scroll_in_boxes_of_their_own(browser_page, report):
    page = browser_page(*TELEPHONE)
    page.goto(report)
    unfold(page)
    box = page.get_by_role("group", name="twenty columns").first
    assert box.evaluate("each => each.scrollWidth - each.clientWidth") > 100
    box.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("each => each.scrollLeft > 0", arg=box.element_handle())


def test_the_keyboard_reaches_and_opens_what_is_folded(browser_page, report):
    page = browser_page(*DESKTOP)
    page.goto(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the main part"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"
    page.keyboard.press("Tab")
    first = page.locator("main summary").first
    assert first.evaluate("each => each === document.activeElement")
    assert first.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"
    before = first.evaluate("each => each.parentElement.open")
    page.keyboard.press("Enter")
    assert first.evaluate("each => each.parentElement.open") is not before


def test_a_screen_reader_finds_landmarks_and_headers(browser_page, report):
    page = browser_page(*DESKTOP)
    page.goto(report)
    unfold(page)
    for role, number in (("banner", 1), ("main", 1), ("navigation", 1)):
        assert page.get_by_role(role).count() == number
    assert page.get_by_role("region", name="fig3").count() == 1  # a section, by its title
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator(".wide:not([aria-label])").count() == 0
    assert page.locator("html[lang=en]").count() == 1


def test_a_picture_leads_to_its_section(browser_page, report):
    page = browser_page(*TELEPHONE)
    page.goto(report)
    page.get_by_alt_text("Picture of fig3").click()
    assert page.evaluate("location.hash") == "#fig3"
    assert page.locator("#fig3").evaluate("each => each.getBoundingClientRect().top") < TELEPHONE[1] / 2


def test_claims_are_printed_though_they_are_folded(browser_page, report):
    page = browser_page(*DESKTOP, color_scheme="dark")
    page.goto(report)
    inside = page.locator("#other .claims .claim .note").first
    assert inside.evaluate("each => each.checkVisibility({contentVisibilityAuto: true})") is False
    page.emulate_media(media="print")
    assert inside.evaluate("each => each.checkVisibility({contentVisibilityAuto: true})") is True
    assert inside.bounding_box()["height"] > 0
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(34, 34, 34)"  # dark ink on paper
