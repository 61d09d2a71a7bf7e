"""What the fitted state of a HANClassifier holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sk_han.inspection.results.fit_summary import FitSummary
from sk_han.parts import PARTS
from sk_han.parts.network_part import NETWORK_SCHEMAS, SENTENCE_NETWORK
from sk_han.parts.ngrams.character_model import CharacterModel
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.ngrams.sparse_model import SparseNgramModel
from sk_han.parts.pool import (
    CHARACTERS,
    LATENT,
    LATENT_CHARACTERS,
    NETWORK,
    NGRAMS,
    WORDS,
    pool_fields,
)
from sk_han.storage.network_schema import ENCODER
from sk_han.storage.schema import Array, Field, Schema, Size, Sizes
from sk_han.storage.training_record import TRAINING, check_best_epoch
from sk_han.targets import TARGETS
from sk_han.text.tokenizer_state import FittedTokenizer


def classifier_schema() -> Schema:
    """Return the schema, with the kinds of parts and targets that are known now.

    K classes, V word ids, E numbers of a sentence vector, p sentences that tell encoders apart.
    """
    parts = {kind: part.SCHEMA for kind, part in PARTS.items()} | NETWORK_SCHEMAS
    targets = {kind: target.SCHEMA for kind, target in TARGETS.items()}
    return Schema(
        (
            Field("vocabulary_size", Size("V", 2)),
            *pool_fields(parts, targets),
            Field("encoder", ENCODER, optional=True),
            Field("tokenizer", FittedTokenizer("V"), optional=True),
            *TRAINING,
            Field("fit_summary", _summary, optional=True),
            Field("text_hashes", _TEXT_HASHES, optional=True),
        ),
        rules=(check_best_epoch, _check_network, _check_linear_models),
    )


_OF_CHARACTERS = (CHARACTERS, LATENT_CHARACTERS)
_HAVE_COUNTS = {NGRAMS: True, CHARACTERS: True, LATENT: False, LATENT_CHARACTERS: False}
_TEXT_HASHES = Schema(
    (Field("salt", Array("uint8", "16")), Field("hashes", Array("uint64", "t", rising=True)))
)


def _summary(value: Any, where: str, sizes: Sizes) -> None:
    FitSummary.from_dict(value)


def _check_network(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    network = state["parts"].get(NETWORK)
    if network is None or network["kind"] not in NETWORK_SCHEMAS:
        raise ValueError("its parts have no network")
    if state["encoder"] is not None and network["kind"] != SENTENCE_NETWORK:
        raise ValueError("its network and its encoder of sentences do not belong together")
    beside = state["parts"].get(WORDS)
    if beside is not None and (network["kind"], beside["kind"]) != (SENTENCE_NETWORK, "network"):
        raise ValueError(f"its part {WORDS} is no network over words beside one over vectors")


def _check_linear_models(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    for name, part in state["parts"].items():
        if (name in _OF_CHARACTERS) != (part["kind"] == CharacterModel.kind):
            raise ValueError(f"its part {name[:50]} is of the kind {part['kind']}")
    for name, has_counts in _HAVE_COUNTS.items():
        part = state["parts"].get(name)
        if part is None:
            continue
        kind, learnt = part["kind"], part["learnt"]
        if name in _OF_CHARACTERS:
            learnt = learnt["ngrams"]
            kind = learnt["kind"]
        if has_counts and kind == SparseNgramModel.kind:
            continue
        if kind != NgramModel.kind:
            raise ValueError(f"its part {name} is of the kind {kind}")
        if (learnt["counts"] is not None) != has_counts:
            raise ValueError(f"its part {name} {'lacks' if has_counts else 'has'} counts")
