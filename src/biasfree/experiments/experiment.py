"""What a figure is: settings, a run that gives numbers, the claims it bears on, and its picture."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers = dict[str, np.ndarray]
Report = Callable[[str], None]


@dataclass(frozen=True)
class Setting:
    """A value that a run depends on: its default, what it means, and the check that refuses bad ones."""

    default: Any
    meaning: str
    check: Callable[[str, Any], Any]

    @property
    def written(self) -> str:
        """The default as it would be typed after `--set name=`."""
        return ",".join(map(str, self.default)) if isinstance(self.default, tuple) else str(self.default)

    def read(self, name: str, text: str) -> Any:
        """The value that `text` spells, as Python writes numbers: 500, 1e-8, 0,0.5,1."""
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise ValueError(
                f"cannot read {name}={text!r}; expected {self.meaning}, like {name}={self.written}."
            ) from None
        return self.check(name, value)


@dataclass(frozen=True)
class Claim:
    """A sentence, what was measured for it, and the bound within which it holds.

    `measured` has one value a seed; `bound` one a seed, or one for all, and `origin` says where it comes
    from. `kind` is "ours" for what this package vouches for, "paper" for what a paper says, which is
    reported and decides nothing.
    """

    sentence: str
    source: str
    kind: Literal["ours", "paper"]
    measured: tuple[float, ...]
    bound: tuple[float, ...]
    origin: str
    seeds: tuple[int, ...]

    def __post_init__(self):
        if len(self.measured) != len(self.seeds) or len(self.bound) not in (1, len(self.seeds)):
            raise ValueError(
                f"a claim needs one measured value a seed and one bound a seed or for all: {self}."
            )

    @property
    def held(self) -> tuple[bool, ...]:
        """Whether the measured value is within its bound, for every seed; NaN is not."""
        return tuple(bool(m <= b) for m, b in zip(self.measured, self.bounds, strict=True))

    @property
    def bounds(self) -> tuple[float, ...]:
        """The bound of every seed."""
        return self.bound if len(self.bound) == len(self.seeds) else self.bound * len(self.seeds)

    @property
    def holds(self) -> bool:
        """Whether it holds for every seed."""
        return all(self.held)

    @property
    def verdict(self) -> str:
        """In words: "holds", "does not hold", or for how many seeds it does."""
        if self.holds:
            return "holds"
        return (
            f"holds for {sum(self.held)} of {len(self.held)} seeds" if len(self.held) > 1 else "does not hold"
        )

    def record(self) -> dict[str, Any]:
        """The claim as plain values, for a JSON file."""
        return {**vars(self), "verdict": self.verdict}


@dataclass(frozen=True)
class Experiment:
    """A figure of a paper: `run` gives numbers; `claims` and `draw` read them, also from a file."""

    name: str
    title: str
    settings: Mapping[str, Setting]
    run: Callable[[Mapping[str, Any], Report], Numbers]
    claims: Callable[[Numbers], list[Claim]]
    draw: Callable[[Numbers], Figure]

    def settle(self, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """All settings, the defaults with `changes` applied, every one checked; text is read as a value."""
        settled = {name: setting.default for name, setting in self.settings.items()}
        for name, value in (changes or {}).items():
            if name not in self.settings:
                raise ValueError(f"{self.name} has no setting {name!r}; it has: {', '.join(self.settings)}.")
            setting = self.settings[name]
            settled[name] = (
                setting.read(name, value) if isinstance(value, str) else setting.check(name, value)
            )
        return settled


def silent(_: str) -> None:
    """A report that goes nowhere."""
