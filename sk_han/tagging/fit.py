"""One fit of a SequenceTagger, from the user's data to the fitted attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from sk_han.documents import UNKNOWN_ID
from sk_han.embeddings.initial import check_embedding_init, initial_vectors
from sk_han.inspection.results.training_summary import TrainingSummary
from sk_han.tagging.attributes import Kinds, attribute_ids, learn_attributes, token_kinds
from sk_han.tagging.options import TaggingOptions
from sk_han.tagging.token_checks import Token, as_sentences, as_tags, check_iob2, chunks_of
from sk_han.tagging.training import (
    LabelledSentences,
    Sentences,
    TaggingNet,
    epochs_for_tagging,
    sentences_of,
    tagging_net,
)
from sk_han.training.builder import new_net
from sk_han.training.devices import resolve_device
from sk_han.training.history import outcome_of, training_attributes
from sk_han.utils.progress import tell
from sk_han.utils.stages import Stages
from sk_han.validation.doubtful import warn_of_early_stopping
from sk_han.validation.labels import document_weights, encode_labels

if TYPE_CHECKING:
    from sk_han.tagging.tagger import SequenceTagger

__all__ = ["encoded_sentences", "learnt_attributes"]


class _Given(NamedTuple):
    """The user's data, checked."""

    sentences: list[list[Token]]
    kinds: Kinds
    classes: NDArray[Any]
    targets: NDArray[np.int64]  # of tokens, shape (T,)
    weights: NDArray[np.float64]  # of sentences, shape (D,)
    chunks: NDArray[np.int64] | None  # of labels, shape (C,)


def learnt_attributes(tagger: SequenceTagger, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """Train a network, and return the fitted attributes; the tagger itself does not change."""
    check_embedding_init(tagger.embedding_init)
    device = resolve_device(tagger.device)
    rng = check_random_state(tagger.random_state)
    stages = Stages(tagger.verbose)
    with stages("sentences"):
        given = _checked(X, y, sample_weight, tagger.scheme)
        rows, held_out = _split(tagger, given, rng)
        learnt = learn_attributes(
            token_kinds([given.sentences[i] for i in rows]), min_df=tagger.min_df
        )
        _add_words_of_vectors(learnt[0], tagger.embedding_init)
        data = LabelledSentences(
            encoded_sentences(given.kinds, learnt),
            sentences_of(given.targets + 1, given.kinds.lengths),
            given.weights,
        )
        training, validation = data[rows], data[held_out] if len(held_out) else None
    with stages("set-up"):
        net = _new_net(tagger, given, learnt, len(training), len(held_out) > 0, device, rng)
    with stages("word vectors"):
        words = training.inputs.words()
        shape = _sizes(learnt)[0], tagger.embedding_dim
        vectors = initial_vectors(
            tagger.embedding_init, words, training.weights, learnt[0], shape, rng
        )
        if vectors is not None:
            net.set_embedding(vectors)
    with stages("network", tells=False):
        net.train(training, validation)
    summary = TrainingSummary(
        unit="sentence",
        n_trained=len(training),
        n_scored=len(held_out),
        **outcome_of(net),
        seconds=dict(stages.seconds),
        total_seconds=stages.total,
    )
    if stages.verbose:
        tell(summary)
    return {
        "classes_": given.classes,
        "vocabularies_": learnt,
        "n_columns_": len(given.kinds.rows[0]),
        "device_": device,
        "fit_summary_": summary,
        **training_attributes(net),
    }


def encoded_sentences(kinds: Kinds, vocabularies: list[dict[str, int]]) -> Sentences:
    """Return sentences as a `TaggingNet` reads them."""
    unused = np.zeros((UNKNOWN_ID + 1, len(vocabularies)), dtype=np.int64)
    attributes = attribute_ids(kinds.rows, vocabularies)
    ids = sentences_of(kinds.numbers + len(unused), kinds.lengths)
    return Sentences(ids, np.concatenate([unused, attributes]))


def _checked(X: Any, y: Any, sample_weight: Any, scheme: str | None) -> _Given:
    sentences = as_sentences(X)
    if not sentences:
        raise ValueError("Found 0 sentence(s) while a minimum of 1 is required: X is empty.")
    labels = as_tags(y, [len(sentence) for sentence in sentences])
    weights = document_weights(sample_weight, None, np.zeros(len(sentences)), np.zeros(1))
    weights = weights / weights.max()  # only ratios matter; now their sums are finite
    kinds = token_kinds(sentences)
    classes = np.unique(labels)
    targets = encode_labels(labels, classes, "y")
    chunks = None
    if scheme == "iob2":
        check_iob2(targets, kinds.lengths, classes)
        chunks = chunks_of(classes)
    return _Given(sentences, kinds, classes, targets, weights, chunks)


def _split(
    tagger: SequenceTagger, given: _Given, rng: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of training sentences, in order, and of held-out ones.

    Sentences without a weight or a token teach nothing.
    """
    order = rng.permutation(np.flatnonzero((given.weights > 0) & (given.kinds.lengths > 0)))
    if not len(order):
        raise ValueError("No sentence has a token and a weight: there is nothing to learn from.")
    fraction = tagger.validation_fraction
    n_held_out = round((fraction or 0) * len(order))
    held_out, rows = order[:n_held_out], np.sort(order[n_held_out:])
    if not len(rows):
        raise ValueError(
            f"validation_fraction={fraction} holds all {len(order)} sentences out. Lower it, or "
            "give more sentences."
        )
    if not n_held_out and tagger.n_iter_no_change is not None:
        why = (
            "validation_fraction is None"
            if fraction is None
            else f"validation_fraction={fraction:g} of {len(order)} is none"
        )
        repair = "Raise validation_fraction"
        warn_of_early_stopping(tagger.n_iter_no_change, "sentences", why, repair)
    return rows, held_out


def _new_net(
    tagger: SequenceTagger,
    given: _Given,
    learnt: list[dict[str, int]],
    n_sentences: int,
    keep_best: bool,
    device: str,
    rng: np.random.RandomState,
) -> TaggingNet:
    options = {name: getattr(tagger, name) for name in TaggingOptions.constraints()}
    chunks = None if given.chunks is None else torch.from_numpy(given.chunks)
    network = {
        "sizes": _sizes(learnt),
        "n_classes": len(given.classes),
        "unknown_id": UNKNOWN_ID,
        "chunks": chunks,
    }
    net: TaggingNet = new_net(
        options | network,
        n_documents=n_sentences,
        max_epochs=epochs_for_tagging(tagger.max_epochs, n_sentences, tagger.batch_size),
        batch_size=tagger.batch_size,
        optimizer="adamw",
        lr=tagger.lr,
        lr_schedule="one_cycle",
        noise=float(tagger.adversarial_noise),
        frozen_epochs=0,
        keep_best=keep_best,
        n_iter_no_change=tagger.n_iter_no_change,
        callbacks=tagger.callbacks,
        verbose=tagger.verbose,
        device=device,
        random_state=rng,
        make_net=tagging_net,
    )
    return net


def _sizes(vocabularies: list[dict[str, int]]) -> list[int]:
    """Return the number of values of each attribute."""
    return [UNKNOWN_ID + 1 + len(vocabulary) for vocabulary in vocabularies]


def _add_words_of_vectors(vocabulary: dict[str, int], vectors: Any) -> None:
    """Number the words of a mapping too: a word that only they have is no unknown one."""
    if isinstance(vectors, (str, np.ndarray)) or not hasattr(vectors, "__iter__"):
        return
    for word in vectors:
        if isinstance(word, str):
            vocabulary.setdefault(word.lower(), len(vocabulary) + UNKNOWN_ID + 1)
