"""Stages and what is counted in them: a line that changes on a terminal, plain lines in a log."""

import sys

import pytest

from sk_han._utils import progress
from sk_han._utils.progress import Stages


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])
    monkeypatch.setattr(progress, "_last_told", 0.0)
    return now


def plural(clock, seconds, verbose=1):
    with Stages(verbose)("Predicted", "document") as advance:
        for second in seconds:
            clock[0] = second
            advance(1000)


def test_a_log_has_a_line_after_silence(clock, capsys):
    plural(clock, range(1, 19))
    assert capsys.readouterr().err.splitlines() == [
        "Predicted 8,000 documents in 8 s.",
        "Predicted 16,000 documents in 16 s.",
        "Predicted 18,000 documents in 18 s.",
    ]
    plural(clock, range(20, 40), verbose=0)
    assert capsys.readouterr().err == ""


def test_a_terminal_has_one_line_that_changes(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    plural(clock, [0.25, 2])
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert [line.rstrip() for line in told.split("\r")] == [
        "Predicted 1,000 documents in 0.25 s.",
        "Predicted 2,000 documents in 2 s.",
        "Predicted 2,000 documents in 2 s.",
    ]
    assert len({*map(len, told.rstrip("\n").split("\r")[1:])}) == 1  # no rest of a longer one


def test_an_error_replaces_the_line_of_progress(clock, capsys, monkeypatch):
    def seconds():
        yield 1.0
        raise RuntimeError("bad row")

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.raises(RuntimeError, match="bad row"):
        plural(clock, seconds())
    progress.tell("bad row")
    line = "Predicted 1,000 documents in 1 s."
    assert capsys.readouterr().err == f"{line}\r{'bad row':<{len(line)}}\n"


class OnlyWrites:
    """What a program may put in the place of standard error."""

    def write(self, text):
        raise OSError("No space left on device")

    def flush(self):
        """Do nothing."""


@pytest.mark.parametrize("stream", [None, OnlyWrites()])
def test_no_work_is_lost_because_its_progress_cannot_be_written(stream, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", stream)
    for verbose in (0, 1):
        with Stages(verbose)("Predicted", "document") as advance:
            advance(1000)
    progress.tell("done")
    assert capsys.readouterr().out == ""


def test_seconds_are_shown_in_readable_units():
    told = [progress.duration(seconds) for seconds in (1e-5, 0.04, 31.4, 600, 9000)]
    assert told == ["below 1 ms", "0.04 s", "31 s", "10 min", "2.5 h"]


# Stages of a fit


def test_repeated_and_failed_stages_add_up_their_seconds(clock):
    timed = Stages()

    def work(name, seconds, error=None):
        with timed(name):
            clock[0] += seconds
            if error:
                raise error

    work("texts", 2.0)
    work("network", 5.0)
    with pytest.raises(ValueError, match="no"):
        work("texts", 1.5, ValueError("no"))
    clock[0] += 1.0
    assert timed.seconds == {"texts": 3.5, "network": 5.0}
    assert timed.total == 9.5


def test_a_log_has_a_line_for_each_stage(clock, capsys):
    timed = Stages(verbose=1)
    with timed("set-up"):
        assert capsys.readouterr().err == "set-up ...\n"
    with timed("texts"):
        clock[0] += 2.04
    assert capsys.readouterr().err == "texts ...\ntexts: 2 s\n"
    with Stages()("texts"):
        clock[0] += 2
    assert capsys.readouterr().err == ""


def test_a_terminal_has_one_line_of_a_stage(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Stages(verbose=1)("word vectors"):
        assert capsys.readouterr().err == "word vectors ...\r"
        clock[0] += 2**-8
    assert capsys.readouterr().err == "word vectors: 0.0039 s\n"
    progress.tell("word vectors: 12 s so far", end="\r")
    progress.tell("word vectors: 12 s")
    progress.tell("network ...")
    lines = capsys.readouterr().err.partition("\r")[2]
    assert lines == f"{'word vectors: 12 s':<25}\nnetwork ...\n"  # no rest of the longer line
