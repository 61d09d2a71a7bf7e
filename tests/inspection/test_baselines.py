"""The baseline of a report, and its notes."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from sk_han import report, save
from sk_han._utils import metrics as multilabel_metrics
from sk_han._utils.metrics import accuracy_interval, calibration_error_of_labels
from sk_han.inspection._results import report as report_of_labels
from sk_han.serving import Scorer
from tests.reports import made_of_labels
from tests.tiny_models import LABELS, TEXTS, fitted_classifier, tiny

LINEAR = make_pipeline(TfidfVectorizer(), LogisticRegression())
HELD_OUT = [f"{text} Then it was day {i}." for i, text in enumerate(TEXTS * 2)]
Y = np.tile(LABELS, 2)
MANY = np.column_stack([Y == "pos", np.arange(36) % 3 > 0])  # labels, of which a document has many


def linear(labels):
    model = LINEAR if labels.ndim == 1 else OneVsRestClassifier(LINEAR)
    return clone(model).fit(TEXTS, labels[:18])


@pytest.fixture(scope="module", params=[Y, MANY], ids=["one label", "several labels"])
def compared(request):
    """Report on a model, its baseline, and the labels of the documents."""
    y = request.param
    model = fitted_classifier() if y is Y else tiny(max_epochs=1).fit(TEXTS, y[:18])
    other = linear(np.roll(y, 2, axis=0))
    return report(model, HELD_OUT, y, baseline=other), model, other, y


def test_any_classifier_is_a_baseline_on_the_same_documents(compared):
    found, model, other, y = compared
    np.testing.assert_allclose(found.baseline, other.predict_proba(HELD_OUT))
    measure = "accuracy" if y.ndim == 1 else "micro_f1"
    score = accuracy_score if y.ndim == 1 else partial(f1_score, average="micro")
    scores = [score(y, each.predict(HELD_OUT)) for each in (model, other)]
    assert found.gain[0] == pytest.approx(scores[0] - scores[1])
    assert found.gain[1] < found.gain[0] < found.gain[2]
    assert found.scores["baseline"][measure] == pytest.approx(scores[1])
    assert f"fitted {found.baseline_name} that predicts the same documents" in found.baseline_note


def test_a_baseline_trained_on_the_documents_is_noted():
    other = tiny().fit(HELD_OUT[:9], Y[:9])
    note = report(fitted_classifier(), HELD_OUT, Y, baseline=other).baseline_note
    assert " 9 of these have the words of one of its training documents." in note


def test_a_scorer_is_a_baseline(tmp_path):
    model = fitted_classifier()
    save(model, tmp_path / "m.han")
    found = report(linear(Y), HELD_OUT, Y, baseline=Scorer.load(tmp_path / "m.han"))
    np.testing.assert_allclose(found.baseline, model.predict_proba(HELD_OUT), atol=1e-5)


def test_a_baseline_that_predicts_unknown_classes_is_wrong_there():
    names = np.where(LABELS == "pos", "mixed", LABELS)
    other = linear(names)
    found = report(fitted_classifier(), HELD_OUT, Y, baseline=other)
    assert found.labels == ("neg", "pos", "mixed")
    predicted = other.predict(HELD_OUT)
    assert "mixed" in predicted
    assert found.scores["baseline"]["accuracy"] == (predicted == Y).mean()


def test_labels_absent_from_y_are_not_scored():
    frame = pd.DataFrame(MANY, columns=["good", "odd"])
    wide = frame.assign(late=np.arange(36) % 2)
    model, other = (tiny(max_epochs=1).fit(TEXTS, y[:18]) for y in (frame, wide))
    found = report(model, HELD_OUT, frame, baseline=other)
    columns = [other.classes_.tolist().index(name) for name in found.labels]
    np.testing.assert_allclose(found.baseline, other.predict_proba(HELD_OUT)[:, columns], atol=1e-6)


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


def test_the_interval_of_subset_accuracy_is_computed_over_groups():
    t, given = marked_at_random(np.random.default_rng(0), 60, 0.3)
    codes = np.arange(60) % 20
    found = reported(t, given, groups=codes)
    scores, of_groups = found.scores["model"], accuracy_interval(found.right, codes)
    assert (scores["subset_accuracy_low"], scores["subset_accuracy_high"]) == of_groups
    assert of_groups != accuracy_interval(found.right)


def test_a_large_group_widens_intervals_of_scores_and_gains():
    random = np.random.default_rng(0)
    t, given = marked_at_random(random, 200, 0.3)
    groups = np.repeat(np.arange(21), np.r_[100, np.full(20, 5)])
    widths = []
    for codes in (np.arange(200) // 10, groups):
        found = reported(t, given, baseline=np.zeros(t.shape), groups=codes)
        scores, (_, low, high) = found.scores["model"], found.gain
        widths.append([scores["micro_f1_high"] - scores["micro_f1_low"], high - low])
    assert (np.array(widths[1]) > 1.5 * np.array(widths[0])).all()


def test_calibration_error_ignores_negligible_probabilities():
    p = np.array([[0.01, 0.92], [0.02, 0.98], [0.54, 0.96], [0.58, 0.01]])
    t = np.array([[1, 1], [0, 0], [0, 1], [0, 0]], bool)
    expected = (2 * abs(0.56 - 0) + 3 * abs(2.86 / 3 - 2 / 3)) / 5
    assert calibration_error_of_labels(p, t) == pytest.approx(expected)
    assert calibration_error_of_labels(np.zeros((3, 2)), t[:3]) == 0
