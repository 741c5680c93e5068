"""The vector drawings of the documents.

    python docs/drawings.py [FOLDER]

writes them into a folder, by default into docs/pictures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from biasfree.files import replacing
from svg import BLUE, GRAY, GREEN, INK, ORANGE, PALE, PURPLE, RED, Drawing, Point

PICTURES = Path(__file__).parent / "pictures"


def hyperplane() -> Drawing:
    """What a neuron does where the slope of its activation changes."""
    made = Drawing(720, 300, "A neuron meets a hyperplane: it crosses, it slides, or the flow is not unique")
    cases: list[tuple[str, list[str], Point, Point, list[Point]]] = [
        (
            "it crosses",
            ["both sides push", "the same way"],
            (18, 24),
            (26, 14),
            [(-62, -82), (0, 0), (56, 30)],
        ),
        (
            "it slides",
            ["both sides push", "toward the hyperplane"],
            (20, 24),
            (16, -24),
            [(-68, -82), (0, 0), (84, 0)],
        ),
        ("a branch point", ["both sides push", "away from it"], (16, -24), (20, 24), [(-78, 0), (0, 0)]),
    ]
    for i, (name, why, above, below, path) in enumerate(cases):
        x, y = 120 + 240 * i, 150
        made.area((x - 100, y - 95), (x + 100, y - 95), (x + 100, y), (x - 100, y), fill=BLUE, opacity=0.08)
        made.line((x - 100, y), (x + 100, y), color=INK, width=2)
        for shift in (-84, 70):
            made.arrow((x + shift, y - 40), (x + shift + above[0], y - 40 + above[1]), color=GRAY)
            made.arrow((x + shift, y + 40), (x + shift + below[0], y + 40 + below[1]), color=GRAY)
        placed = [(x + px, y + py) for px, py in path]
        if name == "a branch point":
            made.line(*placed, color=RED, width=3)
            made.arrow(placed[-1], (x + 44, y - 66), color=RED, width=2)
            made.arrow(placed[-1], (x + 44, y + 66), color=RED, width=2)
        else:
            made.arrow(*placed, color=RED, width=3)
        made.disk(*placed[0], r=5, fill=RED)
        made.text(x, 28, name, bold=True)
        made.lines(x, 268, why)
    made.text(216, 72, "active, w·x > 0", at="end", color=BLUE)
    made.text(216, 240, "inactive, w·x < 0", at="end", color=GRAY)
    made.text(22, 168, "w·x = 0", at="start")
    return made


def loss_split() -> Drawing:
    """A bias-free function of one input: an odd part, which is linear, and an even part."""
    made = Drawing(
        720, 305, "The network is a linear part plus an even part; on a pair of mirror images the losses add"
    )
    up, down = 1.0, 0.3  # the slopes of f above and below zero
    parts = [
        ("network f", lambda x: up * x if x > 0 else down * x, INK),
        ("linear part ℓ", lambda x: (up + down) / 2 * x, BLUE),
        ("even part fₑ", lambda x: (up - down) / 2 * abs(x), RED),
    ]
    target = 0.95
    for i, (name, part, color) in enumerate(parts):
        x, y, scale = 120 + 240 * i, 135, 80.0
        made.line((x - 92, y), (x + 92, y), color=PALE)
        made.line((x, y - 85), (x, y + 80), color=PALE)
        made.line(*[(x + scale * u, y - scale * part(u)) for u in (-1.05, 0.0, 1.05)], color=color, width=3)
        for side in (-0.75, 0.75):
            px, f, goal = x + scale * side, y - scale * part(side), y - scale * target * np.sign(side)
            if i == 1:
                made.arrow((px, f), (px, goal), color=GRAY, width=2)
            if i == 2:
                made.arrow((px, y), (px, f + 3), color=GRAY, width=2)
            if i < 2:
                made.disk(px, goal, r=5, fill="white", edge=INK)
            made.text(px, y + 15 if side > 0 or i == 2 else y - 6, "x" if side > 0 else "−x", color=GRAY)
        made.text(x, 28, name, bold=True, color=color)
    made.text(240, 140, "=", bold=True)
    made.text(480, 140, "+", bold=True)
    made.lines(120, 240, ["samples (circles):", "y(−x) = −y(x)"])
    made.lines(360, 240, ["residual y − ℓ: odd,", "opposite at x and −x"], color=BLUE)
    made.lines(600, 240, ["even,", "equal at x and −x"], color=RED)
    made.text(
        360,
        292,
        "the product of odd and even averages to zero:  L = L of the linear part + ½⟨fₑ²⟩",
        bold=True,
    )
    return made


def linear_twin() -> Drawing:
    """A ReLU network and its twin, and their losses over their own times."""
    made = Drawing(720, 330, "The linear twin: weights times the root of c, time times c, the same function")
    for x, name, color in ((140, "ReLU network, weights W", RED), (580, "linear twin, weights √c·W", BLUE)):
        _network(made, x, color, kinked=color == RED)
        made.text(x, 26, name, bold=True, color=color)
    made.arrow((265, 85), (455, 85), width=2)
    made.lines(360, 54, ["weights × √c", ""])
    made.lines(360, 108, ["c = (1 + leak)/2", "½ for ReLU"], color=GRAY)
    for x, color, speed, label in (
        (40, RED, 0.5, "time t of the network"),
        (480, BLUE, 1.0, "time ct of the twin"),
    ):
        base, top, wide = 290, 195, 200
        made.arrow((x, base), (x + wide, base))
        made.arrow((x, base), (x, top - 8))
        times = np.linspace(0, 12, 61)
        loss = 1 / (1 + np.exp(2 * (speed * times - 3)))
        made.line(
            *[(x + wide * 0.93 * t / 12, base - (base - top) * f) for t, f in zip(times, loss, strict=True)],
            color=color,
            width=3,
        )
        half = x + wide * 0.93 * (3 / speed) / 12
        made.line((half, base), (half, base - (base - top) / 2), color=GRAY, dash="4 3")
        made.disk(half, base - (base - top) / 2, fill=color)
        made.text(x + 6, top - 6, "loss", at="start", color=GRAY)
        made.text(x + wide / 2, base + 20, label)
    made.arrow((265, 240), (455, 240), width=2)
    made.text(360, 228, "time × c")
    made.lines(360, 264, ["at matching times", "the same function"], color=GRAY)
    return made


def _network(made: Drawing, x: float, color: str, *, kinked: bool) -> None:
    """Two inputs, three hidden neurons with their activation, one output."""
    inputs, hidden = [(x - 95, 75.0), (x - 95, 125.0)], [(x, 55.0), (x, 100.0), (x, 145.0)]
    for unit in hidden:
        for one in inputs:
            made.line(one, unit, color=PALE, width=2)
        made.line(unit, (x + 95, 100), color=PALE, width=2)
    for one in (*inputs, (x + 95, 100)):
        made.disk(*one, r=8, fill="white", edge=color)
    for px, py in hidden:
        made.disk(px, py, r=16, fill="white", edge=color)
        bend = [(px - 10, py + 2), (px, py + 2), (px + 9, py - 7)]
        straight = [(px - 9, py + 9), (px + 9, py - 9)]
        made.line(*(bend if kinked else straight), color=color, width=2)


def activation_classes() -> Drawing:
    """Samples that see the same neurons, and what the square loss needs of them."""
    made = Drawing(720, 315, "Samples with one activation pattern form a class; only its moments matter")
    x0, y0, radius = 180, 160, 105
    angles = np.deg2rad([20, 95, 150])  # of the boundaries of three neurons
    colors = (BLUE, GREEN, ORANGE, RED, PURPLE, GRAY)
    rng = np.random.default_rng(0)
    bounds = np.sort(np.concatenate([angles, angles + np.pi]))
    for i in range(6):
        low, high = bounds[i], bounds[(i + 1) % 6] + (2 * np.pi if i == 5 else 0)
        edge = [
            (x0 + radius * np.cos(a), y0 - radius * np.sin(a))
            for a in np.linspace(low + 0.02, high - 0.02, 12)
        ]
        made.area((x0, y0), *edge, fill=colors[i], opacity=0.14)
        for a, r in zip(rng.uniform(low + 0.1, high - 0.1, 7), rng.uniform(0.35, 0.95, 7), strict=True):
            made.disk(
                x0 + radius * r * np.cos(a),
                y0 - radius * r * np.sin(a),
                r=3,
                fill=colors[i],
            )
    for i, a in enumerate(angles):
        far = 1.12 * radius
        dx, dy = far * np.cos(a), far * np.sin(a)
        made.line((x0 - dx, y0 + dy), (x0 + dx, y0 - dy), width=2)
        made.text(x0 + 1.24 * dx, y0 - 1.2 * dy + 5, f"w{'₁₂₃'[i]}·x = 0")
    made.text(x0, 298, "inputs, cut by the kinks of three neurons", color=GRAY)
    made.arrow((325, 165), (385, 165), width=2)
    made.text(420, 50, "neurons on", bold=True, at="start")
    made.text(530, 50, "map", bold=True, at="start")
    made.text(610, 50, "moments", bold=True, at="start")
    for row, (low, high) in enumerate(zip(bounds, [*bounds[1:], bounds[0] + 2 * np.pi], strict=True)):
        middle, y = (low + high) / 2, 80 + 34 * row
        color = colors[row]
        made.disk(405, y - 5, r=6, fill=color)
        for i, a in enumerate(angles):
            on = np.sin(middle - a) > 0
            made.box(422 + 24 * i, y - 15, (18, 18), fill=color if on else "white", edge=color)
        sub = "₁₂₃₄₅₆"[row]
        made.text(530, y, f"M{sub}", at="start")
        made.text(610, y, f"Σ{sub}, β{sub}", at="start")
    made.text(545, 298, "many samples, six linear maps", color=GRAY)
    return made


def sweep() -> Drawing:
    """Two runs of one sweep, with a crash between them, and the store that both share."""
    made = Drawing(
        720, 300, "A sweep survives a crash: finished points are files, and the next run computes the others"
    )
    across, down = 6, 4
    finished, flying = 13, 2
    for x, name in ((30, "first run, until a crash"), (500, "second run, the same call")):
        made.text(x + 95, 28, name, bold=True)
        for i in range(across * down):
            px, py = x + 32 * (i % across), 48 + 32 * (i // across)
            done, open_ = i < finished, finished <= i < finished + flying
            if x == 30:
                made.box(
                    px, py, (26, 26), fill=BLUE if done else "white", edge=BLUE if done or open_ else GRAY
                )
                if open_:
                    made.line((px + 6, py + 6), (px + 20, py + 20), color=RED, width=2.5)
                    made.line((px + 20, py + 6), (px + 6, py + 20), color=RED, width=2.5)
            else:
                made.box(px, py, (26, 26), fill=PALE if done else BLUE, edge=GRAY if done else BLUE)
    made.box(290, 62, (140, 98), fill="white")
    made.area((290, 62), (290, 50), (340, 50), (350, 62), fill=INK)
    made.lines(360, 88, ["store", "one .npz file", "per finished point", "whole or absent"])
    made.arrow((224, 110), (284, 110), color=BLUE, width=2.5)
    made.arrow((434, 110), (492, 110), color=GRAY, width=2.5)
    made.text(254, 98, "writes", color=BLUE)
    made.text(463, 98, "reads", color=GRAY)
    rows = (
        (30, BLUE, BLUE, "finished: stored at once"),
        (30, "white", BLUE, "in flight at the crash: lost"),
        (30, "white", GRAY, "not begun"),
        (420, PALE, GRAY, "in the store: not computed again"),
        (420, BLUE, BLUE, "computed now"),
    )
    for i, (x, fill, edge, words) in enumerate(rows):
        y = 198 + 26 * (i if i < 3 else i - 3)
        made.box(x, y, (18, 18), fill=fill, edge=edge)
        if i == 1:
            made.line((x + 4, y + 4), (x + 14, y + 14), color=RED, width=2)
            made.line((x + 14, y + 4), (x + 4, y + 14), color=RED, width=2)
        made.text(x + 28, y + 14, words, at="start")
    made.text(360, 288, "a crash, Ctrl-C or the end of a job loses only the points in flight", bold=True)
    return made


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    "drawing_hyperplane": hyperplane,
    "drawing_loss_split": loss_split,
    "drawing_linear_twin": linear_twin,
    "drawing_activation_classes": activation_classes,
    "drawing_sweep": sweep,
}


def main(folder: Path) -> None:
    """Write every drawing into a folder."""
    for name, draw in DRAWINGS.items():
        with replacing(folder / f"{name}.svg") as file:
            file.write(draw().svg().encode())
        print(f"{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
