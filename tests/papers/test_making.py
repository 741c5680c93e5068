"""Numbers are reused where nothing changed, made anew where anything did, and never mixed up."""

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray

from biasfree_papers.experiment import silent
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction import draw, fingerprint, is_current, make, sources
from biasfree_papers.reproduction.code import code
from biasfree_papers.reproduction.storage import (
    Origin,
    content,
    finished_record,
    load_numbers,
    save_numbers,
    stored_numbers,
)
from stubs import stub


class Counted:
    """A run that counts how often it is called."""

    def __init__(self, *answers):
        self.answers, self.calls = answers or ({"x": np.arange(2.0)},), 0

    def __call__(self, *_):
        self.calls += 1
        answer = self.answers[min(self.calls, len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer


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


def make_at(experiment, out, **changes):
    return make(experiment, experiment.settle(changes), out, silent)


def test_a_second_run_reuses_the_first_and_writes_nothing(tmp_path):
    run = Counted()
    first = make_at(stub(run=run), tmp_path)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "fig3").iterdir()}
    second = make_at(stub(run=run), tmp_path)
    assert (run.calls, first.reused, second.reused) == (1, False, True)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "fig3").iterdir()} == written
    assert second.origin == first.origin
    make(stub(run=run), stub().settle(), tmp_path, silent, anew=True)
    assert run.calls == 2


def test_other_settings_run_again(tmp_path):
    run = Counted()
    make_at(stub(run=run), tmp_path)
    assert not make_at(stub(run=run), tmp_path, width=7).reused
    assert make_at(stub(run=run), tmp_path, width=7).reused
    assert run.calls == 2


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
#: One with descent, one with flow; the others take longer to compile.
QUICK = ("limit",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in REGISTRY]
)
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


def test_a_change_of_looks_redraws_without_running(tmp_path):
    run = Counted()
    make_at(stub(run=run), tmp_path)
    record = tmp_path / "fig3" / "claims.json"
    before = json.loads(record.read_text())["fingerprint"]
    assert make_at(stub(run=run, title="new"), tmp_path).reused
    after = json.loads(record.read_text())
    assert (run.calls, after["title"], after["fingerprint"] != before) == (1, "new", True)


def test_an_interruption_between_numbers_and_pictures_mixes_nothing_up(tmp_path):
    """Numbers of other settings beside an old picture are never taken for the ones asked for."""
    run = Counted({"x": np.zeros(2)}, {"x": np.ones(2)})
    make_at(stub(run=run), tmp_path)

    def stopped(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_at(replace(stub(run=run), draw=stopped), tmp_path, width=7)
    numbers, origin = load_numbers(tmp_path / "fig3")
    assert (numbers["x"][0], origin.settings["width"]) == (1.0, 7)
    assert finished_record(tmp_path / "fig3") is None
    assert make_at(stub(run=run), tmp_path, width=7).reused
    assert not make_at(stub(run=run), tmp_path).reused


def test_a_record_beside_the_numbers_of_another_run_is_made_anew(tmp_path):
    """As a run leaves them that was stopped, and continued after one with other settings."""
    run = Counted({"x": np.zeros(2)}, {"x": np.ones(2)})
    make_at(stub(run=run), tmp_path / "a")
    make_at(stub(run=run), tmp_path / "b", width=7)
    whole = finished_record(tmp_path / "b" / "fig3")
    for name in ("claims.json", "fig3.png", "fig3.pdf"):
        shutil.copy(tmp_path / "a" / "fig3" / name, tmp_path / "b" / "fig3" / name)
    assert finished_record(tmp_path / "b" / "fig3") is None
    assert make_at(stub(run=run), tmp_path / "b", width=7).reused
    assert finished_record(tmp_path / "b" / "fig3") == whole


def test_a_record_of_another_figure_is_none(tmp_path):
    make_at(stub(), tmp_path)
    make_at(stub("fig9"), tmp_path)
    for name in ("claims.json", "numbers.npz"):
        shutil.copy(tmp_path / "fig9" / name, tmp_path / "fig3" / name)
    for kind in ("png", "pdf"):
        shutil.copy(tmp_path / "fig9" / f"fig9.{kind}", tmp_path / "fig3" / f"fig3.{kind}")
    assert finished_record(tmp_path / "fig9") is not None
    assert finished_record(tmp_path / "fig3") is None


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_a_picture_that_is_not_as_written_is_drawn_anew(tmp_path, kind):
    make_at(stub(), tmp_path)
    path = tmp_path / "fig3" / f"fig3.{kind}"
    whole = path.read_bytes()
    path.write_bytes(b"")
    assert make_at(stub(), tmp_path).reused
    assert path.read_bytes() == whole


def test_a_failing_run_leaves_what_was_there(tmp_path):
    make_at(stub(), tmp_path)
    before = load_numbers(tmp_path / "fig3")[1]
    with pytest.raises(RuntimeError):
        make_at(stub(run=Counted(RuntimeError())), tmp_path, width=7)
    assert load_numbers(tmp_path / "fig3")[1] == before
    assert make_at(stub(), tmp_path).reused


def test_settings_that_diverge_are_a_wrong_input(tmp_path):
    from biasfree.dynamics import DivergenceError

    with pytest.raises(ValueError, match="fig3 cannot be run with these settings: use a smaller step"):
        make_at(stub(run=Counted(DivergenceError("use a smaller step"))), tmp_path)


def test_a_device_that_jax_does_not_have_is_a_wrong_input(tmp_path):
    absent = RuntimeError("Unable to initialize backend 'bogus': set JAX_PLATFORMS=''")
    with pytest.raises(ValueError, match=r"JAX has no device to run fig3 on: .* set JAX_PLATFORMS"):
        make_at(stub(run=Counted(absent)), tmp_path)


def test_damaged_or_foreign_numbers_are_made_anew(tmp_path):
    make_at(stub(), tmp_path)
    (tmp_path / "fig3" / "numbers.npz").write_bytes(b"not an archive")
    assert stored_numbers(tmp_path / "fig3") is None
    assert not make_at(stub(), tmp_path).reused
    np.savez(tmp_path / "fig3" / "numbers.npz", x=np.ones(2))
    assert not make_at(stub(), tmp_path).reused


@pytest.mark.parametrize("content", ["", "[1]", "{}", '{"figure": "fig3", "claims": []}'])
def test_records_that_cannot_be_read_are_written_anew(tmp_path, content):
    """Damaged ones, and those of earlier versions."""
    make_at(stub(), tmp_path)
    record = tmp_path / "fig3" / "claims.json"
    whole = record.read_text()
    record.write_text(content)
    assert finished_record(tmp_path / "fig3") is None
    assert make_at(stub(), tmp_path).reused
    assert record.read_text() == whole


def labeled(**arrays):
    """Arrays with axes of their own."""
    parts = {name: (tuple(f"{name}_{i}" for i in range(a.ndim)), a) for name, a in arrays.items()}
    return xarray.Dataset(parts)


def test_numbers_say_where_they_come_from(tmp_path):
    written = labeled(x=np.ones(2), names=np.array(["a", "b"]))
    origin = Origin("fig3", {"leaks": (0.0, 1.0)}, "f", {"numpy": "2"}, 1.5, content(written))
    save_numbers(tmp_path, written, origin)
    numbers, found = load_numbers(tmp_path)
    assert set(numbers) == {"x", "names"}
    assert (found.settings, found.seconds) == ({"leaks": [0.0, 1.0]}, 1.5)
    with pytest.raises(ValueError, match="that name is taken"):
        save_numbers(tmp_path, labeled(origin=np.ones(1)), origin)


@pytest.mark.parametrize(
    "changed",
    [
        {"x": np.ones(2)},
        {"x": np.ones(2), "y": np.zeros(3), "z": np.ones(1)},
        {"x": np.ones(2), "y": np.zeros(4)},
        {"x": np.ones(2), "y": np.zeros((3, 1))},
        {"x": np.ones(2), "y": np.zeros(3, dtype=int)},
        {"x": np.ones(2), "y": np.array([0.0, 0.0, 1e-300])},
        {"y": np.ones(2), "x": np.zeros(3)},
    ],
    ids=["lacks", "more", "longer", "shape", "type", "value", "names"],
)
def test_numbers_other_than_those_written_are_refused(tmp_path, changed):
    origin = Origin("fig3", {}, "f", {}, 1.5, content(labeled(x=np.ones(2), y=np.zeros(3))))
    save_numbers(tmp_path, labeled(**changed), origin)
    with pytest.raises(ValueError, match="does not contain the numbers written to it"):
        load_numbers(tmp_path)
    assert stored_numbers(tmp_path) is None


def test_numbers_of_an_earlier_form_are_made_again(tmp_path):
    """Their file does not say which axes arrays have."""
    make_at(stub(), tmp_path)
    file = tmp_path / "fig3" / "numbers.npz"
    with np.load(file) as stored:
        arrays = {name: stored[name] for name in stored if name != "axes"}
    np.savez(file, **arrays)
    assert finished_record(tmp_path / "fig3") is None
    assert not make_at(stub(), tmp_path).reused


def test_draw_takes_any_numbers_and_says_whether_they_are_current(tmp_path):
    make_at(stub(), tmp_path)
    assert is_current(draw(stub(), tmp_path))
    numbers, origin = load_numbers(tmp_path / "fig3")
    save_numbers(tmp_path / "fig3", numbers, replace(origin, fingerprint="0" * 64))
    assert not is_current(draw(stub(), tmp_path))
    with pytest.raises(ValueError, match="has no numbers of fig9; make them with `biasfree run fig9`"):
        draw(stub("fig9"), tmp_path)


def test_the_same_numbers_give_the_same_files(tmp_path):
    """Pictures carry no date."""
    for folder in ("one", "two"):
        make_at(stub(), tmp_path / folder)
    for kind in ("png", "pdf"):
        one, two = ((tmp_path / folder / "fig3" / f"fig3.{kind}").read_bytes() for folder in ("one", "two"))
        assert one == two
