"""The type of a figure: settings, a run that returns numbers, claims on them, and a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from biasfree.tables import Table, as_json
from biasfree.ties import side
from biasfree_papers.settings import FigureSettings, Report

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

#: Kinds of claims, in the order in which they are shown.
KINDS = ("ours", "paper", "observed")
#: The origin of a bound: theory, rounding or probability; the paper's own number, order or sign; a level
#: chosen by us, since the paper gives none; such a level, chosen or kept when results were known.
Basis = Literal["derived", "stated", "chosen", "chosen with runs at hand"]
BASES: tuple[Basis, ...] = get_args(Basis)
#: What a claim of ours tests: theory, which could fail; or code alone, since it is proved for these runs, or
#: for any weights.
Nature = Literal["prediction", "theorem", "identity"]
NATURES: tuple[Nature, ...] = get_args(Nature)
_ROUNDINGS = 4  # of a measured value beside its bound: two of each
#: Claims of one figure that may be headlines.
MOST_HEADLINES = 3
#: The sections of the report, in their order.
PAPER, NEIGHBORS = "The paper", "Its neighbors"
#: Figures of the paper that are missing, named in the report, the README and `biasfree list`.
UNKNOWN = "TMLR Figs. 2 and 7 are not reproduced: their content is not known to us."


@dataclass(frozen=True)
class Claim:
    """A sentence, its measured values, and the bound within which it holds.

    `measured` has one value per seed, or per run, point, leak: `each` names which. `bound` has as many
    values, or one for all. A measured value must be `sense` ("at most" or "at least") its bound; `origin`
    explains the bound, and `basis` classifies it ("derived" for ours, else "chosen" unless given). `seeds`
    are the seeds of the runs.

    `kind` is "ours" for a claim that this package guarantees: if it fails, the command fails. A claim of kind
    "paper" is stated or shown by a paper; one of kind "observed" was measured here and has no derivation.
    Both are reported only. `rebuilt` marks our interpretation of a paper whose text is unavailable or leaves
    it open. `note` explains why a claim does not hold. `quantity` names the measured values; `headline` marks
    up to three claims of a figure that a reader should know.

    `nature` of a claim of ours: a "prediction" leaves something out, which its bound estimates (terms, time,
    chance), so that it could fail; a "theorem" is exact for these runs, and its bound is rounding or the
    simulator's error; an "identity" follows by algebra for any weights. The last two test code.
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
    nature: Nature | None = None
    rebuilt: bool = False
    headline: bool = False
    quantity: str = ""

    def __post_init__(self):
        if self.basis is None:
            object.__setattr__(self, "basis", "derived" if self.kind == "ours" else "chosen")
        for name in ("measured", "bound"):
            object.__setattr__(self, name, tuple(map(float, np.ravel(getattr(self, name)))))
        object.__setattr__(self, "seeds", tuple(map(int, np.ravel(self.seeds))))
        if not self.measured or len(self.bound) not in (1, len(self.measured)):
            raise ValueError(f"a claim needs measured values, and one bound per value or for all: {self}.")
        if self.seeds and self.each == "seeds" and len(self.seeds) != len(self.measured):
            raise ValueError(f"a claim needs its seeds, one per value if values are per seed: {self}.")
        if self.kind == "ours" and self.basis != "derived":
            raise ValueError(f"a claim of ours needs a derived bound; without one it is 'observed': {self}.")
        if (self.nature in NATURES) != (self.kind == "ours"):
            raise ValueError(
                f"a claim of ours, and no other, needs nature={' or '.join(map(repr, NATURES))}: {self}."
            )

    @property
    def bounds(self) -> tuple[float, ...]:
        """The bound of every measured value."""
        return self.bound if len(self.bound) == len(self.measured) else self.bound * len(self.measured)

    @property
    def held(self) -> tuple[bool, ...]:
        """Whether each value is within its bound, to rounding; NaN is not, and no value within infinity."""
        sign = 1 if self.sense == "at most" else -1
        pairs = zip(self.measured, self.bounds, strict=True)
        return tuple(
            side(sign * m, sign * b, terms=_ROUNDINGS) <= 0 and bool(np.isfinite(b)) for m, b in pairs
        )

    @property
    def holds(self) -> bool:
        """Whether the claim holds for every measured value."""
        return all(self.held)

    @property
    def verdict(self) -> str:
        """The verdict in words: "holds", "does not hold", or the number of values for which it holds.

        "holds, to rounding" says that a value differs from its bound by rounding only.
        """
        if self.holds:
            pairs = zip(self.measured, self.bounds, strict=True)
            tied = any(m != b and side(m, b, terms=_ROUNDINGS) == 0 for m, b in pairs)
            return "holds, to rounding" if tied else "holds"
        if len(self.held) == 1:
            return "does not hold"
        return f"holds for {sum(self.held)} of {len(self.held)} {self.each}"

    def record(self) -> dict[str, Any]:
        """The claim as plain values, for a JSON file."""
        return {
            **as_json(vars(self)),
            "held": list(self.held),
            "number of seeds": len(set(self.seeds)),
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Experiment:
    """A figure of a paper: `run` returns numbers; `statements` and `draw` read them, also from a file.

    `caption` explains the picture. `rebuilt` lists the settings that we reconstructed, if any; `deviations`
    the differences from the printed figure and their reasons. `seconds` is the approximate time on one core:
    long figures are started first. `section` is the section of the report. `small` are settings that take
    seconds, for tests and `biasfree run --small`. `modules` are the modules of the figure; a change of that
    of `run` makes numbers stale.
    """

    name: str
    title: str
    caption: str
    section: str
    settings: type[FigureSettings]
    run: Callable[[Any, Report], xarray.Dataset]
    statements: Callable[[xarray.Dataset], list[Claim | Table]]
    draw: Callable[[xarray.Dataset], Figure]
    seconds: float
    small: Mapping[str, Any]
    modules: frozenset[str]
    rebuilt: str = ""
    deviations: tuple[str, ...] = ()

    def compute(self, settings: Mapping[str, Any], report: Report) -> xarray.Dataset:
        """The numbers of a run with all settings given."""
        return self.run(self.settings(**settings), report)

    def claims(self, numbers: xarray.Dataset) -> list[Claim]:
        """The claims on these numbers, each with its seeds."""
        seeds = tuple(int(seed) for seed in numbers.seed) if "seed" in numbers.coords else ()
        found = [one for one in self.statements(numbers) if isinstance(one, Claim)]
        if sum(claim.headline for claim in found) > MOST_HEADLINES:
            raise ValueError(f"{self.name} has over {MOST_HEADLINES} headlines; let the others be details.")
        return [claim if claim.seeds else replace(claim, seeds=seeds) for claim in found]

    def tables(self, numbers: xarray.Dataset) -> list[Table]:
        """The tables of these numbers."""
        return [one for one in self.statements(numbers) if isinstance(one, Table)]

    def settle(self, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """All settings: the defaults with `changes` applied and checked; a string is parsed as a value."""
        described = self.settings.described()
        settled = {name: setting.default for name, setting in described.items()}
        for name, value in (changes or {}).items():
            if name not in described:
                raise ValueError(f"{self.name} has no setting {name!r}; it has: {', '.join(described)}.")
            one = described[name]
            settled[name] = one.read(name, value) if isinstance(value, str) else one.check(name, value)
        return settled


def silent(_: str) -> None:
    """A report function that ignores its text."""
