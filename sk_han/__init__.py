"""Hierarchical attention networks for document classification, behind scikit-learn's API.

The public names load on first use, so that ``import sk_han`` is quick and
``from sk_han import HierarchicalTokenizer`` never imports PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sk_han.classifier import HANClassifier
    from sk_han.documents import DocumentArray, SentenceArray
    from sk_han.inspection.auditing import audit_labels
    from sk_han.inspection.coarsening import coarser
    from sk_han.inspection.explaining import explain, explain_classes, explain_iter
    from sk_han.inspection.faithfulness import faithfulness_report
    from sk_han.inspection.reporting import report
    from sk_han.inspection.results.collection import ExplanationList
    from sk_han.inspection.results.document import DocumentExplanation
    from sk_han.inspection.results.summary import Summary
    from sk_han.inspection.selecting import selective_threshold
    from sk_han.inspection.summarizing import summarize
    from sk_han.model.class_mix import estimate_priors, with_priors
    from sk_han.model.comparing import drift
    from sk_han.options import RNN, Attention, ContextAttention, MultiHopAttention
    from sk_han.persistence import load, save
    from sk_han.sentence_vectors import SentenceEmbedder
    from sk_han.tagging import SequenceTagger
    from sk_han.tokenizer import HierarchicalTokenizer
    from sk_han.training.callbacks import StopAfter, StopOnInterrupt
    from sk_han.translation import AttentionTranslator
    from sk_han.utils.files import ModelFormatError
    from sk_han.versions import show_versions

__version__ = "0.1.0"

__all__ = [
    "RNN",
    "Attention",
    "AttentionTranslator",
    "ContextAttention",
    "DocumentArray",
    "DocumentExplanation",
    "ExplanationList",
    "HANClassifier",
    "HierarchicalTokenizer",
    "ModelFormatError",
    "MultiHopAttention",
    "SentenceArray",
    "SentenceEmbedder",
    "SequenceTagger",
    "StopAfter",
    "StopOnInterrupt",
    "Summary",
    "audit_labels",
    "coarser",
    "drift",
    "estimate_priors",
    "explain",
    "explain_classes",
    "explain_iter",
    "faithfulness_report",
    "load",
    "report",
    "save",
    "selective_threshold",
    "show_versions",
    "summarize",
    "with_priors",
]

_MODULE_OF = {
    "RNN": "sk_han.options",
    "Attention": "sk_han.options",
    "AttentionTranslator": "sk_han.translation",
    "ContextAttention": "sk_han.options",
    "MultiHopAttention": "sk_han.options",
    "DocumentArray": "sk_han.documents",
    "DocumentExplanation": "sk_han.inspection.results.document",
    "ExplanationList": "sk_han.inspection.results.collection",
    "HANClassifier": "sk_han.classifier",
    "HierarchicalTokenizer": "sk_han.tokenizer",
    "ModelFormatError": "sk_han.utils.files",
    "SentenceArray": "sk_han.documents",
    "SentenceEmbedder": "sk_han.sentence_vectors",
    "SequenceTagger": "sk_han.tagging",
    "StopAfter": "sk_han.training.callbacks",
    "StopOnInterrupt": "sk_han.training.callbacks",
    "Summary": "sk_han.inspection.results.summary",
    "audit_labels": "sk_han.inspection.auditing",
    "coarser": "sk_han.inspection.coarsening",
    "drift": "sk_han.model.comparing",
    "estimate_priors": "sk_han.model.class_mix",
    "explain": "sk_han.inspection.explaining",
    "explain_classes": "sk_han.inspection.explaining",
    "explain_iter": "sk_han.inspection.explaining",
    "faithfulness_report": "sk_han.inspection.faithfulness",
    "load": "sk_han.persistence",
    "report": "sk_han.inspection.reporting",
    "save": "sk_han.persistence",
    "selective_threshold": "sk_han.inspection.selecting",
    "show_versions": "sk_han.versions",
    "summarize": "sk_han.inspection.summarizing",
    "with_priors": "sk_han.model.class_mix",
}

# Public modules, documented in docs/api.md.
_MODULES = {
    "cli",
    "datasets",
    "embeddings",
    "inspection",
    "nn",
    "options",
    "rendering",
    "sentence_vectors",
    "serving",
    "tagging",
    "tokenizer",
    "translation",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"sk_han.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'sk_han' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    special = (name for name in globals() if name.startswith("__"))
    return sorted({*special, *__all__, *_MODULES})
