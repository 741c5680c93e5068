"""What `LinearityMonitor` adds to a training loop in PyTorch when called every 100 steps.

    python benchmarks/monitor.py

One thread; the time inside the monitor over the time of the steps around it, in the same loop: two loops,
with and without it, differ by more than it takes on a machine that is not alone. The median of five runs.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import statistics
import time

import torch

import biasfree as bf

torch.set_num_threads(1)


def trained(x, y, width, steps):
    """Seconds in the steps and in the monitor."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], width, bias=False), torch.nn.ReLU(), torch.nn.Linear(width, 1, bias=False)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    monitor = bf.diagnostics.LinearityMonitor(model, x, y)
    spent = [0.0, 0.0]
    for step in range(steps):
        began = time.perf_counter()
        optimizer.zero_grad()
        ((model(x)[:, 0] - y) ** 2).mean().backward()
        optimizer.step()
        trained = time.perf_counter()
        if step % 100 == 0:
            monitor(step)
        spent[0] += trained - began
        spent[1] += time.perf_counter() - trained
    return spent


def main():
    for n, d, width, steps in ((1000, 20, 500, 1000), (100, 10, 100, 5000), (1000, 100, 100, 2000)):
        data = bf.data.odd_sine(n=n // 2, d=d, seed=0)
        x, y = (torch.from_numpy(values.copy()).float() for values in (data.x, data.y))
        runs = [trained(x, y, width, steps) for _ in range(5)]
        share = statistics.median(monitor / training for training, monitor in runs)
        step = statistics.median(training for training, _ in runs) / steps
        print(f"P {n}, D {d}, H {width}: {1e3 * step:.3f} ms a step, the monitor adds {share:.2%}")


if __name__ == "__main__":
    main()
