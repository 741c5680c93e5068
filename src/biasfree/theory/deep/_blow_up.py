"""The flow of G(θ) = ⟨e f_θ(x)⟩ for a fixed residual e, up to the time at which it blows up.

G is homogeneous of the degree L ≥ 3 of the network, so weights that grow reach infinity at a finite time.
With the speed divided by |∇G|^{(L−2)/(L−1)} every doubling of the weights takes about as long as the last.

At a kink of G the velocity jumps. SciPy's Runge–Kutta method of order three takes steps short enough that the
jump costs no more than the tolerance. Where the velocities on both sides point to the kink, these steps
alternate between the sides, at a distance of the order of the tolerance, and their mean is the velocity along
the kink: the neuron slides there, as under `bf.gradient_flow`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from biasfree.arrays import Float
from biasfree.threads import load

Weights = tuple[np.ndarray, ...]

#: The time left at the last step, relative to the time passed: on a ray, the rest is known.
_LEFT = 1e-3
#: |θ| on that ray, LG/|∇G|, in units of the initial weights.
_RAY = 10.0
#: Times, in units of those of the first weights, at which weights that do not grow are given up.
_LONGEST = 1e12
#: The most evaluations of the slopes.
_MOST = 1_000_000


@dataclass(frozen=True)
class BlowUp:
    """The weights shortly before the blow-up, their time, the time of the blow-up (∞ for none), and outputs.

    `saved` are the weights at the times that were asked for.
    """

    weights: Weights
    reached: float
    time: float
    outputs: Float[np.ndarray, "P"]
    saved: list[Weights]
    evaluations: int


def slopes(
    weights: Sequence[Float[np.ndarray, "_ _"]],
    x: Float[np.ndarray, "P D"],
    residual: Float[np.ndarray, "P"],
    leak: float,
) -> tuple[list[Float[np.ndarray, "_ _"]], Float[np.ndarray, "P"]]:
    """∂G/∂W_l for every layer, with σ′(0) = α, and the outputs f."""
    inputs = [x]
    gates = []
    for w in weights[:-1]:
        z = inputs[-1] @ w.T
        gates.append(np.where(z > 0, 1.0, leak))
        inputs.append(gates[-1] * z)
    back = residual[:, None] / len(x)
    found: list[np.ndarray] = []
    for layer in range(len(weights) - 1, -1, -1):
        found.insert(0, back.T @ inputs[layer])
        if layer:
            back = (back @ weights[layer]) * gates[layer - 1]
    return found, (inputs[-1] @ weights[-1].T)[:, 0]


def one_signed(outputs: Float[np.ndarray, "P"]) -> int:
    """The sign of outputs of which a thousandth at most, in the square, has the other one; else 0."""
    squares = outputs**2
    balance = float(np.sum(np.sign(outputs) * squares))
    return int(np.sign(balance)) if abs(balance) > (1 - 2e-3) * float(np.sum(squares)) else 0


def blow_up(
    weights: Weights,
    x: Float[np.ndarray, "P D"],
    residual: Float[np.ndarray, "P"],
    *,
    leak: float,
    rtol: float,
    name: str,
    began: float = 0.0,
    ts: Sequence[float] = (),
    decided: Callable[[Weights, Float[np.ndarray, "P"]], bool] = lambda *_: True,
) -> BlowUp:
    """Follow θ̇ = ∇G from `began` on, until what is left is a ray: T = t + LG/((L−2)|∇G|²).

    Weights, inputs and residual are of order 1. It goes on while weights and outputs are not `decided`.
    """
    depth = len(weights)
    shapes = [w.shape for w in weights]
    ends = np.cumsum([w.size for w in weights])[:-1]
    power = (depth - 2) / (depth - 1)
    evaluations = 0

    def split(state: np.ndarray) -> Weights:
        parts = np.split(state[:-1], ends)
        return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        nonlocal evaluations
        evaluations += 1
        slope = np.concatenate([w.ravel() for w in slopes(split(state), x, residual, leak)[0]])
        size = np.linalg.norm(slope)
        if size == 0:
            return np.zeros(len(state))
        return np.append(slope, 1.0) / size**power

    start = np.append(np.concatenate([w.ravel() for w in weights]), began)
    solver = load("scipy.integrate").RK23(velocity, 0.0, start, np.inf, rtol=rtol, atol=rtol)
    saved: list[Weights] = []
    while True:
        now = split(solver.y)
        t = float(solver.y[-1])
        outputs = slopes(now, x, residual, leak)[1]
        slope = _slope(float(solver.f[-1]), power)
        size = depth * float(np.mean(residual * outputs)) / slope if slope > 0 else np.inf
        left = size / ((depth - 2) * slope) if slope > 0 else np.inf
        if left == np.inf or t > _LONGEST or (size >= _RAY and left <= _LEFT * t and decided(now, outputs)):
            break
        if evaluations > _MOST:
            raise RuntimeError(
                f"{name} stopped before the blow-up: {evaluations:,} evaluations did not reach it; relax "
                f"rtol (now {rtol:g}), or simulate with bf.gradient_flow."
            )
        solver.step()
        if solver.status == "failed":
            raise RuntimeError(
                f"{name} stopped before the blow-up: steps became too short; use a larger rtol."
            )
        dense = solver.dense_output()
        while len(saved) < len(ts) and ts[len(saved)] <= solver.y[-1]:
            saved.append(split(_at(dense, ts[len(saved)])))
    end = t + left if t <= _LONGEST else np.inf
    saved.extend(_on_ray(now, t, end, later) for later in ts[len(saved) :] if later < end)
    return BlowUp(now, t, end, outputs, saved, evaluations)


def _slope(speed: float, power: float) -> float:
    """|∇G| from the last velocity, |∇G|^{−(L−2)/(L−1)}; 0 at rest."""
    return speed ** (-1 / power) if speed > 0 else 0.0


def _at(dense: Callable[[float], np.ndarray], t: float) -> np.ndarray:
    """The state of a step at the time t, its last component."""
    if dense(dense.t_old)[-1] >= t:  # type: ignore[attr-defined]
        return dense(dense.t_old)  # type: ignore[attr-defined]
    brentq = load("scipy.optimize").brentq
    return dense(brentq(lambda s: dense(s)[-1] - t, dense.t_old, dense.t))  # type: ignore[attr-defined]


def _on_ray(weights: Weights, reached: float, end: float, t: float) -> Weights:
    """The weights at t from those at `reached`: all in proportion to (T − t)^{−1/(L−2)}; at rest if T = ∞."""
    if end == np.inf:
        return weights
    factor = ((end - reached) / (end - t)) ** (1 / (len(weights) - 2))
    return tuple(factor * w for w in weights)
