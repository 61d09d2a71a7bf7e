"""From batches of documents to explanations: options, explained classes, texts, results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray, starts_of
from sk_han.inspection.contributions import METHODS, Contributions, contributions_of
from sk_han.inspection.results.document import COMBINATIONS, DocumentExplanation
from sk_han.inspection.results.result import read_only
from sk_han.parts import Pool
from sk_han.parts.pool import COLUMNS, NETWORK
from sk_han.targets import OneOfClasses, Target
from sk_han.utils.containers import label_list, listed
from sk_han.utils.messages import check_choice, check_count, counted, in_one_line
from sk_han.validation.documents import as_documents, check_texts, holds_word_ids, with_columns
from sk_han.validation.labels import ClassNames

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """Options of `sk_han.explain`, which documents each of them."""

    method: str = "shapley"
    combine: str = "product"
    batch_size: int | None = None
    random_state: Any = None

    @classmethod
    def checked(cls, options: Mapping[str, Any]) -> ExplainOptions:
        """Check the keyword arguments of a call."""
        names = [field.name for field in fields(cls)]
        for name in options:
            if name not in names:
                raise TypeError(
                    f"explain() got an unexpected keyword argument {name!r}; the options of an "
                    f"explanation are {', '.join(names)}."
                )
        checked = cls(**options)
        check_choice("method", checked.method, METHODS)
        check_choice("combine", checked.combine, COMBINATIONS)
        if checked.batch_size is not None:
            check_count("batch_size", checked.batch_size)
            checked = replace(checked, batch_size=int(checked.batch_size))
        return checked


def takes_options(function: _FunctionT) -> _FunctionT:
    """Put `ExplainOptions` into the signature of a function that takes ``**options``."""
    *own, _ = inspect.signature(function).parameters.values()
    options = inspect.signature(ExplainOptions).parameters.values()
    function.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    return function


@dataclass(frozen=True)
class ExplainedClasses:
    """Target and contrast class of each document, by their numbers.

    Each is one number for all documents or an array (D,). A target of -1 is the most probable
    label, a contrast class of -1 all other classes together.
    """

    target: Any = -1
    against: Any = -1

    @classmethod
    def checked(
        cls,
        target: Any,
        against: Any,
        of: Target,
        n_documents: int | None,
        targets: str | None = None,
    ) -> ExplainedClasses:
        """Check the parameters of `explain`; the number of documents may not be known yet."""
        if targets is not None:
            check_choice("targets", targets, ("predicted",))
            for name, label in (("target", target), ("against", against)):
                if label is not None:
                    raise ValueError(
                        f"{name} is {label!r} and targets {targets!r}; give one of them."
                    )
        if against is not None and not isinstance(of, OneOfClasses):
            raise ValueError(
                f"against is {against!r}, but a document may have several labels here, which do "
                "not exclude each other; leave it out."
            )
        if against is not None and len(of.names) == 1:
            raise ValueError(
                f"against is {against!r}, but the model knows no other class; leave it out."
            )
        classes = cls(
            _class_numbers("target", target, of.names, n_documents),
            _class_numbers("against", against, of.names, n_documents),
        )
        both = np.ndim(classes.target) and np.ndim(classes.against)
        if both and np.size(classes.target) != np.size(classes.against):
            raise _wrong_length("against", classes.against, f"{np.size(classes.target)} targets")
        same = np.atleast_1d((classes.target == classes.against) & (classes.against >= 0))
        if same.any():
            number = int(np.broadcast_to(classes.against, same.shape)[same][0])
            raise ValueError(
                f"target and against are both {of.names.tolist()[number]!r}; give two classes, or "
                "leave one of them out."
            )
        return classes

    def batch(self, first: int, n: int) -> ExplainedClasses:
        """Return the classes of n documents from number `first` on, as arrays."""
        rows = slice(first, first + n)
        arrays = {}
        for name, numbers in vars(self).items():
            if isinstance(numbers, np.ndarray) and len(numbers) < rows.stop:
                raise _wrong_length(name, numbers, f"{counted(rows.stop)} or more")
            arrays[name] = numbers[rows] if isinstance(numbers, np.ndarray) else np.full(n, numbers)
        return ExplainedClasses(**arrays)

    def check_length(self, n_documents: int) -> None:
        """Check that there are not more labels than documents."""
        for name, numbers in vars(self).items():
            if isinstance(numbers, np.ndarray) and n_documents < len(numbers):
                raise _wrong_length(name, numbers, counted(n_documents))

    def targets(self, logits: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the target of each document, (D,): by default the most probable label."""
        is_contrast = np.arange(logits.shape[1]) == np.reshape(self.against, (-1, 1))
        likeliest = np.where(is_contrast, -np.inf, logits).argmax(axis=1)
        return np.where(np.asarray(self.target) >= 0, self.target, likeliest)


def _class_numbers(
    argument: str, given: Any, classes: NDArray[Any], n_documents: int | None
) -> NDArray[np.int64] | int:
    """Return the number of a label, or of each label of an array-like; -1 for None."""
    if given is None:
        return -1
    names = ClassNames(classes.tolist())
    if hasattr(given, "as_py"):  # an Arrow scalar, which NumPy takes for a sequence
        given = given.as_py()
    is_one = not isinstance(given, (list, tuple)) and np.ndim(given) == 0
    labels = label_list(given)
    numbers = np.empty(len(labels), dtype=np.int64)
    for i, label in enumerate(labels):
        number = names.of(label)
        if number is None:
            name = argument if is_one else f"{argument}[{i}]"
            raise ValueError(
                f"{name} is {in_one_line(repr(label), 60)}; the classes are "
                f"{listed(classes.tolist(), 20)}. Give one of them for all documents, or a list "
                "of one for each."
            )
        numbers[i] = number
    if is_one:
        return int(numbers[0])
    if n_documents is not None and n_documents != len(numbers):
        raise _wrong_length(argument, numbers, counted(n_documents))
    return numbers


def _wrong_length(argument: str, numbers: Any, documents: str) -> ValueError:
    return ValueError(
        f"{argument} has {counted(len(numbers), 'label')} for {documents}; give one label for "
        "each, or one for all."
    )


@dataclass(frozen=True)
class LogOdds:
    """Log-odds of the target of each document, linearized at its logits.

    With the logits ``z`` of the ensemble and one class ``t`` of several the log-odds are
    ``z_t - log(sum_{c != t} exp(z_c))``, and ``z_t - sum_{c != t} q_c z_c`` has the same gradient,
    with the softmax ``q`` over the other classes. For two classes, and against one class ``o``,
    both are ``z_t - z_o``.
    """

    pool: Pool
    other_logits: NDArray[np.float64]  # (D, K), scaled, of all parts but the network
    classes: ExplainedClasses  # arrays (D,)

    def __getitem__(self, rows: Any) -> LogOdds:
        classes = ExplainedClasses(*(numbers[rows] for numbers in vars(self.classes).values()))
        return LogOdds(self.pool, self.other_logits[rows], classes)

    def __call__(self, network_logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the gradient with respect to the logits of the network, (D, K)."""
        return self.pool.scales[NETWORK] * self.gradient(self.logits(network_logits))

    def logits(self, network_logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the logits of the ensemble, (D, K)."""
        return self.pool.scales[NETWORK] * network_logits.astype(np.float64) + self.other_logits

    def gradient(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient with respect to the logits of the ensemble, (D, K)."""
        targets = self.classes.targets(logits)
        return self.pool.target.factors(logits, targets, self.classes.against)


class Source(NamedTuple):
    """The text of a document, and the positions of its sentences and words."""

    text: str
    sentence_spans: NDArray[np.int64]
    word_spans: NDArray[np.int64]
    sentence_of_word: NDArray[np.int64]
    truncated: bool
    tokens: list[str] | None = None  # its words, if some have no place of their own in the text
    column_values: Any = ()  # of a table


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
        with_columns(documents, batch_texts)
        sources = []
        values: Any = [*zip(*getattr(batch_texts, "values", ()), strict=True)]
        values = values or len(batch_texts) * [()]
        for text, found, row in zip(batch_texts, spans, values, strict=True):
            edges = found.word_spans.ravel()  # starts and ends
            is_plain = (edges[1:] >= edges[:-1]).all() and (edges[1::2] > edges[::2]).all()
            source = Source(text, *found)._replace(column_values=row)
            sources.append(source._replace(tokens=None) if is_plain else source)
        yield documents, sources


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


def explain_batch(
    pool: Pool,
    documents: DocumentArray,
    sources: Sequence[Source],
    classes: ExplainedClasses,
    options: ExplainOptions,
    random: np.random.Generator | np.random.RandomState,
    *,
    each_predicted: bool = False,
) -> list[tuple[int, DocumentExplanation]]:
    """Explain D documents for their targets, with the number of each within the batch.

    With `each_predicted`, each predicted label of a document is explained, or the most probable
    label if none is predicted.
    """
    target = pool.target
    log_odds = LogOdds(pool, pool.others.logits(documents), classes)
    contributions = contributions_of(documents, log_odds, options, random)
    logits = contributions.logits
    targets = classes.targets(logits)
    shares = _network_shares(target, logits, log_odds.other_logits)
    explanations = _as_explanations(
        target, pool.parts.get(COLUMNS), documents, sources, contributions, classes, options, shares
    )
    if not each_predicted or target.has_one_label:
        return list(enumerate(explanations))
    decided = target.decide(logits)  # (D, K)
    has_none = np.flatnonzero(~decided.any(axis=1))
    decided[has_none, targets[has_none]] = True
    rows, labels = np.nonzero(decided)
    of_label = dict(zip(enumerate(targets.tolist()), explanations, strict=True))
    others = np.flatnonzero(labels != targets[rows])
    if len(others):
        rows_again, labels_again = rows[others], labels[others]
        again = explain_batch(
            pool,
            documents[rows_again],
            [sources[row] for row in rows_again],
            ExplainedClasses(labels_again, classes.against[rows_again]),
            options,
            random,
        )
        for row, label, (_, explanation) in zip(rows_again, labels_again, again, strict=True):
            of_label[row, label] = explanation
    return [
        (row, of_label[row, label])
        for row, label in zip(rows.tolist(), labels.tolist(), strict=True)
    ]


def _network_shares(
    target: Target, logits: NDArray[np.float64], of_others: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of the network in the logits (D, K) of each document, (D,)."""
    network, others = (
        np.abs(target.centred(z)).sum(axis=1) for z in (logits - of_others, of_others)
    )
    total = network + others
    return np.where(others > 0, network / np.where(total > 0, total, 1), 1.0)


def _as_explanations(
    target: Target,
    part: Any,
    documents: Any,
    sources: Sequence[Source],
    contributions: Contributions,
    classes: ExplainedClasses,
    options: ExplainOptions,
    network_shares: NDArray[np.float64],
) -> list[DocumentExplanation]:
    """Divide the contributions of a batch among one DocumentExplanation for each document."""
    logits = contributions.logits
    probabilities, predicted = target.probabilities(logits), logits.argmax(axis=1)
    label_sets = target.label_sets(logits)
    targets, against = classes.targets(logits), classes.against
    # All explanations share these: thousands of labels take more memory than the words.
    names, thresholds = read_only(target.names), getattr(target, "thresholds", None)
    thresholds = None if thresholds is None else read_only(thresholds)
    word_starts, unknown = documents.word_starts, documents.word_ids == UNKNOWN_ID
    errors, base_values = contributions.sentence_errors, contributions.base_values
    encoder = None if part is None else part.encoder
    columns = () if encoder is None else tuple(encoder.codings)
    explanations = []
    for i, source in enumerate(sources):
        words = slice(word_starts[i], word_starts[i + 1])
        sentences = slice(documents.document_starts[i], documents.document_starts[i + 1])
        if encoder is not None:
            column_values = encoder.written(documents.columns[i], source.column_values)
            source = source._replace(column_values=column_values)
        explanation = DocumentExplanation(
            **source._asdict(),
            word_attention=contributions.word_attention[words],
            sentence_attention=contributions.sentence_attention[sentences],
            contributions=contributions.words[words],
            sentence_contributions=contributions.sentences[sentences],
            method=options.method,
            classes=names,
            probabilities=probabilities[i],
            predicted=names[predicted[i]],
            target=names[targets[i]],
            against=None if against[i] < 0 else names[against[i]],
            unknown=unknown[words],
            combine=options.combine,
            network_share=network_shares[i],
            ngram_contributions=contributions.ngrams[words],
            sentence_errors=None if errors is None else errors[sentences],
            base_value=None if base_values is None else float(base_values[i]),
            labels=None if label_sets is None else label_sets[i],
            thresholds=thresholds,
            column_names=columns,
            column_contributions=(
                np.zeros(len(columns))
                if contributions.columns is None
                else contributions.columns[i]
            ),
        )
        explanations.append(explanation)
    return explanations
