"""Prose of pages that report runs: a script writes what was measured, sentences name settings."""

import re
from pathlib import Path

import pytest

from biasfree_papers import experiment
from biasfree_papers.registry import REGISTRY
from prose import CODE, WRITTEN, numbers, typed, values

DOCS = Path(__file__).parents[1] / "docs"
NEIGHBORS = [one.name for one in REGISTRY.values() if one.section != experiment.PAPER]


def parts(page: str) -> dict[str, str]:
    """The sections of a page, each with the row of the first table that links to it."""
    text = WRITTEN.sub("", page)
    first, *others = re.split(r"^## ", text, flags=re.MULTILINE)
    found = {}
    for section in others:
        heading, _, body = section.partition("\n")
        name = re.search(r"`(\w+)`", heading)
        found[name[1] if name else heading] = body
    found[""] = re.sub(r"^\| \[(\w+)\].*\n", "", first, flags=re.MULTILINE)
    for row in re.finditer(r"^\| \[(\w+)\]\(.*?\)(.*)\n", first, re.MULTILINE):
        found[row[1]] += row[2]
    return found


def typed_in(name: str, text: str) -> list[str]:
    """The numbers of a section that neither the settings of its figure nor its code has."""
    code = "".join(found[0] for found in CODE.finditer(text))
    known = {*values(REGISTRY[name].settle())} if name in REGISTRY else set()
    return typed(CODE.sub("", text), known | numbers(code))


def test_the_prose_on_neighboring_papers_types_no_measured_number():
    """Outside what `make results` writes, a number is a setting of the figure or in the section's code."""
    found = parts((DOCS / "neighbors.md").read_text())
    assert set(NEIGHBORS) <= set(found)
    assert {name: wrong for name, text in found.items() if (wrong := typed_in(name, text))} == {}


def test_the_prose_of_the_gallery_types_no_measured_number():
    """Outside what `make gallery` writes, a number is one of the script that makes the data."""
    text = WRITTEN.sub("", (DOCS / "gallery.md").read_text())
    assert typed(CODE.sub("", text), numbers((DOCS / "gallery_data.py").read_text())) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "in 42 of 44 runs",
        "is 0.9995",
        "ends at 3e-11",
        "is 6 % off",
        "t = 10¹⁷",
        "all 896 runs",
        "7.8",
        "1.3.",
    ],
)
def test_a_measured_number_is_seen(wrong):
    settings = {"scale": 1e-12, "widths": [2, 40], "ratios": (0.16, {"horizon": 1e16})}
    assert typed(f"Town et al. 2026 and Eq. 40: {wrong}", values(settings))


def test_settings_citations_and_formulas_are_no_measured_numbers():
    settings = {"scale": 1e-12, "widths": [2, 40], "ratios": (0.16, {"horizon": 1e16})}
    cited, named = "Lai et al. 2026, Ma & Li 2023a (Eq. 40, Thm. 12)", "40, 10⁻¹², 1e-12, 10¹⁶, 0.16"
    assert typed(f"{cited}: {named}, (3/4)^m, W₁²", values(settings)) == []
    assert numbers("range(10_000); 1e-6; x1") == {10_000, 1e-6}
