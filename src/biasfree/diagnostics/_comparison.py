"""Comparisons of two networks: overlaps of their neurons, and the weight error of a linear twin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.arrays import Float, Int, unit_rows
from biasfree.networks import Network
from biasfree.threads import load
from biasfree.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Overlaps of neurons h of a student with neurons k of a teacher.

    `cosines` are cos(w_h, v_k) of the incoming weights. `values` are cos(w_h, v_k)·cos(a_h, b_k) with the
    outgoing weights too: 1 for neurons whose functions are positive multiples of each other. Both are 0 where
    a neuron is zero. `student_of` is the student's neuron matched with each of the teacher's, −1 for none,
    and `matched` the overlap of the pair, 0 for none.
    """

    cosines: Float[np.ndarray, "H K"]
    values: Float[np.ndarray, "H K"]
    student_of: Int[np.ndarray, "K"]
    matched: Float[np.ndarray, "K"]


def overlaps(student: Network, teacher: Network) -> Overlaps:
    """The overlaps between the neurons of two networks of two layers, and the best matching of the neurons.

    o_hk = cos(w_h, v_k)·cos(a_h, b_k), for one output ±cos(w_h, v_k), + where a_h and b_k have one sign. They
    do not change if a neuron is rescaled. The matching is one to one and has the largest sum of overlaps; no
    neuron is matched where o_hk ≤ 0. A bias counts as one more incoming weight of its neuron.

    Assumes: two layers; the same inputs and outputs.
    Reference: derived here; overlaps of incoming weights are those of statistical physics, R/√(QT).
    """
    for name, network in (("student", student), ("teacher", teacher)):
        if network.depth != 2:
            raise ValueError(
                f"overlaps needs two layers, got a {name} of {network.depth}; compare deeper networks by "
                "bf.diagnostics.weight_error or by their outputs."
            )
    if (student.sizes[0], student.sizes[2]) != (teacher.sizes[0], teacher.sizes[2]):
        raise ValueError(
            f"the student has {student.sizes[0]} inputs and {student.sizes[2]} outputs, the teacher "
            f"{teacher.sizes[0]} and {teacher.sizes[2]}; give networks of equal inputs and outputs."
        )
    (w, a), (v, b) = _neurons(student), _neurons(teacher)
    cosines = w @ v.T
    values = cosines * (a @ b.T)
    student_of = _matching(values)
    matched = np.where(student_of >= 0, values[student_of, np.arange(len(v))], 0.0)
    return Overlaps(cosines, values, student_of, matched)


def weight_error(network: Network, twin: Network) -> float:
    """|√c·W − W_lin|/|W_lin| over all layers, c = (1+α)/2, for a network at time t/c and its twin at time t.

    Reference: [ZSL25] Fig. 1b (TMLR 3b).
    """
    if twin.leak != 1 or twin.sizes != network.sizes:
        raise ValueError(f"the twin must be linear and of sizes {network.sizes}, got {twin!r}.")
    c = (1 + network.leak) / 2
    scale = max(np.abs(w).max() for w in twin.weights)
    if scale == 0:
        raise ValueError("all weights of the twin are zero, so the relative error is not defined.")
    pairs = zip(network.weights, twin.weights, strict=True)
    apart = [np.linalg.norm((np.sqrt(c) * w - lin) / scale) for w, lin in pairs]
    return float(np.linalg.norm(apart) / np.linalg.norm([np.linalg.norm(w / scale) for w in twin.weights]))


def weight_errors(trajectory: Trajectory, twin: Trajectory) -> Float[np.ndarray, "T"]:
    """`weight_error` at every saved time; the times of the linear network must be c times those of the other.

    Reference: [ZSL25] Fig. 1b (TMLR 3b); the axis there is the linear network's time.
    """
    c = (1 + trajectory.leak) / 2
    if len(trajectory) != len(twin) or not np.allclose(c * trajectory.ts, twin.ts, rtol=1e-12, atol=0):
        raise ValueError(
            f"the twin must be saved at the times c*trajectory.ts, c = {c:g}; run it with ts=c*trajectory.ts."
        )
    return np.array([weight_error(a, b) for a, b in zip(trajectory, twin, strict=True)])


def _neurons(network: Network) -> tuple[Float[np.ndarray, "H D"], Float[np.ndarray, "H K"]]:
    """Incoming and outgoing weights of every neuron as unit vectors, 0 where they are zero."""
    first, second = network.weights
    bias = np.zeros(len(first)) if network.biases is None else network.biases[0]
    return unit_rows(np.column_stack([first, bias])), unit_rows(second.T)


def _matching(values: Float[np.ndarray, "H K"]) -> Int[np.ndarray, "K"]:
    linear_sum_assignment = load("scipy.optimize").linear_sum_assignment

    students, teachers = linear_sum_assignment(np.maximum(values, 0.0), maximize=True)
    found = np.full(values.shape[1], -1)
    found[teachers] = np.where(values[students, teachers] > 0, students, -1)
    return found
