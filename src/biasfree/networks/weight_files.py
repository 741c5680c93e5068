"""Networks read from files of weights: `.npz`, `.pt` and `.safetensors`. Nothing is ever unpickled."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from biasfree.arrays import non_negative
from biasfree.files import existing
from biasfree.networks.network import Network

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
_SAVE = "torch.save(model.state_dict(), path)"


def load_network(path: str | os.PathLike[str], *, leak: float | None = None) -> Network:
    """The network in a file: `.npz` as `Network.save` writes it, a state dict `.pt`, or `.safetensors`.

    A state dict has weights but no activations, so `leak` says what they are (0 unless given); the network
    alternates its Linear layers, in the order in which they are stored, with that activation.
    """
    path = existing(path)
    kind = path.suffix.lower()
    leak = None if leak is None else non_negative("leak", leak)
    if kind == ".npz":
        network = Network.load(path)
        if leak is not None and leak != network.leak:
            raise ValueError(f"{path} says that the leak is {network.leak:g}, but leak={leak:g} was given.")
        return network
    readers = {".pt": _state_dict, ".pth": _state_dict, ".safetensors": _safetensors}
    if kind not in readers:
        raise ValueError(f"cannot read {path}: a model is a .npz, .pt, .pth or .safetensors file.")
    return _chained(path, readers[kind](path), 0.0 if leak is None else leak)


def _state_dict(path: Path) -> dict[str, np.ndarray]:
    try:
        import torch
    except ImportError:
        raise ValueError(f"reading {path} needs PyTorch; pip install 'biasfree[torch]'.") from None
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a pickle of anything else fails in as many ways as there are classes
        raise ValueError(
            f"{path} is not a state dict, which is all that is read of a .pt file; save one with {_SAVE}."
        ) from error
    if not isinstance(found, Mapping) or not all(isinstance(v, torch.Tensor) for v in found.values()):
        raise ValueError(f"{path} holds a {type(found).__name__}, not a state dict; save one with {_SAVE}.")
    return {name: value.double().numpy() for name, value in found.items() if value.is_floating_point()}


def _safetensors(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a .safetensors file: the length of a JSON header, the header, then raw numbers."""
    content = path.read_bytes()
    try:
        size = int.from_bytes(content[:8], "little")
        if not 0 < size <= len(content) - 8:
            raise ValueError("its header is cut off")
        header: dict[str, Any] = json.loads(content[8 : 8 + size])
        body = content[8 + size :]
        names = sorted((name for name in header if name != "__metadata__"), key=_natural)
        return {name: _tensor(path, name, header[name], body) for name in names}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} is not a readable .safetensors file: {error}.") from None


def _natural(name: str) -> list[tuple[int, str]]:
    """2.weight before 10.weight: such files are written in the order of the alphabet."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _tensor(path: Path, name: str, entry: Mapping[str, Any], body: bytes) -> np.ndarray:
    start, end = entry["data_offsets"]
    if entry["dtype"] == "BF16":  # the upper half of a float32
        halves = np.frombuffer(body[start:end], "<u2").astype("<u4") << 16
        return halves.view("<f4").astype(float).reshape(entry["shape"])
    if entry["dtype"] not in _DTYPES:
        raise ValueError(
            f"{name} in {path} has dtype {entry['dtype']}; only floating-point weights are read."
        )
    return np.frombuffer(body[start:end], _DTYPES[entry["dtype"]]).astype(float).reshape(entry["shape"])


def _chained(path: Path, arrays: Mapping[str, np.ndarray], leak: float) -> Network:
    """Matrices as layers, in order, and the vectors of the same name as their biases."""
    matrices = [name for name, value in arrays.items() if value.ndim == 2]
    biases = {name: re.sub(r"weight$", "bias", name) for name in matrices}
    known = {*matrices, *(bias for name, bias in biases.items() if bias != name)}
    if foreign := [f"{name} {value.shape}" for name, value in arrays.items() if name not in known]:
        raise ValueError(
            f"{path} holds more than the weights and biases of Linear layers: {', '.join(foreign)}; pass the "
            "model itself to bf.diagnose, which measures what it computes."
        )
    if not matrices:
        raise ValueError(f"{path} holds no weights; it has {', '.join(arrays) or 'nothing'}.")
    weights = tuple(arrays[name] for name in matrices)
    given = [arrays.get(biases[name]) if biases[name] != name else None for name in matrices]
    filled = tuple(np.zeros(len(w)) if b is None else b for w, b in zip(weights, given, strict=True))
    try:
        return Network(weights, leak=leak, biases=None if all(b is None for b in given) else filled)
    except ValueError as error:
        raise ValueError(f"{path} is not a chain of Linear layers: {error}") from None
