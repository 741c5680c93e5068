"""Importing biasfree is light, and its names are there when asked for."""

import subprocess
import sys

import pytest

import biasfree as bf
from biasfree.versions import versions

HEAVY = ("jax", "diffrax", "scipy", "matplotlib", "torch", "jaxtyping")


@pytest.mark.parametrize(
    "statement",
    [
        "import biasfree",
        "import biasfree as bf; bf.data, bf.networks, bf.Dataset, bf.Network, bf.Trajectory",
        "import biasfree as bf; bf.networks.gaussian((2, 3, 1), scale=1)(bf.data.odd_sine(9, 2).x)",
    ],
)
def test_nothing_heavy_is_loaded(statement):
    check = f"{statement}\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr


def test_unknown_names_list_the_known_ones():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'; it has: data, networks"):
        bf.nonsense  # noqa: B018


def test_public_names_of_data_and_networks_exist_and_are_documented():
    for module in (bf.data, bf.networks):
        for name in module.__all__:
            assert getattr(module, name).__doc__, name
    assert set(bf.__all__) <= set(dir(bf))


def test_versions_name_biasfree_python_and_numpy(capsys):
    assert versions()["biasfree"] == bf.__version__
    bf.show_versions()
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("biasfree", "python", "numpy"))
