"""Settings of all tests: EXAMPLES times as many examples per property, no deadline for any of them; compiled
programs are kept."""

import gc
import os
from typing import Any

import hypothesis
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # as `bf.cache_compilation` has it, before JAX is loaded
pytest.register_assert_rewrite("edges")  # its assertions show their values, as those of test modules do
#: How many times as many examples property tests try: about a third in `make test`; `EXAMPLES=10` sets it.
MORE = float(os.environ.get("EXAMPLES", "1"))
_SETTINGS: Any = hypothesis.settings
# with fewer examples than usual, as in `make test`, the same ones everywhere: what fails there is not chance
_SETTINGS.register_profile(
    "tests", deadline=None, max_examples=max(round(100 * MORE), 2), derandomize=MORE < 1
)
_SETTINGS.load_profile("tests")


def _thorough(*args: Any, max_examples: int = 100, **options: Any) -> Any:
    return _SETTINGS(*args, max_examples=max(round(MORE * max_examples), 2), **options)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """For the test modules, which import it while they are collected; hypothesis itself needs its own."""
    if MORE != 1:
        hypothesis.settings = _thorough  # type: ignore[misc, assignment]


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled programs in pytest's cache: most of the time of a test that simulates is compilation."""
    if config.getoption("numprocesses", None):  # its workers test, and each configures itself
        return
    gc.disable()  # until tests are collected: imports leave little garbage, and a search takes seconds
    if config.cache is not None:
        import jax

        jax.config.update("jax_compilation_cache_dir", str(config.cache.mkdir("jax")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


def pytest_collection_finish() -> None:
    """What is loaded by now stays: searches for garbage that passed over all of it again and again would take
    a tenth of the time of the tests."""
    gc.freeze()
    gc.enable()
    hypothesis.settings = _SETTINGS  # type: ignore[misc]
