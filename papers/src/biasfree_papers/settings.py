"""What a run of a figure is given: settings with defaults, meanings and checks, and a way to report."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree.arrays import real, whole

Check = Callable[[str, Any], Any]
#: Called with a few words on the progress of a run.
Report = Callable[[str], None]


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


def setting(default: Any, meaning: str, check: Check) -> Any:
    """A field of `FigureSettings`: `width: int = setting(100, "a number of neurons", at_least(1))`."""
    return dataclasses.field(default=default, metadata={"setting": Setting(default, meaning, check)})


def at_least(least: int) -> Check:
    """A check for a whole number of at least `least`."""
    return lambda name, value: whole(name, value, at_least=least)


def only(check: Check, holds: Callable[[Any], bool], wanted: str) -> Check:
    """A check of a value for which `holds` is true, too; `wanted` says of what: "NAME must `wanted`"."""

    def checked(name: str, value: Any) -> Any:
        found = check(name, value)
        if not holds(found):
            raise ValueError(f"{name} must {wanted}, got {value!r}.")
        return found

    return checked


@dataclass(frozen=True)
class FigureSettings:
    """Settings of a figure, checked when they are made; every field is a `setting`."""

    def __post_init__(self):
        for name, one in self.described().items():
            object.__setattr__(self, name, one.check(name, getattr(self, name)))

    @classmethod
    def described(cls) -> dict[str, Setting]:
        """The settings by name."""
        return {field.name: field.metadata["setting"] for field in dataclasses.fields(cls)}


@dataclass(frozen=True)
class SeededSettings(FigureSettings):
    """Settings of a figure that is run from several seeds; a subclass says how many: `seeds = seeds(16)`."""

    seed: int = setting(0, "the first seed of the weights", at_least(0))
    seeds: int = setting(1, "a number of seeds of the weights", at_least(1))

    @property
    def all_seeds(self) -> list[int]:
        """The seeds: consecutive numbers."""
        return list(range(self.seed, self.seed + self.seeds))


def seeds(count: int) -> Any:
    """The field `seeds` of `SeededSettings` with another default."""
    return setting(count, "a number of seeds of the weights", at_least(1))


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
