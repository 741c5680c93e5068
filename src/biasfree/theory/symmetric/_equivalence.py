"""Theorem 5 (TMLR 8): on symmetric data a (leaky) ReLU network learns as a linear one, in rescaled time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import increasing_times, non_negative, positive, whole
from biasfree.data import Dataset, Population
from biasfree.losses import LOSSES
from biasfree.networks import Network
from biasfree.theory.hypotheses import (
    HYPERPLANE,
    ONE_DIRECTION,
    SETTING,
    SIGNS,
    SYMMETRY,
    check,
    result,
    under,
)
from biasfree.theory.parts._linear_loss import loss_on
from biasfree.theory.parts._linear_network import LinearNetwork
from biasfree.trajectory import Stats, Trajectory

ASSUMES = (*SETTING, SYMMETRY, ONE_DIRECTION, SIGNS, HYPERPLANE)

_equivalence = result(
    "learns as its linear twin, by flow and by descent", lambda: ASSUMES, losses=tuple(LOSSES)
)


@public
def linear_twin(network: Network) -> Network:
    """The linear network that learns as `network` does on symmetric data: W_lin(0) = √c·W(0), c = (1+α)/2.

    For initial weights W₁ = W₂ᵀrᵀ with |W₂⁺| = |W₂⁻|, W_lin(ct) = √c·W(t) exactly; for small random initial
    weights, up to the error that `final_weight_error` gives.

    Assumes: two layers, no biases.
    Reference: [ZSL25] Thm. 5 (TMLR 8).
    """
    _check_two_layers(network)
    c = (1 + network.leak) / 2
    return Network(tuple(np.sqrt(c) * w for w in network.weights), leak=1.0)


@public
def from_linear_twin(network: Network, *, leak: float) -> Network:
    """The (leaky) ReLU network whose linear twin is `network`: W(0) = √(1/c)·W_lin(0), c = (1+α)/2.

    Assumes: two layers, no biases, linear.
    Reference: [ZSL25] Thm. 5 (TMLR 8).
    """
    _check_two_layers(network)
    if network.leak != 1:
        raise ValueError(f"a linear twin has leak 1, got {network!r}; pass bf.theory.linear_twin(network).")
    other = Network(network.weights, leak=leak)
    return Network(tuple(w / np.sqrt((1 + other.leak) / 2) for w in network.weights), leak=other.leak)


@public
@_equivalence
def equivalent_flow(
    network: Network,
    data: Dataset | Population,
    ts: ArrayLike,
    *,
    loss: str = "square",
    l2: float = 0.0,
    rtol: float = 1e-10,
    method: str = "DOP853",
    **tolerances: float,
) -> Trajectory:
    """Gradient flow computed from the linear twin: W(t) = √(1/c)·W_lin(ct), with λ_lin = λ/c.

    The twin's flow is integrated in the span of its neurons: at most D + 1 directions, at any width. With
    both tolerances of Assumption 4 relaxed to 1 any initial weights are accepted; small random ones follow
    the result up to their ± imbalance (`final_weight_error`).

    Accuracy: a local error of `rtol` relative to the largest weight.

    Assumes: Condition 3 (symmetry_tolerance=1e-8), for other losses than the square one with every mirror
    image (mirror_tolerance=0), for the logistic one labels ±1; W₁ = W₂ᵀvᵀ (rank_one_tolerance=1e-8) and |W₂⁺|
    = |W₂⁻| (signs_tolerance=1e-8), Assumption 4 (TMLR 7) without |r| = 1, which the proof does not need; v·x
    ≠ 0 on the samples (hyperplane_tolerance=0).
    Reference: [ZSL25] Thm. 5 (TMLR 8), Eqs. 4 and 5; λ_lin = λ/c and the Huber loss are derived here.
    """
    ts = increasing_times(ts)
    rtol = positive("rtol", rtol)
    twin, defects = _twin(network, data, loss, l2, tolerances)
    c = (1 + network.leak) / 2
    states, stats = twin.flow(c * ts, name="equivalent_flow", rtol=rtol, method=method)
    return twin.trajectory(ts, states, leak=network.leak, stats=replace(stats, defects=defects))


@public
@_equivalence
def equivalent_descent(
    network: Network,
    data: Dataset | Population,
    step: float,
    steps: int,
    *,
    save_every: int = 1,
    loss: str = "square",
    l2: float = 0.0,
    **tolerances: float,
) -> Trajectory:
    """Gradient descent computed from the linear twin: a step η is a step cη of the twin, for any η.

    Saved as by `bf.gradient_descent`: the first and last steps, and every `save_every`-th. The set
    W₁ = W₂ᵀvᵀ with |W₂⁺| = |W₂⁻| is invariant under descent; |v| = 1 is not.

    Assumes: as `equivalent_flow`.
    Reference: [ZSL25] Thm. 5 (TMLR 8) for the flow; for descent derived here.
    """
    step = positive("step", step)
    steps = whole("steps", steps)
    every = whole("save_every", save_every)
    twin, defects = _twin(network, data, loss, l2, tolerances)
    began = time.perf_counter()
    saves = np.unique([*range(0, steps + 1, every), steps])
    states = twin.descent((1 + network.leak) / 2 * step, saves)
    wall_time = time.perf_counter() - began
    stats = Stats("equivalent_descent", steps, accepted=steps, defects=defects, wall_time=wall_time)
    return twin.trajectory(step * saves, states, leak=network.leak, stats=stats)


def _twin(
    network: Network, data: Dataset | Population, loss: str, l2: float, tolerances: Mapping[str, float]
) -> tuple[LinearNetwork, dict[str, float]]:
    l2 = non_negative("l2", l2)
    kind = loss_on(loss, data)
    defects = check(under(kind, ASSUMES), network, data, tolerances)
    return LinearNetwork.of(linear_twin(network), data, loss=kind, l2=2 * l2 / (1 + network.leak)), defects


def _check_two_layers(network: Network) -> None:
    if network.depth != 2 or network.biases is not None:
        raise ValueError(
            f"the equivalence needs two layers without biases, got {network!r}; "
            "for deeper networks (Conjecture 11) use bf.theory.deep_linear_twin."
        )
