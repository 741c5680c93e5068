"""The phase after alignment with 100 times as many samples, by descent and by the flow.

Run as a program with METHOD and DRAWS it goes through one phase, and prints what that took.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import biasfree as bf
from benchmarks import peers
from benchmarks.measure import best, in_fresh_process, path_error, timed
from benchmarks.problems import fig3
from benchmarks.rows import Goal, Row
from biasfree.dynamics.network._layout import rays_of

METHODS = ("descent", "flow")
GOALS = {f"aligned phase, P 2·10³ to 2·10⁵, {method}": Goal("≤", 3) for method in METHODS}
#: Draws, each with its mirror image: P is twice as many.
FEW, MANY = 1000, 100_000
#: By the first time neurons have aligned, the loss still on its plateau; the phase ends at the last one.
ALIGNED, END, STEP = 20.0, 40.0, 0.004
STEPS = round((END - ALIGNED) / STEP)
RTOL = 1e-3  # of the flow, whose path error is then below 1e-4: see flow_fig3
#: Steps in the middle of the phase, where the loss falls, that NumPy repeats.
REPEATED = (1500, 1502)
_ERRORS = {
    "descent": "errors: of two steps in the middle, against NumPy",
    "flow": f"errors: at the end, against rtol {RTOL / 100:g}",
}


def rows() -> Iterator[Row]:
    """Each method at both numbers of samples, in a process of its own."""
    for name, method in zip(GOALS, METHODS, strict=True):
        few, many = (in_fresh_process("aligned", method, draws) for draws in (FEW, MANY))
        yield Row(
            name,
            f"itself at P = {few['samples']:,}",
            many["phase"],
            few["phase"],
            ratio=many["phase"] / few["phase"],
            goal=GOALS[name],
            error=many["error"],
            peer_error=few["error"],
            note=f"P = {many['samples']:,}, t = {ALIGNED:g} … {END:g}; evaluations by classes: "
            f"{_by_class(few)} and {_by_class(many)}; besides, taking in the data: {few['intake']:.2g} and "
            f"{many['intake']:.2g} s; {_ERRORS[method]}",
        )


def _by_class(found: dict[str, Any]) -> str:
    return f"{found['by_class'] / max(found['evaluations'], 1):.1%} of {found['evaluations']:,}"


def measured(method: str, draws: int) -> dict[str, Any]:
    """Seconds of the phase: of the call, less the intake, what it takes to check and fold the data.

    The initial weights are the early phase's exact solution, within 5e-5 of the simulator at Fig. 3's size.
    To find and to renew activation classes is part of the phase.
    """
    data = bf.data.odd_sine(draws, 20, seed=0)
    network = bf.theory.early_flow(fig3().network, data, [0.0, ALIGNED])[-1]
    run, check = {"descent": (descend, _against_numpy), "flow": (flow, _against_tighter)}[method]
    run(network, data, 0.01)  # compiles, or loads
    seconds, done = timed(lambda: run(network, data, 1.0))
    intake = {"descent": _descent_intake, "flow": _flow_intake}[method](data)
    return {
        "samples": len(data),
        "intake": intake,
        "phase": seconds - intake,
        "evaluations": done.stats.evaluations,
        "by_class": done.stats.by_class,
        "error": check(done, data),
    }


def _random(data: bf.Dataset) -> bf.Network:
    return bf.networks.gaussian((data.dimensions, 500, 1), scale=1.0, seed=2)


def _flow_intake(data: bf.Dataset) -> float:
    """Seconds to fold the data into rays."""
    return best(lambda: rays_of(_random(data), data, "square", smooth=False), 3)[0]


def _descent_intake(data: bf.Dataset) -> float:
    """Seconds of a call of one step from random weights, less those of a step: a tenth of ten more."""
    network = _random(data)
    descend(network, data, 11 / STEPS)  # compiles, or loads
    one, _ = best(lambda: descend(network, data, 1 / STEPS), 2)
    eleven, _ = best(lambda: descend(network, data, 11 / STEPS), 2)
    return max(0.0, one - (eleven - one) / 10)


def descend(network: bf.Network, data: bf.Dataset, share: float) -> bf.Trajectory:
    """A fraction of the phase by descent."""
    steps = round(share * STEPS)
    saves = [one for one in REPEATED if one < steps]
    return bf.gradient_descent(network, data, step=STEP, steps=steps, save_every=saves or steps)


def flow(network: bf.Network, data: bf.Dataset, share: float, rtol: float = RTOL) -> bf.Trajectory:
    """A fraction of the phase by the flow."""
    return bf.gradient_flow(network, data, [0.0, share * (END - ALIGNED)], rtol=rtol)


def _against_numpy(run: bf.Trajectory, data: bf.Dataset) -> float:
    """The distance of steps in the middle of the phase from NumPy's."""
    first, last = (int(np.flatnonzero(np.isclose(run.ts, STEP * one))[0]) for one in REPEATED)
    expected = peers.numpy_descended(run[first], data, step=STEP, steps=REPEATED[1] - REPEATED[0])
    return path_error([w[None] for w in run[last].weights], [w[None] for w in expected])


def _against_tighter(run: bf.Trajectory, data: bf.Dataset) -> float:
    """The distance of the path from one at a hundredth of the tolerance."""
    return path_error(run.weights, flow(run[0], data, 1.0, RTOL / 100).weights)


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
