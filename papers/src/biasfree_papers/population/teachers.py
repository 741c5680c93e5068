"""A student of several orthogonal ReLU teachers: its plateau, and the time at which neurons specialize.

On the plateau all neurons have the direction v̄ of the sum of teachers: f = ρσ(v̄·x), ρ = 2κ,
κ = E[yσ(v̄·x)]. While outputs are small, neurons grow at the rate κ and turn to v̄ at the rate λ, the curvature
of E[yσ(ŵ·x)] there. On the plateau their differences in direction grow at the rate κ − λ. So the part of the
weights across v̄ grows at the rate κ − λ in both phases, and the time to specialize grows as
ln(1/scale)/(κ − λ).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import biasfree as bf


class Plateau(NamedTuple):
    """The loss on the plateau, and the rates κ and λ."""

    loss: float
    growth: float
    turning: float


def task(dimensions: int, teachers: int) -> bf.data.Population:
    """y = Σ_m σ(v_m·x), v_m the first axes, x ~ N(0, I)."""
    return bf.data.Population(
        dimensions, teacher=bf.Network((np.eye(teachers, dimensions), np.ones((1, teachers))))
    )


def plateau(population: bf.data.Population, teachers: int) -> Plateau:
    """The plateau, from E[σ(p·x)σ(q·x)] = h(θ) = (sin θ + (π − θ)cos θ)/2π at cos θ = 1/√M to M teachers.

    κ = Mh, λ = √M·(π − θ)/2π − 1/(2π sin θ), from the slope and curvature of h in cos θ; L = E[y²]/2 − κ².
    """
    cosine = 1 / np.sqrt(teachers)
    angle, sine = np.arccos(cosine), np.sqrt(1 - cosine**2)
    kappa = teachers * (sine + (np.pi - angle) * cosine) / (2 * np.pi)
    turning = np.sqrt(teachers) * (np.pi - angle) / (2 * np.pi) - 1 / (2 * np.pi * sine)
    return Plateau(population.mean_square / 2 - kappa**2, kappa, turning)


def student(dimensions: int, width: int, scale: float, seed: int) -> bf.Network:
    """Neurons (w, |w|) of equal norms and random directions; each layer has the norm `scale`."""
    rows = np.random.default_rng(seed).normal(size=(width, dimensions))
    rows *= scale / np.sqrt(width) / np.linalg.norm(rows, axis=1)[:, None]
    return bf.Network((rows, np.linalg.norm(rows, axis=1)[None]))


def overlaps(run: bf.Trajectory, teachers: int) -> np.ndarray:
    """Cosines of neurons with teachers, (time, neuron, teacher)."""
    rows = run.weights[0]
    return rows[:, :, :teachers] / np.linalg.norm(rows, axis=2)[:, :, None]
