"""Sentence encoders: those of other libraries, as they are called, and one that is fitted here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from sk_han._documents import UNKNOWN_ID
from sk_han._documents.sentences import rows_beyond_limit
from sk_han._tokenizer import HierarchicalTokenizer
from sk_han._utils.files import LARGEST_NUMBER
from sk_han._utils.messages import a_kind, counted, refuse_masked
from sk_han._utils.progress import Progress
from sk_han.embeddings._cooccurrence import cooccurrence_vectors

Encode = Callable[[list[str]], NDArray[np.float32]]

_CAN_BE_GIVEN = (
    "an object with encode(list of str), such as a SentenceTransformer or a StaticModel of "
    "model2vec, with embed(list of str) as of fastembed, a scikit-learn transformer of text, or "
    "None"
)


def call_of(encoder: Any) -> Encode:
    """Return a function that encodes a list of sentences by an encoder, and checks the result."""
    if not isinstance(encoder, (str, type)):
        for name in ("encode", "embed", "transform"):
            method = getattr(encoder, name, None)
            if callable(method):
                return lambda sentences: _checked(
                    method([_encodable(each) for each in sentences]), sentences, encoder
                )
    repair = ""
    if isinstance(encoder, str):
        repair = f" Make the encoder first: SentenceTransformer({encoder!r})."
    elif isinstance(encoder, type):
        repair = f" Make the encoder first: {encoder.__name__}()."
    kind = type(encoder).__name__
    raise TypeError(f"encoder must be {_CAN_BE_GIVEN}; got {encoder!r} ({kind}).{repair}")


def encoded(
    key: Any,
    sentences: Sequence[str],
    dimension: int,
    encoder: Any,
    batch_size: int,
    *,
    progress: bool,
) -> NDArray[np.float32]:
    """Encode distinct sentences batch by batch, shape (n, dimension); a cache knows it by `key`."""
    vectors = np.empty((len(sentences), dimension), dtype=np.float32)
    encode = call_of(encoder)
    with Progress("Encoded", what="sentence", quiet=not progress) as counter:
        for start in range(0, len(sentences), batch_size):
            batch = list(sentences[start : start + batch_size])
            found = encode(batch)
            if found.shape[1] != dimension:
                raise ValueError(
                    f"The encoder gave vectors of {dimension} numbers before, and now of "
                    f"{found.shape[1]}."
                )
            vectors[start : start + len(batch)] = found
            counter.advance(len(batch))
    return vectors


# Attributes with the name of a model: of fastembed, other libraries, transformers and model2vec.
_NAMES = ("model_name", "model_name_or_path", "name_or_path", "base_model_name")


def name_of(encoder: Any) -> str:
    """Return the class of an encoder and, where it has one, its model name or path."""
    kind, holders = type(encoder).__name__, [encoder]
    if callable(getattr(encoder, "_first_module", None)):  # a SentenceTransformer
        holders.append(getattr(encoder._first_module(), "auto_model", None))
    for holder in holders:
        for attribute in _NAMES:
            name = getattr(holder, attribute, None)
            if isinstance(name, str) and name:
                return f"{kind}({name!r})"
    return kind


def _encodable(sentence: str) -> str:
    """Replace what no UTF-8 has, halves of characters, which tokenizers of others refuse."""
    return sentence.encode("utf-8", "replace").decode("utf-8")


def _checked(found: Any, sentences: list[str], encoder: Any) -> NDArray[np.float32]:
    """Return the result of an encoder as an array, if it is one vector for each sentence."""
    name = type(encoder).__name__
    if hasattr(found, "tocsr"):
        raise TypeError(
            f"The encoder {name} gives a sparse matrix of {found.shape[1]:,} columns, and the "
            "network needs short vectors: put TruncatedSVD after it, in a Pipeline."
        )
    if not hasattr(found, "__len__") and hasattr(found, "__iter__"):
        found = list(found)  # fastembed yields them one by one
    are_listed = isinstance(found, (list, tuple))
    for each in found if are_listed else [found]:
        refuse_masked(each, f"An array of the encoder {name}")
    tensors = are_listed and any(hasattr(vector, "cpu") for vector in found)
    try:
        vectors = np.asarray([_on_cpu(each) for each in found] if tensors else _on_cpu(found))
    except ValueError as error:
        raise ValueError(f"The encoder {name} gives vectors of several sizes: {error}") from error
    n = len(sentences)
    expected = f"one vector for each of {counted(n, 'sentence')}, shape ({n}, d)"
    if vectors.dtype.kind not in "biuf":
        raise TypeError(
            f"The encoder {name} must give {expected}; got {a_kind(found)} of dtype "
            f"{vectors.dtype}."
        )
    if vectors.ndim != 2 or len(vectors) != n or vectors.shape[1] == 0:
        raise ValueError(f"The encoder {name} must give {expected}; got shape {vectors.shape}.")
    with np.errstate(over="ignore"):
        vectors = vectors.astype(np.float32)  # a copy: the encoder may fill its array again
    wrong = rows_beyond_limit(vectors)
    if len(wrong):
        raise ValueError(
            f"The encoder {name} gives NaN, infinity or a number beyond {LARGEST_NUMBER:g} for "
            f"{len(wrong):,} of {counted(n, 'sentence')}, such as {sentences[wrong[0]][:60]!r}."
        )
    return vectors


def _on_cpu(found: Any) -> Any:
    """Return a tensor, perhaps of a GPU or in half precision, as NumPy can read it."""
    return found.detach().cpu().float() if hasattr(found, "cpu") else found


class PooledWordEncoder(TransformerMixin, BaseEstimator):
    """Sums of word vectors that are fitted in two ways, one half of the numbers each.

    By neighbours of words, which tell topics (`sk_han.embeddings.learn_embeddings`), and by latent
    semantic analysis (Deerwester et al., 1990), which tells "good" from "bad". On held-out folds
    one half alone was worse for IMDB or 20 newsgroups. Weighted by inverse document frequency.
    """

    def __init__(self, n_components: int = 400, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: list[str], y: Any = None) -> PooledWordEncoder:
        """Learn the vectors of words from sentences."""
        self.tokenizer_ = HierarchicalTokenizer()
        sentences = self.tokenizer_.fit_transform(X)
        rng = check_random_state(self.random_state)
        n_words, half = len(self.tokenizer_.vocabulary_) + UNKNOWN_ID + 1, self.n_components // 2
        shape = n_words, self.n_components - half
        vectors, _ = cooccurrence_vectors(sentences, shape, random_state=rng)
        vectors[: UNKNOWN_ID + 1] = 0
        counts = _counts(sentences, n_words)
        n_sentences = np.diff(counts.tocsc().indptr)
        weights = np.log((len(X) + 1) / np.maximum(n_sentences, 1)).astype(np.float32)
        directions = np.zeros((n_words, half), dtype=np.float32)
        size = min(half, min(counts.shape) - 1)
        if size > 0:
            weighted = normalize(counts @ diags(weights))
            directions[:, :size] = TruncatedSVD(size, random_state=rng).fit(weighted).components_.T
        self.tables_ = [table * weights[:, None] for table in (vectors, directions)]
        return self

    def transform(self, X: list[str]) -> NDArray[np.float32]:
        """Return the vectors of sentences, shape (n_sentences, n_components)."""
        counts = _counts(self.tokenizer_.transform(X), len(self.tables_[0]))
        found = np.hstack([normalize(counts @ table) for table in self.tables_])
        return normalize(found, copy=False).astype(np.float32, copy=False)


def _counts(sentences: Any, n_words: int) -> csr_matrix:
    """Count the words of each sentence, shape (n_sentences, n_words)."""
    row = np.repeat(np.arange(len(sentences)), sentences.words_per_document)
    ones = np.ones(len(row), dtype=np.float32)
    return csr_matrix((ones, (row, sentences.word_ids)), (len(sentences), n_words))
