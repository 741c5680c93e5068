"""Data at the edge of every hypothesis, and just beyond it, by label."""

import numpy as np

import biasfree as bf
import oracles


def _odd(rng, d=2, n=3):
    """Mirror pairs with an odd nonlinear target."""
    x = rng.normal(size=(n, d))
    y = x @ rng.normal(size=d) + 0.3 * np.sin(3 * x[:, 0])
    return bf.Dataset(np.concatenate([x, -x]), np.concatenate([y, -y]))


def _labels(rng, d=2, n=3):
    data = _odd(rng, d, n)
    return bf.Dataset(data.x, np.where(data.y > 0, 1.0, -1.0))


def _halves(rng):
    """Σ and β of either half-line agree, mirror images are missing: Condition 3 for second moments only."""
    del rng
    x = np.array([1.0, 5, 6, -2, -3, -7])
    return bf.Dataset(x[:, None], np.sign(x))


DATASETS = {
    "mirror pairs": _odd,
    "mirror pairs in one dimension": lambda rng: _odd(rng, 1, 2),
    "mirror pairs in three dimensions": lambda rng: _odd(rng, 3, 5),
    "white mirror pairs": lambda rng: bf.data.whiten(_odd(rng, 2, 4)),
    "nearly white mirror pairs": lambda rng: _scaled(bf.data.whiten(_odd(rng, 2, 4)), [1, 1 + 1e-6]),
    "labels on mirror pairs": _labels,
    "labels 3 on mirror pairs": lambda rng: _times(_labels(rng), 3.0),
    "linear labels on mirror pairs": lambda rng: _linear_labels(rng),
    "labels symmetric in second moments only": _halves,
    "3 · labels symmetric in second moments only": lambda rng: _times(_halves(rng), 3.0),
    "no symmetry": lambda rng: oracles.random_data(5, 2, seed=int(rng.integers(2**31))),
    "labels without symmetry": lambda rng: oracles.random_data(
        5, 2, labels=True, seed=int(rng.integers(2**31))
    ),
    "labels 0 and 1": lambda rng: bf.Dataset(rng.normal(size=(4, 2)), [0.0, 1, 0, 1]),
    "x = ±1, y = 10": lambda _: bf.Dataset([[1.0], [-1.0]], [10.0, 10.0]),
    "nearly mirror pairs": lambda rng: _nudged(_odd(rng), rng, 1e-6),
    "mirror pairs up to rounding": lambda rng: _nudged(_odd(rng), rng, 1e-15),
    "duplicates": lambda rng: _repeated(_odd(rng), rng),
    "zero rows": lambda rng: bf.Dataset(
        np.concatenate([(a := _odd(rng)).x, np.zeros((2, 2))]), np.append(a.y, [0.0, 0.0])
    ),
    "a zero row with a target": lambda rng: bf.Dataset(
        np.concatenate([(a := _odd(rng)).x, np.zeros((1, 2))]), np.append(a.y, 1.0)
    ),
    "singular Σ": lambda rng: bf.Dataset((a := _odd(rng, 1)).x * [[1.0, 2.0]], a.y),
    "an input that is always zero": lambda rng: bf.Dataset((a := _odd(rng, 1)).x * [[1.0, 0.0]], a.y),
    "nearly singular Σ": lambda rng: _scaled(_odd(rng), [1, 1e-7]),
    "two outputs": lambda rng: bf.Dataset(
        (a := _odd(rng)).x, np.stack([a.y, a.x @ rng.normal(size=2)], axis=1)
    ),
    "two outputs without symmetry": lambda rng: oracles.random_data(
        5, 2, outputs=2, seed=int(rng.integers(2**31))
    ),
    "one output with its axis": lambda rng: bf.Dataset((a := _odd(rng)).x, a.y[:, None]),
    "one sample": lambda rng: bf.Dataset(rng.normal(size=(1, 2)), rng.normal(size=1)),
    "zero targets": lambda rng: bf.Dataset(_odd(rng).x, np.zeros(6)),
    "zero inputs": lambda _: bf.Dataset(np.zeros((4, 2)), np.zeros(4)),
    "even targets": lambda rng: bf.Dataset((a := _odd(rng)).x, np.abs(a.y)),
    "β of rounding": lambda rng: _without_beta(_odd(rng)),
    "orthogonal": lambda rng: bf.data.orthogonal(3, 3, seed=int(rng.integers(2**31))),
    "axes": lambda _: bf.Dataset(np.eye(3), np.ones(3)),
    "axes and their mirror images": lambda _: bf.data.symmetrize(bf.Dataset(np.eye(2), [1.0, 1.0])),
    "six points": lambda _: bf.data.six_points(0.15),
    "the orthogonal pair": lambda _: bf.data.orthogonal_pair(),
    "tiny inputs": lambda rng: _scaled(_odd(rng), 1e-160),
    "huge inputs": lambda rng: _scaled(_odd(rng), 1e60),
    "tiny targets": lambda rng: _times(_odd(rng), 1e-160),
    "huge targets": lambda rng: _times(_odd(rng), 1e60),
}


def _scaled(data, by):
    return bf.Dataset(data.x * np.asarray(by), data.y)


def _times(data, by):
    return bf.Dataset(data.x, by * data.y)


def _nudged(data, rng, by):
    return bf.Dataset(data.x * (1 + by * rng.normal(size=data.x.shape)), data.y)


def _repeated(data, rng):
    pick = np.append(np.arange(6), rng.integers(3) + np.array([0, 3]))
    return bf.Dataset(data.x[pick], data.y[pick])


def _linear_labels(rng):
    x = rng.normal(size=(4, 2))
    x = np.concatenate([x, -x])
    return bf.Dataset(x, np.where(x @ rng.normal(size=2) > 0, 1.0, -1.0))


def _without_beta(data):
    best = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    return bf.Dataset(data.x, data.y - data.x @ best)
