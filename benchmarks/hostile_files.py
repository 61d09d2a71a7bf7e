"""What becomes of files of models that are damaged by accident, or crafted to do harm.

``python benchmarks/hostile_files.py --damaged 1000 --crafted 1000`` changes the golden files,
loads each file in a process of its own, which has a limit of memory and of time, and lets what
loads predict and explain. Files that once did harm are in every run. A damaged file must be
refused. A crafted one has the right checksum, and if it loads, all its numbers must be finite; if
`load` refuses it, a Scorer does too. It needs Linux.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import resource
import select
import signal
import sys
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from results import add_save, save

sys.path.insert(0, str(Path(__file__).parents[1]))

import sk_han
from sk_han import DocumentArray, HierarchicalTokenizer, ModelFormatError
from sk_han.serving import Scorer
from tests.crafted_files import (
    GOLDEN,
    archive_of,
    golden_entries,
    golden_parts,
    npy,
    paths,
    sealed,
    set_at,
    with_text,
    without,
    zipped,
)

FILES = [path.read_bytes() for path in sorted(GOLDEN.glob("*.han"))]
TEXTS = ["It was a good day. The sun shone!", "", "A bad zebra; bad, bad. " * 20]
WORD_IDS = [[[2, 3], [4]], [], [[5, 2, 2, 1, 6, 7]]]

TIMES, CONSTANT = 64, 4 << 20  # the promise of docs/reliability.md
SECONDS = 60
SPARE = 1 << 30  # bytes for what predicting takes, and for the measuring
LARGE = 1 << 20  # bytes from which a file's memory is compared with its size

Draw = random.Random


class Outcome(NamedTuple):
    """What became of a file: a kind, its details, and the peak of memory while it was loaded."""

    kind: str
    details: str = ""
    peak: int = 0


# Damage


def flipped(draw: Draw, content: bytes) -> bytes:
    changed = bytearray(content)
    changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut_off(draw: Draw, content: bytes) -> bytes:
    return content[: draw.randrange(len(content))]


def swapped(draw: Draw, content: bytes) -> bytes:
    a, b, c = sorted(draw.sample(range(len(content) + 1), 3))
    return content[:a] + content[b:c] + content[a:b] + content[c:]


def longer(draw: Draw, content: bytes) -> bytes:
    more = draw.randbytes(draw.randint(1, 100))
    return draw.choice([more + content, content + more])


def zeroed(draw: Draw, content: bytes) -> bytes:
    start = draw.randrange(len(content))
    length = draw.randint(1, 4096)
    return content[:start] + bytes(len(content[start : start + length])) + content[start + length :]


DAMAGES = [flipped, cut_off, swapped, longer, zeroed]


# Malice

HOSTILE: list[Any] = [None, True, -1, 0, 10**9, 10**30, 10**400, 1e308, -1e308, 5e-324, "", "\0"]
HOSTILE += [[], [[1, "a"]], {"tuple": []}, {"dict": [["a", 1]]}, {"float": "inf"}, {"float": "nan"}]
HOSTILE += [{"array": "target.classes"}, {"class": "HierarchicalTokenizer"}, {"labels": [1, 2]}]


def with_changed_bytes(draw: Draw, content: bytes) -> bytes:
    directory = content.index(b"PK\x01\x02")
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        changed[draw.randrange(draw.choice([0, directory]), len(content))] = draw.randrange(256)
    return sealed(bytes(changed))


def with_another_value(draw: Draw, content: bytes) -> bytes:
    description, arrays = golden_parts(content)
    path = draw.choice(list(paths(description)))
    if draw.random() < 0.2:
        return archive_of(without(description, path), arrays)
    changed = set_at(description, path, draw.choice(HOSTILE))
    return archive_of(changed, arrays)


def with_another_array(draw: Draw, content: bytes) -> bytes:
    description, arrays = golden_parts(content)
    if not arrays:
        return with_another_value(draw, content)
    name = draw.choice(list(arrays))
    array = arrays[name]
    changes: list[Callable[[], Any]] = [
        lambda: array[:-1],
        lambda: array[..., None],
        lambda: np.zeros(array.shape, draw.choice(["f8", "i1", "U1", "?"])),
        lambda: np.frombuffer(draw.randbytes(array.nbytes), array.dtype).reshape(array.shape),
    ]
    if array.dtype.kind == "f":
        largest = np.finfo(array.dtype).max
        factor = draw.choice([-1, 0, 1e-45, 1e-20, 1e3, 1e6, 1e12, 1e20, 1e38])
        changes.append(lambda: np.clip(array * np.float64(factor), -largest, largest))
        changes.append(lambda: np.where(array > 0, draw.choice([np.nan, np.inf, largest]), array))
    changed = np.asarray(draw.choice(changes)())
    if changed.dtype == np.float64 and array.dtype.kind == "f":
        changed = changed.astype(array.dtype)
    return archive_of(description, arrays | {name: changed})


def with_a_flood(draw: Draw, content: bytes) -> bytes:
    """Fill the description with tiny values, or the directory with entries, or declare giants."""
    entries = golden_entries()
    kind = draw.choice(["json", "entries", "array"])
    if kind == "entries":
        return zipped([*entries, *((f"{i}.npy", b"") for i in range(20_000))])
    if kind == "array":
        shape = tuple(
            draw.choice([0, 1, 2, 10**8, 10**11, 10**17]) for _ in range(draw.randint(1, 3))
        )
        array = npy(draw.choice(["<U0", "<U1", "<U999999999", "<f4", "|b1", "<i8"]), str(shape))
        name = draw.choice([name for name, _ in entries[1:]])
        return zipped([(n, array if n == name else data) for n, data in entries])
    unit = draw.choice(
        ["[]", "[[]]", "{}", '{"":0}', "[12345]", '["ab",12]', "1.5", '"ab"', "1000"]
    )
    text = "[" + ",".join([unit] * (2_000_000 // len(unit))) + "]"
    place = draw.choice(["net_params", "class_weight", "callbacks"])
    return with_text(text, ("model", "params", place))


def once_harmful() -> list[bytes]:
    """Give files that took gigabytes, ended the process, or failed when texts were read."""
    description, arrays = golden_parts()
    fitted = ("model", "fitted")
    ngrams = (*fitted, "parts", "state", "ngrams", "state", "learnt", "state")
    wide = npy("<U0", "(100000000,)", b"")
    values: list[tuple[tuple[str, ...], Any]] = [
        (("model", "params", "n_threads"), 10**6),
        ((*fitted, "tokenizer", "params", "stop_words"), [1]),
        ((*fitted, "tokenizer", "params", "n_jobs"), 0),
        ((*ngrams, "ngram_range"), [2**70, 2**71]),
    ]
    huge = {
        name: array * np.float32(1e30) if name.startswith("parts.network.") else array
        for name, array in arrays.items()
    }
    return [
        *(archive_of(set_at(description, path, value), arrays) for path, value in values),
        archive_of(description, huge),
        zipped([(n, wide if n == "target.classes.npy" else data) for n, data in golden_entries()]),
        with_text("[" + ",".join(["[[]]"] * 400_000) + "]", ("model", "params", "net_params")),
    ]


MALICE = [with_changed_bytes, with_another_value, with_another_array, with_a_flood]


def hostile_files(draw: Draw, n_damaged: int, n_crafted: int) -> Iterator[tuple[bool, str, bytes]]:
    """Yield files: whether damaged by accident, what has changed it, and its bytes."""
    for number, content in enumerate(once_harmful()):
        yield False, f"once harmful, number {number}", content
    for damaged, changes in ((True, DAMAGES), (False, MALICE)):
        for number in range(n_damaged if damaged else n_crafted):
            whole = draw.choice(FILES)
            change = draw.choice(changes)
            content = change(draw, whole)
            if content != whole:
                yield damaged, f"{change.__name__}, number {number}", content


# Trials


def use(model: Any) -> str:
    """Let a model predict and explain; return what is wrong with the numbers."""
    if isinstance(model, HierarchicalTokenizer):
        model.transform(TEXTS)
        return ""
    needs_ids = getattr(model, "tokenizer_", True) is None
    documents = DocumentArray.from_nested(WORD_IDS) if needs_ids else TEXTS
    numbers = [model.predict_log_proba(documents).ravel()]
    for explanation in sk_han.explain(model, documents):
        numbers += [explanation.contributions, explanation.word_attention]
    return "" if np.isfinite(np.concatenate(numbers)).all() else "a number is not finite"


def tried(path: Path, damaged: bool) -> Outcome:
    """Load a file, and use what it holds."""
    tracemalloc.start()
    try:
        model = sk_han.load(path)
    except ModelFormatError as error:
        peak = tracemalloc.get_traced_memory()[1]
        with suppress(ModelFormatError):
            Scorer.load(path)
            return Outcome("taken by a Scorer", str(error), peak)
        return Outcome("refused", str(error), peak)
    except BaseException as error:
        return Outcome("other error", f"{type(error).__name__}: {error}")
    else:
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if damaged:
        return Outcome("silently wrong", "a damaged file loads", peak)
    try:
        wrong = use(model)
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    return Outcome("silently wrong" if wrong else "loads, and is sound", wrong, peak)


def in_a_process(path: Path, damaged: bool) -> Outcome:
    """Try a file in a forked process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        size = path.stat().st_size
        in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = in_use + 2 * (TIMES * size + CONSTANT) + SPARE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        with os.fdopen(writing, "wb") as file:
            pickle.dump(tuple(tried(path, damaged)), file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        answers, _, _ = select.select([file], [], [], SECONDS)
        if not answers:
            os.kill(child, signal.SIGKILL)
        said = file.read()
    status = os.waitpid(child, 0)[1]
    if not answers:
        return Outcome("hang")
    return Outcome(*pickle.loads(said)) if said else Outcome("other error", f"it ends by {status}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--damaged", type=int, default=300)
    parser.add_argument("--crafted", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print each file that is at fault")
    add_save(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    draw = random.Random(options.seed)
    for path in sorted(GOLDEN.glob("*.han")):
        use(sk_han.load(path))  # what is imported late is there in every process
    kinds: Counter[str] = Counter()
    n_files: Counter[bool] = Counter()
    ratio, most = 0.0, 0
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.han"
        for damaged, name, content in hostile_files(draw, options.damaged, options.crafted):
            n_files[damaged] += 1
            path.write_bytes(content)
            outcome = in_a_process(path, damaged)
            kinds[outcome.kind] += 1
            if outcome.peak > TIMES * len(content) + CONSTANT:
                kinds["memory beyond the promise"] += 1
            if len(content) >= LARGE:
                ratio = max(ratio, outcome.peak / len(content))
            else:
                most = max(most, outcome.peak)
            if options.show and outcome.kind not in ("refused", "loads, and is sound"):
                print(f"{name}: {outcome.kind}: {outcome.details[:200]}", file=sys.stderr)
    faults = ("silently wrong", "taken by a Scorer", "other error", "hang")
    found = {"damaged": n_files[True], "crafted": n_files[False]}
    found |= {kind: kinds[kind] for kind in ("refused", "loads, and is sound")}
    found |= {f"{kind} (must be 0)": kinds[kind] for kind in (*faults, "memory beyond the promise")}
    found["peak memory over size, files from 1 MB on"] = f"{ratio:.1f}"
    found["peak memory of smaller files, MB"] = f"{most / 1e6:.1f}"
    for name, value in found.items():
        print(f"{name:<45}{value:>8}")
    if options.save:
        save("hostile_files", [{"files": name, "": value} for name, value in found.items()])
    if any(kinds[kind] for kind in kinds if kind not in ("refused", "loads, and is sound")):
        sys.exit(1)


if __name__ == "__main__":
    main()
