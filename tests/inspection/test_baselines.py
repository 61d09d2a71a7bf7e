"""The baseline of a report, and its notes."""

import numpy as np
import pytest

from sk_han.inspection.reporting import (
    baseline_probabilities,
    cross_validated,
    labels_by_f1,
    note_on_missing,
    note_on_suspects,
    tfidf,
)
from sk_han.inspection.results import report as report_of_labels
from sk_han.targets.any_of_labels import best_thresholds
from sk_han.utils import metrics as multilabel_metrics
from sk_han.utils.metrics import calibration_error_of_labels, interval_of
from tests.inflected_texts import inflected
from tests.reports import made_of_labels
from tests.tiny_models import LABELS, TEXTS

TARGETS = (LABELS == "pos").astype(np.int64)


def test_a_label_that_was_not_learnt_has_no_probability():
    found = baseline_probabilities(["good sun", "zebra"], TEXTS, TARGETS, n_labels=3)
    assert found.shape == (2, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(found[:, 2], 0)
    assert found[0].argmax() == 1


def test_it_reads_characters_where_words_are_new():
    texts, targets = inflected(300)
    others, expected = inflected(100, seed=1)
    found = baseline_probabilities(others, texts, targets, 2)
    assert (found.argmax(axis=1) == expected).mean() > 0.9
    assert (tfidf(300).fit(texts, targets).predict(others) == expected).mean() < 0.7


def test_no_document_is_predicted_by_a_baseline_that_learnt_it():
    # Each text has one word of its own, which alone would give its label away.
    texts = [f"word{i}" for i in range(40)]
    targets = np.arange(40) % 2
    found = cross_validated(texts, targets, 2)
    np.testing.assert_allclose(found, 0.5, atol=1e-6)


def test_no_document_is_predicted_by_a_baseline_that_learnt_its_group():
    # Each group has a word of its own, which would give its label away.
    groups = np.arange(40) // 4
    texts, targets = [f"word{group}" for group in groups], groups % 2
    assert (cross_validated(texts, targets, 2).argmax(axis=1) == targets).all()
    found = cross_validated(texts, targets, 2, groups)
    np.testing.assert_allclose(found, 0.5, atol=1e-6)
    of_labels = cross_validated(texts, targets[:, np.newaxis] == 1, 1, groups)
    assert abs(of_labels - 0.5).max() < 0.2


def test_no_document_is_predicted_by_a_baseline_that_learnt_its_copy():
    # Of each text the copy would give its label away.
    texts = [f"Word{i}." if i < 60 else f"word{i - 60}" for i in range(120)]
    targets = np.arange(120) % 2
    np.testing.assert_allclose(cross_validated(texts, targets, 2), 0.5, atol=1e-6)
    assert abs(cross_validated(texts, targets[:, np.newaxis] == 1, 1) - 0.5).max() < 0.2


def test_copies_are_not_split_as_groups(monkeypatch):
    """That takes minutes of 100,000 documents."""
    monkeypatch.setattr("sk_han.inspection.reporting.StratifiedGroupKFold", None)
    found = cross_validated([f"word{i % 60} and" for i in range(80)], np.arange(80) % 2, 2)
    np.testing.assert_array_equal(found[:20], found[60:])


def test_a_label_of_a_single_document_is_no_error():
    targets = np.append(TARGETS, [2, 0])
    found = cross_validated([*TEXTS, "strange", "bad"], targets, 3)
    assert found[-2].argmax() != 2
    assert (found.argmax(axis=1) == targets).mean() > 0.9


def test_many_labels_of_few_documents_are_no_regression():
    targets = np.arange(44) % 22
    texts = [f"word{target} and others" for target in targets]
    found = cross_validated(texts, targets, 22)
    assert (found.argmax(axis=1) == targets).all()


def test_a_baseline_is_refused_where_there_is_nothing_to_learn():
    with pytest.raises(ValueError, match="19 documents are too few"):
        cross_validated(TEXTS[:1] * 19, TARGETS[:1].repeat(19), 2)
    with pytest.raises(ValueError, match="documents of two labels"):
        baseline_probabilities(TEXTS, TEXTS, np.zeros(len(TEXTS), dtype=np.int64), 2)
    with pytest.raises(ValueError, match="documents with words"):
        baseline_probabilities(TEXTS, ["?!", "..."], np.array([0, 1]), 2)


@pytest.mark.parametrize("with_training_documents", [False, True])
def test_labels_are_given_by_thresholds_of_the_highest_f1(with_training_documents):
    rng = np.random.RandomState(0)
    t = np.column_stack([rng.rand(200) < 0.1, rng.rand(200) < 0.5])
    texts = [" ".join(np.where(row, ["sun", "rain"], "word")) for row in t.tolist()]
    p = cross_validated(texts, t, 2) / 4  # never one half
    if not with_training_documents:
        np.testing.assert_array_equal(labels_by_f1(p, t, None, None, None), t)
        return
    # Thresholds are those of the training documents, whatever the others are.
    known = t, np.ones(200)
    expected = p >= best_thresholds(4 * p, *known, *known)
    np.testing.assert_array_equal(labels_by_f1(p, t, None, texts, t), expected)
    assert not np.array_equal(expected, t)


@pytest.mark.parametrize(("n_right", "said"), [(155, "right on only 78"), (160, None)])
def test_what_a_model_that_often_errs_lists_may_be_its_own_mistakes(n_right, said):
    notes = list(note_on_suspects(np.arange(200) < n_right, np.arange(200) % 2))
    assert len(notes) == (said is not None)
    assert all(said in note and "listed as possibly wrong may be right" in note for note in notes)


def test_classes_that_no_document_has_are_said_together():
    (note,) = note_on_missing(np.array([0, 3, 0]), ["a", "b", "c"])
    assert note.startswith(
        "No document has the labels 'a', 'c', so the report cannot show how well"
    )


def marked_at_random(random, n_documents, frequency):
    """Mark twenty labels, and find 60 % of them and a few wrong ones."""
    t = random.random((n_documents, 20)) < frequency
    return t, random.random(t.shape) < np.where(t, 0.6, 0.005)


def reported(t, given, **changes):
    return made_of_labels(
        labels=range(20), targets=t, predicted=given, probabilities=given * 0.9, **changes
    )


def test_intervals_hold_the_macro_f1_of_rare_labels(monkeypatch):
    monkeypatch.setattr(multilabel_metrics, "_RESAMPLES", 200)
    monkeypatch.setattr(report_of_labels, "_average_precisions", lambda *given: [])
    random, held = np.random.default_rng(0), 0
    expected = 2 * 0.6 * 0.02 / (0.02 + 0.6 * 0.02 + 0.98 * 0.005)
    for _ in range(60):
        scores = reported(*marked_at_random(random, 200, 0.02)).scores["model"]
        held += scores["macro_f1_low"] <= expected <= scores["macro_f1_high"]
        assert scores["macro_f1_low"] <= scores["macro_f1"] <= scores["macro_f1_high"]
    assert held >= 0.85 * 60


def test_the_interval_of_all_labels_right_is_that_of_groups():
    t, given = marked_at_random(np.random.default_rng(0), 60, 0.3)
    codes = np.arange(60) % 20
    found = reported(t, given, groups=codes)
    scores, of_groups = found.scores["model"], interval_of(found.right, codes)
    assert (scores["subset_accuracy_low"], scores["subset_accuracy_high"]) == of_groups
    assert of_groups != interval_of(found.right)


def test_a_large_group_makes_intervals_and_gains_unsure():
    random = np.random.default_rng(0)
    t, given = marked_at_random(random, 200, 0.3)
    groups = np.repeat(np.arange(21), np.r_[100, np.full(20, 5)])
    widths = []
    for codes in (np.arange(200) // 10, groups):
        found = reported(t, given, baseline=np.zeros(t.shape), groups=codes)
        scores, (_, low, high) = found.scores["model"], found.gain
        widths.append([scores["micro_f1_high"] - scores["micro_f1_low"], high - low])
    assert (np.array(widths[1]) > 1.5 * np.array(widths[0])).all()


def test_calibration_counts_what_is_not_next_to_nothing():
    p = np.array([[0.01, 0.92], [0.02, 0.98], [0.54, 0.96], [0.58, 0.01]])
    t = np.array([[1, 1], [0, 0], [0, 1], [0, 0]], bool)
    expected = (2 * abs(0.56 - 0) + 3 * abs(2.86 / 3 - 2 / 3)) / 5
    assert calibration_error_of_labels(p, t) == pytest.approx(expected)
    assert calibration_error_of_labels(np.zeros((3, 2)), t[:3]) == 0
