import numpy as np
import pandas as pd
import pytest

from sk_han import ExplanationList
from tests.by_hand import explained, signed

SURENESS = [0.9, 0.6, 0.8, 0.6]


def predicting(*labels, y_true=None):
    """Explanations of the texts "Number 0.", "Number 1.", ... with these predictions."""
    return ExplanationList(
        (
            signed(
                f"Number {i}.",
                predicted=label,
                target=label,
                probabilities=[p, 1 - p] if label == "neg" else [1 - p, p],
            )
            for i, (label, p) in enumerate(zip(labels, SURENESS, strict=False))
        ),
        y_true=y_true,
    )


def test_slices_of_an_explanation_list_are_explanation_lists():
    explanations = ExplanationList(explained(f"Number {i}.") for i in range(5))
    assert len(explanations) == 5
    assert explanations[-1].text == "Number 4."
    assert isinstance(explanations[1:3], ExplanationList)
    assert [e.text for e in explanations[::2]] == ["Number 0.", "Number 2.", "Number 4."]
    assert explained("Number 3.") in explanations
    assert hash(explanations[:]) == hash(explanations)
    assert explanations != list(explanations)


CHOSEN = {
    "integers": ([2, -1], [2, 3]),
    "array": (np.array([3, 2]), [3, 2]),
    "objects": (np.array([2, 0], dtype=object), [2, 0]),
    "flags": (np.array([False, False, True, True]), [2, 3]),
    "objects of flags": (np.array([True, False, False, True], dtype=object), [0, 3]),
    "column": (pd.Series([True, False, True, False]), [0, 2]),
    "column of pandas": (pd.Series([True, False, True, False]).astype("boolean"), [0, 2]),
    "nothing": ([], []),
    "slice": (slice(3, 0, -2), [3, 1]),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_selected_documents_keep_their_row_numbers_and_labels(name):
    index, numbers = CHOSEN[name]
    labels = ["pos", "neg", "neg", "pos"]
    chosen = predicting("pos", "pos", "neg", "neg", y_true=labels)[index]
    assert chosen.numbers.tolist() == numbers
    assert [e.text for e in chosen] == [f"Number {number}." for number in numbers]
    assert list(chosen.y_true) == [labels[number] for number in numbers]


ANOTHER_KIND = "An index of an ExplanationList is an integer, a slice"


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([4], "index 4 is out of bounds for axis 0 with size 4"),
        (4, "index 4 is out of bounds for axis 0 with size 4"),
        ([-5], "index -5 is out of bounds"),
        ([True], "size of axis is 4 but size of corresponding boolean axis is 1"),
        ([0.5], "must be of integer"),
        ("pos", "integer"),
        ([[1]], "one dimension"),
        (None, ANOTHER_KIND),
        (True, ANOTHER_KIND),
        (np.array(["a", "b"], dtype=object), ANOTHER_KIND),
        (pd.array([True, None, False, False]), ANOTHER_KIND),
    ],
    ids=str,
)
def test_an_index_that_selects_nothing_is_refused(index, message):
    error = TypeError if message == ANOTHER_KIND else IndexError
    with pytest.raises(error, match=message):
        predicting("pos", "pos", "neg", "neg")[index]


REFUSED = {
    "number 1 is a str": lambda: ExplanationList([explained(), "text"]),
    "numbers must be 1 integer,": lambda: ExplanationList([explained()], numbers=[1, 2]),
    "numbers must be 1 integer, .*": lambda: ExplanationList([explained()], numbers=[0.5]),
    "ids must name all documents; got 1": lambda: ExplanationList(
        [explained()], numbers=[1], ids=["a"]
    ),
    "pass their true labels as y_true, here or to explain": predicting("pos", "neg").mistakes,
    r"a label for each of 2 documents.*got the shape \(1,\)": lambda: predicting(
        "pos", "neg", y_true=["pos"]
    ),
    r"a label for each of 2 documents.*got the shape \(\)": lambda: predicting(
        "pos", "neg", y_true="pos"
    ),
    r"y_true\[0\] is 0, which is none of the classes 'neg', 'pos'": lambda: predicting(
        "pos", "neg", y_true=[0, 1]
    ),
    r"y_true\[1\] is None": lambda: predicting("pos", "neg", y_true=["pos", None]),
}


@pytest.mark.parametrize("said", REFUSED)
def test_invalid_arguments_of_a_list_are_refused(said):
    with pytest.raises((TypeError, ValueError), match=said):
        REFUSED[said]()


@pytest.mark.parametrize("most", [-1, 0, 2.5, "a", True])
def test_an_invalid_number_of_documents_is_refused(most):
    with pytest.raises(ValueError, match="max_documents must be an integer of at least 1"):
        ExplanationList().to_text(max_documents=most)


def test_mistakes_are_sorted_from_the_most_confident():
    explanations = predicting("pos", "pos", "neg", "neg")
    mistakes = explanations.mistakes(["pos", "neg", "pos", "neg"])
    assert mistakes.numbers.tolist() == [2, 1]
    assert mistakes.y_true.tolist() == ["pos", "neg"]
    assert explanations.mistakes(["pos", "pos", "neg", "neg"]) == ExplanationList(y_true=[])
