"""What all kernels have in common: how they are compiled, and the types of their arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit, types

__all__ = ["compiled", "inlined", "inner", "readonly"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(result: Any, *arguments: Any) -> Callable[[_Function], _Function]:
    """Compile a function for these types when its module is loaded, or read it from the cache.

    Parameters
    ----------
    result : numba type
    *arguments : numba types
    """
    decorate: Callable[[_Function], _Function] = njit(
        result(*arguments), cache=True, nogil=True, error_model="numpy"
    )
    return decorate


def inner(result: Any, *arguments: Any) -> Callable[[_Function], _Function]:
    """Compile a function that only kernels call, without what Python needs to call it."""
    without: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    decorate: Callable[[_Function], _Function] = njit(
        result(*arguments), cache=True, nogil=True, error_model="numpy", **without
    )
    return decorate


def inlined(result: Any, *arguments: Any) -> Callable[[_Function], _Function]:
    """Compile a small function into each kernel that calls it."""
    without: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    decorate: Callable[[_Function], _Function] = njit(
        result(*arguments),
        cache=True,
        nogil=True,
        error_model="numpy",
        forceinline=True,
        **without,
    )
    return decorate


def readonly(dtype: Any, ndim: int = 1) -> Any:
    """Return the type of an array that is not written: it may be a read-only memory map."""
    return types.Array(dtype, ndim, "C", readonly=True)
