"""Training in the lazy regime: the network linearized in its weights, in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import increasing_times
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses._hypothesis import AssumptionError, check_sizes
from biasfree.theory.lazy._tangents import Tangents
from biasfree.trajectory import Stats, Trajectory

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

_TOLERANCE = 0.1
#: Derivatives below which the weights of the linearized network would overflow.
_TINY = 1e-100


def lazy_flow(
    network: Network, data: Dataset, ts: ArrayLike, *, lazy_tolerance: float = _TOLERANCE
) -> Trajectory:
    """Gradient flow of the square loss for the network linearized in its weights at t = 0.

    f(t) = y + e^{−Θt/P}(f₀ − y),  θ(t) = θ₀ + JᵀΘ⁺(I − e^{−Θt/P})(y − f₀),  Θ = JJᵀ, J = ∂f₀/∂θ.
    `loss` and `saved`, (T, P, K), are loss and outputs of the linearized model; `run[i]` is the network at
    weights θ(t). `ts` may end at infinity: the least-squares fit of the linearized model nearest to θ₀.
    `stats.defects["lazy"]` is the largest |θ − θ₀|/|θ₀|: the relative error is of this order.

    Assumes: weights move little (lazy_tolerance=0.1 of |θ₀|; infinity never refuses). Any depth, with or
    without biases, any number of outputs.
    Reference: Jacot et al. (2018); Lee et al. (2019).
    """
    ts = increasing_times(ts, infinite=True)
    check_sizes(network, data)
    tangents, scale = Tangents.of(network, data.x).scaled()
    missing = data.targets - tangents.outputs
    if scale < _TINY:
        raise _refusal(np.inf, lazy_tolerance)
    along = _along(tangents, missing, ts * scale * scale)
    weights, biases = tangents.displacement(along / scale)
    moved = _moved(network, weights, biases)
    if not moved <= lazy_tolerance:
        raise _refusal(moved, lazy_tolerance)
    outputs = tangents.outputs + np.einsum("pkqm,tqm->tpk", tangents.kernel(tangents), along)
    loss = np.sum((data.targets - outputs) ** 2, axis=(1, 2)) / (2 * len(data))
    layers = tuple(w + dw for w, dw in zip(network.weights, weights, strict=True))
    shifted = (
        None
        if network.biases is None
        else tuple(b + db for b, db in zip(network.biases, biases, strict=True))
    )
    stats = Stats("lazy_flow", defects={"lazy": moved})
    return Trajectory(ts, layers, loss, loss, network.leak, stats, biases=shifted, saved=outputs)


def _refusal(moved: float, tolerance: float) -> AssumptionError:
    return AssumptionError(
        "lazy training",
        "the relative movement of the weights, |θ − θ₀|/|θ₀|,",
        defect=moved,
        tolerance=tolerance,
        remedy="make the network wider or its scale larger, simulate with bf.gradient_flow, or pass "
        "lazy_tolerance=np.inf to see the linearized model all the same",
    )


def _along(
    tangents: Tangents, missing: Float[np.ndarray, "P K"], ts: Float[np.ndarray, "T"]
) -> Float[np.ndarray, "T P K"]:
    """Θ⁺(I − e^{−Θt/P})(y − f₀) at every time; directions that no weight moves are left out.

    Tangents and times are scaled: Θ by the inverse square of a number, t by its square.
    """
    count = missing.size
    rates, axes = np.linalg.eigh(tangents.kernel(tangents).reshape(count, count))
    seen = rates > count * np.finfo(float).eps * rates.max(initial=0.0)
    rates, axes = rates[seen], axes[:, seen]
    reached = -np.expm1(-np.outer(ts, rates) / len(missing)) / rates
    return ((reached * (axes.T @ missing.ravel())) @ axes.T).reshape(len(ts), *missing.shape)


def _moved(network: Network, weights: tuple[np.ndarray, ...], biases: tuple[np.ndarray, ...]) -> float:
    """The largest |θ − θ₀|/|θ₀| over the times; infinity where all weights are zero and some move."""
    size = sum(np.sum(part**2) for part in (*network.weights, *(network.biases or ())))
    apart = sum(np.sum(part**2, axis=tuple(range(1, part.ndim))) for part in (*weights, *biases))
    largest = float(np.sqrt(np.max(apart)))
    return largest / float(np.sqrt(size)) if size > 0 else (np.inf if largest > 0 else 0.0)
