"""Memory that loading takes, for what a file declares and for what stands in it."""

import itertools
import json
import tempfile
import tracemalloc
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sk_han import HierarchicalTokenizer, ModelFormatError, SentenceEmbedder, save
from tests import tiny_pairs
from tests.crafted_files import (
    WHOLE,
    archive_of,
    golden_entries,
    golden_parts,
    loads_or_is_a_format_error,
    npy,
    paths,
    set_at,
    with_text,
    zipped,
)
from tests.encoders_of_sentences import HashEncoder
from tests.tiny_models import LABELS, TEXTS, fitted_classifier, fitted_pipeline, tiny
from tests.tiny_sentences import X, Y, tiny_tagger

# What docs/reliability.md promises: a file of n bytes takes at most TIMES * n + CONSTANT bytes.
TIMES, CONSTANT = 64, 4 << 20

VOCABULARY = ("model", "fitted", "tokenizer", "fitted", "vocabulary")


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


small_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.text(max_size=2), inside, max_size=2)
        | st.builds(lambda values: {"tuple": values}, st.lists(inside, max_size=2))
        | st.builds(lambda a, b: {"dict": [[a, b]]}, inside, inside)
    ),
    max_leaves=6,
)
units = st.sampled_from(["[]", "{}", "[0]", '{"":0}', "[[]]", "[12345]", '["ab",2]', "1.5", '"ab"'])
units |= small_json.map(lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")))

PARTS = ("fitted", "parts", "state")
SCALE = (*PARTS, "network", "state", "scale")
LEARNT_NGRAMS = (*PARTS, "ngrams", "state", "learnt", "state")


class TestWhateverTheFileHolds:
    @pytest.mark.parametrize(
        "place",
        [
            ("params", "lr"),
            (*LEARNT_NGRAMS, "ngram_range"),
            pytest.param(("fitted", "best_epoch"), marks=pytest.mark.thorough),
            pytest.param(SCALE, marks=pytest.mark.thorough),
        ],
    )
    def test_values_that_grow_in_an_error_take_their_share(self, load_bytes, place):
        # repr takes 4 bytes for each of 16 digits.
        text = f'["😀",{repeated("[1e15,1e15]", 700_000)}]'
        takes_little(load_bytes, with_text(text, ("model", *place)))

    @pytest.mark.thorough
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @example("target.classes.npy", "<U0", [10**8], 0)
    @given(
        st.sampled_from([name for name, _ in golden_entries() if name.endswith(".npy")]),
        st.sampled_from(["<U0", ">U0", "|U0", "<f0", "|b0", "<i0", "<U00", "|S0", "|V0"])
        | st.from_regex(r"[<>|][biufU][0-9]{1,9}", fullmatch=True),
        st.lists(st.sampled_from([0, 1, 2, 7, 10**8, 10**11, 10**17, 10**30]), max_size=70),
        st.integers(0, 100),
    )
    def test_an_array_takes_what_is_there_whatever_it_declares(
        self, load_bytes, name, descr, shape, n_bytes
    ):
        array = npy(descr, str(tuple(shape)), bytes(n_bytes))
        entries = [(n, array if n == name else data) for n, data in golden_entries()]
        takes_little(load_bytes, zipped(entries))

    @pytest.mark.parametrize("n_dimensions", [0, 1, 33, 65, 90])
    def test_an_array_may_declare_any_number_of_dimensions(self, load_bytes, n_dimensions):
        array = npy("<f4", f"({'1,' * n_dimensions})", bytes(4))
        entries = [(n, array if "output.bias" in n else data) for n, data in golden_entries()]
        with pytest.raises(ModelFormatError):
            load_bytes(zipped(entries))


def test_numbers_of_one_byte_as_classes_take_their_share(load_bytes):
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
    def test_values_that_take_most_take_their_share(self, load_bytes, kind):
        text = repeated("[[]]", 200_000)
        takes_little(load_bytes, with_text(text, ("model",), stored(kind)))
        takes_little(load_bytes, with_text(text, places(kind)[-1], stored(kind)))

    @pytest.mark.thorough
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.data())
    @each_model
    def test_any_values_at_any_place_take_their_share(self, load_bytes, kind, data):
        place = data.draw(st.sampled_from(places(kind)))
        before = data.draw(st.sampled_from(["", '"😀",', "[" * 300]))
        unit = data.draw(units)
        text = f"[{before}{repeated(unit, 1_200_000)}{']' * before.count('[')}]"
        takes_little(load_bytes, with_text(text, place, stored(kind)))

    @pytest.mark.thorough
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.data())
    @each_model
    def test_any_array_takes_its_share(self, load_bytes, kind, data):
        description, arrays = golden_parts(stored(kind))
        if not arrays:  # of a tokenizer
            return
        name = data.draw(st.sampled_from(sorted(arrays)))
        content = data.draw(
            st.sampled_from(
                [
                    np.zeros(10**6, bool),
                    np.zeros((10**6, 1), "f4"),
                    np.zeros((1, 10**6), "f4"),
                    np.arange(300_000, dtype="u4").view("U1"),
                    np.array([f"I-{i:x}" for i in range(50_000)]),
                    np.zeros(0, "f4"),
                ]
            )
        )
        takes_little(load_bytes, archive_of(description, arrays | {name: content}))


class TestGiantValues:
    @pytest.mark.parametrize(
        "text",
        [
            "9" * 10**6,
            "-" + "9" * 4000,
            "1e" + "9" * 10**6,
            '"' + "a" * 10**6 + '"',
            '"' + "a" * 10**6 + '😀"',
            '"' + r"\n" * 10**6 + '"',
            '"' + r"\ud83d" * 10**5 + '"',
            '"' + "[" * 10**6 + '"',
            "[" * 10**6,
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
    def test_one_takes_its_share(self, load_bytes, text, place):
        takes_little(load_bytes, with_text(text, place))

    def test_an_error_shows_the_start_of_it(self, load_bytes):
        content = with_text(
            '"' + "a" * 10**6 + '"',
            ("model", "fitted", "parts", "state", "network", "state", "scale"),
        )
        with pytest.raises(ModelFormatError, match=r"network\.scale must be a number") as raised:
            load_bytes(content)
        assert len(str(raised.value)) < 2000


class TestWhatSaveWrites:
    def test_brackets_inside_of_words_count_for_nothing(self, load_bytes):
        words = {"dict": [["[" * 20 + str(i), i] for i in range(2, 3000)]}
        description, arrays = golden_parts()
        vocabulary = set_at(description, VOCABULARY, words)
        with pytest.raises(ModelFormatError, match=r"beyond the \d+ word vectors"):
            load_bytes(archive_of(vocabulary, arrays))

    def test_a_vocabulary_of_the_shortest_words_loads(self, load_bytes):
        letters = "abcdefghijklmnopqrstuvwxyz0123456789"
        words = itertools.islice(itertools.product(letters, repeat=3), 40_000)
        pairs = [["".join(word), i] for i, word in enumerate(words, 2)]
        tokenizer = {
            "class": "HierarchicalTokenizer",
            "params": {},
            "fitted": {"vocabulary": {"dict": pairs}, "stop_words": None},
        }
        content = archive_of({"versions": {}, "model": tokenizer}, {})
        assert len(load_bytes(content).vocabulary_) == 40_000
        takes_little(load_bytes, content)
