"""Everything of ours that a function executes is part of its fingerprint."""

import subprocess
import sys

import pytest

#: Calls a function, and prints the modules of ours whose code ran and whether its fingerprint has them.
CALLED = """
import pkgutil, sys, threading
from importlib import import_module
from pathlib import Path
import numpy as np
import biasfree as bf
from biasfree.sweeps._fingerprint import fingerprint

root = Path(bf.__file__).parent
for found in pkgutil.walk_packages(bf.__path__, "biasfree."):  # what only imports execute is not seen below
    import_module(found.name)


def measured(scale, seed):
    data = bf.data.odd_sine(20, 3, seed=seed)
    network = bf.networks.gaussian((3, 50, 1), scale=scale, seed=seed)
    run = bf.gradient_descent(network, data, step=0.1, steps=20)
    flow = bf.theory.reduced_flow(bf.theory.aligned(network, data), data, [0.0, 1.0])
    return {"loss": run.loss[-1], "even": bf.diagnostics.even_fraction(run[-1], data.x), "f": flow.loss[-1]}


called = set()
def watch(frame, event, arg):
    called.add(frame.f_code.co_filename)


known = fingerprint(measured).parts
threading.settrace(watch)
sys.settrace(watch)
try:
    measured(1e-6, 0)
finally:
    sys.settrace(None)
for file in map(Path, called):
    if file.is_relative_to(root) and file.name != "__init__.py":
        module = ".".join(file.relative_to(root.parent).with_suffix("").parts)
        print("known" if f"biasfree module {module}" in known else "unknown", module)
"""


@pytest.mark.slow
def test_everything_that_a_function_executes_is_part_of_its_fingerprint():
    """All but the checks that wrap public functions, which change no number."""
    run = subprocess.run([sys.executable, "-c", CALLED], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = {*run.stdout.splitlines()} - {"unknown biasfree.arguments"}
    assert "known biasfree.networks._initializations" in found
    assert len([line for line in found if line.startswith("known")]) > 10
    assert [line for line in found if line.startswith("unknown")] == []
