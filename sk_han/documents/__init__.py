"""Tokenized documents: word ids with the offsets of sentences and documents."""

from sk_han.documents.array import DocumentArray, divided
from sk_han.documents.checks import PADDING_ID, UNKNOWN_ID
from sk_han.documents.coalitions import Coalitions, each_sentence_alone
from sk_han.documents.labelled import LabelledDocuments
from sk_han.documents.offsets import concatenated_ranges, packed, starts_of
from sk_han.documents.sentences import EncoderFingerprint, SentenceArray
from sk_han.documents.spelling import Spelling, code_points

__all__ = [
    "PADDING_ID",
    "UNKNOWN_ID",
    "Coalitions",
    "DocumentArray",
    "EncoderFingerprint",
    "LabelledDocuments",
    "SentenceArray",
    "Spelling",
    "code_points",
    "concatenated_ranges",
    "divided",
    "each_sentence_alone",
    "packed",
    "starts_of",
]
