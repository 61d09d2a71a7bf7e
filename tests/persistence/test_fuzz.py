"""A thousand files crafted to do harm: none loads in silence. Accidents: `test_damage.py`."""

import random
import re
import tracemalloc
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from sk_han import DocumentArray, HierarchicalTokenizer, ModelFormatError, explain, load, save
from sk_han.serving import Scorer
from tests.crafted_files import (
    GOLDEN,
    HOSTILE,
    archive_of,
    golden_parts,
    header_of,
    paths,
    set_at,
    with_header,
    with_text,
    without,
)
from tests.encoders_of_sentences import NAMED
from tests.tiny_models import fitted_classifier

FILES = [path.read_bytes() for path in sorted(GOLDEN.glob("*.han"))]
TEXTS = ["It was a good day. The sun shone!", "", "A bad zebra; bad, bad. " * 20]
WORD_IDS = [[[2, 3], [4]], [], [[5, 2, 2, 1, 6, 7]]]
TIMES, CONSTANT = 64, 4 << 20  # the promise of docs/reliability.md
N_OF_A_KIND, N_FLOODS = 250, 10  # of which each takes a second


def with_another_value(draw, content):
    description, arrays = golden_parts(content)
    path = draw.choice(list(paths(description)))
    if draw.random() < 0.2:
        return archive_of(without(description, path), arrays)
    return archive_of(set_at(description, path, draw.choice(HOSTILE)), arrays)


def with_another_array(draw, content):
    description, arrays = golden_parts(content)
    name = draw.choice(sorted(arrays))
    array = arrays[name]
    changes = [
        lambda: np.atleast_1d(array)[:-1],
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


def with_another_header(draw, content):
    header, data = header_of(content)
    names = [name for name in header if name != "__metadata__"]
    entry = {
        "dtype": draw.choice(["F32", "F64", "I64", "U8", "BOOL", "BF16", "F8_E4M3", "?", None]),
        "shape": draw.choices([0, 1, 2, 10**8, 10**17, -1], k=draw.randint(0, 3)),
        "data_offsets": draw.choices([0, 1, 8, len(data), 10**12, 2**64], k=2),
    }
    key = draw.choice([*entry])
    header[draw.choice(names)] |= {key: entry[key]}
    return with_header(header, data)


def with_a_flood(draw, content):
    unit = draw.choice(["[]", "[[]]", "{}", '{"":0}', "[12345]", '["ab",12]', "1.5", '"ab"'])
    text = "[" + ",".join([unit] * (300_000 // len(unit))) + "]"
    before = draw.choice(["", '"😀",', "[" * 300])
    text = f"[{before}{text}{']' * before.count('[')}]"
    return with_text(text, draw.choice(list(paths(golden_parts(content)[0]))), content)


MALICE = [with_another_value, with_another_array, with_another_header, with_a_flood]


def numbers_of(model):
    """Let a model predict and explain."""
    if isinstance(model, HierarchicalTokenizer):
        model.transform(TEXTS)
        return np.zeros(0)
    needs_ids = getattr(model, "tokenizer_", True) is None
    documents = DocumentArray.from_nested(WORD_IDS) if needs_ids else TEXTS
    numbers = [model.predict_log_proba(documents).ravel()]
    for explanation in explain(model, documents):
        numbers += [explanation.contributions, explanation.word_attention]
    return np.concatenate(numbers)


@pytest.mark.thorough
@pytest.mark.parametrize("change", MALICE, ids=lambda change: change.__name__)
def test_a_changed_file_is_refused_or_loads_a_sound_model(change, tmp_path):
    draw = random.Random(change.__name__)
    path = tmp_path / "model.han"
    for content in FILES:  # what is imported late is there now
        path.write_bytes(content)
        assert np.isfinite(numbers_of(load(path, encoder=NAMED))).all()
    for number in range(N_FLOODS if change is with_a_flood else N_OF_A_KIND):
        whole = draw.choice(FILES)
        content = change(draw, whole)
        if content == whole:
            continue
        path.write_bytes(content)
        tracemalloc.start()
        try:
            model = load(path, encoder=NAMED)
        except ModelFormatError:
            model = None
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak <= TIMES * len(content) + CONSTANT, number
        if model is None:
            with pytest.raises(ModelFormatError):
                Scorer.load(path, encoder=NAMED)
            continue
        assert np.isfinite(numbers_of(model)).all(), number


# A Scorer refuses the files that `load` refuses, also for what it does not use.


@cache
def served():
    """Give a file of a network that a Scorer computes."""
    with TemporaryDirectory() as folder:
        save(fitted_classifier(), Path(folder) / "model.han")
        return (Path(folder) / "model.han").read_bytes()


CONTENTS = {
    "served": served,
    "pipeline": (GOLDEN / "pipeline.han").read_bytes,
    "word_ids": (GOLDEN / "word_ids.han").read_bytes,
}


def parts_of(name):
    """Give a file's description, with a short history, and its arrays."""
    description, arrays = golden_parts(CONTENTS[name]())
    model = description["model"]
    fitted = (model["steps"][1][1] if model["class"] == "Pipeline" else model)["fitted"]
    fitted |= {"history": fitted["history"][:1], "best_epoch": None, "best_score": None}
    return description, arrays


def crafted(name, shift):
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


# A Scorer checks all else before it refuses another network, but not its sizes and weights.
NETWORK = re.compile(r"'network', 'state'|parts\.network\.")


def answer(reads, path):
    try:
        reads(path)
    except ModelFormatError as error:
        return "another network" if "sk_han.load reads it" in str(error) else "refused"
    return "taken"


def differences(files, path):
    found, n_taken = [], 0
    for what, content in files:
        path.write_bytes(content)
        of_scorer, by_load = answer(Scorer.load, path), answer(load, path) == "taken"
        by_scorer = of_scorer != "refused"
        n_taken += by_load
        is_unread = of_scorer == "another network" and NETWORK.search(what) is not None
        if by_scorer != by_load and not is_unread:
            found.append(f"{what}: {'taken' if by_scorer else 'refused'} by the Scorer alone")
    assert n_taken > 0
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("shift", range(len(HOSTILE)))
@pytest.mark.parametrize("name", CONTENTS)
def test_a_scorer_refuses_the_files_that_load_refuses(name, shift, tmp_path):
    assert differences(crafted(name, shift), tmp_path / "model.han") == []
