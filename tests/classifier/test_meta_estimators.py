"""What scikit-learn builds on top of an estimator, given raw texts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils.fixes import parse_version

from sk_han import RNN, Attention, HANClassifier, HierarchicalTokenizer, MultiHopAttention
from tests.tiny_models import BAD, GOOD

TEXTS = 4 * (GOOD + BAD)
LABELS = np.array(4 * (3 * ["pos"] + 3 * ["neg"]))
TOO_SLOW = 1e-9  # a learning rate at which nothing is learnt


def quick(**params):
    """Make a classifier that learns the cue words in a tenth of a second."""
    defaults = {
        "embedding_dim": 8,
        "word_hidden": 4,
        "sentence_hidden": 4,
        "pooling": Attention(size=4),
        "dropout": 0.0,
        "word_dropout": 0.0,
        "lr": 0.1,
        "lr_schedule": "constant",
        "max_epochs": 8,
        "batch_size": 8,
        "validation_fraction": None,
        "random_state": 0,
        "device": "cpu",
    }
    return HANClassifier(**defaults | params)


def two_steps(**params):
    return Pipeline([("tokenizer", HierarchicalTokenizer()), ("han", quick(**params))])


def linear():
    return make_pipeline(TfidfVectorizer(), LogisticRegression())


class TestSearches:
    def test_a_grid_search_finds_what_learns(self):
        search = GridSearchCV(quick(linear_ngrams=None), {"lr": [TOO_SLOW, 0.1]}, cv=2).fit(
            TEXTS, LABELS
        )
        assert search.best_params_ == {"lr": 0.1}
        assert search.best_score_ == 1.0
        assert search.cv_results_["mean_test_score"][0] < 1.0
        np.testing.assert_array_equal(search.predict(TEXTS), LABELS)

    @pytest.mark.thorough
    @pytest.mark.filterwarnings("ignore:1 of 2 classes has a single document")
    def test_a_halving_search_gives_more_documents_to_fewer_candidates(self):
        search = HalvingGridSearchCV(
            quick(), {"lr": [TOO_SLOW, 1e-8, 0.1]}, cv=2, min_resources=8, random_state=0
        ).fit(TEXTS, LABELS)
        assert search.n_resources_ == [8, 24]
        assert search.n_candidates_ == [3, 1]
        assert search.best_params_ == {"lr": 0.1}


class TestSearchesInsideOfOptions:
    def test_the_best_network_is_what_its_parameters_say(self):
        given = {"rnn": RNN(), "pooling": MultiHopAttention(size=3)}
        grid = {"pooling__hops": [1, 2], "rnn__num_layers": [1, 2]}
        search = GridSearchCV(quick(max_epochs=2, **given), grid, cv=2).fit(TEXTS, LABELS)
        assert given == {"rnn": RNN(), "pooling": MultiHopAttention(size=3)}
        best, options = search.best_params_, search.best_estimator_.net_.module_.options
        assert options.pooling == MultiHopAttention(size=3, hops=best["pooling__hops"])
        assert options.rnn == RNN(num_layers=best["rnn__num_layers"])

    @pytest.mark.thorough
    def test_whole_options_can_be_searched(self):
        grid = {"pooling": ["mean", Attention(size=2), MultiHopAttention(size=2, hops=2)]}
        search = GridSearchCV(quick(max_epochs=2), grid, cv=2).fit(TEXTS, LABELS)
        found = search.best_estimator_.net_.module_.options.pooling
        assert found == search.best_params_["pooling"]
        assert len(search.cv_results_["params"]) == 3

    @pytest.mark.thorough
    def test_a_search_through_a_pipeline_reaches_them(self):
        pipeline = two_steps(pooling=Attention(size=4))
        search = GridSearchCV(pipeline, {"han__pooling__size": [2, 3]}, cv=2).fit(TEXTS, LABELS)
        size = search.best_params_["han__pooling__size"]
        assert search.best_estimator_[-1].net_.module_.options.pooling.size == size
        assert pipeline[-1].pooling == Attention(size=4)

    def test_wrong_options_fail_their_fits_by_name(self):
        search = GridSearchCV(quick(), {"pooling__size": [0]}, cv=2)
        with pytest.raises(ValueError, match="'size' parameter of Attention"):
            search.fit(TEXTS, LABELS)


@pytest.mark.thorough
class TestValidation:
    def test_predictions_of_folds_are_those_of_the_fitted_folds(self):
        folds = StratifiedKFold(2)
        together = cross_val_predict(quick(), TEXTS, LABELS, cv=folds, method="predict_proba")
        texts = np.array(TEXTS, dtype=object)
        for training, test in folds.split(texts, LABELS):
            alone = quick().fit(texts[training], LABELS[training]).predict_proba(texts[test])
            np.testing.assert_allclose(together[test], alone, atol=1e-6)

    @pytest.mark.filterwarnings("ignore:2 of 2 classes have a single document:UserWarning")
    def test_a_learning_curve_rises_with_the_documents(self):
        sizes, _, scores = learning_curve(
            quick(), TEXTS, LABELS, cv=2, train_sizes=[2, 12], shuffle=True, random_state=0
        )
        assert sizes.tolist() == [2, 12]
        assert scores[0].mean() < scores[1].mean() == 1.0


class TestProbabilities:
    def test_calibration_keeps_what_was_learnt(self):
        calibrated = CalibratedClassifierCV(quick(), cv=2).fit(TEXTS, LABELS)
        proba = calibrated.predict_proba(TEXTS)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        np.testing.assert_array_equal(calibrated.predict(TEXTS), LABELS)

    def test_calibration_of_a_frozen_classifier_trains_it_no_further(self):
        fitted = quick().fit(TEXTS, LABELS)
        before = fitted.predict_proba(TEXTS)
        calibrated = CalibratedClassifierCV(FrozenEstimator(fitted), cv=2).fit(TEXTS, LABELS)
        assert calibrated.calibrated_classifiers_[0].estimator.estimator is fitted
        np.testing.assert_array_equal(fitted.predict_proba(TEXTS), before)
        np.testing.assert_array_equal(calibrated.predict(TEXTS), LABELS)

    @pytest.mark.skipif(
        parse_version(sklearn.__version__) < parse_version("1.8"),
        reason="scikit-learn has temperature scaling from 1.8 on",
    )
    def test_temperature_changes_how_sure_it_is_and_not_of_what(self):
        fitted = quick(max_epochs=3).fit(TEXTS, np.arange(24) % 3)
        calibrated = CalibratedClassifierCV(FrozenEstimator(fitted), method="temperature", cv=2)
        calibrated.fit(TEXTS, np.arange(24) % 3)
        np.testing.assert_array_equal(calibrated.predict(TEXTS), fitted.predict(TEXTS))
        assert not np.allclose(calibrated.predict_proba(TEXTS), fitted.predict_proba(TEXTS))

    @pytest.mark.thorough
    def test_a_tuned_threshold_lies_between_the_classes(self):
        tuned = TunedThresholdClassifierCV(quick(), scoring="balanced_accuracy", cv=2)
        tuned.fit(TEXTS, LABELS)
        proba = tuned.estimator_.predict_proba(TEXTS)[:, 1]
        assert proba[LABELS == "neg"].max() < tuned.best_threshold_ <= proba[LABELS == "pos"].min()
        np.testing.assert_array_equal(tuned.predict(TEXTS), LABELS)


@pytest.mark.thorough
class TestEnsembles:
    def test_a_soft_vote_is_the_mean_of_the_probabilities(self):
        vote = VotingClassifier([("han", quick()), ("linear", linear())], voting="soft")
        vote.fit(TEXTS, LABELS)
        mean = np.mean([member.predict_proba(TEXTS) for member in vote.estimators_], axis=0)
        np.testing.assert_allclose(vote.predict_proba(TEXTS), mean)
        assert vote.score(TEXTS, LABELS) == 1.0

    def test_a_stack_weighs_the_network_against_a_linear_model(self):
        stack = StackingClassifier([("han", quick()), ("linear", linear())], cv=2)
        stack.fit(TEXTS, LABELS)
        assert stack.transform(TEXTS).shape == (24, 2)
        assert (stack.final_estimator_.coef_ > 0).all()
        assert stack.score(TEXTS, LABELS) == 1.0

    def test_one_against_the_rest_has_a_network_for_each_class(self):
        labels = np.array(4 * ["a", "b", "c", "a", "b", "c"])
        rest = OneVsRestClassifier(quick(max_epochs=2)).fit(TEXTS, labels)
        columns = [member.predict_proba(TEXTS)[:, 1] for member in rest.estimators_]
        shares = np.array(columns).T / np.sum(columns, axis=0)[:, np.newaxis]
        np.testing.assert_allclose(rest.predict_proba(TEXTS), shares)

    def test_one_against_the_rest_gives_a_document_several_labels(self):
        several = np.array([[("good" in t.lower()), ("day" in t)] for t in TEXTS]).astype(int)
        rest = OneVsRestClassifier(quick(max_epochs=20)).fit(TEXTS, several)
        np.testing.assert_array_equal(rest.predict(TEXTS), several)


READ = []
RIGHT = np.where(np.arange(24) % 4 == 3, 0.0, 1.0)  # the weight of a document with the right label
PARTLY_WRONG = np.where(RIGHT, LABELS, np.where(LABELS == "pos", "neg", "pos"))


def counted_words(sentence):
    READ.append(sentence)
    return sentence.lower().split()


class TestPipelines:
    @pytest.mark.thorough
    def test_memory_keeps_the_tokenized_documents(self, tmp_path):
        steps = [("tokenizer", HierarchicalTokenizer(word_tokenizer=counted_words))]
        pipeline = Pipeline([*steps, ("han", quick())], memory=str(tmp_path))
        READ.clear()
        first = pipeline.fit(TEXTS, LABELS).predict_proba(TEXTS)
        n_read = len(READ)
        pipeline.set_params(han__random_state=1).fit(TEXTS, LABELS)
        assert len(READ) == n_read
        again = pipeline.set_params(han__random_state=0).fit(TEXTS, LABELS).predict_proba(TEXTS)
        np.testing.assert_array_equal(again, first)

    def test_a_column_of_a_frame_is_picked_by_a_function(self):
        frame = pd.DataFrame({"title": 24 * ["Day"], "body": TEXTS}, index=range(7, 31))
        picked = make_pipeline(FunctionTransformer(lambda frame: frame["body"]), quick())
        picked.fit(frame, LABELS)
        np.testing.assert_array_equal(
            picked.predict_proba(frame), quick().fit(TEXTS, LABELS).predict_proba(TEXTS)
        )

    def test_weights_are_routed_through_a_search_of_a_pipeline(self):
        with sklearn.config_context(enable_metadata_routing=True):
            classifier = quick(max_epochs=16).set_fit_request(sample_weight=True)
            scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
            pipeline = make_pipeline(HierarchicalTokenizer(), classifier)
            search = GridSearchCV(pipeline, {"hanclassifier__lr": [0.1]}, cv=2, scoring=scorer)
            search.fit(TEXTS, PARTLY_WRONG, sample_weight=RIGHT)
        assert search.best_score_ == 1.0
        np.testing.assert_array_equal(search.predict(TEXTS), LABELS)
        directly = make_pipeline(HierarchicalTokenizer(), quick(max_epochs=16))
        directly.fit(TEXTS, PARTLY_WRONG, hanclassifier__sample_weight=RIGHT)
        np.testing.assert_array_equal(search.predict_proba(TEXTS), directly.predict_proba(TEXTS))


NEED_A_COLUMN = [
    BaggingClassifier(quick(), n_estimators=2, random_state=0),
    AdaBoostClassifier(quick(max_epochs=1), n_estimators=2, random_state=0),
]
NEED_NUMBERS = [
    OneVsOneClassifier(quick()),
    SelfTrainingClassifier(quick()),
    StackingClassifier([("han", quick(max_epochs=1))], cv=2, passthrough=True),
]
COLUMN = np.array(TEXTS, dtype=object).reshape(-1, 1)


def name_of(estimator):
    return type(estimator).__name__


@pytest.mark.thorough
class TestClosedToText:
    """What the user guide says of those that scikit-learn closes to lists of texts."""

    @pytest.mark.parametrize("estimator", NEED_A_COLUMN + NEED_NUMBERS, ids=name_of)
    def test_a_list_of_texts_is_refused(self, estimator):
        refusal = r"2D array|could not convert string|number of dimensions"
        with pytest.raises(ValueError, match=refusal):
            estimator.fit(TEXTS, np.arange(24) % 3)

    @pytest.mark.parametrize("estimator", NEED_A_COLUMN, ids=name_of)
    def test_a_column_of_texts_is_taken(self, estimator):
        assert estimator.fit(COLUMN, LABELS).score(COLUMN, LABELS) == 1.0

    def test_boosting_needs_the_classifier_and_not_a_pipeline(self):
        with pytest.raises(ValueError, match="doesn't support sample_weight"):
            AdaBoostClassifier(two_steps()).fit(COLUMN, LABELS)

    @pytest.mark.parametrize("estimator", NEED_NUMBERS, ids=name_of)
    def test_a_column_of_texts_is_refused_where_numbers_are_needed(self, estimator):
        with pytest.raises(ValueError, match="could not convert string"):
            estimator.fit(COLUMN, np.arange(24) % 3)

    def test_permutation_importance_needs_a_column(self):
        fitted = quick().fit(TEXTS, LABELS)
        with pytest.raises(ValueError, match=r"2D array|could not convert"):
            permutation_importance(fitted, TEXTS, LABELS)
        found = permutation_importance(fitted, COLUMN, LABELS, n_repeats=2, random_state=0)
        assert found.importances_mean[0] > 0
