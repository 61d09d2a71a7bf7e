"""What all kernels have in common: how they are compiled, types of arrays, and drawing of tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit, types
from numba.extending import intrinsic

_Function = TypeVar("_Function", bound=Callable[..., Any])

NUMBERS, POSITIONS, SIZE = types.float32[::1], types.int64[::1], types.int64


def compiled(result: Any, *arguments: Any, **options: Any) -> Callable[[_Function], _Function]:
    """Compile a function for these types when its module is loaded, or read it from the cache."""
    decorate: Callable[[_Function], _Function] = njit(
        result(*arguments), cache=True, nogil=True, error_model="numpy", **options
    )
    return decorate


def inner(result: Any, *arguments: Any, **options: Any) -> Callable[[_Function], _Function]:
    """Compile a function that only kernels call, without what Python needs to call it."""
    return compiled(result, *arguments, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def inlined(result: Any, *arguments: Any) -> Callable[[_Function], _Function]:
    """Compile a small function into each kernel that calls it."""
    return inner(result, *arguments, forceinline=True)


def readonly(dtype: Any, ndim: int = 1) -> Any:
    """Return the type of an array that is not written: it may be a read-only memory map."""
    return types.Array(dtype, ndim, "C", readonly=True)


@intrinsic
def draw(typing: Any, counter: Any) -> Any:
    """Return ``counter[0]`` and add 1 to it, in one step that no thread can divide."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        one = context.get_constant(types.int64, 1)
        return builder.atomic_rmw("add", array.data, one, "monotonic")

    return types.int64(counter), generate
