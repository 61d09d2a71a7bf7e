"""The one object that classifier, Scorer, explanations and files hold of a fit."""

import pickle

import numpy as np
import pytest

from sk_han import save
from sk_han.serving import Scorer
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, tiny


@pytest.fixture(scope="module")
def fitted():
    return fitted_classifier()


@pytest.fixture(scope="module")
def served(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.han"
    save(fitted, path)
    return Scorer.load(path)


def test_located_documents_come_in_batches_and_equal_read_ones(fitted):
    batches = list(fitted.model_.locate(UNSEEN, 3))
    assert [len(documents) for documents, _ in batches] == [3, 3, 2]
    assert [source.text for _, sources in batches for source in sources] == UNSEEN
    ids = [document for documents, _ in batches for document in documents.to_nested()]
    assert ids == fitted.model_.read(UNSEEN).to_nested()


def test_a_pickle_does_not_grow_by_predictions(served):
    before = pickle.dumps(served)
    expected = served.predict_proba(UNSEEN)
    assert len(pickle.dumps(served)) == len(before)
    np.testing.assert_array_equal(pickle.loads(before).predict_proba(UNSEEN), expected)


def test_another_fit_does_not_change_the_earlier_model():
    classifier = tiny().fit(TEXTS, LABELS)
    earlier = classifier.model_
    before = earlier.predict_proba(UNSEEN)
    classifier.set_params(warm_start=True).fit(TEXTS, LABELS[::-1])
    assert classifier.model_ is not earlier
    np.testing.assert_array_equal(earlier.predict_proba(UNSEEN), before)
    assert np.abs(classifier.predict_proba(UNSEEN) - before).max() > 0


def test_attributes_of_a_fitted_model_cannot_be_set(fitted):
    for name in ("pool_", "tokenizer_", "history_", "classes_"):
        with pytest.raises(AttributeError):
            setattr(fitted, name, None)
