"""Which orders of classes there are, and what the median is."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sk_han._targets import OrderedClasses, check_same_kind, fit_target
from sk_han.inspection._auditing import label_doubts
from tests.targets.test_ordered_classes import IN_ORDER, NAMES, NUMBERS, by_hand
from tests.tiny_models import TEXTS, tiny


class TestOrder:
    @pytest.mark.parametrize(
        ("y", "classes", "values"),
        [
            ([10, 9, 1, 10], [1, 9, 10], [1, 9, 10]),
            (["10", "9", "1", "10"], ["1", "9", "10"], [1, 9, 10]),
            ([2.0, -1.0], [-1.0, 2.0], [-1, 2]),
            ([True, False], [False, True], [0, 1]),
            (pd.Series(IN_ORDER), NAMES, [0, 1, 2]),
            (IN_ORDER, NAMES, [0, 1, 2]),
            (pd.CategoricalIndex(IN_ORDER), NAMES, [0, 1, 2]),
            (pl.Series(["mid", "low"], dtype=pl.Enum(NAMES)), ["low", "mid"], [0, 1]),
            (pd.Categorical([5, 1, 4], [5, 4, 3, 1], ordered=True), [5, 4, 1], [5, 4, 1]),
            (pd.Categorical([5, 1, 4]), [1, 4, 5], [1, 4, 5]),
        ],
        ids=lambda value: "",
    )
    def test_classes_are_ordered_as_categories_or_as_numbers(self, y, classes, values):
        target, t = fit_target(y, len(y), ordered=True)
        assert target.names.tolist() == classes
        assert target.values.tolist() == values
        assert target.decode(t).tolist() == list(y)

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (["low", "high"], r"Give numbers, or an ordered Categorical, such as"),
            (pd.Categorical(["low", "high"]), r"Give numbers, or an ordered Categorical"),
            (np.eye(2), r"ordered=True is for one class a document, and y"),
        ],
    )
    def test_labels_without_an_order_are_refused_with_both_repairs(self, y, message):
        with pytest.raises(ValueError, match=message):
            fit_target(y, 2, ordered=True)

    def test_weights_of_classes_follow_their_names(self):
        target, t = fit_target(IN_ORDER[:4], 4, ordered=True)
        weights = target.weigh(t, None, {"low": 2.0, "mid": 3.0, "high": 5.0})[1]
        assert weights.tolist() == [2, 3, 5, 2]

    def test_continued_fits_keep_the_order(self):
        ordered, _ = fit_target(NUMBERS, len(NUMBERS), ordered=True)
        check_same_kind(NUMBERS, ordered, ordered=True)
        with pytest.raises(ValueError, match=r"has one class a document, .* has learnt ordered"):
            check_same_kind(NUMBERS, ordered)

    def test_portions_take_the_order_of_classes(self):
        model = tiny(ordered=True).partial_fit(TEXTS[:2], IN_ORDER[:2], classes=NAMES)
        assert model.classes_.tolist() == NAMES
        model = tiny(ordered=True).partial_fit(TEXTS[:2], ["high", "low"], classes=IN_ORDER)
        assert model.classes_.tolist() == NAMES
        assert model.partial_fit(TEXTS[:2], ["mid", "low"]).classes_.tolist() == NAMES

    def test_the_median_is_the_first_class_that_reaches_a_half(self):
        target = OrderedClasses(np.arange(4))
        p = np.array([[0.4, 0.1, 0.2, 0.3], [0.5, 0.5, 0, 0], [0.1, 0.2, 0.1, 0.6], [0, 0, 0, 1]])
        assert target.decide_by_proba(p).tolist() == [1, 0, 3, 3] == by_hand(p)
        with np.errstate(divide="ignore"):
            assert target.decide(np.log(p)).tolist() == [1, 0, 3, 3]


class TestAudit:
    def test_labels_far_from_the_expected_class_come_first(self):
        """Two labels are as improbable, one next to the likely class and one at the other end."""
        p = np.tile([0.02, 0.02, 0.06, 0.9], (200, 1))
        p[100:] = p[100:, ::-1]
        t = np.repeat([3, 0], 100)
        t[:2] = 2, 0
        assert label_doubts(p, t, ordered=True).order[0] == 1
        assert set(label_doubts(p, t).order[:2].tolist()) == {0, 1}
