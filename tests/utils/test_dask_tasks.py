from sk_han._kernels.engine import tasks_at_once
from tests.dask_workers import in_a_task


def test_a_task_of_dask_knows_how_many_run_beside_it():
    assert in_a_task(tasks_at_once) == 2
    assert tasks_at_once() is None  # although Dask was there
