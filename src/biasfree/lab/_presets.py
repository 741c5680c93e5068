"""Presets: experiments of the papers that fit the plane, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from biasfree import data
from biasfree.data import Dataset


@dataclass(frozen=True)
class Preset:
    """Samples, the settings that go with them, and one sentence on what to see.

    `code` is the expression that gives the samples in Python; {delta!r} stands for δ.
    """

    title: str
    about: str
    make: Callable[[float], Dataset]
    code: str
    settings: Mapping[str, Any] = field(default_factory=dict)


PRESETS = {
    "six_points": Preset(
        "Six points, one moved by δ (Fig. 6)",
        "A long linear plateau, then neurons escape along the two edges of a wedge.",
        data.six_points,
        "bf.data.six_points({delta!r})",
        {"delta": 0.15, "width": 100, "scale": 1e-3, "horizon": 1000.0, "step": 0.025},
    ),
    "six_symmetric": Preset(
        "Six points, symmetric (Fig. 1)",
        "At δ = 0 the network stays at the least-squares map for ever.",
        lambda _: data.six_points(0.0),
        "bf.data.six_points(0.0)",
        {"width": 100, "scale": 1e-3, "horizon": 300.0, "step": 0.025},
    ),
    "odd_sine": Preset(
        "Odd target in the plane (Fig. 3)",
        "Symmetric data with an odd, nonlinear target: the network learns as a linear one.",
        lambda _: data.odd_sine(n=20, d=2, seed=0),
        "bf.data.odd_sine(n=20, d=2, seed=0)",
        {"width": 100, "scale": 1e-4, "horizon": 60.0, "step": 0.004, "twin": True},
    ),
    "orthogonal_pair": Preset(
        "Orthogonal pair (Fig. 4)",
        "Each point is learned by neurons of its own, in two steps.",
        lambda _: data.orthogonal_pair(),
        "bf.data.orthogonal_pair()",
        {"width": 60, "scale": 1e-6, "horizon": 50.0, "step": 0.001},
    ),
    "xor": Preset(
        "XOR (Fig. 4)",
        "Four points on the axes, learned one after the other.",
        lambda _: data.xor(),
        "bf.data.xor()",
        {"width": 60, "scale": 1e-6, "horizon": 100.0, "step": 0.001},
    ),
    "three_layers": Preset(
        "Three layers, linear target (Fig. 5)",
        "W₂ becomes two blocks of one sign each: a rank-two matrix.",
        lambda _: data.linear_teacher(n=12, d=2, seed=0),
        "bf.data.linear_teacher(n=12, d=2, seed=0)",
        {"width": 40, "scale": 0.3, "depth": "3", "horizon": 300.0, "step": 0.1},
    ),
    "orthogonal_logistic": Preset(
        "Orthogonal pair, logistic loss (Fig. 8)",
        "The two steps under the logistic loss.",
        lambda _: data.orthogonal_pair(),
        "bf.data.orthogonal_pair()",
        {"width": 60, "scale": 1e-6, "horizon": 150.0, "step": 0.004, "loss": "logistic"},
    ),
    "xor_logistic": Preset(
        "XOR, logistic loss (Fig. 8)",
        "The four steps under the logistic loss.",
        lambda _: data.xor(),
        "bf.data.xor()",
        {"width": 60, "scale": 1e-6, "horizon": 250.0, "step": 0.004, "loss": "logistic"},
    ),
    "circle": Preset(
        "Circle, odd target (Sec. 3)",
        "Three layers express this odd function; two layers do not.",
        lambda _: data.circle(16),
        "bf.data.circle(16)",
        {"width": 30, "scale": 0.5, "depth": "3", "horizon": 60.0, "step": 0.05},
    ),
    "five_points": Preset(
        "Five points (Boursier et al. 2022)",
        "The second input is constant, so the network has a hidden bias.",
        lambda _: data.five_points(),
        "bf.data.five_points()",
        {"width": 60, "scale": 1e-3, "horizon": 300.0, "step": 0.01},
    ),
}  # fmt: skip
#: The name of samples that the user has placed.
OWN = "own"
