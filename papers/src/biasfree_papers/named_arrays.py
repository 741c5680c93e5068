"""Numbers of a figure: a Dataset with named axes, as arrays and words that a file without pickles holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray

from biasfree.networks import Network

#: The name of the array that says which axes the others have.
AXES = "axes"


def as_arrays(numbers: xarray.Dataset) -> dict[str, np.ndarray]:
    """The arrays of a Dataset, and one that says which axes they have."""
    arrays = {str(name): np.asarray(array.values) for name, array in numbers.variables.items()}
    if AXES in arrays:
        raise ValueError(f"no number may be called {AXES!r}: that name is taken; rename it.")
    if odd := [name for name, array in arrays.items() if array.dtype.kind not in "biufU"]:
        raise ValueError(f"numbers must be arrays of numbers, words or truth values, unlike {odd}.")
    axes = {str(name): list(map(str, array.dims)) for name, array in numbers.variables.items()}
    told = {"axes": axes, "coordinates": sorted(map(str, numbers.coords))}
    return {**arrays, AXES: np.array(json.dumps(told, sort_keys=True))}


def as_dataset(arrays: Mapping[str, np.ndarray]) -> xarray.Dataset:
    """The Dataset that `as_arrays` made arrays of."""
    told = json.loads(str(arrays[AXES]))
    parts = {name: (tuple(axes), arrays[name]) for name, axes in told["axes"].items()}
    coords = {name: parts.pop(name) for name in told["coordinates"]}
    return xarray.Dataset(parts, coords)


def layers(prefix: str, network: Network) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """The weights PREFIX_W1, PREFIX_W2, … of a network, and its biases PREFIX_b1, … if it has any."""
    found: dict[str, Any] = {}
    for i, w in enumerate(network.weights, 1):
        found[f"{prefix}_W{i}"] = (f"{prefix}_layer{i}", f"{prefix}_layer{i - 1}"), w
    for i, b in enumerate(network.biases or (), 1):
        found[f"{prefix}_b{i}"] = (f"{prefix}_layer{i}",), b
    return found


def network_of(numbers: xarray.Dataset, prefix: str, *, leak: float = 0.0) -> Network:
    """The network whose layers are stored under a prefix."""
    weights, biases = (_stored(numbers, f"{prefix}_{kind}") for kind in "Wb")
    return Network(weights, leak=leak, biases=biases or None)


def _stored(numbers: xarray.Dataset, name: str) -> tuple[np.ndarray, ...]:
    found: list[np.ndarray] = []
    while (key := f"{name}{len(found) + 1}") in numbers:
        found.append(numbers[key].values)
    return tuple(found)
