"""The n-gram model that learns portion by portion."""

import numpy as np
import pytest

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han._documents import LabelledDocuments
from sk_han._parts.ngram_fitting import (
    count_ngrams,
    partial_fit_ngram_model,
    ratio_coefficients,
)
from sk_han._parts.one_vs_rest import Features
from sk_han.datasets import make_reviews
from tests.ngram_models import fit_ngram_model
from tests.parts.test_ngram_model import bucket_of
from tests.tiny_targets import classes

FIRST = [[[2, 3]], [[2, 4]], [[5, 3]], [[5, 4, 7]]]
SECOND = [[[2, 6]], [[5, 6], [3]], [[7, 4]], []]
TARGETS = np.array([0, 0, 1, 1])


def labelled(nested, targets=TARGETS, weights=None):
    weights = np.ones(len(targets)) if weights is None else np.array(weights)
    return LabelledDocuments(DocumentArray.from_nested(nested), np.array(targets), weights)


def learnt(*portions, n_classes=2, ngram_range=(1, 2)):
    model = None
    for portion in portions:
        model = partial_fit_ngram_model(model, portion, classes(n_classes), ngram_range)
    return model


def row_of(model, *word_ids):
    (row,) = np.flatnonzero(model.buckets == bucket_of(*word_ids))
    return row


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_portion_equals_a_fit_with_rare_ngrams(n_classes):
    texts, labels = make_reviews(60, random_state=0)
    documents = HierarchicalTokenizer().fit_transform(texts)
    targets = np.arange(60) % 3 if n_classes == 3 else (labels == labels[0]).astype(int)
    data = LabelledDocuments(documents, targets, 1.0 + np.arange(60) % 7)
    whole = fit_ngram_model(data, classes(n_classes), (1, 2))
    portion = learnt(data, n_classes=n_classes)
    rows = np.searchsorted(portion.buckets, whole.buckets)
    np.testing.assert_array_equal(portion.buckets[rows], whole.buckets)
    np.testing.assert_array_equal(portion.ratios[rows], whole.ratios)
    others = np.delete(portion.ratios, rows, axis=0)
    assert len(others) > 0
    assert not others.any()
    for found, expected in zip(portion.counts[:3], whole.counts[:3], strict=True):
        np.testing.assert_array_equal(found[rows], expected)
    np.testing.assert_array_equal(portion.counts.n_documents, whole.counts.n_documents)
    decisions = [model.logits(documents).argmax(axis=1) for model in (portion, whole)]
    assert (decisions[0] == decisions[1]).mean() > 0.98


class TestCounts:
    def test_counts_of_two_portions_equal_those_of_all_documents(self):
        first = learnt(labelled(FIRST))
        before = [array.copy() for array in (*first.counts, first.weights, first.ratios)]
        both = partial_fit_ngram_model(first, labelled(SECOND), classes(2), (1, 2))
        whole = learnt(labelled(FIRST + SECOND, np.tile(TARGETS, 2)))
        np.testing.assert_array_equal(both.buckets, whole.buckets)
        np.testing.assert_array_equal(both.ratios, whole.ratios)
        for found, expected in zip(both.counts, whole.counts, strict=True):
            np.testing.assert_array_equal(found, expected)
        for array, kept in zip((*first.counts, first.weights, first.ratios), before, strict=True):
            np.testing.assert_array_equal(array, kept)  # the earlier model stays as it was


class TestRareNgrams:
    def test_an_ngram_has_no_effect_until_it_is_seen_again(self):
        model = learnt(labelled(FIRST))
        row = row_of(model, 7)
        assert model.counts.n_seen[row] == 1
        assert model.ratios[row] == model.weights[row] == 0
        unknown, once = model.logits(DocumentArray.from_nested([[[99]], [[7]]]))
        np.testing.assert_array_equal(unknown, once)
        model = learnt(labelled(FIRST), labelled(SECOND))
        row = row_of(model, 7)
        assert model.counts.n_seen[row] == 2
        assert min(model.ratios[row], model.weights[row]) > 0  # both documents are of class 1


class TestGoingOn:
    def test_a_portion_may_hold_no_words(self):
        empty = labelled([[], []], [0, 1])
        for portions in ([labelled(FIRST), empty], [empty, labelled(FIRST)]):
            model = learnt(*portions)
            assert model.counts.n_documents.tolist() == [6, 3]
            logits = model.logits(DocumentArray.from_nested(FIRST))
            assert logits.argmax(axis=1).tolist() == TARGETS.tolist()

    def test_a_single_class_has_no_model(self):
        assert partial_fit_ngram_model(None, labelled(FIRST, [0] * 4), classes(1), (1, 2)) is None


def test_new_weights_minimize_loss_plus_distance_to_earlier_ones():
    start = learnt(labelled(FIRST * 20, np.tile(TARGETS, 20)))
    portion = labelled([[[2]], [[2, 3]], [[5]]] * 5, [1, 1, 0] * 5)
    model = partial_fit_ngram_model(start, portion, classes(2), (1, 2))
    assert model.buckets.tolist() == start.buckets.tolist()
    present = count_ngrams(portion.documents, (1, 2), model.buckets)
    points = Features(present, model.ratios).of_problem(0)
    first, last = (
        np.append(ratio_coefficients(each)[:, 0], each.intercept) for each in (start, model)
    )

    def value(step):
        weights = last + step * (last - first)
        margins = np.tile([1, 1, -1], 5) * (points @ weights[:-1] + weights[-1])
        distance = 95 / (10 * 15) * np.sum((weights - first) ** 2)  # n / (C m)
        return np.logaddexp(0, -margins).sum() + distance / 2

    assert value(0) < min(value(-0.05), value(0.05))
