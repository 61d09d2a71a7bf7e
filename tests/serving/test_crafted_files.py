"""A Scorer refuses the files that `load` refuses, also for what it does not use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from sk_han import ModelFormatError, load, save
from sk_han.serving import Scorer
from tests.crafted_files import GOLDEN, HOSTILE, archive_of, golden_parts, paths, set_at, without
from tests.tiny_models import fitted_classifier

MODELS = ["served", "pipeline", "word_ids"]


@cache
def content_of(name: str) -> bytes:
    """Give a golden file, or that of a network that a Scorer computes."""
    if name != "served":
        return (GOLDEN / f"{name}.han").read_bytes()
    with TemporaryDirectory() as folder:
        save(fitted_classifier(), Path(folder) / "model.han")
        return (Path(folder) / "model.han").read_bytes()


def parts_of(name: str) -> tuple[Any, dict[str, Any]]:
    """Give a file's description, with a short history, and its arrays."""
    description, arrays = golden_parts(content_of(name))
    model = description["model"]
    fitted = (model["steps"][1][1] if model["class"] == "Pipeline" else model)["fitted"]
    fitted |= {"history": fitted["history"][:1], "best_epoch": None, "best_score": None}
    return description, arrays


def crafted(name: str, shift: int) -> Iterator[tuple[str, bytes]]:
    """Give files with each value of the description replaced, and with each taken out."""
    description, arrays = parts_of(name)
    yield "as it is", archive_of(description, arrays)
    for number, path in enumerate(paths(description)):
        value = HOSTILE[(number + 7 * shift) % len(HOSTILE)]
        yield f"{path} = {value!r:.40}", archive_of(set_at(description, path, value), arrays)
        if shift == 0:
            yield f"without {path}", archive_of(without(description, path), arrays)
    for array in arrays if shift == 0 else ():
        shorter = arrays[array].ravel()[:-1]
        yield f"short {array}", archive_of(description, arrays | {array: shorter})
        rest = {each: arrays[each] for each in arrays if each != array}
        yield f"without {array}", archive_of(description, rest)
    yield "more", archive_of(description, arrays | {"more": np.ones(3)})


UNREAD = re.compile(r"\('model', ('steps', 1, 1, )?'(params|requests)'|embedding_init")
# A Scorer checks all else before it refuses another network, but not its sizes and weights.
NETWORK = re.compile(r"'network', 'state'|parts\.network\.")


def answer(reads: Callable[[Path], Any], path: Path) -> str:
    try:
        reads(path)
    except ModelFormatError as error:
        return "another network" if "sk_han.load reads it" in str(error) else "refused"
    return "taken"


def differences(files: Iterable[tuple[str, bytes]], path: Path) -> list[str]:
    found, n_taken = [], 0
    for what, content in files:
        path.write_bytes(content)
        of_scorer, by_load = answer(Scorer.load, path), answer(load, path) == "taken"
        by_scorer = of_scorer != "refused"
        n_taken += by_load
        # Only `load` makes the estimator that has parameters and requests, and checks them.
        is_unread = by_scorer and UNREAD.search(what) is not None
        is_unread |= of_scorer == "another network" and NETWORK.search(what) is not None
        if by_scorer != by_load and not is_unread:
            found.append(f"{what}: {'taken' if by_scorer else 'refused'} by the Scorer alone")
    assert n_taken > 0
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("shift", range(len(HOSTILE)))
@pytest.mark.parametrize("name", MODELS)
def test_both_refuse_the_same_files_whatever_the_value(
    name: str, shift: int, tmp_path: Path
) -> None:
    assert differences(crafted(name, shift), tmp_path / "model.han") == []
