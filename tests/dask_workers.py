"""Two worker processes of Dask on this machine."""

import gc
import os
import time
from contextlib import contextmanager

import pytest


@contextmanager
def two_workers():
    """Start two workers of one thread, and let their client be the one in use."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def wait_until(state, seconds=120):
    """Wait until a state is there; an error if it does not come."""
    deadline = time.monotonic() + seconds
    while not state():
        assert time.monotonic() < deadline, "this did not come in time"
        time.sleep(0.02)


def on_each(client, function):
    """Call a function in each worker, and return what it returned by process id."""
    found = client.run(lambda: (os.getpid(), function()))
    return dict(found.values())


def n_objects(kind):
    """Count the objects of a type in this process."""
    return sum(type(each) is kind for each in gc.get_objects())


def in_a_task(function):
    """Call a function in a task of a worker of two threads, in this process."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with (
        distributed.LocalCluster(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        return client.submit(function).result()
