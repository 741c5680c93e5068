"""Neurons exactly on the hyperplane of a sample, in hidden layers of any depth."""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Bool, Float
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.parts._hyperplanes import orthogonal_pairs

_FITTED = 1e-8  # of |f| + |y|: a smaller residual moves nothing that matters


def undefined_slopes(network: Network, data: Dataset) -> float:
    """The number of pairs of neuron and sample at a kink on which an output depends: no derivative exists."""
    kinks, reaches = _kinks(network, data)
    return float(
        sum(np.count_nonzero(on & reach.any(axis=1)) for on, reach in zip(kinks, reaches, strict=True))
    )


def pushed_off(network: Network, data: Dataset) -> float:
    """The number of pairs of neuron and sample at a kink where a larger σ(z) lowers the square loss.

    There the flow may leave the hyperplane or stay. Without that push it stays, or leaves to σ′ = α.
    """
    kinks, reaches = _kinks(network, data)
    f = network(data.x).reshape(data.targets.shape)
    count = 0
    for on, reach in zip(kinks, reaches, strict=True):
        force = np.einsum("pk,pkh->ph", data.targets - f, reach)
        size = np.einsum("pk,pkh->ph", np.abs(data.targets) + np.abs(f), np.abs(reach))
        count += int(np.count_nonzero(on & (force > _FITTED * size)))
    return float(count)


def _kinks(
    network: Network, data: Dataset
) -> tuple[list[Bool[np.ndarray, "P H"]], list[Float[np.ndarray, "P K H"]]]:
    """Per hidden layer, the pairs with z = 0 to rounding, and ∂f_k/∂σ(z) with σ′(0) = 1.

    An input of zeros has no hyperplane, unless there are biases. A linear network has no kinks.
    """
    h = data.x
    kinks = []
    slopes = []
    hidden = network.weights[:-1] if network.leak < 1 else ()
    for i, w in enumerate(hidden):
        if network.biases is not None:
            h = np.column_stack([h, np.ones(len(h))])
        rows = w if network.biases is None else np.column_stack([w, network.biases[i]])
        z = h @ rows.T
        kinks.append(orthogonal_pairs(rows, h).T)
        slopes.append(np.where((z >= 0) | kinks[-1], 1.0, network.leak))
        h = np.maximum(z, network.leak * z)
    reach = np.broadcast_to(network.weights[-1], (len(h), *network.weights[-1].shape))
    reaches = [reach] if hidden else []
    for w, slope in zip(hidden[:0:-1], slopes[:0:-1], strict=True):
        reaches.insert(0, (reaches[0] * slope[:, None]) @ w)
    return kinks, reaches
