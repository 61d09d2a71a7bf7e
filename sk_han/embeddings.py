"""Pretrained word vectors, aligned with a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

__all__ = ["embedding_matrix", "initial_vectors"]


def embedding_matrix(
    vectors: Any,
    vocabulary: Mapping[str, int],
    embedding_dim: int,
    random_state: Any = None,
) -> NDArray[np.float32]:
    """Put the vector of each word on the row of its id.

    Parameters
    ----------
    vectors : mapping of str to array-like of shape (embedding_dim,)
        A dict, or anything that knows ``word in vectors`` and ``vectors[word]``.
    vocabulary : mapping of str to int
        Ids of the words, from 2.
    embedding_dim : int
    random_state : int, RandomState instance or None, default=None
        Source of the rows of words without a vector, which are as large as those with one.

    Returns
    -------
    ndarray of float32, shape (highest id + 1, embedding_dim)

    Raises
    ------
    ValueError
        If no word of the vocabulary has a vector, or a vector has another size.

    Examples
    --------
    >>> from sk_han.embeddings import embedding_matrix
    >>> vectors = {"good": [1.0, 0.0], "bad": [-1.0, 0.0]}
    >>> matrix = embedding_matrix(vectors, {"good": 2, "fine": 3}, 2, random_state=0)
    >>> matrix.shape, matrix[2].tolist()
    ((4, 2), [1.0, 0.0])
    """
    found = {word: row for word, row in vocabulary.items() if word in vectors}
    if not found:
        raise ValueError(
            "No word of the vocabulary has a pretrained vector; check that both are lower case "
            f"or both are not. First words: {list(vocabulary)[:5]}."
        )
    of_word = {word: np.asarray(vectors[word], dtype=np.float32) for word in found}
    for word, vector in of_word.items():
        if vector.shape != (embedding_dim,):
            raise ValueError(
                f"The pretrained vector of {word!r} has the shape {vector.shape}, but "
                f"embedding_dim={embedding_dim}; set embedding_dim to the size of the vectors."
            )
    known = np.stack(list(of_word.values()))
    n_rows = max(vocabulary.values()) + 1
    matrix = check_random_state(random_state).normal(
        scale=known.std(), size=(n_rows, embedding_dim)
    )
    matrix[list(found.values())] = known
    return matrix.astype(np.float32)


def initial_vectors(
    pretrained: Any,
    vocabulary: Mapping[str, int] | None,
    shape: tuple[int, int],
    random_state: np.random.RandomState,
) -> NDArray[np.float32]:
    """Give the word vectors that training starts with.

    Parameters
    ----------
    pretrained : ndarray of this shape, or mapping of word to vector
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
    if isinstance(pretrained, Sequence) or hasattr(pretrained, "numpy"):
        raise TypeError(
            f"pretrained_embedding is a {type(pretrained).__name__}; give a NumPy array "
            "(np.asarray(...)) or a mapping of words to vectors."
        )
    if not isinstance(pretrained, np.ndarray):
        if vocabulary is None:
            raise ValueError(
                "pretrained_embedding maps words to vectors, but X holds word ids. Give an array "
                "of shape (vocabulary_size, embedding_dim), or fit on raw text."
            )
        pretrained = embedding_matrix(pretrained, vocabulary, shape[1], random_state)
    if pretrained.shape != shape:
        raise ValueError(
            f"pretrained_embedding has the shape {pretrained.shape}; expected {shape}, the "
            "vocabulary with padding and unknown word, and embedding_dim."
        )
    return pretrained.astype(np.float32)
