"""The recurrence of a bidirectional GRU on a GPU, as an autograd function over Triton's kernels."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_han.engines.engine_choice import gpu_kernels
from sk_han.nn.ragged.segments import check_lengths

# A program keeps the weights of a direction's states in registers.
LARGEST_HIDDEN = 64

_SEQUENCES, _WARPS = 16, 4  # of a program, whose products take at least 16 rows
_OLDEST = 8, 0  # compute capability that Triton supports: Ampere


def kernels_for(weight: Tensor) -> ModuleType | None:
    """Return kernels that cover a GRU whose weights of inputs are these, (3H, E), on its GPU."""
    covered = weight.dtype == torch.float32 and weight.device.type == "cuda"
    if not covered or len(weight) > 3 * LARGEST_HIDDEN or torch.compiler.is_compiling():
        return None
    # There may be GPUs of several kinds.
    if torch.version.cuda is None or torch.cuda.get_device_capability(weight.device) < _OLDEST:
        return None
    return gpu_kernels(partial(_try, device=weight.device))


def gru_states_on_gpu(
    kernels: ModuleType,
    inputs: Tensor,
    input_weight: Tensor,
    input_bias: Tensor,
    weight: Tensor,
    bias: Tensor,
    index: Tensor,
    lengths: Tensor,
) -> Tensor:
    """Compute the states (T, 2H) of a bidirectional GRU over sequences of distinct inputs (U, E).

    Arguments as of `arrays.project` and `arrays.recur`; `lengths` are on the CPU. No index is
    compared with the number of inputs: that would wait for the GPU.
    """
    sequences = _longest_first(lengths, len(index)).to(inputs.device)
    with torch.autocast(inputs.device.type, enabled=False):
        weights = input_weight.flatten(0, 1)  # (6H, E)
        projected = torch.addmm(input_bias.flatten(), inputs, weights.T)  # (U, 6H)
        states: Tensor = _GRU.apply(kernels, projected, weight, bias, index, sequences)
    return states


class _GRU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernels: ModuleType,
        projected: Tensor,  # (U, 6H)
        weight: Tensor,  # (2, H, 3H)
        bias: Tensor,  # (2, H)
        index: Tensor,  # (T,)
        sequences: Tensor,  # (2, n): start and length of those with tokens, the longest first
    ) -> Tensor:
        H, T, n = weight.shape[1], len(index), sequences.shape[1]
        keep = any(ctx.needs_input_grad)
        states = projected.new_empty(T, 2 * H)
        gates = projected.new_empty(2, T if keep else 0, 5 * H)
        if n:
            given = (each.contiguous() for each in (projected, weight, bias, index, sequences))
            with torch.cuda.device_of(states):
                kernels.forward[_grid(n)](*given, states, gates, n, T, keep=keep, **_tiles(H))
        ctx.save_for_backward(gates, weight, index, sequences)
        ctx.kernels, ctx.n_distinct = kernels, len(projected)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        gates, weight, index, sequences = ctx.saved_tensors
        H, T, n = weight.shape[1], len(index), sequences.shape[1]
        of_inputs, of_products = grad.new_empty(T, 6 * H), grad.new_empty(2, T, 3 * H)
        if n:
            given = (each.contiguous() for each in (grad, gates, weight, sequences))
            with torch.cuda.device_of(grad):
                ctx.kernels.backward[_grid(n)](*given, of_inputs, of_products, n, T, **_tiles(H))
        # As the gradient of an embedding, which adds up in the same order each time.
        of_projected = torch.ops.aten.embedding_dense_backward(
            of_inputs, index, ctx.n_distinct, -1, False
        )
        before = gates[:, :, 4 * H :].transpose(1, 2)  # (2, H, T), the states before
        of_bias = of_products[:, :, 2 * H :].sum(1)
        return None, of_projected, before @ of_products, of_bias, None, None


def _longest_first(lengths: Tensor, n_tokens: int) -> Tensor:
    """Return start and length of the sequences that have tokens, (2, n)."""
    check_lengths(lengths, n_tokens)
    order = torch.argsort(lengths, descending=True)[: int((lengths > 0).sum())]
    return torch.stack([(torch.cumsum(lengths, 0) - lengths)[order], lengths[order]])


def _grid(n_sequences: int) -> tuple[int, int]:
    return -(-n_sequences // _SEQUENCES), 2


def _tiles(hidden: int) -> dict[str, int]:
    width = max(16, 1 << (hidden - 1).bit_length())
    return {"H": hidden, "size": _SEQUENCES, "width": width, "num_warps": _WARPS}


def _try(kernels: ModuleType, device: torch.device) -> None:
    """Compile the kernels for a GPU, and compute a case that is worked by hand."""
    on_gpu: dict[str, Any] = {"device": device, "dtype": torch.float32}
    with torch.inference_mode(False), torch.enable_grad():
        # Both gates are 1/2 and the candidate is 1/2: a state is the mean of 1/2 and that before.
        weight, bias = torch.zeros(2, 1, 3, **on_gpu), torch.zeros(2, 1, **on_gpu)
        projected = torch.tensor([[0.0, 0.0, 0.5] * 2], **on_gpu).atanh().requires_grad_()
        index, sequences = (torch.tensor(each, device=device) for each in ([0, 0], [[0], [2]]))
        states = _GRU.apply(kernels, projected, weight, bias, index, sequences)
        states.sum().backward()
    expected = torch.tensor([[0.25, 0.375], [0.375, 0.25]], device="cpu")
    found = states.detach().cpu()
    if not torch.allclose(found, expected, atol=1e-5):
        raise RuntimeError(f"states are {found.tolist()} in place of {expected.tolist()}")
