"""Exact reduction of high-dimensional inputs: the first layer changes only in the span of the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Float, real
from biasfree.data import Dataset
from biasfree.networks._network import Network


@dataclass(frozen=True, eq=False)
class Span:
    """A network and its data in coordinates of the span of the inputs.

    x = zBᵀ with BᵀB = I: `data` has the inputs z, `network` the first layer W₁B, `basis` is B, and `rest` is
    W₁(I − BBᵀ), on which no output and no gradient depends.
    """

    network: Network
    data: Dataset
    basis: Float[np.ndarray, "D R"]
    rest: Float[np.ndarray, "H D"]

    def __post_init__(self):
        for name in ("basis", "rest"):
            object.__setattr__(self, name, real(name, getattr(self, name)))

    def restored(self, network: Network) -> Network:
        """`network`, trained on `data`, for the original inputs: W₁ = VBᵀ + rest, V its first layer."""
        first, *above = self._checked(network).weights
        return Network((first @ self.basis.T + self.rest, *above), leak=network.leak, biases=network.biases)

    def gram(self, network: Network) -> Float[np.ndarray, "H H"]:
        """W₁W₁ᵀ of the restored network, VVᵀ + rest·restᵀ, at a cost that does not depend on D."""
        first = self._checked(network).weights[0]
        return first @ first.T + self._rest_gram

    def _checked(self, network: Network) -> Network:
        expected = (len(self.rest), self.basis.shape[1])
        if (got := network.weights[0].shape) != expected:
            raise ValueError(
                f"the first layer must have shape {expected}, neurons by dimensions of the span, got {got}; "
                "pass a network trained from `network` on `data` of this span."
            )
        return network

    @cached_property
    def _rest_gram(self) -> Float[np.ndarray, "H H"]:
        return self.rest @ self.rest.T


@public
def in_span(network: Network, data: Dataset) -> Span:
    """`network` and `data` in the rank(x) dimensions of the span of the inputs; the reduction is exact.

    The rows of ∂L/∂W₁ = ⟨δxᵀ⟩ lie in the span of the inputs, so those of W₁(t) − W₁(0) do too, and f depends
    on W₁B alone. Train the returned `network` on the returned `data`, with any depth, loss and step, and
    convert the result with `restored`. Directions in which the inputs vary only by rounding are left out.

    Assumes: no L2, which would shrink `rest`.
    Reference: Frei et al. (2022), whose inputs have 10⁴ dimensions and 100 samples.
    """
    if data.dimensions != network.sizes[0]:
        raise ValueError(
            f"the network takes {network.sizes[0]} inputs, but x has {data.dimensions} dimensions."
        )
    _, singular, right = np.linalg.svd(data.x, full_matrices=False)
    if not singular[0]:
        raise ValueError("all inputs are zero, so their span has no dimension; pass other inputs.")
    basis = right[singular > singular[0] * max(data.x.shape) * np.finfo(float).eps].T
    first, *above = network.weights
    inside = first @ basis
    small = Network((inside, *above), leak=network.leak, biases=network.biases)
    return Span(small, Dataset(data.x @ basis, data.y), basis, first - inside @ basis.T)
