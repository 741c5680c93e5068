"""Runs on infinite data and on samples: the headline figure, the distance between them, and ReLU teachers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

import biasfree as bf
from biasfree.arrays import positive
from biasfree.sweeps import level_line, tabulate
from biasfree_papers.population import teachers
from biasfree_papers.population.response import Response, transition
from biasfree_papers.settings import SeededSettings, at_least, seeds, setting, several, several_whole
from biasfree_papers.types import Report

#: The distance, relative to the final map, whose line is drawn.
LEVEL = 0.1
#: Times of the distance, in units of the time at which infinite data leaves its plateau.
TIMES, END, PLATEAU = 25, 2.5, 0.5
TEACHERS, TEACHER_DIMENSIONS, STUDENTS = 2, 4, 4


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the figure."""

    pairs: int = setting(1000, "a number of samples of the headline figure, before mirroring", at_least(1))
    headline_dimensions: int = setting(20, "a number of inputs of the headline figure", at_least(1))
    width: int = setting(50, "a number of neurons of the headline figure", at_least(2))
    samples: tuple[int, ...] = setting(
        (125, 250, 500, 1000, 2000, 4000), "two or more numbers of samples", several_whole(low=20, least=2)
    )
    dimensions: int = setting(10, "a number of inputs", at_least(2))
    scale: float = setting(1e-3, "the initial norm of a layer", positive)
    scales: tuple[float, ...] = setting(
        (1e-8, 1e-6, 1e-4, 1e-2), "two or more initial norms of the student", several(low=1e-12, least=2)
    )
    teacher_samples: int = setting(2000, "a number of samples of the teachers", at_least(10))
    step: float = setting(0.01, "the step of descent on those samples", positive)
    seeds: int = seeds(10)


SECONDS = 25
SMALL: dict[str, Any] = {
    "pairs": 60, "headline_dimensions": 5, "width": 6, "samples": (100, 400), "dimensions": 3,
    "scales": (1e-4, 1e-2), "teacher_samples": 200, "step": 0.05, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """All numbers of the figure."""
    report("the headline figure")
    parts = [_headline(settings), _sampling(settings, report), _teaching(settings, report)]
    return xarray.merge(parts, join="exact")


def _headline(settings: Settings) -> xarray.Dataset:
    """Simulated loss and closed form, on infinite data and on samples with their mirror images."""
    d, pairs = settings.headline_dimensions, settings.pairs
    random = bf.networks.gaussian((d, settings.width, 1), scale=1e-8, seed=settings.seed)
    ts = np.linspace(0, 60, 121)
    found: dict[str, np.ndarray] = {}
    laws: dict[str, bf.data.Population | bf.Dataset] = {
        "infinite": bf.data.Population.odd_sine(d, seed=0),
        "samples": bf.data.odd_sine(pairs, d, seed=0),
    }
    for name, data in laws.items():
        network = bf.theory.aligned(random, data, both_signs_tolerance=np.inf)
        exact = name == "infinite"
        simulated = bf.gradient_flow(network, data, ts, rtol=1e-11 if exact else 1e-8)
        closed = bf.theory.white_flow(network, data, ts, white_tolerance=np.inf)
        drop = closed.loss[0] - bf.theory.white_flow(network, data, [np.inf], white_tolerance=np.inf).loss[0]
        found |= {f"{name}_loss": simulated.loss, f"{name}_closed": closed.loss}
        found |= {f"{name}_gap": abs(simulated.loss - closed.loss) / drop}
        found |= {f"{name}_accuracy": np.full(len(ts), simulated.stats.error)}
    return xarray.Dataset({name: ("course", values) for name, values in found.items()}, {"course": ts})


def _sampling(settings: Settings, report: Report) -> xarray.Dataset:
    """The distance of sampled runs from that of infinite data: measured, predicted, its mean and its line."""
    population = bf.data.Population.odd_sine(settings.dimensions, seed=0)
    network = bf.networks.rank_one(population.beta, width=2, scale=settings.scale)
    end = transition(network, population)
    ts = end * np.linspace(0, END, TIMES)[1:]
    early = end * np.linspace(0, PLATEAU, 6)[1:]
    response, target = Response.of(network, population, ts), float(np.linalg.norm(population.best_map))
    whole = bf.theory.white_flow(network, population, ts)
    laws = [bf.data.Population(settings.dimensions, teacher=whole[i]) for i in range(len(ts))]

    def point(samples: int, seed: int) -> dict[str, Any]:
        report(f"{samples} samples, seed {seed}")
        data = population.sample(samples, seed=seed)
        sampled = bf.gradient_flow(network, data, ts, rtol=1e-5)
        square = [2 * bf.diagnostics.square_loss(sampled[i], law) for i, law in enumerate(laws)]
        linear = np.sum((sampled.maps - whole.maps) ** 2, axis=(1, 2))
        distance, bound = _early(network, population, samples, seed, early)
        return {
            "square": ("time", np.array(square) / target**2),
            "linear_square": ("time", linear / target**2),
            "predicted": ("time", response.distance(data) / target),
            "sampled_error": sampled.stats.error,
            "early_distance": ("early", distance),
            "early_bound": ("early", bound),
        }

    found = tabulate(point, over={"samples": settings.samples}, seeds=settings.all_seeds.tolist())
    found = found.assign_coords(time=ts, early=early)
    law = response.mean_square(population)[:, None] / found.samples.values[:, None] / target**2
    found["law"] = (("part", "samples", "time"), np.sqrt(law))
    fine = end * np.linspace(0, END, 12 * TIMES)[1:]
    smooth = Response.of(network, population, fine).mean_square(population).sum(axis=0) / target**2
    found = found.assign_coords(fine=fine).assign(law_of_one=("fine", smooth))
    found = found.assign_coords(part=["linear", "even"]).assign(transition=end)
    line = level_line(found, "square", level=LEVEL**2)
    variables = {f"line_{key}": ("crossing", np.asarray(value)) for key, value in line.variables.items()}
    return found.assign(variables)


def _early(
    network: bf.Network, population: bf.data.Population, samples: int, seed: int, ts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """|Ŵ − W| on the plateau, on samples with their mirror images, and its derived bound."""
    data = bf.data.symmetrize(population.sample(samples // 2, seed=seed))
    runs = [bf.gradient_flow(network, one, ts, rtol=1e-8) for one in (population, data)]
    early = [bf.theory.early_flow(network, one, ts, small_tolerance=np.inf) for one in (population, data)]
    bound = _apart(*early) + sum(bf.theory.early_error(network, one, ts) for one in (population, data))
    errors = sum((one.stats.error or 0.0) * one.map(lambda net: np.hypot(*net.norms)) for one in runs)
    return _apart(*runs), bound + errors


def _apart(one: bf.Trajectory, other: bf.Trajectory) -> np.ndarray:
    layers = zip(one.weights, other.weights, strict=True)
    return np.sqrt(sum(np.sum((a - b) ** 2, axis=(1, 2)) for a, b in layers))


def _teaching(settings: Settings, report: Report) -> xarray.Dataset:
    """The time to specialize over scales, and losses and overlaps at one of them, with sampled runs."""
    population = teachers.task(TEACHER_DIMENSIONS, TEACHERS)
    known = teachers.plateau(population, TEACHERS)
    level = known.loss / 2

    def specialize(scale: float, seed: int) -> dict[str, float]:
        report(f"teachers, scale {scale:g}, seed {seed}")
        network = teachers.student(TEACHER_DIMENSIONS, STUDENTS, scale, seed)
        latest = 10 * (1 + np.log(1 / scale)) / (known.growth - known.turning)
        run = bf.gradient_flow(network, population, [0.0, latest], rtol=1e-6, until=level)
        return {"specialized": float(run.ts[-1])}

    some = settings.all_seeds[: max(2, settings.seeds // 2)].tolist()
    found = tabulate(specialize, over={"scale": settings.scales}, seeds=some)
    scale = settings.scales[len(settings.scales) // 2]
    end = 1.6 * float(found.specialized.sel(scale=scale).isel(seed=0))
    network = teachers.student(TEACHER_DIMENSIONS, STUDENTS, scale, some[0])
    ts = np.linspace(0, end, 101)
    exact = bf.gradient_flow(network, population, ts, rtol=1e-8)
    every = max(1, round(end / 100 / settings.step))
    options: Any = {"step": settings.step, "steps": 100 * every, "save_every": every}
    runs = [
        bf.gradient_descent(network, population.sample(settings.teacher_samples, seed=seed), **options)
        for seed in settings.all_seeds
    ]
    losses = [run.map(lambda net: bf.diagnostics.square_loss(net, population)) for run in runs]
    found = found.rename({"seed": "student_seed"})
    return found.assign_coords(teaching=ts, sampled_teaching=runs[0].ts, seed=settings.all_seeds).assign(
        exact_loss=("teaching", exact.loss),
        exact_overlap=(("teaching", "student", "teacher"), teachers.overlaps(exact, TEACHERS)),
        sampled_loss=(("seed", "sampled_teaching"), np.array(losses)),
        sampled_overlap=(
            ("seed", "sampled_teaching", "student", "teacher"),
            np.array([teachers.overlaps(run, TEACHERS) for run in runs]),
        ),
        level=level, growth=known.growth, turning=known.turning, shown_scale=scale,
    )  # fmt: skip
