"""A PyTorch model with hooks on its modules: each call of a module is handed on with its inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a module: its arguments, as they were before the call, and its output.

    `inputs` are the places of the arguments that vary from sample to sample: floating-point tensors with as
    many rows as the first of them. Other arguments, such as a mask, stay as they are.
    """

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: tuple[int | str, ...]
    output: Any

    @property
    def rows(self) -> int:
        """The number of rows of the inputs."""
        return len(self.at(self.inputs[0]))

    def at(self, place: int | str) -> Any:
        """The argument at a place."""
        return self.args[place] if isinstance(place, int) else self.kwargs[place]

    def outputs(self, change: Callable[[Any], Any], rows: int) -> Any:
        """The module's output for its first rows, the inputs changed."""

        def cut(place: int | str, value: Any) -> Any:
            if place in self.inputs:
                return change(value[:rows])
            batched = getattr(value, "ndim", 0) > 0 and len(value) == self.rows
            return value[:rows] if batched else value

        args = [cut(i, value) for i, value in enumerate(self.args)]
        return first_tensor(
            self.module(*args, **{name: cut(name, value) for name, value in self.kwargs.items()})
        )


def watch(model: Any, x: np.ndarray, see: Callable[[Call], None]) -> Counter[Any]:
    """Run the model on x in evaluation mode; `see` is told of the first call of every module.

    Returns how often each module was called, in the order in which their first calls began.

    While `see` runs, it may call modules itself. Hooks are removed and modes restored also if the model
    raises; gradients and the state of the random generator are not touched.
    """
    import torch

    calls: Counter[Any] = Counter()
    open_calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []
    busy = False

    def before(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if busy:
            return
        calls[module] += 1
        if calls[module] == 1:
            # copies: a module that works in place changes its arguments
            copied = tuple(map(_copied, args)), {name: _copied(value) for name, value in kwargs.items()}
            open_calls.append((module, *copied))

    def after(module: Any, _args: Any, _kwargs: Any, output: Any) -> None:
        nonlocal busy
        if busy or not open_calls or open_calls[-1][0] is not module:
            return
        _, args, kwargs = open_calls.pop()
        busy = True
        try:
            see(Call(module, args, kwargs, _inputs(args, kwargs), output))
        finally:
            busy = False

    hooks = []
    with _evaluation(model), torch.random.fork_rng(), torch.no_grad():
        try:
            for module in model.modules():
                hooks.append(module.register_forward_pre_hook(before, with_kwargs=True))
                hooks.append(module.register_forward_hook(after, with_kwargs=True))
            model(_as_given(model, x))
        finally:
            for hook in hooks:
                hook.remove()
    return calls


def first_tensor(output: Any) -> Any:
    """The first floating-point tensor of an output, which may be a tuple, a list or a dict; None if none."""
    import torch

    if isinstance(output, torch.Tensor):
        return output if output.is_floating_point() and output.ndim > 0 else None
    parts = output.values() if isinstance(output, dict) else output
    if not isinstance(output, dict | list | tuple):
        return None
    return next((found for part in parts if (found := first_tensor(part)) is not None), None)


def dtype_of(model: Any) -> Any:
    """The floating-point type of a model's numbers; float64 if it has none."""
    import torch

    numbers = (*model.parameters(), *model.buffers())
    return next((p.dtype for p in numbers if p.is_floating_point()), torch.float64)


@contextmanager
def _evaluation(model: Any) -> Iterator[None]:
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, training in modes:
            module.training = training


def _as_given(model: Any, x: np.ndarray) -> Any:
    """x as a tensor on the model's device: token numbers stay whole, all else takes the model's type."""
    import torch

    like = next(iter((*model.parameters(), *model.buffers())), None)
    tokens = x.dtype.kind in "iu" and any(isinstance(m, torch.nn.Embedding) for m in model.modules())
    dtype = torch.int64 if tokens else dtype_of(model)
    return torch.from_numpy(np.array(x)).to(device="cpu" if like is None else like.device, dtype=dtype)


def _copied(value: Any) -> Any:
    import torch

    return value.clone() if isinstance(value, torch.Tensor) else value


def _inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int | str, ...]:
    given: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    found = [(place, value) for place, value in given if first_tensor(value) is value and value is not None]
    return tuple(place for place, value in found if len(value) == len(found[0][1]))
