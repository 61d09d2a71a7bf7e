"""Explain methods: what is explained, and how contributions become explanations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray, starts_of
from sk_han.inspection.contributions import METHODS, Asked, Batch, LogOdds
from sk_han.inspection.results.collection import ExplanationList
from sk_han.inspection.results.document import COMBINATIONS, DocumentExplanation
from sk_han.inspection.results.result import read_only
from sk_han.parts import Pool
from sk_han.utils.containers import rows_of
from sk_han.utils.messages import check_choice, check_count, random_source
from sk_han.validation.documents import as_documents, check_texts, holds_word_ids


def refuse_lone_text(X: Any) -> None:
    """Refuse a string in place of documents, whose characters would be taken for them."""
    if isinstance(X, (str, bytes, bytearray)):
        check_texts(X)


def listed_documents(X: Any) -> Any:
    """Return documents that can be counted and read twice; refuse what are none."""
    refuse_lone_text(X)
    if hasattr(X, "shape") or hasattr(X, "__getitem__"):
        return X
    return list(X) if isinstance(X, Iterable) else check_texts(X)


def length_of(X: Any) -> int | None:
    """Return the number of documents, if it is known before they are read."""
    try:
        return len(X)
    except TypeError:  # an iterator, or what will be refused when it is read
        return None


def n_documents_of(X: Any) -> int:
    """Return the number of documents; a sparse matrix has a shape and no length."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def texts_of(X: Any) -> tuple[str, ...] | None:
    """Return documents as texts; None if they are word ids, or features of another estimator."""
    if holds_word_ids(X):
        return None
    try:
        return tuple(check_texts(X))
    except (TypeError, ValueError):
        return None


def in_portions(X: Any, size: int) -> Iterator[Any]:
    """Yield an iterator's documents in lists of `size`; yield any other X as it is."""
    if not isinstance(X, Iterator):
        yield X
        return
    first = 0
    while chunk := list(islice(X, size)):
        if any(document is None or isinstance(document, str) for document in chunk):
            chunk = check_texts(chunk, first=first)  # here their places in the iterator are known
        yield chunk
        first += len(chunk)


_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class How:
    """How contributions are found; `sk_han.explain` says what each parameter means."""

    method: str = "shapley"
    combine: str = "product"
    batch_size: int | None = None
    random_state: Any = None

    @classmethod
    def checked(cls, given: Mapping[str, Any]) -> How:
        """Check what a user has given."""
        names = [field.name for field in fields(cls)]
        for name in given:
            if name not in names:
                raise TypeError(
                    f"explain() got an unexpected keyword argument {name!r}; of how to explain it "
                    f"takes {', '.join(names)}."
                )
        how = cls(**given)
        check_choice("method", how.method, METHODS)
        check_choice("combine", how.combine, COMBINATIONS)
        if how.batch_size is not None:
            check_count("batch_size", how.batch_size)
            how = replace(how, batch_size=int(how.batch_size))
        return how


def takes_how(function: _FunctionT) -> _FunctionT:
    """Put the parameters of `How` into the signature of a function that takes ``**how``."""
    *own, _ = inspect.signature(function).parameters.values()
    how = inspect.signature(How).parameters.values()
    function.__signature__ = inspect.Signature([*own, *how])  # type: ignore[attr-defined]
    return function


class Source(NamedTuple):
    """The text of a document, and the positions of its sentences and words."""

    text: str
    sentence_spans: NDArray[np.int64]
    word_spans: NDArray[np.int64]
    sentence_of_word: NDArray[np.int64]
    truncated: bool


def located(X: Any, tokenizer: Any, size: int) -> Iterator[tuple[DocumentArray, list[Source]]]:
    """Yield documents, of word ids or raw texts, and their sources, at most `size` at a time."""
    if holds_word_ids(X) or tokenizer is None:
        documents = as_documents(X, tokenizer)
        for first in range(0, len(documents), size):
            batch = documents[first : first + size]
            yield batch, list(word_id_sources(batch, tokenizer))
        return
    texts = check_texts(X)
    for first in range(0, len(texts), size):
        batch_texts = texts[first : first + size]
        documents, spans = tokenizer.locate(batch_texts)
        pairs = zip(batch_texts, spans, strict=True)
        yield documents, [Source(text, *found) for text, found in pairs]


def word_id_sources(documents: DocumentArray, tokenizer: Any) -> Iterator[Source]:
    """Yield the text of each document of word ids: its words, or "#id" without a tokenizer."""
    for document in nested_words(documents, tokenizer):
        lengths = np.array([len(word) for sentence in document for word in sentence], dtype=int)
        ends = np.cumsum(lengths + 1) - 1  # one space or line break after each word
        word_spans = np.stack([ends - lengths, ends], axis=1)
        n_words = np.array([len(sentence) for sentence in document], dtype=int)
        starts = starts_of(n_words)
        sentence_spans = np.stack(
            [word_spans[starts[:-1], 0], word_spans[starts[1:] - 1, 1]], axis=1
        )
        text = "\n".join(" ".join(sentence) for sentence in document)
        yield Source(
            text, sentence_spans, word_spans, np.repeat(np.arange(len(document)), n_words), False
        )


def nested_words(documents: DocumentArray, tokenizer: Any) -> Iterable[list[list[str]]]:
    """Return the words of each sentence of each document, or "#id" without a tokenizer."""
    if tokenizer is None:
        return ([[f"#{i}" for i in sentence] for sentence in document] for document in documents)
    nested: list[list[list[str]]] = tokenizer.inverse_transform(documents)
    return nested


def explanations_of(
    pool: Pool,
    documents: DocumentArray,
    sources: Sequence[Source],
    asked: Asked,
    how: How,
    random: np.random.Generator | np.random.RandomState,
) -> list[DocumentExplanation]:
    """Explain a batch of D documents."""
    score = LogOdds.of(pool, documents, asked)
    found = METHODS[how.method](Batch(documents, score, how, random))
    target = pool.target
    proba = target.probabilities(found.logits)
    # All explanations share these: thousands of labels take more memory than the words.
    classes, thresholds = read_only(target.names), getattr(target, "thresholds", None)
    thresholds = None if thresholds is None else read_only(thresholds)
    predicted = target.likeliest(found.logits)
    label_sets = target.label_sets(found.logits)
    explained, rivals = asked.labels(target, found.logits), np.asarray(asked.rivals)
    word_starts = documents.word_starts
    unknown = documents.word_ids == UNKNOWN_ID
    errors, base = found.sentence_errors, found.base_values
    explanations = []
    for i, source in enumerate(sources):
        words = slice(word_starts[i], word_starts[i + 1])
        sentences = slice(documents.document_starts[i], documents.document_starts[i + 1])
        explanation = DocumentExplanation(
            **source._asdict(),
            word_attention=found.word_attention[words],
            sentence_attention=found.sentence_attention[sentences],
            contributions=found.words[words],
            sentence_contributions=found.sentences[sentences],
            method=how.method,
            classes=classes,
            probabilities=proba[i],
            predicted=classes[predicted[i]],
            target=classes[explained[i]],
            against=None if rivals[i] < 0 else classes[rivals[i]],
            unknown=unknown[words],
            combine=how.combine,
            ngram_contributions=found.ngrams[words],
            sentence_errors=None if errors is None else errors[sentences],
            base_value=None if base is None else float(base[i]),
            labels=None if label_sets is None else label_sets[i],
            thresholds=thresholds,
        )
        explanations.append(explanation)
    return explanations


# Documents of an iterator that are read again: by the members of an ensemble, or for other labels.
PORTION = 64


# Explains documents, by the keywords of `sk_han.explain` but for `targets` and `y_true`.
Explains = Callable[..., Iterable[DocumentExplanation]]


def for_answers(
    explains: Explains, X: Any, target: Any, against: Any, targets: str, how: dict[str, Any]
) -> Iterator[tuple[int, DocumentExplanation]]:
    """Check at the call; explain each label that a document gets, with the document's number."""
    check_choice("targets", targets, ("predicted",))
    for name, given in (("target", target), ("against", against)):
        if given is not None:
            raise ValueError(f"{name} is {given!r} and targets {targets!r}; give one of them.")
    refuse_lone_text(X)
    how = how | {"random_state": random_source(how.get("random_state"))}

    def explained() -> Iterator[tuple[int, DocumentExplanation]]:
        n_read, size = 0, how.get("batch_size") or PORTION
        for portion in _portions(X, size):
            likeliest = list(explains(portion, **how))
            answers = [e.labels or (e.predicted,) for e in likeliest]
            wanted = [(i, label) for i, labels in enumerate(answers) for label in labels]
            found = {(i, e.predicted): e for i, e in enumerate(likeliest)}
            others = [pair for pair in wanted if pair not in found]
            if others:
                rows, labels = zip(*others, strict=True)
                documents = rows_of(portion, np.array(rows))
                found |= dict(zip(others, explains(documents, target=labels, **how), strict=True))
            yield from ((n_read + i, found[i, label]) for i, label in wanted)
            n_read += len(likeliest)

    return explained()


def _portions(X: Any, size: int) -> Iterator[Any]:
    """Split documents; of an array or DataFrame the portions are of its kind."""
    if isinstance(X, (list, tuple)):
        return in_portions(iter(X), size)  # it tells their places in errors
    n = length_of(X)
    if n is None or isinstance(X, (Mapping, Set)):  # documents need an order
        return in_portions(X, size)
    return (rows_of(X, np.arange(i, min(i + size, n))) for i in range(0, n, size))


def of_answers(
    found: Iterable[tuple[int, DocumentExplanation]], y_true: Any = None
) -> ExplanationList:
    """Return a list of explanations with their documents' numbers, and true labels of documents."""
    found = list(found)
    of_documents = dict(reversed(found))
    true = ExplanationList([of_documents[n] for n in sorted(of_documents)], y_true=y_true).y_true
    return ExplanationList(
        [explanation for _, explanation in found],
        y_true=None if true is None else [true[number] for number, _ in found],
        numbers=[number for number, _ in found],
    )
