"""The sources that a figure's numbers and pictures depend on, and the fingerprints of these."""

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction import fingerprint, sources
from biasfree_papers.reproduction.code import code
from stubs import stub

SOURCES = {
    "demo/__init__.py": "",
    "demo/fig3/__init__.py": "from demo.fig3.compute import run",
    "demo/fig3/compute.py": """
import biasfree as bf
from demo import shared
from demo.theory import solved
from demo.fig4.compute import unused as other
from demo.types import *


def run(settings, report):
    from demo.inside import late

    return shared.helper, bf.theory.reduced_flow
""",
    "demo/fig3/claims.py": "from demo.fig3.compute import run\ndef claims(numbers): pass\n",
    "demo/fig3/table.csv": "1",
    "demo/fig4/__init__.py": "",
    "demo/fig4/compute.py": "unused = 1",
    "demo/types.py": "",
    "demo/inside.py": "late = 1",
    "demo/shared.py": "helper = 1",
    "demo/theory/__init__.py": "from demo.theory._solved import solved\nfrom demo.theory._other import other",
    "demo/theory/_solved.py": "solved = open('table.csv')",
    "demo/theory/_other.py": "other = 1",
    "demo/theory/table.csv": "1",
    "demo/plots.py": "",
}


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A package of figures of our own making, whose sources can be changed."""
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sources, "_ours", lambda: {"biasfree", "demo"})
    forget()
    yield tmp_path / "demo"
    forget()


def forget():
    """What was read of sources before they changed."""
    sources._path.cache_clear()
    sources._exports.cache_clear()


def demo(run="demo.fig3.compute", claims="demo.fig3.claims"):
    """A figure whose functions are written in modules of the package `demo`."""

    def function(*_):
        return {"x": np.ones(2)}

    function.__module__ = run
    return replace(stub(), run=function, modules=frozenset({run, claims}))


@pytest.mark.parametrize(
    ("source", "numbers_change", "figure_changes"),
    [
        ("fig3/compute.py", True, True),
        ("shared.py", True, True),
        ("inside.py", True, True),
        ("theory/_solved.py", True, True),
        ("theory/table.csv", True, True),
        ("types.py", True, True),
        ("fig4/compute.py", True, True),
        ("fig3/claims.py", False, True),
        ("theory/_other.py", False, False),
        ("theory/__init__.py", False, False),
        ("fig3/__init__.py", False, False),
        ("fig3/table.csv", False, False),
        ("plots.py", False, False),
    ],
)
def test_what_changes_with_a_source(package, source, numbers_change, figure_changes):
    """Numbers depend on the modules that `run` uses, claims and pictures on theirs too; on no other."""

    def prints():
        forget()
        settings, figure = {"width": 3}, demo()
        return (
            fingerprint.numbers_fingerprint(figure, settings),
            fingerprint.figure_fingerprint(figure, settings),
        )

    before = prints()
    assert prints() == before
    (package / source).write_text((package / source).read_text() + "\nchanged = 1")
    after = prints()
    assert (after[0] != before[0], after[1] != before[1]) == (numbers_change, figure_changes)


def test_words_of_a_source_do_not_count(package):
    """A comment, a docstring or an empty line changes no fingerprint; a text that the code uses does."""

    def print_now(source):
        (package / "shared.py").write_text(source)
        forget()
        return fingerprint.figure_fingerprint(demo(), {})

    before = print_now('"""Shared."""  # by all\n\n\n# one\nhelper = 1  # of several\n')
    assert print_now('"""What all\nfigures share."""\nhelper = 1\n') == before
    assert print_now('"""Shared."""\nhelper = "1"\n') != before


def test_code_is_the_source_without_words():
    lines = ["#!/bin/python", "'A module.'", "NAME = '# no comment'  # but this is", '"""About', 'it."""', ""]
    lines += ["TEXT = f'''a", "", "  # {NAME}", "'''", "def f(x):", '    "α"; "β"  # two', "    return x", ""]
    bare = ['""', "NAME = '# no comment'", '""', "TEXT = f'''a", "", "  # {NAME}", "'''", "def f(x):"]
    assert code("\n".join(lines)) == "\n".join([*bare, '    ""; ""', "    return x", ""])


@pytest.mark.parametrize("path", [Path(sources.__file__), Path(__file__)], ids=lambda path: path.stem)
def test_code_means_what_the_source_means(path):
    """The same syntax tree but for the docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant("")
    assert ast.dump(ast.parse(code(path.read_text()))) == ast.dump(tree)


@pytest.mark.usefixtures("package")
def test_names_of_the_library_lead_to_the_modules_they_are_written_in():
    found = sources.sources_of({"demo.fig3.compute"})
    assert "biasfree.theory.symmetric._reduced_flow" in found
    assert "biasfree.trajectory" in found
    assert "biasfree.theory.deep._deep_flow" not in found
    assert not [module for module in found if module.startswith(("biasfree.dynamics", "biasfree.plots"))]


def test_a_package_handed_on_counts_as_a_whole(package):
    (package / "shared.py").write_text("from demo import theory\nhelper = [theory]")
    forget()
    assert {"demo.theory._other", "demo.theory"} <= sources.sources_of({"demo.fig3.compute"}).keys()


def test_recording_versions_makes_no_room_a_source():
    """Versions taken from `biasfree/__init__` would make every module a source of every figure."""
    found = sources.sources_of({"biasfree_papers.reproduction.making"})
    assert {"biasfree._version", "biasfree.versions"} <= found.keys()
    rooms = ("biasfree.diagnosis", "biasfree.lab", "biasfree.cli", "biasfree.plots")
    assert not [module for module in found if module == "biasfree" or module.startswith(rooms)]


def test_versions_and_names_of_files_count(package, monkeypatch):
    def print_now():
        forget()
        return fingerprint.numbers_fingerprint(demo(), {})

    before, alone = print_now(), fingerprint.sources_fingerprint(demo())
    monkeypatch.setattr(fingerprint, "versions", lambda: {"numpy": "0", "torch": "1"})
    other = print_now()
    monkeypatch.setattr(fingerprint, "versions", lambda: {"numpy": "0", "torch": "2"})
    assert before != other == print_now()
    assert fingerprint.sources_fingerprint(demo()) == alone
    os.rename(package / "theory" / "_solved.py", package / "theory" / "_renamed.py")
    (package / "theory" / "__init__.py").write_text("from demo.theory._renamed import solved")
    assert print_now() != other


#: Runs a small figure, and prints the modules of ours whose functions were called but are not its sources.
CALLED = """
import pkgutil, sys, threading
from importlib import import_module
from pathlib import Path
import biasfree, biasfree_papers
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.sources import sources_of

packages = {Path(one.__file__).parent: one for one in (biasfree, biasfree_papers)}
for package in packages.values():  # what only imports execute is not seen below
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        import_module(found.name)
figure, called = REGISTRY[sys.argv[1]], set()
settings = figure.settle(figure.small)
settings = figure.settings(**settings)
def watch(frame, event, arg):
    called.add(frame.f_code.co_filename)
threading.settrace(watch)
sys.settrace(watch)
figure.run(settings, lambda _: None)
sys.settrace(None)
known = sources_of({figure.run.__module__})
for file in map(Path, called):
    for root in packages:
        if file.is_relative_to(root) and file.name != "__init__.py":
            module = ".".join(file.relative_to(root.parent).with_suffix("").parts)
            print("known" if module in known else "unknown", module)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", REGISTRY)
def test_everything_that_a_run_executes_is_among_its_sources(name):
    """Every function of ours that a small run calls, also in threads and while it compiles.

    All but the checks that wrap public functions, which change no number.
    """
    run = subprocess.run([sys.executable, "-c", CALLED, name], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = set(run.stdout.splitlines()) - {"unknown biasfree.arguments"}
    assert f"known {REGISTRY[name].run.__module__}" in found
    assert [line for line in found if line.startswith("known biasfree.")]
    assert [line for line in found if line.startswith("unknown")] == []
