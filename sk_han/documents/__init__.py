"""Tokenized documents: word ids with the offsets of sentences and documents."""

from sk_han.documents.array import (
    PADDING_ID,
    UNKNOWN_ID,
    DocumentArray,
    concatenated_ranges,
    starts_of,
)
from sk_han.documents.labelled import LabelledDocuments
from sk_han.documents.sentences import EncoderFingerprint, SentenceArray

__all__ = [
    "PADDING_ID",
    "UNKNOWN_ID",
    "DocumentArray",
    "EncoderFingerprint",
    "LabelledDocuments",
    "SentenceArray",
    "concatenated_ranges",
    "starts_of",
]
