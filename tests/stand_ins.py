"""Faster parts for the small runs of some figures, in place of those that take long to compile.

Claims and pictures read the same kinds of numbers. `test_small_runs_hold_as_they_are`, a slow test, runs the
figures without them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

import biasfree as bf
import oracles
from biasfree import dynamics
from biasfree.trajectory import Stats


@contextmanager
def stand_ins(name: str) -> Iterator[None]:
    """The figure `name` with its stand-ins, if it has any."""
    with pytest.MonkeyPatch.context() as patch:
        if name in STAND_INS:
            STAND_INS[name](patch)
        yield


def _bias(patch: pytest.MonkeyPatch) -> None:
    """Descent in plain NumPy for the six points."""
    from biasfree_papers.bias import square

    patch.setattr(square, "_descended", _descended)


def _descended(starts, given, settings):
    steps = settings["six_step"], settings["six_epochs"] // 40
    return [_descent(start, data, *steps) for start, data in zip(starts, given, strict=True)]


def _descent(network, data, step, every):
    path = [network]
    for _ in range(40):
        weights, _ = oracles.descended(path[-1], data, step=step, steps=every)
        path.append(bf.Network(tuple(weights), leak=network.leak))
    loss = np.array([oracles.loss(one, data) for one in path])
    weights = tuple(np.array(layer) for layer in zip(*(one.weights for one in path), strict=True))
    ts, stats = step * every * np.arange(41), Stats("descent")
    return bf.Trajectory(ts, weights, loss, loss, leak=network.leak, stats=stats)


def _fig3(patch: pytest.MonkeyPatch) -> None:
    """Kinks stepped over, and square losses in place of logistic ones."""
    from biasfree_papers.fig3 import logistic, numbers
    from biasfree_papers.shared.trajectories import named

    compared = numbers._compared

    def both(*args):
        found = compared(*args)
        return {**found, **named("logistic", {**found, "reduced": found["reduced"][0]})}

    patch.setattr(dynamics, "gradient_flow", partial(dynamics.gradient_flow, method="smooth"))
    patch.setattr(logistic, "compared", lambda *_: {})
    patch.setattr(numbers, "_compared", both)




STAND_INS = {
    "bias": _bias,
    "fig3": _fig3,
}
