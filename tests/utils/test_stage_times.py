"""Stages of a fit: their seconds, and what is told of them."""

import sys

import pytest

from sk_han.utils import stage_times
from sk_han.utils.stage_times import Stages


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [10.0]
    monkeypatch.setattr(stage_times, "perf_counter", lambda: now[0])
    return now


def test_a_stage_that_comes_again_adds_to_its_seconds(clock):
    timed = Stages()
    for name, seconds in [("texts", 2.0), ("network", 5.0), ("texts", 1.5)]:
        with timed(name):
            clock[0] += seconds
    clock[0] += 1.0
    assert timed.seconds == {"texts": 3.5, "network": 5.0}
    assert timed.total == 9.5


def test_a_log_has_a_line_at_the_end_of_a_stage(clock, capsys):
    timed = Stages(verbose=1)
    with timed("texts"):
        clock[0] += 2.04
        assert capsys.readouterr().err == ""
    assert capsys.readouterr().err == "texts: 2.0 s\n"


def test_a_terminal_tells_of_a_stage_when_it_begins(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Stages(verbose=1)("word vectors"):
        assert capsys.readouterr().err == "word vectors ...\r"
    assert capsys.readouterr().err == "word vectors: 0.0 s\n"


def test_what_tells_itself_and_what_is_quiet_say_nothing(clock, capsys):
    with Stages(verbose=1)("network", tells=False), Stages()("texts"):
        pass
    assert capsys.readouterr().err == ""


def test_a_stage_that_fails_is_measured_and_not_told(clock, capsys):
    timed = Stages(verbose=1)

    def fail():
        with timed("texts"):
            clock[0] += 1.0
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert (timed.seconds, capsys.readouterr().err) == ({"texts": 1.0}, "")
