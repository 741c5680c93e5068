"""Gated linear networks: with fixed activation patterns, gradient flow depends on moments only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Bool, Float, Int, increasing_times, positive, real, representable
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import NO_BIASES, Hypothesis, check, result
from biasfree.theory.hypotheses._hypothesis import AssumptionError
from biasfree.theory.parts._integration import integrated
from biasfree.theory.parts._kinks import pushed_off
from biasfree.trajectory import Stats, Trajectory

KINKS = Hypothesis(
    "kinks",
    "no neuron exactly on the hyperplane of a sample that pushes it off, where the flow is not unique,",
    "the number of such pairs of neuron and sample",
    pushed_off,
    "perturb the weights, end ts earlier, simulate with bf.gradient_flow, or relax kinks_tolerance= for "
    "σ′(0) = α: such neurons stay there, as under bf.gradient_descent",
    tolerance=0.0,
)
ASSUMES = (NO_BIASES, KINKS)


@dataclass(frozen=True, eq=False)
class PatternClasses:
    """The samples of a dataset, grouped by activation pattern, and the moments of each class.

    Class q has the `share` p_q, `sigma` p_q⟨xxᵀ⟩_q and `beta` p_q⟨yxᵀ⟩_q; over classes they add up to 1, Σ
    and β. `gates` are the patterns, one array per hidden layer; `class_of` is the
    class of each sample.
    """

    gates: tuple[Bool[np.ndarray, "Q _"], ...]
    class_of: Int[np.ndarray, "P"]
    share: Float[np.ndarray, "Q"]
    sigma: Float[np.ndarray, "Q D D"]
    beta: Float[np.ndarray, "Q K D"]

    def __len__(self) -> int:
        return len(self.share)

    def __repr__(self) -> str:
        return f"PatternClasses({len(self)} classes of {len(self.class_of)} samples)"

    def maps(self, weights: Sequence[np.ndarray], leak: float) -> Float[np.ndarray, "*T Q K D"]:
        """M_q = W_LG_{L−1}⋯G₁W₁, the linear map of the network on class q; weights may have a time axis."""
        layers = [w[..., None, :, :] for w in weights]
        found = _through(layers, self._slopes(leak))[-1]
        return np.broadcast_to(found, (*found.shape[:-3], len(self), *found.shape[-2:]))

    def velocity(self, weights: Sequence[np.ndarray], leak: float) -> list[np.ndarray]:
        """Ẇ_l = Σ_q (W_LG_{L−1}⋯W_{l+1}G_l)ᵀ(β_q − M_qΣ_q)(G_{l−1}W_{l−1}⋯G₁W₁)ᵀ of every layer."""
        slopes = self._slopes(leak)
        velocities = []
        *below, maps = _through(weights, slopes)
        back = self.beta - maps @ self.sigma
        for w, slope, h in zip(weights[:0:-1], slopes[::-1], below[::-1], strict=True):
            velocities.append(np.tensordot(back, h, axes=((0, 2), (0, 2))))
            back = slope * (w.T @ back)
        return [*velocities, back.sum(axis=0)][::-1]

    def _slopes(self, leak: float) -> list[Float[np.ndarray, "Q _ 1"]]:
        return [np.where(gate, 1.0, leak)[:, :, None] for gate in self.gates]


@public
@result(
    "one linear network per activation pattern, while the patterns are fixed",
    lambda: ASSUMES,
    until="an activation pattern changes",
)
def gated_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike,
    *,
    patterns: Sequence[ArrayLike] | None = None,
    rtol: float = 1e-10,
    method: str = "DOP853",
    patterns_tolerance: float = 0.0,
    kinks_tolerance: float = 0.0,
) -> Trajectory:
    """Gradient flow of the square loss with the activation pattern of every sample held fixed.

    On the samples q of one pattern the network is the linear map M_q = W_LG_{L−1}⋯G₁W₁, G_l = diag(1 or α),
    Ẇ_l = Σ_q (W_LG_{L−1}⋯W_{l+1}G_l)ᵀ(β_q − M_qΣ_q)(G_{l−1}W_{l−1}⋯G₁W₁)ᵀ,
    at the cost of D samples per class, for any P. `patterns`, one array (P, H_l) of booleans per hidden
    layer, are by default those of `network`, with σ′(0) = α. The network itself follows this flow as long as
    it keeps its patterns: `stats.defects["patterns"]` is the largest share of changed gates over the saved
    times, and `pattern_changes` the share at each. `loss` is that of the gated network; `method` is one of
    SciPy's. Accuracy: the local error is `rtol`; the error of the weights is some tens of `rtol`, and
    more where the flow is unstable.

    Assumes: no biases; at t = 0 and at the saved times no neuron exactly on the hyperplane of a sample that
    pushes it off (kinks_tolerance=0, the number of such pairs), and the initial patterns
    (`patterns_tolerance`, a share of gates, 0 by default). If `patterns` are given, only the first: the call
    solves the gated network. Any depth, leak and number of outputs.
    Reference: derived here; [ZSL25] App. F.2 (TMLR Proposition 12) and TMLR Fig. 4 are cases of it.
    """
    ts = increasing_times(ts)
    rtol = positive("rtol", rtol)
    if patterns is not None:
        defects = check((NO_BIASES,), network, data, {})
        gates = checked_patterns(patterns, network, data)
    else:
        defects = check(ASSUMES, network, data, {"kinks_tolerance": kinks_tolerance})
        gates = list(activation_patterns(network, data.x))
    classes = pattern_classes(gates, data)
    scalars = network.depth == 2 and network.sizes[0] == network.sizes[-1] == 1
    weights, stats = (_scalars if scalars else _integrate)(classes, network, ts, rtol=rtol, method=method)
    loss = _loss(classes, weights, network.leak, data)
    trajectory = Trajectory(ts, weights, loss, loss, leak=network.leak, stats=stats)
    changes = pattern_changes(trajectory, data, gates)
    defects["patterns"] = float(changes.max())
    if patterns is None:
        if changes.max() > patterns_tolerance:
            raise AssumptionError(
                "fixed activation patterns",
                f"the share of gates that change, from t = {ts[np.argmax(changes > 0)]:g} on,",
                defect=float(changes.max()),
                tolerance=patterns_tolerance,
                remedy="end ts earlier, simulate with bf.gradient_flow, or relax patterns_tolerance= (or "
                "pass patterns=) for the flow of the gated network",
            )
        defects["kinks"] = max(KINKS.check(state, data, kinks_tolerance) for state in (network, *trajectory))
    return replace(trajectory, stats=replace(stats, defects=defects))


@public
def activation_patterns(network: Network, x: ArrayLike) -> tuple[Bool[np.ndarray, "P _"], ...]:
    """Whether σ has slope 1 (h_l > 0) for every sample and neuron, one array (P, H_l) per hidden layer.

    A linear network (leak 1) has slope 1 everywhere.

    Reference: derived here; σ′(0) = α as in [ZSL25] App. F.
    """
    x = real("x", x)
    if x.ndim != 2 or x.shape[1] != network.sizes[0]:
        raise ValueError(f"x must have shape (samples, {network.sizes[0]}), got {x.shape}.")
    return tuple((h > 0) | (network.leak == 1) for h in network.preactivations(x)[:-1])


@public
def pattern_classes(patterns: Sequence[ArrayLike], data: Dataset) -> PatternClasses:
    """The classes of samples with equal patterns, and their moments; row i of each array is that of sample i.

    Reference: derived here.
    """
    patterns = _rows(patterns, data)
    rows = np.hstack([np.ones((len(data), 1), dtype=bool), *patterns])  # one class without hidden layers
    _, first, class_of = np.unique(np.packbits(rows, axis=1), axis=0, return_index=True, return_inverse=True)
    class_of = class_of.reshape(-1)
    groups = np.split(np.argsort(class_of, kind="stable"), np.cumsum(np.bincount(class_of))[:-1])
    parts = [(data.x[group], data.targets[group]) for group in groups]
    return PatternClasses(
        gates=tuple(pattern[first] for pattern in patterns),
        class_of=class_of,
        share=np.bincount(class_of) / len(data),
        sigma=np.array([x.T @ x for x, _ in parts]) / len(data),
        beta=np.array([y.T @ x for x, y in parts]) / len(data),
    )


@public
def pattern_changes(
    trajectory: Trajectory, data: Dataset, patterns: Sequence[ArrayLike] | None = None
) -> Float[np.ndarray, "T"]:
    """The share of gates, over samples and neurons, that differ from `patterns` at each saved time.

    `patterns` are by default those at the first saved time.

    Reference: derived here.
    """
    layers = activation_patterns(trajectory[0], data.x) if patterns is None else _rows(patterns, data)
    fixed = np.hstack([np.zeros((len(data), 0), dtype=bool), *layers])

    def share(network: Network) -> float:
        now = np.hstack([fixed[:, :0], *activation_patterns(network, data.x)])
        return float(np.count_nonzero(now != fixed)) / max(fixed.size, 1)

    return trajectory.map(share)


def _rows(patterns: Sequence[ArrayLike], data: Dataset) -> list[np.ndarray]:
    """Patterns as boolean arrays, one per hidden layer with one row per sample."""
    rows = [np.asarray(pattern, dtype=bool) for pattern in patterns]
    if wrong := [pattern.shape for pattern in rows if pattern.ndim != 2 or len(pattern) != len(data)]:
        raise ValueError(
            f"patterns must hold an array ({len(data)} samples, neurons) per hidden layer, got shape "
            f"{wrong[0]}; see bf.theory.activation_patterns."
        )
    return rows


def _through(weights: Sequence[np.ndarray], slopes: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The products G₁W₁, G₂W₂G₁W₁, …, and finally M."""
    found = [weights[0]]
    for w, slope in zip(weights[1:], slopes, strict=True):
        found[-1] = slope * found[-1]
        found.append(w @ found[-1])
    return found


def checked_patterns(patterns: Sequence[ArrayLike], network: Network, data: Dataset) -> list[np.ndarray]:
    """The patterns of a caller, refused unless they fit the network and the samples."""
    gates = [np.asarray(pattern) for pattern in patterns]
    shapes = [(len(data), width) for width in network.sizes[1:-1]]
    if [gate.shape for gate in gates] != shapes or any(gate.dtype != bool for gate in gates):
        got = [(gate.shape, str(gate.dtype)) for gate in gates]
        raise ValueError(
            f"patterns must be arrays of booleans of shapes {shapes}, one per hidden layer, got {got}; "
            "take them from bf.theory.activation_patterns(network, data.x)."
        )
    return gates


def _integrate(
    classes: PatternClasses, network: Network, ts: Float[np.ndarray, "T"], *, rtol: float, method: str
) -> tuple[tuple[np.ndarray, ...], Stats]:
    """The weights at `ts`; errors are relative to each weight, or to its initial layer if that is larger."""
    shapes = [w.shape for w in network.weights]
    ends = np.cumsum([w.size for w in network.weights])[:-1]
    start = np.concatenate([w.ravel() for w in network.weights])
    sizes = [np.abs(w).max() or np.abs(start).max() or 1.0 for w in network.weights]
    floor = np.concatenate([np.full(w.size, size) for w, size in zip(network.weights, sizes, strict=True)])

    def layers(state: np.ndarray) -> list[np.ndarray]:
        pieces = zip(np.split(state, ends, axis=-1), shapes, strict=True)
        return [piece.reshape(*state.shape[:-1], *shape) for piece, shape in pieces]

    def field(state: np.ndarray) -> np.ndarray:
        return np.concatenate([v.ravel() for v in classes.velocity(layers(state), network.leak)])

    with np.errstate(over="ignore", invalid="ignore"):
        representable("the velocity", field(start))
        found, stats = integrated(
            field, start, ts, name="gated_flow", method=method, rtol=rtol, atol=rtol * floor
        )
    return tuple(layers(found)), stats


def _scalars(
    classes: PatternClasses, network: Network, ts: Float[np.ndarray, "T"], *, rtol: float, method: str
) -> tuple[tuple[np.ndarray, ...], Stats]:
    """The weights at `ts` of two layers with one input and one output, where w_h = ±a_h is kept exactly.

    w_h ± a_h = (w_h ± a_h)₀e^{±Φ_h}, dΦ_h/dt = Σ_q G_qh(β_q − M_qΣ_q): rounding leaves no saddle. Of the sum
    and the difference the smaller one is split off, so that neither weight loses digits to the other.
    """
    w = network.weights[0][:, 0]
    a = network.weights[1][0]
    side = np.where(np.abs(w + a) <= np.abs(w - a), 1.0, -1.0)
    least = w + side * a
    slopes = classes._slopes(network.leak)[0][:, :, 0]
    beta = classes.beta[:, 0, 0]
    sigma = classes.sigma[:, 0, 0]

    def layers(phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        fading = np.exp(-side * phi)
        rest = np.where(least == 0, 0.0, least * np.sinh(side * phi))
        return w * fading + rest, a * fading + side * rest

    def field(phi: np.ndarray) -> np.ndarray:
        first, second = layers(phi)
        return (beta - slopes @ (first * second) * sigma) @ slopes

    with np.errstate(over="ignore", invalid="ignore"):
        representable("the velocity", field(np.zeros_like(w)))
        phi, stats = integrated(
            field, np.zeros_like(w), ts, name="gated_flow", method=method, rtol=rtol, atol=rtol
        )
        first, second = layers(phi)
    return (first[:, :, None], second[:, None, :]), stats


def _loss(
    classes: PatternClasses, weights: tuple[np.ndarray, ...], leak: float, data: Dataset
) -> Float[np.ndarray, "T"]:
    """⟨|y − M_qx|²⟩/2, with each class reduced to at most D + K samples by an orthogonal matrix."""
    maps = classes.maps(weights, leak)
    found = np.zeros(len(weights[0]))
    samples = np.hstack([data.x, data.targets])
    for q in range(len(classes)):
        reduced = np.linalg.qr(samples[classes.class_of == q], mode="r")
        x, y = np.split(reduced, [data.dimensions], axis=1)
        found += np.sum((y.T - maps[:, q] @ x.T) ** 2, axis=(1, 2)) / (2 * len(data))
    return found
