"""What the fitted state of a HANClassifier holds."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from sk_han.inspection.results.fit_summary import FitSummary
from sk_han.options.base import InstanceOf, Range
from sk_han.parts.ngrams.model import NgramModel
from sk_han.storage.network_schema import NETWORK
from sk_han.storage.schema import Array, Field, Schema, Size, Sizes
from sk_han.storage.stored_labels import labels
from sk_han.storage.training_record import TRAINING, check_best_epoch
from sk_han.text.tokenizer_state import FittedTokenizer

__all__ = ["CLASSIFIER"]

_SCALE = Range(Real, 0, 1e6)  # far beyond what fits find; products with logits stay finite


def _summary(value: Any, where: str, sizes: Sizes) -> None:
    FitSummary.from_dict(value)


def _check_linear_models(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    for name, has_counts in (("ngram", True), ("latent", False)):
        model, scale = state[f"{name}_model"], state[f"{name}_scale"]
        if model is None and scale > 0:
            raise ValueError(f"it has no {name}_model, and a scale of {scale} for one")
        if model is not None and (model["counts"] is not None) != has_counts:
            raise ValueError(f"its {name}_model {'lacks' if has_counts else 'has'} counts")


def _check_encoder(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    if state["encoder"] is not None and state["network"]["reads"] != "vectors":
        raise ValueError("its network and its encoder of sentences do not belong together")


# K classes, V word ids, E numbers of a sentence vector, p sentences that tell encoders apart.
CLASSIFIER = Schema(
    (
        Field("classes", labels),
        Field("vocabulary_size", Size("V", 2)),
        Field("network", NETWORK),
        Field(
            "encoder",
            Schema((Field("name", InstanceOf(str)), Field("vectors", Array("float32", "p E")))),
            optional=True,
        ),
        Field("tokenizer", FittedTokenizer("V"), optional=True),
        Field("ngram_model", NgramModel.SCHEMA, optional=True),
        Field("latent_model", NgramModel.SCHEMA, optional=True),
        Field("network_scale", _SCALE),
        Field("ngram_scale", _SCALE),
        Field("latent_scale", _SCALE),
        *TRAINING,
        Field("fit_summary", _summary, optional=True),
    ),
    rules=(check_best_epoch, _check_linear_models, _check_encoder),
)
