"""The laboratory in a browser: every control, by pointer and by keyboard, and what it saves."""

import re
import signal
import time
from urllib.parse import parse_qsl, urlparse

import numpy as np
import pytest

import biasfree as bf
from browsing import faint, heading_levels, levels_in_order, overflow
from lab_command import lab_command

DESKTOP, TABLET, LARGE = (1280, 720), (1024, 768), (1920, 1080)
#: Seconds that a page may take for anything.
PATIENCE = 30
FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
#: A run of some hundredths of a second.
SMALL = "v1&preset=six_points&width=12&horizon=60.0&scale=0.05"


@pytest.fixture(scope="module")
def server():
    """The command, with the address that it printed."""
    with lab_command() as run:
        assert run.stdout is not None
        found = re.search(r"http://\S+", run.stdout.readline())
        assert found is not None
        yield run, found[0]
        run.send_signal(signal.SIGINT)  # nothing to a process that has ended
        assert run.wait(20) == 130


@pytest.fixture
def opened(browser_page, server):
    """Opens the laboratory with an experiment, and waits for its exact run."""

    def open_page(size=DESKTOP, fragment=SMALL, **options):
        page = browser_page(*size, **options)
        page.goto(f"{server[1]}#{fragment}")
        exact(page)
        return page

    return open_page


def until(page, expression, arg=None):
    """Wait until an expression is true; Playwright's own way needs eval, which the page's policy forbids."""
    began = time.monotonic()
    while not page.evaluate(expression, arg):
        assert time.monotonic() - began < PATIENCE, f"never true: {expression}"
        page.wait_for_timeout(20)


def exact(page):
    """Wait until the exact run of the present state is shown, with all that belongs to it."""
    page.evaluate(FRAMES)  # what the user has just done is shown in the next frame
    until(
        page,
        "document.querySelector('#status.exact') && document.querySelector('#plane svg').dataset.proposed <= "
        "document.querySelector('#loss svg').dataset.answered",
    )


def curve(page):
    return page.locator(".curves .dots").get_attribute("d")


def settings(page):
    """What the address says of the present state."""
    return dict(parse_qsl(urlparse(page.url).fragment.partition("&")[2]))


def drag(page, sample, right, down, *, release=True):
    box = page.locator(f"[data-sample='{sample}'] .grip").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right / 2, y + down / 2)
    page.mouse.move(x + right, y + down)
    if release:
        page.mouse.up()


def test_a_drag_changes_the_curve_first_by_a_preview_then_exactly_and_hints_are_dismissed_by_doing(opened):
    page = opened()
    before = curve(page)
    assert "token" not in page.url
    shown = page.locator(".hint:not(.done)")
    texts = ["1Drag a point", "2Press play, or drag in time", "3Change a setting"]
    assert sorted(shown.all_inner_texts()) == texts
    drag(page, 5, -30, 40, release=False)
    page.wait_for_selector(".curves .preview")
    assert page.locator("#status").inner_text().startswith("preview: descent with step")
    page.mouse.up()
    exact(page)
    assert page.locator("#status").inner_text().startswith("exact flow, error")
    assert curve(page) != before
    assert page.locator(".curves .earlier").count() == 1
    assert settings(page)["preset"] == "own"
    assert shown.count() == 2
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").click()
    until(page, "document.querySelectorAll('.hint:not(.done)').length == 1")
    page.get_by_role("checkbox", name="mirror").check()
    assert shown.count() == 0
    exact(page)
    page.reload()
    exact(page)
    assert page.locator(".hint").count() == 0


def test_every_setting_reaches_the_address(opened):
    page = opened()
    for name, value in {
        "delta": 0.2,
        "leak": 0.1,
        "width": 10,
        "scale": 0.1,
        "seed": 3,
        "horizon": 30,
    }.items():
        page.locator(f"#field-{name}").fill(str(value))
        page.locator(f"#field-{name}").press("Enter")
        until(page, f"location.hash.includes('{name}={value}')")
    for name, choice in {
        "method": "descent",
        "loss": "logistic",
        "depth": "3",
        "initial": "balanced",
    }.items():
        page.locator(f"#field-{name}").select_option(choice)
        until(page, f"location.hash.includes('{name}={choice}')")
    page.locator("#field-step").fill("0.05")
    page.locator("#field-step").press("Enter")
    for name in ("mirror", "twin"):
        page.locator(f"#field-{name}").check()
        until(page, f"location.hash.includes('{name}=1')")
    exact(page)
    page.wait_for_selector(".curves .line.twin", state="attached")
    assert settings(page)["step"] == "0.05"
    assert page.locator(".ghost").count() == 6
    slider = page.get_by_role("slider", name="leak α")
    slider.focus()
    page.keyboard.press("ArrowRight")
    until(page, "!location.hash.includes('leak=0.1&')")
    page.locator("#preset").select_option("orthogonal_pair")
    until(page, "location.hash == '#v1&preset=orthogonal_pair'")
    page.wait_for_selector(".line.theory0")
    exact(page)


def test_samples_are_edited_by_keyboard_wheel_and_double_click(opened):
    page = opened()
    first = page.locator("[data-sample='0']")
    first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("-")
    until(page, "location.hash.includes('samples=1.05,1.01,0.9;')")
    assert first.get_attribute("aria-label").startswith("Sample 1 at (1.05, 1.01), target 0.9.")
    first.hover()
    assert page.locator("#tip").inner_text().startswith("sample 1: x = (1.05, 1.01), y = 0.9")
    page.mouse.wheel(0, -100)
    until(page, "location.hash.includes('samples=1.05,1.01,1.0;')")
    first.click()
    page.get_by_role("button", name="Raise its target").click()
    until(page, "location.hash.includes('samples=1.05,1.01,1.1;')")
    page.locator("#plane > svg").dblclick(position={"x": 30, "y": 60})
    page.wait_for_selector("[data-sample='6']")
    page.locator("#add").click()
    page.wait_for_selector("[data-sample='7']")
    page.locator("[data-sample='7']").press("Delete")
    page.wait_for_selector("[data-sample='7']", state="detached")
    exact(page)
    assert len(settings(page)["samples"].split(";")) == 7


def test_the_copied_script_and_the_file_have_the_numbers_on_the_page(opened, tmp_path):
    page = opened(permissions=["clipboard-read", "clipboard-write"], fragment=f"{SMALL}&leak=0.05")
    drag(page, 5, -11, 17)
    exact(page)
    page.locator("#python").click()
    until(page, "document.querySelector('#python').textContent == 'copied'")
    made: dict = {}
    exec(page.evaluate("navigator.clipboard.readText()"), made)
    with page.expect_download() as download:
        page.locator("#npz").click()
    download.value.save_as(tmp_path / "run.npz")
    saved = bf.Trajectory.load(tmp_path / "run.npz")
    assert np.abs(saved.loss - made["run"].loss).max() <= 1e-12
    shown = page.locator("#loss-note").inner_text()
    assert f"L = {float(f'{saved.loss[-1]:.4g}')}" in shown.replace("−", "-")
    with page.expect_download() as download:
        page.locator("#png").click()
    download.value.save_as(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_a_link_restores_the_experiment_in_another_tab(opened, browser_page, server):
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    drag(page, 2, 13, 8)
    exact(page)
    page.locator("#link").click()
    until(page, "document.querySelector('#link').textContent == 'copied'")
    link = page.evaluate("navigator.clipboard.readText()")
    shown, other = (curve(page), settings(page)), page.context.new_page()
    page.close()  # its process waits for the next page: another would take seconds to start
    other.goto(link)
    exact(other)
    assert (curve(other), settings(other)) == shown
    other.reload()  # in the middle of what follows
    other.locator("#preset").select_option("orthogonal_pair")
    exact(other)
    other.close()
    foreign = browser_page(*DESKTOP)
    assert foreign.request.get(link).status == 403  # a link carries no token
    headers = {"Origin": "http://evil.example"}
    assert foreign.request.get(server[1], headers=headers).status == 403


def test_time_moves_by_slider_keys_play_and_the_curve(opened):
    page = opened(fragment=SMALL.replace("width=12", "width=12&depth=3"))
    end = page.locator("#loss-note").inner_text()
    slider = page.get_by_role("slider", name="Time of the run")
    slider.focus()
    page.keyboard.press("Home")
    until(page, "document.querySelector('#loss-note').textContent.startsWith('t = 0 ')")
    page.get_by_role("button", name="Play").press("Enter")
    until(page, "!document.querySelector('#loss-note').textContent.startsWith('t = 0 ')")
    page.get_by_role("button", name="Pause").press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    until(page, "text => document.querySelector('#loss-note').textContent == text", end)
    box = page.locator("#loss > svg").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 50)
    until(page, "text => document.querySelector('#loss-note').textContent != text", end)
    assert "loss:" in page.locator("#tip").inner_text()
    page.get_by_role("button", name="log t").click()
    page.get_by_role("button", name="log L").click()
    page.wait_for_selector("#loss-axes [aria-pressed='true'] >> text=log L")
    assert page.locator("#weights canvas").is_visible()  # W₂ of three layers
    for name in ("angle", "odd part", "even part"):
        page.get_by_title(name, exact=True).click()
    page.wait_for_selector("#function .curve", state="attached")
    assert page.locator("#function canvas").is_hidden()


def test_own_data_are_pasted_and_bad_values_noted(opened):
    page = opened(fragment="v1&preset=six_points&leak=7&width=8&horizon=20")
    assert "Leak α must lie in [0, 1], got '7'; 0 is used." in page.locator("#words").inner_text()
    page.locator("#data").click()
    page.locator("#csv").fill("x1,x2,y\n1,0,1\n0,1,-1\n")
    page.locator("#use").click()
    page.wait_for_selector("[data-sample='2']", state="detached")
    exact(page)
    assert settings(page)["samples"] == "1.0,0.0,1.0;0.0,1.0,-1.0"


def test_the_saved_page_replays_offline(opened, browser_page, tmp_path):
    page = opened()
    with page.expect_download() as download:
        page.locator("#page").click()
    path = tmp_path / "run.html"
    download.value.save_as(path)
    saved = browser_page(*DESKTOP)
    saved.context.set_offline(True)
    saved.goto(path.as_uri())
    saved.wait_for_selector(".curves .dots")
    assert saved.locator("#words").inner_text() != ""
    before = saved.locator(".ray.plus").get_attribute("d")
    saved.get_by_role("slider", name="Time of the run").focus()
    saved.keyboard.press("Home")
    until(saved, "document.querySelector('#loss-note').textContent.startsWith('t = 0 ')")
    assert saved.locator(".ray.plus").get_attribute("d") != before
    saved.get_by_role("button", name="Play").click()
    until(saved, "!document.querySelector('#loss-note').textContent.startsWith('t = 0 ')")
    assert saved.locator("input:not([type=range]), select").count() == 0


def test_it_fits_and_can_be_read_at_every_size_in_light_and_dark_and_a_remedy_is_a_button(opened):
    page = opened()
    for size in (DESKTOP, TABLET, LARGE):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        assert overflow(page) == 0
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        hidden = "each => each.clientWidth < 60 || each.clientHeight < 60"
        assert page.locator(".stage").evaluate_all(f"all => all.filter({hidden}).map(each => each.id)") == []
    assert levels_in_order(heading_levels(page))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert faint(page) == [], scheme
    unnamed = "all => all.filter(e => !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).length"
    assert page.locator("button, input, select, textarea").evaluate_all(unnamed) == 0
    page.get_by_role("button", name="Move point 6 back").click()
    until(page, "location.hash.includes('delta=0.0')")
    exact(page)
    page.wait_for_selector("text=The data are symmetric")


def test_a_lost_server_is_told(browser, server):
    context = browser.new_context()
    page = context.new_page()  # not watched: a lost connection is an error on the console
    page.goto(f"{server[1]}#{SMALL}")
    exact(page)
    server[0].send_signal(signal.SIGINT)  # the last test of this file
    page.get_by_text("the connection is lost; start biasfree lab again").wait_for()
    context.close()
