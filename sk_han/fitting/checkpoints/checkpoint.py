"""Checkpoint: where and how often a fit stores its state."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sk_han.utils.counts import a_kind

_NAME = "checkpoint.han"


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a fit stores its state, for the parameter `checkpoint` of `fit`.

    Parameters
    ----------
    folder : str or path-like
        The folder of this fit alone. It is created if there is none.
    minutes : float, default=10.0
        From one state to the next within an epoch; 0 stores one after every step. One is also
        stored after the first step and at the end of each epoch.

    Raises
    ------
    TypeError, ValueError
        If `folder` is no path, or `minutes` no number that is at least 0.

    Examples
    --------
    >>> from sk_han import Checkpoint
    >>> Checkpoint("reviews-fit", minutes=30)
    Checkpoint(folder='reviews-fit', minutes=30)
    """

    folder: str | os.PathLike[str]
    minutes: float = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.folder, (str, os.PathLike)):
            raise TypeError(
                f"The folder of a checkpoint must be a path; got {a_kind(self.folder)}."
            )
        if not os.fspath(self.folder):
            raise ValueError("The folder of a checkpoint has no name; give one, such as '.'.")
        number = isinstance(self.minutes, (int, float)) and not isinstance(self.minutes, bool)
        if not number or not self.minutes >= 0:
            raise ValueError(
                f"minutes of a Checkpoint must be a number from 0 on; got {self.minutes!r}."
            )

    @property
    def path(self) -> Path:
        """The file in the folder."""
        return Path(self.folder) / _NAME


def as_checkpoint(checkpoint: Any) -> Checkpoint | None:
    """Return what `fit` takes as a Checkpoint, or raise a TypeError."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    if isinstance(checkpoint, (str, os.PathLike)):
        return Checkpoint(checkpoint)
    raise TypeError(
        f"checkpoint must be the path of a folder or a Checkpoint; got {a_kind(checkpoint)}."
    )
