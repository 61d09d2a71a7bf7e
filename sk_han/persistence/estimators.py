"""The estimators that a file may hold."""

from __future__ import annotations

from typing import Any

from sk_han.classifier import HANClassifier
from sk_han.tagging import SequenceTagger
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.translation import AttentionTranslator

__all__ = ["ESTIMATORS", "Saved"]

Saved = HANClassifier | HierarchicalTokenizer | SequenceTagger | AttentionTranslator

ESTIMATORS: dict[str, Any] = {
    estimator.__name__: estimator
    for estimator in (HANClassifier, HierarchicalTokenizer, SequenceTagger, AttentionTranslator)
}
