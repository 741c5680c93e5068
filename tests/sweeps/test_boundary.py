"""Level lines lie in their brackets; refinement halves what they pass through, and ends the same way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
from biasfree.sweeps._boundary import Averages, crossings, is_logarithmic
from refusals import invalid
from sweeps.test_breaking import calls, stored, swept


def step(x, y, seed):
    """1 where x > y², else 0; two seeds differ by 0.2."""
    return {"side": float(x > y**2) + 0.2 * seed - 0.1, "curve": [x, y]}


def make(folder):
    over = {"x": np.geomspace(1e-4, 1, 5), "y": np.geomspace(1e-2, 1, 4)}
    return bf.sweep(step, over=over, seeds=2, store=folder / "store").run(workers=1, progress=False)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    return make(tmp_path_factory.mktemp("sweep"))


def test_a_boundary_has_its_bracket(ran):
    """Along x the crossing is at y², along y at √x, and each lies between the two points that bracket it."""
    line = ran.boundary("side", level=0.5)
    along_x = line["axis"] == "x"
    assert set(line["axis"].values) == {"x", "y"}
    exact = np.where(along_x, line["y"] ** 2, np.sqrt(line["x"]))
    crossing = np.where(along_x, line["x"], line["y"])
    assert (line["low"] <= exact * (1 + 1e-12)).all()  # rounding of a power
    assert (exact <= line["high"] * (1 + 1e-12)).all()
    assert ((line["low"] < crossing) & (crossing < line["high"])).all()
    assert line.attrs == {"result": "side", "level": 0.5}
    assert ran.boundary("side", level=7.0).sizes["crossing"] == 0


NUMBERS = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0])  # a level that is met at a point, too


@settings(max_examples=50)
@given(st.lists(NUMBERS, min_size=2, max_size=8), NUMBERS, st.floats(1e-7, 1e3), st.booleans())
def test_there_is_one_crossing_per_change_of_side(values, level, first, logarithmic):
    places = {(first * 2.0**i,): value for i, value in enumerate(values)}
    line = crossings(Averages("z", ("x",), {}, {"x": logarithmic}, places, []), level)
    sides = np.array(values) >= level
    assert line.sizes["crossing"] == np.abs(np.diff(sides.astype(int))).sum()
    assert ((line["low"] <= line["x"]) & (line["x"] <= line["high"])).all()


def test_axes_of_powers_are_recognized():
    powers = np.geomspace(1e-6, 1, 7), [1, 10, 100], [1, 100]
    others = np.linspace(1, 2, 5), [1, 2, 3], [1, 2], [5], [0, 1, 10]
    assert [is_logarithmic(tuple(axis)) for axis in (*powers, *others)] == [True] * 3 + [False] * 5


def test_refinement_follows_the_line_and_ends_the_same_way(tmp_path):
    """Brackets are half as wide, and no point far from the line is computed."""
    sweep = make(tmp_path)
    coarse = sweep.boundary("side", level=0.5)
    few = sweep.refine("side", level=0.5, budget=10, workers=1, progress=False).points
    points = sweep.refine("side", level=0.5, budget=70, workers=1, progress=False).points
    assert 40 < few.sizes["point"] <= 50 < points.sizes["point"] <= 110
    fine = sweep.boundary("side", level=0.5)
    assert fine.sizes["crossing"] > coarse.sizes["crossing"]
    width, before = (np.log(line["high"] / line["low"]).min() for line in (fine, coarse))
    assert width < 0.6 * before
    distance = np.log(points["x"]) - 2 * np.log(points["y"])
    cell = np.log(10) + 2 * np.log(100) / 3  # the largest |log x − 2 log y| in a cell that the line crosses
    assert np.abs(distance)[40:].max() <= cell
    for axis, decades in (("x", 1.0), ("y", 2 / 3)):  # of a cell: neighbors are halved at the same value
        eighths = 8 * np.log10(points[axis].values) / decades
        np.testing.assert_allclose(eighths, np.round(eighths), atol=1e-9)
    with pytest.raises(TypeError, match="unexpected keyword argument 'worker'"):
        sweep.refine("side", level=7.0, budget=1, worker=1)
    files = stored(tmp_path)
    again = make(tmp_path).refine("side", level=0.5, budget=70, workers=1, progress=False)
    assert stored(tmp_path) == files
    assert again.points.equals(points)
    assert (sweep.plan().points, sweep.dataset["side"].shape) == (40, (5, 4, 2))
    assert len(sweep.plot("side").axes.collections) == 2  # tiles, and the new points


def test_whole_numbers_stay_whole(tmp_path):
    """Between 2 and 4 there is 3, between 3 and 4 nothing: the refinement ends by itself."""
    sweep = swept(tmp_path, then=lambda width: width > 3, over=[2, 4, 16]).run(workers=1, progress=False)
    sweep.refine("value", level=0.5, budget=1000, workers=1, progress=False)
    assert sorted(width for width, _ in calls(tmp_path)) == [2, 3, 4, 16]
    line = sweep.boundary("value", level=0.5)
    assert (line["low"].item(), line["high"].item()) == (3, 4)


def test_groups_are_refined_as_groups(tmp_path):
    def together(x, seed):
        return {"side": np.multiply.outer(np.greater(x, 0.3), np.ones(len(seed)))}

    sweep = bf.sweep(together, over={"x": [0.0, 0.5, 1.0]}, seeds=3, group="seed", store=tmp_path / "store")
    sweep.run(workers=1, progress=False).refine("side", level=0.5, budget=9, progress=False)
    assert sorted(set(sweep.points["x"].values.tolist())) == [0, 0.25, 0.3125, 0.375, 0.5, 1]
    whole = bf.sweep(together, over={"x": [0.0, 0.5]}, seeds=3, group=("x", "seed"), store=tmp_path / "store")
    whole.run(workers=1, progress=False)
    invalid("takes 'x' whole, so no point can be added", whole.refine, "side", level=0.5, budget=9)


def test_bad_questions_are_answered(ran):
    for name, arguments, message in (
        ("nothing", {}, "there is no result 'nothing'; the results are side, curve"),
        ("curve", {}, "'curve' has to be one real number per point; it has shape"),
        ("side", {"level": np.nan}, "level must be finite"),
        ("side", {"at": {"z": 1}}, "at names 'z', which is no axis"),
        ("side", {"at": {"x": 7}}, "the axis 'x' has no value 7"),
        ("side", {"at": {"x": 1.0, "y": 1.0}}, "no axis of several values is left"),
    ):
        invalid(message, ran.boundary, name, **{"level": 1.0, **arguments})
    invalid("budget must be a whole number of at least 1", ran.refine, "side", level=1, budget=0)


def test_axes_without_order_must_be_chosen(tmp_path):
    over = {"x": [0.0, 1.0], "kind": ["a", "b"]}
    sweep = bf.sweep(lambda x, **_: x, over=over, store=tmp_path / "store").run(workers=1, progress=False)
    invalid(r"'kind' has no order; choose .* by at=\{'kind': …\}", sweep.boundary, "value", level=0.5)
    assert sweep.boundary("value", level=0.5, at={"kind": "b"})["x"].item() == 0.5


def test_pictures_over_one_and_two_axes(ran):
    mesh, curve = ran.plot("side"), ran.plot("side", at={"y": 1.0})
    means = ran.dataset["side"].mean("seed")
    np.testing.assert_allclose(mesh.get_array(), means.values.T, atol=1e-15)
    assert (mesh.axes.get_xlabel(), mesh.axes.get_xscale()) == ("x", "log")
    drawn = np.array(curve[0].get_ydata(), float)
    np.testing.assert_allclose(drawn, means.sel(y=1.0).values, atol=1e-15)
    bars = np.array(curve[2][0].get_segments())[:, :, 1]
    np.testing.assert_allclose(np.diff(bars)[:, 0], 2 * 0.1, atol=1e-12)  # of two values that differ by 0.2
