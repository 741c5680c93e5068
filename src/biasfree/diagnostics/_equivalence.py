"""The weight error: the difference between a (leaky) ReLU network and its linear twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.networks import Network
from biasfree.trajectory import Trajectory

if TYPE_CHECKING:
    from jaxtyping import Float


def weight_error(network: Network, twin: Network) -> float:
    """|√c·W − W_lin|/|W_lin| over all layers, c = (1+α)/2, for a network at time t/c and its twin at time t.

    Reference: [ZSL25] Fig. 1b (TMLR 3b).
    """
    if twin.leak != 1 or twin.sizes != network.sizes:
        raise ValueError(f"the twin must be linear and of sizes {network.sizes}, got {twin!r}.")
    c = (1 + network.leak) / 2
    scale = max(np.abs(w).max() for w in twin.weights)
    if scale == 0:
        raise ValueError("all weights of the twin are zero, so the relative error is not defined.")
    pairs = zip(network.weights, twin.weights, strict=True)
    apart = [np.linalg.norm((np.sqrt(c) * w - lin) / scale) for w, lin in pairs]
    return float(np.linalg.norm(apart) / np.linalg.norm([np.linalg.norm(w / scale) for w in twin.weights]))


def weight_errors(trajectory: Trajectory, twin: Trajectory) -> Float[np.ndarray, "T"]:
    """`weight_error` at every saved time; the times of the linear network must be c times those of the other.

    Reference: [ZSL25] Fig. 1b (TMLR 3b); the axis there is the linear network's time.
    """
    c = (1 + trajectory.leak) / 2
    if len(trajectory) != len(twin) or not np.allclose(c * trajectory.ts, twin.ts, rtol=1e-12, atol=0):
        raise ValueError(
            f"the twin must be saved at the times c*trajectory.ts, c = {c:g}; run it with ts=c*trajectory.ts."
        )
    return np.array([weight_error(a, b) for a, b in zip(trajectory, twin, strict=True)])
