"""What inspects a classifier of several labels a document."""

import dataclasses
import json
import re

import numpy as np
import pytest
from scipy import sparse
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
    HierarchicalTokenizer,
    explain,
    explain_classes,
    explain_iter,
    faithfulness_report,
    report,
    summarize,
)
from tests import labelled_reviews
from tests.by_hand import signed
from tests.html_page import Page
from tests.labelled_reviews import OPINIONS, SMALL, TEST, TRAIN, X, pandas
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


def test_a_report_on_a_search_has_the_thresholds_of_its_best_model():
    model = HANClassifier(**SMALL, max_epochs=1, threshold=[0.2, 0.3, 0.9])
    search = GridSearchCV(model, {"dropout": [0.3]}, cv=2).fit(X[TRAIN], Y[TRAIN].to_numpy())
    for found in (search, make_pipeline(FunctionTransformer(), search)):
        found = report(found, X[TEST], Y[TEST].to_numpy(), baseline=None, n_mistakes=1)
        assert found.thresholds.tolist() == [0.2, 0.3, 0.9]


def test_labels_that_the_model_does_not_know_are_missed_and_named(fitted):
    y = Y[TEST].assign(early=np.arange(len(Y[TEST])) < 2)
    said = "2 documents have a label that the model does not know, 'early'"
    found, known = (report(fitted, X[TEST], each, n_mistakes=40) for each in (y, Y[TEST]))
    assert found.labels == (*known.labels, "early")
    assert any(said in note for note in found.notes)
    scores = found.class_scores[-1]
    assert (scores.n_documents, scores.n_predicted, scores.recall) == (2, 0, 0)
    assert (scores.log_loss, scores.threshold) == (None, None)
    figures = found.scores["model"], known.scores["model"]
    assert figures[0]["log_loss"] == figures[1]["log_loss"]
    assert figures[0]["micro_recall"] < figures[1]["micro_recall"]
    assert found.mistake_labels.max() < len(known.labels)
    assert "early" in found.to_html()
    with pytest.warns(UserWarning, match=said):
        assert fitted.score(X[TEST], y) == figures[0]["subset_accuracy"]
    trained = report(fitted, X[TEST], y, X_train=X[TRAIN], y_train=Y[TRAIN])
    assert trained.baseline.shape == found.targets.shape


def test_where_far_fewer_labels_are_given_than_there_are_thresholds_are_advised(fitted):
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
    shy = Shy(**SMALL, max_epochs=1, threshold=0.9).fit(X[TRAIN], Y[TRAIN])
    found = report(shy, X[TEST], Y[TEST], baseline=None, n_mistakes=1)
    assert not any(advice in note for note in found.notes)


def test_an_explanation_knows_the_labels_that_the_document_gets(fitted, explained):
    decided = fitted.predict(X[TEST])
    assert [e.labels for e in explained] == list(map(names, decided))
    assert [e.answer for e in explained] == [e.labels for e in explained]
    likeliest = fitted.predict_proba(X[TEST]).argmax(axis=1)
    assert [e.predicted for e in explained] == fitted.classes_[likeliest].tolist()


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


def test_rows_of_an_indicator_may_be_tuples_where_labels_are_numbers(fitted):
    numbered = HANClassifier(**SMALL, max_epochs=1).fit(X[TRAIN], Y[TRAIN].to_numpy())
    rows = Y[TEST].to_numpy()
    found = explain(numbered, X[TEST], y_true=list(map(tuple, rows.tolist())))
    assert found.y_true.tolist() == [tuple(row.nonzero()[0].tolist()) for row in rows]
    again = explain(numbered, X[TEST], y_true=found.y_true)  # names
    assert again.y_true.tolist() == found.y_true.tolist()


def test_true_labels_come_sparse(fitted):
    rows = Y[TEST].to_numpy()[:2]
    found = explain(fitted, X[TEST][:2], y_true=sparse.csr_array(rows))
    assert found.y_true.tolist() == list(map(names, rows))


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
def test_other_true_labels_are_refused(explained, given, message):
    with pytest.raises(ValueError, match=message):
        explained.mistakes(given)


def test_mistakes_are_documents_whose_labels_are_not_all_right(fitted, explained):
    wrong = np.flatnonzero((fitted.predict(X[TEST]) != Y[TEST].to_numpy()).any(axis=1))
    assert 0 < len(wrong) < 40
    mistakes = explained.mistakes()
    assert sorted(mistakes.numbers.tolist()) == wrong.tolist()
    assert f"{len(wrong)} of 40 documents are misclassified" in Page(explained.to_html()).all_text
    of_mistakes = Page(mistakes.to_html()).all_text
    assert f"{len(wrong)} of 40 documents are misclassified" in of_mistakes
    frame = explained.to_frame()
    assert np.flatnonzero(~frame["correct"]).tolist() == wrong.tolist()
    assert frame["predicted"].tolist() == [e.labels for e in explained]
    of_late = explain(fitted, X[TEST], target="late").to_frame()
    late = Y.columns.tolist().index("late")
    assert of_late["target_probability"].tolist() == [e.probabilities[late] for e in explained]


def test_the_mistakes_are_sorted_as_a_report_lists_them(fitted, explained, found):
    first = explained.mistakes().numbers.tolist()[: len(found.mistake_rows)]
    assert first == found.mistake_rows.tolist()


def test_the_least_sure_document_is_that_of_a_label_next_to_its_threshold(fitted, explained):
    p, thresholds = fitted.predict_proba(X[TEST]), np.array([0.5, 0.5, 0.6])
    away = np.abs(np.log(p / (1 - p)) - np.log(thresholds / (1 - thresholds))).min(axis=1)
    found = explained.by_confidence(ascending=True)
    assert found.numbers.tolist() == np.argsort(away, kind="stable").tolist()


def test_a_label_or_one_for_each_document_is_explained(fitted):
    of_one = explain(fitted, X[TEST][:2], target="<broken>")
    of_each = explain(fitted, X[TEST][:2], target=["late", "<broken>"])
    assert [e.target for e in (*of_one, *of_each)] == ["<broken>", "<broken>", "late", "<broken>"]
    assert of_one[1] == of_each[1]


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


def test_targets_are_predicted_or_none(fitted):
    for function in (explain, explain_iter):
        with pytest.raises(ValueError, match="targets must be"):
            function(fitted, X[:1], targets="all")
        with pytest.raises(ValueError, match="give one of them"):
            function(fitted, X[:1], target="late", targets="predicted")
    with pytest.raises(TypeError, match="classes in place of targets"):
        explain_classes(fitted, X[:1], targets="predicted")


def test_an_iterator_is_explained_for_predicted_labels_as_it_is_read(fitted):
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


def test_text_and_page_show_all_labels_and_no_predicted_class(fitted, explained):
    both = next(i for i, e in enumerate(explained) if e.labels == ("late", "good"))
    none = next(i for i, e in enumerate(explained) if not e.labels)
    shown = explained[[both, none]]
    text = shown.to_text(width=400)
    assert "predicted late, good (" in text
    assert "predicted no label (" in text
    assert f"true: {', '.join(explained.y_true[both]) or 'no label'}" in text
    page = shown.to_html()
    assert "predicted <bdi>late</bdi>, <bdi>good</bdi>" in page
    assert "<broken>" not in page
    for rendered in (text, page, shown[0].to_text(), shown[0].to_html()):
        assert "predicted class" not in rendered
    assert json.loads(shown.to_json())[0]["labels"] == ["late", "good"]


LABELS = ["late", "broken", "good", "long", "short"]
CHOSEN = [0.7, 0.6, 0.5, 0.4, 0.03]


def by_hand():
    """One document that gets "late" and "short", and has "late" and "good"."""
    one = signed(
        classes=LABELS,
        probabilities=[0.75, 0.59, 0.4, 0.1, 0.04],
        thresholds=CHOSEN,
        labels=["late", "short"],
        predicted="late",
        target="late",
    )
    return ExplanationList([one], y_true=[("late", "good")])


def test_thresholds_are_those_of_the_model(explained):
    assert all(e.thresholds.tolist() == [0.5, 0.5, 0.6] for e in explained)
    for e in explained:
        reached = e.probabilities >= e.thresholds
        assert e.labels == tuple(e.classes[reached].tolist())
    assert json.loads(explained.to_json())[0]["thresholds"] == [0.5, 0.5, 0.6]


def test_each_label_stands_with_its_threshold_and_what_people_marked():
    found = by_hand()
    shown = {
        "late": "0.750 \N{GREATER-THAN OR EQUAL TO} 0.700",
        "broken": "0.590 < 0.600",
        "good": "0.400 < 0.500 missed",
        "short": "0.040 \N{GREATER-THAN OR EQUAL TO} 0.030 wrongly given",
    }
    text, page = found.to_text(width=400), Page(found.to_html()).all_text
    for label, numbers in shown.items():
        assert f"{label} {numbers}," in text or f"{label} {numbers})" in text
        assert f"{label}{numbers}" in page.replace("\n", "")
    assert found.to_html().count('<b style="inset-inline-start:') == len(LABELS)
    assert "is its threshold: the" in page
    alone = found[0].to_text(width=400)
    assert "good 0.400 < 0.500" in alone
    assert "missed" not in alone


def test_pages_of_one_class_have_no_thresholds():
    page = signed().to_html()
    assert "threshold" not in page
    assert "<b style" not in page


def test_mistakes_of_a_report_show_thresholds_and_marks(found):
    page = Page(found.to_html()).all_text
    assert "< 0.600" in page or "\N{GREATER-THAN OR EQUAL TO} 0.600" in page
    assert "missed" in page.split("Most confident mistakes")[-1]


def test_figures_show_all_labels(fitted):
    pytest.importorskip("matplotlib")
    found = explain(fitted, X[TEST][:1], targets="predicted")[0]
    title = found.plot().get_title()
    assert f"predicted {', '.join(found.labels)}" in title
    assert all(name in title for name in found.classes)


@pytest.fixture(scope="module")
def found(fitted):
    return report(fitted, X[TEST], Y[TEST], X_train=X[TRAIN], y_train=Y[TRAIN], n_mistakes=3)


def test_the_linear_baseline_has_one_regression_for_each_label(found):
    linear = make_pipeline(TfidfVectorizer(), LogisticRegression())
    other = OneVsRestClassifier(linear).fit(X[TRAIN], Y[TRAIN]).predict_proba(X[TEST])
    assert np.corrcoef(found.baseline.ravel(), other.ravel())[0, 1] > 0.8
    given = f1_score(Y[TEST], found.baseline >= 0.5, average="micro")
    assert found.scores["baseline"]["micro_f1"] == pytest.approx(given)
    assert "whose probability is at least 0.5" in Page(found.to_html()).all_text


def test_figures_are_those_of_scikit_learn(fitted, found):
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
    assert frame["log_loss"].tolist() == pytest.approx(losses)
    assert frame["threshold"].tolist() == [0.5, 0.5, 0.6]
    assert frame["average_precision"].tolist() == pytest.approx(precisions.tolist())
    assert frame["n_documents"].tolist() == t.sum(axis=0).tolist()
    assert frame["f1"].tolist() == pytest.approx(f1_score(t, decided, average=None).tolist())


def test_intervals_of_a_report_are_those_of_groups(fitted):
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
    assert "interval over groups of documents" in found.to_html()


@pytest.mark.parametrize("n", [5, 20])  # few, and more that are all right
def test_few_documents_have_no_interval_and_what_they_gain_may_be_chance(n):
    t = np.array([[1, 0], [0, 1]] * 10, bool)[:n]
    found = made_of_labels(
        labels=("a", "b"),
        targets=t,
        predicted=t,
        probabilities=t.astype(float),
        baseline=np.zeros((n, 2)),
    )
    scores, shown = found.scores["model"], found.to_text()
    assert np.isnan([scores["micro_f1_low"], scores["micro_f1_high"]]).all()
    assert 0.5 < scores["subset_accuracy_low"] < scores["subset_accuracy_high"] == 1
    assert re.search(r"micro F1 +1.000 \[–\]", shown)
    assert json.loads(found.to_json())["scores"]["model"]["micro_f1_low"] is None
    gain = "Micro F1 is 100.0 points higher than the baseline's"
    assert f"{gain}{', which may be chance' if n == 5 else ''}.\n" in shown
    same = dataclasses.replace(found, baseline=t.astype(float), baseline_predicted=None).to_text()
    assert ("Micro F1 equals the baseline's.\n" in same) is (n == 20)


def test_labels_missed_and_given_are_counted_by_document():
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
    assert found.class_scores[2][1:-2] == (1, 1, 1.0, 1.0, 1.0, 1.0)
    assert found.class_scores[2].threshold is None


def test_the_worst_mistakes_are_explained_for_the_label_most_wrong(fitted, found):
    t, decided = Y[TEST].to_numpy(), fitted.predict(X[TEST])
    errors = np.where(decided != t, np.abs(fitted.predict_proba(X[TEST]) - t), 0)
    rows = np.argsort(-errors.max(axis=1), kind="stable")[:3]
    assert found.mistake_rows.tolist() == rows.tolist()
    labels = fitted.classes_[errors[rows].argmax(axis=1)].tolist()
    assert [e.target for e in found.mistakes] == labels


def test_a_flipped_mark_is_suspected(fitted):
    flipped = Y[TEST].copy()
    row = int(np.flatnonzero(flipped["late"])[0])
    flipped.iloc[row, 0] = 0
    found = report(fitted, X[TEST], flipped, baseline=None)
    assert [row, 0] in found.suspects.tolist()
    assert found.to_frame()["looks_mislabelled"][row]
    assert "late" not in _little_known(found)


def test_labels_of_which_a_model_knows_no_more_than_how_frequent_they_are_are_named(fitted):
    turned = Y[TEST].copy()
    turned.iloc[::2, 0] = 1 - turned.iloc[::2, 0]
    found = report(fitted, X[TEST], turned, baseline=None)
    assert "late" in _little_known(found)


def _little_known(found):
    return " ".join(note for note in found.notes if "where they are wrong or missing" in note)


def test_all_doors_of_a_report_open(found):
    assert found.to_dict()["scores"].keys() == {"model", "baseline"}
    assert found.plot().get_ylabel() == "missed"
    assert set(found.to_frame("scores").columns) == set(found.scores["model"])
    assert found.to_frame("confusion").columns.tolist() == [*found.labels, None]
    text = found.to_text(width=100)
    assert "micro F1" in text
    assert "predicted class" not in text
    page = found.to_html()
    assert "<broken>" not in page
    shown = Page(page).all_text
    assert "predicted class" not in shown
    for words in (
        "micro F1",
        "mean average precision",
        "wrongly predicted",
        "Most confident mistakes",
    ):
        assert words in shown
    assert "Report(HANClassifier, 40 documents, 3 labels" in repr(found)


def test_a_classifier_that_numbers_labels_is_reported_by_the_names_of_a_frame():
    model = OneVsRestClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    model.fit(X[TRAIN], Y[TRAIN])
    found = report(model, X[TEST], Y[TEST])
    assert found.labels == tuple(Y.columns)
    of_array = report(model, X[TEST], Y[TEST].to_numpy())
    assert of_array.labels == (0, 1, 2)
    assert found.scores == of_array.scores


@pytest.mark.thorough
def test_a_search_and_a_pipeline_are_reported():
    pipeline = make_pipeline(HierarchicalTokenizer(), HANClassifier(**SMALL, max_epochs=1))
    search = GridSearchCV(pipeline, {"hanclassifier__dropout": [0.1]}, cv=2)
    search.fit(X[TRAIN], Y[TRAIN].to_numpy())
    found = report(search, X[TEST], Y[TEST].to_numpy(), n_mistakes=1)
    assert found.labels == (0, 1, 2)
    assert found.n_words is not None
    assert len(found.mistakes) == 1


def test_labels_of_the_other_kind_are_refused(fitted):
    with pytest.raises(ValueError, match=r"an indicator of shape \(n_documents, 3\)"):
        report(fitted, X[TEST], ["late"] * 40)
    single = HANClassifier(**SMALL, max_epochs=1).fit(X[:40], OPINIONS[:40])
    with pytest.raises(ValueError, match="this model predicts one class"):
        report(single, X[TEST], Y[TEST])


def test_a_summary_of_two_labels_takes_neither_for_the_opposite_of_the_other():
    labels = Y[["late", "<broken>"]]
    model = HANClassifier(**SMALL, max_epochs=1).fit(X[:120], labels[:120])
    summary = summarize(model, X[:60], k=2)
    assert summary.several_labels
    assert "against <broken>" in summary.to_text()
    assert "for late, against" not in summary.to_text()
    assert "most probable label of" in summary.to_text()
    for rendered in (summary.to_text(), summary.to_html()):
        assert "most probable label changes from or to this label" in " ".join(rendered.split())
        assert "predicted class" not in rendered
        assert "the class" not in rendered
    assert repr(summary) == "Summary(2 labels, 60 documents)"
    assert {"late", "<broken>"} <= set(summary.to_frame()["class"])


def test_no_text_of_a_fit_speaks_of_classes(fitted):
    summary = fitted.fit_summary_
    assert summary.several_labels
    assert "Fitted to 120 documents of 3 labels" in str(summary)
    assert "all labels right" in str(summary)
    assert "most frequent labels" in str(summary)
    assert "3 labels, held-out subset accuracy" in repr(summary)
    assert "class" not in str(summary)


def test_the_figure_of_faithfulness_names_class_and_label(fitted):
    ax = faithfulness_report(fitted, X[TEST][:4], methods=["attention"]).plot()
    assert "class or label" in ax.get_xlabel()


def test_average_precision_of_labels_that_no_document_has_is_a_dash():
    found = made_of_labels(targets=np.zeros((2, 2), dtype=bool))
    assert np.isnan(found.scores["model"]["mean_average_precision"])
    assert re.search("mean average precision +\N{EN DASH}", found.to_text())
    assert found.to_dict()["scores"]["model"]["mean_average_precision"] is None
    assert "nan" not in found.to_html()
