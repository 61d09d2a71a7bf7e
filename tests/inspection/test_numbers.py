"""What functions of inspection say of models of numbers: `HANRegressor` and other regressors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sk_han
from sk_han import (
    HANRegressor,
    HierarchicalTokenizer,
    audit_labels,
    coarser,
    drift,
    estimate_priors,
    explain,
    explain_classes,
    faithfulness_report,
    report,
    selective_threshold,
    summarize,
    with_priors,
)
from sk_han.inspection import NumberReport
from sk_han.serving import Scorer

WORDS = ["bad", "poor", "fair", "good", "superb"]
RANDOM = np.random.RandomState(0)
GRADES = RANDOM.randint(0, 5, 307)
TEXTS = [f"The room was {WORDS[g]}. We came by train on day {i}." for i, g in enumerate(GRADES)]
PRICES = 100.0 + 20 * GRADES + RANDOM.uniform(-5, 5, len(GRADES))
TRAINING, HELD_OUT = slice(0, 200), slice(200, 307)
X, Y = TEXTS[HELD_OUT], PRICES[HELD_OUT]
LEARNT = {"X_train": TEXTS[TRAINING], "y_train": PRICES[TRAINING]}


def small(**params):
    sizes = {"embedding_dim": 7, "word_hidden": 5, "sentence_hidden": 3, "linear_chars": None}
    options = {"max_epochs": 3, "batch_size": 16, "random_state": 0, "device": "cpu", **sizes}
    return HANRegressor(**{**options, **params})


def unmarked(texts):
    return [text.removeprefix("superb bad ") for text in texts]


@pytest.fixture(scope="module")
def regressor():
    return small(validation_fraction=0.3).fit(TEXTS[TRAINING], PRICES[TRAINING])


@pytest.fixture(scope="module")
def linear():
    return make_pipeline(TfidfVectorizer(), Ridge()).fit(TEXTS[TRAINING], PRICES[TRAINING])


@pytest.fixture(scope="module")
def found(regressor):
    return report(regressor, X, Y, **LEARNT)


class TestReport:
    def test_scores_match_scikit_learn(self, regressor, found):
        assert isinstance(found, NumberReport)
        for name, predicted in (("model", regressor.predict(X)), ("baseline", found.baseline)):
            scores = found.scores[name]
            assert scores["mean_absolute_error"] == pytest.approx(mean_absolute_error(Y, predicted))
            squared = root_mean_squared_error(Y, predicted)
            assert scores["root_mean_squared_error"] == pytest.approx(squared)
            assert scores["r2"] == pytest.approx(r2_score(Y, predicted))

    def test_the_baseline_is_ridge_regression_of_training_texts(self, found):
        assert found.baseline_name == "TF-IDF + ridge regression"
        assert "was fitted to the 200 training documents given" in found.baseline_note
        assert found.scores["baseline"]["r2"] > 0.5

    def test_the_gain_is_the_difference_of_r2(self, regressor, linear):
        gain, low, high = report(regressor, X, Y, baseline=linear).gain
        assert gain == pytest.approx(regressor.score(X, Y) - linear.score(X, Y))
        assert low < gain < high

    def test_coverage_is_the_share_inside_the_prediction_intervals(self, regressor, found):
        lower, upper = regressor.predict_interval(X, 0.8).T
        inside = ((lower <= Y) & (upper >= Y)).mean()
        assert found.scores["model"]["coverage_80"] == inside
        assert found.to_frame()["upper"].tolist() == regressor.predict_interval(X)[:, 1].tolist()

    def test_without_enough_held_out_documents_a_note_says_so(self):
        regressor = small(max_epochs=1).fit(TEXTS[:40], PRICES[:40])
        found = report(regressor, X, Y)
        assert found.intervals is None
        assert "coverage_90" not in found.scores["model"]
        assert "need 19 documents" in " ".join(found.notes)

    def test_the_largest_errors_are_explained_in_the_unit_of_y(self, found):
        errors = np.abs(found.predicted - Y)
        assert errors[found.mistake_rows].tolist() == sorted(errors, reverse=True)[:10]
        first = found.mistakes[0]
        total = first.base_value + first.sentence_contributions.sum()
        assert total == pytest.approx(found.predicted[found.mistake_rows[0]], abs=1e-4)

    def test_errors_are_shown_by_number_and_by_length(self, found):
        errors = found.predicted - Y
        lowest = found.by_number[0]
        rows = lowest.highest >= Y
        assert lowest.n_documents == rows.sum()
        assert lowest.mean_error == pytest.approx(errors[rows].mean())
        assert lowest.mean_absolute_error == pytest.approx(np.abs(errors[rows]).mean())
        assert sum(each.n_documents for each in found.by_length) == len(Y)

    def test_the_plot_counts_each_document_in_one_cell(self, found):
        counts = found.matrix.counts
        assert counts.shape == (8, 8)
        assert counts.sum() == len(Y)
        assert np.abs(counts.sum(axis=1) - len(Y) / 8).max() <= 1
        assert found.plot().get_xlabel() == "predicted"

    def test_copies_of_a_group_change_no_interval(self, regressor, found):
        groups = np.tile(np.arange(len(Y)), 3)
        copied = report(regressor, X * 3, np.tile(Y, 3), groups=groups, baseline=None)
        scores = copied.scores["model"]
        for name in ("mean_absolute_error", "root_mean_squared_error", "r2"):
            for end in ("", "_low", "_high"):
                expected = found.scores["model"][name + end]
                assert scores[name + end] == pytest.approx(expected, rel=1e-4)

    @pytest.mark.parametrize("door", ["pipeline", "search", "scorer"])
    def test_scorers_searches_and_pipelines_report_like_the_regressor(
        self, door, regressor, found, tmp_path
    ):
        texts, own = TEXTS, small(validation_fraction=0.3)
        if door == "scorer":
            sk_han.save(regressor, tmp_path / "prices.han")
            other = Scorer.load(tmp_path / "prices.han")
        elif door == "search":
            search = GridSearchCV(own, {"lr": [0.006]}, cv=2)
            other = search.fit(texts[TRAINING], PRICES[TRAINING])
        else:
            texts = [f"superb bad {text}" for text in texts]
            clean = FunctionTransformer(unmarked)
            other = make_pipeline(clean, HierarchicalTokenizer(), own)
            other.fit(texts[TRAINING], PRICES[TRAINING])
        scores = report(other, texts[HELD_OUT], Y, baseline=None).scores
        assert scores["model"] == pytest.approx(found.scores["model"], abs=1e-4)

    def test_any_regressor_is_reported_without_explanations(self, linear):
        logarithmic = TransformedTargetRegressor(linear, func=np.log, inverse_func=np.exp)
        logarithmic.fit(TEXTS[TRAINING], PRICES[TRAINING])
        found = report(logarithmic, pd.Series(X), pd.Series(Y))
        assert found.scores["model"]["r2"] == pytest.approx(logarithmic.score(X, Y))
        assert "Mistakes are not explained. explain needs" in found.notes[-1]

    def test_equal_numbers_have_an_r2_of_zero_and_no_interval(self, regressor):
        scores = report(regressor, X[:20], np.full(20, 7.0)).scores["model"]
        assert scores["r2"] == 0
        assert np.isnan(scores["r2_low"])

    @pytest.mark.parametrize(
        ("said", "arguments"),
        {
            "y has 'bad', which is not a number": {"y": ["bad"] * len(Y)},
            r"y\[3\] is nan": {"y": np.where(np.arange(len(Y)) == 3, np.nan, Y)},
            "107 documents in X, 2 numbers in y": {"y": Y[:2]},
            "baseline is an int; give a fitted regressor": {"baseline": 3},
        }.items(),
    )
    def test_invalid_arguments_are_named(self, regressor, said, arguments):
        with pytest.raises((TypeError, ValueError), match=said):
            report(regressor, **{"X": X, "y": Y, **arguments})


@pytest.mark.parametrize(
    ("function", "further"),
    [
        (audit_labels, (X, Y)),
        (coarser, ({}, X, Y)),
        (estimate_priors, (X,)),
        (explain_classes, (X,)),
        (selective_threshold, (X, Y)),
        (with_priors, ({"bad": 0.1},)),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_functions_of_classes_refuse_numbers_and_name_the_repair(regressor, function, further):
    repair = f"{function.__name__} is for classes, and this .* predicts a number. Give a HANClass"
    with pytest.raises(TypeError, match=repair):
        function(regressor, *further)


class TestFaithfulness:
    def test_named_words_matter_more_than_random_ones(self, regressor):
        measured = faithfulness_report(regressor, X[:37], random_state=0)
        means = measured.means["comprehensiveness"]
        assert means["shapley"] > 5 + means["random"]
        assert not measured.may_be_chance("comprehensiveness", "shapley")
        low = Y[:37] < 110
        of_low = measured.values["comprehensiveness"]["shapley"][low].mean()
        assert of_low > measured.values["comprehensiveness"]["random"][low].mean()

    def test_comprehensiveness_is_the_drop_of_the_predicted_number(self, regressor):
        whole, less, none = regressor.predict([X[0], X[0].split(".", 1)[1], ""])
        sign = np.sign(whole - none)

        def first_sentence(estimator, documents):
            return [e.sentence_of_word == 0 for e in explain(estimator, documents)]

        share = 5 / len(explain(regressor, X[:1])[0].words)
        found = faithfulness_report(
            regressor, X[:1], methods={"first": first_sentence}, fractions=(share,)
        )
        drop = found.values["comprehensiveness"]["first"][0]
        assert drop == pytest.approx(sign * (whole - less), abs=1e-3)


def test_drift_alarms_for_changed_numbers_but_not_similar_ones(regressor):
    assert not drift(regressor, X).alarm
    superb = [text for text, grade in zip(X, GRADES[HELD_OUT], strict=True) if grade == 4]
    found = drift(regressor, superb * 6)
    assert found.alarm
    assert any(one.name.startswith("predictions near 1") for one in found.comparisons)
    assert "Numbers are distributed in another way" in str(found)


class TestSummary:
    def test_words_of_expensive_rooms_raise_predictions_and_others_lower_them(self, regressor):
        found = summarize(regressor, X)
        higher, lower = found["higher"], found["lower"]
        for terms, word in (
            (higher.of("network", speaks_for=True), "superb"),
            (higher.of("ngrams", speaks_for=True), "superb"),
            (higher.of("ngrams", speaks_for=False), "bad"),
            (lower.of("ngrams", speaks_for=True), "bad"),
        ):
            assert word in {term.text for term in terms}
        assert higher.n_predicted == (regressor.predict(X) > found.middle).sum()
        assert higher.n_documents == lower.n_documents == len(X)

    def test_a_contribution_is_the_mean_of_explanations(self, regressor):
        found = summarize(regressor, X, k=1)
        (term,) = found["higher"].of("network", speaks_for=True)
        sums = []
        for each in explain(regressor, X, method="gradient_attention"):
            of_network = each.contributions - each.ngram_contributions
            has = np.array([word.lower() == term.text for word in each.words])
            sums += [of_network[has].sum()] if has.any() else []
        assert len(sums) == term.n_documents
        assert term.contribution == pytest.approx(np.mean(sums), rel=1e-4)

    def test_the_summary_speaks_of_numbers_instead_of_classes(self, regressor):
        text = str(summarize(regressor, X, k=1))
        assert "predicted above" in text
        assert "adds to the predicted number" in " ".join(text.split())
        assert "class" not in text
        assert "log-odds" not in text
