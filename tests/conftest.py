"""Settings of all tests: property tests try EXAMPLES times as many examples."""

import os
from typing import Any

import hypothesis
import pytest

pytest.register_assert_rewrite("edges")  # its assertions show their values, as those of test modules do
#: How many times as many examples property tests try, as in `EXAMPLES=10 make test`.
MORE = int(os.environ.get("EXAMPLES", "1"))
_SETTINGS: Any = hypothesis.settings


def _thorough(*args: Any, max_examples: int = 100, **options: Any) -> Any:
    return _SETTINGS(*args, max_examples=MORE * max_examples, **options)


if MORE > 1:
    hypothesis.settings = _thorough  # for the test modules, which import it while they are collected


def pytest_collection_finish() -> None:
    hypothesis.settings = _SETTINGS
