"""Steps and fits with adversarial noise, held against plain autograd at vectors moved by hand."""

import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from sk_han import Attention, DocumentArray
from sk_han._documents import LabelledDocuments
from sk_han._training.builder import OPTIMIZERS, document_net
from sk_han._training.net import Net, document_tensors
from tests.tiny_models import LABELS, TEXTS, tiny

SIZE = 0.3
DOCUMENTS = DocumentArray.from_nested([[[2, 3, 4], [5]], [[6, 2]], [[3], [4, 4, 1]]])
BATCH = LabelledDocuments(DOCUMENTS, np.array([0, 1, 1]), np.array([1.0, 2.0, 0.5]))
each_optimizer = pytest.mark.parametrize("optimizer", OPTIMIZERS)


def net_with(optimizer, **params):
    """Make a net of double precision without dropout, with vectors of 8 words."""
    net = document_net(
        module__vocabulary_size=8,
        module__n_classes=2,
        module__embedding_dim=5,
        module__word_hidden=3,
        module__sentence_hidden=3,
        module__pooling=Attention(size=7),
        module__dropout=0.0,
        module__word_dropout=0.0,
        module__sparse=optimizer == "adamw",
        module__generator=torch.Generator().manual_seed(0),
        optimizer=OPTIMIZERS[optimizer],
        lr=0.1,
        noise=SIZE,
        **params,
    ).initialize()
    net.module_.double()
    return net


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
    assert occurring.tolist() == [False, *6 * [True], False]
    with torch.no_grad():
        length = SIZE * vectors[occurring].norm() / direction.norm()
        vectors += length * direction
    noisy = plain_gradients(moved)
    return {name: (clean[name] + noisy[name]) / 2 for name in clean}


@each_optimizer
def test_a_step_has_half_the_clean_gradient_and_half_that_at_the_moved_vectors(optimizer):
    net = net_with(optimizer)
    expected = expected_gradients(net.module_)
    net.train_step_single((BATCH, BATCH.targets))
    for name, weight in net.module_.named_parameters():
        found = weight.grad.to_dense()
        torch.testing.assert_close(found, expected[name], rtol=0, atol=1e-12)
    clean = plain_gradients(net.module_)["embedding.weight"]
    assert (clean - expected["embedding.weight"]).abs().max() > 1e-4


@each_optimizer
def test_a_step_leaves_the_vectors_that_the_optimizer_made_of_those_without_noise(optimizer):
    net, expected = net_with(optimizer), net_with(optimizer)
    gradients = expected_gradients(expected.module_)
    for name, weight in expected.module_.named_parameters():
        is_sparse = optimizer == "adamw" and name == "embedding.weight"
        weight.grad = gradients[name].to_sparse(1) if is_sparse else gradients[name]
    expected.optimizer_.step()
    net.train_step((BATCH, BATCH.targets))
    for name, weight in net.module_.named_parameters():
        torch.testing.assert_close(
            weight, expected.module_.get_parameter(name), rtol=0, atol=1e-9, msg=name
        )


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


def test_the_loss_that_is_told_is_that_without_noise():
    net = net_with("sgd")
    logits = net.module_(*document_tensors(DOCUMENTS, "cpu"))
    expected = net.get_loss(logits, BATCH.targets, X=BATCH)
    step = net.train_step_single((BATCH, BATCH.targets))
    assert step["loss"].item() == pytest.approx(expected.item(), abs=1e-12)
    torch.testing.assert_close(step["y_pred"], logits)


def test_noise_is_in_the_first_step_of_an_epoch_and_in_one_of_every_so_many():
    net = net_with("sgd", noise_every=3)
    gradients = {True: expected_gradients(net.module_), False: plain_gradients(net.module_)}
    for noisy in [True, False, False, True, False]:
        if not net.history:
            net.history.new_epoch()
        net.history.new_batch()
        net.optimizer_.zero_grad()
        net.train_step_single((BATCH, BATCH.targets))
        for name, weight in net.module_.named_parameters():
            found = weight.grad.to_dense()
            torch.testing.assert_close(found, gradients[noisy][name], rtol=0, atol=1e-12)
    net.history.new_epoch()
    net.history.new_batch()
    net.optimizer_.zero_grad()
    net.train_step_single((BATCH, BATCH.targets))
    found = net.module_.output.weight.grad
    torch.testing.assert_close(found, gradients[True]["output.weight"], rtol=0, atol=1e-12)


def test_the_classifier_has_noise_in_every_other_step_unless_asked_for_every():
    def times_read(**params):
        settings = {"batch_size": 4, "validation_fraction": None, "engine": "torch"}
        classifier = tiny(adversarial_noise=SIZE, **settings, **params)
        n_read = []
        read = Net._add_gradients

        def counted(net, X, y, share):
            n_read.append(len(X))
            return read(net, X, y, share)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Net, "_add_gradients", counted)
            classifier.set_params(max_epochs=1).fit(TEXTS, LABELS)
        return len(n_read)

    n_steps = -(-len(TEXTS) // 4)
    assert n_steps > 2
    assert times_read() == n_steps + -(-n_steps // 2)
    assert times_read(net_params={"noise_every": 1}) == 2 * n_steps
    assert times_read(net_params={"noise_every": n_steps}) == n_steps + 1


class TestFrozenVectors:
    """Vectors that do not learn have no gradient to be moved along."""

    def fitted(self, noise, **params):
        settings = {"max_epochs": 2, "batch_size": 4, "validation_fraction": None}
        return tiny(adversarial_noise=noise, **settings, **params).fit(TEXTS, LABELS)

    def test_noise_has_no_effect_while_they_are_frozen(self):
        plain, frozen = (self.fitted(size, freeze_embedding=True) for size in (0.0, SIZE))
        for name, weight in plain.net_.weights.items():
            np.testing.assert_array_equal(frozen.net_.weights[name], weight)

    def test_noise_begins_when_they_are_let_go(self):
        plain, thawed = (self.fitted(size, freeze_embedding=1).history_ for size in (0.0, SIZE))
        assert plain[0]["train_loss"] == thawed[0]["train_loss"]
        assert plain[1]["train_loss"] != thawed[1]["train_loss"]

    def test_their_loss_counts_in_full(self):
        net = net_with("sgd")
        network = net.module_
        expected = plain_gradients(network)
        network.embedding.weight.requires_grad_(False)
        net.train_step_single((BATCH, BATCH.targets))
        for name, weight in network.named_parameters():
            if name != "embedding.weight":
                torch.testing.assert_close(weight.grad, expected[name], rtol=0, atol=1e-12)
