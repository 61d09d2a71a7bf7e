"""One fit of an AttentionTranslator, from the user's data to the fitted attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from sk_han.documents import DocumentArray, concatenated_ranges
from sk_han.inspection.results.training_summary import TrainingSummary
from sk_han.targets.splitting import hold_out
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.training.builder import new_net
from sk_han.training.devices import resolve_device
from sk_han.training.history import outcome_of, training_attributes
from sk_han.translation.options import TranslationOptions
from sk_han.translation.pair_checks import check_pairs
from sk_han.translation.surface import SIGN_PATTERN, learn_forms
from sk_han.translation.training import (
    TextPairs,
    TranslationNet,
    smoothed_translation_net,
)
from sk_han.utils.progress import tell
from sk_han.utils.stages import Stages
from sk_han.utils.warnings import warn_user
from sk_han.validation.doubtful import warn_of_early_stopping
from sk_han.validation.labels import document_weights

if TYPE_CHECKING:
    from sk_han.translation.translator import AttentionTranslator

__all__ = ["as_sequences", "learnt_attributes"]

# From so many pairs on, words of a single text are unknown: then the network learns what to do
# with a word that it does not know.
_MANY_PAIRS = 1000


class _Given(NamedTuple):
    """The user's data, checked."""

    texts: tuple[list[str], list[str]]
    weights: NDArray[np.float64]  # shape (P,)
    validation: tuple[list[str], list[str]] | None


def learnt_attributes(
    translator: AttentionTranslator,
    source_texts: Any,
    target_texts: Any,
    sample_weight: Any,
    X_val: Any,
    y_val: Any,
) -> dict[str, Any]:
    """Train a network, and return the fitted attributes; the translator itself does not change."""
    device = resolve_device(translator.device)
    rng = check_random_state(translator.random_state)
    stages = Stages(translator.verbose)
    with stages("texts"):
        given = _checked(source_texts, target_texts, sample_weight, X_val, y_val)
        rows, held_out = _split(given, translator.validation_fraction, rng)
        # Both vocabularies are learnt from the training texts alone.
        tokenizers = tuple(
            _tokenizer(each, len(rows))
            for each in (translator.source_tokenizer, translator.target_tokenizer)
        )
        texts = [[side[i] for i in rows] for side in given.texts]
        sources, targets = (
            tokenizer.fit_transform(side) for tokenizer, side in zip(tokenizers, texts, strict=True)
        )
        training = _readable(TextPairs(sources, targets, given.weights[rows]), translator.max_words)
        if not len(training):
            raise ValueError(
                f"None of {len(rows)} training pairs has 1 to max_words={translator.max_words} "
                "words on both sides: there is nothing to learn from."
            )
        validation = _validation(translator, given, held_out, tokenizers)
        located, spans = tokenizers[1].locate(texts[1])
        forms, glued, capitals = learn_forms(
            texts[1], located, [each.word_spans for each in spans], tokenizers[1].vocabulary_
        )
    with stages("set-up"):
        net = _new_net(translator, tokenizers, len(training), validation is not None, device, rng)
    with stages("network", tells=False):
        net.train(training, validation)
    summary = TrainingSummary(
        unit="pair",
        n_trained=len(training),
        n_scored=0 if validation is None else len(validation),
        **outcome_of(net),
        seconds=dict(stages.seconds),
        total_seconds=stages.total,
    )
    if stages.verbose:
        tell(summary)
    return {
        "source_tokenizer_": tokenizers[0],
        "target_tokenizer_": tokenizers[1],
        "forms_": forms,
        "glued_": glued,
        "capitals_": capitals,
        "device_": device,
        "fit_summary_": summary,
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


def _checked(
    source_texts: Any, target_texts: Any, sample_weight: Any, X_val: Any, y_val: Any
) -> _Given:
    texts = check_pairs(source_texts, target_texts, ("source_texts", "target_texts"))
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together: give both or neither.")
    validation = None if X_val is None else check_pairs(X_val, y_val, ("X_val", "y_val"))
    weights = document_weights(sample_weight, None, np.zeros(len(texts[0])), np.zeros(1))
    return _Given(texts, weights / weights.max(), validation)  # only ratios matter; sums are finite


def _split(
    given: _Given, fraction: float | None, rng: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Return the rows of training pairs and, if none were given, of held-out ones."""
    rows = np.flatnonzero(given.weights > 0)
    if given.validation is not None or fraction is None:
        return rows, None
    training, held_out = hold_out(np.zeros(len(rows), int), fraction, rng)
    return rows[training], None if held_out is None else rows[held_out]


def _validation(
    translator: AttentionTranslator,
    given: _Given,
    held_out: NDArray[np.int64] | None,
    tokenizers: tuple[HierarchicalTokenizer, ...],
) -> TextPairs | None:
    """Return the held-out pairs in the order of their length; None if there are none to read."""
    texts, found = given.validation, None
    if held_out is not None:
        texts = [given.texts[0][i] for i in held_out], [given.texts[1][i] for i in held_out]
    if texts is not None:
        sides: list[Any] = [t.transform(side) for t, side in zip(tokenizers, texts, strict=True)]
        weights = np.ones(len(texts[0]))
        pairs = _readable(TextPairs(sides[0], sides[1], weights), translator.max_words)
        order = np.argsort(pairs.translations.words_per_document, kind="stable")
        found = pairs[order] if len(order) else None
    if found is None and given.validation is not None:
        raise ValueError(
            f"None of the {len(given.validation[0])} pairs of X_val and y_val has 1 to "
            f"max_words={translator.max_words} words on both sides: they cannot tell which epoch "
            "is best. Give others, or leave X_val and y_val out."
        )
    if found is None and translator.n_iter_no_change is not None:
        fraction = translator.validation_fraction
        why = (
            "validation_fraction is None"
            if fraction is None
            else f"validation_fraction={fraction:g} of {len(given.weights)} has none to read"
        )
        repair = "Give X_val and y_val or more pairs"
        warn_of_early_stopping(translator.n_iter_no_change, "pairs", why, repair)
    return found


def _new_net(
    translator: AttentionTranslator,
    tokenizers: tuple[HierarchicalTokenizer, ...],
    n_pairs: int,
    keep_best: bool,
    device: str,
    rng: np.random.RandomState,
) -> TranslationNet:
    source_size, target_size = (max(each.vocabulary_.values()) + 1 for each in tokenizers)
    net: TranslationNet = new_net(
        {name: getattr(translator, name) for name in TranslationOptions.constraints()}
        | {"source_size": source_size, "target_size": target_size},
        n_documents=n_pairs,
        max_epochs=translator.max_epochs,
        batch_size=translator.batch_size,
        optimizer="adamw",
        lr=translator.lr,
        lr_schedule="one_cycle",
        noise=0.0,
        frozen_epochs=0,
        keep_best=keep_best,
        n_iter_no_change=translator.n_iter_no_change,
        callbacks=translator.callbacks,
        verbose=translator.verbose,
        device=device,
        random_state=rng,
        make_net=smoothed_translation_net(float(translator.label_smoothing)),
    )
    return net


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
