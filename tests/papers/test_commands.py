"""What the commands print; the command without this package; figures that another package brings."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import biasfree
from biasfree.cli import app
from biasfree_papers import reproduction
from biasfree_papers.commands.summary import LINES, figure_line, screen, show_claims
from biasfree_papers.commands.watching import Watcher
from biasfree_papers.experiment import silent
from biasfree_papers.registry import REGISTRY
from stubs import registry_of, stub

RUNNER = CliRunner()


@pytest.fixture
def registry(monkeypatch):
    return registry_of(stub(small={"width": 60, "seeds": 2}), monkeypatch)


@pytest.mark.usefixtures("registry")
def test_small_runs_leave_those_of_full_size_as_they_are(tmp_path):
    assert RUNNER.invoke(app, ["run", "fig3", "--out", str(tmp_path)]).exit_code == 0
    full = {path: path.read_bytes() for path in (tmp_path / "fig3").iterdir()}
    told = RUNNER.invoke(app, ["run", "fig3", "--small", "--set", "seeds=3", "--out", str(tmp_path)])
    assert (told.exit_code, str(tmp_path / "small" / "report.html") in told.output) == (0, True)
    assert {path: path.read_bytes() for path in (tmp_path / "fig3").iterdir()} == full
    settings = json.loads((tmp_path / "small" / "fig3" / "claims.json").read_text())["settings"]
    assert (settings["width"], settings["seeds"]) == (60, 3)


@pytest.mark.usefixtures("registry")
def test_claims_are_printed_on_demand_only(tmp_path):
    """The origin of a bound stands for all that a claim has; the verdicts fit one screen."""
    run, out = ["run", "fig3"], ["--out", str(tmp_path)]
    for quiet in (run, ["draw", "fig3"], ["report"]):
        told = RUNNER.invoke(app, [*quiet, *out])
        assert (told.exit_code, "the stub's table" in told.output) == (0, False)
        assert "a bound" not in told.output
        assert "1 of 1 claims of ours hold:" in told.output
        assert "0 of 1 claims of papers hold" in told.output
        assert f"Pictures and verdicts: {tmp_path / 'report.html'}" in told.output
    for full in ([*run, "-v"], ["draw", "fig3", "--verbose"], ["report", "--claims"]):
        told = RUNNER.invoke(app, [*full, *out])
        assert "bound: a bound" in told.output
        assert "the stub's table" in told.output


def test_a_claim_of_ours_that_fails_sets_the_exit_code_and_is_printed_in_full(registry, tmp_path):
    registry["fig3"] = stub(holds=False)
    told = RUNNER.invoke(app, ["run", "--all", "--out", str(tmp_path)])
    assert (told.exit_code, "bound: a bound" in told.output) == (1, True)
    assert "does not hold" in told.output
    assert "0 of 1 claims of ours hold:" in told.output
    assert "the caption" not in told.output  # the origin of the paper's claim, which is reported only


@pytest.mark.usefixtures("registry")
def test_draw_names_stale_numbers_in_one_note(tmp_path, monkeypatch):
    RUNNER.invoke(app, ["run", "fig3", "--out", str(tmp_path)])
    monkeypatch.setattr(reproduction, "is_current", lambda _: False)
    told = RUNNER.invoke(app, ["draw", "--all", "--out", str(tmp_path)])
    assert "the numbers of fig3 were made by other sources or versions; `biasfree run fig3`" in told.output
    assert told.output.splitlines()[0].startswith(
        "fig3            0 s  ours 1 of 1    holds for 1 of 2 seeds:"
    )


def claim(kind, sentence, *, holds=True, headline=False, note=""):
    verdict = "holds" if holds else "does not hold"
    return {
        "kind": kind, "sentence": sentence, "held": [holds], "verdict": verdict, "headline": headline,
        "nature": "prediction" if kind == "ours" else None, "measured": [0.5],
        "bound": [1.0 if holds else 0.25], "sense": "at most", "note": note,
    }  # fmt: skip


def test_the_screen_holds_what_does_not_hold_headlines_first():
    """25 figures with three claims each that do not hold, in at most 40 lines of 100 columns."""
    words = "a sentence that goes on " * 9
    figures = [
        {"figure": f"figure{i:02}", "claims": [
            claim("ours", words, headline=True),
            claim("paper", f"detail {i} {words}", holds=False, note=words),
            claim("paper", f"headline {i} {words}", holds=False, headline=i == 20),
            claim("observed", words, holds=False),
        ]} for i in range(25)
    ]  # fmt: skip
    lines = [line.plain for line in screen(figures, Path("out"), width=100)]
    assert len(lines) <= LINES == 40
    assert max(map(len, lines)) <= 100
    assert lines[1:4] == [
        "25 of 25 claims of ours hold:",
        "  25 of 25 predictions that could fail.",
        "Reported only: 0 of 50 claims of papers hold, 0 of 25 observed claims hold.",
    ]
    shown = [line.split() for line in lines if line.endswith(": 0.5, at most 0.25")]
    assert shown[0][:3] == ["figure20", "headline", "20"]
    assert shown[1][:3] == ["figure00", "detail", "0"]
    assert f"  {75 - len(shown)} more: biasfree report --claims" in lines
    reasons = [line.strip() for line in lines if line.strip().startswith("does not hold")]
    assert len(reasons) == len(shown) > 10
    assert reasons[1].startswith("does not hold. a sentence")
    assert "Pictures and verdicts: out/report.html" in lines


def test_the_screen_is_short_where_all_is_well():
    lines = screen([{"figure": "fig1", "claims": [claim("ours", "x")]}], Path("o"), width=80)
    said = ["", "1 of 1 claims of ours hold:", "  1 of 1 predictions that could fail.", ""]
    assert [text.plain for text in lines][:4] == said
    assert lines[-1].plain == "Every claim: biasfree report --claims --out o, or o/claims.json"
    claims = [claim("ours", "x", headline=True), claim("observed", "y", holds=False)]
    lines = screen([{"figure": "fig1", "claims": claims}], Path("out"), width=80)
    assert lines[6].plain == "  1 that we observed: biasfree report --claims"


def test_full_claims_name_the_quantity_and_no_seeds_where_there_are_none(capsys):
    whole = {
        **claim("ours", "x"), "source": "[1]", "origin": "b", "basis": "derived", "rebuilt": False,
        "quantity": "largest [gap]", "number of seeds": 0,
    }  # fmt: skip
    show_claims({"figure": "fig1", "title": "t", "rebuilt": ""}, [whole])
    told = capsys.readouterr().out
    assert "[1]" in told
    assert "largest [gap]" in told
    assert "seed" not in told


def test_a_line_about_a_figure_fits_its_width():
    record = {"figure": "sarussi2021", "claims": [claim("ours", "word " * 40, headline=True)]}
    line = figure_line(record, 12.3, 80).plain
    assert line.startswith("sarussi2021    12 s  ours 1 of 1    holds: word word")
    assert line.endswith(" …")
    assert len(line) <= 80


@pytest.mark.usefixtures("registry")
def test_figures_are_watched_by_a_line_each(tmp_path, capsys):
    reproduction.make(REGISTRY["fig3"], REGISTRY["fig3"].settle(), tmp_path, silent)
    with Watcher([REGISTRY["fig3"]], tmp_path) as watch:
        for event in (("began", ""), ("says", "half way"), ("warns", "careful"), ("ended", "")):
            watch("fig3", *event)
        watch("fig3", "began", "")
        watch("fig3", "ended", "no memory")
    told = capsys.readouterr()
    done, failed = told.out.splitlines()
    assert re.fullmatch(r"fig3 +\d+ s  ours 1 of 1    holds for 1 of 2 seeds: a claim of theirs", done)
    assert re.fullmatch(r"fig3 +\d+ s  failed", failed)
    assert told.err == "fig3: careful\nbiasfree: fig3: no memory\n"


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
    assert (told.returncode, "Verdict: effectively linear" in told.stdout) == (0, True), told.stderr
