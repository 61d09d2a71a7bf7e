"""What a fit does with held-out documents: decisions, warnings, usual scales, pre-training."""

from types import SimpleNamespace

import numpy as np
import pytest

from sk_han import HANClassifier
from sk_han._fitting import network
from sk_han._fitting.scales import ScaledParts
from sk_han._fitting.summary import decisions, fault_in_validation
from sk_han._model.fit_summary import FIT_SUMMARY
from sk_han._parts import Pool
from sk_han._parts.pool import NETWORK
from sk_han._targets import AnyOfLabels
from sk_han._training.net import Net
from sk_han.datasets import make_reviews
from tests.labelled_reviews import SMALL
from tests.tiny_models import LABELS, TEXTS, tiny
from tests.tiny_targets import classes


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


def test_a_model_of_infinite_logits_is_never_returned(monkeypatch):
    infinite = np.full((2, 2), np.inf, np.float32)
    monkeypatch.setattr(Net, "outputs", lambda self, documents: infinite)
    with pytest.raises(FloatingPointError, match="logit became inf"):
        tiny().fit(TEXTS, LABELS)


def of_two_classes(**values):
    numbers = {"n_classes": 2, "n_documents": 900, "n_scored": 100}
    return {field.name: 0 for field in FIT_SUMMARY.fields} | numbers | values


def scaled(epoch, targets, weights):
    """Two epochs of a network, whose held-out documents have these labels and weights."""
    part = SimpleNamespace(net=SimpleNamespace(history=2 * [epoch]))
    pool = Pool(classes(2), {NETWORK: part}, {NETWORK: 1.0})
    return ScaledParts(pool, [], SimpleNamespace(targets=targets, weights=weights))


def test_held_out_documents_of_one_class_raise_no_warning():
    one_class = np.zeros(100, dtype=np.int64)
    epoch = {"valid_accuracy": 1.0, "valid_loss": 0.01}
    summary = of_two_classes(majority_accuracy=1.0, shares={"network": 1.0})
    assert fault_in_validation(summary, scaled(epoch, one_class, np.ones(100))) is None


@pytest.mark.parametrize(("loss", "warned"), [(0.5, False), (0.7, True)])
def test_a_balanced_loss_is_compared_with_balanced_class_frequencies(loss, warned):
    targets = (np.arange(100) < 5).astype(np.int64)
    balanced = np.where(targets == 1, 10.0, 100 / 190)
    epoch = {"valid_accuracy": 0.94, "valid_loss": loss}
    summary = of_two_classes(majority_accuracy=0.95, shares={"network": 1.0})
    found = fault_in_validation(summary, scaled(epoch, targets, balanced))
    assert (found is not None) == warned


@pytest.mark.parametrize(("network", "warned"), [(0.01, True), (1.0, False)])
def test_a_network_with_almost_no_share_warns(network, warned):
    targets = np.arange(100) % 2
    shares = {"network": network / (network + 5), "n-gram model": 5 / (network + 5)}
    summary = of_two_classes(majority_accuracy=0.5, shares=shares)
    epoch = {"valid_accuracy": 0.9, "valid_loss": 0.1}
    told = "its share of the log-odds of held-out documents is 0.2 %"
    found = fault_in_validation(summary, scaled(epoch, targets, np.ones(100)))
    assert found == (told if warned else None)
