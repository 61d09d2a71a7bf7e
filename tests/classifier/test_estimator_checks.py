"""All of scikit-learn's estimator checks, none of them skipped."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from sk_han import (
    AttentionTranslator,
    HANClassifier,
    HANRegressor,
    HierarchicalTokenizer,
    SentenceEmbedder,
    SequenceTagger,
)
from tests.checks_table import results_of, table
from tests.encoders_of_sentences import NAMED
from tests.row_documents import explained_failures, row_estimators, sentence_estimator

# What the vectors of training documents are good for is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore:The network has memorized")

# How many checks there are in scikit-learn 1.6; later releases have more.
EXPECTED = {"RowClassifier": 67, "RowTokenizer": 45, "RowRegressor": 55}

# What estimators of raw text can be asked without a table of numbers. scikit-learn itself asks
# them one of these, check_estimator_cloneable.
WITHOUT_NUMBERS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_param_validation",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]

OF_TEXT = [
    AttentionTranslator(),
    HANClassifier(),
    HANRegressor(),
    HierarchicalTokenizer(),
    SentenceEmbedder(NAMED),
    SequenceTagger(),
]


each_estimator = pytest.mark.parametrize(
    "estimator", row_estimators(), ids=lambda estimator: type(estimator).__name__
)


class TestOnRows:
    @parametrize_with_checks(row_estimators(), expected_failed_checks=explained_failures)
    @pytest.mark.filterwarnings("ignore:The labels hold a single class:UserWarning")
    # A check of weights sets it, for estimators that look at the loss of their training documents.
    @pytest.mark.filterwarnings("ignore:n_iter_no_change=20 has no effect:UserWarning")
    def test_every_check_passes(self, estimator, check, monkeypatch):
        monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # else a check skips itself
        try:
            check(estimator)
        except estimator_checks.SkipTest as reason:
            pytest.fail(f"The check did not run: {reason}")

    @each_estimator
    def test_no_fewer_checks_run_than_before(self, estimator):
        checks = list(estimator_checks_generator(estimator))
        assert len(checks) >= EXPECTED[type(estimator).__name__]

    @each_estimator
    @pytest.mark.parametrize(
        "name", ["check_param_validation", "check_dataframe_column_names_consistency"]
    )
    def test_checks_left_to_users_pass(self, estimator, name):
        getattr(estimator_checks, name)(type(estimator).__name__, estimator)


class TestOnSentenceVectors:
    @pytest.mark.thorough
    @pytest.mark.filterwarnings("ignore:The network is useless")  # it finds no known words
    @pytest.mark.filterwarnings("ignore:n_iter_no_change=20 has no effect:UserWarning")
    def test_every_check_passes(self, monkeypatch):
        monkeypatch.setenv("SCIPY_ARRAY_API", "1")
        results = results_of(sentence_estimator())
        assert len(results) >= EXPECTED["RowClassifier"]
        assert {result["status"] for result in results} == {"passed", "xfail"}, table(results)


class TestOnText:
    @pytest.mark.parametrize("estimator", OF_TEXT, ids=lambda estimator: type(estimator).__name__)
    @pytest.mark.parametrize("name", WITHOUT_NUMBERS)
    def test_checks_that_need_no_numeric_data_pass(self, estimator, name):
        getattr(estimator_checks, name)(type(estimator).__name__, clone(estimator))
