"""Tasks drawn from a counter that several threads share."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


def _draw(typing_context: Any, counter: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        one = context.get_constant(types.int64, 1)
        return builder.atomic_rmw("add", array.data, one, "monotonic")

    return types.int64(counter), code


# ``draw(counter)`` returns counter[0] and adds 1 to it, in one step that no thread can divide.
draw: Any = intrinsic(_draw)
