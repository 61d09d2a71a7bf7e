"""The fitted state of a SentenceEmbedder, without an encoder that the user gave, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sk_han.documents import EncoderFingerprint
from sk_han.options.base import InstanceOf
from sk_han.sentence_vectors.encoders import PROBES, call_of, fingerprint_of
from sk_han.sentence_vectors.pooled_words import PooledWordEncoder
from sk_han.storage.schema import Array, Field, Schema, Sizes, check
from sk_han.text.tokenizer_state import FittedTokenizer


def _check_size(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    learnt = state["learnt"]
    if learnt is not None:
        size = learnt["vectors"].shape[1] + learnt["directions"].shape[1]
        if size != state["fingerprint"]["vectors"].shape[1]:
            raise ValueError(f"its {where} has vectors of {size} numbers, and others of probes")


# V words of documents, and W of the vectors that were learnt from sentences; E numbers.
EMBEDDER = Schema(
    (
        Field("tokenizer", FittedTokenizer("V")),
        Field(
            "fingerprint",
            Schema((Field("name", InstanceOf(str)), Field("vectors", Array("float32", "p E")))),
        ),
        Field(
            "learnt",
            Schema(
                (
                    Field("tokenizer", FittedTokenizer("W")),
                    Field("vectors", Array("float32", "W a")),
                    Field("directions", Array("float32", "W b")),
                )
            ),
            optional=True,
        ),
    ),
    rules=(_check_size,),
)


def state_of(embedder: Any) -> dict[str, Any]:
    """Return the state of a fitted embedder; TypeError if its encoder was fitted and is foreign."""
    encoder, learnt = embedder.encoder_, None
    if isinstance(encoder, PooledWordEncoder):
        vectors, directions = encoder.tables_
        learnt = {"tokenizer": encoder.tokenizer_, "vectors": vectors, "directions": directions}
    elif encoder is not embedder.encoder:
        raise TypeError(
            f"the encoder {type(encoder).__name__} was fitted to sentences, and files hold no "
            "such object. joblib.dump saves the SentenceEmbedder, or the Pipeline, whole."
        )
    return {
        "tokenizer": embedder.tokenizer_,
        "fingerprint": embedder.fingerprint_._asdict(),
        "learnt": learnt,
    }


def restore(embedder: Any, state: Mapping[str, Any], encoder: Any) -> None:
    """Give an embedder its fitted state, and the encoder if it has not learnt one."""
    check(EMBEDDER, state, "embedder")
    fingerprint, learnt = EncoderFingerprint(**state["fingerprint"]), state["learnt"]
    if learnt is not None:
        if encoder is not None:
            raise ValueError("it has vectors that were learnt, and takes no encoder")
        encoder = PooledWordEncoder(fingerprint.dimension)
        encoder.tokenizer_ = learnt["tokenizer"]
        encoder.tables_ = [learnt["vectors"], learnt["directions"]]
    elif encoder is None:
        raise ValueError(
            f"it reads sentence vectors of {fingerprint.dimension} numbers by the encoder "
            f"{fingerprint.name!r}, which no file holds: sk_han.load(path, encoder=...) takes it"
        )
    elif not fingerprint_of(encoder, call_of(encoder), PROBES).is_of_same(fingerprint):
        raise ValueError(
            f"encoder={type(encoder).__name__} gives other vectors than the {fingerprint.name!r} "
            "that it was fitted with"
        )
    else:
        embedder.encoder = encoder
    embedder.tokenizer_, embedder.encoder_ = state["tokenizer"], encoder
    embedder.fingerprint_ = fingerprint
