"""What is said after a fit: the summary, the representation, warnings."""

import dataclasses
import pickle
import re
import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score, log_loss, recall_score

from sk_han import HANClassifier, load, save
from sk_han.datasets import make_reviews
from sk_han.inspection import FitSummary
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


def test_scores_are_those_of_the_whole_model_on_documents_it_does_not_know(validated):
    summary = validated.fit_summary_
    assert summary.n_scored == 60
    assert summary.accuracy == accuracy_score(MORE_KINDS, validated.predict(MORE))
    assert summary.loss == pytest.approx(log_loss(MORE_KINDS, validated.predict_proba(MORE)))
    assert summary.network_accuracy == validated.best_score_


def test_accuracy_has_the_interval_of_so_many_documents(validated):
    summary = dataclasses.replace(validated.fit_summary_, accuracy=0.8, n_scored=50)
    # (0.8 + z2 / 2 +- z sqrt(0.8 * 0.2 / 50 + z2 / 4 / 50)) / (1 + z2), of z2 = 1.96 ** 2 / 50
    assert summary.accuracy_interval == pytest.approx((0.66963, 0.88757), abs=1e-5)
    assert "0.800 on 50 held-out documents (95 % interval: 0.670 to 0.888)" in str(summary)


def test_the_class_that_is_found_least_is_told(validated):
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


def test_a_rare_class_that_is_not_found_is_told_with_a_repair():
    labels = np.where(np.arange(120) % 12 == 0, "rare", "usual")
    texts = [f"A day like day {i}." for i in range(120)]
    others = [f"{text} Like it." for text in texts]
    model = tiny(max_epochs=2).fit(texts, labels, X_val=others, y_val=labels)
    assert model.fit_summary_.worst_class == "rare"
    told = re.search(r"lowest recall +rare: 0.000 of 10; (.*)", str(model.fit_summary_))
    assert told[1] == "a larger class_weight raises it, at the cost of precision"


def test_of_several_labels_the_label_that_is_found_least_is_told():
    has = np.column_stack([np.arange(120) % 12 == 0, np.arange(120) % 2]).astype(int)
    texts = [f"A day like day {i}." for i in range(120)]
    others = [f"{text} Like it." for text in texts]
    model = tiny(max_epochs=2).fit(texts, has, X_val=others, y_val=has)
    found = f1_score(has, model.predict(others), average="macro", zero_division=0)
    assert model.fit_summary_.macro_f1 == pytest.approx(found)
    assert model.fit_summary_.worst_class == "0"
    assert "a lower threshold raises it" in str(model.fit_summary_)


def test_held_out_documents_are_scored_by_models_that_do_not_know_them(fitted):
    summary = fitted.fit_summary_
    assert (summary.n_documents, summary.n_scored, summary.n_classes) == (120, 12, 2)
    assert 0 <= summary.accuracy <= 1
    assert summary.majority_accuracy == 0.5
    assert summary.linear_accuracy < 1.0  # the model that knows them has them all right


def test_shares_of_all_parts_sum_to_one(fitted):
    shares = fitted.fit_summary_.shares
    assert list(shares) == ["network", "n-gram model"]
    assert sum(shares.values()) == pytest.approx(1)


def test_a_network_alone_has_the_whole_share():
    summary = tiny(linear_ngrams=None).fit(REVIEWS, KINDS).fit_summary_
    assert summary.shares == {"network": 1.0}
    assert summary.linear_accuracy is None
    assert summary.accuracy == summary.network_accuracy


def test_the_seconds_of_the_stages_are_within_those_of_the_fit(fitted):
    summary = fitted.fit_summary_
    assert list(summary.seconds) == [
        "texts",
        "trial of characters",
        "set-up",
        "word vectors",
        "network",
        "linear models",
        "scales",
    ]
    assert 0 < sum(summary.seconds.values()) <= summary.total_seconds


@pytest.mark.parametrize(
    ("params", "ended", "n_epochs"),
    [
        ({"max_epochs": 2}, "all epochs", 2),
        ({"max_epochs": 9, "n_iter_no_change": 1, "lr": 1e-20}, "no improvement", 2),
    ],
)
def test_it_says_why_training_ended(params, ended, n_epochs):
    summary = tiny(**params).fit(TEXTS, LABELS).fit_summary_
    assert (summary.ended, summary.n_epochs, summary.kept_epoch is not None) == (
        ended,
        n_epochs,
        True,
    )


LEARNS = {"batch_size": 3, "dropout": 0, "word_dropout": 0, "lr": 0.02}


class TestDocumentsLearntByHeart:
    """Training ends when its loss is a twentieth of that of the class frequencies, ln 2 here."""

    @pytest.mark.parametrize("held_out", [0.3, None])
    def test_training_ends(self, held_out):
        model = tiny(max_epochs="auto", validation_fraction=held_out, **LEARNS)
        model.fit(TEXTS, LABELS)
        is_learnt = [epoch["train_loss"] < 0.05 * np.log(2) for epoch in model.history_]
        assert is_learnt == [False] * (len(is_learnt) - 1) + [True]
        assert len(is_learnt) < 20
        summary = model.fit_summary_
        assert summary.ended == "all learnt"
        assert "learnt by heart" in str(summary)
        if held_out is not None:
            scores = [(e["valid_accuracy"], -e["valid_loss"]) for e in model.history_]
            assert summary.kept_epoch == 1 + scores.index(max(scores))

    def test_a_number_of_epochs_is_kept(self):
        model = tiny(max_epochs=12, **LEARNS).fit(TEXTS, LABELS)
        assert model.history_[-2]["train_loss"] < 0.05 * np.log(2)
        assert (model.n_iter_, model.fit_summary_.ended) == (12, "all epochs")

    def test_a_loss_of_the_user_ends_nothing(self):
        own = {"criterion": torch.nn.MultiMarginLoss}
        model = tiny(max_epochs="auto", net_params=own, **LEARNS).fit(TEXTS, LABELS)
        assert model.history_[-2]["train_loss"] < 0.05 * np.log(2)
        assert (model.n_iter_, model.fit_summary_.ended) == (20, "all epochs")


def test_a_callback_that_ends_training_is_named():
    from skorch.callbacks import Callback

    class Ends(Callback):
        def on_epoch_end(self, net, **kwargs):
            raise KeyboardInterrupt

    summary = tiny(max_epochs=4, callbacks=[Ends()]).fit(TEXTS, LABELS).fit_summary_
    assert (summary.ended, summary.n_epochs) == ("a callback", 1)
    assert "stopped by a callback" in str(summary)


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_without_held_out_documents_there_are_no_scores(how):
    if how == "fit":
        model = tiny(validation_fraction=None).fit(TEXTS, LABELS)
    else:
        model = tiny().partial_fit(TEXTS, LABELS, classes=np.unique(LABELS))
    summary = model.fit_summary_
    assert (summary.n_scored, summary.accuracy, summary.kept_epoch) == (0, None, None)
    assert summary.shares == {}
    assert "no held-out documents that are new" in str(summary)


def test_a_warm_start_sums_up_the_last_fit():
    model = tiny(warm_start=True, max_epochs=2).fit(REVIEWS, KINDS).fit(REVIEWS, KINDS)
    summary = model.fit_summary_
    assert summary.n_epochs == 2
    assert summary.n_scored == 0  # the first fit may have learnt from any document
    validation = {"X_val": MORE, "y_val": MORE_KINDS}
    assert model.fit(REVIEWS, KINDS, **validation).fit_summary_.n_scored == len(MORE)


def test_after_a_portion_all_words_are_of_the_portion():
    classes = np.unique(KINDS)
    model = tiny().partial_fit(REVIEWS[:100], KINDS[:100], classes=classes)
    model.partial_fit(REVIEWS[100:110], KINDS[100:110])
    summary = model.fit_summary_
    assert (summary.ended, summary.n_documents) == ("one portion", 10)
    assert "10 documents in the last portion, 2 classes" in repr(summary)
    assert str(summary).startswith("Fitted to a portion of 10 documents")
    assert "1 epoch on this portion" in str(summary)
    assert pickle.loads(pickle.dumps(model)).fit_summary_ == summary
    assert "portion" not in str(model.fit(REVIEWS, KINDS).fit_summary_)


def test_a_summary_survives_pickle_and_file(fitted, tmp_path):
    save(fitted, tmp_path / "model.han")
    for copy in (pickle.loads(pickle.dumps(fitted)), load(tmp_path / "model.han")):
        assert copy.fit_summary_ == fitted.fit_summary_
        assert repr(copy) == repr(fitted)


def test_a_file_without_a_summary_has_none(fitted):
    state = fitted.to_state() | {"fit_summary": None}
    assert tiny().from_state(state).fit_summary_ is None


@pytest.mark.parametrize(
    "change",
    [{"n_documents": -1}, {"accuracy": "1"}, {"ended": "rain"}, {"seconds": {"texts": None}}, None],
)
def test_a_damaged_summary_is_refused(fitted, change):
    values = {} if change is None else fitted.fit_summary_.to_dict() | change
    with pytest.raises(ValueError, match="fit"):
        FitSummary.from_dict(values)
    with pytest.raises(ValueError, match="cannot be restored"):
        tiny().from_state(fitted.to_state() | {"fit_summary": values})


def test_the_diagram_has_what_matters_and_the_representation_parameters_alone(fitted):
    assert repr(fitted) == repr(clone(fitted)) == repr(tiny(max_epochs=3))
    assert eval(repr(HANClassifier(lr=0.01))).lr == 0.01
    numbers = f"120 documents, 2 classes, held-out accuracy {fitted.fit_summary_.accuracy:.3f}"
    assert numbers in repr(fitted.fit_summary_)
    assert numbers in fitted._repr_html_()
    assert "documents, 2 classes" not in clone(fitted)._repr_html_()


def test_the_summary_is_told_at_the_end(capsys):
    model = tiny(verbose=1).fit(TEXTS, LABELS)
    told = capsys.readouterr().err
    assert told.rstrip().endswith(str(model.fit_summary_))
    for stage in ("texts", "word vectors", "linear models"):
        assert f"{stage} ...\n" in told


def test_explanations_tell_how_far_they_are(fitted, capsys):
    fitted.explain(REVIEWS[:3])
    assert capsys.readouterr().err == ""
    clone_of = pickle.loads(pickle.dumps(fitted)).set_params(verbose=1)
    clone_of.explain(REVIEWS[:3])
    assert capsys.readouterr().err.startswith("Explained 3 documents in ")


# Warnings


def fit_nothing(max_epochs):
    """Fit with a learning rate at which the first, even guesses stay, to uneven classes."""
    texts = [f"w{n} x{n} y{n}" for n in range(400)]
    labels = np.random.RandomState(0).permutation(np.repeat(["a", "b"], [320, 80]))
    tiny(max_epochs=max_epochs, lr=1e-9, validation_fraction=0.4).fit(texts, labels)


def test_a_network_that_learns_nothing_is_a_warning():
    # Which of the two it is depends on a tenth of a nat, which differs between processors.
    message = "(network is useless|no better than chance): .* fit_summary_"
    with pytest.warns(ConvergenceWarning, match=message):
        fit_nothing(max_epochs=3)


def test_of_a_short_trial_nothing_is_expected():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_nothing(max_epochs=2)


def test_a_network_that_learns_is_none():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        texts = [f"w{n} {kind} y{n}" for n, kind in enumerate(np.repeat(["good", "bad"], 90))]
        tiny(max_epochs=8, lr=0.03, validation_fraction=0.3).fit(texts, np.repeat([1, 0], 90))


def test_few_held_out_documents_do_not_tell():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny(lr=1e-9, validation_fraction=0.4).fit(REVIEWS, KINDS)  # 48 of them


def test_several_labels_are_scored_by_the_thresholds_of_the_model():
    random = np.random.RandomState(0)
    y, y_val = (random.rand(n, 3) < 0.4 for n in (120, 60))
    model = tiny(threshold=0.2).fit(REVIEWS, y, X_val=MORE, y_val=y_val)
    decided = model.predict(MORE)
    assert decided.sum() > (model.predict_proba(MORE) >= 0.5).sum()
    assert model.fit_summary_.accuracy == model.score(MORE, y_val)
    assert model.fit_summary_.macro_f1 == pytest.approx(f1_score(y_val, decided, average="macro"))
    # A part alone has no thresholds of its own, and those of the sum are not its.
    assert model.fit_summary_.network_accuracy == pytest.approx(model.best_score_)
    said = str(model.fit_summary_)
    assert "(threshold 0.5)" in said
    assert "summed over labels" in said


def test_many_copies_do_not_make_held_out_documents_known_ones():
    texts, labels = make_reviews(100, random_state=3)
    for times in (2, 3):
        model = tiny(validation_fraction=0.3).fit([*texts] * times, [*labels] * times)
        # Of linear models that knew the held-out documents by heart it was above 0.9.
        assert model.fit_summary_.linear_accuracy < 0.8
