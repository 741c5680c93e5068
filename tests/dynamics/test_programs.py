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
from biasfree.dynamics import _programs as programs
from biasfree.dynamics._objective import Form, physics_of, samples_of
from biasfree.dynamics._problem import params_of
from biasfree.dynamics._programs import compiled, float64
from biasfree.dynamics.descent._batches import take_steps
from biasfree.dynamics.flow._by_steps import given_steps


def test_the_programs_used_last_are_kept_and_others_compile_again(monkeypatch):
    monkeypatch.setattr(programs, "MOST", 3)
    traced = []

    @compiled("power")
    def raised(x, power):
        """x to a power."""
        traced.append(x.shape)
        return jnp.sum(x**power)

    users = jax.jit(lambda x: x + 1)
    users(np.ones(3))
    for length in range(1, 7):
        assert raised(np.ones(length), 2) == length
        raised(np.ones(2), 2)
    assert len(raised) == 3
    assert len(traced) == 6  # the second shape, always in use, was compiled once
    raised(np.ones(1), 2)
    assert len(traced) == 7
    raised(np.ones(1), power=3)  # a static argument makes another program, values do not
    raised(np.zeros(1), power=3)
    assert len(traced) == 8
    assert users._cache_size() == 1  # type: ignore[attr-defined]


def test_a_forked_process_refuses_to_simulate():
    """JAX would wait forever in it."""
    data, network = oracles.random_data(4, 2), bf.networks.gaussian((2, 3, 1), scale=1.0)
    programs.check_process()
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
    """Each event program takes about 700 of 65 530 memory maps: about 92 shapes ended in an abort."""
    code = """
import numpy as np, biasfree as bf
data = bf.Dataset(np.random.default_rng(0).normal(size=(4, 2)), [1.0, -1.0, 0.5, 2.0])
for width in range(3, 123):
    bf.gradient_flow(bf.networks.gaussian((2, width, 1), scale=0.3), data, [0, 0.1])
    if width == 33:
        early = sum(1 for _ in open("/proc/self/maps"))
print(sum(1 for _ in open("/proc/self/maps")) - early)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    # once MOST programs are kept, another takes the place of one of about its size
    assert int(done.stdout) < 2000


def test_compiled_programs_hold_no_host_callback():
    """With one, they would never be cached."""
    network, data = bf.networks.gaussian((3, 8, 1), scale=1.0, seed=1), oracles.random_data(30, 3, seed=1)
    form = Form("square", (True, True))
    with float64():
        given = (samples_of(network, data), physics_of(network, 0.0))
        params = params_of(network)
        states, many = (jax.tree.map(lambda a: np.asarray(a)[None], each) for each in (params, given[1]))
        text = take_steps.lower(
            form, states, np.arange(1, 65), given[0], many, 0.1, -np.inf, shared=True
        ).as_text()
        text += given_steps.lower(
            form, params, np.ones(128), np.int64(1), np.int64(1), -np.inf, *given
        ).as_text()
    assert "callback" not in text
