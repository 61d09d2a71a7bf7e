"""explain, explain_iter, explain_classes: from an estimator and documents to explanations."""

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
        Fitted: a `HANClassifier`, a Pipeline that ends in one, a search (GridSearchCV,
        RandomizedSearchCV, ...) or FrozenEstimator of such, or a `Scorer`.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        As the estimator's ``predict`` takes them.
    y_true : array-like of n_documents labels, or indicator of several labels, default=None
        True labels, which the list of explanations keeps: for `ExplanationList.mistakes`, its
        tables and its page. They do not change explanations.
    target : label or array-like of n_documents labels, default=None
        The class that is explained; None for the predicted one (with several labels a document,
        the most probable label).
    against : label or array-like of n_documents labels, default=None
        The class that the target is compared with: why this one and not that one. None for all
        others together. For models of one class a document only. If it is the predicted class and
        no target is given, the most probable one of the others is explained.
    targets : {"predicted", "expected", None}, default=None
        "predicted" explains each predicted label of a document, one after the other, with the same
        document number; for a document without any, the most probable one. "expected" explains the
        expected number of ordered classes, such as 3.7 stars, in place of log-odds, by "shapley".
    method : str, default="shapley"
        How contributions are computed.

        "shapley": the Shapley value of each sentence: what it adds to the log-odds, on average over
        the orders in which the sentences can be added (Shapley, 1953); its words share the value in
        proportion to their "gradient_attention".
        "gradient_attention": attention times the gradient of the score with respect to it
        (Serrano and Smith, 2019).
        "attention": the attention weights, which have no sign and no target.
        "random": random numbers, a control.
    batch_size : int, default=None
        Documents that are read at once; None for as many as in prediction. Results do not
        depend on it.
    random_state : int, RandomState, Generator or None, default=None
        For "random".

    Returns
    -------
    ExplanationList of n_documents DocumentExplanation
        Offsets point into the texts that were tokenized: into X, or into what the steps of a
        Pipeline in front of the tokenizer make of it (``explanation.text``). If X holds word ids,
        they point into a text of their words, one sentence a line.

    Raises
    ------
    TypeError
        If the estimator holds no HANClassifier, or one that cannot be explained from outside.
    ValueError
        If a target, a rival or a true label is not a class, if their number is not that of the
        documents, if a class is compared with itself, or if another parameter is invalid.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    explain_iter : Yields explanations one by one, for more documents than memory holds.
    explain_classes : Explains each document for several classes, side by side.

    Notes
    -----
    The score is the log-odds of the target in the prediction of the whole classifier: against all
    other classes together or, with `against`, against that class alone.

    With "shapley", the sentences of a document sum to its log-odds less `base_value`, the log-odds
    of a document without words, with any number of classes. With up to 6 sentences all sets of them
    are read, and the values are exact. With more they are estimated from 8 orders, or 4 with over
    40 sentences. These are doubled until the largest of the standard errors, ``sentence_errors``,
    is at most a tenth of the largest value, or the sets have about 60,000 words, some 30 ms on one
    core. Orders are fixed, so results do not depend on chance. With more than 64 sentences, groups
    of neighbouring sentences are added, and a group's value is shared by its sentences.

    Columns of a table have contributions too, ``column_contributions``; by "shapley" the sentences
    and all columns sum to the log-odds less `base_value`, which is that without words and columns.
    Sentences and columns come in either order (Owen, 1977); columns share their sum by integrated
    gradients (Sundararajan et al., 2017). With two classes, or several labels a
    document, contributions of columns are exact.

    With two classes the score is linear in the logits. With more, "gradient_attention" uses its
    slope at the document's logits. "shapley" and "gradient_attention" add the contributions of
    network and linear models. The contributions of the linear models are also in
    ``ngram_contributions``. With "gradient_attention" and two classes they are exact for the
    document; with "shapley" they are shares, too. The contribution of an n-gram is divided evenly
    among its occurrences and their words; the intercept belongs to no word. The contribution of a
    sentence is the sum over its words, except for "attention".

    The state of a recurrent encoder depends on the words around its own, so the attended word is
    not alone responsible.

    For a search, its best estimator is explained. For a calibration, voting or stacking, explain
    a member: ``explain(calibration.calibrated_classifiers_[0].estimator, X)``, or
    ``explain(vote.named_estimators_["han"], X)``, where a class is its number in ``vote.classes_``.

    With the default method a document takes 20 to 30 times the time of its prediction, 11 to 16 ms
    for reviews and news on one core, with "gradient_attention" twice the time.

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
    """Yield explanations one by one; read documents only when they are needed.

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
        See `explain`; at the call, except for errors in a document, which come with its batch.

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
        ``method`` and other parameters of `explain`, but neither ``target`` nor
        ``against``.

    Returns
    -------
    ExplanationList of n_documents * n_classes DocumentExplanation
        All classes of the first document, then those of the second, and so on. Pages
        show the classes of a document side by side, with one scale of colours for all of them.

    Raises
    ------
    TypeError, ValueError, sklearn.exceptions.NotFittedError
        See `explain`; also if there are no classes.

    Notes
    -----
    The log-odds of a class compare it with all others. With two classes, evidence for one is
    evidence against the other, so one column is enough. It takes as long as `explain` for each
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
    for name in {"target", "targets"} & options.keys():
        raise TypeError(f"explain_classes takes classes in place of {name}.")
    if options.get("against") is not None:
        raise TypeError(
            "explain_classes compares each class with all others; explain(target=, against=) "
            "compares two."
        )
    refuse_number(estimator, "explain_classes")
    warn_of_order(X, y_true, "y_true")
    X = listed_documents(X)  # they are read once for each class
    if classes is None:
        explain_iter(estimator, [], **options)  # raises the errors of explain, which come first
        classes = estimator.classes_
    labels = [classes] if isinstance(classes, (str, bytes)) else list(map(plain_label, classes))
    if not labels:
        raise ValueError("classes must name one class or more, or be None for all; got none.")
    columns = [explain_iter(estimator, X, target=label, **options) for label in labels]
    rows = enumerate(zip(*columns, strict=True))
    explained = ((number, each) for number, row in rows for each in row)
    return explanation_list(explained, y_true, document_ids(X))
