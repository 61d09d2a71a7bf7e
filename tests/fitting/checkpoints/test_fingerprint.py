"""What tells one fit from another."""

import re
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from skorch.callbacks import LRScheduler

from sk_han import DocumentArray, HANClassifier, HierarchicalTokenizer, StopAfter
from sk_han.embeddings import load_embeddings
from sk_han.fitting.checkpoints import fingerprint
from sk_han.fitting.checkpoints.fingerprint import settings_fingerprint
from sk_han.fitting.data import Given, read_data
from sk_han.fitting.settings import Settings

WORDS = {f"word{number}": number for number in range(2, 52)}


def split(text):
    return text.split(".")


def settings_of(**params):
    return settings_fingerprint(HANClassifier(**params).get_params(), "cpu", None)


def data_of(X, y, **params):
    settings = Settings(**HANClassifier().get_params())
    context = SimpleNamespace(settings=settings, before=None, is_portion=True)
    return read_data(Given(X, y, **params), context).fingerprint()


class TestSettings:
    def test_numbers_of_numpy_are_those_of_python(self):
        found, expected = (
            settings_of(lr=np.float64(0.01), batch_size=np.int64(8)),
            settings_of(lr=0.01, batch_size=8),
        )
        assert found == expected

    @pytest.mark.parametrize(
        "params",
        [
            {"tokenizer": HierarchicalTokenizer(sentence_splitter=split)},
            {"tokenizer": HierarchicalTokenizer(word_tokenizer=str.split)},
            {"tokenizer": HierarchicalTokenizer(word_tokenizer=re.compile("[a-z]+").findall)},
            {"tokenizer": HierarchicalTokenizer(word_tokenizer=partial(str.split, sep=" "))},
            {"optimizer": torch.optim.Adagrad},
            {"callbacks": [("stop", object())]},
            {"net_params": {"criterion": torch.nn.CrossEntropyLoss}},
            {"embedding_init": {"word": np.ones(3)}},
            {"embedding_init": np.ones((4, 3))},
            {"class_weight": {0: 1.0, 1: 2.0}},
        ],
        ids=lambda params: next(iter(params)),
    )
    def test_any_parameter_is_described_without_an_address(self, params):
        found = settings_of(**params)
        assert found != settings_of()
        assert " at 0x" not in str(found)

    def test_many_vectors_are_told_in_few_characters_and_by_all_their_numbers(self):
        vectors = {f"word{i}": np.full(3, float(i)) for i in range(1000)}
        one, other = settings_of(embedding_init=vectors), settings_of(embedding_init=vectors.copy())
        assert one == other
        assert len(one["embedding_init"]) < 100
        vectors["word999"] = np.zeros(3)
        assert settings_of(embedding_init=vectors) != one

    def test_an_array_is_told_by_its_numbers(self):
        one, other = (settings_of(embedding_init=np.full((4, 3), value)) for value in (1.0, 2.0))
        assert one != other

    @pytest.mark.parametrize("kind", [dict, lambda vectors: load_embeddings(vectors, WORDS)])
    def test_vectors_of_words_are_told_by_their_numbers(self, kind):
        one, other = (
            settings_of(embedding_init=kind({word: np.full(3, value) for word in WORDS}))
            for value in (1.0, 2.0)
        )
        assert one != other
        assert len(one["embedding_init"]) < 200

    @pytest.mark.thorough
    def test_it_is_the_same_in_another_process(self):
        code = (
            "from sk_han import HANClassifier, HierarchicalTokenizer;"
            "from sk_han.fitting.checkpoints.fingerprint import settings_fingerprint as of;"
            "classifier = HANClassifier(tokenizer=HierarchicalTokenizer(), lr=0.1);"
            "print(of(classifier.get_params(), 'cpu', None))"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        expected = settings_of(tokenizer=HierarchicalTokenizer(), lr=0.1)
        assert found.stdout.decode().strip() == str(expected)


class TestData:
    X = DocumentArray.from_nested([[[2, 3], [4]], [[3]], [[2, 2, 4]]])
    Y = np.array([0, 1, 0])

    def test_it_does_not_depend_on_how_many_are_read_at_once(self, monkeypatch):
        whole = data_of(self.X, self.Y)
        monkeypatch.setattr("sk_han.parts.ngrams.hashing.BATCH_SIZE", 1)
        one_by_one = data_of(self.X, self.Y)
        assert one_by_one["the labels"] == whole["the labels"]
        assert data_of(self.X, self.Y) == one_by_one

    @pytest.mark.parametrize(
        "nested",
        [
            [[[2, 3], [4]], [[3]], [[2, 2], [4]]],  # a sentence cut
            [[[2, 3]], [[4], [3]], [[2, 2, 4]]],  # a document cut elsewhere
            [[[3, 2], [4]], [[3]], [[2, 2, 4]]],
            [[[2, 3], [4]], [[3]]],
        ],
        ids=["sentences", "documents", "order", "fewer"],
    )
    def test_other_documents_are_told_apart(self, nested):
        other = DocumentArray.from_nested(nested)
        found = data_of(other, self.Y[: len(other)])
        assert found["the documents"] != data_of(self.X, self.Y)["the documents"]

    def test_documents_are_read_in_batches(self, monkeypatch):
        read = []

        def batches(documents):
            for start in range(len(documents)):
                read.append(start)
                yield documents[start : start + 1]

        monkeypatch.setattr(fingerprint, "batches", batches)
        data_of(self.X, self.Y)
        assert read == [0, 1, 2, 0, 1, 2]  # ids, then words


class KeyedVectors:
    """As of Gensim: they cannot be iterated over."""

    def __init__(self, factor):
        self.key_to_index = {"good": 0, "bad": 1}
        self.vectors = factor * np.eye(2)

    def __getitem__(self, word):
        return self.vectors[self.key_to_index[word]]


def test_keyed_vectors_are_told_by_their_numbers():
    one, again, other = (settings_of(embedding_init=KeyedVectors(n)) for n in (1, 1, 2))
    assert one == again
    assert one != other


def test_callbacks_are_told_by_their_parameters_but_for_the_seconds_to_go_on_for():
    def found(size, seconds):
        steps = ("steps", LRScheduler(policy="StepLR", step_size=size))
        return settings_of(callbacks=[steps, ("stop", StopAfter(seconds))])

    assert found(1, 2.0) == found(1, 20.0)
    assert found(1, 2.0) != found(9, 2.0)
