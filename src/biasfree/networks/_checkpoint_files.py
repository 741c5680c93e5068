"""Checkpoints in the order of training, and their weights put into a PyTorch model for a while."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from biasfree.files import as_path, existing_file
from biasfree.networks._weight_files import natural_order

SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors", ".npz")
#: Files that training scripts store beside the model.
_BESIDE = ("optimizer", "scheduler", "rng_state", "scaler", "random_states")
#: What wrappers write before the names of the weights.
_WRAPPERS = ("module.", "model.", "_orig_mod.", "net.", "network.")


def checkpoint_files(where: str | os.PathLike[str] | Sequence[Any]) -> tuple[Path, ...]:
    """The checkpoints of a folder and its subfolders, step 9 before step 10; or of a list, in its order."""
    if not isinstance(where, str | os.PathLike | Iterable):
        raise ValueError(f"checkpoints must be a folder or a list of files, got a {type(where).__name__}.")
    if not isinstance(where, str | os.PathLike):
        files = [existing_file(path) for path in where]
        if not files:
            raise ValueError("the list of checkpoints is empty; pass file names or a folder.")
        return tuple(files)
    folder = as_path(where)
    if folder.is_file():
        return (folder,)
    if not folder.is_dir():
        raise ValueError(f"no folder {folder}; check the path, which is relative to {Path.cwd()}.")
    found = [
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix.lower() in SUFFIXES and not path.name.lower().startswith(_BESIDE)
    ]
    if not found:
        raise ValueError(f"{folder} has no checkpoints; they end in {', '.join(SUFFIXES)}.")
    return tuple(sorted(found, key=lambda path: natural_order(str(path.relative_to(folder)))))


def checkpoint_steps(files: Sequence[Path]) -> tuple[int, ...] | None:
    """The steps in the names: the last number that differs from file to file; None if there is none."""
    names = [re.sub(r"(?<=\d)_(?=\d)", "", str(file.with_suffix(""))) for file in files]
    texts = {tuple(re.split(r"\d+", name)) for name in names}
    numbers = [[int(number) for number in re.findall(r"\d+", name)] for name in names]
    if len(texts) != 1 or len(files) < 2:
        return None
    for column in reversed(list(zip(*numbers, strict=True))):
        if len(set(column)) == len(files):
            return tuple(column)
    return None


@contextmanager
def borrowed_weights(model: Any) -> Iterator[None]:
    """The model may be given other weights meanwhile; at the end it has its own again."""
    own = {name: value.detach().clone() for name, value in model.state_dict().items()}
    try:
        yield
    finally:
        model.load_state_dict(own)


def put_weights_into(model: Any, state: Mapping[str, np.ndarray], path: Path) -> None:
    """Give the model these weights; raises ValueError where names or shapes do not fit."""
    import torch

    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    state = _unwrapped(state, expected)
    missing = expected.keys() - state.keys()
    foreign = state.keys() - expected.keys()
    if missing or foreign:
        raise ValueError(
            f"{path} does not fit {type(model).__name__}: it lacks {_some(missing)} and has {_some(foreign)} "
            "in excess; pass the model that was saved."
        )
    for name, shape in expected.items():
        if state[name].shape != shape:
            raise ValueError(f"{name} in {path} has shape {state[name].shape}, the model's has {shape}.")
    model.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in state.items()})


def _unwrapped(state: Mapping[str, np.ndarray], expected: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The state without what wrappers write before all names."""
    state = dict(state)
    while state.keys() != expected.keys():
        prefix = next((w for w in _WRAPPERS if state and all(n.startswith(w) for n in state)), None)
        if prefix is None:
            return state
        state = {name.removeprefix(prefix): value for name, value in state.items()}
    return state


def _some(names: Any) -> str:
    listed = sorted(names)
    return (", ".join(listed[:3]) + (" …" if len(listed) > 3 else "")) or "nothing"
