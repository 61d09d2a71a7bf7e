"""Parts of messages: counts, quoted text, suggestions; and checks that many functions share."""

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


def plural(n: int, what: str = "document") -> str:
    """Return a number with its noun in the right number: "1 document", "2,000 classes"."""
    plural = "es" if what.endswith("s") else "s"
    return f"{n:,} {what}{'' if n == 1 else plural}"


def agreeing(n: int, verb: str) -> str:
    """Return the form of a verb that agrees with a number: "1 of 3 stands", "2 of 3 stand"."""
    return _OF_ONE.get(verb, f"{verb}s") if n == 1 else verb


def a_kind(value: object) -> str:
    """Return the type of a value with its article: "an int", "a list", "an ndarray"."""
    name = type(value).__name__
    return f"{'an' if name.lower().startswith(_SPOKEN_AS_VOWELS) else 'a'} {name}"


# Unicode has a visible symbol for each C0 control character. Tab and line breaks are layout and
# stay.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"}
_PICTURES[0x7F] = 0x2421
_WITHOUT_PICTURE = re.compile("[\x80-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

# Characters that change the direction of text (Unicode's bidirectional algorithm).
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Replace each control character and lone surrogate by one visible character."""
    return _WITHOUT_PICTURE.sub("\ufffd", text.translate(_PICTURES))


def in_reading_order(text: str) -> str:
    """Return `visible` text without the characters that reverse the direction of what follows."""
    return _DIRECTIONS.sub("\ufffd", visible(text))


def in_one_line(label: object, longest: int | None = None) -> str:
    """Return a label for a message: visible characters, one line, at most `longest` characters."""
    text = " ".join(in_reading_order(str(label)).split())
    return text if longest is None else shorten(text, longest)


def shorten(text: str, longest: int) -> str:
    """Shorten a text to `longest` characters by leaving out its middle.

    Both ends are kept, since labels often differ only there.
    """
    if len(text) <= longest:
        return text
    end = len(text) - (longest - 1) // 2
    return f"{text[: longest // 2]}\N{HORIZONTAL ELLIPSIS}{text[end:]}"


def shorten_apart(texts: Sequence[str], longest: int) -> list[str]:
    """Shorten texts like `shorten`, and append a number to those that would become equal."""
    by_name: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        by_name.setdefault(shorten(text, longest), []).append(text)
    names = {}
    for name, equal in by_name.items():
        for number, text in enumerate(equal, start=1):
            end = f" ({number})" if len(equal) > 1 else ""
            names[text] = shorten(name, longest - len(end)) + end
    return [names[text] for text in texts]


# Names of Keras and scikit-learn for parameters whose names here are not similar.
_OF_OTHERS = {"learning_rate": "lr", "n_jobs": "n_threads", "validation_data": "X_val"}


def nearest_name(name: str, names: Iterable[str]) -> str:
    """Return " Did you mean 'price'?" for the most similar name, ignoring case, or else ""."""
    by_lower = {candidate.strip().lower(): candidate for candidate in names}
    name = _OF_OTHERS.get(name, name)
    close = difflib.get_close_matches(name.strip().lower(), by_lower, n=1)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


def suggesting_names(function: _Function) -> _Function:
    """Decorate a function so that its error for an unknown argument suggests a similar name."""
    parameters = signature(function).parameters

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs.keys() - parameters:
            hint = nearest_name(name, parameters)
            raise TypeError(f"{function.__qualname__}() has no parameter {name!r}.{hint}")
        return function(*args, **kwargs)

    return cast(_Function, call)


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raise a ValueError unless a parameter is one of these strings."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}; got {value!r}.")


def check_count(name: str, value: Any) -> None:
    """Raise a ValueError unless a parameter is an integer of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")


def refuse_masked(values: Any, name: str) -> None:
    """Raise a ValueError for masked values of `numpy.ma`, since the hidden values would be read."""
    import numpy as np

    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        first = tuple(place.item() for place in np.argwhere(np.ma.getmaskarray(values))[0])
        raise ValueError(
            f"{name} has masked values, the first at position {', '.join(map(str, first))}, but "
            "masks are not read. Leave out these rows, or replace the values by filled()."
        )


def random_source(random_state: Any) -> np.random.Generator | np.random.RandomState:
    """Return the generator for a parameter `random_state`; raise a ValueError for other values."""
    # NumPy is imported here, so that the command line shows its help without it.
    import numpy as np

    if isinstance(random_state, np.random.RandomState):
        return random_state
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state must be an integer >= 0, a RandomState, a Generator or None; got "
            f"{random_state!r}."
        ) from error


# Packages whose frames may lie between the user's line and our warning.
_BETWEEN = {"contextlib", "joblib", "sk_han", "sklearn", "skorch", "torch"}

# Lines of users for which a warning was issued `once`.
_warned: set[tuple[str, int]] = set()


def warn_user(message: str, category: type[Warning] = UserWarning, *, once: bool = False) -> None:
    """Issue a warning that points to the last line outside sk_han, scikit-learn, skorch and joblib.

    With `once` a line of the user, such as one in a loop, is warned once per process, even if the
    messages differ.
    """
    # From Python 3.12 on, `skip_file_prefixes` of `warnings.warn` does the same.
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
    """Ignore scikit-learn's warning that targets with many classes might be a regression."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
        yield


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]


def import_optional(name: str, extra: str, caller: str) -> Any:
    """Import an optional package; if it is missing, name the command that installs it."""
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ModuleNotFoundError(
            f'{caller} needs {package}: pip install "sk-han[{extra}]"', name=package
        ) from error
