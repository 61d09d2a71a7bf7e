"""Measures of removal, on models that can be worked out by hand, and of agreement with people."""

from __future__ import annotations

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han.inspection._faithfulness import (
    agreement,
    checked_spans,
    comprehensiveness_and_sufficiency,
    covered_words,
    flip_shares,
    ranked,
    rationale_words,
    top_counts,
)
from tests.by_hand import explained

PRAISE = 7


def by_praise(documents: DocumentArray):
    """Class 1 by the number of words of praise: 0.2 of its probability for each, none gives 0.3."""
    starts = documents.sentence_starts[documents.document_starts]
    praise = np.append(0, np.cumsum(documents.word_ids == PRAISE))
    positive = 0.3 + 0.2 * np.diff(praise[starts])
    return np.stack([1 - positive, positive], axis=1)


@pytest.fixture
def praise() -> DocumentArray:
    """Ten words with three of praise in two sentences, and five words with none."""
    return DocumentArray.from_nested([[[2, 7, 3, 4], [7, 5, 6, 7, 2, 3]], [[2, 3], [4, 5, 6]]])


PRAISE_FIRST = np.array([0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 5, 4, 3, 2, 1], dtype=float)


class TestRanked:
    def test_the_highest_score_of_each_document_is_first(self, praise):
        scores = np.array([0.1, -0.5, 0.7, 0.2, 0, 3, -1, 0.3, 0.4, 0.5, -1, -2, 9, 1, 0])
        assert ranked(praise, scores).tolist() == [6, 8, 1, 5, 7, 0, 9, 4, 3, 2, 3, 4, 0, 1, 2]

    def test_equal_scores_stand_in_reading_order(self, praise):
        assert ranked(praise, np.zeros(15)).tolist() == [*range(10), *range(5)]


class TestTopCounts:
    def test_shares_are_rounded_up_to_whole_words(self):
        lengths = np.array([1, 3, 10, 11, 19])
        assert top_counts(lengths, 0.1).tolist() == [1, 1, 1, 2, 2]

    def test_a_whole_number_of_words_is_not_rounded_up(self):
        # 0.07 * 100 is 7.000000000000001.
        lengths = np.arange(100, 1_100, 100)
        for percent in range(1, 101):
            assert (top_counts(lengths, percent / 100) == percent * lengths // 100).all()


class TestComprehensivenessAndSufficiency:
    def test_by_hand(self, praise):
        # Document 0 is class 1 with 0.9. One word out: 0.7, alone 0.5. Three out: 0.3, alone 0.9.
        # Document 1 is class 0 with 0.7 whatever is taken out.
        rank = ranked(praise, PRAISE_FIRST)
        found = comprehensiveness_and_sufficiency(
            by_praise, praise, by_praise(praise), rank, [0.1, 0.3]
        )
        np.testing.assert_allclose(found[0], [(0.2 + 0.6) / 2, 0], atol=1e-12)
        np.testing.assert_allclose(found[1], [(0.4 + 0.0) / 2, 0], atol=1e-12)

    def test_the_whole_probability_is_that_of_the_predicted_class(self):
        # Two words of no praise are class 0, the first column.
        documents = DocumentArray.from_nested([[[2, 3]]])

        def by_length(documents):
            negative = 0.5 + 0.2 * documents.words_per_document
            return np.stack([negative, 1 - negative], axis=1)

        found = comprehensiveness_and_sufficiency(
            by_length, documents, by_length(documents), np.array([0, 1]), [0.5]
        )
        np.testing.assert_allclose(found, [[0.2], [0.2]])

    def test_the_class_is_the_one_that_is_decided(self, praise):
        found = comprehensiveness_and_sufficiency(
            by_praise, praise, by_praise(praise), ranked(praise, PRAISE_FIRST), [0.1], never_praise
        )
        np.testing.assert_allclose(found[0], [-0.2, 0], atol=1e-12)


def never_praise(probabilities):
    return np.zeros(len(probabilities), dtype=np.int64)


class TestFlipShares:
    def test_a_decision_that_never_changes_has_no_share(self, praise):
        rank = ranked(praise, PRAISE_FIRST)
        shares = flip_shares(by_praise, praise, by_praise(praise), rank, never_praise)
        np.testing.assert_allclose(shares, [1.0, 1.0])

    def test_by_hand(self, praise):
        # 0.9, then 0.7, then 0.5 (class 0, the first of equals) after two of ten words.
        shares = flip_shares(by_praise, praise, by_praise(praise), ranked(praise, PRAISE_FIRST))
        np.testing.assert_allclose(shares, [0.2, 1.0])

    def test_the_share_is_of_whole_words(self):
        # One word of seven is the first step of the grid, 1 %, rounded up.
        documents = DocumentArray.from_nested([[[7, 7, 2, 3, 4, 5, 6]]])
        rank = ranked(documents, np.array([1, 0, 0, 0, 0, 0, 0]))
        shares = flip_shares(by_praise, documents, by_praise(documents), rank)
        np.testing.assert_allclose(shares, [1 / 7])

    def test_the_first_change_counts_even_if_it_is_taken_back(self):
        documents = DocumentArray.from_nested([[[2, 3, 4, 5]]])

        def by_parity(documents):
            odd = documents.words_per_document % 2
            return np.stack([1 - odd, odd], axis=1).astype(float)

        shares = flip_shares(by_parity, documents, by_parity(documents), np.arange(4))
        np.testing.assert_allclose(shares, [0.25])

    def test_no_words_left_is_no_decision_to_look_at(self):
        asked = []

        def remembered(documents):
            asked.extend(documents.words_per_document)
            return by_praise(documents)

        documents = DocumentArray.from_nested([[[2, 3, 4]]])
        flip_shares(remembered, documents, by_praise(documents), np.arange(3))
        assert sorted(asked) == [1, 2]


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
    def test_words_that_a_span_overlaps_are_marked(self, spans, expected):
        assert rationale_words([spans], [explained(TEXT)]).tolist() == expected

    def test_documents_follow_each_other(self):
        found = rationale_words([[(0, 2)], [], [(10, 12)]], [explained(TEXT)] * 3)
        assert np.flatnonzero(found).tolist() == [0, 11]

    @pytest.mark.parametrize("span", [(-1, 2), (3, 3), (4, 2), (0, 13)])
    def test_spans_outside_the_text_or_without_length_are_refused(self, span):
        message = rf"of document 2 must be .* <= 12; got \[\(0, 2\), \({span[0]}, {span[1]}\)\]"
        with pytest.raises(ValueError, match=message):
            rationale_words([[], [], [(0, 2), span]], [explained(TEXT)] * 3)

    @pytest.mark.parametrize(("rationales", "got"), [(5, "5"), ([[]], "1")])
    def test_another_number_of_lists_is_refused(self, rationales, got):
        with pytest.raises(ValueError, match=f"each of 2 documents; got {got}"):
            rationale_words(rationales, [explained(TEXT)] * 2)


class TestAgreement:
    def test_by_hand(self):
        # Ranks of the marked words are 1 and 3 of 4: precision 1 and 2/3, one of the first two.
        scores = np.array([0.9, 0.5, 0.2, 0.1])
        auprc, token_f1 = agreement(scores, np.array([True, False, True, False]), np.array([4]))
        np.testing.assert_allclose(auprc, [(1 + 2 / 3) / 2])
        np.testing.assert_allclose(token_f1, [1 / 2])

    def test_documents_are_ranked_apart(self):
        scores = np.array([9.0, 8.0, 2.0, 1.0, 3.0])
        wanted = np.array([True, False, True, False, False])
        auprc, token_f1 = agreement(scores, wanted, np.array([2, 3]))
        np.testing.assert_allclose(auprc, [1, 1 / 2])
        np.testing.assert_allclose(token_f1, [1, 0])

    def test_documents_without_a_marked_word_have_no_value(self):
        scores, wanted = np.arange(3.0), np.array([False, False, True])
        for values in agreement(scores, wanted, np.array([0, 2, 0, 1, 0])):
            np.testing.assert_array_equal(values, [np.nan, np.nan, np.nan, 1, np.nan])


# Spans of characters that people mark, and the words that they cover; see test_rationales, too.


WORDS = np.array([[0, 2], [3, 5], [6, 8], [8, 9]])


def test_words_that_a_span_touches_in_part_are_covered():
    words = covered_words(np.array([[1, 4], [2, 3]]), WORDS)
    assert words.tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    "spans",
    [None, 3, {"start": 1}, {1, 2}, [True], [3], [(1, 2, 3)], [(0, 1), (0, 1, 2)], [(0.0, 2.0)]]
    + [["ab"], [(None, 2)], [{"start": 0}], "ab"],
)
def test_what_is_no_list_of_spans_is_refused(spans):
    with pytest.raises(ValueError, match="of document 4 must be a list of spans"):
        checked_spans(spans, 4, 10)


def test_spans_come_in_any_container():
    for spans in [[(0, 2)], ((0, 2),), [[np.int64(0), 2]], np.array([[0, 2]])]:
        assert checked_spans(spans, 0, 10).tolist() == [[0, 2]]
    assert checked_spans([], 0, 0).shape == (0, 2)
