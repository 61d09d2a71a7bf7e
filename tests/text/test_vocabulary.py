import numpy as np
import pytest

from sk_han import HierarchicalTokenizer


def vocabulary_of(vocabulary):
    return HierarchicalTokenizer(vocabulary=vocabulary).fit(["a"]).vocabulary_


VOCABULARIES = [["b", "a"], ("b", "a"), iter(["b", "a"]), np.array(["b", "a"])]
VOCABULARIES += [{"b": np.int64(2), "a": np.int64(3)}]


@pytest.mark.parametrize("words", VOCABULARIES)
def test_words_get_ids_in_order_and_sets_are_sorted(words):
    vocabulary = vocabulary_of(words)
    assert list(vocabulary.items()) == [("b", 2), ("a", 3)]
    assert {type(i) for i in vocabulary.values()} == {int}
    assert vocabulary_of({"b", "a", "c"}) == {"a": 2, "b": 3, "c": 4}


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
def test_an_invalid_vocabulary_is_refused(vocabulary, error, message):
    with pytest.raises(error, match=message):
        vocabulary_of(vocabulary)
