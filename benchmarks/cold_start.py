"""Fresh processes: twelve flows of twelve shapes against the same called again; the import; the command.

Run as a program it prints the seconds of the imports, of the first flows and of the second ones, and the
largest error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import biasfree as bf
from benchmarks.measure import best, in_fresh_process, path_error, timed
from benchmarks.rows import Goal, Row

NAME = "twelve flows of twelve shapes, a fresh process over again"
MORE = "twelve flows of twelve shapes, seconds more in a fresh process"
GOALS = {
    NAME: Goal("≤", 2),
    MORE: Goal("≤", 1, "s"),
    "import biasfree": Goal("<", 0.5, "s"),
    "biasfree --help": Goal("<", 0.5, "s"),
}
#: Samples, neurons per hidden layer, inputs, layers. Deep networks with more than 50,000 pairs of neuron and
#: sample may be followed by steps, which JAX compiles for every shape.
SHAPES = (
    (6, 20, 2, 2), (10, 100, 2, 2), (14, 50, 2, 2), (24, 30, 3, 2), (40, 64, 3, 2), (50, 128, 5, 2),
    (100, 200, 4, 2), (200, 150, 8, 2), (400, 300, 10, 2), (6, 24, 2, 3), (60, 50, 3, 3), (100, 30, 5, 3),
)  # fmt: skip
#: Initial scale and last time by depth: two layers learn the linear map, three begin to.
SETTINGS = {2: (1e-3, 40.0), 3: (0.3, 4.0)}
RTOL, BOUND = 1e-4, 1e-3  # of a step, and on the path error
Flow = tuple[bf.Network, bf.Dataset, np.ndarray]


def rows() -> Iterator[Row]:
    """Two rows of one measurement, the ratio and the difference; and the start of processes."""
    in_fresh_process("cold_start", "once")  # compiles what no earlier process needed
    found = in_fresh_process("cold_start")
    first, again = found["first"], found["again"]
    note = (
        f"rtol {RTOL:g}; imports take {found['imports']:.2g} s more; methods: {found['methods']}; "
        f"error against rtol {RTOL / 100:g}"
    )
    shared: dict[str, Any] = {"error": found["error"], "bound": BOUND, "note": note}
    peer = "the same, called again"
    yield Row(NAME, peer, first, again, ratio=first / again, goal=GOALS[NAME], **shared)
    yield Row(MORE, peer, first, again, ratio=first - again, goal=GOALS[MORE], **shared)
    yield from start_up()


def start_up() -> Iterator[Row]:
    """Seconds of new processes, the start of the interpreter included; the best of several."""
    python, script = [sys.executable, "-c"], Path(sys.executable).with_name("biasfree")
    commands = {
        "import biasfree": [*python, "import biasfree"],
        "import biasfree and its flow": [*python, "import biasfree; biasfree.gradient_flow"],
        "biasfree --help": [str(script), "--help"],
    }
    for name, command in commands.items():
        seconds, _ = best(lambda: subprocess.run(command, capture_output=True, check=True), 7)  # noqa: B023
        note = "a fresh process, best of 7"
        yield Row(name, ours=seconds, ratio=seconds, ratio_unit="s", goal=GOALS.get(name), note=note)


def problems() -> list[Flow]:
    """Networks of small weights, symmetric data and times, of all shapes."""
    made = []
    for samples, width, inputs, depth in SHAPES:
        scale, end = SETTINGS[depth]
        network = bf.networks.gaussian((inputs, *[width] * (depth - 1), 1), scale=scale, seed=1)
        made.append((network, bf.data.odd_sine(samples // 2, inputs, seed=0), np.linspace(0, end, 9)))
    return made


def flows(given: list[Flow], rtol: float = RTOL) -> list[bf.Trajectory]:
    """One flow after the other, as a sweep over shapes calls them."""
    return [bf.gradient_flow(network, data, ts, rtol=rtol) for network, data, ts in given]


def measured(*, again: bool) -> dict[str, Any]:
    """Seconds and error in this process, which has not yet imported a simulator."""
    imports, _ = timed(lambda: bf.gradient_flow)
    given = problems()
    first, runs = timed(lambda: flows(given))
    found: dict[str, Any] = {"imports": imports, "first": first}
    if not again:
        return found
    second, _ = best(lambda: flows(given), 2)
    tighter = flows(given, RTOL / 100)
    error = max(path_error(run.weights, one.weights) for run, one in zip(runs, tighter, strict=True))
    methods = ", ".join(sorted({run.stats.method for run in runs}))
    return {**found, "again": second, "error": error, "methods": methods}


if __name__ == "__main__":
    print(json.dumps(measured(again=sys.argv[1:] != ["once"])))
