"""Encoders of sentences: how each kind is called, the one that is learnt here, and a cache."""

from sk_han.sentence_encoders.cache import VectorCache
from sk_han.sentence_encoders.calling import Encode, call_of, encoded, fingerprint_of
from sk_han.sentence_encoders.pooled import PooledWordEncoder

__all__ = [
    "Encode",
    "PooledWordEncoder",
    "VectorCache",
    "call_of",
    "encoded",
    "fingerprint_of",
]
