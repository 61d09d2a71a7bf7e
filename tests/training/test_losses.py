"""The loss of a batch, the best epoch, and sizes of batches and epochs: numbers worked by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sk_han import DocumentArray
from sk_han._documents import LabelledDocuments
from sk_han._training.builder import batch_size_for, epochs_for, epochs_of
from sk_han._training.callbacks import EarlyStopping, StopTraining
from sk_han._training.net import weighted_mean
from tests.tiny_nets import tiny_net


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_targets_count_by_the_ratios_of_their_weights(size):
    logits = torch.log(torch.tensor([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]])).requires_grad_()
    losses = torch.nn.functional.cross_entropy(logits, torch.tensor([1, 0, 0]), reduction="none")
    mean = weighted_mean(losses, size * np.array([0.0, 3.0, 1.0]))
    assert mean.item() == pytest.approx(-(3 * np.log(0.5) + np.log(0.9)) / 4)
    mean.backward()
    np.testing.assert_allclose(logits.grad.tolist()[:2], [[0, 0], [-0.375, 0.375]], atol=1e-7)


@pytest.mark.parametrize("training", [True, False])
def test_label_smoothing_worked_by_hand(training):
    net = tiny_net(module__n_classes=2, criterion__label_smoothing=0.1)
    data = LabelledDocuments(DocumentArray.from_nested([[[2]]]), np.array([1]), np.ones(1))
    logits = torch.tensor([[0.0, math.log(3)]])  # probabilities 1/4 and 3/4
    loss = net.get_loss(logits, data.targets, X=data, training=training)
    expected = -0.95 * math.log(3 / 4) - 0.05 * math.log(1 / 4)
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def train(scores, n_iter_no_change):
    """Show a callback epochs of (accuracy, loss); the weight after epoch i is i."""
    module = torch.nn.Linear(1, 1, bias=False)
    net = SimpleNamespace(module_=module, history=[])
    callback = EarlyStopping(n_iter_no_change)
    callback.on_train_begin(net)
    for number, (share, loss) in enumerate(scores, start=1):
        torch.nn.init.constant_(module.weight, number)
        net.history.append({"epoch": number, "valid_accuracy": share, "valid_loss": loss})
        try:
            callback.on_epoch_end(net)
        except StopTraining:
            break
    callback.on_train_end(net)
    return module.weight.item(), len(net.history)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([(0.5, 0.7), (0.9, 0.3), (0.8, 0.2)], (2, 3)),
        ([(0.9, 0.4), (0.9, 0.3), (0.9, 0.5)], (2, 3)),  # of equal accuracies the lower loss
        ([(0.9, 0.3), (0.9, 0.3)], (1, 2)),  # a later equal is no better
    ],
)
def test_weights_of_the_best_epoch_are_put_back(scores, expected):
    assert train(scores, n_iter_no_change=9) == expected


@pytest.mark.parametrize(("n_iter_no_change", "n_epochs"), [(1, 3), (3, 5), (None, 31)])
def test_training_stops_after_so_many_epochs_without_a_better_one(n_iter_no_change, n_epochs):
    scores = [(0.8, 0.3), (0.9, 0.3)] + 29 * [(0.7, 0.1)]
    assert train(scores, n_iter_no_change) == (2, n_epochs)


@pytest.mark.parametrize(
    ("n_documents", "batch_size"),
    [(1, 16), (2_500, 16), (2_501, 32), (5_000, 32), (5_001, 64), (10**6, 64)],
)
def test_few_documents_go_in_small_batches_unless_asked_for(n_documents, batch_size):
    assert batch_size_for("auto", n_documents) == batch_size
    assert batch_size_for(7, n_documents) == 7


@pytest.mark.parametrize(
    ("n_documents", "batch_size", "n_epochs"),
    [
        (320, 16, 20),
        (1_600, 16, 4),  # 100 steps an epoch, 400 in all
        (6_400, 64, 6),
        (1_600, 64, 20),
        (1_600, 1, 2),
    ],
)
def test_auto_takes_a_number_of_steps_in_2_to_20_epochs(n_documents, batch_size, n_epochs):
    assert epochs_for("auto", n_documents, batch_size) == n_epochs
    assert epochs_for(7, n_documents, batch_size) == 7


@pytest.mark.parametrize(
    ("n_samples", "n_epochs"), [(0, 20), (1, 20), (6_400, 6), (17_580, 2), (138_000, 1)]
)
def test_few_samples_are_read_several_times(n_samples, n_epochs):
    assert epochs_of(600, n_samples, batch_size=64, least=1, most=20) == n_epochs
