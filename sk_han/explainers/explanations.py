"""explain: from an estimator and documents to explanations."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from sk_han.classifier import HANClassifier
from sk_han.documents import UNKNOWN_ID, DocumentArray
from sk_han.explainers.contributions import METHODS, contributions_to
from sk_han.explainers.sources import Reader, Source
from sk_han.explainers.targets import class_numbers, wrong_length
from sk_han.explanation.collection import ExplanationList
from sk_han.explanation.document import COMBINATIONS, DocumentExplanation
from sk_han.utils.softmax import softmax

__all__ = ["explain", "explain_iter"]


def explain(
    estimator: HANClassifier | Pipeline,
    X: Any,
    *,
    target: Any = None,
    method: str = "gradient_attention",
    combine: str = "product",
    batch_size: int | None = None,
    steps: int = 32,
    spread: float = 0.25,
    random_state: Any = None,
) -> ExplanationList:
    """Show what each word and sentence of documents brings to the log-odds of a class.

    Parameters
    ----------
    estimator : HANClassifier or Pipeline
        Fitted. A Pipeline must hold a `HierarchicalTokenizer` and end in a `HANClassifier`.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        As the estimator's ``predict`` takes them.
    target : label or array-like of n_documents labels, default=None
        The class that is explained; None for the predicted one.
    method : str, default="gradient_attention"
        How contributions are found.

        "gradient_attention": attention times the gradient of the score with respect to it
        (Serrano and Smith, 2019).
        "gradient_input": word vector times the gradient with respect to it.
        "integrated_gradients": the same with the mean gradient on the way from zero vectors
        (Sundararajan et al., 2017).
        "occlusion": how far the log-odds fall when the word, or the sentence, is left out.
        "attention": the attention weights, which have no sign and no target.
        "random": random numbers, a control.
    combine : {"product", "sqrt"}, default="product"
        How the attention of a word and of its sentence become one number: their product, which
        sums to 1 over the document, or the word's times the square root of the sentence's, as
        Yang et al. (2016) draw it, which does not.
    batch_size : int, default=None
        Documents that are read at once; None for as many as in prediction. It changes no number.
    steps : int, default=32
        Points of "integrated_gradients", of a Gauss-Legendre quadrature.
    spread : float, default=0.25
        Of "gradient_attention", the share of a sentence's part that its words get evenly, from 0
        (the method as published) to 1.
    random_state : int, RandomState, Generator or None, default=None
        Source of "random".

    Returns
    -------
    ExplanationList of n_documents DocumentExplanation
        Offsets point into the raw texts; where X holds word ids, into the words written out again,
        one sentence a line.

    Raises
    ------
    TypeError
        If the estimator is no HANClassifier and no Pipeline of our two steps.
    ValueError
        If a target is no class or there are not as many as documents, or another parameter is
        not as described.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    explain_iter : One explanation after the other, of more documents than memory holds.

    Notes
    -----
    The score is the log-odds of the target as the classifier gives them, network and n-gram
    channel together. With two classes they are linear in the logits. With more,
    "gradient_attention" and "gradient_input" take their slope where the document stands, and
    "integrated_gradients" goes all the way from a document without words. These three add up what
    network and n-gram channel bring; the channel's part is also apart in ``ngram_contributions``,
    and exact with two classes. What an n-gram brings is divided evenly among its occurrences and
    their words; the intercept belongs to no word. What a sentence brings is the sum of its words,
    but by "occlusion", which leaves it out, and "attention".

    A recurrent encoder's state knows the words around it, so the word where attention reads is not
    the only one that speaks: therefore `spread`; docs/believing.md says what it gives and costs.

    By the default method a document takes about twice the time of its prediction; "gradient_input"
    adds a backward pass over the words, "integrated_gradients" `steps` of them, and "occlusion"
    reads each document as often as it has words and sentences.

    References
    ----------
    Serrano, Smith (2019). Is Attention Interpretable? ACL.

    Sundararajan, Taly, Yan (2017). Axiomatic Attribution for Deep Networks. ICML.

    Examples
    --------
    >>> from sk_han import HANClassifier, explain
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> explanations = explain(classifier.fit(texts, labels), texts[:2], target=labels[0])
    >>> bool(abs(explanations[0].sentence_attention.sum() - 1) < 1e-6)
    True
    """
    return ExplanationList(
        explain_iter(
            estimator,
            X,
            target=target,
            method=method,
            combine=combine,
            batch_size=batch_size,
            steps=steps,
            spread=spread,
            random_state=random_state,
        )
    )


def explain_iter(
    estimator: HANClassifier | Pipeline,
    X: Any,
    *,
    target: Any = None,
    method: str = "gradient_attention",
    combine: str = "product",
    batch_size: int | None = None,
    steps: int = 32,
    spread: float = 0.25,
    random_state: Any = None,
) -> Iterator[DocumentExplanation]:
    """Give one explanation after the other, reading documents as they are asked for.

    Parameters
    ----------
    estimator, target, method, combine, batch_size, steps, spread, random_state
        As of `explain`.
    X : as of `explain`, or an iterator of raw texts
        At most `batch_size` texts of an iterator are held at once.

    Yields
    ------
    DocumentExplanation

    Raises
    ------
    TypeError, ValueError, sklearn.exceptions.NotFittedError
        As of `explain`: at once, but for what is wrong with a document.

    Examples
    --------
    >>> from sk_han import HANClassifier, explain_iter
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> explanations = explain_iter(classifier.fit(texts, labels), iter(texts))
    >>> next(explanations).method
    'gradient_attention'
    """
    reader = Reader.of(estimator)
    _check_choice("method", method, METHODS)
    _check_choice("combine", combine, COMBINATIONS)
    _check_count("steps", steps)
    if not isinstance(spread, Real) or not 0 <= spread <= 1:
        raise ValueError(f"spread must be a number from 0 to 1; got {spread!r}.")
    size = reader.classifier.net_.valid_batch_size
    if batch_size is not None:
        _check_count("batch_size", batch_size)
        size = int(batch_size)
    batches = reader.batches(X, size)
    targets = class_numbers(target, reader.classifier.classes_, _n_documents(X))
    if not isinstance(random_state, np.random.RandomState):
        try:
            random_state = np.random.default_rng(random_state)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"random_state must be an integer >= 0, a RandomState, a Generator or None; got "
                f"{random_state!r}."
            ) from error
    return _explained(
        reader,
        batches,
        targets,
        method=method,
        combine=combine,
        steps=int(steps),
        spread=float(spread),
        random=random_state,
    )


def _explained(
    reader: Reader,
    batches: Iterator[tuple[DocumentArray, list[Source]]],
    targets: NDArray[np.int64] | int,
    *,
    method: str,
    combine: str,
    spread: float,
    **how: Any,
) -> Iterator[DocumentExplanation]:
    """Explain batch by batch, and cut what is flat over a batch into documents."""
    classes, n_read = reader.classifier.classes_, 0
    for documents, sources in batches:
        numbers = _numbers_of(targets, n_read, len(documents))
        n_read += len(documents)
        found = contributions_to(
            numbers,
            reader.classifier,
            documents,
            method=method,
            combine=combine,
            spread=spread,
            **how,
        )
        proba = softmax(found.logits)
        predicted = proba.argmax(axis=1)
        explained = np.where(numbers < 0, predicted, numbers)
        word_starts = documents.sentence_starts[documents.document_starts]
        unknown = documents.word_ids == UNKNOWN_ID
        for i, source in enumerate(sources):
            words = slice(word_starts[i], word_starts[i + 1])
            sentences = slice(documents.document_starts[i], documents.document_starts[i + 1])
            error = found.completeness_error
            yield DocumentExplanation(
                **source._asdict(),
                word_attention=found.word_attention[words],
                sentence_attention=found.sentence_attention[sentences],
                contributions=found.words[words],
                sentence_contributions=found.sentences[sentences],
                method=method,
                classes=classes,
                probabilities=proba[i],
                predicted=classes[predicted[i]],
                target=classes[explained[i]],
                unknown=unknown[words],
                combine=combine,
                ngram_contributions=found.ngrams[words],
                completeness_error=None if error is None else float(error[i]),
                spread=spread if method == "gradient_attention" else None,
            )
    if not isinstance(targets, int) and n_read < len(targets):
        raise wrong_length(len(targets), f"{n_read} documents")


def _numbers_of(targets: NDArray[np.int64] | int, first: int, n: int) -> NDArray[np.int64]:
    """Numbers of the targets of the next n documents."""
    if isinstance(targets, int):
        return np.full(n, targets)
    if len(targets) < first + n:
        raise wrong_length(len(targets), f"{first + n} documents or more")
    return targets[first : first + n]


def _n_documents(X: Any) -> int | None:
    try:
        return len(X)
    except TypeError:  # an iterator, or what will be refused when it is read
        return None


def _check_choice(name: str, value: Any, choices: Any) -> None:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}; got {value!r}.")


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")
