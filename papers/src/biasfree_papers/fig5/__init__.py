"""[ZSL25] Fig. 5 of TMLR (Fig. 3 of the first version): the structure that layers of deep networks reach."""

from __future__ import annotations

from typing import Any

from biasfree.arrays import positive
from biasfree_papers.experiment import Experiment
from biasfree_papers.fig5.numbers import run
from biasfree_papers.fig5.picture import draw
from biasfree_papers.fig5.sentences import claims, tables
from biasfree_papers.settings import Setting, at_least, draws, several_whole


def _depths(name: str, value: Any) -> tuple[int, ...]:
    depths = several_whole(low=3, high=5)(name, value)
    if 3 not in depths:
        raise ValueError(f"{name} must include 3, the paper's, got {value!r}.")
    return depths


SETTINGS = {
    "depths": Setting((3, 4, 5), "numbers of layers from 3 to 5, 3 among them", _depths),
    "width": Setting(100, "a number of neurons in each hidden layer, 3 or more", at_least(3)),
    "dimensions": Setting(20, "a number of inputs, 3 or more", at_least(3)),
    "samples": Setting(1000, "a number of draws, before their negatives are added", at_least(1)),
    "scale": Setting(1e-2, "the initial norm of a layer of three, a positive number", positive),
    "step": Setting(0.1, "the step of descent, a positive number", positive),
    "epochs": Setting(20_000, "the most steps of descent", at_least(1)),
    "level": Setting(1e-6, "the part of the first loss at which descent stops, a positive number", positive),
    "save_every": Setting(5, "a number of steps between two readings", at_least(1)),
    "scale4": Setting(0.1, "the initial norm of a layer of four, a positive number", positive),
    "scale5": Setting(0.3, "the initial norm of a layer of five, a positive number", positive),
    "flow_width": Setting(16, "the width of networks that are followed by flow, 3 or more", at_least(3)),
    "flow_dimensions": Setting(5, "their number of inputs, 3 or more", at_least(3)),
    "flow_samples": Setting(20, "the draws that they see, before negatives are added", at_least(1)),
    "end": Setting(1e6, "the last time of a flow, a positive number", positive),
    "rtol": Setting(1e-5, "the simulator's tolerance for a step, a positive number", positive),
    "data_seed": Setting(0, "a seed for the data", at_least(0)),
    **draws(3),
}

EXPERIMENT = Experiment(
    name="fig5",
    title="Deep ReLU and linear networks from the same small weights ([ZSL25] TMLR Fig. 5, v1 Fig. 3)",
    caption="(a–c) Layers of the trained three-layer linear network, neurons sorted by sign, blue to red "
    "from minus to plus the number above; (d) their singular values. (e–h) The same of the ReLU network from "
    "the same weights. (i) Loss of both since the plateau, its end t₀ where a hundredth of the loss is gone; "
    "lines: Proposition 12 for the linear network and for each half of the ReLU one (neurons of one sign), "
    "from where it leaves its plateau. (j) The ratio of the final norms of every draw, against √2; crosses: "
    "draws that do not count. (k) Speed u̇ of the whole ReLU network against u along the paths of three, four "
    "and five layers: "
    "Proposition 12 wants equal halves (solid), and from random weights one half escapes after the other "
    "(dashed: its own speed for each). (l) The same for linear networks, and for halves of ReLU networks by "
    "the norm p of their outer weights at half speed; lines: Proposition 12. (m) Share of |W₂|² along what "
    "reaches the layer, [r₁⁺; 0] or [0; r₁⁻] in the ReLU network and r₁ in the linear one, over time; "
    "vertical lines: a tenth of the loss is gone. (n) Rows of W₂ of the ReLU network by their cosines with "
    "both; those that have not grown are near none.",
    settings=SETTINGS,
    small={
        "depths": (3,),
        "width": 12,
        "dimensions": 4,
        "samples": 20,
        "scale": 0.1,
        "epochs": 4000,
        "flow_width": 12,
        "flow_dimensions": 4,
        "flow_samples": 20,
        "seeds": 1,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=60,
    deviations=(
        "The first draw is descended as printed, but only to a loss of a millionth of the first one: what is "
        "left of the 20 000 epochs changes nothing that is shown.",
        "Further draws of three layers, networks of four and five, which the paper does not show, and starts "
        "in the structure follow the exact gradient flow, kink by kink. They have width 16, 5 inputs and 20 "
        "draws of them: a network of the printed size meets too many kinks.",
        "Four and five layers begin with larger weights: a plateau lasts about γ^(2−L), and the second one, "
        "beside the half that has learned, takes steps in proportion to its length.",
        "A flow whose estimated error exceeds 0.001, or that cannot be followed to the end, proves nothing: "
        "it counts as a failure of every claim about it.",
    ),
)
