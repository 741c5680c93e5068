"""Animations: a page and a moving picture of a run, and what is refused."""

import numpy as np
import pytest

import biasfree as bf
from refusals import invalid


@pytest.fixture(scope="module")
def run():
    network = bf.networks.gaussian((2, 6, 1), scale=0.1, seed=0)
    return bf.gradient_flow(network, bf.data.six_points(), np.linspace(0, 20, 4))


def test_a_page_is_one_file_without_outside_resources(run, tmp_path):
    bf.lab.animate(run, bf.data.six_points(), tmp_path / "a <b>.html")
    text = (tmp_path / "a <b>.html").read_text()
    assert "<title>biasfree: a &lt;b&gt;</title>" in text
    assert "src=" not in text
    assert "href=" not in text
    assert text.count("</script>") == 2  # the answers and the player


def test_a_gif_has_a_picture_per_saved_time(run, tmp_path):
    from PIL import Image

    bf.lab.animate(run, bf.data.six_points(), tmp_path / "run.gif")
    with Image.open(tmp_path / "run.gif") as image:
        assert getattr(image, "n_frames", 1) == len(run)


def test_what_cannot_be_drawn_is_refused(run, tmp_path):
    data = bf.data.six_points()
    invalid(r"must end in .html or .gif, got 'run.mp4'", bf.lab.animate, run, data, tmp_path / "run.mp4")
    with pytest.raises(ValueError, match="needs two inputs and one output, got 3 and 1 in the data"):
        bf.lab.animate(run, bf.data.odd_sine(3, 3), tmp_path / "run.html")
    deep = bf.gradient_flow(bf.networks.gaussian((2, 2, 2, 2, 1), scale=0.5), data, [0, 1])
    with pytest.raises(ValueError, match="needs two or three layers without biases, got 4 layers"):
        bf.lab.animate(deep, data, tmp_path / "run.html")
    measured = bf.gradient_flow(run[0], data, [0, 1], save=lambda network: network.sizes[0])
    invalid("the run has no weights", bf.lab.animate, measured, data, tmp_path / "run.html")
