"""A Lightning callback without Lightning: every hook that a trainer may call exists."""

from __future__ import annotations

from typing import Any


class TrainerCallback:
    """Hooks for `Trainer(callbacks=[…])`: a measurement every `every` steps and after each validation.

    Hooks that are not written here do nothing, so that it works with the hooks of any release.
    """

    every: int
    _last_step: int | None = None

    def __call__(self, step: int) -> object:
        """Measure at this step."""
        raise NotImplementedError

    @property
    def state_key(self) -> str:
        """The name under which a trainer would store the state of the callback."""
        return type(self).__name__

    def state_dict(self) -> dict[str, Any]:
        """Nothing is stored in checkpoints."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing is read from checkpoints."""

    def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Measure if the number of steps is a multiple of `every`."""
        step = _step(trainer)
        if step is not None and step % self.every == 0:
            self._measure(trainer, step)

    def on_validation_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Measure, except in the check before training."""
        if not getattr(trainer, "sanity_checking", False):
            self._measure(trainer, _step(trainer))

    def on_train_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Measure the last step."""
        self._measure(trainer, _step(trainer))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_") or name in ("setup", "teardown"):
            return lambda *_args, **_options: None
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    def _measure(self, trainer: Any, step: int | None) -> None:
        """Measure once per step, in the first of several processes only."""
        if step is None or step == self._last_step or not getattr(trainer, "is_global_zero", True):
            return
        self._last_step = step
        self(step)


def _step(trainer: Any) -> int | None:
    """The number of optimizer steps, None if the trainer does not tell it."""
    step = getattr(trainer, "global_step", None)
    return None if step is None else int(step)
