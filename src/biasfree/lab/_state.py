"""The state of the page: an experiment, as JSON and as the part of an address after #.

A state from outside is never trusted: every value is checked, and a bad one becomes its default with a note.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, quote

from biasfree.data import Dataset, symmetrize
from biasfree.lab._fields import FIELDS
from biasfree.lab._presets import OWN, PRESETS

VERSION = "v1"
#: Most samples before mirroring, the largest |coordinate| or |target|, and the longest address.
MOST_SAMPLES = 100
LARGEST = 50.0
LONGEST = 20_000
#: Most neurons per layer of three layers.
WIDEST_OF_THREE = 100
#: Most steps of a descent.
MOST_STEPS = 2_000_000

Sample = tuple[float, float, float]


@dataclass(frozen=True)
class Experiment:
    """What the page shows: samples (x₁, x₂, y), a network, and how it learns.

    `samples` are None for those of the preset; `depth` is a string, since it is a choice.
    """

    preset: str = "six_points"
    samples: tuple[Sample, ...] | None = None
    delta: float = 0.15
    leak: float = 0.0
    width: int = 100
    scale: float = 1e-3
    seed: int = 0
    horizon: float = 1000.0
    step: float = 0.025
    method: str = "flow"
    loss: str = "square"
    depth: str = "2"
    initial: str = "gaussian"
    mirror: bool = False
    twin: bool = False

    @property
    def own_data(self) -> Dataset:
        """The samples before mirroring."""
        if self.samples is None:
            return PRESETS[self.preset].make(self.delta)
        return Dataset([sample[:2] for sample in self.samples], [sample[2] for sample in self.samples])

    @property
    def data(self) -> Dataset:
        """The samples that the network learns."""
        return symmetrize(self.own_data) if self.mirror else self.own_data

    @property
    def steps(self) -> int:
        """Steps of descent up to the horizon, at least one."""
        return max(1, round(self.horizon / self.step))

    def to_json(self) -> dict[str, Any]:
        """The state for the page, which always gets the samples."""
        data = self.own_data
        samples = [[*map(float, x), float(y)] for x, y in zip(data.x, data.y, strict=True)]
        return asdict(self) | {"samples": samples, "given": self.samples is not None}

    @property
    def fragment(self) -> str:
        """The part of an address after #: the version, the preset, and what differs from it."""
        usual = of_preset(self.preset)
        parts = [VERSION, f"preset={self.preset}"]
        for name in FIELDS:
            if (value := getattr(self, name)) != getattr(usual, name):
                parts.append(f"{name}={int(value) if isinstance(value, bool) else quote(str(value))}")
        if self.samples is not None:
            parts.append("samples=" + ";".join(",".join(map(repr, sample)) for sample in self.samples))
        return "&".join(parts)


def of_preset(name: str) -> Experiment:
    """The experiment of a preset; for the user's own samples, the usual settings."""
    if name == OWN:
        return Experiment(preset=OWN, samples=tuple(_rows(Experiment())))
    return Experiment(preset=name, **PRESETS[name].settings)


def from_fragment(text: str) -> tuple[Experiment, list[str]]:
    """The experiment of an address, or of its part after #, and a note for every value that was replaced."""
    fragment = text.partition("#")[2] if "#" in text else text
    if len(fragment) > LONGEST:
        return Experiment(), [f"The link has more than {LONGEST} characters; the usual experiment is shown."]
    version, _, rest = fragment.partition("&")
    if not fragment:
        return Experiment(), []
    if version != VERSION:
        shown = f"The link is not of version {VERSION}, it begins with {version[:20]!r}"
        return Experiment(), [f"{shown}; the usual experiment is shown."]
    found: dict[str, Any] = dict(parse_qsl(rest, keep_blank_values=True, max_num_fields=40))
    if isinstance(rows := found.get("samples"), str):
        found["samples"] = [row.split(",") for row in rows.split(";")]
    return checked(found)


def checked(found: Mapping[str, Any]) -> tuple[Experiment, list[str]]:
    """The experiment of these values, and a note for every value that was replaced by its default."""
    notes: list[str] = []
    preset = found.get("preset", "six_points")
    if preset not in (*PRESETS, OWN):
        notes.append("The preset of the link is not known; the six points are shown.")
        preset = "six_points"
    usual = of_preset(preset)
    values: dict[str, Any] = {}
    for name in FIELDS:
        if name in found:
            try:
                values[name] = FIELDS[name].read(found[name])
            except ValueError as error:
                default = getattr(usual, name)
                shown = f"{default:g}" if isinstance(default, float) else str(default)
                notes.append(f"{_sentence(str(error))}; {shown} is used.")
    if found.get("samples") is not None:
        try:
            values |= {"samples": _samples(found["samples"]), "preset": OWN}
        except ValueError as error:
            notes.append(f"{_sentence(str(error))}; the samples of the preset are used.")
    return _bounded(replace(usual, **values), notes)


def received(message: Mapping[str, Any], present: Experiment) -> tuple[Experiment, list[str]]:
    """The experiment of a message of the page: a link to open, pasted data, or a state."""
    if "open" in message:
        return from_fragment(str(message["open"]))
    if "csv" in message:
        return from_csv(str(message["csv"]), present)
    state = message.get("state")
    return checked(state if isinstance(state, dict) else {})


def state_answer(experiment: Experiment, notes: list[str]) -> dict[str, Any]:
    """The answer that tells the page its state."""
    state = experiment.to_json()
    fragment = experiment.fragment
    return {"stage": "state", "state": state, "fragment": fragment, "notes": notes}


def greeting() -> dict[str, Any]:
    """What the page needs to know of presets and settings."""
    presets = [{"name": n, "title": p.title, "about": p.about} for n, p in PRESETS.items()]
    return {"stage": "hello", "fields": [field.to_json() for field in FIELDS.values()], "presets": presets}


def from_csv(text: str, present: Experiment) -> tuple[Experiment, list[str]]:
    """The present experiment with samples pasted as rows of x₁, x₂, y; a first row of names is skipped."""
    sample = "\t" if "\t" in text else ";" if ";" in text else ","
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=sample) if any(map(str.strip, row))]
    if rows and not all(_is_number(cell) for cell in rows[0]):
        rows = rows[1:]
    try:
        return replace(present, preset=OWN, samples=_samples(rows)), []
    except ValueError as error:
        return present, [f"{_sentence(str(error))}; the data are unchanged."]


def _samples(rows: Any) -> tuple[Sample, ...]:
    if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_SAMPLES:
        count = len(rows) if isinstance(rows, list) else 0
        raise ValueError(f"there must be 1 to {MOST_SAMPLES} samples, got {count}")
    for i, row in enumerate(rows, 1):
        if not isinstance(row, list | tuple) or len(row) != 3 or not all(map(_is_number, row)):
            raise ValueError(f"sample {i} must be three numbers x₁, x₂, y of size at most {LARGEST:g}")
    if not any(float(x) or float(y) for x, y, _ in rows):
        raise ValueError("one sample at least must differ from the origin")
    return tuple((float(a), float(b), float(y)) for a, b, y in rows)


def _is_number(value: Any) -> bool:
    """Whether a cell is a number of a size that is allowed; NaN is not."""
    if isinstance(value, bool):
        return False
    try:
        return abs(float(value)) <= LARGEST
    except (TypeError, ValueError):
        return False


def _bounded(experiment: Experiment, notes: list[str]) -> tuple[Experiment, list[str]]:
    """The experiment with what depends on two settings put right."""
    changes: dict[str, Any] = {}
    if experiment.depth == "3" and experiment.width > WIDEST_OF_THREE:
        changes["width"] = WIDEST_OF_THREE
        notes.append(f"Three layers have at most {WIDEST_OF_THREE} neurons each; {WIDEST_OF_THREE} are used.")
    if experiment.depth == "3" and experiment.initial in ("opposite", "aligned"):
        changes["initial"] = "gaussian"
        notes.append("These initial weights are of two layers; Gaussian ones are used.")
    if experiment.initial == "opposite" and experiment.width % 2 and "initial" not in changes:
        changes["width"] = experiment.width + 1
        notes.append("Opposite pairs need an even width; one neuron is added.")
    if experiment.method == "descent" and experiment.steps > MOST_STEPS:
        changes["horizon"] = MOST_STEPS * experiment.step
        notes.append(f"A descent has at most {MOST_STEPS} steps; it ends at {changes['horizon']:g}.")
    if experiment.loss == "logistic" and not all(abs(y) == 1 for y in experiment.own_data.y):
        samples = tuple((a, b, 1.0 if y >= 0 else -1.0) for a, b, y in _rows(experiment))
        changes |= {"samples": samples, "preset": OWN}
        notes.append("The logistic loss needs targets −1 and +1; the signs of the targets are used.")
    return replace(experiment, **changes), notes


def _rows(experiment: Experiment) -> list[Sample]:
    data = experiment.own_data
    return [(float(x[0]), float(x[1]), float(y)) for x, y in zip(data.x, data.y, strict=True)]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
