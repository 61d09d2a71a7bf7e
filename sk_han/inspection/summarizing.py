"""Summarize which words and n-grams a fitted estimator uses: `summarize`."""

from __future__ import annotations

from typing import Any

from sk_han.inspection.estimators import explained_model
from sk_han.inspection.results.summary import Summary
from sk_han.inspection.summing_up import summarize_model


def summarize(
    estimator: Any,
    X: Any,
    *,
    k: int = 10,
    max_documents: int | None = 2000,
    random_state: Any = 0,
) -> Summary:
    """Find, for each class, the words and n-grams that speak for and against it.

    Parameters
    ----------
    estimator : HANClassifier, Pipeline or search
        Fitted, as `explain` takes it.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        Documents, as for ``predict``; best documents that the estimator was not fitted to. No
        labels are needed.
    k : int, default=10
        Number of terms for each class and of terms against it, for the network and for n-grams.
    max_documents : int or None, default=2000
        Maximum number of documents, drawn at random; None for all.
    random_state : int, RandomState, Generator or None, default=0
        Controls the draw of documents and of random words.

    Raises
    ------
    TypeError
        If `explain` does not take the estimator.
    ValueError
        If there are no documents, or a parameter is invalid.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    Notes
    -----
    Each document counts for its predicted class and for the second most probable one, so with two
    classes for both. A class that is never among these has no terms.

    Contributions of words by the network are "gradient_attention", an estimate (see `explain`);
    those of n-grams are exact with two classes. Terms are ranked by mean contribution times the
    square root of the number of documents that contain them.

    For a model that reads sentence vectors, `decides` and `removal` are None; its words of the
    network are those of its second network, which reads words.

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
    model = explained_model(estimator, "summarize")
    return summarize_model(model, X, k=k, max_documents=max_documents, random_state=random_state)
