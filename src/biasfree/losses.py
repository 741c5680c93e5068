"""The square, the logistic and the Huber loss.

The same code serves NumPy and JAX: `xp` is the array module. Native code has each loss once more, chosen by
its `code`, in `dynamics/network/_residual.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

#: The numbers by which native code chooses a loss. Stored programs contain them: they never change.
SQUARE = 0
LOGISTIC = 1
HUBER = 2


class Loss(Protocol):
    """A loss ℓ(f, y) of one output and its residual e = −∂ℓ/∂f.

    ℓ(−f, −y) = ℓ(f, y), so that residuals of mirror images are opposite: results for any loss rest on it.
    """

    name: ClassVar[str]
    code: ClassVar[int]

    def value(self, f: Any, y: Any, xp: Any = np) -> Any: ...

    def residual(self, f: Any, y: Any, xp: Any = np) -> Any: ...

    def check(self, y: Any) -> None: ...


@dataclass(frozen=True)
class Square:
    """ℓ = (y − f)²/2, e = y − f."""

    name: ClassVar[str] = "square"
    code: ClassVar[int] = SQUARE

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
    code: ClassVar[int] = LOGISTIC

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


@dataclass(frozen=True)
class Huber:
    """ℓ = √(1 + (y − f)²) − 1, e = (y − f)/√(1 + (y − f)²): the smooth Huber loss of width 1."""

    name: ClassVar[str] = "huber"
    code: ClassVar[int] = HUBER

    def value(self, f, y, xp=np):
        gap = y - f
        return gap * (gap / (1 + xp.hypot(1.0, gap)))  # without cancellation, and no square overflows

    def residual(self, f, y, xp=np):
        return (y - f) / xp.hypot(1.0, y - f)

    def check(self, y) -> None:
        """All finite targets are valid."""


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Square(), Logistic(), Huber())}


def loss_named(name: str) -> Loss:
    """The loss with this name."""
    if not isinstance(name, str) or name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; choose one of {', '.join(LOSSES)}.")
    return LOSSES[name]
