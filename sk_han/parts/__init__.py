"""The parts of a model: each scores documents, and their scaled scores are added up."""

from sk_han.parts.ngrams.character_model import CharacterModel
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.ngrams.sparse_model import SparseNgramModel
from sk_han.parts.pool import Part, Pool

__all__ = ["PARTS", "Part", "Pool"]

# By the names under which their kinds are stored. A network is restored by what is to compute it:
# `trained_network.TrainedNetwork`, or `sk_han.serving`'s.
PARTS: dict[str, type[Part]] = {
    kind.kind: kind for kind in (NgramModel, SparseNgramModel, CharacterModel)
}
