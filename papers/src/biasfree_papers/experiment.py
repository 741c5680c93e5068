"""What a figure is: settings, a run that gives numbers, the claims it bears on, and its picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from biasfree.tables import Table, plain
from biasfree_papers.settings import Setting
from biasfree_papers.types import Numbers, Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Kinds of claims, in the order in which they are shown.
KINDS = ("ours", "paper", "observed")
#: Where a bound comes from: theory, rounding or the law of chance; the paper's own number, order or sign; a
#: level of ours, since the paper gives none; such a level, taken or kept when results were known.
Basis = Literal["derived", "stated", "chosen", "chosen with runs at hand"]
BASES: tuple[Basis, ...] = get_args(Basis)
#: The sections of the report, in their order.
PAPER, NEIGHBORS = "The paper", "Its neighbors"
#: Figures that are not among the experiments, said in the report, the README and `biasfree list`.
UNKNOWN = "TMLR Figs. 2 and 7 are not reproduced: their content is not known to us."


@dataclass(frozen=True)
class Claim:
    """A sentence, what was measured for it, and the bound within which it holds.

    `measured` has one value for each of the `each`: seeds, or runs, points, leaks. `bound` has as many, or
    one for all; the values must be `sense` ("at most" or "at least") their bounds, `origin` says where
    those come from, and `basis` the same in one of four words: "derived" for ours, else "chosen" unless
    given. `seeds` are the seeds that were used. `kind` is "ours" for what this package vouches for;
    "paper" for what a paper says or shows, and "observed" for what we saw and cannot derive, are reported and
    decide nothing. `identity` marks a claim of ours that algebra gives for any weights, trained or not: it
    tests the code, and no run could refute it. `rebuilt` marks a sentence whose meaning is our reading: the
    paper's text is not available, or does not say. `note` is the reason where a sentence does not hold.
    """

    sentence: str
    source: str
    kind: Literal["ours", "paper", "observed"]
    measured: tuple[float, ...]
    bound: tuple[float, ...]
    origin: str
    seeds: tuple[int, ...]
    sense: Literal["at most", "at least"] = "at most"
    each: str = "seeds"
    note: str = ""
    basis: Basis | None = None
    identity: bool = False
    rebuilt: bool = False

    def __post_init__(self):
        if self.basis is None:
            object.__setattr__(self, "basis", "derived" if self.kind == "ours" else "chosen")
        for name in ("measured", "bound"):
            object.__setattr__(self, name, tuple(map(float, np.ravel(getattr(self, name)))))
        object.__setattr__(self, "seeds", tuple(map(int, np.ravel(self.seeds))))
        if not self.measured or len(self.bound) not in (1, len(self.measured)):
            raise ValueError(f"a claim needs a measured value, and a bound for each or one for all: {self}.")
        if not self.seeds or (self.each == "seeds" and len(self.seeds) != len(self.measured)):
            raise ValueError(f"a claim needs its seeds, one for each value if values are of seeds: {self}.")
        if self.kind == "ours" and self.basis != "derived":
            raise ValueError(f"a claim of ours needs a derived bound, or is reported as observed: {self}.")
        if self.identity and self.kind != "ours":
            raise ValueError(f"an identity is a claim of ours: {self}.")

    @property
    def bounds(self) -> tuple[float, ...]:
        """The bound of every measured value."""
        return self.bound if len(self.bound) == len(self.measured) else self.bound * len(self.measured)

    @property
    def held(self) -> tuple[bool, ...]:
        """Whether every value is within its bound: NaN is not, and an infinite bound proves nothing."""
        sign = 1 if self.sense == "at most" else -1
        pairs = zip(self.measured, self.bounds, strict=True)
        return tuple(bool(sign * m <= sign * b) and bool(np.isfinite(b)) for m, b in pairs)

    @property
    def holds(self) -> bool:
        """Whether it holds for every measured value."""
        return all(self.held)

    @property
    def verdict(self) -> str:
        """In words: "holds", "does not hold", or for how many it does."""
        if self.holds:
            return "holds"
        if len(self.held) == 1:
            return "does not hold"
        return f"holds for {sum(self.held)} of {len(self.held)} {self.each}"

    def record(self) -> dict[str, Any]:
        """The claim as plain values, for a JSON file."""
        return {
            **plain(vars(self)),
            "held": list(self.held),
            "number of seeds": len(set(self.seeds)),
            "verdict": self.verdict,
        }


def of_runs(numbers: Numbers, each: str = "runs") -> dict[str, Any]:
    """What a claim with a value for each run, or whatever `each` names, says of its seeds."""
    return {"seeds": tuple(numbers["seeds"]), "each": each}


def no_tables(_: Numbers) -> list[Table]:
    """For a figure whose claims and picture say it all."""
    return []


@dataclass(frozen=True)
class Experiment:
    """A figure of a paper: `run` gives numbers; `claims`, `tables` and `draw` read them, also from a file.

    `caption` says how to read the picture; `rebuilt` what in the setting is our reconstruction, if anything;
    `deviations` where and why the run differs from the print. `seconds` is about what it takes on one core:
    long ones are started first. `section` is the part of the report that it stands in. `small` are settings
    with which it runs in seconds, for tests and `biasfree run --small`.
    """

    name: str
    title: str
    caption: str
    settings: Mapping[str, Setting]
    run: Callable[[Mapping[str, Any], Report], Numbers]
    claims: Callable[[Numbers], list[Claim]]
    draw: Callable[[Numbers], Figure]
    seconds: float
    tables: Callable[[Numbers], list[Table]] = no_tables
    rebuilt: str = ""
    deviations: tuple[str, ...] = ()
    section: Literal["The paper", "Its neighbors"] = PAPER
    small: Mapping[str, Any] = field(default_factory=dict)

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
