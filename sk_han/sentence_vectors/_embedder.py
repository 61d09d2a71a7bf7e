"""SentenceEmbedder: raw texts to documents of sentence vectors."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, check_memory

from sk_han._documents import DocumentArray, SentenceArray
from sk_han._options import InstanceOf, Range
from sk_han._storage.schema import Array, Field, Schema, Sizes, check
from sk_han._text.reader import DocumentSpans
from sk_han._text.vocabulary import FittedTokenizer
from sk_han._tokenizer import DocumentTransformer, HierarchicalTokenizer
from sk_han._utils.compat import POSITIVE, HasMethods, fit_context
from sk_han._validation.documents import check_texts, text_portions
from sk_han.sentence_vectors._encoders import PooledWordEncoder, call_of, encoded, name_of


def _check_size(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    fitted_encoder, dimension = state["fitted_encoder"], state["dimension"]
    if fitted_encoder is not None:
        size = fitted_encoder["vectors"].shape[1] + fitted_encoder["directions"].shape[1]
        if size != dimension:
            raise ValueError(f"its {where} has vectors of {size} numbers and the size {dimension}")


# V words of documents, and W words of the encoder that is fitted to sentences; E numbers.
EMBEDDER = Schema(
    (
        Field("tokenizer", FittedTokenizer("V")),
        Field("encoder", InstanceOf(str)),
        Field("dimension", Range(Integral, 1)),
        Field(
            "fitted_encoder",
            Schema(
                (
                    Field("tokenizer", FittedTokenizer("W")),
                    Field("vectors", Array("float32", "W a")),
                    Field("directions", Array("float32", "W b")),
                )
            ),
            optional=True,
        ),
    ),
    rules=(_check_size,),
)


class SentenceEmbedder(DocumentTransformer, BaseEstimator):
    """Turn raw texts into documents of sentence vectors, which `HANClassifier` reads.

    Texts are split into sentences as `HierarchicalTokenizer` splits them, and an encoder, usually a
    pretrained one, makes a vector of each. A transformer reads a few hundred words at once; in this
    way it reads documents of any length. The words are kept too, for the second network and the
    linear models of `HANClassifier`.

    Parameters
    ----------
    encoder : object, default=None
        What makes vectors of sentences: anything with ``encode(list of str)``, which returns
        vectors of shape (n, d), such as a ``SentenceTransformer`` or model2vec's ``StaticModel``;
        a model of fastembed, with ``embed``; or a scikit-learn transformer from texts to dense
        vectors, which is cloned and fitted on the sentences. None learns vectors from the sentences
        (sums of word vectors by neighbours and by latent semantic analysis, 400 numbers). An
        encoder of the first two kinds is not copied, by scikit-learn's ``clone`` neither.
    tokenizer : HierarchicalTokenizer, default=None
        Splits texts into sentences, and finds the words for the n-gram model. Cloned and fitted;
        None means ``HierarchicalTokenizer()``.
    batch_size : int, default=1024
        Distinct sentences of one call of the encoder, which may divide them further.
    memory : str, path-like or joblib.Memory, default=None
        Keeps the vectors of the sentences of each call, for later calls and processes with the same
        sentences, such as the other candidates of a search. It knows an encoder that was given by
        its name and size: give each encoder of your own a folder of its own. None keeps none.
    random_state : int, RandomState instance or None, default=None
        Source of the vectors that ``encoder=None`` learns.
    verbose : int, default=0
        1 shows how many sentences are encoded.

    Attributes
    ----------
    tokenizer_ : HierarchicalTokenizer
        The fitted tokenizer.
    encoder_ : object
        The encoder; a scikit-learn transformer fitted.
    encoder_name_ : str
        The class of the encoder and, where it has one, the name or path of its model.
    dimension_ : int
        Size d of its vectors.

    Notes
    -----
    Each distinct sentence is encoded once in a call. Beside texts and vectors (4 d bytes for each
    distinct sentence) the memory of a batch is needed. A pickle holds the encoder; a file of
    `sk_han.save` does not, if it was given, and `sk_han.load` takes it.

    A classifier and a file know the encoder by its name and the size of its vectors, and refuse
    another. Encoders that agree in both are not told apart.

    Examples
    --------
    >>> from sk_han import SentenceEmbedder
    >>> embedder = SentenceEmbedder(random_state=0)
    >>> embedder.fit_transform(["A fine film. Don't miss it!", "Dull. A dull film."])
    SentenceArray(2 documents, 4 sentences, 14 words, vectors of 400 numbers)
    """

    tokenizer_: HierarchicalTokenizer
    encoder_: Any
    encoder_name_: str
    dimension_: int

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's name and type)
        "encoder": "no_validation",  # call_of checks it
        "tokenizer": [HierarchicalTokenizer, None],
        "batch_size": [POSITIVE],
        "memory": [str, os.PathLike, HasMethods("cache"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        encoder: Any = None,
        *,
        tokenizer: HierarchicalTokenizer | None = None,
        batch_size: int = 1024,
        memory: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.encoder = encoder
        self.tokenizer = tokenizer
        self.batch_size = batch_size
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    # Not skipped, since the parameters of the user's tokenizer must be checked too.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> SentenceEmbedder:
        """Learn the vocabulary, and fit the encoder if it is one to be fitted.

        Parameters
        ----------
        X : n_documents raw texts
            See `HierarchicalTokenizer.fit`.
        y : array-like, default=None
            Ignored.

        Raises
        ------
        TypeError
            If the encoder is none, or a document no string.
        ValueError
            If there are no documents or words, or the encoder gives no vectors.
        """
        self._learn(check_texts(X))
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any = None) -> SentenceArray:
        """Fit, and return what `transform` returns; see `fit` for the arguments."""
        return self._embedded(self._learn(check_texts(X)))

    def transform(self, X: Any) -> SentenceArray:
        """Turn texts into sentence vectors.

        Parameters
        ----------
        X : n_documents raw texts
            An iterator is read 10,000 texts at a time; all distinct sentences stay in memory.

        Raises
        ------
        ValueError
            If the encoder gives other than one vector of its size for each sentence, or NaN.
        """
        check_is_fitted(self)
        return self._embedded(_split(self.tokenizer_, X))

    def locate(self, texts: Any) -> tuple[SentenceArray, list[DocumentSpans]]:
        """Return documents, and the positions of their sentences and words.

        Returns
        -------
        documents : SentenceArray of shape (n_documents,)
            Documents as in `transform`.
        spans : list of DocumentSpans
            One for each text.
        """
        check_is_fitted(self)
        split = _split(self.tokenizer_, texts)
        return self._embedded(split), split.spans

    def inverse_transform(self, documents: Any) -> list[list[list[str]]]:
        """Turn word ids back into words, as `HierarchicalTokenizer.inverse_transform` does."""
        check_is_fitted(self)
        return self.tokenizer_.inverse_transform(documents)

    def __sklearn_clone__(self) -> SentenceEmbedder:
        """Return an unfitted copy with the same encoder, which may be large or a session."""
        if self.encoder is None or _is_to_be_fitted(self.encoder):
            return super().__sklearn_clone__()
        bare = copy.copy(self)
        bare.encoder = None
        cloned: SentenceEmbedder = super(SentenceEmbedder, bare).__sklearn_clone__()
        cloned.encoder = self.encoder
        return cloned

    def _learn(self, texts: list[str]) -> _Split:
        """Fit tokenizer and encoder; return the texts split into sentences."""
        encoder = self.encoder
        if encoder is not None and not _is_to_be_fitted(encoder):
            call_of(encoder)  # an error before the texts are read
        tokenizer = HierarchicalTokenizer() if self.tokenizer is None else clone(self.tokenizer)
        tokenizer.set_params(output="ragged")
        split = _split(tokenizer.fit(texts), texts)
        if encoder is None:
            encoder = PooledWordEncoder(random_state=self.random_state)
        if _is_to_be_fitted(encoder):
            encoder = clone(encoder).fit(split.sentences)
        self.dimension_ = call_of(encoder)(split.sentences[:1]).shape[1]
        self.tokenizer_, self.encoder_, self.encoder_name_ = tokenizer, encoder, name_of(encoder)
        return split

    def _embedded(self, split: _Split) -> SentenceArray:
        self._validate_params()  # they may be set after the fit
        encoder, name = self.encoder_, self.encoder_name_
        location = os.fspath(self.memory) if isinstance(self.memory, os.PathLike) else self.memory
        cached = check_memory(location).cache(encoded, ignore=["encoder", "batch_size", "progress"])
        vectors = cached(
            encoder if _is_to_be_fitted(encoder) else name,
            split.sentences,
            self.dimension_,
            encoder,
            int(self.batch_size),
            progress=bool(self.verbose),
        )
        spans = [each.sentence_spans for each in split.spans]
        return SentenceArray(split.documents, vectors, split.numbers, np.concatenate(spans), name)


def state_of(embedder: Any) -> dict[str, Any]:
    """Return the state of a fitted embedder.

    TypeError if its encoder was fitted and is foreign, ValueError if it was replaced after the fit.
    """
    encoder, fitted_encoder = embedder.encoder_, None
    if isinstance(encoder, PooledWordEncoder):
        vectors, directions = encoder.tables_
        fitted_encoder = {
            "tokenizer": encoder.tokenizer_,
            "vectors": vectors,
            "directions": directions,
        }
    elif _is_to_be_fitted(encoder):
        raise TypeError(
            f"the encoder {type(encoder).__name__} was fitted to sentences, and files hold no "
            "such object. joblib.dump saves the SentenceEmbedder, or the Pipeline, whole."
        )
    elif encoder is not embedder.encoder:
        raise ValueError(
            f"another encoder than its {type(encoder).__name__} was set after the fit. Fit it "
            "again, or set its encoder_ as encoder, too."
        )
    return {
        "tokenizer": embedder.tokenizer_,
        "encoder": embedder.encoder_name_,
        "dimension": embedder.dimension_,
        "fitted_encoder": fitted_encoder,
    }


def restore(embedder: Any, state: Mapping[str, Any], encoder: Any) -> None:
    """Give an embedder its fitted state, and the encoder unless it has fitted one."""
    check(EMBEDDER, state, "embedder")
    name, dimension, fitted_encoder = state["encoder"], state["dimension"], state["fitted_encoder"]
    if fitted_encoder is not None:
        if encoder is not None:
            raise ValueError("it has an encoder that was fitted, and takes no encoder")
        encoder = PooledWordEncoder(dimension)
        encoder.tokenizer_ = fitted_encoder["tokenizer"]
        encoder.tables_ = [fitted_encoder["vectors"], fitted_encoder["directions"]]
    elif encoder is None:
        raise ValueError(
            f"it reads sentence vectors of {dimension} numbers by the encoder {name}, which no "
            "file holds: sk_han.load(path, encoder=...) takes it"
        )
    else:
        size = call_of(encoder)(["One sentence."]).shape[1]
        if (name_of(encoder), size) != (name, dimension):
            raise ValueError(
                f"it was fitted with the encoder {name} of {dimension} numbers, and encoder= is "
                f"{name_of(encoder)} of {size}"
            )
        embedder.encoder = encoder
    embedder.tokenizer_, embedder.encoder_ = state["tokenizer"], encoder
    embedder.encoder_name_, embedder.dimension_ = name, dimension


class _Split(NamedTuple):
    """Texts as words, their distinct sentences, and the number of each sentence among these."""

    documents: DocumentArray
    spans: list[DocumentSpans]
    sentences: list[str]
    numbers: NDArray[np.int64]


def _split(tokenizer: HierarchicalTokenizer, X: Any) -> _Split:
    documents, spans = [], []
    number_of: dict[str, int] = {}
    numbers: list[int] = []
    for texts in text_portions(X):
        some, located = tokenizer.locate(texts)
        documents.append(some)
        spans += located
        for text, found in zip(texts, located, strict=True):
            for start, end in found.sentence_spans.tolist():
                numbers.append(number_of.setdefault(text[start:end], len(number_of)))
    return _Split(
        DocumentArray.concatenate(documents), spans, list(number_of), np.array(numbers, np.int64)
    )


def _is_to_be_fitted(encoder: Any) -> bool:
    """Whether an encoder is a transformer of scikit-learn, and not one that is ready."""
    is_ready = any(callable(getattr(encoder, name, None)) for name in ("encode", "embed"))
    can_learn = hasattr(encoder, "fit") and hasattr(encoder, "transform")
    return can_learn and not is_ready and not isinstance(encoder, type)
