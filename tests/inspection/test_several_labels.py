"""What inspects a classifier of several labels a document."""

import json
import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    log_loss,
    precision_recall_fscore_support,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_han import (
    ExplanationList,
    HANClassifier,
    explain,
    explain_iter,
    report,
    summarize,
)
from tests import labelled_reviews
from tests.labelled_reviews import SMALL, TEST, TRAIN, X, pandas
from tests.reports import made_of_labels

Y = labelled_reviews.Y.rename(columns={"broken": "<broken>"})


@pytest.fixture(scope="module")
def fitted():
    return HANClassifier(**SMALL, max_epochs=2, threshold=[0.5, 0.5, 0.6]).fit(X[TRAIN], Y[TRAIN])


@pytest.fixture(scope="module")
def explained(fitted):
    return explain(fitted, X[TEST], y_true=Y[TEST])


def names(row):
    return tuple(label for label, has in zip(Y.columns, row, strict=True) if has)


def test_reports_on_a_search_use_thresholds_of_the_best_model():
    model = HANClassifier(**SMALL, max_epochs=1, threshold=[0.2, 0.3, 0.9])
    search = GridSearchCV(model, {"dropout": [0.3]}, cv=2).fit(X[TRAIN], Y[TRAIN].to_numpy())
    for found in (search, make_pipeline(FunctionTransformer(), search)):
        found = report(found, X[TEST], Y[TEST].to_numpy(), baseline=None, n_mistakes=1)
        assert found.thresholds.tolist() == [0.2, 0.3, 0.9]


def test_unknown_labels_count_as_missed_and_are_named(fitted):
    y = Y[TEST].assign(early=np.arange(len(Y[TEST])) < 2)
    said = "2 documents have a label that the model does not know, 'early'"
    found, known = (report(fitted, X[TEST], each, n_mistakes=40) for each in (y, Y[TEST]))
    assert found.labels == (*known.labels, "early")
    assert any(said in note for note in found.notes)
    scores = found.class_scores[-1]
    assert (scores.n_documents, scores.n_predicted, scores.recall) == (2, 0, 0)
    assert scores.threshold is None
    figures = found.scores["model"], known.scores["model"]
    assert figures[0]["log_loss"] == figures[1]["log_loss"]
    assert figures[0]["micro_recall"] < figures[1]["micro_recall"]
    assert found.mistake_labels.max() < len(known.labels)
    with pytest.warns(UserWarning, match=said):
        assert fitted.score(X[TEST], y) == figures[0]["subset_accuracy"]


def test_thresholds_are_advised_if_too_few_labels_are_predicted(fitted):
    class Shy(HANClassifier):
        """A model that is never sure."""

        def predict_proba(self, texts):
            return super().predict_proba(texts) * 0.4

        def predict(self, texts):
            return (self.predict_proba(texts) >= 0.5).astype(int)

    advice = "threshold='f1'"
    shy = Shy(**SMALL, max_epochs=1).fit(X[TRAIN], Y[TRAIN])
    found = report(shy, X[TEST], Y[TEST], baseline=None, n_mistakes=1)
    (note,) = (note for note in found.notes if advice in note)
    assert note.startswith("Many labels are missed: micro recall is 0.00, micro precision 0.00.")


def test_an_explanation_has_the_predicted_labels_and_thresholds(fitted, explained):
    assert [e.labels for e in explained] == list(map(names, fitted.predict(X[TEST])))
    assert [e.answer for e in explained] == [e.labels for e in explained]
    likeliest = fitted.predict_proba(X[TEST]).argmax(axis=1)
    assert [e.predicted for e in explained] == fitted.classes_[likeliest].tolist()
    assert all(e.thresholds.tolist() == [0.5, 0.5, 0.6] for e in explained)


@pytest.mark.parametrize(
    "given",
    [
        Y[TEST][["good", "late", "<broken>"]],
        Y[TEST].to_numpy(),
        Y[TEST].to_numpy().tolist(),
        list(map(names, Y[TEST].to_numpy())),
        list(map(tuple, Y[TEST].to_numpy().tolist())),
    ],
)
def test_true_labels_come_as_an_indicator_or_as_names(explained, given):
    assert ExplanationList(explained, y_true=given) == explained
    assert explained.y_true.tolist() == list(map(names, Y[TEST].to_numpy()))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["late"] * 40, "has an indicator as y_true"),
        (Y[TEST].to_numpy()[:, :2], "y_true has 2 columns"),
        (Y[TEST].to_numpy()[:7], "40 documents"),
        ([("late",)] * 7, r"7 tuples\.$"),
        ([("early",)] * 40, "'early'"),
    ],
)
def test_invalid_true_labels_are_refused(explained, given, message):
    with pytest.raises(ValueError, match=message):
        explained.mistakes(given)


def test_mistakes_are_documents_whose_labels_are_not_all_right(fitted, explained, found):
    wrong = np.flatnonzero((fitted.predict(X[TEST]) != Y[TEST].to_numpy()).any(axis=1))
    assert 0 < len(wrong) < 40
    mistakes = explained.mistakes()
    assert sorted(mistakes.numbers.tolist()) == wrong.tolist()
    assert mistakes.numbers.tolist()[: len(found.mistake_rows)] == found.mistake_rows.tolist()
    frame = explained.to_frame()
    assert np.flatnonzero(~frame["correct"]).tolist() == wrong.tolist()
    assert frame["predicted"].tolist() == [e.labels for e in explained]
    of_late = explain(fitted, X[TEST], target="late").to_frame()
    late = Y.columns.tolist().index("late")
    assert of_late["target_probability"].tolist() == [e.probabilities[late] for e in explained]


def test_confidence_is_the_distance_to_the_nearest_threshold(fitted, explained):
    p, thresholds = fitted.predict_proba(X[TEST]), np.array([0.5, 0.5, 0.6])
    away = np.abs(np.log(p / (1 - p)) - np.log(thresholds / (1 - thresholds))).min(axis=1)
    found = explained.by_confidence(ascending=True)
    assert found.numbers.tolist() == np.argsort(away, kind="stable").tolist()


def test_all_predicted_labels_are_explained_document_by_document(fitted, explained):
    found = explain(fitted, iter(X[TEST]), targets="predicted", y_true=Y[TEST])
    expected = [
        (number, label)
        for number, e in enumerate(explained)
        for label in e.labels or (e.predicted,)
    ]
    assert [(n, e.target) for n, e in zip(found.numbers, found, strict=True)] == expected
    assert {len(e.labels) for e in explained} >= {0, 1, 2}
    late = explain(fitted, X[TEST], target="late")
    assert [e for e in found if e.target == "late"] == [
        late[number] for number, label in expected if label == "late"
    ]
    assert [list(d.y_true) for d in found.by_document()] == [
        [explained.y_true[d.numbers[0]]] * len(d) for d in found.by_document()
    ]


def test_an_iterator_is_explained_lazily_for_predicted_labels(fitted):
    read = []
    texts = (read.append(text) or text for text in X[TEST])
    found = explain_iter(fitted, texts, targets="predicted", batch_size=8)
    assert not read
    first = next(found)
    assert len(read) <= 8
    assert [first, *found] == list(explain(fitted, X[TEST], targets="predicted", batch_size=8))


def test_wrong_documents_are_named_where_predicted_labels_are_explained(fitted):
    texts = [*X, *X, None]
    with pytest.raises(TypeError, match=f"Document {len(texts) - 1} "):
        explain(fitted, texts, targets="predicted")
    for unordered in ({"a": X[0]}, {X[0]}):
        with pytest.raises(TypeError, match="order"):
            explain(fitted, unordered, targets="predicted")


@pytest.fixture(scope="module")
def found(fitted):
    return report(fitted, X[TEST], Y[TEST], X_train=X[TRAIN], y_train=Y[TRAIN], n_mistakes=3)


def test_the_linear_baseline_has_one_regression_for_each_label(found):
    linear = make_pipeline(TfidfVectorizer(), LogisticRegression())
    other = OneVsRestClassifier(linear).fit(X[TRAIN], Y[TRAIN]).predict_proba(X[TEST])
    assert np.corrcoef(found.baseline.ravel(), other.ravel())[0, 1] > 0.8
    given = f1_score(Y[TEST], found.baseline >= 0.5, average="micro")
    assert found.scores["baseline"]["micro_f1"] == pytest.approx(given)


def test_scores_match_scikit_learn(fitted, found):
    t, decided = Y[TEST].to_numpy(), fitted.predict(X[TEST])
    proba = fitted.predict_proba(X[TEST])
    scores = found.scores["model"]
    for average in ("micro", "macro", "samples"):
        expected = precision_recall_fscore_support(
            t, decided, average=average, zero_division=1.0 if average == "samples" else 0.0
        )
        f1 = scores[f"{average}_f1"]
        assert scores[f"{average}_f1_low"] < f1 < scores[f"{average}_f1_high"]
        if average != "samples":
            assert [scores[f"{average}_{m}"] for m in ("precision", "recall", "f1")] == (
                pytest.approx(list(expected[:3]))
            )
    assert scores["samples_f1"] == pytest.approx(
        f1_score(t, decided, average="samples", zero_division=1.0)
    )
    assert scores["subset_accuracy"] == fitted.score(X[TEST], Y[TEST])
    precisions = average_precision_score(t, proba, average=None)
    assert scores["mean_average_precision"] == pytest.approx(precisions.mean())
    losses = [log_loss(t[:, i], proba[:, i]) for i in range(t.shape[1])]
    assert scores["log_loss"] == pytest.approx(np.mean(losses))
    frame = found.to_frame("classes")
    assert frame["threshold"].tolist() == [0.5, 0.5, 0.6]
    assert frame["average_precision"].tolist() == pytest.approx(precisions.tolist())
    assert frame["n_documents"].tolist() == t.sum(axis=0).tolist()
    assert frame["f1"].tolist() == pytest.approx(f1_score(t, decided, average=None).tolist())


def test_intervals_of_a_report_are_computed_over_groups(fitted):
    texts, t = X[TEST][:20], Y[TEST].iloc[:20]
    once = report(fitted, texts, t, baseline=None).scores["model"]
    # Each text is there three times, which makes nothing surer.
    copies, t_of_copies = texts * 3, pandas.concat([t] * 3)
    groups = [f"author {i}" for i in range(20)] * 3
    alone = report(fitted, copies, t_of_copies, baseline=None).scores["model"]
    found = report(fitted, copies, t_of_copies, baseline=None, groups=groups)
    scores = found.scores["model"]
    for figure in ("micro_f1", "macro_f1", "samples_f1"):
        ends = f"{figure}_low", f"{figure}_high"
        assert [scores[end] for end in ends] == pytest.approx([once[end] for end in ends])
        assert alone[ends[1]] - alone[ends[0]] < 0.8 * (scores[ends[1]] - scores[ends[0]])


@pytest.mark.parametrize("n", [5, 20])  # few, and more that are all right
def test_few_documents_have_no_interval_and_prove_no_gain(n):
    t = np.array([[1, 0], [0, 1]] * 10, bool)[:n]
    found = made_of_labels(
        labels=("a", "b"),
        targets=t,
        predicted=t,
        probabilities=t.astype(float),
        baseline=np.zeros((n, 2)),
    )
    scores = found.scores["model"]
    assert np.isnan([scores["micro_f1_low"], scores["micro_f1_high"]]).all()
    assert 0.5 < scores["subset_accuracy_low"] < scores["subset_accuracy_high"] == 1
    assert json.loads(found.to_json())["scores"]["model"]["micro_f1_low"] is None
    gain = "Micro F1 is 100.0 points higher than the baseline's"
    assert f"{gain}{', which may be chance' if n == 5 else ''}.\n" in found.to_text()


def test_missed_and_wrong_labels_are_counted_by_document():
    targets = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    predicted = np.array([[0, 1, 0], [1, 0, 0], [1, 0, 1], [0, 0, 0]], bool)
    found = made_of_labels(
        labels=("a", "b", "c"),
        targets=targets,
        predicted=predicted,
        probabilities=predicted.astype(float),
    )
    assert found.mixed_up() == [(0, 1, 1), (1, 3, 1), (3, 0, 1)]
    assert found.scores["model"]["samples_f1"] == pytest.approx((0 + 2 / 3 + 2 / 3 + 1) / 4)
    assert found.class_scores[2][1:-1] == (1, 1, 1.0, 1.0, 1.0, 1.0)
    assert found.class_scores[2].threshold is None


def test_the_worst_mistakes_are_explained_for_the_label_most_wrong(fitted, found):
    t, decided = Y[TEST].to_numpy(), fitted.predict(X[TEST])
    errors = np.where(decided != t, np.abs(fitted.predict_proba(X[TEST]) - t), 0)
    rows = np.argsort(-errors.max(axis=1), kind="stable")[:3]
    assert found.mistake_rows.tolist() == rows.tolist()
    labels = fitted.classes_[errors[rows].argmax(axis=1)].tolist()
    assert [e.target for e in found.mistakes] == labels
    assert all(e.thresholds.tolist() == [0.5, 0.5, 0.6] for e in found.mistakes)


def test_a_flipped_mark_is_suspected(fitted):
    flipped = Y[TEST].copy()
    row = int(np.flatnonzero(flipped["late"])[0])
    flipped.iloc[row, 0] = 0
    found = report(fitted, X[TEST], flipped, baseline=None)
    assert [row, 0] in found.suspects.tolist()
    assert found.to_frame()["looks_mislabelled"][row]
    assert "late" not in _little_known(found)
    flipped.iloc[::2, 0] = 1 - flipped.iloc[::2, 0]  # which tells no more than how frequent it is
    assert "late" in _little_known(report(fitted, X[TEST], flipped, baseline=None))


def _little_known(found):
    return " ".join(note for note in found.notes if "where they are wrong or missing" in note)


def test_a_report_takes_label_names_from_the_frame():
    model = OneVsRestClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    model.fit(X[TRAIN], Y[TRAIN])
    found = report(model, X[TEST], Y[TEST])
    assert found.labels == tuple(Y.columns)
    of_array = report(model, X[TEST], Y[TEST].to_numpy())
    assert of_array.labels == (0, 1, 2)
    assert found.scores == of_array.scores


def test_two_labels_are_not_summarized_as_opposites():
    labels = Y[["late", "<broken>"]]
    model = HANClassifier(**SMALL, max_epochs=1).fit(X[:120], labels[:120])
    summary = summarize(model, X[:60], k=2)
    assert summary.several_labels
    assert [c.label for c in summary.classes] == ["late", "<broken>"]
    assert {"late", "<broken>"} <= set(summary.to_frame()["class"])


def test_average_precision_without_any_label_is_a_dash():
    found = made_of_labels(targets=np.zeros((2, 2), dtype=bool))
    assert np.isnan(found.scores["model"]["mean_average_precision"])
    assert re.search("mean average precision +\N{EN DASH}", found.to_text())
    assert found.to_dict()["scores"]["model"]["mean_average_precision"] is None
    assert "nan" not in found.to_html()
