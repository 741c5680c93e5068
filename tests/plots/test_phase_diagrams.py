"""Phase diagrams: tiles around their values, brackets around their points."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import biasfree as bf
from refusals import invalid


def test_tiles_meet_halfway_also_in_logarithms(blank):
    z = np.arange(6.0).reshape(2, 3)
    z[0, 0] = np.nan
    mesh: Any = bf.plots.phase_diagram(blank, [1, 10, 100], [0, 2], z, log_x=True, cmap="gray")
    corners = mesh.get_coordinates()
    assert_allclose(corners[0, :, 0], 10.0 ** np.array([-0.5, 0.5, 1.5, 2.5]), rtol=1e-14)
    assert_allclose(corners[:, 0, 1], [-1, 1, 3])
    assert np.ma.getmaskarray(mesh.get_array()).ravel().tolist() == [True] + 5 * [False]
    assert (blank.get_xscale(), blank.get_yscale()) == ("log", "linear")
    single: Any = bf.plots.phase_diagram(blank, [1], [2], [[3]])
    assert single.get_coordinates().shape == (2, 2, 2)


def test_brackets_reach_from_low_to_high(blank):
    drawn = bf.plots.brackets(blank, [2, 3], [5, 6], [4, 5.5], [8, 6], along="y")
    (bars,) = drawn[2]
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    assert ends == [[4, 8], [5.5, 6]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: bf.plots.phase_diagram(a, [1, 2], [1], [[1]]), "one row per y and one column per x"),
        (lambda a: bf.plots.phase_diagram(a, [2, 1], [1], [[1, 2]]), "x must be strictly increasing"),
        (lambda a: bf.plots.phase_diagram(a, [0, 1], [1], [[1, 2]], log_x=True), "positive on a logarithmic"),
        (lambda a: bf.plots.phase_diagram(a, [1], [1], [["a"]]), "z must hold real numbers"),
        (lambda a: bf.plots.brackets(a, [1], [1], [0], [2], along="z"), "along must be 'x' or 'y'"),
        (lambda a: bf.plots.brackets(a, [1, 2], [1], [0], [2]), "must have the same length"),
        (lambda a: bf.plots.brackets(a, [3], [1], [0], [2]), "low ≤ x ≤ high must hold"),
    ],
)
def test_wrong_arrays_are_refused(blank, call, message):
    invalid(message, call, blank)
