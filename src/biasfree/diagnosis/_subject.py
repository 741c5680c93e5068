"""The subject of a diagnosis: a model as a function and, if possible, as a network, and its data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import as_array, real
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.networks._pytorch import function_of, is_module, network_of

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

_LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class Subject:
    """A model: its function of flat samples (P, D), its network if it can be converted, and notes."""

    name: str
    function: Callable[[ArrayLike], Float[np.ndarray, "P K"]]
    network: Network | None
    notes: tuple[str, ...] = ()


def subject_of(
    model: Any, data: Dataset | None, *, leak: float | None, shape: tuple[int, ...] | None
) -> Subject:
    """The subject for a Network, a PyTorch module, a sequence of weights or any function of samples.

    `shape` is the shape of one sample that the model expects, None if it is flat.
    """
    if isinstance(model, Network):
        return _of_network(_agreed(model, leak), ())
    if is_module(model):
        return _of_module(model, data, leak, shape)
    if isinstance(model, Sequence) and not isinstance(model, str):
        return _of_weights(model, leak)
    if callable(model) and not isinstance(model, type):
        name = getattr(model, "__name__", type(model).__name__)
        _check_no_leak(name, leak)
        note = f"only the outputs of {name} are measured: it is a function without known weights."
        return Subject(name, _shaped(model, shape), None, (note,))
    raise ValueError(
        "a model must be a bf.Network, a torch.nn.Module, a list of weights (W_1, …, W_L) or a function of "
        f"the samples, got {model if isinstance(model, type) else f'a {type(model).__name__}'}; pass data as "
        "data=."
    )


def dataset_of(data: Any) -> tuple[Dataset, tuple[int, ...] | None]:
    """The dataset for a Dataset or a pair (x, y), and the shape of one sample, None if it is flat."""
    if isinstance(data, Dataset):
        return data, None
    if not isinstance(data, Sequence | tuple) or len(data) != 2:
        raise ValueError(f"data must be a bf.Dataset or a pair (x, y), got a {type(data).__name__}.")
    x, y = (real(name, part) for name, part in zip("xy", data, strict=True))
    largest = max(max(part.max(initial=0), -part.min(initial=0)) for part in (x, y))
    if largest > _LARGEST:
        raise ValueError(f"the data have entries up to {largest:g}, whose squares overflow; rescale them.")
    if x.ndim < 2 or 0 in x.shape:
        return Dataset(x, y), None  # raises the error that names the wrong shape
    return Dataset(x.reshape(len(x), -1), y), x.shape[1:] if x.ndim > 2 else None


def _of_network(network: Network, notes: tuple[str, ...]) -> Subject:
    return Subject(repr(network), network, network, notes)


def _of_weights(weights: Sequence[Any], leak: float | None) -> Subject:
    arrays = tuple(as_array(f"W_{i}", w) for i, w in enumerate(weights, 1))
    if len(arrays) == 2 and arrays[0].ndim >= 2 and arrays[1].ndim == 1:
        raise ValueError("a matrix and a vector are not weights; pass data (x, y) as data=(x, y).")
    network = Network(arrays, leak=0.0 if leak is None else leak)
    note = () if leak is not None else ("the activation is not given: leak 0 (ReLU) is assumed.",)
    return _of_network(network, note)


def _of_module(
    model: Any, data: Dataset | None, leak: float | None, shape: tuple[int, ...] | None
) -> Subject:
    """A module as a network, if that has the same outputs; otherwise as a function."""
    name, function = type(model).__name__, _shaped(function_of(model), shape)
    try:
        network = network_of(model)
        if data is not None and data.dimensions == network.sizes[0]:
            _check_same(network, function, data.x[:20])
    except ValueError as error:
        _check_no_leak(name, leak)
        note = f"only the outputs of {name} are measured, not its layers: {error}"
        return Subject(name, function, None, (note,))
    return _of_network(_agreed(network, leak), ())


def _check_same(network: Network, function: Callable[[ArrayLike], np.ndarray], x: np.ndarray) -> None:
    """Raise ValueError if the module differs from the network of its layers, as without a Flatten."""
    expected, found = network.preactivations(x)[-1], function(x)
    # half precision has three digits, and sums of many terms lose one of them
    if found.shape != expected.shape or not np.allclose(
        found, expected, rtol=0.05, atol=0.05 * np.abs(expected).max()
    ):
        raise ValueError("its outputs differ from those of its layers, as happens without a Flatten.")


def _check_no_leak(name: str, leak: float | None) -> None:
    if leak is not None:
        raise ValueError(
            f"only the outputs of {name} are measured, so leak={leak:g} has no meaning; leave it out."
        )


def _agreed(network: Network, leak: float | None) -> Network:
    if leak is not None and leak != network.leak:
        raise ValueError(
            f"the leak of the model is {network.leak:g}, but leak={leak:g} was given; leave it out."
        )
    return network


def _shaped(
    function: Callable[[Any], Any], shape: tuple[int, ...] | None
) -> Callable[[ArrayLike], Float[np.ndarray, "P K"]]:
    """The function of flat samples, with an output axis."""

    def flat(x: ArrayLike) -> Float[np.ndarray, "P K"]:
        x = np.array(real("x", x))  # a copy: the model may write to its argument
        sample = shape or x.shape[1:]
        try:
            found = as_array("the model's outputs", function(x.reshape(len(x), *sample)))
        except Exception as error:  # a user's model may raise anything
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ValueError(f"the model fails on samples of shape {tuple(sample)}: {reason}") from error
        if found.dtype == object or found.ndim == 0 or len(found) != len(x):
            raise ValueError(
                "the model must return one output or row of outputs per sample, got "
                f"{type(found).__name__} of shape {found.shape} for {len(x)} samples."
            )
        return real("the model's outputs", found.reshape(len(x), -1))

    return flat
