"""Verdicts on constructed cases, with reasons, for every kind of model, and errors for bad input."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from

import biasfree as bf
from refusals import invalid

SYMMETRIC = bf.data.odd_sine(n=60, d=3, seed=0)
LINEAR = bf.data.linear_teacher(n=60, d=3, seed=0)
LEAST_SQUARES = np.linalg.lstsq(SYMMETRIC.x, SYMMETRIC.y, rcond=None)[0]


def rank_one_fit(target, leak=0.0):
    """A two-layer network whose function is the linear map `target`."""
    return bf.networks.rank_one(target, width=6, scale=bf.theory.final_norm(target, leak=leak), leak=leak)


def lopsided(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) + np.array([1.5, 0])
    return bf.Dataset(x, np.abs(x[:, 0]) + x[:, 1])


@settings(max_examples=8)
@given(leak=floats(0, 1), seed=integers(0, 2**31))
def test_a_rank_one_network_on_symmetric_data_is_effectively_linear(leak, seed):
    report = bf.diagnose(rank_one_fit(LEAST_SQUARES, leak), SYMMETRIC, seed=seed)
    assert report.verdict == "effectively linear"
    assert any("Theorem 5 (TMLR 8)" in reason for reason in report.reasons)


def test_symmetric_data_hold_back_a_network_that_could_do_better():
    """Whether a kernel machine does better depends on the samples that are held out, hence on the seed."""
    report = bf.diagnose(rank_one_fit(LEAST_SQUARES), SYMMETRIC)
    assert report.case == "held back"
    assert report.answer.startswith(
        "Effectively linear, and must stay so: the data are symmetric (Theorem 5)"
    )
    assert "add biases or a layer" in report.answer


def test_deep_networks_are_linear_only_so_far():
    network = bf.networks.low_rank(LEAST_SQUARES, widths=(6, 6), scale=0.3)
    report = bf.diagnose(network, SYMMETRIC)
    assert report.verdict == "linear so far"
    assert any("Proposition 12" in reason for reason in report.reasons)
    learned = np.linalg.lstsq(LINEAR.x, LINEAR.y)[0]
    exact = bf.networks.low_rank(
        learned, widths=(6, 6), scale=np.sqrt(2) * np.linalg.norm(learned) ** (1 / 3)
    )
    assert bf.diagnose(exact, LINEAR).verdict == "effectively linear"  # nothing is left to learn


def test_lopsided_data_leave_a_linear_network_only_linear_so_far():
    data = lopsided()
    report = bf.diagnose(rank_one_fit(np.array([0.5, 0.1])), data)
    assert report.verdict == "linear so far"
    assert any("Condition 3 (TMLR 3) is rejected" in reason for reason in report.reasons)
    patient = bf.diagnose(rank_one_fit(np.array([0.5, 0.1])), data, residual_above=10.0)
    assert patient.verdict == "effectively linear"


@pytest.mark.parametrize(("delta", "verdict"), [(0.0, "effectively linear"), (0.15, "linear so far")])
def test_the_plateau_on_six_points(delta, verdict):
    """[ZSL25] TMLR Fig. 6: at δ = 0 the plateau is the end, for δ > 0 it is not."""
    data = bf.data.six_points(delta)
    plateau = rank_one_fit(np.linalg.lstsq(data.x, data.y, rcond=None)[0])
    report = bf.diagnose(plateau, data)
    assert report.verdict == verdict
    said = (
        "every sample has its mirror image"
        if delta == 0
        else "have a mirror input, more than by chance, but the others do not"
    )
    assert any(said in reason for reason in report.reasons)


def test_partly_desymmetrized_data_are_told_from_symmetric_ones():
    for amount, rejected in ((0.0, False), (0.2, True)):
        report = bf.diagnose(rank_one_fit(LEAST_SQUARES), bf.data.desymmetrize(SYMMETRIC, amount, seed=1))
        assert (report.verdict == "linear so far") is rejected


@pytest.mark.parametrize("share", [0.02, 0.005])
def test_the_threshold_on_the_nonlinear_share(share):
    """An even part of a known energy on symmetric data: N is its share, to rounding."""
    x = SYMMETRIC.x
    linear, even = x[:, 0], np.abs(x[:, 1])
    size = np.sqrt(share / (1 - share) * np.sum(linear**2) / np.sum(even**2))
    report = bf.diagnose(lambda z: z[:, 0] + size * np.abs(z[:, 1]), SYMMETRIC, flips=20)
    rows: Any = report.tables["function"].rows
    measured = dict(rows)["nonlinear share N, output 0"]
    assert measured == pytest.approx(share, rel=1e-10)
    assert (report.verdict == "nonlinear") is (share > 0.01)
    assert (
        bf.diagnose(lambda z: z[:, 0] + size * np.abs(z[:, 1]), SYMMETRIC, nonlinear_above=share / 9).verdict
        == "nonlinear"
    )


def test_the_worst_output_decides():
    two = bf.Dataset(SYMMETRIC.x, np.stack([SYMMETRIC.y, SYMMETRIC.y], axis=1))
    report = bf.diagnose(lambda x: np.stack([x[:, 0], np.abs(x[:, 0])], axis=1), two)
    assert report.verdict == "nonlinear"
    assert any("output 1, the worst of 2" in reason for reason in report.reasons)


def test_verdict_on_data_without_a_model():
    report = bf.diagnose(data=SYMMETRIC)
    assert report.verdict == "effectively linear"
    row: Any = report.tables["targets"].rows[0]
    assert len(report.tables["targets"].rows) == 1
    assert float(row[2]) == pytest.approx(1 - row[1], abs=1e-3)
    assert report.answer.startswith("A linear map explains")
    assert "Two layers without biases stay linear here" in report.answer
    assert bf.diagnose(data=lopsided()).verdict == "linear so far"
    assert "model" not in report.tables


def test_a_model_alone_is_measured_on_gaussian_inputs():
    report = bf.diagnose(rank_one_fit(np.array([1.0, 2.0])))
    assert report.verdict == "effectively linear"
    assert any("Gaussian inputs" in note for note in report.notes)
    assert bf.diagnose(bf.networks.gaussian((3, 8, 8, 1), scale=2.0)).verdict == "nonlinear"


def test_weights_alone_take_a_leak():
    network = bf.networks.gaussian((3, 6, 1), scale=2.0, leak=0.3)
    stated = bf.diagnose(list(network.weights), SYMMETRIC, leak=0.3)
    assert stated.tables["function"] == bf.diagnose(network, SYMMETRIC).tables["function"]
    assumed = bf.diagnose(list(network.weights), SYMMETRIC)
    assert any("leak 0 (ReLU) is assumed" in note for note in assumed.notes)
    invalid(r"leak of the model is 0\.3, but leak=0 was given", bf.diagnose, network, SYMMETRIC, leak=0.0)


def test_torch_models_of_every_kind():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(1)
    images = np.random.default_rng(0).normal(size=(40, 1, 4, 4))
    y = images.reshape(40, -1)[:, 0]
    plain = nn.Sequential(
        nn.Flatten(), nn.Linear(16, 5, bias=False), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 1, bias=False)
    )
    conv = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1))
    for model, readable in ((plain, True), (conv, False)):
        model.train()
        model[-1].eval()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        state = torch.get_rng_state()
        report = bf.diagnose(model, (images, y))
        assert ("layers" in report.tables) is readable
        assert "function" in report.tables
        assert any("cannot convert a Conv2d" in note for note in report.notes) is not readable
        assert [m.training for m in (model, model[-1])] == [True, False]
        assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
        assert all(p.grad is None and p.dtype == torch.float32 for p in model.parameters())
        assert torch.equal(torch.get_rng_state(), state)
    tensors = bf.diagnose(plain, (torch.from_numpy(images), torch.from_numpy(y)))
    assert tensors.verdict == bf.diagnose(plain, (images, y)).verdict


@pytest.mark.parametrize(
    ("model", "data", "message"),
    [
        (None, None, "nothing to diagnose: pass a model, data, or both"),
        (3, SYMMETRIC, r"a model must be a bf\.Network.* got a int; pass data as data="),
        (bf.Network, SYMMETRIC, r"got <class 'biasfree"),
        ((SYMMETRIC.x, SYMMETRIC.y), None, r"not weights; pass data \(x, y\) as data="),
        (lambda x: x.nothing, SYMMETRIC, r"the model fails on samples of shape \(3,\): .*'nothing'"),
        (lambda x: (x, x[:1]), SYMMETRIC, "the model"),
        (None, (np.full((3, 2), 1e200), np.ones(3)), "entries up to 1e\\+200, whose squares overflow"),
        (None, (np.full((3, 2), 1e-200), np.ones(3)), "x has entries up to 1e-200, whose squares underflow"),
        (None, (np.ones((3, 2)), np.full(3, 1e-200)), "y has entries up to 1e-200, whose squares underflow"),
        (None, ([[1, 2], [3]], [1, 2]), "x must be an array of numbers|inhomogeneous"),
        (
            bf.networks.gaussian((2, 3, 1), scale=1.0),
            SYMMETRIC,
            "takes 2 inputs, but the data have 3",
        ),
        (bf.networks.gaussian((3, 3, 2), scale=1.0), SYMMETRIC, "has 2 outputs, but the data have 1"),
        (lambda x: x[:2, 0], SYMMETRIC, "one output or row of outputs per sample"),
        (lambda x: np.full(len(x), np.nan), SYMMETRIC, "must be finite"),
        (np.mean, None, "only the outputs of mean can be measured: pass data"),
        (None, 3, r"data must be a bf\.Dataset or a pair \(x, y\), got a int"),
        (None, (np.ones(3), np.ones(3)), "x must have shape"),
    ],
)
def test_bad_input_gives_one_sentence(model, data, message):
    invalid(message, bf.diagnose, model, data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": None}, "seed must be a whole number, got None"),
        ({"seed": np.ones((1, 2))}, r"seed must be a whole number, got a ndarray of shape \(1, 2\)"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"classes": {-1, 1}}, "classes must be a list of values, got a set"),
        ({"classes": 3}, "classes must be a list of values, got 3"),
        ({"flips": 10**30}, "flips need .* GB"),
        ({"unseen": 3}, "unseen must be True or False, got 3"),
        ({"y": object()}, "y must hold real numbers or labels"),
    ],
)
def test_wrong_options_give_one_sentence(options, message):
    data = SYMMETRIC.x if "y" in options else SYMMETRIC
    invalid(message, bf.diagnose, None, data, **options)


@settings(max_examples=15)
@given(
    sizes=sampled_from([(2, 3, 1), (2, 1), (2, 3, 3, 1), (2, 4, 2)]),
    scale=sampled_from([1e-150, 1.0, 1e50]),
    samples=integers(1, 5),
    zero=sampled_from(["none", "x", "y", "both"]),
    seed=integers(0, 2**31),
)
def test_it_has_a_verdict_for_anything(sizes, scale, samples, zero, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(samples, 2)), rng.normal(size=(samples, sizes[-1]))
    x, y = (0 * x if zero in ("x", "both") else x), (0 * y if zero in ("y", "both") else y)
    network = bf.networks.gaussian(sizes, scale=scale, seed=seed)
    report = bf.diagnose(network, (x, y), flips=20)
    assert report.verdict in ("effectively linear", "effectively affine", "linear so far", "nonlinear")
    assert "annot tell" in report.answer
    json.loads(report.to_json())
    assert " ".join(str(report).split()).startswith(report.answer)


def test_report_as_text_json_and_page(tmp_path):
    report = bf.diagnose(bf.networks.gaussian((3, 6, 1), scale=1.0), SYMMETRIC)
    text = str(report)
    assert "nonlinear_above = 0.01" in text
    record = json.loads(report.to_json())
    assert record["verdict"] == report.verdict
    assert set(record["tables"]) == set(report.tables) == {
        "scores", "data", "targets", "preparation", "function", "layers", "theory",
    }  # fmt: skip
    report.save_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("data:image/png;base64,") >= 5
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "&lt;" not in page.split("<h1>")[1].split("</h1>")[0]
    invalid("does not exist", report.save_html, tmp_path / "nowhere" / "report.html")


def test_a_leak_without_meaning_is_refused():
    with pytest.raises(ValueError, match=r"only the outputs of .* are measured, so leak=0\.5 has no meaning"):
        bf.diagnose(lambda x: x[:, 0], SYMMETRIC, leak=0.5)
    invalid("leak needs a model", bf.diagnose, data=SYMMETRIC, leak=0.5)
    invalid("leak must be a number", bf.diagnose, [np.ones((2, 3)), np.ones((1, 2))], SYMMETRIC, leak="a")


def test_fewer_samples_than_dimensions_make_every_function_linear():
    """N is then measured on mirror images too, and a note explains it."""
    data = bf.Dataset(SYMMETRIC.x[:3], SYMMETRIC.y[:3])
    report = bf.diagnose(bf.networks.gaussian((3, 8, 1), scale=2.0), data)
    assert report.verdict == "nonlinear"
    assert any("linearly independent" in note for note in report.notes)


def test_symmetric_discrete_data_are_not_rejected_for_their_mirror_images():
    """Independent samples of {−1, 1}³ have mirror images by chance, as often as duplicates."""
    x = np.random.default_rng(0).choice([-1.0, 1.0], size=(100, 3))
    data = bf.Dataset(x, x @ np.array([1.0, 2.0, 3.0]) + x[:, 0] * x[:, 1] * x[:, 2])
    report = bf.diagnose(data=data)
    assert any("Condition 3 (TMLR 3) is not rejected" in reason for reason in report.reasons)
    linear = bf.diagnose(data=bf.Dataset(x, x @ np.array([1.0, 2.0, 3.0])))
    assert linear.verdict == "effectively linear"


def test_even_targets_on_mirrored_inputs_are_named():
    report = bf.diagnose(data=bf.Dataset(SYMMETRIC.x, np.abs(SYMMETRIC.x[:, 0])))
    assert any("their targets are not odd" in reason for reason in report.reasons)
    assert any("the part that is even in x is 100 %" in reason for reason in report.reasons)


def test_advice_depends_on_the_model_and_its_fit():
    biased = bf.Network(rank_one_fit(LEAST_SQUARES).weights, biases=[np.zeros(6), np.zeros(1)])
    report = bf.diagnose(biased, SYMMETRIC)
    assert report.case == "not yet"
    assert report.answer.endswith("so a nonlinear model can do better: train longer.")
    labels = bf.Dataset(SYMMETRIC.x, np.sign(SYMMETRIC.x[:, 0]))
    sure = bf.diagnose(rank_one_fit(np.array([1e6, 0, 0])), labels)
    assert any("is not fitted, not more than" in reason for reason in sure.reasons)
    assert sure.case == "needs none"


def test_a_module_that_differs_from_its_layers_is_measured_as_a_function():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    nn = torch.nn
    hooked = nn.Sequential(nn.Linear(3, 5, bias=False), nn.ReLU(), nn.Linear(5, 1, bias=False))
    hooked[1].register_forward_hook(lambda *args: args[-1] ** 2)
    report = bf.diagnose(hooked, SYMMETRIC)
    assert "layers" not in report.tables
    assert any("a ReLU of the model has a forward hook" in note for note in report.notes)
    flat = nn.Sequential(nn.Linear(16, 5), nn.ReLU(), nn.Linear(5, 1))
    with pytest.raises(ValueError, match=r"the model (fails on samples of shape|has|must return)"):
        bf.diagnose(flat, (np.ones((10, 1, 4, 4)), np.arange(10.0)))


def test_without_scikit_learn_there_is_everything_but_the_comparison():
    code = """
import json, sys
sys.modules["sklearn"] = None  # it cannot be imported
import biasfree as bf
data = bf.data.odd_sine(n=60, d=3, seed=0)
network = bf.networks.gaussian((3, 6, 1), scale=1.0, seed=0)
print(json.dumps([json.loads(bf.diagnose(network, data, compare=c).to_json()) for c in (False, True)]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    plain, compared = json.loads(done.stdout)
    assert plain == compared
    assert plain["case"] == "not compared"
    assert plain["answer"] == (
        "The comparison with fitted models needs scikit-learn, which is not installed; run pip install "
        "'biasfree[diagnose]'."
    )
    whole = json.loads(bf.diagnose(bf.networks.gaussian((3, 6, 1), scale=1.0, seed=0), SYMMETRIC).to_json())
    assert plain["verdict"] == whole["verdict"]
    assert set(plain["reasons"]) < set(whole["reasons"])
    different = {name for name in whole["tables"] if whole["tables"][name] != plain["tables"][name]}
    assert different == {"scores"}
