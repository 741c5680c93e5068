"""A monitor of a model in training: whether it is still effectively linear."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from biasfree.arrays import generator, positive, real, whole
from biasfree.diagnostics._training_log import CsvLog, check_writer
from biasfree.networks import function_of, is_module
from biasfree.threads import load, one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def residual_share(y: np.ndarray, f: np.ndarray) -> float:
    """The fraction of ⟨y²⟩ that f has not fitted, for the worst output; y and f are (P, K).

    ⟨(y − f)²⟩/⟨y²⟩; for labels ±1 ⟨max(0, 1 − yf)²⟩, so outputs beyond the label count as fitted.
    """
    short = np.maximum(0, 1 - y * f) if np.isin(y, (-1, 1)).all() else y - f
    energy, left = np.mean(y**2, axis=0), np.mean(short**2, axis=0)
    return float(np.max(np.divide(left, energy, out=np.zeros_like(left), where=energy > 0)))


class Reading(NamedTuple):
    """A measurement at one step: N of the worst output, and the fraction of ⟨y²⟩ not fitted.

    For labels 0 … K − 1 and a model of K outputs, `residual` is the share of wrong labels, and N is that of
    the outputs less their mean, which softmax does not see.
    """

    step: int
    nonlinear: float
    residual: float


class LinearityMonitor:
    """Measures, at every call, how linear a model's outputs are, and records when they cease to be linear.

        monitor = bf.diagnostics.LinearityMonitor(model, x, y)
        for step in range(10_000):
            ...  # one step of training
            if step % 100 == 0:
                monitor(step)
        print(monitor)

    N = 1 − R² of the best linear map to the outputs on x, for the worst output; above `threshold` the model
    is not effectively linear. At most `samples` samples, chosen once at random, are used. `history` has all
    readings. `left_at` is the step at which the model ceased to be effectively linear, None while it is or
    before it has been. A call does not change a PyTorch model.

    `csv` names a file to which every reading is appended as a line; `writer` has `add_scalar(name, value,
    step)`, as TensorBoard's. `Trainer(callbacks=[monitor])` of Lightning measures every `every` steps and
    after each validation.

    Training goes on whatever happens: if a measurement fails, the first failure is a warning with its reason,
    the call returns None, and `failures` counts.
    """

    @one_blas_thread
    def __init__(
        self,
        model: Any,
        x: ArrayLike,
        y: ArrayLike,
        *,
        threshold: float = 0.01,
        samples: int = 1000,
        seed: int = 0,
        csv: str | os.PathLike[str] | None = None,
        writer: Any = None,
        every: int = 100,
    ):
        x, y = (real(name, values) for name, values in (("x", x), ("y", y)))
        if len(x) != len(y) or x.ndim < 2:
            raise ValueError(f"x and y must have one row per sample, got shapes {x.shape} and {y.shape}.")
        if not callable(model):
            raise ValueError(f"the model must be a torch.nn.Module or a function of x, got {model!r}.")
        chosen = np.sort(generator(seed).permutation(len(x))[: whole("samples", samples)])
        self.threshold = positive("threshold", threshold)
        self.history: list[Reading] = []
        self.left_at: int | None = None
        self._was_linear = False
        taken: Any = model
        self._function: Callable[[Any], Any] = function_of(taken) if is_module(taken) else taken
        self._x, self._y = x[chosen], y[chosen].reshape(len(chosen), -1)
        self._basis = load("scipy.linalg").orth(self._x.reshape(len(chosen), -1))
        if self._basis.shape[1] == len(chosen):
            raise ValueError(
                f"the {len(chosen)} samples are linearly independent, so every function is linear on them; "
                f"pass more than {len(chosen)} samples, or more than samples={samples}."
            )
        self.failures = 0
        self.every = whole("every", every)
        self._last_step: int | None = None
        self._csv = None if csv is None else CsvLog(csv, Reading._fields)
        self._writer = None if writer is None else check_writer(writer)

    @one_blas_thread
    def __call__(self, step: int) -> Reading | None:
        """Measure the model at this step; the reading is also appended to `history`. None if that fails."""
        reading = self._tried(step, lambda: self._read(step))
        if reading is not None:
            self._tried(step, lambda: self._log(reading))
        return reading

    def _read(self, step: int) -> Reading:
        f = real("the model's outputs", self._function(self._x)).reshape(len(self._x), -1)
        reading = Reading(int(step), self._nonlinear(f), self._residual(f))
        if reading.nonlinear <= self.threshold:
            self._was_linear, self.left_at = True, None
        elif self._was_linear and self.left_at is None:
            self.left_at = reading.step
        self.history.append(reading)
        return reading

    def _log(self, reading: Reading) -> None:
        if self._csv is not None:
            self._csv.append(reading)
        if self._writer is not None:
            self._writer.add_scalar("linearity/nonlinear", reading.nonlinear, reading.step)
            self._writer.add_scalar("linearity/residual", reading.residual, reading.step)

    def _tried(self, step: int, function: Callable[[], Any]) -> Any:
        """What the function returns; if it raises, None, and a warning the first time."""
        try:
            return function()
        except Exception as error:  # whatever it is, the user's training goes on
            self.failures += 1
            if self.failures == 1:
                reason = f"{type(error).__name__}: {str(error).strip() or 'no message'}"
                warnings.warn(
                    f"LinearityMonitor failed at step {step}, and training goes on. {reason} "
                    "Further failures are only counted, in `failures`.",
                    RuntimeWarning,
                    stacklevel=4,
                )
            return None

    def __repr__(self) -> str:
        if not self.history:
            return "LinearityMonitor(not called yet)"
        last, left = self.history[-1], self.left_at
        state = f"effectively linear up to step {last.step}"
        if left is not None:
            state = f"no longer effectively linear since step {left}"
        elif not self._was_linear:
            state = "not effectively linear yet"
        now = f"at step {last.step} N = {last.nonlinear:.2g}, {last.residual:.2g} left to learn"
        return f"LinearityMonitor({state}; {now})"

    def _labeled(self, f: np.ndarray) -> bool:
        """Whether y are labels 0 … K − 1 and f has K columns."""
        if self._y.shape[1] > 1 or f.shape[1] == 1:
            return False
        return bool(np.isin(self._y, np.arange(f.shape[1])).all())

    def _nonlinear(self, f: np.ndarray) -> float:
        if self._labeled(f):
            f = f - f.mean(axis=1, keepdims=True)  # which softmax does not see
        size = np.sum(f**2, axis=0)
        rest = np.sum((f - self._basis @ (self._basis.T @ f)) ** 2, axis=0)
        return float(np.max(np.divide(rest, size, out=np.zeros_like(rest), where=size > 0)))

    def _residual(self, f: np.ndarray) -> float:
        """The part not fitted; for labels 0 … K − 1 and K outputs the share of wrong labels."""
        if self._labeled(f):
            return float(np.mean(f.argmax(axis=1) != self._y[:, 0]))
        if f.shape != self._y.shape:
            raise ValueError(f"the model has {f.shape[1]} outputs, but y has {self._y.shape[1]} per sample.")
        return residual_share(self._y, f)

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
        step = _global_step(trainer)
        if step is not None and step % self.every == 0:
            self._measure(trainer, step)

    def on_validation_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Measure, except in the check before training."""
        if not getattr(trainer, "sanity_checking", False):
            self._measure(trainer, _global_step(trainer))

    def on_train_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Measure the last step."""
        self._measure(trainer, _global_step(trainer))

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


def _global_step(trainer: Any) -> int | None:
    """The number of optimizer steps, None if the trainer does not tell it."""
    step = getattr(trainer, "global_step", None)
    return None if step is None else int(step)
