"""Conversion to PyTorch and back changes nothing, and other models raise errors that name them."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import booleans, floats, integers, lists, sampled_from
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
from refusals import invalid

pytest.importorskip("torch")
import torch
from torch import nn

leaks = sampled_from([0.0, 1.0]) | floats(0, 1)


@given(
    sizes=lists(integers(1, 6), min_size=2, max_size=5),
    leak=leaks,
    biased=booleans(),
    seed=integers(0, 2**31),
)
def test_round_trip_and_equal_outputs(sizes, leak, biased, seed):
    rng = np.random.default_rng(seed)
    biases = tuple(rng.normal(size=n) for n in sizes[1:]) if biased else None
    network = bf.networks.gaussian(sizes, scale=3.0, leak=leak, seed=seed)
    network = bf.Network(network.weights, leak=leak, biases=biases)
    model = network.to_torch()
    again = bf.Network.from_torch(model)
    assert all(np.array_equal(a, b) for a, b in zip(again.weights, network.weights, strict=True))
    assert again.leak == (leak if network.depth > 1 else 1.0)
    assert (again.biases is None) is (not biased)
    assert all(np.array_equal(a, b) for a, b in zip(again.biases or (), biases or (), strict=True))
    x = rng.normal(size=(7, sizes[0]))
    outputs = model(torch.from_numpy(x)).detach().numpy()
    # the same sums of at most 6 terms over at most 4 layers, in another order
    assert_allclose(outputs.reshape(7, -1), network.preactivations(x)[-1], rtol=1e-12, atol=1e-12)


def test_to_torch_is_float64_trainable_and_draws_no_random_numbers():
    state = torch.get_rng_state()
    network = bf.networks.gaussian((3, 4, 1), scale=1.0)
    model = network.to_torch()
    assert torch.equal(torch.get_rng_state(), state)
    assert all(p.dtype == torch.float64 and p.requires_grad for p in model.parameters())
    with torch.no_grad():
        next(model.parameters()).zero_()
    assert network.weights[0].all()


def test_float32_models_are_copied_to_float64_and_left_alone():
    model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 1, bias=False))
    before = [p.detach().clone() for p in model.parameters()]
    network = bf.Network.from_torch(model)
    assert network.weights[0].dtype == np.float64
    assert np.array_equal(network.weights[0], before[0].numpy().astype(float))
    assert all(torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True))
    with torch.no_grad():
        next(model.parameters()).zero_()
    assert network.weights[0].any()


def test_nesting_and_modules_that_do_nothing_are_passed_over():
    inner = nn.Sequential(nn.Linear(3, 4), nn.Identity(), nn.LeakyReLU(0.25))
    model = (
        nn.Sequential(nn.Flatten(), nn.Sequential(inner, nn.Dropout(0.5)), nn.Linear(4, 2)).eval().double()
    )
    network = bf.Network.from_torch(model)
    assert (network.sizes, network.leak) == ((3, 4, 2), 0.25)
    x = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert_allclose(network(x.numpy()), model(x).detach().numpy(), rtol=1e-13, atol=1e-14)


def test_missing_biases_become_zeros():
    network = bf.Network.from_torch(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1, bias=False)))
    assert network.biases is not None
    assert network.biases[0].shape == (3,)
    assert network.biases[1].tolist() == [0.0]


def test_models_without_activations_are_linear():
    network = bf.Network.from_torch(nn.Sequential(nn.Linear(2, 3, bias=False), nn.Linear(3, 1, bias=False)))
    assert network.leak == 1
    assert bf.Network.from_torch(nn.Linear(2, 1)).leak == 1


def test_the_slope_at_zero_is_the_leak():
    for leak in (0.0, 0.3):
        module = bf.Network((np.eye(1), np.eye(1)), leak=leak).to_torch()
        z = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        module[1](z).sum().backward()
        assert z.grad is not None
        assert z.grad.item() == leak


class Doubling(nn.Linear):
    """A subclass of Linear with another forward pass."""

    def forward(self, input):
        return 2 * super().forward(input)


def stack(*parts):
    return nn.Sequential(*parts)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            stack(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)),
            "cannot convert a Tanh; allowed are .*LeakyReLU",
        ),
        (stack(nn.Conv2d(1, 1, 1)), "cannot convert a Conv2d"),
        (nn.Bilinear(1, 1, 1), "cannot convert a Bilinear.*torch.nn.Sequential first"),
        (Doubling(2, 1), "cannot convert a Doubling"),
        ("model", "cannot convert a str"),
        (stack(), "got no layers"),
        (stack(nn.ReLU()), "start and end with Linear, got ReLU"),
        (stack(nn.Linear(2, 1), nn.ReLU()), "start and end with Linear, got Linear, ReLU"),
        (stack(nn.ReLU(), nn.Linear(2, 1)), "got ReLU, Linear"),
        (stack(nn.Linear(2, 3), nn.ReLU(), nn.ReLU(), nn.Linear(3, 1)), "must alternate"),
        (stack(nn.Linear(2, 3), nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1)), "must alternate"),
        (
            stack(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3), nn.LeakyReLU(0.1), nn.Linear(3, 1)),
            r"same slope below 0, got \[0.0, 0.1\]",
        ),
        (stack(nn.Linear(2, 3), nn.LeakyReLU(1.5), nn.Linear(3, 1)), "leak must lie in"),
        (stack(nn.Linear(2, 3), nn.ReLU(), nn.Linear(4, 1)), "W_1 has 3 outputs but W_2 takes 4 inputs"),
    ],
)
def test_other_models_are_refused(model, message):
    invalid(message, bf.Network.from_torch, model)


def test_weights_that_are_not_finite_are_refused():
    model = nn.Linear(2, 1)
    with torch.no_grad():
        model.weight[0, 1] = float("nan")
    invalid(r"W_1 must be finite, got nan at index \(0, 1\)", bf.Network.from_torch, model)


def test_without_pytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'biasfree\[torch\]'"):
        bf.networks.gaussian((2, 1), scale=1.0).to_torch()
    with pytest.raises(ImportError, match=r"pip install 'biasfree\[torch\]'"):
        bf.Network.from_torch(object())  # type: ignore[arg-type]


def a_hook(*_):
    """A hook without effect, which cannot be known from the weights."""


def pruned(model):
    from torch.nn.utils import prune

    prune.l1_unstructured(model[0], "weight", amount=0.5)


def shadowed(model):
    model[0].forward = lambda x: 2 * x


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m: m[2].register_forward_hook(a_hook),
            r"a Linear of the model has a forward hook \(a_hook\)",
        ),
        (lambda m: m[1].register_forward_pre_hook(a_hook), "a ReLU of the model has a forward hook"),
        (lambda m: m.register_forward_hook(a_hook), "a Sequential of the model has a forward hook"),
        (pruned, r"forward hook \(L1Unstructured\).*torch\.nn\.utils\.prune\.remove"),
        (shadowed, "cannot convert a Linear"),
        (lambda m: m.to(torch.complex64), "W_1 must hold floating-point numbers, got torch.complex64"),
        (lambda m: m.to("meta"), "W_1 must be a dense PyTorch tensor, got a meta one"),
    ],
)
@pytest.mark.filterwarnings("ignore:Complex modules")
def test_models_not_determined_by_their_weights_are_refused(change, message):
    model = stack(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    change(model)
    invalid(message, bf.Network.from_torch, model)


def test_a_hook_on_every_module_is_refused():
    handle = nn.modules.module.register_module_forward_hook(a_hook)
    try:
        invalid(r"forward hook \(a_hook\)", bf.Network.from_torch, nn.Linear(2, 1))
    finally:
        handle.remove()


def test_weights_that_are_computed_are_read_as_they_are():
    model = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    with torch.no_grad():
        model.parametrizations.weight.original0.mul_(3)
    assert_array_equal(bf.Network.from_torch(model).weights[0], model.weight.detach().double())


def tensors():
    """The same numbers, exact in each type, on every path into NumPy."""
    plain = torch.tensor([[1.0, -0.5], [0.25, 2.0], [0.0, 3.0]])
    yield from (plain, plain.bfloat16(), plain.half(), plain.double().requires_grad_(), nn.Parameter(plain))
    yield [row.requires_grad_() for row in plain.clone()]


@pytest.mark.parametrize("x", list(tensors()), ids=lambda x: str(getattr(x, "dtype", "list")))
def test_tensors_are_arrays(x):
    expected = [[1.0, -0.5], [0.25, 2.0], [0.0, 3.0]]
    network = bf.Network((x,), biases=(torch.zeros(3, requires_grad=True),))
    assert bf.Dataset(x, torch.ones(3, requires_grad=True)).x.tolist() == expected
    assert network.weights[0].tolist() == expected
    data = bf.diagnose(data=(x, torch.ones(3, requires_grad=True))).data
    assert data is not None
    assert data.x.tolist() == expected


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(3, 2).to_sparse(), "x must be a dense PyTorch tensor, got a sparse_coo one; convert it"),
        (torch.ones(3, 2, device="meta"), "x must be a dense PyTorch tensor, got a meta one"),
        (torch.ones(3, 2, dtype=torch.complex64).conj(), "x must hold real numbers, .* complex64"),
    ],
)
def test_tensors_that_are_no_arrays_are_refused(x, message):
    invalid(message, bf.Dataset, x, np.ones(3))
    invalid(message, bf.diagnose, data=(x, np.ones(3)))
