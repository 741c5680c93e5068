"""Records that native code reads and writes: the network, the data, constraints, and arrays to work in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from biasfree.arrays import Bool, Float, Int
from biasfree.dynamics.network._pointers import by_pointer

if TYPE_CHECKING:
    Array = Float[np.ndarray, "*shape"]
    Vector = Float[np.ndarray, "n"]
    Matrix = Float[np.ndarray, "m n"]
    Cube = Float[np.ndarray, "l m n"]
    Integers = Int[np.ndarray, "n"]
    Signs = Int[np.ndarray, "n"]
    SignTable = Int[np.ndarray, "m n"]
    Marks = Bool[np.ndarray, "n"]
else:
    Array = Vector = Matrix = Cube = Integers = Signs = SignTable = Marks = Any

#: A hidden neuron on a ray, by layer, neuron and ray.
Place = tuple[int, int, int]


@by_pointer
class Shape(NamedTuple):
    """The network without its weights: the places of its layers in θ and in the units, leak, L2, trained
    layers, and whether the signs of units follow the weights at every evaluation."""

    sizes: Int[np.ndarray, "L+1"]
    weights_at: Int[np.ndarray, "L"]
    biases_at: Int[np.ndarray, "L"]
    units_at: Int[np.ndarray, "L-1"]
    leak: float
    l2: float
    train: Bool[np.ndarray, "L"]
    biased: bool
    follow: bool


@by_pointer
class Rays(NamedTuple):
    """The data. Ray r has the direction orient_r·normals[:, line_r]. Rays are sorted by line: those of line q
    are first_q … first_{q+1} − 1. The samples of ray r, of lengths c and targets y, are start_r … start_{r+1}
    − 1.

    `loss` is the code of the loss, a constant of `biasfree.losses`. With the square loss a ray acts as one
    sample of weight p and target t. `floor` is the loss that no network can remove: of samples at the origin
    and of different targets on one ray.

    Rays from `single` on are merged: each stands for a part of all rays of an activation pattern, and units
    have the signs of the pattern on it, on whichever side of their hyperplanes they are.
    """

    normals: Float[np.ndarray, "D Q"]
    line: Int[np.ndarray, "R"]
    orient: Float[np.ndarray, "R"]
    first: Int[np.ndarray, "Q+1"]
    ones: Float[np.ndarray, "R"]
    p: Float[np.ndarray, "R"]
    t: Float[np.ndarray, "K R"]
    loss: int
    start: Int[np.ndarray, "R+1"]
    c: Float[np.ndarray, "P"]
    y: Float[np.ndarray, "K P"]
    share: float
    floor: float
    single: int


@by_pointer
class Merged(NamedTuple):
    """What merged rays need to stand for the rays of C activation patterns, as many rows each as inputs.

    The inputs of one of the N hidden neurons on the rows of a pattern are a vector. It was along the unit
    vector `reference`, and may have turned by an angle of tangent `margin`; −1 stands for a vector that was
    zero, and must be. An evaluation writes its part `along` the reference and its square.
    """

    reference: Float[np.ndarray, "m N"]
    margin: Float[np.ndarray, "C N"]
    along: Float[np.ndarray, "C N"]
    squares: Float[np.ndarray, "C N"]


@by_pointer
class Workspace(NamedTuple):
    """Results of an evaluation, arrays over units: inputs z and activations a, forces −∂L/∂a (`force`;
    `before` at the start of a step) and −∂L/∂z (`delta`). They hold all rays if `whole`, else those of the
    last chunk of so many `lines_at_once`; `at` are the places of layers in them.

    Outputs f and e = −∂L/∂f of all rays. Of the first layer, inputs by line (`lines`), and its weights and
    velocity, transposed. The gradients of the units that slide, as outer products back ⊗ act by layer, with
    their multipliers. A search marks `wrong` units and works with the jumps of the velocity at them and their
    inputs before and after a kink (`low`, `high`)."""

    whole: bool
    lines_at_once: int
    at: Int[np.ndarray, "L-1"]
    lines: Float[np.ndarray, "Q*H"]
    z: Float[np.ndarray, "U"]
    a: Float[np.ndarray, "U"]
    force: Float[np.ndarray, "U"]
    before: Float[np.ndarray, "U"]
    delta: Float[np.ndarray, "U"]
    wrong: Bool[np.ndarray, "U"]
    jumps: Float[np.ndarray, "U"]
    low: Float[np.ndarray, "U"]
    high: Float[np.ndarray, "U"]
    f: Float[np.ndarray, "K R"]
    e: Float[np.ndarray, "K R"]
    first: Float[np.ndarray, "D H"]
    speed: Float[np.ndarray, "D H"]
    back: Float[np.ndarray, "M B"]
    act: Float[np.ndarray, "M A"]
    multipliers: Float[np.ndarray, "M"]


@by_pointer
class Constraints(NamedTuple):
    """The constraints until the next event. `size` is zero if there are none.

    The units (layer, neuron, ray) slide; in the first layer a ray stands for its line. `single` says that all
    of them are in the first layer and no two on one neuron: then each is projected by itself. `rest` are
    first-layer neurons orthogonal to all samples, and `ways` σ(θ_y·u_r) of the directions θ_y in which one
    may leave.

    A first-layer neuron that slides along hyperplanes with dependent normals is on other hyperplanes too.
    `watch` has the neuron and the ray of such a unit and the range of the units that its neuron slides with,
    and `watch_mix` its gradient, toward the side that the neuron is on, as a combination of theirs.
    """

    size: int
    single: bool
    layer: Int[np.ndarray, "M"]
    neuron: Int[np.ndarray, "M"]
    ray: Int[np.ndarray, "M"]
    rest: Int[np.ndarray, "E"]
    ways: Float[np.ndarray, "Y R"]
    watch: Int[np.ndarray, "W 4"]
    watch_mix: Float[np.ndarray, "W M"]


@by_pointer
class Field(NamedTuple):
    """All that an evaluation of the velocity needs besides weights and signs."""

    shape: Shape
    rays: Rays
    merged: Merged
    workspace: Workspace
    constraints: Constraints


@by_pointer
class Side(NamedTuple):
    """Near or far lines, and the hidden neurons of a network of two layers that is evaluated on them: first
    these `neurons` one by one, then as neurons without kinks the linear functions of classes. `at` are the
    places of rays among all rays.

    `rows` and `outer` are their weights, `sign` and `sz` their signs and s·z, below `bound` they are wrong;
    their velocities are `back` (with one output moments) and `speed`, from the forces on a few of them and
    from those on the linear function of all. By line the even and odd parts of outputs and the even part of
    residuals times (1−α)/2 (`push`; `before` at the start of a step), by ray outputs and residuals."""

    rays: Rays
    at: Int[np.ndarray, "r"]
    neurons: Int[np.ndarray, "S"]
    rows: Float[np.ndarray, "M D"]
    outer: Float[np.ndarray, "K M"]
    sign: Int[np.ndarray, "M Q"]
    sz: Float[np.ndarray, "M Q"]
    bound: Float[np.ndarray, "M"]
    back: Float[np.ndarray, "M D"]
    speed: Float[np.ndarray, "K M"]
    force: Float[np.ndarray, "m q"]
    linear: Float[np.ndarray, "K D"]
    linear_back: Float[np.ndarray, "K D"]
    even: Float[np.ndarray, "K Q"]
    odd: Float[np.ndarray, "K Q"]
    push: Float[np.ndarray, "K Q"]
    before: Float[np.ndarray, "K Q"]
    f: Float[np.ndarray, "K R"]
    e: Float[np.ndarray, "K R"]


@by_pointer
class Classes(NamedTuple):
    """Neurons sorted into classes: the class of each, −1 for outliers, the sizes of classes, and the cones
    |w − (w·u)u| ≤ reach·(w·u) around unit vectors u, their centers. On near lines all neurons are evaluated
    one by one, on far ones outliers. The first `middle` far lines may pass through the cones, and for moments
    through narrower ones of this `tight` reach around the present axes of classes, whose s·z is `along`;
    `doubtful` is 0 if surely none does at the start of the step. `active` if evaluations are by class, `stay`
    0 once a neuron has left its cone."""

    active: bool
    near: Side
    far: Side
    group: Int[np.ndarray, "H"]
    size: Int[np.ndarray, "C"]
    center: Float[np.ndarray, "C D"]
    reach: float
    middle: int
    tight: float
    axis: Float[np.ndarray, "C D"]
    along: Float[np.ndarray, "C M"]
    stay: Int[np.ndarray, "1"]
    doubtful: Int[np.ndarray, "1"]


@by_pointer
class Tolerance(NamedTuple):
    """The relative tolerance of a step, and the absolute one of every array over the relative one."""

    rtol: float
    floors: Float[np.ndarray, "2L"]
