"""Runs of Fig. 5: three layers as printed, more seeds and depths, and exact initial weights with theory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.theory import DeepParts
from biasfree.trajectory import Trajectory
from biasfree_papers.named_arrays import layers
from biasfree_papers.settings import Report, SeededSettings, at_least, only, seeds, setting, several_whole
from biasfree_papers.shared.trajectories import accurate, fall

#: Networks that begin with the same weights, and their leaks.
LEAKS = {"relu": 0.0, "linear": 1.0}
#: Parts of a ReLU network: all of it, and its halves, the neurons of one sign of the last layer.
PARTS = ("whole", "plus", "minus")
#: Initial norm of a layer in the structure, times, every other one twice an earlier one, and the tolerance.
_START, _TIMES, _RTOL = 0.6, np.linspace(0, 30, 31), 1e-6
_DEPTHS = only(several_whole(low=3, high=5), lambda depths: 3 in depths, "include 3, the paper's")


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of Fig. 5."""

    depths: tuple[int, ...] = setting((3, 4, 5), "numbers of layers from 3 to 5, 3 among them", _DEPTHS)
    width: int = setting(100, "a number of neurons in each hidden layer, 3 or more", at_least(3))
    dimensions: int = setting(20, "a number of inputs, 3 or more", at_least(3))
    samples: int = setting(1000, "a number of samples, before their negatives are added", at_least(1))
    scale: float = setting(1e-2, "the initial norm of a layer of three, a positive number", positive)
    step: float = setting(0.1, "the step of descent, a positive number", positive)
    epochs: int = setting(20_000, "the most steps of descent", at_least(1))
    level: float = setting(
        1e-6, "the part of the first loss at which descent stops, a positive number", positive
    )
    save_every: int = setting(5, "a number of steps between two readings", at_least(1))
    scale4: float = setting(0.1, "the initial norm of a layer of four, a positive number", positive)
    scale5: float = setting(0.3, "the initial norm of a layer of five, a positive number", positive)
    flow_width: int = setting(16, "the width of networks that are followed by flow, 3 or more", at_least(3))
    flow_dimensions: int = setting(5, "their number of inputs, 3 or more", at_least(3))
    flow_samples: int = setting(20, "the samples that they see, before negatives are added", at_least(1))
    end: float = setting(1e6, "the last time of a flow, a positive number", positive)
    rtol: float = setting(1e-5, "the simulator's tolerance for a step, a positive number", positive)
    data_seed: int = setting(0, "a seed for the data", at_least(0))
    seeds: int = seeds(3)

    def data(self, *, printed: bool) -> Dataset:
        """A linear target in the printed size, or in the size of the flows."""
        sizes = (self.samples, self.dimensions) if printed else (self.flow_samples, self.flow_dimensions)
        return tasks.linear_teacher(*sizes, seed=self.data_seed)

    def start(self, depth: int, seed: int, *, printed: bool) -> dict[str, Network]:
        """Initial weights in the printed size or in that of the flows, as ReLU and as linear network."""
        d, width = (self.dimensions, self.width) if printed else (self.flow_dimensions, self.flow_width)
        scale = {3: self.scale, 4: self.scale4, 5: self.scale5}[depth]
        weights = networks.gaussian((d, *(width,) * (depth - 1), 1), scale=scale, seed=seed).weights
        return {name: Network(weights, leak=leak) for name, leak in LEAKS.items()}


SECONDS = 60
SMALL: dict[str, Any] = {
    "depths": (3,), "width": 12, "dimensions": 4, "samples": 20, "scale": 0.1, "epochs": 4000,
    "flow_width": 12, "flow_dimensions": 4, "flow_samples": 20, "seeds": 1,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """The paper's run, then runs of more seeds and depths, then initial weights of the exact structure."""
    wide, small = (settings.data(printed=printed) for printed in (True, False))
    printed, ends = _as_printed(settings, wide, report)

    def trained(depth: int) -> dict[str, Any]:
        rows, paths = [], []
        for seed in settings.all_seeds:
            report(f"{depth} layers, seed {seed}")
            if depth == 3 and seed == settings.seed:
                start = settings.start(3, seed, printed=True)["relu"]
                row = compared(start, ends["relu"], ends["linear"], wide)
                path = printed.reading.values
            else:
                row, path = fallen(settings.start(depth, seed, printed=False), small, settings)
            rows.append(row)
            paths.append(path)
        target = theory.least_squares(wide if depth == 3 else small)
        r = target / np.linalg.norm(target)
        return {
            **{name: ("seed", np.array([row[name] for row in rows])) for name in rows[0]},
            "path": (("network", "state", "part", "quantity"), paths[0]),
            "target": np.linalg.norm(target),
            # there Proposition 12 is dv/dt̃ = v^{L−1}rᵀΣr(|w*| − v^L), r along w*
            "curvature": r @ (wide if depth == 3 else small).sigma @ r,
        }

    found = tabulate(trained, over={"depth": settings.depths})
    report("initial weights of the exact structure")
    names: dict[str, Any] = {
        "network": list(LEAKS),
        "part": list(PARTS),
        "quantity": ["size", "speed", "predicted"],
    }
    parts = [found, printed.drop_vars("reading"), _exact(settings, small)]
    return xarray.merge(parts, join="exact").assign_coords(seed=settings.all_seeds, **names)


def _as_printed(
    settings: Settings, data: Dataset, report: Report
) -> tuple[xarray.Dataset, dict[str, Network]]:
    """Descent of both networks with the paper's step, to its last epoch or a loss of `level` of the first."""
    from biasfree.dynamics import gradient_descent

    starts, ends, stored = settings.start(3, settings.seed, printed=True), {}, {}
    options: Any = {"step": settings.step, "steps": settings.epochs, "save_every": settings.save_every}
    until = settings.level * float(np.mean(data.y**2) / 2)

    def descended(network: str) -> dict[str, Any]:
        report(f"three layers as printed, {network}")
        run = gradient_descent(
            starts[network], data, until=until, save=lambda one: reading(one, data), **options
        )
        ends[network] = run[-1]
        stored.update(layers(network, run[-1]))
        assert run.saved is not None
        return {
            "ts": ("save", run.ts),
            "loss": ("save", run.loss),
            "reading": (("state", "part", "quantity"), run.saved),
        }

    return tabulate(descended, over={"network": list(LEAKS)}).assign(stored), ends


def fallen(pair: dict[str, Network], data: Dataset, settings: Settings) -> tuple[dict[str, Any], np.ndarray]:
    """The measurements of one seed by exact flow, and the readings along both of its paths."""
    both = [fall(one, data, end=settings.end, rtol=settings.rtol) for one in pair.values()]
    row = compared(pair["relu"], both[0].networks[-1], both[1].networks[-1], data)
    row |= {
        "left": max(row["left"], *(one.left[-1] for one in both)),
        "trusted": all(accurate(one.error, one.drift) for one in both),
    }
    path = np.full((2, max(len(one.networks) for one in both), len(PARTS), 3), np.nan)
    for room, one in zip(path, both, strict=True):
        for state, network in zip(room, one.networks, strict=False):
            read = reading(network, data)
            state[: len(read)] = read
    return row, path


def compared(start: Network, relu: Network, linear: Network, data: Dataset) -> dict[str, Any]:
    """The paper's quantities for the trained pair, and the initial norm over the linear one's last."""
    found, twin = diagnostics.structure_distance(relu), diagnostics.structure_distance(linear)
    middle, both = relu.weights[1:-1], (relu, linear)
    rest = [np.mean((data.y - one(data.x)) ** 2) / np.mean(data.y**2) for one in both]
    return {
        "left": max(rest),
        "relu_outside": np.nan if found is None else found.relu,
        "linear_outside": np.nan if twin is None else twin.linear,
        "outer_second": max(_values(one.weights[0])[1] for one in both),
        "middle_third": max(_values(w)[2] for w in middle),
        "kept": np.linalg.norm(start.norms) / np.linalg.norm(linear.norms),
        "trusted": True,
    }


def _values(w: np.ndarray) -> np.ndarray:
    """Singular values over the largest, at least three of them."""
    values = np.linalg.svd(w, compute_uv=False)
    return np.append(values, np.zeros(2)) / values[0]


def reading(network: Network, data: Dataset) -> np.ndarray:
    """Size, speed and Proposition 12's speed of a network, (1, 3); if ReLU, of its two halves too, (3, 3).

    The size of all is u, u² the mean of |W_l|². A half are the neurons of one sign of the last layer, and its
    size is their norm there, p. Speeds are exact for any weights: f is homogeneous of degree 1 in each layer,
    so τ d|W_l|²/dt = −2 W_l·∂L/∂W_l = 2⟨(y − f)f⟩, and for a part of the last layer that part of f.
    Proposition 12: τu̇ = (v^L/u)(β − v^LΣr)·r, v = √c·u. A half is a linear network that sees half of the
    samples: τṗ = ½p^{L−1}(β − p^LΣr)·r with the r of this half.
    """
    parts, outer, depth = DeepParts.of(network), network.weights[-1][0], network.depth
    hidden = network.preactivations(data.x)[-2]
    terms = np.where(hidden > 0, hidden, network.leak * hidden) * outer
    error = data.y - terms.sum(axis=1)

    def speeds(size: float, output: np.ndarray, r: np.ndarray, v: float, factor: float) -> Sequence[float]:
        predicted = factor * float((data.beta - v**depth * data.sigma @ r) @ r)
        return size, error @ output / (len(data) * size), predicted

    u = np.sqrt(np.mean(network.norms**2))
    v = np.sqrt(parts.speed) * u
    rows = [speeds(u, terms.sum(axis=1), parts.r, v, v**depth / u)]
    for sign in (1, -1) if network.leak == 0 else ():
        p, half = float(np.linalg.norm(outer[sign * outer > 0])), terms[:, sign * outer > 0].sum(axis=1)
        r = np.where(sign * parts.neurons[0] > 0, parts.neurons[0], 0) @ network.weights[0]
        rows.append(speeds(p, half, r / np.linalg.norm(r), p, p ** (depth - 1) / 2))
    return np.array(rows)


def _exact(settings: Settings, data: Dataset) -> xarray.Dataset:
    """From initial weights of the structure: distances of flow from theory and from its twin, with a bound.

    Kinks are met where r·x changes its sign: all units of the first layer cross at once, and x and −x change
    halves. Units that do not see a sample have z = 0 exactly and stay inactive, σ′(0) = 0.
    """
    from biasfree.dynamics import gradient_flow

    noise = np.random.default_rng(settings.seed).normal(size=data.dimensions)
    direction = data.beta + 0.3 * np.linalg.norm(data.beta) * noise  # not β̄: it has to turn

    def followed(depth: int) -> dict[str, float]:
        widths = (settings.flow_width,) * (depth - 1)
        start = networks.low_rank(direction, widths=widths, scale=_START, seed=settings.seed)
        relu = gradient_flow(start, data, _TIMES, method="events", rtol=_RTOL)
        linear = gradient_flow(theory.deep_linear_twin(start), data, _TIMES, method="smooth", rtol=_RTOL)
        solved = theory.deep_flow(start, data, _TIMES)
        norms, twin = (run.map(lambda network: network.norms) for run in (relu, linear))
        half = np.sqrt(2) * twin[: len(_TIMES) // 2 + 1]
        grown = float((norms.max() / _START) ** (depth - 2))
        return {
            "exact_gap": _apart(relu, solved),
            "exact_half_speed": float(np.abs(norms[::2] / half - 1).max()),
            "exact_bound": grown * sum(_error(run) for run in (relu, linear, solved)),
        }

    return tabulate(followed, over={"depth": settings.depths})


def _error(run: Trajectory) -> float:
    """The run's own estimate; a solved path has its tolerance for each of its steps."""
    return (run.stats.rtol or np.inf) * run.stats.accepted if run.stats.error is None else run.stats.error


def _apart(one: Trajectory, other: Trajectory) -> float:
    """The largest |W_l − W′_l|/|W′_l| along the path and over layers."""
    return max(
        float(np.linalg.norm(w - v) / np.linalg.norm(v))
        for a, b in zip(one, other, strict=True)
        for w, v in zip(a.weights, b.weights, strict=True)
    )
