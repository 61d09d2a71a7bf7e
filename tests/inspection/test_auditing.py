import csv

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from sk_han import HierarchicalTokenizer, audit_labels
from tests.html_page import Page
from tests.tiny_models import tiny

RNG = np.random.RandomState(0)
TRUE = np.array(["bad", "good"] * 60)
WORDS = {"good": ["good", "nice", "fine", "warm"], "bad": ["bad", "dull", "cold", "sad"]}
TEXTS = [
    f"The {a} day {i}. It was {b} again."
    for i, label in enumerate(TRUE)
    for a, b in [RNG.choice(WORDS[label], 2)]
]
FLIPPED = np.array([3, 10, 41, 76, 100])
LABELS = TRUE.copy()
LABELS[FLIPPED] = np.where(TRUE[FLIPPED] == "good", "bad", "good")
LINEAR = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10))


@pytest.fixture(scope="module")
def audit():
    return audit_labels(tiny(max_epochs=3, lr=0.05), TEXTS, LABELS, n_explained=2)


def test_flipped_labels_come_first_with_the_label_that_was_meant(audit):
    first = list(audit)[: len(FLIPPED)]
    assert {entry.document for entry in first} == set(FLIPPED)
    assert [entry.suggested for entry in first] == [TRUE[entry.document] for entry in first]
    assert [entry.label for entry in first] == [LABELS[entry.document] for entry in first]
    assert audit.n_expected() == pytest.approx(len(FLIPPED), abs=2.5)
    assert audit.confused()[0][2] >= audit.confused()[1][2]


def test_each_document_is_listed_once_and_weighs_what_its_label_is_worth(audit):
    assert sorted(audit.documents) == list(range(len(TEXTS)))
    weights = audit.weights()
    assert weights.shape == (len(TEXTS),)
    assert weights[FLIPPED].max() < 0.5
    assert np.delete(weights, FLIPPED).mean() > 0.9


def test_the_first_are_explained_by_models_that_did_not_learn_from_them(audit):
    assert len(audit.explanations) == 2
    for entry, explanation in zip(audit, audit.explanations, strict=False):
        assert explanation.text == TEXTS[entry.document]
        assert (explanation.target, explanation.against) == (entry.suggested, entry.label)
        np.testing.assert_allclose(
            explanation.probabilities, audit.probabilities[entry.document], atol=1e-6
        )


def test_a_page_and_a_table_show_the_label_and_the_other(audit, tmp_path):
    page = Page(audit.to_html(tmp_path / "audit.html")).all_text
    assert f"document {audit[0].document}" in page
    assert f"labelled {audit[0].label}, rather {audit[0].suggested}" in page
    assert page.count("rather") >= len(FLIPPED)
    audit.to_csv(tmp_path / "audit.csv")
    with open(tmp_path / "audit.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["document", "text", "label", "suggested", "doubt", "decision"]
    assert int(rows[0]["document"]) == audit[0].document
    assert rows[0]["text"] == TEXTS[audit[0].document]
    frame = audit.to_frame()
    assert frame["doubt"].tolist() == audit.doubts.tolist()


def test_the_estimator_stays_as_it_is():
    estimator = tiny(max_epochs=1)
    audit_labels(estimator, TEXTS[:40], LABELS[:40], n_explained=0)
    assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize(
    "estimator",
    [
        LINEAR,
        GridSearchCV(LINEAR, {"logisticregression__C": [10]}, cv=2),
        RandomForestClassifier(random_state=0),
    ],
    ids=["linear", "search", "forest"],
)
def test_other_classifiers_are_audited_too(estimator):
    X = (
        TfidfVectorizer().fit_transform(TEXTS)
        if isinstance(estimator, RandomForestClassifier)
        else TEXTS
    )
    found = audit_labels(estimator, X, pd.Series(LABELS, index=range(9, 129)))
    assert set(found.documents[:8]) >= set(FLIPPED)
    assert len(found.explanations) == 0
    assert "Doubts are not explained" in found.to_text()


def test_a_fitted_search_is_audited_as_its_best_estimator():
    search = GridSearchCV(LINEAR, {"logisticregression__C": [1e-3]}, cv=2).fit(TEXTS, LABELS)
    found = audit_labels(search, TEXTS, LABELS)
    alone = audit_labels(search.best_estimator_, TEXTS, LABELS)
    np.testing.assert_array_equal(found.probabilities, alone.probabilities)


def test_word_ids_are_audited_without_texts():
    documents = HierarchicalTokenizer().fit_transform(TEXTS)
    found = audit_labels(tiny(max_epochs=3, lr=0.05), documents, LABELS, n_explained=1)
    assert found.texts is None
    assert set(found.documents[:8]) >= set(FLIPPED)
    assert "text" not in found.to_frame()


def test_texts_of_the_same_words_are_left_out_together():
    texts, labels = [*TEXTS, *(TEXTS[i].upper() for i in range(20))], [*LABELS, *TRUE[:20]]
    found = audit_labels(LINEAR, texts, labels)
    assert found.conflicts == ((3, 123), (10, 130))
    assert "The same words with different labels" in found.to_html()
    assert {3, 10} <= set(found.documents[:8])


def test_groups_are_left_out_together():
    """A model that has seen the group knows its labels by heart."""
    texts = [f"{text} Signed g{i % 10}" for i, text in enumerate(TEXTS)]
    found = audit_labels(LINEAR, texts, LABELS, groups=np.arange(120) % 10)
    assert set(found.documents[:8]) >= set(FLIPPED)
    with pytest.raises(ValueError, match="120 documents in X, 3 groups"):
        audit_labels(LINEAR, texts, LABELS, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="one group, 'a'; an audit learns from some"):
        audit_labels(LINEAR, texts, LABELS, groups=["a"] * 120)


def test_several_labels_are_doubted_one_by_one(tmp_path):
    Y = pd.DataFrame({"good": LABELS == "good", "bad": LABELS == "bad"})
    found = audit_labels(tiny(max_epochs=3, lr=0.05), TEXTS, Y, n_explained=2)
    first = [(entry.document, entry.label, entry.marked) for entry in found][:16]
    assert {row for row, _, _ in first} >= set(FLIPPED)
    assert all(marked == (LABELS[row] == label) for row, label, marked in first)
    assert [e.target for e in found.explanations] == [entry.label for entry in list(found)[:2]]
    page = Page(found.to_html()).all_text
    assert "is marked, rather not" in page
    assert "is missing, perhaps" in page
    found.to_csv(tmp_path / "audit.csv")
    assert "marked" in (tmp_path / "audit.csv").read_text("utf-8").splitlines()[0]
    assert found.weights()[FLIPPED].max() < 0.5


def test_the_only_document_of_a_class_is_not_looked_at():
    labels = [*LABELS[:-1], "alone"]
    found = audit_labels(LINEAR, TEXTS, labels)
    assert 119 not in found.documents
    assert "Not looked at, alone of their class: 1 document." in found.to_text()
    assert found.weights()[119] == 1


def test_models_that_learn_nothing_are_told():
    texts = [f"Day {i}." for i in range(60)]
    found = audit_labels(LINEAR, texts, ["a", "b", "a"] * 20)
    assert "no label can be doubted" in found.to_text()


def test_what_cannot_be_audited_is_refused():
    with pytest.raises(ValueError, match="y holds a single class, 'good': no other one can be"):
        audit_labels(LINEAR, TEXTS, ["good"] * 120)
    with pytest.raises(ValueError, match="each is the only one of its class"):
        audit_labels(LINEAR, TEXTS[:4], [1, 2, 3, 4])
    with pytest.raises(TypeError, match="LinearSVC has none"):
        audit_labels(LinearSVC(), TEXTS, LABELS)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        audit_labels(LINEAR, TEXTS, LABELS[:7])
    with pytest.raises(ValueError, match="n_explained must be an integer"):
        audit_labels(LINEAR, TEXTS, LABELS, n_explained=-1)
    with pytest.raises(ValueError, match="string object received"):
        audit_labels(LINEAR, "one text", LABELS)
