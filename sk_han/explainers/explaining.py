"""explain: from an estimator and documents to explanations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from sk_han.attribution.explaining import explanations_of
from sk_han.attribution.params import check_choice, check_count, check_spread, random_source
from sk_han.attribution.sources import Source
from sk_han.attribution.targets import class_numbers, wrong_length
from sk_han.classifier import HANClassifier
from sk_han.documents import DocumentArray
from sk_han.explainers.contributions import METHODS, contributions_to
from sk_han.explainers.sources import ExplainedModel
from sk_han.explanation.collection import ExplanationList
from sk_han.explanation.document import COMBINATIONS, DocumentExplanation
from sk_han.training.computing import computing

__all__ = ["explain", "explain_iter"]


def explain(
    estimator: HANClassifier | Pipeline,
    X: Any,
    *,
    target: Any = None,
    method: str = "sentence_alone",
    combine: str = "product",
    batch_size: int | None = None,
    steps: int = 32,
    spread: float = 0.25,
    random_state: Any = None,
) -> ExplanationList:
    """Compute the contribution of each word and sentence to the log-odds of a class.

    Parameters
    ----------
    estimator : HANClassifier or Pipeline
        Fitted. A Pipeline must end in a `HANClassifier`.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        As the estimator's ``predict`` takes them.
    target : label or array-like of n_documents labels, default=None
        The class that is explained; None for the predicted one.
    method : str, default="sentence_alone"
        How contributions are computed.

        "sentence_alone": each sentence is read as a document of its own; its words get
        "gradient_attention" there, and what that leaves of the change of the log-odds evenly.
        "gradient_attention": attention times the gradient of the score with respect to it
        (Serrano and Smith, 2019).
        "gradient_input": word vector times the gradient with respect to it.
        "integrated_gradients": the same with the mean gradient on the path from zero vectors
        (Sundararajan et al., 2017).
        "occlusion": the fall of the log-odds when the word, or the sentence, is left out.
        "attention": the attention weights, which have no sign and no target.
        "random": random numbers, a control.
    combine : {"product", "sqrt"}, default="product"
        How the attention of a word and of its sentence become one number. "product" sums to 1
        over the document. "sqrt" is the word's attention times the square root of the
        sentence's, as Yang et al. (2016) draw it; it does not sum to 1.
    batch_size : int, default=None
        Documents that are read at once; None for as many as in prediction. Results do not
        depend on it.
    steps : int, default=32
        Points of "integrated_gradients", of a Gauss-Legendre quadrature.
    spread : float, default=0.25
        For "sentence_alone" and "gradient_attention": the share of a sentence's contribution by
        the network that is divided evenly among its words, from 0 (as published) to 1.
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
        If the estimator is neither a HANClassifier nor a Pipeline that ends in one.
    ValueError
        If a target is no class, if their number is not that of the documents, or if another
        parameter is invalid.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    explain_iter : Yields explanations one by one, for more documents than memory holds.

    Notes
    -----
    The score is the log-odds of the target in the classifier's prediction, of network and n-gram
    model together.

    By "sentence_alone" the contribution of a sentence is exactly what the classifier says to it:
    the log-odds of the sentence alone less those of a document without words, and those of its
    words sum to it. Nothing of the neighbours is in them, nor how much attention the document pays
    to the sentence, so over a document they do not sum to its log-odds, of which they are several
    times as large. See docs/believing.md for what was measured.

    The other methods read the document. With two classes the score is linear in the logits. With
    more, "gradient_attention" and "gradient_input" use its slope at the document's logits, and
    "integrated_gradients" the whole path from a document without words. These three methods and
    "sentence_alone" add the contributions of network and linear models. Those of the linear
    models are also in ``ngram_contributions``, and exact with two classes: for the document, and
    by "sentence_alone" for each sentence. The contribution of an n-gram is divided
    evenly among its occurrences and their words; the intercept belongs to no word. The
    contribution of a sentence is the sum over its words, except for "occlusion", which leaves
    the sentence out, and "attention".

    The state of a recurrent encoder depends on the words around its own, so the attended word is
    not alone responsible: therefore `spread`; see docs/believing.md for its benefit and cost.

    With the default method a document takes about four times the time of its prediction, with
    "gradient_attention" two or three times. "gradient_input" adds a backward pass over the words,
    "integrated_gradients" `steps` of them, and "occlusion" one prediction of the document for each
    of its words and sentences.

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
    method: str = "sentence_alone",
    combine: str = "product",
    batch_size: int | None = None,
    steps: int = 32,
    spread: float = 0.25,
    random_state: Any = None,
) -> Iterator[DocumentExplanation]:
    """Yield explanations one by one; read documents only when they are needed.

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
        As of `explain`: at the call, but for errors in a document, which come with its batch.

    Examples
    --------
    >>> from sk_han import HANClassifier, explain_iter
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> explanations = explain_iter(classifier.fit(texts, labels), iter(texts))
    >>> next(explanations).method
    'sentence_alone'
    """
    model = ExplainedModel.of(estimator)
    check_choice("method", method, METHODS)
    check_choice("combine", combine, COMBINATIONS)
    check_count("steps", steps)
    check_spread(spread)
    size = model.classifier.net_.valid_batch_size
    if batch_size is not None:
        check_count("batch_size", batch_size)
        size = int(batch_size)
    batches = model.batches(X, size)
    targets = class_numbers(target, model.classifier.classes_, _n_documents(X))
    random = random_source(random_state)
    return _explained(
        model,
        batches,
        targets,
        method=method,
        combine=combine,
        steps=int(steps),
        spread=float(spread),
        random=random,
    )


def _explained(
    model: ExplainedModel,
    batches: Iterator[tuple[DocumentArray, list[Source]]],
    targets: NDArray[np.int64] | int,
    *,
    method: str,
    combine: str,
    spread: float,
    **how: Any,
) -> Iterator[DocumentExplanation]:
    """Explain batch by batch."""
    n_read = 0
    for documents, sources in batches:
        numbers = _numbers_of(targets, n_read, len(documents))
        n_read += len(documents)
        with computing(model.classifier.engine, model.classifier.n_threads):
            found = contributions_to(
                numbers,
                model.classifier,
                documents,
                method=method,
                combine=combine,
                spread=spread,
                **how,
            )
        yield from explanations_of(
            found,
            documents,
            sources,
            numbers,
            model.classifier.classes_,
            method=method,
            combine=combine,
            spread=spread,
        )
    if not isinstance(targets, int) and n_read < len(targets):
        raise wrong_length(len(targets), f"{n_read} documents")


def _numbers_of(targets: NDArray[np.int64] | int, first: int, n: int) -> NDArray[np.int64]:
    """Return the targets of the next n documents as class numbers."""
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
