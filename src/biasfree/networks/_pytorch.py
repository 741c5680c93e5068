"""Conversion to and from PyTorch, an optional dependency."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import as_array
from biasfree.networks._network import Network

if TYPE_CHECKING:
    import torch

_ACCEPTED = "Sequential, Linear, ReLU, LeakyReLU, Flatten, Identity and Dropout"


def network_of(model: torch.nn.Module) -> Network:
    """The network equal to a PyTorch model in evaluation mode, with weights copied in float64.

    Linear layers must alternate with ReLU or LeakyReLU of one slope, which is the leak; without activations
    the network is linear, leak 1. Flatten, Identity and Dropout are skipped. If only some layers have a bias,
    the others get zeros.
    """
    nn = _torch().nn
    parts = list(_flattened(model, nn))
    linears = [part for part in parts if _is(part, nn.Linear)]
    activations = [part for part in parts if not _is(part, nn.Linear)]
    slopes = [0.0 if _is(part, nn.ReLU) else float(part.negative_slope) for part in activations]
    _check_order(parts, linears, slopes)
    if len(set(slopes)) > 1:
        raise ValueError(f"all activations must have the same slope below 0, got {slopes}.")
    weights = tuple(floating(f"W_{i}", layer.weight) for i, layer in enumerate(linears, 1))
    biases = [layer.bias for layer in linears]
    return Network(weights, leak=slopes[0] if slopes else 1.0, biases=_filled(biases, weights))


def function_of(
    model: torch.nn.Module, pick: Callable[[Any], Any] | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    """The model in evaluation mode as a NumPy function, (samples, …) → (samples, outputs).

    `pick` chooses the outputs from what the model returns, such as a tuple or a dict. A call changes neither
    the model (modes of submodules, parameters, buffers, gradients) nor the state of
    the random generator.
    """
    torch = _torch()

    def function(x: np.ndarray) -> np.ndarray:
        like = next((p for p in (*model.parameters(), *model.buffers()) if p.is_floating_point()), None)
        dtype, device = (torch.float64, "cpu") if like is None else (like.dtype, like.device)
        inputs = torch.from_numpy(np.array(x)).to(device=device, dtype=dtype)
        modes = [(module, module.training) for module in model.modules()]
        with torch.random.fork_rng(), torch.no_grad():
            try:
                model.eval()
                found = model(inputs)
                found = found if pick is None else pick(found)
            finally:
                for module, training in modes:
                    module.training = training
        return as_array("the model's outputs", found).reshape(len(x), -1)

    return function


def is_module(model: Any) -> bool:
    """Whether `model` is a PyTorch module; does not import PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def module_of(network: Network) -> torch.nn.Sequential:
    """The same network as a float64 Sequential of Linear and (Leaky)ReLU; only Linear for leak 1."""
    nn = _torch().nn
    biases = network.biases or [None] * network.depth
    modules = [_linear(w, b) for w, b in zip(network.weights, biases, strict=True)]
    if network.leak == 1:
        return nn.Sequential(*modules)
    between = [nn.LeakyReLU(network.leak) if network.leak else nn.ReLU() for _ in modules[1:]]
    return nn.Sequential(
        *(part for pair in zip(modules, between, strict=False) for part in pair), modules[-1]
    )


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError(
            "PyTorch is needed to convert networks; install it with pip install 'biasfree[torch]'"
        ) from None
    return torch


def _is(module: Any, kind: Any) -> bool:
    """Whether `module` computes what `kind` does: false if it overrides the forward pass."""
    if not isinstance(module, kind) or "forward" in vars(module):
        return False
    return (type(module).forward, type(module).__call__) == (kind.forward, kind.__call__)


def _check_no_hooks(module: Any, nn: Any) -> None:
    """Raise ValueError for forward hooks: they may change inputs, outputs or, as pruning does, weights."""
    hooks = [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]
    everywhere = nn.modules.module
    hooks += [*everywhere._global_forward_hooks.values(), *everywhere._global_forward_pre_hooks.values()]
    if hooks:
        names = ", ".join(getattr(hook, "__name__", type(hook).__name__) for hook in hooks)
        raise ValueError(
            f"a {type(module).__name__} of the model has a forward hook ({names}), so its weights do not "
            "determine its outputs; remove the hook, as torch.nn.utils.prune.remove does, or pass the model "
            "to bf.diagnose, which measures its outputs."
        )


def _flattened(module: Any, nn: Any) -> Iterator[Any]:
    """The Linear and activation modules of a model, in order."""
    if isinstance(module, nn.Module):
        _check_no_hooks(module, nn)
    if _is(module, nn.Sequential):
        for child in module:
            yield from _flattened(child, nn)
    elif any(_is(module, kind) for kind in (nn.Linear, nn.ReLU, nn.LeakyReLU)):
        yield module
    elif not any(_is(module, kind) for kind in (nn.Flatten, nn.Identity, nn.Dropout)):
        raise ValueError(
            f"cannot convert a {type(module).__name__}; allowed are {_ACCEPTED}, also nested. "
            "Put the layers of another model into a torch.nn.Sequential first."
        )


def _check_order(parts: list[Any], linears: list[Any], slopes: list[float]) -> None:
    """Raise ValueError unless activations are between all Linear layers, or none are."""
    is_linear = [part in linears for part in parts]
    alternate = all(a != b for a, b in pairwise(is_linear))
    if linears and (not slopes or (alternate and is_linear[0] and is_linear[-1])):
        return
    raise ValueError(
        "the model must alternate Linear, activation, Linear, …, and start and end with Linear, got "
        f"{', '.join(type(part).__name__ for part in parts) or 'no layers'}."
    )


def _filled(biases: list[Any], weights: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
    if all(b is None for b in biases):
        return None
    return tuple(
        np.zeros(len(w)) if b is None else floating(f"b_{i}", b)
        for i, (b, w) in enumerate(zip(biases, weights, strict=True), 1)
    )


def floating(name: str, tensor: Any) -> np.ndarray:
    """The numbers of a floating-point tensor in float64; raises ValueError for other types.

    Integers may be quantized weights, whose scale is stored elsewhere, and booleans a mask.
    """
    if not tensor.is_floating_point():
        raise ValueError(
            f"{name} must hold floating-point numbers, got {tensor.dtype}; convert it, as .double() does."
        )
    return as_array(name, tensor).astype(np.float64)


def _linear(w: np.ndarray, b: np.ndarray | None) -> Any:
    """A Linear module with these parameters; uses no random numbers."""
    torch = _torch()
    outputs, inputs = w.shape
    layer = torch.nn.utils.skip_init(
        torch.nn.Linear, inputs, outputs, bias=b is not None, dtype=torch.float64
    )
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(w.copy()))
        if b is not None:
            layer.bias.copy_(torch.from_numpy(b.copy()))
    return layer
