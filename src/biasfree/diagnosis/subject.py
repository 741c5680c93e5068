"""What is diagnosed: a model as a function and, where it can be read, as a network; data of any shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree.arrays import real
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.networks.pytorch import function_of, is_module, network_of


@dataclass(frozen=True, eq=False)
class Subject:
    """A model: what it computes on flat samples (P, D), the network it is if that is known, what to know."""

    name: str
    function: Callable[[Any], np.ndarray]
    network: Network | None
    notes: tuple[str, ...] = ()


def subject_of(model: Any, *, leak: float | None, shape: tuple[int, ...] | None) -> Subject:
    """A Network, a PyTorch module, a sequence of weights or any function of samples, ready to be measured.

    `shape` is that of one sample as the model takes it, where it is not flat.
    """
    if isinstance(model, Network):
        return _of_network(_agreed(model, leak), ())
    if is_module(model):
        return _of_module(model, leak, shape)
    if isinstance(model, Sequence) and not isinstance(model, str):
        said = "" if leak is not None else " (not given: 0, ReLU, is assumed)"
        network = Network(tuple(model), leak=0.0 if leak is None else leak)
        return _of_network(network, (f"weights alone do not say the leak{said}: {network.leak:g}.",))
    if callable(model):
        name = getattr(model, "__name__", type(model).__name__)
        note = f"{name} is known by its outputs only, so nothing is said of its weights."
        return Subject(name, _shaped(model, shape), None, (note,))
    raise ValueError(
        "a model is a bf.Network, a torch.nn.Module, a list of weights (W_1, …, W_L) or a function of the "
        f"samples, got a {type(model).__name__}."
    )


def dataset_of(data: Any) -> tuple[Dataset, tuple[int, ...] | None]:
    """A Dataset, or (x, y) with samples of any shape; and the shape of a sample unless it is flat."""
    if isinstance(data, Dataset):
        return data, None
    if not isinstance(data, Sequence | tuple) or len(data) != 2:
        raise ValueError(f"data are a bf.Dataset or a pair (x, y), got a {type(data).__name__}.")
    x, y = (_plain(part) for part in data)
    if x.ndim < 2:
        return Dataset(x, y), None  # which says what is wrong with it
    return Dataset(x.reshape(len(x), -1), y), x.shape[1:] if x.ndim > 2 else None


def _plain(values: Any) -> np.ndarray:
    """An array, also of a PyTorch tensor that tracks gradients."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)


def _of_network(network: Network, notes: tuple[str, ...]) -> Subject:
    return Subject(repr(network), network, network, notes)


def _of_module(model: Any, leak: float | None, shape: tuple[int, ...] | None) -> Subject:
    """A module as the network it is; else as a function, with the reason why."""
    try:
        network = network_of(model)
    except ValueError as error:
        note = f"the layers of {type(model).__name__} are not measured, only its outputs: {error}"
        return Subject(type(model).__name__, _shaped(function_of(model), shape), None, (note,))
    return _of_network(_agreed(network, leak), ())


def _agreed(network: Network, leak: float | None) -> Network:
    if leak is not None and leak != network.leak:
        raise ValueError(
            f"the model's own leak is {network.leak:g}, but leak={leak:g} was given; leave it out."
        )
    return network


def _shaped(function: Callable[[Any], Any], shape: tuple[int, ...] | None) -> Callable[[Any], np.ndarray]:
    """The function on flat samples, its outputs with their axis."""

    def flat(x: Any) -> np.ndarray:
        x = real("x", x)
        found = _plain(function(x if shape is None else x.reshape(len(x), *shape)))
        if found.ndim == 0 or len(found) != len(x):
            raise ValueError(
                f"the model must give one output or row of outputs a sample, got {found.shape} for {len(x)}."
            )
        return real("the model's outputs", found.reshape(len(x), -1))

    return flat
