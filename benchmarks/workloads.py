"""All workloads in the order of the table, by the name that `--only` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Protocol

from benchmarks.rows import Goal, Row

NAMES = (
    "quickstart",
    "descent_six",
    "descent_fig3",
    "flow_fig3",
    "flow_six",
    "flow_deep",
    "flow_list",
    "flow_shapes",
    "descent_shapes",
    "aligned",
    "seeds",
    "device",
    "adam_fig3",
    "optimize_list",
    "infinite_data",
    "dense",
    "closed_form",
    "integrators",
    "monitor",
    "diagnose",
    "busy",
    "sweeps",
    "lab",
    "start_up",
)


class Workload(Protocol):
    """A module with the goals of its rows, by name, and the function that measures them."""

    GOALS: Mapping[str, Goal]
    rows: Callable[[], Iterator[Row]]


def workload(name: str) -> Workload:
    """The module of that name, imported on first use."""
    return import_module(f"benchmarks.{name}")
