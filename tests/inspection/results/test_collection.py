import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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
    assert str(ExplanationList([explained()] * 11)).endswith("... and 1 more document")
    assert repr(ExplanationList([explained()] * 3)) == "ExplanationList(3 documents)"


@pytest.mark.parametrize("most", [-1, 0, 2.5, "a", True])
def test_a_number_of_documents_that_is_no_count_is_refused(most):
    explanations = ExplanationList([explained()] * 3)
    with pytest.raises(ValueError, match="max_documents must be an integer of at least 1"):
        explanations.to_text(max_documents=most)


def test_integers_and_booleans_choose_documents():
    explanations = predicting("pos", "pos", "neg", "neg")
    for index in ([2, -1], np.array([2, 3]), np.array([False, False, True, True])):
        assert [e.text for e in explanations[index]] == ["Number 2.", "Number 3."]
    assert explanations[np.int64(1)].text == "Number 1."
    assert len(explanations[[]]) == 0


def test_a_column_of_a_table_chooses_documents():
    explanations = predicting("pos", "pos", "neg", "neg")
    sure = explanations.to_frame()["probability"] > 0.7
    assert explanations[sure].numbers.tolist() == [0, 2]
    assert explanations[sure.astype(pd.BooleanDtype())].numbers.tolist() == [0, 2]


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
    ],
)
def test_an_index_that_chooses_nothing_is_refused(index, message):
    with pytest.raises(IndexError, match=message):
        predicting("pos", "pos", "neg", "neg")[index]


def test_objects_choose_as_the_integers_or_booleans_that_they_are():
    explanations = predicting("pos", "pos", "neg", "neg")
    assert explanations[np.array([2, 0], dtype=object)].numbers.tolist() == [2, 0]
    flags = np.array([True, False, False, True], dtype=object)
    assert explanations[flags].numbers.tolist() == [0, 3]


@pytest.mark.parametrize(
    "index",
    [None, True, np.array(["a", "b"], dtype=object), pd.array([True, None, False, False])],
    ids=["None", "a boolean", "strings", "a missing flag"],
)
def test_an_index_of_another_kind_is_refused(index):
    with pytest.raises(TypeError, match="An index of an ExplanationList is an integer, a slice"):
        predicting("pos", "pos", "neg", "neg")[index]


def test_chosen_documents_keep_their_numbers_and_labels():
    explanations = predicting("pos", "pos", "neg", "neg", y_true=["pos", "neg", "neg", "pos"])
    chosen = explanations[1:][[2, 0]]
    assert chosen.numbers.tolist() == [3, 1]
    assert chosen.y_true.tolist() == ["pos", "neg"]


def test_mistakes_are_the_documents_with_another_true_label_the_surest_first():
    explanations = predicting("pos", "pos", "neg", "neg")
    mistakes = explanations.mistakes(["pos", "neg", "pos", "neg"])
    assert mistakes.numbers.tolist() == [2, 1]
    assert mistakes.y_true.tolist() == ["pos", "neg"]
    assert explanations.mistakes(["pos", "pos", "neg", "neg"]) == ExplanationList(y_true=[])


@pytest.mark.parametrize(
    "container",
    [
        np.array,
        lambda labels: np.array(labels)[:, None],
        pd.Series,
        lambda labels: pd.DataFrame({"label": labels}),
        pl.Series,
        pa.array,
    ],
)
def test_true_labels_come_in_any_container(container):
    explanations = predicting("pos", "pos", y_true=container(["pos", "neg"]))
    assert explanations.y_true.tolist() == ["pos", "neg"]
    assert explanations.mistakes().numbers.tolist() == [1]


def test_mistakes_need_true_labels_once():
    with pytest.raises(ValueError, match="pass their true labels as y_true, here or to explain"):
        predicting("pos", "neg").mistakes()
    assert len(predicting("pos", "neg", y_true=["pos", "pos"]).mistakes()) == 1


def test_confidence_sorts_and_equal_ones_stay_in_order():
    explanations = predicting("pos", "pos", "neg", "neg")
    assert explanations.by_confidence().numbers.tolist() == [0, 2, 1, 3]
    assert explanations.by_confidence(ascending=True).numbers.tolist() == [1, 3, 2, 0]


def test_a_table_of_documents_has_a_row_for_each():
    frame = predicting("pos", "neg", y_true=["pos", "pos"])[[1, 0]].to_frame()
    assert frame["document"].tolist() == [1, 0]
    assert frame["predicted"].tolist() == ["neg", "pos"]
    assert frame["true"].tolist() == ["pos", "pos"]
    assert frame["correct"].tolist() == [False, True]
    assert frame["strongest_sentence"].tolist() == ["Number 1.", "Number 0."]
    assert "true" not in predicting("pos").to_frame()


@pytest.mark.parametrize(("level", "n"), [("sentence", 4), ("word", 10)])
def test_tables_of_sentences_and_words_say_whose_they_are(level, n):
    frame = ExplanationList([explained(), signed(target="neg")]).to_frame(level)
    assert frame["document"].tolist() == [0] * (n // 2) + [1] * (n // 2)
    assert frame["target"].tolist() == ["pos"] * (n // 2) + ["neg"] * (n // 2)
    assert frame["contribution"].tolist()[n // 2] == 1.0


@pytest.mark.parametrize(
    "ids", [[("a", 1), ("b", 2)], ["r7", "r8"], [7, 8]], ids=["levels", "strings", "integers"]
)
@pytest.mark.parametrize("level", ["document", "sentence", "word"])
def test_tables_name_documents_by_ids_of_any_kind(level, ids):
    found = ExplanationList([explained(), signed()], ids=ids)
    names = found.to_frame(level)["document"]
    assert list(dict.fromkeys(names)) == ids
    assert names.dtype == found.to_frame("document")["document"].dtype


@pytest.mark.parametrize("level", ["document", "sentence", "word"])
def test_the_table_of_no_documents_has_the_columns_of_others(level):
    empty = ExplanationList().to_frame(level)
    assert len(empty) == 0
    assert list(empty) == list(ExplanationList([explained()]).to_frame(level))
    with pytest.raises(ValueError, match="'document', 'sentence' or 'word'; got 'text'"):
        ExplanationList().to_frame("text")


def test_json_has_all_explanations_with_their_true_labels(tmp_path):
    explanations = predicting("pos", "neg", y_true=["neg", "neg"])
    path = tmp_path / "explained.json"
    data = json.loads(explanations[::-1].to_json(path))
    assert json.loads(path.read_text()) == data
    assert [(d["document"], d["predicted"], d["true"]) for d in data] == [
        (1, "neg", "neg"),
        (0, "pos", "neg"),
    ]
    assert data[0]["sentences"][0]["text"] == "Number 1."
    assert json.loads(predicting("pos").to_json())[0]["true"] is None


def test_numbers_must_be_one_integer_for_each():
    for numbers in ([1, 2], [0.5]):
        with pytest.raises(ValueError, match="numbers must be 1 integer,"):
            ExplanationList([explained()], numbers=numbers)
    with pytest.raises(ValueError, match="ids must name all documents; got 1"):
        ExplanationList([explained()], numbers=[1], ids=["a"])
