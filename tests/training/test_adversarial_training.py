"""Steps and fits with adversarial noise, held against plain autograd at vectors moved by hand."""

import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from sk_han import DocumentArray
from sk_han._documents import LabelledDocuments
from sk_han._training.builder import OPTIMIZERS
from sk_han._training.net import document_tensors
from tests.tiny_nets import tiny_net

SIZE = 0.3
DOCUMENTS = DocumentArray.from_nested([[[2, 3, 4], [5]], [[6, 2]], [[3], [4, 4, 1]]])
BATCH = LabelledDocuments(DOCUMENTS, np.array([0, 1, 1]), np.array([1.0, 2.0, 0.5]))
each_optimizer = pytest.mark.parametrize("optimizer", OPTIMIZERS)


def net_with(optimizer, **params):
    """Make a net of double precision without dropout."""
    settings = {"module__dropout": 0.0, "module__word_dropout": 0.0, "noise": SIZE, "lr": 0.1}
    settings |= {"optimizer": OPTIMIZERS[optimizer], "module__sparse": optimizer == "adamw"}
    return tiny_net(torch.float64, **settings | params)


def plain_gradients(network):
    """Gradient of each weight, of the mean loss by the documents' weights."""
    network = copy.deepcopy(network).train()
    logits = network(*document_tensors(BATCH.documents, "cpu"))
    losses = cross_entropy(logits, torch.from_numpy(BATCH.targets), reduction="none")
    shares = torch.from_numpy(BATCH.weights / BATCH.weights.sum())
    gradients = torch.autograd.grad((losses * shares).sum(), list(network.parameters()))
    names = [name for name, _ in network.named_parameters()]
    return {n: g.to_dense() for n, g in zip(names, gradients, strict=True)}


def expected_gradients(network):
    """Half of the gradients as the vectors are, and half of those at the moved ones."""
    clean, moved = plain_gradients(network), copy.deepcopy(network)
    direction, vectors = clean["embedding.weight"], moved.embedding.weight
    occurring = direction.any(dim=1)
    assert occurring.tolist() == [False, *6 * [True], *6 * [False]]
    with torch.no_grad():
        length = SIZE * vectors[occurring].norm() / direction.norm()
        vectors += length * direction
    noisy = plain_gradients(moved)
    return {name: (clean[name] + noisy[name]) / 2 for name in clean}


@each_optimizer
def test_a_noisy_step_averages_two_gradients(optimizer):
    net, expected = net_with(optimizer), net_with(optimizer)
    gradients = expected_gradients(expected.module_)
    clean = plain_gradients(expected.module_)["embedding.weight"]
    assert (clean - gradients["embedding.weight"]).abs().max() > 1e-4
    for name, weight in expected.module_.named_parameters():
        is_sparse = optimizer == "adamw" and name == "embedding.weight"
        weight.grad = gradients[name].to_sparse(1) if is_sparse else gradients[name]
    expected.optimizer_.step()
    logits = net.module_(*document_tensors(DOCUMENTS, "cpu"))
    loss = net.get_loss(logits, BATCH.targets, X=BATCH)
    step = net.train_step_single((BATCH, BATCH.targets))
    torch.testing.assert_close((step["loss"], step["y_pred"]), (loss, logits))  # without noise
    for name, weight in net.module_.named_parameters():
        torch.testing.assert_close(weight.grad.to_dense(), gradients[name], rtol=0, atol=1e-12)
    net.optimizer_.step()
    for name, weight in net.module_.named_parameters():
        stepped = expected.module_.get_parameter(name)  # from the vectors without noise
        torch.testing.assert_close(weight, stepped, rtol=0, atol=1e-9, msg=name)


@each_optimizer
def test_the_gradient_of_both_halves_is_clipped_as_one(optimizer):
    net = net_with(optimizer, clip_norm=0.01)
    expected = expected_gradients(net.module_)
    net.train_step_single((BATCH, BATCH.targets))
    length = torch.stack([gradient.norm() for gradient in expected.values()]).norm()
    assert length > 0.02
    for name, weight in net.module_.named_parameters():
        found = weight.grad.to_dense()
        torch.testing.assert_close(found, expected[name] * 0.01 / length, rtol=1e-6, atol=1e-12)


def test_noise_is_added_in_one_of_every_few_steps():
    net = net_with("sgd", noise_every=3)
    gradients = {True: expected_gradients(net.module_), False: plain_gradients(net.module_)}
    for epoch in ([True, False, False, True, False], [True]):
        net.history.new_epoch()
        for is_noisy in epoch:
            net.history.new_batch()
            net.optimizer_.zero_grad()
            net.train_step_single((BATCH, BATCH.targets))
            gradient = net.module_.output.weight.grad
            expected = gradients[is_noisy]["output.weight"]
            torch.testing.assert_close(gradient, expected, rtol=0, atol=1e-12)


def test_frozen_vectors_get_no_noise():
    net = net_with("sgd")
    network = net.module_
    expected = plain_gradients(network)
    network.embedding.weight.requires_grad_(False)
    net.train_step_single((BATCH, BATCH.targets))
    for name, weight in network.named_parameters():
        if name != "embedding.weight":
            torch.testing.assert_close(weight.grad, expected[name], rtol=0, atol=1e-12)
