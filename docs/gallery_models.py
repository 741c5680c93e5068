"""The models of the gallery: small networks in PyTorch, with and without biases, and their training."""

from itertools import pairwise

import numpy as np
import torch
from torch import nn


class SwiGLU(nn.Module):
    """The block W₃(silu(W₁x) ⊙ W₂x) of many language models."""

    def __init__(self, inputs, outputs, *, bias, width=32):
        super().__init__()
        self.gate, self.up = nn.Linear(inputs, width, bias=bias), nn.Linear(inputs, width, bias=bias)
        self.down = nn.Linear(width, outputs, bias=bias)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Transformer(nn.Module):
    """One layer of attention with one head, on tokens; the mean over tokens gives the classes."""

    def __init__(self, inputs, outputs, *, bias, tokens=4, width=24):
        super().__init__()
        self.tokens = tokens
        self.embed = nn.Linear(inputs // tokens, width, bias=bias)
        self.place = nn.Parameter(0.3 * torch.randn(tokens, width))
        self.layer = nn.TransformerEncoderLayer(
            width, 1, width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True, bias=bias
        )
        self.head = nn.Linear(width, outputs, bias=bias)

    def forward(self, x):
        x = self.embed(x.reshape(len(x), self.tokens, -1)) + self.place
        return self.head(self.layer(x).mean(dim=1))


def mlp(inputs, outputs, *, bias, width=50, depth=2, act=nn.ReLU):
    """Fully connected layers with an activation between them."""
    sizes = [inputs, *[width] * (depth - 1), outputs]
    parts = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b, bias=bias), act())]
    return nn.Sequential(*parts[:-1])


def normed(inputs, outputs, *, bias, width=50):
    """Two layers with BatchNorm and GELU between them."""
    return nn.Sequential(
        nn.Linear(inputs, width, bias=bias),
        nn.BatchNorm1d(width, affine=bias),
        nn.GELU(),
        nn.Linear(width, outputs, bias=bias),
    )


def cnn(_inputs, _outputs, *, bias, width=8):
    """Three convolutions from an image to an image."""
    convs = [nn.Conv2d(a, b, 3, padding=1, bias=bias) for a, b in ((1, width), (width, width), (width, 1))]
    return nn.Sequential(convs[0], nn.ReLU(), convs[1], nn.ReLU(), convs[2])


def classifier(_inputs, outputs, *, bias):
    """One convolution, ReLU and a linear layer from images of 8 × 8 pixels to classes."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 4, 3, bias=bias),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(144, outputs, bias=bias),
    )


def train(model, x, y, *, classes, steps=300, lr=1e-2, decay=1e-3, small=1.0, batch=None):
    """AdamW, with cross entropy for classes and squares for numbers.

    `small` scales the initial weights; `batch` is the number of samples per step, by default all.
    """
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(small)
    x = torch.from_numpy(np.array(x)).float()
    y = torch.from_numpy(np.array(y)).long() if classes else torch.from_numpy(np.array(y)).float()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        optimizer.zero_grad()
        chosen = slice(None) if batch is None else torch.randint(len(x), (batch,))
        f, wanted = model(x[chosen]), y[chosen]
        if classes:
            loss = nn.functional.cross_entropy(f, wanted)
        else:
            loss = ((f.reshape(wanted.shape) - wanted) ** 2).mean()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()
