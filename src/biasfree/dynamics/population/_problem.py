"""Arguments of a simulation on infinite data, checked before any computation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from biasfree.arrays import non_negative
from biasfree.data import Population
from biasfree.dynamics._problem import items_of, same_shapes, trained_layers
from biasfree.losses import loss_named
from biasfree.networks import Network
from biasfree.trajectory import Trajectory

_REMEDY = "train on samples, population.sample(n, seed)"


@dataclass(frozen=True)
class PopulationProblem:
    """Networks with their populations and trained layers; `single` if the caller gave one network."""

    networks: tuple[Network, ...]
    populations: tuple[Population, ...]
    l2: float
    train: tuple[bool, ...]
    single: bool

    def answer(self, trajectories: list[Trajectory]) -> Trajectory | list[Trajectory]:
        """The only trajectory if the caller gave one network, else the list of trajectories."""
        return trajectories[0] if self.single else trajectories


def population_problem(
    network: Network | Sequence[Network], data: Any, *, loss: str, l2: float, train: Sequence[bool] | None
) -> PopulationProblem:
    """The arguments as a problem, or a ValueError that names the wrong one and the remedy."""
    single = isinstance(network, Network)
    networks = (network,) if isinstance(network, Network) else items_of("network", network, Network)
    shared = isinstance(data, Population)
    populations = (
        (data,) * len(networks) if isinstance(data, Population) else items_of("data", data, Population)
    )
    if single and not shared:
        raise ValueError("one network takes one Population, got a list; give a list of networks too.")
    if len(populations) != len(networks):
        raise ValueError(
            f"got {len(networks)} networks but {len(populations)} populations; give as many, or one for all."
        )
    same_shapes("networks", [(n.sizes, n.biases is None) for n in networks])
    same_shapes("populations", [p.dimensions for p in populations])
    _check_covered(networks[0], populations[0], loss_named(loss).name)
    return PopulationProblem(
        networks, populations, non_negative("l2", l2), trained_layers(train, networks[0].depth), single
    )


def _check_covered(network: Network, population: Population, loss: str) -> None:
    """Refuse what exact means do not cover."""
    if network.sizes[0] != population.dimensions:
        raise ValueError(
            f"the network takes {network.sizes[0]} inputs but the population has {population.dimensions} "
            f"dimensions; the first layer should have shape ({network.sizes[1]}, {population.dimensions})."
        )
    if loss != "square":
        raise ValueError(f'infinite data needs loss="square", got {loss!r}; for other losses {_REMEDY}.')
    if network.biases is not None:
        raise ValueError(f"infinite data needs a network without biases, got {network!r}; or {_REMEDY}.")
    if network.depth != 2:
        raise ValueError(f"infinite data needs a network of two layers, got {network!r}; or {_REMEDY}.")
    if network.sizes[-1] != 1:
        raise ValueError(f"infinite data needs a network of one output, got {network!r}; or {_REMEDY}.")
