"""Learning dynamics of bias-free ReLU and linear networks: simulation, theory, diagnostics.

    data = bf.data.odd_sine(n=1000, d=20, seed=0)
    network = bf.networks.gaussian((20, 500, 1), scale=1e-8, seed=1)
    simulated = bf.gradient_flow(network, data, ts)
    predicted = bf.theory.reduced_flow(bf.theory.aligned(network, data), data, ts)

Submodules are loaded on first use, so `import biasfree` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from biasfree._version import __version__ as __version__

if TYPE_CHECKING:
    from biasfree import data, diagnostics, dynamics, lab, networks, plots, sweeps, theory
    from biasfree.compilation import cache_compilation
    from biasfree.data import Dataset
    from biasfree.diagnostics.advice import diagnose, diagnose_checkpoints
    from biasfree.dynamics import gradient_descent, gradient_flow, long_descent, optimize, sharpness
    from biasfree.networks import Network
    from biasfree.sweeps import sweep
    from biasfree.theory import AssumptionError
    from biasfree.trajectory import MapTrajectory, Trajectory
    from biasfree.versions import show_versions

_STAGES = ("data", "networks", "dynamics", "theory", "plots", "diagnostics", "sweeps", "lab")
_HOMES = {
    "Dataset": "data",
    "Network": "networks",
    "Trajectory": "trajectory",
    "MapTrajectory": "trajectory",
    "gradient_flow": "dynamics",
    "gradient_descent": "dynamics",
    "long_descent": "dynamics",
    "optimize": "dynamics",
    "sharpness": "dynamics",
    "AssumptionError": "theory",
    "diagnose": "diagnostics.advice",
    "diagnose_checkpoints": "diagnostics.advice",
    "sweep": "sweeps",
    "cache_compilation": "compilation",
    "show_versions": "versions",
}

__all__ = [  # noqa: RUF022 - in the order of use
    "data",
    "networks",
    "dynamics",
    "theory",
    "plots",
    "diagnostics",
    "sweeps",
    "lab",
    "Dataset",
    "Network",
    "Trajectory",
    "MapTrajectory",
    "gradient_flow",
    "gradient_descent",
    "long_descent",
    "optimize",
    "sharpness",
    "diagnose",
    "diagnose_checkpoints",
    "sweep",
    "AssumptionError",
    "cache_compilation",
    "show_versions",
]


def __getattr__(name: str):
    if name in _STAGES:
        return importlib.import_module(f"biasfree.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(f"biasfree.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'biasfree' has no attribute {name!r}; it has: {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
