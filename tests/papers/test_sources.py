"""The files that a figure's numbers and pictures depend on, and the fingerprints of these."""

import ast
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import biasfree_papers
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction import fingerprint
from stubs import stub

SOURCES = {
    "demo_figures/__init__.py": "",
    "demo_figures/fig3/__init__.py": "",
    "demo_figures/fig3/fig3.md": "",
    "demo_figures/fig3/compute.py": "",
    "demo_figures/fig3/claims.py": "",
    "demo_figures/fig3/table.csv": "1",
    "demo_figures/fig4/__init__.py": "",
    "demo_figures/fig4/fig4.md": "",
    "demo_figures/fig4/compute.py": "",
    "demo_figures/commands/_show.py": "",
    "demo_figures/plots/_draw.py": "",
    "demo_figures/theory/_solved.py": "",
    "demo_figures/theory/table.csv": "1",
    "demo_figures/shared.py": "",
}


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A package of figures of our own making, whose sources can be changed."""
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    import demo_figures.fig3.claims  # type: ignore[import-not-found]
    import demo_figures.fig3.compute  # type: ignore[import-not-found]  # noqa: F401

    yield tmp_path / "demo_figures"
    for name in [name for name in sys.modules if name.partition(".")[0] == "demo_figures"]:
        del sys.modules[name]


def demo():
    modules = frozenset({"demo_figures.fig3.compute", "demo_figures.fig3.claims"})
    return replace(stub(run=lambda *_: {"x": np.ones(2)}), modules=modules)


def prints():
    fingerprint._shared.cache_clear()
    settings = {"width": 3}
    both = fingerprint.numbers_fingerprint(demo(), settings), fingerprint.figure_fingerprint(demo(), settings)
    return (*both, fingerprint.sources_fingerprint(demo()))


@pytest.mark.parametrize(
    ("source", "numbers_change", "figure_changes"),
    [
        ("fig3/compute.py", True, True),
        ("fig3/table.csv", True, True),
        ("fig3/claims.py", False, True),
        ("fig4/compute.py", False, False),
        ("shared.py", True, True),
        ("theory/_solved.py", True, True),
        ("theory/table.csv", True, True),
        ("plots/_draw.py", False, True),
        ("commands/_show.py", False, False),
    ],
)
def test_what_changes_with_a_source(package, source, numbers_change, figure_changes):
    """Numbers depend on what computes them, claims and pictures also on what draws."""
    before = prints()
    assert prints() == before
    (package / source).write_text((package / source).read_text() + "\nchanged = 1")
    after = prints()
    assert tuple(one != other for one, other in zip(before, after, strict=True)) == (
        numbers_change,
        figure_changes,
        figure_changes,
    )


def test_names_of_files_settings_and_versions_count(package, monkeypatch):
    before = prints()
    (package / "shared.py").rename(package / "renamed.py")
    renamed = prints()
    assert not {*before} & {*renamed}
    installed = {"numpy": "0", "torch": "1"}
    monkeypatch.setattr(fingerprint, "versions", lambda: installed)
    other = prints()
    assert other[:2] != renamed[:2]
    assert other[2] == renamed[2]
    installed["torch"] = "2"
    assert prints() == other
    assert fingerprint.numbers_fingerprint(demo(), {"width": 4}) != other[0]


@pytest.mark.parametrize("name", REGISTRY)
def test_a_figure_uses_nothing_of_another_and_nothing_that_does_not_count(name):
    """Its imports, by their names: a change there would not be noticed."""
    package = Path(biasfree_papers.__file__).parent
    forbidden = {f"biasfree_papers.{other}" for other in REGISTRY if other != name}
    forbidden |= {"biasfree.cli", "biasfree.lab", "biasfree_papers.commands"}
    for path in [*(package / name).rglob("*.py"), *(package / "shared").rglob("*.py")]:
        text = path.read_text()
        assert not [word for word in ("bf.lab.", "bf.diagnose(", "diagnostics.advice") if word in text], path
        for node in ast.walk(ast.parse(text)):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            assert ".".join(module.split(".")[:2]) not in forbidden, path
