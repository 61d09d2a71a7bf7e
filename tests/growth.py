"""How the time of some work grows with its size."""

import math
import resource
import timeit

LIMIT = 15
_SHORTEST = 0.05  # seconds; below, lists that outgrow the caches cost four times for twice the size
_PAIRS = 5


def _seconds(work, size):
    """Time of the processor, which waiting for neighbours on a busy machine does not lengthen.

    That of the program alone: the kernel hands out memory in pages, three times the work of
    matching "a'a'a'", but only above a size that depends on what the process has freed before.
    """
    return timeit.timeit(lambda: work(size), timer=_user_time, number=1)


def _user_time():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def growth(work, size=1_000):
    """Give how many times longer `work(10 * size)` takes than `work(size)`.

    The size is doubled until the time can be measured, as `timeit` does: quadratic work hides
    where all that is measured is a fixed cost or the noise of the clock. Neighbours on a busy
    machine double single times still, by sharing its caches, so the two sizes take turns, and the
    least of a few ratios counts; the first that is within `LIMIT` ends the search.
    """
    while min(_seconds(work, size), _seconds(work, size)) < _SHORTEST:
        size *= 2
    least = math.inf
    for _ in range(_PAIRS):
        shorter = _seconds(work, size)
        least = min(least, _seconds(work, 10 * size) / shorter)
        if least <= LIMIT:
            break
    return least
