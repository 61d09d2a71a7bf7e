"""Fitted models that take a fraction of a second."""

from copy import copy
from dataclasses import replace

import numpy as np
from sklearn.pipeline import make_pipeline

from sk_han import Attention, HANClassifier, HierarchicalTokenizer

GOOD = ["It was a good day. The sun shone.", "We came late. A good meal!", "Good. Very good."]
BAD = ["It was a bad day. The rain fell.", "We came late. A bad meal!", "Bad. Very bad."]
TEXTS = 3 * (GOOD + BAD)
LABELS = np.array(3 * (3 * ["pos"] + 3 * ["neg"]))
UNSEEN = [*TEXTS[:6], "", "A good zebra. Bad!"]


def tiny(**params):
    """Make a classifier whose layers all have other sizes."""
    defaults = {
        "embedding_dim": 7,
        "word_hidden": 5,
        "sentence_hidden": 3,
        "pooling": Attention(size=4),
        "max_epochs": 1,
        "batch_size": 32,
        "random_state": 0,
        "device": "cpu",
    }
    return HANClassifier(**{**defaults, **params})


def fitted_classifier(**params):
    return tiny(**params).fit(TEXTS, LABELS)


def fitted_pipeline():
    return make_pipeline(HierarchicalTokenizer(), tiny()).fit(TEXTS, LABELS)


def with_classes(fitted, classes):
    """Give a copy of a classifier of two classes whose classes have other names."""
    classifier = copy(fitted)
    target = replace(classifier.pool_.target, names=classes)
    return with_model(classifier, pool=replace(classifier.pool_, target=target))


def with_model(classifier, **changes):
    """Change what a classifier was fitted to be, and return the classifier."""
    classifier.model_ = replace(classifier.model_, **changes)
    return classifier
