"""One fit of an AttentionTranslator, from the user's data to the fitted attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sk_han.documents import DocumentArray, concatenated_ranges
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.training.builder import hold_out, new_net
from sk_han.training.devices import resolve_device
from sk_han.training.history import training_attributes
from sk_han.translation.checks import check_pairs
from sk_han.translation.options import TranslationOptions
from sk_han.translation.surface import SIGN_PATTERN, learn_forms
from sk_han.translation.training import (
    TextPairs,
    smoothed_translation_net,
)
from sk_han.utils.warnings import warn_user
from sk_han.validation.doubtful import warn_of_early_stopping
from sk_han.validation.labels import document_weights

if TYPE_CHECKING:
    from sk_han.translation.translator import AttentionTranslator

__all__ = ["as_sequences", "learnt_attributes"]

# From so many pairs on, words of a single text are unknown: then the network learns what to do
# with a word that it does not know.
_MANY_PAIRS = 1000


def learnt_attributes(
    translator: AttentionTranslator,
    source_texts: Any,
    target_texts: Any,
    sample_weight: Any,
    X_val: Any,
    y_val: Any,
) -> dict[str, Any]:
    """Train a network; the translator itself does not change.

    Parameters
    ----------
    translator : AttentionTranslator
        Its parameters are used.
    source_texts, target_texts, sample_weight, X_val, y_val
        As of `AttentionTranslator.fit`.

    Returns
    -------
    dict of str to object
        The fitted attributes.
    """
    device = resolve_device(translator.device)
    rng = check_random_state(translator.random_state)
    sources, targets = check_pairs(source_texts, target_texts, ("source_texts", "target_texts"))
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together: give both or neither.")
    given = None if X_val is None else check_pairs(X_val, y_val, ("X_val", "y_val"))
    weights = document_weights(sample_weight, None, np.zeros(len(sources)), np.zeros(1))
    weights = weights / weights.max()  # only ratios matter; now their sums are finite
    rows, held_out = np.flatnonzero(weights > 0), None
    if given is None and translator.validation_fraction is not None:
        training, held_out = hold_out(np.zeros(len(rows), int), translator.validation_fraction, rng)
        held_out = None if held_out is None else rows[held_out]
        rows = rows[training]

    # Both vocabularies are learnt from the training texts alone.
    texts = [[side[i] for i in rows] for side in (sources, targets)]
    tokenizers = [
        _tokenizer(translator.source_tokenizer, len(rows)),
        _tokenizer(translator.target_tokenizer, len(rows)),
    ]
    documents: list[Any] = [
        tokenizer.fit_transform(side) for tokenizer, side in zip(tokenizers, texts, strict=True)
    ]
    training_pairs = _readable(
        TextPairs(documents[0], documents[1], weights[rows]), translator.max_words
    )
    if not len(training_pairs):
        raise ValueError(
            f"None of {len(rows)} training pairs has 1 to max_words={translator.max_words} words "
            "on both sides: there is nothing to learn from."
        )
    validation = None
    if held_out is not None:
        given = [sources[i] for i in held_out], [targets[i] for i in held_out]
    if given is not None:
        pairs: list[Any] = [t.transform(side) for t, side in zip(tokenizers, given, strict=True)]
        validation = _readable(
            TextPairs(pairs[0], pairs[1], np.ones(len(given[0]))), translator.max_words
        )
        order = np.argsort(validation.translations.words_per_document, kind="stable")
        validation = validation[order] if len(order) else None
    if given is not None and validation is None and X_val is not None:
        raise ValueError(
            f"None of the {len(given[0])} pairs of X_val and y_val has 1 to "
            f"max_words={translator.max_words} words on both sides: they cannot tell which epoch "
            "is best. Give others, or leave X_val and y_val out."
        )
    if validation is None and translator.n_iter_no_change is not None:
        fraction = translator.validation_fraction
        why = (
            "validation_fraction is None"
            if fraction is None
            else f"validation_fraction={fraction:g} of {len(sources)} has none to read"
        )
        warn_of_early_stopping(
            translator.n_iter_no_change, "pairs", why, "Give X_val and y_val or more pairs"
        )

    sizes = _sizes(tokenizers)
    located, spans = tokenizers[1].locate(texts[1])
    forms, glued, capitals = learn_forms(
        texts[1], located, [each.word_spans for each in spans], tokenizers[1].vocabulary_
    )
    net = new_net(
        {name: getattr(translator, name) for name in TranslationOptions.constraints()}
        | {"source_size": sizes[0], "target_size": sizes[1]},
        n_documents=len(training_pairs),
        max_epochs=translator.max_epochs,
        batch_size=translator.batch_size,
        optimizer="adamw",
        lr=translator.lr,
        lr_schedule="one_cycle",
        noise=0.0,
        frozen_epochs=0,
        keep_best=validation is not None,
        n_iter_no_change=translator.n_iter_no_change,
        callbacks=translator.callbacks,
        verbose=translator.verbose,
        device=device,
        random_state=rng,
        make_net=smoothed_translation_net(float(translator.label_smoothing)),
    )
    net.train(training_pairs, validation)
    return {
        "source_tokenizer_": tokenizers[0],
        "target_tokenizer_": tokenizers[1],
        "forms_": forms,
        "glued_": glued,
        "capitals_": capitals,
        "device_": device,
        **training_attributes(net),
    }


def as_sequences(documents: DocumentArray, max_words: int | None = None) -> DocumentArray:
    """Return documents of one sentence each, cut after so many words."""
    lengths = documents.words_per_document
    if max_words is not None:
        lengths = np.minimum(lengths, max_words)
    starts = documents.sentence_starts[documents.document_starts[:-1]]
    ids = documents.word_ids[concatenated_ranges(starts, lengths)]
    return DocumentArray._of_lengths(ids, lengths[lengths > 0], (lengths > 0).astype(np.int64))


def _tokenizer(given: HierarchicalTokenizer | None, n_pairs: int) -> HierarchicalTokenizer:
    if given is None:
        least = 2 if n_pairs >= _MANY_PAIRS else 1
        return HierarchicalTokenizer(token_pattern=SIGN_PATTERN, min_df=least)
    return clone(given).set_params(output="ragged")


def _readable(pairs: TextPairs, max_words: int) -> TextPairs:
    """Leave out pairs with a side that is empty or longer than the translator reads."""
    lengths = np.stack([pairs.sources.words_per_document, pairs.translations.words_per_document])
    n_long = int((lengths > max_words).any(axis=0).sum())
    if n_long:
        warn_user(
            f"{n_long} of {len(pairs)} pairs have more than max_words={max_words} words and are "
            "left out. Split them into sentences, or raise max_words."
        )
    kept = np.flatnonzero(((lengths > 0) & (lengths <= max_words)).all(axis=0))
    chosen = pairs[kept]
    return TextPairs(
        as_sequences(chosen.sources), as_sequences(chosen.translations), chosen.pair_weights
    )


def _sizes(tokenizers: list[HierarchicalTokenizer]) -> tuple[int, int]:
    """Return the numbers of word vectors of both sides."""
    source, target = (max(each.vocabulary_.values()) + 1 for each in tokenizers)
    return source, target
