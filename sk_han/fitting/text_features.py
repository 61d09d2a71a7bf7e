"""What a classifier of text gives to a next model: document vectors, or log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from sk_han.documents import DocumentArray
from sk_han.documents.repeated import first_of_same_words, groups_of_copies
from sk_han.parts import Pool
from sk_han.parts.pool import CHARACTERS
from sk_han.targets import Target
from sk_han.training.stateful import snapshot_of
from sk_han.utils.containers import rows_of
from sk_han.validation.documents import holds_word_ids
from sk_han.validation.labels import OF_DOCUMENTS, check_groups

FEATURES = {"vectors", "log_odds"}


class TextFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """`transform` of a classifier that holds a pool; its parameter `features` says what it is."""

    features: str
    pool_: Pool

    def transform(self, X: Any) -> NDArray[Any]:
        """Compute what `features` says: document vectors, or the log-odds by each part.

        The model has memorized its training documents. A next model should learn from log-odds
        that `fit_transform` made of them, and not from these vectors (see the user guide).

        Parameters
        ----------
        X : as of `fit`

        Returns
        -------
        ndarray of shape (n_documents, n_features)
            "vectors": float32, what the network's last layer reads; with the defaults
            ``2 * sentence_hidden`` features, all zeros for an empty document. "log_odds": float64;
            each network and then each linear model has a column with the log-odds of
            ``classes_[1]`` or, with more than two classes or several labels a document, a column
            for each; those of classes are against the geometric mean of all. They have the scales
            of the model: the columns of a class sum to its log-odds.
        """
        check_is_fitted(self)
        fitted = snapshot_of(self)
        with fitted._computing():
            documents = fitted._documents(X)
            if fitted.features == "vectors":
                return fitted.pool_.network.vectors(documents)
            return _log_odds(fitted.pool_, fitted.pool_, documents)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]:
        """Fit, and compute the features of the training documents.

        Log-odds of each fifth of the documents are those of a model fitted to the others, since a
        model is too sure of documents that it has memorized, and a next model would rely on it too
        much. That takes five more fits. So ``fit_transform(X, y)`` differs from `fit` and then
        `transform`, as with scikit-learn's `TargetEncoder`. Vectors are not cross-fitted: those of
        two networks have no axes in common.

        Parameters
        ----------
        X, y : as of `fit`
        **fit_params
            As of `fit`. Documents of a group stay together; `checkpoint` is of the first fit alone.

        Returns
        -------
        ndarray of shape (n_documents, n_features)
            As of `transform`. The only document of a class has zeros: no model without it knows
            the class.

        Raises
        ------
        ValueError
            If all documents of a class are of one group, `embedding_init` is an array beside raw
            texts, or a fitted classifier has `warm_start`.
        """
        if not hasattr(X, "__len__") and hasattr(X, "__iter__"):
            X = list(X)  # it is read twice
        if self.features == "vectors":
            return self.fit(X, y, **fit_params).transform(X)
        if self.warm_start and "pool_" in vars(self):
            raise ValueError(
                "features='log_odds' fits copies to parts of the documents, and with warm_start "
                "this classifier would go on from a fit that they do not know: their columns would "
                "differ. Set warm_start=False, or call fit_transform of a clone."
            )
        if isinstance(self.embedding_init, np.ndarray) and not holds_word_ids(X):
            raise ValueError(
                "features='log_odds' fits to parts of the texts, and embedding_init is an array "
                "for the vocabulary of all of them. Give a mapping from words to vectors, or "
                "documents from a fitted HierarchicalTokenizer."
            )
        for name in ("X_unlabelled", "X_val"):  # each fit reads them
            given = fit_params.get(name)
            if given is not None and not hasattr(given, "__len__"):
                fit_params[name] = list(given)
        self.fit(X, y, **fit_params)
        return self._cross_fitted(X, y, fit_params)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of `transform`.

        Parameters
        ----------
        input_features : ignored
            There for scikit-learn's interface.

        Returns
        -------
        ndarray of str
            ``hanclassifier0`` and so on for vectors; ``hanclassifier_network``,
            ``hanclassifier_ngrams`` and, where there is one, ``hanclassifier_characters``, each
            with the class if there are more than two, for log-odds.
        """
        check_is_fitted(self)
        if self.features == "vectors":
            return super().get_feature_names_out(input_features)
        prefix, target = type(self).__name__.lower(), self.pool_.target
        ends = [""] if _has_one_column(target) else [f"_{name}" for name in target.names]
        names = [f"{prefix}_{part}{end}" for part in self.pool_.parts for end in ends]
        return np.array(names, dtype=object)

    @property
    def _n_features_out(self) -> int:
        """Number of columns of the vectors, for scikit-learn's names of these."""
        return int(self.pool_.network.net.module_.output.in_features)

    def _cross_fitted(self, X: Any, y: Any, fit_params: dict[str, Any]) -> NDArray[np.float64]:
        """Return log-odds of each document by a model that has not learnt from it."""
        shared = {name: value for name, value in fit_params.items() if name != "checkpoint"}
        each = {name: shared.pop(name) for name in OF_DOCUMENTS if shared.get(name) is not None}
        groups = check_groups(each["groups"], len(X)) if "groups" in each else None
        target, everything = self.pool_.target, np.arange(len(X))
        characters: Any = self.pool_.parts.get(CHARACTERS)  # what the fit has decided on
        sizes = None if characters is None else characters.ngrams.ngram_range
        labels = target.encode(y, len(X))
        if groups is None:  # a model that has read a copy knows the document
            with self._computing():
                words = first_of_same_words(self._documents(X))
            groups = groups_of_copies(words, target.codes(labels))
        folds = [rows for rows in target.folds(labels, groups) if len(rows)]
        if target.has_one_label:
            _check_each_has_all_classes(folds, labels, target)
        found = np.zeros((len(X), len(self.get_feature_names_out())))
        for rows in folds:
            others = np.setdiff1d(everything, rows)
            if not target.has_one_label and not labels[others].any():
                continue  # there is nothing to learn
            of_others = {name: _rows(values, others) for name, values in each.items()}
            model = clone(self).set_params(linear_chars=sizes)
            model.fit(_rows(X, others), _rows(y, others), **shared, **of_others)
            with model._computing():
                documents = model._documents(_rows(X, rows))
                found[rows] = _log_odds(model.pool_, self.pool_, documents)
        return found


def _check_each_has_all_classes(
    folds: list[NDArray[np.int64]], labels: NDArray[np.int64], target: Target
) -> None:
    for rows in folds:
        missing = np.setdiff1d(labels, np.delete(labels, rows))
        if len(missing):
            name = target.names.tolist()[missing[0]]
            raise ValueError(
                "features='log_odds' fits to four fifths of the documents, and all of class "
                f"{name!r} are in the fifth that is left out, since they are of one group. Give "
                "more groups of the class, or take features='vectors'."
            )


def _log_odds(pool: Pool, whole: Pool, documents: DocumentArray) -> NDArray[np.float64]:
    """Return log-odds by each part of the whole model, (D, F): zeros where a pool lacks it."""
    z = dict(zip(pool.parts, pool.logits_by_part(documents), strict=True))
    nothing = np.zeros((len(documents), whole.target.n_scores))
    return np.hstack([_columns(z.get(name, nothing), whole.target) for name in whole.parts])


def _columns(z: NDArray[np.float64], target: Target) -> NDArray[np.float64]:
    """Return the log-odds that scores (D, K) say, (D, 1) or (D, K)."""
    if _has_one_column(target):
        return z[:, 1:] - z[:, :1]
    return z - z.mean(axis=1, keepdims=True) if target.has_one_label else z


def _has_one_column(target: Target) -> bool:
    """Return whether a single score tells all: of one of two classes."""
    return target.has_one_label and target.n_scores == 2


def _rows(values: Any, rows: NDArray[np.int64]) -> Any:
    """Return rows by position, without the index of pandas that the whole was compared by."""
    found = rows_of(values, rows)
    return found.reset_index(drop=True) if hasattr(found, "reset_index") else found
