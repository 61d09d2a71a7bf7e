from types import SimpleNamespace

import pytest
import torch

from sk_han.training.callbacks.early_stopping import EarlyStopping
from sk_han.training.callbacks.stopping import StopTraining


def train(scores, n_iter_no_change):
    """Show a callback epochs of (accuracy, loss); the weight after epoch i is i."""
    module = torch.nn.Linear(1, 1, bias=False)
    net = SimpleNamespace(module_=module, history=[])
    callback = EarlyStopping(n_iter_no_change)
    callback.on_train_begin(net)
    for number, (accuracy, loss) in enumerate(scores, start=1):
        torch.nn.init.constant_(module.weight, number)
        net.history.append({"epoch": number, "valid_accuracy": accuracy, "valid_loss": loss})
        try:
            callback.on_epoch_end(net)
        except StopTraining:
            break
    callback.on_train_end(net)
    return module.weight.item(), len(net.history)


def test_weights_of_the_highest_accuracy_are_put_back():
    assert train([(0.5, 0.7), (0.9, 0.3), (0.8, 0.2)], n_iter_no_change=9) == (2, 3)


def test_of_equal_accuracies_the_lower_loss_is_better():
    assert train([(0.9, 0.4), (0.9, 0.3), (0.9, 0.5)], n_iter_no_change=9) == (2, 3)


def test_a_later_equal_is_no_better():
    assert train([(0.9, 0.3), (0.9, 0.3)], n_iter_no_change=9) == (1, 2)


@pytest.mark.parametrize("n_iter_no_change", [1, 3])
def test_training_stops_after_so_many_epochs_without_a_better_one(n_iter_no_change):
    scores = [(0.8, 0.3), (0.9, 0.3)] + 9 * [(0.7, 0.1)]
    assert train(scores, n_iter_no_change) == (2, 2 + n_iter_no_change)


def test_without_a_number_of_epochs_training_goes_through_all():
    scores = [(0.9, 0.3)] + 30 * [(0.7, 0.4)]
    assert train(scores, n_iter_no_change=None) == (1, 31)
