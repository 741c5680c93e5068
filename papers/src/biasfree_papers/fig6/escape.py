"""How a network leaves the plateau of the six points: derived here, to leading order in δ.

Name the neurons by the points they are active on: R and L by the three points with x₁ > 0 and x₁ < 0. On the
plateau the large neurons are R and L, each kind at the least-squares map of its own three points, and feel
nothing. What is left are the neurons in the wedge between the hyperplanes of (−1, 0) and (1, δ), near +x₂:

1. While outputs are small a neuron sees (1, 0)/6 on either side of the wedge and (0, −δ)/6 inside. So those
   that turn through it, w₁a < 0 < w₂ and |a| > |w₁|, stop there with a² reduced by w₁², after the time
   6 artanh|w₁/a|. From then on (w₂, a) turn slowly: ẇ₂ = −aδ/6, ȧ = −w₂δ/6. For a > 0 both shrink: a may
   change its sign, and where w₂ reaches 0 the neuron is lost to the wedge.
2. On the plateau the wedge is attracting: neurons slide on its edges, those with a > 0 on that of (1, δ) and
   those with a < 0 on that of (−1, 0), and grow at rates that are both δ/9 + O(δ²).
3. Together they lower the loss, L = (4/9)(1 − κ/4)², κ = δ√(A₊A₋), A± = Σ a² of either kind, and what drives
   them falls as 1 − κ/4: κ̇ = 2(δ/9)κ(1 − κ/4), a sigmoid. One kind alone stops at `stuck_level`.
"""

from __future__ import annotations

import numpy as np

from biasfree.data import Dataset, six_points
from biasfree.networks import Network

RIGHT, LEFT = [0, 2, 5], [1, 3, 4]  # samples with x₁ > 0 and with x₁ < 0
PLATEAU, SPEED = 4 / 9, 1 / 3  # the loss of least squares at δ = 0, and |β| = 2c|β|
FULL = 4.0  # κ at which nothing is left to learn


def stuck_level(delta: float) -> float:
    """Where a network with R, L and one kind of wedge neurons ends: the best loss of those features."""
    data = six_points(delta)
    wedge = np.where(np.isin(np.arange(6), [0, 3, 5]), data.x[:, 1], 0.0)
    return _loss(data, np.column_stack([*_halves(data), wedge]))


def plateau_share(delta: float) -> float:
    """The nonlinear share of the output on the plateau, where R and L have a linear map each."""
    data = six_points(delta)
    f = _fit(np.column_stack(_halves(data)), data.y)
    return float(np.sum((f - _fit(data.x, f)) ** 2) / np.sum(f**2))


def neuron_slopes(data: Dataset) -> np.ndarray:
    """|⟨(y − w·x)x⟩| over the samples that a neuron is active on, w least squares, for every set there is."""
    residual = data.y - data.x @ np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    angles = np.arctan2(data.x[:, 1], data.x[:, 0]) + np.pi / 2
    edges = np.unique(np.round(np.concatenate([angles, angles + np.pi]) % (2 * np.pi), 12))
    middles = (edges + np.append(edges[1:], edges[0] + 2 * np.pi)) / 2
    active = data.x @ np.stack([np.cos(middles), np.sin(middles)]) > 0
    return np.linalg.norm((active * residual[:, None]).T @ data.x / len(data), axis=1)


def growth_rate(delta: float) -> float:
    """The rate 2δ/9 + O(δ²) of κ: of sliding on both edges, while R and L are at their least squares."""
    data = six_points(delta)
    residual = data.y - _fit(np.column_stack(_halves(data)), data.y)
    beside_left, inside, beside_right = (
        residual[active] @ data.x[active] / 6 for active in ([0, 3, 4], [0, 3, 4, 5], [0, 3, 5])
    )
    return _sliding(beside_left, inside, data.x[5]) - _sliding(beside_right, inside, data.x[4])


def first_fall(network: Network) -> float:
    """When the loss is half-way from its start to the plateau, at δ = 0; 0 for starts that are not small."""
    size = np.sum((network.weights[0][:, 0] + network.weights[1][0]) ** 2) / 8  # u₀² = |r₁|²/2
    share = 1 - np.sqrt(1 / 2)  # of the least-squares map
    return float(np.log(max((SPEED / size - 1) * share / (1 - share), 1.0)) / SPEED)


def kappa(network: Network, delta: float) -> float:
    """κ when the plateau begins: 0 where one kind of neurons in the wedge is missing."""
    (w1, w2), a = network.weights[0].T, network.weights[1][0]
    turning = (w1 * a < 0) & (w2 > 0) & (np.abs(a) > np.abs(w1))
    w1, w2, a = w1[turning], w2[turning], a[turning]
    left = first_fall(network) - 6 * np.arctanh(np.abs(w1 / a))
    turn, a = delta * np.maximum(left, 0) / 6, np.sign(a) * np.sqrt(a**2 - w1**2)
    a, w2 = a * np.cosh(turn) - w2 * np.sinh(turn), w2 * np.cosh(turn) - a * np.sinh(turn)
    growing = np.where((w2 > 0) & (left > 0), (w2 + np.abs(a)) / 2, 0.0) ** 2
    return float(delta * np.sqrt(growing[a > 0].sum() * growing[a < 0].sum()))


def duration(network: Network, delta: float, left: float) -> float:
    """From the first fall to where the loss is `left` times the plateau; infinite where it never is."""
    start = kappa(network, delta)
    if start == 0:
        return np.inf
    end = FULL * (1 - np.sqrt(left))
    return float(np.log(end / (FULL - end) * (FULL - start) / start) / growth_rate(delta))


def loss(network: Network, delta: float, ts: np.ndarray) -> np.ndarray:
    """The loss over time: the sigmoid of the first fall, and that of the escape."""
    share = 1 / (1 + np.exp(-SPEED * (ts - first_fall(network))) * np.sqrt(2) / (2 - np.sqrt(2)))
    start, since = kappa(network, delta), np.maximum(ts - first_fall(network), 0)
    escape = start / (start + (FULL - start) * np.exp(-growth_rate(delta) * since))
    return PLATEAU * (1 - escape) ** 2 + (1 - share) ** 2 / 18


def _halves(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The inputs as R and as L see them."""
    right = np.isin(np.arange(6), RIGHT)[:, None]
    return np.where(right, data.x, 0.0), np.where(right, 0.0, data.x)


def _sliding(outside: np.ndarray, inside: np.ndarray, normal: np.ndarray) -> float:
    """The component along a hyperplane, upwards, of the mean of two slopes that has none across it."""
    across, into = outside @ normal, inside @ normal
    share = across / (across - into)
    along = np.array([-normal[1], normal[0]]) * np.sign(normal[0]) / np.linalg.norm(normal)
    return float(((1 - share) * outside + share * inside) @ along)


def _fit(features: np.ndarray, y: np.ndarray) -> np.ndarray:
    return features @ np.linalg.lstsq(features, y, rcond=None)[0]


def _loss(data: Dataset, features: np.ndarray) -> float:
    return float(np.mean((data.y - _fit(features, data.y)) ** 2) / 2)
