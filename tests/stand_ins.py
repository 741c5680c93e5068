"""Faster parts for the small runs of some figures, in place of those that take long to compile.

Claims and pictures read the same kinds of numbers. `test_small_runs_hold_as_they_are`, a slow test, runs the
figures without them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

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


def _basri2019(patch: pytest.MonkeyPatch) -> None:
    """Two layers in place of three: one shape less."""
    from biasfree_papers.basri2019 import numbers

    patch.setitem(numbers.KINDS, "three", (2, True))


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


def _boursier2022(patch: pytest.MonkeyPatch) -> None:
    """Kinks stepped over where they are located, and two points of the five."""
    from biasfree_papers.boursier2022 import beyond, pair

    five = bf.data.five_points()
    patch.setattr(pair, "METHOD", "smooth")
    patch.setattr(beyond, "LINE_METHOD", {"method": "smooth", "rtol": 1e-2})
    patch.setattr(bf.data, "five_points", lambda: bf.Dataset(five.x[:2], five.y[:2]))


def _nacson2023(patch: pytest.MonkeyPatch) -> None:
    """Sets of one shape, of which the first two are learned in few steps."""
    from biasfree_papers.nacson2023 import numbers

    def turned():
        data = numbers.circle()
        return bf.Dataset(-data.x, data.y * [1.0, 0.5, 1.0, 0.5, 1.0])

    sets = {"circle": numbers.circle, "turned": turned, "generic": numbers.generic}
    patch.setattr(numbers, "SETS", sets)


def _sarussi2021(patch: pytest.MonkeyPatch) -> None:
    """Theory for the simulated flow; that the two agree is for tests/theorems/test_fixed_readout.py."""
    patch.setattr(dynamics, "gradient_flow", _solved)


def _solved(network, data, ts, *, loss, rtol, **_):
    run = bf.theory.neighbors.fixed_readout_flow(network, data, ts, loss=loss, rtol=rtol)
    return replace(run, stats=replace(run.stats, error=1e3 * rtol))


STAND_INS = {
    "basri2019": _basri2019,
    "bias": _bias,
    "boursier2022": _boursier2022,
    "nacson2023": _nacson2023,
    "sarussi2021": _sarussi2021,
}
