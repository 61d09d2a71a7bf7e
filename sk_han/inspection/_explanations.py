"""Computing explanations batch by batch: options, explained classes, scores and results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import UNKNOWN_ID, DocumentArray
from sk_han._model.fitted_model import FittedModel, Source
from sk_han._parts import Pool
from sk_han._parts.pool import NETWORK
from sk_han._rendering.result import read_only
from sk_han._targets import Number, OneOfClasses, OrderedClasses, Target
from sk_han._utils.containers import document_ids, label_list, listed, to_records
from sk_han._utils.messages import (
    check_choice,
    check_count,
    in_one_line,
    plural,
    random_source,
    warn_user,
)
from sk_han._utils.progress import Stages
from sk_han._validation.documents import check_texts, holds_word_ids
from sk_han._validation.labels import ClassNames, warn_of_order
from sk_han.inspection._contributions import METHODS, Contributions, contributions_of
from sk_han.inspection._results.collection import ExplanationList
from sk_han.inspection._results.document import DocumentExplanation

# If the share of the network in the scores is smaller, its attention explains little.
_SMALL_SHARE = 0.2


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """The options of `sk_han.explain`, whose docstring describes them."""

    target: Any = None
    against: Any = None
    targets: str | None = None
    method: str = "shapley"
    batch_size: int | None = None
    random_state: Any = None

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> ExplainOptions:
        """Check the keyword arguments of `explain`."""
        names = [field.name for field in fields(cls)]
        for name in options:
            if name not in names:
                raise TypeError(
                    f"explain() got an unexpected keyword argument {name!r}; the options of an "
                    f"explanation are {', '.join(names)}."
                )
        result = cls(**options)
        check_choice("method", result.method, METHODS)
        if result.batch_size is not None:
            check_count("batch_size", result.batch_size)
            result = replace(result, batch_size=int(result.batch_size))
        return result


@dataclass(frozen=True)
class ExplainedClasses:
    """The numbers of the target and of the contrast class of each document.

    Each is one number for all documents or an array, (D,). A target of -1 is the top label, and a
    contrast class of -1 stands for all other classes together.
    """

    target: Any = -1
    against: Any = -1

    @classmethod
    def from_options(
        cls, options: ExplainOptions, of: Target, n_documents: int | None
    ) -> ExplainedClasses:
        """Check the classes in the options; for an iterator, `n_documents` is None."""
        target, against, targets = options.target, options.against, options.targets
        if of.is_number and not target is against is targets is None:
            raise ValueError(
                "target, against and targets choose classes, and this model predicts a number; "
                "leave them out."
            )
        if targets is not None:
            check_choice("targets", targets, ("predicted", "expected"))
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
                raise _wrong_length(name, numbers, f"{plural(rows.stop)} or more")
            arrays[name] = numbers[rows] if isinstance(numbers, np.ndarray) else np.full(n, numbers)
        return ExplainedClasses(**arrays)

    def check_length(self, n_documents: int) -> None:
        """Check that there are not more labels than documents."""
        for name, numbers in vars(self).items():
            if isinstance(numbers, np.ndarray) and n_documents < len(numbers):
                raise _wrong_length(name, numbers, plural(n_documents))

    def targets(self, logits: NDArray[np.float64], of: Target) -> NDArray[np.int64]:
        """Return the target of each document, (D,), by default the top label but `against`."""
        is_contrast = np.arange(logits.shape[1]) == np.reshape(self.against, (-1, 1))
        top = of.top_label(of.probabilities(np.where(is_contrast, -np.inf, logits)))
        return np.where(np.asarray(self.target) >= 0, self.target, top)


def _class_numbers(
    argument: str, value: Any, classes: NDArray[Any], n_documents: int | None
) -> NDArray[np.int64] | int:
    """Return the number of a label, or of each label of an array-like; -1 for None."""
    if value is None:
        return -1
    names = ClassNames(classes.tolist())
    # NumPy would take an Arrow scalar for a sequence.
    if hasattr(value, "as_py"):
        value = value.as_py()
    is_one = not isinstance(value, (list, tuple)) and np.ndim(value) == 0
    labels = label_list(value)
    numbers = np.empty(len(labels), dtype=np.int64)
    for i, label in enumerate(labels):
        number = names.number(label)
        if number is None:
            name = argument if is_one else f"{argument}[{i}]"
            raise ValueError(
                f"{name} is {in_one_line(repr(label), 60)}; the classes are "
                f"{listed(classes.tolist(), 20)}. Give one for all documents, or one for each."
            )
        numbers[i] = number
    if is_one:
        return int(numbers[0])
    if n_documents is not None and n_documents != len(numbers):
        raise _wrong_length(argument, numbers, plural(n_documents))
    return numbers


def _wrong_length(argument: str, numbers: Any, documents: str) -> ValueError:
    return ValueError(
        f"{argument} has {plural(len(numbers), 'label')} for {documents}; give one label for "
        "each, or one for all."
    )


@dataclass(frozen=True)
class LogOdds:
    """The log-odds of the target of each document, with their gradient at the document's logits.

    With the logits ``z`` of the ensemble, the log-odds of a class ``t`` are
    ``z_t - log(sum_{c != t} exp(z_c))``. Their gradient is that of ``z_t - sum_{c != t} q_c z_c``,
    with the softmax ``q`` over the other classes. With two classes, or against a single class
    ``o``, both are ``z_t - z_o``.
    """

    pool: Pool
    other_logits: NDArray[np.float64]  # (D, K), scaled, of all parts except the network
    classes: ExplainedClasses  # arrays (D,)

    def __getitem__(self, rows: Any) -> LogOdds:
        classes = ExplainedClasses(*(numbers[rows] for numbers in vars(self.classes).values()))
        return LogOdds(self.pool, self.other_logits[rows], classes)

    def factors(self, network_logits: NDArray[np.float64], rows: Any) -> NDArray[np.float64]:
        """Return the gradient with respect to the logits of the network for documents in `rows`."""
        log_odds = self[rows]
        return self.pool.scales[NETWORK] * log_odds.gradient(log_odds.logits(network_logits))

    def logits(self, network_logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logits of the ensemble, (D, K)."""
        return self.pool.scales[NETWORK] * network_logits + self.other_logits

    def gradient(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient with respect to the logits of the ensemble, (D, K)."""
        targets = self.classes.targets(logits, self.pool.target)
        return self.pool.target.factors(logits, targets, self.classes.against)


def listed_documents(X: Any) -> Any:
    """Return documents in a container that can be counted and read twice, such as a list."""
    X = as_container(X)
    if hasattr(X, "shape") or hasattr(X, "__getitem__"):
        return X
    return list(X) if isinstance(X, Iterable) else check_texts(X)


def in_portions(X: Any, size: int) -> Iterator[Any]:
    """Yield the documents of an iterator in lists of `size`; yield any other X unchanged."""
    if not isinstance(X, Iterator):
        yield X
        return
    first = 0
    while chunk := list(islice(X, size)):
        # Texts are checked here, where errors can name their position in the iterator.
        if any(document is None or isinstance(document, str) for document in chunk):
            chunk = check_texts(chunk, first=first)
        yield chunk
        first += len(chunk)


def as_container(X: Any) -> Any:
    """Convert a mapping of columns to a list of documents; refuse a single text."""
    if isinstance(X, (str, bytes, bytearray)):
        check_texts(X)
    return to_records(X)


@dataclass(frozen=True)
class ExplainedModel:
    """A fitted model with what explanations need besides.

    `steps` are the steps of a Pipeline before its tokenizer, and `computing` returns the context in
    which the model computes.
    """

    fitted: FittedModel
    steps: Sequence[Any] = ()
    computing: Callable[[], AbstractContextManager[None]] = nullcontext
    quiet: bool = True

    def are_raw_texts(self, X: Any) -> bool:
        """Return whether X holds raw texts for the tokenizer, and not word ids."""
        return self.fitted.tokenizer is not None and not holds_word_ids(X)

    def read(self, X: Any) -> DocumentArray:
        """Read documents as the model does, after the steps before it."""
        for step in self.steps:
            X = step.transform(X)
        with self.computing():
            return self.fitted.read(X)

    def predict_proba(self, documents: DocumentArray) -> NDArray[np.float64]:
        """Predict probabilities of tokenized documents, (D, K)."""
        pool = self.fitted.pool
        with self.computing():
            return pool.target.probabilities(pool.logits(self.fitted.read(documents)))

    def batches(
        self, X: Any, size: int | None = None
    ) -> Iterator[tuple[DocumentArray, list[Source]]]:
        """Yield documents and their sources, at most `size` at a time."""
        size = size or self.fitted.pool.network.batch_size
        for chunk in in_portions(X, size):
            for step in self.steps:
                chunk = step.transform(chunk)
            yield from self.fitted.locate(chunk, size)

    def explain(self, X: Any, *, y_true: Any = None, **options: Any) -> ExplanationList:
        """Explain documents as `sk_han.explain` does."""
        if y_true is not None:
            warn_of_order(X, y_true, "y_true")
        return explanation_list(self.explanations(X, **options), y_true, document_ids(X))

    def explanations(self, X: Any, **keywords: Any) -> Iterator[tuple[int, DocumentExplanation]]:
        """Yield the number of each document and its explanation; check options immediately."""
        options = ExplainOptions.from_options(keywords)
        X = as_container(X)
        random = random_source(options.random_state)
        classes = ExplainedClasses.from_options(options, self.fitted.target, known_length(X))
        batches, pool = self.batches(X, options.batch_size), self.fitted.pool
        if options.targets == "expected":
            if not isinstance(pool.target, OrderedClasses) or options.method != "shapley":
                raise ValueError(
                    "targets='expected' explains the expected number of ordered classes, by "
                    "method='shapley' alone, and this model has learnt "
                    f"{pool.target.labelling}, and method is {options.method!r}. Fit a "
                    "HANClassifier(ordered=True), or leave it out."
                )
            pool = replace(pool, target=Number.from_values(pool.target.values))

        def generate() -> Iterator[tuple[int, DocumentExplanation]]:
            n_read = 0
            with Stages(not self.quiet)("Explained", "document") as advance:
                for documents, sources in batches:
                    with self.computing():
                        batch = explain_batch(
                            pool,
                            documents,
                            sources,
                            classes.batch(n_read, len(documents)),
                            options,
                            random,
                            of=self.fitted.target,
                            each_predicted=options.targets is not None,
                        )
                    yield from ((n_read + number, explanation) for number, explanation in batch)
                    n_read += len(documents)
                    advance(len(documents))
            classes.check_length(n_read)

        return generate()


def explanation_list(
    explained: Iterable[tuple[int, DocumentExplanation]], y_true: Any = None, ids: Any = None
) -> ExplanationList:
    """Collect explanations and the numbers of their documents, which `y_true` has labels of."""
    explained = list(explained)
    numbers = [number for number, _ in explained]
    explanations = [explanation for _, explanation in explained]
    shares = [explanation.network_share for explanation in explanations if not explanation.signed]
    if shares and np.mean(shares) < _SMALL_SHARE:
        warn_user(
            f"method='attention' shows the network alone, whose share of the scores is "
            f"{np.mean(shares):.0%} here. method='shapley' explains all parts of the model."
        )
    if y_true is not None and len(set(numbers)) < len(numbers):
        # A document may have several explanations, of which the first stands for it.
        first = np.unique(numbers, return_index=True)[1]
        of_documents: Any = ExplanationList([explanations[i] for i in first], y_true=y_true).y_true
        y_true = [of_documents[number] for number in numbers]
    return ExplanationList(explanations, y_true=y_true, numbers=numbers, ids=ids)


def known_length(X: Any) -> int | None:
    """Return the number of documents, or None if it is unknown or X is sparse, as later refused."""
    return len(X) if hasattr(X, "__len__") and not hasattr(X, "getnnz") else None


def explain_batch(
    pool: Pool,
    documents: DocumentArray,
    sources: Sequence[Source],
    classes: ExplainedClasses,
    options: ExplainOptions,
    random: np.random.Generator | np.random.RandomState,
    *,
    of: Target,
    each_predicted: bool = False,
) -> list[tuple[int, DocumentExplanation]]:
    """Explain D documents; return the number of each in the batch with its explanation.

    `of` is the target of the model, by which it predicts; the target of the pool is that which is
    explained. With `each_predicted`, each predicted label of a document is explained, or the most
    probable label if none is predicted.
    """
    target = pool.target
    log_odds = LogOdds(pool, pool.others.logits(documents), classes)
    contributions = contributions_of(documents, log_odds, options, random)
    logits = contributions.logits
    targets = classes.targets(logits, target)
    shares = _network_shares(target, logits - pool.shift, log_odds.other_logits - pool.shift)
    explanations = _as_explanations(
        pool, documents, sources, contributions, classes, options, shares, of
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
            of=of,
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
    """Compute the share of the network in the logits, (D, K), of each document, (D,)."""
    network, others = (
        np.abs(target.center_scores(z)).sum(axis=1) for z in (logits - of_others, of_others)
    )
    total = network + others
    return np.where(others > 0, network / np.where(total > 0, total, 1), 1.0)


def _as_explanations(
    pool: Pool,
    documents: Any,
    sources: Sequence[Source],
    contributions: Contributions,
    classes: ExplainedClasses,
    options: ExplainOptions,
    network_shares: NDArray[np.float64],
    target: Target,
) -> list[DocumentExplanation]:
    """Create a DocumentExplanation of each document from the contributions of a batch."""
    logits = contributions.logits
    probabilities = target.probabilities(logits)
    predicted: Any = target.names[target.top_label(probabilities)]
    label_sets: list[tuple[Any, ...]] | None = None
    if not target.has_one_label:
        label_sets = [tuple(target.names[row].tolist()) for row in target.decide(logits)]
    explained: Any = target.names[classes.targets(logits, target)]
    against = classes.against
    # All explanations share these arrays, since thousands of labels take more memory than words.
    names, thresholds = read_only(target.names), getattr(target, "thresholds", None)
    thresholds = None if thresholds is None else read_only(thresholds)
    expected: Any = None
    if isinstance(pool.target, Number):
        expected = pool.target.decide(logits).tolist()
    if target.is_number:
        predicted, explained = expected, [None] * len(expected)
    word_starts, unknown = documents.word_starts, documents.word_ids == UNKNOWN_ID
    errors, base_values = contributions.sentence_errors, contributions.base_values
    encoder = None if pool.columns is None else pool.columns.encoder
    columns = () if encoder is None else tuple(encoder.codings)
    explanations = []
    for i, source in enumerate(sources):
        words = slice(word_starts[i], word_starts[i + 1])
        sentences = slice(documents.document_starts[i], documents.document_starts[i + 1])
        if encoder is not None:
            column_values = encoder.format(documents.columns[i], source.column_values)
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
            predicted=predicted[i],
            target=explained[i],
            against=None if against[i] < 0 else names[against[i]],
            unknown=unknown[words],
            network_share=network_shares[i],
            ngram_contributions=contributions.ngrams[words],
            sentence_errors=None if errors is None else errors[sentences],
            base_value=None if base_values is None else float(base_values[i]),
            labels=None if label_sets is None else label_sets[i],
            thresholds=thresholds,
            expected=None if expected is None else expected[i],
            column_names=columns,
            column_contributions=(
                np.zeros(len(columns))
                if contributions.columns is None
                else contributions.columns[i]
            ),
        )
        explanations.append(explanation)
    return explanations
