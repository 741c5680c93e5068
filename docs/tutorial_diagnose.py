"""The table of docs/tutorial_diagnose.md: verdicts on datasets of scikit-learn.

    python docs/tutorial_diagnose.py

Needs scikit-learn and PyTorch, which `make install` installs. Takes a few minutes.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from sklearn import datasets

import biasfree as bf


def tasks() -> Iterator[tuple[str, Any, Any]]:
    """Three tasks with inputs of unit variance, not centered, and labels ±1 or a centered target."""
    x, y = datasets.load_digits(return_X_y=True)
    pair = (y == 3) | (y == 5)
    yield "digits 3 against 5", x[pair] / 16, np.where(y[pair] == 3, 1.0, -1.0)
    x, y = datasets.load_breast_cancer(return_X_y=True)
    yield "breast cancer", x / x.std(axis=0), 2.0 * y - 1
    loaded: Any = datasets.load_diabetes(return_X_y=True, scaled=False)
    x, y = loaded
    yield "diabetes", x / x.std(axis=0), (y - y.mean()) / y.std()


def trained(data, *, bias, saves, width=50, seed=0):
    """The model after each number of steps in `saves`.

    Two layers, default initialization times 0.1, Adam on the square loss, full batch.
    """
    torch.manual_seed(seed)
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(data.dimensions, width, bias=bias), nn.ReLU(), nn.Linear(width, 1, bias=bias)
    ).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.from_numpy(data.x.copy()), torch.from_numpy(data.y.copy())
    for step in range(1, saves[-1] + 1):
        optimizer.zero_grad()
        ((model(x)[:, 0] - y) ** 2).mean().backward()
        optimizer.step()
        if step in saves:
            yield model


def prepared(x, y):
    """The data as given, centered, and centered with their mirror images added."""
    data = bf.Dataset(x, y)
    centered = bf.data.center(data)
    return {"as given": data, "centered": centered, "centered, mirrored": bf.data.symmetrize(centered)}


def main():
    print("| data | inputs | p | linear share | biases | after 100 steps | N | after 2000 steps | N |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, x, y in tasks():
        for inputs, data in prepared(x, y).items():
            for bias in (False, True):
                row = [name, inputs]
                for model in trained(data, bias=bias, saves=(100, 2000)):
                    report = bf.diagnose(model, data)
                    tables: Any = report.tables
                    function, measured = (dict(tables[part].rows) for part in ("function", "data"))
                    if len(row) == 2:
                        row.append(f"{measured['both: p-value under symmetry']:.3f}")
                        row.append(f"{tables['targets'].rows[0][1]:.2f}")
                        row.append("yes" if bias else "no")
                    row += [report.verdict, f"{100 * function['nonlinear share N, output 0']:.1f} %"]
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
