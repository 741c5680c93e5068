"""Replays of the site: runs in the plane that its pages show, each written by `bf.lab.animate`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import biasfree as bf

#: Replay → data, width, scale and last time: those of `biasfree lab`, but for fewer neurons.
REPLAYS = {
    "six_points": (bf.data.six_points(0.15), 40, 1e-2, 900.0),
    "xor": (bf.data.xor(), 40, 1e-5, 90.0),
}


def write(folder: Path) -> None:
    """Write every replay into a folder, as NAME.html."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (data, width, scale, end) in REPLAYS.items():
        network = bf.networks.gaussian((2, width, 1), scale=scale, seed=0)
        run = bf.gradient_flow(network, data, np.linspace(0, end, 121))
        bf.lab.animate(run, data, folder / f"{name}.html")
