"""The state that pickle, joblib, copy and skops carry."""

import copy
import pickle

import numpy as np
import pytest

from sk_han import HANClassifier, HierarchicalTokenizer, ModelFormatError
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, tiny

FORMATS = {HANClassifier: 4, HierarchicalTokenizer: 1}


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


def learnt_parts(estimator):
    known = {"_state_format", "_sklearn_version", *estimator.get_params(deep=False)}
    return [part for part in estimator.__getstate__() if part not in known]


class TestFormat:
    def test_the_state_says_its_format(self, estimator):
        expected = FORMATS[type(estimator)]
        assert estimator.__getstate__()["_state_format"] == expected
        assert type(estimator)().__getstate__()["_state_format"] == expected

    def test_the_format_is_no_attribute_of_the_estimator(self, estimator):
        assert "_state_format" not in vars(pickle.loads(pickle.dumps(estimator)))

    def test_a_newer_format_asks_for_a_newer_release(self, estimator):
        state = estimator.__getstate__() | {"_state_format": 99}
        name = type(estimator).__name__
        with pytest.raises(ModelFormatError, match=f"{name} was pickled.* 99.*newer sk_han"):
            restored(estimator, state)

    def test_an_older_format_is_refused_with_the_way_to_the_present_one(self, estimator):
        for older in range(FORMATS[type(estimator)]):
            state = estimator.__getstate__() | {"_state_format": older}
            message = f"{type(estimator).__name__} was pickled.* {older}.*Fit it again, or load it"
            with pytest.raises(ModelFormatError, match=message):
                restored(estimator, state)

    @pytest.mark.parametrize("change", [lambda state: state.pop("_state_format"), dict.clear])
    def test_a_state_without_a_format_is_refused(self, estimator, change):
        state = estimator.__getstate__()
        change(state)
        with pytest.raises(ModelFormatError, match="does not say its format"):
            restored(estimator, state)

    @pytest.mark.parametrize("state", [None, [], 3, {"_state_format": "1"}])
    def test_what_is_no_state_is_refused(self, estimator, state):
        with pytest.raises(ModelFormatError, match="does not say its format"):
            restored(estimator, state)


def test_a_fitted_classifier_adds_one_part_to_its_parameters(fitted):
    assert learnt_parts(fitted) == ["_fitted"]
    assert fitted.__getstate__()["_fitted"].keys() == fitted.to_state().keys()
    assert not any(name.endswith("_") for name in fitted.__getstate__())


def test_a_state_of_parameters_alone_is_unfitted(fitted):
    state = fitted.__getstate__()
    del state["_fitted"]
    unfitted = restored(fitted, state)
    assert unfitted.get_params() == fitted.get_params()
    assert not hasattr(unfitted, "classes_")


# tests/persistence/test_malice.py has each part of the state, which one checker reads for all.
def test_a_missing_or_wrong_part_of_the_fitted_state_is_named(fitted):
    state = fitted.to_state()
    missing = {name: part for name, part in state.items() if name != "history"}
    wrong = state | {"tokenizer": HierarchicalTokenizer()}
    with pytest.raises(
        ModelFormatError, match=r"HANClassifier cannot be restored.*lacks \['history'\]"
    ):
        tiny().from_state(missing)
    with pytest.raises(ModelFormatError, match="tokenizer is not a fitted HierarchicalTokenizer"):
        tiny().from_state(wrong)


def test_a_state_that_is_refused_leaves_the_fitted_state_as_it_was():
    classifier = fitted_classifier()
    before = vars(classifier).copy()
    with pytest.raises(ModelFormatError):
        classifier.from_state(classifier.to_state() | {"parts": {}})
    assert all(vars(classifier)[name] is value for name, value in before.items())


def test_a_restored_state_is_independent_of_the_one_it_came_from():
    classifier = fitted_classifier()
    other = tiny().from_state(classifier.to_state())
    expected = other.predict_proba(UNSEEN)
    classifier.partial_fit(TEXTS, LABELS)
    classifier.classes_[:] = ["a", "b"]
    np.testing.assert_array_equal(other.predict_proba(UNSEEN), expected)
    assert other.classes_.tolist() == ["neg", "pos"]


def test_a_tokenizer_without_all_that_it_learnt_is_unfitted(tokenizer):
    assert learnt_parts(tokenizer) == ["vocabulary_"]
    state = tokenizer.__getstate__()
    del state["vocabulary_"]
    assert not hasattr(restored(tokenizer, state), "vocabulary_")


def test_a_parameter_that_an_earlier_release_lacked_has_its_default(estimator):
    state = estimator.__getstate__()
    name, default = list(type(estimator)().get_params().items())[-1]
    del state[name]
    assert getattr(restored(estimator, state), name) == default


class TestCopies:
    def test_an_unfitted_estimator_comes_back(self, estimator):
        params = {"min_df": 2} if isinstance(estimator, HierarchicalTokenizer) else {"lr": 0.1}
        loaded = pickle.loads(pickle.dumps(type(estimator)(**params)))
        assert vars(loaded) == vars(type(estimator)(**params))

    def test_a_deep_copy_predicts_the_same(self, fitted):
        np.testing.assert_array_equal(
            copy.deepcopy(fitted).predict_proba(UNSEEN), fitted.predict_proba(UNSEEN)
        )
