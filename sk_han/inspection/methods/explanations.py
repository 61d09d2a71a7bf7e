"""From the numbers of a batch to an explanation of each document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sk_han.documents import UNKNOWN_ID, DocumentArray
from sk_han.inspection.methods.contributions import Contributions
from sk_han.inspection.methods.explain_params import SPREADING, How
from sk_han.inspection.methods.source_texts import Source
from sk_han.inspection.methods.target_labels import Asked
from sk_han.inspection.results.document import DocumentExplanation
from sk_han.targets import Target

__all__ = ["explanations_of"]


def explanations_of(
    found: Contributions,
    documents: DocumentArray,
    sources: Sequence[Source],
    asked: Asked,
    target: Target,
    how: How,
) -> Iterator[DocumentExplanation]:
    """Split the flat arrays of a batch into documents.

    Parameters
    ----------
    found : Contributions
    documents : DocumentArray of shape (D,)
    sources : sequence of D Source
    asked : Asked, of D documents
    target : Target
    how : How

    Yields
    ------
    DocumentExplanation
    """
    classes, proba = target.names, target.probabilities(found.logits)
    predicted = target.likeliest(found.logits)
    label_sets = target.label_sets(found.logits)
    explained, rivals = asked.labels(target, found.logits), np.asarray(asked.rivals)
    word_starts = documents.sentence_starts[documents.document_starts]
    unknown = documents.word_ids == UNKNOWN_ID
    for i, source in enumerate(sources):
        words = slice(word_starts[i], word_starts[i + 1])
        sentences = slice(documents.document_starts[i], documents.document_starts[i + 1])
        error, errors, base = found.completeness_error, found.sentence_errors, found.base_values
        yield DocumentExplanation(
            **source._asdict(),
            word_attention=found.word_attention[words],
            sentence_attention=found.sentence_attention[sentences],
            contributions=found.words[words],
            sentence_contributions=found.sentences[sentences],
            method=how.method,
            classes=classes,
            probabilities=proba[i],
            predicted=classes[predicted[i]],
            target=classes[explained[i]],
            against=None if rivals[i] < 0 else classes[rivals[i]],
            unknown=unknown[words],
            combine=how.combine,
            ngram_contributions=found.ngrams[words],
            completeness_error=None if error is None else float(error[i]),
            sentence_errors=None if errors is None else errors[sentences],
            base_value=None if base is None else float(base[i]),
            spread=how.spread if how.method in SPREADING else None,
            labels=None if label_sets is None else label_sets[i],
            thresholds=getattr(target, "thresholds", None),
        )
