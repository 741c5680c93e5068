"""Constants of a flow's policy: which share of the error goes where, and which way of evaluation is cheapest.

None of them changes what a flow converges to. Numbers that stand for rounding are where the rounding is.
"""

from __future__ import annotations

import numpy as np

# Shares of the error that a caller allows.

#: The tolerance per step as a share of rtol, which is meant for the whole path: errors of steps add up.
LOCAL_SHARE = 0.1
#: The share of a step's tolerance that kinks stepped over may cost: less than half, or steps would end at
#: kinks more often than at their own error.
KINK_SHARE = 0.3
#: The share of a step's tolerance that residuals may cost which stand still between its ends: small, since
#: the estimate of this cost is not as safe as that of the step.
STILL_SHARE = 0.1
#: The error of a neuron in one step, relative to the neuron itself: far above any tolerance of a layer, so
#: that it decides for small neurons only, and small enough that no neuron turns around within a step.
OWN_TOLERANCE = 1e-2
#: How far a neuron that should have been released may slide on in one step, relative to the neuron itself:
#: above the errors of steps, which would release it again and again, and small, since it adds up.
OWN_SLACK = 1e-6
#: The relative change of w that restoring a balance must be worth: neurons that do not fade are left alone,
#: so that what linear invariants conserve is conserved to the last digits.
UNBALANCED = 1e-7
#: The share of |∇z|² from which a unit is put on its hyperplane by a change of its own weights alone, which
#: moves no unit below it.
OWN_SHARE = 1e-2

# Calls of native code.

#: Steps per native call at most, and operations, so that progress can be shown and Ctrl-C has an effect.
CALL_STEPS = 500
CALL_OPERATIONS = 2e8
#: Numbers in the states that are saved before they are handed over (32 MB).
BLOCK_ELEMENTS = 2**22
#: Columns of a product that are computed at once, so that ROWS rows of both factors stay in the fastest
#: cache; with a fourth as many, products that are 500 wide take up to a third more time.
COLUMNS = 512
#: Rows that are computed at once: every number loaded is used as often.
ROWS = 4
#: Numbers in a line of a processor's cache.
LINE = 8
#: Activations of a layer on the samples that pass through the network at once: they stay in a core's cache.
CHUNK = 2**13
#: Rows that a triangle absorbs at once.
TRIANGLE_ROWS = 64

# Exponential steps.

#: Steps after which it is asked whether exponential ones pay, at first and at most, and products for that.
STIFF_AFTER = (50, 800)
FEW_PRODUCTS = 6
#: The product of a step and the fastest rate from which that rate limits steps: their stability ends at 3.3.
STIFF = 2.5
#: Products of the Jacobian with directions in one of the three spans of a step, at most, and numbers in its
#: basis.
MOST_PRODUCTS = 80
SPAN_NUMBERS = 2**26
#: The share of a step's tolerance that may be left outside a span.
SPAN_SHARE = 0.02
#: Exponential steps in a row that may be dearer than those of the loop.
DEAR_STEPS = 6
#: Steps after which it is asked again whether a flow has converged, or sooner when its time has doubled; and
#: the change of each neuron, relative to its weights, that it may still make then in as much time as it has
#: taken.
REST_AFTER = 25
REST = 1e-6

# When a flow is given up, or followed by another method.

#: Events that method="auto" follows one by one before it changes to steps.
MOST_EVENTS = 10_000
#: Decisions at one time after which the flow is given up.
MOST_AT_ONCE = 200
#: Units (hidden neurons on rays) beyond which kinks that matter are too many to follow one by one, and the
#: relative change of the weights over which they are asked whether any of them could matter.
MANY_UNITS = 50_000
FIRST_CHANGE = 0.01
#: The tolerance from which on any number of units is followed, by steps that are corrected.
COARSE_RTOL = 1e-5

# The search for the event that ends a step.

#: A step is searched at this many points, and then by bisection.
SEARCH_POINTS = 8
SEARCH_HALVINGS = 60
#: An event is located where the cost is between the budget and this many times as much.
NEAR_BUDGET = 1.5
#: Halvings of a step in which a level of the loss is located: to the last bits of the time.
LEVEL_HALVINGS = 50
#: Units that may slide at once before the arrays of their gradients are made larger.
FEW_SLIDES = 16

# Decisions at an event.

#: Combinations of sides tried where several hyperplanes do not attract.
MOST_CHOICES = 1024
#: Vertices of the arrangement searched for a neuron at w = 0; beyond, a fixed random choice of them.
MOST_RAYS = 512
MOST_NORMALS = 4096
#: Cones tried per ray for a neuron at w = 0: all of them up to six dimensions.
MOST_STARTS = 32
#: Directions tried around each ray for the cones that meet there.
NEIGHBORS = 4
#: Hyperplanes with neurons on them at t = 0 that are examined one by one.
INITIAL_UNITS = 64
#: Units of deep networks that chatter and are decided at once, at most: 3⁵ combinations; and the events that
#: are remembered to find them, so that each of the units has changed several times.
MOST_CHATTERING = 5
REMEMBERED = 5 * MOST_CHATTERING

# Deep steps in which many units pass their hyperplanes.

#: Units wrong in one step from which on it is corrected; up to LOCATED_UNITS their kinks can be located too.
CORRECTED_UNITS = 4
LOCATED_UNITS = 64
#: A step is examined after so many parts; between them inputs are taken to be linear in time.
CORRECTION_PARTS = 4
#: Where a unit turns out to slide, the step ends this share of the budget beyond its hyperplane.
SLIDE_SHARE = 0.3
#: Above so many budgets a step is shortened before a unit that slides in it is looked for.
SHORTEN_ABOVE = 4.0
#: Up to so many budgets a shorter step, corrected, is cheaper than to locate kinks one by one.
LOCATE_ABOVE = 30.0
#: The factor by which the expected cost of a correction falls with every step that is not corrected.
FORGET = 0.8

# Merged samples.

#: Units times evaluations in a step from which merged samples may be worth it, and samples per input: below,
#: a step costs less than sorting.
MERGED_UNITS = 1e5
FEW_SAMPLES = 8
#: The share of samples, or of their cost, that may be left for merging to be worth it.
MERGED_WORTH = 0.7
#: Samples per input from which on those of a pattern are merged.
CROWD = 2
#: The number of patterns whose samples may be merged: the most frequent ones.
MOST_PATTERNS = 64
#: Steps for which merged samples should keep their patterns, at least.
LEAST_STEPS = 4
#: The least margin, well above the rounding of a native check.
LEAST_MARGIN = 1e-5
#: Costs in those of a neuron on a sample in one evaluation: of sorting, and of sorting a sample besides its
#: neurons.
SORTING_COST = 4e5
SORTED_SAMPLE_COST = 150
#: More samples than that are sorted for long, since deeper levels take care of those that are left: their
#: share of the cost.
MANY_SAMPLES = 4096
SHARE_OF_MANY = 0.02
MORE_SAMPLES = 256
SHARE_OF_MORE = 0.15
#: Rows per column that are factorized at once: they stay in a core's cache.
BLOCK_ROWS = 16
#: Inputs of neurons that are in memory at once.
SORTED_ELEMENTS = 2**18
#: Steps between two attempts to merge samples, at least and at most: of a flow, and of a descent, whose steps
#: have one evaluation.
FLOW_PATIENCE = (4, 256)
DESCENT_PATIENCE = (16, 512)
#: After so many times the steps that they should last, merged samples are sorted again: neurons turn slower.
LIVES = 4

# Classes of aligned neurons of two layers. A class keeps its signs on lines that its cone moves across, where
# merged rays would have to be sorted again.

#: Units from which classes may be worth it, and beyond which nothing is evaluated densely.
CLASS_UNITS = 20_000
DENSE_UNITS = 2**25
#: The cost of an evaluation by class, over that of a dense one, from which classes are worth it.
CLASS_WORTH = 0.7
#: Steps between two attempts to sort neurons into classes: at first, and at most.
SORT_AFTER = 2
SORT_AFTER_AT_MOST = 256
#: Neurons from which classes are begun, and the largest number of classes: their sign patterns are 2^classes.
MOST_SEEDS = 16
MOST_CLASSES = 4
#: The least cosine between a neuron and the center of its class, and the least number of neurons of a class.
CLASS_COSINE = 0.97
CLASS_NEURONS = 4
#: Widths of cones that are tried, as quantiles of the angles of neurons to their centers.
CONE_WIDTHS = np.append(np.linspace(0, 1, 9), [0.95, 0.98, 0.99])
#: Neurons may be this many times as far from their centers as they are before they leave their cones.
CONE_SLACK = 1.25
#: The least angle of a cone, well above the rounding of directions.
LEAST_REACH = 1e-9
#: Steps that neurons should stay in their cones if they turn on as now; numbers of them that are tried where
#: all neurons of a class turn alike.
STEPS_AHEAD = 3.0
STEPS_TRIED = 2.0 ** np.arange(1, 8)
#: Costs, in those of evaluating a neuron on a line: of sorting; of a middle line, per class and output; and
#: of an evaluation besides its lines, per neuron. And evaluations in a step.
CLASS_SORTING_COST = 1e6
MIDDLE_COST = 12
BESIDES_COST = 10
STEP_EVALUATIONS = 7
#: With so many lines, one in so many, the nearest ones to the centers, is examined in later sorts.
MANY_LINES = 10_000
ONE_IN = 20
