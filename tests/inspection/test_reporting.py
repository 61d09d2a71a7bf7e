import re

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, f1_score, log_loss
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline

from sk_han import report, with_priors
from tests.tiny_models import LABELS, TEXTS, fitted_classifier, fitted_pipeline, tiny

HELD_OUT = [f"{text} Then it was day {i}." for i, text in enumerate(TEXTS * 2)]
Y = np.tile(LABELS, 2)


@pytest.fixture(scope="module")
def classifier():
    return fitted_classifier(max_epochs=8)


@pytest.fixture(scope="module")
def found(classifier):
    return report(classifier, HELD_OUT, Y, X_train=TEXTS, y_train=LABELS)


def test_the_report_uses_the_predictions_of_the_model(classifier, found):
    np.testing.assert_allclose(found.probabilities, classifier.predict_proba(HELD_OUT), atol=1e-6)
    assert found.scores["model"]["accuracy"] == classifier.score(HELD_OUT, Y)
    assert found.labels == ("neg", "pos")


def test_the_baseline_learns_from_the_training_documents(found):
    assert "was fitted to the 18 training documents given" in found.baseline_note
    assert found.scores["baseline"]["accuracy"] == 1
    np.testing.assert_allclose(found.baseline.sum(axis=1), 1)


def test_without_training_documents_there_is_no_linear_baseline(classifier):
    found = report(classifier, HELD_OUT, Y)
    assert "Pass X_train and y_train" in found.baseline_note
    assert found.baseline is None
    assert found.trained_on.tolist() == []


def test_intervals_are_computed_over_groups(classifier, found):
    groups = np.arange(36) // 4
    of_groups = report(classifier, HELD_OUT, Y, X_train=TEXTS, y_train=LABELS, groups=groups)
    alone, model = (each.scores["model"] for each in (found, of_groups))
    assert model["accuracy"] == alone["accuracy"] == 1
    assert model["accuracy_low"] < alone["accuracy_low"]
    assert of_groups.gain[1] < found.gain[1]
    notes = " ".join(of_groups.notes)
    assert "Intervals are over 9 groups" in notes
    assert "With so few groups" in notes
    assert of_groups.to_frame()["group"].tolist() == groups.tolist()


@pytest.mark.parametrize("n", [1, 2, 19])
def test_a_report_on_few_documents_has_a_note(classifier, n):
    found = report(classifier, HELD_OUT[:n], Y[:n])
    assert any("few documents" in note for note in found.notes)


@pytest.mark.parametrize("texts", [["Good sun.", "Good day."], ["?!", "..."]])
def test_a_baseline_that_cannot_be_fitted_is_noted(classifier, texts):
    labels = ["pos", "pos"] if "Good" in texts[0] else ["pos", "neg"]
    found = report(classifier, HELD_OUT, Y, X_train=texts, y_train=labels)
    assert found.baseline is found.gain is None
    assert re.match("There is no baseline: (This solver needs|empty voc)", found.baseline_note)


def test_the_surest_mistakes_come_first_and_explain_the_predicted_label(classifier):
    flipped = Y.copy()
    flipped[[0, 3, 7, 8]] = np.where(Y[[0, 3, 7, 8]] == "pos", "neg", "pos")
    found = report(classifier, HELD_OUT, flipped, baseline=None, n_mistakes=3)
    wrong = np.flatnonzero(~found.right)
    assert len(wrong) > 3
    assert len(found.mistakes) == len(found.mistake_rows) == 3
    by_hand = wrong[np.argsort(-found.confidence[wrong], kind="stable")][:3]
    assert found.mistake_rows.tolist() == by_hand.tolist()
    for row, explanation in zip(found.mistake_rows, found.mistakes, strict=True):
        assert explanation.text == HELD_OUT[row]
        assert explanation.target == explanation.predicted == classifier.predict([HELD_OUT[row]])[0]


def test_flipped_labels_are_suspected(classifier):
    flipped, row = Y.copy(), classifier.predict_proba(HELD_OUT)[:, 0].argmax()
    flipped[row] = "pos"
    found = report(classifier, HELD_OUT, flipped, baseline=None)
    assert found.suspects[0] == row
    assert found.baseline is None


def test_a_weak_model_suspects_few_labels(classifier):
    def notes_on_doubts(y):
        found = report(classifier, HELD_OUT, y, baseline=None, n_mistakes=1)
        assert len(found.suspects)
        return [note for note in found.notes if "wrong" in note]

    other = np.where(Y == "pos", "neg", "pos")
    places = np.arange(len(Y))
    assert not notes_on_doubts(np.where(places == 0, other, Y))
    (note,) = notes_on_doubts(np.where(places % 9 < 2, other, Y))
    assert "right on only 78 %" in note.replace("\N{NO-BREAK SPACE}", " ")
    (note,) = notes_on_doubts(np.where(places % 4 < 2, other, Y))
    assert "cannot find wrong labels" in note


def test_copies_conflicts_and_training_documents_are_found(classifier):
    texts = [*HELD_OUT, HELD_OUT[4].upper(), TEXTS[0]]
    found = report(classifier, texts, [*Y, "pos", "pos"], X_train=TEXTS, y_train=LABELS)
    assert found.duplicates == ((4, 36),)
    assert found.has_conflict(found.duplicates[0])
    assert found.trained_on.tolist() == [37]


def test_copies_are_noted_to_count_less_than_distinct_documents(classifier):
    def notes_on_copies(texts, **groups):
        y = np.resize(Y, len(texts))
        found = report(classifier, texts, y, baseline=None, n_mistakes=1, **groups)
        return [note for note in found.notes if "same words" in note], found

    (note,), copied = notes_on_copies(HELD_OUT * 3)
    assert "worth about 36 different documents" in note
    assert not any("With so few" in note for note in copied.notes)
    assert any("With so few" in note for note in notes_on_copies(HELD_OUT[:20] * 3)[1].notes)
    assert not notes_on_copies([*HELD_OUT, *HELD_OUT[:2]])[0]
    none, grouped = notes_on_copies(HELD_OUT * 3, groups=np.tile(np.arange(36), 3))
    assert not none
    (narrow, wide) = (found.scores["model"]["accuracy_low"] for found in (copied, grouped))
    assert wide < narrow


def test_a_label_unknown_to_the_model_is_noted(classifier):
    y = np.where(np.arange(36) == 2, "strange", Y)
    found = report(classifier, HELD_OUT, y)
    assert found.labels == ("neg", "pos", "strange")
    assert not found.right[2]
    assert 2 not in found.mistake_rows
    assert 2 not in found.suspects
    said = "1 document has a label that the model does not know, 'strange'"
    assert any(note.startswith(said) for note in found.notes)
    with pytest.warns(UserWarning, match=said):
        assert classifier.score(HELD_OUT, y) == found.scores["model"]["accuracy"]
    known = np.delete(np.arange(36), 2)
    by_hand = log_loss(Y[known], classifier.predict_proba(np.array(HELD_OUT)[known]))
    assert found.scores["model"]["log_loss"] == pytest.approx(by_hand, abs=1e-6)


def test_a_class_without_documents_is_noted(classifier):
    only = [i for i in range(36) if Y[i] == "pos"]
    found = report(classifier, [HELD_OUT[i] for i in only], Y[only])
    assert found.confusion.shape == (2, 2)
    assert any("No document has the label 'neg', so" in note for note in found.notes)


def test_labels_of_the_training_documents_alone_are_known_too(classifier):
    y_train = np.where(np.arange(18) == 0, "rare", LABELS)
    found = report(classifier, HELD_OUT, Y, X_train=TEXTS, y_train=y_train)
    assert found.labels == ("neg", "pos", "rare")
    assert found.baseline.shape == (36, 3)


def test_a_pipeline_gets_the_same_report_as_its_classifier():
    pipeline = fitted_pipeline()
    y = np.where(np.arange(36) == 4, "pos", Y)
    found = report(pipeline, HELD_OUT, y)
    documents = pipeline[0].transform(HELD_OUT)
    alone = report(pipeline[-1], documents, y)
    assert found.mistake_rows.tolist() == alone.mistake_rows.tolist() == [4]
    assert found.mistakes[0].text == HELD_OUT[4]
    np.testing.assert_allclose(found.probabilities, alone.probabilities, atol=1e-6)
    assert (found.texts, alone.texts) == (tuple(HELD_OUT), None)
    assert len(alone.mistakes) == 0
    assert any("no tokenizer" in note for note in alone.notes)
    np.testing.assert_array_equal(found.n_words, alone.n_words)
    # Numbers in place of words are enough for a baseline.
    ids = pipeline[0].transform(TEXTS)
    learnt = report(pipeline[-1], documents, y, X_train=ids, y_train=LABELS)
    assert learnt.scores["baseline"]["accuracy"] > 0.9


def test_any_classifier_has_a_report_without_explanations():
    features = TfidfVectorizer().fit(TEXTS)
    model = LogisticRegression().fit(features.transform(TEXTS), LABELS)
    of_texts = report(make_pipeline(features, model), HELD_OUT, np.roll(Y, 1))
    assert of_texts.estimator == "LogisticRegression"
    assert len(of_texts.mistakes) == 0 < len(of_texts.mistake_rows)
    assert any("not explained" in note for note in of_texts.notes)
    found = report(model, features.transform(HELD_OUT), np.roll(Y, 1))  # sparse
    assert (found.texts, found.n_words) == (None, None)
    assert "are not texts" in found.baseline_note
    assert found.scores["model"] == of_texts.scores["model"]
    assert found.to_html()


def test_a_report_uses_the_predictions_of_a_tuned_threshold():
    inside = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model = FixedThresholdClassifier(inside, threshold=0.56, pos_label="pos")
    texts, y = ["a day", *HELD_OUT], np.append(["pos"], Y)
    predicted = model.fit(TEXTS, LABELS).predict(texts)
    found = report(model, texts, y, baseline=None)
    assert (found.probabilities.argmax(axis=1) != found.predicted).any()
    assert [found.answer(row) for row in range(len(texts))] == predicted.tolist()
    np.testing.assert_array_equal(found.confusion, confusion_matrix(y, predicted))
    assert found.scores["model"]["accuracy"] == model.score(texts, y) == found.right.mean()
    assert found.scores["model"]["macro_f1"] == f1_score(y, predicted, average="macro")
    assert any("tuned threshold" in note for note in found.notes)
    of_answers = model.predict_proba(texts)[np.arange(len(texts)), (predicted == "pos") * 1]
    np.testing.assert_array_equal(found.confidence, of_answers)
    bins = found.reliability
    assert sum(b.n_documents * b.confidence for b in bins) == pytest.approx(of_answers.sum())
    assert sum(b.n_documents * b.accuracy for b in bins) == pytest.approx(found.right.sum())
    wrong = np.flatnonzero(predicted != y)
    worst = wrong[np.argsort(-of_answers[wrong], kind="stable")]
    assert found.mistake_rows.tolist() == worst.tolist()
    argmax = report(model.estimator_, texts, y, baseline=None)
    assert argmax.predicted.tolist() == argmax.probabilities.argmax(axis=1).tolist()
    assert not any("tuned threshold" in note for note in argmax.notes)


def test_the_index_of_a_series_replaces_row_numbers(classifier):
    index = pd.Index([*(f"review-{i}" for i in range(36)), "<blank>"])
    texts, flipped = [*HELD_OUT, " "], [*np.roll(Y, 1), "pos"]
    found = report(classifier, pd.Series(texts, index=index), flipped, n_mistakes=2)
    assert found.to_frame()["document"].tolist() == index.tolist()
    assert any("1 document has no words: <blank>." in note for note in found.notes)
    assert f"Document review-{found.mistake_rows[0]}: predicted" in found.to_text()
    given = report(classifier, texts, flipped, n_mistakes=2, ids=index)
    assert given.to_html() == found.to_html()


def test_a_significant_change_of_the_class_mix_is_noted():
    classifier = tiny(max_epochs=3, lr=0.05).fit(TEXTS, LABELS)
    texts = 120 * [
        text for text, label in zip(TEXTS[:6], LABELS[:6], strict=True) if label == "pos"
    ]
    y = len(texts) * ["pos"]
    noted = [
        any("The mix of classes has changed" in note for note in report(*case, baseline=None).notes)
        for case in (
            (classifier, texts, y),
            (classifier, 60 * TEXTS[:6], np.tile(LABELS[:6], 60)),
            (with_priors(classifier, {"neg": 0.1, "pos": 0.9}), texts, y),
        )
    ]
    assert noted == [True, False, False]
