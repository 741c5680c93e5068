"""`biasfree run --small`; the command without this package; figures that another package brings."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import biasfree
from biasfree.cli._command import app
from biasfree_papers import reproduction
from biasfree_papers.experiment import silent
from biasfree_papers.registry import REGISTRY
from stubs import stub

RUNNER = CliRunner()


@pytest.fixture
def registry(monkeypatch):
    """One stub, made in this process."""

    def make_here(tasks, out, *, anew, **_):
        for experiment, settings in tasks:
            reproduction.make(experiment, settings, out, silent, anew=anew)
        return []

    for name in list(REGISTRY):
        monkeypatch.delitem(REGISTRY, name)
    monkeypatch.setitem(REGISTRY, "fig3", stub(small={"width": 60, "seeds": 2}))
    monkeypatch.setattr(reproduction, "make_all", make_here)
    return REGISTRY


@pytest.mark.usefixtures("registry")
def test_small_runs_leave_those_of_full_size_as_they_are(tmp_path):
    assert RUNNER.invoke(app, ["run", "fig3", "--out", str(tmp_path)]).exit_code == 0
    full = {path: path.read_bytes() for path in (tmp_path / "fig3").iterdir()}
    told = RUNNER.invoke(app, ["run", "fig3", "--small", "--set", "seeds=3", "--out", str(tmp_path)])
    assert (told.exit_code, f"Written to {tmp_path / 'small'}:" in told.output) == (0, True)
    assert {path: path.read_bytes() for path in (tmp_path / "fig3").iterdir()} == full
    settings = json.loads((tmp_path / "small" / "fig3" / "claims.json").read_text())["settings"]
    assert (settings["width"], settings["seeds"]) == (60, 3)


def test_a_figure_without_small_settings_is_named(registry, tmp_path):
    registry["fig3"] = stub(small={})
    told = RUNNER.invoke(app, ["run", "--all", "--small", "--out", str(tmp_path)])
    assert (told.exit_code, told.output) == (
        2,
        "biasfree: fig3 has no small settings; run it without --small.\n",
    )


#: The command where no package adds commands or figures, and this one cannot be imported.
ALONE = """
import importlib.metadata as metadata, sys
installed = metadata.entry_points
metadata.entry_points = lambda *, group: () if group.startswith("biasfree.") else installed(group=group)
sys.modules["biasfree_papers"] = None
from biasfree.cli import main
main()
"""


def alone(*arguments):
    command = [sys.executable, "-c", ALONE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_without_this_package_the_command_says_what_to_install():
    told = alone("run", "fig3")
    assert (told.returncode, told.stdout) == (2, "")
    assert "`run` is part of biasfree-papers" in told.stderr
    assert "`pip install biasfree-papers`" in told.stderr


def test_without_this_package_diagnose_works(tmp_path):
    biasfree.data.odd_sine(n=20, d=3, seed=0).save(tmp_path / "data.npz")
    told = alone("diagnose", tmp_path / "data.npz")
    assert (told.returncode, told.stdout.startswith("Verdict: effectively linear")) == (0, True), told.stderr


#: A package with one figure, as it is installed.
OTHERS = {
    "halves-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: halves\nVersion: 1.0\n",
    "halves-1.0.dist-info/entry_points.txt": "[biasfree.figures]\nhalves = halves:FIGURES\n",
    "halves/__init__.py": 'FIGURES = {"Halves": ("halves.ours",)}\n',
    "halves/ours.py": '''
"""A figure of another package."""

import numpy as np
from matplotlib.figure import Figure

from biasfree_papers.experiment import Claim, Experiment
from biasfree_papers.settings import Setting, at_least


def run(settings, report):
    report("halving")
    return {"x": np.arange(settings["count"]) / 2}


def claims(numbers):
    largest = float(numbers["x"].max())
    return [Claim("halves are small", "algebra", "ours", (largest,), (9.0,), "by hand", (0,))]


def draw(numbers):
    figure = Figure()
    figure.subplots().plot(numbers["x"])
    return figure


EXPERIMENT = Experiment(
    name="ours", title="Halves", caption="A line.", run=run, claims=claims, draw=draw, seconds=1,
    settings={"count": Setting(9, "a number of numbers", at_least(1))}, small={"count": 3},
)
''',
}


def test_figures_of_another_package_are_listed_and_run(tmp_path):
    for name, text in OTHERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])

    def biasfree_command(*arguments):
        code = "from biasfree.cli import main; main()"
        command = [sys.executable, "-c", code, *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    listed = biasfree_command("list")
    assert "ours: Halves, about 1 s\n    count = 9: a number of numbers" in listed.stdout, listed.stderr
    made = biasfree_command("run", "ours", "--small", "--out", tmp_path / "out")
    assert (made.returncode, "1 of 1 claims of ours hold." in made.stdout) == (0, True), made.stderr
    record = json.loads(Path(tmp_path / "out" / "small" / "ours" / "claims.json").read_text())
    assert (record["settings"], record["claims"][0]["measured"]) == ({"count": 3}, [1.0])
