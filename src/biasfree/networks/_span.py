"""High-dimensional inputs in few dimensions: the first layer moves only where there are samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import real
from biasfree.data import Dataset
from biasfree.networks._network import Network

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Span:
    """A network and its data in coordinates of the span of the inputs, and what stays out of it.

    x = zBᵀ with BᵀB = I: `data` holds z and the targets, `network` the first layer W₁B, `basis` is B, and
    `rest` is W₁(I − BBᵀ), on which no output and no gradient depends.
    """

    network: Network
    data: Dataset
    basis: Float[np.ndarray, "D R"]
    rest: Float[np.ndarray, "H D"]

    def __post_init__(self):
        for name in ("basis", "rest"):
            object.__setattr__(self, name, real(name, getattr(self, name)))

    def restored(self, network: Network) -> Network:
        """`network`, trained on `data`, among all the inputs again: W₁ = VBᵀ + rest, V its first layer."""
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
                f"the first layer must be {expected}, neurons by dimensions of the span, got {got}; pass "
                "what was trained from `network` on `data` of this span."
            )
        return network

    @cached_property
    def _rest_gram(self) -> Float[np.ndarray, "H H"]:
        return self.rest @ self.rest.T


def in_span(network: Network, data: Dataset) -> Span:
    """`network` and `data` in the rank(x) dimensions in which training happens, exactly.

    ∂L/∂W₁ = ⟨δxᵀ⟩ has its rows in the span of the inputs, so W₁(t) − W₁(0) does too, and f depends on W₁B
    alone: simulate `network` on `data` of what is returned, for any depth, loss and step, and put the
    result back with `restored`. Directions in which the inputs vary by no more than rounding are left out.

    Assumes: no L2, which would shrink what is constant here.
    Reference: Frei et al. (2022), whose inputs have 10⁴ dimensions and 100 samples.
    """
    if data.dimensions != network.sizes[0]:
        raise ValueError(
            f"the network takes {network.sizes[0]} inputs and x has {data.dimensions}; match them."
        )
    _, singular, right = np.linalg.svd(data.x, full_matrices=False)
    if not singular[0]:
        raise ValueError("x is zero and spans nothing; give inputs that are not.")
    basis = right[singular > singular[0] * max(data.x.shape) * np.finfo(float).eps].T
    first, *above = network.weights
    inside = first @ basis
    small = Network((inside, *above), leak=network.leak, biases=network.biases)
    return Span(small, Dataset(data.x @ basis, data.y), basis, first - inside @ basis.T)
