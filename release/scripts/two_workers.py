"""A sweep on a Dask cluster of two workers gives what plain calls give."""

import numpy as np
from dask.distributed import Client, LocalCluster

import biasfree as bf


def last_loss(scale, seed):
    network = bf.networks.gaussian((2, 4, 1), scale=scale, seed=seed)
    return {"loss": bf.gradient_flow(network, bf.data.six_points(0.5), [0.0, 1.0]).loss[-1]}


if __name__ == "__main__":
    sweep = bf.sweep(last_loss, over={"scale": [0.01, 0.1]}, seeds=2, store="sweep")
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        sweep.run(client=client, progress=False)
    assert not sweep.failed, sweep.failed
    expected = [[last_loss(scale, seed)["loss"] for seed in range(2)] for scale in (0.01, 0.1)]
    np.testing.assert_array_equal(sweep.dataset["loss"], expected)
