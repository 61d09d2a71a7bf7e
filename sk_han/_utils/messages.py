"""Words of errors and warnings: counts, quoted text, missing packages, checks of arguments."""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from inspect import signature
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    import numpy as np

_Function = TypeVar("_Function", bound=Callable[..., Any])
_SPOKEN_AS_VOWELS = ("a", "e", "i", "o", "nd")
_OF_ONE = {"are": "is", "have": "has", "were": "was"}


def counted(n: int, what: str = "document") -> str:
    """Write a number of things."""
    plural = "es" if what.endswith("s") else "s"
    return f"{n:,} {what}{'' if n == 1 else plural}"


def agreeing(n: int, verb: str) -> str:
    """Return a verb as it follows a number of things: "1 of 3 stands", "2 of 3 stand"."""
    return _OF_ONE.get(verb, f"{verb}s") if n == 1 else verb


def a_kind(value: object) -> str:
    """Return the type of a value with its article: "an int", "a list", "an ndarray"."""
    name = type(value).__name__
    return f"{'an' if name.lower().startswith(_SPOKEN_AS_VOWELS) else 'a'} {name}"


# C0 controls have pictures in Unicode. Tab and line breaks are layout and stay.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"}
_PICTURES[0x7F] = 0x2421
_WITHOUT_PICTURE = re.compile("[\x80-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

# Characters that change the direction of text (Unicode's bidirectional algorithm).
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Replace control characters and lone surrogates by visible ones, one for one."""
    return _WITHOUT_PICTURE.sub("\ufffd", text.translate(_PICTURES))


def in_reading_order(text: str) -> str:
    """Return `visible` text in which no invisible character turns the rest of a line round."""
    return _DIRECTIONS.sub("\ufffd", visible(text))


def in_one_line(label: object, longest: int | None = None) -> str:
    """Return a label in reading order and in one line, of no more than `longest` characters."""
    text = " ".join(in_reading_order(str(label)).split())
    return text if longest is None else shortened(text, longest)


def shortened(text: str, longest: int) -> str:
    """Return a text of no more than `longest` characters: a longer one lacks its middle.

    Labels may begin alike, or end.
    """
    if len(text) <= longest:
        return text
    end = len(text) - (longest - 1) // 2
    return f"{text[: longest // 2]}\N{HORIZONTAL ELLIPSIS}{text[end:]}"


def shortened_apart(texts: Sequence[str], longest: int) -> list[str]:
    """Return texts as `shortened` does; those that it makes alike end in a number."""
    by_name: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        by_name.setdefault(shortened(text, longest), []).append(text)
    names = {}
    for name, alike in by_name.items():
        for number, text in enumerate(alike, start=1):
            end = f" ({number})" if len(alike) > 1 else ""
            names[text] = shortened(name, longest - len(end)) + end
    return [names[text] for text in texts]


# Parameters as Keras and scikit-learn call them, whose names here are not alike.
_OF_OTHERS = {"learning_rate": "lr", "n_jobs": "n_threads", "validation_data": "X_val"}


def nearest_name(name: str, names: Iterable[str]) -> str:
    """Return " Did you mean 'price'?" for the nearest name, whatever its case, or nothing."""
    by_lower = {known.strip().lower(): known for known in names}
    name = _OF_OTHERS.get(name, name)
    close = difflib.get_close_matches(name.strip().lower(), by_lower, n=1)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


def suggesting_names(function: _Function) -> _Function:
    """Let the error for an unknown argument name the parameter that is nearest."""
    known = signature(function).parameters

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs.keys() - known:
            hint = nearest_name(name, known)
            raise TypeError(f"{function.__qualname__}() has no parameter {name!r}.{hint}")
        return function(*args, **kwargs)

    return cast(_Function, call)


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Check that a parameter is one of some strings."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}; got {value!r}.")


def check_count(name: str, value: Any) -> None:
    """Check that a parameter is an integer of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")


def refuse_masked(values: Any, name: str) -> None:
    """Refuse an array of `numpy.ma` with masked values: others would be read in their place."""
    import numpy as np

    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        first = tuple(place.item() for place in np.argwhere(np.ma.getmaskarray(values))[0])
        raise ValueError(
            f"{name} has masked values, the first at position {', '.join(map(str, first))}, and "
            "masks are not read. Leave these rows out, or give values in their place by filled()."
        )


def random_source(random_state: Any) -> np.random.Generator | np.random.RandomState:
    """Return the source of random numbers that a parameter names; ValueError if it names none."""
    import numpy as np  # not above: the command line shows its help without it

    if isinstance(random_state, np.random.RandomState):
        return random_state
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state must be an integer >= 0, a RandomState, a Generator or None; got "
            f"{random_state!r}."
        ) from error


# Packages whose frames may be between the user's line and our warning.
_BETWEEN = {"contextlib", "joblib", "sk_han", "sklearn", "skorch", "torch"}

# Lines that were warned once.
_warned: set[tuple[str, int]] = set()


def warn_user(message: str, category: type[Warning] = UserWarning, *, once: bool = False) -> None:
    """Warn, and point to the last line outside of sk_han, scikit-learn, skorch and joblib.

    A process warns `once` of each line of the user, such as one in a loop, whatever the message.
    """
    # As skip_file_prefixes of warnings.warn does from Python 3.12 on.
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame.f_globals) in _BETWEEN:
        frame, level = frame.f_back, level + 1
    place = frame.f_code.co_filename, frame.f_lineno
    if once and place in _warned:
        return
    if once:
        _warned.add(place)
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def taking_many_classes() -> Iterator[None]:
    """Fit models of scikit-learn to many classes of few documents, which are not a regression."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
        yield


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]


def import_optional(name: str, extra: str, caller: str) -> Any:
    """Import a package of an extra of sk-han, or name the command that installs it."""
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ModuleNotFoundError(
            f'{caller} needs {package}: pip install "sk-han[{extra}]"', name=package
        ) from error
