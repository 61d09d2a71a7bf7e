"""Memory that loading takes, for what a file declares and for what stands in it."""

import itertools
import subprocess
import sys
import tempfile
import tracemalloc
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sk_han import HierarchicalTokenizer, ModelFormatError, SentenceEmbedder, load, save
from tests import tiny_pairs
from tests.crafted_files import (
    GOLDEN,
    WHOLE,
    archive_of,
    golden_parts,
    header_of,
    loads_or_is_a_format_error,
    paths,
    with_header,
    with_text,
)
from tests.encoders_of_sentences import HashEncoder
from tests.tiny_models import LABELS, TEXTS, fitted_classifier, fitted_pipeline, tiny
from tests.tiny_sentences import X, Y, tiny_tagger

# What docs/reliability.md promises: a file of n bytes takes at most TIMES * n + CONSTANT bytes.
TIMES, CONSTANT = 64, 4 << 20


def takes_little(load_bytes, content):
    """Check that a file loads or is a format error, and the memory that this takes."""
    load_bytes(WHOLE)  # what the package imports late is there now
    tracemalloc.start()
    try:
        loads_or_is_a_format_error(load_bytes, content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= TIMES * len(content) + CONSTANT


def repeated(unit, size):
    return "[" + ",".join([unit] * max(1, size // (len(unit) + 1))) + "]"


UNITS = ["[]", "{}", "[0]", '{"":0}', "[[]]", "[12345]", '["ab",2]', "1.5", '"ab"']
UNITS += ['"é"', '{"tuple":[]}', '{"dict":[[1,2]]}', "null", "-1e30"]

PARTS = ("fitted", "parts", "state")
LEARNT_NGRAMS = (*PARTS, "ngrams", "state", "learnt", "state")


class TestWhateverTheFileHolds:
    @pytest.mark.parametrize("place", [("params", "lr"), (*LEARNT_NGRAMS, "ngram_range")])
    def test_values_that_grow_in_messages_take_proportional_memory(self, load_bytes, place):
        # repr takes 4 bytes for each of 16 digits.
        text = f'["😀",{repeated("[1e15,1e15]", 700_000)}]'
        takes_little(load_bytes, with_text(text, ("model", *place)))


@pytest.mark.parametrize("length", [10**8, 10**11])
def test_strings_of_no_width_are_refused_at_any_length(load_bytes, length):
    description, arrays = golden_parts()
    content = archive_of(description, arrays | {"target.classes": np.array(["a", "b"])})
    header, data = header_of(content)
    header["target.classes"] |= {"shape": [length, 0], "data_offsets": [0, 0]}
    with pytest.raises(ModelFormatError):
        load_bytes(with_header(header, data))
    takes_little(load_bytes, with_header(header, data))


def test_one_byte_classes_take_proportional_memory(load_bytes):
    description, arrays = golden_parts()
    for classes in (np.zeros(10**6, bool), np.arange(300_000, dtype="u4").view("U1")):
        takes_little(load_bytes, archive_of(description, arrays | {"target.classes": classes}))


SMALL = {"max_epochs": 1, "validation_fraction": None}
OF_TAGS = SMALL | {"hidden_size": 1, "embedding_dim": 1, "attribute_dim": 1}
MODELS = {
    "classifier": fitted_classifier,
    "pipeline": fitted_pipeline,
    "classifier of sentence vectors": lambda: tiny(linear_ngrams=None).fit(
        SentenceEmbedder(HashEncoder(size=3)).fit_transform(TEXTS), LABELS
    ),
    "tokenizer": lambda: HierarchicalTokenizer().fit(TEXTS),
    "tagger": lambda: tiny_tagger(**OF_TAGS, scheme="iob2", crf=False).fit(X, Y),
    "tagger with a chain": lambda: tiny_tagger(**OF_TAGS, scheme="iob2").fit(X, Y),
    "translator": lambda: tiny_pairs.tiny(max_epochs=1).fit(*tiny_pairs.pairs()),
}
each_model = pytest.mark.parametrize("kind", MODELS)


@cache
def stored(kind):
    """Give the bytes of a saved model."""
    with tempfile.TemporaryDirectory() as folder:
        save(MODELS[kind](), Path(folder) / "model.han")
        return (Path(folder) / "model.han").read_bytes()


def places(kind):
    """Give the path to every value of a description, those of one list or vocabulary but once."""
    found = {}
    for path in paths(golden_parts(stored(kind))[0]):
        alike = tuple("*" if isinstance(key, int) else key for key in path)
        found.setdefault(alike, path)
    return list(found.values())


class TestEveryKindOfModel:
    @each_model
    def test_the_most_demanding_values_take_proportional_memory(self, load_bytes, kind):
        text = repeated("[[]]", 200_000)
        takes_little(load_bytes, with_text(text, ("model",), stored(kind)))
        takes_little(load_bytes, with_text(text, places(kind)[-1], stored(kind)))


def grown(kind, n):
    """Give a file of a model with n classes or labels, all else as it was."""
    description, arrays = golden_parts(stored(kind))
    (classes,) = (name for name in arrays if name.endswith("classes"))
    arrays = dict(arrays) | {classes: np.array(sorted(f"I-{i:x}" for i in range(n)))}
    for name in arrays:
        if name.endswith(("weights.output.weight", "weights.output.bias")):
            arrays[name] = np.zeros((n, *arrays[name].shape[1:]), "f4")
    return archive_of(description, arrays)


PEAKS = """
import sys
import sk_han

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))

sk_han.load(sys.argv[1])
for path in sys.argv[2:]:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins anew
    before = peak()
    try:
        sk_han.load(path)
        print("loaded", end=" ")
    except sk_han.ModelFormatError:
        print("refused", end=" ")
    print(peak() - before)
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from Linux")
def test_the_whole_process_takes_proportional_memory(tmp_path):
    """What the operating system counts, beyond a process that has loaded a model before.

    What PyTorch takes, too: a table of all pairs of labels would be 400 MB and more.
    """
    kinds = ("tagger", "tagger with a chain", "classifier of sentence vectors")
    contents = [grown(kind, 20_000) for kind in kinds]
    contents += [
        with_text(repeated(unit, 4_000_000), ("model", "params", "net_params")) for unit in UNITS
    ]
    paths = [tmp_path / f"{number}.han" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    command = [sys.executable, "-c", PEAKS, str(GOLDEN / "classifier.han"), *map(str, paths)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert told[0].startswith("loaded")
    for line, path in zip(told, paths, strict=True):
        assert int(line.split()[1]) <= TIMES * path.stat().st_size + CONSTANT, line


class TestGiantValues:
    @pytest.mark.parametrize(
        "text",
        [
            "9" * 10**6,
            "1e" + "9" * 10**6,
            '"' + "a" * 10**6 + '"',
            '"' + "a" * 10**6 + '😀"',
            '"' + r"\ud83d" * 10**5 + '"',
            "[" * 10**5 + "]" * 10**5,
            '{"":' * 10**5,
            "{" + ",".join(f'"{i:x}":0' for i in range(10**5)) + "}",
            '{"dict":[' + ",".join(f"[{i},0]" for i in range(10**5)) + "]}",
        ],
        ids=lambda text: text[:8],
    )
    @pytest.mark.parametrize(
        "place",
        [("model", "params", "class_weight"), pytest.param((), marks=pytest.mark.thorough)],
    )
    def test_a_giant_value_takes_proportional_memory(self, load_bytes, text, place):
        takes_little(load_bytes, with_text(text, place))


def test_a_vocabulary_of_the_shortest_words_loads(load_bytes, tmp_path):
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = map("".join, itertools.islice(itertools.product(letters, repeat=3), 40_000))
    save(HierarchicalTokenizer(vocabulary=list(words)).fit(["a"]), tmp_path / "words.han")
    content = (tmp_path / "words.han").read_bytes()
    assert len(load_bytes(content).vocabulary_) == 40_000
    takes_little(load_bytes, content)


@pytest.mark.parametrize("n_arrays", [8_000, pytest.param(80_000, marks=pytest.mark.thorough)])
def test_many_empty_arrays_take_proportional_memory(load_bytes, n_arrays):
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    header, data = header_of(WHOLE)
    takes_little(load_bytes, with_header({f"{i}": empty for i in range(n_arrays)} | header, data))


def test_a_file_of_200_gigabytes_of_nothing_is_refused_unread(tmp_path):
    path = tmp_path / "sparse.han"
    with open(path, "wb") as file:
        try:
            file.truncate(200 * 10**9)
        except OSError:
            pytest.skip("this file system has no sparse files of 200 GB")
    tracemalloc.start()
    with pytest.raises(
        ModelFormatError, match=r"it is cut off, or not a file.* command line takes the model first"
    ):
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < CONSTANT
