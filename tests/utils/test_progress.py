"""A line that changes on a terminal, plain lines in a log."""

import io
import sys
import types

import pytest

from sk_han._utils import progress
from sk_han._utils.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def counted(clock, seconds, **options):
    with Progress("Predicted", **{"quiet": False, **options}) as shown:
        for second in seconds:
            clock[0] = second
            shown.advance(1000)


def test_a_log_has_a_line_each_half_minute_and_at_the_end(clock, capsys):
    counted(clock, range(1, 65))
    assert capsys.readouterr().err.splitlines() == [
        "Predicted 30,000 documents in 30 s.",
        "Predicted 60,000 documents in 60 s.",
        "Predicted 64,000 documents in 64 s.",
    ]


def test_rows_may_have_nowhere_to_go(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", None)
    counted(clock, [1], beside_rows=True)
    assert "1,000 documents" in capsys.readouterr().err


def test_a_terminal_has_one_line_that_changes(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    counted(clock, [0.25, 2])
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert [line.rstrip() for line in told.split("\r")] == [
        "",
        "Predicted 1,000 documents in 0.25 s.",
        "Predicted 2,000 documents in 2 s.",
        "Predicted 2,000 documents in 2 s.",
    ]
    assert len({*map(len, told.rstrip("\n").split("\r")[1:])}) == 1  # no rest of a longer one


def test_rows_on_a_terminal_show_how_far_it_is(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    counted(clock, [1, 2], beside_rows=True)
    assert capsys.readouterr().err == ""


def test_quiet_says_nothing(clock, capsys):
    counted(clock, [40], quiet=True)
    assert capsys.readouterr().err == ""


def test_an_error_comes_on_a_line_of_its_own(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.raises(RuntimeError, match="bad row"):
        counted(clock, one_second_and_an_error())
    told = capsys.readouterr().err
    assert told.rstrip(" \n") == "\rPredicted 1,000 documents in 1 s."
    assert told.endswith("\n")


def one_second_and_an_error():
    yield 1.0
    raise RuntimeError("bad row")


class OnlyWrites:
    """What a program may put in the place of standard error."""

    def write(self, text):
        raise OSError("No space left on device")

    def flush(self):
        """Do nothing."""


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [None, OnlyWrites(), closed()])
def test_no_work_is_lost_because_its_progress_cannot_be_written(stream, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", stream)
    for quiet in (False, True):
        with Progress("Predicted", quiet=quiet) as shown:
            shown.advance(1000)
    progress.tell("done")
    assert capsys.readouterr().out == ""


def test_an_ipython_without_a_shell_is_no_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    assert not progress.rewrites_lines()


def test_seconds_are_told_in_the_unit_of_a_reader():
    told = [progress.duration(seconds) for seconds in (1e-5, 0.04, 31.4, 600, 9000)]
    assert told == ["below 1 ms", "0.04 s", "31 s", "10 min", "2.5 h"]
