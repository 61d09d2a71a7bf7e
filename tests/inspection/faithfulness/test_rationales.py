"""Spans that people marked: which words they cover, and how high scores rank these."""

from __future__ import annotations

import numpy as np
import pytest

from sk_han.inspection.faithfulness.rationales import agreement, rationale_words
from tests.by_hand import explained

TEXT = "aa bb cc. dd"  # words aa, bb, cc, dd


def marked(*spans: tuple[int, int]) -> list[bool]:
    return rationale_words([list(spans)], [explained(TEXT)]).tolist()


class TestRationaleWords:
    def test_words_within_a_span_are_marked(self) -> None:
        assert marked((3, 9)) == [False, True, True, False]

    def test_words_that_a_span_cuts_are_marked(self) -> None:
        assert marked((1, 4)) == [True, True, False, False]

    def test_words_that_a_span_touches_are_not_marked(self) -> None:
        assert marked((2, 3)) == marked((5, 6)) == [False] * 4

    def test_spans_may_overlap_and_have_any_order(self) -> None:
        assert marked((6, 8), (0, 5), (3, 5)) == [True, True, True, False]

    def test_spans_may_start_at_the_same_word(self) -> None:
        assert marked((0, 2), (0, 8)) == [True, True, True, False]

    def test_no_span_marks_nothing(self) -> None:
        assert marked() == [False] * 4

    def test_documents_follow_each_other(self) -> None:
        found = rationale_words([[(0, 2)], [], [(10, 12)]], [explained(TEXT)] * 3)
        assert np.flatnonzero(found).tolist() == [0, 11]

    def test_spans_may_be_an_array(self) -> None:
        found = rationale_words([np.array([[0, 2], [3, 5]])], [explained(TEXT)])
        assert found.tolist() == [True, True, False, False]

    @pytest.mark.parametrize("span", [(-1, 2), (3, 3), (4, 2), (0, 13)])
    def test_spans_outside_the_text_or_without_length_are_refused(self, span) -> None:
        message = rf"Rationale 1 of document 2 is \({span[0]}, {span[1]}\).* of 12 characters"
        with pytest.raises(ValueError, match=message):
            rationale_words([[], [], [(0, 2), span]], [explained(TEXT)] * 3)

    @pytest.mark.parametrize("span", [3, (1, 2, 3), (0.0, 2.0), "ab", (None, 2)])
    def test_what_is_no_span_is_refused(self, span) -> None:
        with pytest.raises(TypeError, match=r"Rationale 0 of document 0 must be \(start, end\)"):
            rationale_words([[span]], [explained(TEXT)])

    @pytest.mark.parametrize("spans", [None, 3])
    def test_a_document_without_a_list_of_spans_is_refused(self, spans) -> None:
        with pytest.raises(TypeError, match=rf"document 1 must be a list of spans.*; got {spans}"):
            rationale_words([[], spans], [explained(TEXT)] * 2)

    def test_rationales_that_are_no_list_are_refused(self) -> None:
        with pytest.raises(TypeError, match="each of the 2 documents; got 5"):
            rationale_words(5, [explained(TEXT)] * 2)

    def test_another_number_of_documents_is_refused(self) -> None:
        with pytest.raises(ValueError, match="each of the 2 documents; got 1"):
            rationale_words([[]], [explained(TEXT)] * 2)


class TestAgreement:
    def test_by_hand(self) -> None:
        # Ranks of the marked words are 1 and 3 of 4: precision 1 and 2/3, one of the first two.
        scores = np.array([0.9, 0.5, 0.2, 0.1])
        auprc, token_f1 = agreement(scores, np.array([True, False, True, False]), np.array([4]))
        np.testing.assert_allclose(auprc, [(1 + 2 / 3) / 2])
        np.testing.assert_allclose(token_f1, [1 / 2])

    def test_documents_are_ranked_apart(self) -> None:
        scores = np.array([9.0, 8.0, 2.0, 1.0, 3.0])
        wanted = np.array([True, False, True, False, False])
        auprc, token_f1 = agreement(scores, wanted, np.array([2, 3]))
        np.testing.assert_allclose(auprc, [1, 1 / 2])
        np.testing.assert_allclose(token_f1, [1, 0])

    def test_documents_without_a_marked_word_have_no_value(self) -> None:
        scores, wanted = np.arange(3.0), np.array([False, False, True])
        for values in agreement(scores, wanted, np.array([0, 2, 0, 1, 0])):
            np.testing.assert_array_equal(values, [np.nan, np.nan, np.nan, 1, np.nan])
