"""The checks of pages find what they look for, on pages that are wrong on purpose."""

import pytest

from browsing import (
    faint,
    heading_levels,
    introduction,
    levels_in_order,
    overflow,
    pictures,
    require_browser,
    unnamed,
    watched,
)


@pytest.fixture
def page(browser):
    """A page whose problems are expected."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    yield context.new_page()
    context.close()


def test_errors_and_outside_requests_are_collected(page, tmp_path):
    problems = watched(page)
    (tmp_path / "page.html").write_text(
        "<script>console.error('alas'); console.log('hello'); nothing()</script><img src='missing.png'>"
        "<img src='https://example.invalid/x.png'>"
    )
    page.goto((tmp_path / "page.html").as_uri())
    text = "\n".join(problems)
    for part in ("console error: alas", "uncaught: nothing is not defined", "failed request: file:"):
        assert part in text
    assert "outside request: https://example.invalid/x.png" in problems
    assert "hello" not in text


def test_faint_text_is_found(page):
    expected = {
        "color: #767676": [],  # 4.54 on white
        "color: #777": ["4.48: text"],
        "color: rgb(0 0 0 / 50%)": ["4.00: text"],  # 127/255 is 0.212 of white's light: 1.05/0.262
        "color: #777; background: black": [],
        "color: #777; visibility: hidden": [],
        "color: oklch(0.9 0 0)": ["1.35: text"],  # 0.9³ of white's light: 1.05/0.779
    }
    found = {}
    for style in expected:
        page.set_content(f"<div style='background: white'><p style='{style}'>text</p></div>")
        found[style] = faint(page)
    assert found == expected


def test_wide_pages_missing_pictures_and_headings_out_of_order_are_found(page):
    page.set_content("<h1>a</h1><h3>b</h3><pre style='width: 500px'>c</pre><img src='data:,'>")
    assert overflow(page) > 100
    assert heading_levels(page) == [1, 3]
    assert pictures(page) == [{"src": "data:,", "alt": "", "width": 0}]


def test_fields_without_a_name_are_found(page):
    page.set_content(
        "<button>a</button><button></button><input aria-label='b'><label>c<input></label><input id='d'>"
        "<a href='#'><img src='data:,' alt='e'></a><a href='#f'></a><input type='hidden'>"
    )
    assert unnamed(page) == ["<button></button>", '<input id="d">', '<a href="#f"></a>']


def test_a_page_introduces_itself(page):
    assert introduction(page) == {"language": "", "title": "", "viewport": ""}
    page.set_content("<html lang='en'><title>a</title><meta name='viewport' content='width=device-width'>")
    assert introduction(page) == {"language": "en", "title": "a", "viewport": "width=device-width"}


def test_levels_in_order():
    assert levels_in_order([1, 2, 3, 3, 2])
    for wrong in ([], [2], [1, 3], [1, 2, 1]):
        assert not levels_in_order(wrong)


def test_without_a_browser_tests_are_skipped_unless_it_is_required(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BIASFREE_REQUIRE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no Chromium: `make browser` installs it"):
        require_browser()
    monkeypatch.setenv("BIASFREE_REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="BIASFREE_REQUIRE_BROWSER=1 requires it"):
        require_browser()
    (tmp_path / "chromium").touch(0o755)
    monkeypatch.setattr("browsing.find_spec", lambda _: None)
    with pytest.raises(pytest.fail.Exception, match="no Playwright: `make install` installs it"):
        require_browser()
