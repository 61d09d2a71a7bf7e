import pickle

import pytest

from sk_han.explanation.collection import ExplanationList
from tests.by_hand import explained, signed


def test_a_list_is_a_sequence_whose_slices_are_lists():
    explanations = ExplanationList(explained(f"Number {i}.") for i in range(5))
    assert len(explanations) == 5
    assert explanations[-1].text == "Number 4."
    assert isinstance(explanations[1:3], ExplanationList)
    assert [e.text for e in explanations[::2]] == ["Number 0.", "Number 2.", "Number 4."]
    assert explained("Number 3.") in explanations


def test_a_list_equals_its_pickle():
    explanations = ExplanationList([explained(), signed()])
    assert pickle.loads(pickle.dumps(explanations)) == explanations
    assert hash(pickle.loads(pickle.dumps(explanations))) == hash(explanations)
    assert explanations != explanations[:1]


def test_a_list_refuses_other_things():
    with pytest.raises(TypeError, match="number 1 is a str"):
        ExplanationList([explained(), "text"])


def test_a_list_as_text_says_how_many_it_leaves_out():
    text = str(ExplanationList([explained()] * 13))
    assert text.count("predicted") == 10
    assert text.endswith("... and 3 more documents")


def test_repr_of_a_list_counts():
    assert repr(ExplanationList([explained()] * 3)) == "ExplanationList(3 documents)"
