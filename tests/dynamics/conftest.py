"""Engines and threads that tests of this folder choose, whatever the machine has."""

import pytest


@pytest.fixture
def in_jax(monkeypatch):
    """Descents run in JAX, as they do on an accelerator."""
    monkeypatch.setattr("biasfree.dynamics.descent._gradient_descent.on_accelerator", lambda: True)


@pytest.fixture
def use_threads(monkeypatch):
    """Has the calls that follow take this many threads."""

    def use(count):
        monkeypatch.setattr("biasfree.threads.cores", lambda: count)
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            monkeypatch.delenv(name, raising=False)

    return use
