"""Runs of Fig. 5: three layers as printed, more seeds and depths, and exact initial weights with theory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory import DeepParts
from biasfree_papers.fig5.course import course
from biasfree_papers.fig5.theorem import exact
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.loss_levels import accurate, fall
from biasfree_papers.shared.trajectories import layers, named, stacked
from biasfree_papers.types import Numbers, Report


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """The paper's run, then runs of more seeds and depths, then initial weights of the exact structure."""
    seeds = seeds_of(settings)
    wide = tasks.linear_teacher(settings["samples"], settings["dimensions"], seed=settings["data_seed"])
    small = tasks.linear_teacher(
        settings["flow_samples"], settings["flow_dimensions"], seed=settings["data_seed"]
    )
    found, (relu, linear) = _as_printed(settings, wide, int(seeds[0]), report)
    rows = [_compared(3, int(seeds[0]), _printed_start(settings, int(seeds[0]))[0], relu, linear, wide)]
    falls = {}
    for depth in settings["depths"]:
        for seed in seeds[1:] if depth == 3 else seeds:
            report(f"{depth} layers, seed {seed}")
            pair = _flow_start(settings, depth, int(seed))
            row, path = _fallen(depth, int(seed), pair, small, settings)
            rows.append(row)
            falls |= path if seed == seeds[0] else {}
    report("initial weights of the exact structure")
    return {
        **found,
        **falls,
        **stacked(rows),
        **exact(settings, wide, small),
        **{f"curvature{depth}": _curvature(wide if depth == 3 else small) for depth in settings["depths"]},
        **{f"target{depth}": _target(wide if depth == 3 else small) for depth in settings["depths"]},
        "seeds": seeds,
    }


def _printed_start(settings: Mapping[str, Any], seed: int) -> tuple[Network, Network]:
    """Three layers of the printed size, as a ReLU and as a linear network of the same weights."""
    sizes = (settings["dimensions"], settings["width"], settings["width"], 1)
    return _twins(networks.gaussian(sizes, scale=settings["scale"], seed=seed))


def _flow_start(settings: Mapping[str, Any], depth: int, seed: int) -> tuple[Network, Network]:
    """Layers of the size that is followed by flow, as a ReLU and as a linear network."""
    sizes = (settings["flow_dimensions"], *(settings["flow_width"],) * (depth - 1), 1)
    scale = settings["scale" if depth == 3 else f"scale{depth}"]
    return _twins(networks.gaussian(sizes, scale=scale, seed=seed))


def _twins(relu: Network) -> tuple[Network, Network]:
    return relu, Network(relu.weights, leak=1.0)


def _as_printed(
    settings: Mapping[str, Any], data: Dataset, seed: int, report: Report
) -> tuple[Numbers, list[Network]]:
    """Descent of both networks with the paper's step, to its last epoch or a loss of `level` of the first."""
    from biasfree.dynamics import gradient_descent

    found, ends = {}, []
    for name, start in zip(("relu", "linear"), _printed_start(settings, seed), strict=True):
        report(f"three layers as printed, {name}")
        run = gradient_descent(
            start,
            data,
            step=settings["step"],
            steps=settings["epochs"],
            save_every=settings["save_every"],
            until=settings["level"] * float(np.mean(data.y**2) / 2),
            save=lambda network: np.append(_reading(network, data), diagnostics.row_alignment(network).share),
        )
        ends.append(run[-1])
        assert run.saved is not None
        readings, aligned = run.saved[:, :-1].reshape(len(run.ts), -1, 3), run.saved[:, -1]
        found |= named(name, layers(run[-1]))
        found |= {f"{name}_ts": run.ts, f"{name}_loss": run.loss, f"{name}3": readings}
        parts, speed = (slice(1, 3), 0.5) if name == "relu" else (slice(0, 1), 1.0)
        found |= named(name, course(run.ts, readings[:, parts, 0], data, speed=speed))
        first, last = (diagnostics.row_alignment(one).cosines for one in (start, run[-1]))
        found |= named(name, {"aligned": aligned, "rows_first": first, "rows_last": last})
    return found, ends


def _fallen(
    depth: int, seed: int, pair: tuple[Network, Network], data: Dataset, settings: Mapping[str, Any]
) -> tuple[dict[str, Any], Numbers]:
    """The row of the table for one seed, and the measurements along both of its paths."""
    both = [fall(one, data, end=settings["end"], rtol=settings["rtol"]) for one in pair]
    row = _compared(depth, seed, pair[0], both[0].networks[-1], both[1].networks[-1], data)
    row["left"] = max(row["left"], *(one.left[-1] for one in both))
    row["error"], row["drift"] = max(one.error for one in both), max(one.drift for one in both)
    row["trusted"] = all(accurate(one.error, one.drift) for one in both)
    row["events"] = both[0].events
    row["stopped"] = both[0].stopped
    paths = {
        f"{name}{depth}": np.array([_reading(network, data) for network in one.networks])
        for name, one in zip(("relu", "linear"), both, strict=True)
    }
    return row, paths


def _compared(
    depth: int, seed: int, start: Network, relu: Network, linear: Network, data: Dataset
) -> dict[str, Any]:
    """The paper's quantities for the trained pair, and the initial norm over the linear one's last."""
    found, twin = diagnostics.structure_distance(relu), diagnostics.structure_distance(linear)
    middle = relu.weights[1:-1]
    return {
        "depths": depth,
        "draws": seed,
        "left": max(_left(one, data) for one in (relu, linear)),
        "relu_outside": np.nan if found is None else found.relu,
        "linear_outside": np.nan if twin is None else twin.linear,
        "outer_second": max(_values(w)[1] for w in (relu.weights[0], linear.weights[0])),
        "middle_second": min(_values(w)[1] for w in middle),
        "middle_third": max(_values(w)[2] for w in middle),
        "kept": np.linalg.norm(start.norms) / np.linalg.norm(linear.norms),
        "ratio": np.sqrt(np.sum(relu.norms**2) / np.sum(linear.norms**2)),
        "aligned": min(
            diagnostics.row_alignment(one, layer=i).share
            for one in (relu, linear)
            for i in range(2, one.depth)
        ),
        "agreeing": min(_agreeing(w, other) for w, other in zip(middle, linear.weights[1:-1], strict=True)),
        "error": 0.0,  # of descent, which is what the paper prints
        "drift": 0.0,
        "trusted": True,
        "events": 0,
        "stopped": "descent as printed",
    }


def _target(data: Dataset) -> np.ndarray:
    """|w*|, the length of the map that is learned."""
    return np.array(np.linalg.norm(theory.least_squares(data)))


def _curvature(data: Dataset) -> np.ndarray:
    """rᵀΣr for r along w*: there Proposition 12 is dv/dt̃ = v^{L−1}rᵀΣr(|w*| − v^L)."""
    target = theory.least_squares(data)
    r = target / np.linalg.norm(target)
    return np.array(r @ data.sigma @ r)


def _left(network: Network, data: Dataset) -> float:
    """The loss that is left, of the first: linear targets are learned to 0."""
    return float(np.mean((data.y - network(data.x)) ** 2) / np.mean(data.y**2))


def _values(w: np.ndarray) -> np.ndarray:
    """Singular values over the largest, at least three of them."""
    values = np.linalg.svd(w, compute_uv=False)
    return np.append(values, np.zeros(2)) / values[0]


def _agreeing(relu: np.ndarray, linear: np.ndarray) -> float:
    """The share of |W_l|² of the ReLU network in positive entries that are positive in the linear one too."""
    return float(np.sum(relu[(relu > 0) & (linear > 0)] ** 2) / np.sum(relu**2))


def _reading(network: Network, data: Dataset) -> np.ndarray:
    """Size, speed and Proposition 12's speed of a network, (1, 3); if ReLU, of its two halves too, (3, 3).

    The size of all is u, u² the mean of |W_l|². A half are the neurons of one sign of the last layer, and its
    size is their norm there, p. Speeds are exact for any weights: f is homogeneous of degree 1 in each layer,
    so τ d|W_l|²/dt = −2 W_l·∂L/∂W_l = 2⟨(y − f)f⟩, and for a part of the last layer that part of f.
    """
    parts, outer = DeepParts.of(network), network.weights[-1][0]
    hidden = network.preactivations(data.x)[-2]
    terms = np.where(hidden > 0, hidden, network.leak * hidden) * outer
    error = data.y - terms.sum(axis=1)
    u = np.sqrt(np.mean(network.norms**2))
    rows = [(u, error @ terms.sum(axis=1) / (len(data) * u), _proposition(parts, u, data))]
    for sign in (1, -1) if network.leak == 0 else ():
        p, half = float(np.linalg.norm(outer[sign * outer > 0])), terms[:, sign * outer > 0].sum(axis=1)
        rows.append((p, error @ half / (len(data) * p), _half(network, parts, sign, p, data)))
    return np.array(rows)


def _proposition(parts: DeepParts, u: float, data: Dataset) -> float:
    """τu̇ = (v^L/u)(β − v^LΣr)·r, v = √c·u."""
    strength = (np.sqrt(parts.c) * u) ** parts.depth
    return strength / u * float((data.beta - strength * data.sigma @ parts.r) @ parts.r)


def _half(network: Network, parts: DeepParts, sign: int, p: float, data: Dataset) -> float:
    """τṗ = ½p^{L−1}(β − p^LΣr)·r with the r of this half: a linear network that sees half of the samples."""
    r = np.where(sign * parts.neurons[0] > 0, parts.neurons[0], 0) @ network.weights[0]
    r = r / np.linalg.norm(r)
    return p ** (parts.depth - 1) / 2 * float((data.beta - p**parts.depth * data.sigma @ r) @ r)
