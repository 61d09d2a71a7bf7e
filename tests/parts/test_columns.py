"""The part of columns: how values become rows, and what their weights are."""

import datetime

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han._documents import LabelledDocuments
from sk_han._parts.column_fitting import ColumnLearner, prior_logits
from sk_han._parts.columns import Coding, ColumnEncoder
from sk_han._targets import fit_target
from sk_han._validation.cells import read_column
from tests.tiny_models import tiny

DAYS = [datetime.date(2023, 5, 1), datetime.date(2024, 12, 31), None]  # Monday, Tuesday


def coding_of(values):
    return Coding.from_column(read_column(values, "it"))


def rows_of(fitted_to, values):
    coding = coding_of(fitted_to)
    return coding.rows(read_column(values, "it", coding.kind))


class TestRows:
    @pytest.mark.parametrize(
        ("fitted_to", "values", "rows"),
        [
            ([1.5, 2.5, 3.5], [1.5, 2, 3.5, 99, -5, None, np.nan], [1, 2, 3, 3, 1, 0, 0]),
            ([5, 4, 1, 2, 5, 3, 5, 5], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),  # a bin each
            ([1.0, np.inf, -np.inf], [np.inf, -np.inf, 1.0], [3, 1, 2]),
            (
                ["a", "b", "b", "a", "once", None, ""],
                ["a", "b", "once", None, "new"],
                [1, 2, -1, 0, -1],
            ),
            (DAYS, DAYS, [1, 7, 15, 2, 14, 16, 0, -1, -1]),  # years, months and weekdays
        ],
        ids=["numbers", "few numbers", "infinite", "categories", "dates"],
    )
    def test_each_value_has_its_row(self, fitted_to, values, rows):
        assert rows_of(fitted_to, values).ravel().tolist() == rows

    def test_bins_are_quantiles(self):
        counts = np.bincount(rows_of(np.arange(1000), np.arange(1000)).ravel())
        np.testing.assert_allclose(counts, [0, *10 * [100]], atol=1)

    def test_true_and_one_are_equal_unless_both_were_learnt(self):
        assert rows_of(["True", "True", "no", "no"], ["1", "True"]).ravel().tolist() == [1, 1]
        assert rows_of(["True", "True", "1", "1"], ["1", "True"]).ravel().tolist() == [1, 2]

    @pytest.mark.parametrize(
        "numbers",
        [range(20240101, 20240301), 100_000_000 + np.arange(200), 1.7e9 + 0.001 * np.arange(200)],
    )
    def test_names_of_rows_are_distinct(self, numbers):
        names = coding_of(np.array(numbers)).names()
        assert len(set(names)) == len(names) == 11

    @pytest.mark.parametrize(
        ("values", "written"),
        [
            (["a", "a", "b", None], ["a", "a", "b (unseen)", "missing"]),
            (["missing", "missing", None], ['"missing"', '"missing"', "missing"]),
            ([1.5, 2.5, 3.5, None], ["1.5 (≤ 1.5)", "2.5 (1.5 to 2.5)", "3.5 (> 2.5)", "missing"]),
            ([7, 7], ["7", "7"]),
            (
                DAYS,
                [
                    "2023-05-01 (Mon, May, year 2023)",
                    "2024-12-31 (Tue, Dec, year 2024)",
                    "missing",
                ],
            ),
        ],
    )
    def test_values_are_written_with_their_bins(self, values, written):
        column, coding = read_column(values, "it"), coding_of(values)
        pairs = zip(coding.rows(column), column.values, strict=True)
        assert [coding.format(*pair) for pair in pairs] == written


def fit_part(table, labels):
    """Fit a part to a table whose texts are empty."""
    table = table | {"text": len(labels) * ["a"]}
    encoder = ColumnEncoder.from_table(table, labels, ("text",), None)
    documents = DocumentArray.from_nested([[] for _ in labels])
    documents.columns = encoder.encode(table).rows
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
    def test_a_number_column_learns_the_log_odds_of_two_gaussians(self):
        # Of two normal distributions a standard deviation apart, the log-odds are x - 1/2.
        x = RNG.randn(600) + SIDES
        part, documents, _ = fit_part({"x": x}, SIDES)
        z = part.logits(documents)
        slope, offset = np.polyfit(x, z[:, 1] - z[:, 0], 1)
        assert 0.7 < slope < 1.2
        assert -0.8 < offset < -0.2

    def test_the_strength_of_a_column_maximizes_the_evidence(self):
        part, documents, target = fit_part({"x": RNG.randn(600) + SIDES}, SIDES)
        steps = np.diff(part.weights[1:], axis=0)  # (S, K)
        above = documents.columns > np.arange(1, len(part.weights) - 1)  # (D, S)
        p = target.probabilities(
            part.logits(documents) + prior_logits(target, SIDES, np.ones(len(SIDES)))
        )
        # At the optimum of a penalized fit the gradient is the strength times the weights.
        gradient = above.T @ (np.eye(2)[SIDES] - p)
        strength = (gradient * steps).sum() / (steps**2).sum()
        np.testing.assert_allclose(gradient, strength * steps, atol=0.5)
        curvature = np.linalg.eigvalsh(
            [above.T @ (above * each[:, None]) for each in (p * (1 - p)).T]
        )
        n_determined = (curvature / (curvature + strength)).sum()
        assert strength == pytest.approx(n_determined / (steps**2).sum(), rel=0.05)

    def test_useless_columns_have_next_to_no_weights(self):
        useful = [
            f"{side}" if told else "?"
            for side, told in zip(SIDES, RNG.rand(600) < 0.3, strict=True)
        ]
        part, documents, _ = fit_part({"useful": useful, **NOISE}, SIDES)
        factors = np.tile([-1.0, 1.0], (600, 1))
        sizes = np.abs(part.contributions(documents, factors)).mean(axis=0)
        assert sizes[0] > 0.5
        assert sizes[1:].sum() < 0.1 * sizes[0]

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


OF_SHOPS = [{"text": f"Day {i}.", "shop": "AB"[i % 2], "price": i} for i in range(20)]


@pytest.fixture(scope="module")
def of_shops():
    model = tiny(text_column="text", columns=["shop", "price"])
    return model.fit(OF_SHOPS, ["pos", "neg"] * 10)


class TestMisspeltKeys:
    @pytest.mark.parametrize("key", ["shpo", "Shop", "shop "])
    def test_a_misspelt_key_is_refused(self, of_shops, key):
        rows = [OF_SHOPS[0], {"text": "Day.", key: "B", "price": 1}]
        with pytest.raises(ValueError, match=rf"X\[1\] has no 'shop'\. Did you mean '{key}'\?"):
            of_shops.predict(rows)

    def test_extra_and_missing_keys_are_accepted(self, of_shops):
        more = [{**row, "id": i} for i, row in enumerate(OF_SHOPS)]
        np.testing.assert_array_equal(of_shops.predict(more), of_shops.predict(OF_SHOPS))
        found = of_shops.predict_proba([{"text": "Day.", "id": 3, "price": 1}])
        expected = of_shops.predict_proba([{"text": "Day.", "shop": None, "price": 1}])
        np.testing.assert_array_equal(found, expected)
