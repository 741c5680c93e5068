"""The logistic loss on the signs of the figure's targets: some leaks from one seed, and the reduced flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import diagnostics, theory
from biasfree.data import Dataset
from biasfree_papers.fig3.finals import start
from biasfree_papers.fig3.two_neurons import beside
from biasfree_papers.shared.trajectories import accuracy, named
from biasfree_papers.types import Numbers, Report


def compared(settings: Mapping[str, Any], data: Dataset, report: Report) -> Numbers:
    """Losses and weight errors on rescaled time, and the reduced flow of the aligned ReLU network."""
    from biasfree.dynamics import gradient_flow

    labeled = Dataset(data.x, np.sign(data.y))
    sizes = (settings["dimensions"], settings["width"], 1)
    rescaled = np.linspace(0, settings["logistic_end"], settings["times"])
    runs = []
    for leak in settings["logistic_leaks"]:
        report(f"logistic loss, leak {leak:g}")
        network, ts = start(sizes, settings["scale"], settings["seed"], leak), rescaled * 2 / (1 + leak)
        runs.append(gradient_flow(network, labeled, ts, loss="logistic", rtol=settings["draws_rtol"]))
    aligned = theory.aligned(runs[0][0], labeled, both_signs_tolerance=1.0)
    return {
        "logistic_leaks": np.array(settings["logistic_leaks"]),
        "logistic_rescaled": rescaled,
        "logistic_simulated": np.array([run.loss for run in runs]),
        "logistic_accuracy": np.array([accuracy(run) for run in runs]),
        "logistic_reduced": theory.reduced_flow(aligned, labeled, runs[0].ts, loss="logistic").loss,
        **named("logistic", beside(runs, labeled, loss="logistic")),
        "logistic_weight_error": np.array([diagnostics.weight_errors(run, runs[-1]) for run in runs]),
    }
