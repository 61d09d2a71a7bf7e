"""The net with networks and targets that no estimator of ours has, and in forked processes."""

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
import torch

from sk_han import DocumentArray
from sk_han.documents import LabelledDocuments
from sk_han.training.net import Net, document_tensors

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


def accuracy(logits, targets):
    return float((logits.argmax(axis=1) == targets).mean())


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
        assert net.logits(DOCUMENTS).shape == (11, 2)
        assert net.logits(DOCUMENTS).argmax(axis=1).tolist() == WORDS.targets.tolist()
        assert net.history[-1]["words_right"] == 1

    def test_batches_count_by_their_targets(self):
        # Two documents a step; to validate three of eight words, then one of three.
        net = net_of({"right": accuracy}, module__each_word=True, max_epochs=1, optimizer__lr=0.01)
        epoch = net.train(WORDS, WORDS).history[0]
        assert epoch["right"] == pytest.approx(accuracy(net.logits(DOCUMENTS), WORDS.targets))
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
    from tests.tiny_models import LABELS, TEXTS, tiny

    params = {"compile": True, "compile__backend": "eager"}
    compiled = tiny(net_params=params, max_epochs=1).fit(TEXTS, LABELS)
    plain = tiny(max_epochs=1).fit(TEXTS, LABELS)
    found, expected = compiled.predict_proba(TEXTS), plain.predict_proba(TEXTS)
    np.testing.assert_allclose(found, expected, atol=1e-4)
