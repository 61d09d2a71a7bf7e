"""Tokenized documents: word ids with the offsets of sentences and documents."""

from sk_han.documents.array import (
    PADDING_ID,
    UNKNOWN_ID,
    DocumentArray,
    concatenated_ranges,
    starts_of,
)
from sk_han.documents.labelled import LabelledDocuments

__all__ = [
    "PADDING_ID",
    "UNKNOWN_ID",
    "DocumentArray",
    "LabelledDocuments",
    "concatenated_ranges",
    "starts_of",
]
