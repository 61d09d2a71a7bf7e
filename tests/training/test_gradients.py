"""Steps by kernels, held against autograd through the modules that define the network."""

import numpy as np
import pytest
import torch

from sk_han import Attention, DocumentArray, MultiHopAttention
from sk_han._documents import LabelledDocuments
from sk_han._kernels import engine
from sk_han._training.gradients import clip_arrays, kernels_train
from sk_han.nn._training import BinaryLosses
from tests.tiny_nets import tiny_net

pytest.importorskip("numba")

# The second document is empty, the word 1 unknown; words 11 and 12 do not occur.
DOCUMENTS = DocumentArray.from_nested(
    [
        [[2, 3, 4], [5]],
        [],
        [[6, 2, 7, 8, 1, 9, 2, 3, 10, 4, 4]],
        [[3], [4, 4], [10, 1], [5, 6, 7], [8]],
        [[9, 9]],
    ]
)
CLASSES, WEIGHTS = np.array([0, 2, 1, 1, 2]), np.array([1.0, 2.0, 0.5, 3.0, 0.25])
SOFT = np.array([[0.5, 0.25, 0.25], [1, 0, 0], [0, 0.1, 0.9], [0, 1, 0], [0.2, 0.2, 0.6]])
HAS = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1]])
SIDES = {"positive": torch.tensor([1.0, 4.0, 0.5]), "negative": torch.tensor([0.3, 1.0, 2.0])}
BINARY = {"criterion": BinaryLosses}


def step(net, targets, documents=DOCUMENTS):
    """Return loss, logits and gradients of a step in training mode."""
    batch = LabelledDocuments(documents, targets, WEIGHTS)
    found = net.train_step_single((batch, batch.targets))
    gradients = {n: w.grad.to_dense().double() for n, w in net.module_.named_parameters()}
    return found["loss"].double(), found["y_pred"].double(), gradients


WEIGHTED = {f"criterion__{side}": weights for side, weights in SIDES.items()}
CASES = {
    "classes": (CLASSES, {}),
    "without noise": (CLASSES, {"noise": 0.0}),
    "without dropout": (CLASSES, {"module__dropout": 0.0, "module__word_dropout": 0.0}),
    "smoothed": (CLASSES, {"criterion__label_smoothing": 0.1}),
    "probabilities": (SOFT, {"criterion__label_smoothing": 0.1}),
    "labels": (HAS, BINARY),
    "weighted, smoothed labels": (HAS, BINARY | WEIGHTED | {"criterion__label_smoothing": 0.1}),
    "attention of labels": (HAS, BINARY | {"module__pooling": Attention(size=19, per_label=True)}),
}
# Some 300 roundings of 6e-8 lie between a weight and its gradient, which is below 1.
# Random signs leave the root of their sum of squares, 1e-6.
TOLERANCE = {"rtol": 0, "atol": 1e-6}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("targets", "params"), CASES.values(), ids=CASES)
def test_gradients_match_autograd_in_double_precision(targets, params, threads, monkeypatch):
    monkeypatch.setattr(engine, "_ROWS_A_THREAD", 2)
    net, precise = tiny_net(**params), tiny_net(torch.float64, **params)
    precise.module_.load_state_dict(net.module_.state_dict())
    assert kernels_train(net, DOCUMENTS)
    assert not kernels_train(precise, DOCUMENTS)
    with engine.using_threads(threads):
        found = step(net, targets)
    expected = step(precise, targets)
    for name, gradient in expected[2].items():
        assert 5e-4 < gradient.abs().max() < 1, name
    torch.testing.assert_close(found, expected, **TOLERANCE)
    # The same numbers were drawn.
    draws = (torch.rand(3, generator=each.module_.generator) for each in (net, precise))
    assert torch.equal(*draws)


def test_a_word_that_dropout_left_out_gets_no_gradient():
    params = {"module__word_dropout": 0.5, "noise": 0.0}
    net, other = tiny_net(**params), tiny_net(torch.float64, **params)
    for each in (net, other):
        step(each, CLASSES)
    rows = net.module_.embedding.weight.grad.indices()
    assert torch.equal(rows, other.module_.embedding.weight.grad.coalesce().indices())
    assert 0 < rows.numel() < 10


def test_empty_documents_only_have_a_gradient_of_the_bias():
    net = tiny_net()
    *_, gradients = step(net, CLASSES, DOCUMENTS[[1, 1, 1, 1, 1]])
    assert {name for name, each in gradients.items() if each.any()} == {"output.bias"}
    proba = torch.softmax(net.module_.output.bias.detach().double(), 0)
    truths = torch.from_numpy(np.eye(3)[CLASSES] * (WEIGHTS / WEIGHTS.sum())[:, None]).sum(0)
    torch.testing.assert_close(gradients["output.bias"], proba - truths, **TOLERANCE)


def test_the_default_dtype_of_pytorch_changes_no_gradient():
    expected, before = step(tiny_net(), CLASSES), torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        found = step(tiny_net(), CLASSES)
    finally:
        torch.set_default_dtype(before)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_arrays_are_clipped_to_a_common_norm_worked_by_hand():
    first, second = np.array([3, 0], np.float32), np.array([[0, 4]], np.float32)
    clip_arrays([first, second], 6.0)
    assert first.tolist() == [3, 0]
    clip_arrays([first, second], 1.0)
    assert first.tolist() == pytest.approx([0.6, 0])
    assert second.tolist()[0] == pytest.approx([0, 0.8])


class OwnLoss(torch.nn.CrossEntropyLoss):
    """A loss of a user."""


OTHERS = {
    "another recurrence": {"module__rnn": "lstm"},
    "several hops": {"module__pooling": MultiHopAttention(size=5)},
    "dropout of vectors": {"module__embedding_dropout": 0.1},
    "more words than at once": {"module__max_words": 5},
    "a loss of a user": {"criterion": OwnLoss},
    "weights of classes in the loss": {"criterion__weight": torch.ones(3)},
    "an optimizer of PyTorch": {"optimizer": torch.optim.SGD, "module__sparse": False},
}


@pytest.mark.parametrize("params", OTHERS.values(), ids=OTHERS)
def test_unsupported_networks_and_losses_use_autograd(params):
    assert not kernels_train(tiny_net(**params), DOCUMENTS)


def test_frozen_layers_and_the_engine_torch_use_autograd():
    net = tiny_net()
    with engine.using_engine("torch"):
        assert not kernels_train(net, DOCUMENTS)
    assert kernels_train(net, DOCUMENTS)
    net.module_.output.weight.requires_grad_(False)
    assert not kernels_train(net, DOCUMENTS)
