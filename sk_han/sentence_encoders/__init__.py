"""Encoders of sentences: how each kind is called, the one that is learnt here, and a cache."""

from sk_han.sentence_encoders.cache import VectorCache
from sk_han.sentence_encoders.calling import Encode, call_of, encoded, fingerprint_of
from sk_han.sentence_encoders.latent import LatentSentenceEncoder

__all__ = [
    "Encode",
    "LatentSentenceEncoder",
    "VectorCache",
    "call_of",
    "encoded",
    "fingerprint_of",
]
