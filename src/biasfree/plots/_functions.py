"""Plots of the function of a network: over the plane, and against the nearest linear map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Float, positive, real, whole
from biasfree.data import Dataset
from biasfree.networks import Network, function_of, is_module
from biasfree.plots._networks import signed_colors
from biasfree.theory import even_part, odd_part

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

Function = Network | Callable[[np.ndarray], Any]
_FLAT = 1e-4  # fraction of the largest value below which f counts as zero
_SHOWN = 2000  # samples of a parity
KINDS = {"linear": "0.8", "odd, not linear": "#e69f00", "even": "#0072b2"}  # distinct for color-blind readers


@public
def output_map(
    axes: Axes,
    network: Function,
    *,
    data: Dataset | None = None,
    extent: float | None = None,
    resolution: int = 201,
    **look: Any,
) -> AxesImage:
    """Draw f over the square |x₁|, |x₂| ≤ `extent`, red positive and blue negative, with the line f = 0.

    Of several outputs the first is drawn. By default `extent` is 1.2 times the largest coordinate of the
    samples, or 1 without data. Samples are filled with the color of their target on the same scale: circles
    for y > 0, squares for the others. No line is drawn where f vanishes over an area. `network` may be any
    function of (P, 2) arrays.
    """
    _check_plane(network, data)
    reach = 1.2 * np.abs(data.x).max() if data is not None and data.x.any() else 1.0
    extent = positive("extent", reach if extent is None else extent)
    line = np.linspace(-extent, extent, whole("resolution", resolution, at_least=2))
    grid = np.stack(np.meshgrid(line, line), axis=-1)
    f = _values(network, grid.reshape(-1, 2))[:, 0].reshape(grid.shape[:2])
    y = np.zeros(0) if data is None else data.targets[:, 0]
    scale = signed_colors(np.append(f, y))
    edge = extent + (line[1] - line[0]) / 2  # grid points are the centers of pixels
    box = (-edge, edge, -edge, edge)
    image = axes.imshow(f, **{"origin": "lower", "extent": box, "interpolation": "nearest", **scale, **look})
    if f.min() < 0 < f.max():
        axes.contour(line, line, _without_flats(f), levels=[0.0], colors="k", linewidths=0.8)
    if data is not None:
        _draw_samples(axes, data.x, y, image)
    axes.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-extent, extent), ylim=(-extent, extent))
    return image


@public
def parity(axes: Axes, network: Function, x: ArrayLike, **look: Any) -> tuple[Line2D, Line2D]:
    """Draw f(x) and its odd part against the nearest linear map w·x; the labels give shares of the energy.

    w is the least-squares map of the odd part f_o = (f(x) − f(−x))/2 on the samples. Two bias-free layers
    have f_o = w·x, so every deviation from the diagonal is even. The shares are those of ⟨f_o²⟩ + ⟨f_e²⟩
    over all outputs and samples; at most 2000 samples are drawn, evenly spaced in their order. With no more
    samples than inputs, every odd part is linear on them.

    Reference: [ZSL25] Thm. 1 and Corollary 2.
    """
    parts = _parts(network, x)
    step = -(-len(parts.linear) // _SHOWN)
    linear, odd, even = (part[::step].ravel() for part in (parts.linear, parts.odd, parts.even))
    shares = [_percent(share) for share in parts.total]
    axes.axline((0, 0), slope=1, color="0.5", lw=0.8, zorder=1)
    circles = {"ls": "none", "marker": "o", "mfc": "none", "color": KINDS["even"], "alpha": 0.7}
    label = f"$f(x)$: {shares[0]} linear, {shares[2]} even"
    (outputs,) = axes.plot(linear, odd + even, **{**circles, "label": label, **look})
    label = f"odd part: {shares[1]} not linear"
    (odd_outputs,) = axes.plot(linear, odd, ls="none", marker=".", ms=3, color="k", label=label)
    axes.set(xlabel="linear map $w\\cdot x$", ylabel="output $f(x)$")
    return outputs, odd_outputs


@public
def energies(axes: Axes, network: Function, x: ArrayLike, **look: Any) -> tuple[BarContainer, ...]:
    """Draw the linear, odd nonlinear and even shares of the energy of f on the samples, per output.

    ⟨f_o²⟩ + ⟨f_e²⟩ = ⟨(w·x)²⟩ + ⟨(f_o − w·x)²⟩ + ⟨f_e²⟩, in percent, with w as in `parity`. Returns one
    artist per share; the legend is above the bars.
    """
    shares = 100 * _parts(network, x).shares
    at = np.arange(1, len(shares) + 1)
    below = np.zeros(len(shares))
    bars = []
    for share, (kind, color) in zip(shares.T, KINDS.items(), strict=True):
        bar = {"width": 0.6, "bottom": below, "color": color, "label": kind}
        bars.append(axes.bar(at, share, **{**bar, **look}))
        below = below + share
    axes.set(xlabel="output", ylabel="share of energy (%)", ylim=(0, 100), xlim=(0.4, max(len(at), 3) + 0.6))
    axes.set_xticks(at[:: -(-len(at) // 10)])
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1.0, handlelength=1.0)
    return tuple(bars)


@dataclass(frozen=True, eq=False)
class _Parts:
    """The linear map, the odd part and the even part of f on the samples, each (P, K)."""

    linear: Float[np.ndarray, "P K"]
    odd: Float[np.ndarray, "P K"]
    even: Float[np.ndarray, "P K"]

    @property
    def energies(self) -> Float[np.ndarray, "K 3"]:
        """The energies of the linear, the odd nonlinear and the even part, in a common unit."""
        kinds = np.stack([self.linear, self.odd - self.linear, self.even])
        kinds = kinds / (np.abs(kinds).max() or 1.0)  # the squares of tiny values would underflow
        return np.sum(kinds**2, axis=1).T

    @property
    def shares(self) -> Float[np.ndarray, "K 3"]:
        """The shares of the energy of every output; 0 if it vanishes."""
        total = self.energies.sum(axis=1, keepdims=True)
        return self.energies / np.where(total > 0, total, 1.0)

    @property
    def total(self) -> Float[np.ndarray, "3"]:
        """The shares of the total energy of all outputs."""
        return self.energies.sum(axis=0) / (self.energies.sum() or 1.0)


def _parts(function: Function, x: ArrayLike) -> _Parts:
    x = real("x", x)
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"x must have shape (samples, dimensions), got {x.shape}.")
    if isinstance(function, Network):
        odd, even = (part(function, x).reshape(len(x), -1) for part in (odd_part, even_part))
    else:
        there = _values(function, x)
        mirrored = _values(function, -x)
        odd = (there - mirrored) / 2
        even = (there + mirrored) / 2
    return _Parts(x @ np.linalg.lstsq(x, odd, rcond=None)[0], odd, even)


def _values(function: Function, x: np.ndarray) -> Float[np.ndarray, "P K"]:
    taken: Any = function
    f = real("f(x)", (function_of(taken) if is_module(taken) else taken)(x))
    if f.ndim not in (1, 2) or len(f) != len(x) or 0 in f.shape:
        raise ValueError(
            f"f(x) must have shape (samples,) or (samples, outputs), got {f.shape} for {len(x)} samples."
        )
    return f.reshape(len(x), -1)


def _check_plane(network: Function, data: Dataset | None) -> None:
    """Raise ValueError unless network and data have two inputs."""
    inputs = 2 if not isinstance(network, Network) else network.sizes[0]
    if inputs != 2 or (data is not None and data.dimensions != 2):
        raise ValueError(
            f"output_map draws functions of two inputs, got {network if inputs != 2 else data!r}; "
            "for more inputs use plots.directions and plots.parity."
        )


def _without_flats(f: np.ndarray) -> np.ma.MaskedArray:
    """f with a mask where it vanishes on all four corners of a grid cell: contours there are random."""
    zero = np.abs(f) <= _FLAT * np.abs(f).max()
    flat = np.zeros(f.shape, dtype=bool)
    square = zero[1:, 1:] & zero[1:, :-1] & zero[:-1, 1:] & zero[:-1, :-1]
    for rows in (slice(1, None), slice(-1)):
        for columns in (slice(1, None), slice(-1)):
            flat[rows, columns] |= square
    return np.ma.masked_array(f, flat)


def _draw_samples(axes: Axes, x: np.ndarray, y: np.ndarray, image: AxesImage) -> None:
    look: dict[str, Any] = {"s": 22, "edgecolors": "k", "linewidths": 0.8}
    scale: dict[str, Any] = {"cmap": image.get_cmap(), "norm": image.norm}
    for chosen, marker in ((y > 0, "o"), (y <= 0, "s")):
        if chosen.any():
            axes.scatter(x[chosen, 0], x[chosen, 1], c=y[chosen], marker=marker, **look, **scale)


def _percent(share: float) -> str:
    return "0 %" if share == 0 else "< 0.1 %" if share < 5e-4 else f"{100 * share:.1f} %"
