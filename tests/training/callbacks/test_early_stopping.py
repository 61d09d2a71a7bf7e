from types import SimpleNamespace

import pytest
import torch

from sk_han.training.callbacks import EarlyStopping, StopTraining


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
