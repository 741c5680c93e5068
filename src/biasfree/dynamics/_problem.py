"""Weights as simulators take them, and the arguments that all simulators share, checked beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from biasfree.arrays import Float, increasing_times, non_negative
from biasfree.data import Dataset, Population
from biasfree.losses import loss_named
from biasfree.networks import Network
from biasfree.trajectory import Trajectory

if TYPE_CHECKING:
    Array = Any  # NumPy's on the way in, JAX's inside a compiled program


class Params(NamedTuple):
    """The weights of a network as arrays; `biases` is empty for a bias-free network."""

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, "_"], ...] = ()


def params_of(network: Network) -> Params:
    """The weights of a network as the compiled programs take them."""
    return Params(network.weights, network.biases or ())


Item = TypeVar("Item")


@dataclass(frozen=True)
class Problem:
    """Networks with their datasets, loss and trained layers; `single` if the caller gave one network."""

    networks: tuple[Network, ...]
    datasets: tuple[Dataset, ...]
    loss: str
    l2: float
    train: tuple[bool, ...]
    single: bool

    def answer(self, trajectories: list[Trajectory]) -> Trajectory | list[Trajectory]:
        """The only trajectory if the caller gave one network, else the list of trajectories."""
        return trajectories[0] if self.single else trajectories

    def has_no_kinks(self, i: int) -> bool:
        """Whether the field of a network has no kinks: it is linear, its hidden layers are fixed, or its
        inputs are zero."""
        network = self.networks[i]
        blind = network.biases is None and not self.datasets[i].x.any()
        return network.leak == 1 or not any(self.train[:-1]) or blind


def problem_of(
    network: Network | Sequence[Network],
    data: Dataset | Population | Sequence[Dataset] | Sequence[Population],
    *,
    loss: str,
    l2: float,
    train: Sequence[bool] | None,
) -> Problem:
    """The arguments as a Problem, or a ValueError that names the wrong one."""
    if has_populations(data):
        raise ValueError("this simulator needs samples, got a Population; use population.sample(n, seed).")
    data = _dataset_of_pair(data)
    networks, datasets = paired(network, data, Dataset)
    same_shapes("datasets", [(d.x.shape, d.targets.shape) for d in datasets])
    _check_fit(networks[0], datasets[0])
    for one in dict.fromkeys(datasets):
        loss_named(loss).check(one.y)
    trained = trained_layers(train, networks[0].depth)
    return Problem(networks, datasets, loss, non_negative("l2", l2), trained, isinstance(network, Network))


def paired(
    network: Network | Sequence[Network], data: Any, kind: type[Item]
) -> tuple[tuple[Network, ...], tuple[Item, ...]]:
    """All networks, and the data of each, which are of this kind and may be one for all."""
    networks = (network,) if isinstance(network, Network) else _items_of("network", network, Network)
    many = (data,) * len(networks) if isinstance(data, kind) else _items_of("data", data, kind)
    name = kind.__name__
    if isinstance(network, Network) and not isinstance(data, kind):
        raise ValueError(f"one network takes one {name}, got a list; give a list of networks too.")
    if len(many) != len(networks):
        raise ValueError(
            f"got {len(networks)} networks but {len(many)} {name.lower()}s; give as many, or one for all."
        )
    same_shapes("networks", [(n.sizes, n.biases is None) for n in networks])
    return networks, many


def _dataset_of_pair(data: Any) -> Any:
    """The Dataset of a pair (x, y) of arrays; anything else is returned as it is."""
    if not isinstance(data, tuple | list) or len(data) != 2:
        return data
    if any(isinstance(part, Dataset | Population | str) or not hasattr(part, "__len__") for part in data):
        return data
    return Dataset(*data)


def has_populations(data: Any) -> bool:
    """Whether `data` is a Population, or a list with one."""
    if isinstance(data, Sequence) and not isinstance(data, str):
        return any(isinstance(one, Population) for one in data)
    return isinstance(data, Population)


def _items_of(name: str, value: Any, kind: type[Item]) -> tuple[Item, ...]:
    """The items of a list, or a ValueError if it is empty or has an item of another kind."""
    expected = f"{name} must be a {kind.__name__} or a list of them"
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError(f"{expected}, got {type(value).__name__}.")
    if not value:
        raise ValueError(f"{expected}, got an empty list.")
    for item in value:
        if not isinstance(item, kind):
            raise ValueError(f"{expected}, got a list with a {type(item).__name__}.")
    return tuple(value)


def same_shapes(name: str, shapes: Sequence[object]) -> None:
    """Refuse shapes that differ."""
    if other := [shape for shape in shapes if shape != shapes[0]]:
        raise ValueError(f"{name} in a list must have equal shapes, got {shapes[0]} and {other[0]}.")


def _check_fit(network: Network, data: Dataset) -> None:
    if network.sizes[0] != data.dimensions:
        raise ValueError(
            f"the network takes {network.sizes[0]} inputs but x has {data.dimensions} columns; "
            f"the first layer should have shape ({network.sizes[1]}, {data.dimensions})."
        )
    if network.sizes[-1] != data.outputs:
        raise ValueError(
            f"the network has {network.sizes[-1]} outputs but y has {data.outputs}; "
            f"the last layer should have shape ({data.outputs}, {network.sizes[-2]})."
        )


def trained_layers(train: Sequence[bool] | None, depth: int) -> tuple[bool, ...]:
    """Whether each layer is trained; None trains all."""
    if train is None:
        return (True,) * depth
    train = tuple(train)
    if len(train) != depth or not all(isinstance(t, bool) for t in train) or not any(train):
        raise ValueError(
            f"train must hold one True or False per layer, at least one True, got {train} for {depth} layers."
        )
    return train


def times_of(network: Network | Sequence[Network], ts: Any) -> list[np.ndarray]:
    """The times of each network if `ts` is a list of lists and `network` a list, else those of all."""
    if isinstance(network, Network) or not isinstance(ts, Sequence | np.ndarray) or isinstance(ts, str):
        return [_checked_times(ts)]
    lists = [isinstance(one, Sequence) or getattr(one, "ndim", 0) == 1 for one in ts]
    return [_checked_times(one) for one in ts] if lists and all(lists) else [_checked_times(ts)]


def _checked_times(ts: Any) -> np.ndarray:
    times = increasing_times(ts)
    late = times[times > 0]
    if len(late) and late[0] < np.finfo(float).tiny:  # compiled programs flush such numbers to zero
        raise ValueError(
            f"ts must be 0 or at least {np.finfo(float).tiny:.3g}, got {late[0]:.3g}; measure time in "
            "smaller units."
        )
    return times


def for_each(times: list[np.ndarray], networks: int) -> list[np.ndarray]:
    """The times of every network."""
    if len(times) not in (1, networks):
        raise ValueError(
            f"got {networks} networks but {len(times)} lists of times; give as many, or one for all."
        )
    return times if len(times) == networks else times * networks
