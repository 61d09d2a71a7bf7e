import numpy as np
import pytest

from sk_han.text.analyzer import TextAnalyzer
from sk_han.text.vocabulary import WordCounts, check_vocabulary, learn_vocabulary, needs_documents
from sk_han.text.word_types import read_word_types


def learnt_of(types, words, **params):
    counts = WordCounts(of_documents=needs_documents(params.get("min_df", 1)))
    counts.add(types, words)
    return learn_vocabulary(counts, **params)


def learnt(texts, **params):
    """Learn the vocabulary of texts whose types are their words."""
    types = read_word_types(texts, TextAnalyzer(r"\w+"))
    return learnt_of(types, types.types, **params)


class TestLearnVocabulary:
    def test_ids_fall_with_frequency_and_then_follow_the_alphabet(self):
        assert learnt(["b c c. a b c d", "d e"]) == {"c": 2, "b": 3, "d": 4, "a": 5, "e": 6}

    def test_ids_are_plain_integers(self):
        assert {type(i) for i in learnt(["a b"]).values()} == {int}

    def test_types_of_one_word_are_counted_together(self):
        types = read_word_types(["b b. E e E"], TextAnalyzer(r"\w+"))
        assert types.types == ["b", "E", "e"]
        assert learnt_of(types, ["b", "e", "e"]) == {"e": 2, "b": 3}

    def test_min_df_counts_documents_and_not_occurrences(self):
        assert learnt(["a a a b", "b c", "c"], min_df=2) == {"b": 2, "c": 3}

    def test_a_share_of_the_documents_may_be_asked_for(self):
        assert learnt(["a b", "a c", "a", "b"], min_df=0.5) == {"a": 2, "b": 3}

    def test_types_of_one_word_in_one_document_count_as_one_document(self):
        types = read_word_types(["E e", "b", "b"], TextAnalyzer(r"\w+"))
        assert learnt_of(types, ["e", "e", "b"], min_df=2) == {"b": 2}

    def test_max_features_keeps_the_most_frequent_words(self):
        assert learnt(["b c c. a b c d", "d e"], max_features=2) == {"c": 2, "b": 3}

    def test_types_that_were_left_out_get_no_id(self):
        types = read_word_types(["the end of the day"], TextAnalyzer(r"\w+"))
        left = types.without(np.array([word_type in {"the", "of"} for word_type in types.types]))
        assert learnt_of(left, left.types) == {"day": 2, "end": 3}

    def test_no_words_are_an_empty_vocabulary(self):
        with pytest.raises(ValueError, match="empty vocabulary; perhaps the documents are blank"):
            learnt(["...", ""])

    def test_min_df_that_no_word_reaches_is_refused_with_the_repair(self):
        with pytest.raises(ValueError, match=r"no word occurs in 2 of the 2 .*lower min_df"):
            learnt(["a", "b"], min_df=2)


class TestCheckVocabulary:
    def test_a_mapping_keeps_its_ids(self):
        assert check_vocabulary({"film": 7, "fine": 2}) == {"film": 7, "fine": 2}

    def test_ids_of_numpy_become_plain_integers(self):
        assert [type(i) for i in check_vocabulary({"a": np.int64(2)}).values()] == [int]

    @pytest.mark.parametrize(
        "words", [["b", "a"], ("b", "a"), iter(["b", "a"]), np.array(["b", "a"])]
    )
    def test_words_get_ids_in_their_order(self, words):
        assert check_vocabulary(words) == {"b": 2, "a": 3}

    def test_a_set_of_words_is_sorted(self):
        assert check_vocabulary({"b", "a", "c"}) == {"a": 2, "b": 3, "c": 4}

    @pytest.mark.parametrize(
        ("vocabulary", "error", "message"),
        [
            ({}, ValueError, "empty vocabulary"),
            ([], ValueError, "empty vocabulary"),
            (["a", "b", "a"], ValueError, "Duplicate term in vocabulary: 'a'"),
            ({"a": 2, "b": 2}, ValueError, "id 2 to several words"),
            ({"a": 1}, ValueError, "'a' the id 1; ids start at 2"),
            ({"a": 2**31}, ValueError, "'a' the id 2147483648, which is beyond"),
            ({"a": 2.0}, TypeError, "not an integer"),
            ({"a": True}, TypeError, "not an integer"),
            ({3: 2}, TypeError, "3 of type int"),
            ("ab", TypeError, "the string 'ab'"),
        ],
    )
    def test_a_wrong_one_is_refused(self, vocabulary, error, message):
        with pytest.raises(error, match=message):
            check_vocabulary(vocabulary)
