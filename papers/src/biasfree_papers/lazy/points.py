"""One run of each experiment: exact flow beside linearized training and the closed form of small weights."""

from __future__ import annotations

from typing import Any

import numpy as np

import biasfree as bf

#: Kinds of initial weights: independent ones, and neurons (w, a), (w, −a), whose outputs cancel at t = 0.
KINDS = ("pairs", "independent")
#: The share of the drop of the loss that is left at the end of a run, and the share of the plateau's loss
#: below which the plateau of the six points is left.
LEFT, LEAVES = 0.01, 0.8
#: The last time of a run, in units of 1/max(1, scale²), that on the six points times δ, and the number of
#: saved times: theory lets the plateau of the six points last for at most two thirds of that here.
LAST, SIX_LAST, SAVED = 1e4, 150.0, 70
_NO_LIMIT: dict[str, Any] = dict.fromkeys(("small_tolerance", "growing_tolerance"), np.inf)


def initial_weights(kind: str, sizes: tuple[int, int, int], scale: float, seed: int) -> bf.Network:
    """Gaussian layers of norm `scale`, independent or in pairs of equal w and opposite a."""
    if kind == "independent":
        return bf.networks.gaussian(sizes, scale=scale, seed=seed)
    d, width, outputs = sizes
    half = bf.networks.gaussian((d, width // 2, outputs), scale=scale / np.sqrt(2), seed=seed)
    return paired(*half.weights)


def paired(w: np.ndarray, a: np.ndarray) -> bf.Network:
    """Two copies of every neuron, of opposite a: the network is zero."""
    return bf.Network((np.vstack([w, w]), np.hstack([a, -a])))


def on_symmetric_data(data: bf.Dataset, network: bf.Network, scale: float) -> dict[str, float]:
    """Errors of both theories, the movement of the weights, and the linearized network trained for ever."""
    floor = least_loss(data)
    run = followed(network, data, scale, floor, LAST)
    rich = bf.theory.two_neuron_flow(network, data, run.ts, **_NO_LIMIT)
    end = bf.theory.lazy_flow(network, data, [0.0, np.inf], lazy_tolerance=np.inf)
    return {
        **measured(run, data),
        "rich_error": _largest_gap(rich.loss, run.loss),
        "excess": float(end.loss[-1]) - floor,
        "excess_rounding": _rounding(network, data, floor, float(end.loss[0])),
    }


def on_six_points(delta: float, network: bf.Network, scale: float) -> dict[str, float]:
    """Errors of both theories on the six points: over all of training, and until the plateau is left.

    The error of the closed form is NaN where κ is too small for floating-point numbers.
    """
    data = bf.data.six_points(delta)
    run = followed(network, data, scale, 0.0, SIX_LAST / delta)
    try:
        options: Any = {**_NO_LIMIT, "halves_tolerance": np.inf, "delta_tolerance": 2.0}
        rich = bf.theory.six_point_escape(network, delta, **options).loss(run.ts)
    except ValueError:
        rich = np.full(len(run), np.nan)
    before = run.loss > LEAVES * bf.theory.SixPointEscape.plateau
    return {
        **measured(run, data),
        "rich_error": _largest_gap(rich, run.loss),
        "fall_error": _largest_gap(rich[before], run.loss[before], run.loss[0]),
    }


def followed(network: bf.Network, data: bf.Dataset, scale: float, floor: float, last: float) -> bf.Trajectory:
    """Exact flow until a hundredth of the drop of the loss is left.

    Weights of norm γ move by about 1/γ² of their size, so the flow must be that much more accurate.
    """
    unit = max(1.0, scale**2)
    ts = np.append(0.0, np.geomspace(1e-3, last, SAVED) / unit)
    first = float(np.mean((data.y - network(data.x)) ** 2) / 2)
    return bf.gradient_flow(network, data, ts, until=floor + LEFT * (first - floor), rtol=1e-6 / unit)


def measured(run: bf.Trajectory, data: bf.Dataset) -> dict[str, float]:
    """The error of linearized training, and how far weights and kernel have moved at the end.

    As L̇ = −|θ̇|², the path of gradient flow is at most √(t(L(0) − L(t))) long.
    """
    lazy = bf.theory.lazy_flow(run[0], data, run.ts, lazy_tolerance=np.inf)
    size = float(np.sqrt(np.sum(run[0].norms ** 2)))
    return {
        "lazy_error": _largest_gap(lazy.loss, run.loss),
        "movement": bf.diagnostics.weight_movement(run[-1], run[0]),
        "longest_path": float(np.sqrt(run.ts[-1] * (run.loss[0] - run.loss[-1]))) / size,
        "kernel_movement": bf.diagnostics.kernel_movement(run[-1], run[0], data),
        "simulation_error": float(run.stats.error or 0.0),
        "reached": float(run.stats.stopped == "loss level reached"),
    }


def first_layer_movement(
    data: bf.Dataset, width: int, seed: int, *, size: float, ratio: float
) -> dict[str, float]:
    """|W₁ − W₁(0)|/|W₁(0)| at the end, for neurons in pairs with σ_a σ_w = H^−size, σ_a/σ_w = H^−ratio."""
    rng, exponents = np.random.default_rng(seed), ((size - ratio) / 2, (size + ratio) / 2)
    shapes = ((width // 2, data.dimensions), (1, width // 2))
    layers = [rng.normal(size=shape) * float(width) ** -e for shape, e in zip(shapes, exponents, strict=True)]
    network = paired(*layers)
    floor, first = least_loss(data), float(np.mean(data.y**2) / 2)
    rtol = min(1e-6, 1e-3 * float(width) ** predicted_exponent(size, ratio))  # weights may hardly move
    run = bf.gradient_flow(network, data, [0.0, LAST], until=floor + LEFT * (first - floor), rtol=rtol)
    start, end = (one.weights[0] for one in (run[0], run[-1]))
    return {"first_movement": float(np.linalg.norm(end - start) / np.linalg.norm(start))}


def predicted_exponent(size: float, ratio: float) -> float:
    """The exponent S of |W₁ − W₁(0)|/|W₁(0)| ~ H^S, by orders of magnitude, for f = 0 at t = 0.

    With u, v the exponents of 1/(Hσ_w²), 1/(Hσ_a²): training lasts for t ~ H^min(u, v) unless both exceed 0,
    where weights first grow to H^−½. Meanwhile Δw ~ at, and a grows by wt.
    """
    u, v = size - ratio - 1, size + ratio - 1
    if min(u, v) >= 0:
        return u / 2
    return max(u - ratio, 2 * u) if ratio >= 0 else size - 1


def least_loss(data: bf.Dataset) -> float:
    """The loss of the least-squares linear map."""
    return float(np.mean((data.y - data.x @ bf.theory.least_squares(data)) ** 2) / 2)


def _largest_gap(one: np.ndarray, other: np.ndarray, size: float | None = None) -> float:
    return float(np.abs(one - other).max() / (other[0] if size is None else size))


def _rounding(network: bf.Network, data: bf.Dataset, floor: float, first: float) -> float:
    """By how much rounding may lower a computed loss below that of least squares, √(2 floor)·rms(e).

    e, the error of the outputs, is that of sums of P, H and D terms: relative to |W₁||W₂||x| in a network,
    and to √(2L)·κ in the eigenvectors of its kernel, κ the ratio of its extreme eigenvalues other than zero.
    """
    eps, terms = np.finfo(float).eps, len(data) + network.sizes[0] + network.sizes[1]
    rates = np.linalg.eigvalsh(bf.theory.kernel(network, data))
    least = rates[rates > len(data) * eps * rates[-1]][0]
    outputs = np.prod(network.norms) * np.linalg.norm(data.x, axis=1).max()
    return float(2 * np.sqrt(2 * floor) * eps * terms * (outputs + rates[-1] / least * np.sqrt(2 * first)))
