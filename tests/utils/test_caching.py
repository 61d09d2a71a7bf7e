"""Attributes that are computed when they are first read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from sk_han.utils.caching import cached_property


class Waiting:
    """Computes an attribute as soon as it may."""

    def __init__(self) -> None:
        self.begun, self.may_end = Event(), Event()

    @cached_property
    def value(self) -> object:
        """The value."""
        self.begun.set()
        assert self.may_end.wait(10)
        return object()


def test_it_is_computed_once() -> None:
    instance = Waiting()
    instance.may_end.set()
    assert instance.value is instance.value
    assert Waiting.value.__doc__ == "The value."


def test_instances_do_not_wait_for_each_other() -> None:
    slow, quick = Waiting(), Waiting()
    quick.may_end.set()
    with ThreadPoolExecutor(2) as threads:
        waiting = threads.submit(lambda: slow.value)
        assert slow.begun.wait(10)
        try:
            assert threads.submit(lambda: quick.value).result(timeout=5)
        finally:
            slow.may_end.set()
        assert waiting.result() is slow.value


def test_threads_that_compute_it_together_get_one_object() -> None:
    instance = Waiting()
    with ThreadPoolExecutor(2) as threads:
        values = [threads.submit(lambda: instance.value) for _ in range(2)]
        assert instance.begun.wait(10)
        instance.may_end.set()
        assert values[0].result() is values[1].result()
