import csv
import dataclasses
import gzip

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_han import (
    HierarchicalTokenizer,
    audit_labels,
)
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
OF_LABELS = make_pipeline(TfidfVectorizer(), OneVsRestClassifier(LogisticRegression(C=10)))


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


@pytest.mark.thorough
def test_each_document_is_listed_once_with_a_weight(audit):
    assert sorted(audit.documents) == list(range(len(TEXTS)))
    weights = audit.weights()
    assert weights.shape == (len(TEXTS),)
    assert weights[FLIPPED].max() < 0.5
    assert np.delete(weights, FLIPPED).mean() > 0.9


def test_models_that_explain_the_first_doubts_have_not_seen_them(audit):
    assert len(audit.explanations) == 2
    for entry, explanation in zip(audit, audit.explanations, strict=False):
        assert explanation.text == TEXTS[entry.document]
        assert (explanation.target, explanation.against) == (entry.suggested, entry.label)
        np.testing.assert_allclose(
            explanation.probabilities, audit.probabilities[entry.document], atol=1e-6
        )


def rows_of(audit, folder):
    audit.to_csv(folder / "audit.csv")
    with open(folder / "audit.csv", encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_a_table_shows_given_and_suggested_labels(audit, tmp_path):
    rows = rows_of(audit, tmp_path)
    assert list(rows[0]) == ["document", "text", "label", "suggested", "doubt", "decision"]
    first = audit[0]
    assert [rows[0][name] for name in ("document", "text", "label", "suggested")] == [
        str(first.document),
        TEXTS[first.document],
        first.label,
        first.suggested,
    ]
    assert audit.to_frame()["doubt"].tolist() == audit.doubts.tolist()


def test_the_estimator_is_not_changed():
    estimator = tiny(max_epochs=1)
    audit_labels(estimator, TEXTS[:40], LABELS[:40], n_explained=0)
    assert not hasattr(estimator, "classes_")


def test_scikit_learn_classifiers_are_audited():
    forest = RandomForestClassifier(random_state=0)
    for estimator, X in ((LINEAR, TEXTS), (forest, TfidfVectorizer().fit_transform(TEXTS))):
        found = audit_labels(estimator, X, pd.Series(LABELS, index=range(9, 129)))
        assert set(found.documents[:8]) >= set(FLIPPED)
        assert len(found.explanations) == 0
        assert "Doubts are not explained" in found.to_text()


@pytest.mark.thorough
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
    assert "Same words, different labels" in found.to_html()
    assert {3, 10} <= set(found.documents[:8])


def test_groups_are_left_out_together():
    """A model that has seen the group knows its labels by heart."""
    texts = [f"{text} Signed g{i % 10}" for i, text in enumerate(TEXTS)]
    found = audit_labels(LINEAR, texts, LABELS, groups=np.arange(120) % 10)
    assert set(found.documents[:8]) >= set(FLIPPED)


@pytest.mark.thorough
def test_several_labels_are_doubted_one_by_one(tmp_path):
    Y = pd.DataFrame({"good": LABELS == "good", "bad": LABELS == "bad"})
    found = audit_labels(tiny(max_epochs=3, lr=0.05), TEXTS, Y, n_explained=2)
    first = [(entry.document, entry.label, entry.marked) for entry in found][:16]
    assert {row for row, _, _ in first} >= set(FLIPPED)
    assert all(marked == (LABELS[row] == label) for row, label, marked in first)
    assert [e.target for e in found.explanations] == [entry.label for entry in list(found)[:2]]
    page = Page(found.to_html()).all_text
    assert "may be wrong (doubt" in page
    assert "may be missing (doubt" in page
    found.to_csv(tmp_path / "audit.csv")
    assert "marked" in (tmp_path / "audit.csv").read_text("utf-8").splitlines()[0]
    assert found.weights()[FLIPPED].max() < 0.5


def test_documents_of_zero_weight_do_not_count_in_their_class():
    weights = np.where(TRUE == "good", 0.0, 1.0)
    with pytest.raises(ValueError, match="or no document of a weight above 0"):
        audit_labels(LINEAR, TEXTS, TRUE, params={"logisticregression__sample_weight": weights})
    weights[np.flatnonzero(TRUE == "good")[0]] = 1
    params = {"logisticregression__sample_weight": weights}
    found = audit_labels(LINEAR, TEXTS, TRUE, params=params)
    n_others = 120 - len(found.documents)
    assert n_others > 1
    assert f"not fitted to any document of their class: {n_others} documents." in found.to_text(
        width=1000
    )


def test_models_that_learn_nothing_are_noted():
    texts = [f"Day {i}." for i in range(60)]
    found = audit_labels(LINEAR, texts, ["a", "b", "a"] * 20)
    for said in (found.to_text(width=1000), found.to_html()):
        assert said.index("ignore the doubts") < said.index("Labels are ranked")


def test_labels_that_models_cannot_learn_are_noted():
    """Of the second the texts tell nothing, though by chance they are right a little more often."""
    Y = np.column_stack([TRUE == "good", np.random.RandomState(9).rand(120) < 0.5])
    found = audit_labels(OF_LABELS, TEXTS, Y, n_explained=0)
    right = ((found.probabilities >= 0.5) == Y).sum(axis=0)
    assert 120 >= right[1] > max(Y[:, 1].sum(), 120 - Y[:, 1].sum())
    for said in (found.to_text(width=1000), found.to_html()):
        assert said.index("ignore their doubts: 1.") < said.index("Most doubtful labels")


def test_models_that_often_err_rank_labels_without_a_probability():
    is_wrong = np.random.RandomState(0).rand(120) < 0.25
    labels = np.where(is_wrong, np.roll(TRUE, 1), TRUE)
    for given, is_ranked in ((labels, True), (TRUE, False)):
        found = audit_labels(LINEAR, TEXTS, given, n_explained=0)
        assert (found.agreement < 0.8) == is_ranked
        assert found.agreement == (found.probabilities.argmax(axis=1) == (given == "good")).mean()
        for said in (found.to_text(width=1000), Page(found.to_html()).line):
            assert ("the mistake is often theirs" in said) == is_ranked
            assert ("(rank 1)" in said) == is_ranked
            assert ("(doubt " in said) != is_ranked
            assert ("expected to be wrong" in said) != is_ranked


def test_missing_texts_may_be_filled_in_by_a_pipeline_step():
    texts = [*TEXTS[:100], None, *TEXTS[101:]]
    filled = make_pipeline(FunctionTransformer(lambda X: [text or "" for text in X]), LINEAR)
    assert set(audit_labels(filled, texts, LABELS).documents[:8]) >= set(FLIPPED) - {100}


@pytest.mark.thorough
def test_weights_and_groups_follow_the_documents_of_each_fit():
    weights = np.where(np.arange(120) % 3, 1.0, 0.1)
    found = audit_labels(
        LINEAR, TEXTS, LABELS, params={"logisticregression__sample_weight": weights}
    )
    plain = audit_labels(LINEAR, TEXTS, LABELS)
    assert set(found.documents[:8]) >= set(FLIPPED)
    assert not np.array_equal(found.probabilities, plain.probabilities)
    model, params = tiny(), {"sample_weight": list(weights), "groups": np.arange(120) // 2}
    audit_labels(model, TEXTS, LABELS, params=params, n_explained=0)
    for weight in (1.0, None):  # of all documents
        found = audit_labels(
            LINEAR, TEXTS, LABELS, params={"logisticregression__sample_weight": weight}
        )
        np.testing.assert_allclose(found.probabilities, plain.probabilities)


class Unlabelled(DummyClassifier):
    """Reads documents without labels, which it needs."""

    def fit(self, X, y, X_unlabelled=()):
        is_frame = isinstance(X_unlabelled, pd.DataFrame)
        assert list(X_unlabelled["text"] if is_frame else X_unlabelled) == TEXTS
        return super().fit(X, y)


def test_each_fold_reads_all_documents_without_labels():
    for model, further in (
        (Unlabelled(), {"X_unlabelled": iter(TEXTS)}),
        (make_pipeline(Unlabelled()), {"unlabelled__X_unlabelled": iter(TEXTS)}),
        (Unlabelled(), {"X_unlabelled": pd.DataFrame({"text": TEXTS})}),
    ):
        found = audit_labels(model, TEXTS, LABELS, params=further, n_explained=0)
        assert len(found) == len(TEXTS)


def test_each_fold_is_fitted_with_the_groups_of_its_documents():
    class Grouped(DummyClassifier):
        def fit(self, X, y, groups=None):
            assert list(groups) == [TEXTS.index(text) % 3 for text in X]
            return super().fit(X, y)

    groups = [i % 3 for i in range(len(TEXTS))]
    found = audit_labels(Grouped(), TEXTS, LABELS, params={"groups": groups}, n_explained=0)
    assert len(found) == len(TEXTS)


def test_the_only_document_of_a_label_is_not_judged():
    """A model that has not learnt from it does not know the label."""
    Y = np.column_stack([LABELS == "good", LABELS == "bad", np.arange(120) == 7])
    found = audit_labels(OF_LABELS, TEXTS, Y)
    assert 2 not in found.given
    assert "fitted to have these labels: 2" in found.to_text()
    assert "of the sets of labels" in found.to_text()


def test_slices_and_indices_follow_the_order_of_doubt(audit):
    assert audit[:3] == [audit[0], audit[1], audit[2]]
    assert audit[-1] == list(audit)[-1]


def test_a_table_takes_any_text_and_compresses_by_extension(audit, tmp_path):
    texts = (*audit.texts[:-1], "half a character \ud800")
    dataclasses.replace(audit, texts=texts).to_csv(tmp_path / "audit.csv.gz")
    with gzip.open(tmp_path / "audit.csv.gz", "rt", encoding="utf-8-sig", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    assert "half a character ?" in texts


def test_the_index_of_a_series_replaces_row_numbers(tmp_path):
    index = pd.Index([f"day-{i}" for i in range(len(TEXTS))])
    texts = pd.Series([*TEXTS[:-1], TEXTS[0]], index=index)
    labels = [*LABELS[:-1], "bad" if LABELS[0] == "good" else "good"]
    found = audit_labels(LINEAR, texts, labels)
    expected = [f"day-{row}" for row in found.documents]
    assert found.to_frame()["document"].tolist() == expected
    assert [row["document"] for row in rows_of(found, tmp_path)] == expected
    assert audit_labels(LINEAR, texts.tolist(), labels, ids=index).to_html() == found.to_html()


def test_no_cell_of_a_table_is_a_formula(audit, tmp_path):
    hostile = ["=1+1", "+1-2", "-good", "@SUM(A1)", "\t=1", "\r=1", "-3.5", "+49", "a\r=1", "5 = 5"]
    texts = (*hostile, *audit.texts[len(hostile) :])
    rows = rows_of(dataclasses.replace(audit, texts=texts, labels=(1.0, 2.0)), tmp_path)
    found = {int(row["document"]): row["text"] for row in rows}
    expected = [f"'{text}" for text in hostile[:6]] + hostile[6:]
    assert [found[row] for row in range(len(hostile))] == expected
    assert len(found) == len(texts)
    assert {row["label"] for row in rows} <= {"1.0", "2.0"}  # classes as they are
    assert all(len(row["doubt"]) == 5 for row in rows if row["doubt"] != "1.0")


@pytest.mark.parametrize("groups", [None, np.arange(40) // 4])
def test_a_label_in_only_one_fold_is_not_judged(groups):
    texts, Y = TEXTS[:40], np.zeros((40, 2), dtype=int)
    Y[3 if groups is None else slice(4), 0] = 1
    found = audit_labels(tiny(), texts, Y, groups=groups)
    assert len(found) == 0
    assert any("fitted to have these labels: 0, 1" in note for note in found.notes)


def test_a_table_has_the_separator_and_decimal_mark_asked_for(audit, tmp_path):
    calibrated = dataclasses.replace(audit, agreement=0.9)
    calibrated.to_csv(tmp_path / "a.csv", sep=";", decimal=",", encoding="cp1252")
    with open(tmp_path / "a.csv", encoding="cp1252", newline="") as file:
        header, first, *_ = csv.reader(file, delimiter=";")
    assert first[header.index("doubt")] == f"{audit.doubts[0]:.3f}".replace(".", ",")
    dataclasses.replace(audit, agreement=0.7).to_csv(tmp_path / "a.csv")
    assert "doubt" not in (tmp_path / "a.csv").read_text("utf-8-sig")  # as on the page
