"""One fit of a SequenceTagger, from the user's data to the fitted attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from sk_han.documents import UNKNOWN_ID
from sk_han.embeddings.initial import check_embedding_init, initial_vectors
from sk_han.tagging.attributes import Kinds, attribute_ids, learn_attributes, token_kinds
from sk_han.tagging.checks import as_sentences, as_tags, check_iob2, forbidden_by_iob2
from sk_han.tagging.options import TaggingOptions
from sk_han.tagging.training import (
    LabelledSentences,
    Sentences,
    epochs_for_tagging,
    sentences_of,
    tagging_net,
)
from sk_han.training.builder import new_net
from sk_han.training.devices import resolve_device
from sk_han.training.history import training_attributes
from sk_han.validation.doubtful import warn_of_early_stopping
from sk_han.validation.labels import document_weights, encode_labels

if TYPE_CHECKING:
    from sk_han.tagging.tagger import SequenceTagger

__all__ = ["encoded_sentences", "learnt_attributes"]


def learnt_attributes(tagger: SequenceTagger, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """Train a network; the tagger itself does not change.

    Parameters
    ----------
    tagger : SequenceTagger
        Its parameters are used.
    X, y, sample_weight
        As of `SequenceTagger.fit`.

    Returns
    -------
    dict of str to object
        The fitted attributes.
    """
    check_embedding_init(tagger.embedding_init)
    device = resolve_device(tagger.device)
    rng = check_random_state(tagger.random_state)
    given = as_sentences(X)
    if not given:
        raise ValueError("Found 0 sentence(s) while a minimum of 1 is required: X is empty.")
    labels = as_tags(y, [len(sentence) for sentence in given])
    weights = document_weights(sample_weight, None, np.zeros(len(given)), np.zeros(1))
    weights = weights / weights.max()  # only ratios matter; now their sums are finite
    kinds = token_kinds(given)
    classes = np.unique(labels)
    targets = encode_labels(labels, classes, "y")
    forbidden = None
    if tagger.scheme == "iob2":
        check_iob2(targets, kinds.lengths, classes)
        forbidden = forbidden_by_iob2(classes)

    # Sentences without a weight or a token teach nothing.
    order = rng.permutation(np.flatnonzero((weights > 0) & (kinds.lengths > 0)))
    if not len(order):
        raise ValueError("No sentence has a token and a weight: there is nothing to learn from.")
    n_held_out = round((tagger.validation_fraction or 0) * len(order))
    held_out, rows = order[:n_held_out], np.sort(order[n_held_out:])
    if not len(rows):
        raise ValueError(
            f"validation_fraction={tagger.validation_fraction} holds all {len(order)} sentences "
            "out. Lower it, or give more sentences."
        )
    if not n_held_out and tagger.n_iter_no_change is not None:
        why = (
            "validation_fraction is None"
            if tagger.validation_fraction is None
            else f"validation_fraction={tagger.validation_fraction:g} of {len(order)} is none"
        )
        warn_of_early_stopping(
            tagger.n_iter_no_change, "sentences", why, "Raise validation_fraction"
        )
    learnt = learn_attributes(token_kinds([given[i] for i in rows]), min_df=tagger.min_df)
    _add_words_of_vectors(learnt[0], tagger.embedding_init)
    sizes = [UNKNOWN_ID + 1 + len(vocabulary) for vocabulary in learnt]
    data = LabelledSentences(
        encoded_sentences(kinds, learnt), sentences_of(targets + 1, kinds.lengths), weights
    )
    training, validation = data[rows], data[held_out] if n_held_out else None

    options = {name: getattr(tagger, name) for name in TaggingOptions.constraints()}
    network = {"sizes": sizes, "n_classes": len(classes), "unknown_id": UNKNOWN_ID}
    network["forbidden"] = None if forbidden is None else torch.from_numpy(forbidden)
    net = new_net(
        options | network,
        n_documents=len(training),
        max_epochs=epochs_for_tagging(tagger.max_epochs, len(training), tagger.batch_size),
        batch_size=tagger.batch_size,
        optimizer="adamw",
        lr=tagger.lr,
        lr_schedule="one_cycle",
        noise=float(tagger.adversarial_noise),
        frozen_epochs=0,
        keep_best=validation is not None,
        n_iter_no_change=tagger.n_iter_no_change,
        callbacks=tagger.callbacks,
        verbose=tagger.verbose,
        device=device,
        random_state=rng,
        make_net=tagging_net,
    )
    words = training.inputs.words()
    shape = sizes[0], tagger.embedding_dim
    vectors = initial_vectors(tagger.embedding_init, words, training.weights, learnt[0], shape, rng)
    if vectors is not None:
        net.set_embedding(vectors)
    net.train(training, validation)
    return {
        "classes_": classes,
        "vocabularies_": learnt,
        "n_columns_": len(kinds.rows[0]),
        "device_": device,
        **training_attributes(net),
    }


def encoded_sentences(kinds: Kinds, vocabularies: list[dict[str, int]]) -> Sentences:
    """Return sentences as a `TaggingNet` reads them."""
    unused = np.zeros((UNKNOWN_ID + 1, len(vocabularies)), dtype=np.int64)
    attributes = attribute_ids(kinds.rows, vocabularies)
    ids = sentences_of(kinds.numbers + len(unused), kinds.lengths)
    return Sentences(ids, np.concatenate([unused, attributes]))


def _add_words_of_vectors(vocabulary: dict[str, int], vectors: Any) -> None:
    """Number the words of a mapping too: a word that only they have is no unknown one."""
    if isinstance(vectors, (str, np.ndarray)) or not hasattr(vectors, "__iter__"):
        return
    for word in vectors:
        if isinstance(word, str):
            vocabulary.setdefault(word.lower(), len(vocabulary) + UNKNOWN_ID + 1)
