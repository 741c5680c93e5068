"""The largest normalized margin of two layers on symmetric data: that of the hard-margin classifier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biasfree.arguments import public
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import LABELS, MIRROR, SETTING, Hypothesis, check, result
from biasfree.theory.hypotheses._symmetry_defect import unmirrored_share
from biasfree.theory.limits._max_margin import SEPARABLE, max_margin


@public
@result("no two-layer network has a larger margin than the hard-margin classifier", lambda: ASSUMES)
def largest_margin(data: Dataset, *, leak: float = 0.0, **tolerances: float) -> float:
    """The largest min y f(x)/|θ|², |θ|² = |W₁|² + |W₂|², over all two-layer networks of one leak.

    c/(2|w*|), c = (1+α)/2 and w* of `max_margin`: one of x and −x has y f = yℓ(x) − |f_e(x)| ≤ yℓ(x), ℓ the
    linear part cW₂W₁x, whose margin is at most |cW₂W₁|/|w*| ≤ c|θ|²/(2|w*|). The network with map w* attains
    it: `bf.networks.rank_one(w, width=…, scale=bf.theory.final_norm(w, leak=α), leak=α)`. Networks whose
    second layer has one sign have at most 2α/(1+α) of it, since a_hσ(w_h·x) ≥ αa_h w_h·x for a_h ≥ 0 lowers
    the margin of samples y = −1. A ReLU network of one sign separates no symmetric data.

    Assumes: a mirror image (−x, −y) for every sample, unless α = 1 (mirror_tolerance=0, a share of them);
    labels −1 and +1; separable by a plane through the origin. Any width above one.
    Reference: derived here from [ZSL25] Thm. 1; Lyu et al. (2021) have the limit of training.
    """
    any_network = Network((np.zeros((1, data.dimensions)), np.zeros((data.outputs, 1))), leak=leak)
    check(ASSUMES, any_network, data, tolerances)
    return (1 + leak) / 4 * max_margin(data).margin


def _unmirrored(network: Network, data: Dataset) -> float:
    """The share of different samples without their mirror image: how often one occurs changes no margin."""
    if network.leak == 1:
        return 0.0
    rows = np.unique(np.column_stack([data.x, data.targets]), axis=0)
    x, y = np.split(rows, [data.dimensions], axis=1)
    return unmirrored_share(Dataset(x, y))


MIRRORED = replace(MIRROR, defect=_unmirrored, remedy="add the mirror images with bf.data.symmetrize(data)")
ASSUMES: tuple[Hypothesis, ...] = (*SETTING, MIRRORED, LABELS, SEPARABLE)
