"""Which modules of a PyTorch model act as linear maps on the data."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, integers

import biasfree as bf
from biasfree.diagnostics._module_function import SPARE, linear_fit
from refusals import invalid

pytest.importorskip("torch")
import torch
from torch import nn

EPS = float(np.finfo(float).eps)


class SwiGLU(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(d, h), nn.Linear(d, h), nn.Linear(h, d)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


def gaussian(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def layers(model, x, **options) -> Any:
    return bf.diagnostics.layer_linearity(model, x, **options)


@given(d=integers(1, 12), spare=integers(-3, 30), m=integers(1, 3), affine=booleans(), seed=integers(0, 99))
@settings(max_examples=30)
def test_a_linear_function_leaves_nothing_unless_samples_are_too_few(d, spare, m, affine, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(max(1, d + spare), d))
    fit = linear_fit(x, rounding=EPS)
    fit = fit.with_intercept() if affine else fit
    left = fit.unexplained(x @ rng.normal(size=(d, m)) + 5 * affine)
    known = d + spare >= d + affine + SPARE
    assert (left is not None) is known
    assert left is None or left < 1e-20  # squares of rounding, times few dimensions


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_a_constant_is_affine_and_an_input_that_is_constant_adds_no_intercept(size):
    x = np.column_stack([gaussian(40, 2), np.ones(40)])
    plain, fit = linear_fit(x[:, :2], rounding=EPS), linear_fit(x, rounding=EPS)
    assert (plain.rank, plain.with_intercept().rank, fit.rank, fit.with_intercept().rank) == (2, 3, 3, 3)
    constant = np.full((40, 1), size)
    assert plain.with_intercept().unexplained(constant) == 0
    assert plain.unexplained(constant) > 0.5  # type: ignore[operator]
    assert fit.unexplained(constant) < 1e-20  # type: ignore[operator]


def test_the_correction_keeps_the_share_as_inputs_become_many():
    """Noise of half the energy: N is 1/2 whatever D is, where the plain residual falls to 1/8."""
    shares: list[Any] = []
    plain = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(80, 60))
        line = x @ rng.normal(size=60)
        f = (line / np.std(line) + rng.normal(size=80))[:, None]
        fit = linear_fit(x, rounding=EPS)
        shares.append(fit.unexplained(f))
        plain.append(np.sum((f - fit.basis @ (fit.basis.T @ f)) ** 2) / np.sum(f**2))
    # the relative error of one share is √(2/20); of the mean of 60, 0.041; 4 of these, and 0.02 of ratios
    assert np.mean(shares) == pytest.approx(0.5, rel=0.184)
    assert np.mean(plain) < 0.2


@pytest.mark.parametrize(
    ("module", "acts"),
    [
        (nn.Linear(4, 5, bias=False), "linear"),
        (nn.Linear(4, 5), "affine"),
        (nn.BatchNorm1d(4), "affine"),
        (nn.BatchNorm1d(4, affine=False), "linear"),
        (nn.LayerNorm(4), "nonlinear"),
        (nn.Dropout(), "linear"),
        (nn.ReLU(), "nonlinear"),
        (nn.ReLU(inplace=True), "nonlinear"),
        (nn.LeakyReLU(0.3), "nonlinear"),
        (nn.LeakyReLU(0.9), "linear"),
        (nn.GELU(), "nonlinear"),
        (nn.SiLU(), "nonlinear"),
        (SwiGLU(4, 6), "nonlinear"),
        (Residual(nn.Linear(4, 4, bias=False)), "linear"),
        (Residual(nn.Sequential(nn.Linear(4, 9, bias=False), nn.ReLU(), nn.Linear(9, 4))), "nonlinear"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kinds_of_layers(module, acts, dtype):
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    row = layers(nn.Sequential(nn.Identity(), module).to(dtype), gaussian(200, 4))["1"]
    assert row.acts == acts
    assert row.kind == type(module).__name__
    assert (row.additivity < 0.01) is (acts == "linear")


def test_relu_has_the_shares_that_are_known_for_it():
    """f = z/2 + |z|/2 of Gaussian z: N = ½, affine N = (1 − 2/π)/(2 − 2/π), additivity 3/2 − 2/π."""
    row = layers(nn.Sequential(nn.ReLU()), gaussian(20_000, 2), samples=20_000)["0"]
    # shares of 40 000 numbers err by √(5/40 000), 1.1 %, with 4 of these; additivity uses 400 numbers
    assert row.nonlinear == pytest.approx(1 / 2, rel=0.05)
    assert row.nonaffine == pytest.approx((1 - 2 / np.pi) / (2 - 2 / np.pi), rel=0.05)
    assert row.additivity == pytest.approx(3 / 2 - 2 / np.pi, rel=0.5)
    assert row.scale == 0
    still = layers(nn.Sequential(nn.ReLU()), np.abs(gaussian(50, 2)))["0"]
    assert (still.acts, still.additivity > 0.01) == ("linear", True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_linear_block_of_nonlinear_layers(dtype):
    """[ZSL25] Assumption 4: the neurons come in opposite pairs of one direction, and f is linear."""
    network = bf.networks.rank_one(gaussian(5), width=8, scale=1.0)
    found = layers(network.to_torch().to(dtype), gaussian(100, 5))
    assert [row.acts for row in found.rows] == ["linear", "linear", "nonlinear", "linear"]
    assert "1 of 4 layers act as nonlinear: 1." in str(found)


def test_fewer_samples_than_inputs_do_not_read_as_linear():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU(), nn.Linear(64, 1, bias=False))
    found = layers(model, gaussian(60, 64))
    assert [row.nonlinear for row in found.rows] == [None] * 4
    assert [row.acts for row in found.rows] == ["nonlinear", "linear", "nonlinear", "linear"]
    assert found["1"].note == "60 samples for 60 independent inputs are too few for N"
    assert "N cannot be told for (model), 0, 1, 2: it needs 10 samples more" in str(found)
    with_bias = nn.Sequential(nn.Linear(64, 64), nn.Flatten())
    assert [row.acts for row in layers(with_bias, gaussian(60, 64)).rows] == ["affine", "affine", "linear"]


def test_positions_count_as_samples_where_a_module_treats_them_alone():
    class Attending(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.attention = nn.LayerNorm(4), nn.MultiheadAttention(4, 2, batch_first=True)

        def forward(self, x):
            y = self.norm(x)
            return x + self.attention(y, y, self.norm(x), need_weights=False)[0]

    torch.manual_seed(0)
    found = layers(Attending(), gaussian(20, 5, 4))
    assert found["norm"].nonlinear is not None  # 100 positions of 4 numbers
    assert found["attention"].nonlinear is None  # 20 samples of 60 numbers
    assert found["attention"].inputs == (60,)
    assert "called 2 times, and measured in the first call" in found["norm"].note
    assert found["attention.out_proj"].note == "never called as a module"
    assert found["attention.out_proj"].acts == "cannot tell"
    images = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.Conv2d(3, 3, 1, bias=False))
    rows = layers(images, gaussian(12, 2, 4, 4)).rows
    assert [row.nonlinear is None for row in rows] == [True, True, False, False]
    assert [row.acts for row in rows] == ["nonlinear", "affine", "nonlinear", "linear"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8, bias=False), nn.ReLU(), nn.Linear(8, 1, bias=False)).to(dtype)
    found = layers(model, gaussian(200, 6))
    assert [row.acts for row in found.rows] == ["nonlinear", "linear", "nonlinear", "linear"]
    # numbers below 6e-5 lose bits when halved in float16
    assert max(row.scale for row in found.rows) < 1e-9


def test_layers_that_pytorch_would_fuse_and_outputs_of_any_form():
    """In evaluation mode a TransformerEncoderLayer takes a path that calls none of its modules."""

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
            self.memory = nn.GRU(4, 3, batch_first=True)

        def forward(self, x):
            return {"states": self.memory(self.encoder(x))}

    torch.manual_seed(0)
    found = layers(Recurrent(), gaussian(60, 3, 4))
    assert found["encoder.linear1"].acts == "affine"
    assert found["memory"].outputs == found[""].outputs == (3, 3)
    assert found["memory"].acts == "nonlinear"


def test_the_model_is_left_as_it_was_also_if_it_raises():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.ReLU(), nn.Linear(4, 1))
    model[1].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    layers(model, gaussian(40, 3))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        layers(model, gaussian(40, 7))
    assert [part.training for part in model] == [True, False, True, True, True]
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    assert all(p.grad is None for p in model.parameters())


def test_random_numbers_of_a_module_do_not_move_the_generator():
    class Noisy(nn.Module):
        def forward(self, x):
            return x + torch.rand(len(x), 1)

    state = torch.get_rng_state()
    layers(nn.Sequential(Noisy()), gaussian(20, 3))
    assert torch.equal(torch.get_rng_state(), state)


def test_rounding_is_not_a_direction_of_the_inputs():
    """60 samples of 56 neurons along one direction: N is known, since the inputs have rank one."""
    network = bf.networks.rank_one(gaussian(3), width=56, scale=1.0)
    found = layers(network.to_torch().float()[:2], gaussian(60, 3))["1"]
    assert found.nonlinear == pytest.approx(0.5, abs=0.3)
    assert found.note == ""


def test_a_compiled_model_is_measured_without_compiling():
    class Compiled(nn.Module):
        def __init__(self, model):
            super().__init__()
            self._orig_mod = model

        def forward(self, _):
            raise AssertionError("compiling")

    model = nn.Sequential(nn.Linear(3, 2))
    assert layers(Compiled(model), gaussian(20, 3)) == layers(model, gaussian(20, 3))


def test_a_sample_of_the_data_is_measured_and_said_so():
    seen = []
    model = nn.Sequential(nn.Linear(3, 2))
    model.register_forward_pre_hook(lambda _, args: seen.append(len(args[0])))
    one, again, other = (layers(model, gaussian(90, 3), samples=50, seed=seed) for seed in (0, 0, 1))
    assert seen[0] == 50
    assert one == again != other
    assert "50 of 90 samples were measured, chosen at random." in one.notes


def test_fewer_of_large_samples_are_measured(monkeypatch):
    monkeypatch.setattr("biasfree.diagnostics._layers._INPUTS", 120)
    found = layers(nn.Sequential(nn.Linear(3, 2)), gaussian(90, 3))
    assert "40 of 90 samples were measured, chosen at random." in found.notes


def test_modules_that_cannot_be_measured_are_named():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.fold, self.picky = nn.Embedding(9, 4), Folded(), Picky()

        def forward(self, x):
            return self.picky(self.fold(self.table(x)).mean(dim=1)[: len(x)])

    class Folded(nn.Module):
        def forward(self, x):
            return torch.cat([x, x])

    class Picky(nn.Module):
        def forward(self, x):
            if not x.any():
                raise RuntimeError("all zero")
            return {"score": x.sum(dim=1, keepdim=True)}

    found = layers(Odd(), np.random.default_rng(0).integers(0, 9, size=(30, 5)))
    assert found["table"].note == "it has no floating-point input"
    assert found["fold"].note == "it returns 60 rows for 30"
    assert "fails on sums and multiples of its inputs (RuntimeError: all zero)" in found["picky"].note
    assert (found["picky"].acts, found["picky"].additivity) == ("linear", None)
    assert any("fold: it returns 60 rows for 30." in note for note in found.notes)


def test_names_and_refusals():
    model = nn.Sequential(nn.Linear(3, 2))
    found = layers(model, gaussian(30, 3))
    assert "No layer acts as nonlinear." in str(found)
    with pytest.raises(KeyError, match="no layer '7'; there are '', '0'"):
        found["7"]
    invalid(r"must be a torch\.nn\.Module, got a function", layers, lambda x: x, gaussian(30, 3))
    invalid(r"x must have one row per sample, got shape \(3,\)", layers, model, np.ones(3))
    invalid("x must be finite", layers, model, np.full((3, 3), np.nan))
