import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import biasfree
from biasfree.cli.command import app
from biasfree.experiments import REGISTRY
from stubs import stub

RUNNER = CliRunner()


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
    assert all(name in listed.output for name in ("fig3 [rebuilt]:", "width = 500", "leaks = 0.0,0.2"))


@pytest.mark.usefixtures("registry")
def test_run_writes_everything_and_shows_both_kinds(tmp_path):
    result = RUNNER.invoke(app, ["run", "fig3", "--set", "width=7", "--seeds", "2", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    names = {"fig3.png", "fig3.pdf", "numbers.npz", "claims.json"}
    assert {path.name for path in (tmp_path / "fig3").iterdir()} == names
    (record,) = json.loads((tmp_path / "claims.json").read_text())
    assert (record["settings"]["width"], record["settings"]["seeds"]) == (7, 2)
    assert [claim["verdict"] for claim in record["claims"]] == ["holds", "holds for 1 of 2 seeds"]
    assert all(
        word in result.output for word in ("ours", "paper (reported)", "holds for 1 of 2 seeds", "luck")
    )
    assert "1 of 1 claims of ours hold." in result.output


def test_only_a_failing_claim_of_ours_sets_the_exit_code(registry, tmp_path):
    registry["fig3"] = stub(holds=False)
    result = RUNNER.invoke(app, ["run", "--all", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "does not hold" in result.output
    assert "0 of 1 claims of ours hold." in result.output


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["run", "fig4"], "no experiment 'fig4'; there are: fig3."),
        (["run"], "give the name of a figure, or --all"),
        (["run", "fig3", "--all"], "give the name of a figure, or --all"),
        (["run", "fig3", "--set", "depth=3"], "it has: width, dimensions"),
        (["run", "fig3", "--set", "width"], "--set takes KEY=VALUE, got 'width'"),
        (["run", "fig3", "--set", "width=many"], "expected a number of neurons"),
        (["run", "fig3", "--seeds", "0"], "seeds must be a whole number of at least 1, got 0"),
        (["run", "fig3", "--jobs", "0"], "--jobs must be 1 or more, got 0"),
        (["draw", "fig3"], "has no numbers of fig3; make them with `biasfree run fig3`."),
        (["draw"], "give the name of a figure, or --all; there are: fig3."),
    ],
)
def test_mistakes_are_answered_in_one_sentence(tmp_path, arguments, answer):
    result = RUNNER.invoke(app, [*arguments, "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert answer in result.output
    assert "Traceback" not in result.output
    assert result.output.count("\n") == 1


@pytest.mark.usefixtures("registry")
def test_folders_that_cannot_be_made_or_read(tmp_path):
    (tmp_path / "file").write_text("")
    result = RUNNER.invoke(app, ["run", "fig3", "--out", str(tmp_path / "file" / "out")])
    assert (result.exit_code, "choose another --out" in result.output) == (2, True)
    result = RUNNER.invoke(app, ["report", "--out", str(tmp_path / "nowhere")])
    assert (result.exit_code, "make figures first" in result.output) == (2, True)


def test_an_interruption_leaves_finished_figures(registry, tmp_path):
    def interrupted(*_):
        raise KeyboardInterrupt

    registry["fig9"] = stub("fig9", run=interrupted)
    assert RUNNER.invoke(app, ["run", "fig3", "--out", str(tmp_path)]).exit_code == 0
    result = RUNNER.invoke(app, ["run", "fig9", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert "What was finished is in" in result.output
    assert not (tmp_path / "fig9" / "numbers.npz").exists()
    assert "Not made yet: fig9." in (tmp_path / "report.html").read_text()


def test_draw_and_report_need_no_run(registry, tmp_path):
    RUNNER.invoke(app, ["run", "fig3", "--out", str(tmp_path)])
    registry["fig3"] = stub(run=None, title="another title")
    (tmp_path / "fig3" / "fig3.png").unlink()
    (tmp_path / "report.html").unlink()
    assert RUNNER.invoke(app, ["draw", "fig3", "--out", str(tmp_path)]).exit_code == 0
    assert (tmp_path / "fig3" / "fig3.png").is_file()
    assert "another title" in (tmp_path / "report.html").read_text()
    (tmp_path / "report.html").unlink()
    told = RUNNER.invoke(app, ["report", "--out", str(tmp_path)])
    assert (told.exit_code, told.output.startswith("1 figures in")) == (0, True)


def test_help_is_light():
    """No engine, no plotting and no arrays are loaded before there is work to do."""
    code = (
        "import sys, typer.testing as t, biasfree.cli.command as cli; t.CliRunner().invoke(cli.app, ['--help']); "
        "print([m for m in ('jax', 'diffrax', 'scipy', 'matplotlib', 'numpy') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


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
