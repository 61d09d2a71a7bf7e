"""The state that pickle, joblib, copy and skops carry."""

import copy
import pickle

import numpy as np
import pytest

from sk_han import HierarchicalTokenizer, ModelFormatError
from tests.tiny_models import TEXTS, UNSEEN, fitted_classifier, fitted_pipeline


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
        assert estimator.__getstate__()["_state_format"] == 1
        assert type(estimator)().__getstate__()["_state_format"] == 1

    def test_the_format_is_no_attribute_of_the_estimator(self, estimator):
        assert "_state_format" not in vars(pickle.loads(pickle.dumps(estimator)))

    def test_a_newer_format_asks_for_a_newer_release(self, estimator):
        state = estimator.__getstate__() | {"_state_format": 99}
        name = type(estimator).__name__
        with pytest.raises(ModelFormatError, match=f"{name} was pickled.* 99.*newer sk_han"):
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


def test_a_missing_part_of_the_state_is_named(fitted):
    learnt = learnt_parts(fitted)
    assert {"classes_", "tokenizer_", "history_"} <= set(learnt)
    for part in learnt:
        state = fitted.__getstate__()
        del state[part]
        with pytest.raises(ModelFormatError, match=f"lacks \\['{part}'\\]"):
            restored(fitted, state)


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


def test_a_classifier_from_before_adversarial_noise_has_none(fitted):
    state = fitted.__getstate__()
    del state["adversarial_noise"]
    assert restored(fitted, state).adversarial_noise == 0.0


class TestCopies:
    def test_an_unfitted_estimator_comes_back(self, estimator):
        params = {"min_df": 2} if isinstance(estimator, HierarchicalTokenizer) else {"lr": 0.1}
        loaded = pickle.loads(pickle.dumps(type(estimator)(**params)))
        assert vars(loaded) == vars(type(estimator)(**params))

    def test_a_deep_copy_predicts_the_same(self, fitted):
        np.testing.assert_array_equal(
            copy.deepcopy(fitted).predict_proba(UNSEEN), fitted.predict_proba(UNSEEN)
        )

    def test_a_pickled_pipeline_predicts_the_same(self):
        pipeline = fitted_pipeline()
        loaded = pickle.loads(pickle.dumps(pipeline))
        np.testing.assert_array_equal(loaded.predict_proba(UNSEEN), pipeline.predict_proba(UNSEEN))
