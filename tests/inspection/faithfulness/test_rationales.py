"""Spans that people marked: which words they cover, and how high scores rank these."""

from __future__ import annotations

import numpy as np
import pytest

from sk_han.inspection.faithfulness.rationales import agreement, rationale_words
from tests.by_hand import explained

TEXT = "aa bb cc. dd"  # words aa, bb, cc, dd


class TestRationaleWords:
    @pytest.mark.parametrize(
        ("spans", "expected"),
        [
            ([(3, 9)], [False, True, True, False]),
            ([(1, 4)], [True, True, False, False]),  # cut
            ([(2, 3)], [False] * 4),  # touched
            ([(5, 6)], [False] * 4),
            ([(6, 8), (0, 5), (3, 5)], [True, True, True, False]),  # overlapping, in any order
            ([(0, 2), (0, 8)], [True, True, True, False]),  # from the same word
            ([], [False] * 4),
            (np.array([[0, 2], [3, 5]]), [True, True, False, False]),
        ],
    )
    def test_words_that_a_span_overlaps_are_marked(self, spans, expected) -> None:
        assert rationale_words([spans], [explained(TEXT)]).tolist() == expected

    def test_documents_follow_each_other(self) -> None:
        found = rationale_words([[(0, 2)], [], [(10, 12)]], [explained(TEXT)] * 3)
        assert np.flatnonzero(found).tolist() == [0, 11]

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

    @pytest.mark.parametrize(
        ("rationales", "error", "got"), [(5, TypeError, "5"), ([[]], ValueError, "1")]
    )
    def test_another_number_of_lists_is_refused(self, rationales, error, got) -> None:
        with pytest.raises(error, match=f"each of the 2 documents; got {got}"):
            rationale_words(rationales, [explained(TEXT)] * 2)


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
