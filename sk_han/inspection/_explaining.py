"""The public functions `explain`, `explain_iter` and `explain_classes`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline

from sk_han._utils.containers import document_ids, plain_label
from sk_han._validation.labels import warn_of_order
from sk_han.inspection._estimators import explained_model, refuse_number
from sk_han.inspection._explanations import (
    explanation_list,
    listed_documents,
)
from sk_han.inspection._results.collection import ExplanationList
from sk_han.inspection._results.document import DocumentExplanation


def explain(
    estimator: ClassifierMixin | Pipeline,
    X: Any,
    *,
    y_true: Any = None,
    target: Any = None,
    against: Any = None,
    targets: str | None = None,
    method: str = "shapley",
    batch_size: int | None = None,
    random_state: Any = None,
) -> ExplanationList:
    """Compute the contribution of each word and sentence to the log-odds of a class.

    Parameters
    ----------
    estimator : HANClassifier, Pipeline, or an estimator around them
        A fitted `HANClassifier`, a Pipeline that ends in one, a search (GridSearchCV,
        RandomizedSearchCV, ...) or FrozenEstimator of such, or a `Scorer`.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        Documents, as for the estimator's ``predict``.
    y_true : array-like of n_documents labels, or indicator of several labels, default=None
        True labels, for `ExplanationList.mistakes` and for the tables and the page of the result.
        They do not change explanations.
    target : label or array-like of n_documents labels, default=None
        The class to explain; None for the predicted one (with several labels per document, the
        most probable label).
    against : label or array-like of n_documents labels, default=None
        The contrast class: why is it `target` and not this class? None compares the target with all
        other classes together. Only for models of one class per document. If it is the predicted
        class and no target is given, the most probable other class is explained.
    targets : {"predicted", "expected", None}, default=None
        "predicted" explains each predicted label of a document, one after the other, with the same
        document number; for a document without any, the most probable label. "expected" explains
        the expected number of ordered classes, such as 3.7 stars, instead of log-odds, by
        "shapley".
    method : str, default="shapley"
        How contributions are computed.

        "shapley": the Shapley value of each sentence, which is what it adds to the log-odds,
        averaged over the orders in which sentences can be added (Shapley, 1953). Its words share
        the value in proportion to their "gradient_attention".
        "gradient_attention": attention times the gradient of the score with respect to it
        (Serrano and Smith, 2019).
        "attention": the attention weights, which have no sign and no target.
        "random": random numbers, as a control.
    batch_size : int, default=None
        Number of documents that are read at once; None for as many as in prediction. Results do
        not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the method "random".

    Returns
    -------
    ExplanationList of n_documents DocumentExplanation
        Offsets point into the texts that were tokenized (``explanation.text``): into X, or into the
        output of the steps of a Pipeline before the tokenizer. If X holds word ids, they point into
        a text of their words, with one sentence per line.

    Raises
    ------
    TypeError
        If the estimator holds no HANClassifier, or holds it as a member that must be explained by
        itself.
    ValueError
        If a target, a contrast class or a true label is not a class, if there are not as many as
        documents, if a class is compared with itself, or if another parameter is invalid.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    explain_iter : Yields explanations one by one, for more documents than memory holds.
    explain_classes : Explains each document for several classes, side by side.

    Notes
    -----
    The score is the log-odds of the target in the prediction of the whole ensemble: against all
    other classes together or, with `against`, against that class alone.

    With "shapley", the contributions of the sentences sum to the log-odds of the document minus
    `base_value`, the log-odds of a document without words, for any number of classes. Up to 6
    sentences, all sets are scored and the values are exact. With more sentences, the values are
    estimated from 8 orders, or from 4 with over 40 sentences. The number of orders is doubled until
    the largest standard error, of ``sentence_errors``, is at most a tenth of the largest value, or
    until the sets have about 60,000 words, which takes 30 ms on one core. The orders are fixed, so
    results are reproducible. With more than 64 sentences, groups of neighbouring sentences are
    added, and the sentences of a group share its value.

    Columns of a table have ``column_contributions``. With "shapley", sentences and columns together
    sum to the log-odds minus `base_value`, which is then that without words and columns. Sentences
    and columns are added in either order (Owen, 1977), and columns share their sum by integrated
    gradients (Sundararajan et al., 2017). With two classes, or several labels per document, the
    contributions of columns are exact.

    With two classes, the score is linear in the logits; with more, "gradient_attention" uses the
    gradient at the document's logits. "shapley" and "gradient_attention" add the contributions of
    the network and of the linear models; the latter are also in ``ngram_contributions``. With
    "gradient_attention" and two classes these are exact; with "shapley" they are adjusted, too. The
    contribution of an n-gram is divided evenly among its occurrences and their words; the intercept
    belongs to no word. The contribution of a sentence is the sum over its words, except for
    "attention".

    The state of a recurrent encoder depends on the surrounding words, so an attended word is not
    responsible alone.

    Of a search, the best estimator is explained. Of a calibration, voting or stacking, explain a
    member: ``explain(calibration.calibrated_classifiers_[0].estimator, X)``, or
    ``explain(vote.named_estimators_["han"], X)``, where a class is its number in ``vote.classes_``.

    The default method takes 20 to 30 times as long as predicting, 11 to 16 ms for a review or news
    article on one core; "gradient_attention" takes twice as long as predicting.

    References
    ----------
    Serrano, Smith (2019). Is Attention Interpretable? ACL.

    Shapley (1953). A Value for n-Person Games. Contributions to the Theory of Games 2.

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
    return explained_model(estimator).explain(
        X,
        y_true=y_true,
        target=target,
        against=against,
        targets=targets,
        method=method,
        batch_size=batch_size,
        random_state=random_state,
    )


def explain_iter(
    estimator: ClassifierMixin | Pipeline, X: Any, **options: Any
) -> Iterator[DocumentExplanation]:
    """Yield explanations one by one, reading documents only when they are needed.

    Parameters
    ----------
    estimator
        See `explain`.
    X : as in `explain`, or an iterator of raw texts
        At most `batch_size` texts of an iterator are held at once.
    **options
        Parameters of `explain` other than `y_true`.

    Yields
    ------
    DocumentExplanation

    Raises
    ------
    TypeError, ValueError, sklearn.exceptions.NotFittedError
        See `explain`. They are raised immediately, except for errors in a document, which are
        raised with its batch.

    Examples
    --------
    >>> from sk_han import HANClassifier, explain_iter
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> explanations = explain_iter(classifier.fit(texts, labels), iter(texts))
    >>> next(explanations).method
    'shapley'
    """
    explained = explained_model(estimator).explanations(X, **options)
    return (explanation for _, explanation in explained)


def explain_classes(
    estimator: ClassifierMixin | Pipeline,
    X: Any,
    *,
    classes: Any = None,
    y_true: Any = None,
    **options: Any,
) -> ExplanationList:
    """Explain each document for several classes, side by side.

    Parameters
    ----------
    estimator, X, y_true
        See `explain`.
    classes : sequence of labels, default=None
        The classes to explain, in the order of their columns; None for all.
    **options
        ``method`` and other parameters of `explain`, except ``target`` and ``against``.

    Returns
    -------
    ExplanationList of n_documents * n_classes DocumentExplanation
        All classes of the first document, then those of the second, and so on. Pages show the
        classes of a document side by side, with a common scale of colours.

    Raises
    ------
    TypeError, ValueError, sklearn.exceptions.NotFittedError
        See `explain`; also if there are no classes.

    Notes
    -----
    Each class is compared with all others. With two classes, evidence for one is evidence against
    the other, so one column is enough. The time is that of `explain` for each class.

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
    for name in {"target", "targets"} & options.keys():
        raise TypeError(f"explain_classes takes classes in place of {name}.")
    if options.get("against") is not None:
        raise TypeError(
            "explain_classes compares each class with all others; explain(target=, against=) "
            "compares two."
        )
    refuse_number(estimator, "explain_classes")
    warn_of_order(X, y_true, "y_true")
    # Documents are read once for each class.
    X = listed_documents(X)
    if classes is None:
        # Errors about the estimator come before the access to its classes.
        explain_iter(estimator, [], **options)
        classes = estimator.classes_
    labels = [classes] if isinstance(classes, (str, bytes)) else list(map(plain_label, classes))
    if not labels:
        raise ValueError("classes must name one class or more, or be None for all; got none.")
    columns = [explain_iter(estimator, X, target=label, **options) for label in labels]
    rows = enumerate(zip(*columns, strict=True))
    explained = ((number, explanation) for number, row in rows for explanation in row)
    return explanation_list(explained, y_true, document_ids(X))
