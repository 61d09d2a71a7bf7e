"""The parts of a fitted classifier: their scales, and the documents that each learns from."""

from functools import partial

import numpy as np
import pytest

from sk_han import DocumentArray, HANClassifier
from sk_han.datasets import make_reviews
from tests.labelled_reviews import OPINIONS, SMALL, TRAIN, X, Y
from tests.tiny_models import tiny


@pytest.fixture(scope="module")
def reviews():
    return make_reviews(200, random_state=0)


small = partial(tiny, max_epochs=2)


def scales_of(classifier):
    return classifier.network_scale_, classifier.ngram_scale_


@pytest.mark.thorough
def test_the_network_does_not_depend_on_the_ngram_model(reviews):
    texts, labels = reviews
    documents = DocumentArray.from_nested([[[2, 3], [4]], [[5]]])
    network, both = (small(linear_ngrams=r).fit(texts, labels) for r in (None, (1, 2)))
    np.testing.assert_array_equal(network.net_.outputs(documents), both.net_.outputs(documents))


@pytest.mark.thorough
def test_the_ngram_model_learns_from_the_held_out_documents_too(reviews):
    texts, labels = reviews
    held_out, all_learnt = (
        small(validation_fraction=fraction).fit(texts, labels).ngram_model_
        for fraction in (0.1, None)
    )
    np.testing.assert_array_equal(held_out.weights, all_learnt.weights)


@pytest.mark.thorough
def test_given_validation_documents_are_not_trained_on(reviews):
    texts, labels = reviews
    given = small().fit(texts[:150], labels[:150], X_val=texts[150:], y_val=labels[150:])
    alone = small(validation_fraction=None).fit(texts[:150], labels[:150])
    np.testing.assert_array_equal(given.ngram_model_.weights, alone.ngram_model_.weights)
    assert scales_of(given) != scales_of(alone)


@pytest.mark.thorough
def test_continued_fits_keep_the_scales(reviews):
    # Held-out documents are drawn anew, and the network has learnt from most of them.
    texts, labels = reviews
    classifier = small(warm_start=True, random_state=None).fit(texts, labels)
    scales = scales_of(classifier)
    assert scales_of(classifier.fit(texts, labels)) == scales
    classifier.fit(texts[:150], labels[:150], X_val=texts[150:], y_val=labels[150:])
    assert scales_of(classifier) != scales


@pytest.mark.parametrize("size", [2.0**-1020, 2.0**1020])
@pytest.mark.parametrize("name", ["sample_weight", "class_weight"])
def test_weights_may_be_of_any_size(reviews, name, size):
    """Of a power of two, by which numbers are multiplied without rounding."""
    texts, labels = (each[:80] for each in reviews)  # of more it takes seconds
    found = []
    for factor in (1.0, size):
        of_class = {label: factor * (1 + n) for n, label in enumerate(np.unique(labels))}
        weights = np.array([of_class[label] for label in labels.tolist()])
        given = {"X_val": reviews[0][80:100], "y_val": reviews[1][80:100]}
        if name == "class_weight":
            model = small(class_weight=of_class).fit(texts, labels, **given)
        else:
            model = small().fit(texts, labels, weights, **given)
        found.append(model.predict_proba(texts))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("size", [1e-50, 1e99])
def test_weights_may_differ_widely(reviews, size):
    texts, labels = (each[:80] for each in reviews)  # of more it takes seconds
    weights = np.where(labels == labels[0], size, 1.0)
    assert np.isfinite(small().fit(texts, labels, weights).predict_proba(texts)).all()


def held_out_rows(classifier, texts):
    """Numbers of the texts that a fit held out."""
    nested = classifier.tokenizer_.transform(texts).to_nested()
    held_out = classifier.net_.train_split.keywords["valid_ds"].X.documents.to_nested()
    return [row for row, document in enumerate(nested) if document in held_out]


@pytest.mark.parametrize("y", [Y[TRAIN], OPINIONS[TRAIN]], ids=["labels", "classes"])
def test_groups_stay_together_when_documents_are_held_out(y):
    texts, groups = [f"{text} w{row}" for row, text in enumerate(X[TRAIN])], np.arange(120) // 5
    classifier = HANClassifier(**SMALL, max_epochs=1).fit(texts, y, groups=groups)
    rows = held_out_rows(classifier, texts)
    assert len(rows) >= 10
    assert not np.isin(groups[rows], np.delete(groups, rows)).any()


@pytest.mark.parametrize("y", [Y[TRAIN], OPINIONS[TRAIN]], ids=["labels", "classes"])
def test_documents_of_the_same_words_stay_together(y):
    of_text = np.arange(120) % 80
    texts = [X[row] for row in of_text]
    classifier = HANClassifier(**SMALL | {"batch_size": 4}, max_epochs=1).fit(
        texts, np.asarray(y)[of_text]
    )
    rows = held_out_rows(classifier, texts)
    assert len(rows) == len(classifier.net_.train_split.keywords["valid_ds"].X) >= 6


def test_copies_are_held_out_singly_if_most_documents_are_copies():
    texts, labels = X[:30] * 4, OPINIONS[:30].tolist() * 4
    classifier = HANClassifier(**SMALL, max_epochs=1).fit(texts, labels)
    assert classifier.fit_summary_.n_scored == 12
    assert len(held_out_rows(classifier, texts)) > 12
