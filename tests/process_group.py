"""Processes of a torch.distributed group that run functions of the tests."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch

from tests.shaking import shaken_as_asked


class ProcessGroup:
    """Processes of one thread each in a group; they live until the end of the block.

    Parameters
    ----------
    n : int
        Number of processes.
    folder : Path
        Empty; where they find each other, without a port that another program could take.
    backend : {"gloo", "nccl"}
        What exchanges; with "nccl" each process has a GPU.
    """

    def __init__(self, n: int, folder: Any, backend: str = "gloo") -> None:
        context = multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        for rank in range(n):
            own, other = context.Pipe()
            arguments = (rank, n, f"file://{folder / 'rendezvous'}", other, backend)
            process = context.Process(target=_work, args=arguments, daemon=True)
            process.start()
            other.close()
            self.pipes.append(own)
            self.processes.append(process)

    def __enter__(self) -> ProcessGroup:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            process.kill()
            process.join()

    def start(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call the function with the rank, or with a list's element for each rank."""
        for rank, pipe in enumerate(self.pipes):
            own = [each[rank] if isinstance(each, list) else each for each in arguments]
            pipe.send((function, own))

    def result(self, rank: int, timeout: float = 120) -> Any:
        """Return what the function returned or raised in this process."""
        if not self.pipes[rank].poll(timeout):
            raise TimeoutError(f"Rank {rank} did not end within {timeout} seconds.")
        return self.pipes[rank].recv()

    def run(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call the function in all processes, and return the result or error of each."""
        self.start(function, *arguments)
        return [self.result(rank) for rank in range(len(self.pipes))]


def _work(rank: int, n: int, rendezvous: str, pipe: Any, backend: str) -> None:
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    if backend == "nccl":
        torch.cuda.set_device(rank)
    timeout = timedelta(seconds=100)
    torch.distributed.init_process_group(
        backend, init_method=rendezvous, rank=rank, world_size=n, timeout=timeout
    )
    with shaken_as_asked():
        _answer(pipe)


def _answer(pipe: Any) -> None:
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:  # the tests are over
            return
        try:
            result = function(*arguments)
        except Exception as error:
            result = error
        pipe.send(result)
