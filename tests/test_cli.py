"""The command line: output, exit codes and one-line errors."""

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import biasfree
from biasfree.cli import app
from biasfree.files import locked_folder
from stubs import registry_of, stub

RUNNER = CliRunner()


@pytest.fixture
def registry(monkeypatch):
    return registry_of(stub(), monkeypatch)


def refusal(*arguments):
    """The error message of a refused command: one sentence, exit code 2."""
    result = RUNNER.invoke(app, list(map(str, arguments)))
    assert (result.exit_code, result.output.count("\n")) == (2, 1), result.output
    assert result.output.startswith("biasfree: ")
    return result.output


def test_version_and_list():
    assert RUNNER.invoke(app, ["--version"]).output.strip() == biasfree.__version__
    listed = RUNNER.invoke(app, ["list"])
    assert listed.exit_code == 0
    assert all(
        name in listed.output
        for name in ("fig3 [rebuilt]:", "width = 500", "leaks = 0.0,0.2", "TMLR Figs. 2 and 7")
    )


@pytest.mark.usefixtures("registry")
def test_run_writes_everything_and_shows_both_kinds(tmp_path):
    run = ["run", "fig3", "-v", "--set", "width=7", "--seeds", "2", "--out", str(tmp_path)]
    result = RUNNER.invoke(app, run)
    assert result.exit_code == 0, result.output
    names = {"fig3.png", "fig3.pdf", "numbers.npz", "claims.json"}
    assert {path.name for path in (tmp_path / "fig3").iterdir()} == names
    (record,) = json.loads((tmp_path / "claims.json").read_text())
    assert (record["settings"]["width"], record["settings"]["seeds"]) == (7, 2)
    assert [claim["verdict"] for claim in record["claims"]] == ["holds", "holds for 1 of 2 seeds"]
    assert all(
        word in result.output
        for word in (
            "ours",
            "identity",
            "derived",
            "paper (reported)",
            "rebuilt",
            "holds for 1 of 2 seeds",
            "luck",
        )
    )
    assert "1 of 1 claims of ours hold:\n  1 of 1 identities." in result.output


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["run", "fig4"], "no experiment 'fig4'; there are: fig3."),
        (["run"], "give the name of a figure, or --all"),
        (["run", "fig3", "--all"], "give the name of a figure, or --all"),
        (["run", "fig3", "--set", "depth=3"], "it has: seed, seeds, width, dimensions"),
        (["run", "fig3", "--set", "width"], "--set takes KEY=VALUE, got 'width'"),
        (["run", "fig3", "--set", "width=many"], "expected a number of neurons"),
        (["run", "fig3", "--seeds", "0"], "seeds must be a whole number of at least 1, got 0"),
        (["run", "fig3", "--jobs", "0"], "--jobs must be 1 or more, got 0"),
        (["draw", "fig3"], "has no numbers of fig3; make them with `biasfree run fig3`."),
        (["draw"], "give the name of a figure, or --all; there are: fig3."),
    ],
)
def test_mistakes_are_answered_in_one_sentence(tmp_path, arguments, answer):
    assert answer in refusal(*arguments, "--out", tmp_path)


@pytest.mark.usefixtures("registry")
def test_folders_that_cannot_be_made_or_read(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "fig3").write_text("")
    assert "choose another --out" in refusal("run", "fig3", "--out", tmp_path / "file" / "out")
    assert "fig3: File exists; choose another --out" in refusal("run", "fig3", "--out", tmp_path)
    for command in (["report"], ["draw", "fig3"]):
        assert "make figures first" in refusal(*command, "--out", tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.usefixtures("registry")
def test_two_runs_in_one_folder_are_refused(tmp_path):
    for command in ("run", "draw"):
        with locked_folder(tmp_path):
            assert "another process is using" in refusal(command, "fig3", "--out", tmp_path)
    assert RUNNER.invoke(app, ["run", "fig3", "--out", str(tmp_path)]).exit_code == 0


@pytest.mark.usefixtures("registry")
def test_half_written_files_of_killed_processes_are_removed(tmp_path):
    (tmp_path / "fig3").mkdir()
    for folder in (tmp_path, tmp_path / "fig3"):
        (folder / ".numbers.npz.0a1b2c3d.partial").touch()
    RUNNER.invoke(app, ["run", "fig3", "--out", str(tmp_path)])
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("damage", ["another format", "no section", "a folder", "no JSON", "a false verdict"])
def test_a_record_that_is_not_as_written_is_left_out_and_renewed(tmp_path, damage):
    run = ["run", "fig3", "--out", str(tmp_path)]
    RUNNER.invoke(app, run)
    path = tmp_path / "fig3" / "claims.json"
    whole = path.read_text()
    record = json.loads(whole)
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage == "no JSON":
        path.write_text("{")
    else:
        if damage == "a false verdict":
            record["claims"][1]["verdict"] = "<script>"
        else:
            record.pop({"another format": "format", "no section": "section"}[damage])
        path.write_text(json.dumps(record))
    told = RUNNER.invoke(app, ["report", "--out", str(tmp_path)])
    assert (told.exit_code, "as they were written: fig3; `biasfree draw`" in told.output) == (0, True)
    assert "<script>" not in (tmp_path / "report.html").read_text()
    if damage == "a folder":
        assert f"cannot write {path}: it is a folder" in refusal(*run)
        path.rmdir()
    assert RUNNER.invoke(app, run).exit_code == 0
    assert path.read_text() == whole


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_takes_nothing_is_named_in_one_sentence(tmp_path, monkeypatch, number):
    data, _ = saved_case(tmp_path)

    def refused(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("biasfree.files._partial", refused)
    remedy = f": {os.strerror(number)}; free space or choose another folder"
    path = tmp_path / "fig3" / "numbers.npz"
    assert refusal("run", "fig3", "--out", tmp_path) == f"biasfree: cannot write {path}{remedy}\n"
    shown = RUNNER.invoke(app, ["diagnose", str(data), "--html", str(tmp_path / "r.html")])
    assert shown.exit_code == 2
    assert shown.output.endswith(f"biasfree: cannot write {tmp_path / 'r.html'}{remedy}\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_behind_the_output_is_an_error():
    with open("/dev/full", "w") as full:
        code = "from biasfree.cli import main; import sys; sys.argv[1:] = ['list']; main()"
        ended = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (2, "biasfree: No space left on device\n")


def test_a_user_without_a_home_can_use_the_command():
    """As in a container: HOME is not set and the user has no entry in the password file."""
    code = (
        "import os, pwd, sys; pwd.getpwuid = {}.__getitem__; sys.argv[1:] = ['--version']\n"
        "for name in ('HOME', 'XDG_CACHE_HOME', 'JAX_COMPILATION_CACHE_DIR'): os.environ.pop(name, None)\n"
        "from biasfree.cli import main; main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout.strip()) == (0, biasfree.__version__)
    assert ended.stderr.startswith("Compiled programs cannot be kept for later: ")


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
    assert (told.exit_code, f"{tmp_path / 'report.html'}" in told.output) == (0, True)


def test_help_is_light():
    """JAX, Matplotlib and NumPy are not loaded before they are needed."""
    code = (
        "import sys, typer.testing as t, biasfree.cli as c; "
        "t.CliRunner().invoke(c.app, ['--help']); "
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
    assert "Verdict: nonlinear" in shown.output
    record = json.loads((tmp_path / "r.json").read_text())
    assert " ".join(shown.output.split()).startswith(record["answer"])
    assert record["verdict"] == "nonlinear"
    assert "data:image/png" in (tmp_path / "r.html").read_text()
    alone = RUNNER.invoke(app, ["diagnose", str(data)])
    assert "Verdict: effectively linear" in alone.output
    assert "Verdict: nonlinear" in RUNNER.invoke(app, ["diagnose", "--model", str(model)]).output


def test_diagnose_gives_what_python_gives(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 2))
    rows = [f"{a},{'up' if a > b else 'down'},{b}" for a, b in x.tolist()]
    (tmp_path / "d.csv").write_text("\n".join(["a,kind,b", *rows]))
    biasfree.networks.gaussian((2, 5, 1), scale=1.0).save(tmp_path / "m.npz")
    options = ["--target", "kind", "--model", str(tmp_path / "m.npz"), "--unseen", "--compare"]
    options += ["--json", str(tmp_path / "r.json")]
    shown = RUNNER.invoke(app, ["diagnose", str(tmp_path / "d.csv"), *options])
    assert shown.exit_code == 0, shown.output
    network = biasfree.Network.load(tmp_path / "m.npz")
    report = biasfree.diagnose(
        network, x, np.where(x[:, 0] > x[:, 1], "up", "down"), unseen=True, compare=True
    )
    assert (tmp_path / "r.json").read_text() == report.to_json()
    assert shown.output.strip() == str(report).strip()
    refused = RUNNER.invoke(app, ["diagnose", "--target", "kind"])
    assert (refused.exit_code, "--target needs a .csv file" in refused.output) == (2, True)


def test_diagnose_a_state_dict_states_the_leak_it_assumes(tmp_path):
    torch = pytest.importorskip("torch")
    data, _ = saved_case(tmp_path)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LeakyReLU(0.3), torch.nn.Linear(4, 1))
    torch.save(model.state_dict(), tmp_path / "m.pt")
    assumed = RUNNER.invoke(app, ["diagnose", str(data), "--model", str(tmp_path / "m.pt")])
    assert "leak 0 (ReLU) is assumed, see --leak" in assumed.output
    told = RUNNER.invoke(app, ["diagnose", str(data), "--model", str(tmp_path / "m.pt"), "--leak", "0.3"])
    assert "assumed" not in told.output


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ([], "there is nothing to diagnose"),
        (["{data}", "--json", "{folder}"], "it is a folder; pass the name of a file"),
        (["missing.npz"], "no file missing.npz"),
        (["{data}", "--leak", "0.1"], "--leak needs a model"),
        (["{data}", "--model", "{data}"], "lacks leak, W1"),
        (["{model}"], "lacks x, y"),
        (["{data}", "--model", "{model}", "--leak", "0.5"], "is 0, but leak=0.5 was given"),
        (["{data}", "--html", "nowhere/r.html"], "the folder nowhere does not exist"),
    ],
)
def test_mistakes_in_a_diagnosis_are_answered_in_one_sentence(tmp_path, arguments, answer):
    data, model = saved_case(tmp_path)
    written = [argument.format(data=data, model=model, folder=tmp_path) for argument in arguments]
    refused = RUNNER.invoke(app, ["diagnose", *written])
    assert (refused.exit_code, refused.output.count("\n")) == (2, 1)
    assert answer in refused.output
    assert "Traceback" not in refused.output
