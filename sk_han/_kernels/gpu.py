"""A bidirectional GRU on a GPU, forward and backward pass, as Triton kernels.

cuDNN launches several kernels at each step of a ragged recurrence; for layers as small as ours a
launch takes longer than the step. Here one kernel runs all steps: a program keeps in registers the
weights of one direction and the states of 16 sequences of similar length.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

# Sequences of a program: `tl.dot` needs at least 16 rows.
_SEQUENCES, _WARPS = 16, 4


@triton.jit
def _sigmoid(x):  # type: ignore[no-untyped-def]
    return 1 / (1 + tl.exp(-x))


@triton.jit
def _product(rows, square):  # type: ignore[no-untyped-def]
    """Multiply in nearly single precision; Triton's default would round the factors to 10 bits."""
    return tl.dot(rows, square, input_precision="tf32x3")


@triton.jit
def _program_sequences(sequences, n, size: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return starts and lengths (size,) of a program's sequences, and its number of steps."""
    place = tl.program_id(0) * size + tl.arange(0, size)
    start = tl.load(sequences + place, mask=place < n, other=0)
    length = tl.load(sequences + n + place, mask=place < n, other=0)
    return start, length, tl.load(sequences + n + tl.program_id(0) * size)


# By default Triton compiles a kernel again for arguments that are 1 or multiples of 16, and batches
# differ in both sizes.
@triton.jit(do_not_specialize=["n", "T"])
def forward(  # type: ignore[no-untyped-def]
    projected,  # (U, 6H)
    weight,  # (2, H, 3H)
    bias,  # (2, H)
    index,  # (T,)
    sequences,  # (2, n), starts and lengths, the longest first
    states,  # (T, 2H), result
    gates,  # (2, T, 5H), result: r, z, n, the candidate's product, the state before
    n,
    T,
    H: tl.constexpr,
    size: tl.constexpr,
    width: tl.constexpr,  # H, filled up to a power of two
    keep: tl.constexpr,
):
    """Compute the states of some sequences in one direction, as `sk_han._kernels.engine.recur`."""
    start, length, n_steps = _program_sequences(sequences, n, size)
    backwards = tl.program_id(1)
    j, k = tl.arange(0, width), tl.arange(0, width)[:, None]
    within = (k < H) & (j < H)[None, :]
    square = weight + backwards * H * 3 * H + k * 3 * H + j[None, :]
    # The weights are read once and stay in registers for all steps.
    v_r = tl.load(square, mask=within, other=0.0)
    v_z = tl.load(square + H, mask=within, other=0.0)
    v_n = tl.load(square + 2 * H, mask=within, other=0.0)
    c_n = tl.load(bias + backwards * H + j, mask=j < H, other=0.0)
    before = tl.zeros((size, width), dtype=tl.float32)
    for step in range(n_steps):
        mask = (step < length)[:, None] & (j < H)[None, :]
        token = start + tl.where(backwards == 1, length - 1 - step, step)
        row = tl.load(index + token, mask=step < length, other=0)
        x = projected + row[:, None] * 6 * H + backwards * 3 * H + j[None, :]
        r = _sigmoid(tl.load(x, mask=mask, other=0.0) + _product(before, v_r))
        z = _sigmoid(tl.load(x + H, mask=mask, other=0.0) + _product(before, v_z))
        product = _product(before, v_n) + c_n[None, :]
        candidate = tl.load(x + 2 * H, mask=mask, other=0.0) + r * product
        # This is the hyperbolic tangent, which `tl` lacks.
        candidate = 2 * _sigmoid(2 * candidate) - 1
        state = candidate + z * (before - candidate)
        tl.store(states + token[:, None] * 2 * H + backwards * H + j[None, :], state, mask=mask)
        if keep:
            kept = gates + (backwards * T + token)[:, None] * 5 * H + j[None, :]
            tl.store(kept, r, mask=mask)
            tl.store(kept + H, z, mask=mask)
            tl.store(kept + 2 * H, candidate, mask=mask)
            tl.store(kept + 3 * H, product, mask=mask)
            tl.store(kept + 4 * H, before, mask=mask)
        before = tl.where(mask, state, before)


@triton.jit(do_not_specialize=["n", "T"])
def backward(  # type: ignore[no-untyped-def]
    grad,  # (T, 2H)
    gates,  # (2, T, 5H)
    weight,  # (2, H, 3H)
    sequences,  # (2, n), starts and lengths, the longest first
    of_inputs,  # (T, 6H), result: of the projections
    of_products,  # (2, T, 3H), result: of the products of the state before
    n,
    T,
    H: tl.constexpr,
    size: tl.constexpr,
    width: tl.constexpr,
):
    """Compute the gradients of the projections and of the recurrent products of `forward`."""
    start, length, n_steps = _program_sequences(sequences, n, size)
    backwards = tl.program_id(1)
    j, k = tl.arange(0, width), tl.arange(0, width)[:, None]
    within = (k < H) & (j < H)[None, :]
    transposed = weight + backwards * H * 3 * H + j[None, :] * 3 * H + k
    v_r = tl.load(transposed, mask=within, other=0.0)
    v_z = tl.load(transposed + H, mask=within, other=0.0)
    v_n = tl.load(transposed + 2 * H, mask=within, other=0.0)
    # The gradient that later steps pass back to the state.
    of_state = tl.zeros((size, width), dtype=tl.float32)
    for i in range(n_steps):
        step = n_steps - 1 - i
        mask = (step < length)[:, None] & (j < H)[None, :]
        token = start + tl.where(backwards == 1, length - 1 - step, step)
        kept = gates + (backwards * T + token)[:, None] * 5 * H + j[None, :]
        r = tl.load(kept, mask=mask, other=0.0)
        z = tl.load(kept + H, mask=mask, other=0.0)
        candidate = tl.load(kept + 2 * H, mask=mask, other=0.0)
        product = tl.load(kept + 3 * H, mask=mask, other=0.0)
        before = tl.load(kept + 4 * H, mask=mask, other=0.0)
        own = grad + token[:, None] * 2 * H + backwards * H + j[None, :]
        total = of_state + tl.load(own, mask=mask, other=0.0)
        of_n = total * (1 - z) * (1 - candidate * candidate)
        of_r = of_n * product * r * (1 - r)
        of_z = total * (before - candidate) * z * (1 - z)
        inputs = of_inputs + token[:, None] * 6 * H + backwards * 3 * H + j[None, :]
        tl.store(inputs, of_r, mask=mask)
        tl.store(inputs + H, of_z, mask=mask)
        tl.store(inputs + 2 * H, of_n, mask=mask)
        products = of_products + (backwards * T + token)[:, None] * 3 * H + j[None, :]
        tl.store(products, of_r, mask=mask)
        tl.store(products + H, of_z, mask=mask)
        tl.store(products + 2 * H, of_n * r, mask=mask)
        through = _product(of_r, v_r) + _product(of_z, v_z) + _product(of_n * r, v_n)
        of_state = tl.where(mask, total * z + through, of_state)


def gru_states(
    inputs: Tensor,  # (U, E)
    input_weight: Tensor,  # (2, 3H, E)
    input_bias: Tensor,  # (2, 3H)
    weight: Tensor,  # (2, H, 3H)
    bias: Tensor,  # (2, H)
    index: Tensor,  # (T,)
    lengths: Tensor,  # (N,) on the CPU, together T
) -> Tensor:
    """Compute the states (T, 2H) of a bidirectional GRU over sequences of distinct inputs.

    Indices are not compared with the number of inputs, which would wait for the GPU.
    """
    order = torch.argsort(lengths, descending=True)[: int((lengths > 0).sum())]
    sequences = torch.stack([(torch.cumsum(lengths, 0) - lengths)[order], lengths[order]])
    with torch.autocast(inputs.device.type, enabled=False):
        weights = input_weight.flatten(0, 1)  # (6H, E)
        projected = torch.addmm(input_bias.flatten(), inputs, weights.T)  # (U, 6H)
        on_gpu = sequences.to(inputs.device)
        states: Tensor = _Recurrence.apply(projected, weight, bias, index, on_gpu)
    return states


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,  # (U, 6H)
        weight: Tensor,
        bias: Tensor,
        index: Tensor,
        sequences: Tensor,  # (2, n): start and length of those with tokens, the longest first
    ) -> Tensor:
        H, T, n = weight.shape[1], len(index), sequences.shape[1]
        keep = any(ctx.needs_input_grad)
        states = projected.new_empty(T, 2 * H)
        gates = projected.new_empty(2, T if keep else 0, 5 * H)
        if n:
            read = (tensor.contiguous() for tensor in (projected, weight, bias, index, sequences))
            with torch.cuda.device_of(states):
                forward[_grid(n)](*read, states, gates, n, T, keep=keep, **_tiles(H))
        ctx.save_for_backward(gates, weight, index, sequences)
        ctx.n_distinct = len(projected)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        gates, weight, index, sequences = ctx.saved_tensors
        H, T, n = weight.shape[1], len(index), sequences.shape[1]
        of_inputs, of_products = grad.new_empty(T, 6 * H), grad.new_empty(2, T, 3 * H)
        if n:
            read = (tensor.contiguous() for tensor in (grad, gates, weight, sequences))
            with torch.cuda.device_of(grad):
                backward[_grid(n)](*read, of_inputs, of_products, n, T, **_tiles(H))
        # `index_add` would add in a different order each time; the backward pass of an embedding
        # sums in a fixed one, so that a seed gives the same bits.
        of_projected = torch.ops.aten.embedding_dense_backward(
            of_inputs, index, ctx.n_distinct, -1, False
        )
        before = gates[:, :, 4 * H :].transpose(1, 2)  # (2, H, T), the states before
        of_bias = of_products[:, :, 2 * H :].sum(1)
        return of_projected, before @ of_products, of_bias, None, None


def _grid(n_sequences: int) -> tuple[int, int]:
    return -(-n_sequences // _SEQUENCES), 2


def _tiles(hidden: int) -> dict[str, int]:
    width = max(16, 1 << (hidden - 1).bit_length())
    return {"H": hidden, "size": _SEQUENCES, "width": width, "num_warps": _WARPS}


def check(device: torch.device) -> None:
    """Compile the kernels for a GPU, and compare a tiny case with results worked by hand."""
    on_gpu: dict[str, Any] = {"device": device, "dtype": torch.float32}
    with torch.inference_mode(False), torch.enable_grad():
        # Both gates and the candidate are 1/2, so a state is the mean of 1/2 and the state before.
        weight, bias = torch.zeros(2, 1, 3, **on_gpu), torch.zeros(2, 1, **on_gpu)
        projected = torch.tensor([[0.0, 0.0, 0.5] * 2], **on_gpu).atanh().requires_grad_()
        index, sequences = (
            torch.tensor(numbers, device=device) for numbers in ([0, 0], [[0], [2]])
        )
        states = _Recurrence.apply(projected, weight, bias, index, sequences)
        states.sum().backward()
    expected = torch.tensor([[0.25, 0.375], [0.375, 0.25]], device="cpu")
    result = states.detach().cpu()
    if not torch.allclose(result, expected, atol=1e-5):
        raise RuntimeError(f"states are {result.tolist()}, expected {expected.tolist()}")
