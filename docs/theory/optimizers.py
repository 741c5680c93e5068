"""The picture of optimizers.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import optax

import biasfree as bf
from biasfree import plots
from biasfree.theory import optimizer_twin

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ADAM, _MOMENTUM = {"learning_rate": 0.01, "eps": 1e-8}, {"learning_rate": 0.05, "momentum": 0.9}


def draw() -> Figure:
    """Distances from the twin over 300 steps, on a logarithmic axis."""
    from matplotlib.figure import Figure

    data = bf.data.odd_sine(n=20, d=5, seed=0)
    pairs = bf.networks.opposite((5, 20, 1), scale=0.5, seed=0)
    one = bf.networks.rank_one(np.ones(5), width=20, scale=0.5, seed=0)
    cases: list[tuple[str, Any, str, dict[str, float], Any]] = [
        ("opposite pairs, momentum", pairs, "sgd", _MOMENTUM, {}),
        ("opposite pairs, Adam", pairs, "adam", _ADAM, {}),
        ("opposite pairs, Adam, batches of 10", pairs, "adam", _ADAM, {"batch_size": 10}),
        ("rank one, momentum", one, "sgd", _MOMENTUM, {}),
        ("rank one, Adam", one, "adam", _ADAM, {}),
        ("batches that split mirror pairs", pairs, "adam", _ADAM, {"batch_size": 10, "pairs": False}),
    ]
    with plots.style():
        figure = Figure(figsize=(plots.WIDTH * 0.8, 2.9), layout="constrained")
        axes = figure.subplots()
        for i, (label, network, name, values, options) in enumerate(cases):
            ts, gap = _gap(data, network, name, values, options)
            axes.plot(ts, np.maximum(gap, 1e-18), color=f"C{i}", ls="-" if i < 3 else "--", label=label)
        axes.set(yscale="log", ylim=(1e-18, 10), xlabel="steps", ylabel="distance from the twin")
        figure.legend(loc="outside right center")
    return figure


def _gap(data: bf.Dataset, network: bf.Network, name: str, values: dict[str, float], options: Any) -> Any:
    """Steps, and |√c·W − W_lin|/|W_lin| after them."""
    twin, theirs = optimizer_twin(network, data, name, opposite_tolerance=1.0, **values)
    make: Any = {"sgd": optax.sgd, "adam": optax.adam}[name]
    run = bf.optimize(network, data, make(**values), steps=300, save_every=5, **options)
    linear = bf.optimize(twin, data, make(**theirs), steps=300, save_every=5, **options)
    pairs = zip(run.weights, linear.weights, strict=True)
    apart = sum(np.sum((np.sqrt(0.5) * a - b) ** 2, axis=(1, 2)) for a, b in pairs)
    return run.ts, np.sqrt(apart / sum(np.sum(b**2, axis=(1, 2)) for b in linear.weights))
