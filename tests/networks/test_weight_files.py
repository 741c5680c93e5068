"""Networks read from files of weights, and one-sentence errors for other files."""

import itertools
import json
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import biasfree as bf
from biasfree.networks import load_network, load_state
from refusals import invalid

WEIGHTS = {"0.weight": np.arange(6.0).reshape(3, 2) / 7, "2.weight": np.ones((1, 3))}


def safetensors(path, arrays, *, kinds=None):
    """The format as published: 8 bytes of length, a JSON header, raw numbers."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, value in arrays.items():
        kind, code = (kinds or {}).get(name, ("F64", "<f8"))
        raw = value.astype(code).tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(value.shape),
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return path


def test_npz_of_a_network(tmp_path):
    network = bf.networks.gaussian((2, 3, 1), scale=1.0, leak=0.2)
    network.save(tmp_path / "n.npz")
    assert load_network(tmp_path / "n.npz").leak == 0.2
    assert load_network(tmp_path / "n.npz", leak=0.2).leak == 0.2
    invalid(r"the leak in .* is 0\.2, but leak=0 was given", load_network, tmp_path / "n.npz", leak=0.0)


@pytest.mark.parametrize("leak", [None, 0.3])
def test_safetensors(tmp_path, leak):
    biased = WEIGHTS | {"2.bias": np.array([0.5])}
    network = load_network(safetensors(tmp_path / "a.safetensors", biased), leak=leak)
    assert (network.sizes, network.leak) == ((2, 3, 1), leak or 0.0)
    assert_array_equal(network.weights[0], WEIGHTS["0.weight"])
    assert network.biases is not None
    assert [b.tolist() for b in network.biases] == [[0, 0, 0], [0.5]]


def test_safetensors_of_other_precisions_and_in_the_order_of_the_alphabet(tmp_path):
    chain = {f"{i}.weight": np.full((1, 1), float(i)) for i in (10, 2, 0)}
    path = safetensors(
        tmp_path / "a.safetensors", chain, kinds={"2.weight": ("F32", "<f4"), "0.weight": ("F16", "<f2")}
    )
    assert [w.item() for w in load_network(path).weights] == [0, 2, 10]
    upper = (np.array([[1.5]], "<f4").view("<u4") >> 16).astype("<u2")
    path = safetensors(tmp_path / "b.safetensors", {"weight": upper}, kinds={"weight": ("BF16", "<u2")})
    assert load_network(path).weights[0].item() == 1.5


def test_state_dict(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1, bias=False))
    torch.save(model.state_dict(), tmp_path / "m.pt")
    network, expected = load_network(tmp_path / "m.pt"), bf.Network.from_torch(model)
    assert network.biases is not None
    assert expected.biases is not None
    for one, other in zip(network.weights + network.biases, expected.weights + expected.biases, strict=True):
        assert_array_equal(one, other)
    torch.save(model, tmp_path / "whole.pt")
    with pytest.raises(ValueError, match=r"is not a state dict.*torch\.save\(model\.state_dict\(\), path\)"):
        load_network(tmp_path / "whole.pt")
    torch.save([1, 2], tmp_path / "list.pt")
    invalid("contains a list, not a state dict", load_network, tmp_path / "list.pt")
    torch.save({"model": model.state_dict(), "epoch": 3}, tmp_path / "checkpoint.pt")
    with pytest.raises(ValueError, match="contains 'model', a OrderedDict, so it is not a state dict"):
        load_network(tmp_path / "checkpoint.pt")


def first_layer(torch, **options):
    """The state dict of 3→4→1 with another tensor in place of its first weight."""
    return {"0.weight": torch.ones(4, 3, **options), "2.weight": torch.ones(1, 4)}


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float8_e4m3fn"])
def test_floating_point_weights_of_a_state_dict_are_exact(tmp_path, kind):
    torch = pytest.importorskip("torch")
    value = torch.linspace(-2, 3, 12).reshape(4, 3).to(getattr(torch, kind))
    torch.save(first_layer(torch) | {"0.weight": torch.nn.Parameter(value)}, tmp_path / "m.pt")
    network = load_network(tmp_path / "m.pt")
    assert network.sizes == (3, 4, 1)
    assert network.weights[0].ravel().tolist() == [float(v) for v in value.ravel()]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: first_layer(t, dtype=t.int64), r"0\.weight in .* must hold floating-point .*torch\.int64"),
        (lambda t: first_layer(t) | {"0.mask": t.ones(4, 3).bool()}, r"0\.mask in .* got torch\.bool"),
        (lambda t: first_layer(t, dtype=t.complex64), r"0\.weight in .* got torch\.complex64"),
        (
            lambda t: first_layer(t) | {"0.weight": t.ones(4, 3).to_sparse()},
            "a dense PyTorch tensor.* sparse",
        ),
        (lambda t: first_layer(t) | {"0.weight": t.ones(1).expand(10**7, 10**6)}, "needs 80,000,0"),
        (
            lambda t: {"0.weight_orig": t.ones(4, 4), "0.weight_mask": t.zeros(4, 4)},
            r"more than the weights and biases .*0\.weight_orig \(4, 4\)",
        ),
    ],
)
def test_no_tensor_of_a_state_dict_is_dropped(tmp_path, change, message):
    torch = pytest.importorskip("torch")
    torch.save(change(torch), tmp_path / "m.pt")
    invalid(message, load_network, tmp_path / "m.pt")


def with_header(header, body=b"\0" * 64):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def entry(**change):
    return {"w": {"dtype": "F64", "shape": [2, 4], "data_offsets": [0, 64], **change}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (with_header(b"[" * 100_000), "its header is not JSON"),
        (with_header(b'{"a":' * 100_000), "its header is not JSON"),
        (with_header(b'{"w": {}, "w": {}}'), "a name in it is given twice"),
        (with_header([1]), "its header is not an object"),
        (with_header({"w": 3}), "entry w lacks a dtype, shape or offsets"),
        (with_header(entry(shape=[-1, 4])), r"shape \[-1, 4\] .* does not match its bytes"),
        (with_header(entry(shape=[10**9, 10**9])), "does not match its bytes"),
        (with_header(entry(data_offsets=[0, 10**18])), "does not match its bytes"),
        (with_header(entry(data_offsets=[-64, 0])), "does not match its bytes"),
        (with_header(entry(dtype="I64")), "w in .* has dtype I64; only floating-point weights are read"),
        (with_header(entry() | {f"{'9' * 5000}.weight": entry()["w"]}), "not a chain of Linear layers"),
    ],
    ids=itertools.count(),
)
def test_damaged_safetensors_give_one_sentence(tmp_path, content, message):
    (tmp_path / "a.safetensors").write_bytes(content)
    invalid(message, load_network, tmp_path / "a.safetensors")


def test_safetensors_that_share_their_numbers_do_not_fill_the_memory(tmp_path):
    """300 entries that refer to the same megabyte."""
    whole = {"dtype": "F64", "shape": [2**17, 1], "data_offsets": [0, 2**20]}
    (tmp_path / "a.safetensors").write_bytes(with_header({str(i): whole for i in range(300)}, b"\0" * 2**20))
    invalid("needs 314,572,800 in memory", load_network, tmp_path / "a.safetensors")


class Trap:
    def __reduce__(self):
        return print, ("a file was unpickled",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.safetensors", b"", "not a readable .safetensors file"),
        ("a.safetensors", b"\x05\x00\x00\x00\x00\x00\x00\x00hello", "not a readable .safetensors file"),
        ("a.pt", b"nonsense", "is not a state dict"),
        ("a.pt", pickle.dumps(Trap()), "is not a state dict"),
        ("a.txt", b"1 2 3", r"a model must be a \.npz, \.pt, \.pth or \.safetensors file"),
        ("a.npz", b"nonsense", "npz file"),
    ],
)
def test_bad_files_give_one_sentence(tmp_path, capsys, name, content, message):
    (tmp_path / name).write_bytes(content)
    if name.endswith(".pt"):
        pytest.importorskip("torch")
    invalid(message, load_network, tmp_path / name)
    assert "unpickled" not in capsys.readouterr().out
    invalid("no file", load_network, tmp_path / "missing.pt")


def test_files_other_than_a_chain_of_linear_layers_are_refused(tmp_path):
    conv = {"conv.weight": np.ones((2, 1, 3, 3)), "fc.weight": np.ones((1, 2))}
    with pytest.raises(ValueError, match=r"more than the weights and biases .*conv\.weight \(2, 1, 3, 3\)"):
        load_network(safetensors(tmp_path / "a.safetensors", conv))
    with pytest.raises(ValueError, match="not a chain of Linear layers: W_1 has 3 outputs but W_2 takes 2"):
        load_network(safetensors(tmp_path / "b.safetensors", {"w1": np.ones((3, 2)), "w2": np.ones((1, 2))}))
    invalid("contains no weights", load_network, safetensors(tmp_path / "c.safetensors", {}))


def square(*names):
    return {name: np.ones((4, 4)) for name in names}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            square("weight_ih_l0", "weight_hh_l0"),
            r"more than .* weight_hh_l0 \(4, 4\), weight_ih",
        ),
        (square("embedding"), r"more than the weights and biases of Linear layers: embedding \(4, 4\); pass"),
        (
            square(*(f"{part}.weight" for part in "qkvo")),
            r"several orders .* k\.weight, o\.weight",
        ),
        (
            square("0.q_proj.weight", "0.k_proj.weight"),
            "do not say which; number them, as 0.weight",
        ),
        (square("0.up.weight", "0.down.weight", "1.up.weight", "1.down.weight"), "several orders"),
        ({"encoder.weight": np.ones((2, 5)), "decoder.weight": np.ones((5, 2))}, "taken for a chain"),
    ],
)
def test_what_is_no_chain_of_linear_layers_is_not_read_as_one(tmp_path, arrays, message):
    """Recurrent layers, attention and blocks beside each other, whose shapes could be those of a chain."""
    invalid(message, load_network, safetensors(tmp_path / "a.safetensors", arrays))


@pytest.mark.parametrize(
    "arrays",
    [
        square("0.weight", "2.weight", "10.weight"),
        square("0.0.weight", "0.2.weight", "1.weight"),
        square("fc1.weight", "fc2.weight") | {"out.weight": np.ones((1, 4))},
        square("blocks.0.fc1.weight", "blocks.0.fc2.weight", "blocks.1.fc1.weight", "blocks.1.fc2.weight"),
        square("weights.0", "weights.1"),
        square("W1", "W2"),
        {"hidden.weight": np.ones((3, 2)), "output.weight": np.ones((1, 3))},
    ],
)
def test_names_that_number_the_layers_and_shapes_that_fix_their_order_are_read(tmp_path, arrays):
    assert load_network(safetensors(tmp_path / "a.safetensors", arrays)).depth == len(arrays)


def test_a_state_dict_keeps_the_order_in_which_layers_were_defined(tmp_path):
    torch = pytest.importorskip("torch")
    codes = {"encoder.weight": torch.ones(2, 5), "decoder.weight": torch.ones(5, 2)}
    torch.save(codes, tmp_path / "a.pt")
    assert load_network(tmp_path / "a.pt").sizes == (5, 2, 5)
    torch.save({f"{part}.weight": torch.ones(4, 4) for part in "qkvo"}, tmp_path / "b.pt")
    invalid(r"q\.weight, k\.weight, v\.weight, o\.weight do not say which", load_network, tmp_path / "b.pt")


def test_checkpoints_have_counters_and_may_hold_an_optimizer(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).half()
    state = model.state_dict()
    optimizer = torch.optim.Adam(model.parameters()).state_dict()
    for name, content in {
        "plain.pt": state,
        "lightning.ckpt": {"epoch": 3, "state_dict": state, "optimizer_states": [optimizer]},
        "other.pth": {"optimizer": optimizer, "my_model": state},
    }.items():
        torch.save(content, tmp_path / name)
        found = load_state(tmp_path / name)
        assert found.keys() == state.keys()
        assert all(np.array_equal(found[key], state[key].numpy()) for key in state)
    counted = safetensors(
        tmp_path / "a.safetensors", WEIGHTS | {"n": np.array(7)}, kinds={"n": ("I64", "<i8")}
    )
    assert load_state(counted)["n"] == 7
    assert_array_equal(load_state(counted)["0.weight"], WEIGHTS["0.weight"])


def test_checkpoints_are_never_unpickled(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    torch.save({"state_dict": Trap()}, tmp_path / "bad.ckpt")
    invalid("is not a state dict, and no other", load_state, tmp_path / "bad.ckpt")
    assert capsys.readouterr().out == ""
    torch.save({"epoch": 3, "loss": 0.1}, tmp_path / "none.pt")
    invalid("has no state dict of a model, only epoch, loss; save one with", load_state, tmp_path / "none.pt")
    (tmp_path / "a.bin").write_bytes(b"")
    invalid(r"a checkpoint is a \.pt, \.pth, \.ckpt or \.safetensors file", load_state, tmp_path / "a.bin")
