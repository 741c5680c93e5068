"""Importing biasfree is fast, its names resolve on first use, and each has one public path."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections import defaultdict

import pytest

import biasfree as bf
from biasfree.versions import versions

HEAVY = ("jax", "numba", "diffrax", "scipy", "matplotlib", "torch", "jaxtyping", "xarray", "distributed")


@pytest.mark.parametrize(
    "statement",
    [
        "import biasfree",
        "import biasfree as bf; bf.data, bf.networks, bf.Dataset, bf.Network, bf.Trajectory",
        "import biasfree as bf; bf.sweep(lambda x: x, over={'x': [1]}, store='absent', version='1').plan()",
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


def public_modules():
    """The modules of the package without an underscore in their path, but not the shortcuts in `biasfree`."""
    for found in pkgutil.walk_packages(bf.__path__, "biasfree."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            yield importlib.import_module(found.name)


def public_objects(module):
    """The functions and classes that a package exports, or that a module defines."""
    for name in getattr(module, "__all__", vars(module)):
        found = inspect.unwrap(value) if callable(value := getattr(module, name)) else value
        own = hasattr(module, "__all__") or getattr(found, "__module__", None) == module.__name__
        if not name.startswith("_") and own and (inspect.isfunction(found) or inspect.isclass(found)):
            yield name, found


def test_an_object_has_one_public_path_and_a_name_one_meaning():
    """Apart from the shortcuts in `biasfree`; helper modules may share names, packages may not."""
    paths, meanings = defaultdict(list), defaultdict(list)
    for module in public_modules():
        for name, found in public_objects(module):
            paths[found].append(f"{module.__name__}.{name}")
            if hasattr(module, "__all__"):
                meanings[name].append(module.__name__)
    assert len(paths) > 200  # the walk saw the whole package
    assert not {names[0]: names for names in paths.values() if len(names) > 1}
    assert not {name: homes for name, homes in meanings.items() if len(homes) > 1}


def test_versions_name_biasfree_python_and_numpy(capsys):
    assert versions()["biasfree"] == bf.__version__
    bf.show_versions()
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("biasfree", "python", "numpy"))
