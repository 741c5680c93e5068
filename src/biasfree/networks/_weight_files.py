"""Networks read from `.npz`, `.pt` and `.safetensors` files, without unpickling."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from biasfree.arrays import as_array, non_negative
from biasfree.files import check_unpacked_size, existing_file, unpacked_size
from biasfree.networks._network import Network
from biasfree.networks._pytorch import floating

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_WHOLE = {"I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U8": "<u1", "BOOL": "<?"}
#: Names under which training scripts store the model beside the optimizer.
_ENTRIES = ("state_dict", "model_state_dict", "model", "network", "net", "weights")
#: The last part of the name of a Linear layer's weight; recurrent or pruned layers and embeddings use others.
_WEIGHT = re.compile(r"(?:^|\.)(?:weights?|w)[._]?\d*$", re.IGNORECASE)
_SAVE = "torch.save(model.state_dict(), path)"


def load_network(path: str | os.PathLike[str], *, leak: float | None = None) -> Network:
    """Read a network from a `.npz` file of `Network.save`, a state dict `.pt`, or a `.safetensors` file.

    State dicts contain no activations: the Linear layers, in stored order, alternate with (leaky) ReLU of
    slope `leak`, by default 0. Where shapes allow several orders, the names must number the layers.
    """
    path = existing_file(path)
    kind = path.suffix.lower()
    leak = None if leak is None else non_negative("leak", leak)
    if kind == ".npz":
        network = Network.load(path)
        if leak is not None and leak != network.leak:
            raise ValueError(f"the leak in {path} is {network.leak:g}, but leak={leak:g} was given.")
        return network
    readers = {".pt": _state_dict, ".pth": _state_dict, ".safetensors": _safetensors}
    if kind not in readers:
        raise ValueError(f"cannot read {path}: a model must be a .npz, .pt, .pth or .safetensors file.")
    return _chained(path, readers[kind](path), 0.0 if leak is None else leak)


def load_state(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The named arrays of a checkpoint, `.pt`, `.pth`, `.ckpt` or `.safetensors`; nothing is unpickled.

    Counters, such as those of BatchNorm, are read too. A checkpoint with more than a state dict, such as an
    optimizer, must have the state dict as an entry.
    """
    path = existing_file(path)
    kind = path.suffix.lower()
    if kind == ".safetensors":
        return _safetensors(path, _DTYPES | _WHOLE)
    if kind not in (".pt", ".pth", ".ckpt"):
        raise ValueError(f"cannot read {path}: a checkpoint is a .pt, .pth, .ckpt or .safetensors file.")
    tensors = _of_model(path, _loaded(path))
    check_unpacked_size(path, sum(8 * value.numel() for value in tensors.values()))
    return {str(name): as_array(f"{name} in {path}", value) for name, value in tensors.items()}


def _of_model(path: Path, found: Any) -> Mapping[str, Any]:
    """The state dict in what a checkpoint holds."""
    if _is_state(found):
        return found
    states = {name: part for name, part in found.items() if _is_state(part)}
    name = next((name for name in _ENTRIES if name in states), None)
    if name is None and len(states) == 1:
        name = next(iter(states))
    if name is None:
        raise ValueError(
            f"{path} has no state dict of a model, only {', '.join(map(str, found)) or 'nothing'}; "
            f"save one with {_SAVE}."
        )
    return states[name]


def _is_state(found: Any) -> bool:
    import torch

    return (
        isinstance(found, Mapping)
        and len(found) > 0
        and all(isinstance(value, torch.Tensor) for value in found.values())
    )


def _loaded(path: Path) -> Mapping[str, Any]:
    """What a `.pt` file holds, read as weights only."""
    try:
        import torch
    except ImportError:
        raise ValueError(f"reading {path} needs PyTorch; pip install 'biasfree[torch]'.") from None
    check_unpacked_size(path, unpacked_size(path))
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling another class may raise anything
        raise ValueError(
            f"{path} is not a state dict, and no other .pt files are read; save one with {_SAVE}."
        ) from error
    if not isinstance(found, Mapping):
        raise ValueError(
            f"{path} contains a {type(found).__name__}, not a state dict; save one with {_SAVE}."
        )
    return found


def _state_dict(path: Path) -> dict[str, np.ndarray]:
    found = _loaded(path)
    import torch

    if foreign := [
        f"{k!r}, a {type(v).__name__}" for k, v in found.items() if not isinstance(v, torch.Tensor)
    ]:
        raise ValueError(f"{path} contains {foreign[0]}, so it is not a state dict; save one with {_SAVE}.")
    check_unpacked_size(
        path, sum(8 * value.numel() for value in found.values())
    )  # a tensor expanded from one number is small in the file
    return {str(name): floating(f"{name} in {path}", value) for name, value in found.items()}


def _safetensors(path: Path, dtypes: Mapping[str, str] = _DTYPES) -> dict[str, np.ndarray]:
    """The arrays of a .safetensors file, which consists of a header length, a JSON header and raw numbers."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    if not 0 < size <= len(content) - 8:
        raise ValueError(f"{path} is not a readable .safetensors file: its header is incomplete.")
    header = _header(path, content[8 : 8 + size])
    body = memoryview(content)[8 + size :]
    names = sorted(header, key=natural_order)
    numbers = {name: _numbers(path, name, header[name], body, dtypes) for name in names}
    check_unpacked_size(path, sum(8 * value.size for value in numbers.values()))
    halves = {name for name in names if header[name]["dtype"] == "BF16"}
    return {
        name: _widened(value, name in halves).reshape(header[name]["shape"])
        for name, value in numbers.items()
    }


def _header(path: Path, text: bytes) -> dict[str, Any]:
    """The entries of the header by name."""
    try:
        header = json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a readable .safetensors file: its header is not JSON, {error}."
        ) from None
    if not isinstance(header, dict):
        raise ValueError(f"{path} is not a readable .safetensors file: its header is not an object.")
    return {name: entry for name, entry in header.items() if name != "__metadata__"}


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a name in it is given twice")
    return found


def natural_order(name: str) -> list[tuple[int, str]]:
    """A sort key that puts 2.weight before 10.weight; the files are sorted alphabetically."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,18})", name)]


def _numbers(path: Path, name: str, entry: Any, body: memoryview, dtypes: Mapping[str, str]) -> np.ndarray:
    """The numbers of a tensor as stored, in one dimension; a view, not a copy."""
    match entry:
        case {"dtype": str(kind), "shape": [*shape], "data_offsets": [int(start), int(end)]}:
            pass
        case _:
            raise ValueError(
                f"{path} is not a readable .safetensors file: entry {name} lacks a dtype, shape or offsets."
            )
    if kind not in dtypes:
        raise ValueError(
            f"{name} in {path} has dtype {kind}; only floating-point weights are read: {', '.join(dtypes)}."
            if dtypes is _DTYPES
            else f"{name} in {path} has dtype {kind}, which is not read; save it as {', '.join(dtypes)}."
        )
    dtype = np.dtype(dtypes[kind])
    whole = all(isinstance(n, int) and n >= 0 for n in shape)
    if not whole or not 0 <= start <= end <= len(body) or math.prod(shape) * dtype.itemsize != end - start:
        raise ValueError(
            f"{path} is not a readable .safetensors file: shape {shape} of {name} does not match its bytes "
            f"{start} to {end} of {len(body)}."
        )
    return np.frombuffer(body[start:end], dtype)


def _widened(numbers: np.ndarray, halves: bool) -> np.ndarray:
    """The numbers in float64, exactly; counters as they are. bfloat16 is the upper half of a float32."""
    if not halves and numbers.dtype.kind != "f":
        return numbers
    return ((numbers.astype("<u4") << 16).view("<f4") if halves else numbers).astype(np.float64)


def _chained(path: Path, arrays: Mapping[str, np.ndarray], leak: float) -> Network:
    """The network whose layers are the matrices, in order, with the vectors of matching names as biases."""
    matrices = [name for name, value in arrays.items() if value.ndim == 2 and _WEIGHT.search(name)]
    biases = {name: re.sub(r"weight$", "bias", name) for name in matrices}
    known = {*biases, *biases.values()}
    if foreign := [f"{name} {value.shape}" for name, value in arrays.items() if name not in known]:
        raise ValueError(
            f"{path} contains more than the weights and biases of Linear layers: {', '.join(foreign)}; pass "
            "the model itself to bf.diagnose, which measures its outputs."
        )
    if not matrices:
        raise ValueError(f"{path} contains no weights, only {', '.join(arrays) or 'no arrays at all'}.")
    weights = tuple(arrays[name] for name in matrices)
    given = [arrays.get(biases[name]) if biases[name] != name else None for name in matrices]
    filled = tuple(np.zeros(len(w)) if b is None else b for w, b in zip(weights, given, strict=True))
    try:
        network = Network(weights, leak=leak, biases=None if all(b is None for b in given) else filled)
    except ValueError as error:
        raise ValueError(f"{path} is not a chain of Linear layers: {error}") from None
    _check_order(path, matrices, network.sizes)
    return network


def _check_order(path: Path, names: list[str], sizes: tuple[int, ...]) -> None:
    """Raise ValueError if the layers could be chained in another order, and their names do not number them.

    q, k, v and o of an attention, or two heads on one layer, have such shapes. A `.safetensors` file does not
    keep the order of the layers either: an encoder comes after its decoder.
    """
    begins = [i for i, name in enumerate(names) if i == 0 or not _numbered(names[i - 1], name)]
    shapes = [(sizes[i], sizes[j]) for i, j in pairwise([*begins, len(names)])]
    closed = path.suffix.lower() == ".safetensors" and len(shapes) > 1 and sizes[0] == sizes[-1]
    if closed or len({*shapes}) < len(shapes):
        raise ValueError(
            f"{path} was taken for a chain of Linear layers, but their shapes allow several orders and the "
            f"names {', '.join(names)} do not say which; number them, as 0.weight, 1.weight, …, or pass the "
            "model itself to bf.diagnose, which measures its outputs."
        )


def _numbered(name: str, after: str) -> bool:
    """Whether two names differ in numbers only, and count upwards."""
    alike = [re.sub(r"\d+\.?", "", one) for one in (name, after)]
    return alike[0] == alike[1] and natural_order(name) < natural_order(after)
