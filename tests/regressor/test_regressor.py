"""HANRegressor: numbers through distributions, intervals, explanations, files."""

from __future__ import annotations

import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sk_han
from sk_han import HANRegressor, HierarchicalTokenizer, explain
from sk_han.serving import Scorer
from tests.tiny_models import TEXTS, fitted_classifier, tiny

WORDS = ["bad", "poor", "fair", "good", "superb"]
RNG = np.random.RandomState(0)
GRADES = RNG.randint(0, 5, 240)
RATED = [f"The room was {WORDS[g]}. We came by train on day {i}." for i, g in enumerate(GRADES)]
PRICES = 100.0 + 20 * GRADES + RNG.uniform(-5, 5, len(GRADES))
ROOMS = RNG.randint(1, 4, len(GRADES))


def small(**params):
    """Make a regressor with the layers of the tiny classifier."""
    own = {"max_epochs": 3, "batch_size": 16, "linear_chars": None, **params}
    names = HANRegressor().get_params()
    options = {k: v for k, v in tiny().get_params(deep=False).items() if k in names}
    return HANRegressor(**{**options, **own})


@pytest.fixture(scope="module")
def fitted():
    return small(validation_fraction=0.3).fit(RATED, PRICES)


class TestPredictions:
    def test_numbers_of_other_documents_are_predicted(self, fitted):
        rng = np.random.RandomState(1)
        grades = rng.randint(0, 5, 100)
        texts = [f"A {WORDS[g]} room. It rained." for g in grades]
        predicted = fitted.predict(texts)
        assert predicted.dtype == np.float64
        assert np.corrcoef(predicted, grades)[0, 1] > 0.8
        assert fitted.score(texts, 100 + 20 * grades) == r2_score(100 + 20 * grades, predicted)

    def test_predictions_stay_between_the_training_numbers(self, fitted):
        predicted = fitted.predict([*RATED, "", "superb " * 200])
        assert predicted.min() >= PRICES.min()
        assert predicted.max() <= PRICES.max()

    def test_a_prediction_is_the_expected_knot(self, fitted):
        p = fitted.model_.predict_proba(RATED)
        np.testing.assert_allclose(fitted.predict(RATED), p @ fitted.knots_)
        assert fitted.knots_[[0, -1]].tolist() == [PRICES.min(), PRICES.max()]
        assert len(fitted.knots_) == 8

    def test_log_scale_predicts_the_expected_logarithm(self):
        regressor = small(scale="log", validation_fraction=0.3).fit(RATED, PRICES**4)
        p = regressor.model_.predict_proba(RATED)
        predicted = np.exp(p @ np.log(regressor.knots_))
        np.testing.assert_allclose(regressor.predict(RATED), predicted)
        explained = explain(regressor, RATED[:3])
        added = [document.sentence_contributions.sum() for document in explained]
        np.testing.assert_allclose(added, predicted[:3] - regressor.predict([""]), rtol=1e-6)
        low, high = regressor.predict_interval(RATED, 0.8).T
        assert np.mean((low <= PRICES**4) & (high >= PRICES**4)) > 0.6

    def test_few_numbers_are_knots_themselves(self):
        regressor = small(max_epochs=1, n_bins=5).fit(RATED, GRADES - 2)
        assert regressor.knots_.tolist() == [-2, -1, 0, 1, 2]

    def test_a_single_number_is_predicted_for_all(self):
        with pytest.warns(UserWarning, match=r"All numbers in y are 7\.5"):
            regressor = small().fit(TEXTS, np.full(len(TEXTS), 7.5))
        assert regressor.predict(["A day.", ""]).tolist() == [7.5, 7.5]

    def test_documents_of_weight_zero_have_no_knot(self):
        y, weights = PRICES.copy(), np.ones(len(PRICES))
        y[3], weights[3] = 1e6, 0.0
        regressor = small(max_epochs=1).fit(RATED, y, sample_weight=weights)
        assert regressor.knots_[-1] < 1000

    def test_the_regressor_works_in_pipelines_searches_and_transformed_targets(self):
        pipeline = make_pipeline(HierarchicalTokenizer(), small(max_epochs=1))
        search = GridSearchCV(pipeline, {"hanregressor__n_bins": [3, 5]}, cv=2).fit(RATED, PRICES)
        assert is_regressor(search)
        assert len(search.best_estimator_[-1].knots_) in (3, 5)
        on_logs = TransformedTargetRegressor(small(max_epochs=1), func=np.log, inverse_func=np.exp)
        assert on_logs.fit(RATED, PRICES).predict(RATED[:2]).min() > 90
        with pytest.raises(TypeError, match="TransformedTargetRegressor"):
            explain(on_logs, RATED[:1])


class TestNumbersGiven:
    @pytest.mark.parametrize(
        "container",
        [
            list,
            pd.Series,
            pl.Series,
            lambda y: pl.Series(y).to_arrow(),
            lambda y: [Decimal(repr(x)) for x in y.tolist()],
            lambda y: pd.Series(y).astype("Float64"),
        ],
        ids=["list", "pandas", "polars", "Arrow", "Decimal", "nullable"],
    )
    def test_any_container_gives_the_same_knots(self, container):
        regressor = small(max_epochs=1, linear_ngrams=None).fit(RATED[:30], container(PRICES[:30]))
        assert regressor.knots_[[0, -1]].tolist() == [PRICES[:30].min(), PRICES[:30].max()]

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (None, "requires y to be passed"),
            ([1.0, np.nan, *range(16)], r"y contains NaN.*y\[1\] is nan"),
            ([1.0, np.inf, *range(16)], r"infinity.*y\[1\] is inf"),
            (["12 euros", *["3"] * 17], "'12 euros', which is not a number"),
            (np.zeros((18, 2)), "MultiOutputRegressor"),
            (np.zeros(17), "17 numbers"),
            ([1.0, None, *range(16)], r"None, which is not a number"),
            ([1.0, [2.0, 3.0], *range(16)], r"y has \[2.0, 3.0\], which is not a number"),
            (np.zeros((18, 0)), "y has 0 columns, and a HANRegressor predicts one number"),
        ],
    )
    def test_invalid_targets_are_refused_by_name(self, y, message):
        with pytest.raises(ValueError, match=message):
            small().fit(TEXTS, y)

    @pytest.mark.parametrize("where", ["y", "y_val"])
    def test_log_scale_refuses_numbers_without_a_logarithm(self, where):
        numbers = {"y": np.arange(1.0, 19), "y_val": np.arange(1.0, 19)}
        numbers[where] = numbers[where] - 3
        with pytest.raises(ValueError, match=rf"{where}\[0\] is -2, and scale=\"log\" needs"):
            small(scale="log").fit(TEXTS, numbers["y"], X_val=TEXTS, y_val=numbers["y_val"])

    def test_parameters_of_classes_do_not_exist(self):
        with pytest.raises(TypeError, match="no parameter 'class_weight'"):
            HANRegressor(class_weight="balanced")


class TestMoreDocuments:
    def test_partial_fit_keeps_the_knots_of_the_first_portion(self):
        regressor = small().partial_fit(RATED[:100], PRICES[:100])
        knots = regressor.knots_
        with pytest.warns(UserWarning, match="1 number outside of the range of the first fit"):
            regressor.partial_fit(
                [*RATED[100:200], "A palace."], [*PRICES[100:200].clip(*knots[[0, -1]]), 999.0]
            )
        np.testing.assert_array_equal(regressor.knots_, knots)

    def test_the_scale_stays_that_of_the_first_fit(self):
        regressor = small(max_epochs=1, warm_start=True).fit(RATED, PRICES)
        with pytest.raises(ValueError, match="scale='log' was set after the first fit"):
            regressor.set_params(scale="log").fit(RATED, PRICES)

    def test_a_first_portion_has_no_classes(self):
        with pytest.raises(ValueError, match="has no classes"):
            small().partial_fit(RATED[:50], PRICES[:50], classes=[1, 2])

    def test_a_warm_start_keeps_knots_and_offsets(self, fitted):
        again = pickle.loads(pickle.dumps(fitted)).set_params(warm_start=True, max_epochs=1)
        with pytest.warns(UserWarning, match="outside of the range"):
            again.fit(RATED, PRICES + 1)
        np.testing.assert_array_equal(again.knots_, fitted.knots_)
        np.testing.assert_array_equal(again.pool_.shift, fitted.pool_.shift)


class TestIntervals:
    @pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
    def test_validation_documents_are_covered_by_construction(self, coverage):
        regressor = small(max_epochs=1).fit(
            RATED[:150], PRICES[:150], X_val=RATED[150:], y_val=PRICES[150:]
        )
        low, high = regressor.predict_interval(RATED[150:], coverage).T
        inside = (low <= PRICES[150:]) & (PRICES[150:] <= high)
        assert regressor.n_calibration_ == 90
        assert coverage <= inside.mean() <= coverage + 2 / 90

    def test_intervals_widen_with_coverage(self, fitted):
        narrow, wide = (fitted.predict_interval(RATED, c) for c in (0.5, 0.9))
        assert (wide[:, 0] <= narrow[:, 0]).all()
        assert (narrow[:, 1] <= wide[:, 1]).all()

    @pytest.mark.parametrize(
        ("coverage", "message"),
        [
            (0.99, "need 99 documents.*held out 72"),
            (1.0, "between 0 and 1"),
            ("most", "between 0 and 1"),
        ],
    )
    def test_invalid_coverages_are_refused(self, fitted, coverage, message):
        with pytest.raises(ValueError, match=message):
            fitted.predict_interval(RATED[:1], coverage)

    def test_without_held_out_documents_there_are_no_intervals(self):
        regressor = small(validation_fraction=None, max_epochs=1).fit(RATED, PRICES)
        with pytest.raises(ValueError, match=r"need 19 documents.*held out 0"):
            regressor.predict_interval(RATED[:1])

    def test_a_classifier_has_no_intervals(self):
        with pytest.raises(ValueError, match=r"Intervals are of numbers.*one class"):
            fitted_classifier().model_.intervals(TEXTS, 0.9)


class TestExplanations:
    def test_sentences_add_up_to_the_number(self, fitted):
        for explanation, number in zip(
            fitted.explain(RATED[:5]), fitted.predict(RATED[:5]), strict=True
        ):
            total = explanation.base_value + explanation.sentence_contributions.sum()
            assert explanation.predicted == pytest.approx(number, abs=1e-4)
            assert total == pytest.approx(number, abs=1e-4)

    def test_sentences_and_columns_add_up_to_the_number(self):
        table = pd.DataFrame({"text": RATED, "rooms": ROOMS})
        regressor = small(text_column="text").fit(table, PRICES + 40 * ROOMS)
        explanation = regressor.explain(table[:1])[0]
        parts = explanation.sentence_contributions.sum() + explanation.column_contributions.sum()
        assert explanation.base_value + parts == pytest.approx(
            regressor.predict(table[:1])[0], abs=1e-4
        )
        assert explanation.column_contributions[0] != 0

    def test_column_contributions_keep_their_signs_at_extreme_numbers(self):
        districts = np.where(RNG.rand(len(ROOMS)) < 0.5, "station", "castle")
        rents = 100.0 * ROOMS + 80 * (districts == "castle")
        table = pd.DataFrame({"text": "A flat.", "rooms": ROOMS, "district": districts})
        dearest, cheapest = int(rents.argmax()), int(rents.argmin())
        regressor = small(text_column="text").fit(table, rents)
        explanations = regressor.explain(table.iloc[[dearest, cheapest]])
        assert (explanations[0].column_contributions > 0).all()
        assert (explanations[1].column_contributions < 0).all()

    def test_a_better_word_raises_the_number(self, fitted):
        best = fitted.explain(["A superb room. It rained."])[0].top(1, level="sentence")[0]
        assert best.text == "A superb room."
        assert best.score > 5

    def test_the_page_and_the_terminal_show_the_unit(self, fitted):
        explanations = fitted.explain(RATED[:2], y_true=PRICES[:2])
        for shown in (explanations.to_text(), explanations.to_html()):
            assert "in the unit of the predicted number" in shown
            assert "log-odds" not in shown
        assert f"true: {PRICES[0]:.4g}" in explanations.to_text()

    def test_mistakes_are_sorted_by_absolute_error(self, fitted):
        mistakes = fitted.explain(RATED[:9], y_true=PRICES[:9]).mistakes()
        errors = [abs(e.predicted - y) for e, y in zip(mistakes, mistakes.y_true, strict=True)]
        assert len(errors) == 9
        assert errors == sorted(errors, reverse=True)

    @pytest.mark.parametrize(
        "option", [{"target": 1.0}, {"against": 1.0}, {"targets": "predicted"}]
    )
    def test_options_for_classes_are_refused(self, fitted, option):
        with pytest.raises(ValueError, match="this model predicts a number"):
            fitted.explain(RATED[:1], **option)


class TestFiles:
    def test_every_copy_predicts_the_same(self, fitted, tmp_path):
        sk_han.save(fitted, tmp_path / "prices.han")
        loaded, scorer = sk_han.load(tmp_path / "prices.han"), Scorer.load(tmp_path / "prices.han")
        expected, interval = fitted.predict(RATED), fitted.predict_interval(RATED)
        for copy in (pickle.loads(pickle.dumps(fitted)), loaded):
            assert isinstance(copy, HANRegressor)
            np.testing.assert_array_equal(copy.predict(RATED), expected)
            np.testing.assert_array_equal(copy.predict_interval(RATED), interval)
        np.testing.assert_allclose(scorer.predict(RATED), expected, rtol=1e-6)
        np.testing.assert_allclose(scorer.predict_interval(RATED), interval, rtol=1e-5)
        frame = scorer.predict_frame(RATED[:3], coverage=0.9)
        assert frame.columns.tolist() == ["prediction", "lower", "upper"]
        assert scorer.predict_frame([]).columns.tolist() == ["prediction"]

    def test_a_clone_is_unfitted_and_fits_the_same(self, fitted):
        copy = clone(fitted)
        assert not hasattr(copy, "model_")
        np.testing.assert_array_equal(copy.fit(RATED, PRICES).predict(RATED), fitted.predict(RATED))

    def test_the_summary_has_r2_in_place_of_accuracy(self, fitted):
        summary = fitted.fit_summary_
        assert summary.accuracy is None
        assert summary.r2 > 0.5
        assert "R2" in str(summary)
        assert "accuracy" not in str(summary)
        assert fitted.best_score_ <= 1
        assert "valid_r2" in fitted.history_[0]
