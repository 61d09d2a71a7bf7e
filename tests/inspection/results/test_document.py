import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest

from sk_han import DocumentExplanation
from tests.by_hand import explained, signed

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
FIELDS = [field.name for field in dataclasses.fields(DocumentExplanation)]
OF_WORDS = [name for name in ARRAYS if len(getattr(explained(), name)) == 5]


def with_another(name):
    changes = {name: OTHERS[name]}
    if name == "classes":
        changes["probabilities"] = [0.1, 0.9, 0.0]
    if name in OF_COLUMNS:
        changes = {each: OTHERS[each] for each in OF_COLUMNS}
    return explained(**changes)


def test_words_and_sentences_are_slices_of_the_text():
    explanation = explained("Great film. I loved it!")
    assert explanation.words == ("Great", "film", "I", "loved", "it")
    assert explanation.sentences == ("Great film.", "I loved it!")


def test_combined_attention_is_sentence_times_word():
    explanation = explained("a b. c d e.")
    expected = [1 / 3 * 1 / 3, 1 / 3 * 2 / 3, 2 / 3 * 1 / 6, 2 / 3 * 2 / 6, 2 / 3 * 3 / 6]
    np.testing.assert_allclose(explanation.combined_attention, expected, rtol=1e-12)
    assert explanation.combined_attention.sum() == pytest.approx(1)


def test_only_attention_has_unsigned_contributions_and_probability_is_of_the_predicted():
    assert not explained().signed
    assert signed().signed
    assert explained(predicted="neg").predicted_probability == 0.1


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_read_only(name):
    array = getattr(explained(), name)
    with pytest.raises(ValueError, match="read-only"):
        array[:1] = array[:1]


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize(
    "remake", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
def test_copies_and_pickles_have_read_only_arrays(name, remake):
    assert not getattr(remake(explained()), name).flags.writeable


def test_the_callers_arrays_are_copied():
    weights = np.array([0.4, 0.6])
    explanation = explained(sentence_attention=weights)
    weights[0] = 0.9
    assert explanation.sentence_attention[0] == 0.4


def test_fields_cannot_be_set():
    with pytest.raises(dataclasses.FrozenInstanceError):
        explained().text = "other"


def test_a_pickle_is_equal():
    explanation = signed()
    assert explanation != explanation.text
    assert pickle.loads(pickle.dumps(explanation)) == explanation
    assert hash(pickle.loads(pickle.dumps(explanation))) == hash(explanation)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"word_attention": [1.0]}, r"word_attention must have the shape \(5\); got \(1,\)"),
        ({"unknown": np.zeros((5, 1), dtype=bool)}, r"unknown must have the shape \(5\)"),
        ({"probabilities": [1.0]}, r"probabilities must have the shape \(2\)"),
        (
            {"sentence_attention": [np.nan, 1.0]},
            "must be finite numbers; got nan",
        ),
        ({"predicted": "maybe"}, r"Labels must be of the classes \['neg', 'pos'\]; got 'maybe'"),
        ({"target": "maybe"}, "Labels must be of"),
        ({"labels": ["maybe"]}, "Labels must be of"),
        ({"against": "maybe"}, "Labels must be of"),
        ({"ngram_contributions": [1.0]}, "ngram_contributions must have the shape"),
    ],
)
def test_inconsistent_fields_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        explained(**changes)


def test_offsets_that_are_no_integers_are_refused():
    with pytest.raises(TypeError, match="sentence_spans must hold int64; got dtype float64"):
        explained(sentence_spans=[[0, 11.5], [12, 23]])


def test_weights_of_float32_are_taken():
    n_words = 10_000
    weights = np.full(n_words, 1 / n_words, dtype=np.float32)
    assert (
        explained("w " * n_words + ".", word_attention=weights).word_attention.dtype == np.float64
    )


def test_top_words_stand_by_falling_score():
    top = explained("a b. c d e.").top(3)
    assert [word.text for word in top] == ["e", "b", "d"]
    assert (top[0].start, top[0].end) == (9, 10)
    assert top[0].score == top[0].attention == pytest.approx(1 / 3)


def test_top_ranks_by_magnitude_and_keeps_the_sign():
    top = signed("a b c.", contributions=[0.1, -0.5, 0.2]).top()
    assert [(word.text, word.score) for word in top] == [("b", -0.5), ("c", 0.2), ("a", 0.1)]


def test_top_of_equal_scores_stands_in_reading_order():
    top = signed("a b c.", contributions=[0.2, -0.2, 0.2]).top(None)
    assert [word.text for word in top] == ["a", "b", "c"]


def test_top_sentences():
    (top,) = explained("a b. c d e.").top(1, level="sentence")
    assert top.text == " c d e.".strip()
    assert top.score == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((-1,), "k must be"), (("five",), "k must be"), ((1, "words"), "level must be")],
)
def test_top_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        explained().top(*arguments)


def test_to_dict_nests_words_in_their_sentences():
    given = explained().to_dict()
    assert [[word["text"] for word in s["words"]] for s in given["sentences"]] == [
        ["Great", "film"],
        ["I", "loved", "it"],
    ]
    assert [sentence["error"] for sentence in given["sentences"]] == [None, None]
    loved = given["sentences"][1]["words"][1]
    assert given["text"][loved["start"] : loved["end"]] == "loved"
    assert loved["combined_attention"] == pytest.approx(2 / 3 * 1 / 3)


@pytest.mark.parametrize("name", sorted({*FIELDS} - {*ARRAYS, *OF_COLUMNS, "sentence_errors"}))
def test_to_dict_has_every_field_of_the_document_by_its_name(name):
    assert with_another(name).to_dict()[name] == OTHERS[name]


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "sentence_of_word"])
def test_to_dict_and_equality_tell_every_field(name):
    assert with_another(name).to_dict() != explained().to_dict()
    assert with_another(name) != explained()


@pytest.mark.parametrize("name", [name for name in OF_WORDS if name != "sentence_of_word"])
def test_the_frame_tells_every_field_of_words(name):
    assert not with_another(name).to_frame().equals(explained().to_frame())


@pytest.mark.parametrize("text", ["Great film.", "caf\u00e9 \U0001f600.", "a \ud800 b.", ""])
def test_json_gives_the_dict_back(text, tmp_path):
    explanation = explained(text)
    path = tmp_path / "explanation.json"
    assert json.loads(explanation.to_json(path)) == explanation.to_dict()
    assert json.loads(path.read_bytes()) == explanation.to_dict()


def test_the_frame_of_sentences_has_their_standard_errors():
    errors = signed("Great film. I loved it!", sentence_errors=[0.0, 0.5]).to_frame("sentence")
    assert errors["error"].tolist() == [0.0, 0.5]
    assert explained().to_frame("sentence")["error"].isna().all()


def test_frames_have_a_row_for_each_word_or_sentence():
    frame = explained().to_frame()
    assert frame["word"].tolist() == ["Great", "film", "I", "loved", "it"]
    assert frame["combined_attention"].sum() == pytest.approx(1)
    frame = explained().to_frame(level="sentence")
    assert frame["sentence"].tolist() == ["Great film.", "I loved it!"]
    assert frame["attention"].tolist() == pytest.approx([1 / 3, 2 / 3])
    # pandas cannot hold this one as UTF-8.
    assert explained("a\ud800 b.").to_frame(level="sentence")["sentence"][0] == "a\ud800 b."
    with pytest.raises(ValueError, match="level must be 'word' or 'sentence'"):
        explained().to_frame(level="letter")


@pytest.mark.parametrize("text", ["", " ... \n"])
def test_a_document_without_words_is_well_formed(text):
    explanation = explained(text)
    assert explanation.words == explanation.sentences == ()
    assert explanation.top() == explanation.top(level="sentence") == []
    assert explanation.to_dict()["sentences"] == []
    assert len(explanation.to_frame()) == len(explanation.to_frame(level="sentence")) == 0
    assert "No words of this document were read" in str(explanation)
    assert "No words of this document were read" in explanation.to_html()


def test_no_label_sends_commands_to_the_terminal_by_repr():
    label = "pos\x1b[31m\u202e\n"
    shown = repr(explained(classes=["neg", label], predicted=label, target=label))
    assert shown.startswith("DocumentExplanation(pos\u241b[31m\ufffd 0.900")


# How attention becomes one number, and what the n-grams bring


def test_contributions_of_ngrams_are_zero_where_none_are_given():
    assert explained().ngram_contributions.tolist() == [0] * 5
