"""Check of `embedding_init`, and the initial word vectors of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.embeddings.alignment import embedding_matrix
from sk_han.embeddings.cooccurrence import cooccurrence_vectors
from sk_han.utils.messages import a_kind, agreeing, counted


def check_embedding_init(init: Any) -> None:
    """Check `embedding_init`, but for vectors of a mapping, which are checked when aligned."""
    can_be_given = "'cooccurrence', 'random', a NumPy array or a mapping of words to vectors"
    if isinstance(init, str):
        if init not in ("cooccurrence", "random"):
            raise ValueError(
                f"embedding_init is {init!r}; give {can_be_given}. Files of vectors are read by "
                "sk_han.embeddings.load_embeddings."
            )
    elif isinstance(init, Sequence) or hasattr(init, "numpy"):
        raise TypeError(
            f"embedding_init is {a_kind(init)}; give {can_be_given}: np.asarray(...) "
            "makes an array of it."
        )
    elif isinstance(init, np.ndarray):
        _check_finite(init)


def initial_vectors(
    init: Any,
    documents: DocumentArray,
    weights: NDArray[np.float64],
    vocabulary: Mapping[str, int] | None,
    shape: tuple[int, int],
    random_state: np.random.RandomState,
) -> NDArray[np.float32] | None:
    """Return the initial word vectors of training, of this shape; None for "random".

    Documents and their positive weights (D,) are for "cooccurrence", the vocabulary for a mapping.
    """
    if isinstance(init, str) and init == "random":
        return None
    if isinstance(init, str):
        return cooccurrence_vectors(documents, shape, weights=weights, random_state=random_state)[0]
    if not isinstance(init, np.ndarray):
        if vocabulary is None:
            raise ValueError(
                "embedding_init maps words to vectors, but X holds word ids. Give an array "
                "of shape (vocabulary_size, embedding_dim), as sk_han.embeddings.embedding_matrix "
                "makes from the mapping and the vocabulary, or fit on raw text."
            )
        init = embedding_matrix(init, vocabulary, shape[1], random_state)
    if init.shape != shape:
        raise ValueError(
            f"embedding_init has the shape {init.shape}; expected {shape}, the "
            "vocabulary with padding and unknown word, and embedding_dim."
        )
    return init.astype(np.float32)


def _check_finite(vectors: NDArray[Any]) -> None:
    if vectors.dtype.kind not in "biuf":
        raise TypeError(
            f"embedding_init is an array of dtype {vectors.dtype}; expected numbers: "
            "vectors.astype(np.float32) makes them of what can be read as such."
        )
    with np.errstate(over="ignore"):
        wrong = np.argwhere(~np.isfinite(vectors.astype(np.float32)))
    if vectors.ndim and len(wrong):
        rows = np.unique(wrong[:, 0])
        raise ValueError(
            f"embedding_init holds {vectors[tuple(wrong[0])]} in row {rows[0]}; {len(rows):,} of "
            f"{counted(len(vectors), 'row')} {agreeing(len(rows), 'hold')} NaN, infinity or "
            "numbers beyond single precision. Replace them, for example by np.nan_to_num(vectors, "
            "posinf=0, neginf=0), or give a mapping without these words, which then start with "
            "random vectors."
        )
