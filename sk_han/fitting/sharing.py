"""What fits to the same documents have in common, and compute once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from typing import Any, NamedTuple, ParamSpec, TypeVar

from numpy.random import RandomState

from sk_han.kernels.engine import engine_in_use, n_threads

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Bytes of results that a process keeps: joblib ends processes that grow by more than 300 MB. With
# 5,000 film reviews a fold has 54 MB.
_MOST_KEPT = 1 << 27


class _Pickled(NamedTuple):
    """A result and the states of generators after it; arrays are copied and not pickled."""

    content: bytes
    arrays: list[bytearray]

    @property
    def size(self) -> int:
        return len(self.content) + sum(map(len, self.arrays))


# Results by the digests of their calls, the latest use last. It is replaced and never changed, so
# that threads and forked processes need no lock.
_kept: dict[bytes, _Pickled] = {}


def shared(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compute equal calls of a function once, such as those of the fits of a search.

    Folds differ in their documents, but for each fold many settings have the same linear models and
    word vectors. Results are equal to the bit: calls are equal if the contents of all arguments
    are, including the states of random generators, the engine and its number of threads. A
    generator continues where the function left it. Each caller gets a copy of the result. A process
    keeps the latest results, up to 128 MB. Calls with what cannot be pickled are not shared.
    """

    @wraps(function)
    def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
        generators = [
            each for each in (*arguments, *options.values()) if isinstance(each, RandomState)
        ]
        try:
            key = _digest(function.__qualname__, engine_in_use(), n_threads(), arguments, options)
        except (pickle.PicklingError, AttributeError, TypeError):  # of a user's local function
            return function(*arguments, **options)
        pickled = _kept.get(key)
        if pickled is None:
            result = function(*arguments, **options)
            states = [each.get_state(legacy=False) for each in generators]
            pickled = _pickled((result, states))
        else:
            copies = map(bytearray, pickled.arrays)
            result, states = pickle.loads(pickled.content, buffers=copies)
            for generator, state in zip(generators, states, strict=True):
                generator.set_state(state)
        if pickled is not None:
            _keep(key, pickled)
        return result

    return call


def forget_shared_results() -> None:
    """Let the next fits compute everything anew, as those whose time is measured."""
    global _kept
    _kept = {}


def _digest(*values: Any) -> bytes:
    """Hash the contents of values; arrays are read in place."""
    digest = blake2b(digest_size=16)
    content = pickle.dumps(values, 5, buffer_callback=lambda array: digest.update(array.raw()))
    digest.update(content)
    return digest.digest()


def _pickled(value: Any) -> _Pickled | None:
    """Pickle a value, or return None if it takes more bytes than may be kept."""
    arrays: list[pickle.PickleBuffer] = []
    content = pickle.dumps(value, 5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    if len(content) + sum(view.nbytes for view in views) > _MOST_KEPT:
        return None
    return _Pickled(content, list(map(bytearray, views)))


def _keep(key: bytes, pickled: _Pickled) -> None:
    """Keep a result as the latest one, and of the others as many as may be kept."""
    global _kept
    latest, size = {key: pickled}, pickled.size
    for earlier, other in reversed(_kept.items()):
        size += other.size
        if size > _MOST_KEPT:
            break
        if earlier != key:
            latest[earlier] = other
    _kept = dict(reversed(latest.items()))
