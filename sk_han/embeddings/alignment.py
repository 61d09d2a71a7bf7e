"""Pretrained word vectors, aligned with a vocabulary."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sk_han.documents import UNKNOWN_ID, DocumentArray
from sk_han.embeddings.cooccurrence import cooccurrence_vectors
from sk_han.embeddings.files import read_vectors
from sk_han.utils.containers import listed
from sk_han.utils.messages import a_kind, check_count, counted


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings(Mapping[str, NDArray[np.float32]]):
    """Word vectors by word, with their coverage of a vocabulary: the result of `load_embeddings`.

    Parameters
    ----------
    rows : mapping of str to int
        Row of the vector of each word.
    vectors : ndarray of float32, shape (n_vectors, embedding_dim)
    n_words : int, default=None
        Number of words of the vocabulary.
    n_known : int, default=None
        Number of these that have a vector.
    running_coverage : float, default=None
        Share of the words of some documents that have a vector, with repetitions.
    """

    rows: Mapping[str, int]
    vectors: NDArray[np.float32]
    n_words: int | None = None
    n_known: int | None = None
    running_coverage: float | None = None

    @property
    def embedding_dim(self) -> int:
        """Size of a vector."""
        return self.vectors.shape[1]

    @property
    def coverage(self) -> float | None:
        """Share of the words of the vocabulary that have a vector; None without a vocabulary."""
        if self.n_words is None or self.n_known is None:
            return None
        return self.n_known / self.n_words

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        return self.vectors[self.rows[word]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    # Mapping compares item by item, but the comparison of two arrays has no single truth value.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __deepcopy__(self, memo: Any) -> Embeddings:
        # scikit-learn's clone would copy the vectors for each fold and candidate.
        return self

    def __repr__(self) -> str:
        found = counted(len(self), "word")
        if self.coverage is not None:
            found = f"{self.n_known:,} of {self.n_words:,} words ({100 * self.coverage:.1f} %)"
        if self.running_coverage is not None:
            found += f", {100 * self.running_coverage:.1f} % of running words"
        return f"Embeddings({found}, embedding_dim={self.embedding_dim})"


def load_embeddings(
    path: str | os.PathLike[str] | Any,
    vocabulary: Any = None,
    documents: DocumentArray | None = None,
) -> Embeddings:
    r"""Load pretrained word vectors.

    Parameters
    ----------
    path : str, path-like, or gensim KeyedVectors
        A text file in the format of GloVe or word2vec, compressed with gzip or not. Or loaded
        vectors: gensim's ``KeyedVectors``, or a mapping of words to vectors.
    vocabulary : fitted HierarchicalTokenizer or mapping of str to int, default=None
        The words to load, for example ``tokenizer.vocabulary_``; None loads all.
    documents : DocumentArray, default=None
        Documents of ids of this vocabulary, to compute the coverage of running words too.

    Returns
    -------
    Embeddings
        For ``HANClassifier(embedding_init=...)``, which aligns it with the vocabulary that it
        learns from raw text, or for `embedding_matrix`.

    Raises
    ------
    FileNotFoundError, TypeError
        If there is no such file, or the vocabulary is no mapping.
    ValueError
        If the file or a vector is damaged, with the line or the words; or if no word of the
        vocabulary has a vector.

    Notes
    -----
    A word takes its own vector, the first one if there are two. If there is none, a word in lower
    case takes that of the first word that differs in case only ("Paris" for "paris"), and a word
    with capitals that of its lower case. The file is read line by line, and only what is kept is
    parsed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_han import HierarchicalTokenizer
    >>> from sk_han.embeddings import load_embeddings
    >>> tokenizer = HierarchicalTokenizer()
    >>> documents = tokenizer.fit_transform(["A fine film.", "A fine, fine day."])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "vectors.txt")
    ...     _ = path.write_text("fine 0.5 0.25\ndull -0.5 0.0\na 0.0 0.125\n")
    ...     vectors = load_embeddings(path, tokenizer, documents)
    >>> vectors
    Embeddings(2 of 6 words (33.3 %), 50.0 % of running words, embedding_dim=2)
    >>> vectors["fine"].tolist()
    [0.5, 0.25]
    """
    if vocabulary is None and documents is not None:
        raise ValueError(
            "documents hold word ids, whose words only their vocabulary knows: give it too."
        )
    if vocabulary is None:
        return _collected(_entries(path), None)
    ids = _ids_of(vocabulary)
    embeddings = _collected(_entries(path), ids.keys() | {word.lower() for word in ids})
    known = [row for word, row in ids.items() if _key(word, embeddings) is not None]
    if not known:
        source = path if isinstance(path, (str, os.PathLike)) else f"the {type(path).__name__}"
        raise ValueError(
            f"No word of the vocabulary has a vector in {source}; check that both are of one "
            f"language and write words alike. First words of the vocabulary: {list(ids)[:5]}."
        )
    coverage = len(ids), len(known), _running_share(documents, np.array(known))
    return Embeddings(embeddings.rows, embeddings.vectors, *coverage)


def learn_embeddings(
    documents: DocumentArray,
    vocabulary: Any,
    *,
    embedding_dim: int = 200,
    random_state: Any = None,
) -> Embeddings:
    """Learn word vectors from text, labelled or not.

    Words with similar neighbours get similar vectors (equations in `cooccurrence_vectors`).
    ``HANClassifier(embedding_init="cooccurrence")`` does the same with its training documents in
    `fit`; this function is for text without labels.

    Parameters
    ----------
    documents : DocumentArray
        More documents give better vectors.
    vocabulary : fitted HierarchicalTokenizer or mapping of str to int
        The words of the ids in `documents`.
    embedding_dim : int, default=200
        Size of a vector.
    random_state : int, RandomState instance or None, default=None
        Source of the start of the decomposition, and of the sample of a large collection.

    Returns
    -------
    Embeddings
        As of `load_embeddings`: for ``HANClassifier(embedding_init=...)``.

    Raises
    ------
    TypeError, ValueError
        If the vocabulary is not that of the documents, or no two known words stand near each other.

    Notes
    -----
    Of more than 16 million words, those of a random sample of documents are counted. Ten million
    words take about half a minute and a gigabyte of memory.

    References
    ----------
    Levy, Goldberg, Dagan (2015). Improving Distributional Similarity with Lessons Learned from
    Word Embeddings. TACL.

    Examples
    --------
    >>> from sk_han import HierarchicalTokenizer
    >>> from sk_han.datasets import make_reviews
    >>> from sk_han.embeddings import learn_embeddings
    >>> tokenizer = HierarchicalTokenizer()
    >>> documents = tokenizer.fit_transform(make_reviews(100, random_state=0)[0])
    >>> vectors = learn_embeddings(documents, tokenizer, embedding_dim=8, random_state=0)
    >>> vectors["the"].shape
    (8,)
    """
    ids = _ids_of(vocabulary)
    if not isinstance(documents, DocumentArray):
        raise TypeError(
            f"documents is {a_kind(documents)}; give the DocumentArray that the "
            "tokenizer makes of texts: tokenizer.transform(texts)."
        )
    check_count("embedding_dim", embedding_dim)
    n_rows = max(ids.values(), default=UNKNOWN_ID) + 1
    highest = int(documents.word_ids.max(initial=UNKNOWN_ID))
    if highest >= n_rows:
        raise ValueError(
            f"documents hold the word id {highest}, but the vocabulary ends at {n_rows - 1}: "
            "tokenize them with the tokenizer of this vocabulary."
        )
    vectors, learnt = cooccurrence_vectors(
        documents, (n_rows, int(embedding_dim)), random_state=random_state
    )
    words = {word: row for word, row in ids.items() if learnt[row]}
    if not words:
        raise ValueError(
            f"No two words of the vocabulary stand near each other in {counted(len(documents))} of "
            f"{counted(documents.n_words, 'word')}: there is nothing to learn from."
        )
    coverage = len(ids), len(words), _running_share(documents, np.flatnonzero(learnt))
    return Embeddings(words, vectors, *coverage)


def embedding_matrix(
    vectors: Any, vocabulary: Mapping[str, int], embedding_dim: int, random_state: Any = None
) -> NDArray[np.float32]:
    """Return a matrix with the vector of each word in the row of its id.

    Parameters
    ----------
    vectors : mapping of str to array-like of shape (embedding_dim,)
        A dict, or another object with ``word in vectors`` and ``vectors[word]``. A word that is
        not in it takes the vector of its lower case.
    vocabulary : mapping of str to int
        Ids of the words, from 2.
    embedding_dim : int
    random_state : int, RandomState instance or None, default=None
        Source of the rows of words without a vector, which have the standard deviation of those
        with one.

    Returns
    -------
    ndarray of float32, shape (highest id + 1, embedding_dim)

    Raises
    ------
    ValueError
        If no word of the vocabulary has a vector, or one has another size or is not finite.

    Examples
    --------
    >>> from sk_han.embeddings import embedding_matrix
    >>> vectors = {"good": [1.0, 0.0], "bad": [-1.0, 0.0]}
    >>> matrix = embedding_matrix(vectors, {"good": 2, "fine": 3}, 2, random_state=0)
    >>> matrix.shape, matrix[2].tolist()
    ((4, 2), [1.0, 0.0])
    """
    keys = {word: key for word in vocabulary if (key := _key(word, vectors)) is not None}
    if not keys:
        raise ValueError(
            "No word of the vocabulary has a pretrained vector; check that both are lower case "
            f"or both are not. First words: {list(vocabulary)[:5]}."
        )
    known = []
    for word, key in keys.items():
        vector = _single(vectors[key])
        if vector.shape != (embedding_dim,):
            raise ValueError(
                f"The pretrained vector of {word!r} has the shape {vector.shape}, but "
                f"embedding_dim={embedding_dim}; set embedding_dim to the size of the vectors."
            )
        known.append(vector)
    table = np.stack(known)
    _check_finite(table, list(keys.values()))
    shape, rng = (max(vocabulary.values()) + 1, embedding_dim), check_random_state(random_state)
    matrix = rng.normal(scale=table.std(), size=shape)
    matrix[[vocabulary[word] for word in keys]] = table
    return matrix.astype(np.float32)


def _running_share(documents: DocumentArray | None, known: NDArray[np.int64]) -> float | None:
    """Return the share of the words that have one of some ids; None without words."""
    if documents is None or not documents.n_words:
        return None
    found = int(np.isin(documents.word_ids, known).sum())
    return found / documents.n_words


def _entries(path: Any) -> Iterable[tuple[str, Callable[[], Any]]]:
    """Return pairs of a word and a function that returns its vector."""
    if isinstance(path, (str, os.PathLike)):
        return read_vectors(path)
    words = getattr(path, "key_to_index", path)  # KeyedVectors are not iterable
    if not isinstance(words, Mapping):
        raise TypeError(
            f"path is {a_kind(path)}; give the path of a text file, gensim's "
            "KeyedVectors (model.wv), or a mapping of words to vectors."
        )
    return ((word, partial(path.__getitem__, word)) for word in words)


def _ids_of(vocabulary: Any) -> Mapping[str, int]:
    if hasattr(vocabulary, "get_params"):
        check_is_fitted(vocabulary)
        vocabulary = getattr(vocabulary, "vocabulary_", vocabulary)
    if not isinstance(vocabulary, Mapping):
        raise TypeError(
            f"vocabulary is {a_kind(vocabulary)}; give a fitted HierarchicalTokenizer or "
            "its vocabulary_, a mapping of words to ids."
        )
    for word, number in vocabulary.items():
        if not isinstance(number, Integral):
            raise TypeError(f"vocabulary maps {word!r} to {number!r}; ids are integers.")
    return vocabulary


def _collected(
    entries: Iterable[tuple[str, Callable[[], Any]]], wanted: Set[str] | None
) -> Embeddings:
    """Collect the vectors of wanted words, and those that their lower case falls back to."""
    rows: dict[str, int] = {}
    by_lower: dict[str, int] = {}
    data, collected, shape = bytearray(), list[str](), (0,)
    for word, vector_of in entries:
        lower = word.lower()
        is_new = word not in rows and (wanted is None or word in wanted)
        has_lower = lower in rows or lower in by_lower or lower == word
        is_fallback = not has_lower and (wanted is None or lower in wanted)
        if is_new or is_fallback:
            vector = _single(vector_of())
            shape = shape if collected else vector.shape
            if vector.ndim != 1 or vector.shape != shape:
                raise ValueError(
                    f"The vector of {word!r} has the shape {vector.shape}; expected one row of "
                    f"numbers for each word, all of one length, as {shape} before it."
                )
            data += vector.tobytes()
            if is_new:
                rows[word] = len(collected)
            if is_fallback:
                by_lower[lower] = len(collected)
            collected.append(word)
    vectors = np.frombuffer(data, dtype=np.float32).reshape(len(collected), *shape)
    _check_finite(vectors, collected)
    vectors.flags.writeable = False
    return Embeddings(by_lower | rows, vectors)


def _single(vector: Any) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # infinity is refused by _check_finite
        return np.asarray(vector, dtype=np.float32)


def _check_finite(vectors: NDArray[np.float32], words: Sequence[str]) -> None:
    """Check the vectors of these words, one a row."""
    wrong = [words[row] for row in np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist()]
    if wrong:
        raise ValueError(
            f"The pretrained vectors of {listed(wrong, 3)}, {len(wrong):,} of {len(words):,}, "
            "hold NaN, infinity or numbers beyond single precision. Leave these words out: words "
            "without a vector start with random ones."
        )


def _key(word: str, vectors: Any) -> str | None:
    """Return the key of a word in `vectors`: itself, its lower case, or None."""
    return next((key for key in (word, word.lower()) if key in vectors), None)
