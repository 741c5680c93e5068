"""The tables of docs/denoiser.md: a convolutional denoiser with and without biases.

    python docs/denoiser.py

Needs scikit-learn and PyTorch, which `make install` installs. Takes half a minute.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits

import biasfree as bf
from inserting import insert

PAGE = Path(__file__).with_suffix(".md")
NOISE = 0.3  # standard deviation, where pixels go from 0 to 1
BRIGHTNESS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)
SEEDS = (0, 1, 2)


def images():
    """The digits of scikit-learn, 8 × 8 pixels from 0 to 1: 1500 to train on, 297 to test on."""
    digits: Any = load_digits()
    every = torch.from_numpy(digits.images[:, None] / 16).float()
    return every[:1500], every[1500:]


def denoiser(*, bias, width=8):
    """Three convolutions of 3 × 3 pixels, ReLU between them."""

    def conv(inputs, outputs):
        return torch.nn.Conv2d(inputs, outputs, 3, padding=1, bias=bias)

    relu = torch.nn.ReLU
    return torch.nn.Sequential(conv(1, width), relu(), conv(width, width), relu(), conv(width, 1))


def trained(clean, *, bias, seed=0, steps=400):
    """A denoiser after Adam on fresh noise."""
    torch.manual_seed(seed)
    model = denoiser(bias=bias)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        batch = clean[torch.randint(len(clean), (32,))]
        optimizer.zero_grad()
        ((model(noisy(batch)) - batch) ** 2).mean().backward()
        optimizer.step()
        schedule.step()
    return model


def noisy(clean, seed=None):
    """The images with noise."""
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    return clean + NOISE * torch.randn(clean.shape, generator=generator)


def left(denoise, seen, clean, c):
    """The noise that is left in pictures c times as bright, as a share of the noise that was there."""
    with torch.no_grad():
        return float(((denoise(c * seen) / c - clean) ** 2).mean() / NOISE**2)


def linear_denoiser(clean):
    """The best linear map from noisy to clean images."""
    x, y = noisy(clean, seed=1).flatten(1), clean.flatten(1)
    best = torch.linalg.lstsq(x, y).solution
    return lambda z: (z.flatten(1) @ best).reshape(z.shape)


def local_defect(model, seen):
    """⟨|f(z) − J(z)z|²⟩/⟨|f(z)|²⟩: 0 if f is, around each picture, the linear map of its Jacobian J."""
    f, slope = (part.detach() for part in torch.func.jvp(model, (seen,), (seen,)))
    return float(((f - slope) ** 2).sum() / (f**2).sum())


def span(values, form="{:.2f}"):
    """The least and the largest value."""
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} … {high}"


def main():
    torch.set_num_threads(1)
    clean, unseen = images()
    seen = noisy(unseen, seed=0)
    models = {bias: [trained(clean, bias=bias, seed=seed) for seed in SEEDS] for bias in (False, True)}
    best = linear_denoiser(clean)
    lines = ["| brightness | best linear map | no biases | biases |", "|---|---|---|---|"]
    for c in BRIGHTNESS:
        shares = [span([left(model, seen, unseen, c) for model in models[bias]]) for bias in (False, True)]
        lines.append(f"| {c:g} | {left(best, seen, unseen, c):.2f} | {' | '.join(shares)} |")
    insert(PAGE, "brightness", "\n".join(lines))
    lines = ["| measured on the noisy test images | no biases | biases |", "|---|---|---|"]
    layers = {b: [bf.diagnostics.layer_linearity(m, seen)[""] for m in models[b]] for b in models}
    local = {b: [local_defect(m, seen) for m in models[b]] for b in models}
    rows = {
        "scale: ⟨\\|f(cz)/c − f(z)\\|²⟩/⟨\\|f\\|²⟩, c = ½ and 2": lambda b: [one.scale for one in layers[b]],
        "local: ⟨\\|f(z) − J(z)z\\|²⟩/⟨\\|f\\|²⟩, J the Jacobian at z": local.__getitem__,
        "N: share of f that the best linear map leaves": lambda b: [one.nonlinear for one in layers[b]],
    }
    for name, values in rows.items():
        cells = [span(np.maximum(values(bias), 0), "{:.2g}") for bias in (False, True)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    insert(PAGE, "equivariance", "\n".join(lines))
    print(PAGE.read_text())


if __name__ == "__main__":
    main()
