from dataclasses import fields

import joblib
import numpy as np
import pytest

from sk_han import HierarchicalTokenizer
from sk_han._text import reader
from sk_han._text.analyzer import TextAnalyzer
from sk_han._text.reader import WordTypes, joined, read_word_types
from tests.dask_workers import in_a_task

ANALYZER = TextAnalyzer(r"\w+")


class TestReadForms:
    def test_types_stand_in_the_order_in_which_they_first_occur(self):
        found = read_word_types(["We left. left we", "", "left it"], ANALYZER)
        assert found.types == ["We", "left", "we", "it"]
        assert found.numbers.tolist() == [0, 1, 1, 2, 1, 3]
        assert found.words_per_sentence.tolist() == [2, 2, 2]
        assert found.sentences_per_document.tolist() == [2, 0, 1]
        assert found.word_starts.tolist() == [0, 4, 4, 6]

    def test_spans_are_there_where_asked_for_alone(self):
        text = "Hi you. Bye!"
        assert read_word_types([text], ANALYZER).word_spans is None
        found = read_word_types([text], ANALYZER, located=True)
        assert found.word_spans.tolist() == [[0, 2], [3, 6], [8, 11]]
        assert found.sentence_spans.tolist() == [[0, 7], [8, 12]]

    @pytest.mark.parametrize("located", [False, True])
    def test_chunks_are_joined_to_what_is_read_at_once(self, located):
        texts = ["We left.", "It rained. We stayed"]
        chunks = [read_word_types([text], ANALYZER, located=located) for text in texts]
        found, expected = joined(chunks), read_word_types(texts, ANALYZER, located=located)
        for field in fields(WordTypes):
            np.testing.assert_array_equal(getattr(found, field.name), getattr(expected, field.name))


def test_for_few_texts_no_cores_are_counted(monkeypatch):
    # It takes several times as long as to read one.
    monkeypatch.setattr(reader, "_n_workers", None)
    monkeypatch.setattr(reader, "kernels", lambda *args, **kwargs: None)
    assert len(HierarchicalTokenizer().fit_transform(["word"])) == 1


def test_in_a_task_of_dask_there_is_one_worker():
    assert in_a_task(lambda: reader._n_workers(4)) == 1


def test_a_tokenizer_that_asks_for_a_million_workers_gets_four_for_each_core(monkeypatch):
    asked = []

    class InOrder:
        def __init__(self, n_jobs):
            asked.append(n_jobs)

        def __call__(self, tasks):
            return [function(*args, **kwargs) for function, args, kwargs in tasks]

    monkeypatch.setattr(joblib, "Parallel", InOrder)
    monkeypatch.setattr(reader, "_SMALLEST_CHUNK", 1)
    monkeypatch.setattr(reader, "kernels", lambda *args, **kwargs: None)
    texts = ["word"] * (4 * joblib.cpu_count() + 10)
    assert len(HierarchicalTokenizer(n_jobs=10**6).fit_transform(texts)) == len(texts)
    assert asked == [4 * joblib.cpu_count()]
