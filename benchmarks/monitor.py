"""Time that `LinearityMonitor` adds to a training loop in PyTorch when called every 100 steps.

One thread; the time inside the monitor over the time of the steps around it, in the same loop: two loops,
with and without it, differ by more than it takes on a machine that is not alone. The median of three runs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import torch

import biasfree as bf
from benchmarks.rows import Goal, Row

SHARE = Goal("≤", 0.02, "%")
SIZES = ((1000, 20, 500, 1000), (100, 10, 100, 5000), (1000, 100, 100, 2000))  # P, D, H, steps
NAMES = {size: f"LinearityMonitor, P {size[0]}, D {size[1]}, H {size[2]}" for size in SIZES}
GOALS = dict.fromkeys(NAMES.values(), SHARE)


def rows() -> Iterator[Row]:
    """The time of the monitor over that of training, at three sizes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for size, name in NAMES.items():
            *_, steps = size
            runs = [trained(*size) for _ in range(3)]
            training, watching = (statistics.median(part) / steps for part in zip(*runs, strict=True))
            share = statistics.median(watched / trained for trained, watched in runs)
            yield Row(
                name, "the steps it watches", watching, training, "s a step", ratio=share, goal=GOALS[name]
            )
    finally:
        torch.set_num_threads(before)


def trained(samples: int, inputs: int, width: int, steps: int) -> tuple[float, float]:
    """Seconds in the steps and in the monitor, in float32, as is usual in training."""
    data = bf.data.odd_sine(n=samples // 2, d=inputs, seed=0)
    x, y = (torch.from_numpy(values.copy()).float() for values in (data.x, data.y))
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(inputs, width, bias=False), torch.nn.ReLU(), torch.nn.Linear(width, 1, bias=False)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    monitor = bf.diagnostics.LinearityMonitor(model, x, y)
    training = watching = 0.0
    for step in range(steps):
        began = time.perf_counter()
        optimizer.zero_grad()
        ((model(x)[:, 0] - y) ** 2).mean().backward()
        optimizer.step()
        stepped = time.perf_counter()
        if step % 100 == 0:
            monitor(step)
        training += stepped - began
        watching += time.perf_counter() - stepped
    return training, watching
