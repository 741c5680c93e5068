"""The formulas of the documents: the converter of the site understands each, Markdown changes none."""

import re
from pathlib import Path

import pytest

pytest.importorskip("sphinx")

from mathml import converted, prepared

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [*sorted((DOCS / "theory").glob("*.md")), DOCS / "notation.md", DOCS / "tutorial.md"]


def formulas(text):
    """The formulas of a page, outside code."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    blocks = re.findall(r"^\$\$(.+?)\$\$$", text, re.MULTILINE)
    rest = re.sub(r"^\$\$.+?\$\$$", "", text, flags=re.MULTILINE)
    assert rest.count("$") % 2 == 0, "a formula is not closed"
    return blocks + re.findall(r"\$([^$]+)\$", rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_formulas_are_understood(page):
    r"""Where Markdown is shown without the site, \, and \{ would be read as , and {, and * as emphasis."""
    for formula in formulas(page.read_text()):
        assert converted(formula).startswith("<math")
        assert not re.search(r"\\[^A-Za-z]|\*|\n", formula), f"Markdown changes {formula!r}"


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        (r"|x| + |y|^2", r"\left|x\right| + \left|y\right|^2"),
        (r"\lvert |a| - |b| \rvert", r"\left| \left|a\right| - \left|b\right| \right|"),
        (r"\left|x\right|", r"\left|x\right|"),
        (r"\dot{W}_1 + \hat r_2^2 + \bar\beta_1", r"\dot{W}{}_1 + \hat r{}_2^2 + \bar\beta{}_1"),
        (r"\dot{W} + x_1", r"\dot{W} + x_1"),
        (r"\langle xx^\top\rangle_q", r"\left\langle xx^\top\right\rangle_q"),
        (r"\left\langle x\right\rangle", r"\left\langle x\right\rangle"),
        (r"6\operatorname{artanh} x", r"6\,\operatorname{artanh}\,x"),
        (r"\frac{1}{s}\ln\frac{a}{b}", r"\frac{1}{s}\,\ln\,\frac{a}{b}"),
        (r"y = \sin 4z + |p|\sin\vartheta", r"y = \sin\,4z + \left|p\right|\sin\,\vartheta"),
        (r"e + \ln(1/c)", r"e + \ln(1/c)"),
        (r"(-x, -y), (0, -\delta)", r"(-x, {-y}), (0, {-\delta})"),
    ],
)
def test_bars_angles_and_accents(tex, expected):
    """Bars and angles become fences, in pairs; an index stands beside an accented letter, not under it."""
    assert prepared(tex) == expected
    assert "munderover" not in converted(tex)


def test_a_slash_has_no_spaces():
    assert '<mo stretchy="false" lspace="0" rspace="0">/</mo>' in converted("a/b")
