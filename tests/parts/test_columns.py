"""The part of columns: how values become rows, and what their weights are."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sk_han import DocumentArray
from sk_han.documents import LabelledDocuments
from sk_han.parts.column_fitting import ColumnLearner, prior_logits
from sk_han.parts.columns import Coding, ColumnEncoder
from sk_han.targets import fit_target

DAYS = [datetime.date(2023, 5, 1), datetime.date(2024, 12, 31), None]  # Monday, Tuesday


def rows_of(fitted_to, values):
    return Coding.of(fitted_to, "it").rows(values, "it")


class TestRows:
    def test_numbers_are_in_bins_and_missing_ones_in_the_first_row(self):
        assert rows_of([1, 2, 3], [1, 1.5, 3, 99, -5, None, np.nan]).ravel().tolist() == [
            *(1, 2, 3, 3, 1),
            *(0, 0),
        ]

    def test_bins_are_quantiles(self):
        coding = Coding.of(np.arange(1000), "it")
        counts = np.bincount(coding.rows(np.arange(1000), "it").ravel())
        np.testing.assert_allclose(counts, [0, *10 * [100]], atol=1)

    def test_infinite_numbers_are_in_the_outer_bins(self):
        found = rows_of([1.0, 2.0, np.inf, -np.inf], [np.inf, -np.inf, 1.0]).ravel()
        assert found[0] > found[2] > found[1] == 1

    def test_values_of_two_documents_have_a_row(self):
        values = ["a", "b", "b", "a", "once", None, ""]
        assert rows_of(values, [*values, "new"]).ravel().tolist() == [1, 2, 2, 1, -1, 0, 0, -1]

    def test_booleans_are_values(self):
        found = rows_of([True, False, True, False], [True, "True", np.bool_(False), None])
        assert found.ravel().tolist() == [2, 2, 1, 0]

    def test_dates_are_years_months_and_weekdays(self):
        coding = Coding.of(DAYS, "it")
        assert coding.rows(DAYS, "it").tolist() == [[1, 7, 15], [2, 14, 16], [0, -1, -1]]
        assert coding.n_rows == 1 + 2 + 12 + 7
        assert coding.rows(["2023-05-01", "2024-12-31", ""], "it").tolist() == (
            coding.rows(DAYS, "it").tolist()
        )

    @pytest.mark.parametrize(
        "container",
        [
            list,
            pd.Series,
            pl.Series,
            pa.array,
            pa.chunked_array and (lambda values: pa.chunked_array([values])),
        ],
    )
    @pytest.mark.parametrize("values", [[1.5, None, 2.0], ["a", "a", None], DAYS, [True, True]])
    def test_containers_have_the_same_rows(self, container, values):
        coding = Coding.of(values, "it")
        assert Coding.of(container(values), "it").kind == coding.kind
        found = coding.rows(container(values), "it")
        np.testing.assert_array_equal(found, coding.rows(values, "it"))

    def test_numbers_of_a_categorical_are_values(self):
        numbers = pd.Series([1, 2, 1, 2], dtype="category")
        assert Coding.of(numbers, "it").values.tolist() == ["1", "2"]

    def test_times_with_a_zone_are_dates(self):
        times = pd.Series(pd.date_range("2024-02-01", periods=3, tz="Asia/Seoul"))
        assert Coding.of(times, "it").rows(times, "it")[:, 1].tolist() == 3 * [3]

    @pytest.mark.parametrize(
        ("fitted_to", "value", "message"),
        [
            ([1, 2], "many", "'amount' holds a str in row 1, 'many', and numbers in the fit"),
            (["a", "b"], 2.5, "'amount' holds a float in row 1, 2.5, and strings"),
            (DAYS, 20240101, "'amount' holds an int in row 1, 20240101, and dates"),
            (DAYS, "soon", "'amount' holds a str in row 1, 'soon', and dates"),
            (DAYS, "now", "'amount' holds a str in row 1, 'now', and dates"),
            (DAYS, "20240131", "'amount' holds a str in row 1, '20240131', and dates"),
        ],
    )
    def test_a_value_of_another_type_is_an_error(self, fitted_to, value, message):
        with pytest.raises(TypeError, match=message):
            Coding.of(fitted_to, "amount").rows([None, value], "amount")

    def test_a_column_of_mixed_types_is_an_error(self):
        with pytest.raises(TypeError, match="'amount' holds int, str"):
            Coding.of([1, "a"], "amount")

    @pytest.mark.parametrize(
        ("values", "written"),
        [
            (["a", "a", "b", None], ["a", "a", "unseen", "missing"]),
            ([1.0, 2.0, 3.0, None], ["≤ 1", "1 to 2", "> 2", "missing"]),
            ([7, 7], ["any", "any"]),
            (DAYS, ["Mon, May, year ≤ 2023", "Tue, Dec, year > 2023", "missing"]),
        ],
    )
    def test_rows_are_written_as_values(self, values, written):
        coding = Coding.of(values, "it")
        assert [coding.written(rows) for rows in coding.rows(values, "it")] == written


def fit_part(table, labels):
    """Fit a part to a table whose texts are empty."""
    table = table | {"text": len(labels) * ["a"]}
    encoder = ColumnEncoder.of(table, labels, "text", None)
    documents = DocumentArray.from_nested([[] for _ in labels])
    documents.columns = encoder.read(table).columns
    target, targets = fit_target(labels, len(labels), None)
    data = LabelledDocuments(documents, targets, np.ones(len(labels)))
    return ColumnLearner(encoder, data, target).fit(np.arange(len(labels))), documents, target


RNG = np.random.RandomState(0)
SIDES = RNG.randint(0, 2, 600)
NOISE = {
    f"useless {i}": RNG.randn(600) if i % 2 else [f"v{n}" for n in RNG.randint(0, 20, 600)]
    for i in range(6)
}


class TestWeights:
    def test_a_number_has_the_log_odds_of_its_distribution(self):
        # Of two normal distributions a standard deviation apart, the log-odds are x - 1/2.
        x = RNG.randn(600) + SIDES
        part, documents, _ = fit_part({"x": x}, SIDES)
        z = part.logits(documents)
        slope, offset = np.polyfit(x, z[:, 1] - z[:, 0], 1)
        assert 0.7 < slope < 1.2
        assert -0.8 < offset < -0.2

    def test_useless_columns_have_next_to_no_weights(self):
        useful = [
            f"{side}" if told else "?"
            for side, told in zip(SIDES, RNG.rand(600) < 0.3, strict=True)
        ]
        part, documents, _ = fit_part({"useful": useful, **NOISE}, SIDES)
        factors = np.tile([-1.0, 1.0], (600, 1))
        sizes = np.abs(part.contributions(documents, factors)).mean(axis=0)
        assert sizes[0] > 0.5
        assert sizes[1:].sum() < 0.25 * sizes[0]

    def test_class_frequencies_are_left_to_the_other_parts(self):
        rare = np.where(np.arange(600) % 10 == 0, "rare", "usual")
        part, documents, _ = fit_part(NOISE, rare)
        assert np.abs(np.diff(part.logits(documents), axis=1)).max() < 0.5

    def test_weights_of_a_column_are_relative_to_the_average_document(self):
        part, documents, _ = fit_part({"side": np.where(SIDES, "a", "b")}, SIDES)
        found = part.contributions(documents, np.tile([0.0, 1.0], (600, 1)))
        assert abs(found.mean()) < 1e-9
        unseen = documents[:1]
        unseen.columns = np.array([[-1]], dtype=np.int32)
        np.testing.assert_array_equal(part.logits(unseen)[0], part.intercept)

    def test_contributions_and_intercept_sum_to_the_logits(self):
        days = pd.Series(pd.date_range("2020-01-01", periods=600))
        part, documents, _ = fit_part({"day": days, "x": SIDES + RNG.randn(600)}, SIDES)
        for k, factors in enumerate(np.eye(2)):
            found = part.contributions(documents, np.tile(factors, (600, 1)))
            total = part.intercept[k] + found.sum(axis=1)
            np.testing.assert_allclose(total, part.logits(documents)[:, k])

    def test_months_and_weekdays_are_learnt(self):
        days = pd.Series(pd.date_range("2020-01-01", periods=600))
        labels = np.where(np.arange(600) % 7 >= 5, "weekend", "week")
        part, documents, target = fit_part({"day": days}, labels)
        z = part.logits(documents) + prior_logits(
            target, np.unique(labels, return_inverse=True)[1], np.ones(600)
        )
        assert target.decode(target.decide(z)).tolist() == labels.tolist()

    def test_several_labels_have_weights_each(self):
        Y = np.stack([SIDES, RNG.randint(0, 2, 600), 1 - SIDES], axis=1)
        part, _, _ = fit_part({"side": np.where(SIDES, "a", "b")}, Y)
        spread = np.ptp(part.weights, axis=0)
        assert spread[0] > 2 < spread[2]
        assert spread[1] < 1
