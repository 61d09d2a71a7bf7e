"""What `pretrained_embedding` may be, and the word vectors that training starts with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import LabelledDocuments
from sk_han.embeddings.alignment import embedding_matrix
from sk_han.embeddings.cooccurrence import cooccurrence_vectors

__all__ = ["check_pretrained", "initial_vectors"]


def check_pretrained(pretrained: Any) -> None:
    """Refuse what holds no vectors, and other names than "cooccurrence".

    Raises
    ------
    TypeError, ValueError
        With what can be given.
    """
    can_be_given = "a NumPy array, a mapping of words to vectors, 'cooccurrence' or None"
    if isinstance(pretrained, str):
        if pretrained != "cooccurrence":
            raise ValueError(
                f"pretrained_embedding is {pretrained!r}; give {can_be_given}. Files of vectors "
                "are read by sk_han.embeddings.load_embeddings."
            )
    elif isinstance(pretrained, Sequence) or hasattr(pretrained, "numpy"):
        raise TypeError(
            f"pretrained_embedding is a {type(pretrained).__name__}; give {can_be_given}: "
            "np.asarray(...) makes an array of it."
        )


def initial_vectors(
    pretrained: Any,
    data: LabelledDocuments,
    vocabulary: Mapping[str, int] | None,
    shape: tuple[int, int],
    random_state: np.random.RandomState,
) -> NDArray[np.float32]:
    """Give the word vectors that training starts with.

    Parameters
    ----------
    pretrained : ndarray of this shape, mapping of word to vector, or "cooccurrence"
    data : LabelledDocuments
        What "cooccurrence" learns vectors from, each document as often as it weighs.
    vocabulary : mapping of str to int, or None
        Ids of the words that a mapping is aligned with.
    shape : (vocabulary_size, embedding_dim)
    random_state : RandomState

    Returns
    -------
    ndarray of float32, shape `shape`

    Raises
    ------
    ValueError
        If the array has another shape, or there are no words to align a mapping with.
    """
    if isinstance(pretrained, str):
        return cooccurrence_vectors(
            data.documents, shape, weights=data.weights, random_state=random_state
        )[0]
    if not isinstance(pretrained, np.ndarray):
        if vocabulary is None:
            raise ValueError(
                "pretrained_embedding maps words to vectors, but X holds word ids. Give an array "
                "of shape (vocabulary_size, embedding_dim), as sk_han.embeddings.embedding_matrix "
                "makes from the mapping and the vocabulary, or fit on raw text."
            )
        pretrained = embedding_matrix(pretrained, vocabulary, shape[1], random_state)
    if pretrained.shape != shape:
        raise ValueError(
            f"pretrained_embedding has the shape {pretrained.shape}; expected {shape}, the "
            "vocabulary with padding and unknown word, and embedding_dim."
        )
    return pretrained.astype(np.float32)
