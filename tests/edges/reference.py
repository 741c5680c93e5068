"""The flow of a problem by SciPy, and the comparisons that several rooms of the theory share."""

import inspect
from functools import cached_property

import numpy as np

import biasfree as bf
import oracles

T = bf.theory


#: rtol 1e-9 per step over some thousand steps, and kinks rounded over 1e-7
ORACLE = 1e-5


MOST = 3_000  # evaluations of a reference flow


def kinked_flow(network, data, ts, **more):
    if not any(w.any() for w in network.weights):
        return [np.repeat(w[None], len(ts), axis=0) for w in network.weights]  # at rest
    return oracles.kinked_flow(network, data, ts, most=MOST, **more)


def fits(ref):
    sizes = ref.network.sizes
    return (sizes[0], sizes[-1]) == (ref.data.dimensions, ref.data.outputs)


def norms(path):
    """|W| at every time, of weights of 1e-160 too, whose squares have few digits."""
    largest = np.abs(path).max() or 1.0
    return largest * np.linalg.norm(path / largest, axis=(1, 2))


class Reference:
    """A problem, times at which something happens, and its flow by SciPy."""

    def __init__(self, problem, loss="square"):
        self.problem, self.network, self.data, self.loss = problem, problem.network, problem.data, loss
        self.c, self.too_long = (1 + self.network.leak) / 2, False
        self.ends = {}  # answers and refusals of the functions called so far; `coverage` is the last

    @cached_property
    def s(self):
        largest = np.abs(self.data.beta).max() or 1.0
        return float(largest * np.linalg.norm(self.data.beta / largest))

    @cached_property
    def rounded(self):
        """Whether β is a sum that cancels to less than half of its digits, or underflows."""
        size = np.sqrt(np.mean(self.data.targets**2)) * np.sqrt(np.trace(self.data.sigma))
        return self.s < max(1e-8 * size, 1e-150)

    @cached_property
    def ts(self):
        """To well beyond the transition, and not beyond what is computable."""
        network, stiffness = self.network, float(np.linalg.norm(self.data.sigma, 2))
        if not (self.s > 1e-100 and stiffness > 1e-100):
            return np.array([0.0, 0.5, 1.0])
        rate = self.c * self.s * (0.5 if self.loss == "logistic" else 1.0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            growth = np.log(self.s / stiffness) - 2 * np.log(network.norms.max())
            if network.depth > 2:
                rate = rate * network.norms.max() ** (network.depth - 2)
                growth = 2.0
        end = (3 + np.clip(growth, 0, 2000)) / (2 * rate)
        # explicit methods take as many steps as the fastest rate has periods
        best = np.linalg.pinv(self.data.x) @ self.data.targets
        fastest = stiffness * max(np.linalg.norm(best), network.norms.max() ** 2)
        longest = 2000 / fastest if fastest > 0 else np.inf
        return np.array([0, 0.4, 0.9, 1.1, 1.6]) * min(end, 1e12, longest)

    @cached_property
    def flow(self):
        if self.too_long:
            raise oracles.TooLong
        try:
            return kinked_flow(self.network, self.data, self.ts, kind=self.loss)
        except oracles.TooLong:
            self.too_long = True
            raise

    @cached_property
    def hard_flow(self):
        """With σ′(0) = α and no rounding, for networks none of whose neurons meets a kink."""
        return oracles.flow(self.network, self.data, self.ts, kind=self.loss, most=MOST)

    def losses(self, flow):
        leak, biases = self.network.leak, self.network.biases
        states = [bf.Network(w, leak=leak, biases=biases) for w in zip(*flow, strict=True)]
        return np.array([oracles.loss(state, self.data, self.loss) for state in states])

    def judge(self, path, *, accuracy=ORACLE, flow=None, weights=True, size=0.0):
        """Loss and weights, relative to their largest on the way, or to a `size` if that is larger."""
        flow = self.flow if flow is None else flow
        expected = self.losses(flow)
        # 1e-300: losses of targets of 1e-160 are subnormal numbers, which have few digits
        assert np.abs(path.loss - expected).max() <= accuracy * np.abs(expected).max() + 1e-300
        if weights:
            largest = max(size, *(norms(w).max() for w in flow))
            for ours, theirs in zip(path.weights, flow, strict=True):
                assert np.linalg.norm(ours - theirs, axis=(1, 2)).max() <= accuracy * largest


def unstable(ref):
    """Whether r is all but opposite to β: what the flow leaves is decided by the last digits."""
    first, second = (w / (np.abs(w).max() or 1.0) for w in ref.network.weights)
    w = (second @ first)[0]
    return w @ ref.data.beta.reshape(-1) < -0.99 * np.linalg.norm(w) * ref.s


def growing_defects(ref):
    rows = T.coverage(ref.network, ref.data)["aligned"].findings
    return {finding.hypothesis.key: finding.defect for finding in rows}


def judge_slopes(ref, slopes):
    if ref.rounded:
        return "β of rounding"
    weights, biases = oracles.layers(ref.network)
    expected, _ = oracles.gradients(weights, biases, ref.network.leak, ref.data)
    for ours, theirs in zip(slopes, expected, strict=True):
        assert np.abs(ours + theirs).max() <= 1e-6 * np.abs(theirs).max() + 1e-12 * _terms(ref) + 1e-300
    return None


def _terms(ref):
    """The size of the terms that a slope is a sum of."""
    sizes = ref.network.norms
    rest = max(np.prod(np.delete(sizes, i)) for i in range(len(sizes)))
    return rest * (ref.s + np.prod(sizes) * np.linalg.norm(ref.data.sigma, 2))


def judge_map(ref, w):
    f = ref.network(ref.data.x)
    spacing = np.finfo(float).smallest_subnormal * np.abs(ref.data.x).sum(axis=1).max()  # of tiny maps
    assert np.abs(ref.data.x @ w - f).max() <= 1e-6 * np.abs(f).max() + spacing + 1e-300


def judge_descent(ref, path):
    if ref.rounded:
        return "β of rounding"
    weights, _ = oracles.descended(ref.network, ref.data, step=step(ref), steps=3, kind=ref.loss)
    largest = max(np.abs(w).max() for w in weights)
    for ours, theirs in zip(path[-1].weights, weights, strict=True):
        assert np.abs(ours - theirs).max() <= 1e-6 * largest
    return None


def step(ref):
    size = ref.s + ref.network.norms.max() ** 2 * np.linalg.norm(ref.data.sigma, 2)
    return 0.1 / size if size > 1e-100 else 0.1


def arguments(name):
    return inspect.signature(getattr(T, name)).parameters


def flow_of(name):
    def call(ref):
        more = {"loss": ref.loss} if "loss" in arguments(name) else {}
        return getattr(T, name)(ref.network, ref.data, ref.ts, **more)

    return call


def value_of(name, **more):
    def call(ref):
        given = more | ({"loss": ref.loss} if "loss" in arguments(name) else {})
        return getattr(T, name)(ref.network, ref.data, **given)

    return call


def holds(truth):
    assert truth


def numbers(value):
    """All numbers of an answer."""
    if isinstance(value, bf.Trajectory) and len(value.weights) > 2:  # its maps depend on the pattern
        return [value.loss, *value.weights]
    if isinstance(value, bf.Trajectory | bf.MapTrajectory):
        return [value.loss, value.maps]
    if isinstance(value, bf.Network):
        return list(value.weights)
    if isinstance(value, tuple | list):
        return [n for v in value for n in numbers(v)]
    if isinstance(value, np.ndarray | float | int | np.floating):
        return [np.asarray(value, dtype=float)]
    return [n for v in getattr(value, "__dict__", {}).values() for n in numbers(v)]


def judged(name, row, ref):
    """How a call of one function on a problem ended: refused, compared, or why it was not compared."""
    call, judge = row
    try:
        value = call(ref)
    except ValueError as refusal:
        ref.ends[name] = refusal
        return "refused"
    except RuntimeError as stall:  # a run that stalls says when and why
        if "stopped before the last of ts" not in str(stall) and "stopped before the blow-up" not in str(
            stall
        ):
            raise
        return "stopped"
    ref.ends[name] = value
    for array in numbers(value) if name != "coverage" else ():
        assert not np.isnan(array).any()
    if not fits(ref) and name != "coverage":
        return "sizes"
    try:
        return judge(ref, value) or "compared"
    except oracles.TooLong:
        return "reference too long"
