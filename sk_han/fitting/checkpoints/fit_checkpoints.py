"""The checkpoints of one fit: its file, whether it belongs to the fit, and what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from sk_han.fitting.checkpoints.checkpoint import as_checkpoint
from sk_han.storage.archive import read_archive, write_archive
from sk_han.storage.file_checks import model_file
from sk_han.storage.json_values import from_plain, to_plain
from sk_han.training.callbacks.checkpointing import Checkpointing
from sk_han.training.training_state import set_random_state
from sk_han.utils.atomic_write import check_replaceable, delete_unfinished, replacing
from sk_han.utils.model_format import ModelFormatError
from sk_han.utils.signals import from_signal
from sk_han.utils.visible_text import in_one_line
from sk_han.utils.warnings import warn_user

# Increased when an older release cannot read the file; a fit goes on with its own release only.
_FORMAT = 1
_KEYS = {"checkpoint_format", "fingerprint", "random_state", "stage", "training"}
# What is raised for values of a wrong type, shape or name.
_ERRORS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


class FitCheckpoints:
    """The checkpoints of one fit, which goes on from the one that it finds; with None none.

    A file that is damaged or no checkpoint is a ModelFormatError, a folder that cannot be used an
    OSError.
    """

    def __init__(self, checkpoint: Any) -> None:
        self._checkpoint: Any = as_checkpoint(checkpoint)  # None to keep nothing
        self._fingerprint: dict[str, str] = {}
        self._random_state: Any = None
        self._found: dict[str, Any] | None = None
        self._warned = False
        if self._checkpoint is None:
            return
        try:
            self._checkpoint.path.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise NotADirectoryError(
                f"checkpoint={str(self._checkpoint.folder)!r} is a file; give the name of a folder."
            ) from None
        check_replaceable(self._checkpoint.path)
        if self._checkpoint.path.exists():
            self._found = self._read()

    @property
    def is_kept(self) -> bool:
        """Whether anything is stored."""
        return self._checkpoint is not None

    def check(self, describe: Callable[[], dict[str, str]]) -> None:
        """Add strings to the fingerprint; a ValueError if those of the checkpoint differ."""
        if self._checkpoint is None:
            return
        part = describe()
        self._fingerprint |= part
        if self._found is None:
            return
        stored = self._found["fingerprint"]
        differing = [
            f"{name} ({_in_words(stored[name])} then, {_in_words(now)} now)"
            if name in stored
            else name
            for name, now in part.items()
            if stored.get(name) != now
        ]
        if differing:
            raise ValueError(
                f"The checkpoint in {str(self._checkpoint.folder)!r} is of another fit, which "
                f"differs in {'; '.join(differing)}. Give this fit another folder, or delete "
                f"{str(self._checkpoint.path)!r} if the other one is not to go on."
            )

    def random_state(self, given: np.random.RandomState, *, own: bool) -> np.random.RandomState:
        """Return the source of random numbers in the state that it had when the fit began.

        NumPy's global generator is not the fit's `own`, and is not set back.
        """
        if self._checkpoint is None:
            return given
        if self._found is None:
            self._random_state = given.get_state(legacy=False)
            return given
        self._random_state = self._found["random_state"]
        rng = given if own else np.random.RandomState()
        with self._explaining():
            set_random_state(rng, self._random_state)
        return rng

    def has_passed(self, stage: str) -> bool:
        """Return whether the checkpoint is of another, later stage."""
        return self._found is not None and self._found["stage"] != stage

    def callback(self, stage: str) -> Checkpointing | None:
        """Return the callback that stores and restores the training of a stage."""
        if self._checkpoint is None:
            return None
        write, restoring = partial(self._write, stage), partial(self._restoring, stage)
        return Checkpointing(write, restoring, 60 * self._checkpoint.minutes)

    def end(self) -> None:
        """Delete the checkpoint: the fit is whole, and no failure here may lose it."""
        if self._checkpoint is None:
            return
        try:
            self._checkpoint.path.unlink(missing_ok=True)
            delete_unfinished(self._checkpoint.path)
        except OSError as error:
            warn_user(f"The fit is whole, but its checkpoint could not be deleted: {error}.")

    def _read(self) -> dict[str, Any]:
        with self._explaining(), model_file(self._checkpoint.path) as file:
            description, arrays = read_archive(file)
            if not isinstance(description, dict) or description.keys() != {"dict"}:
                raise ValueError("it is a model, and no checkpoint of a fit")
            found = from_plain(description, arrays)
            if found.keys() != _KEYS or not isinstance(found["fingerprint"], dict):
                raise ValueError("it is no checkpoint of a fit")
            if found["checkpoint_format"] != _FORMAT:
                raise ValueError("it is of another release of sk_han")
            return dict(found)

    def _write(self, stage: str, state: dict[str, Any]) -> None:
        content = {
            "checkpoint_format": _FORMAT,
            "fingerprint": self._fingerprint,
            "random_state": self._random_state,
            "stage": stage,
            "training": state,
        }
        arrays: dict[str, Any] = {}
        try:
            description = to_plain(content, arrays)
        except TypeError as error:
            raise TypeError(
                f"This fit can have no checkpoint: {error}. state_dict of its optimizer and "
                "callbacks must give tensors and plain values; leave these or checkpoint out."
            ) from error
        try:
            with replacing(self._checkpoint.path) as file:
                write_archive(file, description, arrays)
        except OSError as error:
            if from_signal(error):
                raise
            if not self._warned:
                warn_user(
                    f"A checkpoint could not be written: {error}. The fit goes on, and tries again "
                    f"later; an earlier checkpoint in {str(self._checkpoint.folder)!r} is whole."
                )
            self._warned = True

    @contextmanager
    def _restoring(self, stage: str) -> Iterator[dict[str, Any] | None]:
        delete_unfinished(self._checkpoint.path)  # of this fit, when it was killed
        found, self._found = self._found, None  # its arrays are needed no longer
        with self._explaining():
            yield None if found is None or found["stage"] != stage else found["training"]

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Name the file in errors of what it holds, and the repair."""
        repair = "Delete it to begin the fit anew, or give another folder."
        try:
            yield
        except ModelFormatError as error:  # which names the file
            raise ModelFormatError(f"{error} {repair}") from error
        except _ERRORS as error:
            if from_signal(error):
                raise
            reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(". ")[:500]
            raise ModelFormatError(
                f"{self._checkpoint.path} is no checkpoint of this fit: {reason}. {repair}"
            ) from error


def _in_words(found: str) -> str:
    """Return a part of a fingerprint in one line; "none" for what was not given."""
    return in_one_line(found, 60) or "none"
