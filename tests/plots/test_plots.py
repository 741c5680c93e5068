"""All plots: drawn for a trained network, fast to import."""

import subprocess
import sys

import pytest

import biasfree as bf

PLANE = bf.networks.gaussian((2, 6, 1), scale=1.0, seed=1)


@pytest.mark.parametrize(
    "draw",
    [
        lambda axes, run, _: axes.figure.colorbar(bf.plots.weights(axes, run[-1]), ax=axes),
        lambda axes, run, data: bf.plots.directions(axes, run[-1], data=data),
        lambda axes, run, data: bf.plots.output_map(axes, run[-1], data=data, resolution=31),
        lambda axes, run, _: bf.plots.spectra(axes, run[-1]),
        lambda axes, run, data: bf.plots.parity(axes, run[-1], data.x),
        lambda axes, run, _: bf.plots.loss(axes, run, log_time=True),
        lambda axes, run, _: bf.plots.trajectory(axes, run),
        lambda axes, run, data: bf.plots.directions(axes, run, data=data),
    ],
)
def test_a_trained_network_is_drawn_with_a_legend(axes, draw):
    data = bf.data.six_points()
    run = bf.gradient_descent(PLANE, data, step=0.05, steps=200, save_every=20)
    with bf.plots.style():
        draw(axes, run, data)
        if axes.get_legend_handles_labels()[0]:
            axes.legend()


def test_names_are_light():
    check = "import biasfree as bf; bf.plots.loss\nimport sys\n"
    check += "print([n for n in ('matplotlib', 'scipy', 'jax', 'torch', 'jaxtyping') if n in sys.modules])"
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout.strip()) == (0, "[]"), found.stderr
