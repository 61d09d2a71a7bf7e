"""The state that pickle, joblib, copy and skops carry."""

import numpy as np
import pytest
from sklearn.base import clone

from sk_han import HANClassifier, HierarchicalTokenizer, ModelFormatError
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, tiny


@pytest.fixture(scope="module")
def fitted():
    return fitted_classifier()


@pytest.fixture(scope="module")
def tokenizer():
    return HierarchicalTokenizer().fit(TEXTS)


@pytest.fixture(scope="module", params=["fitted", "tokenizer"])
def estimator(request):
    return request.getfixturevalue(request.param)


def restored(estimator, state):
    new = type(estimator).__new__(type(estimator))
    new.__setstate__(state)
    return new


FORMATS = {HANClassifier: 4, HierarchicalTokenizer: 1}
# What is wrong with a state, and the message.
WRONG = {
    "newer": ({"_state_format": 99}, "{} was pickled.* 99.*newer sk_han"),
    "older": ({"_state_format": 0}, "{} was pickled.* 0.*Fit it again, or load it"),
    "no number": ({"_state_format": "1"}, "does not say its format"),
    "without": (None, "does not say its format"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_a_state_of_another_format_is_refused(estimator, change, message):
    state = estimator.__getstate__()
    assert state["_state_format"] == FORMATS[type(estimator)]
    wrong = change and state | change
    with pytest.raises(ModelFormatError, match=message.format(type(estimator).__name__)):
        restored(estimator, wrong)
    del state["_state_format"]
    with pytest.raises(ModelFormatError, match="does not say its format"):
        restored(estimator, state)


def test_a_state_holds_parameters_and_what_was_learnt(estimator):
    learnt = {"_fitted", "vocabulary_", "reading_"} & estimator.__getstate__().keys()
    assert learnt in ({"_fitted"}, {"vocabulary_", "reading_"})
    known = {"_state_format", "_sklearn_version", *estimator.get_params(deep=False)}
    assert estimator.__getstate__().keys() - known == learnt
    unfitted = {k: v for k, v in estimator.__getstate__().items() if k not in learnt}
    assert vars(restored(estimator, unfitted)) == vars(clone(estimator))


def test_a_refused_state_changes_nothing():
    classifier = fitted_classifier()
    before = vars(classifier).copy()
    with pytest.raises(ModelFormatError):
        classifier.from_state(classifier.to_state() | {"parts": {}})
    assert all(vars(classifier)[name] is value for name, value in before.items())


def test_a_restored_state_is_a_copy():
    classifier = fitted_classifier()
    other = tiny().from_state(classifier.to_state())
    expected = other.predict_proba(UNSEEN)
    classifier.partial_fit(TEXTS, LABELS)
    classifier.classes_[:] = ["a", "b"]
    np.testing.assert_array_equal(other.predict_proba(UNSEEN), expected)
    assert other.classes_.tolist() == ["neg", "pos"]


def test_a_parameter_that_an_earlier_release_lacked_has_its_default(estimator):
    state = estimator.__getstate__()
    name, default = list(type(estimator)().get_params().items())[-1]
    del state[name]
    assert getattr(restored(estimator, state), name) == default
