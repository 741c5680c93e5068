"""Compile the native functions, so that the first run of a later process does not wait."""

from __future__ import annotations

import sys

import numpy as np

import biasfree as bf


def main() -> None:
    """One small run of every kind; each compiles the functions that it needs, once for all shapes."""
    print("compiling flow and descent, once for all shapes and for later processes", file=sys.stderr)
    points, many = bf.data.six_points(), bf.data.odd_sine(n=200, d=5, seed=0)
    bf.gradient_flow(bf.networks.gaussian((2, 20, 1), scale=0.1, seed=0), points, [0.0, 40.0])
    bf.gradient_flow(bf.networks.gaussian((5, 100, 1), scale=1e-4, seed=0), many, [0.0, 20.0], rtol=1e-4)
    bf.gradient_flow(bf.networks.gaussian((2, 8, 6, 1), scale=1.0, seed=0), points, [0.0, 10.0])
    bf.gradient_descent(bf.networks.gaussian((2, 3, 1), scale=0.1), points, step=0.1, steps=10)
    slow = bf.Dataset(np.eye(2), [1.0, -1.0])
    bf.gradient_flow(bf.networks.gaussian((2, 3, 1), scale=0.1, leak=1.0), slow, [0.0, 1.0], until=0.4)


if __name__ == "__main__":
    main()
