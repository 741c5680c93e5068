"""The trend over the checkpoints of a training run."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import biasfree as bf
from biasfree.cli import app
from biasfree.networks import checkpoint_files, checkpoint_steps
from refusals import invalid

torch = pytest.importorskip("torch")
nn = torch.nn


@pytest.fixture
def run(tmp_path):
    """A model whose bend grows over the checkpoints at steps 0, 9, 10 and 100, and data that it fits."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8, bias=False), nn.ReLU(), nn.Linear(8, 1, bias=False))
    rank_one = bf.networks.rank_one([1.0, 0.5, 0.0], width=8, scale=1.0)
    bend = bf.networks.gaussian((3, 8, 1), scale=1.0, seed=1)
    for step, size in ((0, 0.0), (9, 0.0), (10, 0.7), (100, 2.0)):
        with torch.no_grad():
            for layer, w, v in zip((model[0], model[2]), rank_one.weights, bend.weights, strict=True):
                layer.weight.copy_(torch.from_numpy(w + size * v))
        torch.save({"step": step, "state_dict": model.state_dict()}, tmp_path / f"step_{step}.pt")
    torch.save({"param_groups": []}, tmp_path / "optimizer.pt")
    x = np.random.default_rng(0).normal(size=(100, 3))
    return model, tmp_path, (x, bf.Network.from_torch(model)(x))


def test_the_trend_of_a_folder(run, tmp_path):
    model, folder, data = run
    other = nn.Sequential(nn.Linear(3, 8, bias=False), nn.ReLU(), nn.Linear(8, 1, bias=False)).train()
    before = {name: value.clone() for name, value in other.state_dict().items()}
    trend = bf.diagnose_checkpoints(other, folder, data)
    assert [row.step for row in trend.rows] == [0, 9, 10, 100]
    assert [row.nonlinear > 0.01 for row in trend.rows] == [False, False, True, True]
    assert trend.rows[-1].score == pytest.approx(1, abs=1e-9)
    share = bf.diagnostics.nonlinear_share(bf.Network.from_torch(model), data[0])
    assert trend.rows[-1].nonlinear == pytest.approx(share[0], rel=1e-5)
    assert (trend.left_at, trend.passed_at) == (10, 100)
    assert "nonlinear since step 10." in trend.answer
    assert f"a gain is seen since step {trend.passed_at}." in trend.answer
    assert trend.linear is not None
    assert trend.rows[-1].gain == pytest.approx(1 - trend.linear, abs=1e-9)
    assert all(torch.equal(value, before[name]) for name, value in other.state_dict().items())
    assert other.training
    trend.save_html(tmp_path / "trend.html")
    assert "nonlinear since step 10" in (tmp_path / "trend.html").read_text()
    assert "step_100.pt" in str(trend)


def test_models_may_be_built_or_read_from_chains(run):
    _, folder, data = run
    built = bf.diagnose_checkpoints(
        lambda: nn.Sequential(nn.Linear(3, 8, bias=False), nn.ReLU(), nn.Linear(8, 1, bias=False)),
        [folder / "step_0.pt", folder / "step_100.pt"],
        *data,
    )
    for step in (0, 100):
        torch.save(torch.load(folder / f"step_{step}.pt")["state_dict"], folder / f"plain{step}.pth")
    plain = bf.diagnose_checkpoints(None, sorted(folder.glob("*.pth")), data)
    assert [row.nonlinear for row in plain.rows] == pytest.approx(
        [row.nonlinear for row in built.rows], rel=1e-5, abs=1e-12
    )
    assert (plain.left_at, built.left_at) == (100, 100)


def test_the_command_gives_the_same(run, tmp_path):
    _, folder, (x, y) = run
    for step in (9, 100):
        torch.save(torch.load(folder / f"step_{step}.pt")["state_dict"], folder / f"step_{step}.pt")
    for step in (0, 10):
        (folder / f"step_{step}.pt").unlink()
    beside = tmp_path.parent / tmp_path.name  # not among the checkpoints
    data, out = beside.with_suffix(".npz"), beside.with_suffix(".json")
    np.savez(data, x=x, y=y)
    shown = CliRunner().invoke(app, ["diagnose", str(data), "--model", str(folder), "--json", str(out)])
    trend = bf.diagnose_checkpoints(None, folder, x, y)
    assert trend.answer in shown.output
    assert json.loads(out.read_text())["table"]["rows"] == [list(row) for row in trend.table().rows]
    refused = CliRunner().invoke(app, ["diagnose", "--model", str(folder)])
    assert "need data to be measured on" in refused.output


def test_the_model_has_its_weights_again_also_after_an_error(run):
    model, folder, (x, y) = run
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(ValueError, match="has 1 outputs, but the data have 2 targets"):
        bf.diagnose_checkpoints(model, folder, x, np.stack([y, y], axis=1))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a9.pt", "a10.pt"], (9, 10)),
        (["run1-step_1_000.pt", "run1-step_20_000.pt"], (1000, 20000)),
        (["checkpoint-5/model.pt", "checkpoint-50/model.pt"], (5, 50)),
        (["epoch=1-step=9.ckpt", "epoch=1-step=90.ckpt"], (9, 90)),
        (["epoch=1-step=9.ckpt", "last.ckpt"], None),
        (["best.pt"], None),
    ],
)
def test_steps_are_read_from_names_in_natural_order(names, expected, tmp_path):
    for name in reversed(names):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "scheduler.pt").touch()
    files = checkpoint_files(tmp_path)
    assert [str(file.relative_to(tmp_path)) for file in files] == names
    assert checkpoint_steps([file.relative_to(tmp_path) for file in files]) == expected


@pytest.mark.parametrize(
    ("shares", "scores", "said"),
    [
        (
            [0, 0.5, 0],
            [0.1, 0.9, 0.65],
            ("effectively linear at the end", "no gain over a linear map"),
        ),
        ([0.5, 0.5, 0.5], [0.7, 0.8, 0.9], ("nonlinear at every checkpoint", "a gain is seen since step 0")),
        ([0.5, 0, 0.5], [0.7, 0.2, 0.9], ("nonlinear since step 20", "a gain is seen since step 20")),
    ],
)
def test_the_answer_of_a_trend(run, shares, scores, said):
    _, folder, data = run
    trend = bf.diagnose_checkpoints(run[0], [folder / "step_9.pt"], data)
    rows = tuple(
        replace(trend.rows[0], step=10 * i, score=score, gain=score - 0.6, error=0.04, nonlinear=share)
        for i, (share, score) in enumerate(zip(shares, scores, strict=True))
    )
    made = replace(trend, rows=rows, linear=0.6)
    assert all(words in made.answer for words in said)
    assert "linear map" not in replace(made, linear=None).answer


def test_weights_of_wrappers_fit(run):
    model, folder, data = run
    torch.save({f"_orig_mod.module.{k}": v for k, v in model.state_dict().items()}, folder / "wrapped.pt")
    trend = bf.diagnose_checkpoints(model, [folder / "wrapped.pt"], data)
    assert trend.rows[0].score == pytest.approx(1, abs=1e-9)
    assert "the names of the files tell no steps" in str(trend)


def test_refusals(run, tmp_path):
    model, folder, data = run
    smaller = nn.Sequential(nn.Linear(3, 7, bias=False), nn.ReLU(), nn.Linear(7, 1, bias=False))
    for wrong, message in (
        (nn.Sequential(nn.Linear(3, 8)), r"does not fit Sequential: it lacks 0\.bias and has 2\.weight in"),
        (smaller, r"0\.weight in .* has shape \(8, 3\), the model's has \(7, 3\)"),
        (3, r"must be a torch\.nn\.Module, a function that builds one, or None, got a int"),
    ):
        invalid(message, bf.diagnose_checkpoints, wrong, folder, data)
    with pytest.raises(ValueError, match="leak is only for checkpoints without a model"):
        bf.diagnose_checkpoints(model, folder, data, leak=0.1)
    invalid(r"no folder .*absent; check the path", bf.diagnose_checkpoints, model, tmp_path / "absent", data)
    (tmp_path / "empty").mkdir()
    invalid(r"has no checkpoints; they end in \.pt", bf.diagnose_checkpoints, model, tmp_path / "empty", data)
    with pytest.raises(ValueError, match="checkpoints must be a folder or a list of files, got a NoneType"):
        bf.diagnose_checkpoints(model, None, data)  # type: ignore[arg-type]
    invalid("the list of checkpoints is empty", bf.diagnose_checkpoints, model, [], data)
