"""Doubtful training data is a warning, and a rare one."""

import warnings

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han.validation.doubtful import (
    conflicting_documents,
    warn_of_conflicts,
    warn_of_rare_classes,
)
from tests.tiny_models import tiny

CLASSES = np.array(["a", "b", "c"])


@pytest.mark.parametrize("dtype", [str, object])  # object: of a column of pandas, of Arrow
def test_classes_of_a_handful_among_large_ones_are_named(dtype):
    targets = np.repeat([0, 1, 2], [60, 4, 2])
    message = r"2 of 3 classes have fewer than 5 documents: 'b' \(4\), 'c' \(2\)\. "
    with pytest.warns(UserWarning, match=message):
        warn_of_rare_classes(targets, CLASSES.astype(dtype))


def test_rare_classes_that_are_numbers_are_named_as_python_writes_them():
    targets = np.repeat([0, 1], [60, 4])
    with pytest.warns(UserWarning, match=r"1 of 2 classes has .*: 7 \(4\)\. "):
        warn_of_rare_classes(targets, np.array([3, 7]))


@pytest.mark.parametrize("counts", [(60, 5, 9), (9, 4, 2), (100, 1, 0), (60, 60, 0)])
def test_other_classes_are_not(counts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_rare_classes(np.repeat([0, 1, 2], counts), CLASSES)


def test_conflicts_of_more_than_one_in_a_hundred_are_named():
    message = r"3 of 200 documents .* \(rows 4, 7, 150\).*describe"
    with pytest.warns(UserWarning, match=message):
        warn_of_conflicts(np.array([4, 7, 9, 150]), np.array([10, 99, 9, 10]), 200)


@pytest.mark.parametrize(("n_rows", "n_documents"), [(2, 200), (0, 200), (9, 49)])
def test_few_conflicts_are_not(n_rows, n_documents):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_conflicts(np.arange(n_rows), np.full(n_rows, 10), n_documents)


def test_a_fit_names_rows_of_the_user():
    documents = DocumentArray.from_nested([[[2 + n % 7, 9, 9 + n] * 4] for n in range(80)] * 2)
    labels = np.repeat(["a", "b"], 80)
    weights = np.ones(160)
    weights[:10] = 0
    with pytest.warns(UserWarning, match=r"140 of 150 documents .* \(rows 10, 11, 12, 13, 14, "):
        model = tiny(validation_fraction=None).fit(documents, labels, sample_weight=weights)
    assert model.fit_summary_.n_conflicting == 140


def test_words_decide_and_not_where_sentences_end():
    documents = DocumentArray.from_nested([[[2, 3]], [[2], [3]], [[3, 2]]])
    assert conflicting_documents(documents, np.array([0, 1, 1])).tolist() == [0, 1]
