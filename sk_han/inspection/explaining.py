"""explain, explain_iter, explain_classes: from an estimator and documents to explanations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline

from sk_han.documents import DocumentArray
from sk_han.inspection.contributions import Asked
from sk_han.inspection.explained_model import (
    Ensemble,
    ExplainedModel,
    check_fitted,
    combined,
    opened,
)
from sk_han.inspection.methods import (
    PORTION,
    How,
    Source,
    explanations_of,
    for_answers,
    in_portions,
    length_of,
    listed_documents,
    of_answers,
    refuse_lone_text,
    takes_how,
)
from sk_han.inspection.results.collection import ExplanationList
from sk_han.inspection.results.document import DocumentExplanation
from sk_han.targets import OneOfClasses
from sk_han.training.devices import computing
from sk_han.utils.containers import plain_label
from sk_han.utils.messages import random_source
from sk_han.utils.progress import Progress
from sk_han.validation.labels import warn_of_order


@takes_how
def explain(
    estimator: ClassifierMixin | Pipeline,
    X: Any,
    *,
    y_true: Any = None,
    target: Any = None,
    against: Any = None,
    targets: str | None = None,
    **how: Any,
) -> ExplanationList:
    """Compute the contribution of each word and sentence to the log-odds of a class.

    Parameters
    ----------
    estimator : HANClassifier, Pipeline, or an estimator around them
        Fitted: a `HANClassifier`, a Pipeline that ends in one, or a search (GridSearchCV,
        RandomizedSearchCV, ...), FrozenEstimator or CalibratedClassifierCV of such. Notes say what
        is explained where several models predict.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        As the estimator's ``predict`` takes them.
    y_true : array-like of n_documents labels, or indicator of several labels, default=None
        True labels, which the list of explanations keeps: for `ExplanationList.mistakes`, its
        tables and its page. They change no explanation.
    target : label or array-like of n_documents labels, default=None
        The class that is explained; None for the predicted one (with several labels a document,
        the most probable label).
    against : label or array-like of n_documents labels, default=None
        The class that the target is compared with: why this one and not that one. None for all
        others together. For models of one class a document only. If it is the predicted class and
        no target is given, the most probable one of the others is explained.
    targets : {"predicted", None}, default=None
        "predicted" explains each label that a document gets, one after the other, with the same
        number of the document; of a document without any, the most probable one.
    method : str, default="shapley"
        How contributions are computed.

        "shapley": the Shapley value of each sentence: what it adds to the log-odds, on average over
        the orders in which the sentences can be added (Shapley, 1953); its words share the value in
        proportion to their "gradient_attention".
        "gradient_attention": attention times the gradient of the score with respect to it
        (Serrano and Smith, 2019).
        "attention": the attention weights, which have no sign and no target.
        "random": random numbers, a control.
    combine : {"product", "sqrt"}, default="product"
        How the attention of a word and of its sentence become one number. "product" sums to 1
        over the document. "sqrt" is the word's attention times the square root of the
        sentence's, as Yang et al. (2016) draw it; it does not sum to 1, and words of unimportant
        sentences remain visible.
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
        If a target, a rival or a true label is no class, if their number is not that of the
        documents, if a class is compared with itself, or if another parameter is invalid.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    explain_iter : Yields explanations one by one, for more documents than memory holds.
    explain_classes : Explains each document for several classes, side by side.

    Notes
    -----
    The score is the log-odds of the target in the classifier's prediction, of all its parts: of
    the target against all other classes together or, with `against`, against that one alone.

    By "shapley" the sentences of a document sum to its log-odds less `base_value`, the log-odds of
    a document without words, with any number of classes. With up to 6 sentences all sets of them
    are read, and the values are exact. With more they are estimated from 8 orders, or 4 with over
    40 sentences, the same orders for all documents of as many sentences; ``sentence_errors`` are
    the standard errors. With more than 64 sentences, groups of neighbouring sentences are added,
    and a group's value is shared by its sentences.

    With two classes the score is linear in the logits. With more, "gradient_attention" uses its
    slope at the document's logits. "shapley" and "gradient_attention" add the contributions of
    network and linear models. Those of the linear models are also in ``ngram_contributions``. By
    "gradient_attention" with two classes they are exact for the document; by "shapley" they are
    shares, too. The contribution of an n-gram is divided evenly among its occurrences and their
    words; the intercept belongs to no word. The contribution of a sentence is the sum over its
    words, except for "attention".

    The state of a recurrent encoder depends on the words around its own, so the attended word is
    not alone responsible.

    Of a search, its best estimator is explained. Of a calibration, contributions and attention are
    the mean over the models of its folds, before calibration; probabilities are calibrated. With n
    models all takes n times as long, and a prediction. Of a vote or a stack, explain the members:
    ``explain(vote.named_estimators_["han"], X)``, where a class is its number in ``vote.classes_``.

    With the default method a document takes five to seven times the time of its prediction, with
    "gradient_attention" two or three times. "shapley" of a network with `ContextAttention` reads
    all words of each set of sentences again, and takes much longer.

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
    warn_of_order(X, y_true, "y_true")
    if targets is None:
        explained = explain_iter(estimator, X, target=target, against=against, **how)
        return ExplanationList(explained, y_true=y_true)
    return of_answers(_for_answers(estimator, X, target, against, targets, how), y_true)


@takes_how
def explain_iter(
    estimator: ClassifierMixin | Pipeline,
    X: Any,
    *,
    target: Any = None,
    against: Any = None,
    targets: str | None = None,
    **how: Any,
) -> Iterator[DocumentExplanation]:
    """Yield explanations one by one; read documents only when they are needed.

    Parameters
    ----------
    estimator, target, against, targets, method, combine, batch_size, random_state
        As of `explain`.
    X : as of `explain`, or an iterator of raw texts
        At most `batch_size` texts of an iterator are held at once.

    Yields
    ------
    DocumentExplanation

    Raises
    ------
    TypeError, ValueError, sklearn.exceptions.NotFittedError
        As of `explain`: at the call, but for errors in a document, which come with its batch.

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
    if targets is not None:
        return (found for _, found in _for_answers(estimator, X, target, against, targets, how))
    refuse_lone_text(X)
    check_fitted(estimator)
    found = opened(estimator)
    model = None if isinstance(found, Ensemble) else ExplainedModel.of(found)
    chosen = How.checked(how)
    if model is None:
        return _explained_together(found, X, target, against, how)
    size = chosen.batch_size or model.classifier.net_.valid_batch_size
    batches = model.batches(X, size)
    asked = Asked.checked(target, against, model.classifier.pool_.target, length_of(X))
    return _explained(model, batches, asked, chosen, random_source(chosen.random_state))


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
    estimator, X, y_true
        As of `explain`.
    classes : sequence of labels, default=None
        The classes to explain, in the order of their columns; None for all.
    **how
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
    warn_of_order(X, y_true, "y_true")
    X = listed_documents(X)  # each class reads all of them
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


def _for_answers(
    estimator: Any, X: Any, target: Any, against: Any, targets: str, how: dict[str, Any]
) -> Iterator[tuple[int, DocumentExplanation]]:
    """Check at the call; explain each label that a document gets, with the document's number."""
    explains = partial(explain_iter, estimator)
    found = for_answers(explains, X, target, against, targets, how)
    explains([], **how)  # says what is wrong with the estimator
    return found


def _explained_together(
    ensemble: Ensemble, X: Any, target: Any, against: Any, how: dict[str, Any]
) -> Iterator[DocumentExplanation]:
    """Check at the call that the models can be explained; explain portion by portion."""
    known = np.asarray(ensemble.estimator.classes_)
    of = OneOfClasses(known)
    asked = Asked.checked(target, against, of, length_of(X))
    ensemble.check_classes()
    explain_iter(ensemble.members[0], [], **how)
    # Each model draws by itself: they take turns batch by batch.
    random = random_source(how.get("random_state"))
    draw = random.integers if isinstance(random, np.random.Generator) else random.randint
    sources = [np.random.default_rng(draw(2**31 - 1)) for _ in ensemble.members]

    def explained() -> Iterator[DocumentExplanation]:
        n_read = 0
        for portion in in_portions(X, how.get("batch_size") or PORTION):
            probabilities = np.asarray(ensemble.estimator.predict_proba(portion), np.float64)
            of_portion = asked.of(n_read, len(probabilities))
            numbers, rivals = of_portion.labels(of, probabilities), of_portion.rivals
            n_read += len(probabilities)
            of_members = [
                explain_iter(
                    member,
                    portion,
                    target=known[numbers],
                    against=None if against is None else known[rivals],
                    **how | {"random_state": source},
                )
                for member, source in zip(ensemble.members, sources, strict=True)
            ]
            for row, found in zip(probabilities, zip(*of_members, strict=True), strict=True):
                yield combined(found, row)
        asked.check_length(n_read)

    return explained()


def _explained(
    model: ExplainedModel,
    batches: Iterator[tuple[DocumentArray, list[Source]]],
    asked: Asked,
    how: How,
    random: Any,
) -> Iterator[DocumentExplanation]:
    """Explain batch by batch, and tell of it if the classifier is to tell of its work."""
    n_read, pool = 0, model.classifier.pool_
    with Progress("Explained", quiet=not model.classifier.verbose) as progress:
        for documents, sources in batches:
            of_batch = asked.of(n_read, len(documents))
            n_read += len(documents)
            with computing(model.classifier.engine, model.classifier.n_threads):
                found = explanations_of(pool, documents, sources, of_batch, how, random)
            yield from found
            progress.advance(len(documents))
    asked.check_length(n_read)
