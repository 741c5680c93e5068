"""The weights of a network as a tuple of arrays, NumPy's or JAX's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from biasfree.arrays import Float
from biasfree.networks import Network

if TYPE_CHECKING:
    Array = Any  # NumPy's on the way in, JAX's inside a compiled program


class Params(NamedTuple):
    """The weights of a network as arrays; `biases` is empty for a bias-free network."""

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, "_"], ...] = ()


def params_of(network: Network) -> Params:
    """The weights of a network as the compiled programs take them."""
    return Params(network.weights, network.biases or ())
