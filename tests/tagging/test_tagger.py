"""What a SequenceTagger learns, returns and promises."""

import copy
import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from sk_han import ModelFormatError, SequenceTagger, load, save
from tests.thorough import first_fast
from tests.tiny_sentences import UNSEEN, X, Y, tiny_tagger, with_columns

FRAME = pd.DataFrame({"word": ["a"]})


@pytest.fixture(scope="module")
def fitted():
    return tiny_tagger(scheme="iob2").fit(X, Y)


def assert_equal_probabilities(one, other):
    for a, b in zip(one.predict_proba(UNSEEN), other.predict_proba(UNSEEN), strict=True):
        np.testing.assert_array_equal(a, b)


class TestLearning:
    @pytest.mark.parametrize("labels", [["A", "B"], [3, 5], [False, True], ["A", "A"]])
    def test_columns_are_read_and_labels_come_back_in_their_type(self, labels):
        # The word is the same everywhere: the column alone says the label.
        sentences = [[("x", "a"), ("x", "b")], [("x", "b")]] * 20
        tagger = tiny_tagger().fit(sentences, [labels, labels[1:]] * 20)
        word, column, *_ = tagger.vocabularies_
        assert (tagger.n_columns_, word, column) == (2, {"x": 2}, {"b": 2, "a": 3})
        found = tagger.predict([[("x", "b"), ("x", "a")], [("zip", "Z")]])
        assert found[0] == labels[::-1]
        assert type(found[0][0]) is type(labels[0])
        unknown = tagger.predict_proba([[("zip", "Z")], [("lyc", "Y")]])
        np.testing.assert_allclose(*unknown, atol=1e-6)
        with pytest.raises(ValueError, match="Token 0 of sentence 0 of X has 1 column"):
            tagger.predict([["x"]])

    def test_training_sentences_are_labelled(self, fitted):
        assert fitted.predict(X) == Y
        assert fitted.score(X, Y) == 1

    @pytest.mark.parametrize(
        "params", first_fast([{"crf": False}, {"scheme": None}, {"engine": "torch"}])
    )
    def test_every_configuration_learns_the_labels(self, params):
        assert tiny_tagger(**({"scheme": "iob2"} | params)).fit(X, Y).score(X, Y) == 1

    @pytest.mark.thorough
    def test_unknown_words_are_read_by_their_letters(self):
        stems = ["walk", "talk", "jump", "play", "call", "look", "work", "pull"]
        sentences = [[stem + ending] for stem in stems for ending in ("ed", "ing")]
        labels = [["PAST"], ["ING"]] * len(stems)
        tagger = tiny_tagger(max_epochs=40).fit(sentences, labels)
        assert tagger.predict([["zoomed"], ["zooming"]]) == [["PAST"], ["ING"]]

    def test_sentences_of_weight_0_are_left_out(self, one_thread):
        wrong = [["O" if label != "O" else "B-NAME" for label in labels] for labels in Y]
        weights = [1.0] * len(X) + [0.0] * len(X)
        with_wrong = tiny_tagger(max_epochs=2).fit(X + X, Y + wrong, sample_weight=weights)
        alone = tiny_tagger(max_epochs=2).fit(X, Y)
        assert_equal_probabilities(with_wrong, alone)
        of_both = with_wrong.score(X + X, Y + wrong, sample_weight=weights)
        assert of_both == pytest.approx(alone.score(X, Y))

    @pytest.mark.parametrize(("weights", "expected"), [([9.0, 1.0], "A"), ([1.0, 9.0], "B")])
    def test_a_heavier_sentence_decides_between_contradicting_ones(self, weights, expected):
        tagger = tiny_tagger(max_epochs=8)
        tagger.fit([["x"], ["x"]] * 10, [["A"], ["B"]] * 10, sample_weight=weights * 10)
        assert tagger.predict([["x"]]) == [[expected]]

    def test_predicting_one_label_for_all_tokens_warns(self):
        tagger = tiny_tagger(max_epochs=10, lr=1e-9)
        with pytest.warns(ConvergenceWarning, match=r"10 epochs of 20 .* label .[AB]"):
            tagger.fit([["x", "y"]] * 20, [["A", "B"]] * 20)

    @pytest.mark.thorough
    def test_words_of_pretrained_vectors_are_known(self):
        vectors = {
            word: np.full(7, value, dtype=np.float32)
            for words, value in ((("rot", "blau", "lila"), 1.0), (("acht", "neun", "zehn"), -1.0))
            for word in words
        }
        sentences = [["rot"], ["blau"], ["acht"], ["neun"]] * 10
        labels = [["C"], ["C"], ["N"], ["N"]] * 10
        tagger = tiny_tagger(embedding_init=vectors, max_epochs=20).fit(sentences, labels)
        assert tagger.predict([["lila"], ["Zehn"]]) == [["C"], ["N"]]


class TestResults:
    def test_probabilities_sum_to_1_and_depend_on_the_sentence_alone(self, fitted):
        together = fitted.predict_proba(UNSEEN)
        assert [len(rows) for rows in together] == [len(sentence) for sentence in UNSEEN]
        for sentence, rows in zip(UNSEEN, together, strict=True):
            assert rows.shape[1:] == fitted.classes_.shape
            np.testing.assert_allclose(rows.sum(axis=1), 1)
            np.testing.assert_allclose(fitted.predict_proba([sentence])[0], rows, atol=1e-6)
        assert fitted.predict(UNSEEN * 100) == fitted.predict(UNSEEN) * 100
        assert fitted.predict([]) == fitted.predict_proba([]) == []

    @pytest.mark.parametrize("crf", [True, False])
    def test_iob2_is_valid_even_untrained(self, crf):
        # One epoch at a tiny rate: predictions are those of random weights.
        tagger = tiny_tagger(scheme="iob2", crf=crf, max_epochs=1, lr=1e-9).fit(X, Y)
        free = tiny_tagger(scheme=None, crf=crf, max_epochs=1, lr=1e-9).fit(X, Y)
        assert any(breaks_iob2(labels) for labels in free.predict(X + UNSEEN))
        assert not any(breaks_iob2(labels) for labels in tagger.predict(X + UNSEEN))
        inside = tagger.classes_.tolist().index("I-NAME")
        for rows in tagger.predict_proba(UNSEEN):
            assert not len(rows) or rows[0, inside] == 0

    def test_the_held_out_words_are_unknown(self):
        sentences = [[f"word{i}"] for i in range(20)]
        tagger = tiny_tagger(validation_fraction=0.5).fit(sentences, [["A"]] * 20)
        assert len(tagger.vocabularies_[0]) == 10


def breaks_iob2(labels):
    pairs = itertools.pairwise(["O", *labels])
    return any(b[:2] == "I-" and a[2:] != b[2:] for a, b in pairs)


class TestBadInput:
    @pytest.mark.parametrize(
        ("sentences", "labels", "message"),
        [
            ("a text", [["O"]], "X is the string 'a text'"),
            (["a text"], [["O"]], "Sentence 0 of X is the string 'a text'.*split"),
            ([["a"], 5], [["O"], ["O"]], "Sentence 1 of X is an int"),
            ([["a"], ["b", None]], [["O"], ["O", "O"]], "Token 1 of sentence 1 of X is None"),
            ([[("a", "X")], [("b",)]], [["O"], ["O"]], "Token 0 of sentence 1 of X has 1 column:"),
            ([[()]], [["O"]], r"Token 0 of sentence 0 of X is \(\)"),
            ([["a"]], [["O", "O"]], "Sentence 0 has 1 token in X and 2 labels"),
            ([["a"], ["b"]], [["O"]], "2 sentences in X, 1 in y"),
            (
                [["a"]],
                ["O"],
                "Sentence 0 of y is the string 'O'; expected a list of labels",
            ),
            ([["a"]], None, "requires y"),
            ([{"a", "b"}], [["O"]], "Sentence 0 of X is a set"),
            (FRAME, [["O"]], r"X is a DataFrame.*groupby"),
            ([["a"], FRAME], [["O"]] * 2, r"Sentence 1 of X is a DataFrame.*groupby"),
            (iter([["a"]]), [["O"]], r"X is a list_iterator.*list\(\.\.\.\)"),
            ([["a", float("nan")]], [["O"]], "Token 1 of sentence 0 of X is nan.*leave it out"),
            ([["a"]], 3, "y is an int; expected a list"),
            ([["a"]], {0: ["A"]}, "y is a dict; expected a list"),
            ([["a"]], [[1.0]], r"label 1.0 of type float.*str\(label\)"),
            ([["a", "b"]], [["O", None]], "Token 1 of sentence 0 has the label None"),
            ([["a", "b"]], [["O", 3]], "is 3, of type number; labels are all"),
            ([], [], "Found 0 sentence.*X is empty"),
            ([[]], [[]], "No sentence has a token"),
            ([["a", "b"]] * 2, [["B-A", "I-A"], ["O", "I-A"]], "Token 1 of sentence 1 .* 'I-A'"),
            ([["a", "b"], ["c"]], [["O", "B-A"], ["I-A"]], "sentence 1 .*'I-A' after the start"),
            ([[], ["a", "b"]], [[], ["B-B", "I-A"]], "Token 1 of sentence 1 .*'I-A' after 'B-B'"),
            ([["a"]], [["S-A"]], "'S-A'"),
        ],
    )
    def test_the_error_says_what_is_wrong_and_where(self, sentences, labels, message):
        scheme = "iob2" if "-A" in message else None
        with pytest.raises((TypeError, ValueError), match=message):
            tiny_tagger(scheme=scheme).fit(sentences, labels)

    @pytest.mark.parametrize(
        ("sentences", "labels", "weights", "message"),
        [
            ([], [], None, "no token"),
            ([[]], [[]], None, "no token"),
            ([["a"]], [[1]], None, "labels of type int.*those of training are of type str"),
            ([["Anna"]], [["B-NAME"]], [-1.0], "Negative"),
            ([["Anna"], []], [["B-NAME"], []], [0, 1], "no token with a weight"),
        ],
    )
    def test_score_refuses_invalid_sentences_labels_and_weights(
        self, fitted, sentences, labels, weights, message
    ):
        with pytest.raises(ValueError, match=message):
            fitted.score(sentences, labels, weights)


# Weights of labels of a tagger.


# The same sentence: of the same word a fifth of the labels are NAME.
BANKS = [["the", "bank", "was", "old"]] * 200
RARE_NAMES = [["O", "O" if i % 5 else "NAME", "O", "O"] for i in range(200)]


@pytest.mark.thorough
@pytest.mark.parametrize("crf", [True, False])
def test_a_rare_label_is_predicted_if_its_tokens_weigh_more(crf):
    model = tiny_tagger(crf=crf, max_epochs=15)
    with pytest.warns(UserWarning, match="gives all their tokens the label 'O'"):
        assert model.fit(BANKS, RARE_NAMES).predict(BANKS[:1]) == [["O", "O", "O", "O"]]
    for weights in ("balanced", {"O": 1, "NAME": 30}):
        weighted = model.set_params(class_weight=weights).fit(BANKS, RARE_NAMES)
        assert weighted.predict(BANKS[:1]) == [["O", "NAME", "O", "O"]]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"O": 1, "NAMES": 2}, "NAMES"),
        ({"O": 1, "NAME": 0}, "class_weight of 'NAME' is 0, and a tagger needs positive weights"),
        ({"O": 1, "NAME": -1}, "class_weight of 'NAME' is -1"),
        ({"O": 1, "NAME": np.inf}, "class_weight of 'NAME' is inf"),
        ("even", "class_weight.*balanced"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    tagger = tiny_tagger(class_weight=weights)
    with pytest.raises(ValueError, match=message):
        tagger.fit(BANKS, RARE_NAMES)


# Files and states of a SequenceTagger: the same bits come back, damaged ones are refused.


@pytest.mark.parametrize(
    ("params", "change"),
    [
        ({"scheme": "iob2", "validation_fraction": 0.4}, list),
        ({"crf": False, "class_weight": {1: 2.0, 6: 3.0}}, lambda tags: list(map(len, tags))),
    ],
    ids=["IOB2", "integers and weights"],
)
def test_a_loaded_tagger_predicts_the_same_bits(params, change, tmp_path):
    labels, unseen = [change(tags) for tags in Y], with_columns(UNSEEN)
    tagger = tiny_tagger(max_epochs=2, **params).fit(with_columns(X), labels)
    save(tagger, tmp_path / "tagger.han")
    loaded = load(tmp_path / "tagger.han")
    assert type(loaded) is SequenceTagger
    for name in ("history_", "best_epoch_", "best_score_", "fit_summary_"):
        assert getattr(loaded, name) == getattr(tagger, name)
    assert loaded.fit_summary_ is not None
    assert loaded.get_params() == tagger.get_params()
    for _ in range(2):
        assert loaded.predict(unseen) == tagger.predict(unseen)
        for a, b in zip(loaded.predict_proba(unseen), tagger.predict_proba(unseen), strict=True):
            np.testing.assert_array_equal(a, b)
        loaded.fit(with_columns(X), labels)


def changed(state, *keys, value):
    *inner, last = keys
    for key in inner:
        state = state[key]
    state[last] = value


DAMAGES = {
    "lacks": lambda s: s.pop("classes"),
    "classes are not sorted": lambda s: changed(s, "classes", value=s["classes"][::-1]),
    "n_columns must be an integer of at least 1": lambda s: changed(s, "n_columns", value=0),
    "vocabularies must be a list of 9": lambda s: s["vocabularies"].pop(),
    "vocabularies.2. is not a dict": lambda s: changed(s, "vocabularies", 2, value=[["a", 2]]),
    "has an id beyond": lambda s: changed(s, "vocabularies", 0, "Anna", value=10**6),
    "scheme must be": lambda s: changed(s, "scheme", value="iob1"),
    "needs the labels 'O'": lambda s: changed(
        s, "classes", value=np.array(["A", "B", "C"], dtype=object)
    ),
    "encoder.gru.weight_ih_l0 has the shape": lambda s: changed(
        s, "network", "options", "hidden_size", value=10**6
    ),
    "too many": lambda s: changed(s, "network", "options", "crf", value=False),
    "fit_summary.n_trained must be an integer": lambda s: changed(
        s, "fit_summary", "n_trained", value=0.5
    ),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_a_damaged_state_is_refused(fitted, message):
    state = copy.deepcopy(fitted.to_state())
    DAMAGES[message](state)
    with pytest.raises(ModelFormatError, match=message):
        SequenceTagger().from_state(state)
