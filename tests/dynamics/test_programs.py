"""Compiled programs are freed when others take their place, and are not run after a fork."""

import os
import signal
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import biasfree as bf
import oracles
from biasfree.dynamics import _jax as engine
from biasfree.dynamics._jax import compiled


def test_the_programs_used_last_are_kept_and_others_compile_again(monkeypatch):
    monkeypatch.setattr(engine, "MOST", 3)
    traced = []

    @compiled("power")
    def raised(power, x):
        """x to a power."""
        traced.append(x.shape)
        return jnp.sum(x**power)

    users = jax.jit(lambda x: x + 1)
    users(np.ones(3))
    for length in range(1, 7):
        assert raised(2, np.ones(length)) == length
        raised(2, np.ones(2))
    assert len(traced) == 6  # the second shape, always in use, was compiled once
    raised(2, np.ones(1))
    assert len(traced) == 7
    raised(3, np.ones(1))  # a static argument makes another program, values do not
    raised(3, np.zeros(1))
    assert len(traced) == 8
    assert users._cache_size() == 1  # type: ignore[attr-defined]


def test_a_forked_process_refuses_to_simulate():
    """JAX would wait forever in it."""
    data, network = oracles.random_data(4, 2), bf.networks.gaussian((2, 3, 1), scale=1.0)
    bf.optimize(network, data, optax.sgd(0.1), steps=1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            bf.optimize(network, data, optax.sgd(0.1), steps=1)
        except RuntimeError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as said:
        assert 'start it with multiprocessing.get_context("spawn")' in said.read()


@pytest.mark.slow
def test_many_shapes_in_one_process():
    """A program takes about 90 of 65 530 memory maps: without a bound, 700 shapes would end in an abort."""
    code = """
import numpy as np, biasfree as bf, optax
data = bf.Dataset(np.random.default_rng(0).normal(size=(4, 2)), [1.0, -1.0, 0.5, 2.0])
for width in range(3, 83):
    bf.optimize(bf.networks.gaussian((2, width, 1), scale=0.3), data, optax.sgd(0.1), steps=1)
    if width == 33:
        early = sum(1 for _ in open("/proc/self/maps"))
print(sum(1 for _ in open("/proc/self/maps")) - early)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    # once MOST programs are kept, another takes the place of one of about its size; 50 more would take 4500
    assert int(done.stdout) < 1500
