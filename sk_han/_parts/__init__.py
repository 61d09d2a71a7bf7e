"""The parts of a model: each scores documents, and their scaled scores are added up."""

from sk_han._parts.columns import ColumnModel
from sk_han._parts.ngram_model import NgramModel
from sk_han._parts.pool import Part, Pool
from sk_han._parts.vectors import VectorModel

__all__ = ["PARTS", "Part", "Pool"]

# Kinds of parts, by their names in files. The class of a network depends on what computes it:
# `trained_network.TrainedNetwork`, or that of `sk_han.serving`.
PARTS: dict[str, type[Part]] = {part.kind: part for part in (NgramModel, ColumnModel, VectorModel)}
