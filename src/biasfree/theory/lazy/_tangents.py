"""Derivatives of the outputs of a network with respect to its weights, as outer products per sample."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biasfree.arrays import Float
from biasfree.networks import Network


@dataclass(frozen=True, eq=False)
class Tangents:
    """∂f_k(x_i)/∂W_l = b_l(i, k) h_{l−1}(i)ᵀ: inputs h of every layer, and backward vectors b.

    σ′(0) = α, as everywhere. `biased` says whether the biases, with ∂f_k/∂b_l = b_l(i, k), are trained too.
    """

    inputs: tuple[Float[np.ndarray, "P _"], ...]
    backward: tuple[Float[np.ndarray, "P K _"], ...]
    outputs: Float[np.ndarray, "P K"]
    biased: bool

    @classmethod
    def of(cls, network: Network, x: Float[np.ndarray, "P D"]) -> Tangents:
        """The derivatives at the weights of a network, for all samples."""
        inputs = [x]
        slopes = []
        shifts = network.biases or (0.0,) * network.depth
        for w, b in zip(network.weights[:-1], shifts[:-1], strict=True):
            z = inputs[-1] @ w.T + b
            slopes.append(np.where(z > 0, 1.0, network.leak))
            inputs.append(slopes[-1] * z)
        outputs = inputs[-1] @ network.weights[-1].T + shifts[-1]
        one = np.broadcast_to(np.eye(outputs.shape[1]), (len(x), *(outputs.shape[1],) * 2))
        backward = [one]
        for w, slope in zip(network.weights[:0:-1], slopes[::-1], strict=True):
            backward.append(backward[-1] @ w * slope[:, None])
        return cls(tuple(inputs), tuple(backward[::-1]), outputs, network.biases is not None)

    def scaled(self) -> tuple[Tangents, float]:
        """The derivatives divided by about the largest of them, and that number: squares do not underflow."""
        sizes = [
            float(np.abs(h).max() * np.abs(b).max()) for h, b in zip(self.inputs, self.backward, strict=True)
        ]
        scale = max(sizes) or 1.0
        return replace(self, backward=tuple(b / scale for b in self.backward)), scale

    def kernel(self) -> Float[np.ndarray, "P K P K"]:
        """Θ = Σ_l (h_l·h_l′ + 1 if there are biases)(b_l·b_l′), for all pairs of samples and outputs."""
        total = np.zeros(2 * self.outputs.shape)
        for h, b in zip(self.inputs, self.backward, strict=True):
            # of tiny inputs and huge weights, or the other way around, only the product is representable
            size = 1.0 if self.biased else float(np.abs(h).max()) or 1.0
            inputs = h / size
            back = size * b.reshape(-1, b.shape[2])
            overlaps = inputs @ inputs.T + self.biased
            total += overlaps[:, None, :, None] * (back @ back.T).reshape(total.shape)
        return total

    def displacement(self, along: Float[np.ndarray, "T P K"]) -> tuple[tuple[np.ndarray, ...], ...]:
        """Jᵀv for every row v: the changes of weights, (T, out, in), and of the biases if there are any."""
        weights = []
        biases = []
        for h, b in zip(self.inputs, self.backward, strict=True):
            moved = np.einsum("tpk,pkn->tpn", along, b)
            weights.append(np.swapaxes(moved, 1, 2) @ h)
            biases.append(moved.sum(axis=1))
        return tuple(weights), tuple(biases) if self.biased else ()
