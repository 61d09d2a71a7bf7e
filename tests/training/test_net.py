"""What the net of a fit reads and records, and what it computes in forked processes."""

import os
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest
from sklearn.metrics import log_loss
from skorch.callbacks import Callback

from sk_han import DocumentArray, MultiHopAttention
from tests.tiny_models import LABELS, TEXTS, UNSEEN, tiny

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


class Read(Callback):
    """Note word, target and weight of each document of a training batch, which has one word."""

    batches: ClassVar[list[np.ndarray]] = []  # of the class: a fit trains with a copy

    def on_batch_begin(self, net, batch=None, training=False, **kwargs):
        X, targets = batch
        if training:
            self.batches.append(np.stack([X.documents.word_ids, targets, X.weights]))


def read_by_a_fit(n, **params):
    """Batches of a fit to documents of the words 2, 3, ..., which are also their weights."""
    Read.batches.clear()
    words = np.arange(2, n + 2)
    settings = {"max_epochs": 2, "validation_fraction": None, "embedding_init": "random"}
    classifier = tiny(callbacks=[Read()], linear_ngrams=None, **settings | params)
    classifier.fit(DocumentArray.from_nested([[[word]] for word in words]), words % 3, words)
    return [*Read.batches]


@pytest.mark.parametrize(
    ("n", "batch_size", "sizes"), [(23, 5, [5, 5, 5, 5, 3]), (20, 5, 4 * [5]), (23, 99, [23])]
)
def test_an_epoch_reads_each_document_once(n, batch_size, sizes):
    batches = read_by_a_fit(n, batch_size=batch_size)
    assert [batch.shape[1] for batch in batches] == 2 * sizes
    words, targets, weights = np.hstack(batches)
    np.testing.assert_array_equal(targets, words % 3)
    np.testing.assert_allclose(weights, words * weights[0] / words[0])
    first, second = words.reshape(2, n)
    assert sorted(first) == sorted(second) == list(range(2, n + 2))
    assert first.tolist() != second.tolist()
    again = np.hstack(read_by_a_fit(n, batch_size=batch_size))[0]
    np.testing.assert_array_equal(again, words)


def test_epoch_scores_are_means_over_all_held_out_documents():
    texts = [*TEXTS[:6], "A good zebra. Bad!", "Bad", "It rained."]
    labels = np.array([*LABELS[:6], "pos", "neg", "pos"])
    classifier = tiny(max_epochs=3, net_params={"valid_batch_size": 7})  # and one batch of 2
    classifier.fit(TEXTS, LABELS, X_val=texts, y_val=labels)
    logits = classifier.net_.outputs(classifier.tokenizer_.transform(texts)).astype(float)
    epoch = classifier.history_[classifier.best_epoch_ - 1]
    assert epoch["valid_accuracy"] == (classifier.classes_[logits.argmax(1)] == labels).mean()
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert epoch["valid_loss"] == pytest.approx(log_loss(labels, proba), rel=1e-5)
    scores = [epoch["valid_accuracy"] for epoch in classifier.history_]
    is_best = [score > max(scores[:number], default=0) for number, score in enumerate(scores)]
    assert classifier.net_.history[:, "valid_accuracy_best"] == is_best


def test_the_penalty_of_attentions_is_part_of_the_loss():
    losses = []
    for penalty in (0.0, 1.0, 2.0):
        pooling = MultiHopAttention(size=4, hops=2, penalty=penalty)
        fitted = tiny(pooling=pooling, validation_fraction=None).fit(TEXTS, LABELS)
        losses.append(fitted.history_[0]["train_loss"])
    assert losses[1] - losses[0] > 0.1
    assert losses[2] - losses[0] == pytest.approx(2 * (losses[1] - losses[0]), rel=1e-3)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # of PyTorch's compiler
def test_a_compiled_network_gives_the_same_probabilities():
    params = {"compile": True, "compile__backend": "eager"}
    compiled, plain = (tiny(net_params=p).fit(TEXTS, LABELS) for p in (params, None))
    np.testing.assert_allclose(compiled.predict_proba(TEXTS), plain.predict_proba(TEXTS), atol=1e-4)


def test_a_classifier_adds_noise_in_every_other_step():
    def losses(noise_every):
        params = {} if noise_every is None else {"net_params": {"noise_every": noise_every}}
        settings = {"batch_size": 4, "validation_fraction": None, "lr_schedule": "constant"}
        fitted = tiny(adversarial_noise=0.3, **settings, **params).fit(TEXTS, LABELS)
        return [batch["train_loss"] for batch in fitted.net_.history[0]["batches"]]

    assert losses(None) == losses(2)
    assert len({tuple(losses(noise_every)) for noise_every in (1, 2, 3)}) == 3


def test_kernels_and_autograd_train_nearly_the_same_network():
    pytest.importorskip("numba")
    settings = {"max_epochs": 3, "batch_size": 4, "adversarial_noise": 0.1}
    settings |= {"embedding_init": "random", "linear_ngrams": None}
    fitted, other = (
        tiny(**settings, engine=engine).fit(TEXTS, LABELS) for engine in ("numba", "torch")
    )
    for epoch, expected in zip(fitted.history_, other.history_, strict=True):
        assert epoch["train_loss"] == pytest.approx(expected["train_loss"], abs=1e-6)
    proba, expected = fitted.predict_proba(UNSEEN), other.predict_proba(UNSEEN)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-6)
