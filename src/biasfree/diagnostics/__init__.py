"""Diagnostics: measurements of data, functions, weights and trajectories.

Most are functions of one network; `trajectory.map` applies them at every saved time. `advice` turns them into
`bf.diagnose`.
"""

from biasfree.arguments import exported
from biasfree.diagnostics._comparison import overlaps, weight_error, weight_errors
from biasfree.diagnostics._function import (
    even_fraction,
    homogeneity_defect,
    linear_map,
    map_distances,
    nonlinear_share,
    outputs,
    square_loss,
)
from biasfree.diagnostics._geometry import boundary_distance, largest_cosine, near_orthogonality
from biasfree.diagnostics._layers import layer_linearity
from biasfree.diagnostics._lazy import kernel_movement, laziness, weight_movement
from biasfree.diagnostics._mirror_test import symmetry
from biasfree.diagnostics._monitor import LinearityMonitor
from biasfree.diagnostics._structure import structure_distance
from biasfree.diagnostics._targets import preparation, target_shares
from biasfree.diagnostics._trajectories import (
    alignment_time,
    conserved_drift,
    margins,
    plateaus,
)
from biasfree.diagnostics._weights import (
    assumption_distance,
    direction_clusters,
    half_norm,
    layer_summary,
    path_norm,
    stable_rank,
    stable_rank_of_gram,
)
from biasfree.theory import symmetry_defect

__all__ = [  # noqa: RUF022 - data, function, weights, trajectories
    # data
    "symmetry",
    "symmetry_defect",
    "target_shares",
    "preparation",
    "largest_cosine",
    "near_orthogonality",
    # function
    "outputs",
    "square_loss",
    "even_fraction",
    "nonlinear_share",
    "linear_map",
    "map_distances",
    "homogeneity_defect",
    "boundary_distance",
    "layer_linearity",
    # weights
    "layer_summary",
    "half_norm",
    "stable_rank",
    "stable_rank_of_gram",
    "assumption_distance",
    "structure_distance",
    "path_norm",
    "direction_clusters",
    "overlaps",
    "weight_movement",
    "kernel_movement",
    "weight_error",
    "weight_errors",
    # trajectories
    "plateaus",
    "alignment_time",
    "laziness",
    "conserved_drift",
    "margins",
    "LinearityMonitor",
]

exported(__all__, globals())
