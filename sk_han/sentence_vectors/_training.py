"""The net that learns from sentence vectors, where it begins, and the part that it becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from sk_han._documents import DocumentArray, LabelledDocuments, SentenceArray
from sk_han._parts.pool import NETWORK_SCHEMAS, SENTENCE_NETWORK
from sk_han._parts.trained_network import TrainedNetwork
from sk_han._targets import Target
from sk_han._training.net import Net
from sk_han._utils.messages import taking_many_classes
from sk_han.sentence_vectors._network import SentenceNetwork

# C of the logistic regression on mean sentence vectors, which are scaled to entries of length 1.
# For vectors of length 1, as most encoders give, it is the C of 10 that their benchmarks use.
_C = 0.025
_VECTORS_AT_ONCE = 1 << 14


def sentence_net(**params: Any) -> Net:
    """Create a net whose network classifies documents of sentence vectors."""
    params.pop("module__sparse", None)  # of the gradient of word vectors
    return Net(SentenceNetwork, to_tensors=_tensors, **params)


def start_from_means(net: Net, training: LabelledDocuments, target: Target) -> None:
    """Let a net begin as a logistic regression on the mean sentence of each document.

    That model is convex and hard to beat: from random weights the network ended 2 to 4 points
    below it (1,000 training documents of IMDB and of 20 newsgroups).
    """
    documents = training.documents
    assert isinstance(documents, SentenceArray)
    center, scale = _spread(documents)
    network = net.module_
    network.start_from(torch.from_numpy(center), torch.full_like(network.scale, scale))
    means = (_means(documents) - center) * scale
    means[documents.sentences_per_document == 0] = 0
    weights = training.weights / training.weights.mean()
    if training.targets.ndim == 1:
        found = _on_classes(means, training.targets, weights, network.output.out_features)
    else:
        of_labels = target.problem_weights(training.targets, weights)
        found = _on_labels(means, training.targets, of_labels)
    if found is not None:
        network.start_mean_from(*map(torch.from_numpy, found))


def _on_classes(
    means: NDArray[np.float64],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    n_classes: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
    """Return coefficients (K, E) and intercepts (K,) of classes; None if there is only one."""
    found = np.unique(targets)
    if len(found) < 2:
        return None
    model = LogisticRegression(C=_C, max_iter=1000)
    with taking_many_classes():
        model.fit(means, targets, weights)
    coefficients, intercepts = model.coef_, model.intercept_
    if len(found) == 2:  # scikit-learn has the log-odds of the second class
        coefficients = np.concatenate([-coefficients, coefficients]) / 2
        intercepts = np.concatenate([-intercepts, intercepts]) / 2
    weight = np.zeros((n_classes, means.shape[1]), dtype=np.float32)
    bias = np.full(n_classes, intercepts.min() - 1, dtype=np.float32)  # classes not met yet
    weight[found], bias[found] = coefficients, intercepts
    return weight, bias


def _on_labels(
    means: NDArray[np.float64], t: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return coefficients (L, E) and intercepts (L,) of labels; those of one side are constant.

    Weights (D, L) are those of the documents in the problem of each label.
    """
    weight = np.zeros((t.shape[1], means.shape[1]), dtype=np.float32)
    share = ((weights * t).sum(axis=0) + 0.5) / (weights.sum(axis=0) + 1)
    bias = np.log(share / (1 - share)).astype(np.float32)
    for label in np.flatnonzero(t.any(axis=0) & ~t.all(axis=0)):
        model = LogisticRegression(C=_C, max_iter=1000).fit(means, t[:, label], weights[:, label])
        weight[label], bias[label] = model.coef_[0], model.intercept_[0]
    return weight, bias


def _spread(documents: SentenceArray) -> tuple[NDArray[np.float32], float]:
    """Return the mean sentence vector, and one over the root mean square of the rest."""
    n, d = max(documents.n_sentences, 1), documents.dimension
    total, squares = np.zeros(d), np.zeros(d)
    for numbers in _portions(documents.sentence_numbers):
        vectors = documents.vectors[numbers].astype(np.float64)
        total += vectors.sum(axis=0)
        squares += (vectors**2).sum(axis=0)
    center = total / n
    variance = float((squares / n - center**2).mean())
    scale = variance**-0.5 if variance > 1e-12 else 1.0
    return center.astype(np.float32), scale


def _means(documents: SentenceArray) -> NDArray[np.float64]:
    """Return the mean sentence vector of each document, shape (D, d)."""
    lengths = documents.sentences_per_document
    sums = np.zeros((len(documents), documents.dimension))
    document = np.repeat(np.arange(len(documents)), lengths)
    for rows in _portions(np.arange(documents.n_sentences)):
        vectors = documents.vectors[documents.sentence_numbers[rows]].astype(np.float64)
        ones = np.ones(len(rows))
        of = csr_matrix((ones, (document[rows], np.arange(len(rows)))), (len(sums), len(rows)))
        sums += of @ vectors
    return sums / np.maximum(lengths, 1)[:, None]


def _portions(numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [numbers[i : i + _VECTORS_AT_ONCE] for i in range(0, len(numbers), _VECTORS_AT_ONCE)]


def _tensors(documents: DocumentArray, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the arguments of `SentenceNetwork.attend`."""
    if not isinstance(documents, SentenceArray):
        raise TypeError("The network reads sentence vectors, and these documents have none.")
    return (
        torch.from_numpy(documents.sentence_vectors()).to(device),
        torch.from_numpy(documents.words_per_sentence),
        torch.from_numpy(documents.sentences_per_document),
    )


class TrainedSentenceNetwork(TrainedNetwork):
    """A network over sentence vectors; words share what their sentence brings."""

    kind = SENTENCE_NETWORK
    SCHEMA = NETWORK_SCHEMAS[kind]

    _make_net = staticmethod(sentence_net)
