"""What a SequenceTagger learns, returns and promises."""

import itertools
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score

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
    def test_training_sentences_are_labelled(self, fitted):
        assert fitted.predict(X) == Y
        assert fitted.score(X, Y) == 1

    @pytest.mark.parametrize(
        "params", first_fast([{"crf": False}, {"scheme": None}, {"engine": "torch"}])
    )
    def test_other_ways_learn_too(self, params):
        assert tiny_tagger(**({"scheme": "iob2"} | params)).fit(X, Y).score(X, Y) == 1

    def test_further_columns_are_read(self):
        # The word is the same everywhere: the column alone says the label.
        sentences = [[("x", "a"), ("x", "b")], [("x", "b")]] * 20
        tagger = tiny_tagger().fit(sentences, [["A", "B"], ["B"]] * 20)
        assert tagger.n_columns_ == 2
        assert tagger.predict([[("x", "b"), ("x", "a")]]) == [["B", "A"]]

    def test_the_neighbours_decide(self):
        sentences = [["go", "x"], ["stop", "x"], ["x", "x"]] * 15
        labels = [["O", "A"], ["O", "B"], ["C", "C"]] * 15
        assert tiny_tagger(hidden_size=11).fit(sentences, labels).score(sentences, labels) == 1

    @pytest.mark.thorough
    def test_unknown_words_are_read_by_their_letters(self):
        stems = ["walk", "talk", "jump", "play", "call", "look", "work", "pull"]
        sentences = [[stem + ending] for stem in stems for ending in ("ed", "ing")]
        labels = [["PAST"], ["ING"]] * len(stems)
        tagger = tiny_tagger(max_epochs=40).fit(sentences, labels)
        assert tagger.predict([["zoomed"], ["zooming"]]) == [["PAST"], ["ING"]]

    @pytest.mark.parametrize("labels", [[3, 5], [False, True]])
    def test_integer_and_boolean_labels_come_back(self, labels):
        found = tiny_tagger().fit([["a", "b"], ["b"]] * 10, [labels, labels[1:]] * 10)
        assert found.predict([["a", "b"]]) == [labels]
        assert type(found.predict([["a"]])[0][0]) is type(labels[0])

    def test_a_single_label_is_predicted(self):
        tagger = tiny_tagger().fit([["a"], ["b", "c"]], [["O"], ["O", "O"]])
        assert tagger.predict([["z", "a"]]) == [["O", "O"]]
        np.testing.assert_allclose(tagger.predict_proba([["z"]])[0], [[1.0]])

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

    def test_one_that_gives_all_tokens_one_label_says_so(self):
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

    @pytest.mark.thorough
    def test_word_vectors_from_cooccurrence(self):
        assert tiny_tagger(embedding_init="cooccurrence").fit(X, Y).score(X, Y) == 1


class TestResults:
    def test_probabilities_sum_to_1(self, fitted):
        found = fitted.predict_proba(UNSEEN)
        assert [len(rows) for rows in found] == [len(sentence) for sentence in UNSEEN]
        for rows in found:
            assert rows.shape[1:] == fitted.classes_.shape
            np.testing.assert_allclose(rows.sum(axis=1), 1)

    @pytest.mark.thorough
    def test_a_sentence_does_not_depend_on_its_batch(self, fitted):
        together = fitted.predict_proba(UNSEEN)
        for sentence, rows in zip(UNSEEN, together, strict=True):
            np.testing.assert_allclose(fitted.predict_proba([sentence])[0], rows, atol=1e-6)

    def test_many_sentences_are_read_in_batches(self, fitted):
        assert fitted.predict(UNSEEN * 100) == fitted.predict(UNSEEN) * 100

    def test_nothing_gives_nothing(self, fitted):
        assert fitted.predict([]) == []
        assert fitted.predict_proba([]) == []
        assert fitted.predict([[]]) == [[]]

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


class TestCitizenship:
    def test_parameters_and_clone(self, fitted):
        copy = clone(fitted).set_params(hidden_size=6)
        assert copy.get_params() == fitted.get_params() | {"hidden_size": 6}
        with pytest.raises(NotFittedError):
            copy.predict(X)

    @pytest.mark.thorough
    def test_cross_validation_over_sentences(self):
        assert cross_val_score(tiny_tagger(), X, Y, cv=2).min() > 0.9

    def test_nothing_that_is_given_changes(self):
        sentences, labels, weights = deepcopy([X, Y, np.arange(1.0, len(X) + 1)])
        tagger = tiny_tagger(max_epochs=1)
        params = tagger.get_params()
        assert tagger.fit(sentences, labels, weights).predict(sentences)
        assert (sentences, labels, tagger.get_params()) == (X, Y, params)
        np.testing.assert_array_equal(weights, np.arange(1.0, len(X) + 1))


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
            ([["a", "b"]], [["O", 3]], "mixes labels"),
            ([], [], "Found 0 sentence.*X is empty"),
            ([[]], [[]], "No sentence has a token"),
        ],
    )
    def test_it_is_refused_by_name(self, sentences, labels, message):
        with pytest.raises((TypeError, ValueError), match=message):
            tiny_tagger().fit(sentences, labels)

    def test_iob2_refuses_labels_that_break_it(self):
        labels = [["B-A", "I-A"], ["O", "I-A"]]
        with pytest.raises(ValueError, match="Token 1 of sentence 1 in y has the label 'I-A'"):
            tiny_tagger(scheme="iob2").fit([["a", "b"]] * 2, labels)
        with pytest.raises(ValueError, match="'S-A'"):
            tiny_tagger(scheme="iob2").fit([["a"]], [["S-A"]])

    def test_prediction_wants_the_columns_of_training(self, fitted):
        with pytest.raises(ValueError, match="Token 0 of sentence 0 of X has 2 columns"):
            fitted.predict(with_columns(X))

    @pytest.mark.parametrize(("weight", "message"), [(-1.0, r"[Nn]egative"), (0.0, "zero")])
    def test_negative_and_missing_weights_are_refused(self, weight, message):
        with pytest.raises(ValueError, match=message):
            tiny_tagger().fit(X, Y, sample_weight=[weight] * len(X))

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
    def test_a_score_of_nothing_or_of_other_labels_is_refused(
        self, fitted, sentences, labels, weights, message
    ):
        with pytest.raises(ValueError, match=message):
            fitted.score(sentences, labels, weights)

    def test_strange_words_do_no_harm(self, fitted):
        words = ["", " ", "\x00", "\ud800", "é" * 10_000, "<b>", "日本語"]
        assert [len(labels) for labels in fitted.predict([words])] == [len(words)]
