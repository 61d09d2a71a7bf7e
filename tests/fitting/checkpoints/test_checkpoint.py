"""Where and how often: the object that a user makes."""

import math
from pathlib import Path

import pytest

from sk_han import Checkpoint
from sk_han.fitting.checkpoints.checkpoint import as_checkpoint


def test_a_path_is_a_checkpoint_of_ten_minutes():
    assert as_checkpoint("folder") == Checkpoint("folder", minutes=10.0)
    assert as_checkpoint(Path("folder")).path == Path("folder") / "checkpoint.han"


def test_none_is_none():
    assert as_checkpoint(None) is None


@pytest.mark.parametrize("minutes", [-1, math.nan, "10", None, True])
def test_minutes_are_a_number_from_zero_on(minutes):
    with pytest.raises(ValueError, match="minutes of a Checkpoint must be a number from 0 on"):
        Checkpoint("folder", minutes=minutes)


@pytest.mark.parametrize("minutes", [0, 0.5, 30, math.inf])
def test_any_such_number_will_do(minutes):
    assert Checkpoint("folder", minutes=minutes).minutes == minutes


@pytest.mark.parametrize("folder", [3, None, ["folder"]])
def test_a_folder_is_a_path(folder):
    with pytest.raises(TypeError, match="must be a path; got a"):
        Checkpoint(folder)


def test_a_folder_has_a_name():
    with pytest.raises(ValueError, match="has no name"):
        Checkpoint("")
