"""A task of Dask."""

import pytest


def in_a_task(function):
    """Call a function in a task of a worker of two threads, in this process."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with (
        distributed.LocalCluster(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        return client.submit(function).result()
