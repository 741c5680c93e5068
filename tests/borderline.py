"""Data at ties and thresholds: `python borderline.py [names]` prints the sentences of each case as JSON."""

import json
import sys
from itertools import product
from typing import Any

import numpy as np

import biasfree as bf

GRID = np.linspace(-1, 1, 41)
ONE_HOT = np.eye(24)[np.arange(48) % 24]
CORNERS = np.array(list(product((-1.0, 1.0), repeat=6)))
RANDOM = np.random.default_rng(0).normal(size=(60, 3))

INPUTS = {
    "grid": GRID[:, None],
    "grid and ones": np.c_[GRID, np.ones(41)],
    "one-hot": ONE_HOT,
    "one-hot and ones": np.c_[ONE_HOT, np.ones(48)],
    "corners": CORNERS,
    "corners twice": np.concatenate([CORNERS, CORNERS]),
    "lattice": np.array(list(product(np.linspace(-1, 1, 7), repeat=2))),
    "cube": np.array(list(product((-1.0, 0.0, 1.0), repeat=3))),
    "far": RANDOM + 10,
    "farther": RANDOM + 1e4,
    "dependent columns": np.c_[RANDOM, 0.1 * RANDOM[:, 0] + 0.7 * RANDOM[:, 1]],
    "more columns than samples": np.eye(50)[:30],
}
WITH_NETWORK = ("grid and ones", "one-hot", "far", "dependent columns", "cube", "corners", "lattice")


def targets(x: np.ndarray) -> dict[str, np.ndarray]:
    """Targets with exact fits, equal classes or nothing to learn."""
    n = len(x)
    return {
        "linear": x @ np.arange(1.0, x.shape[1] + 1),
        "bent": np.abs(x[:, 0] - x[:, 0].mean()) + x[:, -1],
        "noise": np.random.default_rng(1).normal(size=n),
        "alternating": np.where(np.arange(n) % 2, "a", "b"),
        "three classes": (np.arange(n) // 2 % 3).astype(str),
        "squares": np.sum(x**2, axis=1) + 0.1 * x[:, 0],
    }


def bent(a: float, b: float) -> Any:
    """The function a·x₁ + b·x₁x₂."""
    return lambda z: a * z[:, 0] + b * z[:, 0] * z[:, 1]


def cases() -> dict[str, tuple[Any, np.ndarray, np.ndarray]]:
    """Model, inputs and targets of 100 cases by name."""
    made: dict[str, tuple[Any, np.ndarray, np.ndarray]] = {}
    for name, x in INPUTS.items():
        made |= {f"{name}, {target}": (None, x, y) for target, y in targets(x).items()}
    for name in WITH_NETWORK:
        x = INPUTS[name]
        network = bf.networks.rank_one(np.arange(1.0, x.shape[1] + 1), width=4, scale=1.0)
        made |= {f"{name}, {kind}, network": (network, x, targets(x)[kind]) for kind in ("linear", "bent")}
    first, even = CORNERS[:, 0], CORNERS[:, 0] * CORNERS[:, 1]
    for share in (0.01, 0.01 * (1 + 1e-15), 0.02):  # N, the residual or the gain is a threshold, to rounding
        a, b = np.sqrt(1 - share), np.sqrt(share)
        made[f"N {share!r}"] = bent(a, b), CORNERS, first
        made[f"residual {share!r}"] = bent(1 - b, 0.0), CORNERS, first
        made[f"gain {share!r}"] = bent(1.0, b), CORNERS, first + b * even
    for few in range(1, 5):
        wrong = np.where(np.arange(64) < few, -1, 1)
        made[f"classes {few}"] = bent(1.0, 0.0), CORNERS, first.astype(int) * wrong
    constant = np.repeat([1.0, -1.0], 41)
    made["no signal"] = (lambda z: 0 * z[:, 0]), np.r_[GRID, GRID][:, None], constant
    return made


def sentences(report: Any) -> list[str]:
    """All that a report says in words, and which results of the theory apply."""
    theory = report.tables["theory"].rows if "theory" in report.tables else ()
    said = (report.answer, report.verdict, report.case, *report.reasons, *report.notes, *theory)
    return [str(sentence) for sentence in said]


def main(names: list[str]) -> None:
    """Print the kernels of BLAS and the sentences of the cases."""
    from threadpoolctl import threadpool_info

    every = cases()
    said = {name: sentences(bf.diagnose(*every[name], flips=39)) for name in names or every}
    kernels = sorted({str(one.get("architecture")) for one in threadpool_info()})
    print(json.dumps({"kernels": kernels, "said": said}))


if __name__ == "__main__":
    main(sys.argv[1:])
