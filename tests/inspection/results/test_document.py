import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest

from sk_han import DocumentExplanation
from tests.by_hand import explained, signed
from tests.stored import assert_stored, rounded

ARRAYS = [
    field.name
    for field in dataclasses.fields(DocumentExplanation)
    if isinstance(getattr(explained(), field.name), np.ndarray)
]


# For each field a value other than that of `explained()`. Which sentence a word is of, its span
# and those of the sentences say already.
OTHERS = {
    "text": "Great film! I loved it!",
    "word_spans": [[0, 4], [6, 10], [12, 13], [14, 19], [20, 22]],
    "sentence_spans": [[0, 10], [12, 23]],
    "sentence_of_word": None,
    "word_attention": [0.5, 0.5, 0.5, 0.25, 0.25],
    "sentence_attention": [0.5, 0.5],
    "contributions": [0.0, 1.0, 2.0, 3.0, 4.0],
    "sentence_contributions": [5.0, 6.0],
    "method": "random",
    "classes": ["neg", "pos", "none"],
    "probabilities": [0.2, 0.8],
    "predicted": "neg",
    "target": "neg",
    "unknown": [False, True, False, False, False],
    "truncated": True,
    "ngram_contributions": [0.0, 1.0, 2.0, 3.0, 4.0],
    "sentence_errors": [0.0, 0.5],
    "base_value": -0.5,
    "labels": ["pos"],
    "against": "neg",
    "expected": 3.5,
    "thresholds": [0.5, 0.25],
    "tokens": ["great", "movie", "i", "love", "it"],
    "network_share": 0.25,
    "column_names": ["amount"],
    "column_values": ["1 to 2"],
    "column_contributions": [0.5],
}
OF_COLUMNS = {name for name in OTHERS if name.startswith("column_")}


def with_another(name):
    changes = {name: OTHERS[name]}
    if name == "classes":
        changes["probabilities"] = [0.1, 0.9, 0.0]
    if name in OF_COLUMNS:
        changes = {each: OTHERS[each] for each in OF_COLUMNS}
    return explained(**changes)


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_read_only_also_in_copies_and_pickles(name):
    explanation = explained()
    for remade in (
        explanation,
        copy.copy(explanation),
        copy.deepcopy(explanation),
        pickle.loads(pickle.dumps(explanation)),
    ):
        assert not getattr(remade, name).flags.writeable
        assert remade == explanation != explanation.text
        assert hash(remade) == hash(explanation)


def test_the_callers_arrays_are_copied():
    weights = np.array([0.4, 0.6])
    explanation = explained(sentence_attention=weights)
    weights[0] = 0.9
    assert explanation.sentence_attention[0] == 0.4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"word_attention": [1.0]}, r"word_attention must have the shape \(5\); got \(1,\)"),
        ({"unknown": np.zeros((5, 1), dtype=bool)}, r"unknown must have the shape \(5\)"),
        ({"probabilities": [1.0]}, r"probabilities must have the shape \(2\)"),
        ({"sentence_attention": [np.nan, 1.0]}, "must be finite numbers; got nan"),
        ({"sentence_spans": [[0, 11.5], [12, 23]]}, "must hold int64; got dtype float64"),
        ({"ngram_contributions": [1.0]}, "ngram_contributions must have the shape"),
        ({"predicted": "maybe"}, r"Labels must be of the classes \['neg', 'pos'\]; got 'maybe'"),
        *(({name: ["maybe"]}, "Labels must be of") for name in ("target", "labels", "against")),
    ],
)
def test_inconsistent_fields_are_named(changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        explained(**changes)


def test_top_words_are_sorted_by_magnitude_then_position():
    top = signed("a b c d.", contributions=[0.1, -0.5, 0.2, -0.2]).top(3)
    assert [(word.text, word.score) for word in top] == [("b", -0.5), ("c", 0.2), ("d", -0.2)]
    assert (top[0].start, top[0].end) == (2, 3)
    (best,) = explained("a b. c d e.").top(1, level="sentence")
    assert (best.text, best.score) == ("c d e.", pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((-1,), "k must be"), (("five",), "k must be"), ((1, "words"), "level must be")],
)
def test_top_refuses_invalid_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        explained().top(*arguments)


@pytest.mark.parametrize("name", [name for name in OTHERS if name != "sentence_of_word"])
def test_equality_and_dict_cover_every_field(name):
    assert with_another(name) != explained()
    assert with_another(name).to_dict() != explained().to_dict()


def test_data_and_table_of_words_have_every_field():
    changes = OTHERS | {"sentence_of_word": [0, 0, 1, 1, 1], "probabilities": [0.1, 0.8, 0.1]}
    result = explained(**changes | {"thresholds": [0.5, 0.25, 0.125]})
    data = {"data": result.to_dict(), "words": result.to_frame().to_dict("list")}
    assert_stored("every_field.json", json.dumps(rounded(data), indent=1) + "\n")


def test_no_label_sends_commands_to_the_terminal_by_repr():
    label = "pos\x1b[31m\u202e\n"
    shown = repr(explained(classes=["neg", label], predicted=label, target=label))
    assert shown.startswith("DocumentExplanation(pos\u241b[31m\ufffd 0.900")
