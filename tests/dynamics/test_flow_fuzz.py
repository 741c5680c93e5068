"""Flows of random problems, many of them special, by every method, against rounded kinks and SciPy's LSODA.

`oracles.kinked_flow` shares no code with ours. It errs to first order in its rounding of kinks, so two values
of the rounding, ten times apart, tell its own error.
"""

import warnings

import numpy as np

import biasfree as bf
import oracles

TS = np.array([0.0, 0.5, 1.5])
#: Samples; few sizes, since every one compiles anew.
SAMPLES = 4
SIZES = {2: [(2, 3, 1), (3, 4, 1)], 3: [(2, 3, 3, 1)], 4: [(2, 3, 2, 2, 1)]}
SPECIALS = ("general", "duplicates", "zeros", "collinear", "kinks", "dead")
RTOL = {"events": 1e-8, "smooth": 1e-8, "steps": 1e-4}


def problem(seed, sizes, special):
    """A random network and dataset, one of the special kinds."""
    rng = np.random.default_rng([seed, len(sizes), SPECIALS.index(special)])
    x, y = rng.normal(size=(SAMPLES, sizes[0])), rng.normal(size=SAMPLES)
    leak, scale = rng.choice([0.0, 0.0, 0.3]), 10 ** rng.uniform(-1, 0.3)
    weights = [w.copy() for w in bf.networks.gaussian(sizes, scale=scale, seed=seed).weights]
    if special == "duplicates":
        x[1] = x[0]
    elif special == "zeros":
        x[1] = 0
    elif special == "collinear":
        x[1] = rng.choice([-2.0, -1.0, 0.5]) * x[0]
    elif special == "kinks":  # a lattice: neurons on hyperplanes of samples
        x = np.eye(SAMPLES, sizes[0]) + np.eye(SAMPLES, sizes[0], -sizes[0])
        x[-1] = -1.0
        weights[0] = scale * rng.integers(-1, 2, size=weights[0].shape)
    elif special == "dead":
        weights[0][0] = 0
    options = {"l2": float(rng.choice([0.0, 0.0, 0.05]))}
    return bf.Network(tuple(weights), leak=leak), bf.Dataset(x, y), options


def reference(network, data, options):
    """The flow, and its relative error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coarse, fine = (
            oracles.kinked_flow(network, data, TS, rounding=r, rtol=1e-9, most=20_000, **options)
            for r in (1e-6, 1e-7)
        )
    return fine, oracles.distance(coarse, fine)


def followed(method, network, data, options):
    return bf.gradient_flow(network, data, TS, method=method, rtol=RTOL[method], **options)
