"""Measurements along a trajectory: plateaus, alignment times, conserved drift, margins."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from biasfree.arrays import Float, non_negative
from biasfree.data import Dataset, Population
from biasfree.diagnostics._function import Model, outputs
from biasfree.diagnostics._weights import conserved
from biasfree.networks import Network
from biasfree.theory import least_squares_fit
from biasfree.theory.hypotheses import LABELS
from biasfree.threads import load
from biasfree.trajectory import MapTrajectory, Trajectory

_FALL = 0.02  # the band of the loss, as a share of its total drop
_FINE = 10  # levels per band
_SLOWER = 10.0  # times the least time per band on either side
_LASTING = 0.25  # times as long as the shorter of the two drops beside it, at least
_NEAR = 0.1  # largest rms distance of f from a map, over the rms target, to count as that map


@dataclass(frozen=True, eq=False)
class Plateau:
    """A time interval in which the loss hardly decreases.

    `level` is the loss in the middle of the interval; `finished` is False if the run ends on the plateau.
    `nearest` tells whether the network at the saved time nearest to the middle is near "zero", "least
    squares" or "other"; None without data or saved weights.

    At `end` the loss begins to fall. `bf.theory.escape_time` predicts a later time, the middle of the fall.
    """

    start: float
    end: float
    level: float
    finished: bool
    nearest: str | None = None


@dataclass(frozen=True)
class AlignmentTime:
    """The first saved times at which W₁ has rank one and at which it is aligned with β; None if never."""

    rank_one: float | None
    target: float | None


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins y·f(x) of labeled samples: `smallest`, and `spread` = (largest − smallest)/max|y·f(x)|.

    `normalized` = y·f(x)/|θ|^L are the margins of the network rescaled to |θ| = 1; None for networks with
    biases, which are not homogeneous, for zero networks and for other functions.
    """

    values: Float[np.ndarray, "*K P"]
    normalized: Float[np.ndarray, "*K P"] | None
    smallest: float
    spread: float


def plateaus(
    trajectory: Trajectory | MapTrajectory,
    data: Dataset | None = None,
) -> tuple[Plateau, ...]:
    """Plateaus of the loss: intervals in which it decreases slowly, by 2 % of its total drop.

    τ(ℓ) is the time the loss takes from ℓ to ℓ − 0.02·(L(0) − min L). A plateau is a maximum of τ that is ten
    times the least τ on either side, up to a longer plateau, and at least a quarter as long as the shorter of
    the two drops next to it. So it is long relative to them, for any unit of time and length of the run. The
    end of a run after its last drop is an unfinished plateau. A run whose loss drops by less than a
    thousandth of L(0) is one unfinished plateau. The loss is interpolated linearly between saved times, and
    replaced by its running minimum. An infinite time is ignored.

    The network counts as the zero or the least-squares map, the nearer one, if √⟨|f − wx|²⟩ ≤ 0.1·√⟨|y|²⟩.

    Reference: derived here; [ZSL25] Figs. 1 to 3 (TMLR 3, 6, 5) show them.
    """
    finite = np.isfinite(trajectory.ts)
    ts, loss = trajectory.ts[finite], trajectory.loss[finite]
    if len(ts) < 2:
        return ()
    spans = _long_ones(_spans(ts, np.minimum.accumulate(loss)), float(ts[0]), float(ts[-1]))
    return tuple(_plateau(trajectory, data, ts, loss, start, end) for start, end in spans)


def alignment_time(
    trajectory: Trajectory, data: Dataset | Population | None = None, *, tolerance: float = 0.05
) -> AlignmentTime:
    """The times at which the first layer has become rank one, and at which its rows have aligned with β.

    The first saved times with |W₁ − best rank-one matrix| ≤ tolerance·|W₁| and with |W₁ − W₁P| ≤
    tolerance·|W₁|, P = β̄β̄ᵀ or, for several outputs, the projection on the rows of β. Without data, only the
    first.

    Reference: [ZSL25] Thm. 13, W₁ → r₁β̄ᵀ.
    """
    tolerance = non_negative("tolerance", tolerance)
    away = trajectory.map(lambda network: _away_from_rank_one(network.weights[0]))
    if data is None:
        return AlignmentTime(_first(trajectory, away <= tolerance), None)
    basis = load("scipy.linalg").orth(data.beta.reshape(data.outputs, -1).T)
    turned = trajectory.map(lambda network: _away_from(basis, network.weights[0]))
    return AlignmentTime(_first(trajectory, away <= tolerance), _first(trajectory, turned <= tolerance))


def conserved_drift(trajectory: Trajectory) -> Float[np.ndarray, "T"]:
    """The drift of the conserved quantities C since the first saved time, over all hidden layers.

    |C(t) − C(0)|/max_t Σ_l|W_l|², C = W_lW_lᵀ − W_{l+1}ᵀW_{l+1} for linear networks and its diagonal,
    |w_h|² − |v_h|², for (leaky) ReLU ones. L2 does not conserve them.

    Reference: [ZSL25] Eq. 36 for two linear layers.
    """
    kept = trajectory.map(lambda network: np.concatenate([[0.0], *(c.ravel() for c in conserved(network))]))
    size = trajectory.map(lambda network: np.sum(network.norms**2)).max()
    drift = np.linalg.norm(kept - kept[0], axis=1)
    return drift / size if size > 0 else drift


def margins(model: Model, data: Dataset) -> Margins:
    """The margins y·f(x) of all samples, and the margins normalized by the norm of the weights.

    y·f(x)/|θ|^L, |θ|² = Σ_l|W_l|²: for bias-free networks f(x; aθ) = a^L f(x; θ). Over time, use
    `trajectory.map(lambda network: margins(network, data).smallest)`.

    Assumes: labels −1 and +1.
    Reference: [ZSL25] Corollary 6; Kou et al. (2023), whose normalized margins equalize.
    """
    LABELS.check(None, data)
    values = _margins(model, data)
    largest, normalized = np.abs(values).max(), None
    if isinstance(model, Network) and model.biases is None and any(w.any() for w in model.weights):
        normalized = _margins(_of_norm_one(model), data)
    spread = float((values.max() - values.min()) / largest) if largest > 0 else 0.0
    return Margins(values, normalized, float(values.min()), spread)


def _spans(ts: np.ndarray, loss: np.ndarray) -> list[tuple[float, float]]:
    """Start and end of every plateau of a non-increasing loss."""
    find_peaks = load("scipy.signal").find_peaks

    if loss[0] - loss[-1] <= 1e-3 * loss[0]:
        return [(float(ts[0]), float(ts[-1]))]
    levels = np.linspace(loss[0], loss[-1], round(_FINE / _FALL) + 1)
    times = _reached(ts, loss, levels)
    times[-1] = ts[-1]  # the last level lasts until the end
    log_tau = np.log(times[_FINE:] - times[:-_FINE])
    edge = log_tau.min() - np.log(_SLOWER) - 1  # a plateau may be the first or the last
    padded = np.concatenate([[edge], log_tau, [edge]])
    # closer windows overlap and belong to the same plateau
    peaks, _ = find_peaks(padded, distance=_FINE, prominence=np.log(_SLOWER))
    return [(float(times[i]), float(times[i + _FINE])) for i in peaks - 1]


def _long_ones(spans: list[tuple[float, float]], first: float, last: float) -> list[tuple[float, float]]:
    """The spans that are long relative to the shorter drop next to them; others are part of a drop."""
    while spans:
        ends = [first, *(end for _, end in spans)], [*(start for start, _ in spans), last]
        falls = [after - before for before, after in zip(*ends, strict=True)]
        beside = [min((fall for fall in pair if fall > 0), default=0.0) for pair in pairwise(falls)]
        excess = [end - start - _LASTING * fall for (start, end), fall in zip(spans, beside, strict=True)]
        if min(excess) >= 0:
            break
        del spans[int(np.argmin(excess))]
    return spans


def _reached(ts: np.ndarray, loss: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The first times at which a non-increasing loss reaches the levels, by linear interpolation."""
    i = np.clip(np.searchsorted(-loss, -levels), 1, len(ts) - 1)
    step = loss[i - 1] - loss[i]
    share = np.divide(loss[i - 1] - levels, step, out=np.zeros(len(levels)), where=step > 0)
    return ts[i - 1] + np.clip(share, 0, 1) * (ts[i] - ts[i - 1])


def _plateau(
    trajectory: Trajectory | MapTrajectory,
    data: Dataset | None,
    ts: np.ndarray,
    loss: np.ndarray,
    start: float,
    end: float,
) -> Plateau:
    middle = (start + end) / 2
    network = _network_at(trajectory, int(np.argmin(np.abs(ts - middle))))
    nearest = None if data is None or network is None else _nearest(network, data)
    return Plateau(start, end, float(np.interp(middle, ts, loss)), bool(end < ts[-1]), nearest)


def _network_at(trajectory: Trajectory | MapTrajectory, i: int) -> Network | None:
    if isinstance(trajectory, MapTrajectory):
        return Network((trajectory.maps[i],), leak=1.0)
    return trajectory[i] if trajectory.weights else None


def _nearest(network: Network, data: Dataset) -> str:
    best = least_squares_fit(data)[0]
    f = outputs(network, data.x)
    apart = {"zero": np.linalg.norm(f), "least squares": np.linalg.norm(f - data.x @ best.T)}
    name = min(apart, key=lambda name: apart[name])
    return name if apart[name] <= _NEAR * np.linalg.norm(data.targets) else "other"


def _first(trajectory: Trajectory, holds: np.ndarray) -> float | None:
    return float(trajectory.ts[np.argmax(holds)]) if holds.any() else None


def _away_from_rank_one(w: Float[np.ndarray, "H D"]) -> float:
    """|W − best rank-one matrix|/|W|; infinite for W = 0."""
    singular = np.linalg.svd(w, compute_uv=False)
    if singular[0] == 0:
        return np.inf
    relative = singular / singular[0]
    return float(np.linalg.norm(relative[1:]) / np.linalg.norm(relative))


def _away_from(basis: Float[np.ndarray, "D _"], w: Float[np.ndarray, "H D"]) -> float:
    if not w.any():
        return np.inf
    w = w / np.abs(w).max()
    return float(np.linalg.norm(w - (w @ basis) @ basis.T) / np.linalg.norm(w))


def _margins(model: Model, data: Dataset) -> np.ndarray:
    f = outputs(model, data.x)
    if f.shape != data.targets.shape:
        raise ValueError(f"the model has {f.shape[1]} outputs, but the data have {data.outputs}.")
    return (data.targets * f).reshape(data.y.shape)


def _of_norm_one(network: Network) -> Network:
    """The network with all its weights divided by |θ|."""
    largest = max(np.abs(w).max() for w in network.weights)
    relative = [w / largest for w in network.weights]
    size = np.sqrt(sum(np.sum(w**2) for w in relative))
    return Network(tuple(w / size for w in relative), leak=network.leak)
