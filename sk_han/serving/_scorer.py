"""Scorer: a saved model that predicts and explains without PyTorch and scikit-learn."""

from __future__ import annotations

import os
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import DocumentArray
from sk_han._model.fitted_model import FEWEST_SCORES, FittedModel
from sk_han._parts.ngram_model import NgramModel
from sk_han._storage.description import (
    WITH_PARTS,
    check_class,
    check_none_left,
    fitted_state,
    stored_estimator,
    stored_model,
)
from sk_han._storage.model_file import Arrays, model_file, read_model
from sk_han._storage.schema import check
from sk_han._targets import Target
from sk_han._text.analyzer import TOKEN_PATTERNS
from sk_han._text.reader import DocumentReader, DocumentSpans, to_words
from sk_han._text.sentence_encoder import EMBEDDER
from sk_han._text.vocabulary import stored_tokenizer
from sk_han._utils.containers import to_records
from sk_han._utils.messages import plural
from sk_han._validation.documents import as_list, check_texts, holds_word_ids
from sk_han.serving._network import ServedNetwork

if TYPE_CHECKING:
    from pandas import DataFrame

    from sk_han.inspection._results.collection import ExplanationList
    from sk_han.inspection._results.summary import Summary


class ServedTokenizer:
    """A fitted `HierarchicalTokenizer` that only transforms, restored from a model file."""

    def __init__(self, data: Any, arrays: Arrays) -> None:
        stored = stored_tokenizer(data, arrays)
        self.vocabulary_, params = stored.vocabulary, stored.params
        tokens, pattern = params.get("tokens", "words+marks"), params.get("token_pattern")
        stop_words = params.get("stop_words")
        names = {"lowercase", "strip_accents", "max_sentences", "max_words"} & params.keys()
        self._reader = DocumentReader(
            token_pattern=TOKEN_PATTERNS[tokens] if pattern is None else pattern,
            stop_words=(stored.stop_words if stop_words == "english" else stop_words) or (),
            **{name: params[name] for name in names},
        )

    def transform_ragged(self, X: Any) -> DocumentArray:
        """Convert texts to word ids, as `HierarchicalTokenizer.transform_ragged` does."""
        # The texts are read in small portions, which bounds memory.
        texts, size = check_texts(X), ServedNetwork.batch_size
        portions = [texts[first : first + size] for first in range(0, len(texts), size)]
        documents = [self._reader.documents(portion, self.vocabulary_) for portion in portions]
        return DocumentArray.concatenate(documents)

    def locate(self, texts: Any) -> tuple[DocumentArray, list[DocumentSpans]]:
        """Return documents and the positions of their words and sentences."""
        return self._reader.locate(check_texts(texts), self.vocabulary_)

    def inverse_transform(self, documents: DocumentArray) -> list[list[list[str]]]:
        """Return the words of documents."""
        return to_words(documents, self.vocabulary_)


def check_threshold(threshold: Any, target: Target) -> None:
    """Check a threshold of accepted predictions, a probability, or infinity to accept none."""
    if target.is_number:
        raise ValueError("threshold accepts classes; for a number give coverage, as 0.9.")
    if not target.has_one_label:
        raise ValueError(
            "threshold accepts documents of one label. For several labels, compare each "
            "probability with a threshold of its own."
        )
    is_number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    if not is_number or not (0 <= threshold <= 1 or threshold == np.inf):
        raise ValueError(f"threshold must be a probability, such as 0.9; got {threshold!r}.")


def reaches_threshold(
    documents: DocumentArray, probabilities: NDArray[np.float64], threshold: float
) -> NDArray[np.bool_]:
    """Return which documents are accepted, (D,): their top probability reaches a threshold.

    A blank document is never accepted, since nothing in it speaks for its label.
    """
    has_words = documents.words_per_document > 0
    return has_words & (probabilities.max(axis=1) >= threshold)


def default_coverage(model: FittedModel, coverage: float | None) -> float | None:
    """Check the coverage of intervals; by default 0.9, or None if the model has no intervals."""
    scores = model.interval_scores
    if coverage is None and (scores is None or len(scores) < FEWEST_SCORES):
        return None
    coverage = 0.9 if coverage is None else coverage
    # The intervals of no documents raise a ValueError for a coverage that the model cannot give.
    model.interval_ends(np.empty((0, model.target.n_scores)), coverage)
    return coverage


class Scorer:
    """A fitted classifier in a file of `sk_han.save`, without PyTorch, scikit-learn and SciPy.

    It needs NumPy and safetensors, narwhals for frames and series, and Numba to be fast.
    Probabilities equal those of the classifier up to rounding, about 1e-6. Create one with
    `Scorer.load`; threads may share it. It computes the default network, ``rnn="gru"`` with
    ``pooling="attention"`` or `Attention`; `sk_han.load` reads models of other networks.

    Attributes
    ----------
    model_ : FittedModel
        The fitted model; see `HANClassifier.model_`.
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the columns of `predict_proba`.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns that are read, the text column first; only after a fit to a table.
    table : dict or None
        How the training table was read, if the command line or `sk_han.save` stored it: "text", a
        list of columns, "label", "sep", "encoding", "separator" (of several labels), and
        "decimal".

    Notes
    -----
    In a clone, ``pip install --no-deps .`` and ``pip install numpy safetensors`` install what is
    needed to read lists, and ``pip install numba`` makes it fast; ``import sk_han.serving`` imports
    nothing else. With Numba, the first prediction compiles kernels or loads them from a cache.

    Examples
    --------
    >>> import os, tempfile
    >>> import sk_han
    >>> from sk_han.datasets import make_reviews
    >>> from sk_han.serving import Scorer
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> classifier = sk_han.HANClassifier(embedding_dim=8, max_epochs=1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "reviews.han")
    ...     sk_han.save(classifier.fit(texts, labels), path)
    ...     scorer = Scorer.load(path)
    >>> bool(abs(scorer.predict_proba(texts) - classifier.predict_proba(texts)).max() < 1e-5)
    True
    """

    table: dict[str, Any] | None = None

    def __init__(
        self, state: dict[str, Any], tokenizer: ServedTokenizer | None, encoder: Any = None
    ) -> None:
        model = FittedModel.from_state(state, ServedNetwork)
        # Only `partial_fit` needs `counts`, so their memory is freed.
        parts = {
            name: replace(part, counts=None) if isinstance(part, NgramModel) else part
            for name, part in model.pool.parts.items()
        }
        pool = replace(model.pool, parts=parts)
        model = replace(model, pool=pool, tokenizer=tokenizer or model.tokenizer)
        self.model_ = model.with_encoder(encoder)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, encoder: Any = None) -> Scorer:
        """Load a classifier or regressor, alone or in a Pipeline, that `sk_han.save` wrote.

        Parameters
        ----------
        path : str or path-like
        encoder : object or str, default=None
            The sentence encoder that the model was fitted with, as for `sk_han.load`.

        Raises
        ------
        ModelFormatError
            If the file is empty, truncated, damaged, not written by `sk_han.save`, or of another
            format; if it holds only a tokenizer, or a network that a Scorer does not compute; if
            the model needs an encoder, or another one. It is a ValueError.
        OSError
            If the file cannot be read; FileNotFoundError if there is none.
        """
        with model_file(path) as file:
            description, arrays = read_model(file)
            _, steps, table = stored_model(description)
            (_, first), (_, model), tokenizer = steps[0], steps[-1], None
            if model["class"] not in WITH_PARTS:
                raise ValueError("it holds no classifier and no regressor")
            if first["class"] == "SentenceEmbedder":
                embedder = fitted_state(stored_estimator(first, arrays)[2], arrays, ServedTokenizer)
                check(EMBEDDER, embedder)
                tokenizer = embedder["tokenizer"]
            elif first is not model:
                tokenizer = ServedTokenizer(first, arrays)
            # A Scorer checks parameters and metadata requests too, though it does not use them, so
            # that it refuses the same files as `sk_han.load`.
            state = fitted_state(stored_estimator(model, arrays)[2], arrays, ServedTokenizer)
            check_none_left(arrays)
            scorer = cls(state, tokenizer, encoder)
            check_class(model["class"], scorer.target)
            scorer.table = table
            return scorer

    def __repr__(self) -> str:
        if self.target.is_number:
            return "Scorer(number)"
        what = "class" if self.target.has_one_label else "label"
        return f"Scorer({plural(len(self.classes_), what)})"

    @property
    def target(self) -> Target:
        """The target of the fit: `names` of classes or labels, and `thresholds` of labels."""
        return self.model_.target

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns of `predict_proba`."""
        return self.target.names

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns that are read, the text column first."""
        return np.array(self.model_.feature_names, dtype=object)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each document, an indicator of several labels, or a number.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int
            As in ``HANClassifier.fit``. Put a single text into a list: ``[text]``. A model of
            columns takes a frame, a list with a dict for each document, or a mapping of columns.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        return self.target.decode(self.target.decide(self.model_.logits(X)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Columns in the order of `classes_`. Rows sum to 1, except with several labels per
            document.
        """
        return self.model_.predict_proba(X)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict log-probabilities, which stay finite where probabilities underflow to 0."""
        return self.target.log_probabilities(self.model_.logits(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score each document as `HANClassifier.decision_function` does; X is as in `predict`."""
        return self.target.decision_function(self.model_.logits(X))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Predict intervals of numbers, (D, 2), as `HANRegressor.predict_interval` does."""
        return self.model_.intervals(X, coverage)

    def predict_frame(
        self,
        X: Any,
        *,
        threshold: float | None = None,
        coverage: float | None = None,
        novelty: bool = False,
    ) -> DataFrame:
        """Predict labels and probabilities as a table, for one partition of a large collection.

        Dask, Spark and Ray map this method over partitions, some of which may be empty. A Scorer
        can be pickled, and unpickling it does not need PyTorch.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int
            As in `predict`; may be empty.
        threshold : float, default=None
            Add a column ``accepted``: whether the largest probability reaches this threshold, such
            as that of `selective_threshold`. A blank text, one without words, is never accepted.
            Only for one label per document.
        coverage : float, default=None
            Add the columns ``lower`` and ``upper`` of intervals of this coverage. Only for models
            of numbers.
        novelty : bool, default=False
            Add a column ``novelty_p_value``, the result of `sk_han.novelty`.

        Returns
        -------
        pandas.DataFrame
            A row for each document, with the index of X if it is a Series or frame of pandas. The
            column ``prediction`` holds what `predict` returns; with several labels per document,
            there is a column ``prediction_<label>`` of 1 and 0 for each label. With a threshold,
            the column ``accepted`` is next, then ``novelty_p_value``. A column
            ``probability_<label>`` for each class or label follows, in the order of `classes_`; a
            model of numbers has none. Names and dtypes do not depend on X.

        Raises
        ------
        TypeError
            If a document is missing or not a text; the message names its row.
        ValueError
            If the threshold is not a probability, or if the model does not predict one label per
            document.
        """
        if threshold is not None:
            check_threshold(threshold, self.target)
        import pandas

        index = X.index if isinstance(X, (pandas.Series, pandas.DataFrame)) else None
        X = to_records(X)
        if not holds_word_ids(X) and self.model_.pool.columns is None:
            # An iterator has no length.
            X = as_list(X)
        documents = self.model_.read(X) if len(X) else DocumentArray.from_nested([])
        z = self.model_.pool.logits(documents) if len(X) else np.empty((0, len(self.classes_)))
        p_values = self.model_.novelty_p_values(documents, z) if novelty and len(X) else np.empty(0)
        if self.target.is_number:
            p = self.target.probabilities(z)
            numbers = {"prediction": self.target.decide_by_proba(p)}
            if coverage is not None:
                ends = self.model_.interval_ends(p, coverage)
                numbers |= {"lower": ends[:, 0], "upper": ends[:, 1]}
            if novelty:
                numbers["novelty_p_value"] = p_values
            return pandas.DataFrame(numbers, index)
        if coverage is not None:
            raise ValueError("coverage is for intervals of numbers; leave it out for labels.")
        decided, p = self.target.decode(self.target.decide(z)), self.target.probabilities(z)
        if self.target.has_one_label:
            names = ["prediction"]
            # pandas may store strings as UTF-8, which has no lone surrogates.
            try:
                dtype = pandas.Series(self.classes_).dtype
            except UnicodeEncodeError:
                dtype = object
            predictions = pandas.Series(decided, index, dtype)
        else:
            names = [f"prediction_{label}" for label in self.classes_]
            predictions = pandas.DataFrame(decided, index)
        columns = [predictions]
        if threshold is not None:
            names.append("accepted")
            columns.append(pandas.Series(reaches_threshold(documents, p, threshold), index))
        if novelty:
            names.append("novelty_p_value")
            columns.append(pandas.Series(p_values, index))
        names += [f"probability_{label}" for label in self.classes_]
        frame = pandas.concat([*columns, pandas.DataFrame(p, index)], axis=1)
        frame.columns = pandas.Index(names, dtype=object)
        return frame

    def explain(self, X: Any, **options: Any) -> ExplanationList:
        """Compute the contribution of each word and sentence to the log-odds of a class.

        Parameters
        ----------
        X, **options
            As in `sk_han.explain`.

        Raises
        ------
        ValueError
            If a parameter is invalid.
        """
        # Importing explanations takes as long as importing everything that predicts.
        from sk_han.inspection._explanations import ExplainedModel

        return ExplainedModel(self.model_).explain(X, **options)

    def summarize(
        self, X: Any, *, k: int = 10, max_documents: int | None = 2000, random_state: Any = 0
    ) -> Summary:
        """Find, for each class, the words and n-grams that speak for and against it.

        Parameters
        ----------
        X, k, max_documents, random_state
            As in `sk_han.summarize`.

        Raises
        ------
        ValueError
            If a parameter is invalid, or there are no documents.
        """
        from sk_han.inspection._explanations import ExplainedModel
        from sk_han.inspection._summarizing import summarize_model

        options = {"k": k, "max_documents": max_documents, "random_state": random_state}
        return summarize_model(ExplainedModel(self.model_), X, **options)
