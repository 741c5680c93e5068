"""Derivatives of the outputs of a network with respect to its weights, as outer products per sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from biasfree.arrays import Float
from biasfree.networks import Network
from biasfree.threads import load

#: Samples whose derivatives are held at once.
_BLOCK = 500


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

    def kernel(self, other: Tangents) -> Float[np.ndarray, "P K Q M"]:
        """Θ = Σ_l (h_l·h_l′ + 1 if there are biases)(b_l·b_l′), for all pairs of samples and outputs."""
        shape = (*self.outputs.shape, *other.outputs.shape)
        total = np.zeros(shape)
        for h, b, h2, b2 in zip(self.inputs, self.backward, other.inputs, other.backward, strict=True):
            # of tiny inputs and huge weights, or the other way around, only the product is representable
            sizes = [1.0 if self.biased else float(np.abs(inputs).max()) or 1.0 for inputs in (h, h2)]
            overlaps = (h / sizes[0]) @ (h2 / sizes[1]).T + self.biased
            back = [
                size * vectors.reshape(-1, b.shape[2]) for size, vectors in zip(sizes, (b, b2), strict=True)
            ]
            total += overlaps[:, None, :, None] * (back[0] @ back[1].T).reshape(shape)
        return total

    @property
    def parameters(self) -> int:
        """The number of weights, and of biases if they are trained."""
        pairs = zip(self.inputs, self.backward, strict=True)
        return sum((h.shape[1] + self.biased) * b.shape[2] for h, b in pairs)

    def normal(self, v: Float[np.ndarray, "P K"]) -> tuple[Float[np.ndarray, "N N"], Float[np.ndarray, "N"]]:
        """JᵀJ and Jᵀv, summed over blocks of samples: J itself may be too large."""
        squares = np.zeros((self.parameters, self.parameters))
        forces = np.zeros(self.parameters)
        for first in range(0, len(v), _BLOCK):
            rows = slice(first, first + _BLOCK)
            parts = []
            for h, b in zip(self.inputs, self.backward, strict=True):
                parts.append(np.einsum("pkn,pm->pknm", b[rows], h[rows]).reshape(v[rows].size, -1))
                parts += [b[rows].reshape(v[rows].size, -1)] if self.biased else []
            j = np.hstack(parts)
            squares += j.T @ j
            forces += j.T @ v[rows].ravel()
        return squares, forces

    def displacement(self, along: Float[np.ndarray, "T P K"]) -> tuple[tuple[np.ndarray, ...], ...]:
        """Jᵀv for every row v: the changes of weights, (T, out, in), and of the biases if there are any."""
        weights = []
        biases = []
        for h, b in zip(self.inputs, self.backward, strict=True):
            moved = np.einsum("tpk,pkn->tpn", along, b)
            weights.append(np.swapaxes(moved, 1, 2) @ h)
            biases.append(moved.sum(axis=1))
        return tuple(weights), tuple(biases) if self.biased else ()

    def least_movement(self, v: Float[np.ndarray, "P K"], *, steps: int) -> float:
        """A lower bound of |J⁺v|, by steps of LSQR, whose norms grow towards it; J is never formed."""
        linalg = load("scipy.sparse.linalg")

        def pulled(u: np.ndarray) -> np.ndarray:
            weights, biases = self.displacement(u.reshape(1, *v.shape))
            return np.concatenate([part.ravel() for part in (*weights, *biases)])

        make: Any = linalg.LinearOperator
        operator = make((v.size, self.parameters), matvec=self._image, rmatvec=pulled, dtype=float)
        found = linalg.lsqr(operator, v.ravel(), atol=0.0, btol=0.0, conlim=0.0, iter_lim=steps)
        return float(np.linalg.norm(found[0]))

    def _image(self, theta: Float[np.ndarray, "N"]) -> Float[np.ndarray, "PK"]:
        """Jθ, θ the weights of all layers and then their biases."""
        total = np.zeros(self.outputs.shape)
        first = 0
        for h, b in zip(self.inputs, self.backward, strict=True):
            shape = b.shape[2], h.shape[1]
            w = theta[first : first + shape[0] * shape[1]].reshape(shape)
            total += np.einsum("pkn,pn->pk", b, h @ w.T)
            first += shape[0] * shape[1]
        for b in self.backward if self.biased else ():
            total += b @ theta[first : first + b.shape[2]]
            first += b.shape[2]
        return total.ravel()
