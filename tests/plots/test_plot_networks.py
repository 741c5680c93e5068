"""Plots of weights: matrices sorted by sign, directions of neurons, spectra."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf

NETWORK = bf.networks.gaussian((3, 5, 1), scale=1.0, seed=0)
DEEP = bf.networks.low_rank((1.0, -2.0, 0.5), widths=(7, 6, 5), scale=1.5, seed=3)
PLANE = bf.networks.gaussian((2, 6, 1), scale=1.0, seed=1)
DATA = bf.data.linear_teacher(n=20, d=3, seed=0)


def permuted(network, rng):
    """The same function with hidden neurons in another order."""
    weights = list(network.weights)
    for i in range(network.depth - 1):
        order = rng.permutation(len(weights[i]))
        weights[i], weights[i + 1] = weights[i][order], weights[i + 1][:, order]
    return bf.Network(tuple(weights), leak=network.leak)


@pytest.mark.parametrize("leak", [0.0, 0.3, 1.0])
def test_two_layers_are_sorted_by_their_outer_weights(axes, leak):
    network = bf.Network(NETWORK.weights, leak=leak)
    w1, w2 = network.weights
    order = sorted(range(5), key=lambda h: -w2[0, h])
    first = bf.plots.weights(axes, network)
    assert_array_equal(first.get_array(), w1[order])
    assert first.get_clim() == (-np.abs(w1).max(), np.abs(w1).max())
    assert [text.get_text() for text in axes.get_yticklabels()] == [str(h + 1) for h in order]
    second = bf.plots.weights(Figure().subplots(), network, layer=-1)
    assert_array_equal(second.get_array(), w2[:, order])


def test_the_line_between_the_signs(axes):
    network = bf.Network((np.ones((20, 2)), np.r_[np.ones(13), -np.ones(7)][None, ::-1]))
    bf.plots.weights(axes, network)
    assert [line.get_ydata()[0] for line in axes.lines] == [13]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["+", "−"]


@pytest.mark.parametrize("seed", range(3))
def test_deep_layers_show_their_two_blocks_for_any_order(axes, seed):
    """Eq. 40: after sorting, the middle layers are zero off the two diagonal sign blocks."""
    shuffled = permuted(DEEP, np.random.default_rng(seed))
    for layer in (1, 2):
        panel = Figure().subplots()
        shown = np.asarray(bf.plots.weights(panel, shuffled, layer=layer).get_array())
        columns, rows = panel.lines  # the vertical line is drawn first
        across, split = int(np.asarray(columns.get_xdata())[0]), int(np.asarray(rows.get_ydata())[0])
        assert np.abs(shown[:split, across:]).max() == np.abs(shown[split:, :across]).max() == 0
        assert shown[:split, :across].min() > 0
        assert shown[split:, across:].min() > 0
        assert np.abs(shown).sum() == pytest.approx(np.abs(DEEP.weights[layer]).sum(), rel=1e-14)
    bf.plots.weights(axes, shuffled, layer=3)


def test_several_outputs_count_by_their_leading_direction(axes):
    """A rank-one outer layer b·aᵀ sorts by a; the sign makes the largest entry of b positive."""
    a, b = np.array([0.3, -2.0, 1.0, -0.1]), np.array([0.5, -3.0])
    network = bf.Network((np.eye(4), np.outer(b, a)))
    mesh = bf.plots.weights(axes, network)
    order = sorted(range(4), key=lambda h: a[h])
    assert_array_equal(mesh.get_array(), np.eye(4)[order])


@pytest.mark.parametrize(
    "weights",
    [
        (np.ones((3, 4)),),
        (np.zeros((30, 4)), np.zeros((1, 30))),
        (np.zeros((3, 4)), np.ones((2, 3)), np.zeros((1, 2))),
        (np.ones((1, 1)), np.ones((1, 1))),
    ],
)
def test_degenerate_layers_can_be_drawn(axes, weights):
    network = bf.Network(weights)
    for layer in range(network.depth):
        mesh = bf.plots.weights(axes, network, layer=layer)
        assert np.sum(np.asarray(mesh.get_array())) == weights[layer].sum()


def test_biases_do_not_matter_to_the_map(axes):
    biased = bf.Network(NETWORK.weights, biases=(np.ones(5), np.ones(1)))
    bare = bf.plots.weights(Figure().subplots(), NETWORK)
    assert_array_equal(bf.plots.weights(axes, biased).get_array(), bare.get_array())


def test_the_look_of_a_map_is_the_callers(axes):
    mesh = bf.plots.weights(axes, NETWORK, cmap="PuOr", vmin=-9, vmax=9)
    assert (mesh.get_cmap().name, mesh.get_clim()) == ("PuOr", (-9, 9))
    assert axes.get_title() == "$W_{1}$, colors to ±9"


@pytest.mark.parametrize("layer", [2, -3, 1.0, "1"])
def test_layers_that_are_not_there_are_refused(blank, layer):
    with pytest.raises(ValueError, match=r"layer must be a whole number( from 0 to 1)?, got"):
        bf.plots.weights(blank, NETWORK, layer=layer)


def test_neurons_of_the_plane_lie_at_their_weights(axes):
    data = bf.data.six_points()
    w, a = PLANE.weights[0], PLANE.weights[1][0]
    positive, negative = bf.plots.directions(axes, PLANE, data=data)
    assert (positive.get_label(), negative.get_label()) == ("$a_h$$>0$", "$a_h$$<0$")
    assert_array_equal(positive.get_offsets(), w[a > 0])
    assert_array_equal(negative.get_offsets(), w[a < 0])
    assert len(positive.get_paths()[0]) != len(negative.get_paths()[0])  # signs differ in shape too
    size = np.linalg.norm(w, axis=1) * np.abs(a)
    found = np.concatenate([positive.get_sizes(), negative.get_sizes()])
    expected = 4 + 80 * np.concatenate([size[a > 0], size[a < 0]]) / size.max()
    assert_allclose(found, expected, rtol=1e-15)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("$w_{h1}$", "$w_{h2}$")


def test_samples_lie_beneath_by_sign_and_to_scale(axes):
    data = bf.data.six_points()
    bf.plots.directions(axes, PLANE, data=data)
    plus, minus = axes.collections[:2]
    factor = np.abs(PLANE.weights[0]).max() / np.abs(data.x).max()
    assert_allclose(plus.get_offsets(), factor * data.x[data.y > 0], rtol=1e-14)
    assert_allclose(minus.get_offsets(), factor * data.x[data.y < 0], rtol=1e-14)
    assert f"{factor:.2g}" in plus.get_label()


def test_more_inputs_are_projected_on_beta_and_across(axes):
    artists = bf.plots.directions(axes, NETWORK, data=DATA)
    w, a = NETWORK.weights[0], NETWORK.weights[1][0]
    at = np.concatenate([artist.get_offsets() for artist in artists])
    w = np.concatenate([w[a > 0], w[a < 0]])
    b = DATA.beta / np.linalg.norm(DATA.beta)
    assert_allclose(at[:, 0], w @ b, atol=1e-14)
    rest = w - np.outer(w @ b, b)
    # The leading direction across b holds the largest possible share of what is left.
    assert np.linalg.norm(at[:, 1]) == pytest.approx(np.linalg.norm(rest, 2), rel=1e-12)
    assert "β" in axes.get_xlabel()


def test_neurons_along_beta_have_no_other_coordinate(axes):
    network = bf.networks.rank_one(DATA.beta, width=8, scale=1.0)
    at = np.concatenate([artist.get_offsets() for artist in bf.plots.directions(axes, network, data=DATA)])
    assert_allclose(at[:, 1], 0, atol=1e-15)
    assert_allclose(np.linalg.norm(at[:, 0]), 1, rtol=1e-14)


def test_without_data_the_plane_is_that_of_the_weights(axes):
    at = np.concatenate([artist.get_offsets() for artist in bf.plots.directions(axes, NETWORK)])
    expected = np.linalg.svd(NETWORK.weights[0], compute_uv=False)[:2]
    assert_allclose(np.linalg.norm(at, axis=0), expected, rtol=1e-13)
    assert "singular vectors of $W_1$" in axes.get_ylabel()


def test_deep_networks_and_several_outputs_have_directions(axes):
    labels = {artist.get_label() for artist in bf.plots.directions(axes, DEEP, data=DATA)}
    assert labels == {"$r_h$$>0$", "$r_h$$<0$"}
    two = bf.Dataset(DATA.x, np.stack([DATA.y, 2 * DATA.y], axis=1))
    bf.plots.directions(axes, bf.networks.gaussian((3, 5, 2), scale=1.0), data=two)


def test_a_zero_network_has_neurons_at_the_origin(axes):
    (artist,) = bf.plots.directions(
        axes, bf.Network((np.zeros((4, 2)), np.zeros((1, 4)))), data=bf.data.xor()
    )
    assert_array_equal(artist.get_offsets(), np.zeros((4, 2)))


def test_directions_that_are_not_there_are_refused(blank):
    with pytest.raises(ValueError, match="needs two or more layers and two or more inputs, got Network"):
        bf.plots.directions(blank, bf.Network((np.ones((1, 3)),)))
    with pytest.raises(ValueError, match="needs two or more layers and two or more inputs, got Network"):
        bf.plots.directions(blank, bf.networks.gaussian((1, 3, 1), scale=1.0))
    with pytest.raises(ValueError, match="the network takes 2 inputs, but the data are Dataset"):
        bf.plots.directions(blank, PLANE, data=DATA)


def test_spectra_are_the_singular_values(axes):
    lines = bf.plots.spectra(axes, NETWORK)
    for line, w in zip(lines, NETWORK.weights, strict=True):
        values = np.sqrt(np.linalg.eigvalsh(w @ w.T)[::-1][: min(w.shape)])
        assert_allclose(np.asarray(line.get_ydata()), values / values[0], rtol=1e-12)
    assert axes.get_yscale() == "log"
    assert [line.get_label() for line in lines] == ["$W_{1}$", "$W_{2}$"]


def test_values_that_are_zero_to_rounding_are_clipped_and_marked(axes):
    lines = bf.plots.spectra(axes, DEEP)
    assert [np.size(line.get_ydata()) for line in lines] == [1, 2, 2, 1]  # Eq. 40: ranks
    assert all(np.asarray(line.get_ydata())[0] == 1 for line in lines)
    clipped = [line for line in axes.lines if line not in lines]
    assert [np.size(line.get_ydata()) for line in clipped] == [2, 4, 3, 0]
    for line, w in zip(clipped, DEEP.weights, strict=True):
        assert line.get_marker() == "v"
        assert_array_equal(line.get_ydata(), max(w.shape) * 2.0**-52)


def test_a_zero_layer_has_a_spectrum_of_clipped_values(axes):
    lines = bf.plots.spectra(axes, bf.Network((np.zeros((3, 2)), np.ones((1, 3)))))
    assert [np.size(line.get_ydata()) for line in lines] == [0, 1]
