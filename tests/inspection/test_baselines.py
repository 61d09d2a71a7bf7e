"""The baseline of a report, and its notes."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from sk_han import report, save
from sk_han._utils import metrics as multilabel_metrics
from sk_han._utils.metrics import calibration_error_of_labels, interval_of
from sk_han.inspection._reporting import note_on_missing, note_on_suspects
from sk_han.inspection._results import report as report_of_labels
from sk_han.serving import Scorer
from tests.html_page import Page
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


def test_a_baseline_is_in_text_page_and_json(compared):
    found, *_, other, y = compared
    name = type(other if y.ndim == 2 else other[-1]).__name__
    gain = found.to_text().replace("\n", " ").partition("than the baseline's")
    for shown in (found.to_text(width=200), Page(found.to_html()).all_text):
        assert f"baseline: {name}" in shown
        assert f"The baseline is a fitted {name} that predicts the same documents." in shown
        assert f"{gain[1]} (95 % interval: " in shown.replace("\N{NO-BREAK SPACE}", " ")
    written = json.loads(found.to_json())
    assert written["gain"] == pytest.approx(found.gain)
    assert written["baseline_name"] == name
    assert len(written["documents"]["baseline"]) == 36


def test_a_model_and_itself_do_not_differ():
    model = fitted_classifier()
    found = report(model, HELD_OUT, Y, baseline=model)
    assert found.gain[0] == 0
    assert "Accuracy equals the baseline's" in found.to_text()


def test_a_baseline_that_learnt_from_the_documents_is_told():
    other = tiny().fit(HELD_OUT[:9], Y[:9])
    note = report(fitted_classifier(), HELD_OUT, Y, baseline=other).baseline_note
    assert " 9 of these have the words of one of its training documents." in note


def test_a_scorer_is_a_baseline(tmp_path):
    model = fitted_classifier()
    save(model, tmp_path / "m.han")
    found = report(linear(Y), HELD_OUT, Y, baseline=Scorer.load(tmp_path / "m.han"))
    np.testing.assert_allclose(found.baseline, model.predict_proba(HELD_OUT), atol=1e-5)


def test_a_baseline_of_further_classes_is_wrong_where_it_predicts_them():
    names = np.where(LABELS == "pos", "mixed", LABELS)
    other = linear(names)
    found = report(fitted_classifier(), HELD_OUT, Y, baseline=other)
    assert found.labels == ("neg", "pos", "mixed")
    predicted = other.predict(HELD_OUT)
    assert "mixed" in predicted
    assert found.scores["baseline"]["accuracy"] == (predicted == Y).mean()


def test_of_several_labels_those_that_nobody_gave_are_not_scored():
    frame = pd.DataFrame(MANY, columns=["good", "odd"])
    wide = frame.assign(late=np.arange(36) % 2)
    model, other = (tiny(max_epochs=1).fit(TEXTS, y[:18]) for y in (frame, wide))
    found = report(model, HELD_OUT, frame, baseline=other)
    columns = [other.classes_.tolist().index(name) for name in found.labels]
    np.testing.assert_allclose(found.baseline, other.predict_proba(HELD_OUT)[:, columns], atol=1e-6)


@pytest.mark.parametrize(
    ("baseline", "error", "message"),
    [
        ("majority", ValueError, "baseline must be one of"),
        (3, TypeError, "baseline is an int; give a fitted classifier, 'tfidf' or None"),
        (LINEAR, NotFittedError, "not fitted"),
        (make_pipeline(TfidfVectorizer(), LinearSVC()).fit(TEXTS, LABELS), TypeError, "baseline"),
        (linear(np.arange(36) % 2), ValueError, "a class of the baseline. They are 'neg', 'pos'"),
    ],
)
def test_what_is_no_baseline_of_these_labels_is_refused(baseline, error, message):
    with pytest.raises(error, match=message):
        report(fitted_classifier(), HELD_OUT, Y, baseline=baseline)


def test_a_baseline_of_the_other_kind_of_labels_is_refused():
    frame = pd.DataFrame(MANY[:18], columns=["neg", "pos"])
    one, several = fitted_classifier(), tiny(max_epochs=1).fit(TEXTS, frame)
    with pytest.raises(ValueError, match=r"predictions of shape \(36, 2\). It must take"):
        report(one, HELD_OUT, Y, baseline=several)
    with pytest.raises(ValueError, match=r"predictions of shape \(36,\). It must take"):
        report(several, HELD_OUT, MANY, baseline=one)


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
