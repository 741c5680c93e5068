"""Boursier et al. (2022): orthogonal inputs, alignment, two escapes, and the interpolator of least norm."""

from typing import Any

from biasfree.arrays import positive
from biasfree_papers.boursier2022.numbers import run
from biasfree_papers.boursier2022.picture import draw
from biasfree_papers.boursier2022.sentences import claims, tables
from biasfree_papers.experiment import NEIGHBORS, Experiment
from biasfree_papers.settings import Setting, at_least, draws, several


def _scales(name: str, value: Any) -> tuple[float, ...]:
    return several(low=1e-140, high=1e-2, least=2)(name, value)


SETTINGS = {
    "width": Setting(60, "a number of neurons for the pair, the dozen and the five points", at_least(1)),
    "scale": Setting(1e-6, "the initial norm of a layer, a small positive number", positive),
    "scales": Setting((1e-24, 1e-12, 1e-6, 1e-3), "two or more scales from 1e-140 to 0.01", _scales),
    "samples": Setting(12, "a number of orthogonal samples", at_least(2)),
    "draws": Setting(40, "a number of draws of these samples' targets and of weights", at_least(1)),
    "line_scale": Setting(1e-3, "the initial norm of a layer for the five points", positive),
    "lines": Setting(3, "a number of draws for the five points", at_least(1)),
    "dimensions": Setting(150, "a number of inputs of the teacher", at_least(2)),
    "teacher_samples": Setting(75, "a number of samples of the teacher", at_least(2)),
    "teacher_width": Setting(200, "a number of neurons that learn from the teacher", at_least(1)),
    "teacher_end": Setting(100.0, "the last time with the teacher, a positive number", positive),
    "teachers": Setting(6, "a number of draws of the teacher, its data and weights", at_least(1)),
    "rtol": Setting(1e-8, "the simulator's tolerance for a step, a positive number", positive),
    **draws(5),
}

EXPERIMENT = Experiment(
    name="boursier2022",
    title="Orthogonal inputs: two escapes and the interpolator of least norm (Boursier et al. 2022)",
    caption="(a) Two orthogonal points: loss over t/ln(1/γ) from four scales γ (first draw), and the paper's "
    "escapes, 1/|D±| (dotted). (b) Relative error of the escape times against γ: the paper's "
    "ln(1/γ)/|D±| and the one with n± and γ± derived here; medians over draws for the pair (open), and "
    "for draws of a dozen samples that some neuron of either sign covers (filled). (c) Largest angle of "
    "a neuron to its D± half way to the escape, every draw, and √γ (line). (d) The pair at γ = 1e-6: "
    "all neurons at the start, half way to the first escape, between the two and at the end; red "
    "circles have a > 0, blue squares a < 0, radii and areas are |w| and |a||w| on a cube-root scale, "
    "each over its largest, + and − are the samples. Our loss has a ½, so the paper's times are half of "
    "these. (e) The same for five points (x, 1) that are not orthogonal, first draw at γ = 1e-3: at the "
    "start, half way to the first fall of the loss, on the last plateau, and at the end. (f) A dozen "
    "samples: ½|θ|² above that of the shortest interpolator, for draws covered (circles) and not "
    "(squares); some draws are followed over γ (lines). Off the axis of γ stand, side by side, at the "
    "right all draws at γ = 1e-6, at the left the limits γ → 0 of those not covered (crosses). (g) The "
    "five points: f(x) at the end, every draw, and the kinks it has there (ticks). (h) A ReLU teacher "
    "in 150 dimensions: loss of every draw; dashed where a sample has lost all its neurons.",
    settings=SETTINGS,
    small={
        "width": 8,
        "scales": (1e-8, 1e-3),
        "scale": 1e-3,
        "samples": 2,  # the shape of the pair
        "draws": 12,
        "lines": 2,
        "dimensions": 3,
        "teacher_samples": 2,
        "teacher_width": 5,
        "teacher_end": 5.0,
        "teachers": 2,
        "rtol": 1e-6,
        "seeds": 2,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=45,
    rebuilt="of the teacher: Gaussian inputs, unit neurons of alternating signs, γ = 1e-6; width 60 for the "
    "five points; of the dozen samples: targets of alternating signs and sizes from ½ to 1½, γ = 1e-6",
    deviations=(
        "Our loss has a ½ and the paper's has none: times here are twice the paper's.",
        "The dozen samples are ours: a neuron is active on all six of its sign with probability 2⁻⁶, so that "
        "60 neurons cover few draws. Inputs lie along the axes: Gaussian weights know no direction.",
        "Flow is exact through kinks for the pair and the five points; for the dozen, whose kinks are met "
        "once, steps are cut until they are accurate; the teacher is learned by descent in the span "
        "of its inputs; half and an eighth of the step leave the same samples lost.",
        "Five points and teacher are outside the theorem: their largest |cos(x_i, x_j)| is in the table.",
    ),
    section=NEIGHBORS,
)
