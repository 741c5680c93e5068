"""Hypotheses of results: each measures its own defect, and the error for data that violate it names it."""

from biasfree.theory.hypotheses._conditions import EQUIVALENCE as EQUIVALENCE
from biasfree.theory.hypotheses._conditions import HYPERPLANE as HYPERPLANE
from biasfree.theory.hypotheses._conditions import KINKS as KINKS
from biasfree.theory.hypotheses._conditions import LABELS as LABELS
from biasfree.theory.hypotheses._conditions import LINEAR as LINEAR
from biasfree.theory.hypotheses._conditions import MIRROR as MIRROR
from biasfree.theory.hypotheses._conditions import NO_BIASES as NO_BIASES
from biasfree.theory.hypotheses._conditions import ONE_DIRECTION as ONE_DIRECTION
from biasfree.theory.hypotheses._conditions import ONE_OUTPUT as ONE_OUTPUT
from biasfree.theory.hypotheses._conditions import RANK_ONE as RANK_ONE
from biasfree.theory.hypotheses._conditions import RELU as RELU
from biasfree.theory.hypotheses._conditions import SETTING as SETTING
from biasfree.theory.hypotheses._conditions import SIGNS as SIGNS
from biasfree.theory.hypotheses._conditions import SMALL as SMALL
from biasfree.theory.hypotheses._conditions import SYMMETRY as SYMMETRY
from biasfree.theory.hypotheses._conditions import TARGET as TARGET
from biasfree.theory.hypotheses._conditions import TWO_LAYERS as TWO_LAYERS
from biasfree.theory.hypotheses._conditions import WHITE as WHITE
from biasfree.theory.hypotheses._conditions import under as under
from biasfree.theory.hypotheses._hypothesis import Hypothesis as Hypothesis
from biasfree.theory.hypotheses._hypothesis import check as check
from biasfree.theory.hypotheses._hypothesis import check_sizes as check_sizes
from biasfree.theory.hypotheses._result import Result as Result
from biasfree.theory.hypotheses._result import result as result
from biasfree.theory.hypotheses._result import results as results
