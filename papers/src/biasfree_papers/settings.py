"""The settings of an experiment: defaults with their meaning, and checks that refuse bad values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree.arrays import real, whole

Check = Callable[[str, Any], Any]


@dataclass(frozen=True)
class Setting:
    """A value on which a run depends: its default, its meaning, and a check that refuses bad values."""

    default: Any
    meaning: str
    check: Check

    @property
    def written(self) -> str:
        """The default as typed after `--set name=`."""
        return ",".join(map(str, self.default)) if isinstance(self.default, tuple) else str(self.default)

    def read(self, name: str, text: str) -> Any:
        """The value of `text`, in Python's notation for numbers: 500, 1e-8, 0,0.5,1."""
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise ValueError(
                f"cannot read {name}={text!r}; expected {self.meaning}, like {name}={self.written}."
            ) from None
        return self.check(name, value)


def at_least(least: int) -> Check:
    """A check for a whole number of at least `least`."""
    return lambda name, value: whole(name, value, at_least=least)


def several(*, low: float = -np.inf, high: float = np.inf, least: int = 1) -> Check:
    """A check for `least` or more numbers from `low` to `high`; returns them sorted, without repeats."""

    def check(name: str, value: Any) -> tuple[float, ...]:
        values = tuple(sorted({*real(name, value).ravel().tolist()}))
        if len(values) < least or values[0] < low or values[-1] > high:
            raise ValueError(
                f"{name} must be {least} or more different numbers from {low:g} to {high:g}, got {value!r}."
            )
        return values

    return check


def several_whole(*, low: int, high: float = np.inf, least: int = 1) -> Check:
    """A check for `least` or more whole numbers from `low` to `high`, like `several`."""
    numbers = several(low=low, high=high, least=least)

    def check(name: str, value: Any) -> tuple[int, ...]:
        found = numbers(name, value)
        if any(v != int(v) for v in found):
            raise ValueError(f"{name} must be whole numbers, got {value!r}.")
        return tuple(map(int, found))

    return check


def draws(seeds: int) -> dict[str, Setting]:
    """The two settings of the seeds of a figure: the first seed, and the number of consecutive seeds."""
    return {
        "seed": Setting(0, "the first seed of the weights", at_least(0)),
        "seeds": Setting(seeds, "a number of draws of the weights", at_least(1)),
    }


def seeds_of(settings: Mapping[str, Any]) -> np.ndarray:
    """The seeds that these settings ask for."""
    return settings["seed"] + np.arange(settings["seeds"])
