"""The net with networks and targets that no estimator of ours has, and in forked processes."""

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from sk_han import DocumentArray, MultiHopAttention, load, save
from sk_han._documents import LabelledDocuments
from sk_han._parts.trained_network import TrainedNetwork
from sk_han._training.builder import document_net
from sk_han._training.callbacks import EarlyStopping, StopTraining
from sk_han._training.net import Batches, Net, accuracy, document_tensors, weighted_mean
from tests.tiny_models import BAD, GOOD, LABELS, TEXTS, UNSEEN, fitted_classifier, tiny

FORKED = """
import multiprocessing
import torch
from sk_han import HANClassifier

torch.set_num_threads(2)
texts, labels = ["A good day. " * 5, "A bad day. " * 5] * 200, ["pos", "neg"] * 200
classifier = HANClassifier(max_epochs=1, sentence_hidden=200, random_state=0, device="cpu")
classifier.fit(texts, labels)

def work(queue):
    queue.put(classifier.predict(texts[:2]).shape)
    queue.put(classifier.transform(texts).shape)  # wide enough for PyTorch to use threads
    queue.put(classifier.fit(texts, labels).n_iter_)

context = multiprocessing.get_context("fork")
queue = context.SimpleQueue()
child = context.Process(target=work, args=(queue,))
child.start()
assert queue.get() == (2,)
assert queue.get() == (400, 400)
assert queue.get() == 1
child.join()
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs an operating system that forks")
def test_a_forked_process_predicts_and_fits():
    # A process that hangs fails by its time limit.
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=60)


class Output(NamedTuple):
    logits: torch.Tensor
    penalty: torch.Tensor


class MeanOfWords(torch.nn.Module):
    """The smallest network: one logit row for each document, or for each of its words."""

    def __init__(self, n_outputs=2, each_word=False, penalty=0.0, generator=None):
        super().__init__()
        self.generator, self.each_word, self.penalty = generator, each_word, penalty
        self.embedding = torch.nn.Embedding(8, 5)
        self.output = torch.nn.Linear(5, n_outputs)
        for weight in self.parameters():
            torch.nn.init.normal_(weight, generator=generator)

    def forward(self, *tensors):
        return self.attend(*tensors).logits

    def attend(self, word_ids, words_per_sentence, sentences_per_document):
        vectors = self.embedding(word_ids)
        if not self.each_word:
            ends = words_per_sentence.cumsum(0)[sentences_per_document.cumsum(0) - 1]
            of_documents = np.split(np.arange(len(word_ids)), ends[:-1])
            vectors = torch.stack([vectors[rows].mean(0) for rows in of_documents])
        logits = self.output(vectors)
        return Output(logits, logits.new_full((len(logits),), self.penalty))


@dataclass(frozen=True)
class LabelledWords:
    """Documents with a target and a weight for each word."""

    inputs: DocumentArray
    targets: np.ndarray
    weights: np.ndarray

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, rows):
        starts = np.append(0, np.cumsum(self.inputs.words_per_document))
        of_document = [np.arange(*starts[[row, row + 1]]) for row in np.arange(len(self))[rows]]
        words = np.concatenate(of_document)
        return LabelledWords(self.inputs[rows], self.targets[words], self.weights[words])


DOCUMENTS = DocumentArray.from_nested([[[2, 3], [4]], [[5, 6]], [[3, 3, 2]], [[6], [5, 7]]])
LABELLED = LabelledDocuments(DOCUMENTS, np.array([0, 1, 0, 1]), np.ones(4))
WORDS = LabelledWords(DOCUMENTS, (DOCUMENTS.word_ids > 4).astype(np.int64), np.ones(11))


def net_of(measures=(), **params):
    settings = {"max_epochs": 30, "batch_size": 2, "valid_batch_size": 3, "optimizer__lr": 0.5}
    return Net(
        MeanOfWords,
        to_tensors=document_tensors,
        measures=dict(measures),
        module__generator=torch.Generator().manual_seed(0),
        **settings | params,
    )


class TestAnotherNetwork:
    def test_targets_may_stand_for_each_word(self):
        net = net_of({"words_right": accuracy}, module__each_word=True).train(WORDS, WORDS)
        assert net.outputs(DOCUMENTS).shape == (11, 2)
        assert net.outputs(DOCUMENTS).argmax(axis=1).tolist() == WORDS.targets.tolist()
        assert net.history[-1]["words_right"] == 1

    def test_batches_count_by_their_targets(self):
        # Two documents a step; to validate three of eight words, then one of three.
        net = net_of({"right": accuracy}, module__each_word=True, max_epochs=1, optimizer__lr=0.01)
        epoch = net.train(WORDS, WORDS).history[0]
        assert epoch["right"] == pytest.approx(accuracy(net.outputs(DOCUMENTS), WORDS.targets))
        sizes = [batch[name] for batch in epoch["batches"] for name in batch if "size" in name]
        assert sizes == [5, 6, 8, 3]

    def test_a_row_counts_in_the_loss_by_its_weight(self):
        net = net_of(module__each_word=True).initialize()
        logits = net.module_(*document_tensors(DOCUMENTS, "cpu"))
        each = torch.nn.functional.cross_entropy(
            logits, torch.from_numpy(WORDS.targets), reduction="none"
        )
        weights = np.arange(1.0, 12.0)
        weighted = LabelledWords(DOCUMENTS, WORDS.targets, weights)
        expected = (each * torch.from_numpy(weights / weights.sum()).float()).sum()
        found = net.get_loss(logits, WORDS.targets, X=weighted)
        torch.testing.assert_close(found, expected)

    def test_its_penalty_is_part_of_the_loss(self):
        losses = [
            net_of(module__penalty=penalty, max_epochs=1, batch_size=4)
            .train(LABELLED, None)
            .history[0]["train_loss"]
            for penalty in (0.0, 2.5)
        ]
        assert losses[1] - losses[0] == pytest.approx(2.5)


class TestMeasures:
    @pytest.mark.parametrize("names", [[], ["right", "largest"]])
    def test_they_are_recorded_under_their_names(self, names):
        measures = dict.fromkeys(names, lambda logits, targets: float(logits.max()))
        for validation in (LABELLED, None):
            (epoch,) = net_of(measures, max_epochs=1).train(LABELLED, validation).history
            found = epoch.keys() & {"right", "largest", "right_best", "valid_loss"}
            best = {"right_best"} & {f"{name}_best" for name in names}
            assert found == ({"valid_loss", *best, *names} if validation else set())

    def test_they_see_the_logits_and_targets_of_each_batch(self):
        seen = []

        def measure(logits, targets):
            seen.append((logits.shape, targets.tolist()))
            return 0.0

        net_of({"measure": measure}, max_epochs=1).train(LABELLED, LABELLED)
        assert seen == [((3, 2), [0, 1, 0]), ((1, 2), [1])]

    def test_an_epoch_has_their_mean_by_the_size_of_the_batches(self):
        net = net_of({"n": lambda logits, targets: float(len(targets))}, max_epochs=1)
        assert net.train(LABELLED, LABELLED).history[0]["n"] == (3 * 3 + 1 * 1) / 4

    def test_higher_is_better(self):
        values = iter([0.2, 0.2, 0.7, 0.7, 0.5, 0.5])
        net = net_of({"score": lambda logits, targets: next(values)}, max_epochs=3)
        net.train(LABELLED, LABELLED)
        assert [epoch["score_best"] for epoch in net.history] == [True, True, False]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # of PyTorch's compiler
def test_a_compiled_network_gives_the_same_probabilities():

    params = {"compile": True, "compile__backend": "eager"}
    compiled = tiny(net_params=params, max_epochs=1).fit(TEXTS, LABELS)
    plain = tiny(max_epochs=1).fit(TEXTS, LABELS)
    found, expected = compiled.predict_proba(TEXTS), plain.predict_proba(TEXTS)
    np.testing.assert_allclose(found, expected, atol=1e-4)


# Batches


@pytest.fixture
def numbered():
    """Twenty-three documents of one word, which is their number plus 2; so are target, weight."""
    numbers = np.arange(23)
    documents = DocumentArray.from_nested([[[number + 2]] for number in numbers])
    return LabelledDocuments(documents, numbers, numbers.astype(np.float64))


def numbers_of(batches):
    """Numbers of the documents in the order in which an epoch brings them."""
    return [number - 2 for X, _ in batches for number in X.documents.word_ids.tolist()]


def test_input_target_and_weight_of_a_batch_belong_together(numbered):
    for X, targets in Batches(numbered, 5, np.random.RandomState(0)):
        numbers = (X.documents.word_ids - 2).tolist()
        assert numbers == targets.tolist() == X.targets.tolist() == X.weights.tolist()


def test_every_document_comes_once_an_epoch_in_an_order_of_the_seed(numbered):
    assert numbers_of(Batches(numbered, 5)) == list(range(23))
    first, second = (Batches(numbered, 5, np.random.RandomState(7)) for _ in range(2))
    before = str(np.random.get_state(legacy=False))
    epochs = [numbers_of(first) for _ in range(3)]
    assert [sorted(numbers) for numbers in epochs] == 3 * [list(range(23))]
    assert epochs[0] != epochs[1]
    assert [numbers_of(second) for _ in range(3)] == epochs
    assert str(np.random.get_state(legacy=False)) == before


@pytest.mark.parametrize(
    ("n_documents", "batch_size", "sizes"),
    [(23, 5, [5, 5, 5, 5, 3]), (20, 5, [5, 5, 5, 5]), (23, 101, [23]), (0, 5, [])],
)
def test_the_last_batch_may_be_smaller_and_none_is_empty(numbered, n_documents, batch_size, sizes):
    batches = Batches(numbered[:n_documents], batch_size)
    assert [len(X) for X, _ in batches] == sizes
    assert len(batches) == len(sizes)


# The loss of a batch, against numbers worked by hand

LOGITS = torch.log(torch.tensor([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]]))
TARGETS = torch.tensor([1, 0, 0])
CRITERION = torch.nn.CrossEntropyLoss(reduction="none")


def test_targets_count_by_their_weights():
    weights = np.array([1.0, 2.0, 1.0])
    expected = -(np.log(0.75) + 2 * np.log(0.5) + np.log(0.9)) / 4
    assert weighted_mean(CRITERION(LOGITS, TARGETS), weights).item() == pytest.approx(expected)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_only_ratios_of_weights_matter(size):
    plain = weighted_mean(torch.tensor([2.0, 5.0, 8.0]), np.array([1.0, 2.0, 1.0]))
    scaled = weighted_mean(torch.tensor([2.0, 5.0, 8.0]), size * np.array([1.0, 2.0, 1.0]))
    assert plain.item() == scaled.item() == 5.0


def test_gradients_reach_the_logits_by_the_weights():
    logits = LOGITS.clone().requires_grad_()
    weighted_mean(CRITERION(logits, TARGETS), np.array([0.0, 3.0, 1.0])).backward()
    np.testing.assert_allclose(logits.grad.tolist()[:2], [[0, 0], [-0.375, 0.375]], atol=1e-7)


def test_accuracy_is_the_share_of_targets_with_the_highest_logit():
    logits = np.array([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0], [0.0, 0.0, 5.0], [9.0, 0.0, 0.0]])
    assert accuracy(logits, np.array([1, 0, 1, 0])) == 0.75


# The best epoch


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


@pytest.mark.thorough
def test_hops_come_to_read_different_words():
    overlaps = []
    for penalty in (0.0, 3.0):
        pooling = MultiHopAttention(size=4, hops=2, penalty=penalty)
        classifier = tiny(
            pooling=pooling, max_epochs=40, lr=0.02, batch_size=16, linear_ngrams=None
        )
        classifier.fit(8 * (GOOD + BAD), 8 * [*"pppnnn"])
        documents = classifier.tokenizer_.transform(GOOD + BAD)
        network = classifier.net_.module_
        network._penalty = 1.0
        overlaps.append(network.attend(*document_tensors(documents, "cpu")).penalty.mean())
    assert overlaps[1] < 0.5 * overlaps[0]


@pytest.mark.parametrize("training", [True, False])
def test_label_smoothing_worked_by_hand(training):
    smoothing = {"criterion__label_smoothing": 0.1}
    net = fitted_classifier(net_params=smoothing).net_
    data = LabelledDocuments(DocumentArray.from_nested([[[2]]]), np.array([1]), np.ones(1))
    logits = torch.tensor([[0.0, math.log(3)]])  # probabilities 1/4 and 3/4
    loss = net.get_loss(logits, data.targets, X=data, training=training)
    expected = -0.95 * math.log(3 / 4) - 0.05 * math.log(1 / 4)
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_a_loaded_model_learns_on_as_one_that_was_loaded_with_an_optimizer(tmp_path, monkeypatch):
    path = tmp_path / "model.han"
    save(fitted_classifier(), path)

    def with_optimizer(**params):
        return document_net(**params | {"optimizer": torch.optim.SGD})

    without = load(path)
    monkeypatch.setattr(TrainedNetwork, "_make_net", staticmethod(with_optimizer))
    models = [without, load(path)]
    assert [hasattr(model.net_, "optimizer_") for model in models] == [False, True]
    found = [m.partial_fit(TEXTS, LABELS).predict_proba(UNSEEN) for m in models]
    np.testing.assert_array_equal(*found)
