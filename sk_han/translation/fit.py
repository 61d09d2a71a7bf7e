"""One fit of an AttentionTranslator, from the user's data to the fitted attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from sk_han.documents import DocumentArray, concatenated_ranges
from sk_han.fitting.single_network import relative_weights, trained_attributes, warn_of_no_stop
from sk_han.targets.splitting import hold_out
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.training.devices_and_threads import resolve_device
from sk_han.translation.surface import SIGN_PATTERN, learn_forms
from sk_han.translation.training import TextPairs, TranslationNet
from sk_han.utils.counts import agreeing, counted
from sk_han.utils.stage_times import Stages
from sk_han.utils.warnings import warn_user
from sk_han.validation.texts import as_list, as_texts

if TYPE_CHECKING:
    from sk_han.translation.translator import AttentionTranslator

# From so many pairs on, words of a single text are unknown: then the network learns what to do
# with a word that it does not know.
_MANY_PAIRS = 1000


_Texts = tuple[list[str], list[str]]


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
    stages, max_words = Stages(translator.verbose), translator.max_words
    with stages("texts"):
        fraction = translator.validation_fraction
        data = source_texts, target_texts, sample_weight, X_val, y_val
        texts, weights, held_out = _checked(*data, fraction, rng)
        n_pairs = len(weights)
        # Both vocabularies are learnt from the training texts alone.
        tokenizers = (
            _tokenizer(translator.source_tokenizer, n_pairs),
            _tokenizer(translator.target_tokenizer, n_pairs),
        )
        names = "source_texts", "target_texts"
        sources, targets = map(_learnt, tokenizers, texts, names)
        training = _readable(TextPairs(sources, targets, weights), max_words)
        if not len(training):
            raise ValueError(
                f"Of {counted(n_pairs, 'training pair')} none has 1 to max_words={max_words} words "
                "on both sides: there is nothing to learn from."
            )
        validation = _validation(held_out, tokenizers, max_words)
        if validation is None and X_val is not None:
            raise ValueError(
                f"None of the pairs of X_val and y_val has 1 to max_words={max_words} words on "
                "both sides: they cannot tell which epoch is best. Give others, or leave X_val and "
                "y_val out."
            )
        if validation is None:
            repair = "Give X_val and y_val or more pairs"
            warn_of_no_stop(translator, "pairs", "the pairs has none to read", repair)
        located, spans = tokenizers[1].locate(texts[1])
        forms, glued, capitals = learn_forms(
            texts[1], located, [each.word_spans for each in spans], tokenizers[1].vocabulary_
        )
    with stages("set-up"):
        source_size, target_size = (max(each.vocabulary_.values()) + 1 for each in tokenizers)
        smoothing = float(translator.label_smoothing)
        net = translator._new_net(
            {"source_size": source_size, "target_size": target_size},
            TranslationNet,
            loss={"criterion__label_smoothing": smoothing},
            n_documents=len(training),
            max_epochs=translator.max_epochs,
            keep_best=validation is not None,
            device=device,
            random_state=rng,
        )
    return {
        "source_tokenizer_": tokenizers[0],
        "target_tokenizer_": tokenizers[1],
        "forms_": forms,
        "glued_": glued,
        "capitals_": capitals,
        **trained_attributes(net, training, validation, "pair", stages),
    }


def as_sequences(documents: DocumentArray, max_words: int | None = None) -> DocumentArray:
    """Return documents of one sentence each, cut after so many words."""
    lengths = documents.words_per_document
    if max_words is not None:
        lengths = np.minimum(lengths, max_words)
    starts = documents.word_starts[:-1]
    ids = documents.word_ids[concatenated_ranges(starts, lengths)]
    return DocumentArray._of_lengths(ids, lengths[lengths > 0], (lengths > 0).astype(np.int64))


def _checked(
    source_texts: Any,
    target_texts: Any,
    sample_weight: Any,
    X_val: Any,
    y_val: Any,
    fraction: float | None,
    rng: np.random.RandomState,
) -> tuple[_Texts, NDArray[np.float64], _Texts | None]:
    """Return checked pairs, their weights (P,), and held-out pairs, if there are any."""
    texts = check_pairs(source_texts, target_texts, ("source_texts", "target_texts"))
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together: give both or neither.")
    held_out = None if X_val is None else check_pairs(X_val, y_val, ("X_val", "y_val"))
    weights = relative_weights(sample_weight, len(texts[0]))
    rows = np.flatnonzero(weights > 0)
    if held_out is None and fraction is not None:
        kept, others = hold_out(np.zeros(len(rows), int), fraction, rng)
        held_out = None if others is None else _rows_of(texts, rows[others])
        rows = rows[kept]
    return _rows_of(texts, rows), weights[rows], held_out


def _rows_of(texts: _Texts, rows: NDArray[np.int64]) -> _Texts:
    return [texts[0][i] for i in rows], [texts[1][i] for i in rows]


def _validation(
    held_out: _Texts | None, tokenizers: tuple[HierarchicalTokenizer, ...], max_words: int
) -> TextPairs | None:
    """Return held-out pairs in the order of their length; None if there are none to read."""
    if held_out is None:
        return None
    sides: list[Any] = [t.transform(side) for t, side in zip(tokenizers, held_out, strict=True)]
    pairs = _readable(TextPairs(sides[0], sides[1], np.ones(len(held_out[0]))), max_words)
    order = np.argsort(pairs.translations.words_per_document, kind="stable")
    return pairs[order] if len(order) else None


def _learnt(tokenizer: HierarchicalTokenizer, texts: list[str], name: str) -> DocumentArray:
    """Learn the vocabulary of one side, and return its documents."""
    try:
        return tokenizer.fit_transform(texts)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


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
            f"{n_long:,} of {counted(len(pairs), 'pair')} {agreeing(n_long, 'have')} more than "
            f"max_words={max_words} words and {agreeing(n_long, 'are')} left out. Split them into "
            "sentences, or raise max_words."
        )
    kept = np.flatnonzero(((lengths > 0) & (lengths <= max_words)).all(axis=0))
    chosen = pairs[kept]
    return TextPairs(
        as_sequences(chosen.sources), as_sequences(chosen.translations), chosen.pair_weights
    )


def check_pairs(sources: Any, targets: Any, names: tuple[str, str]) -> tuple[list[str], list[str]]:
    """Return texts and translations as lists of strings; messages name them and the pair."""
    if targets is None:
        raise ValueError(
            "This AttentionTranslator estimator requires y to be passed, but the target y is None: "
            f"give {names[1]}, the translations of {names[0]}."
        )
    lists = [_listed(texts, name) for texts, name in zip((sources, targets), names, strict=True)]
    lengths = [len(texts) for texts in lists]
    if lengths[0] != lengths[1]:
        raise ValueError(
            f"{names[0]} has {lengths[0]} texts and {names[1]} has {lengths[1]}; each source needs "
            "the target at the same place."
        )
    if not lengths[0]:
        raise ValueError(f"Found 0 pair(s) while a minimum of 1 is required: {names[0]} is empty.")
    first, second = (
        as_texts(texts, 0, name, f"{name} of pair {{}}")
        for texts, name in zip(lists, names, strict=True)
    )
    return first, second


def _listed(texts: Any, name: str) -> list[Any]:
    try:
        return as_list(texts)
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):  # of an iterator of the user
            raise
        raise type(error)(f"{name}: {error}") from None
