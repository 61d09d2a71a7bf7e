"""Threads that draw tasks."""

import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest

from sk_han._kernels import engine as tasks
from sk_han._kernels.engine import n_threads, run_tasks, using_threads

LOCK = threading.Lock()


def kernel(counter, n_tasks, done, by):
    """Draw tasks as compiled kernels do, and count how often each is done."""
    while True:
        with LOCK:
            task = int(counter[0])
            counter[0] += 1
        if task >= n_tasks:
            return
        sleep(0.001)
        done[task] += 1
        by.add(threading.get_ident())


def ran(n_tasks, threads=None):
    done, by = np.zeros(n_tasks, dtype=int), set[int]()
    run_tasks(kernel, n_tasks, done, by, threads=threads)
    return done.tolist(), len(by)


@pytest.mark.parametrize("n_tasks", [0, 1, 2, 17])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_each_task_is_done_once(n_tasks, threads):
    assert ran(n_tasks, threads)[0] == [1] * n_tasks


def test_tasks_run_on_several_threads():
    assert ran(50, 2)[1] == 2


def test_one_thread_is_used_outside_of_a_block():
    assert (n_threads(), n_threads(7), ran(5)[1]) == (1, 7, 1)
    with using_threads(3):
        assert (n_threads(), n_threads(7)) == (3, 3)
    assert n_threads() == 1


def test_callers_of_several_threads_share_a_pool():
    with ThreadPoolExecutor(5) as pool:
        found = list(pool.map(lambda _: ran(7, 3)[0], range(20)))
    assert found == [[1] * 7] * 20


def test_the_caller_does_all_work_without_helper_threads(monkeypatch):
    class Closed:
        def submit(self, *arguments):
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setitem(tasks._POOLS, 2, Closed())
    assert ran(7, 2) == ([1] * 7, 1)


def test_an_error_of_a_thread_is_raised():
    def failing(counter, n_tasks):
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("of a thread")
        sleep(0.05)

    with pytest.raises(ValueError, match="of a thread"):
        run_tasks(failing, 2, threads=2)
