"""suggest: the least decided documents and some random ones, without copies."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC

from sk_han import DocumentArray, HANClassifier, SequenceTagger, audit_labels, suggest
from sk_han.datasets import make_reviews
from tests.tiny_models import tiny

TEXTS, LABELS = make_reviews(160, random_state=0)
SMALL = {"embedding_dim": 8, "word_hidden": 4, "sentence_hidden": 4, "batch_size": 32}
SMALL |= {"random_state": 0}


class Says:
    """A fitted classifier that says given probabilities of its documents, in their order."""

    def __init__(self, probabilities, classes=("a", "b", "c")):
        self.probabilities, self.classes_ = np.array(probabilities), np.array(classes)

    def predict_proba(self, X):
        return self.probabilities[: len(X)]


def words(n):
    return [f"word{i} other{i} more{i}" for i in range(n)]


@pytest.fixture(scope="module")
def fitted():
    return HANClassifier(**SMALL, max_epochs=1).fit(TEXTS[:40], LABELS[:40])


def test_the_smallest_difference_of_two_classes_comes_first():
    model = Says([[0.9, 0.1, 0.0], [0.4, 0.5, 0.1], [0.3, 0.3, 0.4], [0.49, 0.48, 0.03]])
    found = suggest(model, words(4), 3, random_share=0)
    assert found.documents.tolist() == [3, 1, 2]
    np.testing.assert_allclose(found.margins, [0.01, 0.1, 0.1])
    first = found[0]
    assert (first.guess, first.rival, first.probability) == ("a", "b", 0.49)
    assert found[1].guess == "b"


def test_the_global_random_state_is_left_alone():
    before = np.random.get_state()[2]
    suggest(Says([[0.5, 0.5, 0]] * 8), words(8), 4, random_share=0.5)
    assert np.random.get_state()[2] == before
    drawn = [
        suggest(Says([[0.5, 0.5, 0]] * 8), words(8), 4, random_share=1, random_state=source)
        for source in (0, np.random.default_rng(0))
    ]
    assert drawn[0].documents.tolist() == drawn[1].documents.tolist()


def test_of_several_labels_the_nearest_to_its_threshold_counts():
    model = HANClassifier(**SMALL, max_epochs=1, threshold=[0.5, 0.02])
    y = np.column_stack([LABELS == "positive", np.arange(160) % 3 == 0])
    model.fit(TEXTS[:100], y[:100])
    found = suggest(model, TEXTS[100:], 5, random_share=0)
    odds = model.decision_function(TEXTS[100:]) - np.log([1, 0.02 / 0.98])
    expected = np.abs(odds).min(axis=1)
    np.testing.assert_allclose(found.margins, np.sort(expected)[:5], rtol=1e-6)
    assert found.nearest.shape == (5, 1)
    assert found[0].rival is None
    assert "rival" not in found.to_frame()


@pytest.mark.parametrize("pos_label", [None, "negative", "positive"])
@pytest.mark.parametrize("around", ["alone", "in a search", "in a Pipeline"])
def test_a_threshold_of_scikit_learn_is_where_it_decides(pos_label, around):
    inside = make_pipeline(CountVectorizer(), LogisticRegression(C=0.01))
    model = FixedThresholdClassifier(inside, threshold=0.6, pos_label=pos_label)
    if around == "in a search":
        model = GridSearchCV(model, {"threshold": [0.6]}, cv=2)
    elif around == "in a Pipeline":
        model = Pipeline([("last", model)])
    model.fit(TEXTS[:100], LABELS[:100])
    p = model.predict_proba(TEXTS[100:])[:, 1]
    threshold = 0.4 if pos_label == "negative" else 0.6
    expected = np.abs(np.log(p / (1 - p)) - np.log(threshold / (1 - threshold)))
    found = suggest(model, TEXTS[100:], 5, random_share=0)
    np.testing.assert_allclose(found.margins, np.sort(expected)[:5])
    chosen = [TEXTS[100 + row] for row in found.documents]
    assert [each.guess for each in found] == model.predict(chosen).tolist()
    # Of one document alone, too.
    alone = suggest(model, TEXTS[100:101], 1, random_share=0)
    np.testing.assert_allclose(alone.margins, expected[:1])


def test_a_tuned_threshold_may_be_of_the_first_class():
    inside = make_pipeline(CountVectorizer(), LogisticRegression(C=0.01))
    recall = make_scorer(recall_score, pos_label="negative")
    tuned = TunedThresholdClassifierCV(inside, scoring=recall, thresholds=[0.3, 0.2], cv=2)
    tuned.fit(TEXTS[:100], LABELS[:100])
    found = suggest(tuned, TEXTS[100:], 5, random_share=0)
    of_second = 1 - tuned.best_threshold_
    odds = np.log(found.probabilities[:, 1] / found.probabilities[:, 0])
    expected = np.abs(odds - np.log(of_second / (1 - of_second)))
    np.testing.assert_allclose(found.margins, expected)


def test_a_threshold_of_scores_lies_between_the_documents_that_it_divides():
    inside = make_pipeline(CountVectorizer(), LogisticRegression(C=0.01))
    model = FixedThresholdClassifier(inside, threshold=0.4, response_method="decision_function")
    model.fit(TEXTS[:100], LABELS[:100])
    score = model.estimator_.decision_function(TEXTS[100:])
    above = score >= 0.4
    on_both_sides = {np.where(above, score, 9).argmin(), np.where(above, -9, score).argmax()}
    found = suggest(model, TEXTS[100:], 2, random_share=0)
    assert set(found.documents.tolist()) == on_both_sides


def test_another_classifier_of_several_labels_has_thresholds_of_a_half():
    found = suggest(Says([[0.9, 0.8, 0.9], [0.1, 0.45, 0.9]]), words(2), 1, random_share=0)
    assert (found.documents.tolist(), found[0].guess) == ([1], "b")


def test_a_share_is_drawn_at_random_from_the_pool(fitted):
    drawn = set()
    for seed in range(8):
        found = suggest(fitted, TEXTS[40:], 20, random_share=0.25, random_state=seed)
        assert found.is_random.tolist() == [False] * 15 + [True] * 5
        assert len(set(found.documents.tolist())) == 20
        drawn |= set(found.documents[found.is_random].tolist())
    assert len(drawn) > 25
    assert (np.diff(found.margins[:15]) >= 0).all()


def test_copies_of_suggested_and_of_labelled_texts_are_left_out():
    form = "your order has left our house today and comes by post to the town of {} in a week"
    texts = ["Same text.", "same text", form.format("rome"), form.format("oslo"), "labelled one"]
    texts += ["and one that is like no other"]
    model = Says([[0.5, 0.5, 0.0]] * 6)
    found = suggest(model, texts, 6, random_share=0, X_labelled=["Labelled one!"])
    assert found.documents.tolist() == [0, 2, 5]
    assert found.notes == ("The others are blank, or copies of these or of labelled ones.",)


@pytest.mark.parametrize("texts", [["", " \n\u00a0", "a word", "another one"], ["", " "]])
def test_blank_texts_are_left_out(texts):
    found = suggest(Says([[0.5, 0.5, 0.0]] * len(texts)), texts, 4, random_state=0)
    assert sorted(found.texts) == sorted(filter(str.strip, texts))
    assert "are blank" in str(found)
    assert "<" in found.to_html()


def test_copies_far_apart_in_the_order_are_known(fitted):
    texts = [f"a b c d e f g h i j k {i}" for i in range(600)]  # all much the same
    found = suggest(Says(np.full((600, 3), 1 / 3)), texts, 5, random_share=0)
    assert len(found) == 1
    found = suggest(Says(np.full((600, 3), 1 / 3)), [*words(599), "word0 other0 more0"], 600)
    assert len(found) == 599


def test_all_are_ranked_where_more_are_asked_for_than_there_are(fitted):
    found = suggest(fitted, TEXTS[40:60], 100, random_state=0)
    assert sorted(found.documents.tolist()) == list(range(20))
    assert found.notes == ("100 documents were asked for, and the pool has 20.",)
    assert found.is_random.sum() == 2  # a tenth of the pool


def test_none_is_measured_by_where_none_is_random(fitted):
    assert "on random ones alone" in str(suggest(fitted, TEXTS[40:60], 10, random_state=0))
    assert "on random ones alone" not in str(suggest(fitted, TEXTS[40:60], 4, random_state=0))


def test_documents_of_word_ids_are_suggested_too():
    documents = DocumentArray.from_nested([[[2, 3]], [[4]], [[2, 3]], [[3, 4]]] * 5)
    model = tiny(max_epochs=1).fit(documents, list("abab") * 5)
    found = suggest(model, documents, 4, random_state=0)
    assert (len(found), found.texts) == (4, None)
    assert "copies are not looked for" in str(found)


def test_pipelines_and_other_classifiers_are_asked(fitted):
    texts, labels = TEXTS[:40], LABELS[:40]
    for last in (LogisticRegression(), OneVsRestClassifier(LogisticRegression())):
        model = make_pipeline(CountVectorizer(), last).fit(texts, labels)
        assert len(suggest(model, TEXTS[40:], 7, random_state=0)) == 7


def test_a_table_to_fill_in(fitted, tmp_path):
    import pandas as pd

    found = suggest(fitted, TEXTS[40:], 10, random_state=0)
    found.to_csv(tmp_path / "next.csv")
    table = pd.read_csv(tmp_path / "next.csv")
    assert [*table.columns] == [*found.to_frame().columns, "label"]
    assert table.text.tolist() == [TEXTS[40 + row] for row in found.documents.tolist()]
    assert table.label.isna().all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"X": []}, ValueError, "X is empty"),
        ({"X": "a text"}, ValueError, "into a list"),
        ({"n": 0}, ValueError, "n must be an integer of at least 1; got 0"),
        ({"n": 2.5}, ValueError, "n must be an integer"),
        ({"random_share": 1.5}, ValueError, "random_share must be a number from 0 to 1; got 1.5"),
        ({"random_share": float("nan")}, ValueError, "from 0 to 1; got nan"),
        ({"X_labelled": "a text"}, ValueError, "into a list"),
        ({"X_labelled": ["a", None]}, TypeError, "Document 1 of X_labelled is missing"),
        ({"estimator": LinearSVC()}, TypeError, "LinearSVC has none"),
        ({"estimator": Says(np.ones((3, 1)), ["a"])}, ValueError, "knows a single class"),
        ({"estimator": HANClassifier()}, NotFittedError, "not fitted"),
        ({"estimator": Says(np.ones((2, 3, 2)))}, TypeError, "no array of documents by labels"),
    ],
)
def test_what_cannot_be_is_refused(fitted, arguments, error, message):
    with pytest.raises(error, match=message):
        suggest(**{"estimator": fitted, "X": words(3)} | arguments)


@pytest.mark.parametrize("measure", [suggest, audit_labels])
def test_a_tagger_is_refused_with_what_shows_its_tags(measure):
    sentences, tags = [["a", "b"], ["c"]] * 5, [["x", "y"], ["x"]] * 5
    tagger = SequenceTagger(embedding_dim=4, hidden_size=4, max_epochs=1).fit(sentences, tags)
    with pytest.raises(TypeError, match=r"classifier of documents.*SequenceTagger\..*tagged_text"):
        measure(tagger, sentences, tags if measure is audit_labels else 1)
