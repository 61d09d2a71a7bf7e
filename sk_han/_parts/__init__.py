"""The parts of a model, each of which scores documents, and the pool that adds up their scores.

A `Part` (`pool`) is a fitted model that returns logits (D, K) of documents. A `Pool` holds parts by
name, a scale for each, and the target; its logits are the sum of the scaled logits of its parts, a
logarithmic opinion pool. Each part also divides a linear score of its logits among the words
(`attributions`) and scores sets of sentences (`coalitions`), so explaining is written once for all.

The kinds of parts are

- the network (`NetworkPart`): `trained_network` computes it with its skorch net, and
  `sk_han.serving` without PyTorch;
- n-grams of words or of characters within words (`ngram_model`, trained by `ngram_fitting`), whose
  hashing is in `ngrams`;
- latent models: n-gram models trained on the directions of latent semantic analysis (`latent`);
- mean sentence vectors of an encoder (`vectors`);
- the columns of a table next to the text (`columns`, trained by `column_fitting`).

`one_vs_rest` solves the binary problems of n-gram and latent models. A module that trains imports
SciPy or scikit-learn; the others do not, since a `Scorer` loads them. The state of a part is a dict
of arrays and plain values that its `SCHEMA` declares, and `PARTS` finds its class by the kind in a
file.
"""

from sk_han._parts.columns import ColumnModel
from sk_han._parts.ngram_model import NgramModel
from sk_han._parts.pool import Part, Pool
from sk_han._parts.vectors import VectorModel

__all__ = ["PARTS", "Part", "Pool"]

# Classes of parts by their kind in files. The network is not among them, since its class depends on
# who loads it: `trained_network.TrainedNetwork`, or the one of `sk_han.serving`.
PARTS: dict[str, type[Part]] = {part.kind: part for part in (NgramModel, ColumnModel, VectorModel)}
