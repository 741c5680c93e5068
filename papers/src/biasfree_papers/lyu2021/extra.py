"""One more sample, long and on the right side: neurons of one sign lead, and keep the lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.lyu2021.margins import along, embedded, normalized
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import layers, named, stacked
from biasfree_papers.types import Numbers, Report

_BASE = ((-45.0, 1.0), (45.0, 1.0), (10.0, 1.6))  # degrees, lengths; the first two are the support
_ANGLE = 25.0  # of the extra sample


def runs(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Margins for every size of the extra sample, 0 for none: (sizes, times, leaks, scales, seeds)."""
    rows, sizes = [], np.array([0.0, *settings["sizes"]])
    for size in sizes:
        report(f"an extra sample of length {size:g}")
        rows.append(_row(settings, with_extra(size)))
    common = _common_times(rows)
    found = stacked([{name: _at(row, name, common) for name in ("margin", "share")} for row in rows])
    found |= stacked([{name: row[name] for name in ("exponent", "linear", "bound_ratio")} for row in rows])
    found |= {"sizes": sizes, "ts": common, "w": theory.max_margin(with_extra(0.0)).w}
    found |= {"leaks": np.array(settings["extra_leaks"]), "scales": np.array(settings["scales"])}
    found["largest"] = np.array(
        [theory.largest_margin(with_extra(0.0), leak=leak) for leak in found["leaks"]]
    )
    for size, name in ((0.0, "without"), (sizes[-1], "with")):
        data = with_extra(size)
        found |= {f"{name}_x": data.x, f"{name}_y": data.y}
        found |= named(name, layers(rows[int(np.flatnonzero(sizes == size)[0])]["shown"]))
    return found


def with_extra(size: float, angle: float = _ANGLE) -> Dataset:
    """Three samples and their mirror images, and for size > 0 one more, labeled +1."""
    base = tasks.symmetrize(Dataset(np.array([r * _unit(angle) for angle, r in _BASE]), np.ones(len(_BASE))))
    if size == 0:
        return base
    return Dataset(np.vstack([base.x, size * _unit(angle)]), np.append(base.y, 1.0))


def _unit(degrees: float) -> np.ndarray:
    angle = np.deg2rad(degrees)
    return np.array([np.cos(angle), np.sin(angle)])


def opposite_share(network: Network) -> float:
    """The share of |θ|² in neurons whose second layer is negative."""
    first, second = network.weights
    size = np.sum(first**2, axis=1) + second[0] ** 2
    return float(size[second[0] < 0].sum() / size.sum())


def starts(settings: Mapping[str, Any], leaks: Sequence[float]) -> list[Network]:
    """Balanced small networks: leaks, then scales, then seeds."""
    return [
        networks.balanced((2, settings["extra_width"], 1), scale=scale, leak=leak, seed=int(seed))
        for leak in leaks
        for scale in settings["scales"]
        for seed in seeds_of(settings)
    ]


def _row(settings: Mapping[str, Any], data: Dataset) -> dict[str, Any]:
    from biasfree.dynamics import long_descent

    shape = (len(settings["extra_leaks"]), len(settings["scales"]), settings["seeds"])
    begun = starts(settings, settings["extra_leaks"])
    courses = long_descent(begun, data, horizon=settings["extra_horizon"])
    margin, share = along(courses, lambda net: normalized(net, data)), along(courses, opposite_share)
    leaks, best = np.array([net.leak for net in begun]), theory.max_margin(with_extra(0.0))
    bound = (leaks + (1 - leaks) * share) / 2 * best.margin
    return {
        "ts": courses[0].ts,
        "margin": margin.reshape(-1, *shape),
        "share": share.reshape(-1, *shape),
        "bound_ratio": (margin / bound).max(axis=0).reshape(shape),
        "exponent": _exponents(courses).reshape(shape),
        "linear": np.array([linear_margin(best.w, leak, data) for leak in settings["extra_leaks"]]),
        "shown": courses[(shape[0] - 1) * shape[1] * shape[2]][-1],  # largest leak, least scale
    }


def linear_margin(w: np.ndarray, leak: float, data: Dataset) -> float:
    """The normalized margin of the balanced network that is the linear function w·x."""
    return normalized(embedded(w, width=2, leak=leak), data)


def _exponents(courses: Sequence[Trajectory]) -> np.ndarray:
    """d ln|v₋|/d ln|v₊| over the second half of the decades, v± the sums of |a||w| over neurons of a sign."""
    late = courses[0].ts >= np.sqrt(courses[0].ts[-1])
    logs = np.log(along(courses, _sums)[late])
    x, y = logs[..., 0] - logs[..., 0].mean(axis=0), logs[..., 1] - logs[..., 1].mean(axis=0)
    return np.sum(x * y, axis=0) / np.sum(x**2, axis=0)


def _sums(network: Network) -> tuple[float, float]:
    first, second = network.weights
    sizes = np.linalg.norm(first, axis=1) * second[0]
    return float(np.maximum(sizes, 0).sum()), float(np.maximum(-sizes, 0).sum())


def _common_times(rows: list[dict[str, Any]]) -> np.ndarray:
    """Times that all rows have been through, evenly spaced in ln t."""
    return np.geomspace(1.0, min(row["ts"][-1] for row in rows), 121)


def _at(row: dict[str, Any], name: str, ts: np.ndarray) -> np.ndarray:
    """A course at other times, linear in ln t between its own."""
    own, values = row["ts"][1:], row[name][1:].reshape(len(row["ts"]) - 1, -1)
    columns = [np.interp(np.log(ts), np.log(own), column) for column in values.T]
    return np.stack(columns, axis=-1).reshape(len(ts), *row[name].shape[1:])
