"""Seconds of `bf.diagnose`, from the call to its first answer and to its end, and the memory of its process.

Run as a program it takes a size and prints these, with the error of a score that is known by construction.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import biasfree as bf
from benchmarks.measure import in_fresh_process
from benchmarks.rows import Goal, Row

#: Samples, inputs, outputs, and the seconds allowed.
SIZES = {
    "1 797 × 64, 10 classes": (1797, 64, 10, 5),
    "20 000 × 784": (20_000, 784, 1, 30),
    "100 000 × 100": (100_000, 100, 1, 20),
}
FIRST, MEMORY = 2.0, 1.0  # seconds, GB
GOALS = {
    **{f"diagnose, {name}": Goal("≤", limit, "s") for name, (*_, limit) in SIZES.items()},
    **{f"diagnose, {name}, first answer": Goal("≤", FIRST, "s") for name in SIZES},
    **{f"diagnose, {name}, memory": Goal("≤", MEMORY, "GB") for name in SIZES},
}


def rows() -> Iterator[Row]:
    """Three rows per size: the whole call, its first answer, and the peak memory of the process."""
    for name in SIZES:
        found = in_fresh_process("diagnose", name)
        shared: dict[str, Any] = {"error": found["error"], "bound": 1e-9, "note": found["answer"]}
        for kind, unit in (("", "s"), (", first answer", "s"), (", memory", "GB")):
            row, value = f"diagnose, {name}{kind}", found[kind]
            yield Row(row, ours=value, unit=unit, ratio=value, goal=GOALS[row], **shared)


def measured(name: str) -> dict[str, Any]:
    """A diagnosis of untrained weights on Gaussian inputs, and the error of its score, in this process."""
    samples, inputs, outputs, _ = SIZES[name]
    rng = np.random.default_rng(0)
    x = rng.standard_normal((samples, inputs))
    y = x @ rng.standard_normal((inputs, outputs)) + np.abs(x[:, :1])
    network = bf.networks.gaussian((inputs, 50, outputs), scale=1.0, seed=0)
    y = np.argmax(y, axis=1) if outputs > 1 else y[:, 0]
    bf.diagnose  # noqa: B018 - imports are not counted
    answers, began = [], time.perf_counter()
    report = bf.diagnose(network, x, y, watch=lambda _: answers.append(time.perf_counter() - began))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "": answers[-1],
        ", first answer": answers[0],
        ", memory": peak * (1 if sys.platform == "darwin" else 1024) / 1e9,
        "error": _error(report, network, x),
        "answer": report.answer,
    }


def _error(report: Any, network: bf.Network, x: np.ndarray) -> float:
    """The largest error of N, computed here by the normal equations."""
    f = network.preactivations(x)[-1]
    f = f - f.mean(axis=1, keepdims=True) if f.shape[1] > 1 else f
    rest = np.sum(f**2, axis=0) - np.sum((x.T @ f) * np.linalg.solve(x.T @ x, x.T @ f), axis=0)
    share = rest / np.sum(f**2, axis=0)
    found = [row[1] for row in report.tables["function"].rows if row[0].startswith("nonlinear share")]
    return float(np.abs(share - found).max())


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1])))
