"""What the fits of a search have in common, and compute once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from typing import Any, ParamSpec, TypeVar

from numpy.random import RandomState

from sk_han.kernels.engine import engine_in_use, n_threads
from sk_han.training.callbacks import is_wrapped_fit

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Bytes of results that a process keeps. With 5,000 film reviews a fold has 54 MB.
_MOST_KEPT = 1 << 29

# Pickled results by the digests of their calls, the latest use last. It is replaced and never
# changed, so that threads and forked processes need no lock.
_kept: dict[bytes, bytes] = {}


def shared(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a search compute equal calls of a function once; a fit of its own computes them anew.

    Folds differ in their documents, but for each fold many settings have the same linear models and
    word vectors. Results are equal to the bit: calls are equal if the contents of all arguments
    are, including the states of random generators, the engine and its number of threads. A
    generator continues where the function left it. Each caller gets a copy of the result. A process
    keeps 512 MB of the latest results, until a fit outside of a search.
    """

    @wraps(function)
    def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
        global _kept
        if not is_wrapped_fit():
            _kept = {}
            return function(*arguments, **options)
        generators = [each for each in arguments if isinstance(each, RandomState)]
        key = _digest(function.__qualname__, engine_in_use(), n_threads(), arguments, options)
        found = _kept.get(key)
        if found is None:
            result = function(*arguments, **options)
            states = [each.get_state(legacy=False) for each in generators]
            found = pickle.dumps((result, states), protocol=5)
        else:
            result, states = pickle.loads(found)
            for generator, state in zip(generators, states, strict=True):
                generator.set_state(state)
        _kept = _latest({**{k: v for k, v in _kept.items() if k != key}, key: found})
        return result

    return call


def _digest(*values: Any) -> bytes:
    """Hash the contents of values; arrays are read in place."""
    digest = blake2b(digest_size=16)
    content = pickle.dumps(values, 5, buffer_callback=lambda array: digest.update(array.raw()))
    digest.update(content)
    return digest.digest()


def _latest(results: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the last of the results, as many as may be kept."""
    latest, size = {}, 0
    for key, result in reversed(results.items()):
        size += len(result)
        if size > _MOST_KEPT:
            break
        latest[key] = result
    return dict(reversed(latest.items()))
