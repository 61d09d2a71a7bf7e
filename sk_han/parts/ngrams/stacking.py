"""The linear models of a fit, and what each of them counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import LabelledDocuments
from sk_han.parts.calibration import fit_scales
from sk_han.parts.ngrams.chunks import fit_ngram_models_in_chunks, n_chunks_of, rows_of_chunks
from sk_han.parts.ngrams.cross_fitting import Views, as_they_are, cross_fitted_logits
from sk_han.parts.ngrams.latent import LatentLearner, LatentSpace, partial_fit_latent_model
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.ngrams.ngram_fitting import fit_ngram_model, partial_fit_ngram_model
from sk_han.parts.ngrams.sparse_fitting import SparseLearner
from sk_han.parts.ngrams.sparse_model import MOST_DENSE
from sk_han.parts.part import Part
from sk_han.parts.pool import LATENT, NGRAMS, Pool
from sk_han.targets import Target

__all__ = [
    "MOST_CROSS_FITTED",
    "fit_linear_parts",
    "partial_fit_linear_parts",
    "with_earlier_latent_model",
]

# Scales of the n-gram model and the latent model, where there are one or both, if no
# document can be scored by models that have not learnt from it. Typical of
# benchmarks/unlabelled.py.
_USUAL_SCALES = {(NGRAMS,): (1.0,), (LATENT,): (1.0,), (NGRAMS, LATENT): (0.4, 1.0)}

# Up to so many documents, models are cross-fitted: a tenth held out would be too few to tell what
# each model is worth. Beyond, five more fits would take longer than they are worth.
MOST_CROSS_FITTED = 10_000


def with_earlier_latent_model(new: Pool, before: Pool) -> Pool:
    """Return a new n-gram model, if there is one, beside an earlier latent model.

    Scales are the earlier ones, or the usual one beside the latent model.
    """
    latent = before.only([LATENT])
    if NGRAMS not in new.parts:
        return latent
    usual_ngrams, usual_latent = _USUAL_SCALES[NGRAMS, LATENT]
    scale = before.scales.get(NGRAMS, latent.scales[LATENT] * usual_ngrams / usual_latent)
    return Pool(new.target, {NGRAMS: new.parts[NGRAMS]}, {NGRAMS: scale}).beside(latent)


def fit_linear_parts(
    data: LabelledDocuments,
    target: Target,
    ngram_range: tuple[int, int],
    space: LatentSpace | None,
    held_out: NDArray[np.int64] | None,
    views: Views = as_they_are,
) -> tuple[Pool, NDArray[np.float64] | None]:
    """Fit the linear models to all documents, and their scales to scores of the same documents.

    Each of these scores comes from models of four fifths of the documents that do not include the
    scored one (stacking, Wolpert, 1992). With more than 10,000 documents only those of `held_out`
    are scored, or a fifth. The n-gram model of more than 8 million words learns from the other
    documents in chunks, scores these, and learns on from them. More than 30 problems are learnt by
    `SparseLearner`, to which the held-out documents or a fifth also tell the strength.

    Return the pool and, for the rows of `held_out`, scaled logits (H, K) by models that have not
    learnt from them; NaN where there are none. Scales are fitted for the `views`.

    Wolpert. Stacked Generalization. Neural Networks.
    """
    everything, folds = np.arange(len(data)), target.folds(data.targets, data.groups)
    sparse = None
    if target.n_problems > MOST_DENSE:
        sparse = SparseLearner(data, target, ngram_range)
    in_chunks = sparse is None and n_chunks_of(data.documents, ngram_range) > 1
    if in_chunks or sparse is not None or len(data) > MOST_CROSS_FITTED:
        fold = next(folds) if held_out is None else held_out
        folds = iter([fold])
        rest = np.setdiff1d(everything, fold, assume_unique=True)
    if sparse is not None and len(rest):
        sparse.choose_strength(rest, fold)
    if in_chunks:
        of_rest, of_all = fit_ngram_models_in_chunks(data, target, ngram_range, [rest, fold])
    latent = None if space is None else LatentLearner(space, data, target)

    def fit(rows: NDArray[np.int64]) -> dict[str, Part]:
        ngram_model: Part | None
        if sparse is not None:
            ngram_model = sparse.fit(rows)
        elif in_chunks:
            ngram_model = of_all if len(rows) == len(data) else of_rest
        else:
            ngram_model = fit_ngram_model(data[rows], target, ngram_range)
        latent_model = None if latent is None else latent.fit(rows)
        return _present(ngram_model, latent_model)

    models = fit(everything)
    scored = None if held_out is None else np.full((len(held_out), target.n_scores), np.nan)
    if not models:
        return Pool(target, {}, {}), scored

    def fit_present(rows: NDArray[np.int64]) -> list[Part | None]:
        some = fit(rows)
        return [some.get(name) for name in models]

    rows, logits = cross_fitted_logits(data, fit_present, folds, views)
    scales = np.array(_USUAL_SCALES[tuple(models)])
    if len(rows):
        scales = fit_scales(target, logits, data.targets[rows], data.weights[rows], scales)
        if held_out is not None and scored is not None:
            place = np.full(len(data), -1)
            place[held_out] = np.arange(len(held_out))
            asked = place[rows] >= 0
            scored[place[rows[asked]]] = np.tensordot(scales, np.stack(logits), 1)[asked]
    return Pool(target, models, dict(zip(models, scales.tolist(), strict=True))), scored


def partial_fit_linear_parts(
    before: Pool | None,
    data: LabelledDocuments,
    target: Target,
    ngram_range: tuple[int, int] | None,
    space: LatentSpace | None,
) -> Pool:
    """Update the linear models by one more portion of documents, or begin them with the first.

    Models do not begin later: beside a trained network they would change what its scale was fitted
    to. A latent model begins only with documents of every class. Scales stay, or are usual ones.
    """
    if before is None:
        if ngram_range is None:
            return Pool(target, {}, {})
        latent = None
        if space is not None:
            latent = LatentLearner(space, data, target).fit(np.arange(len(data)))
        models = _present(_learnt_on(None, data, target, ngram_range), latent)
        scales = zip(models, _USUAL_SCALES.get(tuple(models), ()), strict=True)
        return Pool(target, models, dict(scales))
    parts: dict[str, Any] = dict(before.parts)
    if isinstance(parts.get(NGRAMS), NgramModel):  # one of many labels does not learn on
        parts[NGRAMS] = ngrams = _learnt_on(parts[NGRAMS], data, target, parts[NGRAMS].ngram_range)
        if LATENT in parts:
            n_documents = float(ngrams.counts.n_documents[0])
            for rows in rows_of_chunks(data.documents, parts[LATENT].ngram_range):
                parts[LATENT] = partial_fit_latent_model(parts[LATENT], data[rows], n_documents)
    return Pool(target, parts, before.scales)


def _present(ngram_model: Part | None, latent_model: NgramModel | None) -> dict[str, Any]:
    models = {NGRAMS: ngram_model, LATENT: latent_model}
    return {name: model for name, model in models.items() if model is not None}


def _learnt_on(
    model: NgramModel | None,
    data: LabelledDocuments,
    target: Target,
    ngram_range: tuple[int, int],
) -> Any:
    """Update the n-gram model by a portion, or by parts of it that memory holds, one by one."""
    for rows in rows_of_chunks(data.documents, ngram_range):
        model = partial_fit_ngram_model(model, data[rows], target, ngram_range)
    return model
