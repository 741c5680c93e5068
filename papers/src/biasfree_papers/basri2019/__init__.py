"""Basri et al. (2019): frequencies on the circle that two bias-free layers can and cannot learn."""

from __future__ import annotations

from typing import Any

from biasfree.arrays import positive, whole
from biasfree_papers.basri2019.numbers import run
from biasfree_papers.basri2019.picture import draw
from biasfree_papers.basri2019.sentences import claims, tables
from biasfree_papers.experiment import NEIGHBORS, Experiment
from biasfree_papers.settings import Setting, at_least, draws, several_whole
from biasfree_papers.shared.opposite_pairs import even_width


def _even(name: str, value: Any) -> int:
    if whole(name, value, at_least=4) % 2:
        raise ValueError(f"{name} must be even, so that every point has its antipode, got {value}.")
    return whole(name, value)


def _frequencies(name: str, value: Any) -> tuple[int, ...]:
    found = several_whole(low=1, least=4)(name, value)
    if found[:4] != (1, 2, 3, 4):
        raise ValueError(f"{name} must begin with 1, 2, 3, 4, whose functions are drawn, got {value!r}.")
    return found


SETTINGS = {
    "frequencies": Setting(
        tuple(range(1, 9)), "frequencies k, four or more, with 1, 2, 3 and 4", _frequencies
    ),
    "points": Setting(40, "an even number of points, more than twice the largest frequency", _even),
    "width": Setting(512, "an even number of neurons of two layers", even_width),
    "scale": Setting(60.0, "the initial norm of a layer, of two layers", positive),
    "step": Setting(7e-4, "the step of descent, of two layers", positive),
    "steps": Setting(1500, "a number of steps of two layers", at_least(2)),
    "deep_width": Setting(64, "an even number of neurons of each hidden layer of three", even_width),
    "deep_scale": Setting(10.0, "the initial norm of a layer, of three layers", positive),
    "deep_step": Setting(0.004, "the step of descent, of three layers", positive),
    "deep_steps": Setting(6000, "a number of steps of three layers", at_least(2)),
    **draws(4),
}

EXPERIMENT = Experiment(
    name="basri2019",
    title="Frequencies on the circle: what two bias-free layers can learn (Basri et al. 2019)",
    caption="(a–d) Targets cos kφ, k = 1 … 4 (grey), and trained networks (lines, with their values at some "
    "samples as markers): two layers without biases (circles), with biases (squares), three layers without "
    "(triangles); first draw. (e) Last loss for all draws, and the least loss that two bias-free layers can "
    "have (bars; it is 0 at k = 1 and even k). (f) Loss over time at k = 3, all draws, and that floor. (g) "
    "Time at which the error is halved: medians and range over draws (markers), of very wide networks of two "
    "layers, derived here (lines; even k, and all k with biases), and fitted exponents p (with biases: two "
    "layers); the times of two and of three layers also differ by their initial norms.",
    settings=SETTINGS,
    small={
        "frequencies": (1, 2, 3, 4),
        "points": 16,
        "width": 8,  # as many as the narrow networks have: one shape less to compile
        "scale": 6,
        "step": 0.05,
        "steps": 200,
        "deep_width": 8,
        "deep_scale": 6,
        "deep_step": 0.05,
        "deep_steps": 200,
        "seeds": 2,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=33,
    rebuilt="All settings: points, widths, initial weights, steps, and what counts as learned. The paper's "
    "are the targets, and which of them the kinds of networks learn.",
    deviations=(
        "Initial weights are large, so that networks stay close to their linearisation and rates are those "
        "of a kernel, and the last hidden neurons come in pairs of opposite outer weights, so that f = 0 at "
        "the start and only the target is learned. From small weights odd nonlinear targets are not learned "
        "by three layers in any time we could wait (Fig. 1 here).",
        "Norms, widths and numbers of steps were chosen with runs at hand, so that all k ≤ 8 are learned in "
        "the time there is. At norm 20 in place of 60 the exponents of two layers were 2.82 and 2.65, "
        "further from those of very wide networks.",
        "Biases start at zero and are trained, also that of the output.",
        "On an odd frequency k ≥ 3 two bias-free layers with f = 0 do not move at all; that the loss has "
        "that floor is shown from other starts too.",
        "The title of the paper says that rates depend on frequency; the exponents here are ours.",
    ),
    section=NEIGHBORS,
)
