import json
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import biasfree
from biasfree.cli import app
from biasfree.experiments import REGISTRY, Claim, fig3

RUNNER = CliRunner()


def stub(name="fig3", *, holds=True, run=None):
    """A figure that takes no time: its one number is drawn as a point."""

    def draw(numbers):
        from matplotlib.figure import Figure

        figure = Figure()
        figure.subplots().plot(numbers["x"])
        return figure

    claims = [
        Claim("a claim of ours", "here", "ours", (0.1,), (1.0 if holds else 0.01,), "a bound", (0,)),
        Claim("a claim of theirs", "there", "paper", (1.0, 0.1), (0.5,), "the caption", (0, 1)),
    ]
    run = run or (lambda *_: {"x": np.ones(2)})
    return replace(fig3.EXPERIMENT, name=name, run=run, claims=lambda _: claims, draw=draw)


@pytest.fixture
def registry(monkeypatch):
    """The registry with stubs in it, to be changed freely."""
    for name in list(REGISTRY):
        monkeypatch.delitem(REGISTRY, name)
    monkeypatch.setitem(REGISTRY, "fig3", stub())
    return REGISTRY


def test_version_and_list():
    assert RUNNER.invoke(app, ["--version"]).output.strip() == biasfree.__version__
    listed = RUNNER.invoke(app, ["list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in ("fig3:", "width = 500", "leaks = 0.0,0.2"))


@pytest.mark.usefixtures("registry")
def test_run_writes_everything_and_shows_both_kinds(tmp_path):
    result = RUNNER.invoke(app, ["run", "fig3", "--set", "width=7", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    names = {"fig3.png", "fig3.pdf", "numbers.npz", "claims.json"}
    assert {path.name for path in (tmp_path / "fig3").iterdir()} == names
    record = json.loads((tmp_path / "fig3" / "claims.json").read_text())
    assert record["settings"]["width"] == 7
    assert [claim["verdict"] for claim in record["claims"]] == ["holds", "holds for 1 of 2 seeds"]
    assert all(word in result.output for word in ("ours", "paper (reported)", "holds for 1 of 2 seeds"))


def test_only_a_failing_claim_of_ours_sets_the_exit_code(registry, tmp_path):
    registry["fig3"] = stub(holds=False)
    result = RUNNER.invoke(app, ["run", "--all", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "does not hold" in result.output


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["run", "fig4"], "no experiment 'fig4'; there are: fig3."),
        (["run"], "give the name of one figure, or --all"),
        (["run", "fig3", "--all"], "give the name of one figure, or --all"),
        (["run", "fig3", "--set", "depth=3"], "it has: width, dimensions"),
        (["run", "fig3", "--set", "width"], "--set takes KEY=VALUE, got 'width'"),
        (["run", "fig3", "--set", "width=many"], "expected a number of neurons"),
    ],
)
def test_mistakes_are_answered_in_one_sentence(tmp_path, arguments, answer):
    result = RUNNER.invoke(app, [*arguments, "--out", str(tmp_path)] if "run" in arguments else arguments)
    assert result.exit_code == 2
    assert answer in result.output
    assert "Traceback" not in result.output
    assert result.output.count("\n") == 1


@pytest.mark.usefixtures("registry")
def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    result = RUNNER.invoke(app, ["run", "fig3", "--out", str(tmp_path / "file" / "out")])
    assert (result.exit_code, "choose another --out" in result.output) == (2, True)


def test_an_interruption_leaves_finished_figures(registry, tmp_path):
    def interrupted(*_):
        raise KeyboardInterrupt

    registry["fig9"] = stub("fig9", run=interrupted)
    result = RUNNER.invoke(app, ["run", "--all", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert (tmp_path / "fig3" / "claims.json").is_file()
    assert not (tmp_path / "fig9").exists()


def test_help_is_light():
    """No engine, no plotting and no arrays are loaded before there is work to do."""
    code = (
        "import sys, typer.testing as t, biasfree.cli as cli; t.CliRunner().invoke(cli.app, ['--help']); "
        "print([m for m in ('jax', 'diffrax', 'scipy', 'matplotlib', 'numpy') if m in sys.modules])"
    )
    began = time.perf_counter()
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
    assert time.perf_counter() - began < 5  # half a second on an idle machine


def saved_case(folder):
    data = biasfree.data.odd_sine(n=20, d=3, seed=0)
    data.save(folder / "data.npz")
    biasfree.networks.gaussian((3, 5, 1), scale=1.0).save(folder / "model.npz")
    return folder / "data.npz", folder / "model.npz"


def test_diagnose_shows_and_writes_its_report(tmp_path):
    data, model = saved_case(tmp_path)
    options = ["--model", str(model), "--json", str(tmp_path / "r.json"), "--html", str(tmp_path / "r.html")]
    shown = RUNNER.invoke(app, ["diagnose", str(data), *options])
    assert shown.exit_code == 0
    assert shown.output.startswith("Verdict: nonlinear")
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "nonlinear"
    assert "data:image/png" in (tmp_path / "r.html").read_text()
    alone = RUNNER.invoke(app, ["diagnose", str(data)])
    assert "Verdict: effectively linear" in alone.output
    assert "Verdict: nonlinear" in RUNNER.invoke(app, ["diagnose", "--model", str(model)]).output


def test_diagnose_a_state_dict_states_the_leak_it_assumes(tmp_path):
    torch = pytest.importorskip("torch")
    data, _ = saved_case(tmp_path)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LeakyReLU(0.3), torch.nn.Linear(4, 1))
    torch.save(model.state_dict(), tmp_path / "m.pt")
    assumed = RUNNER.invoke(app, ["diagnose", str(data), "--model", str(tmp_path / "m.pt")])
    assert "leak 0 (ReLU) is assumed; see --leak" in assumed.output
    told = RUNNER.invoke(app, ["diagnose", str(data), "--model", str(tmp_path / "m.pt"), "--leak", "0.3"])
    assert "assumed" not in told.output


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ([], "there is nothing to diagnose"),
        (["missing.npz"], "no file missing.npz"),
        (["{data}", "--leak", "0.1"], "--leak is about a model"),
        (["{data}", "--model", "{data}"], "lacks leak, W1"),
        (["{model}"], "lacks x, y"),
        (["{data}", "--model", "{model}", "--leak", "0.5"], "says that the leak is 0"),
        (["{data}", "--html", "nowhere/r.html"], "the folder nowhere does not exist"),
    ],
)
def test_mistakes_in_a_diagnosis_are_answered_in_one_sentence(tmp_path, arguments, answer):
    data, model = saved_case(tmp_path)
    written = [argument.format(data=data, model=model) for argument in arguments]
    refused = RUNNER.invoke(app, ["diagnose", *written])
    assert refused.exit_code == 2
    assert answer in refused.output
    assert "Traceback" not in refused.output
