"""The parts of a model: each scores documents, and their scaled scores are added up."""

from sk_han.parts.ngram_model import NgramModel
from sk_han.parts.pool import Part, Pool

__all__ = ["PARTS", "Part", "Pool"]

# By the names under which their kinds are stored. A network is restored by what is to compute it:
# `trained_network.TrainedNetwork`, or `sk_han.serving`'s.
PARTS: dict[str, type[Part]] = {NgramModel.kind: NgramModel}
