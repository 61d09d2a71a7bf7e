"""The linear models of a fit, and what each of them counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, LabelledDocuments
from sk_han.parts.calibration import fit_scales
from sk_han.parts.ngrams.chunks import fit_ngram_models_in_chunks, n_chunks_of, rows_of_chunks
from sk_han.parts.ngrams.cross_fitting import Views, as_they_are, cross_fitted_logits, folds_of
from sk_han.parts.ngrams.latent import LatentLearner, LatentSpace, partial_fit_latent_model
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.ngrams.ngram_fitting import fit_ngram_model, partial_fit_ngram_model
from sk_han.parts.pool import pooled_logits

__all__ = ["MOST_CROSS_FITTED", "LinearParts", "fit_linear_parts", "partial_fit_linear_parts"]

# Scales of the n-gram model (0) and the latent model (1), where there are one or both, if no
# document can be scored by models that have not learnt from it. Typical of
# benchmarks/unlabelled.py.
_USUAL_SCALES = {(0,): (1.0,), (1,): (1.0,), (0, 1): (0.4, 1.0)}

# Up to so many documents, models are cross-fitted: a tenth held out would be too few to tell what
# each model is worth. Beyond, five more fits would take longer than they are worth.
MOST_CROSS_FITTED = 10_000


class LinearParts(NamedTuple):
    """The linear models beside a network, and the scales of their logits.

    Attributes
    ----------
    ngram_model, latent_model : NgramModel or None
    ngram_scale, latent_scale : float
        0 where there is no model.
    """

    ngram_model: NgramModel | None = None
    latent_model: NgramModel | None = None
    ngram_scale: float = 0.0
    latent_scale: float = 0.0

    @property
    def models(self) -> list[tuple[float, NgramModel]]:
        """The models that there are, with their scales."""
        pairs = (self.ngram_scale, self.ngram_model), (self.latent_scale, self.latent_model)
        return [(scale, model) for scale, model in pairs if model is not None]

    @property
    def kinds(self) -> tuple[bool, bool]:
        """Whether there is an n-gram model, and a latent model."""
        return self.ngram_model is not None, self.latent_model is not None

    def logits(self, documents: DocumentArray) -> NDArray[np.float64]:
        """Return the sum of the scaled logits, shape (D, C); there must be a model."""
        return pooled_logits(documents, self.models)

    def times(self, factor: float) -> LinearParts:
        """Return the same models with scales that are `factor` times as large."""
        return self._replace(
            ngram_scale=self.ngram_scale * float(factor),
            latent_scale=self.latent_scale * float(factor),
        )

    def with_scales_of(self, other: LinearParts) -> LinearParts:
        """Return the same models with the scales of others."""
        return self._replace(ngram_scale=other.ngram_scale, latent_scale=other.latent_scale)

    def with_latent_model_of(self, other: LinearParts) -> LinearParts:
        """Return the n-gram model beside the latent model of others, with their scales.

        An n-gram model that they lack gets the usual scale beside their latent model.
        """
        ngram_scale = other.ngram_scale
        if self.ngram_model is not None and other.ngram_model is None:
            beside = _USUAL_SCALES[0, 1]
            ngram_scale = other.latent_scale * beside[0] / beside[1]
        elif self.ngram_model is None:
            ngram_scale = 0.0
        return LinearParts(self.ngram_model, other.latent_model, ngram_scale, other.latent_scale)


def fit_linear_parts(
    data: LabelledDocuments,
    n_classes: int,
    ngram_range: tuple[int, int],
    space: LatentSpace | None,
    held_out: NDArray[np.int64] | None,
    views: Views = as_they_are,
) -> tuple[LinearParts, NDArray[np.float64] | None]:
    """Fit the linear models to all documents, and their scales to scores of the same documents.

    Each of these scores comes from models of four fifths of the documents that do not include the
    scored one (stacking, Wolpert, 1992). With more than 10,000 documents only those of `held_out`
    are scored, or a fifth. The n-gram model of more than 8 million words learns from the other
    documents in chunks, scores these, and learns on from them.

    Parameters
    ----------
    data : LabelledDocuments of D documents
    n_classes : int
    ngram_range : tuple of int
    space : LatentSpace or None
        None for no latent model.
    held_out : ndarray of int64 or None
        Rows of H documents that must be scored.
    views : callable
        As of `cross_fitted_logits`: what the scales are fitted for.

    Returns
    -------
    parts : LinearParts
    scored : ndarray of shape (H, C) or None
        For each row of `held_out`, the sum of the scaled logits of models that have not learnt from
        the document; NaN where there are none.

    References
    ----------
    Wolpert (1992). Stacked Generalization. Neural Networks.
    """
    everything, folds = np.arange(len(data)), folds_of(data.targets)
    in_chunks = n_chunks_of(data.documents, ngram_range) > 1
    if in_chunks or len(data) > MOST_CROSS_FITTED:
        fold = next(folds) if held_out is None else held_out
        folds = iter([fold])
    if in_chunks:
        rest = np.setdiff1d(everything, fold, assume_unique=True)
        of_rest, of_all = fit_ngram_models_in_chunks(data, n_classes, ngram_range, [rest, fold])
    latent = None if space is None else LatentLearner(space, data, n_classes)

    def fit(rows: NDArray[np.int64]) -> list[NgramModel | None]:
        if in_chunks:
            ngram_model = of_all if len(rows) == len(data) else of_rest
        else:
            ngram_model = fit_ngram_model(data[rows], n_classes, ngram_range)
        return [ngram_model] if latent is None else [ngram_model, latent.fit(rows)]

    models = fit(everything)
    present = [number for number, model in enumerate(models) if model is not None]
    scored = None if held_out is None else np.full((len(held_out), n_classes), np.nan)
    if not present:
        return LinearParts(), scored

    def fit_present(rows: NDArray[np.int64]) -> list[NgramModel | None]:
        some = fit(rows)
        return [some[number] for number in present]

    rows, logits = cross_fitted_logits(data, fit_present, folds, views)
    scales, found = np.zeros(2), np.array(_USUAL_SCALES[tuple(present)])
    if len(rows):
        found = fit_scales(logits, data.targets[rows], data.weights[rows], found)
        if held_out is not None and scored is not None:
            place = np.full(len(data), -1)
            place[held_out] = np.arange(len(held_out))
            asked = place[rows] >= 0
            scored[place[rows[asked]]] = np.tensordot(found, np.stack(logits), 1)[asked]
    scales[present] = found
    return LinearParts(
        models[0], models[1] if space is not None else None, *scales.tolist()
    ), scored


def partial_fit_linear_parts(
    before: LinearParts,
    data: LabelledDocuments,
    n_classes: int,
    ngram_range: tuple[int, int] | None,
    space: LatentSpace | None,
    *,
    begin: bool,
) -> LinearParts:
    """Update the linear models by one more portion of documents.

    Parameters
    ----------
    before : LinearParts
        Of the earlier portions.
    data : LabelledDocuments
        The portion.
    n_classes : int
    ngram_range : tuple of int or None
        For models that begin with this portion.
    space : LatentSpace or None
        For a latent model that begins with this portion; it needs documents of every class.
    begin : bool
        Whether models may begin. Beside a trained network they would change what its scale was
        fitted to.

    Returns
    -------
    LinearParts
        Scales are those of before, or typical ones for models that begin.
    """
    ngrams, latent = before.ngram_model, before.latent_model
    if begin and ngram_range is not None:
        ngrams = _learnt_on(None, data, n_classes, ngram_range)
        if space is not None:
            latent = LatentLearner(space, data, n_classes).fit(np.arange(len(data)))
        present = tuple(i for i, model in enumerate([ngrams, latent]) if model is not None)
        scales = np.zeros(2)
        scales[list(present)] = _USUAL_SCALES.get(present, ())
        return LinearParts(ngrams, latent, *scales.tolist())
    if ngrams is not None:
        ngrams = _learnt_on(ngrams, data, n_classes, ngrams.ngram_range)
    if latent is not None and ngrams is not None and ngrams.counts is not None:
        n_documents = float(ngrams.counts.n_documents[0])
        for rows in rows_of_chunks(data.documents, latent.ngram_range):
            latent = partial_fit_latent_model(latent, data[rows], n_documents)
    return before._replace(ngram_model=ngrams, latent_model=latent)


def _learnt_on(
    model: NgramModel | None,
    data: LabelledDocuments,
    n_classes: int,
    ngram_range: tuple[int, int],
) -> NgramModel | None:
    """Update the n-gram model by a portion, or by parts of it that memory holds, one by one."""
    for rows in rows_of_chunks(data.documents, ngram_range):
        model = partial_fit_ngram_model(model, data[rows], n_classes, ngram_range)
    return model
