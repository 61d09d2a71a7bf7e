"""Graph: nodes and constants of an ONNX graph, in the order in which they are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

# The dtype and the shape of values, by name; a string names a size that is not fixed.
Shaped = Mapping[str, tuple[Any, Sequence[int | str]]]

_OPSET = 18  # the first one with BitwiseXor, which hashing takes, and sums by ScatterND
_IR_VERSION = 8  # of the time of that opset


class Graph:
    """An ONNX graph that is written node by node, by the optional package `onnx`."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], Any] = {}

    def add(self, operator: str, *inputs: str, n_outputs: int = 1, **attributes: Any) -> str:
        """Add a node, and return the name of its first output."""
        name = f"{operator}_{len(self._nodes)}"
        outputs = [name, *(f"{name}_{number}" for number in range(1, n_outputs))]
        node = self._onnx.helper.make_node(operator, list(inputs), outputs, name, **attributes)
        self._nodes.append(node)
        return name

    def name(self, value: str, name: str) -> None:
        """Give a value a name of its own, by which it can be an output."""
        node = self._onnx.helper.make_node("Identity", [value], [name], name)
        self._nodes.append(node)

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """Return the name of a constant; equal ones are stored once."""
        array = np.asarray(value, dtype=dtype)
        key = array.dtype.str, array.shape, sha256(array.tobytes()).digest()
        if key not in self._constants:
            name = f"constant_{len(self._constants)}"
            self._constants[key] = self._onnx.numpy_helper.from_array(array, name)
        return str(self._constants[key].name)

    def cast(self, value: str, dtype: Any) -> str:
        """Convert a value."""
        return self.add("Cast", value, to=self._type(dtype))

    def zeros(self, shape: str, dtype: Any) -> str:
        """Return zeros of a shape that is computed."""
        zero = self._onnx.numpy_helper.from_array(np.zeros(1, dtype))
        return self.add("ConstantOfShape", shape, value=zero)

    def size(self, value: str) -> str:
        """Return the length of the first axis, shape (1,)."""
        return self.add("Shape", value, start=0, end=1)

    def model(self, inputs: Shaped, outputs: Shaped, metadata: dict[str, str], version: str) -> Any:
        """Return the checked model; inputs and outputs are given as dtype and shape."""
        helper = self._onnx.helper

        def described(values: Shaped) -> list[Any]:
            return [
                helper.make_tensor_value_info(name, self._type(dtype), shape)
                for name, (dtype, shape) in values.items()
            ]

        constants = list(self._constants.values())
        model = helper.make_model(
            helper.make_graph(
                self._nodes, "sk_han", described(inputs), described(outputs), constants
            ),
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
            producer_name="sk_han",
            producer_version=version,
        )
        helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _type(self, dtype: Any) -> int:
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


class Sequences:
    """The layout of N ragged sequences in a padded table of at least one row and one column.

    ONNX Runtime ends the process if a recurrent network is given nothing, so where there is no
    sequence, there is one without tokens, and where there is no token, there is one column.
    """

    def __init__(self, graph: Graph, lengths: str) -> None:
        one, last = graph.constant([1]), graph.constant([-1])
        missing = graph.add("Sub", one, graph.add("Min", graph.size(lengths), one))
        lengths = graph.add("Concat", lengths, graph.zeros(missing, np.int64), axis=0)
        self.size = graph.size(lengths)  # N, (1,)
        longest = graph.add("Max", graph.add("ReduceMax", lengths, keepdims=0), graph.constant(1))
        steps = graph.add("Range", graph.constant(0), longest, graph.constant(1))
        starts = graph.add("CumSum", lengths, graph.constant(0), exclusive=1)
        column = graph.add("Unsqueeze", lengths, one)  # (N, 1)
        filled = graph.add("Less", steps, column)  # (N, L)
        places = graph.add("Add", graph.add("Unsqueeze", starts, one), steps)
        # The token at each place of the table, or 0, and where tokens stand in the flat table.
        self.index = graph.add("Where", filled, places, graph.constant(0))  # (N, L)
        flat = graph.add("Reshape", filled, last)
        self.tokens = graph.add("Squeeze", graph.add("NonZero", flat), graph.constant([0]))  # (T,)
        self.of_token = graph.add("Div", self.tokens, longest)  # the number of its sequence, (T,)
        self.filled = graph.add("Unsqueeze", filled, graph.constant([2]))  # (N, L, 1)
        at_least_one = graph.add("Max", lengths, one)
        self.lengths = graph.cast(at_least_one, np.int32)  # as recurrent networks take them, (N,)
        self.n_tokens = graph.cast(graph.add("Unsqueeze", at_least_one, one), np.float32)  # (N, 1)
