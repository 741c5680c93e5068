"""Networks, data and runs that the tests of the flow through events share."""

import numpy as np

import biasfree as bf
import oracles

SIX = bf.data.six_points(0.15)
CUBE = oracles.random_data(8, 3, seed=10)
LONG, SHORT = np.linspace(0, 300, 31), np.linspace(0, 20, 21)


def wide(*, scale=0.1, leak=0.0, seed=0):
    return bf.networks.balanced((2, 20, 1), scale=scale, leak=leak, seed=seed)


def small(*, scale=1.0, leak=0.0, seed=0, outputs=1):
    return bf.networks.balanced((3, 8, outputs), scale=scale, leak=leak, seed=seed)


def events_run(network, data, ts, **options):
    run = bf.gradient_flow(network, data, ts, method="events", **options)
    assert run.stats.method == "events"
    return run


def descent_distances(run, network, data, steps, **options):
    """How far descent with each of these steps stays from a flow saved at equal intervals."""
    interval, end = run.ts[1] - run.ts[0], run.ts[-1]
    return [
        oracles.distance(
            bf.gradient_descent(
                network, data, step=h, steps=round(end / h), save_every=round(interval / h), **options
            ),
            run,
        )
        for h in steps
    ]


def happened(run, *kinds):
    return all(run.stats.events[kind] > 0 for kind in kinds)
