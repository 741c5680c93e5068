"""Compilation ahead of use: programs that one process compiled are found by the next."""

import os
import runpy
import subprocess
import sys
from typing import Any

import jax

import biasfree as bf

CONFIG: Any = jax.config

TRAINING = """
import sys
import numpy as np
import biasfree as bf
import optax
folder = bf.cache_compilation(sys.argv[1])
import jax
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)  # for fast machines too
compiled = []
jax.monitoring.register_event_listener(lambda name, **_: compiled.append(name))
rng = np.random.default_rng(0)
data = bf.Dataset(rng.normal(size=(40, 3)), rng.normal(size=40))
network = bf.networks.gaussian((3, 50, 1), scale=0.1, seed=0)
run = bf.optimize(network, data, optax.adam(0.1), steps=10)
bf.gradient_flow(network, data, [0.1], method="steps")
requests, hits = (sum(word in name for name in compiled) for word in ("compile_requests", "cache_hits"))
print(requests, hits, run.loss[-1].hex())
"""


def train(folder):
    command = [sys.executable, "-c", TRAINING, str(folder)]
    requests, hits, loss = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(requests), int(hits), loss


def test_the_second_process_compiles_nothing(tmp_path):
    """A program that holds a callback to Python would never be stored."""
    first, second = train(tmp_path / "new"), train(tmp_path / "new")
    assert list((tmp_path / "new").iterdir())
    assert first[1] == 0
    assert second[0] == second[1] > 0
    assert first[2] == second[2]


def test_it_is_a_setting_also_once_jax_is_loaded(tmp_path, monkeypatch):
    before = {name: os.environ.get(name) for name in os.environ if name.startswith("JAX_")}
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "said"))
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    was = {name: getattr(CONFIG, name) for name in names}
    try:
        assert bf.cache_compilation() == tmp_path / "said"
        assert CONFIG.jax_compilation_cache_dir == str(tmp_path / "said")
    finally:
        for name, value in was.items():
            jax.config.update(name, value)
        for name in [name for name in os.environ if name.startswith("JAX_") and name not in before]:
            monkeypatch.delenv(name)


def test_the_package_itself_changes_no_setting():
    """Only the command does, and a user who asks for it."""
    was = CONFIG.jax_compilation_cache_dir
    bf.gradient_descent(
        bf.networks.gaussian((2, 3, 1), scale=0.1, seed=0), bf.data.six_points(), step=0.1, steps=2
    )
    assert CONFIG.jax_compilation_cache_dir == was


def test_the_command_compiles_every_native_function():
    """`python -m biasfree.dynamics`, which `make install` runs."""
    runpy.run_module("biasfree.dynamics", run_name="__main__")
    modules = [module for name, module in sys.modules.items() if name.startswith("biasfree.dynamics.")]
    entries = [f for module in modules for f in vars(module).values() if hasattr(f, "signatures")]
    called = {
        f.py_func.__name__: len(f.signatures)
        for f in entries
        if not f.targetoptions.get("no_cpython_wrapper")
    }
    assert len(called) > 10
    assert {name: count for name, count in called.items() if count != 1} == {}  # one signature for all shapes
