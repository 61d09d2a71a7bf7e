"""Warnings that point to the line of the user's program."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# Packages whose frames may be between the user's line and our warning.
_BETWEEN = {"contextlib", "joblib", "sk_han", "sklearn", "skorch", "torch"}


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and point to the last line outside of sk_han, scikit-learn, skorch and joblib."""
    # As skip_file_prefixes of warnings.warn does from Python 3.12 on.
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame.f_globals) in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def taking_many_classes() -> Iterator[None]:
    """Fit models of scikit-learn to many classes of few documents, which are no regression."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
        yield


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
