"""Simulators of learning: gradient flow, gradient descent, logistic descent to huge times, and sharpness.

README.md beside this file says how they are built. Each is loaded on first use, and JAX only where needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from biasfree.arguments import exported

if TYPE_CHECKING:
    from biasfree.dynamics._jax import KNOWN_WRONG as KNOWN_WRONG
    from biasfree.dynamics._jax import devices as devices
    from biasfree.dynamics._jax import has_jax as has_jax
    from biasfree.dynamics._jax import refuse_wrong_release as refuse_wrong_release
    from biasfree.dynamics._recorder import Halted as Halted
    from biasfree.dynamics._recorder import stop_when_set as stop_when_set
    from biasfree.dynamics._recorder import watch_losses as watch_losses
    from biasfree.dynamics.descent._gradient_descent import gradient_descent
    from biasfree.dynamics.descent._long_descent import long_descent
    from biasfree.dynamics.descent._optimize import optimize
    from biasfree.dynamics.descent._run import DivergenceError
    from biasfree.dynamics.descent._sharpness import sharpness
    from biasfree.dynamics.flow._gradient_flow import gradient_flow
    from biasfree.dynamics.steps._flow import UnfinishedError

_HOMES = {
    "DivergenceError": "descent._run",
    "UnfinishedError": "steps._flow",
    "gradient_descent": "descent._gradient_descent",
    "gradient_flow": "flow._gradient_flow",
    "long_descent": "descent._long_descent",
    "optimize": "descent._optimize",
    "sharpness": "descent._sharpness",
}

#: What other rooms use and users do not.
_SHARED = {
    "Halted": "_recorder",
    "KNOWN_WRONG": "_jax",
    "devices": "_jax",
    "has_jax": "_jax",
    "refuse_wrong_release": "_jax",
    "stop_when_set": "_recorder",
    "watch_losses": "_recorder",
}

__all__ = [
    "DivergenceError",
    "UnfinishedError",
    "gradient_descent",
    "gradient_flow",
    "long_descent",
    "optimize",
    "sharpness",
]


def __getattr__(name: str) -> Any:
    if name in _SHARED:
        return getattr(importlib.import_module(f"{__name__}.{_SHARED[name]}"), name)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has: {', '.join(__all__)}")
    home = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    globals()[name] = getattr(home, name)
    exported([name], globals())
    return globals()[name]


def flow_cache() -> str | None:
    """The folder that keeps compiled flows, or None where no folder does."""
    from biasfree.dynamics.steps._flow import run

    return run.stats.cache_path


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
