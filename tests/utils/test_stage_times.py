"""Stages of a fit: their seconds, and what is told of them."""

import re
import sys
import threading
import time

import pytest

from sk_han._utils import progress as stage_times
from sk_han._utils.progress import Stages


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


def test_a_log_has_a_line_at_the_beginning_of_a_stage_and_seconds_of_long_ones(clock, capsys):
    timed = Stages(verbose=1)
    with timed("set-up"):
        assert capsys.readouterr().err == "set-up ...\n"
    with timed("texts"):
        clock[0] += 2.04
    assert capsys.readouterr().err == "texts ...\ntexts: 2 s\n"


def test_a_terminal_has_one_line_of_a_stage(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Stages(verbose=1)("word vectors"):
        assert capsys.readouterr().err == "word vectors ...\r"
        clock[0] += 2**-8
    assert capsys.readouterr().err == "word vectors: 0.0039 s\n"


def test_what_has_a_bar_is_told_in_a_log_alone(clock, capsys, monkeypatch):
    with Stages(verbose=1)("network", has_bar=True):
        assert capsys.readouterr().err == "network ...\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Stages(verbose=1)("network", has_bar=True):
        pass
    assert capsys.readouterr().err == ""


def test_what_is_quiet_says_nothing(clock, capsys):
    timed = Stages()
    with timed.heartbeat(), timed("texts"):
        clock[0] += 2
    assert capsys.readouterr().err == ""


def test_a_long_stage_and_what_is_between_stages_are_not_silent(monkeypatch, capsys):
    monkeypatch.setattr(stage_times, "_LONGEST_SILENCE", 0.2)
    timed = Stages(verbose=1)
    with timed.heartbeat():
        with timed("linear models"):
            time.sleep(0.7)
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "linear models ..."
    assert re.fullmatch(r"linear models: \d s so far", lines[1])
    assert re.fullmatch(r"fit: \d s so far", lines[-1])
    n_before = threading.active_count()
    with timed.heartbeat():
        assert threading.active_count() == n_before + 1
    assert threading.active_count() == n_before


def test_a_stage_that_fails_is_measured_and_not_told(clock, capsys):
    timed = Stages(verbose=1)

    def fail():
        with timed("texts"):
            clock[0] += 1.0
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert (timed.seconds, capsys.readouterr().err) == ({"texts": 1.0}, "texts ...\n")
