"""How far it is from what a user calls to where the work is done: calls between files of sk_han.

``python benchmarks/hops.py`` fits a classifier to a few raw texts and asks it for probabilities.
From `HANClassifier.fit` to the `fit_transform` (or another of that name's beginning) of its
tokenizer, and from `predict_proba` to the logits of its network, it counts the files that are on
the stack at the end; its hops, which are calls that lead from one file of sk_han to another; and
all hops made on the way, those of functions that have returned, too. Functions of other packages in
between are passed over. ``--stack`` prints the stacks. It runs on older trees as it is:
``PYTHONPATH=<tree> python benchmarks/hops.py``.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import sk_han
from sk_han import HANClassifier, HierarchicalTokenizer
from sk_han.datasets import make_reviews

PACKAGE = Path(sk_han.__file__).parent
N_TEXTS = 20


class Way(NamedTuple):
    """From one function to another: the stack at the end, as file and function, and hops made."""

    stack: list[tuple[str, str]]
    hops_made: int

    @property
    def files(self) -> int:
        """Return how many files are on the stack."""
        return len({file for file, _ in self.stack})

    @property
    def hops(self) -> int:
        """Return how many calls on the stack lead from one file to another."""
        return sum(a != b for (a, _), (b, _) in zip(self.stack, self.stack[1:], strict=False))


@functools.cache
def file_of(code: CodeType) -> str | None:
    """Return the file within sk_han, None for others."""
    path = Path(code.co_filename)
    return str(path.relative_to(PACKAGE)) if path.is_relative_to(PACKAGE) else None


def callers(frame: FrameType | None) -> Iterator[FrameType]:
    """Walk from a frame to the outermost one, through files of sk_han alone."""
    while frame is not None:
        if file_of(frame.f_code) is not None:
            yield frame
        frame = frame.f_back


def code_of(owner: type, beginning: str) -> set[CodeType]:
    """Return the code of the methods of a class whose names begin so, without their wrappers."""
    methods = [getattr(owner, name) for name in dir(owner) if name.startswith(beginning)]
    return {inspect.unwrap(method).__code__ for method in methods if inspect.isfunction(method)}


def way(run: Callable[[], Any], start: set[CodeType], end: set[CodeType]) -> Way:
    """Run, and return the first way from one of the functions to one of the others.

    Raises
    ------
    LookupError
        If it does not call the one within the other.
    """
    started, found, hops, generators = False, None, 0, set()

    def see(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal started, found, hops
        if event != "call" or found is not None or file_of(frame.f_code) is None:
            return
        if not started:
            started = frame.f_code in start
            return
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            if frame in generators:  # resumed, not called
                return
            generators.add(frame)
        inner, *outer = callers(frame)
        if outer:  # a callback of compiled code has none
            hops += inner.f_code.co_filename != outer[0].f_code.co_filename
        if frame.f_code in end:
            stack = []
            for each in (inner, *outer):
                stack.insert(0, (file_of(each.f_code) or "", each.f_code.co_name))
                if each.f_code in start:
                    break
            found = Way(stack, hops)

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    if found is None:
        names = [sorted(code.co_name for code in each) for each in (start, end)]
        raise LookupError(f"None of {names[0]} has called one of {names[1]}.")
    return found


def ways() -> dict[str, Way]:
    """Trace a fit and a prediction whose modules are imported and kernels compiled already."""
    texts, labels = make_reviews(N_TEXTS, random_state=0)

    def new() -> HANClassifier:
        return HANClassifier(max_epochs=1, random_state=0, device="cpu")

    model = new().fit(texts, labels)
    model.predict_proba(texts)
    return {
        "fit -> tokenizer": way(
            lambda: new().fit(texts, labels),
            {inspect.unwrap(HANClassifier.fit).__code__},
            code_of(HierarchicalTokenizer, "fit_transform"),
        ),
        "predict_proba -> logits": way(
            lambda: model.predict_proba(texts),
            {inspect.unwrap(HANClassifier.predict_proba).__code__},
            {type(model.net_).logits.__code__},
        ),
    }


def main() -> None:
    """Print the table, and the stacks if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stack", action="store_true", help="print the functions on the stacks")
    shows_stack = parser.parse_args().stack
    print(f"{'':<24} {'files on stack':>14} {'hops on stack':>14} {'hops made':>14}")
    for name, found in ways().items():
        print(f"{name:<24} {found.files:>14} {found.hops:>14} {found.hops_made:>14}")
        for file, function in found.stack if shows_stack else ():
            print(f"    {file}: {function}")


if __name__ == "__main__":
    main()
