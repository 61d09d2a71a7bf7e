"""HierarchicalTokenizer, which converts raw texts to documents of word ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, zip_longest
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.utils.validation import check_is_fitted

from sk_han._documents import DocumentArray
from sk_han._storage.description import TOKENIZER
from sk_han._text.analyzer import TOKEN_PATTERNS, compile_token_pattern
from sk_han._text.reader import READING, DocumentReader, DocumentSpans, to_words
from sk_han._text.vocabulary import WordCounts, check_vocabulary, in_normal_form
from sk_han._utils.compat import (
    POSITIVE,
    HasMethods,
    Interval,
    RealNotInt,
    fit_context,
    to_sklearn,
    validate_parameter_constraints,
)
from sk_han._utils.files import unpack_state
from sk_han._utils.messages import a_kind
from sk_han._validation.documents import check_texts, text_portions

_Transformer = TypeVar("_Transformer", bound="DocumentTransformer")


class DocumentTransformer(TransformerMixin):
    """Mixin for estimators whose `transform` takes raw texts and returns documents.

    `_newest_format` is the format of the state in a pickle. It increases when an older release
    cannot read the state.
    """

    _newest_format = 1

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # scikit-learn would put the documents into the frame that `set_output` asks for.
        super().__init_subclass__(auto_wrap_output_keys=None, **kwargs)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the single name of the output, for later steps of a Pipeline."""
        check_is_fitted(self)
        return np.array(["documents"], dtype=object)

    def set_output(self: _Transformer, *, transform: str | None = None) -> _Transformer:
        """Do nothing, since documents cannot be tables; a Pipeline calls this for all steps."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_state_format": self._newest_format}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(unpack_state(state, self, newest=self._newest_format))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags


class HierarchicalTokenizer(DocumentTransformer, BaseEstimator):
    """Convert raw texts to documents, which are sequences of sentences of word ids.

    Id 0 is padding and 1 the unknown word. The words of the vocabulary follow from 2 on, by
    decreasing frequency in the training texts, then in alphabetical order.

    Parameters
    ----------
    lowercase : bool, default=True
        Whether words that differ only in case are one word.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        Whether words that differ only in accents are one word. As in scikit-learn's
        ``CountVectorizer``: "unicode" removes accents, "ascii" then also removes all characters
        that are not ASCII, and a callable takes a word and returns its replacement. Words that
        become empty are dropped.
    tokens : {"words+marks", "words", "web"}, default="words+marks"
        What counts as a word. "words": letters, accents and digits of all scripts, with apostrophes
        inside ("don't"); in scripts without spaces, each character. "words+marks": also each emoji,
        and each run of one of the marks ``. , ; : ! ? ( ) " @ # $ % & * /`` or of their
        counterparts in other scripts. "web": the same, but hashtags, mentions, numbers ("$50.99"),
        emoticons, "C++" and "f**k" are one word each.
    token_pattern : str, default=None
        Regular expression for a word, instead of `tokens`. It is matched against the raw text,
        before `lowercase` and `strip_accents`, so ``[a-z]+`` misses capitals. If it has a group,
        the group is the word.
    stop_words : "english" or list of str, default=None
        Words to leave out, compared after `lowercase` and `strip_accents`. A sentence that has no
        other words or marks is dropped. "english" is scikit-learn's list, which contains "not" and
        "no".
    min_df : int or float, default=1
        Least number of documents with a word of the vocabulary; a float is a share of them.
    max_features : int, default=None
        Largest size of the vocabulary, which then has the most frequent words.
    max_sentences, max_words : int, default=None
        Largest number of sentences of a document and of words of a sentence; the rest is cut off,
        also for learning the vocabulary.
    vocabulary : mapping of str to int or iterable of str, default=None
        Words and their ids from 2, or words in the order of their ids. `fit` then learns
        nothing, and `min_df` and `max_features` are not used.
    sentence_splitter : callable, default=None
        Takes a text and returns its sentences, for example ``nltk.sent_tokenize`` or pysbd's
        ``Segmenter().segment``. Sentences may differ from the text only in white space.
    word_tokenizer : callable, default=None
        Takes a sentence and returns its words as strings, instead of `token_pattern`. They may be
        lemmas or stems: `spans` finds those that occur in the sentence, in order.
    n_jobs : int, default=None
        Number of processes (with Numba, of threads) that read texts; useful from a few thousand
        documents on. None is one process, -1 all cores. At most four per core are started, and one
        in a task of Dask.
    output : {"ragged", "padded"}, default="ragged"
        What `transform` returns: a :class:`~sk_han.DocumentArray`, or an array of
        documents x sentences x words padded with 0.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Words and their ids.
    reading_ : int
        Version of the rules by which characters are read, which `save` stores.

    Notes
    -----
    Texts may be a list, a tuple, an array, a pandas or polars Series, an Arrow array, or a frame
    of one column. The time is linear in the length of a text, whatever it contains.

    Examples
    --------
    >>> from sk_han import HierarchicalTokenizer
    >>> tokenizer = HierarchicalTokenizer()
    >>> X = tokenizer.fit_transform(["A fine film. Don't miss it!", "Dull. A dull film."])
    >>> X
    DocumentArray(2 documents, 4 sentences, 14 words)
    >>> X.to_nested()
    [[[3, 8, 5, 2], [7, 10, 9, 6]], [[4, 2], [3, 4, 5, 2]]]
    >>> tokenizer.inverse_transform(tokenizer.transform(["A new film!"]))
    [[['a', '<unknown>', 'film', '!']]]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's name and type)
        **{name: to_sklearn(constraint) for name, constraint in TOKENIZER.items()},
        "strip_accents": [*to_sklearn(TOKENIZER["strip_accents"]), callable],
        "min_df": [Interval(RealNotInt, 0, 1, closed="both"), POSITIVE],
        "vocabulary": [Mapping, HasMethods("__iter__"), None],
        "sentence_splitter": [callable, None],
        "word_tokenizer": [callable, None],
    }

    def __init__(
        self,
        *,
        lowercase: bool = True,
        strip_accents: Literal["ascii", "unicode"] | Callable[[str], str] | None = None,
        tokens: Literal["words", "words+marks", "web"] = "words+marks",
        token_pattern: str | None = None,
        stop_words: Literal["english"] | list[str] | None = None,
        min_df: float = 1,
        max_features: int | None = None,
        max_sentences: int | None = None,
        max_words: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        sentence_splitter: Callable[[str], Iterable[str]] | None = None,
        word_tokenizer: Callable[[str], Iterable[str]] | None = None,
        n_jobs: int | None = None,
        output: Literal["ragged", "padded"] = "ragged",
    ) -> None:
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.tokens = tokens
        self.token_pattern = token_pattern
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_features = max_features
        self.max_sentences = max_sentences
        self.max_words = max_words
        self.vocabulary = vocabulary
        self.sentence_splitter = sentence_splitter
        self.word_tokenizer = word_tokenizer
        self.n_jobs = n_jobs
        self.output = output

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, X_unlabelled: Any = None) -> HierarchicalTokenizer:
        """Learn the vocabulary.

        Parameters
        ----------
        X : iterable of str, shape (n_documents,)
            An iterator is read 10,000 texts at a time, and only word counts stay in memory.
        y : None
            Ignored.
        X_unlabelled : iterable of str, default=None
            Further texts for the vocabulary, such as the unlabelled texts that
            ``HANClassifier.fit`` takes. An iterator is read like X.

        Raises
        ------
        ValueError
            If there are no documents, or no word for the vocabulary.
        TypeError
            If a document is not a string.
        """
        self._learn(X, X_unlabelled)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(
        self, X: Any, y: Any = None, X_unlabelled: Any = None
    ) -> DocumentArray | NDArray[np.int32]:
        """Learn the vocabulary and convert the texts, reading each text once.

        Parameters
        ----------
        X, y, X_unlabelled
            As in `fit`.

        Returns
        -------
        DocumentArray of shape (n_documents,) or ndarray of int32
            As in `transform`, without the documents of `X_unlabelled`.
        """
        # A given vocabulary learns nothing from further texts.
        if self.vocabulary is not None:
            X_unlabelled = None
        return self._output(self.fit_transform_both(X, y, X_unlabelled)[0])

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform_both(
        self, X: Any, y: Any = None, X_unlabelled: Any = None
    ) -> tuple[DocumentArray, DocumentArray | None]:
        """Learn the vocabulary and convert labelled and unlabelled texts, reading each text once.

        Parameters
        ----------
        X, y, X_unlabelled
            As in `fit`.

        Returns
        -------
        documents : DocumentArray of shape (n_documents,)
            Documents of X, whatever `output` is.
        unlabelled : DocumentArray or None
            Documents of `X_unlabelled`, without their spelling; None if it is None.
        """
        documents: list[DocumentArray] = []
        unlabelled: list[DocumentArray] = []
        self._learn(X, X_unlabelled, documents, unlabelled)
        if X_unlabelled is None:
            return DocumentArray.concatenate(documents), None
        # No model reads the spelling of unlabelled texts, which takes as much memory as their ids.
        for part in unlabelled:
            part.spelling = None
        return DocumentArray.concatenate(documents), DocumentArray.concatenate(unlabelled)

    def transform_ragged(self, X: Any, name: str = "X") -> DocumentArray:
        """Convert texts to a DocumentArray, whatever `output` is.

        Parameters
        ----------
        X : iterable of str, shape (n_documents,)
            An iterator is read 10,000 texts at a time.
        name : str, default="X"
            Name of the argument in errors.
        """
        # check_is_fitted takes 10 microseconds, and reading a short text 100.
        if "vocabulary_" not in vars(self):
            check_is_fitted(self)
        portions, reader = text_portions(X, name), self._reader()
        documents = [reader.documents(portion, self.vocabulary_) for portion in portions]
        return DocumentArray.concatenate(documents)

    def transform(self, X: Any) -> DocumentArray | NDArray[np.int32]:
        """Convert texts to word ids.

        Parameters
        ----------
        X : iterable of str, shape (n_documents,)
            An iterator is read 10,000 texts at a time.

        Returns
        -------
        DocumentArray of shape (n_documents,), or ndarray of int32 of shape \
                (n_documents, max_sentences, max_words) if `output` is "padded"
            If `max_sentences` or `max_words` is None, the longest document or sentence of X
            determines the shape.
        """
        return self._output(self.transform_ragged(X))

    def inverse_transform(self, documents: Any) -> list[list[list[str]]]:
        """Convert word ids back to words.

        Parameters
        ----------
        documents : DocumentArray, padded array of int, or nested lists of int

        Returns
        -------
        list of list of list of str
            Documents of sentences of words, as spelled in the vocabulary. The unknown word, and
            ids that the vocabulary lacks, become ``"<unknown>"``.
        """
        check_is_fitted(self)
        if isinstance(documents, np.ndarray):
            documents = DocumentArray.from_padded(documents)
        if not isinstance(documents, DocumentArray):
            documents = DocumentArray.from_nested(documents)
        return to_words(documents, self.vocabulary_)

    def spans(self, texts: Any) -> list[DocumentSpans]:
        """Return the positions in the texts of the sentences and words that `transform` reads.

        Parameters
        ----------
        texts : iterable of str, shape (n_documents,)

        Returns
        -------
        list of DocumentSpans
            One for each text, with the sentences and words of `transform` in their order.
        """
        return self.locate(texts)[1]

    def locate(self, texts: Any) -> tuple[DocumentArray, list[DocumentSpans]]:
        """Convert texts and return their spans, reading each text once.

        Parameters
        ----------
        texts : iterable of str, shape (n_documents,)

        Returns
        -------
        documents : DocumentArray of shape (n_documents,)
            Documents as in `transform`, whatever `output` is.
        spans : list of DocumentSpans
            As in `spans`.
        """
        check_is_fitted(self)
        return self._reader().locate(check_texts(texts), self.vocabulary_)

    def _learn(self, X: Any, X_unlabelled: Any, *kept: list[DocumentArray]) -> None:
        """Learn the vocabulary; `kept` are two lists that collect the documents of both kinds."""
        portions = text_portions(X)
        further: Iterable[list[str]] = ()
        if X_unlabelled is not None and (kept or self.vocabulary is None):
            further = text_portions(X_unlabelled, "X_unlabelled")
        reader = self._reader()
        counts, vocabulary = WordCounts(self.min_df), None
        if self.vocabulary is not None:
            # An invalid pattern raises its error here rather than in transform.
            compile_token_pattern(reader.token_pattern)
            vocabulary = in_normal_form(check_vocabulary(self.vocabulary))
        for texts, documents in zip_longest((portions, further), kept):
            for portion in texts:
                if vocabulary is None:
                    read = counts.add(*reader.tokenize(portion)[:2])
                elif kept:
                    read = reader.documents(portion, vocabulary)
                if kept:
                    documents.append(read)
        is_learnt = vocabulary is None
        self.vocabulary_ = vocabulary or counts.vocabulary(self.max_features)
        self.reading_ = READING
        # While words are counted, documents hold provisional ids, in the order of first occurrence.
        if is_learnt and kept:
            ids = counts.ids(self.vocabulary_)
            for part in chain.from_iterable(kept):
                part.word_ids = ids[part.word_ids]

    def _reader(self) -> DocumentReader:
        # Parameters may have been set after the fit. scikit-learn's `_validate_params` takes four
        # times as long as this check, and longer than reading a short text.
        fit_only = "min_df", "max_features", "vocabulary"
        constraints = {n: c for n, c in self._parameter_constraints.items() if n not in fit_only}
        params = {name: getattr(self, name) for name in constraints}
        validate_parameter_constraints(constraints, params, type(self).__name__)
        stop_words = self.stop_words or ()
        if stop_words == "english":
            stop_words = ENGLISH_STOP_WORDS
        for word in stop_words:
            if not isinstance(word, str):
                raise ValueError(f"stop_words holds {word!r}, {a_kind(word)}; give words.")
        pattern = self.token_pattern
        return DocumentReader(
            token_pattern=TOKEN_PATTERNS[self.tokens] if pattern is None else pattern,
            lowercase=self.lowercase,
            strip_accents=self.strip_accents,
            stop_words=stop_words,
            max_sentences=self.max_sentences,
            max_words=self.max_words,
            sentence_splitter=self.sentence_splitter,
            word_tokenizer=self.word_tokenizer,
            n_jobs=self.n_jobs,
        )

    def _output(self, documents: DocumentArray) -> DocumentArray | NDArray[np.int32]:
        if self.output == "padded":
            return documents.pad(self.max_sentences, self.max_words)
        return documents
