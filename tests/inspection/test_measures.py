"""Measures of removal, on models that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from sk_han import DocumentArray
from sk_han.inspection._faithfulness import (
    comprehensiveness_and_sufficiency,
    flip_shares,
    linear_datamodeling_scores,
    rank_words,
    top_counts,
)

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


class TestTopCounts:
    def test_integral_numbers_of_words_are_not_rounded_up(self):
        # 0.07 * 100 is 7.000000000000001.
        lengths = np.arange(100, 1_100, 100)
        for percent in range(1, 101):
            assert (top_counts(lengths, percent / 100) == percent * lengths // 100).all()


class TestComprehensivenessAndSufficiency:
    def test_comprehensiveness_and_sufficiency_worked_by_hand(self, praise):
        # Document 0 is class 1 with 0.9. One word out: 0.7, alone 0.5. Three out: 0.3, alone 0.9.
        # Document 1 is class 0 with 0.7 whatever is taken out.
        rank = rank_words(praise, PRAISE_FIRST)
        found = comprehensiveness_and_sufficiency(
            by_praise, praise, by_praise(praise), rank, [0.1, 0.3]
        )
        np.testing.assert_allclose(found[0], [(0.2 + 0.6) / 2, 0], atol=1e-12)
        np.testing.assert_allclose(found[1], [(0.4 + 0.0) / 2, 0], atol=1e-12)

    def test_scores_are_those_of_the_class_decided(self, praise):
        found = comprehensiveness_and_sufficiency(
            by_praise,
            praise,
            by_praise(praise),
            rank_words(praise, PRAISE_FIRST),
            [0.1],
            never_praise,
        )
        np.testing.assert_allclose(found[0], [-0.2, 0], atol=1e-12)


def never_praise(probabilities):
    return np.zeros(len(probabilities), dtype=np.int64)


class TestFlipShares:
    def test_flip_shares_worked_by_hand(self, praise):
        # 0.9, then 0.7, then 0.5 (class 0, the first of equals) after two of ten words.
        shares = flip_shares(by_praise, praise, by_praise(praise), rank_words(praise, PRAISE_FIRST))
        np.testing.assert_allclose(shares, [0.2, 1.0])

    def test_flip_shares_are_rounded_to_whole_words(self):
        # One word of seven is the first step of the grid, 1 %, rounded up.
        documents = DocumentArray.from_nested([[[7, 7, 2, 3, 4, 5, 6]]])
        rank = rank_words(documents, np.array([1, 0, 0, 0, 0, 0, 0]))
        shares = flip_shares(by_praise, documents, by_praise(documents), rank)
        np.testing.assert_allclose(shares, [1 / 7])

    def test_the_first_flip_counts_even_if_it_is_reversed_later(self):
        documents = DocumentArray.from_nested([[[2, 3, 4, 5]]])

        def by_parity(documents):
            odd = documents.words_per_document % 2
            return np.stack([1 - odd, odd], axis=1).astype(float)

        shares = flip_shares(by_parity, documents, by_parity(documents), np.arange(4))
        np.testing.assert_allclose(shares, [0.25])

    def test_flip_shares_never_score_documents_without_words(self):
        asked = []

        def remembered(documents):
            asked.extend(documents.words_per_document)
            return by_praise(documents)

        documents = DocumentArray.from_nested([[[2, 3, 4]]])
        flip_shares(remembered, documents, by_praise(documents), np.arange(3))
        assert sorted(asked) == [1, 2]


class TestLinearDatamodelingScores:
    """By sets of four sentences with these contributions; the words of a sentence share them."""

    documents = DocumentArray.from_nested([[[2], [3, 4], [5], [6, 7]], [[2], [3]]])
    kept = np.random.RandomState(0).random_sample((20, 6)) < 0.5
    words = np.array([1, 2, 2, -8, 8, 8, 1, 1], dtype=float)
    sums = kept[:, :4] @ [1.0, 4.0, -8.0, 16.0]

    def scores(self, of_sets, words=None):
        true = np.column_stack([of_sets, np.arange(20)])
        words = self.words if words is None else words
        return linear_datamodeling_scores(self.documents, self.kept, true, words)

    @pytest.mark.parametrize(("sign", "expected"), [(1, 1.0), (-1, -1.0)])
    def test_the_score_depends_only_on_the_order_of_sums(self, sign, expected):
        assert self.scores(np.exp(sign * self.sums / 8))[0] == pytest.approx(expected)

    def test_the_score_is_spearmans_correlation(self):
        of_sets = np.random.RandomState(1).random_sample(20).round(1)  # with ties
        expected = spearmanr(self.sums, of_sets).statistic
        assert self.scores(of_sets)[0] == pytest.approx(expected)

    def test_the_score_is_zero_if_all_contributions_are_equal(self):
        assert self.scores(self.sums, np.zeros(8))[0] == 0

    def test_the_score_is_nan_for_equal_scores_and_few_sentences(self):
        assert np.isnan(self.scores(np.ones(20))).all()
