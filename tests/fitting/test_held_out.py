"""Which documents a fit holds out, and what it does with them."""

from types import SimpleNamespace

import numpy as np
import pytest

from sk_han import HANClassifier
from sk_han._documents import LabelledDocuments
from sk_han._fitting import fit, network
from sk_han._fitting.linear import NEXT_TO_WORDS, cross_fit
from sk_han._fitting.sources import TextSource
from sk_han._fitting.summary import decisions
from sk_han._targets import AnyOfLabels
from sk_han._targets.splits import folds_of
from sk_han._training.net import Net
from sk_han.datasets import make_reviews
from tests.labelled_reviews import OPINIONS, SMALL, TRAIN, X, Y
from tests.tiny_models import LABELS, TEXTS, tiny
from tests.tiny_targets import classes


@pytest.fixture
def data_of_fits(monkeypatch):
    """What each fit has read."""
    seen = []
    read = fit.read_data
    monkeypatch.setattr(fit, "read_data", lambda *a, **k: seen.append(read(*a, **k)) or seen[-1])
    return seen


@pytest.mark.parametrize("y", [Y[TRAIN], OPINIONS[TRAIN]])
def test_groups_stay_together_when_documents_are_held_out(y, data_of_fits):
    groups = np.repeat(np.arange(24), 5)
    HANClassifier(**SMALL, max_epochs=1).fit(X[TRAIN], y, groups=groups)
    [data] = data_of_fits
    assert not np.isin(groups[data.held_out], groups[data.training]).any()


@pytest.mark.parametrize("y", [Y[TRAIN], OPINIONS[TRAIN]])
def test_documents_of_the_same_words_stay_together(y, data_of_fits):
    of_text = np.arange(120) % 80
    texts = [X[row] for row in of_text]
    HANClassifier(**SMALL | {"batch_size": 4}, max_epochs=1).fit(texts, np.asarray(y)[of_text])
    [data] = data_of_fits
    assert len(data.held_out) >= 6
    assert not np.isin(of_text[data.held_out], of_text[data.training]).any()
    for fold in folds_of(data.target.strata(data.labelled.targets), data.labelled.groups):
        assert not np.isin(of_text[fold], np.delete(of_text, fold)).any()


def test_where_most_documents_are_copies_they_are_held_out_one_by_one(data_of_fits):
    HANClassifier(**SMALL, max_epochs=1).fit(X[:30] * 4, OPINIONS[:30].tolist() * 4)
    [data] = data_of_fits
    assert len(data.held_out) == 12
    assert data.labelled.groups is None


def test_thresholds_of_the_highest_f1_are_scored_on_other_documents():
    target, rows = AnyOfLabels(np.array(["label"]), np.array([0.5])), np.arange(200)
    has_label = rows % 4 < 2
    # In each of two groups a threshold of its own is right for all.
    z = np.where(has_label, 0.5, -0.5) + np.where(rows % 2, -3, 3)
    held_out = SimpleNamespace(targets=has_label[:, None], weights=np.ones(200), groups=rows % 2)
    params = SimpleNamespace(threshold="f1")
    state = SimpleNamespace(target=target, labelled=held_out, params=params)
    found = decisions(z[:, None], held_out, state)
    np.testing.assert_array_equal(found[:, 0], rows % 2 == 0)


def test_held_out_documents_have_no_label_in_pretraining(monkeypatch):
    given, original = [], network.labelled_by_other_half

    def recorded(documents, teacher, *, labels, weights):
        given.append((documents, labels))
        return original(documents, teacher, labels=labels, weights=weights)

    monkeypatch.setattr("sk_han._fitting.linear._ENOUGH_TO_PRETRAIN", 100)
    monkeypatch.setattr(network, "PRETRAINING_STEPS", 20)
    monkeypatch.setattr(network, "labelled_by_other_half", recorded)
    texts, y = make_reviews(360, random_state=0)
    classifier = HANClassifier(**SMALL, max_epochs=1)
    classifier.fit(texts[:60], y[:60], X_unlabelled=texts[60:])
    ((documents, labels),) = given
    held_out = classifier.net_.train_split.keywords["valid_ds"].X.documents.to_nested()
    nested = documents[:60].to_nested()
    without = [i for i in range(60) if nested[i] in held_out]
    assert len(without) == 6
    assert np.isnan(labels[without]).all()
    expected = np.delete((np.array(y[:60]) == "positive").astype(int), without)
    np.testing.assert_array_equal(np.delete(labels[:60, 1], without), expected)
    assert np.isnan(labels[60:]).all()


def test_without_held_out_documents_the_scale_of_the_network_is_the_usual_one():
    classifier = tiny(validation_fraction=None).fit(TEXTS, LABELS)
    assert classifier.network_scale_ == network.OF_WORDS.median
    targets = np.searchsorted(classifier.classes_, LABELS)
    data = LabelledDocuments(classifier.tokenizer_.transform(TEXTS), targets, np.ones(18))
    scale = cross_fit(data, classes(2), [TextSource((1, 3))]).pool.scales["ngrams"]
    assert classifier.ngram_scale_ == pytest.approx(NEXT_TO_WORDS.median * scale)


def test_of_portions_without_a_fit_before_scales_are_the_usual_ones():
    classifier = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
    classifier.partial_fit(TEXTS, LABELS)
    usual = [prior.median for prior in (network.OF_WORDS, NEXT_TO_WORDS)]
    assert [classifier.network_scale_, classifier.ngram_scale_] == usual


def test_a_model_of_infinite_logits_is_never_returned(monkeypatch):
    infinite = np.full((2, 2), np.inf, np.float32)
    monkeypatch.setattr(Net, "outputs", lambda self, documents: infinite)
    with pytest.raises(FloatingPointError, match="logit became inf"):
        tiny().fit(TEXTS, LABELS)
