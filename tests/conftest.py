"""Settings of all tests: EXAMPLES times as many examples per property; compiled programs are kept."""

import os
from typing import Any

import hypothesis
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # as `bf.cache_compilation` has it, before JAX is loaded
import jax

pytest.register_assert_rewrite("edges")  # its assertions show their values, as those of test modules do
#: How many times as many examples property tests try: half in `make test`, or as in `EXAMPLES=10 make test`.
MORE = float(os.environ.get("EXAMPLES", "1"))
_SETTINGS: Any = hypothesis.settings


def _thorough(*args: Any, max_examples: int = 100, **options: Any) -> Any:
    return _SETTINGS(*args, max_examples=max(round(MORE * max_examples), 2), **options)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """For the test modules, which import it while they are collected; hypothesis itself needs its own."""
    if MORE != 1:
        hypothesis.settings = _thorough  # type: ignore[misc, assignment]


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled programs in pytest's cache: most of the time of a test that simulates is compilation."""
    if config.cache is not None:
        jax.config.update("jax_compilation_cache_dir", str(config.cache.mkdir("jax")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


def pytest_collection_finish() -> None:
    hypothesis.settings = _SETTINGS  # type: ignore[misc]
