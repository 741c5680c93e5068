"""Without JAX: what a plain `pip install .` can do, and what is refused in one sentence."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
#: A process in which none of these packages can be imported.
BLOCKED = """
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jax", "jaxlib", "optax", "jaxtyping"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
import importlib.util
real = importlib.util.find_spec
def absent(name, package=None):
    return None if name.partition(".")[0] in ("jax", "jaxlib", "optax", "jaxtyping") else real(name, package)
importlib.util.find_spec = absent
import numpy as np
import biasfree as bf
data, network = bf.data.six_points(), bf.networks.gaussian((2, 6, 1), scale=0.5, seed=1)
"""


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_quickstart_runs():
    found = re.search(
        r"```python\n(.*?)```.*?```output\n(.*?)```", README.partition("## Quickstart")[2], re.DOTALL
    )
    assert found is not None
    assert printed(found[1]) == found[2]


def test_descents_sharpness_and_the_doctor_need_no_jax():
    said = printed("""
large = bf.networks.gaussian((2, 2**15, 1), scale=1.0, seed=0)
bf.gradient_descent([large, large], data, step=0.01, steps=2)
labeled = bf.Dataset(data.x, np.sign(data.x[:, 0]))
bf.long_descent(network, labeled, horizon=10.0)
bf.sharpness(network, data)
from typer.testing import CliRunner
from biasfree.cli import app
print(CliRunner().invoke(app, ["doctor"]).output)
""")
    assert "JAX is not installed; pip install 'biasfree[jax]' adds optimizers and accelerators" in said
    assert "WRONG" not in said


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("bf.optimize(network, data, None, steps=1)", "bf.optimize"),
        ('bf.gradient_flow(network, data, [1.0], method="steps")', 'a flow by steps (method="steps"'),
    ],
)
def test_what_needs_jax_is_refused(call, what):
    said = printed(f"""
try:
    {call}
except ImportError as error:
    print(error)
""")
    assert said.startswith(what)
    assert said.endswith("needs JAX, which is not installed; run pip install 'biasfree[jax]'.\n")
    assert said.count("\n") == 1
