"""Tokenized documents: word ids with the offsets of sentences and documents."""

from sk_han._documents.array import (
    PADDING_ID,
    UNKNOWN_ID,
    DocumentArray,
    Spelling,
    code_points,
    concatenated_ranges,
    divided,
    normal_form,
    normalized,
    packed,
    starts_of,
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
    "code_points",
    "concatenated_ranges",
    "divided",
    "each_sentence_alone",
    "normal_form",
    "normalized",
    "packed",
    "starts_of",
]
