"""Vectors of 16 float32 numbers for kernels, and a product of small matrices.

Numba vectorizes plain loops only in some cases: an index of unknown sign, or more than about eight
arrays that might overlap, made a loop three times slower here. So kernels load, compute and store
vectors explicitly, as LLVM instructions. LLVM splits a vector if the processor's registers are
smaller.

Numba's cache only notices a change of the kernel's own file. After a change of this file, delete
``sk_han/_kernels/__pycache__``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic, models, overload, register_model

_Function = TypeVar("_Function", bound=Callable[..., Any])
NUMBERS, POSITIONS, SIZE = types.float32[::1], types.int64[::1], types.int64


def jit(result: Any, *arguments: Any, **options: Any) -> Callable[[_Function], _Function]:
    """Compile a function for these types when its module is imported, or load it from the cache."""
    decorate: Callable[[_Function], _Function] = njit(
        result(*arguments), cache=True, nogil=True, error_model="numpy", **options
    )
    return decorate


def inner_jit(result: Any, *arguments: Any, **options: Any) -> Callable[[_Function], _Function]:
    """Compile a function that only kernels call, without a wrapper for calls from Python."""
    return jit(result, *arguments, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def inline_jit(result: Any, *arguments: Any) -> Callable[[_Function], _Function]:
    """Compile a small function into each kernel that calls it."""
    return inner_jit(result, *arguments, forceinline=True)


def readonly(dtype: Any, ndim: int = 1) -> Any:
    """Return the type of an array that is only read, and so may be a read-only memory map."""
    return types.Array(dtype, ndim, "C", readonly=True)


@intrinsic
def draw(typing: Any, counter: Any) -> Any:
    """Return ``counter[0]`` and add 1 to it, as one atomic operation."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        one = context.get_constant(types.int64, 1)
        return builder.atomic_rmw("add", array.data, one, "monotonic")

    return types.int64(counter), generate


LANES = 16
_HAS_AVX512 = "+avx512f" in cpu_target.target_context.codegen().magic_tuple()[2]

# Rows and vectors of a block of `multiply_add`, small enough that its sums stay in registers.
# AVX-512 has 32 registers of one vector each; other processors have registers for 8 vectors (AVX2)
# or less.
ROWS, BLOCK = (5, 5) if _HAS_AVX512 else (6, 1)

# LLVM may contract or reorder sums and products. Its flag "fast" would also assume that there is no
# NaN or infinity, but diverged training is recognized by them.
_FLAGS = ("contract", "reassoc", "nsz", "arcp")

# Since LLVM 22 masked loads and stores no longer take the alignment as an argument.
_ALIGNMENT_IS_ARGUMENT = binding.llvm_version_info[0] < 22
_FLOAT, _I32, _I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, LANES)
_I32S = ir.VectorType(_I32, LANES)


class _VectorType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="float32x16")


vector_type = _VectorType()


@register_model(_VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _VECTOR)


def _constant(value: float) -> ir.Constant:
    return ir.Constant(_VECTOR, [float(np.float32(value))] * LANES)


def _splat(builder: Any, number: Any) -> Any:
    undefined = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(_I32S, [0] * LANES))


def _address(context: Any, builder: Any, array_type: Any, array: Any, position: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [position])


def _as_vector(builder: Any, address: Any) -> Any:
    return builder.bitcast(address, _VECTOR.as_pointer())


def _vector_at(context: Any, builder: Any, *array: Any) -> Any:
    return _as_vector(builder, _address(context, builder, *array))


def _multiply_add(builder: Any, x: Any, y: Any, z: Any) -> Any:
    return builder.fadd(builder.fmul(x, y, flags=_FLAGS), z, flags=_FLAGS)


def _first_lanes(builder: Any, n: Any) -> Any:
    """Return a mask of the first `n` lanes."""
    lanes = ir.Constant(_I32S, list(range(LANES)))
    return builder.icmp_signed("<", lanes, _splat(builder, builder.trunc(n, _I32)))


def _call_masked(builder: Any, name: str, result: Any, before: list[Any], *mask: Any) -> Any:
    """Call LLVM's masked load or store; the last argument before the mask is a pointer."""
    alignment = [ir.Constant(_I32, 4)] if _ALIGNMENT_IS_ARGUMENT else []
    return _call(builder, f"masked.{name}.v16f32.p0", result, *before, *alignment, *mask)


def _call(builder: Any, name: str, result: Any, *arguments: Any, **options: Any) -> Any:
    """Call a function of LLVM."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}")
    return builder.call(function, arguments, **options)


@intrinsic
def load(typing: Any, array: Any, position: Any) -> Any:
    """Return the 16 numbers of an array from a position on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = _vector_at(context, builder, signature.args[0], *arguments)
        return builder.load(source, align=4)

    return vector_type(array, types.intp), generate


@intrinsic
def load_part(typing: Any, array: Any, position: Any, n: Any) -> Any:
    """Return the first `n` of the 16 numbers from a position on, and zeros; read no others."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, position, n = arguments
        source = _vector_at(context, builder, signature.args[0], array, position)
        return _call_masked(
            builder, "load", _VECTOR, [source], _first_lanes(builder, n), _constant(0)
        )

    return vector_type(array, types.intp, types.intp), generate


@intrinsic
def store(typing: Any, array: Any, position: Any, vector: Any) -> Any:
    """Write a vector into an array from a position on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, position, vector = arguments
        target = _vector_at(context, builder, signature.args[0], array, position)
        builder.store(vector, target, align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector_type), generate


@intrinsic
def store_part(typing: Any, array: Any, position: Any, vector: Any, n: Any) -> Any:
    """Write the first `n` numbers of a vector, and leave what follows in the array alone."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, position, vector, n = arguments
        target = _vector_at(context, builder, signature.args[0], array, position)
        _call_masked(builder, "store", ir.VoidType(), [vector, target], _first_lanes(builder, n))
        return context.get_dummy_value()

    return types.void(array, types.intp, vector_type, types.intp), generate


@inline_jit(vector_type, NUMBERS, SIZE)
def load_within(array: Any, position: int) -> Any:
    """Return the 16 numbers from a position on; zeros beyond the end of the array."""
    if position + LANES <= len(array):
        return load(array, position)
    return load_part(array, position, len(array) - position)


@inline_jit(types.void, NUMBERS, SIZE, vector_type, SIZE)
def store_within(array: Any, position: int, vector: Any, n: int) -> None:
    """Write the first `n` numbers of a vector; all of them if `n` is 16 or more."""
    if n >= LANES:
        store(array, position, vector)
    else:
        store_part(array, position, vector, n)


@intrinsic
def splat(typing: Any, number: Any) -> Any:
    """Return a vector of 16 times the same number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _splat(builder, arguments[0])

    return vector_type(types.float32), generate


@intrinsic
def total(typing: Any, vector: Any) -> Any:
    """Return the sum of the 16 numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        terms = ir.Constant(_FLOAT, 0.0), arguments[0]
        name = "vector.reduce.fadd.v16f32"
        return _call(builder, name, _FLOAT, *terms, fastmath=("reassoc",))

    return types.float32(vector_type), generate


# Coefficients of the Taylor series of 2 ** f, which is exact to 1e-8 for |f| <= 0.5.
_POWER_OF_2 = [math.log(2) ** k / math.factorial(k) for k in range(8)]


def _square_root(builder: Any, x: Any) -> Any:
    return _call(builder, "sqrt.v16f32", _VECTOR, x)


def _sigmoid(builder: Any, x: Any) -> Any:
    """Compute ``1 / (1 + exp(-x))``; a NaN stays one."""
    # Beyond these limits the exponential is not a normal number. The comparison is false for a NaN,
    # which therefore stays.
    for sign, limit in ((">", 87.0), ("<", -87.0)):
        outside = builder.fcmp_ordered(sign, x, _constant(limit))
        x = builder.select(outside, _constant(limit), x)
    y = builder.fmul(x, _constant(-1 / math.log(2)), flags=_FLAGS)
    # exp(-x) = 2 ** y is computed as a power of the fraction, whose exponent bits are then raised
    # by the whole part.
    whole = _call(builder, "rint.v16f32", _VECTOR, y)
    fraction = builder.fsub(y, whole)
    power = _constant(_POWER_OF_2[-1])
    for coefficient in reversed(_POWER_OF_2[:-1]):
        power = _multiply_add(builder, power, fraction, _constant(coefficient))
    exponent = builder.shl(builder.fptosi(whole, _I32S), ir.Constant(_I32S, [23] * LANES))
    bits = builder.add(builder.bitcast(power, _I32S), exponent)
    one = _constant(1)
    return builder.fdiv(one, builder.fadd(one, builder.bitcast(bits, _VECTOR)))


def _tanh(builder: Any, x: Any) -> Any:
    """Compute the hyperbolic tangent as ``2 * sigmoid(2 x) - 1``; equal to 1e-7."""
    s = _sigmoid(builder, builder.fadd(x, x))
    return _multiply_add(builder, s, _constant(2), _constant(-1))


def _elementwise(compute: Callable[[Any, Any], Any]) -> Any:
    """Return an intrinsic that applies a function to a vector."""

    @intrinsic
    def function(typing: Any, vector: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return compute(builder, arguments[0])

        return vector_type(vector_type), generate

    return function


square_root, sigmoid, tanh = map(_elementwise, (_square_root, _sigmoid, _tanh))


def _operation(python_operator: Callable[..., Any], name: str) -> None:
    @intrinsic
    def operation(typing: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(*arguments, flags=_FLAGS)

        return vector_type(vector_type, vector_type), generate

    # Numba requires the signature of the implementation to be exactly that of this function, so
    # neither has annotations.
    @overload(python_operator)
    def implement(x, y):  # type: ignore[no-untyped-def]
        if isinstance(x, _VectorType) and isinstance(y, _VectorType):
            return lambda x, y: operation(x, y)
        return None


_operation(operator.add, "fadd")


_operation(operator.sub, "fsub")


_operation(operator.mul, "fmul")


_operation(operator.truediv, "fdiv")


@jit(NUMBERS, SIZE)
def buffer(size: int) -> Any:
    """Return zeros at an address divisible by 64, so that no vector crosses a cache line."""
    memory = np.zeros(size + LANES, dtype=np.float32)
    return memory[((64 - (memory.ctypes.data & 63)) & 63) >> 2 :]


@inline_jit(SIZE, SIZE)
def n_vectors(size: int) -> int:
    """Return the number of vectors needed for `size` numbers."""
    return (size + 15) >> 4


@inline_jit(types.void, NUMBERS, SIZE, NUMBERS, SIZE, SIZE)
def copy(source: Any, start: int, target: Any, target_start: int, size: int) -> None:
    """Copy numbers, and fill up the last vector of the target with zeros."""
    whole = size & ~15
    for at in range(0, whole, 16):
        store(target, target_start + at, load(source, start + at))
    if whole < size:
        store(target, target_start + whole, load_part(source, start + whole, size - whole))


def _block_product(rows: int, width: int) -> Any:
    """Return an intrinsic of `multiply_add` for a block of `rows` rows and `width` vectors."""

    @intrinsic
    def block_product(
        typing: Any,
        sums: Any,
        sums_at: Any,
        sums_row: Any,
        left: Any,
        left_at: Any,
        left_row: Any,
        left_k: Any,
        right: Any,
        right_at: Any,
        right_k: Any,
        n: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            sums, sums_at, sums_row, left, left_at, left_row, left_k, *others = arguments
            right, right_at, right_k, n = others

            def at(kind: int, array: Any, position: Any) -> Any:
                return _address(context, builder, signature.args[kind], array, position)

            def advance(address: Any, stride: Any, number: int) -> Any:
                return builder.gep(address, [builder.mul(stride, ir.Constant(_I64, number))])

            def vector_at(address: Any, number: int) -> Any:
                offset = ir.Constant(_I64, LANES * number)
                return _as_vector(builder, builder.gep(address, [offset]))

            first_sum, first_left = at(0, sums, sums_at), at(3, left, left_at)
            first_right = at(7, right, right_at)
            sum_rows = [advance(first_sum, sums_row, row) for row in range(rows)]
            left_rows = [advance(first_left, left_row, row) for row in range(rows)]
            # LLVM promotes these stack slots to registers.
            registers = [
                [cgutils.alloca_once(builder, _VECTOR) for _ in range(width)] for _ in range(rows)
            ]
            for row in range(rows):
                for v in range(width):
                    start = builder.load(vector_at(sum_rows[row], v), align=4)
                    builder.store(start, registers[row][v])
            with cgutils.for_range(builder, n, intp=_I64) as loop:
                left_offset = builder.mul(loop.index, left_k)
                right_row = builder.gep(first_right, [builder.mul(loop.index, right_k)])
                vectors = [builder.load(vector_at(right_row, v), align=4) for v in range(width)]
                for row in range(rows):
                    number = builder.load(builder.gep(left_rows[row], [left_offset]))
                    factor = _splat(builder, number)
                    for v in range(width):
                        before = builder.load(registers[row][v])
                        after = _multiply_add(builder, factor, vectors[v], before)
                        builder.store(after, registers[row][v])
            for row in range(rows):
                for v in range(width):
                    result = builder.load(registers[row][v])
                    builder.store(result, vector_at(sum_rows[row], v), align=4)
            return context.get_dummy_value()

        size = types.intp
        accepted = types.void(sums, size, size, left, size, size, size, right, size, size, size)
        return accepted, generate

    return block_product


_block_1, _row_1 = _block_product(ROWS, 1), _block_product(1, 1)
_block_2, _row_2 = _block_product(ROWS, min(2, BLOCK)), _block_product(1, 2)
_block_3 = _block_product(ROWS, min(3, BLOCK))
_block_4, _row_4 = _block_product(ROWS, min(4, BLOCK)), _block_product(1, 4)
_block_5 = _block_product(ROWS, min(5, BLOCK))


@jit(types.void, SIZE, NUMBERS, *(SIZE,) * 2, NUMBERS, *(SIZE,) * 3, NUMBERS, *(SIZE,) * 4)
def multiply_add(
    n_rows: int,
    sums: Any,
    sums_at: int,
    sums_row: int,
    left: Any,
    left_at: int,
    left_row: int,
    left_k: int,
    right: Any,
    right_at: int,
    right_k: int,
    n: int,
    width: int,
) -> None:
    """Add the product of two matrices to `sums`; all are flat arrays.

    For each row ``r < n_rows`` and ``j < 16 * width``::

        sums[sums_at + r * sums_row + j] += sum over k < n of
            left[left_at + r * left_row + k * left_k] * right[right_at + k * right_k + j]

    Rows of `sums` and of `right` have room for `width` whole vectors.
    """
    # Rows are taken in blocks of `ROWS`, and the rest one by one. Six vectors are taken as 3 + 3,
    # not as 5 + 1, because a block of one vector uses few of the registers.
    row = 0
    while row < n_rows:
        v = 0
        if n_rows - row >= ROWS:
            while v < width:
                a, b = sums_at + row * sums_row + 16 * v, left_at + row * left_row
                c, rest = right_at + 16 * v, width - v
                if BLOCK == 1 or rest == 1:
                    _block_1(sums, a, sums_row, left, b, left_row, left_k, right, c, right_k, n)
                    v += 1
                elif rest >= 5 and rest != 6:
                    _block_5(sums, a, sums_row, left, b, left_row, left_k, right, c, right_k, n)
                    v += 5
                elif rest == 4:
                    _block_4(sums, a, sums_row, left, b, left_row, left_k, right, c, right_k, n)
                    v += 4
                elif rest == 3 or rest == 6:
                    _block_3(sums, a, sums_row, left, b, left_row, left_k, right, c, right_k, n)
                    v += 3
                else:
                    _block_2(sums, a, sums_row, left, b, left_row, left_k, right, c, right_k, n)
                    v += 2
            row += ROWS
        else:
            while v < width:
                a, b = sums_at + row * sums_row + 16 * v, left_at + row * left_row
                c = right_at + 16 * v
                if width - v >= 4:
                    _row_4(sums, a, sums_row, left, b, left_row, left_k, right, c, right_k, n)
                    v += 4
                elif width - v >= 2:
                    _row_2(sums, a, sums_row, left, b, left_row, left_k, right, c, right_k, n)
                    v += 2
                else:
                    _row_1(sums, a, sums_row, left, b, left_row, left_k, right, c, right_k, n)
                    v += 1
            row += 1
