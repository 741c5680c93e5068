"""Calls that must fail, each with the sentence that it must say."""

from collections.abc import Callable
from typing import Any

import pytest

import biasfree as bf


def invalid(message: str, call: Callable[..., Any], /, *args: Any, **options: Any) -> ValueError:
    """The error of a wrong call, whose message matches a pattern."""
    with pytest.raises(ValueError, match=message) as caught:
        call(*args, **options)
    return caught.value


def refused(message: str, call: Callable[..., Any], /, *args: Any, **options: Any) -> bf.AssumptionError:
    """The error of a call outside the hypotheses, whose message matches a pattern."""
    with pytest.raises(bf.AssumptionError, match=message) as caught:
        call(*args, **options)
    return caught.value
