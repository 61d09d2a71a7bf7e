"""Doubtful training data is a warning, and a rare one."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import OneHotEncoder

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han._targets import OneOfClasses
from sk_han._validation.documents import warn_of_features
from sk_han._validation.labels import warn_of_conflicts, warn_of_names, warn_of_order
from sk_han.datasets import make_reviews

CLASSES = np.array(["a", "b", "c"])


@pytest.mark.parametrize(
    ("classes", "named"),
    [(CLASSES, r"'b' \(4\), 'c' \(2\)"), (np.array([3, 7, 9]), r"7 \(4\), 9 \(2\)")],
)
def test_classes_of_a_handful_among_large_ones_are_named(classes, named):
    targets = np.repeat([0, 1, 2], [60, 4, 2])
    message = rf"2 of 3 classes have fewer than 5 documents: {named}\. "
    with pytest.warns(UserWarning, match=message):
        OneOfClasses(classes).warn_of_rare(targets, has_validation=False, holds_out=True)


@pytest.mark.parametrize("counts", [(60, 5, 9), (9, 4, 2), (100, 0, 0), (60, 60, 0)])
def test_other_classes_raise_no_warning(counts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OneOfClasses(CLASSES).warn_of_rare(
            np.repeat([0, 1, 2], counts), has_validation=False, holds_out=True
        )


def test_names_that_differ_by_blanks_or_capitals_warn():
    names = np.array(["bad", "b ad", "Bad ", "good", "go  od", "go od"])
    message = r"alone: 'Bad ' and 'bad', 'go  od' and 'go od'\. They"
    with pytest.warns(UserWarning, match=message):
        warn_of_names(np.unique(names))
    with pytest.warns(UserWarning, match="code points alone: 'cafe\u0301' and 'café'"):
        warn_of_names(np.array(["bar", "cafe\u0301", "café"]))


@pytest.mark.parametrize("names", [["a", "b", "ab"], [1, 11], [True, False], ["ss", "s"]])
def test_other_names_raise_no_warning(names):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_names(np.array(names))


def test_conflicts_of_more_than_one_in_a_hundred_are_named():
    message = "3 of 200 documents have 10 words or more, .*audit_labels"
    with pytest.warns(UserWarning, match=message):
        warn_of_conflicts(np.array([10, 99, 9, 10]), 200)


@pytest.mark.parametrize(("n_rows", "n_documents"), [(2, 200), (0, 200), (9, 49)])
def test_few_conflicts_raise_no_warning(n_rows, n_documents):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_conflicts(np.full(n_rows, 10), n_documents)


# Indexes


TEN = pd.Series(10 * ["text"], index=range(5, 15))


@pytest.mark.parametrize("y", [TEN[::-1], TEN[::-1].to_frame()])
def test_the_same_index_in_another_order_warns(y):
    with pytest.warns(UserWarning, match=r"X_val and y_val have .* y_val\.loc\[X_val\.index\]"):
        warn_of_order(TEN, y, "y_val", "X_val")


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (TEN, TEN),
        (TEN, TEN[::-1].reset_index(drop=True)),  # by position, after a filter
        (TEN, pl.Series(TEN[::-1].to_list())),
        (TEN.set_axis([1] * 10), TEN.set_axis([1] * 9 + [2])),  # says nothing
        (pd.DataFrame({"text": TEN}), TEN.set_axis([*"abcdefghij"])),
    ],
)
def test_other_indexes_raise_no_warning(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_order(X, y, "y")


# Tables of features


RANDOM = np.random.RandomState(0)
SURVEY = np.column_stack([RANDOM.randint(0, n, 500) for n in (2, 3, 12, 7, 50, 5, 4)])
ONE_HOT = OneHotEncoder(sparse_output=False, dtype=int).fit_transform(SURVEY)
AMONG, ALONE = "0, which is padding, stands among", "0 .padding. and 1 .the unknown word. alone"


@pytest.mark.parametrize(
    ("X", "sign"),
    [
        (RANDOM.poisson(0.2, (100, 30)), AMONG),  # counts
        (load_digits().data.astype(int), AMONG),
        (SURVEY, AMONG),
        (ONE_HOT, ALONE),
        (np.ones((20, 2), int), ALONE),
    ],
)
def test_tables_of_features_warn_with_the_reason(X, sign):
    with pytest.warns(UserWarning, match=f"looks like a table of features: .*{sign}"):
        warn_of_features(X)


TOKENIZED = HierarchicalTokenizer().fit_transform(make_reviews(300, random_state=0)[0])


def padded(n, n_words, *, at_start=False):
    """Documents of one sentence each, cut to a number of words and padded."""
    X = np.zeros((n, n_words), dtype=int)
    for row, document in zip(X, TOKENIZED[:n], strict=True):
        words = np.concatenate(document)[:n_words]
        row[: len(words)] = words
        if at_start:
            row[:] = np.roll(row, n_words - len(words))
    return X


@pytest.mark.parametrize(
    "X",
    [
        *(padded(n, n_words) for n in (20, 300) for n_words in (4, 200)),
        padded(300, 30, at_start=True),
        TOKENIZED.pad(),
        TOKENIZED[:20].pad(max_sentences=2, max_words=5),
        np.tile(np.arange(2, 22), (30, 1)),  # all alike
        np.zeros((30, 4), int),  # all empty
        SURVEY[:, :1],  # of too few columns to tell
        ONE_HOT[:19],  # and of too few rows
        DocumentArray.from_padded(ONE_HOT),  # called so
        ["texts"] * 20,
    ],
)
def test_documents_are_never_taken_for_a_table(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_features(X)
