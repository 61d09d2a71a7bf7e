"""Texts in numbers before a fit: what is read, what is dropped, what looks wrong."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sk_han.documents import UNKNOWN_ID, DocumentArray
from sk_han.documents.repeated import conflicting_rows, first_of_same_words
from sk_han.inspection.fit_cost import estimated_cost
from sk_han.inspection.results.description import TextDescription
from sk_han.rendering.description_facts import LOOKED_INTO
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.utils.counts import a_kind, counted
from sk_han.validation.doubtful import warn_of_order
from sk_han.validation.indicators import check_indicator, is_indicator
from sk_han.validation.labels import check_labels
from sk_han.validation.texts import check_texts

_DROPPED_SHOWN = 20
_SAMPLES = 3


def describe(
    texts: Any, labels: Any = None, tokenizer: HierarchicalTokenizer | None = None
) -> TextDescription:
    """Describe a collection before a fit: what a classifier would read, and what looks wrong.

    Parameters
    ----------
    texts : iterable of str, shape (n_documents,)
        Raw texts in any container that `HANClassifier.fit` takes. Those of an iterator are kept in
        memory.
    labels : array-like of shape (n_documents,), or indicator (n_documents, n_labels), default=None
        Without them there is nothing on classes and conflicting labels. An indicator, as
        `HANClassifier.fit` takes it, is of several labels a document.
    tokenizer : HierarchicalTokenizer, default=None
        What the fit will use. A clone of it reads the texts; None means
        ``HierarchicalTokenizer()``.

    Returns
    -------
    TextDescription
        ``print`` it, or end the cell of a notebook with it.

    Raises
    ------
    TypeError, ValueError
        If texts or labels are what `HANClassifier.fit` would refuse, such as texts without any word
        or labels of another number.

    Notes
    -----
    Seconds and memory are an estimate, by a formula with constants measured on one machine
    (docs/how_to/how_long.md): others may take half or twice as long. A model of characters is not
    counted; where one pays, it may double the time. The texts are tokenized, which takes a
    few per cent of a fit.

    Examples
    --------
    >>> from sk_han import describe
    >>> description = describe(["A fine film.", "A fine film.", "Dull!"], ["pos", "neg", "neg"])
    >>> description.n_words, description.conflicting, description.class_counts
    (10, [0, 1], {'neg': 2, 'pos': 1})
    """
    if hasattr(texts, "get_params"):
        raise TypeError(
            "describe reads texts before a fit, and no estimator: describe(texts, labels). "
            f"Got {type(texts).__name__}."
        )
    warn_of_order(texts, labels, "labels", "texts")
    texts = check_texts(texts)
    class_counts, targets, labels_of_each = _labels(labels, len(texts))
    if tokenizer is None:
        tokenizer = HierarchicalTokenizer()
    elif not isinstance(tokenizer, HierarchicalTokenizer):
        raise TypeError(f"tokenizer must be a HierarchicalTokenizer; got {a_kind(tokenizer)}.")
    tokenizer = clone(tokenizer)
    documents, _ = tokenizer.fit_transform_both(texts)
    if not documents.n_words:  # where no vocabulary is given, the tokenizer has refused them
        raise ValueError(
            f"Of {counted(len(texts))} none has a word, so there is nothing to describe."
        )
    first = first_of_same_words(documents)
    conflicting = [] if targets is None else conflicting_rows(first, targets).tolist()
    dropped, dropped_share = _dropped(texts, tokenizer)
    words = documents.words_per_document
    lengths = {
        "words a document": _quantiles(words),
        "sentences a document": _quantiles(documents.sentences_per_document),
        "words a sentence": _quantiles(documents.words_per_sentence),
    }
    if labels_of_each is not None:
        lengths["labels a document"] = _quantiles(labels_of_each)
    return TextDescription(
        n_documents=len(documents),
        n_sentences=documents.n_sentences,
        n_words=documents.n_words,
        n_distinct_words=len(tokenizer.vocabulary_),
        lengths=lengths,
        scripts=_scripts(documents, tokenizer.vocabulary_),
        without_words=np.flatnonzero(words == 0).tolist(),
        repeated=np.flatnonzero(first != np.arange(len(first))).tolist(),
        conflicting=conflicting,
        class_counts=class_counts,
        without_labels=(
            None if labels_of_each is None else np.flatnonzero(labels_of_each == 0).tolist()
        ),
        dropped_characters=dropped,
        dropped_share=dropped_share,
        truncated=_truncated(texts, tokenizer, words),
        unknown_share=float((documents.word_ids == UNKNOWN_ID).mean()),
        samples=_samples(texts, tokenizer, words),
        cost=estimated_cost(
            documents,
            len(tokenizer.vocabulary_),
            n_classes=2 if class_counts is None else len(class_counts),
            several_labels=labels_of_each is not None,
        ),
    )


def _labels(
    labels: Any, n_documents: int
) -> tuple[dict[Any, int] | None, NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """Return documents of each label, numbers of the documents' labels, how many each has (D,)."""
    if labels is None:
        return None, None, None
    if is_indicator(labels):
        t, columns = check_indicator(labels, n_documents, "labels")
        names = range(t.shape[1]) if columns is None else columns.tolist()
        class_counts = dict(zip(names, t.sum(axis=0).tolist(), strict=True))
        targets = np.unique(t, axis=0, return_inverse=True)[1].reshape(-1)
        return class_counts, targets, t.sum(axis=1)
    checked = check_labels(labels, n_documents, "labels")
    classes, targets = np.unique(checked, return_inverse=True)
    counts = np.bincount(targets).tolist()
    return dict(zip(classes.tolist(), counts, strict=True)), targets, None


def _quantiles(lengths: NDArray[np.int64]) -> dict[str, float]:
    shortest, low, median, high, longest = np.quantile(lengths, [0, 0.1, 0.5, 0.9, 1]).tolist()
    return {
        "shortest": shortest,
        "10 %": low,
        "median": median,
        "mean": float(lengths.mean()),
        "90 %": high,
        "longest": longest,
    }


def _scripts(documents: DocumentArray, vocabulary: dict[str, int]) -> dict[str, float]:
    """Return the share of each script, told by the first letter of each word."""
    occurrences = np.bincount(documents.word_ids, minlength=UNKNOWN_ID + 1)
    n_words: Counter[str] = Counter()
    for word, number in vocabulary.items():
        if number < len(occurrences) and (script := _script(word)) is not None:
            n_words[script] += int(occurrences[number])
    total = sum(n_words.values())
    return {script: n / total for script, n in n_words.most_common() if n}


def _script(word: str) -> str | None:
    """Return the script of a word: the first part of the Unicode name of its first letter."""
    for character in word:
        if character.isalpha():
            if character.isascii():
                return "Latin"
            name = unicodedata.name(character, "other")
            name = name.removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
            first = name.partition(" ")[0].partition("-")[0]
            return {"CJK": "Han", "MODIFIER": "other"}.get(first, first.capitalize())
    return None


def _dropped(texts: list[str], tokenizer: HierarchicalTokenizer) -> tuple[dict[str, int], float]:
    """Count characters that belong to no word, in some texts, and their share of all."""
    rows = np.linspace(0, len(texts) - 1, min(len(texts), LOOKED_INTO)).astype(np.int64)
    some = [texts[row] for row in rows.tolist()]
    unlimited = _without_limits(tokenizer)
    dropped: Counter[str] = Counter()
    n_characters = 0
    for text, spans in zip(some, unlimited.spans(some), strict=True):
        n_characters += len("".join(text.split()))
        ends = [0, *spans.word_spans[:, 1].tolist()]
        starts = [*spans.word_spans[:, 0].tolist(), len(text)]
        for end, start in zip(ends, starts, strict=True):
            dropped.update("".join(text[end:start].split()))
    share = sum(dropped.values()) / n_characters if n_characters else 0.0
    return dict(dropped.most_common(_DROPPED_SHOWN)), share


def _without_limits(tokenizer: HierarchicalTokenizer) -> HierarchicalTokenizer:
    """Return a tokenizer of the same words that reads texts to their end."""
    unlimited: HierarchicalTokenizer = clone(tokenizer).set_params(
        max_sentences=None, max_words=None, output="ragged"
    )
    unlimited.vocabulary_ = tokenizer.vocabulary_
    return unlimited


def _truncated(
    texts: list[str], tokenizer: HierarchicalTokenizer, words: NDArray[np.int64]
) -> list[int]:
    if tokenizer.max_sentences is None and tokenizer.max_words is None:
        return []
    whole = _without_limits(tokenizer).transform(texts)
    assert isinstance(whole, DocumentArray)
    return np.flatnonzero(whole.words_per_document > words).tolist()


def _samples(
    texts: list[str], tokenizer: HierarchicalTokenizer, words: NDArray[np.int64]
) -> dict[int, list[list[str]]]:
    """Return some texts as they are split: sentences of words as they stand in the text."""
    readable = np.flatnonzero(words)
    numbers = np.linspace(0, len(readable) - 1, min(len(readable), _SAMPLES)).astype(np.int64)
    rows = readable[numbers].tolist()
    found = {}
    for row, spans in zip(rows, tokenizer.spans([texts[row] for row in rows]), strict=True):
        sentences: list[list[str]] = [[] for _ in spans.sentence_spans]
        for (start, end), sentence in zip(
            spans.word_spans.tolist(), spans.sentence_of_word.tolist(), strict=True
        ):
            sentences[sentence].append(texts[row][start:end])
        found[row] = sentences
    return found
