"""How long an epoch takes."""

import itertools
import time

from tests.tiny_models import LABELS, TEXTS, tiny


def test_a_clock_that_is_set_back_makes_no_epoch_negative(monkeypatch):
    hours = itertools.count(0, -3_600)
    monkeypatch.setattr(time, "time", lambda: float(next(hours)))
    before = time.perf_counter()
    history = tiny(max_epochs=3).fit(TEXTS, LABELS).history_
    taken = time.perf_counter() - before
    assert all(epoch["dur"] > 0 for epoch in history)
    assert sum(epoch["dur"] for epoch in history) < taken
