"""explain_classes: each document explained for several classes, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline

from sk_han.inspection.explaining import explain, explain_iter
from sk_han.inspection.results.collection import ExplanationList
from sk_han.utils.containers import plain_label
from sk_han.validation.texts import check_texts


def explain_classes(
    estimator: ClassifierMixin | Pipeline,
    X: Any,
    *,
    classes: Any = None,
    y_true: Any = None,
    **how: Any,
) -> ExplanationList:
    """Explain each document for several classes: what speaks for one, what for another.

    Parameters
    ----------
    estimator, X
        As of `explain`.
    classes : sequence of labels, default=None
        The classes to explain, in the order of their columns; None for all.
    y_true : array-like of n_documents labels, or indicator of several labels, default=None
        True labels of the documents.
    **how
        ``method``, ``spread`` and other parameters of `explain`, but neither ``target`` nor
        ``against``.

    Returns
    -------
    ExplanationList of n_documents * n_classes DocumentExplanation
        All classes of the first document, then those of the second, and so on. Pages and figures
        show the classes of a document side by side, with one scale of colours for all of them.

    Raises
    ------
    TypeError, ValueError, sklearn.exceptions.NotFittedError
        As of `explain`; also if there are no classes.

    Notes
    -----
    The log-odds of a class compare it with all others. With two classes, what speaks for one
    speaks against the other as much, so one column says all. Takes as long as `explain`, for each
    class.

    Examples
    --------
    >>> from sk_han import HANClassifier, explain_classes
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> explanations = explain_classes(classifier.fit(texts, labels), texts[:2])
    >>> [str(explanation.target) for explanation in explanations]
    ['negative', 'positive', 'negative', 'positive']
    >>> explanations.numbers.tolist()
    [0, 0, 1, 1]
    """
    for name in {"target", "targets"} & how.keys():
        raise TypeError(f"explain_classes takes classes in place of {name}.")
    if how.get("against") is not None:
        raise TypeError(
            "explain_classes compares each class with all others; explain(target=, against=) "
            "compares two."
        )
    if not hasattr(X, "__len__"):  # each class reads all documents
        X = list(X) if isinstance(X, Iterable) else check_texts(X)
    if classes is None:
        # Says at once, and as explain does, what is wrong with the estimator.
        explain_iter(estimator, [], **how)
        classes = estimator.classes_
    labels = [classes] if isinstance(classes, (str, bytes)) else list(map(plain_label, classes))
    if not labels:
        raise ValueError("classes must name one class or more, or be None for all; got none.")
    columns = [explain(estimator, X, target=label, **how) for label in labels]
    true = ExplanationList(columns[0], y_true=y_true).y_true
    rows = list(zip(*columns, strict=True))
    return ExplanationList(
        [explanation for row in rows for explanation in row],
        y_true=None if true is None else np.repeat(true, len(labels)),
        numbers=np.repeat(np.arange(len(rows)), len(labels)),
    )
