"""Pictures of trajectories and networks: they show what was given, and refuse what cannot be drawn."""

import io
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import biasfree as bf
from biasfree.trajectory import MapTrajectory, Stats, Trajectory

NETWORK = bf.networks.gaussian((3, 5, 1), scale=1.0, seed=0)
DEEP = bf.networks.low_rank((1.0, -2.0, 0.5), widths=(7, 6, 5), scale=1.5, seed=3)
PLANE = bf.networks.gaussian((2, 6, 1), scale=1.0, seed=1)
DATA = bf.data.linear_teacher(n=20, d=3, seed=0)
CLOUD = np.random.default_rng(0).normal(size=(50, 3))


@pytest.fixture
def axes():
    """Axes of a figure that pyplot knows nothing of; rendered at the end, with labels, settings untouched."""
    before = dict(matplotlib.rcParams)
    figure = Figure(figsize=(3, 3), layout="constrained")
    panel = figure.subplots()
    yield panel
    assert panel.get_xlabel()
    assert panel.get_ylabel()
    figure.savefig(io.BytesIO(), dpi=60)
    assert dict(matplotlib.rcParams) == before


@pytest.fixture
def blank():
    """Axes for calls that are refused."""
    return Figure().subplots()


def run(ts, loss, method="descent"):
    """A trajectory of a fixed network with a loss of its own."""
    weights = tuple(np.broadcast_to(w, (len(ts), *w.shape)) for w in NETWORK.weights)
    return Trajectory(ts, weights, loss, loss, leak=0.0, stats=Stats(method))


def permuted(network, rng):
    """The same function, its hidden neurons in another order."""
    weights = list(network.weights)
    for i in range(network.depth - 1):
        order = rng.permutation(len(weights[i]))
        weights[i], weights[i + 1] = weights[i][order], weights[i + 1][:, order]
    return bf.Network(tuple(weights), leak=network.leak)


# loss


def test_a_solution_is_a_line_and_a_simulation_markers(axes):
    ts = np.linspace(0, 5, 101)
    line = bf.plots.loss(axes, run(ts, np.exp(-ts), "reduced_flow"))
    points = bf.plots.loss(axes, run(ts, np.exp(-ts)), color="k")
    assert (line.get_linestyle(), line.get_marker(), line.get_label()) == ("-", "None", "reduced flow")
    assert (points.get_linestyle(), points.get_marker(), points.get_label()) == (
        "None",
        "o",
        "gradient descent",
    )
    assert points.get_color() == "k"
    for artist in (line, points):
        np.testing.assert_array_equal(artist.get_xydata(), np.stack([ts, np.exp(-ts)], axis=1))
    assert 10 < len(points.get_markevery()) <= 25


@pytest.mark.parametrize("solve", [bf.theory.reduced_flow, bf.theory.equivalent_flow])
def test_what_theory_solves_is_told_from_what_is_simulated(axes, solve):
    start = bf.networks.rank_one((1.0, 1, 0), width=4, scale=0.1)
    simulated = bf.gradient_descent(start, DATA, step=0.1, steps=20)
    assert bf.plots.loss(axes, solve(start, DATA, simulated.ts)).get_linestyle() == "-"
    assert bf.plots.loss(axes, simulated).get_linestyle() == "None"
    assert bf.plots.loss(axes, simulated, theory=True).get_linestyle() == "-"


@pytest.mark.parametrize("method", ["smooth", "events", "steps"])
def test_flows_are_simulations(axes, method):
    points = bf.plots.loss(axes, run(np.arange(3.0), np.ones(3), method))
    assert (points.get_linestyle(), points.get_label()) == ("None", "gradient flow")


def test_infinite_time_is_a_level(axes):
    white = bf.data.whiten(DATA)
    solved = bf.theory.white_flow(
        bf.networks.rank_one((1.0, 1, 0), width=4, scale=0.1), white, [0, 1, 9, np.inf]
    )
    line = bf.plots.loss(axes, solved)
    np.testing.assert_array_equal(line.get_xdata(), [0, 1, 9])
    (level,) = [other for other in axes.lines if other is not line]
    np.testing.assert_array_equal(level.get_ydata(), [solved.loss[-1]] * 2)


def test_a_map_trajectory_has_a_loss_too(axes):
    ts, maps = np.array([0.0, 1.0, 2.0]), np.zeros((3, 1, 2))
    line = bf.plots.loss(axes, MapTrajectory(ts, maps, [3.0, 2.0, 1.0], Stats("linear_flow")))
    np.testing.assert_array_equal(line.get_ydata(), [3, 2, 1])


def test_logarithmic_axes_leave_out_what_has_no_logarithm(axes):
    ts = np.append(0.0, np.geomspace(1e-3, 1e3, 601))
    loss = np.append(1 / (1 + ts[:-1]), 0.0)
    line = bf.plots.loss(axes, run(ts, loss), log_time=True, log_loss=True, shown=20)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    np.testing.assert_array_equal(line.get_xydata(), np.stack([ts, loss], axis=1)[1:-1])
    # Evenly along a curve of which each half covers three of six decades of time: about half of the markers
    # lie before t = 1; on plain axes nearly all would lie after it.
    early = sum(ts[1:][i] < 1 for i in line.get_markevery())
    assert 6 <= early <= 14


def test_a_run_of_one_time_can_be_drawn(axes):
    assert len(bf.plots.loss(axes, run(np.zeros(1), np.ones(1))).get_xdata()) == 1


def test_losses_that_cannot_be_drawn_are_refused(blank):
    with pytest.raises(
        ValueError, match="loss draws a Trajectory or a MapTrajectory, got list; the Axes comes"
    ):
        bf.plots.loss(blank, [run(np.zeros(1), np.ones(1))])
    with pytest.raises(ValueError, match="has no finite time"):
        bf.plots.loss(blank, run(np.array([np.inf]), np.ones(1)))
    with pytest.raises(ValueError, match="a logarithmic axis has no place for any point of Trajectory"):
        bf.plots.loss(blank, run(np.zeros(1), np.ones(1)), log_time=True)


# weights


@pytest.mark.parametrize("leak", [0.0, 0.3, 1.0])
def test_two_layers_are_sorted_by_their_outer_weights(axes, leak):
    network = bf.Network(NETWORK.weights, leak=leak)
    w1, w2 = network.weights
    order = sorted(range(5), key=lambda h: -w2[0, h])
    first = bf.plots.weights(axes, network)
    np.testing.assert_array_equal(first.get_array(), w1[order])
    assert first.get_clim() == (-np.abs(w1).max(), np.abs(w1).max())
    assert [text.get_text() for text in axes.get_yticklabels()] == [str(h + 1) for h in order]
    second = bf.plots.weights(Figure().subplots(), network, layer=-1)
    np.testing.assert_array_equal(second.get_array(), w2[:, order])
    plain = bf.plots.weights(Figure().subplots(), network, sort=False)
    np.testing.assert_array_equal(plain.get_array(), w1)


def test_the_line_between_the_signs(axes):
    network = bf.Network((np.ones((20, 2)), np.r_[np.ones(13), -np.ones(7)][None, ::-1]))
    bf.plots.weights(axes, network)
    assert [line.get_ydata()[0] for line in axes.lines] == [13]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["+", "−"]


@pytest.mark.parametrize("seed", range(3))
def test_deep_layers_show_their_two_blocks_whatever_the_order(axes, seed):
    """Eq. 40: after sorting, the middle layers are zero off the two diagonal sign blocks."""
    shuffled = permuted(DEEP, np.random.default_rng(seed))
    for layer in (1, 2):
        panel = Figure().subplots()
        shown = np.asarray(bf.plots.weights(panel, shuffled, layer=layer).get_array())
        columns, rows = panel.lines  # the vertical line is drawn first
        across, split = int(columns.get_xdata()[0]), int(rows.get_ydata()[0])
        assert np.abs(shown[:split, across:]).max() == np.abs(shown[split:, :across]).max() == 0
        assert shown[:split, :across].min() > 0
        assert shown[split:, across:].min() > 0
        assert np.abs(shown).sum() == pytest.approx(np.abs(DEEP.weights[layer]).sum(), rel=1e-14)
    bf.plots.weights(axes, shuffled, layer=3)


def test_several_outputs_count_by_their_leading_direction(axes):
    """A rank-one outer layer b·aᵀ sorts by a; the sign is such that the largest of b counts positive."""
    a, b = np.array([0.3, -2.0, 1.0, -0.1]), np.array([0.5, -3.0])
    network = bf.Network((np.eye(4), np.outer(b, a)))
    mesh = bf.plots.weights(axes, network)
    order = sorted(range(4), key=lambda h: a[h])
    np.testing.assert_array_equal(mesh.get_array(), np.eye(4)[order])


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
        assert np.sum(mesh.get_array()) == weights[layer].sum()


def test_biases_do_not_matter_to_the_map(axes):
    biased = bf.Network(NETWORK.weights, biases=(np.ones(5), np.ones(1)))
    bare = bf.plots.weights(Figure().subplots(), NETWORK)
    np.testing.assert_array_equal(bf.plots.weights(axes, biased).get_array(), bare.get_array())


def test_the_look_of_a_map_is_the_callers(axes):
    mesh = bf.plots.weights(axes, NETWORK, cmap="PuOr", vmin=-9, vmax=9)
    assert (mesh.get_cmap().name, mesh.get_clim()) == ("PuOr", (-9, 9))
    assert axes.get_title() == "$W_{1}$, colours to ±9"


@pytest.mark.parametrize("layer", [2, -3, 1.0, "1"])
def test_layers_that_are_not_there_are_refused(blank, layer):
    with pytest.raises(ValueError, match="layer must be a whole number from 0 to 1, got"):
        bf.plots.weights(blank, NETWORK, layer=layer)


# directions


def test_neurons_of_the_plane_lie_at_their_weights(axes):
    data = bf.data.six_points()
    w, a = PLANE.weights[0], PLANE.weights[1][0]
    positive, negative = bf.plots.directions(axes, PLANE, data=data)
    assert (positive.get_label(), negative.get_label()) == ("$a_h$$>0$", "$a_h$$<0$")
    np.testing.assert_array_equal(positive.get_offsets(), w[a > 0])
    np.testing.assert_array_equal(negative.get_offsets(), w[a < 0])
    assert len(positive.get_paths()[0]) != len(negative.get_paths()[0])  # signs differ in shape too
    size = np.linalg.norm(w, axis=1) * np.abs(a)
    found = np.concatenate([positive.get_sizes(), negative.get_sizes()])
    expected = 4 + 80 * np.concatenate([size[a > 0], size[a < 0]]) / size.max()
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("$w_{h1}$", "$w_{h2}$")


def test_samples_lie_beneath_by_sign_and_to_scale(axes):
    data = bf.data.six_points()
    bf.plots.directions(axes, PLANE, data=data)
    plus, minus = axes.collections[:2]
    factor = np.abs(PLANE.weights[0]).max() / np.abs(data.x).max()
    np.testing.assert_allclose(plus.get_offsets(), factor * data.x[data.y > 0], rtol=1e-14)
    np.testing.assert_allclose(minus.get_offsets(), factor * data.x[data.y < 0], rtol=1e-14)
    assert f"{factor:.2g}" in plus.get_label()


def test_more_inputs_are_projected_on_beta_and_across(axes):
    artists = bf.plots.directions(axes, NETWORK, data=DATA)
    w, a = NETWORK.weights[0], NETWORK.weights[1][0]
    at = np.concatenate([artist.get_offsets() for artist in artists])
    w = np.concatenate([w[a > 0], w[a < 0]])
    b = DATA.beta / np.linalg.norm(DATA.beta)
    np.testing.assert_allclose(at[:, 0], w @ b, atol=1e-14)
    rest = w - np.outer(w @ b, b)
    # The leading direction across b holds the largest possible share of what is left.
    assert np.linalg.norm(at[:, 1]) == pytest.approx(np.linalg.norm(rest, 2), rel=1e-12)
    assert "β" in axes.get_xlabel()


def test_neurons_along_beta_have_no_other_coordinate(axes):
    network = bf.networks.rank_one(DATA.beta, width=8, scale=1.0)
    at = np.concatenate([artist.get_offsets() for artist in bf.plots.directions(axes, network, data=DATA)])
    np.testing.assert_allclose(at[:, 1], 0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(at[:, 0]), 1, rtol=1e-14)


def test_without_data_the_plane_is_that_of_the_weights(axes):
    at = np.concatenate([artist.get_offsets() for artist in bf.plots.directions(axes, NETWORK)])
    expected = np.linalg.svd(NETWORK.weights[0], compute_uv=False)[:2]
    np.testing.assert_allclose(np.linalg.norm(at, axis=0), expected, rtol=1e-13)
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
    np.testing.assert_array_equal(artist.get_offsets(), np.zeros((4, 2)))


def test_directions_that_are_not_there_are_refused(blank):
    with pytest.raises(ValueError, match="needs two or more layers and two or more inputs, got Network"):
        bf.plots.directions(blank, bf.Network((np.ones((1, 3)),)))
    with pytest.raises(ValueError, match="needs two or more layers and two or more inputs, got Network"):
        bf.plots.directions(blank, bf.networks.gaussian((1, 3, 1), scale=1.0))
    with pytest.raises(ValueError, match="the network takes 2 inputs, but the data are Dataset"):
        bf.plots.directions(blank, PLANE, data=DATA)


# spectra


def test_spectra_are_the_singular_values(axes):
    lines = bf.plots.spectra(axes, NETWORK, relative=False)
    for line, w in zip(lines, NETWORK.weights, strict=True):
        np.testing.assert_allclose(
            line.get_ydata(), np.sqrt(np.linalg.eigvalsh(w @ w.T)[::-1][: min(w.shape)]), rtol=1e-12
        )
    assert axes.get_yscale() == "log"
    assert [line.get_label() for line in lines] == ["$W_{1}$", "$W_{2}$"]


def test_values_that_are_zero_to_rounding_are_clipped_and_marked(axes):
    lines = bf.plots.spectra(axes, DEEP)
    assert [len(line.get_ydata()) for line in lines] == [1, 2, 2, 1]  # Eq. 40: ranks
    assert all(line.get_ydata()[0] == 1 for line in lines)
    clipped = [line for line in axes.lines if line not in lines]
    assert [len(line.get_ydata()) for line in clipped] == [2, 4, 3, 0]
    for line, w in zip(clipped, DEEP.weights, strict=True):
        assert line.get_marker() == "v"
        np.testing.assert_array_equal(line.get_ydata(), max(w.shape) * 2.0**-52)


@pytest.mark.parametrize("relative", [True, False])
def test_a_zero_layer_has_a_spectrum_of_clipped_values(axes, relative):
    lines = bf.plots.spectra(axes, bf.Network((np.zeros((3, 2)), np.ones((1, 3)))), relative=relative)
    assert [len(line.get_ydata()) for line in lines] == [0, 1]


# output_map


def test_the_map_is_f_at_the_middles_of_its_pixels(axes):
    image = bf.plots.output_map(axes, PLANE, extent=2.0, resolution=5)
    shown = np.asarray(image.get_array())
    left, right, bottom, _ = image.get_extent()
    step = (right - left) / 5
    for i, j in ((0, 0), (4, 1), (2, 3)):
        centre = np.array([left + (j + 0.5) * step, bottom + (i + 0.5) * step])
        assert shown[i, j] == pytest.approx(PLANE(centre), rel=1e-12, abs=1e-14)
    assert axes.get_xlim() == axes.get_ylim() == (-2, 2)
    low, high = image.get_clim()
    assert -low == high == np.abs(shown).max()


def test_samples_share_the_colours_of_the_map(axes):
    data = bf.data.six_points()
    image = bf.plots.output_map(axes, lambda x: 0.01 * x[:, 0], data=data, resolution=11)
    assert image.get_clim() == (-1, 1)
    assert axes.get_xlim() == (-1.2, 1.2)
    *_, plus, minus = axes.collections
    np.testing.assert_array_equal(plus.get_offsets(), data.x[data.y > 0])
    np.testing.assert_array_equal(minus.get_array(), data.y[data.y < 0])


def test_samples_keep_to_the_colours_asked_for(axes):
    image = bf.plots.output_map(
        axes, lambda x: 9 * x[:, 0], data=bf.data.six_points(), resolution=11, vmin=-2, vmax=2
    )
    *_, plus, minus = axes.collections
    assert image.get_clim() == plus.get_clim() == minus.get_clim() == (-2, 2)


def test_the_zero_line_is_where_f_changes_sign(axes):
    bf.plots.output_map(axes, lambda x: x[:, 0] - x[:, 1], resolution=11)
    ((contour),) = axes.collections
    (path,) = contour.get_paths()
    np.testing.assert_allclose(path.vertices[:, 0], path.vertices[:, 1], atol=1e-12)


def test_where_f_vanishes_over_an_area_there_is_no_line(axes):
    """Zero but for chance signs on a fifth of the square; the zero line elsewhere stays."""
    rng = np.random.default_rng(0)

    def function(x):
        return np.where(x[:, 0] > 0.6, 1e-9 * rng.normal(size=len(x)), x[:, 1] * (0.6 - x[:, 0]))

    bf.plots.output_map(axes, function, resolution=41)
    (contour,) = axes.collections
    line = np.concatenate([path.vertices for path in contour.get_paths()])
    np.testing.assert_allclose(line[:, 1], 0, atol=1e-12)
    assert line[:, 0].min() == -1
    assert 0.4 < line[:, 0].max() < 0.6


def test_a_function_of_one_sign_has_no_zero_line(axes):
    bf.plots.output_map(axes, lambda x: np.abs(x[:, 0]), resolution=11)
    assert not axes.collections


def test_one_of_several_outputs_is_chosen(axes):
    image = bf.plots.output_map(axes, lambda x: x, output=1, resolution=3)
    np.testing.assert_array_equal(np.asarray(image.get_array())[:, 0], [-1, 0, 1])


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (NETWORK, {}, r"draws functions of two inputs, got Network\(3→5→1"),
        (PLANE, {"data": DATA}, r"draws functions of two inputs, got Dataset\(samples=40, dimensions=3\)"),
        (PLANE, {"extent": np.nan}, "extent must be finite"),
        (PLANE, {"extent": -1}, "extent must be positive"),
        (PLANE, {"resolution": 1}, "resolution must be a whole number of at least 2"),
        (PLANE, {"output": 1}, "output must be from 0 to 0, got 1"),
        (lambda x: x[:, 0] * np.nan, {}, r"f\(x\) must be finite"),
        (lambda x: x[:2], {}, r"f\(x\) must have shape \(samples,\) or \(samples, outputs\)"),
        (DATA, {}, r"a bf.Network or a function of \(samples, dimensions\) is drawn, got Dataset"),
    ],
)  # fmt: skip
def test_maps_that_cannot_be_drawn_are_refused(blank, function, options, message):
    with pytest.raises(ValueError, match=message):
        bf.plots.output_map(blank, function, **options)


# parity and energies


def test_two_layers_leave_the_diagonal_by_their_even_part(axes):
    f, odd = bf.plots.parity(axes, NETWORK, CLOUD)
    w = NETWORK.weights[1][0] @ NETWORK.weights[0] / 2
    np.testing.assert_allclose(f.get_xydata(), np.stack([CLOUD @ w, NETWORK(CLOUD)], axis=1), atol=1e-13)
    np.testing.assert_allclose(odd.get_ydata(), CLOUD @ w, atol=1e-13)


def mixture(x):
    """Linear, odd and even parts whose energies on the samples below are 9, 4 and 1 in 14."""
    return np.stack([3 * x[:, 0] + 2 * x[:, 1] * x[:, 2] * x[:, 0] + x[:, 1] * x[:, 2], x[:, 2]], axis=1)


CUBE = np.array([[a, b, c] for a in (-1.0, 1) for b in (-1, 1) for c in (-1, 1)])


def test_energies_of_a_known_mixture(axes):
    """On the cube the products of coordinates are orthogonal, so the shares are exact."""
    bars = bf.plots.energies(axes, mixture, CUBE)
    heights = np.array([[bar.get_height() for bar in kind] for kind in bars])
    np.testing.assert_allclose(heights, 100 * np.array([[9 / 14, 1], [4 / 14, 0], [1 / 14, 0]]), atol=1e-12)
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
    np.testing.assert_allclose(heights[0], heights[1], atol=1e-10)


def test_many_samples_are_thinned_but_all_are_counted(axes):
    x = np.random.default_rng(1).normal(size=(1003, 3))
    f, odd = bf.plots.parity(axes, NETWORK, x, shown=100)
    assert len(f.get_xdata()) == len(odd.get_xdata()) == 92  # every 11th of 1003
    assert f.get_label() == bf.plots.parity(axes, NETWORK, x)[0].get_label()


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
    with pytest.raises(ValueError, match=r"x must have shape \(samples, dimensions\), got \(3,\)"):
        draw(blank, NETWORK, np.ones(3))
    with pytest.raises(ValueError, match=r"x must have shape \(samples, 3\), got \(4, 2\)"):
        draw(blank, NETWORK, np.ones((4, 2)))
    with pytest.raises(ValueError, match="x must be finite"):
        draw(blank, NETWORK, np.full((4, 3), np.nan))
    with pytest.raises(ValueError, match=r"a bf\.Network or a function"):
        draw(blank, None, CLOUD)


# all of them


@pytest.mark.parametrize("draw", [bf.plots.weights, bf.plots.directions, bf.plots.spectra])
def test_what_is_no_network_is_refused(blank, draw):
    with pytest.raises(ValueError, match=r"network must be a bf.Network, got Trajectory; .*trajectory\[-1\]"):
        draw(blank, run(np.zeros(1), np.ones(1)))


@pytest.mark.parametrize(
    "draw",
    [
        lambda axes, run, _: axes.figure.colorbar(bf.plots.weights(axes, run[-1]), ax=axes),
        lambda axes, run, data: bf.plots.directions(axes, run[-1], data=data),
        lambda axes, run, data: bf.plots.output_map(axes, run[-1], data=data, resolution=31),
        lambda axes, run, _: bf.plots.spectra(axes, run[-1]),
        lambda axes, run, data: bf.plots.parity(axes, run[-1], data.x),
        lambda axes, run, _: bf.plots.loss(axes, run, log_time=True),
    ],
)
def test_a_trained_network_is_drawn_with_a_legend(axes, draw):
    data = bf.data.six_points()
    run = bf.gradient_descent(PLANE, data, step=0.05, steps=200, save_every=20)
    with bf.plots.style():
        draw(axes, run, data)
        if axes.get_legend_handles_labels()[0]:
            axes.legend()


def test_names_are_public_documented_and_light():
    for name in ("loss", "weights", "directions", "spectra", "output_map", "parity", "energies"):
        assert name in bf.plots.__all__
        assert getattr(bf.plots, name).__doc__
    check = "import biasfree as bf; bf.plots.loss\nimport sys\n"
    check += "print([n for n in ('matplotlib', 'scipy', 'jax', 'torch', 'jaxtyping') if n in sys.modules])"
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout.strip()) == (0, "[]"), found.stderr
