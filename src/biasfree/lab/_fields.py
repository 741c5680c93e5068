"""The settings of an experiment: the kind, range and label of each, for checks and for the controls."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from reprlib import repr as brief
from typing import Any


@dataclass(frozen=True)
class Input:
    """One setting: how a value is read, and what the page shows.

    `kind` is "number", "whole", "choice" or "flag". Numbers lie in [`low`, `high`]; a `log` slider moves in
    decades. `choices` are pairs of value and label.
    """

    name: str
    kind: str
    label: str
    about: str
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    choices: tuple[tuple[str, str], ...] = ()

    def read(self, value: Any) -> Any:
        """The value, checked; a ValueError says what is wrong."""
        return getattr(self, f"_{self.kind}")(value)

    def to_json(self) -> dict[str, Any]:
        """For the page."""
        return asdict(self)

    def _number(self, value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not self.low <= number <= self.high:
            raise ValueError(f"{self.label} must lie in [{self.low:g}, {self.high:g}], got {brief(value)}")
        return number

    def _whole(self, value: Any) -> int:
        number = self._number(value)
        if number != int(number):
            raise ValueError(f"{self.label} must be a whole number, got {brief(value)}")
        return int(number)

    def _choice(self, value: Any) -> str:
        known = [name for name, _ in self.choices]
        if value not in known:
            raise ValueError(f"{self.label} must be one of {', '.join(known)}, got {brief(value)}")
        return str(value)

    def _flag(self, value: Any) -> bool:
        flags = {"0": False, "1": True, False: False, True: True}
        if isinstance(value, float) or not isinstance(value, str | bool | int) or value not in flags:
            raise ValueError(f"{self.label} must be 0 or 1, got {brief(value)}")
        return flags[value]


#: All settings but the samples, in the order of the page.
FIELDS = {
    field.name: field
    for field in (
        Input("delta", "number", "δ", "how far the sixth point is moved from its mirror image", 0.0, 0.5),
        Input("leak", "number", "leak α", "slope of the activation below zero: 0 is ReLU, 1 is linear"),
        Input("width", "whole", "width", "neurons per hidden layer", 1, 400),
        Input("scale", "number", "scale γ", "initial norm of a layer", 1e-8, 10.0, log=True),
        Input("seed", "whole", "seed", "of the initial weights", 0, 2**31 - 1),
        Input("horizon", "number", "horizon", "the last time", 0.1, 1e5, log=True),
        Input("step", "number", "step η", "of descent; a flow has none", 1e-4, 10.0, log=True),
        Input(
            "method", "choice", "method", "how the network learns",
            choices=(("flow", "gradient flow"), ("descent", "gradient descent")),
        ),
        Input(
            "loss", "choice", "loss", "what is minimized",
            choices=(("square", "square"), ("logistic", "logistic")),
        ),
        Input("depth", "choice", "layers", "number of layers", choices=(("2", "two"), ("3", "three"))),
        Input(
            "initial", "choice", "weights", "initial weights",
            choices=(
                ("gaussian", "Gaussian"), ("balanced", "balanced"), ("opposite", "opposite pairs"),
                ("aligned", "aligned, rank one"),
            ),
        ),
        Input("mirror", "flag", "mirror", "adds (−x, −y) for every sample (x, y)"),
        Input("twin", "flag", "linear twin", "the linear network of weights √c·W(0), c = (1+α)/2, at its ct"),
    )
}  # fmt: skip
