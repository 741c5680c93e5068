"""Ranks at which gradient flow ends: two orthogonal samples of one label, and inputs around a teacher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import networks
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree_papers.types import Report

if TYPE_CHECKING:
    from biasfree_papers.boursier2022.compute import Settings

_FEW = 4  # neurons on two samples: enough to fit them often, from neurons active on one sample or on both
_INPUTS, _SAMPLES, _WIDTH = 10, 5, 20  # of the teacher: fewer samples than inputs leave the rank open
_CONE = 45.0  # degrees from the teacher to its inputs
_LEARNED = 1e-8  # the share of the first loss at which a flow ends
_LATE = 10.0, 2e4  # the last time over ln(1/γ): two samples escape at 2 at most, slow modes of others decay


def ranks(settings: Settings, report: Report) -> xarray.Dataset:
    """For every seed how far W₁ ends from rank one, what is left of the loss, and what predicts the rank."""
    gamma, draws = min(settings.scales), (settings.seed + np.arange(settings.draws)).tolist()

    def two(draw: int) -> dict[str, Any]:
        report(f"the rank on two samples, seed {draw}")
        start = networks.balanced((2, _FEW, 1), scale=gamma, seed=draw)
        both = (start.weights[0] > 0).all(axis=1) & (start.weights[1][0] > 0)
        found = _ended(start, Dataset(np.eye(2), np.ones(2)), _LATE[0] * -np.log(gamma))
        return {"two_left": found["left"], "two_off": found["off"], "two_both": both.any()}

    def teacher(draw: int) -> dict[str, Any]:
        report(f"the rank around a teacher, seed {draw}")
        start = networks.gaussian((_INPUTS, _WIDTH, 1), scale=gamma, seed=draw)
        found = _ended(start, around_teacher(draw), _LATE[1] * -np.log(gamma))
        return {"teacher_left": found["left"], "teacher_off": found["off"]}

    return xarray.merge([tabulate(one, over={"draw": draws}) for one in (two, teacher)], join="exact")


def around_teacher(seed: int) -> Dataset:
    """Unit inputs within `_CONE` of a unit vector v, and y = relu(v·x), which is v·x."""
    rng = np.random.default_rng(seed)
    v = rng.normal(size=_INPUTS)
    v /= np.linalg.norm(v)
    across = rng.normal(size=(_SAMPLES, _INPUTS))
    across -= np.outer(across @ v, v)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    angles = np.deg2rad(_CONE) * rng.uniform(size=(_SAMPLES, 1))
    x = np.cos(angles) * v + np.sin(angles) * across
    return Dataset(x, x @ v)


def _ended(start: Network, data: Dataset, end: float) -> dict[str, float]:
    """The share of the loss that is left, and of |W₁|² off its largest singular vector."""
    from biasfree.dynamics import gradient_flow

    first = float(np.mean(data.y**2) / 2)
    run = gradient_flow(start, data, [0.0, end], until=_LEARNED * first)
    squares = np.linalg.svd(run[-1].weights[0], compute_uv=False) ** 2
    return {"left": run.loss[-1] / first, "off": 1 - squares[0] / squares.sum()}
