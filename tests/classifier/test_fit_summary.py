"""What is said after a fit: the summary, the representation, warnings."""

import dataclasses
import re

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import accuracy_score, f1_score, log_loss, recall_score
from skorch.callbacks import Callback

from sk_han import HANClassifier
from sk_han.datasets import make_reviews
from tests.tiny_models import LABELS, TEXTS, tiny

REVIEWS, KINDS = make_reviews(120, random_state=0)
KINDS = np.array(KINDS)
MORE, MORE_KINDS = make_reviews(60, random_state=1)


@pytest.fixture(scope="module")
def fitted():
    return tiny(max_epochs=3).fit(REVIEWS, KINDS)


@pytest.fixture(scope="module")
def validated():
    return tiny(max_epochs=3).fit(REVIEWS, KINDS, X_val=MORE, y_val=MORE_KINDS)


def test_scores_describe_the_whole_model_on_new_documents(validated):
    summary = validated.fit_summary_
    assert summary.n_scored == 60
    assert summary.accuracy == accuracy_score(MORE_KINDS, validated.predict(MORE))
    assert summary.loss == pytest.approx(log_loss(MORE_KINDS, validated.predict_proba(MORE)))
    assert summary.network_accuracy == validated.best_score_


def test_accuracy_has_a_wilson_interval(validated):
    summary = dataclasses.replace(validated.fit_summary_, accuracy=0.8, n_scored=50)
    # (0.8 + z2 / 2 +- z sqrt(0.8 * 0.2 / 50 + z2 / 4 / 50)) / (1 + z2), of z2 = 1.96 ** 2 / 50
    assert summary.accuracy_interval == pytest.approx((0.66963, 0.88757), abs=1e-5)
    assert "0.800 on 50 held-out documents (95 % interval: 0.670 to 0.888)" in str(summary)


def test_the_class_of_the_lowest_recall_is_reported(validated):
    summary = validated.fit_summary_
    predicted = validated.predict(MORE)
    recalls = recall_score(MORE_KINDS, predicted, average=None, labels=validated.classes_)
    worst = recalls.argmin()
    assert summary.macro_f1 == pytest.approx(f1_score(MORE_KINDS, predicted, average="macro"))
    assert (summary.worst_class, summary.worst_recall) == (
        validated.classes_[worst],
        recalls[worst],
    )
    assert summary.n_worst == (np.array(MORE_KINDS) == summary.worst_class).sum()
    assert f"{summary.worst_class}: {recalls[worst]:.3f} of {summary.n_worst}" in str(summary)
    assert "class_weight" not in str(summary)


def test_a_rare_class_that_is_never_found_gets_advice():
    labels = np.where(np.arange(120) % 12 == 0, "rare", "usual")
    texts = [f"A day like day {i}." for i in range(120)]
    others = [f"{text} Like it." for text in texts]
    model = tiny(max_epochs=2).fit(texts, labels, X_val=others, y_val=labels)
    assert model.fit_summary_.worst_class == "rare"
    told = re.search(r"lowest recall +rare: 0.000 of 10; (.*)", str(model.fit_summary_))
    assert told[1] == "a larger class_weight raises it, at the cost of precision"


def test_models_that_score_held_out_documents_have_not_seen_them(fitted):
    summary = fitted.fit_summary_
    assert (summary.n_documents, summary.n_scored, summary.n_classes) == (120, 12, 2)
    assert 0 <= summary.accuracy <= 1
    assert summary.majority_accuracy == 0.5
    assert summary.linear_accuracy < 1.0  # the model that knows them has them all right
    assert list(summary.shares) == ["network", "n-gram model"]
    assert sum(summary.shares.values()) == pytest.approx(1)


def test_the_seconds_of_stages_sum_to_at_most_the_total(fitted):
    summary = fitted.fit_summary_
    assert {"texts", "word vectors", "network", "linear models"} <= summary.seconds.keys()
    assert 0 < sum(summary.seconds.values()) <= summary.total_seconds


class Ends(Callback):
    def on_epoch_end(self, net, **kwargs):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("params", "ended", "n_epochs"),
    [
        ({"max_epochs": 2}, "all epochs", 2),
        ({"max_epochs": 9, "n_iter_no_change": 1, "lr": 1e-20}, "no improvement", 2),
        ({"max_epochs": 4, "callbacks": [Ends()]}, "a callback", 1),
    ],
)
def test_the_summary_reports_why_training_ended(params, ended, n_epochs):
    summary = tiny(**params).fit(TEXTS, LABELS).fit_summary_
    assert (summary.ended, summary.n_epochs) == (ended, n_epochs)
    assert summary.kept_epoch is not None


LEARNS = {"batch_size": 3, "dropout": 0, "word_dropout": 0, "lr": 0.02}


class TestDocumentsLearntByHeart:
    """Training ends when its loss is a twentieth of that of the class frequencies, ln 2 here."""

    @pytest.mark.parametrize("held_out", [0.3, None])
    def test_training_ends_once_documents_are_memorized(self, held_out):
        model = tiny(max_epochs="auto", validation_fraction=held_out, **LEARNS)
        model.fit(TEXTS, LABELS)
        is_learnt = [epoch["train_loss"] < 0.05 * np.log(2) for epoch in model.history_]
        assert is_learnt == [False] * (len(is_learnt) - 1) + [True]
        assert len(is_learnt) < 20
        assert model.fit_summary_.ended == "all learnt"

    @pytest.mark.parametrize(
        "params",
        [{"max_epochs": 20}, {"net_params": {"criterion": torch.nn.MultiMarginLoss}}],
        ids=["a number of epochs", "a loss of the user"],
    )
    def test_a_custom_loss_or_epoch_count_prevents_an_early_end(self, params):
        model = tiny(**{"max_epochs": "auto"} | params, **LEARNS).fit(TEXTS, LABELS)
        assert model.history_[-2]["train_loss"] < 0.05 * np.log(2)
        assert (model.n_iter_, model.fit_summary_.ended) == (20, "all epochs")


def test_without_held_out_documents_there_are_no_scores():
    summary = tiny(validation_fraction=None).fit(TEXTS, LABELS).fit_summary_
    assert (summary.n_scored, summary.accuracy, summary.kept_epoch) == (0, None, None)
    assert summary.shares == {}
    assert "no held-out documents that are new" in str(summary)


def test_a_warm_start_summarizes_the_last_fit():
    model = tiny(warm_start=True, max_epochs=2).fit(REVIEWS, KINDS).fit(REVIEWS, KINDS)
    summary = model.fit_summary_
    assert summary.n_epochs == 2
    assert summary.n_scored == 0  # the first fit may have learnt from any document
    validation = {"X_val": MORE, "y_val": MORE_KINDS}
    assert model.fit(REVIEWS, KINDS, **validation).fit_summary_.n_scored == len(MORE)


def test_after_partial_fit_the_summary_describes_the_portion():
    classes = np.unique(KINDS)
    model = tiny().partial_fit(REVIEWS[:100], KINDS[:100], classes=classes)
    model.partial_fit(REVIEWS[100:110], KINDS[100:110])
    summary = model.fit_summary_
    assert (summary.ended, summary.n_documents, summary.n_scored) == ("one portion", 10, 0)
    assert "10 documents in the last portion, 2 classes" in repr(summary)
    assert str(summary).startswith("Fitted to a portion of 10 documents")
    assert "1 epoch on this portion" in str(summary)
    assert "portion" not in str(model.fit(REVIEWS, KINDS).fit_summary_)


@pytest.mark.parametrize(
    "change", [{"n_documents": -1}, {"ended": "rain"}, {"seconds": {"texts": None}}, {"more": 1}]
)
def test_a_damaged_summary_is_refused(fitted, change):
    state = fitted.to_state()
    state["fit_summary"] = state["fit_summary"] | change
    with pytest.raises(ValueError, match="cannot be restored"):
        tiny().from_state(state)


def test_repr_shows_the_parameters_and_the_summary_shows_the_results(fitted):
    assert repr(fitted) == repr(clone(fitted)) == repr(tiny(max_epochs=3))
    assert eval(repr(HANClassifier(lr=0.01))).lr == 0.01
    numbers = f"120 documents, 2 classes, held-out accuracy {fitted.fit_summary_.accuracy:.3f}"
    assert numbers in repr(fitted.fit_summary_)
    assert "HANClassifier" in fitted._repr_html_()


def test_several_labels_are_scored_with_the_models_thresholds():
    random = np.random.RandomState(0)
    y, y_val = (random.rand(n, 3) < 0.4 for n in (120, 60))
    model = tiny(threshold=0.2).fit(REVIEWS, y, X_val=MORE, y_val=y_val)
    decided = model.predict(MORE)
    assert decided.sum() > (model.predict_proba(MORE) >= 0.5).sum()
    summary = model.fit_summary_
    assert summary.accuracy == model.score(MORE, y_val)
    assert summary.macro_f1 == pytest.approx(f1_score(y_val, decided, average="macro"))
    recalls = recall_score(y_val, decided, average=None)
    assert (summary.worst_class, summary.worst_recall) == (str(recalls.argmin()), recalls.min())
    # A part alone has no thresholds of its own, and those of the sum are not its.
    assert summary.network_accuracy == pytest.approx(model.best_score_)
    assert "(threshold 0.5)" in str(summary)
