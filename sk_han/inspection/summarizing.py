"""summarize: from an estimator and documents, or from explanations, to a Summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import starts_of
from sk_han.inspection.estimators import ExplainedModel, listed_documents
from sk_han.inspection.results.collection import ExplanationList
from sk_han.inspection.results.document import DocumentExplanation
from sk_han.inspection.results.summary import Summary
from sk_han.inspection.summing_up import (
    Corpus,
    ModelMeasures,
    Occurrences,
    SelectedTerms,
    Tallies,
    Values,
    build_summary,
    sampled_numbers,
    summary_of_model,
)
from sk_han.training.net import computing
from sk_han.utils.containers import rows_of
from sk_han.utils.messages import a_kind, check_count, random_source

# Those that give the network's part apart from that of the linear models.
_METHODS = ("shapley", "gradient_attention")


def summarize(
    source: Any,
    X: Any = None,
    *,
    k: int = 10,
    max_documents: int | None = 2000,
    random_state: Any = 0,
) -> Summary:
    """Find, for each class, the words and n-grams that speak for and against it.

    Parameters
    ----------
    source : estimator, or iterable of DocumentExplanation
        A fitted estimator, as `explain` takes it, or explanations that were made before.
    X : n_documents raw texts, DocumentArray, or ndarray of int, default=None
        Documents for the estimator, as its ``predict`` takes them. No labels are needed. Best are
        documents that it has not learnt from, since it has memorized its training documents.
    k : int, default=10
        Terms for each class and terms against it, of the network and of the n-grams.
    max_documents : int or None, default=2000
        If there are more documents, a random sample of this size is read; None reads all.
    random_state : int, RandomState, Generator or None, default=0
        Source of these draws, and of the words that the shown ones are compared with.

    Raises
    ------
    TypeError
        If `source` is neither an estimator for `explain` nor explanations, or documents are
        missing, or come with explanations.
    ValueError
        If there are no documents, explanations have different classes or a method that does not
        separate network and n-grams, or a parameter is invalid.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    Notes
    -----
    An estimator is asked about each document for two classes, the predicted and the second most
    probable one. So with two classes each document counts for both. With more, the terms of a class
    come from the documents for which it is the first or second most probable one; without any, it
    has no terms.

    Contributions of words by the network are "gradient_attention", an estimate (see `explain`);
    those of n-grams are exact with two classes. Terms are ranked by the mean of their contributions
    times the square root of the number of documents that have them.

    From explanations, terms are single words in lower case, also in the n-grams' part, and each
    document counts for its `target` (with two classes, for both). Without the model nothing can be
    predicted again: `decides`, `weight` and `removal` are None. For a model that reads sentence
    vectors, `decides` and `removal` are None too; its words of the network come from its second
    network, which reads words.

    Examples
    --------
    >>> from sk_han import HANClassifier, summarize
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(200, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> summary = summarize(classifier.fit(texts, labels), texts, k=3)
    >>> summary
    Summary(2 classes, 200 documents)
    >>> [term.part for term in summary["positive"].terms].count("ngrams")
    6
    >>> all(term.contribution > 0 for term in summary["positive"].of("ngrams", speaks_for=True))
    True
    """
    check_count("k", k)
    random = random_source(random_state)
    if isinstance(source, DocumentExplanation):
        source = [source]
    if isinstance(source, Iterable) and not hasattr(source, "predict"):
        if X is not None:
            raise TypeError(
                "summarize takes an estimator and documents, or explanations alone; got "
                f"{type(source).__name__} and documents."
            )
        return _of_explanations(source, int(k), max_documents, random)
    model = ExplainedModel.of(source, "summarize")
    if X is None:
        raise TypeError("Pass the documents, summarize(estimator, documents), or explanations.")
    X = listed_documents(X)
    n_given = len(X)
    numbers = sampled_numbers(n_given, max_documents, random)
    if len(numbers) < n_given:
        X = rows_of(X, numbers)
    classifier = model.classifier
    with computing(classifier.engine, classifier.n_threads):
        return summary_of_model(
            classifier.pool_,
            model.batches(X, classifier.net_.valid_batch_size),
            model.tokenizer,
            k=int(k),
            numbers=numbers,
            n_given=n_given,
            random=random,
        )


def _of_explanations(
    given: Iterable[Any], k: int, max_documents: int | None, random: Any
) -> Summary:
    """Summarize words by their contributions in explanations."""
    all_given = list(given)
    document_of = given.numbers if isinstance(given, ExplanationList) else np.arange(len(all_given))
    positions = sampled_numbers(len(all_given), max_documents, random)
    explanations = list(_checked([all_given[position] for position in positions], positions))
    numbers = document_of[positions]
    classes = explanations[0].classes.tolist()
    several_labels = explanations[0].labels is not None
    are_two = len(classes) == 2 and not several_labels
    if are_two:  # one explanation of a document counts for both classes
        first = np.sort(np.unique(numbers, return_index=True)[1])
        explanations, numbers = [explanations[i] for i in first.tolist()], numbers[first]
    number_of = {label: number for number, label in enumerate(classes)}
    predicted = np.array([number_of[each.predicted] for each in explanations])
    targets = np.array([number_of[each.target] for each in explanations])
    words = [word.lower() for each in explanations for word in each.words]
    key_of = {word: key for key, word in enumerate(dict.fromkeys(words))}
    keys = np.array([key_of[word] for word in words], np.int64)
    n_words = np.array([len(each.word_spans) for each in explanations])
    rows = np.repeat(np.arange(len(explanations)), n_words)
    ngrams = np.concatenate([each.ngram_contributions for each in explanations])
    network = np.concatenate([each.contributions for each in explanations]) - ngrams
    tallies = Tallies(len(classes))
    for sign, of_classes in [(1, targets), *([(-1, 1 - targets)] if are_two else [])]:
        of_network, of_ngrams = (
            Values(rows, keys.astype(np.uint64), sign * brought) for brought in (network, ngrams)
        )
        tallies.add(of_classes, predicted, {"network": of_network, "ngrams": of_ngrams})
    shown = SelectedTerms.of(tallies, k)
    chosen = np.flatnonzero(np.isin(keys, shown.keys.astype(np.int64)))
    terms = np.searchsorted(shown.keys.astype(np.int64), keys[chosen])
    first = chosen - starts_of(n_words)[rows[chosen]]
    occurrences = Occurrences.of(terms, rows[chosen], first, np.ones_like(first))
    of_key = list(key_of)
    names = [of_key[key] for key in shown.keys.tolist()]
    n_given = len(np.unique(document_of))
    corpus = Corpus(classes, several_labels, explanations, predicted, numbers, n_given)
    return build_summary(corpus, tallies, shown, occurrences, names, ModelMeasures())


def _checked(explanations: list[Any], numbers: NDArray[np.int64]) -> Iterator[DocumentExplanation]:
    """Yield explanations, if all are some of the same classes by methods that fit."""
    for number, explanation in zip(numbers.tolist(), explanations, strict=True):
        if not isinstance(explanation, DocumentExplanation):
            raise TypeError(
                "summarize takes an estimator and documents, or DocumentExplanation objects; "
                f"number {number} is {a_kind(explanation)}."
            )
        if explanation.method not in _METHODS:
            raise ValueError(
                f"Explanation {number} is by {explanation.method!r}, which does not tell what the "
                f"network brings from what the n-grams bring. Explain with method= one of "
                f"{list(_METHODS)}, or pass the estimator and the documents."
            )
        first = explanations[0].classes.tolist()
        if explanation.classes.tolist() != first:
            raise ValueError(
                f"Explanation {number} has the classes {explanation.classes.tolist()}, and "
                f"the first has {first}; summarize explanations of one model."
            )
        yield explanation
