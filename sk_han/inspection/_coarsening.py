"""The function `coarser`, whose classifier answers with a group if no class is sure enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from sk_han._utils.containers import listed
from sk_han._utils.messages import nearest_name
from sk_han.inspection._estimators import probability_array, read_documents, reader_of
from sk_han.inspection._reporting import classes_of, with_length
from sk_han.inspection._results.selective import SelectiveThreshold
from sk_han.inspection._selecting import (
    THRESHOLDS,
    check_levels,
    choose_threshold,
    read_held_out,
)


def coarser(
    estimator: Any,
    tree: str | Mapping[Any, Sequence[str]],
    X: Any,
    y: Any,
    *,
    max_error: float = 0.05,
    confidence_level: float = 0.95,
) -> CoarserClassifier:
    """Create a classifier that answers with a group of classes if it is not sure of a class.

    Classes are the leaves of a tree, and the probability of a node is the sum of those of its
    leaves. The answer is the node with the highest expected reward. The reward is 0 for the root,
    which is no answer, and 1 for a class; a wrong answer has a price [1]_. As
    `sk_han.selective_threshold` chooses a threshold, the lowest price is chosen at which at most
    `max_error` of the answers below the root are wrong.

    Parameters
    ----------
    estimator : classifier
        A fitted classifier of one class per document, with `classes_` and ``predict_proba``, or a
        `Scorer`.
    tree : str, or dict of class to sequence of str
        A separator: with "/", the class "a/b/c" is in the groups "a" and "a/b". Or a dict with the
        groups of each class, the largest first; a class without groups has an empty sequence. A
        group of all classes is the root.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        Documents that the model has not learnt from, as for `sk_han.selective_threshold`.
    y : array-like of shape (n_documents,)
        True classes.
    max_error : float, default=0.05
        Highest share of mistakes among the answers below the root. An answer is right if the true
        class is in it.
    confidence_level : float, default=0.95
        Probability, over draws of X, that the error is at most `max_error`.

    Returns
    -------
    CoarserClassifier

    Raises
    ------
    TypeError
        If the estimator does not predict probabilities, or has several labels per document.
    ValueError
        If the tree lacks a class, names an unknown class, has a group in two places, or has no
        group of several classes; also see `sk_han.selective_threshold`.

    Notes
    -----
    The reward of a node with n of K classes is ``1 - log(n) / log(K)``, its information relative to
    that of a class [1]_. A threshold t of `sk_han.selective_threshold` stands for a price of
    ``t / (1 - t)``: a class is then preferred to no answer if its probability is at least t. Prices
    are tested in order, the highest first. Each test counts the mistakes of all levels together, so
    no correction for the number of levels is needed.

    References
    ----------
    .. [1] Deng, Krause, Berg and Fei-Fei, "Hedging your bets: optimizing accuracy-specificity
       trade-offs in large scale visual recognition", CVPR 2012.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_han import coarser
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(3000, n_classes=3, random_state=0)
    >>> model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10))
    >>> model = model.fit(texts[:1500], labels[:1500])
    >>> groups = {"negative": ["clear"], "positive": ["clear"], "neutral": []}
    >>> coarse = coarser(model, groups, texts[1500:], labels[1500:], max_error=0.2)
    >>> coarse.nodes_.tolist()
    ['clear', 'neutral', 'negative', 'positive']
    """
    levels = check_levels(max_error, confidence_level)
    nodes = _Nodes.from_tree(tree, classes_of(estimator, "coarser"))
    read = read_held_out(estimator, X, y, *levels, by="coarser")
    if read.several_labels:
        raise TypeError("coarser takes one class per document, and these documents have several.")
    probabilities = nodes.probabilities(read.probabilities)
    # No node contains an unknown class.
    targets = np.minimum(read.targets, len(read.classes))
    has_class = np.column_stack([nodes.has_class, np.zeros(len(nodes.names), dtype=bool)])
    counts = np.zeros((2, len(THRESHOLDS)), dtype=np.int64)
    for i, threshold in enumerate(THRESHOLDS):
        answers = nodes.answers(probabilities, threshold)
        is_right = has_class[answers, targets]
        counts[:, i] = (answers >= 0).sum(), ((answers >= 0) & ~is_right).sum()
    fields = choose_threshold(counts[0], counts[1], *levels)
    selection = SelectiveThreshold(**fields, notes=read.notes, n_blank=read.n_blank, of_groups=True)
    return CoarserClassifier(estimator, nodes, selection)


class _Nodes(NamedTuple):
    """The nodes of a tree below its root, in order of their depth."""

    names: NDArray[Any]  # (V,)
    depths: NDArray[np.int64]  # (V,), 1 below the root
    has_class: NDArray[np.bool_]  # (V, K)

    @classmethod
    def from_tree(cls, tree: Any, classes: NDArray[Any]) -> _Nodes:
        """Check a tree over the classes of a model, and create its nodes."""
        members: dict[Any, list[int]] = {}
        parents: dict[Any, tuple[Any, ...]] = {}
        for k, (label, groups) in enumerate(_paths(tree, classes)):
            path: tuple[Any, ...] = ()
            # A class may also be the name of a group.
            for name in dict.fromkeys([*groups, label]):
                if parents.setdefault(name, path) != path:
                    raise ValueError(
                        f"The tree has {name!r} in two places: in {listed(parents[name]) or 'none'}"
                        f" and in {listed(path) or 'none'}. Give it two names."
                    )
                path = (*path, name)
                members.setdefault(name, []).append(k)
        # A group of all classes is the root.
        names = [name for name, rows in members.items() if len(rows) < len(classes)]
        if all(len(members[name]) == 1 for name in names):
            raise ValueError(
                "The tree has no group of several classes. Give a separator that labels contain, "
                "or the groups of each class."
            )
        depth = {name: 1 + len([*filter(names.__contains__, parents[name])]) for name in names}
        names.sort(key=depth.__getitem__)
        has_class = np.zeros((len(names), len(classes)), dtype=bool)
        for row, name in enumerate(names):
            has_class[row, members[name]] = True
        depths = np.array([depth[name] for name in names])
        array = np.empty(len(names), dtype=object)
        array[:] = names
        return cls(array, depths, has_class)

    def probabilities(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the probabilities of classes, (D, K), to those of nodes, (D, V)."""
        return np.minimum(p @ self.has_class.T, 1.0)

    def answers(self, p: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
        """Return the node with the highest expected reward, (D,), or -1 for the root.

        Among equal rewards, the deepest node wins.
        """
        if math.isinf(threshold):
            return np.full(len(p), -1)
        rewards = 1 - np.log(self.has_class.sum(axis=1)) / np.log(self.has_class.shape[1])
        # Expected rewards are divided by 1 + price, which is infinite for a threshold of 1.
        values = p * (rewards * (1 - threshold) + threshold)
        best = p.shape[1] - 1 - values[:, ::-1].argmax(axis=1)
        return np.where(values[np.arange(len(p)), best] >= threshold, best, -1)


def _paths(tree: Any, classes: NDArray[Any]) -> list[tuple[Any, Sequence[str]]]:
    """Return each class with its groups, the largest first."""
    labels = classes.tolist()
    if isinstance(tree, str) and tree:
        steps = [str(label).split(tree) for label in labels]
        return [
            (label, [tree.join(path[:n]) for n in range(1, len(path))])
            for label, path in zip(labels, steps, strict=True)
        ]
    if not isinstance(tree, Mapping):
        raise TypeError(
            f"tree must be a separator or a dict from each class to its groups; got {tree!r}."
        )
    unknown = [label for label in tree if label not in labels]
    if unknown:
        hint = nearest_name(str(unknown[0]), map(str, labels))
        raise ValueError(f"The model does not know the classes {listed(unknown)} of tree.{hint}")
    lacking = [label for label in labels if label not in tree]
    if lacking:
        raise ValueError(
            f"tree lacks the classes {listed(lacking)}; a class without a group has an empty list."
        )
    for label, groups in tree.items():
        if isinstance(groups, str) or not all(isinstance(name, str) for name in groups):
            raise TypeError(f"tree[{label!r}] is a list of names of groups; got {groups!r}.")
    return [(label, tree[label]) for label in labels]


class CoarserClassifier:
    """A classifier that answers with a class, a group of classes, or None.

    It is created by `sk_han.coarser`.

    Attributes
    ----------
    estimator : classifier
        The fitted classifier of classes.
    nodes_ : ndarray of object, shape (n_nodes,)
        Names of groups and classes, by increasing depth.
    depths_ : ndarray of int, shape (n_nodes,)
        The depth of each node, 1 for children of the root.
    selection_ : SelectiveThreshold
        The chosen threshold; accepted documents are those with an answer below the root.
    """

    def __init__(self, estimator: Any, nodes: _Nodes, selection: SelectiveThreshold) -> None:
        self.estimator, self._nodes, self.selection_ = estimator, nodes, selection
        self.nodes_, self.depths_ = nodes.names, nodes.depths

    def predict(self, X: Any) -> NDArray[Any]:
        """Answer with a class, the name of a group, or None for each document.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int

        Returns
        -------
        ndarray of object, shape (n_documents,)
            None stands for the root; the answer for a blank text is always None.
        """
        X = with_length(X)
        answers = self._nodes.answers(self.predict_proba(X), self.selection_.threshold)
        n_words = read_documents(reader_of(self.estimator), X).n_words
        if n_words is not None:
            answers[n_words == 0] = -1
        names: NDArray[Any] = np.array([*self.nodes_, None], dtype=object)[answers]
        return names

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each node, that is, of one of its classes.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int

        Returns
        -------
        ndarray of float64, shape (n_documents, n_nodes)
        """
        return self._nodes.probabilities(probability_array(self.estimator, X))

    def at_depth(self, depth: int) -> LevelClassifier:
        """Create a classifier of one level of the tree, for `sk_han.report` and metrics.

        Parameters
        ----------
        depth : int
            1 for the children of the root. A class at a smaller depth stands for itself.

        Returns
        -------
        LevelClassifier
        """
        if not 1 <= depth <= self.depths_.max():
            raise ValueError(f"depth is between 1 and {self.depths_.max()} here; got {depth!r}.")
        nodes = self._nodes
        rows = [
            max(np.flatnonzero(nodes.has_class[:, k] & (nodes.depths <= depth)))
            for k in range(nodes.has_class.shape[1])
        ]
        groups = [str(name) for name in self.nodes_[rows]]
        return LevelClassifier(FrozenEstimator(self.estimator), groups)


class LevelClassifier(ClassifierMixin, BaseEstimator):
    """A fitted classifier of the groups of one level of a tree.

    It is created by `CoarserClassifier.at_depth`.

    Parameters
    ----------
    estimator : FrozenEstimator
        The fitted classifier of classes.
    groups : list of str, one per class
        The group of each of its `classes_`.

    Attributes
    ----------
    classes_ : ndarray of str, shape (n_groups,)
        Names of the groups, sorted.
    """

    def __init__(self, estimator: Any, groups: Sequence[str]) -> None:
        self.estimator = estimator
        self.groups = groups
        self.classes_ = np.unique(groups)

    def fit(self, X: Any, y: Any) -> LevelClassifier:
        """Do nothing, since the classifier of classes is fitted already."""
        return self

    def group(self, y: Any) -> NDArray[Any]:
        """Return the group of each class of y, shape (n_documents,)."""
        groups = dict(zip(self.estimator.classes_.tolist(), self.groups, strict=True))
        return np.array([groups.get(label, str(label)) for label in np.asarray(y).tolist()])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each group, shape (n_documents, n_groups)."""
        of_group = np.asarray(self.groups)[:, np.newaxis] == self.classes_
        return probability_array(self.estimator, X) @ of_group

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable group of each document, shape (n_documents,)."""
        names: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return names
