"""Tokenized documents: flat arrays of word ids with the offsets of sentences and documents."""

from sk_han._documents.array import (
    PADDING_ID,
    UNKNOWN_ID,
    DocumentArray,
    Spelling,
    chunk_slices,
    code_points,
    concatenated_ranges,
    document_chunks,
    normal_form,
    normalize,
    to_offsets,
)
from sk_han._documents.repeated import LabelledDocuments
from sk_han._documents.sentences import (
    Coalitions,
    EncoderIdentity,
    SentenceArray,
    each_sentence_alone,
)

__all__ = [
    "PADDING_ID",
    "UNKNOWN_ID",
    "Coalitions",
    "DocumentArray",
    "EncoderIdentity",
    "LabelledDocuments",
    "SentenceArray",
    "Spelling",
    "chunk_slices",
    "code_points",
    "concatenated_ranges",
    "document_chunks",
    "each_sentence_alone",
    "normal_form",
    "normalize",
    "to_offsets",
]
