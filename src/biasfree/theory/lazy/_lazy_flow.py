"""Training in the lazy regime: the network linearized in its weights, in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, increasing_times
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import Hypothesis, check, result
from biasfree.theory.hypotheses._hypothesis import AssumptionError
from biasfree.theory.lazy._tangents import Tangents
from biasfree.theory.parts._kinks import undefined_slopes
from biasfree.trajectory import Stats, Trajectory

_TOLERANCE = 0.1
#: Derivatives below which the weights of the linearized network would overflow.
_TINY = 1e-100
#: The most eigenvalues that `coverage` computes.
_MOST = 1000


@public
@result(
    "weights that hardly move train as the linearized network, with a fixed kernel", lambda: (KINKS, LAZY)
)
def lazy_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike,
    *,
    lazy_tolerance: float = _TOLERANCE,
    kinks_tolerance: float = 0.0,
) -> Trajectory:
    """Gradient flow of the square loss for the network linearized in its weights at t = 0.

    f(t) = y + e^{−Θt/P}(f₀ − y),  θ(t) = θ₀ + JᵀΘ⁺(I − e^{−Θt/P})(y − f₀),  Θ = JJᵀ, J = ∂f₀/∂θ.
    `loss` and `saved`, (T, P, K), are loss and outputs of the linearized model; `run[i]` is the network at
    weights θ(t). `ts` may end at infinity: the least-squares fit of the linearized model nearest to θ₀. Modes
    slower than P·ε times the fastest one, ε that of floating-point numbers, count as still.
    `stats.defects["lazy"]` is the largest |θ − θ₀|/|θ₀|: the relative error is of this order unless a neuron
    reaches the hyperplane of a sample, along which it may slide.

    Assumes: no neuron exactly on the hyperplane of a sample, where J is not defined (kinks_tolerance=0, the
    number of such pairs); weights move little (lazy_tolerance=0.1 of |θ₀|; infinity never refuses). Any
    depth, with or without biases, any number of outputs.
    Reference: Jacot et al. (2018); Lee et al. (2019).
    """
    ts = increasing_times(ts, infinite=True)
    defects = check((KINKS,), network, data, {"kinks_tolerance": kinks_tolerance})
    tangents, scale = _scaled(network, data)
    missing = data.targets - tangents.outputs
    if scale < _TINY:
        _check(np.inf, lazy_tolerance)
        raise ValueError(
            f"the derivatives of the outputs are at most {scale:.3g}: the weights of the linearized network "
            "would overflow; use larger weights."
        )
    along = _along(tangents, missing, ts * scale * scale)
    weights, biases = tangents.displacement(along / scale)
    moved = _moved(network, weights, biases)
    _check(moved, lazy_tolerance)
    outputs = tangents.outputs + np.einsum("pkqm,tqm->tpk", tangents.kernel(), along)
    loss = np.sum((data.targets - outputs) ** 2, axis=(1, 2)) / (2 * len(data))
    layers = tuple(w + dw for w, dw in zip(network.weights, weights, strict=True))
    shifted = (
        None
        if network.biases is None
        else tuple(b + db for b, db in zip(network.biases, biases, strict=True))
    )
    stats = Stats("lazy_flow", defects=defects | {"lazy": moved})
    return Trajectory(ts, layers, loss, loss, network.leak, stats, biases=shifted, saved=outputs)


def _check(moved: float, tolerance: float) -> None:
    if not moved <= tolerance:
        raise AssumptionError(LAZY.name, LAZY.measures, defect=moved, tolerance=tolerance, remedy=LAZY.remedy)


def _scaled(network: Network, data: Dataset) -> tuple[Tangents, float]:
    with np.errstate(over="ignore", invalid="ignore"):
        tangents, scale = Tangents.of(network, data.x).scaled()
        finite = np.isfinite(scale) and np.isfinite(np.sum(tangents.outputs**2))
    if not finite:
        raise ValueError(
            f"outputs of {network!r} or their derivatives overflow; use smaller weights or inputs."
        )
    return tangents, scale


def _moved_at_the_end(network: Network, data: Dataset) -> float:
    """|θ − θ₀|/|θ₀| of the linearized network at t = ∞, its largest value: every mode moves one way only."""
    if data.targets.size > _MOST:
        raise ValueError(
            f"{data.targets.size} outputs are more than {_MOST}; use fewer samples, or read stats.defects of "
            "lazy_flow"
        )
    tangents, scale = _scaled(network, data)
    if scale < _TINY:
        return np.inf
    along = _along(tangents, data.targets - tangents.outputs, np.array([np.inf]))
    return _moved(network, *tangents.displacement(along / scale))


def _along(
    tangents: Tangents, missing: Float[np.ndarray, "P K"], ts: Float[np.ndarray, "T"]
) -> Float[np.ndarray, "T P K"]:
    """Θ⁺(I − e^{−Θt/P})(y − f₀) at every time; directions that no weight moves are left out.

    Tangents and times are scaled: Θ by the inverse square of a number, t by its square.
    """
    count = missing.size
    rates, axes = np.linalg.eigh(tangents.kernel().reshape(count, count))
    seen = rates > count * np.finfo(float).eps * rates.max()  # beyond rounding
    rates = rates[seen]
    axes = axes[:, seen]
    reached = -np.expm1(-np.outer(ts, rates) / len(missing)) / rates
    return ((reached * (axes.T @ missing.ravel())) @ axes.T).reshape(len(ts), *missing.shape)


def _moved(network: Network, weights: tuple[np.ndarray, ...], biases: tuple[np.ndarray, ...]) -> float:
    """The largest |θ − θ₀|/|θ₀| over the times; infinity where all weights are zero and some move."""
    size = sum(np.sum(part**2) for part in (*network.weights, *(network.biases or ())))
    apart = sum(np.sum(part**2, axis=tuple(range(1, part.ndim))) for part in (*weights, *biases))
    moved = float(np.sqrt(np.max(apart)))
    return moved / float(np.sqrt(size)) if size > 0 else (np.inf if moved > 0 else 0.0)


LAZY: Hypothesis = Hypothesis(
    "lazy",
    "lazy training",
    "the relative movement of the weights, |θ − θ₀|/|θ₀|,",
    _moved_at_the_end,
    "make the network wider or its scale larger, simulate with bf.gradient_flow, or pass "
    "lazy_tolerance=np.inf to see the linearized model all the same",
    tolerance=_TOLERANCE,
)
KINKS: Hypothesis = Hypothesis(
    "kinks",
    "no neuron exactly on the hyperplane of a sample, where outputs have no derivative,",
    "the number of such pairs of neuron and sample",
    undefined_slopes,
    "perturb the weights, simulate with bf.gradient_flow, or relax kinks_tolerance= for σ′(0) = α",
    tolerance=0.0,
)
