"""The square and the logistic loss.

The same code serves NumPy and JAX: `xp` is the array module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np


class Loss(Protocol):
    """A loss ℓ(f, y) of one output and its residual e = −∂ℓ/∂f."""

    name: ClassVar[str]

    def value(self, f: Any, y: Any, xp: Any = np) -> Any: ...

    def residual(self, f: Any, y: Any, xp: Any = np) -> Any: ...

    def check(self, y: Any) -> None: ...


@dataclass(frozen=True)
class Square:
    """ℓ = (y − f)²/2, e = y − f."""

    name: ClassVar[str] = "square"

    def value(self, f, y, xp=np):  # noqa: ARG002
        return (y - f) ** 2 / 2

    def residual(self, f, y, xp=np):  # noqa: ARG002
        return y - f

    def check(self, y) -> None:
        """All finite targets are valid."""


@dataclass(frozen=True)
class Logistic:
    """ℓ = ln(1 + e^{−yf}), e = y/(1 + e^{yf}); the first version of the paper prints e^{+yf} (erratum 1)."""

    name: ClassVar[str] = "logistic"

    def value(self, f, y, xp=np):
        return xp.logaddexp(0.0, -y * f)

    def residual(self, f, y, xp=np):
        return y * xp.exp(-xp.logaddexp(0.0, y * f))

    def check(self, y) -> None:
        if not np.isin(y, (-1.0, 1.0)).all():
            odd = np.asarray(y)[~np.isin(y, (-1.0, 1.0))].flat[0]
            raise ValueError(
                f'loss="logistic" needs labels -1 and +1, got {odd}; relabel y, as 2*y - 1 does for 0 and 1.'
            )


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Square(), Logistic())}


def loss_named(name: str) -> Loss:
    """The loss with this name."""
    if not isinstance(name, str) or name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; choose one of {', '.join(LOSSES)}.")
    return LOSSES[name]
