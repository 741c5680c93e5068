"""The quickstart of the README in a fresh process, start to end, against the same training in PyTorch."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import biasfree as bf
from benchmarks import threads
from benchmarks.measure import best, path_error, timed
from benchmarks.rows import Goal, Row

GOALS = {"quickstart of the README, a fresh process": Goal("≥", 1)}
README = Path(__file__).parents[1] / "README.md"
STEP = 0.004  # the paper's
REFERENCE = 1e-10
#: The peer as a program: arguments are the file of the problem, the file for its weights, and the step.
PROGRAM = """
import sys, time
import numpy as np
import torch

given = np.load(sys.argv[1])
x, y = (torch.from_numpy(given[name]) for name in ("x", "y"))
model = torch.nn.Sequential(
    torch.nn.Linear(x.shape[1], len(given["first"]), bias=False, dtype=torch.float64),
    torch.nn.ReLU(),
    torch.nn.Linear(len(given["first"]), 1, bias=False, dtype=torch.float64),
)
for parameter, name in zip(model.parameters(), ("first", "second")):
    parameter.data.copy_(torch.from_numpy(given[name]))
optimizer = torch.optim.SGD(model.parameters(), lr=float(sys.argv[3]))
criterion = torch.nn.MSELoss()
saved, done, began = [], 0, time.perf_counter()
for stop in given["saves"]:
    for _ in range(stop - done):
        optimizer.zero_grad()
        (criterion(model(x), y) / 2).backward()
        optimizer.step()
    done = stop
    saved.append([w.detach().numpy().copy() for w in model.parameters()])
print(time.perf_counter() - began)
np.savez(sys.argv[2], *(np.array(layer) for layer in zip(*saved)))
"""


def rows() -> Iterator[Row]:
    """Both from the start of the interpreter to its end, the best of three."""
    shown = code()
    seconds, _ = best(lambda: subprocess.run([sys.executable, "-c", shown], capture_output=True, check=True))
    problem = executed(shown)
    network, data, ts = (problem[name] for name in ("network", "data", "ts"))
    reference = bf.gradient_flow(network, data, ts, rtol=REFERENCE).weights
    peer = trained(network, data, ts)
    ((name, goal),) = GOALS.items()
    yield Row(
        name,
        f"PyTorch eager, {round(ts[-1] / STEP):,} steps, threads: {peer.threads}",
        seconds,
        peer.seconds,
        goal=goal,
        error=path_error(problem["simulated"].weights, reference),
        peer_error=path_error(peer.path, reference),
        note=f"ours simulates, solves and diagnoses; the peer trains at the paper's step, its loop alone for "
        f"{peer.loop:.2g} s; errors against rtol {REFERENCE:g}",
    )


def code() -> str:
    """The Python code below the heading "Quickstart" of the README."""
    found = re.search(r"^## Quickstart\n+```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"{README.name} has no Python code right below '## Quickstart'; restore it.")
    return found[1]


def executed(shown: str) -> dict[str, Any]:
    """The variables that the code leaves; what it prints is dropped."""
    left: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(shown, left)
    return left


@dataclass(frozen=True)
class Trained:
    """A run of the peer: seconds of its process and of the loop in it, its threads, its saved weights."""

    seconds: float
    loop: float
    threads: int
    path: list[np.ndarray]


def trained(network: bf.Network, data: bf.Dataset, ts: np.ndarray, repeats: int = 3) -> Trained:
    """The fastest process, over numbers of threads; one that is slower than the fastest so far is stopped."""
    first, second = network.weights
    fastest: Trained | None = None
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "given.npz"
        saves = np.round(ts / STEP).astype(int)
        np.savez(given, x=data.x, y=data.targets, first=first, second=second, saves=saves)
        for count in threads.counts() * repeats:
            limit = None if fastest is None else fastest.seconds
            with contextlib.suppress(subprocess.TimeoutExpired):
                fastest = _trained(given, count, limit)
    assert fastest is not None  # the first run has no limit
    return fastest


def _trained(given: Path, count: int, limit: float | None) -> Trained:
    saved = given.with_name("saved.npz")
    command = [sys.executable, "-c", PROGRAM, str(given), str(saved), str(STEP)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(count), "MKL_NUM_THREADS": str(count)}
    seconds, done = timed(
        lambda: subprocess.run(
            command, check=True, env=environment, timeout=limit, stdout=subprocess.PIPE, text=True
        )
    )
    with np.load(saved) as stored:
        return Trained(seconds, float(done.stdout), count, list(stored.values()))
