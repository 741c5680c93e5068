"""How deep networks leave the origin: the early flow, its blow-up, and the two escapes of ReLU networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, increasing_times, positive, representable
from biasfree.data import Dataset
from biasfree.losses import Square
from biasfree.networks import Network
from biasfree.theory.deep._blow_up import BlowUp, Weights, blow_up, one_signed
from biasfree.theory.hypotheses import NO_BIASES, ONE_OUTPUT, SYMMETRY, Hypothesis, check, result
from biasfree.theory.parts._linear_loss import least_squares_fit
from biasfree.theory.parts._moments import mean_square, trace
from biasfree.trajectory import Stats, Trajectory

#: The size of what is learned, in units of the initial weights, while the other half grows. What is idle does
#: not matter; what a kink holds back needs weights far above the others. From 10 to 1000, the second time
#: changes by 1e-4 at three layers and 6e-4 at four.
_LEARNED = 30.0
#: |θ| at which the early flow ends, relative to the initial weights, and where no half leads.
_GROWN = (1e2, 1e3)
#: The same before a second escape: what is left behind has moved by 1e-4 less than it will at three layers.
_GROWN_APART = (1e4, 1e8)


@dataclass(frozen=True, eq=False)
class DeepEarlyFlow:
    """Θ, the flow of G(θ) = ⟨y f_θ(x)⟩ from given weights: where they go, and the time at which they blow up.

    `path` has the weights at `ts`. `blow_up` is T*, ∞ for weights that do not grow. `end` has the direction
    of the weights shortly before T*, |θ| = 1. `leads` is the sign of its outputs, 0 if both occur: for a ReLU
    network and a linear target, +1 where the half with y > 0 escapes first.
    """

    path: Trajectory
    blow_up: float
    end: Network
    leads: int


@dataclass(frozen=True)
class DeepEscapeTimes:
    """The times of the two escapes of a deep ReLU network, as the scale of its weights tends to 0.

    The half with y > 0 escapes at `first` if `leads` is 1, the one with y < 0 if it is −1, and the other at
    `second`, ∞ if no path is left for it. Both are in units of γ^{−(L−2)}: `scaled(γ)` has the times of the
    weights multiplied by γ.
    """

    leads: int
    first: float
    second: float
    depth: int

    @property
    def ratio(self) -> float:
        """T₋/T₊, which does not depend on the scale; ∞ if the other half never escapes."""
        return self.second / self.first

    def scaled(self, factor: float) -> tuple[float, float]:
        """T₊ and T₋ of the same weights, all multiplied by `factor`: γ^{−(L−2)} times as long."""
        with np.errstate(over="ignore", divide="ignore"):
            longer = np.float64(positive("factor", factor)) ** -(self.depth - 2)
        representable("the scaled time", longer)
        return float(self.first * longer), float(self.second * longer)


@public
@result("deep networks leave the origin along the flow of ⟨yf⟩", lambda: ASSUMES_EARLY)
def deep_early_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike = (0.0,),
    *,
    rtol: float = 1e-6,
    **tolerances: float,
) -> DeepEarlyFlow:
    """The flow that small weights follow while outputs are negligible, up to its blow-up.

    Θ̇ ∈ ∂G(Θ), G(θ) = ⟨y f_θ(x)⟩, homogeneous of degree L. Gradient flow from the weights γΘ(0) is
    θ_γ(t) = γΘ(γ^{L−2}t) as γ → 0, up to the first escape at about γ^{−(L−2)}T*. Neurons cross kinks and
    slide along them. Accuracy: relative errors of T* are about 1e-3 at rtol = 1e-6, 1e-4 at 1e-7.

    Assumes: three or more layers, one output, no biases; one factor γ for all layers. Any data, any leak.
    Reference: derived here, for [ZSL25] App. F (TMLR Conjecture 11).

    Args:
        network: The initial weights, of any size.
        data: The data.
        ts: Times of the path, before the blow-up.
        rtol: Tolerance of a step; the work grows in inverse proportion where neurons slide.
        tolerances: None: no hypothesis can be relaxed.

    Raises:
        AssumptionError: A hypothesis does not hold.
        ValueError: A time is beyond the blow-up.
    """
    ts = increasing_times(ts)
    rtol = positive("rtol", rtol)
    defects = check(ASSUMES_EARLY, network, data, tolerances)
    units = _Units.of(network, data)
    found = units.followed(
        network, data, rtol=rtol, name="deep_early_flow", grown=_GROWN, ts=[float(t) for t in ts / units.time]
    )
    if len(found.saved) < len(ts):
        raise ValueError(
            f"ts ends at {ts[-1]:g}, but the weights blow up at {units.time * found.time:g}; end ts earlier."
        )
    saved = [np.stack(layer) * units.weight for layer in zip(*found.saved, strict=True)]
    states = [Network(w, leak=network.leak) for w in zip(*saved, strict=True)]
    losses = np.array([Square().value(state(data.x), data.targets[:, 0]).mean() for state in states])
    stats = Stats("deep_early_flow", evaluations=found.evaluations, rtol=rtol, defects=defects)
    size = _size(found.weights) or 1.0
    return DeepEarlyFlow(
        path=Trajectory(ts, saved, losses, losses, network.leak, stats),
        blow_up=units.time * found.time,
        end=Network(tuple(w / size for w in found.weights), leak=network.leak),
        leads=one_signed(found.outputs) if np.isfinite(found.time) else 0,
    )


@public
@result(
    "deep ReLU networks learn a linear target in two steps, one half after the other", lambda: ASSUMES_ESCAPES
)
def deep_escape_times(
    network: Network, data: Dataset, *, rtol: float = 1e-6, **tolerances: float
) -> DeepEscapeTimes:
    """The times T₊ ≤ T₋ at which the two halves of a deep ReLU network escape, as γ → 0.

    T₊ = T*, the blow-up time of Θ (`deep_early_flow`). The half that leads ends at f = w*·x on its side of
    w*·x = 0, w* = Σ⁻¹β, where e = 0 from then on: what it uses is idle. The other weights go on from Θ(T*)
    along the flow of ⟨e f⟩, e = y on the other side, whose blow-up is T₋. So T₋/T₊ is a constant of the
    initial weights, and the loss has two steps at every γ. T₋ = ∞ where no path is left for the second half.
    Accuracy at rtol = 1e-6: relative errors of about 1e-3 of T₊ and up to 1e-2 of T₋, and those of the limit,
    of order γ.

    Assumes: three or more layers, one output, no biases, α = 0, the square loss; Condition 3
    (symmetry_tolerance=1e-8), a linear target (linear_target_tolerance=1e-8).
    Reference: derived here, for [ZSL25] App. F (TMLR Conjecture 11).

    Args:
        network: The initial weights, of any size.
        data: The data.
        rtol: Tolerance of a step.
        tolerances: `symmetry_tolerance`, `linear_target_tolerance`.

    Raises:
        AssumptionError: A hypothesis does not hold.
        RuntimeError: Both halves escape together, to ten digits, or an escape takes too many steps.
    """
    rtol = positive("rtol", rtol)
    check(ASSUMES_ESCAPES, network, data, tolerances)
    units = _Units.of(network, data)
    first = units.followed(network, data, rtol=rtol, name="deep_escape_times", grown=_GROWN_APART)
    leads = one_signed(first.outputs)
    if first.time == np.inf:
        return DeepEscapeTimes(0, np.inf, np.inf, network.depth)
    if leads == 0:
        raise RuntimeError(
            "deep_escape_times stopped before the blow-up: no half leads; use another seed, or simulate with "
            "bf.gradient_flow."
        )
    second = _second(first, leads, data, units, rtol)
    return DeepEscapeTimes(leads, units.time * first.time, units.time * second, network.depth)


@dataclass(frozen=True)
class _Units:
    """|θ|, √TrΣ, √⟨y²⟩ and the time 1/(√(TrΣ⟨y²⟩)|θ|^{L−2}), in which all numbers are of order 1."""

    weight: float
    input: float
    target: float
    time: float

    @classmethod
    def of(cls, network: Network, data: Dataset) -> _Units:
        largest = max(float(np.abs(w).max()) for w in network.weights) or 1.0
        weight = largest * float(np.sqrt(sum(np.sum((w / largest) ** 2) for w in network.weights))) or 1.0
        found = float(np.sqrt(trace(data))) or 1.0
        target = float(np.sqrt(mean_square(data))) or 1.0
        with np.errstate(over="ignore"):
            time = float(np.exp(-np.log(found) - np.log(target) - (network.depth - 2) * np.log(weight)))
        return cls(weight, found, target, float(representable("the time of the early flow", time)))

    def followed(
        self,
        network: Network,
        data: Dataset,
        *,
        rtol: float,
        name: str,
        grown: tuple[float, float],
        ts: Sequence[float] = (),
    ) -> BlowUp:
        """The flow of G in these units, until |θ| is the first of `grown`, the second if no half leads."""
        return blow_up(
            tuple(w / self.weight for w in network.weights),
            data.x / self.input,
            data.targets[:, 0] / self.target,
            leak=network.leak,
            rtol=rtol,
            name=name,
            ts=ts,
            decided=lambda weights, outputs: _size(weights) >= grown[one_signed(outputs) == 0],
        )


def _size(weights: Weights) -> float:
    """|θ|."""
    return float(np.sqrt(sum(np.sum(w**2) for w in weights)))


def _second(first: BlowUp, leads: int, data: Dataset, units: _Units, rtol: float) -> float:
    """The time of the second escape, in the units of the first."""
    x = data.x / units.input
    y = data.targets[:, 0] / units.target
    found = blow_up(
        _learned(first.weights, leads * least_squares_fit(data)[0][0]),
        x,
        np.where(np.sign(y) == leads, 0.0, y),
        leak=0.0,
        rtol=rtol,
        name="deep_escape_times",
        began=first.time,
    )
    return found.time


def _learned(weights: Weights, direction: Float[np.ndarray, "D"]) -> Weights:
    """The weights after the first escape: the learned ones have the direction ±w*, and a moderate size.

    Paths of the learned half are idle whatever their size is, but a neuron of it that becomes active on the
    other side is pushed back, so that it rests at its kink: this holds weights of the other half back.
    """
    first, *others = weights
    large = np.linalg.norm(first, axis=1) > _LEARNED
    aligned = _LEARNED * direction / np.linalg.norm(direction)
    return (np.where(large[:, None], aligned, first), *(np.clip(w, -_LEARNED, _LEARNED) for w in others))


def _nonlinear_share(_: Network, data: Dataset) -> float:
    """The share of ⟨y²⟩ that no linear map explains."""
    size = mean_square(data)
    return 2 * least_squares_fit(data)[1] / size if size > 0 else 0.0


THREE_LAYERS = Hypothesis(
    "depth",
    "three or more layers",
    "the number of layers missing",
    lambda network, _: max(0, 3 - network.depth),
    "use bf.theory.early_flow and bf.theory.escape_time for two layers, whose halves escape together",
)
RELU_HALVES = Hypothesis(
    "relu",
    "a ReLU network, α = 0",
    "α",
    lambda network, _: network.leak,
    "use bf.theory.deep_leaky_gap for leaks between 0 and 1, or simulate with bf.gradient_flow",
)
LINEAR_TARGET = Hypothesis(
    "linear_target",
    "a linear target, y = w*·x",
    "the share of ⟨y²⟩ that no linear map explains",
    _nonlinear_share,
    "use bf.theory.deep_early_flow for the first escape, or simulate with bf.gradient_flow",
    tolerance=1e-8,
)
ASSUMES_EARLY: tuple[Hypothesis, ...] = (NO_BIASES, THREE_LAYERS, ONE_OUTPUT)
ASSUMES_ESCAPES: tuple[Hypothesis, ...] = (*ASSUMES_EARLY, RELU_HALVES, SYMMETRY, LINEAR_TARGET)
