"""Faster parts for the small runs of some figures, in place of those that take long to compile.

Claims and pictures read the same kinds of numbers. `test_small_runs_hold_as_they_are`, a slow test, runs the
figures without them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest

import biasfree as bf
from biasfree import dynamics


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


def _boursier2022(patch: pytest.MonkeyPatch) -> None:
    """Kinks stepped over where they are located, and two points of the five."""
    from biasfree_papers.boursier2022 import beyond, pair

    five = bf.data.five_points()
    patch.setattr(pair, "METHOD", "smooth")
    patch.setattr(beyond, "LINE_METHOD", {"method": "smooth", "rtol": 1e-2})
    patch.setattr(bf.data, "five_points", lambda: bf.Dataset(five.x[:2], five.y[:2]))


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
    "boursier2022": _boursier2022,
    "fig3": _fig3,
    "nacson2023": _nacson2023,
    "sarussi2021": _sarussi2021,
}
