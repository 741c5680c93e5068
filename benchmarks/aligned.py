"""Cost of the phase after alignment with 100 times as many samples.

`python -m benchmarks.aligned METHOD DRAWS STATE` runs one phase in a process of its own and prints what it
took: first of a short part, then of all of it, so that a phase stopped at the time limit has the former.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import biasfree as bf
from benchmarks import peers_numpy
from benchmarks.dense import evaluated
from benchmarks.measure import best, path_error, timed
from benchmarks.problems import fig3
from benchmarks.rows import Goal, Row
from biasfree.dynamics.flow.native._layout import rays_of

METHODS = ("descent", "flow")
GOALS = {f"aligned phase, P 2·10³ to 2·10⁵, {method}": Goal("≤", 3) for method in METHODS}
#: Draws, each with its mirror image: P is twice as many.
FEW, MANY = 1000, 100_000
#: By the first time neurons have aligned, the loss still on its plateau; the phase ends at the last one.
ALIGNED, END, STEP = 20.0, 40.0, 0.004
STEPS = round((END - ALIGNED) / STEP)
RTOL = 1e-3  # of the flow, whose path error is then below 1e-4: see flow_fig3
PART = 0.01  # of the phase: what is measured where the whole does not finish
LIMIT = 90.0  # seconds for a process
#: Steps in the middle of the phase, where the loss falls, that NumPy repeats.
REPEATED = (1500, 1502)
_ERRORS = {
    "descent": "errors: of two steps in the middle, against NumPy",
    "flow": f"errors: at the end, against rtol {RTOL / 100:g}",
}


def rows(few: int = FEW, many: int = MANY) -> Iterator[Row]:
    """Descent and flow through the phase at both numbers of samples."""
    with tempfile.TemporaryDirectory() as folder:
        states = {draws: _stored(aligned(draws), Path(folder) / f"{draws}.npz") for draws in (few, many)}
        for name, method in zip(GOALS, METHODS, strict=True):
            yield _row(name, *(_in_process(method, draws, state) for draws, state in states.items()))


def aligned(draws: int) -> bf.Network:
    """The ReLU network of Fig. 3 at the end of its plateau, on this many samples.

    While outputs are negligible the flow is known: at Fig. 3's size the simulator is there, to 5e-5.
    """
    data = bf.data.odd_sine(draws, 20, seed=0)
    return bf.theory.early_flow(fig3().network, data, [0.0, ALIGNED])[-1]


def _stored(network: bf.Network, path: Path) -> Path:
    np.savez(path, *network.weights)
    return path


def _row(name: str, few: dict[str, Any], many: dict[str, Any]) -> Row:
    ours, theirs = (found["phase"] / found["share"] for found in (many, few))
    scaled = "" if many["share"] == 1 else f", scaled from {many['share']:.0%} of it, the rest unfinished"
    return Row(
        name,
        f"itself at P = {few['samples']:,}",
        ours,
        theirs,
        ratio=ours / theirs,
        goal=GOALS[name],
        error=many["error"],
        peer_error=few["error"],
        note=f"P = {many['samples']:,}, t = {ALIGNED:g} … {END:g}{scaled}; evaluations by classes: "
        f"{_by_class(few)} and {_by_class(many)}; besides, taking in the data: {few['intake']:.2g} and "
        f"{many['intake']:.2g} s; a dense evaluation: {1e3 * few['dense']:.3g} and "
        f"{1e3 * many['dense']:.3g} ms, {many['dense'] / few['dense']:.3g}×; {_ERRORS[few['method']]}",
    )


def _by_class(found: dict[str, Any]) -> str:
    return f"{found['by_class'] / max(found['evaluations'], 1):.1%} of {found['evaluations']:,}"


def _in_process(method: str, draws: int, state: Path) -> dict[str, Any]:
    """The last line that the process printed before it ended or reached the limit."""
    command = [sys.executable, "-m", "benchmarks.aligned", method, str(draws), str(state)]
    with tempfile.TemporaryFile("w+") as printed:
        with subprocess.Popen(command, stdout=printed) as process:
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
        printed.seek(0)
        lines = printed.read().splitlines()
    if not lines:
        raise RuntimeError(
            f"{method} with {draws} draws measured nothing within {LIMIT:g} s (exit {process.returncode})."
        )
    return json.loads(lines[-1])


def measured(method: str, draws: int, network: bf.Network) -> Iterator[dict[str, Any]]:
    """Seconds of a part of the phase, then of all of it: a `call`, and in it the `phase`.

    The phase is the call without `intake`, what it takes to check and fold the data. To find and to renew
    activation classes is part of the phase.
    """
    data = bf.data.odd_sine(draws, 20, seed=0)
    run = {"descent": descend, "flow": flow}[method]
    dense, _ = evaluated(network, data, "pairs", evaluations=2)
    intake = _intake(method, data, dense)
    run(network, data, PART)  # compiles, or loads
    for share in (PART, 1.0):
        seconds, done = timed(lambda: run(network, data, share))  # noqa: B023
        found = {
            "method": method,
            "samples": len(data),
            "share": share,
            "call": seconds,
            "intake": intake,
            "phase": seconds - intake,
            "dense": dense,
            "evaluations": done.stats.evaluations,
            "by_class": done.stats.by_class,
            "error": None,
        }
        yield found
    check = {"descent": _against_numpy, "flow": _against_tighter}[method]
    yield found | {"error": check(done, data)}


def _intake(method: str, data: bf.Dataset, dense: float) -> float:
    """Seconds of an instant of descent from random weights, less its dense evaluations.

    For the flow those of folding the data into rays. An instant of another network would not do: that of a
    linear one, or of one neuron, takes longer than the whole phase.
    """
    random = bf.networks.gaussian((data.dimensions, 500, 1), scale=1.0, seed=2)
    if method == "flow":
        return best(lambda: rays_of(random, data, "square", smooth=False), 3)[0]
    descend(random, data, 0.0)  # compiles, or loads
    seconds, instant = best(lambda: descend(random, data, 0.0), 2)
    return max(0.0, seconds - dense * (instant.stats.evaluations - instant.stats.by_class))


def descend(network: bf.Network, data: bf.Dataset, share: float) -> bf.Trajectory:
    """A fraction of the phase by descent, at least one step."""
    steps = max(1, round(share * STEPS))
    saves = [one for one in REPEATED if one < steps]
    return bf.gradient_descent(network, data, step=STEP, steps=steps, save_every=saves or steps)


def flow(network: bf.Network, data: bf.Dataset, share: float, rtol: float = RTOL) -> bf.Trajectory:
    """A fraction of the phase by the flow, at least an instant."""
    return bf.gradient_flow(network, data, [0.0, max(1e-9, share * (END - ALIGNED))], rtol=rtol)


def _against_numpy(run: bf.Trajectory, data: bf.Dataset) -> float:
    """The distance of steps in the middle of the phase from NumPy's."""
    first, last = (int(np.flatnonzero(np.isclose(run.ts, STEP * one))[0]) for one in REPEATED)
    expected = peers_numpy.descended(run[first], data, step=STEP, steps=REPEATED[1] - REPEATED[0])
    return path_error([w[None] for w in run[last].weights], [w[None] for w in expected])


def _against_tighter(run: bf.Trajectory, data: bf.Dataset) -> float:
    """The distance of the path from one at a hundredth of the tolerance."""
    return path_error(run.weights, flow(run[0], data, 1.0, RTOL / 100).weights)


if __name__ == "__main__":
    with np.load(sys.argv[3]) as stored:
        start = bf.Network(tuple(stored.values()))
    for found in measured(sys.argv[1], int(sys.argv[2]), start):
        print(json.dumps(found), flush=True)
