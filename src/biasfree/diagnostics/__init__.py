"""Diagnostics: measurements of data, functions, weights and trajectories.

Most are functions of one network; `trajectory.map` applies them at every saved time.
"""

from biasfree.arguments import exported
from biasfree.diagnostics._boundary import (
    AdversarialDirection,
    BoundaryDistance,
    adversarial_direction,
    boundary_distance,
)
from biasfree.diagnostics._equivalence import weight_error, weight_errors
from biasfree.diagnostics._function import (
    LinearRegions,
    MapDistances,
    effective_map,
    even_fraction,
    homogeneity_defect,
    linear_map,
    linear_r2,
    linear_regions,
    map_distances,
    nonlinear_share,
    outputs,
    square_loss,
)
from biasfree.diagnostics._layers import LayerLinearity, LayerTable, layer_linearity
from biasfree.diagnostics._lazy import (
    Laziness,
    kernel_alignment,
    kernel_movement,
    laziness,
    weight_movement,
)
from biasfree.diagnostics._mirror_test import Mirrors, Symmetry, mirror_inputs, symmetry
from biasfree.diagnostics._monitor import LinearityMonitor, Reading
from biasfree.diagnostics._orthogonality import (
    OrthogonalSeparability,
    largest_cosine,
    near_orthogonality,
    orthogonal_separability,
)
from biasfree.diagnostics._overlaps import Overlaps, overlaps
from biasfree.diagnostics._stable_rank import stable_rank, stable_rank_of_gram
from biasfree.diagnostics._structure import (
    RowAlignment,
    Structure,
    neuron_orders,
    row_alignment,
    sorted_by_sign,
    structure_distance,
)
from biasfree.diagnostics._targets import (
    Part,
    Preparation,
    Prepared,
    Shares,
    TargetShares,
    preparation,
    target_shares,
)
from biasfree.diagnostics._trajectories import (
    AlignmentTime,
    DivergenceTime,
    Margins,
    Plateau,
    alignment_time,
    conserved_drift,
    divergence_time,
    margins,
    plateaus,
)
from biasfree.diagnostics._weights import (
    AssumptionDistance,
    Balance,
    Clusters,
    LayerSummary,
    assumption_distance,
    balance_defect,
    conserved,
    direction_clusters,
    half_norm,
    layer_summary,
    path_norm,
)
from biasfree.theory import symmetry_defect

__all__ = [  # noqa: RUF022 - data, function, weights, trajectories
    # data
    "symmetry",
    "Symmetry",
    "symmetry_defect",
    "mirror_inputs",
    "Mirrors",
    "target_shares",
    "TargetShares",
    "Shares",
    "Part",
    "preparation",
    "Preparation",
    "Prepared",
    "largest_cosine",
    "near_orthogonality",
    "orthogonal_separability",
    "OrthogonalSeparability",
    # function
    "outputs",
    "square_loss",
    "even_fraction",
    "nonlinear_share",
    "linear_r2",
    "linear_map",
    "effective_map",
    "map_distances",
    "MapDistances",
    "homogeneity_defect",
    "linear_regions",
    "LinearRegions",
    "boundary_distance",
    "BoundaryDistance",
    "adversarial_direction",
    "AdversarialDirection",
    "layer_linearity",
    "LayerTable",
    "LayerLinearity",
    # weights
    "layer_summary",
    "LayerSummary",
    "half_norm",
    "stable_rank",
    "stable_rank_of_gram",
    "assumption_distance",
    "AssumptionDistance",
    "structure_distance",
    "Structure",
    "row_alignment",
    "RowAlignment",
    "neuron_orders",
    "sorted_by_sign",
    "balance_defect",
    "Balance",
    "conserved",
    "path_norm",
    "direction_clusters",
    "Clusters",
    "overlaps",
    "Overlaps",
    "weight_movement",
    "kernel_movement",
    "kernel_alignment",
    "weight_error",
    "weight_errors",
    # trajectories
    "plateaus",
    "Plateau",
    "alignment_time",
    "AlignmentTime",
    "divergence_time",
    "DivergenceTime",
    "laziness",
    "Laziness",
    "conserved_drift",
    "margins",
    "Margins",
    "LinearityMonitor",
    "Reading",
]

exported(__all__, globals())
