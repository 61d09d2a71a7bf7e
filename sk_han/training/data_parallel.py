"""Training by several processes as if they were one: each reads its part of every batch.

All processes ("ranks") have the same documents, weights and order of documents; the gradients of
the parts of a batch are added up, and each rank takes the same step.
"""

from __future__ import annotations

import copy
import os
import traceback
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from sk_han.nn.adversarial import rows_with_gradient
from sk_han.training.batches import TrainingData
from sk_han.utils.visible_text import in_one_line
from sk_han.utils.warnings import warn_user

# How long a rank waits for one that neither answers nor ends. Ranks wait for the slowest one to
# read its texts, and for the first one to write a checkpoint.
PATIENCE = timedelta(minutes=30)
_ABSENT, _DENSE, _SPARSE = 0, 1, 2  # kinds of gradients


@contextmanager
def joined_ranks() -> Iterator[Ranks | None]:
    """Give the ranks of this process, or None; at the end those that wait for it get an error."""
    ranks = _ranks_of_this_process()
    try:
        yield ranks
    finally:
        if ranks is not None:
            ranks.leave()


def parts_of(words_per_document: NDArray[np.int64], n_parts: int) -> NDArray[np.int64]:
    """Return bounds (n_parts + 1,) of consecutive documents of about equally many words."""
    costs = words_per_document + 1.0  # a document without words is no reason to divide by zero
    middles = np.cumsum(costs) - costs / 2
    return np.searchsorted(middles, costs.sum() * np.arange(n_parts + 1) / n_parts)


class Ranks:
    """The processes that train one network together; all call each method in the same order."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._group: Any = None
        with self._connected():
            self._group = dist.new_group(timeout=PATIENCE)
        on_gpu = "nccl" in str(dist.get_backend_config(self._group))
        # That of the collectives; the network may be on another one.
        self._device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else "cpu"
        self.any(False)  # all are connected, so that one may fail for a reason that all see

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that keeps the model."""
        return self.rank == 0

    def leave(self) -> None:
        """Close the connections."""
        group, self._group = self._group, None
        dist.destroy_process_group(group)

    def seed(self, random_state: Any) -> Any:
        """Return the random state, or for None a seed that the first rank draws for all."""
        if random_state is not None:
            return random_state
        drawn = torch.tensor([np.random.randint(2**31 - 1)])  # noqa: NPY002  (what None means)
        return int(self._from_first(drawn))

    def check_same(self, facts: Mapping[str, Any]) -> None:
        """Check that all ranks have the same short facts; ValueError on all if two differ."""
        every = self._of_all(dict(facts))
        different = [
            f"{name}: {in_one_line(every[0].get(name), 60)} on rank 0, "
            f"{in_one_line(other.get(name), 60)} on rank {rank}"
            for rank, other in enumerate(every)
            for name in {**every[0], **other}
            if other.get(name) != every[0].get(name)
        ]
        if different:
            more = f"; and {len(different) - 3} more" if len(different) > 3 else ""
            raise ValueError(
                "Processes that train together need the same data and parameters, and "
                f"{'; '.join(different[:3])}{more}. Give every process all documents in the same "
                "order: each reads its part of every batch."
            )

    def begin(self, network: Any) -> None:
        """Start all ranks with the weights of the first one, and with dropout of their own."""
        with torch.no_grad():
            for weight in network.state_dict().values():
                weight.copy_(self._from_first(weight))
        if not self.is_first:
            state = zlib.crc32(network.generator.get_state().numpy().tobytes())
            network.generator.manual_seed(state * self.size + self.rank)

    def part(self, batch: TrainingData) -> tuple[TrainingData, slice]:
        """Return the part of a batch that this rank reads, and the rows of its targets."""
        bounds = parts_of(batch.inputs.words_per_document, self.size)
        first, last = bounds[self.rank], bounds[self.rank + 1]
        own, before = batch[first:last], len(batch[:first].targets)
        return own, slice(before, before + len(own.targets))

    def sum_gradients(
        self, weights: Sequence[Tensor], vectors: Tensor, numbers: Sequence[Tensor] = ()
    ) -> list[Tensor]:
        """Add up the gradients of all ranks, and further numbers; then all have the same.

        There are two exchanges: which weights, and which rows of the word vectors (V, E), have a
        gradient on any rank; then these gradients, as one array. The gradient of the vectors may be
        sparse.
        """
        kinds = [_kind(weight.grad) for weight in weights]
        found = torch.zeros(len(weights) + len(vectors), dtype=torch.uint8, device=vectors.device)
        found[: len(weights)] = torch.tensor(kinds, dtype=torch.uint8)
        if vectors.grad is not None:
            own_rows, own_values = rows_with_gradient(vectors.grad)
            found[len(weights) + own_rows] = 1
        self._reduce(found, dist.ReduceOp.MAX)
        kinds = found[: len(weights)].tolist()
        rows = found[len(weights) :].nonzero().squeeze(1)  # (U,)

        small = [w for w, kind in zip(weights, kinds, strict=True) if kind and w is not vectors]
        sizes = [len(numbers), *(w.numel() for w in small), len(rows) * vectors.shape[1]]
        whole = vectors.new_zeros(sum(sizes))
        sums, *gradients, values = whole.split(sizes)
        values = values.view(len(rows), vectors.shape[1])  # (U, E)
        for place, number in enumerate(numbers):
            sums[place] = number.detach()
        for weight, gradient in zip(small, gradients, strict=True):
            if weight.grad is not None:
                gradient.copy_(weight.grad.flatten())
        if vectors.grad is not None:
            values[torch.searchsorted(rows, own_rows)] = own_values
        self._reduce(whole, dist.ReduceOp.SUM)

        for weight, gradient in zip(small, gradients, strict=True):
            if weight.grad is None:
                weight.grad = torch.empty_like(weight)
            weight.grad.copy_(gradient.view_as(weight))
        kind = next(kind for w, kind in zip(weights, kinds, strict=True) if w is vectors)
        if kind == _SPARSE:
            vectors.grad = torch.sparse_coo_tensor(
                rows.unsqueeze(0),
                values.clone(),
                vectors.shape,
                is_coalesced=True,
                check_invariants=False,  # as `nonzero` returns them
            )
        elif kind == _DENSE:
            if vectors.grad is None:
                vectors.grad = torch.zeros_like(vectors)
            vectors.grad[rows] = values
        return list(sums.clone())

    def joined(self, own: Tensor, rows: slice, n_rows: int) -> Tensor:
        """Return the rows of all ranks, shape (n_rows, C), of which `own` are those of this one."""
        whole = own.new_zeros(n_rows, *own.shape[1:])
        whole[rows] = own
        self._reduce(whole, dist.ReduceOp.SUM)
        return whole

    def any(self, here: bool) -> bool:
        """Whether something is so on at least one rank."""
        found = torch.tensor([here], dtype=torch.uint8)
        self._reduce(found, dist.ReduceOp.MAX)
        return bool(found)

    def first_given(self, value: str | None) -> str | None:
        """Return the value of the first rank that has one."""
        return next((each for each in self._of_all(value) if each is not None), None)

    def dismiss(self) -> None:
        """Let the other ranks end: none closes its connections before the first has everything."""
        self._from_first(torch.zeros(1))

    def _of_all(self, value: Any) -> list[Any]:
        """Return the short value of each rank."""
        every: list[Any] = [None] * self.size
        with self._connected():
            dist.all_gather_object(every, value, group=self._group)
        return every

    def _from_first(self, values: Tensor) -> Tensor:
        """Return the values of the first rank."""
        moved = values.detach().to(self._device, copy=True).contiguous()
        with self._connected():
            dist.broadcast(moved, 0, group=self._group)
        return moved.to(values.device)

    def _reduce(self, values: Tensor, operation: Any) -> None:
        """Replace values by their sum or maximum over the ranks."""
        moved = values.to(self._device)  # the same tensor where it lies there
        with self._connected():
            dist.all_reduce(moved, operation, group=self._group)
        if moved is not values:
            values.copy_(moved)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            # Variables of PyTorch's functions would hold the connections open as long as the error
            # lives, and the other ranks would wait.
            traceback.clear_frames(error.__traceback__)
            reason = str(error).strip().splitlines()[0]
            raise RuntimeError(
                f"Rank {self.rank} lost the other {self.size - 1} of {self.size} processes that "
                "train together: one of them has failed, was ended, or did not answer for "
                f"{PATIENCE.seconds // 60} minutes ({reason}). Its own error, if any, says why. "
                "Start all processes again; a fit with checkpoint=folder goes on from its last "
                "checkpoint."
            ) from error


def _ranks_of_this_process() -> Ranks | None:
    if not dist.is_available():
        return None
    if dist.is_initialized():
        return Ranks() if dist.get_world_size() > 1 else None
    if dist.is_torchelastic_launched() and int(os.environ.get("WORLD_SIZE", 1)) > 1:
        warn_user(
            f"torchrun started {os.environ['WORLD_SIZE']} processes, but this one belongs to no "
            "group, so each trains alone on all documents. Call "
            'torch.distributed.init_process_group("gloo") before fit (on GPUs "nccl").'
        )
    return None


def _kind(gradient: Tensor | None) -> int:
    if gradient is None:
        return _ABSENT
    return _SPARSE if gradient.is_sparse else _DENSE


def next_number(random_state: np.random.RandomState | None) -> int | None:
    """Return what a source of random numbers will draw next, without drawing it."""
    return None if random_state is None else copy.deepcopy(random_state).randint(2**31 - 1)
