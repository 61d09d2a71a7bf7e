from sk_han._kernels.engine import tasks_at_once
from sk_han._text.reader import _n_workers
from tests.dask_workers import in_a_task


def test_a_dask_task_knows_the_threads_of_its_worker():
    assert in_a_task(tasks_at_once) == 2
    assert tasks_at_once() is None  # although Dask was there
    assert in_a_task(lambda: _n_workers(4)) == 1
