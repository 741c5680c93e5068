"""Forward and backward passes, descent and flow from the formulas; no code of `biasfree.dynamics`."""

from itertools import count

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import expit

import biasfree as bf

#: ℓ and ∂ℓ/∂f of one output, by the name of the loss.
VALUES = {
    "square": lambda f, y: (y - f) ** 2 / 2,
    "logistic": lambda f, y: np.log1p(np.exp(-y * f)),
    "huber": lambda f, y: (y - f) ** 2 / (1 + np.sqrt(1 + (y - f) ** 2)),  # √(1 + e²) − 1
}
SLOPES = {
    "square": lambda f, y: f - y,
    "logistic": lambda f, y: -y * expit(-y * f),
    "huber": lambda f, y: (f - y) / np.sqrt(1 + (f - y) ** 2),
}


def forward(weights, biases, leak, x):
    """Inputs of every layer and the outputs: h_1 = W_1 x + b_1, h_l = W_l σ(h_{l−1}) + b_l."""
    inputs, slopes, h, z = [], [], x, x
    for w, b in zip(weights, biases, strict=True):
        inputs.append(h)
        z = h @ w.T + b
        slopes.append(np.where(z > 0, 1.0, leak))
        h = slopes[-1] * z
    return inputs, slopes, z


def layers(network) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights and biases of a network, zeros where it has none."""
    biases = network.biases or tuple(np.zeros(len(w)) for w in network.weights)
    return [w.copy() for w in network.weights], [b.copy() for b in biases]


def loss(network, data, kind="square"):
    """⟨Σ_k ℓ(f_k, y_k)⟩."""
    f = forward(*layers(network), network.leak, data.x)[-1]
    y = data.y.reshape(f.shape)
    return float(VALUES[kind](f, y).sum() / len(f))


def penalty(network, l2):
    """(λ/2) Σ_l |W_l|²."""
    return l2 / 2 * sum(np.sum(w**2) for w in network.weights)


def gradients(weights, biases, leak, data, kind="square", l2=0.0):
    """∇ of loss + (λ/2)Σ|W_l|² by the chain rule, for weights and for biases."""
    inputs, slopes, f = forward(weights, biases, leak, data.x)
    y = data.y.reshape(f.shape)
    delta = SLOPES[kind](f, y) / len(f)
    by_weight: list[np.ndarray] = []
    by_bias: list[np.ndarray] = []
    for i in reversed(range(len(weights))):
        by_weight.insert(0, delta.T @ inputs[i] + l2 * weights[i])
        by_bias.insert(0, delta.sum(axis=0))
        delta = (delta @ weights[i]) * slopes[i - 1] if i else delta
    return by_weight, by_bias


def jacobian(network, x):
    """∂f_k(x_i)/∂θ, a row per sample and output: weights of all layers, then biases if there are any."""
    weights, biases = layers(network)
    inputs, slopes, f = forward(weights, biases, network.leak, x)
    rows = []
    for sample, output in np.ndindex(f.shape):
        delta = np.eye(f.shape[1])[output]
        by_weight: list[np.ndarray] = []
        by_bias: list[np.ndarray] = []
        for i in reversed(range(len(weights))):
            by_weight.insert(0, np.outer(delta, inputs[i][sample]).ravel())
            by_bias.insert(0, delta)
            delta = (delta @ weights[i]) * slopes[i - 1][sample] if i else delta
        rows.append(np.concatenate(by_weight if network.biases is None else [*by_weight, *by_bias]))
    return np.array(rows)


def descended(network, data, *, step, steps, kind="square", l2=0.0, trained=None):
    """Weights and biases after `steps` steps of plain gradient descent of the layers that are trained."""
    weights, biases = layers(network)
    trained = trained or [True] * len(weights)
    for _ in range(steps):
        by_weight, by_bias = gradients(weights, biases, network.leak, data, kind, l2)
        weights = [w - on * step * g for w, g, on in zip(weights, by_weight, trained, strict=True)]
        if network.biases is not None:
            biases = [b - step * g for b, g in zip(biases, by_bias, strict=True)]
    return weights, biases


class TooLong(RuntimeError):
    """A reference flow took more evaluations than it was given, or had to give up."""


def flow(network, data, ts, *, kind="square", l2=0.0, rtol=1e-12, trained=None, most=10**6):
    """The flow by SciPy's DOP853, without kinks: one array per layer, with a leading time axis."""
    shapes = [w.shape for w in network.weights]
    ends = np.cumsum([0, *(w.size for w in network.weights)])
    trained, done = trained or [True] * len(shapes), count()
    no_biases = layers(network)[1]

    def unpacked(state):
        pieces = zip(ends, ends[1:], shapes, strict=False)
        return [state[..., a:b].reshape(*state.shape[:-1], *shape) for a, b, shape in pieces]

    def field(_, state):
        if next(done) >= most:
            raise TooLong
        by_weight, _ = gradients(unpacked(state), no_biases, network.leak, data, kind, l2)
        return np.concatenate([-g.ravel() * on for g, on in zip(by_weight, trained, strict=True)])

    start = np.concatenate([w.ravel() for w in network.weights])
    floor = rtol * (np.abs(start).max() or 1.0) * 1e-3  # from zero weights too
    found = solve_ivp(field, (0, ts[-1]), start, "DOP853", t_eval=ts, rtol=rtol, atol=floor)
    return unpacked(found.y.T)


def kinked_flow(network, data, ts, *, kind="square", l2=0.0, rounding=1e-7, rtol=1e-9, most=10**6):
    """The flow through kinks as the limit of rounded ones: the slope at a kink goes from α to 1 over a width
    `rounding` of z/(|w||h|), so that a neuron that slides along a hyperplane has a slope in between. |w|
    counts as a thousandth of its initial value or more: a neuron that passes w = 0 would meet a kink of no
    width there, and the last bits would decide whether an integrator gets over it.

    One array per layer, with a leading time axis. Biases are not trained. The problem is stiff, hence BDF;
    LSODA also has a method for problems that are not, and the last bits decide whether it stays with it.
    Raises `TooLong` after `most` evaluations, or where steps become too short for floating-point times.
    """
    shapes = [w.shape for w in network.weights]
    ends = np.cumsum([0, *(w.size for w in network.weights)])
    _, biases = layers(network)
    y, done = data.y.reshape(len(data.x), -1), 0
    floors = [1e-6 * (w * w).sum(axis=-1) for w in network.weights]

    def unpacked(state):
        pieces = zip(ends, ends[1:], shapes, strict=False)
        return [state[..., a:b].reshape(*state.shape[:-1], *shape) for a, b, shape in pieces]

    def lengths_of(weights):
        return [
            np.sqrt(np.maximum((w * w).sum(axis=-1), least)) for w, least in zip(weights, floors, strict=True)
        ]

    def field(_, state):
        """The velocity; of several states, one per row."""
        nonlocal done
        done += state.size // ends[-1]
        if done > most:
            raise TooLong
        weights, inputs, slopes, h, z = unpacked(state), [], [], data.x, data.x
        for w, b, length in zip(weights, biases, lengths_of(weights), strict=True):
            inputs.append(h)
            z = h @ w.mT + b
            lengths = np.sqrt((h * h).sum(axis=-1))[..., None], length[..., None, :]
            size = lengths[0] * lengths[1] + np.abs(b)
            relative = np.divide(z, size, out=np.zeros_like(z), where=size > 0)
            slopes.append(network.leak + (1 - network.leak) * expit(relative / rounding))
            h = np.maximum(z, network.leak * z)
        delta = SLOPES[kind](z, y) / len(y)
        found = []
        for i in reversed(range(len(weights))):
            found.append((-(delta.mT @ inputs[i]) - l2 * weights[i]).reshape(*state.shape[:-1], -1))
            delta = (delta @ weights[i]) * slopes[i - 1] if i else delta
        return np.concatenate(found[::-1], axis=-1)

    def jacobian(t, state):
        """By differences, as BDF would take them one by one; only how fast it converges depends on it.
        Relative to its neuron no weight moves by more than a tenth of a rounded kink."""
        moves = np.repeat(
            np.concatenate(lengths_of(unpacked(state))), [n for m, n in shapes for _ in range(m)]
        )
        moves = np.maximum(
            min(1e-8, rounding / 10) * moves, np.finfo(float).eps * (np.abs(state).max() or 1.0)
        )
        return (field(t, state + np.diag(moves)) - field(t, state)).T / moves

    start = np.concatenate([w.ravel() for w in network.weights])
    floor = rtol * (np.abs(start).max() or 1.0) * 1e-3  # from zero weights too
    with np.errstate(invalid="ignore"):  # SciPy's first steps subtract rows of memory that nothing has set
        found = solve_ivp(field, (0, ts[-1]), start, "BDF", t_eval=ts, jac=jacobian, rtol=rtol, atol=floor)
    assert np.isfinite(found.y).all()
    if not found.success:
        raise TooLong(found.message)
    return unpacked(found.y.T)


def distance(one, other):
    """The largest |ΔW|/|W| over time, W being all layers and biases, of two trajectories or their arrays."""
    pairs = list(zip(arrays(one), arrays(other), strict=True))
    gap = sum(((a - b) ** 2).reshape(len(a), -1).sum(axis=1) for a, b in pairs)
    size = sum((b**2).reshape(len(b), -1).sum(axis=1) for _, b in pairs)
    return float(np.sqrt(gap / size).max())


def assert_same_weights(one, other, **tolerances):
    """Compare two networks or trajectories layer by layer."""
    for ours, theirs in zip(one.weights, other.weights, strict=True):
        np.testing.assert_allclose(ours, theirs, **tolerances)


def arrays(path):
    return [*path.weights, *(path.biases or ())] if isinstance(path, bf.Trajectory) else list(path)


def growth(follow, network, exact):
    """The largest factor, at least 1, by which two small changes of the initial weights grow along the path
    `exact`, which is `follow(network)`."""
    rng, size, factors = np.random.default_rng(0), 1e-6, [1.0]
    for _ in range(2):
        directions = [rng.normal(size=w.shape) for w in network.weights]
        moved = [
            w + size * np.linalg.norm(w) / np.linalg.norm(d) * d
            for w, d in zip(network.weights, directions, strict=True)
        ]
        other = bf.Network(tuple(moved), leak=network.leak, biases=network.biases)
        factors.append(distance(follow(other), exact) / size)
    return max(factors)


def random_data(samples, dimensions, *, outputs=None, labels=False, seed=0):
    """Gaussian inputs with Gaussian targets or random labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(samples, dimensions))
    y = rng.normal(size=(samples,) if outputs is None else (samples, outputs))
    return bf.Dataset(x, np.where(y > 0, 1.0, -1.0) if labels else y)


def white_task(d, k, seed, *, size=1.0):
    """Gaussian targets of inputs with Σ = size²·I to rounding."""
    data = bf.data.whiten(random_data(9, d, outputs=k, seed=seed))
    return bf.Dataset(size * data.x, data.y)


def with_biases(network, *, scale=0.3, seed=0):
    """The network with Gaussian biases."""
    rng = np.random.default_rng(seed)
    biases = tuple(scale * rng.normal(size=len(w)) for w in network.weights)
    return bf.Network(network.weights, leak=network.leak, biases=biases)
