"""Cards of objects in notebooks: valid, escaped, small, with one picture, without Matplotlib."""

import re
import subprocess
import sys
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import floats, integers
from numpy.testing import assert_allclose

import biasfree as bf
from biasfree.cards import card, curve, scatter
from biasfree.trajectory import Stats

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "<script>alert('x')</script> & \"y\""


def large():
    rng = np.random.default_rng(0)
    return bf.Dataset(rng.normal(size=(5000, 30)), rng.normal(size=5000))


def reduced():
    start = bf.networks.rank_one((1.0, 1.0, 0.0), width=4, scale=1e-3)
    return bf.theory.reduced_flow(start, bf.data.odd_sine(n=20, d=3, seed=0), np.linspace(0, 50, 2000))


SIX, SMALL = bf.data.six_points(), bf.networks.gaussian((2, 6, 1), scale=1e-3, seed=0)
#: Every kind of object that has a card, large ones among them.
OBJECTS = {
    "Dataset": large,
    "one input": lambda: bf.Dataset([[1.0], [2.0]], [[1.0, 0.0], [-1.0, 0.0]]),
    "one sample": lambda: bf.Dataset([[1e300, -1e300]], [0.0]),
    "Trajectory": reduced,
    "MapTrajectory": lambda: bf.MapTrajectory(
        [0, 1, np.inf], np.zeros((3, 1, 2)), [2.0, 1.0, 0.5], Stats("linear_flow")
    ),
    "Report": lambda: bf.diagnose(SMALL, SIX),
    "Report of data": lambda: bf.diagnose(data=SIX),
}


@pytest.mark.parametrize("made", OBJECTS.values(), ids=OBJECTS)
def test_a_card_is_valid_small_and_has_one_picture(made):
    text = made()._repr_html_()
    assert len(text.encode()) < 20_000
    root = ElementTree.fromstring(text)
    (picture,) = root.iter(f"{SVG}svg")
    assert (picture.get("role"), bool(picture.findtext(f"{SVG}title"))) == ("img", True)
    for path in picture.iter(f"{SVG}path"):
        numbers = [float(n) for n in re.findall(r"-?\d+\.?\d*", path.get("d", ""))]
        assert np.isfinite(numbers).all()
        assert "nan" not in path.get("d", "")
    for forbidden in ("<script", "href", "url(", "<style", "src="):
        assert forbidden not in text


def test_texts_are_escaped():
    six = bf.data.six_points()
    network = bf.networks.gaussian((2, 3, 1), scale=1.0)
    weights = tuple(w[None] for w in network.weights)
    run = bf.Trajectory([0.0], weights, [1.0], [1.0], leak=0.0, stats=Stats(EVIL, stopped=EVIL))
    evil: Any = (EVIL,)
    found = replace(bf.diagnose(network, six), reasons=evil, notes=evil)
    for one in (run, found):
        text = one._repr_html_()
        assert "<script" not in text
        assert text.count("&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; &quot;y&quot;") == 2
        ElementTree.fromstring(text)


def test_a_card_imports_no_matplotlib():
    code = """
import sys
import biasfree as bf
import numpy as np
bf.data.six_points()._repr_html_()
bf.MapTrajectory([0.0, 1.0], np.zeros((2, 1, 2)), [1.0, 0.5], bf.trajectory.Stats("x"))._repr_html_()
print([name for name in ("matplotlib", "jax", "numba") if name in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout.strip()) == (0, "[]"), found.stderr


def points(picture, i=0):
    """The points of the i-th path of a picture."""
    d = list(ElementTree.fromstring(picture).iter(f"{SVG}path"))[i].get("d", "")
    return np.array([[float(n) for n in pair.split()] for pair in re.findall(r"[ML](\S+ [\d.]+)", d)])


def test_a_curve_falls_from_the_upper_left_to_the_lower_right():
    t, picture = np.linspace(0, 1, 5), curve(np.linspace(0, 1, 5), 1 - np.linspace(0, 1, 5) / 2, "loss")
    assert picture is not None
    assert_allclose(points(picture), np.column_stack([8 + t * 164, 8 + t * 74]), atol=0.051)
    assert "loss over time, 1 to 0.5" in picture


def test_a_curve_over_decades_is_logarithmic():
    picture = curve(np.arange(5.0), 10.0 ** -np.arange(5), "loss")
    assert picture is not None
    assert_allclose(points(picture)[:, 1], 8 + np.arange(5) / 4 * 74, atol=0.051)
    assert "logarithmic" in picture
    assert curve(np.array([np.inf]), np.ones(1), "loss") is None
    limited = curve(np.array([0.0, 1.0, np.inf]), np.array([2.0, 1.5, 1.0]), "loss")
    assert limited is not None
    assert len(points(limited)) == 2


def test_signs_have_colors_and_shapes():
    picture = scatter(np.array([[0.0, 0], [1, 1], [2, 2]]), np.array([3.0, -0.1, 0]), "samples")
    paths = list(ElementTree.fromstring(picture).iter(f"{SVG}path"))
    assert [path.get("stroke-linecap") for path in paths] == ["round", "round", "square"]
    assert len({path.get("stroke") for path in paths}) == 3
    assert_allclose(points(picture), [[8, 82]])
    assert_allclose(points(picture, 2), [[90, 45]])


@settings(max_examples=60)
@given(x=arrays(float, (4, 2), elements=floats(-1e308, 1e308)), n=integers(1, 4))
@example(x=1e308 * np.array([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]), n=4)  # differences overflow
def test_any_numbers_stay_in_the_picture(x, n):
    picture = scatter(x[:n], x[:n, 0], "samples")
    drawn = np.concatenate([points(picture, i) for i in range(picture.count("<path"))])
    assert len(drawn) == n
    assert ((drawn >= [7.9, 7.9]) & (drawn <= [172.1, 82.1])).all()


def test_long_texts_and_lists_are_cut():
    text = card("t" * 10_000, ["l" * 10_000], None, items=["i" * 10_000] * 50)
    assert len(text) < 8_000
    assert "… and 38 more" in text
