"""Plots of functions: over the plane, and against the nearest linear map."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
from refusals import invalid

NETWORK = bf.networks.gaussian((3, 5, 1), scale=1.0, seed=0)
PLANE = bf.networks.gaussian((2, 6, 1), scale=1.0, seed=1)
DATA = bf.data.linear_teacher(n=20, d=3, seed=0)
CLOUD = np.random.default_rng(0).normal(size=(50, 3))


def test_the_map_is_f_at_the_middles_of_its_pixels(axes):
    image = bf.plots.output_map(axes, PLANE, extent=2.0, resolution=5)
    shown = np.asarray(image.get_array())
    left, right, bottom, _ = image.get_extent()
    step = (right - left) / 5
    for i, j in ((0, 0), (4, 1), (2, 3)):
        center = np.array([left + (j + 0.5) * step, bottom + (i + 0.5) * step])
        assert shown[i, j] == pytest.approx(PLANE(center), rel=1e-12, abs=1e-14)
    assert axes.get_xlim() == axes.get_ylim() == (-2, 2)
    low, high = image.get_clim()
    assert -low == high == np.abs(shown).max()


def test_samples_share_the_colors_of_the_map(axes):
    data = bf.data.six_points()
    image = bf.plots.output_map(axes, lambda x: 0.01 * x[:, 0], data=data, resolution=11)
    assert image.get_clim() == (-1, 1)
    assert axes.get_xlim() == (-1.2, 1.2)
    *_, plus, minus = axes.collections
    assert_array_equal(plus.get_offsets(), data.x[data.y > 0])
    assert_array_equal(minus.get_array(), data.y[data.y < 0])


def test_samples_keep_to_the_colors_asked_for(axes):
    image = bf.plots.output_map(
        axes, lambda x: 9 * x[:, 0], data=bf.data.six_points(), resolution=11, vmin=-2, vmax=2
    )
    *_, plus, minus = axes.collections
    assert image.get_clim() == plus.get_clim() == minus.get_clim() == (-2, 2)


def test_the_zero_line_is_where_f_changes_sign(axes):
    bf.plots.output_map(axes, lambda x: x[:, 0] - x[:, 1], resolution=11)
    ((contour),) = axes.collections
    (path,) = contour.get_paths()
    assert_allclose(path.vertices[:, 0], path.vertices[:, 1], atol=1e-12)


def test_where_f_vanishes_over_an_area_there_is_no_line(axes):
    """A function that is zero, up to rounding, on a fifth of the square: the zero line elsewhere stays."""
    rng = np.random.default_rng(0)

    def function(x):
        return np.where(x[:, 0] > 0.6, 1e-9 * rng.normal(size=len(x)), x[:, 1] * (0.6 - x[:, 0]))

    bf.plots.output_map(axes, function, resolution=41)
    (contour,) = axes.collections
    line = np.concatenate([path.vertices for path in contour.get_paths()])
    assert_allclose(line[:, 1], 0, atol=1e-12)
    assert line[:, 0].min() == -1
    assert 0.4 < line[:, 0].max() < 0.6


def test_a_function_of_one_sign_has_no_zero_line(axes):
    bf.plots.output_map(axes, lambda x: np.abs(x[:, 0]), resolution=11)
    assert not axes.collections


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (NETWORK, {}, r"draws functions of two inputs, got Network\(3→5→1"),
        (PLANE, {"data": DATA}, r"draws functions of two inputs, got Dataset\(samples=40, dimensions=3\)"),
        (PLANE, {"extent": np.nan}, "extent must be finite"),
        (PLANE, {"extent": -1}, "extent must be positive"),
        (PLANE, {"resolution": 1}, "resolution must be a whole number of at least 2"),
        (lambda x: x[:, 0] * np.nan, {}, r"f\(x\) must be finite"),
        (lambda x: x[:2], {}, r"f\(x\) must have shape \(samples,\) or \(samples, outputs\)"),
        (DATA, {}, r"a bf.Network or a function of \(samples, dimensions\), got a Dataset"),
    ],
)  # fmt: skip
def test_maps_that_cannot_be_drawn_are_refused(blank, function, options, message):
    invalid(message, bf.plots.output_map, blank, function, **options)


def test_two_layers_leave_the_diagonal_by_their_even_part(axes):
    f, odd = bf.plots.parity(axes, NETWORK, CLOUD)
    w = NETWORK.weights[1][0] @ NETWORK.weights[0] / 2
    assert_allclose(np.asarray(f.get_xydata()), np.stack([CLOUD @ w, NETWORK(CLOUD)], axis=1), atol=1e-13)
    assert_allclose(np.asarray(odd.get_ydata()), CLOUD @ w, atol=1e-13)


def mixture(x):
    """Linear, odd and even parts whose energies on the samples below are 9, 4 and 1 in 14."""
    return np.stack([3 * x[:, 0] + 2 * x[:, 1] * x[:, 2] * x[:, 0] + x[:, 1] * x[:, 2], x[:, 2]], axis=1)


CUBE = np.array([[a, b, c] for a in (-1.0, 1) for b in (-1, 1) for c in (-1, 1)])


def test_energies_of_a_known_mixture(axes):
    """On the cube the products of coordinates are orthogonal, so the shares are exact."""
    bars = bf.plots.energies(axes, mixture, CUBE)
    heights = np.array([[bar.get_height() for bar in kind] for kind in bars])
    assert_allclose(heights, 100 * np.array([[9 / 14, 1], [4 / 14, 0], [1 / 14, 0]]), atol=1e-12)
    assert [kind.get_label() for kind in bars] == ["linear", "odd, not linear", "even"]
    assert axes.get_legend() is not None


def test_the_labels_of_parity_tell_the_shares(axes):
    f, odd = bf.plots.parity(axes, lambda x: mixture(x)[:, 0], CUBE, color="k")
    assert f.get_label() == "$f(x)$: 64.3 % linear, 7.1 % even"
    assert odd.get_label() == "odd part: 28.6 % not linear"
    assert f.get_color() == "k"


def test_a_network_and_its_function_have_the_same_parity(axes):
    network = bf.networks.gaussian((3, 6, 6, 2), scale=1.0, seed=4)
    heights = [
        [bar.get_height() for kind in bf.plots.energies(axes, function, CLOUD) for bar in kind]
        for function in (network, lambda x: network(x))
    ]
    assert_allclose(heights[0], heights[1], atol=1e-10)


def test_many_samples_are_thinned_but_all_are_counted(axes, blank):
    x = np.random.default_rng(1).normal(size=(2003, 3))
    f, odd = bf.plots.parity(axes, NETWORK, x)
    assert np.size(f.get_xdata()) == np.size(odd.get_xdata()) == 1002  # every second of 2003
    shares = [bar.get_height() for (bar,) in bf.plots.energies(blank, NETWORK, x)]
    assert f.get_label() == f"$f(x)$: {shares[0]:.1f} % linear, {shares[2]:.1f} % even"


@pytest.mark.parametrize("size", [0.0, 1e-200])
def test_vanishing_functions_have_shares(axes, size):
    linear, odd, even = bf.plots.energies(axes, lambda x: size * x[:, 0], CLOUD)
    assert [kind[0].get_height() for kind in (odd, even)] == pytest.approx([0, 0], abs=1e-12)
    assert linear[0].get_height() == pytest.approx(100 if size else 0)


def test_a_function_that_is_zero_can_be_drawn(axes):
    f, _ = bf.plots.parity(axes, lambda x: 0 * x[:, 0], CLOUD)
    assert f.get_label() == "$f(x)$: 0 % linear, 0 % even"


@pytest.mark.parametrize("draw", [bf.plots.parity, bf.plots.energies])
def test_parities_that_cannot_be_drawn_are_refused(blank, draw):
    invalid(r"x must have shape \(samples, dimensions\), got \(3,\)", draw, blank, NETWORK, np.ones(3))
    invalid(r"x must have shape \(samples, 3\), got \(4, 2\)", draw, blank, NETWORK, np.ones((4, 2)))
    invalid("x must be finite", draw, blank, NETWORK, np.full((4, 3), np.nan))
    invalid(r"a bf\.Network or a function", draw, blank, None, CLOUD)
