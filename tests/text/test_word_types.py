import joblib
import numpy as np
import pytest

from sk_han import HierarchicalTokenizer
from sk_han.text import word_types
from sk_han.text.analyzer import TextAnalyzer
from sk_han.text.word_types import WordTypes, joined, read_word_types
from tests.dask_workers import in_a_task

ANALYZER = TextAnalyzer(r"\w+")


def nested(found):
    """Documents of sentences of words as written."""
    words = iter([found.types[number] for number in found.numbers])
    lengths = iter(found.words_per_sentence.tolist())
    return [
        [[next(words) for _ in range(next(lengths))] for _ in range(n_sentences)]
        for n_sentences in found.sentences_per_document.tolist()
    ]


def assert_equal(found, expected):
    assert found.types == expected.types
    for name in (name for name in WordTypes.__dataclass_fields__ if name != "types"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


class TestReadForms:
    def test_types_stand_in_the_order_in_which_they_first_occur(self):
        found = read_word_types(["We left. left we", "", "left it"], ANALYZER)
        assert found.types == ["We", "left", "we", "it"]
        assert found.numbers.tolist() == [0, 1, 1, 2, 1, 3]
        assert found.words_per_sentence.tolist() == [2, 2, 2]
        assert found.sentences_per_document.tolist() == [2, 0, 1]
        assert found.words_per_document.tolist() == [4, 0, 2]

    def test_spans_are_there_where_asked_for_alone(self):
        text = "Hi you. Bye!"
        assert read_word_types([text], ANALYZER).word_spans is None
        found = read_word_types([text], ANALYZER, located=True)
        assert found.word_spans.tolist() == [[0, 2], [3, 6], [8, 11]]
        assert found.sentence_spans.tolist() == [[0, 7], [8, 12]]

    def test_with_and_without_spans_the_words_are_the_same(self):
        texts = ["We left. So we!", "...", "left it"]
        assert nested(read_word_types(texts, ANALYZER, located=True)) == nested(
            read_word_types(texts, ANALYZER)
        )

    def test_no_words_have_spans_of_no_rows(self):
        found = read_word_types([""], ANALYZER, located=True)
        assert found.word_spans.shape == found.sentence_spans.shape == (0, 2)

    @pytest.mark.parametrize("located", [False, True])
    def test_chunks_arejoined_to_what_is_read_at_once(self, located):
        texts = ["We left.", "It rained. We stayed"]
        chunks = [read_word_types([text], ANALYZER, located=located) for text in texts]
        assert_equal(joined(chunks), read_word_types(texts, ANALYZER, located=located))


class TestWithout:
    def test_marked_words_are_left_out_with_sentences_they_empty(self):
        found = read_word_types(["the end. the", "the"], ANALYZER, located=True)
        left = found.without(np.array([word_type == "the" for word_type in found.types]))
        assert nested(left) == [[["end"]], []]
        assert left.word_spans.tolist() == [[4, 7]]
        assert left.sentence_spans.tolist() == [[0, 8]]

    def test_nothing_marked_changes_nothing(self):
        found = read_word_types(["a b"], ANALYZER)
        assert found.without(np.zeros(2, dtype=bool)) is found


class TestTruncated:
    TEXTS = ("One two three. Four. Five six.", "", "Seven eight. Nine")

    @pytest.mark.parametrize(
        ("max_sentences", "max_words", "expected"),
        [
            (1, None, [[["One", "two", "three"]], [], [["Seven", "eight"]]]),
            (None, 1, [[["One"], ["Four"], ["Five"]], [], [["Seven"], ["Nine"]]]),
            (2, 2, [[["One", "two"], ["Four"]], [], [["Seven", "eight"], ["Nine"]]]),
        ],
    )
    def test_limits_keep_the_first_of_each(self, max_sentences, max_words, expected):
        found = read_word_types(list(self.TEXTS), ANALYZER)
        assert nested(found.truncated(max_sentences, max_words)) == expected

    def test_limits_that_nothing_reaches_change_nothing(self):
        found = read_word_types(list(self.TEXTS), ANALYZER)
        assert found.truncated(3, 3) is found
        assert found.truncated(None, None) is found


def test_for_few_texts_no_cores_are_counted(monkeypatch):
    # It takes several times as long as to read one.
    monkeypatch.setattr(word_types, "_n_workers", None)
    monkeypatch.setattr(word_types, "kernels", lambda *args, **kwargs: None)
    assert len(HierarchicalTokenizer().fit_transform(["word"])) == 1


def test_in_a_task_of_dask_there_is_one_worker():
    assert in_a_task(lambda: word_types._n_workers(4)) == 1


def test_a_tokenizer_that_asks_for_a_million_workers_gets_four_for_each_core(monkeypatch):
    asked = []

    class InOrder:
        def __init__(self, n_jobs):
            asked.append(n_jobs)

        def __call__(self, tasks):
            return [function(*args, **kwargs) for function, args, kwargs in tasks]

    monkeypatch.setattr(joblib, "Parallel", InOrder)
    monkeypatch.setattr(word_types, "_SMALLEST_CHUNK", 1)
    monkeypatch.setattr(word_types, "kernels", lambda *args, **kwargs: None)
    texts = ["word"] * (4 * joblib.cpu_count() + 10)
    assert len(HierarchicalTokenizer(n_jobs=10**6).fit_transform(texts)) == len(texts)
    assert asked == [4 * joblib.cpu_count()]
