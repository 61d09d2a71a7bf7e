"""Documents compared with those of a fit: unknown words, confidence, mix of predictions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sk_han._documents import UNKNOWN_ID, DocumentArray
from sk_han._model.class_mix import confidences, unknown_shares
from sk_han._model.fitted_model import FittedModel
from sk_han._model.novelty import novelty_terms
from sk_han._rendering.blocks import Block, Heading, Sentence, Table, amount, percent
from sk_han._rendering.result import Extent, Result
from sk_han._utils.containers import Floats
from sk_han._utils.messages import plural
from sk_han.inspection._class_mix import compared_documents, estimated_mix
from sk_han.inspection._estimators import explained_model

_LEVEL = 0.05  # of the alarm
_FEWEST = 30  # documents, whose means are about normal
_FLOOR = 1e-4  # standard error: smaller differences than twice as much mean nothing


class Comparison(NamedTuple):
    """A mean over documents, next to that of the documents of the fit.

    Parameters
    ----------
    name : str
        "unknown words", "confidence", "novelty", or "predictions of" the class that differs most,
        "near" one of the numbers of a regressor.
    value, lower, upper : float
        The mean, and its 95 % interval. Of novelty, the mean share of the held-out documents with
        lower scores.
    expected : float
        The mean of documents of the fit.
    p_value : float
        How likely so large a difference is by chance, corrected for the number of comparisons.
    meaning : str
        What a difference means, in one sentence.
    """

    name: str
    value: float
    lower: float
    upper: float
    expected: float
    p_value: float
    meaning: str


def novelty(model: Any, X: Any) -> Floats:
    """Compute for each document the p-value that it is like the training documents.

    Small for a document that is none of the classes: of 100 documents like those of the fit, 5 have
    a p-value below 0.05. A score adds up how unsure the model is (the entropy of its prediction),
    the share of unknown words and, with a sentence encoder, the distance of the document's vector
    from the mean vector. The p-value is the rank of the score among those of the held-out documents
    (a conformal p-value [1]_).

    Parameters
    ----------
    model : HANClassifier, HANRegressor, Scorer, Pipeline that ends in one, or search
        Fitted; given `priors` do not count.
    X : as for ``predict``

    Returns
    -------
    ndarray of shape (n_documents,)
        From 0 to 1; NaN, with a warning, if the fit held out fewer than 19 documents.

    Raises
    ------
    TypeError
        If it is another model.

    See Also
    --------
    drift : Compare many documents with those of the fit, where p-values of single ones are weak.
    selective_threshold : Accept predictions so that few of them are wrong.

    Notes
    -----
    With n held-out documents no p-value is reliably below 1 / (n + 1). Ties are broken by a number
    that depends on the words of the document alone. A warm start without `X_val` and `partial_fit`
    hold nothing out, so there are none after them. 5 % is an average over fits; p-values of one
    fit share its held-out documents and are not independent [2]_. Hold out whole groups, by
    `groups` of ``fit``, where new documents are of new groups.

    References
    ----------
    .. [1] Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World", Springer 2005.
    .. [2] Bates, Candes, Lei, Romano, Sesia, "Testing for outliers with conformal p-values", Annals
       of Statistics 51, 2023.

    Examples
    --------
    >>> from sk_han import HANClassifier, novelty
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(260, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, max_epochs=1, random_state=0)
    >>> classifier = classifier.fit(texts[:200], labels[:200])
    >>> p = novelty(classifier, [*texts[200:], "Das Wetter ist heute wirklich nicht gut."])
    >>> bool(p[-1] < 0.05), bool((p[:-1] < 0.05).mean() < 0.2)
    (True, True)
    """
    explained = explained_model(model, "novelty")
    fitted, documents = explained.fitted, explained.read(X)
    with explained.computing():
        return fitted.novelty_p_values(documents, fitted.pool.logits(documents))


@dataclasses.dataclass(frozen=True, kw_only=True)
class DriftReport(Result):
    """How documents differ from those of a fit; `drift` returns it.

    Parameters
    ----------
    n_documents : int
    comparisons : tuple of Comparison
        Of unknown words, and if documents were held out in the fit, of confidence, novelty and
        predictions.
    """

    n_documents: int
    comparisons: tuple[Comparison, ...]

    @property
    def alarm(self) -> bool:
        """Whether one of them differs beyond chance, at a level of 5 % for all together."""
        return any(one.p_value < _LEVEL for one in self.comparisons)

    @property
    def text(self) -> str:
        """The result, in one sentence."""
        n = plural(self.n_documents)
        different = " and ".join(one.name for one in self.comparisons if one.p_value < _LEVEL)
        alone = " (no documents were held out to compare more)" * (len(self.comparisons) == 1)
        are_like = f"are not like those of the fit in {different}"
        return f"{n} {are_like if different else 'may be like those of the fit'}{alone}."

    def _blocks(self, extent: Extent, **options: Any) -> Iterable[Block]:
        yield Heading("Compared with the documents of the fit", 1)
        yield Sentence(self.text)
        rows = [
            (
                name,
                *(percent(share, 1) for share in shares),
                "< 0.001" if p_value < 0.001 else f"{p_value:.2g}",
            )
            for name, *shares, p_value, _ in self.comparisons
        ]
        yield Table(rows, ["", "here", "at least", "at most (95 %)", "expected", "p"])
        yield Sentence(
            "p is the probability of so large a difference by chance, corrected for the number of "
            "rows: of more unknown words, less confidence, more novelty, or other predictions. An "
            "interval is of one mean alone, and may exclude the expected value without an alarm."
        )
        meanings = [one.meaning for one in self.comparisons if one.p_value < _LEVEL]
        yield from map(Sentence, meanings)


def drift(model: Any, X: Any) -> DriftReport:
    """Tell whether documents differ from those that a model was fitted to.

    They are compared with numbers that the fit has kept, and with no texts: the share of unknown
    words, for which each training document was left out in turn; and on held-out documents the
    probability of what is predicted, the scores of `novelty`, and the probabilities of the classes.
    More unknown words, less confidence, more novelty and other classes give an alarm.

    Parameters
    ----------
    model : HANClassifier, HANRegressor, Scorer, Pipeline that ends in one, or search
        Fitted; given `priors` do not count.
    X : as for ``predict``
        At least 30 documents with words, drawn like those to predict. The mix of predictions takes
        100, and five for each class.

    Returns
    -------
    DriftReport
        Its `alarm` is false in 95 % of the calls with documents like those of the fit (Bonferroni).

    Raises
    ------
    TypeError
        If it is another model.
    ValueError
        If there are too few documents, or the model was fitted by `partial_fit`.

    See Also
    --------
    novelty : The p-value of each document.
    estimate_priors : The mix of classes, if nothing else has changed.
    report : Evaluate a model on labelled documents.

    Examples
    --------
    >>> from sk_han import HANClassifier, drift
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(160, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, max_epochs=1, random_state=0)
    >>> classifier = classifier.fit(texts[:60], labels[:60])
    >>> drift(classifier, ["Das Wetter ist heute wirklich nicht gut."] * 50).alarm
    True
    """
    documents, p, fitted = compared_documents(model, X, "drift")
    if len(documents) < _FEWEST:
        raise ValueError(
            f"{plural(len(documents))} are too few to compare; pass at least {_FEWEST}."
        )
    compared = [*_comparisons(documents, p, fitted)]
    corrected = [one._replace(p_value=min(1.0, one.p_value * len(compared))) for one in compared]
    return DriftReport(n_documents=len(p), comparisons=tuple(corrected))


def _comparisons(documents: DocumentArray, p: Floats, fitted: FittedModel) -> Iterator[Comparison]:
    """Yield the comparisons that are possible, with p-values of their own."""
    reference, target, novelty = fitted.known_reference, fitted.target, fitted.novelty
    unknown = unknown_shares(documents, documents.word_ids == UNKNOWN_ID)
    yield Comparison(
        "unknown words",
        *_difference(unknown, *reference.unknown),
        "These texts have words that the model has not learnt: new subjects, another "
        "language or way of writing. Label some of them and fit again.",
    )
    if not reference.n_held_out:
        return
    confident = confidences(p, target)
    yield Comparison(
        "confidence",
        *_difference(confident, reference.n_held_out, *reference.confidence, sign=-1),
        "The model is less sure than on held-out documents, so it is wrong more often.",
    )
    if novelty is not None:
        scores, n = (
            novelty.score(novelty_terms(p, documents, fitted.pool), documents),
            len(novelty.scores),
        )
        lower = np.searchsorted(novelty.scores, scores) / n  # uniform if documents are alike
        yield Comparison(
            "novelty",
            *_difference(lower, n, 1 / 2, 1 / 12),
            "Documents are less like those of the fit than held-out ones; the function novelty "
            "shows which of them.",
        )
    mix = estimated_mix(p, reference, target)
    if mix.n_documents >= mix.fewest and target.n_scores > 1:
        i = int(np.abs(p.mean(axis=0) - reference.predicted).argmax())
        shares = _difference(p[:, i], 1, reference.predicted[i], 0)[:4]
        yield Comparison(
            f"predictions near {amount(mix.labels[i])}"
            if target.is_number
            else f"predictions of {mix.labels[i]}",
            *shares,
            float(mix.p_values.min()),
            "Numbers are distributed in another way than on held-out documents."
            if target.is_number
            else "Classes are predicted in other shares. If the texts are of the same kind, "
            "with_priors corrects the probabilities.",
        )


def _difference(
    values: Floats, n: float, expected: float, variance: float, *, sign: int = 1
) -> tuple[float, float, float, float, float]:
    """Return a mean, its interval, the expected mean, and the p-value of a larger one.

    The expected mean is of n documents, with a variance. A sign of -1 tests for a smaller mean.
    """
    mean, error = float(values.mean()), float(values.std()) / math.sqrt(len(values))
    both = math.sqrt(error**2 + variance / n) + _FLOOR
    p_value = math.erfc(sign * (mean - expected) / both / math.sqrt(2)) / 2
    return mean, mean - 1.96 * error, mean + 1.96 * error, float(expected), p_value
