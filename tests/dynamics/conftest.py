"""Engines and threads that tests of this folder choose, whatever the machine has."""

import jax
import pytest
from numba.core.event import install_recorder

#: What the environment may say of the number of threads.
LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NPROC")


@pytest.fixture
def in_jax(monkeypatch):
    """Descents run in JAX, as they do on an accelerator."""
    monkeypatch.setattr("biasfree.dynamics.descent._gradient_descent.on_accelerator", lambda: True)


@pytest.fixture
def little_memory(monkeypatch):
    """An accelerator has room for four runs of five neurons on eight samples."""
    monkeypatch.setattr("biasfree.dynamics.descent._training._ACTIVATIONS", 4 * 8 * 5)


@pytest.fixture
def use_threads(monkeypatch):
    """Has the calls that follow take this many threads."""

    def use(count):
        monkeypatch.setattr("biasfree.threads.cores", lambda: count)
        for name in LIMITS:
            monkeypatch.delenv(name, raising=False)

    return use


@pytest.fixture
def count_compilations(caplog):
    """Counts the programs, of JAX and of Numba, that a call compiles."""

    def count(call):
        caplog.clear()
        with jax.log_compiles(), install_recorder("numba:compile") as compiled:
            call()
        return len(compiled.buffer) + sum("Compiling" in record.message for record in caplog.records)

    return count
