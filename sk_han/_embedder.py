"""SentenceEmbedder: raw texts to documents of sentence vectors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from sk_han._documents import EncoderIdentity, SentenceArray
from sk_han._storage.schema import check
from sk_han._text.reader import DocumentSpans
from sk_han._text.sentence_encoder import (
    EMBEDDER,
    SentenceEncoder,
    SentenceReader,
    SharesEncoder,
    asking_for,
    in_pickle,
    sentence_texts,
)
from sk_han._tokenizer import DocumentTransformer, HierarchicalTokenizer
from sk_han._utils.compat import HasMethods, fit_context
from sk_han._validation.documents import check_texts


class SentenceEmbedder(SharesEncoder, DocumentTransformer, BaseEstimator):
    """Convert raw texts to documents of sentence vectors, which `HANClassifier` reads.

    Texts are split into sentences like by `HierarchicalTokenizer`, and an encoder, usually a
    pretrained one, computes a vector of each sentence. A transformer that reads a few hundred words
    at once can thus read documents of any length. The words are kept, too, for the network and the
    other linear models of `HANClassifier`.

    Parameters
    ----------
    encoder : object or str
        The sentence encoder, as for `HANClassifier`: an object with ``encode(list of str)``, which
        returns vectors of shape (n, d); a model of fastembed, with ``embed``; a scikit-learn
        transformer from texts to dense vectors, which is cloned and fitted on the sentences; or a
        string ``"module:Name"``. `clone` shares encoders of the first two kinds.
    tokenizer : HierarchicalTokenizer, default=None
        Splits texts into sentences, and into words for the other parts of the classifier. It is
        cloned and fitted; None means ``HierarchicalTokenizer()``.
    memory : str, path-like or joblib.Memory, default=None
        Folder that caches the vector of each sentence for later calls and processes. Encoders are
        distinguished by their vectors. None caches nothing.
    verbose : int, default=0
        1 shows how many sentences are encoded.

    Attributes
    ----------
    tokenizer_ : HierarchicalTokenizer
        The fitted tokenizer.
    encoder_ : object
        The encoder; if it is a scikit-learn transformer, the fitted clone.
    identity_ : EncoderIdentity
        Name of the encoder and its vectors of fixed sentences, by which others are refused.

    See Also
    --------
    HANClassifier : Reads texts with its parameter `encoder`, without this step.

    Notes
    -----
    Each distinct sentence is encoded once per call. In addition to the texts and their vectors (4 d
    bytes per distinct sentence), memory is needed for a batch. `sk_han.save` does not store the
    encoder; a pickle stores it if it can be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_han import SentenceEmbedder
    >>> class Lengths:
    ...     def encode(self, sentences):
    ...         return np.array([[len(sentence), 1.0] for sentence in sentences])
    >>> embedder = SentenceEmbedder(Lengths())
    >>> embedder.fit_transform(["A fine film. Don't miss it!", "Dull. A dull film."])
    SentenceArray(2 documents, 4 sentences, 14 words, vectors of 2 numbers)
    """

    tokenizer_: HierarchicalTokenizer
    identity_: EncoderIdentity

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's name and type)
        # SentenceEncoder checks the encoder.
        "encoder": "no_validation",
        "tokenizer": [HierarchicalTokenizer, None],
        "memory": [str, os.PathLike, HasMethods("cache"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        encoder: Any,
        *,
        tokenizer: HierarchicalTokenizer | None = None,
        memory: Any = None,
        verbose: int = 0,
    ) -> None:
        self.encoder = encoder
        self.tokenizer = tokenizer
        self.memory = memory
        self.verbose = verbose

    # Not skipped, since the parameters of the user's tokenizer must be checked too.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> SentenceEmbedder:
        """Learn the vocabulary, and fit the encoder if it is a scikit-learn transformer.

        Parameters
        ----------
        X : n_documents raw texts
            See `HierarchicalTokenizer.fit`.
        y : array-like, default=None
            Ignored.

        Raises
        ------
        TypeError
            If the encoder is not valid, or a document is not a string.
        ValueError
            If there are no documents or words, or if the encoder returns no vectors.
        """
        texts = check_texts(X)
        # Tokenizing may take minutes, so the encoder is checked first.
        SentenceEncoder.check(self.encoder)
        tokenizer = HierarchicalTokenizer() if self.tokenizer is None else clone(self.tokenizer)
        tokenizer.set_params(output="ragged").fit(texts)

        def sentences() -> list[str]:
            return list(dict.fromkeys(sentence_texts(texts, tokenizer.spans(texts))))

        encoder = SentenceEncoder.from_parameter(self.encoder, learn_from=sentences)
        self.tokenizer_, self.identity_, self._encoder = tokenizer, encoder.identity, encoder
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any = None) -> SentenceArray:
        """Fit, then convert the same texts; see `fit` and `transform`."""
        texts = check_texts(X)
        return self.fit(texts).transform(texts)

    def transform(self, X: Any) -> SentenceArray:
        """Convert texts to documents of sentence vectors.

        Parameters
        ----------
        X : n_documents raw texts
            An iterator is read 10,000 texts at a time; all distinct sentences stay in memory.

        Raises
        ------
        ValueError
            If the encoder does not return one finite vector of its size for each sentence.
        """
        return self._reader().transform_ragged(X)

    def locate(self, texts: Any) -> tuple[SentenceArray, list[DocumentSpans]]:
        """Convert texts, and return the positions of their sentences and words.

        Returns
        -------
        documents : SentenceArray of shape (n_documents,)
            Documents as in `transform`.
        spans : list of DocumentSpans
            One for each text.
        """
        return self._reader().locate(texts)

    def keep_words(self, documents: Any, sources: Any, kept: Any) -> SentenceArray:
        """Return documents with only some words; sentences that changed are encoded again."""
        return self._reader().keep_words(documents, sources, kept)

    def inverse_transform(self, documents: Any) -> list[list[list[str]]]:
        """Convert word ids back to words, as `HierarchicalTokenizer.inverse_transform` does."""
        check_is_fitted(self)
        return self.tokenizer_.inverse_transform(documents)

    @property
    def encoder_(self) -> Any:
        """The encoder; if it is a scikit-learn transformer, the fitted clone."""
        return self._reader().encoder.encoder

    def to_state(self) -> dict[str, Any]:
        """Return the fitted state: the tokenizer, and the identity of the encoder."""
        check_is_fitted(self)
        return {"tokenizer": self.tokenizer_, "identity": self.identity_._asdict()}

    def from_state(self, state: Mapping[str, Any]) -> SentenceEmbedder:
        """Restore a state from `to_state`; raise a ValueError if `encoder` is another encoder."""
        check(EMBEDDER, state)
        self.tokenizer_ = state["tokenizer"]
        self.identity_ = EncoderIdentity(**state["identity"])
        self._reader()
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state["encoder"] = in_pickle(self.encoder, state.get("identity_"))
        encoder = state.get("_encoder")
        if encoder is not None and encoder.fitted is None:
            del state["_encoder"]
        return state

    def _reader(self) -> SentenceReader:
        """Return the reader of texts; raise a ValueError if `encoder` is not that of the fit."""
        check_is_fitted(self)
        # Parameters may have been set after the fit.
        self._validate_params()
        encoder = vars(self).get("_encoder")
        if encoder is None or encoder.parameter is not self.encoder:
            if self.encoder is None:
                raise ValueError(f"This embedder is not complete: {asking_for(self.identity_)}")
            encoder = SentenceEncoder.from_parameter(self.encoder, expected=self.identity_)
            self._encoder = encoder
        return SentenceReader(
            self.tokenizer_, replace(encoder, memory=self.memory, quiet=not self.verbose)
        )
