"""The script of an experiment: Python that computes the numbers on the page, with public names only."""

from __future__ import annotations

from biasfree.lab._experiment import EVEN, FIRST, RATIOS, save_every
from biasfree.lab._presets import PRESETS
from biasfree.lab._state import Experiment


def script(experiment: Experiment) -> str:
    """A Python file that makes the run of the page: `run`, a `bf.Trajectory`."""
    head = ["import numpy as np", "import biasfree as bf", "", f"# {experiment.fragment}"]
    lines = [*head, *_data(experiment), *_network(experiment), *_run(experiment)]
    if experiment.twin:
        lines += _twin(experiment)
    return "\n".join([*lines, "print(run)", "print(bf.diagnose(run[-1], data).verdict)", ""])


def _data(experiment: Experiment) -> list[str]:
    if experiment.samples is None:
        lines = ["data = " + PRESETS[experiment.preset].code.format(delta=experiment.delta)]
    else:
        x = ", ".join(f"[{a!r}, {b!r}]" for a, b, _ in experiment.samples)
        y = ", ".join(f"{y!r}" for _, _, y in experiment.samples)
        lines = [f"data = bf.Dataset([{x}], [{y}])"]
    return [*lines, "data = bf.data.symmetrize(data)"] if experiment.mirror else lines


def _network(experiment: Experiment) -> list[str]:
    sizes = ", ".join(["2", *[str(experiment.width)] * (int(experiment.depth) - 1), "1"])
    make = experiment.initial if experiment.initial in ("balanced", "opposite") else "gaussian"
    options = f"scale={experiment.scale!r}, leak={experiment.leak!r}, seed={experiment.seed}"
    lines = [f"network = bf.networks.{make}(({sizes}), {options})"]
    if experiment.initial == "aligned":
        lines.append("network = bf.theory.aligned(network, data)")
    return lines


def _run(experiment: Experiment) -> list[str]:
    if experiment.method == "descent":
        return [f"run = bf.gradient_descent(network, data, {_steps(experiment, '')})"]
    end = repr(experiment.horizon)
    return [
        f"ts = np.union1d(np.linspace(0, {end}, {EVEN}), np.geomspace({FIRST!r} * {end}, {end}, {RATIOS}))",
        f"run = bf.gradient_flow(network, data, ts, loss={experiment.loss!r})",
    ]


def _twin(experiment: Experiment) -> list[str]:
    if experiment.depth == "2":
        lines = ["c = (1 + network.leak) / 2", "twin = bf.theory.linear_twin(network)"]
    else:
        lines = ["c = 1.0", "twin = bf.Network(network.weights, leak=1.0)"]
    if experiment.method == "descent":
        return [*lines, f"linear = bf.gradient_descent(twin, data, {_steps(experiment, 'c * ')})"]
    return [*lines, f"linear = bf.gradient_flow(twin, data, c * ts, loss={experiment.loss!r})"]


def _steps(experiment: Experiment, factor: str) -> str:
    return (
        f"step={factor}{experiment.step!r}, steps={experiment.steps}, save_every={save_every(experiment)}, "
        f"loss={experiment.loss!r}"
    )
