"""Compile the native functions, so that the first run of a later process does not wait."""

from __future__ import annotations

import sys

import numpy as np

import biasfree as bf


def main() -> None:
    """Small runs of every kind, which call every native function; one compilation serves all shapes."""
    print("compiling flow and descent, once for all shapes and for later processes", file=sys.stderr)
    six, mirrored, gaussian = bf.data.six_points(), bf.data.odd_sine(n=300, d=5, seed=0), bf.networks.gaussian
    bf.gradient_flow(gaussian((2, 20, 1), scale=0.1, seed=0), six, [0.0, 40.0], until=0.1)
    deep = gaussian((2, 8, 6, 1), scale=1.0, seed=0)
    bf.gradient_flow(deep, six, [0.0, 400.0])  # also by exponential steps
    few = bf.data.odd_sine(n=20, d=2, seed=0)
    bf.gradient_flow(gaussian((2, 8, 6, 1), scale=0.1, seed=0), few, [0.0, 20.0], rtol=1e-2)  # over kinks
    first, second, third = deep.weights  # units with small inputs and large weights
    bf.gradient_flow(bf.Network((0.1 * first, 10 * second, third)), six, [0.0, 1.0])
    bf.gradient_flow(gaussian((2, 20, 1), scale=1e-6, seed=0), few, [0.0, 5.0])
    bf.gradient_flow(gaussian((5, 100, 1), scale=1e-4, seed=0), mirrored, [0.0, 40.0], rtol=1e-4)
    bf.gradient_flow(gaussian((5, 50, 40, 1), scale=1e-6, seed=0), mirrored, [0.0, 0.1])
    first, second = bf.networks.rank_one([1.0, 0, 0, 0, 0], width=100, scale=1e-4).weights
    first = np.array(first)  # a class of neurons, and one on a hyperplane
    first[0] = [mirrored.x[0, 1], -mirrored.x[0, 0], 0, 0, 0]
    bf.gradient_flow(bf.Network((first, second)), mirrored, [0.0, 0.1], rtol=1e-4)
    uneven = bf.Dataset(mirrored.x, abs(mirrored.y))
    bf.gradient_flow(gaussian((5, 60, 1), scale=1.0, seed=0), uneven, [0.0, 0.01], method="events")
    bf.gradient_descent(gaussian((2, 3, 1), scale=0.1, seed=0), six, step=0.1, steps=10)
    bf.sharpness(deep, six)


if __name__ == "__main__":
    main()
