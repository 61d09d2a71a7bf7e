from dataclasses import fields

import joblib
import numpy as np
import pytest

from sk_han import HierarchicalTokenizer
from sk_han._text import reader
from sk_han._text.analyzer import TextAnalyzer
from sk_han._text.reader import WordTypes, concatenate_types, read_word_types

ANALYZER = TextAnalyzer(r"\w+")


@pytest.mark.parametrize("located", [False, True])
def test_joined_chunks_equal_texts_read_at_once(located):
    texts = ["We left.", "It rained. We stayed"]
    chunks = [read_word_types([text], ANALYZER, located=located) for text in texts]
    found, expected = concatenate_types(chunks), read_word_types(texts, ANALYZER, located=located)
    for field in fields(WordTypes):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(expected, field.name))


def test_a_tokenizer_uses_at_most_four_workers_per_core(monkeypatch):
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
